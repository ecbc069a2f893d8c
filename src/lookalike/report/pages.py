"""What the pages of the report show: exhibits with their tables and pictures, and the matrix of their states.

Everything here is plain values, made from `lookalike.report.results`; the templates only write them down. Where a file
cannot be read its sentence is shown in place of what it held, so that one broken exhibit never costs the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.interactive import Curves, curves_of
from lookalike.exhibits.printed import AGREES, HIGHER, LOWER, MIXED, RULE
from lookalike.exhibits.writing import status_line
from lookalike.report.display import UNREADABLE, sentence
from lookalike.report.made import Fact, facts_of
from lookalike.report.pictures import Picture, Pictures
from lookalike.report.provenance import Jobs
from lookalike.report.results import CLAIMS, PAPERS, Dataset, Exhibit, Results, group_title
from lookalike.report.tables import Grid, comparison_grid, frame_grid, grids_of

MEANINGS = {
    "agrees": "every number that can be compared agrees with the printed one, within the tolerance beneath it",
    "higher": "some do not agree, and of those all of ours are higher; higher than the paper is a difference too",
    "lower": "some do not agree, and of those all of ours are lower",
    "mixed": "some of ours are higher and some are lower",
    "not comparable": "the paper prints numbers, but of other data or another machine: there is no verdict",
    "not run": "no run has made it here; its section says what to do",
    "failed": "drawing it ended in an error, which its section shows",
    "no printed number": "no printed number stands beside ours: the paper prints a picture, a curve or numbers of "
    "what this data set has not, or the exhibit is our own",
}
"""What a state says, for the legend of the front page."""
SEVERAL = (AGREES, HIGHER, LOWER, MIXED)
"""States that numbers with other statuses may stand behind."""
BEYOND = "beyond.html"


@dataclass(frozen=True)
class View:
    """One exhibit of one data set, as it is written down."""

    id: str
    exhibit: Exhibit
    lead: str
    """First sentence of the caption."""
    caption: str
    """The rest of it."""
    alt: str
    picture: Picture | None
    curves: Curves | None
    """Curves that can be read off."""
    tables: tuple[Grid, ...]
    comparison: Grid | None
    numbers: Grid | None
    """What a figure draws."""
    made: tuple[Fact, ...]
    problems: tuple[str, ...]

    @property
    def is_claims(self) -> bool:
        """Whether its table has a page of its own."""
        return self.exhibit.name == CLAIMS

    @property
    def status(self) -> str:
        """How its numbers compare, in words; "" where no printed number stands beside ours."""
        return status_line(self.exhibit.statuses)

    @property
    def rule(self) -> str:
        """How a status is found."""
        return RULE


@dataclass(frozen=True)
class Section:
    """An exhibit of the paper, of every data set that has it."""

    id: str
    title: str
    views: tuple[View, ...]

    @property
    def states(self) -> list[str]:
        """Distinct states of its exhibits."""
        return list(dict.fromkeys(view.exhibit.state for view in self.views))


@dataclass(frozen=True)
class Group:
    """Sections of one page under a title; a paper's page has one group without."""

    id: str
    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Matrix:
    """States of all exhibits of a paper: rows in its order, a column for every data set."""

    id: str
    title: str
    address: str
    """Where they are shown."""
    datasets: tuple[Dataset, ...]
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


def matrix(results: Results, paper: str) -> Matrix:
    """States of all exhibits of a paper, or of a group of our own."""
    page, found = page_of(paper), _by_name(results, paper)
    rows = {f"{page}#{section_id(paper, name)}": {one.dataset: one for one in own} for name, own in found.items()}
    datasets = tuple(one for one in results.datasets if any(one.id in row for row in rows.values()))
    title = PAPERS[paper].title if paper in PAPERS else group_title(paper)
    return Matrix(paper, title, page if paper in PAPERS else f"{page}#group-{paper}", datasets, rows)


def _by_name(results: Results, paper: str) -> dict[str, list[Exhibit]]:
    """Exhibits of a paper by name, in its order."""
    found: dict[str, list[Exhibit]] = {}
    for exhibit in results.exhibits(paper):
        found.setdefault(exhibit.name, []).append(exhibit)
    return found


def detail_of(exhibit: Exhibit) -> str:
    """What is counted beneath its state, where one word stands for several statuses."""
    return status_line(exhibit.statuses) if exhibit.state in SEVERAL and len(exhibit.statuses) > 1 else ""


@dataclass
class Writer:
    """Makes views of exhibits."""

    results: Results
    pictures: Pictures
    jobs: Jobs | None
    """Records of jobs; None where there are none."""
    seed: int | None

    def groups(self, papers: Iterable[str]) -> list[Group]:
        """Everything that the page of a paper, or of groups of our own, shows."""
        return [
            Group(
                f"group-{paper}",
                "" if paper in PAPERS else group_title(paper),
                tuple(
                    Section(section_id(paper, name), exhibits[0].heading, tuple(map(self.view, exhibits)))
                    for name, exhibits in _by_name(self.results, paper).items()
                ),
            )
            for paper in papers
        ]

    def view(self, exhibit: Exhibit) -> View:
        """One exhibit with all that is shown of it."""
        problems = [sentence(exhibit.problem)] if exhibit.problem else []
        title, id = f"{exhibit.heading}, {exhibit.dataset_title}", view_id(exhibit)
        lead, stop, rest = exhibit.caption.partition(". ")

        def tried(read: Callable[[], Any]) -> Any:
            return _tried(read, problems) if exhibit.was_drawn else None

        picture = tried(lambda: self.pictures.of(path) if (path := exhibit.picture()) else None)
        tables = tried(lambda: () if exhibit.name == CLAIMS else grids_of(exhibit.blocks(), title, id))
        return View(
            id=id,
            exhibit=exhibit,
            lead=lead + stop.strip(),
            caption=rest,
            alt=f"{title}. {lead}",
            picture=picture,
            curves=tried(lambda: curves_of(figure, f"curves-{id}") if (figure := exhibit.figure()) else None),
            tables=tuple(tables or ()),
            comparison=tried(lambda: _comparison(exhibit, title, id)),
            numbers=tried(lambda: _numbers(exhibit, title, id)),
            made=facts_of(exhibit, self.jobs, self.seed),
            problems=tuple(problems),
        )


def _comparison(exhibit: Exhibit, title: str, id: str) -> Grid | None:
    cells = exhibit.compare()
    return (
        None if cells is None else comparison_grid(cells, f"Ours beside the printed numbers: {title}", f"{id}-beside")
    )


def _numbers(exhibit: Exhibit, title: str, id: str) -> Grid | None:
    """What is drawn, as a table."""
    frame = exhibit.table() if exhibit.kind != "table" else None
    return None if frame is None or frame.empty else frame_grid(frame, f"What {title} draws", f"{id}-drawn")


def _tried(read: Callable[[], Any], problems: list[str]) -> Any:
    """What `read` gives; None where a file cannot be read, whose sentence joins the problems."""
    try:
        return read()
    except UNREADABLE as error:
        said = str(error) if isinstance(error, LookalikeError) else f"its sidecar cannot be read ({error!r})"
        if sentence(said) not in problems:
            problems.append(sentence(said))
        return None
