"""Sections of the fine-grained study's settings (Deep Ranking)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from lookalike.core.settings.model import Absent, Distinct, Number, Section
from lookalike.core.settings.networks import TrainedNetworks

Given = dict[str, Any]
"""Settings that a feature's own code checks, and `distance`, by which its vectors are compared."""
Choices = Given | list[Given]
"""One setting, or several of which the ratings that the golden feature learns from choose."""


class Features(Section):
    """Settings of hand-crafted features that replace their defaults, by the feature's id. `lookalike evaluate-triplets
    --help` lists the ids, and the features' docstrings list the settings. Of a list, the one is taken that orders most
    of the triplets correctly that the golden feature learns from (`golden.ratings`); without these, the first.
    """

    wavelet: Absent[Choices] = Field(None, description="Of `lookalike.features.wavelet`.")
    color: Absent[Choices] = Field(None, description="Of `lookalike.features.color_histogram`.")
    sift_like: Absent[Choices] = Field(None, alias="sift-like", description="Of `lookalike.features.sift_like`.")
    fisher: Absent[Choices] = Field(None, description="Of `lookalike.features.fisher_vector`.")
    hog: Absent[Choices] = Field(None, description="Of `lookalike.features.hog`.")
    spmk_texton_1024_max: Absent[Choices] = Field(None, alias="spmk-texton-1024-max")
    """Of `lookalike.features.texton`."""

    def given(self, feature: str) -> list[Given]:
        """Return the settings of one feature to choose from, by its id."""
        choices = getattr(self, feature.replace("-", "_")) or {}
        return choices if isinstance(choices, list) else [choices]


class Score(Section):
    """How systems are scored."""

    k: int = Field(30, ge=1, description="Length of the list of score-at-top-K.")
    resamples: int = Field(2000, ge=100, description="Bootstrap samples of the query images behind each interval.")


class GoldenFeature(Section):
    """The golden feature, a weighted combination of distances learned by max margin."""

    C: list[Annotated[Number, Field(gt=0)]] = Field([0.01, 0.1, 1.0, 10.0, 100.0, 1000.0], min_length=1)
    """Weights of the hinge loss to choose from by cross-validation on training data."""
    n_triplets: int = Field(20000, ge=10, description="Training triplets.")
    folds: int = Field(3, ge=2, description="Folds of the cross-validation that chooses C.")
    ratings: Absent[Number] = Field(None, gt=0, lt=1)
    """Share of the text queries whose rated triplets teach it its weights, as in the paper. Its distances then give the
    relevance that all other methods learn from, and these triplets are not evaluated. If left out, it learns from the
    relevance of training images, like the other methods."""


class L1HashKPCA(Section):
    """Weighted minhash and kernel PCA on the L1 visual features."""

    n_components: int = Field(1000, ge=1)
    """Dimensions of the embedding; fewer where there are fewer images."""
    n_hashes: int = Field(1024, ge=1, description="Hashes of an image.")
    n_landmarks: int = Field(4000, ge=2, description="The most images that kernel PCA is computed on.")


class EmbeddingOasis(Section):
    """OASIS on the embedding, and on the features of the single-scale network."""

    aggressiveness: list[Annotated[Number, Field(gt=0)]] = Field([0.001, 0.01, 0.1, 1.0], min_length=1)
    """Values of C to choose from on held-out training images."""
    steps: list[Annotated[int, Field(ge=1)]] = Field([1000, 3000, 10000, 30000], min_length=1)
    """Numbers of triplets to choose from on held-out training images."""


class Networks(TrainedNetworks):
    """The networks; they need torch."""

    threads: int = Field(1, ge=1)
    """Threads of a network that trains on processors. More than one changes the result."""
    checkpoint_seconds: Number = Field(60, gt=0)
    """Seconds between two checkpoints. A kill loses no more than this."""
    seeds: int = Field(1, ge=1, le=99)
    """Seeds that every network is trained with, its pre-training too. With fewer than three no claim about networks is
    decided."""


class SamplingStudy(Section):
    """Figure 6, a network for every share of out-of-class negatives, and one of uniform sampling; not run if left out
    or null.
    """

    out_of_class: Distinct[Annotated[Number, Field(ge=0, le=1)]] = Field(min_length=2)
    """Shares of out-of-class negatives. For the share in `sampler`, the figure shows DeepRanking itself."""
