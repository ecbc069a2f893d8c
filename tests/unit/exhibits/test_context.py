"""What an exhibit knows of its study before and after a run, and which subsets may be held against print."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from lookalike.exhibits.context import study_context

FOLDERS = [f"{number:03d}.class" for number in range(10)]
FLAGS = ("at_grid_edge", "at_last_step", "traced_stop_at_last_step")


@pytest.fixture
def study() -> dict[str, Any]:
    """As the papers have it: `ten` is published, `rest` is a subset of the user's own."""
    ten = {"title": "Ten", "classes": "published", "n_classes": 10, "published_classes": FOLDERS}
    return {
        "dataset": "caltech256",
        "title": "Caltech-256",
        "kind": "caltech256",
        "not_run": "",
        "representation": "words1000",
        "representation_settings": {"words": 1000, "hellinger": False},
        "splits": {"folds": 5, "train": 40, "test": 25, "validation": 8},
        "subsets": {
            "ten": ten | {"printed": {"oasis-jmlr-2010": "classes=10"}},
            "rest": {"classes": "all", "n_classes": 0, "published_classes": []},
        },
        "methods": {"euclidean": "Euclidean", "oasis": "OASIS"},
    }


@pytest.fixture
def fits() -> pd.DataFrame:
    rows = [
        (
            *(subset, method, representation, fold, 10 if subset == "ten" else 3, 5_000, steps + fold),
            *(fold == 1, fold == 0, True),
        )
        for subset in ("ten", "rest")
        for representation, steps in (("words1000", 100), ("words500", 7))
        for method in ("euclidean", "oasis")
        for fold in (1, 0)
    ]
    columns = ["subset", "method", "representation", "fold", "n_classes", "n_steps"]
    table = pd.DataFrame(rows, columns=[*columns, "stop_at_traced_aggressiveness", *FLAGS])
    table.loc[table["method"] == "euclidean", ["n_steps", "stop_at_traced_aggressiveness"]] = None
    return table


def reasons(study: dict[str, Any], fits: pd.DataFrame | None) -> list[str]:
    return [subset.why_not_comparable for subset in study_context(study, fits).subsets]


def test_after_a_run_classes_and_stops_come_from_the_fits(study: dict[str, Any], fits: pd.DataFrame) -> None:
    context = study_context(study, fits)
    assert [subset.n_classes for subset in context.subsets] == [10, 3]
    assert context.selected_steps == {"ten": (100, 101), "rest": (100, 101)}
    assert {context.at_grid_edge[subset, "oasis"] for subset in ("ten", "rest")} == {(False, True)}
    assert {context.at_last_step[subset, "oasis"] for subset in ("ten", "rest")} == {(True, False)}
    assert context.traced_stop_at_last_step == {"ten": (True, True), "rest": (True, True)}
    assert [subset.title for subset in context.subsets] == ["Ten", "rest"]
    assert context.methods == ("euclidean", "oasis")
    assert context.traced_aggressiveness == 0.1


def test_a_fold_without_a_stop_at_the_traced_aggressiveness_counts_not(
    study: dict[str, Any], fits: pd.DataFrame
) -> None:
    fits.loc[fits["fold"] == 0, "stop_at_traced_aggressiveness"] = None
    context = study_context(study, fits)
    assert context.selected_steps["ten"] == (101,)
    assert context.traced_stop_at_last_step["ten"] == (True,)
    assert context.traced_stop_sentence == "In 2 of 2 folds the validation stop at C = 0.1 is the last traced step."


def test_a_study_without_oasis_has_no_stops(study: dict[str, Any], fits: pd.DataFrame) -> None:
    alone = fits[fits["method"] == "euclidean"].assign(at_grid_edge=False, at_last_step=False)
    for table in (alone, alone.drop(columns=["stop_at_traced_aggressiveness", *FLAGS])):
        context = study_context(study | {"methods": {"euclidean": "Euclidean"}}, table)
        assert context.selected_steps == {"ten": (), "rest": ()}
        assert context.selection_sentence == context.traced_stop_sentence == ""


def test_the_sentence_about_selections_has_only_parts_that_are_not_zero(
    study: dict[str, Any], fits: pd.DataFrame
) -> None:
    study = study | {"methods": {"oasis": "OASIS"}}
    begin, grid, last = (
        "Selection ended at an end of what was tried: OASIS: ",
        "the end of the grid",
        "the last traced step",
    )
    for changes, sentence in (
        ({}, f"{begin}in 2 of 4 folds {grid}, in 2 {last}."),
        ({"at_last_step": False}, f"{begin}in 2 of 4 folds {grid}."),
        ({"at_grid_edge": False, "at_last_step": True}, f"{begin}in 4 of 4 folds {last}."),
        ({"at_grid_edge": False, "at_last_step": False}, ""),
    ):
        assert study_context(study, fits.assign(**changes)).selection_sentence == sentence
    none = fits.assign(traced_stop_at_last_step=False)
    assert study_context(study, none).traced_stop_sentence == ""
    assert study_context(study | {"not_run": "put X at Y"}, fits).selection_sentence == ""


