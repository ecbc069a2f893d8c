"""Deep Ranking's Figures 1, 5 and 7, and queries before and after learning; which images are shown is a rule."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from itertools import product, starmap
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.exhibits.image_grid import NEGATIVE, POSITIVE, QUERY, class_name, tile_of
from lookalike.exhibits.model import Entry, Found, Gallery, Mark, Ranking, Tile
from lookalike.exhibits.neighbours import (
    Candidate,
    ChosenQuery,
    change_text,
    choice_note,
    choose,
    gallery_of,
    score_text,
)
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLUE, ORANGE
from lookalike.studies.finegrained.study import FinegrainedStudy, has
from lookalike.studies.finegrained.systems import AFTER, BEFORE, COMPARED, CONVNET, DEEP, PAPER, REAL
from lookalike.studies.metrics import rows_in

Floats = npt.NDArray[np.float32]

N_TRIPLETS = 8
"""Columns of Figure 1 at most."""
TITLE_LETTERS = 13
"""Letters of a line above a column of Figure 1."""
ROLES = {"query": QUERY, "positive": POSITIVE, "negative": NEGATIVE}
N_QUERIES, N_RESULTS = 3, 8
"""Queries of Figure 7, and images of each ranking."""
NOISE = Mark("✗", ORANGE, "--", "search noise: an image of another category")
SAME, OTHER = Mark("✓", BLUE, "-", "same category"), Mark("✗", ORANGE, "--", "other category")
N_SHOWN, N_FOUND = 16, 10
"""Queries of the gallery, and images of each ranking."""
RANKED = ("manifest", "triplets", "pairs", "outcomes", "distances")
"""Tables and files of pictures that show rankings."""
KEYS = ["query", "text_query"]
PATH_TITLES = {"convnet": "ConvNet", "every-4th-pixel": "every 4th pixel", "every-8th-pixel": "every 8th pixel"}
"""Paths of the multiscale network, in the order of Figure 5."""
START = "start/"
"""Before the name of a path: its filters before the ranking training."""
SHARE = "colour_share"
"""Column of the share of a filter's energy that differs between red, green and blue."""
FILTERS_IN_A_ROW = 8


@exhibit(f"{PAPER}/fig1", title="Sample triplets", needs=("manifest", "triplets"), optional=("results",), shows=())
def sample_triplets(study: FinegrainedStudy) -> Gallery:
    """What a triplet is: a query, a positive that is more similar to it and a negative that is less, one a column."""
    triplets = study.table("triplets")
    chosen = spread_triplets(triplets, N_TRIPLETS).to_dict("records")
    several_kinds = triplets["kind"].nunique() > 1
    records = []
    for (column, row), role in product(enumerate(chosen, start=1), ROLES):
        triplet = {"column": column, **{key: row[key] for key in ("triplet", "text_query", "kind")}}
        file, label = study.images[row[role]]
        records.append({**triplet, "role": role, "image_id": row[role], "file": file, "label": label})
    labelled = "negative" if several_kinds else ""
    rows = tuple(
        tuple(tile_of(study.path_of(row[role]), str(row["kind"]) if role == labelled else "", mark) for row in chosen)
        for role, mark in ROLES.items()
    )
    by_kind = ", the kinds of negatives in turn" if several_kinds else ""
    note = (
        f"No triplet was picked by hand: the {len(chosen)} columns are the first triplets of text queries that are "
        f"spread evenly over the alphabet{by_kind}."
    )
    heads = tuple(_in_lines(str(row["text_query"])) for row in chosen)
    return Gallery(pd.DataFrame(records), rows, tuple(ROLES), heads, notes=(note,), tile=0.85)


