"""From image files to the rows that learners take: visterms as in the category study, or a hand-crafted description.

A representation is fitted on the images that are learned from and on no other, describes any image from then on, and
goes into the model file whole: its settings as JSON, what it learned as arrays.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.errors import LookalikeError
from lookalike.own_images.vector_cache import VectorCache, read_arrays, write_part
from lookalike.seeds import generator, integer_seed

if TYPE_CHECKING:
    from lookalike.features.describers import Describer

Arrays = dict[str, npt.NDArray[Any]]
Image = npt.NDArray[np.uint8]
Progress = Callable[[str, int, int], None]
"""``progress(what, done, total)``."""
Vectors = Any

VISTERMS = "visterms"

LONGEST_SIDE = 512
"""Pixels of the longer side of an image that visterms are counted in: photographs of today have ten times as many."""

MAX_LEARNING_IMAGES = 1000
"""Images that a codebook is learned from at most: of more, so many are drawn by the seed."""

BLOCKS_PER_WORD = 120
"""Block descriptors that k-means is given for every word, as in the demo of the category study."""

FEWEST_WORDS, MOST_WORDS = 100, 1000
"""Words by default; the papers' comparisons have 1,000."""

LARGEST_CODEBOOK = 10_000
"""Words of the largest codebook of the papers, and the most that can be asked for: W has their square."""

_N_PIXELS = 100_000
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
            with _one_thread_each():
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
        with _one_thread_each(), _pool(jobs) as pool:
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


