"""Verdicts on the claims of SOML, from numbers whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from contract import verdict_on
from made_landmark import CLAIMS, LANDMARKS, SMALL, WORDS, fits, metrics, study, tables

from lookalike.exhibits.claims import claim_records, claims_of
from lookalike.exhibits.claims import decide as decided
from lookalike.exhibits.statuses import Outcome

HOLDS, FAILS, OPEN, NOT_RUN, _ = Outcome
BEATS = {"tfidf": 0.0, "qpao": 0.1, "oasis-diagonal": 0.05, "soml-tg": 0.08, "soml-da": 0.1}
MIXED = np.array([0.3, -0.28, 0.25, -0.3, 0.2, -0.2, 0.05])
ASKED = {claim.id: replace(claim, limits=()) for claim in claims_of(CLAIMS)}


def decide(claim, study, place=0):
    """Return what the predicate of a claim answers with one codebook, or with all, without gates."""
    asked = ASKED[claim]
    return verdict_on(replace(asked, settings=("codebook=10k",)) if place is not None else asked, study)


def of_gains(gain, sparsity=None, **shape):
    """A study of one codebook, in which methods gain as told."""
    settings = {"codebooks": SMALL, "methods": list(gain), "landmarks": list(shape.get("landmarks", LANDMARKS))}
    numbers = metrics(gain, {} if sparsity is None else sparsity, codebooks=SMALL, **shape)
    return study(tables(metrics=numbers), **settings)


CASES = {
    "learning-helps": [({}, HOLDS), ({"soml-tg": -0.05}, FAILS), ({"soml-tg": MIXED}, OPEN)],
    # last, a difference that one landmark alone shows
    "qpao-above-oasis": [({}, HOLDS), ({"qpao": 0.02}, FAILS), ({"qpao": 0.05 + 0.35 * (np.arange(7) == 0)}, OPEN)],
    "soml-above-oasis": [({"soml-tg": 0.048}, FAILS), ({"soml-tg": 0.055}, HOLDS)],
    "soml-at-least-comparable": [({"soml-tg": 0.048}, HOLDS), ({"soml-tg": 0.02}, FAILS)],
    "soml-near-qpao": [({"soml-da": 0.055}, HOLDS), ({"soml-da": -0.01}, FAILS), ({"soml-da": 0.2}, HOLDS)],
    "da-above-tg": [({"soml-da": 0.09}, HOLDS), ({"soml-da": 0.07}, FAILS), ({"soml-da": 0.2}, FAILS)],
}
SPARSITIES = {"da-sparser": [({"soml-tg": 0.5, "soml-da": 0.8}, HOLDS), ({"soml-tg": 0.5, "soml-da": 0.2}, FAILS)]}


@pytest.mark.parametrize("claim", [*CASES, *SPARSITIES])
def test_differences_of_precision_and_sparsity(claim):
    for change, verdict in CASES.get(claim, []):
        assert decide(claim, of_gains(BEATS | change))[0] == verdict, change
    for sparsity, verdict in SPARSITIES.get(claim, []):
        assert decide(claim, of_gains(BEATS, sparsity))[0] == verdict, sparsity


def test_sparsity_over_codebooks():
    falls = metrics()
    falls.loc[(falls["representation"] == "sift-1m") & (falls["method"] == "soml-tg"), "value"] *= 0.5
    for numbers, codebooks, verdict in ((metrics(), WORDS, HOLDS), (falls, WORDS, FAILS), (metrics(), SMALL, NOT_RUN)):
        assert decide("sparsity-grows", study(tables(metrics=numbers), codebooks=codebooks), None)[0] == verdict


def test_one_method_of_four_must_fall_clearly_to_refute_a_claim():
    """A p-value of 0.03 refutes a claim about one pair, and not one about four."""
    # t = -2.8 over seven landmarks, once the step of 0.001 a landmark that the numbers have is taken off
    nothing = 0.02 * np.arange(-3, 4) - 0.003
    lower = nothing - 2.8 * 0.8165 * 0.021
    flat = {"tfidf": 0.0, "qpao": nothing, "oasis-diagonal": nothing, "soml-tg": lower, "soml-da": nothing}
    assert decide("learning-helps", of_gains(flat))[0] == OPEN
    helps = replace(ASKED["learning-helps"], settings=("codebook=10k",))
    alone = replace(helps, contrasts=tuple(part._replace(first=("soml-tg",)) for part in helps.contrasts))
    assert verdict_on(alone, of_gains(flat))[0] == FAILS


def test_more_draws_of_a_landmark_are_no_further_evidence_and_one_landmark_decides_nothing():
    gain = BEATS | {"qpao": 0.05 + np.array([0.4, 0, 0, 0, 0, 0, 0.01])}
    assert decide("qpao-above-oasis", of_gains(gain, draws=30))[0] == OPEN
    assert decide("qpao-above-oasis", of_gains(BEATS, landmarks=LANDMARKS[:1]))[0] == OPEN


def test_constants_for_another_number_of_triplets_decide_nothing():
    claim = replace(ASKED["soml-above-oasis"], settings=("codebook=10k",))
    for negatives, outcome in ((100, OPEN), (500, HOLDS)):
        settings = {"codebooks": SMALL, "kind": "landmarks", "learning": {"negatives": negatives}}
        given = study(tables(metrics=metrics(BEATS, codebooks=SMALL)), methods=list(BEATS), **settings)
        found = decided(claim, given)
        assert found.outcome == outcome
        assert (found.reason == "protocol") == (negatives == 100)
        printed = next(row.printed for row in found.rows if row.first == "soml-da")
        assert printed == pytest.approx(48.08 - 45.85)


@pytest.mark.parametrize(("draws", "gains", "verdict"), [(3, (0.06, 0.07, 0.08), HOLDS), (3, (0.0, 0.0, 0.21), OPEN)])
def test_what_all_landmarks_of_a_draw_share_counts_as_often_as_there_are_draws(draws, gains, verdict):
    """Seven landmarks that gain alike in one draw of three, by its chosen constants, are no seven witnesses."""
    numbers = metrics(BEATS, codebooks=SMALL, draws=draws)
    is_chosen = numbers["method"].eq("soml-da") & numbers["metric"].eq("map")
    numbers.loc[is_chosen, "value"] += numbers.loc[is_chosen, "fold"].map(dict(enumerate(gains)))
    found = study(tables(metrics=numbers), codebooks=SMALL, methods=list(BEATS), learning={"draws": draws})
    claim = replace(ASKED["da-above-tg"], settings=("codebook=10k",), parameters={"low": 2.5})
    assert verdict_on(claim, found)[0] == verdict
    test, sampled = found.contrasts.intervals("codebook=10k", "map", "soml-da", "soml-tg")
    assert (test.low > 2.5, sampled.low > 2.5) == (True, verdict == HOLDS)
    assert (sampled.low < test.mean < sampled.high, sampled.interval) == (True, "landmarks and draws")


def test_a_claim_is_decided_on_all_codebooks_at_once_and_names_those_that_it_lacks():
    frame = claim_records(study(tables(), codebooks={"sift-10k": 10_000, "sift-100k": 100_000})).set_index("id")
    assert list(frame.index) == list(ASKED)
    row = frame.loc["da-sparser"]
    assert (row["verdict"], row["untried"]) == (HOLDS, "1,000,000 words")
    assert row["tried"] == "10,000 words and 100,000 words"
    stopped = study(tables(fits=fits().assign(converged=lambda fits: fits["method"] != "qpao")), codebooks=SMALL)
    assert claim_records(stopped).set_index("id").loc["learning-helps", "reason"] == "limit"
    assert "above −5" in frame.loc["soml-near-qpao", "decided_by"]
