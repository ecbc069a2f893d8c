"""Raters' CSV files to one table: every mistake in them found and told, with its file and line.

Reads what the page of `lookalike.studies.human.page` exports; `lookalike.studies.human.statistics` takes the table.
"""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, NoReturn

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.questionnaire import plan_fingerprint

FILE_COLUMNS = ("plan", "rater", "query", "position", "answer", "answered", "done")
"""Header of a rater's file: query and position say which image it is, by the plan; ``done`` is of the whole query."""

COLUMNS = ("rater", "query", "query_image", "position", "image", "role", "rank", "answer", "answered", "simulated")
"""Columns of the table of ratings."""

ANSWERS = ("good", "not_good", "cant_say")
_BOOLEANS = {"true": True, "false": False}

_Place = tuple[int, int]
_Shown = tuple[int, int, str, int]


class _Answer(NamedTuple):
    """What one line of a file says."""

    answer: str
    answered: bool
    done: bool


def read_ratings(paths: Iterable[str | os.PathLike[str]], plan: pd.DataFrame) -> pd.DataFrame:
    """Read any number of raters' files.

    Parameters
    ----------
    paths : iterable of path-like
        CSV files that the rating page exported, one per rater.
    plan : DataFrame
        The plan that they rated.

    Returns
    -------
    DataFrame
        One row per rater and candidate of a query that this rater has done, sorted by rater, query and position:
        raters may have done different queries. Columns ``rater``, ``query``, ``query_image``, ``position``, ``image``,
        ``role``, ``rank`` (as in the plan), ``answer`` ("good", "not_good", "cant_say"), ``answered`` (False where the
        rater left the default, which is "not_good"), ``simulated`` (False).

    Raises
    ------
    LookalikeError
        When there is no file, or one is cut short, of another plan, incomplete, without any done query or any answer,
        or by a rater who has another file there; the message names file and line.

    Warns
    -----
    UserWarning
        When a rater has not done all queries: those left are no ratings, as the rater may never have seen them.
    """
    shown: dict[_Place, _Shown] = {
        (int(query), int(position)): (int(query_image), int(image), str(role), int(rank))
        for query, position, query_image, image, role, rank in zip(
            plan["query"], plan["position"], plan["query_image"], plan["image"], plan["role"], plan["rank"], strict=True
        )
    }
    fingerprint = plan_fingerprint(plan)
    file_of: dict[str, Path] = {}
    rows = []
    for path in sorted(Path(path) for path in paths):
        rater, answers = _read_file(path, shown, fingerprint)
        if rater.casefold() in file_of:
            other = file_of[rater.casefold()]
            raise LookalikeError(
                f"{other} and {path} are both of the rater {rater}: keep one of them, or mend the name"
            )
        file_of[rater.casefold()] = path
        for (query, position), (answer, answered, _) in _of_done_queries(path, rater, answers).items():
            query_image, image, role, rank = shown[query, position]
            rows.append((rater, query, query_image, position, image, role, rank, answer, answered, False))
    if not rows:
        raise LookalikeError("there are no files of ratings: put the CSV files that raters exported in place")
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.sort_values(["rater", "query", "position"], kind="stable", ignore_index=True)


def refuse_answers_to_other_plans(folder: str | os.PathLike[str], plan: pd.DataFrame) -> None:
    """Refuse a new plan while raters' files answer another one, which would be worthless without that other plan.

    Parameters
    ----------
    folder : path-like
        Where raters' files are put; it need not exist.
    plan : DataFrame
        The new plan.

    Raises
    ------
    LookalikeError
        When a CSV file in the folder names another plan, or cannot be read at all.
    """
    fingerprint = plan_fingerprint(plan)
    for path in sorted(Path(folder).glob("*.csv")):
        for _, cells in _lines(path)[1:]:
            answered = cells[0].strip()
            if answered.startswith("plan-") and answered != fingerprint:
                raise LookalikeError(
                    f"{path} answers {answered}, but the plan would now be {fingerprint}: go back to the settings and "
                    f"images that it was made with, or move the raters' files out of {folder} and let them rate anew"
                )


def _of_done_queries(path: Path, rater: str, answers: dict[_Place, _Answer]) -> dict[_Place, _Answer]:
    """Answers to the queries that a rater has done; how many others there are is said."""
    queries = {query for query, _ in answers}
    done = {query for (query, _), one in answers.items() if one.done}
    if not done:
        raise LookalikeError(f"{path} has no query that is done: leave it out or let {rater} go on rating")
    if len(done) < len(queries):
        warnings.warn(
            f"{path}: {rater} has done {len(done)} of {len(queries)} queries; left out: {len(queries) - len(done)}",
            stacklevel=3,
        )
    kept = {place: one for place, one in answers.items() if place[0] in done}
    if not any(one.answered for one in kept.values()):
        raise LookalikeError(
            f"{path} holds no answer at all in what is done, only defaults: leave it out or let {rater} rate"
        )
    return kept


