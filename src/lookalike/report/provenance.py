"""What made a number: the job that wrote its file, and all jobs of the data sets that a report shows."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from pydantic import TypeAdapter

from lookalike.core.files import PathLike
from lookalike.core.job_record import SUFFIX, JobRecord
from lookalike.exhibits.printed import human_time
from lookalike.report.pages import command_of
from lookalike.report.results import ShownExhibit
from lookalike.report.tables import LIBRARIES

COLUMNS = ("rule", "jobs", "cpu_seconds", "seconds", "longest_seconds", "peak_megabytes")
"""Columns of `Jobs.by_rule`."""
OTHERS = ("keep_run",)
"""Rules that sum up what others made."""


class Jobs(tuple[JobRecord, ...]):
    """Records of jobs, in the order in which these began."""

    __slots__ = ()

    def jobs_of(self, datasets: Collection[str]) -> Jobs:
        """Return the jobs that made files of some data sets, but for those that sum them up."""
        folders = tuple(f"results/{dataset}/" for dataset in datasets)
        own = (job for job in self if any(path.startswith(folders) for path in job.outputs))
        return Jobs(job for job in own if job.rule not in OTHERS)

    def maker(self, path: str) -> JobRecord | None:
        """Return the job that made a file, as the workflow names it; None without a record."""
        return next((job for job in self if path in job.outputs), None)

    def distinct(self, name: str) -> list[str]:
        """Return what the records have under a name, each once, but for ""."""
        return [value for value in dict.fromkeys(getattr(job, name) for job in self) if value]

    def total(self, name: str) -> float:
        """Return the sum of a time: of the processor, or by the clock as if one job had run after the other."""
        return float(round(sum(getattr(job, name) for job in self), 3))

    @property
    def modified(self) -> bool:
        """Tell whether files of the package differed from the commit in any job."""
        return any(job.modified for job in self)

    @property
    def versions(self) -> dict[str, list[str]]:
        """Library to its distinct versions, by name; ``python`` among them."""
        found: dict[str, dict[str, None]] = {}
        for job in self:
            for name, version in ({"python": job.python} | dict(job.versions)).items():
                found.setdefault(name, {})[version] = None
        return {name: list(found[name]) for name in sorted(found)}

    def by_rule(self) -> pd.DataFrame:
        """Sum up the jobs of each rule, in the columns `COLUMNS`; the rule that took most processor time first."""
        rows = [(job.rule, 1, job.cpu_seconds, job.seconds, job.seconds, job.peak_megabytes) for job in self]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        how = dict.fromkeys(COLUMNS[1:4], "sum") | dict.fromkeys(COLUMNS[4:], "max")
        summed = frame.groupby("rule", as_index=False).agg(how)
        return summed.sort_values(["cpu_seconds", "rule"], ascending=[False, True], ignore_index=True)


def read_jobs(folder: PathLike) -> Jobs:
    """Read all records below ``logs``; of two jobs that made the same file, the later alone."""
    read = TypeAdapter(JobRecord).validate_json
    records = []
    for path in sorted(Path(folder).rglob(f"*{SUFFIX}"), key=str):
        with suppress(ValueError):  # of another version
            records.append(read(path.read_bytes()))
    records.sort(key=lambda job: job.started)
    current = set({path: place for place, job in enumerate(records) for path in job.outputs}.values())
    return Jobs(job for place, job in enumerate(records) if place in current or not job.outputs)


def project_path(path: str) -> str:
    """Return a path without folders of this machine: from the project on, else the file's name alone."""
    below = re.sub(r"^/.*/(?=(?:workflow/resources|src/lookalike)/)", "", path)
    return below.rpartition("/")[2] if below.startswith("/") else below


class Fact(NamedTuple):
    """One line of what made something: a term, its text, and whether that is code."""

    term: str
    text: str
    is_code: bool = False


def facts_of(exhibit: ShownExhibit, jobs: Jobs, seed: int | None) -> list[Fact]:
    """Return all that is known of how one exhibit came about."""
    job = jobs.maker(exhibit.output)
    kind = "made by code" if exhibit.synthetic else "real data"
    facts = [
        Fact("Command", command_of(exhibit), True),
        Fact("Rule", job.rule if job else ""),
        Fact("Drawn by", exhibit.drawn_by, True),
        Fact("Data set", f"{exhibit.dataset_title} ({exhibit.dataset}), {kind}"),
        Fact("Configuration", f"datasets.{exhibit.dataset}, {exhibit.study}.{exhibit.dataset}", True),
        Fact("Root seed", "" if seed is None else str(seed)),
        Fact("Made on", f"{job.started:%Y-%m-%d %H:%M} UTC" if job else ""),
        Fact("Commit", commits(Jobs((job,))) if job else "", bool(job and job.commit)),
        Fact("Record", "" if job else "no job has left a record of making it"),
        Fact("Made from", ", ".join(map(project_path, exhibit.sources)), True),
    ]
    return [fact for fact in facts if fact.text]


def whole_run(jobs: Jobs) -> list[Fact]:
    """Return what all jobs took and ran on."""
    found = jobs.distinct("commit")
    return [
        Fact("Jobs", f"{len(jobs):,} with a record, of {len(jobs.distinct('rule'))} rules"),
        Fact("Processor time", human_time(jobs.total("cpu_seconds"))),
        Fact("Wall time, summed", human_time(jobs.total("seconds"))),
        Fact("First job began", f"{jobs[0].started:%Y-%m-%d %H:%M} UTC"),
        Fact("Processor", ", ".join(jobs.distinct("processor"))),
        Fact(f"Commit{'s' * (len(found) > 1)}", commits(jobs), bool(found)),
    ]


def versions_of(jobs: Jobs) -> list[Fact]:
    """Return each library with the versions that jobs had loaded."""
    return [Fact(LIBRARIES.get(name, name), ", ".join(found)) for name, found in jobs.versions.items()]


def commits(jobs: Jobs) -> str:
    """Return the commits of jobs in one line, and whether files differed from them."""
    found = jobs.distinct("commit")
    return ", ".join(found) + ", with files changed since" * jobs.modified if found else "outside a git work tree"
