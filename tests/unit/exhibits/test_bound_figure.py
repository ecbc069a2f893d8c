"""The figure of OASIS' mistakes and Theorem 1's bound: what it plots, and that the caption tells what was computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lookalike.exhibits.bound_figure import bound_curves
from lookalike.exhibits.catalogue import EXHIBITS

CAPTION = EXHIBITS["learning", "loss_bound"].caption
FACTORS = {"I": 6.0, "W": 2.0, "other": 4.0}


@pytest.fixture
def bounds():
    """Mistakes are a tenth of the triplets, times 1 to 1.4 by fold; bounds are 6, 2 and 4 times as many."""
    rows = [
        (fold, name, step, 0.1 * step * (1 + fold / 10), factor * 0.1 * step * (1 + fold / 10))
        for fold in range(5)
        for name, factor in FACTORS.items()
        for step in (100, 1000, 10_000)
    ]
    columns = ["fold", "comparator", "step", "mistakes", "bound"]
    return pd.DataFrame(rows, columns=columns).assign(subset="var10")


def labels(plot):
    return [text.get_text() for legend in plot.figure.legends for text in legend.get_texts()]


def test_mistakes_and_bounds_are_means_and_ranges_over_folds(bounds, context):
    plot = bound_curves(bounds, context)
    last = plot.frame[plot.frame["step"] == 10_000].set_index("series")
    assert last.loc["mistakes", ["value", "low", "high"]].tolist() == pytest.approx([1200, 1000, 1400])
    assert last.loc["bound, U = W", ["value", "low", "high"]].tolist() == pytest.approx([2400, 2000, 2800])
    assert last.loc["bound, U = W", "ratio"] == pytest.approx(2)
    assert last.loc["triplets", "value"] == 10_000
    assert (plot.frame["n_folds"] == 5).all()
    assert labels(plot) == [
        "bound, U = I",
        "bound, U = W",
        "bound, U = other",
        "mistakes of OASIS",
        "triplets seen",
    ]


def test_both_axes_are_logarithmic(bounds, context):
    filled, empty = bound_curves(bounds, context).figure.axes
    assert (filled.get_xscale(), filled.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in empty.texts] == ["mistakes were not counted here"]


def test_the_band_reaches_from_the_least_to_the_largest_fold(bounds, context):
    axis = bound_curves(bounds, context).figure.axes[0]
    assert len(axis.collections) == len(FACTORS) + 1
    heights = axis.collections[-1].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((10, 1400))


def test_the_caption_says_whether_every_bound_holds(bounds, context):
    caption = CAPTION(context, bound_curves(bounds, context))
    assert "All bounds must lie above the mistakes, and they do at every step shown of all 5 folds." in caption
    assert "the tightest is that of U = W, 2.0 times the mistakes (Var10)." in caption
    broken = bounds.copy()
    one = (broken["fold"] == 3) & (broken["comparator"] == "I") & (broken["step"] == 1000)
    broken.loc[one, "bound"] = broken.loc[one, "mistakes"] - 1
    plot = bound_curves(broken, context)
    # the mean over folds still lies above
    assert (plot.frame.query("series == 'bound, U = I'")["ratio"] > 1).all()
    assert "at 1 of 45 points of single folds they do not." in CAPTION(context, plot)
    equal = bounds.assign(bound=bounds["mistakes"])
    assert "they do at every step" in CAPTION(context, bound_curves(equal, context))


def test_no_mistake_yet_has_no_ratio_and_breaks_nothing(bounds, context):
    none = bounds.copy()
    none.loc[none["step"] == 100, "mistakes"] = 0
    one_fold = none.copy()
    one_fold.loc[(one_fold["step"] == 1000) & (one_fold["fold"] == 0), "mistakes"] = 0
    plot = bound_curves(one_fold, context)
    ratios = plot.frame[plot.frame["series"] == "bound, U = W"].set_index("step")["ratio"]
    assert np.isnan(ratios[100])
    assert np.isnan(ratios[1000])
    assert ratios[10_000] == pytest.approx(2)
    axis = plot.figure.axes[0]
    assert axis.get_ylim()[0] > 0
    plot.figure.canvas.draw()


def test_one_fold_and_one_step_can_be_drawn(bounds, context):
    few = bounds[(bounds["fold"] == 0) & (bounds["step"] == 100)]
    plot = bound_curves(few, replace(context, n_folds=1))
    plot.figure.canvas.draw()
    assert "they do at every step shown of the fold." in CAPTION(context, plot)


def test_where_nothing_was_run_the_panels_say_so(missing):
    plot = bound_curves(None, missing)
    assert plot.frame.empty
    assert all([text.get_text() for text in axis.texts] == ["no printed numbers"] for axis in plot.figure.axes)
    assert "All bounds" not in CAPTION(missing, plot)
