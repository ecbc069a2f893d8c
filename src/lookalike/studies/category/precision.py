"""How precise the compared methods are: JMLR Table 4 and Figures 6 and 8, draft Table 1 and Figures 4 and 5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from lookalike.exhibits.model import Axis, Figure, Line, Panel, Table
from lookalike.exhibits.printed import PARTITIONS, STAR, Cell, beside_print, plus_minus
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, Look, looks_of
from lookalike.exhibits.words import listed
from lookalike.ranking.statistics import summarise
from lookalike.studies.category import curves
from lookalike.studies.category.comparison import comparison_below, margins
from lookalike.studies.category.study import DRAFT, K_MAX, PRINTED_TABLE, CategoryStudy, Subset
from lookalike.studies.metrics import rows_in, select

TABLE_METHODS = ("oasis", "mcml", "lego", "lmnn", "euclidean")
"""Columns of these tables, in their order."""
TABLE_METRICS = {"map": "Mean avg. prec.", "p@1": "Top 1 prec.", "p@10": "Top 10 prec.", "p@50": "Top 50 prec."}
EQUAL_METRICS = {f"{metric}, equal": f"{title}, equal settings" for metric, title in TABLE_METRICS.items()}
"""The same of methods that all choose from as many settings."""
BEST = dict.fromkeys((*TABLE_METRICS, *EQUAL_METRICS), max)
DRAFTS_SIGN = (
    "The draft names no ± in its tables, and standard errors in its figures. JMLR prints the same numbers as standard "
    "deviations over folds, and so they are read here."
)


@exhibit(
    "oasis-jmlr-2010/table4",
    "oasis-2009-draft/table1",
    title="Precision of the compared methods",
    needs=("metrics", "fits"),
    optional=("contrasts",),
    shows=("methods", "equal", "minima"),
)
def main_table(study: CategoryStudy) -> Table:
    """How precise each method is: mean average precision (mAP) and precision at top 1, 10 and 50."""
    cells = pd.concat([main_cells(study), equal_cells(study)], ignore_index=True)
    named = {method: study.title_of(method) for method in dict.fromkeys(cells["method"])}
    titles = {"metric": TABLE_METRICS | EQUAL_METRICS, "method": named, "subset": study.titles}
    others = [method for method in named if method != "oasis"]
    below = comparison_below(study, others) if study.has("contrasts") and study.can_compare() else None
    orders = [] if study.synthetic else [study.order_beside_print(subset, study.paper) for subset in study.parts]
    sign = [DRAFTS_SIGN] if study.paper == DRAFT else []
    notes = (*filter(None, orders), *sign, *protocol_notes(study), *(() if below is None else below.notes))
    cells_of_methods = partial(Table, cells, ("metric",), "method", "subset", compared="method", best=BEST)
    return cells_of_methods(titles=titles, notes=notes, below=below, margins=margins(study))


@exhibit(
    "oasis-jmlr-2010/fig6",
    "oasis-2009-draft/fig4",
    title="Precision at top k",
    needs=("metrics", "fits"),
    shows=("methods",),
)
def precision_at_k(study: CategoryStudy) -> Figure:
    """How precise each method is among the first k neighbours of a test image."""
    parts = [_precision_rows(study, subset, study.methods) for subset in study.parts]
    cells = main_cells(study)
    cells = cells[cells["is_printed"] & cells["method"].isin(TABLE_METHODS) & (cells["metric"] != "map")]
    parts.append(_printed_precision(study, cells))
    looks = looks_of(study.methods)

    def draw(subset: Subset, own: pd.DataFrame) -> Panel:
        drawn = []
        for method, look in looks.items():
            names = (subset, method, study.title_of(method), look, "k", "precision")
            drawn += [curves.series(*names), curves.printed_points(*names)]
        chance = own.loc[own["series"] == "chance", "precision"]
        lines = [Line("chance", float(level), Look(BLACK, "", "--")) for level in chance]
        last = K_MAX if own["k"].isna().all() else own["k"].max()
        x = Axis("Number of neighbours k", low=-2, high=last + 1, text="k = {:.0f}")
        y = Axis("Precision at top k", low=0, high=curves.top(own["high"]), text="{:.3f}")
        return curves.panel(study, subset, own, drawn, lines, x=x, y=y, why="not run here")

    note = f"The curves show at most {K_MAX} neighbours; the paper does not say how many its own figure shows."
    return curves.figure(study, pd.concat(parts, ignore_index=True), draw, cells, (note,))


@exhibit(
    "oasis-jmlr-2010/fig8",
    "oasis-2009-draft/fig5",
    title="Symmetric variants of OASIS",
    needs=("metrics", "fits"),
    shows=("oasis", "variants"),
    when=lambda study: study.variants,
)
def variants_at_k(study: CategoryStudy) -> Figure:
    """Whether a symmetric W helps: precision of symmetric variants minus that of OASIS among the first k neighbours."""
    parts = [_variant_rows(study, subset, method) for subset, method in product(study.parts, study.variants)]
    looks = looks_of(study.variants)

    def draw(subset: Subset, own: pd.DataFrame) -> Panel:
        drawn = [
            curves.series(subset, method, study.title_of(method), look, "k", "difference")
            for method, look in looks.items()
        ]
        x = Axis("Number of neighbours k", low=-2, high=K_MAX + 1, text="k = {:.0f}")
        y = Axis("Precision minus that of OASIS", text="{:+.3f}")
        return curves.panel(study, subset, own, drawn, [Line("OASIS", 0, Look(BLACK, "", "--"))], x=x, y=y)

    frame = curves.joined(parts).rename(columns={"step": "k"})
    notes = ("Differences are taken fold by fold. Error bars are of these, and not of the precision of each method.",)
    return curves.figure(study, frame, draw, notes=notes)


def _variant_rows(study: CategoryStudy, subset: Subset, method: str) -> pd.DataFrame:
    """Return the precision of a variant minus that of OASIS at every k that is shown."""
    own, oasis = (study.curves(subset, name, "p@k") for name in (method, "oasis"))
    if own is None or oasis is None or {(subset.id, name) for name in (method, "oasis")} & set(study.not_converged):
        return curves.joined([])
    gaps = (own - oasis).loc[:K_MAX].rename_axis("x").reset_index().melt("x").dropna(subset="value")
    return curves.mean_curve(subset, method, gaps, "difference")


def main_cells(study: CategoryStudy) -> pd.DataFrame:
    """Every cell of JMLR Table 4 or draft Table 1, ours beside the paper's, in percent."""
    further = [method for method in study.methods if method not in TABLE_METHODS]
    columns_of_methods = study.with_minima((*TABLE_METHODS, *further))
    rows = [
        (subset.id, subset.n_classes, study.setting_of(subset), metric, method)
        for subset, metric, method in product(study.parts, TABLE_METRICS, columns_of_methods)
    ]
    columns = ["subset", "n_classes", "setting", "metric", "method"]
    ours = pd.DataFrame(rows, columns=columns).merge(summary_of(study), on=["subset", "metric", "method"], how="left")
    cells = beside_print(ours, study.printed_in(PRINTED_TABLE[study.paper]))
    cells["unit"] = "percent"
    fraction = study.paper == DRAFT
    cells["ours_cell"] = [
        study.without_number(row["subset"], row["method"])
        if math.isnan(row["ours"])
        else percent_cell(row["ours"], row["ours_std"], fraction)
        for row in cells.to_dict("records")
    ]
    cells["printed_cell"] = [_printed_cell(row, fraction) for row in cells.to_dict("records")]
    return cells


