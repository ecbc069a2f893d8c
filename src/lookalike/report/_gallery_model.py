"""What a gallery of the report holds, whichever study it is of, and the rule that chooses its queries.

The readers of the studies (`lookalike.report._gallery_category` and its neighbours) fill these; the page is drawn from
nothing else (`lookalike.report.gallery`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lookalike.core.seeds import generator

RANDOM, GAIN, LOSS = "drawn at random", "largest gain", "largest loss"
LEAST_GAIN, LEAST_LOSS = "smallest gain", "smallest loss"
"""Why a query is shown. Where all gain, the largest loss is the smallest gain, and the other way round."""


@dataclass(frozen=True)
class GallerySettings:
    """How much a gallery shows, and how large its pictures are."""

    n_category: int = 24
    """Queries of each data set of the category study."""
    n_landmark: int = 14
    n_finegrained: int = 16
    n_shown: int = 10
    """Images of each ranking."""
    side: int = 112
    """Longer side of a thumbnail, in pixels."""
    quality: int = 58
    """Quality of WebP, from 0 to 100."""


class Kind(NamedTuple):
    """What a found image can be, told by a sign and words; ``name`` is for the style sheet alone."""

    name: str
    sign: str
    words: str


@dataclass(frozen=True)
class Picture:
    """One thumbnail, embedded once in a page."""

    id: str
    width: int
    height: int
    uri: str


@dataclass(frozen=True)
class Found:
    """One image of a ranking."""

    rank: int
    label: str
    kind: Kind
    score: str
    picture: Picture | None
    """None for an image that cannot be read any more."""


@dataclass(frozen=True)
class Side:
    """What one method found for one query."""

    method: str
    found: tuple[Found, ...]
    n_right: int | None
    """Images of the query's kind among those shown; None where it is not known of each."""
    n_counted: int
    """Images shown, without those that are not counted."""
    measure: str
    """The study's own measure of this ranking, such as ``average precision 17.0 %``; may be empty."""


class Box(NamedTuple):
    """The part of a query image that is asked with, in pixels of its thumbnail."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Query:
    """One query with what was found before and after learning."""

    id: str
    label: str
    chosen_as: str
    picture: Picture
    before: Side
    after: Side
    change: str
    """What learning changed, with a sign before the words; "" where it is not known."""
    box: Box | None = None


@dataclass(frozen=True)
class DatasetGallery:
    """The queries of one data set, with the sentences that say what is shown and how it was chosen."""

    dataset: str
    title: str
    synthetic: bool
    about: str
    """Which images, which run, which two methods."""
    how: str
    """By which rule the queries were chosen, and how they compare to all others."""
    scores: str
    """What the numbers beneath the images are."""
    group_word: str
    """What a label names: ``class``, ``landmark``, ``category``."""
    measure: str
    """What gains and losses are told in: ``average precision``."""
    change_word: str
    """What a change counts: ``images of its class``."""
    change_note: str
    """The same as a sentence has it: ``images of its class are shown``."""
    kinds: tuple[Kind, ...]
    """Those that the legend explains."""
    queries: tuple[Query, ...]

    @property
    def labels(self) -> list[str]:
        """Labels of the queries, each once, in their order."""
        return list(dict.fromkeys(query.label for query in self.queries))

    @property
    def square(self) -> bool:
        """Whether its pictures are about square; else their panels are as wide as photographs."""
        shapes = sorted(picture.width / picture.height for picture in self.pictures)
        return bool(shapes) and shapes[len(shapes) // 2] < 1.15

    @property
    def pictures(self) -> list[Picture]:
        """All thumbnails, each once, in the order in which they appear."""
        shown: dict[str, Picture] = {}
        for query in self.queries:
            own = [found.picture for side in (query.before, query.after) for found in side.found]
            shown |= {picture.id: picture for picture in (query.picture, *own) if picture is not None}
        return list(shown.values())


def told_score(score: float) -> str:
    """Return a score with three digits."""
    text = f"{score:,.0f}" if abs(score) >= 100 else f"{score:#.3g}".removesuffix(".")
    return text.replace("-", "−")


def told_change(difference: float | None) -> str:
    """Return a change as a sign and words, such as ``▲ 2 more``; "" where it is not known."""
    if difference is None or math.isnan(difference):
        return ""
    if difference == 0:
        return "= as many"
    number = f"{abs(difference):.1f}".removesuffix(".0")
    return f"▲ {number} more" if difference > 0 else f"▼ {number} fewer"


def change_of_right(before: Side, after: Side) -> str:
    """Return how many more images of the query's kind are shown after learning."""
    known = before.n_right is not None and after.n_right is not None
    return told_change((after.n_right or 0) - (before.n_right or 0)) if known else ""


