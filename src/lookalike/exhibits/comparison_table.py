"""Is OASIS better than a method? The differences of mean average precision with their intervals, as a table.

The block stands under JMLR Table 4 and draft Table 1 for their columns, and is an exhibit of its own for every method
that was run. The statistics are those of `lookalike.ranking.comparison`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.style import title_of
from lookalike.exhibits.tables import (
    MISSING,
    Block,
    Table,
    block_title,
    columns_of,
    latex_text,
    make_table,
    p_value,
    without_number,
)

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "oasis"
HEADING = "Methods compared: OASIS minus method, in points of mAP (1 point = 0.01)"
RULE = (
    "OASIS is better (worse) where two 95% intervals of the difference lie above (below) 0, that of the corrected "
    "resampled t-test (Nadeau and Bengio 2003) over partitions and that of a bootstrap clustered by image, and the "
    "test's p-value, adjusted by Holm's method, is below 0.05; else it is not decidable."
)
FAMILIES = {"compared": "compared methods", "variants": "symmetric variants"}
"""Families of p-values that Holm's method adjusts over, one a question, with their titles."""
VERDICTS = {"better": "OASIS better", "worse": "OASIS worse", "not decidable": "not decidable"}
HEADER = ("difference", "95% interval, t", "95% interval, bootstrap", "p (Holm)", "verdict")
NUMBERS = range(1, 5)
"""Places of the columns that hold numbers."""
POINTS = ("difference", "t_low", "t_high", "bootstrap_low", "bootstrap_high")
COLUMNS = (
    *("subset", "n_classes", "family", "method", *POINTS, "p_holm", "n_adjusted"),
    *("n_folds", "n_images", "verdict", "unit"),
)
"""``n_adjusted``: size of the family, the methods over which ``p_holm`` is adjusted."""


def comparison_table(comparison: pd.DataFrame | None, context: Context) -> Table:
    """Every compared method and variant against OASIS, a block for each subset and family of p-values.

    Parameters
    ----------
    comparison : DataFrame or None
        From `lookalike.ranking.comparison.compare_methods`, fractions of mAP.
    context : Context
        Its methods and variants are rows, then any other that was compared.

    Returns
    -------
    Table
        Frame columns `COLUMNS`, differences in points. A method without a common fold keeps its row.
    """
    families = _families(comparison, context)
    return _make(comparison, context, {FAMILIES.get(of, of): methods for of, methods in families.items()}, "")


def notes_on_families(table: Table, context: Context) -> str:
    """Sentence of the caption: over how many methods the p-values of each family are adjusted."""
    told = [
        f"{FAMILIES.get(str(family), str(family))} {_numbers_of(rows, context)}"
        for family, rows in table.frame.groupby("family", sort=False)
        if rows["n_adjusted"].max() > 0
    ]
    return f"Number of methods that p is adjusted over: {'; '.join(told)}." if told else ""


def with_comparison(table: Table, comparison: pd.DataFrame | None, context: Context, paper: str) -> Table:
    """Put the comparison of a table's own columns under it, with the rule of the verdicts.

    Parameters
    ----------
    table : Table
        JMLR Table 4 or draft Table 1.
    comparison : DataFrame or None
        As in `comparison_table`; None leaves the table as it is.
    context : Context
    paper : str
        Paper id, which decides how blocks are called.

    Returns
    -------
    Table
        The frame is the table's own: the comparison has a CSV as an exhibit of its own.
    """
    if comparison is None or context.not_run is not None:
        return table
    methods = [method for method in columns_of(context) if method != REFERENCE]
    under = _make(comparison, context, {"": methods}, paper)
    adjusted = _numbers_of(under.frame, context)
    rule = f"{RULE} Number of methods that p is adjusted over: {adjusted}." if adjusted else RULE
    markdown = f"{table.markdown}\n**{HEADING}**\n\n{under.markdown}\n{rule}\n"
    paragraphs = (r"\par\medskip", rf"\textbf{{{latex_text(HEADING)}}}", r"\par", under.latex.rstrip("\n"), r"\par")
    return Table(table.frame, markdown, table.latex + "\n".join([*paragraphs, latex_text(rule)]) + "\n")


