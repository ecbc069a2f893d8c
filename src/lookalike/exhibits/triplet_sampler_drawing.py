"""How triplets are sampled while images come in: buffers, an arriving image and a triplet (Deep Ranking, Figure 4).

Everything in the drawing happened: it shows one step of `lookalike.learners.relevance_triplets.RelevanceTripletSampler`
on the study's training images, with buffers so small that they can be shown. Part of
`lookalike.exhibits.triplet_pictures`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.exhibits.figures import Plot
from lookalike.exhibits.image_grid import class_name
from lookalike.exhibits.landmark_montage import Mark
from lookalike.exhibits.style import BLACK, GREEN, GREY, new_figure, paper_style
from lookalike.exhibits.triplet_context import DEEP, TripletContext, say_about_data
from lookalike.exhibits.triplet_thumbnails import NEGATIVE, POSITIVE, QUERY, PictureMaterial, empty_picture, not_drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lookalike.datasets.relevance import RelevanceData

COLUMNS = ("role", "category", "place", "image_id", "file", "key", "total_relevance")
N_BUFFERS, CAPACITY = 4, 7
"""Buffers drawn, and images a buffer at most."""
DRAWS = 3000
"""Steps among which one is looked for that shows all there is to see."""
ARRIVING = Mark("", GREEN, "-", "arriving")
SETTINGS = ("weighted", "positive_threshold", "margin", "tries")
"""Settings of the study's sampler that hold in the drawing too."""
STEP, LINE = 1.08, 1.42
"""From thumbnail to thumbnail and from row to row, in widths of a thumbnail."""


class _Step(NamedTuple):
    """One step of the sampler: an image arrives and is kept, then a triplet is drawn. Rows of the relevance data."""

    arriving: int
    category: int
    kept: npt.NDArray[np.int32]
    """Images that the pass under way keeps of the arriving image's category, by falling key."""
    keys: npt.NDArray[np.float64]
    pushed_out: int
    """Which one made room for it, or -1 where there was room."""
    pushed_key: float
    triplet: tuple[int, int, int]
    buffers: dict[int, npt.NDArray[np.int32]]
    """Category to the images that triplets are drawn from."""
    capacity: int


