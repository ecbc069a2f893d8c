"""Times of learning over the number of words, as figures and claims read them from dimensions.parquet."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd

OURS, WITHOUT_PAIRS = "ours", "without pair products"
ALIKE = 1.05
"""Rows of two sizes are alike where one has at most this many times the non-zeros of the other."""


def timed(times: pd.DataFrame) -> pd.DataFrame:
    """Rows with a time: TF-IDF learns nothing, and a fit that did not end has none."""
    return times[(times["learner"] != "tfidf") & times["cpu_seconds"].notna()]


def medians(times: pd.DataFrame) -> pd.DataFrame:
    """Median, least and largest seconds of the repeats of each method and size; ``series`` is one of the two above."""
    rows = timed(times)
    apart = rows[
        rows.groupby(["learner", "n_features"])["pair_cpu_seconds"].transform(lambda seconds: seconds.notna().all())
    ]
    parts = {OURS: rows.assign(value=rows["cpu_seconds"])}
    parts[WITHOUT_PAIRS] = apart.assign(value=apart["cpu_seconds"] - apart["pair_cpu_seconds"])
    found = [
        part.groupby(["learner", "n_features"])["value"].agg(seconds="median", low="min", high="max", n_repeats="count")
        .reset_index().assign(series=series)
        for series, part in parts.items()
    ]  # fmt: skip
    table = pd.concat(found, ignore_index=True).rename(columns={"learner": "method"}).assign(data="simulated")
    return table[["series", "method", "n_features", "seconds", "low", "high", "n_repeats", "data"]]


def notes(times: pd.DataFrame, title_of: Callable[[str], str]) -> list[str]:
    """What was timed on which rows and machine, and which methods have no time; `title_of` titles a method."""
    rows = timed(times)
    notes = []
    if len(rows):
        repeats = int(rows.groupby(["learner", "n_features"])["repeat"].nunique().max())
        spread = f", median of {repeats} repeats (bars: least and largest)" if repeats > 1 else ", one repeat"
        notes.append(f"Filled markers are ours: processor time of training on {_triplets(rows, title_of)}{spread}.")
        notes.append(f"The rows are simulated, with {_nonzeros(rows)}.")
        notes.append(f"Ours ran on one thread of {' and '.join(sorted(set(rows['processor'].dropna())))}.")
    if rows["pair_cpu_seconds"].notna().any():
        notes.append("Dotted: the same, not counting the products of pairs, which are computed once before all steps.")
    failed: Any = times[(times["reason"] != "") & (times["learner"] != "tfidf")]
    for row in failed.drop_duplicates(["learner", "n_features"]).itertuples():
        notes.append(f"{title_of(row.learner)} at d = {row.n_features:,} is not drawn: {row.reason}.")
    return notes


def _triplets(rows: pd.DataFrame, title_of: Callable[[str], str]) -> str:
    """``100,000 triplets (OASIS) and 4,200 triplets (S-TG, S-DA)``."""
    of_method = rows.groupby("learner", sort=False)["n_triplets"].max()
    groups: Any = of_method.groupby(of_method, sort=False).groups.items()
    return " and ".join(
        f"{n:,} triplets ({', '.join(title_of(method) for method in methods)})" for n, methods in groups
    )


def _nonzeros(rows: pd.DataFrame) -> str:
    """How many non-zeros rows have, at which number of words where that is not the same at all."""
    means = rows.groupby("n_features")["nonzeros"].mean()
    most = float(means.max())
    alike = means[most <= ALIKE * means]
    others = [f"{nonzeros:,.0f} at d = {size:,}" for size, nonzeros in means[most > ALIKE * means].items()]
    beside = f" ({', '.join(others)})" if others else ""
    return f"about {alike.mean() if len(alike) else math.nan:,.0f} non-zeros each{beside}"
