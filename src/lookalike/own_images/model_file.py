"""The model file of one's own images: one zip with JSON and arrays, nothing in it that could run.

Everything that a ranking needs is inside: the codebook, the learner, and which images were learned from. A stranger's
file is only ever read as text and numbers, and no more of them than it says it holds. The same images and seed give the
same bytes, but for the times in ``model.json``: how long each step took, and when it was made.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing

SUFFIX = ".lookalike"
FORMAT = "lookalike image similarity"
FORMAT_VERSION = 1

LARGEST = 4 * 2**30
"""Bytes that a model may take in memory: W of 10,000 words in double precision has 0.8 GB."""

LARGEST_JSON = 32 * 2**20
"""Bytes of each JSON member: an image takes about 150 of them, and parsed they take up to twenty times the memory."""

_JSON, _LEARNER = "model.json", "learner"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the zip itself holds no time
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, ValueError, LookupError, TypeError, AttributeError, EOFError, ArithmeticError,
    NotImplementedError, RuntimeError, OSError,
)  # fmt: skip

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
        When the name ends in something else, the file cannot be written, or it would be too large to be read again.
    """
    path = checked_name(path)
    listed = {name: {"dtype": str(array.dtype), "shape": list(array.shape)} for name, array in arrays.items()}
    header = {"format": FORMAT, "format_version": FORMAT_VERSION, **about, "arrays": listed}
    text = json.dumps(header, indent=1, sort_keys=True, ensure_ascii=False).encode()
    if len(text) > LARGEST_JSON:
        raise LookalikeError(
            f"the names of all images take {len(text) / 2**20:.0f} MB, and {path} holds {LARGEST_JSON / 2**20:.0f} MB "
            "of them: learn from fewer images"
        )
    with replacing(path) as part, zipfile.ZipFile(part, "w") as archive:
        _add(archive, _JSON, text)
        for name, array in sorted(arrays.items()):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
            _add(archive, f"arrays/{name}.npy", stream.getvalue())
        with _unpacked(path, "written") as folder:
            learner.save(folder / f"{_LEARNER}.npz")
            contents = {
                name: (folder / name).read_bytes() for name in (f"{_LEARNER}{suffix}" for suffix in (".json", ".npz"))
            }
        for name, content in contents.items():
            _add(archive, name, content)


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
    with _opened(path) as archive:
        about = _read_about(archive, path)
        _check_learner(archive, path)
        arrays = {name: _read_array(archive, name, facts) for name, facts in about["arrays"].items()}
        return Stored(about, arrays, _read_learner(archive, path))


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the JSON values of a model file, and nothing else of it: fast, and no library of a learner is needed.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict

    Raises
    ------
    LookalikeError
        As of `read_model`, except for damage in the arrays, which are not looked at.
    """
    path = checked_name(path)
    with _opened(path) as archive:
        return _read_about(archive, path)


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


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a model file; whatever is wrong with it or found wrong in it becomes one sentence."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive, path)
            yield archive
    except (FileNotFoundError, NotADirectoryError):
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


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    facts = zipfile.ZipInfo(name, _EPOCH)
    facts.compress_type = zipfile.ZIP_STORED if name.endswith(".npz") else zipfile.ZIP_DEFLATED
    facts.external_attr = 0o644 << 16
    archive.writestr(facts, content)


@contextmanager
def _unpacked(path: Path, done: str) -> Iterator[Path]:
    """Yield a temporary folder for the learner; what goes wrong in it is told of the model file that the user named."""
    folder = ""
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    except OSError as error:
        # without a name and a reason of the disk, it is about the model file itself
        if folder and error.filename is None and error.errno not in _DISK:
            raise
        raise LookalikeError(
            f"{path} cannot be {done}: its learner passes through a temporary folder, and there: "
            f"{error.strerror or error}; free some space, or name another folder by the variable TMPDIR"
        ) from error
    except LookalikeError as error:
        told = str(error).replace(f"{folder}{os.sep}{_LEARNER}", f"{path}: {_LEARNER}")
        raise LookalikeError(told) from error


def _read_about(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if _JSON not in archive.namelist():
        raise LookalikeError(f"{path} is not a model of lookalike: give a file that lookalike fit wrote")
    with archive.open(_JSON) as stream:
        # a number, because without one a member that says less than it holds is unpacked whole
        about = json.loads(stream.read(archive.getinfo(_JSON).file_size))
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
    """Refuse, by the sizes that the zip lists and before anything is read, what takes more memory than any model."""
    members = archive.infolist()
    _refuse_large(sum(member.file_size for member in members), path)
    for member in members:
        _check_method(member)
        if member.filename.endswith(".json") and member.file_size > LARGEST_JSON:
            raise LookalikeError(
                f"{path} holds {member.file_size / 2**20:.0f} MB of {member.filename}, more than any model of "
                "lookalike: get it from whom you trust"
            )


def _check_learner(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse a learner that would take too much memory, or does not hold the arrays that it says."""
    outer = archive.getinfo(f"{_LEARNER}.npz")
    if outer.compress_type != zipfile.ZIP_STORED or outer.compress_size != outer.file_size:
        raise ValueError(f"{outer.filename} is packed twice")
    with archive.open(outer) as content, zipfile.ZipFile(content) as inner:
        members = inner.infolist()
        _refuse_large(sum(member.file_size for member in [*archive.infolist(), *members]), path)
        for member in members:
            _check_method(member)
            with inner.open(member) as stream:
                _check_header(stream, member)


def _refuse_large(size: int, path: Path) -> None:
    if size > LARGEST:
        raise LookalikeError(
            f"{path} would take {size / 2**30:.1f} GB of memory, more than any model of lookalike: get it from whom "
            "you trust"
        )


def _check_method(member: zipfile.ZipInfo) -> None:
    """Refuse compressions that zipfile unpacks without a bound."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename} is compressed in a way that lookalike does not write")


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


def _read_learner(archive: zipfile.ZipFile, path: Path) -> Any:
    from lookalike.learners.model_io import load

    with _unpacked(path, "opened") as folder:
        for name in (f"{_LEARNER}.json", f"{_LEARNER}.npz"):
            with archive.open(name) as content, (folder / name).open("wb") as file:
                shutil.copyfileobj(content, file)
        return load(folder / f"{_LEARNER}.npz")
