"""Fisher vectors against scikit-image's encoding and against numerical gradients of the likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.features.dense_sift import textured
from lookalike.features.fisher_vector import FisherVector, Mixture, fisher_gradients


def noise(seed: int, height: int = 64, width: int = 80) -> np.ndarray:
    rough = np.random.default_rng(seed).integers(0, 256, (height // 4, width // 4, 3), dtype=np.uint8)
    return np.kron(rough, np.ones((4, 4, 1), np.uint8))


def some_mixture(k: int = 5, d: int = 3, seed: int = 0) -> Mixture:
    random = np.random.default_rng(seed)
    return Mixture(random.dirichlet(np.full(k, 3.0)), random.normal(size=(k, d)), random.uniform(0.3, 2.0, (k, d)))


def test_it_is_the_encoding_of_scikit_image() -> None:
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


def test_gradients_are_those_of_the_mean_log_likelihood() -> None:
    mixture = some_mixture()
    descriptors = np.random.default_rng(1).normal(size=(20, 3))

    def likelihood(means: np.ndarray, deviations: np.ndarray) -> float:
        z = (descriptors[:, None] - means) / deviations
        densities = np.exp(-0.5 * (z**2).sum(axis=2)) / deviations.prod(axis=1)
        return float(np.log(densities @ mixture.weights).mean())

    deviations = np.sqrt(mixture.variances)
    found = fisher_gradients(descriptors, mixture).reshape(2, 5, 3)
    for k, j in [(0, 0), (2, 1), (4, 2)]:
        step = np.zeros((5, 3))
        step[k, j] = 1e-5
        by_mean = (likelihood(mixture.means + step, deviations) - likelihood(mixture.means - step, deviations)) / 2e-5
        by_deviation = (
            likelihood(mixture.means, deviations + step) - likelihood(mixture.means, deviations - step)
        ) / 2e-5
        # divided by the root of the information: w / s^2 of a mean, 2 w / s^2 of a deviation
        scale = deviations[k, j] / np.sqrt(mixture.weights[k])
        np.testing.assert_allclose(found[0, k, j], by_mean * scale, atol=1e-6)
        np.testing.assert_allclose(found[1, k, j], by_deviation * scale / np.sqrt(2), atol=1e-6)


def test_descriptors_from_the_mixture_itself_have_small_gradients() -> None:
    mixture, random = some_mixture(), np.random.default_rng(2)
    component = random.choice(5, 20_000, p=mixture.weights)
    draws = mixture.means[component] + random.normal(size=(20_000, 3)) * np.sqrt(mixture.variances[component])
    assert np.abs(fisher_gradients(draws, mixture)).max() < 0.05
    assert np.abs(fisher_gradients(draws + 1, mixture)).max() > 0.2


@pytest.fixture(scope="module")
def fitted() -> FisherVector:
    return FisherVector(n_gaussians=4, n_components=8).fit([noise(seed) for seed in range(6)], 0)


def test_a_vector_is_the_normalised_encoding_of_projected_descriptors(fitted: FisherVector) -> None:
    image = noise(9)
    vectors = textured(fitted.descriptors(image)[0])
    vector = fitted.describe(image)
    assert vector.shape == (fitted.n_dimensions,) == (64,)
    assert vector.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vector), 1, rtol=1e-5)
    raw = fisher_gradients((vectors - fitted.mean_) @ fitted.projection_, fitted.mixture_)
    np.testing.assert_allclose(vector, np.sign(raw) * np.sqrt(np.abs(raw) / np.abs(raw).sum()), atol=1e-5)
    np.testing.assert_allclose(fitted.projection_.T @ fitted.projection_, np.eye(8), atol=1e-10)


def test_flat_patches_do_not_count(fitted: FisherVector) -> None:
    image = np.full((64, 160, 3), 77, np.uint8)
    assert not fitted.describe(image).any()


def test_settings_change_the_length_and_the_seed_fixes_the_bits(fitted: FisherVector) -> None:
    images = [noise(seed) for seed in range(6)]
    np.testing.assert_array_equal(
        FisherVector(**fitted.settings()).fit(images, 0).describe(noise(7)), fitted.describe(noise(7))
    )
    shorter = FisherVector(n_gaussians=4, n_components=8, deviations=False).fit(images, 0)
    assert shorter.describe(noise(7)).shape == (32,)
    # the first half, but for its length
    part = fitted.describe(noise(7))[:32]
    np.testing.assert_allclose(shorter.describe(noise(7)), part / np.linalg.norm(part), atol=1e-5)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(RuntimeError, match="fit"):
        FisherVector().describe(noise(0))
    with pytest.raises(LookalikeError, match="n_gaussians"):
        FisherVector(n_gaussians=5000).fit([noise(0)], 0)
    for wrong in ({"n_components": 129}, {"power": 0.0}, {"n_gaussians": 0}):
        with pytest.raises(LookalikeError):
            FisherVector(**wrong)
