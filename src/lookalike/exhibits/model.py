"""An exhibit before it is written: a table, a figure, a gallery or a picture, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.axes import Axes
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


PointTitle = tuple["Axes", float, float, str]
"""A point of a panel, at its x and y there, with the numbers that the SVG tells of it."""


class NothingToShowError(LookalikeError):
    """Why an exhibit has nothing to show; it was then not run."""


@dataclass(frozen=True)
class Drawn:
    """What an exhibit is written from: the frame that its CSV holds, and its sheets or its picture."""

    frame: pd.DataFrame
    notes: Sequence[str] = ()
    """Sentences that have to be known besides the caption."""
    titles: Names = field(default_factory=dict)
    """Titles of the values of columns; a value without one stands as it is."""
    sheets: Sequence[Sheet] = ()
    canvas: Canvas | None = None
    """Its picture; None of a table."""
    point_titles: Sequence[PointTitle] = ()
    entries: Sequence[Entry] = ()
    """Queries of the report's page "Gallery"; a gallery without any stands on its paper's page alone."""

    @property
    def is_figure(self) -> bool:
        """Tell whether it is one of curves."""
        return bool(self.point_titles)


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
