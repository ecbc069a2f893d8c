"""A hand-crafted feature as a system, apart from the learners, so that an edit of one describes no image again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.images import load_rgb
from lookalike.core.progress import counted, progress_lines
from lookalike.core.seeds import generator, integer_seed
from lookalike.features.describers import Describer, describe_files, make_describer
from lookalike.ranking.distances import DISTANCES, distances_of_rows, pair_distances
from lookalike.studies.finegrained.files import SystemResult

Settings = Mapping[str, Any]
FIT_IMAGES = 2_000
"""Images that a codebook is learned from at most; descriptors are subsampled beyond that anyway."""


def describe_system(
    system: str,
    choices: Sequence[Settings],
    paths: Sequence[PathLike | None],
    fit_rows: npt.ArrayLike,
    pairs: pd.DataFrame,
    *,
    ratings: pd.DataFrame,
    seed: int,
    codebook_from: str,
    n_threads: int = 1,
) -> SystemResult:
    """Describe all images by one hand-crafted feature, and measure the pairs; `paths` has None for unusable images.

    Of several `choices` of settings, the first of those that order most of the `ratings` rightly is taken.
    """
    usable = [path for path in (paths[row] for row in _draw(fit_rows, FIT_IMAGES, seed, system)) if path is not None]

    def fitted(settings: Settings) -> Describer:
        """Make a describer, and learn its codebook."""
        describer = make_describer(system, **without_distance(settings))
        if describer.needs_fit:
            if not usable:
                raise LookalikeError(
                    f"there is no image to learn the codebook of {system} from: give images for training"
                )
            images = counted(map(load_rgb, usable), len(usable), progress_lines(f"{system}: images to learn from"))
            describer.fit(images, integer_seed(seed, "finegrained", system, "codebook"))
        return describer

    tried = _measured(choices, fitted, paths, ratings) if len(choices) > 1 and len(ratings) else []
    settings = choices[max(range(len(tried)), key=lambda place: tried[place]["precision"], default=0)]
    describer = fitted(settings)
    distance = pair_distance(describer, settings)
    progress = progress_lines(f"{system}: images described")
    vectors, _ = describe_files(describer, paths, n_threads=n_threads, progress=progress)
    fit = {
        "system": system,
        "dimensions": vectors.shape[1],
        "distance": distance,
        "settings": describer.settings(),
        "tried": tried,
        "codebook_from": codebook_from if describer.needs_fit else "",
        "n_fit_images": len(usable) if describer.needs_fit else 0,
        "n_images": sum(path is not None for path in paths),
    }
    return SystemResult(vectors, pair_distances(vectors, pairs, distance), fit)


def without_distance(settings: Settings) -> dict[str, Any]:
    """Return the settings that a describer itself takes."""
    return {name: value for name, value in settings.items() if name != "distance"}


def pair_distance(describer: Describer, settings: Settings) -> str:
    """Return the distance that vectors are compared by: that of the settings, else the describer's own."""
    distance = str(settings.get("distance", describer.distance))
    if distance not in DISTANCES:
        raise LookalikeError(f"there is no distance {distance!r}: take one of {', '.join(DISTANCES)}")
    return distance


def _measured(
    choices: Sequence[Settings],
    fitted: Callable[[Settings], Describer],
    paths: Sequence[PathLike | None],
    ratings: pd.DataFrame,
) -> list[dict[str, Any]]:
    """Return the precision of each choice on rated triplets, whose images alone are described."""
    triplets = ratings[["query", "positive", "negative"]].to_numpy()
    images, places = np.unique(triplets, return_inverse=True)
    query, positive, negative = places.reshape(-1, 3).T
    described: dict[str, tuple[Describer, npt.NDArray[np.float32]]] = {}
    tried = []
    for settings in choices:
        # settings that differ in the distance alone share their vectors
        own = str(sorted(without_distance(settings).items()))
        if own not in described:
            describer = fitted(settings)
            described = {own: (describer, describe_files(describer, [paths[image] for image in images])[0])}
        describer, vectors = described[own]
        distance = pair_distance(describer, settings)
        near, far = (distances_of_rows(vectors, query, side, distance) for side in (positive, negative))
        precision = float(np.mean((near < far) + 0.5 * (near == far)))
        words = ", ".join(f"{name} {value}" for name, value in settings.items())
        tried.append({"choice": words, "distance": distance, "precision": precision})
        print(f"{words or 'defaults'}, {distance}: {100 * precision:.1f}% of the ratings", flush=True)
    return tried


def _draw(rows: npt.ArrayLike, most: int, seed: int, system: str) -> npt.NDArray[np.int64]:
    """Draw the rows that a codebook is learned from, in order."""
    rows = np.unique(np.asarray(rows, dtype=np.int64))
    if len(rows) <= most:
        return rows
    random = generator(seed, "finegrained", system, "codebook images")
    return np.sort(random.choice(rows, most, replace=False, shuffle=False))
