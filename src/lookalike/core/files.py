"""Reading and writing files: regular ones only, whole or not at all, and byte for byte the same each time."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.arrays import Array
from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pyarrow as pa
    import scipy.sparse as sp
    from numpy.lib.npyio import NpzFile

_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_LFS = b"version https://git-lfs.github.com/spec/"
_LONGEST_POINTER = 1024  # bytes, by the specification of Git LFS
_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())
_PART = re.compile(rf"\..+\.{_HOST}_([0-9]{{1,9}})\.part(\.[^.]*)?")
_SUM = 32  # bytes
_LONGEST_STEM = 100  # bytes; names of files end at 255, and a temporary one says more than the name
HEADER_FAILS = (ValueError, TypeError, OverflowError, SyntaxError, RecursionError, tokenize.TokenError)
"""Errors that NumPy has on the header of an array."""
_UNZIPPING_FAILS = (EOFError, MemoryError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error)
_swept: set[Path] = set()
_waiting: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("_waiting", default=None)
"""Within `together`, files that are written and those that they replace."""

PathLike = str | os.PathLike[str]

LARGEST_MODEL = 4 * 2**30
"""Bytes that a model may take: W of 10,000 words in double precision takes 0.8 GB, the paper's network 345 MB."""


def check_regular(path: PathLike, largest: int | None = None) -> None:
    """Refuse pipes and devices, which may never end, pointers of Git LFS, and files of more bytes than `largest`.

    Links are followed. What is missing, a folder or out of reach is the `OSError` that opening it would be.
    """
    facts = os.stat(path)
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(facts.st_mode):
        kind = _KINDS.get(stat.S_IFMT(facts.st_mode), "something else")
        raise LookalikeError(f"{path} is {kind}, not a regular file: name a regular file")
    if largest is not None and facts.st_size > largest:
        raise LookalikeError(
            f"{path} has {facts.st_size / 2**20:,.0f} MB, and at most {largest / 2**20:,.0f} MB are read: "
            "check that it is the file you mean"
        )
    if len(_LFS) < facts.st_size < _LONGEST_POINTER:
        with open(path, "rb") as stream:
            if stream.read(len(_LFS)) == _LFS:
                raise LookalikeError(f"{path} is a pointer of Git LFS, not the file itself: run git lfs pull")


def sha256_of(path: PathLike) -> str:
    """Return the SHA-256 of a file; "" of one that cannot be read."""
    with suppress(OSError), open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
    return ""


def check_folder(folder: Path, what_now: str) -> None:
    """Refuse what is no folder, or none that can be listed."""
    if not folder.exists():
        raise LookalikeError(f"there is no folder {folder}: {what_now}")
    if not folder.is_dir():
        raise LookalikeError(f"{folder} is a file: {what_now}")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise LookalikeError(f"cannot list {folder}: mend its permissions")


@contextmanager
def reading(path: PathLike, what: str, what_now: str = "check the name", largest: int | None = None) -> Iterator[None]:
    """Refuse what `check_regular` refuses, and make one sentence of an `OSError` here or in the block."""
    try:
        check_regular(path, largest)
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise LookalikeError(f"there is no {what} {path}: {what_now}") from None
    except IsADirectoryError:
        raise LookalikeError(f"{path} is a folder: name a {what} in it") from None
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno == errno.ENOMEM:
            raise MemoryError(f"for {path}") from error
        raise LookalikeError(f"{path} cannot be read: {reason}; check its permissions and the disk") from error


def stamp_of(path: PathLike) -> tuple[int, ...]:
    """Return size and time of the last change of a file, by which a changed one is known; () of none."""
    with suppress(OSError):
        facts = os.stat(path)
        return facts.st_size, facts.st_mtime_ns
    return ()


@contextmanager
def together() -> Iterator[None]:
    """Replace the files that are written in the block once all of them are whole: where one fails, none is changed."""
    waiting: list[tuple[Path, Path]] = []
    token = _waiting.set(waiting)
    try:
        yield
        for temporary, target in waiting:
            with _telling_of(target):
                os.replace(temporary, target)
    finally:
        _waiting.reset(token)
        for temporary, _ in waiting:
            temporary.unlink(missing_ok=True)


