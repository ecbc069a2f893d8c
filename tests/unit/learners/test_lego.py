"""LEGO against a plain dense recursion and the closed form of a LogDet step, in both of its ways of working."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from lookalike.learners import Euclidean
from lookalike.learners.lego import BLOCK, LEGO, logdet_step, random_distances
from lookalike.learners.pairs import PairSampler
from lookalike.ranking.rankings import mean_average_precision


def clustered_rows(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return L2-normalised sparse rows: words that all classes share, and 12 words of each class."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    chance = np.tile(np.minimum(0.5, 2.0 / np.arange(1, d + 1) ** 0.8), (n_classes, 1))
    for own in chance:
        own[random.choice(d, 12, replace=False)] = 0.5
    X = random.exponential(size=(n, d)) * (random.random((n, d)) < chance[y])
    X[:, 0] += 0.1  # no row is zero
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def dense_recursion(
    X: np.ndarray, pairs: np.ndarray, low: float, high: float, eta: float, relative: bool
) -> tuple[np.ndarray, int]:
    """Jain et al.'s recursion as it is printed."""
    A = np.eye(X.shape[1])
    updates = 0
    for i, j, same in pairs:
        z = X[i] - X[j]
        distance, target = z @ A @ z, low if same else high
        satisfied = distance <= low if same else distance >= high
        if distance <= 1e-12 or (relative and satisfied):
            continue
        b = eta * target * distance - 1
        after = (b + np.sqrt(b**2 + 4 * eta * distance**2)) / (2 * eta * distance)
        A -= eta * (after - target) / (1 + eta * (after - target) * distance) * np.outer(A @ z, A @ z)
        updates += 1
    return A, updates


# More features than rows, and more rows than features: the two ways of working
shapes = pytest.mark.parametrize(("n", "d"), [(40, 90), (90, 40)])


@shapes
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("eta", [0.02, 0.32, 10.0])
def test_the_same_pairs_give_the_matrix_of_a_dense_recursion(n: int, d: int, relative: bool, eta: float) -> None:
    X, y = clustered_rows(n, d, 4)
    pairs = PairSampler(y, 1).draw(800)
    model = LEGO(eta, relative=relative, random_state=0).fit_pairs(sp.csr_array(X), pairs[:, :2], pairs[:, 2] == 1)
    expected, updates = dense_recursion(X, pairs, model.u_, model.l_, eta, relative)
    assert updates > 5 * BLOCK
    assert model.n_updates_ == updates
    assert model.n_steps_ == 800
    np.testing.assert_allclose(model.M_, expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_array_equal(model.M_, model.M_.T)
    dense = LEGO(eta, relative=relative, random_state=0).fit_pairs(X, pairs[:, :2], pairs[:, 2])
    np.testing.assert_allclose(dense.M_, model.M_, atol=1e-8 * np.abs(expected).max())


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_any_small_rows_give_the_matrix_of_a_dense_recursion(data: st.DataObject) -> None:
    n, d = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 8))
    # few values, so that equal rows, exact cancellations and zero rows are common
    X = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, -0.5, 2.0]), min_size=n * d, max_size=n * d)))
    X = X.reshape(n, d)
    pair = st.tuples(*[st.integers(0, n - 1)] * 2, st.integers(0, 1))
    pairs = np.array(data.draw(st.lists(pair, min_size=1, max_size=40)))
    model = LEGO(0.3, relative=False, random_state=0).fit_pairs(X, pairs[:, :2], pairs[:, 2])
    expected, _ = dense_recursion(X, pairs, model.u_, model.l_, 0.3, False)
    np.testing.assert_allclose(model.M_, expected, atol=1e-9 * np.abs(expected).max())


@shapes
@pytest.mark.parametrize("same", [True, False])
def test_one_step_is_the_logdet_minimiser(n: int, d: int, same: bool) -> None:
    X, _ = clustered_rows(n, d, 4)
    eta, pair = 0.7, [[3, 12]]
    z = X[3] - X[12]
    model = LEGO(eta, relative=False, random_state=0).fit_pairs(X, pair, [same])
    target = model.u_ if same else model.l_
    reached = z @ model.M_ @ z
    assert (target < reached < z @ z) or (z @ z < reached < target)
    inverse = np.eye(d) + eta * (reached - target) * np.outer(z, z)
    np.testing.assert_allclose(model.M_, np.linalg.inv(inverse), atol=1e-10)

    def objective(M: np.ndarray) -> float:
        divergence = np.trace(M) - np.linalg.slogdet(M)[1] - d  # LogDet from the identity
        return float(divergence + eta * (z @ M @ z - target) ** 2 / 2)

    random = np.random.default_rng(0)
    for _ in range(20):
        change = random.normal(size=(d, d)) * 1e-4
        assert objective(model.M_ + change + change.T) > objective(model.M_)


