"""What made a number: the job that wrote its file, and all jobs before it, back to the images.

A job rests on another where it reads what the other made: the same file, a file in a folder that the other made, or a
folder in which the other made a file. What no record tells is counted, not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from posixpath import normpath

import pandas as pd
from pydantic import TypeAdapter

from lookalike.core.files import PathLike
from lookalike.core.job_record import SUFFIX, JobRecord

COLUMNS = ("rule", "jobs", "cpu_seconds", "seconds", "longest_seconds", "peak_megabytes")
"""Columns of `Jobs.by_rule`."""


@dataclass(frozen=True)
class Work:
    """What several jobs took together, and all that they ran on."""

    jobs: tuple[JobRecord, ...]
    """In the order in which they began."""
    unrecorded: tuple[str, ...] = ()
    """Files of results that were read and that no record makes: what went into them is not counted."""

    def distinct(self, name: str) -> list[str]:
        """Return what the records have under a name, each once and in the order in which jobs began, but for ""."""
        return [value for value in dict.fromkeys(getattr(job, name) for job in self.jobs) if value]

    def total(self, name: str) -> float:
        """Return the sum of a time: of the processor, or by the clock as if one job had run after the other."""
        return float(round(sum(getattr(job, name) for job in self.jobs), 3))

    @property
    def modified(self) -> bool:
        """Tell whether files of the package differed from the commit in any job."""
        return any(job.modified for job in self.jobs)

    @property
    def versions(self) -> dict[str, list[str]]:
        """Library to its distinct versions, by name; ``python`` among them."""
        pairs = {pair for job in self.jobs for pair in ({"python": job.python} | dict(job.versions)).items() if pair[1]}
        found: dict[str, list[str]] = {}
        for name, version in sorted(pairs, key=lambda pair: (pair[0], _version(pair[1]))):
            found.setdefault(name, []).append(version)
        return found

    @property
    def version_note(self) -> str:
        """Say which libraries differ between the jobs; "" where none does."""
        differing = [f"{name} ({' and '.join(found)})" for name, found in self.versions.items() if len(found) > 1]
        return f"Versions differ between jobs: {', '.join(differing)}." if differing else ""


class Jobs:
    """All records of a run, without jobs whose files later ones made anew; `unreadable` counts records left out."""

    def __init__(self, records: Sequence[JobRecord], unreadable: int = 0) -> None:
        ordered = sorted(records, key=lambda job: job.started)
        # of two that made the same file, the later replaces the earlier
        current = set({path: id(job) for job in ordered for path in job.outputs}.values())
        self.records = tuple(job for job in ordered if id(job) in current or not job.outputs)
        self.unreadable = unreadable
        self._maker = {path: place for place, job in enumerate(self.records) for path in job.outputs}
        self._inside: dict[str, set[int]] = {}
        for path, place in self._maker.items():
            for folder in _folders(path):
                self._inside.setdefault(folder, set()).add(place)

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self.records)

    @cached_property
    def whole(self) -> Work:
        """Return what all jobs took together."""
        return self._work(range(len(self.records)))

    def origin(self, path: str) -> tuple[JobRecord, Work] | None:
        """Return the job that made a file, as the workflow names it, and that work with all before it; else None."""
        makers = self._makers(path)
        return (self.records[max(makers)], self._work(self._closure(makers))) if makers else None

    def behind(self, paths: Iterable[str]) -> Jobs:
        """Return the jobs behind some files alone: not those of other files, and not those that read these."""
        makers = {place for path in paths for place in self._makers(path)}
        return Jobs([self.records[place] for place in sorted(self._closure(makers))], self.unreadable)

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

    def _closure(self, makers: set[int]) -> set[int]:
        """Return those jobs and all before them."""
        found: set[int] = set()
        waiting = set(makers)
        while waiting:
            place = waiting.pop()
            found.add(place)
            for path in self.records[place].inputs:
                waiting |= self._makers(path) - found
        return found

    def _work(self, places: Iterable[int]) -> Work:
        jobs = tuple(self.records[place] for place in sorted(places))
        reads = {path for job in jobs for path in job.inputs if path.startswith("results/")}
        return Work(jobs, tuple(sorted(path for path in reads if not self._makers(path))))


def read_jobs(folder: PathLike) -> Jobs:
    """Read all records below ``logs``, as the workflow makes it; none where there is no such folder."""
    read = TypeAdapter(JobRecord).validate_json
    records, unreadable = [], 0
    for path in sorted(Path(folder).rglob(f"*{SUFFIX}"), key=str):
        try:
            record = read(path.read_bytes())
        except (OSError, ValueError):  # half written, edited, or of another version
            unreadable += 1
            continue
        inputs = tuple(normpath(project_path(name)) for name in record.inputs)
        records.append(replace(record, inputs=inputs, outputs=tuple(map(normpath, record.outputs))))
    return Jobs(records, unreadable)


def project_path(path: str) -> str:
    """Return a path without folders of this machine: from the project on, else the file's name alone."""
    below = re.sub(r"^/.*/(?=(?:workflow/resources|src/lookalike)/)", "", path)
    return below.rpartition("/")[2] if below.startswith("/") else below


@cache
def _folders(path: str) -> list[str]:
    """Return every folder that a path lies in."""
    return [path[:place] for place in range(len(path) - 1, 0, -1) if path[place] == "/"]


def _version(text: str) -> list[tuple[int, int | str]]:
    """Return a key to sort versions by: 1.9 before 1.10."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in text.split(".")]
