"""Hand-crafted descriptions of whole images behind one interface: the baselines of the fine-grained study.

Table 1 of the Deep Ranking paper (CVPR 2014, section 6.4) compares six; each is a `Describer` in its own module.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import faiss
import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.images import load_rgb
from lookalike.core.progress import Progress, counted
from lookalike.core.resizing import fit_within
from lookalike.core.seeds import as_seed
from lookalike.features.clustering import one_thread

Image = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

DESCRIBERS = {
    "wavelet": "lookalike.features.wavelet:Wavelet",
    "color": "lookalike.features.color_histogram:ColorHistogram",
    "sift-like": "lookalike.features.sift_like:SiftLike",
    "fisher": "lookalike.features.fisher_vector:FisherVector",
    "hog": "lookalike.features.hog:Hog",
    "spmk-texton-1024-max": "lookalike.features.texton:TextonPyramid",
}
"""System id (a row of Table 1) to ``module:Class``."""

SHORT_NAMES = {"colour": "color", "sift": "sift-like", "texton": "spmk-texton-1024-max"}
"""What else a describer is called on the command line."""


class Describer(ABC):
    """Turns an image into one vector of fixed length.

    A subclass is a dataclass: its fields are its settings, each with a default.

    Attributes
    ----------
    system : str
        Row of Table 1, as in the registry.
    title : str
        How tables call it.
    distance : {"l1", "l2", "chi2", "cosine"}
        Distance that its vectors are compared by, see `lookalike.ranking.distances`.
    learned : tuple of str
        Attributes that `fit` learns from images (a codebook, a mixture), which must come before `describe`.
    longest_side : int
        Pixels of the longer side of an image at most; larger ones are shrunk. 0 describes images at full size.
    """

    system: ClassVar[str]
    title: ClassVar[str]
    distance: ClassVar[str]
    learned: ClassVar[tuple[str, ...]] = ()
    longest_side: int = 256

    @property
    def needs_fit(self) -> bool:
        """Whether `fit` learns something and must come before `describe`."""
        return bool(self.learned)

    @property
    @abstractmethod
    def n_dimensions(self) -> int:
        """Length of the vectors; known once fitted where `needs_fit`."""

    def prepare(self, image: Image) -> Image:
        """Check that these are RGB pixels, and bring them to the size at which they are described."""
        return fit_within(image, self.longest_side)

    @abstractmethod
    def _describe(self, image: Image) -> Floats:
        """Describe one image that `prepare` has brought to size."""

    def fit(self, images: Iterable[Image], random_state: int | np.random.Generator | None = None) -> Self:
        """Learn what the description needs; does nothing where `needs_fit` is False.

        Parameters
        ----------
        images : iterable of ndarray of shape (height, width, 3), uint8
            RGB; walked through once, so a generator that reads files one after another will do.
        random_state : int, numpy.random.Generator or None, default=None
        """
        return self

    def describe(self, image: Image) -> Floats:
        """Describe one RGB image of uint8 of any size: float32 of shape (n_dimensions,), finite, repeatable.

        Other pixels are a ValueError, and a describer that was not fitted and must be a RuntimeError.
        """
        if not all(hasattr(self, name) for name in self.learned):
            raise RuntimeError(f"{self.system} has learned nothing yet: call fit(images) first")
        return self._describe(self.prepare(image))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what `fit` learned, by name; nothing before it."""
        found: dict[str, npt.NDArray[Any]] = {}
        for name in self.learned:
            value = getattr(self, name, None)
            if isinstance(value, tuple):
                found |= {f"{name}.{place}": np.asarray(part) for place, part in enumerate(value)}
            elif value is not None:
                found[name] = np.asarray(value)
        return found

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what the `arrays` of a fitted describer of the same settings were."""
        for name in self.learned:
            setattr(self, name, arrays[name] if arrays[name].ndim else arrays[name].item())

    def settings(self) -> dict[str, Any]:
        """Return what the constructor was given or took by default; ``type(self)(**settings)`` is its like."""
        return {name: getattr(self, name) for name in self.setting_names()}

    @classmethod
    def setting_names(cls) -> list[str]:
        """Names of the settings that the constructor takes."""
        return [field.name for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]


class LearnedDescriber(Describer):
    """A describer that learns from images first."""

    def fit(self, images: Iterable[Image], random_state: int | np.random.Generator | None = None) -> Self:
        """Learn what the description needs, see `Describer.fit`."""
        with one_thread(), one_opencv_thread():
            self._fit((self.prepare(image) for image in images), as_seed(random_state))
        return self

    @abstractmethod
    def _fit(self, images: Iterator[Image], seed: int) -> None:
        """Learn from images that `prepare` has brought to size; they can be walked through once."""


@contextmanager
def one_opencv_thread() -> Iterator[None]:
    """Limit OpenCV to one thread within the block, and give it back what it had after it."""
    import cv2

    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def make_describer(system: str, **settings: Any) -> Describer:
    """Make a describer by its system id or short name; settings left out have the defaults of the literature."""
    name = SHORT_NAMES.get(system, system)
    if name not in DESCRIBERS:
        known = ", ".join([*DESCRIBERS, *SHORT_NAMES])
        raise LookalikeError(f"there is no describer {system!r}: take one of {known}")
    module, _, class_name = DESCRIBERS[name].partition(":")
    cls: type[Describer] = getattr(importlib.import_module(module), class_name)
    unknown = sorted(set(settings) - set(names := cls.setting_names()))
    if unknown:
        raise LookalikeError(f"{name} has no setting {', '.join(map(repr, unknown))}: it takes {', '.join(names)}")
    return cls(**settings)


def describe_files(
    describer: Describer,
    paths: Sequence[str | os.PathLike[str] | None],
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Floats, float]:
    """Read and describe image files; return vectors, float32 of shape (n, n_dimensions), and the seconds that it took.

    A path of None gives a row of NaN. The vectors do not depend on `n_threads`, the images described at a time.
    """
    vectors = np.empty((len(paths), describer.n_dimensions), np.float32)

    def describe_row(row: int) -> None:
        path = paths[row]
        vectors[row] = np.nan if path is None else describer.describe(load_rgb(path))

    start = time.perf_counter()
    # OpenMP keeps its number of threads by thread, so each of the pool is told
    pool = ThreadPoolExecutor(max(1, n_threads), initializer=faiss.omp_set_num_threads, initargs=(1,))
    with one_thread(), one_opencv_thread(), pool:
        for _ in counted(pool.map(describe_row, range(len(paths))), len(paths), progress):
            pass
    return vectors, time.perf_counter() - start
