"""The codebook pool: what it takes, what it leaves, and that nothing else changes it."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_manifests import manifest_of

from lookalike.core.errors import LookalikeError
from lookalike.data.pool import draw_codebook_pool

CLASSES = {
    "001.cat": {"ok": 90, "too_small": 3},
    "002.dog": {"ok": 70, "unreadable": 2},
    "003.cow": {"ok": 40},
    "257.clutter": {"clutter": 7, "too_small": 2},
}


def test_takes_all_clutter_and_a_share_of_each_class() -> None:
    manifest = manifest_of(CLASSES)
    pool = draw_codebook_pool(manifest, share=0.1, keep=65, seed=0)
    assert pool["label"].value_counts().to_dict() == {"001.cat": 9, "002.dog": 5, "257.clutter": 7}
    assert list(pool.columns) == ["image_id", "label"]
    assert pool["image_id"].dtype == "int32"
    assert pool["image_id"].is_monotonic_increasing
    taken = manifest.set_index("image_id").loc[pool["image_id"]]
    assert list(taken["label"]) == list(pool["label"])
    assert set(taken["status"]) == {"ok", "clutter"}


def test_seed_decides() -> None:
    manifest = manifest_of(CLASSES)
    one = draw_codebook_pool(manifest, share=0.2, keep=65, seed=1)
    pd.testing.assert_frame_equal(one, draw_codebook_pool(manifest, share=0.2, keep=65, seed=1))
    assert not one.equals(draw_codebook_pool(manifest, share=0.2, keep=65, seed=2))


def test_a_new_class_changes_no_other_draw() -> None:
    def drawn_paths(classes: dict[str, dict[str, int]]) -> set[str]:
        manifest = manifest_of(classes)
        pool = draw_codebook_pool(manifest, share=0.2, keep=20, seed=3)
        return set(manifest.set_index("image_id").loc[pool["image_id"], "path"])

    before = drawn_paths(CLASSES)
    after = drawn_paths({"000.ant": {"ok": 50}, **CLASSES, "004.elk": {"ok": 100}})
    assert {path for path in after if path.split("/")[0] in CLASSES} == before
    assert len(after) == len(before) + 10 + 20


@settings(deadline=None, max_examples=40)
@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=5),
    share=st.floats(0, 1),
    keep=st.integers(0, 20),
    seed=st.integers(0, 2**32),
)
def test_every_class_keeps_what_it_must(sizes: list[int], share: float, keep: int, seed: int) -> None:
    manifest = manifest_of({f"{i:03d}": {"ok": size} for i, size in enumerate(sizes)} | {"c": {"clutter": 1}})
    pool = draw_codebook_pool(manifest, share=share, keep=keep, seed=seed)
    taken = pool["label"].value_counts()
    assert pool["image_id"].is_unique
    assert taken["c"] == 1
    for i, size in enumerate(sizes):
        n_taken = taken.get(f"{i:03d}", 0)
        assert n_taken == max(0, min(round(share * size), size - keep))
        assert size - n_taken >= min(size, keep)


def test_empty_pool_says_what_to_do() -> None:
    manifest = manifest_of({"cat": {"ok": 65}, "dog": {"ok": 65}})
    with pytest.raises(LookalikeError, match=r"no class has more than 65 usable images .*add images"):
        draw_codebook_pool(manifest, share=0.1, keep=65, seed=0)
