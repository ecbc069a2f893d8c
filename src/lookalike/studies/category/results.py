"""The category study's rows of results: what its jobs measured, and what follows from that in each fold.

Names of metrics are those of claims.csv. Numbers of halves of the classes are means over the folds of each half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from lookalike.exhibits.results import GRID_END, LAST_STEP, TIMED_OUT, UNFINISHED, results_frame, select

PRECISIONS = {1: "p@1", 10: "p@10", 50: "p@50"}
"""Places whose precision the papers' tables have a row of."""
COMPARED = ("map", *PRECISIONS.values())
EQUAL = {metric: f"{metric}, equal" for metric in COMPARED}
"""Metric to its name where methods choose with equal settings."""
TRACED, TRACED_TRAINING, RANKERS = "traced_map", "traced_train_map", "ranker_map"
VALIDATION_STOP, STEPS, CLASSES, CHANCE = "validation stop", "steps", "classes", "chance"
DECLINE, PEAK = "decline after the peak", "map at the peak"
OF_RANKERS, SPREAD_OF_RANKERS, SINGLE = "map of rankers", "standard deviation of rankers", "single"
FEW_IMAGES, SYMMETRY, SHARE = "map of few images", "symmetry of what was learned", "share of its start"
TRAIN_TIME, OVER_TIME = "train_time", "map over time"
ON_ROWS = "oasis-rows"
"""OASIS by steps on the rows of images, as the papers took them; those of OASIS here are on inner products."""
WORDS_IN_TEXT = 10_000
"""Size of the codebook for which the paper prints the non-zeros per image (JMLR section 3)."""
FRACTIONS = {*COMPARED, "p@k", TRACED, TRACED_TRAINING, RANKERS, OF_RANKERS, SPREAD_OF_RANKERS, PEAK, FEW_IMAGES}
FRACTIONS |= {"train_map", CHANCE, DECLINE, *EQUAL.values()}
PARTS = {"subset": "setting", "fold": "repeat"}
"""What names a run to the column of results that it stands in."""


def results_of(numbers: pd.DataFrame, fits: pd.DataFrame, manifest: pd.DataFrame, about: Any) -> pd.DataFrame:
    """Return the rows of results of all runs; `numbers` and `fits` are their tables, one below the other.

    `about` has what `CategoryStudy.jobs` names for ``gather``, as attributes.
    """
    fits = fits.rename(columns=PARTS).astype({"repeat": str})
    own = fits[fits["representation"] == about.representation]
    # precision at the places of the papers' tables is a metric of its own
    at = (select(numbers, metric="p@k", x=k).assign(metric=metric, x=np.nan) for k, metric in PRECISIONS.items())
    numbers = pd.concat([numbers, *at], ignore_index=True)
    traced = numbers["metric"].isin((TRACED, TRACED_TRAINING))
    parts = [numbers[~traced], kept_after_the_end(numbers[traced]), recorded(own, about)]
    # the share of a test image's class among the others, which precision has by chance
    classes = own.dropna(subset="n_classes").drop_duplicates("setting")
    value = (about.n_test - 1) / (classes["n_classes"] * about.n_test - 1)
    parts.append(classes[["setting"]].assign(method=CHANCE, repeat="0", metric=CHANCE, value=value))
    parts += [equal(numbers, about), peaks(numbers[numbers["metric"] == TRACED]), rankers(numbers, about)]
    if about.few_images:  # all images are the last point of the curves
        few = numbers.loc[numbers["metric"] == FEW_IMAGES, "method"].unique()
        every = numbers[(numbers["metric"] == "map") & numbers["method"].isin(few)]
        parts.append(every.assign(metric=FEW_IMAGES, x=float(about.n_train)))
    rows = pooled(pd.concat(parts, ignore_index=True), about)
    return pd.concat([rows, in_text(fits, manifest, about)], ignore_index=True)


