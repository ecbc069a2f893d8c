"""TF-IDF learns nothing: its similarity is the inner product."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from made_triplets import landmark_like

from lookalike.learners import TFIDF


def test_its_similarity_is_the_inner_product() -> None:
    X, triplets = landmark_like()
    model = TFIDF().fit_triplets(X, triplets)
    assert model.w_.tolist() == [1.0] * 120
    np.testing.assert_allclose(model.similarity(X[:4], X), (X[:4] @ X.T).toarray(), atol=1e-15)
    assert model.sparsity() == 0
    Z = model.transform(X)
    assert sp.issparse(Z)
    np.testing.assert_array_equal(Z.toarray(), X.toarray())


def test_it_needs_no_labels_and_checks_triplets() -> None:
    model = TFIDF().fit(np.eye(3))
    assert model.metric_ == "inner_product"
    with pytest.raises(ValueError, match="0 to 2"):
        model.fit_triplets(np.eye(3), [[0, 1, 3]])
