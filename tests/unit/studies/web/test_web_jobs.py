"""Jobs of the web study: what is weighted, held out, trained on, averaged, scored and timed."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import average_precision_score

from lookalike.core.errors import LookalikeError
from lookalike.data.query_log import QueryLog
from lookalike.data.web_simulation import WebSimulation
from lookalike.exhibits.results import select
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.studies.web import large_scale, protocol, training_images
from lookalike.studies.web.protocol import precision_of_retrieval, sample_query_images
from lookalike.studies.web.results import N_GALLERY, N_QUERIES, PRECISION, SIZES, STANDARD_ERROR
from lookalike.studies.web.runtime import VARIANCE, mnist_like, score_interval, time_lmnn, time_oasis
from lookalike.studies.web.settings import HeldOutLog, LmnnTimes, LogLearning, LogTest, OasisTimes
from lookalike.studies.web.training_images import TrainingRows, Validation, hold_out, images_of_part, split_training

LEARNING = LogLearning(aggressiveness=1.0, steps=1024, interval=512, patience=0, block=256)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Log, images and rows of a small simulated set, of which some are held out."""
    folder = tmp_path_factory.mktemp("web")
    sizes = {"n_images": 600, "words": 800, "nonzeros": 30, "topics": 6, "topic_words": 20, "style_words": 20}
    simulation = WebSimulation(**sizes, topic_share=0.2, styles=10, seed=3)
    simulation.write_images(folder / "images.parquet")
    log, images = simulation.query_log(), pd.read_parquet(folder / "images.parquet")
    learned, held_out = split_training(log, images, HeldOutLog(images=100, queries=50), 1)
    rows = TrainingRows(simulation.visterms(0, 600), learned)
    validation = Validation.make(rows, log, held_out, 50, 2)
    return SimpleNamespace(folder=folder, log=log, images=images, rows=rows, validation=validation)


def trained(data, ranker):
    given = data.log, data.rows, data.validation, LEARNING, ranker
    options = {"seed": 1, "checkpoint_seconds": 1000.0, "report": lambda line: None}
    return protocol.train_ranker(*given, checkpoint=data.folder / f"checkpoint-{ranker}", **options)


def test_nothing_held_out_is_learned_from_and_each_ranker_is_the_same_whatever_others_there_are(data):
    learned, training = set(data.rows.image_ids), set(images_of_part(data.images, "train"))
    assert learned < training
    assert 50 <= len(training) - len(learned) == data.validation.rows.shape[0] <= len(training) / 3
    (first, fit), (second, _) = (trained(data, ranker) for ranker in "01")
    assert np.array_equal(first.W, trained(data, "0")[0].W)
    assert min(first.best_step, second.best_step) > 0, "nothing was learned: make the set easier"
    assert not np.array_equal(first.W, second.W)
    assert fit["n_train"] + fit["n_validation"] == len(images_of_part(data.images, "train"))


def test_test_images_query_the_others_and_never_find_themselves(data):
    log, ids = data.log, images_of_part(data.images, "test")
    assert set(ids) == set(data.images.loc[data.images["part"] == "test", "image_id"])
    lengths = sp.linalg.norm(data.rows.weighted(ids), axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1, atol=1e-6)
    systems = {"euclidean": lambda: None, "oasis": lambda: trained(data, "0")[0].W}
    options = {"seed": 1, "n_threads": 1, "report": lambda line: None}
    test = LogTest(queries=10_000, neighbours=10_000)
    precision = protocol.score_retrieval(systems, data.rows, data.images, log, test, **options)
    shares = select(precision, metric=PRECISION, method="euclidean")
    assert shares["x"].max() == len(ids) - 1
    assert set(select(precision, metric=N_QUERIES)["value"]) == {len(ids)}
    # at the last k a query has found all others: what is relevant among them, whatever the ranking
    relevant = np.mean([log.are_relevant(ids[[i]], np.delete(ids, i)[None]).mean() for i in range(len(ids))])
    assert shares["value"].iloc[-1] == pytest.approx(relevant)


