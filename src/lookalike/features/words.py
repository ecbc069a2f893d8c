"""From keypoints to bags of visual words: the word of each descriptor, and how often each word occurs in an image.

Words keep the places of their keypoints: a query of the Oxford buildings is a rectangle (Philbin et al. 2007).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike.core.arrays import Floats, Ints, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.features.keypoints import KeypointShard, as_vectors
from lookalike.features.shards import count_by_image, count_words_of_rows, load_shard
from lookalike.features.word_index import BATCH, WordIndex


class WordShard(NamedTuple):
    """Words of several images, from 0, and x and y in pixels of the full size: one ``words-NNN.npz``."""

    image_ids: Ints
    offsets: Longs
    words: Ints
    positions: Floats


def assign_words(keypoints_file: PathLike, codebook: Floats, *, root: bool = False) -> WordShard:
    """Find the nearest word of every descriptor of a keypoint file; `root` is that of the codebook."""
    keypoints = load_shard(KeypointShard, keypoints_file)
    n = len(keypoints.descriptors)
    words = np.empty(n, np.int32)
    index = WordIndex(codebook)
    for start in range(0, n, BATCH):
        part = slice(start, start + BATCH)
        words[part] = index.nearest(as_vectors(keypoints.descriptors[part], root))
    return WordShard(keypoints.image_ids, keypoints.offsets, words, keypoints.positions)


def count_words(words_files: Iterable[PathLike], n_rows: int, n_words: int) -> sp.csr_array:
    """Count how often each word occurs in each image: (n_rows, n_words), int32, row = image_id."""
    shards = (load_shard(WordShard, path)[:3] for path in words_files)
    return count_by_image(shards, n_rows, n_words)


def count_query_words(words_files: Iterable[PathLike], queries: pd.DataFrame, n_words: int) -> sp.csr_array:
    """Count the words inside the rectangle of each query (edges inside): (n_queries, n_words), int32."""
    # `queries` has the columns query (its name), image_id, x_min, y_min, x_max and y_max, in pixels
    boxes = queries[["x_min", "y_min", "x_max", "y_max"]].to_numpy(np.float64)
    found: dict[int, Ints] = {}
    for path in words_files:
        shard = load_shard(WordShard, path)
        place = {int(image_id): number for number, image_id in enumerate(shard.image_ids)}
        for row, image_id in enumerate(queries["image_id"]):
            if image_id in place:
                part = slice(*shard.offsets[place[image_id] : place[image_id] + 2])
                x, y = shard.positions[part].T.astype(np.float64)
                x_min, y_min, x_max, y_max = boxes[row]
                found[row] = shard.words[part][(x >= x_min) & (x <= x_max) & (y >= y_min) & (y <= y_max)]
    missing = [str(name) for row, name in enumerate(queries["query"]) if row not in found]
    if missing:
        raise LookalikeError(
            f"the images of the queries {', '.join(missing)} have no words: "
            "check that they are readable (status ok in the manifest) and delete the word files"
        )
    words = [np.empty(0, np.int32), *(found[row] for row in range(len(queries)))]
    rows = np.repeat(np.arange(len(queries)), [len(part) for part in words[1:]])
    return count_words_of_rows(rows, np.concatenate(words), (len(queries), n_words))
