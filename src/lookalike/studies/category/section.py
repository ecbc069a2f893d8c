"""The section of the category study: which runs its settings ask for, and what jobs read and write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import LANDMARK_KINDS, TRIPLET_KINDS, WEB_KINDS
from lookalike.core.settings.methods import Fit, Method
from lookalike.core.settings.model import ABSENT, Absent, Distinct, Id, check_exhibits, only, plain, refer, refer_once
from lookalike.core.settings.schema import Descriptor, Ratings, Representation
from lookalike.data.subsets import read_published_subsets
from lookalike.exhibits.registry import Exhibit, exhibits_of
from lookalike.exhibits.study import Files
from lookalike.studies.batches import SIZES, Batch, run_files
from lookalike.studies.category.results import FEW_IMAGES, OVER_TIME, RANKERS, TRACED, Gathered
from lookalike.studies.category.settings import (
    ChosenClasses,
    ClassSubset,
    FewImages,
    FewImagesOfMethods,
    Halves,
    Rankers,
    Splits,
    Transfer,
)
from lookalike.studies.method_study import MethodStudy, fit_of, without_batches

RESOURCES = Path(__file__).resolve().parents[4] / "workflow" / "resources"
ROLES = ("methods", "variants", "timed", "set_aside", "projected", "minima")
"""Settings that list methods by what they are run for; a method has one role in a study."""
MINIMUM_OF = {"mcml-factor": "mcml", "lmnn-factor": "lmnn"}
"""Method that goes to the minimum of its objective to the one that descends it as in the papers."""
SHOWN_BY = {"minima": "oasis-jmlr-2010/table4", "equal runs": "learning/budget"}
"""Methods to the exhibit on whose subsets alone they run."""
OF_HALVES = "learning/tens"
"""The one exhibit of a study of halves of its classes."""
ONE_AGGRESSIVENESS = ("rankers", "transfer")
FEW = "few_images"
SIDES = (*ONE_AGGRESSIVENESS, FEW)
"""Parts of the settings that are run for an exhibit of their own, each by the module of its name."""
RUN_FILES = ("model.lookalike", "fit.json", "selection.parquet", "metrics.parquet", "ranks.npz")
MAKERS = {"protocol": RUN_FILES, "traces": ("curve.parquet",)}
"""Module of this study to what it makes of a run."""
BEFORE, AFTER = "euclidean", "oasis"
"""Methods whose neighbours are shown beside each other."""

# a plan asks for every subset, and the file is read each time
_published = cache(read_published_subsets)


SIDE_OF = {RANKERS: "rankers", "map of new classes": "transfer", FEW_IMAGES: FEW}
"""Metric to the part of the settings that has it."""


class CategorySection(MethodStudy):
    """The section of the category study: what its jobs read and write."""

    room: ClassVar = "category"
    tables: ClassVar = ("results", "times", "manifest")
    contrasted: ClassVar = ("results", "manifest")
    jobs: ClassVar = {
        "paint_images": "kind=data_set.kind painted=data_set.synthetic folder=painted_folder"
        " n_shards=data_set.shards seed=painting_seed",
        "scan_images": "data=located painted=painted_root clutter=data_set.clutter classes=scanned_classes"
        " pool=data_set.pool descriptors seed",
        "describe_blocks": "n_shards=data_set.shards",
        "count_visterms": "representation=representation_of seed",
        "draw_splits": "classes=classes_of splits seed",
        "run": "specs seed",
        "run_side_study": "side=side_of folds=folds_of seed",
        "gather": "about=gathered",
    }
    wants_words: ClassVar = False
    """Visterms are made here, and never a benchmark's own."""
    without_effect: ClassVar = dict.fromkeys(("batch", "like", "ablations"), True) | {
        "ratings": {"path", "queries", "retrieved", "random"}
    }

    like: Absent[str] = ABSENT
    """Data set whose study gives the keys that are left out here; a key that stands here replaces that study's."""
    ratings: Absent[Ratings] = ABSENT
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
    rankers: Absent[Rankers] = ABSENT
    transfer: Absent[Transfer] = ABSENT
    few_images: Absent[FewImages] = ABSENT
    ablations: Distinct[str] = Field([])
    """Ids of further representations, in which the Euclidean distance alone is run: the papers' text tells how many of
    10,000 visterms an image has (JMLR section 3)."""
    splits: Splits = Splits()
    subsets: dict[Id, ClassSubset] = Field(min_length=1, description="The subsets of classes, by id.")
    halves: Absent[Halves] = ABSENT
    exhibits: Absent[dict[str, Annotated[list[str], Field(min_length=1)]]] = ABSENT
    """Which subsets each exhibit shows, by `paper/name`; every exhibit shows every subset if left out."""

    _published: Mapping[str, Sequence[str]] | None = None

    def check(self) -> None:
        """Refuse settings that name what does not exist or cannot work together."""
        place, kind = f"category.{self.dataset}", self.data_set.kind
        for representation in (self.representation, *self.ablations):
            refer(f"{place}: a representation", representation, self._shared.representations)
        for other, kinds in {"landmark": LANDMARK_KINDS, "web": WEB_KINDS, "finegrained": TRIPLET_KINDS}.items():
            if kind in kinds:
                raise LookalikeError(
                    f"config: {place} needs a data set of classes, not of kind {kind}: list it under {other}"
                )
        if not self.has_pictures and (further := [key for key in ("ablations", "ratings") if getattr(self, key)]):
            raise LookalikeError(
                f"config: {place}.{further[0]} needs images, and a data set of kind {kind} has none: leave it out"
            )
        self._check_methods(place)
        check_exhibits(place, self.exhibits or {}, exhibits_of(self.room), self.subsets)
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
                raise LookalikeError(f"config: {place}.projected names {method!r}, which needs a `trace` to be drawn")
        for method in self.few_images.methods if self.few_images is not None else ():
            refer(f"{place}.few_images", method, known)
        for method in self.overrides:
            refer(f"{place}.overrides", method, known)
        for id, subset in self.subsets.items():
            for method in subset.methods or ():
                refer(f"{place}.subsets.{id}", method, self.named_methods())
            for method in subset.overrides:  # which a file laid over this one may not run
                refer(f"{place}.subsets.{id}", method, known)

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

    def reads(self, job: str, fitted: Sequence[str] = (), **names: str) -> Mapping[str, object]:
        """Return what a job of a rule reads of the settings; exhibits read the papers' lists of classes, too."""
        read = super().reads(job, fitted, **names)
        return {**read, "published": self.published} if job == "exhibits" else read

    @property
    def located(self) -> Mapping[str, object]:
        """Return where its images are, or come from."""
        return dict(plain(self.data_set, include={"kind", "path", "fetch", "classes"}))

    @property
    def painted_root(self) -> dict[str, str]:
        """Folder of the images that code makes; none where it does not."""
        return {"root": self.painted_folder} if self.data_set.kind == "synthetic" else {}

    @property
    def scanned_classes(self) -> list[str]:
        """Classes of which a scan keeps images; of all without any."""
        return getattr(self.data_set, "classes", None) or []

    @property
    def descriptors(self) -> dict[str, Descriptor]:
        """Return the descriptors that its representations are made from."""
        ids = [self._shared.representations[id].descriptor for id in (self.representation, *self.ablations)]
        return {id: self._shared.descriptors[id] for id in ids}

    def representation_of(self, fitted: Sequence[str], representation: str, **names: str) -> Representation:
        """Return the settings of a representation."""
        return self._shared.representations[representation]

    def classes_of(self, fitted: Sequence[str], subset: str, **names: str) -> ChosenClasses:
        """Return which classes a subset has."""
        return only(ChosenClasses, self.subset_settings(subset))

    def specs(self, fitted: Sequence[str], subset: str, **names: str) -> dict[str, Fit]:
        """Return what decides the fits of some methods on a subset."""
        return {method: fit_of(self.spec(method, subset)) for method in fitted}

    def side_of(self, fitted: Sequence[str], side: str, subset: str, **names: str) -> object:
        """Return the settings of one of `SIDES` on a subset."""
        return self._few_images_on(subset) if side == FEW else getattr(self, side)

    def folds_of(self, fitted: Sequence[str], side: str, **names: str) -> list[int]:
        """Return the folds of one of `SIDES`; rankers may be trained on fewer."""
        return self.folds()[: self.rankers.folds if side == "rankers" and self.rankers is not None else None]

    @property
    def gathered(self) -> Gathered:
        """Return what the job that gathers its numbers reads."""
        return Gathered(
            representation=self.representation,
            methods=self.methods,
            equal=self.equal_runs,
            averages=self.averages,
            aggressiveness=self.traced_aggressiveness,
            n_train=self.splits.train,
            n_test=self.splits.test,
            few_images=self.few_images is not None,
            printed=next(
                (id for id, subset in self.subsets.items() if plain(subset.printed)), next(iter(self.subsets))
            ),
            halves={} if self.halves is None else self.halves.numbers(),
            pool=self.pool,
        )

    @property
    def traced_aggressiveness(self) -> float:
        """C of the curves along training: that of the first method that is OASIS, or the papers'."""
        specs = map(self.spec, self.methods)
        traces = [spec.trace for spec in specs if spec.trace is not None and spec.learner == "OASIS"]
        return float(traces[0].aggressiveness) if traces else 0.1

    @property
    def averages(self) -> dict[str, int]:
        """Averages of rankers, as the numbers name them, to how many each is of."""
        return {} if self.rankers is None else {f"average of {n}": n for n in self.rankers.averages}

    @property
    def single_rankers(self) -> list[str]:
        """Single rankers, as the numbers name them."""
        return [f"ranker {number}" for number in range(0 if self.rankers is None else self.rankers.count)]

    @property
    def pool(self) -> str:
        """Setting that all halves together stand for: the first that a paper prints, if any."""
        printed = {} if self.halves is None else plain(self.halves.printed)
        return str(next(iter(printed.values()), "halves"))

    def methods_named(self, names: Iterable[str]) -> list[str]:
        """Return the methods of roles, and others by their ids; those that go to a minimum stand behind their own."""
        names = list(names)
        groups = {role: getattr(self, role) for role in ROLES if role != "minima"}
        groups |= {
            "rankers": [*self.averages, *self.single_rankers],
            FEW: self.learned_in(FEW),
            "minima": [],
            "equal": [],
        }
        found = list(dict.fromkeys(method for name in names for method in groups.get(name, [name])))
        return self.with_minima(found) if "minima" in names else found

    def measures(self, exhibit: Exhibit) -> bool:
        """Tell by its settings whether the study measures what an exhibit shows."""
        sides = [SIDE_OF[metric] for metric in exhibit.metrics if metric in SIDE_OF]
        if TRACED in exhibit.metrics:
            traced = self.traced_methods()
            return bool(set(self.methods_named(exhibit.shows[-1:])) & set(traced))
        is_over_time = OVER_TIME in exhibit.metrics
        return (
            all(getattr(self, side) is not None for side in sides)
            and (exhibit.figure is None or bool(self.methods_named(exhibit.shows)))
            and (bool(self.equal_runs) or not is_over_time)
        )

    def settings_of(self, exhibit: Exhibit) -> list[str]:
        """Return the subsets whose methods an exhibit compares."""
        return list(self.titles_of("setting"))

    def section(self) -> dict[str, Any]:
        """Return its own keys on which a number or an exhibit depends."""
        subsets = {
            id: subset.model_copy(update={"overrides": without_batches(subset.overrides)})
            for id, subset in self.subsets.items()
        }
        return {**super().section(), "subsets": plain(subsets)}

    def shared(self) -> dict[str, Any]:
        """Return what contrasts and exhibits read of other sections: how all methods are called, too."""
        shared = super().shared()
        # a claim may name a method that this study does not run
        methods = {id: plain(spec, include={"learner", "title"}) for id, spec in self._shared.methods.items()}
        representation = plain(self.own_representation, exclude={"max_descriptors", "iterations"})
        shared["representations"] = {self.representation: representation}
        return {**shared, "methods": methods | shared["methods"]}

    @classmethod
    def given(cls, dataset: str, settings: Mapping[str, Any]) -> Self:
        """Return the study from the parameters that a job for contrasts or exhibits is given."""
        study = super().given(dataset, settings)
        study._published = settings["published"]
        return study

    @property
    def published(self) -> Mapping[str, Sequence[str]]:
        """The classes that the papers print under the id of a subset, by subset."""
        if self._published is not None:
            return self._published
        found = _published(RESOURCES / "class-subsets.csv")
        return {subset: found.get(subset, []) for subset in self.subsets}

    @property
    def own_representation(self) -> Representation:
        """Settings of the representation that the exhibits show."""
        return self._shared.representations[self.representation]

    def _few_images_on(self, subset: str) -> FewImagesOfMethods:
        """Return what decides the numbers of few images on a subset."""
        fits = {method: fit_of(self.spec(method, subset)) for method in self.on_subset(subset, self.learned_in(FEW))}
        return FewImagesOfMethods(images=[] if self.few_images is None else self.few_images.images, fits=fits)

    def learned_in(self, side: str) -> list[str]:
        """Return the methods whose learners one of `SIDES` finds by name: those of its own that the study runs."""
        named = self.few_images.methods if side == FEW and self.few_images is not None else []
        return [method for method in named if method in self.run_methods()]

    def spec(self, method: str, subset: str = "") -> Method:
        """Return a method as the study, and a subset of it, changes it."""
        return self.changed(method, self.subsets[subset].overrides if subset in self.subsets else {})

    def named_methods(self) -> list[str]:
        """Return the methods that are run, for whatever they are run."""
        return [*(method for role in ROLES for method in getattr(self, role)), *self.equal_runs.values()]

    @property
    def equal_runs(self) -> dict[str, str]:
        """Methods that are run to the ids of their `equal` runs."""
        return {method: run for method, run in self.equal.items() if method in self.methods}

    def run_methods(self) -> list[str]:
        """Return the methods that are selected, fitted and ranked."""
        return [method for method in self.named_methods() if method not in self.projected]

    def traced_methods(self) -> list[str]:
        """Return the methods that have numbers along training."""
        return [method for method in self.named_methods() if self.spec(method).trace is not None]

    def on_subset(self, subset: str, methods: Iterable[str]) -> list[str]:
        """Return those of some methods that run on a subset; those of `SHOWN_BY` only where it shows them."""
        chosen, originals = self.subsets[subset].methods, {run: method for method, run in self.equal_runs.items()}
        visible = {role: subset in (self.exhibits or {}).get(exhibit, [subset]) for role, exhibit in SHOWN_BY.items()}
        unshown = {*(() if visible["minima"] else self.minima), *(() if visible["equal runs"] else originals)}
        known = [method for method in methods if method not in unshown]
        return [method for method in known if chosen is None or originals.get(method, method) in chosen]

    def with_minima(self, methods: Iterable[str]) -> list[str]:
        """Return some methods, each with the run to its minimum behind it, if the study has one."""
        minima = {MINIMUM_OF[run]: run for run in self.minima if run in MINIMUM_OF}
        return [run for method in methods for run in (method, minima.get(method)) if run is not None]

    @property
    def has_neighbours(self) -> bool:
        """Tell whether it has neighbours to show before and after learning."""
        return {BEFORE, AFTER} <= set(self.methods)

    def can_compare(self) -> bool:
        """Tell whether the study runs OASIS and something to hold it against."""
        return AFTER in self.methods and len({*self.methods, *self.minima, *self.variants, *self.set_aside}) > 1

    def subset_settings(self, subset: str) -> ClassSubset:
        """Return the settings of one subset, or say in a sentence which there are."""
        if subset not in self.subsets:
            there = ", ".join(self.subsets)
            raise LookalikeError(f"{self.dataset} has no subset {subset!r} in config.yaml; there are: {there}")
        return self.subsets[subset]

    def folds(self) -> list[int]:
        """Return the numbers of the partitions."""
        return list(range(self.splits.folds))

    def example_fold(self) -> tuple[str, int]:
        """Return subset and fold whose neighbours are shown: those that people rate, else of the last with both."""
        if self.ratings is not None:
            return self.ratings.subset, self.ratings.fold
        able = [subset for subset in self.subsets if len(self.on_subset(subset, (BEFORE, AFTER))) == 2]
        return [*self.subsets, *able][-1], 0

    def batches(self) -> list[Batch]:
        """Return every batch, one rule each; runs and traces of a fold, and of a method, are apart."""
        sizes = {size: self.methods_in(size, self.named_methods()) for size in SIZES}
        small = [
            Batch(
                name=f"{what}_{size}",
                log=f"logs/{{dataset}}/{what}/{{representation}}/{{subset}}/{{method}}/{part}.log",
                files=run_files(fold=of_folds, file=MAKERS[maker]),
                allowed={"dataset": [self.dataset], "method": sizes[size]},
                fitted=sizes[size],
            )
            for size, part, of_folds in (("fold", "{fold}", ["{fold}"]), ("method", "all", self.folds()))
            for what, maker in (("run", "protocol"), ("trace", "traces"))
            if sizes[size]
        ]
        pairs = product(self.methods_by_representation(), self.subsets)
        large = [self._batch_of_subset(*pair, sizes["subset"]) for pair in pairs]
        return [*small, *(batch for batch in large if batch.files)]

    def _batch_of_subset(self, representation: str, subset: str, methods: Sequence[str]) -> Batch:
        """Return a job that runs and traces all of some methods on a subset."""
        run = self.on_subset(subset, self.methods_by_representation()[representation])
        traced = [method for id, method in self.traces() if id == subset and representation == self.representation]
        by_maker = {"protocol": run, "traces": traced}
        wanted = [(maker, method) for maker in MAKERS for method in by_maker[maker] if method in methods]
        files = [run_files(method=[method], fold=self.folds(), file=MAKERS[maker]) for maker, method in wanted]
        return Batch(
            name=f"run_subset_{representation}_{subset}",
            log="logs/{dataset}/run/{representation}/{subset}.log",
            files=[file for of_method in files for file in of_method],
            allowed={"dataset": [self.dataset], "representation": [representation], "subset": [subset]},
            fitted=list(dict.fromkeys(method for _, method in wanted)),
        )

    def methods_by_representation(self) -> dict[str, list[str]]:
        """Return representation to the methods that are run in it, the study's own first."""
        return {self.representation: self.run_methods()} | {further: [BEFORE] for further in self.ablations}

    def runs(self, file: str, *, ablations: bool = True, timed: bool = True) -> list[str]:
        """Return one file of every run, or without further representations, or without what no ranking compares."""
        by_representation = self.methods_by_representation()
        without = () if timed else (*self.timed, *self.equal_runs.values())
        return [
            self._run_file(representation, subset, method, fold, file)
            for representation in (by_representation if ablations else [self.representation])
            for subset in self.subsets
            for method, fold in product(self.on_subset(subset, by_representation[representation]), self.folds())
            if method not in without
        ]

    def _run_file(self, *parts: str | int) -> str:
        return "/".join(map(str, (self.folder, "runs", *parts)))

    def asked(self) -> list[tuple[str, Exhibit]]:
        """Return each exhibit that asks for something of its own, with each subset that it shows."""
        return [
            (subset, exhibit)
            for exhibit in self.own_exhibits()
            for subset in (self.exhibits or {}).get(exhibit.id, self.subsets)
        ]

    def traces(self) -> list[tuple[str, str]]:
        """Return subset and method of every trace along training that an exhibit shows."""
        named = set(self.named_methods())
        return sorted(
            {
                (subset, method)
                for subset, exhibit in self.asked()
                if TRACED in exhibit.metrics
                for method in self.on_subset(subset, self.methods_named(exhibit.needed or ()))
                if method in named and self.spec(method, subset).trace is not None
            }
        )

    def number_files(self) -> list[str]:
        """Return every table of numbers that results are made of: of runs, traces and side studies."""
        own, curves = self.representation, product(self.traces(), self.folds())
        asked = {
            (SIDE_OF[metric], subset)
            for subset, exhibit in self.asked()
            for metric in exhibit.metrics
            if metric in SIDE_OF
        }
        sides = [pair for pair in product(SIDES, self.subsets) if pair in asked and getattr(self, pair[0]) is not None]
        return [
            *self.runs("metrics.parquet", ablations=False),
            *(self._run_file(own, *trace, fold, "curve.parquet") for trace, fold in curves),
            *(f"{self.folder}/{side}/{own}/{subset}.parquet" for side, subset in sides),
        ]

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study with the methods, subsets and side studies that these exhibits show, and no others."""
        if not set(self._chosen or ()) <= exhibits_of(self.room).keys():
            return self  # those of raters, who judge one of its runs
        asked = {SIDE_OF[metric] for exhibit in exhibits for metric in exhibit.metrics if metric in SIDE_OF}
        subsets = {subset for exhibit in exhibits for subset in (self.exhibits or {}).get(exhibit.id, self.subsets)}
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

    def inputs(self) -> Files:
        """Return the files that its exhibits and contrasts are made of; methods are compared by rankings, too."""
        files = super().inputs()
        if not self.has_numbers or self.halves is not None or not self.can_compare():
            return files
        return {**files, "rankings": self.runs("ranks.npz", ablations=False, timed=False)}

    def palette(self, representation: str) -> str:
        """Return the palette of the descriptor that a representation is made from."""
        return f"{self.folder}/descriptors/{self._shared.representations[representation].descriptor}/palette.npy"

    def block_shards(self, representation: str) -> list[str]:
        """Return every shard of the blocks that a representation is made from."""
        folder = str(Path(self.palette(representation)).parent)
        return [f"{folder}/blocks-{shard}.npz" for shard in self.shards()]

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        files: dict[str, str | list[str]] = {
            **super().planned_files(),
            "images": f"{self.folder}/images.json",
            "pool": f"{self.folder}/codebook_pool.parquet",
            "dropped": [f"{self.folder}/splits/{subset}-dropped.csv" for subset in self.subsets],
        }
        if self.has_neighbours:
            subset, fold = self.example_fold()
            run = partial(self._run_file, self.representation, subset)
            files["ranks"] = [run(method, fold, "ranks.npz") for method in (BEFORE, AFTER)]
        # visterm counts have no images
        return {name: paths for name, paths in files.items() if self.has_pictures or name != "images"}


def makers(batch: Batch) -> dict[str, str]:
    """Return, of a batch's files, the one by which a job knows what to run, to the module that runs it."""
    names = {file.rpartition("/")[2] for file in batch.files}
    return {files[0]: module for module, files in MAKERS.items() if files[0] in names}
