"""Single exhibits as sidecars with what a test wants to say of them; whole folders are in `made_report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from lookalike.core.files import write_json, write_table

JMLR, DRAFT = "oasis-jmlr-2010", "oasis-2009-draft"
SHEET = {
    "title": "", "heading": "", "heads": ["method", "ours"], "rows": [["OASIS", "0.50"], ["a | b", ""]],
    "numbers": [False, True], "printed": [],
}  # fmt: skip


def add_exhibit(results: Path, dataset: str, paper: str, name: str, *, kind: str = "table", **told: Any) -> Path:
    """Write one exhibit of a data set, with the files of its kind; returns its sidecar."""
    folder = results / dataset / "exhibits" / paper
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.csv").write_text("method,ours,status\noasis,0.5,agrees\neuclidean,0.25,\n", encoding="utf-8")
    if kind != "table":
        Image.new("RGB", (4, 3), "white").save(folder / f"{name}.png")
    described = {
        "id": f"{paper}/{name}", "paper": paper, "name": name, "label": "", "title": name, "kind": kind,
        "study": "category", "order": 0, "dataset": dataset, "dataset_title": dataset.upper(),
        "synthetic": dataset.startswith("demo"), "caption": f"Caption of {name}. On some data.", "notes": [],
        "state": "no printed number", "statuses": {}, "problem": "", "files": [], "sources": [],
        "made_by": "lookalike.studies.category.exhibits.one", "sheets": [SHEET] if kind == "table" else [],
        "panels": [], "entries": [],
    }  # fmt: skip
    write_json(described | told, folder / f"{name}.json")
    return folder / f"{name}.json"


def add_claims(results: Path, dataset: str, group: str, claims: pd.DataFrame, **told: Any) -> None:
    """Write a table of claims."""
    write_table(claims, add_exhibit(results, dataset, group, "claims", **told).with_suffix(".csv"))


def edit_sidecar(sidecar: Path, **values: Any) -> None:
    """Change what a sidecar tells."""
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | values))
