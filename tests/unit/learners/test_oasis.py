"""OASIS and its variants against plain dense recursions, and what must not change their bits."""

import copy
from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import few_values, sparse_rows
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from lookalike.learners import OASIS, AveragedOASIS, DissimOASIS, OnlineProjOASIS, TripletSampler
from lookalike.learners.dense_steps import BLOCK, DenseSteps
from lookalike.learners.dual import DENSE_FROM, Gram, ValidationRows
from lookalike.learners.kernels import HEAD_BYTES
from lookalike.learners.oasis import average_matrices, ranker_seeds
from lookalike.learners.online import held_out_rows


def recursion(learner, X, triplets, C, W=None):
    """JMLR Figure 1 as it is printed; its symmetric part (draft, 5.2.4) or steps of minus a distance (draft, 2.2)."""
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


def nearest_positive(W):
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def learned(model):
    return np.asarray(getattr(model, model.matrix_name))


ONE_BY_ONE = [OASIS, OnlineProjOASIS, DissimOASIS]  # those that learn from given triplets
from_triplets = pytest.mark.parametrize("learner", ONE_BY_ONE)
whole_family = pytest.mark.parametrize("learner", [*ONE_BY_ONE, partial(AveragedOASIS, n_rankers=2)])


both_solvers = pytest.mark.parametrize("solver", ["gram", "rows"])


ROWS = sparse_rows(80, 400, 4)  # some of them zero, of more features than the kernels' dense head has room for
FEW_FEATURES = sparse_rows(60, 30, 3, seed=1)


@from_triplets
@both_solvers
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
@pytest.mark.parametrize(("C", "scale"), [(0.02, 1.0), (5.0, 1.0), (0.1, 3.0)])
def test_the_same_triplets_give_the_matrix_of_a_dense_recursion(learner, solver, dtype, tolerance, C, scale):
    X, y = ROWS
    assert X.shape[1] > HEAD_BYTES // np.dtype(dtype).itemsize
    triplets = TripletSampler(y, 1).draw(250)
    expected, losses, updates = recursion(learner, scale * X, triplets, C)
    model = learner(C, dtype=dtype, solver=solver).fit_triplets(sp.csr_array(scale * X), triplets)
    assert learned(model).dtype == dtype
    assert learner is OASIS or (learned(model) == learned(model).T).all()
    np.testing.assert_allclose(learned(model), expected, atol=tolerance * scale**2)
    assert np.abs(expected - np.eye(400)).max() > 0.01
    if dtype == "float64":
        assert (model.n_steps_, model.n_updates_) == (250, updates)
        assert np.isclose(np.nansum(model.curve_["loss_rate"] * np.diff(model.curve_["step"], prepend=0)), losses)


@from_triplets
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_blocks_of_steps_on_dense_rows_give_the_matrix_of_a_dense_recursion_wherever_it_is_traced(
    learner, dtype, tolerance
):
    X, y = 0.1 * np.random.default_rng(0).standard_normal((60, DENSE_FROM)), np.arange(60) % 3
    X[57] = X[54]
    triplets = np.concatenate([TripletSampler(y, 1).draw(2 * BLOCK), [[0, 54, 57]], TripletSampler(y, 2).draw(BLOCK)])
    assert isinstance(learner(solver="rows", dtype=dtype).steps(X, 9), DenseSteps)
    make = partial(learner, 0.5, dtype=dtype, solver="rows")
    steps = [1, BLOCK - 1, BLOCK + 5, len(triplets)]
    traced = make().fit_triplets(X, triplets, trace=lambda model, _: {"W": learned(model).copy()}, trace_steps=steps)
    for step, W in zip(steps, traced.curve_["W"][1:], strict=True):
        expected, losses, updates = recursion(learner, X, triplets[:step], 0.5)
        np.testing.assert_allclose(W, expected, atol=tolerance)
        model = make().fit_triplets(X, triplets[:step])
        assert model.n_updates_ == updates
        assert losses == pytest.approx(np.nansum(model.curve_["loss_rate"] * np.diff(model.curve_["step"], prepend=0)))
        assert step < BLOCK or (learned(model) == W).all()
    assert losses > updates
    assert learner is OASIS or (W == W.T).all()
    rest = make().fit_triplets(X, triplets[:70]).partial_fit_triplets(X, triplets[70:])
    np.testing.assert_allclose(learned(rest), expected, atol=tolerance)