@contextmanager
def replacing(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path, which replaces `path` once the block ends without an error: whole or not at all.

    A link is followed, an existing file keeps its mode, and what is no regular file is refused.
    """
    with _telling_of(path):
        target, mode = Path(os.path.realpath(path)), None
        with suppress(FileNotFoundError):  # there is nothing yet
            check_regular(path)
            mode = stat.S_IMODE(os.stat(path).st_mode)
        # many writers choose their format by the suffix
        temporary = target.parent / f".{_short(target.stem)}.{_HOST}_{os.getpid()}.part{target.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_unfinished(target.parent)
        temporary.touch(0o666 if mode is None else 0o600)  # what is private stays so while it is written
    try:
        with _telling_of(path, disk_alone=True):
            yield temporary
        with _telling_of(path):
            if mode is not None:
                temporary.chmod(mode)
            if (waiting := _waiting.get()) is not None:
                waiting.append((temporary, target))
                return
            os.replace(temporary, target)
    finally:
        if (temporary, target) not in (_waiting.get() or []):
            temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: PathLike, names: Collection[str]) -> Iterator[Path]:
    """Yield a temporary folder, which replaces `path` once the block ends without an error: whole or not at all.

    A folder that is there is replaced if it holds nothing but files of these names.
    """
    target = Path(os.path.realpath(path))
    refuse_folder(path, names)
    temporary = target.parent / f".{_short(target.name)}.{_HOST}_{os.getpid()}.part"
    former = target.parent / f".{_short(target.name)}.former"
    try:
        with _telling_of(path):
            temporary.parent.mkdir(parents=True, exist_ok=True)
            _remove_unfinished(temporary.parent)
            shutil.rmtree(temporary, ignore_errors=True)  # of a killed process of this number
            temporary.mkdir()
        with _telling_of(path, disk_alone=True):
            yield temporary
        with _telling_of(path):
            with suppress(FileNotFoundError):
                os.rename(target, former)
            os.rename(temporary, target)
    finally:
        if not target.exists() and former.exists():  # a process was killed between two names, this one or another
            os.rename(former, target)
        for left in (temporary, former):
            shutil.rmtree(left, ignore_errors=True)


def _short(name: str) -> str:
    """Return a name to which something can be added: itself, or a hash of a long one."""
    content = os.fsencode(name)
    return name if len(content) <= _LONGEST_STEM else hashlib.sha256(content).hexdigest()


def refuse_folder(path: PathLike, names: Collection[str]) -> None:
    """Refuse a folder that `replacing_folder` would not replace."""
    if not (target := Path(path)).exists():
        return
    if not target.is_dir():
        raise LookalikeError(f"{path} is a file: name a folder to write")
    if others := sorted(set(os.listdir(target)) - set(names)):
        raise LookalikeError(f"{path} holds {others[0]}, which would be lost: name another folder to write")


def disk_error_behind(error: BaseException | None) -> OSError | None:
    """Return the full or read-only disk that an error comes from, if it is one."""
    while error is not None and not (isinstance(error, OSError) and error.errno in _DISK_ERRORS):
        error = error.__cause__ or error.__context__
    return error


@contextmanager
def _telling_of(path: PathLike, *, disk_alone: bool = False) -> Iterator[None]:
    """Make one sentence of an `OSError` of writing a path; of a block that may read files, of full and read-only disks.

    What writes the content may fail once more when it is closed, and hide that error behind another.
    """
    try:
        yield
    except Exception as error:
        found = disk_error_behind(error) if disk_alone else error
        if not isinstance(found, OSError):
            raise
        raise LookalikeError(
            f"cannot write {path}: {os.strerror(found.errno or 0)}; nothing was changed there: "
            "free some space or mend the permissions, then run the same command again"
        ) from error


def _remove_unfinished(folder: Path) -> None:
    """Remove, once for each folder, what processes of this machine wrote when they were killed."""
    if folder in _swept:
        return
    _swept.add(folder)
    for name in os.listdir(folder):
        if part := _PART.fullmatch(name):
            with suppress(OSError):  # the process is somebody else's, or the file is
                try:
                    os.kill(int(part[1]), 0)
                except ProcessLookupError:
                    remove = shutil.rmtree if (folder / name).is_dir() else os.unlink
                    remove(folder / name)


def check_writable(*folders: PathLike) -> None:
    """Refuse folders in which nothing can be written, or made where they are missing; nothing is left there."""
    for folder in map(Path, folders):
        probe = (folder if os.path.lexists(folder) else folder.parent) / ".probe"
        with replacing(probe) as part:
            part.write_bytes(bytes(1 << 20))
        probe.unlink(missing_ok=True)
        for inside in folder.glob("*/"):
            if not os.access(inside, os.W_OK | os.X_OK):
                raise LookalikeError(f"cannot write into {inside}: mend its permissions, or move it away")


def write_table(table: Any, path: PathLike) -> None:
    """Write a pandas DataFrame as Parquet or CSV, by the suffix of `path`."""
    with replacing(path) as part:
        if part.suffix.lower() == ".parquet":
            # Arrow takes no name that is not UTF-8, and older versions of pandas give it that of a buffered file
            with part.open("wb", buffering=0) as stream:
                table.to_parquet(stream, index=False, compression="zstd")
        else:
            table.to_csv(part, index=False, lineterminator="\n")


def read_table(path: PathLike) -> Any:
    """Read a Parquet or CSV file into a pandas DataFrame, by the suffix of `path`."""
    import pandas as pd

    return pd.read_parquet(arrow_file(path)) if Path(path).suffix.lower() == ".parquet" else pd.read_csv(path)


def arrow_file(path: PathLike) -> pa.NativeFile:
    """Open a file for Arrow; it frees a Python file on a thread of its own, which may abort the program as it ends."""
    import pyarrow as pa

    with Path(path).open("rb"):  # Python's errors say what is wrong
        return pa.OSFile(os.fsencode(path))  # in bytes, because Arrow takes no text that is not UTF-8


def write_array(array: Array, path: PathLike) -> None:
    """Write an array as ``.npy``."""
    array = np.asarray(array)
    array = array if array.flags.c_contiguous or array.flags.f_contiguous else np.ascontiguousarray(array)
    with replacing(path) as part, part.open("wb") as file:
        # not np.save: its error of a full disk has no number to know it by, and of the last bytes there is none at all
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write((array if array.flags.c_contiguous else array.T).data)


def write_npz(arrays: Mapping[str, Any], path: PathLike, *, compressed: bool = True) -> None:
    """Write arrays by name as ``.npz``; the same arrays give the same bytes."""
    write = np.savez_compressed if compressed else np.savez
    with replacing(path) as part, part.open("wb") as stream:
        write(stream, allow_pickle=False, **arrays)


@contextmanager
def reading_npz(path: PathLike, what_now: str) -> Iterator[NpzFile]:
    """Yield the arrays of an ``.npz``; what is wrong with the file, or found so by the block, becomes one sentence."""
    try:
        with reading(path, "file", what_now), np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except (LookupError, AttributeError, *HEADER_FAILS, *_UNZIPPING_FAILS) as error:
        reason = "it is no archive of arrays, or holds Python objects" if "pickle" in str(error) else error
        raise LookalikeError(f"{path} cannot be read ({reason}): {what_now}") from error


def sum_of(content: bytes | memoryview, name: str = "") -> bytes:
    """Return the SHA-256 of bytes and of a name, to be written before these bytes."""
    digest = hashlib.sha256(name.encode())
    digest.update(content)
    return digest.digest()


def without_sum(content: bytes, name: str = "") -> memoryview:
    """Return bytes without their `sum_of`, which is written before them; where it is another one, raise ValueError."""
    rest = memoryview(content)[_SUM:]
    if sum_of(rest, name) != content[:_SUM]:
        raise ValueError("its bytes are not those that were written")
    return rest


def named(path: PathLike, suffix: str) -> Path:
    """Return the path of a file, whose name must have a suffix."""
    if (file := Path(path)).suffix != suffix:
        raise LookalikeError(f"{path} must end in {suffix}: name it {file.with_suffix(suffix)}")
    return file


def check_finite(arrays: Mapping[str, Array], path: PathLike, what_now: str) -> None:
    """Refuse what was read from a file if it holds NaN or infinity."""
    for name, array in arrays.items():
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            raise LookalikeError(f"{path} holds NaN or infinity in {name}: {what_now}")


def write_csr(matrix: sp.csr_array, path: PathLike) -> None:
    """Write a CSR matrix as SciPy ``.npz`` with sorted indices and no explicit zeros."""
    import scipy.sparse as sp

    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    with replacing(path) as part, part.open("wb") as stream:  # given a name, SciPy adds a suffix to some
        sp.save_npz(stream, matrix, compressed=True)


def read_csr(path: PathLike, what_now: str = "delete it and make it again") -> sp.csr_array:
    """Read what `write_csr` wrote; what is wrong with the file becomes one sentence, which ends in `what_now`."""
    import scipy.sparse as sp

    with reading_npz(path, what_now) as kept:
        n_rows, n_columns = kept["shape"].tolist()
        return sp.csr_array((kept["data"], kept["indices"], kept["indptr"]), shape=(n_rows, n_columns))


def write_text(text: str, path: PathLike) -> None:
    """Write a text file."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(value: object, path: PathLike) -> None:
    """Write JSON with sorted keys, indented, ending in a newline; what UTF-8 cannot say of a path is escaped."""
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    write_text(text.encode("utf-8", "backslashreplace").decode(), path)


def read_json(path: PathLike) -> Any:
    """Read a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))
