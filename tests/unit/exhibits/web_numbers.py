"""Made-up numbers of a web study in the shapes that the workflow writes: five sizes, two rankers, two modes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.exhibits.web_catalogue import WebNumbers
from lookalike.exhibits.web_context import web_context

METHODS = {"oasis": "OASIS", "oasis-averaged": "OASIS, average of 2", "euclidean": "Euclidean"}
FULL = {"train": (139_944, 2_292_259), "test": (41_877, 402_164)}
SMALL = {"train": (190, 3_000), "test": (60, 550)}
FACTOR, EXPONENT = 2e-4, 0.95
"""Seconds of OASIS by number of images: a power law without noise."""


def study(**changes):
    return {
        "dataset": "websim",
        "title": "simulated web images",
        "not_run": "",
        "methods": METHODS,
        "words": 10_000,
        "runtime": {"aggressiveness": 1.0, "patience": 3},
        **changes,
    }


def full(numbers=None, **changes):
    fits, counts = (None, None) if numbers is None else (numbers.fits, numbers.counts)
    return web_context(study(**changes), fits, counts)


def missing():
    return web_context(study(not_run="set run: true of websim in config.yaml"))


def made_precision(n_queries=10_000, n_gallery=402_164):
    rows = []
    for method, level in (("oasis", 0.016), ("oasis-averaged", 0.0175), ("euclidean", 0.006)):
        for k in (1, 2, 3, 5, 10, 20, 30, 40, 50, 60):
            value = level * (0.35 + 0.65 * np.exp(-k / 25))
            error = np.sqrt(value * (1 - value) / n_queries / k**0.5)
            rows.append((method, k, value, error, 12 * value, 3 * error, n_queries, n_gallery))
    columns = ["method", "k", "precision", "standard_error", "topic_precision", "topic_standard_error"]
    return pd.DataFrame(rows, columns=[*columns, "n_queries", "n_gallery"]).astype({"k": np.int32})


def made_curve(rankers=(0, 1), last=80_000_000):
    random = np.random.default_rng(2)
    rows = []
    for ranker in rankers:
        seconds = 0.0
        for place in range(17):
            step = place * last // 16
            rate = 0.35 + 0.5 * np.exp(-place / 3)
            seconds += (last / 16) * (1.2e-5 + 4e-5 * rate) * (place > 0)
            value = 0.02 + 0.05 * (1 - np.exp(-place / 4)) + random.normal(0, 0.0006)
            rows.append((ranker, step, seconds, value, rate if place else np.nan))
    columns = ["ranker", "step", "seconds", "map", "loss_rate"]
    return pd.DataFrame(rows, columns=columns).astype({"ranker": np.int32, "step": np.int64})


def made_fits():
    rows = [
        ("oasis", 0, "sequential", 1, 20_000_000, 21_000.0, 952.0, 0.41, 1.9e9, 2_292_259, 20_000_000, 0),
        ("oasis", 1, "look-ahead", 1, 80_000_000, 27_500.0, 2909.0, 0.39, 2.1e9, 2_292_259, 75_000_000, 1),
        ("oasis", 2, "look-ahead", 1, 80_000_000, 26_500.0, 3019.0, 0.39, 2.2e9, 2_292_259, 70_000_000, 1),
        ("oasis-averaged", -1, "", 1, np.nan, np.nan, np.nan, np.nan, 1.2e9, 2_292_259, np.nan, 0),
    ]
    columns = ["method", "ranker", "mode", "n_threads", "n_steps", "steps_per_second", "seconds_fit", "loss_rate"]
    table = pd.DataFrame(rows, columns=[*columns, "peak_memory_bytes", "n_train", "chosen_step", "resumed"])
    table["cpu_seconds_fit"] = 0.8 * table["seconds_fit"]
    return table.assign(processor="a processor", dataset="websim", stopped="saturated", n_validation=20_000)


def made_runtime(largest=2_292_259):
    rows = []
    for n_images in (60, 600, 10_000, 100_000, largest):
        seconds = FACTOR * n_images**EXPONENT * 6
        rows.append(("OASIS", n_images, 0, 50 * n_images, 1.1 * seconds, seconds, "saturated", 1))
    for n_images in (60, 600, 2_000, 6_000, 20_000):
        for repeat in range(3):
            seconds = (0.02 + 1e-4 * n_images + 2e-8 * n_images**2) * (1, 1.04, 1.1)[repeat]
            rows.append(("LMNN", n_images, repeat, 100, 1.2 * seconds, seconds, "converged", 1))
    columns = ["learner", "n_images", "repeat", "steps", "seconds", "cpu_seconds", "stopped", "n_threads"]
    return pd.DataFrame(rows, columns=columns)


def made_marginals():
    random = np.random.default_rng(1)
    parts = []
    for part in ("train", "test"):
        draws = {
            "nonzeros_per_image": np.clip(random.gamma(9, 70 / 9, 20_000).astype(int), 1, 400),
            "images_per_query": np.minimum((random.pareto(1.1, 20_000) * 8 + 1).astype(int), 20_000),
            "queries_per_image": random.geometric(0.45, 20_000),
            "relevant_per_image": (random.lognormal(3.9, 1.2, 20_000)).astype(int),
        }
        for quantity, values in draws.items():
            x, n = np.unique(values, return_counts=True)
            parts.append(pd.DataFrame({"quantity": quantity, "x": x.astype(float), "y": n / n.sum(), "part": part}))
        rank = np.arange(1, 10_001)
        share = np.minimum(0.9, 0.9 * rank**-0.9)
        parts.append(pd.DataFrame({"quantity": "word_frequency", "x": rank.astype(float), "y": share, "part": part}))
    return pd.concat(parts, ignore_index=True)


def made_counts(sizes=FULL):
    rows = []
    for part, (queries, images) in sizes.items():
        rows += [(part, "queries", queries), (part, "images", images), (part, "pairs", 2.2 * images)]
        rows += [(part, "nonzeros_per_image", 69.8), (part, "relevant_per_image", 96.4)]
    return pd.DataFrame(rows, columns=["part", "quantity", "value"])


def made_approximate():
    rows = [("exact", 0, 0, k, 1.0, 210.0) for k in (1, 10, 100)]
    for rank, top in ((64, 0.72), (256, 0.95)):
        rows += [("Flat", rank, 0, k, top - 0.01 * i, 6.0 * rank / 64) for i, k in enumerate((1, 10, 100))]
        for nprobe in (1, 4, 16, 64):
            for i, k in enumerate((1, 10, 100)):
                recall = top * (1 - np.exp(-(nprobe**0.6))) - 0.01 * i
                rows.append(("IVF1024,Flat", rank, nprobe, k, recall, 0.05 * nprobe * rank / 64 + 0.02))
    columns = ["index", "rank", "parameter", "k", "recall", "milliseconds"]
    return pd.DataFrame(rows, columns=columns).assign(n_queries=10_000, n_gallery=402_164)


def made_numbers(sizes=FULL):
    return WebNumbers(
        precision=made_precision(),
        curve=made_curve((1, 2)),
        fits=made_fits(),
        runtime=made_runtime(sizes["train"][1]),
        marginals=made_marginals(),
        counts=made_counts(sizes),
        approximate=made_approximate(),
    )
