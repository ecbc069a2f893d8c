from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from lookalike.errors import LookalikeError
from lookalike.ratings.collect import COLUMNS, FILE_COLUMNS, read_ratings
from lookalike.ratings.plan import plan_fingerprint


def lines_of(plan: pd.DataFrame, rater: str = "Ada", good: tuple[int, ...] = (0, 5)) -> list[str]:
    """The page's export, `good` and the candidate after them answered."""
    lines = [",".join(FILE_COLUMNS)]
    for number, row in enumerate(plan.itertuples()):
        answer = "good" if number in good else "cant_say" if number - 1 in good else "not_good"
        answered = "true" if answer != "not_good" or number == 3 else "false"
        shown = f"{row.query},{row.query_image},{row.position},{row.image}"
        lines.append(f"{plan_fingerprint(plan)},{rater},{shown},{answer},{answered}")
    return lines


def write(folder: Path, lines: list[str], name: str = "ada.csv", ending: str = "\n", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes((ending.join(lines) + ending).encode(encoding))
    return path


def test_ratings_are_read_with_their_roles(tmp_path: Path, plan: pd.DataFrame) -> None:
    files = [
        write(tmp_path, lines_of(plan, "Čapek", good=(2,)), "b.csv"),
        write(tmp_path, lines_of(plan), "a.csv", "\r\n", "utf-8-sig"),  # as a spreadsheet saves it
    ]
    ratings = read_ratings(files, plan)
    assert tuple(ratings.columns) == COLUMNS
    assert ratings["rater"].unique().tolist() == ["Ada", "Čapek"]
    ada = ratings[ratings["rater"] == "Ada"].reset_index(drop=True)
    shown = ["query", "query_image", "position", "image", "role", "rank"]
    pd.testing.assert_frame_equal(ada[shown], plan[shown], check_dtype=False)
    assert ada.index[ada["answer"] == "good"].tolist() == [0, 5]
    assert ada.index[ada["answer"] == "cant_say"].tolist() == [1, 6]
    assert ada.index[ada["answered"]].tolist() == [0, 1, 3, 5, 6]
    assert ratings["answered"].dtype == bool
    assert not ratings["simulated"].any()


Spoil = Callable[[list[str]], list[str]]


def replaced(line: int, old: str, new: str) -> Spoil:
    """Change one line, counted as an editor does."""

    def spoil(lines: list[str]) -> list[str]:
        assert old in lines[line - 1]
        return [*lines[: line - 1], lines[line - 1].replace(old, new, 1), *lines[line:]]

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (replaced(1, "answer,", "rating,"), "line 1 is not the header"),
        (lambda lines: [line.replace(",", ";") for line in lines], "line 1 is not the header"),
        (replaced(4, "plan-", "plan-0"), "line 4 belongs to plan-0.*made with another page"),
        (replaced(3, "cant_say", "perhaps"), "line 3 has the answer 'perhaps', which is none of"),
        (replaced(3, "true", "yes"), "line 3 says 'yes' under answered"),
        (replaced(2, "true", "false"), "line 2 has the answer good, but says that it was not answered"),
        (replaced(5, "Ada", "Bob"), "line 5 is by Bob, the lines above by Ada"),
        (replaced(2, "Ada", ""), "line 2 is by nobody"),
        (replaced(2, ",1,", ",one,"), "line 2 has something else than a number"),
        (replaced(2, "Ada,1,", "Ada,99,"), "line 2 is image .* of query 99, which the plan does not show"),
        (lambda lines: [*lines, lines[4]], "line 26 rates candidate 4 of query 1 a second time"),
        (lambda lines: lines[:10], r"ends at line 10 with 9 of 24 candidates \(candidate 2 of query 2 is missing\)"),
        (lambda lines: [*lines[:10], lines[10][:30]], "line 11 has . of 8 values: the file is cut short"),
        (replaced(2, "Ada", '"Ada'), "line .* is no CSV"),
        (lambda lines: lines[:1], "ends at line 1 with 0 of 24"),
    ],
)
def test_a_spoilt_file_is_told_with_file_and_line(
    tmp_path: Path, plan: pd.DataFrame, spoil: Spoil, message: str
) -> None:
    path = write(tmp_path, spoil(lines_of(plan)))
    with pytest.raises(LookalikeError, match=message) as caught:
        read_ratings([path], plan)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_are_no_ratings_are_refused(tmp_path: Path, plan: pd.DataFrame) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "latin.csv").write_bytes("\n".join(lines_of(plan, "Zoé")).encode("latin-1"))
    with pytest.raises(LookalikeError, match="is empty: export"):
        read_ratings([tmp_path / "empty.csv"], plan)
    with pytest.raises(LookalikeError, match="not text in UTF-8"):
        read_ratings([tmp_path / "latin.csv"], plan)
    with pytest.raises(LookalikeError, match="there is no file of ratings"):
        read_ratings([tmp_path / "none.csv"], plan)
    with pytest.raises(LookalikeError, match="cannot be read"):
        read_ratings([tmp_path], plan)
    with pytest.raises(LookalikeError, match="there are no files of ratings"):
        read_ratings([], plan)
    untouched = [line.replace("good,true", "good,false") for line in lines_of(plan, good=())]
    with pytest.raises(LookalikeError, match="no answer at all"):
        read_ratings([write(tmp_path, untouched)], plan)


def test_two_files_of_one_rater_are_refused_with_both_names(tmp_path: Path, plan: pd.DataFrame) -> None:
    files = [write(tmp_path, lines_of(plan, rater), f"{rater}.csv") for rater in ("Ada", "ADA")]
    with pytest.raises(LookalikeError, match=r"ADA.csv and .*Ada.csv are both of the rater"):
        read_ratings(files, plan)
