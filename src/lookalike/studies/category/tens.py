"""Table 4 over many random halves of the classes: how much the papers' comparison depends on its classes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Margin, Table
from lookalike.exhibits.printed import MISSING
from lookalike.exhibits.registry import exhibit
from lookalike.studies.category.contrasts import CLASSES
from lookalike.studies.category.precision import TABLE_METRICS
from lookalike.studies.category.section import OF_HALVES
from lookalike.studies.category.study import JMLR, PRINTED_TABLE, CategoryStudy, Subset
from lookalike.studies.metrics import rows_in

INTERVAL = f"95%, of a {CLASSES}"
TITLES = {"map": "mAP", "p@1": "top 1", "p@10": "top 10", "p@50": "top 50"}


@exhibit(
    OF_HALVES,
    title="Table 4 over many sets of classes",
    needs=("results", "fits", "contrasts"),
    when=lambda study: study.halves is not None,
)
def many_tens(study: CategoryStudy) -> Table:
    """How precise each method is on many random sets of classes: the mean of each number over the sets, in percent."""
    subset = study.parts[0]
    frame = pd.DataFrame([_record(study, subset, method) for method in _shown(study)])
    heads = {"method": "", "map_cell": "mAP", "range_cell": "lowest to highest set", "map_printed": "mAP, paper"}
    for metric in list(TABLE_METRICS)[1:]:
        heads |= {f"{metric}_cell": TITLES[metric], f"{metric}_printed": f"{TITLES[metric]}, paper"}
    heads |= {"gap_cell": "OASIS minus it, mAP", "gap_printed": "paper", "ahead_cell": "sets with OASIS ahead"}
    titles = {"method": {method: study.title_of(method) for method in _shown(study)}}
    n_sets, n_folds = len(study.classes_of_half), study.splits.folds
    n_classes = len(set().union(*study.classes_of_half.values()))
    halved = f"the {n_classes} classes are halved at random {n_sets // 2} times, so that each class is in half of them"
    notes = (
        f"{n_sets} sets: {halved}. Each set has {n_folds} folds of its own.",
        "In brackets are 95% intervals of a jackknife that leaves out one class at a time. They speak of halves of "
        f"these {n_classes} classes, not of Caltech-256.",
        f"The paper's numbers are of one set of {subset.n_classes} other classes.",
    )
    margins, numbers = tuple(_margins(study, subset)), frozenset(heads) - {"method"}
    return Table(frame, heads=heads, titles=titles, numbers=numbers, notes=notes, margins=margins)


def _shown(study: CategoryStudy) -> list[str]:
    """Return the methods in the order of Table 4, each with its run to the minimum behind it."""
    return [*study.with_minima(study.methods), *study.variants]


def _printed(study: CategoryStudy, subset: Subset) -> dict[tuple[str, str], float]:
    """Numbers that JMLR prints for as many classes, in percent, by method and metric."""
    rows = study.printed_in(PRINTED_TABLE[JMLR], JMLR)
    rows = rows[rows["setting"] == subset.printed.get(JMLR, "")]
    return {(row.method, row.metric): row.value for row in rows_in(rows.dropna(subset="value"))}


def _of_sets(study: CategoryStudy, subset: Subset, method: str, metric: str) -> pd.Series:
    """Return a number of each set, in percent."""
    name, _, k = metric.partition("@")
    if not k:
        return 100 * study.values(subset, method, name)
    curves = study.traced(subset, method, "p@k")
    return 100 * curves.T[float(k)].dropna()


def _record(study: CategoryStudy, subset: Subset, method: str) -> dict[str, object]:
    """One row of the table."""
    printed = _printed(study, subset)
    record: dict[str, object] = {"method": method}
    for metric in TABLE_METRICS:
        values, known = _of_sets(study, subset, method, metric), printed.get((method, metric), math.nan)
        record |= {metric: values.mean(), f"{metric}_cell": f"{values.mean():.1f}" if len(values) else MISSING}
        record |= {f"{metric}_printed": "" if math.isnan(known) else f"{known:.0f}"}
        if metric == "map" and len(values):
            record |= {"lowest": values.min(), "highest": values.max()}
            record |= {"range_cell": f"{values.min():.1f} to {values.max():.1f}", "n_sets": len(values)}
    rows = study.contrasts.intervals(subset.id, "map", "oasis", method) if method != "oasis" else []
    if rows and rows[0].n:
        row = rows[0]
        gaps = _of_sets(study, subset, "oasis", "map") - _of_sets(study, subset, method, "map")
        record |= {"gap": row.mean, "low": row.low, "high": row.high, "p": row.p, "ahead": int((gaps > 0).sum())}
        record |= {"gap_cell": f"{row.mean:+.1f} [{row.low:+.1f}, {row.high:+.1f}]"}
        record |= {"gap_printed": "" if math.isnan(row.printed) else f"{row.printed:+.0f}"}
        record |= {"ahead_cell": f"{record['ahead']} of {len(gaps.dropna())}"}
    return record


def _margins(study: CategoryStudy, subset: Subset) -> Iterator[Margin]:
    """Yield OASIS minus each other method."""
    methods = [method for method in _shown(study) if method not in study.variants]
    ours = {method: _of_sets(study, subset, method, "map").mean() for method in methods}
    printed = {method: value for (method, metric), value in _printed(study, subset).items() if metric == "map"}
    for method in methods:
        rows = study.contrasts.intervals(subset.id, "map", "oasis", method)
        if method != "oasis" and rows and rows[0].n:
            yield margin(study, rows, ours, printed, setting=subset.title, metric="mAP", interval=INTERVAL)
