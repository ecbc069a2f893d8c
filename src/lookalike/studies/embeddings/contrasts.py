"""What the study of embeddings contrasts: each method minus the cosine, which learns nothing, on both halves."""

from __future__ import annotations

from lookalike.exhibits.contrasts import Contrast, over_folds
from lookalike.exhibits.results import select
from lookalike.studies.contrasts import Compared, differences
from lookalike.studies.embeddings.study import HALVES, EmbeddingsStudy


def contrasts(study: EmbeddingsStudy) -> list[Contrast]:
    """Return mAP of each method minus that of the cosine, in points, with the corrected t-test over halvings."""
    pairs = [(method, "cosine") for method in study.titles_of("method") if method != "cosine"]
    compared = (Compared(half, "map", pairs, select(study.results, setting=half)) for half in HALVES)
    sizes = study.sizes.train, study.sizes.test
    return list(differences(study, compared, lambda row, gaps: [over_folds(row, gaps, *sizes)]))
