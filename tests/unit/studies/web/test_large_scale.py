"""Training at scale: triplets of a query log, the W of the plain learner, early stopping, and runs that are killed."""

import math
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import DEFAULT, Mock, patch

import numpy as np
import pytest
import scipy.sparse as sp
from made_rows_and_examples import assert_drawn_from
from scipy.stats import chisquare

from lookalike.core.errors import LookalikeError
from lookalike.data.query_log import QueryLog
from lookalike.learners import OASIS
from lookalike.studies.web import large_scale, query_triplets
from lookalike.studies.web.large_scale import train
from lookalike.studies.web.query_triplets import QueryTripletSampler, co_click_threshold
from lookalike.studies.web.settings import LogLearning
from lookalike.studies.web.training_images import TrainingRows

N_IMAGES, BLOCK = 60, 8
INTERVAL = 4 * BLOCK
LEARNING = LogLearning(steps=6 * INTERVAL, interval=INTERVAL, patience=0, block=BLOCK)


def changed(**changes):
    return LEARNING.model_copy(update=changes)


class Source:
    """Triplets of any rows, by seed and number."""

    def __init__(self, seed=0, per_query=1):
        self.seed, self.per_query = seed, per_query

    def chunk(self, number, n):
        triplets = np.random.default_rng([self.seed, number]).integers(0, N_IMAGES, (n, 3), dtype=np.int32)
        triplets[:, 0] = np.repeat(triplets[:: self.per_query, 0], self.per_query)[:n]
        return triplets


def random_rows(seed=0):
    random = np.random.default_rng(seed)
    present = random.random((N_IMAGES, 30)) < 0.3 * random.random(30)
    return TrainingRows(sp.csr_array(random.integers(1, 5, present.shape) * present), np.arange(N_IMAGES))


def wavy(W):
    """Return a score that goes up and down while W learns, by W alone."""
    return float(np.sin(40 * np.abs(W).sum(dtype=np.float64)))


@pytest.fixture(scope="module")
def rows():
    return random_rows()


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch):
    monkeypatch.setattr(large_scale, "SEGMENT", 2)  # so that checkpoints stand in the middle of an interval too


class Script:
    """Scores that are given in advance; it also keeps the W it was shown."""

    def __init__(self, scores):
        self.scores, self.seen = list(scores), []

    def __call__(self, W):
        self.seen.append(W.copy())
        return self.scores[len(self.seen) - 1]


class Killed(BaseException):
    """Stands for the end of the process."""


def result(run):
    """Return all of a run that does not depend on when it was killed."""
    curve = [(row["step"], row["map"], "" if math.isnan(row["loss_rate"]) else row["loss_rate"]) for row in run.curve]
    return run.W.tobytes(), run.best_step, curve, run.n_steps, run.n_losses, run.n_updates, run.stopped


