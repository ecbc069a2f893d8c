"""What the pages of the report show of exhibits: their tables and pictures, and the matrix of their states."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import words
from lookalike.exhibits.registry import PAPERS
from lookalike.report.facts import Fact
from lookalike.report.pictures import Picture, encode
from lookalike.report.results import UNREADABLE, Exhibit, Results
from lookalike.report.tables import Grid, comparison_grid, frame_grid, grids_of, telling
from lookalike.studies.rooms import all_exhibits

if TYPE_CHECKING:
    from lookalike.report.claims import Claim

Part = TypeVar("Part")

BEYOND = "beyond.html"
WIDE = 1000
"""Pixels from which on a picture is wide."""
FILES = {".csv": "CSV", "_compare.csv": "CSV of ours beside print", ".tex": "TeX", ".md": "Markdown"}
"""Endings of an exhibit's files to what a page calls them, of others by the letters of their own."""
PICTURES = (".svg", ".png", ".pdf", ".json")


class View(NamedTuple):
    """One exhibit of one data set, as it is written down."""

    id: str
    exhibit: Exhibit
    twin: Exhibit | None
    """One of an earlier paper that shows the same: its picture, tables and numbers are not shown twice."""
    picture: Picture | None
    tables: list[Grid]
    comparison: Grid | None
    numbers: Grid | None
    """What a figure draws."""
    origin: list[Fact]
    problems: list[str]
    notes: list[str]
    files: Mapping[str, str]
    """What a file is called to its address beside the page."""
    claims: Sequence[Claim]
    """What `lookalike.report.claims.claims_of` returns about it."""

    @property
    def is_wide(self) -> bool:
        """Tell whether a picture that is as wide as a phone has letters too small to read."""
        return self.picture is not None and self.picture.width > WIDE


def page_of(paper: str) -> str:
    """Return the name of the page that shows the exhibits of a paper, or of a group of our own."""
    return f"{PAPERS[paper].page}.html" if paper in PAPERS else BEYOND


def section_id(paper: str, name: str) -> str:
    """Return the id of the section of an exhibit on its page; groups share a page, so theirs begins with the group."""
    return name if paper in PAPERS else f"{paper}-{name}"


def view_id(exhibit: Exhibit) -> str:
    """Return the id of an exhibit of one data set on its page."""
    return f"{section_id(exhibit.paper, exhibit.name)}-{exhibit.dataset}"


def address_of(exhibit: Exhibit) -> str:
    """Return where an exhibit of one data set is shown."""
    return f"{page_of(exhibit.paper)}#{view_id(exhibit)}"


def by_name(results: Results, paper: str) -> dict[str, list[Exhibit]]:
    """Return exhibits of a paper by name, in its order; one of several data sets in theirs."""
    found: dict[str, list[Exhibit]] = {}
    for exhibit in results.exhibits(paper):
        found.setdefault(exhibit.name, []).append(exhibit)
    return found


def absent(results: Results, paper: str) -> list[str]:
    """Name the exhibits of a paper that no data set has, each with what a study needs to have it."""
    there = {exhibit.id for exhibit in results.exhibits(paper)}
    labels: dict[str, list[str]] = {}
    for exhibit in sorted(all_exhibits().values(), key=lambda exhibit: exhibit.place):
        if exhibit.paper == paper and exhibit.id not in there:
            labels.setdefault(exhibit.condition, []).append(exhibit.label or exhibit.title)
    return [f"{', '.join(named)} (a study needs {condition})" for condition, named in labels.items()]


def matrix(results: Results, paper: str) -> dict[str, object]:
    """Return states of all exhibits of a paper: rows in its order with their addresses, a column for every data set."""
    rows = {f"{page_of(paper)}#{section_id(paper, name)}": own for name, own in by_name(results, paper).items()}
    found = {exhibit.dataset for own in rows.values() for exhibit in own}
    cells = {address: {exhibit.dataset: exhibit for exhibit in own} for address, own in rows.items()}
    return {"id": paper, "rows": cells, "datasets": [dataset for dataset in results.datasets if dataset.id in found]}


