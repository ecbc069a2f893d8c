"""Checkpoints of a training run: one file, whole or not at all, that holds all there is to go on to the same bits.

Tensors and plain values only, so that a file is loaded without running any code in it (``weights_only``). Arrays of
numpy, of any plain type, are packed as bytes.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing

FORMAT_VERSION = 1


class Checkpoint:
    """A file that a run keeps itself in.

    Parameters
    ----------
    path : path, optional
        The file; None keeps nothing.
    seconds : float
        How often it is written, at least; what a kill loses at most.
    made_by : dict
        Plain values that decide the result. The checkpoint of a run with others is ignored.
    """

    def __init__(self, path: str | os.PathLike[str] | None, seconds: float, made_by: Mapping[str, Any]) -> None:
        self._path = Path(path) if path is not None else None
        self._seconds = seconds
        self._made_by = dict(made_by)
        self._last = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time to write."""
        return self._path is not None and time.monotonic() - self._last >= self._seconds

    @property
    def is_kept(self) -> bool:
        """Whether there is a file at all."""
        return self._path is not None

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state; until it is whole, the old file stays.

        Raises
        ------
        LookalikeError
            When the disk is full or the folder cannot be written.
        """
        if self._path is None:
            return
        kept = {"format_version": FORMAT_VERSION, "made_by": self._made_by, "state": dict(state)}
        with replacing(self._path) as part, part.open("wb") as stream:
            sink: Any = _Sink(stream)
            torch.save(kept, sink)
            sink.check()
        self._last = time.monotonic()

    def resume(self) -> tuple[dict[str, Any] | None, str]:
        """Return the state of an earlier start, or None, and a sentence about it ("" where there is no file).

        Raises
        ------
        LookalikeError
            When the file is damaged.
        """
        if self._path is None or not self._path.is_file():
            return None, ""
        try:
            kept = torch.load(self._path, map_location="cpu", weights_only=True)
            version, made_by, state = kept["format_version"], kept["made_by"], kept["state"]
        except (OSError, ValueError, KeyError, TypeError, EOFError, RuntimeError, pickle.UnpicklingError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise LookalikeError(
                f"the checkpoint {self._path} cannot be read ({reason}): remove that file to start anew"
            ) from error
        if version != FORMAT_VERSION:
            return None, f"the checkpoint {self._path} is of another version of the package: starts anew"
        if made_by != self._made_by:
            others = sorted(name for name in made_by | self._made_by if made_by.get(name) != self._made_by.get(name))
            return None, f"the checkpoint {self._path} is of a run with other {', '.join(others)}: starts anew"
        return state, f"goes on from step {state['step']:,}, where a checkpoint of an earlier start stands"


class _Sink:
    """A binary stream that remembers what went wrong: torch hides a full disk behind an error about its own file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._error: OSError | None = None

    def write(self, data: Any) -> int:
        if self._error is None:
            try:
                return self._stream.write(data)
            except OSError as error:
                self._error = error
        return len(data)

    def flush(self) -> None:
        """Do nothing: the file is closed, and so written out, before it replaces the old one."""

    def check(self) -> None:
        """Raise the first error."""
        if self._error is not None:
            raise self._error


def pack(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return arrays of plain types as what a checkpoint may hold."""
    return {
        name: {
            "dtype": np.asarray(array).dtype.str,
            "shape": list(np.asarray(array).shape),
            "bytes": torch.from_numpy(np.frombuffer(np.asarray(array).tobytes(), dtype=np.uint8).copy()),
        }
        for name, array in arrays.items()
    }


def unpack(packed: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays that `pack` packed."""
    return {
        name: np.frombuffer(kept["bytes"].numpy().tobytes(), dtype=kept["dtype"]).reshape(kept["shape"]).copy()
        for name, kept in packed.items()
    }


def checksum(arrays: Iterable[np.ndarray]) -> int:
    """Return a checksum of the bytes of all arrays, in order."""
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return value


def weights_checksum(module: torch.nn.Module) -> int:
    """Return a checksum of all weights of a network."""
    return checksum(tensor.detach().cpu().numpy() for tensor in module.state_dict().values())


def code_checksum() -> str:
    """Return a checksum of the package's modules of networks, so that no run mixes two versions of them."""
    found = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]
