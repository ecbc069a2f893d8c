"""The nearest words of many descriptors: exact for small codebooks, by an inverted file of the words for large ones.

An inverted file splits the words into lists by a small k-means and compares a descriptor only with the words of the
lists whose centres are nearest to it. The lists are searched one after the other, each with all descriptors that want
it, in one matrix product; see docs/decisions.md for the gain, and ``benchmarks/approximate_words.py``.
"""

from __future__ import annotations

import faiss
import numpy as np

from lookalike.core.arrays import Floats, Ints, Longs
from lookalike.features.clustering import cluster, one_thread
from lookalike.features.codebook import assign

BATCH = 65_536
"""Descriptors searched at once: 32 MB, and with 16 probes about 30 MB of lists to search."""
EXACT_UP_TO = 2_000
"""Codebooks of at most so many words are searched exactly; a larger one is split into the square root of its number of
lists, and those that get no word are dropped."""
N_PROBES = 16
"""Lists that are searched for each descriptor. Of 100 descriptors this finds the nearest word of 99 among 10,000 words,
of 98 among 100,000 and of 94 among a million."""
_WORDS_PER_CENTRE = 40  # words that the centre of a list is learned from
_ITERATIONS = 5
_SEED = 1


class WordIndex:
    """Finds the nearest word of many descriptors; a large codebook is copied, 512 MB for a million of 128 numbers."""

    def __init__(self, codebook: Floats, n_probes: int = N_PROBES) -> None:
        self._words = np.ascontiguousarray(codebook, dtype=np.float32)
        self.exact = len(codebook) <= EXACT_UP_TO
        if not self.exact:
            self._build()
            self._n_probes = min(n_probes, self._n_lists)

    def _build(self) -> None:
        """Split the words into lists."""
        n_lists = round(len(self._words) ** 0.5)
        # evenly spaced words: cheap, and the same each time
        step = max(1, len(self._words) // (n_lists * _WORDS_PER_CENTRE))
        centres = cluster(self._words[::step], n_lists, _SEED, _ITERATIONS)
        with one_thread():
            lists = faiss.knn(self._words, centres, 1)[1][:, 0]
        # a descriptor whose lists were all without a word would get none
        filled, lists = np.unique(lists, return_inverse=True)
        self._centres, self._n_lists = np.ascontiguousarray(centres[filled]), len(filled)
        self._order = np.argsort(lists, kind="stable")
        self._starts = np.searchsorted(lists[self._order], np.arange(self._n_lists + 1))
        self._words = self._words[self._order]

    def nearest(self, descriptors: Floats) -> Ints:
        """Return the nearest word of each descriptor, ties to the lowest; an approximate search may miss it."""
        descriptors = np.ascontiguousarray(descriptors, dtype=np.float32)
        if self.exact:
            return assign(descriptors, self._words)
        words = np.empty(len(descriptors), np.int32)
        with one_thread():
            for start in range(0, len(descriptors), BATCH):
                words[start : start + BATCH] = self._search(descriptors[start : start + BATCH])
        return words

    def _search(self, descriptors: Floats) -> Longs:
        """Return the nearest word of each descriptor among the lists that are nearest to it."""
        wanted = faiss.knn(descriptors, self._centres, self._n_probes)[1].ravel()
        # 16 bits, where they suffice, are sorted by radix
        by_list = np.argsort(wanted.astype(np.min_scalar_type(self._n_lists)), kind="stable")
        ends = np.searchsorted(wanted[by_list], np.arange(self._n_lists + 1))
        best = np.full(len(descriptors), np.inf, np.float32)
        place = np.zeros(len(descriptors), np.int64)
        for number in range(self._n_lists):
            rows = by_list[ends[number] : ends[number + 1]] // self._n_probes
            if not len(rows):
                continue
            first, stop = self._starts[number], self._starts[number + 1]
            distances, found = faiss.knn(descriptors[rows], self._words[first:stop], 1)
            closer = distances[:, 0] < best[rows]
            best[rows[closer]] = distances[closer, 0]
            place[rows[closer]] = first + found[closer, 0]
        return self._order[place]
