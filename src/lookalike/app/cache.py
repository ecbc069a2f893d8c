"""A folder in which descriptions of images are kept from one call to the next; no call depends on what is in it.

An entry is a SHA-256 and, compressed, the safetensors that it is of: those of wavelets alone would take 80 times the
room. What is damaged, or would take more memory than it may, is removed, so that it is made again.
"""

from __future__ import annotations

import hashlib
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from lookalike.core.errors import LookalikeError
from lookalike.core.files import check_finite, check_regular, replacing

SUFFIX = ".kept"
_CHECKSUM = 32  # bytes

Arrays = dict[str, npt.NDArray[Any]]


class Cache:
    """Entries by group and name in a folder, or nothing; one that cannot be written is done without after a warning."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._can_be_written = folder is not None

    def read(self, group: str, name: str, largest: int) -> Arrays:
        """Return the arrays of an entry of at most so many bytes; nothing where it is missing or damaged."""
        return {} if self._folder is None else _read(self._folder / group / f"{name}{SUFFIX}", largest)

    def read_all(self, group: str, largest: int) -> Iterator[Arrays]:
        """Yield what `read` returns of every entry of a group."""
        paths: list[Path] = []
        with suppress(OSError):
            paths = [] if self._folder is None else sorted((self._folder / group).glob(f"*{SUFFIX}"))
        for path in paths:
            yield _read(path, largest)

    def write(self, group: str, name: str, arrays: Arrays) -> None:
        """Keep the arrays of an entry, unless an earlier one could not be kept."""
        if self._folder is None or not self._can_be_written:
            return
        packed = zlib.compress(save({name: np.asarray(array, order="C") for name, array in arrays.items()}))
        try:
            with replacing(self._folder / group / f"{name}{SUFFIX}") as part:
                part.write_bytes(_checksum(group, packed) + packed)
        except (OSError, LookalikeError) as error:
            self._can_be_written = False
            warnings.warn(f"nothing is cached any more: {str(error).partition(';')[0]}", stacklevel=2)


def _read(path: Path, largest: int) -> Arrays:
    """Read an entry of a group, its folder; one that is damaged or too large is removed."""
    try:
        check_regular(path, largest)
        return _unpacked(path.read_bytes(), path, largest)
    except OSError:
        return {}
    except (ValueError, LookupError, TypeError, LookalikeError, SafetensorError, zlib.error):
        with suppress(OSError):
            if path.is_file():
                path.unlink()
    return {}


def _unpacked(content: bytes, path: Path, largest: int) -> Arrays:
    """Return the arrays of an entry, if its checksum is right and they take no more than so many bytes."""
    checksum, packed = content[:_CHECKSUM], content[_CHECKSUM:]
    unpacking = zlib.decompressobj()
    plain = unpacking.decompress(packed, largest) if checksum == _checksum(path.parent.name, packed) else b""
    if not unpacking.eof:
        raise ValueError("damaged or too large")
    arrays: Arrays = load(plain)
    check_finite(arrays, path, "it is made again")
    return arrays


def _checksum(group: str, packed: bytes) -> bytes:
    """Return the SHA-256 of an entry and of its group: one that was moved to another is not taken."""
    return hashlib.sha256(group.encode() + b"\0" + packed).digest()
