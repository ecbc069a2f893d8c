"""What lies in ``results/``, for the report and the notebooks: data sets, exhibits and claims, read on demand.

Exhibits are found by their sidecars (`lookalike.exhibits.sidecar`), so that whatever a study has made shows up and
nothing that it has not is missed. Other folders of ``results/`` are passed over. Which exhibits there could be, and
their order, is in `lookalike.report.papers`.

A notebook starts with ``Results.find()``; every exhibit displays itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError
from lookalike.report.exhibit import NOT_RUN, STATES, Exhibit, read_csv, read_exhibit, read_text, state_of
from lookalike.report.papers import GROUPS, PAPERS, Paper, Planned, place_of, planned_exhibits

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GROUPS", "PAPERS", "STATES", "Dataset", "Exhibit", "Paper", "Planned", "Results", "state_of"]

ENVIRONMENT = "LOOKALIKE_RESULTS"
"""Environment variable that names the folder of results."""
STUDIES = {"category": "", "landmark": "landmark_", "web": "web_", "finegrained": "triplet_"}
"""Study to how the names of the modules begin that draw its exhibits, in the order in which data sets are listed."""

CLAIM_COLUMNS = ("id", "paper", "place", "claim", "verdict", "evidence", "rule", "decided_by")
"""Columns of a study's claims.csv."""

PAPER_OF_GROUP = {"landmark": "soml-aaai-2014", "finegrained": "deep-ranking-cvpr-2014"}
"""Group of our own whose claims are those of one paper, to it."""


@dataclass(frozen=True)
class Dataset:
    """What there is of one data set."""

    id: str
    title: str
    synthetic: bool
    """Whether its images are made by code."""
    headline: str
    """Its main numbers in a few lines; "" where the study has written none."""
    not_run: str | None
    """What to do to run it, where no exhibit of it was run."""
    study: str
    """Which of `STUDIES` its exhibits are of; "" where none tells."""
    exhibits: tuple[Exhibit, ...] = field(repr=False)
    """In the papers' order."""

    def exhibit(self, paper: str, name: str) -> Exhibit:
        """Return one exhibit.

        Raises
        ------
        LookalikeError
            When there is none of this name, with those that there are.
        """
        for exhibit in self.exhibits:
            if (exhibit.paper, exhibit.name) == (paper, name):
                return exhibit
        known = ", ".join(exhibit.key for exhibit in self.exhibits)
        raise LookalikeError(f"{self.id} has no exhibit {paper}/{name}: choose one of {known}")

    def _repr_html_(self) -> str:
        from lookalike.report.rich import dataset_html

        return dataset_html(self)


