"""Dense SIFT and the two descriptions made of it: word shares counted by hand, Fisher vectors by their definition."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from made_features import flat, nearest, noise, texture

from lookalike.core.errors import LookalikeError
from lookalike.core.images import luma
from lookalike.features.dense_sift import DenseSift, patch_contrast, patch_grid, textured
from lookalike.features.fisher_vector import FisherVector, Mixture, fisher_gradients
from lookalike.features.sift_like import SiftLike


class Sift(DenseSift):
    """Dense SIFT that describes nothing as a whole."""

    n_dimensions = 0
    _describe = None


def half_flat(seed=0):
    """An image whose left half has one colour."""
    image = noise(seed, 96, 64)
    image[:, :48] = 128
    return image


@pytest.mark.parametrize(("side", "size", "step"), [(96, 16, 8), (97, 16, 8), (64, 64, 4), (50, 17, 7)])
def test_patches_lie_inside_and_are_centred(side, size, step):
    corners = patch_grid((side, side), (size,), step).corners
    starts = np.unique(corners[:, 0])
    left, right = starts[0], side - starts[-1] - size
    assert min(left, right) >= 0
    assert abs(left - right) <= 1
    assert left + right < step
    assert (np.diff(starts) == step).all()
    assert len(corners) == len(starts) ** 2
    assert (corners[:, 2:] - corners[:, :2] == size).all()


def test_a_size_larger_than_the_image_gives_one_patch_in_its_middle():
    vectors, places = Sift(sizes=(64,)).descriptors(noise(0, 40, 32))
    np.testing.assert_allclose(places, [[0.5, 0.5]])
    assert vectors.any()


@pytest.mark.parametrize("root", [False, True])
def test_descriptors_are_opencvs_and_zeros_where_a_patch_is_flat(root):
    image = half_flat()
    vectors, places = Sift(step=8, sizes=(16, 24), root=root).descriptors(image)
    grid = patch_grid((64, 96), (16, 24), 8)
    contrast = patch_contrast(cv2.blur(luma(image).astype(np.float32), (3, 3)), grid.corners)
    flat_ones = contrast < 2
    plain = np.array(cv2.SIFT.create().compute(luma(image), list(grid.keypoints))[1], np.float64)
    plain[flat_ones] = 0
    expected = np.sqrt(plain / np.maximum(plain.sum(axis=1, keepdims=True), 1)) if root else plain
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert flat_ones[places[:, 0] * 96 < 48 - 13].all()
    assert not flat_ones[places[:, 0] * 96 > 48 + 13].any()
    np.testing.assert_allclose(
        places * (96, 64), grid.corners[:, :2] + (grid.corners[:, 2:3] - grid.corners[:, :1]) / 2
    )


def test_the_contrast_is_that_of_the_patch():
    grey = np.random.default_rng(0).normal(size=(40, 50)).astype(np.float32)
    corners = patch_grid(grey.shape, (12, 45), 5).corners
    expected = [grey[top:bottom, left:right].std() for left, top, right, bottom in corners]
    np.testing.assert_allclose(patch_contrast(grey, corners), expected, rtol=1e-5)


def test_what_is_learned_from_is_drawn_of_textured_patches_within_bounds():
    images = [half_flat(seed) for seed in range(4)]
    sift = Sift(n_per_image=20, n_descriptors=50)
    first = sift.sample(iter(images), 1)
    assert first.shape == (50, 128)
    np.testing.assert_array_equal(first, sift.sample(images, 1))
    assert not np.array_equal(first, sift.sample(images, 2))
    everything = {row.tobytes() for image in images for row in textured(sift.descriptors(image)[0])}
    drawn = Sift(n_per_image=10).sample(images, 1)
    assert len({row.tobytes() for row in drawn}) == len(drawn) == 40
    assert {row.tobytes() for row in drawn} <= everything
    assert len(Sift(n_per_image=1000).sample(images, 1)) == len(everything)
    with pytest.raises(LookalikeError, match="no textured patch"):
        sift.sample([flat(9)], 0)


@pytest.mark.parametrize(
    ("grids", "weights"), [((1,), [1]), ((1, 2), [1 / 2, 1 / 2]), ((1, 2, 4), [1 / 4, 1 / 4, 1 / 2])]
)
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


def some_mixture(k=5, d=3, seed=0):
    random = np.random.default_rng(seed)
    return Mixture(random.dirichlet(np.full(k, 3.0)), random.normal(size=(k, d)), random.uniform(0.3, 2.0, (k, d)))


def test_a_fisher_vector_is_the_encoding_of_scikit_image():
    from skimage.feature import fisher_vector
    from sklearn.mixture import GaussianMixture

    mixture = some_mixture()
    theirs = GaussianMixture(5, covariance_type="diag")
    theirs.weights_, theirs.means_, theirs.covariances_ = mixture
    theirs.precisions_cholesky_ = 1 / np.sqrt(mixture.variances)
    descriptors = np.random.default_rng(1).normal(size=(40, 3))
    expected = fisher_vector(descriptors, theirs)
    # theirs has the gradients by weights first, which ours leaves out, and those by deviations with the other sign
    found = fisher_gradients(descriptors, mixture)
    np.testing.assert_allclose(found[:15], expected[-30:-15], atol=1e-10)
    np.testing.assert_allclose(found[15:], -expected[-15:], atol=1e-10)
    np.testing.assert_array_equal(fisher_gradients(descriptors, mixture, deviations=False), found[:15])


@pytest.mark.parametrize(("power", "deviations"), [(0.5, True), (1.0, False)])
def test_a_fisher_vector_is_normalised_and_of_projected_textured_descriptors(power, deviations):
    describer = FisherVector(n_gaussians=4, n_components=8, power=power, deviations=deviations)
    describer.fit([texture(seed) for seed in range(6)], 0)
    image = half_flat(9)
    vectors = textured(describer.descriptors(image)[0])
    raw = fisher_gradients((vectors - describer.mean_) @ describer.projection_, describer.mixture_, deviations)
    expected = np.sign(raw) * np.abs(raw) ** power
    vector = describer.describe(image)
    assert vector.shape == (64 if deviations else 32,)
    np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)
    np.testing.assert_allclose(describer.projection_.T @ describer.projection_, np.eye(8), atol=1e-10)
    assert not describer.describe(flat(77)).any()
