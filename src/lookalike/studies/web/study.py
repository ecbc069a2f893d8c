"""The web study: its section of the settings, and what its rules, jobs and exhibits ask of it (JMLR 5.2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import WEB_KINDS, SimulatedWeb, Simulation
from lookalike.core.settings.model import Absent, only, refer_kind
from lookalike.exhibits.model import Drawn
from lookalike.exhibits.registry import Exhibit
from lookalike.exhibits.results import select
from lookalike.exhibits.study import Study
from lookalike.studies.batches import Batch, batch_of_fits
from lookalike.studies.web.results import PRECISION, STANDARD_ERROR
from lookalike.studies.web.settings import (
    HeldOutLog,
    LmnnTimes,
    LogLearning,
    LogTest,
    LogTraining,
    OasisTimes,
    Runtime,
)

RANKER_FILES = ("W.npy", "fit.json", "curve.parquet")
"""What training a ranker writes into ``rankers/{ranker}``."""
PARTS = {"train": "Training", "test": "Test"}
"""Parts of the collection, in the order of the papers' table."""
COUNTS = {
    "queries": "Number of Queries",
    "images": "Number of Images",
    "nonzeros_per_image": "Non-zeros per image",
    "relevant_per_image": "Relevant images per image",
}
"""What is counted of a part; the papers' table has the first two, and their text says the last two of all images."""


