"""Runtime over the number of images: fits, extrapolation, printed points, durations in words."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_numbers import EXPONENT, full, made_runtime

from lookalike.exhibits import web_runtime as runtime
from lookalike.exhibits.web_runtime_notes import notes_on_runtime
from lookalike.exhibits.web_scaling import (
    human_time,
    polynomial,
    power_law,
    second_degree,
    short_count,
    sizes_to_continue,
)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0041, "4.1 ms"),
        (0.001, "1 ms"),
        (0.25, "0.25 s"),
        (9, "9 s"),
        (37.02, "37 s"),
        (59.96, "1 min"),
        (300, "5 min"),
        (5400, "1.5 h"),
        (86_400, "1 day"),
        (172_800, "2 days"),
        (240_000, "2.8 days"),
        (16_416_000, "190 days"),
        (366 * 86_400, "1 year"),
        (1e9, "32 years"),
        (math.nan, ""),
    ],
)
def test_durations_are_told_as_people_say_them(seconds, said):
    assert human_time(seconds) == said


@given(st.floats(1e-6, 1e12))
def test_a_told_duration_is_within_a_few_percent(seconds):
    number, unit = human_time(seconds).split(" ")
    worth = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "day": 86_400, "days": 86_400}
    worth |= {"year": 365.25 * 86_400, "years": 365.25 * 86_400}
    assert float(number.replace(",", "")) * worth[unit] == pytest.approx(seconds, rel=0.051)


def test_counts_are_told_shortly():
    assert [short_count(n) for n in (0, 600, 10_000, 2_300_000)] == ["0", "600", "10K", "2.3M"]


def test_a_power_law_is_found_with_its_interval():
    sizes = np.array([60, 600, 10_000, 100_000, 2_300_000])
    law = power_law(sizes, 3e-4 * sizes**0.9)
    assert law.exponent == pytest.approx(0.9)
    assert law.half_width == pytest.approx(0, abs=1e-9)
    assert law.seconds(np.array([1000.0]))[0] == pytest.approx(3e-4 * 1000**0.9)
    # against the textbook's interval of a slope
    from scipy.stats import linregress, t

    noisy = 3e-4 * sizes**0.9 * np.exp([0.2, -0.1, 0.3, -0.2, 0.05])
    law, line = power_law(sizes, noisy), linregress(np.log(sizes), np.log(noisy))
    assert law.exponent == pytest.approx(line.slope)
    assert law.half_width == pytest.approx(t.ppf(0.975, 3) * line.stderr)
    assert law.told == f"{line.slope:.2f} ± {t.ppf(0.975, 3) * line.stderr:.2f}"


def test_two_sizes_have_no_interval_and_one_has_no_law():
    law = power_law([10, 1000], [1, 100])
    assert law.exponent == pytest.approx(1)
    assert math.isnan(law.half_width)
    assert law.told == "1.00"
    assert power_law([10, 10], [1, 2]) is None
    assert power_law([], []) is None


def test_a_quadratic_growth_is_recovered():
    sizes = np.array([600.0, 2000, 6000, 20_000])
    fit = second_degree(sizes, 0.5 + 1e-4 * sizes + 2e-8 * sizes**2)
    assert fit == pytest.approx([0.5, 1e-4, 2e-8])
    assert float(polynomial(fit, 2_300_000)) == pytest.approx(0.5 + 230 + 2e-8 * 2.3e6**2)


def test_small_sizes_do_not_decide_the_extrapolation():
    sizes = np.array([60.0, 600, 2000, 6000])
    seconds = 1e-4 * sizes + 2e-8 * sizes**2
    seconds[0] = 40
    assert second_degree(sizes, seconds) == pytest.approx([0, 1e-4, 2e-8], abs=1e-10)
    assert second_degree(sizes[:3], seconds[:3]) is None


def test_nothing_is_continued_through_fewer_than_three_large_sizes():
    assert sizes_to_continue([60, 400, 100, 200]) == [100, 200, 400]
    assert sizes_to_continue([60, 100, 400]) == []
    assert sizes_to_continue([100, 100, 400]) == []
    assert sizes_to_continue([]) == []
    assert second_degree([], []) is None


@given(st.lists(st.floats(0.01, 1e4), min_size=3, max_size=6))
def test_the_extrapolation_never_falls(seconds):
    sizes = 500.0 * 2 ** np.arange(len(seconds))
    fit = second_degree(sizes, seconds)
    assert (fit >= 0).all()
    assert polynomial(fit, 1e6) >= polynomial(fit, 1e5) - 1e-9


def test_the_figure_has_ours_the_printed_ones_and_the_extrapolation(reference):
    frame = runtime.runtime_curves(made_runtime(), full(), reference).frame
    counts = frame.groupby(["series", "source"]).size().to_dict()
    assert counts == {
        ("OASIS", "measured"): 5,
        ("LMNN", "measured"): 5,
        ("LMNN, extrapolated", "extrapolated"): 1,
        ("OASIS, printed", "printed"): 5,
        ("LMNN, printed", "printed"): 2,
        ("OASIS, printed (JMLR)", "printed"): 1,
    }
    printed = frame[frame["series"] == "OASIS, printed"].set_index("n_images")["seconds"]
    assert printed[60] == pytest.approx(9)
    assert printed[2_300_000] == 2 * 86_400
    jmlr = frame[frame["series"] == "OASIS, printed (JMLR)"].iloc[0]
    assert (jmlr["n_images"], jmlr["seconds"]) == (2_292_259, 4000 * 60)
    ours = frame[(frame["series"] == "LMNN") & (frame["n_images"] == 2000)].iloc[0]
    base = 0.02 + 0.2 + 0.08
    assert (ours["low"], ours["seconds"], ours["high"]) == pytest.approx((base, 1.04 * base, 1.1 * base))
    assert ours["n_repeats"] == 3


def test_the_caption_tells_exponent_and_extrapolation(reference):
    said = notes_on_runtime(full(), made_runtime(), reference)
    assert f"grows as (images)^{EXPONENT:.2f} ± 0.00 (95% interval)" in said
    assert "over 5 sizes; the same through the printed points: 0.95 ±" in said
    assert (
        "4 measured sizes of 100 rows or more, 600, 2,000, 6,000, 20,000, to the largest size in print, 115 times as "
        "many rows as were measured: at 2,300,000 rows it says 1.3 days."
    ) in said
    assert "10 classes x 784" in said
    assert "where there are repeats: 3 of LMNN." in said
    assert "OASIS (C = 1, patience = 3), up to the step of the best validation mAP" in said
    assert "every size a simulated collection of its own" in said
    assert "LMNN at 60, 600, 2,000, 6,000, 20,000 rows (converged); OASIS at 60, 600, 10,000, 100,000, 2,292,2" in said
    assert "2,292,259 images (saturated)." in said
    assert "Arrows" not in said
    assert "star" not in said.replace("start", "")
    assert "ended at a limit" not in said
    once = made_runtime().query("repeat == 0")
    assert ", one fit a size." in notes_on_runtime(full(), once, reference)


def with_own_run(**changes):
    table = made_runtime(100_001).assign(own_run=False, lower_bound=False)
    own = [
        {**table.iloc[0], "n_images": 2_292_259, "repeat": ranker, "cpu_seconds": 7.0 + ranker, "own_run": True}
        for ranker in (0, 1)
    ]
    return pd.concat([table, pd.DataFrame(own).assign(n_threads=8, **changes)], ignore_index=True)


def test_the_studys_own_run_is_a_star_that_no_fit_goes_through(reference):
    table = with_own_run(stopped="limit", lower_bound=True)
    plot = runtime.runtime_curves(table, full(), reference)
    own = plot.frame[plot.frame["source"] == "own run"].iloc[0]
    assert (own["series"], own["n_images"], own["seconds"]) == ("OASIS, the study's own run", 2_292_259, 7.5)
    assert (own["n_repeats"], own["n_threads"], own["lower_bound"]) == (2, 8, True)
    assert "OASIS, own run" in plot.figure.axes[0].get_legend_handles_labels()[1]
    said = notes_on_runtime(full(), table, reference)
    assert f"^{EXPONENT:.2f} ± 0.00" in said
    assert "over 5 sizes" in said
    assert "C and stopping rule are its own, on 8 threads instead of 1." in said
    alike = notes_on_runtime(full(), with_own_run().assign(n_threads=1), reference)
    assert "C and stopping rule are its own." in alike
    assert "the study's own run at 2,292,259 images (limit)" in said
    # it is what stands beside the papers' time of the whole collection, and no fit ends there
    row = runtime.compare_runtime(table, full(), reference, "oasis-jmlr-2010").iloc[0]
    assert row["ours"] == pytest.approx(7.5 / 60)
    assert row["reason"].startswith("the study's own run; stopped: limit; simulated")
    saturated = notes_on_runtime(full(), with_own_run(), reference)
    assert "over 5 sizes" in saturated


def test_a_run_that_learned_nothing_has_no_time(reference):
    table = made_runtime()
    table.loc[table["n_images"] == 600, ["steps", "cpu_seconds"]] = 0
    plot = runtime.runtime_curves(table, full(), reference)
    assert 600 not in set(plot.frame.loc[plot.frame["source"] == "measured", "n_images"])
    assert np.isfinite(plot.frame["seconds"]).all()
    said = notes_on_runtime(full(), table, reference)
    assert "no step beat the start on validation images: LMNN at 600 rows, OASIS at 600 images." in said
    assert f"^{EXPONENT:.2f} ± 0.00" in said


def test_without_three_measured_sizes_lmnn_is_not_continued(reference):
    table = made_runtime()
    table = table[(table["learner"] == "OASIS") | table["n_images"].isin((60, 600, 2_000))]
    assert "extrapolated" not in set(runtime.runtime_curves(table, full(), reference).frame["source"])
    assert "Dashed" not in notes_on_runtime(full(), table, reference)
    rows = runtime.compare_runtime(table, full(), reference, "oasis-nips-2009").set_index(["method", "subset"])
    assert rows.loc[("fast-lmnn", "60,000 images"), "status"] == "no result"


def test_what_was_cut_off_is_marked_and_not_fitted(reference):
    table = made_runtime()
    cut = (table["learner"] == "OASIS") & (table["n_images"] == 2_292_259)
    table.loc[cut, "stopped"] = "limit"
    table.loc[cut, "cpu_seconds"] = 1.0
    late = (table["learner"] == "LMNN") & (table["n_images"] == 20_000) & (table["repeat"] == 1)
    table.loc[late, "stopped"] = "time limit"
    table["lower_bound"] = late
    said = notes_on_runtime(full(), table, reference)
    assert f"^{EXPONENT:.2f} ± 0.00" in said
    assert "over 4 sizes" in said
    assert "3 measured sizes of 100 rows or more, 600, 2,000, 6,000, to" in said
    assert "OASIS at 2,292,259 images (limit)" in said
    assert "LMNN at 20,000 rows (converged, time limit)" in said
    assert "Arrows: lower bounds" in said
    frame = runtime.runtime_curves(table, full(), reference).frame
    # the run at its limit had its best score before: that is no bound
    assert frame.loc[frame["lower_bound"], "n_images"].tolist() == [20_000]
    compared = runtime.compare_runtime(table, full(), reference, "oasis-jmlr-2010")
    assert compared["reason"].iloc[0].startswith("stopped: limit; simulated")


def test_every_printed_time_stands_beside_ours_of_about_that_size(reference):
    rows = runtime.compare_runtime(made_runtime(), full(), reference, "oasis-nips-2009").set_index(["method", "subset"])
    assert len(rows) == 7
    assert set(rows["status"]) == {"not comparable"}
    at_end = rows.loc[("oasis", "2,300,000 images")]
    assert at_end["printed"] == 2880
    assert at_end["ours"] == pytest.approx(6 * 2e-4 * 2_292_259**EXPONENT / 60)
    assert rows.loc[("fast-lmnn", "60,000 images"), "reason"].startswith("extrapolated; synthetic vectors")
    small = made_runtime(largest=50_000)
    rows = runtime.compare_runtime(small, full(), reference, "oasis-nips-2009").set_index(["method", "subset"])
    assert rows.loc[("oasis", "2,300,000 images"), "status"] == "no result"


def test_nothing_measured_still_draws_print(reference):
    for table in (None, made_runtime().iloc[:0]):
        frame = runtime.runtime_curves(table, full(), reference).frame
        assert set(frame["source"]) == {"printed"}
    assert len(runtime.runtime_curves(None, full(), reference.iloc[:0]).frame) == 0
