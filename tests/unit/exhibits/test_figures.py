"""Figures: what they plot, what they label, and that the same numbers give the same bytes."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from lookalike.exhibits.catalogue import EXHIBITS
from lookalike.exhibits.compare import TABLE_METHODS
from lookalike.exhibits.figures import K_MAX, precision_curves, training_curves, variant_curves
from lookalike.exhibits.panels import MARKER, not_drawn_sentence
from lookalike.exhibits.style import FORMATS, LOOKS, OTHERS, look_of, looks_of, save_figure

JMLR = "oasis-jmlr-2010"
STOP = "validation stop at C = 0.1"
NOT_FROM_ZERO = {"fig7", "fig9", "symmetry", "loss_bound"}
VARIANTS = ("oasis-proj", "oasis-online-proj", "oasis-dissim")
FIGURES = [exhibit for exhibit in EXHIBITS.values() if exhibit.kind == "figure"]


def legend_labels(plot):
    return [text.get_text() for legend in plot.figure.legends for text in legend.get_texts()]


def all_text(plot):
    plot.figure.canvas.draw()
    return " ".join(text.get_text() for text in plot.figure.findobj(mpl.text.Text))


@pytest.mark.parametrize("exhibit", FIGURES, ids=lambda exhibit: f"{exhibit.paper}/{exhibit.name}")
@pytest.mark.parametrize("data", ["context", "synthetic", "missing"])
def test_every_panel_has_labels_a_title_and_a_legend(exhibit, data, numbers, reference, request):
    context = request.getfixturevalue(data)
    plot = exhibit.draw(numbers, context, reference)
    assert len(plot.figure.axes) == len(context.subsets)
    for letter, axis in zip("ABC", plot.figure.axes, strict=False):
        assert axis.get_xlabel()
        assert axis.get_ylabel()
        assert axis.get_title(loc="left").startswith(f"({letter})") == (len(context.subsets) > 1)
        assert axis.get_title(loc="left")
        assert axis.get_ylim()[0] == 0 or exhibit.name in NOT_FROM_ZERO
    assert len(set(legend_labels(plot))) == len(legend_labels(plot)) >= (0 if plot.frame.empty else 1)


def test_training_curves_plot_means_and_standard_errors(metrics, curves, reference, context):
    plot = training_curves(metrics, curves, context, reference, JMLR)
    frame = plot.frame[plot.frame["subset"] == "var10"]
    test = frame[(frame["series"] == "test") & (frame["step"] == 10_000)].iloc[0]
    values = curves.query("subset == 'var10' and images == 'test' and step == 10000")["map"]
    assert test["map"] == pytest.approx(values.mean())
    assert test["sem"] == pytest.approx(values.std(ddof=1) / np.sqrt(5))
    assert test["n_folds"] == 5
    assert frame[frame["series"] == "euclidean"]["map"].item() == pytest.approx(0.23)
    assert frame[frame["series"] == "validation stop"]["step"].item() == 35_000
    assert frame[frame["series"] == "oasis, printed"]["map"].item() == 0.33
    labels = legend_labels(plot)
    for expected in ("OASIS, training images", "OASIS, test images", "Euclidean, test images", STOP):
        assert expected in labels


@pytest.mark.parametrize("step", [200, 20_000, 40_000, 60_000])
def test_the_euclidean_value_stands_beside_the_dotted_line(metrics, curves, reference, context, step):
    one = replace(context, subsets=context.subsets[:1], selected_steps={"var10": (step,)})
    plot = training_curves(metrics, curves, one, reference, JMLR)
    plot.figure.canvas.draw()
    axis = plot.figure.axes[0]
    label = next(text for text in axis.texts if text.get_text() == "0.23").get_bbox_patch().get_window_extent()
    dotted = axis.transData.transform((step, 0))[0]
    dashed = axis.transData.transform((0, 0.23))[1]
    assert not label.x0 <= dotted <= label.x1
    assert label.y1 < dashed


def test_without_metrics_the_baseline_is_step_zero(curves, reference, context):
    plot = training_curves(None, curves, context, reference, JMLR)
    row = plot.frame[(plot.frame["subset"] == "var10") & (plot.frame["series"] == "euclidean")]
    assert row["map"].item() == pytest.approx(curves.query("step == 0 and images == 'test'")["map"].mean())


def test_precision_curves_plot_every_k_and_chance(metrics, reference, context):
    plot = precision_curves(metrics, None, context, reference, JMLR)
    frame = plot.frame[plot.frame["subset"] == "var10"]
    oasis = frame[frame["series"] == "oasis"]
    assert oasis["k"].tolist() == list(range(1, K_MAX + 1))
    assert oasis["precision"].iloc[9] == pytest.approx(1.5 * 0.33 * np.exp(-10 / 80))
    assert oasis["error"].iloc[0] == pytest.approx(0.01 / np.sqrt(5))
    assert frame[frame["series"] == "chance"]["precision"].item() == pytest.approx(24 / 249)
    printed = frame[frame["series"] == "oasis, printed"]
    assert printed["k"].tolist() == [1, 10, 50]
    assert printed["precision"].tolist() == pytest.approx([0.43, 0.38, 0.23])
    assert set(legend_labels(plot)) == {"Euclidean", "OASIS", "chance", "hollow: printed (Table 4)"}


def test_synthetic_figures_say_so_and_show_no_printed_numbers(metrics, curves, reference, synthetic):
    for plot in (
        precision_curves(metrics, None, synthetic, reference, JMLR),
        training_curves(metrics, curves, synthetic, reference, JMLR),
    ):
        assert "Synthetic images" in all_text(plot)
        assert not plot.frame["series"].str.contains("printed").any()


def test_where_nothing_was_run_the_printed_numbers_stand_alone(metrics, curves, reference, missing):
    for plot in (
        precision_curves(metrics, None, missing, reference, JMLR),
        training_curves(metrics, curves, missing, reference, JMLR),
    ):
        assert "not run: put 256_ObjectCategories.tar at data/caltech256" in all_text(plot)
        assert plot.frame.loc[plot.frame["series"] != "chance", "series"].str.contains("printed").all()


def test_a_panel_without_any_number_says_so(reference, missing):
    subset = replace(missing.subsets[0], id="classes249", n_classes=0, printed={JMLR: "classes=249"})
    for draw in (precision_curves, training_curves, variant_curves):
        assert "no printed numbers" in all_text(draw(None, None, replace(missing, subsets=(subset,)), reference, JMLR))


def test_a_tiny_gallery_can_be_drawn(metrics, reference, synthetic):
    tiny = replace(synthetic, n_test=2, subsets=(replace(synthetic.subsets[0], n_classes=2),))
    few = metrics[metrics["metric"].isin(["map", "p@1", "p@2", "p@3"])]
    plot = precision_curves(few, None, tiny, reference, JMLR)
    assert plot.frame[plot.frame["series"] == "oasis"]["k"].tolist() == [1, 2, 3]


def test_four_subsets_make_two_rows(metrics, reference, context):
    plot = precision_curves(metrics, None, replace(context, subsets=context.subsets * 2), reference, JMLR)
    assert len({round(axis.get_position().y0, 2) for axis in plot.figure.axes}) == 2


def test_only_comparable_panels_show_printed_numbers(metrics, curves, reference, context):
    other = replace(context.subsets[0], why_not_comparable="9 of the paper's 10 classes")
    mixed = replace(context, subsets=(other, context.subsets[1]))
    for plot in (
        precision_curves(metrics, None, mixed, reference, JMLR),
        training_curves(metrics, curves, mixed, reference, JMLR),
    ):
        printed = plot.frame[plot.frame["series"].str.contains("printed")]
        assert set(printed["subset"]) == {"classes50"}


def test_panels_beyond_the_alphabet_are_lettered(reference, missing):
    figure = training_curves(None, None, replace(missing, subsets=missing.subsets * 14), reference, JMLR).figure
    titles = [axis.get_title(loc="left").split()[0] for axis in figure.axes]
    assert titles[9:12] == ["(J)", "(K)", "(L)"]
    assert titles[25:] == ["(Z)", "(AA)", "(AB)"]
    assert len(set(titles)) == 28


def test_curves_of_other_traced_methods_are_not_mixed_in(metrics, curves, reference, context):
    both = pd.concat([curves, curves.assign(method="lego", map=0.0)])
    one, two = (training_curves(metrics, table, context, reference, JMLR).frame for table in (curves, both))
    pd.testing.assert_frame_equal(one, two)


def test_every_method_of_the_study_has_a_precision_curve(metrics, reference, context):
    variants = ("mcml", "lego", "lmnn", "rca", "mmc", "oasis-a", "oasis-b", "oasis-c", "oasis-d", "oasis-e")
    copies = [metrics[metrics["method"] == "oasis"].assign(method=name) for name in variants]
    more = replace(context, methods=(*context.methods, *variants))
    plot = precision_curves(pd.concat([metrics, *copies]), None, more, reference, JMLR)
    assert set(variants) <= set(plot.frame["series"])
    assert len(set(looks_of(more.methods).values())) == len(more.methods)


def test_short_error_bars_reach_beyond_their_markers(metrics, reference, context):
    axis = precision_curves(metrics, None, context, reference, JMLR).figure.axes[0]
    assert len(axis.containers) == 4  # ours and the printed ones
    for container in axis.containers:
        marker, caps, _ = container.lines
        size = MARKER if marker.get_marker() == "None" else marker.get_markersize()
        assert len(caps) == 2
        assert all(cap.get_markersize() > 1.5 * size for cap in caps)


@pytest.mark.parametrize("n_panels", [1, 2, 3])
@pytest.mark.parametrize("data", ["context", "missing"])
def test_the_legend_stays_inside_the_figure(metrics, curves, reference, data, n_panels, request):
    context = request.getfixturevalue(data)
    shown = replace(context, subsets=(context.subsets * 2)[:n_panels])
    for draw in (training_curves, precision_curves):
        figure = draw(metrics, curves, shown, reference, JMLR).figure
        figure.canvas.draw()
        box = figure.legends[0].get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width


def test_the_same_numbers_give_the_same_bytes(tmp_path, metrics, curves, reference, context):
    for name in ("first", "second"):
        save_figure(training_curves(metrics, curves, context, reference, JMLR).figure, tmp_path / name)
    for suffix in FORMATS:
        first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("first", "second"))
        assert len(first) > 2000
        assert first == second, suffix
        assert b"CreationDate" not in first
        assert b"dc:date" not in first


def test_the_users_matplotlib_settings_change_nothing(tmp_path, metrics, reference, context):
    one = replace(context, subsets=context.subsets[:1])
    save_figure(precision_curves(metrics, None, one, reference, JMLR).figure, tmp_path / "plain")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.dpi": 30}):
        save_figure(precision_curves(metrics, None, one, reference, JMLR).figure, tmp_path / "changed")
        assert mpl.rcParams["font.size"] == 30
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "changed.svg").read_bytes()
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "changed.png").read_bytes()


@pytest.fixture
def with_variants(metrics, context):
    """Metrics and context with the symmetric variants, which are as precise as OASIS."""
    copies = [metrics[metrics["method"] == "oasis"].assign(method=name) for name in VARIANTS]
    return pd.concat([metrics, *copies]), replace(context, variants=VARIANTS)


def test_variants_stand_beside_oasis_and_chance_without_printed_numbers(with_variants, reference):
    table, context = with_variants
    plot = variant_curves(table, None, context, reference, JMLR)
    assert set(plot.frame["series"]) == {"oasis", *VARIANTS, "chance"}
    assert legend_labels(plot) == ["OASIS", "Proj-OASIS", "Online-Proj-OASIS", "Dissim-OASIS", "chance"]
    proj = plot.frame.query("subset == 'var10' and series == 'oasis-proj' and k == 10").iloc[0]
    assert proj["precision"] == pytest.approx(1.5 * 0.33 * np.exp(-10 / 80))
    assert proj["error"] == pytest.approx(0.01 / np.sqrt(5))
    alone = variant_curves(table, None, replace(context, variants=()), reference, JMLR)
    assert set(alone.frame["series"]) == {"oasis", "chance"}


def test_where_the_methods_of_a_panel_were_not_run_it_says_so(with_variants, reference):
    table, context = with_variants
    plot = variant_curves(table[table["subset"] == "var10"], None, context, reference, JMLR)
    assert "not run here" in [text.get_text() for text in plot.figure.axes[1].texts]
    assert not plot.figure.axes[0].texts


def test_a_method_that_did_not_converge_is_starred_and_not_drawn(with_variants, reference):
    table, context = with_variants
    methods = (*context.methods, "oasis-dissim")
    reason = "the final fit took more than 600 s of CPU time (1 of 5 folds)"
    failed = replace(context, methods=methods, not_converged={("classes50", "oasis-dissim"): reason})
    for draw in (precision_curves, variant_curves):
        # four folds that did converge are not drawn either: they are the easier ones
        plot = draw(table[table["fold"] < 4], None, failed, reference, JMLR)
        drawn = plot.frame[plot.frame["series"] == "oasis-dissim"]
        assert set(drawn["subset"]) == {"var10"}
        assert "Dissim-OASIS (*)" in legend_labels(plot)
        assert "Dissim-OASIS" not in legend_labels(plot)
        assert [text.get_text() for text in plot.figure.axes[1].texts] == ["* not drawn: Dissim-OASIS"]
        assert not plot.figure.axes[0].texts
    told = f"*: not drawn, since a fit did not end within its time limit: Dissim-OASIS on 50 classes: {reason}."
    assert not_drawn_sentence(failed, methods) == told
    assert not_drawn_sentence(failed, ("oasis",)) == ""
    assert told in EXHIBITS[JMLR, "fig6"].caption(failed, plot)
    assert told in EXHIBITS[JMLR, "fig8"].caption(failed, plot)
    assert "*" not in EXHIBITS[JMLR, "fig8"].caption(context, plot)
    none = EXHIBITS[JMLR, "fig8"].caption(replace(failed, variants=()), plot)
    assert "No symmetric variant was run." in none


def test_captions_of_figures_without_printed_numbers_promise_none(context, missing):
    for name in ("fig7", "fig8", "fig9"):
        exhibit = EXHIBITS[JMLR, name]
        assert not exhibit.has_printed
        for data in (context, missing):
            assert "Hollow markers" not in exhibit.caption(data)
            assert "Numbers shown are the paper's" not in exhibit.caption(data)
            assert f"Form of Figure {name[-1]} in Chechik" in exhibit.caption(data)


def test_training_map_is_no_precision(metrics, reference, context):
    other = metrics[metrics["metric"] == "map"].assign(metric="train_map")
    one, two = (
        precision_curves(table, None, context, reference, JMLR).frame
        for table in (metrics, pd.concat([metrics, other]))
    )
    pd.testing.assert_frame_equal(one, two)


def test_the_baseline_of_step_zero_is_that_of_oasis_alone(curves, reference, context):
    others = curves.assign(method="lego", map=0.0)
    one, two = (
        training_curves(None, table, context, reference, JMLR).frame for table in (curves, pd.concat([others, curves]))
    )
    pd.testing.assert_frame_equal(one, two)


def test_a_tall_legend_does_not_shrink_the_panels(with_variants, reference):
    table, context = with_variants
    few = replace(context, subsets=context.subsets[:1])
    many = replace(few, variants=(*VARIANTS, *(f"oasis with a long name {i}" for i in range(5))))
    copies = [table[table["method"] == "oasis"].assign(method=name) for name in many.variants[3:]]
    heights = []
    for shown in (few, many):
        figure = variant_curves(pd.concat([table, *copies]), None, shown, reference, JMLR).figure
        figure.canvas.draw()
        heights.append(figure.axes[0].get_window_extent().height)
    assert heights[1] == pytest.approx(heights[0], rel=0.1)


def test_methods_of_one_figure_differ_in_colour_and_in_marker():
    figures = (
        (*TABLE_METHODS, "rca", "mmc"),
        ("oasis", *VARIANTS),
        ("oasis", "oasis-psd-500", "oasis-psd-5000", "oasis-psd-end"),
    )
    for methods in figures:
        looks = looks_of(methods).values()
        assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == len(methods)
    assert len(set(LOOKS.values())) == len(LOOKS)
    assert not set(OTHERS) & set(LOOKS.values())
    assert look_of("dissim-oasis") == look_of("dissim-oasis")
    assert look_of("dissim-oasis") not in LOOKS.values()
