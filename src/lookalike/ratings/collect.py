"""Raters' CSV files to one table: every mistake in them found and told, with its file and line.

Reads what the page of `lookalike.ratings.page` exports; `lookalike.ratings.statistics` takes the table.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from lookalike.errors import LookalikeError
from lookalike.ratings.plan import plan_fingerprint

if TYPE_CHECKING:
    import pandas as pd

FILE_COLUMNS = ("plan", "rater", "query", "query_image", "position", "image", "answer", "answered")
"""Header of a rater's file."""

COLUMNS = ("rater", "query", "query_image", "position", "image", "role", "rank", "answer", "answered", "simulated")
"""Columns of the table of ratings."""

ANSWERS = ("good", "not_good", "cant_say")
_BOOLEANS = {"true": True, "false": False}

_Place = tuple[int, int]
_Shown = tuple[int, int, str, int]


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
        One row per rater and shown candidate, sorted by rater, query and position: ``rater``, ``query``,
        ``query_image``, ``position``, ``image``, ``role``, ``rank`` (as in the plan), ``answer`` ("good", "not_good",
        "cant_say"), ``answered`` (False where the rater left the default, which is "not_good"), ``simulated`` (False).

    Raises
    ------
    LookalikeError
        When there is no file, or one is cut short, of another plan, incomplete, without any answer, or by a rater who
        has another file there; the message names file and line.
    """
    import pandas as pd

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
        other = file_of.setdefault(rater.casefold(), path)
        if other != path:
            raise LookalikeError(
                f"{other} and {path} are both of the rater {rater}: keep one of them, or mend the name"
            )
        for (query, position), (answer, answered) in answers.items():
            query_image, image, role, rank = shown[query, position]
            rows.append((rater, query, query_image, position, image, role, rank, answer, answered, False))
    if not rows:
        raise LookalikeError("there are no files of ratings: put the CSV files that raters exported in place")
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.sort_values(["rater", "query", "position"], kind="stable", ignore_index=True)


def _read_file(path: Path, shown: dict[_Place, _Shown], fingerprint: str) -> tuple[str, dict[_Place, tuple[str, bool]]]:
    """One rater's name and answers, by (query, position)."""
    lines = _lines(path)
    _check_header(path, lines)
    rater = ""
    answers: dict[_Place, tuple[str, bool]] = {}
    for line, cells in lines[1:]:
        if len(cells) != len(FILE_COLUMNS):
            _refuse(path, line, f"has {len(cells)} of {len(FILE_COLUMNS)} values: the file is cut short or edited")
        plan, name, *numbers, answer, answered = (cell.strip() for cell in cells)
        if plan != fingerprint:
            _refuse(path, line, f"belongs to {plan or 'no plan'}, not to {fingerprint}: it was made with another page")
        if not name or (rater and name != rater):
            _refuse(
                path, line, f"is by {name or 'nobody'}, the lines above by {rater or 'somebody'}: one file, one rater"
            )
        rater = name
        place = _check_place(path, line, numbers, shown)
        if place in answers:
            _refuse(path, line, f"rates candidate {place[1]} of query {place[0]} a second time")
        if answer not in ANSWERS:
            _refuse(path, line, f"has the answer {answer!r}, which is none of {', '.join(ANSWERS)}")
        if answered.lower() not in _BOOLEANS:
            _refuse(path, line, f"says {answered!r} under answered, which is neither true nor false")
        if answer != "not_good" and not _BOOLEANS[answered.lower()]:
            _refuse(path, line, f"has the answer {answer}, but says that it was not answered")
        answers[place] = answer, _BOOLEANS[answered.lower()]
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


def _check_place(path: Path, line: int, numbers: list[str], shown: dict[_Place, _Shown]) -> _Place:
    """Query and position of a line, which must show what the plan shows there."""
    try:
        query, query_image, position, image = (int(number) for number in numbers)
    except ValueError:
        _refuse(path, line, "has something else than a number under query, query_image, position or image")
    expected = shown.get((query, position))
    if expected is None or expected[:2] != (query_image, image):
        _refuse(path, line, f"is image {image} as candidate {position} of query {query}, which the plan does not show")
    return query, position


def _check_complete(
    path: Path, last: int, answers: dict[_Place, tuple[str, bool]], shown: dict[_Place, _Shown]
) -> None:
    """Every candidate of the plan must be there, and one at least answered."""
    if len(answers) < len(shown):
        query, position = min(shown.keys() - answers.keys())
        raise LookalikeError(
            f"{path} ends at line {last} with {len(answers)} of {len(shown)} candidates (candidate {position} of query "
            f"{query} is missing): it is cut short, export it again"
        )
    if not any(answered for _, answered in answers.values()):
        raise LookalikeError(f"{path} holds no answer at all, only defaults: leave it out or let the rater rate")


def _refuse(path: Path, line: int, reason: str) -> NoReturn:
    """One sentence with file and line."""
    raise LookalikeError(f"{path}, line {line} {reason}")
