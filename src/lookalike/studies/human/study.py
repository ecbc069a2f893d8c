"""The human study: which run of OASIS is rated, by whom, and what its exhibits ask of the ratings (JMLR 5.2.3)."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pandas as pd

from lookalike.core.settings.schema import Ratings
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.model import Drawn
from lookalike.exhibits.results import select
from lookalike.exhibits.study import Files, Study
from lookalike.studies.human.ratings import OASIS, RANDOM, RATERS


class HumanStudy(Study):
    """What raters think of the images that OASIS finds: of one data set of the category study, which asks for it."""

    room: ClassVar = "human"
    contrasted: ClassVar = ("results",)
    without_effect: ClassVar = {"ratings": {"path"}}

    jobs: ClassVar = {
        "write_questionnaire": "n_queries=ratings.queries n_retrieved=ratings.retrieved n_random=ratings.random seed",
        "collect_ratings": "seed",
    }

    ratings: Ratings
    representation: str
    """That of the category study, as are the title of the rated subset and the number of its partitions."""
    subset_title: str
    n_folds: int

    def images_files(self) -> dict[str, str | list[str]]:
        """Return the files of the category study that galleries and questionnaires are made from."""
        run = f"{self.representation}/{self.ratings.subset}/oasis/{self.ratings.fold}"
        names = {"images": "images.json", "manifest": "manifest.parquet", "ranks": f"runs/{run}/ranks.npz"}
        return {name: f"{self.folder}/{file}" for name, file in names.items()}

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        return {**self.images_files(), "results": f"{self.folder}/human/results.parquet"}

    def raters_files(self) -> list[str]:
        """Return the raters' files that are there."""
        folder = Path(self.ratings.path or f"data/ratings/{self.dataset}")
        return sorted(map(str, folder.glob("[!.]*.csv")))

    def number(self, metric: str) -> float:
        """Return one single number of `lookalike.studies.human.ratings.summary`; NaN where there is none."""
        return float(select(self.results, metric=metric)["value"].sum(min_count=1))

    def curve(self, **where: object) -> pd.DataFrame:
        """Return the mean of the first k images by ``k``, and it minus and plus its standard error."""
        rows = select(self.results, metric="p@k", **where)
        values = rows.groupby(rows["x"].astype(int).rename("k"))["value"]
        mean, error = values.mean(), values.sem()
        return pd.DataFrame({"precision": mean, "low": mean - error, "high": mean + error})

    def by_query(self) -> pd.DataFrame:
        """Return the precision of OASIS, of random images and of raters by query, with the spread of these."""
        rows = self.results.dropna(subset="query").astype({"query": int})
        rows = rows[rows["x"].isna() | (rows["x"] == rows["x"].max())]
        means = rows[rows["metric"] != "ap"].pivot_table(index="query", columns="method", values="value")
        raters = select(rows, method=RATERS).groupby("query")["value"]
        spread = {"error": raters.sem(), "lowest": raters.min(), "highest": raters.max()}
        maps = select(rows, metric="ap").groupby("query")["value"].mean()
        table: pd.DataFrame = means.reindex(columns=[OASIS, RANDOM, RATERS]).assign(map=maps, **spread)
        return table

    @property
    def simulated(self) -> bool:
        """Tell whether any of the ratings is simulated."""
        return self.has("results") and self.number("simulated") > 0

    @property
    def corner(self) -> str:
        """Return what stands in the corner of a picture: that images, raters or both are not real."""
        shows_ratings = self.exhibit is None or self.exhibit.kind != "gallery"
        raters = "simulated raters" if shows_ratings and self.simulated else ""
        return ", ".join(filter(None, (super().corner, raters))).capitalize()

    def scope_of(self, claim: Claim) -> Scope:
        """Return the one part that it has."""
        return Scope([""])

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Say which data, how many queries and raters, and what error bars are."""
        if drawn is None or not drawn.is_figure:
            return f"{self.data}{', test images' if drawn is not None else ''}."
        n_queries, n_raters = (f"{self.number(name):.0f}" for name in ("n_queries", "n_raters"))
        raters = "simulated raters" if self.simulated else "raters"
        return f"{self.data}; query images: {n_queries}, {raters}: {n_raters}; error bars: standard error."

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Say which images, and how the ratings came about."""
        where = f"Of {self.subset_title}, partition {self.ratings.fold + 1} of {self.n_folds}"
        if drawn is None or not drawn.is_figure:
            return [f"{where}: each test image queries all others."]
        answered = f"{100 * self.number('answered_share'):.1f}% of the images"
        return [
            f"{where}: each query is shown with its first images and {self.ratings.random} random ones.",
            f'Raters answered {answered}. No answer and "can\'t say" count as not good.',
        ]

    def differences(self, drawn: Drawn) -> list[str]:
        """Say which images, and who rated them."""
        images = "Images made by code" if self.synthetic else "Photographs of classes"
        by_class = "No person rated. Simulated raters call images of the query's class good, and make random errors."
        return [f"{images}. The papers show images of the web.", *[by_class] * (drawn.is_figure and self.simulated)]


STUDY = HumanStudy
