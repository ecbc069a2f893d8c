"""LMNN, MCML and MMC against the sums that define them, RCA against its definition, and the span that they work in."""

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows_and_examples import noisy_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lookalike.learners import LMNN, MCML, MMC, RCA, batch, lmnn, mcml
from lookalike.learners.mcml import CollapsingObjective
from lookalike.learners.span import Span


def odd_classes():
    """Classes of four, three, two and one; equal rows within and across classes; a row of zeros."""
    X = np.random.default_rng(2).random((10, 4))
    X[1], X[5], X[8] = X[0], X[0], 0
    return X, np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3])


def pair_distances(X, M):
    Z = X[:, None] - X[None]
    return np.maximum(np.einsum("abi,ij,abj->ab", Z, M, Z), 0.0)


def literal_targets(X, y, k):
    squared = np.round(pair_distances(X, np.eye(X.shape[1])), 10)
    mates = [[j for j in range(len(X)) if j != i and y[j] == y[i]] for i in range(len(X))]
    return [sorted(own, key=lambda j: (squared[i, j], j))[:k] for i, own in enumerate(mates)]


def large_margin(X, y, M, omega=0.5, k=3):
    """Equation 13 of the OASIS draft."""
    D = pair_distances(X, M)
    pairs = [(i, j) for i, targets in enumerate(literal_targets(X, y, k)) for j in targets]
    push = sum(np.maximum(0, 1 + D[i, j] - D[i, y != y[i]]).sum() for i, j in pairs)
    return float(omega * sum(D[i, j] for i, j in pairs) + (1 - omega) * push)


def divergence(X, y, M):
    """Mean divergence from the ideal choice of neighbours (Globerson and Roweis, section 2)."""
    terms = []
    for i, own in enumerate(np.exp(-pair_distances(X, M))):
        chances = np.where(np.arange(len(X)) == i, 0, own)
        mates = (y == y[i]) & (np.arange(len(X)) != i)
        if mates.any():
            terms.append(np.mean(-np.log(mates.sum() * (chances / chances.sum())[mates])))
    return float(np.mean(terms))


def spread(X, y, M, same=False):
    """Mean distance of pairs of different classes, or mean squared distance within classes (Xing et al., section 2)."""
    D = pair_distances(X, M)
    chosen = [D[i, j] for i, j in itertools.combinations(range(len(X)), 2) if (y[i] == y[j]) == same]
    return float(np.mean(chosen if same else np.sqrt(chosen)))


# the last number: share by which the objective may be wrong, and rise between two widths of the rounded hinges
CASES = [
    (LMNN(max_iter=60, solver="active_set", tol=1e-7, refresh=1), large_margin, -1, 1e-9),
    (LMNN(max_iter=60, solver="naive", tol=1e-7), large_margin, -1, 1e-9),
    (LMNN(max_iter=60), large_margin, -1, 2e-4),
    (MCML(max_iter=15, tol=0), divergence, -1, 1e-9),
    (MCML(max_iter=15, tol=1e-4, solver="factor"), divergence, -1, 1e-4),
    (MMC(max_iter=15), spread, 1, 1e-9),
]
every = pytest.mark.parametrize(("learner", "literal", "sign", "share"), CASES, ids=[str(row[0])[:40] for row in CASES])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@every
@settings(max_examples=6, deadline=None)
@given(st.just(odd_classes()) | st.builds(noisy_classes, st.just(24), st.sampled_from([5, 30]), seed=st.integers(0)))
def test_the_objective_is_the_literal_sum_and_only_improves(learner, literal, sign, share, rows):
    X, y = rows
    identity = np.eye(X.shape[1])
    model = clone(learner).fit(X, y, trace_steps=range(100))
    curve = model.curve_["objective"]
    assert curve[0] == pytest.approx(literal(X, y, identity), rel=max(share / 100, 1e-9))
    at_end = literal(X, y, model.M_)
    assert curve[-1] == model.objective_ == pytest.approx(at_end, rel=100 * share, abs=share * curve[0])
    assert (sign * np.diff(curve) >= -share * curve[0]).all()
    assert sign * curve[-1] > sign * curve[0] * (1 + sign * 0.02)
    values = np.linalg.eigvalsh(model.M_)
    assert values[0] >= -1e-9 * values[-1]
    np.testing.assert_array_equal(model.M_, model.M_.T)
    np.testing.assert_allclose(model.components_ @ model.components_.T, model.M_, atol=1e-9 * values[-1])
    if learner.__class__ is MMC:  # the constraint
        assert spread(X, y, model.M_, same=True) <= spread(X, y, identity, same=True) * (1 + 1e-9)


