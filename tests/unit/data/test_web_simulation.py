"""The simulated web data: the same from any shards, with the printed marginals, and something to learn in it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.data import web_images, web_simulation
from lookalike.data.web_simulation import (
    FULL_QUERIES,
    QUERIES_PER_IMAGE,
    RARE_QUERIES,
    TEST_SHARE,
    WebLog,
    WebSimulation,
)
from lookalike.features.visterm_store import VistermStore
from lookalike.features.visterms import TfidfVisterms
from lookalike.learners import OASIS

SMALL = WebSimulation(n_images=500, words=1000, nonzeros=30, seed=3)
TENTH = WebSimulation(n_images=269_442, topics=100, seed=1)
"""A tenth of the papers' images with a tenth of the topics, so that everything is in proportion."""


@pytest.fixture(scope="module")
def table_1() -> dict[str, int]:
    """Printed numbers of Table 1 of the JMLR paper, as in ``training_queries``."""
    path = Path(__file__).resolve().parents[3] / "workflow" / "resources" / "reference-values.csv"
    printed = pd.read_csv(path, header=0)
    rows = printed[(printed.iloc[:, 0] == "oasis-jmlr-2010") & (printed.iloc[:, 1] == "table1")]
    return {f"{row.iloc[3]}_{row.iloc[5]}": int(float(row.iloc[6])) for _, row in rows.iterrows()}


@pytest.fixture(scope="module")
def tenth() -> WebLog:
    return TENTH.log


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


# The log --------------------------------------------------------------------------------------------------------------


def test_the_full_size_splits_into_the_printed_numbers_of_images(table_1: dict[str, int]) -> None:
    full = WebSimulation()
    assert (full.n_images - full.n_test, full.n_test) == (table_1["training_images"], table_1["test_images"])
    assert full.n_images == full.n_images - full.n_test + full.n_test


def test_the_numbers_of_queries_solve_for_the_printed_counts(table_1: dict[str, int]) -> None:
    """Two equations for R rare and F full queries: F + (1 - t) R have a training image, F + t R a test image."""
    full = WebSimulation()
    share = table_1["test_images"] / full.n_images
    rare = (table_1["training_queries"] - table_1["test_queries"]) / (1 - 2 * share)
    rest = table_1["training_queries"] - (1 - share) * rare
    found = (TEST_SHARE, RARE_QUERIES, FULL_QUERIES)
    assert found == pytest.approx((share, rare / full.n_images, rest / full.n_images), abs=5e-8)
    share = full.n_test / full.n_images
    assert full.n_full_queries + (1 - share) * full.n_rare_queries == pytest.approx(table_1["training_queries"], abs=2)
    assert full.n_full_queries + share * full.n_rare_queries == pytest.approx(table_1["test_queries"], abs=2)


def test_the_log_has_the_printed_counts_in_proportion(tenth: WebLog, table_1: dict[str, int]) -> None:
    """Four standard deviations: a rare query is in the test set by a throw of a coin."""
    is_test = TENTH.is_test()
    assert is_test.sum() == TENTH.n_test
    deviation = np.sqrt(TENTH.n_rare_queries * TEST_SHARE * (1 - TEST_SHARE))
    for part, members in (("training", ~is_test), ("test", is_test)):
        n_queries = len(np.unique(tenth.query[members[tenth.image]]))
        assert abs(n_queries - table_1[f"{part}_queries"] / 10) < 4 * deviation


def test_an_image_has_about_a_hundred_relevant_ones_in_the_training_set(tenth: WebLog) -> None:
    is_train = ~TENTH.is_test()
    sizes = np.bincount(tenth.query[is_train[tenth.image]], minlength=TENTH.n_queries).astype(np.float64)
    assert 95 < (sizes * (sizes - 1)).sum() / is_train.sum() < 115


@pytest.mark.parametrize("n_images", [60, 137, 1000, 20_000])
def test_a_log_is_well_formed_at_every_size(n_images: int) -> None:
    sim = WebSimulation(n_images=n_images, seed=2)
    log = sim.log
    pairs = log.query.astype(np.int64) * n_images + log.image
    assert (np.diff(pairs) > 0).all()  # sorted, and each once
    assert (log.query.dtype, log.image.dtype, log.relevance.dtype) == (np.int32, np.int32, np.float32)
    assert sim.n_images == n_images
    assert sim.n_queries == sim.n_rare_queries + sim.n_full_queries
    np.testing.assert_array_equal(np.unique(log.image), np.arange(n_images))
    assert log.query.max() < sim.n_queries
    assert np.isin(log.main_query * np.int64(n_images) + np.arange(n_images), pairs).all()
    np.testing.assert_array_equal(log.image_topic, log.query_topic[log.main_query])
    assert n_images <= len(pairs) <= round(n_images * QUERIES_PER_IMAGE)
    assert len(np.unique(sim.log.image_topic)) == sim.n_topics >= 2
    assert 0 < sim.n_test < (sim.n_images - sim.n_test)


