"""One paper for the reader of a notebook: its exhibits, claims and metrics, or how to make those that are missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.registry import PAPERS
from lookalike.report import SNAKEMAKE
from lookalike.report.display import exhibit_html, source_of
from lookalike.report.results import Dataset, Exhibit, Results

METRIC_COLUMNS = ("dataset", "study", "representation", "subset", "fold", "method", "metric", "x", "value")


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
    >>> shown = paper.show("table1")
    """

    def __init__(self, paper: str, results: Results | None = None) -> None:
        if paper not in PAPERS:
            raise LookalikeError(f"there is no paper {paper!r}; there are: {', '.join(PAPERS)}")
        self.paper = paper
        self.results, self.why_none = results, ""
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
    def datasets(self) -> list[Dataset]:
        """The data sets that have exhibits of this paper, in the order of `Results.datasets`."""
        own = {exhibit.dataset for exhibit in self._exhibits}
        return [dataset for dataset in self.results.datasets if dataset.id in own] if self.results else []

    @property
    def _exhibits(self) -> list[Exhibit]:
        return self.results.exhibits(self.paper) if self.results else []

    def exhibits(self, name: str) -> list[Exhibit]:
        """One exhibit, once for every data set that has it."""
        return [exhibit for exhibit in self._exhibits if exhibit.name == name]

    def titles(self) -> dict[str, str]:
        """Name and heading of every exhibit of this paper that any data set has, in their order."""
        return {exhibit.name: exhibit.heading for exhibit in self._exhibits}

    def overview(self) -> Shown:
        """Every exhibit of the paper with its state in every data set that has it."""
        citation = PAPERS[self.paper].citation
        rows = [
            (
                heading,
                "; ".join(f"{source_of(one.dataset_title, one.synthetic)}: {one.state}" for one in self.exhibits(name)),
            )
            for name, heading in self.titles().items()
        ]
        sources = ", ".join(source_of(dataset.title, dataset.synthetic) for dataset in self.datasets)
        note = self.why_none or f"Results: {sources or 'none yet'}."
        return Shown(
            f"<p><b>{escape(citation)}</b><br>{escape(note)}</p>{_table(('exhibit', 'state'), rows)}",
            "\n".join([citation, note, *(f"{heading}: {states}" for heading, states in rows)]),
        )

    def show(self, name: str) -> Shown:
        """One exhibit, such as ``"table4"``, as every data set has it, real ones first; or how to get it."""
        found = self.exhibits(name)
        if not found:
            there = ", ".join(self.titles())
            return self._missing(f"{name} is not among the results" + (f" (there are: {there})" if there else ""))
        return Shown(
            "<hr>".join(exhibit_html(exhibit) for exhibit in found),
            "\n\n".join(
                f"{exhibit.heading}, {source_of(exhibit.dataset_title, exhibit.synthetic)}: {' '.join(exhibit.caption)}"
                for exhibit in found
            ),
        )

    def claims(self) -> Shown:
        """The claims of the paper, each with the verdict of every data set that it was put to, and what decided it."""
        every = self.results.claims() if self.results else pd.DataFrame(columns=["paper"])
        frame = every[every["paper"] == self.paper]
        if frame.empty:
            return self._missing("No verdict on a claim of this paper is among the results")
        counts = ", ".join(f"{len(rows)} {verdict}" for verdict, rows in frame.groupby("verdict", sort=False))
        titles = {dataset.id: source_of(dataset.title, dataset.synthetic) for dataset in self.datasets}
        rows = []
        for one in frame.to_dict("records"):
            parts = (titles.get(one["dataset"], one["dataset"]), one["setting"])
            by = f"{', '.join(filter(None, parts))}: {one['evidence']}"
            sign = f"{one['verdict'].badge.sign} {one['verdict']}{one['in_this_run']}"
            rows.append((sign, f"{one['claim']} ({one['place']})", by))
        return Shown(
            f"<p>Verdicts: {escape(counts)}.</p>{_table(('verdict', 'claim', 'by'), rows)}",
            "\n".join([f"Verdicts: {counts}.", *(f"{verdict}: {claim}" for verdict, claim, _ in rows)]),
        )

    def metrics(self) -> pd.DataFrame:
        """The tidy metrics of all data sets that have exhibits of this paper, with ``source``, the name of each."""
        tables = []
        for dataset in self.datasets:
            source = source_of(dataset.title, dataset.synthetic)
            for study in dict.fromkeys(one.study for one in dataset.exhibits if one.paper == self.paper):
                path = dataset.exhibits[0].folder.parents[1] / study / "metrics.parquet"
                if path.is_file():
                    tables.append(pd.read_parquet(path).assign(dataset=dataset.id, study=study, source=source))
        tables = [table for table in tables if len(table)]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=[*METRIC_COLUMNS, "source"])

    def _missing(self, what: str) -> Shown:
        """A sentence in place of what is not there, with the commands that make it."""
        page = PAPERS[self.paper].page
        how = self.why_none or (
            "the command make demo makes what synthetic data can show, and "
            f"{SNAKEMAKE} {page} what the paper's own data can, once they are in place or fetched"
        )
        sentence = f"{what}: {how}."
        return Shown(f"<p><i>{escape(sentence)}</i></p>", sentence)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """An HTML table of text, its cells aligned to the left."""

    def line(cells: Iterable[str], tag: str) -> str:
        return "".join(f'<{tag} style="text-align:left;vertical-align:top">{escape(cell)}</{tag}>' for cell in cells)

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{line(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
