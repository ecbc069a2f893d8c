"""Writing exhibits: the files of one table or figure, and the index of all of them.

Of the studies that have a catalogue of their own; `lookalike.exhibits.writing` writes those of the registry.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lookalike.core.files import read_json, replacing, write_table
from lookalike.exhibits import compare as compared
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.reference import ALL_PAPERS
from lookalike.exhibits.runtime import TRAIN_TIME
from lookalike.exhibits.sidecar import write_sidecar
from lookalike.exhibits.style import save_figure, title_of
from lookalike.exhibits.tables import Table, markdown_table, plus_minus, significant

if TYPE_CHECKING:
    import pandas as pd


class Data(Protocol):
    """What the files of an exhibit say about its data, whichever study it is of."""

    @property
    def dataset(self) -> str:
        """Id of the data set."""
        ...

    @property
    def title(self) -> str:
        """Its title."""
        ...

    @property
    def synthetic(self) -> bool:
        """Whether its images are made by code."""
        ...

    @property
    def not_run_sentence(self) -> str | None:
        """``not run: put X at Y``; None where it was run."""
        ...

    @property
    def method_titles(self) -> Mapping[str, str]:
        """Titles of methods that differ from the usual ones."""
        ...


class Described(Protocol):
    """What the files of an exhibit say about it, whichever catalogue it is in."""

    @property
    def paper(self) -> str:
        """Id of the paper, or of a group of our own."""
        ...

    @property
    def name(self) -> str:
        """Name of its files."""
        ...

    @property
    def kind(self) -> str:
        """``table`` or ``figure``."""
        ...

    @property
    def title(self) -> str:
        """What the paper calls it, or we do."""
        ...

    @property
    def drawn_by(self) -> str:
        """Dotted name of the module that draws it."""
        ...

    @property
    def rule(self) -> str:
        """How the status of a printed number is found."""
        ...

    @property
    def rows_in_sidecar(self) -> bool:
        """Whether the sidecar has the table's rows too."""
        ...

    @property
    def has_printed(self) -> bool:
        """Whether a paper prints numbers of it."""
        ...

    @property
    def header(self) -> tuple[str, str]:
        """What a subset and a fold are called above the columns of the comparison."""
        ...

    @property
    def forms(self) -> Mapping[str, str]:
        """Formats of metrics that differ from the usual ones."""
        ...


def write_files(
    exhibit: Described,
    drawn: Table | Plot,
    *,
    caption: str,
    comparison: pd.DataFrame,
    context: Data,
    folder: str | os.PathLike[str],
    sources: Sequence[str] = (),
) -> list[Path]:
    """Write all files of one exhibit that is drawn.

    Parameters
    ----------
    exhibit : Described
        Its entry in a catalogue.
    drawn : Table or Plot
    caption : str
    comparison : DataFrame
        Columns `lookalike.exhibits.compare.COLUMNS`; no row where no paper prints a number.
    context : Data
    folder : path-like
        Where to write.
    sources : sequence of str
        Files that the numbers come from, kept in the sidecar.

    Returns
    -------
    list of Path
        ``{name}.csv``, then ``.md`` and ``.tex`` or ``.png``, ``.svg`` and ``.pdf``, then ``{name}_compare.csv`` and
        ``.md``, then the sidecar ``{name}.json``.
    """
    folder, name = Path(folder), exhibit.name
    statuses = compared.count_statuses(comparison)

    written = [folder / f"{name}.csv"]
    write_table(drawn.frame, written[0])
    if isinstance(drawn, Plot):
        written += save_figure(drawn.figure, folder / name)
    else:
        written.append(_write_text(f"# {exhibit.title}\n\n{drawn.markdown}\n{caption}\n", folder / f"{name}.md"))
        written.append(_write_text(f"% {caption}\n{drawn.latex}", folder / f"{name}.tex"))
    written.append(folder / f"{name}_compare.csv")
    write_table(comparison, written[-1])
    written.append(_write_text(compare_markdown(comparison, exhibit, context), folder / f"{name}_compare.md"))
    rows: Any = drawn.frame.to_dict("records") if exhibit.rows_in_sidecar else ()
    sidecar = write_sidecar(
        folder,
        paper=exhibit.paper,
        name=name,
        kind=exhibit.kind,
        title=exhibit.title,
        caption=caption,
        dataset=context.dataset,
        dataset_title=context.title,
        synthetic=context.synthetic,
        files=written,
        drawn_by=exhibit.drawn_by,
        statuses=statuses,
        status=compared.summary_line(statuses) if exhibit.has_printed else "",
        not_run=context.not_run_sentence,
        sources=sources,
        rows=rows,
    )
    return [*written, sidecar]


