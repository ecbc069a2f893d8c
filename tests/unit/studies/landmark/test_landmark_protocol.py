"""Runs of the landmark study: who is drawn, which triplets, what leaves the gallery, how ties are broken, and files."""

import json
from collections import namedtuple
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.methods import Fit
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners import SOMLTG, DiagonalOASIS
from lookalike.ranking.oxford import average_precision
from lookalike.studies.landmark import protocol
from lookalike.studies.landmark.learning_images import sample_learning_images

LANDMARKS = ("abbey", "bridge", "castle")
N_WORDS = 600
GOOD, OK, JUNK, OTHERS, QUERIES = 14, 6, 4, 130, 3
KINDS = (("good", GOOD, 10), ("ok", OK, 6), ("junk", JUNK, 2))
"""What images are, how many of each landmark there are, and how many of its words they show."""
Study = namedtuple("Study", "counts query_counts queries relevance")


def small_study():
    """Three landmarks of 24 images and 130 others, in scenes that all show alike, so that a metric can be learned."""
    rng, counts, queries, inside, judged = np.random.default_rng(0), [], [], [], []
    scenes = [rng.choice(N_WORDS - 100, 60, replace=False) for _ in range(4)]

    def image(own=(), n_own=0):
        words = [rng.choice(scenes[rng.integers(4)], 40), rng.integers(0, N_WORDS, 20)]
        words += [rng.choice(own, n_own)] if n_own else []
        counts.append(np.bincount(np.concatenate(words), minlength=N_WORDS))
        return len(counts) - 1

    for number, name in enumerate(LANDMARKS):
        own = N_WORDS - 100 + 12 * number + np.arange(12)
        members = {kind: [image(own, n_own) for _ in range(n)] for kind, n, n_own in KINDS}
        for place, asked in enumerate(members["good"][:QUERIES], start=1):
            queries.append((f"{name}_{place}", name, asked))
            scene = rng.binomial(counts[asked][: N_WORDS - 100], 0.5)
            inside.append([*scene, *counts[asked][N_WORDS - 100 :]])
            judged += [(f"{name}_{place}", i, kind) for kind, ids in members.items() for i in sorted(ids)]
    for _ in range(OTHERS):
        image()
    asked = pd.DataFrame(queries, columns=["query", "landmark", "image_id"]).astype({"image_id": np.int32})
    judged = pd.DataFrame(judged, columns=["query", "image_id", "relevance"]).astype({"image_id": np.int32})
    return Study(*(sp.csr_array(np.array(rows, dtype=np.int32)) for rows in (counts, inside)), asked, judged)


SPECS = {
    "tfidf": Fit(learner="TFIDF"),
    "soml-tg": Fit(learner="SOMLTG", parameters={"learning_rate": 1.0, "regularization": 1e-5}),
    "soml-da": Fit(learner="SOMLDA", parameters={"gamma": 1e-4, "rho": 1.0, "regularization": 1e-6}),
    "oasis-diagonal": Fit(learner="DiagonalOASIS", parameters={"aggressiveness": 0.1, "n_steps": 4000}),
}
STUDY = small_study()
N_IMAGES, POSITIVES_LEFT = STUDY.counts.shape[0], GOOD + OK - QUERIES


def drawn(study=STUDY, landmarks=LANDMARKS, images=N_IMAGES, seed=3, **changes):
    learning = {"positives": 5, "negatives": 40, "draws": 2, **changes}
    given = (study.queries, study.relevance, np.arange(images), landmarks)
    return sample_learning_images(*given, **learning, seed=seed)


DRAWN = drawn()


def data_of(study=STUDY, **given):
    return protocol.landmark_data(*study, **{"learning_images": DRAWN, "seed": 3} | given)


@pytest.fixture(scope="module")
def data():
    return data_of()


def run(data, landmark="castle", draw=0, method="soml-da", **changes):
    known = {name: changes.pop(name) for name in ("n_top", "chosen") if name in changes}
    spec = SPECS[method].model_copy(update=changes)
    return protocol.run_landmark(data, landmark, draw, spec, method=method, **known)


def judged(landmark, *kinds):
    rows = STUDY.relevance[STUDY.relevance["query"].str.startswith(landmark)]
    return set(rows.loc[rows.relevance.isin(kinds), "image_id"])


