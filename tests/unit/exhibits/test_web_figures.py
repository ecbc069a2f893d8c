"""Precision, training, indices and marginals of the web study: what is plotted is what was given."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from web_numbers import full, made_approximate, made_curve, made_fits, made_marginals, made_numbers, made_precision

from lookalike.exhibits import web_calibration as calibration
from lookalike.exhibits import web_figures as figures


@pytest.fixture(scope="module")
def context():
    return full(made_numbers())


def axis_of(plot, place=0):
    return plot.figure.axes[place]


def test_precision_is_drawn_in_percent_in_the_order_of_the_study(context, reference):
    table = made_precision()
    plot = figures.precision_curves(table, context, reference)
    assert list(dict.fromkeys(plot.frame["series"])) == [
        "oasis", "oasis-averaged", "euclidean", "chance", "oasis, printed",
    ]  # fmt: skip
    own = plot.frame[(plot.frame["series"] == "oasis") & (plot.frame["k"] == 10)].iloc[0]
    given = table[(table["method"] == "oasis") & (table["k"] == 10)].iloc[0]
    assert own["precision"] == pytest.approx(100 * given["precision"])
    assert own["standard_error"] == pytest.approx(100 * given["standard_error"])
    labels = axis_of(plot).get_legend_handles_labels()[1]
    assert labels == ["OASIS", "OASIS, average of 2", "Euclidean", "chance", "OASIS, printed: 1.5%"]
    bands = axis_of(plot).collections
    assert len(bands) == 3
    edges = bands[0].get_paths()[0].vertices[:, 1]
    top = table[table["method"] == "oasis"].iloc[0]
    assert edges.max() == pytest.approx(100 * (top["precision"] + top["standard_error"]))


def test_chance_is_the_share_of_relevant_images_or_what_was_measured(context, reference):
    level = figures.precision_curves(made_precision(), context, reference).frame.set_index("series").loc["chance"]
    assert level["precision"] == pytest.approx(100 * 96.4 / 402_163)
    measured = made_precision().query("method == 'euclidean'").assign(method="chance", precision=0.002)
    frame = figures.precision_curves(pd.concat([made_precision(), measured]), context, reference).frame
    chance = frame[frame["series"] == "chance"]
    assert len(chance) == 10
    assert chance["precision"].tolist() == pytest.approx([0.2] * 10)
    # topics have no level that follows from counts
    topics = figures.precision_curves(made_precision(), context, reference, figures.OF_TOPIC).frame
    assert "chance" not in set(topics["series"])


def test_topics_are_the_other_columns_and_have_nothing_printed(context, reference):
    table = made_precision()
    frame = figures.precision_curves(table, context, reference, figures.OF_TOPIC).frame
    assert "oasis, printed" not in set(frame["series"])
    own = frame[(frame["series"] == "oasis") & (frame["k"] == 1)].iloc[0]
    assert own["precision"] == pytest.approx(100 * table["topic_precision"].iloc[0])


def test_precision_at_one_is_compared_without_a_verdict(context, reference):
    row = figures.compare_precision(made_precision(), context, reference).iloc[0]
    assert (row["metric"], row["printed"], row["status"]) == ("p@1", 1.5, "not comparable")
    assert row["ours"] == pytest.approx(100 * made_precision()["precision"].iloc[0])
    none = figures.compare_precision(made_precision().query("method != 'oasis'"), context, reference).iloc[0]
    assert none["status"] == "no result"
    assert figures.compare_precision(made_precision(), context, reference.iloc[:0]).empty


def test_one_ranker_has_no_average(context):
    plot = figures.learning_curves(made_curve((0,)), None, context)
    assert set(plot.frame["series"]) == {"ranker"}
    assert "Thin" not in figures.notes_on_learning(context, plot)


def test_several_rankers_have_the_mean_of_their_common_steps(context):
    table = made_curve((1, 2))
    table = table[~((table["ranker"] == 2) & (table["step"] == 80_000_000))]
    plot = figures.learning_curves(table, made_fits(), context)
    mean = plot.frame[plot.frame["series"] == "mean"].set_index("step")
    assert 80_000_000 not in mean.index
    pair = table.loc[table["step"] == 40_000_000, "map"]
    assert len(pair) == 2
    assert mean.loc[40_000_000, "map"] == pytest.approx(100 * pair.mean())
    stops = plot.frame[plot.frame["series"] == "stop"]
    # the ranker without a curve here has no stop here
    assert list(zip(stops["step"], stops["ranker"], strict=True)) == [(70_000_000, 2), (75_000_000, 1)]
    said = figures.notes_on_learning(context, plot)
    assert "best validation mAP, whose matrix is kept (70,000,000, 75,000,000)." in said
    assert "limit of steps" not in said
    assert "Top axis: minutes of training, ranker 1 until then" in said


def test_a_limit_that_was_hit_is_told(context):
    fits = made_fits()
    fits.loc[fits["ranker"] == 2, "stopped"] = "limit"
    plot = figures.learning_curves(made_curve((1, 2)), fits, context)
    assert "Training of ranker 2 ended at its limit of steps" in figures.notes_on_learning(context, plot)
    alone = figures.learning_curves(made_curve((2,)), fits, context)
    assert "Training ended at its limit of steps" in figures.notes_on_learning(context, alone)
    old = figures.learning_curves(made_curve((2,)), fits.drop(columns="stopped"), context)
    assert "limit of steps" not in figures.notes_on_learning(context, old)


def test_the_averaged_model_takes_the_place_of_the_mean(context):
    averaged = made_curve((0,)).assign(ranker=-1)
    plot = figures.learning_curves(pd.concat([made_curve((1, 2)), averaged]), None, context)
    assert set(plot.frame["series"]) == {"ranker", "oasis-averaged"}
    assert "thick: the averaged matrix" in figures.notes_on_learning(context, plot)


def test_hours_along_the_top_follow_the_measured_times(context):
    table = made_curve((0,))
    plot = figures.learning_curves(table, None, context)
    above = axis_of(plot).child_axes[0]
    step = int(table["step"].iloc[5])
    minutes = float(above._functions[0](np.array([step]))[0])
    assert minutes == pytest.approx(table["seconds"].iloc[5] / 60)
    assert float(above._functions[1](np.array([minutes]))[0]) == pytest.approx(step)
    assert above.get_xlabel() == "Minutes of training"
    # beyond the last point the axis goes on, as matplotlib's margins need it
    beyond = above._functions[0](np.array([-1e6, 9e7]))
    assert beyond[0] < 0 < table["seconds"].iloc[-1] / 60 < beyond[1]


def test_a_curve_without_times_or_of_one_point_is_drawn(context):
    one = made_curve((0,)).iloc[:1]
    assert len(figures.learning_curves(one, None, context).frame) == 1
    still = made_curve((0,)).assign(seconds=0.0)
    plot = figures.learning_curves(still, None, context)
    assert not axis_of(plot).child_axes
    assert "Top axis" not in figures.notes_on_learning(context, plot)


def test_recall_is_shown_at_ten_or_at_the_least(context):
    plot = figures.recall_curves(made_approximate(), context)
    assert set(plot.frame["k"]) == {10}
    assert list(dict.fromkeys(plot.frame["series"])) == [
        "exact", "Flat, 64 dims", "IVF1024,Flat, 64 dims", "Flat, 256 dims", "IVF1024,Flat, 256 dims",
    ]  # fmt: skip
    assert plot.frame.set_index("series").loc["exact", "recall"] == 100
    few = made_approximate().query("k == 100")
    assert set(figures.recall_curves(few, context).frame["k"]) == {100}
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axis_of(plot).lines}
    assert len(looks) == 5


def test_shares_of_at_least_x_fall_from_one():
    rows = pd.DataFrame({"x": [0.0, 3.0, 1.0], "y": [0.25, 0.25, 0.5]})
    x, share = calibration.tail_of(rows)
    assert x.tolist() == [1, 3]
    assert share.tolist() == pytest.approx([0.75, 0.25])
    assert calibration.mean_of(rows) == pytest.approx(1.25)
    assert math.isnan(calibration.mean_of(rows.assign(y=0.0)))


def test_the_slope_of_word_frequencies_is_told(context, reference):
    rank = np.arange(1, 2001, dtype=float)
    assert calibration.zipf_slope(pd.DataFrame({"x": rank, "y": 0.5 * rank**-0.8})) == pytest.approx(-0.8)
    assert math.isnan(calibration.zipf_slope(pd.DataFrame({"x": rank[:5], "y": rank[:5]})))
    plot = calibration.calibration_panels(made_marginals(), context, reference)
    said = calibration.notes_on_calibration(context, plot)
    assert "Slope of log frequency over log rank, 10 to 1,000: training -0.90, test -0.90." in said
    assert "printed 70" in said
    assert "printed about 100" in said


def test_marginals_stand_beside_the_printed_counts(context, reference):
    table = made_marginals()
    frame = calibration.calibration_panels(table, context, reference).frame
    printed = frame[frame["source"] == "printed"].set_index(["part", "quantity"])["x"]
    counted = frame[frame["source"] == "counted"].set_index(["part", "quantity"])["x"]
    assert printed[("train", "images")] == counted[("train", "images")] == 2_292_259
    assert len(printed) == 4
    bars = frame[(frame["quantity"] == "nonzeros_per_image") & (frame["source"] == "histogram")]
    for _, part in bars.groupby("part"):
        assert part["y"].sum() == pytest.approx(1)
        assert set(np.diff(part["x"])) == {calibration.BIN}
    rows = table[(table["quantity"] == "nonzeros_per_image") & (table["part"] == "train")]
    means = frame[(frame["quantity"] == "nonzeros_per_image") & (frame["source"] == "counted mean")]
    assert means["x"].iloc[0] == pytest.approx((rows["x"] * rows["y"]).sum())


def test_figures_say_that_they_are_simulated(context, reference):
    plots = (
        figures.precision_curves(made_precision(), context, reference),
        figures.learning_curves(made_curve(), None, context),
        figures.recall_curves(made_approximate(), context),
        calibration.calibration_panels(made_marginals(), context, reference),
    )
    for plot in plots:
        assert plot.figure.get_suptitle() == "Simulated data"


def test_small_numbers_have_ticks_of_their_own(context, reference):
    table = made_marginals()
    few = table[(table["quantity"] != "queries_per_image") | (table["x"] <= 4)]
    plot = calibration.calibration_panels(few, context, reference)
    assert [tick for tick in axis_of(plot, 4).get_xticks() if tick <= 4] == [1, 2, 3]
    assert [label.get_text() for label in axis_of(plot, 4).get_xticklabels()] == ["1", "2", "3"]


def test_long_lines_keep_what_can_be_told_apart(context, reference):
    frame = calibration.calibration_panels(made_marginals(), context, reference).frame
    words = frame[(frame["quantity"] == "word_frequency") & (frame["part"] == "train") & (frame["source"] == "rank")]
    assert words["x"].tolist()[:3] == [1, 2, 3]
    assert words["x"].tolist()[-1] == 10_000
    assert len(words) <= calibration.MOST_POINTS