def compare_markdown(comparison: pd.DataFrame, exhibit: Described, context: Data) -> str:
    """Return the comparison as Markdown: a line that sums it up, then one row a printed number.

    Of an exhibit that no paper prints there is nothing to compare, and the text says this alone.
    """
    if not exhibit.has_printed:
        return "No paper prints these numbers.\n"
    subset, fold = exhibit.header
    header = (subset, "method", "metric", "printed", "ours", "difference", f"in {fold} std", "status", "reason")
    printed_rows: Iterable[Any] = comparison.itertuples()
    rows = [
        (
            row.subset,
            title_of(str(row.method), {**compared.PRINTED_TITLES, **context.method_titles}),
            row.metric,
            *_printed_and_ours(row, exhibit.forms),
            "" if row.metric == TRAIN_TIME else _number(row.difference_in_fold_std, "+.1f"),
            row.status,
            row.reason,
        )
        for row in printed_rows
    ]
    summary = compared.summary_line(compared.count_statuses(comparison))
    text = f"# {exhibit.title}, ours beside the paper's\n\n{summary}.\n"
    if not rows:
        return text
    body = markdown_table(header, [tuple(map(str, row)) for row in rows], right=range(3, 7))
    return f"{text}\n{body}\n{exhibit.rule}\n"


def write_index(
    folder: str | os.PathLike[str],
    *,
    title: str,
    headline: str = "",
    left_out: Mapping[str, pd.DataFrame] | None = None,
) -> Path:
    """Write ``index.md``: every exhibit below a folder with caption and status, by paper, and classes left out.

    Papers come first, then what is drawn of learning and of the representation; claims stand after what they rest on.

    Parameters
    ----------
    folder : path-like
        ``results/{dataset}/exhibits``; its sub-folders are papers, exhibits are found by their sidecars.
    title : str
        The data set's title.
    headline : str
        Lines that come first.
    left_out : mapping of str to DataFrame, optional
        Subset to its classes that have too few usable images: columns ``label``, ``usable``, ``reason``. Subsets
        without any are not mentioned.

    Returns
    -------
    Path
        The index.
    """
    folder = Path(folder)
    parts = [f"# {title}: exhibits\n"]
    if headline:
        parts.append("```\n" + headline.rstrip("\n") + "\n```\n")
    for paper_folder in sorted((path for path in folder.iterdir() if path.is_dir()), key=_place_of_paper):
        sidecars = [read_json(path) for path in sorted(paper_folder.glob("*.json"), key=_place_of_exhibit)]
        if sidecars:
            parts.append(f"## {ALL_PAPERS.get(paper_folder.name, paper_folder.name.capitalize())}\n")
            parts += [_entry(sidecar, paper_folder.name) for sidecar in sidecars]
    lines = [_left_out_line(subset, dropped) for subset, dropped in (left_out or {}).items() if len(dropped)]
    if lines:
        parts.append("## Classes left out\n\n" + "\n".join(lines) + "\n")
    return _write_text("\n".join(parts), folder / "index.md")


def _place_of_paper(folder: Path) -> tuple[int, str]:
    """The papers in the order of `ALL_PAPERS`, then learning, then the representation, then any other."""
    order = [*ALL_PAPERS, "learning", "representation"]
    return (order.index(folder.name) if folder.name in order else len(order), folder.name)


def _place_of_exhibit(sidecar: Path) -> tuple[bool, str]:
    return sidecar.stem == "claims", sidecar.name


def _left_out_line(subset: str, dropped: pd.DataFrame) -> str:
    """Return ``- subset: label (usable images), ...: reason; ...``, classes with one reason together."""
    reasons: dict[str, list[str]] = {}
    for row in dropped.itertuples():
        # a reason may start with the number that stands beside the label anyway
        reason = str(row.reason).removeprefix(f"{row.usable} usable images, ")
        reasons.setdefault(reason, []).append(f"{row.label} ({row.usable} usable)")
    return f"- {subset}: " + "; ".join(f"{', '.join(labels)}: {reason}" for reason, labels in reasons.items())


def _entry(sidecar: dict[str, Any], paper: str) -> str:
    name, files = sidecar["name"], sidecar.get("files", [])
    title = sidecar.get("title", name)
    links = ", ".join(f"[{file}]({paper}/{file})" for file in files)
    picture = f"![{title}]({paper}/{name}.png)\n\n" if f"{name}.png" in files else ""
    status = sidecar.get("status")
    lines = [f"### {title}\n", f"{picture}{sidecar['caption']}\n"]
    lines += [f"Printed numbers: {status}.\n"] if status else []
    lines += [f"Files: {links}\n"] if links else []
    return "\n".join(lines)


def _write_text(text: str, path: Path) -> Path:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


FORMS = {"saturation_steps": ".0f", "images_kept": ".0f", "categories_kept": ".0f", "symmetry_index": ".3f"}
"""Format of a metric in comparisons: counts with no decimal, indices with three; all others with one."""


def _printed_and_ours(row: Any, forms: Mapping[str, str]) -> tuple[str, str, str]:
    """Both numbers and their difference; times, which span powers of ten, to two significant digits."""
    form = {**FORMS, **forms}.get(str(row.metric), ".1f")
    if row.metric == TRAIN_TIME:
        difference = "" if math.isnan(row.difference) else f"{'+' * (row.difference > 0)}{significant(row.difference)}"
        return plus_minus(row.printed, row.printed_std, ",g"), significant(row.ours, row.ours_std), difference
    return (
        plus_minus(row.printed, row.printed_std, ".10g", ".1f"),
        plus_minus(row.ours, row.ours_std, form),
        _number(row.difference, "+" + form),
    )


def _number(value: Any, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)
