"""Is OASIS better than a method? The differences of mAP with their intervals, below the papers' tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pandas as pd

from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Margin, Table
from lookalike.exhibits.printed import MISSING, p_value
from lookalike.studies.category.section import MINIMUM_OF
from lookalike.studies.category.study import PRINTED_TABLE, CategoryStudy, Subset

HEADING = "Methods compared: OASIS minus method, in points of mAP (1 point = 0.01)"
RULE = (
    "One 95% interval is of the corrected resampled t-test over partitions (Nadeau and Bengio 2003), the other of a "
    "bootstrap over images; p is of the t-test."
)
INTERVAL = "95%, the wider of a t-test over folds and a bootstrap over images"
T_INTERVAL = "95%, of a t-test over folds"
EQUAL_INTERVAL = f"{T_INTERVAL}, with equal settings"
SHOWN = {
    "method": "",
    "difference_cell": "difference",
    "t_cell": "95% interval, t",
    "bootstrap_cell": "95% interval, bootstrap",
    "p_cell": "p",
}
EQUAL = {"equal_cell": "difference, equal settings", "equal_p": "p, equal settings"}
"""Further ones where methods run with equal settings too."""
PRINTED = {"printed_cell": "printed difference"}
"""Further ones where the paper at hand prints both methods."""


def comparison_below(study: CategoryStudy, methods: Sequence[str]) -> Table:
    """Return the comparison of a table's own columns, which stands below it: a block for each subset."""
    # of images made by code no difference can be held against print
    is_printed = study.paper in PRINTED_TABLE and not study.synthetic
    records = [
        {"block": study.block_title(subset), "method": method}
        | _gap(study, subset, method)
        | _equal_gap(study, subset, method)
        | (_printed_gap(study, subset, method) if is_printed else {})
        for subset in study.parts
        for method in methods
        # a method that runs on other subsets alone, or was not asked for, has no difference here
        if method in subset.methods
    ]
    frame, heads = pd.DataFrame(records), SHOWN | (EQUAL if study.twins else {}) | (PRINTED if is_printed else {})
    titles = {"method": {method: study.title_of(method) for method in methods}}
    numbers = frozenset({*SHOWN, *EQUAL, "printed_cell"} - {"method"})
    equal = ["With equal settings the interval is of the t-test."] if study.twins else []
    notes = (RULE, *equal)
    return Table(frame, heads=heads, blocks="block", titles=titles, numbers=numbers, heading=HEADING, notes=notes)


def _gap(study: CategoryStudy, subset: Subset, method: str) -> dict[str, str]:
    """Cells of OASIS minus a method; where there is no difference the first is ``*`` or ``-``."""
    rows = oasis_minus(study, subset, method)
    if not rows:
        failed = next((side for side in (method, "oasis") if (subset.id, side) in study.not_converged), method)
        nothing = dict.fromkeys(("t_cell", "bootstrap_cell", "p_cell"), "")
        return {"difference_cell": study.without_number(subset.id, failed), **nothing}
    by_t, by_bootstrap = rows
    return {
        "difference_cell": f"{by_t.mean:+.1f}",
        "t_cell": _ends(by_t),
        "bootstrap_cell": _ends(by_bootstrap),
        "p_cell": p_value(by_t.p),
    }


def _ends(row: Contrast) -> str:
    return MISSING if math.isnan(row.low) else f"{row.low:+.1f} to {row.high:+.1f}"


def oasis_minus(study: CategoryStudy, subset: Subset, method: str) -> list[Contrast]:
    """OASIS minus a method in mAP, over folds and over images; empty where it has no such intervals."""
    rows = study.contrasts.intervals(subset.id, "map", "oasis", method)
    return rows if len(rows) == 2 else []


def _equal_gap(study: CategoryStudy, subset: Subset, method: str) -> dict[str, str]:
    """OASIS minus a method where both have equal settings, by a t-test; "" where they have not."""
    rows = _equal_rows(study, subset, method) if method in study.methods and method != "oasis" else []
    if not rows:
        return dict.fromkeys(EQUAL, "")
    return {"equal_cell": f"{rows[0].mean:+.1f} ({_ends(rows[0])})", "equal_p": p_value(rows[0].p)}


def _equal_rows(study: CategoryStudy, subset: Subset, method: str) -> list[Contrast]:
    """Return OASIS minus a method where both have equal settings, called by their own names."""
    names = (study.twins.get(name, name) for name in ("oasis", method))
    rows = study.contrasts.intervals(subset.id, "map", *names) if "oasis" in study.twins else []
    known = [row for row in rows if not math.isnan(row.mean)]
    return [replace(row, metric="map with equal settings", first="oasis", second=method) for row in known]


def _printed_gap(study: CategoryStudy, subset: Subset, method: str) -> dict[str, str]:
    """The printed difference of OASIS and a method, in points."""
    printed = study.printed_in(PRINTED_TABLE[study.paper])
    printed = printed[(printed["setting"] == study.setting_of(subset)) & (printed["metric"] == "map")]
    both = printed.set_index("method").reindex(["oasis", method])
    gap, std = both["value"].iloc[0] - both["value"].iloc[1], math.hypot(*both["spread"])
    if math.isnan(gap):
        return dict.fromkeys(PRINTED, "")
    return {"printed_cell": f"{gap:+.0f} ± {std:.1f}"}


def margins(study: CategoryStudy) -> tuple[Margin, ...]:
    """OASIS minus the best other methods, in print and here, their minima, and Euclidean distance, on every subset.

    Where methods run with equal settings too, the same of these follows, without print: it has the papers' settings.
    """
    found = []
    for subset, is_equal in product(study.parts, (False, True) if "oasis" in study.twins else (False,)):
        ours = study.maps(subset, study.twins if is_equal else {})
        printed = {} if is_equal else study.printed_maps(subset, study.paper)
        others = sorted(set(ours) - {"oasis"}, key=lambda method: (printed.get(method, 0.0), ours[method]))
        best_here = max(others, key=ours.__getitem__, default="")
        classes = f"subset of {subset.n_classes} classes" if len(study.parts) > 1 else ""
        setting = ", ".join(filter(None, (classes, "equal settings" if is_equal else "")))
        interval = EQUAL_INTERVAL if is_equal else INTERVAL
        compared = [name for name in (*others[-1:], best_here, "euclidean") if name in others]
        if not is_equal:
            # a rival's own end may be far from where it is stopped early
            ended = [run for run in study.minima if MINIMUM_OF.get(run) in compared and len(study.values(subset, run))]
            ours |= {run: 100 * float(study.values(subset, run).mean()) for run in ended}
            compared += ended
        for method in dict.fromkeys(compared):
            rows = _equal_rows(study, subset, method) if is_equal else oasis_minus(study, subset, method)
            if rows and "oasis" in ours:
                found.append(margin(study, rows, ours, printed, setting=setting, metric="mAP", interval=interval))
    return tuple(found)
