from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_plans import IDS, LABELS, PATHS, draw, neighbours_of

from lookalike.core.errors import LookalikeError
from lookalike.ranking.rankings import Rankings
from lookalike.studies.human.questionnaire import (
    COLUMNS,
    plan_fingerprint,
    plan_from_neighbours,
    plan_of_run,
    read_plan,
    write_plan,
)

LABEL_OF = dict(zip(IDS.tolist(), LABELS.tolist(), strict=True))
PATH_OF = dict(zip(IDS.tolist(), PATHS, strict=True))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_every_query_has_its_neighbours_and_unrelated_images(seed: int) -> None:
    plan = draw(seed)
    assert tuple(plan.columns) == COLUMNS
    neighbours = dict(zip(IDS[:6].tolist(), neighbours_of(IDS[:6]).tolist(), strict=True))
    assert plan["query"].unique().tolist() == [1, 2, 3]
    for _, rows in plan.groupby("query"):
        (query,) = rows["query_image"].unique()
        assert rows["position"].tolist() == list(range(1, 9))
        retrieved = rows[rows["role"] == "retrieved"].sort_values("rank")
        assert retrieved["image"].tolist() == neighbours[query]
        assert retrieved["rank"].tolist() == [1, 2, 3, 4]
        random = rows[rows["role"] == "random"]
        assert (random["rank"] == 0).all()
        assert all(LABEL_OF[image] != LABEL_OF[query] for image in random["image"])
        assert rows["image"].is_unique
        assert query not in set(rows["image"])
        assert rows["path"].tolist() == [PATH_OF[image] for image in rows["image"]]
        assert set(rows["query_path"]) == {PATH_OF[query]}


def test_the_most_relevant_come_first_and_a_draw_decides_between_equal_ones() -> None:
    relevance = dict(zip(IDS[:6].tolist(), [1.0, 5.0, 3.0, 5.0, 0.0, 2.0], strict=True))
    firsts = set()
    for seed in range(12):
        shown = draw(seed, relevance=relevance).drop_duplicates("query")["query_image"].tolist()
        assert set(shown[:2]) == {101, 103}
        assert shown[2] == 102
        firsts.add(shown[0])
    assert firsts == {101, 103}


def test_the_same_seed_draws_the_same_plan_and_candidates_are_mixed() -> None:
    pd.testing.assert_frame_equal(draw(3), draw(3))
    assert not draw(3).equals(draw(4))
    roles = draw(0, n_queries=6).groupby("query")["role"].agg(" ".join)
    assert roles.nunique() > 1


def test_fewer_queries_than_asked_are_all_taken_and_it_is_said() -> None:
    with pytest.warns(UserWarning, match="only 6 test images can be query images of the rating, not 25"):
        assert draw(n_queries=25)["query"].nunique() == 6


def test_a_query_with_duplicates_among_its_neighbours_is_left_out() -> None:
    contents = {image: str(image) for image in IDS.tolist()}
    first, second = neighbours_of(IDS[:6])[2, :2].tolist()
    with pytest.warns(UserWarning, match="only"):
        shown = draw(n_queries=6, contents=contents | {first: contents[second]})["query_image"].unique()
    assert 102 not in shown
    of_query = contents | {100: contents[neighbours_of(IDS[:6])[0, 1].item()]}
    with pytest.warns(UserWarning, match="only"):
        assert 100 not in draw(n_queries=6, contents=of_query)["query_image"].unique()


def test_a_picture_that_is_shown_is_not_drawn_again_under_another_id() -> None:
    # every tree has the picture of the first neighbour of the query, every house the same one
    contents = ["tree" if number >= 9 and number < 16 else str(number) for number in range(16)] + ["house"] * 8
    arguments = {"neighbours": {102: [100, 101, 108, 109]}, "n_queries": 1,
                 "contents": dict(zip(IDS.tolist(), contents, strict=True))}  # fmt: skip
    plan = draw(n_random=1, **arguments)
    random = plan[plan["role"] == "random"]["image"].tolist()
    assert random == [116], "the first house: trees are shown already"
    with pytest.raises(LookalikeError, match="only 1 images are unrelated"):
        draw(n_random=2, **arguments)


