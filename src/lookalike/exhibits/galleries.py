"""Query images with the first five images that OASIS finds, where it does best and where it fails, as thumbnails.

They stand for JMLR Tables 2 and 3, Tables 4 and 5 of the draft and NIPS Table 1, which show images of the web. Ours are
of a labelled data set and its test images of one fold. The papers picked their queries by hand; here a rule does. What
a result is, is told by a sign, a line and a colour, so that it reads without colours too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_table
from lookalike.exhibits.context import Context
from lookalike.exhibits.figures import Plot
from lookalike.exhibits.landmark_montage import MARKS, THUMBNAIL, Mark, thumbnail
from lookalike.exhibits.reference import ALL_PAPERS
from lookalike.exhibits.sidecar import write_sidecar
from lookalike.exhibits.style import GREY, VERMILLION, new_figure, paper_style, save_figure, title_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from lookalike.ranking.rankings import Rankings

Image = npt.NDArray[np.uint8]

N_RESULTS = 5
"""Images shown of each ranking, as in the papers' tables."""
METHOD = "oasis"
NIPS = "oasis-nips-2009"
PAPER_TITLES = {NIPS: "Chechik, Shalit, Sharma and Bengio, NIPS 2009", **ALL_PAPERS}
"""How captions name the source of a gallery, or of a figure about ratings."""
COLUMNS = ("row", "role", "image_id", "file", "class", "rank", "score", "relevant", "average_precision")
WIDTH, ROW, HEAD = 7.2, 1.2, 0.16
"""Width of the figure, height of one row and of the line above the first, in inches."""
LABEL_LETTERS, LABEL_LINES = 20, 2
"""Letters of a line beneath an image, and how many lines a name may take."""
PLACEHOLDER_GREY = 215
NUMBERS = ("no", "one", "two", "three", "four", "five")


@dataclass(frozen=True)
class Gallery:
    """One table of images of one paper."""

    paper: str
    name: str
    title: str
    shows: Literal["best", "worst"]
    n_queries: int


_ALL = (
    Gallery("oasis-jmlr-2010", "table2", "Table 2", "best", 4),
    Gallery("oasis-jmlr-2010", "table3", "Table 3", "worst", 3),
    Gallery("oasis-2009-draft", "table4", "Table 4", "best", 4),
    Gallery("oasis-2009-draft", "table5", "Table 5", "worst", 3),
    Gallery(NIPS, "table1", "Table 1", "best", 2),
)
GALLERIES: dict[tuple[str, str], Gallery] = {(gallery.paper, gallery.name): gallery for gallery in _ALL}
"""(paper id, exhibit name) to gallery."""


@dataclass(frozen=True)
class GalleryMaterial:
    """What a gallery is drawn from."""

    root: Path
    """Folder of the images."""
    manifest: pd.DataFrame
    """``image_id``, ``path`` (below the root), ``label``."""
    rankings: Rankings
    """Of one fold, with its neighbours; without any query where OASIS has no result."""


class _Query(NamedTuple):
    """A query that is shown: its row of the rankings, its image and how well it is answered."""

    row: int
    image_id: int
    average_precision: float


class _Choice(NamedTuple):
    """The queries of a gallery, and among how many the rule chose."""

    queries: list[_Query]
    n_candidates: int


def choose_queries(gallery: Gallery, material: GalleryMaterial) -> _Choice:
    """Choose the queries of a gallery by its rule.

    Successes are the test images of highest average precision. Failures are, among the test images that have no image
    of their class among their first five, those of lowest average precision. Both have at most one query a class, and
    of equal queries the one with the lower image id.

    Parameters
    ----------
    gallery : Gallery
    material : GalleryMaterial

    Returns
    -------
    tuple of (list of queries, number of candidates)
        Fewer queries than the gallery has rows where there are not as many.
    """
    rankings = material.rankings
    precision = rankings.average_precision()
    labels = _labels(material)
    candidates = np.flatnonzero(~np.isnan(precision))
    if gallery.shows == "worst":
        first_found = np.full(rankings.n_queries, np.iinfo(np.int32).max, dtype=np.int64)
        first_found[candidates] = rankings.ranks[rankings.offsets[:-1][candidates]]
        candidates = candidates[first_found[candidates] > N_RESULTS]
    sign = -1.0 if gallery.shows == "best" else 1.0
    order = candidates[np.lexsort((rankings.query_ids[candidates], sign * precision[candidates]))]
    chosen: dict[str, _Query] = {}
    for row in order:
        image_id = int(rankings.query_ids[row])
        chosen.setdefault(labels[image_id], _Query(int(row), image_id, float(precision[row])))
    return _Choice(list(chosen.values())[: gallery.n_queries], len(candidates))