def test_precision_by_hand_of_query_images_that_are_drawn_evenly_without_replacement_by_their_seed():
    # images 0, 1, 2 share query 0; 2, 3 share query 1; 4 and 5 have a query each
    log, gallery = QueryLog([0, 0, 0, 1, 1, 2, 3], [0, 1, 2, 2, 3, 4, 5]), [5, 3, 2, 1, 0]

    # query image 0 finds 1, 5, 2: relevant yes, no, yes; query image 2 finds 5, 3, 0: relevant no, yes, yes
    table = precision_of_retrieval(np.array([[3, 0, 2], [0, 1, 4]]), [0, 2], gallery, log, method="oasis")
    by_log = select(table, metric=PRECISION)
    assert by_log.x.tolist() == [1, 2, 3]
    np.testing.assert_allclose(by_log.value, [1 / 2, 1 / 2, 2 / 3])
    # the standard error of a mean: a standard deviation with n - 1 over the root of n
    np.testing.assert_allclose(select(table, metric=STANDARD_ERROR).value, [1 / 2, 0, 0], atol=1e-15)
    assert select(table, metric=[N_QUERIES, N_GALLERY]).value.tolist() == [2, 5]
    part = np.arange(100, 190, 3)
    draws = [sample_query_images(part[:: 1 - 2 * (seed % 2)], 10, seed) for seed in range(400)]
    assert all(len(drawn) == 10 and (np.diff(drawn) > 0).all() for drawn in draws)
    # 4 standard errors of 0.024
    assert abs(np.bincount(np.concatenate(draws))[part] / 400 - 1 / 3).max() < 0.1
    np.testing.assert_array_equal(sample_query_images([4, 2, 9], 10, 0), [2, 4, 9])


N_IMAGES, N_WORDS, PER_QUERY = 120, 40, 5


