"""Reading and writing the files between two rules: whole or not at all, and byte for byte the same each time."""

from __future__ import annotations

import errno
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import scipy.sparse as sp

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}


@contextmanager
def replacing(path: str | os.PathLike[str], scratch: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Yield a temporary path, which replaces `path` once the block ends without an error: whole or not at all."""
    target = Path(path)
    # a folder that is listed needs another one for scratch, or what a killed process left is taken for one of its files
    folder = target.parent if scratch is None else Path(scratch)
    # many writers choose their format by the suffix
    temporary = folder / f".{target.stem}.{os.getpid()}.part{target.suffix}"
    is_about_target = True
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        try:
            is_about_target = False  # the block may read other files
            yield temporary
            is_about_target = True
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        if not is_about_target and error.errno not in _DISK:
            raise
        raise LookalikeError(
            f"cannot write {target}: {os.strerror(error.errno or 0)}; nothing was changed there: "
            "free some space or mend the permissions, then run the same command again"
        ) from error


def write_table(table: Any, path: str | os.PathLike[str]) -> None:
    """Write a pandas DataFrame as Parquet or CSV, by the suffix of `path`."""
    with replacing(path) as part:
        if part.suffix == ".parquet":
            table.to_parquet(part, index=False, compression="zstd")
        else:
            table.to_csv(part, index=False, lineterminator="\n")


def read_table(path: str | os.PathLike[str]) -> Any:
    """Read a Parquet or CSV file into a pandas DataFrame, by the suffix of `path`."""
    import pandas as pd

    return pd.read_parquet(path) if Path(path).suffix == ".parquet" else pd.read_csv(path)


def write_array(array: np.ndarray, path: str | os.PathLike[str]) -> None:
    """Write an array as ``.npy``."""
    array = np.asarray(array)
    array = array if array.flags.c_contiguous or array.flags.f_contiguous else np.ascontiguousarray(array)
    with replacing(path) as part, part.open("wb") as file:
        # not np.save: its error of a full disk has no number to know it by, and of the last bytes there is none at all
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write((array if array.flags.c_contiguous else array.T).data)


def write_npz(arrays: Mapping[str, Any], path: str | os.PathLike[str], *, compressed: bool = True) -> None:
    """Write arrays by name as ``.npz``; the same arrays give the same bytes."""
    write = np.savez_compressed if compressed else np.savez
    with replacing(path) as part, part.open("wb") as stream:
        write(stream, allow_pickle=False, **arrays)


@contextmanager
def reading_npz(path: str | os.PathLike[str], what_now: str) -> Iterator[Any]:
    """Yield the arrays of an ``.npz``; what is wrong with the file, or found so by the block, becomes one sentence."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise LookalikeError(f"{path} cannot be read ({error}): {what_now}") from error


def write_csr(matrix: sp.csr_array, path: str | os.PathLike[str]) -> None:
    """Write a CSR matrix as SciPy ``.npz`` with sorted indices and no explicit zeros."""
    import scipy.sparse as sp

    matrix = sp.csr_array(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    with replacing(path) as part:
        sp.save_npz(part, matrix, compressed=True)


def read_csr(path: str | os.PathLike[str]) -> sp.csr_array:
    """Read what `write_csr` wrote."""
    import scipy.sparse as sp

    return sp.csr_array(sp.load_npz(path))


def write_json(value: Any, path: str | os.PathLike[str]) -> None:
    """Write JSON with sorted keys, indented, ending in a newline."""
    with replacing(path) as part:
        part.write_text(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))
