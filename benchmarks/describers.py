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
from collections.abc import Callable
from functools import partial

import cv2
import limits
import numpy as np
import pywt
from pictures import images_of
from skimage.color import rgb2lab
from skimage.feature import hog

from lookalike.core.resizing import fit_within, resize
from lookalike.features import describers
from lookalike.features.color_histogram import A_RANGE, B_RANGE
from lookalike.features.texton import mr8_filters
from lookalike.features.wavelet import YIQ, standard_haar

Pixels = list[np.ndarray]
Way = Callable[[np.ndarray], np.ndarray]


def describe_all(way: Way, images: Pixels) -> Pixels:
    return [way(image) for image in images]


def median_ms(ways: dict[str, Way], images: Pixels, repeat: int) -> dict[str, float]:
    """Milliseconds an image of each way: the median of passes, in which the ways take turns."""
    passes = limits.take_turns({name: partial(describe_all, way, images) for name, way in ways.items()}, repeat)
    return {name: 1e3 * statistics.median(seconds) / len(images) for name, seconds in passes.items()}


def time_describers(images: Pixels, repeat: int) -> dict[str, dict[str, object]]:
    """Time all baselines at their defaults: learning once, then resizing and describing every image."""
    ready = {system: describers.make_describer(system) for system in describers.DESCRIBERS}
    learned = {system: limits.timed(partial(own.fit, images, random_state=0))[0] for system, own in ready.items()}
    return {
        system: {
            "dimensions": ready[system].n_dimensions,
            "fit_seconds": learned[system] if ready[system].needs_fit else 0.0,
            "ms_per_image": ms,
            "images_per_second": 1e3 / ms,
        }
        for system, ms in median_ms({system: own.describe for system, own in ready.items()}, images, repeat).items()
    }


def haar_matrix(n: int) -> np.ndarray:
    """The orthonormal Haar basis: that of half the pixels, each twice, and the differences of neighbours."""
    if n == 1:
        return np.ones((1, 1))
    return np.vstack([np.kron(haar_matrix(n // 2), [1, 1]), np.kron(np.eye(n // 2), [1, -1])]) / np.sqrt(2)


def haar_by_matrix(side: int) -> Way:
    """H A H' with the Haar matrix written out."""
    h = haar_matrix(side)
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
    arguments = limits.options(
        __doc__,
        images=(None, "folder of images; synthetic textured images without it"),
        n=(200, "images that are described"),
        n_peers=(20, "images that peers are compared on"),
        side=(0, "shrink images to so many pixels first; 0: as they are"),
        repeat=(3, "passes of which the median is taken"),
    )
    cv2.setNumThreads(1)
    what, images = images_of(arguments.images, arguments.n)
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
    beside = []
    for group, ways in peers.items():
        ours, *others = ((name, row["ms_per_image"] / 1e3) for name, row in ways.items())
        beside += [limits.beside(f"describer: {group}", "an image", name, (ours[1], own)) for name, own in others]
    limits.keep(arguments.output, beside, images=what, n=len(images), describers=rows, peers=peers)


if __name__ == "__main__":
    main()
