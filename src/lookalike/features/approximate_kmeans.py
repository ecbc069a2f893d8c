"""Large codebooks of visual words: approximate k-means over the descriptors of many files, resumable.

k-means compares every descriptor with every word. Approximate k-means (Philbin et al. 2007, section 3.1; SOML, AAAI
2014, Experiments) looks the nearest word up in an index that is rebuilt in every iteration: Philbin's is a forest of
randomised k-d trees, ours an inverted file (`word_index`), and exact up to 2,000 words.

Draws depend on the images and not on how they are split into files. Sums are in single precision: exact for SIFT up to
65,000 descriptors a word. With more, or with RootSIFT, the last bits of a word's mean do depend on the split. A million
words take 1.6 GB, the largest file, and 24 bytes for every descriptor that is trained on.
"""

from __future__ import annotations

import hashlib
import json
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import faiss
import numpy as np
import scipy.sparse as sp

from lookalike.core.arrays import Floats, Integers, Ints, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, reading_npz, write_npz
from lookalike.core.progress import Progress
from lookalike.core.seeds import generator
from lookalike.features.codebook import check_enough
from lookalike.features.keypoints import N_FEATURES, as_vectors, load_descriptors
from lookalike.features.shards import index_images, locate
from lookalike.features.word_index import BATCH, EXACT_UP_TO, N_PROBES, WordIndex

_STATE = "state.npz"
_NUDGE = 1 / 1024  # how far, relatively, the two halves of a split word are moved apart


class State(NamedTuple):
    """Where training is: descriptors of the first `shard` files are summed up in iteration `iteration`."""

    iteration: int
    shard: int
    centroids: Floats
    sums: Floats
    counts: Longs


class _Sample(NamedTuple):
    """The descriptors to train on: the file of each and its row there in the order of images, and the rows by file."""

    files: Sequence[PathLike]
    file: Integers
    row: Integers
    rows: Sequence[Integers]

    def vectors(self, number: int, root: bool) -> Iterator[Floats]:
        """Yield the vectors of one file, a batch at a time."""
        descriptors, rows = load_descriptors(self.files[number]), self.rows[number]
        for start in range(0, len(rows), BATCH):
            yield as_vectors(descriptors[rows[start : start + BATCH]], root)


def train_words(
    shard_files: Iterable[PathLike],
    n_words: int,
    *,
    seed: int,
    iterations: int,
    max_descriptors: int = 0,  # drawn uniformly without replacement; 0 takes all
    root: bool = False,
    checkpoint: PathLike,  # folder: the same inputs and settings go on from its state, others begin again
    checkpoint_seconds: float = 300,
    progress: Progress | None = None,
) -> Floats:
    """Cluster descriptors into words by approximate k-means, in one thread, going on where a killed run was."""
    sample = _draw(list(shard_files), n_words, max_descriptors, seed)
    settings = {"words": n_words, "seed": seed, "iterations": iterations, "most": max_descriptors, "root": root}
    settings |= {"exact_up_to": EXACT_UP_TO, "n_probes": N_PROBES}
    fingerprint = _fingerprint(sample.files, settings)
    place = Path(checkpoint) / _STATE
    state = _load_state(place, fingerprint) or _start(sample, n_words, root, seed)
    total, written = len(sample.row), time.monotonic()
    while state.iteration < iterations:
        words = WordIndex(state.centroids)
        for number in range(state.shard, len(sample.files)):
            done = state.iteration * total + sum(map(len, sample.rows[:number]))
            for vectors in sample.vectors(number, root):
                _add(state, words.nearest(vectors), vectors)
                done += len(vectors)
                if progress is not None:
                    progress(done, iterations * total)
            state = state._replace(shard=number + 1)
            if time.monotonic() - written >= checkpoint_seconds:
                write_npz({"fingerprint": np.array(fingerprint), **state._asdict()}, place, compressed=False)
                written = time.monotonic()
        del words
        move_words(state)
        state.sums[:], state.counts[:] = 0, 0
        state = state._replace(iteration=state.iteration + 1, shard=0)
    return state.centroids


def _draw(files: Sequence[PathLike], n_words: int, n_max: int, seed: int) -> _Sample:
    """Choose the descriptors to train on."""
    images = index_images(files)
    total = int(images["n"].sum())
    if n_max and n_max < n_words <= total:
        raise LookalikeError(
            f"a codebook of {n_words} words cannot be learned from {n_max} descriptors: raise `max_descriptors`"
        )
    check_enough(total, n_words)
    chosen = generator(seed, "descriptors").choice(total, min(n_max or total, total), replace=False, shuffle=False)
    file, row = locate(images, np.sort(chosen))
    return _Sample(files, file, row, [np.sort(row[file == number]) for number in range(len(files))])


def _start(sample: _Sample, n_words: int, root: bool, seed: int) -> State:
    """Return the state before the first iteration: words are descriptors of the sample."""
    random = generator(seed, "first words")
    chosen = np.sort(random.choice(len(sample.row), size=n_words, replace=False, shuffle=False))
    file, row = sample.file[chosen], sample.row[chosen]
    centroids = np.empty((n_words, N_FEATURES), np.float32)
    for number in np.unique(file):
        here = file == number
        centroids[here] = as_vectors(load_descriptors(sample.files[number])[row[here]], root)
    return State(0, 0, centroids, np.zeros_like(centroids), np.zeros(n_words, np.int64))


def _add(state: State, words: Ints, vectors: Floats) -> None:
    """Add vectors to the sums of their words."""
    found, place = np.unique(words, return_inverse=True)
    shape = (len(found), len(vectors))
    members = sp.csr_array((np.ones(len(vectors), np.float32), (place, np.arange(len(vectors)))), shape=shape)
    state.sums[found] += members @ vectors
    state.counts[found] += np.diff(members.indptr)


def move_words(state: State) -> None:
    """Move every word to the mean of its descriptors, and the i-th empty one beside the i-th largest."""
    centroids, counts = state.centroids, state.counts
    np.divide(state.sums, counts[:, None], out=centroids, where=counts[:, None] > 0, casting="same_kind")
    # words of a single descriptor are not split; an empty one that finds none to split stays where it was
    empty = np.flatnonzero(counts == 0)
    large = np.argsort(-counts, kind="stable")[: len(empty)]
    large = large[counts[large] > 1]
    empty = empty[: len(large)]
    nudge = np.where(np.arange(centroids.shape[1]) % 2, -_NUDGE, _NUDGE).astype(np.float32)
    centroids[empty] = centroids[large] * (1 + nudge)
    centroids[large] *= 1 - nudge


def _fingerprint(files: Sequence[PathLike], settings: Mapping[str, object]) -> str:
    """Return a digest of what decides the words: the files' checksums, the settings and the libraries."""
    sums = []
    for path in files:
        with zipfile.ZipFile(path) as archive:  # a ZIP file holds the CRC-32 of each member
            sums.append(sorted((member.filename, member.CRC, member.file_size) for member in archive.infolist()))
    libraries = {"numpy": np.__version__, "faiss": faiss.__version__}
    return hashlib.sha256(json.dumps([sums, settings, libraries], sort_keys=True).encode()).hexdigest()


def _load_state(path: Path, fingerprint: str) -> State | None:
    """Read the state of a run with the same inputs and settings; None where there is none."""
    if path.is_file():
        with reading_npz(path, "delete it and run the same command again") as file:
            kept = State(int(file["iteration"]), int(file["shard"]), file["centroids"], file["sums"], file["counts"])
            return kept if str(file["fingerprint"]) == fingerprint else None
    return None
