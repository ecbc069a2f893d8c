"""The main numbers of a study, for the terminal and the documentation."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from lookalike.exhibits.printed import STAR

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

WIDTH = 78
"""Columns of its sentences: no terminal is narrower."""


def headline(study: Study) -> str:
    """Return the main numbers as a small table, with what has to be known of them."""
    if study.not_run:
        return f"{study.title}: {study.not_run}\n"
    what, columns, rows, sentences = study.main_numbers()
    grid = [("", *columns), *((f"  {study.title_of(method)}", *cells) for method, cells in rows.items())]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in grid]
    lost = (
        [f"{STAR} marks what did not end within its time limit."]
        if any(STAR in cells for cells in rows.values())
        else []
    )
    sentences = [" ".join([*lost, *sentences[:1]]), *sentences[1:]]
    wrapped = [line for sentence in sentences for line in textwrap.wrap(sentence, WIDTH)]
    return "\n".join([f"{study.title}: {what}", *lines, *wrapped]) + "\n"
