"""Training times in the papers' form: JMLR Table 5 and draft Table 2, ours beside the paper's, and both over OASIS.

Times of other machines and implementations cannot be judged, so no row has a verdict. What the papers claim are ratios
between methods, which stand beneath the times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lookalike.exhibits import compare as compared
from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.reference import printed_number, reason_in_print
from lookalike.exhibits.style import title_of
from lookalike.exhibits.tables import (
    MISSING,
    STAR,
    Block,
    Table,
    block_title,
    make_table,
    plus_minus,
    significant,
    without_number,
)
from lookalike.ranking.statistics import summarise

if TYPE_CHECKING:
    import pandas as pd

TRAIN_TIME = "train_time"
"""Metric of the printed times."""
RULE = (
    "Minutes of CPU time. No verdict: the paper's times are of another machine and of other implementations of the "
    "same algorithms."
)
OTHER_MACHINE = "other machine and implementation"
PRINTED_TABLE = {"oasis-jmlr-2010": "table5", "oasis-2009-draft": "table2"}
METHOD_OF = {
    "oasis-matlab": "oasis",
    "oasis-matlab+c": "oasis",
    "mcml": "mcml",
    "lego": "lego",
    "lmnn-naive": "lmnn-naive",
    "fast-lmnn": "lmnn",
    "dissim-oasis-matlab": "oasis-dissim",
}
"""Printed column to our method."""
PRINTED_COLUMNS = {
    "oasis-jmlr-2010": ("oasis-matlab", "oasis-matlab+c", "mcml", "lego", "lmnn-naive", "fast-lmnn"),
    "oasis-2009-draft": ("oasis-matlab", "mcml", "lego", "lmnn-naive", "fast-lmnn", "dissim-oasis-matlab"),
}
"""Columns by paper; the draft does not print the active-set implementation of LMNN."""
PRINTED_OASIS = {
    "oasis-jmlr-2010": ("oasis-matlab", "oasis-matlab+c"),
    "oasis-2009-draft": ("oasis-matlab",),
}
"""Printed columns of OASIS, which the others are divided by."""
MACHINES = {
    "oasis-jmlr-2010": "on a 1.8 GHz Intel Xeon, with a limit of five days",
    "oasis-2009-draft": "on a processor that it does not name",
}
CSV_COLUMNS = (
    "subset",
    "n_classes",
    "column",
    "method",
    "ours",
    "ours_std",
    "ours_cell",
    "printed",
    "printed_std",
    "printed_cell",
    "printed_over_ours",
    "ours_over_oasis",
    "printed_over_oasis_matlab",
    "printed_over_oasis_matlab_c",
    "unit",
    "status",
    "note",
)


def training_times(fits: pd.DataFrame | None, context: Context, reference: pd.DataFrame, paper: str) -> Table:
    """Minutes of CPU time that the final fit takes, by subset and method.

    Parameters
    ----------
    fits : DataFrame or None
        What each fit recorded: ``subset``, ``method``, ``fold``, ``cpu_seconds_fit``.
    context : Context
        Its subsets are the table's blocks.
    reference : DataFrame
        Printed numbers, in minutes.
    paper : {"oasis-jmlr-2010", "oasis-2009-draft"}
        JMLR Table 5 or draft Table 2.

    Returns
    -------
    Table
        Frame columns `CSV_COLUMNS`; ratios are of means, and the paper's times over ours are left out of subsets that
        are not the paper's.
    """
    import pandas as pd

    minutes = minutes_of(fits, context)
    statuses: Any = compare_times(fits, context, reference, paper=paper).itertuples()
    status = {(row.subset, row.method): row.status for row in statuses}
    columns = columns_of_times(context, paper)
    records, blocks = [], []
    for subset in context.subsets:
        of_subset = _with_ratios(
            [_record(subset, column, minutes, context, reference, paper, status) for column in columns]
        )
        records += of_subset
        titles = (title_of(column, _titles(context)) for column in columns)
        blocks.append(_block((block_title(subset, context, paper), "", *titles), of_subset, paper))
    frame = pd.DataFrame(records, columns=list(CSV_COLUMNS))
    numbers = range(2, 2 + len(columns))
    return make_table(frame, blocks, numbers=numbers, notice=context.not_run_sentence)


def compare_times(fits: pd.DataFrame | None, context: Context, reference: pd.DataFrame, *, paper: str) -> pd.DataFrame:
    """Set our times beside the printed ones, without a verdict.

    Parameters
    ----------
    fits, context, reference, paper
        As in `training_times`.

    Returns
    -------
    DataFrame
        Columns `lookalike.exhibits.compare.COLUMNS`, in minutes; a row for every cell of the printed table.
    """
    minutes = minutes_of(fits, context)
    rows = []
    for subset in context.subsets:
        for column in PRINTED_COLUMNS[paper]:
            row = _printed(reference, subset, column, paper)
            if row is None:
                continue
            method = METHOD_OF[column]
            ours = minutes.get((subset.id, method), compared.NO_NUMBER)
            judged = compared.without_verdict(row, context, ours[0], subset=subset.id, method=method)
            if judged is None:
                reasons = (subset.why_not_comparable, OTHER_MACHINE)
                judged = (compared.NOT_COMPARABLE, "; ".join(filter(None, reasons)))
            rows.append(compared.compared_row(row, subset.id, *ours, *judged))
    return compared.comparison_frame(rows)


def minutes_of(fits: pd.DataFrame | None, context: Context) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and standard deviation over folds of the final fit's CPU time, by (subset, method), in minutes.

    Parameters
    ----------
    fits : DataFrame or None
        As in `training_times`.
    context : Context
        A method that did not converge in some fold of a subset has no time there.

    Returns
    -------
    dict
    """
    own = context.own(fits)
    if own is None or "cpu_seconds_fit" not in own:
        return {}
    summary: Any = summarise(own, by=("subset", "method"), value="cpu_seconds_fit").itertuples()
    return {
        (str(row.subset), str(row.method)): (row.mean / 60, row.std / 60)
        for row in summary
        if (row.subset, row.method) not in context.not_converged and row.n_folds
    }


