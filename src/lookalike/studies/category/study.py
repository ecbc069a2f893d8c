"""What the exhibits of the category study ask of it: subsets, methods, and limits that ended fits (JMLR 5.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import pandas as pd

from lookalike.core.files import read_table
from lookalike.core.settings.model import plain
from lookalike.data.subsets import class_labels, half_of
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import GRID, NOT_RUN, TIME
from lookalike.exhibits.limits import Limits
from lookalike.exhibits.model import Drawn, Figure
from lookalike.exhibits.printed import MISSING, STAR, plus_minus
from lookalike.exhibits.results import results_frame
from lookalike.learners.curve import log_spaced_steps
from lookalike.studies.category.results import CLASSES, EQUAL, OF_RANKERS, SHARE, TRACED
from lookalike.studies.category.section import CategorySection
from lookalike.studies.category.settings import Halves

JMLR, DRAFT = "oasis-jmlr-2010", "oasis-2009-draft"
PRINTED_TABLE = {JMLR: "table4", DRAFT: "table1"}
"""The table that prints the numbers which the figures of the same paper show."""
OTHER_TABLES = ("table5", "table2", "text")
"""Exhibits with printed numbers of their own."""
PRINTED_AS = {"oasis-matlab+c": "oasis", "dissim-oasis-matlab": "oasis-dissim", "fast-lmnn": "lmnn"}
"""Printed columns of training times to our methods, where names differ; the draft's OASIS is of Matlab alone."""
PAPER_SPLITS = {"folds": 5, "train": 40, "test": 25, "validation": 8}
"""Partitions per subset and images per class of the papers (JMLR 5.3.2); 8 is the 20% that selection scores on."""
PAPERS_OTHER_CLASSES = "other classes than the paper's"
PAPER_WORDS = 1000
"""Visterms of the papers' comparisons (JMLR 5.3.2)."""
PAPER_TIME_LIMIT = 432_000
"""Seconds after which the papers gave a method up (JMLR 5.3.3): what takes longer has no result in print either."""
PAPER_GRIDS = {"omega": {0.125, 0.25, 0.5}, "regularization": {0.02, 0.08, 0.32}}
"""Values of LMNN and LEGO that the papers chose from (draft section 5.2.2)."""
PROJECTED = ("projected", "often", "rarely", "end")
"""Names in claims.csv that stand for ways of projecting."""


