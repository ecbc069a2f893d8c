"""Tables of the landmark study in the paper's form (SOML, AAAI 2014, Tables 1 to 9), and two of our own.

Of each codebook the paper prints mean average precision, sparsity of the learned weights and training time by landmark.
Where the data are its landmarks, each row of ours has the printed row beneath it. No paper prints what whole images as
queries change, nor what the algorithms do as they are printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lookalike.exhibits import compare as compared
from lookalike.exhibits.landmark_context import PAPER, PRINTED_METHOD, TABLE_METHODS, Codebook, LandmarkContext
from lookalike.exhibits.reference import printed_number, reason_in_print
from lookalike.exhibits.runtime import OTHER_MACHINE, TRAIN_TIME
from lookalike.exhibits.tables import (
    MISSING,
    NOT_RUN,
    STAR,
    Block,
    Table,
    make_table,
    plus_minus,
    significant,
)
from lookalike.ranking.statistics import summarise

if TYPE_CHECKING:
    import pandas as pd

MAP, MAP_FULL, SPARSITY = "map", "map_full", "sparsity"
QUANTITIES = (MAP, SPARSITY, TRAIN_TIME)
"""What the paper's tables show, three tables each, one a codebook."""
MEAN = "mean"
"""Row of the mean over landmarks, which the paper prints for mean average precision alone."""
NONZEROS = "nonzeros"
"""Words that an image to learn from has, on average."""
TIME_RULE = (
    "Seconds. No verdict: the paper's times are of another machine and of other programs, and ours of OASIS (with a "
    "diagonal matrix, whose steps do no work of O(d)) and of QPAO (reconstructed) need not even be their algorithms."
)
RULE = (
    "Agrees: |ours - printed| <= 2 s + half the last printed digit; s: standard deviation of ours over draws of the "
    "images to learn from, as the paper prints none. map and sparsity in percent."
)
CSV_COLUMNS = (
    "representation",
    "n_words",
    "landmark",
    "metric",
    "method",
    "ours",
    "ours_std",
    "n_draws",
    "ours_cell",
    "printed",
    "printed_cell",
    "unit",
    "status",
)
REGION_COLUMNS = ("representation", "n_words", "region", "method", "map", "map_std", "n_draws", "cell", "unit")
LITERAL_COLUMNS = (
    "representation",
    "n_words",
    "method",
    "metric",
    "value",
    "std",
    "n_draws",
    "cell",
    "unit",
)
LITERAL_METRICS = {
    MAP: "mAP (%)",
    SPARSITY: "Sparsity (%)",
    "update_share": "Steps with an update (%)",
}
LITERAL_OF = ("soml-tg", "soml-da")
"""Methods whose printed form differs from what can work; their variants stand beneath them."""

Summary = Mapping[tuple[str, str, str], tuple[float, float, int]]
"""(landmark, method, metric) to mean, standard deviation over draws, and number of draws."""


def paper_table(quantity: str, codebook: Codebook) -> str:
    """Name of the paper's table of a quantity at a codebook's place: ``table1`` to ``table9``."""
    return f"table{1 + 3 * QUANTITIES.index(quantity) + codebook.place}"


