"""LMNN on images rotated to all their principal components, which the papers do first (JMLR section 5.3.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookalike.learners.lmnn import LMNN
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.settings import Rotation
from lookalike.studies.metrics import metrics_frame


def numbers_of(fold: Fold, settings: Rotation) -> pd.DataFrame:
    """Rank the test images by LMNN after as many iterations on the images and on the rotated images."""
    (X, X_test), train, test = fold.rows("train", "test"), fold.images["train"], fold.images["test"]
    _, components = np.linalg.eigh(np.cov(X.toarray(), rowvar=False))
    rows = []
    for method, basis in (("lmnn", np.eye(len(components))), ("rotated", components)):
        model = LMNN(solver="active_set", tol=0.0, max_iter=settings.iterations).fit(X @ basis, train.labels)
        rankings = rank_leave_one_out(model, X_test @ basis, test.labels, n_neighbours=0)
        rows.append({"method": method, "value": rankings.mean_average_precision()})
    table = pd.DataFrame(rows).assign(metric="map of rotated images", subset=fold.subset, fold=fold.number)
    return metrics_frame(table)
