"""The papers, and their exhibits, each an entry of a study's exhibits.yaml; cheap to import, as every plan does."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import BeforeValidator, Field, model_validator

from lookalike.core.settings.model import Absent, Section
from lookalike.exhibits.model import Axis

if TYPE_CHECKING:
    from lookalike.exhibits.model import Drawn
    from lookalike.exhibits.study import Study


class Paper(NamedTuple):
    """One paper, as indices and pages name it."""

    page: str
    """Name of its page, and of its target in the workflow."""
    prefix: str
    """What the targets of its tables and figures begin with."""
    title: str
    short: str
    citation: str
    address: str = ""
    """Where it can be read; "" where we know of no lasting address."""


HERE = Path(__file__).parent
PAPERS = {
    id: Paper(**about) for id, about in yaml.safe_load((HERE / "papers.yaml").read_text(encoding="utf-8")).items()
}
"""Papers by id, in the order in which an index lists them. Every other group of exhibits is our own."""
ROOMS = ("category", "embeddings", "landmark", "web", "finegrained", "human")
"""Studies in the order in which exhibits are listed."""
PICTURES = (".csv", ".png", ".svg", ".pdf", ".json")
FILES = {
    "table": (".csv", ".md", ".tex", ".json"),
    "figure": PICTURES,
    "gallery": PICTURES,
    "picture": PICTURES,
}
"""Kind of an exhibit to the suffixes of its files."""
GivenAxis = Annotated[Axis, BeforeValidator(lambda given: Axis(**given))]


class Layout(Section):
    """A table of cells: the columns of results that make its rows, its columns and its blocks."""

    rows: str
    columns: str = "method"
    blocks: str = ""
    form: str = ".1f"
    """Format of a mean and its standard deviation, or the name of one of `lookalike.exhibits.tables.FORMS`."""
    forms: dict[str, str] = Field({})
    """Metric to its format, where it has another one."""
    spread: str = ""
    """Format of a standard deviation that has another one."""
    interval: bool = False
    """Whether a mean stands with the interval of its contrast in place of a standard deviation."""
    printed: str = "g"
    """Format of a printed number; ``as ours`` writes it, and its standard deviation, like ours."""
    scale: float = 1
    """What numbers are multiplied by where cells write them."""
    best: Literal["", "max", "min"] = ""
    """Which number of a row is bold."""
    minus: str = ""
    """Method that is taken from all others, in a column of differences with their intervals behind each."""
    over: str = ""
    """Method over whose numbers all others are given once more, as ratios below."""
    below: dict[str, str] = Field({})
    """Metric to its title: differences of the first method from all others, with each interval, below."""


class Level(Section):
    """A straight line at the mean of a metric of one method."""

    name: str
    method: str
    metric: str
    where: dict[str, str] = Field({})
    """Column to value: the panels that have it; all if left out."""
    has_value: bool = False
    """Whether its value stands beside it."""


class Curves(Section):
    """A figure of means over repeats, with standard errors."""

    panels: list[str]
    """Columns of results whose values make the panels."""
    x: GivenAxis = Axis()
    y: GivenAxis = Axis()
    last: float = math.inf
    """The largest x that is shown."""
    minus: str = ""
    """Method that is taken from all others, repeat by repeat."""
    level: Absent[Level] = None
    upright: Absent[Level] = None
    zero: str = ""
    """Name of a line at zero."""
    printed: dict[str, float | Literal["upright"]] = Field({})
    """Printed metric to the x at which it stands, or to the upright line."""
    printed_methods: list[str] = Field([])
    """Methods whose printed numbers are shown; all that the figure shows if left out."""
    apart: float = 0
    """How far curves stand beside each other, so that error bars do not cover each other; in decades on a logarithmic
    axis."""
    training: str = ""
    """Metric of training images, whose curves have a look of their own."""
    thin: str = ""
    """Title of methods that are thin lines behind the others."""


class Exhibit(Section):
    """One entry of exhibits.yaml.

    It shows rows of results of its study, laid out as `table` or `figure` say, or what a function draws, which an entry
    names in full under the kind of the exhibit: ``table``, ``figure``, ``gallery`` or ``picture``.
    """

    id: str
    """``paper/name``, the place of its files below ``results/{dataset}/exhibits/``."""
    study: str
    """Room of the study, such as ``category``."""
    title: str
    caption: str = ""
    """First sentence of its caption."""
    table: Layout = Layout(rows="")
    figure: Curves = Curves(panels=[])
    needs: list[str] = Field([])
    """Names of the study's tables and files that it is drawn from; without one of them it was not run."""
    optional: list[str] = Field([])
    """Those that it does without."""
    when: str = ""
    """Property or method of the study that tells by its settings whether it has such an exhibit."""
    condition: str = "settings that ask for it"
    """What a study needs to have it, in words."""
    real: bool = False
    """Whether it is of photographs that no code made."""
    where: dict[str, str | list[str]] = Field({})
    """Column to the value, or the values, that rows have. A study without one of its settings has no such exhibit."""
    shows: list[str] = Field(["methods"])
    """Methods that it shows, by id or by the key of the study's settings that lists them."""
    runs: list[str] = Field([])
    """Methods that it does not show, and without whose runs it has nothing to show."""
    without: dict[str, list[str]] = Field({})
    """Column to values that are left out."""
    titles: dict[str, dict[str, str]] = Field({})
    """Column to titles that differ from those of the study."""
    unit: str | dict[str, str] = "percent"
    """Unit of its numbers, or of those of each metric."""
    text: dict[str, str] = Field({})
    """Metrics that a paper tells in its text, to their titles; such numbers are a table."""
    forms: dict[str, str] = Field({})
    """Metric of the text to the format of ours, where it is no whole number."""
    notes: list[str] = Field([])
    differs: list[str] = Field([])
    """What differs from the paper's whatever the study's settings are."""

    # what follows from an entry and its place in its file
    order: int = 0
    kind: str = "table"
    function: str = ""
    """Function that draws it, in full; "" where its entry says all."""
    paper: str = ""
    """Paper that prints it, or the group of our own that it belongs to."""
    name: str = ""
    label: str = ""
    """Name in the paper, such as ``Table 4``; "" for one of our own, and for numbers in the text."""
    place: int = 0
    """Its place among the exhibits of its paper: tables, then figures, by number; then others as in their file."""

    @model_validator(mode="before")
    @classmethod
    def _follow(cls, entry: dict[str, Any]) -> dict[str, Any]:
        """Add what follows from an entry."""
        paper, _, name = entry["id"].partition("/")
        kind = next((kind for kind in FILES if entry.get(kind)), "table")
        function = entry.get(kind) if isinstance(entry.get(kind), str) else ""
        given = {key: value for key, value in entry.items() if not (function and key == kind)}
        given |= {"paper": paper, "name": name, "kind": kind, "function": function}
        found = re.fullmatch(r"(table|fig)(\d+)([a-z]?)", name) if paper in PAPERS else None
        if found is None:
            return {**given, "place": 100_000 + entry.get("order", 0)}
        is_figure, letter = found[1] == "fig", found[3]
        place = 50_000 * is_figure + 100 * int(found[2]) + (ord(letter) - ord("a") + 1 if letter else 0)
        return {**given, "label": f"{'Figure' if is_figure else 'Table'} {found[2]}{letter.upper()}", "place": place}

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of its files."""
        return FILES[self.kind]

    @property
    def target(self) -> str:
        """Target of the workflow that makes it alone: ``jmlr-table4``; "" for one of our own."""
        return f"{PAPERS[self.paper].prefix}-{self.name}" if self.paper in PAPERS else ""

    @property
    def metrics(self) -> list[str]:
        """Metrics that it shows."""
        metric = self.where.get("metric", [])
        return [metric] if isinstance(metric, str) else metric

    @property
    def parts(self) -> dict[str, str | list[str]]:
        """Parts of a setting that its rows have."""
        return {column: value for column, value in self.where.items() if column not in ("metric", "method")}

    @property
    def needed(self) -> list[str] | None:
        """Methods whose numbers it needs: those that it shows, and those compared with them; None of all."""
        if self.function and "shows" not in self.model_fields_set:
            return None
        lines = [line.method for line in (self.figure.level, self.figure.upright) if line is not None]
        others = [self.figure.minus, self.table.minus, self.table.over]
        return list(dict.fromkeys(filter(None, (*self.shows, *self.runs, *lines, *others))))

    @property
    def drawn_by(self) -> str:
        """The function or file that draws it: two papers' exhibits show the same if it and their numbers are alike."""
        return self.function or f"studies/{self.study}/exhibits.yaml"

    def is_of(self, study: Study) -> bool:
        """Tell by its settings whether a study has it."""
        asked = getattr(study, self.when) if self.when else True
        if self.function:
            return bool(asked() if callable(asked) else asked)
        has_parts = all(value in study.titles_of(column) for column, value in self.parts.items())
        return has_parts and not (self.real and study.synthetic) and study.measures(self)

    def draw(self, study: Study) -> Drawn:
        """Draw it from a study's tables and files."""
        # by name, because a plan reads entries and draws nothing
        of_text = "tables.numbers_in_text" if self.text else "tables.table_of"
        layout = "drawing.figure_of" if self.kind == "figure" else of_text
        given = (study,) if self.function else (self, study)
        drawn: Drawn = resolve_name(self.function or f"lookalike.exhibits.{layout}")(*given)
        return drawn


@cache
def exhibits_of(room: str) -> dict[str, Exhibit]:
    """Return the exhibits that studies of a room may have by id, in the order of its exhibits.yaml."""
    path, found = HERE.parent / "studies" / room / "exhibits.yaml", {}
    for order, (id, entry) in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")).items()):
        # one that no function draws is of rows of results, and of times where there are any
        is_drawn = any(isinstance(entry.get(kind), str) for kind in FILES)
        needs = {} if is_drawn else {"needs": ["results"], "optional": ["times"]}
        found[id] = Exhibit.model_validate({**needs, **entry, "id": id, "study": room, "order": order})
    return found
