"""The report: `results/` as pages, each one file that a browser opens from the disk without network or server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
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
from lookalike.report import SNAKEMAKE, claims, front, pages, pictures, provenance, tables
from lookalike.report.gallery import CLASSES, galleries_of
from lookalike.report.kept import kept_runs
from lookalike.report.ledger import COLUMNS as LEDGER
from lookalike.report.ledger import by_place
from lookalike.report.provenance import Jobs
from lookalike.report.results import GROUPS, Dataset, Results

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
BEYOND_LEAD = "What no paper prints and a reader asks next: how the methods learn, what they rest on, where they break."


def write_report(
    results: Results,
    jobs: Jobs,
    output_folder: PathLike,
    *,
    configuration: Configuration | None = None,
    kept: Iterable[PathLike] = (),
    ledger: pd.DataFrame | None = None,
) -> list[Path]:
    """Write the report below a folder, each page whole or not at all, and return its pages, ``index.html`` first.

    ``failed.txt`` beside them names in one sentence what could not be drawn or shown; it is empty where all was.
    """
    folder = Path(output_folder)
    jobs = jobs.jobs_of([dataset.id for dataset in results.datasets])
    site = _Site(results, jobs, configuration or {}, folder)
    texts = [
        *(site.paper(paper) for paper in PAPERS),
        site.beyond(),
        site.claims(),
        site.ledger(pd.DataFrame(columns=list(LEDGER)) if ledger is None else ledger),
        site.gallery(),
        site.provenance(),
    ]
    # the first page comes last: where writing stops half-way, what it says is that of the pages that are there
    texts.insert(0, site.front(kept))
    written = [folder / link.page for link in NAVIGATION]
    for path, text in reversed(list(zip(written, texts, strict=True))):
        write_text(text, path)
    named = ", ".join(dict.fromkeys(f"{exhibit.dataset}: {exhibit.id}" for exhibit in site.failed))
    sentence = f"exhibits that could not be drawn or shown: {named}; results/report/index.html says why\n"
    write_text(sentence if named else "", folder / "failed.txt")
    return written


class _Site:
    """Everything that pages share, and a method for each page that returns its text."""

    def __init__(self, results: Results, jobs: Jobs, configuration: Configuration, folder: Path) -> None:
        self.results, self.jobs, self.configuration = results, jobs, configuration
        self.failed = [exhibit for exhibit in results.exhibits() if exhibit.state is State.FAILED]
        """What could not be drawn; the gallery adds what it cannot show."""
        self.all_claims = claims.claims_of(results)
        seed = configuration.get("seed")
        self.environment = _environment()
        self.environment.globals.update(
            results=results,
            jobs=jobs,
            seed=seed,
            claims_about=partial(claims.claims_about, claims=self.all_claims),
            facts_of=partial(provenance.facts_of, jobs=jobs, seed=seed),
            files_of=partial(pages.files_of, folder=folder),
            same_earlier=partial(pages.same_earlier, results=results),
        )

    def front(self, kept: Iterable[PathLike]) -> str:
        """Write what was reproduced, how well, and what went with the papers and against them."""
        results, every = self.results, self.all_claims
        primary = [claim for claim in every if claim["primary"]]
        return self.render(
            "index.html",
            heading="Learning image similarity, reproduced",
            primary=primary,
            n_further=len(every) - len(primary),
            kept=kept_runs(kept, [dataset.id for dataset in results.datasets]),
            papers={paper: front.rows_of(results, paper) for paper in PAPERS},
            sections={paper: pages.sections(results, paper) for paper in PAPERS},
            failed=self.failed,
            terms=tables.terms(),
        )

    def paper(self, paper: str) -> str:
        """Write every exhibit of one paper, in its order."""
        about = PAPERS[paper]
        commands = (f"{SNAKEMAKE} {about.page}", "make demo")
        return self._exhibits({paper: ""}, pages.page_of(paper), about.title, f"{about.citation}.", commands)

    def beyond(self) -> str:
        """Write exhibits that no paper prints, by group."""
        groups = {group: GROUPS.get(group, group) for group in self.results.groups}
        return self._exhibits(groups, pages.BEYOND, "Beyond the papers", BEYOND_LEAD, ("make demo",))

    def _exhibits(self, groups: Mapping[str, str], page: str, heading: str, lead: str, commands: Sequence[str]) -> str:
        """Write a page of papers or groups with their titles: a section an exhibit, of every data set that has it."""
        found = [(paper, title, pages.sections(self.results, paper)) for paper, title in groups.items()]
        return self.render(
            "exhibits.html",
            page=page,
            heading=heading,
            lead=lead,
            commands=commands,
            groups=[group for group in found if group[2]],
            absent=[named for paper in groups for named in pages.absent(self.results, paper)],
        )

    def claims(self) -> str:
        """Write claims and their verdicts."""
        every = self.all_claims
        return self.render(
            "claims.html",
            heading="Claims and verdicts",
            claims=every,
            n_claims=len({claim["id"] for claim in every}),
            papers=Counter(claim["paper"] for claim in every),
        )

    def ledger(self, rows: pd.DataFrame) -> str:
        """Write every printed number and claim beside ours: of each paper a table a place, and one of its claims."""
        papers = {paper: rows[rows["paper"] == paper] for paper in PAPERS if paper in set(rows["paper"])}
        return self.render(
            "ledger.html",
            heading="Ours beside print",
            papers={paper: by_place(own, f"ledger-{paper}") for paper, own in papers.items()},
        )

    def gallery(self) -> str:
        """Write queries with their neighbours before and after learning."""
        galleries, left_out = galleries_of(self.results)
        page = self.render(
            "gallery.html",
            heading="Gallery",
            galleries=galleries,
            left_out=left_out,
            classes=CLASSES,
            drawn_at_random=RANDOM,
            gallery_css=_static("gallery.css"),
            gallery_script=_static("gallery.js"),
        )
        for exhibit, problem in [*((gallery.exhibit, gallery.problem) for gallery in galleries), *left_out]:
            if problem:
                self.failed.append(replace(exhibit, state=State.FAILED, problem=problem))
        return page

    def provenance(self) -> str:
        """Write jobs by rule, versions and configuration."""
        return self.render(
            "made.html",
            heading="How it was made",
            rules=tables.frame_grid(self.jobs.by_rule(), "Jobs by rule, with their times in seconds", "rules"),
            configurations=configuration_parts(self.configuration, self.results.datasets),
        )

    def render(self, template: str, *, page: str = "", **variables: object) -> str:
        """Write one page."""
        return self.environment.get_template(template).render(page=page or template, **variables)


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
    environment.filters.update(sentence=words.sentence, duration=human_time, slug=claims.slug)
    environment.globals.update(
        navigation=NAVIGATION,
        css=_static("report.css"),
        script=_static("report.js"),
        absent_badge=State.NOT_RUN.badge,
        paper_of=PAPERS,
        snakemake=SNAKEMAKE,
        version=lookalike.__version__,
        words=words,
        front=front,
        pages=pages,
        pictures=pictures,
        provenance=provenance,
        tables=tables,
        counts=claims.verdict_counts,
    )
    return environment


def configuration_parts(configuration: Configuration, datasets: Sequence[Dataset]) -> list[tuple[str, str]]:
    """Return the configuration by data set, then the whole: titles and YAML; none where it was not given."""
    parts: list[tuple[str, Configuration]] = []
    for dataset in datasets:
        sections = [name for name in ("datasets", *dataset.studies) if dataset.id in configuration.get(name, {})]
        own = {name: {dataset.id: configuration[name][dataset.id]} for name in sections}
        parts += [(dataset.title, own)] * bool(own)
    return [(title, _as_yaml(own)) for title, own in (*parts, *[("All settings", configuration)] * bool(configuration))]


def _as_yaml(settings: Configuration) -> str:
    """Return settings as YAML, in their order and without anchors; what YAML has no word for as text."""
    plain = json.loads(json.dumps(settings, default=str))
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110))


def _static(name: str) -> Markup:
    """Return a style sheet or script of ours, to stand inside a page."""
    return Markup(resources.files("lookalike.report").joinpath("static", name).read_text(encoding="utf-8").strip())
