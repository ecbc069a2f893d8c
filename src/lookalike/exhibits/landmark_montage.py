"""A query of the landmark study with its first results before and after learning, as thumbnails.

Which queries are shown is a rule and no choice: the one that gains the most average precision by learning and the one
that loses the most. What a result is, is told by a sign and a colour, so that it reads without colours too. No paper
draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.exhibits.figures import Plot
from lookalike.exhibits.landmark_context import LandmarkContext, landmark_title
from lookalike.exhibits.style import BLUE, GREY, ORANGE, VERMILLION, new_figure, paper_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Image = npt.NDArray[np.uint8]

COLUMNS = (
    "chosen_as",
    "query",
    "landmark",
    "draw",
    "method",
    "average_precision",
    "place",
    "rank",
    "image_id",
    "relevance",
)
BEFORE, AFTER = "tfidf", "soml-da"
N_RESULTS = 8
WIDTH, ROW = 8.0, 0.74
"""Width of the figure and height of one row of results, in inches."""
LABEL_LETTERS = 20
"""Letters of a line beneath the query."""
THUMBNAIL = 160
"""Longer side of a thumbnail, in pixels: what the page shows, and little to keep in a PDF."""


class Mark(NamedTuple):
    """How a kind of result is marked."""

    sign: str
    colour: str
    line: Literal["-", "--", ":"]
    meaning: str


MARKS = {
    "good": Mark("✓", BLUE, "-", "good or ok"),
    "ok": Mark("✓", BLUE, "-", "good or ok"),
    "junk": Mark("–", GREY, ":", "junk, which is not counted"),
    "wrong": Mark("✗", ORANGE, "--", "wrong"),
}


@dataclass(frozen=True)
class MontageMaterial:
    """What the montage is drawn from."""

    representation: str
    """Id of the codebook whose rankings are shown."""
    root: Path
    """Folder of the images."""
    manifest: pd.DataFrame
    """``image_id``, ``path`` (below the root)."""
    queries: pd.DataFrame
    """``query``, ``landmark``, ``image_id``, ``x_min``, ``y_min``, ``x_max``, ``y_max`` in pixels of the full image."""
    relevance: pd.DataFrame
    """``query``, ``image_id``, ``relevance``."""
    results: pd.DataFrame
    """From `lookalike.studies.landmark.files.read_top_images`, of two methods: the first images of every ranking."""


class _Choice(NamedTuple):
    """One query of one draw, with its average precision under both methods."""

    chosen_as: str
    query: str
    landmark: str
    draw: int
    before: float
    after: float


def montage_methods(methods: Sequence[str]) -> tuple[str, str] | None:
    """Which two methods the montage shows: TF-IDF, and S-DA or else the last learned one.

    Parameters
    ----------
    methods : sequence of str
        Those of a study, or those that have rankings.

    Returns
    -------
    tuple of str, or None
        None where there are not two.
    """
    learned = [method for method in methods if method != BEFORE]
    if BEFORE not in methods or not learned:
        return None
    return BEFORE, AFTER if AFTER in learned else learned[-1]


def montage(material: MontageMaterial | None, context: LandmarkContext) -> Plot:
    """Draw the query that learning helps most and the one that it harms most, each before and after.

    Parameters
    ----------
    material : MontageMaterial or None
        None where nothing was run, or the study has not both methods.
    context : LandmarkContext

    Returns
    -------
    Plot
        Frame columns `COLUMNS`, a row a thumbnail; ``place`` counts thumbnails from 1, ``rank`` images of the ranking.
        Without two rankings of a query it has no row, and the picture says why.
    """
    import pandas as pd

    if material is None:
        return _empty(context)
    pair = montage_methods([str(method) for method in dict.fromkeys(material.results["method"])])
    choices = _choices(material.results, pair[1]) if pair is not None else []
    if pair is None or not choices:
        return _empty(context)
    after = pair[1]
    paths = dict(zip(material.manifest["image_id"], material.manifest["path"], strict=True))
    records: list[dict[str, Any]] = []
    with paper_style():
        figure = new_figure(WIDTH, ROW * 2 * len(choices) + 0.4)
        grid = figure.add_gridspec(2 * len(choices), 2 + N_RESULTS, width_ratios=[1.5, 0.72] + [1.0] * N_RESULTS)
        for place, choice in enumerate(choices):
            first = 2 * place
            _draw_query(_bare(figure.add_subplot(grid[first : first + 2, 0])), choice, material, paths)
            for row, method in ((first, BEFORE), (first + 1, after)):
                panels = [_bare(figure.add_subplot(grid[row, column])) for column in range(1, 2 + N_RESULTS)]
                records += _draw_results(panels, choice, method, material, paths, context)
        _draw_legend(figure, context)
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    return Plot(figure, frame)


def why_empty(context: LandmarkContext) -> str:
    """Why a study that was run has no two rankings to show: one of the methods is not in it, or has no result.

    Parameters
    ----------
    context : LandmarkContext
    """
    pair = montage_methods(context.methods)
    if pair is None:
        return f"nothing to compare: the study has not both {context.title_of(BEFORE)} and a learned method"
    titles = " and ".join(context.title_of(method) for method in pair)
    reason = next((reason for (_, _, method), reason in context.not_converged.items() if method in pair), "")
    return f"no query has rankings by both {titles}" + (f": {reason}" if reason else "")


def notes_on_montage(context: LandmarkContext, plot: Plot, material: MontageMaterial | None) -> str:
    """Sentences of the caption: by which rule the queries were chosen, and what is left out."""
    if material is None or plot.frame.empty:
        return "" if context.not_run is not None else f"Not drawn: {why_empty(context)}."
    codebook = next((one.title for one in context.codebooks if one.id == material.representation), "")
    told = []
    for chosen_as, rows in plot.frame.groupby("chosen_as", sort=False):
        by_method = rows.drop_duplicates("method").set_index("method")["average_precision"]
        values = " to ".join(f"{100 * value:.1f}" for value in by_method)
        told.append(f"{chosen_as}: {rows['query'].iloc[0]}, average precision from {values} %")
    words = f", {codebook} words" if codebook else ""
    after = next(method for method in plot.frame["method"] if method != BEFORE)
    n = material.results.drop_duplicates(["query", "draw"]).shape[0]
    return (
        f"Queries by rule, of all {n} pairs of a query and a draw{words}, {context.title_of(BEFORE)} against "
        f"{context.title_of(after)}: {'; '.join(told)}. Images to learn from are not in the rankings, and the query's "
        "own image, which is, is not shown; AP: average precision; small numbers: ranks."
    )


def thumbnail(image: Image, side: int = THUMBNAIL) -> tuple[Image, float]:
    """Shrink an image until its longer side has `side` pixels.

    Parameters
    ----------
    image : ndarray of uint8, shape (height, width, 3)
    side : int

    Returns
    -------
    tuple of (ndarray of uint8, float)
        The small image, and by what its coordinates are multiplied (1 for an image that is small already).
    """
    from PIL import Image as Pillow

    height, width = image.shape[:2]
    scale = min(1.0, side / max(height, width))
    if scale == 1.0:
        return image, scale
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(Pillow.fromarray(image).resize(size, Pillow.Resampling.BOX)), scale


def _choices(results: pd.DataFrame, after: str) -> list[_Choice]:
    """The query and draw that gain the most, and those that lose the most; one alone where there is but one."""
    keys = ["query", "landmark", "draw"]
    each = results.drop_duplicates([*keys, "method"]).set_index([*keys, "method"])["average_precision"].unstack()
    if BEFORE not in each or after not in each:
        return []
    pairs = each[[BEFORE, after]].dropna().sort_index()
    if pairs.empty:
        return []
    gain = (pairs[after] - pairs[BEFORE]).to_numpy()
    best, worst = int(gain.argmax()), int(gain.argmin())
    # of queries that all gain, the least gain is no loss
    names = {best: "largest gain", worst: "largest loss" if gain[worst] < 0 else "smallest gain"}
    if gain[best] <= 0:
        names[best] = "smallest loss"
    chosen = []
    for place in dict.fromkeys((best, worst)):
        query, landmark, draw = pairs.index[place]
        before, afterwards = pairs.iloc[place]
        chosen.append(_Choice(names[place], str(query), str(landmark), int(draw), float(before), float(afterwards)))
    return chosen


def _bare(axis: Axes) -> Axes:
    """Return a panel without ticks and frame."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    return axis