def notes_on_times(context: Context, table: Table, paper: str) -> str:
    """Sentences of the caption: what is in the times, whose machines they are of, and cells without a number."""
    sentences = []
    if context.not_run is None:
        processors = " and ".join(context.processors) or "a processor that was not recorded"
        sentences = [
            f"Ours: one thread of {processors}, on all training images of a fold, OASIS and LEGO from the untrained "
            "start to the stopping point that validation chose, MCML and LMNN to their own end; fits may have run "
            "beside other jobs. Not in the time: images, visterms and tf-idf, the ranking of test images, and the "
            "choice of hyper-parameters and stopping point on the fifth of the training images that is held out for "
            "it, whose time timing.parquet has as cpu_seconds_selection.",
            _implementations(paper),
        ]
    sentences.append(f"The paper's times: {MACHINES[paper]}.")
    frame = table.frame
    dashes = sorted(set(frame.loc[(frame["printed_cell"] == MISSING), "note"]))
    sentences += [f"{MISSING} in the paper's row: {note}." for note in dashes]
    return " ".join(filter(None, sentences))


def columns_of_times(context: Context, paper: str) -> tuple[str, ...]:
    """Columns of a table of times: the paper's, then the other compared methods that learn, by their ids."""
    known = {*METHOD_OF.values(), "euclidean"}
    return (*PRINTED_COLUMNS[paper], *(method for method in context.methods if method not in known))


def methods_of_times(context: Context, paper: str) -> tuple[str, ...]:
    """Our methods that a table of times has columns of, each once."""
    return tuple(dict.fromkeys(METHOD_OF.get(column, column) for column in columns_of_times(context, paper)))


def _implementations(paper: str) -> str:
    """What stands beside what: ours is compiled throughout, and one column of the draft's form is not printed."""
    if paper == "oasis-jmlr-2010":
        return "Ours is one compiled implementation of OASIS, which stands beside each printed one."
    return (
        "Ours is one compiled implementation of OASIS, which stands beside the printed one in Matlab; the draft does "
        "not print LMNN (active set), whose column is ours alone."
    )


