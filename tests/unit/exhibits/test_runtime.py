"""Training times: minutes beside the printed ones, ratios, and no verdict on any of them."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from lookalike.exhibits.catalogue import EXHIBITS
from lookalike.exhibits.context import SubsetInfo
from lookalike.exhibits.runtime import compare_times, minutes_of, times_over, training_times
from lookalike.exhibits.write import compare_markdown

JMLR, DRAFT = "oasis-jmlr-2010", "oasis-2009-draft"
MCML_ON_50 = {("classes50", "mcml"): "the final fit took more than 600 s of CPU time (5 of 5 folds)"}
TITLES = ["OASIS (Matlab)", "OASIS (Matlab+C)", "MCML", "LEGO", "LMNN (naive)", "LMNN (active set)"]


@pytest.fixture(scope="module")
def timed(context):
    return replace(
        context,
        methods=("oasis", "mcml", "lego", "lmnn", "euclidean"),
        variants=("oasis-dissim",),
        timed=("lmnn-naive",),
        not_converged=MCML_ON_50,
        processors=("Xeon A", "Xeon B"),
    )


def cells(line):
    return [text.strip() for text in line.strip("|").split("|")]


def test_minutes_are_of_cpu_time_over_folds(fits, timed):
    minutes = minutes_of(fits, timed)
    mean, std = minutes["var10", "mcml"]
    assert mean == pytest.approx(1.5)
    assert std == pytest.approx(1.5 * 0.1 * math.sqrt(2.5))
    assert ("classes50", "mcml") not in minutes
    assert minutes_of(fits.drop(columns="cpu_seconds_fit"), timed) == {}
    assert minutes_of(fits, replace(timed, representation="words500")) == {}


def test_table5_has_our_times_the_papers_and_the_ratios(fits, timed, reference):
    lines = training_times(fits, timed, reference, JMLR).markdown.splitlines()
    assert cells(lines[0]) == ["10 classes", "", *TITLES]
    ours = ["0.0020 ± 0.0003", "0.0020 ± 0.0003", "1.5 ± 0.2", "0.067 ± 0.011", "1.0 ± 0.2", "0.50 ± 0.08"]
    assert cells(lines[2]) == ["Minutes", "ours", *ours]
    printed = ["42 ± 15", "0.12 ± 0.03", "1,835 ± 210", "143 ± 44", "337 ± 169", "247 ± 209"]
    assert cells(lines[3]) == ["", "paper", *printed]
    assert cells(lines[4]) == ["Paper / ours", "", "21,000x", "60x", "1,200x", "2,100x", "340x", "490x"]
    assert cells(lines[5]) == ["Over OASIS", "ours", "", "", "750x", "33x", "500x", "250x"]
    assert cells(lines[6]) == ["", "paper, Matlab", "", "", "44x", "3.4x", "8.0x", "5.9x"]
    assert cells(lines[7]) == ["", "paper, Matlab+C", "", "", "15,000x", "1,200x", "2,800x", "2,100x"]
    # 50 classes: MCML converged neither here nor there
    assert [cells(lines[i])[4] for i in (11, 12, 13)] == ["*", "*", ""]


@pytest.mark.parametrize("paper", [JMLR, DRAFT])
def test_a_method_that_no_paper_has_is_a_column_of_its_own(fits, timed, reference, paper):
    rca = fits[fits["method"] == "mcml"].assign(method="rca")
    own = replace(timed, methods=("oasis", "mcml", "rca", "euclidean"), method_titles={"rca": "shrunk RCA"})
    lines = training_times(pd.concat([fits, rca]), own, reference, paper).markdown.splitlines()
    assert cells(lines[0])[-1] == "shrunk RCA"
    assert cells(lines[2])[-1] == "1.5 ± 0.2"
    assert cells(lines[3])[1] == "paper"
    assert cells(lines[3])[-1] == ""
    assert "rca" not in set(compare_times(fits, own, reference, paper=paper)["method"])


def test_table2_has_dissim_oasis_and_one_oasis(fits, timed, reference):
    lines = training_times(fits, timed, reference, DRAFT).markdown.splitlines()
    assert cells(lines[0])[2:] == ["OASIS (Matlab)", *TITLES[2:], "Dissim-OASIS (Matlab)"]
    assert cells(lines[2])[-1] == "0.0050 ± 0.0008"
    # the draft prints no active set
    assert cells(lines[3])[-2:] == ["", "58 ± 14"]
    assert cells(lines[5])[-1] == "2.5x"
    assert cells(lines[6])[:2] == ["", "paper"]
    assert cells(lines[6])[-1] == "1.4x"


def test_a_printed_dash_is_not_a_star(fits, timed, reference):
    large = SubsetInfo("classes249", "249 classes", 249, {JMLR: "classes=249"})
    table = training_times(fits, replace(timed, subsets=(large,)), reference, JMLR)
    lines = table.markdown.splitlines()
    assert cells(lines[2])[2:] == ["-"] * 6
    assert cells(lines[3])[2:] == ["485 ± 113", "1.13 ± 0.15", "*", "-", "*", "*"]
    caption = EXHIBITS[JMLR, "table5"].caption(replace(timed, subsets=(large,)), table)
    assert "- in the paper's row: worse than the Euclidean baseline." in caption
    assert "seed text" not in compare_markdown(
        compare_times(fits, replace(timed, subsets=(large,)), reference, paper=JMLR), EXHIBITS[JMLR, "table5"], timed
    )
    assert not table.frame["note"].str.contains("our reading").any()


def test_the_caption_tells_machines_and_what_is_timed(fits, timed, reference):
    table = training_times(fits, timed, reference, JMLR)
    caption = EXHIBITS[JMLR, "table5"].caption(timed, table)
    for fact in (
        "one thread of Xeon A and Xeon B",
        "1.8 GHz Intel Xeon",
        "limit of five days",
        "MCML and LMNN to their own end",
        "may have run beside other jobs",
        "one compiled implementation",
        "Not in the time: images",
        "cpu_seconds_selection",
        "*: the paper prints no number, since the learner did not converge.",
        "MCML on 50 classes: the final fit took more than 600 s of CPU time (5 of 5 folds).",
    ):
        assert fact in caption
    assert "in the paper's row" not in caption
    draft = EXHIBITS[DRAFT, "table2"].caption(timed, training_times(fits, timed, reference, DRAFT))
    assert "1.8 GHz" not in draft
    assert "one compiled implementation" in draft
    assert "LMNN (active set), whose column is ours alone" in draft


def test_the_papers_times_over_ours_are_left_out_of_other_problems(fits, timed, reference):
    other = replace(timed, subsets=(replace(timed.subsets[0], why_not_comparable="synthetic images"),))
    table = training_times(fits, other, reference, JMLR)
    assert table.frame["printed_over_ours"].isna().all()
    lines = table.markdown.splitlines()
    assert cells(lines[4]) == ["Over OASIS", "ours", "", "", "750x", "33x", "500x", "250x"]


def test_times_have_no_verdict(fits, timed, reference, synthetic):
    rows = compare_times(fits, timed, reference, paper=JMLR)
    assert len(rows) == 12
    assert set(rows["status"]) == {"not comparable", "no printed value"}
    row = rows[(rows["method"] == "oasis-matlab+c") & (rows["subset"] == "var10")].iloc[0]
    assert (row["reason"], row["printed"]) == ("other machine and implementation", 0.12)
    assert row["ours"] == pytest.approx(0.002)
    # the synthetic images come first
    made = compare_times(fits, replace(timed, kind="synthetic", subsets=synthetic.subsets), reference, paper=JMLR)
    assert set(made["reason"]) == {"synthetic images; other machine and implementation"}


def test_times_that_are_missing_say_why(fits, timed, reference):
    fewer = replace(timed, timed=(), not_converged={("var10", "mcml"): "too long"})
    rows = compare_times(fits[fits["method"] != "lmnn-naive"], fewer, reference, paper=JMLR)
    rows = rows[rows["subset"] == "var10"].set_index("method")
    assert rows.loc["mcml", "reason"] == "did not converge: too long"
    assert rows.loc["lmnn-naive", "reason"] == "LMNN (naive) was not run"


def test_the_comparison_reads_without_a_rule_of_agreement(fits, timed, reference):
    text = compare_markdown(compare_times(fits, timed, reference, paper=JMLR), EXHIBITS[JMLR, "table5"], timed)
    line = next(line for line in text.splitlines() if "| OASIS (Matlab+C)" in line)
    assert cells(line)[3:7] == ["0.12 ± 0.03", "0.0020 ± 0.0003", "-0.12", ""]
    assert "Agrees" not in text
    assert "No verdict" in text


def test_where_nothing_was_run_the_paper_stands_alone(reference, missing):
    table = training_times(None, missing, reference, JMLR)
    lines = table.markdown.splitlines()
    assert cells(lines[4])[2:] == ["not run"] * 6
    assert cells(lines[6])[:2] == ["Over OASIS", "paper, Matlab"]
    assert "Ours:" not in EXHIBITS[JMLR, "table5"].caption(missing, table)
    assert set(compare_times(None, missing, reference, paper=JMLR)["status"]) == {
        "not run: put 256_ObjectCategories.tar at data/caltech256"
    }


def test_the_csv_has_ratios_as_numbers(fits, timed, reference):
    frame = training_times(fits, timed, reference, JMLR).frame
    assert not frame.duplicated(["subset", "column"]).any()
    mcml = frame[(frame["subset"] == "var10") & (frame["column"] == "mcml")].iloc[0]
    assert mcml["printed_over_ours"] == pytest.approx(1835 / 1.5)
    assert mcml["ours_over_oasis"] == pytest.approx(750)
    assert mcml["printed_over_oasis_matlab"] == pytest.approx(1835 / 42)
    assert mcml["status"] == "not comparable"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1223.4, "1,200x"), (43.7, "44x"), (3.42, "3.4x"), (0.314, "0.31x"), (15291.7, "15,000x"), (math.nan, "")],
)
def test_ratios_have_two_significant_digits(ratio, text):
    assert times_over(ratio) == text
