"""The simulated web data: the same from any shards, with the printed marginals, and something to learn in it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from project import ROOT
from pydantic import ValidationError

from lookalike.core.errors import LookalikeError
from lookalike.data import web_simulation
from lookalike.data.query_log import QueryLog, measure_marginals
from lookalike.data.web_simulation import FULL_QUERIES, QUERIES_PER_IMAGE, RARE_QUERIES, TEST_SHARE, WebSimulation

SMALL = WebSimulation(n_images=500, words=1000, nonzeros=30, seed=3)
TENTH = WebSimulation(n_images=269_442, topics=100, seed=1)
"""A tenth of the papers' images with a tenth of the topics, so that everything is in proportion."""


@pytest.fixture(scope="module")
def table_1():
    """Printed numbers of Table 1 of the JMLR paper, as in ``training_queries``."""
    printed = pd.read_csv(ROOT / "workflow" / "resources" / "reference-values.csv")
    rows = printed[(printed["paper"] == "oasis-jmlr-2010") & (printed["exhibit"] == "table1")]
    return {f"{row.setting}_{row.metric}": int(row.value) for row in rows.itertuples()}


def test_the_numbers_of_queries_solve_for_the_printed_counts(table_1):
    """Two equations for R rare and F full queries: F + (1 - t) R have a training image, F + t R a test image."""
    full = WebSimulation()
    n_test = full.is_test().sum()
    assert (full.n_images - n_test, n_test) == (table_1["training_images"], table_1["test_images"])
    share = table_1["test_images"] / full.n_images
    rare = (table_1["training_queries"] - table_1["test_queries"]) / (1 - 2 * share)
    rest = table_1["training_queries"] - (1 - share) * rare
    found = (TEST_SHARE, RARE_QUERIES, FULL_QUERIES)
    assert found == pytest.approx((share, rare / full.n_images, rest / full.n_images), abs=5e-8)


def test_a_tenth_of_the_log_has_the_printed_numbers_in_proportion(table_1):
    log, is_test = TENTH.log, TENTH.is_test()
    # four standard deviations: a rare query is in the test set by a throw of a coin
    deviation = np.sqrt(TENTH.n_rare_queries * TEST_SHARE * (1 - TEST_SHARE))
    for part, members in (("training", ~is_test), ("test", is_test)):
        n_queries = len(np.unique(log.query[members[log.image]]))
        assert abs(n_queries - table_1[f"{part}_queries"] / 10) < 4 * deviation
    pairs = log.query.astype(np.int64) * TENTH.n_images + log.image
    assert (np.diff(pairs) > 0).all()  # sorted, and each once
    assert np.isin(log.main_query * np.int64(TENTH.n_images) + np.arange(TENTH.n_images), pairs).all()
    np.testing.assert_array_equal(log.image_topic, log.query_topic[log.main_query])
    # about a hundred relevant images of each in the training set
    sizes = np.bincount(log.query[~is_test[log.image]], minlength=len(log.query_topic)).astype(np.float64)
    assert 95 < (sizes * (sizes - 1)).sum() / (~is_test).sum() < 115
    # few pairs are lost; further queries are mostly of the image's topic; clicks have a heavy tail
    assert len(log.query) == round(TENTH.n_images * QUERIES_PER_IMAGE)
    further = log.query != log.main_query[log.image]
    assert further.mean() == pytest.approx(1 - 1 / QUERIES_PER_IMAGE, rel=1e-3)
    assert 0.88 < (log.query_topic[log.query[further]] == log.image_topic[log.image[further]]).mean() < 0.93
    assert log.relevance.min() == 1
    np.testing.assert_array_equal(log.relevance, np.floor(log.relevance))
    for bound in (2, 10, 100):
        assert (log.relevance >= bound).mean() == pytest.approx(bound**-1.2, rel=0.1)


def test_images_have_seventy_words_of_all_lengths_and_their_frequencies_follow_zipf():
    sim = WebSimulation(n_images=5000, seed=4)
    counts = sim.visterms(0, 5000)
    lengths = np.diff(counts.indptr)
    assert lengths.mean() == pytest.approx(sim.nonzeros, abs=0.3)
    assert 15 < lengths.std() < 30
    assert (counts.dtype, counts.data.min(), counts.has_canonical_format) == (np.uint8, 1, True)
    frequency = np.bincount(counts.indices, minlength=sim.words) / 5000
    ranks = np.arange(50, 1501)
    slope = np.polyfit(np.log(ranks), np.log(np.sort(frequency)[::-1][ranks - 1]), 1)[0]
    assert slope == pytest.approx(-web_simulation.ZIPF, abs=0.1)


def test_an_image_does_not_depend_on_those_drawn_with_it():
    whole, again = SMALL.visterms(0, 500), WebSimulation(**SMALL.model_dump())  # as another process would make it
    assert len(np.unique(again.log.image_topic)) == again.n_topics >= 2
    np.testing.assert_array_equal(again.visterms(100, 130).toarray(), whole[100:130].toarray())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nonzeros": 101}, "needs nonzeros of a tenth of the words, 100, or less, not 101"),
        ({"topic_share": 0.4, "style_share": 0.2}, "to come to less than 1, not 1.02"),
        ({"nonzeros": 100, "topic_share": 0, "style_share": 0.97, "style_words": 5}, "no number of terms"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises((LookalikeError, ValidationError), match=message):
        WebSimulation(**SMALL.model_dump() | changes).visterms(0, 500)


# query 0: images 0 1 2; query 1: images 2 3; query 2: image 4; query 3: images 0 2
LOG = QueryLog([0, 0, 0, 1, 1, 2, 3, 3], [0, 1, 2, 2, 3, 4, 0, 2])
PARTS = np.array(["train", "train", "train", "test", "test"], dtype=object)
COUNTS = sp.csr_array([[1, 0, 2, 0], [0, 0, 3, 0], [1, 1, 1, 0], [0, 0, 0, 1], [0, 1, 9, 1]])


def test_marginals_are_what_one_counts_by_hand():
    counts = measure_marginals(LOG, PARTS, COUNTS, seed=0)
    # images 0 and 2 share two queries and count once; image 3 shares a query only with a training image
    totals = counts.pivot(index="part", columns="quantity", values="value").loc[["train", "test"]]
    expected = {"images": [3, 2], "queries": [3, 2], "pairs": [6, 2]}
    assert totals.to_dict("list") == expected | {"nonzeros_per_image": [2, 2], "relevant_per_image": [2, 0]}