def test_a_plan_of_a_run_relates_images_of_one_class() -> None:
    ids = np.array([7, 9, 4, 5])
    manifest = pd.DataFrame({"image_id": [4, 5, 7, 9], "path": list("abcd"), "label": ["x", "x", "y", "x"],
                             "sha256": list("wxyz")})  # fmt: skip
    bare = Rankings(np.arange(5), np.ones(4), 3, ids)
    run = {"seed": 0, "n_queries": 3, "n_retrieved": 1, "n_random": 1}
    with pytest.raises(LookalikeError, match="OASIS has no result that could be rated"):
        plan_of_run(bare, manifest, **run)
    found = replace(bare, neighbours=np.array([[1], [2], [3], [1]]))
    plan = plan_of_run(found, manifest, **run)
    assert set(plan["query_image"]) == {4, 5, 9}, "those of the larger class come first"
    retrieved = plan[plan["role"] == "retrieved"].set_index("query_image")["image"]
    assert retrieved.to_dict() == {9: 4, 4: 5, 5: 9}
    assert set(plan.loc[plan["role"] == "random", "image"]) == {7}
    with pytest.raises(LookalikeError, match="has 1 neighbours of each of its 4 test images, and 10 are to be shown"):
        plan_of_run(found, manifest, **{**run, "n_retrieved": 10})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": ["first", 2, 3]}, "the rank 'first' of a for q is no number"),
        ({"rank": [1, None, 3]}, "the rank 'nan' of b for q is no number"),
        ({"rank": [1, 2, 2]}, "q has the rank 2 twice"),
        ({"path": ["a", "b", "a"]}, "q has the neighbour a twice"),
    ],
)
def test_ranks_that_leave_the_order_open_are_refused(change: dict[str, list[object]], message: str) -> None:
    table = pd.DataFrame({"query_path": "q", "path": ["a", "b", "c"], "rank": [1, 2, 3]}).assign(**change)
    with pytest.raises(LookalikeError, match=message):
        plan_from_neighbours(table, n_queries=1, n_retrieved=2, n_random=1)


def test_ranks_are_numbers_even_where_they_were_read_as_text() -> None:
    rows = [("q", f"i{rank:02d}", str(rank)) for rank in range(1, 13)]
    table = pd.DataFrame([*rows, rows[0]], columns=["query_path", "path", "rank"])
    plan = plan_from_neighbours(table, n_queries=1, n_retrieved=3, n_random=0)
    assert plan.sort_values("rank")["path"].tolist() == ["i01", "i02", "i03"]


def test_too_few_unrelated_images_is_an_error_that_names_the_query() -> None:
    with pytest.raises(LookalikeError, match=r"only \d+ images are unrelated to \w+/\d+.png, and 17 are shown"):
        draw(n_random=17)
    with pytest.raises(LookalikeError, match="no test image to ask raters about"):
        draw(contents=dict.fromkeys(IDS.tolist(), "same"))


def test_a_plan_is_read_as_written(tmp_path: Path, plan: pd.DataFrame) -> None:
    write_plan(plan, tmp_path / "plan.csv")
    back = read_plan(tmp_path / "plan.csv")
    pd.testing.assert_frame_equal(back, plan, check_dtype=False)
    assert plan_fingerprint(back) == plan_fingerprint(plan)
    assert plan_fingerprint(plan).startswith("plan-")


def test_any_change_of_a_plan_changes_its_fingerprint(plan: pd.DataFrame) -> None:
    for column in COLUMNS:
        changed = plan.copy()
        changed.loc[3, column] += 1 if plan[column].dtype == "int64" else "x"
        assert plan_fingerprint(changed) != plan_fingerprint(plan)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "is no plan of ratings: it has no column query"),
        (",".join(COLUMNS) + "\n", "without queries"),
        (",".join(COLUMNS) + "\n1,x,a,1,2,b,random,0\n", "is no plan of ratings"),
        (",".join(COLUMNS) + "\n1,1,a,1,2,b,chance,0\n", "unknown role"),
        ("", "cannot be read as a plan"),
    ],
)
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "plan.csv").write_text(text)
    with pytest.raises(LookalikeError, match=message):
        read_plan(tmp_path / "plan.csv")
    with pytest.raises(LookalikeError, match="there is no plan"):
        read_plan(tmp_path / "other.csv")


def test_a_plan_from_a_users_own_neighbours() -> None:
    rows = [(f"q{query}", f"i{query}{rank}", rank) for query in range(4) for rank in (3, 1, 2)]
    table = pd.DataFrame(rows, columns=["query_path", "path", "rank"])
    plan = plan_from_neighbours(table, n_queries=2, n_retrieved=2, n_random=5)
    for query, rows_of in plan.groupby("query_path"):
        number = str(query)[1:]
        shown = rows_of[rows_of["rank"] > 0].sort_values("rank")["path"].tolist()
        assert shown == [f"i{number}1", f"i{number}2"]
        # the third neighbour is related, although it is not shown
        assert f"i{number}3" not in set(rows_of["path"])
        assert len(rows_of) == 7
    with pytest.raises(LookalikeError, match="q0 has 3 neighbours other than itself, and 4 are shown"):
        plan_from_neighbours(table, n_retrieved=4)
    with pytest.raises(LookalikeError, match="has no column rank"):
        plan_from_neighbours(table.drop(columns="rank"))
