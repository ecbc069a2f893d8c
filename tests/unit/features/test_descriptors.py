from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.features import codebook, descriptors, lbp, pyramid, shards

PALETTE = np.random.default_rng(7).integers(0, 256, (20, 3)).astype(np.float32)


def random_image(width, height, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def slow_describe(image, palette):
    """Block by block from the code image of each level, without cells."""
    rows = []
    for level in pyramid.levels(image):
        bins = lbp.pattern_bins()[lbp.lbp_patterns(lbp.luma(level))]
        nearest = ((level[:, :, None] - palette.astype(float)) ** 2).sum(axis=-1).argmin(axis=-1)
        for y in range(0, level.shape[0] - 63, 32):
            for x in range(0, level.shape[1] - 63, 32):
                block = slice(y, y + 64), slice(x, x + 64)
                edges = np.bincount(bins[block].ravel(), minlength=59)
                rows.append(np.r_[edges, np.bincount(nearest[block].ravel(), minlength=len(palette))])
    return np.array(rows)


@pytest.mark.parametrize(("width", "height"), [(300, 200), (225, 161), (131, 400), (224, 128)])
def test_equals_block_by_block_counting(width, height):
    image = random_image(width, height)
    counts = descriptors.describe(image, PALETTE)
    assert counts.dtype == np.uint16
    assert np.array_equal(counts, slow_describe(image, PALETTE))


@given(width=st.integers(1, 330), height=st.integers(1, 330), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=25)
def test_each_part_of_each_block_counts_every_pixel(width, height, seed):
    counts = descriptors.describe(random_image(width, height, seed), PALETTE)
    assert counts.shape == (pyramid.count_blocks(width, height), 79)
    assert (counts[:, :59].sum(axis=1) == 64 * 64).all()
    assert (counts[:, 59:].sum(axis=1) == 64 * 64).all()


def test_flat_image_has_one_edge_bin_and_one_colour():
    image = np.full((200, 300, 3), PALETTE[4].astype(np.uint8), np.uint8)
    counts = descriptors.describe(image, PALETTE)
    assert (counts[:, 57] == 4096).all()
    assert (counts[:, 59 + 4] == 4096).all()
    assert (counts > 0).sum() == 2 * len(counts)


def test_other_palette_sizes():
    assert descriptors.describe(random_image(300, 200), PALETTE[:5]).shape == (79, 64)


def test_strided_and_read_only_images_give_the_same():
    image = random_image(300, 200)
    wide = np.zeros((200, 600, 3), np.uint8)
    wide[:, ::2] = image
    frozen = image.copy()
    frozen.flags.writeable = False
    expected = descriptors.describe(image, PALETTE)
    assert np.array_equal(descriptors.describe(wide[:, ::2], PALETTE), expected)
    assert np.array_equal(descriptors.describe(frozen, PALETTE), expected)


def test_normalise_makes_each_part_sum_to_one():
    counts = descriptors.describe(random_image(300, 200), PALETTE)
    plain, roots = descriptors.normalise(counts), descriptors.normalise(counts, hellinger=True)
    assert plain.dtype == roots.dtype == np.float32
    assert np.array_equal(plain, (counts / 4096).astype(np.float32))
    assert np.allclose((roots**2)[:, :59].sum(axis=1), 1)
    assert np.array_equal(roots, np.sqrt(plain))
    assert counts.max() > 1  # the counts themselves are left alone


def test_normalise_of_nothing():
    assert descriptors.normalise(np.empty((0, 79), np.uint16)).shape == (0, 79)


@given(width=st.integers(1, 900), height=st.integers(1, 900))
@settings(deadline=None, max_examples=100)
def test_block_positions_lie_in_the_image_one_per_block(width, height):
    positions = descriptors.block_positions(width, height)
    assert positions.dtype == np.int32
    assert positions.shape == (pyramid.count_blocks(width, height), 4)
    x, y, size, level = positions.T
    assert (x >= 0).all()
    assert (y >= 0).all()
    assert (x + size <= width).all()
    assert (y + size <= height).all()
    assert np.allclose(size, 64 * 1.25 ** level.astype(float), atol=2, rtol=0.02)
    assert len(np.unique(positions, axis=0)) == len(positions)


def test_block_positions_are_in_the_order_of_describe():
    """A bright spot changes exactly the blocks whose place covers it (full size and the levels below)."""
    image = np.zeros((300, 400, 3), np.uint8)
    spotted = image.copy()
    spotted[100:110, 210:220] = 255
    palette = np.array([[0, 0, 0], [255, 255, 255]], np.float32)
    touched = descriptors.describe(spotted, palette)[:, 60] > 0
    x, y, size, _ = descriptors.block_positions(400, 300).T
    inside = (x <= 212) & (x + size >= 218) & (y <= 102) & (y + size >= 108)
    outside = (x > 221) | (x + size < 209) | (y > 111) | (y + size < 99)
    assert touched[inside].all()
    assert not touched[outside].any()
    assert inside.any()


@pytest.fixture
def shard(tmp_path):
    sizes = [(300, 200), (128, 128), (224, 230)]
    rows = []
    for number, (width, height) in enumerate(sizes):
        name = f"a class/{number}.png"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(random_image(width, height, number)).save(tmp_path / name)
        rows.append((number + 4, name, width, height))
    return tmp_path, pd.DataFrame(rows, columns=["image_id", "path", "width", "height"])


def test_describe_shard_and_its_file(shard, tmp_path):
    root, rows = shard
    calls = []
    blocks = descriptors.describe_shard(rows, root, PALETTE, progress=lambda done, of: calls.append((done, of)))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert blocks.image_id.tolist() == [4, 5, 6]
    assert np.diff(blocks.offsets).tolist() == [79, 0, pyramid.count_blocks(224, 230)]
    assert np.array_equal(blocks.counts[:79], descriptors.describe(random_image(300, 200, 0), PALETTE))
    path = tmp_path / "deep" / "blocks-000.npz"
    shards.save_shard(blocks, path)
    back = shards.load_shard(descriptors.Blocks, path)
    for before, after, dtype in zip(blocks, back, (np.int32, np.int64, np.uint16), strict=True):
        assert np.array_equal(before, after)
        assert after.dtype == dtype
    ids, offsets = shards.load_index(path)
    assert np.array_equal(ids, blocks.image_id)
    assert np.array_equal(offsets, blocks.offsets)
    assert [file.name for file in path.parent.iterdir()] == ["blocks-000.npz"]


def test_block_files_are_byte_for_byte_the_same(shard, tmp_path):
    root, rows = shard
    for name in ("one.npz", "two.npz"):
        shards.save_shard(descriptors.describe_shard(rows, root, PALETTE), tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_shards_change_nothing(shard):
    root, rows = shard
    whole = descriptors.describe_shard(rows, root, PALETTE)
    parts = [descriptors.describe_shard(rows.iloc[part], root, PALETTE) for part in ([0], [1, 2])]
    assert np.array_equal(whole.counts, np.concatenate([part.counts for part in parts]))
    assert np.array_equal(whole.image_id, np.concatenate([part.image_id for part in parts]))


def test_empty_shard(shard):
    root, rows = shard
    blocks = descriptors.describe_shard(rows.iloc[:0], root, PALETTE)
    assert blocks.counts.shape == (0, 79)
    assert blocks.offsets.tolist() == [0]


def test_an_image_that_changed_since_the_scan_is_named(shard):
    root, rows = shard
    Image.fromarray(random_image(301, 200)).save(root / rows["path"][0])
    with pytest.raises(LookalikeError, match=r"0\.png has another size"):
        descriptors.describe_shard(rows, root, PALETTE)


def test_real_photographs(real_images):
    from lookalike.core.images import load_rgb

    described = 0
    for path in sorted(real_images.glob("*/*.jpg"))[::150][:6]:
        image = load_rgb(path)
        counts = descriptors.describe(image, PALETTE)
        assert len(counts) == pyramid.count_blocks(image.shape[1], image.shape[0])
        assert (counts[:, :59].sum(axis=1) == 4096).all()
        described += len(counts)
    assert described > 0


@pytest.mark.parametrize("n_shards", [1, 3, 7, 20])
def test_shards_cut_the_usable_rows_once(n_shards):
    status = ["ok", "too_small", "clutter", "unreadable", "ok", "not_an_image", "ok", "ok", "clutter"]
    manifest = pd.DataFrame({"image_id": range(9), "status": status})
    parts = [shards.shard_of(manifest, shard, n_shards) for shard in range(n_shards)]
    assert sorted(pd.concat(parts)["image_id"]) == [0, 2, 4, 6, 7, 8]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_after_warm_up_nothing_is_compiled():
    codebook.warm_up()
    kernels = (descriptors.count_level, codebook.settle_nearest)
    before = [len(kernel.signatures) for kernel in kernels]
    counts = descriptors.describe(random_image(300, 200), PALETTE)
    frozen = random_image(300, 200)
    frozen.flags.writeable = False
    descriptors.describe(frozen, PALETTE)
    codebook.assign(descriptors.normalise(counts), descriptors.normalise(counts[:3]))
    assert [len(kernel.signatures) for kernel in kernels] == before
