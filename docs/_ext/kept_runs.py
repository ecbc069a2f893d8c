"""Numbers of runs on the pages: read from the files in workflow/resources/runs.

``{headline} DATASET`` shows a run's main numbers. ``{kept-runs}`` shows every run that was kept, ``{ledger}`` sets what
they have beside print, ``{not-run}`` what has
not been run, and ``{processors}`` what instructions change. ``{job-costs} DATASET...`` shows what the rules of
a run took, and ``{full-costs}`` what the papers' full runs take. ``{peers}`` shows how fast ours is beside public
packages.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lookalike.exhibits.claims import claims_of, decided, read_claims
from lookalike.exhibits.printed import human_time
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.words import NO_NUMBER
from lookalike.report.costs import REHEARSED, full_run, full_seconds, read_rows, scaled, seconds_of
from lookalike.report.front import KINDS
from lookalike.report.ledger import ledger

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DATA_SETS = {
    name: data
    for file in ("config.yaml", "config/demo.yaml")
    for name, data in yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["datasets"].items()
}
ORDER = ("category", "embeddings", "landmark", "web", "finegrained")
"""Studies in the papers' order."""
MOST_RULES = 12
WIDTHS = (4, 2, 1, 2, 2, 6)
"""Of the columns of a table of scaled parts."""

Run = dict[str, Any]
Cell = str | nodes.Node


class KeptDirective(SphinxDirective):
    """A directive that shows kept runs."""

    final_argument_whitespace = True

    @property
    def folder(self) -> Path:
        """Where the summaries are."""
        return Path(self.config.lookalike_kept_runs)

    def runs(self) -> list[Run]:
        """Every kept run, those of real images first, then in the papers' order."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            self.env.note_dependency(str(path))
            found.append(json.loads(path.read_text(encoding="utf-8")))
        return sorted(found, key=lambda run: (run["synthetic"], ORDER.index(run["studies"][0])))

    def named(self) -> list[Run]:
        """The runs that the argument names."""
        by_name = {run["dataset"]: run for run in self.runs()}
        return [by_name[name] for name in self.arguments[0].split() if name in by_name]


class Headline(KeptDirective):
    """The main numbers of one run."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the text as the run wrote it."""
        return [_text(run["headline"]) for run in self.named()]


class JobCosts(KeptDirective):
    """Jobs, processor time and memory of the rules of some runs."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a table for each run with a row for each rule, the most expensive first."""
        return [_costs_table(run) for run in self.named()]


class KeptRuns(KeptDirective):
    """All runs: one table, then a section for each."""

    def run(self) -> list[nodes.Node]:
        """Return the table and the sections."""
        runs = self.runs()
        head = ("data", "images", "size", "processor time")
        rows = [(run["title"], _kind(run), run["size"], duration(_cpu_seconds(run))) for run in runs]
        return [table(head, rows), *(self._section(run) for run in runs)]

    def _section(self, run: Run) -> nodes.section:
        section = nodes.section("", nodes.title("", run["title"]), ids=[f"run-{run['dataset']}"])
        self.state.document.note_explicit_target(section)
        section += _facts(run)
        if run["differences"]:
            head = ("place", "names", "here", "paper")
            rows = [[row[name] for name in head] for row in run["differences"]]
            section += table(("place", "difference", "here", "paper"), rows)
        section += _text(run["headline"])
        return section


