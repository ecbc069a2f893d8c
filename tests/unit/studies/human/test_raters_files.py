"""Raters' files: read whole, or refused with file and line."""

import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.questionnaire import plan_fingerprint
from lookalike.studies.human.ratings import COLUMNS, FILE_COLUMNS, read_ratings


def lines_of(plan, rater="Ada", good=(0, 5), done=(1, 2, 3)):
    """The page's export, `good` and the candidate after them answered, the queries `done` done."""
    lines = [",".join(FILE_COLUMNS)]
    for number, row in enumerate(plan.itertuples()):
        answer = "good" if number in good else "cant_say" if number - 1 in good else "not_good"
        answered = "true" if answer != "not_good" or number == 3 else "false"
        seen = str(row.query in done).lower()
        lines.append(f"{plan_fingerprint(plan)},{rater},{row.query},{row.position},{answer},{answered},{seen}")
    return lines


def write(folder, lines, name="ada.csv", encoding="utf-8"):
    # with the line ends of a spreadsheet
    (folder / name).write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding))
    return folder / name


def test_ratings_are_read_with_their_roles(tmp_path, plan):
    other = write(tmp_path, lines_of(plan, "Čapek", good=(2,)), "b.csv")
    ratings = read_ratings([other, write(tmp_path, lines_of(plan), "a.csv", "utf-8-sig")], plan)
    assert tuple(ratings.columns) == COLUMNS
    assert ratings["rater"].unique().tolist() == ["Ada", "Čapek"]
    ada = ratings[ratings["rater"] == "Ada"].reset_index(drop=True)
    drawn = ["query", "query_image", "position", "image", "role", "rank"]
    pd.testing.assert_frame_equal(ada[drawn], plan[drawn], check_dtype=False)
    rows = {name: rows.index.tolist() for name, rows in ada.groupby("answer")}
    assert (rows["good"], rows["cant_say"], ada.index[ada["answered"]].tolist()) == ([0, 5], [1, 6], [0, 1, 3, 5, 6])
    assert (ratings["answered"].dtype, ratings["simulated"].any()) == (bool, False)


def replaced(line, old, new):
    """Change one line, counted as an editor does."""

    def spoil(lines):
        assert old in lines[line - 1]
        return [*lines[: line - 1], lines[line - 1].replace(old, new, 1), *lines[line:]]

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (replaced(4, "plan-", "plan-0"), "line 4 belongs to plan-0.*go back to the settings of its page"),
        (replaced(3, "cant_say", "perhaps"), "line 3 has the answer 'perhaps', which is none of"),
        (replaced(3, "true", "yes"), "line 3 has 'yes' and 'true' where true or false stands"),
        (replaced(5, "Ada", "Bob"), "line 5 is by Bob, the lines above by Ada"),
        (replaced(2, "Ada", ""), "line 2 names no rater"),
        (replaced(2, "Ada,1,", "Ada,1.5,"), "line 2 has '1.5' under query, which is no whole number"),
        (replaced(2, "Ada,1,", "Ada,99,"), "line 2 is candidate 1 of query 99, which the plan does not have"),
        (replaced(4, "false,true", "false,false"), "line 4 says false under done, the lines above of query 1 do not"),
        (lambda lines: [*lines, lines[4]], "line 26 rates candidate 4 of query 1 a second time"),
        (lambda lines: lines[:10], "has 9 of 24 candidates: it is cut short"),
        (lambda lines: lines[:1], "has 0 of 24"),
    ],
)
def test_a_spoilt_file_is_told_with_file_and_line(tmp_path, plan, spoil, message):
    path = write(tmp_path, spoil(lines_of(plan)))
    with pytest.raises(LookalikeError, match=message) as caught:
        read_ratings([path], plan)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_are_no_ratings_are_refused(tmp_path, plan):
    untouched = [line.replace("good,true", "good,false") for line in lines_of(plan, good=())]
    refused = {
        "there are no files of ratings": [],
        "ada.csv holds no answer in a query that is done": [write(tmp_path, untouched)],
        "bob.csv holds no answer in a query that is done": [write(tmp_path, lines_of(plan, "Bob", done=()), "bob.csv")],
        r"ADA.csv and .*Ada.csv are both of the rater": [
            write(tmp_path, lines_of(plan, rater), f"{rater}.csv") for rater in ("Ada", "ADA")
        ],
    }
    for message, files in refused.items():
        with pytest.raises(LookalikeError, match=message):
            read_ratings(files, plan)


def test_queries_that_are_not_done_are_left_out(tmp_path, plan):
    bob = write(tmp_path, lines_of(plan, "Bob", good=(0, 9), done=(1, 3)), "bob.csv")
    with pytest.warns(UserWarning, match=r"bob.csv: Bob has done 2 of 3 queries; others are left out") as text:
        ratings = read_ratings([write(tmp_path, lines_of(plan)), bob], plan)
    assert len(text) == 1
    assert ratings.groupby("rater")["query"].unique().map(list).to_dict() == {"Ada": [1, 2, 3], "Bob": [1, 3]}
