"""What is kept of a run when its results are gone: one small file a data set, which the documentation shows."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookalike.report.provenance import Jobs
    from lookalike.report.results import Dataset


def run_summary(dataset: Dataset, folder: Path, jobs: Jobs, command: str) -> dict[str, Any]:
    """Sum up a finished run from ``results/{dataset}`` and its jobs' records; this is the machine that it ran on."""
    work = jobs.whole
    drawn = [one for one in dataset.exhibits if one.was_drawn]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "dataset": dataset.id,
        "title": dataset.title,
        "synthetic": dataset.synthetic,
        "studies": dataset.studies,
        "size": next((one.size for one in drawn if one.size), ""),
        "command": command,
        "date": f"{work.started:%Y-%m-%d}" if work.started else "",
        "commits": work.commits,
        "modified": work.modified,
        "processors": work.processors,
        "cores": os.cpu_count(),
        "memory_gigabytes": round(memory / 1e9),
        "stored_megabytes": {part.name: _megabytes(part) for part in sorted(folder.glob("[!.]*"))},
        "rules": jobs.by_rule().round(3).to_dict("records"),
        "headline": dataset.headline,
        "statuses": dict(sum((Counter(one.statuses) for one in drawn), Counter())),
        "margins": [asdict(margin) | {"exhibit": one.id} for one in drawn for margin in one.margins],
    }


def _megabytes(path: Path) -> float:
    """Size of a file, or of all files in a folder."""
    return round(sum(one.stat().st_size for one in (path, *path.rglob("*")) if one.is_file()) / 1e6, 3)
