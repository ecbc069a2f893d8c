from __future__ import annotations

import numpy as np
import pytest

from lookalike import OASIS, Euclidean
from lookalike.app.learning import (
    check_learner,
    checked_settings,
    learner_name,
    margins_won,
    share_ordered,
    stream,
    train,
)
from lookalike.core.errors import LookalikeError
from lookalike.learners.registry import MODULES, learner_class

RANDOM = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 10)
X = RANDOM.normal(size=(30, 6)).astype(np.float32) + 4 * np.eye(3, 6, dtype=np.float32)[np.repeat(range(3), 10)]
TRIPLETS = np.array([(i, (i // 10) * 10 + (i + 1) % 10, (i + 10) % 30) for i in range(30)], np.int32)


@pytest.mark.parametrize("name", [name for name in MODULES if "labels" in learner_class(name).accepts])
def test_every_learner_of_labels_can_be_trained_as_it_is(name: str) -> None:
    rows = np.abs(X) / np.linalg.norm(X, axis=1, keepdims=True)
    quick = checked_settings(name, {})
    quick |= {key: 300 for key in ("n_steps", "n_triplets") if key in learner_class(name)().get_params()}
    learner = train(name, quick, rows, y=Y, seed=1)
    assert learner.similarity(rows, rows).shape == (30, 30)


@pytest.mark.parametrize("name", [name for name in MODULES if "triplets" in learner_class(name).accepts])
def test_every_learner_of_triplets_can_be_trained_as_it_is(name: str) -> None:
    rows = np.abs(X) / np.linalg.norm(X, axis=1, keepdims=True)
    settings = {} if name in ("QPAO", "Euclidean", "TFIDF") else {"n_steps": 300}
    learner = train(name, settings, rows, triplets=TRIPLETS, seed=1)
    assert 0.5 <= share_ordered(learner, rows, TRIPLETS) <= 1


def test_the_number_of_steps_is_chosen_by_held_out_triplets() -> None:
    noise = RANDOM.normal(size=(30, 6)).astype(np.float32)
    learned = train("OASIS", {}, X, triplets=TRIPLETS, seed=0)
    assert learned.n_steps_ < 35_000
    again = train("OASIS", {}, X, triplets=TRIPLETS, seed=0)
    assert np.array_equal(learned.W_, again.W_)
    nothing = train("OASIS", {}, noise, triplets=TRIPLETS, seed=0)
    assert nothing.n_steps_ < 35_000
    fixed = train("OASIS", {"n_steps": 70}, X, triplets=TRIPLETS, seed=0)
    assert fixed.n_steps_ == 70
    expected = OASIS(n_steps=70).fit_triplets(X, stream(TRIPLETS, 70, 0))
    assert np.array_equal(fixed.W_, expected.W_)


def test_a_tie_counts_one_half() -> None:
    rows = np.array([[0.0], [1.0], [-1.0], [3.0]])
    won = margins_won(Euclidean().fit(rows), rows, np.array([[0, 1, 2], [0, 1, 3], [3, 2, 1]], np.int32))
    assert won.tolist() == [0.5, 1.0, 0.0]


def test_settings_of_a_command_line_become_arguments() -> None:
    text = {"aggressiveness": "0.03", "n_steps": "500", "projection": "psd", "early_stopping": "false"}
    settings = checked_settings("OASIS", text)
    assert settings == {"aggressiveness": 0.03, "n_steps": 500, "projection": "psd", "early_stopping": False}
    assert checked_settings("LEGO", {"percentiles": "10,90"}) == {"percentiles": (10, 90)}
    assert learner_name("diagonal-oasis") == "DiagonalOASIS"


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("OASIS", {"agressiveness": "1"}, "OASIS has no setting 'agressiveness': it takes aggressiveness"),
        ("OASIS", {"n_steps": "many"}, "n_steps of OASIS cannot be 'many'"),
        ("OASIS", {"early_stopping": "1"}, "early_stopping of OASIS cannot be '1'"),
        ("OASIS", {"random_state": "1"}, "use --seed"),
        ("Euclidean", {"n_steps": "1"}, "it has none"),
    ],
)
def test_a_wrong_setting_is_one_sentence(name: str, settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(LookalikeError, match=sentence):
        checked_settings(name, settings)


def test_what_cannot_be_learned_is_one_sentence() -> None:
    with pytest.raises(LookalikeError, match="no learner 'Deep'"):
        learner_name("Deep")
    with pytest.raises(LookalikeError, match="LMNN does not learn from triplets: take one of Euclidean, OASIS"):
        check_learner("LMNN", triplets=True)
    with pytest.raises(LookalikeError, match=r"OASIS cannot learn from these images: .*aggressiveness"):
        train("OASIS", {"aggressiveness": -1.0}, X, y=Y)
