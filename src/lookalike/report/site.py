"""The report: `results/` as pages, each one file that a browser opens from the disk without network or server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pandas as pd
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
from lookalike.report import SNAKEMAKE, claims, facts, front, names, pages
from lookalike.report.facts import Configuration
from lookalike.report.gallery import CLASSES, galleries_of
from lookalike.report.kept import KeptRun, kept_runs
from lookalike.report.ledger import COLUMNS as LEDGER
from lookalike.report.ledger import by_place
from lookalike.report.provenance import Jobs
from lookalike.report.results import GROUPS, Exhibit, Results, jobs_behind, read_csv
from lookalike.report.tables import frame_grid


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


def write_report(
    results: Results,
    jobs: Jobs | None,
    output_folder: PathLike,
    *,
    configuration: Configuration | None = None,
    kept: Iterable[PathLike] = (),
) -> list[Path]:
    """Write the report below a folder, each page whole or not at all, and return its pages, ``index.html`` first.

    ``failed.txt`` beside them names in one sentence what could not be drawn or shown; it is empty where all was.
    """
    site = _Site(results, jobs, configuration or {}, Path(output_folder))
    site.kept = kept_runs(kept, [dataset.id for dataset in results.datasets])
    papers = [partial(site.paper, paper) for paper in PAPERS]
    others = (site.beyond, site.claims, site.ledger, site.gallery, site.provenance)
    makers: list[Callable[[], str]] = [site.front, *papers, *others]
    written: list[Path] = []
    # the first page comes last: where writing stops half-way, what it says is that of the pages that are there
    for link, make in reversed(list(zip(NAVIGATION, makers, strict=True))):
        text = make()
        written.append(Path(output_folder) / link.page)
        write_text(text, written[-1])
    named = ", ".join(dict.fromkeys(f"{exhibit.dataset}: {exhibit.id}" for exhibit in site.failed))
    sentence = f"exhibits that could not be drawn or shown: {named}; results/report/index.html says why\n"
    write_text(sentence if named else "", Path(output_folder) / "failed.txt")
    return written[::-1]


class _Site:
    """Everything that pages share, and a method for each page that returns its text."""

    def __init__(self, results: Results, jobs: Jobs | None, configuration: Configuration, folder: Path) -> None:
        self.results, self.folder, self.configuration = results, folder, configuration
        self.unreadable = jobs.unreadable if jobs is not None else 0
        self.jobs = jobs_behind(results.exhibits(), jobs) if jobs else None
        self.seed = configuration.get("seed")
        self.failed = [exhibit for exhibit in results.exhibits() if exhibit.state is State.FAILED]
        """What could not be drawn; pages add what they cannot show."""
        self.all_claims = claims.claims_of(results)
        self.kept: list[KeptRun] = []
        """Longer runs, which are not of this folder."""

    def front(self) -> str:
        """Write what was reproduced, how well, and what went with the papers and against them."""
        results, every = self.results, self.all_claims
        primary = [claim for claim in every if claim["primary"]]
        return self.render(
            "index.html",
            heading="Learning image similarity, reproduced",
            primary=primary,
            compared=front.compared(results),
            synthetic=front.synthetic_words(results),
            forest=front.forest(results),
            results=results,
            kept=self.kept,
            papers={paper: front.rows_of(results, paper) for paper in PAPERS},
            drawn=lambda id: sorted({exhibit.label for exhibit in results.exhibits(id) if exhibit.was_drawn}),
            states=results.states(),
            matrices=[pages.matrix(results, paper) for paper in PAPERS],
            n_further=len(every) - len(primary),
            unmade=[dataset for dataset in results.datasets if dataset.not_run],
            failed=self.failed,
            work=self.jobs.whole if self.jobs else None,
            terms=names.terms(),
        )

    def paper(self, paper: str) -> str:
        """Write every exhibit of one paper, in its order."""
        about = PAPERS[paper]
        commands = (f"{SNAKEMAKE} {about.page}", "make demo")
        return self._exhibits([paper], pages.page_of(paper), about.title, f"{about.citation}.", commands)

    def beyond(self) -> str:
        """Write exhibits that no paper prints, by group."""
        lead = (
            "What no paper prints and a reader asks next: how the methods learn, what they rest on, where they break."
        )
        return self._exhibits(self.results.groups, pages.BEYOND, "Beyond the papers", lead, ("make demo",))

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

    def ledger(self) -> str:
        """Write every printed number and claim beside ours: of each paper a table a place, and one of its claims."""
        path = self.results.folder / "ledger.csv"
        rows = read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else pd.DataFrame(columns=LEDGER)
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
            self._fails(exhibit, problem)
        return page

    def provenance(self) -> str:
        """Write jobs by rule, versions and configuration."""
        jobs = self.jobs
        return self.render(
            "made.html",
            heading="How it was made",
            facts=facts.whole_run(jobs.whole) if jobs else (),
            rules=frame_grid(jobs.by_rule(), "Jobs by rule, with their times in seconds", "rules") if jobs else None,
            versions=[
                facts.Fact(names.LIBRARIES.get(name, name), ", ".join(seen))
                for name, seen in (jobs.whole.versions.items() if jobs else ())
            ],
            unreadable=self.unreadable,
            configurations=facts.configuration_parts(self.configuration, self.results.datasets),
            seed=self.seed,
        )

    def render(self, template: str, *, page: str = "", **variables: object) -> str:
        """Write one page."""
        return self._environment.get_template(template).render(page=page or template, **variables)

    def _view(self, exhibit: Exhibit) -> pages.View:
        about, twin = claims.claims_about(exhibit, self.all_claims), pages.twin_of(exhibit, self.results)
        view = pages.view_of(exhibit, facts.facts_of(exhibit, self.jobs, self.seed), self.folder, about, twin)
        self._fails(exhibit, " ".join(view.problems) if exhibit.was_drawn else "")
        return view

    def _fails(self, exhibit: Exhibit, problem: str) -> None:
        """Remember what a page cannot show of an exhibit; "" is no problem."""
        if problem:
            self.failed.append(replace(exhibit, state=State.FAILED, problem=problem))

    def _exhibits(self, papers: list[str], page: str, heading: str, lead: str, commands: Sequence[str]) -> str:
        """Write a page with a group for each paper, whose sections have an exhibit of every data set that has it."""
        sections = {
            paper: {
                pages.section_id(paper, name): list(map(self._view, own))
                for name, own in pages.by_name(self.results, paper).items()
            }
            for paper in papers
            if self.results.exhibits(paper)
        }
        views = [view for own in sections.values() for section in own.values() for view in section]
        return self.render(
            "exhibits.html",
            page=page,
            heading=heading,
            lead=lead,
            commands=commands,
            groups=[
                {
                    "id": f"group-{paper}",
                    "title": "" if paper in PAPERS else GROUPS.get(paper, paper),
                    "sections": own,
                }
                for paper, own in sections.items()
            ],
            absent=[named for paper in papers for named in pages.absent(self.results, paper)],
            has_points=any(view.picture and view.picture.points for view in views),
        )

    @cached_property
    def _environment(self) -> Environment:
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
            words=words,
            front=front,
            paper_of=PAPERS,
            view_id=pages.view_id,
            address_of=pages.address_of,
            command_of=facts.command_of,
            counts=claims.verdict_counts,
            snakemake=SNAKEMAKE,
            version=lookalike.__version__,
        )
        return environment


def _static(name: str) -> Markup:
    """Return a style sheet or script of ours, to stand inside a page."""
    return Markup(resources.files("lookalike.report").joinpath("static", name).read_text(encoding="utf-8").strip())
