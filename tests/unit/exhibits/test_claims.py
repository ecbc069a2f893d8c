"""Claims: gates before predicates, what each predicate answers to intervals, and how contrasts turn round."""

import math
from dataclasses import replace

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import words
from lookalike.exhibits.claims import PREDICATES, Reason, Scope, claims_of, decide
from lookalike.exhibits.contrasts import Contrast, Contrasts, contrasts_frame
from lookalike.exhibits.statuses import Outcome

HOLDS, FAILS, OPEN, NOT_TESTED, LEFT_OUT = Outcome
INF, NAN = math.inf, math.nan


def gap(low, high, p=0.01, mean=None, **more):
    row = Contrast("ten", "map", "oasis", "mcml", low if mean is None else mean, low, high, p, 5, "folds")
    return replace(row, **more)


def ratio(mean, low=None, high=None, metric="training time"):
    ends = (mean if end is None else end for end in (low, high))
    return gap(*ends, mean=mean, unit="ratio", metric=metric)


def level(mean, setting="ten", **more):
    return gap(mean, mean, setting=setting, second="", **more)


NOTHING = gap(NAN, NAN, NAN)
ENDED, ABSENT = replace(NOTHING, limits="mcml:no result"), replace(NOTHING, limits="mcml:not run")
CASES = [
    # one interval, several of one difference, and several differences
    ("within", {"low": -1}, [[gap(-1, 3)]], HOLDS),
    ("within", {"low": -1}, [[gap(-1.1, 3)]], OPEN),
    ("within", {"low": -1}, [[gap(-3, -1.1)]], FAILS),
    ("within", {"low": -1, "high": 1}, [[gap(-1, 0), gap(0, 1.1)]], OPEN),
    ("within", {"high": 1}, [[gap(0, 1)], [gap(2, 3)]], FAILS),
    ("within", {"high": 1}, [[gap(0, 1)], [gap(NAN, NAN, mean=0)]], OPEN),
    ("within", {"high": 10}, [[gap(7, INF)]], OPEN),
    # alike is not better, nor worse
    ("within", {"low": 0, "adjusted": True}, [[level(0)]], HOLDS),
    ("within", {"low": 0, "adjusted": True, "strictly": True}, [[level(0)]], OPEN),
    ("within", {"high": 0, "adjusted": True, "strictly": True}, [[level(0)]], OPEN),
    ("within", {"high": 0, "strictly": True}, [[gap(-2, -1)]], HOLDS),
    # what a paper does not speak of bears its claim out, and does not refute it
    ("within", {"low": 0, "never_fails": "colour"}, [[gap(1, 2)], [gap(-2, -1, metric="colour")]], OPEN),
    ("within", {"low": 0, "never_fails": "colour"}, [[gap(-2, -1)], [gap(1, 2, metric="colour")]], FAILS),
    ("within", {"low": 0, "never_fails": "colour"}, [[gap(1, 2)], [gap(1, 2, metric="colour")]], HOLDS),
    # what did not end or was not run counts only alone
    ("within", {"high": 1}, [[gap(0, 1)], [ENDED], [ABSENT]], HOLDS),
    ("within", {"high": 1}, [[ENDED], [ABSENT]], LEFT_OUT),
    ("within", {"high": 1}, [[ABSENT]], NOT_TESTED),
    ("within", {"high": 1}, [[gap(0, 1)], [NOTHING]], OPEN),
    ("within", {"high": 1}, [], NOT_TESTED),
    ("above", {}, [[gap(0.1, 2), gap(0.2, 1)]], HOLDS),
    ("above", {}, [[gap(0.0, 2)]], OPEN),
    ("above", {}, [[gap(0.1, 2, p=0.05)]], OPEN),
    ("above", {}, [[gap(0.1, 2, p=NAN)]], HOLDS),
    ("above", {}, [[gap(-2, -0.1)]], FAILS),
    # better has no size; what has one is refuted within it
    ("above", {}, [[gap(-1, 0.9, p=0.9)]], OPEN),
    ("above", {"margin": 1}, [[gap(-1, 0.9, p=0.9)]], FAILS),
    ("above", {"margin": 1}, [[gap(-1.1, 0.9, p=0.9)]], OPEN),
    ("above", {}, [[gap(0.1, 0.9)]], HOLDS),
    ("near_print", {"margin": 0.02}, [[level(0.93, printed=0.94)]], HOLDS),
    ("near_print", {"margin": 0.02}, [[level(0.91, printed=0.94)]], FAILS),
    ("at_most_print", {"times": 2}, [[level(6, printed=3)]], HOLDS),
    ("at_most_print", {"times": 2}, [[gap(5, INF, printed=3)]], OPEN),
    ("at_most_print", {"times": 2}, [[level(INF, printed=3)]], FAILS),
    ("around_print", {}, [[gap(1, 3, printed=3)]], HOLDS),
    ("around_print", {}, [[gap(1, 3, printed=3.1)]], FAILS),
    ("at_least", {"times": 10}, [[ratio(10)]], HOLDS),
    ("at_least", {"times": 10}, [[ratio(12)], [ratio(9, metric="by the triplet")]], OPEN),
    ("at_least", {"times": 10}, [[ratio(9)], [ratio(8, metric="by the triplet")]], FAILS),
    ("at_least", {"times": 1}, [[ratio(1)]], FAILS),
    # faster by about one order of magnitude is not faster by two
    ("at_least", {"times": 3, "most": 30}, [[ratio(30)]], HOLDS),
    ("at_least", {"times": 3, "most": 30}, [[ratio(31)]], FAILS),
    ("at_least", {"times": 10}, [[ratio(12, 0.0, INF)]], OPEN),
    ("on_average", {"times": 1.9}, [[ratio(1.2)], [ratio(3.1)]], HOLDS),
    ("on_average", {"times": 2}, [[ratio(1.2)], [ratio(3.1)]], FAILS),
    # one above the bound is against a guarantee
    ("not_always", {"most": 1}, [[ratio(0.5)], [ratio(1.2)]], HOLDS),
    ("not_always", {"most": 1}, [[ratio(0.5)], [ratio(0.9)]], FAILS),
    ("not_always", {"most": 1}, [[ratio(0.5)], [ratio(2, 0.0, INF)]], OPEN),
    ("at_every_k", {}, [[gap(1, 2), gap(-1, 3, mean=1), gap(0, 2, mean=1)]], HOLDS),
    ("at_every_k", {}, [[gap(1, 2), gap(-3, 1, 0.3, mean=-1)]], OPEN),
    ("at_every_k", {}, [[gap(1, 2), gap(-3, -1, 0.01, mean=-2)]], FAILS),
    ("at_every_k", {}, [[gap(-2, -1), gap(0, 2, mean=1)]], FAILS),
    ("increases", {}, [[level(3, "five")], [level(4)]], HOLDS),
    ("increases", {"decreases": True}, [[level(3, "five")], [level(4)]], FAILS),
    ("increases", {}, [[level(3, "five")], [level(3)]], FAILS),
    ("increases", {}, [[gap(3, INF, setting="five")], [level(4)]], OPEN),
    ("increases", {}, [[gap(5, 5, setting="five")], [gap(4, INF)]], OPEN),
    ("increases", {}, [[level(4)]], OPEN),
    ("largest", {}, [[level(5)], [level(4)], [gap(9, INF)]], HOLDS),
    ("largest", {}, [[level(5)], [level(6)]], FAILS),
    ("largest", {}, [[gap(5, INF)], [level(6)]], LEFT_OUT),
    ("does_not_end", {}, [[ENDED]], HOLDS),
    ("does_not_end", {}, [[level(5)]], FAILS),
    ("overfits", {"times": 5}, [[gap(20, 24)], [gap(1, 2)], [gap(18, 22)]], HOLDS),
    ("overfits", {"times": 5}, [[gap(4, 5)], [gap(1, 2)], [gap(2, 4)]], FAILS),
    ("overfits", {"times": 5}, [[gap(20, 24)], [gap(1, 2)], [gap(0.5, 22)]], OPEN),
    ("falls", {}, [[gap(-3, -1)], [level(5)], [level(4)]], HOLDS),
    ("falls", {}, [[gap(-3, -1)], [level(5)], [level(6)], [level(4)]], OPEN),
    ("falls", {}, [[level(-1)], [level(5)], [level(6)], [level(4)]], FAILS),
    ("falls", {}, [[gap(1, 3, mean=2, interval="")], [level(5)], [level(6)]], FAILS),
    ("both_ways", {"low": 1}, [[ratio(2)], [ratio(0.5, metric="by the triplet")]], OPEN),
    ("both_ways", {"low": 1}, [[ratio(2)], [ratio(3, metric="by the triplet")]], HOLDS),
    # one of several that lies below by chance does not refute
    ("within", {"low": 0, "adjusted": True}, [[gap(-9, -1, 0.03)]], FAILS),
    ("within", {"low": 0, "adjusted": True}, [[gap(-9, -1, 0.03, first=name)] for name in "abc"], OPEN),
    ("within", {"low": 0, "strictly": True}, [[level(0)]], FAILS),
    ("falls_from_one", {"rise": 0.1}, [[level(1)], [level(-0.2)], [level(0.1)]], HOLDS),
    ("falls_from_one", {"rise": 0.1}, [[level(1)], [gap(-INF, INF, mean=-0.2)], [level(0)]], OPEN),
    ("falls_from_one", {"rise": 0.1}, [[level(1)], [level(-0.2)], [level(0.2)]], FAILS),
    ("falls_from_one", {"rise": 0.1}, [[level(0.9)], [level(-0.2)], [level(0)]], FAILS),
]


