"""Ours beside print: how far a number was printed, the join, the rule of a status at its boundaries, and states."""

import csv
import math

import pandas as pd
import pytest
from project import ROOT

from lookalike.exhibits import printed

CELL = {"paper": "oasis-jmlr-2010", "exhibit": "table4", "setting": "classes=10", "metric": "map", "dataset": ""}
PRINTED = [
    {**CELL, "method": method, "value": value, "spread": spread, "unit": "percent", "note": note}
    for method, value, spread, note in (("oasis", "33", "1.6", ""), ("lmnn", "", "", "did not converge"))
]


@pytest.mark.parametrize(
    ("text", "digit"),
    [("33", 1), ("0.33", 0.01), ("1.6", 0.1), ("33.0", 1), ("35000", 1000), ("139944", 1), ("100", 1), ("0", 1)],
)
def test_worth_of_the_last_printed_digit(text, digit):
    assert printed.last_digit(text) == pytest.approx(digit)


def project_numbers():
    path = ROOT / "workflow" / "resources" / "reference-values.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return printed.printed_numbers(csv.DictReader(file))


@pytest.mark.parametrize(
    ("paper", "exhibit", "digit"),
    # 33 ± 1.6 percent; 0.33 ± 0.016, kept as 33.0 percent; 40.6 in a column with 57.42 was printed 40.60
    [("oasis-jmlr-2010", "table4", 1), ("oasis-2009-draft", "table1", 1), ("soml-aaai-2014", "table1", 0.01)],
)
def test_whole_tables_are_printed_equally_far(paper, exhibit, digit):
    table = project_numbers()
    rows = table[(table["paper"] == paper) & (table["exhibit"] == exhibit)]
    assert len(rows) > 30
    assert rows["last_digit"].tolist() == pytest.approx([digit] * len(rows))


@pytest.mark.parametrize(
    ("ours", "n_folds", "status"),
    # two standard errors, 2 sqrt((3^2 + 4^2) / 5) + 0.5 = 4.9721, with one fold 2 sqrt(3^2 + 4^2 / 5) + 0.5 = 7.4857
    # and two standard deviations, 2 sqrt(3^2 + 4^2) + 0.5 = 10.5; the boundary counts
    [
        *((33.0, 5, "agrees"), (37.9721, 5, "agrees"), (28.0278, 5, "close"), (38.0, 1, "agrees")),
        *((43.5, 5, "close"), (22.5, 5, "close"), (43.5001, 5, "higher"), (22.4999, 5, "lower")),
    ],
)
def test_boundaries_of_the_rule(ours, n_folds, status):
    assert printed.status_of(ours, 33.0, 3.0, 4.0, 1.0, n_folds) == status


def test_without_any_spread_only_rounding_is_tolerated():
    assert [printed.status_of(ours, 33.0, 0.0, 0.0, 1.0) for ours in (33.5, 33.51)] == ["agrees", "higher"]
    # 0.35 - 0.3 is a hair more than 0.05 in binary; the boundary still agrees
    assert printed.status_of(0.35, 0.3, 0.0, 0.0, 0.1) == "agrees"


def cells_of(ours, judge=lambda cell: None):
    frame = pd.DataFrame({"method": ["oasis", "lmnn", "mcml"], "ours": [ours, 20.0, 30.0], "ours_std": 0.0})
    return printed.beside_print(
        frame.assign(setting="classes=10", metric="map"), printed.printed_numbers(PRINTED), judge=judge
    )


def test_every_number_of_ours_keeps_its_row_and_gets_what_print_has():
    cells = cells_of(40.0)
    assert cells["printed"].tolist()[0] == 33
    assert cells["status"].tolist() == ["higher", "no printed value", ""]
    assert cells["reason"].tolist() == ["", "did not converge", ""]
    assert cells_of(math.nan)["status"].tolist()[0] == "no result"
    # one that may not be compared says why
    cells = cells_of(40.0, judge=lambda cell: ("not comparable", "synthetic images"))
    assert cells["status"].tolist() == ["not comparable", "not comparable", ""]
    assert cells["reason"].tolist()[0] == "synthetic images"


@pytest.mark.parametrize(
    ("statuses", "state"),
    [
        ([], "no printed number"),
        (["", "no printed value"], "no printed number"),
        (["not comparable", "no result"], "not comparable"),
        (["agrees", "not comparable"], "agrees"),
        (["agrees", "close"], "close"),
        (["agrees", "close", "higher"], "higher"),
        (["lower", "higher"], "mixed"),
    ],
)
def test_state_of_an_exhibit(statuses, state):
    assert printed.state_of(printed.count_statuses(pd.DataFrame({"status": statuses}, dtype=str))) == state


def test_numbers_of_all_sizes_have_two_digits():
    texts = {(1835.2, 209.6): "1,835 ± 210", (math.nan, 1.0): "-", (0.0, math.nan): "0.0"}
    texts |= {(0.00213, 0.00031): "0.0021 ± 0.0003", (0.12, 0.0004): "0.12 ± 0.0004"}
    assert {numbers: printed.significant(*numbers) for numbers in texts} == texts


def test_durations_are_written_as_people_say_them():
    seconds = [0.0041, 0.001, 0.25, 37.02, 59.96, 5400, 86_400, 240_000, 366 * 86_400, 1e9, math.nan]
    said = ["4.1 ms", "1 ms", "0.25 s", "37 s", "1 min", "1.5 h", "1 day", "2.8 days", "1 year", "32 years", ""]
    assert list(map(printed.human_time, seconds)) == said
