"""Queries with their nearest images before and after learning: one rule to choose them, one gallery to show them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from lookalike.core.seeds import generator
from lookalike.exhibits.image_grid import JUNK, RIGHT, tile_of
from lookalike.exhibits.model import Box, Entry, Found, Gallery, Ranking, Tile

RANDOM, GAIN, LOSS = "drawn at random", "largest gain", "largest loss"
LEAST_GAIN, LEAST_LOSS = "smallest gain", "smallest loss"
"""Why a query is shown. Where all gain, the largest loss is the smallest gain, and the other way round."""
N_DRAWN, N_TILES = 4, 6
"""Queries in the picture of a gallery, and images of each ranking there; the page shows all."""


class Candidate(NamedTuple):
    """A query that may be shown."""

    key: int
    """Number that the study knows it by."""
    group: Hashable
    """Its class; queries are spread over these."""
    gain: float
    """By how much it is answered better after learning, in the study's own measure; NaN where that has no value."""


class ChosenQuery(NamedTuple):
    """A query that is shown, and why."""

    key: int
    chosen: str
    gain: float | None = None
    """Its gain; None where that has no value."""


def choose(candidates: Sequence[Candidate], n: int, *, seed: int, dataset: str) -> list[ChosenQuery]:
    """Choose a gallery's queries by a rule that looks at how they turn out only for two, which are marked.

    All others are drawn at random, the classes in turn, from a stream that the data set names, and come first. The two
    gain and lose the most by learning, the first of equals. With fewer than three queries all are drawn at random.
    """
    marked = extremes(candidates) if n > 2 else []
    taken = {choice.key for choice in marked}
    stream = generator(seed, "report", "gallery", dataset)
    groups: dict[Hashable, list[int]] = {}
    for candidate in candidates:
        if candidate.key not in taken:
            groups.setdefault(candidate.group, []).append(candidate.key)
    piles = [list(stream.permutation(keys)) for keys in groups.values()]
    piles = [piles[place] for place in stream.permutation(len(piles))]
    drawn: list[ChosenQuery] = []
    while len(drawn) < n - len(marked) and any(piles):
        drawn += [ChosenQuery(int(pile.pop()), RANDOM) for pile in piles if pile]
    gains = {candidate.key: float(candidate.gain) for candidate in candidates if not math.isnan(candidate.gain)}
    return [choice._replace(gain=gains.get(choice.key)) for choice in drawn[: max(0, n - len(marked))] + marked]


def extremes(candidates: Sequence[Candidate]) -> list[ChosenQuery]:
    """Return the query that gains most and the one that loses most, named by what they really do."""
    known = [candidate for candidate in candidates if not math.isnan(candidate.gain)]
    if not known:
        return []
    best = max(known, key=lambda candidate: candidate.gain)
    worst = min(known, key=lambda candidate: candidate.gain)
    names = {worst.key: LOSS if worst.gain < 0 else LEAST_GAIN}
    names[best.key] = GAIN if best.gain > 0 else LEAST_LOSS
    return [ChosenQuery(key, names[key]) for key in dict.fromkeys((best.key, worst.key))]