def test_few_pairs_are_lost_and_further_queries_are_mostly_of_the_same_topic(tenth: WebLog) -> None:
    assert len(tenth.query) == round(TENTH.n_images * QUERIES_PER_IMAGE)
    further = tenth.query != tenth.main_query[tenth.image]
    assert further.mean() == pytest.approx(1 - 1 / QUERIES_PER_IMAGE, rel=1e-3)
    same = tenth.query_topic[tenth.query[further]] == tenth.image_topic[tenth.image[further]]
    assert 0.88 < same.mean() < 0.93


def test_relevance_is_whole_clicks_with_a_heavy_tail(tenth: WebLog) -> None:
    clicks = tenth.relevance
    assert clicks.min() == 1
    np.testing.assert_array_equal(clicks, np.floor(clicks))
    for bound in (2, 10, 100):
        assert (clicks >= bound).mean() == pytest.approx(bound**-1.2, rel=0.1)


# The visterms ---------------------------------------------------------------------------------------------------------


def test_alias_tables_have_the_given_shares() -> None:
    weights = np.random.default_rng(0).random((3, 17)) ** 4 + 1e-6
    threshold, other = web_images.alias_table(weights)
    shares = threshold / 2.0**32
    for row in range(3):
        total = shares[row] + np.bincount(other[row], weights=1 - shares[row], minlength=17)
        np.testing.assert_allclose(total / 17, weights[row] / weights[row].sum(), atol=1e-8)


def test_images_have_seventy_words_of_all_lengths_and_their_frequencies_follow_zipf() -> None:
    sim = WebSimulation(n_images=5000, seed=4)
    counts = sim.visterms(0, 5000)
    lengths = np.diff(counts.indptr)
    assert lengths.mean() == pytest.approx(sim.nonzeros, abs=0.3)
    assert 15 < lengths.std() < 30
    assert counts.dtype == np.uint8
    assert counts.data.min() >= 1
    frequency = np.bincount(counts.indices, minlength=sim.words) / 5000
    ranks = np.arange(1, sim.words + 1)
    shown = (ranks >= 50) & (ranks <= 1500)
    slope = np.polyfit(np.log(ranks[shown]), np.log(np.sort(frequency)[::-1][shown]), 1)[0]
    assert slope == pytest.approx(-web_simulation.ZIPF, abs=0.1)
    # a codebook's numbers do not say how frequent its words are
    assert abs(np.corrcoef(np.arange(sim.words), np.argsort(frequency))[0, 1]) < 0.05


def test_words_are_sorted_and_each_once() -> None:
    counts = SMALL.visterms(100, 300)
    assert counts.shape == (200, 1000)
    for row in range(200):
        assert (np.diff(counts.indices[counts.indptr[row] : counts.indptr[row + 1]]) > 0).all()


def test_an_image_does_not_depend_on_its_shard(tmp_path: Path) -> None:
    whole = SMALL.visterms(0, 500)
    folders = [tmp_path / f"shard-{shard}" for shard in range(7)]
    for shard in (3, 0, 6, 1, 2, 5, 4):
        again = replace(SMALL)  # as another process would make it
        assert again.write_shard(shard, 7, folders[shard]) in (71, 72)
    store = VistermStore(folders, 1000)
    assert store.n_images == 500
    np.testing.assert_array_equal(store.rows(range(500)).toarray(), whole.toarray())
    SMALL.write_shard(0, 1, tmp_path / "whole")
    np.testing.assert_array_equal(VistermStore(tmp_path / "whole", 1000).rows([499]).toarray(), whole[[499]].toarray())


