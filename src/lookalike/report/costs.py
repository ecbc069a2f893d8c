"""What a study takes on some cores, from what was measured: a rehearsal, parts of other runs, or an earlier run of it.

A rehearsal has one partition, a full run five. So each job of a partition is taken five times, and a job of all
partitions five times as long; others stay. The cores share their processor seconds, and no run is shorter than its
longest job. What starts a process, a second or two, is not in them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lookalike.core.files import read_json

REHEARSED = "caltech256"
"""The data set whose study was rehearsed on a stand-in."""
PARTITIONS = 5
ONE_PARTITION, ALL_PARTITIONS = r"(run|trace)/.*/\d+", "(run|trace)/.*/all|(rankers|transfer)/"
"""Names of the jobs that a full run has five times, and that take five times as long in it."""

Run = dict[str, Any]


class Cost(NamedTuple):
    """What a study takes."""

    seconds: float
    is_least: bool = False
    """Whether fits ended at a limit when it was measured, and take longer in a full run."""


def study_cost(kept: Path, dataset: str, cores: int, is_done: Callable[[str], bool] = lambda job: False) -> Cost | None:
    """Return what a data set's study takes on some cores, from the folder of kept runs; None where nothing tells.

    Of the study that was rehearsed, `is_done` tells whether a job is finished, given by its log without a suffix.
    """
    if dataset == REHEARSED:
        jobs = read_json(kept / "full-size" / "rehearsal.json")["jobs"]
        left = [seconds for name, seconds in full_run(jobs).items() if not is_done(name)]
        return Cost(full_seconds(left, cores), is_least=any(job["fits_at_limit"] for job in jobs.values()))
    runs = {run["dataset"]: run for run in map(read_json, (*kept.glob("*.json"), kept / "full-size" / "measured.json"))}
    parts = [part for part in read_rows(kept / "full-size" / "parts.csv") if part["study"] == dataset]
    if parts and {part["run"] for part in parts if part["run"]} <= runs.keys():
        return Cost(seconds_of([scaled(part, runs) for part in parts], cores))
    if dataset not in runs:
        return None
    rules = runs[dataset]["rules"]
    return Cost(max(sum(rule["cpu_seconds"] for rule in rules) / cores, *(rule["longest_seconds"] for rule in rules)))


def read_rows(path: Path) -> list[Run]:
    """Return the rows of a CSV file, as text."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def scaled(part: Run, runs: Mapping[str, Run]) -> Run:
    """Return a row of the table of parts with its numbers: processor seconds, gigabytes of memory and of files."""
    rules = {rule["rule"]: rule for rule in runs[part["run"]]["rules"]} if part["run"] else {}
    wanted = [rules[name] for name in part["rules"].split()]
    stored = sum(runs[part["store"]]["stored_megabytes"][folder] for folder in part["stored"].split())
    number = {name: float(part[name] or 0) for name in ("times", "hours", "memory_times", "stored_times", "gigabytes")}
    return part | {
        "cpu_seconds": sum(rule["cpu_seconds"] for rule in wanted) * number["times"] + number["hours"] * 3600,
        "jobs": int(part["jobs"]),
        "memory": max((rule["peak_megabytes"] for rule in wanted), default=0) * number["memory_times"] / 1000,
        "disk": stored * number["stored_times"] / 1000 + number["gigabytes"],
    }


def seconds_of(parts: list[Run], cores: int) -> float:
    """Return what parts take on some cores; a part has so many jobs that can run beside each other."""
    return float(sum(part["cpu_seconds"] / min(cores, part["jobs"]) for part in parts))


def full_run(jobs: Mapping[str, Run]) -> dict[str, float]:
    """Return the processor seconds of the jobs of all partitions, made from those of one."""
    found: dict[str, float] = {}
    for name, job in jobs.items():
        is_numbered = re.match(ONE_PARTITION, name)
        copies = [re.sub(r"\d+$", str(n), name) for n in range(PARTITIONS)] if is_numbered else [name]
        found |= dict.fromkeys(copies, job["cpu_seconds"] * job["times"] / len(copies))
    return found


def full_seconds(seconds: Collection[float], cores: int) -> float:
    """Return what jobs of so many processor seconds take on some cores: their share of the sum, or the longest."""
    return max(sum(seconds) / cores, max(seconds, default=0.0))
