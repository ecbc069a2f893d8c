"""The report: `results/` as pages that a browser opens from the disk, without a network and without a server.

Every page is one file: style, script and pictures are inside it, and links lead to the pages beside it only. What a
page shows is worked out in `lookalike.report._pages` and written by the Jinja2 templates beside this file; the gallery
and the curves that can be read off come from `lookalike.report.gallery` and `lookalike.report.curves`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import lookalike
from lookalike.core.files import replacing
from lookalike.report import _claims, _made, _pages
from lookalike.report._pictures import Pictures
from lookalike.report._tables import frame_grid
from lookalike.report.results import GROUPS, PAPERS, Results

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from lookalike.report.curves import Curves
    from lookalike.report.provenance import Jobs
    from lookalike.report.results import Exhibit

Progress = Callable[[int, int, str], None]
"""Called after every page: how many are written, of how many, and the name of the last."""


class Link(NamedTuple):
    """A page, as the bar at the top names it."""

    page: str
    short: str
    title: str


def _short(title: str) -> str:
    """Where a paper was printed, which is how the bar names it."""
    where = title.rpartition(", ")[2].replace(" of ", " ")
    return where[0].upper() + where[1:]


NAVIGATION = (
    Link("index.html", "Overview", "Overview"),
    *(Link(f"{paper.page}.html", _short(paper.title), f"{paper.title}: {paper.citation}") for paper in PAPERS.values()),
    Link(_pages.BEYOND, "Beyond", "Exhibits that no paper prints"),
    Link("claims.html", "Claims", "Claims and verdicts"),
    Link("gallery.html", "Gallery", "Neighbours before and after learning"),
    Link("made.html", "How it was made", "Jobs, versions and configuration"),
)
"""Every page of the report."""


def write_report(
    results: Results,
    jobs: Jobs | None,
    output_folder: str | os.PathLike[str],
    *,
    configuration: Mapping[str, Any] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write the report.

    Parameters
    ----------
    results : Results
        What there is; a study that was not run shows as such.
    jobs : Jobs or None
        Records of the jobs that made it; None where there are none.
    output_folder : path-like
        Folder of the pages, made as needed. Each page is written whole or not at all.
    configuration : mapping, optional
        The configuration of the run.
    seed : int, optional
        Its root seed; by default the configuration's.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    list of Path
        The pages, ``index.html`` first.

    Raises
    ------
    LookalikeError
        When a page cannot be written. What cannot be read is told on the page of its exhibit.
    """
    if seed is None and configuration is not None:
        seed = configuration.get("seed")
    site = _Site(results, jobs, configuration, seed)
    makers: dict[str, Callable[[], str]] = {
        "index.html": site.front,
        **{_pages.page_of(paper): partial(site.paper, paper) for paper in PAPERS},
        _pages.BEYOND: site.beyond,
        "claims.html": site.claims,
        "gallery.html": site.gallery,
        "made.html": site.made,
    }
    written: list[Path] = []
    # the first page comes last: where writing stops half-way, what it says is that of the pages that are there
    for page, make in reversed(makers.items()):
        text = make()
        path = Path(output_folder) / page
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
        written.append(path)
        if progress is not None:
            progress(len(written), len(makers), page)
    return written[::-1]


