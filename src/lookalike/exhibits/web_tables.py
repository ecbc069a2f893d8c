"""Tables of the web study: counts of the collection (OASIS JMLR Table 1, draft Table 3), speed, and approximate search.

Each row of ours that print has something of has the printed row beneath it. Speed and search are tables of our own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lookalike.exhibits import compare as compared
from lookalike.exhibits.reference import printed_number
from lookalike.exhibits.runtime import times_over
from lookalike.exhibits.tables import MISSING, NOT_RUN, Block, Table, make_table, plus_minus, significant
from lookalike.exhibits.web_calibration import ABOUT_RELEVANT
from lookalike.exhibits.web_context import AVERAGED, JMLR, PARTS, WebContext
from lookalike.exhibits.web_figures import precision_at, series_of_index
from lookalike.exhibits.web_runtime import paper_images
from lookalike.exhibits.web_scaling import human_time

if TYPE_CHECKING:
    import pandas as pd

QUANTITIES = {
    "queries": ("Number of Queries", ",.0f"),
    "images": ("Number of Images", ",.0f"),
    "pairs": ("Query-image pairs", ",.0f"),
    "nonzeros_per_image": ("Non-zeros an image", ",.1f"),
    "relevant_per_image": ("Relevant images an image", ",.1f"),
}
"""Counted quantity to its heading and format; the first two are the papers' columns, the last two in running text."""
IN_TABLE = ("queries", "images")
RULE = "No verdict: the papers' collection was never published, and ours is simulated."
COUNT_COLUMNS = ("part", "quantity", "ours", "ours_cell", "printed", "printed_cell", "status")
SPEED_COLUMNS = (
    "source",
    "method",
    "mode",
    "n_threads",
    "n_rankers",
    "n_train",
    "n_words",
    "n_steps",
    "chosen_step",
    "steps_per_second",
    "steps_per_cpu_second",
    "hours",
    "peak_memory_gigabytes",
    "loss_rate",
    "resumed",
    "over_printed",
)
SPEED_HEADER = (
    "Training",
    "threads",
    "rankers",
    "images",
    "words",
    "steps",
    "steps/s",
    "steps/CPU s",
    "over the paper's",
    "time",
    "peak memory (GB)",
    "steps with a loss (%)",
    "resumed",
)
PAPER_WORDS = 10_000
"""Visterms of the papers' images (JMLR section 3), that is W's rows and columns."""
INDEX_COLUMNS = ("index", "rank", "parameter", "k", "recall", "milliseconds", "over_exact", "n_queries", "n_gallery")


def counts_table(counts: pd.DataFrame | None, context: WebContext, reference: pd.DataFrame) -> Table:
    """Statistics of the collection by part, counted beside printed.

    Parameters
    ----------
    counts : DataFrame or None
        ``part`` ("train" or "test"), ``quantity`` (a key of `QUANTITIES`), ``value``. None where nothing was run.
    context : WebContext
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.

    Returns
    -------
    Table
        Frame columns `COUNT_COLUMNS`; means of running text stand in both parts, since print has them of all images.
    """
    import pandas as pd

    ours = _counts(counts, context)
    status = "" if context.not_run else compared.NOT_COMPARABLE
    records, rows, italic = [], [], set()
    for part, title in PARTS.items():
        of_part = []
        for quantity, (_, form) in QUANTITIES.items():
            value = ours.get((part, quantity), math.nan)
            row = _printed_count(reference, part, quantity)
            printed = math.nan if row is None else float(row["value"])
            cells = (_ours_cell(value, form, context), "" if row is None else f"{printed:,.10g}")
            judged = "" if row is None else context.not_run_sentence or (MISSING if math.isnan(value) else status)
            of_part.append((part, quantity, value, cells[0], printed, cells[1], judged))
        records += of_part
        rows.append((title.capitalize(), context.source, *(record[3] for record in of_part)))
        italic.add(len(rows))
        rows.append(("", "paper", *(record[5] for record in of_part)))
    frame = pd.DataFrame(records, columns=list(COUNT_COLUMNS))
    header = ("Set", "", *(heading for heading, _ in QUANTITIES.values()))
    block = Block(header, tuple(rows), frozenset(italic))
    return make_table(frame, [block], numbers=range(2, len(header)), notice=context.not_run_sentence)


