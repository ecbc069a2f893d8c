"""One real step of `RelevanceTripletSampler` (Deep Ranking, Figure 4), its buffers so small that they can be shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.exhibits.image_grid import NEGATIVE, POSITIVE, QUERY, class_name, tile_of
from lookalike.exhibits.model import Gallery, Mark, Tile
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import GREEN, GREY
from lookalike.studies.finegrained.settings import Sampling
from lookalike.studies.finegrained.study import FinegrainedStudy, has
from lookalike.studies.finegrained.systems import OASIS, PAPER

if TYPE_CHECKING:
    from lookalike.data.relevance import RelevanceData
    from lookalike.learners.relevance_triplets import Buffers

N_BUFFERS, CAPACITY = 4, 7
"""Buffers shown, and images a buffer at most."""
STEPS = 3000
"""Steps among which one is looked for that shows all there is to see."""
NEW, GONE = Mark("", GREEN, "-", "new image"), Mark("✗", GREY, ":", "lowest key, makes room")
SETTINGS = ("weighted", "positive_threshold", "margin", "tries")
"""Settings of the study's sampler that hold in the drawing too."""


class Step(NamedTuple):
    """One step of the sampler: an image arrives and is kept, then a triplet is drawn. Rows of the relevance data."""

    category: int
    """Code of the category of the image that arrives."""
    place: int
    """Its place among those that are kept."""
    kept: npt.NDArray[np.int32]
    """Images that the pass under way keeps of its category, by falling key."""
    keys: npt.NDArray[np.float64]
    """Keys log(u) / r of these."""
    pushed_out: int
    """Which one made room for it."""
    pushed_key: float
    triplet: tuple[int, ...]
    buffers: dict[int, npt.NDArray[np.int32]]
    """Category to the images that triplets are drawn from."""


class ShownImage(NamedTuple):
    """One image of the drawing."""

    role: str
    row: int
    """Its row of the relevance data."""
    mark: Mark | None = None
    place: int = 0
    key: float = math.nan
    """log(u) / r; NaN where none is shown."""


@exhibit(
    f"{PAPER}/fig4",
    title="The sampler of triplets",
    needs=("manifest", "relevance"),
    optional=("results",),
    when=has(OASIS),
    condition="images to learn from",
    shows=(),
)
def sampler(study: FinegrainedStudy) -> Gallery:
    """How the online sampler draws a triplet: images arrive in buffers, one for each category, and leave them."""
    from lookalike.data.relevance import RelevanceData

    relevance, sampling = RelevanceData.load(study.path("relevance")), study.sampling
    try:
        step = find_step(relevance, sampling, study.seed)
        why = "the categories are too small for buffers that let anything go"
    except ValueError as error:
        step, why = None, f"no triplet can be drawn: {error}"
    if step is None:
        return Gallery(pd.DataFrame({"image_id": []}), (), notes=(why,))
    rows = rows_of(step, relevance)
    records = [_record(image, study, relevance) for row in rows.values() for image in row]
    tiles = tuple(tuple(_tile(image, study, relevance) for image in row) for row in rows.values())
    without = "all training images at hand instead of buffers"
    size = f"buffers of {sampling.capacity:,} images" if sampling.capacity else without
    notes = (
        "A new image gets the key log(u) / r: u is random between 0 and 1, r is the total relevance of the image. The "
        "images with the largest keys are kept for the next pass: here the image with the lowest key, "
        f"{_number(step.pushed_key)}, makes room.",
        "Query and positive come from one buffer. The negative, here out-of-class, comes from another.",
        f"This is a real step of the sampler, with buffers of {max(map(len, step.buffers.values()))} images so that "
        f"they can be shown. The study itself has {size} and {sampling.out_of_class:.0%} out-of-class negatives.",
    )
    return Gallery(pd.DataFrame(records), tiles, tuple(rows), notes=notes, tile=0.85)


