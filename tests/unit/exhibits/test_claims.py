"""Claims: gates before predicates, what each predicate answers to intervals, and how both are said."""

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from scipy import stats

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import words
from lookalike.exhibits.claims import PREDICATES, Scope, Verdict, claims_of, decide, p_at, together
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


def two_parts(*rows, not_run=""):
    """A study of two parts, without LMNN."""
    return SimpleNamespace(
        not_run=not_run,
        contrasts=Contrasts.read(contrasts_frame(rows)),
        scope_of=lambda claim: Scope(["five", "ten"]),
        role=lambda name: {"learned": ["oasis", "mcml"]}.get(name, [name]),
        was_run=lambda method, setting="": method != "lmnn",
        follows_protocol=lambda: False,
        title_of=str.upper,
        setting_title="{} classes".format,
        part_title="{} classes".format,
    )


def claim(contrasts="map: oasis - mcml", predicate="within", parameters='{"low": 0}', **more):
    names = ("id", "paper", "place", "exhibit", "text", "study", "settings", "limits", "protocol", "run", "seen")
    row = dict.fromkeys(names, "")
    (found,) = claims_of([{**row, "contrasts": contrasts, "predicate": predicate, "parameters": parameters, **more}])
    return found


GRID = gap(1, 2, limits="mcml:grid", printed=4.0)


@pytest.mark.parametrize(
    ("asked", "study", "outcome", "reason", "first"),
    [
        (claim(), two_parts(GRID), HOLDS, "",
         "ten classes: OASIS is 1.0 points higher than MCML in mAP (95% interval 1.0 to 2.0; the paper: 4), p 0.010"),
        # whichever way it was taken, its sign changes with its interval and print
        (claim("map: mcml - oasis"), two_parts(GRID), FAILS, "",
         "ten classes: MCML is 1.0 points lower than OASIS in mAP (95% interval −2.0 to −1.0; the paper: −4), p 0.010"),
        (claim("map: learned - learned"), two_parts(GRID), FAILS, "", "ten classes: MCML is 1.0 points lower"),
        (claim(limits="grid"), two_parts(GRID), OPEN, "limit", "MCML chose an end of its grid (ten classes)."),
        (claim(limits="steps"), two_parts(GRID), HOLDS, "", "ten classes"),
        (claim(protocol="it is ours"), two_parts(GRID), OPEN, "protocol", "It is about another protocol: it is ours."),
        (claim("map: oasis - lmnn"), two_parts(GRID), NOT_RUN, "not run", "LMNN not run."),
        (claim(), two_parts(GRID, not_run="not run: put it there"), NOT_RUN, "not run", "not run: put it there"),
        (claim("time: oasis - mcml"), two_parts(GRID), NOT_RUN, "not run", "five classes and ten classes: no time"),
        (claim(), two_parts(gap(1, 2, p=NAN, interval="")), OPEN, "no interval", "Its numbers have no interval here."),
        (claim(), two_parts(gap(1, 2, p=NAN)), HOLDS, "", "ten classes"),
    ],
)  # fmt: skip
def test_gates_stand_before_the_predicate_and_are_told_first(asked, study, outcome, reason, first):
    verdict = decide(asked, study)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    assert [*filter(None, [verdict.why]), *words.evidence(verdict, study)][0].startswith(first)


def test_every_predicate_is_tried_and_one_that_there_is_not_is_told():
    with pytest.raises(LookalikeError, match="claim : there is no predicate 'below'"):
        decide(claim(predicate="below"), two_parts(GRID))
    assert {case[0] for case in CASES} == set(PREDICATES)


# Sentences ------------------------------------------------------------------------------------------------------------


def said(mean, low, high, printed=NAN, **more):
    return replace(Contrast("ten", "map", "oasis", "lego", mean, low, high, printed=printed), **more)


