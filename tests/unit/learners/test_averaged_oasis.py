"""AveragedOASIS is the mean of rankers that could as well be trained one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners import OASIS, AveragedOASIS
from lookalike.learners.oasis_variants import average_matrices, ranker_seeds
from lookalike.ranking.rankings import mean_average_precision


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    y = np.arange(80) % 4
    X = random.random((80, 40)) * (random.random((80, 40)) < 0.3)
    X[np.arange(80), 5 * y] += 0.4
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def rankers(rows: tuple[np.ndarray, np.ndarray], n: int, n_steps: int, seed: int, **parameters: Any) -> list[Any]:
    return [OASIS(n_steps=n_steps, random_state=one, **parameters).fit(*rows) for one in ranker_seeds(seed, n)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_the_mean_of_rankers_trained_one_by_one(rows: tuple[np.ndarray, np.ndarray], dtype: str, n: int) -> None:
    X, y = rows
    model = AveragedOASIS(0.2, 700, n_rankers=n, dtype=dtype, random_state=6).fit(sp.csr_array(X), y)
    alone = rankers(rows, n, 700, 6, aggressiveness=0.2, dtype=dtype)
    np.testing.assert_array_equal(model.W_, average_matrices(ranker.W_ for ranker in alone))
    np.testing.assert_allclose(model.W_, np.mean([ranker.W_ for ranker in alone], axis=0), atol=1e-6)
    assert model.W_.dtype == dtype
    assert model.n_steps_ == 700
    assert model.n_updates_ == sum(ranker.n_updates_ for ranker in alone)
    assert not [name for name in vars(model) if name.startswith("_")]


def test_rankers_have_triplets_of_their_own(rows: tuple[np.ndarray, np.ndarray]) -> None:
    one, two = rankers(rows, 2, 300, 0)
    assert not np.allclose(one.W_, two.W_, atol=1e-3)


def test_seeds_do_not_depend_on_how_many_there_are() -> None:
    assert all(ranker_seeds(3, 10)[:n] == ranker_seeds(3, n) for n in range(11))
    assert len(set(ranker_seeds(3, 10) + ranker_seeds(4, 10))) == 20
    assert ranker_seeds(0, 0) == []
    assert ranker_seeds(np.random.default_rng(1), 2) == ranker_seeds(np.random.default_rng(1), 2)


def test_threads_change_no_bit(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    one = AveragedOASIS(n_steps=17_000, n_rankers=3, n_jobs=1, random_state=0).fit(X, y)
    for n_jobs in (None, 2):
        other = AveragedOASIS(n_steps=17_000, n_rankers=3, n_jobs=n_jobs, random_state=0).fit(X, y)
        np.testing.assert_array_equal(one.W_, other.W_)
        assert one.n_updates_ == other.n_updates_


def test_a_trace_sees_the_average_and_changes_no_bit(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    seen: dict[int, np.ndarray] = {}

    def trace(model: AveragedOASIS, step: int) -> dict[str, float]:
        assert model.n_steps_ == step
        seen[step] = model.W_.copy()
        return {"map": mean_average_precision(model.similarity(X, X), y)}

    traced = AveragedOASIS(n_steps=600, n_rankers=3, random_state=1).fit(X, y, trace=trace, trace_steps=[1, 250, 600])
    plain = AveragedOASIS(n_steps=600, n_rankers=3, random_state=1).fit(X, y)
    np.testing.assert_array_equal(traced.W_, plain.W_)
    np.testing.assert_array_equal(seen[0], np.eye(40))
    for step in (1, 250, 600):
        np.testing.assert_array_equal(seen[step], average_matrices(one.W_ for one in rankers(rows, 3, step, 1)))
    assert set(traced.curve_) == {"step", "loss_rate", "map"}
    assert traced.curve_["step"].tolist() == [0, 1, 250, 600]
    assert ((traced.curve_["loss_rate"][1:] > 0) & (traced.curve_["loss_rate"][1:] <= 1)).all()


def test_the_loss_rate_is_that_of_all_rankers(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    model = AveragedOASIS(n_steps=400, n_rankers=3, random_state=1, trace_points=1).fit(X, y)
    alone = [ranker.curve_["loss_rate"][-1] for ranker in rankers(rows, 3, 400, 1, trace_points=1)]
    assert np.isclose(model.curve_["loss_rate"][-1], np.mean(alone))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_mean_is_summed_in_double_precision_and_has_the_dtype_of_the_matrices(dtype: str) -> None:
    # in single precision 2^24 + 1 is 2^24, and the two ones are lost
    values = [2.0**24, 1.0, 1.0, -(2.0**24)]
    mean = average_matrices(np.full((2, 2), value, dtype=dtype) for value in values)
    assert mean.dtype == dtype
    np.testing.assert_array_equal(mean, np.full((2, 2), 0.5))


def test_matrices_to_average_are_checked() -> None:
    np.testing.assert_array_equal(average_matrices(iter([np.eye(2), 3 * np.eye(2)])), 2 * np.eye(2))
    with pytest.raises(ValueError, match="at least one"):
        average_matrices([])
    with pytest.raises(ValueError, match="one shape"):
        average_matrices([np.eye(2), np.eye(3)])


@pytest.mark.parametrize("n_rankers", [0, 1.5])
def test_rankers_out_of_range_are_named(rows: tuple[np.ndarray, np.ndarray], n_rankers: float) -> None:
    with pytest.raises(ValueError, match="n_rankers"):
        AveragedOASIS(n_rankers=n_rankers).fit(*rows)


def test_given_triplets_are_refused(rows: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(TypeError, match="accepts labels"):
        AveragedOASIS().fit_triplets(rows[0], [[0, 4, 1]])
