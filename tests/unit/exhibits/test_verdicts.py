"""Claims: gates before rules, how findings of parts make one, and bounds on differences."""

import math

import pytest
import toy

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.verdicts import (
    COLUMNS,
    FAILS,
    HOLDS,
    LEFT_OUT,
    NOT_TESTED,
    OPEN,
    Finding,
    both_ways,
    claims_of,
    claims_table,
    of_parts,
    superior,
    together,
    triplets_seen,
    within,
)


def above(study, bound):
    """Something lies above a bound. More words."""
    return Finding(HOLDS if bound < 1 else FAILS, f"bound {bound}")


RULES = {"above": above}


def row(**values):
    return {**dict.fromkeys(COLUMNS, ""), "id": "a", "paper": "oasis-jmlr-2010", **values}


def table(tmp_path, *rows, without=(), at_end_of_grid=0, **settings):
    """Verdicts on a toy study that lacks methods, and whose LMNN chose an end of its grid in some of five fits."""
    study = toy.study(tmp_path, **settings)
    study.claim_rows, study.was_run = rows, lambda method: method not in without
    ends = {("grid", "lmnn"): {"Ten": [place < at_end_of_grid for place in range(5)]}}
    study.ended_by = lambda *asked: ends.get(asked, {})
    return claims_table(study, RULES).frame.set_index("id")


def test_a_rule_gets_the_parameters_of_its_claim(tmp_path):
    with pytest.raises(LookalikeError, match="no rule 'below'"):
        table(tmp_path, row(rule="below"))
    rows = [row(id=str(bound), rule="above", parameters=f'{{"bound": {bound}}}') for bound in (0.5, 2)]
    found = table(tmp_path, *rows)
    assert found["verdict"].to_dict() == {"0.5": HOLDS, "2": FAILS}
    assert found.loc["0.5", "evidence"] == "bound 0.5"
    assert found.loc["0.5", "decided_by"] == "Something lies above a bound."
    (claim,) = claims_of([row(settings="classes=10;classes=20", methods="lmnn")])
    assert (claim.settings, claim.methods, claim.parameters) == (("classes=10", "classes=20"), ("lmnn",), {})


def test_gates_come_before_the_rule(tmp_path):
    ours, printed = {"implementation": "it is fast"}, {"printed_number": "0.94"}
    for values, settings, gate, why in (
        ({"rule": "", "note": "nobody ran it"}, {}, "not run", "nobody ran it"),
        ({}, {"not_run": "not run: put X at Y"}, "not run", "not run: put X at Y"),
        ({}, {"without": ["lmnn", "lmnn-naive"]}, "not run", "LMNN or LMNN (naive) not run"),
        # one of several implementations is enough
        ({}, {"without": ["lmnn"]}, "", ""),
        (ours, {}, "implementation", "It tells of our implementation, not of the method: it is fast."),
        (printed, {}, "printed number",
         "The claim is about a printed number (0.94), and these are not the paper's data (made by code)."),
        (printed, {"synthetic": False}, "", ""),
        ({"limits": "steps;grid"}, {"at_end_of_grid": 2}, "limit: grid",
         "LMNN chose an end of its grid in 2 of 5 fits (Ten)."),
        ({"limits": "steps;grid"}, {"at_end_of_grid": 1}, "", ""),
        ({"limits": "steps"}, {"at_end_of_grid": 5}, "", ""),
    ):  # fmt: skip
        asked = {"rule": "above", "parameters": '{"bound": 0.5}', "methods": "oasis;lmnn|lmnn-naive", **values}
        found = table(tmp_path, row(**asked), **settings).loc["a"]
        expected = {"": (HOLDS, "bound 0.5"), "not run": (NOT_TESTED, why)}
        verdict, evidence = expected.get(gate, (OPEN, f"{why} The numbers: bound 0.5"))
        assert found[["verdict", "gate", "evidence"]].tolist() == [verdict, gate, evidence]


def test_times_hold_in_both_ways_or_not_at_all():
    for ways, verdict in (((HOLDS, HOLDS), HOLDS), ((FAILS, FAILS), FAILS), ((HOLDS, FAILS), OPEN)):
        found = both_ways(*(Finding(one, one) for one in ways))
        assert (found.verdict, found.evidence) == (verdict, f"in total: {ways[0]}; by the triplet: {ways[1]}")
    assert triplets_seen("OASIS", 1e5, 0.38) == "OASIS 100,000 triplets at 3.8 µs each"


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [([HOLDS, HOLDS], HOLDS), ([HOLDS, FAILS, OPEN], FAILS), ([HOLDS, OPEN], OPEN), ([HOLDS, LEFT_OUT], HOLDS),
     ([LEFT_OUT, NOT_TESTED], LEFT_OUT), ([NOT_TESTED], NOT_TESTED), ([], OPEN)],
)  # fmt: skip
def test_a_claim_about_several_holds_only_if_all_do(verdicts, verdict):
    assert together([Finding(one, "") for one in verdicts]).verdict == verdict


def test_what_all_parts_say_alike_is_said_once():
    same = {"Ten": Finding(LEFT_OUT, "no curve"), "Twenty": Finding(LEFT_OUT, "no curve")}
    assert of_parts(same) == Finding(OPEN, "no curve")
    assert of_parts({**same, "Ten": Finding(HOLDS, "+1")}).evidence == "Ten: +1; Twenty: no curve"


@pytest.mark.parametrize(
    ("intervals", "verdict"),
    [([(0.01, 0.02), (0.001, 0.05)], HOLDS), ([(-0.02, -0.01), (-0.03, -0.02)], FAILS),
     # a difference, if any, is within the margin
     ([(-0.005, 0.005), (-0.01, 0.01)], FAILS),
     ([(-0.02, 0.03), (0.001, 0.05)], OPEN), ([(math.nan, 1.0), (0.1, 0.2)], OPEN)],
)  # fmt: skip
def test_a_difference_is_above_zero_where_all_intervals_are(intervals, verdict):
    assert superior(intervals) == verdict


@pytest.mark.parametrize(
    ("intervals", "inside"),
    [([(0, 1)], True), ([(0, 3)], None), ([(3, 4), (2.5, 5)], False), ([(3, 4), (-2, -1)], None)],
)
def test_within_needs_every_interval(intervals, inside):
    assert within(intervals, 0, 2) is inside
