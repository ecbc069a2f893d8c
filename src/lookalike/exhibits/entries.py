"""The entries of the studies' exhibits.yaml, each of which is made an exhibit."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lookalike.exhibits.curves import figure_of
from lookalike.exhibits.declared import Declared
from lookalike.exhibits.model import Drawn
from lookalike.exhibits.registry import Exhibit, declare
from lookalike.exhibits.tables import numbers_in_text, table_of

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study


@cache
def declare_all(room: str, path: Path) -> None:
    """Make every entry of a study's exhibits.yaml an exhibit, once."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for id, entry in entries.items():
        if not id.startswith("."):  # what entries have in common
            declare(exhibit_of(id, room, Declared.model_validate(entry)))


def exhibit_of(id: str, room: str, declared: Declared) -> Exhibit:
    """Return the exhibit that an entry declares."""
    parts = {column: value for column, value in declared.where.items() if column not in ("metric", "method")}

    def has_all(study: Study) -> bool:
        has_parts = all(value in study.titles_of(column) for column, value in parts.items())
        return has_parts and not (declared.real and study.synthetic) and study.measures(declared)

    return Exhibit(
        id,
        room,
        declared.title,
        "figure" if declared.figure is not None else "table",
        partial(draw, declared),
        needs=("results",),
        optional=("times",),
        asks=(*declared.metrics, *(str(value) for value in parts.values())),
        shows=tuple(declared.needed),
        when=has_all,
        condition=declared.condition,
        caption=declared.caption,
        drawn_by=f"studies/{room}/exhibits.yaml",
    )


def draw(declared: Declared, study: Study) -> Drawn:
    """Draw the table, the figure or the numbers in the text that an entry declares."""
    if declared.figure is not None:
        return figure_of(declared, declared.figure, study)
    return table_of(declared, declared.table, study) if declared.table is not None else numbers_in_text(declared, study)
