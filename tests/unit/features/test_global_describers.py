"""Wavelet signatures, colour histograms and gradient histograms, held to definitions and to other libraries."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import pywt
from made_features import flat, noise
from skimage.color import rgb2lab, rgb2yiq

from lookalike.features.color_histogram import A_RANGE, B_RANGE, ColorHistogram, lab_pixels
from lookalike.features.hog import Hog
from lookalike.features.wavelet import WEIGHTS, YIQ, Wavelet, standard_haar

IMAGE = noise(0, 128, 128)


# Wavelet


def haar_matrix(n):
    """The orthonormal Haar basis by its definition: a constant, then from coarse to fine, left to right."""
    rows, support = [np.full(n, 1 / np.sqrt(n))], n
    while support > 1:
        for start in range(0, n, support):
            row = np.zeros(n)
            row[start : start + support // 2], row[start + support // 2 : start + support] = 1, -1
            rows.append(row / np.sqrt(support))
        support //= 2
    return np.array(rows)


@pytest.mark.parametrize("n", [2, 8, 32])
def test_the_standard_decomposition_is_h_a_h_transposed_and_not_wavedec2(n):
    a = np.random.default_rng(n).normal(size=(n, n, 3))
    h = haar_matrix(n)
    np.testing.assert_allclose(h @ h.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(standard_haar(a), np.einsum("ij,jkc,lk->ilc", h, a, h), atol=1e-12)
    if n > 2:
        nonstandard = pywt.coeffs_to_array(pywt.wavedec2(a[..., 0], "haar", mode="periodization"))[0]
        assert np.isclose(np.abs(standard_haar(a[..., 0])), np.abs(nonstandard)).mean() < 0.7


def test_the_colour_space_is_yiq():
    colours = np.random.default_rng(0).random((1, 50, 3))
    np.testing.assert_allclose(colours @ YIQ.T, rgb2yiq(colours), atol=2e-3)


def signature(image):
    """Average colour, and the sign of each of the 60 largest coefficients by channel, row and column."""
    coefficients = standard_haar((image / 255) @ YIQ.T)
    average = coefficients[0, 0] / 128
    coefficients[0, 0] = 0
    signs = {}
    for channel in range(3):
        for place in np.argsort(-np.abs(coefficients[..., channel]), axis=None, kind="stable")[:60]:
            i, j = divmod(int(place), 128)
            signs[channel, i, j] = np.sign(coefficients[i, j, channel])
    return average, signs


def paper_score(query, target):
    """The score of Jacobs, Finkelstein and Salesin from a query to a target, written out coefficient by coefficient."""
    (query_average, query_signs), (target_average, target_signs) = signature(query), signature(target)
    total = float(WEIGHTS[0] @ np.abs(query_average - target_average))
    for (channel, i, j), sign in query_signs.items():
        if target_signs.get((channel, i, j), 0) != sign:
            total += WEIGHTS[min(max(i, j), 5), channel]
    return total


def test_l1_between_wavelets_is_the_mean_of_the_papers_score_in_both_directions():
    # smooth images share some coefficients, with equal and with opposite signs
    images = [np.kron(noise(seed, 8, 8), np.ones((16, 16, 1), np.uint8)) for seed in range(4)]
    vectors = [np.float64(Wavelet(kept=128).describe(image)) for image in images]
    for i, j in [(0, 1), (1, 2), (0, 3)]:
        expected = (paper_score(images[i], images[j]) + paper_score(images[j], images[i])) / 2
        assert np.abs(vectors[i] - vectors[j]).sum() == pytest.approx(expected, rel=1e-5)


def test_a_wavelet_has_the_coarsest_coefficients_and_the_average():
    whole = Wavelet(kept=128).describe(IMAGE).reshape(3, 128, 128)
    averages = (IMAGE.reshape(-1, 3) / 255).mean(axis=0) @ YIQ.T
    np.testing.assert_allclose(whole[:, 0, 0], averages * WEIGHTS[0], rtol=1e-5)
    np.testing.assert_array_equal(np.count_nonzero(whole.reshape(3, -1), axis=1), 61)
    np.testing.assert_array_equal(Wavelet(kept=16).describe(IMAGE).reshape(3, 16, 16), whole[:, :16, :16])
    one_colour = Wavelet().describe(flat((200, 30, 77))).reshape(3, 64, 64)
    np.testing.assert_allclose(one_colour[:, 0, 0], YIQ @ (np.array([200, 30, 77]) / 255) * WEIGHTS[0], atol=1e-5)
    assert np.count_nonzero(one_colour) == 3
    grey = Wavelet().describe(np.repeat(IMAGE[..., :1], 3, axis=2)).reshape(3, -1)
    np.testing.assert_allclose(grey[1:], 0, atol=1e-6)


# Colour histogram


def test_lab_is_in_its_own_units_and_within_its_range():
    steps = np.arange(0, 256, 15, dtype=np.uint8)
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3)
    ours = lab_pixels(grid)
    # they have white points that differ in the fifth digit; OpenCV's table for sRGB floats would be 0.4 off
    np.testing.assert_allclose(ours, rgb2lab(grid), atol=0.03)
    for channel, (low, high) in enumerate([(-0.01, 100.01), A_RANGE, B_RANGE]):
        assert low < ours[..., channel].min() <= ours[..., channel].max() < high
    # of uint8, OpenCV gives other numbers
    assert np.abs(cv2.cvtColor(grid, cv2.COLOR_RGB2Lab) - ours).max() > 50


def test_bins_are_those_of_a_plain_histogram_and_forget_places():
    lab = lab_pixels(IMAGE).reshape(-1, 3)
    expected = np.histogramdd(lab, bins=(4, 14, 14), range=[(0, 100), A_RANGE, B_RANGE])[0]
    np.testing.assert_allclose(ColorHistogram().describe(IMAGE) * len(lab), expected.ravel(), atol=0.01)
    for soft in (False, True):
        vector = ColorHistogram(soft=soft).describe(IMAGE)
        assert vector.sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(ColorHistogram(soft=soft).describe(np.rot90(IMAGE)), vector, atol=1e-6)


def test_soft_bins_share_a_pixel_between_the_nearest_centres():
    image = IMAGE.copy()
    image[:9], image[9:18] = 255, 0
    lab, tents = lab_pixels(image).reshape(-1, 3), []
    for channel, (n, (low, high)) in enumerate(zip((4, 14, 14), [(0, 100), A_RANGE, B_RANGE], strict=True)):
        # beyond the outermost centre, a pixel is the outermost bin's
        place = np.clip((lab[:, channel] - low) / (high - low) * n, 0.5, n - 0.5)
        tents.append(np.maximum(1 - np.abs(place[:, None] - np.arange(n) - 0.5), 0))
    expected = np.einsum("pi,pj,pk->ijk", *tents).ravel() / len(lab)
    np.testing.assert_allclose(ColorHistogram(soft=True).describe(image), expected, atol=1e-5)


# Histograms of oriented gradients


def stripes(angle, period=16):
    """Grey waves whose gradient points to `angle` degrees."""
    y, x = np.mgrid[:128, :128]
    along = x * np.cos(np.radians(angle)) + y * np.sin(np.radians(angle))
    grey = (128 + 100 * np.sin(2 * np.pi * along / period)).round().astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def blocks(vector):
    return vector.reshape(15, 15, 4, 9)


def test_blocks_are_those_of_dalal_and_triggs():
    vector = Hog().describe(IMAGE)
    assert vector.shape == (15 * 15 * 4 * 9,)
    # a square of 64 has 7 x 7 blocks; their window of 64 x 128 has 3780 numbers
    assert Hog(side=64).n_dimensions == 7 * 7 * 36
    # OpenCV adds 0.001 to the clipped vector's length, which is a little below 1
    np.testing.assert_allclose(np.linalg.norm(vector.reshape(-1, 36), axis=1), 1, atol=1.5e-3)
    assert vector.min() >= 0
    assert not Hog().describe(flat(77)).any()


@pytest.mark.parametrize("angle", [10, 50, 90, 130, 170])
def test_the_orientation_of_stripes_fills_its_bin(angle):
    # OpenCV's bins of 20 degrees are centred on 10, 30, ...
    assert blocks(Hog().describe(stripes(angle))).sum(axis=(0, 1, 2)).argmax() == angle // 20
