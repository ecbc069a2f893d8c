from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lookalike.features import pyramid

sides = st.integers(1, 1200)


@pytest.mark.parametrize(
    ("width", "height", "n_levels", "n_blocks"),
    [(300, 200, 3, 79), (400, 300, 4, 192), (640, 480, 6, 623), (128, 128, 0, 0)],
)
def test_levels_and_blocks_of_the_sizes_in_methods(width, height, n_levels, n_blocks):
    assert len(pyramid.level_sizes(width, height)) == n_levels
    assert pyramid.count_blocks(width, height) == n_blocks
    assert pyramid.is_large_enough(width, height) == (n_levels > 0)


def test_exact_level_sizes_of_300x200():
    assert pyramid.level_sizes(300, 200) == [(300, 200), (240, 160), (192, 128)]


def test_sizes_round_half_up_from_the_original():
    # 402 / 1.25**2 = 257.28 -> 257 and 321.6 -> 322; from the level before it would be 322 / 1.25 = 257.6 -> 258
    assert pyramid.level_sizes(402, 402)[1:3] == [(322, 322), (257, 257)]


@given(width=sides, height=sides)
@settings(deadline=None, max_examples=200)
def test_pyramid_is_as_long_as_its_levels_hold_ten_blocks(width, height):
    sizes = pyramid.level_sizes(width, height)
    for level, size in enumerate(sizes):
        assert size == tuple(int(Fraction(side) / Fraction(5, 4) ** level + Fraction(1, 2)) for side in (width, height))
        assert pyramid.blocks_in(*size) >= pyramid.MIN_BLOCKS
    following = tuple(pyramid._scaled(side, len(sizes)) for side in (width, height))
    assert pyramid.blocks_in(*following) < pyramid.MIN_BLOCKS
    assert pyramid.is_large_enough(width, height) == bool(sizes)
    assert pyramid.count_blocks(width, height) == sum(pyramid.blocks_in(*size) for size in sizes)


@given(width=sides, height=sides)
@settings(deadline=None, max_examples=100)
def test_turning_an_image_turns_its_levels(width, height):
    assert pyramid.level_sizes(height, width) == [size[::-1] for size in pyramid.level_sizes(width, height)]


@given(width=st.integers(0, 400), height=st.integers(0, 400))
@settings(deadline=None, max_examples=100)
def test_blocks_in_counts_blocks_that_fit(width, height):
    corners = [(x, y) for x in range(0, width - 63, 32) for y in range(0, height - 63, 32)]
    assert pyramid.blocks_in(width, height) == len(corners)


def test_levels_are_box_resampled_from_the_original():
    image = np.random.default_rng(0).integers(0, 256, (200, 300, 3), dtype=np.uint8)
    levels = list(pyramid.levels(image))
    assert [level.shape for level in levels] == [(200, 300, 3), (160, 240, 3), (128, 192, 3)]
    assert np.array_equal(levels[0], image)
    third = np.asarray(Image.fromarray(image).resize((192, 128), Image.Resampling.BOX))
    assert np.array_equal(levels[2], third)
    assert all(level.dtype == np.uint8 and level.flags.c_contiguous for level in levels)


def test_a_flat_image_stays_flat_at_every_level():
    image = np.full((300, 400, 3), (7, 130, 251), np.uint8)
    assert all((level == (7, 130, 251)).all() for level in pyramid.levels(image))


def test_a_small_image_has_no_level():
    assert list(pyramid.levels(np.zeros((128, 128, 3), np.uint8))) == []
