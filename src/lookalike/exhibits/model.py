"""An exhibit before it is written: a table, a figure, a gallery or a picture, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from lookalike.exhibits.style import Look

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure as Canvas

Number = int | float
Box = tuple[Number, Number, Number, Number]
"""A part of an image: left, top, right and bottom as shares of width and height."""
Names = Mapping[str, Mapping[Any, str]]
"""Key column to its values' titles."""


@dataclass(frozen=True)
class Sheet:
    """One block of a table in words."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[bool, ...]
    """True for each column of numbers, which are aligned right."""
    printed: tuple[int, ...] = ()
    """Places of the rows that hold a paper's numbers."""
    heading: str = ""
    """Words above it where a further table begins."""
    best: tuple[tuple[int, int], ...] = ()
    """Row and column of the best number of those compared, which is bold."""


@dataclass(frozen=True)
class Table:
    """A frame, which the CSV holds, and its sheets as they are read; `lookalike.exhibits.tables` makes these."""

    frame: pd.DataFrame
    """Contents of the CSV; numbers beside print have the columns of `lookalike.exhibits.printed.CELLS`."""
    sheets: tuple[Sheet, ...]
    titles: Names = field(default_factory=dict)
    """Titles of the values of columns; a value without one stands as it is."""
    notes: tuple[str, ...] = ()
    """Sentences that have to be known besides the caption."""


@dataclass(frozen=True)
class Axis:
    """One axis of a panel."""

    label: str = ""
    scale: Literal["linear", "log"] = "linear"
    low: Number | None = None
    """Its start; None: by the data."""
    high: Number | None = None
    ticks: tuple[tuple[Number, str], ...] | None = None
    """Places and names of ticks; None: chosen by Matplotlib."""
    tick_form: Literal["", "short"] = ""
    """Form of ticks: ``short`` is ``0.1``, ``600``, ``10K``, ``2.3M``."""
    text: str = "{:,.6g}"
    """Format of a value in the title of a point, or ``time`` for seconds."""
    at_points: bool = False
    """Whether the ticks of a declared figure stand at its points alone."""


@dataclass(frozen=True)
class Series:
    """One line or one set of points of a panel, which names columns of the figure's frame."""

    name: str
    where: Mapping[str, object]
    """Column to value: the rows of the frame that it shows."""
    x: str
    y: str
    look: Look
    low: str = ""
    """Column of the least value of each point; "" where there is no error."""
    high: str = ""
    kind: Literal["line", "thin", "each", "points"] = "line"
    """A line with some markers, behind the others without any, or with a marker at each point; or points alone."""
    hollow: bool = False
    shift: Number = 0
    """Distance from its x, so that bars do not cover each other; in decades on a logarithmic axis."""
    band: bool = False


@dataclass(frozen=True)
class Line:
    """A straight line across a panel."""

    name: str
    at: Number
    look: Look
    upright: bool = False
    label: str = ""
    """Words at its right end, such as its value."""
    label_left: bool = False


@dataclass(frozen=True)
class Panel:
    """One panel of a figure."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...] = ()
    lines: tuple[Line, ...] = ()
    empty: str = ""
    """Words of a panel that has nothing to show."""


@dataclass(frozen=True)
class Figure:
    """A figure of curves: the frame that its CSV holds, and panels of series that name columns of it."""

    frame: pd.DataFrame
    panels: tuple[Panel, ...]
    cells: pd.DataFrame | None = None
    """Its numbers beside the printed ones, columns `lookalike.exhibits.printed.CELLS`; None where none is printed."""
    notes: tuple[str, ...] = ()
    n_columns: int = 0
    """Panels beside each other; 0: by their number."""
    size: tuple[float, float] | None = None
    """Width and height of a panel in inches; None: the usual ones."""


@dataclass(frozen=True)
class Mark:
    """The mark of images of one kind: a sign, a line and a colour, so that it reads without colours too."""

    sign: str
    colour: str
    line: Literal["-", "--", ":"]
    meaning: str


@dataclass(frozen=True)
class Tile:
    """One place of a grid of images."""

    image: npt.NDArray[np.uint8] | None
    """RGB or grey pixels, shape (height, width[, 3]); None: an empty place with its words alone."""
    words: str = ""
    """Words beneath it, or in an empty place."""
    mark: Mark | None = None
    box: Box | None = None
    """A rectangle on it."""


@dataclass(frozen=True)
class Found:
    """One image that a ranking shows, for the report's gallery."""

    image: str
    """Path of its file as the job opens it: from the work folder, or absolute. The report makes its thumbnail."""
    words: str
    mark: Mark
    score: str
    """Number that the method ranks by, in three digits (`lookalike.exhibits.neighbours.score_text`)."""


@dataclass(frozen=True)
class Ranking:
    """The images that one method found for one query."""

    title: str
    found: tuple[Found, ...]
    """The nearest first."""
    summary: str = ""
    measure: Literal["score", "distance"] = "score"
    """A score is nearer the larger it is, a distance the smaller."""


@dataclass(frozen=True)
class Entry:
    """One query of the report's gallery, with what several methods found for it."""

    image: str
    """Path of the query's file, as in `Found`."""
    words: str
    """Its label, by which a reader filters."""
    rankings: tuple[Ranking, ...]
    """Before learning, then after it."""
    chosen: str = ""
    """Reason to show it, one of `lookalike.exhibits.neighbours`."""
    change: str = ""
    box: Box | None = None
    """The part that asks."""
    gain: float | None = None
    """By how much learning answers it better, in the study's own measure; None where that has no value."""


@dataclass(frozen=True)
class Gallery:
    """Images with words, in rows."""

    frame: pd.DataFrame
    """Contents of the CSV: a row an image."""
    rows: tuple[tuple[Tile, ...], ...]
    row_titles: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    entries: Sequence[Entry] = ()
    """Queries of the report's page "Gallery"; `lookalike.exhibits.neighbours.gallery_of` makes a
    gallery of them. Without entries it stands on its paper's page alone."""
    tile: float = 1.05
    """Width of a tile in inches."""


@dataclass(frozen=True)
class Picture:
    """A drawing of its own form, such as how a descriptor is made, with the numbers behind it."""

    frame: pd.DataFrame
    paint: Callable[[Canvas], None]
    """Draws on an empty Matplotlib figure."""
    size: tuple[float, float] = (6.2, 2.8)
    """Width and height in inches."""
    notes: tuple[str, ...] = ()


Drawn = Table | Figure | Gallery | Picture