class Candidate(NamedTuple):
    """A query that may be shown."""

    key: int
    """Number that the reader of the study knows it by."""
    group: Hashable
    """Its class; queries are spread over these."""
    gain: float
    """By how much it is answered better after learning, in the study's own measure; NaN where that has no value."""


class Choice(NamedTuple):
    """A chosen query."""

    key: int
    chosen_as: str


def choose(candidates: Sequence[Candidate], n: int, *, seed: int, dataset: str) -> list[Choice]:
    """Choose the queries of a gallery by a rule that does not look at how they turn out, but for two that are marked.

    All but two are drawn at random, the classes in turn. The two are the query that gains the most by learning and the
    one that loses the most, so that a reader sees the range. With fewer than three queries all are drawn at random.

    Parameters
    ----------
    candidates : sequence of Candidate
        Of equal gains, the first one counts.
    n : int
        How many to choose; all where there are fewer.
    seed : int
        Root seed.
    dataset : str
        Names the stream of random numbers.

    Returns
    -------
    list of Choice
        Those drawn at random first, in the order in which they were drawn.
    """
    extremes = _extremes(candidates) if n > 2 else []
    taken = {choice.key for choice in extremes}
    stream = generator(seed, "report", "gallery", dataset)
    groups: dict[Hashable, list[int]] = {}
    for candidate in candidates:
        if candidate.key not in taken:
            groups.setdefault(candidate.group, []).append(candidate.key)
    piles = [list(stream.permutation(keys)) for keys in groups.values()]
    piles = [piles[place] for place in stream.permutation(len(piles))]
    drawn: list[Choice] = []
    while len(drawn) < n - len(extremes) and any(piles):
        drawn += [Choice(int(pile.pop()), RANDOM) for pile in piles if pile]
    return drawn[: max(0, n - len(extremes))] + extremes


def _extremes(candidates: Sequence[Candidate]) -> list[Choice]:
    """The query that gains most and the one that loses most, by what they really do; one where there is but one."""
    known = [candidate for candidate in candidates if not math.isnan(candidate.gain)]
    if not known:
        return []
    best = max(known, key=lambda candidate: candidate.gain)
    worst = min(known, key=lambda candidate: candidate.gain)
    names = {worst.key: LOSS if worst.gain < 0 else LEAST_GAIN}
    names[best.key] = GAIN if best.gain > 0 else LEAST_LOSS
    return [Choice(key, names[key]) for key in dict.fromkeys((best.key, worst.key))]


def told_choice(
    candidates: Sequence[Candidate], choices: Sequence[Choice], *, seed: int, group_plural: str, measure: str
) -> str:
    """Sentences of a caption: how queries were chosen, and how many gain and lose among them and among all.

    Parameters
    ----------
    candidates : sequence of Candidate
    choices : sequence of Choice
        From `choose`.
    seed : int
    group_plural : str
        ``classes``.
    measure : str
        What gains are told in: ``average precision``.
    """
    n_random = sum(choice.chosen_as == RANDOM for choice in choices)
    extremes = [choice.chosen_as for choice in choices if choice.chosen_as != RANDOM]
    marked = f"; the {' and the '.join(extremes)} in {measure} of all {len(candidates):,} are added, and marked"
    shown = {choice.key for choice in choices}
    return (
        f"Queries by rule, none picked by hand: {n_random} drawn at random (seed {seed}), the {group_plural} in turn"
        f"{marked if extremes else ''}. By learning, {_outcomes(candidates)} in {measure} of all {len(candidates):,} "
        f"queries, and {_outcomes([one for one in candidates if one.key in shown])} of the {len(shown)} shown."
    )


def _outcomes(candidates: Sequence[Candidate]) -> str:
    gains = [candidate.gain for candidate in candidates if not math.isnan(candidate.gain)]
    n_up, n_down = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return f"{n_up:,} gain, {n_down:,} lose and {len(gains) - n_up - n_down:,} keep the same"
