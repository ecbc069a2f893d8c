"""Sentences of contrasts, margins and verdicts: signs, digits, which side is ahead, and what a claim was tried on."""

import math
from dataclasses import replace

import pytest

from lookalike.core.fingerprint import imported_modules
from lookalike.exhibits import words
from lookalike.exhibits.claims import Scope, Verdict, claims_of
from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.model import Margin
from lookalike.exhibits.registry import ROOMS
from lookalike.exhibits.statuses import Outcome
from lookalike.studies.rooms import study_class

NAN = math.nan
COLUMNS = ("id", "paper", "place", "exhibit", "text", "study", "settings", "contrasts", "limits", "protocol")
COLUMNS += ("run", "seen")


def claim_of(**parts):
    (found,) = claims_of([dict.fromkeys(COLUMNS, "") | parts])
    return found


def margin(mean, low, high, printed=NAN, unit="points", **more):
    row = Contrast("ten", "map", "oasis", "lego", mean, low, high, unit=unit, printed=printed)
    about = {"setting": "", "metric": "mAP", "method": "OASIS", "other": "LEGO", "interval": "", "best": "OASIS"}
    return Margin(row, levels=(NAN, NAN), printed_levels=(NAN, NAN), **{**about, **more})


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


def test_a_number_stands_with_the_widest_of_its_intervals():
    rows = [margin(2.0, *ends).contrast for ends in ((1.0, 3.0), (-1.0, 2.5), (0.5, 4.0))]
    assert words.gap(rows) == "+2.0 points [−1.0, +4.0]"


def test_print_has_the_digits_that_are_printed():
    texts = [words.printed_words(margin(1, 0, 2, printed)) for printed in (4.0, 5.4, -6.000001, NAN)]
    assert texts == ["+4", "+5.4", "−6", words.NO_NUMBER]
    assert words.printed_words(margin(1, 0, 2, 4269.0, unit="triplets")) == "+4,269"


def test_a_difference_is_said_in_one_form():
    said = words.margin_words(margin(1.7, -5.2, 8.7, 6.0))
    assert said == "OASIS is 1.7 points higher than LEGO in mAP (95% interval −5.2 to 8.7; the paper: 6)"
    said = words.margin_words(margin(-3.2, -4.0, -2.0, kind="hand-crafted"))
    assert said == "OASIS is 3.2 points lower than LEGO (hand-crafted) in mAP (95% interval −4.0 to −2.0)"
    row = Contrast("10", "decline after the peak", "oasis", "often", 3.5, 1.0, 6.0)
    assert words.contrast_words([row], str) == (
        "oasis is 3.5 points higher than often in decline after the peak (95% interval 1.0 to 6.0)"
    )
    level = replace(row, second="", unit="percent", printed=3.0)
    assert words.contrast_words([level], str) == (
        "decline after the peak of oasis: 3.5% (95% interval 1.0% to 6.0%; the paper: 3)"
    )
    assert words.contrast_words([replace(row, high=math.inf)], str).endswith("in decline after the peak so far")


@pytest.mark.parametrize(
    ("low", "in_print", "best", "first"),
    [
        (1.0, "OASIS", "OASIS", "OASIS has the highest mAP, as in the paper; its lead over LEGO"),
        (1.0, "LEGO", "OASIS", "OASIS has the highest mAP (in the paper LEGO has it); its lead over LEGO"),
        (-1.0, "OASIS", "OASIS", "OASIS has the highest mAP, as in the paper; its lead over LEGO"),
        # the first of all that print has counts, and not the other one of the two
        (1.0, "QPAO", "OASIS", "OASIS has the highest mAP (in the paper QPAO has it); its lead over LEGO"),
        (1.0, "", "OASIS", "OASIS has the highest mAP; its lead over LEGO"),
        (
            -1.0,
            "OASIS",
            "LEGO",
            "LEGO has the highest mAP (in the paper OASIS has it); its lead over OASIS",
        ),
    ],
)
def test_the_best_method_is_told_beside_the_best_of_all_in_print(low, in_print, best, first):
    about = {"printed": 4.0, "printed_best": in_print, "best": best, "in_order": (2, 3)}
    ends = f"{low:+.1f} to +3.0".replace("-", "−") if best == "OASIS" else "−3.0 to +1.0"
    assert words.margin_sentences(margin(2.0, low, 3.0, **about)) == [
        f"{first} is {ends} points (95% interval).",
        "2 of the 3 pairs of methods that both have come in the paper's order.",
    ]
    unknown = replace(margin(2.0, NAN, NAN, **about), best="MCML", in_order=(0, 0))
    assert words.margin_sentences(replace(unknown, best="OASIS"))[0].endswith("LEGO has no interval.")
    in_paper = f" (in the paper {in_print} has it)" if in_print else ""
    assert words.margin_sentences(unknown) == [f"MCML has the highest mAP{in_paper}."]
    limited = replace(unknown, contrast=replace(unknown.contrast, limits="oasis:seeds"))
    assert words.margin_sentences(limited) == ["OASIS had too few seeds to say which method is best."]


class Parts:
    """A study whose parts have names."""

    title_of = str

    def setting_title(self, setting):
        return f"{setting} classes"


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


def test_differences_that_print_lies_outside_of_are_named():
    rows = margin(5.0, 3.0, 7.0, 10.0), margin(8.9, 5.2, 13.0, 1.1), margin(2.0, 1.0, 3.0, 2.5), margin(2.0, 1.0, 3.0)
    first, second = (
        "OASIS is 5.0 points higher than LEGO in mAP (95% interval 3.0 to 7.0; the paper: 10)",
        "OASIS is 8.9 points higher than LEGO in mAP (95% interval 5.2 to 13.0; the paper: 1.1)",
    )
    assert words.unlike_print(rows) == f"Smaller than in print: {first}. Larger than in print: {second}."
    assert words.unlike_print([margin(5.0, 3.0, 7.0, -10.0)]).startswith("Unlike in print: OASIS is 5.0")
    assert words.unlike_print([*rows[2:], margin(70, 0, 90, 4269, unit="triplets")]) == ""


def test_a_rule_is_said_with_its_bounds():
    rule = {"contrasts": "map: mcml - oasis", "predicate": "within"}
    for parameters, said in (
        ('{"low": 0}', "above 0"),
        ('{"high": -3}', "below −3"),
        ('{"low": -1, "high": 3}', "between −1 and 3"),
    ):
        found = words.predicate_words(claim_of(**rule, parameters=parameters))
        assert found.startswith(f"Holds if every 95% interval lies {said}; fails if one lies beyond")


def test_outcomes_are_counted_in_words():
    rows = [
        {"verdict": "holds", "primary": "yes"},
        {"verdict": "not run", "primary": "yes"},
        {"verdict": "holds", "primary": ""},
    ]
    assert words.counts_words(rows) == (
        "The papers' 2 primary claims: holds 1, does not hold 0, undecided 0, not run 1."
    )
    assert words.counts_words(rows[2:]) == ""
    assert words.listed(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize("room", [room for room in ROOMS if study_class(room).contrasted])
def test_an_edited_word_computes_no_contrast_again(room):
    behind = imported_modules(f"studies/{room}/contrasts.py", f"studies/{room}/study.py")
    assert {"words.py", "claims_table.py", "headline.py"}.isdisjoint(path.name for path in behind)
