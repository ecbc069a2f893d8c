"""Made-up numbers of a fine-grained study in the shapes that the workflow writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lookalike.core.files import read_table
from lookalike.exhibits.triplet_catalogue import TripletNumbers
from lookalike.exhibits.triplet_context import DEEP, TABLE1, TABLE2, contrast_pairs, triplet_context

CLAIMS = Path(__file__).resolve().parents[3] / "workflow" / "resources" / "triplet-claims.csv"
SHARES = {"multiscale-weighted-000": (84.0, 7.3), "multiscale-weighted-050": (85.9, 6.6)}
SHARES |= {"multiscale-weighted-100": (85.5, 6.0), "multiscale-uniform-000": (84.2, 6.7)}
PRECISIONS = [62.2, 62.3, 65.5, 67.2, 68.4, 66.5, 76.2, 79.2, 80.3, 85.7, 82.8, 84.6, 82.5, 84.1]
SCORES = [2735, 2935, 2863, 3064, 3099, 3556, 6356, 6813, 7165, 7004, 5772, 6245, 6263, 6765]
SYSTEMS = [*TABLE1, *TABLE2[:-1]]
LEVELS = dict(zip(SYSTEMS, zip(PRECISIONS, (score / 1000 for score in SCORES), strict=True), strict=True)) | SHARES
"""System to its precision and its score in thousands, as the paper prints them where it does."""


def study(**changes):
    return {
        "dataset": "demo_triplets",
        "title": "demo triplets",
        "kind": "synthetic_triplets",
        "not_run": "",
        "deep_not_run": "",
        "learned_not_run": "",
        **changes,
    }


def made_intervals(levels=None, *, n_triplets=14_000, pool=1_000, reach=0.8, kinds=("in-class", "out-of-class")):
    """Rows of every system; precision differs by 6 points on either side between the kinds of negatives."""
    rows = []
    for system, (precision, thousands) in (levels or LEVELS).items():
        for subset, shift in (("all", 0), *zip(kinds, (-6, 6), strict=False)):
            n = n_triplets if subset == "all" else n_triplets // 2
            score = 1000 * thousands * n / 14_000
            counts = (n, n // 4, 3, pool, int(0.7 * n))
            rows.append((system, subset, "similarity_precision", precision + shift, reach, *counts))
            rows.append((system, subset, "score@30", score, 2 * reach * n / 100, *counts))
            rows.append((system, subset, "score@30_per_triplet", 100 * score / n, 2 * reach, *counts))
    columns = ["system", "subset", "metric", "value", "reach", "n_triplets", "n_queries", "n_ties"]
    frame = pd.DataFrame(rows, columns=[*columns, "median_pool", "n_in_top"])
    return frame.assign(low=frame["value"] - frame["reach"], high=frame["value"] + frame["reach"])


def made_contrasts(levels=None, *, n_triplets=14_000, reach=0.8, kinds=("in-class", "out-of-class")):
    """Differences of `made_intervals` for every pair that a claim needs."""
    levels = levels or LEVELS
    rows = []
    for a, b in contrast_pairs(levels):
        for subset in ("all", *kinds):
            points = levels[a][0] - levels[b][0]
            score = 1000 * (levels[a][1] - levels[b][1]) * n_triplets / 14_000
            for metric, value, scale in (
                ("similarity_precision", points, reach),
                ("score@30", score, reach * n_triplets / 100),
                ("score@30_per_triplet", 100 * score / n_triplets, reach),
            ):
                p = 0.6 if abs(value) <= scale else 0.001
                rows.append((a, b, subset, metric, value, value - scale, value + scale, p, n_triplets // 4))
    columns = ["system_a", "system_b", "subset", "metric", "difference", "low", "high", "p_value", "n_queries"]
    return pd.DataFrame(rows, columns=columns)


def made_fits(systems=tuple(LEVELS)):
    """Settings flat, as in timing.parquet: a column for each, empty for systems without it."""
    rows = []
    for place, system in enumerate(systems):
        rows.append(
            {
                "system": system,
                "seconds": 10.0 + place,
                "images_per_second": 100.0 / (1 + place),
                "dimensions": 64 * (1 + place),
                "distance": "l1" if place % 2 else "l2",
                "codebook_from": "training images" if place > 3 else "",
                "n_images": 4000,
                "processor": "a processor",
                "settings_step": 8.0 if place < 4 else np.nan,
                "settings_sizes": np.array([16, 24]) if place < 2 else None,
            }
        )
    return pd.DataFrame(rows)


def made_curves():
    random = np.random.default_rng(1)
    parts = []
    seen = np.arange(1, 21) * 3_200
    for system in ("convnet", "single-scale-ranking", DEEP, "multiscale-weighted-000"):
        rise = 1 - np.exp(-np.arange(1, 21) / 5)
        noise = random.normal(0, 0.006, len(seen))
        names = (
            ("accuracy", "validation_accuracy") if system == "convnet" else ("triplet_accuracy", "validation_precision")
        )
        curve = {"system": system, "seen": seen, "loss": 0.5 - 0.3 * rise, "validation_loss": 0.5 - 0.25 * rise + noise}
        curve |= {names[0]: 0.6 + 0.3 * rise, names[1]: 0.6 + 0.25 * rise + noise}
        parts.append(pd.DataFrame(curve))
    return pd.concat(parts, ignore_index=True)


def made_pool(source="pool"):
    return pd.DataFrame({"text_query": ["a", "a", "b"], "image_id": [0, 1, 2], "source": source})


def made_numbers(**sizes):
    return TripletNumbers(
        intervals=made_intervals(**sizes),
        contrasts=made_contrasts(),
        fits=made_fits(),
        curves=made_curves(),
        claims=read_table(CLAIMS),
    )


def full(numbers=None, *, source="pool", **changes):
    numbers = numbers or made_numbers()
    return triplet_context(study(**changes), numbers.intervals, numbers.fits, made_pool(source))


def real(numbers=None, **changes):
    """People's ratings, with a pool."""
    return full(numbers, dataset="triplets", title="rated triplets", kind="triplets", **changes)


def missing(**changes):
    names = {"dataset": "triplets", "title": "rated triplets", "kind": "triplets"}
    return triplet_context(study(**names, not_run="put the rated triplets at data/triplets", **changes))
