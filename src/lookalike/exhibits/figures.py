"""A figure of the studies that still draw with Matplotlib themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plot:
    """One figure with the numbers that it plots."""

    figure: Figure
    frame: pd.DataFrame
