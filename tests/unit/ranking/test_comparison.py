"""The corrected t-test, the bootstrap clustered by image, Holm's adjustment, and the verdict made of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lookalike.ranking import statistics
from lookalike.ranking.comparison import (
    COLUMNS,
    _verdict,
    average_precisions,
    clustered_bootstrap,
    compare_methods,
    corrected_t_test,
    holm,
)
from lookalike.ranking.rankings import Rankings

SIZES = {"n_train": 40, "n_test": 25}


def queries(method, mean, *, folds=range(5), images=60, subset="var10", noise=0.02, seed=0):
    """Queries of one method; fold f tests the images f * 10 .. f * 10 + images, so that images are shared by folds."""
    rng = np.random.default_rng([seed, *method.encode(), *subset.encode()])
    parts = [
        pd.DataFrame(
            {
                "subset": subset,
                "method": method,
                "fold": fold,
                "image_id": np.arange(fold * 10, fold * 10 + images),
                "average_precision": mean + rng.normal(scale=noise, size=images),
            }
        )
        for fold in folds
    ]
    return pd.concat(parts, ignore_index=True)


def four_methods(**columns):
    means = {"oasis": 0.40, "euclidean": 0.30, "twin": 0.40, "oracle": 0.50}
    return pd.concat([queries(method, mean, **columns) for method, mean in means.items()], ignore_index=True)


# Corrected resampled t-test


def test_corrected_t_by_hand():
    # Mean 3, s^2 = 2.5; (1/5 + 25/40) 2.5 = 2.0625; the 97.5% quantile of t with 4 degrees of freedom is 2.776445.
    t = corrected_t_test([1, 2, 3, 4, 5], n_train=40, n_test=25)
    error = 2.0625**0.5
    assert t.mean == 3
    assert t.std == pytest.approx(2.5**0.5)
    assert t.statistic == pytest.approx(3 / error)
    assert (t.low, t.high) == pytest.approx((3 - 2.776445 * error, 3 + 2.776445 * error), abs=1e-5)
    # With 4 degrees of freedom the distribution function has a closed form.
    x = t.statistic / (4 + t.statistic**2) ** 0.5
    assert t.p == pytest.approx(1 - (1.5 * x - 0.5 * x**3), abs=1e-12)


def test_without_a_test_set_it_is_the_paired_t_test():
    a, b = np.random.default_rng(0).normal(size=(2, 7))
    ours, scipys = corrected_t_test(a - b, n_train=40, n_test=0), stats.ttest_rel(a, b)
    assert (ours.statistic, ours.p) == pytest.approx((scipys.statistic, scipys.pvalue), rel=1e-12)
    assert (ours.low, ours.high) == pytest.approx(tuple(scipys.confidence_interval(0.95)), rel=1e-12)


def test_the_correction_widens_and_only_the_ratio_counts():
    values = [0.02, 0.05, 0.01, 0.04, 0.03]
    plain, corrected = corrected_t_test(values, 40, 0), corrected_t_test(values, 40, 25)
    assert (corrected.high - corrected.low) / (plain.high - plain.low) == pytest.approx((1 + 5 * 25 / 40) ** 0.5)
    assert corrected.p > plain.p
    assert corrected_t_test(values, 400, 250) == corrected


def test_one_fold_has_a_mean_and_nothing_else():
    t = corrected_t_test([0.3], **SIZES)
    assert t.mean == 0.3
    assert np.isnan([t.std, t.statistic, t.p, t.low, t.high]).all()


@pytest.mark.parametrize(("value", "p", "statistic"), [(0.0, 1.0, 0.0), (0.1, 0.0, np.inf), (-0.1, 0.0, -np.inf)])
def test_equal_differences(value, p, statistic):
    # Three times 0.1 has a rounded std that is not 0.
    t = corrected_t_test([value] * 3, **SIZES)
    assert t == (value, 0.0, statistic, p, value, value)


@pytest.mark.parametrize("differences", [[], [0.1, np.nan], [0.1, np.inf]])
def test_t_test_refuses_what_is_not_a_number_per_fold(differences):
    with pytest.raises(ValueError, match="one finite difference per fold"):
        corrected_t_test(differences, **SIZES)


# Clustered bootstrap


def differences(rng, n_images=40, n_folds=5, shared=1.0, own=0.3, probability=0.6):
    """Differences of mean 0, where an image keeps its own share of difficulty in every fold it is tested in."""
    image, fold = np.nonzero(rng.random((n_images, n_folds)) < probability)
    value = rng.normal(scale=shared, size=n_images)[image] + rng.normal(scale=own, size=len(image))
    return pd.DataFrame({"image_id": image, "fold": fold, "difference": value})


def test_bootstrap_is_that_of_resampled_tables(monkeypatch):
    table = differences(np.random.default_rng(1), n_images=12)
    images = np.unique(table["image_id"])
    rng = np.random.default_rng(7)
    means = []
    for drawn in rng.integers(len(images), size=(50, len(images))):
        resampled = pd.concat([table[table["image_id"] == images[i]] for i in drawn])
        means.append(resampled.groupby("fold")["difference"].mean().mean())
    interval = clustered_bootstrap(table, 50, random_state=7)
    assert interval.estimate == pytest.approx(table.groupby("fold")["difference"].mean().mean())
    assert (interval.low, interval.high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=1e-12)
    monkeypatch.setattr(statistics, "BLOCK_CELLS", 40)
    assert clustered_bootstrap(table, 50, random_state=7) == pytest.approx(interval, abs=1e-12)


def test_bootstrap_covers_where_rows_taken_as_independent_do_not():
    covered = {"clustered": 0, "rows": 0}
    for seed in range(200):
        table = differences(np.random.default_rng(seed))
        rows = table.assign(image_id=np.arange(len(table)))
        for name, clusters in (("clustered", table), ("rows", rows)):
            interval = clustered_bootstrap(clusters, 200, random_state=seed)
            covered[name] += interval.low <= 0 <= interval.high
    # Nominal 190 of 200; one binomial standard deviation is 3.
    assert covered["clustered"] >= 178
    assert covered["rows"] <= 160


def test_bootstrap_without_shared_images_has_the_width_of_the_standard_error():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"image_id": range(400), "fold": 0, "difference": rng.normal(0.5, 1, size=400)})
    interval = clustered_bootstrap(table, random_state=0)
    error = table["difference"].std() / 400**0.5
    assert (interval.high - interval.low) / error == pytest.approx(2 * 1.96, rel=0.08)


def test_folds_weigh_the_same_whatever_their_number_of_queries():
    table = pd.DataFrame({"image_id": [0, 1, 2, 3], "fold": [0, 0, 0, 1], "difference": [0.0, 0.0, 0.0, 1.0]})
    assert clustered_bootstrap(table, 10, random_state=0).estimate == 0.5


def test_a_fold_without_a_drawn_image_is_left_out_of_the_draw():
    table = pd.DataFrame({"image_id": [0, 1], "fold": [0, 1], "difference": [1.0, 3.0]})
    interval = clustered_bootstrap(table, 200, random_state=0)
    assert (interval.low, interval.estimate, interval.high) == (1.0, 2.0, 3.0)


def test_bootstrap_depends_on_the_seed_and_not_on_the_order_of_rows():
    table = differences(np.random.default_rng(2))
    interval = clustered_bootstrap(table, 100, random_state=0)
    shuffled = table.sample(frac=1, random_state=0)
    assert clustered_bootstrap(shuffled, 100, random_state=np.random.default_rng(0)) == interval
    assert clustered_bootstrap(table, 100, random_state=1) != interval


def test_one_image_has_no_interval():
    table = pd.DataFrame({"image_id": [4, 4], "fold": [0, 1], "difference": [0.1, 0.3]})
    interval = clustered_bootstrap(table, 10, random_state=0)
    assert interval.estimate == pytest.approx(0.2)
    assert np.isnan([interval.low, interval.high]).all()


def test_bootstrap_refuses_empty_tables_and_missing_numbers():
    table = pd.DataFrame({"image_id": [0, 1], "fold": [0, 0], "difference": [0.1, np.nan]})
    for bad in (table, table.iloc[:0]):
        with pytest.raises(ValueError, match="finite differences"):
            clustered_bootstrap(bad, 10, random_state=0)


# Holm


def test_holm_known_example():
    # 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 that may not fall below the one before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_leaves_missing_tests_out_of_the_family():
    adjusted = holm([np.nan, 0.02, np.nan, 0.03])
    assert np.isnan(adjusted[[0, 2]]).all()
    assert adjusted[[1, 3]] == pytest.approx([0.04, 0.04])
    assert holm([]).shape == (0,)
    assert np.isnan(holm([np.nan])).all()


probabilities = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.02, 1.0])), min_size=1, max_size=12)


@given(probabilities)
def test_holm_against_its_definition(p_values):
    """The adjusted p of hypothesis i is the largest (number of hypotheses with p >= p_j) p_j over all p_j <= p_i."""
    m = len(p_values)
    literal = [
        min(1.0, max((m - sum(other < q for other in p_values)) * q for q in p_values if q <= p)) for p in p_values
    ]
    assert holm(p_values) == pytest.approx(literal, rel=1e-12)


@given(probabilities, st.randoms(use_true_random=False))
def test_holm_is_bounded_monotone_and_blind_to_order(p_values, random):
    adjusted = holm(p_values)
    bonferroni = np.minimum(1, len(p_values) * np.asarray(p_values))
    assert np.all(adjusted >= p_values)
    assert np.all(adjusted <= bonferroni.max())
    assert adjusted.min() == bonferroni.min()
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)
    shuffled = random.sample(range(len(p_values)), len(p_values))
    assert np.array_equal(holm(np.asarray(p_values)[shuffled]), adjusted[shuffled])


# Comparison of methods


def test_known_verdicts():
    table = compare_methods(four_methods(), "oasis", **SIZES, random_state=0)
    assert list(table.columns) == list(COLUMNS)
    assert table["method"].tolist() == ["euclidean", "oracle", "twin"]
    assert table["verdict"].tolist() == ["better", "worse", "not decidable"]
    assert table["difference"].tolist() == pytest.approx([0.1, -0.1, 0.0], abs=0.01)
    assert set(table["reference"]) == {"oasis"}
    assert set(table["n_folds"]) == {5}
    assert set(table["n_images"]) == {100}


def test_columns_are_those_of_the_parts():
    both = four_methods()
    row = compare_methods(both, "oasis", **SIZES, random_state=0).iloc[2]
    wide = both.pivot(index=["fold", "image_id"], columns="method", values="average_precision")
    difference = (wide["oasis"] - wide["twin"]).rename("difference").reset_index()
    by_fold = difference.groupby("fold")["difference"].mean()
    t = corrected_t_test(by_fold, **SIZES)
    assert (row["difference"], row["std"]) == pytest.approx((by_fold.mean(), by_fold.std()))
    assert (row["t_low"], row["t_high"], row["p"]) == pytest.approx((t.low, t.high, t.p))
    # The draws are the pair's own; another stream moves the ends of the interval by little.
    interval = clustered_bootstrap(difference, random_state=0)
    width = interval.high - interval.low
    assert (row["bootstrap_low"], row["bootstrap_high"]) == pytest.approx((interval.low, interval.high), abs=width / 10)


def test_each_subset_is_a_family_of_its_own():
    other = pd.concat([queries(method, 0.3, subset="easy10") for method in ("oasis", "euclidean")])
    table = compare_methods(pd.concat([four_methods(), other]), "oasis", **SIZES, random_state=0)
    assert table["subset"].tolist() == ["easy10", "var10", "var10", "var10"]
    for rows, part in ((table[:1], other), (table[1:], four_methods())):
        alone = compare_methods(part, "oasis", **SIZES, random_state=0)
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), alone, check_exact=True)
    assert table["p_holm"][0] == table["p"][0]
    assert table["p_holm"][1:].to_numpy() == pytest.approx(holm(table["p"][1:]))
    assert table["p_holm"][1:].min() == pytest.approx(3 * table["p"][1:].min())


def test_a_family_is_adjusted_by_itself_and_keeps_a_row_for_what_has_no_result():
    methods = sorted(set(four_methods()["method"]) - {"oasis"})
    families = {"compared": [methods[0], "mcml"], "variants": methods[1:]}
    table = compare_methods(four_methods(), "oasis", **SIZES, random_state=0, families=families)
    assert table["method"].tolist() == [methods[0], "mcml", *methods[1:]]
    assert table["family"].tolist() == ["compared"] * 2 + ["variants"] * 2
    assert table["p_holm"][0] == table["p"][0]
    assert table["p_holm"][2:].to_numpy() == pytest.approx(holm(table["p"][2:]))
    assert np.isnan(table["difference"][1])
    assert table["n_folds"][1] == 0
    assert table["verdict"][1] == "not decidable"


def row_of(**columns):
    found = {"t_low": 0.1, "t_high": 0.2, "bootstrap_low": 0.1, "bootstrap_high": 0.2, "p_holm": 0.01}
    return found | columns


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({}, "better"),
        ({"p_holm": 0.05}, "not decidable"),
        ({"p_holm": np.nan}, "not decidable"),
        ({"t_low": 0.0}, "not decidable"),
        ({"bootstrap_low": -0.1}, "not decidable"),
        ({"bootstrap_low": np.nan, "bootstrap_high": np.nan}, "not decidable"),
        ({"bootstrap_low": -0.2, "bootstrap_high": -0.1}, "not decidable"),
        ({"t_low": -0.2, "t_high": -0.1, "bootstrap_low": -0.2, "bootstrap_high": -0.1}, "worse"),
        ({"t_low": -0.2, "t_high": -0.1, "bootstrap_low": -0.2, "bootstrap_high": 0.1}, "not decidable"),
        ({"t_low": -0.2, "t_high": 0.1, "bootstrap_low": -0.2, "bootstrap_high": -0.1}, "not decidable"),
    ],
)
def test_a_verdict_needs_both_intervals_and_holm(columns, verdict):
    assert _verdict(row_of(**columns)) == verdict


def test_holm_can_take_a_verdict_away():
    # Five differences around 0.1 with a spread that gives p = 0.03: enough for one method, not for two.
    shifts = 0.1 * np.array([0.55, 0.75, 1.0, 1.25, 1.45])
    reference = queries("oasis", 0.5, noise=0.0)
    other = reference.assign(
        method="euclidean",
        average_precision=reference["average_precision"] - shifts[reference["fold"]],
    )
    alone = compare_methods(pd.concat([reference, other]), "oasis", **SIZES, random_state=0)
    assert 0.025 < alone["p"][0] < 0.05
    assert alone["verdict"].tolist() == ["better"]
    both = pd.concat([reference, other, other.assign(method="second")])
    assert compare_methods(both, "oasis", **SIZES, random_state=0)["verdict"].tolist() == ["not decidable"] * 2


def test_rows_do_not_depend_on_order_or_on_other_methods():
    both = four_methods()
    table = compare_methods(both, "oasis", **SIZES, random_state=0)
    shuffled = both.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(compare_methods(shuffled, "oasis", **SIZES, random_state=0), table, check_exact=True)
    categories = both.astype({"subset": "category", "method": "category"})
    pd.testing.assert_frame_equal(compare_methods(categories, "oasis", **SIZES, random_state=0), table)
    fewer = compare_methods(both[both["method"].isin(["oasis", "twin"])], "oasis", **SIZES, random_state=0)
    family = ["p_holm", "verdict"]
    pd.testing.assert_series_equal(
        fewer.iloc[0].drop(family), table.iloc[2].drop(family), check_names=False, check_exact=True
    )
    other_seed = compare_methods(both, "oasis", **SIZES, random_state=1)
    assert np.all(other_seed["bootstrap_low"] != table["bootstrap_low"])
    assert np.array_equal(other_seed["p"], table["p"])


def test_exchanging_the_two_methods_turns_the_sign():
    both = pd.concat([queries("oasis", 0.40), queries("euclidean", 0.38)])
    ours = compare_methods(both, "oasis", **SIZES, random_state=0).iloc[0]
    theirs = compare_methods(both, "euclidean", **SIZES, random_state=0).iloc[0]
    assert (ours["verdict"], theirs["verdict"]) == ("better", "worse")
    for low, high in (("difference", "difference"), ("t_low", "t_high"), ("bootstrap_low", "bootstrap_high")):
        assert ours[low] == pytest.approx(-theirs[high], abs=1e-12)


def test_only_common_folds_are_compared():
    reference, other = queries("oasis", 0.4), queries("euclidean", 0.3)
    few = pd.concat([reference[reference["fold"] != 0], other[other["fold"] != 4]])
    table = compare_methods(few, "oasis", **SIZES, random_state=0)
    both = pd.concat([reference, other])
    expected = compare_methods(both[both["fold"].isin([1, 2, 3])], "oasis", **SIZES, random_state=0)
    pd.testing.assert_frame_equal(table, expected)
    assert (table["n_folds"][0], table["n_images"][0]) == (3, 80)


def test_one_common_fold_is_not_decidable():
    one = pd.concat([queries("oasis", 0.4), queries("euclidean", 0.1, folds=[2]), queries("twin", 0.1)])
    row, other = compare_methods(one, "oasis", **SIZES, random_state=0).to_dict("records")
    assert row["n_folds"] == 1
    assert row["difference"] == pytest.approx(0.3, abs=0.02)
    assert row["bootstrap_low"] > 0.2
    assert np.isnan([row["std"], row["t_low"], row["t_high"], row["p"], row["p_holm"]]).all()
    assert row["verdict"] == "not decidable"
    # The comparison without a p-value is no test, so it costs the other one nothing.
    assert other["p_holm"] == other["p"]


def test_no_common_fold_keeps_its_row():
    apart = pd.concat([queries("oasis", 0.4, folds=[0, 1]), queries("euclidean", 0.1, folds=[2, 3])])
    row = compare_methods(apart, "oasis", **SIZES, random_state=0).iloc[0]
    assert (row["n_folds"], row["n_images"], row["verdict"]) == (0, 0, "not decidable")
    assert np.isnan(row["difference"])
    failed = queries("euclidean", np.nan)
    row = compare_methods(pd.concat([queries("oasis", 0.4), failed]), "oasis", **SIZES, random_state=0).iloc[0]
    assert (row["method"], row["n_folds"], row["verdict"]) == ("euclidean", 0, "not decidable")


def test_a_reference_alone_has_nothing_to_compare():
    table = compare_methods(queries("oasis", 0.4), "oasis", **SIZES, random_state=0)
    assert table.empty
    assert list(table.columns) == list(COLUMNS)


def test_queries_without_a_positive_are_left_out():
    both = four_methods()
    without = both.assign(average_precision=both["average_precision"].where(both["image_id"] != 20))
    expected = compare_methods(both[both["image_id"] != 20], "oasis", **SIZES, random_state=0)
    pd.testing.assert_frame_equal(compare_methods(without, "oasis", **SIZES, random_state=0), expected)


def test_errors_say_what_to_do():
    both = four_methods()
    with pytest.raises(ValueError, match="occurs twice"):
        compare_methods(pd.concat([both, both.iloc[:1]]), "oasis", **SIZES, random_state=0)
    with pytest.raises(ValueError, match="no row of the reference method 'Oasis'"):
        compare_methods(both, "Oasis", **SIZES, random_state=0)
    with pytest.raises(ValueError, match="different queries in the same fold"):
        compare_methods(both.iloc[1:], "oasis", **SIZES, random_state=0)


def test_average_precisions_of_runs_stand_in_one_table():
    ranks = Rankings(
        offsets=np.array([0, 1, 2]), ranks=np.array([1, 2]), n_gallery=3, query_ids=np.array([7, 9], dtype=np.int32)
    )
    names = {"subset": "toy", "method": "oasis", "fold": 1}
    table = average_precisions([(names, ranks), ({**names, "fold": 2}, ranks)])
    assert table["average_precision"].tolist() == [1.0, 0.5, 1.0, 0.5]
    assert table["image_id"].tolist() == [7, 9, 7, 9]
    assert table["fold"].tolist() == [1, 1, 2, 2]