def test_amounts_have_a_proper_sign_and_none_at_zero():
    texts = {(2.94, "points"): "+2.9", (-0.04, "points"): "0.0", (-0.04, "small points"): "−0.04", (-3.0, ""): "−3"}
    texts |= {(-1234.4, "triplets"): "−1,234", (-0.4, "triplets"): "0", (4.0, "percent"): "4.0%"}
    assert {numbers: words.amount(*numbers) for numbers in texts} == texts


def test_differences_behind_a_verdict_stand_with_their_widest_interval_and_print_in_its_digits():
    printed = (4.0, 5.4, -6.000001, NAN)
    rows = [replace(said(1, 0, 2, level), metric=f"metric {place}") for place, level in enumerate(printed)]
    at_k = [replace(said(3, 2, low), metric="p@k", interval=f"folds, k = {low}") for low in (4, 9)]
    level = said(1, 0, 2, second="")
    verdict = Verdict(HOLDS, (*rows, replace(rows[-1], low=-1), said(4269, 1, NAN, unit="triplets"), *at_k, level))
    found = words.differences(verdict, two_parts())
    assert [entry["paper"] for entry in found] == ["+4", "+5.4", "−6", "–", "–", "–"]
    assert found[3] == {
        "key": ("ten", "metric 3", "oasis", "lego"), "setting": "ten classes", "names": "OASIS − LEGO",
        "metric": "metric 3", "here": "+1.0 [−1.0, +2.0]", "paper": "–", "unit": "points",
        "mean": 1, "low": -1, "high": 2, "printed": None,
    }  # fmt: skip
    assert (found[4]["here"], found[4]["high"]) == ("+4,269 triplets", None)
    assert found[5]["here"] == "+3.0 [+2.0, +4.0]", "the average over k"


def test_a_difference_is_said_in_one_form():
    decline = Contrast("10", "decline after the peak", "oasis", "often", 3.5, 1.0, 6.0)
    text = "oasis is 3.5 points higher than often in decline after the peak (95% interval 1.0 to 6.0)"
    assert words.contrast_words([decline], str) == text
    level = replace(decline, second="", unit="percent", printed=3.0)
    text = "decline after the peak of oasis: 3.5% (95% interval 1.0% to 6.0%; the paper: 3)"
    assert words.contrast_words([level], str) == text
    assert words.contrast_words([replace(decline, high=math.inf)], str).endswith("in decline after the peak so far")


@pytest.mark.parametrize(
    ("scope", "tried", "words_of"),
    [
        (Scope(["10", "20"], ["50"]), ("10 classes", "20 classes and 50 classes"), {
            HOLDS: "on 10 classes, not tried on 20 classes and 50 classes",
            OPEN: "tried on 10 classes, not on 20 classes and 50 classes"}),
        (Scope(["10"], ["20"]), ("10 classes", "20 classes"), {}),
        (Scope(["10"]), ("", ""), {HOLDS: ""}),
        (Scope(["30", "40"]), ("", ""), {}),
    ],
)  # fmt: skip
def test_a_claim_names_the_parts_that_it_was_tried_on_and_those_that_lack_its_numbers(scope, tried, words_of):
    rows = (Contrast("10", "map", "a", "b", 1.0), Contrast("20", "map", "a", "b"))
    assert words.tried_on(Verdict(HOLDS, rows, scope=scope), two_parts()) == tried
    assert {verdict: words.scope_words(verdict, *tried) for verdict in words_of} == words_of
    assert words.scope_words(HOLDS, "10 classes", "") == "on 10 classes"


def test_a_rule_is_said_with_its_bounds():
    bounds = {"above 0": '{"low": 0}', "below −3": '{"high": -3}', "between −1 and 3": '{"low": -1, "high": 3}'}
    for text, parameters in bounds.items():
        found = words.predicate_words(claim(parameters=parameters))
        assert found.startswith(f"Holds if every 95% interval lies {text}; fails if one lies beyond")
