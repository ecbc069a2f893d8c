"""Raters' CSV files to one table, every mistake told with its file and line; a simulated panel where there are none."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.seeds import generator
from lookalike.core.tables import Rule, filled, once, one_of, read_cells, read_rows, refuse, same, whole_numbers
from lookalike.studies.human.questionnaire import plan_fingerprint

FILE_COLUMNS = ("plan", "rater", "query", "position", "answer", "answered", "done")
"""Header of a rater's file: query and position say which image it is, by the plan; ``done`` is of the whole query."""
COLUMNS = ("rater", "query", "query_image", "position", "image", "role", "rank", "answer", "answered", "simulated")
ANSWERS = ("good", "not_good", "cant_say")
PLACE = ["query", "position"]
_TRUTHS = ("true", "false")
_SOUND = (
    once("rates candidate {position} of query {query} a second time", *PLACE),
    one_of(f"has the answer {{answer!r}}, which is none of {', '.join(ANSWERS)}", ANSWERS, "answer"),
    one_of("says {answered!r} under answered, which is neither true nor false", _TRUTHS, "answered"),
    one_of("says {done!r} under done, which is neither true nor false", _TRUTHS, "done"),
    Rule(
        "has the answer {answer}, but says that it was not answered",
        ("answer", "answered"),
        lambda cells: (cells["answer"] != "not_good") & (cells["answered"] == "false"),
    ),
    same("says {done} under done, the lines above of query {query} do not: mend one of them", "done", "done_above"),
)
"""What the rows of a rater's file have to be, once they are of the plan."""

# How similar a candidate seems, in the units of a rater's threshold: 1 for the query's class, 0 for others, with what
# all raters see alike in a pair (PAIR), what differs by rater (NOISE), and how easy a query is for all (QUERY).
PAIR, QUERY = 0.25, 0.15
THRESHOLD, STRICTNESS = 0.6, 0.2
NOISE_RANGE, UNSURE_RANGE = (0.15, 0.5), (0.0, 0.06)
SKIPPED = 0.4
"""Share of the candidates called not good that a rater leaves at the default instead of answering."""
RATERS_OF_JMLR, RATERS_OF_NIPS = 20, 30
"""Raters of JMLR 5.2.3 and its draft, and of the NIPS version (4.1)."""


def read_ratings(paths: Iterable[PathLike], plan: pd.DataFrame) -> pd.DataFrame:
    """Read the files that raters of a plan exported, one a rater; every mistake in them is an error."""
    found: dict[str, tuple[Path, pd.DataFrame]] = {}
    for path in sorted(map(Path, paths)):
        answers = _read_file(path, plan)
        rater = answers["rater"].iloc[0]
        if rater.casefold() in found:
            other, _ = found[rater.casefold()]
            raise LookalikeError(
                f"{other} and {path} are both of the rater {rater}: keep one of them, or mend the name"
            )
        found[rater.casefold()] = path, _of_done_queries(path, rater, answers)
    if not found:
        raise LookalikeError("there are no files of ratings: put the CSV files that raters exported in place")
    table = pd.concat([answers for _, answers in found.values()])
    table = table.merge(plan, on=PLACE, validate="many_to_one").assign(simulated=False)
    return table.sort_values(["rater", *PLACE], kind="stable", ignore_index=True)[list(COLUMNS)]


def refuse_answers_to_other_plans(folder: PathLike, plan: pd.DataFrame) -> None:
    """Refuse a new plan while raters' files in a folder answer another one, without which they would be worthless."""
    fingerprint = plan_fingerprint(plan)
    for path in sorted(Path(folder).glob("[!.]*.csv")):
        for _, cells in islice(read_rows(path, what="file of ratings"), 1, None):
            answered = cells[0]
            if answered.startswith("plan-") and answered != fingerprint:
                raise LookalikeError(
                    f"{path} answers {answered}, but the plan would now be {fingerprint}: go back to the settings and "
                    f"images that it was made with, or move the raters' files out of {folder} and let them rate anew"
                )


