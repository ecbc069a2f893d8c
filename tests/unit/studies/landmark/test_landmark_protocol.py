"""Runs of the landmark study: who is drawn, which triplets, what leaves the gallery, and how ties are broken."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from made_landmarks import GOOD, JUNK, LANDMARKS, N_WORDS, OK, QUERIES, made_study

from lookalike.core.errors import LookalikeError
from lookalike.data.ground_truth import landmarks_with, read_ground_truth, read_lists
from lookalike.features.visterms import TfidfVisterms
from lookalike.learners import SOMLTG, TFIDF, DiagonalOASIS
from lookalike.ranking.oxford import average_precision
from lookalike.studies.landmark.protocol import (
    draw_learning_images,
    draws_of,
    landmark_data,
    landmark_task,
    landmark_triplets,
    rank_task,
    run_landmark,
    triplets_for,
)
from lookalike.studies.landmark.rankings import RELEVANCE

TFIDF_SPEC = {"title": "TF-IDF", "learner": "TFIDF"}
TG_SPEC = {"title": "S-TG", "learner": "SOMLTG", "parameters": {"learning_rate": 1.0, "regularization": 1e-5}}
DA_SPEC = {"title": "S-DA", "learner": "SOMLDA", "parameters": {"gamma": 1e-4, "rho": 1.0, "regularization": 1e-6}}
OASIS_SPEC = {"title": "OASIS", "learner": "DiagonalOASIS", "parameters": {"aggressiveness": 0.1, "n_steps": 4000}}
POSITIVES_LEFT = GOOD + OK - QUERIES


def average_precision_of_order(order, positives, junk=()):
    """Oxford average precision of a list of images; positives and junk are read as sets."""
    ranks, junk_ranks = (np.flatnonzero(np.isin(order, list(images))) + 1 for images in (positives, junk))
    return average_precision(ranks, junk_ranks, n_missing=len(set(positives)) - len(ranks))


@pytest.fixture(scope="module")
def study():
    return made_study()


@pytest.fixture(scope="module")
def learning_images(study):
    return drawn(study)


@pytest.fixture(scope="module")
def data(study):
    return landmark_data(*study)


def every_run(study, learning_images, landmarks, spec, **changes):
    """Run a method on every draw of some landmarks, as a job does."""
    made = landmark_data(*study)
    for landmark, draw in draws_of(learning_images, landmarks):
        yield run_landmark(made, learning_images, landmark, draw, spec, **changes)


def drawn(study, landmarks=LANDMARKS, **changes):
    settings = {"n_positives": 5, "n_negatives": 40, "n_draws": 2, "seed": 3, **changes}
    return draw_learning_images(study.queries, study.relevance, np.arange(study.counts.shape[0]), landmarks, **settings)


def judged(study, landmark, *kinds):
    names = study.queries.loc[study.queries.landmark == landmark, "query"]
    chosen = study.relevance[study.relevance["query"].isin(names) & study.relevance.relevance.isin(kinds)]
    return set(chosen.image_id)


# Which images are learned from --------------------------------------------------------------------------------------


def test_positives_are_good_or_ok_and_no_query_negatives_are_nothing_of_the_landmark(study):
    table = drawn(study, n_draws=20, n_negatives=100)
    assert list(table.columns) == ["landmark", "draw", "image_id", "role"]
    assert table["draw"].dtype == table["image_id"].dtype == np.int32
    asked = {name: set(group.image_id) for name, group in study.queries.groupby("landmark")}
    of_other_landmarks = set()
    for (landmark, _), group in table.groupby(["landmark", "draw"]):
        positives = group.loc[group.role == "positive", "image_id"].tolist()
        negatives = group.loc[group.role == "negative", "image_id"].tolist()
        assert len(set(positives)) == len(positives) == 5
        assert len(set(negatives)) == len(negatives) == 100
        assert set(positives) <= judged(study, landmark, "good", "ok") - asked[landmark]
        assert not set(negatives) & (judged(study, landmark, *RELEVANCE) | asked[landmark])
        of_other_landmarks |= set(negatives) & set().union(*(asked[name] for name in LANDMARKS if name != landmark))
    assert of_other_landmarks, "queries of other landmarks are negatives like any other image"
    ever = set(table.loc[(table.landmark == "abbey") & (table.role == "positive"), "image_id"])
    assert ever == judged(study, "abbey", "good", "ok") - asked["abbey"], "every one can be drawn"
    ordered = table.assign(landmark=table.landmark.map(LANDMARKS.index), role=table.role != "positive")
    assert ordered.equals(ordered.sort_values(["landmark", "draw", "role", "image_id"], ignore_index=True))


def test_an_image_that_is_junk_for_one_query_and_good_for_another_is_neither(study):
    image = min(judged(study, "abbey", "ok"))
    changed = study.relevance.copy()
    changed.loc[(changed["query"] == "abbey_2") & (changed.image_id == image), "relevance"] = "junk"
    table = drawn(study._replace(relevance=changed), ["abbey"], n_draws=40)
    assert image not in set(table.image_id)


def test_a_draw_depends_on_its_landmark_and_number_alone(study):
    table = drawn(study)
    alone = drawn(study, ["castle"], n_draws=3)
    both = alone[alone.draw < 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(table[table.landmark == "castle"].reset_index(drop=True), both)
    shuffled = study._replace(relevance=study.relevance.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(table, drawn(shuffled))
    first, second = (set(table[(table.landmark == "abbey") & (table.draw == draw)].image_id) for draw in (0, 1))
    assert first != second
    assert not table.equals(drawn(study, seed=4))


def test_unreadable_images_are_not_drawn(study):
    readable = np.setdiff1d(np.arange(study.counts.shape[0]), [7, 150])
    table = draw_learning_images(
        study.queries, study.relevance, readable, LANDMARKS, n_positives=5, n_negatives=40, n_draws=30, seed=0
    )
    assert not set(table.image_id) & {7, 150}


def test_what_is_planned_of_the_real_ground_truth_is_what_can_be_drawn(shared_data):
    folder = shared_data / "oxford5k" / "gt_files_170407"
    if not folder.is_dir():
        pytest.skip(f"no ground truth of the Oxford buildings at {folder}: set LOOKALIKE_TEST_DATA")
    names = sorted({name for listed in read_lists(folder).relevance.values() for name in listed})
    facts = {"width": 1024, "height": 1024, "status": "ok", "reason": ""}
    manifest = pd.DataFrame({"image_id": range(len(names)), "path": [f"{name}.jpg" for name in names]}).assign(**facts)
    queries, relevance = read_ground_truth(folder, manifest)
    images = np.arange(5063)
    planned = landmarks_with(folder, 7)
    table = draw_learning_images(queries, relevance, images, planned, n_draws=1, seed=0)
    assert table.groupby("landmark").role.value_counts().unstack().drop_duplicates().to_numpy().tolist() == [[500, 7]]
    for landmark, n in {"balliol": 7, "cornmarket": 4, "keble": 2, "pitt_rivers": 1}.items():
        assert landmark not in planned
        with pytest.raises(LookalikeError, match=f"landmark {landmark} has {n} good or ok images besides its queries"):
            draw_learning_images(queries, relevance, images, [landmark], n_draws=1, seed=0)


def test_too_few_images_say_how_many_there_are_and_what_to_set(study):
    with pytest.raises(LookalikeError, match=rf"abbey has {POSITIVES_LEFT} good or ok .* lower learning.positives, or"):
        drawn(study, n_positives=POSITIVES_LEFT)
    n_others = study.counts.shape[0] - GOOD - OK - JUNK
    with pytest.raises(
        LookalikeError, match=rf"abbey has {n_others} images .* set learning.negatives to at most {n_others}"
    ):
        drawn(study, n_negatives=n_others + 1)
    assert len(drawn(study, ["abbey"], n_positives=POSITIVES_LEFT - 1, n_negatives=n_others, n_draws=1)) > n_others
    with pytest.raises(LookalikeError, match=r"no query of landmark 'tower'; there are landmarks: abbey, bridge"):
        drawn(study, ["tower"])


# Triplets -----------------------------------------------------------------------------------------------------------


def test_seven_positives_and_500_negatives_make_the_papers_21000_triplets():
    triplets = landmark_triplets(7, 500, seed=0)
    assert triplets.shape == (7 * 6 * 500, 3) == (21_000, 3)
    assert triplets.dtype == np.int32
    expected = {(a, b, c) for a, b, c in product(range(7), range(7), range(7, 507)) if a != b}
    assert set(map(tuple, triplets.tolist())) == expected
    again = landmark_triplets(7, 500, seed=0)
    np.testing.assert_array_equal(triplets, again)
    other = landmark_triplets(7, 500, seed=1)
    assert not np.array_equal(triplets, other)
    # in a random order: queries change from step to step as often as 6 of 7 say
    changes = np.mean(np.diff(triplets[:, 0]) != 0)
    assert changes == pytest.approx(6 / 7, abs=0.02)


def test_only_oasis_draws_its_steps(study, data, learning_images):
    task = landmark_task(data, learning_images, "abbey", 0, seed=3)
    assert len(task.triplets) == 5 * 4 * 40
    np.testing.assert_array_equal(triplets_for(SOMLTG(n_steps=7), task), task.triplets)
    steps = triplets_for(DiagonalOASIS(n_steps=3000), task)
    assert steps.shape == (3000, 3)
    assert set(map(tuple, steps)) < set(map(tuple, task.triplets)), "with replacement, not every one is met"
    np.testing.assert_array_equal(steps[:100], triplets_for(DiagonalOASIS(n_steps=100), task))


# Vectors ------------------------------------------------------------------------------------------------------------


def test_weights_come_from_the_whole_gallery_and_no_other_image(study):
    readable = np.union1d(np.arange(0, study.counts.shape[0], 2), study.queries.image_id)
    data = landmark_data(*study, image_ids=readable)
    np.testing.assert_array_equal(data.image_ids, readable)
    np.testing.assert_allclose(sp.linalg.norm(data.rows, axis=1), 1)
    assert data.rows.dtype == np.float64
    idf = TfidfVisterms(dtype="float64").fit(study.counts[readable])
    np.testing.assert_array_equal(data.rows.toarray(), idf.transform(study.counts[readable]).toarray())
    np.testing.assert_array_equal(data.query_rows.toarray(), idf.transform(study.query_counts).toarray())


def test_a_query_whose_image_cannot_be_read_is_refused(study):
    without = np.setdiff1d(np.arange(study.counts.shape[0]), study.queries.image_id[4])
    with pytest.raises(LookalikeError, match=r"the image of query bridge_2 is not among"):
        landmark_data(*study, image_ids=without)


def test_a_query_without_a_word_in_its_rectangle_is_ranked_and_reported(study, learning_images):
    query_counts = study.query_counts.toarray()
    query_counts[[0, 4]] = 0
    everywhere = study.counts.toarray()
    everywhere[:, 0] = 1  # a word of all images weighs nothing
    query_counts[4, 0] = 3
    changed = study._replace(counts=sp.csr_array(everywhere), query_counts=sp.csr_array(query_counts))
    with pytest.warns(UserWarning, match=r"query (abbey_1|bridge_2) has no weighted word in its rectangle") as caught:
        results = list(every_run(changed, learning_images, LANDMARKS, TFIDF_SPEC, seed=3, method="tfidf"))
    assert len(caught) == 2, "once for each query, whatever the number of draws"
    assert [result.fit["n_empty_queries"] for result in results] == [1, 1, 1, 1, 0, 0]
    assert results[0].metrics.set_index("metric").value["ap:abbey_1"] < 0.5
    np.testing.assert_array_equal(results[0].rankings.top_scores[0], 0)


def test_queries_with_words_are_no_reason_to_warn(study, recwarn):
    assert not landmark_data(*study).empty_queries().any()
    assert not recwarn.list


# One run ------------------------------------------------------------------------------------------------------------


def test_a_run_follows_from_the_protocol_step_by_step(study, data, learning_images):
    result = run_landmark(data, learning_images, "bridge", 1, TG_SPEC, seed=3, method="soml-tg")
    own = learning_images[(learning_images.landmark == "bridge") & (learning_images.draw == 1)]
    task = landmark_task(data, learning_images, "bridge", 1, seed=3)
    X = TfidfVisterms(dtype="float64").fit(study.counts).transform(study.counts)
    np.testing.assert_array_equal(task.X.toarray(), X[own.image_id.to_numpy()].toarray())
    model = SOMLTG(regularization=1e-5).fit_triplets(X[own.image_id.to_numpy()], task.triplets)
    np.testing.assert_array_equal(result.model.w_, model.w_)

    left = np.setdiff1d(np.arange(len(X.toarray())), own.image_id)
    assert sorted(task.gallery) == left.tolist()
    values = result.metrics.set_index("metric")["value"]
    by_region = {"map": [], "map_full": []}
    for query in study.queries[study.queries.landmark == "bridge"].itertuples():
        vectors = {"map": data.query_rows[[query.Index]], "map_full": X[[query.image_id]]}
        truth = study.relevance[study.relevance["query"] == query.query].set_index("image_id").relevance
        truth = truth[~truth.index.isin(own.image_id)]
        for metric, vector in vectors.items():
            scores = (vector.toarray()[0] * model.w_) @ X.toarray()[task.gallery].T
            order = task.gallery[np.argsort(-scores, kind="stable")]
            assert query.image_id in order, "the query's own image stays"
            by_region[metric].append(
                average_precision_of_order(order, truth.index[truth != "junk"], truth.index[truth == "junk"])
            )
        assert values[f"ap:{query.query}"] == pytest.approx(by_region["map"][-1], abs=1e-12)
    assert values["map"] == pytest.approx(np.mean(by_region["map"]), abs=1e-12)
    assert values["map_full"] == pytest.approx(np.mean(by_region["map_full"]), abs=1e-12)
    assert values["map"] != values["map_full"]
    assert values["sparsity"] == result.fit["sparsity"] == np.mean(np.abs(model.w_) <= 1e-10)
    assert list(values.index) == ["map", "map_full", "sparsity", *(f"ap:bridge_{i}" for i in (1, 2, 3))]


def test_what_was_learned_from_is_neither_ranked_nor_judged(study, data, learning_images):
    result = run_landmark(data, learning_images, "abbey", 0, TFIDF_SPEC, seed=3, method="tfidf", n_top=1000)
    own = learning_images[(learning_images.landmark == "abbey") & (learning_images.draw == 0)]
    rankings = result.rankings
    assert rankings.n_gallery == study.counts.shape[0] - 45
    assert rankings.top.shape == (QUERIES, rankings.n_gallery)
    for order in rankings.top:
        assert len(set(order)) == rankings.n_gallery
        assert not set(order) & set(own.image_id)
    assert not set(rankings.image_ids) & set(own.image_id)
    assert rankings.offsets.tolist() == [n * (GOOD + OK - 5 + JUNK) for n in range(QUERIES + 1)]
    for query in range(QUERIES):
        part = slice(*rankings.offsets[query : query + 2])
        np.testing.assert_array_equal(rankings.top[query, rankings.ranks[part] - 1], rankings.image_ids[part])
        assert (np.diff(rankings.top_scores[query]) <= 0).all()
        assert rankings.query_ids[query] in rankings.image_ids[part]
    assert "sparsity" not in set(result.metrics.metric), "nothing is learned, so no weight can be left out"
    assert result.fit["sparsity"] is None
    assert rankings.average_precision("box").mean() == pytest.approx(result.metrics.value[0])
    assert rankings.average_precision("full").mean() == pytest.approx(result.metrics.value[1])


def test_an_image_that_cannot_be_read_is_a_positive_that_is_never_found(study, learning_images):
    lost = sorted(judged(study, "abbey", "ok") - set(learning_images.image_id))[0]
    readable = np.setdiff1d(np.arange(study.counts.shape[0]), lost)
    data = landmark_data(*study, image_ids=readable)
    result = run_landmark(data, learning_images, "abbey", 0, TFIDF_SPEC, seed=3, method="tfidf")
    ranks = result.rankings.ranks[result.rankings.image_ids == lost]
    assert ranks.tolist() == [0] * QUERIES
    part = slice(*result.rankings.offsets[:2])
    wanted = result.rankings.image_ids[part][result.rankings.relevance[part] < 2]
    junk = result.rankings.image_ids[part][result.rankings.relevance[part] == 2]
    full = run_landmark(data, learning_images, "abbey", 0, TFIDF_SPEC, seed=3, method="tfidf", n_top=1000).rankings
    expected = average_precision_of_order(full.top[0], wanted, junk)
    assert result.rankings.average_precision()[0] == pytest.approx(expected, abs=1e-12)


class Constant:
    """A similarity that knows nothing."""

    def similarity(self, A, B):
        return np.zeros((A.shape[0], B.shape[0]))


def test_equal_similarities_stand_in_a_random_order_that_is_the_same_for_every_method(study, data, learning_images):
    tasks = [landmark_task(data, learning_images, "abbey", draw, seed=3) for draw in (0, 1)]
    order = rank_task(Constant(), data, tasks[0], n_top=1000).top
    assert (order == order[0]).all()
    assert order[0].tolist() == data.image_ids[tasks[0].gallery].tolist()
    other = rank_task(Constant(), data, tasks[1], n_top=1000).top[0]
    both = np.intersect1d(order[0], other)
    assert [i for i in order[0] if i in both] != [i for i in other if i in both]
    # abbey has the first images of all: by name, a similarity that knows nothing would be perfect
    scores = [
        rank_task(Constant(), data, landmark_task(data, learning_images, "abbey", 0, seed=seed)).average_precision()[0]
        for seed in range(30)
    ]
    share = (GOOD + OK - 5) / (len(tasks[0].gallery) - JUNK)
    assert np.mean(scores) == pytest.approx(share, abs=0.04)
    again = landmark_task(data, learning_images.sample(frac=1, random_state=0), "abbey", 0, seed=3)
    np.testing.assert_array_equal(again.gallery, tasks[0].gallery)
    np.testing.assert_array_equal(again.triplets, tasks[0].triplets)
    np.testing.assert_array_equal(again.X.toarray(), tasks[0].X.toarray())


class Coarse:
    """A similarity of three values, spread over the gallery."""

    def similarity(self, A, B):
        return np.tile(np.arange(B.shape[0]) * 7919 % 3, (A.shape[0], 1)).astype(float)


def test_ties_keep_that_order_at_every_value(data, learning_images):
    task = landmark_task(data, learning_images, "abbey", 0, seed=3)
    order = rank_task(Coarse(), data, task, n_top=1000).top[0]
    values = data.image_ids[task.gallery] * 7919 % 3
    expected = np.concatenate([data.image_ids[task.gallery][values == value] for value in (2, 1, 0)])
    np.testing.assert_array_equal(order, expected)


def test_a_record_says_how_it_was_made(data, learning_images):
    result = run_landmark(data, learning_images, "castle", 0, OASIS_SPEC, seed=3, method="oasis-diagonal")
    fit = json.loads(json.dumps(result.fit))
    assert (fit["learner"], fit["method"], fit["subset"], fit["fold"]) == (
        "DiagonalOASIS",
        "oasis-diagonal",
        "castle",
        0,
    )
    assert fit["parameters"] == OASIS_SPEC["parameters"]
    assert fit["n_triplets"] == fit["n_steps"] == 4000
    assert 0 < fit["n_updates"] <= 4000
    assert (fit["n_train"], fit["n_test"], fit["n_words"]) == (45, data.rows.shape[0] - 45, N_WORDS)
    assert fit["nonzeros_per_image"]["train"] == pytest.approx(50, abs=15)
    assert set(fit["seconds"]) == set(fit["cpu_seconds"]) == {"features", "fit", "rank"}
    assert fit["processor"] != ""
    assert fit["not_converged"] == ""
    assert fit["sparsity"] == pytest.approx(result.metrics.set_index("metric").value["sparsity"])


class Endless(TFIDF):
    """Learns for ever."""

    def fit_triplets(self, X, triplets):
        while True:
            pass


def test_a_fit_past_its_time_leaves_a_reason_and_no_number(data, learning_images, monkeypatch):
    monkeypatch.setattr("lookalike.studies.fits.learner_class", lambda name: Endless)
    spec = {**TFIDF_SPEC, "time_limit": 0.1}
    result = run_landmark(data, learning_images, "castle", 0, spec, seed=3, method="endless")
    assert result.model is None
    assert result.rankings.n_queries == 0
    assert result.metrics.empty
    assert list(result.metrics.columns) == ["metric", "value"]
    assert result.fit["not_converged"] == "the fit took more than 0.1 s of processor time"
    assert result.fit["n_steps"] is None
    assert result.fit["seconds"]["fit"] > 0


class OnlyLabels(TFIDF):
    """A learner that takes rows and their labels."""

    accepts = frozenset({"labels"})

    def fit(self, X, y=None):
        self.seen_ = dict(zip(*np.unique(y, return_counts=True), strict=True))
        return super().fit(X)


def test_a_learner_without_triplets_gets_rows_and_roles(data, learning_images, monkeypatch):
    monkeypatch.setattr("lookalike.studies.fits.learner_class", lambda name: OnlyLabels)
    result = run_landmark(data, learning_images, "castle", 0, TFIDF_SPEC, seed=3, method="labels")
    assert result.model.seen_ == {"negative": 40, "positive": 5}
    assert result.fit["n_triplets"] == 0


def test_all_draws_of_all_landmarks_are_those_of_single_runs(study, data, learning_images):
    results = list(every_run(study, learning_images, ["castle", "abbey"], DA_SPEC, seed=3, method="soml-da"))
    runs = [(result.fit["subset"], result.fit["fold"]) for result in results]
    assert runs == [("castle", 0), ("castle", 1), ("abbey", 0), ("abbey", 1)]
    alone = run_landmark(data, learning_images, "abbey", 1, DA_SPEC, seed=3, method="soml-da")
    pd.testing.assert_frame_equal(results[3].metrics, alone.metrics)
    np.testing.assert_array_equal(results[3].model.w_, alone.model.w_)
    assert results[3].fit["method"] == "soml-da"


def test_mistakes_say_what_to_do(study, data, learning_images):
    spec = {"learner": "SOMLTG", "parameters": {"lambda": 1}}
    with pytest.raises(LookalikeError, match=r"SOMLTG has no parameter 'lambda'"):
        run_landmark(data, learning_images, "abbey", 0, spec, seed=3, method="m")
    image = learning_images.image_id[0]
    fewer = landmark_data(*study, image_ids=np.setdiff1d(data.image_ids, image))
    with pytest.raises(LookalikeError, match=rf"image {image}, drawn for landmark abbey, is not in the gallery"):
        run_landmark(fewer, learning_images, "abbey", 0, TFIDF_SPEC, seed=3, method="m")
    nothing = landmark_data(*study._replace(relevance=study.relevance[study.relevance.relevance == "junk"]))
    with pytest.raises(LookalikeError, match=r"no image is good or ok for any of the queries abbey_1, abbey_2"):
        run_landmark(nothing, learning_images, "abbey", 0, TFIDF_SPEC, seed=3, method="m")


def test_nan_is_not_ranked(data, learning_images):
    class Broken:
        def similarity(self, A, B):
            return np.full((A.shape[0], B.shape[0]), np.nan)

    with pytest.raises(ValueError, match=r"similarity is NaN"):
        rank_task(Broken(), data, landmark_task(data, learning_images, "abbey", 0, seed=3))


# What the paper claims, where it can be planted -----------------------------------------------------------------------


def test_learning_finds_planted_words_and_dual_averaging_is_the_sparser(study, learning_images):
    found = {}
    for method, spec in (("tfidf", TFIDF_SPEC), ("tg", TG_SPEC), ("da", DA_SPEC), ("oasis", OASIS_SPEC)):
        results = every_run(study, learning_images, LANDMARKS, spec, seed=3, method=method)
        found[method] = pd.concat([r.metrics for r in results]).groupby("metric").value.mean()
    for method in ("tg", "da", "oasis"):
        assert found[method]["map"] > found["tfidf"]["map"] + 0.05
    assert found["da"]["sparsity"] > found["tg"]["sparsity"]
