"""The model file of one's own images: safetensors, arrays and one JSON text, and nothing in it that could run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from lookalike.app.cache import Arrays
from lookalike.core.errors import LookalikeError
from lookalike.core.files import LARGEST_MODEL, PathLike, check_finite, named, reading, replacing
from lookalike.learners.model_io import put_together, take_apart

SUFFIX = ".lookalike"
FORMAT = "lookalike image similarity"
FORMAT_VERSION = 3
READ_VERSIONS = (2, 3)
"""Version 2 held the matrix of OASIS where version 3 may hold rows and strengths."""
LARGEST_JSON = 32 * 2**20
"""Letters of its JSON text: an image takes about 150 of them, and parsed they take up to twenty times the memory."""
_TEXT, _LEARNER = "lookalike", "learner."
_FIT_AGAIN = "fit the model again"
_ZIP = b"PK\x03\x04"  # what files of format version 1 begin with
_DAMAGED = (SafetensorError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OSError)

Plain = str | int | float | bool | list[Any] | None
Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


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
    """What a model file says of itself, but for the list of its images and what its learner keeps, as `about` does."""

    format: str
    format_version: int
    representation: _Representation
    learner: _Learner
    learned_from: str
    n_images: Count
    n_held_out: Count
    n_left_out: Count
    n_triplets: Count
    triplets_left_out: Count
    hold_out: Annotated[float, Field(ge=0, lt=1)]
    classes: dict[str, Count]
    seed: Count
    seconds: dict[str, Annotated[float, Field(ge=0)]]
    made_by: dict[str, str]


class _Whole(Header):
    """With the list of images, which the numbers are those of."""

    images: dict[str, list[str]]
    left_out: dict[str, list[str]]

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        roles = Counter(self.images["role"])
        counts = roles["train"], roles["held-out"], len(self.left_out["path"])
        if counts != (self.n_images, self.n_held_out, self.n_left_out):
            raise ValueError("its numbers of images are not those of the images that it names")
        return self


def write_model(path: PathLike, about: Mapping[str, Any], arrays: Arrays, learner: Any) -> None:
    """Write a model file, whole or not at all: JSON values, arrays of plain types, and a fitted learner."""
    path = named(path, SUFFIX)
    kept, learned = take_apart(learner)
    text = json.dumps({**about, "fitted": kept}, sort_keys=True)
    if len(text) > LARGEST_JSON:
        raise LookalikeError(
            f"the names of all images take {len(text) / 2**20:.0f} MB, and {path} holds {LARGEST_JSON / 2**20:.0f} MB "
            "of them: learn from fewer images"
        )
    every = arrays | {f"{_LEARNER}{name}": array for name, array in learned.items()}
    content = save({name: np.asarray(array, order="C") for name, array in every.items()}, {_TEXT: text})
    with replacing(path) as part:
        part.write_bytes(content)


def read_model(path: PathLike) -> tuple[dict[str, Any], Arrays, Any]:
    """Read a model file: its JSON values, its arrays and its learner."""
    path = named(path, SUFFIX)
    with _opened(path) as (about, file):
        arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
    learned = {name.removeprefix(_LEARNER): arrays.pop(name) for name in list(arrays) if name.startswith(_LEARNER)}
    check_finite(arrays, path, _FIT_AGAIN)
    with fits_together(path):
        _Whole.model_validate(about)
        return about, arrays, put_together(about["fitted"], learned, path, path)


def read_about(path: PathLike) -> dict[str, Any]:
    """Read what a model file says of itself, and none of its arrays."""
    path = named(path, SUFFIX)
    with _opened(path) as (about, _), fits_together(path):
        _Whole.model_validate(about)
        return {name: about[name] for name in Header.model_fields}


@contextmanager
def fits_together(path: PathLike) -> Iterator[None]:
    """Make one sentence of what a model file lacks, or of parts of it that are not of one model."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        told = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            told = f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
        raise LookalikeError(
            f"{path} lacks a part of a model, or its parts do not fit ({told}): {_FIT_AGAIN}"
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the JSON values and the open file; whatever is wrong with it becomes one sentence."""
    try:
        with reading(path, "model", "make one with lookalike fit, or check the name", LARGEST_MODEL):
            with path.open("rb") as stream:
                is_of_first_format = stream.read(len(_ZIP)) == _ZIP
            if is_of_first_format:
                raise LookalikeError(
                    f"{path} was written by an older lookalike, and this one does not read it: "
                    f"make it again with lookalike fit FOLDER --output {path}"
                )
            with safe_open(path, framework="numpy") as file:
                yield _checked_about((file.metadata() or {}).get(_TEXT), path), file
    except _DAMAGED as error:
        told = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise LookalikeError(f"{path} is not a complete model file ({told}): copy it again, or {_FIT_AGAIN}") from error


def _checked_about(text: str | None, path: Path) -> dict[str, Any]:
    """Read the JSON values of a file of this format and version."""
    if text is not None and len(text) > LARGEST_JSON:
        raise LookalikeError(
            f"{path} holds {len(text) / 2**20:.0f} MB of text, more than any model of lookalike: get it from a "
            "source that you trust"
        )
    about = None if text is None else json.loads(text)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise LookalikeError(f"{path} is not a model of lookalike: name a file that lookalike fit wrote")
    version = about.get("format_version")
    if version not in READ_VERSIONS:
        made_by = about.get("made_by")
        number = made_by.get("lookalike") if isinstance(made_by, dict) else None
        wrote = f"lookalike {number}" if number else "another lookalike"
        raise LookalikeError(
            f"{path} has format version {version!r}, and this lookalike reads versions "
            f"{' and '.join(map(str, READ_VERSIONS))}: "
            f"install the version that wrote it ({wrote}) or a later one"
        )
    return about
