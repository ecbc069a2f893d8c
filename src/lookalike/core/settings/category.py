"""Settings of the category study (OASIS)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from lookalike.core.settings.methods import BatchOfStudy, Changes, Overrides
from lookalike.core.settings.model import ABSENT, Distinct, Id, Number, Section, left_out, names_or


class Printed(Section):
    """The printed numbers to show beside ours, by paper id. They are compared only if the classes are the papers'."""

    oasis_jmlr_2010: Literal["classes=10", "classes=20", "classes=50", "classes=249"] = left_out(
        alias="oasis-jmlr-2010", description="Row block of JMLR Table 4 or panel of Figure 6."
    )
    oasis_2009_draft: Literal["easy10", "var10", "var20"] = left_out(alias="oasis-2009-draft")
    """Row block of the draft's Table 1."""


TOLD = "`all`, `published`, `first N`, or a list of two or more class names"
Classes = Annotated[str | list[str], names_or("all|published|first [1-9][0-9]*", 2, TOLD)]


class Subset(Section):
    """One subset of classes."""

    title: str = left_out(description="Name in captions; the id if left out.")
    classes: Classes = Field()
    """A list of class names (folder names, with or without the leading number), `all`, `first N` in the order of the
    folders, or `published`: the list that the papers print under this subset's id."""
    printed: Printed = Printed()
    too_small: Literal["error", "drop"] = "error"
    """If a class has too few usable images for a fold: `error` stops the run, `drop` leaves it out and lists it."""
    methods: Distinct[str] = left_out(min_length=1)
    """Ids of the methods that run on this subset, of all that the study names; all of these if left out."""
    overrides: dict[str, Changes] = Field({})
    """Changes to `methods` for this subset only, laid over those of the study."""


class Ratings(Section):
    """Galleries of what OASIS retrieves, and the human evaluation of it (JMLR section 5.2.3), on one partition of one
    subset; not run if left out.
    """

    subset: str = Field(description="Id of the subset whose test images are queried and shown.")
    fold: int = Field(0, ge=0, description="Number of the partition.")
    path: str = ABSENT
    """Folder of the raters' CSV files, as the page exports them, relative to the work folder; `data/ratings/` and the
    data set's id if left out. Without a file there, a panel is simulated."""
    queries: int = Field(25, ge=1, description="Query images that are rated, those of largest total relevance.")
    retrieved: int = Field(10, ge=1, le=10, description="First images of each query that are rated.")
    random: int = Field(10, ge=0, description="Images without relevance to a query that are mixed in.")


class OneAggressiveness(Section):
    """Training of OASIS with one C, for an exhibit of its own."""

    steps: int = Field(100000, ge=1, description="Longest run, in training steps.")
    points: int = Field(20, ge=2, description="Number of log-spaced points at which a number is kept.")
    aggressiveness: Number = Field(0.1, gt=0, description="C of the passive-aggressive step.")
    solver: Literal["auto", "gram", "rows"] = Field("auto", description="What steps work on, as of the learner OASIS.")


class Rankers(OneAggressiveness):
    """Rankers, trained independently, and their averages (JMLR Figure 7); not run if left out."""

    count: int = Field(10, ge=2, le=100, description="Number of rankers.")
    averages: Distinct[Annotated[int, Field(ge=2)]] = Field([5, 10], min_length=1)
    """How many of them are averaged, a curve for each number."""
    folds: int = left_out(ge=1, description="Partitions that rankers are trained on; all if left out.")


class LossBound(OneAggressiveness):
    """Counts of mistakes beside the bound of JMLR Theorem 1; not run if left out."""


class Transfer(OneAggressiveness):
    """OASIS that learns from one half of a subset's classes and ranks the other half; not run if left out."""


class Splits(Section):
    """How images are divided (JMLR 5.3.2)."""

    folds: int = Field(5, ge=1, le=100, description="Random partitions per subset.")
    train: int = Field(40, ge=3, description="Training images per class.")
    test: int = Field(25, ge=2, description="Test images per class.")
    validation: int = Field(8, ge=2, description="Training images per class on which selection scores.")


class CategoryStudy(Section):
    """The category study on one data set."""

    like: str = ABSENT
    """Data set whose study gives the keys that are left out here; a key that stands here replaces that study's."""
    batch: BatchOfStudy = ABSENT
    ratings: Ratings = ABSENT
    representation: str = Field(description="Id of the representation that the exhibits show.")
    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods to run, in the order of the exhibits.")
    variants: Distinct[str] = Field([])
    """Ids of symmetric variants of OASIS to run too (JMLR Figure 8, draft Figure 5), and of OASIS projected onto
    positive matrices (NIPS abstract)."""
    timed: Distinct[str] = Field([])
    """Ids of further methods, run only for their training times (JMLR Table 5, draft Table 2)."""
    set_aside: Distinct[str] = Field([])
    """Ids of methods that the papers tried and set aside (JMLR section 5.3.1). They appear in claims and in the
    comparison with OASIS, and in no table of a paper."""
    projected: Distinct[str] = Field([])
    """Ids of OASIS with projections onto positive semidefinite matrices. Only their curves are made (JMLR Figure 9)."""
    minima: Distinct[str] = Field([])
    """Ids of `mcml-factor` and `lmnn-factor`, which go to the minimum of what `mcml` and `lmnn` descend. Only
    `learning/minimum` shows them."""
    rankers: Rankers = ABSENT
    loss_bound: LossBound = ABSENT
    transfer: Transfer = ABSENT
    ablations: Distinct[str] = Field([])
    """Ids of further representations to run with the same subsets."""
    ablation_methods: Distinct[str] = left_out(min_length=1)
    """Ids of the methods that are run in the further representations; all of `methods` if left out."""
    splits: Splits = Splits()
    subsets: dict[Id, Subset] = Field(min_length=1, description="The subsets of classes, by id.")
    exhibits: dict[str, Annotated[list[str], Field(min_length=1)]] = ABSENT
    """Which subsets each exhibit shows, by `paper/name`; every exhibit shows every subset if left out."""
    overrides: Overrides = Field({})


def with_likes(studies: Any) -> Any:
    """Fill in what studies leave out that name another one under `like`."""
    if not isinstance(studies, dict) or not all(isinstance(study, dict) for study in studies.values()):
        return studies  # told in its own place
    filled = {}
    for dataset, study in studies.items():
        other = study.get("like", dataset)
        if other not in studies or ("like" in studies[other] and other != dataset):
            told = {"dataset": dataset, "other": repr(other)}
            raise PydanticCustomError(
                "like", "{dataset} is like {other}, but there is no study of {other} with settings of its own", told
            )
        # the exhibits of the other study name its own subsets
        shown: dict[str, Any] = {"exhibits": {}} if "subsets" in study and dataset != other else {}
        filled[dataset] = {**studies[other], **shown, **study}
    return filled


CategoryStudies = Annotated[dict[Id, CategoryStudy], BeforeValidator(with_likes)]
