"""Writing exhibits: the files of each, its sidecar, and the index of a data set.

The sidecar ``{name}.json`` holds as data everything that a page or a notebook needs; nothing reads the other files back
but the CSV.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json, replacing, write_json, write_table
from lookalike.exhibits.model import Axis, Drawn, Figure, Gallery, Panel, Table
from lookalike.exhibits.printed import CELLS, FAILED, NOT_RUN, count_statuses, state_of
from lookalike.exhibits.registry import PAPERS, Exhibit
from lookalike.exhibits.sheets import latex, markdown, sheets_of

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study


def write_exhibits(exhibits: Iterable[Exhibit], study: Study, folder: Path) -> list[str]:
    """Draw and write several exhibits of a study; one that fails is written as failed, and the others go on.

    Parameters
    ----------
    exhibits : iterable of Exhibit
    study : Study
        Their study, from `lookalike.exhibits.study.study_of`.
    folder : Path
        ``results/{dataset}/exhibits``.

    Returns
    -------
    list of str
        Ids of those that failed.
    """
    failed = []
    for exhibit in exhibits:
        write_exhibit(exhibit, study, folder)
        if read_json(folder / exhibit.paper / f"{exhibit.name}.json")["state"] == FAILED:
            failed.append(exhibit.id)
    return failed


def write_exhibit(exhibit: Exhibit, study: Study, folder: Path) -> list[Path]:
    """Draw one exhibit and write its files.

    Parameters
    ----------
    exhibit : Exhibit
    study : Study
    folder : Path
        ``results/{dataset}/exhibits``; files go into its sub-folder of the paper.

    Returns
    -------
    list of Path
        Its files, the sidecar last. An exhibit that could not be drawn has the same files, which say why.
    """
    study = study.drawing(exhibit)
    why, error = _why_not(exhibit, study), ""
    drawn: Drawn | None = None
    if not why:
        try:
            drawn = exhibit.draw(study)
        except Exception as problem:  # noqa: BLE001 - whatever goes wrong in one exhibit must not stop the others
            error = str(problem) if isinstance(problem, LookalikeError) else f"{type(problem).__name__}: {problem}"
            traceback.print_exc()
    notice = why or (f"failed: {error}" if error else "")
    written = _write(drawn if drawn is not None else _nothing(exhibit), exhibit, study, folder / exhibit.paper, notice)
    sidecar = folder / exhibit.paper / f"{exhibit.name}.json"
    write_json(_sidecar(exhibit, study, drawn, written, notice, failed=bool(error)), sidecar)
    return [*written, sidecar]


def _why_not(exhibit: Exhibit, study: Study) -> str:
    """Why an exhibit cannot be drawn, as ``not run: ...``; "" where it can."""
    missing = [name for name in exhibit.needs if not study.has(name)]
    if not missing:
        return ""
    why = study.not_run.removeprefix("not run:").strip()
    return f"not run: {why or 'run the jobs that make ' + ', '.join(missing)}"


def _nothing(exhibit: Exhibit) -> Drawn:
    """An exhibit without numbers."""
    frame = pd.DataFrame({"exhibit": pd.Series(dtype=str)})
    if exhibit.kind == "table":
        return Table(frame, shown={"exhibit": "exhibit"})
    if exhibit.kind == "gallery":
        return Gallery(frame, ())
    return Figure(frame, (Panel("", Axis(), Axis(), empty="not run"),))


def caption_of(exhibit: Exhibit, study: Study, drawn: Drawn | None) -> str:
    """Two sentences: what is shown, and on which data."""
    return f"{exhibit.caption} {study.data_sentence(drawn)}".strip()


def _write(drawn: Drawn, exhibit: Exhibit, study: Study, folder: Path, notice: str) -> list[Path]:
    """All files of an exhibit but its sidecar."""
    written = [folder / f"{exhibit.name}.csv"]
    write_table(drawn.frame, written[0])
    if isinstance(drawn, Table):
        return [*written, *_write_table(drawn, exhibit, study, folder, notice)]
    if "_compare.csv" in exhibit.suffixes:
        written.append(folder / f"{exhibit.name}_compare.csv")
        write_table(_cells(drawn), written[-1])
    from lookalike.exhibits.drawing import save

    return [*written, *save(drawn, folder / exhibit.name, study, notice)]


def _cells(drawn: Drawn) -> pd.DataFrame:
    """Numbers beside print of a figure; no row where none is printed."""
    cells = getattr(drawn, "cells", None)
    return pd.DataFrame(columns=list(CELLS)) if cells is None else cells


def _write_table(table: Table, exhibit: Exhibit, study: Study, folder: Path, notice: str) -> list[Path]:
    sheets = sheets_of(table)
    caption = caption_of(exhibit, study, None if notice else table)
    heading = f"# {exhibit.label or exhibit.title}\n\n"
    top = f"**{notice}**\n\n" if notice else ""
    files = {
        ".md": f"{heading}{top}{markdown(sheets)}\n{caption}\n",
        ".tex": f"% {caption}\n" + (f"% {notice}\n" if notice else "") + latex(sheets),
    }
    return [_write_text(text, folder / f"{exhibit.name}{suffix}") for suffix, text in files.items()]


def _write_text(text: str, path: Path) -> Path:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def _sidecar(
    exhibit: Exhibit, study: Study, drawn: Drawn | None, written: Sequence[Path], notice: str, *, failed: bool
) -> dict[str, Any]:
    """Everything that a page needs of an exhibit, as data."""
    cells = drawn.frame if isinstance(drawn, Table) else getattr(drawn, "cells", None)
    statuses = count_statuses(cells)
    state = FAILED if failed else NOT_RUN if notice else state_of(statuses)
    return {
        "id": exhibit.id,
        "paper": exhibit.paper,
        "name": exhibit.name,
        "label": exhibit.label,
        "title": exhibit.title,
        "kind": exhibit.kind,
        "study": exhibit.study,
        "order": exhibit.place,
        "dataset": study.dataset,
        "dataset_title": study.title,
        "synthetic": study.synthetic,
        "caption": caption_of(exhibit, study, drawn),
        "notes": [] if drawn is None else [*drawn.notes, *study.notes(drawn)],
        "state": state,
        "statuses": statuses,
        "problem": notice,
        "files": sorted(path.name for path in written),
        "sources": sorted(set(_sources(exhibit, study))),
        "made_by": f"{exhibit.draw.__module__}.{exhibit.draw.__name__}",
        "sheets": [asdict(sheet) for sheet in sheets_of(drawn)] if isinstance(drawn, Table) else [],
        "panels": drawn.described() if isinstance(drawn, Figure) else [],
        "entries": [asdict(entry) for entry in drawn.entries] if isinstance(drawn, Gallery) else [],
    }


def _sources(exhibit: Exhibit, study: Study) -> list[str]:
    """Files that an exhibit is drawn from."""
    found: list[str] = []
    for name in (*exhibit.needs, *exhibit.optional):
        given = study.files.get(name) or ()
        found += [given] if isinstance(given, str) else [str(path) for path in given]
    return found


def status_line(statuses: Mapping[str, int]) -> str:
    """One line of text, such as ``12 agree, 3 higher``; "" where nothing printed stands beside ours."""
    return ", ".join(f"{n} {'agree' if status == 'agrees' and n > 1 else status}" for status, n in statuses.items())


def write_index(folder: Path, *, title: str, headline: str = "") -> Path:
    """Write ``index.md``: every exhibit below a folder with caption and status, by paper.

    Parameters
    ----------
    folder : Path
        ``results/{dataset}/exhibits``; exhibits are found by their sidecars.
    title : str
        The data set's title.
    headline : str
        Lines that come first.

    Returns
    -------
    Path
        The index.
    """
    sidecars = [read_json(path) for path in sorted(folder.glob("*/*.json"))]
    groups = [*PAPERS, *sorted({sidecar["paper"] for sidecar in sidecars} - set(PAPERS))]
    parts = [f"# {title}: exhibits\n"]
    if headline:
        parts.append("```\n" + headline.rstrip("\n") + "\n```\n")
    for paper in groups:
        found = sorted((one for one in sidecars if one["paper"] == paper), key=lambda one: int(one["order"]))
        if found:
            parts.append(f"## {PAPERS.get(paper, paper.capitalize())}\n")
            parts += [_entry(sidecar) for sidecar in found]
    return _write_text("\n".join(parts), folder / "index.md")


def _entry(sidecar: Mapping[str, Any]) -> str:
    name, paper, files = sidecar["name"], sidecar["paper"], sidecar["files"]
    title = f"{sidecar['label']}: {sidecar['title']}" if sidecar["label"] else sidecar["title"]
    links = ", ".join(f"[{file}]({paper}/{file})" for file in files)
    lines = [f"### {title}\n"]
    lines += [f"![{title}]({paper}/{name}.png)\n"] if f"{name}.png" in files else []
    lines.append(f"{sidecar['caption']}\n")
    lines += [f"{sidecar['problem']}.\n"] if sidecar["problem"] else []
    status = status_line(sidecar["statuses"])
    lines += [f"Printed numbers: {status}.\n"] if status else []
    return "\n".join([*lines, f"Files: {links}\n"])
