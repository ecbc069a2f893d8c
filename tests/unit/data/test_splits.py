"""Partitions: disjoint, complete, free of the pool, and unmoved by whatever else is in the configuration."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_manifests import manifest_of

from lookalike.core.errors import LookalikeError
from lookalike.data.pool import draw_codebook_pool
from lookalike.data.splits import make_splits

PAPER: dict[str, Any] = {"n_folds": 5, "n_train": 40, "n_test": 25, "n_validation": 8, "seed": 0, "subset": "toy"}


@pytest.fixture(scope="module")
def manifest() -> pd.DataFrame:
    return manifest_of(
        {
            "001.cat": {"ok": 80, "too_small": 9},
            "002.dog": {"ok": 90, "unreadable": 4},
            "003.cow": {"ok": 75},
            "004.elk": {"ok": 72, "not_an_image": 1},
            "257.clutter": {"clutter": 30},
        }
    )


@pytest.fixture(scope="module")
def pool(manifest: pd.DataFrame) -> pd.DataFrame:
    return draw_codebook_pool(manifest, share=0.1, keep=65, seed=0)


def test_table_of_the_papers_protocol(manifest: pd.DataFrame, pool: pd.DataFrame) -> None:
    splits = make_splits(manifest, pool, ["002.dog", "001.cat"], **PAPER)
    assert list(splits.columns) == ["fold", "image_id", "label", "role", "validation"]
    assert [str(splits[name].dtype) for name in ("fold", "image_id", "validation")] == ["int8", "int32", "bool"]
    counts = splits.groupby(["fold", "role", "label"]).size().unstack("role")
    assert len(counts) == 5 * 2
    assert (counts["train"] == 40).all()
    assert (counts["test"] == 25).all()
    assert (splits[splits["validation"]].groupby(["fold", "label"]).size() == 8).all()
    assert set(splits.loc[splits["validation"], "role"]) == {"train"}
    order = splits.sort_values(["fold", "role", "label", "image_id"], ignore_index=True)
    pd.testing.assert_frame_equal(splits, order)


def test_folds_are_independent_draws(manifest: pd.DataFrame, pool: pd.DataFrame) -> None:
    splits = make_splits(manifest, pool, ["001.cat", "002.dog"], **PAPER)
    tests = [set(fold["image_id"]) for _, fold in splits[splits["role"] == "test"].groupby("fold")]
    assert len({frozenset(test) for test in tests}) == 5
    assert len(set.intersection(*tests)) < 25


def test_classes_of_one_size_are_drawn_differently() -> None:
    manifest = manifest_of({"001.cat": {"ok": 80}, "002.dog": {"ok": 80}})
    splits = make_splits(manifest, manifest.head(0), ["001.cat", "002.dog"], **{**PAPER, "n_folds": 1})
    tests = splits[splits["role"] == "test"].groupby("label")["image_id"]
    places = {label: set(image_ids % 80) for label, image_ids in tests}
    assert places["001.cat"] != places["002.dog"]


def test_roles_are_drawn_uniformly(manifest: pd.DataFrame) -> None:
    """Over many folds every image tests equally often, so neither file order nor role favours any."""
    empty = manifest.head(0)[["image_id", "label"]]
    options = {**PAPER, "n_folds": 127, "n_train": 20, "n_test": 20, "n_validation": 5}
    splits = make_splits(manifest, empty, ["001.cat", "003.cow"], **options)
    cats = splits[splits["label"] == "001.cat"]
    for part, share in ((cats["role"] == "test", 20 / 80), (cats["validation"], 5 / 80)):
        times = cats[part]["image_id"].value_counts()
        spread = (127 * share * (1 - share)) ** 0.5
        assert abs(times.reindex(cats["image_id"].unique(), fill_value=0) - 127 * share).max() < 4.5 * spread


@settings(deadline=None, max_examples=30)
@given(
    n_folds=st.integers(1, 4),
    n_train=st.integers(1, 12),
    n_test=st.integers(1, 12),
    spare=st.lists(st.integers(0, 10), min_size=2, max_size=4),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_disjoint_complete_and_free_of_the_pool(
    n_folds: int, n_train: int, n_test: int, spare: list[int], share: float, seed: int, data: st.DataObject
) -> None:
    n_validation = data.draw(st.integers(0, n_train - 1))
    sizes = {f"{i:03d}.class": {"ok": n_train + n_test + more, "too_small": 2} for i, more in enumerate(spare)}
    manifest = manifest_of({**sizes, "257.clutter": {"clutter": 3}})
    pool = draw_codebook_pool(manifest, share=share, keep=n_train + n_test, seed=seed)
    splits = make_splits(
        manifest, pool, list(sizes), n_folds=n_folds, n_train=n_train, n_test=n_test, n_validation=n_validation,
        seed=seed, subset="toy",
    )  # fmt: skip
    assert len(splits) == n_folds * len(sizes) * (n_train + n_test)
    assert not splits.duplicated(["fold", "image_id"]).any()
    assert not set(splits["image_id"]) & set(pool["image_id"])
    rows = manifest.set_index("image_id").loc[splits["image_id"]]
    assert set(rows["status"]) == {"ok"}
    assert list(rows["label"]) == list(splits["label"])
    sums = splits.groupby(["fold", "label", "role"]).agg(images=("image_id", "size"), flagged=("validation", "sum"))
    assert set(sums.xs("train", level="role").itertuples(index=False, name=None)) == {(n_train, n_validation)}
    assert set(sums.xs("test", level="role").itertuples(index=False, name=None)) == {(n_test, 0)}


@settings(deadline=None, max_examples=20)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_neither_order_nor_other_classes_folds_and_subsets_change_a_line(
    manifest: pd.DataFrame, pool: pd.DataFrame, data: st.DataObject, seed: int
) -> None:
    every = ["001.cat", "002.dog", "003.cow", "004.elk"]
    classes = data.draw(st.lists(st.sampled_from(every), min_size=2, max_size=4, unique=True))
    options = {**PAPER, "seed": seed, "n_folds": 2}
    splits = make_splits(manifest, pool, classes, **options)
    pd.testing.assert_frame_equal(make_splits(manifest, pool, sorted(classes), **options), splits)
    wider = make_splits(manifest, pool, every, **{**options, "n_folds": 3})
    same = wider[(wider["fold"] < 2) & wider["label"].isin(classes)].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, splits)
    make_splits(manifest, pool, every, **{**options, "subset": "another"})
    pd.testing.assert_frame_equal(make_splits(manifest, pool, classes, **options), splits)


def test_a_class_added_to_the_data_set_changes_no_image() -> None:
    def lines(counts: dict[str, dict[str, int]]) -> list[tuple[Any, ...]]:
        manifest = manifest_of(counts)
        pool = draw_codebook_pool(manifest, share=0.1, keep=65, seed=0)
        splits = make_splits(manifest, pool, ["001.cat", "002.dog"], **PAPER)
        paths = manifest.set_index("image_id").loc[splits["image_id"], "path"]
        return list(zip(splits["fold"], paths, splits["role"], splits["validation"], strict=True))

    few = {"001.cat": {"ok": 80}, "002.dog": {"ok": 90}}
    assert lines({"000.ant": {"ok": 33}, **few}) == lines(few)


def test_seed_and_subset_name_decide(manifest: pd.DataFrame, pool: pd.DataFrame) -> None:
    classes = ["001.cat", "002.dog"]
    one = make_splits(manifest, pool, classes, **PAPER)
    pd.testing.assert_frame_equal(make_splits(manifest, pool, classes, **PAPER), one)
    assert not make_splits(manifest, pool, classes, **{**PAPER, "seed": 1}).equals(one)
    assert not make_splits(manifest, pool, classes, **{**PAPER, "subset": "other"}).equals(one)


def test_too_few_images_name_class_and_number(manifest: pd.DataFrame, pool: pd.DataFrame) -> None:
    with pytest.raises(LookalikeError, match=r"004\.elk \(65\)"):
        make_splits(manifest, pool, ["001.cat", "004.elk"], **{**PAPER, "n_test": 26})
    with pytest.raises(LookalikeError, match=r"257\.clutter \(0\)"):
        make_splits(manifest, pool, ["001.cat", "257.clutter"], **PAPER)
