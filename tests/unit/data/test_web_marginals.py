"""Marginals of a query log and its visterms, counted by hand and at a small simulated size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.data import web_marginals
from lookalike.data.query_log import QueryLog
from lookalike.data.web_marginals import measure_marginals, write_marginals
from lookalike.data.web_simulation import WebSimulation
from lookalike.features.visterm_store import VistermStore, write_store

# query 0: images 0 1 2; query 1: images 2 3; query 2: image 4; query 3: images 0 2
QUERY, IMAGE = [0, 0, 0, 1, 1, 2, 3, 3], [0, 1, 2, 2, 3, 4, 0, 2]
PARTS = np.array(["train", "train", "train", "test", "test"], dtype=object)
COUNTS = np.array([[1, 0, 2, 0], [0, 0, 3, 0], [1, 1, 1, 0], [0, 0, 0, 1], [0, 1, 9, 1]])


@pytest.fixture
def store(tmp_path: Path) -> VistermStore:
    folders = [tmp_path / "shard-0", tmp_path / "shard-1"]
    write_store(folders[0], sp.csr_array(COUNTS[:2]))
    write_store(folders[1], sp.csr_array(COUNTS[2:]))
    return VistermStore(folders, 4)


def _curve(table: pd.DataFrame, quantity: str, part: str) -> dict[float, float]:
    rows = table[(table["quantity"] == quantity) & (table["part"] == part)]
    return dict(zip(rows["x"], rows["y"], strict=True))


@pytest.mark.parametrize("block", [1, 2, 100])
def test_marginals_are_what_one_counts_by_hand(
    store: VistermStore, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_marginals, "BLOCK", block)
    curves, counts = measure_marginals(QueryLog.from_pairs(QUERY, IMAGE), PARTS, store, seed=0)
    values = {(row.part, row.quantity): row.value for row in counts.itertuples()}
    assert values == {
        ("train", "images"): 3,
        ("train", "queries"): 3,
        ("train", "pairs"): 6,
        ("train", "nonzeros_per_image"): 2,
        ("train", "relevant_per_image"): 2,  # images 0 and 2 share two queries and count once
        ("test", "images"): 2,
        ("test", "queries"): 2,
        ("test", "pairs"): 2,
        ("test", "nonzeros_per_image"): 2,
        ("test", "relevant_per_image"): 0,  # image 3 shares a query only with a training image
    }
    third = pytest.approx(1 / 3)
    assert _curve(curves, "nonzeros_per_image", "train") == {1: third, 2: third, 3: third}
    assert _curve(curves, "images_per_query", "train") == {1: third, 2: third, 3: third}
    assert _curve(curves, "queries_per_image", "train") == {1: third, 2: third, 3: third}
    assert _curve(curves, "relevant_per_image", "train") == {2: 1}
    assert _curve(curves, "relevant_per_image", "test") == {0: 1}
    assert _curve(curves, "word_frequency", "train") == {1: 1, 2: pytest.approx(2 / 3), 3: third}
    assert _curve(curves, "word_frequency", "test") == {1: 1, 2: 0.5, 3: 0.5}
    assert (curves["x"].dtype, curves["y"].dtype) == (np.float64, np.float64)


def test_files_of_a_simulation_are_measured(tmp_path: Path) -> None:
    sim = WebSimulation(n_images=3000, words=1000, nonzeros=30, seed=5)
    sim.write_log(tmp_path / "log.npz")
    sim.write_images(tmp_path / "images.parquet")
    folders = [tmp_path / f"shard-{shard}" for shard in range(3)]
    for shard, folder in enumerate(folders):
        sim.write_shard(shard, 3, folder)
    for run in ("a", "b"):
        write_marginals(
            tmp_path / "log.npz",
            tmp_path / "images.parquet",
            folders,
            1000,
            tmp_path / run / "marginals.parquet",
            tmp_path / run / "marginals.csv",
            seed=9,
            sample=500,
        )
    for name in ("marginals.parquet", "marginals.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    counts = read_table(tmp_path / "a" / "marginals.csv")
    values = {(row.part, row.quantity): row.value for row in counts.itertuples()}
    log, is_test = sim.log, sim.is_test()
    assert values["train", "images"] + values["test", "images"] == 3000
    assert values["test", "images"] == sim.n_test
    assert values["train", "pairs"] + values["test", "pairs"] == len(log.query)
    nonzeros = (
        values["train", "nonzeros_per_image"] * (sim.n_images - sim.n_test)
        + values["test", "nonzeros_per_image"] * sim.n_test
    ) / 3000
    assert nonzeros == pytest.approx(30, abs=0.3)
    # distinct images that share a query, by the product that the program never forms
    incidence = sp.csr_array((np.ones(len(log.query)), (log.image, log.query)), shape=(3000, sim.n_queries))[~is_test]
    exact = ((incidence @ incidence.T).sum(axis=1) - np.asarray(incidence.sum(axis=1))).mean()
    assert values["train", "relevant_per_image"] == pytest.approx(exact, rel=0.1)
    curves = read_table(tmp_path / "a" / "marginals.parquet")
    for (quantity, part), rows in curves.groupby(["quantity", "part"]):
        assert (np.diff(rows["x"]) > 0).all(), (quantity, part)
        if quantity == "word_frequency":
            assert (np.diff(rows["y"]) <= 0).all()
        else:
            assert rows["y"].sum() == pytest.approx(1)


def test_the_sample_is_seeded_and_no_larger_than_asked() -> None:
    query = np.repeat(np.arange(40), np.arange(40) + 1)
    n_images = len(query)
    log = QueryLog.from_pairs(query, np.arange(n_images))
    parts = np.where(np.arange(n_images) % 3 == 0, "test", "train")

    class Plain(VistermStore):
        """Only the lengths and blocks of a store, in memory."""

        def __init__(self) -> None:
            self.n_images, self.n_words = n_images, 2

        def row_lengths(self) -> np.ndarray:
            return np.ones(n_images, dtype=np.int64)

        def slices(self, size: int, dtype: object = np.uint8):  # type: ignore[no-untyped-def]
            yield 0, sp.csr_array(np.tile([1, 0], (n_images, 1)))

    first, again, other = (measure_marginals(log, parts, Plain(), seed, sample=50)[0] for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)
    shares = np.array(list(_curve(first, "relevant_per_image", "train").values()))
    np.testing.assert_allclose(shares * 50, np.rint(shares * 50))


def test_files_of_different_data_sets_are_refused(store: VistermStore) -> None:
    log = QueryLog.from_pairs(QUERY, IMAGE)
    with pytest.raises(LookalikeError, match="same settings"):
        measure_marginals(log, PARTS[:4], store, seed=0)
    with pytest.raises(LookalikeError, match="no image is in the test part"):
        measure_marginals(log, np.repeat("train", 5), store, seed=0)