class _Site:
    """Everything that pages share, and a method for each page that returns its text."""

    def __init__(
        self, results: Results, jobs: Jobs | None, configuration: Mapping[str, Any] | None, seed: int | None
    ) -> None:
        self.results = results
        self.jobs = jobs if jobs is not None and (len(jobs) or jobs.unreadable) else None
        self.configuration = configuration
        self.seed = seed
        self.pictures = Pictures()
        self.provenance = _made.Provenance(
            results, self.jobs if self.jobs and len(self.jobs) else None, configuration, seed
        )

    def front(self) -> str:
        """The state of every exhibit in one glance."""
        results = self.results
        states = results.states()
        claims = self.all_claims
        return self.render(
            "index.html",
            page="index.html",
            heading="Learning image similarity, reproduced",
            states=states,
            summary=_summary(results, states),
            meanings=_pages.MEANINGS,
            only_synthetic=bool(results.datasets) and all(one.synthetic or one.not_run for one in results.datasets),
            matrices=[_pages.matrix(results, paper) for paper in PAPERS],
            beyond=[_pages.matrix(results, group) for group in GROUPS],
            claims=_claims.counts_grid(claims) if claims else None,
            n_claims=len(claims),
            datasets=[
                _DatasetCard(one.id, one.title, one.synthetic, one.headline, one.not_run) for one in results.datasets
            ],
            work=self._work_sentence(),
        )

    def paper(self, paper: str) -> str:
        """Every exhibit of one paper, in its order."""
        return self._exhibits([paper], _pages.page_of(paper), PAPERS[paper].title, PAPERS[paper].citation + ".")

    def beyond(self) -> str:
        """Exhibits that no paper prints, by group."""
        lead = (
            "What no paper prints and a reader asks next: how the methods learn, what they rest on, where they break."
        )
        return self._exhibits(list(GROUPS), _pages.BEYOND, "Beyond the papers", lead)

    def claims(self) -> str:
        """Claims and their verdicts."""
        claims = self.all_claims
        titles = {key: paper.title for key, paper in PAPERS.items()}
        return self.render(
            "claims.html",
            page="claims.html",
            heading="Claims and verdicts",
            claims=claims,
            verdicts=_claims.verdict_choices(claims),
            papers=_claims.choices((claim.paper_id for claim in claims), titles),
            notes=_claims.notes(self.results),
        )

    def gallery(self) -> str:
        """Queries with their neighbours before and after learning."""
        from markupsafe import Markup

        from lookalike.report.gallery import gallery_material, gallery_parts

        material = gallery_material(self.results.folder, configuration=self.configuration, seed=self.seed or 0)
        parts = gallery_parts(material)
        return self.render(
            "parts_page.html",
            page="gallery.html",
            heading="Gallery",
            part_html=Markup(parts.html),
            part_css=Markup(parts.css),
            part_script=Markup(parts.script),
        )

    def made(self) -> str:
        """Jobs by rule, versions and configuration."""
        jobs = self.jobs if self.jobs is not None and len(self.jobs) else None
        unreadable = len(self.jobs.unreadable) if self.jobs is not None else 0
        return self.render(
            "made.html",
            page="made.html",
            heading="How it was made",
            facts=_made.whole_run(jobs) if jobs else (),
            rules=frame_grid(jobs.by_rule(), "Jobs by rule, with their times in seconds") if jobs else None,
            versions=_made.library_versions(jobs.versions) if jobs else (),
            unreadable=f"{unreadable} records of jobs could not be read; their jobs are not counted."
            if unreadable
            else "",
            configurations=_made.configuration_parts(self.configuration, self.results.datasets),
            seed=self.seed,
        )

    def render(self, template: str, **variables: Any) -> str:
        """Write one page."""
        return self._environment.get_template(template).render(**variables)

    @cached_property
    def all_claims(self) -> list[_claims.Claim]:
        """Claims of all data sets."""
        return _claims.claims_of(self.results.claims(), self.results)

    def _exhibits(self, papers: list[str], page: str, heading: str, lead: str) -> str:
        drawn: list[Curves] = []

        def curves(exhibit: Exhibit) -> Curves | None:
            made = _curves(exhibit, self.configuration)
            if made is not None:
                drawn.append(made)
            return made

        groups = _pages.groups_of(
            self.results, papers, pictures=self.pictures, provenance=self.provenance, curves=curves
        )
        return self.render(
            "exhibits.html",
            page=page,
            heading=heading,
            lead=lead,
            groups=groups,
            states=_pages.states_of(self.results, papers),
            curves_script=_curves_script() if drawn else "",
        )

    def _work_sentence(self) -> str:
        if self.jobs is None or not len(self.jobs):
            return ""
        work = self.jobs.whole()
        return (
            f"{work.jobs:,} jobs of {len(work.rules)} rules took {_made.duration(work.cpu_seconds)} of processor time "
            f"on {' and '.join(work.processors)}."
        )

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("lookalike.report"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.globals.update(
            navigation=NAVIGATION,
            css=_static("report.css"),
            script=_static("report.js"),
            signs=_pages.SIGNS,
            version=lookalike.__version__,
        )
        return environment


class _DatasetCard(NamedTuple):
    """A data set on the front page."""

    id: str
    title: str
    synthetic: bool
    headline: str
    not_run: str | None

    @property
    def sentence(self) -> str:
        """What to do to run it."""
        return _pages.sentence(self.not_run)


def _summary(results: Results, states: Mapping[str, int]) -> str:
    """One sentence: how many exhibits there are, and of how many numbers a verdict was possible."""
    exhibits = results.exhibits()
    printed = sum(one.n_printed for one in exhibits)
    decided = sum(one.n_decided for one in exhibits)
    made = sum(states.values()) - states["not run"]
    verdicts = f"{decided:,} of them can be compared" if decided else "none can be compared, so there is no verdict"
    return (
        f"{made} exhibits were made and {states['not run']} were not. Beside ours stand {printed:,} printed numbers; "
        f"{verdicts}."
    )


def _static(name: str) -> Markup:
    """A style sheet or script of ours, to stand inside a page."""
    from markupsafe import Markup

    return Markup(resources.files("lookalike.report").joinpath("static", name).read_text(encoding="utf-8").strip())


def _curves(exhibit: Exhibit, configuration: Mapping[str, Any] | None) -> Curves | None:
    from lookalike.report.curves import interactive, titles_of

    return interactive(exhibit, titles_of(configuration, exhibit.dataset))


def _curves_script() -> Markup:
    from markupsafe import Markup

    from lookalike.report.curves import bokeh_script

    return Markup(bokeh_script())