@exhibit(
    f"{PAPER}/fig5",
    title="Filters of the first layers",
    needs=("results", "filters"),
    when=has(DEEP),
    condition="networks",
    shows=(),
)
def first_filters(study: FinegrainedStudy) -> Gallery:
    """What the first layer of each path of DeepRanking looks for: the filters of its first convolution."""
    file = study.path("filters")
    filters, frame = dict(np.load(file)), filters_of(file)
    rows: list[tuple[Tile, ...]] = []
    titles: list[str] = []
    for path, own in frame.groupby("path", sort=False):
        tiles = [Tile(image) for image in filter_images(filters[str(path)][own["filter"].to_numpy()])]
        parts = [tuple(tiles[first : first + FILTERS_IN_A_ROW]) for first in range(0, len(tiles), FILTERS_IN_A_ROW)]
        height, width = filters[str(path)].shape[1:3]
        titles += [f"{PATH_TITLES[str(path)]}\n{width} x {height} pixels", *[""] * (len(parts) - 1)]
        rows += parts
    medians = frame.groupby("path", sort=False)[[SHARE, "like_start"]].median()
    about = (
        f"{PATH_TITLES[str(path)]} {100 * median[SHARE]:.0f}% and {median['like_start']:.2f}"
        for path, median in medians.iterrows()
    )
    notes = (
        "Each filter has a scale of its own: mid-grey is a weight of 0, and its largest weight is as bright or as dark "
        "as can be. They are ordered by their colour share: the share of their energy that differs between red, green "
        "and blue (67% if the three are independent).",
        "Median colour share, and median correlation of a filter with itself before the training by ranking: "
        f"{', '.join(about)}.",
    )
    return Gallery(frame, tuple(rows), tuple(titles), notes=notes, tile=0.5)


@exhibit(
    f"{PAPER}/fig7",
    title="Ranking examples",
    needs=RANKED,
    optional=("results",),
    when=has(DEEP),
    condition="networks",
    shows=(),
)
def ranking_examples(study: FinegrainedStudy) -> Gallery:
    """What ConvNet, OASIS and DeepRanking each find first for the same queries."""
    chosen = choose_queries(study.table("outcomes"), study.table("triplets"))
    ranked = rankings_of(study.table("pairs"), distances_of(study, COMPARED), chosen, N_RESULTS)
    frame = ranked.merge(chosen[[*KEYS, "chosen_as"]], on=KEYS).drop(columns="distance")
    frame["file"], frame["label"] = ([study.images[image][part] for image in frame["image_id"]] for part in (0, 1))
    # labels of rated triplets are text queries, which say nothing of what an image shows
    frame["label"] = "" if study.kind == REAL else frame["label"]
    noise = (frame["label"] != frame["text_query"]).astype(object)
    frame["search_noise"] = noise.where(frame["label"] != "", None)
    rows = tuple(starmap(partial(_example_row, study, frame), product(chosen.to_dict("records"), COMPARED)))
    titles = tuple(study.title_of(system) for system in COMPARED) * len(chosen)
    before, _, after = titles[:3]
    rule = (
        f"A rule chose the queries: those that gain the most from {before} to {after} in the share of triplets ordered "
        "rightly, and the one that loses the most, each of another text query if there are enough. Beneath each query "
        "stand both shares."
    )
    notes = [rule, *study.not_run_notes([system for system in COMPARED if system not in set(frame["system"])])]
    return Gallery(frame, rows, titles, heads=("query",), notes=tuple(notes), tile=0.9)


@exhibit(
    "finegrained/gallery",
    title="Before and after learning",
    needs=RANKED,
    optional=("results",),
    when=has(*AFTER),
    condition="ratings or images to learn from",
)
def before_and_after(study: FinegrainedStudy) -> Gallery:
    """What queries find before learning from triplets, and after it."""
    distances = distances_of(study)
    before, after = pair = [next(system for system in systems if system in distances) for systems in (BEFORE, AFTER)]
    table, seed = _shares(study, before, after), study.seed
    candidates = list(map(Candidate, table.index, table["text_query"], table["better"] - table["worse"]))
    choices = choose(candidates, N_SHOWN, seed=seed, dataset=study.dataset)
    chosen = table.iloc[[choice.key for choice in choices]]
    ranked = rankings_of(study.table("pairs"), {system: distances[system] for system in pair}, chosen, N_FOUND)
    entries = [_entry(study, ranked, table.iloc[choice.key], choice, pair) for choice in choices]
    measure = "the share of right triplets"
    notes = [
        f"{study.title_of(before)} ranks the images of a query's pool before learning from triplets, "
        f"{study.title_of(after)} after it. A smaller distance is nearer; the two have no common scale. A triplet is "
        "right if its positive is nearer than its negative.",
        choice_note(candidates, choices, seed=seed, groups="categories", measure=measure),
    ]
    if study.kind != REAL:
        notes.append(
            "Pools have images of other categories on purpose (search noise). What is learned is the order of alike "
            "images, so look at the share of right triplets besides the marks."
        )
    return gallery_of(sorted(entries, key=lambda entry: entry.words), notes)


