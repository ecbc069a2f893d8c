"""Raters' answers, read from their CSV files or simulated, and their numbers (JMLR 5.2.3, Figure 3; NIPS 4.1).

Only "good" counts as relevant, precision is over the retrieved candidates, and a query's raters are those who did it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.seeds import generator
from lookalike.core.tables import Rules, read_cells, refuse, whole_numbers
from lookalike.exhibits.results import results_frame, select
from lookalike.studies.human.questionnaire import plan_fingerprint

FILE_COLUMNS = ("plan", "rater", "query", "position", "answer", "answered", "done")
"""Header of a rater's file: query and position say which image it is, by the plan; ``done`` is of the whole query."""
COLUMNS = ("rater", "query", "query_image", "position", "image", "role", "rank", "answer", "answered", "simulated")
ANSWERS = ("good", "not_good", "cant_say")
PLACE, KEYS = ["query", "position"], ["query", "rater"]
OASIS, RATERS, RANDOM = "oasis", "raters", "random"

# How similar a candidate seems, in the units of a rater's threshold: 1 for the query's class, 0 for others, with what
# all raters see alike in a pair (PAIR), what differs by rater (NOISE), and how easy a query is for all (QUERY).
PAIR, QUERY = 0.25, 0.15
THRESHOLD, STRICTNESS = 0.6, 0.2
NOISE_RANGE, UNSURE_RANGE = (0.15, 0.5), (0.0, 0.06)
SKIPPED = 0.4
"""Share of the candidates called not good that a rater leaves at the default instead of answering."""
N_RATERS = 20
"""Raters of JMLR 5.2.3."""


def read_ratings(paths: Iterable[PathLike], plan: pd.DataFrame) -> pd.DataFrame:
    """Read the files that raters of a plan exported, one a rater; queries that a rater has not done are left out."""
    found: dict[str, Path] = {}
    tables = []
    for path in sorted(map(Path, paths)):
        answers = _read_file(path, plan)
        rater, done = answers["rater"].iloc[0], answers[answers["done"] == "true"]
        if other := found.get(rater.casefold()):
            raise LookalikeError(f"{other} and {path} are both of the rater {rater}: keep one, or mend the name")
        if not done["answered"].any():
            raise LookalikeError(f"{path} holds no answer in a query that is done: leave it out or let {rater} go on")
        n_done, n_queries = done["query"].nunique(), plan["query"].nunique()
        if n_done < n_queries:
            left_out = f"{path}: {rater} has done {n_done} of {n_queries} queries; others are left out"
            warnings.warn(left_out, stacklevel=2)
        found[rater.casefold()] = path
        tables.append(done)
    if not tables:
        raise LookalikeError("there are no files of ratings: put the CSV files that raters exported in place")
    return _ratings_table(pd.concat(tables).merge(plan, on=PLACE).assign(simulated=False))


