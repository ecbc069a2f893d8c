"""The human study: which run of OASIS is rated, by whom, and what its exhibits ask of the ratings (JMLR 5.2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from lookalike.core.settings.ratings import Ratings
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.model import Drawn, Figure
from lookalike.exhibits.study import Files, Study
from lookalike.studies.metrics import select

JMLR, DRAFT, NIPS = PAPERS = "oasis-jmlr-2010", "oasis-2009-draft", "oasis-nips-2009"
"""Papers with raters: JMLR and its draft have the same ones, and NIPS had more."""


class HumanStudy(Study):
    """What raters think of the images that OASIS finds: of one data set of the category study, which asks for it."""

    room: ClassVar = "human"
    contrasted: ClassVar = ("metrics", "nips")
    without_effect: ClassVar = {"ratings": {"path"}}

    ratings: Ratings
    representation: str
    """That of the category study, as are the title of the rated subset and the number of its partitions."""
    subset_title: str
    n_folds: int

    def reads(self, job: str, fitted: Sequence[str] = (), **names: str) -> Mapping[str, Any]:
        """Return what a job of a rule reads of the settings."""
        match job:
            case "write_questionnaire":
                sizes = {f"n_{name}": getattr(self.ratings, name) for name in ("queries", "retrieved", "random")}
                return {"sizes": sizes, "raters": str(self.raters_folder), "seed": self.seed}
            case "collect_ratings":
                return {"run": self.rated_run, "seed": self.seed}
        return super().reads(job, fitted, **names)

    @property
    def rated_run(self) -> dict[str, str | int]:
        """Run of OASIS whose retrieved images are shown and rated."""
        return {"representation": self.representation, "subset": self.ratings.subset, "fold": self.ratings.fold}

    def images_files(self) -> dict[str, str | list[str]]:
        """Return the files of the category study that galleries and questionnaires are made from."""
        run = "{representation}/{subset}/oasis/{fold}".format(**self.rated_run)
        names = {"images": "images.json", "manifest": "manifest.parquet", "ranks": f"runs/{run}/ranks.npz"}
        return {name: f"{self.folder}/{file}" for name, file in names.items()}

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        numbers = {name: f"{self.folder}/human/{name}.parquet" for name in self.contrasted}
        return {**self.images_files(), **numbers, **super().planned_files()}

    @property
    def raters_folder(self) -> Path:
        """Where raters' files are put."""
        return Path(self.ratings.path or f"data/ratings/{self.dataset}")

    def raters_files(self) -> list[str]:
        """Return the raters' files that are there."""
        return sorted(map(str, self.raters_folder.glob("[!.]*.csv")))

    def rows(self, paper: str = "", **values: str) -> pd.DataFrame:
        """Return numbers of the raters of a paper, by default of the one at hand."""
        return select(self.table("nips" if (paper or self.paper) == NIPS else "metrics"), **values)

    def number(self, metric: str) -> float:
        """Return one single number of `lookalike.studies.human.statistics.summary`; NaN where there is none."""
        return float(self.rows(metric=metric)["value"].sum(min_count=1))

    def curve(self, metric: str, method: str = "oasis", paper: str = "") -> pd.DataFrame:
        """Return numbers along x: ``precision`` (the value), ``low`` and ``high`` by ``x``, an int."""
        rows = self.rows(paper, metric=metric, method=method).rename(columns={"value": "precision"})
        table: pd.DataFrame = rows.set_index(rows["x"].astype(int))[["precision", "low", "high"]].sort_index()
        return table

    @property
    def simulated(self) -> bool:
        """Tell whether any of the ratings is simulated."""
        return self.has("metrics") and self.number("simulated") > 0

    @property
    def raters(self) -> str:
        """Return ``simulated raters`` for an exhibit whose ratings are simulated; "" for others, and for galleries."""
        is_gallery = self.exhibit is not None and self.exhibit.kind == "gallery"
        return "simulated raters" if self.simulated and not is_gallery else ""

    @property
    def corner(self) -> str:
        """Return what stands in the corner of a picture: that images, raters or both are not real."""
        return ", ".join(filter(None, (super().corner, self.raters))).capitalize()

    def scope_of(self, claim: Claim) -> Scope:
        """Return the raters of a claim's paper."""
        return Scope([claim.paper])

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Say which data, how many queries and raters, and what error bars are."""
        if not isinstance(drawn, Figure):
            return f"{self.data}{', test images' if drawn is not None else ''}."
        n_queries, n_raters = (f"{self.number(name):.0f}" for name in ("n_queries", "n_raters"))
        raters = f"{self.raters or 'raters'}: {n_raters}"
        return f"{self.data}; query images: {n_queries}, {raters}; error bars: standard error."

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Say which images, and how the ratings came about."""
        where = f"Of {self.subset_title}, partition {self.ratings.fold + 1} of {self.n_folds}"
        if not isinstance(drawn, Figure):
            return [f"{where}: each test image queries all others. The papers show images of the web."]
        answered = f"{100 * self.number('answered_share'):.1f}% of the images"
        by_class = "No person rated: simulated raters call images of the query's class good, with errors of their own."
        return [
            f"{where}: each query is shown with its first images and {self.number('n_random'):.0f} random ones.",
            f'Raters answered {answered}. No answer and "can\'t say" count as not good.',
            *([by_class] if self.simulated else []),
        ]


STUDY = HumanStudy
