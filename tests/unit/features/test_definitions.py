"""Each describer held to its definition and to other libraries: what its numbers are."""

import cv2
import numpy as np
import pytest
from made_features import flat, nearest, noise, texture
from skimage.color import rgb2lab, rgb2yiq
from skimage.feature import fisher_vector
from sklearn.mixture import GaussianMixture

from lookalike.core.images import luma
from lookalike.features.color_histogram import A_RANGE, B_RANGE, ColorHistogram, lab_pixels
from lookalike.features.dense_sift import patch_contrast, patch_grid, textured
from lookalike.features.fisher_vector import FisherVector
from lookalike.features.hog import Hog
from lookalike.features.sift_like import SiftLike
from lookalike.features.texton import TextonPyramid, mr8_filters
from lookalike.features.wavelet import WEIGHTS, YIQ, Wavelet


def half_flat(seed=0):
    return np.hstack([flat(128, 48, 64), noise(seed, 48, 64)])


@pytest.mark.parametrize("root", [False, True])
def test_descriptors_are_opencvs_and_zeros_where_a_patch_is_flat(root):
    image = half_flat()
    vectors, places = SiftLike(step=8, sizes=(16, 24), root=root).descriptors(image)
    grid, grey = patch_grid((64, 96), (16, 24), 8), luma(image)
    flat_ones = patch_contrast(cv2.blur(grey.astype(np.float32), (3, 3)), grid.corners) < 2
    plain = np.array(cv2.SIFT.create().compute(grey, list(grid.keypoints))[1], np.float64)
    plain[flat_ones] = 0
    expected = np.sqrt(plain / np.maximum(plain.sum(axis=1, keepdims=True), 1)) if root else plain
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    x = places[:, 0] * 96
    assert (flat_ones[x < 48 - 13].all(), flat_ones[x > 48 + 13].any()) == (True, False)
    np.testing.assert_allclose(places * (96, 64), (grid.corners[:, :2] + grid.corners[:, 2:]) / 2)
    expected = [grey[top:bottom, left:right].std() for left, top, right, bottom in grid.corners]
    np.testing.assert_allclose(patch_contrast(grey.astype(np.float32), grid.corners), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("grids", "weights"), [((1, 2), [1 / 2, 1 / 2]), ((1, 2, 4), [1 / 4, 1 / 4, 1 / 2])])
def test_a_sift_like_vector_is_the_shares_of_nearest_words_in_cells(grids, weights):
    """Levels weigh as in the pyramid match; flat patches are a word of their own."""
    describer = SiftLike(n_words=10, sizes=(16, 24), grids=grids).fit([texture(seed) for seed in range(6)], 0)
    image = texture(9, 80, 64)
    image[:, :40] = 30
    vectors, places = describer.descriptors(image)
    words = np.where(vectors.any(axis=1), nearest(vectors, describer.words_), 10)
    levels = []
    for grid, weight in zip(grids, weights, strict=True):
        cells = np.zeros((grid, grid, 11))
        for word, (x, y) in zip(words, places, strict=True):
            cells[int(y * grid), int(x * grid), word] += weight
        levels.append(cells.ravel())
    np.testing.assert_allclose(describer.describe(image), np.concatenate(levels) / len(words), atol=1e-6)
    assert (words == 10).mean() > 0.1


