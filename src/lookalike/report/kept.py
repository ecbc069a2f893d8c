"""Summaries of runs that are kept: README and front page name their main numbers beside those at hand."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from lookalike.core.files import PathLike, read_json
from lookalike.exhibits import words
from lookalike.exhibits.model import Margin
from lookalike.exhibits.registry import PAPERS
from lookalike.report.front import KINDS
from lookalike.report.ledger import numbers_of
from lookalike.report.provenance import Jobs
from lookalike.report.results import Dataset
from lookalike.studies.rooms import all_exhibits

margin_of = TypeAdapter(Margin).validate_python
"""Return a margin as a summary keeps it."""


def run_summary(dataset: Dataset, folder: Path, jobs: Jobs, command: str) -> dict[str, object]:
    """Sum up a finished run from ``results/{dataset}`` and its jobs' records; this is the machine that it ran on."""
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
        "stored_megabytes": {part.name: _megabytes(part) for part in sorted(folder.glob("[!.]*"))},
        "rules": jobs.by_rule().round(3).to_dict("records"),
        "headline": (folder / "exhibits" / "headline.txt").read_text(encoding="utf-8").strip("\n"),
        "notes": next(([*exhibit.notes] for exhibit in drawn if exhibit.notes), []),
        "undecided": next((exhibit.undecided for exhibit in drawn if exhibit.undecided), ""),
        "margins": [asdict(margin) | {"exhibit": exhibit.id} for exhibit in drawn for margin in exhibit.margins],
        "numbers": numbers_of(dataset),
    }


def _megabytes(path: Path) -> float:
    """Return the size of a file, or of all files in a folder."""
    return round(sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file()) / 1e6, 3)


def kept_runs(files: Iterable[PathLike], at_hand: Collection[str]) -> list[dict[str, Any]]:
    """Return the kept runs on photographs of data sets that are not at hand: title, what it is about and sentences."""
    summaries = map(read_json, files)
    return [
        {
            "title": words.sentence(run["title"]).rstrip("."),
            "about": "; ".join(filter(None, (KINDS[run["synthetic"]], run["size"]))),
            # without two methods side by side, what an exhibit's last note says
            "sentences": [*(_gaps(run["margins"]) or run.get("notes", [])[-1:]), *filter(None, [run.get("undecided")])],
        }
        for run in summaries
        if not run["synthetic"] and run["dataset"] not in at_hand
    ]


def _gaps(margins: list[dict[str, Any]]) -> list[str]:
    """Say the first gap of each exhibit of a paper and setting, each gap once: a draft has those of its paper."""
    gaps: dict[tuple[str, str], str] = {}
    known: set[tuple[str, ...]] = set()
    for kept in margins:
        margin, (paper, _, _) = margin_of(kept), kept["exhibit"].partition("/")
        if paper in PAPERS and margin.contrast.key not in known:
            parts = (PAPERS[paper].title, all_exhibits()[kept["exhibit"]].label, margin.setting)
            place = ", ".join(filter(None, parts))
            gaps.setdefault((kept["exhibit"], margin.setting), f"{place}: {words.margin_words(margin)}.")
        known.add(margin.contrast.key)
    return list(gaps.values())