def draw_gallery(gallery: Gallery, material: GalleryMaterial | None, context: Context) -> Plot:
    """Draw the queries of a gallery, each in a row with the first five images that OASIS finds.

    Parameters
    ----------
    gallery : Gallery
    material : GalleryMaterial or None
        None where nothing was run.
    context : Context

    Returns
    -------
    Plot
        Frame columns `COLUMNS`, a row an image; rank and score of a query are 0 and NaN. An image that cannot be read
        any more is a grey area with the name of its file. Without a query to show the picture says why.

    Raises
    ------
    LookalikeError
        When the folder of the images is missing.
    """
    import pandas as pd

    queries = [] if material is None else choose_queries(gallery, material).queries
    if material is None or not queries:
        return _empty(gallery, material, context)
    if not material.root.is_dir():
        raise LookalikeError(f"there are no images at {material.root}: put them back, or make them again, then go on")
    records: list[tuple[Any, ...]] = []
    with paper_style():
        figure = new_figure(WIDTH, ROW * len(queries) + HEAD + 0.4)
        # a row of heads above, and a gap between the query and its results
        grid = figure.add_gridspec(
            1 + len(queries),
            2 + N_RESULTS,
            width_ratios=[1.0, 0.08] + [1.0] * N_RESULTS,
            height_ratios=_heights(queries),
        )
        heads = ("query image", f"first {N_RESULTS} images of {title_of(METHOD, context.method_titles)}, by rank")
        for columns, head in zip((grid[0, 0], grid[0, 2:]), heads, strict=True):
            axis = _bare(figure.add_subplot(columns))
            axis.text(0.0, 0.0, head, fontsize=8, transform=axis.transAxes)
        for place, query in enumerate(queries, start=1):
            panels = [_bare(figure.add_subplot(grid[place, column])) for column in (0, *range(2, 2 + N_RESULTS))]
            records += _draw_row(panels, place, query, material)
        _draw_legend(figure, context)
    return Plot(figure, pd.DataFrame(records, columns=list(COLUMNS)))


def gallery_caption(
    gallery: Gallery, material: GalleryMaterial | None, context: Context, drawn: Plot, fold: int
) -> str:
    """Caption of a gallery: what is shown, by which rule, of which data, and which exhibit of which paper it follows.

    Parameters
    ----------
    gallery : Gallery
    material : GalleryMaterial or None
    context : Context
        With the one subset that is shown.
    drawn : Plot
        From `draw_gallery`.
    fold : int
        Which partition the rankings are of, from 0.
    """
    cases = "does best" if gallery.shows == "best" else "fails"
    parts = [f"Query images for which OASIS {cases}, each with the first {N_RESULTS} images that it finds."]
    if material is None:
        parts.append(f"{context.title}: {_why_empty(gallery, None, context)}.")
    else:
        subset = context.subsets[0]
        n = material.rankings.n_queries
        parts.append(
            f"{'Synthetic images' if context.synthetic else 'Images'} of {context.title}, {subset.title}, "
            f"representation {context.representation}, partition {fold + 1} of {context.n_folds}: each of its {n:,} "
            "test images queries all others."
        )
        if drawn.frame.empty:
            parts.append(f"Not drawn: {_why_empty(gallery, material, context)}.")
        else:
            parts.append(_rule(gallery, material, drawn.frame["row"].nunique()))
            parts.append("Beneath each image: its class; AP: average precision of the query.")
        unread = int(drawn.frame["file"].map(lambda file: _read(material.root / file) is None).sum())
        parts += [f"Grey: {unread} of the images, which cannot be read."] if unread else []
    parts.append(f"Form of {gallery.title} in {PAPER_TITLES[gallery.paper]}, which shows images of the web.")
    return " ".join(parts)


