"""States of exhibits and outcomes of claims, each with its words, its sign and its colour."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

Colour = Literal["", "good", "bad", "open", "absent"]


class Status(StrEnum):
    """How a reader sees a state or an outcome: by words, and by a sign, so that none is told by its colour alone."""

    sign: str
    colour: Colour
    """A name that the style sheet has a colour for; "" of what needs no sign."""
    meaning: str

    def __new__(cls, words: str, sign: str = "", colour: Colour = "", meaning: str = "") -> Self:
        """Return the status of some words."""
        status = str.__new__(cls, words)
        status._value_ = words
        status.sign, status.colour, status.meaning = sign, colour, meaning
        return status


class State(Status):
    """What became of an exhibit."""

    DRAWN = "drawn"
    NOT_RUN = "not run", "–", "absent", "this run has no result here, and its section says why"
    FAILED = "failed", "!", "bad", "making it ended in an error, which its section tells"


class Outcome(Status):
    """What numbers say of a claim, or that they say nothing."""

    HOLDS = "holds", "✓", "good", "the numbers of this data set bear the claim out"
    FAILS = "does not hold", "✗", "bad", "the numbers of this data set are against the claim"
    OPEN = "undecided", "?", "open", "the numbers of this data set leave it open"
    NOT_RUN = "not run", "–", "absent", "no run at hand has numbers for it"
    LEFT_OUT = "left out"
    """A method did not end: of one contrast beside others, never of a claim."""
