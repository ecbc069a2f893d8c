"""Tables and figures of the category study: numbers of cells by hand, marks, columns, and that each is written."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from small_category import DRAFT, JMLR, PSD, UNFINISHED, VAR10, VAR20, against, curve, fits, scores, study

from lookalike.core.files import read_json
from lookalike.exhibits.sheets import sheets_of
from lookalike.exhibits.writing import write_exhibit
from lookalike.studies.category import training
from lookalike.studies.category.study import why_not_comparable
from lookalike.studies.rooms import room_exhibits

EVERY = room_exhibits("category")
EXHIBITS = [id for id, one in EVERY.items() if one.kind in ("table", "figure")]
"""Those of images have tests of their own."""
LEVELS = {"oasis": 0.33, "lego": 0.27, "euclidean": 0.23}
SYNTHETIC = {"kind": "synthetic", "synthetic": True}


def whole(id, **more):
    """A study with all kinds of numbers, given an exhibit; MCML did not end on Var10."""
    rows = scores(**LEVELS) + scores("train_map", **LEVELS)
    for k in range(1, 100):
        for method, level in {**LEVELS, "oasis-proj": 0.32}.items():
            rows += curve(method, [1.5 * level * np.exp(-k / 80)], "p@k", steps=[k])
    for method in ("oasis", "mcml", *PSD):
        rows += curve(method, (0.23, 0.3, 0.33)) + curve(method, (0.23, 0.5, 0.9), "traced_train_map")
    rows += curve("oasis", (1.0, 0.98, 0.95), "symmetry_index", noisy=False)
    for method in ("ranker 0", "ranker 1", "average of 2"):
        rows += curve(method, (0.23, 0.28, 0.3), "ranker_map")
    rows += curve("oasis", (30, 200), "mistakes", steps=(100, 1000), noisy=False)
    for name, level in (("I", 1.0), ("W", 0.4)):
        rows += curve(name, (100 * level, 1000 * level), "bound", steps=(100, 1000), noisy=False)
    fitted = ("oasis", "lego", "mcml")
    recorded = fits(
        cpu_seconds_fit={"oasis": 6.0, "lego": 60.0, "mcml": 600.0},
        not_converged={"mcml": UNFINISHED},
        symmetry_index=0.95,
        n_words=dict.fromkeys(fitted, 1000),
        nonzeros_per_image_train=dict.fromkeys(fitted, 50.0),
        stop_at_traced_aggressiveness=1500.0,
        at_grid_edge=True,
        converged={"oasis": True, "lego": False},
        processor=dict.fromkeys(fitted, "a processor"),
    )
    manifest = pd.DataFrame({"status": ["ok", "ok", "small"], "label": ["a", "b", "b"]})
    tables = against(euclidean=0.1, lego=-0.02) | {"manifest": manifest, "selections": pd.DataFrame()}
    tables |= dict.fromkeys(("oasis_traces", "mcml_traces", "projected_traces", "rankers", "mistakes"))
    return study(rows, id, EVERY[id].kind, fits=recorded, tables=tables, **more)


def drawn(id, **more):
    return EVERY[id].draw(whole(id, **more))


def cell(frame, **keys):
    rows = frame[np.logical_and.reduce([frame[name] == value for name, value in keys.items()])]
    assert len(rows) == 1, keys
    return rows.iloc[0]


@pytest.mark.parametrize("id", EXHIBITS)
def test_every_exhibit_is_written(id, tmp_path):
    write_exhibit(EVERY[id], whole(id), tmp_path)
    sidecar = read_json(tmp_path / f"{id}.json")
    assert sidecar["problem"] == ""
    assert sidecar["state"] != "failed"
    assert [suffix for suffix in EVERY[id].suffixes if not (tmp_path / f"{id}{suffix}").is_file()] == []
    assert sidecar["caption"].startswith(EVERY[id].caption)


@pytest.mark.parametrize("id", EVERY)
def test_where_nothing_was_run_every_exhibit_says_what_to_do(id, tmp_path):
    made = study(not_run="not run: put images at data/toys")
    made.files.clear()
    write_exhibit(EVERY[id], made, tmp_path)
    assert read_json(tmp_path / f"{id}.json")["problem"] == "not run: put images at data/toys"


def test_main_table_has_ours_beside_print_with_a_verdict():
    table = drawn(f"{JMLR}/table4")
    oasis = cell(table.frame, method="oasis", metric="map")
    # the folds differ by 0.1 point, 33 +- 1.6 is printed
    assert (oasis.ours, oasis.ours_std) == (pytest.approx(33), pytest.approx(100 * 0.001 * math.sqrt(2.5)))
    assert (oasis.ours_cell, oasis.printed_cell, oasis.status) == ("33 ± 0.2", "33 ± 1.6", "agrees")
    assert cell(table.frame, method="lego", metric="p@10").ours == pytest.approx(150 * 0.27 * np.exp(-10 / 80))
    first, *below = sheets_of(table)
    assert first.heads[:4] == ("10 classes", "", "OASIS", "MCML")
    assert first.rows[0][:3] == ("Mean avg. prec.", "ours", "33 ± 0.2")
    assert [sheet.heading for sheet in below] == [table.below.heading]
    draft = drawn(f"{DRAFT}/table1")
    assert cell(draft.frame, method="oasis", metric="map").ours_cell == "0.33 ± 0.002"
    assert sheets_of(draft)[0].title == "Var10"


def test_what_did_not_converge_is_a_star_in_tables_and_not_drawn():
    table = drawn(f"{JMLR}/table4")
    mcml, why = cell(table.frame, method="mcml", metric="map"), f"{UNFINISHED} (5 of 5 folds)"
    assert (mcml.ours_cell, mcml.status, mcml.reason) == ("*", "no result", f"did not converge: {why}")
    assert cell(table.frame, method="lmnn", metric="map").ours_cell == "-"
    assert f"*: a fit did not end within its time limit: MCML on Var10: {why}." in whole(f"{JMLR}/table4").notes(table)
    assert "mcml" not in set(drawn(f"{JMLR}/fig6").frame["series"])


def test_numbers_of_other_data_get_no_verdict():
    made, table = whole(f"{JMLR}/table4", **SYNTHETIC), drawn(f"{JMLR}/table4", **SYNTHETIC)
    assert set(table.frame["status"]) == {"", "not comparable", "no result"}
    assert "Not comparable with the printed numbers: synthetic images." in made.notes(table)
    # no hollow markers, and a caption that says so
    assert not drawn(f"{JMLR}/fig6", **SYNTHETIC).frame["series"].str.contains("printed").any()
    assert "toys, synthetic images, 1,000 visterms; means over 5 folds" in made.data_sentence(table)


@pytest.mark.parametrize(
    ("changed", "subset", "n_classes", "why"),
    [
        ({}, {}, 10, ""),
        ({"kind": "synthetic"}, {}, 10, "synthetic images"),
        ({}, {"classes": ["cats", "dogs"]}, 10, "other classes than the paper's"),
        ({"kind": "folder"}, {}, 10, "not known to be the paper's images"),
        ({}, {}, 9, "9 of the paper's 10 classes"),
        ({"splits": {"folds": 5, "train": 40, "test": 10, "validation": 8}}, {}, 10,
         "other splits than the paper's (test 10, the paper 25)"),
        ({"representation_settings": {"words": 500, "hellinger": True}}, {}, 10,
         "another representation (500 words, square roots)"),
    ],
)  # fmt: skip
def test_why_a_subset_may_not_be_held_against_print(changed, subset, n_classes, why):
    assert why_not_comparable({**study().settings, **changed}, {**VAR10, **subset}, n_classes) == why


def test_precision_curves_have_chance_errors_and_printed_points():
    frame = drawn(f"{JMLR}/fig6").frame
    # 24 of 249 other test images share the class of a query
    assert cell(frame, series="chance").precision == pytest.approx(24 / 249)
    at_one = cell(frame, series="oasis", k=1)
    assert at_one.precision == pytest.approx(1.5 * 0.33 * np.exp(-1 / 80))
    assert [at_one.error, at_one.high - at_one.precision] == pytest.approx([0.001 * math.sqrt(2.5 / 5)] * 2)
    assert frame["k"].max() == 60
    assert set(frame.loc[frame["series"] == "oasis, printed", "k"]) == {1, 10, 50}
    assert set(drawn(f"{JMLR}/fig8").frame["series"]) == {"oasis", "oasis-proj", "chance"}


def test_comparison_has_every_method_in_points():
    frame = drawn("learning/comparison").frame
    row = cell(frame, method="lego")
    assert (row.difference, row.verdict, row.n_adjusted) == (pytest.approx(-2), "OASIS worse", 2)
    assert (row.difference_cell, row.t_cell, row.p_cell) == ("-2.0", "-2.4 to -1.6", "0.020")
    assert cell(frame, method="mcml").verdict == "*"
    assert set(frame["block"]) == {"Var10, compared methods", "Var10, symmetric variants"}


def test_times_stand_beside_print_without_a_verdict():
    table = drawn(f"{JMLR}/table5")
    of = table.frame.set_index("column")
    lego, matlab = of.loc["lego"], of.loc["oasis-matlab"]
    assert (lego.ours, lego.printed, lego.status) == (1, 143, "not comparable")
    assert (lego.ours_over_oasis, lego.printed_over_ours) == (10, 143)
    assert lego.printed_over_oasis_matlab == pytest.approx(143 / 42)
    assert of.loc["mcml"].ours_cell == "*"
    assert matlab.ours == of.loc["oasis-matlab+c"].ours == 0.1
    assert math.isnan(matlab.ours_over_oasis)
    ratios = [row[0] for row in sheets_of(table.below)[0].rows]
    paper = [f"Over OASIS, paper ({of})" for of in ("Matlab", "Matlab+C")]
    assert ratios == ["Paper / ours", "Over OASIS, ours", *paper]
    assert any("a processor" in note for note in table.notes)


def test_training_curves_start_at_euclidean_and_show_the_stop():
    figure = drawn(f"{JMLR}/fig5")
    frame = figure.frame
    assert cell(frame, series="test", step=1000)["map"] == pytest.approx(0.3)
    assert cell(frame, series="euclidean")["map"] == pytest.approx(0.23)
    assert cell(frame, series="validation stop").step == 1500
    assert cell(frame, series="oasis, printed")["map"] == pytest.approx(0.33)
    assert sorted(line.at for line in figure.panels[0].lines) == pytest.approx([0.23, 1500])
    stop = cell(figure.cells, metric="saturation_steps")
    assert (stop.ours, stop.printed, stop.status) == (1500, 35_000, "not comparable")


def test_rankers_are_thin_lines_behind_their_average():
    figure = drawn(f"{JMLR}/fig7")
    assert [series.thin for series in figure.panels[0].series] == [True, True, False]
    average = cell(figure.frame, series="average of 2", step=2000)
    assert (average.n_rankers, average.ranker, average.aggressiveness) == (2, -1, 0.1)


def test_a_fold_that_ended_keeps_its_last_value():
    curves = pd.DataFrame({0: [0.2, 0.3, np.nan], 1: [0.2, np.nan, 0.5]}, index=[0, 1, 2])
    # the second fold has no number at step 1 and goes on
    assert training.kept_after_the_end(curves).T.to_dict("list") == {0: [0.2, 0.2], 2: [0.3, 0.5]}


def test_bounds_count_folds_that_lie_below_the_mistakes():
    figure = drawn("learning/loss_bound")
    end = cell(figure.frame, series="bound, U = W", step=1000)
    assert (end.value, end.ratio, end.n_folds_below) == (400, 2, 0)
    assert cell(figure.frame, series="triplets", step=1000).value == 1000
    assert "Bounds that lie below the mistakes: 0 of 20 points of single folds." in figure.notes


def test_numbers_in_text_are_of_the_printed_subset():
    facts = drawn(f"{JMLR}/text").frame.set_index("metric")
    assert facts.loc["images_kept", "ours"] == 2
    nonzeros = ["ours", "reason"]
    assert facts.loc["nonzeros_per_image", nonzeros].tolist() == [50, "1,000 words here, 10,000 in the paper"]
    assert facts.loc["symmetry_index", ["subset", "ours_cell", "status"]].tolist() == [
        "var10", "0.950 ± 0.000", "higher"]  # fmt: skip


def test_ablations_have_every_representation_the_own_first():
    own = scores(oasis=0.3)
    other = [{**one, "representation": "a-words", "value": 0.4} for one in own]
    table = EVERY["representation/ablations"].draw(study([*other, *own], methods=["oasis"]))
    assert table.frame["representation"].tolist() == ["words1000", "a-words"]
    assert table.frame["map"].tolist() == pytest.approx([30, 40])


def test_notes_tell_ends_of_grids_and_limits_of_iterations():
    made = whole(f"{JMLR}/table4", notes={"lego": "at most 10 steps", "tfidf": "not shown"})
    told = made.notes(EVERY[f"{JMLR}/table4"].draw(made))
    assert "LEGO: at most 10 steps." in told
    assert "Stopped at the limit of iterations: LEGO in 5 of 5 folds (Var10)." in told
    assert "Selection ended at an end of what was tried: OASIS: in 5 of 5 folds the end of the grid." in told
    assert not any("not shown" in note for note in told)


def test_an_exhibit_shows_the_subsets_that_the_settings_give_it():
    both = {"subsets": {"var10": VAR10, "var20": VAR20}, "exhibits": {f"{JMLR}/table4": ["var20"]}}
    assert set(drawn(f"{JMLR}/table4", **both).frame["subset"]) == {"var20"}
    assert set(drawn(f"{DRAFT}/table1", **both).frame["subset"]) == {"var10", "var20"}


def test_the_headline_has_map_and_classes_left_out(tmp_path):
    made = whole(f"{JMLR}/table4")
    dropped = tmp_path / "var10-dropped.csv"
    dropped.write_text('label,usable,reason\ncat,12,"12 usable images, 65 are needed"\n')
    made.files["dropped"] = [str(dropped)]
    first, *_, last = made.headline().splitlines()
    assert first.startswith("var10  mAP  OASIS 33.0 ± 0.2 %  MCML *  LEGO 27.0 ± 0.2 %  LMNN -")
    assert last == "classes left out of var10: cat (12 usable: 65 are needed)"