@settings(deadline=None)
@given(distance=st.floats(1e-6, 1e3), target=st.one_of(st.just(0.0), st.floats(1e-6, 1e3)), eta=st.floats(1e-12, 1e12))
def test_a_step_leads_towards_the_target_by_the_positive_root(distance: float, target: float, eta: float) -> None:
    after, weight = logdet_step(distance, target, eta)
    assert after > 0
    assert min(distance, target) * (1 - 1e-12) <= after <= max(distance, target) * (1 + 1e-12)
    # in the form 1 / after = 1 / distance + weight, which is what the rank-one inverse says of the distance
    assert np.isclose(1 / after, 1 / distance + weight, rtol=1e-9, atol=1e-9 / min(after, distance))
    rounding = eta * 1e-12 * max(target, after) + 1e-12 / min(after, distance)
    assert np.isclose(weight, eta * (after - target), rtol=1e-6, atol=rounding)


@shapes
@pytest.mark.parametrize("eta", [0.08, 1e4])
@pytest.mark.parametrize("relative", [True, False])
def test_the_matrix_stays_positive_definite(n: int, d: int, eta: float, relative: bool) -> None:
    X, y = clustered_rows(n, d, 4)
    values = np.linalg.eigvalsh(LEGO(eta, 20_000, relative=relative, random_state=0).fit(X, y).M_)
    assert values[0] > 1e-12 * values[-1]
    assert np.abs(values - 1).max() > 0.1


@shapes
def test_the_relative_variant_leaves_satisfied_pairs_alone(n: int, d: int) -> None:
    X, _ = clustered_rows(n, d, 4)
    first, second = np.triu_indices(n, 1)
    distances = ((X[first] - X[second]) ** 2).sum(axis=1)
    pairs = np.column_stack([first, second])
    target = LEGO(random_state=0).fit_pairs(X, pairs[:1], [1])
    near, far = distances < target.u_, distances > target.l_
    assert near.any()
    assert far.any()
    for chosen, same, changes in ((near, 1, False), (far, 0, False), (~near, 1, True), (~far, 0, True)):
        given_pairs = pairs[chosen][:5]
        model = LEGO(random_state=0).fit_pairs(X, given_pairs, [same] * len(given_pairs))
        assert (model.n_updates_ > 0) == changes
        assert np.allclose(model.M_, np.eye(d), atol=1e-12) != changes
        assert LEGO(relative=False, random_state=0).fit_pairs(X, given_pairs[:1], [same]).n_updates_ == 1


def test_the_targets_are_percentiles_of_distances_between_random_rows() -> None:
    X, y = clustered_rows(60, 30, 4)
    model = LEGO(n_steps=1, percentiles=(10, 80), random_state=3).fit(sp.csr_array(X), y)
    lower, upper = np.percentile(pdist(X, "sqeuclidean"), (10, 80))
    # 10,000 draws from 1,770 distances
    assert model.u_ == pytest.approx(lower, rel=0.03)
    assert model.l_ == pytest.approx(upper, rel=0.03)
    by_default = LEGO(n_steps=1, random_state=3).fit(X, y)
    assert by_default.u_ < model.u_ < model.l_ < by_default.l_
    two = random_distances(X[:2], 50, np.random.default_rng(0))  # never a row and itself
    np.testing.assert_allclose(two, ((X[0] - X[1]) ** 2).sum())


def test_fit_draws_the_samplers_pairs() -> None:
    X, y = clustered_rows(40, 90, 4)
    pairs = PairSampler(y, 9).draw(3000)
    drawn = LEGO(n_steps=3000, random_state=9).fit(X, y)
    given_ = LEGO(n_steps=7, random_state=9).fit_pairs(X, pairs[:, :2], pairs[:, 2])
    np.testing.assert_array_equal(drawn.M_, given_.M_)


@shapes
def test_going_on_is_the_same_as_one_pass(n: int, d: int) -> None:
    X, y = clustered_rows(n, d, 4)
    pairs = PairSampler(y, 2).draw(500)
    whole = LEGO(random_state=0).fit_pairs(X, pairs[:, :2], pairs[:, 2])
    parts = LEGO(random_state=0)
    for part in (pairs[:100], pairs[100:130], pairs[130:]):
        parts.partial_fit_pairs(X, part[:, :2], part[:, 2])
    np.testing.assert_allclose(parts.M_, whole.M_, atol=1e-11)
    assert (parts.n_steps_, parts.n_updates_) == (500, whole.n_updates_)
    assert (parts.u_, parts.l_) == (whole.u_, whole.l_)


