"""Tables of the fine-grained study: Deep Ranking's Tables 1 and 2, precision by kind of negative, cost of systems.

Every row of ours in the paper's tables has the printed row beneath it. Where a system could not be run, its row says
what to do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lookalike.exhibits import compare as compared
from lookalike.exhibits.printed import human_time
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.tables import Block, Table, make_table, plus_minus, significant
from lookalike.exhibits.triplet_context import (
    ALL,
    CONVNET,
    DEEP,
    FEATURES,
    GOLDEN,
    PAPER,
    PAPER_K,
    PAPER_POOL,
    PRECISION,
    REAL,
    SCORE,
    SINGLE,
    TABLE1,
    TABLE2,
    TripletContext,
    is_learned,
    ordered_systems,
)
from lookalike.exhibits.triplet_values import (
    METRICS,
    NOTHING,
    PRINTED_METRICS,
    SYSTEMS_OF,
    Measured,
    Values,
    cell_of,
    judged,
    measured,
    not_run_sentences,
    with_interval,
)

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "system",
    "metric",
    "ours",
    "low",
    "high",
    "ours_cell",
    "printed",
    "printed_cell",
    "n_triplets",
    "n_queries",
    "n_ties",
    "median_pool",
    "n_in_top",
    "unit",
    "status",
)
KIND_COLUMNS = ("system", "subset", "similarity_precision", "low", "high", "n_triplets", "n_queries", "n_ties")
FEATURE_COLUMNS = (
    "system",
    "dimensions",
    "distance",
    "images_per_second",
    "n_images",
    "seconds",
    "codebook_from",
    "settings",
    "processor",
    "status",
)
STATUS_WIDTH = r"p{0.3\linewidth}"
"""Of the last column in LaTeX, whose sentences have to break."""
LONGEST_SETTINGS = 160
"""Letters of a system's settings that a cell shows at most; the long CSV has them in full."""


def system_table(
    intervals: pd.DataFrame | None, context: TripletContext, reference: pd.DataFrame, exhibit: str
) -> Table:
    """Table 1 or 2: similarity precision and score-at-top-30 of every system, ours above printed.

    Parameters
    ----------
    intervals : DataFrame or None
        As in `measured`; None where nothing was run.
    context : TripletContext
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.
    exhibit : {"table1", "table2"}

    Returns
    -------
    Table
        Frame columns `COLUMNS`: a row for each system and metric, score per triplet among them.
    """
    import pandas as pd

    values = measured(intervals, context)
    records: list[dict[str, Any]] = []
    rows, printed_rows = [], set()
    for system in SYSTEMS_OF[exhibit]:
        of_system = {metric: _record(system, metric, values, context, reference, exhibit) for metric in METRICS}
        records += of_system.values()
        rows.append(_own_row(system, of_system, context))
        printed_rows.add(len(rows))
        cells = [of_system[metric]["printed_cell"] for metric in PRINTED_METRICS]
        rows.append(("", "paper", *cells, "", "", "", ""))
    k = context.k
    header = ("System", "", "Precision (%)", f"Score-{k}", f"Score-{k} a triplet (%)", f"in top {k}", "pool", "status")
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    block = Block(header, tuple(rows), frozenset(printed_rows))
    made = make_table(frame, [block], numbers=range(2, 7), notice=context.not_run_sentence)
    return Table(made.frame, made.markdown, _last_column_breaks(made.latex))


def notes_on_systems(table: Table, context: TripletContext) -> str:
    """Sentences of the caption: what brackets and columns are, what is ranked, and where statuses are not to be had."""
    frame = table.frame
    has_numbers = bool(frame["ours"].notna().any())
    parts = []
    if has_numbers:
        ties = int(frame["n_ties"].max())
        parts.append(
            "Brackets: 95% interval of a bootstrap over query images. Precision: share of triplets whose positive is "
            "nearer to the query than the negative" + (", a tie counting half." if ties else ".")
        )
        parts.append(
            f"Score-{context.k}: right minus wrong triplets among those whose positive or negative is in the query's "
            f"top {context.k} (their number in the column beside it); a triplet: over all triplets."
        )
        if context.pool:
            parts.append(f"{context.pool}; the paper's has {PAPER_POOL:,} images.")
        if context.k != PAPER_K:
            parts.append(f"The paper's scores are of the top {PAPER_K}.")
    there = set(frame.loc[frame["ours"].notna(), "system"])
    if "golden-features" in there:
        parts.append(
            "Golden Features learn from the same training relevance as all that learns; in the paper they made it."
        )
    if {"single-scale-ranking", "deep-ranking"} <= there:
        parts.append(
            "Each network was trained once, and the chance in that is in no interval. The single-scale one has no "
            "linear layer: it is measured by its last activations."
        )
    parts += not_run_sentences(set(frame["system"]) - there, context)
    if context.kind == REAL and any(map(is_learned, there)):
        parts.append("Systems that learn did so from other images than the paper's.")
    return " ".join(parts)


