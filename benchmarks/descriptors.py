"""Block descriptors: ours beside scikit-image and OpenCV, in one run on one core.

Four ways to the same counts of a 400x300 image (59 LBP bins and 20 colours in every 64x64 block of every level):

- ours: one exact code image per level, 32x32 cells, compiled by numba;
- per block: scikit-image's `local_binary_pattern` and a NumPy argmin over the palette for each block by itself;
- vectorised: one `local_binary_pattern` per level, all blocks' histograms by one `bincount` of 32x32 cells, and colours
  by one matrix product or by SciPy's `cKDTree` (both are shown);
- OpenCV: the same with codes of eight `filter2D` and `compare`, and bins by its `LUT`.

All are given the same Pillow pyramid, made beforehand, so that only descriptors are compared. They take turns, so that
a busy machine slows all alike. The end-to-end figure (decode + resize + describe) is printed apart. scikit-image's
counts differ from ours at borders (it pads with zeros) and in exact ties (it rounds them by chance).

    python benchmarks/descriptors.py [--images FOLDER] [--repeat N] [--output FILE.json]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cv2
import limits
import numpy as np
from pictures import image_files, images_of
from PIL import Image
from scipy.spatial import cKDTree
from skimage.feature import local_binary_pattern

from lookalike.core.images import load_rgb
from lookalike.features import pyramid
from lookalike.features.descriptors import describe_levels
from lookalike.features.lbp import pattern_bins
from lookalike.features.palette import learn_palette, sample_pixels

WIDTH, HEIGHT = 400, 300
N_COLOURS = 20


def blocks_of(level: np.ndarray) -> Iterator[np.ndarray]:
    rows, columns = pyramid.grid_shape(level.shape[1], level.shape[0])
    for y in range(0, rows * pyramid.STRIDE, pyramid.STRIDE):
        for x in range(0, columns * pyramid.STRIDE, pyramid.STRIDE):
            yield level[y : y + pyramid.BLOCK, x : x + pyramid.BLOCK]


def describe_per_block(levels: list[np.ndarray], palette: np.ndarray) -> np.ndarray:
    rows = []
    squares = (palette**2).sum(axis=1)
    for level in levels:
        for block in blocks_of(level):
            grey = np.asarray(Image.fromarray(np.ascontiguousarray(block)).convert("L"))
            edges = local_binary_pattern(grey, 8, 2, "nri_uniform")
            nearest = (squares - 2 * (block.reshape(-1, 3).astype(np.float32) @ palette.T)).argmin(axis=1)
            edge_counts = np.histogram(edges, bins=59, range=(0, 59))[0]
            rows.append(np.r_[edge_counts, np.histogram(nearest, bins=N_COLOURS, range=(0, N_COLOURS))[0]])
    return np.array(rows, dtype=np.uint16)


def histogram_cells(labels: np.ndarray, n_bins: int) -> np.ndarray:
    """Counts of every block: one bincount over cells of 32 pixels, then sums of 2 x 2 cells."""
    rows, columns = (side // pyramid.STRIDE for side in labels.shape)
    inside = labels[: rows * pyramid.STRIDE, : columns * pyramid.STRIDE]
    cell_row, cell_column = (np.arange(side) // pyramid.STRIDE for side in inside.shape)
    keys = (cell_row[:, None] * columns + cell_column) * n_bins + inside
    cells = np.bincount(keys.ravel(), minlength=rows * columns * n_bins).reshape(rows, columns, n_bins)
    blocks = cells[:-1, :-1] + cells[1:, :-1] + cells[:-1, 1:] + cells[1:, 1:]
    return blocks.reshape(-1, n_bins)


def nearest_by_product(pixels: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Index of the nearest colour of each pixel; running over colours is faster than an argmin over short rows."""
    best = np.full(len(pixels), np.inf, np.float32)
    nearest = np.zeros(len(pixels), np.intp)
    scores = (palette**2).sum(axis=1)[:, None] - 2 * (palette @ pixels.T.astype(np.float32))
    for index, score in enumerate(scores):
        closer = score < best
        nearest[closer] = index
        np.minimum(best, score, out=best)
    return nearest


