"""Numbers to two digits, and text that LaTeX and Markdown can take."""

from __future__ import annotations

import math

import pytest

from lookalike.exhibits.tables import latex_text, markdown_table, significant


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
