"""What made a number: the job that wrote its file, and all jobs before it, back to the images.

A job rests on another where it reads what the other made: the same file, a file in a folder that the other made, or a
folder in which the other made a file. What no record makes is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

import pandas as pd
from pydantic import TypeAdapter

from lookalike.core.files import PathLike
from lookalike.core.job_record import SUFFIX, JobRecord
from lookalike.exhibits.printed import human_time
from lookalike.report.names import LIBRARIES
from lookalike.report.pages import command_of
from lookalike.report.results import Exhibit

COLUMNS = ("rule", "jobs", "cpu_seconds", "seconds", "longest_seconds", "peak_megabytes")
"""Columns of `Jobs.by_rule`."""


class Work(tuple[JobRecord, ...]):
    """What several jobs took together, and all that they ran on, in the order in which they began."""

    __slots__ = ()

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


class Jobs:
    """All records of a run, without jobs whose files later ones made again."""

    def __init__(self, records: Iterable[JobRecord] = ()) -> None:
        ordered = sorted(records, key=lambda job: job.started)
        # of two that made the same file, the later replaces the earlier
        current = set({path: id(job) for job in ordered for path in job.outputs}.values())
        self.records = Work(job for job in ordered if id(job) in current or not job.outputs)
        self._maker = {path: place for place, job in enumerate(self.records) for path in job.outputs}
        self._inside: dict[str, set[int]] = {}
        for path, place in self._maker.items():
            for folder in _folders(path):
                self._inside.setdefault(folder, set()).add(place)

    def origin(self, path: str) -> tuple[JobRecord, Work] | None:
        """Return the job that made a file, as the workflow names it, and that work with all before it; else None."""
        makers = self._makers(path)
        return (self.records[max(makers)], self._closure(makers)) if makers else None

    def behind(self, paths: Iterable[str]) -> Jobs:
        """Return the jobs behind some files alone: not those of other files, and not those that read these."""
        return Jobs(self._closure({place for path in paths for place in self._makers(path)}))

    def by_rule(self) -> pd.DataFrame:
        """Sum up the jobs of each rule, in the columns `COLUMNS`; the rule that took most processor time first."""
        rows = [(job.rule, 1, job.cpu_seconds, job.seconds, job.seconds, job.peak_megabytes) for job in self.records]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        how = dict.fromkeys(COLUMNS[1:4], "sum") | dict.fromkeys(COLUMNS[4:], "max")
        summed = frame.groupby("rule", as_index=False).agg(how)
        return summed.sort_values(["cpu_seconds", "rule"], ascending=[False, True], ignore_index=True)

    def _makers(self, path: str) -> set[int]:
        """Return the jobs that made a file, the folder that it is in, or files in it where it is a folder."""
        above = {self._maker[name] for name in (path, *_folders(path)) if name in self._maker}
        return above | self._inside.get(path, set())

    def _closure(self, makers: set[int]) -> Work:
        """Return those jobs and all before them."""
        found: set[int] = set()
        waiting = set(makers)
        while waiting:
            place = waiting.pop()
            found.add(place)
            for path in self.records[place].inputs:
                waiting |= self._makers(path) - found
        return Work(self.records[place] for place in sorted(found))


def read_jobs(folder: PathLike) -> Jobs:
    """Read all records below ``logs``, as the workflow makes it; none where there is no such folder."""
    read = TypeAdapter(JobRecord).validate_json
    records = []
    for path in sorted(Path(folder).rglob(f"*{SUFFIX}"), key=str):
        with suppress(ValueError):  # of another version
            record = read(path.read_bytes())
            inputs = tuple(normpath(project_path(name)) for name in record.inputs)
            records.append(replace(record, inputs=inputs, outputs=tuple(map(normpath, record.outputs))))
    return Jobs(records)


def project_path(path: str) -> str:
    """Return a path without folders of this machine: from the project on, else the file's name alone."""
    below = re.sub(r"^/.*/(?=(?:workflow/resources|src/lookalike)/)", "", path)
    return below.rpartition("/")[2] if below.startswith("/") else below


@cache
def _folders(path: str) -> list[str]:
    """Return every folder that a path lies in."""
    return [path[:place] for place in range(len(path) - 1, 0, -1) if path[place] == "/"]


class Fact(NamedTuple):
    """One line of what made something: a term, its text, and whether that is code."""

    term: str
    text: str
    is_code: bool = False


def facts_of(exhibit: Exhibit, jobs: Jobs, seed: int | None) -> list[Fact]:
    """Return all that is known of how one exhibit came about."""
    origin = jobs.origin(exhibit.output)
    kind = "made by code" if exhibit.synthetic else "real data"
    facts = [
        Fact("Command", command_of(exhibit), True),
        Fact("Rule", origin[0].rule if origin else ""),
        Fact("Drawn by", exhibit.drawn_by, True),
        Fact("Data set", f"{exhibit.dataset_title} ({exhibit.dataset}), {kind}"),
        Fact("Configuration", f"datasets.{exhibit.dataset}, {exhibit.study}.{exhibit.dataset}", True),
        Fact("Root seed", "" if seed is None else str(seed)),
        *(_facts_of_job(*origin) if origin else [Fact("Record", "no job has left a record of making it")]),
        Fact("Made from", ", ".join(map(project_path, exhibit.sources)), True),
    ]
    return [fact for fact in facts if fact.text]


def _facts_of_job(job: JobRecord, work: Work) -> list[Fact]:
    """Return time, machine, code and libraries of a job, and what it took with everything before it."""
    memory = f", at most {job.peak_megabytes:,.0f} MB of memory" if job.peak_megabytes else ""
    return [
        Fact("Time of this job", _times(Work((job,)))),
        Fact("With all before it", f"{len(work):,} jobs, {_times(work)}, summed"),
        Fact("Machine", f"{job.processor}, {job.threads} thread{'s' * (job.threads != 1)}{memory}"),
        Fact("Made on", f"{job.started:%Y-%m-%d %H:%M} UTC"),
        Fact("Commit", commits(Work((job,))), bool(job.commit)),
        Fact("Versions", ", ".join(f"{fact.term} {fact.text}" for fact in versions_of(Work((job,))))),
    ]


def whole_run(work: Work) -> list[Fact]:
    """Return what all jobs took and ran on."""
    found = work.distinct("commit")
    return [
        Fact("Jobs", f"{len(work):,} with a record, of {len(work.distinct('rule'))} rules"),
        Fact("Processor time", human_time(work.total("cpu_seconds"))),
        Fact("Wall time, summed", human_time(work.total("seconds"))),
        Fact("First job began", f"{work[0].started:%Y-%m-%d %H:%M} UTC"),
        Fact("Processor", ", ".join(work.distinct("processor"))),
        Fact(f"Commit{'s' * (len(found) > 1)}", commits(work), bool(found)),
    ]


def versions_of(work: Work) -> list[Fact]:
    """Return each library with the versions that jobs had loaded."""
    return [Fact(LIBRARIES.get(name, name), ", ".join(found)) for name, found in work.versions.items()]


def commits(work: Work) -> str:
    """Return the commits of jobs in one line, and whether files differed from them."""
    found = work.distinct("commit")
    return ", ".join(found) + ", with files changed since" * work.modified if found else "outside a git work tree"


def _times(work: Work) -> str:
    clock, processor = human_time(work.total("seconds")), human_time(work.total("cpu_seconds"))
    return f"{clock} by the clock, {processor} of processor time"
