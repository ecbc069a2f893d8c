"""What the pages of the report show: exhibits with their tables and pictures, and the matrix of their states.

Everything here is plain values, made from `lookalike.report.results`; the templates only write them down. Where a file
cannot be read its sentence is shown in place of what it held, so that one broken exhibit never costs the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lookalike.core.errors import LookalikeError
from lookalike.report._made import Fact, Provenance
from lookalike.report._pictures import Picture, Pictures
from lookalike.report._tables import Grid, Paragraph, comparison_grid, frame_grid, read_markdown
from lookalike.report.results import GROUPS, PAPERS, STATES, Exhibit, Planned, Results
from lookalike.report.rich import SIGNS as STATE_SIGNS

if TYPE_CHECKING:
    from markupsafe import Markup

    from lookalike.report.curves import Curves

SIGNS = {
    **STATE_SIGNS,
    "no printed value": STATE_SIGNS["no printed number"],
    "no result": STATE_SIGNS["not run"],
    "holds": "✓",
    "does not hold": "✗",
    "not decidable here": "?",
}
"""A sign for every state, status and verdict, so that none is told by its colour alone."""
MEANINGS = {
    "agrees": "every number that can be compared agrees with the printed one, within the tolerance beneath it",
    "higher": "some do not agree, and of those all of ours are higher; higher than the paper is a difference too",
    "lower": "some do not agree, and of those all of ours are lower",
    "mixed": "some of ours are higher and some are lower",
    "not comparable": "the paper prints numbers, but of other data or another machine: there is no verdict",
    "not run": "no run has made it here; its section says what to do",
    "no printed number": "no printed number stands beside ours: the paper prints a picture, a curve or numbers of "
    "what this data set has not, or the exhibit is our own",
}
"""What a state says, for the legend of the front page."""
SEVERAL = ("agrees", "higher", "lower", "mixed")
"""States that numbers with other statuses may stand behind."""
BEYOND = "beyond.html"
CLAIMS = "claims"
"""Name of the exhibits that are shown on a page of their own."""
TO_RUN = "No run has made it. Where its data are in place, make it by"


class DrawnCurves(NamedTuple):
    """Curves that can be read off: an element, and the script that draws them into it."""

    html: Markup
    script: Markup


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
    curves: DrawnCurves | None
    """Curves that can be read off."""
    blocks: tuple[Grid | Paragraph, ...]
    comparison: Grid | None
    rules: tuple[str, ...]
    """Sentences that belong to the comparison."""
    numbers: Grid | None
    """What a figure draws."""
    made: tuple[Fact, ...]
    problems: tuple[str, ...]

    @property
    def is_claims(self) -> bool:
        """Whether its table has a page of its own."""
        return self.exhibit.name == CLAIMS

    @property
    def not_run(self) -> str:
        """What to do to run it; "" where it was run."""
        return sentence(self.exhibit.not_run)

    @property
    def status(self) -> str:
        """How its numbers compare, in words; "" where no printed number stands beside ours."""
        return self.exhibit.status if self.exhibit.statuses else ""


@dataclass(frozen=True)
class Section:
    """An exhibit of the paper: of every data set that has it, or what to do where none has."""

    id: str
    title: str
    views: tuple[View, ...]
    commands: tuple[str, ...] = ()
    what_to_do: str = TO_RUN

    @property
    def states(self) -> list[str]:
        """Distinct states of its exhibits."""
        return list(dict.fromkeys(view.exhibit.state for view in self.views)) or ["not run"]


@dataclass(frozen=True)
class Group:
    """Sections of one page under a title; a paper's page has one group without."""

    id: str
    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class MatrixCell:
    """State of an exhibit of one data set."""

    state: str
    address: str
    detail: str


@dataclass(frozen=True)
class MatrixRow:
    """States of an exhibit, by data set; None where a data set has no such exhibit."""

    title: str
    address: str
    cells: tuple[MatrixCell | None, ...]

    @property
    def is_missing(self) -> bool:
        """Whether no data set has it."""
        return not any(self.cells)


