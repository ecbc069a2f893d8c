"""The model file of one's own images: one zip with JSON and arrays, nothing in it that could run.

Everything that a ranking needs is inside: the codebook, the learner, and which images were learned from. A stranger's
file is only ever read as text and numbers, and no more of them than it says it holds.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.errors import LookalikeError
from lookalike.files import replacing

SUFFIX = ".lookalike"
FORMAT = "lookalike image similarity"
FORMAT_VERSION = 1

LARGEST = 4 * 2**30
"""Bytes that a model may take in memory: W of 10,000 words in double precision has 0.8 GB."""

_JSON, _LEARNER = "model.json", "learner"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model, the same bytes
_DAMAGED = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, NotImplementedError, RuntimeError, OSError)

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Stored:
    """What a model file holds.

    Attributes
    ----------
    about : dict
        JSON values.
    arrays : dict of ndarray
    learner : SimilarityLearner
        Fitted.
    """

    about: dict[str, Any]
    arrays: Arrays
    learner: Any


def write_model(path: str | os.PathLike[str], about: Mapping[str, Any], arrays: Arrays, learner: Any) -> None:
    """Write a model file, whole or not at all.

    Parameters
    ----------
    path : path-like
        Ends in ``.lookalike``.
    about : mapping
        JSON values.
    arrays : dict of ndarray
        Of plain types.
    learner : SimilarityLearner

    Raises
    ------
    LookalikeError
        When the name ends in something else, or the file cannot be written.
    """
    path = checked_name(path)
    listed = {name: {"dtype": str(array.dtype), "shape": list(array.shape)} for name, array in arrays.items()}
    header = {"format": FORMAT, "format_version": FORMAT_VERSION, **about, "arrays": listed}
    with replacing(path) as part, zipfile.ZipFile(part, "w") as archive:
        _add(archive, _JSON, json.dumps(header, indent=1, sort_keys=True, ensure_ascii=False).encode())
        for name, array in sorted(arrays.items()):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
            _add(archive, f"arrays/{name}.npy", stream.getvalue())
        with tempfile.TemporaryDirectory() as folder:
            learner.save(Path(folder) / f"{_LEARNER}.npz")
            for suffix in (".json", ".npz"):
                _add(archive, f"{_LEARNER}{suffix}", (Path(folder) / f"{_LEARNER}{suffix}").read_bytes())


def read_model(path: str | os.PathLike[str]) -> Stored:
    """Read a model file.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Stored

    Raises
    ------
    LookalikeError
        When the file is missing, is none of ours, is damaged or cut short, or was written by a later version.
    """
    path = checked_name(path)
    try:
        with zipfile.ZipFile(path) as archive:
            about = _read_about(archive, path)
            _check_sizes(archive, path)
            arrays = {name: _read_array(archive, name, facts) for name, facts in about["arrays"].items()}
            return Stored(about, arrays, _read_learner(archive))
    except FileNotFoundError:
        raise LookalikeError(f"there is no model {path}: make one with lookalike fit, or check the name") from None
    except PermissionError as error:
        raise LookalikeError(f"{path} cannot be read: {error.strerror}; mend its permissions") from error
    except IsADirectoryError:
        raise LookalikeError(f"{path} is a folder: name a model file") from None
    except _DAMAGED as error:
        told = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise LookalikeError(
            f"{path} is not a whole model file ({told}): copy it again, or fit the model anew"
        ) from error


def checked_name(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model file.

    Raises
    ------
    LookalikeError
        When it ends in something else than ``.lookalike``.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise LookalikeError(f"a model of images ends in {SUFFIX}, {path} does not: name it {path.with_suffix(SUFFIX)}")
    return path


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    facts = zipfile.ZipInfo(name, _EPOCH)
    facts.compress_type = zipfile.ZIP_STORED if name.endswith(".npz") else zipfile.ZIP_DEFLATED
    facts.external_attr = 0o644 << 16
    archive.writestr(facts, content)


def _read_about(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if _JSON not in archive.namelist() or archive.getinfo(_JSON).file_size > LARGEST // 16:
        raise LookalikeError(f"{path} is not a model of lookalike: give a file that lookalike fit wrote")
    about = json.loads(archive.read(_JSON))
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise LookalikeError(f"{path} is not a model of lookalike: give a file that lookalike fit wrote")
    version = about.get("format_version")
    if version != FORMAT_VERSION:
        made_by = about.get("made_by") if isinstance(about.get("made_by"), dict) else {}
        wrote = f"lookalike {made_by['lookalike']}" if made_by and "lookalike" in made_by else "another lookalike"
        raise LookalikeError(
            f"{path} has format version {version!r}, and this lookalike reads version {FORMAT_VERSION}: "
            f"install the version that wrote it ({wrote}) or a later one"
        )
    if not isinstance(about.get("arrays"), dict):
        raise ValueError("its list of arrays is missing")
    return about


def _check_sizes(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse a file that would take more memory than any model does."""
    total = sum(member.file_size for member in archive.infolist())
    with zipfile.ZipFile(io.BytesIO(archive.read(f"{_LEARNER}.npz"))) as inner:
        total += sum(member.file_size for member in inner.infolist())
        for member in inner.infolist():
            with inner.open(member) as stream:
                _check_header(stream, member)
    if total > LARGEST:
        raise LookalikeError(
            f"{path} would take {total / 2**30:.1f} GB of memory, more than any model of lookalike: get it from whom "
            "you trust"
        )


def _check_header(stream: Any, member: zipfile.ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of an ``.npy`` member whose header says just as many bytes as the member has."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{member.filename} has an unknown version")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.hasobject or member.file_size - stream.tell() != dtype.itemsize * int(np.prod(shape, dtype=object)):
        raise ValueError(f"{member.filename} does not hold what its header says")
    return shape, dtype


def _read_array(archive: zipfile.ZipFile, name: str, facts: Mapping[str, Any]) -> npt.NDArray[Any]:
    member = archive.getinfo(f"arrays/{name}.npy")
    with archive.open(member) as stream:
        shape, dtype = _check_header(stream, member)
    if [str(dtype), list(shape)] != [facts["dtype"], facts["shape"]]:
        raise ValueError(f"{name} is not of the size that {_JSON} says")
    with archive.open(member) as stream:
        array: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _read_learner(archive: zipfile.ZipFile) -> Any:
    from lookalike.learners.model_io import load

    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".json", ".npz"):
            (Path(folder) / f"{_LEARNER}{suffix}").write_bytes(archive.read(f"{_LEARNER}{suffix}"))
        return load(Path(folder) / f"{_LEARNER}.npz")
