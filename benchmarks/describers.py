"""Hand-crafted descriptions of whole images: images per second of the six baselines, and of named peers, on one core.

Every baseline of the registry is timed as the study runs it (resize + describe, decoding apart). Where a public library
has the same description, it is timed beside ours on the same images, already resized, and how far its vector is from
ours is printed:

- wavelet: `pywt.fswavedecn` is what ours calls; beside it H A H' with an explicit matrix (NumPy), which is the same
  transform, and `pywt.wavedec2`, which is another one;
- color: the same histogram by scikit-image's `rgb2lab` and NumPy's `histogramdd`;
- hog: scikit-image's `hog` with the same cells, blocks and orientations (it has no Gaussian window in a block and does
  not share a gradient between neighbouring cells, so its numbers differ);
- texton: the MR8 responses of the same pixels by filtering whole images with OpenCV's `filter2D`.

They take turns, so that a busy machine slows all alike; times are processor time of one thread.

    python benchmarks/describers.py [--images FOLDER] [--n N] [--side PIXELS] [--repeat N] [--output FILE.json]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import limits
import numpy as np
import pywt
from pictures import image_files, textured_image
from skimage.color import rgb2lab
from skimage.feature import hog

from lookalike.core.images import load_rgb
from lookalike.core.resizing import fit_within, resize
from lookalike.features import describers
from lookalike.features.color_histogram import A_RANGE, B_RANGE
from lookalike.features.texton import mr8_filters
from lookalike.features.wavelet import YIQ, standard_haar

Pixels = list[np.ndarray]
Way = Callable[[np.ndarray], np.ndarray]


def median_ms(ways: dict[str, Way], images: Pixels, repeat: int) -> dict[str, float]:
    """Milliseconds an image of each way: the median of passes, in which the ways take turns image by image."""
    totals: dict[str, list[float]] = {name: [0.0] * repeat for name in ways}
    for way in ways.values():
        way(images[0])  # compiles, fills caches
    for turn in range(repeat):
        for image in images:
            for name, way in ways.items():
                start = time.process_time()
                way(image)
                totals[name][turn] += 1e3 * (time.process_time() - start)
    return {name: statistics.median(values) / len(images) for name, values in totals.items()}


def time_describers(images: Pixels, repeat: int) -> dict[str, dict[str, object]]:
    """Time all baselines at their defaults: learning once, then resizing and describing every image."""
    ready, rows = {}, {}
    for system in describers.DESCRIBERS:
        describer = describers.make_describer(system)
        start = time.perf_counter()
        describer.fit(images, random_state=0)
        learned = time.perf_counter() - start
        ready[system] = describer
        rows[system] = {"dimensions": describer.n_dimensions, "fit_seconds": learned if describer.needs_fit else 0.0}
    ways = {system: describer.describe for system, describer in ready.items()}
    for system, ms in median_ms(ways, images, repeat).items():
        rows[system] |= {"ms_per_image": ms, "images_per_second": 1e3 / ms}
    return rows


def haar_by_matrix(side: int) -> Way:
    """H A H' with the Haar matrix written out."""
    rows, support = [np.full(side, side**-0.5)], side
    while support > 1:
        for start in range(0, side, support):
            row = np.zeros(side)
            row[start : start + support // 2], row[start + support // 2 : start + support] = 1, -1
            rows.append(row / support**0.5)
        support //= 2
    h = np.array(rows)
    return lambda image: np.stack([h @ image[..., channel] @ h.T for channel in range(3)], axis=-1)


def wavedec2(image: np.ndarray) -> np.ndarray:
    return np.stack(
        [pywt.coeffs_to_array(pywt.wavedec2(image[..., c], "haar", mode="periodization"))[0] for c in range(3)], axis=-1
    )


def histogram_by_skimage(image: np.ndarray) -> np.ndarray:
    counts = np.histogramdd(rgb2lab(image).reshape(-1, 3), bins=(4, 14, 14), range=[(0, 100), A_RANGE, B_RANGE])[0]
    return counts.ravel() / counts.sum()


def hog_by_skimage(image: np.ndarray) -> np.ndarray:
    blocks = hog(
        image, 9, (8, 8), (2, 2), block_norm="L2-Hys", transform_sqrt=True, channel_axis=-1, feature_vector=False
    )
    # as OpenCV orders them: blocks and cells column by column
    return blocks.transpose(1, 0, 3, 2, 4).ravel()


def responses_by_filter2d(image: np.ndarray, filters: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """MR8 responses of some pixels, by filtering the whole image 38 times."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    grey = (grey - grey.mean()) / grey.std()
    maps = [cv2.filter2D(grey, -1, kernel, borderType=cv2.BORDER_REFLECT_101)[rows, columns] for kernel in filters]
    oriented = np.array(maps[:36]).reshape(2, 3, 6, -1)
    found = np.concatenate([np.abs(oriented[0]).max(axis=1), oriented[1].max(axis=1), maps[36:]]).T
    size = np.linalg.norm(found, axis=1, keepdims=True)
    return found * np.log1p(size / 0.03) / np.maximum(size, 1e-6)


def grid(image: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    y, x = (np.arange(step // 2, side, step) for side in image.shape[:2])
    rows, columns = np.meshgrid(y, x, indexing="ij")
    return rows.ravel(), columns.ravel()


def compare_peers(images: Pixels, repeat: int) -> dict[str, dict[str, dict[str, float]]]:
    """Time ours and the peers of each description on the same pixels, and measure how far they are apart."""
    texton = describers.make_describer("texton")
    filters = mr8_filters()
    groups: dict[str, tuple[Pixels, dict[str, Way]]] = {
        "wavelet (Haar step)": (
            [(resize(image, 128, 128) / 255) @ YIQ.T for image in images],
            {"ours (pywt.fswavedecn)": standard_haar, "H A H' (NumPy)": haar_by_matrix(128), "pywt.wavedec2": wavedec2},
        ),
        "color": (
            [fit_within(image, 256) for image in images],
            {"ours": describers.make_describer("color").describe, "skimage + histogramdd": histogram_by_skimage},
        ),
        "hog": (
            [resize(image, 128, 128) for image in images],
            {"ours (OpenCV)": describers.make_describer("hog").describe, "skimage.feature.hog": hog_by_skimage},
        ),
        "texton (responses)": (
            [fit_within(image, 256) for image in images],
            {
                "ours": lambda image: texton.responses(image, *grid(image, 4)),
                "cv2.filter2D": lambda image: responses_by_filter2d(image, filters, *grid(image, 4)),
            },
        ),
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for group, (pixels, ways) in groups.items():
        first = next(iter(ways.values()))
        ours = [np.asarray(first(image), dtype=np.float64) for image in pixels]
        times = median_ms(ways, pixels, repeat)
        found[group] = {}
        for name, way in ways.items():
            apart = [
                np.linalg.norm(way(image) - own) / np.linalg.norm(own) for image, own in zip(pixels, ours, strict=True)
            ]
            found[group][name] = {"ms_per_image": times[name], "relative_difference": float(np.median(apart))}
    return found


def main() -> None:
    parser = limits.argument_parser(__doc__)
    parser.add_argument("--images", type=Path, help="folder of images; synthetic textured images without it")
    parser.add_argument("--n", type=int, default=200, help="images that are described (default 200)")
    parser.add_argument("--n-peers", type=int, default=20, help="images that peers are compared on (default 20)")
    parser.add_argument(
        "--side", type=int, default=0, help="shrink images to so many pixels first (default: as they are)"
    )
    parser.add_argument("--repeat", type=int, default=3, help="passes of which the median is taken (default 3)")
    arguments = parser.parse_args()

    cv2.setNumThreads(1)
    if arguments.images is None:
        side = arguments.side or 400
        what, images = "synthetic textured images", [textured_image(side, side * 3 // 4, s) for s in range(arguments.n)]
    else:
        what = f"images of {arguments.images.name}"
        images = [load_rgb(path) for path in image_files(arguments.images, arguments.n)]
    images = [fit_within(image, arguments.side) for image in images]
    height, width = np.mean([image.shape[:2] for image in images], axis=0)
    what += f", {width:.0f} x {height:.0f} pixels on average"

    rows = time_describers(images, arguments.repeat)
    print(f"{len(images)} {what}; one core of {limits.processor()}; median of {arguments.repeat}")
    print("defaults; resize + describe, without decoding\n")
    limits.print_table([{"system": system} | row for system, row in rows.items()])
    peers = compare_peers(images[:: max(1, len(images) // arguments.n_peers)][: arguments.n_peers], arguments.repeat)
    print("beside peers, on the same resized pixels")
    limits.print_table([{"group": group, "way": w} | row for group, ways in peers.items() for w, row in ways.items()])
    beside = [
        limits.beside(f"describer: {group}", "an image", name, (ours, row["ms_per_image"] / 1e3))
        for group, ways in peers.items()
        for ours in [next(iter(ways.values()))["ms_per_image"] / 1e3]
        for name, row in list(ways.items())[1:]
    ]
    limits.print_table(beside)
    limits.write(arguments.output, beside, images=what, n=len(images), describers=rows, peers=peers)


if __name__ == "__main__":
    main()
