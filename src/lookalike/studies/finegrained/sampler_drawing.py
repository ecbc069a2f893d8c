"""One real step of `RelevanceTripletSampler` (Deep Ranking, Figure 4), its buffers so small that they can be shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from lookalike.core.settings.networks import Sampling
from lookalike.exhibits.image_grid import NEGATIVE, POSITIVE, QUERY, class_name, tile_of
from lookalike.exhibits.model import Gallery, Mark, Tile
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import GREEN, GREY
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


class Step(NamedTuple):
    """One step of the sampler: an image arrives and is kept, then a triplet is drawn. Images are rows of relevance."""

    category: int
    """Code of the category of the image that arrives."""
    place: int
    """Where it stands among those that are kept of its category, in place of another."""
    before: Buffers
    after: Buffers
    triplet: tuple[int, ...]


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
    records: list[dict[str, object]] = []

    def tile_with_record(role: str, row: int, mark: Mark | None = None, place: int = 0, key: float = math.nan) -> Tile:
        """Note an image as a row of the CSV, and return its tile, the new one with the numbers that make its key."""
        image_id, total = int(relevance.image_id[row]), float(relevance.total[row])
        category = str(relevance.category_names[relevance.category[row]])
        named = {"role": role, "category": category, "place": place, "image_id": image_id}
        records.append({**named, "file": study.images[image_id][0], "key": key, "total_relevance": total})
        words = "" if math.isnan(key) else f"key {_number(key)}"
        parts = f"r = {_number(total)}\nu = {np.exp(key * total):.2f}\n" if role == "arriving" else ""
        return tile_of(study.path_of(image_id), parts + words, mark)

    category, place, before, after, triplet = step
    titles = [class_name(str(name)) for name in relevance.category_names]
    kept, keys = after.next_members[category].tolist(), after.next_keys[category].tolist()
    order = np.argsort(-after.next_keys[category, : after.next_sizes[category]], kind="stable").tolist()
    gone, gone_key = int(before.next_members[category, place]), float(before.next_keys[category, place])
    rows = {f"new image: {titles[category]}": [tile_with_record("arriving", kept[place], NEW, key=keys[place])]}
    rows["kept, by key"] = [
        tile_with_record("kept", kept[own], NEW if own == place else None, rank, keys[own])
        for rank, own in enumerate(order, 1)
    ]
    rows["kept, by key"].append(tile_with_record("pushed out", gone, GONE, key=gone_key))
    # the buffer of the new image's category stands beneath what is being filled for it
    query, _, negative = triplet
    filled = np.flatnonzero(after.sizes).tolist()
    wanted = [category, int(relevance.category[query]), int(relevance.category[negative]), *filled]
    marks = dict(zip(triplet, (QUERY, POSITIVE, NEGATIVE), strict=True))
    for code in list(dict.fromkeys(wanted))[:N_BUFFERS]:
        buffer = enumerate(after.members[code, : after.sizes[code]].tolist(), start=1)
        rows[f"{titles[code]}: buffer"] = [
            tile_with_record("buffer", row, marks.get(row), rank) for rank, row in buffer
        ]
    rows["triplet"] = [tile_with_record(mark.meaning, row, mark) for row, mark in marks.items()]
    without = "all training images at hand instead of buffers"
    size = f"buffers of {sampling.capacity:,} images" if sampling.capacity else without
    notes = (
        "A new image gets the key log(u) / r: u is random between 0 and 1, r is the total relevance of the image. The "
        "images with the largest keys are kept for the next pass: here the image with the lowest key, "
        f"{_number(gone_key)}, makes room.",
        "Query and positive come from one buffer. The negative, here out-of-class, comes from another.",
        f"This is a real step of the sampler, with buffers of {after.sizes.max()} images so that they can be shown. "
        f"The study itself has {size} and {sampling.out_of_class:.0%} out-of-class negatives.",
    )
    return Gallery(pd.DataFrame(records), tuple(map(tuple, rows.values())), tuple(rows), notes=notes, tile=0.85)


def find_step(relevance: RelevanceData, sampling: Sampling, random_state: int) -> Step | None:
    """Run the sampler until it does what is to be shown; None where no arriving image pushed another out."""
    from lookalike.learners.relevance_triplets import RelevanceTripletSampler

    sizes = np.bincount(relevance.category, minlength=relevance.n_categories)
    # a buffer has to be smaller than its category for an image to push another out
    capacity = int(np.clip(np.median(sizes[sizes > 0]) // 2, 2, CAPACITY))
    own = sampling.given("weighted", "positive_threshold", "margin", "tries")
    sampler = RelevanceTripletSampler(relevance, out_of_class=1.0, capacity=capacity, random_state=random_state, **own)
    found, (n_before, before) = None, sampler.offered()
    for _ in range(STEPS):
        triplet = tuple(sampler.draw(1)[0].tolist())
        n_after, after = sampler.offered()
        replaced = np.argwhere(before.next_members != after.next_members).tolist()
        if n_after - n_before == 1 and replaced and (before.next_sizes == after.next_sizes).all():
            category, place = replaced[0]
            found = Step(category, place, before, after, triplet)
            # best where the arriving image is not of the query's category
            if category != relevance.category[triplet[0]]:
                break
        n_before, before = n_after, after
    return found


def _number(value: float) -> str:
    """Return a number with two significant digits, or all before the point, and a proper minus sign."""
    return (f"{value:,.0f}" if abs(value) >= 10 else f"{value:#.2g}").replace("-", "−")
