"""What decides the result of a training run: settings of both trainings.

The paper prints lambda, momentum by reference and the dropout rate; gap, learning rate, batch and steps it does not.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True)
class TrainingSettings:
    """What both trainings share: stochastic gradient descent with momentum (Deep Ranking, section 5).

    Parameters
    ----------
    n_steps : int
        Steps in all; the schedule ends there.
    batch : int
        Images (pre-training) or triplets (ranking) of a step, on every process.
    learning_rate : float
        Of the first step after the warm-up.
    momentum : float
    nesterov : bool
        Nesterov's form of momentum, which the paper's reference for momentum is about.
    regularisation : float
        Lambda of eq. 4; lambda ||W||^2 is a weight decay of 2 lambda.
    schedule : {"cosine", "constant"}
        How the learning rate falls after the warm-up: along half a cosine to 0 at `n_steps`, or not at all.
    warm_up : int
        Steps over which the learning rate grows linearly from nearly 0.
    validation_interval : int
        Steps between two rows of the curve, and between two looks at the held-out images.
    keep : {"best", "last"}
        Which weights are returned: those of the best row of the curve (with nothing held out: the last) or the last.
    precision : {"auto", "float32", "bfloat16", "float16"}
        Of the forward and backward pass on an accelerator: by itself bfloat16 where that is native, else float16 with
        scaled gradients. A processor always computes in float32.
    """

    n_steps: Annotated[int, Field(ge=1)] = 2000
    batch: Annotated[int, Field(ge=1)] = 64
    learning_rate: Annotated[float, Field(gt=0)] = 0.01
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    nesterov: bool = True
    regularisation: Annotated[float, Field(ge=0)] = 0.001
    schedule: Literal["cosine", "constant"] = "cosine"
    warm_up: Annotated[int, Field(ge=0)] = 0
    validation_interval: Annotated[int, Field(ge=1)] = 200
    keep: Literal["best", "last"] = "best"
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate of step `step`, 0 to ``n_steps - 1``."""
        if step < self.warm_up:
            return self.learning_rate * (step + 1) / (self.warm_up + 1)
        if self.schedule == "constant":
            return self.learning_rate
        share = (step - self.warm_up) / max(self.n_steps - self.warm_up, 1)
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * share))


@dataclass(frozen=True)
class PretrainingSettings(TrainingSettings):
    """Of the soft-max pre-training of the ConvNet path (section 6.1); a batch is so many images."""


@dataclass(frozen=True)
class RankingSettings(TrainingSettings):
    """Of the ranking training; a batch is so many triplets, and `gap` is g of eq. 3."""

    batch: Annotated[int, Field(ge=1)] = 32
    gap: Annotated[float, Field(gt=0)] = 0.5
