"""OASIS and its variants against plain dense recursions, and what must not change their bits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.learners import OASIS, AveragedOASIS, DissimOASIS, Euclidean, OnlineProjOASIS, TripletSampler
from lookalike.learners.online import held_out_rows
from lookalike.learners.sparse_rows import HEAD_BYTES, permute_square
from lookalike.ranking.rankings import mean_average_precision

Recursed = tuple[np.ndarray, int, int]
"""W (or M), steps with a loss, updates."""


def dense_recursion(
    X: np.ndarray, triplets: np.ndarray, aggressiveness: float, W: Any = None, *, symmetric: bool = False
) -> Recursed:
    """JMLR Figure 1 as it is printed, or the symmetric part of its steps (draft, 5.2.4), from W = I or another W."""
    W = np.eye(X.shape[1]) if W is None else W.copy()
    losses = updates = 0
    for query, positive, negative in triplets:
        V = np.outer(X[query], X[positive] - X[negative])
        loss = max(0.0, 1.0 - np.sum(W * V))
        losses += loss > 0
        if loss > 0 and V.any():
            step = min(aggressiveness, loss / np.sum(V * V)) * V
            W += (step + step.T) / 2 if symmetric else step
            updates += 1
    return W, losses, updates


def dissim_recursion(X: np.ndarray, triplets: np.ndarray, aggressiveness: float) -> Recursed:
    """Dissim-OASIS as the draft's section 2.2 has it, in double precision."""
    M = np.eye(X.shape[1])
    losses = updates = 0

    def similarity(a: np.ndarray, b: np.ndarray) -> float:
        return float(-(a - b) @ M @ (a - b))

    for query, positive, negative in triplets:
        p, plus, minus = X[query], X[positive], X[negative]
        V = np.outer(p - plus, p - plus) - np.outer(p - minus, p - minus)
        loss = max(0.0, 1.0 - similarity(p, plus) + similarity(p, minus))
        losses += loss > 0
        if loss > 0 and V.any():
            M -= min(aggressiveness, loss / np.sum(V * V)) * V
            updates += 1
    return M, losses, updates


RECURSIONS = {
    OASIS: dense_recursion,
    OnlineProjOASIS: partial(dense_recursion, symmetric=True),
    DissimOASIS: dissim_recursion,
}
one_by_one = pytest.mark.parametrize("learner", list(RECURSIONS))
"""Those that learn from given triplets."""
plain_or_averaged = pytest.mark.parametrize("learner", [OASIS, partial(AveragedOASIS, n_rankers=2)])


def learned(model: Any) -> np.ndarray:
    matrix: np.ndarray = getattr(model, model.matrix_name)
    return matrix


def sparse_rows(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return L2-normalised sparse rows: words of all classes, few of them frequent, and 12 words of each class."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    chance = np.tile(np.minimum(0.5, 2.0 / np.arange(1, d + 1) ** 0.8), (n_classes, 1))
    for own in chance:
        own[random.choice(d, 12, replace=False)] = 0.5
    X = random.exponential(size=(n, d)) * (random.random((n, d)) < chance[y])
    X[:, 0] += 0.1  # no row is zero
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    return sparse_rows(80, 400, 4)


@one_by_one
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize(("aggressiveness", "scale"), [(0.02, 1.0), (5.0, 1.0), (0.1, 3.0)])
def test_the_same_triplets_give_the_matrix_of_a_dense_recursion(
    rows: tuple[np.ndarray, np.ndarray], learner: Any, dtype: str, tolerance: float, aggressiveness: float, scale: float
) -> None:
    X, y = rows
    assert X.shape[1] > HEAD_BYTES // np.dtype(dtype).itemsize  # both the dense head and the rest are used
    triplets = TripletSampler(y, 1).draw(250)
    expected, losses, updates = RECURSIONS[learner](scale * X, triplets, aggressiveness)
    model = learner(aggressiveness, dtype=dtype).fit_triplets(sp.csr_array(scale * X), triplets)
    assert learned(model).dtype == dtype
    np.testing.assert_allclose(learned(model), expected, atol=tolerance)
    assert not np.allclose(expected, np.eye(400), atol=1e-3)
    if learner is not OASIS:
        np.testing.assert_array_equal(learned(model), learned(model).T)
    if dtype == "float64":
        assert (model.n_steps_, model.n_updates_) == (250, updates)
        assert np.isclose(np.nansum(model.curve_["loss_rate"] * np.diff(model.curve_["step"], prepend=0)), losses)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_small_rows_give_the_matrix_of_a_dense_recursion(data: st.DataObject) -> None:
    n, d = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 8))
    # few values, so that equal rows, exact cancellations (2p = p+ + p- too) and zero rows are common
    X = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, -0.5, 2.0]), min_size=n * d, max_size=n * d)))
    X = X.reshape(n, d)
    triplets = np.array(
        data.draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 3), min_size=1, max_size=25)), dtype=np.int64
    )
    # the matrix only: a step that ends on the margin leaves a loss of 0 or of one rounding, and counts differ by it
    for learner, recursion in RECURSIONS.items():
        found = learned(learner(0.3, dtype="float64").fit_triplets(X, triplets))
        np.testing.assert_allclose(found, recursion(X, triplets, 0.3)[0], atol=1e-10)
        assert learner is OASIS or (found == found.T).all()


