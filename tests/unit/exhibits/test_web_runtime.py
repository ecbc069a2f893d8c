"""Runtime over the number of images: fits, extrapolation, printed points, durations in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_numbers import EXPONENT, full, made_runtime

from lookalike.exhibits import web_runtime as runtime
from lookalike.exhibits.web_scaling import human_time, polynomial, power_law, second_degree, short_count


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
    assert second_degree(sizes[:2], seconds[:2]) is None


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
    said = runtime.notes_on_runtime(full(), made_runtime(), reference)
    assert f"grows as (images)^{EXPONENT:.2f} ± 0.00 (95% interval)" in said
    assert "over 5 sizes; the same through the printed points: 0.95 ±" in said
    assert "4 measured sizes of 600 images or more; at 2,300,000 images it says 1.3 days." in said
    assert "10 classes x 784" in said
    assert "median of 3 repeats" in said
    assert "Arrows" not in said


def test_what_was_cut_off_is_marked_and_not_fitted(reference):
    table = made_runtime()
    cut = (table["learner"] == "OASIS") & (table["n_images"] == 2_292_259)
    table.loc[cut, "stopped"] = "limit"
    table.loc[cut, "cpu_seconds"] = 1.0
    late = (table["learner"] == "LMNN") & (table["n_images"] == 20_000) & (table["repeat"] == 1)
    table.loc[late, "stopped"] = "time limit"
    said = runtime.notes_on_runtime(full(), table, reference)
    assert f"^{EXPONENT:.2f} ± 0.00" in said
    assert "over 4 sizes" in said
    assert "3 measured sizes of 600" in said
    assert "lower bound: LMNN at 20,000 images (time limit), OASIS at 2,292,259 images (limit)." in said
    frame = runtime.runtime_curves(table, full(), reference).frame
    assert frame.loc[frame["stopped"] == "time limit", "n_images"].tolist() == [20_000]
    compared = runtime.compare_runtime(table, full(), reference, "oasis-jmlr-2010")
    assert compared["reason"].iloc[0].startswith("stopped at its limit; simulated")


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
