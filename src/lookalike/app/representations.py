"""Descriptions of one's own images: learned on some images, then made of any, and kept in a cache between two calls."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.files import reading_npz, write_npz
from lookalike.core.images import load_rgb
from lookalike.core.seeds import generator
from lookalike.features.bag_of_visterms import BagOfVisterms
from lookalike.features.describers import NAMES, Describer, StageProgress, Vectors, make_describer, silent, thread_pool

Arrays = dict[str, npt.NDArray[Any]]

MAX_LEARNING_IMAGES = 1000
"""Images that a codebook is learned from at most: of more, so many are drawn by the seed."""

_TOGETHER = 16
"""Images that a thread describes at a time, and that a file of the cache holds."""


def make_representation(name: str, words: int | None = None, **settings: Any) -> Representation:
    """Make ``"visterms"``, which alone have words, or a describer of the fine-grained study, not fitted yet."""
    if name == BagOfVisterms.system:
        return Representation(BagOfVisterms(words=words, **settings))
    if name not in NAMES:
        known = ", ".join([BagOfVisterms.system, *NAMES])
        raise LookalikeError(f"there is no representation {name!r}: take one of {known}, or a .lookalike file")
    if words is not None:
        raise LookalikeError(f"--words is for visterms only, and {name} has none: leave it out, or use visterms")
    return Representation(make_describer(name, **settings))


@dataclass(frozen=True)
class Work:
    """How images are worked on: so many at a time, with a cache, and who is told how far it is."""

    jobs: int = 1
    cache: Path | None = None
    progress: StageProgress = silent


@dataclass
class Representation:
    """What turns images into rows: a describer, fitted on the images that are learned from, and its cache."""

    describer: Describer
    learned: bool = False
    """Whether it comes from a model file: `fit` then takes it as it is."""

    def fit(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, work: Work) -> Vectors:
        """Learn from images, in an order that the file system does not decide, and return their rows, float32."""
        if not self.learned:
            chosen = list(range(len(paths)))
            if len(paths) > MAX_LEARNING_IMAGES:
                order = generator(seed, "own images", "codebook").permutation(len(paths))
                chosen = sorted(order[:MAX_LEARNING_IMAGES].tolist())
            self._learn_or_find([paths[i] for i in chosen], [sha256[i] for i in chosen], seed, work)
        vectors = self.describe(paths, sha256, work)
        if not self.learned:
            self.describer.fit_weights(vectors)
        return self.describer.weigh(vectors)

    def _learn_or_find(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, work: Work) -> None:
        """Learn from images, unless the cache has what was learned from them."""
        made_of = json.dumps([self.describer.system, self.describer.settings(), seed, list(sha256)], sort_keys=True)
        key = f"codebook-{hashlib.sha256(made_of.encode()).hexdigest()[:24]}"
        file = None if work.cache is None else work.cache / key / "learned.npz"
        with suppress(KeyError, ValueError):
            if file is not None:
                self.describer.restore(_read_arrays(file))
                return
        self.describer.fit_files(paths, sha256, seed, work.jobs, work.progress)
        if file is not None and self.describer.needs_fit:
            _write_arrays(file, self.describer.arrays())

    def describe(self, paths: Sequence[Path], sha256: Sequence[str], work: Work) -> Vectors:
        """Describe images, those that the cache has excepted, as they are before `weigh`."""
        cache = None if work.cache is None else work.cache / self._key()
        known, parts = _read_cached(cache, self.describer.n_dimensions)
        kept, path_of = set(known), dict(zip(sha256, paths, strict=True))
        missing = [name for name in path_of if name not in kept]
        chunks = [missing[start : start + _TOGETHER] for start in range(0, len(missing), _TOGETHER)]
        images = [(load_rgb(path_of[name]) for name in chunk) for chunk in chunks]  # each is read when it is described
        done = len(path_of) - len(missing)
        with thread_pool(work.jobs) as pool:
            for chunk, vectors in zip(chunks, pool.map(self.describer.describe_many, images), strict=True):
                known += chunk
                parts.append(vectors)
                # written at once, so that a run that is killed loses little
                cache = cache if cache is not None and _write_cached(cache, chunk, vectors) else None
                done += len(chunk)
                work.progress("describing images", done, len(path_of))
        stacked = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
        place = {name: row for row, name in reversed([*enumerate(known)])}
        return stacked[[place[name] for name in sha256]]

    def _key(self) -> str:
        """Return the name of this representation in the cache."""
        name_and_settings = [self.describer.system, self.describer.settings()]
        digest = hashlib.sha256(json.dumps(name_and_settings, sort_keys=True).encode())
        for name, array in sorted(self.describer.arrays().items()):
            if name not in self.describer.weights:  # these come after what is cached
                digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return f"{self.describer.system}-{digest.hexdigest()[:24]}"


def _read_cached(folder: Path | None, n_dimensions: int) -> tuple[list[str], list[Vectors]]:
    """Read the sha256 of images whose vectors of one representation are kept in a folder, and these, file by file."""
    known, parts = list[str](), list[Vectors]()
    for path in sorted(folder.glob("*.npz")) if folder is not None else []:
        found = _read_arrays(path)
        names, vectors = found.get("sha256", np.empty(0)), found.get("vectors", np.empty(0))
        if vectors.shape == (len(names), n_dimensions):
            known += names.tolist()
            parts.append(vectors if vectors.dtype.kind == "f" else sp.csr_array(vectors))
    return known, parts


def _write_cached(folder: Path, sha256: Sequence[str], vectors: Vectors) -> bool:
    """Keep vectors in a file of that folder, sparse ones in full: compressed, zeros take no room."""
    name = hashlib.sha256("".join(sha256).encode()).hexdigest()[:24]
    full = vectors.toarray() if hasattr(vectors, "indptr") else vectors
    return _write_arrays(folder / f"{name}.npz", {"sha256": np.array(sha256), "vectors": full})


def _write_arrays(path: Path, arrays: Arrays) -> bool:
    """Write a file of the cache; return whether, and warn where it cannot be written."""
    try:
        write_npz(arrays, path)
    except LookalikeError as error:
        warnings.warn(f"nothing is cached any more: {str(error).partition(';')[0]}", stacklevel=2)
        return False
    return True


def _read_arrays(path: Path) -> Arrays:
    """Read a file of the cache; nothing where it is missing or damaged."""
    with suppress(LookalikeError), reading_npz(path, "it is made again") as stored:
        return dict(stored)
    return {}
