"""Claims: gates before predicates, what each predicate answers to intervals, and how contrasts turn round."""

import math
from dataclasses import replace
from functools import partial

import pytest
from scipy import stats

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import words
from lookalike.exhibits.claims import PREDICATES, Reason, Scope, claims_of, decide, p_at, together
from lookalike.exhibits.contrasts import Contrast, Contrasts, contrasts_frame
from lookalike.exhibits.statuses import Outcome
from lookalike.ranking.comparison import corrected_t_test

HOLDS, FAILS, OPEN, NOT_RUN, LEFT_OUT = Outcome
INF, NAN = math.inf, math.nan


def answered(predicate, groups, **parameters):
    return together(groups, partial(PREDICATES[predicate], **parameters))


def gap(low, high, p=0.01, mean=None, **more):
    row = Contrast("ten", "map", "oasis", "mcml", low if mean is None else mean, low, high, p, 5, "folds")
    return replace(row, **more)


NOTHING = gap(NAN, NAN, NAN)
ENDED, ABSENT = replace(NOTHING, limits="mcml:no result"), replace(NOTHING, limits="mcml:not run")
CASES = [
    # one interval, several of one difference, and several differences
    ("within", {"low": -1}, [[gap(-0.9, 3)]], HOLDS),
    ("within", {"low": -1}, [[gap(-1.1, 3)]], OPEN),
    ("within", {"low": -1}, [[gap(-3, -1.1)]], FAILS),
    ("within", {"low": -1, "high": 1}, [[gap(-0.9, 0), gap(0, 1.1)]], OPEN),
    ("within", {"high": 1}, [[gap(-0.5, 0.5)], [gap(2, 2.2)]], FAILS),
    ("within", {"high": 1}, [[gap(0, 0.9)], [gap(NAN, NAN, mean=0)]], OPEN),
    ("within", {"high": 10}, [[gap(7, INF, interval="so far")]], OPEN),
    # alike is not better, nor worse, and at a bound is not within it
    ("within", {"low": 0}, [[gap(0, 0, 1.0)]], OPEN),
    ("within", {"low": 0}, [[gap(0.0, 2)]], OPEN),
    ("within", {"high": 0}, [[gap(-2, -1)]], HOLDS),
    # both intervals have to lie there, and p to be small
    ("within", {"low": 0}, [[gap(0.1, 2), gap(0.2, 1)]], HOLDS),
    ("within", {"low": 0}, [[gap(0.1, 2, p=0.05)]], OPEN),
    ("within", {"low": 0}, [[gap(0.1, 2, p=NAN)]], HOLDS),
    ("within", {"low": 0}, [[gap(-2, -0.1)]], FAILS),
    # one of several that lies below by chance does not refute
    ("within", {"low": 0}, [[gap(-9, -1, 0.03)]], FAILS),
    ("within", {"low": 0}, [[gap(-9, -1, 0.03, first=name)] for name in "abc"], OPEN),
    ("within", {"low": 0}, [[gap(-9, -1, 0.01, first=name)] for name in "abc"], FAILS),
    # what did not end or was not run counts only alone
    ("within", {"high": 1}, [[gap(0, 0.9)], [ENDED], [ABSENT]], HOLDS),
    ("within", {"high": 1}, [[ENDED], [ABSENT]], LEFT_OUT),
    ("within", {"high": 1}, [[ABSENT]], NOT_RUN),
    ("within", {"high": 1}, [[gap(0, 0.9)], [NOTHING]], OPEN),
    ("within", {"high": 1}, [], NOT_RUN),
    ("at_every_k", {}, [[gap(1, 2), gap(-1, 3, mean=1), gap(0, 2, mean=1)]], HOLDS),
    ("at_every_k", {}, [[gap(1, 2), gap(-3, 1, 0.3, mean=-1)]], OPEN),
    ("at_every_k", {}, [[gap(1, 2), gap(-1, 1, 1.0, mean=0)]], OPEN),
    ("at_every_k", {}, [[gap(1, 2), gap(-3, -1, 0.01, mean=-2)]], FAILS),
    ("at_every_k", {}, [[gap(-2, -1), gap(0, 2, mean=1)]], FAILS),
]


@pytest.mark.parametrize(("predicate", "parameters", "groups", "outcome"), CASES)
def test_what_a_predicate_answers(predicate, parameters, groups, outcome):
    found = answered(predicate, groups, **parameters)
    assert found.outcome is outcome
    assert {row.key for row in found.rows} <= {row.key for group in groups for row in group}


def test_every_predicate_is_tried():
    assert {case[0] for case in CASES} == set(PREDICATES)


FOLDS = [2.1, 2.9, 1.8, 2.4, 2.2]
TESTED = corrected_t_test(FOLDS, 40, 25)
ROW = Contrast("", "map", "a", "b", TESTED.mean, TESTED.low, TESTED.high, TESTED.p, 5, "folds")
SCORES = Contrast("", "score", "a", "b", 3.0, 1.0, 5.0, 0.003, 900, "query images")


