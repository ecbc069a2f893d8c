"""The landmark study (SOML, AAAI 2014): its section of the settings, its runs, and what exhibits ask of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise, product
from pathlib import Path
from string import capwords
from typing import Annotated, ClassVar, Self

import pandas as pd
from pydantic import Field

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.core.settings.data_sets import LANDMARK_KINDS, VISTERM_KINDS, LandmarkFolders
from lookalike.core.settings.methods import Changes, Fit, Method
from lookalike.core.settings.model import (
    Absent,
    Distinct,
    Number,
    Section,
    names_or,
    only,
    plain,
    refer,
    refer_kind,
    refer_once,
)
from lookalike.core.settings.schema import CodebookTraining, SiftSettings
from lookalike.data.archives import listing_fingerprint
from lookalike.data.ground_truth import OXFORD_LANDMARKS, folders_in, landmarks_with, name_landmarks
from lookalike.data.visterm_folder import labels_in
from lookalike.exhibits.contrasts import Limits
from lookalike.exhibits.model import Drawn
from lookalike.exhibits.registry import Exhibit
from lookalike.exhibits.results import with_parts
from lookalike.exhibits.study import Files
from lookalike.learners.registry import MODULES
from lookalike.studies.batches import RUN_FILES, Batch, run_files
from lookalike.studies.landmark.results import MEAN, codebook_name
from lookalike.studies.method_study import MethodStudy, fit_of
from lookalike.studies.recipes import recipe_of

DIAGONAL = ("TFIDF", "QPAO", "DiagonalOASIS", "SOMLTG", "SOMLDA")
"""Learners of a diagonal metric: the only ones that a codebook of the landmark study leaves room for."""
BEFORE, AFTER = "tfidf", "soml-da"
"""Methods whose first results the montage shows."""
LEAST_TO_CHOOSE = 4
"""Positives that leave two to learn from, and two to find each other, where constants are chosen."""
OVER, LEADING = "oasis-diagonal", ("soml-tg", "soml-da")
CHOSEN = {method: f"{name}-chosen" for method, name in ((OVER, "oasis"), *((name, name) for name in LEADING))}
"""Methods of a study's `lead` to the same with constants that are chosen among several, by images to learn from."""
PAIRS = [(method, OVER) for method in LEADING] + [(CHOSEN[method], CHOSEN[OVER]) for method in LEADING]
"""Methods whose difference is the lead, with printed and then with chosen constants."""
PAPER = "soml-aaai-2014"
LANDMARKS = ("all_souls", "ashmolean", "bodleian", "christ_church", "hertford", "magdalen", "radcliffe_camera")
"""Landmarks that the paper's tables have rows of."""
PRINTED_METHOD = {"oasis": "oasis-diagonal"}
"""The paper's id of a method to ours, where they differ."""
PAPER_LEARNING = {"positives": 7, "negatives": 500}
"""Images of a landmark, and of others, that a metric is learned from (Experimental Testbed and Setup)."""
RECONSTRUCTED = "qpao"
ABOUT_METHODS = {
    "tfidf": "ranks by weighted counts of visterms and learns nothing",
    RECONSTRUCTED: "our quadratic programme, built from this paper's description; its own paper was not at hand",
    "oasis-diagonal": "its step on one weight for each visterm, 1 at first; a full matrix for so many is too large",
    "soml-tg": "SOML by truncated gradients, which moves every weight towards zero after each step",
    "soml-da": "SOML by dual averaging, which computes the weights from the mean of all gradients",
}
LEARNED_FROM = (
    "A metric is learned for each landmark from {positives} of its images and {negatives} others, which then leave the "
    "gallery. A sample is one random choice of them."
)

Landmarks = Annotated[str | list[str], names_or("all", 1, "`all` or a list of different landmarks")]

# a plan asks many times, and the lists of a large data set are read for seconds
_landmarks_with = cache(landmarks_with)


class LearningImages(Section):
    """The images that each landmark is learned from."""

    positives: int = Field(7, ge=2, description="Images of the landmark, none of them a query.")
    negatives: int = Field(500, ge=1, description="Images of other things.")
    draws: int = Field(5, ge=1, le=100, description="How often they are sampled; the paper prints one sample.")
    passes: Absent[Number] = Field(None, gt=0)
    """Steps for each triplet of learners that sample triplets (OASIS: 100,000 steps of 21,000 triplets are 4.76
    passes); their `n_steps` if left out."""


