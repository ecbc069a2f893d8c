"""One exhibit as a reader meets it: what its sidecar tells, its files, and one word for how it stands to the print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.exhibits.compare import AGREES, COLUMNS, HIGHER, LOWER, NO_PRINTED_VALUE, NOT_COMPARABLE
from lookalike.report.papers import planned_exhibits
from lookalike.report.provenance import project_path

if TYPE_CHECKING:
    import pandas as pd

MIXED, NOT_RUN, NO_PRINTED_NUMBER = "mixed", "not run", "no printed number"
KINDS = ("table", "figure", "gallery", "picture")
NUMBERS = ("printed", "printed_std", "ours", "ours_std", "difference", "difference_in_fold_std")
"""Columns of a comparison that are numbers; the others are text."""
STATES = (AGREES, HIGHER, LOWER, MIXED, NOT_COMPARABLE, NOT_RUN, NO_PRINTED_NUMBER)
"""What can be said of an exhibit as a whole, by `state_of`."""


SAYS_SO = "Not comparable with the printed numbers"
"""How a caption says that what the paper prints is of something else (`lookalike.exhibits`)."""


def state_of(statuses: Mapping[str, int], not_run: str | None = None) -> str:
    """State of an exhibit as a whole, from the statuses of the printed numbers that stand beside ours.

    A printed number is decided where it agrees or ours is higher or lower. One rule, the first that fits:

    1. not run: the exhibit says so, or that is all that its numbers say;
    2. no printed number: nothing printed stands beside ours, or no number does where the paper has a cell for it;
    3. not comparable: no number is decided (other data, a learner that was not run or did not converge);
    4. agrees: all decided numbers agree;
    5. higher (lower): some do not, and of all those that do not ours is higher (lower);
    6. mixed: some are higher and some lower.

    So ``higher`` says that nothing is lower, not that everything is higher: `Exhibit.statuses` counts them.

    Parameters
    ----------
    statuses : mapping of str to int
        Status of a printed number to how many have it, as `lookalike.exhibits.compare.count_statuses` counts.
    not_run : str, optional
        What the exhibit says where it was not run.

    Returns
    -------
    str
        One of `STATES`.
    """
    found = {status for status, count in statuses.items() if count}
    if not_run or found == {NOT_RUN}:
        return NOT_RUN
    if found <= {NO_PRINTED_VALUE}:
        return NO_PRINTED_NUMBER
    differ = found & {HIGHER, LOWER}
    if not differ:
        return AGREES if AGREES in found else NOT_COMPARABLE
    return MIXED if len(differ) == 2 else differ.pop()


@dataclass(frozen=True)
class Exhibit:
    """One table, figure or picture of one data set."""

    dataset: str
    dataset_title: str
    paper: str
    """Id of the paper, or of a group of our own (`lookalike.report.papers.GROUPS`)."""
    name: str
    """Name of its files: ``table4``."""
    title: str
    """What the paper calls it, or we do."""
    kind: str
    """``table``, ``figure`` or ``picture``."""
    caption: str
    synthetic: bool
    """Whether the images are made by code."""
    statuses: Mapping[str, int]
    """Status to how many printed numbers have it; empty where none stands beside ours."""
    status: str
    """The same as a line of text: ``12 agree, 3 higher``."""
    not_run: str | None
    """``not run: put X at Y``; None where it was run."""
    sources: tuple[str, ...]
    """Files that it is drawn from."""
    drawn_by: str
    """The module that draws it, dotted."""
    folder: Path
    """Where its files lie."""
    problem: str | None = None
    """Why its sidecar tells nothing, where it cannot be read; `not_run` says it too."""

    @property
    def key(self) -> str:
        """``paper/name``."""
        return f"{self.paper}/{self.name}"

    @property
    def state(self) -> str:
        """One of `STATES`, by the rule of `state_of`.

        Where no printed number stands beside ours because the paper's are of other data or another codebook, the
        exhibit's own caption says so, and it is not comparable.
        """
        state = state_of(self.statuses, self.not_run)
        return NOT_COMPARABLE if state == NO_PRINTED_NUMBER and SAYS_SO in self.caption else state

    @property
    def n_printed(self) -> int:
        """How many printed numbers stand beside ours, decided or not."""
        return sum(count for status, count in self.statuses.items() if status != NO_PRINTED_VALUE)

    @property
    def n_decided(self) -> int:
        """How many of them agree, are higher or are lower."""
        return sum(self.statuses.get(status, 0) for status in (AGREES, HIGHER, LOWER))

    @property
    def files(self) -> tuple[Path, ...]:
        """Its files that exist, by name; the sidecar among them."""
        ours = (*self.folder.glob(f"{self.name}.*"), *self.folder.glob(f"{self.name}_compare.*"))
        return tuple(sorted(path for path in ours if path.is_file()))

    @property
    def has_table(self) -> bool:
        """Whether there is a CSV of its numbers."""
        return (self.folder / f"{self.name}.csv").is_file()

    def table(self) -> pd.DataFrame:
        """Read the numbers that it shows.

        Returns
        -------
        DataFrame
            Columns by exhibit; no column where nothing was to be shown.

        Raises
        ------
        LookalikeError
            When there is no CSV (a picture has none, see `has_table`) or it cannot be read.
        """
        path = self.folder / f"{self.name}.csv"
        if not path.is_file():
            raise LookalikeError(f"{self.title} of {self.dataset} has no numbers: there is no {path}")
        return read_csv(path)

    def compare(self) -> pd.DataFrame | None:
        """Read ours beside the printed numbers.

        Returns
        -------
        DataFrame or None
            Columns `lookalike.exhibits.compare.COLUMNS`, one row a printed number: text as str ("" where empty),
            numbers as float64. None where there is none.

        Raises
        ------
        LookalikeError
            When the file cannot be read.
        """
        path = self.folder / f"{self.name}_compare.csv"
        if not path.is_file():
            return None
        texts: dict[str, Any] = {column: "string" for column in COLUMNS if column not in NUMBERS}
        rows = read_csv(path, needed=COLUMNS, dtype=texts)
        return None if rows.empty else rows.fillna(dict.fromkeys(texts, "")).astype(dict.fromkeys(texts, str))

    def markdown(self) -> str | None:
        """Text of a table as it is shown, title and caption too; None for what is no table.

        Raises
        ------
        LookalikeError
            When the file cannot be read.
        """
        path = self.folder / f"{self.name}.md"
        return read_text(path) if path.is_file() else None

    def picture(self, suffix: str = "png") -> Path | None:
        """Path of the picture in a format (``png``, ``svg`` or ``pdf``); None where there is none."""
        path = self.folder / f"{self.name}.{suffix.removeprefix('.')}"
        return path if path.is_file() else None

    def _repr_html_(self) -> str:
        from lookalike.report.rich import exhibit_html

        return exhibit_html(self)


def read_exhibit(sidecar: Path) -> Exhibit:
    """Read one exhibit.

    Parameters
    ----------
    sidecar : Path
        ``results/{dataset}/exhibits/{paper}/{name}.json``; its place, not its content, says which exhibit it is.

    Returns
    -------
    Exhibit
        Where the sidecar is broken, one that says so.
    """
    folder, name = sidecar.parent, sidecar.stem
    try:
        told = _checked(read_json(sidecar))
        problem = None
    except (OSError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        problem = f"{sidecar} cannot be read ({reason}): delete it and run the same command again"
        told = {"kind": "picture" if (folder / f"{name}.png").is_file() else "table"}
    return Exhibit(
        dataset=sidecar.parents[2].name,
        dataset_title=told.get("dataset_title") or sidecar.parents[2].name,
        paper=folder.name,
        name=name,
        title=told.get("title") or _title(folder.name, name),
        kind=told["kind"],
        caption=told.get("caption") or "",
        synthetic=bool(told.get("synthetic")),
        statuses=told.get("statuses") or {},
        status=told.get("status") or "",
        not_run=f"{NOT_RUN}: {problem}" if problem else told.get("not_run"),
        sources=tuple(map(project_path, told.get("sources") or ())),
        drawn_by=told.get("drawn_by") or "",
        folder=folder,
        problem=problem,
    )


def _checked(told: Any) -> dict[str, Any]:
    """Return a sidecar's content; ValueError where it is not that of an exhibit."""
    if not isinstance(told, dict) or told.get("kind") not in KINDS:
        raise ValueError("it does not describe an exhibit")
    statuses, sources = told.get("statuses") or {}, told.get("sources") or []
    if not isinstance(statuses, dict) or not all(type(count) is int for count in statuses.values()):
        raise ValueError("its statuses are no counts")
    if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
        raise ValueError("its sources are no list of files")
    for key in ("title", "caption", "dataset_title", "status", "not_run", "drawn_by"):
        if not isinstance(told.get(key), str | None):
            raise ValueError(f"its {key} is no text")
    return told


