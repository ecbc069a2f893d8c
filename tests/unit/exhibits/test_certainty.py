"""How sure verdicts are, by the intervals of their contrasts."""

import math
from dataclasses import replace

import pytest
from scipy import stats

from lookalike.exhibits.certainty import at_level, smallest_level
from lookalike.exhibits.claims import PREDICATES, p_of
from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.statuses import Outcome
from lookalike.ranking.comparison import corrected_t_test

FOLDS = [2.1, 2.9, 1.8, 2.4, 2.2]
TESTED = corrected_t_test(FOLDS, 40, 25)
ROW = Contrast("", "map", "a", "b", TESTED.mean, TESTED.low, TESTED.high, TESTED.p, 5, "folds")
SCORES = Contrast("", "score", "a", "b", 3.0, 1.0, 5.0, 0.003, 900, "query images")
RATIO = Contrast("", "training time", "a", "b", 4.0, 2.0, 8.0, n=7, interval="landmarks", unit="ratio")


def sureness(row, predicate="within", low=0.0):
    found = PREDICATES[predicate]([[row]], low=low)
    return found.outcome, p_of([[row]], lambda groups: PREDICATES[predicate](groups, low=low), found.outcome)


def test_the_p_of_a_verdict_is_that_of_the_test_behind_its_interval():
    outcome, p = sureness(ROW)
    assert (outcome, p) == (Outcome.HOLDS, pytest.approx(TESTED.p))
    # from another bound, and by the normal distribution of many queries
    assert sureness(SCORES, low=0.5)[1] == pytest.approx(2 * stats.norm.sf(2.5 / (2 / stats.norm.ppf(0.975))))
    assert sureness(SCORES, low=6.0)[0] == Outcome.FAILS
    # one that is open says how far it is from being decided
    outcome, p = sureness(SCORES, low=2.0)
    assert (outcome, p) == (Outcome.OPEN, pytest.approx(2 * stats.norm.sf(0.5 * stats.norm.ppf(0.975))))
    assert sureness(RATIO, low=1.0)[1] == pytest.approx(2 * stats.t.sf(2 * stats.t.ppf(0.975, 6), 6))


def test_chance_has_no_part_in_numbers_without_an_interval():
    level = replace(ROW, low=ROW.mean, high=ROW.mean)
    span = replace(RATIO, n=3, interval="repeats, least to largest")
    assert all(math.isnan(sureness(row)[1]) for row in (level, replace(ROW, high=math.inf, low=-math.inf), span))
    assert not span.is_of_chance
    assert math.isnan(smallest_level(lambda level: True))


def test_an_interval_of_another_level_is_that_of_its_distribution():
    wider = at_level(ROW, 0.01)
    reach = (ROW.high - ROW.mean) * stats.t.ppf(0.995, 4) / stats.t.ppf(0.975, 4)
    assert (wider.low, wider.high) == pytest.approx((ROW.mean - reach, ROW.mean + reach))
    assert wider.p / 0.05 == pytest.approx(ROW.p / 0.01)
    assert (at_level(ROW, 0.05).low, at_level(ROW, 0.05).high) == pytest.approx((ROW.low, ROW.high))
