"""Deep Ranking's Figures 1, 4, 5 and 7; which images are shown is a rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from lookalike.core.arrays import Bytes, Doubles, Floats
from lookalike.core.settings.model import plain
from lookalike.core.settings.networks import Sampling
from lookalike.exhibits.image_grid import NEGATIVE, POSITIVE, QUERY, class_name, draw_grid, tile_of
from lookalike.exhibits.model import Drawn, Mark, NothingToShowError, Tile
from lookalike.exhibits.results import rows_in, select
from lookalike.exhibits.style import GREEN, GREY, ORANGE
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import COMPARED, CONVNET, DEEP, REAL

if TYPE_CHECKING:
    from lookalike.data.relevance import RelevanceData
    from lookalike.deep.relevance_triplets import Buffers

N_TRIPLETS = 8
"""Columns of Figure 1 at most."""
TITLE_LETTERS = 13
"""Letters of a line above a column of Figure 1."""
ROLES = {"query": QUERY, "positive": POSITIVE, "negative": NEGATIVE}
N_QUERIES, N_RESULTS = 3, 8
"""Queries of Figure 7, and images of each ranking."""
NOISE = Mark("✗", ORANGE, "--", "search noise: an image of another category")
KEYS = ["query", "text_query"]
SHARES = {"after": DEEP, "before": CONVNET}
"""Column of the share of a query's triplets in order to the system that has it."""
PATH_TITLES = {"convnet": "ConvNet", "every-4th-pixel": "every 4th pixel", "every-8th-pixel": "every 8th pixel"}
"""Paths of the multiscale network, in the order of Figure 5."""
SHARE, START_SHARE = "colour_share", "start_share"
"""Columns of the share of a filter's energy that differs between red, green and blue, and of that before training."""
FILTERS_IN_A_ROW = 8
N_BUFFERS, CAPACITY = 4, 7
"""Buffers shown, and images a buffer at most."""
STEPS = 3000
"""Steps among which one is looked for that shows all there is to see."""
NEW, GONE = Mark("", GREEN, "-", "new image"), Mark("✗", GREY, ":", "lowest key, makes room")


def sample_triplets(study: FinegrainedStudy) -> Drawn:
    """Draw triplets, one a column: a query, a positive that is more similar to it and a negative that is less."""
    triplets = study.table("triplets")
    chosen = spread_triplets(triplets, N_TRIPLETS)
    several_kinds = triplets["kind"].nunique() > 1
    columns = ["column", "triplet", "text_query", "kind"]
    frame = chosen.assign(column=range(1, len(chosen) + 1)).melt(columns, list(ROLES), "role", "image_id")
    labelled = "negative" if several_kinds else ""
    rows = tuple(
        tuple(
            tile_of(study.path_of(row.image_id), str(row.kind) if role == labelled else "", mark)
            for row in rows_in(select(frame, role=role))
        )
        for role, mark in ROLES.items()
    )
    note = (
        f"No triplet was picked by hand: the {len(chosen)} columns are the first triplets of text queries that are "
        f"spread evenly over the alphabet{', the kinds of negatives in turn' if several_kinds else ''}."
    )
    frame = with_files(study, frame.sort_values("column", kind="stable", ignore_index=True))
    canvas = draw_grid(rows, [*ROLES], [*map(_in_lines, chosen["text_query"])], tile=0.85)
    return Drawn(frame, (note,), canvas=canvas)