@pytest.mark.parametrize(("power", "deviations"), [(0.5, True), (1.0, False)])
def test_a_fisher_vector_is_the_encoding_of_scikit_image_of_textured_descriptors_normalised(power, deviations):
    describer = FisherVector(n_gaussians=4, n_components=8, power=power, deviations=deviations)
    describer.fit([texture(seed) for seed in range(6)], 0)
    np.testing.assert_allclose(describer.projection_.T @ describer.projection_, np.eye(8), atol=1e-10)
    theirs = GaussianMixture(4, covariance_type="diag")
    theirs.weights_, theirs.means_, theirs.covariances_ = describer.mixture_
    theirs.precisions_cholesky_ = 1 / np.sqrt(theirs.covariances_)
    image = half_flat(9)
    vectors = textured(describer.descriptors(image)[0])
    encoded = fisher_vector((vectors - describer.mean_) @ describer.projection_, theirs)
    # theirs has the gradients by weights first, which ours leaves out, and those by deviations with the other sign
    raw = np.append(encoded[-64:-32], -encoded[-32:] if deviations else [])
    expected = np.sign(raw) * np.abs(raw) ** power
    np.testing.assert_allclose(describer.describe(image), expected / np.linalg.norm(expected), atol=1e-6)
    assert not describer.describe(flat(77)).any()


def test_filters_are_those_of_mr8():
    bank = mr8_filters()
    assert bank.shape == (38, 49, 49)
    np.testing.assert_allclose(bank.sum(axis=(1, 2)), np.arange(38) == 36, atol=1e-5)
    np.testing.assert_allclose(np.abs(bank).sum(axis=(1, 2)), 1, atol=1e-5)
    sign = np.where(np.arange(38) < 18, -1, 1)[:, None, None]
    np.testing.assert_allclose(bank[:, ::-1, ::-1], sign * bank, atol=1e-7)


def test_responses_are_those_of_a_convolution():
    image = texture(3, 64, 64)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float64)
    grey = (grey - grey.mean()) / grey.std()
    kernels = mr8_filters().astype(np.float64)
    maps = np.array([cv2.filter2D(grey, -1, kernel, borderType=cv2.BORDER_REFLECT_101) for kernel in kernels])
    edges, bars = np.abs(maps[:18]).reshape(3, 6, 64, 64), maps[18:36].reshape(3, 6, 64, 64)
    eight = np.concatenate([edges.max(axis=1), bars.max(axis=1), maps[36:]])
    size = np.sqrt((eight**2).sum(axis=0))
    expected = eight * np.log(1 + size / 0.03) / size
    rows, columns = np.array([0, 5, 31, 63, 40]), np.array([0, 60, 31, 63, 2])
    found = TextonPyramid().responses(image, rows, columns)
    np.testing.assert_allclose(found, expected[:, rows, columns].T, atol=1e-4)


