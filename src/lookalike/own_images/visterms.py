"""Visterms of one's own images: the representation of the category study, for photographs of any size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator, integer_seed
from lookalike.own_images.describing import Arrays, Progress, Representation, Vectors, counting, thread_pool

Image = npt.NDArray[np.uint8]

VISTERMS = "visterms"

LONGEST_SIDE = 512
"""Pixels of the longer side of an image that visterms are counted in: photographs of today have ten times as many."""

BLOCKS_PER_WORD = 120
"""Block descriptors that k-means is given for every word, as in the demo of the category study."""

FEWEST_WORDS, MOST_WORDS = 100, 1000
"""Words by default; the papers' comparisons have 1,000."""

LARGEST_CODEBOOK = 10_000
"""Words of the largest codebook of the papers, and the most that can be asked for: W has their square."""

_N_PIXELS = 100_000


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
        with thread_pool(jobs) as pool:
            drawn = counting(pool.map(pixels, range(len(paths))), len(paths), "learning colours", progress)
            palette = learn_palette(np.concatenate(list(drawn)), N_COLOURS, integer_seed(seed, "own images", "palette"))
            describer = BlockDescriber(palette)
            counts = counting(pool.map(blocks, range(len(paths))), len(paths), "collecting blocks", progress)
            collected = np.concatenate(list(counts))
        descriptors = normalise(collected)
        progress(f"learning {n_words:,} words", 0, 1)
        n_words = min(n_words, len(descriptors)) if self.words is None else n_words
        codebook = learn_codebook(descriptors, n_words, integer_seed(seed, "own images", "codebook"))
        progress(f"learning {n_words:,} words", 1, 1)
        self.palette, self.codebook, self.idf = palette, codebook, np.empty(0)

    def _prepare(self, path: Path) -> Image:
        """Read an image and bring it to a size at which it has blocks."""
        from lookalike.core.images import load_rgb
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