def twin_of(exhibit: Exhibit, results: Results) -> Exhibit | None:
    """Return the exhibit of an earlier paper that shows the same numbers of ours, drawn by the same function."""
    papers = list(PAPERS)
    for other in results.exhibits(dataset=exhibit.dataset) if exhibit.paper in papers and exhibit.was_drawn else ():
        is_earlier = other.paper in papers[: papers.index(exhibit.paper)]
        if is_earlier and other.drawn_by == exhibit.drawn_by and other.was_drawn and _shows(exhibit) == _shows(other):
            return other
    return None


def _shows(exhibit: Exhibit) -> object:
    """Return what two exhibits of the same have alike: a drawing, or the numbers of a table."""
    if exhibit.kind != "table":
        drawing = exhibit.folder / f"{exhibit.name}.svg"
        return drawing.read_bytes() if drawing.is_file() else exhibit.id
    ours = exhibit.table().get("ours")
    return exhibit.id if ours is None else sorted(ours.dropna())


def view_of(
    exhibit: Exhibit, origin: list[Fact], folder: Path, claims: Sequence[Claim] = (), twin: Exhibit | None = None
) -> View:
    """Return one exhibit with all that is shown of it on a page in a folder."""
    problems = [words.sentence(exhibit.problem)] if exhibit.problem else []
    title, id = f"{exhibit.heading}, {exhibit.dataset_title}", view_id(exhibit)

    def tried(read: Callable[[], Part]) -> Part | None:
        """Return what `read` gives, or None and a problem: a broken file never costs the other exhibits."""
        try:
            return read() if exhibit.was_drawn and twin is None else None
        except UNREADABLE as error:
            said = words.sentence(str(error) if isinstance(error, LookalikeError) else f"it cannot be read ({error!r})")
            problems.extend([said] if said not in problems else [])
            return None

    return View(
        id=id,
        exhibit=exhibit,
        twin=twin,
        picture=tried(lambda: encode(path) if (path := exhibit.picture()) else None),
        tables=tried(lambda: grids_of(exhibit.sheets, title, id)) or [],
        comparison=tried(lambda: _comparison(exhibit, title, id)),
        numbers=tried(lambda: _numbers(exhibit, title, id)),
        origin=origin,
        problems=problems,
        notes=[*filter(None, [exhibit.undecided]), *exhibit.notes],
        files=_files(exhibit, folder),
        claims=claims,
    )


def _files(exhibit: Exhibit, folder: Path) -> dict[str, str]:
    """Return the files of an exhibit as a page links to them, without an empty table of numbers beside print."""
    kinds = {path.name.removeprefix(exhibit.name): path for path in exhibit.paths}
    titles = FILES | {suffix: suffix[1:].upper() for suffix in PICTURES}
    return {
        title: Path(os.path.relpath(kinds[suffix], folder)).as_posix()
        for suffix, title in titles.items()
        if suffix in kinds and (suffix != "_compare.csv" or exhibit.compare() is not None)
    }


def _comparison(exhibit: Exhibit, title: str, id: str) -> Grid | None:
    """Return printed numbers beside ours; a table has them in its rows."""
    cells = exhibit.compare() if exhibit.kind != "table" else None
    caption = f"Ours beside the printed numbers: {title}"
    return None if cells is None else comparison_grid(cells, caption, f"{id}-beside", exhibit.titles)


def _numbers(exhibit: Exhibit, title: str, id: str) -> Grid | None:
    """Return what is drawn, as a table."""
    frame = exhibit.table() if exhibit.kind != "table" else None
    if frame is None or frame.empty:
        return None
    return frame_grid(telling(frame), f"What {title} draws", f"{id}-drawn", titles=exhibit.titles)