def _read_file(path: Path, shown: dict[_Place, _Shown], fingerprint: str) -> tuple[str, dict[_Place, _Answer]]:
    """One rater's name and answers, by (query, position)."""
    lines = _lines(path)
    _check_header(path, lines)
    rater = ""
    answers: dict[_Place, _Answer] = {}
    done_of: dict[int, bool] = {}
    for line, cells in lines[1:]:
        if len(cells) != len(FILE_COLUMNS):
            _refuse(path, line, f"has {len(cells)} of {len(FILE_COLUMNS)} values: the file is cut short or edited")
        plan, name, query, position, answer, answered, done = (cell.strip() for cell in cells)
        if plan != fingerprint:
            _refuse(path, line, f"belongs to {plan or 'no plan'}, not to {fingerprint}: it was made with another page")
        if not name or (rater and name != rater):
            _refuse(
                path, line, f"is by {name or 'nobody'}, the lines above by {rater or 'somebody'}: one file, one rater"
            )
        rater = name
        place = _check_place(path, line, query, position, shown)
        if place in answers:
            _refuse(path, line, f"rates candidate {place[1]} of query {place[0]} a second time")
        if answer not in ANSWERS:
            _refuse(path, line, f"has the answer {answer!r}, which is none of {', '.join(ANSWERS)}")
        for column, text in (("answered", answered), ("done", done)):
            if text.lower() not in _BOOLEANS:
                _refuse(path, line, f"says {text!r} under {column}, which is neither true nor false")
        if answer != "not_good" and not _BOOLEANS[answered.lower()]:
            _refuse(path, line, f"has the answer {answer}, but says that it was not answered")
        answers[place] = _Answer(answer, _BOOLEANS[answered.lower()], _BOOLEANS[done.lower()])
        if done_of.setdefault(place[0], answers[place].done) != answers[place].done:
            _refuse(path, line, f"says {done} under done, the lines above of query {place[0]} do not: mend one of them")
    _check_complete(path, lines[-1][0], answers, shown)
    return rater, answers


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Rows of a CSV file with their line numbers; empty lines, which editors add, are passed over."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            try:
                rows = [(reader.line_num, cells) for cells in reader if cells]
            except csv.Error as error:
                _refuse(path, reader.line_num, f"is no CSV ({error}): the file is cut short or damaged")
    except IsADirectoryError:
        raise LookalikeError(f"{path} is a folder: name the CSV files in it") from None
    except FileNotFoundError:
        raise LookalikeError(f"there is no file of ratings {path}: check the name") from None
    except UnicodeDecodeError:
        raise LookalikeError(f"{path} is not text in UTF-8: export it again from the rating page") from None
    except OSError as error:
        raise LookalikeError(f"{path} cannot be read: {os.strerror(error.errno or 0)}; mend its permissions") from error
    if not rows:
        raise LookalikeError(f"{path} is empty: export the ratings again from the page")
    return rows


def _check_header(path: Path, lines: list[tuple[int, list[str]]]) -> None:
    """The first line must be that of the page's export."""
    line, header = lines[0]
    if [cell.strip() for cell in header] != list(FILE_COLUMNS):
        _refuse(path, line, f"is not the header {','.join(FILE_COLUMNS)}: use a file as the rating page exports it")


def _check_place(path: Path, line: int, query: str, position: str, shown: dict[_Place, _Shown]) -> _Place:
    """Query and position of a line, which must be in the plan."""
    try:
        place = int(query), int(position)
    except ValueError:
        _refuse(path, line, "has something else than a number under query or position")
    if place not in shown:
        _refuse(path, line, f"is candidate {place[1]} of query {place[0]}, which the plan does not have")
    return place


def _check_complete(path: Path, last: int, answers: dict[_Place, _Answer], shown: dict[_Place, _Shown]) -> None:
    """Every candidate of the plan must be there, those of queries that are not done too."""
    if len(answers) < len(shown):
        query, position = min(shown.keys() - answers.keys())
        raise LookalikeError(
            f"{path} ends at line {last} with {len(answers)} of {len(shown)} candidates (candidate {position} of query "
            f"{query} is missing): it is cut short, export it again"
        )


def _refuse(path: Path, line: int, reason: str) -> NoReturn:
    """One sentence with file and line."""
    raise LookalikeError(f"{path}, line {line} {reason}")