@pytest.mark.parametrize("per_query", [1, 3])
def test_w_and_the_curve_are_those_of_the_plain_learner(rows, per_query):
    score, source = Script([0.0, 0.1, 0.2, 0.5, 0.4, 0.5]), Source(per_query=per_query)
    run = train(rows, source, changed(steps=5 * INTERVAL - 1), score)  # rounded up
    seen, model = {}, OASIS(LEARNING.aggressiveness, dtype="float32")
    for b in range(5 * INTERVAL // BLOCK):
        model.partial_fit_triplets(rows.weighted(rows.image_ids), source.chunk(b, BLOCK))
        seen[model.n_steps_] = model.W_
    assert (run.best_step, run.n_steps, run.stopped) == (3 * INTERVAL, 5 * INTERVAL, "limit")
    assert np.abs(seen[3 * INTERVAL] - np.eye(30)).max() > 0.1
    np.testing.assert_allclose(run.W, seen[3 * INTERVAL], rtol=0, atol=2e-5)
    # what was scored is W, with the features as the rows have them
    np.testing.assert_array_equal(score.seen[0], np.eye(30))
    np.testing.assert_array_equal(rows.restored(score.seen[3]), run.W)
    assert [(row["step"], row["map"]) for row in run.curve] == [(k * INTERVAL, score.scores[k]) for k in range(6)]
    assert sum(row["loss_rate"] * INTERVAL for row in run.curve[1:]) == pytest.approx(run.n_losses)
    assert run.n_updates == model.n_updates_ < run.n_losses
    seconds = [row["seconds"] for row in run.curve]
    assert [0, *sorted(seconds[1:-1]), run.seconds] == seconds


@pytest.mark.parametrize(
    ("scores", "patience", "tolerance", "expected"),
    [
        ([0.1, 0.2, 0.3, 0.3, 0.2, 0.25, 0.9], 3, 0.0, (6, 2, "saturated")),  # an equal score is no better one
        ([0.1, 0.2, 0.3, 0.3, 0.2, 0.31, 0.9], 3, 0.0, (7, 6, "limit")),
        ([0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0], 1, 0.0, (2, 0, "saturated")),  # W = I was best
        ([0.1, 0.3, 0.31, 0.32, 0.33, 0.34, 0.35], 2, 0.05, (4, 3, "saturated")),  # grows too slowly; the best counts
        ([0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0], 0, 0.0, (7, 0, "limit")),  # no patience: never
    ],
)
def test_it_stops_when_the_score_has_saturated(rows, tmp_path, scores, patience, tolerance, expected):
    learning, score = changed(patience=patience, tolerance=tolerance), Script(scores)
    run = train(rows, Source(), learning, score, checkpoint=tmp_path / "checkpoint")
    assert (len(run.curve), run.best_step // INTERVAL, run.stopped) == expected
    assert [row["map"] for row in run.curve] == scores[: len(run.curve)]
    np.testing.assert_array_equal(run.W, rows.restored(score.seen[expected[1]]))
    # started again, it has nothing left to do
    again = train(rows, Source(), learning, refuse, checkpoint=tmp_path / "checkpoint")
    assert result(again) == result(run)
    assert (run.resumed, again.resumed, again.seconds) == (0, 1, run.seconds)


def refuse(*arguments):
    raise AssertionError("there was nothing left to do")


def start_and_kill(rows, checkpoint, where="score", moment=5):
    source = Source()
    calls = {"score": wavy, "report": lambda line: None, "source": source.chunk, "writing": np.savez}
    # the process ends at the n-th call
    calls[where] = Mock(wraps=calls[where], side_effect=[DEFAULT] * (moment - 1) + [Killed])
    source.chunk = calls["source"]
    options = {"report": calls["report"], "report_seconds": 0, "checkpoint_seconds": 0, "checkpoint": checkpoint}
    with patch.object(large_scale.np, "savez", calls["writing"]), pytest.raises(Killed):
        train(rows, source, LEARNING, calls["score"], **options)


@pytest.mark.parametrize(("moment", "stands"), [(1, False), (2, None), (5, True), (6, True)])
@pytest.mark.parametrize("where", ["score", "report", "source", "writing"])
def test_a_run_that_is_killed_goes_on_to_the_same_bits(rows, tmp_path, where, moment, stands):
    with patch.object(large_scale, "SEGMENT", 3):
        expected = result(train(rows, Source(), LEARNING, wavy))
    checkpoint = tmp_path / "checkpoint"
    start_and_kill(rows, checkpoint, where, moment)
    is_there = (checkpoint / "checkpoint.npz").is_file()
    assert stands is None or is_there == stands
    run = train(rows, Source(), LEARNING, wavy, checkpoint=checkpoint, checkpoint_seconds=0)
    assert result(run) == expected
    assert run.resumed == is_there
    assert [path.name for path in checkpoint.iterdir()] == ["checkpoint.npz"]


def test_another_limit_goes_on_from_the_same_checkpoint_and_an_overflow_is_told(rows, tmp_path, monkeypatch):
    checkpoint = tmp_path / "checkpoint"
    train(rows, Source(), changed(steps=2 * INTERVAL), wavy, checkpoint=checkpoint)
    run = train(rows, Source(), LEARNING, wavy, checkpoint=checkpoint)
    assert result(run) == result(train(rows, Source(), LEARNING, wavy))
    # a run that is already past a smaller limit ends where it is
    start_and_kill(rows, tmp_path / "past", "report", 12)
    short = train(rows, Source(), changed(steps=INTERVAL), wavy, checkpoint=tmp_path / "past")
    assert (INTERVAL < short.n_steps < LEARNING.steps, short.stopped, short.resumed) == (True, "limit", 1)

    def take(W, *arguments):
        W[2, 1] = np.inf
        return 1, 1

    monkeypatch.setattr(large_scale, "take_blocks", take)
    with pytest.raises(LookalikeError, match="overflowed before step 32: make aggressiveness smaller"):
        train(rows, Source(), LEARNING, lambda W: 0.5)


@pytest.mark.parametrize("other", [{"aggressiveness": 0.2}, {"interval": 2 * INTERVAL}, "scored", "triplets", "rows"])
def test_the_checkpoint_of_something_else_is_replaced(rows, tmp_path, other):
    checkpoint = tmp_path / "checkpoint"
    train(rows, Source(), LEARNING, wavy, checkpoint=checkpoint)
    learning = changed(**other) if isinstance(other, dict) else LEARNING
    source = Source(5) if other == "triplets" else Source()
    rows = random_rows(seed=3) if other == "rows" else rows
    keeping = {"checkpoint": checkpoint, "scored": int(other == "scored")}
    run = train(rows, source, learning, wavy, **keeping)
    assert run.resumed == 0
    assert result(run) == result(train(rows, source, learning, wavy))
    assert train(rows, Source(source.seed), learning, refuse, **keeping).resumed == 1


N_DRAWS = 40_000


def random_log(seed, weighted=True):
    """Return six queries over nine images, the last without a query and the one before it alone in its query."""
    rng = np.random.default_rng(seed)
    query, image = np.nonzero(rng.random((6, 7)) < 0.45)
    query, image = np.append(query, 6), np.append(image, 7)
    relevance = rng.integers(1, 30, len(query)) if weighted else np.ones(len(query))
    return QueryLog(query, image, relevance, n_images=9)


def cut_matrix(log, theta=0.0, share=None):
    """Return R_II by dense algebra, cut; or C'C cut to its largest values."""
    query, image, weight = log.pairs()
    C = np.zeros((log.n_queries, log.n_images))
    C[query, image] = weight
    matrix = C.T @ (C if share is not None else C / C.sum(axis=1, keepdims=True) / C.sum())
    np.fill_diagonal(matrix, 0)
    if share is not None:
        values = np.sort(matrix[matrix > 0])
        return np.where(matrix >= values[len(values) - int(np.ceil(share * len(values)))], matrix, 0)
    return np.where(matrix > theta, matrix, 0)


def expected(matrix):
    n, sums = len(matrix), matrix.sum(axis=1, keepdims=True)
    shares = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    return np.repeat(shares[:, :, None], n, axis=2) / n / np.count_nonzero(sums)


def quantile(log, share):
    values = np.unique(np.round(cut_matrix(log), 12))[1:]
    place = int(share * (len(values) - 1))
    return float(values[place : place + 2].mean())  # between two values: rounding decides nothing


@pytest.mark.parametrize(
    "limits", [(0.0, 1000, 99), (0.0, 1, 99), (2.0, 1000, 99), (2.0, 1000, 7)], ids=["try", "collect", "list", "list 7"]
)
@pytest.mark.parametrize(("seed", "weighted", "cut"), [(0, True, None), (1, True, 0.3), (2, False, 0.8)])
def test_triplets_follow_the_cut_matrix(monkeypatch, seed, weighted, cut, limits):
    log = random_log(seed, weighted)
    theta = 0.0 if cut is None else quantile(log, cut)
    for name, value in zip(("EASY", "TRIES", "LIST_ENTRIES"), limits, strict=True):
        monkeypatch.setattr(query_triplets, name, value)
    sampler = QueryTripletSampler(log, seed, theta=theta)
    matrix = cut_matrix(log, theta)
    assert sampler.n_without_positive_ == np.count_nonzero(matrix.sum(axis=1) == 0) >= 2
    assert (len(sampler._lists.images) > 0) == (limits[0] > 0)
    probability = expected(matrix)
    np.testing.assert_array_equal(sampler.queries_, np.flatnonzero(probability.sum(axis=(1, 2))))
    assert_drawn_from(sampler.sample(N_DRAWS), probability)
    assert_drawn_from(np.concatenate([sampler.chunk(i, N_DRAWS // 8) for i in range(8)]), probability)


@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_co_clicks_are_cut_to_their_largest(share):
    log = random_log(3)
    sampler = QueryTripletSampler(log, 0, relevance="co_clicks", share=share)
    matrix = cut_matrix(log, share=share)
    assert co_click_threshold(log.incidence("co_clicks"), share) == matrix[matrix > 0].min()
    assert_drawn_from(sampler.sample(N_DRAWS), expected(matrix))
    # equal values are all kept
    equal = QueryLog([0, 0, 0, 1, 1], [0, 1, 2, 3, 4])
    assert QueryTripletSampler(equal, 0, relevance="co_clicks", share=0.01).n_without_positive_ == 0


def test_a_sample_finds_the_co_click_threshold(monkeypatch):
    rng = np.random.default_rng(4)
    query, image = np.nonzero(rng.random((40, 60)) < 0.3)  # pairs share 3.6 queries on average, and not alike
    log = QueryLog(query, image, rng.lognormal(size=len(query)))
    monkeypatch.setattr(query_triplets, "EXACT_PAIRS", 10)
    monkeypatch.setattr(query_triplets, "SAMPLED_PAIRS", 50_000)
    matrix, threshold = cut_matrix(log, share=1.0), co_click_threshold(log.incidence("co_clicks"), 0.1)
    kept = np.count_nonzero(matrix >= threshold) / np.count_nonzero(matrix)
    assert kept == pytest.approx(0.1, abs=0.01)  # without the weights it is below 0.06


@pytest.mark.parametrize("easy", [0.0, 0.25])
def test_rare_positives_end(easy, monkeypatch):
    monkeypatch.setattr(query_triplets, "EASY", easy)
    # image 0 is almost all of its query's relevance: a proposal is another image once in a hundred million
    log = QueryLog([0, 0, 0], [0, 1, 2], [1e8, 1.0, 3.0], n_images=5)
    triplets = QueryTripletSampler(log, 0).sample(20_000)
    counts = np.bincount(triplets[triplets[:, 0] == 0, 1], minlength=3)[1:]
    assert chisquare(counts, counts.sum() * np.array([0.25, 0.75])).pvalue > 1e-4


def test_triplets_that_share_their_query_are_distributed_as_before_and_a_chunk_is_its_seed_and_number():
    log, options = random_log(1), {"theta": quantile(random_log(1), 0.3)}
    drawn = QueryTripletSampler(log, 0, triplets_per_query=3, **options).sample(3 * N_DRAWS).reshape(-1, 3, 3)
    assert (drawn[:, :, 0] == drawn[:, :1, 0]).all()
    probability = expected(cut_matrix(log, options["theta"]))
    for place in range(3):
        assert_drawn_from(drawn[:, place], probability)
    # given the query image, those of two places are independent
    for column in (1, 2):
        shares = probability.sum(axis=3 - column)
        pairs = shares[:, :, None] * shares[:, None] / np.maximum(shares.sum(axis=1), 1e-300)[:, None, None]
        assert_drawn_from(np.stack([drawn[:, 0, 0], *drawn[:, :2, column].T], axis=1), pairs)
    log = random_log(0)
    sampler = QueryTripletSampler(log, 3)
    fifth = sampler.chunk(5, 700)
    sampler.sample(10)
    np.testing.assert_array_equal(sampler.chunk(5, 100), fifth[:100])
    np.testing.assert_array_equal(QueryTripletSampler(log, 3).chunk(5, 700), fifth)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda number: sampler.chunk(number, 700), range(16)))
    np.testing.assert_array_equal(together, [sampler.chunk(number, 700) for number in range(16)])
    for other in (together[4], QueryTripletSampler(log, 4).chunk(5, 700), QueryTripletSampler(log, 3).sample(700)):
        for shift in range(4):  # no stream is another one moved along: rows agree by chance only
            assert (other[shift:] == fifth[: 700 - shift]).all(axis=1).mean() < 0.1


ALONE = QueryLog([0, 1, 2], [0, 1, 2])
PAIRS = QueryLog([0, 0, 1, 1], [0, 1, 1, 2])


@pytest.mark.parametrize(
    ("log", "options", "message"),
    [
        (ALONE, {}, "no image has a relevant other image: lower theta"),
        (PAIRS, {"theta": float(PAIRS.joint(0, 1))}, "lower theta"),  # above it, not at it
        (PAIRS.of_images([]), {}, "give a log with more queries"),
    ],
)
def test_mistakes_are_named(log, options, message):
    with pytest.raises(LookalikeError, match=message):
        QueryTripletSampler(log, **options)