def times_over(ratio: float) -> str:
    """Return a ratio to two significant digits: ``1,200x``, ``0.31x``; "" for a NaN."""
    if math.isnan(ratio):
        return ""
    return f"{significant(float(f'{ratio:.1e}'))}x"


def _titles(context: Context) -> dict[str, str]:
    """Printed names, which say the implementation; ours of the two LMNNs and of the rest where they do not."""
    return {**context.method_titles, **compared.PRINTED_TITLES}


def _printed(reference: pd.DataFrame, subset: SubsetInfo, column: str, paper: str) -> pd.Series | None:
    setting = subset.printed.get(paper, "")
    return printed_number(reference, paper, PRINTED_TABLE[paper], setting, column, TRAIN_TIME)


def _record(
    subset: SubsetInfo,
    column: str,
    minutes: Mapping[tuple[str, str], tuple[float, float]],
    context: Context,
    reference: pd.DataFrame,
    paper: str,
    status: Mapping[tuple[str, str], str],
) -> dict[str, Any]:
    """One cell, ours and the paper's, with `CSV_COLUMNS` but for the ratios to OASIS."""
    method = METHOD_OF.get(column, column)
    mean, std = minutes.get((subset.id, method), compared.NO_NUMBER)
    row = _printed(reference, subset, column, paper)
    printed = math.nan if row is None else float(row["value"])
    return {
        "subset": subset.id,
        "n_classes": subset.n_classes,
        "column": column,
        "method": method,
        "ours": mean,
        "ours_std": std,
        "ours_cell": without_number(subset.id, method, context) if math.isnan(mean) else significant(mean, std),
        "printed": printed,
        "printed_std": math.nan if row is None else float(row["spread"]),
        "printed_cell": "" if row is None else _printed_cell(row),
        # times of problems of another size say nothing about machines
        "printed_over_ours": _ratio(printed, mean) if subset.comparable else math.nan,
        "unit": "minutes",
        "status": status.get((subset.id, column), ""),
        "note": "" if row is None else reason_in_print(row),
    }


def _printed_cell(row: pd.Series) -> str:
    """As printed: ``*`` where the learner did not converge, ``-`` where the time is left out for other reasons."""
    if math.isnan(row["value"]):
        return STAR if "converge" in row["note"] else MISSING
    return plus_minus(row["value"], row["spread"], ",g")


def _with_ratios(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add what each time of a subset is over that of OASIS, within our run and within the paper."""
    by_column = {record["column"]: record for record in records}
    for record in records:
        is_oasis = record["method"] == "oasis"
        ours = by_column["oasis-matlab"]["ours"]
        record["ours_over_oasis"] = math.nan if is_oasis else _ratio(record["ours"], ours)
        for name, column in (("matlab", "oasis-matlab"), ("matlab_c", "oasis-matlab+c")):
            printed = by_column[column]["printed"] if column in by_column else math.nan
            record[f"printed_over_oasis_{name}"] = math.nan if is_oasis else _ratio(record["printed"], printed)
    return records


def _ratio(over: float, under: float) -> float:
    return over / under if under > 0 else math.nan


def _block(header: tuple[str, ...], records: Sequence[Mapping[str, Any]], paper: str) -> Block:
    """Our minutes, and beneath them the paper's and the ratios, those of them that have a number."""
    rows: list[tuple[str, ...]] = [("Minutes", "ours", *(record["ours_cell"] for record in records))]
    printed = set()
    if any(record["printed_cell"] for record in records):
        printed.add(len(rows))
        rows.append(("", "paper", *(record["printed_cell"] for record in records)))
    several = len(PRINTED_OASIS[paper]) > 1
    over_oasis = (
        ("ours", "ours_over_oasis"),
        ("paper, Matlab" if several else "paper", "printed_over_oasis_matlab"),
        ("paper, Matlab+C", "printed_over_oasis_matlab_c"),
    )
    for title, ratios in (("Paper / ours", (("", "printed_over_ours"),)), ("Over OASIS", over_oasis)):
        untitled = title
        for source, column in ratios:
            cells = [times_over(record[column]) for record in records]
            if any(cells):
                if source.startswith("paper"):
                    printed.add(len(rows))
                rows.append((untitled, source, *cells))
                untitled = ""
    return Block(header, tuple(rows), frozenset(printed))
