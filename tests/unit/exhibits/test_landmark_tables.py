"""Tables of the landmark study: what is averaged, what stands beside it, and what is not judged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from landmark_numbers import LANDMARKS, demo, made_fits, made_metrics, missing, oxford

from lookalike.exhibits.landmark_context import landmark_context
from lookalike.exhibits.landmark_tables import (
    compare_landmarks,
    landmark_headline,
    landmark_table,
    literal_forms,
    query_regions,
    summary_of,
)


@pytest.fixture(scope="module")
def metrics():
    return made_metrics()


@pytest.fixture(scope="module")
def fits():
    return made_fits()


def cell(frame, **wanted):
    rows = frame[np.logical_and.reduce([frame[name] == value for name, value in wanted.items()])]
    assert len(rows) == 1
    return rows.iloc[0]


def test_a_row_is_the_mean_and_spread_of_its_draws(metrics, fits, reference):
    context = oxford(fits)
    table = landmark_table(metrics, fits, context, reference, "map", context.codebooks[0])
    own = metrics[
        (metrics["representation"] == "sift-10k")
        & (metrics["subset"] == "hertford")
        & (metrics["method"] == "soml-da")
        & (metrics["metric"] == "map")
    ]["value"]
    found = cell(table.frame, landmark="hertford", method="soml-da")
    assert found["ours"] == pytest.approx(100 * own.mean())
    assert found["ours_std"] == pytest.approx(100 * own.std(ddof=1))
    assert found["printed"] == 35.93
    assert found["printed_cell"] == "35.93"
    assert list(table.frame["method"].unique()) == ["tfidf", "qpao", "oasis-diagonal", "soml-tg", "soml-da"]


def test_the_mean_over_landmarks_is_taken_within_each_draw(metrics, fits):
    context = oxford(fits)
    own = metrics[
        (metrics["representation"] == "sift-10k") & (metrics["method"] == "tfidf") & (metrics["metric"] == "map")
    ]
    by_draw = 100 * own.groupby("fold")["value"].mean()
    mean, std, n_draws = summary_of(metrics, fits, context, context.codebooks[0])["mean", "tfidf", "map"]
    assert (mean, std, n_draws) == (pytest.approx(by_draw.mean()), pytest.approx(by_draw.std(ddof=1)), 5)
    # a draw without one of the landmarks has no mean over all of them
    less = metrics.drop(own[(own["subset"] == "bodleian") & (own["fold"] == 3)].index)
    mean, _, n_draws = summary_of(less, fits, context, context.codebooks[0])["mean", "tfidf", "map"]
    assert (mean, n_draws) == (pytest.approx(by_draw.drop(3).mean()), 4)


def test_every_printed_number_is_held_against_ours(metrics, fits, reference):
    context = oxford(fits)
    for codebook in context.codebooks:
        table = compare_landmarks(metrics, fits, context, reference, "map", codebook)
        assert len(table) == 8 * 5
        assert set(table["status"]) <= {"agrees", "higher", "lower"}
        assert len(compare_landmarks(metrics, fits, context, reference, "sparsity", codebook)) == 7 * 4
    row = cell(table, subset="mean", method="oasis")
    assert row["printed"] == 56.58
    # the rule with no printed spread: twice our spread and half the last printed digit
    agrees = abs(row["ours"] - row["printed"]) <= 2 * row["ours_std"] + 0.005
    assert row["status"] == ("agrees" if agrees else "higher" if row["difference"] > 0 else "lower")


def test_a_number_agrees_just_within_twice_our_spread(metrics, fits, reference):
    context = oxford(fits)
    chosen = (metrics["representation"] == "sift-10k") & (metrics["subset"] == "hertford")
    chosen &= (metrics["method"] == "tfidf") & (metrics["metric"] == "map")
    for shift, status in ((0.0199, "agrees"), (-0.0199, "agrees"), (0.0202, "higher"), (-0.0202, "lower")):
        made = metrics.copy()
        spread = np.array([-1, -1, 0, 1, 1]) * 0.01  # a standard deviation of one point
        made.loc[chosen, "value"] = 0.3116 + shift + spread
        table = compare_landmarks(made, fits, context, reference, "map", context.codebooks[0])
        assert cell(table, subset="hertford", method="tfidf")["status"] == status


def test_times_are_shown_and_never_judged(metrics, fits, reference):
    context = oxford(fits)
    table = compare_landmarks(metrics, fits, context, reference, "train_time", context.codebooks[2])
    assert set(table["status"]) == {"not comparable"}
    assert set(table["reason"]) == {"other machine and implementation"}
    assert cell(table, subset="all_souls", method="qpao")["printed"] == 23_800
    shown = landmark_table(metrics, fits, context, reference, "train_time", context.codebooks[2])
    assert "23,800" in shown.markdown
    assert "tfidf" not in set(shown.frame["method"])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"negatives": 100}, "other images to learn from than the paper's (100 negatives, the paper 500)"),
        ({"landmarks": list(LANDMARKS[:6])}, "other landmarks than the paper's"),
        ({"representations": {"sift-10k": {"words": 5000}}}, "a codebook of 5,000 words, the paper 10,000"),
        ({"representations": {"sift-10k": {"words": 10_000, "not_comparable": "RootSIFT"}}}, "RootSIFT"),
    ],
)
def test_other_settings_stand_beside_print_without_a_verdict(metrics, fits, reference, changes, reason):
    context = oxford(fits, **changes)
    table = compare_landmarks(metrics, fits, context, reference, "map", context.codebooks[0])
    assert set(table["status"]) == {"not comparable"}
    assert set(table["reason"]) == {reason}
    assert table["printed"].notna().all()


@pytest.mark.parametrize("kind", ["synthetic_landmarks", "landmarks"])
def test_other_landmarks_have_no_printed_numbers_beside_them(reference, kind):
    made, fits = (
        make("demo_landmarks", LANDMARKS[:3], ["sift-10k", "sift-100k"]) for make in (made_metrics, made_fits)
    )
    context = demo(fits)
    context = type(context)(**{**vars(context), "kind": kind})
    table = landmark_table(made, fits, context, reference, "map", context.codebooks[0])
    assert "paper" not in table.markdown
    assert table.frame["printed"].isna().all()
    assert list(table.frame["landmark"].unique()) == [*LANDMARKS[:3], "mean"]
    assert compare_landmarks(made, fits, context, reference, "map", context.codebooks[0]).empty


def test_a_fit_that_hit_its_limit_is_a_star_and_takes_the_mean_with_it(metrics, fits, reference):
    failed = (fits["representation"] == "sift-1m") & (fits["subset"] == "bodleian") & (fits["method"] == "qpao")
    failed &= fits["fold"] == 2
    limited = fits.copy()
    limited.loc[failed, ["not_converged", "cpu_seconds_fit"]] = ["the fit took more than 600 s", np.nan]
    context = oxford(limited)
    table = landmark_table(metrics, limited, context, reference, "map", context.codebooks[2]).frame
    for landmark in ("bodleian", "mean"):
        assert cell(table, landmark=landmark, method="qpao")["ours_cell"] == "*"
    assert "±" in cell(table, landmark="hertford", method="qpao")["ours_cell"]
    compared = compare_landmarks(metrics, limited, context, reference, "map", context.codebooks[2])
    row = cell(compared, subset="bodleian", method="qpao")
    assert (row["status"], row["reason"]) == (
        "no result",
        "did not converge: the fit took more than 600 s (1 of 5 draws)",
    )
    assert "QPAO (reconstructed) *" in landmark_headline(metrics, context)


def test_where_nothing_was_run_the_print_stands_beside_empty_cells(reference):
    context = missing()
    table = landmark_table(None, None, context, reference, "sparsity", context.codebooks[1])
    assert set(table.frame["ours_cell"]) == {"not run"}
    assert table.frame.loc[table.frame["landmark"] != "mean", "printed"].notna().all()
    assert "put oxbuild_images-v1.tgz at data/oxford5k" in table.markdown
    compared = compare_landmarks(None, None, context, reference, "sparsity", context.codebooks[1])
    assert set(compared["status"]) == {"not run: put oxbuild_images-v1.tgz at data/oxford5k"}
    assert landmark_headline(None, context) == "Oxford5K: not run: put oxbuild_images-v1.tgz at data/oxford5k\n"


def test_other_data_sets_are_not_mixed_in(metrics, fits, reference):
    context = oxford(fits)
    both = pd.concat([metrics, metrics.assign(dataset="another", value=0.5)])
    one, two = (
        landmark_table(table, fits, context, reference, "map", context.codebooks[0]).frame for table in (metrics, both)
    )
    pd.testing.assert_frame_equal(one, two)


def test_rectangle_and_whole_image_stand_beneath_each_other(metrics, fits):
    table = query_regions(metrics, oxford(fits)).frame
    assert len(table) == 3 * 2 * 5
    full = cell(table, representation="sift-1m", region="full", method="tfidf")
    box = cell(table, representation="sift-1m", region="box", method="tfidf")
    assert box["map"] - full["map"] == pytest.approx(4.0)


def test_what_the_print_does_stands_beneath_the_method(metrics, fits):
    table = literal_forms(metrics, fits, oxford(fits))
    assert list(table.frame["method"].unique()) == [
        "tfidf",
        "soml-tg",
        "soml-tg-literal",
        "soml-da",
        "soml-da-literal",
        "soml-da-every-step",
    ]
    row = cell(table.frame, representation="sift-10k", method="soml-tg-literal", metric="update_share")
    assert row["value"] == pytest.approx(100)
    assert cell(table.frame, representation="sift-10k", method="tfidf", metric="sparsity")["cell"] == "-"
    bare = literal_forms(metrics, fits.drop(columns="n_updates"), oxford(fits)).frame
    assert set(bare.loc[bare["metric"] == "update_share", "cell"]) == {"-"}


def test_one_draw_has_no_spread(reference):
    made, fits = made_metrics(draws=1), made_fits(draws=1)
    context = oxford(fits, draws=1)
    table = landmark_table(made, fits, context, reference, "map", context.codebooks[0]).frame
    assert table["ours_std"].isna().all()
    assert not table["ours_cell"].str.contains("±").any()
    assert "one draw" in landmark_headline(made, context)


def test_the_headline_has_a_line_a_codebook(metrics, fits):
    lines = landmark_headline(metrics, oxford(fits)).splitlines()
    assert len(lines) == 4
    assert lines[0].strip().startswith("10,000 words  mAP  TF-IDF ")
    assert lines[-1] == "(mean over 7 landmarks ± standard deviation over 5 draws)"


def test_landmarks_are_those_of_the_fits_where_the_study_takes_all(fits):
    context = oxford(fits, landmarks=[], kind="landmarks")
    assert list(context.landmarks) == sorted(LANDMARKS)
    assert context.landmarks["radcliffe_camera"] == "Radcliffe Camera"


def test_qpao_says_that_it_is_reconstructed(fits):
    context = oxford(fits)
    assert context.title_of("qpao") == "QPAO (reconstructed)"
    marked = landmark_context(
        {
            "dataset": "x",
            "title": "x",
            "kind": "landmarks",
            "not_run": "",
            "representations": {"a": {"words": 10}},
            "methods": {"qpao": "QPAO, reconstructed"},
            "draws": 1,
            "positives": 7,
            "negatives": 5,
        },
        None,
    )
    assert marked.title_of("qpao") == "QPAO, reconstructed"
    assert marked.landmarks == {}
