"""Counts, speed and indices as tables, and the headline of the web study."""

from __future__ import annotations

import math

import numpy as np
import pytest
from web_numbers import SMALL, full, made_approximate, made_counts, made_fits, made_numbers, made_precision, missing

from lookalike.exhibits import web_tables as tables


@pytest.fixture(scope="module")
def context():
    return full(made_numbers())


def cells(table, row):
    return [cell.strip() for cell in table.markdown.splitlines()[row + 2].strip("|").split("|")]


def test_counts_stand_above_the_printed_ones(context, reference):
    table = tables.counts_table(made_counts(SMALL), context, reference)
    assert cells(table, 0) == ["Training", "simulated", "190", "3,000", "6,600", "69.8", "96.4"]
    assert cells(table, 1)[:4] == ["", "paper", "139,944", "2,292,259"]
    assert cells(table, 1)[5] == "70"
    assert cells(table, 2)[:4] == ["Test", "simulated", "60", "550"]
    frame = table.frame.set_index(["part", "quantity"])
    assert frame.loc[("test", "images"), "printed"] == 402_164
    assert frame.loc[("test", "images"), "status"] == "not comparable"
    assert math.isnan(frame.loc[("test", "pairs"), "printed"])
    assert r"\textit{2,292,259}" in table.latex


def test_a_count_that_is_missing_is_no_result(context, reference):
    few = made_counts().query("quantity != 'queries'")
    assert cells(tables.counts_table(few, context, reference), 0)[2] == "-"
    compared = tables.compare_counts(few, context, reference).set_index(["subset", "metric"])
    assert compared.loc[("training", "queries"), "status"] == "no result"
    assert compared.loc[("training", "images"), "status"] == "not comparable"
    assert compared.loc[("training", "images"), "difference"] == 0


def test_counts_of_a_study_that_is_not_run_are_not_shown(reference):
    table = tables.counts_table(made_counts(), missing(), reference)
    assert cells(table, 2)[2:] == ["not run"] * 5
    assert table.markdown.startswith("**not run: ")


def test_speed_is_a_row_a_mode_with_the_paper_beneath(context, reference):
    table = tables.speed_table(made_fits(), context, reference)
    frame = table.frame
    assert frame["mode"].tolist() == ["sequential", "look-ahead", ""]
    assert frame["source"].tolist() == ["ours", "ours", "printed"]
    paper = frame.iloc[-1]
    assert paper["steps_per_second"] == pytest.approx(160e6 / (4000 * 60))
    assert paper["n_train"] == 2_292_259
    ahead = frame.iloc[1]
    assert ahead["n_rankers"] == 2
    assert ahead["steps_per_second"] == pytest.approx(27_000)
    assert ahead["hours"] == pytest.approx((2909 + 3019) / 2 / 3600)
    assert ahead["peak_memory_gigabytes"] == pytest.approx(2.2)
    assert ahead["resumed"] == 2
    assert ahead["over_printed"] == pytest.approx(27_000 / 666.67, rel=1e-4)
    assert ahead["steps_per_cpu_second"] == pytest.approx((80e6 / 2909 + 80e6 / 3019) / 2 / 0.8)
    assert cells(table, 0)[:10] == [
        "OASIS, sequential", "1", "1", "2,292,259", "10,000", "20,000,000", "21,000", "26,261", "32x", "16 min",
    ]  # fmt: skip
    assert cells(table, 2)[-3:] == ["-", "-", "-"]
    assert "other modes are named" in tables.notes_on_speed(context, table)


def test_steps_on_other_words_are_not_set_beside_the_papers(reference):
    fewer = full(made_numbers(), words=1_000)
    table = tables.speed_table(made_fits(), fewer, reference)
    assert cells(table, 0)[4] == "1,000"
    assert cells(table, 0)[8] == ""
    assert table.frame["over_printed"].isna().all()
    assert cells(table, 2)[4] == "10,000"
    assert "Only steps on 10,000 words" in tables.notes_on_speed(fewer, table)
    alike = full(made_numbers())
    assert "Only steps" not in tables.notes_on_speed(alike, tables.speed_table(made_fits(), alike, reference))


def test_speed_without_fits_is_the_papers_alone(context, reference):
    assert tables.speed_table(made_fits().iloc[:0], context, reference).frame["source"].tolist() == ["printed"]
    alone = made_fits().query("mode == 'sequential'")
    assert "other modes" not in tables.notes_on_speed(context, tables.speed_table(alone, context, reference))
    assert tables.speed_table(alone, context, reference.iloc[:0]).frame["source"].tolist() == ["ours"]


def test_indices_are_told_with_all_recalls_and_the_gain_over_exact(context):
    table = tables.approximate_table(made_approximate(), context)
    header = table.markdown.splitlines()[0]
    assert "recall@1 (%)" in header
    assert "recall@100 (%)" in header
    assert cells(table, 0) == ["exact", "-", "100.0", "100.0", "100.0", "210", ""]
    assert cells(table, 1) == ["Flat, 64 dims", "-", "72.0", "71.0", "70.0", "6.0", "35x"]
    assert len(table.frame) == len(made_approximate())
    assert np.isnan(table.frame.loc[table.frame["index"] == "exact", "over_exact"]).all()
    assert "10,000 query images against a gallery of 402,164" in tables.notes_on_approximate(
        made_approximate(), context
    )


def test_the_headline_has_precision_with_errors_and_speed(context):
    lines = tables.web_headline(made_precision(), made_fits(), context).splitlines()
    assert lines[0] == "P@1   OASIS 1.56 ± 0.12 %  OASIS, average of 2 1.71 ± 0.13 %  Euclidean 0.58 ± 0.08 %"
    assert lines[1].startswith("P@10  OASIS 1.26 ± 0.06 %")
    assert lines[2] == "steps/s  sequential, 1 thread: 21,000  look-ahead, 1 thread: 27,000"
    assert lines[3] == "(10,000 test images as queries, ± standard error over them; simulated data)"


def test_the_headline_does_without_what_is_missing(context):
    assert tables.web_headline(None, None, context) == (
        "(0 test images as queries, ± standard error over them; simulated data)\n"
    )
    assert tables.web_headline(made_precision(), made_fits(), missing()) == (
        "simulated web images: not run: set run: true of websim in config.yaml\n"
    )
