"""Figures of the fine-grained study: the numbers that they plot, and what is drawn of print."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from triplet_numbers import LEVELS, full, made_contrasts, made_curves, made_intervals, missing, real

from lookalike.exhibits.triplet_context import contrast_pairs
from lookalike.exhibits.triplet_figures import (
    contrast_forest,
    notes_on_contrasts,
    notes_on_curves,
    notes_on_sampling,
    sampling_curves,
    training_curves,
)


def labels(plot):
    """Entries of the figure's legend."""
    return [text.get_text() for legend in plot.figure.legends for text in legend.get_texts()]


def test_figure_6_shows_both_metrics_over_the_share(reference):
    plot = sampling_curves(made_intervals(), full(), reference)
    weighted = plot.frame[plot.frame["series"] == "weighted"]
    for metric, scale in (("similarity_precision", 1), ("score@30", 1000)):
        own = weighted[weighted["metric"] == metric]
        assert own["percent"].tolist() == [0, 20, 50, 100]
        place = 0 if scale == 1 else 1
        names = ("multiscale-weighted-000", "deep-ranking", "multiscale-weighted-050", "multiscale-weighted-100")
        np.testing.assert_allclose(own["value"], [scale * LEVELS[name][place] for name in names])
        assert (own["low"] < own["value"]).all()
        assert (own["value"] < own["high"]).all()
    uniform = plot.frame[plot.frame["series"] == "uniform"]
    assert uniform["percent"].tolist() == [0, 0]
    assert [axis.get_ylabel() for axis in plot.figure.axes] == [
        "Similarity precision (%)",
        "Score at top 30 (triplets)",
    ]
    assert {axis.get_xlabel() for axis in plot.figure.axes} == {"Out-of-class negatives (%)"}
    assert labels(plot) == ["weighted sampling", "share of DeepRanking (20%)", "uniform sampling"]
    assert "Dotted: 20%" in notes_on_sampling(plot, full())


def test_the_chosen_share_is_marked_where_it_is(reference):
    plot = sampling_curves(made_intervals(), full(chosen_percent=40), reference)
    own = plot.frame[(plot.frame["series"] == "weighted") & (plot.frame["metric"] == "score@30")]
    assert own["percent"].tolist() == [0, 40, 50, 100]
    assert own.set_index("percent").loc[40, "system"] == "deep-ranking"
    for axis in plot.figure.axes:
        assert any(list(line.get_xdata()) == [40, 40] for line in axis.lines)


@pytest.mark.parametrize(
    ("changes", "printed"),
    [({}, ["similarity_precision", "score@30"]), ({"has_pool": False}, ["similarity_precision"])],
)
def test_print_is_drawn_where_it_may_be_held_against_ours(reference, changes, printed):
    plot = sampling_curves(made_intervals(), replace(real(), **changes), reference)
    shown = plot.frame[plot.frame["series"] == "printed"]
    assert shown["metric"].tolist() == printed
    assert shown["value"].tolist() == [85.7, 7004.0][: len(printed)]
    assert "Hollow: DeepRanking in Table 1" in notes_on_sampling(plot, real())


def test_what_nobody_rated_has_no_print_beside_it(reference):
    for kind in ("synthetic_triplets", "class_triplets"):
        frame = sampling_curves(made_intervals(), full(kind=kind), reference).frame
        assert "printed" not in set(frame["series"])


def test_without_networks_figure_6_says_why(reference):
    features = made_intervals().query("system == 'hog'")
    context = full(deep_not_run="install torch")
    plot = sampling_curves(features, context, reference)
    assert plot.frame.empty
    assert all("not run" in [text.get_text() for text in axis.texts] for axis in plot.figure.axes)
    assert notes_on_sampling(plot, context) == "DeepRanking: not run: install torch."


def test_curves_are_in_a_column_of_panels_for_each_phase():
    plot = training_curves(made_curves(), full())
    frame = plot.frame
    assert set(frame.loc[frame["phase"] == "classification", "system"]) == {"convnet"}
    assert len(plot.figure.axes) == 4
    chosen = frame.query("system == 'deep-ranking' and quantity == 'precision' and part == 'validation'")
    expected = made_curves().query("system == 'deep-ranking'")
    np.testing.assert_allclose(chosen["value"], 100 * expected["validation_precision"])
    np.testing.assert_array_equal(chosen["seen"], expected["seen"])
    assert labels(plot) == [
        "ConvNet",
        "Single-scale Ranking",
        "DeepRanking",
        "Multiscale, weighted, 0% out-of-class",
    ]
    assert "starts from the weights of the ConvNet" in notes_on_curves(plot, full())


def test_points_that_were_not_validated_are_left_out():
    curves = made_curves().query("system == 'deep-ranking'").reset_index(drop=True)
    curves.loc[1::2, ["validation_loss", "validation_precision"]] = np.nan
    frame = training_curves(curves, full()).frame
    assert (frame["part"] == "validation").sum() == (frame["part"] == "training").sum() / 2
    assert frame["value"].notna().all()


def test_a_network_without_validation_is_named_all_the_same():
    curves = made_curves().query("system == 'deep-ranking'").drop(columns=["validation_loss", "validation_precision"])
    plot = training_curves(curves, full())
    assert labels(plot) == ["DeepRanking"]
    assert len(plot.figure.axes) == 2


def test_without_curves_the_caption_says_why():
    plot = training_curves(None, full(deep_not_run="install torch"))
    assert plot.frame.empty
    assert notes_on_curves(plot, full(deep_not_run="install torch")) == "Networks: not run: install torch."
    assert notes_on_curves(plot, full()) == "Networks: no curve was recorded."
    assert training_curves(made_curves(), missing()).frame.empty


def test_many_networks_look_different():
    names = [f"multiscale-weighted-{share:03d}" for share in range(0, 100, 10)]
    curves = pd.concat([made_curves().query("system == 'deep-ranking'").assign(system=name) for name in names])
    axis = training_curves(curves, full()).figure.axes[0]
    drawn = {(line.get_color(), line.get_linestyle()) for line in axis.lines}
    assert len(drawn) == len(names)


def test_the_forest_has_a_row_for_every_pair_of_the_claims(reference):
    plot = contrast_forest(made_contrasts(), made_intervals(), full(), reference)
    own = plot.frame[plot.frame["metric"] == "similarity_precision"]
    assert list(zip(own["system_a"], own["system_b"], strict=True)) == list(contrast_pairs(LEVELS))
    row = own.set_index(["system_a", "system_b"]).loc[("oasis-on-single-scale-ranking", "single-scale-ranking")]
    assert row["difference"] == pytest.approx(-2.1)
    assert row["printed"] == pytest.approx(-2.1)
    assert row["excludes_0"]
    names = [text.get_text() for text in plot.figure.axes[0].get_yticklabels()]
    assert names[0] == "L1HashKPCA − Wavelet"
    assert names[-1] == "weighted 0% − uniform 0%"
    # scores count triplets, so that print is drawn only where as many were rated
    scores = plot.frame[plot.frame["metric"] == "score@30"]
    assert scores["printed"].isna().all()
    assert "Grey: the interval holds 0" in notes_on_contrasts(plot, full())


def test_an_interval_with_0_is_not_called_without(reference):
    frame = contrast_forest(made_contrasts(reach=2.0), made_intervals(), real(), reference).frame
    assert frame["excludes_0"].equals((frame["low"] > 0) | (frame["high"] < 0))
    assert set(frame["excludes_0"]) == {True, False}
    assert frame.loc[frame["metric"] == "score@30", "printed"].notna().any()