class Lead(Section):
    """S-TG and S-DA minus OASIS over codebooks of several sizes and numbers of features; not run if left out."""

    codebooks: Distinct[str] = Field(min_length=2)
    """Ids of the codebooks: their words and the `n_max` of their keypoints vary. Whole images are queries."""
    chosen_draws: int = Field(3, ge=1, le=100)
    """In how many samples, from the first on, constants are chosen too, which takes ten times as long."""


class LandmarkStudy(MethodStudy):
    """The landmark study (SOML, AAAI 2014) on one data set."""

    room: ClassVar = "landmark"
    tables: ClassVar = ("results", "times", "manifest")
    contrasted: ClassVar = ("results",)

    jobs: ClassVar = {
        "paint_images": "kind=data_set.kind painted=data_set.synthetic_landmarks folder=painted_folder"
        " seed=painting_seed",
        "scan_landmarks": "data=located painted=painted_files wants_words",
        "extract_keypoints": "keypoints=keypoints_of n_shards=data_set.shards",
        "train_words": "codebook=codebook_of seed",
        "assign_words": "codebook=codebook_of",
        "read_published_words": "codebook=codebook_of n_shards=data_set.shards",
        "count_words": "codebook=codebook_of",
        "read_ground_truth": "landmarks=landmark_names learning seed",
        "pick_queries": "landmarks=landmark_names learning distractors=data_set.distractors"
        " n_queries=data_set.queries seed",
        "run": "specs landmarks=landmark_names passes=learning.passes seed",
        "measure_lead": "specs setting=lead_setting chosen_draws=lead.chosen_draws landmarks=landmark_names"
        " passes=learning.passes seed",
        "gather_results": "landmarks=landmark_names",
    }

    codebooks: Distinct[str] = Field(min_length=1, max_length=3)
    """Ids of the codebooks, from small to large. One of 10,000 words fills Tables 1, 4 and 7 of the paper, one of
    100,000 words 2, 5 and 8, one of a million 3, 6 and 9. Published counts have one codebook, of a word a column."""
    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods to run, in the order of the exhibits.")
    landmarks: Landmarks = "all"
    """The landmarks to learn; one with too few images is an error. `all`: every folder of photographs, or the landmarks
    of the ground-truth files that have enough images; `oxford5k` must list them."""
    learning: LearningImages = LearningImages()
    lead: Absent[Lead] = None
    codebook_overrides: dict[str, dict[str, Changes]] = Field({})
    """Further changes for one codebook, by codebook id and method id; those for a codebook that the study does not use
    are ignored."""

    def check(self) -> None:
        """Refuse settings that name what does not exist or cannot work together."""
        place = f"landmark.{self.dataset}"
        refer_kind(place, self.data_set.kind, (*LANDMARK_KINDS, *VISTERM_KINDS), "landmarks")
        self._check_codebooks(f"{place}.codebooks")
        self._check_landmarks(f"{place}.landmarks")
        self._check_methods(place)

    def _check_codebooks(self, place: str) -> None:
        """Refuse codebooks that are not each larger than the one before: the exhibits tell them apart by size."""
        known, of_lead = self._shared.codebooks, self.lead.codebooks if self.lead is not None else ()
        if not self.has_pictures and (len(self.codebooks) > 1 or of_lead):
            raise LookalikeError(f"config: {place}: published counts are of one codebook: name one, and no `lead`")
        for codebook in (*self.codebooks, *of_lead):
            refer(place if codebook in self.codebooks else f"landmark.{self.dataset}.lead.codebooks", codebook, known)
            if known[codebook].published and self.data_set.kind != "oxford5k":
                raise LookalikeError(f"config: {place} names {codebook!r}, whose words are those of Oxford5K only")
        sizes = [known[codebook].words for codebook in self.codebooks]
        if any(small >= large for small, large in pairwise(sizes)):
            raise LookalikeError(
                f"config: {place} must go from small to large, each of its own size, not {sizes} words"
            )

    def _check_landmarks(self, place: str) -> None:
        """Refuse names that no landmark has, where they are known before the ground truth is there."""
        kind = self.data_set.kind
        if kind == "oxford5k" and self.landmarks == "all":
            raise LookalikeError(
                f"config: {place} must list its landmarks, since nothing tells how many images each has before the "
                f"ground truth is fetched; there are: {', '.join(OXFORD_LANDMARKS)}"
            )
        if self.landmarks != "all" and kind != "landmarks":
            known = OXFORD_LANDMARKS if kind == "oxford5k" else self._painted_names()
            for landmark in self.landmarks:
                refer(place, landmark, known)

    def _check_methods(self, place: str) -> None:
        """Refuse methods that do not exist or that the study cannot run, and changes that change nothing."""
        known = self._shared.methods
        refer_once(place, {"methods": self.methods}, known)
        for method in self.overrides:
            refer(f"{place}.overrides", method, known)
        for codebook, overrides in self.codebook_overrides.items():
            # one that exists but is not named by this study is for an overlay that names it
            refer(f"{place}.codebook_overrides", codebook, self._shared.codebooks)
            for method, changes in overrides.items():
                refer(f"{place}.codebook_overrides.{codebook}", method, known)
                if "batch" in changes.model_fields_set:
                    raise LookalikeError(
                        f"config: {place}.codebook_overrides.{codebook}.{method} sets `batch`, which is the same for "
                        f"all codebooks: set it under {place}.overrides"
                    )
        for method, codebook in product(self.named_methods(), ("", *self.codebooks)):
            spec, named = self.spec(method, codebook), f"config: {place} names {method!r}"
            refer(f"methods.{method}.learner", spec.learner, MODULES)
            if spec.learner not in DIAGONAL:
                raise LookalikeError(
                    f"{named}, whose learner {spec.learner} has no diagonal metric: name methods of "
                    f"{', '.join(DIAGONAL)}"
                )
            if spec.trace:
                raise LookalikeError(
                    f"{named}, which has a `trace`, and the landmark study stops no learner early: take `trace` out, "
                    "or give the study a method of its own without it"
                )
            if spec.select and self.learning.positives < LEAST_TO_CHOOSE:
                raise LookalikeError(
                    f"config: {place}.learning.positives must be at least {LEAST_TO_CHOOSE}: {method!r} has a "
                    "`select`, which holds out half of them"
                )

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study that runs its methods with the codebooks of the sizes that these exhibits ask for."""
        asked = {value for exhibit in exhibits for value in exhibit.parts.values()}
        codebooks = [id for name, id in self.codebook_ids.items() if name in asked]
        return self.with_settings(codebooks=codebooks or self.codebooks[:1])

    def section(self) -> dict[str, object]:
        """Return its own keys on which a number or an exhibit depends, with the landmarks by name."""
        return {**super().section(), "landmarks": self.landmark_names or self.landmarks}

    def shared(self) -> dict[str, object]:
        """Return what contrasts and exhibits read of other sections: methods and codebooks, too."""
        return {**super().shared(), "codebooks": {id: self._shared.codebooks[id] for id in self.codebooks}}

    @property
    def located(self) -> Mapping[str, object]:
        """Return where its images and ground truth are, or come from."""
        return dict(plain(self.data_set, include={"kind", "path", "ground_truth", "fetch"}))

    def keypoints_of(self, fitted: Sequence[str], keypoints: str, **names: str) -> SiftSettings:
        """Return what decides the keypoints of an id."""
        return self._shared.keypoints[keypoints]

    def codebook_of(self, fitted: Sequence[str], representation: str, **names: str) -> CodebookTraining:
        """Return what decides a codebook; its title does not."""
        return only(CodebookTraining, self._shared.codebooks[representation])

    def specs(self, fitted: Sequence[str], representation: str, **names: str) -> dict[str, Fit]:
        """Return what decides the fits of some methods with a codebook; by default of those whose lead is measured."""
        return {method: fit_of(self.spec(method, representation)) for method in fitted or self.lead_methods}

    def spec(self, method: str, codebook: str = "") -> Method:
        """Return a method as the study changes it, with a codebook."""
        spec = self.changed(method, self.codebook_overrides.get(codebook, {}))
        words = self._shared.codebooks[codebook].words if codebook else 0
        if spec.learner == "QPAO" and words and "n_blocks" not in spec.parameters:
            n_blocks = 50 if words <= 100_000 else 500  # as in the SOML paper (AAAI 2014)
            return spec.model_copy(update={"parameters": {**spec.parameters, "n_blocks": n_blocks}})
        return spec

    def named_methods(self) -> list[str]:
        """Return the methods that exhibits name."""
        return list(dict.fromkeys([*self.methods, *self.lead_methods]))

    @property
    def lead_methods(self) -> list[str]:
        """Return the methods whose lead is measured, with printed and with chosen constants."""
        return [] if self.lead is None else [*CHOSEN, *CHOSEN.values()]

    def lead_setting(self, fitted: Sequence[str], representation: str, **names: str) -> str:
        """Name words and features of a codebook as rows of results do: ``words=10000;features=400``."""
        given = self._shared.codebooks[representation]
        n_max = self._shared.keypoints[given.keypoints].n_max if given.keypoints else 0
        return f"words={given.words};features={n_max or 'all'}"

    def lead_files(self) -> list[str]:
        """Return the rows of results of every codebook of the lead."""
        codebooks = self.lead.codebooks if self.lead is not None else ()
        return [f"{self.folder}/landmark/lead/{codebook}.parquet" for codebook in codebooks]

    def _painted_names(self) -> list[str]:
        return recipe_of(self._shared, self.dataset).names()

    @property
    def draws_queries(self) -> bool:
        """Tell whether its landmarks are folders, whose queries are drawn, and not those of ground-truth files."""
        return isinstance(self.data_set, LandmarkFolders) and not self.data_set.ground_truth

    @property
    def landmark_names(self) -> list[str]:
        """The landmarks that are learned; where a user's ground truth is away, those of the results."""
        if isinstance(self.landmarks, list):
            return self.landmarks
        if self.data_set.kind == "synthetic_landmarks":
            return self._painted_names()
        data, learned = self.data_set, Path(self.folder, "learning_images.parquet")
        if isinstance(data, LandmarkFolders):
            if data.ground_truth is None:
                if folders := (folders_in if self.has_pictures else labels_in)(str(data.path)):
                    return list(name_landmarks(folders, data.distractors))
            elif Path(data.ground_truth).is_dir():
                return _landmarks_with(data.ground_truth, self.learning.positives)
        return sorted(set(read_table(learned)["landmark"])) if learned.is_file() else []

    def listing(self, key: str) -> str:
        """Return the fingerprint of a user's ``path`` or ``ground_truth``; of one that is away, that of its results."""
        if self.data_set.kind != "landmarks":
            return ""
        folder, recorded = str(getattr(self.data_set, key)), Path(self.folder, f"{key}_listing.txt")
        if recorded.is_file() and not Path(folder).is_dir():
            return recorded.read_text().strip()
        return listing_fingerprint(folder)

    @property
    def wants_words(self) -> bool:
        """Tell whether it uses the words that the benchmark publishes."""
        return any(self._shared.codebooks[codebook].published for codebook in self.codebooks)

    def keypoint_shard(self, codebook: str, shard: str) -> str:
        """Return the shard of keypoints that a shard of words is of."""
        return f"{self.folder}/keypoints/{self._shared.codebooks[codebook].keypoints}/keypoints-{shard}.npz"

    def keypoint_shards(self, codebook: str) -> list[str]:
        """Return every shard of the keypoints that a codebook is learned from."""
        return [self.keypoint_shard(codebook, shard) for shard in self.shards()]

    def word_shards(self, codebook: str) -> list[str]:
        """Return every shard of the words of a codebook."""
        return [f"{self.folder}/features/{codebook}/words-{shard}.npz" for shard in self.shards()]

    def batches(self) -> list[Batch]:
        """Return every batch, one rule each; a fold is a landmark, and a subset all landmarks with a codebook."""
        batches = []
        for size, part in {"fold": "{subset}/{method}", "method": "{method}", "subset": "all"}.items():
            if methods := self.methods_in(size, self.methods):
                # one job makes all methods of a subset, or a wildcard names its method
                allowed, listed = ({}, {"method": methods}) if size == "subset" else ({"method": methods}, {})
                landmarks = ["{subset}"] if size == "fold" else self.landmark_names
                files = run_files(
                    self.dataset, subset=landmarks, **listed, fold=range(self.learning.draws), file=RUN_FILES
                )
                log = f"logs/{self.dataset}/run/{{representation}}/{part}.log"
                batches.append(Batch(size, log, files, allowed, methods))
        return batches

    def runs(self, file: str, **chosen: Iterable[str]) -> list[str]:
        """Return one file of every run, or of the `representation` and `method` that are given."""
        parts = {"representation": self.codebooks, "method": self.methods, **chosen}
        draws = range(self.learning.draws)
        return run_files(self.dataset, subset=self.landmark_names, fold=draws, file=[file], **parts)

    def compared_methods(self) -> tuple[str, str] | None:
        """Return what the montage shows: TF-IDF, and S-DA or else the last that learns; None without two, or images."""
        learned = [method for method in self.methods if method != BEFORE]
        if BEFORE not in self.methods or not learned or not self.has_pictures:
            return None
        return BEFORE, AFTER if AFTER in learned else learned[-1]

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        if (pair := self.compared_methods()) is None:
            return super().planned_files()
        files = {name: f"{self.folder}/{name}.parquet" for name in ("queries", "relevance")}
        ranks = self.runs("ranks.npz", representation=self.codebooks[-1:], method=pair)
        return {**super().planned_files(), **files, "images": f"{self.folder}/images.json", "ranks": ranks}

    @cached_property
    def codebook_ids(self) -> dict[str, str]:
        """Name of a codebook in settings, such as ``10k``, to its id, from small to large."""
        return {codebook_name(self._shared.codebooks[id].words): id for id in self.codebooks}

    def words_of(self, codebook: str) -> str:
        """Name the words of a codebook as captions do: ``10,000 words``."""
        given = self._shared.codebooks[self.codebook_ids[codebook]]
        return f"{given.title or f'{given.words:,}'} words"

    def titles_of(self, column: str) -> Mapping[str, str]:
        """Return the values of a column of results with their titles, in the order of tables."""
        match column:
            case "codebook":
                return {name: self.words_of(name) for name in self.codebook_ids}
            case "landmark":
                return {name: landmark_title(name) for name in self.landmark_names} | {MEAN: MEAN}
        return {method: self.title_of(method) for method in self.methods}

    def title_of(self, method: str) -> str:
        """Name a method; QPAO, whose own paper is not at hand, has one that says so."""
        title = super().title_of(method)
        return f"{title} (reconstructed)" if method == RECONSTRUCTED else title

    def setting_title(self, setting: str) -> str:
        """Name a codebook, or what the paper prints: ``10,000 words`` of ``codebook=10k``."""
        name = setting.removeprefix("codebook=")
        printed = {"10k": "10,000 words", "100k": "100,000 words", "1m": "1,000,000 words"}
        return self.words_of(name) if name in self.codebook_ids else printed.get(name, setting)

    @cached_property
    def printed_numbers(self) -> pd.DataFrame:
        """The paper's numbers, by our names, with a column for each part of their setting."""
        rows = self.printed[(self.printed["paper"] == PAPER) & self.printed["value"].notna()]
        return with_parts(rows.assign(method=rows["method"].replace(PRINTED_METHOD)))

    def printed_results(self) -> pd.DataFrame:
        """Return the paper's numbers of the exhibit at hand; of other landmarks than its own, means alone."""
        name = self.exhibit.name if self.exhibit is not None else "text"
        rows = self.printed_numbers[self.printed_numbers["exhibit"] == name]
        if self.data_set.kind == "oxford5k" or "landmark" not in rows or rows["landmark"].isna().all():
            return rows
        # the paper prints no mean of sparsity and time
        means = rows.groupby(["codebook", "method", "metric"])["value"].mean().reset_index()
        given = rows[rows["landmark"] == MEAN]
        return given if len(given) else means.assign(landmark=MEAN, spread=float("nan"))

    def follows_protocol(self) -> bool:
        """Tell whether metrics are learned from as many images as in the paper, for which its constants were set."""
        return not self._other_sizes()

    def _other_sizes(self) -> list[str]:
        """Say which numbers of images to learn from are not the paper's."""
        sizes = {name: getattr(self.learning, name) for name in PAPER_LEARNING}
        return [f"{sizes[name]} {name}, the paper {n}" for name, n in PAPER_LEARNING.items() if sizes[name] != n]

    @cached_property
    def limits(self) -> Limits:
        """Limits that ended its fits, by codebook; means over landmarks are no fits."""
        return Limits(self.results, lambda name: "" if name.endswith(f"={MEAN}") else name.partition(";")[0])

    def limits_of(self, setting: str, method: str) -> Iterable[str]:
        """Return why a method has no number with a codebook, and the limits of ours that ended many of its fits."""
        return self.limits.codes(setting, method)

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether the study runs a method; what is no method counts as run."""
        return method in self.methods or method not in (*ABOUT_METHODS, *self.named_methods())

    @property
    def size(self) -> str:
        """Landmarks, and all images that are ranked or learned from."""
        n_landmarks = len(self.landmark_names)
        return f"{len(self.table('manifest')):,} images, {n_landmarks} landmarks" if self.has("manifest") else ""

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Say which data, how many landmarks and samples, and what ± is."""
        n_landmarks, n_draws = len(self.landmark_names), self.learning.draws
        origin = " (images made by code)" if self.synthetic else ""
        counted = f"{n_landmarks} landmark{'s' * (n_landmarks != 1)}"
        data = f"Data: {self.title}{origin}" + ("" if self.title.startswith(counted) else f", {counted}")
        if drawn is None or drawn.entries:
            return f"{data}."
        if n_draws == 1:
            return f"{data}, one sample."
        has_spread = drawn.canvas is None and "landmark" in drawn.frame and "low" not in drawn.frame
        return f"{data}; {'± standard deviation' if has_spread else 'means'} over {n_draws} samples."

    def notes(self, drawn: Drawn) -> list[str]:
        """Say what methods are and learn from, and which limits ended a fit."""
        there = set(drawn.frame.get("method", ()))
        methods = {method: self.title_of(method) for method in self.methods if method in there}
        codebooks = {f"codebook={name}": self.words_of(name) for name in drawn.frame.get("codebook", ())}
        about = self._about([method for method in methods if method != RECONSTRUCTED])
        return [*about, LEARNED_FROM.format(**dict(self.learning)), *self.limits.notes(methods, codebooks)]

    def differences(self, drawn: Drawn) -> list[str]:
        """Say how images, constants and QPAO differ from the paper's."""
        data = self._other_data(drawn.frame.get("codebook", ())) if self.paper == PAPER else []
        is_there = RECONSTRUCTED in self.methods and RECONSTRUCTED in set(drawn.frame.get("method", ()))
        return data + self._about([RECONSTRUCTED] * is_there)

    def _about(self, methods: Sequence[str]) -> list[str]:
        """Say what methods are, and what the settings say of them."""
        said = ((method, note) for method in methods for note in (ABOUT_METHODS.get(method), self.spec(method).note))
        return [f"{self.title_of(method)}: {note.rstrip('.')}." for method, note in said if note]

    def _other_data(self, codebooks: Iterable[str]) -> list[str]:
        """Say how images, their numbers and descriptors differ from the paper's."""
        if self.data_set.kind != "oxford5k":
            what = "Landmarks made by code" if self.synthetic else "Other landmarks"
            return [f"{what}. The paper's row is the mean over its {len(LANDMARKS)} landmarks of Oxford."]
        others = sorted(self.landmark_names) != sorted(LANDMARKS)
        found = ["These are other landmarks than the paper's."] if others else []
        if sizes := self._other_sizes():
            found.append(f"A metric is learned from {'; '.join(sizes)}.")
        root = [name for name in codebooks if self._shared.codebooks[self.codebook_ids[name]].root]
        return found + ["Descriptors are RootSIFT, the paper's SIFT."] * bool(root)


def landmark_title(landmark: str) -> str:
    """Return ``All Souls`` of ``all_souls``."""
    return capwords(landmark.replace("_", " "))


STUDY = LandmarkStudy
