"""States of exhibits and outcomes of claims, each with its words, its sign and its colour."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NamedTuple


class Badge(NamedTuple):
    """How a reader sees a state or an outcome."""

    words: str
    sign: str
    """So that none is told by its colour alone."""
    colour: Literal["good", "bad", "open", "absent"]
    """A name that the style sheet has a colour for."""
    meaning: str


class State(StrEnum):
    """What became of an exhibit."""

    DRAWN = "drawn"
    NOT_RUN = "not run"
    FAILED = "failed"

    @property
    def badge(self) -> Badge | None:
        """Its badge; None where it was drawn, which a page shows."""
        return {
            State.NOT_RUN: Badge(self, "–", "absent", "this run has no result here, and its section says why"),
            State.FAILED: Badge(self, "!", "bad", "drawing it ended in an error, which its section tells"),
        }.get(self)


class Outcome(StrEnum):
    """What numbers say of a claim, or that they say nothing."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"
    NOT_RUN = "not run"
    LEFT_OUT = "left out"
    """A method did not end: of one contrast beside others, never of a claim."""

    @property
    def badge(self) -> Badge:
        """Its badge."""
        return {
            Outcome.HOLDS: Badge(self, "✓", "good", "the numbers of this data set bear the claim out"),
            Outcome.FAILS: Badge(self, "✗", "bad", "the numbers of this data set are against the claim"),
            Outcome.OPEN: Badge(self, "?", "open", "the numbers of this data set leave it open"),
            Outcome.NOT_RUN: Badge(self, "–", "absent", "no run at hand has numbers for it"),
        }[self]
