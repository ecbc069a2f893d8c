"""One contract, every learner of the registry: a new learner joins by its line there and by what it accepts."""

from __future__ import annotations

import inspect
import json
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import lookalike
from lookalike.learners import LEARNERS, SimilarityLearner, TripletSampler

# Parameters that keep a fit of the little sets below short, and the variants that need tests of their own.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "LEGO": [
        {"n_steps": 400},
        {"n_steps": 400, "relative": False, "dtype": "float32"},
        {"n_steps": 400, "percentiles": (10, 80)},
        {"n_steps": 400, "early_stopping": True, "trace_points": 5},
    ],
    "MMC": [{"max_iter": 5}],
    "LMNN": [{"max_iter": 40}, {"max_iter": 40, "solver": "naive"}, {"max_iter": 40, "accelerated": True}],
    "MCML": [{"max_iter": 10}],
    "OASIS": [
        {"n_steps": 400},
        {"n_steps": 400, "dtype": "float64"},
        {"n_steps": 400, "projection": "symmetric"},
        {"n_steps": 400, "projection": "psd"},
        {"n_steps": 400, "projection": "psd", "projection_interval": 100},
        {"n_steps": 400, "early_stopping": True, "trace_points": 5},
    ],
    "OnlineProjOASIS": [
        {"n_steps": 400},
        {"n_steps": 400, "dtype": "float64", "projection": "psd"},
        {"n_steps": 400, "early_stopping": True, "trace_points": 5},
    ],
    "DissimOASIS": [
        {"n_steps": 400},
        {"n_steps": 400, "dtype": "float64", "projection": "psd"},
        {"n_steps": 400, "early_stopping": True, "trace_points": 5},
    ],
    "AveragedOASIS": [
        {"n_steps": 400, "n_rankers": 3},
        {"n_steps": 400, "n_rankers": 2, "dtype": "float64", "projection": "psd"},
        {"n_steps": 400, "n_rankers": 2, "early_stopping": True, "trace_points": 5},
    ],
    "SOMLTG": [
        {"n_steps": 400},
        {"n_steps": 400, "regularization": 0.003, "projection": "psd"},
        {"n_steps": 400, "early_stopping": True, "trace_points": 5},
    ],
    "SOMLDA": [
        {"n_steps": 400},
        {"n_steps": 400, "regularization": 0.003, "projection": "psd"},
        {"n_steps": 400, "gamma": 0.01, "average_every_step": True},
        {"n_steps": 400, "early_stopping": True, "trace_points": 5},
    ],
    "DiagonalOASIS": [
        {"n_steps": 400},
        {"n_steps": 400, "projection": "psd"},
        {"n_steps": 400, "early_stopping": True, "trace_points": 5},
    ],
    "QPAO": [{"n_triplets": 400, "n_blocks": 3}, {"n_triplets": 400, "n_blocks": 1, "C": 0.1}],
}

# Those that learn from w = 0, where all others learn from the Euclidean metric.
FROM_ZERO = {"SOMLTG", "SOMLDA"}


def learners() -> list[SimilarityLearner]:
    return [
        learner(**parameters, **({"random_state": 0} if "random_state" in learner().get_params() else {}))
        for name, learner in LEARNERS.items()
        for parameters in VARIANTS.get(name, [{}])
    ]


def accepting(*what: str) -> Any:
    chosen = [learner for learner in learners() if set(what) <= learner.accepts]
    return pytest.mark.parametrize("learner", chosen, ids=repr)


every = pytest.mark.parametrize("learner", learners(), ids=repr)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """60 sparse rows of 24 features in 4 classes, some of them equal."""
    random = np.random.default_rng(3)
    y = np.repeat(np.arange(4), 15)
    X = random.random((60, 24)) * (random.random((60, 24)) < 0.3) + 0.5 * np.eye(4)[y].repeat(6, axis=1)
    X[7] = X[3]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


def tolerance(learner: SimilarityLearner) -> float:
    return 1e-5 if learner.get_params().get("dtype", "float64") == "float32" else 1e-9


