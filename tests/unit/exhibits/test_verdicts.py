"""Claims: gates before rules, how findings of parts make one, and bounds on differences."""

import math
from types import SimpleNamespace

import pytest
import toy

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.verdicts import (
    COLUMNS,
    FAILS,
    HOLDS,
    LEFT_OUT,
    OPEN,
    Finding,
    claims_of,
    claims_table,
    of_parts,
    rule,
    rules_of,
    superior,
    together,
    within,
)


@rule
def above(study, bound):
    """Something lies above a bound. More words."""
    return Finding(HOLDS if bound < 1 else FAILS, f"bound {bound}")


RULES = rules_of(SimpleNamespace(above=above, helper=len))


def row(**values):
    return {**dict.fromkeys(COLUMNS, ""), "id": "a", "paper": "oasis-jmlr-2010", **values}


def table(tmp_path, *rows, **settings):
    study = toy.study(tmp_path, **settings)
    study.claim_rows = rows
    return claims_table(study, RULES).frame.set_index("id")


def test_a_rule_gets_the_parameters_of_its_claim(tmp_path):
    rows = [row(id=str(bound), rule="above", parameters=f'{{"bound": {bound}}}') for bound in (0.5, 2)]
    found = table(tmp_path, *rows)
    assert found["verdict"].to_dict() == {"0.5": HOLDS, "2": FAILS}
    assert found.loc["0.5", "evidence"] == "bound 0.5"
    assert found.loc["0.5", "decided_by"] == "Something lies above a bound."


def test_gates_come_before_the_rule(tmp_path):
    without = table(tmp_path, row(note="nobody can tell"))
    assert without.loc["a", ["verdict", "evidence"]].tolist() == [OPEN, "nobody can tell"]
    not_run = table(tmp_path, row(rule="above"), not_run="not run: put images at data/toy")
    assert not_run.loc["a", "verdict"] == "not run"


def test_a_rule_that_there_is_not_is_said_in_one_sentence(tmp_path):
    with pytest.raises(LookalikeError, match="no rule 'below'"):
        table(tmp_path, row(rule="below"))


def test_parameters_and_lists_of_a_row():
    (claim,) = claims_of([row(settings="classes=10;classes=20", depends="lmnn", parameters='{"low": -0.01}')])
    assert (claim.settings, claim.depends, claim.parameters) == (
        ("classes=10", "classes=20"),
        ("lmnn",),
        {"low": -0.01},
    )


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, FAILS, OPEN], FAILS),
        ([HOLDS, OPEN], OPEN),
        ([HOLDS, LEFT_OUT], HOLDS),
        ([LEFT_OUT], LEFT_OUT),
        ([], OPEN),
    ],
)
def test_a_claim_about_several_holds_only_if_all_do(verdicts, verdict):
    assert together([Finding(one, "") for one in verdicts]).verdict == verdict


def test_what_all_parts_say_alike_is_said_once():
    same = {"Ten": Finding(LEFT_OUT, "no curve"), "Twenty": Finding(LEFT_OUT, "no curve")}
    assert of_parts(same) == Finding(OPEN, "no curve")
    assert of_parts({**same, "Ten": Finding(HOLDS, "+1")}).evidence == "Ten: +1; Twenty: no curve"


@pytest.mark.parametrize(
    ("intervals", "verdict"),
    [
        ([(0.01, 0.02), (0.001, 0.05)], HOLDS),
        ([(-0.02, -0.01), (-0.03, -0.02)], FAILS),
        ([(-0.005, 0.005), (-0.01, 0.01)], FAILS),  # a difference, if any, is within the margin
        ([(-0.02, 0.03), (0.001, 0.05)], OPEN),
        ([(math.nan, 1.0), (0.1, 0.2)], OPEN),
    ],
)
def test_a_difference_is_above_zero_where_all_intervals_are(intervals, verdict):
    assert superior(intervals) == verdict


@pytest.mark.parametrize(
    ("intervals", "inside"),
    [([(0, 1)], True), ([(0, 3)], None), ([(3, 4), (2.5, 5)], False), ([(3, 4), (-2, -1)], None)],
)
def test_within_needs_every_interval(intervals, inside):
    assert within(intervals, 0, 2) is inside
