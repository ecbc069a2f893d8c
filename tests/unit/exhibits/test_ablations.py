"""The table of representations: a row for each that was run, the study's own first."""

from __future__ import annotations

import pandas as pd
import pytest

from lookalike.exhibits.ablations import ablations


def cells(line):
    return [text.strip() for text in line.strip("|").split("|")]


def test_every_representation_of_the_metrics_has_a_row(metrics, context):
    table = ablations(metrics, context)
    lines = table.markdown.splitlines()
    assert cells(lines[0]) == ["Var10", "Euclidean", "OASIS"]
    assert cells(lines[2]) == ["words1000", "23.0 ± 1.0", "33.0 ± 1.0"]
    assert cells(lines[3]) == ["words10000", "-", "99.0"]
    row = table.frame[(table.frame["representation"] == "words10000") & (table.frame["method"] == "oasis")].iloc[0]
    assert (row["subset"], row["map"], row["n_folds"]) == ("var10", pytest.approx(99), 1)
    assert len(table.frame) == 2 * 2 * 2


def test_one_representation_is_enough(metrics, context):
    table = ablations(metrics[metrics["representation"] == "words1000"], context)
    assert set(table.frame["representation"]) == {"words1000"}
    assert r"\begin{tabular}{lrr}" in table.latex


def test_other_data_sets_are_not_mixed_in(metrics, context):
    other = metrics.assign(dataset="demo", representation="words500")
    assert ablations(pd.concat([metrics, other]), context).frame.equals(ablations(metrics, context).frame)


def test_where_nothing_was_run_it_says_so(metrics, missing):
    table = ablations(None, missing)
    assert set(table.frame["cell"]) == {"not run"}
    assert "put 256_ObjectCategories.tar" in table.markdown
    assert ablations(metrics, missing).frame.equals(table.frame)
