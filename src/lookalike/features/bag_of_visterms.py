"""Counts of visterms, the representation of the category study (JMLR 2010, section 3), as a describer.

No paper shrinks images, or enlarges small ones for the pyramid, as this does: photographs come in any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Self

import numpy as np
import scipy.sparse as sp
from pydantic import Field
from pydantic.dataclasses import dataclass

from lookalike.core.arrays import Bytes, Doubles, Floats, Shorts
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.images import load_rgb
from lookalike.core.progress import counted
from lookalike.core.resizing import resize
from lookalike.core.seeds import generator, integer_seed
from lookalike.features.codebook import assign, learn_codebook, warm_up
from lookalike.features.describers import VISTERMS, Arrays, Describer, StageProgress, Vectors, silent, thread_pool
from lookalike.features.descriptors import describe, normalise
from lookalike.features.lbp import N_BINS
from lookalike.features.palette import N_COLOURS, learn_palette, sample_pixels
from lookalike.features.pyramid import is_large_enough
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows

BLOCKS_PER_WORD = 120
"""Block descriptors that k-means is given for every word, as in the demo of the category study."""
FEWEST_WORDS, MOST_WORDS = 100, 1000
"""Words by default; the papers' comparisons have 1,000."""
LARGEST_CODEBOOK = 10_000
"""Words of the largest codebook of the papers, and the most that can be asked for: W has their square."""
KEPT_BYTES = 2**28
"""Of images that stay in memory until their blocks are collected; others are read twice."""
N_PIXELS = 100_000
"""Pixels that the colours of visterms are learned from."""


