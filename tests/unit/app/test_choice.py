"""Which learner is chosen for rows of what form, what it says, and that its settings are those of a learner."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.app.choice import choose_learner, too_long, worse_than_none
from lookalike.app.evaluation import compare_on_labels
from lookalike.app.learning import OURS, checked_settings, train
from lookalike.app.rows import make_rows
from lookalike.app.similarity import Similarity
from lookalike.core.errors import LookalikeError
from lookalike.learners import LEARNERS, Euclidean


def dense(n, d):
    """Return rows that take no memory."""
    return np.broadcast_to(np.float32(1), (n, d))


def sparse(n, d, values):
    starts = np.arange(n + 1) * values
    return sp.csr_array((np.ones(n * values, np.float32), np.arange(n * values) % d, starts), shape=(n, d))


CASES = [
    (dense(500, 64), False, "MCML", "500 rows of 64 dimensions are few enough to compare all pairs"),
    (dense(500, 64), True, "OASIS", "triplets of 500 rows of 64 dimensions are learned from"),
    (dense(2_000, 768), False, "OASIS", "would take too long"),
    (dense(10_000, 768), False, "OASIS", "10,000 rows of 768 dimensions, as MCML does, would take too long"),
    (dense(10_000, 768), True, "OASIS", "learned from one by one"),
    (dense(100_000, 768), False, "OASIS", "would take too long"),
    (sparse(2_000, 10_000, 70), False, "OASIS", "10,000 dimensions, 0.7% of them not zero"),
    (sparse(2_000, 100_000, 70), False, "OASIS", "100,000 dimensions, 0.1% of them not zero"),
    (sparse(60_000, 1_000_000, 300), False, "DiagonalOASIS", "too many for a matrix"),
]


@pytest.mark.parametrize(("X", "by_triplets", "name", "reason"), CASES)
def test_what_is_chosen_suits_the_rows_and_says_why(X, by_triplets, name, reason):
    y = np.arange(X.shape[0]) % 10
    choice = choose_learner(X, None if by_triplets else y, np.zeros((3_000, 3), np.int32) if by_triplets else None)
    assert choice.name == name
    assert re.search(reason, choice.reason)
    assert checked_settings(name, choice.parameters) == choice.parameters
    assert str(choice) == f"{name}, because {choice.reason}"
    assert ("triplets" if by_triplets else "labels") in LEARNERS[name].accepts


@pytest.mark.parametrize(
    ("X", "n_steps"), [(dense(10_000, 768), 300_000), (dense(100_000, 768), 61_300), (sparse(1_000, 5_000, 50), None)]
)
def test_steps_grow_with_rows_as_long_as_they_take_half_a_minute(X, n_steps):
    found = choose_learner(X, np.arange(X.shape[0]) % 10).parameters.get("n_steps")
    assert found is n_steps is None or found == pytest.approx(n_steps, rel=0.01)


def test_what_takes_long_is_said_before_it_starts_with_what_to_do():
    X = dense(10_000, 768)
    choice = choose_learner(X, np.arange(10_000) % 100)
    sentence = "LMNN compares all pairs of 10,000 rows of 768 dimensions, which takes minutes or more: "
    assert too_long("LMNN", X, choice) == sentence + "leave --learner out to take OASIS"
    assert too_long("RCA", X, choice) is too_long("LMNN", X[:2_000], choice) is None


@pytest.mark.parametrize("name", LEARNERS)
def test_a_setting_that_cannot_be_is_one_sentence_before_anything_is_read(name):
    numbers = {key: type(default) for key, default in LEARNERS[name]().get_params().items() if key not in OURS}
    wrong = [(key, "none") for key, kind in numbers.items() if kind in (int, float, bool, tuple)]
    wrong += [(key, value) for key, kind in numbers.items() if kind is int for value in ("inf", "nan")]
    wrong += [(key, "nan") for key, kind in numbers.items() if kind is float]
    for key, value in wrong:
        with pytest.raises(LookalikeError, match=rf"^({key} of {name} cannot be |{name} cannot learn: {key} must be )"):
            Similarity(learner=name, parameters={key: value}).fit("nowhere.npy")


def test_none_is_a_setting_where_it_is_the_default():
    assert checked_settings("QPAO", {"upper": "none"}) == {"upper": None}


def test_what_is_chosen_beats_no_learning_and_what_does_not_says_so():
    random = np.random.default_rng(1)
    y = np.arange(400) % 8
    X = (random.normal(size=(8, 20))[y] + 2 * random.normal(size=(400, 20)) * (np.arange(20) > 5)).astype(np.float32)
    choice = choose_learner(X[:200], y[:200])
    learned = train(choice.name, choice.parameters, X[:200], y=y[:200])
    table = compare_on_labels({"MCML": (learned, X[200:]), "Euclidean": (Euclidean().fit(X), X[200:])}, y[200:], ())
    assert np.diff(table["value"])[0] < -0.1
    assert worse_than_none(table) is None
    table.attrs["gains"][0] |= {"value": -0.299, "high": -0.2}
    said = "RCA ranks rows that it has not learned from worse than no learning does: mAP 0.228, and 0.527 by Euclidean"
    assert worse_than_none(table.assign(method=["RCA", "Euclidean"], value=[0.228, 0.527])).startswith(said)
    table.attrs["gains"][0]["high"] = 0.01
    assert worse_than_none(table) is None


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
    assert re.match(r"\d+% of MCML in a blend with no learning: mAP of classes|no learning: on held-out classes", new)
    assert type(Similarity(parameters={"n_steps": 50}).fit(rows).learner_).__name__ == "OASIS"
    notes.clear()
    Similarity(learner="RCA", hold_out=0.3, note=notes.append).fit(rows)
    assert "no share of RCA is surely better than none" in notes[-1]
    notes.clear()
    Similarity(learner="RCA", classes="seen", hold_out=0.3, note=notes.append).fit(rows)
    assert notes[-1].startswith("RCA ranks rows that it has not learned from worse than no learning does")
