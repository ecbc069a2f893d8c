"""OASIS and its variants against plain dense recursions, and what must not change their bits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import few_values, sparse_rows

from lookalike.learners import OASIS, AveragedOASIS, DissimOASIS, OnlineProjOASIS, TripletSampler
from lookalike.learners.oasis_variants import average_matrices, ranker_seeds
from lookalike.learners.online import held_out_rows
from lookalike.learners.projections import project_psd
from lookalike.learners.sparse_rows import HEAD_BYTES

Rows = tuple[np.ndarray, np.ndarray]
Recursed = tuple[np.ndarray, int, int]
"""W (or M), steps with a loss, updates."""


def recursion(learner: Any, X: np.ndarray, triplets: np.ndarray, C: float, W: Any = None) -> Recursed:
    """JMLR Figure 1 as it is printed, from W = I or another W, or what the learner does in its place.

    Online-Proj-OASIS takes the symmetric part of each step (draft, 5.2.4); Dissim-OASIS has minus the squared distance
    as its similarity (draft, 2.2), so that a step goes along what two pairs of rows differ by.
    """
    W = np.eye(X.shape[1]) if W is None else W.copy()
    losses = updates = 0
    for query, positive, negative in triplets:
        V = np.outer(X[query], X[positive] - X[negative])
        if learner is DissimOASIS:
            a, b = X[query] - X[positive], X[query] - X[negative]
            V = np.outer(b, b) - np.outer(a, a)
        loss = max(0.0, 1.0 - np.sum(W * V))
        losses += loss > 0
        if loss > 0 and V.any():
            step = min(C, loss / np.sum(V * V)) * V
            W += (step + step.T) / 2 if learner is OnlineProjOASIS else step
            updates += 1
    return W, losses, updates


def nearest_positive(W: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def learned(model: Any) -> np.ndarray:
    matrix: np.ndarray = model.M_ if isinstance(model, DissimOASIS) else model.W_
    return matrix


ONE_BY_ONE = [OASIS, OnlineProjOASIS, DissimOASIS]
"""Those that learn from given triplets."""
one_by_one = pytest.mark.parametrize("learner", ONE_BY_ONE)
whole_family = pytest.mark.parametrize("learner", [*ONE_BY_ONE, partial(AveragedOASIS, n_rankers=2)])


@pytest.fixture(scope="module")
def rows() -> Rows:
    """80 rows, some of them zero, of 400 features: more than the kernels' dense head has room for."""
    return sparse_rows(80, 400, 4)


@pytest.fixture(scope="module")
def few_features() -> Rows:
    return sparse_rows(60, 30, 3, seed=1)


# What is learned ------------------------------------------------------------------------------------------------------


@one_by_one
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize(("C", "scale"), [(0.02, 1.0), (5.0, 1.0), (0.1, 3.0)])
def test_the_same_triplets_give_the_matrix_of_a_dense_recursion(
    rows: Rows, learner: Any, dtype: str, tolerance: float, C: float, scale: float
) -> None:
    X, y = rows
    assert X.shape[1] > HEAD_BYTES // np.dtype(dtype).itemsize
    triplets = TripletSampler(y, 1).draw(250)
    expected, losses, updates = recursion(learner, scale * X, triplets, C)
    model = learner(C, dtype=dtype).fit_triplets(sp.csr_array(scale * X), triplets)
    assert learned(model).dtype == dtype
    assert learner is OASIS or (learned(model) == learned(model).T).all()
    np.testing.assert_allclose(learned(model), expected, atol=tolerance)
    assert np.abs(expected - np.eye(400)).max() > 0.01
    if dtype == "float64":
        assert (model.n_steps_, model.n_updates_) == (250, updates)
        assert np.isclose(np.nansum(model.curve_["loss_rate"] * np.diff(model.curve_["step"], prepend=0)), losses)


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_any_small_rows_give_the_matrix_of_a_dense_recursion(data: st.DataObject) -> None:
    X, triplets = few_values(data, "triplets")
    # the matrix only: a step that ends on the margin leaves a loss of 0 or of one rounding, and counts differ by it
    for learner in ONE_BY_ONE:
        model = learner(0.3, dtype="float64").fit_triplets(X, triplets)
        np.testing.assert_allclose(learned(model), recursion(learner, X, triplets, 0.3)[0], atol=1e-10)


# Rankers that are averaged --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "n_jobs"), [(1, None), (3, 2)])
def test_the_average_is_that_of_rankers_trained_one_by_one(rows: Rows, dtype: str, n: int, n_jobs: int | None) -> None:
    X, y = rows
    seen: dict[int, np.ndarray] = {}

    def trace(model: AveragedOASIS, step: int) -> dict[str, float]:
        seen[step] = model.W_.copy()
        return {}

    shared: dict[str, Any] = {"aggressiveness": 0.2, "dtype": dtype}
    model = AveragedOASIS(n_steps=700, n_rankers=n, n_jobs=n_jobs, random_state=6, **shared)
    model.fit(sp.csr_array(X), y, trace=trace, trace_steps=[250, 700])
    for step in (250, 700):
        alone = [OASIS(n_steps=step, random_state=seed, **shared).fit(X, y) for seed in ranker_seeds(6, n)]
        np.testing.assert_array_equal(seen[step], average_matrices(ranker.W_ for ranker in alone))
    np.testing.assert_array_equal(model.W_, seen[700])
    assert (model.n_steps_, model.n_updates_) == (700, sum(ranker.n_updates_ for ranker in alone))
    rates = [np.nansum(one.curve_["loss_rate"] * np.diff(one.curve_["step"], prepend=0)) for one in (model, *alone)]
    assert rates[0] == pytest.approx(np.mean(rates[1:]))
    assert n == 1 or not np.allclose(alone[0].W_, alone[1].W_, atol=1e-3)
    with pytest.raises(TypeError, match="accepts labels"):
        model.fit_triplets(X, [[0, 4, 1]])


