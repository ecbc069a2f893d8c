"""What all representations of one's own images share: learning from some, describing any, the cache between the two.

A representation is fitted on the images that are learned from and on no other, describes any image from then on, and
goes into the model file whole: its settings as JSON, what it learned as arrays. Interrupted, it keeps what it has
described so far.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lookalike.core.seeds import generator
from lookalike.own_images.vector_cache import VectorCache, read_arrays, write_part

Item = TypeVar("Item")
Arrays = dict[str, npt.NDArray[Any]]
Progress = Callable[[str, int, int], None]
"""``progress(what, done, total)``."""
Vectors = Any

MAX_LEARNING_IMAGES = 1000
"""Images that a codebook is learned from at most: of more, so many are drawn by the seed."""

_TOGETHER = 16
"""Images that a thread describes at a time, so that their words are found in one go."""


class Representation(ABC):
    """What turns images into rows.

    Attributes
    ----------
    name : str
        As on the command line.
    """

    name: str

    @property
    @abstractmethod
    def n_dimensions(self) -> int:
        """Length of a row; known once fitted."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return what was chosen before learning, as JSON holds it."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return what was learned."""

    @abstractmethod
    def _learn(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, jobs: int, progress: Progress) -> None:
        """Learn what describing needs from images."""

    @abstractmethod
    def _restore(self, arrays: Arrays) -> None:
        """Take over what was learned; raise KeyError or ValueError for arrays that cannot be."""

    @abstractmethod
    def _describe(self, paths: Sequence[Path]) -> Vectors:
        """Describe some images, in one thread."""

    @abstractmethod
    def weigh(self, vectors: Vectors) -> Vectors:
        """Turn descriptions into rows of unit length; what weights them was learned by `fit`."""

    def _learn_weights(self, vectors: Vectors) -> None:  # noqa: B027 (most have none to learn)
        """Learn what `weigh` needs from the descriptions of all images that are learned from."""

    def fit(
        self,
        paths: Sequence[Path],
        sha256: Sequence[str],
        *,
        seed: int = 0,
        jobs: int = 1,
        cache: Path | None = None,
        progress: Progress | None = None,
    ) -> Vectors:
        """Learn from images, and return their rows.

        Parameters
        ----------
        paths, sha256 : sequences of Path and str
            Images, in an order that does not depend on the file system.
        seed : int, default=0
            Root of every random draw.
        jobs : int, default=1
            Images described at a time; the result does not depend on it.
        cache : Path, optional
            Folder of the cache.
        progress : callable, optional

        Returns
        -------
        csr_array or ndarray of shape (n, n_dimensions), float32
        """
        told = progress or _silent
        chosen = _draw(len(paths), seed)
        key = _digest([self.name, self.settings(), seed, [sha256[i] for i in chosen]])
        known = None if cache is None else read_arrays(cache / f"codebook-{key}" / "learned.npz")
        if known is None or not self._takes(known):
            with one_thread_each():
                self._learn([paths[i] for i in chosen], [sha256[i] for i in chosen], seed, jobs, told)
            if cache is not None and self.arrays():
                write_part(cache / f"codebook-{key}", "learned.npz", self.arrays())
        vectors = self.describe(paths, sha256, jobs=jobs, cache=cache, progress=progress)
        self._learn_weights(vectors)
        return self.weigh(vectors)

    def _takes(self, known: Arrays) -> bool:
        try:
            self._restore(known)
        except (KeyError, ValueError):
            return False
        return True

    def rows(
        self,
        paths: Sequence[Path],
        sha256: Sequence[str],
        *,
        jobs: int = 1,
        cache: Path | None = None,
        progress: Progress | None = None,
    ) -> Vectors:
        """Return the rows of any images; parameters as of `fit`."""
        return self.weigh(self.describe(paths, sha256, jobs=jobs, cache=cache, progress=progress))

    def describe(
        self,
        paths: Sequence[Path],
        sha256: Sequence[str],
        *,
        jobs: int = 1,
        cache: Path | None = None,
        progress: Progress | None = None,
    ) -> Vectors:
        """Describe images, those that the cache has excepted; parameters as of `fit`.

        Returns
        -------
        csr_array (int32) or ndarray (float32) of shape (n, n_dimensions)
            Before `weigh`.
        """
        told = progress or _silent
        store = VectorCache(cache, self._key(), self.n_dimensions)
        path_of = dict(zip(sha256, paths, strict=True))
        missing = [name for name in path_of if name not in store]
        chunks = [missing[start : start + _TOGETHER] for start in range(0, len(missing), _TOGETHER)]

        def describe_chunk(chunk: Sequence[str]) -> Vectors:
            return self._describe([path_of[name] for name in chunk])

        done = len(path_of) - len(missing)
        with one_thread_each(), thread_pool(jobs) as pool:
            for chunk, vectors in zip(chunks, pool.map(describe_chunk, chunks), strict=True):
                store.add(chunk, vectors)
                done += len(chunk)
                told("describing images", done, len(path_of))
        return store.rows(sha256)

    def _key(self) -> str:
        digest = hashlib.sha256(json.dumps([self.name, self.settings()], sort_keys=True).encode())
        for name, array in sorted(self.arrays().items()):
            if name != "idf":  # weights come after what is cached
                digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return f"{self.name}-{digest.hexdigest()[:24]}"


def counting(items: Iterable[Item], total: int, what: str, progress: Progress) -> Iterator[Item]:
    """Pass items on, and tell after each how many of them are done."""
    for done, item in enumerate(items, start=1):
        yield item
        progress(what, done, total)


@contextmanager
def thread_pool(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads that images are described in; an error or Ctrl-C waits for the images begun and for no other."""
    import faiss

    # OpenMP keeps its number of threads by thread, so each of the pool is told
    pool = ThreadPoolExecutor(max(1, jobs), initializer=faiss.omp_set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Keep the libraries to one thread: images are what runs side by side."""
    from lookalike.features._clustering import one_thread
    from lookalike.features.describers import one_opencv_thread

    with one_thread(), one_opencv_thread():
        yield


def _draw(n: int, seed: int) -> list[int]:
    """Return the images that codebooks are learned from."""
    if n <= MAX_LEARNING_IMAGES:
        return list(range(n))
    return sorted(generator(seed, "own images", "codebook").permutation(n)[:MAX_LEARNING_IMAGES].tolist())


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""
