"""Times of learning over the number of words, as figures and claims read them from dimensions.parquet."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from lookalike.studies.metrics import rows_in

OURS, WITHOUT_PAIRS = "ours", "without pair products"
ALIKE = 1.05
"""Rows of two sizes are alike where one has at most this many times the non-zeros of the other."""


def timed(times: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a time: TF-IDF learns nothing, and a fit that did not end has none."""
    return times[(times["learner"] != "tfidf") & times["cpu_seconds"].notna()]


def medians(times: pd.DataFrame) -> pd.DataFrame:
    """Return median, least and largest seconds of repeats by method and size; ``series`` is one of the two above."""
    rows = timed(times).rename(columns={"learner": "method"}).reset_index(drop=True)
    keys, found = ["method", "n_features"], []
    is_apart = rows["pair_cpu_seconds"].notna().groupby([rows[key] for key in keys]).transform("all")
    without = (rows["cpu_seconds"] - rows["pair_cpu_seconds"])[is_apart]
    for series, seconds in ((OURS, rows["cpu_seconds"]), (WITHOUT_PAIRS, without)):
        values = rows.loc[seconds.index].assign(value=seconds).groupby(keys)["value"]
        spread = values.agg(seconds="median", low="min", high="max", n_repeats="count")
        found.append(spread.reset_index().assign(series=series, data="simulated"))
    columns = ["series", *keys, "seconds", "low", "high", "n_repeats", "data"]
    return pd.concat(found, ignore_index=True)[columns]


def notes(times: pd.DataFrame, title_of: Callable[[str], str]) -> list[str]:
    """Say what was timed on which rows and machine, and which methods have no time; `title_of` titles a method."""
    rows = timed(times)
    notes = []
    if len(rows):
        repeats = int(rows.groupby(["learner", "n_features"])["repeat"].nunique().max())
        spread = f", median of {repeats} repeats (bars: least and largest)" if repeats > 1 else ", one repeat"
        notes.append(f"Filled markers are ours: processor time of training on {_triplets(rows, title_of)}{spread}.")
        notes.append("A fit of less than 0.1 s is repeated until it has taken so long, and counts with its mean.")
        notes.append(f"The rows are simulated, with {_nonzeros(rows)}.")
        notes.append(f"Ours ran on one thread of {' and '.join(sorted(set(rows['processor'].dropna())))}.")
    if rows["pair_cpu_seconds"].notna().any():
        notes.append("Dotted: the same, not counting the products of pairs, which are computed once before all steps.")
    failed = times[(times["reason"] != "") & (times["learner"] != "tfidf")]
    for row in rows_in(failed.drop_duplicates(["learner", "n_features"])):
        notes.append(f"{title_of(row.learner)} at d = {row.n_features:,} is not drawn: {row.reason}.")
    return notes


def _triplets(rows: pd.DataFrame, title_of: Callable[[str], str]) -> str:
    """Return ``100,000 triplets (OASIS) and 4,200 triplets (S-TG, S-DA)``."""
    titles: dict[int, list[str]] = {}
    for method, n in rows.groupby("learner", sort=False)["n_triplets"].max().items():
        titles.setdefault(n, []).append(title_of(str(method)))
    return " and ".join(f"{n:,} triplets ({', '.join(methods)})" for n, methods in titles.items())


def _nonzeros(rows: pd.DataFrame) -> str:
    """Say how many non-zeros rows have, at which number of words where that is not the same at all."""
    means = rows.groupby("n_features")["nonzeros"].mean()
    most = float(means.max())
    alike = means[most <= ALIKE * means]
    others = [f"{nonzeros:,.0f} at d = {size:,}" for size, nonzeros in means[most > ALIKE * means].items()]
    beside = f" ({', '.join(others)})" if others else ""
    return f"about {alike.mean() if len(alike) else math.nan:,.0f} non-zeros each{beside}"