def spread_triplets(triplets: pd.DataFrame, n: int) -> pd.DataFrame:
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
    """Return the name of a text query in at most two lines."""
    lines = wrap(class_name(text_query), TITLE_LETTERS)
    return "\n".join(lines if len(lines) <= 2 else [lines[0], f"{lines[1][: TITLE_LETTERS - 2]} …"])


def filters_of(path: Path) -> pd.DataFrame:
    """Describe the first filters of all paths of one training of DeepRanking, in the order of Figure 5."""
    filters = dict(np.load(path))
    names = [name for name in PATH_TITLES if name in filters]
    return pd.concat([filter_records(name, filters[name], filters.get(START + name)) for name in names])


def started_from(path: Path) -> pd.DataFrame:
    """Describe the filters before that training: a classifier's of the ConvNet path, and random ones of the others."""
    starts = {name.removeprefix(START): values for name, values in np.load(path).items() if name.startswith(START)}
    return pd.concat([filter_records(name, values, None) for name, values in starts.items()])


def filter_records(path: str, filters: Floats, start: Floats | None) -> pd.DataFrame:
    """Describe one path's filters, shape (n, height, width, 3), by falling colour share; `start`: before training."""
    # share of a filter's energy off the grey axis: 0 of alike channels, 2/3 on average of independent ones
    energy = np.square(filters, dtype=np.float64).sum(axis=(1, 2, 3))
    grey = 3 * np.square(filters.mean(axis=3, dtype=np.float64)).sum(axis=(1, 2))
    shares = np.clip(1 - grey / np.where(energy > 0, energy, 1), 0, 1)
    shares[energy == 0] = 0
    order = np.argsort(-shares, kind="stable")
    alike = np.full(len(filters), np.nan)
    if start is not None:
        pairs = zip(start[order], filters[order], strict=True)
        alike = np.array([np.corrcoef(before.ravel(), after.ravel())[0, 1] for before, after in pairs])
    places = np.arange(1, len(filters) + 1)
    return pd.DataFrame({"path": path, "place": places, "filter": order, SHARE: shares[order], "like_start": alike})


def filter_images(filters: Floats) -> npt.NDArray[np.uint8]:
    """Return filters as pixels: grey is a weight of 0, the largest absolute one as bright or as dark as can be."""
    largest = np.abs(filters).max(axis=(1, 2, 3), keepdims=True)
    return np.asarray(np.rint(255 * (0.5 + filters / (2 * np.where(largest > 0, largest, 1)))), dtype=np.uint8)


def distances_of(study: FinegrainedStudy, systems: Sequence[str] | None = None) -> dict[str, Floats]:
    """Return the distances by each system that was measured."""
    files = [Path(file) for file in study.files["distances"]]
    return {file.parent.name: np.load(file) for file in files if systems is None or file.parent.name in systems}


def query_shares(outcomes: pd.DataFrame, triplets: pd.DataFrame, better: str, worse: str) -> pd.DataFrame:
    """Return each query's number of triplets, and the shares that two systems have right; NaN where not measured."""
    asked = triplets.groupby(KEYS, sort=True).size().rename("n_triplets").to_frame()
    for name, system in (("better", better), ("worse", worse)):
        own = outcomes[outcomes["system"] == system].merge(triplets[["triplet", *KEYS]], on="triplet")
        asked[name] = own.groupby(KEYS)["outcome"].mean() if len(own) else np.nan
    return asked.reset_index()


