"""The one exhibit of the study of embeddings."""

from __future__ import annotations

import pandas as pd

from lookalike.exhibits.model import Table
from lookalike.exhibits.printed import plus_minus
from lookalike.exhibits.registry import exhibit
from lookalike.studies.embeddings.study import HALVES, EmbeddingsStudy


@exhibit("learning/embeddings", title="Then and now: embeddings of today", needs=("results", "contrasts"))
def then_and_now(study: EmbeddingsStudy) -> Table:
    """What learning adds to a network's embeddings: mAP of test images of classes learned from, and of new classes."""
    heads = {"method": ""}
    for half, title in HALVES.items():
        heads |= {f"{half}_cell": f"mAP, {title}, %", f"{half}_gap_cell": f"minus cosine, {title}"}
    numbers = frozenset(heads) - {"method"}
    titles = {"method": {method: study.title_of(method) for method in study.all_methods()}}
    notes = (
        "Each halving of the classes is a fold: half of them are learned from, and the test images of each half query "
        "the others of their half. Learners take rows of unit length and choose on training images of learned classes.",
        "LDA: cosine of its transformed rows less their training mean, covariance shrunk by scikit-learn's rule.",
        "Logistic regression: cosine of its decision values.",
        "In brackets are 95% intervals of a corrected t-test over halvings. No paper has this table.",
    )
    frame = pd.DataFrame([_record(study, method) for method in study.all_methods()])
    return Table(frame, heads=heads, titles=titles, numbers=numbers, notes=notes)


def _record(study: EmbeddingsStudy, method: str) -> dict[str, object]:
    """One row of the table."""
    record: dict[str, object] = {"method": method, "n_folds": study.halvings}
    for half in HALVES:
        values = 100 * study.values(half, method)
        mean, std = float(values.mean()), float(values.std(ddof=1))
        record |= {half: mean, f"{half}_std": std, f"{half}_cell": plus_minus(mean, std, ".1f")}
        for row in study.contrasts.intervals(half, "map", method, "cosine"):
            record |= {f"{half}_gap": row.mean, f"{half}_low": row.low, f"{half}_high": row.high}
            record |= {f"{half}_gap_cell": f"{row.mean:+.1f} [{row.low:+.1f}, {row.high:+.1f}]"}
    return record
