"""A hand-made web study in the shapes that the workflow writes: five sizes, two rankers, three methods."""

import numpy as np
import pandas as pd
from contract import NOT_RUN, printed

from lookalike.exhibits.registry import exhibits_of
from lookalike.exhibits.results import results_frame, write_results
from lookalike.studies.rooms import study_of
from lookalike.studies.settings import checked
from lookalike.studies.web.results import (
    N_GALLERY,
    N_QUERIES,
    PRECISION,
    STANDARD_ERROR,
    counted,
    timed_run,
    times_of_ranker,
)

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
    k, rows = np.array([1, 2, 5, 10, 20, 50]), []
    for method, level in (("oasis", 0.016), ("oasis-averaged", 0.0175), ("euclidean", 0.006)):
        for metric, values in ((PRECISION, level / k**0.5), (STANDARD_ERROR, np.full(len(k), 0.001))):
            rows.append(pd.DataFrame({"method": method, "metric": metric, "x": k, "value": values}))
        sizes = {"metric": [N_QUERIES, N_GALLERY], "value": [10_000.0, 402_164.0]}
        rows.append(pd.DataFrame(sizes).assign(method=method))
    return results_frame(pd.concat(rows).assign(study="web"))


def ranker_times():
    """Return what two rankers took whose best steps were all and half of their steps."""
    fit = {"seconds_fit": 4800.0, "cpu_seconds_fit": 2400.0, "steps_per_second": 2000.0}
    fit |= {"n_train": 2_292_259, "n_validation": 20_000, "stopped": "limit"}
    curve = pd.DataFrame({"step": [0, 40, 80], "seconds": [0.0, 2400.0, 4800.0]})
    ends = ({"ranker": 0, "chosen_step": 80}, {"ranker": 1, "chosen_step": 40})
    return [row for end in ends for row in times_of_ranker(fit | end, curve)]


def toy_times(largest=2_292_259, *, unlearned=(), cut_off=()):
    """Times of both learners by size; those in `unlearned` learned nothing, those in `cut_off` ended at a limit."""
    oasis = {n: FACTOR * n**EXPONENT for n in (60, 600, 10_000, 100_000, largest)}
    lmnn = {n: 0.02 + 1e-4 * n + 2e-8 * n**2 for n in (60, 600, 2_000, 6_000, 20_000)}
    rows = []
    for method, sizes in (("oasis", oasis), ("lmnn", lmnn)):
        for n_images, seconds in sizes.items():
            key, took = (method, n_images), seconds * ((method, n_images) not in unlearned)
            rows += timed_run(method, n_images, took, "limit" if key in cut_off else "converged")
    return rows


def toy_counts():
    rows = []
    for part, (queries, images) in COUNTS.items():
        rows += [(part, "queries", queries), (part, "images", images), (part, "pairs", 2.2 * images)]
        rows += [(part, "nonzeros_per_image", 69.8), (part, "relevant_per_image", 96.4)]
    return pd.DataFrame(rows, columns=["part", "quantity", "value"])


def toy_study(folder, exhibit, times=()):
    """The study as one of its exhibits is given it, with the times of trainings over size."""
    tables = {
        "results": pd.concat([toy_precision(), counted(toy_counts())], ignore_index=True),
        "times": [*(times or toy_times()), *ranker_times()],
    }
    for name, rows in tables.items():
        write_results(rows, folder / f"{name}.parquet")
    study = given().finished({name: str(folder / f"{name}.parquet") for name in tables}, printed("web"))
    return study.drawing(exhibits_of("web")[exhibit])


def given():
    """The study of the settings that a job for exhibits is given."""
    return study_of("web", "made", web_study().params("exhibits"))


def example(folder):
    """The study with all its numbers, and one that was not run."""
    return toy_study(folder, "oasis-jmlr-2010/table1"), given().finished({}, not_run=NOT_RUN)
