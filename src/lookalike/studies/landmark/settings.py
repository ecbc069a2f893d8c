"""Sections of the landmark study's settings (SOML)."""

from __future__ import annotations

from pydantic import Field

from lookalike.core.settings.model import Absent, Distinct, Number, Section, left_out

CHOSEN = {"oasis-diagonal": "oasis-chosen", "soml-tg": "soml-tg-chosen", "soml-da": "soml-da-chosen"}
"""Methods of a study's `lead` to the same with constants that are chosen among several, by images to learn from."""


class LearningImages(Section):
    """The images that each landmark is learned from."""

    positives: int = Field(7, ge=2, description="Images of the landmark, none of them a query.")
    negatives: int = Field(500, ge=1, description="Images of other things.")
    draws: int = Field(5, ge=1, le=100, description="How often they are drawn; the paper prints one draw.")
    passes: Absent[Number] = left_out(gt=0)
    """Steps for each triplet of learners that draw triplets at random (OASIS: 100,000 steps of 21,000 triplets are 4.76
    passes); their `n_steps` if left out."""


class Lead(Section):
    """S-TG and S-DA minus OASIS over codebooks of several sizes and numbers of features; not run if left out."""

    codebooks: Distinct[str] = Field(min_length=2)
    """Ids of the codebooks: their words and the `n_max` of their keypoints vary. Whole images are queries."""
    chosen_draws: int = Field(3, ge=1, le=100)
    """Draws, the first ones, in which constants are chosen too; this takes about ten times as long as printed ones."""
