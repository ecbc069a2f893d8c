"""The symmetric variants of OASIS against plain dense recursions, and projections during training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_oasis import dense_recursion, learned

from lookalike.learners import OASIS, AveragedOASIS, DissimOASIS, Euclidean, OnlineProjOASIS, TripletSampler
from lookalike.learners.online import held_out_rows
from lookalike.learners.projections import project_psd
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.selection import trace_candidates

VARIANTS = pytest.mark.parametrize("learner", [DissimOASIS, OnlineProjOASIS])


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """80 rows of 400 features, wider than the kernels' dense head, with common and rare words and shared ones."""
    random = np.random.default_rng(0)
    y = np.arange(80) % 4
    chance = np.minimum(0.5, 4.0 / np.arange(1, 401) ** 0.8)
    X = random.exponential(size=(80, 400)) * (random.random((80, 400)) < chance)
    X[np.arange(80), 390 + y] += 1.0
    X[5] = X[1]
    X = X[:, random.permutation(400)]
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@VARIANTS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_training_stays_symmetric_to_the_bit(
    rows: tuple[np.ndarray, np.ndarray], learner: Any, dtype: str
) -> None:
    found = learned(learner(n_steps=20_000, dtype=dtype, random_state=0).fit(*rows))
    np.testing.assert_array_equal(found, found.T)


