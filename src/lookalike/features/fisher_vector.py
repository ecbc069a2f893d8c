"""Fisher vectors of dense SIFT (Perronnin, Liu, Sanchez and Poirier, CVPR 2010; Deep Ranking, Table 1, "Fisher").

The encoding is written out here, because scikit-image's loops over descriptors and mixture components; a test holds the
two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.features._dense_sift import DenseSift, dense_descriptors, sample_descriptors, textured
from lookalike.features.describers import Describer

SMALLEST_VARIANCE = 1e-4
"""Least variance of a Gaussian, as a share of the mean variance of the projected descriptors."""


class Mixture(NamedTuple):
    """A mixture of Gaussians with diagonal covariances.

    Attributes
    ----------
    weights : ndarray of shape (k,), float64
        Sum to 1.
    means, variances : ndarray of shape (k, d), float64
    """

    weights: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]
    variances: npt.NDArray[np.float64]


class FisherVector(Describer):
    """Gradients of the likelihood of an image's descriptors with respect to a Gaussian mixture, compared by L2.

    Parameters
    ----------
    longest_side : int, default=256
        Pixels; larger images are shrunk.
    n_gaussians : int, default=64
        Components of the mixture.
    n_components : int, default=64
        Principal components that descriptors are projected onto first, as Perronnin et al. do.
    deviations : bool, default=True
        Whether gradients by standard deviations follow those by means: twice as long vectors.
    power : float, default=0.5
        Exponent of the signed power normalisation, which comes before the L2 normalisation; 1 leaves it out.
    step : int, default=8
        Pixels between patches.
    sizes : sequence of int, default=(16, 24, 32)
        Sides of patches, in pixels.
    root : bool, default=True
        Whether RootSIFT is projected.
    least_contrast : float, default=2.0
        Patches of less contrast (a standard deviation, of grey values in 0..255) are left out.
    n_per_image : int, default=100
        Descriptors that an image gives to the mixture at most.
    n_descriptors : int, default=100_000
        Descriptors that the projection and the mixture are learned from at most.

    Attributes
    ----------
    mean_ : ndarray of shape (128,), float64
    projection_ : ndarray of shape (128, n_components), float64
        Once fitted, as the others: principal directions, not whitened.
    mixture_ : Mixture
    """

    system: ClassVar[str] = "fisher"
    title: ClassVar[str] = "Fisher"
    distance: ClassVar[str] = "l2"
    needs_fit: ClassVar[bool] = True
    mean_: npt.NDArray[np.float64]
    projection_: npt.NDArray[np.float64]
    mixture_: Mixture

    def __init__(
        self,
        *,
        longest_side: int = 256,
        n_gaussians: int = 64,
        n_components: int = 64,
        deviations: bool = True,
        power: float = 0.5,
        step: int = 8,
        sizes: Sequence[int] = (16, 24, 32),
        root: bool = True,
        least_contrast: float = 2.0,
        n_per_image: int = 100,
        n_descriptors: int = 100_000,
    ) -> None:
        if n_gaussians < 1 or not 1 <= n_components <= 128 or n_per_image < 1:
            raise LookalikeError(
                "`n_gaussians` and `n_per_image` of fisher must be at least 1 and `n_components` from 1 to 128: "
                "correct them"
            )
        if not 0 < power <= 1:
            raise LookalikeError(f"`power` of fisher must be above 0 and at most 1, not {power}: set it to 0.5")
        self.longest_side = longest_side
        self.n_gaussians = n_gaussians
        self.n_components = n_components
        self.deviations = deviations
        self.power = power
        self.step = step
        self.sizes = tuple(sizes)
        self.root = root
        self.least_contrast = least_contrast
        self.n_per_image = n_per_image
        self.n_descriptors = n_descriptors
        self._dense = DenseSift(step, self.sizes, root, least_contrast)

    @property
    def n_dimensions(self) -> int:
        """Length of the vectors: one or two gradients for each Gaussian and component."""
        return self.n_gaussians * self.n_components * (2 if self.deviations else 1)

    def _fit(self, images: Iterator[npt.NDArray[np.uint8]], seed: int) -> None:
        from sklearn.decomposition import PCA
        from sklearn.mixture import GaussianMixture

        vectors = sample_descriptors(images, self._dense, self.n_per_image, self.n_descriptors, seed)
        needed = max(self.n_gaussians, self.n_components) + 1
        if len(vectors) < needed:
            raise LookalikeError(
                f"a mixture of {self.n_gaussians} Gaussians cannot be learned from {len(vectors)} descriptors: give "
                "more images, or set `n_gaussians` of fisher lower"
            )
        pca = PCA(self.n_components, svd_solver="covariance_eigh").fit(vectors.astype(np.float64))
        projected = pca.transform(vectors.astype(np.float64))
        mixture = GaussianMixture(
            self.n_gaussians,
            covariance_type="diag",
            reg_covar=SMALLEST_VARIANCE * float(projected.var(axis=0).mean()),
            max_iter=50,
            random_state=seed,
        )
        _fit_quietly(mixture, projected)
        self.mean_, self.projection_ = pca.mean_, np.ascontiguousarray(pca.components_.T)
        self.mixture_ = Mixture(mixture.weights_, mixture.means_, mixture.covariances_)

    def _describe(self, image: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        if not hasattr(self, "mixture_"):
            raise RuntimeError("fisher has no mixture yet: call fit(images) first")
        vectors = textured(dense_descriptors(image, self._dense).vectors)
        if not len(vectors):  # an image of one colour
            return np.zeros(self.n_dimensions, np.float32)
        vector = fisher_gradients((vectors - self.mean_) @ self.projection_, self.mixture_, self.deviations)
        vector = np.sign(vector) * np.abs(vector) ** self.power
        length = np.linalg.norm(vector)
        return np.asarray(vector / length if length > 0 else vector, dtype=np.float32)


def fisher_gradients(
    descriptors: npt.NDArray[np.float64], mixture: Mixture, deviations: bool = True
) -> npt.NDArray[np.float64]:
    """Encode descriptors as their Fisher vector, before any normalisation.

    With posteriors g_ti of descriptor t and Gaussian i, the gradient by mean i is the sum over t of
    g_ti (x_t - m_i) / s_i divided by T sqrt(w_i), that by its deviations the sum of g_ti ((x_t - m_i)^2 / s_i^2 - 1)
    divided by T sqrt(2 w_i), after Perronnin et al.'s diagonal approximation of the Fisher information.

    Parameters
    ----------
    descriptors : ndarray of shape (T, d), float64
        At least one.
    mixture : Mixture
    deviations : bool, default=True
        Whether the gradients by standard deviations follow those by means.

    Returns
    -------
    ndarray of shape (k * d,) or (2 * k * d,), float64
        Gaussian by Gaussian.
    """
    weights, means, variances = mixture
    posteriors = _posteriors(descriptors, mixture)
    masses = posteriors.sum(axis=0)[:, None]
    firsts = posteriors.T @ descriptors
    by_means = (firsts - masses * means) / np.sqrt(variances) / np.sqrt(weights)[:, None]
    gradients = [by_means]
    if deviations:
        seconds = posteriors.T @ descriptors**2
        squared = (seconds - 2 * means * firsts + masses * means**2) / variances
        gradients.append((squared - masses) / np.sqrt(2 * weights)[:, None])
    return np.asarray(np.concatenate(gradients).ravel() / len(descriptors))


def _posteriors(descriptors: npt.NDArray[np.float64], mixture: Mixture) -> npt.NDArray[np.float64]:
    weights, means, variances = mixture
    precisions = 1 / variances
    constants = np.log(weights) - 0.5 * (np.log(variances) + means**2 * precisions).sum(axis=1)
    logarithms = constants + descriptors @ (means * precisions).T - 0.5 * (descriptors**2 @ precisions.T)
    logarithms -= logarithms.max(axis=1, keepdims=True)
    posteriors = np.exp(logarithms)
    return np.asarray(posteriors / posteriors.sum(axis=1, keepdims=True))


def _fit_quietly(mixture: Any, projected: npt.NDArray[np.float64]) -> None:
    """Fit a mixture; that it may stop at its last iteration before it has converged is no matter for a codebook."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(projected)