@every
def test_the_span_gives_the_matrix_of_the_full_space(learner, literal, sign, share, monkeypatch):
    monkeypatch.setattr(batch, "IN_SINGLE", 1e-9)  # another basis rounds otherwise, to 1e-3 in float32
    X, y = noisy_classes(20, 12)
    basis = np.linalg.qr(np.random.default_rng(3).normal(size=(35, 12)))[0]
    few, many = (clone(learner).set_params(max_iter=8) for _ in range(2))
    inner, M = few.fit(X, y).M_, many.fit(X @ basis.T, y).M_
    np.testing.assert_allclose(M, basis @ (inner - np.eye(12)) @ basis.T + np.eye(35), atol=1e-7 * np.abs(M).max())
    assert np.abs(inner - np.eye(12)).max() > 0.01
    none = clone(learner).set_params(max_iter=0).fit(X @ basis.T, y)
    np.testing.assert_allclose(none.M_, np.eye(35), atol=1e-13)
    assert (none.n_steps_, none.converged_) == (0, False)


@pytest.mark.parametrize(
    ("learner", "literal", "sign"),
    [
        (LMNN(max_iter=3000, tol=1e-10), large_margin, -1),
        (LMNN(0.125, max_iter=3000, tol=1e-10), partial(large_margin, omega=0.125), -1),
        (MCML(400, tol=0), divergence, -1),
        (MCML(400, tol=1e-10, solver="factor"), divergence, -1),
        (MMC(2000, 1e-7), spread, 1),
    ],
)
def test_no_other_matrix_is_better_than_the_end(learner, literal, sign, monkeypatch):
    monkeypatch.setattr(mcml, "BLOCK_ENTRIES", 130)  # of 900
    random = np.random.default_rng(7)
    y = np.arange(30) % 3
    X = random.normal(size=(30, 3)) + 1.2 * np.eye(3)[y]  # no linear map collapses these
    model = clone(learner).fit(X, y)
    for size in (1e-3, 0.1, 1.0) * 10:
        half = random.normal(size=(3, int(random.integers(1, 4))))
        other = half @ half.T / spread(X, y, half @ half.T, same=True)
        if learner.__class__ is MMC:
            other *= spread(X, y, np.eye(3), same=True)  # a mixture of feasible matrices is one
        mixed = (1 - size) * model.M_ + size * other
        assert sign * literal(X, y, mixed) <= sign * model.objective_ + 2e-6 * abs(model.objective_)


def test_mcml_stops_by_tol_over_three_steps():
    X, y = noisy_classes(60, 12)
    by_tol = MCML(max_iter=500, tol=0.05).fit(X, y)
    objective = by_tol.curve_["objective"]
    drops = objective[:-3] - objective[3:]
    assert (by_tol.converged_, by_tol.n_iter_, by_tol.n_steps_) == (True, *[len(objective) - 1] * 2)
    assert drops[-1] <= 0.05 * objective[0] < drops[:-1].min()
    with pytest.warns(ConvergenceWarning, match="MCML had not converged after 2 steps: give a larger max_iter"):
        assert not MCML(max_iter=2, tol=0).fit(X, y).converged_


def test_mcml_learns_from_far_rows_and_not_from_rows_that_differ_by_rounding_at_most():
    X, y = odd_classes()
    assert all(np.isfinite(part).all() for part in CollapsingObjective(1e4 * X, y).value_and_gradient(np.eye(4)))
    random = np.random.default_rng(0)
    for row in (np.zeros(5), random.random(40)):
        model = MCML().fit(np.tile(row, (99, 1)), np.arange(99) % 3)
        np.testing.assert_allclose(model.M_, np.eye(len(row)), atol=1e-12)
        assert (model.n_steps_, model.converged_, model.objective_) == (0, True, pytest.approx(np.log(98 / 32)))
    rows = np.tile(random.random(5) + 1, (9, 1))
    rows[::2] = np.nextafter(rows[::2], 9)
    np.testing.assert_array_equal(MCML().fit(rows, np.arange(9) % 3).M_, np.eye(5))