def find_step(relevance: RelevanceData, sampling: Sampling, random_state: int) -> Step | None:
    """Run the sampler until it does what is to be shown; None where no arriving image pushed another out."""
    from lookalike.learners.relevance_triplets import RelevanceTripletSampler

    sizes = np.bincount(relevance.category, minlength=relevance.n_categories)
    # a buffer has to be smaller than its category for an image to push another out
    capacity = int(np.clip(np.median(sizes[sizes > 0]) // 2, 2, CAPACITY))
    own = {name: value for name in SETTINGS if (value := getattr(sampling, name)) is not None}
    sampler = RelevanceTripletSampler(relevance, out_of_class=1.0, capacity=capacity, random_state=random_state, **own)
    found, before = None, sampler.offered()
    for _ in range(STEPS):
        triplet = tuple(sampler.draw(1)[0].tolist())
        after = sampler.offered()
        found = _step(before, after, triplet) or found
        # best where the arriving image is not of the query's category
        if found is not None and found.category != relevance.category[found.triplet[0]]:
            break
        before = after
    return found


def _step(before: tuple[int, Buffers], after: tuple[int, Buffers], triplet: tuple[int, ...]) -> Step | None:
    """Return the step between two triplets; None unless one image arrived and pushed another out."""
    (n_before, old), (n_after, new) = before, after
    replaced = np.argwhere(old.next_members != new.next_members)
    if n_after - n_before != 1 or (new.next_sizes != old.next_sizes).any() or not len(replaced):
        return None
    category, place = replaced[0].tolist()
    order = np.argsort(-new.next_keys[category, : new.next_sizes[category]], kind="stable")
    return Step(
        category=category,
        place=order.tolist().index(place),
        kept=new.next_members[category, order],
        keys=new.next_keys[category, order],
        pushed_out=int(old.next_members[category, place]),
        pushed_key=float(old.next_keys[category, place]),
        triplet=triplet,
        buffers={code: new.members[code, :size] for code, size in enumerate(new.sizes)},
    )


def rows_of(step: Step, relevance: RelevanceData) -> dict[str, list[ShownImage]]:
    """Return images by the title of their row: the new one, those kept of its category, buffers, and the triplet."""
    titles = [class_name(str(name)) for name in relevance.category_names]
    kept = [
        ShownImage("kept", row, NEW if place == step.place else None, place + 1, key)
        for place, (row, key) in enumerate(zip(step.kept.tolist(), step.keys.tolist(), strict=True))
    ]
    new = kept[step.place]._replace(role="arriving", place=0)
    gone = ShownImage("pushed out", step.pushed_out, GONE, key=step.pushed_key)
    rows = {f"new image: {titles[step.category]}": [new], "kept, by key": [*kept, gone]}
    # the buffer of the new image's category stands beneath what is being filled for it
    query, _, negative = step.triplet
    wanted = [step.category, int(relevance.category[query]), int(relevance.category[negative])]
    others = [code for code, members in sorted(step.buffers.items()) if len(members)]
    marks = dict(zip(step.triplet, (QUERY, POSITIVE, NEGATIVE), strict=True))
    for code in list(dict.fromkeys([*wanted, *others]))[:N_BUFFERS]:
        buffer = enumerate(step.buffers[code].tolist(), start=1)
        rows[f"{titles[code]}: buffer"] = [ShownImage("buffer", row, marks.get(row), place) for place, row in buffer]
    return rows | {"triplet": [ShownImage(mark.meaning, row, mark) for row, mark in marks.items()]}


def _record(image: ShownImage, study: FinegrainedStudy, relevance: RelevanceData) -> dict[str, object]:
    """Return an image's row of the CSV."""
    image_id, category = int(relevance.image_id[image.row]), relevance.category_names[relevance.category[image.row]]
    named = {"role": image.role, "category": str(category), "place": image.place, "image_id": image_id}
    total = float(relevance.total[image.row])
    return {**named, "file": study.images[image_id][0], "key": image.key, "total_relevance": total}


def _tile(image: ShownImage, study: FinegrainedStudy, relevance: RelevanceData) -> Tile:
    """Return an image with its key beneath it, and the new one with the numbers that make its key."""
    words = "" if math.isnan(image.key) else f"key {_number(image.key)}"
    if image.role == "arriving":
        total = float(relevance.total[image.row])
        words = f"r = {_number(total)}\nu = {np.exp(image.key * total):.2f}\n{words}"
    return tile_of(study.path_of(int(relevance.image_id[image.row])), words, image.mark)


def _number(value: float) -> str:
    """Return a number with two significant digits, or all before the point, and a proper minus sign."""
    return (f"{value:,.0f}" if abs(value) >= 10 else f"{value:#.2g}").replace("-", "−")
