"""Made-up images, block counts and keypoints, and the files that hold them."""

import numpy as np
import pandas as pd
from PIL import Image

from lookalike.core.files import sha256_of
from lookalike.features.descriptors import Blocks
from lookalike.features.keypoints import NO_KEYPOINTS, Keypoints, KeypointShard
from lookalike.features.shards import join_images, save_shard


def noise(seed, width=90, height=70):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def texture(seed, width=90, height=70):
    """Coloured noise at several scales, like a photograph."""
    image = np.zeros((height, width, 3))
    for scale in (1, 2, 4, 8, 16, 32):
        small = Image.fromarray(noise([seed, scale], width // scale + 1, height // scale + 1))
        image += np.asarray(small.resize((width, height), Image.Resampling.BICUBIC)) * scale**0.7
    image -= image.min()
    return (image * (255 / image.max())).astype(np.uint8)


def flat(colour, width=90, height=70):
    return np.full((height, width, 3), colour, np.uint8)


def write_images(folder, images, first_id=0):
    """Write images by name, and return their manifest."""
    for name, image in images.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.uint8(image)).save(folder / name)
    rows = [(i, name, sha256_of(folder / name), "ok") for i, name in enumerate(images, first_id)]
    return pd.DataFrame(rows, columns=["image_id", "path", "sha256", "status"])


def block_counts(n, seed=0):
    """Counts of 59 edge patterns and 20 colours in n blocks."""
    rng = np.random.default_rng(seed)
    parts = [rng.multinomial(4096, rng.dirichlet(np.ones(bins)), n) for bins in (59, 20)]
    return np.hstack(parts).astype(np.uint16)


def write_shards(folder, kind, none, images, split):
    """Write what was found in images {id: arrays}, joined into this kind, to a file for each list of ids."""
    paths = [folder / f"{kind.__name__}-{number:03d}.npz" for number in range(len(split))]
    for ids, path in zip(split, paths, strict=True):
        save_shard(join_images(kind, ids, none, [images[i] for i in ids]), path)
    return paths


def write_blocks(folder, images, split):
    """Write the block counts of images {id: counts} to a file for each list of ids."""
    found = {number: (counts,) for number, counts in images.items()}
    return write_shards(folder, Blocks, (np.empty((0, 79), np.uint16),), found, split)


def sift_rows(n, n_centres=40, seed=0):
    """Descriptors around some centres, which are the same for every seed."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).integers(0, 120, (n_centres, 128))
    return (centres[rng.integers(0, n_centres, n)] + rng.integers(0, 60, (n, 128))).astype(np.uint8)


def write_keypoints(folder, images, split):
    """Write the descriptors of images, named by number, to a file for each list of numbers."""
    places = [np.random.default_rng(len(image)).random((len(image), 3), np.float32) for image in images]
    found = [Keypoints(image, table[:, :2], table[:, 2]) for image, table in zip(images, places, strict=True)]
    return write_shards(folder, KeypointShard, NO_KEYPOINTS, found, split)


def nearest(points, words):
    """Number of the nearest word of each point, by brute force in double precision."""
    points, words = points.astype(np.float64), words.astype(np.float64)
    return ((points[:, None] - words) ** 2).sum(axis=2).argmin(axis=1)