def test_mmc_leaves_directions_in_which_no_class_varies():
    X, y = noisy_classes(18, 30)
    model = MMC(10).fit(X, y)
    deviations = X - np.array([X[y == c].mean(axis=0) for c in range(3)])[y]
    outside = np.linalg.svd(deviations)[2][15:]
    np.testing.assert_allclose(model.M_ @ outside.T, outside.T, atol=1e-10)
    same = MMC(10).fit([[0.0, 1.0], [0.0, 1.0], [3.0, 0.0], [3.0, 0.0]], [0, 0, 1, 1])
    np.testing.assert_allclose(same.M_, np.eye(2), atol=1e-15)
    assert same.converged_
    best = MMC(1000, 1e-9).fit(X, y)
    assert best.objective_ * 0.9 <= MMC(tol=0.1).fit(X, y).objective_ < best.objective_ * (1 - 1e-6)
    np.testing.assert_allclose(MMC(15).fit(1000 * X, y).M_, MMC(15).fit(X, y).M_, rtol=1e-6, atol=1e-8)


def test_impostors_that_the_active_set_left_out_are_found(monkeypatch):
    X, y = noisy_classes(40, 6, 4)
    fit = partial(LMNN, max_iter=2000, tol=1e-9)
    expected = fit(solver="naive").fit(X, y).objective_
    # a list with hardly any slack to spare misses impostors all the time; the last look is when the descent would end
    for margin, refresh, tolerance in ((0.9, 50, 1.0), (1.02, 50, 1e-3), (1.2, 10**6, 1e-4)):
        monkeypatch.setattr(lmnn, "CANDIDATE_MARGIN", margin)
        model = fit(solver="active_set", refresh=refresh).fit(X, y)
        assert model.objective_ == pytest.approx(large_margin(X, y, model.M_))
        assert model.objective_ < large_margin(X, y, np.eye(6))
        assert model.objective_ == pytest.approx(expected, rel=tolerance)


def test_a_descent_ends_by_its_rule_and_its_curve_has_sixty_steps():
    X, y = noisy_classes(40, 6, 4)
    for solver in lmnn.SOLVERS:
        model = LMNN(solver=solver, max_iter=5000, tol=1e-3).fit(X, y)
        assert model.converged_ == (model.n_steps_ < 4999)
        assert not LMNN(solver=solver, max_iter=model.n_steps_ - 1, tol=1e-3).fit(X, y).converged_
        nowhere = LMNN(max_iter=20).fit(np.zeros((6, 3)), [0, 0, 0, 1, 1, 1])
        assert (nowhere.converged_, nowhere.n_steps_) == (True, 0)
        steps = LMNN(solver=solver, max_iter=200, tol=0.0).fit(X, y).curve_["step"].tolist()
        assert (steps[:4], len(steps) <= 61) == ([0, 1, 2, 3], True)


@pytest.mark.parametrize(("block", "few"), [(3, 0.0), (4, 1.0), (10, 0.5)])
def test_the_factor_s_gradient_is_that_of_its_objective_in_blocks_of_any_size(block, few, monkeypatch):
    monkeypatch.setattr(lmnn, "BLOCK_ROWS", block)
    monkeypatch.setattr(lmnn, "FEW_PAIRS", few)
    X, y = odd_classes()
    L, change = np.random.default_rng(4).normal(size=(2, 4, 3))
    margins = lmnn.MarginObjective(X, y, lmnn.target_neighbours(X, y, 3), 0.3)
    value, gradient, exact = margins.value_and_gradient(L, 0.3)
    assert value < exact == pytest.approx(large_margin(X, y, L @ L.T, 0.3))
    ahead, behind = (margins.value_and_gradient(L + step * change, 0.3)[0] for step in (1e-6, -1e-6))
    assert np.vdot(gradient, change) == pytest.approx((ahead - behind) / 2e-6, rel=1e-4)


