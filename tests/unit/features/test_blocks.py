"""Blocks: where they lie, their edges and colours against slow exact versions, and the files that hold their counts."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from made_features import flat, noise, write_images
from PIL import Image
from skimage.feature import local_binary_pattern

from lookalike.core.errors import LookalikeError
from lookalike.core.images import luma
from lookalike.features import codebook, descriptors, lbp, pyramid
from lookalike.features import palette as colours

PALETTE = np.random.default_rng(7).integers(0, 256, (20, 3)).astype(np.float32)

# Pyramid


@given(width=st.integers(1, 1200), height=st.integers(1, 1200))
@settings(deadline=None, max_examples=60)
def test_a_pyramid_is_as_long_as_its_levels_hold_ten_blocks(width, height):
    """Sides are rounded half up from the original: from the level before, rounding would build up."""

    def size_at(level):
        return tuple(int(Fraction(side) / Fraction(5, 4) ** level + Fraction(1, 2)) for side in (width, height))

    def n_blocks(size):
        return len(range(0, size[0] - 63, 32)) * len(range(0, size[1] - 63, 32))

    sizes = pyramid.level_sizes(width, height)
    assert sizes == [size_at(level) for level in range(len(sizes))]
    assert all(n_blocks(size) >= 10 for size in sizes)
    assert n_blocks(size_at(len(sizes))) < 10
    assert pyramid.is_large_enough(width, height) == bool(sizes)
    assert pyramid.count_blocks(width, height) == sum(map(n_blocks, sizes))


def test_levels_are_box_resampled_from_the_original():
    image = noise(0, 300, 200)
    levels = list(pyramid.levels(image))
    assert [level.shape for level in levels] == [(200, 300, 3), (160, 240, 3), (128, 192, 3)]
    np.testing.assert_array_equal(levels[0], image)
    third = np.asarray(Image.fromarray(image).resize((192, 128), Image.Resampling.BOX))
    np.testing.assert_array_equal(levels[2], third)


# Edges

DIAGONALS = {1: (-1, 1), 3: (-1, -1), 5: (1, -1), 7: (1, 1)}
STRAIGHTS = {0: (0, 2), 2: (-2, 0), 4: (0, -2), 6: (2, 0)}


def at_least_zero(p, q):
    """Whether p + q sqrt(2) >= 0, by comparing integers with the integer square root of 2 q^2."""
    if q >= 0:
        return p >= 0 or 2 * q * q >= p * p
    return p >= 0 and p >= isqrt(2 * q * q - 1) + 1  # p >= ceil(|q| sqrt(2))


def diagonal_terms(padded, y, x, dy, dx):
    """P and Q of the bilinear value at (sqrt(2), sqrt(2)) less the centre, with f = sqrt(2) - 1 multiplied out."""
    near, far = int(padded[y + dy, x + dx]), int(padded[y + 2 * dy, x + 2 * dx])
    sides = int(padded[y + 2 * dy, x + dx]) + int(padded[y + dy, x + 2 * dx])
    # (1-f)^2 = 6 - 4 sqrt(2), f (1-f) = 3 sqrt(2) - 4, f^2 = 3 - 2 sqrt(2)
    return 6 * near - 4 * sides + 3 * far - int(padded[y, x]), -4 * near + 3 * sides - 2 * far


def slow_patterns(grey):
    padded = np.pad(grey, 2, mode="edge")
    codes = np.zeros(grey.shape, np.uint8)
    for y, x in np.ndindex(*grey.shape):
        at = y + 2, x + 2
        code = sum(int(padded[at[0] + dy, at[1] + dx] >= padded[at]) << bit for bit, (dy, dx) in STRAIGHTS.items())
        code |= sum(int(at_least_zero(*diagonal_terms(padded, *at, *d))) << bit for bit, d in DIAGONALS.items())
        codes[y, x] = code
    return codes


@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 7), st.integers(1, 9)))
    | hnp.arrays(np.uint8, (6, 30), elements=st.sampled_from([0, 1, 2, 127, 128, 254, 255]))
)
@settings(deadline=None, max_examples=60)
def test_patterns_equal_exact_arithmetic_with_borders_ties_and_extremes(grey):
    np.testing.assert_array_equal(lbp.lbp_patterns(grey), slow_patterns(grey))


def test_patterns_and_bins_are_those_of_scikit_image():
    """It pads with zeros, and computes in floats: sums that tie in exact arithmetic are above or below by rounding."""
    grey = np.random.default_rng(2).integers(0, 256, (200, 200), dtype=np.uint8)
    ours, theirs = lbp.lbp_patterns(grey), local_binary_pattern(grey, 8, 2, "default").astype(np.uint8)
    assert (ours != theirs)[3:-3, 3:-3].mean() < 1e-3
    uniform = local_binary_pattern(grey, 8, 2, "nri_uniform").astype(int)
    np.testing.assert_array_equal(lbp.pattern_bins()[theirs], uniform)
    assert len(np.unique(theirs)) == 256


# Colours


def nearest_colours(image, palette):
    """Index of the nearest palette colour of every pixel, by the kernel, row by row."""
    found, planes = np.empty(image.shape[:2], np.uint8), np.empty((4, image.shape[1]), np.int32)
    for row, nearest in zip(image, found, strict=True):
        colours.nearest_colours(row, colours.palette_keys(palette), planes, nearest)
    return found


@given(
    palette=hnp.arrays(np.float32, st.tuples(st.integers(1, 128), st.just(3)), elements=st.integers(0, 2040)),
    image=hnp.arrays(np.uint8, (3, 20, 3), elements=st.sampled_from([0, 1, 100, 101, 254, 255])),
)
@settings(deadline=None, max_examples=40)
def test_the_nearest_colour_is_exact_and_the_lowest_of_ties(palette, image):
    distance = ((8 * image.astype(np.int64)[:, :, None, :] - palette.astype(np.int64)) ** 2).sum(axis=-1)
    np.testing.assert_array_equal(nearest_colours(image, palette / np.float32(8)), distance.argmin(axis=-1))


def test_a_palette_finds_well_separated_colours_from_dark_to_light():
    rng = np.random.default_rng(0)
    truth = np.array([[20, 20, 60], [200, 30, 30], [60, 160, 60], [240, 240, 230]])
    pixels = np.clip(truth[rng.integers(4, size=4000)] + rng.integers(-5, 6, (4000, 3)), 0, 255).astype(np.uint8)
    palette = colours.learn_palette(pixels, 4, seed=1)
    assert palette.dtype == np.float32
    assert np.abs(palette - truth).max() < 1
    np.testing.assert_array_equal(palette * 8, np.rint(palette * 8))
    assert colours.learn_palette(pixels, 4, seed=1).tobytes() == palette.tobytes()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: colours.learn_palette(np.tile(np.uint8(range(19))[:, None], (9, 3)), 20), "only 19 different colours"),
        (lambda: colours.learn_palette(np.zeros((9, 3), np.uint8), 0), "1 to 128"),
    ],
)
def test_what_is_no_palette_is_refused(make, sentence):
    with pytest.raises(LookalikeError, match=sentence):
        make()


def test_pixels_are_drawn_equally_of_each_image_and_do_not_depend_on_the_others(tmp_path):
    images = {f"{number}.png": np.arange(3600, dtype=np.uint16).reshape(30, 40, 3) // 15 for number in range(4)}
    manifest = write_images(tmp_path, {name: image.astype(np.uint8) for name, image in images.items()})
    both = colours.pool_pixels(tmp_path, manifest, manifest.iloc[[3, 1]], 39, seed=4)
    one = colours.pool_pixels(tmp_path, manifest, manifest.iloc[[3]], 20, seed=4)
    assert both.shape == (40, 3)
    np.testing.assert_array_equal(both[20:], one)
    assert not np.array_equal(both[:20], one)
    with pytest.raises(LookalikeError, match="no image to learn a palette"):
        colours.pool_pixels(tmp_path, manifest, manifest.iloc[:0], 9, seed=0)
    image = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    for n, expected in ((7, 7), (100, 20)):
        assert len(np.unique(colours.sample_pixels(image, n, np.random.default_rng(0)), axis=0)) == expected


# Counts


def slow_describe(image, palette):
    """Block by block from the code image of each level, without cells."""
    rows = []
    for level in pyramid.levels(image):
        bins = lbp.pattern_bins()[lbp.lbp_patterns(luma(level))]
        nearest = ((level[:, :, None] - palette.astype(float)) ** 2).sum(axis=-1).argmin(axis=-1)
        for y in range(0, level.shape[0] - 63, 32):
            for x in range(0, level.shape[1] - 63, 32):
                block = slice(y, y + 64), slice(x, x + 64)
                edges = np.bincount(bins[block].ravel(), minlength=59)
                rows.append(np.r_[edges, np.bincount(nearest[block].ravel(), minlength=len(palette))])
    return np.array(rows)


@pytest.mark.parametrize(("width", "height", "n_colours"), [(300, 200, 20), (131, 400, 5), (224, 128, 20)])
def test_counts_are_those_of_block_by_block_counting(width, height, n_colours):
    image = noise(width, width, height)
    wide = np.zeros((height, 2 * width, 3), np.uint8)
    wide[:, ::2] = image
    image.flags.writeable = False
    counts = descriptors.describe(image, PALETTE[:n_colours])
    assert counts.dtype == np.uint16
    np.testing.assert_array_equal(counts, slow_describe(image, PALETTE[:n_colours]))
    np.testing.assert_array_equal(descriptors.describe(wide[:, ::2], PALETTE[:n_colours]), counts)


@given(width=st.integers(1, 330), height=st.integers(1, 330))
@settings(deadline=None, max_examples=20)
def test_every_block_counts_each_of_its_pixels_twice_and_has_a_place(width, height):
    counts = descriptors.describe(noise(0, width, height), PALETTE)
    assert counts.shape == (pyramid.count_blocks(width, height), 79)
    assert (counts[:, :59].sum(axis=1) == 4096).all()
    assert (counts[:, 59:].sum(axis=1) == 4096).all()
    positions = descriptors.block_positions(width, height)
    x, y, size, level = positions.T
    assert positions.dtype == np.int32
    assert len(np.unique(positions, axis=0)) == len(counts)
    assert ((x >= 0) & (y >= 0) & (x + size <= width) & (y + size <= height)).all()
    np.testing.assert_allclose(size, 64 * 1.25 ** level.astype(float), atol=2, rtol=0.02)


def test_block_positions_are_in_the_order_of_describe():
    """A bright spot changes exactly the blocks whose place covers it (full size and the levels below)."""
    spotted = flat(0, 400, 300)
    spotted[100:110, 210:220] = 255
    touched = descriptors.describe(spotted, np.array([[0, 0, 0], [255, 255, 255]], np.float32))[:, 60] > 0
    x, y, size, _ = descriptors.block_positions(400, 300).T
    inside = (x <= 212) & (x + size >= 218) & (y <= 102) & (y + size >= 108)
    outside = (x > 221) | (x + size < 209) | (y > 111) | (y + size < 99)
    assert touched[inside].all()
    assert not touched[outside].any()
    assert inside.any()


@pytest.mark.parametrize("n", [0, 5])
def test_descriptors_are_shares_of_edges_and_of_colours(n):
    counts = np.random.default_rng(0).multinomial(4096, np.ones(59) / 59, n)
    counts = np.hstack([counts, counts[:, :20]]).astype(np.uint16)
    before = counts.copy()
    plain, roots = descriptors.normalise(counts), descriptors.normalise(counts, hellinger=True)
    expected = np.hstack([counts[:, :59] / 4096, counts[:, 59:] / counts[:, 59:].sum(axis=1, keepdims=True)])
    assert plain.dtype == roots.dtype == np.float32
    np.testing.assert_allclose(plain, expected, rtol=1e-6)
    np.testing.assert_array_equal(roots, np.sqrt(plain))
    np.testing.assert_array_equal(counts, before)


def test_after_warm_up_nothing_is_compiled():
    codebook.warm_up()
    kernels = (descriptors.count_level, codebook.settle_nearest)
    before = [len(kernel.signatures) for kernel in kernels]
    image = noise(0, 300, 200)
    image.flags.writeable = False
    counts = descriptors.describe(image, PALETTE)
    codebook.assign(descriptors.normalise(counts), descriptors.normalise(counts[:3]))
    assert [len(kernel.signatures) for kernel in kernels] == before
