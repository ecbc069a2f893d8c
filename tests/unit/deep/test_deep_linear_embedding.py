"""The linear embedding of vectors: it finds what triplets mean, stops by validation, and repeats."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from lookalike.deep.linear_embedding import (  # noqa: E402
    CURVE_COLUMNS,
    LinearEmbedding,
    join_parts,
    train_linear_embedding,
)
from lookalike.deep.settings import RankingSettings  # noqa: E402

SETTINGS = RankingSettings(n_steps=90, batch=32, gap=0.3, regularisation=0.0, validation_interval=30)


class Nearest:
    """Triplets of rows from first to last: of two random others, the nearer in what counts is the positive."""

    def __init__(self, meaning: np.ndarray, first: int, last: int, seed: int) -> None:
        self.meaning, self.first, self.last = meaning, first, last
        self.random = np.random.default_rng(seed)

    def draw(self, n: int) -> np.ndarray:
        rows = self.first + self.random.random((n, self.last - self.first)).argsort(axis=1)[:, :3]
        distances = [np.linalg.norm(self.meaning[rows[:, 0]] - self.meaning[rows[:, i]], axis=1) for i in (1, 2)]
        swapped = distances[0] > distances[1]
        rows[swapped, 1], rows[swapped, 2] = rows[swapped, 2].copy(), rows[swapped, 1].copy()
        return rows.astype(np.int32)


def share_right(vectors: np.ndarray, triplets: np.ndarray) -> float:
    near, far = (np.linalg.norm(vectors[triplets[:, 0]] - vectors[triplets[:, i]], axis=1) for i in (1, 2))
    return float((near < far).mean())


@pytest.fixture(scope="module")
def made() -> tuple[np.ndarray, np.ndarray]:
    """Rows of two parts; 3 of 20 dimensions count."""
    random = np.random.default_rng(0)
    meaning = random.standard_normal((300, 3))
    parts = [np.hstack([meaning, random.standard_normal((300, 9))]), random.standard_normal((300, 8))]
    return join_parts(parts), meaning


def train(made: tuple[np.ndarray, np.ndarray], **changes: object) -> LinearEmbedding:
    vectors, meaning = made
    arguments = {"width": 6, "validation": Nearest(meaning, 200, 250, 2).draw(300), "n_threads": 1, "device": "cpu"}
    return train_linear_embedding(vectors, Nearest(meaning, 0, 200, 1), SETTINGS, **(arguments | changes))


def test_it_learns_which_directions_count(made: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, meaning = made
    lines: list[str] = []
    embedding = train(made, report=lines.append)
    test = Nearest(meaning, 250, 300, 3).draw(1000)
    embedded = embedding.transform(vectors)
    assert embedded.dtype == np.float32
    assert embedded.shape == (300, 6)
    assert np.allclose(np.linalg.norm(embedded, axis=1), 1, atol=1e-5)
    assert share_right(embedded, test) > share_right(vectors, test) + 0.08
    assert len(lines) == len(embedding.curve) == 4 * 4


def test_kept_is_the_best_of_all_learning_rates_by_validation(made: tuple[np.ndarray, np.ndarray]) -> None:
    embedding = train(made, learning_rates=(0.01, 1.0, 1e4))
    assert all(tuple(row) == CURVE_COLUMNS for row in embedding.curve)
    assert [row["step"] for row in embedding.curve] == [0, 30, 60, 90] * 3
    best = min(embedding.curve, key=lambda row: row["validation_loss"])
    assert (best["learning_rate"], best["step"]) == (embedding.learning_rate, embedding.step)
    assert embedding.learning_rate == 1.0
    again = share_right(embedding.transform(made[0]), Nearest(made[1], 200, 250, 2).draw(300))
    assert again == pytest.approx(best["validation_precision"], abs=0.005)


def test_a_harmful_learning_rate_leaves_the_start(made: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, meaning = made
    backwards = Nearest(meaning, 200, 250, 2).draw(300)[:, [0, 2, 1]]
    embedding = train(made, validation=backwards, width=vectors.shape[1])
    assert embedding.step == 0
    # the start at full width measures as the joined vectors do, but for their length
    test = Nearest(meaning, 250, 300, 3).draw(500)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert share_right(embedding.transform(vectors), test) == pytest.approx(share_right(unit, test), abs=0.005)


def test_the_same_again_gives_the_same_bits(made: tuple[np.ndarray, np.ndarray]) -> None:
    torch.manual_seed(5)
    first = train(made)
    torch.manual_seed(6)
    second = train(made)
    assert np.array_equal(first.matrix, second.matrix)
    assert first.curve[1:4] == second.curve[1:4]


def test_the_samplers_numbers_are_looked_up_in_rows(made: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, meaning = made
    order = np.random.default_rng(9).permutation(300)
    shuffled = np.empty_like(vectors)
    shuffled[order] = vectors
    validation = order[Nearest(meaning, 200, 250, 2).draw(300)]
    embedding = train_linear_embedding(
        shuffled, Nearest(meaning, 0, 200, 1), SETTINGS, width=6, validation=validation, rows=order, device="cpu"
    )
    expected = train(made)
    assert embedding.learning_rate == expected.learning_rate
    assert embedding.curve[-1]["validation_loss"] == pytest.approx(expected.curve[-1]["validation_loss"], abs=0.02)


def test_parts_are_joined_at_length_1_each() -> None:
    parts = [np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 1.0]]), np.array([[2.0], [-5.0], [1.0]])]
    joined = join_parts(parts)
    assert joined.dtype == np.float32
    assert joined[:2] == pytest.approx(np.array([[0.6, 0.8, 1.0], [0.0, 0.0, -1.0]]))
    assert np.isnan(joined[2, :2]).all()
    embedding = LinearEmbedding(np.eye(3, 2, dtype=np.float32), [], 0.1, 0)
    assert np.isnan(embedding.transform(joined)).any(axis=1).tolist() == [False, False, True]
    with pytest.raises(ValueError, match="one row for each image"):
        join_parts([parts[0], parts[1][:2]])
    with pytest.raises(ValueError, match="one row for each image"):
        join_parts([])


def test_what_cannot_be_trained_is_refused(made: tuple[np.ndarray, np.ndarray]) -> None:
    vectors = made[0].copy()
    with pytest.raises(ValueError, match="width must be 1 to 20"):
        train(made, width=21)
    with pytest.raises(ValueError, match="at least one learning rate"):
        train(made, learning_rates=())
    with pytest.raises(ValueError, match="one validation triplet"):
        train(made, validation=np.empty((0, 3), np.int32))
    with pytest.raises(ValueError, match="0 to 299; found 0 to 300"):
        train(made, validation=np.array([[0, 1, 300]]))
    vectors[210] = np.nan
    with pytest.raises(ValueError, match="without a vector"):
        train((vectors, made[1]), validation=np.array([[200, 201, 210]]))
