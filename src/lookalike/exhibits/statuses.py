"""Statuses of numbers beside print and outcomes of claims, each with its words, its sign and its colour."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

Colour = Literal["good", "bad", "open", "absent"]
"""Names that the style sheet has colours for."""


class Badge(NamedTuple):
    """How a reader sees a status or an outcome; several statuses may share one."""

    words: str
    sign: str
    """So that none is told by its colour alone."""
    colour: Colour
    meaning: str


SAME = Badge("agrees", "=", "good", "every number that can be compared agrees with the printed one")
NEAR = Badge("close", "≈", "good", "some numbers differ from print, all by less than two standard deviations")
APART = Badge("differs", "≠", "bad", "some numbers are clearly higher or lower than the printed ones")
ELSEWHERE = Badge(
    "other data", "○", "open", "the paper's numbers are of other images or another machine, so there is no verdict"
)
ABSENT = Badge("not run", "–", "absent", "this run has no result here, and its section says why")
BADGES = (SAME, NEAR, APART, ELSEWHERE, ABSENT)
"""Badges of statuses, in the order in which pages count them."""


class Status(StrEnum):
    """How a number compares with the printed one, or all numbers of an exhibit; or that it does not."""

    badge: Badge | None
    """None where no paper prints a number to agree with."""

    def __new__(cls, words: str, badge: Badge | None = None) -> Status:
        """Make a status that is its words."""
        status = str.__new__(cls, words)
        status._value_, status.badge = words, badge
        return status

    AGREES = "agrees", SAME
    CLOSE = "close", NEAR
    HIGHER = "higher", APART
    LOWER = "lower", APART
    MIXED = "mixed", APART
    """Some numbers of an exhibit are higher than in print, and others lower."""
    OTHER_CLASSES = "other classes", ELSEWHERE
    """The number is of real images of other classes than the paper's: it stands beside print to be looked at."""
    NOT_COMPARABLE = "not comparable", ELSEWHERE
    NOT_RUN = "not run", ABSENT
    FAILED = "failed", ABSENT
    NO_RESULT = "no result", ABSENT
    """The paper has a number and this run has none."""
    NO_PRINTED_NUMBER = "no printed number", None
    """Of an exhibit of which no paper prints a number."""
    NO_PRINTED_VALUE = "no printed value", None
    """The paper has a cell for it and no number there."""


def count_badges(statuses: Mapping[Status, int]) -> dict[Badge, int]:
    """Return how many numbers or exhibits have each badge, from how many have each status."""
    return {badge: sum(n for status, n in statuses.items() if status.badge is badge) for badge in BADGES}


class Outcome(StrEnum):
    """What numbers say of a claim, or that they say nothing."""

    badge: Badge

    def __new__(cls, words: str, sign: str = "", colour: Colour = "open", meaning: str = "") -> Outcome:
        """Make an outcome that is its words."""
        outcome = str.__new__(cls, words)
        outcome._value_, outcome.badge = words, Badge(words, sign, colour, meaning)
        return outcome

    HOLDS = "holds", "✓", "good", "the numbers of this data set bear the claim out"
    FAILS = "does not hold", "✗", "bad", "the numbers of this data set are against the claim"
    OPEN = "undecided", "?", "open", "the numbers of this data set leave it open"
    NOT_RUN = "not run", "–", "absent", "no run at hand has numbers for it"
    LEFT_OUT = "left out", "–", "absent", "a method did not end, which does not count beside others"
    """Of one contrast alone, never of a claim."""