def test_positives_are_good_or_ok_and_no_query_negatives_are_nothing_of_the_landmark():
    # what is junk for one query, or cannot be read, is not drawn either
    lost, image = np.arange(N_IMAGES - 30, N_IMAGES), min(judged("abbey", "ok"))
    relevance = STUDY.relevance.copy()
    relevance.loc[(relevance["query"] == "abbey_2") & (relevance.image_id == image), "relevance"] = "junk"
    table = drawn(STUDY._replace(relevance=relevance), images=N_IMAGES - 30, draws=40, negatives=100)
    assert not {image, *lost} & set(table.loc[table.landmark == "abbey", "image_id"])
    asked = {name: set(group.image_id) for name, group in STUDY.queries.groupby("landmark")}
    of_other_landmarks = set()
    for (landmark, _), group in table.groupby(["landmark", "draw"]):
        positives, negatives = (group.loc[group.role == role, "image_id"].tolist() for role in ("positive", "negative"))
        assert (len(set(positives)), len(set(negatives)), len(group)) == (5, 100, 105)
        assert set(positives) <= judged(landmark, "good", "ok") - asked[landmark]
        assert not set(negatives) & (judged(landmark, "good", "ok", "junk") | asked[landmark])
        of_other_landmarks |= set(negatives) & set().union(*(asked[name] for name in LANDMARKS if name != landmark))
    assert of_other_landmarks, "queries of other landmarks are negatives like any other image"
    ever = set(table.loc[(table.landmark == "abbey") & (table.role == "positive"), "image_id"])
    assert ever == judged("abbey", "good", "ok") - asked["abbey"] - {image}, "every other one can be drawn"


def test_a_draw_depends_on_its_landmark_and_number_alone_and_makes_the_papers_21000_triplets_in_random_order():
    alone = drawn(STUDY._replace(relevance=STUDY.relevance.sample(frac=1, random_state=0)), ["castle"], draws=3)
    both = DRAWN[DRAWN.landmark == "castle"]
    assert both.to_numpy().tolist() == alone[alone.draw < 2].to_numpy().tolist()
    assert len({frozenset(rows.image_id) for _, rows in alone.groupby("draw")}) == 3
    assert not DRAWN.equals(drawn(seed=4))
    triplets = protocol.landmark_triplets(7, 500, seed=0)
    expected = {(a, b, c) for a, b, c in product(range(7), range(7), range(7, 507)) if a != b}
    assert len(triplets) == len(expected) == 21_000
    assert set(map(tuple, triplets.tolist())) == expected
    assert not np.array_equal(triplets, protocol.landmark_triplets(7, 500, seed=1))
    # queries change from step to step as often as 6 of 7 say
    assert np.mean(np.diff(triplets[:, 0]) != 0) == pytest.approx(6 / 7, abs=0.02)
    # only OASIS draws its steps, with replacement, so that not every one is met
    np.testing.assert_array_equal(protocol.triplets_for(SOMLTG(n_steps=7), triplets, 5), triplets)
    steps = protocol.triplets_for(DiagonalOASIS(n_steps=3000), triplets, 5)
    assert len(set(map(tuple, steps))) < len(steps) == 3000
    assert set(map(tuple, steps)) < expected
    np.testing.assert_array_equal(steps[:100], protocol.triplets_for(DiagonalOASIS(n_steps=100), triplets, 5))


def test_a_query_without_a_word_in_its_rectangle_is_ranked_and_reported_once():
    query_counts, everywhere = STUDY.query_counts.toarray(), STUDY.counts.toarray()
    query_counts[[0, 4]] = 0
    everywhere[:, 0] = 1  # a word of all images weighs nothing
    query_counts[4, 0] = 3
    with pytest.warns(UserWarning, match=r"query (abbey_1|bridge_2) has no weighted word in its rectangle") as caught:
        data = data_of((sp.csr_array(everywhere), sp.csr_array(query_counts), *STUDY[2:]))
    assert len(caught) == 2
    results = [run(data, landmark, method="tfidf") for landmark in LANDMARKS]
    assert [result.fit["n_empty_queries"] for result in results] == [1, 1, 0]
    np.testing.assert_array_equal(results[0].rankings.top_scores[0], 0)


