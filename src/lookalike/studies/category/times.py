"""Training times in the papers' form: JMLR Table 5 and draft Table 2, ours beside the paper's, and both over OASIS."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

import pandas as pd

from lookalike.exhibits.model import Names, Table
from lookalike.exhibits.printed import MISSING, STAR, Cell, beside_print, minutes_text, plus_minus, times_over
from lookalike.exhibits.registry import exhibit
from lookalike.ranking.statistics import summarise
from lookalike.studies.category.section import MINIMUM_OF
from lookalike.studies.category.study import CategoryStudy
from lookalike.studies.metrics import rows_in

Minutes = Mapping[tuple[str, str], tuple[float, float]]
"""Subset and method to the mean and the standard deviation over folds."""
Counts = Mapping[tuple[str, str], float]
ON_ROWS = "oasis-rows"
"""OASIS by steps on the rows of images, as the papers took them; those of OASIS here are on inner products."""
PRINTED_COLUMNS = {
    "oasis-matlab": ("oasis", "OASIS (Matlab)"),
    "oasis-matlab+c": ("oasis", "OASIS (Matlab+C)"),
    "dissim-oasis-matlab": ("oasis-dissim", "Dissim-OASIS (Matlab)"),
    "lmnn-naive": ("lmnn-naive", "LMNN (naive)"),
    "fast-lmnn": ("lmnn", "LMNN (active set)"),
}
"""Printed columns that say the implementation, to our method and their title; others are called as our methods."""
PRINTED_AS = {method: column for column, (method, _) in PRINTED_COLUMNS.items()}
COLUMNS = {
    "oasis-jmlr-2010": ("oasis-matlab", "oasis-matlab+c", "mcml", "lego", "lmnn-naive", "fast-lmnn"),
    "oasis-2009-draft": ("oasis-matlab", "mcml", "lego", "lmnn-naive", "fast-lmnn", "dissim-oasis-matlab"),
}
"""Columns by paper; the draft does not print the active-set implementation of LMNN."""
MATLAB, COMPILED = "oasis-matlab", "oasis-matlab+c"
"""Columns of OASIS; ours is compiled, and stands beside the second where there are both."""
MACHINES = {
    "oasis-jmlr-2010": "The paper's times are of a 1.8 GHz Intel Xeon, with a limit of five days.",
    "oasis-2009-draft": "The paper does not name its processor. It prints no time of LMNN (active set).",
}
RATIOS = {
    "printed_over_ours": "Paper / ours",
    "ours_over_oasis": "Over OASIS, ours",
    "ours_over_rows": "Over OASIS on rows, ours",
    "printed_over_oasis_matlab": "Over OASIS, paper (Matlab)",
    "printed_over_oasis_matlab_c": "Over OASIS, paper (Matlab+C)",
}


@exhibit(
    "oasis-jmlr-2010/table5",
    "oasis-2009-draft/table2",
    title="Training times",
    needs=("fits",),
    shows=("methods", "timed", "minima"),
)
def training_times(study: CategoryStudy) -> Table:
    """How long each method trains: its CPU time, ours beside the paper's."""
    cells = _with_ratios(study, _cells(study))
    cells = cells.assign(row="Minutes")
    named = {column: PRINTED_COLUMNS.get(column, ("", study.title_of(column))) for column in cells["column"].unique()}
    titles = {"column": {column: title for column, (_, title) in named.items()}, "subset": study.titles}
    notes, below = _notes(study, cells), _ratios(cells, titles)
    titles["row"] = {"Minutes": "CPU time"}
    of_columns = partial(Table, cells, ("row",), "column", "subset", compared="column", best={"train_time": min})
    return of_columns(titles=titles, notes=notes, below=below)


def _cells(study: CategoryStudy) -> pd.DataFrame:
    """Our minutes of every column beside the paper's."""
    minutes = minutes_of(study)
    known = {"oasis", "mcml", "lego", "lmnn-naive", "lmnn", "oasis-dissim", "euclidean"}
    further = (method for method in study.methods if method not in known)
    ends = {PRINTED_AS.get(MINIMUM_OF[run], MINIMUM_OF[run]): run for run in study.minima}
    columns = [part for column in (*COLUMNS[study.paper], *further) for part in (column, ends.get(column)) if part]
    rows = []
    for subset, column in product(study.parts, columns):
        method, _ = PRINTED_COLUMNS.get(column, (column, ""))
        is_ours = column != MATLAB or COMPILED not in columns
        mean, std = minutes.get((subset.id, method), (math.nan, math.nan)) if is_ours else (math.nan, math.nan)
        place = (subset.id, subset.n_classes, study.setting_of(subset))
        rows.append((*place, column, method, "train_time", mean, std))
    names = ["subset", "n_classes", "setting", "column", "method", "metric", "ours", "ours_std"]
    printed = study.printed_in().rename(columns={"method": "column"})
    on = ("setting", "column", "metric")
    cells = beside_print(pd.DataFrame(rows, columns=names), printed, on=on)
    cells["unit"] = "minutes"
    records = cells.to_dict("records")
    ours = [_our_cell(study, row, columns) for row in records]
    return cells.assign(ours_cell=ours, printed_cell=[_printed_cell(row) for row in records])


def _our_cell(study: CategoryStudy, row: Cell, columns: Sequence[str]) -> str:
    """Return our time, what stands for a missing one, or "" where ours stands in another column."""
    if not math.isnan(row["ours"]):
        return minutes_text(row["ours"], row["ours_std"])
    is_elsewhere = row["column"] == MATLAB and COMPILED in columns
    return "" if is_elsewhere else study.without_number(row["subset"], row["method"])


