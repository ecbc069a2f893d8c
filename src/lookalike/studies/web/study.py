"""The web study: what its settings ask for, and what its exhibits ask of its numbers.

Its data are simulated, so that no number of ours gets a verdict (JMLR 5.2).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import WEB_KINDS, Simulation
from lookalike.core.settings.model import ABSENT, Absent, only
from lookalike.core.settings.sentences import refer_kind
from lookalike.exhibits.printed import plus_minus
from lookalike.exhibits.registry import Exhibit
from lookalike.exhibits.study import Files, Study
from lookalike.studies.batches import Batch, batch_of_fits
from lookalike.studies.metrics import select
from lookalike.studies.web.numbers import TEST
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
PARTS = {"train": "training", "test": "test"}
"""Part of the collection to its printed name, in the order of the papers' table."""
WHY_NOT_COMPARABLE = "simulated"


class WebStudy(Study):
    """The web-scale study (OASIS, JMLR section 5.2) on one data set."""

    room: ClassVar = "web"
    contrasted: ClassVar = ("metrics", "runtime")
    data_keys: ClassVar = {*Study.data_keys, "simulation"}
    without_effect: ClassVar = {"batch": True, "training": {"threads", "checkpoint_seconds"}}

    batch: Literal["method", "subset"] = "method"
    """`method`: a job for every ranker and every size of `runtime`; `subset`: one for all rankers and one for all
    sizes."""
    training: LogTraining = LogTraining()
    validation: HeldOutLog = HeldOutLog()
    test: LogTest = LogTest()
    runtime: Absent[Runtime] = ABSENT

    def check(self) -> None:
        """Refuse settings that cannot work together, or a log that cannot be simulated."""
        training, place = self.training, f"web.{self.dataset}"
        refer_kind(place, self.data_set.kind, WEB_KINDS, "a query log")
        # imported here because it loads the kernels that draw the log
        from lookalike.data.web_simulation import WebSimulation

        try:
            WebSimulation(**dict(self.simulation), seed=self.drawing_seed)
        except LookalikeError as error:
            raise LookalikeError(f"config: datasets.{self.dataset}.simulation: {error}") from error
        if training.interval % training.block:
            raise LookalikeError(
                f"config: {place}.training.interval, {training.interval}, must be a multiple of training.block, "
                f"{training.block}"
            )
        if training.relevance == "co_clicks" and (training.theta or training.share is None):
            raise LookalikeError(
                f"config: {place}.training: co_clicks are cut by `share`, such as 0.01, and not by theta: set it"
            )
        if training.relevance == "joint" and training.share is not None:
            raise LookalikeError(
                f"config: {place}.training.share goes with co_clicks only: cut the joint relevance by theta"
            )

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study without times over sizes, unless they are shown."""
        return self.anew(runtime=self.runtime if "runtime" in roles else None)

    def reads(self, job: str, fitted: Sequence[str] = (), **names: str) -> Mapping[str, Any]:
        """Return what a job of a rule reads of the settings; which other fits and sizes there are it does not."""
        simulation, words, seed = self.simulation, self.words, self.seed
        match job:
            case "simulate_log":
                return {"simulation": simulation, "seed": self.drawing_seed}
            case "simulate_visterms":
                return {"simulation": simulation, "n_shards": self.data_set.shards, "seed": self.drawing_seed}
            case "measure_marginals":
                return {"words": words, "seed": seed}
            case "prepare_training":
                return {"words": words, "held_out": self.validation, "theta": self.training.theta, "seed": seed}
            case "train_on_log":
                rankers = [names["ranker"]] if "ranker" in names else self.rankers
                every = self.training.checkpoint_seconds
                return {"rankers": rankers, "learning": self.learning, "checkpoint_seconds": every, "seed": seed}
            case "average_web_rankers":
                return {"learning": self.learning}
            case "score_web_retrieval":
                return {"words": words, "test": self.test, "seed": seed}
            case "time_size" if self.runtime is not None:
                lmnn: dict[str, Any] = {"lmnn": only(LmnnTimes, self.runtime)}
                oasis = {"oasis": only(OasisTimes, self.runtime), "held_out": self.validation, "simulation": simulation}
                return {"seed": seed, **({"lmnn": lmnn, "oasis": oasis}.get(names.get("learner", "")) or lmnn | oasis)}
        return super().reads(job, fitted, **names)

    @property
    def simulation(self) -> Simulation:
        """Return what the simulated data set is like; its title and its shards change no byte of it."""
        return self.data_set.simulation

    @property
    def words(self) -> int:
        """Visterms of the data set."""
        return self.simulation.words

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

    def visterm_folders(self) -> list[str]:
        """Return the folders of the data set's visterms."""
        return [f"{self.folder}/visterms/shard-{shard:03d}" for shard in range(self.data_set.shards)]

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        names = {"metrics": "metrics", "fits": "timing", "runtime": "runtime"}
        tables = {name: f"{self.folder}/web/{file}.parquet" for name, file in names.items()}
        return {**tables, **super().planned_files()}

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

    @cached_property
    def counts(self) -> dict[tuple[str, str], float]:
        """(part, quantity) to what was counted, such as ``("train", "images")``."""
        if not self.has("metrics"):
            return {}
        metrics = self.table("metrics")
        counted = metrics[metrics["x"].isna() & metrics["subset"].isin(list(PARTS)) & (metrics["method"] == "")]
        keys = zip(counted["subset"], counted["metric"], counted["value"], strict=True)
        return {(str(part), str(quantity)): float(value) for part, quantity, value in keys}

    def precision(self, metric: str, methods: Sequence[str] = ()) -> pd.DataFrame:
        """Return precision at k, its errors and ends in percent, by ``series`` and ``k``."""
        rows = select(self.table("metrics"), metric=metric, subset=TEST, method=list(methods or self.methods))
        rows = rows.rename(columns={"method": "series", "x": "k", "value": "precision"}).astype({"k": int})
        rows[["precision", "low", "high"]] = 100 * rows[["precision", "low", "high"]]
        counts = {quantity: self.size_of(quantity) for quantity in ("n_queries", "n_gallery")}
        rows = rows.assign(standard_error=rows["high"] - rows["precision"], **counts)
        return rows[["series", "k", "precision", "standard_error", "low", "high", *counts]]

    def precision_at(self, method: str, k: int, metric: str = "p@k") -> tuple[float, float]:
        """Return precision at k and its standard error, in percent; NaN twice where there is none."""
        rows = self.precision(metric, [method]).loc[lambda found: found["k"] == k]
        return (math.nan, math.nan) if rows.empty else (rows["precision"].iloc[0], rows["standard_error"].iloc[0])

    def size_of(self, quantity: str) -> int:
        """Return ``n_queries`` that were scored, or ``n_gallery``."""
        rows = select(self.table("metrics"), metric=quantity, subset=TEST)
        return int(rows["value"].max()) if len(rows) else 0

    @property
    def processors(self) -> str:
        """Which processors learned; "" where that is not known."""
        return " and ".join(sorted(set(self.table("fits")["processor"].dropna()))) if self.has("fits") else ""

    @property
    def size(self) -> str:
        """Images of both parts."""
        images = [self.counts.get((part, "images"), 0) for part in PARTS]
        return f"{sum(images):,.0f} simulated images" if all(images) else ""

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Return precision at 1 and 10 of every method, and how fast OASIS learned."""
        rows = {method: [plus_minus(*self.precision_at(method, k), ".1f") for k in (1, 10)] for method in self.methods}
        speed = self.table("fits")["steps_per_second"].mean()
        sentence = (
            f"P@1 is how often the first image is relevant, over {self.size_of('n_queries'):,} test images; ± standard "
            f"error over them. OASIS learned at {speed:,.0f} steps a second on 1 thread."
        )
        about = "retrieval learned from a query log (JMLR 2010, Figure 3A)"
        return about, ["P@1 (%)", "P@10 (%)"], rows, [sentence]

    def data_sentence(self, drawn: Any) -> str:
        """Say which data, and how many."""
        counts = {name: self.counts.get((part, "images")) for part, name in PARTS.items()}
        images = [f"{n_images:,.0f} {name} images" for name, n_images in counts.items() if n_images is not None]
        size = f": {' and '.join(images)} of {self.words:,} visterms" if images else ""
        return f"Data: {self.title} (query log and images made by code){size}."

    def notes(self, drawn: Any) -> list[str]:
        """Say why no printed number has a verdict, where there is one."""
        cells = drawn.frame if "is_printed" in getattr(drawn, "frame", ()) else getattr(drawn, "cells", None)
        is_printed = cells is not None and bool(cells["is_printed"].any())
        return [f"Not comparable with the printed numbers: {WHY_NOT_COMPARABLE}."] if is_printed else []


STUDY = WebStudy
