"""Numbers that a paper prints in its running text, ours beside them, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from lookalike.exhibits.model import Table
from lookalike.exhibits.printed import beside_print, plus_minus
from lookalike.exhibits.study import Study


class Fact(NamedTuple):
    """One number of ours that a paper prints too."""

    metric: str
    title: str
    ours: float
    form: str = ",.0f"
    ours_std: float = float("nan")
    method: str = ""
    subset: str = ""
    words: int = 0
    """Size of the codebook that it depends on; 0 where it depends on none."""


def numbers_in_text(study: Study, facts: Sequence[Fact], notes: tuple[str, ...] = ()) -> Table:
    """Set facts beside the printed ones of the paper at hand; what it does not print is left out."""
    cells = beside_print(pd.DataFrame(facts), study.printed_in("text"), on=("method", "metric"))
    cells = cells[cells["is_printed"]].assign(unit="")
    records = cells.to_dict("records")
    cells["title"] = [row["title"] + f" ({row['words']:,} words)" * (row["words"] > 0) for row in records]
    cells["ours_cell"] = [plus_minus(row["ours"], row["ours_std"], row["form"]) for row in records]
    cells["printed_cell"] = [plus_minus(row["printed"], row["printed_std"], ",.10g") for row in records]
    heads = {"title": study.title, "ours_cell": "ours", "printed_cell": "paper"}
    return Table(cells, heads=heads, numbers=frozenset(("ours_cell", "printed_cell")), notes=notes)