class WebStudy(Study):
    """The web-scale study (OASIS, JMLR section 5.2) on one data set."""

    room: ClassVar = "web"
    tables: ClassVar = ("results", "times")
    data_keys: ClassVar = {*Study.data_keys, "simulation"}
    without_effect: ClassVar = {"batch": True, "training": {"threads", "checkpoint_seconds"}}

    jobs: ClassVar = {
        "simulate_web": "simulation painting_seed",
        "train_on_log": "held_out=validation learning checkpoint_seconds=training.checkpoint_seconds seed",
        "score_web_retrieval": "held_out=validation test learning seed",
        "time_size": "learners=timed_learners seed",
    }

    batch: Literal["method", "subset"] = "method"
    """`method`: a job for every ranker and every size of `runtime`; `subset`: one for all rankers and one for all
    sizes."""
    training: LogTraining = LogTraining()
    validation: HeldOutLog = HeldOutLog()
    test: LogTest = LogTest()
    runtime: Absent[Runtime] = None

    def check(self) -> None:
        """Refuse settings that cannot work together, or a log that cannot be simulated."""
        training, place = self.training, f"web.{self.dataset}"
        refer_kind(place, self.data_set.kind, WEB_KINDS, "a query log")
        if training.interval % training.block:
            raise LookalikeError(
                f"config: {place}.training.interval, {training.interval}, must be a multiple of training.block, "
                f"{training.block}"
            )
        is_cut = training.share is not None
        if is_cut != (training.relevance == "co_clicks") or (is_cut and training.theta):
            raise LookalikeError(
                f"config: {place}.training: set `share`, such as 0.01, for co_clicks only, and `theta` for joint"
            )

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study without times over sizes, unless they are shown."""
        return self.with_settings(runtime=self.runtime if "runtime" in roles else None)

    def timed_learners(self, fitted: Sequence[str], learner: str = "", **names: str) -> Mapping[str, Any]:
        """Return what decides the times of a learner, or of both, over the size of what they learn from."""
        if self.runtime is None:
            return {}
        oasis = {"timing": only(OasisTimes, self.runtime), "held_out": self.validation, "simulation": self.simulation}
        learners = {"oasis": oasis, "lmnn": {"timing": only(LmnnTimes, self.runtime)}}
        return {learner: learners[learner]} if learner else learners

    @property
    def simulation(self) -> Simulation:
        """Return what the simulated data set is like; its title and its shards change no byte of it."""
        return self.data_set.simulation if isinstance(self.data_set, SimulatedWeb) else Simulation()

    @property
    def learning(self) -> LogLearning:
        """Return what decides a ranker; threads, checkpoints and the number of rankers do not."""
        return only(LogLearning, self.training)

    @property
    def rankers(self) -> list[str]:
        """Names of the rankers that are averaged."""
        return [str(ranker) for ranker in range(self.training.rankers)]

    def of_rankers(self, file: str) -> list[str]:
        """Return one file of every ranker that is averaged."""
        return [f"{self.folder}/rankers/{ranker}/{file}" for ranker in self.rankers]

    def ranker_batch(self) -> Batch:
        """Return the jobs that train a ranker each, or the one job for all of them."""
        files = [f"rankers/{{}}/{file}" for file in RANKER_FILES]
        return batch_of_fits(self.dataset, self.batch, "train_on_log", "{ranker}", self.rankers, files)

    @property
    def timed(self) -> list[str]:
        """Learner and size of every fit of the runtime study, as its file is called."""
        sizes = {} if self.runtime is None else {"oasis": self.runtime.images, "lmnn": self.runtime.lmnn}
        return [f"{learner}-{size}" for learner, own in sizes.items() for size in own]

    def timed_runs(self) -> list[str]:
        """Return the file of every fit of the runtime study, a row each."""
        return [f"{self.folder}/runtime/{fit}.parquet" for fit in self.timed]

    def runtime_batch(self) -> Batch:
        """Return the jobs that time one learner at one size each, or the one job for all of them."""
        files = ["runtime/{}.parquet"]
        return batch_of_fits(self.dataset, self.batch, "time_size", "{learner}-{size}", self.timed, files)

    @property
    def method_titles(self) -> dict[str, str]:
        """Title of what retrieves, by id."""
        n_rankers = len(self.rankers)
        averaged = {"oasis-averaged": f"OASIS, {n_rankers} models averaged"} if n_rankers > 1 else {}
        return {"oasis": "OASIS", **averaged, "euclidean": "Euclidean"}

    @property
    def methods(self) -> list[str]:
        """Methods that are compared, in order."""
        return list(self.method_titles)

    @property
    def corner(self) -> str:
        """Return what stands in the corner of every picture."""
        return "Simulated data"

    def titles_of(self, column: str) -> Mapping[str, str]:
        """Return the values of a column of results with their titles, in the order of tables."""
        return {"part": PARTS, "metric": COUNTS}.get(column, self.method_titles)

    def printed_results(self) -> pd.DataFrame:
        """Return the papers' counts of each part, and those that they print of all images for both parts."""
        table = self.printed_in()
        text = select(self.printed_in("text"), metric=list(COUNTS))
        of_parts = [text.assign(part=part) for part in PARTS]
        printed_parts = {"training": "train", "test": "test"}
        return pd.concat([table.assign(part=table["setting"].map(printed_parts)), *of_parts], ignore_index=True)

    @cached_property
    def counts(self) -> dict[tuple[str, str], float]:
        """(part, metric) to what was counted, such as ``("train", "images")``."""
        if not self.has("results"):
            return {}
        counted = self.results.dropna(subset="part")
        keys = zip(counted["part"], counted["metric"], counted["value"], strict=True)
        return {(str(part), str(metric)): float(value) for part, metric, value in keys}

    def precision(self) -> pd.DataFrame:
        """Return precision at k with its standard error in percent: a row of every method and k."""
        curves = select(self.results, metric=[PRECISION, STANDARD_ERROR], method=self.methods)
        table = (100 * curves.pivot(index=["method", "x"], columns="metric", values="value")).reset_index()
        names = {"x": "k", PRECISION: "precision", STANDARD_ERROR: "standard_error"}
        order = {method: place for place, method in enumerate(self.methods)}
        return table.rename(columns=names).sort_values("method", key=lambda methods: methods.map(order), kind="stable")

    def size_of(self, metric: str) -> int:
        """Return how many images queried, or were queried."""
        rows = select(self.results, metric=metric)
        return int(rows["value"].max()) if len(rows) else 0

    @property
    def size(self) -> str:
        """Images of both parts."""
        images = [self.counts.get((part, "images"), 0) for part in PARTS]
        return f"{sum(images):,.0f} simulated images" if all(images) else ""

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Say which data, and how many."""
        counts = {title.lower(): self.counts.get((part, "images")) for part, title in PARTS.items()}
        images = [f"{n_images:,.0f} {part} images" for part, n_images in counts.items() if n_images is not None]
        size = f": {' and '.join(images)} of {self.simulation.words:,} visterms" if images else ""
        return f"Data: {self.title} (query log and images made by code){size}."

    def differences(self, drawn: Drawn) -> list[str]:
        """Say that the data is simulated."""
        return ["The query log and the images are simulated. The paper's are those of a search engine."]


STUDY = WebStudy
