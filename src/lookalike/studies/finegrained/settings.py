"""Sections of the fine-grained study's settings (Deep Ranking)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from lookalike.core.settings.model import ABSENT, Absent, Distinct, Number, Section, left_out

Given = dict[str, Any]
"""Settings that a feature's own code checks, and `distance`, by which its vectors are compared."""
Choices = Given | list[Given]
"""One setting, or several of which the ratings that the golden feature learns from choose."""


class NetworkTraining(Section):
    """How a network is trained."""

    n_steps: int = Field(2000, ge=1, description="Steps of the optimiser at most.")
    batch: int = Field(64, ge=2, description="Images (pre-training) or triplets (ranking) of a step.")
    learning_rate: Number = Field(0.01, gt=0, description="Learning rate of the first step.")
    momentum: Number = Field(0.9, ge=0, lt=1, description="Nesterov's momentum.")
    validation_interval: int = Field(200, ge=1, description="Steps between two scores on held-out training images.")
    patience: int = Field(5, ge=1)
    """Scores in a row without a smaller loss of held-out images, after which the learning rate falls to a tenth."""
    drops: int = Field(1, ge=0, description="How often it falls; where it would fall once more, training ends.")


class Pretraining(NetworkTraining):
    """Soft-max training of the ConvNet path on the training categories, or on `images`; none if `weights` are given."""

    weight_decay: Number = Field(0.0005, ge=0, description="Weight decay (Krizhevsky et al. 2012, section 5).")
    images: Absent[str] = ABSENT
    """Folder of class folders of images to learn from, such as those of ImageNet."""
    weights: Absent[str] = ABSENT
    """File of a network for classification, such as `systems/convnet/model.lookalike`."""


class RankingTraining(NetworkTraining):
    """Fine-tuning by the ranking loss (eq. 4)."""

    learning_rate: Number = Field(0.0003, gt=0)
    """Learning rate of the sum of a step's hinges, so one for each triplet."""
    regularisation: Number = Field(0.001, ge=0, description="lambda of eq. 4.")


class Features(Section):
    """Settings of hand-crafted features that replace their defaults, by the feature's id. `lookalike evaluate-triplets
    --help` lists the ids, and the features' docstrings list the settings. Of a list, the one is taken that orders most
    of the triplets rightly that the golden feature learns from (`golden.ratings`); without these, the first.
    """

    wavelet: Absent[Choices] = left_out(description="Of `lookalike.features.wavelet`.")
    color: Absent[Choices] = left_out(description="Of `lookalike.features.color_histogram`.")
    sift_like: Absent[Choices] = left_out(alias="sift-like", description="Of `lookalike.features.sift_like`.")
    fisher: Absent[Choices] = left_out(description="Of `lookalike.features.fisher_vector`.")
    hog: Absent[Choices] = left_out(description="Of `lookalike.features.hog`.")
    spmk_texton_1024_max: Absent[Choices] = left_out(alias="spmk-texton-1024-max")
    """Of `lookalike.features.texton`."""

    def given(self, feature: str) -> list[Given]:
        """Return the settings of one feature to choose from, by its id."""
        choices = getattr(self, feature.replace("-", "_")) or {}
        return choices if isinstance(choices, list) else [choices]


class Score(Section):
    """How systems are scored."""

    k: int = Field(30, ge=1, description="Length of the list of score-at-top-K.")
    resamples: int = Field(2000, ge=100, description="Bootstrap samples of the query images behind each interval.")


class Sampler(Section):
    """How training triplets are sampled (section 5.1); none of these numbers is printed."""

    out_of_class: Number = Field(0.2, ge=0, le=1)
    """Share of triplets whose negative is of another category; the paper's Table 1 has 0.2."""
    capacity: Absent[int] = left_out(ge=3)
    """Images that the buffer of a category holds; all of them if left out."""
    positive_threshold: Absent[Number] = left_out(gt=0)
    """T_p (eq. 7): images with a larger relevance are equally likely to be the positive. None if left out."""
    margin: Number = Field(0.05, ge=0)
    """T_r (eq. 8): least difference between the relevance of the positive and that of an in-class negative."""
    tries: int = Field(50, ge=1, description="Draws of an in-class negative before the sampler drops the triplet.")

    def given(self, *names: str) -> dict[str, Any]:
        """Return some of the settings, without those that are left out."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Sampling(Sampler):
    """How the triplets of one system are sampled."""

    weighted: bool = True
    """Whether images are drawn by their relevance, or all alike."""


class GoldenFeature(Section):
    """The golden feature, a weighted combination of distances learned by max margin."""

    C: list[Annotated[Number, Field(gt=0)]] = Field([0.01, 0.1, 1.0, 10.0, 100.0, 1000.0], min_length=1)
    """Weights of the hinge loss to choose from by cross-validation on training data."""
    n_triplets: int = Field(20000, ge=10, description="Training triplets.")
    folds: int = Field(3, ge=2, description="Folds of the cross-validation that chooses C.")
    ratings: Absent[Number] = left_out(gt=0, lt=1)
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


class HeldOutImages(Section):
    """Training images that are held out of the networks' training. They draw its curves and choose settings."""

    share: Number = Field(0.1, gt=0, le=0.5, description="Share of each category's training images.")
    triplets: int = Field(2000, ge=10, description="Triplets of these images that validation scores.")


class LinearEmbedding(Section):
    """The linear embedding of single-scale and visual features."""

    width: int = Field(4096, ge=1, description="Dimensions of the embedding.")
    n_steps: int = Field(2000, ge=1, description="Steps at most.")


class Network(Section):
    """What decides a network besides its training."""

    size: Literal["paper", "small"] = "paper"
    """`paper`: 225 x 225 pixels in, 4,096 numbers out; `small`: trains in minutes on two cores."""
    shift: int = Field(8, ge=0, le=64, description="Pixels by which training images are shifted at random, at most.")
    device: str = "auto"
    """Torch's name of the device, such as `cuda`; `auto`: an accelerator where there is one."""


class Networks(Network):
    """The networks; they need torch."""

    threads: int = Field(1, ge=1)
    """Threads of a network that trains on processors. More than one changes the result."""
    checkpoint_seconds: Number = Field(60, gt=0)
    """Seconds between two checkpoints. A kill loses no more than this."""
    seeds: int = Field(1, ge=1, le=99)
    """Seeds that every network is trained with, its pre-training too. With fewer than three no claim about networks is
    decided."""
    pretraining: Pretraining = Field(default_factory=Pretraining)
    ranking: RankingTraining = Field(default_factory=RankingTraining)
    gap: Number = Field(0.5, gt=0, description="g of the ranking loss (eq. 3), which is not printed.")
    linear_embedding: LinearEmbedding = LinearEmbedding()


class SamplingStudy(Section):
    """Figure 6, a network for every share of out-of-class negatives, and one of uniform sampling; not run if left out
    or null.
    """

    out_of_class: Distinct[Annotated[Number, Field(ge=0, le=1)]] = Field(min_length=2)
    """Shares of out-of-class negatives. For the share in `sampler`, the figure shows DeepRanking itself."""


class Surroundings(Section):
    """What planning finds besides the settings, and jobs are given as it was."""

    folder: str
    """Folder that the paths of the manifest start from."""
    has_training: bool
    """Whether there are images to learn from."""
    has_torch: bool
    """Whether networks can be trained, or were."""
    is_graded: bool
    """Whether relevance within a category has grades; without, all negatives are of other categories."""
