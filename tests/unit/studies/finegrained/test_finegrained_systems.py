"""Systems without a network: what they learn, from which images alone, and what they hand to the workflow."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.spatial.distance import cdist

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.networks import Sampler
from lookalike.data.rated_triplets import codebook_images, split_ratings
from lookalike.data.relevance import RelevanceData
from lookalike.learners.oasis import OASIS as Learner
from lookalike.studies.finegrained import golden as mixing
from lookalike.studies.finegrained import protocol
from lookalike.studies.finegrained.description import describe_system
from lookalike.studies.finegrained.golden import choose_weights, component_distances, embed_categories, golden_system
from lookalike.studies.finegrained.protocol import sample_triplets, stratified_folds
from lookalike.studies.finegrained.settings import EmbeddingOasis, GoldenFeature, L1HashKPCA

N_CATEGORIES, PER = 5, 28
N = N_CATEGORIES * PER
LABELS = np.repeat(np.arange(N_CATEGORIES), PER)
TRAINING = np.flatnonzero(np.arange(N) % 4 != 0)
HELD_OUT = np.flatnonzero(np.arange(N) % 4 == 0)
SAMPLING = Sampler(out_of_class=0.2, margin=0.05)
GOLDEN = GoldenFeature(C=[0.1, 10.0], n_triplets=600, folds=2)
OASIS = EmbeddingOasis(aggressiveness=[0.1], steps=[200, 1000])
HASHES = L1HashKPCA(n_components=20, n_hashes=256)
NOBODY = pd.DataFrame()


def relevance_of(ids, truth):
    blocks = {}
    for category in range(N_CATEGORIES):
        rows = truth[ids[LABELS[ids] == category]]
        blocks[str(category)] = np.exp(-0.3 * cdist(rows, rows) ** 2) * (1 - np.eye(len(rows)))
    return RelevanceData.from_blocks(ids, LABELS[ids].astype(str), blocks)


@pytest.fixture(scope="module")
def world():
    """A good feature, noisy in some directions, and a useless one; pairs of held-out triplets, nearer ones first."""
    random = np.random.default_rng(0)
    truth = random.normal(size=(N, 2))
    noise = random.normal(size=(N, 6)) * 0.4
    good = np.exp((np.hstack([truth, noise]) @ random.normal(size=(8, 24)) + LABELS[:, None] % 2) / 6)
    good = (good / good.sum(axis=1, keepdims=True)).astype(np.float32)
    good[0] = np.nan  # an unusable image, in no pair
    features = {"good": good, "useless": random.normal(size=(N, 10)).astype(np.float32)}
    triplets = sample_triplets(relevance_of(HELD_OUT[HELD_OUT > 0], truth), 600, SAMPLING, 0)
    pairs = pd.DataFrame({"query": np.tile(triplets[:, 0], 2), "candidate": triplets[:, 1:].T.ravel()})
    return {"features": features, "relevance": relevance_of(TRAINING, truth), "pairs": pairs, "truth": truth}


def precision(distances):
    nearer, farther = np.split(distances, 2)
    return float(np.mean(nearer < farther))


def golden_of(world, features=None, settings=GOLDEN, ratings=NOBODY, **options):
    given = (features or world["features"], world["relevance"], ratings, world["pairs"], settings, SAMPLING)
    return golden_system(*given, **{"seed": 3, "n_principal": 8} | options)


def hashed_of(world, weights, rows=TRAINING):
    return protocol.l1hashkpca_system(world["features"], weights, rows, world["pairs"], HASHES, seed=3)


@pytest.fixture(scope="module")
def golden(world):
    return golden_of(world)


@pytest.fixture(scope="module")
def rated(world):
    """The triplets of the pairs, of a text query for each category."""
    nearer, farther = np.split(world["pairs"].to_numpy(), 2)
    rows = pd.DataFrame(np.column_stack([nearer, farther[:, 1]]), columns=["query", "positive", "negative"])
    return rows.assign(text_query=LABELS[rows["query"]].astype(str), kind="rated")


def test_the_golden_feature_learns_from_ratings_alone_or_beside_images_and_makes_the_relevance(world, rated):
    found, pairs = golden_of(world | {"relevance": None}, ratings=rated), world["pairs"]
    assert [row["feature"] for row in found.fit["components"]] == ["good"] * 4 + ["useless"] * 4
    assert (found.fit["learned_from"], found.relevance) == ("ratings", None)
    assert found.fit["l1_weights"]["good"] > 0.5
    useless = component_distances({("useless", "l2"): world["features"]["useless"]}, pairs["query"], pairs["candidate"])
    assert precision(found.distances) > precision(useless.ravel())
    with pytest.raises(LookalikeError, match=r"nothing to learn from: give training images, or golden\.ratings"):
        golden_of(world | {"relevance": None})
    evaluated, ratings = split_ratings(rated, 0.4, 1)
    assert (ratings["text_query"].nunique(), evaluated["text_query"].nunique()) == (2, 3)
    assert split_ratings(evaluated.assign(query=5), 0.4, seed=1)[1].empty, "no query image is on both sides"
    assert len(split_ratings(evaluated, 0, seed=1)[0]) == len(evaluated)
    with pytest.raises(LookalikeError, match="nothing to learn from or to judge"):
        split_ratings(evaluated, 0.99, seed=1)
    truth = world["relevance"]
    # its grades teach nothing now
    blind = world | {"relevance": RelevanceData.from_labels(truth.image_id, truth.labels)}
    opposite = ratings.rename(columns={"positive": "negative", "negative": "positive"})
    found, turned = (golden_of(blind, ratings=own) for own in (ratings, opposite))
    assert (found.fit["learned_from"], found.fit["n_triplets"]) == ("ratings", len(ratings))
    assert precision(found.distances) > precision(turned.distances) + 0.05
    grades = found.relevance.relevance.toarray()
    assert np.corrcoef(truth.relevance.toarray()[grades > 0], grades[grades > 0])[0, 1] > 0.3
    assert np.median(grades[grades > 0]) == pytest.approx(np.exp(-1), rel=1e-3)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_no_other_weights_have_a_lower_objective_and_the_gap_is_a_bound(C):
    # some components help, some hurt, so that both kinds of bounds are active
    random = np.random.default_rng(0)
    rows = random.normal(np.linspace(-0.5, 0.8, 4), 1.0, (40, 4))

    def objective(weights):
        return 0.5 * weights @ weights + C * np.maximum(0, 1 - rows @ weights).mean()

    learned = mixing.learn_weights(rows, C, seed=0, tolerance=1e-9, most_passes=200_000)
    assert learned.converged
    assert learned.weights[0] == 0.0 < learned.weights[3]
    assert learned.objective == pytest.approx(objective(learned.weights))
    # the objective is convex, so steps in all directions show the minimum
    others = learned.weights + np.repeat([1e-4, 1e-2, 1.0], 2000)[:, None] * random.normal(size=(6000, 4))
    assert min(map(objective, np.maximum(others, 0))) >= learned.objective * (1 - 1e-8)
    early = mixing.learn_weights(rows, C, seed=1, tolerance=1e-12, most_passes=1)
    assert early.objective - learned.objective <= early.gap * (1 + 1e-9)
    assert early.converged == (C == 0.1)
    # a row without a difference costs as much whatever the weights are
    padded = mixing.learn_weights(np.pad(rows, ((0, 40), (0, 0))), 2 * C, seed=0, tolerance=1e-9, most_passes=200_000)
    np.testing.assert_allclose(padded.weights, learned.weights, atol=1e-3)


def test_components_are_columns_and_their_scales_medians_and_C_is_the_smallest_of_equals_on_folds_left_out():
    rows = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    found = component_distances({("s", "l1"): rows, ("s", "l2"): rows}, [0, 1], [2, 2])
    expected = [cdist(rows[:2], rows[2:3], name).ravel() for name in ("cityblock", "euclidean")]
    np.testing.assert_allclose(found.T, expected, rtol=1e-5)
    table = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [7.0, 6.0, 0.0]])
    np.testing.assert_array_equal(mixing.distance_scales(table), [3.0, 2.0, 1.0])
    first = np.tile([1.0, 0.0], (6, 1))
    learned, C, found = choose_weights([first, first[:, ::-1]], [10.0, 0.1], seed=0)
    # what one fold teaches leaves the other's triplets as ties
    assert found == [{"C": 0.1, "precision": 0.5}, {"C": 10.0, "precision": 0.5}]
    assert C == 0.1
    assert (learned.weights > 0).all()


def test_the_golden_feature_weighs_what_is_good_and_evaluation_images_teach_it_nothing(world, golden):
    subject, pairs = pd.DataFrame(golden.fit["components"]), world["pairs"]
    assert len(subject) == 2 * 4 + 3
    weights = subject.groupby("feature")["weight"].sum()
    assert weights["good"] > 3 * weights["useless"]
    assert subject["weight"].min() >= 0
    assert precision(golden.distances) > 0.6
    # distances are the weighted sum of those of the components, divided by their scales
    own = subject[subject["feature"].isin(["good", "useless"])]
    components = {(item.feature, item.distance): world["features"][item.feature] for item in own.itertuples()}
    table = component_distances(components, pairs["query"], pairs["candidate"])
    assert (golden.distances >= table @ (own["weight"] / own["scale"]).to_numpy() - 1e-4).all()
    # the L1 visual features share out their weights
    assert golden.fit["l1_weights"]["good"] > 0.5
    assert sum(golden.fit["l1_weights"].values()) == pytest.approx(1)
    moved = np.isin(np.arange(N), HELD_OUT)[:, None].astype(np.float32)
    other = golden_of(world, {name: vectors + moved for name, vectors in world["features"].items()})
    assert other.fit["components"] == golden.fit["components"]
    assert not np.array_equal(other.distances, golden.distances)


def test_embeddings_are_learned_from_other_folds_and_l1_weights_make_up_for_norms(world, monkeypatch):
    calls = []

    def spy(features, learned_from, labels, wanted, **options):
        calls.append((set(learned_from), set(wanted)))
        return embed_categories(features, learned_from, labels, wanted, **options)

    monkeypatch.setattr("lookalike.studies.finegrained.golden.embed_categories", spy)
    good, settings = world["features"]["good"], GoldenFeature(C=[1.0], n_triplets=200, folds=2)
    alike = golden_of(world, {"a": good, "b": 1000 * good}, settings, n_principal=4)
    # an embedding looks better on the images that it was learned from
    *folds, (learned, _) = calls
    assert all(not subject & wanted for subject, wanted in folds)
    assert set().union(*(wanted for _, wanted in folds)) == learned == set(TRAINING)
    # vectors are divided by their norms before they are hashed
    assert alike.fit["l1_weights"] == pytest.approx({"a": 0.5, "b": 0.5}, rel=0.05)


def test_embeddings_tell_unseen_rows_apart_whatever_the_units_and_blocks(monkeypatch):
    random = np.random.default_rng(0)
    y, seen, unseen = np.arange(200) % 4, np.arange(100), np.arange(100, 200)
    # the differences between categories are small beside what all images vary in
    nuisance = random.normal(size=(200, 3)) @ random.normal(size=(3, 20)) * 4
    first = random.normal(size=(4, 20))[y] + nuisance + random.normal(size=(200, 20)) * 0.3
    second = random.normal(size=(4, 50))[y] * 1e-3 + random.normal(size=(200, 50)) * 1e-3
    features = {"first": first.astype(np.float32), "second": second.astype(np.float32)}

    def purity(vectors):
        distances = cdist(vectors, vectors) + np.diag([np.inf] * len(vectors))
        return float((y[unseen][distances.argmin(axis=1)] == y[unseen]).mean())

    vectors = embed_categories(features, seen, y[seen], unseen, n_components=10, seed=0)
    assert purity(features["first"][unseen]) < 0.9
    assert {name: found.shape for name, found in vectors.items()} == {"lda": (200, 3), "logistic": (200, 4)}
    for found in vectors.values():
        assert purity(found[unseen]) > 0.97
        assert np.isnan(found[seen]).all()
    np.testing.assert_allclose((vectors["logistic"][unseen] ** 2).sum(axis=1), 1, rtol=1e-5)
    monkeypatch.setattr(mixing, "EMBEDDED_ROWS", 7)
    other = {"second": features["second"] * 1000, "first": features["first"]}
    again = embed_categories(other, seen, y[seen], unseen, n_components=10, seed=0)
    distances = [cdist(own["lda"][unseen][:9], own["lda"][unseen][:9]) for own in (vectors, again)]
    np.testing.assert_allclose(*distances, rtol=1e-3, atol=1e-3)


def test_hashed_vectors_are_of_the_usable_images(world, golden):
    hashed, pairs = hashed_of(world, golden.fit["l1_weights"]), world["pairs"]
    assert np.isfinite(hashed.vectors).all(axis=1).tolist() == [False] + [True] * (N - 1)
    expected = np.linalg.norm(hashed.vectors[pairs["query"]] - hashed.vectors[pairs["candidate"]], axis=1)
    np.testing.assert_allclose(hashed.distances, expected, rtol=1e-4)
    assert precision(hashed.distances) > 0.55
    for fit in (golden.fit, hashed.fit):
        json.dumps(fit, allow_nan=False)


def test_oasis_learns_on_training_images_and_is_better_than_its_start(world):
    # two directions matter, and the others are louder
    random = np.random.default_rng(0)
    vectors = np.hstack([world["truth"], 0.9 * random.normal(size=(N, 6))]).astype(np.float32)

    def learned(vectors, **changes):
        given = (vectors, world["relevance"], world["pairs"], OASIS, SAMPLING)
        return protocol.oasis_system(*given, seed=1, n_validation=300, **changes)

    result, units = learned(vectors), protocol.centred_units(vectors, TRAINING)
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1, rtol=1e-5)
    start = -protocol.pair_similarities(units, None, *world["pairs"][["query", "candidate"]].to_numpy().T)
    assert precision(result.distances) > precision(start) + 0.05
    assert [item["n_steps"] for item in result.fit["validation"]] == [0, 200, 1000]
    assert result.fit["n_triplets"] == max(result.fit["validation"], key=lambda item: item["precision"])["n_steps"]
    changed = vectors.copy()
    changed[HELD_OUT] = 7.0
    assert learned(changed).fit["validation"] == result.fit["validation"], "evaluation images teach it nothing"
    # held out are the images that a network was not trained on either, where these are named
    other = learned(vectors, held_out_images=TRAINING[::3]).fit["validation"]
    assert other != result.fit["validation"]


def test_a_similarity_is_of_the_query_to_the_candidate_also_in_the_span_of_the_training_images():
    random = np.random.default_rng(0)
    rows = random.normal(size=(30, 40)).astype(np.float32)
    learned, triplets = np.arange(5, 17, dtype=np.int32), random.integers(0, 12, (200, 3))
    inside, outside = protocol.in_span(rows, learned)
    assert inside.shape == (30, 12)
    asked = random.integers(0, 30, (2, 500))
    whole, part = (Learner(aggressiveness=0.1).fit_triplets(own[learned], triplets) for own in (rows, inside))
    found = protocol.pair_similarities(inside, part, *asked) + protocol.pair_similarities(outside, None, *asked)
    np.testing.assert_allclose(found, protocol.pair_similarities(rows, whole, *asked), rtol=1e-4, atol=1e-4)
    assert np.abs(found - protocol.pair_similarities(rows, None, *asked)).max() > 0.1
    model, rows = Learner(), np.eye(2, dtype=np.float32)
    model.W_ = np.array([[1.0, 2.0], [0.0, 1.0]], np.float32)
    assert protocol.pair_similarities(rows, model, np.array([0, 1]), np.array([1, 0])).tolist() == [2.0, 0.0]
    ties = protocol.similarity_precision(np.ones((3, 2), np.float32), None, np.array([[0, 1, 2]], np.int32))
    assert ties == 0.5


def test_what_cannot_be_learned_or_drawn_is_said_and_folds_deal_categories_evenly(world):
    with pytest.raises(LookalikeError, match="two categories at least"):
        golden_of(world | {"relevance": RelevanceData.from_labels(TRAINING, ["alike"] * len(TRAINING))})
    with pytest.raises(LookalikeError, match="no image of the manifest can be used"):
        codebook_images(pd.DataFrame({"path": ["a"], "part": "training", "status": "unreadable"}))
    with pytest.raises(LookalikeError, match="needs two images at least"):
        hashed_of(world, {"good": 1.0}, [0])
    ungraded = RelevanceData.from_labels(np.arange(N), LABELS.astype(str))
    query, positive, negative = LABELS[sample_triplets(ungraded, 200, Sampler(out_of_class=1.0), 0).T]
    assert ((query == positive) & (query != negative)).all()
    with pytest.raises(LookalikeError, match="training triplets cannot be sampled: no in-class negative"):
        sample_triplets(ungraded, 200, SAMPLING, 0)
    folds = stratified_folds(LABELS, 3, np.random.default_rng(0))
    assert (np.ptp(pd.crosstab(LABELS, folds).to_numpy(), axis=1) <= 1).all()


def saved(folder, images):
    """Write images, and return their paths."""
    for number, pixels in enumerate(images):
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return [folder / f"{number}.png" for number in range(len(images))]


def test_a_hand_crafted_feature_is_described_and_measured(tmp_path):
    rough = np.random.default_rng(0).integers(0, 256, (6, 12, 12, 3), dtype=np.uint8)
    paths = saved(tmp_path, np.kron(rough, np.ones((5, 5, 1), np.uint8)))
    paths[2] = None
    pairs = pd.DataFrame({"query": [0, 1, 0], "candidate": [1, 3, 0]})

    def described(rows):
        settings, ratings = [{"n_words": 5, "sizes": (16,)}], pd.DataFrame()
        return describe_system("sift-like", settings, paths, rows, pairs, ratings=ratings, seed=0)

    result = described([3, 4, 5, 2])
    assert np.isnan(result.vectors[2]).all()
    expected = np.abs(result.vectors[[0, 1, 0]] - result.vectors[[1, 3, 0]]).sum(axis=1)
    np.testing.assert_allclose(result.distances, expected, atol=1e-6)
    assert result.fit["settings"]["n_words"] == 5
    with pytest.raises(LookalikeError, match="codebook"):
        described([2])


def test_ratings_take_one_of_several_settings_of_a_feature(tmp_path):
    colours = [(200, 30, 30), (200, 32, 32), (30, 30, 200), (30, 200, 30)]
    paths = saved(tmp_path, [np.full((40, 40, 3), colour, dtype=np.uint8) for colour in colours])
    pairs = pd.DataFrame({"query": [3], "candidate": [2]})
    ratings = pd.DataFrame({"query": [0, 1], "positive": [1, 0], "negative": [2, 2]})
    blind, seeing = {"bins": (1, 1, 1)}, {"bins": (4, 4, 4), "distance": "l1"}

    def described(choices, ratings=ratings):
        return describe_system("color", choices, paths, [], pairs, ratings=ratings, seed=0).fit

    found = described([blind, seeing, seeing | {"distance": "l2"}])
    assert [row["precision"] for row in found["tried"]] == [0.5, 1.0, 1.0]
    assert (found["settings"]["bins"], found["distance"]) == ((4, 4, 4), "l1"), "the first of the best"
    assert described([blind, seeing], ratings.iloc[:0])["distance"] == "chi2", "without ratings the first"
    assert described([seeing])["tried"] == []
    with pytest.raises(LookalikeError, match="no distance 'l7'"):
        described([blind, seeing | {"distance": "l7"}])
