"""The model file of one's own rows, images or vectors: what it says of itself, its representation and its learner."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lookalike.app import SIMILARITY_NAME
from lookalike.core import model_file
from lookalike.core.files import PathLike, check_finite
from lookalike.core.model_file import About, Arrays, Kind, fits_together
from lookalike.learners.model_io import to_state

if TYPE_CHECKING:
    from lookalike.learners.base import SimilarityLearner

SIMILARITY = Kind(SIMILARITY_NAME, 4, "make it again with lookalike fit")
PARTS = ("reduction", "representation", "learner")
"""What the arrays of a file are of; their names begin with it."""
SCALINGS = {
    "unit": "at unit length",
    "length": "divided by the mean length",
    "centred": "less their mean, at unit length",
    "standard": "less their mean, divided by standard deviations, at unit length",
}
"""What vectors may be brought to before learning, and how people read it."""


def scaling_text(settings: Mapping[str, object]) -> str:
    """Say how vectors are scaled, of what a model file says of it."""
    how = str(settings.get("scaling", "length"))
    return ("less their mean, " if how == "length" and settings["centred"] else "") + SCALINGS[how]


LISTS = ("images", "left_out", "columns", "fitted")
"""What a model file lists at length: its rows, those that were left out, names of dimensions, and what is fitted."""


def write_similarity(
    path: PathLike, about: Mapping[str, object], representation: Arrays, reduction: Arrays, learner: SimilarityLearner
) -> None:
    """Write a model file: JSON values, arrays of plain types, and a fitted learner."""
    fitted, learned = to_state(learner)
    parts = zip(PARTS, (reduction, representation, learned), strict=True)
    arrays = {f"{part}.{name}": array for part, own in parts for name, array in own.items()}
    model_file.write_model(path, SIMILARITY, {**about, "fitted": fitted}, arrays)


def read_parts(path: PathLike) -> tuple[About, dict[str, Arrays]]:
    """Read a model file: its JSON values, and the arrays of each of its `PARTS`."""
    about, stored = model_file.read_model(path, SIMILARITY)
    arrays: dict[str, Arrays] = {part: {} for part in PARTS}
    with fits_together(path, SIMILARITY):
        for name, array in stored.items():
            part, _, rest = name.partition(".")
            arrays[part][rest] = array
    for part in PARTS[:-1]:
        check_finite(arrays[part], path, SIMILARITY.again)
    return about, arrays


def fingerprint(about: About, arrays: Mapping[str, Arrays]) -> str:
    """Hash what decides the vectors and similarities of a model; its times, and the way to it, do not."""
    fitted = about["fitted"]
    curves = [name for name, value in fitted["fitted"].items() if isinstance(value, dict) and "columns" in value]
    decided = [about["representation"], fitted["learner"], about["learner"].get("metric")]
    digest = hashlib.sha256(json.dumps(decided, sort_keys=True).encode())
    for part in PARTS:
        prefix = "" if part == "learner" else f"{part}."
        for name in sorted(arrays[part]):
            if prefix or name.partition("/")[0] not in curves:
                array = np.ascontiguousarray(arrays[part][name])
                digest.update(f"{prefix}{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:32]


def read_about(path: PathLike) -> About:
    """Read what a model file says of itself, and none of its arrays."""
    about = model_file.read_about(path, SIMILARITY)
    return {name: value for name, value in about.items() if name not in LISTS}
