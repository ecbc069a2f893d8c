"""Figures of what happens while learners learn: rankers, projections, MCML and the symmetry of W."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lookalike.exhibits.catalogue import EXHIBITS, Numbers
from lookalike.exhibits.learning_figures import (
    SINGLE,
    mcml_curves,
    projection_curves,
    ranker_curves,
    symmetry_curves,
)
from lookalike.exhibits.style import save_figure

JMLR = "oasis-jmlr-2010"
STEPS = (0, 100, 1000, 10_000)
PROJECTED = ("oasis-psd-500", "oasis-psd-5000", "oasis-psd-end")
TITLES = {
    "oasis-psd-500": "projected every 500 steps",
    "oasis-psd-5000": "projected every 5,000 steps",
    "oasis-psd-end": "projected only at the end",
}


def rising(step):
    return 0.2 + 0.1 * (1 - np.exp(-step / 5000))


@pytest.fixture
def rankers():
    """Ten single rankers, one a hundredth above the other, and two averages; folds lie 0.01 apart."""
    rows = []
    for fold in range(5):
        for step in STEPS:
            value = rising(step) + 0.01 * fold
            rows += [(fold, "single", 1, ranker, step, value + 0.01 * ranker) for ranker in range(10)]
            rows += [(fold, f"average of {k}", k, -1, step, value + 0.01 * k) for k in (10, 5)]
    columns = ["fold", "series", "n_rankers", "ranker", "step", "map"]
    return pd.DataFrame(rows, columns=columns).assign(subset="var10", aggressiveness=0.1)


@pytest.fixture
def projections():
    """Curves of OASIS and of three ways of projecting it; training images must not be drawn."""
    rows = [
        ("var10", method, fold, step, images, rising(step) + 0.01 * place + 0.001 * fold - (images == "train"))
        for place, method in enumerate(("oasis", *PROJECTED))
        for fold in range(5)
        for step in STEPS
        for images in ("train", "test")
    ]
    return pd.DataFrame(rows, columns=["subset", "method", "fold", "step", "images", "map"])


@pytest.fixture
def mcml():
    """MCML ends after 3, 5 and 8 iterations, scored at 0, 1, 2, 4, 8 and the last; mAP: iteration / 100 + fold / 10."""
    rows = [
        ("var10", "mcml", fold, step, images, step / 100 + fold / 10)
        for fold, end in enumerate((3, 5, 8))
        for step in sorted({*(step for step in (0, 1, 2, 4, 8) if step <= end), end})
        for images in ("train", "test")
    ]
    return pd.DataFrame(rows, columns=["subset", "method", "fold", "step", "images", "map"])


@pytest.fixture
def symmetry(projections):
    oasis = projections[projections["method"] == "oasis"]
    return oasis.assign(symmetry_index=1 - 0.05 * (oasis["step"] > 0) - 0.001 * oasis["fold"])


@pytest.fixture
def projected(context):
    return replace(context, projected=PROJECTED, method_titles=TITLES)


def labels(plot):
    return [text.get_text() for legend in plot.figure.legends for text in legend.get_texts()]


def texts(plot, place):
    return [text.get_text() for text in plot.figure.axes[place].texts]


def test_every_single_ranker_is_a_thin_line_under_one_entry(rankers, context):
    plot = ranker_curves(rankers, context, JMLR)
    assert labels(plot) == ["single rankers", "average of 5 rankers", "average of 10 rankers"]
    lines = [line for line in plot.figure.axes[0].lines if line.get_color() == SINGLE and len(line.get_xdata())]
    assert len(lines) == 10
    single = plot.frame.query("series == 'single' and ranker == 3 and step == 1000").iloc[0]
    assert single["map"] == pytest.approx(rising(1000) + 0.02 + 0.03)
    assert sorted(line.get_ydata()[-1] for line in lines)[3] == pytest.approx(rising(10_000) + 0.05)


def test_averages_have_standard_errors_over_folds(rankers, context):
    average = ranker_curves(rankers, context, JMLR).frame.query("series == 'average of 10' and step == 1000").iloc[0]
    assert average["map"] == pytest.approx(rising(1000) + 0.02 + 0.1)
    assert average["sem"] == pytest.approx(0.01 * np.sqrt(2.5) / np.sqrt(5))
    assert (average["n_folds"], average["n_rankers"], average["ranker"]) == (5, 10, -1)


def test_the_caption_of_rankers_tells_folds_and_whose_steps(rankers, context):
    exhibit = EXHIBITS[JMLR, "fig7"]
    caption = exhibit.caption(context, ranker_curves(rankers, context, JMLR))
    assert "training steps of each ranker" in caption
    assert "10 rankers a fold, C = 0.1. Error bars: standard error of the mean over 5 folds." in caption
    assert "does not start at 0" in caption
    fewer = exhibit.caption(context, ranker_curves(rankers[rankers["fold"] < 2], context, JMLR))
    assert "Error bars: standard error of the mean over 2 of these partitions." in fewer
    one = exhibit.caption(context, ranker_curves(rankers[rankers["fold"] < 1], context, JMLR))
    assert "One fold; no error bars." in one
    assert "mean of one ranker" not in one


def test_the_caption_of_projections_tells_the_folds_that_were_traced(projections, projected):
    exhibit = EXHIBITS[JMLR, "fig9"]
    for n_folds, told in ((5, "over 5 folds."), (3, "over 3 of these partitions.")):
        rows = projections[projections["fold"] < n_folds]
        caption = exhibit.caption(projected, projection_curves(rows, projected, JMLR))
        assert f"Error bars: standard error of the mean {told}" in caption
    one = projections[(projections["fold"] < 2) | (projections["method"] == "oasis")]
    mixed = exhibit.caption(projected, projection_curves(one, projected, JMLR))
    assert "Error bars: standard error of the mean over 2 to 5 folds." in mixed


def test_projections_are_drawn_beside_oasis_over_test_images(projections, projected):
    plot = projection_curves(projections, projected, JMLR)
    assert labels(plot) == ["OASIS, not projected", *TITLES.values()]
    assert set(plot.frame["series"]) == {"oasis", *PROJECTED}
    point = plot.frame.query("series == 'oasis-psd-end' and step == 1000").iloc[0]
    assert point["map"] == pytest.approx(rising(1000) + 0.03 + 0.002)
    assert point["sem"] == pytest.approx(0.001 * np.sqrt(2.5) / np.sqrt(5))
    assert texts(plot, 1) == ["OASIS was not run here"]
    caption = EXHIBITS[JMLR, "fig9"].caption(projected, plot)
    assert "No way of projecting" not in caption
    bare = replace(projected, projected=())
    alone = projection_curves(projections, bare, JMLR)
    assert labels(alone) == ["OASIS, not projected"]
    assert "No way of projecting was run." in EXHIBITS[JMLR, "fig9"].caption(bare, alone)


def test_a_fold_in_which_mcml_ended_keeps_its_value(mcml, metrics, context):
    context = replace(context, ended_after={("var10", "mcml"): (2, 3, 5), ("var10", "oasis"): (35_000,)})
    plot = mcml_curves(metrics, mcml, context)
    test = plot.frame[(plot.frame["subset"] == "var10") & (plot.frame["series"] == "test")].set_index("step")
    # 3 is missing: the other folds have no number there; 5 too, where the third has none
    assert test.index.tolist() == [0, 1, 2, 4, 8]
    assert test.loc[2, "map"] == pytest.approx(0.02 + 0.1)
    assert test.loc[4, "map"] == pytest.approx((0.03 + 0.04 + 0.04) / 3 + 0.1)
    assert test.loc[8, "map"] == pytest.approx((0.03 + 0.05 + 0.08) / 3 + 0.1)
    assert test.loc[0, "sem"] == pytest.approx(0.1 / np.sqrt(3))
    assert (test["n_folds"] == 3).all()
    assert plot.frame[plot.frame["series"] == "end"]["step"].item() == pytest.approx(10 / 3)
    assert plot.frame[plot.frame["series"] == "euclidean"]["map"].item() == pytest.approx(0.23)
    caption = EXHIBITS["learning", "mcml"].caption(context, plot)
    assert "Iterations after which it ends by itself, mean over folds: 3 (Var10)." in caption


def test_without_metrics_the_baseline_is_the_start_of_mcml(mcml, context):
    frame = mcml_curves(None, mcml, context).frame
    assert frame[frame["series"] == "euclidean"]["map"].item() == pytest.approx(0.1)


def test_the_iterations_start_at_zero_on_a_logarithmic_axis(mcml, metrics, context):
    plot = mcml_curves(metrics, pd.concat([mcml, mcml.assign(step=mcml["step"] * 50)]).drop_duplicates(), context)
    axis = plot.figure.axes[0]
    plot.figure.canvas.draw()
    assert [text.get_text() for text in axis.get_xticklabels()] == ["0", "1", "10", "100"]
    assert axis.get_xlim()[0] == 0


def test_a_panel_without_mcml_says_why(mcml, metrics, context):
    assert texts(mcml_curves(metrics, mcml, context), 1) == ["MCML was not run here"]
    reason = "the final fit took more than 600 s of CPU time (5 of 5 folds)"
    failed = replace(context, not_converged={("classes50", "mcml"): reason, ("var10", "mcml"): "in another trace"})
    plot = mcml_curves(metrics, mcml, failed)
    assert texts(plot, 1) == ["MCML did not end within its time limit (*)"]
    caption = EXHIBITS["learning", "mcml"].caption(failed, plot)
    assert f"MCML on 50 classes: {reason}." in caption
    assert "in another trace" not in caption


def test_symmetry_is_drawn_beside_the_printed_index(symmetry, context, reference):
    plot = symmetry_curves(symmetry, context, reference)
    point = plot.frame.query("series == 'oasis' and step == 1000").iloc[0]
    assert point["symmetry_index"] == pytest.approx(0.95 - 0.002)
    assert point["sem"] == pytest.approx(0.001 * np.sqrt(2.5) / np.sqrt(5))
    printed = plot.frame[plot.frame["series"] == "oasis, printed"]
    assert printed["symmetry_index"].tolist() == [0.94, 0.94]
    assert labels(plot) == ["OASIS", "OASIS, printed (JMLR section 6.1)"]
    assert "hollow marker: 0.94, which JMLR" in EXHIBITS["learning", "symmetry"].caption(context, plot)


def test_the_printed_index_stands_only_beside_the_papers_classes(symmetry, context, synthetic, missing, reference):
    draft_only = replace(context.subsets[1], printed={"oasis-2009-draft": "var20"})
    mixed = replace(context, subsets=(context.subsets[0], draft_only))
    frame = symmetry_curves(symmetry, mixed, reference).frame
    assert set(frame.loc[frame["series"] == "oasis, printed", "subset"]) == {"var10"}
    plot = symmetry_curves(symmetry, synthetic, reference)
    assert set(plot.frame["series"]) == {"oasis"}
    assert "0.94" not in EXHIBITS["learning", "symmetry"].caption(synthetic, plot)
    alone = symmetry_curves(None, missing, reference)
    assert set(alone.frame["series"]) == {"oasis, printed"}
    assert "C = 0.1" not in EXHIBITS["learning", "symmetry"].caption(missing, alone)


def test_curves_of_another_representation_are_not_drawn(rankers, projections, mcml, symmetry, projected, reference):
    def drawn(**names):
        return (
            ranker_curves(rankers.assign(**names), projected, JMLR),
            projection_curves(projections.assign(**names), projected, JMLR),
            mcml_curves(None, mcml.assign(**names), projected),
            symmetry_curves(symmetry.assign(**names), projected, reference),
        )

    for own, other in zip(drawn(representation="words1000"), drawn(representation="words10000"), strict=True):
        assert (own.frame["n_folds"] > 0).any()
        assert not (other.frame["n_folds"] > 0).any()


@pytest.mark.parametrize("name", ["fig7", "fig9", "mcml"])
def test_where_nothing_was_run_the_panels_say_so(name, missing, reference):
    exhibit = next(exhibit for key, exhibit in EXHIBITS.items() if key in ((JMLR, name), ("learning", name)))
    plot = exhibit.draw(Numbers(), missing, reference)
    assert texts(plot, 0) == texts(plot, 1) == ["no printed numbers"]
    assert plot.frame.empty


def test_the_same_numbers_give_the_same_bytes(tmp_path, rankers, mcml, metrics, context):
    one = replace(context, subsets=context.subsets[:1])
    for name in ("first", "second"):
        save_figure(ranker_curves(rankers, one, JMLR).figure, tmp_path / f"rankers-{name}")
        save_figure(mcml_curves(metrics, mcml, one).figure, tmp_path / f"mcml-{name}")
    for stem in ("rankers", "mcml"):
        for suffix in ("png", "svg", "pdf"):
            first, second = ((tmp_path / f"{stem}-{name}.{suffix}").read_bytes() for name in ("first", "second"))
            assert first == second
