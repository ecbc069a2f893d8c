"""A hand-crafted feature as a system, apart from the learners, so that an edit of one describes no image again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.images import load_rgb
from lookalike.core.machine import processor_name
from lookalike.core.progress import counted, progress_lines
from lookalike.core.seeds import generator, integer_seed
from lookalike.features.describers import describe_files, make_describer
from lookalike.ranking.distances import pair_distances, warm_up
from lookalike.studies.finegrained.files import SystemResult

FIT_IMAGES = 2_000
"""Images that a codebook is learned from at most; descriptors are subsampled beyond that anyway."""


def describe_system(
    system: str,
    settings: Mapping[str, Any],
    paths: Sequence[PathLike | None],
    fit_rows: npt.ArrayLike,
    pairs: pd.DataFrame,
    *,
    seed: int,
    codebook_from: str,
    n_threads: int = 1,
) -> SystemResult:
    """Describe all images by one hand-crafted feature, and measure the pairs; `paths` has None for unusable images."""
    describer = make_describer(system, **settings)
    usable = [path for path in (paths[row] for row in _draw(fit_rows, FIT_IMAGES, seed, system)) if path is not None]
    warm_up()
    start = time.perf_counter()
    if describer.needs_fit:
        if not usable:
            raise LookalikeError(f"there is no image to learn the codebook of {system} from: give images for training")
        images = counted(map(load_rgb, usable), len(usable), progress_lines(f"{system}: images that are learned from"))
        describer.fit(images, integer_seed(seed, "finegrained", system, "codebook"))
    fit_seconds = time.perf_counter() - start
    n_fit_images = len(usable) if describer.needs_fit else 0
    print(f"{system}: learned from {n_fit_images} images in {fit_seconds:.1f} s")
    progress = progress_lines(f"{system}: images described")
    vectors, seconds = describe_files(describer, paths, n_threads=n_threads, progress=progress)
    n_images = sum(path is not None for path in paths)
    speed = n_images / max(seconds, 1e-9)
    print(f"{system}: {n_images} images in {seconds:.1f} s, {speed:.1f} a second")
    start = time.perf_counter()
    distances = pair_distances(vectors, pairs, describer.distance)
    fit = {
        "system": system,
        "seconds": fit_seconds + seconds,
        "fit_seconds": fit_seconds,
        "describe_seconds": seconds,
        "distance_seconds": time.perf_counter() - start,
        "images_per_second": speed,
        "n_threads": n_threads,
        "dimensions": vectors.shape[1],
        "distance": describer.distance,
        "settings": describer.settings(),
        "codebook_from": codebook_from if describer.needs_fit else "",
        "n_fit_images": n_fit_images,
        "n_images": n_images,
        "n_pairs": len(pairs),
        "processor": processor_name(),
    }
    return SystemResult(vectors, distances, fit)


def _draw(rows: npt.ArrayLike, most: int, seed: int, system: str) -> npt.NDArray[np.int64]:
    """Draw the rows that a codebook is learned from, in order."""
    rows = np.unique(np.asarray(rows, dtype=np.int64))
    if len(rows) <= most:
        return rows
    random = generator(seed, "finegrained", system, "codebook images")
    return np.sort(random.choice(rows, most, replace=False, shuffle=False))
