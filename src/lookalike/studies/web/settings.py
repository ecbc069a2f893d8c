"""Sections of the web-scale study's settings (OASIS on a query log), each of which a job reads whole."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lookalike.core.settings.model import Absent, Distinct, Number, Section


class LogLearning(Section):
    """What decides the triplets and steps of a ranker."""

    aggressiveness: Number = Field(0.1, gt=0, description="C of OASIS.")
    steps: int = Field(160000000, ge=1)
    """The most triplets. Training stops earlier if mean average precision on held-out images no longer grows."""
    interval: int = Field(2097152, ge=1)
    """Triplets between two scores on held-out images; a multiple of `block`."""
    patience: int = Field(8, ge=0)
    """Scores in a row that may fail to beat the best before training stops; 0 takes all steps."""
    tolerance: Number = Field(0, ge=0, description="By how much mean average precision must grow to count.")
    block: int = Field(2048, ge=1, le=16384, description="Triplets of a block.")
    triplets_per_query: int = Field(1, ge=1, le=16384)
    """Triplets in a row that share their query image. From about 32 on, steps take less time at 10,000 words; too many
    for the number of steps leave images out (`docs/explanation/web.md`)."""
    relevance: Literal["joint", "co_clicks"] = "joint"
    """`joint`: Pr(p1, p2) of draft eq. 19; `co_clicks`: C'C of the NIPS version."""
    theta: Number = Field(0, ge=0, description="Cut of the joint relevance (JMLR eq. 10).")
    share: Absent[Number] = Field(None, gt=0, le=1)
    """Needed by `co_clicks`: the share of its largest values to keep."""


class LogTraining(LogLearning):
    """How OASIS is trained on the log."""

    threads: int = Field(2, ge=1)
    """Threads that score held-out images. They do not change the result."""
    rankers: int = Field(1, ge=1)
    """Rankers that are trained, each in a job of its own, and averaged (JMLR section 5.4)."""
    checkpoint_seconds: Number = Field(300, gt=0)
    """Seconds between two checkpoints. A kill loses no more than this."""


class HeldOutLog(Section):
    """Training images that are held out, whole queries of them, to choose the number of steps."""

    images: int = Field(20000, ge=1, description="About how many; never more than a third of the training images.")
    queries: int = Field(1000, ge=1, description="How many of them query the others.")


class LogTest(Section):
    """Test images that query all other test images."""

    queries: int = Field(10000, ge=2, description="How many; all of them where there are fewer.")
    neighbours: int = Field(50, ge=1, description="Longest list of retrieved images that precision is computed for.")


class OasisTimes(Section):
    """What decides a timed run of OASIS besides its size."""

    aggressiveness: Number = Field(1.0, gt=0)
    """C of OASIS at these sizes, chosen on held-out images of other simulated sets. With a smaller C, mean average
    precision first falls for tens of passes over so few images."""
    patience: int = Field(20, ge=1)
    """Scores in a row, about one for each pass over the images, that may fail to beat the best before training
    stops."""
    tolerance: Number = Field(0.001, ge=0, description="By how much mean average precision must grow to count.")
    steps_per_image: int = Field(200, ge=1, description="The most triplets, for each image.")


class LmnnTimes(Section):
    """What decides a timed run of LMNN besides its size."""

    max_iter: int = Field(1000, ge=1, description="The most iterations of LMNN.")
    time_limit: Number = Field(3600, gt=0)
    """Seconds of processor time after which a fit of LMNN is given up."""


class Runtime(LmnnTimes, OasisTimes):
    """Time to early stopping against the number of images (JMLR Figure 4); not run if left out."""

    images: Distinct[Annotated[int, Field(ge=60)]] = Field(min_length=1)
    """Sizes of further simulated data sets to train OASIS on. The figure also shows the study's own."""
    lmnn: Distinct[Annotated[int, Field(ge=60)]] = Field([])
    """Sizes of labelled sets of MNIST's shape that active-set LMNN is trained on."""
