"""The one format of models: a safetensors file, which holds arrays and a JSON text, and nothing that could run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.arrays import Array
from lookalike.core.errors import LookalikeError
from lookalike.core.files import LARGEST_MODEL, PathLike, named, reading, reading_npz, replacing

SUFFIX = ".lookalike"
LARGEST_TEXT = 160 * 2**20
"""Letters of the JSON text: a row takes 70 to 150 of them, and parsed they take at most the memory that arrays may."""
LARGEST_HEADER = 32 * 2**20
"""Letters of it that stand in the header, of which safetensors reads 100 MB: a longer text is an array of its bytes."""
_LONGEST = 200  # letters of a reason
_KEY, _TEXT = "lookalike", "lookalike.text"
_ZIP = b"PK\x03\x04"  # what archives begin with, which version 1.0.0 wrote
_DAMAGED = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, OSError)

Arrays = dict[str, Array]
About = dict[str, Any]
"""The JSON values of a model file."""


class Kind(NamedTuple):
    """What a model file may be of."""

    name: str
    """As the file itself says."""
    versions: tuple[int, ...]
    """Versions of its content that are read; the last is written."""
    again: str
    """What to do where a file cannot be used."""


def write_model(path: PathLike, kind: Kind, about: Mapping[str, object], arrays: Mapping[str, object]) -> None:
    """Write a model file, whole or not at all, of JSON values and arrays; the same model gives the same bytes."""
    from safetensors.numpy import save

    path = named(path, SUFFIX)
    text = json.dumps({**about, "format": kind.name, "format_version": kind.versions[-1]}, sort_keys=True)
    if len(text) > LARGEST_TEXT:
        raise LookalikeError(
            f"the names of all rows and the rest of its text take {len(text) / 2**20:.0f} MB, and {path} holds "
            f"{LARGEST_TEXT / 2**20:.0f} MB of them: give fewer rows, or shorter names"
        )
    stored = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    if len(text) <= LARGEST_HEADER:
        content = save(stored, {_KEY: text})
    else:
        content = save(stored | {_TEXT: np.frombuffer(text.encode("ascii"), np.uint8)})
    with replacing(path) as part:
        part.write_bytes(content)


def read_model(path: PathLike, kind: Kind) -> tuple[About, Arrays]:
    """Read a model file: its JSON values and its arrays."""
    with _opened(path, kind) as (about, arrays):
        return about, arrays()


def read_about(path: PathLike, kind: Kind | None = None) -> About:
    """Read the JSON values of a model file, of any kind where none is given, and none of its arrays."""
    with _opened(path, kind) as (about, _):
        return about


@contextmanager
def fits_together(path: PathLike, kind: Kind) -> Iterator[None]:
    """Make one sentence of what a model file lacks, or of parts of it that are not of one model."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError) as error:
        reason = " ".join(str(error).split())[:_LONGEST]  # torch tells of all arrays, a line each
        if hasattr(error, "errors"):  # pydantic tells of all at length
            first = error.errors()[0]
            reason = f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
        raise LookalikeError(
            f"{path} lacks a part of a {kind.name}, or its parts do not fit ({reason}): {kind.again}"
        ) from error


@contextmanager
def _opened(path: PathLike, kind: Kind | None) -> Iterator[tuple[About, Callable[[], Arrays]]]:
    """Yield the JSON values and what reads the arrays; whatever is wrong with the file becomes one sentence."""
    from safetensors import SafetensorError, safe_open

    again = kind.again if kind else "make the model again"
    try:
        with reading(path, "model", "check its name, or make one", LARGEST_MODEL):
            with Path(path).open("rb") as stream:
                is_archive = stream.read(len(_ZIP)) == _ZIP
            if is_archive:
                with reading_npz(path, again, LARGEST_MODEL) as stored:
                    about = _checked(_text_of_archive(stored, path, again), path, kind)
                    yield about, partial(_arrays_of_archive, stored)
            else:
                with safe_open(path, framework="numpy") as file:
                    names = sorted({*file.keys()} - {_TEXT})
                    about = _checked(_text_in(file, path), path, kind)
                    yield about, lambda: {name: file.get_tensor(name) for name in names}
    except (SafetensorError, *_DAMAGED) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise LookalikeError(f"{path} is not a complete model file ({reason}): copy it again, or {again}") from error


def _text_in(file: Any, path: PathLike) -> str | None:
    """Return the JSON text of a safetensors file, from its header or, where it is long, from its array of bytes."""
    text: str | None = (file.metadata() or {}).get(_KEY)
    if text is None and _TEXT in file.keys():  # noqa: SIM118 (it is no dict)
        _check_length(math.prod(file.get_slice(_TEXT).get_shape()), path)
        text = file.get_tensor(_TEXT).tobytes().decode("ascii")
    return text


def _check_length(n_letters: int, path: PathLike) -> None:
    """Refuse a text that is longer than any that is written."""
    if n_letters > LARGEST_TEXT:
        raise LookalikeError(
            f"{path} holds {n_letters / 2**20:.0f} MB of text, more than any model of lookalike: get it from a "
            "source that you trust"
        )


def _text_of_archive(stored: Mapping[str, Array], path: PathLike, again: str) -> str:
    """Return the JSON text that version 1.0.0 wrote of a network into its ``.npz``, and of a learner beside it."""
    if "description" in stored:
        return str(stored["description"])
    if not (beside := Path(path).with_suffix(".json")).is_file():
        raise LookalikeError(
            f"{path} is an archive, as an older lookalike wrote, and no model without {beside.name} beside it: {again}"
        )
    with reading(beside, "file", largest=LARGEST_TEXT):
        return beside.read_text(encoding="utf-8")


def _arrays_of_archive(stored: Mapping[str, Array]) -> Arrays:
    return {name.removeprefix("weights/"): stored[name] for name in stored if name != "description"}


def _checked(text: str | None, path: PathLike, kind: Kind | None) -> About:
    """Read the JSON values of a file of this kind, in a version that is read."""
    _check_length(len(text or ""), path)
    about = None if text is None else json.loads(text)
    if not isinstance(about, dict) or not isinstance(about.get("format"), str):
        raise LookalikeError(f"{path} is not a model of lookalike: name another file")
    if kind is None:
        return about
    if about["format"] != kind.name:
        raise LookalikeError(f"{path} is not a {kind.name} but a {about['format'][:40]!r}: name another file")
    if (version := about.get("format_version")) not in kind.versions:
        origin = about.get("made_by")
        number = origin.get("lookalike") if isinstance(origin, dict) else None
        wrote = f"lookalike {number}" if number else "another lookalike"
        raise LookalikeError(
            f"{path} has format version {version!r}, and this lookalike reads {' and '.join(map(str, kind.versions))}: "
            f"install the version that wrote it ({wrote}) or a later one"
        )
    return about
