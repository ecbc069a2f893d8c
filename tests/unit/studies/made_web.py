"""A hand-made web study in the shapes that the workflow writes: five sizes, two rankers, three methods."""

import pandas as pd
from contract import ABSENT, changed_study, finished, grid

from lookalike.exhibits.results import results_frame
from lookalike.studies.web import results
from lookalike.studies.web.results import N_GALLERY, N_QUERIES, PRECISION, STANDARD_ERROR, counted, timed_run

FACTOR, EXPONENT = 2e-4, 0.95
"""Seconds of OASIS by number of images: a power law without noise."""
COUNTS = {"train": (139_944, 2_292_259), "test": (41_877, 402_164)}


def toy_results():
    """Precision of three methods over k, and counts of the log."""
    levels = {"oasis": 0.016, "oasis-averaged": 0.0175, "euclidean": 0.006}
    rows = grid(method=levels, x=[1, 2, 5, 10, 20, 50])
    rows = rows.assign(metric=PRECISION, value=rows["method"].map(levels) / rows["x"] ** 0.5)
    sizes = pd.DataFrame({"metric": [N_QUERIES, N_GALLERY], "value": [10_000.0, 402_164.0]})
    sizes = sizes.merge(pd.DataFrame({"method": [*levels]}), "cross")
    rows = pd.concat([rows, rows.assign(metric=STANDARD_ERROR, value=0.001), sizes])
    names = ("queries", "images", "pairs", "nonzeros_per_image", "relevant_per_image")
    numbers = {part: (queries, images, 2.2 * images, 69.8, 96.4) for part, (queries, images) in COUNTS.items()}
    counts = [(part, *row) for part, own in numbers.items() for row in zip(names, own, strict=True)]
    counts = counted(pd.DataFrame(counts, columns=["part", "quantity", "value"]))
    return pd.concat([results_frame(rows).assign(study="web"), counts], ignore_index=True)


def ranker_times():
    """Return what two rankers took whose best steps were all and half of their steps."""
    fit = {"seconds": 4800.0, "cpu_seconds": 2400.0, "steps_per_second": 2000.0}
    fit |= {"n_train": 2_292_259, "n_validation": 20_000, "stopped": "limit"}
    curve = pd.DataFrame({"step": [0, 40, 80], "seconds": [0.0, 2400.0, 4800.0]})
    ends = (fit | {"ranker": ranker, "best_step": step} for ranker, step in enumerate((80, 40)))
    return [row for end in ends for row in results.times_of_ranker(end, curve)]


def toy_times(*, unlearned=(), cut_off=()):
    """Times of both learners by size; those in `unlearned` learned nothing, those in `cut_off` ended at a limit."""
    seconds = {("oasis", n): FACTOR * n**EXPONENT for n in (60, 600, 10_000, 100_000, 2_292_259)}
    seconds |= {("lmnn", n): 0.02 + 1e-4 * n + 2e-8 * n**2 for n in (60, 600, 2_000, 6_000, 20_000)}
    return [
        row
        for key, took in seconds.items()
        for row in timed_run(*key, took * (key not in unlearned), "limit" if key in cut_off else "converged")
    ]


def given():
    """The study of the project's settings."""
    return changed_study("web", "websim", training={"rankers": 2, "threads": 1})


def study(times=()):
    """The study with its numbers, and with times of trainings over size."""
    tables = {"results": toy_results(), "times": results_frame([*(times or toy_times()), *ranker_times()])}
    return finished(given(), tables)


def example(folder):
    """The study with all its numbers, and one that was not run."""
    return study(), finished(given(), not_run=ABSENT)
