"""Precision of the web study, held to counts by hand, and the draw of query images."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.core.seeds import generator
from lookalike.data.query_log import QueryLog
from lookalike.studies.metrics import COLUMNS, select
from lookalike.studies.web.protocol import draw_query_images, precision_of_retrieval

# images 0, 1, 2 share query 0; 2, 3 share query 1; 4 and 5 have a query each
LOG = QueryLog.from_pairs([0, 0, 0, 1, 1, 2, 3], [0, 1, 2, 2, 3, 4, 5])
TOPICS = [0, 0, 1, 1, 1, 0]
GALLERY = [5, 3, 2, 1, 0]


def score(found, queries):
    return precision_of_retrieval(np.array(found), queries, GALLERY, LOG, TOPICS, method="oasis")


def test_by_hand():
    # query image 0 finds 1, 5, 2: relevant yes, no, yes; same topic yes, yes, no
    # query image 2 finds 5, 3, 0: relevant no, yes, yes; same topic no, yes, no
    table = score([[3, 0, 2], [0, 1, 4]], [0, 2])
    assert tuple(table.columns) == COLUMNS
    log, topic = select(table, metric="p@k"), select(table, metric="topic_p@k")
    assert log.x.tolist() == [1, 2, 3]
    np.testing.assert_allclose(log.value, [1 / 2, 1 / 2, 2 / 3])
    np.testing.assert_allclose(log.high - log.value, [1 / 2, 0, 0], atol=1e-15)
    np.testing.assert_allclose(topic.value, [1 / 2, 3 / 4, 1 / 2])
    np.testing.assert_allclose(topic.value - topic.low, [1 / 2, 1 / 4, 1 / 6])
    assert select(table, metric="n_queries").value.item() == 2
    assert select(table, metric="n_gallery").value.item() == 5
    assert set(table.method) == {"oasis"}


def test_standard_error_is_that_of_a_mean():
    random = np.random.default_rng(0)
    n = 200
    log = QueryLog.from_pairs(random.integers(20, size=900), random.integers(n, size=900), n_queries=20, n_images=n)
    found = np.stack([random.permutation(np.delete(np.arange(n), i))[:7] for i in range(n)])
    table = precision_of_retrieval(found, np.arange(n), np.arange(n), log, np.zeros(n, int), method="random")
    shares = np.array([log.are_relevant([i], found[[i]])[0].mean() for i in range(n)])
    by_log, by_topic = (select(table, metric=metric).iloc[6] for metric in ("p@k", "topic_p@k"))
    assert by_log.value == pytest.approx(shares.mean())
    assert by_log.high - by_log.value == pytest.approx(np.std(shares, ddof=1) / np.sqrt(n))
    assert (by_topic.value, by_topic.low, by_topic.high) == (1, 1, 1)


def test_a_query_image_that_finds_itself_is_refused():
    with pytest.raises(ValueError, match="found itself"):
        score([[4, 0, 2], [0, 1, 4]], [0, 2])


def test_draw_is_seeded_sorted_and_without_replacement():
    part = np.arange(100, 400, 3)
    drawn = draw_query_images(part, 20, seed=1)
    assert drawn.dtype == np.int32
    assert len(set(drawn.tolist())) == 20
    assert drawn.tolist() == sorted(drawn)
    assert set(drawn) <= set(part)
    np.testing.assert_array_equal(drawn, draw_query_images(part[::-1], 20, seed=1))
    assert drawn.tolist() != draw_query_images(part, 20, seed=2).tolist()
    np.testing.assert_array_equal(
        draw_query_images(part, 20, seed=generator(3, "web")), draw_query_images(part, 20, seed=generator(3, "web"))
    )


def test_draw_takes_all_images_evenly():
    counts = np.zeros(30)
    for seed in range(400):
        counts[draw_query_images(np.arange(30), 10, seed)] += 1
    assert abs(counts / 400 - 1 / 3).max() < 0.1  # 4 standard errors of 0.024


def test_draw_of_more_than_there_are_gives_all():
    np.testing.assert_array_equal(draw_query_images([4, 2, 9], 10, 0), [2, 4, 9])
