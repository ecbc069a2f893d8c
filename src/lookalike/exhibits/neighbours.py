"""Queries with their nearest images before and after learning: one rule to choose them, one gallery to show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from lookalike.core.seeds import generator
from lookalike.exhibits.image_grid import JUNK, RIGHT, draw_grid, tile_of
from lookalike.exhibits.model import Box, Drawn, Entry, Ranking, Tile

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

RANDOM, GAIN, LOSS = "picked at random", "largest gain", "largest loss"
LEAST_GAIN, LEAST_LOSS = "smallest gain", "smallest loss"
"""Why a query is shown. Where all gain, the largest loss is the smallest gain, and the other way round."""
N_DRAWN, N_TILES = 4, 6
"""Queries in the picture of a gallery, and images of each ranking there; the page shows all."""


def choose(candidates: pd.DataFrame, n: int, *, seed: int, dataset: str) -> pd.DataFrame:
    """Choose a gallery's queries: most at random, the groups in turn, and the two that gain and lose most, if `n` > 2.

    A candidate has a ``group``, such as its class, and the ``gain`` by learning, NaN where that has no value. Returned
    are the queries by the candidates' index, with their gain, and with why each is shown in ``chosen``.
    """
    marked = extremes(candidates["gain"]) if n > 2 else {}
    stream, others = generator(seed, "report", "gallery", dataset), candidates.drop(index=[*marked])
    piles = [list(stream.permutation(own.index.to_numpy())) for _, own in others.groupby("group", sort=False)]
    piles = [piles[place] for place in stream.permutation(len(piles))]
    drawn: list[int] = []
    while len(drawn) < n - len(marked) and any(piles):
        drawn += [int(pile.pop()) for pile in piles if pile]
    chosen = dict.fromkeys(drawn[: max(0, n - len(marked))], RANDOM) | marked
    return candidates.loc[[*chosen], ["gain"]].assign(chosen=[*chosen.values()])


def extremes(gains: pd.Series) -> dict[Any, str]:
    """Return the query that gains most and the one that loses most, named by what they really do."""
    known = gains.dropna()
    if known.empty:
        return {}
    best: Any = known.idxmax()
    worst: Any = known.idxmin()
    names = {best: "", worst: LOSS if known[worst] < 0 else LEAST_GAIN}
    return names | {best: GAIN if known[best] > 0 else LEAST_LOSS}


def median_first(entries: Sequence[Entry]) -> list[Entry]:
    """Return queries by label, behind the one whose gain is the median of those picked at random; the upper of two.

    So the first that a reader sees is neither the best nor the worst, and gains where half of them do.
    """
    ordered = sorted(entries, key=lambda entry: entry.words)
    known = [entry for entry in ordered if entry.gain is not None and entry.chosen == RANDOM]
    if known:
        middle = sorted(known, key=lambda entry: entry.gain or 0.0)[len(known) // 2]
        ordered.remove(middle)
        ordered.insert(0, middle)
    return ordered


def choice_note(candidates: pd.DataFrame, choices: pd.DataFrame, *, seed: int, groups: str, measure: str) -> str:
    """Say how queries were chosen from the `groups` (such as classes), and how many gain and lose in `measure`."""
    extremes = [why for why in choices["chosen"] if why != RANDOM]
    marked = f" The {' and the '.join(extremes)} in {measure} of all {len(candidates):,} are added, and marked."
    return (
        f"No query was picked by hand: {len(choices) - len(extremes)} are picked at random (seed {seed}), from the "
        f"{groups} in turn.{marked if extremes else ''} Of all {len(candidates):,} queries, "
        f"{_outcomes(candidates['gain'])} in {measure} by learning; of the {len(choices)} shown, "
        f"{_outcomes(choices['gain'])}."
    )


def _outcomes(gains: pd.Series) -> str:
    """Say how many queries gain, lose and keep the same."""
    n_up, n_down, n_same = (gains > 0).sum(), (gains < 0).sum(), (gains == 0).sum()
    return f"{n_up:,} gain, {n_down:,} lose and {n_same:,} keep the same"


def score_text(score: float) -> str:
    """Return a score with three digits."""
    size = abs(score)
    return f"{'−' if score < 0 else ''}{f'{size:,.0f}' if size >= 99.95 else f'{size:#.3g}'}"


def change_text(difference: int, what: str) -> str:
    """Return a change as a sign and words, such as ``▲ 2 more of its class``."""
    more = f"▲ {difference} more" if difference > 0 else f"▼ {-difference} fewer"
    return f"{more if difference else '= as many'} {what}"


def entry_of(
    image: Path,
    words: str,
    rankings: Sequence[Ranking],
    precisions: Sequence[float],
    choice: Any,
    group: str,
    box: Box | None = None,
) -> Entry:
    """Return a query with what two methods found, and the average precision of each, NaN where there is none.

    `choice` is its row of `choose`. Images that are marked right are of its `group`, such as its class. A summary is
    ``3 of 10 of its class (30 %); average precision 17.0 %``; junk does not count.
    """
    summed_up, n_right = [], []
    for when, ranking, precision in zip(("Before", "After"), rankings, precisions, strict=True):
        signs = [found.mark.sign for found in ranking.found]
        n_right.append(signs.count(RIGHT.sign))
        n_counted = len(signs) - signs.count(JUNK.sign)
        summary = f"{n_right[-1]} of {n_counted} of its {group} ({100 * n_right[-1] / max(1, n_counted):.0f} %)"
        if not math.isnan(precision):
            summary += f"; average precision {100 * precision:.1f} %"
        summed_up.append(replace(ranking, title=f"{when} learning: {ranking.title}", summary=summary))
    change = change_text(n_right[1] - n_right[0], f"of its {group}")
    gain = None if math.isnan(choice.gain) else float(choice.gain)
    return Entry(str(image), words, tuple(summed_up), choice.chosen, change, box, gain)


def gallery_of(entries: Sequence[Entry], notes: Sequence[str] = ()) -> Drawn:
    """Draw the gallery of some queries: the picture shows those of `pictured`, the report's page all."""
    columns = ["query", "label", "ranking", "rank", "image", "words", "meaning", "score"]
    records = [
        (
            *(Path(entry.image).name, entry.words, ranking.title, rank),
            *(Path(found.image).name, found.words, found.mark.meaning, found.score),
        )
        for entry in entries
        for ranking in entry.rankings
        for rank, found in enumerate(ranking.found, start=1)
    ]
    rule = (
        "The picture shows the queries that gain and lose most, and before them one picked at random of each class, by "
        f"name, up to {N_DRAWN} in all."
    )
    frame = pd.DataFrame(records, columns=columns)
    return Drawn(frame, (*notes, rule), canvas=draw_queries(pictured(entries)), entries=entries)


def draw_queries(entries: Iterable[Entry]) -> Canvas:
    """Return queries with the first images that each method found: a row a method."""
    found = [(entry, ranking, place) for entry in entries for place, ranking in enumerate(entry.rankings)]
    rows = []
    for entry, ranking, place in found:
        words = Tile(None, "\n".join(filter(None, (entry.words, entry.chosen))))
        lead = words if place else tile_of(Path(entry.image), box=entry.box)
        rows.append([lead, *(tile_of(Path(image.image), mark=image.mark) for image in ranking.found[:N_TILES])])
    return draw_grid(rows, [ranking.title for _, ranking, _ in found])


def pictured(entries: Sequence[Entry]) -> list[Entry]:
    """Return the queries of a picture: the extremes, and before them one picked at random of each label."""
    extreme = [entry for entry in entries if entry.chosen != RANDOM]
    by_label = {entry.words: entry for entry in reversed(entries) if entry.chosen == RANDOM}
    return [*list(by_label.values())[::-1][: N_DRAWN - len(extreme)], *extreme]
