"""Descriptions of whole images behind one interface: visterms, and the baselines of the fine-grained study.

Table 1 of the Deep Ranking paper (CVPR 2014, section 6.4) compares six; each is a `Describer` in its own module.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Annotated, ClassVar, Self

import cv2
import numpy as np
from pydantic import Field, ValidationError

from lookalike.core.arrays import Array, Bytes, Floats, Matrix, Reals
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.images import check_pixels, load_rgb
from lookalike.core.progress import Progress, counted
from lookalike.core.resizing import fit_within, resize
from lookalike.core.seeds import as_seed, integer_seed
from lookalike.features.clustering import one_faiss_thread, one_thread

Positive = Annotated[int, Field(ge=1, le=10**7)]
NotNegative = Annotated[int, Field(ge=0, le=10**7)]
Arrays = Mapping[str, Array]
Setting = bool | int | float | tuple[int, ...] | None
StageProgress = Callable[[str, int, int], None]
"""``progress(what, done, total)``."""
Vectors = Matrix
"""A row an image."""
MOST_DIMENSIONS = MOST_PLACES = 2**20
"""Of the vector of an image, and of the grid on it that is described, a place of which takes about a kilobyte."""
DESCRIBERS = {
    "wavelet": "lookalike.features.wavelet:Wavelet",
    "color": "lookalike.features.color_histogram:ColorHistogram",
    "sift-like": "lookalike.features.sift_like:SiftLike",
    "fisher": "lookalike.features.fisher_vector:FisherVector",
    "hog": "lookalike.features.hog:Hog",
    "spmk-texton-1024-max": "lookalike.features.texton:TextonPyramid",
}
"""System id (a row of Table 1) to ``module:Class``."""
VISTERMS = "visterms"
"""What `BagOfVisterms` is called: its module is imported with numba, for models of visterms alone."""
SHORT_NAMES = {"colour": "color", "sift": "sift-like", "texton": "spmk-texton-1024-max"}
"""What else a describer is called on the command line."""
NAMES = (*DESCRIBERS, *SHORT_NAMES)


def silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


class Describer(ABC):
    """Turns an image into one vector of fixed length.

    A subclass is a dataclass: its fields are its settings, each with a default; pydantic checks their types and ranges.
    """

    system: ClassVar[str]
    """Row of Table 1, as in the registry."""
    distance: ClassVar[str]
    """Distance that its vectors are compared by, see `lookalike.ranking.distances`."""
    learned: ClassVar[tuple[str, ...]] = ()
    """Attributes that `fit` learns from images (a codebook, a mixture), which must come before `describe`."""
    weights: ClassVar[tuple[str, ...]] = ()
    """Those of them that `fit_weights` learns from descriptions; `describe` does not need them, but `weigh` does."""
    longest_side: int = 256
    """Pixels of the longer side of an image at most; larger ones are shrunk. 0 describes images at full size."""
    side: int = 0
    """If it is not 0, images are rescaled to a square of so many pixels a side instead."""

    def __init_subclass__(cls, **facts: str | tuple[str, ...]) -> None:
        """Take over attributes that stand behind the bases: ``class Hog(Describer, system="hog", ...)``."""
        super().__init_subclass__()
        for name, fact in facts.items():
            setattr(cls, name, fact)

    @property
    def needs_fit(self) -> bool:
        """Tell whether `fit` learns something and must come before `describe`."""
        return bool(self.learned)

    @property
    @abstractmethod
    def n_dimensions(self) -> int:
        """Return the length of the vectors; known once fitted where `needs_fit`."""

    def prepare(self, image: Bytes) -> Bytes:
        """Check that these are RGB pixels, and bring them to the size at which they are described."""
        check_pixels(image)
        return resize(image, self.side, self.side) if self.side else fit_within(image, self.longest_side)

    @abstractmethod
    def _describe(self, image: Bytes) -> Floats:
        """Describe one image that `prepare` has brought to size."""

    def fit(self, images: Iterable[Bytes], random_state: int | np.random.Generator | None = None) -> Self:
        """Learn what the description needs; does nothing where `needs_fit` is False.

        Parameters
        ----------
        images : iterable of ndarray of shape (height, width, 3), uint8
            RGB; walked through once, so a generator that reads files one after another will do.
        random_state : int, numpy.random.Generator or None, default=None
        """
        if self.needs_fit:
            with one_thread(), one_opencv_thread():
                self._fit((self.prepare(image) for image in images), as_seed(random_state))
        return self

    def fit_files(
        self, paths: Sequence[PathLike], sha256: Sequence[str], seed: int, n_threads: int, progress: StageProgress
    ) -> Self:
        """Learn like `fit` from image files; its sha256 is checked, and may name what is random about it."""
        images = counted(
            map(load_rgb, paths, sha256), len(paths), partial(progress, f"learning what {self.system} needs")
        )
        return self.fit(images, integer_seed(seed, "own images", self.system))

    def _fit(self, images: Iterator[Bytes], seed: int) -> None:
        """Learn from images that `prepare` has brought to size, walked through once; most learn nothing."""
        return

    def describe(self, image: Bytes) -> Floats:
        """Describe one RGB image of uint8 of any size: float32 of shape (n_dimensions,), finite, repeatable.

        Other pixels are a ValueError, and a describer that was not fitted and must be a RuntimeError.
        """
        if not all(hasattr(self, name) for name in self.learned):
            raise RuntimeError(f"{self.system} has learned nothing yet: call fit(images) first")
        return self._describe(self.prepare(image))

    def describe_file(self, path: PathLike, sha256: str) -> Floats:
        """Describe an image file like `describe`; one of other content than its sha256 is an `UnreadableImage`."""
        return self.describe(load_rgb(path, sha256))

    def stacked(self, vectors: Sequence[Floats]) -> Vectors:
        """Put vectors below one another; those of counts that are mostly zero become CSR."""
        return np.stack(vectors)

    def fit_weights(self, vectors: Vectors) -> None:
        """Learn the `weights` from the descriptions of all images that are learned from; most have none."""
        return

    def weigh(self, vectors: Vectors) -> Vectors:
        """Return rows of unit length, float32, of descriptions.

        Histograms have square roots taken before, so that their Euclidean distance is Hellinger's.
        """
        rows = vectors.astype(np.float64)
        if self.distance in ("l1", "chi2"):
            rows = np.sign(rows) * np.sqrt(np.abs(rows))
        return unit_rows(rows)

    def arrays(self) -> dict[str, Array]:
        """Return what was learned, by name; nothing before `fit`."""
        found: dict[str, Array] = {}
        for name in (name for name in self.learned if hasattr(self, name)):
            value = getattr(self, name)
            parts = {f"{name}.{place}": part for place, part in enumerate(value)} if isinstance(value, tuple) else {}
            found |= {part: np.asarray(array) for part, array in (parts or {name: value}).items()}
        return found

    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Return the shapes of `arrays`, all floats, that follow from the settings."""
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Take over what the `arrays` of a fitted describer of the same settings were; one that lacks is a KeyError."""
        shapes = self._shapes()
        for name, shape in shapes.items():
            if arrays[name].shape != shape or arrays[name].dtype.kind != "f":
                raise ValueError(f"{name} of {self.system} must be floats of shape {shape}")
        for name in self.learned:
            parts = tuple(arrays[part] for part in shapes if part.startswith(f"{name}."))
            setattr(self, name, parts or (arrays[name] if arrays[name].ndim else arrays[name].item()))

    def settings(self) -> dict[str, Setting]:
        """Return what the constructor was given or took by default; ``type(self)(**settings)`` is its like."""
        return {name: getattr(self, name) for name in self.setting_names()}

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return names of the settings that the constructor takes."""
        return [field.name for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]


