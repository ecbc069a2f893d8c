"""What made a number: the job that wrote its file, and all jobs before it, back to the images.

Jobs leave records beside their logs (`lookalike.core.job_record`). A job rests on another where it reads what the other
made: the same file, a file in a folder that the other made, or a folder in which the other made a file. Rules that run
no script of ours leave no record, nor do jobs of before there were any; what no record tells is counted, not guessed.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pandas as pd

from lookalike.core.files import read_json
from lookalike.core.job_record import SUFFIX

if TYPE_CHECKING:
    from lookalike.report.results import Exhibit

RESULTS = "results"
"""Folder of what the workflow makes, as records name it: relative to the folder that it runs in."""
COLUMNS = ("rule", "jobs", "cpu_seconds", "seconds", "longest_seconds", "peak_megabytes")
"""Columns of `Jobs.by_rule`."""


@dataclass(frozen=True)
class Job:
    """One record of one job."""

    rule: str
    inputs: tuple[str, ...]
    """Files that it read, but for the package's own modules."""
    outputs: tuple[str, ...]
    started: datetime | None
    """When it began, UTC; None where its record does not tell."""
    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    """0 where the system does not tell."""
    threads: int
    processor: str
    python: str
    versions: Mapping[str, str]
    commit: str
    """Of the code; "" outside a git work tree."""
    modified: bool
    """Whether files of the package differed from the commit."""
    record: Path
    """The file that tells all this."""


@dataclass(frozen=True)
class Work:
    """What several jobs took together, and all that they ran on."""

    jobs: int
    cpu_seconds: float
    seconds: float
    """By the clock, summed: as if one job had run after the other."""
    started: datetime | None
    """When the first began."""
    commits: tuple[str, ...]
    """Distinct commits of the code, in the order in which jobs ran."""
    modified: bool
    """Whether files of the package differed from the commit in any job."""
    versions: Mapping[str, tuple[str, ...]]
    """Library to its distinct versions, by name; ``python`` among them."""
    processors: tuple[str, ...]
    rules: Mapping[str, int]
    """Rule to its number of jobs, in the order in which they ran."""
    unrecorded: tuple[str, ...]
    """Files below `RESULTS` that were read and that no record makes: what went into them is not counted."""

    @property
    def version_note(self) -> str:
        """Which libraries differ between the jobs, as one sentence; "" where none does."""
        differing = [f"{name} ({' and '.join(found)})" for name, found in self.versions.items() if len(found) > 1]
        return f"Versions differ between jobs: {', '.join(differing)}." if differing else ""


@dataclass(frozen=True)
class Made(Job):
    """The job that wrote a file, and all that it rests on."""

    upstream: Work = field(kw_only=True)
    """All jobs before it, and itself."""


class Jobs:
    """All records of a run.

    Parameters
    ----------
    records : sequence of Job
        In any order. Where two made the same file, the later is the one that made what lies there; a job of which
        nothing lies there any more (it ran before under another name) is left out.
    unreadable : sequence of Path
        Records that told nothing.
    """

    def __init__(self, records: Sequence[Job], unreadable: Sequence[Path] = ()) -> None:
        ordered = sorted(records, key=_when)
        last = {_clean(path): id(job) for job in ordered for path in job.outputs}  # a later one replaces an earlier
        current = set(last.values())
        self.records = tuple(job for job in ordered if id(job) in current or not job.outputs)
        self.unreadable = tuple(unreadable)
        self._maker = {_clean(path): place for place, job in enumerate(self.records) for path in job.outputs}
        self._inside: dict[str, set[int]] = {}
        for path, place in self._maker.items():
            for folder in _folders(path):
                self._inside.setdefault(folder, set()).add(place)

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.records)

    @cached_property
    def whole(self) -> Work:
        """What all jobs took together."""
        return self._work(range(len(self.records)))

    def of(self, paths: Iterable[str | os.PathLike[str]]) -> Made | None:
        """Return the job that made some files.

        Parameters
        ----------
        paths : iterable of path-like
            As the workflow names them: relative to the folder that it runs in.

        Returns
        -------
        Made or None
            None where no record makes any of them. Where several jobs made them, the last of them, with all that
            any of them rests on.
        """
        makers = {place for path in paths for place in self._makers(_clean(os.fspath(path)))}
        if not makers:
            return None
        return Made(**vars(self.records[max(makers)]), upstream=self._work(self._closure(makers)))

    def of_exhibit(self, exhibit: Exhibit) -> Made | None:
        """Return the job that wrote an exhibit, wherever the folder of results lies now; None where none is known."""
        folder = f"{exhibit.dataset}/exhibits/{exhibit.paper}"
        stems = (f"{exhibit.name}.", f"{exhibit.name}_compare.")
        written = self._by_folder.get(folder, ())
        return self.of(path for path in written if posixpath.basename(path).startswith(stems))

    def by_rule(self) -> pd.DataFrame:
        """Sum up the jobs of each rule.

        Returns
        -------
        DataFrame
            Columns `COLUMNS`, times in seconds, memory the most that any job held; the rule that took most processor
            time first.
        """
        rows = [(job.rule, 1, job.cpu_seconds, job.seconds, job.seconds, job.peak_megabytes) for job in self.records]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        how = dict.fromkeys(COLUMNS[1:4], "sum") | dict.fromkeys(COLUMNS[4:], "max")
        summed = frame.groupby("rule", as_index=False).agg(how)
        return summed.sort_values(["cpu_seconds", "rule"], ascending=[False, True], ignore_index=True)[list(COLUMNS)]

    @cached_property
    def _by_folder(self) -> Mapping[str, list[str]]:
        """``{dataset}/exhibits/{paper}`` to the files that were made in it, and so of every folder three deep."""
        found: dict[str, list[str]] = {}
        for path in self._maker:
            found.setdefault("/".join(PurePosixPath(path).parts[-4:-1]), []).append(path)
        return found

    def _makers(self, path: str) -> set[int]:
        """Jobs that made a file, the folder that it is in, or files in it where it is a folder."""
        above = {self._maker[name] for name in (path, *_folders(path)) if name in self._maker}
        return above | self._inside.get(path, set())

    def _closure(self, makers: Iterable[int]) -> set[int]:
        """Those jobs and all before them."""
        found: set[int] = set()
        waiting = set(makers)
        while waiting:
            place = waiting.pop()
            found.add(place)
            for path in self.records[place].inputs:
                waiting |= self._makers(_clean(path)) - found
        return found

    def _work(self, places: Iterable[int]) -> Work:
        """What some jobs took together."""
        jobs = [self.records[place] for place in sorted(places)]
        versions: dict[str, dict[str, None]] = {}
        for job in jobs:
            for name, version in {"python": job.python, **job.versions}.items():
                if version:
                    versions.setdefault(name, {})[version] = None
        reads = {_clean(path) for job in jobs for path in job.inputs}
        begun = [job.started for job in jobs if job.started]
        return Work(
            jobs=len(jobs),
            cpu_seconds=round(sum(job.cpu_seconds for job in jobs), 3),
            seconds=round(sum(job.seconds for job in jobs), 3),
            started=min(begun, default=None),
            commits=_distinct(job.commit for job in jobs),
            modified=any(job.modified for job in jobs),
            versions={name: tuple(sorted(found, key=_version)) for name, found in sorted(versions.items())},
            processors=_distinct(job.processor for job in jobs),
            rules=dict(Counter(job.rule for job in jobs)),
            unrecorded=tuple(
                sorted(path for path in reads if path.startswith(f"{RESULTS}/") and not self._makers(path))
            ),
        )


