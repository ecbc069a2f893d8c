"""What decides the result of a training run: settings of both trainings, with defaults that the configuration mirrors.

The paper prints lambda, momentum by reference and the dropout rate (which belongs to the network); the gap g, the
learning rate and how it falls, the size of a batch and the number of steps are not printed and are settings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SCHEDULES = ("cosine", "constant")
KEEP = ("best", "last")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")


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

    Raises
    ------
    ValueError
        When a value is impossible.
    """

    n_steps: int = 2000
    batch: int = 64
    learning_rate: float = 0.01
    momentum: float = 0.9
    nesterov: bool = True
    regularisation: float = 0.001
    schedule: str = "cosine"
    warm_up: int = 0
    validation_interval: int = 200
    keep: str = "best"
    precision: str = "auto"

    def __post_init__(self) -> None:
        for name in ("n_steps", "batch", "validation_interval"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be larger than 0, not {self.learning_rate!r}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and less than 1, not {self.momentum!r}")
        if self.regularisation < 0 or self.warm_up < 0:
            raise ValueError("regularisation and warm_up must not be negative")
        for name, known in (("schedule", SCHEDULES), ("keep", KEEP), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")

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
    """Of the ranking training; a batch is so many triplets.

    Parameters
    ----------
    gap : float
        g of eq. 3. Squared distances of normalised embeddings lie between 0 and 4.
    """

    batch: int = 32
    gap: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.gap > 0:
            raise ValueError(f"gap must be larger than 0, not {self.gap!r}")