def compare_counts(counts: pd.DataFrame | None, context: WebContext, reference: pd.DataFrame) -> pd.DataFrame:
    """Set every printed count beside ours, without a verdict.

    Parameters
    ----------
    counts, context, reference
        As in `counts_table`.

    Returns
    -------
    DataFrame
        Columns `lookalike.exhibits.compare.COLUMNS`, ``subset`` being the part.
    """
    ours = _counts(counts, context)
    rows = []
    for part, title in PARTS.items():
        for quantity in QUANTITIES:
            row = _printed_count(reference, part, quantity)
            if row is None:
                continue
            value = ours.get((part, quantity), math.nan)
            if context.not_run_sentence is not None:
                judged = (context.not_run_sentence, "nothing was run")
            elif math.isnan(value):
                judged = (compared.NO_RESULT, f"this run has no {quantity} of the {title} part")
            else:
                judged = (compared.NOT_COMPARABLE, context.why_not_comparable)
            rows.append(compared.compared_row(row, title, value, math.nan, *judged))
    return compared.comparison_frame(rows)


def notes_on_counts(context: WebContext, reference: pd.DataFrame, paper: str) -> str:
    """Sentences of the caption: where the printed numbers are from, and those that are rough in print."""
    parts = []
    if paper != JMLR:
        parts.append("Printed numbers are those of JMLR Table 1.")
    parts.append("Non-zeros are printed in running text, of all images (JMLR section 3).")
    parts.append(
        "Relevant images: the others of its part that share a query with an image, counted for a sample where there "
        f"are many; in print {ABOUT_RELEVANT}."
    )
    return " ".join(parts)


def speed_table(fits: pd.DataFrame | None, context: WebContext, reference: pd.DataFrame) -> Table:
    """Steps a second, time and memory of each mode of training, and what the paper prints.

    Parameters
    ----------
    fits : DataFrame or None
        One row a ranker: ``method``, ``ranker``, ``mode`` ("sequential" or "look-ahead"), ``n_threads``, ``n_steps``,
        ``steps_per_second``, ``seconds_fit``, ``cpu_seconds_fit``, ``loss_rate`` (fraction), ``peak_memory_bytes``,
        ``n_train``, ``chosen_step`` and ``resumed`` (how often). Rows without steps (an average's) are left out.
    context : WebContext
    reference : DataFrame
        Printed numbers: triplets and minutes of JMLR section 5.2.1.

    Returns
    -------
    Table
        Frame columns `SPEED_COLUMNS`: means over the rankers of one mode, the largest of their peaks of memory and the
        sum of their resumptions; rows of ``source`` ours, then printed. ``over_printed`` is that of the rates by the
        clock, and NaN for other numbers of words than the paper's, whose steps are other work.
    """
    import pandas as pd

    printed = _printed_speed(reference)
    rate = printed["steps_per_second"] if printed else math.nan
    records = [] if context.not_run else _speeds(fits, rate, context.n_words)
    if printed:
        records.append(printed)
    rows = [_speed_row(record, context) for record in records]
    italic = frozenset(place for place, record in enumerate(records) if record["source"] == "printed")
    frame = pd.DataFrame(records, columns=list(SPEED_COLUMNS))
    block = Block(SPEED_HEADER, tuple(rows), italic)
    return make_table(frame, [block], numbers=range(1, len(SPEED_HEADER)), notice=context.not_run_sentence)


def notes_on_speed(context: WebContext, table: Table) -> str:
    """Sentences of the caption: what rows are means of, what the modes are, and on what machine."""
    frame = table.frame
    ours = frame[frame["source"] != "printed"]
    parts = []
    if len(ours):
        parts.append(
            "Steps, steps/s and time are of one ranker (means over those of a row), from the first triplet to the last "
            "without validation, by the clock; steps/CPU s is over processor time; memory is the largest peak of a "
            "process."
        )
        if (ours["n_words"] != PAPER_WORDS).any():
            parts.append(f"Only steps on {PAPER_WORDS:,} words are set beside the paper's.")
        if (ours["mode"] != "sequential").any():
            parts.append("Sequential: every step sees the matrix as the step before left it; other modes are named.")
    if context.processors and len(ours):
        parts.append(f"Ours: {' and '.join(context.processors)}.")
    if (frame["source"] == "printed").any():
        parts.append("The paper: JMLR section 5.2.1, one CPU of a machine that it does not name; no verdict.")
    return " ".join(parts)


