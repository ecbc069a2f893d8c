"""Keep what the jobs of a rehearsal took, and say what five partitions would take on 2 and on 16 cores.

    python benchmarks/full_size.py logs/rehearsal ../stand-in --output workflow/resources/runs/full-size/rehearsal.json

Jobs of examples/rehearsal.yaml leave records beside their logs. This adds them to the file, at any time: jobs that it
has already, and whose records are gone, stay. The documentation's table of costs reads the file. How five partitions
are made from one, and share the cores, is in lookalike.report.costs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lookalike.core.files import replacing
from lookalike.core.job_log import SUFFIX
from lookalike.report.costs import ALL_PARTITIONS, ONE_PARTITION, PARTITIONS, full_run, full_seconds

CORES = (2, 16)
KEPT = ("rule", "started", "seconds", "cpu_seconds", "peak_megabytes", "threads", "processor", "commit", "modified")
"""Of a job's record."""


def recorded_jobs(folders: Sequence[Path], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Every job by its name, the path of its log: those with a record, and those that were kept before."""
    records = {
        path.relative_to(folder).as_posix().removesuffix(SUFFIX): json.loads(path.read_text(encoding="utf-8"))
        for folder in folders
        for path in sorted(folder.rglob(f"*{SUFFIX}"))
    }
    found = {name: kept_record(record, kept.get(name, {})) for name, record in records.items()}
    times = {name: PARTITIONS if re.match(f"{ONE_PARTITION}|{ALL_PARTITIONS}", name) else 1 for name in found}
    return {**kept, **{name: {**job, "times": times[name]} for name, job in found.items()}}


def kept_record(record: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
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
    }


def bytes_of(path: Path) -> int:
    """Size of a file, or of all files in a folder."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="where records of jobs are")
    parser.add_argument("--output", type=Path, required=True, help="file that the jobs are added to")
    arguments = parser.parse_args()
    kept = json.loads(arguments.output.read_text(encoding="utf-8"))["jobs"] if arguments.output.is_file() else {}
    jobs = recorded_jobs(arguments.folders, kept)
    if not jobs:
        parser.error(f"there is no record of a job in {', '.join(map(str, arguments.folders))}: name a folder of logs")
    every, started = full_run(jobs), sorted(job["started"] for job in jobs.values())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    summary = {
        "dates": [started[0][:10], started[-1][:10]],
        "cores": os.cpu_count(),
        "memory_gigabytes": round(memory / 1e9),
        "megabytes": round(sum(job["megabytes"] * job["times"] for job in jobs.values())),
        "jobs": jobs,
    }
    # whole or not at all: it holds jobs whose records are gone
    with replacing(arguments.output) as part:
        part.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(f"{len(jobs)} jobs of one partition; {len(every)} of {PARTITIONS} partitions:")
    for n_cores in CORES:
        print(f"on {n_cores} cores {full_seconds(every.values(), n_cores) / 3600:.1f} h")


if __name__ == "__main__":
    main()
