"""When a training takes a smaller learning rate and when it ends: once held-out images no longer improve."""

from __future__ import annotations

import math
from dataclasses import dataclass

DROP = 10.0
"""What a learning rate is divided by, as Krizhevsky et al. (2012, section 5) do where validation stops improving."""


@dataclass
class Plateau:
    """Follows a score of held-out images, of which larger is better, from look to look."""

    patience: int
    """Looks in a row without a better score that end the training at one learning rate."""
    drops: int
    """How often the rate is divided; the training ends where it would be divided once more."""
    best: float = -math.inf
    best_at_rate: float = -math.inf
    """Best score at the present rate: a lucky look at a larger one does not end the training at a smaller one."""
    waited: int = 0
    """Looks since that."""
    dropped: int = 0

    @property
    def has_ended(self) -> bool:
        """Tell whether held-out images stopped improving at the last learning rate too."""
        return self.dropped > self.drops

    @property
    def share(self) -> float:
        """Share of the first learning rate that the next steps have."""
        return DROP**-self.dropped

    def look(self, score: float) -> bool:
        """Note a score, and tell whether it is the best so far."""
        is_best, self.best = score > self.best, max(score, self.best)
        self.waited = 0 if score > self.best_at_rate else self.waited + 1
        self.best_at_rate = max(score, self.best_at_rate)
        if self.waited >= self.patience:
            self.waited, self.dropped, self.best_at_rate = 0, self.dropped + 1, -math.inf
        return is_best
