from __future__ import annotations

from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from skimage.feature import local_binary_pattern

from lookalike.features import lbp

MARGIN = 3  # scikit-image pads with zeros; its radius 2 and the cell of interpolation reach 2 to 3 pixels
DIAGONALS = {1: (-1, 1), 3: (-1, -1), 5: (1, -1), 7: (1, 1)}
STRAIGHTS = {0: (0, 2), 2: (-2, 0), 4: (0, -2), 6: (2, 0)}


def at_least_zero(p: int, q: int) -> bool:
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


def slow_pattern(padded, y, x):
    code = 0
    for bit, (dy, dx) in STRAIGHTS.items():
        code |= int(padded[y + dy, x + dx] >= padded[y, x]) << bit
    for bit, (dy, dx) in DIAGONALS.items():
        code |= int(at_least_zero(*diagonal_terms(padded, y, x, dy, dx))) << bit
    return code


def slow_patterns(grey):
    padded = np.pad(grey, 2, mode="edge")
    height, width = grey.shape
    return np.array([[slow_pattern(padded, y + 2, x + 2) for x in range(width)] for y in range(height)], np.uint8)


def is_tied(padded, y, x):
    return any(diagonal_terms(padded, y, x, dy, dx) == (0, 0) for dy, dx in DIAGONALS.values())


def test_weights_of_the_diagonal_are_bilinear():
    f = np.sqrt(2) - 1
    assert np.allclose(
        [(1 - f) ** 2, f * (1 - f), f**2], [6 - 4 * np.sqrt(2), 3 * np.sqrt(2) - 4, 3 - 2 * np.sqrt(2)], atol=1e-15
    )


def test_bins_are_those_of_scikit_image():
    grey = np.random.default_rng(0).integers(0, 256, (400, 400), dtype=np.uint8)
    pattern = local_binary_pattern(grey, 8, 2, "default").astype(int)
    expected = local_binary_pattern(grey, 8, 2, "nri_uniform").astype(int)
    assert len(np.unique(pattern)) == 256
    assert np.array_equal(lbp.pattern_bins()[pattern], expected)


def test_there_are_58_uniform_bins_and_one_for_the_rest():
    bins = lbp.pattern_bins()
    changes = np.array([sum((p >> i & 1) != (p >> (i + 1) % 8 & 1) for i in range(8)) for p in range(256)])
    assert lbp.N_BINS == 59
    assert sorted(bins[changes <= 2]) == list(range(58))
    assert (bins[changes > 2] == 58).all()


def test_random_image_equals_scikit_image_away_from_the_border():
    grey = np.random.default_rng(1).integers(0, 256, (300, 300), dtype=np.uint8)
    ours, theirs = lbp.pattern_bins()[lbp.lbp_patterns(grey)], local_binary_pattern(grey, 8, 2, "nri_uniform")
    padded = np.pad(grey, 2, mode="edge")
    inside = (slice(MARGIN, -MARGIN),) * 2
    differing = np.argwhere(ours[inside] != theirs[inside]) + MARGIN
    assert all(is_tied(padded, y + 2, x + 2) for y, x in differing)
    assert len(differing) <= 5


@pytest.mark.parametrize("n_levels", [2, 4, 16])
def test_where_scikit_image_differs_the_comparison_is_a_true_tie(n_levels):
    """Few grey levels make ties: equal in exact arithmetic, above or below by rounding in floats."""
    grey = np.random.default_rng(2).integers(0, n_levels, (120, 120), dtype=np.uint8)
    ours, theirs = lbp.lbp_patterns(grey), local_binary_pattern(grey, 8, 2, "default").astype(np.uint8)
    padded = np.pad(grey, 2, mode="edge")
    inside = (slice(MARGIN, -MARGIN),) * 2
    differing = np.argwhere(ours[inside] != theirs[inside]) + MARGIN
    for y, x in differing:
        for bit in range(8):
            if (ours[y, x] ^ theirs[y, x]) >> bit & 1:
                assert bit in DIAGONALS
                assert diagonal_terms(padded, y + 2, x + 2, *DIAGONALS[bit]) == (0, 0)
                assert ours[y, x] >> bit & 1  # a tie counts as "at least"
    assert len(differing) < 0.15 * grey.size


def test_real_photograph_equals_scikit_image_but_for_ties(real_images):
    path = sorted(real_images.glob("*/*.jpg"))[0]
    with Image.open(path) as picture:
        grey = np.asarray(picture.convert("L").crop((0, 0, 200, 150)))
    ours, theirs = lbp.lbp_patterns(grey), local_binary_pattern(grey, 8, 2, "default").astype(np.uint8)
    padded = np.pad(grey, 2, mode="edge")
    inside = (slice(MARGIN, -MARGIN),) * 2
    differing = np.argwhere(ours[inside] != theirs[inside]) + MARGIN
    assert all(is_tied(padded, y + 2, x + 2) for y, x in differing)


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 7), st.integers(1, 9))))
@settings(deadline=None, max_examples=100)
def test_equals_exact_arithmetic_borders_included(grey):
    assert np.array_equal(lbp.lbp_patterns(grey), slow_patterns(grey))


@given(hnp.arrays(np.uint8, (6, 40), elements=st.sampled_from([0, 1, 2, 127, 128, 254, 255])))
@settings(deadline=None, max_examples=40)
def test_equals_exact_arithmetic_with_ties_and_extremes(grey):
    assert np.array_equal(lbp.lbp_patterns(grey), slow_patterns(grey))


def test_every_flat_grey_level_gives_the_full_pattern():
    for level in range(256):
        assert (lbp.lbp_patterns(np.full((9, 11), level, np.uint8)) == 255).all()
    assert lbp.pattern_bins()[255] == 57


def test_turning_the_image_turns_the_pattern():
    grey = np.random.default_rng(3).integers(0, 256, (20, 30), dtype=np.uint8)
    pattern = np.rot90(lbp.lbp_patterns(grey)).astype(int)  # anticlockwise, by two of the eight points
    turned = lbp.lbp_patterns(np.ascontiguousarray(np.rot90(grey)))
    assert np.array_equal(turned, (pattern << 2 | pattern >> 6) & 255)


def test_brightness_changes_nothing():
    grey = np.random.default_rng(4).integers(0, 200, (20, 30), dtype=np.uint8)
    assert np.array_equal(lbp.lbp_patterns(grey), lbp.lbp_patterns(grey + np.uint8(55)))


@pytest.mark.parametrize("shape", [(1, 1), (13, 17), (64, 80)])
def test_luma_is_pillows(shape):
    image = np.random.default_rng(5).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert np.array_equal(lbp.luma(image), np.asarray(Image.fromarray(image).convert("L")))


def test_luma_of_greys_is_the_grey():
    greys = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    assert np.array_equal(lbp.luma(greys)[0], np.arange(256))