def test_too_little_room_for_the_words_is_made_good(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = SMALL.visterms(0, 500)
    rooms: list[int] = []
    drawn = web_images.draw_images

    def draw(*args: object) -> bool:
        words, counts = args[-2:]
        rooms.append(len(words))  # type: ignore[arg-type]
        if len(rooms) == 1:
            return bool(drawn(*args[:-2], words[:100], counts[:100]))  # type: ignore[index]
        return bool(drawn(*args))

    monkeypatch.setattr(web_images, "draw_images", draw)
    np.testing.assert_array_equal(SMALL.visterms(0, 500).toarray(), expected.toarray())
    assert rooms[1] == 2 * rooms[0]


def test_other_seeds_give_other_data_and_the_same_seed_the_same() -> None:
    other = replace(SMALL, seed=4)
    assert (SMALL.visterms(0, 5) != replace(SMALL).visterms(0, 5)).nnz == 0
    assert (SMALL.visterms(0, 5) != other.visterms(0, 5)).nnz > 100
    assert not np.array_equal(SMALL.is_test(), other.is_test())
    assert not np.array_equal(SMALL.log.image, other.log.image)


def test_similarity_is_hidden_from_counting_common_words_but_can_be_learned() -> None:
    """Precision at 5 against the latent topic, on images that were not trained on: chance, Euclidean, OASIS."""
    sim = WebSimulation(n_images=2000, words=1000, nonzeros=60, seed=11)
    log, topics, is_test = sim.log, sim.log.image_topic, sim.is_test()
    counts = sim.visterms(0, 2000)
    weighting = TfidfVisterms().fit(counts[~is_test])
    train, test = (sp.csr_array(weighting.transform(counts[part])) for part in (~is_test, is_test))
    model = OASIS(random_state=0).fit_triplets(train, _triplets(log, is_test, 30_000))

    def topic_precision(similarity: np.ndarray) -> float:
        np.fill_diagonal(similarity, -np.inf)
        top = np.argpartition(-similarity, 5, axis=1)[:, :5]
        labels = topics[is_test]
        return float((labels[top] == labels[:, None]).mean())

    euclidean = topic_precision((test @ test.T).toarray())
    learned = topic_precision(np.asarray(test @ model.W_.astype(np.float32) @ test.T.toarray()))
    assert euclidean > 2 * np.mean(np.bincount(topics[is_test]) ** 2) / is_test.sum() ** 2
    assert learned > euclidean + 0.1
    assert learned < 0.95


def _triplets(log: WebLog, is_test: np.ndarray, n: int) -> np.ndarray:
    """Triplets of training images: two that share a query, and any."""
    random = np.random.default_rng(0)
    row = np.cumsum(~is_test) - 1
    kept = ~is_test[log.image]
    query, image = log.query[kept], row[log.image[kept]]
    place = random.integers(len(query), size=n)
    start, stop = (np.searchsorted(query, query[place], side=side) for side in ("left", "right"))
    other = start + np.floor(random.random(n) * (stop - start)).astype(np.int64)
    rows = np.stack([image[place], image[other], random.integers((~is_test).sum(), size=n)], axis=1)
    return rows[rows[:, 0] != rows[:, 1]].astype(np.int32)


# Files and settings ---------------------------------------------------------------------------------------------------


def test_files_hold_what_was_drawn_and_are_the_same_each_time(tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        sim = replace(SMALL)
        sim.write_log(folder / "log.npz")
        sim.write_images(folder / "images.parquet")
    assert _digests(tmp_path / "a") == _digests(tmp_path / "b")
    with np.load(tmp_path / "a" / "log.npz") as written:
        log = SMALL.log
        assert sorted(written) == ["image", "n_images", "n_queries", "query", "relevance"]
        for name in ("query", "image", "relevance"):
            np.testing.assert_array_equal(written[name], getattr(log, name))
            assert written[name].dtype == getattr(log, name).dtype
        assert (written["n_images"].shape, written["n_images"].dtype) == ((), np.int64)
        assert (int(written["n_images"]), int(written["n_queries"])) == (500, SMALL.n_queries)
    images = pd.read_parquet(tmp_path / "a" / "images.parquet")
    assert list(images.columns) == ["image_id", "part", "topic"]
    assert (images["image_id"].dtype, images["topic"].dtype) == (np.int32, np.int32)
    np.testing.assert_array_equal(images["image_id"], np.arange(500))
    np.testing.assert_array_equal(images["part"] == "test", SMALL.is_test())
    assert set(images["part"]) == {"train", "test"}


@pytest.mark.parametrize(("name", "value"), [("nonzeros", 101), ("topic_words", 101), ("style_words", 101)])
def test_numbers_too_large_for_the_codebook_are_refused(name: str, value: float) -> None:
    with pytest.raises(LookalikeError, match=f"{name} is"):
        replace(SMALL, **{name: value})


def test_shares_must_leave_room_for_the_background() -> None:
    with pytest.raises(LookalikeError, match="leave some for the background"):
        replace(SMALL, topic_share=0.4, style_share=0.2)


def test_a_vocabulary_that_cannot_give_so_many_words_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_simulation, "ZIPF", 1.5)
    sim = WebSimulation(n_images=60, words=2000, nonzeros=200, topic_share=0, style_share=0.97, style_words=5)
    with pytest.raises(LookalikeError, match="no number of terms"):
        sim.visterms(0, 1)


@pytest.mark.parametrize(("shard", "n_shards"), [(0, 0), (3, 3), (-1, 3), (0, 501)])
def test_a_shard_that_is_not_there_is_refused(tmp_path: Path, shard: int, n_shards: int) -> None:
    with pytest.raises(LookalikeError, match="no shard"):
        SMALL.write_shard(shard, n_shards, tmp_path / "shard")