def test_the_p_of_a_verdict_is_that_of_the_test_behind_its_interval():
    assert p_at(ROW, 0) == TESTED.p == pytest.approx(p_at(replace(ROW, p=NAN), 0))
    # from another bound, and by the normal distribution of many queries
    assert p_at(SCORES, 0.5) == pytest.approx(2 * stats.norm.sf(2.5 / (2 / stats.norm.ppf(0.975))))
    # the nearer end of a skew interval
    assert p_at(replace(SCORES, high=9.0), 1.0) == pytest.approx(0.05)
    # it holds with the largest, and fails with the smallest times their number
    holds = answered("within", [[ROW], [SCORES]], low=0)
    assert (holds.outcome, holds.p) == (HOLDS, max(ROW.p, SCORES.p))
    fails = answered("within", [[ROW], [SCORES]], high=0)
    assert (fails.outcome, fails.p) == (FAILS, 2 * min(ROW.p, SCORES.p))
    assert math.isnan(answered("within", [[SCORES]], low=2).p), "it is open"


class Study:
    """A study of two parts, without LMNN."""

    not_run = ""

    def __init__(self, *rows, **more):
        self.contrasts = Contrasts.read(contrasts_frame(rows))
        vars(self).update(more)

    def scope_of(self, claim):
        return Scope(["five", "ten"])

    def role(self, name):
        return {"learned": ["oasis", "mcml"]}.get(name, [name])

    def was_run(self, method, setting=""):
        return method != "lmnn"

    def follows_protocol(self):
        return False

    def title_of(self, method):
        return method.upper()

    def setting_title(self, setting):
        return f"{setting} classes"


def claim(contrasts="map: oasis - mcml", predicate="within", parameters='{"low": 0}', **more):
    names = ("id", "paper", "place", "exhibit", "text", "study", "settings", "limits", "protocol", "run", "seen")
    row = dict.fromkeys(names, "")
    (found,) = claims_of([{**row, "contrasts": contrasts, "predicate": predicate, "parameters": parameters, **more}])
    return found


GRID = gap(1, 2, limits="mcml:grid")


@pytest.mark.parametrize(
    ("asked", "study", "outcome", "reason", "first"),
    [
        (claim(), Study(GRID), HOLDS, Reason.DECIDED,
         "ten classes: OASIS is 1.0 points higher than MCML in mAP (95% interval 1.0 to 2.0), p 0.010"),
        # whichever way it was taken
        (claim("map: mcml - oasis"), Study(GRID), FAILS, Reason.DECIDED,
         "ten classes: MCML is 1.0 points lower than OASIS in mAP (95% interval −2.0 to −1.0), p 0.010"),
        (claim("map: learned - learned"), Study(GRID), FAILS, Reason.DECIDED, "ten classes: MCML is 1.0 points lower"),
        (claim(limits="grid"), Study(GRID), OPEN, Reason.LIMIT, "MCML chose an end of its grid (ten classes)."),
        (claim(limits="steps"), Study(GRID), HOLDS, Reason.DECIDED, "ten classes"),
        (claim(protocol="it is ours"), Study(GRID), OPEN, Reason.PROTOCOL, "It is about another protocol: it is ours."),
        (claim("map: oasis - lmnn"), Study(GRID), NOT_RUN, Reason.NOT_RUN, "LMNN not run."),
        (claim(), Study(GRID, not_run="not run: put it there"), NOT_RUN, Reason.NOT_RUN, "not run: put it there"),
        (claim("time: oasis - mcml"), Study(GRID), NOT_RUN, Reason.NOT_RUN, "five classes and ten classes: no time"),
    ],
)  # fmt: skip
def test_gates_stand_before_the_predicate_and_are_told_first(asked, study, outcome, reason, first):
    verdict = decide(asked, study)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    assert [*filter(None, [verdict.why]), *words.evidence(verdict, study)][0].startswith(first)


def test_a_number_without_an_interval_decides_nothing():
    for interval, found in {"": (OPEN, Reason.NO_INTERVAL), "folds": (HOLDS, Reason.DECIDED)}.items():
        verdict = decide(claim(), Study(gap(1, 2, p=NAN, interval=interval)))
        assert (verdict.outcome, verdict.reason) == found


def test_a_predicate_that_there_is_not_is_told():
    with pytest.raises(LookalikeError, match="claim : there is no predicate 'below'"):
        decide(claim(predicate="below"), Study(GRID))


@pytest.mark.parametrize(("row", "turned"), [(gap(-1, 5, mean=2, printed=4.0), (-2, -5, 1, -4))])
def test_a_contrast_is_found_either_way_round(row, turned):
    """A difference changes its sign, with its interval and its print."""
    (found,) = Contrasts([row]).intervals("ten", row.metric, "mcml", "oasis")
    assert (found.mean, found.low, found.high, found.printed) == turned
    assert (found.first, found.second, found.p, found.reversed()) == ("mcml", "oasis", row.p, row)