class Ledger(KeptDirective):
    """Every printed number and claim of the papers beside ours, of runs that were kept."""

    def run(self) -> list[nodes.Node]:
        """Return a section a paper, with a table."""
        runs = self.runs()
        demo = [run["dataset"] for run in runs if run["command"] == "make demo"]
        numbers = {run["dataset"]: run.get("numbers", ()) for run in runs if not run["synthetic"]}
        sources = [ROOT / "workflow/resources" / name for name in ("claims.csv", "reference-values.csv", "ledger.csv")]
        kept = sorted((self.folder / "claims").glob("*.csv"))
        for path in (*sources, *kept):
            self.env.note_dependency(str(path))
        claims = claims_of(read_rows(sources[0]))
        verdicts = decided([], [pd.DataFrame(read_claims(path), dtype=str) for path in kept], claims, str)
        rows = ledger(numbers, verdicts.to_dict("records"), read_rows(sources[1]), read_rows(sources[2]), demo)
        head = ("place", "what", "printed", "demo", "longest", "run", "draws", "change")
        sections = []
        for paper, about in PAPERS.items():
            section = nodes.section("", nodes.title("", about.title), ids=[f"ledger-{paper}"])
            self.state.document.note_explicit_target(section)
            own = rows.loc[rows["paper"] == paper, list(head)]
            section += table(head, own.itertuples(index=False), widths=(2, 4, 2, 2, 2, 3, 4, 4))
            sections.append(section)
        return sections


class Processors(KeptDirective):
    """Numbers and times of the demo that were seen to differ with the instructions that libraries choose."""

    def run(self) -> list[nodes.Node]:
        """Return the kept measurements as a table, with where each comes from."""
        path = self.folder / "processors.csv"
        self.env.note_dependency(str(path))
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        return [table(head, rows)]


class Peers(KeptDirective):
    """Seconds of ours and of public packages, as `make benchmarks` measured them."""

    def run(self) -> list[nodes.Node]:
        """Return where and when it was measured, and a table; one sentence where nothing was kept."""
        kept = []
        for path in sorted((self.folder / "peers").glob("*.json")):
            self.env.note_dependency(str(path))
            kept.append(json.loads(path.read_text(encoding="utf-8")))
        if not kept:
            return [nodes.paragraph("", "No measurement is kept.")]
        machines = sorted({f"{run['machine']['processor']}, {run['machine']['date']}" for run in kept})
        head = ("what", "size", "beside", "ours", "peer", "peer by ours", "the least on this core")
        rows = [_beside(row) for run in kept for row in run["ratios"]]
        return [nodes.paragraph("", f"Measured with one thread: {'; '.join(machines)}."), table(head, rows)]


def _beside(row: Run) -> tuple[str, ...]:
    least = f"{row['limit_seconds']:.2g} s ({row['limit']})" if "limit" in row else NO_NUMBER
    seconds = (f"{row[name]:.2g} s" for name in ("ours_seconds", "peer_seconds"))
    times = f"{row['ratio']:,.0f}" if row["ratio"] >= 10 else f"{row['ratio']:.1f}"
    return row["what"], row["size"], row["peer"], *seconds, times, least


class NotRun(KeptDirective):
    """Data sets of the project's settings that no kept run is of."""

    def run(self) -> list[nodes.Node]:
        """Return a list of their titles."""
        kept = {run["dataset"] for run in self.runs()}
        titles = [data["title"] for name, data in DATA_SETS.items() if name not in kept]
        return [nodes.bullet_list("", *(nodes.list_item("", nodes.paragraph("", title)) for title in titles))]