@dataclass(frozen=True)
class Subset:
    """One subset of classes, as exhibits name it."""

    id: str
    title: str
    n_classes: int
    """Classes that were really used; 0 where that is not known."""
    printed: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Paper id to the ``setting`` of its printed numbers (``{"oasis-jmlr-2010": "classes=10"}``)."""
    why_not_comparable: str = ""
    """Why its numbers may not be held against the printed ones (``synthetic images``); "" where they may."""
    methods: tuple[str, ...] = field(default=(), hash=False)
    """Methods that run on it."""


class CategoryStudy(CategorySection):
    """The category study on one data set."""

    @cached_property
    def all_subsets(self) -> tuple[Subset, ...]:
        """Every subset of the study; halves of the classes are one, of which each half is a repeat."""
        return tuple(map(self._subset, self.subsets)) if self.halves is None else (self._all_halves(self.halves),)

    @property
    def parts(self) -> list[Subset]:
        """Subsets that the exhibit at hand shows."""
        chosen = None if self.exhibit is None else (self.exhibits or {}).get(self.exhibit.id)
        return [subset for subset in self.all_subsets if chosen is None or subset.id in chosen]

    def subset_of(self, setting: str) -> Subset | None:
        """Return a subset by its id."""
        return next((subset for subset in self.all_subsets if subset.id == setting), None)

    @cached_property
    def method_titles(self) -> Mapping[str, str]:
        """Method to its title in the settings, where they give one."""
        titles = {method: self.spec(method).title for method in self._shared.methods}
        return {method: title for method, title in titles.items() if title}

    def title_of(self, method: str) -> str:
        """Name a method, or rankers and their averages."""
        if method in self.averages:
            return f"{method} rankers"
        return "single rankers" if method in self.single_rankers else super().title_of(method)

    def titles_of(self, column: str) -> Mapping[str, str]:
        """Return the values of a column of results with their titles, in the order of tables."""
        if column == "setting":
            return {subset.id: self.block_title(subset) for subset in self.parts}
        return {method: self.title_of(method) for method in self.named_methods()}

    def block_title(self, subset: Subset) -> str:
        """Heading of a subset's block or panel: JMLR counts classes, the draft names subsets."""
        if self.paper == JMLR and not self.synthetic and subset.n_classes:
            return f"{subset.n_classes} classes"
        return subset.title

    def is_comparable(self, setting: str) -> bool:
        """Tell whether numbers of a subset may stand on one axis with the printed ones."""
        subset = self.subset_of(setting)
        return subset is not None and not subset.why_not_comparable

    def why_absent(self, setting: str, method: str) -> str:
        """Say why a subset has no numbers of a method."""
        lost = self.limits.has_lost(setting, method)
        return f"{self.title_of(method)} {'did not end within its time limit (*)' if lost else 'was not run here'}"

    def printed_results(self) -> pd.DataFrame:
        """Return the printed numbers that the exhibit at hand shows, under the ids of our subsets and methods."""
        paper = JMLR if self.halves is not None else self.paper
        name = self.exhibit.name if self.exhibit is not None else ""
        exhibit = name if name in OTHER_TABLES else PRINTED_TABLE.get(paper, "")
        rows = self.printed_in(exhibit, paper)
        names = PRINTED_AS | ({"oasis-matlab": "oasis"} if paper == DRAFT else {})
        rows = rows.assign(method=rows["method"].replace(names))
        if name == "text":
            return rows
        settings = {subset.printed.get(paper, ""): subset.id for subset in self.all_subsets if subset.printed}
        named = rows.assign(printed_setting=rows["setting"], setting=rows["setting"].map(settings))
        return named.dropna(subset="setting")

    @cached_property
    def classes_of_half(self) -> dict[int, list[str]]:
        """The classes of each half, by its number."""
        labels, halves = class_labels(self.table("manifest")), {} if self.halves is None else self.halves.numbers()
        return {number: half_of(labels, number, self.seed) for number in halves.values()}

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str], pd.DataFrame]:
        """Rows of results by setting, method and metric."""
        groups = self.results.groupby(["setting", "method", "metric"], sort=False)
        return {(str(setting), str(method), str(metric)): rows for (setting, method, metric), rows in groups}

    def values(self, setting: str, method: str, metric: str = "map") -> pd.Series:
        """Return a number of each repeat, index ``repeat``; none of a method that lost a fit: others are easier."""
        rows = self._rows.get((setting, method, metric))
        if rows is None or self.limits.has_lost(setting, method):
            return pd.Series(dtype="float64")
        return rows.set_index("repeat")["value"]

    def curves(self, setting: str, method: str, metric: str = TRACED) -> pd.DataFrame:
        """Return a number along x, x times repeats; without rows where it was not measured."""
        rows = self._rows.get((setting, method, metric), self.results.iloc[:0])
        return rows.pivot(index="x", columns="repeat", values="value").sort_index()

    @cached_property
    def limits(self) -> Limits:
        """Limits that ended its fits; those of the papers are not ours."""
        return Limits(self.results if self.has("results") else results_frame([]), is_ours=self._is_ours)

    def _is_ours(self, limit: str, setting: str, method: str) -> bool:
        """Tell whether a limit is not one of the papers: of time, or an end of a grid that has all of theirs."""
        spec = self.spec(method, setting)
        is_papers = limit == TIME and (spec.time_limit or 0) >= PAPER_TIME_LIMIT
        wide = any(set(spec.select.get(name, ())) >= values for name, values in PAPER_GRIDS.items())
        return not (is_papers or (limit == GRID and wide))

    def n_settings(self, method: str) -> int:
        """Count what a fold chooses from: combinations of values, by steps to stop at where these are chosen."""
        spec = self.spec(method)
        n_values, trace = math.prod(map(len, spec.select.values())), spec.trace
        if trace is None or not trace.stop:
            return n_values
        # not to learn is a choice
        return n_values * (1 + len(log_spaced_steps(trace.steps, trace.points, trace.first)))

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Name the data, the number of folds, and what ± or error bars are."""
        columns = set() if drawn is None else set(drawn.frame)
        what, is_figure = f"{self.data}, {self.own_representation.words:,} visterms", isinstance(drawn, Figure)
        if drawn is None or not (is_figure or any(str(column).endswith("_std") for column in columns)):
            return f"{what}."
        counts = sorted({int(n) for n in drawn.frame.get("n", ()) if n > 1}) or [self.splits.folds]
        if counts == [1]:
            return f"{what}; one fold."
        repeats = "folds" if self.halves is None else "sets of classes"
        folds = f"{f'{counts[0]} to ' if counts[0] < counts[-1] else ''}{counts[-1]} {repeats}"
        return f"{what}; {'means over' if is_figure else 'mean ± standard deviation over'} {folds}" + (
            ", error bars: standard error." if is_figure else "."
        )

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Mean average precision of every method and subset, and which classes were left out."""
        subsets = [subset for subset in self.all_subsets if subset.printed] or self.all_subsets
        rows = {method: [self._map_cell(subset.id, method) for subset in subsets] for method in self.methods}
        columns = [f"mAP (%), {subset.id}" if len(subsets) > 1 else "mAP (%)" for subset in subsets]
        n_folds = self.splits.folds
        spread = f"± is the standard deviation over {n_folds} folds." if n_folds > 1 else "There is one fold."
        if self.halves is not None:
            spread = f"± is the standard deviation over {self.halves.count} sets of classes."
        return "retrieval by class (OASIS, JMLR 2010, Table 4)", columns, rows, [spread, *self._left_out()]

    def _map_cell(self, setting: str, method: str) -> str:
        """``24.1 ± 1.6``, in percent over the folds, or what stands for a missing number."""
        values = 100 * self.values(setting, method)
        if values.empty:
            return STAR if self.limits.has_lost(setting, method) else MISSING
        return plus_minus(values.mean(), values.std(ddof=1), ".1f")

    def _left_out(self) -> list[str]:
        """A line for each subset of which classes were left out: ``classes left out of var10: ...``."""
        lines = []
        for path in self.paths("dropped"):
            dropped = read_table(path)
            # a reason may start with the number that stands beside the label anyway
            reasons = [
                f"{row.label} ({row.usable} usable: {row.reason.removeprefix(f'{row.usable} usable images, ')})"
                for row in dropped.itertuples()
            ]
            if reasons:
                subset = path.name.removesuffix("-dropped.csv")
                lines.append(f"classes left out of {subset}: {', '.join(reasons)}")
        return lines

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Limits that ended a fit, ends of grids, and why numbers may not be held against print."""
        if self.not_run or drawn is None:
            return []
        drawn_methods = set(drawn.frame.get("method", ()))
        methods = [method for method in self.named_methods() if method in drawn_methods]
        # curves along training are of parameters that no selection chose
        chosen = TRACED not in (self.exhibit.metrics if self.exhibit is not None else ())
        noted: dict[str, list[str]] = {}
        for method, note, where in self._of_settings(methods) if chosen else ():
            noted.setdefault(note.rstrip("."), []).append(f"{self.title_of(method)}{where}")
        sentences = [f"{' and '.join(titles)}: {note}." for note, titles in noted.items()]
        sentences += self._equal_settings(drawn)
        sentences += self.limits.notes(
            {method: self.title_of(method) for method in methods}, {subset.id: subset.title for subset in self.parts}
        )
        parts = {"Stopped by a rule of ours": [*self._stopped_early(methods)]}
        if any(drawn.frame.get("is_printed", ())) or getattr(drawn, "cells", None) is not None:
            sentences += self._not_in_both()
            parts["Not comparable with the printed numbers"] = self._not_comparable()
        return sentences + [f"{head}: {'; '.join(found)}." for head, found in parts.items() if found]

    def _equal_settings(self, drawn: Drawn) -> list[str]:
        """Say how methods with equal settings choose."""
        if not set(EQUAL.values()) & set(drawn.frame.get("metric", ())):
            return []
        counts = {self.n_settings(self.equal_runs.get(method, method)) for method in self.methods} - {1}
        many = " or ".join(map(str, sorted(counts)))
        return [
            f"With equal settings each learned method chooses one of {many} settings, values of its parameter and "
            "stops, on the same validation images."
        ]

    def _not_in_both(self) -> list[str]:
        """Say which printed sets of classes were not run, and which of ours the paper does not show."""
        if self.exhibit is None or self.paper not in PRINTED_TABLE:
            return []
        printed = self.printed_in(self.exhibit.name)["setting"].unique()
        own = {subset.printed.get(self.paper, ""): subset for subset in self.parts}
        lacking = [self.setting_title(name) for name in printed if name not in own]
        others = [self.block_title(subset) for name, subset in own.items() if len(printed) and name not in printed]
        said = {"The paper also shows": lacking, "The paper does not show": others}
        return [f"{head} {', '.join(names)}." for head, names in said.items() if names]

    def _of_settings(self, methods: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """Methods with their notes, and on which subsets where not on all that run them."""
        for method in methods:
            ran = [subset for subset in self.parts if method in subset.methods]
            notes = {subset.title: self.spec(method, subset.id).note or "" for subset in ran}
            for note in dict.fromkeys(filter(None, notes.values())):
                where = [title for title, other in notes.items() if other == note]
                yield method, note, "" if len(where) == len(notes) else f" on {' and '.join(where)}"

    def _stopped_early(self, methods: Sequence[str]) -> Iterator[str]:
        """Say at which share of its starting objective MCML stopped, by a rule of ours, on each subset."""
        for method, subset in product(methods, self.parts):
            shares = self.values(subset.id, method, SHARE)
            if len(shares) and self.spec(method).learner == "MCML" and method not in self.minima:
                at = f"{100 * shares.mean():.0f}% of its starting objective"
                yield f"{self.title_of(method)} at {at} ({subset.title})"

    def _not_comparable(self) -> list[str]:
        """The distinct reasons of the subsets, each with their titles unless it holds for all."""
        reasons: dict[str, list[str]] = {}
        for subset in self.parts:
            if subset.why_not_comparable:
                reasons.setdefault(subset.why_not_comparable, []).append(subset.title)
        everywhere = len(self.parts)
        return [why if len(titles) == everywhere else f"{why} ({', '.join(titles)})" for why, titles in reasons.items()]

    def scope_of(self, claim: Claim) -> Scope:
        """Return the subsets that the claim's paper prints under the claim's settings, from small to large."""
        printed = [subset for subset in self.all_subsets if subset.printed]
        chosen = printed or list(self.all_subsets)
        absent: list[str] = []
        if claim.settings and printed:
            chosen = [subset for subset in printed if subset.printed.get(claim.paper) in claim.settings]
            there = {subset.printed.get(claim.paper) for subset in printed}
            absent = [setting for setting in claim.settings if setting not in there]
        # ways of projecting may be traced on other classes: JMLR Figure 9 is of one subset
        projected = {name for part in claim.contrasts for name in (*part.first, *part.second)} & set(PROJECTED)
        ways = self.projected if projected and claim.settings else []
        traced = [subset for subset in self.all_subsets if any((subset.id, way, TRACED) in self._rows for way in ways)]
        is_elsewhere = bool(traced) and not {*chosen} & {*traced} and projected != {"projected"}
        chosen = sorted(traced if is_elsewhere else chosen, key=lambda subset: subset.n_classes)
        absent = [*claim.settings] if is_elsewhere else absent
        return Scope([subset.id for subset in chosen], absent if chosen else ())

    def role(self, name: str) -> list[str]:
        """Return the methods that a name in claims.csv stands for."""
        given = {method: self.spec(method).parameters.get("projection_interval") for method in self.projected}
        intervals = {method: steps for method, steps in given.items() if steps}
        during = sorted(intervals, key=intervals.__getitem__)
        several = during if len(during) > 1 else []
        averages = (row.first for row in self.contrasts.rows if row.metric == OF_RANKERS)
        roles: dict[str, list[str]] = {
            "projected": self.projected,
            "often": several[:1],
            "rarely": several[-1:],
            "end": [method for method in self.projected if given[method] is None][:1],
            "averages": list(dict.fromkeys(averages)) or ["averages"],
        }
        return roles.get(name, [name])

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether the study runs a method, on a subset or at all."""
        ran = {method for subset in self.all_subsets for method in subset.methods if setting in ("", subset.id)}
        return method in ran or method not in self.method_titles

    def setting_title(self, setting: str) -> str:
        """Name a subset, or what a paper prints: ``10 classes`` of ``classes=10``."""
        subset = self.subset_of(setting)
        if subset is not None:
            return subset.title
        # ``easy10`` is a name, ``classes=10`` counts
        name, _, value = setting.partition("=")
        return f"{value} {name}" if value else name.capitalize()

    def part_title(self, setting: str) -> str:
        """Name a subset behind the title of its data set: ``subset of 10 classes``."""
        subset = self.subset_of(setting) if len(self.all_subsets) > 1 else None
        return f"subset of {subset.n_classes} classes" if subset is not None else self.setting_title(setting)

    def limits_of(self, setting: str, method: str) -> Iterator[str]:
        """Yield why a method has no number on a subset, and the limits of ours that ended many of its fits there."""
        subset = self.subset_of(setting)
        if subset is not None and method in self.named_methods():
            yield from [NOT_RUN] if method not in subset.methods else []
            yield from self.limits.codes(setting, method)

    def _all_halves(self, halves: Halves) -> Subset:
        n_classes = len(next(iter(self.classes_of_half.values()))) if self.has("manifest") else 0
        why, methods = "synthetic images" if self.synthetic else PAPERS_OTHER_CLASSES, tuple(self.named_methods())
        return Subset(self.pool, halves.title, n_classes, plain(halves.printed), why, methods)

    def _subset(self, id: str) -> Subset:
        subset, n_classes = self.subsets[id], len(self._listed(id))
        if self.has("results"):
            # a class may have been dropped
            rows = self.results[(self.results["metric"] == CLASSES) & (self.results["setting"] == id)]
            n_classes = int(rows["value"].max()) if len(rows) else n_classes
        why, methods = self._why_not_comparable(id, n_classes), tuple(self.on_subset(id, self.named_methods()))
        return Subset(id, subset.title or id, n_classes, plain(subset.printed), why, methods)

    def _listed(self, subset: str) -> Sequence[str]:
        """Return the names of a subset's classes; none where only a scan can tell."""
        classes = self.subsets[subset].classes
        if classes == "published":
            return self.published[subset]
        return classes if isinstance(classes, list) else []

    def _why_not_comparable(self, subset: str, n_classes: int) -> str:
        """Return the first reason why its numbers may not be held against the printed ones; "" if there is none."""
        if self.synthetic:
            return "synthetic images"
        published = self.published[subset]
        if not published or sorted(self._listed(subset)) != sorted(published):
            return PAPERS_OTHER_CLASSES
        if self.data_set.kind != "caltech256":
            # folders of the same names; only the archive is known to hold the paper's images
            return "not known to be the paper's images"
        if n_classes != len(published):
            return f"{n_classes} of the paper's {len(published)} classes"
        splits = dict(self.splits)
        other = [f"{name} {splits[name]}, the paper {n}" for name, n in PAPER_SPLITS.items() if splits[name] != n]
        if other:
            return f"other splits than the paper's ({'; '.join(other)})"
        representation = self.own_representation
        if representation.words != PAPER_WORDS:
            return f"another representation ({representation.words:,} words)"
        return ""


STUDY = CategoryStudy
