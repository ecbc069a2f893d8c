"""Networks as model files: their weights, and in JSON their configuration and how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, check_finite
from lookalike.core.model_file import Arrays, Kind, fits_together, read_model, write_model
from lookalike.core.model_file import read_about as read_json_values
from lookalike.deep.configuration import LARGEST_SHIFT, NetworkConfiguration
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork

NETWORK = Kind("lookalike network", 2, "name a network that the workflow wrote, or train it again")


def save_network(
    network: DeepRankingNetwork | ClassificationNetwork, path: PathLike, about: Mapping[str, Any] | None = None
) -> None:
    """Write a network and `about` (anything that JSON holds) as a model file; the same network, the same bytes."""
    weights: Arrays = {}
    for name, value in network.state_dict().items():
        # channels last is a matter of speed, not of what is kept
        weights[name] = np.ascontiguousarray(value.detach().cpu().numpy())
    description: dict[str, Any] = {"configuration": asdict(network.configuration), "about": dict(about or {})}
    if isinstance(network, ClassificationNetwork):
        description["n_classes"] = network.n_classes
    write_model(path, NETWORK, description, weights)


def load_network(path: PathLike) -> DeepRankingNetwork | ClassificationNetwork:
    """Read a network that `save_network` wrote, in evaluation mode; a LookalikeError says why it cannot be."""
    description, arrays = read_model(path, NETWORK)
    check_finite(arrays, path, NETWORK.again)
    network: DeepRankingNetwork | ClassificationNetwork
    with fits_together(path, NETWORK):
        weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
        configuration = NetworkConfiguration(**description["configuration"])
        if "n_classes" in description:
            network = ClassificationNetwork(configuration, description["n_classes"], random_state=None)
        else:
            network = DeepRankingNetwork(configuration, random_state=None)
        network.load_state_dict(weights, assign=True)
        if any(value.dtype != torch.float32 for value in weights.values()) or network.input.deviation <= 0:
            raise ValueError("weights are single precision, and a deviation is larger than 0")
    return network.eval()


def read_about(path: PathLike) -> dict[str, Any]:
    """Return what `save_network` was given as `about`, without reading the weights; errors as `load_network`."""
    about: Any = read_json_values(path, NETWORK).get("about", {})
    shift = about.get("shift", 0) if isinstance(about, dict) else None
    if not isinstance(shift, int) or not 0 <= shift <= LARGEST_SHIFT:
        raise LookalikeError(f"{path} says of its images a shift of {shift} pixels, and 0 to {LARGEST_SHIFT} can be")
    return dict(about)