class Visterms(Representation):
    """Counts of visterms, weighted by tf-idf: the representation of the category study (JMLR 2010, section 3).

    Two things are as no paper has them, because photographs come in any size: an image is shrunk to `LONGEST_SIDE`
    pixels, and one that is too small for the pyramid is enlarged until it has ten blocks.

    Parameters
    ----------
    words : int, optional
        Words of the codebook. Default: about as many as images to learn from, from 100 to 1,000, in hundreds.
    longest_side : int, default=512
        Pixels; larger images are shrunk.
    """

    name = VISTERMS

    def __init__(self, words: int | None = None, *, longest_side: int = LONGEST_SIDE) -> None:
        if words is not None and not 2 <= words <= LARGEST_CODEBOOK:
            raise LookalikeError(f"a codebook has 2 to {LARGEST_CODEBOOK:,} words, not {words:,}: ask for 1000")
        self.words = words
        self.longest_side = longest_side
        self.palette: npt.NDArray[np.float32] = np.empty((0, 3), np.float32)
        self.codebook: npt.NDArray[np.float32] = np.empty((0, 0), np.float32)
        self.idf: npt.NDArray[np.float64] = np.empty(0)

    @property
    def n_dimensions(self) -> int:
        """Number of words."""
        return len(self.codebook)

    def settings(self) -> dict[str, Any]:
        """Return the words asked for and the size that images are brought to."""
        return {"words": self.words, "longest_side": self.longest_side}

    def arrays(self) -> Arrays:
        """Return palette, codebook and inverse document frequencies."""
        return {"palette": self.palette, "codebook": self.codebook, "idf": self.idf}

    def _restore(self, arrays: Arrays) -> None:
        from lookalike.features.lbp import N_BINS

        palette, codebook, idf = arrays["palette"], arrays["codebook"], arrays["idf"]
        if palette.ndim != 2 or palette.shape[1] != 3 or codebook.ndim != 2 or not len(codebook):
            raise ValueError("a palette has three columns and a codebook words")
        if codebook.shape[1] != N_BINS + len(palette) or (idf.shape != (len(codebook),) and idf.size):
            raise ValueError("palette, codebook and weights are not of one size")
        self.palette, self.codebook = palette.astype(np.float32), codebook.astype(np.float32)
        self.idf = idf.astype(np.float64)

    def _learn(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, jobs: int, progress: Progress) -> None:
        from lookalike.features.codebook import learn_codebook, warm_up
        from lookalike.features.descriptors import BlockDescriber, normalise
        from lookalike.features.palette import N_COLOURS, learn_palette, sample_pixels

        n_words = self.words or min(MOST_WORDS, max(FEWEST_WORDS, len(paths) // 100 * 100))
        n_pixels, n_blocks = -(-_N_PIXELS // len(paths)), -(-n_words * BLOCKS_PER_WORD // len(paths))

        def pixels(number: int) -> Image:
            image = self._prepare(paths[number])
            return sample_pixels(image, n_pixels, generator(seed, "own images", "pixels", sha256[number]))

        def blocks(number: int) -> npt.NDArray[np.uint16]:
            counts = describer.describe(self._prepare(paths[number]))
            rng = generator(seed, "own images", "blocks", sha256[number])
            return counts[np.sort(rng.choice(len(counts), min(n_blocks, len(counts)), replace=False))]

        warm_up()
        with _pool(jobs) as pool:
            found = list(_told(pool.map(pixels, range(len(paths))), len(paths), "learning colours", progress))
            colours = np.concatenate(found)
            palette = learn_palette(colours, N_COLOURS, integer_seed(seed, "own images", "palette"))
            describer = BlockDescriber(palette)
            found = list(_told(pool.map(blocks, range(len(paths))), len(paths), "collecting blocks", progress))
        descriptors = normalise(np.concatenate(found))
        progress(f"learning {n_words:,} words", 0, 1)
        n_words = min(n_words, len(descriptors)) if self.words is None else n_words
        codebook = learn_codebook(descriptors, n_words, integer_seed(seed, "own images", "codebook"))
        progress(f"learning {n_words:,} words", 1, 1)
        self.palette, self.codebook, self.idf = palette, codebook, np.empty(0)

    def _prepare(self, path: Path) -> Image:
        """Read an image and bring it to a size at which it has blocks."""
        from lookalike.datasets.images import load_rgb
        from lookalike.features.describers import fit_within, resize

        image = fit_within(load_rgb(path), self.longest_side)
        height, width = enlarged(*image.shape[:2])
        return resize(image, height, width)

    def _describe(self, paths: Sequence[Path]) -> Vectors:
        from lookalike.features.codebook import assign
        from lookalike.features.descriptors import BlockDescriber, normalise

        describer = BlockDescriber(self.palette)
        counts = [describer.describe(self._prepare(path)) for path in paths]
        words = assign(normalise(np.concatenate(counts)), self.codebook).astype(np.int64)
        rows = np.repeat(np.arange(len(paths)), [len(one) for one in counts])
        key, times = np.unique(rows * self.n_dimensions + words, return_counts=True)
        starts = np.searchsorted(key, np.arange(len(paths) + 1) * self.n_dimensions)
        places = (key % self.n_dimensions).astype(np.int32)
        return sp.csr_array(
            (times.astype(np.int32), places, starts.astype(np.int32)), shape=(len(paths), self.n_dimensions)
        )

    def _learn_weights(self, vectors: Vectors) -> None:
        from lookalike.features.visterms import TfidfVisterms

        self.idf = TfidfVisterms().fit(vectors).idf_

    def weigh(self, vectors: Vectors) -> Vectors:
        """Weight counts by tf-idf, rows of unit length."""
        from lookalike.features.visterms import TfidfVisterms

        weights = TfidfVisterms()
        weights.idf_, weights.n_features_in_ = self.idf, self.n_dimensions
        return weights.transform(vectors)


class Described(Representation):
    """A hand-crafted description of the fine-grained study, its vectors brought to unit length.

    Histograms, which are compared by another distance than the Euclidean one, go through a square root first: the
    Euclidean distance of square roots is Hellinger's.

    Parameters
    ----------
    system : str
        As in `lookalike.features.describers`.
    """

    _FITTED: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "fisher": ("mean_", "projection_", "mixture_"),
        "sift-like": ("words_",),
        "spmk-texton-1024-max": ("textons", "variance"),
    }

    def __init__(self, system: str, **settings: Any) -> None:
        from lookalike.features.describers import make_describer

        self.describer: Describer = make_describer(system, **settings)
        self.name = self.describer.system

    @property
    def n_dimensions(self) -> int:
        """Length of the description."""
        return self.describer.n_dimensions

    def settings(self) -> dict[str, Any]:
        """Return the describer's settings."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.describer.settings().items()
        }

    def arrays(self) -> Arrays:
        """Return what the describer learned; nothing for most."""
        learned: Arrays = {}
        for name in self._FITTED.get(self.name, ()):
            value = getattr(self.describer, name, None)
            if isinstance(value, tuple):
                learned |= {f"{name}.{place}": np.asarray(part) for place, part in enumerate(value)}
            elif value is not None:
                learned[name] = np.asarray(value)
        return learned

    def _restore(self, arrays: Arrays) -> None:
        for name in self._FITTED.get(self.name, ()):
            if name == "mixture_":
                from lookalike.features.fisher_vector import Mixture

                self.describer.mixture_ = Mixture(*(arrays[f"{name}.{place}"] for place in range(3)))  # type: ignore[attr-defined]
            else:
                setattr(self.describer, name, arrays[name] if arrays[name].ndim else float(arrays[name]))

    def _learn(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, jobs: int, progress: Progress) -> None:
        from lookalike.datasets.images import load_rgb

        if self.describer.needs_fit:
            images = (load_rgb(path) for path in paths)
            self.describer.fit(
                _told(images, len(paths), f"learning what {self.name} needs", progress),
                random_state=integer_seed(seed, "own images", self.name),
            )

    def _describe(self, paths: Sequence[Path]) -> Vectors:
        from lookalike.datasets.images import load_rgb

        return np.stack([self.describer.describe(load_rgb(path)) for path in paths])

    def weigh(self, vectors: Vectors) -> Vectors:
        """Take square roots of histograms, and scale rows to unit length."""
        rows = vectors.astype(np.float64)
        if self.describer.distance in ("l1", "chi2"):
            rows = np.sign(rows) * np.sqrt(np.abs(rows))
        return unit_rows(rows)


def make_representation(name: str, words: int | None = None, **settings: Any) -> Representation:
    """Make a representation that is not fitted yet.

    Parameters
    ----------
    name : str
        ``"visterms"`` or a describer of the fine-grained study.
    words : int, optional
        Of visterms.
    **settings
        As `Representation.settings` returns them.

    Raises
    ------
    LookalikeError
        When there is no such representation, or it has no words to set.
    """
    from lookalike.features.describers import DESCRIBERS, SHORT_NAMES

    if name == VISTERMS:
        return Visterms(words, **settings)
    if name not in {*DESCRIBERS, *SHORT_NAMES}:
        known = ", ".join([VISTERMS, *DESCRIBERS, *SHORT_NAMES])
        raise LookalikeError(f"there is no representation {name!r}: take one of {known}, or a .lookalike file")
    if words is not None:
        raise LookalikeError(f"--words is of visterms, and {name} has none: leave it out or take visterms")
    return Described(name, **settings)


def restore_representation(name: str, settings: Mapping[str, Any], arrays: Arrays) -> Representation:
    """Make a fitted representation of what a model file holds.

    Raises
    ------
    LookalikeError, KeyError, TypeError, ValueError
        When the arrays or settings are not those of such a representation.
    """
    restored = make_representation(name, **dict(settings))
    restored._restore(arrays)
    return restored


def enlarged(height: int, width: int) -> tuple[int, int]:
    """Return the size at which an image has the ten blocks that its pyramid needs: its own, or the least larger one.

    Parameters
    ----------
    height, width : int
        Pixels, at least 1.

    Returns
    -------
    (int, int)
        Of the same aspect, in steps of an eighth of the original.
    """
    from lookalike.features.pyramid import is_large_enough

    eighths = 8
    while not is_large_enough(width * eighths // 8, height * eighths // 8):
        eighths += 1
    return height * eighths // 8, width * eighths // 8


def unit_rows(rows: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
    """Scale rows to length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _draw(n: int, seed: int) -> list[int]:
    """Return the images that codebooks are learned from."""
    if n <= MAX_LEARNING_IMAGES:
        return list(range(n))
    return sorted(generator(seed, "own images", "codebook").permutation(n)[:MAX_LEARNING_IMAGES].tolist())


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]


def _silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


def _told(items: Any, total: int, what: str, progress: Progress) -> Iterator[Any]:
    for done, item in enumerate(items, start=1):
        yield item
        progress(what, done, total)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Keep the libraries to one thread: images are what runs side by side."""
    from lookalike.features._clustering import one_thread
    from lookalike.features.describers import one_opencv_thread

    with one_thread(), one_opencv_thread():
        yield


def _pool(jobs: int) -> ThreadPoolExecutor:
    import faiss

    # OpenMP keeps its number of threads by thread, so each of the pool is told
    return ThreadPoolExecutor(max(1, jobs), initializer=faiss.omp_set_num_threads, initargs=(1,))