def test_the_sentence_about_selections_names_every_method(study: dict[str, Any], fits: pd.DataFrame) -> None:
    fits = fits.assign(at_last_step=False)
    fits.loc[(fits["method"] == "euclidean") & (fits["subset"] == "ten"), "at_grid_edge"] = False
    sentence = study_context(study, fits).selection_sentence
    assert sentence == (
        "Selection ended at an end of what was tried: Euclidean: in 1 of 4 folds the end of the grid; "
        "OASIS: in 2 of 4 folds the end of the grid."
    )
    assert "OASIS" not in study_context(study, fits).selection_of(["euclidean"])


def test_learners_that_stopped_at_their_limit_are_counted(study: dict[str, Any], fits: pd.DataFrame) -> None:
    # of `ten` fold 0 stopped at its limit, of `rest` both did
    ended = (fits["subset"] == "ten") & (fits["fold"] == 1)
    told = ended.astype(object).where(fits["method"] == "oasis", None)
    fits = pd.concat([fits.assign(converged=told), fits.query("fold == 1").assign(fold=2, converged=True)])
    context = study_context(study, fits)
    assert context.stopped_at_limit == {("ten", "oasis"): (1, 3), ("rest", "oasis"): (2, 3)}
    assert context.stopped_sentence(context.methods) == (
        "Stopped at the limit of iterations: OASIS in 1 of 3 folds (Ten), in 2 of 3 (rest)."
    )
    assert context.stopped_sentence(["euclidean"]) == ""
    # one column of numbers, as a table of all learners that tell may have
    as_numbers = study_context(study, fits.assign(converged=fits["converged"].astype(float)))
    assert as_numbers.stopped_at_limit == context.stopped_at_limit
    assert study_context(study, fits.drop(columns="converged")).stopped_at_limit == {}


def test_intervals_of_projections_come_from_the_study(study: dict[str, Any]) -> None:
    intervals = {"often": 100, "end": None}
    assert study_context(study | {"projection_intervals": intervals}, None).projection_intervals == intervals
    assert study_context(study, None).projection_intervals == {}


def test_before_a_run_they_are_what_was_asked_for(study: dict[str, Any]) -> None:
    context = study_context(study | {"not_run": "not run: put X at Y"}, None)
    assert [subset.n_classes for subset in context.subsets] == [10, 0]
    assert context.not_run_sentence == "not run: put X at Y"
    assert context.selected_steps == {"ten": (), "rest": ()}


def test_published_classes_are_comparable_and_others_are_not(study: dict[str, Any], fits: pd.DataFrame) -> None:
    assert reasons(study, fits) == ["", "other classes than the paper's"]
    context = study_context(study, fits)
    assert [subset.comparable for subset in context.subsets] == [True, False]
    assert context.why_not_comparable == "other classes than the paper's (rest)"


def test_a_list_of_exactly_the_published_folders_is_comparable(study: dict[str, Any], fits: pd.DataFrame) -> None:
    ten = study["subsets"]["ten"]
    for classes, reason in (
        (FOLDERS[::-1], ""),
        ([*FOLDERS[:9], "099.other"], "other classes than the paper's"),
        (FOLDERS[:9], "other classes than the paper's"),
        ("first 10", "other classes than the paper's"),
    ):
        assert reasons(study | {"subsets": {"ten": ten | {"classes": classes}}}, fits) == [reason]
    # a user's folders of the same names
    assert reasons(study | {"kind": "folder"}, fits) == [
        "not known to be the paper's images",
        "other classes than the paper's",
    ]
    assert reasons(study | {"subsets": {"ten": ten | {"published_classes": []}}}, fits) == [
        "other classes than the paper's"
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "synthetic"}, "synthetic images"),
        (
            {"splits": {"folds": 2, "train": 20, "test": 25, "validation": 8}},
            "other splits than the paper's (folds 2, the paper 5; train 20, the paper 40)",
        ),
        ({"representation_settings": {"words": 500, "hellinger": False}}, "another representation (500 words)"),
        ({"representation_settings": {"words": 10_000}}, "another representation (10,000 words)"),
        (
            {"representation_settings": {"words": 1000, "hellinger": True}},
            "another representation (1,000 words, square roots)",
        ),
    ],
)
def test_each_departure_from_the_paper_has_its_reason(
    study: dict[str, Any], fits: pd.DataFrame, changes: dict[str, Any], reason: str
) -> None:
    assert reasons(study | changes, fits)[0] == reason


def test_a_dropped_class_is_a_reason_only_once_it_was_dropped(study: dict[str, Any], fits: pd.DataFrame) -> None:
    assert reasons(study, None)[0] == ""
    assert reasons(study, fits.assign(n_classes=9))[0] == "9 of the paper's 10 classes"


def test_synthetic_images_are_named_once(study: dict[str, Any], fits: pd.DataFrame) -> None:
    context = study_context(study | {"kind": "synthetic"}, fits)
    assert context.synthetic
    assert context.why_not_comparable == "synthetic images"
