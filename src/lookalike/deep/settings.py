"""What decides the result of a training run: settings of both trainings, and those of a study's networks.

The paper prints lambda, momentum by reference and the dropout rate; gap, learning rate, batch and steps it does not.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from lookalike.deep.configuration import KNOWN_ALONE
from lookalike.deep.plateau import Plateau


@dataclass(frozen=True)
class TrainingSettings:
    """What both trainings share: stochastic gradient descent with momentum (Deep Ranking, section 5).

    Training ends when held-out images have not improved for `patience` looks at the last learning rate, and the weights
    of the best look at that rate are kept. Without held-out images it takes all steps at the first rate.

    Parameters
    ----------
    n_steps : int
        Steps at most.
    batch : int
        Images (pre-training) or triplets (ranking) of a step.
    learning_rate : float
        Of the first step. In pre-training it is one of the mean loss of a batch, in ranking of the sum of its hinges.
    momentum : float
        Nesterov's, which the paper's reference for momentum is about.
    validation_interval : int
        Steps between two rows of the curve, and between two looks at the held-out images.
    patience : int
        Looks in a row without a smaller loss, after which the learning rate falls to a tenth.
    drops : int
        How often it falls; where it would fall once more, training ends.
    """

    n_steps: Annotated[int, Field(ge=1)] = 2000
    batch: Annotated[int, Field(ge=1)] = 64
    learning_rate: Annotated[float, Field(gt=0)] = 0.01
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    validation_interval: Annotated[int, Field(ge=1)] = 200
    patience: Annotated[int, Field(ge=1)] = 5
    drops: Annotated[int, Field(ge=0)] = 1

    def plateau(self) -> Plateau:
        """Return what follows the held-out images of one training."""
        return Plateau(self.patience, self.drops)


@dataclass(frozen=True)
class PretrainingSettings(TrainingSettings):
    """Of the soft-max pre-training of the ConvNet path (section 6.1); a batch is so many images.

    Its weight decay is that of Krizhevsky et al. (2012, section 5), whom the paper follows, and not lambda of eq. 4.
    """

    weight_decay: Annotated[float, Field(ge=0)] = 0.0005


@dataclass(frozen=True)
class RankingSettings(TrainingSettings):
    """Of the ranking training; a batch is so many triplets, `gap` is g of eq. 3, `regularisation` lambda of eq. 4.

    A step descends along the sum of its hinges plus lambda ||W||^2, as eq. 4 is written: a mean would weigh lambda by
    the size of the batch. So the learning rate is one for each triplet.
    """

    batch: Annotated[int, Field(ge=1)] = 32
    learning_rate: Annotated[float, Field(gt=0)] = 0.0003
    gap: Annotated[float, Field(gt=0)] = 0.5
    regularisation: Annotated[float, Field(ge=0)] = 0.001

    @property
    def weight_decay(self) -> float:
        """Factor of the weights in the gradient of lambda ||W||^2."""
        return 2 * self.regularisation


Settings = PretrainingSettings | RankingSettings


@dataclass(frozen=True, config=KNOWN_ALONE)
class Sampling:
    """How a study's triplets are drawn: arguments of `RelevanceTripletSampler`."""

    out_of_class: float
    weighted: bool
    capacity: int | None = None
    positive_threshold: float | None = None
    margin: float = 0.05
    tries: int = 50

    def given(self) -> dict[str, Any]:
        """Return the arguments without those that are left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, config=KNOWN_ALONE)
class HeldOutShare:
    """Share of each category's training images that a study holds out, and how many triplets it draws of them."""

    share: float
    triplets: int


@dataclass(frozen=True, config=KNOWN_ALONE)
class StudyPretraining(PretrainingSettings):
    """Pre-training of a study's networks, on a folder of class folders or, without one, on the training images."""

    images: str = ""
    weights: str = ""
    """File of a network for classification, which is taken instead."""

    def training(self) -> PretrainingSettings:
        """Return what decides the training itself."""
        return PretrainingSettings(**{own.name: getattr(self, own.name) for own in fields(PretrainingSettings)})


@dataclass(frozen=True, config=KNOWN_ALONE)
class LinearSettings:
    """The linear embedding of single-scale and visual features."""

    width: int = 4096
    n_steps: int = 2000


@dataclass(frozen=True, config=KNOWN_ALONE)
class NetworkSettings:
    """What decides a study's networks; a job is given those of its own training."""

    validation: HeldOutShare
    size: Literal["paper", "small"] = "paper"
    shift: int = 8
    device: str = "auto"
    pretraining: StudyPretraining = StudyPretraining()
    ranking: RankingSettings = RankingSettings()
    gap: float = 0.5
    linear_embedding: LinearSettings = LinearSettings()
