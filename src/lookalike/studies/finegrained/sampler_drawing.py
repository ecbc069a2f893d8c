"""One real step of `RelevanceTripletSampler` (Deep Ranking, Figure 4), its buffers so small that they can be shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.images import shrink
from lookalike.exhibits.image_grid import NEGATIVE, POSITIVE, QUERY, THUMBNAIL, class_name, empty_picture
from lookalike.exhibits.model import Mark, Picture
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import GREEN, GREY
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import DEEP, PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from lookalike.data.relevance import RelevanceData

N_BUFFERS, CAPACITY = 4, 7
"""Buffers drawn, and images a buffer at most."""
DRAWS = 3000
"""Steps among which one is looked for that shows all there is to see."""
ARRIVING, GONE = Mark("", GREEN, "-", "arriving"), Mark("✗", GREY, ":", "")
SETTINGS = ("weighted", "positive_threshold", "margin", "tries")
"""Settings of the study's sampler that hold in the drawing too."""
STEP, LINE = 1.08, 1.42
"""From thumbnail to thumbnail and from row to row, in widths of a thumbnail."""
WIDTH = 8.0
"""Of the drawing, in inches."""


class Step(NamedTuple):
    """One step of the sampler: an image arrives and is kept, then a triplet is drawn. Rows of the relevance data."""

    arriving: int
    category: int
    kept: npt.NDArray[np.int32]
    """Images that the pass under way keeps of the arriving image's category, by falling key."""
    keys: npt.NDArray[np.float64]
    """Keys log(u) / r of these."""
    pushed_out: int
    """Which one made room for it."""
    pushed_key: float
    triplet: tuple[int, ...]
    buffers: dict[int, npt.NDArray[np.int32]]
    """Category to the images that triplets are drawn from."""
    capacity: int

    @property
    def place(self) -> int:
        """Where the arriving image stands among those that are kept."""
        return int(np.flatnonzero(self.kept == self.arriving)[-1])


@exhibit(f"{PAPER}/fig4", title="The sampler of triplets", needs=("manifest",), optional=("relevance", "metrics"))
def sampler(study: FinegrainedStudy) -> Picture:
    """One step of the online triplet sampler on training images."""
    from lookalike.data.relevance import RelevanceData

    relevance = RelevanceData.load(study.path("relevance")) if study.has("relevance") else None
    if relevance is None or relevance.n_images == 0:
        return empty_picture(study.why_not_run(DEEP) or "there is no training relevance to sample triplets by")
    try:
        step = find_step(relevance, study.settings["sampling"], int(study.settings["seed"]))
    except ValueError as error:
        return empty_picture(f"no triplet can be drawn: {error}")
    if step is None:
        return empty_picture("the categories are too small for buffers that let anything go")
    drawing = Drawing(step, study, relevance)
    size = (WIDTH, WIDTH * drawing.height / drawing.width + 0.1)
    return Picture(pd.DataFrame(drawing.records), drawing.paint, size, _notes(step, study))


def _notes(step: Step, study: FinegrainedStudy) -> tuple[str, ...]:
    """How to read it, and what was made smaller to be shown."""
    sampling = study.settings["sampling"]
    capacity, share = sampling.get("capacity"), sampling.get("out_of_class")
    size = f"buffers of {capacity:,} images" if capacity else "all training images at hand instead of buffers"
    percent = "" if share is None else f" and {100 * float(share):.0f}% out-of-class negatives"
    n = max(map(len, step.buffers.values()))
    return (
        "An image arrives and gets the key log(u) / r, u uniform and r its total relevance; those of largest key are "
        f"kept for the next pass ({_number(step.keys[step.place])} is large enough: the image of the lowest key, "
        f"{_number(step.pushed_key)}, makes room).",
        "Query and positive come from one buffer, the negative, here out-of-class, from another. Everything shown was "
        f"drawn by the sampler; buffers hold {n} images so that they can be shown; the study itself has "
        f"{size}{percent}. Images are cut to squares.",
    )


