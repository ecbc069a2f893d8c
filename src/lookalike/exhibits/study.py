"""What the function of an exhibit is given: its study's settings, tables and printed numbers.

Each room of `lookalike.studies` has a subclass in ``study.py``, which adds what its exhibits ask besides.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from lookalike.core.files import read_table
from lookalike.exhibits.printed import STAR, printed_numbers
from lookalike.exhibits.style import title_of

if TYPE_CHECKING:
    from lookalike.exhibits.model import Margin
    from lookalike.exhibits.registry import Exhibit
    from lookalike.exhibits.verdicts import Claim

HEADLINE_WIDTH = 78
"""Columns of the sentences that a run ends with: no terminal is narrower."""


@dataclass
class Study:
    """One data set's study, as far as its exhibits need it."""

    settings: Mapping[str, Any]
    """Plain settings of the study, as its plan wrote them for the drawing job: ``dataset``, ``title`` (of the data
    set), ``kind``, ``synthetic`` (whether images are made by code), ``not_run`` (a sentence, or ""), ``titles`` (method
    to title) and what the study adds."""
    files: Mapping[str, Any] = field(default_factory=dict)
    """Name of a table or file, such as ``metrics``, to its path or paths."""
    printed_rows: Sequence[Mapping[str, str]] = ()
    """Rows of reference-values.csv that the study stands beside."""
    claim_rows: Sequence[Mapping[str, str]] = ()
    """Rows of claims.csv that the study decides."""
    exhibit: Exhibit | None = None
    """The exhibit that is drawn, which says which of two papers' twins it is."""
    _tables: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def dataset(self) -> str:
        """Id of the data set."""
        return str(self.settings["dataset"])

    @property
    def title(self) -> str:
        """Title of the data set."""
        return str(self.settings["title"])

    @property
    def data(self) -> str:
        """Its data set, as a sentence begins, and that its images are made by code where the title does not say so."""
        told = "" if "synthetic" in self.title or not self.synthetic else ", synthetic images"
        return f"{self.title[:1].upper()}{self.title[1:]}{told}"

    @property
    def synthetic(self) -> bool:
        """Whether its images, or its log, are made by code; captions say so."""
        return bool(self.settings["synthetic"])

    @property
    def simulated(self) -> bool:
        """Whether what is decided on is simulated though its images are real."""
        return False

    @property
    def corner(self) -> str:
        """What stands in the corner of a picture whose data are not real; "" where they are."""
        return "Synthetic images" if self.synthetic else ""

    @property
    def methods(self) -> list[str]:
        """Methods that are compared, in order."""
        return list(self.settings["methods"])

    @property
    def not_run(self) -> str:
        """``not run: put X at Y``; "" where it was run."""
        return str(self.settings["not_run"])

    @property
    def undecided(self) -> str:
        """Sentence on what was run that leaves open how methods compare, for all who tell of it; "" where none does."""
        return ""

    @property
    def paper(self) -> str:
        """Paper of the exhibit that is drawn."""
        return self.exhibit.paper if self.exhibit is not None else ""

    @cached_property
    def printed(self) -> pd.DataFrame:
        """Printed numbers that the study stands beside, from `lookalike.exhibits.printed.printed_numbers`."""
        return printed_numbers(self.printed_rows)

    def printed_in(self, exhibit: str = "", paper: str = "") -> pd.DataFrame:
        """Printed numbers of one exhibit; by default of the one that is drawn."""
        of = self.exhibit
        paper, exhibit = paper or self.paper, exhibit or (of.name if of is not None else "")
        return self.printed[(self.printed["paper"] == paper) & (self.printed["exhibit"] == exhibit)]

    def has(self, name: str) -> bool:
        """Whether a table or file of this name was given."""
        return bool(self.files.get(name))

    def path(self, name: str) -> Path:
        """Path of one file."""
        found = self.files[name]
        return Path(found if isinstance(found, str) else next(iter(found)))

    def table(self, name: str) -> pd.DataFrame:
        """Return one of the study's tables, read once."""
        if name not in self._tables:
            self._tables[name] = read_table(self.path(name))
        table: pd.DataFrame = self._tables[name]
        return table

    def title_of(self, method: str) -> str:
        """Name of a method in tables and legends: that of the settings, else the papers'."""
        return title_of(method, self.settings.get("titles"))

    def drawing(self, exhibit: Exhibit) -> Self:
        """Return this study for another exhibit; the tables that it has read, and what it has computed, stay."""
        self.exhibit = exhibit
        return self

    def about_claim(self, claim: Claim) -> tuple[Self | None, str]:
        """The study narrowed to the parts that a claim is about, and words on others; None and why, without any."""
        return self, ""

    def was_run(self, method: str) -> bool:
        """Whether a method was run; rooms whose rules say themselves what is missing need not tell."""
        return True

    def other_data(self) -> str:
        """Which data it has that are not the paper's, as claims on printed numbers ask; "" where they are."""
        return "made by code" if self.synthetic else ""

    def ended_by(self, limit: str, method: str) -> Mapping[str, Sequence[bool]]:
        """Part, such as a subset, to whether one of `verdicts.LIMITS` ended each of a method's fits, or its choice."""
        return {}

    def data_sentence(self, drawn: Any) -> str:
        """Second sentence of a caption: which data, how many repeats, and what ± and error bars are."""
        return f"{self.data}."

    @property
    def size(self) -> str:
        """What the data set has, counted, such as ``1,080 images of 12 classes``; "" where that is not known."""
        return ""

    def headline(self, margin: Margin | None = None) -> str:
        """Return the main numbers as a small table with which method is best, for the terminal and the documentation.

        `margin` is the first of the study's exhibits.
        """
        if self.not_run:
            return f"{self.title}: {self.not_run}\n"
        what, columns, rows, sentences = self.main_numbers()
        grid = [("", *columns), *((f"  {self.title_of(method)}", *cells) for method, cells in rows.items())]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in grid]
        meaning = [] if margin is None else [f"{told}." for told in (margin.best_told, margin.order_told) if told]
        if any(STAR in cells for cells in rows.values()):
            meaning.append(f"{STAR} marks what did not end within its time limit.")
        sentences = [" ".join([*meaning, *sentences[:1]]), *filter(None, [self.undecided]), *sentences[1:]]
        told = [line for sentence in sentences for line in textwrap.wrap(sentence, HEADLINE_WIDTH)]
        return "\n".join([f"{self.title}: {what}", *lines, *told]) + "\n"

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Return what they are, the columns' heads, the cells of each method, and sentences on them."""
        return "", [], {}, []

    def notes(self, drawn: Any) -> list[str]:
        """What has to be known of an exhibit besides its caption, a sentence each."""
        return []
