"""A folder in which descriptions of images are kept from one call to the next; no result depends on what is in it.

Whoever keeps something names its group by all that decides it, the versions of the code that makes it among it.

An entry is a SHA-256 and, compressed, the safetensors that it is of: as they are, those of wavelets would take 80 times
the room. What is damaged is removed, so that it is made again.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from lookalike.core.errors import LookalikeError
from lookalike.core.files import check_regular, replacing, sum_of, without_sum
from lookalike.core.model_file import Arrays

_SUFFIX = ".kept"


class Cache:
    """Entries by group in a folder, if there is one; where it cannot be written, it is done without after a warning."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def read(self, group: str) -> Iterator[Arrays]:
        """Yield the arrays of each entry of a group."""
        paths: list[Path] = []
        with suppress(OSError):
            paths = [] if self._folder is None else sorted((self._folder / group).glob(f"*{_SUFFIX}"))
        for path in paths:
            with suppress(OSError):
                try:
                    check_regular(path)
                    content = without_sum(path.read_bytes(), group)
                except (ValueError, LookalikeError):
                    if path.is_file():
                        path.unlink()
                    continue
                yield load(zlib.decompress(content))

    def write(self, group: str, name: str, arrays: Arrays) -> None:
        """Keep arrays as the entry of that name."""
        if self._folder is None:
            return
        packed = zlib.compress(save({name: np.asarray(array, order="C") for name, array in arrays.items()}))
        try:
            with replacing(self._folder / group / f"{name}{_SUFFIX}") as part:
                part.write_bytes(sum_of(packed, group) + packed)  # moved to another group, it is not taken
        except (OSError, LookalikeError) as error:
            self._folder = None
            warnings.warn(f"nothing is cached any more: {str(error).partition(';')[0]}", stacklevel=2)
