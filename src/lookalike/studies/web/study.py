"""What the exhibits of the web study ask; its data are simulated, so no number of ours gets a verdict (JMLR 5.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from lookalike.exhibits.printed import plus_minus
from lookalike.exhibits.statuses import Status
from lookalike.exhibits.study import Study
from lookalike.studies.metrics import rows_in, select
from lookalike.studies.web.numbers import TEST

PARTS = {"train": "training", "test": "test"}
"""Part of the collection to its printed name, in the order of the papers' table."""
WHY_NOT_COMPARABLE = "simulated"


class WebStudy(Study):
    """The web study of one data set; its settings are those of ``plan.exhibit_settings``."""

    @property
    def methods(self) -> list[str]:
        """Methods that are compared, in order."""
        return list(self.settings["titles"])

    @property
    def corner(self) -> str:
        """What stands in the corner of every picture."""
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
        """Precision at k in percent: ``series, k, precision, standard_error, low, high, n_queries, n_gallery``."""
        rows = select(self.table("metrics"), metric=metric, subset=TEST, method=list(methods or self.methods))
        percent = 100 * rows[["value", "low", "high"]]
        return rows.assign(
            series=rows["method"], k=rows["x"].astype(int), precision=percent["value"], low=percent["low"],
            high=percent["high"], standard_error=percent["high"] - percent["value"],
            n_queries=self.size_of("n_queries"), n_gallery=self.size_of("n_gallery"),
        )[["series", "k", "precision", "standard_error", "low", "high", "n_queries", "n_gallery"]]  # fmt: skip

    def precision_at(self, method: str, k: int, metric: str = "p@k") -> tuple[float, float]:
        """Precision at k and its standard error, in percent; NaN twice where there is none."""
        rows = self.precision(metric, [method]).loc[lambda found: found["k"] == k]
        return (math.nan, math.nan) if rows.empty else (rows["precision"].iloc[0], rows["standard_error"].iloc[0])

    def size_of(self, quantity: str) -> int:
        """``n_queries`` that were scored, or ``n_gallery``."""
        rows = select(self.table("metrics"), metric=quantity, subset=TEST)
        return int(rows["value"].max()) if len(rows) else 0

    @property
    def processors(self) -> str:
        """Which processors learned; "" where that is not known."""
        return " and ".join(sorted(set(self.table("fits")["processor"].dropna()))) if self.has("fits") else ""

    def speeds(self) -> pd.DataFrame:
        """Means over the rankers of each method, mode, number of threads and of images, and their largest peak."""
        fits = self.table("fits")
        fits = fits.assign(
            steps_per_cpu_second=fits["n_steps"] / fits["cpu_seconds_fit"], hours=fits["seconds_fit"] / 3600,
            peak_memory_gigabytes=fits["peak_memory_bytes"] / 1e9, loss_rate=100 * fits["loss_rate"],
        )  # fmt: skip
        means = ("n_steps", "chosen_step", "steps_per_second", "steps_per_cpu_second", "hours", "loss_rate")
        rows = fits.groupby(["method", "mode", "n_threads", "n_train"], sort=False).agg(
            n_rankers=("ranker", "nunique"), **{name: (name, "mean") for name in means},
            peak_memory_gigabytes=("peak_memory_gigabytes", "max"), resumed=("resumed", "sum"),
        )  # fmt: skip
        return rows.reset_index()

    def judge(self, cell: Mapping[str, Any]) -> tuple[str, str] | None:
        """Status and reason of a printed number that ours stands beside; None where there is no number of ours."""
        return None if math.isnan(cell["ours"]) else (Status.NOT_COMPARABLE, WHY_NOT_COMPARABLE)

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether a method retrieved, or was timed."""
        return any(method in (row.first, row.second) for row in self.contrasts.rows)

    def other_data(self, settings: Sequence[str]) -> str:
        """Say that no data are the paper's."""
        return WHY_NOT_COMPARABLE

    @property
    def size(self) -> str:
        """Images of both parts."""
        images = [self.counts.get((part, "images"), 0) for part in PARTS]
        return f"{sum(images):,.0f} simulated images" if all(images) else ""

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Precision at 1 and 10 of every method, and how fast OASIS learned."""
        rows = {method: [plus_minus(*self.precision_at(method, k), ".1f") for k in (1, 10)] for method in self.methods}
        speeds = [f"{row.steps_per_second:,.0f} steps a second on {row.n_threads} thread{'s' * (row.n_threads > 1)}"
                  for row in rows_in(self.speeds())]  # fmt: skip
        sentence = (
            f"P@1 is how often the first image is relevant, over {self.size_of('n_queries'):,} test images; ± standard "
            f"error over them. OASIS learned at {', '.join(speeds)}."
        )
        about = "retrieval learned from a query log (JMLR 2010, Figure 3A)"
        return about, ["P@1 (%)", "P@10 (%)"], rows, [sentence]

    def data_sentence(self, drawn: Any) -> str:
        """Which data, and how many."""
        counts = {name: self.counts.get((part, "images")) for part, name in PARTS.items()}
        images = [f"{n_images:,.0f} {name} images" for name, n_images in counts.items() if n_images is not None]
        size = f": {' and '.join(images)} of {self.settings['words']:,} visterms" if images else ""
        return f"Data: {self.title} (query log and images made by code){size}."

    def notes(self, drawn: Any) -> list[str]:
        """Why no printed number has a verdict, where there is one."""
        cells = drawn.frame if "status" in getattr(drawn, "frame", ()) else getattr(drawn, "cells", None)
        is_printed = cells is not None and bool((cells["status"] != "").any())
        return [f"Not comparable with the printed numbers: {WHY_NOT_COMPARABLE}."] if is_printed else []


STUDY = WebStudy