def test_seeds_do_not_depend_on_how_many_there_are() -> None:
    assert all(ranker_seeds(3, 10)[:n] == ranker_seeds(3, n) for n in range(11))
    assert len(set(ranker_seeds(3, 10) + ranker_seeds(4, 10))) == 20
    assert ranker_seeds(np.random.default_rng(1), 2) == ranker_seeds(np.random.default_rng(1), 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_mean_is_summed_in_double_precision_and_has_the_dtype_of_the_matrices(dtype: str) -> None:
    # in single precision 2^24 + 1 is 2^24, and the two ones are lost
    mean = average_matrices(np.full((2, 2), value, dtype=dtype) for value in (2.0**24, 1.0, 1.0, -(2.0**24)))
    assert mean.dtype == dtype
    np.testing.assert_array_equal(mean, np.full((2, 2), 0.5))
    for matrices, message in (([], "at least one"), ([np.eye(2), np.eye(3)], "one shape")):
        with pytest.raises(ValueError, match=message):
            average_matrices(matrices)


# Rows held out and projections --------------------------------------------------------------------------------------


def test_a_fifth_of_every_class_is_held_out() -> None:
    y = np.repeat([0, 1, 2, 3], [40, 5, 4, 3])
    held_out = held_out_rows(y, 0.2, np.random.default_rng(0))
    assert [int(held_out[y == label].sum()) for label in range(4)] == [8, 2, 2, 0]
    with pytest.raises(ValueError, match="at least four rows"):
        held_out_rows(np.repeat([0, 1], 3), 0.2, np.random.default_rng(0))


@whole_family
def test_projections_at_the_end(few_features: Rows, learner: Any) -> None:
    make = partial(learner, 1.0, 1000, random_state=0, dtype="float64")
    plain, psd = (make(projection=projection).fit(*few_features) for projection in (None, "psd"))
    np.testing.assert_allclose(learned(psd), nearest_positive(learned(plain)), atol=1e-10)
    np.testing.assert_array_equal(learned(psd), learned(psd).T)
    np.testing.assert_allclose(psd.components_ @ psd.components_.T, learned(psd), atol=1e-10)
    assert not np.allclose(learned(psd), learned(plain), atol=1e-3)
    assert (plain.n_projections_, psd.n_projections_) == (0, 1)
    assert (hasattr(plain, "transform"), hasattr(psd, "transform")) == (False, True)
    if learner in (OnlineProjOASIS, DissimOASIS):
        with pytest.raises(ValueError, match="projection must be None or 'psd'"):
            make(projection="symmetric").fit(*few_features)
    else:
        symmetric = make(projection="symmetric").fit(*few_features)
        np.testing.assert_array_equal(learned(symmetric), (learned(plain) + learned(plain).T) / 2)
    assert not hasattr(psd.set_params(projection=None).fit(*few_features), "components_")
    positive = np.cov(np.random.default_rng(0).normal(size=(6, 50)))
    np.testing.assert_array_equal(project_psd(positive)[0], positive)


@pytest.mark.parametrize("interval", [1, 70, 400])
def test_projecting_at_intervals_is_a_literal_recursion(few_features: Rows, interval: int) -> None:
    X, y = few_features
    triplets = TripletSampler(y, 0).draw(400)
    seen: dict[int, np.ndarray] = {}

    def trace(model: OASIS, step: int) -> dict[str, float]:
        seen[step] = model.W_.copy()
        return {}

    make = partial(OASIS, 0.5, 400, projection="psd", projection_interval=interval, dtype="float64", random_state=0)
    model = make().fit(X, y, trace=trace, trace_steps=[69, 200, 400])
    W = np.eye(30)
    for step in range(400):
        W = recursion(OASIS, X, triplets[step : step + 1], 0.5, W)[0]
        W = nearest_positive(W) if (step + 1) % interval == 0 else W
        if step + 1 in seen:
            np.testing.assert_allclose(seen[step + 1], W, atol=1e-9)
    assert model.n_projections_ == 400 // interval + 1
    # neither traces nor calls move the projections; a call of its own ends in one anyway
    np.testing.assert_array_equal(model.W_, make().fit_triplets(X, triplets).W_)
    cut = min(2 * interval, 400)
    parts = make().partial_fit_triplets(X, triplets[:cut]).partial_fit_triplets(X, triplets[cut:])
    np.testing.assert_allclose(parts.W_, model.W_, atol=1e-9)


# Mistakes -------------------------------------------------------------------------------------------------------------


@one_by_one
def test_values_that_overflow_are_named(learner: Any) -> None:
    with pytest.raises(ValueError, match="too large"):
        learner().fit_triplets(np.array([[1e39, 0.0], [0.0, 1.0], [1.0, 1.0]]), [[0, 1, 2]])
    X = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 1e-200]])
    with pytest.raises(ValueError, match=learner.matrix_name[0] + " overflowed during learning: scale the rows"):
        learner(dtype="float64").fit_triplets(X, [[0, 1, 2]] * 3)


def test_overflow_is_named_before_a_projection() -> None:
    X = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 1e-200]])
    model = OASIS(dtype="float64", projection="psd", projection_interval=1)
    with pytest.raises(ValueError, match="scale the rows"):
        model.fit_triplets(X, [[0, 1, 2]] * 3)
    with pytest.raises(ValueError, match="needs projection='psd'"):
        model.set_params(projection="symmetric").fit_triplets(X, [[0, 1, 2]])
