"""The model file of one's own images: one zip with JSON and arrays, nothing in it that could run.

A stranger's file is only read as text and numbers, and no more of them than it says it holds. The same images and seed
give the same bytes, but for times. What a file says of itself is read without any library of learners.
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
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

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
PathLike = str | os.PathLike[str]
Plain = str | int | float | bool | list[Any] | None


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=True)


class _Representation(_Part):
    name: str
    dimensions: int
    settings: dict[str, Plain]
    learned_components: int | None


class _Learner(_Part):
    name: str
    parameters: dict[str, Plain]
    n_steps: int = 0
    n_updates: int = 0
    n_iter: int = 0
    metric: str = ""


class _Images(_Part):
    path: list[str]
    label: list[str]
    sha256: list[str]
    role: list[str]


class _LeftOut(_Part):
    path: list[str]
    reason: list[str]


class Header(_Part):
    """What a model file says of itself, in JSON, but for its list of images: its fields are those of `about`."""

    format: str
    format_version: int
    representation: _Representation
    learner: _Learner
    learned_from: str
    n_images: int
    n_held_out: int
    n_left_out: int
    n_triplets: int
    triplets_left_out: int
    hold_out: float
    classes: dict[str, int]
    seed: int
    seconds: dict[str, float]
    made_by: dict[str, str]


class _Whole(Header):
    """With the list of images, which the numbers are those of."""

    images: _Images
    left_out: _LeftOut

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        for table in (self.images, self.left_out):
            if len({len(column) for column in table.__dict__.values()}) != 1:
                raise ValueError("the columns of a table are not of one length")
        roles = Counter(self.images.role)
        counts = {"n_images": roles["train"], "n_held_out": roles["held-out"], "n_left_out": len(self.left_out.path)}
        for name, number in counts.items():
            if getattr(self, name) != number:
                raise ValueError(f"{name} is {getattr(self, name):,}, and it names {number:,}")
        pairs = zip(self.images.label, self.images.role, strict=True)
        if self.classes != Counter(label for label, role in pairs if label and role == "train"):
            raise ValueError("its classes are not those of its images")
        return self


def write_model(path: PathLike, about: Mapping[str, Any], arrays: Arrays, learner: Any) -> None:
    """Write a model file, whole or not at all: JSON values, arrays of plain types, and a fitted learner."""
    path = checked_name(path)
    listed = {name: {"dtype": str(array.dtype), "shape": list(array.shape)} for name, array in arrays.items()}
    text = json.dumps({**about, "arrays": listed}, indent=1, sort_keys=True, ensure_ascii=False).encode()
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
            names = [f"{_LEARNER}.json", f"{_LEARNER}.npz"]
            contents = [(folder / name).read_bytes() for name in names]
        for name, content in zip(names, contents, strict=True):
            _add(archive, name, content)


def read_model(path: PathLike) -> tuple[dict[str, Any], Arrays, Any]:
    """Read a model file: its JSON values, its arrays and its learner."""
    path = checked_name(path)
    with _opened(path) as archive:
        about = _read_about(archive, path)
        _check_learner(archive, path)
        arrays = {name: _read_array(archive, name, facts) for name, facts in about["arrays"].items()}
        learner = _read_learner(archive, path)
    with fits_together(path):
        _Whole.model_validate(about)
    return about, arrays, learner


def read_about(path: PathLike) -> dict[str, Any]:
    """Read what a model file says of itself, and nothing else of it: fast, and no library of a learner is needed."""
    path = checked_name(path)
    with _opened(path) as archive:
        about = _read_about(archive, path)
    with fits_together(path):
        _Whole.model_validate(about)
    return {name: about[name] for name in Header.model_fields}


def checked_name(path: PathLike) -> Path:
    """Return the path of a model file, which ends in ``.lookalike``."""
    path = Path(path)
    if path.suffix != SUFFIX:
        raise LookalikeError(f"a model of images ends in {SUFFIX}, {path} does not: name it {path.with_suffix(SUFFIX)}")
    return path


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
            f"{path} lacks a part of a model, or its parts do not fit ({told}): fit the model anew"
        ) from error


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
    """Add a member without a time."""
    facts = zipfile.ZipInfo(name, _EPOCH)
    facts.compress_type = zipfile.ZIP_STORED if name.endswith(".npz") else zipfile.ZIP_DEFLATED
    facts.external_attr = 0o644 << 16
    archive.writestr(facts, content)


@contextmanager
def _unpacked(path: Path, done: Literal["written", "opened"]) -> Iterator[Path]:
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
    """Read the JSON values of a file of this format and version."""
    about = None
    if _JSON in archive.namelist():
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
    """Refuse so many bytes, if they are more than any model has."""
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
    """Read an array that is what the JSON values say of it."""
    member = archive.getinfo(f"arrays/{name}.npy")
    with archive.open(member) as stream:
        shape, dtype = _check_header(stream, member)
    if [str(dtype), list(shape)] != [facts["dtype"], facts["shape"]]:
        raise ValueError(f"{name} is not of the size that {_JSON} says")
    with archive.open(member) as stream:
        array: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _read_learner(archive: zipfile.ZipFile, path: Path) -> Any:
    """Read the learner through a temporary folder."""
    from lookalike.learners.model_io import load as load_learner

    with _unpacked(path, "opened") as folder:
        for name in (f"{_LEARNER}.json", f"{_LEARNER}.npz"):
            with archive.open(name) as content, (folder / name).open("wb") as file:
                shutil.copyfileobj(content, file)
        return load_learner(folder / f"{_LEARNER}.npz")
