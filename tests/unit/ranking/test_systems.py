"""What compares systems: tests of differences, distances of pairs, and metrics of rated triplets with intervals."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as t_distribution

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.ranking import statistics, triplet_metrics
from lookalike.ranking.comparison import class_jackknife, clustered_bootstrap, corrected_t_test, holm, paired
from lookalike.ranking.distances import DISTANCES, distances_of_rows, pair_distances
from lookalike.ranking.triplet_metrics import Bootstrap, candidate_pairs, contrasts, intervals, outcomes


def queries_of(mean, *, folds=range(5), seed=0):
    """Average precision of a method by fold and image; fold f tests the images f * 10 to f * 10 + 59."""
    rng = np.random.default_rng([seed, *folds])
    return {fold: pd.Series(mean + rng.normal(scale=0.02, size=60), rng.permutation(60) + 10 * fold) for fold in folds}


SIZES = {"n_train": 40, "n_test": 25}
OASIS, EUCLIDEAN = queries_of(0.40), queries_of(0.30, seed=1)


def test_the_jackknife_leaves_out_a_class_at_a_time():
    found = class_jackknife([1, 2, 6, 3], ["ab", "cd", "ac", "bd"])
    # the means without a class are 2.5, 4, 2 and 3.5; the variance is 3/4 of their squares around 3, which come to 2.5
    assert (found.mean, found.std, found.statistic) == pytest.approx((3, (14 / 3) ** 0.5, 3 / 1.875**0.5))
    assert found.high - found.mean == pytest.approx(3.182446 * 1.875**0.5)


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


@pytest.mark.parametrize("share", [0.6, 0.2])  # of so few a draw has no image of some folds, which are left out of it
def test_the_bootstrap_is_that_of_resampled_tables(monkeypatch, share):
    rng = np.random.default_rng(1)
    image, fold = np.nonzero(rng.random((12, 5)) < share)
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
    monkeypatch.setattr(statistics, "BLOCK_CELLS", 40)
    assert clustered_bootstrap(table, 50, random_state=7) == pytest.approx(interval, abs=1e-12)
    single = pd.DataFrame({"image_id": 4, "fold": [0, 1], "difference": [0.1, 0.3]})
    assert clustered_bootstrap(single, 50, random_state=7) == pytest.approx((0.2, np.nan, np.nan), nan_ok=True)


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


VECTORS = np.random.default_rng(0).random((5, 20_000), np.float32)
VECTORS[[1, 3]] = np.nan


@pytest.mark.parametrize("name", DISTANCES)
def test_long_rows_of_a_memory_map_are_summed_as_in_double_precision_and_missing_ones_have_no_distance(name, tmp_path):
    np.save(tmp_path / "vectors.npy", VECTORS)
    mapped, queries, candidates = np.load(tmp_path / "vectors.npy", mmap_mode="r"), [4, 2, 0], [2, 0, 4]
    expected = [written_out(VECTORS[a], VECTORS[b], name) for a, b in zip(queries, candidates, strict=True)]
    np.testing.assert_allclose(pair_distances(mapped, pairs_of(queries, candidates), name), expected, rtol=1e-5)
    assert pair_distances(mapped, pairs_of([], []), name).shape == (0,)
    assert np.isnan(distances_of_rows(VECTORS, [0, 1, 1], [1, 0, 3], name)).all()


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


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32), st.integers(4, 14), st.integers(1, 8), st.integers(1, 4))
def test_pairs_and_outcomes_are_the_definition(seed, n, n_triplets, k):
    """A copy of the query is not in its pool, and one of the positive or negative does not stand before that."""
    random = np.random.default_rng(seed)
    contents, texts = random.integers(-1, n // 2, n), random.choice(["a", "b"], n_triplets).tolist()
    triplets = triplet_rows([random.permutation(n)[:3] for _ in texts], texts)
    manifest, pools = manifest_of(contents), {text: random.permutation(n)[: random.integers(1, n + 1)] for text in "ab"}
    pool = pool_rows({text: ids[np.unique(contents[ids], return_index=True)[1]] for text, ids in pools.items()})
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

    measured = random.integers(0, 6, len(pairs)).astype(np.float32)  # some of them equal
    found, twice = (outcomes(triplets, pairs, dict.fromkeys(names, measured), k=k) for names in (["one"], "ab"))
    assert twice["system"].tolist() == ["a"] * len(triplets) + ["b"] * len(triplets)
    for row, triplet in zip(found.itertuples(), triplets.itertuples(), strict=True):
        owned = [
            (*pair[2:], far)
            for pair, far in zip(listed, measured, strict=True)
            if pair[:2] == (triplet.text_query, triplet.query)
        ]
        far = {image: distance for image, _, distance in owned}
        margin = far[triplet.negative] - far[triplet.positive]
        assert (row.margin, row.outcome) == (margin, 0.5 if margin == 0 else margin > 0)
        ranked = [(sha256[image], distance) for image, in_pool, distance in owned if in_pool]
        sides = triplet.positive, triplet.negative
        nearer = [sum(d < far[side] and content != sha256[side] for content, d in ranked) for side in sides]
        assert row.in_top == (min(nearer) < k)


TRAININGS = {"one": ["one"], "many": ["b", "c", "d"], "more": ["e", "f", "g"], "two": ["two"]}
SHARES = {"one": 0.8, "two": 0.6, "b": 0.7, "c": 0.5, "d": 0.9, "e": 0.7, "f": 0.6, "g": 0.5}


def rated(n_queries=40, kinds=("out-of-class", "in-class", "in-class")):
    """Return triplets, pairs and outcomes of systems that are right with a given probability, five a query image."""
    random, n = np.random.default_rng(0), 5 * n_queries
    rows = [(i // 5, n_queries + i, n_queries + n + i) for i in range(n)]
    triplets = triplet_rows(rows, ["a"] * n, np.resize(kinds, n))
    frames = []
    for system, share in SHARES.items():
        outcome = np.where(random.random(n) < 0.1, 0.5, random.random(n) < share).astype(np.float32)
        columns = {"system": system, "outcome": outcome, "in_top": random.random(n) < 0.5}
        frames.append(pd.DataFrame(columns).assign(triplet=triplets["triplet"]))
    pool = pool_rows({"a": list(range(n_queries))})
    pairs = candidate_pairs(triplets, pool, manifest_of(list(range(n_queries + 2 * n))))
    return triplets, pairs, pd.concat(frames, ignore_index=True)


def resampled_metrics(outcome, in_top, image, subset, names, bootstrap):
    """Metrics of a system in all its triplets and in each resample of query images and seeds: (1 + resamples, 3)."""
    ids, n = np.unique(image), len(names)
    drawn = generator(bootstrap.seed, "triplets", "bootstrap", subset)
    drawn = [ids, *ids[drawn.integers(len(ids), size=(bootstrap.n_resamples, len(ids)))]]
    seeds = statistics.repeat_weights(generator(bootstrap.seed, "triplets", "seeds"), n, bootstrap.n_resamples)
    found = []
    for images, weights in zip(drawn, [np.full(n, 1 / n), *seeds], strict=True):
        rows = np.concatenate([np.flatnonzero(image == each) for each in images])
        right, top = outcome[:, rows], in_top[:, rows]
        score = ((right == 1) & top).sum(axis=1) - ((right == 0) & top).sum(axis=1)
        found.append(np.array([100 * right.mean(axis=1), score, 100 * score / len(rows)]) @ weights)
    return np.array(found)


@pytest.mark.parametrize(
    ("n_queries", "copies", "kinds", "k"),
    [(40, 1, ("in-class", "out-of-class", "in-class"), 30), (40, 2, ["rated"], 5), (3, 3, ("a", "b"), 30)],
)
def test_intervals_and_contrasts_are_those_of_resampled_tables(n_queries, copies, kinds, k):
    """Query images, copies as one, and seeds are resampled for all systems alike; of one image nothing is known."""
    triplets, pairs, table = rated(n_queries, kinds)
    n_images = int(triplets["negative"].max()) + 1
    copied = manifest_of(np.where(np.arange(n_images) < n_queries, np.arange(n_images) // copies, np.arange(n_images)))
    bootstrap = Bootstrap(
        7, k, 30, copied if copies > 1 else None, {name: TRAININGS[name] for name in ("many", "more")}
    )
    metrics, found, values = ("similarity_precision", f"score@{k}", f"score@{k}_per_triplet"), {}, []
    image, subsets = triplets["query"].to_numpy() // copies, ["all", *sorted(set(kinds) if len(kinds) > 1 else ())]
    by_name = {name: rows.sort_values("triplet") for name, rows in table.groupby("system")}
    for system, subset in itertools.product(("one", "two", "many", "more"), subsets):
        chosen = np.flatnonzero((triplets["kind"] == subset) | (subset == "all"))
        outcome, in_top = (
            np.array([by_name[name][column].to_numpy()[chosen] for name in TRAININGS[system]], float)
            for column in ("outcome", "in_top")
        )
        own = resampled_metrics(outcome, in_top > 0, image[chosen], subset, TRAININGS[system], bootstrap)
        n = len(set(image[chosen]))
        low, high = np.percentile(own[1:], [2.5, 97.5], axis=0) if n > 1 else np.full((2, 3), np.nan)
        counts = [(sums == value).sum(axis=1).mean().round() for sums, value in ((outcome, 0.5), (in_top, 1))]
        sums = (len(chosen), n, counts[0], n_queries - 1, counts[1], len(TRAININGS[system]))
        values += [(system, subset, *row, *sums) for row in zip(metrics, own[0], low, high, strict=True)]
        found[system, subset] = own, n
    expected = pd.DataFrame(values, columns=list(triplet_metrics.INTERVAL_COLUMNS))
    turned = table.sort_values("triplet", ascending=False, kind="stable")
    pd.testing.assert_frame_equal(intervals(turned, triplets, pairs, bootstrap), expected, check_dtype=False)

    asked, values = [("one", "two"), ("many", "more"), ("two", "many")], []
    for subset, (a, b) in itertools.product(subsets, asked):
        difference, n = found[a, subset][0] - found[b, subset][0], found[a, subset][1]
        low, high = np.percentile(difference[1:], [2.5, 97.5], axis=0) if n > 1 else np.full((2, 3), np.nan)
        beyond = np.minimum((difference[1:] <= 0).sum(axis=0), (difference[1:] >= 0).sum(axis=0))
        p = np.minimum(1, 2 * (beyond + 1) / 31) if n > 1 else [np.nan] * 3
        values += [(a, b, subset, *row, n) for row in zip(metrics, difference[0], low, high, p, strict=True)]
    expected = pd.DataFrame(values, columns=list(triplet_metrics.CONTRAST_COLUMNS))
    pd.testing.assert_frame_equal(contrasts(table, triplets, asked, bootstrap), expected, check_dtype=False)


def test_resampled_seeds_have_the_error_of_a_mean():
    levels = [0.7, 0.5, 0.9]
    weights = statistics.repeat_weights(np.random.default_rng(1), 3, 20_000)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (weights @ levels).var() == pytest.approx(np.var(levels, ddof=1) / 3, rel=0.05)


BAD = pd.DataFrame({"image_id": [0, 1], "fold": [0, 0], "difference": [0.1, np.nan]})
ONE = triplet_rows([(0, 1, 2)])
MANIFEST = manifest_of([0, 1, 2, 3])
PAIRS = candidate_pairs(ONE, pool_rows({"a": [3]}), MANIFEST)
RIGHT = np.float32([1, 2, 3])
FOUND = outcomes(ONE, PAIRS, {"x": RIGHT})
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
    ("x has outcomes of other triplets", lambda: intervals(FOUND.assign(triplet=7), ONE, PAIRS, Bootstrap(1))),
    ("no outcomes of 'd'", lambda: contrasts(FOUND, ONE, [("x", "d")], Bootstrap(1))),
]


@pytest.mark.parametrize(("sentence", "call"), REFUSED)
def test_what_cannot_be_compared_is_refused(sentence, call):
    with pytest.raises((ValueError, LookalikeError), match=sentence):
        call()
