"""One paper for the reader of a notebook: its exhibits, claims and numbers, or how to make those that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.results import with_parts
from lookalike.exhibits.sheets import Sheet, html
from lookalike.report import SNAKEMAKE
from lookalike.report.claims import claims_of
from lookalike.report.results import Dataset, Results, ShownExhibit

COLUMNS = (
    "dataset",
    "study",
    "representation",
    "subset",
    "fold",
    "setting",
    "method",
    "metric",
    "x",
    "value",
    "source",
)
"""Columns of `PaperReader.metrics` that are always there."""


@dataclass(frozen=True)
class Shown:
    """Something that a notebook displays: as HTML, or as text where there is no browser."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


class PaperReader:
    """What `results/` has of one paper.

    Parameters
    ----------
    paper : str
        Id of a paper, such as ``"oasis-jmlr-2010"``; a `LookalikeError` for any other.
    results : Results, optional
        By default what `Results.find` finds. Where there is none, everything says how to make some.

    Examples
    --------
    >>> paper = PaperReader("soml-aaai-2014")
    >>> table = paper.show("table1")
    """

    def __init__(self, paper: str, results: Results | None = None) -> None:
        if paper not in PAPERS:
            raise LookalikeError(f"there is no paper {paper!r}; there are: {', '.join(PAPERS)}")
        self.paper, self.results, self.why_none = paper, results, ""
        if results is None:
            try:
                self.results = Results.find()
            except LookalikeError as error:
                self.why_none = str(error)

    def _repr_html_(self) -> str:
        return self.overview().html

    def __repr__(self) -> str:
        return self.overview().text

    @property
    def _exhibits(self) -> list[ShownExhibit]:
        return self.results.exhibits(self.paper) if self.results else []

    @property
    def _datasets(self) -> list[Dataset]:
        """The data sets that have exhibits of this paper, in the order of `Results.datasets`."""
        own = {exhibit.dataset for exhibit in self._exhibits}
        return [dataset for dataset in self.results.datasets if dataset.id in own] if self.results else []

    def overview(self) -> Shown:
        """Show every exhibit of the paper with its state in every data set that has it."""
        citation, states = PAPERS[self.paper].citation, dict[str, list[str]]()
        for exhibit in self._exhibits:
            states.setdefault(exhibit.heading, []).append(f"{exhibit.source}: {exhibit.state}")
        rows = [(heading, "; ".join(own)) for heading, own in states.items()]
        note = self.why_none or f"Results: {', '.join(dataset.source for dataset in self._datasets) or 'none yet'}."
        return Shown(
            f"<p><b>{escape(citation)}</b><br>{escape(note)}</p>{_table(('exhibit', 'state'), rows)}",
            "\n".join([citation, note, *map(": ".join, rows)]),
        )

    def show(self, name: str) -> Shown:
        """Show one exhibit, such as ``"table4"``, as every data set has it, real ones first; or how to get it."""
        found = [exhibit for exhibit in self._exhibits if exhibit.name == name]
        if not found:
            there = ", ".join(dict.fromkeys(exhibit.name for exhibit in self._exhibits))
            return self._missing(f"{name} is not among the results" + (f" (there are: {there})" if there else ""))
        texts = (f"{exhibit.heading}, {exhibit.source}: {' '.join(exhibit.caption)}" for exhibit in found)
        return Shown("<hr>".join(exhibit._repr_html_() for exhibit in found), "\n\n".join(texts))

    def claims(self) -> Shown:
        """Show the claims of the paper, primary ones first, each with its verdict and what decided it."""
        claims = [claim for claim in claims_of(self.results) if claim["paper"] == self.paper] if self.results else []
        if not claims:
            return self._missing("No verdict on a claim of this paper is among the results")
        rows = [
            (
                f"{claim['verdict'].badge.sign} {claim['verdict']}",
                f"{'Primary: ' * bool(claim['primary'])}{claim['claim']} ({claim['place']})",
                f"{', '.join(filter(None, (claim['title'], claim['scope'])))}: {claim['evidence']}",
            )
            for claim in claims
        ]
        text = "\n".join(f"{verdict}: {claim}" for verdict, claim, _ in rows)
        return Shown(_table(("verdict", "claim", "by"), rows), text)

    def metrics(self) -> pd.DataFrame:
        """Return the numbers of all data sets that have exhibits of this paper, and the ``source`` of each.

        Rows of the one table of results have a column for each part of their setting besides.
        """
        tables = [pd.DataFrame(columns=list(COLUMNS))]
        for dataset in self._datasets:
            folder = dataset.exhibits[0].folder.parents[1]
            for study in dict.fromkeys(exhibit.study for exhibit in dataset.exhibits if exhibit.paper == self.paper):
                names = "results.parquet", f"{study}/results.parquet", f"{study}/metrics.parquet"
                for table in [read_table(folder / name) for name in names if (folder / name).is_file()]:
                    rows = with_parts(table[table["study"] == study]) if "study" in table else table
                    tables += [rows.assign(dataset=dataset.id, study=study, source=dataset.source)] * (len(rows) > 0)
        return pd.concat(tables[1:] or tables, ignore_index=True)

    def _missing(self, what: str) -> Shown:
        """Show a sentence in place of what is not there, with the commands that make it."""
        page = PAPERS[self.paper].page
        how = self.why_none or (
            "the command make demo makes what synthetic data can show, and "
            f"{SNAKEMAKE} {page} what the paper's own data can, once they are in place or fetched"
        )
        sentence = f"{what}: {how}."
        return Shown(f"<p><i>{escape(sentence)}</i></p>", sentence)


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return html([Sheet("", heads, tuple(rows), (False,) * len(heads))], "-".join(heads))