def sampler_drawing(
    material: PictureMaterial | None,
    relevance: RelevanceData | None,
    context: TripletContext,
    *,
    settings: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> Plot:
    """Draw one step of the online sampler (Figure 4): an image arrives, and a triplet is drawn from the buffers.

    Shown is the first step in which the arriving image takes the place of another and is not of the query's category;
    where there is none, the first in which it is kept. Negatives are out-of-class, as in the paper's figure.

    Parameters
    ----------
    material : PictureMaterial or None
        None where nothing was run; the manifest gives the pictures of `relevance`.
    relevance : RelevanceData or None
        None where there is no training relevance.
    context : TripletContext
    settings : mapping, optional
        The study's settings of the sampler; `SETTINGS` are taken from it.
    random_state : int
        Seed of the sampler.

    Returns
    -------
    Plot
        Frame columns `COLUMNS`, a row a thumbnail. ``role`` is ``arriving``, ``kept``, ``pushed out``, ``buffer``,
        ``query``, ``positive`` or ``negative``; ``key`` is log(u) / r, NaN where none is shown.
    """
    if material is None or relevance is None or relevance.n_images == 0:
        why = context.why_not_run(DEEP) or "there is no training relevance to sample triplets by"
        return empty_picture(why, COLUMNS)
    try:
        step = _find_step(relevance, settings or {}, random_state)
    except ValueError as error:
        return empty_picture(f"no triplet can be drawn: {error}", COLUMNS)
    if step is None:
        return empty_picture("the categories are too small for buffers that let anything go", COLUMNS)
    with paper_style():
        return _draw(step, material, relevance, context)


def caption_of_sampler(plot: Plot, context: TripletContext, settings: Mapping[str, Any] | None = None) -> str:
    """Caption of `sampler_drawing`: how to read it, and what was made smaller to be shown.

    Parameters
    ----------
    plot : Plot
    context : TripletContext
    settings : mapping, optional
        As of `sampler_drawing`; its ``capacity`` and ``out_of_class`` are told.
    """
    shows = "One step of the online triplet sampler on training images."
    frame = plot.frame
    if frame.empty:
        return not_drawn(shows, plot, context)
    arriving = frame[frame["role"] == "arriving"].iloc[0]
    out = frame[frame["role"] == "pushed out"]
    fate = f"the image of the lowest key, {_number(out['key'].iloc[0])}, makes room" if len(out) else "there is room"
    study = ""
    if settings:
        capacity = settings.get("capacity")
        size = f"buffers of {capacity:,} images" if capacity else "all training images at hand instead of buffers"
        share = settings.get("out_of_class")
        percent = "" if share is None else f" and {100 * float(share):.0f}% out-of-class negatives"
        study = f"; the study itself has {size}{percent}"
    n = int(frame[frame["role"] == "buffer"].groupby("category").size().max())
    return (
        f"{shows} {context.images}. An image arrives and gets the key log(u) / r, u uniform and r its total relevance; "
        f"those of largest key are kept for the next pass ({_number(arriving['key'])} is large enough: {fate}). Query "
        "and positive come from one buffer, the negative, here out-of-class, from another. Everything shown was drawn "
        f"by the sampler; buffers hold {n} images so that they can be shown{study}. Images are cut to squares."
    )


def _find_step(relevance: RelevanceData, settings: Mapping[str, Any], random_state: int) -> _Step | None:
    """Run the sampler until it does what is to be shown; None where no arriving image was ever kept."""
    from lookalike.learners.relevance_triplets import RelevanceTripletSampler

    sizes = np.bincount(relevance.category, minlength=relevance.n_categories)
    # a buffer has to be smaller than its category for an image to push another out
    capacity = int(np.clip(np.median(sizes[sizes > 0]) // 2, 2, CAPACITY))
    own = {name: settings[name] for name in SETTINGS if settings.get(name) is not None}
    sampler = RelevanceTripletSampler(relevance, out_of_class=1.0, capacity=capacity, random_state=random_state, **own)
    fallback: _Step | None = None
    before = sampler.get_state()
    for _ in range(DRAWS):
        query, positive, negative = (int(row) for row in sampler.draw(1)[0])
        after = sampler.get_state()
        step = _step(before, after, relevance, (query, positive, negative), capacity)
        if step is not None:
            if step.pushed_out >= 0 and step.category != relevance.category[query]:
                return step
            fallback = fallback or step
        before = after
    return fallback


def _step(
    before: Mapping[str, npt.NDArray[Any]],
    after: Mapping[str, npt.NDArray[Any]],
    relevance: RelevanceData,
    triplet: tuple[int, int, int],
    capacity: int,
) -> _Step | None:
    """What happened between two states of a sampler; None unless one image arrived, was kept, and its pass goes on."""
    if after["n_offered"] - before["n_offered"] != 1:
        return None
    old_sizes, sizes = before["reservoir_next_sizes"], after["reservoir_next_sizes"]
    if (sizes < old_sizes).any():
        return None
    old, new = before["reservoir_next_members"], after["reservoir_next_members"]
    old_keys, new_keys = before["reservoir_next_keys"], after["reservoir_next_keys"]
    grown, replaced = np.flatnonzero(sizes > old_sizes), np.argwhere(old != new)
    if len(grown):
        category, place, full = int(grown[0]), int(old_sizes[grown[0]]), False
    elif len(replaced) and sizes[replaced[0, 0]] == new.shape[1]:
        category, place, full = int(replaced[0, 0]), int(replaced[0, 1]), True
    else:
        return None
    order = np.argsort(-new_keys[category, : sizes[category]], kind="stable")
    buffers = {code: after["reservoir_members"][code, : after["reservoir_sizes"][code]] for code in range(len(sizes))}
    return _Step(
        arriving=int(new[category, place]),
        category=category,
        kept=new[category, order],
        keys=new_keys[category, order],
        pushed_out=int(old[category, place]) if full else -1,
        pushed_key=float(old_keys[category, place]) if full else float("nan"),
        triplet=triplet,
        buffers=buffers,
        capacity=capacity,
    )


def _draw(step: _Step, material: PictureMaterial, relevance: RelevanceData, context: TripletContext) -> Plot:
    import pandas as pd

    query, _, negative = step.triplet
    wanted = [int(relevance.category[query]), int(relevance.category[negative]), step.category]
    others = sorted(code for code, rows in step.buffers.items() if len(rows) and code not in wanted)
    shown = list(dict.fromkeys(wanted))
    # the arriving image's own buffer stands on top, beneath what is being filled for it
    shown = [step.category, *(code for code in shown if code != step.category), *others][:N_BUFFERS]
    canvas = _Canvas(step, material, relevance, shown)
    figure = new_figure(8.0, 8.0 * canvas.height / canvas.width + 0.1)
    axis = figure.subplots()
    axis.set(xlim=(0, canvas.width), ylim=(canvas.height, 0), aspect="equal")
    axis.set_axis_off()
    canvas.axis = axis
    say_about_data(figure, context)
    canvas.draw_filling()
    canvas.draw_buffers()
    canvas.draw_triplet()
    return Plot(figure, pd.DataFrame(canvas.records, columns=list(COLUMNS)))


class _Canvas:
    """The drawing, in widths of a thumbnail from its upper left corner, and a record of each thumbnail in it."""

    axis: Axes

    def __init__(self, step: _Step, material: PictureMaterial, relevance: RelevanceData, shown: list[int]) -> None:
        self.step, self.material, self.relevance, self.shown = step, material, relevance, shown
        self.records: list[dict[str, Any]] = []
        self.left = 2.5
        self.right = self.left + STEP * step.capacity
        self.width = self.right + 2.9
        self.top_of_buffers = 0.35 + LINE + 0.55
        self.height = self.top_of_buffers + LINE * len(shown) - 0.25

    def draw_filling(self) -> None:
        """The arriving image, what the pass under way keeps of its category, and the image that makes room."""
        step, top = self.step, 0.35
        name = class_name(self.relevance.category_names[step.category])
        self._text(self.left, top - 0.08, f"{name}: kept so far for the next pass, by key log(u) / r", va="bottom")
        at = int(np.flatnonzero(step.kept == step.arriving)[-1])
        total = float(self.relevance.total[step.arriving])
        self._thumbnail(0.15, top - 0.1, 1.2, step.arriving, ARRIVING, "arriving", key=float(step.keys[at]))
        u = float(np.exp(step.keys[at] * total))
        about = f"new image: {name}\nr = {_number(total)}, u = {u:.2f}\nkey {_number(float(step.keys[at]))}"
        self._text(0.15, top + 1.16, about, va="top", color=ARRIVING.colour)
        for place, (row, key) in enumerate(zip(step.kept, step.keys, strict=True)):
            x = self.left + STEP * place
            mark = ARRIVING if place == at else None
            self._thumbnail(x, top, 1.0, int(row), mark, "kept", place=place + 1, key=float(key))
            self._text(x + 0.5, top + 1.03, _number(float(key)), va="top", ha="center", size=5.5)
        self._arrow((1.4, top + 0.5), (self.left - 0.06, top + 0.5), ARRIVING)
        if step.pushed_out >= 0:
            x = self.right + 0.55
            self._thumbnail(x, top, 1.0, step.pushed_out, Mark("✗", GREY, ":", ""), "pushed out", key=step.pushed_key)
            self._text(x + 0.5, top + 1.03, _number(step.pushed_key), va="top", ha="center", size=5.5)
            self._text(x + 1.08, top + 0.5, "lowest key:\nmakes room", va="center")
            self._arrow((self.right, top + 0.5), (x - 0.06, top + 0.5), Mark("", GREY, ":", ""))

    def draw_buffers(self) -> None:
        """A row a category: what its last pass kept, which triplets are drawn from."""
        marks = dict(zip(self.step.triplet, (QUERY, POSITIVE, NEGATIVE), strict=True))
        for line, code in enumerate(self.shown):
            top = self._top_of(line)
            self._text(self.left - 0.15, top + 0.5, f"{class_name(self.relevance.category_names[code])}:\nbuffer",
                       va="center", ha="right")  # fmt: skip
            for place, row in enumerate(self.step.buffers[code]):
                x = self.left + STEP * place
                self._thumbnail(x, top, 1.0, int(row), marks.get(int(row)), "buffer", place=place + 1)

    def draw_triplet(self) -> None:
        """The three images at the right, each with an arrow from the buffer that it is drawn from."""
        lines = {code: line for line, code in enumerate(self.shown)}
        x = self.right + 1.3
        first = self._top_of(0)
        for place, (row, mark) in enumerate(zip(self.step.triplet, (QUERY, POSITIVE, NEGATIVE), strict=True)):
            top = first + 1.5 * place
            self._thumbnail(x, top, 1.2, row, mark, mark.meaning)
            self._text(x + 1.28, top + 0.6, mark.meaning, va="center", color=mark.colour)
            line = lines[int(self.relevance.category[row])]
            self._arrow((self.right, self._top_of(line) + 0.5), (x - 0.08, top + 0.6), mark)

    def _top_of(self, line: int) -> float:
        return self.top_of_buffers + LINE * line

    def _thumbnail(
        self,
        x: float,
        y: float,
        size: float,
        row: int,
        mark: Mark | None,
        role: str,
        *,
        place: int = 0,
        key: float = float("nan"),
    ) -> None:
        """An image with its upper left corner at (x, y), with frame and sign where it is marked."""
        from matplotlib.patches import Rectangle

        image_id = int(self.relevance.image_id[row])
        self.axis.imshow(self.material.load_square(image_id), extent=(x, x + size, y + size, y), zorder=2)
        if mark is not None:
            self.axis.add_patch(
                Rectangle(
                    (x, y), size, size, fill=False, edgecolor=mark.colour, linestyle=mark.line, linewidth=2, zorder=3
                )
            )
            if mark.sign:
                self.axis.text(
                    x + 0.06, y + 0.06, mark.sign, ha="left", va="top", fontsize=7, fontweight="bold",
                    color=mark.colour, zorder=4, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                )  # fmt: skip
        code = int(self.relevance.category[row])
        self.records.append(
            {
                "role": role,
                "category": str(self.relevance.category_names[code]),
                "place": place,
                "image_id": image_id,
                "file": self.material.file_of(image_id),
                "key": key,
                "total_relevance": float(self.relevance.total[row]),
            }
        )

    def _text(
        self, x: float, y: float, text: str, *, va: str, ha: str = "left", size: float = 6.5, color: str = BLACK
    ) -> None:
        self.axis.text(x, y, text, ha=ha, va=va, fontsize=size, color=color, linespacing=1.15)

    def _arrow(self, start: tuple[float, float], end: tuple[float, float], mark: Mark) -> None:
        from matplotlib.patches import FancyArrowPatch

        self.axis.add_patch(
            FancyArrowPatch(
                start,
                end,
                arrowstyle="-|>",
                mutation_scale=8,
                color=mark.colour,
                linestyle=mark.line,
                linewidth=1.1,
                shrinkA=0,
                shrinkB=0,
                zorder=1,
            )
        )


def _number(value: float) -> str:
    """Two digits that tell, or all before the point, with a proper minus sign."""
    return (f"{value:,.0f}" if abs(value) >= 10 else f"{value:#.2g}").replace("-", "−")
