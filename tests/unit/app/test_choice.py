"""Which learner is chosen for rows of what form, what it says, and that its settings are those of a learner."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lookalike.app import choice, evaluation
from lookalike.app.choice import blend_for_new_classes, choose_for_seen, choose_learner, weight_of
from lookalike.app.evaluation import compare_on_labels
from lookalike.app.learning import OURS, checked_settings, train
from lookalike.app.rows import make_rows
from lookalike.app.similarity import Similarity
from lookalike.app.steps import Scaling
from lookalike.core.errors import LookalikeError
from lookalike.features.describers import silent
from lookalike.learners import LEARNERS, Euclidean
from lookalike.ranking.rankings import rank_leave_one_out


def dense(n, d):
    """Return rows that take no memory."""
    return np.broadcast_to(np.float32(1), (n, d))


def sparse(n, d, values):
    starts = np.arange(n + 1) * values
    return sp.csr_array((np.ones(n * values, np.float32), np.arange(n * values) % d, starts), shape=(n, d))


CASES = [
    (dense(500, 64), False, "MCML", None, "500 rows of 64 dimensions are few enough to compare all pairs"),
    (dense(500, 64), True, "OASIS", 120_000, "triplets of 500 rows of 64 dimensions are learned from"),
    (dense(2_000, 768), False, "OASIS", 80_000, "would take too long"),
    (dense(10_000, 768), False, "OASIS", 300_000, "10,000 rows of 768 dimensions, as MCML does, would take too long"),
    (dense(10_000, 768), True, "OASIS", 300_000, "learned from one by one"),
    (dense(100_000, 768), False, "OASIS", 61_035, "would take too long"),
    (sparse(1_000, 5_000, 50), False, "OASIS", None, "ranks sparse rows best"),
    (sparse(2_000, 10_000, 70), False, "OASIS", None, "10,000 dimensions, 0.7% of them not zero"),
    (sparse(2_000, 100_000, 70), False, "OASIS", None, "100,000 dimensions, 0.1% of them not zero"),
    (sparse(60_000, 1_000_000, 300), False, "DiagonalOASIS", 240_000, "too many for a matrix"),
]


@pytest.mark.parametrize(("X", "by_triplets", "name", "n_steps", "reason"), CASES)
def test_what_is_chosen_and_its_steps_suit_the_rows_and_say_why(X, by_triplets, name, n_steps, reason):
    y = np.arange(X.shape[0]) % 10
    choice = choose_learner(X, None if by_triplets else y, np.zeros((3_000, 3), np.int32) if by_triplets else None)
    assert (choice.name, choice.parameters.get("n_steps")) == (name, n_steps)
    assert re.search(reason, choice.reason)
    assert checked_settings(name, choice.parameters) == choice.parameters
    assert str(choice) == f"{name}, because {choice.reason}"
    assert ("triplets" if by_triplets else "labels") in LEARNERS[name].accepts


@pytest.mark.parametrize("name", LEARNERS)
def test_a_setting_that_cannot_be_is_one_sentence_before_anything_is_read(name):
    numbers = {key: type(default) for key, default in LEARNERS[name]().get_params().items() if key not in OURS}
    wrong = [(key, "none") for key, kind in numbers.items() if kind in (int, float, bool, tuple)]
    wrong += [(key, value) for key, kind in numbers.items() if kind is int for value in ("inf", "nan")]
    wrong += [(key, "nan") for key, kind in numbers.items() if kind is float]
    for key, value in wrong:
        with pytest.raises(LookalikeError, match=rf"^({key} of {name} cannot be |{name} cannot learn: {key} must be )"):
            Similarity(learner=name, parameters={key: value}).fit("nowhere.npy")


def test_of_many_rows_a_sample_queries_all_others_and_that_is_said(monkeypatch):
    monkeypatch.setattr(evaluation, "MOST_QUERYING", 100)
    monkeypatch.setattr(evaluation, "QUERYING", 60)
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 10)
    X = (random.normal(size=(40, 5))[y] + random.normal(size=(400, 5))).astype(np.float32)
    model = Euclidean().fit(X)
    table = compare_on_labels({"Euclidean": (model, X), "other": (model, -X)}, y, (1,), seed=3)
    of_all = rank_leave_one_out(model, X, y, n_neighbours=0).average_precision()
    low, value, high = table.loc[0, ["low", "value", "high"]]
    assert low < of_all.mean() < high
    assert value != of_all.mean()
    assert 0.2 < (high - low) / (4 * of_all.std() / 60**0.5) < 2
    assert (table.attrs["rows_querying"], table["queries"].tolist()) == (60, [60] * 4)


def test_a_fit_says_what_it_chose_and_what_is_worse_than_no_learning():
    random = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c", "d"], 30)
    rows = make_rows(random.normal(size=(120, 60)) + 3 * np.eye(4, 60)[np.arange(120) // 30], labels=y)
    notes = []
    model = Similarity(hold_out=0.3, note=notes.append).fit(rows)
    assert type(model.learner_).__name__ == "MCML"
    scaled, seen, new = notes
    assert scaled.startswith("vectors are taken ")
    assert seen.startswith("--for seen would take ")
    assert re.match(r"\d+% of MCML in a blend with no learning: mAP of classes|no learning: no share of MCML", new)
    assert type(Similarity(parameters={"n_steps": 50}).fit(rows).learner_).__name__ == "OASIS"
    notes.clear()
    Similarity(learner="RCA", hold_out=0.3, note=notes.append).fit(rows)
    assert "no share of RCA ranks held-out classes better than none" in notes[-1]
    notes.clear()
    Similarity(learner="RCA", classes="seen", hold_out=0.3, note=notes.append).fit(rows)
    assert re.match(r"RCA is worse than no learning \(mAP .*\) on rows that it has not learned from: take", notes[-1])


def of_classes(n_classes=8, n=20, *, useful, noise, seed=0):
    """Rows of classes that differ in some dimensions, beside dimensions of noise."""
    random = np.random.default_rng(seed)
    y = np.repeat([f"c{i}" for i in range(n_classes)], n)
    means = random.normal(size=(n_classes, useful)).repeat(n, axis=0)
    near = means + 0.5 * random.normal(size=means.shape)
    return np.hstack([near, 1.5 * random.normal(size=(len(y), noise))]).astype(np.float32), y


def test_a_share_of_what_was_learned_is_taken_where_it_surely_helps_new_classes():
    X, y = of_classes(useful=4, noise=12)
    scaled = Scaling("centred").fit(X).transform(X)
    chosen, why = blend_for_new_classes("MCML", {}, scaled, y, 0, train, silent)
    assert chosen > 0.05
    gain, low, high = map(float, re.findall(r"[+-]\d\.\d+", why))
    assert 0 < low < gain < high
    # and it holds on classes that no choice has seen
    new, own = of_classes(useful=4, noise=12, seed=1)
    new = Scaling("centred").fit(X).transform(new)
    learner = train("MCML", {}, scaled, y=y)
    values = [learner.blended(weight_of(share, learner, scaled)).score(new, own) for share in (0.0, chosen)]
    assert values[1] > values[0] + 0.01


def test_a_weight_gives_the_learned_similarity_its_share():
    X, y = of_classes(useful=3, noise=3)
    for name in ("MCML", "OASIS"):
        learner = train(name, {"n_steps": 500} if name == "OASIS" else {}, X, y=y)
        plain, learned = (model.similarity(X, X) for model in (learner.blended(0.0), learner))
        size = np.diag if name == "OASIS" else np.negative
        weight = weight_of(0.3, learner, X)
        parts = [part * np.abs(size(own)).mean() for part, own in ((1 - weight, plain), (weight, learned))]
        assert parts[1] / sum(parts) == pytest.approx(0.3, abs=1e-4)


@pytest.mark.parametrize("wins", ["unit", "length", "standard"])
def test_vectors_are_scaled_as_no_learning_ranks_them_best(wins):
    X, y = of_classes(useful=6, noise=0)
    if wins == "unit":  # lengths say nothing of the class
        X *= np.random.default_rng(1).uniform(0.1, 10, (len(X), 1)).astype(np.float32)
    if wins == "length":  # or all of it
        X = (np.repeat(np.arange(8), 20)[:, None] + 1 + 0.01 * X).astype(np.float32)
    if wins == "standard":
        X[:, 0] = 100 * np.random.default_rng(1).normal(size=len(X))
    scaling, values = choice.choose_scaling(X, y, 0)
    assert scaling.how == wins
    assert values[wins] >= max(values.values()) - choice.TIE


def test_a_classifier_is_chosen_for_seen_classes_only_where_it_is_better():
    X, y = of_classes(useful=4, noise=12)
    default = choose_learner(X, y)
    candidates = choice.candidates_for_seen(default, X, y)
    assert [name for name, _ in candidates] == ["MCML", "LDA", *3 * ["LogisticRegression"]]
    best, listing = choose_for_seen(candidates, X, y, 0, train, silent)
    values = {name: float(value) for value, name in (part.split(" ", 1) for part in listing.split(", "))}
    assert values[best.name] == max(values.values()) > values["without learning"]
    alike = [("LogisticRegression", {"C": C}) for C in (1.0, 1.0001)]
    assert choose_for_seen(alike, X, y, 0, train, silent)[0][:2] == alike[0]
    # no learner is taken where none is better than no learning
    none_better = choose_for_seen([("OASIS", {"n_steps": 0})], X, y, 0, train, silent)[0]
    assert (none_better[:2], none_better.reason[:25]) == (("Euclidean", {}), "no learner ranks held-out")


@pytest.mark.parametrize("classes", ["new", "seen", None])
def test_arrays_are_fitted_asked_and_compared_and_the_model_knows_for_whom(classes):
    X, y = of_classes(useful=4, noise=12)
    model = Similarity(classes=classes, hold_out=0.3).fit(X, y)
    about = model.about()
    assert about["for"] == (classes or "new")
    assert 0 <= about["share"] <= 1
    assert len(model.rank(X[:2], X, k=3)) == 6
    evaluated = model.evaluate(X, y)
    compared = model.compare(X, y).set_index("method")
    own = evaluated.loc[evaluated["measure"] == "map", "value"].iloc[0]
    assert compared["seen"].iloc[0] == pytest.approx(own, abs=1e-6)
    assert {"LDA", "logistic regression, probabilities", "NCA", "Euclidean", "cosine"} < set(compared.index)
    new = model.evaluate_new_classes(X, y)
    assert compared["new"].iloc[0] == pytest.approx(new["value"].iloc[0], abs=1e-6)
    with pytest.raises(LookalikeError, match="and name the same source"):
        Similarity(learner="Euclidean").fit(X, y).compare(X, y)


GAINS = {"better than": (0.01, 0.2), "worse than": (-0.2, -0.01), "neither better nor worse than": (-0.1, 0.1)}


@pytest.mark.parametrize("word", GAINS)
def test_the_first_line_says_by_an_interval_whether_learning_helps(word):
    low, high = GAINS[word]
    table = pd.DataFrame({"method": ["RCA", "cosine"], "measure": "map", "value": [0.5, 0.4]})
    table.attrs["gains"] = [{"measure": "map", "over": "cosine", "value": 0.1, "low": low, "high": high}]
    assert choice.helped(table) == f"{word} no learning (mAP 0.500, 0.400 by cosine)"


@pytest.mark.parametrize(("n_classes", "n"), [(1_100, 2), (1_000, 5), (2_100, 4), (3, 1_000)])
def test_of_many_rows_whole_classes_stand_for_all(n_classes, n):
    y = np.repeat([f"c{i}" for i in range(n_classes)], n)
    rows = choice.judged_rows(y, 0)
    sizes = np.unique(y[rows], return_counts=True)[1]
    assert len(rows) <= 2_000 < len(y)
    assert np.median(sizes) == min(n, max(4, 2_000 // n_classes))
    centres = 5 * np.random.default_rng(1).normal(size=(n_classes, 3))
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + centres.repeat(n, 0)
    assert type(Similarity(learner="Euclidean").fit(X, y).learner_).__name__ == "Euclidean"
    if n > 2:
        assert Similarity(learner="OASIS", parameters={"n_steps": 50}).fit(X, y).about()["share"] <= 1


def test_a_constant_column_changes_nothing():
    X = np.random.default_rng(0).normal(size=(80, 5))
    constant = np.hstack([X, np.full((80, 1), 0.1)])
    scaled = Scaling("standard").fit(constant).transform(constant)
    np.testing.assert_allclose(scaled[:, :5], Scaling("standard").fit(X).transform(X), atol=1e-12)
    assert np.abs(scaled[:, 5]).max() < 1e-12


def test_both_baselines_are_of_vectors_as_they_are_given():
    X, y = of_classes(useful=6, noise=0)
    X *= np.random.default_rng(1).uniform(0.1, 10, (len(X), 1)).astype(np.float32)
    model = Similarity(learner="OASIS", scaling="unit", hold_out=0.3, parameters={"n_steps": 50}).fit(X, y)
    held_out = model.rows_["role"].to_numpy() == "held-out"
    values = model.evaluate(X, y).query("measure == 'map'").set_index("method")["value"]
    assert values["Euclidean"] == pytest.approx(Euclidean().fit(X).score(X[held_out], y[held_out]), abs=1e-6)
    assert values["cosine"] - values["Euclidean"] > 0.1
    compared = model.compare(X, y).set_index("method")["seen"]
    assert compared[["Euclidean", "cosine"]].tolist() == pytest.approx(values[["Euclidean", "cosine"]].tolist())
