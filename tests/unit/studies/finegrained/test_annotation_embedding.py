"""Embeddings from categories: they tell unseen images of the categories apart better than the features do."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.studies.finegrained.annotation_embedding import AnnotationEmbedding


def made(n: int = 200, n_classes: int = 4, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    # the differences between categories are small beside what all images vary in
    nuisance = random.normal(size=(n, 3)) @ random.normal(size=(3, 20)) * 4
    first = random.normal(size=(n_classes, 20))[y] + nuisance + random.normal(size=(n, 20)) * 0.3
    second = random.normal(size=(n_classes, 50))[y] * 1e-3 + random.normal(size=(n, 50)) * 1e-3
    return {"first": first.astype(np.float32), "second": second.astype(np.float32)}, y


def purity(vectors: np.ndarray, y: np.ndarray) -> float:
    distances = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return float((y[distances.argmin(axis=1)] == y).mean())


def test_unseen_rows_are_told_apart_better_than_by_the_features() -> None:
    features, y = made()
    seen, unseen = np.arange(100), np.arange(100, 200)
    vectors = AnnotationEmbedding(10, random_state=0).fit(features, seen, y[seen]).embed(features, unseen)
    assert purity(features["first"][unseen], y[unseen]) < 0.9
    assert vectors["lda"].shape == (200, 3)
    assert vectors["logistic"].shape == (200, 4)
    for name in ("lda", "logistic"):
        assert purity(vectors[name][unseen], y[unseen]) > 0.97
        assert np.isnan(vectors[name][seen]).all()
    np.testing.assert_allclose((vectors["logistic"][unseen] ** 2).sum(axis=1), 1, rtol=1e-5)


def test_neither_units_nor_order_of_features_matter() -> None:
    features, y = made()
    rows = np.arange(100)
    first = AnnotationEmbedding(5, random_state=0).fit(features, rows, y[rows]).embed(features, rows)
    other = {"second": features["second"] * 1000, "first": features["first"]}
    second = AnnotationEmbedding(5, random_state=0).fit(other, rows, y[rows]).embed(other, rows)
    distances = [np.linalg.norm(found["lda"][:9, None] - found["lda"][None, :9], axis=2) for found in (first, second)]
    np.testing.assert_allclose(distances[0], distances[1], rtol=1e-3, atol=1e-3)


def test_blocks_do_not_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    features, y = made(60)
    model = AnnotationEmbedding(5, random_state=0).fit(features, np.arange(60), y)
    whole = model.embed(features, np.arange(60))["lda"]
    monkeypatch.setattr("lookalike.studies.finegrained.annotation_embedding.EMBEDDED_ROWS", 7)
    np.testing.assert_allclose(model.embed(features, np.arange(60))["lda"], whole, rtol=1e-4, atol=1e-5)


def test_one_category_is_refused() -> None:
    features, _ = made(10)
    with pytest.raises(ValueError, match="two of them"):
        AnnotationEmbedding().fit(features, np.arange(10), np.zeros(10))