@pytest.mark.parametrize(("predicate", "parameters", "groups", "outcome"), CASES)
def test_what_a_predicate_answers(predicate, parameters, groups, outcome):
    found = PREDICATES[predicate](groups, **parameters)
    assert found.outcome is outcome
    assert {row.key for row in found.rows} <= {row.key for group in groups for row in group}


def test_every_predicate_is_tried_and_has_words():
    assert {case[0] for case in CASES} == set(PREDICATES) == set(words.BOUNDS)


class Study:
    """A study of two parts, without LMNN."""

    not_run = ""
    simulated = False

    def __init__(self, *rows, **more):
        self.contrasts = Contrasts.read(contrasts_frame(rows))
        vars(self).update(more)

    def scope_of(self, claim):
        return Scope(["five", "ten"])

    def role(self, name):
        return {"learned": ["oasis", "mcml"]}.get(name, [name])

    def was_run(self, method, setting=""):
        return method != "lmnn"

    def other_data(self, settings):
        return "other classes"

    def title_of(self, method):
        return method.upper()

    def setting_title(self, setting):
        return f"{setting} classes"


def claim(contrasts="map: oasis - mcml", predicate="within", parameters='{"low": 0}', **more):
    row = dict.fromkeys(("id", "paper", "place", "exhibit", "text", "study", "settings", "limits", "printed_number",
                         "implementation", "protocol", "note"), "")  # fmt: skip
    row["kind"] = "precision"
    (found,) = claims_of([{**row, "contrasts": contrasts, "predicate": predicate, "parameters": parameters, **more}])
    return found


