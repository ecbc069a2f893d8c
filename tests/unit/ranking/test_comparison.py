"""The corrected t-test, the bootstrap clustered by image, and Holm's adjustment."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.seeds import generator
from lookalike.data.subsets import half_of
from lookalike.ranking import statistics
from lookalike.ranking.comparison import (
    COLUMNS,
    average_precisions,
    class_jackknife,
    clustered_bootstrap,
    compare_methods,
    corrected_t_test,
    holm,
)
from lookalike.ranking.rankings import Rankings


def queries_of(method, mean, *, folds=range(5), subset="var10"):
    """Average precision of one method; fold f tests the images f * 10 to f * 10 + 59, so folds share images."""
    noise = np.random.default_rng([*method.encode(), *subset.encode()]).normal(scale=0.02, size=60 * len(folds))
    table = pd.DataFrame([(fold, fold * 10 + i) for fold in folds for i in range(60)], columns=["fold", "image_id"])
    return table.assign(subset=subset, method=method, average_precision=mean + noise)


SIZES = {"n_train": 40, "n_test": 25}
METHODS = pd.concat(
    [queries_of(*method) for method in (("oasis", 0.40), ("euclidean", 0.30), ("twin", 0.40), ("oracle", 0.50))],
    ignore_index=True,
)


def compared(table, reference="oasis", **options):
    others = sorted(set(table["method"]) - {reference})
    return compare_methods(table, reference, **SIZES | {"random_state": 0, "methods": others} | options)


def test_the_jackknife_over_classes_is_that_of_the_mean_where_each_set_is_a_class():
    found = class_jackknife([1, 2, 6], [["a"], ["b"], ["c"]])
    # the means without a class are 4, 3.5 and 1.5; the variance is 2/3 of 3.5, as s^2 / n of the three numbers is
    assert (found.mean, found.std, found.statistic) == pytest.approx((3, 7**0.5, 3 / (7 / 3) ** 0.5))
    assert found.high - found.mean == pytest.approx(4.302653 * (7 / 3) ** 0.5)
    with pytest.raises(ValueError, match="for each class a set that does not hold it"):
        class_jackknife([1, 2], [["a", "b"], ["a", "c"]])


@pytest.mark.parametrize(("of_classes", "of_sets", "times"), [(1.0, 0.0, 1.7), (0.0, 1.0, 4.5)])
def test_the_jackknife_over_halves_is_as_wide_as_the_documentation_says(of_classes, of_sets, times):
    classes, random = [f"{number:02d}" for number in range(20)], np.random.default_rng(3)
    halves = [half_of(classes, number, 2010) for number in range(1, 21)]
    holds = np.array([[name in half for name in classes] for half in halves], dtype=np.float64)
    worlds = of_classes * random.normal(size=(400, 20)) @ holds.T / 10 + of_sets * random.normal(size=(400, 20))
    found = [class_jackknife(world, halves) for world in worlds]
    error = np.sqrt(np.mean([(test.mean / test.statistic) ** 2 for test in found]))
    assert error / np.std([test.mean for test in found]) == pytest.approx(times, rel=0.1)


def test_corrected_t_by_hand():
    # Mean 3, s^2 = 2.5; (1/5 + 25/40) 2.5 = 2.0625; the 97.5% quantile of t with 4 degrees of freedom is 2.776445.
    t = corrected_t_test([1, 2, 3, 4, 5], **SIZES)
    error = 2.0625**0.5
    assert (t.mean, t.std, t.statistic) == pytest.approx((3, 2.5**0.5, 3 / error))
    assert (t.low, t.high) == pytest.approx((3 - 2.776445 * error, 3 + 2.776445 * error), abs=1e-5)
    # with 4 degrees of freedom the distribution function has a closed form
    x = t.statistic / (4 + t.statistic**2) ** 0.5
    assert t.p == pytest.approx(1 - (1.5 * x - 0.5 * x**3), abs=1e-12)
    assert corrected_t_test([1, 2, 3, 4, 5], 400, 250) == t


@pytest.mark.parametrize(("value", "p", "statistic"), [(0.0, 1.0, 0.0), (0.1, 0.0, np.inf), (-0.1, 0.0, -np.inf)])
def test_equal_differences_and_a_single_one(value, p, statistic):
    # Three times 0.1 has a rounded std that is not 0.
    assert corrected_t_test([value] * 3, **SIZES) == (value, 0.0, statistic, p, value, value)
    assert corrected_t_test([value], **SIZES) == pytest.approx((value, *[np.nan] * 5), nan_ok=True)


def test_the_bootstrap_is_that_of_resampled_tables(monkeypatch):
    rng = np.random.default_rng(1)
    image, fold = np.nonzero(rng.random((12, 5)) < 0.6)
    table = pd.DataFrame({"image_id": image, "fold": fold, "difference": rng.normal(size=12)[image] + 0.1 * fold})
    images = np.unique(table["image_id"])
    means = []
    for drawn in np.random.default_rng(7).integers(len(images), size=(50, len(images))):
        resampled = pd.concat([table[table["image_id"] == images[i]] for i in drawn])
        means.append(resampled.groupby("fold")["difference"].mean().mean())
    interval = clustered_bootstrap(table, 50, random_state=7)
    estimate = table.groupby("fold")["difference"].mean().mean()
    assert interval == pytest.approx((estimate, *np.percentile(means, [2.5, 97.5])), abs=1e-12)
    shuffled = table.sample(frac=1, random_state=0)
    assert clustered_bootstrap(shuffled, 50, random_state=np.random.default_rng(7)) == interval
    assert clustered_bootstrap(table, 50, random_state=1) != interval
    monkeypatch.setattr(statistics, "BLOCK_CELLS", 40)
    assert clustered_bootstrap(table, 50, random_state=7) == pytest.approx(interval, abs=1e-12)


@pytest.mark.parametrize(
    ("images", "folds", "values", "expected"),
    [
        ([0, 1], [0, 1], [1.0, 3.0], (2.0, 1.0, 3.0)),  # a fold of which a draw has no image is left out of it
        ([4, 4], [0, 1], [0.1, 0.3], (0.2, np.nan, np.nan)),  # one image has no interval
        ([0, 0, 0, 0], [0, 0, 0, 1], [0.0, 0.0, 0.0, 1.0], (0.5, np.nan, np.nan)),  # folds weigh the same
    ],
)
def test_bootstraps_of_small_tables(images, folds, values, expected):
    table = pd.DataFrame({"image_id": images, "fold": folds, "difference": values})
    assert tuple(clustered_bootstrap(table, 200, random_state=0)) == pytest.approx(expected, nan_ok=True)


PROBABILITIES = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.02, 1.0])), max_size=12)


@settings(deadline=None, max_examples=50)
@given(PROBABILITIES, st.integers(0, 2))
def test_holm_against_its_definition(p_values, n_missing):
    """The adjusted p of i is the largest (number of hypotheses with p >= p_j) p_j over all p_j <= p_i."""
    m = len(p_values)
    literal = [
        min(1.0, max((m - sum(other < q for other in p_values)) * q for q in p_values if q <= p)) for p in p_values
    ]
    # what was not tested is no part of the family
    adjusted = holm([np.nan] * n_missing + p_values)
    assert np.isnan(adjusted[:n_missing]).all()
    assert adjusted[n_missing:] == pytest.approx(literal, rel=1e-12)


def test_known_differences_are_made_of_the_parts():
    table = compared(METHODS)
    assert list(table.columns) == list(COLUMNS)
    assert table["method"].tolist() == ["euclidean", "oracle", "twin"]
    assert (np.sign(table["difference"][0]), np.sign(table["difference"][1])) == (1, -1)
    assert (set(table["reference"]), set(table["n_folds"]), set(table["n_images"])) == ({"oasis"}, {5}, {100})
    wide = METHODS.pivot(index=["fold", "image_id"], columns="method", values="average_precision")
    difference = (wide["oasis"] - wide["twin"]).rename("difference").reset_index()
    t = corrected_t_test(difference.groupby("fold")["difference"].mean(), **SIZES)
    interval = clustered_bootstrap(difference, random_state=generator(0, "comparison", "var10", "oasis", "twin"))
    expected = (t.mean, t.std, t.low, t.high, t.p, interval.low, interval.high)
    names = ["difference", "std", "t_low", "t_high", "p", "bootstrap_low", "bootstrap_high"]
    assert tuple(table.iloc[2][names]) == pytest.approx(expected)


def test_a_subset_stands_for_itself_and_a_method_without_a_result_keeps_its_row():
    other = pd.concat([queries_of(method, 0.3, subset="easy10") for method in ("oasis", "euclidean")])
    table = compared(pd.concat([METHODS, other])).dropna(subset="difference")
    for rows, part in ((table[:1], other), (table[1:], METHODS)):
        pd.testing.assert_frame_equal(rows.reset_index(drop=True), compared(part), check_exact=True)
    table = compared(METHODS, methods=["euclidean", "mcml"])
    assert (table["method"].tolist(), table["n_folds"][1]) == (["euclidean", "mcml"], 0)
    assert np.isnan(table["difference"][1])
    alone = compared(queries_of("oasis", 0.4))
    assert (len(alone), list(alone.columns)) == (0, list(COLUMNS))


def test_rows_depend_on_the_seed_and_not_on_order_or_other_methods():
    table = compared(METHODS)
    pd.testing.assert_frame_equal(compared(METHODS.sample(frac=1, random_state=1)), table, check_exact=True)
    pd.testing.assert_frame_equal(compared(METHODS.astype({"subset": "category", "method": "category"})), table)
    fewer = compared(METHODS[METHODS["method"].isin(["oasis", "twin"])]).iloc[0]
    pd.testing.assert_series_equal(fewer, table.iloc[2], check_names=False, check_exact=True)
    assert (compared(METHODS, random_state=1)["bootstrap_low"] != table["bootstrap_low"]).all()
    # exchanging the two methods turns the sign
    theirs = compared(METHODS, "euclidean").iloc[0]
    for low, high in (("difference", "difference"), ("t_low", "t_high"), ("bootstrap_low", "bootstrap_high")):
        assert table[low][0] == pytest.approx(-theirs[high], abs=1e-12)


def test_only_common_folds_and_queries_with_a_positive_are_compared():
    reference, other = queries_of("oasis", 0.4), queries_of("euclidean", 0.3)
    both = pd.concat([reference, other])
    few = compared(pd.concat([reference[reference["fold"] != 0], other[other["fold"] != 4]]))
    pd.testing.assert_frame_equal(few, compared(both[both["fold"].isin([1, 2, 3])]))
    assert (few["n_folds"][0], few["n_images"][0]) == (3, 80)
    without = both.assign(average_precision=both["average_precision"].where(both["image_id"] != 20))
    pd.testing.assert_frame_equal(compared(without), compared(both[both["image_id"] != 20]))


@pytest.mark.parametrize(("mean", "fold", "n_folds"), [(0.1, 2, 1), (0.1, 7, 0), (np.nan, 2, 0)])
def test_one_common_fold_or_none_is_not_decidable(mean, fold, n_folds):
    other = queries_of("euclidean", mean, folds=[fold])
    row, _ = compared(pd.concat([queries_of("oasis", 0.4), other, queries_of("twin", 0.1)])).to_dict("records")
    assert (row["method"], row["n_folds"]) == ("euclidean", n_folds)
    assert np.isnan(row["difference"]) == np.isnan(row["bootstrap_low"]) == (n_folds == 0)
    assert np.isnan([row["std"], row["t_low"], row["t_high"], row["p"]]).all()


BAD = pd.DataFrame({"image_id": [0, 1], "fold": [0, 0], "difference": [0.1, np.nan]})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        *((lambda bad=bad: corrected_t_test(bad, **SIZES), "one finite") for bad in ([], [0.1, np.nan], [0.1, np.inf])),
        (lambda: clustered_bootstrap(BAD, 10, random_state=0), "finite differences"),
        (lambda: compared(pd.concat([METHODS, METHODS.iloc[:1]])), "occurs twice"),
        (lambda: compared(METHODS, "Oasis"), "no row of the reference method 'Oasis'"),
        (lambda: compared(METHODS.iloc[1:]), "different queries in the same fold"),
    ],
)
def test_errors_say_what_to_do(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_average_precisions_of_runs_stand_in_one_table():
    ranks = Rankings(np.array([0, 1, 2]), np.array([1, 2]), 3, np.array([7, 9], dtype=np.int32))
    names = {"subset": "toy", "method": "oasis"}
    table = average_precisions([({**names, "fold": fold}, ranks) for fold in (1, 2)])
    expected = [("toy", "oasis", fold, *query) for fold in (1, 2) for query in ((7, 1.0), (9, 0.5))]
    assert list(table.itertuples(index=False, name=None)) == expected
