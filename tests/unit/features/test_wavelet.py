from __future__ import annotations

import numpy as np
import pytest
import pywt
from skimage.color import rgb2yiq

from lookalike.features.wavelet import WEIGHTS, YIQ, Wavelet, standard_haar


def haar_matrix(n):
    """The orthonormal Haar basis by its definition: a constant, then from coarse to fine, left to right."""
    rows = [np.full(n, 1 / np.sqrt(n))]
    support = n
    while support > 1:
        for start in range(0, n, support):
            row = np.zeros(n)
            row[start : start + support // 2] = 1
            row[start + support // 2 : start + support] = -1
            rows.append(row / np.sqrt(support))
        support //= 2
    return np.array(rows)


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 256, (128, 128, 3), dtype=np.uint8)


@pytest.mark.parametrize("n", [2, 8, 32])
def test_standard_decomposition_is_h_a_h_transposed(n):
    a = np.random.default_rng(n).normal(size=(n, n, 3))
    h = haar_matrix(n)
    np.testing.assert_allclose(h @ h.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(standard_haar(a), np.einsum("ij,jkc,lk->ilc", h, a, h), atol=1e-12)


def test_standard_decomposition_is_not_wavedec2():
    a = np.random.default_rng(0).normal(size=(32, 32))
    nonstandard = pywt.coeffs_to_array(pywt.wavedec2(a, "haar", mode="periodization"))[0]
    ours = standard_haar(a)
    assert ours[0, 0] == pytest.approx(nonstandard[0, 0])
    assert np.mean(np.isclose(np.abs(ours), np.abs(nonstandard), atol=1e-9)) < 0.5
    # one column: long and thin basis functions catch all of it, the nonstandard ones need many more
    stripe = np.zeros((32, 32))
    stripe[:, 5] = 1
    assert np.count_nonzero(np.abs(standard_haar(stripe)) > 1e-9) == 1 + 5
    assert np.count_nonzero(np.abs(pywt.coeffs_to_array(pywt.wavedec2(stripe, "haar"))[0]) > 1e-9) > 20


def test_colour_space_is_yiq():
    colours = np.random.default_rng(0).random((1, 50, 3))
    np.testing.assert_allclose(colours @ YIQ.T, rgb2yiq(colours), atol=2e-3)


def test_average_colour_and_signs(image):
    vector = Wavelet(kept=128).describe(image).reshape(3, 128, 128)
    averages = (image.reshape(-1, 3) / 255).mean(axis=0) @ YIQ.T
    np.testing.assert_allclose(vector[:, 0, 0], averages * WEIGHTS[0], rtol=1e-5)
    np.testing.assert_array_equal(np.count_nonzero(vector.reshape(3, -1), axis=1), 61)
    coefficients = standard_haar((image / 255) @ YIQ.T)
    for channel in range(3):
        sizes = np.abs(coefficients[..., channel])
        sizes[0, 0] = 0
        kept = (vector[channel] != 0) & (sizes > 0)
        assert sizes[kept].min() >= np.sort(sizes, axis=None)[-60]
        np.testing.assert_array_equal(np.sign(vector[channel][kept]), np.sign(coefficients[..., channel][kept]))


def paper_score(query, target, kept=128):
    """The score of Jacobs, Finkelstein and Salesin from a query to a target, written out coefficient by coefficient."""
    total = 0.0
    signs = []
    for image in (query, target):
        coefficients = standard_haar((image / 255) @ YIQ.T)
        average = coefficients[0, 0] / 128
        coefficients[0, 0] = 0
        kept_signs = {}
        for channel in range(3):
            order = np.argsort(-np.abs(coefficients[..., channel]), axis=None, kind="stable")[:60]
            for place in order:
                i, j = divmod(int(place), 128)
                kept_signs[channel, i, j] = np.sign(coefficients[i, j, channel])
        signs.append((average, kept_signs))
    (query_average, query_signs), (target_average, target_signs) = signs
    total += float(WEIGHTS[0] @ np.abs(query_average - target_average))
    for (channel, i, j), sign in query_signs.items():
        if target_signs.get((channel, i, j), 0) != sign:
            total += WEIGHTS[min(max(i, j), 5), channel]
    return total


def test_l1_is_the_mean_of_the_papers_score_in_both_directions():
    rng = np.random.default_rng(1)
    # smooth images share some coefficients, with equal and with opposite signs
    images = [np.kron(rng.integers(0, 256, (8, 8, 3)), np.ones((16, 16, 1))).astype(np.uint8) for _ in range(4)]
    describer = Wavelet(kept=128)
    vectors = [np.float64(describer.describe(image)) for image in images]
    for i, j in [(0, 1), (1, 2), (0, 3)]:
        expected = (paper_score(images[i], images[j]) + paper_score(images[j], images[i])) / 2
        assert np.abs(vectors[i] - vectors[j]).sum() == pytest.approx(expected, rel=1e-5)


def test_a_smaller_block_is_a_part_of_the_vector(image):
    whole = Wavelet(kept=128).describe(image).reshape(3, 128, 128)
    np.testing.assert_array_equal(Wavelet(kept=16).describe(image).reshape(3, 16, 16), whole[:, :16, :16])


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (200, 30, 77)])
def test_a_constant_image_has_its_average_only(colour):
    vector = Wavelet().describe(np.full((50, 70, 3), colour, np.uint8)).reshape(3, 64, 64)
    np.testing.assert_allclose(vector[:, 0, 0], YIQ @ (np.array(colour) / 255) * WEIGHTS[0], atol=1e-5)
    vector[:, 0, 0] = 0
    assert not vector.any()


def test_grey_images_have_no_chrominance(image):
    grey = np.repeat(image[..., :1], 3, axis=2)
    vector = Wavelet().describe(grey).reshape(3, -1)
    np.testing.assert_allclose(vector[1:], 0, atol=1e-6)
    assert np.count_nonzero(vector[1:, 1:]) == 0


def test_turning_an_image_swaps_rows_and_columns(image):
    vector = Wavelet().describe(image).reshape(3, 64, 64)
    turned = Wavelet().describe(np.ascontiguousarray(image.transpose(1, 0, 2))).reshape(3, 64, 64)
    np.testing.assert_allclose(turned, vector.transpose(0, 2, 1), rtol=1e-6)
    assert np.abs(turned - vector).sum() > 1