def choose_queries(outcomes: pd.DataFrame, triplets: pd.DataFrame, n: int = N_QUERIES) -> pd.DataFrame:
    """Choose the queries of Figure 7 whose share of right triplets rises most by DeepRanking; the last falls most."""
    table = query_shares(outcomes, triplets, DEEP, CONVNET)
    measured = table.assign(gain=table["better"] - table["worse"]).dropna(subset=["gain"])
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


def _example_row(
    study: FinegrainedStudy, frame: pd.DataFrame, query: Mapping[Hashable, Any], system: str
) -> tuple[Tile, ...]:
    """Return a ranking's images; the first of a query shows the query itself, the second why it was chosen."""
    own = frame[(frame["query"] == query["query"]) & (frame["text_query"] == query["text_query"])]
    found = rows_in(own[own["system"] == system])
    tiles = [tile_of(study.path_of(row.image_id), mark=NOISE if row.search_noise else None) for row in found]
    if not tiles:
        tiles = [Tile(None, study.why_not_run(system) or "not measured here")]
    if system == COMPARED[0]:
        return (tile_of(study.path_of(query["query"]), mark=QUERY), *tiles)
    if system != COMPARED[1]:
        return (Tile(None), *tiles)
    share = f"{100 * query['worse']:.0f} → {100 * query['better']:.0f}% right"
    return (Tile(None, f"{query['chosen_as']}\n{class_name(str(query['text_query']))}\n{share}"), *tiles)


def _shares(study: FinegrainedStudy, before: str, after: str) -> pd.DataFrame:
    """Return every query that has a pool, in order, with the shares of its triplets that both systems have right."""
    pairs = study.table("pairs")
    pooled = pairs.loc[pairs["in_pool"].astype(bool), KEYS].drop_duplicates().sort_values(["text_query", "query"])
    shares = query_shares(study.table("outcomes"), study.table("triplets"), after, before)
    return pooled.merge(shares, on=KEYS, how="left").reset_index(drop=True)


def _entry(
    study: FinegrainedStudy, ranked: pd.DataFrame, row: pd.Series, choice: ChosenQuery, pair: Sequence[str]
) -> Entry:
    """Return the images that both systems found for one query, before learning and after it."""
    own = ranked[(ranked["query"] == row["query"]) & (ranked["text_query"] == row["text_query"])]
    rankings = tuple(
        _ranking(study, own[own["system"] == system], row, when, float(row[share]))
        for system, when, share in zip(pair, ("Before learning", "After learning"), ("worse", "better"), strict=True)
    )
    n_more = float(row["better"] - row["worse"]) * float(row["n_triplets"])
    image, words = str(study.path_of(row["query"])), class_name(str(row["text_query"]))
    return Entry(image, words, rankings, choice.chosen, change_text(n_more, "of its triplets right"), gain=choice.gain)


def _ranking(study: FinegrainedStudy, rows: pd.DataFrame, row: pd.Series, when: str, share: float) -> Ranking:
    """Return the nearest images by one system; labels of rated triplets say nothing of what an image shows."""
    found, n_same = [], 0
    for image in rows_in(rows.sort_values("rank")):
        label = "" if study.kind == REAL else study.images[image.image_id][1]
        same = label == row["text_query"]
        n_same += same
        mark = (SAME if same else OTHER) if label else None
        found.append(Found(str(study.path_of(image.image_id)), class_name(label), mark, score_text(image.distance)))
    n = int(row["n_triplets"]) if not math.isnan(row["n_triplets"]) else 0
    right = f"{share * n:.1f}".removesuffix(".0")
    parts = [f"{n_same} of {len(found)} of its category"] if study.kind != REAL and found else []
    parts += [] if math.isnan(share) else [f"{right} of its {n} triplet{'' if n == 1 else 's'} right"]
    system = study.title_of(str(rows["system"].iloc[0])) if len(rows) else ""
    return Ranking(f"{when}: {system}", tuple(found), "; ".join(parts), "distance")
