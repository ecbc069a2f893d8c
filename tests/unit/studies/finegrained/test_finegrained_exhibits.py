"""Tables and figures of the fine-grained study, from made-up numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from contract import check_exhibits, check_not_run, claims
from made_studies import (
    LEVELS,
    REAL,
    drawn,
    made_contrasts,
    made_curves,
    made_filters,
    made_fits,
    made_intervals,
    made_pool,
    made_relevance,
    made_study,
    of_numbers,
    study_of_images,
)

from lookalike.exhibits.printed import AGREES, HIGHER, LOWER, NO_RESULT, NOT_COMPARABLE
from lookalike.exhibits.sheets import sheets_of
from lookalike.studies.finegrained.numbers import metrics_of
from lookalike.studies.finegrained.systems import TABLE1, TABLE2, contrast_pairs

PRECISION, SCORE = "similarity_precision", "score@30"


def row(table, name):
    """Cells of one row of a table as it is read."""
    return next(row for row in sheets_of(table)[0].rows if row[0] == name)


def statuses(table):
    """Status and reason by system and metric, of the numbers that the paper prints."""
    cells = table.frame[table.frame["status"] != ""]
    return cells.set_index(["system", "metric"])[["status", "reason"]]


def test_every_exhibit_is_drawn_and_says_which_data_it_shows(tmp_path):
    tables = {"metrics": metrics_of(made_intervals(), made_curves()), "contrasts": made_contrasts(),
              "fits": made_fits(), "pool": made_pool()}  # fmt: skip
    files = made_filters(tmp_path) | made_relevance(tmp_path)[1]
    study = study_of_images(tmp_path, tables=tables, files=files, **REAL | {"title": "our triplets"})
    study.claim_rows = claims("finegrained")
    printed = [f"deep-ranking-cvpr-2014/table{number}" for number in (1, 2)]
    for told in check_exhibits("finegrained", study, tmp_path / "all", printed=printed).values():
        assert "Data: our triplets (rated by people), 14,000 triplets of 3,500 query images" in told["caption"]
    study.files.clear()
    study.settings = {**study.settings, "not_run": "not run: put triplets there"}
    check_not_run("finegrained", study, tmp_path / "not run")


@pytest.mark.parametrize(("name", "systems"), [("table1", TABLE1), ("table2", TABLE2)])
def test_ours_stand_above_the_printed_in_the_papers_order(name, systems, tmp_path):
    study = of_numbers(tmp_path, made_intervals(reach=0.5), **REAL)
    table = drawn(study, name)
    assert tuple(dict.fromkeys(table.frame["system"])) == systems
    assert "brackets are 95% intervals" in study.data_sentence(table)
    printed = study.printed_in(name, "deep-ranking-cvpr-2014")
    scores = table.frame[table.frame["metric"] == SCORE]
    assert scores["printed"].tolist() == printed.loc[printed["metric"] == SCORE, "value"].tolist()
    assert set(statuses(table)["status"]) == {AGREES}
    rows = sheets_of(table)[0].rows
    place = [row[0] for row in rows].index("DeepRanking")
    assert rows[place] == (
        "DeepRanking", "ours", "85.7 [85.2, 86.2]", "7,004 [6,864, 7,144]", "50.0 [49.0, 51.0]", "9,800", "1,000"
    )  # fmt: skip
    assert rows[place + 1] == ("", "paper", "85.7", "7,004", "", "", "")


@pytest.mark.parametrize(
    ("value", "reach", "expected"),
    [(62.0, 0.15, AGREES), (61.9, 0.25, AGREES), (61.9, 0.2, LOWER), (62.5, 0.2, HIGHER)],
)
def test_a_printed_number_agrees_within_our_interval_and_half_its_digit(value, reach, expected, tmp_path):
    """The paper prints 62.2."""
    study = of_numbers(tmp_path, made_intervals({"wavelet": (value, 2.7)}, reach=reach), **REAL)
    assert statuses(drawn(study, "table1")).loc[("wavelet", PRECISION), "status"] == expected


@pytest.mark.parametrize("kind", ["synthetic_triplets", "class_triplets"])
def test_what_nobody_rated_is_never_held_against_print(kind, tmp_path):
    study = of_numbers(tmp_path, made_intervals(), kind=kind)
    assert set(statuses(drawn(study, "table1"))["status"]) == {NOT_COMPARABLE}
    assert "printed" not in set(drawn(study, "fig6").frame["series"])
    assert any("Not comparable with the printed numbers" in note for note in study.notes(drawn(study, "table1")))


def test_the_spread_is_the_standard_error_of_the_interval_without_which_there_is_no_verdict(tmp_path):
    frame = drawn(of_numbers(tmp_path, made_intervals(reach=1.96)), "table1").frame
    np.testing.assert_allclose(frame.loc[frame["metric"] == PRECISION, "ours_std"], 1.0, rtol=1e-4)
    bare = made_intervals().assign(low=np.nan, high=np.nan)
    found = statuses(drawn(of_numbers(tmp_path, bare, **REAL), "table1"))
    assert set(zip(found["status"], found["reason"], strict=True)) == {
        (NOT_COMPARABLE, "too few query images for an interval")
    }


def test_scores_of_another_k_are_read_alike(tmp_path):
    renamed = made_intervals().assign(metric=lambda rows: rows["metric"].str.replace("@30", "@5"))
    table = drawn(of_numbers(tmp_path, renamed, k=5), "table1")
    assert row(table, "HOG")[3].startswith("3,099")
    assert "Score-5" in sheets_of(table)[0].heads
    assert "The paper's scores are of the top 30." in table.notes


def test_kinds_stand_beside_each_other(tmp_path):
    table = drawn(of_numbers(tmp_path, made_intervals()), "kinds")
    assert sheets_of(table)[0].heads == ("", "in-class negatives", "out-of-class negatives", "all triplets")
    assert row(table, "Wavelet") == ("Wavelet", "56.2 [55.4, 57.0]", "68.2 [67.4, 69.0]", "62.2 [61.4, 63.0]")
    assert row(table, "Multiscale, uniform, 0% out-of-class")[-1].startswith("84.2")
    assert "7,000 in-class, 7,000 out-of-class" in table.notes[0]
    rated = drawn(of_numbers(tmp_path, made_intervals(kinds=("rated",)), **REAL), "kinds")
    assert set(rated.frame["subset"]) == {"rated", "all"}
    assert "there is one kind of triplets" in rated.notes[0]


def test_costs_tell_dimensions_speed_and_settings(tmp_path):
    table = drawn(made_study(tmp_path, {"fits": made_fits(TABLE1[:6])}, deep_not_run="install torch"), "features")
    assert row(table, "Wavelet") == ("Wavelet", "64", "l2", "100", "10 s", "", "step 8, sizes 16/24")
    assert row(table, "HOG")[5] == "training images"
    assert row(table, "ConvNet")[-1] == "not run: install torch"
    assert table.frame.set_index("system").loc["oasis", "status"] == NO_RESULT
    assert "Measured on a processor." in table.notes
    long = {f"settings_number_{place}": place for place in range(40)} | {"settings_none": np.nan}
    table = drawn(
        made_study(tmp_path, {"fits": pd.DataFrame([{"system": "hog", "dimensions": 3, **long}])}), "features"
    )
    shown = row(table, "HOG")[-1]
    assert len(shown) <= 165
    assert shown.endswith(", ..."), "cut between two settings"
    assert table.frame.set_index("system").loc["hog", "settings"].endswith("number_39 39")


def test_figure_6_shows_both_metrics_over_the_share(tmp_path):
    figure = drawn(of_numbers(tmp_path, made_intervals(), chosen_percent=40), "fig6")
    names = ("multiscale-weighted-000", "deep-ranking", "multiscale-weighted-050", "multiscale-weighted-100")
    for metric, place, scale in ((PRECISION, 0, 1), (SCORE, 1, 1000)):
        own = figure.frame[figure.frame["metric"].eq(metric) & figure.frame["series"].eq("weighted")]
        assert own["percent"].tolist() == [0, 40, 50, 100]
        np.testing.assert_allclose(own["value"], [scale * LEVELS[name][place] for name in names])
        assert (own["low"] < own["value"]).all()
        assert (own["value"] < own["high"]).all()
    assert [panel.y.label for panel in figure.panels] == ["Similarity precision (%)", "Score at top 30 (triplets)"]
    for panel in figure.panels:
        assert [line.at for line in panel.lines] == [40]
        assert [series.name for series in panel.series] == ["weighted sampling", "uniform sampling"]


@pytest.mark.parametrize(("pool", "printed"), [(True, [PRECISION, SCORE]), (False, [PRECISION])])
def test_print_is_drawn_where_it_may_be_held_against_ours(pool, printed, tmp_path):
    figure = drawn(of_numbers(tmp_path, made_intervals(), pool=pool, **REAL), "fig6")
    shown = figure.frame[figure.frame["series"] == "printed"]
    assert shown["metric"].tolist() == printed
    assert shown["value"].tolist() == [85.7, 7004.0][: len(printed)]
    assert [panel.series[-1].hollow for panel in figure.panels] == [True, pool]


def test_systems_that_were_not_run_say_what_to_do(tmp_path):
    some = {system: LEVELS[system] for system in TABLE1[:6]}
    study = of_numbers(
        tmp_path, made_intervals(some), made_contrasts(some), deep_not_run="install torch",
        learned_not_run="not run: put training/ there",
    )  # fmt: skip
    table = drawn(study, "table1")
    assert row(table, "DeepRanking")[2:5] == ("not run",) * 3
    found = statuses(table)
    assert found.loc[("oasis", SCORE)].tolist() == [NO_RESULT, "not run: put training/ there"]
    assert found.loc[("deep-ranking", PRECISION), "reason"] == "not run: install torch"
    assert "L1HashKPCA, OASIS, Golden Features: not run: put training/ there." in study.notes(table)
    figure = drawn(study, "fig6")
    assert [panel.empty for panel in figure.panels] == ["not run", "not run"]
    assert figure.notes == ("DeepRanking: not run: install torch.",)
    assert drawn(study, "curves").notes == ("not run: install torch",)
    shown = drawn(study, "contrasts").frame
    assert shown["difference"].isna().all()
    assert "ConvNet, Single-scale Ranking, DeepRanking: not run: install torch." in study.headline()


def test_curves_are_in_a_column_of_panels_for_each_phase(tmp_path):
    curves = made_curves()
    curves["deep-ranking"].loc[1::2, ["validation_loss", "validation_precision"]] = np.nan
    figure = drawn(of_numbers(tmp_path, made_intervals(), curves=curves), "curves")
    frame = figure.frame
    assert set(frame.loc[frame["phase"] == "classification", "system"]) == {"convnet"}
    assert [panel.title for panel in figure.panels] == ["Classification", "Ranking", "", ""]
    chosen = frame.query("system == 'deep-ranking' and quantity == 'precision' and part == 'validation'")
    expected = curves["deep-ranking"].dropna()
    np.testing.assert_allclose(chosen["value"], 100 * expected["validation_precision"])
    np.testing.assert_array_equal(chosen["seen"], expected["seen"])
    named = [series.name for series in figure.panels[1].series if not series.thin]
    assert named == ["Single-scale Ranking", "DeepRanking", "Multiscale, weighted, 0% out-of-class"]
    assert len({series.look for series in figure.panels[1].series}) == 3
    bare = {"deep-ranking": curves["deep-ranking"].drop(columns=["validation_loss", "validation_precision"])}
    figure = drawn(of_numbers(tmp_path, made_intervals(), curves=bare), "curves")
    assert [[series.name for series in panel.series] for panel in figure.panels] == [["DeepRanking"]] * 2


def test_the_forest_has_a_row_for_every_pair_of_the_claims(tmp_path):
    figure = drawn(of_numbers(tmp_path, made_intervals(), made_contrasts()), "contrasts")
    own = figure.frame[figure.frame["metric"] == PRECISION]
    assert list(zip(own["system_a"], own["system_b"], strict=True)) == list(contrast_pairs(LEVELS))
    found = own.set_index(["system_a", "system_b"]).loc[("oasis-on-single-scale-ranking", "single-scale-ranking")]
    assert found["difference"] == found["printed"] == pytest.approx(-2.1)
    assert found["excludes_0"]
    names = [name for _, name in figure.panels[0].y.ticks]
    assert (names[0], names[-1]) == ("L1HashKPCA − Wavelet", "weighted 0% − uniform 0%")
    # scores count triplets, so that print is drawn only where as many were rated
    assert figure.frame.loc[figure.frame["metric"] == SCORE, "printed"].isna().all()
    frame = drawn(of_numbers(tmp_path, made_intervals(), made_contrasts(reach=2.0), **REAL), "contrasts").frame
    assert frame.loc[frame["metric"] == SCORE, "printed"].notna().any()
    assert frame["excludes_0"].equals((frame["low"] > 0) | (frame["high"] < 0))
    assert set(frame["excludes_0"]) == {True, False}


def test_the_headline_names_the_best_feature_and_the_main_systems(tmp_path):
    lines = of_numbers(tmp_path, made_intervals()).headline().splitlines()
    assert lines[0].startswith("precision (%)  HOG 68.4 [67.6, 69.2]  OASIS 79.2")
    assert "DeepRanking 7,004" in lines[1]
    assert lines[-1].endswith("data: synthetic)")
    missing = of_numbers(tmp_path, made_intervals(), **REAL, not_run="not run: put triplets there")
    assert missing.headline() == "rated triplets: not run: put triplets there\n"


@pytest.mark.parametrize(
    ("sizes", "settings", "why"),
    [
        ({}, {"k": 5}, "top 5, the paper's of the top 30"),
        ({"pool": 48}, {}, "pools of 48 images"),
        ({"n_triplets": 5_033}, {}, "a count over 5,033 triplets"),
        ({}, {"pool": False}, "no pool/"),
        ({}, {}, ""),
    ],
)
def test_a_score_is_a_count_over_as_many_triplets_and_images(sizes, settings, why, tmp_path):
    study = of_numbers(tmp_path, made_intervals(**sizes), **REAL, **settings)
    assert study.why_not_comparable(PRECISION) == ""
    found = statuses(drawn(study, "table1")).xs(SCORE, level="metric")
    assert set(found["status"]) == {NOT_COMPARABLE if why else AGREES}
    assert found["reason"].str.contains(why).all()
    assert not made_study(tmp_path, {"pool": made_pool().assign(source=["pool", "pool", "triplets"])}).has_pool