def check_places(shape: tuple[int, ...], step: int, n_sizes: int = 1) -> None:
    """Refuse to describe an image of this height and width on a grid of more than `MOST_PLACES` places."""
    n_places = n_sizes * math.prod(side // step + 1 for side in shape[:2])
    if n_places > MOST_PLACES:
        raise LookalikeError(
            f"an image has {n_places:,} places to describe, more than {MOST_PLACES:,}: set `step` higher"
        )


def unit_rows(rows: Reals) -> Floats:
    """Scale rows to length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


@contextmanager
def thread_pool(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield threads that images are described in; an error or Ctrl-C waits for the images begun and for no other."""
    pool = ThreadPoolExecutor(max(1, n_threads), initializer=one_faiss_thread)
    with one_thread(), one_opencv_thread():
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def one_opencv_thread() -> Iterator[None]:
    """Limit OpenCV to one thread within the block, and give it back what it had after it."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def make_describer(system: str, **settings: Setting) -> Describer:
    """Make a describer by its system id or short name; settings left out have the defaults of the literature."""
    if (name := SHORT_NAMES.get(system, system)) not in DESCRIBERS:
        raise LookalikeError(f"there is no describer {system!r}: take one of {', '.join(NAMES)}")
    module, _, class_name = DESCRIBERS[name].partition(":")
    cls: type[Describer] = getattr(importlib.import_module(module), class_name)
    unknown = sorted(set(settings) - set(names := cls.setting_names()))
    if unknown:
        raise LookalikeError(f"{name} has no setting {', '.join(map(repr, unknown))}: it takes {', '.join(names)}")
    try:
        describer = cls(**settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise LookalikeError(f"`{'.'.join(map(str, first['loc']))}` of {name}: {first['msg']}; correct it") from error
    if describer.n_dimensions > MOST_DIMENSIONS:
        raise LookalikeError(f"{name} would have {describer.n_dimensions:,} dimensions, more than {MOST_DIMENSIONS:,}")
    return describer


def describe_files(
    describer: Describer, paths: Sequence[PathLike | None], n_threads: int = 1, progress: Progress | None = None
) -> tuple[Floats, float]:
    """Read and describe image files; return vectors, float32 of shape (n, n_dimensions), and the seconds that it took.

    A path of None gives a row of NaN. The vectors do not depend on `n_threads`, the images described at a time.
    """
    vectors = np.empty((len(paths), describer.n_dimensions), np.float32)

    def describe_row(row: int) -> None:
        path = paths[row]
        vectors[row] = np.nan if path is None else describer.describe(load_rgb(path))

    start = time.perf_counter()
    with thread_pool(n_threads) as pool:
        for _ in counted(pool.map(describe_row, range(len(paths))), len(paths), progress):
            pass
    return vectors, time.perf_counter() - start
