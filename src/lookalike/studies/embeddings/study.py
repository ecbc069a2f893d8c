"""The study of embeddings: its section of the settings, and what its rules, jobs and exhibits ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from pydantic import Field

from lookalike.core.settings.data_sets import EMBEDDING_KINDS
from lookalike.core.settings.methods import Fit
from lookalike.core.settings.model import Distinct, Section, refer, refer_kind
from lookalike.exhibits.model import Drawn
from lookalike.studies.method_study import MethodStudy, fit_of

BASELINES = {"cosine": "Cosine", "euclidean": "Euclidean", "lda": "LDA", "logistic": "Logistic regression"}
"""What learners are compared with, by id: two that do not learn, and two of scikit-learn."""
HALVES = {"learned": "mAP (%), classes learned from", "new": "mAP (%), new classes"}
"""Half of the classes, as results name it, to its title."""


class Sizes(Section):
    """Images of each class."""

    train: int = Field(40, ge=3, description="Training images of a class that is learned from.")
    test: int = Field(25, ge=2, description="Test images of every class.")
    validation: int = Field(8, ge=2, description="Training images of a class on which selection scores.")


class EmbeddingsStudy(MethodStudy):
    """The papers' protocol on embeddings: halves of the classes are learned from, and both halves are ranked."""

    room: ClassVar = "embeddings"
    tables: ClassVar = ("results", "manifest")
    contrasted: ClassVar = ("results",)
    jobs: ClassVar = {"run": "specs halvings sizes seed"}

    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods that learn from the embeddings.")
    halvings: int = Field(5, ge=2, le=100, description="Random halvings of the classes, which are the folds.")
    sizes: Sizes = Sizes()

    def check(self) -> None:
        """Refuse methods that do not exist, and data that are no embeddings."""
        for method in self.named_methods():
            refer(f"embeddings.{self.dataset}", method, self._shared.methods)
        refer_kind(f"embeddings.{self.dataset}", self.data_set.kind, EMBEDDING_KINDS, "embeddings")

    def named_methods(self) -> list[str]:
        """Return the methods that learn."""
        return self.methods

    @property
    def specs(self) -> dict[str, Fit]:
        """Return what decides the fits of the methods that learn."""
        return {method: fit_of(self.changed(method)) for method in self.methods}

    @cached_property
    def method_titles(self) -> Mapping[str, str]:
        """Method to its title; what learners are compared with has one of its own."""
        return {**super().method_titles, **BASELINES}

    def titles_of(self, column: str) -> Mapping[str, str]:
        """Return the values of a column of results with their titles; what learns comes last."""
        return HALVES if column == "setting" else {m: self.title_of(m) for m in (*BASELINES, *self.methods)}

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Name the data, and what ± is."""
        return f"{self.data}; mean ± standard deviation over {self.halvings} halvings of the classes."


STUDY = EmbeddingsStudy
