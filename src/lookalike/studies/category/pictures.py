"""Pictures of the category study: neighbours for the report's gallery, and JMLR Figure 2, how a pixel gets its LBP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.ndimage import map_coordinates

from lookalike.core.arrays import Reals
from lookalike.core.images import load_rgb, luma
from lookalike.exhibits.image_grid import RIGHT, WRONG, class_name
from lookalike.exhibits.model import Drawn, Entry, Found, NothingToShowError, Ranking
from lookalike.exhibits.neighbours import choice_note, choose, entry_of, gallery_of, score_text
from lookalike.exhibits.style import BLUE, GREY, new_figure
from lookalike.features import lbp, pyramid
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category.study import AFTER, BEFORE, CategoryStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Image = npt.NDArray[np.uint8]

SIDE = 2 * lbp.RADIUS + 1
FILL = ("white", BLUE)
"""Inside of a point that is darker than the centre, and of one that is at least as light."""
N_QUERIES, N_FOUND = 24, 10
"""Queries, and images of each ranking."""


def neighbours(study: CategoryStudy) -> Drawn:
    """Draw neighbours of test images before and after learning."""
    before, after = (Rankings.load(path) for path in study.paths("ranks"))
    ids = after.query_ids.tolist()
    if before.query_ids.tolist() != ids or not ids:
        raise NothingToShowError(f"Not made: {study.title_of(AFTER)} has no result here.")
    precisions = [before.average_precision(), after.average_precision()]
    labels = study.table("manifest").set_index("image_id")["label"]
    rows = sorted(range(len(ids)), key=ids.__getitem__)
    gains = {"group": [labels[ids[row]] for row in rows], "gain": (precisions[1] - precisions[0])[rows]}
    candidates = pd.DataFrame(gains, index=rows)
    choices = choose(candidates, N_QUERIES, seed=study.seed, dataset=study.dataset)
    entries = [_entry(study, (before, after), precisions, choice) for choice in choices.itertuples()]
    id, fold = study.example_fold()
    title = next(subset.title for subset in study.all_subsets if subset.id == id)
    return gallery_of(
        sorted(entries, key=lambda entry: entry.words),
        (
            f"Queries are among the {len(ids):,} test images of {title}, partition {fold + 1}. Each queries "
            "all others, and none of them was learned from.",
            choice_note(candidates, choices, seed=study.seed, groups="classes", measure="average precision"),
            "Euclidean ranks by distance: smaller is nearer. OASIS ranks by score: larger is nearer. The two have no "
            "common scale.",
        ),
    )


def _entry(study: CategoryStudy, rankings: Sequence[Rankings], precisions: Sequence[Reals], choice: Any) -> Entry:
    """The query in a row of both rankings, with what each found."""
    manifest, root, sides = study.table("manifest").set_index("image_id"), study.images_root, list[Ranking]()
    path, own = manifest.loc[rankings[0].query_ids[choice.Index], ["path", "label"]]
    marks = {True: replace(RIGHT, meaning="same class"), False: replace(WRONG, meaning="other class")}
    for method, ranking in zip((BEFORE, AFTER), rankings, strict=True):
        ids, scores = ranking.nearest(choice.Index, N_FOUND)
        images, is_distance = manifest.loc[ids], method == BEFORE
        # Euclidean ranks by the negative square of its distance
        scores = [math.sqrt(max(0.0, -score)) for score in scores] if is_distance else scores
        found = tuple(
            Found(str(root / path), class_name(label), marks[label == own], score_text(score))
            for path, label, score in zip(images["path"], images["label"], scores, strict=True)
        )
        sides.append(Ranking(study.title_of(method), found, measure="distance" if is_distance else "score"))
    own_precisions = [float(precision[choice.Index]) for precision in precisions]
    return entry_of(root / path, class_name(own), sides, own_precisions, choice, "class")


def local_binary_pattern(study: CategoryStudy) -> Drawn:
    """Draw how the local binary pattern LBP(8,2) of a pixel is read off its neighbours."""
    patch = example_patch(luma(load_rgb(example_path(study))))
    _, bits = pattern_of(patch)
    frame = pd.DataFrame({"point": range(lbp.N_POINTS), "value": circle_values(patch), "bit": bits})
    canvas = new_figure(6.4, 3.1)
    paint(canvas, patch)
    return Drawn(frame, canvas=canvas)


def example_path(study: CategoryStudy) -> Path:
    """Return the path of the image of the codebook pool that is nearest to 400x300 in its number of blocks."""
    manifest = study.table("manifest")
    rows = manifest[manifest["image_id"].isin(study.table("pool")["image_id"])]
    n_blocks = np.array(list(map(pyramid.count_blocks, rows["width"], rows["height"])))
    nearest = int(np.argmin(np.abs(n_blocks - pyramid.count_blocks(400, 300))))
    return study.images_root / str(rows["path"].iloc[nearest])


def circle_points() -> npt.NDArray[np.float64]:
    """Places of the eight points around the centre: x to the right, y downwards, from the right anticlockwise."""
    angles = 2 * np.pi * np.arange(lbp.N_POINTS) / lbp.N_POINTS
    return lbp.RADIUS * np.column_stack([np.cos(angles), -np.sin(angles)])


def circle_values(patch: Image) -> npt.NDArray[np.float64]:
    """Interpolated grey values at the eight points around the centre of a 5x5 patch."""
    x, y = (circle_points().round(12) + lbp.RADIUS).T
    return np.asarray(map_coordinates(patch.astype(np.float64), [y, x], order=1))


def paint(canvas: Figure, patch: Image) -> None:
    """Draw a 5x5 patch of luma with the circle and its points, and beside them each point's value and bit."""
    pattern, bits = pattern_of(patch)
    left, right = canvas.subplots(1, 2, width_ratios=(1, 1.05))
    _draw_neighbourhood(left, patch, bits)
    _draw_bits(right, patch, bits, pattern)


