"""Tables of the fine-grained study: cells, statuses and what stands where a system was not run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from triplet_numbers import LEVELS, full, made_fits, made_intervals, made_numbers, missing, real

from lookalike.exhibits.compare import AGREES, HIGHER, LOWER, NO_RESULT, NOT_COMPARABLE
from lookalike.exhibits.triplet_context import PAPER, TABLE1, TABLE2
from lookalike.exhibits.triplet_tables import (
    features_table,
    kinds_table,
    notes_on_kinds,
    notes_on_systems,
    settings_text,
    system_table,
    triplet_headline,
)
from lookalike.exhibits.triplet_values import Measured, compare_systems, measured, status_by_interval, with_interval


def cells(table, system, *, printed=False):
    """Cells of a system's row in Markdown, or of the paper's row beneath it."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.markdown.splitlines()]
    place = next(place for place, line in enumerate(lines) if line[0] == system)
    return lines[place + printed]


def test_ours_stand_above_the_printed_in_the_papers_order(reference):
    for exhibit, systems in (("table1", TABLE1), ("table2", TABLE2)):
        table = system_table(made_intervals(), real(), reference, exhibit)
        assert tuple(dict.fromkeys(table.frame["system"])) == systems
        printed = table.frame[table.frame["metric"] == "score@30"]
        expected = reference[(reference["paper"] == PAPER) & (reference["exhibit"] == exhibit)]
        expected = expected[expected["metric"] == "score@30"]
        assert printed["printed"].tolist() == expected["value"].tolist()
    table = system_table(made_intervals(reach=0.5), real(), reference, "table1")
    assert cells(table, "HOG") == [
        "HOG", "ours", "68.4 [67.9, 68.9]", "3,099 [2,959, 3,239]", "22.1 [21.1, 23.1]", "9,800", "1,000", "agrees",
    ]  # fmt: skip
    assert cells(table, "HOG", printed=True) == ["", "paper", "68.4", "3,099", "", "", "", ""]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (61.0, 63.0, AGREES),
        (62.25, 63.0, AGREES),
        (62.26, 63.0, HIGHER),
        (60.0, 62.15, AGREES),
        (60.0, 62.14, LOWER),
    ],
)
def test_a_printed_number_agrees_within_our_interval_and_half_its_digit(low, high, expected):
    assert status_by_interval(Measured(62.0, low, high), 62.2, 0.1) == expected


def test_statuses_follow_the_interval_and_the_pool(reference):
    shifted = made_intervals({**LEVELS, "hog": (70.0, 3.0), "color": (61.0, 2.935)})
    found = compare_systems(shifted, real(), reference, "table1").set_index(["method", "metric"])["status"]
    assert found["hog", "similarity_precision"] == HIGHER
    assert found["color", "similarity_precision"] == LOWER
    assert set(found.drop([("hog", "similarity_precision"), ("color", "similarity_precision")])) == {AGREES}
    without = replace(real(), has_pool=False)
    found = compare_systems(shifted, without, reference, "table1")
    of_score = found[found["metric"] == "score@30"]
    assert set(of_score["status"]) == {NOT_COMPARABLE}
    assert of_score["reason"].str.contains("no pool/").all()
    assert NOT_COMPARABLE not in set(found.loc[found["metric"] == "similarity_precision", "status"])
    row = cells(system_table(shifted, without, reference, "table1"), "HOG")
    assert row[-1] == "precision higher, score not comparable"


def test_the_spread_of_a_comparison_is_the_standard_error_of_the_interval(reference):
    found = compare_systems(made_intervals(reach=1.96), real(), reference, "table1")
    of_precision = found[found["metric"] == "similarity_precision"]
    np.testing.assert_allclose(of_precision["ours_std"], 1.0, rtol=1e-4)


def test_a_number_without_an_interval_gets_no_verdict(reference):
    bare = made_intervals().assign(low=math.nan, high=math.nan)
    found = compare_systems(bare, real(), reference, "table1")
    assert set(found["status"]) == {NOT_COMPARABLE}
    assert set(found["reason"]) == {"too few query images for an interval"}


def test_rows_of_what_was_not_run_say_what_to_do(reference):
    features = made_intervals().query("system in @TABLE1[:6]")
    context = real(deep_not_run="install torch", learned_not_run="put training/ there")
    table = system_table(features, context, reference, "table1")
    assert cells(table, "OASIS")[-1] == "not run: put training/ there"
    assert cells(table, "DeepRanking")[-1] == "not run: install torch"
    assert cells(table, "DeepRanking")[2:5] == ["not run"] * 3
    assert cells(table, "HOG")[-1] == AGREES
    assert "OASIS, Golden Features: not run: put training/ there." in notes_on_systems(table, context)
    for row in compare_systems(features, context, reference, "table2").itertuples():
        assert row.status == "not run: install torch"
    # a system that nothing keeps from running has no result
    found = compare_systems(features, real(), reference, "table2")
    assert set(found["status"]) == {NO_RESULT}


