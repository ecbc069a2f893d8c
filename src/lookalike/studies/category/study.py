"""The category study (OASIS, JMLR 5.3): its section of the settings, its runs, and what exhibits ask of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import pandas as pd
from pydantic import Field

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.core.settings.data_sets import CLASS_KINDS
from lookalike.core.settings.methods import Fit, Method
from lookalike.core.settings.model import Absent, Distinct, Id, only, plain, refer, refer_kind, refer_once
from lookalike.core.settings.schema import Descriptor, Ratings, Representation
from lookalike.data.splits import class_labels, half_of, read_published_subsets
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import GRID, NOT_RUN, TIME, Limits
from lookalike.exhibits.model import Drawn
from lookalike.exhibits.registry import PAPERS, Exhibit, exhibits_of
from lookalike.exhibits.results import results_frame
from lookalike.exhibits.study import Files
from lookalike.exhibits.words import listed
from lookalike.learners.curve import log_spaced_steps
from lookalike.studies.batches import RUN_FILES, SIZES, Batch, run_files
from lookalike.studies.category.results import CLASSES, EQUAL, FEW_IMAGES, OF_RANKERS, OVER_TIME, RANKERS, SHARE, TRACED
from lookalike.studies.category.settings import (
    ChosenClasses,
    ClassSubset,
    FewImages,
    Halves,
    Rankers,
    Splits,
    Transfer,
)
from lookalike.studies.method_study import MethodStudy, fit_of

RESOURCES = Path(__file__).resolve().parents[4] / "workflow" / "resources"
ROLES = ("methods", "variants", "timed", "set_aside", "projected", "minima")
"""Settings that list methods by what they are run for; a method has one role in a study."""
MINIMUM_OF = {"mcml-factor": "mcml", "lmnn-factor": "lmnn"}
"""Method that goes to the minimum of its objective to the one that descends it as in the papers."""
SHOWN_BY = {"minima": "oasis-jmlr-2010/table4", "equal runs": "learning/budget"}
"""Methods to the exhibit on whose subsets alone they run."""
OF_HALVES = "learning/tens"
"""The one exhibit of a study of halves of its classes."""
FEW = "few_images"
SIDE_OF = {RANKERS: "rankers", "map of new classes": "transfer", FEW_IMAGES: FEW}
"""Metric to the part of the settings that has it, which is measured for an exhibit of its own."""
SIDES = tuple(SIDE_OF.values())
MAKERS = {"protocol": (*RUN_FILES, "selection.parquet"), "traces": ("curve.parquet",)}
"""Module of this study to what it makes of a run."""
BEFORE, AFTER = "euclidean", "oasis"
"""Methods whose neighbours are shown beside each other."""
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

# a plan asks for every subset, and the file is read each time
_published = cache(read_published_subsets)


class Subset(NamedTuple):
    """One subset of classes, as exhibits name it."""

    id: str
    title: str
    n_classes: int
    """Classes that were really used; 0 where that is not known."""
    printed: Mapping[str, str] = MappingProxyType({})
    """Paper id to the ``setting`` of its printed numbers (``{"oasis-jmlr-2010": "classes=10"}``)."""
    why_not_comparable: str = ""
    """Why its numbers may not be held against the printed ones (``synthetic images``); "" where they may."""
    methods: tuple[str, ...] = ()
    """Methods that run on it."""


class CategoryStudy(MethodStudy):
    """The category study on one data set."""

    room: ClassVar = "category"
    tables: ClassVar = ("results", "times", "manifest")
    contrasted: ClassVar = ("results", "manifest")
    jobs: ClassVar = {
        "paint_images": "kind=data_set.kind painted=data_set.synthetic folder=painted_folder seed=painting_seed",
        "scan_images": "data=located painted=painted_files clutter=data_set.clutter pool=data_set.pool"
        " descriptors seed",
        "describe_blocks": "n_shards=data_set.shards",
        "count_visterms": "representation=representation_of seed",
        "split_images": "classes=classes_of splits seed",
        "run": "specs seed",
        "run_side_study": "side=side_of folds=folds_of seed",
        "gather": "representation methods equal=equal_choices averages aggressiveness=traced_aggressiveness"
        " n_train=splits.train n_test=splits.test few_images printed_subset half_numbers pool",
    }
    without_effect: ClassVar = dict.fromkeys(("batch", "like", "ablations"), True) | {
        "ratings": {"path", "queries", "retrieved", "random"}
    }

    like: Absent[str] = None
    """Data set whose study gives the keys that are left out here; a key that stands here replaces that study's."""
    ratings: Absent[Ratings] = None
    representation: str = Field(description="Id of the representation that the exhibits show.")
    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods to run, in the order of the exhibits.")
    variants: Distinct[str] = Field([])
    """Ids of symmetric variants of OASIS to run too (JMLR Figure 8, draft Figure 5), and of OASIS projected onto
    positive matrices (NIPS abstract)."""
    timed: Distinct[str] = Field([])
    """Ids of further methods, run only for their training times (JMLR Table 5, draft Table 2)."""
    set_aside: Distinct[str] = Field([])
    """Ids of methods that the papers tried and set aside (JMLR section 5.3.1). They appear in claims alone."""
    projected: Distinct[str] = Field([])
    """Ids of OASIS with projections onto positive semidefinite matrices. Only their curves are made (JMLR Figure 9)."""
    minima: Distinct[str] = Field([])
    """Ids of `mcml-factor` and `lmnn-factor`, which go to the minimum of what `mcml` and `lmnn` descend. They stand
    beside these in JMLR Tables 4 and 5 and draft Tables 1 and 2."""
    equal: dict[str, str] = Field({})
    """Method of `methods` to the id under which it runs a second time, with as many settings to choose from as every
    other method and a stop chosen on the same validation images. One that is not named chooses so anyway."""
    rankers: Absent[Rankers] = None
    transfer: Absent[Transfer] = None
    few_images: Absent[FewImages] = None
    ablations: Distinct[str] = Field([])
    """Ids of further representations, in which the Euclidean distance alone is run: the papers' text tells how many of
    10,000 visterms an image has (JMLR section 3)."""
    splits: Splits = Splits()
    subsets: dict[Id, ClassSubset] = Field(min_length=1, description="The subsets of classes, by id.")
    halves: Absent[Halves] = None
    exhibits: Absent[dict[str, Annotated[list[str], Field(min_length=1)]]] = None
    """Which subsets each exhibit shows, by `paper/name`; every exhibit shows every subset if left out."""

    def check(self) -> None:
        """Refuse settings that name what does not exist or cannot work together."""
        place, kind = f"category.{self.dataset}", self.data_set.kind
        refer(f"{place}: a representation", [self.representation, *self.ablations], self._shared.representations)
        refer_kind(place, kind, CLASS_KINDS, "classes")
        if not self.has_pictures and (further := [key for key in ("ablations", "ratings") if getattr(self, key)]):
            raise LookalikeError(
                f"config: {place}.{further[0]} needs images, and a data set of kind {kind} has none: leave it out"
            )
        self._check_methods(place)
        refer(f"{place}.exhibits", self.exhibits or {}, exhibits_of(self.room))
        for exhibit, subsets in (self.exhibits or {}).items():
            refer(f"{place}.exhibits.{exhibit}", subsets, self.subsets)
        if wrong := self._wrong_numbers(place):
            raise LookalikeError(f"config: {place}.{wrong}")

    def _check_methods(self, place: str) -> None:
        """Refuse methods that do not exist, have two roles, or cannot take theirs, and those of a subset alone."""
        known = self._shared.methods
        refer_once(place, {role: getattr(self, role) for role in ROLES} | {"equal": [*self.equal.values()]}, known)
        if self.ablations:
            refer(f"{place}.ablations: a method", BEFORE, self.methods)
        for method in self.projected:
            if known[method].trace is None:
                raise LookalikeError(f"config: {place}.projected names {method!r}, which needs a `trace` to be plotted")
        few = [] if self.few_images is None else self.few_images.methods
        named = {f"{place}.few_images": few, f"{place}.overrides": list(self.overrides)}
        for id, subset in self.subsets.items():
            refer(f"{place}.subsets.{id}", subset.methods or (), self.named_methods())
            named[f"{place}.subsets.{id}"] = list(subset.overrides)  # which a file laid over this one may not run
        for where, methods in named.items():
            refer(where, methods, known)

    def _wrong_numbers(self, place: str) -> str:
        """Return which of rankers, ratings and cuts the partitions, subsets and methods of the study have not."""
        folds = self.splits.folds
        if self.rankers is not None and max(self.rankers.averages) > self.rankers.count:
            return f"rankers.averages must not be larger than its count, {self.rankers.count}"
        if self.rankers is not None and (self.rankers.folds or 1) > folds:
            return "rankers.folds must not be larger than splits.folds"
        if self.ratings is not None:
            refer(f"{place}.ratings.subset", self.ratings.subset, self.subsets)
            if self.ratings.fold >= folds:
                return f"ratings.fold must be one of the {folds} partitions, counted from 0"
            if not self.on_subset(self.ratings.subset, {AFTER} & set(self.methods)):
                return f"ratings shows what OASIS retrieves: list oasis under {place}.methods"
        if self.splits.validation >= self.splits.train:
            return "splits.validation must be smaller than splits.train"
        return ""

    # What jobs read ---------------------------------------------------------------------------------------------------

    def reads(self, job: str, fitted: Sequence[str] = (), **names: str) -> Mapping[str, object]:
        """Return what a job of a rule reads of the settings; exhibits change with the papers' lists of classes, too."""
        read = super().reads(job, fitted, **names)
        return {**read, "published": self.published} if job == "exhibits" else read

    @cached_property
    def published(self) -> Mapping[str, Sequence[str]]:
        """The classes that the papers print under the id of a subset, by subset."""
        found = _published(RESOURCES / "class-subsets.csv")
        return {subset: found.get(subset, []) for subset in self.subsets}

    @property
    def located(self) -> Mapping[str, object]:
        """Return where its images are, or come from."""
        return dict(plain(self.data_set, include={"kind", "path", "fetch", "classes"}))

    @property
    def descriptors(self) -> dict[str, Descriptor]:
        """Return the descriptors that its representations are made from."""
        ids = [self._shared.representations[id].descriptor for id in (self.representation, *self.ablations)]
        return {id: self._shared.descriptors[id] for id in ids}

    def representation_of(self, fitted: Sequence[str] = (), representation: str = "", **names: str) -> Representation:
        """Return the settings of a representation, by default of that which the exhibits show."""
        return self._shared.representations[representation or self.representation]

    def classes_of(self, fitted: Sequence[str], subset: str, **names: str) -> ChosenClasses:
        """Return which classes a subset has, or say in a sentence which subsets there are."""
        if subset not in self.subsets:
            there = ", ".join(self.subsets)
            raise LookalikeError(f"{self.dataset} has no subset {subset!r} in config.yaml; there are: {there}")
        return only(ChosenClasses, self.subsets[subset])

    def specs(self, fitted: Sequence[str], subset: str, **names: str) -> dict[str, Fit]:
        """Return what decides the fits of some methods on a subset."""
        return {method: fit_of(self.spec(method, subset)) for method in fitted}

    def side_of(self, fitted: Sequence[str], side: str, subset: str, **names: str) -> object:
        """Return the settings of one of `SIDES` on a subset."""
        if side != FEW or self.few_images is None:
            return getattr(self, side)
        fits = self.specs(self.on_subset(subset, self.learned_in(FEW)), subset)
        return {"images": self.few_images.images, "fits": fits}

    def folds_of(self, fitted: Sequence[str], side: str, **names: str) -> list[int]:
        """Return the folds of one of `SIDES`; rankers may be trained on fewer."""
        return self.folds()[: self.rankers.folds if side == "rankers" and self.rankers is not None else None]

    @property
    def traced_aggressiveness(self) -> float:
        """C of the curves along training: that of the first method that is OASIS, or the papers'."""
        specs = map(self.spec, self.methods)
        traces = [spec.trace for spec in specs if spec.trace is not None and spec.learner == "OASIS"]
        return float(traces[0].aggressiveness) if traces else 0.1

    @property
    def printed_subset(self) -> str:
        """The subset whose numbers the papers' text tells: the first that a paper prints."""
        return next((id for id, subset in self.subsets.items() if plain(subset.printed)), next(iter(self.subsets)))

    @property
    def half_numbers(self) -> dict[str, int]:
        """Subset of each half of the classes to its number."""
        return {} if self.halves is None else self.halves.numbers()

    @property
    def pool(self) -> str:
        """Setting that all halves together stand for: the first that a paper prints, if any."""
        printed = {} if self.halves is None else plain(self.halves.printed)
        return str(next(iter(printed.values()), "halves"))

    def shared(self) -> dict[str, Any]:
        """Return what contrasts and exhibits read of other sections: how all methods are called, too."""
        shared = super().shared()
        # a claim may name a method that this study does not run
        methods = {id: plain(spec, include={"learner", "title"}) for id, spec in self._shared.methods.items()}
        representation = plain(self.representation_of(), exclude={"max_descriptors", "iterations"})
        return {
            **shared,
            "methods": methods | shared["methods"],
            "representations": {self.representation: representation},
        }

    # Methods and runs -------------------------------------------------------------------------------------------------

    def spec(self, method: str, subset: str = "") -> Method:
        """Return a method as the study, and a subset of it, changes it."""
        return self.changed(method, self.subsets[subset].overrides if subset in self.subsets else {})

    @property
    def averages(self) -> dict[str, int]:
        """Averages of rankers, as the numbers name them, to how many each is of."""
        return {} if self.rankers is None else {f"average of {n}": n for n in self.rankers.averages}

    @property
    def equal_runs(self) -> dict[str, str]:
        """Methods that are run to the ids of their `equal` runs."""
        return {method: run for method, run in self.equal.items() if method in self.methods}

    @property
    def equal_choices(self) -> dict[str, str]:
        """Methods to the ids of their runs that choose from as many settings as the `equal` runs, or from none."""
        runs = {method: self.equal_runs.get(method, method) for method in self.methods if self.equal_runs}
        counts = {self.n_settings(run) for run in self.equal_runs.values()} | {1}
        return {method: run for method, run in runs.items() if self.n_settings(run) in counts}

    def named_methods(self) -> list[str]:
        """Return the methods that are run, for whatever they are run."""
        return [*(method for role in ROLES for method in getattr(self, role)), *self.equal_runs.values()]

    def run_methods(self) -> list[str]:
        """Return the methods that are selected, fitted and ranked."""
        return [method for method in self.named_methods() if method not in self.projected]

    def traced_methods(self) -> list[str]:
        """Return the methods that have numbers along training."""
        return [method for method in self.named_methods() if self.spec(method).trace is not None]

    def learned_in(self, side: str) -> list[str]:
        """Return the methods whose learners one of `SIDES` finds by name: those of its own that the study runs."""
        named = self.few_images.methods if side == FEW and self.few_images is not None else []
        return [method for method in named if method in self.run_methods()]

    def methods_named(self, names: Iterable[str]) -> list[str]:
        """Return the methods of roles, and others by their ids; those that go to a minimum stand behind their own."""
        names = list(names)
        groups = {role: getattr(self, role) for role in ROLES} | {"minima": [], "equal": []}
        rankers = [f"ranker {number}" for number in range(0 if self.rankers is None else self.rankers.count)]
        groups |= {"rankers": [*self.averages, *rankers], FEW: self.learned_in(FEW)}
        found = dict.fromkeys(method for name in names for method in groups.get(name, [name]))
        minima = {MINIMUM_OF[run]: run for run in self.minima if run in MINIMUM_OF and "minima" in names}
        return [run for method in found for run in (method, minima.get(method)) if run is not None]

    def on_subset(self, subset: str, methods: Iterable[str]) -> list[str]:
        """Return those of some methods that run on a subset; those of `SHOWN_BY` only where it shows them."""
        chosen, originals = self.subsets[subset].methods, {run: method for method, run in self.equal_runs.items()}
        visible = {role: subset in (self.exhibits or {}).get(exhibit, [subset]) for role, exhibit in SHOWN_BY.items()}
        unshown = {*(() if visible["minima"] else self.minima), *(() if visible["equal runs"] else originals)}
        known = [method for method in methods if method not in unshown]
        return [method for method in known if chosen is None or originals.get(method, method) in chosen]

    def folds(self) -> list[int]:
        """Return the numbers of the partitions."""
        return list(range(self.splits.folds))

    def batches(self) -> list[Batch]:
        """Return every batch, one rule each; runs and traces of a fold, and of a method, are apart."""
        sizes = {size: self.methods_in(size, self.named_methods()) for size in SIZES}
        batches = [
            Batch(
                name=f"{what}_{size}",
                log=f"logs/{self.dataset}/{what}/{{representation}}/{{subset}}/{{method}}/{part}.log",
                files=run_files(self.dataset, fold=of_folds, file=MAKERS[maker]),
                allowed={"method": sizes[size]},
                fitted=sizes[size],
            )
            for size, part, of_folds in (("fold", "{fold}", ["{fold}"]), ("method", "all", self.folds()))
            for what, maker in (("run", "protocol"), ("trace", "traces"))
            if sizes[size]
        ]
        for (representation, methods), subset in product(self.methods_by_representation().items(), self.subsets):
            traced = [method for id, method in self.traces() if id == subset and representation == self.representation]
            by_maker = zip(MAKERS.values(), (self.on_subset(subset, methods), traced), strict=True)
            batched = [(method, names) for names, own in by_maker for method in own if method in sizes["subset"]]
            if batched:
                parts = [{"method": [method], "file": names} for method, names in batched]
                files = [run_files(self.dataset, fold=self.folds(), **part) for part in parts]
                batches.append(
                    Batch(
                        name=f"run_subset_{representation}_{subset}",
                        log=f"logs/{self.dataset}/run/{{representation}}/{{subset}}.log",
                        files=[file for of_method in files for file in of_method],
                        allowed={"representation": [representation], "subset": [subset]},
                        fitted=list(dict.fromkeys(method for method, _ in batched)),
                    )
                )
        return batches

    def methods_by_representation(self) -> dict[str, list[str]]:
        """Return representation to the methods that are run in it, the study's own first."""
        return {self.representation: self.run_methods()} | {further: [BEFORE] for further in self.ablations}

    def runs(self, file: str, *, ablations: bool = True, timed: bool = True) -> list[str]:
        """Return one file of every run, or without further representations, or without what no ranking compares."""
        by_representation = self.methods_by_representation()
        without = () if timed else (*self.timed, *self.equal_runs.values())
        return [
            path
            for representation in (by_representation if ablations else [self.representation])
            for subset in self.subsets
            for method in self.on_subset(subset, by_representation[representation])
            if method not in without
            for path in self._files_of_run(representation, subset, method, file)
        ]

    def _files_of_run(self, representation: str, subset: str, method: str, file: str) -> list[str]:
        """Return one file of all folds of a method."""
        return [f"{self.folder}/runs/{representation}/{subset}/{method}/{fold}/{file}" for fold in self.folds()]

    def asked(self) -> list[tuple[str, Exhibit]]:
        """Return each exhibit that asks for something of its own, with each subset that it shows."""
        return [(subset, exhibit) for exhibit in self.own_exhibits() for subset in self.subsets_of(exhibit)]

    def subsets_of(self, exhibit: Exhibit) -> Collection[str]:
        """Return the subsets that an exhibit shows, by id."""
        return (self.exhibits or {}).get(exhibit.id, self.subsets)

    def traces(self) -> list[tuple[str, str]]:
        """Return subset and method of every trace along training that an exhibit shows."""
        traced = set(self.traced_methods())
        return sorted(
            {
                (subset, method)
                for subset, exhibit in self.asked()
                if TRACED in exhibit.metrics
                for method in self.on_subset(subset, self.methods_named(exhibit.needed or ()))
                if method in traced and self.spec(method, subset).trace is not None
            }
        )

    def number_files(self) -> list[str]:
        """Return every table of numbers that results are made of: of runs, traces and side studies."""
        own = self.representation
        asked = {(SIDE_OF.get(metric), subset) for subset, exhibit in self.asked() for metric in exhibit.metrics}
        sides = [pair for pair in product(SIDES, self.subsets) if pair in asked and getattr(self, pair[0]) is not None]
        return [
            *self.runs("results.parquet", ablations=False),
            *(file for trace in self.traces() for file in self._files_of_run(own, *trace, "curve.parquet")),
            *(f"{self.folder}/{side}/{own}/{subset}.parquet" for side, subset in sides),
        ]

    def palette(self, representation: str) -> str:
        """Return the palette of the descriptor that a representation is made from."""
        return f"{self.folder}/descriptors/{self._shared.representations[representation].descriptor}/palette.npy"

    def block_shards(self, representation: str) -> list[str]:
        """Return every shard of the blocks that a representation is made from."""
        folder = str(Path(self.palette(representation)).parent)
        return [f"{folder}/blocks-{shard}.npz" for shard in self.shards()]

    # What exhibits need -----------------------------------------------------------------------------------------------

    def measures(self, exhibit: Exhibit) -> bool:
        """Tell by its settings whether the study measures what an exhibit shows."""
        if TRACED in exhibit.metrics:
            return bool({*self.methods_named(exhibit.shows[-1:])} & {*self.traced_methods()})
        return (
            all(getattr(self, SIDE_OF[metric]) is not None for metric in exhibit.metrics if metric in SIDE_OF)
            and (exhibit.kind != "figure" or bool(self.methods_named(exhibit.shows)))
            and (bool(self.equal_runs) or OVER_TIME not in exhibit.metrics)
        )

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study with the methods, subsets and side studies that these exhibits show, and no others."""
        if not set(self._chosen or ()) <= exhibits_of(self.room).keys():
            return self  # those of raters, who judge one of its runs
        asked = {SIDE_OF.get(metric) for exhibit in exhibits for metric in exhibit.metrics}
        subsets = {subset for exhibit in exhibits for subset in self.subsets_of(exhibit)}
        named = {*roles, *(self.few_images.methods if FEW in roles and self.few_images is not None else ())}
        methods = {role: [id for id in getattr(self, role) if {role, id} & named] for role in ROLES}
        return self.with_settings(
            **methods,
            **{side: None for side in SIDES if side not in asked},
            ratings=None,
            equal=self.equal if "equal" in roles else {},
            ablations=self.ablations if "ablations" in roles else [],
            subsets={id: subset for id, subset in self.subsets.items() if id in subsets},
        )

    def own_exhibits(self) -> list[Exhibit]:
        """Return the exhibits that the study has, by its settings and by what its data set is."""
        found = [exhibit for exhibit in super().own_exhibits() if self.has_pictures or "images" not in exhibit.needs]
        # each half by itself is no set of classes that a paper prints
        return [exhibit for exhibit in found if (exhibit.id == OF_HALVES) == (self.halves is not None)]

    @property
    def has_neighbours(self) -> bool:
        """Tell whether it has neighbours to show before and after learning."""
        return {BEFORE, AFTER} <= set(self.methods)

    def example_fold(self) -> tuple[str, int]:
        """Return subset and fold whose neighbours are shown: those that people rate, else of the last with both."""
        if self.ratings is not None:
            return self.ratings.subset, self.ratings.fold
        able = [subset for subset in self.subsets if len(self.on_subset(subset, (BEFORE, AFTER))) == 2]
        return [*self.subsets, *able][-1], 0

    def inputs(self) -> Files:
        """Return the files that its exhibits and contrasts are made of; methods are compared by rankings, too."""
        files, others = super().inputs(), {*self.methods, *self.minima, *self.variants, *self.set_aside} - {AFTER}
        if not self.has_numbers or self.halves is not None or AFTER not in self.methods or not others:
            return files
        return {**files, "rankings": self.runs("ranks.npz", ablations=False, timed=False)}

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        files: dict[str, str | list[str]] = {
            **super().planned_files(),
            "pool": f"{self.folder}/codebook_pool.parquet",
            "dropped": [f"{self.folder}/splits/{subset}-dropped.csv" for subset in self.subsets],
        }
        if self.has_pictures:  # visterm counts have no images
            files["images"] = f"{self.folder}/images.json"
        if self.has_neighbours:
            subset, fold = self.example_fold()
            files["ranks"] = [
                self._files_of_run(self.representation, subset, method, "ranks.npz")[fold] for method in (BEFORE, AFTER)
            ]
        return files

    # What exhibits and claims show ------------------------------------------------------------------------------------

    @cached_property
    def all_subsets(self) -> tuple[Subset, ...]:
        """Every subset of the study; halves of the classes are one, of which each half is a repeat."""
        if (halves := self.halves) is None:
            return tuple(map(self._subset, self.subsets))
        n_classes = len(next(iter(self.classes_of_half.values()))) if self.has("manifest") else 0
        why, methods = "synthetic images" if self.synthetic else PAPERS_OTHER_CLASSES, tuple(self.named_methods())
        return (Subset(self.pool, halves.title, n_classes, plain(halves.printed), why, methods),)

    @property
    def parts(self) -> list[Subset]:
        """Subsets that the exhibit at hand shows."""
        chosen = None if self.exhibit is None else (self.exhibits or {}).get(self.exhibit.id)
        return [subset for subset in self.all_subsets if chosen is None or subset.id in chosen]

    def subset_of(self, setting: str) -> Subset | None:
        """Return a subset by its id."""
        return next((subset for subset in self.all_subsets if subset.id == setting), None)

    def settings_of(self, exhibit: Exhibit) -> list[str]:
        """Return the subsets whose methods an exhibit compares."""
        return list(self.titles_of("setting"))

    def title_of(self, method: str) -> str:
        """Name a method, or rankers and their averages."""
        if method in self.averages:
            return f"{method} rankers"
        return "single rankers" if method in self.methods_named(["rankers"]) else super().title_of(method)

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
        labels = class_labels(self.table("manifest"))
        return {number: half_of(labels, number, self.seed) for number in self.half_numbers.values()}

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
        what = f"{self.data}, {self.representation_of().words:,} visterms"
        is_figure = drawn is not None and drawn.is_figure
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

    def _left_out(self, subsets: Collection[str]) -> Iterator[str]:
        """Yield a sentence for each subset of which classes were left out: ``Classes left out of var10: ...``."""
        for path in self.paths("dropped"):
            subset = path.name.removesuffix("-dropped.csv")
            # a reason may start with the number that stands beside the label anyway
            reasons = [
                f"{row.label} ({row.usable} usable: {row.reason.removeprefix(f'{row.usable} usable images, ')})"
                for row in read_table(path).itertuples()
            ]
            if reasons and subset in subsets:
                yield f"Classes left out of {subset}: {', '.join(reasons)}."

    def notes(self, drawn: Drawn) -> list[str]:
        """Say which classes were left out, what equal settings are, and which limits ended a fit or a choice."""
        sentences = [*self._left_out(set(drawn.frame.get("setting", ())))]
        if set(EQUAL.values()) & set(drawn.frame.get("metric", ())):
            counts = {self.n_settings(run) for run in self.equal_choices.values()} - {1}
            sentences.append(
                f"With equal settings each learned method chooses one of {' or '.join(map(str, sorted(counts)))} "
                "settings, values of its parameter and stops, on the same validation images."
            )
            if lacking := [self.title_of(method) for method in self.methods if method not in self.equal_choices]:
                sentences.append(f"With equal settings these were not run: {', '.join(lacking)}.")
        return sentences + self.limits.notes(self._drawn_methods(drawn), {part.id: part.title for part in self.parts})

    def differences(self, drawn: Drawn) -> list[str]:
        """Say which classes are not the paper's, what was not run on which, and how methods run otherwise."""
        compared = self.parts if self.paper in PAPERS else ()
        reasons = grouped((part.why_not_comparable, part.title) for part in compared if part.why_not_comparable)
        found = [
            f"{why[:1].upper()}{why[1:]}{'' if len(subsets) == len(self.parts) else f' ({listed(subsets)})'}."
            for why, subsets in reasons.items()
        ]
        # curves along training are of parameters that no selection chose
        is_traced = self.exhibit is not None and TRACED in self.exhibit.metrics
        titles = {} if is_traced else self._drawn_methods(drawn)
        missing = ((part.title, titles[id]) for part in self.parts for id in titles if id not in part.methods)
        absent = grouped((listed(methods), part) for part, methods in grouped(missing).items())
        found += [f"Not run on {listed(parts)}: {methods}." for methods, parts in absent.items()]
        shows_print = any(drawn.frame.get("is_printed", ())) or bool(self.exhibit and self.exhibit.figure.printed)
        found += self._not_in_both() if shows_print else []
        noted = grouped(pair for method in titles for pair in self._notes_of(method))
        stopped = [*self._stopped_early(self._drawn_methods(drawn))]
        return [
            *found,
            *(f"{listed(methods)}: {note}." for note, methods in noted.items()),
            *[f"Stopped early by our rule: {'; '.join(stopped)}."] * bool(stopped),
        ]

    def _drawn_methods(self, drawn: Drawn) -> dict[str, str]:
        """Return the methods of an exhibit with their titles."""
        there = set(drawn.frame.get("method", ()))
        return {method: self.title_of(method) for method in self.named_methods() if method in there}

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

    def _notes_of(self, method: str) -> Iterator[tuple[str, str]]:
        """Yield each note of a method with its title, and on which subsets where not on all that run it."""
        ran = [subset for subset in self.parts if method in subset.methods]
        notes = grouped((self.spec(method, subset.id).note or "", subset.title) for subset in ran)
        for note, where in notes.items():
            if note:
                on = "" if len(where) == len(ran) else f" on {' and '.join(where)}"
                yield note.rstrip("."), f"{self.title_of(method)}{on}"

    def _stopped_early(self, methods: Iterable[str]) -> Iterator[str]:
        """Say at which share of its starting objective MCML stopped, by a rule of ours, on each subset."""
        for method, subset in product(methods, self.parts):
            shares = self.values(subset.id, method, SHARE)
            if len(shares) and self.spec(method).learner == "MCML" and method not in self.minima:
                at = f"{100 * shares.mean():.0f}% of its starting objective"
                yield f"{self.title_of(method)} at {at} ({subset.title})"

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
        is_elsewhere = bool(traced) and not any(subset in traced for subset in chosen) and projected != {"projected"}
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
        representation = self.representation_of()
        if representation.words != PAPER_WORDS:
            return f"another representation ({representation.words:,} words)"
        return ""


def makers(batch: Batch) -> dict[str, str]:
    """Return, of a batch's files, the one by which a job knows what to run, to the module that runs it."""
    names = {file.rpartition("/")[2] for file in batch.files}
    return {files[0]: module for module, files in MAKERS.items() if files[0] in names}


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return each first of some pairs with all of its seconds."""
    found: dict[str, list[str]] = {}
    for first, second in pairs:
        found.setdefault(first, []).append(second)
    return found


STUDY = CategoryStudy
