"""How much the representation matters: mAP of every method in every representation that was run.

No paper prints this table. It is the one exhibit that looks beyond the study's own representation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.context import Context
from lookalike.exhibits.style import title_of
from lookalike.exhibits.tables import NOT_RUN, Block, Table, make_table, plus_minus
from lookalike.ranking.statistics import summarise

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("subset", "n_classes", "representation", "method", "map", "map_std", "n_folds", "cell", "unit")


def ablations(metrics: pd.DataFrame | None, context: Context) -> Table:
    """Mean average precision, mean and standard deviation over folds in percent, by subset and representation.

    Parameters
    ----------
    metrics : DataFrame or None
        Tidy metrics (fractions 0..1) of all representations.
    context : Context
        Its subsets are blocks, its methods columns.

    Returns
    -------
    Table
        One row a representation, the study's own first; frame columns `COLUMNS`.
    """
    import pandas as pd

    own = _own(metrics, context)
    summary = summarise(own, by=("subset", "representation", "method"))
    found = {(row.subset, row.representation, row.method): row for row in summary.itertuples()}
    others = sorted(set(own["representation"]) - {context.representation})
    records, blocks = [], []
    for subset in context.subsets:
        rows = []
        for representation in (context.representation, *others):
            cells = []
            for method in context.methods:
                row: Any = found.get((subset.id, representation, method))
                mean, std = (math.nan, math.nan) if row is None else (100 * row.mean, 100 * row.std)
                cells.append(NOT_RUN if context.not_run else plus_minus(mean, std, ".1f"))
                n_folds = 0 if row is None else int(row.n_folds)
                key = (subset.id, subset.n_classes, representation, method)
                records.append((*key, mean, std, n_folds, cells[-1], "percent"))
            rows.append((representation, *cells))
        header = (subset.title, *(title_of(method, context.method_titles) for method in context.methods))
        blocks.append(Block(header, tuple(rows)))
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    return make_table(frame, blocks, numbers=range(1, 1 + len(context.methods)), notice=context.not_run_sentence)


def _own(metrics: pd.DataFrame | None, context: Context) -> pd.DataFrame:
    """The data set's mAP in every representation."""
    import pandas as pd

    if metrics is None or context.not_run is not None:
        columns = {name: pd.Series(dtype=str) for name in ("subset", "representation", "method")}
        return pd.DataFrame(columns | {"value": pd.Series(dtype=float)})
    chosen = metrics["metric"] == "map"
    if "dataset" in metrics:
        chosen &= metrics["dataset"] == context.dataset
    return metrics[chosen]