@pytest.mark.parametrize("n_lost", [0, 1])
def test_a_run_follows_from_the_protocol_step_by_step(n_lost):
    """Also where an image cannot be read, which is a positive that no query finds."""
    own = DRAWN.query("landmark == 'bridge' and draw == 1").image_id.to_numpy()
    lost = sorted(judged("bridge", "ok") - set(own))[:n_lost]
    readable = np.setdiff1d(np.arange(N_IMAGES), lost)
    data = data_of(image_ids=readable)
    result, task = run(data, "bridge", 1, "soml-tg", n_top=1000), protocol.landmark_task(data, "bridge", 1)
    idf = inverse_document_frequencies(STUDY.counts[readable])
    X, asked = (tfidf_rows(counts, idf, "float64").toarray() for counts in (STUDY.counts, STUDY.query_counts))
    model = SOMLTG(regularization=1e-5).fit_triplets(sp.csr_array(X[own]), task.triplets)
    np.testing.assert_array_equal(result.model.w_, model.w_)
    gallery = readable[task.gallery]
    assert sorted(gallery) == np.setdiff1d(readable, own).tolist(), "what was learned from is not ranked"

    values, rankings, by_region = result.metrics, result.rankings, {"map": [], "map_full": []}
    assert rankings.top.shape == (QUERIES, len(gallery))
    for number, query in enumerate(STUDY.queries[STUDY.queries.landmark == "bridge"].itertuples()):
        truth = STUDY.relevance[STUDY.relevance["query"] == query.query].set_index("image_id").relevance
        truth = truth[~truth.index.isin(own)]
        wanted, junk = truth.index[truth != "junk"], truth.index[truth == "junk"]
        for metric, vector in {"map": asked[query.Index], "map_full": X[query.image_id]}.items():
            order = gallery[np.argsort(-((vector * model.w_) @ X[gallery].T), kind="stable")]
            assert query.image_id in order, "the query's own image stays"
            ranks = [np.flatnonzero(np.isin(order, images)) + 1 for images in (wanted, junk)]
            by_region[metric].append(average_precision(*ranks, n_missing=n_lost))
        assert rankings.average_precision[0, number] == pytest.approx(by_region["map"][-1], abs=1e-12)
        of_rectangle = gallery[np.argsort(-((asked[query.Index] * model.w_) @ X[gallery].T), kind="stable")]
        np.testing.assert_array_equal(rankings.top[number], of_rectangle)
        assert (np.diff(rankings.top_scores[number]) <= 0).all()
    expected = {metric: np.mean(found) for metric, found in by_region.items()}
    assert expected["map"] != expected["map_full"]
    assert values == pytest.approx(expected | {"sparsity": np.mean(np.abs(model.w_) <= 1e-10)}, abs=1e-12)


def coarse(n_values):
    """A similarity of a few values, spread over the gallery; of one it knows nothing."""
    return SimpleNamespace(
        similarity=lambda A, B: np.tile(np.arange(B.shape[0]) * 7919 % n_values, (A.shape[0], 1)).astype(float)
    )


def test_equal_similarities_stand_in_a_random_order_that_is_the_same_for_every_method(data):
    tasks = [protocol.landmark_task(data, "abbey", draw) for draw in (0, 1)]
    images = data.image_ids[tasks[0].gallery]
    for n_values in (1, 3):
        orders = protocol.rank_task(coarse(n_values), data, tasks[0], n_top=1000).top
        values = images * 7919 % n_values
        expected = np.concatenate([images[values == value] for value in range(n_values)[::-1]])
        np.testing.assert_array_equal(orders, np.tile(expected, (QUERIES, 1)))
    assert [i for i in images if i in tasks[1].gallery] != [i for i in tasks[1].gallery if i in images]
    # abbey has the first images of all: by name, a similarity that knows nothing would be perfect
    tasks_by_seed = (protocol.landmark_task(replace(data, seed=seed), "abbey", 0) for seed in range(3))
    precisions = [protocol.rank_task(coarse(1), data, task).average_precision[0, 0] for task in tasks_by_seed]
    share = (GOOD + OK - 5) / (len(images) - JUNK)
    assert len(set(precisions)) == 1
    assert precisions[0] == pytest.approx(share, abs=0.05)
    again = protocol.landmark_task(data_of(learning_images=DRAWN.sample(frac=1, random_state=0)), "abbey", 0)
    for name in ("gallery", "triplets", "queries"):
        np.testing.assert_array_equal(getattr(again, name), getattr(tasks[0], name))


