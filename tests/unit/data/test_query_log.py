"""The query log: joint relevance against dense matrix algebra, the cut, subsets of images, files and mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.data.query_log import QueryLog


def dense(log: QueryLog) -> np.ndarray:
    R = np.zeros((log.n_queries, log.n_images))
    query, image, weight = log.pairs()
    R[query, image] = weight
    return R


def dense_joint(R: np.ndarray) -> np.ndarray:
    """Sum over q of Pr(p1 | q) Pr(p2 | q) Pr(q), term by term as the draft's equation 19 says."""
    joint = np.zeros((R.shape[1], R.shape[1]))
    for row in R[R.sum(axis=1) > 0]:
        given_query = row / row.sum()
        joint += np.outer(given_query, given_query) * row.sum() / R.sum()
    return joint


def random_log(seed: int, n_queries: int = 7, n_images: int = 12, weighted: bool = True) -> QueryLog:
    rng = np.random.default_rng(seed)
    query, image = np.nonzero(rng.random((n_queries, n_images)) < 0.3)
    relevance = rng.lognormal(size=len(query)) if weighted else None
    return QueryLog.from_pairs(query, image, relevance, n_queries, n_images)


entries = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 9), st.floats(2**-10, 2**10, width=32)), min_size=1, max_size=40
)


@settings(deadline=None, max_examples=80)
@given(pairs=entries, dtype=st.sampled_from([np.float32, np.float64]))
def test_everything_agrees_with_dense_algebra(pairs: list[tuple[int, int, float]], dtype: type) -> None:
    query, image, relevance = (np.array(column) for column in zip(*pairs, strict=True))
    log = QueryLog.from_pairs(query, image, relevance.astype(dtype), n_queries=8, n_images=11)
    R = np.zeros((8, 11))
    np.add.at(R, (query, image), relevance.astype(dtype).astype(float))
    np.testing.assert_allclose(dense(log), R, rtol=1e-6)
    assert log.query_weights.dtype == dtype
    assert np.count_nonzero(R) == log.n_pairs == log.images_per_query().sum() == log.queries_per_image().sum()
    np.testing.assert_array_equal(log.images_per_query(), np.count_nonzero(R, axis=1))
    np.testing.assert_array_equal(log.queries_per_image(), np.count_nonzero(R, axis=0))
    joint = log.joint(*np.indices((11, 11)))
    np.testing.assert_allclose(joint, dense_joint(R), rtol=1e-5, atol=1e-300)
    np.testing.assert_array_equal(joint, joint.T)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_cut_is_the_same_wherever_it_is_asked_for(seed: int, weighted: bool) -> None:
    log = random_log(seed, weighted=weighted)
    joint = log.joint(*np.indices((12, 12)))
    values = np.unique(joint[~np.eye(12, dtype=bool)])
    # at the values themselves: two sums that differ in the last bit would disagree
    for theta in (0.0, *values[values > 0]):
        wanted = (joint > theta) & ~np.eye(12, dtype=bool)
        np.testing.assert_array_equal(log.are_relevant(np.arange(12), np.indices((12, 12))[1], theta), wanted)
        np.testing.assert_array_equal(log.relevant_per_image(theta), wanted.sum(axis=1))
        for image in range(12):
            images, probability = log.relevant(image, theta)
            np.testing.assert_array_equal(images, np.flatnonzero(wanted[image]))
            np.testing.assert_array_equal(probability, joint[image, images])
    np.testing.assert_array_equal(log.relevant_per_image(0.0, [3, 3, 0]), log.relevant_per_image()[[3, 3, 0]])


def test_the_images_of_a_query_are_split_by_its_relevance() -> None:
    # S = 8, S_0 = 2, S_1 = 6: Pr(0, 1) = 1 * 1 / (2 * 8), Pr(1, 2) = 3 * 3 / (6 * 8)
    log = QueryLog.from_pairs([0, 0, 1, 1], [0, 1, 1, 2], [1.0, 1.0, 3.0, 3.0])
    np.testing.assert_allclose(log.joint([0, 1, 0], [1, 2, 2]), [1 / 16, 9 / 48, 0])
    assert log.total == 8
    assert log.joint(1, 1) == pytest.approx(1 / 16 + 9 / 48)
    np.testing.assert_array_equal(log.relevant(1, 0.1)[0], [2])


