"""What is kept of a run when its results are gone: one small file a data set, which the documentation shows."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.core.files import read_json

if TYPE_CHECKING:
    from lookalike.report.provenance import Jobs
    from lookalike.report.results import Dataset


def run_summary(dataset: Dataset, folder: Path, jobs: Jobs, command: str) -> dict[str, Any]:
    """Sum up a finished run from ``results/{dataset}`` and its jobs' records; this is the machine that it ran on."""
    work = jobs.whole
    drawn = [one for one in dataset.exhibits if one.was_drawn]
    told = {one.id: read_json(one.folder / f"{one.name}.json") for one in drawn}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "dataset": dataset.id,
        "title": dataset.title,
        "synthetic": dataset.synthetic,
        "studies": dataset.studies,
        "size": next((sidecar["size"] for sidecar in told.values() if sidecar.get("size")), ""),
        "command": command,
        "date": f"{work.started:%Y-%m-%d}" if work.started else "",
        "commits": work.commits,
        "modified": work.modified,
        "processors": work.processors,
        "cores": os.cpu_count(),
        "memory_gigabytes": round(memory / 1e9),
        "stored_megabytes": stored_megabytes(folder),
        "rules": jobs.by_rule().round(3).to_dict("records"),
        "headline": dataset.headline,
        "statuses": dict(sum((Counter(one.statuses) for one in drawn), Counter())),
        "margins": [{"exhibit": name, **row} for name, sidecar in told.items() for row in sidecar.get("margins", ())],
    }


def stored_megabytes(folder: Path) -> dict[str, float]:
    """Megabytes of each folder of a data set's results, and of the files beside them."""
    stored: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file():
            below = path.relative_to(folder)
            stored[below.parts[0] if len(below.parts) > 1 else "files"] += path.stat().st_size
    return {name: round(size / 1e6, 3) for name, size in stored.items()}
