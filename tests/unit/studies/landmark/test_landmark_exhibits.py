"""The landmark study's tables, figures and montage: what is averaged, what stands beside it, what is not judged."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from made_numbers import LANDMARKS, SETTINGS, WORDS, dimensions, fits, metrics, pictures, study, tables

from lookalike.exhibits.registry import exhibits_of, planned
from lookalike.exhibits.writing import write_exhibits
from lookalike.studies.landmark import exhibits
from lookalike.studies.landmark.rankings import MAP, SPARSITY
from lookalike.studies.landmark.study import TRAIN_TIME
from lookalike.studies.metrics import select


@pytest.fixture(scope="module")
def oxford():
    return study(tables())


def cells(made, quantity=MAP, place=0):
    codebook = made.codebooks[place]
    name = f"soml-aaai-2014/table{1 + place + 3 * [MAP, SPARSITY, TRAIN_TIME].index(quantity)}"
    made = made.drawing(exhibits_of("landmark")[name])
    assert codebook.n_words == list(made.settings["codebooks"].values())[place]["words"]
    return exhibits.quantity_table(made, quantity).frame.set_index(["landmark", "method"])


def test_a_row_is_the_mean_and_spread_of_its_draws_beside_print(oxford):
    own = select(oxford.table("metrics"), representation="sift-10k", subset="hertford", method="soml-da", metric="map")
    row = cells(oxford).loc["hertford", "soml-da"]
    assert row["ours"] == pytest.approx(100 * own["value"].mean())
    assert row["ours_std"] == pytest.approx(100 * own["value"].std(ddof=1))
    assert (row["printed"], row["printed_cell"], row["n_draws"]) == (35.93, "35.93", 5)
    assert list(dict.fromkeys(cells(oxford).reset_index()["method"])) == SETTINGS["methods"]


def test_the_mean_over_landmarks_is_taken_within_each_draw(oxford):
    numbers = oxford.table("metrics")
    own = select(numbers, representation="sift-10k", method="tfidf", metric="map")
    by_draw = 100 * own.groupby("fold")["value"].mean()
    mean, std, n_draws = oxford.summary(oxford.codebooks[0])["mean", "tfidf", "map"]
    assert (mean, std, n_draws) == (pytest.approx(by_draw.mean()), pytest.approx(by_draw.std(ddof=1)), 5)
    # a draw without one of the landmarks has no mean over all of them
    less = study(tables(metrics=numbers.drop(own[(own["subset"] == "bodleian") & (own["fold"] == 3)].index)))
    mean, _, n_draws = less.summary(less.codebooks[0])["mean", "tfidf", "map"]
    assert (mean, n_draws) == (pytest.approx(by_draw.drop(3).mean()), 4)


@pytest.mark.parametrize(
    ("shift", "status"), [(0.0199, "agrees"), (-0.0199, "agrees"), (0.0202, "higher"), (-0.0202, "lower")]
)
def test_a_number_agrees_within_twice_our_spread(shift, status):
    numbers = metrics()
    chosen = (numbers["representation"] == "sift-10k") & (numbers["subset"] == "hertford")
    chosen &= (numbers["method"] == "tfidf") & (numbers["metric"] == "map")
    # a standard deviation of one point around the printed 31.16
    numbers.loc[chosen, "value"] = 0.3116 + shift + np.array([-1, -1, 0, 1, 1]) * 0.01
    assert cells(study(tables(metrics=numbers))).loc[("hertford", "tfidf"), "status"] == status


@pytest.mark.parametrize("place", range(3))
def test_every_printed_number_is_held_against_ours_but_times(oxford, place):
    for quantity, n, statuses in (
        (MAP, 40, {"agrees", "higher", "lower"}),
        (SPARSITY, 28, {"agrees", "higher", "lower"}),
    ):
        table = cells(oxford, quantity, place)
        assert (table["status"] != "").sum() == n
        assert set(table["status"]) - {""} <= statuses
    times = cells(oxford, TRAIN_TIME, place)
    assert set(times["status"]) == {"not comparable", ""}
    assert "tfidf" not in times.index.get_level_values("method")
    assert times.loc[("all_souls", "oasis-diagonal"), "printed"] > 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"negatives": 100}, "other images to learn from than the paper's (100 negatives, the paper 500)"),
        ({"landmarks": LANDMARKS[:6]}, "other landmarks than the paper's"),
        ({"codebooks": {"sift-10k": {"words": 5000, "title": "5,000"}}}, "a codebook of 5,000 words, the paper 10,000"),
        ({"codebooks": {"sift-10k": {"words": 10_000, "title": "", "not_comparable": "RootSIFT"}}}, "RootSIFT"),
    ],
)
def test_other_settings_stand_beside_print_without_a_verdict(changes, reason):
    table = cells(study(tables(), **changes))
    judged = table[table["status"] != ""]
    assert set(judged["status"]) == {"not comparable"}
    assert set(judged["reason"]) == {reason}
    assert judged["printed"].notna().all()


@pytest.mark.parametrize("synthetic", [True, False])
def test_other_landmarks_have_no_printed_numbers_beside_them(synthetic):
    made = study(tables(), kind="landmarks", synthetic=synthetic, landmarks=LANDMARKS[:3])
    table = cells(made)
    assert table["printed"].isna().all()
    assert list(dict.fromkeys(table.index.get_level_values("landmark"))) == [*LANDMARKS[:3], "mean"]


def test_a_fit_that_hit_its_limit_is_a_star_and_takes_the_mean_with_it():
    limited = fits()
    failed = (
        (limited["representation"] == "sift-1m") & (limited["subset"] == "bodleian") & (limited["method"] == "qpao")
    )
    limited.loc[failed & (limited["fold"] == 2), "not_converged"] = "the fit took more than 600 s"
    made = study(tables(fits=limited))
    table = cells(made, place=2)
    assert set(table.loc[[("bodleian", "qpao"), ("mean", "qpao")], "ours_cell"]) == {"*"}
    assert "±" in table.loc[("hertford", "qpao"), "ours_cell"]
    assert table.loc[("bodleian", "qpao"), "reason"] == "did not converge: the fit took more than 600 s (1 of 5 draws)"
    assert "QPAO (reconstructed) *" in made.headline()
    drawn = exhibits.quantity_table(made.drawing(exhibits_of("landmark")["soml-aaai-2014/table3"]), MAP)
    notes = made.drawing(exhibits_of("landmark")["soml-aaai-2014/table3"]).notes(drawn)
    assert any("QPAO (reconstructed) on Bodleian, 1,000,000 words: the fit took" in note for note in notes)


def test_fits_that_stopped_at_their_limit_are_counted_where_their_codebook_is_shown():
    stopped = fits()
    qpao = stopped["method"] == "qpao"
    stopped.loc[qpao, "converged"] = True
    one = qpao & (stopped["representation"] == "sift-10k") & (stopped["subset"] == "bodleian") & (stopped["fold"] < 2)
    stopped.loc[one, "converged"] = False
    made = study(tables(fits=stopped))
    sentence = "Stopped at the limit of iterations: QPAO (reconstructed) in 2 of 35 fits (10,000 words)."
    for name, is_told in (("table1", True), ("table2", False)):
        at = made.drawing(exhibits_of("landmark")[f"soml-aaai-2014/{name}"])
        assert (sentence in at.notes(exhibits.mean_average_precision(at))) == is_told


def test_one_draw_has_no_spread():
    made = study(tables(metrics=metrics(draws=1), fits=fits(draws=1)), draws=1)
    assert not cells(made)["ours_cell"].str.contains("±").any()
    assert "one draw" in made.headline()
    assert "±" not in made.data_sentence(exhibits.query_region(made))


def test_the_headline_has_a_line_a_codebook(oxford):
    lines = oxford.headline().splitlines()
    assert len(lines) == 4
    assert lines[0].strip().startswith("10,000 words  mAP  TF-IDF ")
    assert lines[-1] == "(mean over 7 landmarks ± standard deviation over 5 draws)"
    waiting = study({}, not_run="not run: put oxbuild_images-v1.tgz at data/oxford5k")
    assert waiting.headline() == "Oxford5K: not run: put oxbuild_images-v1.tgz at data/oxford5k\n"


def test_rectangle_and_whole_image_stand_beneath_each_other(oxford):
    table = exhibits.query_region(oxford).frame.set_index(["representation", "region", "method"])["ours"]
    assert len(table) == 3 * 2 * 5
    assert table["sift-1m", "box", "tfidf"] - table["sift-1m", "full", "tfidf"] == pytest.approx(4.0)


def test_what_the_print_does_stands_beneath_the_method(oxford):
    table = exhibits.literal_forms(oxford).frame.set_index(["representation", "method", "metric"])
    assert list(dict.fromkeys(table.index.get_level_values("method"))) == [
        "tfidf",
        "soml-tg",
        "soml-tg-literal",
        "soml-da",
    ]
    assert table.loc[("sift-10k", "soml-tg-literal", "update_share"), "ours"] == pytest.approx(100)
    assert table.loc[("sift-10k", "tfidf", "sparsity"), "ours_cell"] == "-"


def test_times_are_medians_with_the_printed_means_beside_them(oxford):
    drawn = exhibits.time_over_features(oxford)
    frame = drawn.frame.set_index(["series", "method", "n_features"])
    own = select(dimensions(), learner="oasis-diagonal", n_features=100_000)["cpu_seconds"]
    row = frame.loc["ours", "oasis-diagonal", 100_000]
    assert (row["seconds"], row["low"], row["high"], row["n_repeats"]) == (own.median(), own.min(), own.max(), 3)
    printed = select(oxford.printed, exhibit="table9", method="oasis")["value"].mean()
    assert frame.loc[("printed", "oasis-diagonal", 1_000_000), "seconds"] == pytest.approx(printed)
    assert ("ours", "qpao", 1_000_000) not in frame.index, "it did not end"
    inner, whole = (frame.loc[(name, "soml-tg", 10_000), "seconds"] for name in ("without pair products", "ours"))
    assert inner == pytest.approx(whole - 0.04)
    told = " ".join(drawn.notes)
    assert "21,000 triplets (QPAO (reconstructed), S-TG, S-DA) and 100,000 triplets (OASIS), median of 3" in told
    assert "QPAO (reconstructed) at d = 1,000,000 is not drawn: the fit took more than 600 s" in told
    assert {one.name for one in drawn.panels[0].series} >= {"QPAO (reconstructed)", "QPAO, printed"}
    places = sorted((label.y for label in drawn.panels[0].labels if label.x == 1_000_000), reverse=True)
    assert all(above >= 1.79 * below for above, below in itertools.pairwise(places))


def test_sizes_whose_rows_are_unlike_are_told():
    small = dimensions().query("n_features == 10_000").assign(n_features=1000, nonzeros=500.0)
    made = study(tables(dimensions=pd.concat([small, dimensions()])))
    assert "about 2,000 non-zeros each (500 at d = 1,000)" in " ".join(exhibits.time_over_features(made).notes)


def test_a_point_of_a_curve_is_a_mean_over_landmarks_and_draws(oxford):
    drawn = exhibits.sparsity_over_lambda(oxford)
    own = select(oxford.table("metrics"), representation="sift-100k", method="soml-da", x=1e-3)
    frame = select(drawn.frame, representation="sift-100k").set_index(["series", "regularization"])
    row = frame.loc["soml-da", 1e-3]
    assert row["sparsity"] == pytest.approx(100 * select(own, metric="sweep_sparsity")["value"].mean())
    assert row["map"] == pytest.approx(100 * select(own, metric="sweep_map")["value"].mean())
    series = frame.reset_index().set_index("series")
    assert series.loc[["tfidf, printed", "soml-da, printed"], "map"].to_list() == [48.51, 61.08]
    rings = [one for one in drawn.panels[1].series if one.name == "lambda of the study"]
    assert {one.where["regularization"] for one in rings} == {1e-5, 1e-6}
    assert {label.text for label in drawn.panels[1].labels} == {"0", "1e-5", "1e-6", "1e-3"}


def test_a_study_of_few_methods_has_their_points_alone():
    few = ["tfidf", "soml-tg"]
    drawn = exhibits.sparsity_over_lambda(study(tables(), methods=few))
    assert {name.removesuffix(", printed") for name in drawn.frame["series"]} == {*few, "soml-da"}, "a sweep stays"
    assert "qpao, printed" not in set(drawn.frame["series"])
    without = tables(metrics=metrics({"tfidf": 0.0, "soml-tg": 0.1}), fits=fits().query("method == 'soml-tg'"))
    row = cells(study(without, methods=few)).loc[("hertford", "qpao")]
    assert (row["ours_cell"], row["status"], row["reason"]) == ("-", "no result", "QPAO (reconstructed) was not run")


def test_a_metric_without_a_weight_still_has_a_place():
    numbers = metrics()
    numbers.loc[(numbers["metric"] == "sweep_sparsity") & (numbers["x"] == 1e-3), "value"] = 1.0
    drawn = exhibits.sparsity_over_lambda(study(tables(metrics=numbers)))
    axis = drawn.panels[0].x
    places = select(drawn.frame, representation="sift-10k")["nonzero"].dropna()
    assert axis.low < places.min() < places.max() < axis.high


def test_the_montage_shows_the_largest_gain_and_the_largest_loss(tmp_path):
    given, files = pictures(tmp_path)
    made = study({**tables(), **given}, files)
    drawn = exhibits.first_results(made)
    chosen = drawn.frame.drop_duplicates(["chosen_as", "method"]).set_index(["chosen_as", "method"])
    assert chosen.loc[("largest gain", "soml-da"), "query"] == "all_souls_1"
    assert set(chosen.loc["largest loss"]["query"]) <= {"all_souls_2", "bodleian_1"}
    own = dict(zip(given["queries"]["query"], given["queries"]["image_id"], strict=True))
    assert not (drawn.frame["image_id"] == drawn.frame["query"].map(own)).any()
    assert (drawn.frame["rank"] == drawn.frame["place"] + 1).all(), "the query's own image is the first of the list"
    kinds = {3: "good", 4: "ok", 5: "junk", 6: "good"}
    assert (drawn.frame["relevance"] == drawn.frame["image_id"].map(kinds).fillna("wrong")).all()
    assert drawn.rows[0][0].box == (0.25, 0.25, 0.5, 0.75)
    assert "of all 3 pairs of a query and a draw, 1,000,000 words, TF-IDF against S-DA" in drawn.notes[0]


def test_the_reports_entries_count_no_junk(tmp_path):
    given, files = pictures(tmp_path)
    entries = exhibits.first_results(study({**tables(), **given}, files)).entries
    assert [entry.words for entry in entries] == ["All Souls", "All Souls", "Bodleian"]
    gained = next(entry for entry in entries if entry.chosen == "largest gain")
    assert gained.rankings[1].summary.startswith("3 of 9 of its landmark (33 %); average precision")
    assert [found.words for found in gained.rankings[1].found[:5]] == [
        "All Souls, good", "All Souls, ok", "All Souls, good", "All Souls, junk", ""
    ]  # fmt: skip


def test_a_montage_without_two_methods_says_why_it_is_empty(tmp_path):
    given, files = pictures(tmp_path)
    limited = fits()
    limited.loc[limited["method"] == "soml-da", "not_converged"] = "the fit took more than 600 s"
    files["ranks"] = [path for path in files["ranks"] if "tfidf" in path]
    drawn = exhibits.first_results(study({**tables(fits=limited), **given}, files))
    assert drawn.frame.empty
    assert drawn.notes[0].startswith("no query has rankings by both TF-IDF and S-DA: the fit took more than 600 s")


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_study_has_the_tables_of_its_codebooks_and_the_figures_of_its_parts(n):
    few = {**SETTINGS, "codebooks": dict(list(SETTINGS["codebooks"].items())[:n]), "parts": ["sweep"]}
    names = [one.id for one in planned("landmark", few)]
    assert [name for name in names if name.startswith("soml")] == [
        f"soml-aaai-2014/table{3 * place + number}" for place in range(3) for number in range(1, n + 1)
    ]
    assert "landmark/time" not in names
    assert "landmark/sparsity" in names
    assert "landmark/montage" not in [one.id for one in planned("landmark", {**few, "methods": ["soml-da"]})]


def test_every_exhibit_is_written_and_says_which_data_it_shows(tmp_path):
    given, files = pictures(tmp_path)
    changes = {"synthetic": True, "kind": "synthetic_landmarks", "title": "demo landmarks"}
    made = study({**tables(), **given}, files, **changes)
    assert write_exhibits(exhibits_of("landmark").values(), made, tmp_path / "exhibits") == []
    for sidecar in sorted((tmp_path / "exhibits").rglob("*.json")):
        told = json.loads(sidecar.read_text())
        is_simulated = told["id"] == "landmark/time"
        assert ("Rows are simulated" if is_simulated else "demo landmarks, synthetic images") in told["caption"]
        ours = any(note.startswith("QPAO (reconstructed): ours") for note in told["notes"])
        assert ours == (told["name"] not in ("literal", "montage")), told["id"]
        assert ("Not comparable with the printed numbers: synthetic images." in told["notes"]) == (
            told["paper"] == "soml-aaai-2014"
        )
    assert len(list((tmp_path / "exhibits").rglob("*.json"))) == 9 + 6
    assert set(WORDS) == set(pd.read_csv(tmp_path / "exhibits/landmark/sparsity.csv")["representation"])
