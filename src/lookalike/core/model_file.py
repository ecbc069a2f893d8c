"""The one format of models: a safetensors file, which holds arrays and a JSON text, and nothing that could run.

The text ends with a SHA-256 of itself and one of the arrays, which are compared whenever either is read.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.arrays import Array
from lookalike.core.errors import LookalikeError
from lookalike.core.files import LARGEST_MODEL, PathLike, named, reading, replacing

SUFFIX = ".lookalike"
LARGEST_TEXT = 160 * 2**20
"""Letters of the JSON text: a row takes 70 to 150 of them, and parsed they take at most the memory that arrays may."""
LARGEST_HEADER = 32 * 2**20
"""Letters of it that stand in the header, of which safetensors reads 100 MB: a longer text is an array of its bytes."""
_LONGEST = 200  # letters of a reason
_KEY, _TEXT = "lookalike", "lookalike.text"
_SUMS = re.compile(r', "sha256": \["([0-9a-f]{64})", "([0-9a-f]{64})"\]}$')
_SUMS_OF_ANY_KEY = re.compile(r'": \["[0-9a-f]{64}", "[0-9a-f]{64}"\]\}$')
_DAMAGED = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, OSError)

Arrays = dict[str, Array]
About = dict[str, Any]
"""The JSON values of a model file."""

_without_sums: set[str] = set()  # files that a warning was given of


class Kind(NamedTuple):
    """What a model file may be of."""

    name: str
    """As the file itself says."""
    version: int
    """Version of its content."""
    again: str
    """What to do where a file cannot be used."""


def write_model(path: PathLike, kind: Kind, about: Mapping[str, object], arrays: Mapping[str, object]) -> None:
    """Write a model file of JSON values and arrays, the same bytes of the same model."""
    from safetensors.numpy import save

    path = named(path, SUFFIX)
    text = json.dumps({**about, "format": kind.name, "format_version": kind.version}, sort_keys=True)
    if len(text) > LARGEST_TEXT:
        raise LookalikeError(
            f"the names of all rows and the rest of its text take {len(text) / 2**20:.0f} MB, and {path} holds "
            f"{LARGEST_TEXT / 2**20:.0f} MB of them: give fewer rows, or shorter names"
        )
    stored = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = with_sums(text, stored)
    if len(text) <= LARGEST_HEADER:
        content = save(stored, {_KEY: text})
    else:
        content = save(stored | {_TEXT: np.frombuffer(text.encode("ascii"), np.uint8)})
    with replacing(path) as part:
        part.write_bytes(content)


def with_sums(text: str, arrays: Arrays) -> str:
    """Return a JSON text with its SHA-256, and that of arrays, at its end."""
    return f'{text[:-1]}, "sha256": ["{hashlib.sha256(text.encode()).hexdigest()}", "{_sum_of(arrays)}"]}}'


def _sum_of(arrays: Arrays) -> str:
    """Return the SHA-256 of arrays with their names, types and shapes."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def read_about(path: PathLike, kind: Kind | None = None) -> About:
    """Read the JSON values of a model file, of any kind where none is given, and none of its arrays."""
    return read_model(path, kind, with_arrays=False)[0]


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


def read_model(path: PathLike, kind: Kind | None, *, with_arrays: bool = True) -> tuple[About, Arrays]:
    """Read a model file: its JSON values, and its arrays if wanted; what is wrong with it becomes one sentence."""
    from safetensors import SafetensorError, safe_open

    again = kind.again if kind else "make the model again"
    try:
        with (
            reading(path, "model", "check its name, or make one", LARGEST_MODEL),
            safe_open(path, framework="numpy") as file,
        ):
            text = _text_in(file, path) or "null"
            about, sums = checked_about(text, path, kind), _SUMS.search(text)
            arrays = {name: file.get_tensor(name) for name in sorted({*file.keys()} - {_TEXT})} if with_arrays else {}
    except (SafetensorError, *_DAMAGED) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise LookalikeError(f"{path} is not a complete model file ({reason}): copy it again, or {again}") from error
    if sums is None and "sha256" not in about and not _SUMS_OF_ANY_KEY.search(text):
        if str(path) not in _without_sums:
            _without_sums.add(str(path))
            sentence = f"{path} has no checksum, because lookalike 1.1 wrote it: damage to it is not noticed"
            warnings.warn(f"{sentence} until it is made again", stacklevel=3)
    elif (
        sums is None
        or hashlib.sha256(f"{text[: sums.start()]}}}".encode()).hexdigest() != sums[1]
        or (with_arrays and _sum_of(arrays) != sums[2])
    ):
        raise LookalikeError(
            f"{path} is damaged, for its bytes are not those that were written: copy it again, or {again}"
        )
    about.pop("sha256", None)
    return about, arrays


def _text_in(file: Any, path: PathLike) -> str | None:
    """Return the JSON text of a safetensors file, from its header or, where it is long, from its array of bytes."""
    text: str | None = (file.metadata() or {}).get(_KEY)
    is_array = text is None and _TEXT in file.keys()  # noqa: SIM118 (it is no dict)
    n_letters = math.prod(file.get_slice(_TEXT).get_shape()) if is_array else len(text or "")
    if n_letters > LARGEST_TEXT:
        raise LookalikeError(
            f"{path} holds {n_letters / 2**20:.0f} MB of text, more than any model of lookalike: get it from a "
            "source that you trust"
        )
    return file.get_tensor(_TEXT).tobytes().decode("ascii") if is_array else text


def checked_about(text: str, path: PathLike, kind: Kind | None) -> About:
    """Read the JSON values of a file of this kind, in the version that is read."""
    about = json.loads(text)
    if not isinstance(about, dict) or not isinstance(about.get("format"), str):
        raise LookalikeError(f"{path} is not a model of lookalike: name another file")
    if kind is None:
        return about
    if about["format"] != kind.name:
        raise LookalikeError(f"{path} is not a {kind.name} but a {about['format'][:40]!r}: name another file")
    if (version := about.get("format_version")) != kind.version:
        origin = about.get("made_by")
        number = origin.get("lookalike") if isinstance(origin, dict) else None
        wrote = f"lookalike {number}" if number else "another lookalike"
        raise LookalikeError(
            f"{path} has format version {version!r}, and this lookalike reads {kind.version}: "
            f"install the version that wrote it ({wrote}) or {kind.again}"
        )
    return about
