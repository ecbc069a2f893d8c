"""Settings of networks and of what they learn from (Deep Ranking, CVPR 2014).

The paper prints lambda, momentum by reference and the dropout rate; gap, learning rate, batch and steps it does not.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lookalike.core.settings.model import Absent, Number, Section


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
    images: Absent[str] = None
    """Folder of class folders of images to learn from, such as those of ImageNet."""
    weights: Absent[str] = None
    """File of a network for classification, such as `systems/convnet/model.lookalike`."""


class RankingTraining(NetworkTraining):
    """Fine-tuning by the ranking loss (eq. 4)."""

    learning_rate: Number = Field(0.0003, gt=0)
    """Learning rate of the sum of a step's hinges, so one for each triplet."""
    regularisation: Number = Field(0.001, ge=0, description="lambda of eq. 4.")


class LinearEmbedding(Section):
    """The linear embedding of single-scale and visual features."""

    width: int = Field(4096, ge=1, description="Dimensions of the embedding.")
    n_steps: int = Field(2000, ge=1, description="Steps at most.")


class HeldOutImages(Section):
    """Training images that are held out of the networks' training. Its curves are of them, and they choose settings."""

    share: Number = Field(0.1, gt=0, le=0.5, description="Share of each category's training images.")
    triplets: int = Field(2000, ge=10, description="Triplets of these images that validation scores.")


class Sampler(Section):
    """How training triplets are sampled (section 5.1); none of these numbers is printed."""

    out_of_class: Number = Field(0.2, ge=0, le=1)
    """Share of triplets whose negative is of another category; the paper's Table 1 has 0.2."""
    capacity: Absent[int] = Field(None, ge=3)
    """Images that the buffer of a category holds; all of them if left out."""
    positive_threshold: Absent[Number] = Field(None, gt=0)
    """T_p (eq. 7): images with a larger relevance are equally likely to be the positive. None if left out."""
    margin: Number = Field(0.05, ge=0)
    """T_r (eq. 8): least difference between the relevance of the positive and that of an in-class negative."""
    tries: int = Field(50, ge=1, description="How often an in-class negative is sampled before the triplet is dropped.")


class Sampling(Sampler):
    """How the triplets of one system are sampled."""

    weighted: bool = True
    """Whether images are sampled by their relevance, or all alike."""


class Network(Section):
    """What decides a network besides its training."""

    size: Literal["paper", "small"] = "paper"
    """`paper`: 225 x 225 pixels in, 4,096 numbers out; `small`: trains in minutes on two cores."""
    shift: int = Field(8, ge=0, le=64, description="Pixels by which training images are shifted at random, at most.")
    device: str = "auto"
    """Torch's name of the device, such as `cuda`; `auto`: an accelerator where there is one."""


class TrainedNetworks(Network):
    """What decides the networks of a study."""

    pretraining: Pretraining = Field(default_factory=Pretraining)
    ranking: RankingTraining = Field(default_factory=RankingTraining)
    gap: Number = Field(0.5, gt=0, description="g of the ranking loss (eq. 3), which is not printed.")
    linear_embedding: LinearEmbedding = LinearEmbedding()
