"""Vectors of images kept beside a model, by the images' content: a second fit with another learner describes nothing.

A folder per representation holds files of some dozens of images each, written as soon as these are described, so that a
run that is killed loses little. Nothing depends on the cache: a file that is damaged is not used, and where none can
be written, the work goes on without.
"""

from __future__ import annotations

import hashlib
import os
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing

Vectors = Any
"""CSR matrix or ndarray: a row an image."""

FOLDER = ".lookalike-cache"
"""Name of the cache beside a model. Begins with a dot, so that a scan of the folder passes it over."""


class VectorCache:
    """Vectors of one representation, by the sha256 of their image.

    Parameters
    ----------
    folder : path-like or None
        The cache, for any number of representations; None keeps nothing on disk.
    key : str
        Names the representation: another key never sees these vectors.
    n_dimensions : int
        Length of the vectors.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, key: str, n_dimensions: int) -> None:
        self.folder = None if folder is None else Path(folder) / key
        self.n_dimensions = n_dimensions
        self._parts: list[Vectors] = []
        self._place: dict[str, tuple[int, int]] = {}
        for path in sorted(self.folder.glob("*.npz")) if self.folder is not None and self.folder.is_dir() else []:
            found = _read_part(path, n_dimensions)
            if found is not None:
                self._keep(*found)

    def __contains__(self, sha256: str) -> bool:
        return sha256 in self._place

    def add(self, sha256: Sequence[str], vectors: Vectors) -> None:
        """Keep vectors, on disk too where there is a folder."""
        self._keep(sha256, vectors)
        if self.folder is None:
            return
        name = hashlib.sha256("".join(sha256).encode()).hexdigest()[:24]
        arrays = (
            {"data": vectors.data, "indices": vectors.indices, "indptr": vectors.indptr}
            if hasattr(vectors, "indptr")
            else {"vectors": vectors}
        )
        self.folder = write_part(self.folder, f"{name}.npz", {"sha256": np.array(list(sha256)), **arrays})

    def rows(self, sha256: Sequence[str]) -> Vectors:
        """Return the vectors of images that are all there, in the order given.

        Returns
        -------
        csr_array or ndarray of shape (len(sha256), n_dimensions)
        """
        stacked = sp.vstack(self._parts, format="csr") if sp.issparse(self._parts[0]) else np.concatenate(self._parts)
        starts = np.cumsum([0, *(part.shape[0] for part in self._parts)])
        return stacked[[int(starts[part]) + row for part, row in (self._place[name] for name in sha256)]]

    def _keep(self, sha256: Sequence[str], vectors: Vectors) -> None:
        for row, name in enumerate(sha256):
            self._place.setdefault(name, (len(self._parts), row))
        self._parts.append(vectors)


def write_part(folder: Path, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Path | None:
    """Write arrays as a file of the cache; return the folder, or None, with a warning, where it cannot be written."""
    try:
        with replacing(folder / name) as part, part.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **dict(arrays))
    except LookalikeError as error:
        reason = str(error).partition(";")[0]
        warnings.warn(f"nothing is cached any more: {reason}", stacklevel=2)
        return None
    return folder


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """Read a file of the cache; None where it is missing or damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        return None


def _read_part(path: Path, n_dimensions: int) -> tuple[list[str], Vectors] | None:
    arrays = read_arrays(path)
    if arrays is None or "sha256" not in arrays:
        return None
    names = arrays["sha256"].tolist()
    vectors: Vectors
    if "vectors" in arrays:
        vectors = arrays["vectors"]
    else:
        try:
            vectors = sp.csr_array(
                (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(names), n_dimensions)
            )
            vectors.check_format()
        except (KeyError, ValueError):
            return None
    return (names, vectors) if vectors.shape == (len(names), n_dimensions) else None
