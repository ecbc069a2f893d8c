"""Online learners: each against its algorithm as it is printed, averages, traces, targets, and what is refused."""

import copy
import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from made_rows_and_examples import few_values, landmark_like, sparse_rows, triplets_of
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from lookalike.learners import LEGO, OASIS, SOMLDA, SOMLTG, AveragedOASIS, DiagonalOASIS, DissimOASIS, OnlineProjOASIS
from lookalike.learners.dense_steps import BLOCK
from lookalike.learners.dual import DENSE_FROM, Gram, ValidationRows
from lookalike.learners.kernels import HEAD_BYTES
from lookalike.learners.lego import random_distances
from lookalike.learners.oasis import average_matrices, ranker_seeds
from lookalike.learners.online import held_out_rows


def nearest_positive(W):
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


PROJECTIONS = {None: np.asarray, "psd": nearest_positive, "symmetric": lambda W: (W + W.T) / 2}


def oasis(X, passes):
    """JMLR Figure 1; its symmetric part (draft, 5.2.4), steps of minus a distance (draft, 2.2), or of a diagonal."""
    W, steps = np.eye(X.shape[1]), 0
    for model, triplets in passes:
        interval = getattr(model, "projection_interval", None) or np.inf
        for number, (query, positive, negative) in enumerate(triplets, 1):
            V = np.outer(X[query], X[positive] - X[negative])
            if isinstance(model, DissimOASIS):
                a, b = X[query] - X[positive], X[query] - X[negative]
                V = np.outer(b, b) - np.outer(a, a)
            if isinstance(model, DiagonalOASIS):
                V = np.diag(np.diag(V))
            loss = 1 - np.vdot(W, V)
            changes = loss > 0 and V.any()
            if changes:
                step = min(model.aggressiveness, loss / np.vdot(V, V)) * V
                W += (step + step.T) / 2 if isinstance(model, OnlineProjOASIS) else step
            steps += 1
            if (steps % interval == 0 or number == len(triplets)) and not isinstance(model, DiagonalOASIS):
                W = PROJECTIONS[model.projection](W)
            yield W, loss, changes


def truncate(weights, amount):
    """Equation 11 of SOML."""
    return np.where(weights >= 0, np.maximum(0, weights - amount), np.minimum(0, weights + amount))


def soml_tg(X, passes):
    """Algorithm 1 of SOML; a literal sign is what line 6 prints."""
    w = np.zeros(X.shape[1])
    for model, triplets in passes:
        for query, positive, negative in triplets:
            g = (1 if model.literal_sign else -1) * X[query] * (X[positive] - X[negative])
            loss = 1 - w @ (X[query] * X[positive]) + w @ (X[query] * X[negative])
            if loss > 0:
                w = truncate(w - model.learning_rate * g, model.learning_rate * model.regularization)
            yield np.diag(w), loss, loss > 0


def soml_da(X, passes):
    """Algorithm 2 of SOML; averaging every step is what line 8 prints."""
    w, total, steps = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0
    for model, triplets in passes:
        for query, positive, negative in triplets:
            steps += 1
            v = X[query] * (X[positive] - X[negative])
            loss = 1 - w @ v
            if loss > 0 or model.average_every_step:
                total = total + (v if model.literal_sign else -v)
            if loss > 0:
                threshold = model.regularization + model.gamma * model.rho / np.sqrt(steps)
                w = -np.sqrt(steps) / model.gamma * truncate(total / steps, threshold)
            yield np.diag(w), loss, loss > 0


def lego(X, passes):
    """Jain et al.'s recursion, with the model's targets."""
    A = np.eye(X.shape[1])
    for model, pairs in passes:
        eta = model.regularization
        for i, j, same in pairs:
            z = X[i] - X[j]
            distance, target = z @ A @ z, model.u_ if same else model.l_
            off = distance - target if same else target - distance
            wanted = off > 0 if model.relative else off != 0
            changes = wanted and distance > 1e-12
            if changes:
                b = eta * target * distance - 1
                after = (b + np.sqrt(b**2 + 4 * eta * distance**2)) / (2 * eta * distance)
                A -= eta * (after - target) / (1 + eta * (after - target) * distance) * np.outer(A @ z, A @ z)
            yield A, abs(off) if wanted else 0.0, changes


def words(n, d, seed):
    rows, y = sparse_rows(n, d, seed=seed)
    return sp.csr_array(rows), triplets_of(y, 140, seed)


