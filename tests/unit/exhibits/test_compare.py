"""The status rule at its boundaries, and a row for every printed number."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.exhibits.compare import (
    COLUMNS,
    compare,
    compare_stop,
    count_statuses,
    status_of,
    summary_line,
)

JMLR = "oasis-jmlr-2010"


@pytest.mark.parametrize(
    ("ours", "status"),
    [
        (33.0, "agrees"),
        (43.5, "agrees"),  # 2 sqrt(3^2 + 4^2) + 0.5 = 10.5, and the boundary agrees
        (22.5, "agrees"),
        (43.5001, "higher"),
        (22.4999, "lower"),
    ],
)
def test_boundaries_of_the_rule(ours, status):
    assert status_of(ours, 3.0, 33.0, 4.0, 1.0) == status


def test_without_any_spread_only_rounding_is_tolerated():
    assert status_of(33.5, 0.0, 33.0, math.nan, 1.0) == "agrees"
    assert status_of(33.51, math.nan, 33.0, math.nan, 1.0) == "higher"
    assert status_of(33.1, 0.0, 33.0, 0.0, 0.1) == "higher"
    # 0.35 - 0.3 is a hair more than 0.05 in binary; the boundary still agrees
    assert status_of(0.35, 0.0, 0.3, 0.0, 0.1) == "agrees"


def test_a_verdict_needs_numbers():
    for numbers in ((math.nan, 1, 1, 1, 1), (1, 1, math.nan, 1, 1), (1, 1, 1, 1, math.nan)):
        with pytest.raises(ValueError, match="status needs"):
            status_of(*numbers)


positive = st.floats(0, 10)


@settings(deadline=None, max_examples=80)
@given(ours=st.floats(0, 100), printed=st.floats(0, 100), a=positive, b=positive, digit=st.sampled_from([0.01, 1.0]))
def test_the_rule_is_two_sided(ours, printed, a, b, digit):
    mirrored = {"higher": "lower", "lower": "higher", "agrees": "agrees"}
    assert status_of(printed, b, ours, a, digit) == mirrored[status_of(ours, a, printed, b, digit)]


def rows_of(table, **values):
    for column, value in values.items():
        table = table[table[column] == value]
    return table


def test_every_printed_number_has_a_row(metrics, reference, context):
    table = compare(metrics, reference, context, paper=JMLR)
    assert tuple(table.columns) == COLUMNS
    assert len(table) == 2 * 5 * 4
    row = rows_of(table, subset="var10", method="oasis", metric="map").iloc[0]
    assert (row["printed_setting"], row["printed"], row["printed_std"]) == ("classes=10", 33, 1.6)
    assert (row["ours"], row["ours_std"]) == (pytest.approx(33), pytest.approx(1.0))
    assert row["difference"] == pytest.approx(0, abs=1e-9)
    assert row["status"] == "agrees"
    row = rows_of(table, subset="var10", method="oasis", metric="p@10").iloc[0]
    ours = 150 * 0.33 * math.exp(-10 / 80)
    assert row["difference"] == pytest.approx(ours - 38)
    assert row["difference_in_fold_std"] == pytest.approx((ours - 38) / 1.0)
    assert row["status"] == "higher"


def test_a_learner_that_was_not_run_has_no_result(metrics, reference, context):
    rows = rows_of(compare(metrics, reference, context, paper=JMLR), subset="var10", method="lego")
    assert set(rows["status"]) == {"no result"}
    assert set(rows["reason"]) == {"LEGO was not run"}
    assert rows["ours"].isna().all()


def test_a_cell_without_a_printed_number_keeps_its_row(metrics, reference, context):
    rows = rows_of(compare(metrics, reference, context, paper=JMLR), subset="classes50", method="mcml")
    assert len(rows) == 4
    assert set(rows["status"]) == {"no printed value"}
    assert set(rows["reason"]) == {"did not converge in 5 days"}


def test_a_gallery_smaller_than_k_has_no_result(metrics, reference, context):
    small = metrics[metrics["metric"] != "p@50"]
    row = rows_of(compare(small, reference, context, paper=JMLR), subset="var10", method="oasis", metric="p@50").iloc[0]
    assert (row["status"], row["reason"]) == ("no result", "this run has no p@50")


def test_a_method_that_did_not_converge_says_why(metrics, reference, context):
    failed = replace(context, not_converged={("var10", "oasis"): "more than 600 s (1 of 5 folds)"})
    table = compare(metrics, reference, failed, paper=JMLR)
    rows = rows_of(table, subset="var10", method="oasis")
    assert set(rows["status"]) == {"no result"}
    assert set(rows["reason"]) == {"did not converge: more than 600 s (1 of 5 folds)"}
    assert rows["ours"].isna().all()
    assert rows_of(table, subset="classes50", method="oasis")["ours"].notna().all()


def test_a_method_of_the_study_without_a_number_was_run(metrics, reference, context):
    for changes, reason in (({}, "LEGO was not run"), ({"timed": ("lego",)}, "this run has no map")):
        table = compare(metrics, reference, replace(context, **changes), paper=JMLR)
        assert rows_of(table, subset="var10", method="lego", metric="map")["reason"].tolist() == [reason]


def test_synthetic_numbers_are_not_comparable(metrics, reference, synthetic):
    table = compare(metrics, reference, synthetic, paper=JMLR)
    ours = rows_of(table, method="oasis")
    assert set(ours["status"]) == {"not comparable"}
    assert set(ours["reason"]) == {"synthetic images"}
    assert ours["ours"].notna().all()
    assert not set(table["status"]) & {"agrees", "higher", "lower"}


def test_each_subset_has_its_own_verdict(metrics, reference, context):
    reason = "49 of the paper's 50 classes"
    short = replace(context.subsets[1], n_classes=49, why_not_comparable=reason)
    table = compare(metrics, reference, replace(context, subsets=(context.subsets[0], short)), paper=JMLR)
    with_numbers = rows_of(table, method="oasis")
    assert set(rows_of(with_numbers, subset="classes50")["status"]) == {"not comparable"}
    assert set(rows_of(with_numbers, subset="classes50")["reason"]) == {reason}
    assert set(rows_of(with_numbers, subset="var10")["status"]) <= {"agrees", "higher", "lower"}


def test_where_nothing_was_run_every_row_says_what_to_do(metrics, reference, missing):
    table = compare(None, reference, missing, paper=JMLR)
    assert set(table["status"]) == {"not run: put 256_ObjectCategories.tar at data/caltech256"}
    assert count_statuses(table) == {"not run": 40}
    # numbers left over from another run are not shown
    assert compare(metrics, reference, missing, paper=JMLR)["ours"].isna().all()


def test_a_subset_that_the_paper_does_not_print_has_no_rows(metrics, reference, context):
    table = compare(metrics, reference, replace(context, subsets=context.subsets[1:]), paper="oasis-2009-draft")
    assert table.empty
    assert tuple(table.columns) == COLUMNS
    assert count_statuses(table) == {}


def test_the_stop_stands_beside_the_printed_saturation_without_a_verdict(reference, context, missing):
    table = compare_stop(reference, context, paper=JMLR)
    assert len(table) == 1
    row = table.iloc[0]
    assert (row["metric"], row["printed"], row["ours"]) == ("saturation_steps", 35_000, 35_000)
    assert row["status"] == "not comparable"
    assert row["reason"] == "the paper reads saturation off its test curve; ours is the validation stop"
    assert row["ours_std"] == pytest.approx(np.std([30_000, 35_000, 40_000], ddof=1))
    assert compare_stop(reference, replace(context, selected_steps={}), paper=JMLR)["status"].tolist() == ["no result"]
    assert compare_stop(reference, missing, paper=JMLR)["status"].iloc[0].startswith("not run: put")


def test_summary_counts_statuses(metrics, reference, context):
    statuses = count_statuses(compare(metrics, reference, context, paper=JMLR))
    assert sum(statuses.values()) == 40
    assert statuses["no result"] == 20  # 5 blocks of 4: MCML, LEGO, LMNN with 10 classes, LEGO, LMNN with 50
    assert summary_line({"agrees": 12, "higher": 1}) == "12 agree, 1 higher"
    assert summary_line({"agrees": 1}) == "1 agrees"
    assert summary_line({}) == "nothing printed to compare with"
