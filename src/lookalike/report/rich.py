"""How exhibits display themselves in a notebook: HTML that needs no file beside it, with every text escaped."""

from __future__ import annotations

import base64
import re
from html import escape
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lookalike.report.results import Dataset, Exhibit, Results

MOST_ROWS = 60
"""Rows of a table without a text form that are shown."""
SIGNS = {
    "agrees": "=",
    "higher": "▲",
    "lower": "▼",
    "mixed": "◆",
    "not comparable": "○",
    "not run": "–",
    "no printed number": "·",
}
"""A sign beside the word of each state, so that nothing rests on colour."""


def exhibit_html(exhibit: Exhibit) -> str:
    """Show an exhibit: title, picture or table, status and caption.

    Parameters
    ----------
    exhibit : Exhibit

    Returns
    -------
    str
        One ``<figure>``; the picture is inside it as a data URI. What cannot be read is told in its place.
    """
    try:
        body = _body(exhibit)
    except LookalikeError as error:
        body = f"<p>{escape(str(error))}</p>"
    synthetic = ", synthetic data" if exhibit.synthetic else ""
    head = f"<strong>{escape(exhibit.title)}</strong>, {escape(exhibit.dataset_title)}{synthetic}"
    return (
        f'<figure style="margin: 1em 0">\n<p>{head}</p>\n{body}\n'
        f"<p>{_state(exhibit)}</p>\n<figcaption>{escape(exhibit.caption)}</figcaption>\n</figure>"
    )


def dataset_html(dataset: Dataset) -> str:
    """Show a data set: its headline, and its exhibits with their states."""
    synthetic = " (synthetic data)" if dataset.synthetic else ""
    headline = f"<pre>{escape(dataset.headline)}</pre>\n" if dataset.headline else ""
    note = f"<p>{escape(dataset.not_run)}</p>\n" if dataset.not_run else ""
    rows = [(exhibit.key, exhibit.title, _state(exhibit)) for exhibit in dataset.exhibits]
    return f"<p><strong>{escape(dataset.title)}</strong>{synthetic}</p>\n{note}{headline}" + _listed(
        ("exhibit", "title", "status"), rows
    )


def results_html(results: Results) -> str:
    """Show what a folder of results holds: its data sets, how many exhibits each has and in which states."""
    rows = []
    for dataset in results.datasets:
        states: dict[str, int] = {}
        for exhibit in dataset.exhibits:
            states[exhibit.state] = states.get(exhibit.state, 0) + 1
        told = ", ".join(f"{count} {SIGNS[state]} {state}" for state, count in states.items())
        data = "synthetic" if dataset.synthetic else "real"
        rows.append((dataset.id, dataset.title, data, escape(dataset.not_run or told)))
    head = f"<p><strong>Results in {escape(str(results.folder))}</strong></p>\n"
    if not rows:
        return head + "<p>No exhibits yet: run <code>make demo</code> first.</p>"
    return head + _listed(("data set", "title", "data", "exhibits"), rows)


def markdown_html(text: str) -> str:
    """HTML of the Markdown that exhibits are written in: tables, paragraphs, bold text.

    Parameters
    ----------
    text : str
        From `lookalike.exhibits.tables.markdown_table` and its neighbours. Headings are left out: who shows a table
        gives it one of its own.

    Returns
    -------
    str
        ``<table>`` and ``<p>`` elements, every text escaped.
    """
    parts = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if len(lines) > 1 and re.fullmatch(r"\|[-:| ]+\|", lines[1].strip()):
            parts.append(_markdown_table(lines))
        elif lines:
            parts.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "\n".join(parts)


def _body(exhibit: Exhibit) -> str:
    """The picture or the table itself."""
    picture = exhibit.picture()
    if picture is not None:
        try:
            data = base64.b64encode(picture.read_bytes()).decode("ascii")
        except OSError as error:
            raise LookalikeError(f"cannot read {picture}: {error.strerror}") from error
        # the caption beneath describes it; here is what it is
        alternative = escape(f"{exhibit.title}, {exhibit.kind} of {exhibit.dataset_title}", quote=True)
        return f'<img style="max-width: 100%; background: #fff" alt="{alternative}" src="data:image/png;base64,{data}">'
    text = exhibit.markdown()
    if text is not None:
        # the caption stands beneath as the figure's own
        return markdown_html(text.replace(exhibit.caption, "") if exhibit.caption else text)
    if not exhibit.has_table:
        return "<p>There is nothing to show.</p>"
    table = exhibit.table()
    shown: str = table.head(MOST_ROWS).to_html(index=False, border=0, na_rep="", escape=True)
    more = len(table) - MOST_ROWS
    return shown + (f"<p>and {more:,} rows more</p>" if more > 0 else "")


def _state(exhibit: Exhibit) -> str:
    """Sign and word of the state, then what the statuses add up to where that says more."""
    told = exhibit.not_run or ": ".join(filter(None, (exhibit.state, exhibit.status if exhibit.statuses else "")))
    if not exhibit.not_run and set(exhibit.statuses) == {exhibit.state}:
        told = exhibit.status or exhibit.state
    return f"{SIGNS[exhibit.state]} {escape(told)}"


def _listed(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose last column is markup and whose others are text."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[:-1]) + f"<td>{row[-1]}</td></tr>" for row in rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _markdown_table(lines: Sequence[str]) -> str:
    """Return a pipe table as HTML, numbers to the right as its rule says."""
    header, rule, *rows = (pipe_cells(line) for line in lines)
    right = [cell.endswith(":") for cell in rule]

    def row(cells: Sequence[str], tag: str) -> str:
        styles = [' style="text-align: right"' if i < len(right) and right[i] else "" for i in range(len(cells))]
        scope = ' scope="col"' if tag == "th" else ""
        inner = (f"<{tag}{scope}{style}>{_inline(cell)}</{tag}>" for cell, style in zip(cells, styles, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    body = "\n".join(row(cells, "td") for cells in rows)
    return f"<table>\n<thead>{row(header, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def pipe_cells(line: str) -> list[str]:
    r"""Cells of a line of a pipe table, where ``\|`` is a bar within a cell."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def _inline(text: str) -> str:
    """Escape a text and make its ``**bold**`` parts bold."""
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text))