def landmark_table(
    metrics: pd.DataFrame | None,
    fits: pd.DataFrame | None,
    context: LandmarkContext,
    reference: pd.DataFrame,
    quantity: str,
    codebook: Codebook,
) -> Table:
    """One of the paper's nine tables: a row a landmark, a column a method, ours above the paper's.

    Parameters
    ----------
    metrics : DataFrame or None
        Tidy metrics (fractions 0..1) with ``map`` and ``sparsity``.
    fits : DataFrame or None
        What each fit recorded: ``cpu_seconds_fit``.
    context : LandmarkContext
    reference : DataFrame
        Printed numbers, from `lookalike.exhibits.reference.load`.
    quantity : {"map", "sparsity", "train_time"}
    codebook : Codebook

    Returns
    -------
    Table
        Frame columns `CSV_COLUMNS`, in percent or seconds; TF-IDF, which learns nothing, is in tables of mAP alone.
    """
    import pandas as pd

    summary = summary_of(metrics, fits, context, codebook)
    beside = compare_landmarks(metrics, fits, context, reference, quantity, codebook)
    printed: dict[Any, Any] = {(row.subset, row.method): row for row in beside.itertuples()}
    methods = columns_of(context, quantity)
    landmarks = {**context.landmarks, MEAN: "mAP" if quantity == MAP else "mean"}
    records, rows, italic = [], [], set()
    for landmark, title in landmarks.items():
        cells = [_record(landmark, method, quantity, codebook, summary, printed, context) for method in methods]
        records += cells
        rows.append((title, "ours", *(record["ours_cell"] for record in cells)))
        if any(record["printed_cell"] for record in cells):
            italic.add(len(rows))
            rows.append(("", "paper", *(record["printed_cell"] for record in cells)))
    header = (f"{codebook.title} words", "", *(context.title_of(method) for method in methods))
    frame = pd.DataFrame(records, columns=list(CSV_COLUMNS))
    block = Block(header, tuple(rows), frozenset(italic))
    return make_table(frame, [block], numbers=range(2, 2 + len(methods)), notice=context.not_run_sentence)


def compare_landmarks(
    metrics: pd.DataFrame | None,
    fits: pd.DataFrame | None,
    context: LandmarkContext,
    reference: pd.DataFrame,
    quantity: str,
    codebook: Codebook,
) -> pd.DataFrame:
    """Compare every number that one of the paper's tables prints with ours; times get no verdict.

    Parameters
    ----------
    metrics, fits, context, reference, quantity, codebook
        As in `landmark_table`.

    Returns
    -------
    DataFrame
        Columns `lookalike.exhibits.compare.COLUMNS`, ``subset`` being the landmark, in percent or seconds. No row where
        the data are of other landmarks than the paper's.
    """
    if not context.shows_printed:
        return compared.comparison_frame([])
    summary = summary_of(metrics, fits, context, codebook)
    of_table = (reference["paper"] == PAPER) & (reference["exhibit"] == paper_table(quantity, codebook))
    reference = reference[of_table]
    rows = []
    for landmark in (*context.landmarks, MEAN):
        for method in TABLE_METHODS:
            row = _printed(reference, quantity, codebook, landmark, method)
            if row is not None:
                mean, std, _ = summary.get((landmark, method, quantity), NO_NUMBER)
                judged = _judged(row, context, codebook, (landmark, method, quantity), mean, std)
                rows.append(compared.compared_row(row, landmark, mean, std, *judged))
    return compared.comparison_frame(rows)


NO_NUMBER = (math.nan, math.nan, 0)


def summary_of(
    metrics: pd.DataFrame | None, fits: pd.DataFrame | None, context: LandmarkContext, codebook: Codebook
) -> Summary:
    """Mean and standard deviation over draws of every metric of a codebook, of each landmark and of their mean.

    The mean over landmarks is taken within each draw, so that its spread is one over draws too. A method that has no
    result in some draw of a landmark has none there, nor a mean over landmarks: what did end is the easier part.

    Parameters
    ----------
    metrics, fits, context, codebook
        As in `landmark_table`.

    Returns
    -------
    mapping
        (landmark or "mean", method, metric) to mean, standard deviation (NaN for one draw) and number of draws;
        fractions in percent, ``train_time`` in seconds.
    """
    long = values_of(metrics, fits, context)
    if long is None:
        return {}
    own = long[long["representation"] == codebook.id]
    means = own.groupby(["method", "metric", "draw"], sort=False)["value"].agg(["mean", "count"]).reset_index()
    # a draw that lacks a landmark has no mean over all of them
    whole = means[means["count"] == len(context.landmarks)].rename(columns={"mean": "value"}).assign(landmark=MEAN)
    found: dict[tuple[str, str, str], tuple[float, float, int]] = {}
    for part in (own, whole):
        summary: Any = summarise(part, by=("landmark", "method", "metric")).itertuples()
        for row in summary:
            if not _failed(context, codebook, row.landmark, row.method):
                found[row.landmark, row.method, row.metric] = (row.mean, row.std, int(row.n_folds))
    return found


