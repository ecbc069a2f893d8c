"""Where the pages of the report show exhibits, in which order, and which they lack."""

from __future__ import annotations

import os
from pathlib import Path

from lookalike.exhibits.registry import PAPERS
from lookalike.report import SNAKEMAKE
from lookalike.report.pictures import Picture, encode_thumbnail, sketch_of
from lookalike.report.results import Results, ShownExhibit
from lookalike.studies.rooms import all_exhibits

BEYOND = "beyond.html"
FILES = {".csv": "CSV", ".tex": "TeX", ".md": "Markdown"}
FILES |= {suffix: suffix[1:].upper() for suffix in (".svg", ".png", ".pdf", ".json")}
"""Endings of an exhibit's files to what a page calls them."""
THUMBNAIL_SIDE, THUMBNAIL_QUALITY = 240, 60
"""Pixels of the longer side of a small picture of an exhibit, and its quality as WebP, from 0 to 100."""


def page_of(paper: str) -> str:
    """Return the name of the page that shows the exhibits of a paper, or of a group of our own."""
    return f"{PAPERS[paper].page}.html" if paper in PAPERS else BEYOND


def section_id(paper: str, name: str) -> str:
    """Return the id of the section of an exhibit on its page; groups share a page, so theirs begins with the group."""
    return name if paper in PAPERS else f"{paper}-{name}"


def view_id(exhibit: ShownExhibit) -> str:
    """Return the id of an exhibit of one data set on its page."""
    return f"{section_id(exhibit.paper, exhibit.name)}-{exhibit.dataset}"


def address_of(exhibit: ShownExhibit) -> str:
    """Return where an exhibit of one data set is shown."""
    return f"{page_of(exhibit.paper)}#{view_id(exhibit)}"


def command_of(exhibit: ShownExhibit) -> str:
    """Return what makes an exhibit again, from the project's folder."""
    name = exhibit.paths[0].name if exhibit.paths else f"{exhibit.name}.json"
    return f"{SNAKEMAKE} --force results/{exhibit.dataset}/exhibits/{exhibit.paper}/{name}"


def sections(results: Results, paper: str) -> dict[str, list[ShownExhibit]]:
    """Return exhibits of a paper by the ids of their sections, in its order; those of data made by code come last."""
    found: dict[str, list[ShownExhibit]] = {}
    for exhibit in results.exhibits(paper):
        found.setdefault(section_id(paper, exhibit.name), []).append(exhibit)
    return dict(sorted(found.items(), key=lambda item: is_made_by_code(item[1])))


def is_made_by_code(exhibits: list[ShownExhibit]) -> bool:
    """Tell whether of an exhibit's data sets only those were drawn that code makes."""
    drawn = [exhibit for exhibit in exhibits if exhibit.was_drawn]
    return bool(drawn) and all(exhibit.synthetic for exhibit in drawn)


def thumbnail_of(exhibits: list[ShownExhibit]) -> tuple[Picture | None, str]:
    """Return a small picture of an exhibit, of the first data set that has one or a table, and what data it is of."""
    drawn = [exhibit for exhibit in exhibits if exhibit.was_drawn]
    paths = [path for exhibit in drawn if (path := exhibit.picture())]
    state = "not run" if not drawn else "made by code" if is_made_by_code(exhibits) else "real data"
    sheets = [sheet for exhibit in drawn for sheet in exhibit.sheets]
    sketch = sketch_of(sheets[0]) if sheets else None
    return encode_thumbnail(paths[0], THUMBNAIL_SIDE, THUMBNAIL_QUALITY) if paths else sketch, state


def absent(results: Results, paper: str) -> list[str]:
    """Name the exhibits of a paper that no data set has, each with what a study needs to have it."""
    there = {exhibit.id for exhibit in results.exhibits(paper)}
    labels: dict[str, list[str]] = {}
    for exhibit in sorted(all_exhibits().values(), key=lambda exhibit: exhibit.place):
        if exhibit.paper == paper and exhibit.id not in there:
            labels.setdefault(exhibit.condition, []).append(exhibit.label or exhibit.title)
    return [f"{', '.join(named)} (needs {condition})" for condition, named in labels.items()]


def same_earlier(exhibit: ShownExhibit, results: Results) -> ShownExhibit | None:
    """Return the exhibit of an earlier paper that shows the same numbers of ours, drawn by the same function."""
    papers = list(PAPERS)
    for other in results.exhibits(dataset=exhibit.dataset) if exhibit.paper in papers and exhibit.was_drawn else ():
        is_earlier = other.paper in papers[: papers.index(exhibit.paper)]
        if is_earlier and other.drawn_by == exhibit.drawn_by and other.was_drawn and _shows(exhibit) == _shows(other):
            return other
    return None


def _shows(exhibit: ShownExhibit) -> object:
    """Return what two exhibits of the same have alike: a drawing, or the numbers of a table."""
    if exhibit.kind != "table":
        return (exhibit.folder / f"{exhibit.name}.svg").read_bytes()
    ours = exhibit.table().get("ours")
    return exhibit.id if ours is None else sorted(ours.dropna())


def files_of(exhibit: ShownExhibit, folder: Path) -> dict[str, str]:
    """Return the files of an exhibit as a page in a folder links to them."""
    kinds = {path.suffix: Path(os.path.relpath(path, folder)).as_posix() for path in exhibit.paths}
    return {title: kinds[suffix] for suffix, title in FILES.items() if suffix in kinds}
