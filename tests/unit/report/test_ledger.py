"""The ledger: printed numbers and claims beside ours, from tables at hand and from kept runs."""

from made_report import CLAIMS, JMLR, SOML

from lookalike.report.ledger import COLUMNS, ledger, numbers_at_hand, numbers_of
from lookalike.report.results import Results

PRINTED = [
    *({"paper": JMLR, "exhibit": "table4", "value": value} for value in ("33", "39", "")),
    *({"paper": SOML, "exhibit": "table1", "value": value} for value in ("45", "49")),
]
RUNS = [{"exhibit": f"{JMLR}/table4", "run": "long;demo", "change": "another ten"}]


def test_numbers_are_those_that_a_table_has_with_printed(toys):
    numbers = numbers_of(Results(toys)["demo"])
    # MCML has no printed number of the other metric, and one of ours is missing
    assert [(number["what"], number["ours"], number["printed"]) for number in numbers] == [
        ("mAP, OASIS", "41 ± 1.6", "33 ± 1.6"),
        ("mAP, MCML", "39 ± 1.6", "39 ± 1.7"),
        ("top 1, OASIS", "56", "43"),
        ("top 1, MCML", "50", "39"),
        ("top 1, LEGO", "-", "39"),
    ]
    assert {number["draws"] for number in numbers} == {
        "demo title, means over 5 folds; error bars are standard errors."
    }


def test_a_row_has_ours_in_the_demo_and_in_the_first_long_run_that_has_the_number(toys):
    results = Results(toys)
    first, *_ = numbers_of(results["demo"])
    long = {"dataset": "long", "synthetic": False, "numbers": [first | {"ours": "30 ± 1", "run": "long run"}]}
    numbers = numbers_at_hand(results, [long, {"dataset": "made", "synthetic": True, "numbers": []}])
    assert "made" not in numbers
    assert "websim_demo" not in numbers
    rows = ledger(numbers, [*CLAIMS, {**CLAIMS[1], "dataset": "long", "title": "long run", "verdict": "undecided"}],
                  PRINTED, RUNS, ["demo"])  # fmt: skip
    assert tuple(rows.columns) == COLUMNS
    found = rows.set_index("what")
    row = found.loc["mAP, OASIS"]
    assert (row["printed"], row["demo"], row["longest"], row["run"]) == ("33 ± 1.6", "41 ± 1.6", "30 ± 1", "long run")
    assert (row["place"], row["change"]) == ("Table 4", "another ten")
    assert (found.loc["mAP, MCML", "demo"], found.loc["mAP, MCML", "longest"]) == ("39 ± 1.6", "")
    # of a table that no run has, one row says how many numbers it prints
    assert found.loc["2 printed numbers, none of them run on photographs", "place"] == "Table 1"
    claim = found.loc["OASIS is best."]
    assert (claim["demo"], claim["longest"], claim["change"]) == ("holds", "undecided", "another ten")
    assert list(rows["paper"]) == sorted(rows["paper"], key=[JMLR, SOML].index)