@one_by_one
def test_a_step_without_a_direction_counts_as_a_loss_and_changes_nothing(learner: Any) -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    model = learner().fit_triplets(X, [[0, 1, 2]])
    np.testing.assert_array_equal(learned(model), np.eye(2))
    assert (model.n_steps_, model.n_updates_) == (1, 0)
    assert model.curve_["loss_rate"][-1] == 1.0


@one_by_one
def test_passive_once_the_margin_is_kept(learner: Any) -> None:
    model = learner().fit_triplets([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [[0, 1, 2]] * 5)
    np.testing.assert_array_equal(learned(model), np.eye(2))
    assert model.n_updates_ == 0
    assert model.curve_["loss_rate"][-1] == 0.0


@one_by_one
def test_fit_draws_the_samplers_triplets(rows: tuple[np.ndarray, np.ndarray], learner: Any) -> None:
    X, y = rows
    drawn = learner(n_steps=800, random_state=9).fit(X, y)
    given_ = learner(n_steps=7).fit_triplets(X, TripletSampler(y, 9).draw(800))
    np.testing.assert_array_equal(learned(drawn), learned(given_))
    assert given_.n_steps_ == 800


@one_by_one
def test_values_that_overflow_are_named(learner: Any) -> None:
    with pytest.raises(ValueError, match="too large"):
        learner().fit_triplets(np.array([[1e39, 0.0], [0.0, 1.0], [1.0, 1.0]]), [[0, 1, 2]])
    X = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 1e-200]])
    with pytest.raises(ValueError, match=learner.matrix_name[0] + " overflowed during learning: scale the rows"):
        learner(dtype="float64").fit_triplets(X, [[0, 1, 2]] * 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_order_of_features_does_not_matter(rows: tuple[np.ndarray, np.ndarray], dtype: str) -> None:
    X, y = rows
    assert X.shape[1] > HEAD_BYTES // np.dtype(dtype).itemsize  # both the dense head and the rest are used
    order = np.random.default_rng(2).permutation(X.shape[1])
    plain = OASIS(n_steps=1000, dtype=dtype, random_state=0).fit(X, y)
    permuted = OASIS(n_steps=1000, dtype=dtype, random_state=0).fit(X[:, order], y)
    np.testing.assert_allclose(permuted.W_, plain.W_[order][:, order], atol=1e-12 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("d", [1, 2, 9, 40])
def test_a_matrix_is_permuted_in_place(d: int) -> None:
    random = np.random.default_rng(d)
    W, order = random.random((d, d)), random.permutation(d)
    expected = W[order][:, order]
    permute_square(W, order)
    np.testing.assert_array_equal(W, expected)


def test_tracing_changes_no_bit_and_trains_once(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    seen: list[int] = []
    matrices: dict[int, np.ndarray] = {}

    def trace(model: OASIS, step: int) -> dict[str, float]:
        seen.append(step)
        assert model.n_steps_ == step
        matrices[step] = model.W_.copy()
        return {"map": mean_average_precision(model.similarity(X, X), y)}

    steps = [700, 1, 20_000, 333]
    traced = OASIS(n_steps=20_000, random_state=4).fit(X, y, trace=trace, trace_steps=steps)
    plain = OASIS(n_steps=20_000, random_state=4).fit(X, y)
    np.testing.assert_array_equal(traced.W_, plain.W_)
    assert seen == [0, 1, 333, 700, 20_000]
    np.testing.assert_array_equal(traced.curve_["step"], seen)
    assert set(traced.curve_) == {"step", "loss_rate", "map"}
    assert np.isnan(traced.curve_["loss_rate"][0])
    assert ((traced.curve_["loss_rate"][1:] >= 0) & (traced.curve_["loss_rate"][1:] <= 1)).all()
    np.testing.assert_array_equal(matrices[0], np.eye(400))
    for step in (1, 333, 700):
        np.testing.assert_array_equal(matrices[step], OASIS(n_steps=step, random_state=4).fit(X, y).W_)


@plain_or_averaged
def test_a_trace_that_fails_leaves_the_users_order(rows: tuple[np.ndarray, np.ndarray], learner: Any) -> None:
    X, y = rows
    model = learner(n_steps=500, random_state=0)

    def trace(model: Any, step: int) -> dict[str, float]:
        if step == 200:
            raise RuntimeError("stopped")
        return {}

    with pytest.raises(RuntimeError, match="stopped"):
        model.fit(X, y, trace=trace, trace_steps=[200])
    np.testing.assert_array_equal(model.W_, learner(n_steps=200, random_state=0).fit(X, y).W_)
    assert not hasattr(model, "_rankers")


@plain_or_averaged
def test_early_stopping_refits_on_all_rows_for_the_best_step(learner: Any) -> None:
    X, y = sparse_rows(120, 60, 4, seed=3)
    model = learner(n_steps=10_000, early_stopping=True, trace_points=25, random_state=1).fit(X, y)
    curve = model.validation_curve_
    best = int(curve["step"][np.argmax(curve["map"])])
    assert model.n_steps_ == best
    assert best == min(curve["step"][curve["map"] == curve["map"].max()])
    np.testing.assert_array_equal(model.W_, learner(n_steps=best, random_state=1).fit(X, y).W_)
    assert not hasattr(model.set_params(early_stopping=False).fit(X, y), "validation_curve_")


@plain_or_averaged
def test_projections(rows: tuple[np.ndarray, np.ndarray], learner: Any) -> None:
    X, y = rows
    plain, symmetric, psd = (
        learner(n_steps=1000, random_state=0, dtype="float64", projection=projection).fit(X, y)
        for projection in (None, "symmetric", "psd")
    )
    np.testing.assert_array_equal(symmetric.W_, (plain.W_ + plain.W_.T) / 2)
    values, vectors = np.linalg.eigh(symmetric.W_)
    np.testing.assert_allclose(psd.W_, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-10)
    np.testing.assert_allclose(psd.components_ @ psd.components_.T, psd.W_, atol=1e-10)
    assert not hasattr(psd.set_params(projection=None).fit(X, y), "components_")


def test_a_fifth_of_every_class_is_held_out() -> None:
    y = np.repeat([0, 1, 2, 3], [40, 5, 4, 3])
    held_out = held_out_rows(y, 0.2, np.random.default_rng(0))
    assert [int(held_out[y == label].sum()) for label in range(4)] == [8, 2, 2, 0]
    with pytest.raises(ValueError, match="at least four rows"):
        held_out_rows(np.repeat([0, 1], 3), 0.2, np.random.default_rng(0))


def test_learning_beats_the_euclidean_baseline() -> None:
    # 400 rows of 200 features, mAP of 400 other rows: about 0.20 and 0.45, whatever the seed
    X, y = sparse_rows(800, 200, 10, seed=0)
    train, test = np.arange(800) < 400, np.arange(800) >= 400
    euclidean = mean_average_precision(Euclidean().fit(X[train]).similarity(X[test], X[test]), y[test])
    model = OASIS(n_steps=50_000, random_state=0).fit(sp.csr_array(X[train]), y[train])
    oasis = mean_average_precision(model.similarity(X[test], X[test]), y[test])
    assert oasis > 1.8 * euclidean


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"aggressiveness": 0.0}, "aggressiveness"),
        ({"aggressiveness": float("nan")}, "aggressiveness"),
        ({"n_steps": -1}, "n_steps"),
        ({"n_steps": 1.5}, "n_steps"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"trace_points": 0}, "trace_points"),
        ({"dtype": "float16"}, "dtype"),
        ({"projection": "PSD"}, "projection"),
    ],
)
def test_parameters_out_of_range_are_named(
    rows: tuple[np.ndarray, np.ndarray], parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        OASIS(**parameters).fit(*rows)


def test_trace_steps_out_of_range_are_named(rows: tuple[np.ndarray, np.ndarray]) -> None:
    for steps in ([-1], [11]):
        with pytest.raises(ValueError, match="trace_steps"):
            OASIS(n_steps=10).fit(*rows, trace_steps=steps)


def test_no_steps_leave_the_identity(rows: tuple[np.ndarray, np.ndarray]) -> None:
    model = OASIS(n_steps=0).fit(*rows)
    np.testing.assert_array_equal(model.W_, np.eye(400))
    assert model.curve_["step"].tolist() == [0]


def test_progress_is_shown_when_asked_for(
    rows: tuple[np.ndarray, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    OASIS(n_steps=100, random_state=0).fit(*rows)
    assert capsys.readouterr().err == ""
    OASIS(n_steps=100, random_state=0, verbose=1).fit(*rows)
    shown = capsys.readouterr().err
    assert "OASIS" in shown
    assert "loss_rate" in shown
