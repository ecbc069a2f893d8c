"""What the exhibits of the category study ask of it: subsets, methods, and what the fits recorded (JMLR 5.3)."""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import pandas as pd

from lookalike.core.files import read_table
from lookalike.core.settings.model import plain
from lookalike.data.subsets import class_labels, half_of
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import GRID, ITERATIONS, LIMITED, NOT_RUN, STEPS, TIME
from lookalike.exhibits.contrasts import NO_RESULT as UNFINISHED
from lookalike.exhibits.model import Drawn, Figure
from lookalike.exhibits.printed import MISSING, STAR, plus_minus, swapped
from lookalike.exhibits.registry import PAPERS
from lookalike.learners.curve import log_spaced_steps
from lookalike.studies.category.section import CategorySection
from lookalike.studies.category.settings import Halves
from lookalike.studies.metrics import metrics_frame, not_converged, rows_in, select

JMLR, DRAFT = "oasis-jmlr-2010", "oasis-2009-draft"
PRINTED_TABLE = {JMLR: "table4", DRAFT: "table1"}
"""The table that prints the numbers which the figures of the same paper show."""
TEN_CLASSES = {"classes=10", "var10"}
"""Printed settings whose saturation the papers tell."""
K_MAX = 60
"""Neighbours that precision curves show; the papers' text does not say how many they show."""
PAPER_SPLITS = {"folds": 5, "train": 40, "test": 25, "validation": 8}
"""Partitions per subset and images per class of the papers (JMLR 5.3.2); 8 is the 20% that selection scores on."""
PAPERS_OTHER_CLASSES = "other classes than the paper's"
PAPER_WORDS = 1000
"""Visterms of the papers' comparisons (JMLR 5.3.2)."""
PAPER_TIME_LIMIT = 432_000
"""Seconds after which the papers gave a method up (JMLR 5.3.3): what takes longer has no result in print either."""
PAPER_GRIDS = {"omega": {0.125, 0.25, 0.5}, "regularization": {0.02, 0.08, 0.32}}
"""Values of LMNN and LEGO that the papers chose from (draft section 5.2.2)."""
RECORDED = {ITERATIONS: "converged", TIME: "not_converged", STEPS: "at_last_step", GRID: "at_grid_edge"}
"""Limit of ours to the column of the fits that tells of it."""
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


TEN, TWENTY, FIFTY = "classes=10", "classes=20", "classes=50"
PRINTED_SETS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((f"{JMLR}/table4", f"{JMLR}/table5", f"{JMLR}/fig6"), (TEN, TWENTY, FIFTY)),
    **dict.fromkeys((f"{JMLR}/fig5", f"{JMLR}/fig8"), (TEN, TWENTY)),
    f"{JMLR}/fig7": ("classes=249",),
    f"{JMLR}/fig9": (TWENTY,),
    **{f"{DRAFT}/{name}": ("easy10", "var10", "var20") for name in ("table1", "table2", "fig3", "fig4", "fig5")},
}
"""Exhibit to the sets of classes that the paper shows in it."""
WITH_METHODS = ("table4", "fig6", "table1", "fig4")
"""Names of exhibits that set the methods of the papers' main tables beside each other."""
DIFFERENCES = "The paper draws precision itself; here it is the difference from OASIS."
OTHER_AXES = {f"{JMLR}/fig8": DIFFERENCES, f"{DRAFT}/fig5": DIFFERENCES}
"""Exhibit to how its axes differ from the paper's."""