def find_step(relevance: RelevanceData, settings: Mapping[str, Any], random_state: int) -> Step | None:
    """Run the sampler until it does what is to be shown; None where no arriving image pushed another out."""
    from lookalike.learners.relevance_triplets import RelevanceTripletSampler

    sizes = np.bincount(relevance.category, minlength=relevance.n_categories)
    # a buffer has to be smaller than its category for an image to push another out
    capacity = int(np.clip(np.median(sizes[sizes > 0]) // 2, 2, CAPACITY))
    own = {name: settings[name] for name in SETTINGS if settings.get(name) is not None}
    sampler = RelevanceTripletSampler(relevance, out_of_class=1.0, capacity=capacity, random_state=random_state, **own)
    found: Step | None = None
    before = sampler.get_state()
    for _ in range(DRAWS):
        triplet = tuple(sampler.draw(1)[0].tolist())
        after = sampler.get_state()
        found = _step(before, after, triplet, capacity) or found
        # best where the arriving image is not of the query's category
        if found is not None and found.category != relevance.category[found.triplet[0]]:
            break
        before = after
    return found


def _step(
    before: Mapping[str, npt.NDArray[Any]],
    after: Mapping[str, npt.NDArray[Any]],
    triplet: tuple[int, ...],
    capacity: int,
) -> Step | None:
    """What happened between two states of a sampler; None unless one image arrived and pushed another out."""
    old_sizes, sizes = before["reservoir_next_sizes"], after["reservoir_next_sizes"]
    if after["n_offered"] - before["n_offered"] != 1 or (sizes != old_sizes).any():
        return None
    old, new = before["reservoir_next_members"], after["reservoir_next_members"]
    old_keys, new_keys = before["reservoir_next_keys"], after["reservoir_next_keys"]
    replaced = np.argwhere(old != new)
    if not len(replaced):
        return None
    category, place = replaced[0].tolist()
    order = np.argsort(-new_keys[category, : sizes[category]], kind="stable")
    members = after["reservoir_members"]
    return Step(
        arriving=int(new[category, place]),
        category=category,
        kept=new[category, order],
        keys=new_keys[category, order],
        pushed_out=int(old[category, place]),
        pushed_key=float(old_keys[category, place]),
        triplet=triplet,
        buffers={code: members[code, :size] for code, size in enumerate(after["reservoir_sizes"])},
        capacity=capacity,
    )


class Drawing:
    """What stands where, in widths of a thumbnail from the upper left corner: thumbnails, words and arrows."""

    def __init__(self, step: Step, study: FinegrainedStudy, relevance: RelevanceData) -> None:
        self.step, self.study, self.relevance = step, study, relevance
        self.thumbnails: list[tuple[float, float, float, int, Mark | None]] = []
        self.words: list[tuple[float, float, str, dict[str, Any]]] = []
        self.arrows: list[tuple[tuple[float, float], tuple[float, float], Mark]] = []
        self.records: list[dict[str, Any]] = []
        """What the CSV holds of each thumbnail; ``key`` is log(u) / r, NaN where none is shown."""
        query, _, negative = step.triplet
        wanted = [int(relevance.category[row]) for row in (query, negative)]
        others = sorted(code for code, rows in step.buffers.items() if len(rows) and code not in wanted)
        # the arriving image's own buffer stands on top, beneath what is being filled for it
        self.shown = list(dict.fromkeys((step.category, *wanted, *others)))[:N_BUFFERS]
        self.left = 2.5
        self.right = self.left + STEP * step.capacity
        self.width = self.right + 2.9
        top_of_buffers = 0.35 + LINE + 0.55
        self.tops = [top_of_buffers + LINE * line for line in range(len(self.shown))]
        self.height = top_of_buffers + LINE * len(self.shown) - 0.25
        self._place_filling()
        self._place_buffers()
        self._place_triplet()

    def paint(self, canvas: Canvas) -> None:
        """Draw everything on an empty figure."""
        from matplotlib.patches import FancyArrowPatch, Rectangle

        axis = canvas.subplots()
        axis.set(xlim=(0, self.width), ylim=(self.height, 0), aspect="equal")
        axis.set_axis_off()
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        for x, y, size, row, mark in self.thumbnails:
            axis.imshow(self._square(row), extent=(x, x + size, y + size, y), zorder=2)
            if mark is not None:
                look: Any = {"edgecolor": mark.colour, "linestyle": mark.line, "linewidth": 2}
                axis.add_patch(Rectangle((x, y), size, size, fill=False, zorder=3, **look))
            if mark is not None and mark.sign:
                axis.text(x + 0.06, y + 0.06, mark.sign, ha="left", va="top", fontsize=7, fontweight="bold",
                          color=mark.colour, zorder=4, bbox=box)  # fmt: skip
        for x, y, text, look in self.words:
            axis.text(x, y, text, **({"fontsize": 6.5, "linespacing": 1.15} | look))
        for start, end, mark in self.arrows:
            axis.add_patch(
                FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=8, color=mark.colour, linestyle=mark.line,
                                linewidth=1.1, shrinkA=0, shrinkB=0, zorder=1)
            )  # fmt: skip

    def _square(self, row: int) -> npt.NDArray[np.uint8]:
        """The square in the middle of an image, small."""
        from lookalike.core.images import load_rgb

        pixels = load_rgb(self.study.path_of(int(self.relevance.image_id[row])))
        edge = min(pixels.shape[:2])
        top, left = ((length - edge) // 2 for length in pixels.shape[:2])
        return shrink(pixels[top : top + edge, left : left + edge], THUMBNAIL)

    def _place_filling(self) -> None:
        """The arriving image, what the pass under way keeps of its category, and the image that makes room."""
        step, top, left = self.step, 0.35, self.left
        name = self._name(step.category)
        self._say(left, top - 0.08, f"{name}: kept so far for the next pass, by key log(u) / r", va="bottom")
        key, total = float(step.keys[step.place]), float(self.relevance.total[step.arriving])
        self._show(0.15, top - 0.1, 1.2, step.arriving, ARRIVING, "arriving", key=key)
        about = f"new image: {name}\nr = {_number(total)}, u = {np.exp(key * total):.2f}\nkey {_number(key)}"
        self._say(0.15, top + 1.16, about, va="top", color=ARRIVING.colour)
        for place, (row, own_key) in enumerate(zip(step.kept.tolist(), step.keys.tolist(), strict=True)):
            mark = ARRIVING if place == step.place else None
            self._show_key(left + STEP * place, top, row, mark, "kept", place=place + 1, key=own_key)
        self.arrows.append(((1.4, top + 0.5), (left - 0.06, top + 0.5), ARRIVING))
        x = self.right + 0.55
        self._show_key(x, top, step.pushed_out, GONE, "pushed out", key=step.pushed_key)
        self._say(x + 1.08, top + 0.5, "lowest key:\nmakes room", va="center")
        self.arrows.append(((self.right, top + 0.5), (x - 0.06, top + 0.5), GONE))

    def _place_buffers(self) -> None:
        """A row a category: what its last pass kept, which triplets are drawn from."""
        marks = dict(zip(self.step.triplet, (QUERY, POSITIVE, NEGATIVE), strict=True))
        for top, code in zip(self.tops, self.shown, strict=True):
            self._say(self.left - 0.15, top + 0.5, f"{self._name(code)}:\nbuffer", va="center", ha="right")
            for place, row in enumerate(self.step.buffers[code].tolist()):
                self._show(self.left + STEP * place, top, 1.0, row, marks.get(row), "buffer", place=place + 1)

    def _place_triplet(self) -> None:
        """The three images at the right, each with an arrow from the buffer that it is drawn from."""
        x = self.right + 1.3
        for place, (row, mark) in enumerate(zip(self.step.triplet, (QUERY, POSITIVE, NEGATIVE), strict=True)):
            top = self.tops[0] + 1.5 * place
            self._show(x, top, 1.2, row, mark, mark.meaning)
            self._say(x + 1.28, top + 0.6, mark.meaning, va="center", color=mark.colour)
            start = self.tops[self.shown.index(int(self.relevance.category[row]))] + 0.5
            self.arrows.append(((self.right, start), (x - 0.08, top + 0.6), mark))

    def _name(self, code: int) -> str:
        return class_name(str(self.relevance.category_names[code]))

    def _say(self, x: float, y: float, text: str, **look: Any) -> None:
        self.words.append((x, y, text, look))

    def _show_key(
        self, x: float, y: float, row: int, mark: Mark | None, role: str, *, place: int = 0, key: float
    ) -> None:
        """Place an image with its key beneath it."""
        self._show(x, y, 1.0, row, mark, role, place=place, key=key)
        self._say(x + 0.5, y + 1.03, _number(key), va="top", ha="center", fontsize=5.5)

    def _show(
        self, x: float, y: float, size: float, row: int, mark: Mark | None, role: str, *, place: int = 0,
        key: float = math.nan,
    ) -> None:  # fmt: skip
        """Place an image with its upper left corner at (x, y)."""
        image_id, code = int(self.relevance.image_id[row]), int(self.relevance.category[row])
        self.thumbnails.append((x, y, size, row, mark))
        self.records.append({
            "role": role, "category": str(self.relevance.category_names[code]), "place": place, "image_id": image_id,
            "file": self.study.images[image_id][0], "key": key, "total_relevance": float(self.relevance.total[row]),
        })  # fmt: skip


def _number(value: float) -> str:
    """Two digits that tell, or all before the point, with a proper minus sign."""
    return (f"{value:,.0f}" if abs(value) >= 10 else f"{value:#.2g}").replace("-", "−")
