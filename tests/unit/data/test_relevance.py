"""Relevance data: ways to make it, what it refuses, and its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.data.relevance import RelevanceData

IDS = [7, 3, 9, 4]
LABELS = ["cat", "cat", "dog", "cat"]
DATA = RelevanceData.from_pairs(IDS, LABELS, [7, 4, 3, 3], [3, 7, 4, 7], [0.5, 1.0, 0.0, 0.5])


def test_pairs_become_a_symmetric_matrix_without_zeros() -> None:
    # 7 and 3 are listed twice, in both orders
    assert DATA.relevance.toarray().tolist() == [[0, 0.5, 0, 1], [0.5, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert (DATA.n_images, DATA.n_categories, DATA.n_pairs, DATA.relevance.nnz) == (4, 2, 2, 4)
    assert DATA.relevance.dtype == np.float32
    assert DATA.labels.tolist() == LABELS
    assert RelevanceData.from_labels(IDS, LABELS).total.tolist() == [2, 2, 0, 2]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 1000))
def test_blocks_are_the_relevance_within_each_category(codes: list[int], seed: int) -> None:
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


def test_a_subset_keeps_order_and_drops_empty_categories() -> None:
    data = DATA.subset(DATA.rows_of([4, 7]))
    assert data.image_id.tolist() == [4, 7]
    assert data.category_names.tolist() == ["cat"]
    assert data.total.tolist() == [1, 1]
    with pytest.raises(ValueError, match="no image 5"):
        DATA.rows_of([5])


NONE = np.zeros((2, 2))


def pairs(*listed: list) -> RelevanceData:
    return RelevanceData.from_pairs(IDS, LABELS, *listed)


def blocks(**given: list) -> RelevanceData:
    return RelevanceData.from_blocks(IDS, LABELS, given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RelevanceData([1, 1], [0, 0], ["a"], NONE), "twice"),
        (lambda: RelevanceData([1, 2], [0, 0], ["a", "a"], NONE), "category name"),
        (lambda: RelevanceData([1, 2], [0, 1], ["a"], NONE), "places in category_names"),
        (lambda: RelevanceData([1, 2], [0, 0], ["a"], np.zeros((3, 3))), "shape"),
        (lambda: RelevanceData([1, 2], [0], ["a"], NONE), "2 images need"),
        (lambda: RelevanceData([1, 2], [0, 0], ["a"], [[0, 1], [0.5, 0]]), "symmetric"),
        (lambda: RelevanceData([1, 2], [0, 0], ["a"], [[1, 0], [0, 0]]), "itself"),
        (lambda: RelevanceData([1, 2], [0, 0], ["a"], [[0, -1], [-1, 0]]), "not negative"),
        (lambda: RelevanceData([1, 2], [0, 1], ["a", "b"], [[0, 1], [1, 0]]), "images 1 and 2"),
        (lambda: RelevanceData([1.5, 2], [0, 0], ["a"], NONE), "whole numbers"),
        (lambda: RelevanceData([2**40, 2], [0, 0], ["a"], NONE), "32 bits"),
        (lambda: RelevanceData([1, 2], [0, 0], ["a"], [1.0, 2.0]), "square"),
        (lambda: pairs([7], [8], [1.0]), "no image 8"),
        (lambda: pairs([7], [3, 4], [1.0]), "equally long"),
        (lambda: pairs([7], [3], [np.nan]), "finite"),
        (lambda: pairs([7, 3], [3, 7], [0.5, 0.4]), "images 7 and 3 come with two relevances"),
        (lambda: blocks(cow=[[0.0]]), "'cow'"),
        (lambda: blocks(cat=[[0.0]]), "3 images"),
    ],
)
def test_what_breaks_a_rule_is_refused(make: Callable[[], RelevanceData], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("data", [DATA, RelevanceData.empty(), RelevanceData.from_labels([5], ["x"])])
def test_the_file_gives_the_data_back_and_has_the_same_bytes_each_time(data: RelevanceData, tmp_path: Path) -> None:
    data.save(tmp_path / "a.npz")
    read = RelevanceData.load(tmp_path / "a.npz")
    read.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as arrays:
        types = {name: str(array.dtype) for name, array in arrays.items() if name != "category_names"}
    whole = dict.fromkeys(("image_id", "category", "indices"), "int32")
    assert types == whole | {"indptr": "int64", "data": "float32"}
    np.testing.assert_array_equal(read.image_id, data.image_id)
    np.testing.assert_array_equal(read.labels, data.labels)
    np.testing.assert_array_equal(read.relevance.toarray(), data.relevance.toarray())


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "text.npz").write_text("no archive")
    DATA.save(tmp_path / "cut.npz")
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    for name in ("other", "text", "cut"):
        with pytest.raises(LookalikeError, match=f"{name}.npz is no file of relevance data"):
            RelevanceData.load(tmp_path / f"{name}.npz")