@dataclass(kw_only=True, eq=False)
class BagOfVisterms(
    Describer,
    system=VISTERMS,
    distance="cosine",
    learned=("palette", "codebook", "idf"),
    weights=("idf",),
):
    """How often each visterm occurs in an image; weights are tf-idf.

    Parameters
    ----------
    words : int or None, default=None
        Size of the codebook; None takes one for every learning image, in hundreds from 100 to 1,000.
    longest_side : int, default=512
        Pixels of the longer side at most; photographs of today have ten times as many.
    """

    words: int | None = None
    longest_side: Annotated[int, Field(ge=0, le=10**7)] = 512

    def __post_init__(self) -> None:
        """Refuse a codebook of another size than the papers'."""
        self._blocks: dict[str, Shorts] = {}  # of the images that were learned from, by name, until they are described
        if self.words is not None and not 2 <= self.words <= LARGEST_CODEBOOK:
            raise LookalikeError(f"a codebook has 2 to {LARGEST_CODEBOOK:,} words, not {self.words:,}: ask for 1000")

    @property
    def n_dimensions(self) -> int:
        """Return the number of words."""
        return len(self.codebook)

    def prepare(self, image: Bytes) -> Bytes:
        """Bring an image to a size at which it has blocks."""
        image = super().prepare(image)
        return resize(image, *enlarged(*image.shape[:2]))

    def _fit(self, images: Iterator[Bytes], seed: int) -> None:
        kept = list(images)
        self._learn(kept.__getitem__, [str(number) for number in range(len(kept))], seed, 1, silent)
        self._blocks.clear()

    def fit_files(
        self, paths: Sequence[PathLike], sha256: Sequence[str], seed: int, n_threads: int, progress: StageProgress
    ) -> Self:
        """Learn from image files: pixels for the palette, then blocks for the codebook."""
        self._learn(
            lambda number: self.prepare(load_rgb(paths[number], sha256[number])), sha256, seed, n_threads, progress
        )
        return self

    def _learn(
        self, read: Callable[[int], Bytes], names: Sequence[str], seed: int, n_threads: int, progress: StageProgress
    ) -> None:
        """Learn palette and codebook; an image's name, not its place, decides which of its pixels and blocks count."""
        n_images, kept, room = max(1, len(names)), dict[int, Bytes](), KEPT_BYTES
        n_words = self.words or min(MOST_WORDS, max(FEWEST_WORDS, len(names) // 100 * 100))
        n_pixels, n_blocks = -(-N_PIXELS // n_images), -(-n_words * BLOCKS_PER_WORD // n_images)

        def pixels(number: int) -> Bytes:
            nonlocal room
            image = read(number)
            if (room := room - image.nbytes) > 0:
                kept[number] = image
            return sample_pixels(image, n_pixels, generator(seed, "own images", "pixels", names[number]))

        def blocks(number: int) -> Shorts:
            image = kept.pop(number, None)
            counts = describe(read(number) if image is None else image, palette)
            self._blocks[names[number]] = counts
            rng = generator(seed, "own images", "blocks", names[number])
            return counts[np.sort(rng.choice(len(counts), min(n_blocks, len(counts)), replace=False))]

        warm_up()
        with thread_pool(n_threads) as pool:
            places = range(len(names))
            drawn = counted(pool.map(pixels, places), len(names), partial(progress, "learning colours"))
            colours = np.concatenate([np.empty((0, 3), np.uint8), *drawn])
            palette = learn_palette(colours, N_COLOURS, integer_seed(seed, "own images", "palette"))
            counts = counted(pool.map(blocks, places), len(names), partial(progress, "collecting blocks"))
            descriptors = normalise(np.concatenate(list(counts)))
        progress(f"learning {n_words:,} words", 0, 1)
        n_words = min(n_words, len(descriptors)) if self.words is None else n_words
        codebook = learn_codebook(descriptors, n_words, integer_seed(seed, "own images", "codebook"))
        progress(f"learning {n_words:,} words", 1, 1)
        self.palette, self.codebook = palette, codebook
        self.idf: Doubles = np.empty(0)

    def restore(self, arrays: Arrays) -> None:
        """Take over palette, codebook and inverse document frequencies, see `Describer.restore`."""
        palette, codebook, idf = arrays["palette"], arrays["codebook"], arrays["idf"]
        if palette.ndim != 2 or palette.shape[1] != 3 or codebook.ndim != 2 or not len(codebook):
            raise ValueError("a palette has three columns and a codebook words")
        if len(codebook) > LARGEST_CODEBOOK or np.abs(codebook).max() > 1:
            raise ValueError(f"a codebook has at most {LARGEST_CODEBOOK:,} words of shares")
        # weights are learned last, and none are there before that
        if codebook.shape[1] != N_BINS + len(palette) or idf.shape not in ((0,), (len(codebook),)):
            raise ValueError("palette, codebook and weights are not of one size")
        if idf.dtype.kind != "f":
            raise TypeError(f"weights are numbers, not {idf.dtype}")
        self.palette, self.codebook = palette.astype(np.float32), codebook.astype(np.float32)
        self.idf = idf.astype(np.float64)

    def _describe(self, image: Bytes) -> Floats:
        return self._count(describe(image, self.palette))

    def _count(self, blocks: Shorts) -> Floats:
        words = assign(normalise(blocks), self.codebook)
        return np.bincount(words, minlength=self.n_dimensions).astype(np.float32)

    def describe_file(self, path: PathLike, sha256: str) -> Floats:
        """Count the words of an image file; one that was learned from is not read again."""
        blocks = self._blocks.pop(sha256, None)
        return super().describe_file(path, sha256) if blocks is None else self._count(blocks)

    def stacked(self, vectors: Sequence[Floats]) -> sp.csr_array:
        """Put counts below one another: CSR of int32."""
        return sp.csr_array(np.stack(vectors).astype(np.int32))

    def fit_weights(self, vectors: Vectors) -> None:
        """Learn inverse document frequencies."""
        self.idf = inverse_document_frequencies(vectors)
        self._blocks.clear()  # of images whose counts came from elsewhere

    def weigh(self, vectors: Vectors) -> Vectors:
        """Weight counts by tf-idf, rows of unit length."""
        return tfidf_rows(sp.csr_array(vectors), self.idf)


def enlarged(height: int, width: int) -> tuple[int, int]:
    """Return the least size, its own or more by eighths, at which an image has the ten blocks of its pyramid."""
    eighths = 8
    while not is_large_enough(width * eighths // 8, height * eighths // 8):
        eighths += 1
    return height * eighths // 8, width * eighths // 8
