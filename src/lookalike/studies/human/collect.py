"""Raters' CSV files to one table, every mistake told with its file and line; a simulated panel where there are none."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.seeds import generator
from lookalike.core.tables import Rule, once, one_of, read_cells, refuse, same, whole_numbers
from lookalike.studies.human.questionnaire import plan_fingerprint

FILE_COLUMNS = ("plan", "rater", "query", "position", "answer", "answered", "done")
"""Header of a rater's file: query and position say which image it is, by the plan; ``done`` is of the whole query."""
COLUMNS = ("rater", "query", "query_image", "position", "image", "role", "rank", "answer", "answered", "simulated")
ANSWERS = ("good", "not_good", "cant_say")
PLACE = ["query", "position"]

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
    found: dict[str, tuple[Path, pd.DataFrame]] = {}
    for path in sorted(map(Path, paths)):
        answers = _read_file(path, plan)
        rater, is_done = answers["rater"].iloc[0], answers["done"] == "true"
        if other := found.get(rater.casefold()):
            raise LookalikeError(f"{other[0]} and {path} are both of the rater {rater}: keep one, or mend the name")
        n_done, n_queries = answers.loc[is_done, "query"].nunique(), plan["query"].nunique()
        if not (answers["answered"] & is_done).any():
            raise LookalikeError(f"{path} holds no answer in a query that is done: leave it out or let {rater} go on")
        if n_done < n_queries:
            warnings.warn(
                f"{path}: {rater} has done {n_done} of {n_queries} queries; others are left out", stacklevel=2
            )
        found[rater.casefold()] = path, answers[is_done]
    if not found:
        raise LookalikeError("there are no files of ratings: put the CSV files that raters exported in place")
    table = pd.concat([answers for _, answers in found.values()])
    table = table.merge(plan, on=PLACE, validate="many_to_one").assign(simulated=False)
    return table.sort_values(["rater", *PLACE], kind="stable", ignore_index=True)[list(COLUMNS)]


def _read_file(path: Path, plan: pd.DataFrame) -> pd.DataFrame:
    """Read one rater's answers: ``rater, query, position, answer, answered, done``, a row a candidate of the plan."""
    cells = read_cells(path, FILE_COLUMNS, what="file of ratings", exact=True).apply(lambda column: column.str.strip())
    answers = whole_numbers(cells, dict.fromkeys(PLACE, "int64"), path)
    answers["above"] = next(iter(answers["rater"]), "") or "somebody"
    answers["done_above"] = answers.groupby("query")["done"].transform("first")
    name, places = plan_fingerprint(plan), pd.MultiIndex.from_frame(plan[PLACE])
    rules = (
        one_of(f"belongs to {{plan}}, not to {name}: go back to the settings of its page", [name], "plan"),
        same("is by {rater}, the lines above by {above}: one file, one rater", "rater", "above"),
        Rule(
            "is candidate {position} of query {query}, which the plan does not have",
            tuple(PLACE),
            lambda cells: ~pd.MultiIndex.from_frame(cells).isin(places),
        ),
        once("rates candidate {position} of query {query} a second time", *PLACE),
        one_of(f"has the answer {{answer!r}}, which is none of {', '.join(ANSWERS)}", ANSWERS, "answer"),
        one_of("has {answered!r} and {done!r} where true or false stands", ("true", "false"), "answered", "done"),
        same("says {done} under done, the lines above of query {query} do not: mend one of them", "done", "done_above"),
    )
    refuse(answers, rules, path)
    if len(answers) < len(plan):
        raise LookalikeError(f"{path} has {len(answers)} of {len(plan)} candidates: it is cut short, export it again")
    return answers.assign(answered=answers["answered"] == "true")


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
        answer = np.where(distance > 0, "good", "not_good").astype(object)
        answer[np.abs(distance) < unsure] = "cant_say"
        answered = (answer != "not_good") | (rng.random(len(plan)) >= SKIPPED)
        tables.append(plan.assign(rater=f"simulated {number:02d}", answer=answer, answered=answered, simulated=True))
    panel = pd.concat(tables).sort_values(["rater", *PLACE], kind="stable", ignore_index=True)
    return panel[list(COLUMNS)].astype({"answer": str, "answered": bool})