def _make(
    comparison: pd.DataFrame | None, context: Context, families: Mapping[str, Sequence[str]], paper: str
) -> Table:
    """A block for each subset and family, which have titles where there are several."""
    import pandas as pd

    own = context.own(comparison)
    rows: Any = () if own is None else own[own["reference"] == REFERENCE].itertuples()
    found: dict[tuple[str, str], Any] = {(str(row.subset), str(row.method)): row for row in rows}
    sizes = _sizes(own)
    records, blocks = [], []
    for subset in context.subsets:
        for title, methods in families.items():
            of_family = [_record(subset, method, found, sizes, context) for method in methods]
            records += of_family
            cells = [(title_of(str(record["method"]), context.method_titles), *_cells(record)) for record in of_family]
            heading = block_title(subset, context, paper) + (f", {title}" if len(families) > 1 else "")
            blocks.append(Block((heading, *HEADER), tuple(cells)))
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    return make_table(frame, blocks, numbers=NUMBERS, notice=context.not_run_sentence)


def _families(comparison: pd.DataFrame | None, context: Context) -> dict[str, list[str]]:
    """Families with their methods, each once: those of the context in its order, then those that were compared besides.

    What a comparison says of a method's family goes before what the context would make of it.
    """
    own = context.own(comparison)
    told = {} if own is None or "family" not in own else dict(zip(own["method"], own["family"], strict=True))
    others = [] if own is None else sorted(set(own["method"].astype(str)))
    families: dict[str, list[str]] = {}
    for method in dict.fromkeys([*context.methods, *context.variants, *others]):
        if method != REFERENCE:
            by_context = "variants" if method in context.variants else "compared"
            families.setdefault(str(told.get(method, by_context)), []).append(method)
    return families


def _sizes(own: pd.DataFrame | None) -> dict[tuple[str, str], int]:
    """(subset, family) to the number of methods that have a p-value, which are those that it is adjusted over."""
    if own is None:
        return {}
    tested = own[own["p"].notna()].assign(family=own.get("family", ""))
    return Counter(zip(tested["subset"].astype(str), tested["family"].astype(str), strict=True))


def _numbers_of(records: pd.DataFrame, context: Context) -> str:
    """``4``, or where subsets differ ``4 (Var10), 3 (50 classes)``; "" where no p-value was adjusted."""
    sizes = records.groupby("subset", sort=False)["n_adjusted"].max()
    known = {str(subset): int(n) for subset, n in sizes.items() if n > 0}
    if len(set(known.values())) <= 1:
        return "".join(map(str, set(known.values())))
    titles = {subset.id: subset.title for subset in context.subsets}
    return ", ".join(f"{n} ({titles[subset]})" for subset, n in known.items())


def _record(
    subset: SubsetInfo,
    method: str,
    found: Mapping[tuple[str, str], Any],
    sizes: Mapping[tuple[str, str], int],
    context: Context,
) -> dict[str, Any]:
    """One row, with `COLUMNS`; its verdict is ``*``, ``-`` or ``not run`` where there is no difference."""
    row = found.get((subset.id, method))
    failed = next((of for of in (method, REFERENCE) if (subset.id, of) in context.not_converged), method)
    family = "" if row is None else str(getattr(row, "family", ""))
    by_context = "variants" if method in context.variants else "compared"
    names = {"subset": subset.id, "n_classes": subset.n_classes, "family": family or by_context}
    names |= {"method": method, "unit": "points"}
    # a mean over the folds that happened to end would be of the easier ones
    if row is None or (subset.id, failed) in context.not_converged or math.isnan(row.difference):
        nothing = dict.fromkeys((*POINTS, "p_holm"), math.nan) | {"n_adjusted": 0, "n_folds": 0, "n_images": 0}
        return names | nothing | {"verdict": without_number(subset.id, failed, context)}
    points = {column: 100 * float(getattr(row, column)) for column in POINTS}
    counts = {"n_folds": int(row.n_folds), "n_images": int(row.n_images)}
    adjusted = {"p_holm": float(row.p_holm), "n_adjusted": sizes.get((subset.id, family), 0)}
    return names | points | adjusted | counts | {"verdict": VERDICTS[str(row.verdict)]}


def _cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    if math.isnan(record["difference"]):
        return (record["verdict"], "", "", "", "")
    return (
        f"{record['difference']:+.1f}",
        _interval(record["t_low"], record["t_high"]),
        _interval(record["bootstrap_low"], record["bootstrap_high"]),
        p_value(record["p_holm"]),
        record["verdict"],
    )


def _interval(low: float, high: float) -> str:
    return MISSING if math.isnan(low) else f"{low:+.1f} to {high:+.1f}"
