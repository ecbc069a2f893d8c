"""What decides the result of a training run, besides what the settings of networks say."""

from __future__ import annotations

from pydantic import Field

from lookalike.core.settings.model import Number
from lookalike.core.settings.networks import HeldOutImages, Pretraining, RankingTraining, TrainedNetworks


class RankingSettings(RankingTraining):
    """Of the ranking training; a batch is so many triplets.

    A step descends along the sum of its hinges plus lambda ||W||^2, as eq. 4 is written: a mean would weigh lambda by
    the size of the batch. So the learning rate is one for each triplet.
    """

    batch: int = Field(32, ge=1)
    gap: Number = Field(0.5, gt=0, description="g of eq. 3.")

    @property
    def weight_decay(self) -> float:
        """Factor of the weights in the gradient of lambda ||W||^2."""
        return 2 * self.regularisation


Settings = Pretraining | RankingSettings
"""Of both trainings, stochastic gradient descent with momentum (Deep Ranking, section 5).

Training ends when held-out images have not improved for `patience` looks at the last learning rate, and the weights of
the best look at that rate are kept. Without held-out images it takes all steps at the first rate.
"""


class NetworkSettings(TrainedNetworks):
    """What decides a study's networks; a job is given those of its own training."""

    validation: HeldOutImages

    def of_ranking(self, **changes: int) -> RankingSettings:
        """Return the settings of a training by the ranking loss."""
        return RankingSettings(**{**dict(self.ranking), "gap": self.gap, **changes})