def dense(seed):
    """Return rows on which steps are taken in blocks, two of them equal, and a triplet that no step can tell."""
    rows = 0.1 * np.random.default_rng(seed).standard_normal((60, DENSE_FROM))
    rows[57] = rows[54]
    return rows, np.insert(triplets_of(np.arange(60) % 3, 3 * BLOCK, seed), 70, [0, 54, 57], axis=0)


def far(shift, seed):
    rows, triplets = landmark_like(seed=seed)
    return 2 * rows.toarray() + shift, triplets


FAR, REPEATED, WIDE = "far from the origin", "pairs of rows that repeat", "more features than the head of a kernel"
ROWS = {
    WIDE: lambda data, seed: words(80, HEAD_BYTES // 4 + 40, seed),
    "more features than rows": lambda data, seed: words(80, 120, seed),
    "more rows than features": lambda data, seed: words(90, 40, seed),
    REPEATED: lambda data, seed: landmark_like(seed=seed),
    "dense": lambda data, seed: dense(seed),
    "few values": lambda data, seed: few_values(data),
    FAR: lambda data, seed: far(data.draw(st.sampled_from([1e3, 1e5])), seed),
}
ONE_BY_ONE = [OASIS, OnlineProjOASIS, DissimOASIS]  # those that learn a matrix from given triplets
DOUBLE = {"dtype": "float64"}
WAYS, DTYPES = ("gram", "rows"), ("float32", "float64")
MATRICES = [learner(solver=way, dtype=dtype) for learner, way, dtype in itertools.product(ONE_BY_ONE, WAYS, DTYPES)]
MATRICES += [learner(solver=way, projection="psd", **DOUBLE) for learner in ONE_BY_ONE for way in WAYS]
MATRICES += [OASIS(solver=way, projection="symmetric", **DOUBLE) for way in WAYS]
AT_INTERVALS = partial(OASIS, projection="psd", **DOUBLE)
# what may change on the way
C = {"aggressiveness": st.sampled_from([0.02, 0.3, 5.0])}
ANY_C = {"aggressiveness": st.just(0.1) | st.floats(0.01, 1000)}
TG = {"learning_rate": st.just(1.0) | st.floats(0.01, 30), "literal_sign": st.booleans()}
TG |= {"regularization": st.sampled_from([0.0, 1e-5]) | st.floats(1e-7, 0.03)}
DA = {"gamma": st.sampled_from([1e-4, 2e-3, 0.03, 0.7]), "rho": st.just(0.0) | st.floats(1e-3, 3.0)}
DA |= {"regularization": st.sampled_from([0.0, 1e-6]) | st.floats(1e-7, 0.01)}
DA |= {"literal_sign": st.booleans(), "average_every_step": st.booleans()}
PAIRS = {"regularization": st.sampled_from([0.02, 0.32, 10.0])}
LEARNERS = [(learner, oasis, C) for learner in MATRICES]
for how in ({}, {"projection": "psd"}):
    LEARNERS += [(DiagonalOASIS(**how), oasis, ANY_C), (SOMLTG(**how), soml_tg, TG), (SOMLDA(**how), soml_da, DA)]
LEARNERS += [(LEGO(relative=relative, random_state=0), lego, PAIRS) for relative in (True, False)]
# where rows that are compared by distance lie, test_invariance has
CASES = [
    (*case, rows)
    for case, rows in itertools.product(LEARNERS, ROWS)
    if (rows != FAR or not isinstance(case[0], LEGO | DissimOASIS))
    and (rows != WIDE or getattr(case[0], "solver", "") == "rows")
]
CASES += [(AT_INTERVALS(projection_interval=1, solver="rows"), oasis, C, "few values")]
CASES += [(AT_INTERVALS(projection_interval=70, solver="rows"), oasis, C, "dense")]
CASES += [(AT_INTERVALS(projection_interval=70, solver="gram"), oasis, C, REPEATED)]


def learn(model, how, X, examples, **trace):
    if "pairs" in model.accepts:
        return getattr(model, f"{how}_pairs")(X, examples[:, :2], examples[:, 2])
    return getattr(model, f"{how}_triplets")(X, examples, **trace)


def learned(model):
    return np.diag(model.w_) if hasattr(model, "w_") else np.array(model.M_ if hasattr(model, "M_") else model.W_)


@pytest.mark.parametrize(
    ("learner", "algorithm", "changing", "rows"), CASES, ids=[f"{case[0]}-{case[-1]}" for case in CASES]
)
@settings(max_examples=4, deadline=None, phases=[Phase.generate])
@given(data=st.data(), seed=st.integers(0, 10**6), signed=st.booleans())
def test_steps_are_those_of_the_printed_algorithm(learner, algorithm, changing, rows, data, seed, signed):
    X, examples = ROWS[rows](data, seed)
    if signed:
        X = X * np.random.default_rng(seed).choice([-1, 1], X.shape)
    if "pairs" in learner.accepts:
        pairs = [np.insert(examples[:, columns], 2, same, axis=1) for columns, same in (([0, 1], 1), ([0, 2], 0))]
        examples = np.random.default_rng(seed).permutation(np.concatenate(pairs))
    first, rest = np.array_split(examples, [len(examples) * 2 // 5])
    before, after = (data.draw(st.fixed_dictionaries(changing)) for _ in range(2))
    model, found = clone(learner).set_params(**before), {}
    steps = [step for step in (1, BLOCK - 1, BLOCK + 5) if step < len(first)]
    learn(model, "fit", X, first, trace=lambda model, at: found.update({at: learned(model)}) or {}, trace_steps=steps)
    np.testing.assert_array_equal(learned(learn(clone(model), "fit", X, first)), learned(model))
    found[len(first)] = learned(model)
    passes = [(copy.copy(model), first), (copy.copy(model).set_params(**after), rest)]
    found[len(examples)] = learned(learn(model.set_params(**after), "partial_fit", X, rest))

    losses, changes = [], []
    start = 0.0 if algorithm in (soml_tg, soml_da) else np.eye(X.shape[1])
    tolerance = {"float32": 1e-4}.get(model.dtype, 1e-8 if algorithm is lego else 1e-10)
    for step, (matrix, loss, changed) in enumerate(algorithm(X.toarray() if sp.issparse(X) else X, passes), 1):
        losses.append(loss)
        changes.append(changed)
        if step in (len(first), len(examples)) and hasattr(model, "w_") and learner.projection:
            matrix = np.maximum(matrix, 0)  # which is not gone on from
        if step in found:
            atol = tolerance * max(1, np.abs(matrix).max())
            if rows == FAR:  # of rounded rows
                atol = max(1e-6, 10 * tolerance) * np.abs(matrix - start).max() + np.finfo(model.dtype).eps
            np.testing.assert_allclose(found[step], matrix, rtol=0, atol=atol)
    assert (type(learner) is OASIS and not learner.projection) or np.array_equal(found[step], found[step].T)
    if algorithm is oasis and not hasattr(model, "w_"):
        at_intervals = len(examples) // (getattr(learner, "projection_interval", None) or np.inf)
        assert getattr(model, "n_projections_", 0) == (2 + at_intervals if learner.projection == "psd" else 0)
    # a step that ends on the margin leaves a loss of 0 or of one rounding when its triplet comes again
    borderline = np.sum(np.abs(losses) < 1000 * tolerance)
    assert model.n_steps_ == len(examples)
    assert abs(model.n_updates_ - sum(changes)) <= borderline
    n_losses = np.nansum(model.curve_["loss_rate"] * np.diff(model.curve_["step"], prepend=0))
    assert abs(n_losses - np.sum(np.array(losses[len(first) :]) > 0)) <= borderline + 1e-6
    if hasattr(model, "w_"):
        assert model.sparsity() == np.mean(np.abs(model.w_) <= 1e-10)
        assert not np.signbit(model.w_[model.w_ == 0]).any()


whole_family = pytest.mark.parametrize("learner", [*ONE_BY_ONE, partial(AveragedOASIS, n_rankers=2)])
WORDS = sparse_rows(80, 400, 4)  # some of them zero, of more features than the kernels' dense head has room for


@whole_family
def test_steps_of_any_length_are_not_taken_on_products_that_cannot_tell_them(learner):
    random = np.random.default_rng(0)
    X, y = random.random((30, 20)), np.arange(30) % 3
    X[20:] = X[10:20] + 1e-5 * random.random((10, 20))
    auto = learner(np.inf, n_steps=2000, random_state=0).fit(X, y)
    np.testing.assert_array_equal(learned(auto), learned(clone(auto).set_params(solver="rows").fit(X, y)))
    with pytest.raises(ValueError, match="solver must be 'auto' or 'rows' with C above 10,000, not 'gram'"):
        clone(auto).set_params(solver="gram").fit(X, y)


@pytest.mark.parametrize("solver", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "n_jobs"), [(1, None), (3, 2)])
def test_the_average_is_that_of_rankers_trained_one_by_one(solver, dtype, n, n_jobs):
    X, y = WORDS
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
    psd = model.set_params(projection="psd").fit(X, y)
    np.testing.assert_allclose(psd.W_, nearest_positive(seen), atol=1e-5)
    assert psd.n_projections_ == 1


PLACES = [("float64", 0, 1e-10), ("float64", 200, 1e-7), ("float32", 200, 2e-3)]


@whole_family
@pytest.mark.parametrize("projection", [None, "psd", "symmetric"])
@pytest.mark.parametrize(("dtype", "shift", "share"), PLACES)
def test_a_trace_on_shared_products_scores_seen_rows_and_copies_stay_the_same(learner, projection, dtype, shift, share):
    if projection == "symmetric" and learner in (OnlineProjOASIS, DissimOASIS):
        return
    X, y = sparse_rows(40, 150, 3)
    X += shift
    seen, gram, traced = ValidationRows(X[:25] + X[5:30]), Gram.copied(X, dtype), {}

    def trace(model, step):
        traced[step] = model.as_stopped().scores_among(seen), copy.copy(model), copy.copy(model.as_stopped())
        return {}

    make = partial(learner, 0.5, random_state=0)
    model = make(700, dtype=dtype, solver="gram", projection=projection).share(gram)
    model.fit(X, y, trace=trace, trace_steps=[0, 200, 650])
    for step, (scores, *copies) in traced.items():
        exact = [make(step, dtype="float64", solver="rows", projection=done).fit(X, y) for done in (None, projection)]
        expected = exact[1].similarity(seen.rows, seen.rows)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=share * np.abs(expected).max())
        for copied, plain in zip(copies, exact, strict=True):
            change = max(share, np.abs(learned(plain) - np.eye(150)).max())
            np.testing.assert_allclose(learned(copied), learned(plain), rtol=0, atol=share * change)
    with pytest.raises(ValueError, match=f"gram is of 40 other rows: share Gram.copied\\(X, '{dtype}'\\)"):
        model.share(gram).fit(X[1:], y[1:])


def test_auto_weighs_rows_features_steps_and_memory():
    X, y = WORDS
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


@pytest.mark.parametrize("learner", ONE_BY_ONE)
def test_values_that_overflow_are_named(learner):
    with pytest.raises(ValueError, match="scale the rows of X"):
        SOMLTG(learning_rate=1e300).fit_triplets([[1e5, 1.0], [1e5, 0.0], [0.0, 1.0]], [[0, 1, 2]])
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


@pytest.mark.parametrize(("n", "d"), [(40, 90), (90, 40)])  # fewer rows than features, and more
@pytest.mark.parametrize("relative", [True, False])
def test_the_matrix_stays_positive_definite(n, d, relative):
    X, y = sparse_rows(n, d)
    values = np.linalg.eigvalsh(LEGO(1e4, 20_000, relative=relative, random_state=0).fit(X, y).M_)
    assert values[0] > 1e-12 * values[-1]
    X[: n // 2] = X[0]
    for eta in (1e-300, 1e-8, 1e4):
        assert np.linalg.eigvalsh(LEGO(eta, 1000, relative=relative, random_state=0).fit(X, y).M_)[0] > 0
    # a pair of equal rows is off target for two classes, and nothing can be done about it
    alone = LEGO(relative=relative, random_state=0).fit_pairs(X, [[0, 1], [2, 2]], [0, 0])
    assert (alone.n_steps_, alone.n_updates_, alone.curve_["loss_rate"][-1]) == (2, 0, 1.0)
    if n > d:  # u is 0, and so large an eta leads to it at once
        with pytest.raises(ValueError, match="smaller regularization"):
            LEGO(1e300, 2000, relative=False, random_state=0).fit(X, y)


def test_the_targets_are_percentiles_of_distances_between_random_rows():
    X, y = sparse_rows(60, 30)
    model = LEGO(n_steps=300, percentiles=(10, 80), random_state=3).fit(sp.csr_array(X), y)
    # 10,000 draws from 1,770 distances
    assert [model.u_, model.l_] == pytest.approx(np.percentile(pdist(X, "sqeuclidean"), (10, 80)).tolist(), rel=0.03)
    two = random_distances(X[:2], 50, np.random.default_rng(0))  # never a row and itself
    np.testing.assert_allclose(two, ((X[0] - X[1]) ** 2).sum())
    single = LEGO(n_steps=300, percentiles=(10, 80), random_state=3, dtype="float32").fit(X, y)
    np.testing.assert_array_equal(single.M_, model.M_.astype(np.float32))  # single precision is that of the result only