def describe_vectorised(levels: list[np.ndarray], nearest_colour: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    rows = []
    for level in levels:
        grey = np.asarray(Image.fromarray(level).convert("L"))
        edges = local_binary_pattern(grey, 8, 2, "nri_uniform").astype(np.intp)
        nearest = nearest_colour(level.reshape(-1, 3)).reshape(level.shape[:2])
        rows.append(np.hstack([histogram_cells(edges, 59), histogram_cells(nearest, N_COLOURS)]))
    return np.concatenate(rows).astype(np.uint16)


def neighbour_kernels() -> list[np.ndarray]:
    """Kernels that interpolate the eight neighbours at distance 2, less the pixel itself, in scikit-image's order."""
    kernels = []
    for angle in 2 * np.pi * np.arange(8) / 8:
        row, column = -2 * np.sin(angle), 2 * np.cos(angle)
        near = [np.maximum(0, 1 - abs(np.arange(-2, 3) - place)) for place in (row, column)]
        kernels.append(np.outer(*near).astype(np.float32))
        kernels[-1][2, 2] -= 1
    return kernels


def describe_by_opencv(levels: list[np.ndarray], palette: np.ndarray) -> np.ndarray:
    kernels, bins, rows = neighbour_kernels(), pattern_bins(), []
    for level in levels:
        grey = np.asarray(Image.fromarray(level).convert("L")).astype(np.float32)
        codes = np.zeros(grey.shape, np.uint8)
        for bit, kernel in enumerate(kernels):
            higher = cv2.filter2D(grey, -1, kernel, borderType=cv2.BORDER_CONSTANT)
            # ties are rounding
            codes |= cv2.compare(higher, -1e-3, cv2.CMP_GE) & np.uint8(1 << bit)
        nearest = nearest_by_product(level.reshape(-1, 3), palette).reshape(level.shape[:2])
        rows.append(np.hstack([histogram_cells(cv2.LUT(codes, bins), 59), histogram_cells(nearest, N_COLOURS)]))
    return np.concatenate(rows).astype(np.uint16)


def end_to_end(files: list[Path], palette: np.ndarray) -> dict[str, float]:
    """Processor seconds that decoding, resizing and describing take over whole files, and images per second."""
    seconds, n_blocks = np.zeros(3), 0
    for path in files:
        decode, image = limits.timed(lambda path=path: load_rgb(path))
        resize, levels = limits.timed(lambda image=image: list(pyramid.levels(image)))
        describe, blocks = limits.timed(lambda levels=levels: describe_levels(levels, palette))
        seconds += decode, resize, describe
        n_blocks += len(blocks)
    steps = zip(("decode_ms", "resize_ms", "describe_ms"), (1e3 * seconds / len(files)).tolist(), strict=True)
    sizes = {"images": len(files), "blocks_per_image": n_blocks / len(files)}
    return {**sizes, **dict(steps), "images_per_second": len(files) / seconds.sum()}


def compare(images: list[np.ndarray], palette: np.ndarray, repeat: int) -> dict[str, dict[str, float]]:
    """Least processor time per image of each way, and how far its counts are from ours."""
    tree, ours = cKDTree(palette), partial(describe_levels, palette=palette)
    pyramids = [list(pyramid.levels(image)) for image in images]
    ways: dict[str, Callable[[list[np.ndarray]], np.ndarray]] = {
        "ours": ours,
        "scikit-image per block": partial(describe_per_block, palette=palette),
        "vectorised, product": partial(
            describe_vectorised, nearest_colour=partial(nearest_by_product, palette=palette)
        ),
        "OpenCV": partial(describe_by_opencv, palette=palette),
        "vectorised, cKDTree": partial(describe_vectorised, nearest_colour=lambda pixels: tree.query(pixels)[1]),
    }
    passes = limits.take_turns({name: partial(describe_all, way, pyramids) for name, way in ways.items()}, repeat)
    seconds = {name: min(own) for name, own in passes.items()}
    reference = describe_all(ours, pyramids).astype(np.int64)
    rows = {}
    for name, way in ways.items():
        moved = np.abs(describe_all(way, pyramids) - reference).sum() / 2
        ms = 1e3 * seconds[name] / len(images)
        rows[name] = {
            "ms_per_image": ms,
            "descriptors_per_second": 1e3 * len(reference) / len(images) / ms,
            "times_ours": seconds[name] / seconds["ours"],
            "share_of_pixels_in_another_bin": float(moved / reference.sum()),
        }
    return rows


def describe_all(way: Callable[[list[np.ndarray]], np.ndarray], pyramids: list[list[np.ndarray]]) -> np.ndarray:
    return np.concatenate([way(levels) for levels in pyramids])


def main() -> None:
    arguments = limits.options(
        __doc__,
        images=(None, "folder of images; synthetic textured images without it"),
        repeat=(5, "passes of which the least is taken"),
    )
    what, images = images_of(arguments.images, 4, (WIDTH, HEIGHT))
    rng = np.random.default_rng(0)
    palette = learn_palette(np.concatenate([sample_pixels(image, 5000, rng) for image in images]), N_COLOURS, seed=0)
    rows = compare(images, palette, arguments.repeat)
    print(f"{len(images)} {what}; one core of {limits.processor()}; least of {arguments.repeat}")
    print("every way gets the same Pillow pyramid, not timed: only descriptors are compared\n")
    limits.print_table([{"way": name} | row for name, row in rows.items()])
    result: dict[str, object] = {"images": what, "repeat": arguments.repeat, "descriptors": dict(rows)}
    if arguments.images is not None:
        result["end_to_end"] = whole = end_to_end(image_files(arguments.images, 60), palette)
        print("whole files")
        limits.print_table([whole])
    ours = rows.pop("ours")["ms_per_image"] / 1e3
    # at least, a pixel is compared with every colour of the palette: three products and sums for each
    pixels = np.mean([sum(level.shape[0] * level.shape[1] for level in pyramid.levels(image)) for image in images])
    size, least = f"{WIDTH} x {HEIGHT} pixels, all levels", {"operations": 6 * N_COLOURS * pixels, "dtype": "float32"}
    seconds = {name: (ours, row["ms_per_image"] / 1e3) for name, row in rows.items()}
    beside = [limits.beside("block descriptors", size, name, both, **least) for name, both in seconds.items()]
    limits.keep(arguments.output, beside, **result)


if __name__ == "__main__":
    main()
