"""Pictures of the fine-grained study: sample triplets, and filters of the first layers (Deep Ranking, Figures 1, 5).

The drawing of the sampler (Figure 4) is `lookalike.exhibits.triplet_sampler_drawing`, the ranking examples (Figure 7)
are `lookalike.exhibits.triplet_ranking_examples`; all are at hand here. Images are those of the study's own folder, and
which are shown is a rule and no choice. `lookalike.exhibits.triplet_catalogue.write_triplet_picture` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.exhibits.figures import Plot
from lookalike.exhibits.image_grid import class_name
from lookalike.exhibits.style import new_figure, paper_style
from lookalike.exhibits.triplet_context import DEEP, TripletContext, say_about_data
from lookalike.exhibits.triplet_ranking_examples import (
    caption_of_rankings,
    choose_queries,
    ranking_examples,
    rankings_of,
)
from lookalike.exhibits.triplet_sampler_drawing import caption_of_sampler, sampler_drawing
from lookalike.exhibits.triplet_thumbnails import (
    NEGATIVE,
    POSITIVE,
    QUERY,
    PictureMaterial,
    bare,
    empty_picture,
    not_drawn,
    show_in_square,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "PictureMaterial",
    "caption_of_filters",
    "caption_of_rankings",
    "caption_of_sampler",
    "caption_of_triplets",
    "choose_queries",
    "first_layer_filters",
    "ranking_examples",
    "rankings_of",
    "sample_triplets",
    "sampler_drawing",
]

TRIPLET_COLUMNS = ("column", "triplet", "text_query", "kind", "role", "image_id", "file", "label")
FILTER_COLUMNS = ("path", "place", "filter", "norm", "smallest", "largest", "colour_share", "like_start")
ROLES = {"query": QUERY, "positive": POSITIVE, "negative": NEGATIVE}
WIDTH = 7.2
"""Width of the figures, in inches."""
TITLE_LETTERS = 13
"""Letters of a line above a column of Figure 1."""
PATH_TITLES = {
    "convnet": "ConvNet",
    "every-4th-pixel": "every 4th pixel",
    "every-8th-pixel": "every 8th pixel",
}
"""Paths of the multiscale network, in the order of the figure."""
START = "start/"
"""Before the name of a path: its filters before the ranking training."""
FILTER_COLUMNS_DRAWN = 24
"""Filters in a row of Figure 5."""


def sample_triplets(material: PictureMaterial | None, context: TripletContext, n: int = 8) -> Plot:
    """Draw triplets of the evaluation set, each a column: query, positive, negative (Figure 1).

    Text queries are spread evenly over all, in alphabetical order; of each the first triplet is shown, of the kinds of
    negatives in turn where there is more than one kind. Where there are fewer text queries than columns, their next
    triplets follow.

    Parameters
    ----------
    material : PictureMaterial or None
        None where nothing was run.
    context : TripletContext
    n : int
        Columns at most.

    Returns
    -------
    Plot
        Frame columns `TRIPLET_COLUMNS`, a row an image.
    """
    import pandas as pd

    if material is None or context.not_run_sentence:
        return empty_picture(context.not_run_sentence or "no triplets are at hand", TRIPLET_COLUMNS)
    chosen = _spread_triplets(material.triplets, n)
    if chosen.empty:
        return empty_picture("the data set has no triplets", TRIPLET_COLUMNS)
    records: list[dict[str, Any]] = []
    several_kinds = material.triplets["kind"].nunique() > 1
    with paper_style():
        figure = new_figure(0.42 + 0.85 * len(chosen), 3.1)
        panels = figure.subplots(3, len(chosen), squeeze=False)
        say_about_data(figure, context)
        for column, row in enumerate(chosen.to_dict("records")):
            for axis, (role, mark) in zip(panels[:, column], ROLES.items(), strict=True):
                image_id = int(row[role])
                show_in_square(axis, material.load(image_id), mark)
                records.append(
                    {"column": column + 1, **{key: row[key] for key in ("triplet", "text_query", "kind")}, "role": role}
                    | {"image_id": image_id, "file": material.file_of(image_id), "label": material.labels[image_id]}
                )
            panels[0, column].set_title(_in_lines(str(row["text_query"])), fontsize=7, pad=4)
            if several_kinds:
                panels[2, column].set_xlabel(str(row["kind"]), fontsize=6.5, labelpad=3)
        for axis, mark in zip(panels[:, 0], ROLES.values(), strict=True):
            label = mark.meaning if mark is QUERY else f"{mark.sign} {mark.meaning}"
            axis.set_ylabel(label, fontsize=7.5, color=mark.colour, labelpad=5)
    return Plot(figure, pd.DataFrame(records, columns=list(TRIPLET_COLUMNS)))


def caption_of_triplets(plot: Plot, context: TripletContext) -> str:
    """Caption of `sample_triplets`: what is shown, whose images they are and by which rule they were chosen.

    Parameters
    ----------
    plot : Plot
    context : TripletContext
    """
    shows = "Sample triplets, one a column: query, positive (solid frame) and negative (dashed frame)."
    if plot.frame.empty:
        return not_drawn(shows, plot, context)
    n = plot.frame["column"].max()
    by_kind = ", the kinds of negatives in turn" if plot.frame["kind"].nunique() > 1 else ""
    return (
        f"{shows} {context.images}. The {n} columns are the first triplets of text queries that are spread evenly over "
        f"the alphabet{by_kind}; no triplet was picked by hand."
    )


class _Group(NamedTuple):
    """Filters of one path, in the order in which they are drawn."""

    path: str
    filters: npt.NDArray[np.float32]
    numbers: npt.NDArray[np.int64]
    colour_shares: npt.NDArray[np.float64]


def first_layer_filters(filters: Mapping[str, npt.NDArray[np.float32]] | None, context: TripletContext) -> Plot:
    """Draw the filters of the first layers of the multiscale network, a group a path (Figure 5).

    Each filter has a scale of its own: grey is a weight of 0, and the largest absolute weight is as bright or as dark
    as can be. A filter's colour share is the share of its energy that is not on the grey axis: 0 if the three channels
    are alike, 2/3 on average if they are independent.

    Parameters
    ----------
    filters : mapping of str to ndarray of float32, shape (n, height, width, 3), or None
        Name of the path (``convnet``, ``every-4th-pixel``, ``every-8th-pixel``) to its filters, channels red, green,
        blue; None where the network was not run. ``start/`` and the name of a path: its filters before training.
    context : TripletContext

    Returns
    -------
    Plot
        Frame columns `FILTER_COLUMNS`, a row a filter: ``place`` counts from 1 in the order drawn, by falling colour
        share, ``filter`` from 0 in the order of the network.

    Raises
    ------
    ValueError
        When filters are not of shape (n, height, width, 3), or not finite.
    """
    import pandas as pd

    if not filters:
        why = context.why_not_run(DEEP) or "DeepRanking was not run here"
        return empty_picture(why, FILTER_COLUMNS)
    paths = [name for name in filters if not name.startswith(START)]
    names = [*(name for name in PATH_TITLES if name in paths), *(name for name in paths if name not in PATH_TITLES)]
    groups = [_group(name, np.asarray(filters[name])) for name in names]
    rows = [-(-len(group.filters) // FILTER_COLUMNS_DRAWN) for group in groups]
    records: list[dict[str, Any]] = []
    with paper_style():
        figure = new_figure(WIDTH, 0.3 * sum(rows) + 0.32 * len(groups) + 0.1)
        panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=rows)[:, 0]
        say_about_data(figure, context)
        for axis, group in zip(panels, groups, strict=True):
            _draw_filters(axis, group)
            records += _filter_records(group, filters.get(START + group.path))
    return Plot(figure, pd.DataFrame(records, columns=list(FILTER_COLUMNS)))


def caption_of_filters(plot: Plot, context: TripletContext) -> str:
    """Caption of `first_layer_filters`: how weights became colours, and how colourful the filters of each path are.

    Parameters
    ----------
    plot : Plot
    context : TripletContext
    """
    shows = f"Filters of the first convolution of each path of {context.title_of(DEEP)}."
    if plot.frame.empty:
        return not_drawn(shows, plot, context)
    shares = plot.frame.groupby("path", sort=False)["colour_share"].median()
    told = ", ".join(f"{PATH_TITLES.get(str(path), str(path))} {100 * share:.0f}%" for path, share in shares.items())
    return (
        f"{shows} {context.images}. Each filter has a scale of its own: mid-grey is a weight of 0, and its largest "
        "absolute weight is as bright or as dark as can be. Paths are drawn at one size, whatever their filters' width "
        "in pixels. Filters stand in the order of their colour share, the share of their energy that is not the same "
        f"in red, green and blue (67% if the three are independent); in the median {told}.{_change(plot.frame)}"
    )


def _change(frame: pd.DataFrame) -> str:
    """Sentence on how alike filters are to the ones that training began with; "" where these were not kept."""
    if "like_start" not in frame or frame["like_start"].isna().all():
        return ""
    alike = frame.groupby("path", sort=False)["like_start"].median().dropna()
    told = ", ".join(f"{PATH_TITLES.get(str(path), str(path))} {value:.2f}" for path, value in alike.items())
    return f" Correlation of a filter with what it was before the ranking training, in the median: {told}."


def _spread_triplets(triplets: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return up to `n` triplets: text queries spread evenly, kinds in turn, then their next triplets."""
    ordered = triplets.sort_values(["text_query", "triplet"])
    names = list(ordered["text_query"].unique())
    kinds = sorted(ordered["kind"].unique())
    n = min(n, len(ordered))
    spread = np.linspace(0, len(names) - 1, min(n, len(names))).round().astype(int)
    chosen: list[int] = []
    for column in range(n):
        # further rounds begin with another kind
        turn = column + column // len(spread)
        name = names[spread[column % len(spread)]]
        left = ordered[~ordered.index.isin(chosen)]
        own = left[left["text_query"] == name] if (left["text_query"] == name).any() else left
        wanted = own[own["kind"] == kinds[turn % len(kinds)]]
        chosen.append((wanted if len(wanted) else own).index[0])
    return ordered.loc[chosen]