class FullCosts(KeptDirective):
    """Table what studies of the papers' size take: on Caltech-256 as rehearsed, on others as kept runs tell."""

    def run(self) -> list[nodes.Node]:
        """Return a table of all studies, then one of the parts of each."""
        folder = self.folder / "full-size"
        for name in ("parts.csv", "measured.json", "rehearsal.json", "rehearsed.csv"):
            self.env.note_dependency(str(folder / name))
        measured, rehearsal = (
            json.loads((folder / name).read_text(encoding="utf-8")) for name in ("measured.json", "rehearsal.json")
        )
        runs = {run["dataset"]: run for run in (*self.runs(), measured)}
        rehearsed = _rehearsed(read_rows(folder / "rehearsed.csv"), rehearsal["jobs"])
        parts = [scaled(part, runs) for part in read_rows(folder / "parts.csv")]
        studies = {name: [part for part in parts if part["study"] == name] for name in DATA_SETS}
        rows = {REHEARSED: _rehearsed_total(rehearsed, rehearsal)}
        rows |= {name: _total(own) for name, own in studies.items() if own}
        head = ("", "on 2 cores", "on 16 cores", "memory of a job", "disk", "what dominates")
        found: list[nodes.Node] = [table(head, [(DATA_SETS[name]["title"], *row) for name, row in rows.items()])]
        head = ("part", "jobs", "processor time", "longest job", "memory", "disk", "ended at a limit")
        measured_parts = [(name, *_rehearsed_part(jobs)) for name, jobs in rehearsed.items()]
        title = f"{DATA_SETS[REHEARSED]['title']}, one partition, rehearsed"
        found += [nodes.rubric("", title), table(head, measured_parts)]
        head = ("part", "processor time", "jobs", "memory", "disk", "how it was scaled")
        for name in studies:
            if studies[name]:
                found += [nodes.rubric("", DATA_SETS[name]["title"]), table(head, map(_part, studies[name]), WIDTHS)]
        return found


def _rehearsed(parts: list[Run], jobs: Run) -> dict[str, list[Run]]:
    """Part of the study to its jobs of the rehearsal, none where it was not rehearsed; jobs of no part come last."""
    found: dict[str, list[Run]] = {part["part"]: [] for part in parts}
    for name, job in jobs.items():
        fits = (part["part"] for part in parts if re.fullmatch(part["jobs"], name))
        found.setdefault(next(fits, "others"), []).append(job)
    return found


def _rehearsed_part(jobs: list[Run]) -> tuple[str, ...]:
    """Return what the jobs of a part took, or that they were not rehearsed."""
    if not jobs:
        return ("not rehearsed", *[NO_NUMBER] * 5)
    fits, ended = (sum(job[name] for job in jobs) for name in ("fits", "fits_at_limit"))
    return (
        f"{len(jobs)}",
        duration(_sum(jobs, "cpu_seconds")),
        duration(max(job["seconds"] for job in jobs)),
        _gigabytes(max(job["peak_megabytes"] for job in jobs) / 1000),
        _gigabytes(_sum(jobs, "megabytes") / 1000),
        f"{ended} of {fits} fits" if ended else NO_NUMBER,
    )


def _rehearsed_total(parts: dict[str, list[Run]], rehearsal: Run) -> tuple[str, ...]:
    """Time of five partitions on 2 and 16 cores, memory and disk, and the dearest part."""
    jobs = list(rehearsal["jobs"].values())
    if not jobs:
        return ("not rehearsed", *[NO_NUMBER] * 4)
    of_all = {part: sum(job["cpu_seconds"] * job["times"] for job in own) for part, own in parts.items()}
    dearest = max(of_all, key=of_all.__getitem__)
    return (
        *(duration(full_seconds(full_run(rehearsal["jobs"]), n_cores)) for n_cores in (2, 16)),
        _gigabytes(max(job["peak_megabytes"] for job in jobs) / 1000),
        _gigabytes(rehearsal["megabytes"] / 1000),
        f"{dearest} ({of_all[dearest] / sum(of_all.values()):.0%})",
    )


def _sum(jobs: Iterable[Run], what: str) -> float:
    return float(sum(job[what] for job in jobs))


def _total(parts: list[Run]) -> tuple[str, ...]:
    """Time on 2 and 16 cores, memory and disk of a study, and its dearest part."""
    on = [seconds_of(parts, cores) for cores in (2, 16)]
    memory, disk = max(part["memory"] for part in parts), sum(part["disk"] for part in parts)
    dearest = max(parts, key=lambda part: part["cpu_seconds"])
    share = dearest["cpu_seconds"] / sum(part["cpu_seconds"] for part in parts)
    return (*map(duration, on), _gigabytes(memory), _gigabytes(disk), f"{dearest['part']} ({share:.0%})")


