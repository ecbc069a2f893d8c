"""What the study of embeddings contrasts: each method minus the cosine, which learns nothing, on both halves."""

from __future__ import annotations

import numpy as np

from lookalike.exhibits.contrasts import Contrast
from lookalike.ranking.comparison import corrected_t_test
from lookalike.studies.embeddings.study import HALVES, EmbeddingsStudy


def contrasts(study: EmbeddingsStudy) -> list[Contrast]:
    """Return mAP of each method minus that of the cosine, in points, with the corrected t-test over halvings."""
    rows = []
    for half in HALVES:
        for method in study.all_methods():
            gaps = 100 * (study.values(half, method) - study.values(half, "cosine"))
            if method != "cosine":
                test = corrected_t_test(gaps.to_numpy(dtype=np.float64), study.sizes.train, study.sizes.test)
                ends = (test.mean, test.low, test.high, test.p)
                rows.append(Contrast(half, "map", method, "cosine", *ends, n=len(gaps), interval="folds"))
    return rows
