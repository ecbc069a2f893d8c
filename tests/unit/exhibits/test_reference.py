"""The printed numbers: how far each was printed, and that the project's copy says what it should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.reference import last_digit, load, printed_number

RESOURCE = Path(__file__).resolve().parents[3] / "workflow" / "resources" / "reference-values.csv"


@pytest.fixture(scope="module")
def reference():
    return load(RESOURCE)


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ("33", 1),
        ("33.0", 1),
        ("0.33", 0.01),
        ("57.42", 0.01),
        ("1.6", 0.1),
        ("20", 1),
        ("100", 1),
        ("29461", 1),
        ("35000", 1000),
        ("160000000.0", 1e7),
        ("0.0", 1),
    ],
)
def test_worth_of_the_last_printed_digit(text, worth):
    assert last_digit(text) == pytest.approx(worth)


def test_nothing_printed_has_no_last_digit():
    assert np.isnan(last_digit(""))


@pytest.mark.parametrize(
    ("paper", "exhibit", "worth"),
    [
        ("oasis-jmlr-2010", "table4", 1),  # 33 ± 1.6 percent
        ("oasis-2009-draft", "table1", 1),  # 0.33 ± 0.016, kept as 33.0 percent
        ("soml-aaai-2014", "table1", 0.01),  # 40.6 stands in a column with 57.42, and was printed 40.60
    ],
)
def test_percentages_of_one_metric_are_printed_equally_far(reference, paper, exhibit, worth):
    rows = reference[(reference["paper"] == paper) & (reference["exhibit"] == exhibit)]
    assert len(rows) > 30
    np.testing.assert_allclose(rows["last_digit"], worth)


def test_known_cells(reference):
    row = printed_number(reference, "oasis-jmlr-2010", "table4", "classes=10", "oasis", "map")
    assert (row["value"], row["spread"], row["unit"]) == (33, 1.6, "percent")
    row = printed_number(reference, "oasis-2009-draft", "table1", "easy10", "euclidean", "p@50")
    assert (row["value"], row["spread"]) == (27, 0.2)


def test_a_cell_without_a_number_keeps_its_row(reference):
    row = printed_number(reference, "oasis-jmlr-2010", "table4", "classes=50", "mcml", "map")
    assert np.isnan(row["value"])
    assert "did not converge" in row["note"]
    assert printed_number(reference, "oasis-jmlr-2010", "table4", "classes=249", "oasis", "map") is None


def test_both_papers_print_the_same_numbers_for_the_same_subsets(reference):
    for method in ("oasis", "mcml", "lego", "lmnn", "euclidean"):
        for metric in ("map", "p@1", "p@10", "p@50"):
            for setting, name in (("classes=10", "var10"), ("classes=20", "var20")):
                jmlr = printed_number(reference, "oasis-jmlr-2010", "table4", setting, method, metric)
                draft = printed_number(reference, "oasis-2009-draft", "table1", name, method, metric)
                assert (jmlr["value"], jmlr["spread"]) == (draft["value"], draft["spread"])


def test_a_missing_or_wrong_file_says_what_to_do(tmp_path):
    with pytest.raises(LookalikeError, match="restore"):
        load(tmp_path / "none.csv")
    (tmp_path / "wrong.csv").write_text("paper,value\na,1\n")
    with pytest.raises(LookalikeError, match=r"lacks the columns .*exhibit"):
        load(tmp_path / "wrong.csv")
