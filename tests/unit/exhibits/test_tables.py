"""Table 4 and Table 1: cells in the papers' form, dashes, stars, and text that LaTeX and Markdown can take."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from lookalike.exhibits.tables import (
    cell,
    latex_text,
    markdown_table,
    not_converged_sentence,
    significant,
    table1,
    table4,
)


def cells(markdown_row):
    return [text.strip() for text in markdown_row.strip("|").split("|")]


@pytest.mark.parametrize(
    ("mean", "std", "percent", "fraction"),
    [
        (33.2, 1.61, "33 ± 1.6", "0.33 ± 0.016"),
        (43, 4.0, "43 ± 4.0", "0.43 ± 0.040"),
        (20, 0.5, "20 ± 0.5", "0.20 ± 0.005"),
        (9.4, math.nan, "9", "0.09"),
        (math.nan, math.nan, "-", "-"),
    ],
)
def test_cells_are_printed_as_the_papers_print_them(mean, std, percent, fraction):
    assert cell(mean, std, fraction=False) == percent
    assert cell(mean, std, fraction=True) == fraction


def test_table4_has_blocks_by_number_of_classes(metrics, reference, context):
    lines = table4(metrics, context, reference).markdown.splitlines()
    assert cells(lines[0]) == ["10 classes", "", "OASIS", "MCML", "LEGO", "LMNN", "Euclidean"]
    assert cells(lines[2]) == ["Mean avg. prec.", "ours", "33 ± 1.0", "-", "-", "-", "23 ± 1.0"]
    assert cells(lines[3]) == ["", "paper", "33 ± 1.6", "29 ± 1.7", "27 ± 0.8", "24 ± 1.6", "23 ± 0.9"]
    titles = [cells(line)[0] for line in lines[2:10:2]]
    assert titles == ["Mean avg. prec.", "Top 1 prec.", "Top 10 prec.", "Top 50 prec."]
    fifty = next(i for i, line in enumerate(lines) if "50 classes" in line)
    assert cells(lines[fifty + 3]) == ["", "paper", "12 ± 0.4", "*", "9 ± 0.4", "8 ± 0.4", "9 ± 0.4"]


def test_table1_prints_fractions_by_subset_name(metrics, reference, context):
    lines = table1(metrics, replace(context, subsets=context.subsets[:1]), reference).markdown.splitlines()
    assert cells(lines[0])[0] == "Var10"
    assert cells(lines[2])[2] == "0.33 ± 0.010"
    assert cells(lines[3])[2] == "0.33 ± 0.016"


def test_a_further_method_of_the_study_has_a_column(metrics, reference, context):
    variant = metrics[metrics["method"] == "oasis"].assign(method="oasis-dissim")
    more = replace(context, methods=(*context.methods, "oasis-dissim"), method_titles={"oasis-dissim": "OASIS-Dissim"})
    table = table4(pd.concat([metrics, variant]), more, reference)
    lines = table.markdown.splitlines()
    assert cells(lines[0])[2:] == ["OASIS", "MCML", "LEGO", "LMNN", "Euclidean", "OASIS-Dissim"]
    assert cells(lines[2])[-1] == "33 ± 1.0"
    assert cells(lines[3])[-1] == ""
    assert r"\begin{tabular}{llrrrrrr}" in table.latex
    assert r"\textit{}" not in table.latex
    assert len(table.frame) == 2 * 4 * 6


def test_long_csv_has_every_cell_once(metrics, reference, context):
    frame = table4(metrics, context, reference).frame
    assert len(frame) == 2 * 4 * 5
    assert not frame.duplicated(["subset", "metric", "method"]).any()
    row = frame[(frame.subset == "var10") & (frame.method == "oasis") & (frame.metric == "map")].iloc[0]
    assert row["ours"] == pytest.approx(33)
    assert (row["ours_cell"], row["printed_cell"], row["status"], row["n_classes"]) == (
        "33 ± 1.0",
        "33 ± 1.6",
        "agrees",
        10,
    )


def test_a_subset_that_was_not_printed_has_no_printed_rows(metrics, reference, context):
    table = table1(metrics, replace(context, subsets=context.subsets[1:]), reference)
    assert "paper" not in table.markdown
    assert "paper" not in table.latex
    assert set(table.frame["printed_cell"]) == {""}


def test_where_nothing_was_run_cells_say_so(reference, missing):
    table = table4(None, missing, reference)
    assert "**not run: put 256_ObjectCategories.tar at data/caltech256**" in table.markdown
    assert cells(table.markdown.splitlines()[4])[2:] == ["not run"] * 5
    assert "33 ± 1.6" in table.markdown
    assert r"not run: put 256\_ObjectCategories.tar" in table.latex
    assert set(table.frame["ours_cell"]) == {"not run"}


def test_a_method_that_did_not_converge_has_stars_and_a_reason(metrics, reference, context):
    reasons = {("classes50", "mcml"): "more than 600 s (5 of 5 folds)", ("var10", "oasis"): "too long (1 of 5 folds)"}
    failed = replace(context, methods=("oasis", "mcml", "euclidean"), not_converged=reasons)
    table = table4(metrics, failed, reference)
    lines = table.markdown.splitlines()
    # the four folds of OASIS that did end are no mean of five
    assert cells(lines[2])[2:] == ["*", "-", "-", "-", "23 ± 1.0"]
    assert cells(lines[11])[0] == "50 classes"
    assert cells(lines[13])[2:] == ["13 ± 1.0", "*", "-", "-", "9 ± 1.0"]
    row = table.frame.query("subset == 'var10' and method == 'oasis' and metric == 'map'").iloc[0]
    assert (row["ours_cell"], row["status"], math.isnan(row["ours"])) == ("*", "no result", True)
    assert not_converged_sentence(table.frame, failed) == (
        "*: no number of ours, since a fit did not end within its time limit: OASIS on Var10: too long (1 of 5 folds); "
        "MCML on 50 classes: more than 600 s (5 of 5 folds)."
    )
    # a paper's star is none of ours
    assert not_converged_sentence(table4(metrics, context, reference).frame, context) == ""
    not_run = replace(failed, not_run="put X at Y")
    assert set(table4(metrics, not_run, reference).frame["ours_cell"]) == {"not run"}


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (0.00213, 0.00031, "0.0021 ± 0.0003"),
        (0.0999, 0.02, "0.10 ± 0.02"),
        (0.12, 0.0004, "0.12 ± 0.0004"),
        (1.55, math.nan, "1.6"),
        (9.96, 0.2, "10 ± 0.2"),
        (1835.2, 209.6, "1,835 ± 210"),
        (0.0, 0.0, "0.0 ± 0.0"),
        (-0.117, math.nan, "-0.12"),
        (math.nan, math.nan, "-"),
    ],
)
def test_numbers_of_any_size_have_two_significant_digits(mean, std, text):
    assert significant(mean, std) == text


def test_a_gallery_smaller_than_50_leaves_a_dash(metrics, reference, context):
    table = table4(metrics[metrics["metric"] != "p@50"], context, reference)
    row = next(line for line in table.markdown.splitlines() if "Top 50" in line)
    assert cells(row)[2:] == ["-"] * 5


def test_synthetic_blocks_carry_their_own_title(metrics, reference, synthetic):
    for table in (table4, table1):
        assert table(metrics, synthetic, reference).markdown.startswith("| 10 synthetic classes")


def test_latex_is_a_booktabs_tabular(metrics, reference, context):
    latex = table4(metrics, context, reference).latex
    for command in (r"\begin{tabular}{llrrrrr}", r"\toprule", r"\bottomrule", r"\end{tabular}"):
        assert latex.count(command) == 1
    assert r"33 $\pm$ 1.0" in latex
    assert "±" not in latex
    rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert {line.count(" & ") for line in rows} == {6}


def test_latex_escapes():
    assert latex_text("a_b & 5% of {x} #1 $ ~ ^ \\ ± <") == (
        r"a\_b \& 5\% of \{x\} \#1 \$ \textasciitilde{} \textasciicircum{} \textbackslash{} $\pm$ $<$"
    )


def test_markdown_escapes_and_aligns():
    text = markdown_table(["a", "b"], [["x|y", "1"], ["z", "22"]], right=[1])
    assert text.splitlines() == [
        "| a    |   b |",
        "|------|----:|",
        "| x\\|y |   1 |",
        "| z    |  22 |",
    ]


def test_a_sentence_does_not_widen_the_other_cells():
    sentence = "word " * 20
    lines = markdown_table(["a", "b"], [["x", sentence], ["y", "22"]]).splitlines()
    assert lines[0] == "| a   | b   |"
    assert sentence in lines[2]