def _in_lines(text_query: str) -> str:
    """Name of a text query in at most two lines, so that all titles are equally high."""
    lines = wrap(class_name(text_query), TITLE_LETTERS)
    if len(lines) > 2:
        lines = [lines[0], f"{lines[1][: TITLE_LETTERS - 2]} …"]
    return "\n".join(lines)


def _group(path: str, filters: npt.NDArray[np.float32]) -> _Group:
    if filters.ndim != 4 or filters.shape[3] != 3 or not len(filters) or not np.isfinite(filters).all():
        raise ValueError(
            f"filters of the path {path} must be finite and of shape (n, height, width, 3), not {filters.shape}: give "
            "those of lookalike.deep.network.first_layer_filters"
        )
    energy = np.square(filters, dtype=np.float64).sum(axis=(1, 2, 3))
    grey = 3 * np.square(filters.mean(axis=3, dtype=np.float64)).sum(axis=(1, 2))
    shares = np.clip(1 - grey / np.where(energy > 0, energy, 1), 0, 1)
    shares[energy == 0] = 0
    order = np.argsort(-shares, kind="stable")
    return _Group(path, filters[order], order, shares[order])


def _draw_filters(axis: Axes, group: _Group) -> None:
    """Tiles of one path on white, a pixel of white between them in every path alike."""
    n, height, width, _ = group.filters.shape
    # filters of all paths are drawn at one size, with gaps of one width
    tile, gap = 8 * max(height, width), max(height, width)
    columns = FILTER_COLUMNS_DRAWN
    rows = -(-n // columns)
    canvas = np.ones((rows * (tile + gap), columns * (tile + gap), 3))
    largest = np.abs(group.filters).max(axis=(1, 2, 3), keepdims=True)
    shown = 0.5 + group.filters / (2 * np.where(largest > 0, largest, 1))
    for place, pixels in enumerate(shown):
        top, left = (place // columns) * (tile + gap), (place % columns) * (tile + gap)
        scale = tile // max(height, width)
        big = pixels.repeat(scale, axis=0).repeat(scale, axis=1)
        canvas[top : top + big.shape[0], left : left + big.shape[1]] = big
    bare(axis).imshow(canvas, interpolation="nearest")
    title = f"{PATH_TITLES.get(group.path, group.path)}: {n} filters of {width} x {height} pixels"
    axis.set_title(title, fontsize=7.5, loc="left", pad=3)


def _filter_records(group: _Group, start: npt.NDArray[np.float32] | None) -> list[dict[str, Any]]:
    alike = np.full(len(group.filters), np.nan)
    if start is not None:
        before = start[group.numbers].reshape(len(alike), -1)
        alike = np.array(
            [np.corrcoef(a, b)[0, 1] for a, b in zip(before, group.filters.reshape(before.shape), strict=True)]
        )
    return [
        {
            "path": group.path,
            "place": place,
            "filter": int(number),
            "norm": float(np.linalg.norm(weights.astype(np.float64))),
            "smallest": float(weights.min()),
            "largest": float(weights.max()),
            "colour_share": float(share),
            "like_start": float(alike[place - 1]),
        }
        for place, (weights, number, share) in enumerate(
            zip(group.filters, group.numbers, group.colour_shares, strict=True), start=1
        )
    ]
