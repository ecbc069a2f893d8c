"""Fisher vectors of dense SIFT (Perronnin, Liu, Sanchez and Poirier, CVPR 2010; Deep Ranking, Table 1, "Fisher").

The encoding is written out, because scikit-image's loops over descriptors and components; a test holds them together.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from lookalike.core.arrays import Bytes, Doubles, Floats
from lookalike.core.errors import LookalikeError
from lookalike.features.clustering import principal_components
from lookalike.features.dense_sift import DenseSift, textured
from lookalike.features.describers import Positive
from lookalike.features.keypoints import N_FEATURES

SMALLEST_VARIANCE = 1e-4
"""Least variance of a Gaussian, as a share of the mean variance of the projected descriptors."""


class Mixture(NamedTuple):
    """A mixture of Gaussians with diagonal covariances: k weights that sum to 1, (k, d) means and variances."""

    weights: Doubles
    means: Doubles
    variances: Doubles


@dataclass(kw_only=True, eq=False)
class FisherVector(DenseSift, system="fisher", distance="l2", learned=("mean_", "projection_", "mixture_")):
    """Gradients of the likelihood of an image's descriptors with respect to a Gaussian mixture, compared by L2.

    Parameters
    ----------
    n_gaussians : int, default=64
        Components of the mixture.
    n_components : int, default=64
        Principal components that descriptors are projected onto first, as Perronnin et al. do.
    deviations : bool, default=True
        Whether gradients by standard deviations follow those by means: twice as long vectors.
    power : float, default=0.5
        Exponent of the signed power normalisation, which comes before the L2 normalisation; 1 leaves it out.
    **others
        Those of `DenseSift`.
    """

    n_gaussians: Positive = 64
    n_components: Annotated[int, Field(ge=1, le=N_FEATURES)] = 64
    deviations: bool = True
    power: Annotated[float, Field(gt=0, le=1)] = 0.5

    @property
    def n_dimensions(self) -> int:
        """Return the length of the vectors: one or two gradients for each Gaussian and component."""
        return self.n_gaussians * self.n_components * (2 if self.deviations else 1)

    def _fit(self, images: Iterator[Bytes], seed: int) -> None:
        # scikit-learn takes seconds to load, and whoever plans a run makes a describer
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture

        vectors = self.sample(images, seed)
        needed = max(self.n_gaussians, self.n_components) + 1
        if len(vectors) < needed:
            why = f"a mixture of {self.n_gaussians} Gaussians cannot be learned from {len(vectors)} descriptors"
            raise LookalikeError(f"{why}: give more images, or set `n_gaussians` of fisher lower")
        pca = principal_components(vectors, self.n_components, "covariance_eigh")
        projected = pca.transform(vectors.astype(np.float64))
        smallest = SMALLEST_VARIANCE * float(projected.var(axis=0).mean())
        options = {"covariance_type": "diag", "reg_covar": smallest, "max_iter": 50, "random_state": seed}
        mixture = GaussianMixture(self.n_gaussians, **options)
        with warnings.catch_warnings():
            # that it may stop at its last iteration before it has converged is no matter for a codebook
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(projected)
        self.mean_, self.projection_ = pca.mean_, np.ascontiguousarray(pca.components_.T)
        self.mixture_ = Mixture(mixture.weights_, mixture.means_, mixture.covariances_)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        mixture = [(self.n_gaussians,), *2 * [(self.n_gaussians, self.n_components)]]
        projection = {"mean_": (N_FEATURES,), "projection_": (N_FEATURES, self.n_components)}
        return {**projection, **{f"mixture_.{place}": shape for place, shape in enumerate(mixture)}}

    def _describe(self, image: Bytes) -> Floats:
        vectors = textured(self.descriptors(image)[0])
        if not len(vectors):  # an image of one colour
            return np.zeros(self.n_dimensions, np.float32)
        vector = fisher_gradients((vectors - self.mean_) @ self.projection_, self.mixture_, self.deviations)
        vector = np.sign(vector) * np.abs(vector) ** self.power
        length = np.linalg.norm(vector)
        return np.asarray(vector / length if length > 0 else vector, dtype=np.float32)


def fisher_gradients(descriptors: Doubles, mixture: Mixture, deviations: bool = True) -> Doubles:
    """Encode descriptors as their Fisher vector, Gaussian by Gaussian, by means first, before any normalisation.

    With posteriors g_ti of descriptor t and Gaussian i, the gradient by mean i is the sum over t of
    g_ti (x_t - m_i) / s_i divided by T sqrt(w_i), that by its deviations the sum of g_ti ((x_t - m_i)^2 / s_i^2 - 1)
    divided by T sqrt(2 w_i), after Perronnin et al.'s diagonal approximation of the Fisher information.
    """
    weights, means, variances = mixture
    precisions = 1 / variances
    constants = np.log(weights) - 0.5 * (np.log(variances) + means**2 * precisions).sum(axis=1)
    logarithms = constants + descriptors @ (means * precisions).T - 0.5 * (descriptors**2 @ precisions.T)
    posteriors = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    masses = posteriors.sum(axis=0)[:, None]
    firsts = posteriors.T @ descriptors
    by_means = (firsts - masses * means) / np.sqrt(variances) / np.sqrt(weights)[:, None]
    gradients = [by_means]
    if deviations:
        seconds = posteriors.T @ descriptors**2
        squared = (seconds - 2 * means * firsts + masses * means**2) / variances
        gradients.append((squared - masses) / np.sqrt(2 * weights)[:, None])
    return np.asarray(np.concatenate(gradients).ravel() / len(descriptors))