def spread_triplets(triplets: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return up to `n` triplets: text queries spread evenly, kinds in turn, then their next triplets."""
    left = triplets.sort_values(["text_query", "triplet"])
    names, kinds, chosen = left["text_query"].unique(), sorted(left["kind"].unique()), list[int]()
    spread = np.linspace(0, len(names) - 1, min(n, len(names))).round().astype(int)
    for column in range(min(n, len(left))):
        # further rounds begin with another kind
        kind, name = kinds[(column + column // len(spread)) % len(kinds)], names[spread[column % len(spread)]]
        fitting = left.assign(other=left["text_query"] != name, unlike=left["kind"] != kind)
        chosen.append(fitting.sort_values(["other", "unlike"], kind="stable").index[0])
        left = left.drop(chosen[-1])
    return triplets.loc[chosen]


def _in_lines(text_query: str) -> str:
    """Return the name of a text query in at most two lines."""
    lines = wrap(class_name(str(text_query)), TITLE_LETTERS)
    return "\n".join(lines if len(lines) <= 2 else [lines[0], f"{lines[1][: TITLE_LETTERS - 2]} …"])


def with_files(study: FinegrainedStudy, frame: pd.DataFrame) -> pd.DataFrame:
    """Add file and label of each image."""
    images = [study.images[image] for image in frame["image_id"]]
    return frame.assign(file=[file for file, _ in images], label=[label for _, label in images])


# Figure 4 -------------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One step of the sampler: an image arrives and is kept, then a triplet is drawn. Images are rows of relevance."""

    category: int
    """Code of the category of the image that arrives."""
    place: int
    """Where it stands among those that are kept of its category, in place of another."""
    before: Buffers
    after: Buffers
    triplet: tuple[int, ...]


def sampler(study: FinegrainedStudy) -> Drawn:
    """Draw a step of the online sampler: images arrive in buffers, one for each category, and leave them."""
    from lookalike.data.relevance import RelevanceData

    relevance, sampling = RelevanceData.load(study.path("relevance")), study.sampling
    try:
        step = find_step(relevance, sampling, study.seed)
    except ValueError as error:
        raise NothingToShowError(f"no triplet can be sampled: {error}") from error
    if step is None:
        raise NothingToShowError("the categories are too small for buffers that let anything go")
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
    return Drawn(pd.DataFrame(records), notes, canvas=draw_grid([*rows.values()], [*rows], tile=0.85))


def find_step(relevance: RelevanceData, sampling: Sampling, random_state: int) -> Step | None:
    """Run the sampler until it does what is to be shown; None where no arriving image pushed another out."""
    from lookalike.deep.relevance_triplets import RelevanceTripletSampler

    sizes = np.bincount(relevance.category, minlength=relevance.n_categories)
    # a buffer has to be smaller than its category for an image to push another out
    capacity = int(np.clip(np.median(sizes[sizes > 0]) // 2, 2, CAPACITY))
    own = plain(sampling, include={"weighted", "positive_threshold", "margin", "tries"})
    sampler = RelevanceTripletSampler(relevance, out_of_class=1.0, capacity=capacity, random_state=random_state, **own)
    found, (n_before, before) = None, sampler.offered()
    for _ in range(STEPS):
        triplet = tuple(sampler.sample(1)[0].tolist())
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


# Figure 5 -------------------------------------------------------------------------------------------------------------


def first_filters(study: FinegrainedStudy) -> Drawn:
    """Draw the filters of the first convolution of each path of DeepRanking."""
    file = study.path("filters")
    filters, frame = dict(np.load(file)), filters_of(file).drop(columns=START_SHARE)
    rows, titles, about = list[list[Tile]](), list[str](), list[str]()
    for path, own in frame.groupby("path", sort=False):
        name, images = PATH_TITLES[str(path)], filter_images(filters[str(path)][own["filter"].to_numpy()])
        first = range(0, len(images), FILTERS_IN_A_ROW)
        rows += [[*map(Tile, images[place : place + FILTERS_IN_A_ROW])] for place in first]
        height, width = images.shape[1:3]
        titles += [f"{name}\n{width} x {height} pixels", *[""] * (len(first) - 1)]
        about.append(f"{name} {100 * own[SHARE].median():.0f}% and {own['like_start'].median():.2f}")
    notes = (
        "Each filter has a scale of its own: mid-grey is a weight of 0, and its largest weight is as bright or as dark "
        "as can be. They are ordered by their colour share: the share of their energy that differs between red, green "
        "and blue (67% if the three are independent).",
        "Median colour share, and median correlation of a filter with itself before the training by ranking: "
        f"{', '.join(about)}.",
    )
    return Drawn(frame, notes, canvas=draw_grid(rows, titles, tile=0.5))


def filters_of(path: Path) -> pd.DataFrame:
    """Describe the first filters of all paths of one training of DeepRanking, and those before it, where there are any.

    Paths are in the order of Figure 5, their filters by falling colour share.
    """
    filters, frames = dict(np.load(path)), []
    for name in (name for name in PATH_TITLES if name in filters):
        after, before = filters[name], filters.get(f"start/{name}")
        shares = colour_shares(after)
        own = pd.DataFrame({"path": name, "place": 0, "filter": np.arange(len(after)), SHARE: shares})
        own["like_start"] = own[START_SHARE] = np.nan
        if before is not None:
            pairs = zip(before, after, strict=True)
            own["like_start"] = [np.corrcoef(first.ravel(), second.ravel())[0, 1] for first, second in pairs]
            own[START_SHARE] = colour_shares(before)
        own = own.sort_values(SHARE, ascending=False, kind="stable")
        frames.append(own.assign(place=np.arange(1, len(own) + 1)))
    return pd.concat(frames)


def colour_shares(filters: Floats) -> Doubles:
    """Return the share of each filter's energy off the grey axis: 0 of alike channels, 2/3 of independent ones."""
    energy = np.square(filters, dtype=np.float64).sum(axis=(1, 2, 3))
    grey = 3 * np.square(filters.mean(axis=3, dtype=np.float64)).sum(axis=(1, 2))
    shares = np.clip(1 - grey / np.where(energy > 0, energy, 1), 0, 1)
    return np.where(energy > 0, shares, 0)


def filter_images(filters: Floats) -> Bytes:
    """Return filters as pixels: grey is a weight of 0, the largest absolute one as bright or as dark as can be."""
    largest = np.abs(filters).max(axis=(1, 2, 3), keepdims=True)
    return np.asarray(np.rint(255 * (0.5 + filters / (2 * np.where(largest > 0, largest, 1)))), dtype=np.uint8)


# Rankings -------------------------------------------------------------------------------------------------------------


def ranking_examples(study: FinegrainedStudy) -> Drawn:
    """Draw what ConvNet, OASIS and DeepRanking each find first for the same queries."""
    chosen = choose_queries(study.table("outcomes"), study.table("triplets"))
    files = {file.parent.name: file for file in study.paths("distances")}
    compared = {system: np.load(files[system]) for system in COMPARED if system in files}
    ranked = rankings_of(study.table("pairs"), compared, chosen, N_RESULTS)
    frame = with_files(study, ranked.merge(chosen[[*KEYS, "chosen_as"]], on=KEYS).drop(columns="distance"))
    # labels of rated triplets are text queries, which say nothing of what an image shows
    frame["label"] = "" if study.data_set.kind == REAL else frame["label"]
    noise = (frame["label"] != frame["text_query"]).astype(object)
    frame["search_noise"] = noise.where(frame["label"] != "", None)
    rows = []
    for query in rows_in(chosen):
        share = f"{100 * query.before:.0f} → {100 * query.after:.0f}% right"
        why = Tile(None, f"{query.chosen_as}\n{class_name(str(query.text_query))}\n{share}")
        leads = tile_of(study.path_of(query.query), mark=QUERY), why, Tile(None)
        for system, lead in zip(COMPARED, leads, strict=True):
            own = rows_in(select(frame, system=system, query=query.query, text_query=query.text_query))
            tiles = [tile_of(study.path_of(row.image_id), mark=NOISE if row.search_noise else None) for row in own]
            rows.append([lead, *(tiles or [Tile(None, study.why_not_run(system) or "not measured here")])])
    titles = [study.title_of(system) for system in COMPARED]
    rule = (
        f"A rule chose the queries: those that gain the most from {titles[0]} to {titles[-1]} in the share of triplets "
        "ordered correctly, and the one that loses the most, each of another text query if there are enough. Beneath "
        "each query stand both shares."
    )
    notes = [rule, *study.not_run_notes([system for system in COMPARED if system not in set(frame["system"])])]
    return Drawn(frame, notes, canvas=draw_grid(rows, titles * len(chosen), ["query"], tile=0.9))


def choose_queries(outcomes: pd.DataFrame, triplets: pd.DataFrame, n: int = N_QUERIES) -> pd.DataFrame:
    """Choose the queries of Figure 7 whose share of right triplets rises most by DeepRanking; the last falls most."""
    judged = outcomes.merge(triplets[["triplet", *KEYS]], on="triplet").groupby(["system", *KEYS])["outcome"].mean()
    shares = {name: judged[judged.index.get_level_values(0) == system].droplevel(0) for name, system in SHARES.items()}
    table = triplets.groupby(KEYS).size().rename("n_triplets").to_frame().assign(**shares).reset_index()
    measured = table.assign(gain=table["after"] - table["before"]).dropna(subset=["gain"])
    falling = measured.sort_values(["gain", "n_triplets", "query"], ascending=[False, False, True])
    rising = measured.sort_values(["gain", "n_triplets", "query"], ascending=[True, False, True])
    # of different text queries; where those are fewer, then the first other rows
    again = falling.assign(again=falling.duplicated("text_query")).sort_values("again", kind="stable")
    gains = again.drop(columns="again").head(max(1, n - 1))
    rest = rising[~rising["query"].isin(gains["query"])]
    other = rest[~rest["text_query"].isin(gains["text_query"])]
    chosen = pd.concat([gains, (other if len(other) else rest).head(min(1, n - 1))])
    kinds = np.where(gains["gain"] > 0, "largest gain", "smallest loss")
    names = [f"next {kind}" if place else str(kind) for place, kind in enumerate(kinds)]
    names += ["largest loss" if gain < 0 else "smallest gain" for gain in chosen["gain"][len(gains) :]]
    return chosen.drop(columns="gain").assign(chosen_as=names).reset_index(drop=True)


def rankings_of(pairs: pd.DataFrame, distances: Mapping[str, Floats], chosen: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return the first `n` images of the pools of chosen queries by each system; equally distant ones by their ids."""
    columns = ["system", *KEYS, "rank", "image_id", "distance"]
    asked = chosen[KEYS].reset_index(drop=True).rename_axis("place").reset_index()
    parts = [pd.DataFrame(columns=columns)]
    for system, values in distances.items():
        pool = asked.merge(pairs.assign(distance=values).rename(columns={"candidate": "image_id"}), on=KEYS)
        pool = pool[pool["in_pool"].astype(bool) & pool["distance"].notna()]
        first = pool.sort_values(["place", "distance", "image_id"]).groupby("place").head(n)
        parts.append(first.assign(system=system, rank=first.groupby("place").cumcount() + 1)[columns])
    return pd.concat(parts[1:] or parts, ignore_index=True)
