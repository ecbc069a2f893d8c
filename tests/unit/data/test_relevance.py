"""The relevance of images, by a query log and graded: against dense algebra, its files, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.data.query_log import QueryLog
from lookalike.data.relevance import RelevanceData


def dense(log):
    R = np.zeros((log.n_queries, log.n_images))
    query, image, weight = log.pairs()
    R[query, image] = weight
    return R


def dense_joint(R):
    """Sum over q of Pr(p1 | q) Pr(p2 | q) Pr(q), term by term as the draft's equation 19 says."""
    joint = np.zeros((R.shape[1], R.shape[1]))
    for row in R[R.sum(axis=1) > 0]:
        given_query = row / row.sum()
        joint += np.outer(given_query, given_query) * row.sum() / R.sum()
    return joint


entry = st.tuples(st.integers(0, 6), st.integers(0, 9), st.floats(2**-10, 2**10, width=32))
entries = st.lists(entry, min_size=1, max_size=40, unique_by=lambda pair: pair[:2])


@settings(deadline=None, max_examples=25)
@given(pairs=entries, dtype=st.sampled_from([np.float32, np.float64]), equal=st.booleans())
def test_a_query_log_agrees_with_dense_algebra(pairs, dtype, equal):
    query, image, relevance = (np.array(column) for column in zip(*pairs, strict=True))
    relevance = (np.ones(len(relevance)) if equal else relevance).astype(dtype)  # equal ones tie
    log = QueryLog(query, image, relevance, n_queries=8, n_images=11)
    R = np.zeros((8, 11))
    R[query, image] = relevance
    np.testing.assert_array_equal(dense(log), R)
    assert (log.query_weights.dtype, log.query_images.dtype, log.image_queries.dtype) == (dtype, np.int32, np.int32)
    assert (np.diff(log.pairs()[0] * 11 + log.query_images) > 0).all()  # sorted by query and image
    assert log.total == pytest.approx(R.sum())
    assert np.count_nonzero(R) == log.n_pairs
    np.testing.assert_array_equal(log.images_per_query(), np.count_nonzero(R, axis=1))
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
        for image in range(11):
            images, probability = log.relevant(image, theta)
            np.testing.assert_array_equal(images, np.flatnonzero(wanted[image]))
            np.testing.assert_array_equal(probability, joint[image, images])
    ids = np.array([9, 2, 4, 0])
    part = log.of_images(ids)
    np.testing.assert_array_equal(dense(part), dense(log)[:, ids][R[:, ids].sum(axis=1) > 0])


def test_images_without_queries_make_an_empty_log():
    log = QueryLog([0, 0], [0, 1], n_images=4).of_images([2, 3])
    assert (log.n_queries, log.n_images, log.n_pairs, log.total, log.joint(0, 1)) == (0, 2, 0, 0, 0)
    assert (log.relevant(0)[0].tolist(), log.relevant_per_image().tolist()) == ([], [0, 0])


LABELS = ["cat", "cat", "dog", "cat"]
LOG = QueryLog([1, 0, 3], [0, 2, 1], np.array([1, 2, 0.1], dtype=np.float32), 5, 6)
GRADED = RelevanceData.from_pairs([7, 3, 9, 4], LABELS, [4, 3, 3], [7, 4, 7], [1.0, 0.0, 0.5])


def test_pairs_become_a_symmetric_matrix_without_zeros():
    assert GRADED.relevance.toarray().tolist() == [[0, 0.5, 0, 1], [0.5, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert (GRADED.n_images, GRADED.n_categories, GRADED.n_pairs, GRADED.relevance.nnz) == (4, 2, 2, 4)
    assert GRADED.labels.tolist() == LABELS
    assert RelevanceData.from_labels(range(4), LABELS).total.tolist() == [2, 2, 0, 2]
    data = GRADED.subset(GRADED.rows_of([4, 7]))  # in this order, without the category of the dog
    assert (data.image_id.tolist(), data.category_names.tolist(), data.total.tolist()) == ([4, 7], ["cat"], [1, 1])


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 1000))
def test_blocks_are_the_relevance_within_each_category(codes, seed):
    random, labels = np.random.default_rng(seed), np.array([f"c{code}" for code in codes])
    whole = np.triu(random.random((len(codes),) * 2) * (random.random((len(codes),) * 2) < 0.6), 1)
    whole = np.float32(whole + whole.T) * (labels[:, None] == labels)
    whole[labels == "c3"] = 0
    blocks = {label: whole[np.ix_(labels == label, labels == label)] for label in set(labels.tolist()) - {"c3"}}
    with_diagonal = {label: block + np.eye(len(block)) for label, block in blocks.items()}
    data = RelevanceData.from_blocks(np.arange(len(codes)), labels, with_diagonal)
    np.testing.assert_array_equal(data.relevance.toarray(), whole)
    np.testing.assert_allclose(data.total, whole.astype(np.float64).sum(axis=1))
    assert data.labels.tolist() == labels.tolist()


def test_images_that_are_not_there_have_no_relevance():
    with pytest.raises(ValueError, match="0 to 5"):
        LOG.joint([0], [6])
    with pytest.raises(KeyError, match="5"):
        GRADED.rows_of([5])
