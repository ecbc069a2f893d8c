"""Verdicts on the claims of SOML, from numbers whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from contract import FAILS, HOLDS, NOT_RUN, OPEN, asked_of, verdict_on
from made_landmark import LANDMARKS, SMALL, WORDS, runs, study

from lookalike.exhibits.claims import claim_records, decide

BEATS = {"tfidf": 0.0, "qpao": 0.1, "oasis-diagonal": 0.05, "soml-tg": 0.08, "soml-da": 0.1}
MIXED = np.array([0.3, -0.28, 0.25, -0.3, 0.2, -0.2, 0.05])
ASKED = {id: replace(claim, limits=()) for id, claim in asked_of("landmark").items()}


def asked(claim, **changes):
    """A claim about one codebook, without gates."""
    return replace(ASKED[claim], settings=("codebook=10k",), **changes)


def of_gains(gain, sparsity=(), settings=(), **shape):
    """A study of one codebook, in which methods gain as told."""
    landmarks = list(shape.get("landmarks", LANDMARKS))
    numbers = runs(BEATS | gain, dict(sparsity), **shape)
    return study(numbers, **{"codebooks": SMALL, "methods": list(BEATS), "landmarks": landmarks} | dict(settings))


@pytest.mark.parametrize(
    ("claim", "numbers", "verdict"),
    [
        ("learning-helps", [{}], HOLDS),
        ("learning-helps", [{"soml-tg": -0.05}], FAILS),
        ("learning-helps", [{"soml-tg": MIXED}], OPEN),
        ("qpao-above-oasis", [{}], HOLDS),
        ("qpao-above-oasis", [{"qpao": 0.02}], FAILS),
        # a difference that one landmark alone shows
        ("qpao-above-oasis", [{"qpao": 0.05 + 0.35 * (np.arange(7) == 0)}], OPEN),
        ("soml-above-oasis", [{"soml-tg": 0.055}], HOLDS),
        ("soml-above-oasis", [{"soml-tg": 0.048}], FAILS),
        ("soml-at-least-comparable", [{"soml-tg": 0.048}], HOLDS),
        ("soml-at-least-comparable", [{"soml-tg": 0.02}], FAILS),
        ("soml-near-qpao", [{"soml-da": 0.055}], HOLDS),
        ("soml-near-qpao", [{"soml-da": 0.2}], HOLDS),
        ("soml-near-qpao", [{"soml-da": -0.01}], FAILS),
        ("da-above-tg", [{"soml-da": 0.09}], HOLDS),
        ("da-above-tg", [{"soml-da": 0.07}], FAILS),
        ("da-above-tg", [{"soml-da": 0.2}], FAILS),
        ("da-sparser", [{}, {"soml-tg": 0.5, "soml-da": 0.8}], HOLDS),
        ("da-sparser", [{}, {"soml-tg": 0.5, "soml-da": 0.2}], FAILS),
    ],
)
def test_differences_of_precision_and_sparsity(claim, numbers, verdict):
    assert verdict_on(asked(claim), of_gains(*numbers))[0] == verdict


def test_sparsity_over_codebooks():
    falls = runs()
    falls.loc[(falls["representation"] == "sift-1m") & (falls["method"] == "soml-tg"), "sparsity"] *= 0.5
    for numbers, codebooks, verdict in ((runs(), WORDS, HOLDS), (falls, WORDS, FAILS), (runs(), SMALL, NOT_RUN)):
        assert verdict_on(ASKED["sparsity-grows"], study(numbers, codebooks=codebooks))[0] == verdict


def test_more_draws_of_a_landmark_are_no_further_evidence_and_one_landmark_decides_nothing():
    gain = {"qpao": 0.05 + np.array([0.4, 0, 0, 0, 0, 0, 0.01])}
    for found in (of_gains(gain, draws=30), of_gains({}, landmarks=LANDMARKS[:1])):
        assert verdict_on(asked("qpao-above-oasis"), found)[0] == OPEN


def test_constants_for_another_number_of_triplets_decide_nothing():
    for negatives, outcome in ((100, OPEN), (500, HOLDS)):
        settings = {"kind": "landmarks", "learning": {"negatives": negatives}}
        found = decide(asked("soml-above-oasis"), of_gains({}, settings=settings))
        assert (found.outcome, found.reason == "protocol") == (outcome, negatives == 100)
        printed = next(row.printed for row in found.rows if row.first == "soml-da")
        assert printed == pytest.approx(48.08 - 45.85)


@pytest.mark.parametrize(("gains", "verdict"), [((0.06, 0.07, 0.08), HOLDS), ((0.0, 0.0, 0.21), OPEN)])
def test_what_all_landmarks_of_a_draw_share_counts_as_often_as_there_are_draws(gains, verdict):
    """Seven landmarks that gain alike in one draw of three, by its chosen constants, are no seven witnesses."""
    numbers = runs(BEATS, draws=3)
    numbers["map"] += numbers["fold"].map(dict(enumerate(gains))) * (numbers["method"] == "soml-da")
    found = study(numbers, codebooks=SMALL, methods=list(BEATS), learning={"draws": 3})
    assert verdict_on(asked("da-above-tg", parameters={"low": 2.5}), found)[0] == verdict
    test, sampled = found.contrasts.intervals("codebook=10k", "map", "soml-da", "soml-tg")
    assert (test.low > 2.5, sampled.low > 2.5) == (True, verdict == HOLDS)
    assert (sampled.low < test.mean < sampled.high, sampled.interval) == (True, "landmarks and draws")


def test_a_claim_is_decided_on_all_codebooks_at_once_and_names_those_that_it_lacks():
    frame = claim_records(study(runs(), codebooks={"sift-10k": 10_000, "sift-100k": 100_000})).set_index("id")
    assert list(frame.index) == list(ASKED)
    row = frame.loc["da-sparser", ["verdict", "tried", "untried"]]
    assert row.tolist() == [HOLDS, "10,000 words and 100,000 words", "1,000,000 words"]
    stopped = study(runs().assign(converged=lambda rows: rows["method"] != "qpao"), codebooks=SMALL)
    assert claim_records(stopped).set_index("id").loc["learning-helps", "reason"] == "limit"
    assert "above −5" in frame.loc["soml-near-qpao", "decided_by"]
