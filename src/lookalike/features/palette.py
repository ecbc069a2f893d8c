"""Colours: the palette that a block's pixels are counted by, the colour half of its descriptor.

The papers cluster RGB pixels of many images into 20 colours and map every pixel to the closest (JMLR 2010, section 3).
Palette colours are multiples of an eighth of a grey level, so the closest is exact, with ties to the lowest index.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.arrays import Bytes, Floats, Ints
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.images import check_pixels, load_rgb
from lookalike.core.kernels import njit
from lookalike.core.seeds import generator
from lookalike.features.clustering import cluster

if TYPE_CHECKING:
    import pandas as pd

N_COLOURS = 20
MAX_COLOURS = 128
_STEPS = 8  # palette colours are rounded to 1/8 of a grey level
_LUMINANCE = (0.299, 0.587, 0.114)


def sample_pixels(image: Bytes, n: int, rng: np.random.Generator) -> Bytes:
    """Draw n pixels of one image, uniformly and without replacement; all of them where there are fewer."""
    check_pixels(image)
    pixels = image.reshape(-1, 3)
    chosen = rng.choice(len(pixels), size=min(n, len(pixels)), replace=False)
    return pixels[chosen]


def pool_pixels(root: PathLike, manifest: pd.DataFrame, pool: pd.DataFrame, n_pixels: int, seed: int) -> Bytes:
    """Draw `n_pixels` or a few more, as many of every image of the pool, each by a stream named after its id."""
    rows = manifest[manifest["image_id"].isin(pool["image_id"])]
    if not len(rows):
        raise LookalikeError(
            "there is no image to learn a palette from: the codebook pool is empty; give the data set more images"
        )
    share, images = -(-n_pixels // len(rows)), zip(rows["image_id"], rows["path"], strict=True)
    streams = ((Path(root) / path, generator(seed, "pixels", int(image_id))) for image_id, path in images)
    return np.concatenate([sample_pixels(load_rgb(path), share, stream) for path, stream in streams])


def learn_palette(pixels: Bytes, n_colours: int = N_COLOURS, seed: int = 0) -> Floats:
    """Cluster RGB pixels into the colours of a palette, multiples of 1/8 from dark to light (k-means, five starts)."""
    if not 1 <= n_colours <= MAX_COLOURS:
        raise LookalikeError(f"a palette has 1 to {MAX_COLOURS} colours, not {n_colours}: set `n_colours` to 20")
    packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    if (n_distinct := len(np.unique(packed))) < n_colours:
        why = f"cannot be learned from pixels of only {n_distinct} different colours"
        what_now = "give images in more colours, or describe them otherwise, as by --representation hog"
        raise LookalikeError(f"a palette of {n_colours} colours {why}: {what_now}")
    centres = cluster(pixels.astype(np.float32), n_colours, seed, n_iterations=50, n_redo=5)
    centres = (np.rint(centres * _STEPS) / _STEPS).astype(np.float32)
    order = np.lexsort((centres[:, 0], centres[:, 1], centres @ np.array(_LUMINANCE)))
    return np.ascontiguousarray(centres[order])


def palette_keys(palette: Floats) -> Ints:
    """Return factors of red, green and blue, and a constant, of each colour: the integers that the kernels take."""
    palette = np.asarray(palette, dtype=np.float64)
    fits = palette.ndim == 2 and palette.shape[1] == 3 and 1 <= len(palette) <= MAX_COLOURS
    if not fits or not ((palette >= 0) & (palette <= 255)).all():
        raise LookalikeError(f"a palette is 1 to {MAX_COLOURS} rows of red, green and blue in 0..255: learn it again")
    # in eighths of a grey level |p - c|^2 - |p|^2 = |c|^2 - 2 p.c; times 128 plus the colour's index, the smallest key
    # is the nearest colour, and ties go to the lowest index; keys stay below 1.6e9, so int32 holds them
    colours = np.rint(palette * _STEPS).astype(np.int64)
    keys = np.empty((len(colours), 4), np.int64)
    keys[:, :3] = -2 * _STEPS * MAX_COLOURS * colours
    keys[:, 3] = (colours**2).sum(axis=1) * MAX_COLOURS + np.arange(len(colours))
    return keys.astype(np.int32)


@njit(cache=True, nogil=True)
def nearest_colours(pixels: Bytes, keys: Ints, planes: Ints, nearest: Bytes) -> None:
    """Write the index of the nearest palette colour of each pixel of a row, ties to the lowest index."""
    # `planes` has room for three channels and the best key so far: a plain minimum, which the compiler vectorises
    n = nearest.shape[0]
    reds, greens, blues, best = planes[0], planes[1], planes[2], planes[3]
    for x in range(n):
        reds[x] = pixels[x, 0]
        greens[x] = pixels[x, 1]
        blues[x] = pixels[x, 2]
        best[x] = 2147483647
    for k in range(keys.shape[0]):
        red, green, blue, offset = keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3]
        for x in range(n):  # the sum may wrap on its way, its value fits
            best[x] = min(best[x], np.int32(offset + red * reds[x] + green * greens[x] + blue * blues[x]))
    for x in range(n):
        nearest[x] = best[x] & 127
