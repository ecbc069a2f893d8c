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


entries = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 9), st.floats(2**-10, 2**10, width=32)), min_size=1, max_size=40
)


@settings(deadline=None, max_examples=25)
@given(pairs=entries, dtype=st.sampled_from([np.float32, np.float64]), equal=st.booleans())
def test_everything_agrees_with_dense_algebra(pairs: list[tuple[int, int, float]], dtype: type, equal: bool) -> None:
    query, image, relevance = (np.array(column) for column in zip(*pairs, strict=True))
    relevance = (np.ones(len(relevance)) if equal else relevance).astype(dtype)  # equal ones tie
    log = QueryLog.from_pairs(query, image, relevance, n_queries=8, n_images=11)
    R = np.zeros((8, 11))
    np.add.at(R, (query, image), relevance.astype(float))  # a pair that comes twice is added up
    np.testing.assert_allclose(dense(log), R, rtol=1e-6)
    assert (log.query_weights.dtype, log.query_images.dtype, log.image_queries.dtype) == (dtype, np.int32, np.int32)
    assert (np.diff(log.pairs()[0] * 11 + log.query_images) > 0).all()  # sorted by query and image
    assert log.total == pytest.approx(R.sum())
    assert np.count_nonzero(R) == log.n_pairs
    np.testing.assert_array_equal(log.images_per_query(), np.count_nonzero(R, axis=1))
    np.testing.assert_array_equal(log.queries_per_image(), np.count_nonzero(R, axis=0))
    joint = log.joint(*np.indices((11, 11)))
    np.testing.assert_allclose(joint, dense_joint(R), rtol=1e-5, atol=1e-300)
    np.testing.assert_array_equal(joint, joint.T)
    # the cut is the same wherever it is asked for, at the values themselves too: no two sums may differ in the last bit
    others = ~np.eye(11, dtype=bool)
    for theta in (0.0, *np.unique(joint[others & (joint > 0)])[:3]):
        wanted = (joint > theta) & others
        np.testing.assert_array_equal(log.are_relevant(np.arange(11), np.indices((11, 11))[1], theta), wanted)
        np.testing.assert_array_equal(log.relevant_per_image(theta), wanted.sum(axis=1))
        np.testing.assert_array_equal(log.relevant_per_image(theta, [3, 3, 0]), wanted.sum(axis=1)[[3, 3, 0]])
        for one in range(11):
            images, probability = log.relevant(one, theta)
            np.testing.assert_array_equal(images, np.flatnonzero(wanted[one]))
            np.testing.assert_array_equal(probability, joint[one, images])
    ids = np.array([9, 2, 4, 0])
    part = log.of_images(ids)
    np.testing.assert_array_equal(dense(part), dense(log)[:, ids][R[:, ids].sum(axis=1) > 0])


def test_images_without_queries_make_an_empty_log() -> None:
    log = QueryLog.from_pairs([0, 0], [0, 1], n_images=4).of_images([2, 3])
    assert (log.n_queries, log.n_images, log.n_pairs, log.total, log.joint(0, 1)) == (0, 2, 0, 0, 0)
    assert (log.relevant(0)[0].tolist(), log.relevant_per_image().tolist()) == ([], [0, 0])


def test_a_log_is_read_back_and_written_with_the_same_bytes(tmp_path: Path) -> None:
    log = QueryLog.from_pairs([1, 0, 3], [0, 2, 1], np.array([1, 2, 0.1], dtype=np.float32), 5, 6)
    log.save(tmp_path / "a" / "log.npz")
    again = QueryLog.load(tmp_path / "a" / "log.npz")
    np.testing.assert_array_equal(dense(again), dense(log))
    again.save(tmp_path / "log.npz")
    assert (tmp_path / "log.npz").read_bytes() == (tmp_path / "a" / "log.npz").read_bytes()
    with np.load(tmp_path / "log.npz") as arrays:
        kinds = {name: (arrays[name].dtype.name, arrays[name].shape) for name in arrays.files}
    whole = {"query": ("int32", (3,)), "image": ("int32", (3,)), "relevance": ("float32", (3,))}
    assert kinds == whole | {"n_queries": ("int64", ()), "n_images": ("int64", ())}


def test_files_that_are_no_logs_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "part.npz", query=[0], image=[0])
    np.savez(tmp_path / "bad.npz", query=[0], image=[7], relevance=[1.0], n_queries=1, n_images=2)
    for name in ("text.npz", "part.npz", "bad.npz", "missing.npz"):
        with pytest.raises(LookalikeError, match=rf"{name} is not a query log.*make it again"):
            QueryLog.load(tmp_path / name)


LOG = QueryLog.from_pairs([0, 0], [0, 1])


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (QueryLog.from_pairs, ([0], [0], [0.0]), "above zero"),
        (QueryLog.from_pairs, ([0], [0], [np.inf]), "finite"),
        (QueryLog.from_pairs, ([0, 1], [0]), "equally long"),
        (QueryLog.from_pairs, ([-1], [0]), "found -1"),
        (QueryLog.from_pairs, ([0.5], [0]), "whole numbers"),
        (QueryLog.from_pairs, ([0], [5], None, 1, 5), "0 to 4"),
        (QueryLog.from_pairs, ([[0]], [0]), "1-D"),
        (QueryLog.from_pairs, ([0], [0], None, -1), "n_queries"),
        (QueryLog.from_pairs, ([0, 0], [0, 1], [1e-200, 1.0]), "orders of magnitude"),
        (LOG.relevant, (0, -1e-9), "theta"),
        (LOG.are_relevant, ([0], [[1]], np.nan), "theta"),
        (LOG.relevant_per_image, (np.inf,), "theta"),
        (LOG.joint, ([0], [2]), "0 to 1"),
        (LOG.are_relevant, ([0, 1], [[1]]), "shape"),
        (LOG.incidence, ("clicks",), "joint, co_clicks"),
        (LOG.of_images, ([1, 0, 1],), "twice"),
    ],
)
def test_what_makes_no_log_or_has_no_answer_is_refused(call, arguments: tuple, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call(*arguments)