def test_one_step_of_online_proj_is_the_symmetric_part_of_the_step_of_oasis(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = rows
    for triplet in TripletSampler(y, 3).draw(5):
        plain = OASIS(dtype="float64", projection="symmetric").fit_triplets(X, [triplet])
        online = OnlineProjOASIS(dtype="float64").fit_triplets(X, [triplet])
        assert plain.n_updates_ == online.n_updates_ == 1
        np.testing.assert_allclose(online.W_, plain.W_, atol=1e-14)


def test_dissim_starts_as_the_euclidean_distance(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    seen: dict[int, np.ndarray] = {}

    def trace(model: DissimOASIS, step: int) -> dict[str, float]:
        seen[step] = model.similarity(X, X)
        return {}

    DissimOASIS(n_steps=50, dtype="float64", random_state=0).fit(X, y, trace=trace, trace_steps=[50])
    euclidean = Euclidean().fit(X).similarity(X, X)
    np.testing.assert_allclose(seen[0], euclidean, atol=1e-12)
    assert not np.allclose(seen[50], euclidean, atol=1e-3)


def test_a_query_midway_between_the_two_changes_nothing_in_dissim() -> None:
    # (p - p+)(p - p+)' equals (p - p-)(p - p-)' here though p+ and p- differ
    model = DissimOASIS().fit_triplets([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]], [[0, 1, 2]])
    np.testing.assert_array_equal(model.M_, np.eye(2))
    assert (model.n_steps_, model.n_updates_) == (1, 0)


@VARIANTS
def test_projection_at_the_end(rows: tuple[np.ndarray, np.ndarray], learner: Any) -> None:
    X, y = rows
    plain = learner(n_steps=2000, random_state=0, dtype="float64").fit(X, y)
    psd = learner(n_steps=2000, random_state=0, dtype="float64", projection="psd").fit(X, y)
    values, vectors = np.linalg.eigh(learned(plain))
    assert values[0] < -0.01
    np.testing.assert_allclose(learned(psd), (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-10)
    np.testing.assert_array_equal(learned(psd), learned(psd).T)
    assert (plain.n_projections_, psd.n_projections_) == (0, 1)
    assert hasattr(psd, "transform")
    assert not hasattr(plain, "transform")
    with pytest.raises(ValueError, match="projection must be None or 'psd'"):
        learner(projection="symmetric").fit(X, y)


# Projections during training --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_projection_is_the_nearest_positive_learned(dtype: str) -> None:
    random = np.random.default_rng(0)
    W = random.normal(size=(30, 30)).astype(dtype)
    projected, factor = project_psd(W)
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    assert projected.dtype == dtype
    assert factor.shape == (30, int((values > 0).sum()))
    np.testing.assert_array_equal(projected, projected.T)
    np.testing.assert_allclose(projected, (vectors * np.maximum(values, 0)) @ vectors.T, atol=tolerance)
    np.testing.assert_allclose(factor @ factor.T, projected, atol=tolerance)
    assert np.linalg.eigvalsh(projected.astype(np.float64))[0] > -tolerance


def test_a_positive_matrix_is_projected_to_itself() -> None:
    W = np.cov(np.random.default_rng(0).normal(size=(6, 50)))
    np.testing.assert_array_equal(project_psd(W)[0], W)


def oasis_with_projections(X: np.ndarray, triplets: np.ndarray, aggressiveness: float, interval: int) -> np.ndarray:
    """OASIS with a projection after every `interval` steps, and none at the end."""
    W = np.eye(X.shape[1])
    for start in range(0, len(triplets), interval):
        chunk = triplets[start : start + interval]
        W = dense_recursion(X, chunk, aggressiveness, W)[0]
        if len(chunk) == interval:
            values, vectors = np.linalg.eigh((W + W.T) / 2)
            W = (vectors * np.maximum(values, 0)) @ vectors.T
    return W


@pytest.fixture(scope="module")
def few_features() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = random.random((60, 30)) * (random.random((60, 30)) < 0.4)
    X[np.arange(60), y] += 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.mark.parametrize("interval", [1, 7, 100, 400])
def test_projecting_at_intervals_is_a_literal_recursion(
    few_features: tuple[np.ndarray, np.ndarray], interval: int
) -> None:
    X, y = few_features
    triplets = TripletSampler(y, 0).draw(400)
    seen: dict[int, np.ndarray] = {}

    def trace(model: OASIS, step: int) -> dict[str, float]:
        seen[step] = model.W_.copy()
        return {}

    model = OASIS(0.5, 400, projection="psd", projection_interval=interval, dtype="float64", random_state=0).fit(
        X, y, trace=trace, trace_steps=[150, 200, 400]
    )
    for step in (150, 200, 400):
        expected = oasis_with_projections(X, triplets[:step], 0.5, interval)
        np.testing.assert_allclose(seen[step], expected, atol=1e-9)
        if step % interval == 0:
            assert np.linalg.eigvalsh(seen[step])[0] > -1e-10
    assert model.n_projections_ == 400 // interval + 1
    assert np.linalg.eigvalsh(model.W_)[0] > -1e-10
    at_the_end = OASIS(0.5, 400, projection="psd", dtype="float64", random_state=0).fit(X, y)
    assert np.allclose(at_the_end.W_, model.W_, atol=1e-9) == (interval == 400)


def test_traces_and_calls_do_not_move_the_projections(few_features: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = few_features

    def new() -> OASIS:
        return OASIS(0.5, 500, projection="psd", projection_interval=60, random_state=0)

    traced = new().fit(X, y, trace=lambda model, step: {}, trace_steps=[1, 59, 60, 61, 130, 499])
    np.testing.assert_array_equal(traced.W_, new().fit(X, y).W_)
    triplets = TripletSampler(y, 0).draw(500)
    np.testing.assert_array_equal(traced.W_, new().fit_triplets(X, triplets).W_)
    # a call that ends on a multiple of the interval ends in a projection anyway
    parts = new().partial_fit_triplets(X, triplets[:120]).partial_fit_triplets(X, triplets[120:])
    np.testing.assert_allclose(parts.W_, traced.W_, atol=1e-5)
    assert (traced.n_projections_, parts.n_projections_) == (9, 10)


@pytest.mark.parametrize("learner", [OASIS, OnlineProjOASIS, DissimOASIS, AveragedOASIS])
def test_early_stopping_scores_the_models_that_fits_of_so_many_steps_give(
    few_features: tuple[np.ndarray, np.ndarray], learner: Any
) -> None:
    X, y = few_features
    settings: dict[str, Any] = {"aggressiveness": 1.0, "projection": "psd", "random_state": 4}
    model = learner(n_steps=1000, early_stopping=True, trace_points=6, **settings).fit(X, y)
    curve = model.validation_curve_
    held_out = held_out_rows(y, 0.2, np.random.default_rng([4, 1]))
    X_train, y_train, X_val, y_val = X[~held_out], y[~held_out], X[held_out], y[held_out]
    for step, found in zip(curve["step"], curve["map"], strict=True):
        stopped = learner(n_steps=int(step), **settings).fit(X_train, y_train)
        assert rank_leave_one_out(stopped, X_val, y_val, n_neighbours=0).mean_average_precision() == found
    # the selection of the protocol sees the same
    table = trace_candidates(
        lambda chosen: learner(**settings, **chosen), [{}], X_train, y_train, X_val, y_val, curve["step"]
    )
    np.testing.assert_array_equal(table["map"], curve["map"])
    unprojected = learner(n_steps=1000, early_stopping=True, trace_points=6, **settings | {"projection": None})
    assert not np.array_equal(curve["map"], unprojected.fit(X, y).validation_curve_["map"])


def test_early_stopping_projects_at_the_interval_of_the_final_pass(few_features: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = few_features
    asked: dict[int | None, Any] = {}
    for interval in (None, 20):
        model = OASIS(
            1.0, 2000, projection="psd", projection_interval=interval, early_stopping=True, random_state=0
        ).fit(X, y)
        asked[interval] = model.validation_curve_["map"]
        best = int(model.validation_curve_["step"][np.argmax(asked[interval])])
        again = OASIS(1.0, best, projection="psd", projection_interval=interval, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.W_, again.W_)
    assert not np.array_equal(asked[None], asked[20])


def test_overflow_is_named_before_a_projection() -> None:
    X = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 1e-200]])
    model = OASIS(dtype="float64", projection="psd", projection_interval=1)
    with pytest.raises(ValueError, match="scale the rows"):
        model.fit_triplets(X, [[0, 1, 2]] * 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"projection": "psd", "projection_interval": 0}, "at least 1"),
        ({"projection": "psd", "projection_interval": 1.5}, "whole number"),
        ({"projection_interval": 10}, "needs projection='psd'"),
        ({"projection": "symmetric", "projection_interval": 10}, "needs projection='psd'"),
    ],
)
def test_intervals_out_of_range_are_named(
    few_features: tuple[np.ndarray, np.ndarray], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        OASIS(**parameters).fit(*few_features)
