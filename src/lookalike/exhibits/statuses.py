"""States of exhibits and outcomes of claims, each with its words, its sign and its colour."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple

Colour = Literal["good", "bad", "open", "absent"]
"""Names that the style sheet has colours for."""


class Badge(NamedTuple):
    """How a reader sees a state or an outcome."""

    words: str
    sign: str
    """So that none is told by its colour alone."""
    colour: Colour
    meaning: str


class State(StrEnum):
    """What became of an exhibit."""

    badge: Badge | None
    """None where it was drawn, which a page shows."""

    def __new__(cls, words: str, badge: Badge | None = None) -> State:
        """Make a state that is its words."""
        state = str.__new__(cls, words)
        state._value_, state.badge = words, badge
        return state

    DRAWN = "drawn", None
    NOT_RUN = "not run", Badge("not run", "–", "absent", "this run has no result here, and its section says why")
    FAILED = "failed", Badge("failed", "!", "bad", "drawing it ended in an error, which its section tells")


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
