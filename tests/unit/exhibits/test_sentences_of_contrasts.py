"""Sentences of contrasts and verdicts: signs, digits, which side is ahead, and what a claim was tried on."""

import math
from dataclasses import replace

import pytest

from lookalike.exhibits import words
from lookalike.exhibits.claims import Scope, Verdict, claims_of
from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.statuses import Outcome

NAN = math.nan
COLUMNS = ("id", "paper", "place", "exhibit", "text", "study", "settings", "contrasts", "limits", "protocol")
COLUMNS += ("run", "seen")


def claim_of(**parts):
    (found,) = claims_of([dict.fromkeys(COLUMNS, "") | parts])
    return found


def row(mean, low, high, printed=NAN, unit="points", **more):
    return Contrast("ten", "map", "oasis", "lego", mean, low, high, unit=unit, printed=printed, **more)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.94, "points", "+2.9"),
        (-0.04, "points", "0.0"),
        (-0.04, "small points", "−0.04"),
        (-1234.4, "triplets", "−1,234"),
        (-0.4, "triplets", "0"),
        (4.0, "percent", "4.0%"),
        (-3.0, "", "−3"),
    ],
)
def test_amounts_have_a_proper_sign_and_none_at_zero(value, unit, text):
    assert words.amount(value, unit) == text


def test_differences_behind_a_verdict_stand_with_their_widest_interval_and_print_in_its_digits():
    printed = (4.0, 5.4, -6.000001, NAN)
    rows = [replace(row(1, 0, 2, level), metric=f"metric {place}") for place, level in enumerate(printed)]
    at_k = [replace(row(3, 2, low), metric="p@k", interval=f"folds, k = {low}") for low in (4, 9)]
    level = replace(row(1, 0, 2), second="")
    verdict = Verdict(
        Outcome.HOLDS, (*rows, replace(rows[-1], low=-1), row(4269, 1, NAN, unit="triplets"), *at_k, level)
    )
    found = words.differences(verdict, Parts())
    assert [entry["paper"] for entry in found] == ["+4", "+5.4", "−6", "–", "–", "–"]
    assert found[3] == {
        "key": ("ten", "metric 3", "oasis", "lego"), "setting": "ten classes", "names": "oasis − lego",
        "metric": "metric 3", "here": "+1.0 [−1.0, +2.0]", "paper": "–", "unit": "points",
        "mean": 1, "low": -1, "high": 2, "printed": None,
    }  # fmt: skip
    assert (found[4]["here"], found[4]["high"]) == ("+4,269 triplets", None)
    assert found[5]["here"] == "+3.0 [+2.0, +4.0]", "the average over k"


def test_a_difference_is_said_in_one_form():
    said = words.contrast_words([row(1.7, -5.2, 8.7, 6.0)], str.upper)
    assert said == "OASIS is 1.7 points higher than LEGO in mAP (95% interval −5.2 to 8.7; the paper: 6)"
    decline = Contrast("10", "decline after the peak", "oasis", "often", 3.5, 1.0, 6.0)
    assert words.contrast_words([decline], str) == (
        "oasis is 3.5 points higher than often in decline after the peak (95% interval 1.0 to 6.0)"
    )
    level = replace(decline, second="", unit="percent", printed=3.0)
    assert words.contrast_words([level], str) == (
        "decline after the peak of oasis: 3.5% (95% interval 1.0% to 6.0%; the paper: 3)"
    )
    assert words.contrast_words([replace(decline, high=math.inf)], str).endswith("in decline after the peak so far")


class Parts:
    """A study whose parts have names."""

    title_of = str

    def setting_title(self, setting):
        return f"{setting} classes"

    part_title = setting_title


@pytest.mark.parametrize(
    ("scope", "tried"),
    [
        (Scope(["10", "20"], ["50"]), ("10 classes", "20 classes and 50 classes")),
        (Scope(["10"], ["20"]), ("10 classes", "20 classes")),
        (Scope(["10"]), ("", "")),
        (Scope(["30", "40"]), ("", "")),
    ],
)
def test_a_claim_was_tried_on_the_parts_that_have_its_numbers(scope, tried):
    rows = (Contrast("10", "map", "a", "b", 1.0), Contrast("20", "map", "a", "b"))
    assert words.tried_on(Verdict(Outcome.HOLDS, rows, scope=scope), Parts()) == tried


def test_a_verdict_names_the_parts_that_it_was_tried_on():
    sides = ("10 classes", "20 classes")
    assert words.scope_words("holds", *sides) == "on 10 classes, not tried on 20 classes"
    assert words.scope_words("undecided", *sides) == "tried on 10 classes, not on 20 classes"
    assert words.scope_words("holds", "10 classes", "") == "on 10 classes"
    assert words.scope_words("holds", "", "") == ""


def test_a_rule_is_said_with_its_bounds():
    rule = {"contrasts": "map: mcml - oasis", "predicate": "within"}
    for parameters, said in (
        ('{"low": 0}', "above 0"),
        ('{"high": -3}', "below −3"),
        ('{"low": -1, "high": 3}', "between −1 and 3"),
    ):
        found = words.predicate_words(claim_of(**rule, parameters=parameters))
        assert found.startswith(f"Holds if every 95% interval lies {said}; fails if one lies beyond")
