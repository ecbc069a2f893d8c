"""What lies in ``results/``, for the report, the notebooks and kept runs: data sets, exhibits and claims."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, read_json
from lookalike.exhibits import words
from lookalike.exhibits.claims import read_claims
from lookalike.exhibits.registry import PAPERS, ROOMS
from lookalike.exhibits.statuses import State
from lookalike.exhibits.tables import html
from lookalike.exhibits.writing import Sidecar
from lookalike.report.pictures import data_address

ENVIRONMENT = "LOOKALIKE_RESULTS"
"""Environment variable that names the folder of results."""
TEXTS = ("ours_cell", "printed_cell", "unit", "note")
"""Columns of an exhibit's CSV that hold text, whatever it looks like."""
GROUPS: Mapping[str, str] = {
    "learning": "How OASIS and its competitors learn",
    "landmark": "SOML beyond its paper",
    "finegrained": "Fine-grained similarity beyond its paper",
}
"""Titles of groups of exhibits that no paper prints; any other group has its name."""


@dataclass(frozen=True)
class ShownExhibit(Sidecar):
    """One table, figure, gallery or picture of one data set, as its sidecar tells it."""

    folder: Path = field(repr=False, kw_only=True)
    """Where its files lie."""

    @property
    def was_drawn(self) -> bool:
        """Tell whether it was run and did not fail."""
        return self.state not in (State.NOT_RUN, State.FAILED)

    @property
    def source(self) -> str:
        """Its data set, named as in notebooks."""
        return f"{self.dataset_title} (synthetic)" if self.synthetic else self.dataset_title

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its files that exist, by name; the sidecar among them."""
        return tuple(sorted(path for path in self.folder.glob(f"{self.name}.*") if path.is_file()))

    @property
    def output(self) -> str:
        """Its sidecar as the workflow names it, wherever the folder of results lies now."""
        return f"results/{self.dataset}/exhibits/{self.id}.json"

    def picture(self) -> Path | None:
        """Return the path of the picture as PNG; None where there is none."""
        path = self.folder / f"{self.name}.png"
        return path if path.is_file() else None

    def table(self) -> pd.DataFrame:
        """Read the numbers that it shows."""
        # a name such as "10", and a cell's text such as "36.0", stay what they are
        texts = dict.fromkeys([*self.titles, *TEXTS], str)
        try:
            return pd.read_csv(self.folder / f"{self.name}.csv", dtype=texts)
        except pd.errors.EmptyDataError:  # a table without a row may have no column either
            return pd.DataFrame()

    def compare(self) -> pd.DataFrame | None:
        """Read ours beside the printed numbers: the rows of a table that have one, or None."""
        cells = self.table()
        beside = cells[cells["printed"].notna()] if "printed" in cells else cells.iloc[:0]
        return None if beside.empty else beside

    def _repr_html_(self) -> str:
        """Return a ``<figure>`` with heading, picture or table, state, caption and notes."""
        notes, differences = (
            "".join(f"<li>{escape(note)}</li>" for note in said) for said in (self.notes, self.differences)
        )
        picture = self.picture()
        # the caption beneath describes a picture; here is what it is
        what = escape(f"{self.heading}, {self.kind} of {self.dataset_title}", quote=True)
        address = "" if picture is None else data_address("png", picture.read_bytes())
        body = f'<img style="max-width: 100%; background: #fff" alt="{what}" src="{address}">'
        if picture is None:
            body = html(self.sheets, f"{self.dataset}-{self.paper}-{self.name}")
        parts = (
            f"<p><strong>{escape(self.heading)}</strong>, {escape(self.source)}</p>",
            body if self.was_drawn else f"<p>{escape(words.sentence(self.problem))}</p>",
            f"<p>{self.state.sign} {self.state}</p>" if self.state.sign else "",
            f"<figcaption>{escape(' '.join(self.caption))}</figcaption>",
            f"<p>What differs from the paper:</p><ul>{differences}</ul>" if differences else "",
            f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else "",
        )
        return f'<figure style="margin: 1em 0">{"".join(parts)}</figure>'


@dataclass(frozen=True)
class Dataset:
    """What there is of one data set."""

    id: str
    title: str
    synthetic: bool
    """Whether its images are made by code."""
    not_run: str
    """What to do to run it, where no exhibit of it was run; else ""."""
    exhibits: tuple[ShownExhibit, ...] = field(repr=False)
    """In the papers' order."""

    @property
    def studies(self) -> list[str]:
        """Studies that its exhibits are of."""
        found = {exhibit.study for exhibit in self.exhibits}
        return [room for room in ROOMS if room in found]


