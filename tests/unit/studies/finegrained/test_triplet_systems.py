"""Systems without a network: what they learn, from which images alone, and what they hand to the workflow."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.data.relevance import RelevanceData
from lookalike.studies.finegrained import protocol
from lookalike.studies.finegrained.description import describe_system
from lookalike.studies.finegrained.files import SystemResult
from lookalike.studies.finegrained.golden import golden_system
from lookalike.studies.finegrained.training import draw_triplets, local_rows, stratified_folds, with_sampling

N_CATEGORIES, PER = 5, 28
N = N_CATEGORIES * PER
LABELS = np.repeat(np.arange(N_CATEGORIES), PER)
TRAINING = np.flatnonzero(np.arange(N) % 4 != 0)
HELD_OUT = np.flatnonzero(np.arange(N) % 4 == 0)
SAMPLING = {"out_of_class": 0.2, "margin": 0.05}
GOLDEN = with_sampling({"C": [0.1, 10.0], "n_triplets": 600, "folds": 2, "annotation_components": 8}, SAMPLING)
OASIS = with_sampling({"aggressiveness": [0.1], "steps": [200, 1000], "n_validation_triplets": 300}, SAMPLING)
HASHES = {"n_components": 20, "n_hashes": 256, "n_landmarks": 4000}


def relevance_of(ids: np.ndarray, truth: np.ndarray) -> RelevanceData:
    blocks = {}
    for category in range(N_CATEGORIES):
        rows = truth[ids[LABELS[ids] == category]]
        block = np.exp(-0.3 * ((rows[:, None] - rows[None]) ** 2).sum(axis=2))
        np.fill_diagonal(block, 0)
        blocks[str(category)] = block
    return RelevanceData.from_blocks(ids, LABELS[ids].astype(str), blocks)


@pytest.fixture(scope="module")
def world() -> dict:
    """A good feature, noisy in some directions, and a useless one; pairs of held-out triplets, nearer ones first."""
    random = np.random.default_rng(0)
    truth = random.normal(size=(N, 2))
    noise = random.normal(size=(N, 6)) * 0.4
    good = np.exp((np.hstack([truth, noise]) @ random.normal(size=(8, 24)) + LABELS[:, None] % 2) / 6)
    features = {
        "good": (good / good.sum(axis=1, keepdims=True)).astype(np.float32),
        "useless": random.normal(size=(N, 10)).astype(np.float32),
    }
    features["good"][0] = np.nan  # an unusable image, in no pair
    held_out = HELD_OUT[HELD_OUT > 0]
    triplets, _ = draw_triplets(relevance_of(held_out, truth), 600, with_sampling({}, SAMPLING), 0)
    pairs = pd.DataFrame({"query": np.tile(triplets[:, 0], 2), "candidate": triplets[:, 1:].T.ravel()})
    return {"features": features, "relevance": relevance_of(TRAINING, truth), "pairs": pairs, "truth": truth}


def precision(distances: np.ndarray) -> float:
    nearer, farther = np.split(distances, 2)
    return float(np.mean(nearer < farther))


@pytest.fixture(scope="module")
def golden(world: dict) -> SystemResult:
    return golden_system(world["features"], world["relevance"], world["pairs"], GOLDEN, seed=3)


@pytest.fixture(scope="module")
def hashed(world: dict, golden: SystemResult) -> SystemResult:
    chosen = {"seed": 3, "codebook_from": "training images"}
    weights = golden.fit["l1_weights"]
    return protocol.l1hashkpca_system(world["features"], weights, TRAINING, world["pairs"], HASHES, **chosen)


def test_the_golden_feature_weighs_what_is_good(world: dict, golden: SystemResult) -> None:
    weights = {(one["feature"], one["distance"]): one["weight"] for one in golden.fit["components"]}
    assert len(weights) == 2 * 4 + 3
    assert sum(value for (name, _), value in weights.items() if name == "good") > 3 * sum(
        value for (name, _), value in weights.items() if name == "useless"
    )
    assert min(weights.values()) >= 0
    assert precision(golden.distances) > 0.6
    assert golden.fit["l1_weights"]["good"] > 0.5
    assert sum(golden.fit["l1_weights"].values()) == pytest.approx(1)
    assert golden.vectors is None
    assert golden.distances.dtype == np.float32
    assert golden.distances.shape == (len(world["pairs"]),)
    json.dumps(golden.fit, allow_nan=False)


def test_six_features_make_twenty_seven_components(world: dict) -> None:
    features = {f"f{i}": world["features"]["useless"] for i in range(6)}
    settings = GOLDEN | {"C": [1.0], "n_triplets": 60, "annotation_components": 4}
    result = golden_system(features, world["relevance"], world["pairs"], settings, seed=0)
    assert len(result.fit["components"]) == 27


def test_evaluation_images_teach_the_golden_feature_nothing(world: dict, golden: SystemResult) -> None:
    changed = {name: vectors.copy() for name, vectors in world["features"].items()}
    for vectors in changed.values():
        vectors[HELD_OUT] += 1.0
    other = golden_system(changed, world["relevance"], world["pairs"], GOLDEN, seed=3)
    assert other.fit["components"] == golden.fit["components"]
    assert not np.array_equal(other.distances, golden.distances)


def test_an_embedding_that_learns_labels_by_heart_gets_no_weight_for_it(world: dict) -> None:
    """Of useless features the embedding separates its own training images well, and others not at all."""
    random = np.random.default_rng(1)
    features = {"useless": random.normal(size=(N, 60)).astype(np.float32), "good": world["features"]["good"]}
    settings = GOLDEN | {"C": [10.0], "n_triplets": 1500, "folds": 3, "out_of_class": 0.9, "annotation_components": 60}
    result = golden_system(features, world["relevance"], world["pairs"], settings, seed=0)
    learned = sum(one["weight"] for one in result.fit["components"] if one["feature"].startswith("annotation"))
    assert learned < 0.8 * sum(one["weight"] for one in result.fit["components"])


def test_the_same_seed_gives_the_same_golden_feature(world: dict, golden: SystemResult) -> None:
    again = golden_system(world["features"], world["relevance"], world["pairs"], GOLDEN, seed=3)
    np.testing.assert_array_equal(again.distances, golden.distances)


def test_hashed_vectors_are_of_the_usable_images(world: dict, hashed: SystemResult) -> None:
    assert hashed.vectors is not None
    assert hashed.vectors.shape == (N, 20)
    assert np.isnan(hashed.vectors[0]).all()
    assert np.isfinite(hashed.vectors[1:]).all()
    pairs = world["pairs"]
    expected = np.linalg.norm(hashed.vectors[pairs["query"]] - hashed.vectors[pairs["candidate"]], axis=1)
    np.testing.assert_allclose(hashed.distances, expected, rtol=1e-4)
    assert precision(hashed.distances) > 0.55
    assert hashed.fit["n_fit_images"] == len(TRAINING)
    json.dumps(hashed.fit, allow_nan=False)


def test_oasis_learns_on_training_images_and_is_better_than_its_start(world: dict, hashed: SystemResult) -> None:
    # two directions matter, and the others are louder
    random = np.random.default_rng(0)
    vectors = np.hstack([world["truth"], 0.9 * random.normal(size=(N, 6))]).astype(np.float32)
    lines: list[str] = []
    result = protocol.oasis_system(vectors, world["relevance"], world["pairs"], OASIS, seed=1, report=lines.append)
    units = protocol.centred_units(vectors, TRAINING)
    start = -protocol.pair_similarities(units, None, *world["pairs"][["query", "candidate"]].to_numpy().T)
    assert precision(result.distances) > precision(start) + 0.05
    assert [one["n_steps"] for one in result.fit["validation"]] == [0, 200, 1000]
    chosen = max(result.fit["validation"], key=lambda one: one["precision"])
    assert result.fit["n_steps"] == chosen["n_steps"]
    assert len(lines) == 3
    json.dumps(result.fit, allow_nan=False)
    changed = vectors.copy()
    changed[HELD_OUT] = 7.0
    other = protocol.oasis_system(changed, world["relevance"], world["pairs"], OASIS, seed=1)
    assert other.fit["validation"] == result.fit["validation"]
    assert hashed.vectors is not None
    assert protocol.oasis_system(hashed.vectors, world["relevance"], world["pairs"], OASIS, seed=1).vectors is None


def test_a_similarity_is_of_the_query_to_the_candidate() -> None:
    from lookalike.learners.oasis import OASIS as Learner

    model = Learner()
    model.W_ = np.array([[1.0, 2.0], [0.0, 1.0]], np.float32)
    rows = np.eye(2, dtype=np.float32)
    found = protocol.pair_similarities(rows, model, np.array([0, 1]), np.array([1, 0]))
    np.testing.assert_array_equal(found, [2.0, 0.0])
    with pytest.raises(LookalikeError, match="without a vector"):
        protocol.pair_similarities(np.full((2, 2), np.nan, np.float32), model, np.array([0]), np.array([1]))


def test_relevance_without_grades_gives_out_of_class_triplets_only() -> None:
    data = RelevanceData.from_labels(np.arange(N), LABELS.astype(str))
    triplets, share = draw_triplets(data, 200, with_sampling({}, SAMPLING), 0)
    assert share == 1.0
    assert (LABELS[triplets[:, 0]] == LABELS[triplets[:, 1]]).all()
    assert (LABELS[triplets[:, 0]] != LABELS[triplets[:, 2]]).all()


def test_nothing_to_learn_from_is_said(world: dict) -> None:
    def hashes(weights: dict, rows: object) -> SystemResult:
        pairs = world["pairs"]
        return protocol.l1hashkpca_system(world["features"], weights, rows, pairs, HASHES, seed=0, codebook_from="")

    for call in (
        lambda: golden_system(world["features"], RelevanceData.empty(), world["pairs"], GOLDEN, seed=0),
        lambda: protocol.oasis_system(
            world["features"]["useless"], RelevanceData.empty(), world["pairs"], OASIS, seed=0
        ),
        lambda: hashes({}, TRAINING),
        lambda: hashes({"good": 1.0}, [0]),
    ):
        with pytest.raises(LookalikeError):
            call()


def test_folds_deal_categories_evenly() -> None:
    folds = stratified_folds(LABELS, 3, np.random.default_rng(0))
    for category in range(N_CATEGORIES):
        counts = np.bincount(folds[category == LABELS], minlength=3)
        assert counts.max() - counts.min() <= 1


def test_image_ids_become_rows() -> None:
    ids = np.array([7, 3, 9], np.int32)
    np.testing.assert_array_equal(local_rows(np.array([[3, 9, 7]], np.int32), ids), [[1, 2, 0]])


def test_a_hand_crafted_feature_is_described_and_measured(tmp_path) -> None:
    random = np.random.default_rng(0)
    paths: list = []
    for i in range(6):
        rough = random.integers(0, 256, (12, 12, 3), dtype=np.uint8)
        Image.fromarray(np.kron(rough, np.ones((5, 5, 1), np.uint8))).save(tmp_path / f"{i}.png")
        paths.append(tmp_path / f"{i}.png")
    paths[2] = None
    pairs = pd.DataFrame({"query": [0, 1, 0], "candidate": [1, 3, 0]})
    settings = {"n_words": 5, "sizes": (16,)}
    lines: list[str] = []
    result = describe_system(
        "sift-like", settings, paths, [3, 4, 5, 2], pairs, seed=0, codebook_from="some", report=lines.append
    )
    assert result.vectors is not None
    assert np.isnan(result.vectors[2]).all()
    expected = np.abs(result.vectors[[0, 1, 0]] - result.vectors[[1, 3, 0]]).sum(axis=1)
    np.testing.assert_allclose(result.distances, expected, atol=1e-6)
    assert result.fit["n_fit_images"] == 3
    assert result.fit["n_images"] == 5
    assert result.fit["settings"]["n_words"] == 5
    assert result.fit["codebook_from"] == "some"
    assert len(lines) == 2
    json.dumps(result.fit, allow_nan=False)
    with pytest.raises(LookalikeError, match="codebook"):
        describe_system("sift-like", settings, paths, [2], pairs, seed=0, codebook_from="")