def test_the_factor_ends_in_float64_where_it_is_asked_to():
    X, y = noisy_classes(40, 6, 4)
    model = LMNN(tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(large_margin(X, y, model.M_), rel=1e-12)
    far = LMNN(tol=1e-3).fit(1e20 * X, y)  # float32 has no room for these
    assert np.isfinite(far.M_).all()
    assert far.curve_["objective"][-1] < far.curve_["objective"][0]


def test_the_factor_goes_on_where_one_feature_is_far_longer_than_others():
    X, y = noisy_classes(40, 6, 4)
    X[:, 0] += 1e4 * (np.arange(40) % 2)
    collapsing = MCML(solver="factor", tol=1e-4, max_iter=1000).fit(X, y)
    assert collapsing.objective_ == pytest.approx(divergence(X, y, collapsing.M_), rel=1e-3)
    margins = LMNN().fit(X, y)
    assert margins.objective_ < large_margin(X, y, 0 * margins.M_)


def test_few_impostors_are_measured_pair_by_pair():
    X, y = noisy_classes(120, 5)
    X[:, 2] += 6 * y
    active, naive = (LMNN(solver=solver, max_iter=4, tol=1e-7, refresh=1).fit(X, y) for solver in lmnn.SOLVERS[1:])
    np.testing.assert_allclose(active.M_, naive.M_, atol=1e-9 * np.abs(naive.M_).max())
    assert active.objective_ == pytest.approx(naive.objective_, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("n", "d", "n_components"), [(60, 8, 5), (20, 30, 5), (40, 6, None)])
def test_it_whitens_the_rows_within_classes_in_the_directions_of_the_pca(n, d, n_components, scale):
    X, y = noisy_classes(n, d, 4)
    P = np.linalg.svd(X - X.mean(axis=0))[2][:n_components].T
    model = RCA(n_components).fit(scale * X, y)
    deviations = X - np.array([X[y == c].mean(axis=0) for c in np.unique(y)])[y]
    expected = P @ np.linalg.inv(P.T @ (deviations.T @ deviations / len(X)) @ P) @ P.T
    np.testing.assert_allclose(scale**2 * model.M_, expected, atol=1e-8)
    np.testing.assert_array_equal(model.M_, model.M_.T)
    assert model.components_.shape == (d, model.n_components_) == (d, n_components or 6)


def test_the_most_directions_are_rows_less_classes():
    X, y = noisy_classes(20, 50, 4)
    assert RCA().fit(X, y).n_components_ == RCA(16).fit(X, y).n_components_ == 16
    low = noisy_classes(20, 6, 4)[0] @ np.eye(6, 50)
    for (rows, most), form in itertools.product(((X, 16), (low, 6)), (np.asarray, sp.csr_array)):
        for n_components in (most + 1, 50):
            with pytest.raises(ValueError, match=f"n_components={n_components} is too many.* choose at most {most}"):
                RCA(n_components).fit(form(rows), y)
    X[4:8] = X[0:4]  # the same four rows again
    assert RCA().fit(X, y).n_components_ == 12
    with pytest.raises(ValueError, match="rows of a class do not differ"):
        RCA().fit([[0.0, 1.0], [0.0, 1.0], [3.0, 0.0], [3.0, 0.0]], [0, 0, 1, 1])
    equal = RCA(3).fit(np.ones((6, 3)), [0, 0, 0, 1, 1, 1])
    assert equal.n_components_ == np.abs(equal.M_).max() == 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32, partial(sp.csr_array, dtype=np.float32)])
@pytest.mark.parametrize(("n", "d", "rank"), [(10, 40, 8), (40, 10, 8), (12, 12, 10), (6, 9, 0)])
def test_an_orthonormal_basis_of_the_least_size_holds_every_row(n, d, rank, form):
    random = np.random.default_rng(0)
    X = random.random((n, d)) * (random.random((n, d)) < 0.4) * (rank > 0)
    # an equal pair, a nearly equal pair, a zero row, an unused feature and a constant one
    X[3], X[1], X[4], X[:, 2], X[:, 5] = X[2], X[0] + 1e-5 * X[1], 0, 0, 0.125
    rows = form(X)
    span = Span(rows)
    X = np.float64(rows.toarray() if sp.issparse(rows) else rows)
    assert (span.basis.shape, span.coordinates.shape, span.basis.dtype) == ((d, rank), (n, rank), np.float64)
    np.testing.assert_allclose(span.basis.T @ span.basis, np.eye(rank), atol=1e-13)
    np.testing.assert_allclose(span.coordinates, (X - X.mean(axis=0)) @ span.basis, atol=1e-13)
    np.testing.assert_allclose(span.coordinates @ span.basis.T, X - X.mean(axis=0), atol=1e-10)
    np.testing.assert_array_equal(Span(rows.copy()).basis, span.basis)
