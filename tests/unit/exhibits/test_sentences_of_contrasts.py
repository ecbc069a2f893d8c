"""Sentences of contrasts, margins and verdicts: signs, digits, which side is ahead, and what a claim was tried on."""

import math

import pytest

from lookalike.core.fingerprint import imported_modules
from lookalike.exhibits import words
from lookalike.exhibits.claims import Scope, Verdict
from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.model import Margin
from lookalike.exhibits.registry import ROOMS
from lookalike.exhibits.statuses import Outcome, Status

NAN = math.nan


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
        (0.25, "ratio", "0.25x"),
        (-3.0, "", "−3"),
        (12.0, "minutes", "12 min"),
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


def test_a_margin_says_who_is_ahead_and_whether_that_may_be_chance():
    said = words.margin_words(margin(1.7, -5.2, 8.7, 6.0))
    assert said == "OASIS is 1.7 points above LEGO in mAP [−5.2, +8.7], which may be chance (in the paper +6)"
    said = words.margin_words(margin(-3.2, -4.0, -2.0, kind="hand-crafted"))
    assert said == "OASIS is 3.2 points below LEGO (hand-crafted) in mAP [−4.0, −2.0]"


@pytest.mark.parametrize(
    ("low", "printed", "best", "first"),
    [
        (1.0, 4.0, "OASIS", "OASIS is best, as in the paper."),
        (1.0, -4.0, "OASIS", "OASIS is best, unlike in the paper."),
        (-1.0, 4.0, "OASIS", "OASIS comes first, as in the paper, but not clearly before LEGO."),
        (-1.0, -4.0, "OASIS", "OASIS comes first, but not clearly before LEGO; in the paper LEGO is ahead."),
        (-1.0, 4.0, "LEGO", "LEGO comes first, but not clearly before OASIS; in the paper OASIS is ahead."),
        (1.0, 4.0, "MCML", "MCML is best."),
    ],
)
def test_the_best_method_is_told_beside_print(low, printed, best, first):
    sentences = words.margin_sentences(margin(2.0, low, 3.0, printed, best=best, in_order=(2, 3)))
    assert sentences == [first, "2 of 3 pairs of methods come in the paper's order."]


class Parts:
    """A study whose parts have names."""

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


def test_a_verdict_names_the_sets_of_a_claim_about_every_set_and_whose_programs_it_is_about():
    sides = ("10 classes", "20 classes")
    assert words.reach_words("holds", "precision", "10 classes", "") == ""
    assert words.reach_words("holds", "precision", *sides) == "on 10 classes"
    assert words.reach_words("undecided", "implementation", *sides) == "for our programs"
    assert words.reach_words("not tested", "implementation", *sides) == ""
    assert words.reach_words("does not hold", "implementation", *sides) == "on 10 classes, for our programs"
    assert words.scope_words("holds", *sides) == "not tried on 20 classes"
    assert words.scope_words("undecided", *sides) == "tried on 10 classes, not on 20 classes"
    assert words.scope_words("holds", "10 classes", "") == "tried on 10 classes"


def test_statuses_and_outcomes_are_counted_in_words():
    assert words.status_counts({Status.AGREES: 2, Status.HIGHER: 1}) == "2 agree, 1 higher"
    counts = words.counts_words([Outcome.HOLDS, Outcome.OPEN, Outcome.HOLDS])
    assert counts == "Of 3 verdicts, each by itself, 2 hold, 0 do not, 1 are undecided and 0 were not tested."
    assert words.listed(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize("room", ROOMS)
def test_an_edited_word_computes_no_contrast_again(room):
    behind = imported_modules(f"studies/{room}/contrasts.py", f"studies/{room}/study.py")
    assert {"words.py", "claims_table.py", "headline.py"}.isdisjoint(path.name for path in behind)
