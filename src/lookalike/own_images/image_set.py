"""The images that a user means, whatever named them: a row each, and the others with the reason why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

MIN_SIDE = 32
"""Pixels that an image must have a side; smaller ones are left out."""

COLUMNS = ("path", "label", "sha256", "width", "height")

Progress = Callable[[int, int], None]
"""``progress(done, total)``."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """The images that a user means.

    Attributes
    ----------
    root : Path
        Folder that paths are relative to.
    images : pandas.DataFrame
        Of usable images, a row each: `COLUMNS`; ``label`` is "" where there is none.
    left_out : pandas.DataFrame
        Of the others: ``path`` and ``reason``.
    triplets : ndarray of shape (m, 3), int32, or None
        Rows (query, positive, negative) of row numbers of `images`.
    triplets_left_out : int
        Triplets that name an image which is left out, or one image twice.
    """

    root: Path
    images: pd.DataFrame
    left_out: pd.DataFrame
    triplets: npt.NDArray[np.int32] | None = None
    triplets_left_out: int = 0

    @property
    def paths(self) -> list[Path]:
        """The files of `images`."""
        return [self.root / path for path in self.images["path"]]

    def files(self, rows: npt.NDArray[np.intp]) -> tuple[list[Path], list[str]]:
        """Return the files of some of `images`, and the sha256 of each."""
        chosen = self.images.iloc[rows]
        return [self.root / path for path in chosen["path"]], chosen["sha256"].tolist()


def distinct(found: ImageSet) -> ImageSet:
    """Leave out copies of one file, and a file altogether that has several labels."""
    images = found.images
    labels = images.groupby("sha256")["label"].nunique()
    ambiguous = images["sha256"].map(labels) > 1
    copies = images["sha256"].duplicated() & ~ambiguous
    first = images.drop_duplicates("sha256").set_index("sha256")["path"]
    reasons = [(path, "its file lies in several classes") for path in images.loc[ambiguous, "path"]]
    reasons += [
        (path, f"the same file as {first[sha256]}")
        for path, sha256 in images.loc[copies, ["path", "sha256"]].itertuples(index=False)
    ]
    known = list(found.left_out.itertuples(index=False, name=None))
    kept = images[~ambiguous & ~copies].reset_index(drop=True)
    return ImageSet(found.root, kept, with_reasons(known + reasons))


def with_reasons(rows: Any) -> pd.DataFrame:
    """Make a table of (path, reason)."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=["path", "reason"], dtype=str)
