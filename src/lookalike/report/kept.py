"""Summaries of runs that are kept, which the documentation shows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from lookalike.exhibits.registry import PAPERS
from lookalike.report.ledger import numbers_of
from lookalike.report.provenance import Jobs
from lookalike.report.results import Dataset


def run_summary(
    dataset: Dataset, folder: Path, jobs: Jobs, command: str, claims: Iterable[Mapping[str, str]]
) -> dict[str, object]:
    """Sum up a finished run: its records and verdicts, and the machine, which is this one."""
    jobs = jobs.jobs_of([dataset.id])
    drawn = [exhibit for exhibit in dataset.exhibits if exhibit.was_drawn]
    return {
        "dataset": dataset.id,
        "title": dataset.title,
        "synthetic": dataset.synthetic,
        "studies": dataset.studies,
        "size": next((exhibit.size for exhibit in drawn if exhibit.size), ""),
        "command": command,
        "date": f"{jobs[0].started:%Y-%m-%d}" if jobs else "",
        "commits": jobs.distinct("commit"),
        "modified": jobs.modified,
        "processors": jobs.distinct("processor"),
        "cores": os.cpu_count(),
        "memory_gigabytes": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "stored_megabytes": {
            part.name: round(sum(file.stat().st_size for file in (part, *part.rglob("*")) if file.is_file()) / 1e6, 3)
            for part in sorted(folder.glob("[!.]*"))
        },
        "rules": jobs.by_rule().round(3).to_dict("records"),
        "headline": (folder / "exhibits" / "headline.txt").read_text(encoding="utf-8").strip("\n"),
        "differences": differences_of(claims),
        "numbers": numbers_of(dataset),
    }


def differences_of(claims: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Return the differences behind primary claims as a table shows them, each once: a draft has those of its paper."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for claim in (claim for claim in claims if claim["primary"]):
        place = f"{PAPERS[claim['paper']].short}, {claim['place']}"
        for row in json.loads(claim["rows"]):
            names = ": ".join(filter(None, (row["setting"], f"{row['names']}, {row['metric']}")))
            about = {"place": place, "names": names, "here": row["here"], "paper": row["paper"]}
            found.setdefault(tuple(row["key"]), about)
    return list(found.values())
