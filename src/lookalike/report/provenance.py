"""What made a number: the job that wrote its file, and all jobs of the data sets that a report shows."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import pandas as pd
from pydantic import TypeAdapter

from lookalike.core.files import PathLike
from lookalike.core.job_log import SUFFIX, JobRecord


class Jobs(tuple[JobRecord, ...]):
    """Records of jobs, in the order in which these began."""

    __slots__ = ()

    def jobs_of(self, datasets: Collection[str]) -> Jobs:
        """Return the jobs that made files of some data sets, but for the one that sums them up."""
        folders = tuple(f"results/{dataset}/" for dataset in datasets)
        own = (job for job in self if any(path.startswith(folders) for path in job.outputs))
        return Jobs(job for job in own if job.rule != "keep_run")

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
        found = pd.DataFrame([{"python": job.python, **job.versions} for job in self])
        return {name: list(found[name].dropna().unique()) for name in sorted(map(str, found))}

    def by_rule(self) -> pd.DataFrame:
        """Sum up the jobs of each rule; the rule that took most processor time first."""
        given = pd.DataFrame(map(vars, self), columns=["rule", "cpu_seconds", "seconds", "peak_megabytes"])
        summed = given.groupby("rule").agg(
            jobs=("seconds", "size"),
            cpu_seconds=("cpu_seconds", "sum"),
            seconds=("seconds", "sum"),
            longest_seconds=("seconds", "max"),
            peak_megabytes=("peak_megabytes", "max"),
        )
        return summed.reset_index().sort_values(["cpu_seconds", "rule"], ascending=[False, True], ignore_index=True)


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