def pattern_of(patch: Image) -> tuple[int, list[int]]:
    """Pattern of the middle of a 5x5 patch, and its eight bits."""
    pattern = int(lbp.lbp_patterns(patch)[lbp.RADIUS, lbp.RADIUS])
    return pattern, [pattern >> i & 1 for i in range(lbp.N_POINTS)]


def _draw_neighbourhood(axis: Axes, patch: Image, bits: list[int]) -> None:
    from matplotlib.patches import Circle

    darkest, lightest = int(patch.min()), int(patch.max())
    span = max(lightest - darkest, 1)  # stretched to light greys, on which black numbers can be read
    axis.imshow(
        patch, cmap="gray", vmin=darkest - 0.9 * span, vmax=lightest + 0.1 * span, extent=(-2.5, 2.5, 2.5, -2.5)
    )
    for (row, column), value in np.ndenumerate(patch):
        x, y = column - lbp.RADIUS, row - lbp.RADIUS
        outward = 0.26 * np.sign(x) * (abs(x) == lbp.RADIUS)  # clear of the circle
        below = -0.36 if y == -lbp.RADIUS else 0.36
        axis.text(x + outward, y + below, str(value), ha="center", va="center", fontsize=6, color="black")
    axis.plot(0, 0, "s", color="black", markersize=7)
    axis.add_patch(Circle((0, 0), lbp.RADIUS, fill=False, color=BLUE, linewidth=1))
    for i, (x, y) in enumerate(circle_points()):
        axis.plot(x, y, "o", markersize=12, color=BLUE, markerfacecolor=FILL[bits[i]])
        axis.text(x, y, str(i), ha="center", va="center_baseline", fontsize=7, color="white" if bits[i] else "black")
    axis.set(xticks=[], yticks=[], xlim=(-2.6, 2.6), ylim=(2.6, -2.6), title="eight points at radius 2")
    axis.set_aspect("equal")
    axis.spines[:].set_visible(False)
    axis.grid(False)


def _draw_bits(axis: Axes, patch: Image, bits: list[int], pattern: int) -> None:
    centre = int(patch[lbp.RADIUS, lbp.RADIUS])
    axis.axis("off")
    axis.set(xlim=(0, 1), ylim=(10.6, -0.8), title="at least the centre: 1, darker: 0")
    columns = (0.12, 0.36, 0.6, 0.86)
    for x, head in zip(columns, ("point", "value", "centre", "bit"), strict=True):
        axis.text(x, -0.3, head, ha="center", va="center", color=GREY)
    for i, value in enumerate(circle_values(patch)):
        sign = "≥" if bits[i] else "<"
        row = (str(i), f"{value:.2f}" if i % 2 else f"{value:.0f}", f"{sign}  {centre}", str(bits[i]))
        axis.plot(columns[-1], i + 0.7, "o", markersize=11, color=BLUE, markerfacecolor=FILL[bits[i]])
        for x, text in zip(columns, row, strict=True):
            on_blue = x == columns[-1] and bits[i]
            axis.text(x, i + 0.7, text, ha="center", va="center_baseline", color="white" if on_blue else "black")
    n_changes = sum(bits[i] != bits[i - 1] for i in range(lbp.N_POINTS))
    kind = "uniform" if n_changes <= 2 else "not uniform"
    axis.plot([0.02, 0.98], [8.35, 8.35], color=GREY, linewidth=0.7)
    string = "".join(map(str, bits))
    axis.text(0.5, 9.1, f"pattern {string}", ha="center", va="center", weight="bold", family="DejaVu Sans Mono")
    n_bin = int(lbp.pattern_bins()[pattern])
    axis.text(
        0.5, 10.1, f"{n_changes} changes around the circle: {kind}, bin {n_bin} of 0 to 58", ha="center", va="center"
    )


def example_patch(grey: Image) -> Image:
    """A 5x5 patch that makes a good example: a uniform pattern of three to five ones at a clear edge."""
    reach = lbp.RADIUS
    patterns = lbp.lbp_patterns(grey)[reach:-reach, reach:-reach]
    n_ones = np.array([pattern.bit_count() for pattern in range(256)])[patterns]
    uniform = lbp.pattern_bins()[patterns] < lbp.N_BINS - 1
    patches = np.lib.stride_tricks.sliding_window_view(grey, (SIDE, SIDE))
    contrast = patches.max(axis=(2, 3)).astype(int) - patches.min(axis=(2, 3))
    contrast[~(uniform & (n_ones >= 3) & (n_ones <= 5))] = -1
    wanted = np.quantile(contrast[contrast >= 0], 0.9) if (contrast >= 0).any() else 0
    row, column = np.unravel_index(np.argmin(np.abs(contrast - wanted)), contrast.shape)
    return np.ascontiguousarray(patches[row, column])