def median_first(entries: Sequence[Entry]) -> list[Entry]:
    """Return queries by label, behind the one whose gain is the median of those drawn at random; the upper of two.

    So the first that a reader sees is neither the best nor the worst, and gains where half of them do.
    """
    ordered = sorted(entries, key=lambda entry: entry.words)
    known = [entry for entry in ordered if entry.gain is not None and entry.chosen == RANDOM]
    if known:
        middle = sorted(known, key=lambda entry: entry.gain or 0.0)[len(known) // 2]
        ordered.remove(middle)
        ordered.insert(0, middle)
    return ordered


def choice_note(
    candidates: Sequence[Candidate], choices: Sequence[ChosenQuery], *, seed: int, groups: str, measure: str
) -> str:
    """Say how queries were chosen from the `groups` (such as classes), and how many gain and lose in `measure`."""
    n_random = sum(choice.chosen == RANDOM for choice in choices)
    extremes = [choice.chosen for choice in choices if choice.chosen != RANDOM]
    marked = f" The {' and the '.join(extremes)} in {measure} of all {len(candidates):,} are added, and marked."
    chosen = {choice.key for choice in choices}
    outcomes = _outcomes([candidate for candidate in candidates if candidate.key in chosen])
    return (
        f"No query was picked by hand: {n_random} are drawn at random (seed {seed}), from the {groups} in turn."
        f"{marked if extremes else ''} Of all {len(candidates):,} queries, {_outcomes(candidates)} in {measure} by "
        f"learning; of the {len(chosen)} shown, {outcomes}."
    )


def _outcomes(candidates: Sequence[Candidate]) -> str:
    """Say how many queries gain, lose and keep the same."""
    gains = [candidate.gain for candidate in candidates if not math.isnan(candidate.gain)]
    n_up, n_down = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return f"{n_up:,} gain, {n_down:,} lose and {len(gains) - n_up - n_down:,} keep the same"


def score_text(score: float) -> str:
    """Return a score with three digits."""
    size = abs(score)
    return f"{'−' if score < 0 else ''}{f'{size:,.0f}' if size >= 99.95 else f'{size:#.3g}'}"


def change_text(difference: int, what: str) -> str:
    """Return a change as a sign and words, such as ``▲ 2 more images of its class``."""
    if difference == 0:
        return f"= as many {what}"
    return f"▲ {difference} more {what}" if difference > 0 else f"▼ {-difference} fewer {what}"


class Side(NamedTuple):
    """What one method found for a query."""

    method: str
    """Its title."""
    found: tuple[Found, ...]
    precision: float
    """Average precision; NaN where there is none."""
    measure: Literal["score", "distance"] = "score"


def entry_of(
    image: Path, words: str, sides: Sequence[Side], choice: ChosenQuery, group: str, box: Box | None = None
) -> Entry:
    """Return a query with what two methods found; images that are marked right are of its `group`, such as its class.

    A summary is ``3 of 10 of its class (30 %); average precision 17.0 %``; junk does not count.
    """
    rankings, n_right = [], []
    for when, side in zip(("Before", "After"), sides, strict=True):
        signs = [found.mark.sign for found in side.found]
        n_right.append(signs.count(RIGHT.sign))
        n_counted = len(signs) - signs.count(JUNK.sign)
        summary = f"{n_right[-1]} of {n_counted} of its {group} ({100 * n_right[-1] / max(1, n_counted):.0f} %)"
        if not math.isnan(side.precision):
            summary += f"; average precision {100 * side.precision:.1f} %"
        rankings.append(Ranking(f"{when} learning: {side.method}", side.found, summary, side.measure))
    change = change_text(n_right[1] - n_right[0], f"images of its {group}")
    return Entry(str(image), words, tuple(rankings), choice.chosen, change, box, choice.gain)


def gallery_of(entries: Sequence[Entry], notes: Sequence[str] = ()) -> Gallery:
    """Return the gallery of some queries: the picture shows those of `pictured`, the report's page all."""
    columns = ["query", "label", "ranking", "rank", "image", "words", "meaning", "score"]
    records = []
    for entry in entries:
        for ranking in entry.rankings:
            names = (Path(entry.image).name, entry.words, ranking.title)
            for rank, found in enumerate(ranking.found, start=1):
                about = (found.words, found.mark.meaning, found.score)
                records.append((*names, rank, Path(found.image).name, *about))
    drawn = pictured(entries)
    rule = (
        "The picture shows the queries that gain and lose most, and before them one drawn at random of each class, by "
        f"name, up to {N_DRAWN} in all."
    )
    return Gallery(
        pd.DataFrame(records, columns=columns),
        tuple(row for entry in drawn for row in _rows(entry)),
        tuple(ranking.title for entry in drawn for ranking in entry.rankings),
        notes=(*notes, *([rule] if entries else [])),
        entries=tuple(entries),
    )


def pictured(entries: Sequence[Entry]) -> list[Entry]:
    """Return the queries of a picture: the extremes, and before them one drawn at random of each label."""
    extreme = [entry for entry in entries if entry.chosen != RANDOM]
    by_label = {entry.words: entry for entry in reversed(entries) if entry.chosen == RANDOM}
    return [*list(by_label.values())[::-1][: N_DRAWN - len(extreme)], *extreme]


def _rows(entry: Entry) -> list[tuple[Tile, ...]]:
    """Return a row for each ranking of a query, which stands before the first, and its words before the second."""
    words = Tile(None, "\n".join(filter(None, (entry.words, entry.chosen))))
    queries = [tile_of(Path(entry.image), box=entry.box), *[words] * (len(entry.rankings) - 1)]
    return [
        (query, *(tile_of(Path(found.image), mark=found.mark) for found in ranking.found[:N_TILES]))
        for query, ranking in zip(queries, entry.rankings, strict=True)
    ]