class Results:
    """What a folder of results holds.

    Parameters
    ----------
    folder : path-like
        ``results``, as the workflow makes it, read once, when something is first asked of it. An empty one has no data
        sets; a `LookalikeError` where there is none.

    Examples
    --------
    >>> results = Results.find()  # doctest: +SKIP
    >>> results.exhibit("demo", "oasis-jmlr-2010", "table4")  # doctest: +SKIP
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise LookalikeError(f"there is no folder of results at {self.folder}: run `make demo` first, then read it")

    @classmethod
    def find(cls) -> Results:
        """Return the results of the environment variable `ENVIRONMENT`, else of ``results`` or ``../results``."""
        named = os.environ.get(ENVIRONMENT)
        candidates = [Path(named)] if named else [Path("results"), Path("../results")]
        for folder in candidates:
            if folder.is_dir() and any(_sidecars(folder)):
                return cls(folder)
        where = f"{named}, which {ENVIRONMENT} names" if named else " or ".join(map(str, candidates))
        raise LookalikeError(f"there are no results at {where}: run `make demo` in the project's folder first")

    @cached_property
    def datasets(self) -> list[Dataset]:
        """Data sets that have an exhibit, by study, those of real images first, then by id."""
        by_dataset: dict[str, list[ShownExhibit]] = {}
        for exhibit in sorted(map(read_exhibit, _sidecars(self.folder)), key=_place):
            by_dataset.setdefault(exhibit.dataset, []).append(exhibit)
        found = []
        for id, (first, *others) in by_dataset.items():
            not_run = first.problem if {exhibit.state for exhibit in (first, *others)} == {State.NOT_RUN} else ""
            found.append(Dataset(id, first.dataset_title, first.synthetic, not_run, (first, *others)))
        return sorted(found, key=lambda found: (ROOMS.index(found.studies[0]), found.synthetic, found.id))

    @cached_property
    def claims(self) -> list[dict[str, str]]:
        """Rows of claims.csv: primary claims, and further ones on the data sets that there are."""
        there = {dataset.id for dataset in self.datasets}
        return [row for row in read_claims(self.folder / "claims.csv") if row["primary"] or row["dataset"] in there]

    def __getitem__(self, dataset: str) -> Dataset:
        """Return a data set by its id; `LookalikeError` with those that there are where it is none of them."""
        known = {found.id: found for found in self.datasets}
        if dataset not in known:
            there = f"choose one of {', '.join(known)}" if known else "there is none; run `make demo` first"
            raise LookalikeError(f"{self.folder} has no exhibits of a data set {dataset!r}: {there}")
        return known[dataset]

    @cached_property
    def groups(self) -> list[str]:
        """Groups of our own that have an exhibit, in the order of studies."""
        return list(dict.fromkeys(exhibit.paper for exhibit in self.exhibits() if exhibit.paper not in PAPERS))

    def exhibits(self, paper: str | None = None, dataset: str | None = None) -> list[ShownExhibit]:
        """Return exhibits of all or one paper (or group of our own) and data set, by paper, its numbering and study."""
        every = [exhibit for found in self.datasets if dataset in (None, found.id) for exhibit in found.exhibits]
        # sorting is stable: data sets keep their order within an exhibit
        return sorted((exhibit for exhibit in every if paper in (None, exhibit.paper)), key=_place)

    def exhibit(self, dataset: str, paper: str, name: str) -> ShownExhibit:
        """Return one exhibit; where there is none of this name, a `LookalikeError` with those that there are."""
        found = {exhibit.id: exhibit for exhibit in self[dataset].exhibits}
        if f"{paper}/{name}" not in found:
            raise LookalikeError(f"{dataset} has no exhibit {paper}/{name}: choose one of {', '.join(found)}")
        return found[f"{paper}/{name}"]


def _sidecars(folder: Path) -> Iterable[Path]:
    """Yield every ``{dataset}/exhibits/{paper}/{name}.json``; what a killed job left behind starts with a dot."""
    return (path for path in sorted(folder.glob("*/exhibits/*/*.json")) if not path.name.startswith("."))


def _place(exhibit: ShownExhibit) -> tuple[int, int, int, str]:
    """Return a key to sort exhibits by: paper, with our own groups last, then its numbering, then study."""
    return [*PAPERS, exhibit.paper].index(exhibit.paper), exhibit.order, ROOMS.index(exhibit.study), exhibit.id


_EXHIBIT = TypeAdapter(ShownExhibit)


def read_exhibit(sidecar: Path) -> ShownExhibit:
    """Read one exhibit; its sidecar's place, not its content, says which."""
    dataset, paper, name = sidecar.parents[2].name, sidecar.parent.name, sidecar.stem
    where = {"dataset": dataset, "paper": paper, "name": name, "id": f"{paper}/{name}", "folder": sidecar.parent}
    try:
        return _EXHIBIT.validate_python(read_json(sidecar) | where)
    except ValidationError as error:  # of another version
        reason = f"{error.errors()[0]['loc'][0]}: {error.errors()[0]['msg']}"
        again = f"delete {sidecar.parents[1]} and run the same command again"
        raise LookalikeError(f"{sidecar} cannot be read ({reason}): {again}") from error