@whole_family
def test_steps_of_any_length_are_not_taken_on_products_that_cannot_tell_them(learner):
    random = np.random.default_rng(0)
    X, y = random.random((30, 20)), np.arange(30) % 3
    X[20:] = X[10:20] + 1e-5 * random.random((10, 20))
    auto = learner(np.inf, n_steps=2000, random_state=0).fit(X, y)
    np.testing.assert_array_equal(learned(auto), learned(clone(auto).set_params(solver="rows").fit(X, y)))
    with pytest.raises(ValueError, match="solver must be 'auto' or 'rows' with C above 10,000, not 'gram'"):
        clone(auto).set_params(solver="gram").fit(X, y)


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_any_small_rows_give_the_matrix_of_a_dense_recursion(data):
    X, triplets = few_values(data)
    # the matrix only: a step that ends on the margin leaves a loss of 0 or of one rounding, and counts differ by it
    for learner, solver in product(ONE_BY_ONE, ["gram", "rows"]):
        model = learner(0.3, dtype="float64", solver=solver).fit_triplets(X, triplets)
        np.testing.assert_allclose(learned(model), recursion(learner, X, triplets, 0.3)[0], atol=1e-10)


@both_solvers
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "n_jobs"), [(1, None), (3, 2)])
def test_the_average_is_that_of_rankers_trained_one_by_one(solver, dtype, n, n_jobs):
    X, y = ROWS
    shared = {"aggressiveness": 0.2, "dtype": dtype, "solver": solver}
    model = AveragedOASIS(n_steps=700, n_rankers=n, n_jobs=n_jobs, random_state=6, **shared)
    model.fit(sp.csr_array(X), y, trace=lambda model, step: {"W": model.W_.copy()}, trace_steps=[250, 700])
    for step, seen in zip((250, 700), model.curve_["W"][1:], strict=True):
        alone = [OASIS(n_steps=step, random_state=seed, **shared).fit(X, y) for seed in ranker_seeds(6, n)]
        mean = average_matrices(ranker.W_ for ranker in alone)  # of strengths the mean is taken before W is formed
        np.testing.assert_allclose(seen, mean, rtol=0, atol=0 if solver == "rows" else 8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(model.W_, seen)
    assert (model.n_steps_, model.n_updates_) == (700, sum(ranker.n_updates_ for ranker in alone))
    assert ranker_seeds(6, 10)[:n] == ranker_seeds(6, n)
    assert len(set(ranker_seeds(6, 10) + ranker_seeds(7, 10))) == 20
    curves = [ranker.curve_ for ranker in (model, *alone)]
    rates = [np.nansum(curve["loss_rate"] * np.diff(curve["step"], prepend=0)) for curve in curves]
    assert rates[0] == pytest.approx(np.mean(rates[1:]))
    assert n == 1 or not np.allclose(alone[0].W_, alone[1].W_, atol=1e-3)
    with pytest.raises(TypeError, match="accepts labels"):
        model.fit_triplets(X, [[0, 4, 1]])


@whole_family
@pytest.mark.parametrize("projection", [None, "psd", "symmetric"])
def test_a_trace_on_shared_products_scores_seen_rows_and_copies_stay_as_they_were(learner, projection):
    if projection not in learner().projections:
        return
    X, y = sparse_rows(40, 150, 3)
    seen, gram, traced = ValidationRows(X[:25] + X[5:30]), Gram.copied(X, "float64"), {}

    def trace(model, step):
        traced[step] = model.as_stopped().scores_among(seen), copy.copy(model), copy.copy(model.as_stopped())
        return {}

    make = partial(learner, 0.5, dtype="float64", random_state=0, solver="gram")
    make(700, projection=projection).share(gram).fit(X, y, trace=trace, trace_steps=[0, 200, 650])
    for step, (scores, plain, stopped) in traced.items():
        expected = make(step, projection=projection).fit(X, y)
        np.testing.assert_allclose(scores, expected.similarity(seen.rows, seen.rows), atol=1e-10)
        np.testing.assert_allclose(learned(stopped), learned(expected), atol=1e-10)
        np.testing.assert_allclose(learned(plain), learned(make(step).fit(X, y)), atol=1e-12)
    assert not np.allclose(traced[650][0], traced[0][0], atol=0.1)
    with pytest.raises(ValueError, match=r"gram is of 40 other rows: share Gram.copied\(X, 'float64'\)"):
        make().share(gram).fit(X[1:], y[1:])


def test_auto_weighs_rows_features_steps_and_memory():
    X, y = ROWS
    few, many = (OASIS(n_steps=n).fit(X, y) for n in (3, 3000))
    assert (hasattr(few, "dual_coef_"), hasattr(many, "dual_coef_")) == (False, True)
    large = sp.csr_array(([1.0] * 3, ([0, 1, 2], [0, 1, 1])), shape=(20_000, 4))
    assert not hasattr(OASIS().fit_triplets(large, [[0, 1, 2]] * 9), "dual_coef_")
    with pytest.raises(ValueError, match=r"would take 3\.0 GiB for 20,000 rows and 1 steps, and at most 1 GiB is used"):
        OASIS(solver="gram").fit_triplets(large, [[0, 1, 2]])
    often = partial(OASIS, n_steps=3000, projection="psd", projection_interval=1500)
    assert [hasattr(often().fit(X[:, :d] + 0.1, y), "dual_coef_") for d in (160, 159)] == [True, False]
    with pytest.raises(ValueError, match="on more than 79 rows, half of d, not 'gram'"):
        often(solver="gram").fit(X[:, :159], y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_mean_is_summed_in_double_precision_and_has_the_dtype_of_the_matrices(dtype):
    # in single precision 2^24 + 1 is 2^24, and the two ones are lost
    mean = average_matrices(np.full((2, 2), value, dtype=dtype) for value in (2.0**24, 1.0, 1.0, -(2.0**24)))
    assert mean.dtype == dtype
    np.testing.assert_array_equal(mean, np.full((2, 2), 0.5))
    for matrices, message in (([], "at least one"), ([np.eye(2), np.eye(3)], "one shape")):
        with pytest.raises(ValueError, match=message):
            average_matrices(matrices)


def test_a_fifth_of_every_class_is_held_out():
    y = np.repeat([0, 1, 2, 3], [40, 5, 4, 3])
    held_out = held_out_rows(y, 0.2, np.random.default_rng(0))
    assert [int(held_out[y == label].sum()) for label in range(4)] == [8, 2, 2, 0]
    with pytest.raises(ValueError, match="at least four rows"):
        held_out_rows(np.repeat([0, 1], 3), 0.2, np.random.default_rng(0))


BROAD = 0.1 * np.random.default_rng(2).standard_normal((60, DENSE_FROM)), np.arange(60) % 3
NEGATIVE = 0.3 * np.random.default_rng(1).standard_normal((60, 12)), np.arange(60) % 3  # most eigenvalues of W


@whole_family
@both_solvers
@pytest.mark.parametrize("rows", [FEW_FEATURES, NEGATIVE, sparse_rows(40, 150, 3), BROAD])
def test_projections_at_the_end(learner, solver, rows):
    make = partial(learner, 1.0, 1000, random_state=0, dtype="float64", solver=solver)
    plain, psd = (make(projection=projection).fit(*rows) for projection in (None, "psd"))
    np.testing.assert_allclose(learned(psd), nearest_positive(learned(plain)), atol=1e-10)
    np.testing.assert_array_equal(learned(psd), learned(psd).T)
    np.testing.assert_allclose(psd.components_ @ psd.components_.T, learned(psd), atol=1e-9)
    assert not np.allclose(learned(psd), learned(plain), atol=1e-3)
    assert (plain.n_projections_, psd.n_projections_) == (0, 1)
    if learner in (OnlineProjOASIS, DissimOASIS):
        with pytest.raises(ValueError, match="projection must be None or 'psd'"):
            make(projection="symmetric").fit(*rows)
    else:
        symmetric = learned(make(projection="symmetric").fit(*rows))
        np.testing.assert_array_equal(symmetric, symmetric.T)
        np.testing.assert_allclose(symmetric, (learned(plain) + learned(plain).T) / 2, atol=1e-14)
    assert not hasattr(psd.set_params(projection=None).fit(*rows), "components_")


@both_solvers
@pytest.mark.parametrize("interval", [1, 70, 400])
def test_projecting_at_intervals_is_a_literal_recursion(interval, solver):
    X, y = FEW_FEATURES if solver == "rows" else sparse_rows(30, 60, 3)
    triplets, W, seen = TripletSampler(y, 0).draw(400), np.eye(X.shape[1]), ValidationRows(X[:20] + X[5:25])
    settings = {"projection_interval": interval, "dtype": "float64", "random_state": 0, "solver": solver}
    make = partial(OASIS, 0.5, 400, projection="psd", **settings)
    traced = {"trace": lambda model, step: {"model": copy.copy(model), "scores": seen.scores(model)}}
    model = make().fit(X, y, **traced, trace_steps=[69, 70, 200, 400])
    for step in range(1, 401):
        W = recursion(OASIS, X, triplets[step - 1 : step], 0.5, W)[0]
        W = nearest_positive(W) if step % interval == 0 else W
        for point in np.flatnonzero(model.curve_["step"] == step):
            np.testing.assert_allclose(model.curve_["model"][point].W_, W, atol=1e-9)
            np.testing.assert_allclose(model.curve_["scores"][point], seen.rows @ W @ seen.rows.T, atol=1e-9)
    np.testing.assert_allclose(model.W_, nearest_positive(W), atol=1e-9)
    assert model.n_projections_ == 400 // interval + 1
    # calls do not move the projections; a call of its own ends in one anyway
    cut = min(2 * interval, 400)
    parts = make().partial_fit_triplets(X, triplets[:cut]).partial_fit_triplets(X, triplets[cut:])
    np.testing.assert_allclose(parts.W_, model.W_, atol=1e-9)


@from_triplets
def test_values_that_overflow_are_named(learner):
    X = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 1e-200]])
    with pytest.raises(ValueError, match="too large"):
        learner().fit_triplets(np.array([[1e39, 0.0], [0.0, 1.0], [1.0, 1.0]]), [[0, 1, 2]])
    with pytest.raises(ValueError, match=learner.matrix_name[0] + " overflowed during learning: scale the rows"):
        learner(dtype="float64").fit_triplets(X, [[0, 1, 2]] * 3)
    model = OASIS(dtype="float64", projection="psd", projection_interval=1)
    with pytest.raises(ValueError, match="scale the rows"):
        model.fit_triplets(X, [[0, 1, 2]] * 3)
    with pytest.raises(ValueError, match="projection must be 'psd' with"):
        model.set_params(projection="symmetric").fit_triplets(X, [[0, 1, 2]])


def test_a_matrix_is_refused_that_is_not_there_does_not_fit_or_is_too_large():
    rows, y = sp.csr_array(np.eye(4, 1_000_000) + np.eye(4, 1_000_000, 1)), [0, 0, 1, 1]
    with pytest.raises(NotFittedError):
        _ = OASIS().W_
    model = OASIS(n_steps=20, solver="gram", projection="psd").fit(rows, y)
    for ask in (lambda: model.W_, lambda: model.transform(rows)):
        with pytest.raises(ValueError, match="1,000,000 x 1,000,000"):
            ask()
    model = OASIS(n_steps=20, solver="rows").fit(np.eye(4), y)
    with pytest.raises(AttributeError, match="solver='gram'"):
        _ = model.rows_
    with pytest.raises(ValueError, match=r"must be of shape \(4, 4\)"):
        model.W_ = np.eye(3)
    model.W_ = np.eye(4).tolist()
    np.testing.assert_array_equal(model.similarity(np.eye(4), np.eye(4)), np.eye(4))
