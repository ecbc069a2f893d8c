"""Shards: what is found in the usable images of a manifest, in so many files as one likes, each the same bytes."""

from __future__ import annotations

import numpy as np
import pytest
from made_features import flat, texture, write_images
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.features import descriptors, keypoints
from lookalike.features.shards import load_shard, save_shard, shard_of

PALETTE = np.random.default_rng(7).integers(0, 256, (20, 3)).astype(np.float32)
KINDS = {
    descriptors.Blocks: (
        lambda manifest, root, shard, n_shards, progress=None: descriptors.describe_shard(
            shard_of(manifest, shard, n_shards), root, PALETTE, progress
        ),
        lambda image: (descriptors.describe(image, PALETTE),),
    ),
    keypoints.KeypointShard: (
        lambda manifest, root, shard, n_shards, progress=None: keypoints.extract_shard(
            root, manifest, shard, n_shards, progress=progress
        ),
        keypoints.extract_keypoints,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_shards_hold_what_is_found_in_every_usable_image(tmp_path, kind):
    find, find_in = KINDS[kind]
    images = {"a class/a.png": texture(0, 224, 230), "blank.png": flat(128), "b.png": texture(1, 300, 200)}
    manifest = write_images(tmp_path, images, first_id=4)
    manifest.loc[2, "status"] = "clutter"
    manifest.loc[3] = [7, "broken.png", 0, 0, "unreadable"]
    told = []
    for name in ("deep/one.npz", "deep/two.npz"):
        whole = find(manifest, tmp_path, 0, 1, lambda *done: told.append(done))
        save_shard(whole, tmp_path / name)
    assert told == [(1, 3), (2, 3), (3, 3)] * 2
    assert (tmp_path / "deep/one.npz").read_bytes() == (tmp_path / "deep/two.npz").read_bytes()
    assert (whole[0].tolist(), whole[0].dtype, whole.offsets.dtype) == ([4, 5, 6], np.int32, np.int64)
    assert np.diff(whole.offsets)[1] == 0  # the blank one keeps its range
    for image, start, stop in zip(images.values(), whole.offsets, whole.offsets[1:], strict=False):
        for joined, part in zip(whole[2:], find_in(image), strict=True):
            np.testing.assert_array_equal(joined[start:stop], part)
            assert joined.dtype == part.dtype
    for before, after in zip(whole, load_shard(kind, tmp_path / "deep/one.npz"), strict=True):
        np.testing.assert_array_equal(before, after)
        assert before.dtype == after.dtype
    assert [find(manifest, tmp_path, number, 2)[0].tolist() for number in range(2)] == [[4, 6], [5]]
    assert [len(part) for part in find(manifest.iloc[3:], tmp_path, 0, 1)][:3] == [0, 1, 0]
    Image.fromarray(flat(0)).save(tmp_path / "b.png")
    with pytest.raises(LookalikeError, match=r"b\.png has another size"):
        find(manifest, tmp_path, 0, 1)