def values_of(metrics: pd.DataFrame | None, fits: pd.DataFrame | None, context: LandmarkContext) -> pd.DataFrame | None:
    """Every number of a study in one long table.

    Returns
    -------
    DataFrame or None
        ``representation``, ``landmark``, ``method``, ``draw``, ``metric``, ``value``: metrics in percent, besides them
        ``train_time`` in seconds of CPU time, ``update_share`` in percent (where fits recorded ``n_updates`` and
        ``n_steps``) and ``nonzeros``, words of an image to learn from.
    """
    import pandas as pd

    parts = []
    own = context.own(metrics)
    if own is not None:
        parts.append(own.assign(value=100 * own["value"]))
    times = context.own(fits)
    if times is not None:
        if "cpu_seconds_fit" in times:
            parts.append(times.assign(metric=TRAIN_TIME, value=times["cpu_seconds_fit"]))
        if "nonzeros_per_image_train" in times:
            parts.append(times.assign(metric=NONZEROS, value=times["nonzeros_per_image_train"]))
        if {"n_updates", "n_steps"} <= set(times.columns):
            share = 100 * times["n_updates"].astype(float) / times["n_steps"].astype(float)
            parts.append(times.assign(metric="update_share", value=share))
    if not parts:
        return None
    columns = ["representation", "landmark", "method", "draw", "metric", "value"]
    long = pd.concat([part[columns] for part in parts], ignore_index=True)
    return long[long["landmark"].isin(list(context.landmarks))].dropna(subset=["value"])


def columns_of(context: LandmarkContext, quantity: str = MAP) -> tuple[str, ...]:
    """Methods that have a column: those of the paper's tables, then every further one that was run."""
    further = (method for method in context.methods if method not in TABLE_METHODS)
    learned = (method for method in TABLE_METHODS if quantity == MAP or method != "tfidf")
    return (*learned, *further)


def query_regions(metrics: pd.DataFrame | None, context: LandmarkContext) -> Table:
    """Mean average precision over landmarks with the query's rectangle alone and with its whole image, in percent.

    Returns
    -------
    Table
        Frame columns `REGION_COLUMNS`; a block of two rows for each codebook.
    """
    import pandas as pd

    methods = columns_of(context)
    records, blocks = [], []
    for codebook in context.codebooks:
        summary = summary_of(metrics, None, context, codebook)
        rows = []
        for region, metric in (("box", MAP), ("full", MAP_FULL)):
            cells = []
            for method in methods:
                mean, std, n_draws = summary.get((MEAN, method, metric), NO_NUMBER)
                cells.append(_ours_cell(mean, std, MAP, context, codebook, MEAN, method))
                key = (codebook.id, codebook.n_words, region, method)
                records.append((*key, mean, std, n_draws, cells[-1], "percent"))
            rows.append(({"box": "rectangle", "full": "whole image"}[region], *cells))
        header = (f"{codebook.title} words", *(context.title_of(method) for method in methods))
        blocks.append(Block(header, tuple(rows)))
    frame = pd.DataFrame(records, columns=list(REGION_COLUMNS))
    return make_table(frame, blocks, numbers=range(1, 1 + len(methods)), notice=context.not_run_sentence)


