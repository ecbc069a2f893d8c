"""Descriptions of one's own images: learned on some images, then made of any, and kept in a cache between two calls."""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing
from lookalike.core.images import load_rgb
from lookalike.core.progress import counted
from lookalike.core.resizing import fit_within, resize
from lookalike.core.seeds import generator, integer_seed
from lookalike.features.clustering import one_thread
from lookalike.features.codebook import assign, learn_codebook, warm_up
from lookalike.features.describers import DESCRIBERS, SHORT_NAMES, Describer, make_describer, one_opencv_thread
from lookalike.features.descriptors import describe, normalise
from lookalike.features.lbp import N_BINS
from lookalike.features.palette import N_COLOURS, learn_palette, sample_pixels
from lookalike.features.pyramid import is_large_enough
from lookalike.features.visterms import TfidfVisterms

Arrays = dict[str, npt.NDArray[Any]]
Image = npt.NDArray[np.uint8]
Progress = Callable[[str, int, int], None]
"""``progress(what, done, total)``."""
Vectors = Any
"""CSR matrix or ndarray: a row an image."""

VISTERMS = "visterms"

MAX_LEARNING_IMAGES = 1000
"""Images that a codebook is learned from at most: of more, so many are drawn by the seed."""

LONGEST_SIDE = 512
"""Pixels of the longer side of an image that visterms are counted in: photographs of today have ten times as many."""

BLOCKS_PER_WORD = 120
"""Block descriptors that k-means is given for every word, as in the demo of the category study."""

FEWEST_WORDS, MOST_WORDS = 100, 1000
"""Words by default; the papers' comparisons have 1,000."""

LARGEST_CODEBOOK = 10_000
"""Words of the largest codebook of the papers, and the most that can be asked for: W has their square."""

N_PIXELS = 100_000
"""Pixels that the colours of visterms are learned from."""

_TOGETHER = 16
"""Images that a thread describes at a time, so that their words are found in one go."""


def make_representation(name: str, words: int | None = None, **settings: Any) -> Representation:
    """Make ``"visterms"``, which alone have words, or a describer of the fine-grained study, not fitted yet."""
    if name == VISTERMS:
        return Visterms(words, **settings)
    if name not in {*DESCRIBERS, *SHORT_NAMES}:
        known = ", ".join([VISTERMS, *DESCRIBERS, *SHORT_NAMES])
        raise LookalikeError(f"there is no representation {name!r}: take one of {known}, or a .lookalike file")
    if words is not None:
        raise LookalikeError(f"--words is of visterms, and {name} has none: leave it out or take visterms")
    return Described(name, **settings)


def silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Work:
    """How images are worked on: so many at a time, with a cache, and who is told how far it is."""

    jobs: int = 1
    cache: Path | None = None
    progress: Progress = silent