def kinds_table(intervals: pd.DataFrame | None, context: TripletContext) -> Table:
    """Similarity precision of every system by kind of triplet, that is by what its negative is.

    Parameters
    ----------
    intervals : DataFrame or None
        As in `measured`.
    context : TripletContext

    Returns
    -------
    Table
        Frame columns `KIND_COLUMNS`, in percent.
    """
    import pandas as pd

    values = measured(intervals, context)
    kinds = list(dict.fromkeys(subset for _, subset, metric in values if subset != ALL and metric == PRECISION))
    systems = ordered_systems({system for system, _, _ in values} | set(context.systems) | {*TABLE1, *TABLE2})
    records, rows = [], []
    for system in systems:
        cells = []
        for kind in (*kinds, ALL):
            found = values.get((system, kind, PRECISION), NOTHING)
            cells.append(cell_of(found, PRECISION, system, context))
            if not math.isnan(found.value):
                counted = (found.n_triplets, found.n_queries, found.n_ties)
                records.append((system, kind, found.value, found.low, found.high, *counted))
        rows.append((context.title_of(system), *cells))
    header = ("Precision (%)", *(f"{kind} negatives" if "class" in kind else kind for kind in kinds), "all triplets")
    frame = pd.DataFrame(records, columns=list(KIND_COLUMNS))
    block = Block(header, tuple(rows))
    return make_table(frame, [block], numbers=range(1, len(header)), notice=context.not_run_sentence)


def notes_on_kinds(table: Table, context: TripletContext) -> str:
    """Sentences of the caption: what the kinds are, and how many triplets each has."""
    frame = table.frame
    if frame.empty:
        return " ".join(not_run_sentences({*TABLE1, *TABLE2}, context))
    counts = frame[frame["subset"] != ALL].groupby("subset", sort=False)["n_triplets"].max()
    told = ", ".join(f"{int(n):,} {kind}" for kind, n in counts.items())
    parts = ["Brackets: 95% interval of a bootstrap over query images."]
    if len(counts) < 2:
        parts.append("Nobody said of which kind a negative is: there is one kind of triplets.")
    else:
        parts.append(f"Triplets: {told}. In-class: the negative is of the query's own category, else out-of-class.")
    parts += not_run_sentences({*TABLE1, *TABLE2} - set(frame["system"]), context)
    return " ".join(parts)


def features_table(fits: pd.DataFrame | None, context: TripletContext) -> Table:
    """What each system computes, from what it was learned, and what that took.

    Parameters
    ----------
    fits : DataFrame or None
        One row a system: ``system``, ``dimensions``, ``distance``, ``images_per_second``, ``n_images``, ``seconds``,
        ``codebook_from``, ``processor``; settings as a mapping or JSON in ``settings``, or in columns ``settings_*``.
        Columns that are not there are empty.
    context : TripletContext

    Returns
    -------
    Table
        Frame columns `FEATURE_COLUMNS`.
    """
    import pandas as pd

    own = None if context.not_run is not None else fits
    rows_of: Any = [] if own is None else own.to_dict("records")
    found: dict[str, Mapping[str, Any]] = {str(row["system"]): row for row in rows_of}
    records, rows = [], []
    for system in ordered_systems({*found, *context.systems, *TABLE1, *TABLE2}):
        fit = found.get(system, {})
        record = _feature_record(system, fit, context)
        records.append(record)
        without = (context.title_of(system), "", "", "", "", "", str(record["status"]))
        rows.append(_feature_row(record, context) if fit else without)
    header = ("System", "dimensions", "distance", "images/s", "time", "learned from", "settings")
    frame = pd.DataFrame(records, columns=list(FEATURE_COLUMNS))
    numbers = range(1, 2)
    made = make_table(frame, [Block(header, tuple(rows))], numbers=numbers, notice=context.not_run_sentence)
    return Table(made.frame, made.markdown, _last_column_breaks(made.latex))


def notes_on_features(context: TripletContext) -> str:
    """Sentences of the caption: what speed and time are of, and on what machine."""
    if context.not_run is not None:
        return ""
    parts = [
        "Images/s: images described a second: decoded and described by a feature, hashed from ready features by "
        "L1HashKPCA, embedded from decoded pixels by a network; time: learning among it. Settings that are not shown "
        "in full are in the CSV."
    ]
    if context.processors:
        parts.append(f"Measured on {' and '.join(context.processors)}.")
    return " ".join(parts)