def literal_forms(metrics: pd.DataFrame | None, fits: pd.DataFrame | None, context: LandmarkContext) -> Table:
    """Both SOML algorithms with the true subgradient beside what their equations and algorithms say in print.

    Returns
    -------
    Table
        Frame columns `LITERAL_COLUMNS`: means over landmarks, ``update_share`` the share of steps after which w was
        computed anew; TF-IDF, which all learning starts from in the reader's mind, is the first row of each block.
    """
    import pandas as pd

    methods = ["tfidf"] if "tfidf" in context.methods else []
    for method in LITERAL_OF:
        methods += [method, *(variant for variant in context.variants if variant.startswith(f"{method}-"))]
    records, blocks = [], []
    for codebook in context.codebooks:
        summary = summary_of(metrics, fits, context, codebook)
        rows = []
        for method in methods:
            cells = []
            for metric in LITERAL_METRICS:
                mean, std, n_draws = (
                    NO_NUMBER if method == "tfidf" and metric != MAP else summary.get((MEAN, method, metric), NO_NUMBER)
                )
                quantity = SPARSITY if metric == SPARSITY else MAP
                cells.append(_ours_cell(mean, std, quantity, context, codebook, MEAN, method))
                key = (codebook.id, codebook.n_words, method, metric)
                records.append((*key, mean, std, n_draws, cells[-1], "percent"))
            rows.append((context.title_of(method), *cells))
        blocks.append(Block((f"{codebook.title} words", *LITERAL_METRICS.values()), tuple(rows)))
    frame = pd.DataFrame(records, columns=list(LITERAL_COLUMNS))
    numbers = range(1, 1 + len(LITERAL_METRICS))
    return make_table(frame, blocks, numbers=numbers, notice=context.not_run_sentence)


def landmark_headline(metrics: pd.DataFrame | None, context: LandmarkContext) -> str:
    """Mean average precision of every method in one line a codebook, in percent, means over landmarks.

    Parameters
    ----------
    metrics : DataFrame or None
    context : LandmarkContext

    Returns
    -------
    str
        Such as ``10,000 words  mAP  TF-IDF 33.9 ± 0.4 %  S-DA 48.1 ± 1.2 %``, then a line that says what ± is.
    """
    if context.not_run_sentence:
        return f"{context.title}: {context.not_run_sentence}\n"
    width = max((len(codebook.title) for codebook in context.codebooks), default=0)
    lines, starred = [], False
    for codebook in context.codebooks:
        summary = summary_of(metrics, None, context, codebook)
        cells = []
        for method in context.methods:
            mean, std, _ = summary.get((MEAN, method, MAP), NO_NUMBER)
            value = _without_number(context, codebook, MEAN, method)
            cells.append(
                f"{context.title_of(method)} " + (value if math.isnan(mean) else f"{plus_minus(mean, std, '.1f')} %")
            )
            starred |= math.isnan(mean) and value == STAR
        lines.append(f"{codebook.title.rjust(width)} words  mAP  " + "  ".join(cells))
    images = ", synthetic images" if context.synthetic else ""
    star = f"; {STAR}: did not end within its time limit" if starred else ""
    spread = f" ± standard deviation over {context.n_draws} draws" if context.n_draws > 1 else ", one draw"
    lines.append(f"(mean over {len(context.landmarks)} landmarks{spread}{images}{star})")
    return "\n".join(lines) + "\n"


def not_converged_sentence(context: LandmarkContext, codebooks: Sequence[Codebook], methods: Sequence[str]) -> str:
    """Explain the ``*`` of ours; "" where there is none.

    Examples
    --------
    ``*: no number of ours, since a fit did not end within its time limit: QPAO (reconstructed) on Bodleian, 1,000,000
    words: the final fit took more than 600 s of CPU time (2 of 5 draws).``
    """
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for codebook in codebooks:
        for landmark, title in context.landmarks.items():
            for method in methods:
                reason = context.not_converged.get((codebook.id, landmark, method))
                if reason:
                    reasons.setdefault((context.title_of(method), codebook.title, reason), []).append(title)
    if not reasons:
        return ""
    told = "; ".join(
        f"{method} on {', '.join(titles)}, {words} words: {reason}"
        for (method, words, reason), titles in reasons.items()
    )
    return f"{STAR}: no number of ours, since a fit did not end within its time limit: {told}."


