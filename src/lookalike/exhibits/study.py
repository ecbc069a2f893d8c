"""What the function of an exhibit is given: its study's settings, tables and printed numbers.

Each room of `lookalike.studies` has a subclass in ``study.py``, which adds what its exhibits ask besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from lookalike.core.files import read_table
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import Contrasts
from lookalike.exhibits.printed import printed_numbers
from lookalike.exhibits.style import title_of

if TYPE_CHECKING:
    from lookalike.exhibits.registry import Exhibit


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
        """Its data set, as a sentence begins, and whether its images are made by code."""
        return f"{self.title[:1].upper()}{self.title[1:]}{' (images made by code)' if self.synthetic else ''}"

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
        """Return printed numbers of one exhibit; by default of the one that is drawn."""
        own = self.exhibit.name if self.exhibit is not None else ""
        paper, exhibit = paper or self.paper, exhibit or own
        return self.printed[(self.printed["paper"] == paper) & (self.printed["exhibit"] == exhibit)]

    def has(self, name: str) -> bool:
        """Tell whether a table or file of this name was given."""
        return bool(self.files.get(name))

    def path(self, name: str) -> Path:
        """Return the path of one file."""
        found = self.files[name]
        return Path(found if isinstance(found, str) else next(iter(found)))

    def table(self, name: str) -> pd.DataFrame:
        """Return one of the study's tables, read once."""
        if name not in self._tables:
            self._tables[name] = read_table(self.path(name))
        table: pd.DataFrame = self._tables[name]
        return table

    @cached_property
    def contrasts(self) -> Contrasts:
        """What its numbers say of methods, and of one beside another."""
        return Contrasts.read(*(self.table(name) for name in ("contrasts", "time_contrasts") if self.has(name)))

    def title_of(self, method: str) -> str:
        """Name a method in tables and legends: that of the settings, else the papers'."""
        return title_of(method, self.settings.get("titles"))

    def drawing(self, exhibit: Exhibit) -> Self:
        """Return this study for another exhibit; the tables that it has read, and what it has computed, stay."""
        self.exhibit = exhibit
        return self

    def scope_of(self, claim: Claim) -> Scope:
        """Return the parts that a claim is about: the one part of a study that has no others."""
        return Scope([""])

    def parts_of(self, claim: Claim) -> list[str]:
        """Return the printed settings on each of which a claim is decided by itself; "" where on all together."""
        return [""]

    def role(self, name: str) -> list[str]:
        """Return the methods that a name in claims.csv stands for."""
        return [name]

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether a method was run, on a part or at all; what is no method counts as run."""
        return True

    def other_data(self, settings: Sequence[str]) -> str:
        """Say which data are not the paper's, as claims on printed numbers ask; "" where all are."""
        return "made by code" if self.synthetic else ""

    def as_in_print(self) -> Self:
        """Return the study that names methods as those of the paper's own numbers."""
        return self

    def follows_protocol(self) -> bool:
        """Tell whether it was run as the paper says where a claim depends on that."""
        return True

    def setting_title(self, setting: str) -> str:
        """Name a part of the study."""
        return setting

    def data_sentence(self, drawn: Any) -> str:
        """Return the second sentence of a caption: which data, how many repeats, and what ± and error bars are."""
        return f"{self.data}."

    @property
    def size(self) -> str:
        """What the data set has, counted, such as ``1,080 images of 12 classes``; "" where that is not known."""
        return ""

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Return what they are, the columns' heads, the cells of each method, and sentences on them."""
        return "", [], {}, []

    def notes(self, drawn: Any) -> list[str]:
        """Return what has to be known of an exhibit besides its caption, a sentence each."""
        return []