@dataclass(frozen=True)
class Matrix:
    """States of all exhibits of a paper: rows in its order, a column for every data set."""

    id: str
    title: str
    address: str
    """Where they are shown."""
    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def page_of(paper: str) -> str:
    """Name of the page that shows the exhibits of a paper, or of a group of our own."""
    return f"{PAPERS[paper].page}.html" if paper in PAPERS else BEYOND


def section_id(paper: str, name: str) -> str:
    """Id of the section of an exhibit on its page; groups share a page, so theirs begins with the group."""
    return name if paper in PAPERS else f"{paper}-{name}"


def view_id(exhibit: Exhibit) -> str:
    """Id of an exhibit of one data set on its page."""
    return f"{section_id(exhibit.paper, exhibit.name)}-{exhibit.dataset}"


def titled(results: Results, paper: str) -> list[Planned]:
    """Exhibits of a paper or group in its order: those that were made and those that could be."""
    found: dict[str, Planned] = {}
    for exhibit in results.exhibits(paper):
        found.setdefault(exhibit.name, Planned(paper, exhibit.name, exhibit.title))
    planned = [one for one in results.planned() if one.paper == paper]
    order = {one.name: place for place, one in enumerate(planned)}
    for one in planned:
        found.setdefault(one.name, one)
    return sorted(found.values(), key=lambda one: order.get(one.name, len(order)))


def matrix(results: Results, paper: str) -> Matrix:
    """States of all exhibits of a paper, or of a group of our own."""
    exhibits = {(one.name, one.dataset): one for one in results.exhibits(paper)}
    datasets = [one for one in results.datasets if any(dataset == one.id for _, dataset in exhibits)]
    page = page_of(paper)
    rows = tuple(
        MatrixRow(
            one.title,
            f"{page}#{section_id(paper, one.name)}",
            tuple(_matrix_cell(exhibits.get((one.name, dataset.id))) for dataset in datasets),
        )
        for one in titled(results, paper)
    )
    title = PAPERS[paper].title if paper in PAPERS else GROUPS[paper]
    address = page if paper in PAPERS else f"{page}#group-{paper}"
    return Matrix(paper, title, address, tuple(one.title for one in datasets) or ("State",), rows)


def groups_of(
    results: Results,
    papers: Sequence[str],
    *,
    pictures: Pictures,
    provenance: Provenance,
    curves: Callable[[Exhibit], Curves | None],
) -> list[Group]:
    """Everything that the page of a paper, or of groups of our own, shows.

    Parameters
    ----------
    results : Results
    papers : sequence of str
        One paper, or groups; groups without any exhibit are left out.
    pictures : Pictures
        Encodes the pictures.
    provenance : Provenance
        Tells what made an exhibit.
    curves : callable
        Curves of an exhibit that can be read off, or None.

    Returns
    -------
    list of Group
    """
    made = []
    for paper in papers:
        by_name: dict[str, list[Exhibit]] = {}
        own = (f"snakemake --cores 2 {PAPERS[paper].page if paper in PAPERS else 'all'}",)
        # where the demo has been run for this paper, it does not make what is missing
        commands = own if any(one.synthetic for one in results.exhibits(paper)) else (*own, "make demo")
        for exhibit in results.exhibits(paper):
            by_name.setdefault(exhibit.name, []).append(exhibit)
        sections = tuple(
            Section(
                section_id(paper, one.name),
                one.title,
                tuple(view_of(exhibit, pictures, provenance, curves) for exhibit in by_name.get(one.name, ())),
                commands=commands,
            )
            for one in titled(results, paper)
        )
        if sections:
            made.append(Group(f"group-{paper}", GROUPS.get(paper, ""), sections))
    return made