def equal_cells(study: CategoryStudy) -> pd.DataFrame:
    """Return the same cells of the equal protocol, where a subset runs it; a method without a twin is its own."""
    summary = summary_of(study)
    parts = [
        summary[(summary["subset"] == subset.id) & (summary["method"] == study.twins.get(method, method))].assign(
            method=method, n_classes=subset.n_classes
        )
        for subset in study.parts
        for method in study.methods
        if set(study.twins.values()) & set(subset.methods)
    ]
    cells = pd.concat([summary.iloc[:0], *parts], ignore_index=True)
    ours = [percent_cell(row.ours, row.ours_std, study.paper == DRAFT) for row in rows_in(cells)]
    cells = cells.assign(metric=cells["metric"] + ", equal", unit="percent", is_printed=False, printed=math.nan)
    return cells.assign(ours_cell=ours, printed_cell="")


def protocol_notes(study: CategoryStudy) -> list[str]:
    """Say what each method chooses from in the paper's protocol and in the equal one."""
    if not any(set(study.twins.values()) & set(subset.methods) for subset in study.parts):
        return []
    counts = {method: study.n_settings(study.twins.get(method, method)) for method in study.methods}
    learned = [_choice(study, method) for method, n_settings in counts.items() if n_settings > 1]
    equal = " or ".join(map(str, sorted({*counts.values()} - {1})))
    return [
        f"Rows without a word on settings are of the paper's protocol: {listed(learned)}.",
        f"With equal settings each learned method chooses one of {equal} settings, values of its parameter and stops, "
        "on the same validation images.",
    ]


