"""Sections of the landmark study's settings (SOML)."""

from __future__ import annotations

from itertools import product
from typing import Annotated

from pydantic import Field

from lookalike.core.settings.model import ABSENT, Absent, Distinct, Number, Section, left_out


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


class Photographs(Section):
    """The methods on published visterms of photographs, each class a landmark; not run if left out."""

    data: str = Field(description="Id of the data set of kind `visterms`.")
    words: int = Field(1000, ge=2, description="Words of its counts.")
    methods: Distinct[str] = Field(min_length=2, description="Ids of the methods that learn.")
    queries: int = Field(5, ge=1, description="Images of each class that ask.")
    learning: LearningImages = LearningImages(draws=1)


class Bags(Section):
    """Settings of simulated bags of words (lookalike.studies.landmark.bags)."""

    images: int = Field(5062, ge=600, description="Images of a collection; the paper has 5,062.")
    landmarks: int = Field(
        7, ge=2, le=7, description="Landmarks, the paper's first ones, with their numbers of images."
    )
    features: int = Field(3200, ge=100)
    """Local features of an image on average; Oxford5K's 16.3 million are 3,200 an image."""
    visibility: Number = Field(0.3, gt=0, lt=0.7)
    """Share of the features that show the landmark where it is seen best. It was set by TF-IDF alone, which learns
    nothing: its mean over burstiness of 1, 2, 4 and 8 is near the printed 33.9 with 10,000 words."""


class Readings(Section):
    """Methods, and readings of their algorithms, on simulated bags of words; not run if left out."""

    methods: Distinct[str] = Field(min_length=2, description="Ids of the methods and readings.")
    words: Distinct[Annotated[int, Field(ge=100)]] = Field(min_length=1, description="Sizes of the codebook.")
    burstiness: Distinct[Annotated[Number, Field(ge=1)]] = Field(min_length=1)
    """How often a local feature stands in an image on average; 1: never twice."""
    gamma: Distinct[Annotated[Number, Field(gt=0)]] = Field([], description="Values of gamma of `varied`.")
    varied: str = Field("soml-da", description="Id of the method whose gamma is varied.")
    bags: Bags = Bags()
    learning: LearningImages = LearningImages(draws=1)
    """Images to learn from; a draw is a collection."""

    def cells(self) -> list[tuple[int, float]]:
        """Return every size of the codebook with every burstiness; each is a job."""
        return list(product(self.words, self.burstiness))


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


def words_setting(words: int) -> str:
    """Name a size of the codebook, as contrasts do."""
    return f"{words:,} words"


def setting_of(words: int, burstiness: float) -> str:
    """Name a cell of the diagram, as contrasts do."""
    return f"{words_setting(words)}, burstiness {burstiness:g}"


def gamma_setting(setting: str, gamma: float) -> str:
    """Name a cell of the diagram with a gamma."""
    return f"{setting}, gamma {gamma:g}"