def _record(
    landmark: str,
    method: str,
    quantity: str,
    codebook: Codebook,
    summary: Summary,
    printed: Mapping[Any, Any],
    context: LandmarkContext,
) -> dict[str, Any]:
    """One cell, ours and the paper's, with `CSV_COLUMNS`."""
    mean, std, n_draws = summary.get((landmark, method, quantity), NO_NUMBER)
    row = printed.get((landmark, PRINTED_METHOD.get(method, method)))
    value = math.nan if row is None else row.printed
    return {
        "representation": codebook.id,
        "n_words": codebook.n_words,
        "landmark": landmark,
        "metric": quantity,
        "method": method,
        "ours": mean,
        "ours_std": std,
        "n_draws": n_draws,
        "ours_cell": _ours_cell(mean, std, quantity, context, codebook, landmark, method),
        "printed": value,
        "printed_cell": "" if row is None else _printed_cell(value, quantity),
        "unit": "seconds" if quantity == TRAIN_TIME else "percent",
        "status": "" if row is None else row.status,
    }


def _ours_cell(
    mean: float, std: float, quantity: str, context: LandmarkContext, codebook: Codebook, landmark: str, method: str
) -> str:
    """Percentages with two decimals, as printed; times to two significant digits."""
    if math.isnan(mean):
        return _without_number(context, codebook, landmark, method)
    return significant(mean, std) if quantity == TRAIN_TIME else plus_minus(mean, std, ".2f")


def _printed_cell(value: float, quantity: str) -> str:
    return f"{value:,g}" if quantity == TRAIN_TIME else f"{value:.2f}"


def _without_number(context: LandmarkContext, codebook: Codebook, landmark: str, method: str) -> str:
    if context.not_run is not None:
        return NOT_RUN
    return STAR if _failed(context, codebook, landmark, method) else MISSING


def _failed(context: LandmarkContext, codebook: Codebook, landmark: str, method: str) -> str:
    """Why a method has no number of a landmark, or of the mean over them; "" where it has one."""
    landmarks = context.landmarks if landmark == MEAN else (landmark,)
    keys = ((codebook.id, name, method) for name in landmarks)
    return next((context.not_converged[key] for key in keys if key in context.not_converged), "")


def _printed(
    reference: pd.DataFrame, quantity: str, codebook: Codebook, landmark: str, method: str
) -> pd.Series | None:
    """The paper's number, or None where it prints none of this landmark."""
    return printed_number(
        reference,
        PAPER,
        paper_table(quantity, codebook),
        f"codebook={codebook.setting};landmark={landmark}",
        PRINTED_METHOD.get(method, method),
        quantity,
    )


def _judged(
    row: pd.Series,
    context: LandmarkContext,
    codebook: Codebook,
    key: tuple[str, str, str],
    ours: float,
    ours_std: float,
) -> tuple[str, str]:
    """Status and, where it is no verdict, the reason."""
    landmark, method, quantity = key
    if context.not_run_sentence is not None:
        return context.not_run_sentence, "the images are not in place"
    if math.isnan(row["value"]):
        return compared.NO_PRINTED_VALUE, reason_in_print(row) or "the paper prints no number"
    if math.isnan(ours):
        failed = _failed(context, codebook, landmark, method)
        if failed:
            return compared.NO_RESULT, f"did not converge: {failed}"
        run = method in context.methods
        what = f"this run has no {quantity}" if run else f"{context.title_of(method)} was not run"
        return compared.NO_RESULT, what
    if quantity == TRAIN_TIME:
        return compared.NOT_COMPARABLE, "; ".join(filter(None, (codebook.why_not_comparable, OTHER_MACHINE)))
    if codebook.why_not_comparable:
        return compared.NOT_COMPARABLE, codebook.why_not_comparable
    return compared.status_of(ours, ours_std, row["value"], math.nan, row["last_digit"]), ""
