"""The decorator of every compiled loop: numba's, with a cache on disk that processes share safely."""

from __future__ import annotations

import fcntl
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., object])

_DAMAGED = (pickle.UnpicklingError, EOFError, LookupError, ValueError, TypeError, AttributeError, ImportError)
"""What reading a file that is no pickle any more may end in."""


def njit(**options: Any) -> Callable[[Function], Function]:
    """Compile a function where it is first called, or load it from the cache; options as of ``numba.njit``."""

    def compiled(function: Function) -> Function:
        # C code calls no kernel: its wrapper would take a sixth of the time of compiling
        options["no_cfunc_wrapper"] = True
        dispatcher = numba.njit(**options | {"cache": False})(function)
        try:
            dispatcher._cache = _SharedCache(function)  # type: ignore[no-untyped-call]
        except RuntimeError:  # numba's, which has found no folder that can be written
            say_that_nothing_is_kept()
        kernel: Function = dispatcher
        return kernel

    return compiled


class _SharedCache(FunctionCache):
    """Numba's cache of one function, which one process at a time reads or writes."""

    # Numba notes a file's name in an index and then writes the file. Two processes that compile the function for two
    # types at once would take the same name, and a third would run one's code on the other's data.

    def load_overload(self, sig: object, target_context: object) -> object:
        with self._alone():
            try:
                return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            except _DAMAGED:
                self.flush()  # type: ignore[no-untyped-call]
                return None  # so it is compiled again

    def save_overload(self, sig: object, data: object) -> None:
        with self._alone():
            try:
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]
            except OSError:
                say_that_nothing_is_kept()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the function's lock, where the folder of the cache can be written; it is gone with its process."""
        path = Path(self.cache_path, f"{self._impl.filename_base}.lock")
        with ExitStack() as stack:
            # a read-only folder holds nothing that changes, and a file system without locks is numba's own risk
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                fcntl.flock(stack.enter_context(path.open("a")), fcntl.LOCK_EX)
            yield


@cache
def say_that_nothing_is_kept() -> None:
    """Warn, once a process."""
    what_now = "set NUMBA_CACHE_DIR to a folder that can be written"
    warnings.warn(f"compiled code cannot be kept, so every start compiles it again: {what_now}", stacklevel=2)


@njit(cache=True, nogil=True)
def mix(word: np.uint64) -> np.uint64:
    """Finalise SplitMix64 (Steele, Lea and Flood 2014): a bijection of 64-bit numbers that scatters neighbours."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
