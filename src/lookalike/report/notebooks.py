"""One paper for the reader of a notebook: its exhibits, claims and numbers, or how to make those that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.model import Sheet
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.results import COLUMN_TYPES, read_results, with_parts
from lookalike.exhibits.tables import html
from lookalike.report import SNAKEMAKE
from lookalike.report.claims import claims_of
from lookalike.report.results import Results


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
        self._exhibits = self.results.exhibits(paper) if self.results else []

    def _repr_html_(self) -> str:
        return self.overview().html

    def __repr__(self) -> str:
        return self.overview().text

    def overview(self) -> Shown:
        """Show every exhibit of the paper with its state in every data set that has it."""
        citation, states = PAPERS[self.paper].citation, dict[str, list[str]]()
        for exhibit in self._exhibits:
            states.setdefault(exhibit.heading, []).append(f"{exhibit.source}: {exhibit.state}")
        rows = [(heading, "; ".join(own)) for heading, own in states.items()]
        sources = dict.fromkeys(exhibit.source for exhibit in self._exhibits)
        note = self.why_none or f"Results: {', '.join(sources) or 'none yet'}."
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
                f"{claim['verdict'].sign} {claim['verdict']}",
                f"{'Primary: ' * bool(claim['primary'])}{claim['claim']} ({claim['place']})",
                f"{', '.join(filter(None, (claim['title'], claim['scope'])))}: {claim['evidence']}",
            )
            for claim in claims
        ]
        text = "\n".join(f"{verdict}: {claim}" for verdict, claim, _ in rows)
        return Shown(_table(("verdict", "claim", "by"), rows), text)

    def metrics(self) -> pd.DataFrame:
        """Return the rows of results of all studies that have exhibits of this paper, and the ``source`` of each.

        They have a column for each part of their setting besides.
        """
        tables = [pd.DataFrame(columns=[*COLUMN_TYPES, "dataset", "source"])]
        for exhibit in {(exhibit.dataset, exhibit.study): exhibit for exhibit in self._exhibits}.values():
            folder = exhibit.folder.parents[1]
            for path in (folder / "results.parquet", folder / exhibit.study / "results.parquet"):
                rows = read_results(path) if path.is_file() else tables[0]
                rows = with_parts(rows[rows["study"] == exhibit.study])
                tables += [rows.assign(dataset=exhibit.dataset, source=exhibit.source)] * (len(rows) > 0)
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