def write_gallery(
    paper: str,
    name: str,
    material: GalleryMaterial | None,
    context: Context,
    *,
    fold: int,
    folder: str | os.PathLike[str],
    sources: Sequence[str] = (),
) -> list[Path]:
    """Draw one gallery and write all its files.

    Parameters
    ----------
    paper, name : str
        A key of `GALLERIES`.
    material : GalleryMaterial or None
        None where nothing was run.
    context : Context
        With the one subset that is shown.
    fold : int
        Which partition the rankings are of, from 0.
    folder : path-like
        Where to write, ``results/{dataset}/exhibits/{paper}``.
    sources : sequence of str
        Files that it is drawn from, kept in the sidecar.

    Returns
    -------
    list of Path
        ``{name}.csv``, ``.png``, ``.svg``, ``.pdf``, ``.json``.

    Raises
    ------
    LookalikeError
        When there is no such gallery, the context has no subset, or the images are gone.
    """
    if (paper, name) not in GALLERIES:
        known = ", ".join("/".join(key) for key in GALLERIES)
        raise LookalikeError(f"there is no gallery {paper}/{name}: choose one of {known}")
    if not context.subsets:
        raise LookalikeError(f"{paper}/{name} of {context.dataset} has no subset to draw: list some in config.yaml")
    gallery, folder = GALLERIES[paper, name], Path(folder)
    drawn = draw_gallery(gallery, material, context)
    written = [folder / f"{name}.csv"]
    write_table(drawn.frame, written[0])
    written += save_figure(drawn.figure, folder / name)
    sidecar = write_sidecar(
        folder,
        paper=paper,
        name=name,
        kind="picture",
        title=gallery.title,
        caption=gallery_caption(gallery, material, context, drawn, fold),
        dataset=context.dataset,
        dataset_title=context.title,
        synthetic=context.synthetic,
        files=written,
        drawn_by="lookalike.exhibits.galleries",
        not_run=context.not_run_sentence,
        sources=sources,
    )
    return [*written, sidecar]


def class_name(label: str) -> str:
    """Name of a class folder without its number: ``dog`` of ``056.dog``."""
    return re.sub(r"^\d+\.", "", label)


def _rule(gallery: Gallery, material: GalleryMaterial, n_shown: int) -> str:
    """By which rule the queries were chosen, among how many, and where there were too few."""
    n_candidates = choose_queries(gallery, material).n_candidates
    if gallery.shows == "best":
        among, which = f"of all {n_candidates:,}", "highest"
    else:
        among, which = f"of the {n_candidates:,} without an image of their class among these", "lowest"
    few = "" if n_shown == gallery.n_queries else f" (the paper shows {NUMBERS[gallery.n_queries]})"
    return (
        f"Queries by rule, none picked by hand: {among}, the {NUMBERS[n_shown]} of {which} average "
        f"precision, at most one a class, of equal ones the lower image id{few}."
    )


def _labels(material: GalleryMaterial) -> dict[int, str]:
    return dict(zip(material.manifest["image_id"], material.manifest["label"], strict=True))


def _draw_row(panels: Sequence[Axes], place: int, query: _Query, material: GalleryMaterial) -> list[tuple[Any, ...]]:
    """The query and its results; one record an image."""
    rankings = material.rankings
    if rankings.neighbours is None or rankings.neighbour_scores is None:
        raise LookalikeError("these rankings have no neighbours: rank again with n_neighbours of 5 or more")
    labels = _labels(material)
    paths = dict(zip(material.manifest["image_id"], material.manifest["path"], strict=True))
    own, precision = labels[query.image_id], query.average_precision
    _draw_image(panels[0], material.root / paths[query.image_id], None)
    _write_beneath(panels[0], own, f"AP {100 * precision:.1f} %")
    nothing = float("nan")
    records = [(place, "query", query.image_id, paths[query.image_id], own, 0, nothing, "", precision)]
    found = rankings.query_ids[rankings.neighbours[query.row, :N_RESULTS]]
    scores = rankings.neighbour_scores[query.row, :N_RESULTS]
    for rank, (axis, image, score) in enumerate(zip(panels[1:], found, scores, strict=False), start=1):
        image_id = int(image)
        right = labels[image_id] == own
        _draw_image(axis, material.root / paths[image_id], MARKS["good" if right else "wrong"])
        _write_beneath(axis, labels[image_id])
        key = (place, "result", image_id, paths[image_id], labels[image_id], rank, float(score))
        records.append((*key, "yes" if right else "no", precision))
    return records


