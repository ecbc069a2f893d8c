"""Simulated bags of words of Oxford5K's size, and what SOML's methods and its readings do on them.

An image is a bag of local features. A feature shows the landmark of the image, the theme of its scene, or anything; it
falls on one of the codebook's words, and is repeated, as windows of a building are: that is the burstiness.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike.core.arrays import Doubles, Integers, Longs, Truths
from lookalike.core.seeds import generator
from lookalike.core.settings.methods import Fit
from lookalike.studies.landmark import protocol
from lookalike.studies.landmark.rankings import MAP, OVER_GAMMA, SPARSITY
from lookalike.studies.landmark.settings import Bags, Readings, setting_of
from lookalike.studies.metrics import metrics_frame

LANDMARKS = {
    "all_souls": (24, 54),
    "ashmolean": (12, 13),
    "bodleian": (13, 11),
    "christ_church": (51, 27),
    "hertford": (35, 19),
    "magdalen": (13, 41),
    "radcliffe_camera": (105, 116),
}
"""Good and ok images of each landmark of the paper (Philbin et al., CVPR 2007, Table 1)."""
QUERIES = 5
GOOD, OK = (0.5, 1.0), (0.2, 0.6)
"""Bounds between which the share of a good or ok image's features that show its landmark lies, of `Bags.visibility`."""
ELEMENTS, VIEW = 1_000, 500
"""Different features of a landmark or theme, and how many of a landmark one view shows."""
THEMES, THEME_SHARE = 40, 0.3
BESIDE = 0.3
"""Share of a query's features beside its landmark that lie in its rectangle."""
EXPONENT, SPREAD = 0.6, 0.4
"""Of the law of how frequent words are (1 / j^EXPONENT), and the spread of the logarithm of an image's features."""


class Collection(NamedTuple):
    """What `protocol.landmark_data` is given, in its order."""

    counts: sp.csr_array
    query_counts: sp.csr_array
    queries: pd.DataFrame
    relevance: pd.DataFrame


def simulated_bags(bags: Bags, words: int, burstiness: float, seed: int, number: int) -> Collection:
    """Simulate one collection; each feature is repeated `burstiness` times on average, itself included."""
    rng = generator(seed, "bags", words, str(burstiness), number)
    landmark, visible, queries, relevance = _images(bags, rng)
    frequencies = np.arange(1, words + 1) ** -EXPONENT
    ends = np.cumsum(frequencies / frequencies.sum())

    def drawn(*shape: int) -> Integers:
        return np.searchsorted(ends, rng.random(shape), side="right").clip(max=words - 1)

    own, themes = drawn(len(LANDMARKS), ELEMENTS), drawn(THEMES, ELEMENTS)
    sizes = bags.features / burstiness * rng.lognormal(-(SPREAD**2) / 2, SPREAD, bags.images)
    image = np.repeat(np.arange(bags.images), rng.poisson(sizes))
    theme, view = (rng.integers(n, size=bags.images)[image] for n in (THEMES, ELEMENTS))
    source, element = rng.random(len(image)), rng.integers(ELEMENTS, size=len(image))
    shows = source < visible[image]
    seen = own[landmark[image], (view + element % VIEW) % ELEMENTS]
    of_scene = np.where(source < visible[image] + THEME_SHARE, themes[theme, element], drawn(len(image)))
    word, times = np.where(shows, seen, of_scene), rng.geometric(1 / burstiness, len(image))

    def counted(kept: Truths, rows: Integers, n_rows: int) -> sp.csr_array:
        counts = sp.csr_array((times[kept], (rows[image[kept]], word[kept])), shape=(n_rows, words))
        counts.sum_duplicates()
        return counts.astype(np.int32)

    asked = np.full(bags.images, -1)
    asked[queries["image_id"]] = np.arange(len(queries))
    inside = (asked[image] >= 0) & (shows | (rng.random(len(image)) < BESIDE))
    counts = counted(np.ones(len(image), dtype=bool), np.arange(bags.images), bags.images)
    return Collection(counts, counted(inside, asked, len(queries)), queries, relevance)


def _images(bags: Bags, rng: np.random.Generator) -> tuple[Longs, Doubles, pd.DataFrame, pd.DataFrame]:
    """Return each image's landmark and how much of it is seen, the queries and the ground truth."""
    landmark, visible = np.zeros(bags.images, dtype=np.int64), np.zeros(bags.images)
    queries, relevance, start = [], [], 0
    for number, name in enumerate(list(LANDMARKS)[: bags.landmarks]):
        names = [f"{name}_{query}" for query in range(1, QUERIES + 1)]
        queries += [(query, name, start + place) for place, query in enumerate(names)]
        for kind, n, (low, high) in zip(("good", "ok"), LANDMARKS[name], (GOOD, OK), strict=True):
            images = np.arange(start, start + n)
            landmark[images], visible[images] = number, bags.visibility * rng.uniform(low, high, n)
            relevance += [(query, image, kind) for query, image in product(names, images)]
            start += n
    asked = pd.DataFrame(queries, columns=["query", "landmark", "image_id"])
    return landmark, visible, asked, pd.DataFrame(relevance, columns=["query", "image_id", "relevance"])


def read_algorithms(
    readings: Readings, specs: Mapping[str, Fit], words: int, burstiness: float, *, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Learn every method, and one with every gamma, on the collections of a cell: numbers, and times of the fits."""
    rows, times = [], []
    fits = {(method, math.nan): specs[method] for method in readings.methods}
    spec = specs[readings.varied]
    for gamma in readings.gamma:
        fits[readings.varied, gamma] = spec.model_copy(update={"parameters": {**spec.parameters, "gamma": gamma}})
    landmarks = list(LANDMARKS)[: readings.bags.landmarks]
    for number in range(readings.learning.draws):
        collection = simulated_bags(readings.bags, words, burstiness, seed, number)
        data = protocol.landmark_data(*collection)
        alone = readings.learning.model_copy(update={"draws": 1})
        given = (collection.queries, collection.relevance, data.image_ids, landmarks, alone)
        learning_images = protocol.draw_learning_images(*given, seed=seed + number)
        for landmark, ((method, gamma), fit) in product(landmarks, fits.items()):
            result = protocol.run_landmark(data, learning_images, landmark, 0, fit, seed=seed, method=method)
            names = {"representation": setting_of(words, burstiness), "subset": landmark, "fold": number}
            names |= {"method": method, "x": gamma}
            kind = "" if math.isnan(gamma) else f"{OVER_GAMMA}_"
            for metric in (MAP, SPARSITY):
                if metric in result.metrics:
                    rows.append({**names, "metric": f"{kind}{metric}", "value": result.metrics[metric]})
            times.append({**names, "n_words": words, "cpu_seconds": result.seconds})
    return metrics_frame(rows), pd.DataFrame(times).rename(columns={"x": "gamma"})