class Results:
    """What a folder of results holds.

    Parameters
    ----------
    folder : path-like
        ``results``, as the workflow makes it. It is read when something is first asked of it, and once.

    Raises
    ------
    LookalikeError
        When there is no such folder. An empty one is fine and has no data sets.

    Examples
    --------
    >>> results = Results.find()  # doctest: +SKIP
    >>> results.exhibit("demo", "oasis-jmlr-2010", "table4")  # doctest: +SKIP
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise LookalikeError(f"there is no folder of results at {self.folder}: run `make demo` first, then read it")

    @classmethod
    def find(cls) -> Results:
        """Return the results of the environment variable `ENVIRONMENT`, else of ``results`` or ``../results``.

        Raises
        ------
        LookalikeError
            When no such folder has an exhibit, or the variable names none that has.
        """
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
        by_dataset: dict[str, list[Exhibit]] = {}
        for path in _sidecars(self.folder):
            by_dataset.setdefault(path.parents[2].name, []).append(read_exhibit(path))
        found = [_dataset(self.folder / name, exhibits) for name, exhibits in by_dataset.items()]
        studies = [*STUDIES, ""]
        return sorted(found, key=lambda dataset: (studies.index(dataset.study), dataset.synthetic, dataset.id))

    def __getitem__(self, dataset: str) -> Dataset:
        """Return a data set by its id; `LookalikeError` with those that there are where it is none of them."""
        for one in self.datasets:
            if one.id == dataset:
                return one
        known = ", ".join(one.id for one in self.datasets)
        there = f"choose one of {known}" if known else "there is none; run `make demo` first"
        raise LookalikeError(f"{self.folder} has no exhibits of a data set {dataset!r}: {there}")

    def exhibits(self, paper: str | None = None, dataset: str | None = None) -> list[Exhibit]:
        """Exhibits in the order of `lookalike.report.papers.ORDER`, one of several data sets in their order.

        Parameters
        ----------
        paper : str, optional
            Only those of one paper, or of one group of our own.
        dataset : str, optional
            Only those of one data set.

        Returns
        -------
        list of Exhibit
            Empty where there is none.
        """
        every = [exhibit for one in self.datasets if dataset in (None, one.id) for exhibit in one.exhibits]
        # sorting is stable: data sets keep their order within an exhibit
        return sorted(
            (exhibit for exhibit in every if paper in (None, exhibit.paper)),
            key=lambda exhibit: place_of(exhibit.paper, exhibit.name),
        )

    def exhibit(self, dataset: str, paper: str, name: str) -> Exhibit:
        """Return one exhibit.

        Raises
        ------
        LookalikeError
            When there is none of this name, with those that there are.
        """
        return self[dataset].exhibit(paper, name)

    def claims(self) -> pd.DataFrame:
        """Read the verdicts on the papers' claims, of all data sets.

        Returns
        -------
        DataFrame
            Column ``dataset``, then those of `lookalike.exhibits.claims.COLUMNS`, then what single studies add (such as
            ``representation``, or ``printed_verdict`` by the printed numbers), all str ("" where empty). No row
            where no study has decided any.

        Raises
        ------
        LookalikeError
            When a table of claims cannot be read.
        """
        import pandas as pd

        tables = [_claims_of(exhibit) for exhibit in self.exhibits() if exhibit.name == "claims" and exhibit.has_table]
        # the empty table gives the first columns their order
        first = pd.DataFrame(columns=["dataset", *CLAIM_COLUMNS], dtype=str)
        return pd.concat([first, *tables], ignore_index=True).fillna("").astype(str)

    def planned(self) -> list[Planned]:
        """Every exhibit that any study can make, whether it is here or not, in order."""
        return planned_exhibits()

    def missing(self) -> list[Planned]:
        """Those of them that no data set has here."""
        here = {(exhibit.paper, exhibit.name) for one in self.datasets for exhibit in one.exhibits}
        return [one for one in self.planned() if (one.paper, one.name) not in here]

    def states(self) -> dict[str, int]:
        """How many exhibits have each of `STATES`; one that is missing everywhere counts as not run."""
        counts = dict.fromkeys(STATES, 0)
        for exhibit in self.exhibits():
            counts[exhibit.state] += 1
        counts[NOT_RUN] += len(self.missing())
        return counts

    def _repr_html_(self) -> str:
        from lookalike.report.rich import results_html

        return results_html(self)


def _sidecars(folder: Path) -> Iterable[Path]:
    """Every ``{dataset}/exhibits/{paper}/{name}.json``; what a killed job left behind starts with a dot."""
    return (path for path in sorted(folder.glob("*/exhibits/*/*.json")) if not path.name.startswith("."))


def _claims_of(exhibit: Exhibit) -> pd.DataFrame:
    """Read a table of claims; where it is about one paper alone, that is told in each row too."""
    needed = [column for column in CLAIM_COLUMNS if column != "paper"]
    table = read_csv(exhibit.folder / "claims.csv", needed=needed, dtype=str, keep_default_na=False)
    columns = {} if "paper" in table else {"paper": PAPER_OF_GROUP.get(exhibit.paper, "")}
    return table.assign(dataset=exhibit.dataset, **columns)


def _study_by_module(drawn_by: str) -> str:
    """Study that a module draws for; "" for none."""
    module = drawn_by.rpartition(".")[2]
    # every name begins with the empty beginning of the first study's, which therefore comes last
    return (
        next((study for study, begins in reversed(STUDIES.items()) if module.startswith(begins)), "") if module else ""
    )


def _dataset(folder: Path, exhibits: list[Exhibit]) -> Dataset:
    """Sum up the exhibits of one data set."""
    exhibits = sorted(exhibits, key=lambda exhibit: place_of(exhibit.paper, exhibit.name))
    # a broken sidecar tells neither title nor kind of images
    telling = next((exhibit for exhibit in exhibits if exhibit.problem is None), exhibits[0])
    headline = folder / "exhibits" / "headline.txt"
    lines = read_text(headline).splitlines() if headline.is_file() else []
    return Dataset(
        id=folder.name,
        title=telling.dataset_title,
        synthetic=telling.synthetic,
        # its last line names the index of exhibits, for a terminal
        headline="\n".join(line for line in lines if not line.startswith("Exhibits: ")).strip("\n"),
        not_run=telling.not_run if all(exhibit.not_run for exhibit in exhibits) else None,
        study=_study_by_module(telling.drawn_by),
        exhibits=tuple(exhibits),
    )