def fitted(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> SimilarityLearner:
    return clone(learner).fit(*rows)


@parametrize_with_checks(learners())
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


@every
def test_names_what_it_accepts(learner: SimilarityLearner) -> None:
    assert learner.accepts <= {"labels", "pairs", "triplets", "online"}
    assert learner.accepts


@every
def test_shapes_and_metric(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = rows
    model = fitted(learner, rows)
    scores = model.similarity(X[:5], X[:9])
    assert scores.shape == (5, 9)
    assert np.isfinite(scores).all()
    assert model.metric_ in {"inner_product", "sqeuclidean"}
    assert model.n_features_in_ == 24
    indices, found = model.rank(X[:5], X, k=4)
    assert indices.shape == found.shape == (5, 4)


@every
@pytest.mark.parametrize("as_csr", [sp.csr_array, sp.csr_matrix])
def test_csr_and_dense_are_the_same(
    learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray], as_csr: Any
) -> None:
    X, y = rows
    dense, sparse = fitted(learner, rows), clone(learner).fit(as_csr(X), y)
    expected = dense.similarity(X, X)
    for A, B in ((X, X), (as_csr(X), X), (X, as_csr(X)), (as_csr(X), as_csr(X))):
        scores = sparse.similarity(A, B)
        assert isinstance(scores, np.ndarray)
        np.testing.assert_allclose(scores, expected, atol=tolerance(learner))


@every
def test_csr_with_wide_indices_unsorted_and_with_zeros(
    learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = rows
    plain = sp.csr_array(X)
    odd = sp.csr_array((plain.data.copy(), plain.indices.astype(np.int64), plain.indptr.astype(np.int64)), plain.shape)
    for i in range(odd.shape[0]):
        row = slice(odd.indptr[i], odd.indptr[i + 1])
        odd.indices[row], odd.data[row] = odd.indices[row][::-1].copy(), odd.data[row][::-1].copy()
    odd.has_sorted_indices = False
    before = odd.copy()
    model = clone(learner).fit(odd, y)
    np.testing.assert_allclose(
        model.similarity(odd, plain), fitted(learner, rows).similarity(X, X), atol=tolerance(learner)
    )
    np.testing.assert_array_equal(odd.indices, before.indices)
    np.testing.assert_array_equal(odd.data, before.data)


@every
def test_a_csr_gallery_is_never_made_dense(
    learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = rows
    model = fitted(learner, rows)

    def refuse(self: Any, *args: Any, **options: Any) -> None:
        if self.shape == X.shape:
            raise AssertionError("rows were made dense")
        return original(self, *args, **options)

    original = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    monkeypatch.setattr(sp.csr_array, "todense", refuse)
    model.similarity(sp.csr_array(X), sp.csr_array(X))
    model.rank(sp.csr_array(X), sp.csr_array(X), k=3)


@every
def test_the_same_seed_gives_the_same_bits(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = rows
    one, two = fitted(learner, rows), fitted(learner, rows)
    np.testing.assert_array_equal(one.similarity(X, X), two.similarity(X, X))


@every
def test_fitting_again_forgets(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    again = fitted(learner, (X[::-1], y)).fit(X, y)
    np.testing.assert_array_equal(again.similarity(X, X), fitted(learner, rows).similarity(X, X))


@every
def test_pickle_keeps_the_bits(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = rows
    model = fitted(learner, rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).similarity(X, X), model.similarity(X, X))


@every
def test_save_and_load_keep_the_bits(
    learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray], tmp_path: Any
) -> None:
    X, _ = rows
    model = fitted(learner, rows)
    model.save(tmp_path / "model.npz", made_by={"fold": 3})
    loaded = lookalike.load(tmp_path / "model.npz")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert set(vars(loaded)) == set(vars(model))
    np.testing.assert_array_equal(loaded.similarity(X, X), model.similarity(X, X))
    assert json.loads((tmp_path / "model.json").read_text())["made_by"]["fold"] == 3
    first = (tmp_path / "model.npz").read_bytes(), (tmp_path / "model.json").read_bytes()
    loaded.save(tmp_path / "model.npz", made_by={"fold": 3})
    assert first == ((tmp_path / "model.npz").read_bytes(), (tmp_path / "model.json").read_bytes())


@every
def test_an_unfitted_learner_is_not_saved(learner: SimilarityLearner, tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        clone(learner).save(tmp_path / "model.npz")


@every
@pytest.mark.parametrize("k", [1, 3, 59, 60, 500])
def test_rank_is_the_first_of_a_stable_sort(
    learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray], k: int
) -> None:
    X, _ = rows
    model = fitted(learner, rows)
    # sparse products give equal rows equal scores to the bit, so ties (rows 3 and 7) are decided by row number
    full = model.similarity(sp.csr_array(X), sp.csr_array(X))
    expected = np.argsort(-full, axis=1, kind="stable")[:, :k]
    indices, scores = model.rank(sp.csr_array(X), sp.csr_array(X), k=k)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(scores, np.take_along_axis(full, expected, 1))


@every
def test_rank_in_small_blocks_is_the_same(
    learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    X = sp.csr_array(rows[0])
    model = fitted(learner, rows)
    indices, scores = model.rank(X, X, k=9)
    monkeypatch.setattr("lookalike.learners.base.GALLERY_BLOCK", 7)
    in_blocks, their_scores = model.rank(X, X, k=9, batch_size=4)
    np.testing.assert_array_equal(in_blocks, indices)
    np.testing.assert_array_equal(their_scores, scores)


@every
def test_transform_gives_the_similarity(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = rows
    model = fitted(learner, rows)
    if not hasattr(model, "transform"):
        with pytest.raises(AttributeError, match="projection='psd'"):
            model.transform(X)
        return
    scores = model.similarity(X, X)
    for given in (X, sp.csr_array(X)):
        Z = model.transform(given)
        Z = Z.toarray() if sp.issparse(Z) else Z
        plain = Z @ Z.T if model.metric_ == "inner_product" else -np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
        np.testing.assert_allclose(plain, scores, atol=10 * tolerance(learner))


# Curves -------------------------------------------------------------------------------------------------------------

tracing = pytest.mark.parametrize(
    "learner", [one for one in learners() if "trace" in inspect.signature(one.fit).parameters], ids=repr
)


@tracing
def test_a_trace_starts_where_learning_does_ends_with_the_model_and_changes_nothing(
    learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = rows
    seen: dict[int, np.ndarray] = {}

    def trace(model: Any, step: int) -> dict[str, float]:
        assert model.n_steps_ == step
        seen[step] = model.similarity(X, X)
        return {"mean": float(seen[step].mean())}

    steps = [3] if learner.get_params().get("max_iter", 400) < 100 else [3, 150, 400]
    if learner.get_params().get("early_stopping"):
        learner = clone(learner).set_params(early_stopping=False)
    model = clone(learner).fit(X, y, trace=trace, trace_steps=steps)
    assert model.curve_["step"].tolist() == sorted(seen)
    np.testing.assert_array_equal(model.curve_["mean"], [seen[step].mean() for step in sorted(seen)])
    start = X @ X.T if model.metric_ == "inner_product" else -((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(seen[0], 0 * start if type(model).__name__ in FROM_ZERO else start, atol=1e-6)
    np.testing.assert_array_equal(model.similarity(X, X), fitted(learner, rows).similarity(X, X))
    assert max(seen) == model.n_steps_
    if not learner.get_params().get("projection"):
        np.testing.assert_array_equal(seen[max(seen)], model.similarity(X, X))


@tracing
def test_trace_steps_that_are_not_reached(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    n_steps = learner.get_params().get("n_steps")
    with pytest.raises(ValueError, match="trace_steps"):
        clone(learner).fit(X, y, trace_steps=[-1, 2])
    if n_steps is not None:
        # an online learner takes as many steps as it is told to
        with pytest.raises(ValueError, match="trace_steps"):
            clone(learner).fit(X, y, trace_steps=[2, n_steps + 1])
        model = clone(learner).fit(X, y, trace_steps=[2, n_steps])
        assert model.curve_["step"].tolist() == [step for step in (0, 2, n_steps) if step <= model.n_steps_]
        return
    # a batch learner may stop by itself
    model = clone(learner).fit(X, y, trace_steps=[2, 10**6])
    assert model.curve_["step"].tolist() == [0, 2, model.n_steps_]


# Mistakes -----------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_a_number_is_refused(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray], value: float) -> None:
    X, y = rows
    bad = X.copy()
    bad[2, 2] = value
    for given in (bad, sp.csr_array(bad)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            clone(learner).fit(given, y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            fitted(learner, rows).similarity(X, given)


@every
def test_another_number_of_features_is_refused(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = rows
    model = fitted(learner, rows)
    for A, B in ((X[:, :5], X), (X, sp.csr_array(X[:, :5]))):
        with pytest.raises(ValueError, match="5 features"):
            model.similarity(A, B)
        with pytest.raises(ValueError, match="5 features"):
            model.rank(A, B)


@every
def test_k_must_be_positive(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="k"):
        fitted(learner, rows).rank(rows[0], rows[0], k=0)


def learns_from_labels(learner: SimilarityLearner) -> bool:
    return "labels" in learner.accepts and bool(learner.__sklearn_tags__().target_tags.required)


supervised = pytest.mark.parametrize("learner", [one for one in learners() if learns_from_labels(one)], ids=repr)


@supervised
def test_one_class_is_refused(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="at least two classes"):
        clone(learner).fit(rows[0], np.zeros(60))


@supervised
def test_classes_of_one_image_are_refused(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="at least two rows of some class"):
        clone(learner).fit(rows[0][:6], np.arange(6))


@supervised
def test_one_row_and_missing_labels_are_refused(
    learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = rows
    with pytest.raises(ValueError, match="minimum"):
        clone(learner).fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="inconsistent"):
        clone(learner).fit(X, y[:-1])


@supervised
def test_labels_may_be_names(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    named = clone(learner).fit(X, np.array(["apple", "bear", "cat", "dog"])[y])
    np.testing.assert_array_equal(named.similarity(X, X), fitted(learner, rows).similarity(X, X))


# Odd rows -----------------------------------------------------------------------------------------------------------


@every
def test_fewer_rows_than_features(learner: SimilarityLearner) -> None:
    random = np.random.default_rng(5)
    X, y = random.random((12, 50)), np.repeat([0, 1, 2], 4)
    assert np.isfinite(clone(learner).fit(X, y).similarity(X, X)).all()


@every
def test_equal_rows_and_zero_rows(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    odd = X.copy()
    odd[:20] = odd[0]
    odd[20:24] = 0
    for given in (odd, sp.csr_array(odd)):
        scores = clone(learner).fit(given, y).similarity(given, given)
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(scores[0], scores[19], atol=tolerance(learner))


@every
def test_rows_of_zeros_only(learner: SimilarityLearner) -> None:
    X, y = np.zeros((12, 5)), np.repeat([0, 1, 2], 4)
    assert (clone(learner).fit(X, y).similarity(X, X) == 0).all()


# Triplets -----------------------------------------------------------------------------------------------------------


@accepting("triplets")
def test_triplets_out_of_range_are_refused(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = rows
    for triplets, message in (
        ([[0, 1, 60]], "0 to 59"),
        ([[0, -1, 2]], "0 to 59"),
        ([[0, 1]], r"\(m, 3\)"),
        ([[0.5, 1, 2]], "whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(learner).fit_triplets(X, triplets)


@accepting("triplets", "online")
def test_going_on_is_the_same_as_one_pass(learner: SimilarityLearner, rows: tuple[np.ndarray, np.ndarray]) -> None:
    plain = {"projection": None, "projection_interval": None}
    learner = clone(learner).set_params(**{name: plain[name] for name in plain if name in learner.get_params()})
    X, y = rows
    triplets = TripletSampler(y, 0).draw(300)
    whole = clone(learner).fit_triplets(X, triplets)
    parts = clone(learner).partial_fit_triplets(X, triplets[:100]).partial_fit_triplets(X, triplets[100:])
    np.testing.assert_array_equal(whole.similarity(X, X), parts.similarity(X, X))
    assert getattr(parts, "n_steps_", 300) == 300


def test_what_a_learner_does_not_accept_is_said() -> None:
    class Labels(SimilarityLearner):
        accepts = frozenset({"labels"})

    with pytest.raises(TypeError, match="cannot learn from triplets; it accepts labels"):
        Labels().fit_triplets([[1.0]], [])
    with pytest.raises(TypeError, match="not an online learner; it accepts labels"):
        Labels().partial_fit_triplets([[1.0]], [])


def test_the_registry_names_its_classes() -> None:
    for name, learner in LEARNERS.items():
        assert learner.__name__ == name
        assert getattr(lookalike, name) is learner
    assert not hasattr(lookalike, "Nothing")