def test_pairs_come_in_any_order_and_add_up() -> None:
    log = QueryLog.from_pairs([2, 0, 2, 0], [1, 3, 1, 0], [1, 2, 3, 4])
    query, image, weight = log.pairs()
    assert (query.tolist(), image.tolist(), weight.tolist()) == ([0, 0, 2], [0, 3, 1], [4, 2, 4])
    assert (log.n_queries, log.n_images) == (3, 4)
    assert query.dtype == image.dtype == log.image_queries.dtype == np.int32


def test_some_images_keep_their_order_and_their_queries() -> None:
    log = random_log(5)
    ids = np.array([9, 2, 4, 0])
    part = log.of_images(ids)
    R = dense(log)[:, ids]
    np.testing.assert_array_equal(dense(part), R[R.sum(axis=1) > 0])
    np.testing.assert_allclose(part.joint(*np.indices((4, 4))), dense_joint(R))
    np.testing.assert_array_equal(dense(log.of_images(np.arange(12))), dense(log)[dense(log).sum(axis=1) > 0])
    with pytest.raises(ValueError, match="twice"):
        log.of_images([1, 2, 1])
    with pytest.raises(ValueError, match="0 to 11"):
        log.of_images([12])


def test_images_without_queries_make_an_empty_log() -> None:
    log = QueryLog.from_pairs([0, 0], [0, 1], n_images=4).of_images([2, 3])
    assert (log.n_queries, log.n_images, log.n_pairs, log.total) == (0, 2, 0, 0)
    assert log.joint(0, 1) == 0
    assert len(log.relevant(0)[0]) == 0
    assert log.relevant_per_image().tolist() == [0, 0]


def test_a_log_is_read_back_and_written_with_the_same_bytes(tmp_path: Path) -> None:
    log = QueryLog.from_pairs([1, 0, 3], [0, 2, 1], np.array([1, 2, 0.1], dtype=np.float32), 5, 6)
    log.save(tmp_path / "a" / "log.npz")
    again = QueryLog.load(tmp_path / "a" / "log.npz")
    again.save(tmp_path / "log.npz")
    assert (tmp_path / "log.npz").read_bytes() == (tmp_path / "a" / "log.npz").read_bytes()
    assert (again.n_queries, again.n_images) == (5, 6)
    np.testing.assert_array_equal(dense(again), dense(log))
    with np.load(tmp_path / "log.npz") as arrays:
        kinds = {name: (arrays[name].dtype.name, arrays[name].shape) for name in arrays.files}
    assert kinds == {
        "query": ("int32", (3,)),
        "image": ("int32", (3,)),
        "relevance": ("float32", (3,)),
        "n_queries": ("int64", ()),
        "n_images": ("int64", ()),
    }


def test_files_that_are_no_logs_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "part.npz", query=[0], image=[0])
    np.savez(tmp_path / "bad.npz", query=[0], image=[7], relevance=[1.0], n_queries=1, n_images=2)
    for name in ("text.npz", "part.npz", "bad.npz", "missing.npz"):
        with pytest.raises(LookalikeError, match=rf"{name} is not a query log.*make it again"):
            QueryLog.load(tmp_path / name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [0], [0.0]), "above zero"),
        (([0], [0], [-1.0]), "above zero"),
        (([0], [0], [np.nan]), "above zero"),
        (([0], [0], [np.inf]), "finite"),
        (([0, 1], [0]), "equally long"),
        (([0], [0], [1.0, 2.0]), "equally long"),
        (([-1], [0]), "found -1"),
        (([0.5], [0]), "whole numbers"),
        (([0], [5], None, 1, 5), "0 to 4"),
        (([[0]], [0]), "1-D"),
        (([0], [0], None, -1), "n_queries"),
        (([0, 0], [0, 1], [1e-200, 1.0]), "orders of magnitude"),
    ],
)
def test_pairs_that_make_no_log_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QueryLog.from_pairs(*arguments)


def test_questions_that_have_no_answer_are_refused() -> None:
    log = QueryLog.from_pairs([0, 0], [0, 1])
    for theta in (-1e-9, np.nan, np.inf):
        with pytest.raises(ValueError, match="theta"):
            log.relevant(0, theta)
        with pytest.raises(ValueError, match="theta"):
            log.are_relevant([0], [[1]], theta)
        with pytest.raises(ValueError, match="theta"):
            log.relevant_per_image(theta)
    with pytest.raises(ValueError, match="0 to 1"):
        log.joint([0], [2])
    with pytest.raises(ValueError, match="0 to 1"):
        log.relevant(-1)
    with pytest.raises(ValueError, match="shape"):
        log.are_relevant([0, 1], [[1]])
    with pytest.raises(ValueError, match="joint, co_clicks"):
        log.incidence("clicks")
