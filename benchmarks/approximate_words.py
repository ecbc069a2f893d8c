"""Ways to find the nearest word of a SIFT descriptor: time and recall of four, in one run on one core.

- exact: all words by matrix products (`features.codebook.assign`);
- ivf: faiss' inverted file, `IndexIVFFlat`, which searches descriptor by descriptor;
- hnsw: faiss' graph, `IndexHNSWFlat` with 16 neighbours, likewise; the usual choice for a large index;
- ours: the same inverted file searched list by list (`features.word_index`), which is what the package uses.

Words are SIFT descriptors of photographs after one iteration of k-means (none for a million), queries are other
descriptors of the same images, 65,536 at a time as in a run; exact, ivf and hnsw, whose time does not depend on the
batch, get fewer. Recall is the share of queries whose word is the nearest. Without images, descriptors are random
bytes: the times then mean something, the recall does not.

    python benchmarks/approximate_words.py [--images FOLDER] [--words N ...] [--cache FILE.npy] [--output J]
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import faiss
import limits
import numpy as np
from pictures import image_files

from lookalike.core.images import load_rgb
from lookalike.core.settings.schema import SiftSettings
from lookalike.features.approximate_kmeans import train_words
from lookalike.features.codebook import assign
from lookalike.features.keypoints import NO_KEYPOINTS, Keypoints, KeypointShard, extract_keypoints
from lookalike.features.shards import join_images, save_shard
from lookalike.features.word_index import BATCH, WordIndex

SETTINGS = SiftSettings(contrast_threshold=0.015, max_side=480)  # faint keypoints too: a million words need many
N_CHECKED = 2_000
PER_WORD = 8  # descriptors that words are learned from
PROBES = (8, 16, 32)
BEAMS = (16, 32, 64, 128)


def read_descriptors(folder: Path | None, cache: Path | None, n_needed: int) -> np.ndarray:
    """Shuffled SIFT descriptors of the images of a folder, or random bytes."""
    if cache is not None and cache.exists():
        return np.load(cache, mmap_mode="r")
    rng = np.random.default_rng(0)
    files = [] if folder is None else image_files(folder, 10**9)
    if not files:
        print("no images: random bytes instead, whose recall means nothing")
        return rng.integers(0, 256, (n_needed, 128), dtype=np.uint8)
    spent, parts = limits.timed(lambda: [extract_keypoints(load_rgb(path), SETTINGS).descriptors for path in files])
    descriptors = np.concatenate(parts)[rng.permutation(sum(map(len, parts)))]
    print(f"{len(files)} images, {len(descriptors)} descriptors, {1e3 * spent / len(files):.0f} ms an image")
    if cache is not None:
        np.save(cache, descriptors)
    return descriptors


def make_words(descriptors: np.ndarray, n_words: int) -> np.ndarray:
    """Words: means of descriptors where there are enough, descriptors otherwise."""
    n_train = min(PER_WORD * n_words, len(descriptors) - BATCH)
    if n_train < 2 * n_words:
        return descriptors[:n_words].astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keypoints.npz"
        image = Keypoints(descriptors[:n_train], np.zeros((n_train, 2), np.float32), np.zeros(n_train, np.float32))
        save_shard(join_images(KeypointShard, [0], NO_KEYPOINTS, [image]), path)
        return train_words([path], n_words, seed=0, iterations=1, checkpoint=Path(folder) / "state")


def measure(words: np.ndarray, queries: np.ndarray) -> Iterator[dict[str, object]]:
    """Yield a row for each way and setting."""
    assign(queries[:10], words[:10])  # compile
    few = queries[:N_CHECKED]
    truth = assign(few, words)

    def row(way: str, setting: int, build: float, search: Callable[[], np.ndarray]) -> dict[str, object]:
        spent, found = limits.timed(search)
        recall = float((found[:N_CHECKED].ravel() == truth).mean())
        return {"way": way, "setting": setting, "build_s": build, "us": 1e6 * spent / len(found), "recall": recall}

    yield row("exact", 0, 0.0, lambda: assign(few, words))
    for n_probes in PROBES:
        build, ours = limits.timed(lambda n_probes=n_probes: WordIndex(words, n_probes))
        yield row("ours", n_probes, build, lambda ours=ours: ours.nearest(queries))
    centres = faiss.IndexFlatL2(words.shape[1])
    ivf = faiss.IndexIVFFlat(centres, words.shape[1], round(len(words) ** 0.5))
    ivf.cp.min_points_per_centroid = 1
    build, _ = limits.timed(lambda: (ivf.train(words), ivf.add(words)))
    for n_probes in PROBES:
        ivf.nprobe = n_probes
        yield row("ivf", n_probes, build, lambda: ivf.search(few, 1)[1])
    graph = faiss.IndexHNSWFlat(words.shape[1], 16)
    build, _ = limits.timed(lambda: graph.add(words))
    for beam in BEAMS:
        graph.hnsw.efSearch = beam
        yield row("hnsw", beam, build, lambda: graph.search(few, 1)[1])


def main() -> None:
    arguments = limits.options(
        __doc__,
        images=(None, "folder of photographs; random bytes without"),
        words=([1_000, 10_000, 100_000], "sizes of codebooks"),
        cache=(None, "file to keep the descriptors in for the next run"),
    )
    faiss.omp_set_num_threads(1)
    sizes = arguments.words
    descriptors = read_descriptors(arguments.images, arguments.cache, 2 * max(sizes) + BATCH)
    queries = descriptors[-BATCH:].astype(np.float32)
    rows = []
    print(f"{limits.processor()}, faiss {faiss.__version__}, one thread")
    for n_words in sizes:
        if len(descriptors) < n_words + BATCH:
            print(f"{n_words} words are left out: there are only {len(descriptors)} descriptors")
            continue
        found = [{"words": n_words} | row for row in measure(make_words(descriptors, n_words), queries)]
        limits.print_table(found)
        rows += found
    limits.keep(arguments.output, rows=rows)


if __name__ == "__main__":
    main()