def approximate_table(approximate: pd.DataFrame | None, context: WebContext) -> Table:
    """Recall and time of every index, exact search first.

    Parameters
    ----------
    approximate : DataFrame or None
        As in `lookalike.exhibits.web_figures.recall_curves`.
    context : WebContext

    Returns
    -------
    Table
        Frame columns `INDEX_COLUMNS`, recall in percent; ``over_exact`` is the exact search's time over the row's.
    """
    import pandas as pd

    own = None if context.not_run or approximate is None or approximate.empty else approximate
    ks = [] if own is None else sorted({int(k) for k in own["k"]})
    exact = math.nan if own is None else float(own.loc[own["index"] == "exact", "milliseconds"].mean())
    records, rows = [], []
    groups: Any = () if own is None else own.groupby(["index", "rank", "parameter"], sort=False)
    for (index, rank, parameter), of_index in groups:
        time = float(of_index["milliseconds"].mean())
        recalls = {int(k): 100 * float(recall) for k, recall in zip(of_index["k"], of_index["recall"], strict=True)}
        sizes = int(of_index["n_queries"].max()), int(of_index["n_gallery"].max())
        over = exact / time if time > 0 and index != "exact" else math.nan
        for k, recall in recalls.items():
            values = (str(index), int(rank), int(parameter), k, recall, time, over, *sizes)
            records.append(dict(zip(INDEX_COLUMNS, values, strict=True)))
        cells = [plus_minus(recalls.get(k, math.nan), math.nan, ".1f") for k in ks]
        named = (series_of_index(str(index), int(rank)), f"{int(parameter):,}" if parameter else MISSING)
        rows.append((*named, *cells, significant(time), times_over(over)))
    header = ("Index", "parameter", *(f"recall@{k} (%)" for k in ks), "ms a query", "exact / index")
    frame = pd.DataFrame(records, columns=list(INDEX_COLUMNS))
    return make_table(
        frame, [Block(header, tuple(rows))], numbers=range(1, len(header)), notice=context.not_run_sentence
    )


def notes_on_approximate(approximate: pd.DataFrame | None, context: WebContext) -> str:
    """Sentences of the caption: queries, gallery, and what parameters and dimensions are."""
    if context.not_run or approximate is None or approximate.empty:
        return ""
    n_queries, n_gallery = int(approximate["n_queries"].max()), int(approximate["n_gallery"].max())
    return (
        f"Mean over {n_queries:,} query images against a gallery of {n_gallery:,}. Recall: share of the first k of the "
        "exact search by the learned matrix that the index finds too. Exact search goes through all images; the other "
        "indices hold images projected to the dimensions named, and their parameter is how much of the index a query "
        "visits."
    )


def web_headline(precision: pd.DataFrame | None, fits: pd.DataFrame | None, context: WebContext) -> str:
    """Return precision at 1 and 10 of every method with standard errors, and steps a second.

    Parameters
    ----------
    precision : DataFrame or None
        As in `lookalike.exhibits.web_figures.precision_curves`.
    fits : DataFrame or None
        As in `speed_table`.
    context : WebContext

    Returns
    -------
    str
        Such as ``P@1 OASIS 1.52 ± 0.12 %  Euclidean 0.61 ± 0.08 %``, one line for each k, one of speed, and one that
        says what ± is.
    """
    if context.not_run_sentence:
        return f"{context.title}: {context.not_run_sentence}\n"
    lines = []
    for k in (1, 10):
        cells = []
        for method in context.methods:
            mean, error = precision_at(precision, method, k)
            if not math.isnan(mean):
                cells.append(f"{context.title_of(method)} {plus_minus(mean, error, '.2f')} %")
        if cells:
            lines.append(f"{f'P@{k}'.ljust(5)} " + "  ".join(cells))
    speeds = [
        f"{record['mode']}, {_threads(record['n_threads'])}: {record['steps_per_second']:,.0f}"
        for record in _speeds(fits, math.nan, context.n_words)
        if not math.isnan(record["steps_per_second"])
    ]
    if speeds:
        lines.append(f"steps/s  {'  '.join(speeds)}")
    n_queries = 0 if precision is None or precision.empty else int(precision["n_queries"].max())
    lines.append(f"({n_queries:,} test images as queries, ± standard error over them; {context.source} data)")
    return "\n".join(lines) + "\n"