def _draw_query(axis: Axes, choice: _Choice, material: MontageMaterial, paths: Mapping[int, str]) -> None:
    """Query image with its rectangle, and beneath it why it was chosen."""
    from matplotlib.patches import Rectangle

    query = _query(material, choice)
    image, scale = thumbnail(_load(material, paths, int(query.image_id)), 2 * THUMBNAIL)
    axis.imshow(image)
    x, y, right, bottom = (scale * float(getattr(query, name)) for name in ("x_min", "y_min", "x_max", "y_max"))
    for colour, width in (("white", 2.6), (VERMILLION, 1.3)):
        axis.add_patch(Rectangle((x, y), right - x, bottom - y, fill=False, edgecolor=colour, linewidth=width))
    axis.set_title(choice.chosen_as, fontsize=7.5, pad=3)
    # the label is as wide as the picture at most, whose column does not grow with it
    lines = [*wrap(landmark_title(choice.query), LABEL_LETTERS), f"draw {choice.draw}"]
    axis.set_xlabel("\n".join(lines), fontsize=6.5, labelpad=3)


def _draw_results(
    panels: Sequence[Axes],
    choice: _Choice,
    method: str,
    material: MontageMaterial,
    paths: Mapping[int, str],
    context: LandmarkContext,
) -> list[dict[str, Any]]:
    """One row: the method with its average precision, then its results, the query's own image left out."""
    table = material.results
    own = (table["query"] == choice.query) & (table["draw"] == choice.draw) & (table["method"] == method)
    of_query = material.relevance[material.relevance["query"] == choice.query]
    relevance = dict(zip(of_query["image_id"], of_query["relevance"], strict=True))
    query_image = int(_query(material, choice).image_id)
    shown = table[own & (table["image_id"] != query_image)].sort_values("rank").head(N_RESULTS)
    precision = choice.before if method == BEFORE else choice.after
    records = []
    for place, (axis, result) in enumerate(zip(panels[1:], shown.itertuples(), strict=False), start=1):
        row: Any = result
        kind = str(relevance.get(row.image_id, "wrong"))
        _draw_thumbnail(axis, thumbnail(_load(material, paths, int(row.image_id)))[0], MARKS[kind], int(row.rank))
        key = (choice.chosen_as, choice.query, choice.landmark, choice.draw, method, precision)
        records.append(dict(zip(COLUMNS, (*key, place, int(row.rank), int(row.image_id), kind), strict=True)))
    text = f"{context.title_of(method)}\nAP {100 * precision:.1f} %"
    panels[0].text(0.5, 0.5, text, ha="center", va="center", fontsize=7, transform=panels[0].transAxes)
    return records


