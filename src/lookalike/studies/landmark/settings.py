"""Sections of the landmark study's settings (SOML)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lookalike.core.settings.model import ABSENT, Absent, Distinct, Number, Section, left_out

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


class Sweep(Section):
    """Regularisation against sparsity and mAP, on all draws; not run if left out."""

    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods whose regularisation is varied.")
    regularization: Distinct[Annotated[Number, Field(ge=0)]] = Field(min_length=2, description="Values of lambda.")


class GammaSweep(Section):
    """Gamma and rho of S-DA against sparsity and mAP; not run if left out."""

    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods whose gamma and rho are varied.")
    gamma: Distinct[Annotated[Number, Field(gt=0)]] = Field(min_length=2, description="Values of gamma.")
    rho: Distinct[Annotated[Number, Field(ge=0)]] = Field(min_length=1, description="Values of rho, a curve each.")
    draws: int = Field(1, ge=1, description="Draws of learning images that it is run on.")


class CostSweep(Section):
    """C of QPAO, the cost of a unit of loss, against sparsity and mAP; not run if left out."""

    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods whose C is varied.")
    C: Distinct[Annotated[Number, Field(gt=0)]] = Field(min_length=2, description="Values of C.")
    landmarks: int = Field(7, ge=1, description="Landmarks that it is run on, the first ones.")
    draws: int = Field(1, ge=1, description="Draws of learning images that it is run on.")


class TripletOrder(Section):
    """Three orders of the triplets, and the number of negatives, against mAP; not run if left out."""

    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods that learn.")
    negatives: Distinct[Annotated[int, Field(ge=1)]] = Field(min_length=2)
    """Numbers of negatives. Each takes the first ones of the draw, in a random order."""
    draws: int = Field(2, ge=1, description="Draws of learning images that it is run on.")


class Dimensions(Section):
    """Training time against the number of words, on simulated rows; not run if left out."""

    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods that are timed.")
    words: Distinct[Annotated[int, Field(ge=100)]] = Field(min_length=2, description="Numbers of words.")
    nonzeros: int = Field(2000, ge=10, description="Words that a simulated image has.")
    repeats: int = Field(3, ge=1, description="How often each fit is timed; figures show the median.")
    time_limit: Number = Field(3600, gt=0)
    """Seconds of processor time of one fit; a method that takes longer is not run with more words."""


class Lead(Section):
    """S-TG and S-DA minus OASIS over codebooks of several sizes and numbers of features; not run if left out."""

    codebooks: Distinct[str] = Field(min_length=2)
    """Ids of the codebooks: their words and the `n_max` of their keypoints vary. Whole images are queries."""
    chosen_draws: int = Field(3, ge=1, le=100)
    """Draws, the first ones, in which constants are chosen too; this takes about ten times as long as printed ones."""


class Sweeps(Section):
    """What a study varies besides its methods."""

    sweep: Absent[Sweep] = ABSENT
    gamma_sweep: Absent[GammaSweep] = ABSENT
    cost_sweep: Absent[CostSweep] = ABSENT
    triplet_order: Absent[TripletOrder] = ABSENT

    def varied(self) -> list[Sweep | GammaSweep | CostSweep | TripletOrder]:
        """Return those that are run."""
        sweeps = (self.sweep, self.gamma_sweep, self.cost_sweep, self.triplet_order)
        return [sweep for sweep in sweeps if sweep is not None]
