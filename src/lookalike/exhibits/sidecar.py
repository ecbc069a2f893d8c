"""The JSON file beside every exhibit and picture: caption, status and where its numbers come from, in one form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lookalike.core.files import write_json


def write_sidecar(
    folder: str | os.PathLike[str],
    *,
    paper: str,
    name: str,
    kind: str,
    title: str,
    caption: str,
    dataset: str,
    dataset_title: str,
    synthetic: bool,
    files: Sequence[Path],
    drawn_by: str,
    statuses: Mapping[str, int] | None = None,
    status: str = "",
    not_run: str | None = None,
    sources: Sequence[str] = (),
    rows: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write ``{name}.json``.

    Parameters
    ----------
    folder : path-like
        ``results/{dataset}/exhibits/{paper}``.
    paper, name : str
        Which exhibit; `paper` is ``representation`` for those that no paper prints.
    kind : {"table", "figure", "picture"}
    title, caption : str
    dataset, dataset_title : str
        The data set's id and title.
    synthetic : bool
        Whether its images are made by code.
    files : sequence of Path
        What was written beside it.
    drawn_by : str
        The module that draws it, dotted.
    statuses : mapping of str to int, optional
        How many printed numbers have each status; none for a picture.
    status : str
        The same as a line of text.
    not_run : str, optional
        ``not run: put X at Y``; None where it was run.
    sources : sequence of str
        Files that it is drawn from.
    rows : sequence of mapping, optional
        Rows of a table that are told here too; without them there is no such entry.

    Returns
    -------
    Path
    """
    path = Path(folder) / f"{name}.json"
    sidecar = {
        "paper": paper,
        "name": name,
        "kind": kind,
        "title": title,
        "caption": caption,
        "dataset": dataset,
        "dataset_title": dataset_title,
        "synthetic": synthetic,
        "statuses": dict(statuses or {}),
        "status": status,
        "not_run": not_run,
        "files": sorted(file.name for file in files),
        "sources": list(sources),
        "drawn_by": drawn_by,
        **({"rows": [dict(row) for row in rows]} if rows else {}),
    }
    write_json(sidecar, path)
    return path
