"""A hand-crafted feature as a system, apart from the learners, so that an edit of one describes no image again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
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
from lookalike.studies.finegrained.systems import SystemResult

Settings = Mapping[str, Any]
FIT_IMAGES = 2_000
"""Images that a codebook is learned from at most; descriptors are subsampled beyond that anyway."""


def describer_of(system: str, settings: Settings) -> tuple[Describer, str]:
    """Return a describer, and the distance that its vectors are compared by: that of the settings, or its own."""
    describer = make_describer(system, **_own(settings))
    distance = str(settings.get("distance", describer.distance))
    if distance not in DISTANCES:
        raise LookalikeError(f"there is no distance {distance!r}: take one of {', '.join(DISTANCES)}")
    return describer, distance


def _own(settings: Settings) -> dict[str, Any]:
    """Return the settings that a describer itself takes."""
    return {name: value for name, value in settings.items() if name != "distance"}


def describe_system(
    system: str,
    choices: Sequence[Settings],
    paths: Sequence[PathLike | None],
    fit_rows: npt.ArrayLike,
    pairs: pd.DataFrame,
    *,
    ratings: pd.DataFrame,
    seed: int,
    n_threads: int = 1,
) -> SystemResult:
    """Describe all images by one hand-crafted feature, and measure the pairs; `paths` has None for unusable images.

    Of several `choices` of settings, the first of those that order most of the `ratings` rightly is taken.
    """
    rows = np.unique(np.asarray(fit_rows, dtype=np.int64))
    if len(rows) > FIT_IMAGES:
        random = generator(seed, "finegrained", system, "codebook images")
        rows = np.sort(random.choice(rows, FIT_IMAGES, replace=False, shuffle=False))
    usable = [path for path in (paths[row] for row in rows) if path is not None]

    def fitted(settings: Settings) -> Describer:
        """Make a describer, and learn its codebook."""
        describer, _ = describer_of(system, settings)
        if describer.needs_fit:
            if not usable:
                raise LookalikeError(f"there is no image to learn the codebook of {system} from: give training images")
            images = counted(map(load_rgb, usable), len(usable), progress_lines(f"{system}: images to learn from"))
            describer.fit(images, integer_seed(seed, "finegrained", system, "codebook"))
        return describer

    tried: list[dict[str, Any]] = []
    if len(choices) > 1 and len(ratings):
        images, triplets = np.unique(ratings[["query", "positive", "negative"]].to_numpy(), return_inverse=True)
        # settings that differ in the distance alone share their vectors
        for own, alike in groupby(choices, _own):
            vectors, _ = describe_files(fitted(own), [paths[image] for image in images])
            for settings in alike:
                _, distance = describer_of(system, settings)
                precision = _precision(vectors, triplets.reshape(-1, 3), distance)
                words = ", ".join(f"{name} {value}" for name, value in settings.items())
                tried.append({"choice": words, "distance": distance, "precision": precision})
                print(f"{words or 'defaults'}, {distance}: {100 * precision:.1f}% of the ratings", flush=True)
    settings = choices[max(range(len(tried)), key=lambda place: tried[place]["precision"], default=0)]
    describer, (_, distance) = fitted(settings), describer_of(system, settings)
    progress = progress_lines(f"{system}: images described")
    vectors, _ = describe_files(describer, paths, n_threads=n_threads, progress=progress)
    fit = {"system": system, "dimensions": vectors.shape[1], "distance": distance}
    return SystemResult(
        vectors, pair_distances(vectors, pairs, distance), {**fit, "settings": describer.settings(), "tried": tried}
    )


def _precision(vectors: npt.NDArray[np.float32], triplets: npt.NDArray[np.int64], distance: str) -> float:
    """Return the share of triplets whose positive is nearer; a tie counts half."""
    query, *sides = triplets.T
    near, far = (distances_of_rows(vectors, query, side, distance) for side in sides)
    return float(np.mean((near < far) + 0.5 * (near == far)))
