from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np
import pytest
from skimage.color import rgb2lab

from lookalike.features.color_histogram import A_RANGE, B_RANGE, ColorHistogram, lab_pixels


def chi2(a, b):
    return ((a - b) ** 2 / np.maximum(a + b, 1e-12)).sum() / 2


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)


def test_pure_red_has_true_lab_units():
    red = np.zeros((1, 1, 3), np.uint8)
    red[..., 0] = 255
    np.testing.assert_allclose(lab_pixels(red), rgb2lab(red), atol=0.02)
    np.testing.assert_allclose(lab_pixels(red)[0, 0], [53.24, 80.09, 67.20], atol=0.05)
    # the trap: of uint8, OpenCV gives other numbers
    assert np.abs(cv2.cvtColor(red, cv2.COLOR_RGB2Lab)[0, 0] - rgb2lab(red)[0, 0]).max() > 50


def test_all_colours_are_as_skimage_has_them_and_inside_the_range():
    steps = np.arange(0, 256, 15, dtype=np.uint8)
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3)
    ours = lab_pixels(grid)
    # they have white points that differ in the fifth digit; OpenCV's table for sRGB floats would be 0.4 off
    np.testing.assert_allclose(ours, rgb2lab(grid), atol=0.03)
    for channel, (low, high) in enumerate([(-0.01, 100.01), A_RANGE, B_RANGE]):
        assert ours[..., channel].min() > low
        assert ours[..., channel].max() < high


@pytest.mark.parametrize("soft", [False, True])
def test_sums_to_one_and_forgets_places(image, soft):
    describer = ColorHistogram(soft=soft)
    vector = describer.describe(image)
    assert vector.sum() == pytest.approx(1, abs=1e-5)
    assert (vector >= 0).all()
    shuffled = np.random.default_rng(1).permutation(image.reshape(-1, 3)).reshape(image.shape)
    np.testing.assert_allclose(describer.describe(shuffled), vector, atol=1e-6)
    np.testing.assert_allclose(describer.describe(np.rot90(image)), vector, atol=1e-6)


def test_bins_are_those_of_a_plain_histogram(image):
    lab = lab_pixels(image).reshape(-1, 3)
    expected = np.histogramdd(lab, bins=(4, 14, 14), range=[(0, 100), A_RANGE, B_RANGE])[0]
    np.testing.assert_allclose(ColorHistogram().describe(image) * len(lab), expected.ravel(), atol=0.01)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 255, 0), (0, 0, 255)])
def test_a_constant_image_fills_one_bin_or_shares_it(colour, soft):
    vector = ColorHistogram(soft=soft).describe(np.full((40, 40, 3), colour, np.uint8))
    assert 1 <= np.count_nonzero(vector) <= (8 if soft else 1)
    assert vector.sum() == pytest.approx(1, abs=1e-5)


def test_soft_bins_follow_a_small_change_of_colour():
    greys = [np.full((40, 40, 3), grey, np.uint8) for grey in range(100, 160, 4)]
    soft, hard = ([ColorHistogram(soft=flag).describe(grey) for grey in greys] for flag in (True, False))
    jumps = [[chi2(a, b) for a, b in pairwise(vectors)] for vectors in (soft, hard)]
    assert max(jumps[0]) < 0.2
    assert max(jumps[1]) == pytest.approx(1)
    # a share is linear between centres: the mean of L* is that of the bins
    centres = (np.arange(4) + 0.5) * 25
    mean = soft[3].reshape(4, -1).sum(axis=1) @ centres
    assert mean == pytest.approx(float(lab_pixels(greys[3])[0, 0, 0]), abs=0.01)


def test_other_colours_are_far():
    red, blue = (np.full((40, 40, 3), colour, np.uint8) for colour in [(200, 20, 20), (20, 20, 200)])
    assert chi2(ColorHistogram().describe(red), ColorHistogram().describe(blue)) == pytest.approx(1)
