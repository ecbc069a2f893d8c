"""Simulated rows have the sizes asked for, and timings say what was timed and what was not."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners import TFIDF
from lookalike.studies.landmark.dimensions import COLUMNS, simulated_rows, time_learners
from lookalike.studies.time_limit import TimeLimitReachedError

SPECS = {
    "soml-tg": {"learner": "SOMLTG", "parameters": {"regularization": 1e-5}},
    "oasis-diagonal": {"learner": "DiagonalOASIS", "parameters": {"n_steps": 500}},
}


@pytest.mark.parametrize(("n_features", "nonzeros"), [(400, 200), (5_000, 300), (1_000_000, 2_000)])
def test_rows_have_the_words_asked_for(n_features, nonzeros):
    rows = simulated_rows(n_features, 60, nonzeros, seed=1)
    assert rows.shape == (60, n_features)
    assert rows.dtype == np.float64
    assert rows.has_sorted_indices
    assert rows.nnz / 60 == pytest.approx(nonzeros, rel=0.03)
    assert (rows.data > 0).all()
    np.testing.assert_allclose(sp.linalg.norm(rows, axis=1), 1)
    # frequent words are in all images, most of the others in few
    share = np.bincount(rows.indices, minlength=n_features) / 60
    assert share.max() == 1.0
    assert np.median(share[share > 0]) < 0.6
    assert abs(np.corrcoef(np.arange(n_features), share)[0, 1]) < 0.2, "frequent words have random numbers"


def test_rows_follow_from_their_seed():
    first, again, other = (simulated_rows(1000, 10, 50, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.toarray(), again.toarray())
    assert not np.array_equal(first.toarray(), other.toarray())


def timed(learners, dimensions, **changes):
    settings = {"n_positives": 3, "n_negatives": 10, "nonzeros": 40, "repeats": 2, "seed": 3, **changes}
    return time_learners(dict.fromkeys(dimensions, learners), **settings)


def test_every_fit_has_a_row():
    table = timed(SPECS, [2000, 500])
    assert list(table.columns) == list(COLUMNS)
    assert table[["n_features", "learner", "repeat"]].to_numpy().tolist() == [
        [n_features, name, repeat] for n_features in (500, 2000) for name in SPECS for repeat in (0, 1)
    ]
    assert set(table["data"]) == {"simulated"}
    assert set(table["reason"]) == {""}
    assert set(table.loc[table.learner == "soml-tg", "n_triplets"]) == {3 * 2 * 10}
    assert set(table.loc[table.learner == "oasis-diagonal", "n_triplets"]) == {500}
    assert (table["cpu_seconds"] > table["pair_cpu_seconds"]).all(), "the products of pairs are part of a fit"
    assert (table["pair_cpu_seconds"] > 0).all()
    assert (table["cpu_seconds"] > 0).all()
    assert table["nonzeros"].between(36, 44).all()


def test_a_small_codebook_has_half_of_its_words_in_an_image():
    assert timed(SPECS, [60], repeats=1)["nonzeros"].between(26, 34).all()


class Slow(TFIDF):
    """Takes longer with more features."""

    def fit_triplets(self, X, triplets):
        if X.shape[1] > 500:
            while True:
                pass
        return super().fit_triplets(X, triplets)


class Deaf(TFIDF):
    """Ends late, and cannot be broken off before, like a compiled call."""

    def fit_triplets(self, X, triplets):
        end = time.process_time() + 0.15
        while time.process_time() < end:
            try:
                while time.process_time() < end:
                    pass
            except TimeLimitReachedError:
                continue
        return super().fit_triplets(X, triplets)


@pytest.fixture
def made_up_learners(monkeypatch):
    known = {"Slow": Slow, "Deaf": Deaf, "TFIDF": TFIDF}
    monkeypatch.setattr("lookalike.studies.fits.learner_class", known.__getitem__)
    monkeypatch.setattr("lookalike.studies.landmark.dimensions.warm_up", lambda name: None)


def test_a_learner_past_its_time_is_not_run_with_more_words(made_up_learners):
    specs = {"slow": {"learner": "Slow"}, "tfidf": {"learner": "TFIDF"}}
    table = timed(specs, [200, 1000, 2000, 4000], time_limit=0.1)
    assert table["learner"].value_counts().to_dict() == {"tfidf": 8, "slow": 5}
    slow = table[table.learner == "slow"]
    assert slow["n_features"].tolist() == [200, 200, 1000, 2000, 4000]
    assert slow["seconds"].isna().tolist() == [False, False, True, True, True]
    assert slow["reason"].tolist() == [
        "",
        "",
        "the fit took more than 0.1 s of processor time",
        *["took more than 0.1 s of processor time at 1000 words"] * 2,
    ]
    assert table.loc[table.learner == "tfidf", "pair_cpu_seconds"].isna().all()
    assert table.loc[table.learner == "tfidf", "seconds"].notna().all()


@pytest.mark.parametrize(("own", "shared"), [(0.1, 3600.0), (3600.0, 0.1), (0.1, None), (None, 0.1)])
def test_the_smaller_limit_counts(made_up_learners, own, shared):
    spec = {"learner": "Slow"} | ({} if own is None else {"time_limit": own})
    table = timed({"slow": spec}, [1000], time_limit=shared)
    assert table["reason"].tolist() == ["the fit took more than 0.1 s of processor time"]


def test_a_fit_that_ends_after_its_time_keeps_its_number_and_is_the_last(made_up_learners):
    table = timed({"deaf": {"learner": "Deaf", "time_limit": 0.05}}, [200, 400])
    assert table["n_features"].tolist() == [200, 400]
    assert table["seconds"].iloc[0] > 0.1
    assert np.isnan(table["seconds"].iloc[1])
    assert table["reason"].tolist() == ["", "took more than 0.05 s of processor time at 200 words"]
