"""The model file of one's own rows, images or vectors: what it says of itself, its representation and its learner."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lookalike.app import SIMILARITY_NAME
from lookalike.core import model_file
from lookalike.core.files import PathLike, check_finite
from lookalike.core.model_file import About, Arrays, Kind, fits_together
from lookalike.learners.model_io import from_state, to_state

if TYPE_CHECKING:
    from lookalike.learners.base import SimilarityLearner

SIMILARITY = Kind(SIMILARITY_NAME, 4, "make it again with lookalike fit")
_LEARNER = "learner."

Plain = str | int | float | bool | list[object] | None
Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False, defer_build=True)


class _Representation(_Part):
    name: str
    dimensions: Count
    settings: dict[str, Plain]
    learned_components: Count | None


class _Learner(_Part):
    name: str
    parameters: dict[str, Plain]
    n_steps: Count = 0
    n_updates: Count = 0
    n_iter: Count = 0
    metric: str = ""


class Header(_Part):
    """What a model file says of itself, but for the list of its rows and what its learner keeps, as `about` does."""

    format: str
    format_version: int
    representation: _Representation
    learner: _Learner
    learned_from: str
    n_images: Count
    n_held_out: Count
    n_left_out: Count
    n_triplets: Count
    n_triplets_held_out: Count
    triplets_left_out: Count
    why_triplets_left_out: dict[str, Count]
    hold_out: Annotated[float, Field(ge=0, lt=1)]
    classes: dict[str, Count]
    seed: Count
    seconds: dict[str, Annotated[float, Field(ge=0)]]
    made_by: dict[str, str]


class _Whole(Header):
    """With the list of rows, which the numbers are those of."""

    images: dict[str, list[str]]
    left_out: dict[str, list[str]]
    columns: list[str]
    """Names of the dimensions of vectors, where a table had a column for each."""

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        roles = Counter(self.images["role"])
        counts = roles["train"], roles["held-out"], len(self.left_out["path"])
        if counts != (self.n_images, self.n_held_out, self.n_left_out):
            raise ValueError("its numbers of rows are not those of the rows that it names")
        if self.columns and len(set(self.columns)) != self.representation.dimensions:
            raise ValueError("its names of columns are not one for each dimension")
        return self


def write_similarity(path: PathLike, about: Mapping[str, object], arrays: Arrays, learner: SimilarityLearner) -> None:
    """Write a model file: JSON values, arrays of plain types, and a fitted learner."""
    kept, learned = to_state(learner)
    every = arrays | {f"{_LEARNER}{name}": array for name, array in learned.items()}
    model_file.write_model(path, SIMILARITY, {**about, "fitted": kept}, every)


def read_similarity(path: PathLike) -> tuple[About, Arrays, SimilarityLearner]:
    """Read a model file: its JSON values, its arrays and its learner."""
    about, arrays, learned = read_parts(path)
    with fits_together(path, SIMILARITY):
        return about, arrays, from_state(about["fitted"], learned, path, SIMILARITY)


def read_parts(path: PathLike) -> tuple[About, Arrays, Arrays]:
    """Read a model file: its JSON values, its arrays, and those of its learner."""
    about, arrays = model_file.read_model(path, SIMILARITY)
    learned = {name.removeprefix(_LEARNER): arrays.pop(name) for name in list(arrays) if name.startswith(_LEARNER)}
    check_finite(arrays, path, SIMILARITY.again)
    with fits_together(path, SIMILARITY):
        _Whole.model_validate(about)
    return about, arrays, learned


def fingerprint(about: About, *parts: Arrays) -> str:
    """Hash what decides the vectors and similarities of a model; its times, and the way to it, do not."""
    fitted = about["fitted"]["fitted"]
    curves = [name for name, value in fitted.items() if isinstance(value, dict) and "columns" in value]
    decided = [about["representation"], about["fitted"]["learner"], about["learner"].get("metric")]
    digest = hashlib.sha256(json.dumps(decided, sort_keys=True).encode())
    for arrays in parts:
        for name in sorted(arrays):
            if name.partition("/")[0] not in curves:
                array = np.ascontiguousarray(arrays[name])
                digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:32]


def read_about(path: PathLike) -> About:
    """Read what a model file says of itself, and none of its arrays."""
    about = model_file.read_about(path, SIMILARITY)
    with fits_together(path, SIMILARITY):
        _Whole.model_validate(about)
    return {name: about[name] for name in Header.model_fields if name in about}
