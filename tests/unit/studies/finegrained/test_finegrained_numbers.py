"""The study's numbers in the one form."""

from __future__ import annotations

import pytest
from made_studies import made_curves, made_intervals

from lookalike.studies.finegrained.numbers import COUNTS, metrics_of
from lookalike.studies.metrics import COLUMNS, select


def test_every_number_of_a_system_is_a_row():
    table = metrics_of(made_intervals(), {"convnet": made_curves()["convnet"]})
    assert tuple(table.columns) == COLUMNS
    assert set(table["representation"]) == {"images"}
    (row,) = select(table, method="hog", subset="in-class", metric="similarity_precision").itertuples()
    assert (row.value, row.low, row.high) == pytest.approx((62.4, 61.6, 63.2))
    counts = select(table, method="hog", subset="all", metric=COUNTS).set_index("metric")["value"]
    assert counts.to_dict() == dict(zip(COUNTS, (14_000, 3_500, 3, 1_000, 9_800), strict=True))


def test_curves_run_along_what_was_seen_and_are_in_percent():
    curve = made_curves()["convnet"]
    curve.loc[0, "validation_accuracy"] = float("nan")
    table = metrics_of(made_intervals(), {"convnet": curve})
    found = select(table, method="convnet", metric="accuracy", subset="validation")
    assert found["x"].tolist() == curve["seen"].tolist()[1:]
    assert found["value"].tolist() == (100 * curve["validation_accuracy"]).tolist()[1:]
    assert len(select(table, metric="loss")) == 40