def _choice(study: CategoryStudy, method: str) -> str:
    """``LEGO chooses one value of 3 and its stop``."""
    spec, title = study.spec(method), study.title_of(method)
    n_values = math.prod(map(len, spec.select.values()))
    chosen = [f"one value of {n_values}"] if n_values > 1 else []
    chosen += ["its stop"] if spec.trace is not None and spec.trace.stop else []
    fixed = f"has C = {study.traced_aggressiveness:g} and " if method == "oasis" and n_values == 1 else ""
    return f"{title} {fixed}chooses {' and '.join(chosen)}" if chosen else f"{title} runs to its own stop"


def percent_cell(mean: float, std: float, fraction: bool) -> str:
    """A percentage as the papers print it: ``33 ± 1.6`` (JMLR), or ``0.33 ± 0.016`` as a fraction (draft)."""
    scale, digits = (100, 2) if fraction else (1, 0)
    return plus_minus(mean / scale, std / scale, f".{digits}f", f".{digits + 1}f")


def _printed_cell(row: Cell, fraction: bool) -> str:
    """As printed; ``*`` where the learner did not converge, "" where the paper has no such cell."""
    if not row["is_printed"]:
        return ""
    return STAR if math.isnan(row["printed"]) else percent_cell(row["printed"], row["printed_std"], fraction)


def summary_of(study: CategoryStudy) -> pd.DataFrame:
    """Mean and standard deviation over folds, ``ours`` and ``ours_std`` in percent, of `TABLE_METRICS`."""
    parts = []
    for metric in TABLE_METRICS:
        name, _, k = metric.partition("@")
        rows = select(study.numbers, metric="p@k", x=float(k)) if k else select(study.numbers, metric=name)
        parts.append(summarise(rows, by=("subset", "method")).assign(metric=metric))
    summary = pd.concat(parts, ignore_index=True)
    ended = [key not in study.not_converged for key in zip(summary["subset"], summary["method"], strict=True)]
    summary = summary.assign(ours=100 * summary["mean"], ours_std=100 * summary["std"])[ended]
    return summary[["subset", "method", "metric", "ours", "ours_std", "n_folds"]]


def _precision_rows(study: CategoryStudy, subset: Subset, methods: Sequence[str]) -> pd.DataFrame:
    """Mean precision of each method at every k that is shown, and chance: (n_test - 1) / (n_classes n_test - 1)."""
    n_test = study.splits.test
    n_gallery = subset.n_classes * n_test - 1
    k_max = max(2, min(K_MAX, n_gallery)) if subset.n_classes else K_MAX
    ended = [method for method in methods if (subset.id, method) not in study.not_converged]
    rows = select(study.numbers, metric="p@k", subset=subset.id, method=ended)
    summary = summarise(rows[rows["x"] <= k_max], by=("method", "x"))
    mean, sem = summary["mean"], summary["sem"]
    curves = pd.DataFrame({"subset": subset.id, "series": summary["method"], "k": summary["x"], "precision": mean})
    curves = curves.assign(low=mean - sem, high=mean + sem, error=sem, error_is="s.e.m.", n_folds=summary["n_folds"])
    if not subset.n_classes:
        return curves
    chance = {"subset": subset.id, "series": "chance", "precision": (n_test - 1) / n_gallery, "error_is": ""}
    return pd.concat([curves, pd.DataFrame([chance | {"n_folds": 0}])], ignore_index=True)


def _printed_precision(study: CategoryStudy, cells: pd.DataFrame) -> pd.DataFrame:
    """Printed precision at 1, 10 and 50 of the subsets that may be held against print, as fractions."""
    comparable = [subset.id for subset in study.parts if not subset.why_not_comparable]
    rows = cells[cells["subset"].isin(comparable) & cells["method"].isin(study.methods) & cells["printed"].notna()]
    # standard deviations are printed, and all error bars are standard errors
    value, sem = rows["printed"] / 100, rows["printed_std"] / 100 / math.sqrt(PARTITIONS)
    k = rows["metric"].str.removeprefix("p@").astype(np.float64)
    points = pd.DataFrame(
        {"subset": rows["subset"], "series": rows["method"] + ", printed", "k": k, "precision": value}
    )
    return points.assign(low=value - sem, high=value + sem, error=sem, error_is="s.e.m.", n_folds=0)
