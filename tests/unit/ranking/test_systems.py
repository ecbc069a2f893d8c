"""What compares systems: tests of differences, distances of pairs, and metrics of rated triplets with intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as t_distribution

from lookalike.core.errors import LookalikeError
from lookalike.data.splits import half_of
from lookalike.ranking import statistics
from lookalike.ranking.comparison import class_jackknife, clustered_bootstrap, corrected_t_test, holm, paired
from lookalike.ranking.distances import DISTANCES, distances_of_rows, pair_distances
from lookalike.ranking.triplet_metrics import Bootstrap, candidate_pairs, contrasts, intervals, outcomes


def queries_of(mean, *, folds=range(5), seed=0):
    """Average precision of a method by fold and image; fold f tests the images f * 10 to f * 10 + 59."""
    rng = np.random.default_rng([seed, *folds])
    return {fold: pd.Series(mean + rng.normal(scale=0.02, size=60), rng.permutation(60) + 10 * fold) for fold in folds}


SIZES = {"n_train": 40, "n_test": 25}
OASIS, EUCLIDEAN = queries_of(0.40), queries_of(0.30, seed=1)


def test_the_jackknife_over_classes_is_that_of_the_mean_where_each_set_is_a_class():
    found = class_jackknife([1, 2, 6], [["a"], ["b"], ["c"]])
    # the means without a class are 4, 3.5 and 1.5; the variance is 2/3 of 3.5, as s^2 / n of the three numbers is
    assert (found.mean, found.std, found.statistic) == pytest.approx((3, 7**0.5, 3 / (7 / 3) ** 0.5))
    assert found.high - found.mean == pytest.approx(4.302653 * (7 / 3) ** 0.5)


@pytest.mark.parametrize(("of_classes", "of_sets", "times"), [(1.0, 0.0, 1.7), (0.0, 1.0, 4.5)])
def test_the_jackknife_over_halves_is_as_wide_as_the_documentation_says(of_classes, of_sets, times):
    classes, random = [f"{number:02d}" for number in range(20)], np.random.default_rng(3)
    halves = [half_of(classes, number, 2010) for number in range(1, 21)]
    holds = np.array([[name in half for name in classes] for half in halves], dtype=np.float64)
    worlds = of_classes * random.normal(size=(400, 20)) @ holds.T / 10 + of_sets * random.normal(size=(400, 20))
    found = [class_jackknife(world, halves) for world in worlds]
    error = np.sqrt(np.mean([(test.mean / test.statistic) ** 2 for test in found]))
    assert error / np.std([test.mean for test in found]) == pytest.approx(times, rel=0.1)


def test_corrected_t_is_that_of_nadeau_and_bengio():
    # mean 3, s^2 = 2.5; (1/5 + 25/40) 2.5 = 2.0625
    found, error = corrected_t_test([1, 2, 3, 4, 5], **SIZES), 2.0625**0.5
    interval = t_distribution.interval(0.95, 4, 3, error)
    expected = (3, 2.5**0.5, 3 / error, 2 * t_distribution.sf(3 / error, 4), *interval)
    assert found == pytest.approx(expected)
    assert corrected_t_test([1, 2, 3, 4, 5], 400, 250) == found


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
    steps = [(q, (m - sum(other < q for other in p_values)) * q) for q in p_values]
    literal = [min(1.0, max(step for q, step in steps if q <= p)) for p in p_values]
    # what was not tested is no part of the family
    adjusted = holm([np.nan] * n_missing + p_values)
    assert np.isnan(adjusted[:n_missing]).all()
    assert adjusted[n_missing:] == pytest.approx(literal, rel=1e-12)


def test_queries_are_paired_within_the_folds_that_both_have():
    mixed = {fold: OASIS[fold].sample(frac=1, random_state=0) for fold in (4, 3, 2, 1)}
    table = paired(mixed, {fold: EUCLIDEAN[fold] for fold in (0, 1, 2, 3)})
    asked = [(fold, image) for fold in (1, 2, 3) for image in sorted(OASIS[fold].index)]
    expected = [(fold, image, OASIS[fold][image] - EUCLIDEAN[fold][image]) for fold, image in asked]
    assert list(table.columns) == ["fold", "image_id", "difference"]
    assert list(table.itertuples(index=False, name=None)) == expected
    # a query without a positive is left out
    without = [{fold: side[fold].mask(side[fold].index == 20) for fold in (1, 2, 3)} for side in (OASIS, EUCLIDEAN)]
    pd.testing.assert_frame_equal(paired(*without), table[table["image_id"] != 20].reset_index(drop=True))
    assert paired({0: OASIS[0]}, {1: EUCLIDEAN[1]}).empty


def rowwise_distances(a, b, name):
    rows = np.vstack([a, b]).astype(np.float32)
    return distances_of_rows(rows, np.arange(len(a)), len(a) + np.arange(len(a)), name)


def written_out(x, y, name):
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if name == "cosine":
        norms = np.linalg.norm(a), np.linalg.norm(b)
        return float(norms[0] != norms[1]) if 0 in norms else float(1 - a @ b / norms[0] / norms[1])
    if name == "chi2":  # of signed rows that of both parts side by side
        a, b = (np.append(np.maximum(row, 0), np.maximum(-row, 0)) for row in (a, b))
    apart = np.abs(a - b)
    terms = {"l1": apart, "l2": apart**2, "chi2": apart**2 / np.where(a + b > 0, a + b, 1)}[name]
    return float(terms.sum() ** (0.5 if name == "l2" else 1))


VALUES = st.lists(st.sampled_from([0.0, 0.25, -1.0, 1.0, 3.5]), min_size=5, max_size=5)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6), st.sampled_from(DISTANCES))
def test_each_distance_is_its_sum(rows, name):
    a, b = ([pair[side] for pair in rows] for side in (0, 1))
    found = rowwise_distances(a, b, name)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [written_out(x, y, name) for x, y in rows], atol=1e-6)
    np.testing.assert_array_equal(found, rowwise_distances(b, a, name))
    assert (rowwise_distances(a, a, name) == 0).all()


def pairs_of(query, candidate):
    return pd.DataFrame({"query": np.int32(query), "candidate": np.int32(candidate)})


@pytest.mark.parametrize("name", DISTANCES)
def test_long_rows_of_a_memory_map_are_summed_as_in_double_precision(name, tmp_path):
    vectors, queries, candidates = np.random.default_rng(0).random((5, 20_000), np.float32), [4, 1, 0], [2, 0, 3]
    np.save(tmp_path / "vectors.npy", vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    expected = [written_out(vectors[a], vectors[b], name) for a, b in zip(queries, candidates, strict=True)]
    np.testing.assert_allclose(pair_distances(mapped, pairs_of(queries, candidates), name), expected, rtol=1e-5)


VECTORS = np.ones((5, 3), np.float32)
VECTORS[[1, 3, 4]] = np.nan


@pytest.mark.parametrize("name", DISTANCES)
def test_a_missing_vector_has_no_distance_and_is_no_matter_where_it_is_not_needed(name):
    assert np.isnan(distances_of_rows(VECTORS, [0, 1, 1], [1, 0, 3], name)).all()
    assert pair_distances(VECTORS, pairs_of([0], [2]), name).tolist() == [0]
    assert pair_distances(VECTORS, pairs_of([], []), name).shape == (0,)


def manifest_of(contents):
    """Return a manifest whose images with equal numbers are copies; -1 is an image without a checksum."""
    sha256 = ["" if content < 0 else f"{content:064x}" for content in contents]
    return pd.DataFrame({"image_id": np.arange(len(contents), dtype=np.int32), "sha256": sha256})


def triplet_rows(rows, texts=None, kind="rated"):
    query, positive, negative = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    columns = {"triplet": np.arange(len(rows), dtype=np.int32), "query": query, "positive": positive}
    return pd.DataFrame(columns | {"negative": negative, "text_query": texts or ["a"] * len(rows), "kind": kind})


def pool_rows(images):
    rows = [(text, image, "pool") for text, ids in images.items() for image in ids]
    return pd.DataFrame(rows, columns=["text_query", "image_id", "source"]).astype({"image_id": "int32"})


@st.composite
def collections(draw):
    """Draw triplets, pools, a manifest with copies, and a vector for each content, ties among distances included."""
    n = draw(st.integers(4, 14))
    contents = draw(st.lists(st.integers(-1, n), min_size=n, max_size=n))
    n_triplets = draw(st.integers(1, 8))
    image = st.integers(0, n - 1)
    rows = [tuple(draw(st.lists(image, min_size=3, max_size=3, unique=True))) for _ in range(n_triplets)]
    texts = draw(st.lists(st.sampled_from("ab"), min_size=n_triplets, max_size=n_triplets))
    pools = {}
    for text in "ab":
        chosen = draw(st.lists(image, unique_by=lambda i: contents[i] if contents[i] >= 0 else -1 - i, max_size=n))
        pools[text] = chosen or [0]
    manifest = manifest_of(contents)
    by_content = {content: draw(st.integers(0, 5)) for content in sorted(set(contents))}
    vectors = np.array([[by_content[c] if c >= 0 else draw(st.integers(0, 5))] for c in contents], dtype=np.float32)
    return triplet_rows(rows, texts), pool_rows(pools), manifest, vectors


@settings(deadline=None, max_examples=50)
@given(collections(), st.integers(1, 6))
def test_pairs_and_outcomes_are_the_definition(tables, k):
    triplets, pool, manifest, vectors = tables
    pairs = candidate_pairs(triplets, pool, manifest)
    sha256 = [value or f"none {i}" for i, value in enumerate(manifest["sha256"])]
    expected = set()
    for text, query in set(zip(triplets["text_query"], triplets["query"], strict=True)):
        own = triplets[(triplets["text_query"] == text) & (triplets["query"] == query)]
        others = {i for i in pool.loc[pool["text_query"] == text, "image_id"] if sha256[i] != sha256[query]}
        asked = set(own["positive"]) | set(own["negative"])
        expected |= {(text, query, i, i in others) for i in others | asked}
    listed = list(pairs[["text_query", "query", "candidate", "in_pool"]].itertuples(index=False, name=None))
    assert listed == sorted(expected)
    assert pairs["content"].tolist() == [sha256.index(sha256[i]) for i in pairs["candidate"]]

    measured = pair_distances(vectors, pairs, "l1")
    found, twice = (outcomes(triplets, pairs, dict.fromkeys(names, measured), k=k) for names in (["one"], "ab"))
    assert twice["system"].tolist() == ["a"] * len(triplets) + ["b"] * len(triplets)
    for row, triplet in zip(found.itertuples(), triplets.itertuples(), strict=True):
        far = abs(vectors[:, 0] - vectors[triplet.query, 0])
        ranked = [i for *owner, i, flag in expected if owner == [triplet.text_query, triplet.query] and flag]
        margin = far[triplet.negative] - far[triplet.positive]
        assert (row.margin, row.outcome) == (margin, 0.5 if margin == 0 else margin > 0)
        nearer = [sum(far[i] < far[side] for i in ranked) for side in (triplet.positive, triplet.negative)]
        assert row.in_top == (min(nearer) < k)


def test_a_copy_in_the_pool_does_not_stand_before_the_image_itself():
    # image 4 is a copy of the positive 1 that a network puts a hair nearer to the query
    triplets, near = triplet_rows([(0, 1, 2)]), np.float32([0.5, 0.9, 0.7, 0.4999])
    for content, in_top in ((1, True), (4, False)):
        pairs = candidate_pairs(triplets, pool_rows({"a": [3, 4]}), manifest_of([0, 1, 2, 3, content]))
        assert pairs["candidate"].tolist() == [1, 2, 3, 4]
        assert outcomes(triplets, pairs, {"x": near}, k=1)["in_top"].tolist() == [in_top]
    # nor is a copy of the query in its pool
    pairs = candidate_pairs(triplets, pool_rows({"a": [1, 2, 3]}), manifest_of([0, 1, 2, 0]))
    assert pairs["candidate"].tolist() == [1, 2]


def rated(n_queries=40, systems=None):
    """Return triplets, pairs and outcomes of systems that are right with a given probability, five a query image."""
    random, n = np.random.default_rng(0), 5 * n_queries
    rows = [(i // 5, n_queries + i, n_queries + n + i) for i in range(n)]
    triplets = triplet_rows(rows, ["a"] * n, np.where(np.arange(n) % 4 == 0, "out-of-class", "in-class"))
    frames = []
    for system, share in (systems or {"good": 0.8, "bad": 0.6}).items():
        outcome = np.where(random.random(n) < 0.1, 0.5, random.random(n) < share).astype(np.float32)
        columns = {"system": system, "outcome": outcome, "in_top": random.random(n) < 0.5}
        frames.append(pd.DataFrame(columns).assign(triplet=triplets["triplet"]))
    pairs = candidate_pairs(triplets, pool_rows({"a": list(range(40))}), manifest_of(list(range(n_queries + 2 * n))))
    return triplets, pairs, pd.concat(frames, ignore_index=True)


def test_values_and_counts_are_the_sums_of_the_outcomes():
    triplets, pairs, table = rated()
    found = intervals(table, triplets, pairs, Bootstrap(1, n_resamples=50))
    assert (found["system"].tolist(), len(set(found["subset"]))) == (["good"] * 9 + ["bad"] * 9, 3)
    for row in found.itertuples():
        kinds = triplets["kind"] if row.subset == "all" else triplets["kind"][triplets["kind"] == row.subset]
        own = table[(table["system"] == row.system) & table["triplet"].isin(triplets.loc[kinds.index, "triplet"])]
        right, wrong = (int(((own["outcome"] == value) & own["in_top"]).sum()) for value in (1, 0))
        expected = {"score@30": right - wrong, "score@30_per_triplet": 100 * (right - wrong) / len(own)}
        precision = 100 * own["outcome"].astype(float).mean()
        assert row.value == pytest.approx(expected.get(row.metric, precision))
        assert row.low <= row.value <= row.high
        n_queries = triplets.loc[kinds.index, "query"].nunique()
        counts = (len(own), own["in_top"].sum(), (own["outcome"] == 0.5).sum(), n_queries, 39)
        assert (row.n_triplets, row.n_in_top, row.n_ties, row.n_queries, row.median_pool) == counts
    # one kind makes no subset, and another k another name
    found = intervals(table, triplets.assign(kind="rated"), pairs, Bootstrap(1, 5, 20))[["subset", "metric"]]
    names = [("all", name) for name in ("similarity_precision", "score@5", "score@5_per_triplet")]
    assert list(found.itertuples(index=False, name=None)) == names * 2


def test_resamples_follow_from_the_seed_and_belong_to_the_query_images_not_to_the_systems():
    triplets, pairs, table = rated()
    first = intervals(table, triplets, pairs, Bootstrap(1))
    assert not first.equals(intervals(table, triplets, pairs, Bootstrap(2)))
    alone = intervals(table[table["system"] == "bad"], triplets, pairs, Bootstrap(1))
    pd.testing.assert_frame_equal(alone, first[first["system"] == "bad"].reset_index(drop=True))
    with pytest.raises(LookalikeError, match="bad has outcomes of other triplets"):
        intervals(table.iloc[:-1], triplets, pairs, Bootstrap(1))


def test_intervals_are_those_of_a_mean_over_query_images():
    triplets, pairs, table = rated(400, {"x": 0.7})
    # all triplets of a query image go one way: the triplets alone would make the interval too narrow by sqrt(5)
    right = np.repeat(np.random.default_rng(3).random(400) < 0.7, 5)
    found = intervals(table.assign(outcome=right.astype(np.float32)), triplets, pairs, Bootstrap(5))
    row = found.set_index(["subset", "metric"]).loc[("all", "similarity_precision")]
    error = 100 * np.sqrt(right.mean() * (1 - right.mean()) / 400)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_copies_of_a_query_image_are_resampled_as_one():
    triplets, pairs, table = rated()
    n_images = int(triplets["negative"].max()) + 1
    halves = manifest_of([i // 2 if i < 40 else i for i in range(n_images)])
    found = intervals(table, triplets, pairs, Bootstrap(1, n_resamples=20, manifest=halves))
    assert set(found["n_queries"]) == {20}
    copies = manifest_of([0] * n_images)
    single = intervals(table, triplets, pairs, Bootstrap(1, n_resamples=20, manifest=copies))
    assert single[["low", "high"]].isna().all(axis=None)
    systems = tuple(table["system"].unique()[:2])
    found = contrasts(table, triplets, [systems], Bootstrap(1, n_resamples=20, manifest=copies))
    assert found["p_value"].isna().all()


def test_contrasts_are_paired():
    triplets, pairs, table = rated(200, {"a": 0.75, "b": 0.75, "c": 0.5})
    twin = table[table["system"] == "a"].assign(system="twin")
    twin.loc[twin["triplet"] == 17, "outcome"] = 1 - twin.loc[twin["triplet"] == 17, "outcome"]
    asked = [("a", "c"), ("a", "b"), ("a", "twin")]
    found = contrasts(pd.concat([table, twin]), triplets, asked, Bootstrap(1))
    found = found[found["metric"] == "similarity_precision"].set_index(["system_a", "system_b", "subset"])
    values = intervals(table, triplets, pairs, Bootstrap(1)).set_index(["system", "subset", "metric"])["value"]
    row, a, c = found.loc[("a", "c", "all")], *(values[(name, "all", "similarity_precision")] for name in "ac")
    assert (row["difference"], row["p_value"]) == pytest.approx((a - c, 2 / 2001))
    assert row["low"] > 0
    assert found.loc[("a", "b", "all"), "p_value"] > 0.05
    # a system and one that differs in a single triplet: the interval is as narrow as that, not that of two systems
    near = found.loc[("a", "twin", "all")]
    assert (near["high"] - near["low"] < 0.5, near["p_value"] > 0.3) == (True, True)
    chosen = contrasts(table, triplets, [("c", "a")], Bootstrap(1, n_resamples=10))
    assert set(zip(chosen["system_a"], chosen["system_b"], strict=True)) == {("c", "a")}
    with pytest.raises(LookalikeError, match="'d'"):
        contrasts(table, triplets, [("a", "d")], Bootstrap(1))


def test_intervals_of_several_trainings_contain_the_chance_in_their_seeds():
    triplets, pairs, table = rated(300, {"a": 0.7, "b": 0.7, "c": 0.7})
    random = np.random.default_rng(4)
    # three seeds that differ by much more than query images do
    parts = [table[table["system"] == "a"].assign(system="a")]
    for name, share in (("b", 0.5), ("c", 0.9)):
        right = (random.random(len(triplets)) < share).astype(np.float32)
        parts.append(table[table["system"] == "a"].assign(system=name, outcome=right))
    outcomes_, names = pd.concat(parts, ignore_index=True), {"a": ["a", "b", "c"]}
    given = Bootstrap(1), Bootstrap(1, trainings=names)
    found = (intervals(outcomes_, triplets, pairs, own) for own in given)
    alone, together = (table.set_index(["system", "subset", "metric"]) for table in found)
    assert set(together.index.get_level_values(0)) == {"a"}
    key = ("all", "similarity_precision")
    levels = [alone.loc[(name, *key), "value"] for name in names["a"]]
    row = together.loc[("a", *key)]
    assert (row["value"], row["n_seeds"]) == (pytest.approx(np.mean(levels)), 3)
    # of few seeds a bootstrap gives few means, so their spread is the error of a mean only about
    assert (row["high"] - row["low"]) / 2 == pytest.approx(1.96 * np.std(levels, ddof=1) / np.sqrt(3), rel=0.35)
    weights = statistics.repeat_weights(np.random.default_rng(1), 3, 20_000)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (weights @ levels).var() == pytest.approx(np.var(levels, ddof=1) / 3, rel=0.05)
    assert np.array_equal(statistics.repeat_weights(np.random.default_rng(1), 1, 5), np.ones((5, 1)))
    # seeds are paired: the same trainings under two names differ by nothing
    twins = outcomes_.assign(system=outcomes_["system"] + "2")
    seeds = Bootstrap(1, trainings=names | {"z": ["a2", "b2", "c2"]})
    found = contrasts(pd.concat([outcomes_, twins]), triplets, [("a", "z")], seeds)
    assert (found[["difference", "low", "high"]] == 0).all(axis=None)


BAD = pd.DataFrame({"image_id": [0, 1], "fold": [0, 0], "difference": [0.1, np.nan]})
ONE = triplet_rows([(0, 1, 2)])
MANIFEST = manifest_of([0, 1, 2, 3])
PAIRS = candidate_pairs(ONE, pool_rows({"a": [3]}), MANIFEST)
RIGHT = np.float32([1, 2, 3])
REFUSED = [
    *(("one finite", lambda bad=bad: corrected_t_test(bad, **SIZES)) for bad in ([], [0.1, np.nan], [0.1, np.inf])),
    ("for each class a set that does not hold it", lambda: class_jackknife([1, 2], [["a", "b"], ["a", "c"]])),
    ("finite differences", lambda: clustered_bootstrap(BAD, 10, random_state=0)),
    ("fold 0 has different queries of both", lambda: paired({0: OASIS[0]}, {0: EUCLIDEAN[0][1:]})),
    ("one twice", lambda: paired({0: OASIS[0][[1, 1]]}, {0: OASIS[0][[1, 1]]})),
    ("from 0 to 4", lambda: distances_of_rows(VECTORS, [0], [-1], "l1")),
    (
        "2 images of the triplets or their pools have no vector.* image 1",
        lambda: pair_distances(VECTORS, pairs_of([0, 0, 3, 2], [1, 2, 0, 1]), "l2"),
    ),
    ("name image 9 but .* of 5", lambda: pair_distances(VECTORS, pairs_of([0], [9]), "l2")),
    ("histograms", lambda: pair_distances(np.float32([[1], [-1]]), pairs_of([0], [1]), "chi2")),
    ("overflow", lambda: pair_distances(np.float32([[3e38], [-3e38]]), pairs_of([0], [1]), "l1")),
    ("'a' has triplets but no pool", lambda: candidate_pairs(ONE, pool_rows({"b": [3]}), MANIFEST)),
    ("image 9 is not in the manifest", lambda: candidate_pairs(ONE, pool_rows({"a": [9]}), MANIFEST)),
    ("no system", lambda: outcomes(ONE, PAIRS, {})),
    ("x has 2 distances for 3 pairs", lambda: outcomes(ONE, PAIRS, {"x": RIGHT[:2]})),
    ("no distance to 2 images, .* image 2", lambda: outcomes(ONE, PAIRS, {"x": RIGHT * [1, np.nan, np.nan]})),
    ("not among the pairs", lambda: outcomes(triplet_rows([(0, 1, 0), (1, 0, 2)]), PAIRS, {"x": RIGHT})),
    ("at least 1", lambda: outcomes(ONE, PAIRS, {"x": RIGHT}, k=0)),
]


@pytest.mark.parametrize(("sentence", "call"), REFUSED)
def test_what_cannot_be_compared_is_refused(sentence, call):
    with pytest.raises((ValueError, LookalikeError), match=sentence):
        call()