def _part(part: Run) -> tuple[str, ...]:
    numbers = duration(part["cpu_seconds"]), str(part["jobs"]), _gigabytes(part["memory"]), _gigabytes(part["disk"])
    return part["part"], *numbers, part["how"]


def _facts(run: Run) -> nodes.table:
    """Data, command, machine and cost of a run."""
    jobs = sum(rule["jobs"] for rule in run["rules"])
    peak = max(rule["peak_megabytes"] for rule in run["rules"])
    stored = sum(run["stored_megabytes"].values())
    commits = ", ".join(commit[:10] for commit in run["commits"]) + (", changed since" if run["modified"] else "")
    facts = {
        "Data": f"{run['size']}; {_kind(run)}",
        "Command": nodes.literal("", run["command"]),
        "Made": f"on {run['date']}, from commit {commits}",
        "Machine": f"{', '.join(run['processors'])}, {run['cores']} cores, {run['memory_gigabytes']} GB of memory",
        "Took": f"{duration(_cpu_seconds(run))} of processor time in {jobs} jobs",
        "Needed": f"{_gigabytes(peak / 1000)} of memory for the largest job, {_gigabytes(stored / 1000)} of files",
    }
    return table((), facts.items(), widths=(1, 6))


def duration(seconds: float) -> str:
    """Return a length of time in words; a dash for none."""
    return human_time(seconds) if seconds else NO_NUMBER


def _kind(run: Run) -> str:
    return KINDS[run["synthetic"]]


def _cpu_seconds(run: Run) -> float:
    return float(sum(rule["cpu_seconds"] for rule in run["rules"]))


def _gigabytes(number: float) -> str:
    if not number:
        return "–"
    return f"{number:,.1f} GB" if number >= 0.1 else f"{number * 1000:,.0f} MB"


def _costs_table(run: Run) -> nodes.table:
    """The dearest rules of a run, the others together, and all."""
    rules = run["rules"]
    dear, rest = rules[:MOST_RULES], rules[MOST_RULES:]
    rows = [_costs(rule["rule"], [rule]) for rule in dear]
    rows += [_costs(f"{len(rest)} other rules", rest)] if rest else []
    head = (f"rule ({run['title']})", "jobs", "processor s", "s by the clock", "most MB of a job")
    return table(head, [*rows, _costs("all", rules)])


def _costs(name: str, rules: list[Run]) -> tuple[str, ...]:
    sums = [sum(rule[column] for rule in rules) for column in ("jobs", "cpu_seconds", "seconds")]
    return name, *(f"{number:,.0f}" for number in (*sums, max(rule["peak_megabytes"] for rule in rules)))


def _text(text: str) -> nodes.literal_block:
    return nodes.literal_block("", text.rstrip(), language="text")


def table(head: Iterable[str], rows: Iterable[Iterable[Cell]], widths: Iterable[int] = ()) -> nodes.table:
    """A table of plain text and nodes; all of a page are as wide."""
    head = list(head)
    widths = list(widths) or [1] * len(head)
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in widths), cols=len(widths))
    if head:
        group += nodes.thead("", _row(head))
    group += nodes.tbody("", *map(_row, rows))
    return nodes.table("", group, width="100%")


def _row(cells: Iterable[Cell]) -> nodes.row:
    texts = (nodes.Text(cell) if isinstance(cell, str) else cell for cell in cells)
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", text)) for text in texts))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and the folder that they read."""
    app.add_config_value("lookalike_kept_runs", "", "env")
    app.add_directive("headline", Headline)
    app.add_directive("job-costs", JobCosts)
    app.add_directive("kept-runs", KeptRuns)
    app.add_directive("ledger", Ledger)
    app.add_directive("not-run", NotRun)
    app.add_directive("peers", Peers)
    app.add_directive("processors", Processors)
    app.add_directive("full-costs", FullCosts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
