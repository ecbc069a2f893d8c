"""The one form of a table of numbers."""

from lookalike.studies.metrics import COLUMNS, metrics_frame, select


def test_what_a_number_leaves_out_is_filled_in_and_rows_are_found_by_their_values():
    table = metrics_frame([{"subset": name, "metric": "p@k", "x": x, "value": x} for x, name in enumerate("ba")])
    assert tuple(table.columns) == COLUMNS
    (row,) = select(table, subset=["a"], metric="p@k", x=1.0).itertuples(index=False)
    assert (row.fold, row.method, row.value) == (0, "", 1.0)
