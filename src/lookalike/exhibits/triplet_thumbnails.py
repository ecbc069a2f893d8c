"""What the pictures of the fine-grained study share: where images come from, panels for them, and empty pictures.

`lookalike.exhibits.triplet_pictures` has the pictures themselves (Deep Ranking, Figures 1, 4, 5 and 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.landmark_montage import THUMBNAIL, Mark, thumbnail
from lookalike.exhibits.style import BLACK, BLUE, ORANGE, VERMILLION, new_figure, paper_style
from lookalike.exhibits.triplet_context import TripletContext

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Image = npt.NDArray[np.uint8]

QUERY = Mark("q", BLACK, "-", "query")
POSITIVE = Mark("+", BLUE, "-", "positive")
NEGATIVE = Mark("–", ORANGE, "--", "negative")
"""The three images of a triplet: told apart by sign, colour and line, so that it reads without colours too."""


@dataclass(frozen=True)
class PictureMaterial:
    """What the pictures are drawn from."""

    root: Path
    """Folder of the images."""
    manifest: pd.DataFrame
    """``image_id``, ``path`` (below the root), ``label`` ("" where the category is not known)."""
    triplets: pd.DataFrame
    """``triplet``, ``query``, ``positive``, ``negative`` (image ids), ``text_query``, ``kind``."""

    @cached_property
    def paths(self) -> dict[int, str]:
        """Image id to path below the root."""
        return {
            int(image): str(path) for image, path in zip(self.manifest["image_id"], self.manifest["path"], strict=True)
        }

    @cached_property
    def labels(self) -> dict[int, str]:
        """Image id to category, "" where it is not known."""
        return {
            int(image): str(label)
            for image, label in zip(self.manifest["image_id"], self.manifest["label"], strict=True)
        }

    def file_of(self, image_id: int) -> str:
        """Return the path of an image below the root.

        Parameters
        ----------
        image_id : int

        Raises
        ------
        LookalikeError
            When the manifest has no such image.
        """
        if image_id not in self.paths:
            raise LookalikeError(f"there is no image {image_id} in the manifest: scan the folder {self.root} again")
        return self.paths[image_id]

    def load(self, image_id: int, side: int = THUMBNAIL) -> Image:
        """Return an image, shrunk until its longer side has `side` pixels.

        Parameters
        ----------
        image_id : int
        side : int

        Returns
        -------
        ndarray of uint8, shape (height, width, 3)

        Raises
        ------
        LookalikeError
            When the manifest has no such image or its file cannot be read.
        """
        from lookalike.core.images import load_rgb

        return thumbnail(load_rgb(self.root / self.file_of(image_id)), side)[0]

    def load_square(self, image_id: int, side: int = THUMBNAIL) -> Image:
        """Return the square in the middle of an image, shrunk to `side` pixels at most.

        Parameters
        ----------
        image_id : int
        side : int

        Returns
        -------
        ndarray of uint8, shape (height, height, 3)

        Raises
        ------
        LookalikeError
            As of `load`.
        """
        from lookalike.core.images import load_rgb

        pixels = load_rgb(self.root / self.file_of(image_id))
        edge = min(pixels.shape[:2])
        top, left = ((length - edge) // 2 for length in pixels.shape[:2])
        return thumbnail(pixels[top : top + edge, left : left + edge], side)[0]


def bare(axis: Axes) -> Axes:
    """Return a panel without ticks, grid and frame."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    return axis


def frame_panel(axis: Axes, mark: Mark, *, width: float = 1.6) -> None:
    """Draw the frame of a panel in the colour and line of a mark.

    Parameters
    ----------
    axis : matplotlib Axes
    mark : Mark
    width : float
        Of the line, in points.
    """
    axis.spines[:].set(visible=True, color=mark.colour, linewidth=width, linestyle=mark.line)


def show_in_square(axis: Axes, image: Image, mark: Mark) -> None:
    """Show an image, in the frame of its mark, in the middle of a square panel: panels of a row are then all alike.

    Parameters
    ----------
    axis : matplotlib Axes
    image : ndarray of uint8, shape (height, width, 3)
    mark : Mark
    """
    from matplotlib.patches import Rectangle

    height, width = image.shape[:2]
    half = max(height, width) / 2
    bare(axis).imshow(image, extent=(-width / 2, width / 2, height / 2, -height / 2))
    axis.set(xlim=(-half, half), ylim=(half, -half))
    axis.add_patch(
        Rectangle(
            (-width / 2, -height / 2),
            width,
            height,
            fill=False,
            edgecolor=mark.colour,
            linestyle=mark.line,
            linewidth=1.6,
            clip_on=False,
        )
    )


def not_drawn(shows: str, plot: Plot, context: TripletContext) -> str:
    """Caption of a picture from `empty_picture`.

    Parameters
    ----------
    shows : str
        First sentence of the caption.
    plot : Plot
    context : TripletContext
    """
    why = plot.figure.axes[0].texts[0].get_text()
    return f"{shows} {context.images}. Not drawn: {why.removeprefix('not run: ')}."


def empty_picture(why: str, columns: Sequence[str]) -> Plot:
    """Return a picture that only says why there is nothing to show.

    Parameters
    ----------
    why : str
    columns : sequence of str
        Columns of its frame, which has no rows.

    Returns
    -------
    Plot
    """
    import pandas as pd

    with paper_style():
        figure = new_figure(6.2, 0.9)
        axis = figure.subplots()
        axis.set_axis_off()
        axis.text(0.5, 0.5, why, ha="center", va="center", fontsize=8, color=VERMILLION, wrap=True)
    return Plot(figure, pd.DataFrame(columns=list(columns)))
