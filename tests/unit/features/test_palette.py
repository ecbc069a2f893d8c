from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.features import palette as colours


def nearest_colours(image, palette):
    """Index of the nearest palette colour of every pixel, by the kernel, row by row."""
    found, planes = np.empty(image.shape[:2], np.uint8), np.empty((4, image.shape[1]), np.int32)
    for row, nearest in zip(image, found, strict=True):
        colours.nearest_colours(row, colours.palette_keys(palette), planes, nearest)
    return found


def brute_force(image, palette):
    eighths = np.rint(palette.astype(float) * 8).astype(np.int64)
    distance = ((8 * image.astype(np.int64)[:, :, None, :] - eighths) ** 2).sum(axis=-1)
    return distance.argmin(axis=-1)


@given(
    palette=hnp.arrays(np.float32, st.tuples(st.integers(1, 128), st.just(3)), elements=st.integers(0, 2040)),
    image=hnp.arrays(np.uint8, (3, 20, 3)),
)
@settings(deadline=None, max_examples=50)
def test_nearest_colour_is_exact(palette, image):
    palette = palette / np.float32(8)
    assert np.array_equal(nearest_colours(image, palette), brute_force(image, palette))


def test_extreme_colours_do_not_overflow():
    corners = np.array([[r, g, b] for r in (0, 255) for g in (0, 255) for b in (0, 255)], np.uint8)
    palette = np.tile(corners.astype(np.float32), (16, 1))
    assert np.array_equal(nearest_colours(corners[None], palette)[0], np.arange(8))


def test_ties_go_to_the_lowest_index():
    palette = np.array([[10, 10, 10], [20, 10, 10], [10, 10, 10]], np.float32)
    image = np.array([[[15, 10, 10], [10, 10, 10], [16, 10, 10]]], np.uint8)
    assert nearest_colours(image, palette).tolist() == [[0, 0, 1]]


def test_sample_pixels_draws_without_replacement():
    image = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    drawn = colours.sample_pixels(image, 7, np.random.default_rng(0))
    assert drawn.shape == (7, 3)
    assert len(np.unique(drawn, axis=0)) == 7
    everything = colours.sample_pixels(image, 100, np.random.default_rng(0))
    assert np.array_equal(np.unique(everything, axis=0), image.reshape(-1, 3))
    again = colours.sample_pixels(image, 7, np.random.default_rng(0))
    assert np.array_equal(drawn, again)


def test_palette_finds_well_separated_colours_from_dark_to_light():
    rng = np.random.default_rng(0)
    truth = np.array([[20, 20, 60], [200, 30, 30], [60, 160, 60], [240, 240, 230]])
    pixels = np.clip(truth[rng.integers(4, size=4000)] + rng.integers(-5, 6, (4000, 3)), 0, 255).astype(np.uint8)
    palette = colours.learn_palette(pixels, 4, seed=1)
    assert palette.dtype == np.float32
    assert np.abs(palette - truth).max() < 1
    assert np.array_equal(palette * 8, np.rint(palette * 8))


def test_palette_is_the_same_each_time_and_sorted():
    pixels = np.random.default_rng(1).integers(0, 256, (5000, 3), dtype=np.uint8)
    first, second = (colours.learn_palette(pixels, 20, seed=3) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert first.shape == (20, 3)
    assert (np.diff(first @ np.array([0.299, 0.587, 0.114])) >= 0).all()


def test_too_few_colours_is_a_users_mistake():
    pixels = np.tile(np.arange(19, dtype=np.uint8)[:, None], (100, 3))
    with pytest.raises(LookalikeError, match="only 19 different colours"):
        colours.learn_palette(pixels, 20)
    with pytest.raises(LookalikeError, match="1 to 128"):
        colours.learn_palette(pixels, 0)


@pytest.mark.parametrize("palette", [np.zeros((0, 3)), np.zeros((129, 3)), np.zeros((20, 4)), np.full((2, 3), 256.0)])
def test_what_is_no_palette_is_refused(palette):
    with pytest.raises(LookalikeError, match="palette"):
        colours.palette_keys(palette.astype(np.float32))


def test_nan_is_no_colour():
    with pytest.raises(LookalikeError, match=r"0\.\.255"):
        colours.palette_keys(np.full((1, 3), np.nan, np.float32))


def test_pool_pixels_takes_equally_from_each_image_of_the_pool(tmp_path):
    for number in range(4):
        Image.fromarray(np.full((10, 12, 3), number, np.uint8)).save(tmp_path / f"{number}.png")
    manifest = pd.DataFrame({"image_id": range(4), "path": [f"{number}.png" for number in range(4)]})
    pool = pd.DataFrame({"image_id": [3, 1]})
    pixels = colours.pool_pixels(tmp_path, manifest, pool, 9, seed=0)
    assert pixels[:, 0].tolist() == [1] * 5 + [3] * 5
    with pytest.raises(LookalikeError, match="no image to learn a palette"):
        colours.pool_pixels(tmp_path, manifest, pool.iloc[:0], 9, seed=0)


def test_pool_pixels_of_an_image_do_not_depend_on_the_others(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    for number in range(2):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    manifest = pd.DataFrame({"image_id": range(2), "path": ["0.png", "1.png"]})
    both = colours.pool_pixels(tmp_path, manifest, manifest, 20, seed=4)
    one = colours.pool_pixels(tmp_path, manifest, manifest.iloc[[1]], 10, seed=4)
    assert np.array_equal(both[10:], one)
    assert not np.array_equal(both[:10], one)