def _counts(counts: pd.DataFrame | None, context: WebContext) -> Mapping[tuple[str, str], float]:
    if counts is None or context.not_run:
        return {}
    keys = zip(counts["part"], counts["quantity"], counts["value"], strict=True)
    return {(str(part), str(quantity)): float(value) for part, quantity, value in keys}


def _printed_count(reference: pd.DataFrame, part: str, quantity: str) -> pd.Series | None:
    """Row of the papers' table, or of the running text; both are in JMLR, whose table the draft repeats in form."""
    if quantity in IN_TABLE:
        return printed_number(reference, JMLR, "table1", PARTS[part], "", quantity)
    return printed_number(reference, JMLR, "text", "", "", quantity)


def _ours_cell(value: float, form: str, context: WebContext) -> str:
    if context.not_run is not None:
        return NOT_RUN
    return MISSING if math.isnan(value) else format(value, form)


def _speeds(fits: pd.DataFrame | None, printed_rate: float, n_words: int) -> list[dict[str, Any]]:
    """One record a method, mode, number of threads and of images."""
    if fits is None or fits.empty:
        return []
    trained = fits[fits["n_steps"].fillna(0).gt(0) & (fits["method"] != AVERAGED)]
    records = []
    groups: Any = trained.groupby(["method", "mode", "n_threads", "n_train"], sort=False)
    for (method, mode, n_threads, n_train), rows in groups:
        means = rows[["n_steps", "chosen_step", "steps_per_second", "seconds_fit", "loss_rate"]].astype(float).mean()
        is_alike = n_words == PAPER_WORDS
        values = (
            "ours",
            str(method),
            str(mode),
            int(n_threads),
            int(rows["ranker"].nunique()),
            int(n_train),
            n_words,
            float(means["n_steps"]),
            float(means["chosen_step"]),
            float(means["steps_per_second"]),
            float((rows["n_steps"] / rows["cpu_seconds_fit"]).astype(float).mean()),
            float(means["seconds_fit"]) / 3600,
            float(rows["peak_memory_bytes"].astype(float).max()) / 1e9,
            100 * float(means["loss_rate"]),
            float(rows["resumed"].fillna(0).sum()) if "resumed" in rows else math.nan,
            float(means["steps_per_second"]) / printed_rate if is_alike else math.nan,
        )
        records.append(dict(zip(SPEED_COLUMNS, values, strict=True)))
    return records


def _printed_speed(reference: pd.DataFrame) -> dict[str, Any] | None:
    """What JMLR section 5.2.1 prints: triplets and minutes, on one CPU."""
    steps = printed_number(reference, JMLR, "text", "", "oasis", "web_triplets")
    minutes = printed_number(reference, JMLR, "text", "", "oasis", "web_training_time")
    if steps is None or minutes is None:
        return None
    n_steps, hours = float(steps["value"]), float(minutes["value"]) / 60
    nan = math.nan
    sizes = paper_images(reference), PAPER_WORDS, n_steps, n_steps
    values = ("printed", "oasis", "", 1, 1, *sizes, n_steps / hours / 3600, nan, hours)
    return dict(zip(SPEED_COLUMNS, (*values, nan, nan, nan, nan), strict=True))


def _speed_row(record: Mapping[str, Any], context: WebContext) -> tuple[str, ...]:
    printed = record["source"] == "printed"
    training = "JMLR" if printed else f"{context.title_of(record['method'])}, {record['mode']}"
    return (
        training,
        f"{record['n_threads']}",
        f"{record['n_rankers']}",
        f"{record['n_train']:,}",
        f"{record['n_words']:,}",
        f"{record['n_steps']:,.0f}",
        f"{record['steps_per_second']:,.0f}",
        plus_minus(record["steps_per_cpu_second"], math.nan, ",.0f"),
        times_over(record["over_printed"]),
        human_time(3600 * record["hours"]),
        plus_minus(record["peak_memory_gigabytes"], math.nan, ".2f"),
        plus_minus(record["loss_rate"], math.nan, ".1f"),
        plus_minus(record["resumed"], math.nan, ".0f"),
    )


def _threads(n_threads: int) -> str:
    return f"{n_threads} thread{'s' * (n_threads > 1)}"
