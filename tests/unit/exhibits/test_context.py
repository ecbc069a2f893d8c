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
    assert context.at_grid_edge == {"ten": (False, True), "rest": (False, True)}
    assert context.at_last_step == {"ten": (True, False), "rest": (True, False)}
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
    alone = fits[fits["method"] == "euclidean"]
    for table in (alone, alone.drop(columns=["stop_at_traced_aggressiveness", *FLAGS])):
        context = study_context(study | {"methods": {"euclidean": "Euclidean"}}, table)
        assert context.selected_steps == {"ten": (), "rest": ()}
        assert context.selection_sentence == context.traced_stop_sentence == ""


def test_the_sentence_about_selections_has_only_parts_that_are_not_zero(
    study: dict[str, Any], fits: pd.DataFrame
) -> None:
    grid, last = "the end of the grid of C", "the last traced step"
    for changes, sentence in (
        ({}, f"In 2 of 4 folds selection chose {grid}, in 2 {last}."),
        ({"at_last_step": False}, f"In 2 of 4 folds selection chose {grid}."),
        ({"at_grid_edge": False, "at_last_step": True}, f"In 4 of 4 folds selection chose {last}."),
        ({"at_grid_edge": False, "at_last_step": False}, ""),
    ):
        assert study_context(study, fits.assign(**changes)).selection_sentence == sentence
    none = fits.assign(traced_stop_at_last_step=False)
    assert study_context(study, none).traced_stop_sentence == ""
    assert study_context(study | {"not_run": "put X at Y"}, fits).selection_sentence == ""


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
