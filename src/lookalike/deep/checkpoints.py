"""Checkpoints of a training run: one file, whole or not at all, that holds all there is to go on to the same bits.

Tensors and plain values only, so that a file is loaded without running any code in it (``weights_only``).
"""

from __future__ import annotations

import io
import time
import warnings
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, replacing, sum_of, without_sum

_ZIP = b"PK\x03\x04"  # what torch's files begin with


class Checkpoint:
    """A file that a run keeps itself in every so many seconds; that of a run with another `origin` is ignored."""

    def __init__(self, path: PathLike | None, seconds: float, origin: Mapping[str, object]) -> None:
        self._path = Path(path) if path is not None else None
        self._seconds = seconds
        self._origin = dict(origin)
        self._last = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Tell whether it is time to write."""
        return self._path is not None and time.monotonic() - self._last >= self._seconds

    def save(self, state: Mapping[str, object]) -> None:
        """Write the state; until it is whole, the old file stays."""
        if self._path is None:
            return
        # through memory: torch hides a full disk behind an error about its own file
        content = io.BytesIO()
        torch.save({"made_by": self._origin, "state": dict(state)}, content)
        with replacing(self._path) as part:
            part.write_bytes(b"".join([sum_of(content.getbuffer()), content.getbuffer()]))
        self._last = time.monotonic()

    def resume(self) -> tuple[dict[str, Any] | None, str]:
        """Return the state of an earlier start, or None, and a sentence about it ("" where there is no file)."""
        if self._path is None or not self._path.is_file():
            return None, ""
        try:
            content = self._path.read_bytes()
            if is_without_sum := content.startswith(_ZIP):
                warnings.warn(f"{self._path} has no checksum, because lookalike 1.1 wrote it", stacklevel=2)
            whole = io.BytesIO(content if is_without_sum else without_sum(content))
            kept = torch.load(whole, map_location="cpu", weights_only=True)
            origin, state = kept["made_by"], kept["state"]
            if not isinstance(origin, dict) or not isinstance(state, dict):
                raise TypeError("it is not one of lookalike")
            step = f"{state['step']:,}"
        # torch raises nearly anything at bytes that are not its own
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise LookalikeError(
                f"the checkpoint {self._path} cannot be read ({reason}): remove that file to start again"
            ) from error
        if origin != self._origin:
            others = sorted(str(name) for name in origin | self._origin if origin.get(name) != self._origin.get(name))
            return None, f"the checkpoint {self._path} is of a run with other {', '.join(others)}: starts again"
        return state, f"goes on from step {step}, where a checkpoint of an earlier start stands"


def checksum(arrays: Iterable[np.ndarray]) -> int:
    """Return a checksum of the bytes of all arrays, in order."""
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return value