class Representation(ABC):
    """What turns images into rows: fitted on the images that are learned from, and in the model file whole."""

    name: str
    """As on the command line."""
    learned = False
    """Whether it comes from a model file: `fit` then takes it as it is."""

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
    def restore(self, arrays: Arrays) -> None:
        """Take over what was learned; raise KeyError or ValueError for arrays that cannot be."""

    @abstractmethod
    def _learn(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, work: Work) -> None:
        """Learn what describing needs from images."""

    @abstractmethod
    def _describe(self, paths: Sequence[Path]) -> Vectors:
        """Describe some images, in one thread."""

    @abstractmethod
    def weigh(self, vectors: Vectors) -> Vectors:
        """Turn descriptions into rows of unit length; what weights them was learned by `fit`."""

    def _learn_weights(self, vectors: Vectors) -> None:  # noqa: B027 (most have none to learn)
        """Learn what `weigh` needs from the descriptions of all images that are learned from."""

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
            self._learn_weights(vectors)
        return self.weigh(vectors)

    def _learn_or_find(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, work: Work) -> None:
        """Learn from images, unless the cache has what was learned from them."""
        made_of = json.dumps([self.name, self.settings(), seed, list(sha256)], sort_keys=True)
        key = f"codebook-{hashlib.sha256(made_of.encode()).hexdigest()[:24]}"
        file = None if work.cache is None else work.cache / key / "learned.npz"
        with suppress(KeyError, ValueError):
            if file is not None:
                self.restore(_read_arrays(file))
                return
        with one_thread(), one_opencv_thread():
            self._learn(paths, sha256, seed, work)
        if file is not None and self.arrays():
            _write_arrays(file, self.arrays())

    def describe(self, paths: Sequence[Path], sha256: Sequence[str], work: Work) -> Vectors:
        """Describe images, those that the cache has excepted, as they are before `weigh`."""
        cache = None if work.cache is None else work.cache / self._key()
        known, parts = _read_cached(cache, self.n_dimensions)
        kept, path_of = set(known), dict(zip(sha256, paths, strict=True))
        missing = [name for name in path_of if name not in kept]
        chunks = [missing[start : start + _TOGETHER] for start in range(0, len(missing), _TOGETHER)]

        def describe_chunk(chunk: Sequence[str]) -> Vectors:
            return self._describe([path_of[name] for name in chunk])

        done = len(path_of) - len(missing)
        with one_thread(), one_opencv_thread(), thread_pool(work.jobs) as pool:
            for chunk, vectors in zip(chunks, pool.map(describe_chunk, chunks), strict=True):
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
        digest = hashlib.sha256(json.dumps([self.name, self.settings()], sort_keys=True).encode())
        for name, array in sorted(self.arrays().items()):
            if name != "idf":  # weights come after what is cached
                digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return f"{self.name}-{digest.hexdigest()[:24]}"


