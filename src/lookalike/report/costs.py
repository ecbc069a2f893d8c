"""What a study takes on some cores, from what was measured: a rehearsal, parts of other runs, or an earlier run of it.

A rehearsal has one partition, a full run five. So each job of a partition is taken five times, and a job of all
partitions five times as long; others stay. Then a list schedule puts all of them on the cores: of the jobs whose inputs
are there, the one with the longest way to the end begins first. A job takes its processor seconds, divided by its
threads: what else ran on the machine counts little. What starts a process, a second or two, is not in them.
"""

from __future__ import annotations

import csv
import heapq
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

REHEARSED = "caltech256"
"""The data set whose study was rehearsed on a stand-in."""
PARTITIONS = 5
ONE_PARTITION, ALL_PARTITIONS = r"(run|trace)/.*/\d+", "(run|trace)/.*/all|(rankers|transfer)/"
"""Names of the jobs that a full run has five times, and that take five times as long in it."""

Run = dict[str, Any]


class Task(NamedTuple):
    """A job as the schedule sees it."""

    seconds: float
    threads: int
    megabytes: float
    after: tuple[str, ...]


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
        jobs = _read(kept / "full-size" / "rehearsal.json")["jobs"]
        tasks = {name: task for name, task in full_run(jobs).items() if not is_done(name)}
        return Cost(schedule(tasks, cores)[0], is_least=any(job["fits_at_limit"] for job in jobs.values()))
    runs = {run["dataset"]: run for run in map(_read, (*kept.glob("*.json"), kept / "full-size" / "measured.json"))}
    parts = [part for part in read_rows(kept / "full-size" / "parts.csv") if part["study"] == dataset]
    if parts and {part["run"] for part in parts if part["run"]} <= runs.keys():
        return Cost(seconds_of([scaled(part, runs) for part in parts], cores))
    if dataset not in runs:
        return None
    rules = runs[dataset]["rules"]
    return Cost(max(sum(rule["cpu_seconds"] for rule in rules) / cores, *(rule["longest_seconds"] for rule in rules)))


def _read(path: Path) -> Run:
    found: Run = json.loads(path.read_text(encoding="utf-8"))
    return found


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


def full_run(jobs: Mapping[str, Run]) -> dict[str, Task]:
    """Return the jobs of all partitions, made from those of one."""
    copies = {name: [name] for name in jobs}
    copies |= {
        name: [re.sub(r"\d+$", str(number), name) for number in range(PARTITIONS)]
        for name in jobs
        if re.match(ONE_PARTITION, name)
    }
    return {
        copy: Task(
            seconds=job["cpu_seconds"] / job["threads"] * job["times"] / len(copies[name]),
            threads=job["threads"],
            megabytes=job["peak_megabytes"],
            after=tuple(before for other in job["after"] for before in copies.get(other, [])),
        )
        for name, job in jobs.items()
        for copy in copies[name]
    }


def schedule(tasks: Mapping[str, Task], n_cores: int) -> tuple[float, float]:
    """Return seconds until the last job ends, and the most megabytes that jobs hold beside each other."""
    followers: dict[str, list[str]] = {name: [] for name in tasks}
    waiting = {name: sum(before in tasks for before in task.after) for name, task in tasks.items()}
    for name, task in tasks.items():
        for before in filter(tasks.__contains__, task.after):
            followers[before].append(name)

    @cache
    def way(name: str) -> float:
        return tasks[name].seconds + max(map(way, followers[name]), default=0.0)

    ready = [name for name, n_before in waiting.items() if not n_before]
    running: list[tuple[float, str]] = []
    now, free, held, most = 0.0, n_cores, 0.0, 0.0
    while ready or running:
        for name in sorted(ready, key=way, reverse=True):
            if (threads := min(tasks[name].threads, n_cores)) <= free:
                ready.remove(name)
                heapq.heappush(running, (now + tasks[name].seconds, name))
                free, held = free - threads, held + tasks[name].megabytes
        most = max(most, held)
        now, name = heapq.heappop(running)
        free, held = free + min(tasks[name].threads, n_cores), held - tasks[name].megabytes
        for follower in followers[name]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    return now, most


def duration(seconds: float) -> str:
    """Return a length of time in one unit; a dash for none."""
    if not seconds:
        return "–"
    for length, unit in ((86400 * 2, "days"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / (86400 if unit == 'days' else length):,.1f} {unit}"
    return f"{seconds:.0f} s"