def _query(material: MontageMaterial, choice: _Choice) -> Any:
    """Row of the table of queries."""
    return next(material.queries[material.queries["query"] == choice.query].itertuples())


def _draw_thumbnail(axis: Axes, image: Image, mark: Mark, rank: int) -> None:
    """An image in the frame of its kind, with its sign in a corner and its rank in another."""
    axis.imshow(image)
    axis.spines[:].set(visible=True, color=mark.colour, linewidth=2.2, linestyle=mark.line)
    for text, place, colour in ((mark.sign, (0.03, 0.97), mark.colour), (str(rank), (0.97, 0.03), "black")):
        at_top = place[1] > 0.5
        axis.text(
            *place, text, transform=axis.transAxes, fontsize=8 if at_top else 5.5, color=colour,
            ha="left" if at_top else "right", va="top" if at_top else "bottom", fontweight="bold" if at_top else None,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip


def _draw_legend(figure: Any, context: LandmarkContext) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(
            facecolor="white",
            edgecolor=mark.colour,
            linestyle=mark.line,
            linewidth=1.6,
            label=f"{mark.sign}  {mark.meaning}",
        )
        for mark in (MARKS["good"], MARKS["junk"], MARKS["wrong"])
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    if context.synthetic:
        figure.suptitle("Synthetic images", fontsize=7.5, color=GREY, x=0.99, ha="right")


def _load(material: MontageMaterial, paths: Mapping[int, str], image_id: int) -> Image:
    from lookalike.core.images import load_rgb

    return load_rgb(material.root / paths[image_id])


def _empty(context: LandmarkContext) -> Plot:
    import pandas as pd

    with paper_style():
        figure = new_figure(6.2, 0.9)
        axis = figure.subplots()
        axis.set_axis_off()
        text = context.not_run_sentence or why_empty(context)
        axis.text(0.5, 0.5, text, ha="center", va="center", fontsize=8, color=VERMILLION, wrap=True)
    return Plot(figure, pd.DataFrame(columns=list(COLUMNS)))
