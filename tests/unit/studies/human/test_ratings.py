"""Raters' files are read whole or refused with their line, and their numbers are those of a loop over candidates."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_human import LABEL_OF, draw

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.questionnaire import plan_fingerprint
from lookalike.studies.human.ratings import (
    ANSWERS,
    COLUMNS,
    FILE_COLUMNS,
    read_ratings,
    results_of,
    simulated_panel,
)


@pytest.fixture(scope="module")
def plan():
    return draw()


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
    assert (tuple(ratings.columns), ratings["rater"].unique().tolist()) == (COLUMNS, ["Ada", "Čapek"])
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
    twice = [write(tmp_path, lines_of(plan, rater), f"{rater}.csv") for rater in ("Ada", "ADA")]
    refused = {
        "there are no files of ratings": [],
        "ada.csv holds no answer in a query that is done": [write(tmp_path, untouched)],
        "bob.csv holds no answer in a query that is done": [write(tmp_path, lines_of(plan, "Bob", done=()), "bob.csv")],
        r"ADA.csv and .*Ada.csv are both of the rater": twice,
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


DEPTH = 3


def random_ratings(seed, n_raters, n_queries):
    """Ratings of three retrieved and two random images a query, in mixed places; the first rater does all queries."""
    rng, rows = np.random.default_rng(seed), []
    for query in range(1, n_queries + 1):
        places = rng.permutation(5) + 1
        for rater in range(n_raters):
            if rater and rng.random() < 0.3:
                continue
            for rank, position in enumerate(places, start=1):
                role = ("retrieved", rank) if rank <= DEPTH else ("random", 0)
                answer = ANSWERS[rng.integers(3)]
                key = (f"rater {rater}", query, 10 * query, position, 100 * query + rank, *role)
                rows.append((*key, answer, answer != "not_good" or rng.random() < 0.5, False))
    return pd.DataFrame(rows, columns=list(COLUMNS)).sample(frac=1, random_state=seed)


def by_loops(ratings):
    """By query, rater, method, metric and place: precisions, average precision, and the share of others who agree."""
    answers, found = {}, {}
    for row in ratings.itertuples():
        answers.setdefault((row.query, row.rater), {})[row.role, row.rank, row.position] = row.answer == "good"
    for (query, rater), own in answers.items():
        place, parts = (f"query={query}", rater), {"retrieved": [], "random": []}
        for (role, *_), good in sorted(own.items()):
            parts[role].append(good)
        precision = [np.mean(parts["retrieved"][:k]) for k in range(1, DEPTH + 1)]
        hits = [value for value, good in zip(precision, parts["retrieved"], strict=True) if good]
        others = [name for (same, other), name in answers.items() if same == query and other != rater]
        agreed = [np.mean([name[image] for name in others]) for image, good in own.items() if good and others]
        found |= {(*place, "oasis", "p@k", k): value for k, value in enumerate(precision, start=1)}
        found[*place, "oasis", "ap", 0] = np.mean(hits) if hits else 0.0
        found[*place, "raters", "precision", 0] = np.mean(agreed) if agreed else np.nan
        found[*place, "random", "precision", 0] = np.mean(parts["random"])
    return pd.Series(found).rename_axis(["setting", "repeat", "method", "metric", "x"])


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), n_raters=st.integers(1, 4), n_queries=st.integers(1, 3))
def test_every_number_is_that_of_a_loop(seed, n_raters, n_queries):
    ratings = random_ratings(seed, n_raters, n_queries)
    result, numbers = results_of(ratings).fillna({"x": 0}), by_loops(ratings)
    of_queries = result[result["setting"] != ""].set_index(numbers.index.names)["value"]
    assert of_queries.to_dict() == pytest.approx(numbers.to_dict(), nan_ok=True)
    curve = numbers.xs("p@k", level="metric").groupby("x").mean()
    average, human = numbers.xs("ap", level="metric"), numbers.xs("raters", level="method")
    is_random, is_good = ratings["role"] == "random", ratings["answer"] == "good"
    singles = {
        "n_raters": ratings["rater"].nunique(),
        "n_queries": n_queries,
        "precision_at_1": curve[1],
        f"precision_at_{DEPTH}": curve[DEPTH],
        "precision_peak": curve.max(),
        "precision_peak_k": curve.round(12).idxmax(),
        "map": average.mean(),
        "standard_deviation_over_queries": average.groupby("repeat").std().mean(),
        "standard_deviation_over_raters": average.groupby("setting").std().mean(),
        "human_precision": human.groupby("setting").mean().mean(),
        "random_good": is_good[is_random].mean(),
        "answered_share": ratings["answered"].mean(),
        "simulated": 0,
        "cant_say_share": (ratings["answer"] == "cant_say").mean(),
    }
    found = result[result["setting"] == ""].set_index("metric")["value"].to_dict()
    assert found == pytest.approx(singles, nan_ok=True)
    with pytest.raises(LookalikeError, match="no ratings of retrieved candidates"):
        results_of(ratings[is_random])


def test_a_simulated_panel_agrees_with_classes_but_not_always():
    plan = draw(n_queries=6)
    same, labels = plan["image"].map(LABEL_OF) == plan["query_image"].map(LABEL_OF), pd.Series(LABEL_OF)
    panel = simulated_panel(plan, labels, seed=0)
    assert (tuple(panel.columns), panel["simulated"].all()) == (COLUMNS, True)
    assert panel.groupby("rater").size().tolist() == [len(plan)] * 20
    of_class = panel.merge(plan.assign(same=same), on=["query", "position"])["same"].to_numpy()
    good = (panel["answer"] == "good").to_numpy()
    assert 0.6 < good[of_class].mean() < 1
    assert 0 < good[~of_class].mean() < 0.25
    # raters differ in strictness, and what was not answered is the default
    assert panel.assign(good=good).groupby("rater")["good"].mean().std() > 0.02
    assert 0 < (panel["answer"] == "cant_say").mean() < 0.1
    assert set(panel.loc[~panel["answered"], "answer"]) == {"not_good"}
    assert [panel.equals(simulated_panel(plan, labels, seed=seed)) for seed in (0, 2)] == [True, False]
