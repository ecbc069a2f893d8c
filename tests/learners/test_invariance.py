"""What learners must not depend on: where the rows lie, in what units columns are, and in what precision rows come.

Each learner's line says what must hold of it; a new learner of the registry needs one.
"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.learners import LEARNERS
from lookalike.learners.dual import Gram

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Of a shift of all rows. DISTANCE: learned from differences and compared by them, so that no similarity changes.
# STEPS: learned from inner products, which change with the place; what is learned there must be what the steps of
# their definition learn. PRODUCT: nothing is learned from places, and the similarity is the printed inner product.
DISTANCE, STEPS, PRODUCT = "distance", "steps", "product"
# Of a factor for one column. EQUIVARIANT: no similarity changes, or all by one factor. RANK: it starts from M = I, so
# that a unit decides what is near; what is learned keeps its dimensions, and says the same in `transform`.
EQUIVARIANT, RANK = "equivariant", "rank"
SHORT = {"n_steps": 1_000, "random_state": 0}
MUST = {
    "Euclidean": (DISTANCE, None, {}),
    "MCML": (DISTANCE, RANK, {"max_iter": 20}),
    "LMNN": (DISTANCE, RANK, {"max_iter": 50}),
    "OASIS": (STEPS, None, SHORT),
    "OnlineProjOASIS": (STEPS, None, SHORT),
    "DissimOASIS": (DISTANCE, None, SHORT | {"dtype": "float64"}),
    "AveragedOASIS": (STEPS, None, SHORT | {"n_rankers": 2}),
    "LEGO": (DISTANCE, RANK, SHORT),
    "RCA": (DISTANCE, EQUIVARIANT, {}),
    "MMC": (DISTANCE, EQUIVARIANT, {"max_iter": 200, "tol": 1e-6}),
    "LDA": (DISTANCE, None, {}),
    "LogisticRegression": (STEPS, None, {}),
    "TFIDF": (PRODUCT, None, {}),
    "SOMLTG": (STEPS, None, SHORT),
    "SOMLDA": (STEPS, None, SHORT),
    "DiagonalOASIS": (STEPS, None, SHORT),
    "QPAO": (STEPS, None, {"n_triplets": 100, "n_blocks": 2, "random_state": 0}),
}
OF_PRODUCTS = ["OASIS", "OnlineProjOASIS", "AveragedOASIS"]


def rows_of_classes(d=20, n=100):
    y = np.repeat(range(4), n // 4)
    X = np.random.default_rng(0).normal(size=(n, d))
    X[:, :4] += 3 * np.eye(4)[y]
    return X, y


X, Y = rows_of_classes()
WIDE = rows_of_classes(120, 60)


def having(place, must):
    return [name for name, kinds in MUST.items() if kinds[place] == must]


def make_learner(name, **more):
    return LEARNERS[name](**MUST[name][2] | more)


def similarities(name, rows, y, **more):
    return make_learner(name, **more).fit(rows, y).similarity(rows, rows).astype(np.float64)


def assert_near(found, expected, share):
    np.testing.assert_allclose(found, expected, rtol=0, atol=share * np.abs(expected).max())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("name", "more"),
    [*((name, {}) for name in having(0, DISTANCE)), ("DissimOASIS", {"dtype": "float32", "n_steps": 0})],
)
def test_distances_do_not_change_with_the_place_of_the_rows(name, more, form):
    # numbers that float64 holds exactly at every place, so that only what is done with them can differ
    for (rows, y), shift in itertools.product(((X, Y), WIDE), (2.0**10, 2.0**20)):
        rows = np.round(rows * 2**20) / 2**20
        expected = similarities(name, rows, y, **more)
        found = similarities(name, form(rows + shift), y, **more)
        assert_near(found, expected, 1e-4 if name in ("LMNN", "MMC") else 1e-6)


def test_every_learner_says_what_must_hold_and_the_printed_product_is_what_it_is_wherever_rows_lie():
    assert set(MUST) == set(LEARNERS)
    for shift in (0.0, 1000.0):
        np.testing.assert_allclose(similarities("TFIDF", X + shift, Y), (X + shift) @ (X + shift).T, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-7, 1e-5, 1e5, 1e7])
@pytest.mark.parametrize("name", having(1, EQUIVARIANT))
def test_a_unit_changes_nothing(name, factor):
    rows = X * np.where(np.arange(20) == 2, factor, 1.0)
    found, expected = similarities(name, rows, Y), similarities(name, X, Y)
    if name == "MMC":  # its constraint is in the units of the rows
        found, expected = found / found.min(), expected / expected.min()
    assert_near(found, expected, 1e-2 if name == "MMC" else 1e-6)
    wide, y = WIDE
    if name == "RCA":
        unit = np.where(np.arange(120) == 110, factor, 1.0)
        assert [make_learner(name).fit(wide * by, y).n_components_ for by in (1, unit)] == [56, 56]


@pytest.mark.parametrize("factor", [1e-5, 1e5])
@pytest.mark.parametrize("name", having(1, RANK))
def test_a_unit_hides_no_dimension(name, factor):
    rows = X * np.where(np.arange(20) == 2, factor, 1.0)
    model = make_learner(name).fit(rows, Y)
    mapped = model.transform(rows)
    expected = model.similarity(rows, rows)
    distances = -np.square(mapped[:, None] - mapped).sum(axis=2)
    np.testing.assert_allclose(distances, expected, rtol=1e-5, atol=1e-6 * np.abs(np.median(expected)))


@pytest.mark.parametrize("name", MUST)
def test_rows_in_single_precision_teach_the_same(name):
    single = X.astype(np.float32)
    models = [make_learner(name).fit(rows, Y) for rows in (single, single.astype(np.float64))]
    found, expected = (model.similarity(single, single).astype(np.float64) for model in models)
    assert_near(found, expected, 1e-3 if name in ("LMNN", "MMC") else 2e-5)
    if MUST[name][0] == DISTANCE:
        far = (X + 1e4).astype(np.float32)
        moved = far.astype(np.float64) - 1e4
        found, expected = (make_learner(name).fit(rows, Y).score(rows, Y) for rows in (far, moved))
        assert found == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("name", ["OASIS", "AveragedOASIS", "OnlineProjOASIS", "DissimOASIS"])
@pytest.mark.parametrize("shift", [3e3, 1e5])
def test_held_out_rows_choose_the_same_step_far_from_the_origin_in_single_precision(name, shift):
    rows, options = X + shift, {"n_steps": 1000, "random_state": 0, "early_stopping": name != "AveragedOASIS"}
    ways = {"gram": "float32", "rows": "float64"}.items()
    far, exact = (LEARNERS[name](solver=way, dtype=dtype, **options).fit(rows, Y) for way, dtype in ways)
    assert far.n_steps_ == exact.n_steps_
    assert far.score(rows, Y) == pytest.approx(exact.score(rows, Y), abs=0.003)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_length_of_a_step_between_nearly_equal_rows_is_that_of_their_difference(dtype):
    rows = X.copy()
    rows[1::2] = rows[::2] + 2.0**-12 * rows[1::2]
    gram = Gram.copied(rows, dtype)
    first, second = np.arange(0, 100, 2, dtype=np.int32), np.arange(1, 100, 2, dtype=np.int32)
    kept = gram.rows.astype(np.float64)
    lengths = gram.squared_distances(np.column_stack([first, first, second]))
    np.testing.assert_allclose(lengths, np.square(kept[first] - kept[second]).sum(axis=1), rtol=1e-6)
    assert not gram.squared_distances(np.column_stack([second, first, first])).any()


PSD = {"projection": "psd"}
WITH_TRANSFORM = [(name, {}, PSD) for name in (*OF_PRODUCTS, "DissimOASIS", "SOMLTG", "SOMLDA", "DiagonalOASIS")]


@pytest.mark.parametrize(("name", "signed", "positive"), [*WITH_TRANSFORM, ("QPAO", {"lower": -5.0}, {"lower": 0.0})])
def test_a_transform_follows_the_fit_and_not_what_parameters_are_set_to_since(name, signed, positive):
    model = make_learner(name, **positive).fit(X, Y)
    expected = model.transform(X)
    np.testing.assert_array_equal(model.set_params(**signed or {"projection": None}).transform(X), expected)
    assert not hasattr(model, "fit_transform")
    other = make_learner(name, **signed).fit(X, Y).set_params(**positive)
    with pytest.raises(AttributeError, match=r"learn with (projection='psd'|lower=0), or use similarity"):
        other.transform(X)
    assert hasattr(other, "fit_transform")
    assert not hasattr(other, "components_")
