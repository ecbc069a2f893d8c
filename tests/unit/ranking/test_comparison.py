"""The corrected t-test, the bootstrap clustered by image, and Holm's adjustment."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.data.splits import half_of
from lookalike.ranking import statistics
from lookalike.ranking.comparison import (
    class_jackknife,
    clustered_bootstrap,
    corrected_t_test,
    holm,
    paired,
)


def queries_of(mean, *, folds=range(5), seed=0):
    """Average precision of a method by fold and image; fold f tests the images f * 10 to f * 10 + 59."""
    random = np.random.default_rng([seed, *folds])
    return {
        fold: pd.Series(mean + random.normal(scale=0.02, size=60), random.permutation(60) + 10 * fold) for fold in folds
    }


SIZES = {"n_train": 40, "n_test": 25}
OASIS, EUCLIDEAN = queries_of(0.40), queries_of(0.30, seed=1)


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


def test_queries_are_paired_within_the_folds_that_both_have():
    table = paired(OASIS, EUCLIDEAN)
    assert list(table.columns) == ["fold", "image_id", "difference"]
    for fold, own in table.groupby("fold"):
        expected = OASIS[fold] - EUCLIDEAN[fold]
        pd.testing.assert_series_equal(own.set_index("image_id")["difference"], expected, check_names=False)
    assert table["difference"].mean() == pytest.approx(0.1, abs=0.01)
    # exchanging the two methods turns the sign, and the order of queries and folds changes nothing
    assert paired(EUCLIDEAN, OASIS)["difference"].tolist() == (-table["difference"]).tolist()
    mixed = {fold: OASIS[fold].sample(frac=1, random_state=0) for fold in reversed(OASIS)}
    pd.testing.assert_frame_equal(paired(mixed, EUCLIDEAN), table, check_exact=True)
    fewer = paired({fold: OASIS[fold] for fold in (1, 2, 3, 4)}, {fold: EUCLIDEAN[fold] for fold in (0, 1, 2, 3)})
    assert (set(fewer["fold"]), fewer["image_id"].nunique()) == ({1, 2, 3}, 80)
    # a query without a positive is left out
    without = [{fold: own.mask(own.index == 20) for fold, own in side.items()} for side in (OASIS, EUCLIDEAN)]
    pd.testing.assert_frame_equal(paired(*without), table[table["image_id"] != 20].reset_index(drop=True))
    assert paired({0: OASIS[0]}, {1: EUCLIDEAN[1]}).empty


BAD = pd.DataFrame({"image_id": [0, 1], "fold": [0, 0], "difference": [0.1, np.nan]})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        *((lambda bad=bad: corrected_t_test(bad, **SIZES), "one finite") for bad in ([], [0.1, np.nan], [0.1, np.inf])),
        (lambda: clustered_bootstrap(BAD, 10, random_state=0), "finite differences"),
        (lambda: paired({0: OASIS[0]}, {0: EUCLIDEAN[0][1:]}), "fold 0 has different queries of both"),
        (lambda: paired({0: OASIS[0][[1, 1]]}, {0: OASIS[0][[1, 1]]}), "one twice"),
    ],
)
def test_errors_say_what_to_do(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