def _of_done_queries(path: Path, rater: str, answers: pd.DataFrame) -> pd.DataFrame:
    """Answers to the queries that a rater has done; how many others there are is said."""
    kept = answers[answers["done"]]
    n_queries, n_done = answers["query"].nunique(), kept["query"].nunique()
    if not n_done:
        raise LookalikeError(f"{path} has no query that is done: leave it out or let {rater} go on rating")
    if n_done < n_queries:
        warnings.warn(
            f"{path}: {rater} has done {n_done} of {n_queries} queries; left out: {n_queries - n_done}", stacklevel=3
        )
    if not kept["answered"].any():
        raise LookalikeError(
            f"{path} holds no answer at all in what is done, only defaults: leave it out or let {rater} rate"
        )
    return kept


def _read_file(path: Path, plan: pd.DataFrame) -> pd.DataFrame:
    """Read one rater's answers: ``rater, query, position, answer, answered, done``, a row a candidate of the plan."""
    cells = read_cells(path, FILE_COLUMNS, what="file of ratings", exact=True).apply(lambda column: column.str.strip())
    answers = whole_numbers(cells, dict.fromkeys(PLACE, "int64"), path)
    truths = {name: answers[name].str.lower() for name in ("answered", "done")}
    answers = answers.assign(above=next(iter(answers["rater"]), "") or "somebody", **truths)
    answers["done_above"] = answers.groupby("query")["done"].transform("first")
    refuse(answers, [*_belonging(plan), *_SOUND], path)
    missing = pd.MultiIndex.from_frame(plan[PLACE]).difference(pd.MultiIndex.from_frame(answers[PLACE]))
    if len(missing):
        query, position = missing.min()
        raise LookalikeError(
            f"{path} ends at line {max(answers.index, default=1)} with {len(answers)} of {len(plan)} candidates "
            f"(candidate {position} of query {query} is missing): it is cut short, export it again"
        )
    return answers.assign(**{name: truth == "true" for name, truth in truths.items()})


def _belonging(plan: pd.DataFrame) -> list[Rule]:
    """Return the rules by which the rows of a file are of one rater and a plan."""
    fingerprint, places = plan_fingerprint(plan), pd.MultiIndex.from_frame(plan[PLACE])
    other_page = f"not to {fingerprint}: it was made with another page"
    two_raters = "the lines above by {above}: one file, one rater"
    return [
        filled(f"belongs to no plan, {other_page}", "plan"),
        one_of(f"belongs to {{plan}}, {other_page}", [fingerprint], "plan"),
        filled(f"is by nobody, {two_raters}", "rater"),
        same(f"is by {{rater}}, {two_raters}", "rater", "above"),
        Rule(
            "is candidate {position} of query {query}, which the plan does not have",
            tuple(PLACE),
            lambda cells: ~pd.MultiIndex.from_frame(cells).isin(places),
        ),
    ]


def simulated_panel(
    plan: pd.DataFrame, agreement: npt.NDArray[np.bool_], n_raters: int = RATERS_OF_NIPS, *, seed: int
) -> pd.DataFrame:
    """Simulate raters of a plan, ``simulated 01``, ``simulated 02``, ...; more raters change none of the first."""
    rng = generator(seed, "ratings", "panel")
    number_of_query, queries = pd.factorize(plan["query"])
    seen = agreement + rng.normal(0, PAIR, len(plan)) + rng.normal(0, QUERY, len(queries))[number_of_query]
    tables = []
    for number in range(1, n_raters + 1):
        noise, unsure = rng.uniform(*NOISE_RANGE), rng.uniform(*UNSURE_RANGE)
        threshold = rng.normal(THRESHOLD, STRICTNESS)
        distance = seen + rng.normal(0, noise, len(plan)) - threshold
        answer = np.where(distance > 0, "good", "not_good").astype(object)
        answer[np.abs(distance) < unsure] = "cant_say"
        answered = (answer != "not_good") | (rng.random(len(plan)) >= SKIPPED)
        tables.append(plan.assign(rater=f"simulated {number:02d}", answer=answer, answered=answered, simulated=True))
    panel = pd.concat(tables).sort_values(["rater", "query", "position"], kind="stable", ignore_index=True)
    return panel[list(COLUMNS)].astype({"answer": str, "answered": bool})


def same_class(plan: pd.DataFrame, manifest: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Tell whether each row's candidate has the class of its query image: bool, shape (rows of the plan,)."""
    label = manifest.set_index("image_id")["label"]
    return np.asarray(label.loc[plan["query_image"]].to_numpy() == label.loc[plan["image"]].to_numpy())
