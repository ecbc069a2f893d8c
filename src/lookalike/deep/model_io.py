"""Saved networks: one ``.npz`` of plain arrays and a configuration in JSON; no pickle, so a file cannot run code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lookalike.core.errors import LookalikeError
from lookalike.core.files import LARGEST_MODEL, PathLike, check_finite, named, reading_npz, write_npz
from lookalike.deep.configuration import LARGEST_SHIFT, NetworkConfiguration
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork

FORMAT = "lookalike network"
FORMAT_VERSION = 1
_AGAIN = "name another network, or save it again"
_WEIGHTS = "weights/"


def save_network(
    network: DeepRankingNetwork | ClassificationNetwork, path: PathLike, about: Mapping[str, Any] | None = None
) -> None:
    """Write a network and `about` (anything that JSON holds) as one ``.npz``; the same network, the same bytes."""
    path = named(path, ".npz")
    arrays: dict[str, np.ndarray] = {}
    for name, value in sorted(network.state_dict().items()):
        # channels last is a matter of speed, not of what is kept
        arrays[_WEIGHTS + name] = np.ascontiguousarray(value.detach().cpu().numpy())
    description: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": "classification" if isinstance(network, ClassificationNetwork) else "ranking",
        "configuration": asdict(network.configuration),
        "about": dict(about or {}),
    }
    if isinstance(network, ClassificationNetwork):
        description["n_classes"] = network.n_classes
    arrays["description"] = np.array(json.dumps(description, sort_keys=True))
    write_npz(arrays, path, compressed=False)


def load_network(path: PathLike) -> DeepRankingNetwork | ClassificationNetwork:
    """Read a network that `save_network` wrote, in evaluation mode; a LookalikeError says why it cannot be."""
    path = named(path, ".npz")
    description, arrays = _read(path, weights=True)
    network: DeepRankingNetwork | ClassificationNetwork
    try:
        weights = {name.removeprefix(_WEIGHTS): torch.from_numpy(array) for name, array in arrays.items()}
        configuration = NetworkConfiguration(**description["configuration"])
        if description["kind"] == "classification":
            network = ClassificationNetwork(configuration, description["n_classes"], random_state=None)
        else:
            network = DeepRankingNetwork(configuration, random_state=None)
        network.load_state_dict(weights, assign=True)
        if any(value.dtype != torch.float32 for value in weights.values()) or network.input.deviation <= 0:
            raise ValueError("weights are single precision, and a deviation is larger than 0")
    except (KeyError, TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        raise LookalikeError(f"the weights in {path} do not fit the configuration beside them: {_AGAIN}") from error
    return network.eval()


def read_about(path: PathLike) -> dict[str, Any]:
    """Return what `save_network` was given as `about`, without reading the weights; errors as `load_network`."""
    about: Any = _read(named(path, ".npz"), weights=False)[0].get("about", {})
    shift = about.get("shift", 0) if isinstance(about, dict) else None
    if not isinstance(shift, int) or not 0 <= shift <= LARGEST_SHIFT:
        raise LookalikeError(f"{path} says of its images a shift of {shift} pixels, and 0 to {LARGEST_SHIFT} can be")
    return dict(about)


def _read(path: Path, *, weights: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and, where asked for, the weights."""
    with reading_npz(path, _AGAIN, LARGEST_MODEL) as stored:
        description = json.loads(str(stored["description"])) if "description" in stored else None
        if not isinstance(description, dict) or description.get("format") != FORMAT:
            raise LookalikeError(f"{path} is not a network of lookalike: give a model.npz that the workflow wrote")
        version = description.get("format_version")
        if version != FORMAT_VERSION:
            raise LookalikeError(
                f"{path} is a network of format version {version!r} and this lookalike reads version "
                f"{FORMAT_VERSION}: load it with the version of lookalike that wrote it"
            )
        names = [name for name in stored.files if weights and name.startswith(_WEIGHTS)]
        arrays = {name: stored[name] for name in names}
    check_finite(arrays, path, _AGAIN)
    return description, arrays