@shapes
def test_tracing_changes_no_bit_and_shows_the_matrix_of_its_step(n: int, d: int) -> None:
    X, y = clustered_rows(n, d, 4)
    matrices = {}

    def trace(model: LEGO, step: int) -> dict[str, float]:
        matrices[step] = model.M_.copy()
        return {"trace_of_matrix": float(np.trace(model.M_))}

    traced = LEGO(n_steps=9000, random_state=4).fit(X, y, trace=trace, trace_steps=[1, 77, 5000])
    np.testing.assert_array_equal(traced.M_, LEGO(n_steps=9000, random_state=4).fit(X, y).M_)
    np.testing.assert_allclose(matrices[0], np.eye(d), atol=1e-14)
    for step in (1, 77):
        np.testing.assert_array_equal(matrices[step], LEGO(n_steps=step, random_state=4).fit(X, y).M_)
    assert traced.curve_["step"].tolist() == [0, 1, 77, 5000]
    assert set(traced.curve_) == {"step", "loss_rate", "trace_of_matrix"}


def test_early_stopping_refits_on_all_rows_for_the_best_step() -> None:
    X, y = clustered_rows(60, 40, 4, seed=3)
    model = LEGO(n_steps=3000, early_stopping=True, trace_points=12, random_state=1).fit(X, y)
    curve = model.validation_curve_
    assert model.n_steps_ == int(curve["step"][np.argmax(curve["map"])])
    np.testing.assert_array_equal(model.M_, LEGO(n_steps=model.n_steps_, random_state=1).fit(X, y).M_)


@pytest.mark.parametrize("relative", [True, False])
def test_learning_beats_the_euclidean_baseline(relative: bool) -> None:
    X, y = clustered_rows(800, 200, 10)
    train, test = slice(0, 400), slice(400, 800)
    euclidean = mean_average_precision(Euclidean().fit(X).similarity(X[test], X[test]), y[test])
    model = LEGO(relative=relative, random_state=0).fit(X[train], y[train])
    # about 0.34 (relative) and 0.30 against 0.20
    assert mean_average_precision(model.similarity(X[test], X[test]), y[test]) > 1.3 * euclidean


@shapes
def test_equal_rows_and_extreme_parameters_stay_finite(n: int, d: int) -> None:
    X, y = clustered_rows(n, d, 4)
    X[: n // 2] = X[0]
    for eta in (1e-300, 1e-8, 1e4):
        for relative in (True, False):
            model = LEGO(eta, 2000, relative=relative, random_state=0).fit(X, y)
            assert np.linalg.eigvalsh(model.M_)[0] > 0
    # a pair of equal rows is off target for two classes, and nothing can be done about it
    alone = LEGO(random_state=0).fit_pairs(X, [[0, 1], [2, 2]], [0, 0])
    assert (alone.n_steps_, alone.n_updates_, alone.curve_["loss_rate"][-1]) == (2, 0, 1.0)


@shapes
def test_a_matrix_beyond_double_precision_is_refused(n: int, d: int) -> None:
    X, y = clustered_rows(n, d, 4)
    X[: n // 2] = X[0]  # u is 0, and so large an eta leads to it at once
    with pytest.raises(ValueError, match="smaller regularization"):
        LEGO(1e300, 2000, relative=False, random_state=0).fit(X, y)


def test_single_precision_is_that_of_the_result_only() -> None:
    X, y = clustered_rows(40, 90, 4)
    double = LEGO(random_state=0).fit(X, y)
    single = LEGO(dtype="float32", random_state=0).fit(X, y)
    assert single.M_.dtype == np.float32
    np.testing.assert_array_equal(single.M_, double.M_.astype(np.float32))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization": 0.0}, "regularization"),
        ({"regularization": float("inf")}, "regularization"),
        ({"regularization": float("nan")}, "regularization"),
        ({"percentiles": (95, 5)}, "percentiles"),
        ({"percentiles": (5, 101)}, "percentiles"),
        ({"percentiles": (5,)}, "percentiles"),
        ({"n_steps": -1}, "n_steps"),
        ({"dtype": "float16"}, "dtype"),
    ],
)
def test_parameters_out_of_range_are_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LEGO(**parameters).fit([[0.0], [1.0], [2.0]], [0, 0, 1])


@pytest.mark.parametrize("d", [2, 5])
def test_values_that_overflow_are_named(d: int) -> None:
    with pytest.raises(ValueError, match="scale its rows"):
        LEGO(random_state=0).fit(1e200 * np.eye(3, d), [0, 0, 1])
