"""What the exhibits of the category study ask of it: subsets, methods, and what the fits recorded (JMLR 5.3)."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from lookalike.exhibits.model import Figure, Table
from lookalike.exhibits.printed import MISSING, NO_RESULT, NOT_COMPARABLE, STAR
from lookalike.exhibits.study import Study
from lookalike.exhibits.verdicts import OPEN, Claim, Finding, Rule, also_said

if TYPE_CHECKING:
    import pandas as pd

PAPER_SPLITS = {"folds": 5, "train": 40, "test": 25, "validation": 8}
"""Partitions per subset and images per class of the papers (JMLR 5.3.2); 8 is the 20% that selection scores on."""
PAPER_WORDS = 1000
"""Visterms of the papers' comparisons (JMLR 5.3.2)."""
ROLES = ("methods", "variants", "timed", "projected")
"""Settings that list methods by what they are run for."""


@dataclass(frozen=True)
class Subset:
    """One subset of classes, as exhibits name it."""

    id: str
    title: str
    n_classes: int
    """Classes that were really used; 0 where that is not known."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """Paper id to the ``setting`` of its printed numbers (``{"oasis-jmlr-2010": "classes=10"}``)."""
    why_not_comparable: str = ""
    """Why its numbers may not be held against the printed ones (``synthetic images``); "" where they may."""


class CategoryStudy(Study):
    """The category study of one data set.

    Its settings are those of ``plan.exhibit_settings``: of every study ``dataset, title, kind, synthetic, not_run,
    titles``, and ``representation``, ``representation_settings`` (``words``, ``hellinger``), ``splits``, the lists of
    `ROLES`, ``subsets`` (id to ``title``, ``printed``, ``classes``, ``n_classes``, ``published_classes``), ``exhibits``
    (id to the subsets that it shows), ``projection_intervals``, ``notes`` (method to a sentence) and
    ``traced_aggressiveness``.
    """

    _only: tuple[str, ...] | None = None
    """The subsets to which a claim has narrowed it."""

    @property
    def methods(self) -> list[str]:
        """Methods that are compared, in order."""
        return list(self.settings["methods"])

    @property
    def n_folds(self) -> int:
        """Partitions of each subset."""
        return int(self.settings["splits"]["folds"])

    @cached_property
    def all_subsets(self) -> tuple[Subset, ...]:
        """Every subset of the study."""
        return tuple(self._subset(id, described) for id, described in self.settings["subsets"].items())

    @property
    def subsets(self) -> list[Subset]:
        """Subsets that the exhibit at hand shows, or that a claim is about."""
        shown = self._only
        if shown is None and self.exhibit is not None:
            shown = self.settings.get("exhibits", {}).get(self.exhibit.id)
        return [subset for subset in self.all_subsets if shown is None or subset.id in shown]

    def about(self, subsets: Iterable[Subset]) -> Self:
        """Return the same study narrowed to some subsets."""
        study = copy.copy(self)
        study._only = tuple(subset.id for subset in subsets)
        return study

    def setting_of(self, subset: Subset) -> str:
        """Setting of the printed numbers that a subset stands beside in the paper at hand."""
        return str(subset.printed.get(self.paper, ""))

    def block_title(self, subset: Subset) -> str:
        """Heading of a subset's block or panel: JMLR counts classes, the draft names subsets."""
        if self.paper == "oasis-jmlr-2010" and not self.synthetic and subset.n_classes:
            return f"{subset.n_classes} classes"
        return subset.title

    @property
    def titles(self) -> dict[str, str]:
        """Subset id to its heading in the paper at hand."""
        return {subset.id: self.block_title(subset) for subset in self.all_subsets}

    def own(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows of a table that are in the study's own representation."""
        rows: pd.DataFrame = table[table["representation"] == self.settings["representation"]]
        return rows

    @property
    def numbers(self) -> pd.DataFrame:
        """The study's numbers in its own representation (`lookalike.studies.metrics`)."""
        return self.own(self.table("metrics"))

    @property
    def fits(self) -> pd.DataFrame:
        """What each fit in the study's own representation recorded, by fold."""
        fits: pd.DataFrame = self.own(self.table("fits")).sort_values("fold", kind="stable")
        return fits

    def fits_of(self, subset: Subset, method: str) -> pd.DataFrame:
        """Fits of one method on one subset, by fold."""
        fits = self.fits
        return fits[(fits["subset"] == subset.id) & (fits["method"] == method)]

    def recorded(self, subset: Subset, method: str, column: str) -> pd.Series:
        """One column of `fits_of`, without folds that have none."""
        fits = self.fits_of(subset, method)
        return fits[column].dropna() if column in fits else fits["fold"].iloc[:0]

    @cached_property
    def not_converged(self) -> dict[tuple[str, str], str]:
        """(subset, method) to why it has no result, and in how many folds, where a fit ran into its time limit."""
        if not self.has("fits"):
            return {}
        reasons = {}
        for (subset, method), rows in self.fits.groupby(["subset", "method"], sort=False):
            failed = rows.loc[rows["not_converged"].fillna("") != "", "not_converged"]
            if len(failed):
                reasons[str(subset), str(method)] = f"{failed.iloc[0]} ({len(failed)} of {len(rows)} folds)"
        return reasons

    def without_number(self, subset: str, method: str) -> str:
        """Cell of ours that has no number: ``*`` where the learner did not converge, else ``-``."""
        return STAR if (subset, method) in self.not_converged else MISSING

    def judge(self, cell: Mapping[str, Any]) -> tuple[str, str] | None:
        """Status and reason of a printed number that gets no verdict; None where it gets one."""
        if math.isnan(cell["value" if "value" in cell else "printed"]):
            return None
        if math.isnan(cell["ours"]):
            reason = self.not_converged.get((cell["subset"], cell["method"]))
            if reason:
                return NO_RESULT, f"did not converge: {reason}"
            run = {method for role in ROLES for method in self.settings.get(role, ())}
            return (NO_RESULT, f"{self.title_of(cell['method'])} was not run") if cell["method"] not in run else None
        why = next(subset.why_not_comparable for subset in self.all_subsets if subset.id == cell["subset"])
        return (NOT_COMPARABLE, why) if why else None

    def data_sentence(self, drawn: Any) -> str:
        """Which data, and what ± or error bars are."""
        made = ", synthetic images" if self.synthetic else ""
        words = self.settings["representation_settings"]["words"]
        spread = "± is the standard deviation" if isinstance(drawn, Table) else "error bars are standard errors"
        what = f"{self.title}{made}, {words:,} visterms"
        return f"{what}; means over {self.n_folds} folds, {spread}." if drawn is not None else f"{what}."

    def notes(self, drawn: Any) -> list[str]:
        """Limits that ended a fit, ends of grids, and why numbers may not be held against print."""
        if self.not_run or drawn is None:
            return []
        methods = self._methods_in(drawn)
        told = [f"{self.title_of(method)}: {note.rstrip('.')}." for method, note in self.settings["notes"].items()
                if method in methods]  # fmt: skip
        told += self._not_converged_notes(methods) + self._selection_notes(methods) + self._stopped_notes(methods)
        return told + self._comparable_notes()

    def _methods_in(self, drawn: Table | Figure) -> list[str]:
        """Methods that a table or figure shows, by its frame."""
        column = next((name for name in ("method", "series") if name in drawn.frame), None)
        shown = set() if column is None else set(drawn.frame[column].astype(str))
        run = dict.fromkeys(method for role in ROLES for method in self.settings.get(role, ()))
        return [method for method in run if method in shown]

    def _comparable_notes(self) -> list[str]:
        """The distinct reasons of the subsets, each with their titles unless it holds for all."""
        reasons: dict[str, list[str]] = {}
        for subset in self.subsets:
            if subset.why_not_comparable:
                reasons.setdefault(subset.why_not_comparable, []).append(subset.title)
        told = [why if len(of) == len(self.subsets) else f"{why} ({', '.join(of)})" for why, of in reasons.items()]
        return [f"Not comparable with the printed numbers: {'; '.join(told)}."] if told else []

    def _not_converged_notes(self, methods: Sequence[str]) -> list[str]:
        told = [
            f"{self.title_of(method)} on {subset.title}: {self.not_converged[subset.id, method]}"
            for method in methods
            for subset in self.subsets
            if (subset.id, method) in self.not_converged
        ]
        return [f"{STAR}: a fit did not end within its time limit: {'; '.join(told)}."] if told else []

    def _selection_notes(self, methods: Sequence[str]) -> list[str]:
        """In how many folds the selection of each method ended where its grid or its trace ends."""
        told = []
        for method in methods:
            parts = []
            for column, end in (("at_grid_edge", "the end of the grid"), ("at_last_step", "the last traced step")):
                flags = [flag for subset in self.subsets for flag in self.recorded(subset, method, column)]
                if any(flags):
                    parts.append(f"in {sum(map(bool, flags))} of {len(flags)} folds {end}")
            if parts:
                told.append(f"{self.title_of(method)}: {', '.join(parts)}")
        return [f"Selection ended at an end of what was tried: {'; '.join(told)}."] if told else []

    def _stopped_notes(self, methods: Sequence[str]) -> list[str]:
        """In how many folds learners stopped at their limit of iterations."""
        told = []
        for method in methods:
            for subset in self.subsets:
                converged = self.recorded(subset, method, "converged")
                stopped = int((~converged.astype(bool)).sum())
                if stopped:
                    told.append(f"{self.title_of(method)} in {stopped} of {len(converged)} folds ({subset.title})")
        return [f"Stopped at the limit of iterations: {'; '.join(told)}."] if told else []

    def decide(self, claim: Claim, rule: Rule) -> Finding:
        """Ask a rule about the subsets that the claim's paper prints under the claim's settings."""
        if not any(subset.printed for subset in self.all_subsets):
            return rule(self, **claim.parameters)
        of = [subset for subset in self.all_subsets if subset.printed.get(claim.paper) in claim.settings]
        if not of:
            return Finding(OPEN, "none of the subsets that it is about was run")
        run = {subset.printed.get(claim.paper) for subset in self.all_subsets}
        lacking = [_setting_title(setting) for setting in claim.settings if setting not in run]
        finding = rule(self.about(of), **claim.parameters)
        return also_said(finding, f"; subsets not run: {', '.join(lacking)}") if lacking else finding

    def _subset(self, id: str, described: Mapping[str, Any]) -> Subset:
        n_classes = int(described.get("n_classes", 0))
        if self.has("fits"):
            # a class may have been dropped
            used = self.table("fits").loc[lambda fits: fits["subset"] == id, "n_classes"]
            n_classes = int(used.max()) if len(used) else n_classes
        why = why_not_comparable(self.settings, described, n_classes)
        return Subset(id, described.get("title", id), n_classes, described.get("printed", {}), why)


STUDY = CategoryStudy


def why_not_comparable(study: Mapping[str, Any], subset: Mapping[str, Any], n_classes: int) -> str:
    """Return the first reason why a subset's numbers may not be held against the printed ones; "" if there is none.

    Parameters
    ----------
    study : mapping
        Settings of a `CategoryStudy`.
    subset : mapping
        One of its subsets.
    n_classes : int
        Classes that were really used, or, before a run, asked for.
    """
    if study["kind"] == "synthetic":
        return "synthetic images"
    published, classes = list(subset.get("published_classes", ())), subset.get("classes")
    listed = published if classes == "published" else [] if isinstance(classes, str) else list(classes or ())
    if not published or sorted(listed) != sorted(published):
        return "other classes than the paper's"
    if study["kind"] != "caltech256":
        # folders of the same names; only the archive is known to hold the paper's images
        return "not known to be the paper's images"
    if n_classes != len(published):
        return f"{n_classes} of the paper's {len(published)} classes"
    splits = study["splits"]
    other = [f"{name} {splits.get(name)}, the paper {n}" for name, n in PAPER_SPLITS.items() if splits.get(name) != n]
    if other:
        return f"other splits than the paper's ({'; '.join(other)})"
    words, hellinger = (study["representation_settings"].get(name) for name in ("words", "hellinger"))
    if words != PAPER_WORDS or hellinger:
        return f"another representation ({words:,} words{', square roots' if hellinger else ''})"
    return ""


def _setting_title(setting: str) -> str:
    """``10 classes`` of ``classes=10``, ``Easy10`` of ``easy10``."""
    name, _, value = setting.partition("=")
    return f"{value} {name}" if value else name.capitalize()