def _title(paper: str, name: str) -> str:
    """Title of an exhibit whose sidecar tells none."""
    titles = {(one.paper, one.name): one.title for one in planned_exhibits()}
    return titles.get((paper, name), name)


def read_text(path: Path) -> str:
    """Read a text file; `LookalikeError` where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def read_csv(path: Path, *, needed: Sequence[str] = (), **options: Any) -> pd.DataFrame:
    """Read a CSV file; no column where it holds none.

    Raises
    ------
    LookalikeError
        When it cannot be read, or lacks a column that is needed.
    """
    import pandas as pd

    try:
        table: pd.DataFrame = pd.read_csv(path, **options)
    except pd.errors.EmptyDataError:  # a table without a column is written as an empty line
        table = pd.DataFrame()
    except (OSError, ValueError) as error:  # of which the errors of parsing and of decoding are kinds
        raise _unreadable(path, error) from error
    missing = [column for column in needed if column not in table]
    if missing:
        raise _unreadable(path, f"it lacks the columns {', '.join(missing)}")
    return table


def _unreadable(path: Path, reason: Exception | str) -> LookalikeError:
    lines = str(reason).splitlines() or [type(reason).__name__]
    return LookalikeError(f"cannot read {path} ({lines[0]}): delete it and run the same command again")
