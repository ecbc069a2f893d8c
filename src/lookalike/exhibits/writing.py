"""Writing exhibits: the files of each, its sidecar with all that pages and notebooks need, and a data set's index."""

from __future__ import annotations

import textwrap
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_json, write_table, write_text
from lookalike.exhibits.drawing import Chart, save
from lookalike.exhibits.model import Axis, Drawn, Entry, NothingToShowError, Sheet
from lookalike.exhibits.printed import STAR
from lookalike.exhibits.registry import PAPERS, Exhibit
from lookalike.exhibits.statuses import State
from lookalike.exhibits.style import paper_style
from lookalike.exhibits.tables import latex, markdown

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study


WIDTH = 78
"""Columns of sentences in the terminal: none is narrower."""
COPIED = ("id", "paper", "name", "label", "title", "kind", "study", "drawn_by")
"""What a sidecar has of its exhibit under the same name."""


@dataclass(frozen=True)
class Sidecar:
    """The contents of ``{name}.json``: an exhibit of a data set; what `Exhibit` has is called the same."""

    id: str
    paper: str
    name: str
    label: str
    title: str
    kind: str
    study: str
    order: int
    """Its place in its paper."""
    dataset: str
    dataset_title: str
    synthetic: bool
    """Whether the images are made by code."""
    caption: tuple[str, ...]
    """A sentence on what it shows, and one on which data."""
    notes: tuple[str, ...]
    """What has to be known besides."""
    state: State
    problem: str
    """``not run: put X at Y``, or the error of one that failed; else ""."""
    sources: tuple[str, ...]
    """Files that it is drawn from."""
    drawn_by: str
    """The function that draws it, dotted."""
    sheets: tuple[Sheet, ...]
    entries: tuple[Entry, ...]
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Column of the CSV to the names of its values for readers, such as methods."""
    differences: tuple[str, ...] = ()
    """What differs from the paper's."""
    size: str = ""
    """Counts of the data set: ``1,080 images of 12 classes``."""

    @property
    def heading(self) -> str:
        """Return what it is called: ``Table 4: ...``."""
        return f"{self.label}: {self.title}" if self.label else self.title


def write_exhibits(exhibits: Iterable[Exhibit], study: Study, folder: Path) -> list[Sidecar]:
    """Write exhibits below ``results/{dataset}/exhibits``; one that fails says so in its sidecar, and others go on."""
    with paper_style():
        written = [write_exhibit(exhibit, study, folder) for exhibit in exhibits]
    # what is asked of the study next is of none of them
    study.drawing(None)
    return written


def write_exhibit(exhibit: Exhibit, study: Study, folder: Path) -> Sidecar:
    """Draw one exhibit and write its files below `folder`; those of one that could not be drawn say why."""
    study = study.drawing(exhibit)
    drawn, state, problem = _draw(exhibit, study)
    caption, output = (exhibit.caption, study.data_sentence(drawn)), drawn or _absent()
    sources = {str(path) for name in (*exhibit.needs, *exhibit.optional) for path in study.paths(name)}
    notes = () if drawn is None else (*drawn.notes, *study.notes(drawn))
    differs = () if drawn is None else (*exhibit.differs, *study.differences(drawn))
    if exhibit.paper not in PAPERS:
        notes, differs = (*notes, *differs), ()
    _write(output, exhibit, study, folder, " ".join(caption), differs, problem)
    sidecar = Sidecar(
        **{name: getattr(exhibit, name) for name in COPIED},
        order=exhibit.place,
        dataset=study.dataset,
        dataset_title=study.title,
        synthetic=study.synthetic,
        caption=caption,
        notes=notes,
        differences=differs,
        state=state,
        problem=problem,
        sources=tuple(sorted(sources)),
        sheets=tuple(output.sheets),
        entries=tuple(output.entries),
        titles={key: {str(value): title for value, title in names.items()} for key, names in output.titles.items()},
        size="" if drawn is None else study.size,
    )
    write_json(asdict(sidecar), folder / f"{exhibit.id}.json")
    return sidecar


def _absent() -> Drawn:
    """Return what stands in the files of an exhibit that was not drawn."""
    chart = Chart(1)
    chart.panel("", Axis(), Axis(), empty="not run")
    return Drawn(pd.DataFrame({"exhibit": pd.Series(dtype=str)}), canvas=chart.canvas)


def _draw(exhibit: Exhibit, study: Study) -> tuple[Drawn | None, State, str]:
    """Return what an exhibit's function returns; or None, the state of what is absent, and why in a sentence."""
    if missing := [name for name in exhibit.needs if not study.has(name)]:
        why = f"{State.NOT_RUN}: run the jobs that make {', '.join(missing)}"
        return None, State.NOT_RUN, study.not_run or why
    try:
        return exhibit.draw(study), State.DRAWN, ""
    except NothingToShowError as why:
        return None, State.NOT_RUN, f"{State.NOT_RUN}: {why}"
    except Exception as problem:  # noqa: BLE001 - whatever goes wrong in one exhibit must not stop the others
        traceback.print_exc()
        error = str(problem) if isinstance(problem, LookalikeError) else f"{type(problem).__name__}: {problem}"
        return None, State.FAILED, f"{State.FAILED}: {error}"


def _write(
    drawn: Drawn, exhibit: Exhibit, study: Study, folder: Path, caption: str, differs: Iterable[str], notice: str
) -> None:
    """Write all files of an exhibit but its sidecar."""
    paths = {suffix: folder / f"{exhibit.id}{suffix}" for suffix in exhibit.suffixes}
    write_table(drawn.frame, paths[".csv"])
    if exhibit.kind == "table":
        top = f"# {exhibit.label or exhibit.title}\n\n" + (f"**{notice}**\n\n" if notice else "")
        said = [f"- {difference}\n" for difference in differs]
        below = "".join(["\nWhat differs from the paper:\n\n", *said]) if said else ""
        write_text(f"{top}{markdown(drawn.sheets)}\n{caption}\n{below}", paths[".md"])
        write_text(f"% {caption}\n" + (f"% {notice}\n" if notice else "") + latex(drawn.sheets), paths[".tex"])
        return
    save(drawn, folder / exhibit.id, study, notice)


def headline(study: Study, written: Iterable[Sidecar]) -> str:
    """Return the first table of a study, of its written exhibits, in lines of text; or why it was not run."""
    first = next((sidecar for sidecar in written if sidecar.sheets), None)
    if first is None:
        return f"{study.title}: {study.not_run or 'no table was made, and its figures are in the report'}\n"
    lines, said = [f"{study.title}: {first.heading}"], first.caption[-1]
    for sheet in takewhile(lambda sheet: not sheet.heading, first.sheets):
        widths = [max(map(len, column)) for column in zip(sheet.heads, *sheet.rows, strict=True)]
        for row in (sheet.heads, *sheet.rows):
            cells = zip(row, widths, sheet.numbers, strict=True)
            aligned = [text.rjust(width) if is_number else text.ljust(width) for text, width, is_number in cells]
            lines.append(f"  {'  '.join(aligned)}".rstrip())
    said += f" {STAR} marks what did not end within its time limit." * any(STAR in line.split() for line in lines)
    return "\n".join([*lines, *textwrap.wrap(said, WIDTH)]) + "\n"
