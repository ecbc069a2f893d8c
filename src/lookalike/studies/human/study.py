"""The human study: which run of OASIS is rated, by whom, and what its exhibits ask of the ratings (JMLR 5.2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.core.settings.model import plain
from lookalike.core.settings.ratings import Ratings
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.model import Drawn, Figure
from lookalike.exhibits.statuses import Status
from lookalike.exhibits.study import Files, Study
from lookalike.ranking.rankings import Rankings
from lookalike.studies.metrics import select

NIPS = "oasis-nips-2009"


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

    def shared(self) -> dict[str, Any]:
        """Return what contrasts and exhibits read of other sections: how OASIS is called."""
        return {**super().shared(), "methods": {"oasis": plain(self._shared.methods["oasis"], include={"title"})}}

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

    def numbers(self, paper: str = "") -> pd.DataFrame:
        """Return numbers of the raters of a paper, by default of the one at hand: NIPS had more of them than JMLR."""
        return self.table("nips" if (paper or self.paper) == NIPS else "metrics")

    def number(self, metric: str, paper: str = "") -> float:
        """Return one single number of `lookalike.studies.human.statistics.rating_metrics`; NaN where there is none."""
        values = select(self.numbers(paper), metric=metric)["value"]
        return float(values.iloc[0]) if len(values) else float("nan")

    def curve(self, metric: str, method: str = "oasis", paper: str = "") -> pd.DataFrame:
        """Return numbers along x: ``value``, ``low`` and ``high`` by ``x``, an int."""
        rows = select(self.numbers(paper), metric=metric, method=method)
        table: pd.DataFrame = rows.set_index(rows["x"].astype(int))[["value", "low", "high"]].sort_index()
        return table

    def printed_share(self, metric: str, paper: str = "") -> float:
        """Return a printed percentage about raters as a fraction; NaN where there is none."""
        printed = self.printed_in("text", paper or self.paper)
        values = printed.loc[printed["metric"] == metric, "value"]
        return float(values.iloc[0]) / 100 if len(values) else float("nan")

    @property
    def simulated(self) -> bool:
        """Tell whether any of the ratings is simulated."""
        return self.has("metrics") and self.number("simulated") > 0

    @property
    def n_retrieved(self) -> int:
        """How many images that OASIS finds are rated for each query."""
        return int(self.curve("p@k").index.max())

    @cached_property
    def rankings(self) -> Rankings:
        """Rankings of the fold that is shown and rated; without any query where OASIS has no result."""
        return Rankings.load(self.path("ranks"))

    @cached_property
    def images(self) -> pd.DataFrame:
        """Path from the work folder and label of each image, by image id."""
        root = Path(read_json(self.path("images"))["root"])
        if not root.is_dir():
            raise LookalikeError(f"there are no images at {root}: put them back, or make them again, then go on")
        manifest = self.table("manifest").set_index("image_id")
        return manifest.assign(file=[root / path for path in manifest["path"]])[["path", "file", "label"]]

    @property
    def shows_images(self) -> bool:
        """Tell whether the exhibit at hand shows images, not ratings."""
        return self.exhibit is not None and self.exhibit.kind == "gallery"

    @property
    def corner(self) -> str:
        """Return what stands in the corner of a picture: that images, raters or both are not real."""
        raters = "simulated raters" if self.simulated and not self.shows_images else ""
        return ", ".join(filter(None, (super().corner, raters))).capitalize()

    def scope_of(self, claim: Claim) -> Scope:
        """Return the raters of a claim's paper."""
        return Scope([claim.paper])

    def other_data(self, settings: Sequence[str] = ()) -> str:
        """Say why no number of ours may be held against the printed ones, which are of other raters and images."""
        images = "synthetic images" if self.synthetic else "other images than the paper's"
        return f"{images}, simulated raters" if self.simulated else images

    def judge(self, cell: Mapping[str, Any]) -> tuple[str, str]:
        """Return status and reason of a printed number: never a verdict."""
        if cell["ours"] != cell["ours"]:
            return Status.NO_RESULT, "too few images, queries or raters for it"
        return Status.NOT_COMPARABLE, self.other_data()

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Say which data, how many queries and raters, and what error bars are."""
        if drawn is None or self.shows_images:
            return f"{self.data}{'' if drawn is None else f', {self.rankings.n_queries:,} test images'}."
        kind = "simulated rater" if self.simulated else "rater"
        bars = "; error bars: standard error" if isinstance(drawn, Figure) else ""
        queries, raters = counted(self.number("n_queries"), "query image"), counted(self.number("n_raters"), kind)
        return f"{self.data}, {queries}, {raters}{bars}."

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Say which images, how the ratings came about, and why they may not be held against print."""
        where = f"{self.subset_title}, partition {self.ratings.fold + 1} of {self.n_folds}"
        if self.shows_images:
            queries = f"Each of the {self.rankings.n_queries:,} test images queries all others ({where})."
            return [queries, "The papers show images of the web."]
        random = counted(self.number("n_random"), "random image")
        notes = [f"Each query is shown with the first {self.n_retrieved} images of OASIS and {random} ({where})."]
        if self.simulated:
            notes.append(
                "No person rated: simulated raters call images of the query's class good, each with errors of its own."
            )
        share = self.number("answered_share")
        if share < 1:
            notes.append(
                f'Raters answered {100 * share:.1f}% of the images. No answer and "can\'t say" count as not good.'
            )
        return [*notes, f"Not comparable with the printed numbers: {self.other_data()}."]


STUDY = HumanStudy


def counted(n: float, word: str) -> str:
    """Return ``1 rater``, ``20 raters``."""
    return f"{int(n)} {word}" if n == 1 else f"{int(n)} {word}s"
