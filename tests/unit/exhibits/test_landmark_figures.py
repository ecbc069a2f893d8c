"""The figures of the landmark study: what they plot, what they say where there is nothing, and the montage's rule."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from landmark_numbers import demo, made_dimensions, made_fits, made_metrics, made_montage, made_sweep, missing, oxford

from lookalike.exhibits.landmark_figures import notes_on_times, sparsity_curves, time_curves
from lookalike.exhibits.landmark_montage import MARKS, montage, montage_methods, notes_on_montage, thumbnail


def test_times_are_medians_with_the_printed_means_beside_them(reference):
    dimensions = made_dimensions()
    plot = time_curves(dimensions, oxford(), reference)
    frame = plot.frame.set_index(["series", "method", "n_features"])
    chosen = (dimensions["learner"] == "oasis-diagonal") & (dimensions["n_features"] == 100_000)
    own = dimensions[chosen]["cpu_seconds"]
    row = frame.loc[("ours", "oasis-diagonal", 100_000)]
    assert (row["seconds"], row["low"], row["high"], row["n_repeats"]) == (own.median(), own.min(), own.max(), 3)
    printed = reference[(reference["paper"] == "soml-aaai-2014") & (reference["exhibit"] == "table9")]
    mean = printed.loc[printed["method"] == "oasis", "value"].mean()
    assert frame.loc[("printed", "oasis-diagonal", 1_000_000), "seconds"] == pytest.approx(mean)
    assert ("ours", "qpao", 1_000_000) not in frame.index, "it did not end"
    inner = frame.loc[("without pair products", "soml-tg", 10_000), "seconds"]
    assert inner == pytest.approx(frame.loc[("ours", "soml-tg", 10_000), "seconds"] - 0.102)
    told = notes_on_times(oxford(), plot, dimensions)
    assert "21,000 triplets (QPAO (reconstructed), S-TG, S-DA) and 100,000 (OASIS), median of 3 repeats" in told
    assert "with about 2,000 non-zeros each:" in told
    assert "CPU seconds" in plot.figure.axes[0].get_ylabel()
    assert "QPAO (reconstructed) at d = 1,000,000 is not drawn: the fit took more than 600 s" in told
    assert next(text.get_text() for text in plot.figure.texts) == "Simulated rows"


def test_learners_may_be_named_by_class(reference):
    named = made_dimensions().replace({"learner": {"soml-tg": "SOMLTG", "soml-da": "SOMLDA", "qpao": "TFIDF"}})
    ours = time_curves(named, oxford(), reference).frame.query("series == 'ours'")
    assert set(ours["method"]) == {"soml-tg", "soml-da", "oasis-diagonal"}, "TF-IDF learns nothing"


def test_the_caption_tells_sizes_whose_rows_are_unlike_and_leaves_out_what_was_given_up(reference):
    dimensions = made_dimensions()
    small = dimensions[dimensions["n_features"] == 10_000].assign(n_features=1000, nonzeros=500.0)
    table = pd.concat([small, dimensions])
    told = notes_on_times(oxford(), time_curves(table, oxford(), reference), table)
    assert "with about 2,000 non-zeros each (500 at d = 1,000):" in told
    assert " 0 (" not in told, "a fit that was given up has no steps"


def test_without_times_the_print_stands_alone(reference):
    plot = time_curves(None, missing(), reference)
    assert set(plot.frame["series"]) == {"printed"}
    assert len(plot.frame) == 4 * 3
    assert "put oxbuild_images-v1.tgz at data/oxford5k" in notes_on_times(missing(), plot, None)
    labels = [text.get_text() for text in plot.figure.legends[0].get_texts()]
    assert "QPAO" in labels, "what is printed is of the authors' own QPAO"


def test_a_point_of_a_curve_is_a_mean_over_landmarks_and_draws(reference):
    sweep, metrics = made_sweep(), made_metrics()
    plot = sparsity_curves(sweep, metrics, oxford(), reference)
    own = sweep[
        (sweep["representation"] == "sift-100k") & (sweep["method"] == "soml-da") & (sweep["regularization"] == 1e-4)
    ]
    frame = plot.frame[plot.frame["representation"] == "sift-100k"].set_index(["series", "regularization"])
    row = frame.loc[("soml-da", 1e-4)]
    assert row["sparsity"] == pytest.approx(100 * own["sparsity"].mean())
    assert row["map"] == pytest.approx(100 * own["map"].mean())
    assert row["n_draws"] == 5
    baseline = metrics.query("representation == 'sift-100k' and method == 'tfidf' and metric == 'map'")["value"].mean()
    series = plot.frame[plot.frame["representation"] == "sift-100k"].set_index("series")
    assert series.loc["tfidf", "map"] == pytest.approx(100 * baseline)
    assert series.loc["tfidf, printed", "map"] == 48.51
    assert series.loc["soml-da, printed", "map"] == 61.08


def test_the_lambda_of_the_study_has_a_ring(reference):
    with_ring, without = (
        sparsity_curves(made_sweep(), made_metrics(), oxford(regularization=values), reference)
        for values in ({"soml-tg": 1e-5, "soml-da": 1e-6}, {"soml-tg": 0.5})
    )
    rings = [
        [line for line in plot.figure.axes[0].lines if line.get_markersize() == 9.0] for plot in (with_ring, without)
    ]
    assert [len(found) for found in rings] == [2, 0]
    texts = {text.get_text() for text in with_ring.figure.axes[0].texts}
    assert {"0", "1e-5", "1e-6", "1e-3"} <= texts


def test_a_metric_without_a_weight_still_has_a_place(reference):
    sweep = made_sweep()
    sweep.loc[sweep["regularization"] == 1e-3, "sparsity"] = 1.0
    plot = sparsity_curves(sweep, made_metrics(), oxford(), reference)
    line = next(line for line in plot.figure.axes[0].lines if line.get_label() == "S-DA")
    assert np.isfinite(line.get_xdata()).all()
    assert line.get_xdata().min() > 0
    left, right = plot.figure.axes[0].get_xlim()
    assert right < line.get_xdata().min() < left


def test_other_landmarks_have_no_hollow_markers(reference):
    shape = {
        "dataset": "demo_landmarks",
        "codebooks": ["sift-10k", "sift-100k"],
        "landmarks": ("all_souls", "ashmolean"),
    }
    plot = sparsity_curves(made_sweep(**shape), made_metrics(**shape), demo(), reference)
    assert not plot.frame["series"].str.contains("printed").any()
    assert len(plot.figure.axes) == 2
    assert "Synthetic images" in {text.get_text() for text in [*plot.figure.texts, plot.figure._suptitle]}


def test_a_users_own_landmarks_that_were_not_run_say_so(reference):
    context = oxford(kind="landmarks", landmarks=[], not_run="put your images at data/mine")
    plot = sparsity_curves(None, None, context, reference)
    assert plot.frame.empty
    assert plot.figure.axes[0].texts[0].get_text() == "not run"


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    return made_montage(tmp_path_factory.mktemp("images"))


def test_the_montage_shows_the_largest_gain_and_the_largest_loss(material):
    plot = montage(material, oxford())
    chosen = plot.frame.drop_duplicates(["chosen_as", "method"]).set_index(["chosen_as", "method"])
    best = chosen.loc[("largest gain", "soml-da")]
    # draw 1 gains two points more than draw 0
    assert (best["query"], best["draw"], best["average_precision"]) == ("all_souls_1", 1, pytest.approx(0.92))
    assert chosen.loc[("largest gain", "tfidf"), "average_precision"] == pytest.approx(0.3)
    worst = chosen.loc[("largest loss", "soml-da")]
    assert (worst["query"], worst["draw"]) == ("all_souls_2", 0)
    told = notes_on_montage(oxford(), plot, material)
    assert "of all 6 pairs of a query and a draw, 1,000,000 words, TF-IDF against S-DA" in told
    assert "largest loss: all_souls_2, average precision from 90.0 to 30.0 %" in told


def test_the_query_is_left_out_and_every_result_is_marked(material):
    plot = montage(material, oxford())
    own = dict(zip(material.queries["query"], material.queries["image_id"], strict=True))
    assert not (plot.frame["image_id"] == plot.frame["query"].map(own)).any()
    assert plot.frame.groupby(["chosen_as", "method"])["place"].apply(list).map(lambda x: x == list(range(1, 9))).all()
    assert (plot.frame["rank"] == plot.frame["place"] + 1).all(), "the query's own image is the first of the list"
    kinds = dict(zip(material.relevance["image_id"], material.relevance["relevance"], strict=True))
    assert (plot.frame["relevance"] == plot.frame["image_id"].map(kinds).fillna("wrong")).all()
    signs = [text.get_text() for axis in plot.figure.axes for text in axis.texts if text.get_text() in "✓–✗"]
    assert sorted(signs) == sorted(MARKS[kind].sign for kind in plot.frame["relevance"])
    assert len({(mark.sign, mark.colour, mark.line) for mark in MARKS.values()}) == 3


def test_where_all_queries_gain_none_is_called_a_loss(material):
    better = material.results.copy()
    better.loc[better["method"] == "soml-da", "average_precision"] = 0.95
    chosen = montage(type(material)(**{**vars(material), "results": better}), oxford()).frame["chosen_as"]
    assert set(chosen) == {"largest gain", "smallest gain"}


def test_a_montage_without_two_methods_says_why_it_is_empty(material):
    alone = type(material)(**{**vars(material), "results": material.results[material.results["method"] == "tfidf"]})
    fits = made_fits(codebooks=["sift-1m"])
    fits.loc[fits["method"] == "soml-da", "not_converged"] = "the fit took more than 600 s of processor time"
    few = {"tfidf": "TF-IDF"}
    for found, context, why in (
        (alone, oxford(fits), "no query has rankings by both TF-IDF and S-DA: the fit took more than 600 s"),
        (None, oxford(methods=few), "nothing to compare: the study has not both TF-IDF and a learned method"),
    ):
        plot = montage(found, context)
        assert plot.frame.empty
        assert why in plot.figure.axes[0].texts[0].get_text()
        assert notes_on_montage(context, plot, found).startswith(f"Not drawn: {why}")


def test_the_montage_shows_da_or_else_the_last_learned_method():
    assert montage_methods(["tfidf", "soml-da", "soml-tg"]) == ("tfidf", "soml-da")
    assert montage_methods(["qpao", "soml-tg", "tfidf"]) == ("tfidf", "soml-tg")
    assert montage_methods(["soml-da"]) is None
    assert montage_methods(["tfidf"]) is None


def test_the_text_beneath_a_query_stays_within_the_figure(material):
    name = "bishop_exchange_street_corner_4"
    tables = {
        table: getattr(material, table).replace({"query": {"all_souls_1": name}})
        for table in ("queries", "relevance", "results")
    }
    plot = montage(type(material)(**{**vars(material), **tables}), oxford())
    plot.figure.canvas.draw()
    labels = [axis.xaxis.label for axis in plot.figure.axes if "draw" in axis.get_xlabel()]
    assert "Bishop Exchange" in labels[0].get_text()
    for label in labels:
        extent = label.get_window_extent()
        assert 0 <= extent.x0 <= extent.x1 <= plot.figure.bbox.width


def test_without_images_the_montage_says_what_to_do():
    plot = montage(None, missing())
    assert plot.frame.empty
    assert "put oxbuild_images-v1.tgz" in plot.figure.axes[0].texts[0].get_text()


def test_thumbnails_are_small_and_keep_their_shape():
    small, scale = thumbnail(np.zeros((400, 1000, 3), dtype=np.uint8), 100)
    assert (small.shape, scale) == ((40, 100, 3), 0.1)
    same, scale = thumbnail(np.zeros((40, 50, 3), dtype=np.uint8), 100)
    assert (same.shape, scale) == ((40, 50, 3), 1.0)
