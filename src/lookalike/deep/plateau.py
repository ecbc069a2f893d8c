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
    """Score at the present rate. A lucky look at a larger rate, where looks differ more, is none to hold others to."""
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
        """Note a score, and tell whether it is the best at the present rate."""
        is_best = score > self.best
        self.best, self.waited = max(score, self.best), 0 if is_best else self.waited + 1
        if self.waited >= self.patience:
            self.best, self.waited, self.dropped = -math.inf, 0, self.dropped + 1
        return is_best
