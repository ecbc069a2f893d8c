"""Ours beside print: the join, and how numbers are written."""

import math

import pandas as pd

from lookalike.exhibits import printed

CELL = {"paper": "oasis-jmlr-2010", "exhibit": "table4", "setting": "classes=10", "metric": "map", "dataset": ""}
PRINTED = [
    {**CELL, "method": method, "value": value, "spread": spread, "unit": "percent", "note": note}
    for method, value, spread, note in (("oasis", "33", "1.6", ""), ("lmnn", "", "", "did not converge"))
]


def test_every_number_of_ours_keeps_its_row_and_gets_what_print_has():
    frame = pd.DataFrame({"method": ["oasis", "lmnn", "mcml"], "ours": [40.0, 20.0, 30.0], "ours_std": 0.0})
    cells = printed.beside_print(frame.assign(setting="classes=10", metric="map"), printed.printed_numbers(PRINTED))
    assert cells["ours"].tolist() == [40.0, 20.0, 30.0]
    assert (cells["printed"].tolist()[0], cells["printed_std"].tolist()[0]) == (33, 1.6)
    assert cells["is_printed"].tolist() == [True, True, False], "the paper has a cell without a number"
    assert cells["note"].tolist() == ["", "did not converge", ""]


def test_numbers_of_all_sizes_have_two_digits():
    texts = {(1835.2, 209.6): "1,835 ± 210", (math.nan, 1.0): "-", (0.0, math.nan): "0.0"}
    texts |= {(0.00213, 0.00031): "0.0021 ± 0.0003", (0.12, 0.0004): "0.12 ± 0.0004"}
    assert {numbers: printed.significant(*numbers) for numbers in texts} == texts


def test_durations_are_written_as_people_say_them():
    seconds = [0.0041, 0.001, 0.25, 37.02, 59.96, 5400, 86_400, 240_000, 366 * 86_400, 1e9, math.nan]
    said = ["4.1 ms", "1 ms", "0.25 s", "37 s", "1 min", "1.5 h", "1 day", "2.8 days", "1 year", "32 years", ""]
    assert list(map(printed.human_time, seconds)) == said