def test_learning_finds_planted_words_in_passes_over_the_triplets_and_a_record_says_how(data):
    before, after = (run(data, method=method) for method in ("tfidf", "oasis-diagonal"))
    assert after.metrics["map"] > before.metrics["map"] + 0.05
    assert "sparsity" not in before.metrics, "nothing is learned, so no weight can be left out"
    fit = json.loads(json.dumps(after.fit))
    record = {"learner": "DiagonalOASIS", "parameters": SPECS["oasis-diagonal"].parameters, "not_converged": ""}
    record |= {"n_train": 45, "n_test": N_IMAGES - 45, "n_words": N_WORDS, "n_triplets": 4000, "n_steps": 4000}
    assert fit.items() >= record.items()
    assert set(fit["seconds"]) == set(fit["cpu_seconds"]) == {"features", "fit", "rank"}
    n_triplets = 5 * 4 * 40
    for method, passes, steps in (("oasis-diagonal", None, 4000), ("oasis-diagonal", 1.5, 1.5 * n_triplets)):
        assert run(replace(data, passes=passes), method=method).fit["n_triplets"] == steps
    assert run(replace(data, passes=1.5), method="soml-tg").fit["n_triplets"] == n_triplets


def test_mistakes_say_what_to_do(data):
    n_others, without = N_IMAGES - GOOD - OK - JUNK, np.setdiff1d(np.arange(N_IMAGES), STUDY.queries.image_id[4])
    calls = {
        f"{POSITIVES_LEFT} good or ok .* lower learning.positives, or": lambda: drawn(positives=POSITIVES_LEFT),
        f"abbey has {n_others} images .* to at most {n_others}": lambda: drawn(negatives=n_others + 1),
        "no query of landmark 'tower'; there are landmarks: abbey, bridge": lambda: drawn(landmarks=["tower"]),
        "the image of query bridge_2 is not among": lambda: data_of(image_ids=without),
        "SOMLTG has no parameter 'lambda'": lambda: run(data, method="soml-tg", parameters={"lambda": 1}),
    }
    for sentence, call in calls.items():
        with pytest.raises(LookalikeError, match=sentence):
            call()
    assert len(drawn(landmarks=["abbey"], positives=POSITIVES_LEFT - 1, negatives=n_others, draws=1)) > n_others
    task = protocol.landmark_task(data, "abbey", 0)
    with pytest.warns(UserWarning, match="similarities are NaN: each counts as a mistake"):
        lost, unranked = (protocol.rank_task(coarse(n), data, task) for n in (np.nan, 1))
    assert (lost.average_precision < 0.5 * unranked.average_precision).all(), "all that is wanted comes last"


def test_constants_are_chosen_by_images_held_out_of_those_to_learn_from(data):
    def chosen(study=data, **choices):
        spec = SPECS["soml-da"].model_copy(update={"select": choices or {"gamma": [1e-4, 1e-2, 10.0], "rho": [0.1]}})
        return protocol.chosen_constants(study, LANDMARKS, 0, spec)

    found = chosen()
    # a gamma of 10 leaves no weight, so that images come in a random order
    assert found in ({"gamma": 1e-4, "rho": 0.1}, {"gamma": 1e-2, "rho": 0.1})
    assert chosen(gamma=[7.0]) == {"gamma": 7.0}, "one setting is no choice"
    assert chosen(gamma=[20.0, 10.0]) == {"gamma": 20.0}, "ties go to the first"
    # what is retrieved from changes nothing: only images to learn from are read
    own = set(DRAWN.loc[DRAWN["draw"] == 0, "image_id"])
    emptied = data.rows.toarray()
    emptied[[row for row, image in enumerate(data.image_ids) if image not in own]] = 1.0
    assert chosen(replace(data, rows=sp.csr_array(emptied))) == found
    fit = run(data, chosen=found).fit
    assert (fit["selected"], fit["parameters"]) == (found, SPECS["soml-da"].parameters | found)