@pytest.fixture(scope="module")
def log():
    """24 queries of five images each, and a 25th over five images of five of them."""
    queries = [*np.repeat(np.arange(N_IMAGES // PER_QUERY), PER_QUERY), *[N_IMAGES // PER_QUERY] * 5]
    return QueryLog(queries, [*np.arange(N_IMAGES), *np.arange(5) * 2 * PER_QUERY])


VISTERMS = sp.csr_array(np.random.default_rng(0).poisson(0.4, (N_IMAGES, N_WORDS)))


def test_whole_queries_are_held_out_never_more_than_a_third_and_all_have_their_turn(log):
    draws = [hold_out(log, np.arange(N_IMAGES), 20, seed) for seed in range(60)]
    for held_out in draws:
        assert (np.diff(held_out) > 0).all()
        assert 20 <= len(held_out) < 20 + PER_QUERY
        # a query's images come together, but for one that went with the query across
        assert np.isin(np.bincount(held_out // PER_QUERY), [0, 1, PER_QUERY - 1, PER_QUERY]).all()
    share = np.bincount(np.concatenate(draws), minlength=N_IMAGES) / len(draws)
    assert 0.02 < share.min() < share.max() < 0.5
    np.testing.assert_array_equal(draws[7], hold_out(log, np.arange(N_IMAGES), 20, 7))
    train_ids = np.arange(0, N_IMAGES, 2)
    assert np.isin(hold_out(log, train_ids, 15, 0), train_ids).all()
    for seed in range(10):
        assert N_IMAGES // 3 - PER_QUERY < len(hold_out(log, np.arange(N_IMAGES), 10_000, seed)) <= N_IMAGES // 3
        uneven = QueryLog([*[0] * 6, 1, 1, 2], [0, 1, 2, 3, 4, 5, 6, 7, 8])
        assert set(hold_out(uneven, np.arange(9), 3, seed)) == {6, 7, 8}
    with pytest.raises(LookalikeError, match="no query of the log has a third of the 9 training images or fewer"):
        hold_out(QueryLog([0] * 9, range(9)), np.arange(9), 3, 0)


def dense_mean_average_precision(validation, held_out, rows, log, W):
    """Rank by dense products in the user's order of words, with relevance pair by pair."""
    X, values = rows.weighted(held_out).toarray().astype(np.float64), []
    for query in validation.queries:
        others = np.delete(np.arange(len(held_out)), query)
        relevant = log.joint(held_out[query], held_out[others]) > 0
        values.append(average_precision_score(relevant, X[query] @ W @ X[others].T))
    return np.mean(values)


def test_score_is_that_of_a_dense_ranking_whatever_the_threads(log):
    held_out = hold_out(log, np.arange(N_IMAGES), 20, 3)
    rows = TrainingRows(VISTERMS, np.setdiff1d(np.arange(N_IMAGES), held_out))
    validation, again = (Validation.make(rows, log, held_out, 10, 4, n_threads=n) for n in (1, 2))
    assert (validation.rows.shape[0], len(validation.queries)) == (len(held_out), 10)
    W = np.random.default_rng(1).standard_normal((N_WORDS, N_WORDS)).astype(np.float32)
    expected = dense_mean_average_precision(validation, held_out, rows, log, W)
    order = np.argsort(rows._place)
    internal = np.ascontiguousarray(W[np.ix_(order, order)])
    assert validation.score(internal) == pytest.approx(expected, abs=1e-6)
    assert validation.score(W) != pytest.approx(expected, abs=1e-3)
    assert (again.score(internal), again.fingerprint()) == (validation.score(internal), validation.fingerprint())
    assert Validation.make(rows, log, held_out, 10, 5).fingerprint() != validation.fingerprint()


def test_relevant_images_share_a_query_with_more_than_theta_of_all_training_images(log):
    # images 0 to 4 are a query, of which two are held out beside one that has nobody there
    rows = TrainingRows(VISTERMS, np.arange(60, 100))
    validation = Validation.make(rows, log, [0, 1, 50], 100, 0)
    found = (validation.queries, validation.relevant_indices, validation.relevant_indptr)
    assert [array.tolist() for array in found] == [[0, 1], [1, 0], [0, 1, 2]]
    # 50 images in ten queries of five; the query across has images 0 and 10, 20, 30, 40 are not there
    held_out = np.arange(10)
    pair = log.of_images(np.concatenate([held_out, np.arange(60, 100)])).joint(1, 2)
    assert len(Validation.make(rows, log, held_out, 99, 0, theta=0.99 * pair).queries) == 10
    with pytest.raises(LookalikeError, match="no held-out image has a relevant one among the others"):
        Validation.make(rows, log, held_out, 99, 0, theta=1.01 * pair)


def small_counts():
    """Counts with a word that no image has (3), one that all have (5), and images without a word of weight (4, 11)."""
    random = np.random.default_rng(4)
    counts = random.integers(1, 9, (60, N_WORDS)) * (random.random((60, N_WORDS)) < random.random(N_WORDS) * 0.6)
    counts[11] = 0
    counts[:, 3], counts[:, 5] = 0, 255
    counts[4] = np.where(np.arange(N_WORDS) == 5, 2, 0)
    return counts


IDS, COUNTS = np.flatnonzero(np.arange(60) % 7 != 2), small_counts()
SIXTY = sp.csr_array(COUNTS.astype(np.uint8))
ORDER = np.argsort(-(COUNTS[IDS] > 0).sum(axis=0), kind="stable")


STORED_ZEROS = sp.csr_array(np.ones_like(COUNTS))
STORED_ZEROS.data[:] = COUNTS.ravel()


@pytest.mark.parametrize("counts", [SIXTY, STORED_ZEROS], ids=["words", "zeros"])
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_weights_are_those_of_other_studies_by_document_frequency_whatever_the_slices(size, counts, monkeypatch):
    monkeypatch.setattr(training_images, "SLICE", size)
    rows, idf = TrainingRows(counts, IDS), inverse_document_frequencies(SIXTY[IDS])
    every = tfidf_rows(SIXTY, idf)
    expected, wanted = every.toarray()[IDS], np.concatenate([np.arange(len(IDS)), [9, 0, 9]])
    indptr, indices, data, squared = rows.take(wanted)
    assert (indptr.dtype, indices.dtype, data.dtype, squared.dtype) == (np.int64, np.uint32, np.float32, np.float64)
    taken = sp.csr_array((data, indices, indptr), shape=(len(wanted), N_WORDS))
    np.testing.assert_array_equal(taken.toarray(), expected[wanted][:, ORDER])
    assert taken.has_sorted_indices
    np.testing.assert_allclose(squared, (expected[wanted].astype(np.float64) ** 2).sum(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(rows.idf, idf)
    np.testing.assert_array_equal(rows.image_ids, IDS)
    W = np.random.default_rng(0).random((N_WORDS, N_WORDS))
    np.testing.assert_array_equal(rows.restored(W[np.ix_(ORDER, ORDER)]), W)
    # other images are weighted by the same frequencies
    weights, internal = rows.weighted(range(60)), rows.weighted(range(60), internal=True)
    np.testing.assert_array_equal(weights.toarray(), every.toarray())
    np.testing.assert_array_equal(internal.toarray(), every.toarray()[:, ORDER])
    assert (weights.dtype, weights.nnz, internal.has_sorted_indices) == (np.float32, every.nnz, True)


TIMING, HELD_OUT = OasisTimes(steps_per_image=100, patience=3), HeldOutLog(images=40, queries=20)
SIMULATION = {"n_images": 150, "seed": 3, "words": 300, "nonzeros": 15}
SIMULATION |= {"topic_words": 20, "style_words": 20, "styles": 5}


def timed(seed=1, **changes):
    timing = TIMING.model_copy(update=changes)
    return numbers_of(time_oasis(WebSimulation(**SIMULATION), timing, HELD_OUT, seed=seed))


def numbers_of(rows):
    """Return what a timed training is of, its seconds and whether it ended at a limit."""
    (took, limited) = rows
    assert (took["metric"], limited["metric"], took["setting"]) == ("train_time", "unfinished", SIZES)
    return took["method"], took["x"], took["value"], bool(limited["value"])


def test_a_run_is_counted_up_to_its_best_score_and_saturates_or_is_cut(monkeypatch):
    runs, train = [], large_scale.train
    monkeypatch.setattr(large_scale, "train", lambda *given, **more: runs.append(train(*given, **more)) or runs[-1])
    method, n_images, seconds, is_limited = timed()
    (run,) = runs
    # powers of two near the number of images, which blocks of steps divide
    assert [score_interval(n) for n in (1, 599, 6_000, 2_700_000)] == [64, 512, 8192, 1_048_576]
    assert (method, n_images, is_limited, run.stopped) == ("oasis", 150, False, "saturated")
    best = max(run.curve, key=lambda point: point["map"])
    assert run.curve[0]["map"] < best["map"], "it learns, or its time would be that of nothing"
    assert seconds == pytest.approx(best["seconds"] / run.seconds * run.cpu_seconds)
    assert timed(steps_per_image=0.01)[-1], "it ended at the limit of steps"
    # curves, not stopping points, which may agree by chance
    for seed in (1, 1, 2):
        timed(seed, steps_per_image=4)
    curves = [[point["map"] for point in run.curve] for run in runs[-3:]]
    assert curves[0] == curves[1] != curves[2]
    with pytest.raises(ValueError, match="greater than 0"):
        timed(aggressiveness=0)


def test_synthetic_rows_have_impostors_and_are_nested_and_seeded():
    X, y = mnist_like(600, 4)
    assert (X.shape, np.bincount(y).tolist()) == ((600, 784), [60] * 10)
    assert X.var(axis=0).sum() == pytest.approx(sum(VARIANCE.values()), rel=0.15)
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    assert 0.02 < (y[distances.argmin(axis=1)] != y).mean() < 0.4
    smaller, labels = mnist_like(31, 4)
    np.testing.assert_allclose(smaller, X[:31])
    np.testing.assert_array_equal(labels, y[:31])
    assert not np.allclose(mnist_like(31, 5)[0], smaller)


def test_lmnn_is_timed_until_it_converges_or_ends_at_a_limit():
    method, n_images, seconds, is_limited = numbers_of(time_lmnn(60, LmnnTimes(time_limit=100), seed=1))
    assert (method, n_images, is_limited, seconds > 0) == ("lmnn", 60, False, True)
    assert numbers_of(time_lmnn(60, LmnnTimes(max_iter=3), seed=1))[-1], "it ended at the limit of iterations"
    *_, seconds, is_limited = numbers_of(time_lmnn(400, LmnnTimes(max_iter=100_000, time_limit=0.3), seed=1))
    assert (is_limited, 0.2 < seconds < 3) == (True, True)
