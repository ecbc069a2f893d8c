"""What an exhibit knows of its study before and after a run."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from lookalike.exhibits.context import study_context


@pytest.fixture
def study() -> dict[str, Any]:
    return {
        "dataset": "mine",
        "title": "My images",
        "kind": "folder",
        "not_run": "",
        "representation": "words1000",
        "splits": {"folds": 2, "train": 40, "test": 25, "validation": 8},
        "subsets": {"ten": {"title": "Ten", "n_classes": 10, "printed": {"oasis-jmlr-2010": "classes=10"}}, "rest": {}},
        "methods": {"euclidean": "Euclidean", "oasis": "OASIS"},
    }


@pytest.fixture
def fits() -> pd.DataFrame:
    rows = [
        (subset, method, representation, fold, 9 if subset == "ten" else 3, steps)
        for subset in ("ten", "rest")
        for representation, steps in (("words1000", 100), ("words500", 7))
        for method in ("euclidean", "oasis")
        for fold in (1, 0)
    ]
    table = pd.DataFrame(rows, columns=["subset", "method", "representation", "fold", "n_classes", "n_steps"])
    table["n_steps"] += table["fold"]
    table.loc[table["method"] == "euclidean", "n_steps"] = None
    return table


def test_after_a_run_classes_and_stops_come_from_the_fits(study: dict[str, Any], fits: pd.DataFrame) -> None:
    context = study_context(study, fits)
    assert [subset.n_classes for subset in context.subsets] == [9, 3]
    assert context.selected_steps == {"ten": (100, 101), "rest": (100, 101)}
    assert [subset.title for subset in context.subsets] == ["Ten", "rest"]
    assert context.methods == ("euclidean", "oasis")


def test_before_a_run_they_are_what_was_asked_for(study: dict[str, Any]) -> None:
    context = study_context(study | {"not_run": "not run: put X at Y"}, None)
    assert [subset.n_classes for subset in context.subsets] == [10, 0]
    assert context.not_run_sentence == "not run: put X at Y"
    assert context.selected_steps == {"ten": (), "rest": ()}


@pytest.mark.parametrize(
    ("kind", "comparable", "synthetic"),
    [("caltech256", True, False), ("folder", False, False), ("synthetic", False, True)],
)
def test_only_the_papers_own_data_is_comparable(
    study: dict[str, Any], fits: pd.DataFrame, kind: str, comparable: bool, synthetic: bool
) -> None:
    context = study_context(study | {"kind": kind}, fits)
    assert (context.comparable, context.synthetic) == (comparable, synthetic)
    assert bool(context.reason) != comparable