def times_of(fits: pd.DataFrame, selections: pd.DataFrame, about: Any) -> pd.DataFrame:
    """Return minutes of the final fits, and validation mAP over seconds of training."""
    fits, selections = (table.rename(columns=PARTS).astype({"repeat": str}) for table in (fits, selections))
    fits = fits[(fits["representation"] == about.representation) & fits["not_converged"].fillna("").eq("")]
    steps = fits[fits["n_updates"].notna()].groupby(["setting", "method"])["n_steps"].mean().unstack("method")
    minutes = fits.assign(metric=TRAIN_TIME, value=fits["cpu_seconds_fit"] / 60)
    if {ON_ROWS, "oasis"} <= set(steps):
        # it is run for the time of a step, and takes as many as validation gives OASIS
        share = minutes["setting"].map(steps["oasis"] / steps[ON_ROWS])
        minutes["value"] *= share.where(minutes["method"] == ON_ROWS, 1.0)
    return pooled(pd.concat([minutes, *over_time(fits, selections, about)], ignore_index=True), about)


def pooled(rows: pd.DataFrame, about: Any) -> pd.DataFrame:
    """Return numbers with their units as rows of results, and those of halves pooled besides."""
    rows = results_frame(rows)
    if about.half_numbers:
        means = rows.groupby(["setting", "method", "metric", "x"], sort=False, dropna=False)["value"].mean()
        halves = means.reset_index()
        repeat = halves["setting"].map(about.half_numbers).astype(str)
        rows = pd.concat([rows, halves.assign(setting=about.pool, repeat=repeat)], ignore_index=True)
    is_share = rows["metric"].isin(FRACTIONS) | rows["metric"].str.startswith(("map of ", "top 10 of "))
    units = rows["metric"].map({TRAIN_TIME: "minutes"}).fillna("").mask(is_share, "fraction")
    return results_frame(rows.assign(study="category", unit=units))


def equal(numbers: pd.DataFrame, about: Any) -> pd.DataFrame:
    """Return the numbers of the equal protocol under the methods' own names, on subsets that have it."""
    numbers = numbers[numbers["metric"].isin(COMPARED)]
    subsets = numbers.loc[numbers["method"].isin({*about.equal.values()} - {*about.equal}), "setting"].unique()
    numbers = numbers[numbers["setting"].isin(subsets)]
    parts = [numbers[numbers["method"] == run].assign(method=method) for method, run in about.equal.items()]
    found = pd.concat([numbers.iloc[:0], *parts], ignore_index=True)
    named: pd.DataFrame = found.assign(metric=found["metric"].map(EQUAL))
    return named


def kept_after_the_end(curves: pd.DataFrame) -> pd.DataFrame:
    """Return curves along training, of which a fold that has ended by itself keeps its last number."""
    parts = []
    names: Any
    for names, own in curves.groupby(["setting", "method", "metric"], sort=False):
        table = own.pivot(index="x", columns="repeat", values="value").sort_index()
        # a fold may lack a step before its end: only what lies behind that has its last number
        is_behind = table.bfill().isna()
        rows = table.where(~is_behind, table.ffill()).reset_index().melt("x", value_name="value").dropna(subset="value")
        parts.append(rows.assign(setting=names[0], method=names[1], metric=names[2]))
    return pd.concat([curves.iloc[:0], *parts], ignore_index=True)