@pytest.mark.parametrize("n_levels", [1, 3])
def test_a_vector_is_the_largest_soft_share_of_each_texton_in_each_cell(n_levels):
    """Shares fall with the squared distance like a Gaussian; levels weigh like Lazebnik's."""
    describer = TextonPyramid(n_textons=16, n_levels=n_levels).fit([texture(seed) for seed in range(5)], 0)
    image = texture(20)
    height, width = image.shape[:2]
    rows, columns = np.mgrid[2:height:4, 2:width:4].reshape(2, -1)
    squares = ((describer.responses(image, rows, columns)[:, None] - describer.textons) ** 2).sum(axis=2)
    shares = np.exp(-squares / (2 * describer.variance)) * (squares <= np.sort(squares, axis=1)[:, 4:5])
    shares /= shares.sum(axis=1, keepdims=True)
    levels = []
    for level in range(n_levels):
        n = 2**level
        cells = np.zeros((n, n, 16))
        for row, column, share in zip(rows, columns, shares, strict=True):
            cell = cells[row * n // height, column * n // width]
            np.maximum(cell, share, out=cell)
        levels.append(cells.ravel() * 0.5 ** (n_levels - max(level, 1)))
    expected = np.concatenate(levels)
    np.testing.assert_allclose(describer.describe(image), expected / expected.sum(), atol=1e-6)


IMAGE = noise(0, 128, 128)


def haar_matrix(n):
    """The orthonormal Haar basis: that of half the pixels, each twice, and the differences of neighbours."""
    if n == 1:
        return np.ones((1, 1))
    return np.vstack([np.kron(haar_matrix(n // 2), [1, 1]), np.kron(np.eye(n // 2), [1, -1])]) / np.sqrt(2)


def squares(seed):
    return np.kron(noise(seed, 8, 8), np.ones((16, 16, 1), np.uint8))


def signature(image):
    """Signs of the 60 largest coefficients of each channel at half their weights in the paper, and average colour.

    So the L1 distance of two is the mean of the score of Jacobs, Finkelstein and Salesin in both directions.
    """
    h = haar_matrix(128)
    coefficients = np.einsum("ij,jkc,lk->cil", h, (image / 255) @ YIQ.T, h, optimize=True).reshape(3, -1)
    average, coefficients[:, 0] = coefficients[:, 0] / 128, 0
    largest, signs = np.argsort(-np.abs(coefficients), axis=1, kind="stable")[:, :60], np.zeros((3, 128 * 128))
    np.put_along_axis(signs, largest, np.sign(np.take_along_axis(coefficients, largest, 1)), 1)
    bins = np.minimum(np.maximum.outer(np.arange(128), np.arange(128)), 5)
    vector = signs.reshape(3, 128, 128) * np.moveaxis(WEIGHTS[bins], 2, 0) / 2
    vector[:, 0, 0] = average * WEIGHTS[0]
    return vector


def test_a_wavelet_is_the_signs_of_the_largest_coefficients_and_the_average_colour():
    for image in (IMAGE, squares(1), squares(2)):
        whole = Wavelet(kept=128).describe(image).reshape(3, 128, 128)
        np.testing.assert_allclose(whole, signature(image), atol=1e-5)
        np.testing.assert_array_equal(Wavelet(kept=16).describe(image).reshape(3, 16, 16), whole[:, :16, :16])
    np.testing.assert_allclose(IMAGE / 255 @ YIQ.T, rgb2yiq(IMAGE), atol=2e-3)
    one_colour = Wavelet().describe(flat((200, 30, 77))).reshape(3, 64, 64)
    np.testing.assert_allclose(one_colour[:, 0, 0], YIQ @ (np.array([200, 30, 77]) / 255) * WEIGHTS[0], atol=1e-5)
    assert np.count_nonzero(one_colour) == 3
    grey = Wavelet().describe(np.repeat(IMAGE[..., :1], 3, axis=2)).reshape(3, -1)
    np.testing.assert_allclose(grey[1:], 0, atol=1e-6)


def test_lab_is_in_its_own_units_and_within_its_range():
    steps = np.arange(0, 256, 15, dtype=np.uint8)
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3)
    ours = lab_pixels(grid)
    # they have white points that differ in the fifth digit; OpenCV's table for sRGB floats would be 0.4 off
    np.testing.assert_allclose(ours, rgb2lab(grid), atol=0.03)
    for channel, (low, high) in enumerate([(-0.01, 100.01), A_RANGE, B_RANGE]):
        assert low < ours[..., channel].min() <= ours[..., channel].max() < high


def test_bins_are_those_of_a_plain_histogram_and_forget_places():
    lab = lab_pixels(IMAGE).reshape(-1, 3)
    expected = np.histogramdd(lab, bins=(4, 14, 14), range=[(0, 100), A_RANGE, B_RANGE])[0]
    vector = ColorHistogram().describe(IMAGE)
    np.testing.assert_allclose(vector * len(lab), expected.ravel(), atol=0.01)
    assert vector.sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(ColorHistogram().describe(np.rot90(IMAGE)), vector, atol=1e-6)


def test_blocks_are_those_of_the_detector_of_dalal_and_triggs_in_opencv():
    """Its window is 64 x 128 pixels, and has nothing to the right of its last blocks."""
    image = texture(0, 128, 128)
    ours = Hog().describe(image).reshape(15, 15, 36)
    theirs = cv2.HOGDescriptor().compute(np.ascontiguousarray(image[:, :64])).reshape(7, 15, 36)
    np.testing.assert_allclose(ours[:6], theirs[:6], atol=1e-6)
    assert not Hog().describe(flat(77)).any()
