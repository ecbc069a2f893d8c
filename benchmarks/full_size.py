"""Keep what the jobs of a rehearsal took, and what five partitions would take on 2 and on 16 cores.

    python benchmarks/full_size.py logs/rehearsal ../stand-in --output workflow/resources/runs/full-size/rehearsal.json

Jobs of examples/rehearsal.yaml leave records beside their logs. This adds them to the file, at any time: jobs that it
has already, and whose records are gone, stay. The documentation's table of costs reads the file.

A rehearsal has one partition, a full run five. So each job of a partition is taken five times, and a job of all
partitions five times as long; others stay. Then a list schedule puts all of them on the cores: of the jobs whose inputs
are there, the one with the longest way to the end begins first. A job takes its processor seconds, divided by its
threads: what else ran on the machine counts little. What starts a process, a second or two, is not in them.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lookalike.core.files import replacing
from lookalike.core.job_record import SUFFIX

PARTITIONS = 5
ONE_PARTITION, ALL_PARTITIONS = r"(run|trace)/.*/\d+", "(run|trace)/.*/all|(rankers|transfer)/"
"""Names of the jobs that a full run has five times, and that take five times as long in it."""
CORES = (2, 16)
KEPT = ("rule", "started", "seconds", "cpu_seconds", "peak_megabytes", "threads", "processor", "commit", "modified")
"""Of a job's record."""


class Task(NamedTuple):
    """A job as the schedule sees it."""

    seconds: float
    threads: int
    megabytes: float
    after: tuple[str, ...]


def recorded_jobs(folders: Sequence[Path], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Every job by its name, the path of its log: those with a record, and those that were kept before."""
    records = {
        path.relative_to(folder).as_posix().removesuffix(SUFFIX): json.loads(path.read_text(encoding="utf-8"))
        for folder in folders
        for path in sorted(folder.rglob(f"*{SUFFIX}"))
    }
    makers = {path: name for name, record in records.items() for path in record["outputs"]}
    found = {name: kept_record(record, makers, kept.get(name, {"after": []})) for name, record in records.items()}
    times = {name: PARTITIONS if re.match(f"{ONE_PARTITION}|{ALL_PARTITIONS}", name) else 1 for name in found}
    return {**kept, **{name: {**job, "times": times[name]} for name, job in found.items()}}


def kept_record(record: Mapping[str, Any], makers: Mapping[str, str], before: Any) -> dict[str, Any]:
    """Return what is kept of a record; of files that are gone, the size that was kept before."""
    outputs = [Path(path) for path in record["outputs"]]
    fits = [
        json.loads(path.read_text(encoding="utf-8")) for path in outputs if path.name == "fit.json" and path.exists()
    ]
    measured = {
        "megabytes": round(sum(map(bytes_of, outputs)) / 1e6, 1),
        "fits": len(fits),
        "fits_at_limit": sum(bool(fit["not_converged"]) for fit in fits),
    }
    return {
        **{key: record[key] for key in KEPT},
        **(measured if any(path.exists() for path in outputs) else {key: before.get(key, 0) for key in measured}),
        "after": sorted({makers[path] for path in record["inputs"] if path in makers}.union(before["after"])),
    }


def bytes_of(path: Path) -> int:
    """Size of a file, or of all files in a folder."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())


def full_run(jobs: Mapping[str, dict[str, Any]]) -> dict[str, Task]:
    """The jobs of all partitions, made from those of one."""
    copies = {name: [name] for name in jobs}
    copies |= {
        name: [f"{name}, partition {number}" for number in range(PARTITIONS)]
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
    """Seconds until the last job ends, and the most megabytes that jobs hold beside each other."""
    followers: dict[str, list[str]] = {name: [] for name in tasks}
    for name, task in tasks.items():
        for before in task.after:
            followers[before].append(name)

    @cache
    def way(name: str) -> float:
        return tasks[name].seconds + max(map(way, followers[name]), default=0.0)

    waiting = {name: len(task.after) for name, task in tasks.items()}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="where records of jobs are")
    parser.add_argument("--output", type=Path, required=True, help="file that the jobs are added to")
    arguments = parser.parse_args()
    kept = json.loads(arguments.output.read_text(encoding="utf-8"))["jobs"] if arguments.output.is_file() else {}
    jobs = recorded_jobs(arguments.folders, kept)
    if not jobs:
        parser.error(f"there is no record of a job in {', '.join(map(str, arguments.folders))}: name a folder of logs")
    tasks, started = full_run(jobs), sorted(job["started"] for job in jobs.values())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    schedules = {str(n_cores): schedule(tasks, n_cores) for n_cores in CORES}
    summary = {
        "dates": [started[0][:10], started[-1][:10]],
        "cores": os.cpu_count(),
        "memory_gigabytes": round(memory / 1e9),
        "megabytes": round(sum(job["megabytes"] * job["times"] for job in jobs.values())),
        "on_cores": {
            n_cores: {"seconds": round(seconds), "megabytes_at_once": round(megabytes)}
            for n_cores, (seconds, megabytes) in schedules.items()
        },
        "jobs": jobs,
    }
    # whole or not at all: it holds jobs whose records are gone
    with replacing(arguments.output) as part:
        part.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(f"{len(jobs)} jobs of one partition; {len(tasks)} of {PARTITIONS} partitions:")
    for n_cores, (seconds, megabytes) in schedules.items():
        print(f"on {n_cores} cores {seconds / 3600:.1f} h, {megabytes / 1000:.1f} GB of memory at once")


if __name__ == "__main__":
    main()