class CategoryStudy(CategorySection):
    """The category study on one data set."""

    _only: tuple[str, ...] | None = None
    """The subsets to which a claim has narrowed it."""

    @cached_property
    def all_subsets(self) -> tuple[Subset, ...]:
        """Every subset of the study; halves of the classes are one, of which each half is a fold."""
        return tuple(map(self._subset, self.subsets)) if self.halves is None else (self._pool(self.halves),)

    @property
    def parts(self) -> list[Subset]:
        """Subsets that the exhibit at hand shows, or that a claim is about."""
        chosen: Sequence[str] | None = self._only
        if chosen is None and self.exhibit is not None:
            chosen = (self.exhibits or {}).get(self.exhibit.id)
        return [subset for subset in self.all_subsets if chosen is None or subset.id in chosen]

    @cached_property
    def method_titles(self) -> Mapping[str, str]:
        """Method to its title in the settings, where they give one."""
        titles = {method: self.spec(method).title for method in self._shared.methods}
        return {method: title for method, title in titles.items() if title}

    @property
    def traced_aggressiveness(self) -> float:
        """C of the curves along training: that of the first method that is OASIS, or the papers'."""
        specs = map(self.spec, self.methods)
        traces = [spec.trace for spec in specs if spec.trace is not None and spec.learner == "OASIS"]
        return traces[0].aggressiveness if traces else 0.1

    @property
    def averages(self) -> dict[str, int]:
        """Averages of rankers, as the numbers name them, to how many each is of."""
        return {} if self.rankers is None else {f"average of {n}": n for n in self.rankers.averages}

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
        if self.paper == JMLR and not self.synthetic and subset.n_classes:
            return f"{subset.n_classes} classes"
        return subset.title

    @property
    def titles(self) -> dict[str, str]:
        """Subset id to its heading in the paper at hand."""
        return {subset.id: self.block_title(subset) for subset in self.all_subsets}

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """The study's numbers (`lookalike.studies.metrics`).

        A number of a half is the mean over its folds.
        """
        if self.halves is None:
            return self.table("metrics")
        keys, halves = ["setting", "method", "metric", "x"], self.halves.numbers()
        means = self.table("results").groupby(keys, sort=False, dropna=False)["value"].mean().reset_index()
        return metrics_frame(means.assign(subset=self.pool, fold=means["setting"].map(halves)))

    @property
    def pool(self) -> str:
        """Setting that all halves together stand for: the first that a paper prints, if any."""
        printed = {} if self.halves is None else plain(self.halves.printed)
        return str(next(iter(printed.values()), "halves"))

    @cached_property
    def classes_of_half(self) -> dict[int, list[str]]:
        """The classes of each half, by its number."""
        labels, halves = class_labels(self.table("manifest")), {} if self.halves is None else self.halves.numbers()
        return {number: half_of(labels, number, self.seed) for number in halves.values()}

    @cached_property
    def _rows(self) -> dict[Hashable, pd.DataFrame]:
        """Rows of the numbers by subset, method and metric."""
        return dict(iter(self.numbers.groupby(["subset", "method", "metric"], sort=False)))

    def _rows_of(self, subset: Subset, method: str, metric: str) -> pd.DataFrame:
        return self._rows.get((subset.id, method, metric), self.numbers.iloc[:0])

    def values(self, subset: Subset, method: str, metric: str = "map") -> pd.Series:
        """One number of each fold, index ``fold``; empty where a fit did not converge: others are the easier folds."""
        rows = self._rows_of(subset, method, metric)
        values: pd.Series = rows.set_index("fold")["value"]
        return values.iloc[:0] if (subset.id, method) in self.not_converged else values

    def curves(self, subset: Subset, method: str, metric: str = "traced_map") -> pd.DataFrame | None:
        """A number along training, steps x folds; None where it was not traced."""
        return self.traced(subset, method, metric) if len(self._rows_of(subset, method, metric)) else None

    def traced(self, subset: Subset, method: str, metric: str = "traced_map") -> pd.DataFrame:
        """Return the same; without rows where it was not traced."""
        rows = self._rows_of(subset, method, metric)
        return rows.pivot(index="x", columns="fold", values="value").sort_index()

    def stops(self, subset: Subset) -> pd.Series:
        """Step of each fold at which validation stops OASIS, where its aggressiveness is the one that is traced."""
        return self._at_traced(subset, "n_steps")

    def late_stops(self, subset: Subset) -> pd.Series:
        """Tell of each of these folds whether its stop is the last that could be chosen."""
        return self._at_traced(subset, "at_last_step").astype(bool)

    def _at_traced(self, subset: Subset, column: str) -> pd.Series:
        chosen, recorded = (self.recorded(subset, "oasis", name) for name in ("aggressiveness", column))
        return recorded[recorded.index.isin(chosen.index[chosen == self.traced_aggressiveness])]

    @cached_property
    def fits(self) -> pd.DataFrame:
        """Return the records of each fit in the study's own representation, by fold."""
        fits = select(self.table("fits"), representation=self.representation)
        if self.halves is not None:
            halves = fits["subset"].map(self.halves.numbers()).astype("int64")
            fits = fits.assign(subset=self.pool, fold=len(self.folds()) * halves + fits["fold"])
        return fits.sort_values("fold", kind="stable")

    def recorded(self, subset: Subset, method: str, column: str) -> pd.Series:
        """Return a column of the fits of one method on one subset, by fold, without folds that have none."""
        fits = select(self.fits, subset=subset.id, method=method)
        return fits[column].dropna() if column in fits else fits["fold"].iloc[:0]

    @cached_property
    def not_converged(self) -> dict[tuple[str, str], str]:
        """(subset, method) to why it has no result, and in how many folds, where a fit ran into its time limit."""
        return not_converged(self.fits, ["subset", "method"], "folds") if self.has("fits") else {}

    def printed_number(self, metric: str) -> float:
        """A number of OASIS or its data that the text of JMLR prints; NaN where it is not at hand."""
        text = self.printed_in("text", JMLR)
        rows = text.loc[text["metric"] == metric, "value"]
        return float(rows.iloc[0]) if len(rows) else math.nan

    def n_settings(self, method: str) -> int:
        """Count what a fold chooses from: combinations of values, by steps to stop at where these are chosen."""
        spec = self.spec(method)
        n_values, trace = math.prod(map(len, spec.select.values())), spec.trace
        if trace is None or not trace.stop:
            return n_values
        # not to learn is a choice
        return n_values * (1 + len(log_spaced_steps(trace.steps, trace.points, trace.first)))

    def n_triplets(self, subset: Subset) -> int:
        """Count the triplets of a subset as JMLR's Figure 5 does: cn (n - 1) (c - 1)n / 2 of c classes of n images."""
        n_train = self.splits.train
        n_images = subset.n_classes * n_train
        return n_images * (n_train - 1) * (n_images - n_train) // 2

    def maps(self, subset: Subset, runs: Mapping[str, str] | None = None) -> dict[str, float]:
        """Mean average precision of each compared method on a subset, in percent; none where a fit did not end.

        `runs` has another run of a method, such as that with equal settings.
        """
        own = {method: (runs or {}).get(method, method) for method in self.methods}
        means = {method: 100 * self.values(subset, run).mean() for method, run in own.items()}
        return {method: float(mean) for method, mean in means.items() if not math.isnan(mean)}

    def printed_maps(self, subset: Subset, paper: str) -> dict[str, float]:
        """The same of the methods that a paper prints, as it prints them."""
        printed = self.printed_in(PRINTED_TABLE[paper], paper)
        printed = printed[(printed["setting"] == subset.printed.get(paper, "")) & (printed["metric"] == "map")]
        return {str(row.method): float(row.value) for row in rows_in(printed.dropna(subset="value"))}

    @property
    def size(self) -> str:
        """Images and classes that were kept."""
        if not self.has("manifest"):
            return ""
        kept = self.table("manifest").loc[lambda rows: rows["status"] == "ok", "label"]
        return f"{len(kept):,} images of {kept.nunique()} classes"

    def order_beside_print(self, subset: Subset, paper: str) -> str:
        """Tell whether the order of mAP is the printed one, and the gaps to Euclidean; empty without print."""
        theirs, title = self.printed_maps(subset, paper), self.title_of
        ours = {method: gap for method, gap in self.maps(subset).items() if method in theirs}
        pairs = swapped(ours, theirs)
        if pairs is None:
            return ""
        order = ", ".join(map(title, sorted(ours, key=ours.__getitem__, reverse=True)))
        where = f" on {subset.title}" if len(self.parts) > 1 else ""
        sentence = f"The order by mAP{where} is {order}: {'not ' if pairs else ''}that of {PAPERS[paper].title}"
        others = "; ".join(f"{title(first)} and {title(second)}" for first, second in pairs)
        sentence += f", which has {others} the other way round" if pairs else ""
        if {"oasis", "euclidean"} <= set(ours):
            gaps = [means["oasis"] - means["euclidean"] for means in (ours, theirs)]
            sentence += f". OASIS minus Euclidean is {gaps[0]:.1f} points here, {gaps[1]:.0f} in print"
        return f"{sentence}."

    def without_number(self, subset: str, method: str) -> str:
        """Cell of ours that has no number: ``*`` where the learner did not converge, else ``-``."""
        return STAR if (subset, method) in self.not_converged else MISSING

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Name the data, the number of folds, and what ± or error bars are."""
        columns = set() if drawn is None else set(drawn.frame)
        what, is_figure = f"{self.data}, {self.own_representation.words:,} visterms", isinstance(drawn, Figure)
        if drawn is None or not (is_figure or any(str(column).endswith("_std") for column in columns)):
            return f"{what}."
        counts = sorted({int(n) for n in drawn.frame.get("n_folds", ()) if n > 0}) or [self.splits.folds]
        if counts == [1]:
            return f"{what}; one fold."
        repeats = "folds" if self.halves is None else "sets of classes"
        folds = f"{f'{counts[0]} to ' if counts[0] < counts[-1] else ''}{counts[-1]} {repeats}"
        if not is_figure:
            return f"{what}; mean ± standard deviation over {folds}."
        bars = "error bars: standard error" if columns & {"sem", "error"} else "bands: lowest to highest fold"
        return f"{what}; means over {folds}, {bars}."

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Mean average precision of every method and subset, and which classes were left out."""
        subsets = [subset for subset in self.all_subsets if subset.printed] or self.all_subsets
        rows = {method: [self._map_cell(subset, method) for subset in subsets] for method in self.methods}
        columns = [f"mAP (%), {subset.id}" if len(subsets) > 1 else "mAP (%)" for subset in subsets]
        n_folds = self.splits.folds
        spread = f"± is the standard deviation over {n_folds} folds." if n_folds > 1 else "There is one fold."
        if self.halves is not None:
            spread = f"± is the standard deviation over {self.halves.count} sets of classes."
        return "retrieval by class (OASIS, JMLR 2010, Table 4)", columns, rows, [spread, *self._left_out()]

    def _map_cell(self, subset: Subset, method: str) -> str:
        """``24.1 ± 1.6``, in percent over the folds, or what stands for a missing number."""
        values = 100 * self.values(subset, method)
        if len(values) == 0 or (subset.id, method) in self.not_converged:
            return self.without_number(subset.id, method)
        return plus_minus(values.mean(), values.std(ddof=1), ".1f")

    def _left_out(self) -> list[str]:
        """A line for each subset of which classes were left out: ``classes left out of var10: ...``."""
        lines = []
        for path in self.files.get("dropped", ()):
            dropped = read_table(path)
            # a reason may start with the number that stands beside the label anyway
            reasons = [
                f"{row.label} ({row.usable} usable: {row.reason.removeprefix(f'{row.usable} usable images, ')})"
                for row in dropped.itertuples()
            ]
            if reasons:
                subset = Path(path).name.removesuffix("-dropped.csv")
                lines.append(f"classes left out of {subset}: {', '.join(reasons)}")
        return lines

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Limits that ended a fit, ends of grids, and why numbers may not be held against print."""
        if self.not_run or drawn is None:
            return []
        column = next((name for name in ("method", "series") if name in drawn.frame), None)
        drawn_methods = set() if column is None else set(drawn.frame[column].astype(str))
        methods = [method for method in self.named_methods() if method in drawn_methods]
        # curves along training are of parameters that no selection chose
        along = "step" in drawn.frame
        noted: dict[str, list[str]] = {}
        for method, note, where in () if along else self._of_settings(methods):
            noted.setdefault(note.rstrip("."), []).append(f"{self.title_of(method)}{where}")
        sentences = [*self.unlike_paper(), *(f"{' and '.join(titles)}: {note}." for note, titles in noted.items())]
        parts: dict[str, list[str]] = {}
        for head, part in self._of_fits(methods, selected=not along):
            parts.setdefault(head, []).append(part)
        if "is_printed" in drawn.frame or getattr(drawn, "cells", None) is not None:
            parts["Not comparable with the printed numbers"] = self._not_comparable()
        return sentences + [f"{head}: {'; '.join(found)}." for head, found in parts.items() if found]

    def unlike_paper(self) -> list[str]:
        """Say which sets, methods and axes the paper's exhibit has and ours has not, or the other way round."""
        paper_sets = PRINTED_SETS.get(self.exhibit.id, ()) if self.exhibit is not None else ()
        if self.exhibit is None or not paper_sets:
            return []
        settings = {self.setting_of(subset): subset for subset in self.parts}
        lacking = [self.setting_title(name) for name in paper_sets if name not in settings]
        others = [self.block_title(subset) for subset in self.parts if self.setting_of(subset) not in paper_sets]
        sentences = [f"The paper also shows {', '.join(lacking)}."] if lacking else []
        sentences += [f"The paper does not show {', '.join(others)} here."] if others else []
        for name, subset in settings.items() if self.exhibit.name in WITH_METHODS else ():
            printed = self.printed_maps(subset, self.paper) if name in paper_sets else {}
            absent = [self.title_of(method) for method in printed if method not in subset.methods]
            if absent:
                sentences.append(f"On {self.setting_title(name)} the paper also has {', '.join(absent)}, not run here.")
        return [*sentences, *filter(None, [OTHER_AXES.get(self.exhibit.id, "")])]

    def _of_settings(self, methods: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """Methods with their notes, and on which subsets where not on all that run them."""
        for method in methods:
            ran = [subset for subset in self.parts if method in subset.methods]
            notes = {subset.title: self.spec(method, subset.id).note or "" for subset in ran}
            for note in dict.fromkeys(filter(None, notes.values())):
                where = [title for title, other in notes.items() if other == note]
                yield method, note, "" if len(where) == len(notes) else f" on {' and '.join(where)}"

    def _of_fits(self, methods: Sequence[str], *, selected: bool) -> Iterator[tuple[str, str]]:
        """Yield the limits that ended fits: the head of a note, and what it says of a method and a subset."""
        pairs = [(method, subset) for method in methods for subset in self.parts]
        for method, subset in pairs:
            if why := self.not_converged.get((subset.id, method)):
                head = f"{STAR} marks a fit that did not end within its time limit"
                yield head, f"{self.title_of(method)} on {subset.title}: {why}"
        for method, subset in pairs:
            shares = self.recorded(subset, method, "objective_share")
            if len(shares) and self.spec(method).learner == "MCML" and method not in self.minima:
                part = f"{self.title_of(method)} at {100 * shares.mean():.0f}% of its starting objective"
                yield "Stopped by a rule of ours", f"{part} ({subset.title})"
        for method, subset in pairs:
            if any(flags := self.ran_into("iterations", method, subset)):
                part = f"{self.title_of(method)} in {sum(flags)} of {len(flags)} folds ({subset.title})"
                yield "Fits were stopped at the limit of iterations", part
        ends = {"grid": "an end of its grid", "steps": "the last traced step"}
        for method in methods if selected else ():
            counts = []
            for limit, end in ends.items():
                flags = [flag for subset in self.parts for flag in self.ran_into(limit, method, subset)]
                counts += [f"{end} in {sum(flags)} of {len(flags)} folds"] if any(flags) else []
            if counts:
                yield "Chosen at the edge of what was tried", f"{self.title_of(method)} {' and '.join(counts)}"

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
        traced = [subset for subset in self.all_subsets if any(self.curves(subset, way) is not None for way in ways)]
        is_elsewhere = bool(traced) and not {*chosen} & {*traced} and projected != {"projected"}
        chosen = sorted(traced if is_elsewhere else chosen, key=lambda subset: subset.n_classes)
        absent = [*claim.settings] if is_elsewhere else absent
        return Scope([subset.id for subset in chosen], absent if chosen else ())

    def role(self, name: str) -> list[str]:
        """Return the methods that a name in claims.csv stands for."""
        projected = self.projected
        given = {method: self.spec(method).parameters.get("projection_interval") for method in projected}
        intervals = {method: steps for method, steps in given.items() if steps}
        during = sorted(intervals, key=intervals.__getitem__)
        several = during if len(during) > 1 else []
        roles: dict[str, list[str]] = {
            "projected": projected,
            "often": several[:1],
            "rarely": several[-1:],
            "end": [method for method in projected if given[method] is None][:1],
        }
        averages = (row.first for row in self.contrasts.rows if row.metric == "map of rankers")
        roles["averages"] = list(dict.fromkeys(averages)) or ["averages"]
        return roles.get(name, [name])

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether the study runs a method, on a subset or at all."""
        ran = {method for subset in self.all_subsets for method in subset.methods if setting in ("", subset.id)}
        return method in ran or method not in self.method_titles

    def setting_title(self, setting: str) -> str:
        """Name a subset, or what a paper prints: ``10 classes`` of ``classes=10``."""
        named = {subset.id: subset.title for subset in self.all_subsets}
        if setting in named:
            return named[setting]
        # ``easy10`` is a name, ``classes=10`` counts
        name, _, value = setting.partition("=")
        return f"{value} {name}" if value else name.capitalize()

    def ended_by(self, limit: str, method: str) -> Mapping[str, Sequence[bool]]:
        """Subset to whether a limit of ours ended each fold's fit, or its choice; ends of the papers' grids are not."""
        ours = [subset for subset in self.parts if limit != "grid" or not self.has_papers_grid(method, subset)]
        return {subset.title: self.ran_into(limit, method, subset) for subset in ours}

    @cached_property
    def limits(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Subset and method to why it has no number there, and the limits of ours that ended many of its fits."""
        return {
            (subset.id, method): tuple(self._limits_of(subset, method))
            for subset in self.all_subsets
            for method in self.named_methods()
        }

    def _limits_of(self, subset: Subset, method: str) -> Iterator[str]:
        if method not in subset.methods:
            yield NOT_RUN
        if (subset.id, method) in self.not_converged:
            yield UNFINISHED
        for limit in RECORDED:
            ended = (
                [] if limit == GRID and self.has_papers_grid(method, subset) else self.ran_into(limit, method, subset)
            )
            if sum(ended) >= max(1, LIMITED * len(ended)):
                yield limit

    def has_papers_grid(self, method: str, subset: Subset) -> bool:
        """Tell whether a method chooses among all the values that it had in the papers, or more."""
        select = self.spec(method, subset.id).select if method in subset.methods else {}
        return any(set(select.get(name, ())) >= values for name, values in PAPER_GRIDS.items())

    def ran_into(self, limit: str, method: str, subset: Subset) -> list[bool]:
        """Tell of each fold whether one of `LIMITS` ended its fit or its choice; the papers' time limit is not ours."""
        allowed = self.spec(method, subset.id).time_limit if method in subset.methods else None
        if limit == TIME and (allowed or 0) >= PAPER_TIME_LIMIT:
            return []
        # the first column says of a fit that it ended by itself, the others that it did not
        return [bool(value) != (limit == "iterations") for value in self.recorded(subset, method, RECORDED[limit])]

    def _pool(self, halves: Halves) -> Subset:
        n_classes = len(next(iter(self.classes_of_half.values()))) if self.has("manifest") else 0
        why, methods = "synthetic images" if self.synthetic else PAPERS_OTHER_CLASSES, tuple(self.named_methods())
        return Subset(self.pool, halves.title, n_classes, plain(halves.printed), why, methods)

    def _subset(self, id: str) -> Subset:
        subset, n_classes = self.subsets[id], len(self._listed(id))
        if self.has("fits"):
            # a class may have been dropped
            used = self.table("fits").loc[lambda fits: fits["subset"] == id, "n_classes"].dropna()
            n_classes = int(used.max()) if len(used) else n_classes
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