def minutes_of(study: CategoryStudy) -> Minutes:
    """Mean and standard deviation over folds of the final fit's CPU minutes, by (subset, method) that converged."""
    rows = summarise(study.fits, by=("subset", "method"), value="cpu_seconds_fit").to_dict("records")
    minutes = {
        (row["subset"], row["method"]): (row["mean"] / 60, row["std"] / 60)
        for row in rows
        if row["n_folds"] and (row["subset"], row["method"]) not in study.not_converged
    }
    seen = triplets_of(study)
    for subset, method in [key for key in minutes if key[1] == ON_ROWS]:
        # it is run for the time of a step, and takes as many as validation gives OASIS
        share = seen.get((subset, "oasis"), math.nan) / seen.get((subset, method), math.nan)
        mean, std = minutes[subset, method]
        minutes[subset, method] = mean * share, std * share
    return minutes


def triplets_of(study: CategoryStudy) -> Counts:
    """Mean over folds of the triplets that the final fit saw, by (subset, method) that learns from one at a time."""
    if not {"n_updates", "n_steps"} <= set(study.fits):
        return {}
    one_at_a_time = study.fits[study.fits["n_updates"].notna()]
    means = one_at_a_time.groupby(["subset", "method"])["n_steps"].mean().reset_index()
    return {(row.subset, row.method): row.n_steps for row in rows_in(means)}


def _printed_cell(row: Cell) -> str:
    """As printed: ``*`` where the learner did not converge, ``-`` where the time is left out for other reasons."""
    if not row["is_printed"]:
        return ""
    if math.isnan(row["printed"]):
        return STAR if "converge" in row["note"] else MISSING
    return f"{plus_minus(row['printed'], row['printed_std'], ',g')} min"


def _with_ratios(study: CategoryStudy, cells: pd.DataFrame) -> pd.DataFrame:
    """Add the paper's time over ours, and what each time of a subset is over that of OASIS; ratios are of means."""
    # times of problems of another size say nothing about machines
    comparable = cells["subset"].isin([subset.id for subset in study.parts if not subset.why_not_comparable])
    cells["printed_over_ours"] = (cells["printed"] / cells["ours"]).where(comparable)
    columns = {"ours_over_oasis": {MATLAB, COMPILED}}
    columns |= {"printed_over_oasis_matlab": {MATLAB}, "printed_over_oasis_matlab_c": {COMPILED}}
    on_rows = {subset: mean for (subset, method), (mean, _) in minutes_of(study).items() if method == ON_ROWS}
    cells["ours_over_rows"] = cells["ours"] / cells["subset"].map(on_rows)
    for ratio, of_oasis in columns.items():
        value = "ours" if ratio == "ours_over_oasis" else "printed"
        oasis = cells[cells["column"].isin(of_oasis)].dropna(subset=value).set_index("subset")[value]
        cells[ratio] = (cells[value] / cells["subset"].map(oasis[oasis > 0])).where(cells["method"] != "oasis")
    return cells


def _ratios(cells: pd.DataFrame, titles: Names) -> Table:
    """The ratios as cells, without rows that have none."""
    parts = [cells.assign(row=title, ours_cell=cells[ratio].map(times_over)) for ratio, title in RATIOS.items()]
    ratios = pd.concat(parts, ignore_index=True)[["subset", "row", "column", "ours_cell"]]
    ratios = ratios[(ratios["ours_cell"] != "").groupby([ratios["subset"], ratios["row"]]).transform("any")]
    # ratios to times that were not asked for say nothing here
    asked = cells.loc[cells["method"] != "oasis"].groupby("column")["ours"].count().loc[lambda counts: counts > 0].index
    ratios = ratios[ratios["column"].isin(asked)]
    return Table(ratios, ("row",), "column", "subset", titles=titles, heading="Ratios of these times")


def _notes(study: CategoryStudy, cells: pd.DataFrame) -> tuple[str, ...]:
    """Say what is in the times, whose machines they are of, and why printed cells have no number."""
    processors = sorted(set(study.table("fits").get("processor", ())))
    beside = "the paper's compiled one" if COMPILED in COLUMNS[study.paper] else "the paper's, which is of Matlab alone"
    notes = [
        f"Ours are of one thread of {' and '.join(processors) or 'an unrecorded processor'}, for the final fit on all "
        "training images of a fold. Other jobs may have run beside it.",
        "OASIS and LEGO are timed up to the step that validation chose, MCML and LMNN up to their own stop or, where a "
        "column says so, to the minimum of their objective. The times leave out making visterms, choosing "
        "hyper-parameters and ranking test images.",
        f"We have one implementation of OASIS, a compiled one. Its time stands beside {beside}.",
        MACHINES[study.paper],
    ]
    notes += _solver_notes(study)
    dashes = sorted(set(cells.loc[cells["printed_cell"] == MISSING, "note"]))
    return (*notes, *(f"{MISSING} in the paper's row means: {reason}." for reason in dashes))


def _solver_notes(study: CategoryStudy) -> list[str]:
    """Say what inner products of the images change in the time of a step of OASIS."""
    minutes, triplets, ratios = minutes_of(study), triplets_of(study), []
    for subset in study.parts:
        on_rows, ours = ((subset.id, method) for method in (ON_ROWS, "oasis"))
        if {on_rows, ours} <= minutes.keys() and triplets.get(ours, 0) > 0 and minutes[ours][0] > 0:
            # the time on rows is of as many steps as validation gives OASIS
            ratios.append(f"{times_over(minutes[on_rows][0] / minutes[ours][0])} ({subset.title})")
    if not ratios:
        return []
    return [
        f"On the rows of images, as in the papers, a step of OASIS takes {', '.join(ratios)} the time of a step on "
        "their inner products, which is timed here."
    ]
