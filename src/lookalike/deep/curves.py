"""The curve of a training run: what was learned between two looks at the held-out images, and what these say."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Curve:
    """Rows of a curve, and which of them is the best.

    Attributes
    ----------
    right, score : str
        Names of the columns of the training's and the held-out share of what is right: ``triplet_accuracy`` and
        ``validation_precision``, or ``accuracy`` and ``validation_accuracy``.
    rows : list of dict
        Numbers by column, those of `columns`.
    """

    right: str
    score: str
    rows: list[dict[str, float]] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return ("step", "seconds", "loss", self.right, "validation_loss", self.score)

    def add(
        self, step: int, seconds: float, training: tuple[float, float], validation: tuple[float, float] | None
    ) -> bool:
        """Add a row; return whether it is the best so far, as the last always is where nothing is held out.

        Parameters
        ----------
        step : int
            Steps taken.
        seconds : float
            Of training up to here; looks at held-out images and checkpoints are left out.
        training : tuple of float
            Mean loss and share of what was right since the row before, under dropout; NaN before the first step.
        validation : tuple of float, optional
            Loss and share of what is right of the held-out images, without dropout.

        Raises
        ------
        LookalikeError
            When a loss is not finite.
        """
        held_out = validation if validation is not None else (math.nan, math.nan)
        if (step and not math.isfinite(training[0])) or (validation and not math.isfinite(validation[0])):
            raise LookalikeError(f"the loss is no longer finite after {step:,} steps: make learning_rate smaller")
        values = (step, seconds, *training, *held_out)
        highest = max((row[self.score] for row in self.rows), default=-math.inf)
        self.rows.append(dict(zip(self.columns, values, strict=True)))
        return validation is None or held_out[1] > highest

    def sentence(self) -> str:
        """Return the last row as a line for a log."""
        row = self.rows[-1]
        said = [f"loss {row['loss']:.4f}, {self.right} {row[self.right]:.3f}"] if row["step"] else ["before the first"]
        if math.isfinite(row[self.score]):
            said.append(f"held out: loss {row['validation_loss']:.4f}, {self.score} {row[self.score]:.3f}")
        return f"step {row['step']:,}: {'; '.join(said)}"

    def table(self) -> pd.DataFrame:
        """Return the curve as a table, one row for every look."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.columns)).astype({"step": "int64"})