def _ratings_table(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a table of ratings, its rows by rater and place."""
    return answers.sort_values(["rater", *PLACE], kind="stable", ignore_index=True)[list(COLUMNS)]


def _read_file(path: Path, plan: pd.DataFrame) -> pd.DataFrame:
    """Read one rater's answers, a row a candidate of the plan."""
    cells = read_cells(path, FILE_COLUMNS, what="file of ratings", exact=True).apply(lambda column: column.str.strip())
    cells = whole_numbers(cells, dict.fromkeys(PLACE, "int64"), path)
    cells["first"] = next(iter(cells["rater"]), "")
    cells["done_above"] = cells.groupby("query")["done"].transform("first")
    name, places = plan_fingerprint(plan), pd.MultiIndex.from_frame(plan[PLACE])
    is_planned = pd.MultiIndex.from_frame(cells[PLACE]).isin(places)
    says_whether = cells[["answered", "done"]].isin(["true", "false"]).all(axis=1)
    is_done_alike = cells["done"] == cells["done_above"]
    rules: Rules = {
        f"belongs to {{plan}}, not to {name}: go back to the settings of its page": cells["plan"] != name,
        "names no rater: write the name into each line": cells["rater"] == "",
        "is by {rater}, the lines above by {first}: one file, one rater": cells["rater"] != cells["first"],
        "is candidate {position} of query {query}, which the plan does not have": ~is_planned,
        "rates candidate {position} of query {query} a second time": cells.duplicated(PLACE),
        f"has the answer {{answer!r}}, which is none of {', '.join(ANSWERS)}": ~cells["answer"].isin(ANSWERS),
        "has {answered!r} and {done!r} where true or false stands": ~says_whether,
        "says {done} under done, the lines above of query {query} do not: mend one of them": ~is_done_alike,
    }
    refuse(cells, rules, path)
    if len(cells) < len(plan):
        raise LookalikeError(f"{path} has {len(cells)} of {len(plan)} candidates: it is cut short, export it again")
    return cells.assign(answered=cells["answered"] == "true")


def simulated_panel(plan: pd.DataFrame, labels: pd.Series, *, seed: int) -> pd.DataFrame:
    """Simulate raters of a plan, ``simulated 01``, ..., by the label of each image."""
    rng, tables = generator(seed, "ratings", "panel"), []
    number_of_query, queries = pd.factorize(plan["query"])
    agreement = labels.loc[plan["query_image"]].to_numpy() == labels.loc[plan["image"]].to_numpy()
    seen = agreement + rng.normal(0, PAIR, len(plan)) + rng.normal(0, QUERY, len(queries))[number_of_query]
    for number in range(1, N_RATERS + 1):
        noise, unsure = rng.uniform(*NOISE_RANGE), rng.uniform(*UNSURE_RANGE)
        threshold = rng.normal(THRESHOLD, STRICTNESS)
        distance = seen + rng.normal(0, noise, len(plan)) - threshold
        answer = np.select([np.abs(distance) < unsure, distance > 0], ["cant_say", "good"], "not_good")
        answered = (answer != "not_good") | (rng.random(len(plan)) >= SKIPPED)
        tables.append(plan.assign(rater=f"simulated {number:02d}", answer=answer, answered=answered, simulated=True))
    return _ratings_table(pd.concat(tables))


def results_of(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return rows of results, a repeat a rater: numbers of each query, and those of all together."""
    rows, singles = measured(ratings), pd.DataFrame(summary(ratings).items(), columns=["metric", "value"])
    rows = rows.assign(setting="query=" + rows["query"].astype(str), repeat=rows["rater"], unit="fraction")
    return results_frame(pd.concat([rows, singles], ignore_index=True).assign(study="human"))


def measured(ratings: pd.DataFrame) -> pd.DataFrame:
    """Return numbers by query and rater, a row a number.

    Those of OASIS are the share of good ones among its first x candidates, and average precision over the good ones, 0
    where none is good. Those of raters are their precision, the other raters being the truth (JMLR Figure 3D, NIPS
    Figure 1a).
    """
    table = ratings.assign(good=(ratings["answer"] == "good").astype(np.int64), x=ratings["rank"])
    found = table[table["role"] == "retrieved"].sort_values([*KEYS, "x"]).set_index([*KEYS, "x"])["good"]
    if found.empty:
        raise LookalikeError("there are no ratings of retrieved candidates: rate the page of a plan that has some")
    precision = found.groupby(KEYS, sort=False).cumsum() / found.index.get_level_values("x")
    all_good = table.groupby(PLACE)["good"].transform("sum")
    sums = table.assign(agreed=table["good"] * (all_good - table["good"])).groupby(KEYS)
    good, agreed = sums["good"].sum(), sums["agreed"].sum()
    # only who has done a query can agree about it
    possible = good * (good.groupby("query").transform("size") - 1)
    parts = {
        ("p@k", OASIS): precision,
        ("ap", OASIS): (precision * found).groupby(KEYS).sum() / found.groupby(KEYS).sum().clip(lower=1),
        ("precision", RATERS): agreed / possible.where(possible > 0),
        ("precision", RANDOM): table[table["role"] == "random"].groupby(KEYS)["good"].mean(),
    }
    return pd.concat([part.rename("value").reset_index().assign(metric=m, method=n) for (m, n), part in parts.items()])


def summary(ratings: pd.DataFrame) -> dict[str, float]:
    """Everything in single numbers, for a text or a table."""
    rows = measured(ratings)
    curve = select(rows, metric="p@k").groupby("x")["value"].mean()
    average = select(rows, metric="ap").set_index(KEYS)["value"]
    values = {
        "n_raters": ratings["rater"].nunique(),
        "n_queries": ratings["query"].nunique(),
        "precision_at_1": curve.iloc[0],
        f"precision_at_{curve.index[-1]:.0f}": curve.iloc[-1],
        "precision_peak": curve.max(),
        "precision_peak_k": curve.round(12).idxmax(),  # rounding errors must not break a tie
        "map": average.mean(),
        "standard_deviation_over_queries": average.groupby("rater").std().mean(),
        "standard_deviation_over_raters": average.groupby("query").std().mean(),
        "human_precision": select(rows, method=RATERS).groupby("query")["value"].mean().mean(),
        "random_good": (ratings.loc[ratings["role"] == "random", "answer"] == "good").mean(),
        "answered_share": ratings["answered"].mean(),
        "cant_say_share": (ratings["answer"] == "cant_say").mean(),
        "simulated": ratings["simulated"].any(),
    }
    return {name: float(value) for name, value in values.items()}
