"""The report: `results/` as pages, each one file that a browser opens from the disk without network or server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import lookalike
from lookalike.core.errors import escaped_in_page
from lookalike.core.files import PathLike, write_text
from lookalike.exhibits import words
from lookalike.exhibits.neighbours import RANDOM
from lookalike.exhibits.printed import human_time
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import State
from lookalike.report import SNAKEMAKE, claims, front, pages, pictures, tables
from lookalike.report.gallery import CLASSES, galleries_of
from lookalike.report.provenance import Jobs, project_path
from lookalike.report.results import GROUPS, Dataset, Results

if TYPE_CHECKING:
    import pandas as pd

Configuration = Mapping[str, Any]
"""Settings as YAML has them."""


class Link(NamedTuple):
    """A page, as the bar at the top names it."""

    page: str
    short: str
    title: str


NAVIGATION = (
    Link("index.html", "Overview", "Overview"),
    *(Link(pages.page_of(id), paper.short, f"{paper.title}: {paper.citation}") for id, paper in PAPERS.items()),
    Link(pages.BEYOND, "Beyond", "Exhibits that no paper prints"),
    Link("claims.html", "Claims", "Claims and verdicts"),
    Link("ledger.html", "Ledger", "Ours beside every printed number and claim"),
    Link("gallery.html", "Gallery", "Neighbours before and after learning"),
    Link("made.html", "How it was made", "Jobs, versions and configuration"),
)
BEYOND_LEAD = "Experiments that no paper prints: how the methods learn, on what data they work, and where they fail."


def write_report(
    results: Results,
    jobs: Jobs,
    output_folder: PathLike,
    *,
    configuration: Configuration | None = None,
    ledger: pd.DataFrame | None = None,
) -> list[Path]:
    """Write the report below a folder, each page whole or not at all, and return its pages, ``index.html`` first.

    ``failed.txt`` beside them names in one sentence what could not be made or shown; it is empty where all was.
    """
    folder, settings = Path(output_folder), configuration or {}
    every, (galleries, left_out) = claims.claims_of(results), galleries_of(results)
    environment = _environment()
    environment.globals.update(
        results=results,
        jobs=jobs.jobs_of([dataset.id for dataset in results.datasets]),
        seed=settings.get("seed"),
        claims_about=partial(claims.claims_about, claims=every),
        files_of=partial(pages.files_of, folder=folder),
        same_earlier=partial(pages.same_earlier, results=results),
    )

    def render(page: str, template: str = "", **variables: object) -> str:
        return environment.get_template(template or page).render(page=page, **variables)

    texts = {page: render(page, "exhibits.html", **about) for page, about in _pages_of_exhibits(results)}
    counts = (Counter(claim[column] for claim in every) for column in ("paper", "title"))
    texts["claims.html"] = render("claims.html", claims=every, papers=next(counts), datasets=next(counts))
    texts["ledger.html"] = render("ledger.html", papers=() if ledger is None else ledger.groupby("paper", sort=False))
    texts["gallery.html"] = render("gallery.html", galleries=galleries, left_out=left_out)
    texts["made.html"] = render("made.html", configurations=configuration_parts(settings, results.datasets))
    failed = [exhibit for exhibit in results.exhibits() if exhibit.state is State.FAILED]
    # the page of galleries has asked for all of their images
    unseen = [*((gallery.exhibit, gallery.problem) for gallery in galleries), *left_out]
    failed += [replace(exhibit, state=State.FAILED, problem=problem) for exhibit, problem in unseen if problem]
    texts["index.html"] = render("index.html", claims=every, failed=failed)
    # the first page comes last: where writing stops half-way, what it says is that of the pages that are there
    for page, text in texts.items():
        write_text(text, folder / page)
    named = ", ".join(dict.fromkeys(f"{exhibit.dataset}: {exhibit.id}" for exhibit in failed))
    sentence = f"exhibits that could not be made or shown: {named}; results/report/index.html says why\n"
    write_text(sentence if named else "", folder / "failed.txt")
    return [folder / link.page for link in NAVIGATION]


def _pages_of_exhibits(results: Results) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the page of each paper, then that of our own groups, with what its template shows."""
    about: dict[str, tuple[str, str, Mapping[str, str], tuple[str, ...]]] = {
        pages.page_of(id): (paper.title, f"{paper.citation}.", {id: ""}, (f"{SNAKEMAKE} {paper.page}", "make demo"))
        for id, paper in PAPERS.items()
    }
    titles = {group: GROUPS.get(group, group) for group in results.groups}
    about[pages.BEYOND] = "Beyond the papers", BEYOND_LEAD, titles, ("make demo",)
    for page, (heading, lead, groups, commands) in about.items():
        found = [(id, title, pages.sections(results, id)) for id, title in groups.items()]
        absent = [named for id in groups for named in pages.absent(results, id)]
        variables = {"groups": [group for group in found if group[2]], "absent": absent, "commands": commands}
        yield page, {"heading": heading, "lead": lead, **variables}


def _environment() -> Environment:
    """Return the templates with what all of them call."""
    environment = Environment(
        loader=PackageLoader("lookalike.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=escaped_in_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        sentence=words.sentence, duration=human_time, slug=claims.slug, project_path=project_path
    )
    environment.globals.update(
        navigation=NAVIGATION,
        static=_static,
        states=State,
        paper_of=PAPERS,
        snakemake=SNAKEMAKE,
        version=lookalike.__version__,
        words=words,
        front=front,
        pages=pages,
        pictures=pictures,
        tables=tables,
        counts=claims.verdict_counts,
        classes=CLASSES,
        picked_at_random=RANDOM,
    )
    return environment


def configuration_parts(configuration: Configuration, datasets: Sequence[Dataset]) -> list[tuple[str, str]]:
    """Return the configuration by data set, then the whole: titles and YAML; none where it was not given."""
    # without anchors, and what YAML has no word for as text
    whole = json.loads(json.dumps(configuration, default=str))
    parts = [("All settings", whole)] * bool(whole)
    for dataset in reversed(datasets):
        sections = [name for name in ("datasets", *dataset.studies) if dataset.id in whole.get(name, {})]
        own = {name: {dataset.id: whole[name][dataset.id]} for name in sections}
        parts[:0] = [(dataset.title, own)] * bool(own)
    return [(title, yaml.safe_dump(own, sort_keys=False, allow_unicode=True, width=110)) for title, own in parts]


def _static(name: str) -> Markup:
    """Return a style sheet or script of ours, to stand inside a page."""
    return Markup(resources.files("lookalike.report").joinpath("static", name).read_text(encoding="utf-8").strip())
