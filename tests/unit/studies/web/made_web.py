"""A hand-made web study in the shapes that the workflow writes: five sizes, two rankers, three methods."""

import numpy as np
import pandas as pd
from contract import contrasted, printed

from lookalike.core.files import write_table
from lookalike.studies.metrics import metrics_frame
from lookalike.studies.rooms import study_of
from lookalike.studies.settings import checked
from lookalike.studies.web.numbers import study_metrics

FACTOR, EXPONENT = 2e-4, 0.95
"""Seconds of OASIS by number of images: a power law without noise."""
COUNTS = {"train": (139_944, 2_292_259), "test": (41_877, 402_164)}
SECTION = {
    "training": {"rankers": 2, "threads": 1, "steps": 4096, "triplets_per_query": 32},
    "validation": {"images": 50, "queries": 10},
    "runtime": {"images": [60, 600], "lmnn": [100], "patience": 3, "max_iter": 5, "time_limit": 7},
}
DATA = {"kind": "websim", "title": "made web images", "shards": 2, "simulation": {"topics": 3}}


def web_study(*without, rankers=2, **changes):
    """The study of the settings, some of which are left out or changed."""
    section = {key: value for key, value in SECTION.items() if key not in without} | changes
    section["training"] = section["training"] | {"rankers": rankers}
    return checked({"datasets": {"made": DATA}, "web": {"made": section}}).web["made"]


def toy_precision():
    k, parts = np.array([1, 2, 5, 10, 20, 50]), []
    for method, level in (("oasis", 0.016), ("oasis-averaged", 0.0175), ("euclidean", 0.006)):
        value = level / k**0.5
        p = pd.DataFrame({"metric": "p@k", "x": k, "value": value, "low": value - 0.001, "high": value + 0.001})
        sizes = pd.DataFrame({"metric": ["n_queries", "n_gallery"], "value": [10_000.0, 402_164.0]})
        parts.append(pd.concat([p, sizes]).assign(method=method))
    return metrics_frame(pd.concat(parts).assign(representation="visterms", subset="test"))


def toy_fits():
    fit = {"method": "oasis", "n_threads": 1, "n_steps": 80, "seconds_fit": 4800.0}
    fit |= {"cpu_seconds_fit": 2400.0, "steps_per_second": 2000.0}
    fit |= {"n_train": 2_292_259, "resumed": 0, "processor": "a processor", "n_validation": 20_000}
    ends = [
        {"ranker": 0, "chosen_step": 80, "stopped": "limit"},
        {"ranker": 1, "chosen_step": 70, "stopped": "saturated"},
    ]
    return pd.DataFrame([fit | end for end in ends])


def toy_runtime(largest=2_292_259):
    rows = []
    for n_images in (60, 600, 10_000, 100_000, largest):
        rows.append(("OASIS", n_images, 0, 50 * n_images, FACTOR * n_images**EXPONENT, "saturated"))
    for n_images in (60, 600, 2_000, 6_000, 20_000):
        for repeat, factor in enumerate((1, 1.04, 1.1)):
            seconds = (0.02 + 1e-4 * n_images + 2e-8 * n_images**2) * factor
            rows.append(("LMNN", n_images, repeat, 100, seconds, "converged"))
    table = pd.DataFrame(rows, columns=["learner", "n_images", "repeat", "steps", "cpu_seconds", "stopped"])
    return table.assign(seconds=1.1 * table["cpu_seconds"], n_threads=1, lower_bound=False, own_run=False)


def toy_counts():
    rows = []
    for part, (queries, images) in COUNTS.items():
        rows += [(part, "queries", queries), (part, "images", images), (part, "pairs", 2.2 * images)]
        rows += [(part, "nonzeros_per_image", 69.8), (part, "relevant_per_image", 96.4)]
    return pd.DataFrame(rows, columns=["part", "quantity", "value"])


def toy_study(folder, exhibit, **changed):
    """The study as one of its exhibits is given it; tables may be `changed`."""
    found = {
        "precision": toy_precision(),
        "counts": toy_counts(),
        "fits": toy_fits(),
        "runtime": toy_runtime(),
    }
    found |= changed
    tables = {name: found[name] for name in ("fits", "runtime")}
    tables["metrics"] = study_metrics(found["precision"], found["counts"])
    for name, table in tables.items():
        write_table(table, folder / f"{name}.parquet")
    study = given().finished({name: str(folder / f"{name}.parquet") for name in tables}, printed("web"))
    return contrasted("web", study).drawing(study.known_exhibits()[exhibit])


def given():
    """The study of the settings that a job for exhibits is given."""
    return study_of("web", "made", web_study().params("exhibits"))