def test_nothing_run_keeps_every_printed_number(reference):
    table = system_table(made_intervals(), missing(), reference, "table1")
    assert table.frame["ours"].isna().all()
    assert "**not run: put the rated triplets at data/triplets**" in table.markdown
    assert cells(table, "Golden Features", printed=True)[2:4] == ["80.3", "7,165"]
    assert measured(made_intervals(), missing()) == {}


def test_scores_of_another_k_are_read_alike(reference):
    renamed = made_intervals().assign(metric=lambda rows: rows["metric"].str.replace("@30", "@5"))
    context = full(k=5)
    table = system_table(renamed, context, reference, "table1")
    assert cells(table, "HOG")[3].startswith("3,099")
    assert "Score-5" in table.markdown


def test_kinds_stand_beside_each_other():
    numbers = made_numbers()
    table = kinds_table(numbers.intervals, full(numbers))
    assert cells(table, "Wavelet") == ["Wavelet", "56.2 [55.4, 57.0]", "68.2 [67.4, 69.0]", "62.2 [61.4, 63.0]"]
    assert cells(table, "Multiscale, uniform, 0% out-of-class")[-1].startswith("84.2")
    assert "7,000 in-class, 7,000 out-of-class" in notes_on_kinds(table, full(numbers))


def test_ratings_of_people_are_of_one_kind():
    for kinds in ((), ("rated",)):
        table = kinds_table(made_intervals(kinds=kinds), real())
        assert set(table.frame["subset"]) == {*kinds, "all"}
        assert "there is one kind of triplets" in notes_on_kinds(table, real())


def test_features_tell_dimensions_speed_and_settings():
    table = features_table(made_fits(), full())
    assert cells(table, "Wavelet")[:7] == ["Wavelet", "64", "l2", "100", "10 s", "", "step 8, sizes 16/24"]
    assert cells(table, "HOG")[5] == "training images"
    partial = features_table(made_fits(TABLE1[:6]), full(deep_not_run="install torch"))
    assert cells(partial, "ConvNet")[-1] == "not run: install torch"
    assert partial.frame.set_index("system").loc["oasis", "status"] == NO_RESULT


def test_settings_are_read_in_every_form():
    assert settings_text({"settings": {"n_words": 256, "scale": 0.5, "off": None}}) == "n_words 256, scale 0.5"
    assert settings_text({"settings": '{"levels": [1, 2], "root": true}'}) == "levels 1/2, root True"
    assert settings_text({"settings": "as published"}) == "as published"
    assert settings_text({"settings_step": 8, "settings_none": math.nan, "seconds": 3.0}) == "step 8"
    assert settings_text({}) == ""


def test_long_settings_are_cut_between_two_of_them():
    long = {f"setting_{place}": place for place in range(40)}
    fits = pd.DataFrame({"system": ["hog"], "dimensions": [3]}).assign(settings=[long])
    table = features_table(fits, full())
    shown = cells(table, "HOG")[-1]
    assert shown.endswith(", ...")
    assert len(shown) <= 165
    assert "setting_39 39" in table.frame.set_index("system").loc["hog", "settings"]


def test_headline_names_the_best_feature_and_the_main_systems():
    lines = triplet_headline(made_intervals(), full()).splitlines()
    assert lines[0].startswith("precision (%)  HOG 68.4 [67.6, 69.2]  OASIS 79.2")
    assert "DeepRanking 7,004" in lines[1]
    assert lines[-1].endswith("data: synthetic)")
    assert triplet_headline(None, missing()) == "rated triplets: not run: put the rated triplets at data/triplets\n"
    partial = triplet_headline(made_intervals().query("system == 'color'"), full(deep_not_run="install torch"))
    assert "Color 62.3" in partial
    assert "ConvNet, Single-scale Ranking, DeepRanking: not run: install torch." in partial


def test_cells_without_a_number():
    assert with_interval(Measured(), ".1f") == "-"
    assert with_interval(Measured(62.0), ".1f") == "62.0"


def test_latex_lets_its_last_column_break(reference):
    latex = system_table(made_intervals(), real(), reference, "table2").latex
    assert r"\begin{tabular}{llrrrrrp{0.3\linewidth}}" in latex
    assert latex.count("&") == 7 * (1 + 2 * len(TABLE2)) + latex.count(r"\&")