def peaks(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the highest number of each traced fold, and how much of it was lost by its end."""
    groups = curves.sort_values("x", kind="stable").groupby(["setting", "method", "repeat"], sort=False)["value"]
    found = groups.agg(highest="max", last="last").reset_index()
    values = {PEAK: found["highest"], DECLINE: 1 - found["last"] / found["highest"]}
    return pd.concat([found.assign(metric=metric, value=value) for metric, value in values.items()])


def rankers(numbers: pd.DataFrame, about: Any) -> pd.DataFrame:
    """Return the mean over traced steps of averages and of single rankers, and how single ones differ at the end."""
    rows = numbers[(numbers["metric"] == RANKERS) & (numbers["x"] > 0)]
    rows = rows.assign(method=rows["method"].where(rows["method"].isin(about.averages), SINGLE))
    means: pd.DataFrame = rows.groupby(["setting", "method", "repeat"], sort=False)["value"].mean().reset_index()
    last = rows[(rows["method"] == SINGLE) & (rows["x"] == rows["x"].max())]
    spread: pd.DataFrame = last.groupby(["setting", "method", "repeat"], sort=False)["value"].std().reset_index()
    return pd.concat([means.assign(metric=OF_RANKERS), spread.assign(metric=SPREAD_OF_RANKERS)], ignore_index=True)


def recorded(fits: pd.DataFrame, about: Any) -> pd.DataFrame:
    """Return what fits recorded of their steps, and of what ended them or their choice."""
    columns = {
        STEPS: fits.get("n_steps"),
        SHARE: fits.get("objective_share"),
        SYMMETRY: fits["learned_symmetry"].where(fits["method"] == "oasis"),
        TIMED_OUT: fits["not_converged"].fillna("").ne("").astype(float),
        UNFINISHED: fits["converged"].map({True: 0.0, False: 1.0}),
        LAST_STEP: fits.get("at_last_step"),
        GRID_END: fits.get("at_grid_edge"),
        CLASSES: fits["n_classes"],
        # of the aggressiveness that curves have
        VALIDATION_STOP: fits["n_steps"].where(
            (fits["method"] == "oasis") & (fits["aggressiveness"] == about.aggressiveness)
        ),
    }
    keys = fits[["setting", "method", "repeat"]]
    parts = [keys.assign(metric=metric, value=values) for metric, values in columns.items() if values is not None]
    found: pd.DataFrame = pd.concat(parts, ignore_index=True).astype({"value": float}).dropna(subset="value")
    return found


def over_time(fits: pd.DataFrame, selections: pd.DataFrame, about: Any) -> Iterator[pd.DataFrame]:
    """Yield validation mAP over seconds of training, of the parameters that each fold chose with equal settings."""
    for subset in selections["setting"].unique():
        for method, run in about.equal.items():
            own, chosen = (fits[(fits["setting"] == subset) & (fits["method"] == name)] for name in (method, run))
            rows = selections[(selections["setting"] == subset) & (selections["method"] == run)]
            if rows.empty or not own["n_steps"].sum() > 0:
                continue
            start = rows[rows["step"] == 0].drop_duplicates("repeat")
            for column in (name for name in chosen if name.startswith("selected_")):
                name = column.removeprefix("selected_")
                values = chosen.set_index("repeat")[column].dropna()
                if len(values) and name in rows:
                    rows = rows[rows[name] == rows["repeat"].map(values)]
            # steps are as long as on average in the fits on all training images
            seconds = own["cpu_seconds_fit"].sum() / own["n_steps"].sum()
            rows = rows[rows["step"] > 0]
            curve = {"x": seconds * rows["step"], "value": rows["map"], "metric": OVER_TIME}
            yield rows[["setting", "repeat"]].assign(method=method, **curve)
            if method == "oasis":  # without a step it ranks as the Euclidean distance does
                level = {"method": "euclidean", "metric": f"{OVER_TIME}, start", "value": start["map"]}
                yield start[["setting", "repeat"]].assign(**level)


def in_text(fits: pd.DataFrame, manifest: pd.DataFrame, about: Any) -> pd.DataFrame:
    """Return what the papers' text tells of images, of the visterms of an image, and of the symmetry of W."""
    kept = manifest[manifest["status"] == "ok"]
    fits = fits[fits["setting"] == about.printed_subset]
    own = fits[(fits["representation"] == about.representation) & (fits["method"] == "oasis")]
    # the paper's number of words, where a representation that was run has it
    large = fits[fits["n_words"] == WORDS_IN_TEXT]
    words = (large if len(large) else fits[fits["representation"] == about.representation]).drop_duplicates("repeat")
    tens = fits.loc[fits["n_classes"] == 10, "n_classes"].head(1) * about.n_train
    values = {
        "images_kept": pd.Series([float(len(kept))]),
        "categories_kept": pd.Series([float(kept["label"].nunique())]),
        # cn (n - 1) (c - 1)n / 2 of c classes of n images (JMLR Figure 5)
        "triplets_of_ten_classes": tens * (about.n_train - 1) * (tens - about.n_train) // 2,
        "nonzeros_per_image": words["nonzeros_per_image_train"],
        "symmetry_index": own["symmetry_index"].astype(float),
    }
    rows = [pd.DataFrame({"metric": metric, "value": value.dropna()}) for metric, value in values.items()]
    return results_frame(pd.concat(rows, ignore_index=True).assign(study="category"))