def triplet_headline(intervals: pd.DataFrame | None, context: TripletContext) -> str:
    """Return precision and score of the main systems with their intervals.

    Parameters
    ----------
    intervals : DataFrame or None
        As in `measured`.
    context : TripletContext

    Returns
    -------
    str
        A line for each metric, such as ``precision (%)  HOG 68.4 [67.6, 69.2]  DeepRanking 85.7 [85.1, 86.2]``, one
        that names systems that were not run, and one that says what brackets are.
    """
    if context.not_run_sentence:
        return f"{context.title}: {context.not_run_sentence}\n"
    values = measured(intervals, context)
    best = max(FEATURES, key=lambda feature: _sorted_value(values.get((feature, ALL, PRECISION), NOTHING)))
    main = (best, "oasis", GOLDEN, CONVNET, SINGLE, DEEP)
    lines = []
    for metric, name in ((PRECISION, "precision (%)"), (SCORE, f"score-{context.k}")):
        cells = []
        for system in main:
            found = values.get((system, ALL, metric), NOTHING)
            if not math.isnan(found.value):
                cells.append(f"{context.title_of(system)} {with_interval(found, METRICS[metric])}")
        if cells:
            lines.append(f"{name.ljust(13)}  " + "  ".join(cells))
    lines += not_run_sentences(set(main) - {system for system, _, _ in values}, context)
    about = f"{context.n_triplets:,} triplets of {context.n_queries:,} query images" if values else "no triplets"
    lines.append(f"({about}, 95% intervals of a bootstrap over query images; data: {context.source})")
    return "\n".join(lines) + "\n"


def _record(
    system: str, metric: str, values: Values, context: TripletContext, reference: pd.DataFrame, exhibit: str
) -> dict[str, Any]:
    """One cell, ours and the paper's, with `COLUMNS`."""
    found = values.get((system, ALL, metric), NOTHING)
    row = printed_number(reference, PAPER, exhibit, "", system, metric)
    printed = math.nan if row is None else float(row["value"])
    counted = (found.n_triplets, found.n_queries, found.n_ties, found.median_pool, found.n_in_top)
    status = "" if row is None else judged(row, found, context)[0]
    unit = "triplets" if metric == SCORE else "percent"
    cells = (cell_of(found, metric, system, context), printed, "" if row is None else f"{printed:{METRICS[metric]}}")
    values_of = (system, metric, found.value, found.low, found.high, *cells, *counted, unit, status)
    return dict(zip(COLUMNS, values_of, strict=True))


def _own_row(system: str, of_system: Mapping[str, Mapping[str, Any]], context: TripletContext) -> tuple[str, ...]:
    """Cells of a system's row; a status that both metrics share is said once."""
    score = of_system[SCORE]
    has_score = not math.isnan(score["ours"])
    statuses = [of_system[metric]["status"] for metric in PRINTED_METRICS]
    status = statuses[0] if len(set(statuses)) == 1 else f"precision {statuses[0]}, score {statuses[1]}"
    return (
        context.title_of(system),
        "ours",
        *(record["ours_cell"] for record in of_system.values()),
        f"{score['n_in_top']:,}" if has_score else "",
        f"{score['median_pool']:,}" if has_score else "",
        status,
    )


def _feature_record(system: str, fit: Mapping[str, Any], context: TripletContext) -> dict[str, Any]:
    def number(name: str) -> float:
        return float(fit[name]) if _is_there(fit.get(name)) else math.nan

    def text(name: str) -> str:
        return str(fit[name]) if _is_there(fit.get(name)) else ""

    status = "" if fit else context.why_not_run(system) or compared.NO_RESULT
    values = (
        system,
        number("dimensions"),
        text("distance"),
        number("images_per_second"),
        number("n_images"),
        number("seconds"),
        text("codebook_from"),
        settings_text(fit),
        text("processor"),
        status,
    )
    return dict(zip(FEATURE_COLUMNS, values, strict=True))


def settings_text(fit: Mapping[str, Any]) -> str:
    """Return the settings of a fit as ``n_words 256, step 8``, in the order in which they were written."""
    settings = fit.get("settings")
    if isinstance(settings, str) and settings.startswith("{"):
        settings = json.loads(settings)
    if not isinstance(settings, Mapping):
        plain = {"settings": settings} if isinstance(settings, str) else {}
        flat = {name.removeprefix("settings_"): fit[name] for name in fit if name.startswith("settings_")}
        settings = {**plain, **flat}
    told = [
        value if name == "settings" else f"{name} {_setting(value)}"
        for name, value in settings.items()
        if _is_there(value)
    ]
    return ", ".join(told)


def _setting(value: Any) -> str:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "/".join(_setting(one) for one in value)
    return str(value)


def _is_there(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _feature_row(record: Mapping[str, Any], context: TripletContext) -> tuple[str, ...]:
    settings = str(record["settings"])
    shown = settings if len(settings) <= LONGEST_SETTINGS else settings[:LONGEST_SETTINGS].rpartition(",")[0] + ", ..."
    return (
        context.title_of(record["system"]),
        plus_minus(record["dimensions"], math.nan, ",.0f"),
        record["distance"],
        significant(record["images_per_second"]),
        human_time(record["seconds"]),
        record["codebook_from"],
        shown,
    )


def _sorted_value(found: Measured) -> float:
    return -math.inf if math.isnan(found.value) else found.value


def _last_column_breaks(latex: str) -> str:
    """Let the last column of a table be as wide as its sentences need lines."""
    start, brace, rest = latex.partition("}\n\\toprule")
    return f"{start[:-1]}{STATUS_WIDTH}{brace}{rest}"
