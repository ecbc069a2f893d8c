"""What the study of embeddings contrasts: each method minus the cosine, which learns nothing, on both halves."""

from __future__ import annotations

from lookalike.exhibits.contrasts import Contrast, over_folds, pairwise_gaps
from lookalike.exhibits.results import select
from lookalike.studies.embeddings.study import HALVES, EmbeddingsStudy


def contrasts(study: EmbeddingsStudy) -> list[Contrast]:
    """Return mAP of each method minus that of the cosine, in points, with the corrected t-test over halvings."""
    pairs = [(method, "cosine") for method in study.titles_of("method") if method != "cosine"]
    return [
        over_folds(Contrast(half, "map", first, second), 100 * gaps, study.sizes.train, study.sizes.test)
        for half in HALVES
        for first, second, gaps in pairwise_gaps(select(study.results, setting=half), ["repeat"], pairs)
    ]