ROW = gap(1, 2, limits="mcml:grid")


@pytest.mark.parametrize(
    ("asked", "study", "outcome", "reason", "first"),
    [
        (claim(), Study(ROW), HOLDS, Reason.DECIDED, "ten classes: OASIS minus MCML +1.0 points [+1.0, +2.0], p of"),
        # whichever way it was taken
        (claim("map: mcml - oasis"), Study(ROW), FAILS, Reason.DECIDED,
         "ten classes: MCML minus OASIS −1.0 points [−2.0, −1.0], p of no difference 0.010"),
        (claim("map: learned - learned"), Study(ROW), FAILS, Reason.DECIDED, "ten classes: MCML minus OASIS"),
        (claim(limits="grid"), Study(ROW), OPEN, Reason.LIMIT, "MCML chose an end of its grid (ten classes)."),
        (claim(limits="steps"), Study(ROW), HOLDS, Reason.DECIDED, "ten classes"),
        (claim(implementation="it is ours"), Study(ROW), OPEN, Reason.IMPLEMENTATION,
         "It tells of our implementation, not of the method: it is ours."),
        (claim(implementation="it is ours", kind="implementation"), Study(ROW), HOLDS, Reason.DECIDED, "ten classes"),
        (claim(printed_number="7"), Study(ROW), OPEN, Reason.PRINTED_NUMBER, "The claim is about a printed number (7)"),
        (claim("map: oasis - lmnn"), Study(ROW), NOT_TESTED, Reason.NOT_RUN, "LMNN not run."),
        (claim("map: oasis - lmnn|mcml"), Study(ROW), HOLDS, Reason.DECIDED, "ten classes: OASIS minus MCML"),
        (claim(), Study(ROW, not_run="not run: put it there"), NOT_TESTED, Reason.NOT_RUN, "not run: put it there"),
        (claim(predicate="", note="nobody knows"), Study(ROW), NOT_TESTED, Reason.NO_RULE, "nobody knows."),
        (claim("time: oasis - mcml"), Study(ROW), NOT_TESTED, Reason.NOT_RUN, "five classes and ten classes: no time"),
    ],
)  # fmt: skip
def test_gates_stand_before_the_predicate_and_are_told_first(asked, study, outcome, reason, first):
    verdict = decide(asked, study)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    gate = words.gate_words(asked, verdict, study)
    assert [*filter(None, [gate]), *words.evidence(verdict, study)][0].startswith(first)


def test_a_verdict_by_a_number_without_an_interval_says_so():
    """Neither what a limit leaves open nor two traced steps are an interval over repeats."""
    numbers = {"": Reason.NO_INTERVAL, "traced steps": Reason.NO_INTERVAL, "so far": Reason.NO_INTERVAL}
    for interval, reason in (numbers | {"folds": Reason.DECIDED}).items():
        row = gap(1, 2, p=NAN, interval=interval)
        assert decide(claim(), Study(row)).reason == reason
    # what is open is open for want of numbers
    assert decide(claim(), Study(gap(-1, 1, interval="so far"))).reason is Reason.DECIDED


def test_a_predicate_that_there_is_not_is_told():
    with pytest.raises(LookalikeError, match="claim : there is no predicate 'below'"):
        decide(claim(predicate="below"), Study(ROW))


@pytest.mark.parametrize(
    ("row", "turned"),
    [
        (gap(-1, 5, mean=2, printed=4.0), (-2, -5, 1, -4)),
        (replace(ratio(4, 2, 8), printed=16.0), (0.25, 0.125, 0.5, 0.0625)),
    ],
)
def test_a_contrast_is_found_either_way_round(row, turned):
    """A difference changes its sign, with its interval and its print; a ratio becomes its inverse."""
    (found,) = Contrasts([row]).intervals("ten", row.metric, "mcml", "oasis")
    assert (found.mean, found.low, found.high, found.printed) == turned
    assert (found.first, found.second, found.p, found.reversed()) == ("mcml", "oasis", row.p, row)