def _heights(queries: Sequence[_Query]) -> list[float]:
    """Heights of the heads and of the rows, relative to one another."""
    return [HEAD, *[ROW] * len(queries)]


def _bare(axis: Axes) -> Axes:
    """Return a panel without ticks and frame, whose picture stands on the names beneath it."""
    axis.set(xticks=[], yticks=[], anchor="S")
    axis.spines[:].set_visible(False)
    return axis


def _draw_image(axis: Axes, path: Path, mark: Mark | None) -> None:
    """A thumbnail in the frame of its kind with its sign in a corner; a query has neither."""
    image = _read(path)
    if image is None:
        image = np.full((THUMBNAIL * 3 // 4, THUMBNAIL, 3), PLACEHOLDER_GREY, dtype=np.uint8)
        text = "\n".join(["cannot be read:", *wrap(path.name, 16)])
        axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", fontsize=5.5)
    axis.imshow(thumbnail(image)[0])
    if mark is None:
        axis.spines[:].set(visible=True, color="black", linewidth=0.6)
        return
    axis.spines[:].set(visible=True, color=mark.colour, linewidth=2.0, linestyle=mark.line)
    axis.text(
        0.03, 0.97, mark.sign, transform=axis.transAxes, fontsize=8, color=mark.colour, ha="left", va="top",
        fontweight="bold", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def _write_beneath(axis: Axes, label: str, *more: str) -> None:
    """The class beneath an image, as wide as the image at most, whose column does not grow with it."""
    lines = wrap(class_name(label), LABEL_LETTERS, max_lines=LABEL_LINES, placeholder="…")
    axis.set_xlabel("\n".join([*lines, *more]), fontsize=6.5, labelpad=3)


def _draw_legend(figure: Any, context: Context) -> None:
    from matplotlib.patches import Patch

    entries = ((MARKS["good"], "of the query's class"), (MARKS["wrong"], "of another class"))
    handles = [
        Patch(
            facecolor="white",
            edgecolor=mark.colour,
            linestyle=mark.line,
            linewidth=1.6,
            label=f"{mark.sign}  {meaning}",
        )
        for mark, meaning in entries
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    if context.synthetic:
        figure.suptitle("Synthetic images", fontsize=7.5, color=GREY, x=0.99, ha="right")


def _read(path: Path) -> Image | None:
    """Pixels of an image; None where it cannot be read."""
    from lookalike.core.images import load_rgb

    try:
        return load_rgb(path)
    except LookalikeError:
        return None


def _why_empty(gallery: Gallery, material: GalleryMaterial | None, context: Context) -> str:
    """Why there is no query to show: nothing was run, OASIS has no result, or there is no such query."""
    if material is None:
        return context.not_run_sentence or "not run"
    if material.rankings.n_queries == 0:
        return f"{title_of(METHOD, context.method_titles)} has no result here"
    if gallery.shows == "worst":
        return f"every query has an image of its class among its first {N_RESULTS}"
    return "no query has another image of its class"


def _empty(gallery: Gallery, material: GalleryMaterial | None, context: Context) -> Plot:
    """A picture that says why there is no query to show."""
    import pandas as pd

    text = _why_empty(gallery, material, context)
    with paper_style():
        figure = new_figure(6.2, 0.9)
        axis = figure.subplots()
        axis.set_axis_off()
        axis.text(0.5, 0.5, text, ha="center", va="center", fontsize=8, color=VERMILLION, wrap=True)
    return Plot(figure, pd.DataFrame(columns=list(COLUMNS)))