class Visterms(Representation):
    """Counts of visterms, weighted by tf-idf: the representation of the category study (JMLR 2010, section 3)."""

    # no paper shrinks images to `LONGEST_SIDE`, or enlarges small ones for the pyramid: photographs come in any size
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

    def restore(self, arrays: Arrays) -> None:
        """Take over palette, codebook and inverse document frequencies."""
        palette, codebook, idf = arrays["palette"], arrays["codebook"], arrays["idf"]
        if palette.ndim != 2 or palette.shape[1] != 3 or codebook.ndim != 2 or not len(codebook):
            raise ValueError("a palette has three columns and a codebook words")
        if codebook.shape[1] != N_BINS + len(palette) or (idf.shape != (len(codebook),) and idf.size):
            raise ValueError("palette, codebook and weights are not of one size")
        self.palette, self.codebook = palette.astype(np.float32), codebook.astype(np.float32)
        self.idf = idf.astype(np.float64)

    def _learn(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, work: Work) -> None:
        n_words = self.words or min(MOST_WORDS, max(FEWEST_WORDS, len(paths) // 100 * 100))
        n_pixels, n_blocks = -(-N_PIXELS // len(paths)), -(-n_words * BLOCKS_PER_WORD // len(paths))

        def pixels(number: int) -> Image:
            image = self._prepare(paths[number])
            return sample_pixels(image, n_pixels, generator(seed, "own images", "pixels", sha256[number]))

        def blocks(number: int) -> npt.NDArray[np.uint16]:
            counts = describe(self._prepare(paths[number]), palette)
            rng = generator(seed, "own images", "blocks", sha256[number])
            return counts[np.sort(rng.choice(len(counts), min(n_blocks, len(counts)), replace=False))]

        warm_up()
        with thread_pool(work.jobs) as pool:
            told = partial(work.progress, "learning colours")
            drawn = counted(pool.map(pixels, range(len(paths))), len(paths), told)
            palette = learn_palette(np.concatenate(list(drawn)), N_COLOURS, integer_seed(seed, "own images", "palette"))
            told = partial(work.progress, "collecting blocks")
            counts = counted(pool.map(blocks, range(len(paths))), len(paths), told)
            descriptors = normalise(np.concatenate(list(counts)))
        work.progress(f"learning {n_words:,} words", 0, 1)
        n_words = min(n_words, len(descriptors)) if self.words is None else n_words
        codebook = learn_codebook(descriptors, n_words, integer_seed(seed, "own images", "codebook"))
        work.progress(f"learning {n_words:,} words", 1, 1)
        self.palette, self.codebook, self.idf = palette, codebook, np.empty(0)

    def _prepare(self, path: Path) -> Image:
        """Read an image and bring it to a size at which it has blocks."""
        image = fit_within(load_rgb(path), self.longest_side)
        height, width = enlarged(*image.shape[:2])
        return resize(image, height, width)

    def _describe(self, paths: Sequence[Path]) -> Vectors:
        counts = [describe(self._prepare(path), self.palette) for path in paths]
        words = assign(normalise(np.concatenate(counts)), self.codebook).astype(np.int64)
        rows = np.repeat(np.arange(len(paths)), [len(one) for one in counts])
        shape = len(paths), self.n_dimensions
        times = np.bincount(rows * self.n_dimensions + words, minlength=shape[0] * shape[1])
        return sp.csr_array(times.astype(np.int32).reshape(shape))

    def _learn_weights(self, vectors: Vectors) -> None:
        self.idf = TfidfVisterms().fit(vectors).idf_

    def weigh(self, vectors: Vectors) -> Vectors:
        """Weight counts by tf-idf, rows of unit length."""
        weights = TfidfVisterms()
        weights.idf_, weights.n_features_in_ = self.idf, self.n_dimensions
        return weights.transform(vectors)


def enlarged(height: int, width: int) -> tuple[int, int]:
    """Return the least size, its own or more by eighths, at which an image has the ten blocks of its pyramid."""
    eighths = 8
    while not is_large_enough(width * eighths // 8, height * eighths // 8):
        eighths += 1
    return height * eighths // 8, width * eighths // 8


class Described(Representation):
    """A hand-crafted description of the fine-grained study, its vectors brought to unit length."""

    def __init__(self, system: str, **settings: Any) -> None:
        self.describer: Describer = make_describer(system, **settings)
        self.name = self.describer.system

    @property
    def n_dimensions(self) -> int:
        """Length of the description."""
        return self.describer.n_dimensions

    def settings(self) -> dict[str, Any]:
        """Return the describer's settings."""
        values = self.describer.settings().items()
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values}

    def arrays(self) -> Arrays:
        """Return what the describer learned; nothing for most."""
        return self.describer.arrays()

    def restore(self, arrays: Arrays) -> None:
        """Take over what the describer learned."""
        self.describer.restore(arrays)

    def _learn(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, work: Work) -> None:
        if self.describer.needs_fit:
            told = partial(work.progress, f"learning what {self.name} needs")
            images = counted((load_rgb(path) for path in paths), len(paths), told)
            self.describer.fit(images, random_state=integer_seed(seed, "own images", self.name))

    def _describe(self, paths: Sequence[Path]) -> Vectors:
        return np.stack([self.describer.describe(load_rgb(path)) for path in paths])

    def weigh(self, vectors: Vectors) -> Vectors:
        """Take square roots of histograms, whose Euclidean distance is Hellinger's, and scale rows to unit length."""
        rows = vectors.astype(np.float64)
        if self.describer.distance in ("l1", "chi2"):
            rows = np.sign(rows) * np.sqrt(np.abs(rows))
        return unit_rows(rows)


def unit_rows(rows: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
    """Scale rows to length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


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
        with replacing(path) as part, part.open("wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
    except LookalikeError as error:
        warnings.warn(f"nothing is cached any more: {str(error).partition(';')[0]}", stacklevel=2)
        return False
    return True


def _read_arrays(path: Path) -> Arrays:
    """Read a file of the cache; nothing where it is missing or damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        return {}


@contextmanager
def thread_pool(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads that images are described in; an error or Ctrl-C waits for the images begun and for no other."""
    # OpenMP keeps its number of threads by thread, so each of the pool is told
    pool = ThreadPoolExecutor(max(1, jobs), initializer=faiss.omp_set_num_threads, initargs=(1,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
