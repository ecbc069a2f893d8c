"""A small folder of results and of job records, written as the workflow writes them but with made-up numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from lookalike.core.files import write_json, write_table
from lookalike.exhibits.compare import COLUMNS
from lookalike.exhibits.sidecar import write_sidecar
from lookalike.exhibits.tables import markdown_table

JMLR, DRAFT = "oasis-jmlr-2010", "oasis-2009-draft"


def add_exhibit(results: Path, dataset: str, paper: str, name: str, *, kind: str = "table", **told: Any) -> Path:
    """Write one exhibit of a data set, with the files of its kind; returns its sidecar."""
    folder = results / dataset / "exhibits" / paper
    folder.mkdir(parents=True, exist_ok=True)
    caption = told.pop("caption", f"Caption of {name}.")
    title = told.pop("title", name)
    statuses = told.get("statuses", {})
    (folder / f"{name}.csv").write_text("method,ours\noasis,0.5\neuclidean,0.25\n", encoding="utf-8")
    files = [folder / f"{name}.csv"]
    if kind == "table":
        body = markdown_table(("method", "ours"), [("OASIS", "0.50"), ("a | b", "0.25")], right={1})
        (folder / f"{name}.md").write_text(f"# {title}\n\n{body}\n{caption}\n", encoding="utf-8")
        files.append(folder / f"{name}.md")
    else:
        Image.new("RGB", (4, 3), "white").save(folder / f"{name}.png")
        files.append(folder / f"{name}.png")
    rows = [status for status, count in statuses.items() for _ in range(count)]
    numbers = ["1.5" if column in ("printed", "ours") else "" for column in COLUMNS]
    lines = [
        ",".join(status if column == "status" else number for column, number in zip(COLUMNS, numbers, strict=True))
        for status in rows
    ]
    (folder / f"{name}_compare.csv").write_text("\n".join([",".join(COLUMNS), *lines, ""]), encoding="utf-8")
    described = {
        "title": title,
        "caption": caption,
        "dataset": dataset,
        "dataset_title": dataset.upper(),
        "synthetic": dataset.startswith("demo"),
        "files": files,
        "drawn_by": "lookalike.exhibits.tables",
        **told,
    }
    return write_sidecar(folder, paper=paper, name=name, kind=kind, **described)


def add_claims(results: Path, dataset: str, group: str, claims: pd.DataFrame, **told: Any) -> None:
    """Write a table of claims."""
    sidecar = add_exhibit(results, dataset, group, "claims", **told)
    write_table(claims, sidecar.with_suffix(".csv"))


def add_record(logs: Path, name: str, inputs: list[str], outputs: list[str], **told: Any) -> Path:
    """Write one job's record."""
    path = logs / f"{name}.job.json"
    record = {
        "rule": name.partition("/")[0],
        "inputs": inputs,
        "outputs": outputs,
        "started": "2026-01-01T00:00:00+00:00",
        "seconds": 2.0,
        "cpu_seconds": 1.0,
        "peak_megabytes": 100,
        "threads": 1,
        "processor": "a processor",
        "python": "3.12.1",
        "versions": {"lookalike": "0.1", "numpy": "2.9.0"},
        "commit": "aaaa",
        "modified": False,
    }
    write_json(record | told, path)
    return path


def edit_sidecar(sidecar: Path, **values: Any) -> None:
    """Change what a sidecar tells."""
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | values))