def view_of(
    exhibit: Exhibit, pictures: Pictures, provenance: Provenance, curves: Callable[[Exhibit], Curves | None]
) -> View:
    """One exhibit with all that is shown of it."""
    from markupsafe import Markup

    problems: list[str] = [exhibit.problem] if exhibit.problem else []
    run = exhibit.not_run is None
    title = f"{exhibit.title}, {exhibit.dataset_title}"
    path = exhibit.picture() if run else None
    picture = _tried(lambda: pictures.of(path) if path else None, problems)
    drawn = _tried(lambda: curves(exhibit) if run else None, problems)
    blocks, own = _blocks(exhibit, title, problems) if run and exhibit.name != CLAIMS else ([], None)
    comparison, rules = _tried(lambda: _comparison(exhibit, title), problems) or (None, [])
    lead, caption = split_caption(exhibit.caption)
    return View(
        id=view_id(exhibit),
        exhibit=exhibit,
        lead=lead,
        caption=caption,
        alt=f"{title}. {lead}",
        picture=picture,
        curves=DrawnCurves(Markup(drawn.html), Markup(drawn.script)) if drawn else None,
        blocks=tuple(blocks),
        comparison=comparison if run else None,
        rules=tuple(rules),
        numbers=own,
        made=provenance.facts(exhibit),
        problems=tuple(problems),
    )


def split_caption(caption: str) -> tuple[str, str]:
    """Return the first sentence of a caption and the rest."""
    lead, stop, rest = re.sub(r"\s+", " ", caption).partition(". ")
    return lead + stop.strip(), rest


def sentence(text: str | None) -> str:
    """Text as a sentence: capital first, full stop last; "" for None."""
    text = (text or "").strip()
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def states_of(results: Results, papers: Sequence[str]) -> dict[str, int]:
    """How many exhibits of some papers have each state; what no data set has counts once, as not run."""
    counts = dict.fromkeys(STATES, 0)
    for paper in papers:
        exhibits = results.exhibits(paper)
        for exhibit in exhibits:
            counts[exhibit.state] += 1
        names = {exhibit.name for exhibit in exhibits}
        counts["not run"] += sum(one.paper == paper and one.name not in names for one in results.planned())
    return counts


def _blocks(exhibit: Exhibit, title: str, problems: list[str]) -> tuple[list[Grid | Paragraph], Grid | None]:
    """The table as the paper lays it out; of what is drawn, its numbers."""
    markdown = _tried(exhibit.markdown, problems)
    if markdown:
        caption = " ".join(exhibit.caption.split())
        blocks = read_markdown(markdown, title)
        # the caption ends the file, and stands beneath the table here
        return [one for one in blocks if not (isinstance(one, Paragraph) and one.text == caption)], None
    if not exhibit.has_table:
        return [], None
    frame = _tried(exhibit.table, problems)
    return [], None if frame is None or frame.empty else frame_grid(frame, f"What {title} draws")


def _comparison(exhibit: Exhibit, title: str) -> tuple[Grid | None, list[str]]:
    """Ours beside the printed numbers, as its own file lays them out, and the rule of the verdicts."""
    frame = exhibit.compare()
    if frame is None:
        return None, []
    caption = f"Ours beside the printed numbers: {title}"
    laid_out = exhibit.folder / f"{exhibit.name}_compare.md"
    if laid_out.is_file():
        grid, sentences = comparison_grid(read_markdown(laid_out.read_text(encoding="utf-8"), title), caption)
        if grid is not None and len(grid.rows) == len(frame):
            return grid, sentences[1:]  # the first counts the verdicts, which the exhibit's status does too
    return frame_grid(frame, caption), []


def _matrix_cell(exhibit: Exhibit | None) -> MatrixCell | None:
    if exhibit is None:
        return None
    # one word stands for several statuses: they are counted beneath it
    detail = exhibit.status if exhibit.state in SEVERAL and len(exhibit.statuses) > 1 else ""
    return MatrixCell(exhibit.state, f"{page_of(exhibit.paper)}#{view_id(exhibit)}", detail)


def _tried(read: Callable[[], Any], problems: list[str]) -> Any:
    """What `read` gives; None where a file cannot be read, whose sentence joins the problems."""
    try:
        return read()
    except LookalikeError as error:
        problems.append(sentence(str(error)))
        return None
