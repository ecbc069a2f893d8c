"""Tables and figures of the category study: numbers of cells by hand, marks, columns, and that each is written."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from contract import asked_of
from contract import drawn as drawn_of
from made_category import CLASSES, DRAFT, JMLR, VAR10, VAR20, fits, study, study_with_all
from plotted import named, ruled

from lookalike.core.settings.model import plain
from lookalike.exhibits.model import NothingToShowError
from lookalike.exhibits.style import LOOKS
from lookalike.exhibits.words import headline
from lookalike.ranking.comparison import class_jackknife
from lookalike.studies.category.results import kept_after_the_end
from lookalike.studies.category.settings import Halves

usual_study = cache(study_with_all)


def drawn(id):
    return drawn_of(usual_study(), id)[0]


SEM = 0.001 * math.sqrt(2.5 / 5)
"""Standard error of the folds of made-up numbers."""


def at_k(k, level=0.33):
    """Precision at k of a method of this mAP."""
    return 1.5 * level * np.exp(-k / 80)


def cell(frame, **keys):
    rows = frame[np.logical_and.reduce([frame[name] == value for name, value in keys.items()])]
    assert len(rows) == 1, keys
    return rows.iloc[0]


def test_halves_are_pooled_to_one_set_whose_interval_leaves_out_classes():
    halves = Halves.model_validate({"count": 4, "printed": {JMLR: "classes=10"}})
    levels = {"oasis": 0.30, "mcml": 0.28, "mcml-factor": 0.24, "euclidean": 0.22}
    rows = [
        {"setting": id, "method": method, "repeat": str(fold), "metric": metric, "x": x}
        | {"value": level + 0.01 * number + 0.1 * fold}
        for id, number in halves.numbers().items()
        for method, level in levels.items()
        for metric, x in (("map", np.nan), ("p@k", 1), ("p@k", 10), ("p@k", 50))
        for fold in range(2)
    ]
    for row in rows:  # OASIS gains more on later halves
        row["value"] += 0.01 * int(row["setting"][-1]) * (row["method"] == "oasis")
    manifest = pd.DataFrame({"image_id": range(20), "label": CLASSES, "status": "ok"})
    section = {"methods": ["oasis", "mcml", "euclidean"], "minima": ["mcml-factor"], "halves": plain(halves)}
    without = {"variants": [], "set_aside": [], "timed": [], "equal": {}, "projected": []}
    given = {"tables": {"manifest": manifest}, "specs": {"mcml-factor": {}}, "subsets": halves.subsets()}
    toys = study(rows, **given, **section, **without)
    assert [exhibit.id for exhibit in toys.own_exhibits()] == ["learning/tens"]
    (row,) = toys.contrasts.intervals("classes=10", "map", "oasis", "mcml")
    expected = class_jackknife([3, 4, 5, 6], list(toys.classes_of_half.values()))
    assert (row.mean, row.low, row.high, row.p) == pytest.approx((4.5, expected.low, expected.high, expected.p))
    assert (row.n, row.interval, row.printed) == (20, "jackknife over classes", 4)
    table, _ = drawn_of(toys, "learning/tens")
    # 0.325, 0.335, ... of four halves, each the mean of its two folds
    expected = {("oasis", "map"): ["40.0 ± 2.6", "33", 4], ("mcml-factor", "p@10"): ["31.5 ± 1.3", "", 4]}
    for (method, metric), cells in expected.items():
        row = cell(table.frame, method=method, metric=metric)
        assert row[["ours_cell", "printed_cell", "n"]].tolist() == cells
    _, below = table.sheets
    assert below.heads[1:] == ("mAP [95%, jackknife over classes]", "p", "the paper")
    (gap, _, in_print) = next(row for row in below.rows if row[0] == "MCML")[1:]
    assert (gap[:6], in_print) == ("+4.5 [", "+4")
    assert toys.scope_of(asked_of("category")["jmlr-better-map"]).settings == ["classes=10"]


@pytest.mark.parametrize(
    ("id", "keys", "expected"),
    [
        # the folds differ by 0.1 point, 33 +- 1.6 is printed
        (f"{JMLR}/table4", {"method": "oasis", "metric": "map"},
         {"ours": 33, "ours_std": 0.1 * math.sqrt(2.5), "ours_cell": "33 ± 0.2", "printed_cell": "33 ± 1.6"}),
        (f"{JMLR}/table4", {"method": "lego", "metric": "p@10"}, {"ours": 100 * at_k(10, 0.27)}),
        (f"{JMLR}/table4", {"method": "mcml", "metric": "map"}, {"ours_cell": "*"}),
        (f"{JMLR}/table4", {"method": "lmnn-factor", "metric": "map"}, {"ours": 20, "printed_cell": ""}),
        # with equal settings; LEGO has no second run and stands for itself
        (f"{JMLR}/table4", {"method": "oasis", "metric": "map, equal"}, {"ours": 34, "printed_cell": ""}),
        (f"{JMLR}/table4", {"method": "lego", "metric": "map, equal"}, {"ours": 27}),
        (f"{DRAFT}/table1", {"method": "oasis", "metric": "map"},
         {"ours_cell": "0.33 ± 0.002", "printed_cell": "0.33 ± 0.016"}),
        # 24 of 249 other test images share the class of a query
        (f"{JMLR}/fig6", {"method": "chance"}, {"mean": 24 / 249}),
        (f"{JMLR}/fig6", {"method": "oasis", "x": 1}, {"mean": at_k(1), "sem": SEM, "high": at_k(1) + SEM}),
        # 0.43 ± 0.04 and 0.33 ± 0.016 are printed, standard deviations over five folds
        (f"{JMLR}/fig6", {"method": "oasis, printed", "x": 1}, {"mean": 0.43, "sem": 0.04 / math.sqrt(5)}),
        (f"{JMLR}/table5", {"method": "lego"}, {"ours": 1, "printed": 143}),
        (f"{JMLR}/table5", {"method": "mcml"}, {"ours_cell": "*"}),
        (f"{JMLR}/table5", {"method": "oasis"}, {"ours": 0.1, "printed": 0.12}),
        (f"{JMLR}/table5", {"method": "oasis-matlab"}, {"ours_cell": "", "printed_cell": "42 ± 15 min"}),
        (f"{DRAFT}/table2", {"method": "oasis"}, {"printed_cell": "42 ± 15 min"}),
        (f"{JMLR}/fig5", {"method": "oasis", "metric": "traced_map", "x": 1000}, {"mean": 0.3, "low": 0.3 - SEM}),
        (f"{JMLR}/fig5", {"method": "euclidean"}, {"mean": 0.23, "metric": "traced_map"}),
        (f"{JMLR}/fig5", {"method": "oasis, upright", "metric": "traced_map"}, {"x": 1000}),
        (f"{JMLR}/fig5", {"method": "oasis, printed"},
         {"mean": 0.33, "low": 0.33 - 0.016 / math.sqrt(5), "sem": 0.016 / math.sqrt(5), "x": 1000}),
        ("learning/transfer", {"metric": "map of new classes", "method": "oasis, minus"}, {"ours": -1}),
        ("learning/few_images", {"method": "oasis", "x": 5}, {"mean": 0.2, "n": 5}),
        ("learning/few_images", {"method": "oasis", "x": 40}, {"mean": 0.33}),
        # 6 seconds for 1,000 steps
        ("learning/budget", {"method": "oasis"}, {"x": 0.6, "mean": 0.25}),
        ("learning/mcml", {"method": "mcml", "metric": "traced_train_map", "x": 2000}, {"mean": 0.9}),
        (f"{JMLR}/fig8", {"method": "oasis-proj", "x": 1}, {"mean": at_k(1, 0.32) - at_k(1)}),
        (f"{JMLR}/fig9", {"method": "psd-100", "x": 1000}, {"mean": 0.3}),
        (f"{JMLR}/text", {"metric": "images_kept"}, {"ours": 2}),
        (f"{JMLR}/text", {"metric": "nonzeros_per_image"}, {"ours": 50}),
        (f"{JMLR}/text", {"metric": "symmetry_index"}, {"ours_cell": "0.950 ± 0.000"}),
    ],
)  # fmt: skip
def test_numbers_by_hand(id, keys, expected):
    row = cell(drawn(id).frame, **keys)
    assert {name: row[name] for name in expected} == pytest.approx(expected, nan_ok=True)


def test_tables_have_the_papers_form():
    table = drawn(f"{JMLR}/table4")
    first, below = table.sheets
    assert first.heads[:4] == ("10 classes", "", "OASIS", "MCML")
    assert first.rows[0][:3] == ("Mean avg. prec.", "ours", "33 ± 0.2")
    assert below.heading.startswith("Differences: OASIS minus method")
    equal = "mAP, equal settings [95%, over folds]"
    assert below.heads[1:] == ("mAP [95%, over folds]", "p", "mAP [95%, over images]", equal, "p", "the paper")
    assert below.title == "10 classes"
    gaps = {row[0]: row[1:] for row in below.rows}
    assert (*gaps["LEGO"][:2], gaps["LEGO"][-1]) == ("+6.0", "< 0.001", "+6")
    assert (gaps["LEGO"][2][:6], gaps["LEGO"][3]) == ("+6.0 [", "+7.0")
    assert "MCML" not in gaps, "a fit that did not end has no difference"
    assert "The order is OASIS, LEGO, Euclidean: that of the paper." in table.notes
    assert drawn(f"{DRAFT}/table1").sheets[0].title == "Var10"
    _, ratios = drawn(f"{JMLR}/table5").sheets
    of_lego = [(row[0], row[ratios.heads.index("LEGO")]) for row in ratios.rows]
    assert of_lego == [("Over OASIS, ours", "10x"), ("Over OASIS, paper", "1,200x"), ("Paper / ours", "140x")]


def test_numbers_of_other_data_say_so():
    table, toys = drawn_of(study_with_all(kind="synthetic"), f"{JMLR}/table4")
    assert "Synthetic images." in toys.differences(table)
    sentence = "Toys (images made by code), 1,000 visterms; mean ± standard deviation over 5 folds."
    assert toys.data_sentence(table) == sentence
    # no hollow markers
    assert not drawn_of(toys, f"{JMLR}/fig6")[0].frame["method"].str.contains("printed").any()


@pytest.mark.parametrize(
    ("changed", "subset", "n_classes", "why"),
    [
        # of the archive's kind, but a stand-in
        ({"stand_in": True}, {}, 10, "synthetic images"),
        ({}, {"classes": ["cats", "dogs"]}, 10, "other classes than the paper's"),
        ({}, {}, 9, "9 of the paper's 10 classes"),
        ({"splits": {"test": 10}}, {}, 10, "other splits than the paper's (test 10, the paper 25)"),
        ({"representation": {"words": 500}}, {}, 10, "another representation (500 words)"),
    ],
)
def test_why_a_subset_may_not_be_held_against_print(changed, subset, n_classes, why):
    toys = study(fits=fits(n_classes=n_classes), subsets={"var10": VAR10 | subset}, **changed)
    assert [subset.why_not_comparable for subset in toys.all_subsets] == [why]


def test_figures_show_what_was_run_and_printed():
    frame = drawn(f"{JMLR}/fig6").frame
    assert frame["x"].max() == 60
    assert set(frame.loc[frame["method"] == "oasis, printed", "x"]) == {1, 10, 50}
    assert "mcml" not in set(frame["method"])
    assert set(drawn(f"{JMLR}/fig8").frame["method"]) == {"oasis-proj"}
    test, training = drawn(f"{JMLR}/fig5").canvas.axes
    assert sorted(ruled(test)) == pytest.approx([0.23, 1000])
    assert ruled(training) == [1000], "the level is one of test images"
    hollow = {line.get_label(): line.get_color() for line in test.lines if line.get_markerfacecolor() == "none"}
    assert hollow.items() >= {f"{name}, printed": LOOKS[name.lower()].colour for name in ("OASIS", "Euclidean")}.items()
    (panel,) = drawn(f"{JMLR}/fig7").canvas.axes
    assert named(panel) == ["single rankers"] * 2 + ["average of 2 rankers"]
    # a fold that ended keeps its last value; the second has no number at step 1 and goes on
    rows, columns = [(0, 0, 0.2), (0, 1, 0.3), (1, 0, 0.2), (1, 2, 0.5)], ["repeat", "x", "value"]
    curves = pd.DataFrame(rows, columns=columns).assign(setting="a", method="mcml", metric="traced_map")
    kept = kept_after_the_end(curves)[columns]
    assert sorted(kept.itertuples(index=False, name=None)) == sorted([*rows, (0, 2, 0.3)])


def test_notes_tell_ends_of_grids_and_limits_of_iterations():
    overrides = {"lego": {"note": "at most 10 steps"}, "rca": {"note": "not shown"}}
    subsets = {"var10": VAR10 | {"overrides": overrides}, "var20": VAR20}
    table, toys = drawn_of(study_with_all(subsets=subsets), f"{JMLR}/table4")
    notes, differences = toys.notes(table), toys.differences(table)
    assert "* marks a fit that did not end within its time limit: MCML in 5 of 5 fits (Var10)." in notes
    assert "LEGO on Var10: at most 10 steps." in differences
    assert "Fits were stopped at the limit of iterations: LEGO in 5 of 5 fits (Var10)." in notes
    assert "Chosen at the edge of what was tried: OASIS at an end of its grid in 5 of 5 fits (Var10)." in notes
    assert not any("not shown" in note for note in differences)
    assert "The paper also shows 50 classes." in differences


def test_steps_of_oasis_on_rows_are_as_many_as_validation_gives_it():
    recorded = {"n_updates": (900.0, 900.0), "n_steps": (500.0, 1000.0), "cpu_seconds_fit": (6.0, 60.0)}
    both = {name: dict(zip(("oasis", "oasis-rows"), values, strict=True)) for name, values in recorded.items()}
    table, _ = drawn_of(study(fits=fits(**both)), f"{JMLR}/table5")
    assert cell(table.frame, method="oasis-rows")["ours"] == pytest.approx(0.5)


def test_settings_choose_subsets_and_the_headline_has_classes_left_out(tmp_path):
    asked = {f"{JMLR}/{name}": ["var20"] for name in ("table4", "fig6")}
    both = study_with_all(subsets={"var10": VAR10, "var20": VAR20}, exhibits=asked)
    for id, expected in {f"{JMLR}/table4": {"var20"}, f"{DRAFT}/table1": {"var10", "var20"}}.items():
        assert set(drawn_of(both, id)[0].frame["setting"]) == expected
    with pytest.raises(NothingToShowError, match="OASIS was not run here"):  # var10 is of another figure
        drawn_of(both, f"{JMLR}/fig6")
    toys = study_with_all()
    dropped = tmp_path / "var10-dropped.csv"
    dropped.write_text('label,usable,reason\ncat,12,"12 usable images, 65 are needed"\n')
    toys._files["dropped"] = [str(dropped)]
    *_, last = headline(toys).splitlines()
    assert last == "classes left out of var10: cat (12 usable: 65 are needed)"