def read_jobs(folder: str | os.PathLike[str]) -> Jobs:
    """Read all records below a folder of logs.

    Parameters
    ----------
    folder : path-like
        ``logs``, as the workflow makes it.

    Returns
    -------
    Jobs
        Empty where there is no such folder; records that cannot be read are told in its ``unreadable``.
    """
    records, unreadable = [], []
    for path in sorted(Path(folder).rglob(f"*{SUFFIX}")):
        try:
            records.append(_job(read_json(path), path))
        except (OSError, ValueError, TypeError, KeyError):  # half written, edited, or of another version
            unreadable.append(path)
    return Jobs(records, unreadable)


def project_path(path: str) -> str:
    """Path as a page may show it: without the folder that the project lies in here, or any other of this machine.

    Paths of the project's resources and modules start where the project does, other absolute ones are the file's name
    alone, and relative ones stay.

    Examples
    --------
    >>> project_path("/home/me/lookalike/workflow/resources/claims.csv")
    'workflow/resources/claims.csv'
    >>> project_path("results/demo/metrics.parquet")
    'results/demo/metrics.parquet'
    >>> project_path("/home/me/photographs/names.csv")
    'names.csv'
    """
    shown = re.sub(r"^/.*/(?=(?:workflow/resources|src/lookalike)/)", "", path)
    return shown.rpartition("/")[2] if shown.startswith("/") else shown


def _job(told: Any, path: Path) -> Job:
    """Return what one record tells; an error where it is none."""
    if not isinstance(told, dict):
        raise TypeError("no record")
    started = datetime.fromisoformat(told["started"]) if told.get("started") else None
    return Job(
        rule=str(told["rule"]),
        inputs=tuple(map(project_path, _texts(told["inputs"]))),
        outputs=_texts(told["outputs"]),
        started=started.astimezone(UTC) if started else None,
        seconds=float(told["seconds"]),
        cpu_seconds=float(told["cpu_seconds"]),
        peak_megabytes=float(told.get("peak_megabytes", 0)),
        threads=int(told.get("threads", 1)),
        processor=str(told.get("processor", "")),
        python=str(told.get("python", "")),
        versions={str(name): str(version) for name, version in dict(told.get("versions", {})).items()},
        commit=str(told.get("commit", "")),
        modified=bool(told.get("modified", False)),
        record=path,
    )


def _texts(paths: Any) -> tuple[str, ...]:
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise TypeError("no list of files")
    return tuple(paths)


def _when(job: Job) -> tuple[datetime, str]:
    """A key to sort jobs by: when it began, those that do not tell first, then its record's path."""
    if job.started is None:
        return datetime.min.replace(tzinfo=UTC), str(job.record)
    return job.started, str(job.record)


def _clean(path: str) -> str:
    """Return one spelling of a path: ``a/b`` of ``./a//b/``."""
    return posixpath.normpath(path)


def _folders(path: str) -> Iterator[str]:
    """Every folder that a path lies in, the nearest first."""
    return (str(folder) for folder in PurePosixPath(path).parents if str(folder) not in (".", "/"))


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    """Values that are told, each once, in their order."""
    return tuple(dict.fromkeys(value for value in values if value))


def _version(text: str) -> tuple[tuple[int, int | str], ...]:
    """A key to sort versions by: 1.9 before 1.10."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in text.split("."))
