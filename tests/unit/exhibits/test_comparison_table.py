"""The comparison of methods: differences in points, both intervals, the verdict, and rows that have none."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from lookalike.exhibits.catalogue import EXHIBITS, Numbers
from lookalike.exhibits.comparison_table import HEADING, RULE, comparison_table, with_comparison
from lookalike.exhibits.tables import table1, table4
from lookalike.exhibits.write import write_exhibit

JMLR, DRAFT = "oasis-jmlr-2010", "oasis-2009-draft"


def cells(line):
    return [text.strip() for text in line.strip("|").split("|")]


def row_of(markdown, block, method):
    """Cells of a method's row in the block of a subset."""
    lines = markdown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {block} ") and "difference" in line)
    return next(cells(line) for line in lines[start:] if cells(line)[0] == method)


def test_differences_are_in_points_with_both_intervals(comparison, context):
    table = comparison_table(comparison, context)
    lines = table.markdown.splitlines()
    assert cells(lines[0])[1:] == [
        "difference",
        "95% interval, t",
        "95% interval, bootstrap",
        "p (Holm)",
        "verdict",
    ]
    euclidean = ["Euclidean", "+10.0", "+8.0 to +12.0", "+8.1 to +11.9", "< 0.001", "OASIS better"]
    assert row_of(table.markdown, "Var10", "Euclidean") == euclidean
    lego = ["LEGO", "-3.0", "-4.0 to -2.0", "-3.9 to -2.1", "0.012", "OASIS worse"]
    assert row_of(table.markdown, "50 classes", "LEGO") == lego
    assert row_of(table.markdown, "50 classes", "LMNN")[-1] == "not decidable"
    row = table.frame.query("subset == 'classes50' and method == 'lego'").iloc[0]
    assert row["difference"] == pytest.approx(-3)
    assert (row["unit"], row["n_images"]) == ("points", 250)


def test_every_method_of_the_study_has_a_row_in_every_block(comparison, context):
    more = replace(context, methods=("oasis", "mcml", "euclidean"), variants=("oasis-proj",), timed=("lmnn-naive",))
    frame = comparison_table(comparison, more).frame
    # those that only the comparison knows come last
    expected = ["mcml", "euclidean", "lego", "lmnn", "oasis-proj"]
    assert frame["method"].tolist() == expected * 2
    assert frame["family"].tolist() == (["compared"] * 4 + ["variants"]) * 2


def test_families_of_p_values_have_blocks_and_sizes_of_their_own(comparison, context):
    more = replace(context, methods=("oasis", "lego", "lmnn", "euclidean"), variants=("oasis-proj",))
    variant = comparison.iloc[:1].assign(method="oasis-proj", family="variants")
    table = comparison_table(pd.concat([comparison, variant]), more)
    assert "| Var10, compared methods " in table.markdown
    assert "| Var10, symmetric variants " in table.markdown
    assert "| 50 classes, symmetric variants " in table.markdown
    caption = EXHIBITS["learning", "comparison"].caption(more, table)
    assert "p is adjusted over: compared methods 2 (Var10), 3 (50 classes); symmetric variants 1." in caption


def test_nothing_to_compare_is_no_error(comparison, context, reference, tmp_path):
    numbers = comparison.select_dtypes("number").columns.difference(["n_folds", "n_images"])
    nothing = comparison.assign(**dict.fromkeys(numbers, float("nan")), n_folds=0, n_images=0, verdict="not decidable")
    for table in (nothing, comparison.iloc[:0]):
        write_exhibit(
            "learning", "comparison", numbers=Numbers(comparison=table), context=context, reference=reference,
            folder=tmp_path,
        )  # fmt: skip
        text = (tmp_path / "comparison.md").read_text()
        assert row_of(text, "Var10", "Euclidean")[1] == "-"
        assert "adjusted over" not in text


def test_rows_without_a_difference_say_why(comparison, context, missing):
    reasons = {("var10", "lmnn"): "too long (2 of 5 folds)"}
    failed = replace(context, methods=("oasis", "mcml", "lmnn"), not_converged=reasons)
    table = comparison_table(comparison, failed)
    # the folds that did end do not count
    assert row_of(table.markdown, "Var10", "LMNN") == ["LMNN", "*", "", "", "", ""]
    assert row_of(table.markdown, "Var10", "MCML")[1] == "-"
    caption = EXHIBITS["learning", "comparison"].caption(failed, table)
    assert "LMNN on Var10: too long (2 of 5 folds)." in caption
    without_oasis = replace(context, not_converged={("classes50", "oasis"): "too long"})
    assert row_of(comparison_table(comparison, without_oasis).markdown, "50 classes", "LEGO")[1] == "*"
    not_run = comparison_table(None, missing)
    assert row_of(not_run.markdown, "Var10", "Euclidean")[1] == "not run"
    assert not_run.markdown.startswith("**not run: put 256_ObjectCategories.tar")


def test_a_single_fold_has_no_interval(comparison, context):
    one = comparison.assign(t_low=float("nan"), t_high=float("nan"), p_holm=float("nan"), verdict="not decidable")
    row = row_of(comparison_table(one, context).markdown, "Var10", "Euclidean")
    assert (row[2], row[4], row[5]) == ("-", "-", "not decidable")


def test_it_stands_under_the_papers_tables_with_its_rule(metrics, comparison, context, reference):
    more = replace(context, methods=("oasis", "euclidean"), variants=("oasis-proj",))
    with_variant = pd.concat([comparison, comparison.assign(method="oasis-proj", family="variants").iloc[:1]])
    for paper, make, block in ((JMLR, table4, "10 classes"), (DRAFT, table1, "Var10")):
        table = make(metrics, more, reference)
        both = with_comparison(table, with_variant, more, paper)
        assert both.markdown.startswith(table.markdown)
        assert f"{RULE} Number of methods that p is adjusted over: 2 (Var10), 3 (50 classes).\n" in both.markdown
        assert f"**{HEADING}**" in both.markdown
        # the four rivals of the table and no variant
        assert row_of(both.markdown, block, "MCML")[1] == "-"
        assert row_of(both.markdown, block, "Euclidean")[1] == "+10.0"
        assert "proj" not in both.markdown
        assert "OASIS" not in {cells(line)[0] for line in both.markdown.partition(HEADING)[2].splitlines()}
        assert both.latex.count(r"\begin{tabular}") == both.latex.count(r"\end{tabular}") == 2
        assert r"95\% interval, t" in both.latex
        assert both.frame is table.frame


def test_without_a_comparison_the_table_stands_alone(metrics, comparison, context, reference, missing):
    table = table4(metrics, context, reference)
    assert with_comparison(table, None, context, JMLR) is table
    assert with_comparison(table, comparison, missing, JMLR) is table
    drawn = EXHIBITS[JMLR, "table4"].draw(Numbers(metrics, comparison=comparison), context, reference)
    assert HEADING in drawn.markdown
    assert "table4" in {name for _, name in EXHIBITS}
    assert "comparison" not in EXHIBITS[JMLR, "table4"].needs
