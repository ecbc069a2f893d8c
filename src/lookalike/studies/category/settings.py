"""Parts of the section of the category study (OASIS)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from lookalike.core.settings.methods import Changes
from lookalike.core.settings.model import Absent, Distinct, Number, Section, names_or


class Printed(Section):
    """The printed numbers to show beside ours, by paper id. They are compared only if the classes are the papers'."""

    oasis_jmlr_2010: Absent[Literal["classes=10", "classes=20", "classes=50", "classes=249"]] = Field(
        None, alias="oasis-jmlr-2010", description="Row block of JMLR Table 4 or panel of Figure 6."
    )
    oasis_2009_draft: Absent[Literal["easy10", "var10", "var20"]] = Field(None, alias="oasis-2009-draft")
    """Row block of the draft's Table 1."""


CLASSES = "`all`, `published`, `first N`, `half N`, or a list of two or more class names"
Classes = Annotated[str | list[str], names_or("all|published|(first|half) [1-9][0-9]*", 2, CLASSES)]


class ChosenClasses(Section):
    """Classes of a subset."""

    classes: Classes = Field()
    """A list of class names (folder names, with or without the leading number), `all`, `first N` in the order of the
    folders, `half N`: one of two random halves, where 1 and 2, 3 and 4 and so on are of one halving, or `published`:
    the list that the papers print under this subset's id."""
    too_small: Literal["error", "drop"] = "error"
    """If a class has too few usable images for a fold: `error` stops the run, `drop` leaves it out and lists it."""


class ClassSubset(ChosenClasses):
    """One subset of classes."""

    title: Absent[str] = Field(None, description="Name in captions; the id if left out.")
    printed: Printed = Printed()
    methods: Absent[Distinct[str]] = Field(None, min_length=1)
    """Ids of the methods that run on this subset, of all that the study names; all of these if left out."""
    overrides: dict[str, Changes] = Field({})
    """Changes to `methods` for this subset only, laid over those of the study."""


class Halves(Section):
    """Random halves of the classes, each a subset, whose results are pooled: numbers of many draws of classes."""

    count: int = Field(20, ge=4, multiple_of=2)
    """How many halves, two of each random halving, so that each class is in every second one."""
    title: str = Field("halves of the classes", description="Name of all of them together in tables.")
    printed: Printed = Printed()

    def numbers(self) -> dict[str, int]:
        """Return the number of each half by the id of its subset."""
        return {f"half{number:02d}": number for number in range(1, self.count + 1)}

    def subsets(self) -> dict[str, dict[str, str]]:
        """Return the subset of each half by its id."""
        return {id: {"title": f"half {n}", "classes": f"half {n}"} for id, n in self.numbers().items()}


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
    folds: Absent[int] = Field(None, ge=1, description="Partitions that rankers are trained on; all if left out.")


class Transfer(OneAggressiveness):
    """OASIS that learns from one half of a subset's classes and ranks the other half; not run if left out."""


class FewImages(Section):
    """Methods that learn from fewer images of each class; not run if left out."""

    images: Distinct[Annotated[int, Field(ge=3)]] = Field([5, 10, 20], min_length=1)
    """Training images of each class, besides all of them, from which Table 4 is made."""
    methods: Distinct[str] = Field(
        min_length=1, description="Ids of the methods; those that the study does not run are left out."
    )


class Splits(Section):
    """How images are divided (JMLR 5.3.2)."""

    folds: int = Field(5, ge=1, le=100, description="Random partitions per subset.")
    train: int = Field(40, ge=3, description="Training images per class.")
    test: int = Field(25, ge=2, description="Test images per class.")
    validation: int = Field(8, ge=2, description="Training images per class on which selection scores.")


def with_halves(study: dict[str, object]) -> dict[str, object]:
    """Fill in the subsets of a study that names halves of its classes."""
    if "halves" not in study:
        return study
    if "subsets" in study:
        raise PydanticCustomError("halves", "name either halves or subsets: each half is a subset")
    return {**study, "subsets": Halves.model_validate(study["halves"]).subsets()}


def with_likes(studies: object) -> object:
    """Fill in what studies leave out that name another one under `like`."""
    if not isinstance(studies, dict) or not all(isinstance(study, dict) for study in studies.values()):
        return studies  # refused in its own place
    studies = {dataset: with_halves(study) for dataset, study in studies.items()}
    filled = {}
    for dataset, study in studies.items():
        other = study.get("like", dataset)
        if other not in studies or ("like" in studies[other] and other != dataset):
            names = {"dataset": dataset, "other": repr(other)}
            raise PydanticCustomError(
                "like", "{dataset} is like {other}, but there is no study of {other} with settings of its own", names
            )
        filled[dataset] = studies[other] | study
        # the exhibits of the other study name its own subsets
        if dataset != other and "subsets" in study:
            filled[dataset]["exhibits"] = study.get("exhibits", {})
    return filled
