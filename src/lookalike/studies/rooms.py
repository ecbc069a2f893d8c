"""The studies by name: their classes, their exhibits, and what a drawing job of any of them is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from lookalike.core.tables import read_cells
from lookalike.exhibits.claims import Claim
from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.printed import COLUMNS as PRINTED_COLUMNS
from lookalike.exhibits.registry import ROOMS, Exhibit, exhibits_of
from lookalike.exhibits.study import Study


def all_exhibits() -> dict[str, Exhibit]:
    """Return every exhibit of every study by id, in the order in which they are listed."""
    return {id: found for room in ROOMS for id, found in exhibits_of(room).items()}


def study_of(room: str, dataset: str, settings: Mapping[str, Any]) -> Study:
    """Return a data set's study in a room from the settings that a job is given."""
    study: type[Study] = import_module(f"lookalike.studies.{room}.study").STUDY
    return study.given(dataset, settings)


def contrasts_of(room: str, study: Study) -> list[Contrast]:
    """Return the contrasts of a study."""
    found: list[Contrast] = import_module(f"lookalike.studies.{room}.contrasts").contrasts(study)
    return found


def drawing_code(room: str) -> list[str]:
    """Return the files of a room, and what else it names at run time, that its exhibits are drawn by."""
    folder = Path(__file__).parent / room
    names = ("exhibits.yaml", "exhibits.py", "pictures.py", "study.py", "contrasts.py")
    facts = [f"exhibits/{name}" for name in ("papers.yaml", "methods.yaml", "paper.mplstyle")]
    return [
        "exhibits/drawing.py",
        "exhibits/tables.py",
        *facts,
        *(f"studies/{room}/{name}" for name in names if (folder / name).is_file()),
    ]


def exhibit_paths(dataset: str, exhibits: Iterable[Exhibit]) -> list[str]:
    """Return every file of some exhibits of a data set."""
    return [f"results/{dataset}/exhibits/{exhibit.id}{suffix}" for exhibit in exhibits for suffix in exhibit.suffixes]


def printed_rows(path: Path, room: str) -> list[dict[str, str]]:
    """Return the rows of reference-values.csv that a study stands beside: of its exhibits, and of its papers' text."""
    own = set(exhibits_of(room))
    texts = {f"{exhibit.paper}/text" for exhibit in exhibits_of(room).values()}
    return [row for row in _rows(path, PRINTED_COLUMNS) if f"{row['paper']}/{row['exhibit']}" in own | texts]


def claim_rows(path: Path, room: str) -> list[dict[str, str]]:
    """Return the rows of claims.csv that a study decides."""
    return [row for row in _rows(path, [field.name for field in fields(Claim)]) if row["study"] == room]


def _rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a table of workflow/resources, as text."""
    rows = read_cells(path, columns, exact=True).to_dict(orient="records")
    return [{str(column): cell for column, cell in row.items()} for row in rows]
