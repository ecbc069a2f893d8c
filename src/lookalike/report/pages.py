"""What the pages of the report show of exhibits: their tables, pictures and curves, and the matrix of their states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.interactive import Curves, curves_of
from lookalike.exhibits.registry import PAPERS
from lookalike.report.display import UNREADABLE, sentence
from lookalike.report.facts import Fact
from lookalike.report.pictures import Picture, encode
from lookalike.report.results import CLAIMS, Dataset, Exhibit, Results
from lookalike.report.tables import Grid, comparison_grid, frame_grid, grids_of

BEYOND = "beyond.html"


class View(NamedTuple):
    """One exhibit of one data set, as it is written down."""

    id: str
    exhibit: Exhibit
    picture: Picture | None
    curves: Curves | None
    """Curves that can be read off."""
    tables: list[Grid]
    comparison: Grid | None
    numbers: Grid | None
    """What a figure draws."""
    made: list[Fact]
    problems: list[str]


class Matrix(NamedTuple):
    """States of all exhibits of a paper: rows in its order, a column for every data set."""

    id: str
    title: str
    address: str
    """Where they are shown."""
    datasets: list[Dataset]
    rows: Mapping[str, Mapping[str, Exhibit]]
    """Address of each section to its exhibits by data set."""


def page_of(paper: str) -> str:
    """Name of the page that shows the exhibits of a paper, or of a group of our own."""
    return f"{PAPERS[paper].page}.html" if paper in PAPERS else BEYOND


def section_id(paper: str, name: str) -> str:
    """Id of the section of an exhibit on its page; groups share a page, so theirs begins with the group."""
    return name if paper in PAPERS else f"{paper}-{name}"


def view_id(exhibit: Exhibit) -> str:
    """Id of an exhibit of one data set on its page."""
    return f"{section_id(exhibit.paper, exhibit.name)}-{exhibit.dataset}"


def by_name(results: Results, paper: str) -> dict[str, list[Exhibit]]:
    """Exhibits of a paper by name, in its order; one of several data sets in theirs."""
    found: dict[str, list[Exhibit]] = {}
    for exhibit in results.exhibits(paper):
        found.setdefault(exhibit.name, []).append(exhibit)
    return found


def matrix(results: Results, paper: str) -> Matrix:
    """States of all exhibits of a paper."""
    page, found = page_of(paper), by_name(results, paper)
    rows = {f"{page}#{section_id(paper, name)}": {one.dataset: one for one in own} for name, own in found.items()}
    datasets = [one for one in results.datasets if any(one.id in row for row in rows.values())]
    return Matrix(paper, PAPERS[paper].title, page, datasets, rows)


def view_of(exhibit: Exhibit, made: list[Fact]) -> View:
    """One exhibit with all that is shown of it."""
    problems = [sentence(exhibit.problem)] if exhibit.problem else []
    title, id = f"{exhibit.heading}, {exhibit.dataset_title}", view_id(exhibit)

    def tried(read: Callable[[], Any]) -> Any:
        """What `read` gives, or None and a problem: a broken file never costs the other exhibits."""
        try:
            return read() if exhibit.was_drawn else None
        except UNREADABLE as error:
            said = sentence(str(error) if isinstance(error, LookalikeError) else f"it cannot be read ({error!r})")
            problems.extend([said] if said not in problems else [])
            return None

    return View(
        id=id,
        exhibit=exhibit,
        picture=tried(lambda: encode(path) if (path := exhibit.picture()) else None),
        curves=tried(lambda: curves_of(figure, f"curves-{id}") if (figure := exhibit.figure()) else None),
        tables=tried(lambda: grids_of(exhibit.sheets, title, id) if exhibit.name != CLAIMS else []) or [],
        comparison=tried(lambda: _comparison(exhibit, title, id)),
        numbers=tried(lambda: _numbers(exhibit, title, id)),
        made=made,
        problems=problems,
    )


def _comparison(exhibit: Exhibit, title: str, id: str) -> Grid | None:
    cells = exhibit.compare()
    caption = f"Ours beside the printed numbers: {title}"
    return None if cells is None else comparison_grid(cells, caption, f"{id}-beside")


def _numbers(exhibit: Exhibit, title: str, id: str) -> Grid | None:
    """What is drawn, as a table."""
    frame = exhibit.table() if exhibit.kind != "table" else None
    return None if frame is None or frame.empty else frame_grid(frame, f"What {title} draws", f"{id}-drawn")
