"""The section of the landmark study: which runs its settings ask for, and what jobs read and write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.core.settings.data_sets import LANDMARK_KINDS, VISTERM_KINDS
from lookalike.core.settings.methods import Changes, Method, qpao_blocks
from lookalike.core.settings.model import ABSENT, Absent, Distinct, names_or, only, plain
from lookalike.core.settings.schema import Codebook, CodebookTraining
from lookalike.core.settings.sentences import refer, refer_kind, refer_once
from lookalike.data.ground_truth import OXFORD_LANDMARKS, folders_in, landmarks_with, name_landmarks, painted_truth
from lookalike.data.locate import listing_fingerprint
from lookalike.data.visterm_folder import labels_in
from lookalike.exhibits.registry import Exhibit
from lookalike.exhibits.study import Files
from lookalike.learners.registry import MODULES
from lookalike.studies.batches import SIZES, Batch, run_files
from lookalike.studies.landmark.results import codebook_name
from lookalike.studies.landmark.settings import CHOSEN, Lead, LearningImages
from lookalike.studies.method_study import MethodStudy, fit_of

RUN_FILES = ("model.lookalike", "fit.json", "metrics.parquet", "ranks.npz")
DIAGONAL = ("TFIDF", "QPAO", "DiagonalOASIS", "SOMLTG", "SOMLDA")
"""Learners of a diagonal metric: the only ones that a codebook of the landmark study leaves room for."""
BEFORE, AFTER = "tfidf", "soml-da"
"""Methods whose first results the montage shows."""
LEAST_TO_CHOOSE = 4
"""Positives that leave two to learn from, and two to find each other, where constants are chosen."""
Landmarks = Annotated[str | list[str], names_or("all", 1, "`all` or a list of different landmarks")]

# a plan asks many times, and the lists of a large data set are read for seconds
_landmarks_with = cache(landmarks_with)


class LandmarkSection(MethodStudy):
    """The section of the landmark study: what its jobs read and write."""

    room: ClassVar = "landmark"
    contrasted: ClassVar = ("results",)

    codebooks: Distinct[str] = Field(min_length=1, max_length=3)
    """Ids of the codebooks, from small to large. One of 10,000 words fills Tables 1, 4 and 7 of the paper, one of
    100,000 words 2, 5 and 8, one of a million 3, 6 and 9. Published counts have one codebook, of a word a column."""
    methods: Distinct[str] = Field(min_length=1, description="Ids of the methods to run, in the order of the exhibits.")
    landmarks: Landmarks = "all"
    """The landmarks to learn; one with too few images is an error. `all`: every folder of photographs, or the landmarks
    of the ground-truth files that have enough images; `oxford5k` must list them."""
    learning: LearningImages = LearningImages()
    lead: Absent[Lead] = ABSENT
    codebook_overrides: dict[str, dict[str, Changes]] = Field({})
    """Further changes for one codebook, by codebook id and method id; those for a codebook that the study does not use
    are ignored."""

    _landmarks: list[str] | None = None
    _places: Collection[object] = (0, 1, 2)

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
        twins = [codebook for codebook in self.codebooks if sizes.count(known[codebook].words) > 1]
        if twins:
            raise LookalikeError(
                f"config: {place} names {' and '.join(twins[:2])}, which have {known[twins[0]].words:,} words each: "
                "name only one of a size"
            )
        if sizes != sorted(sizes):
            raise LookalikeError(f"config: {place} must go from small to large, not {sizes} words")

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
            spec = self.spec(method, codebook)
            _check_method(place, method, spec)
            if spec.select and self.learning.positives < LEAST_TO_CHOOSE:
                raise LookalikeError(
                    f"config: {place}.learning.positives must be at least {LEAST_TO_CHOOSE}: {method!r} has a "
                    "`select`, which holds out half of them"
                )

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study that runs its methods with the codebooks of the sizes that these exhibits ask for."""
        study = self.anew()
        asked = {value for exhibit in exhibits for value in exhibit.asks}
        names = [codebook_name(self.codebook_words(id)) for id in self.codebooks]
        study._places = {place for place, name in enumerate(names) if name in asked} or {0}
        return study

    def reads(self, job: str, fitted: Sequence[str] = (), **names: str) -> Mapping[str, object]:
        """Return what a job of a rule reads of the settings."""
        from lookalike.studies.recipes import reads_of_drawing

        data, id, seed = self.data_set, names.get("representation", ""), {"seed": self.seed}
        if job in ("train_words", "assign_words", "read_published_words", "count_words"):
            return self._reads_of_words(job, self._shared.codebooks[id])
        match job:
            case "draw_images":
                return reads_of_drawing(self._shared, self.dataset)
            case "locate_images":
                located = plain(data, include={"kind", "path", "ground_truth", "fetch"})
                return {"data": located, "drawn": self.drawn_folders(), "wants_words": self.wants_words()}
            case "extract_keypoints":
                return {"keypoints": self._shared.keypoints[names["keypoints"]], "n_shards": data.shards}
            case "gather_results":
                words = {id: self.codebook_words(id) for id in self.codebooks}
                return {"codebooks": words, "landmarks": self.named_landmarks()}
            case "measure_lead" if self.lead is not None:
                specs = {method: fit_of(self.spec(method, id)) for method in self.lead_methods()}
                own = {"setting": self.lead_setting(id), "chosen_draws": self.lead.chosen_draws}
                shared = {"landmarks": self.named_landmarks(), "passes": self.learning.passes, **seed}
                return {"specs": specs, **own, **shared}
            case "run":
                shared = {"landmarks": self.named_landmarks(), "passes": self.learning.passes, **seed}
                return {"specs": {method: fit_of(self.spec(method, id)) for method in fitted}, **shared}
            case "draw_queries":
                own = {"landmarks": self.named_landmarks(), "distractors": data.distractors, "n_queries": data.queries}
                return {**own, **seed}
            case "draw_learning_images":
                return {"landmarks": self.named_landmarks(), "learning": self.learning, **seed}
        return {**super().reads(job, fitted, **names), "landmarks": self.named_landmarks()}

    def _reads_of_words(self, job: str, codebook: Codebook) -> Mapping[str, object]:
        """Return what a job on the words of one codebook reads."""
        match job:
            case "train_words":
                return {"codebook": only(CodebookTraining, codebook), "seed": self.seed}
            case "assign_words":
                return {"root": codebook.root}
            case "read_published_words":
                return {"words": codebook.words, "n_shards": self.data_set.shards}
        return {"words": codebook.words}

    def shared(self) -> dict[str, Any]:
        """Return what contrasts and exhibits read of other sections: methods and codebooks, too."""
        return {**super().shared(), "codebooks": {id: self._shared.codebooks[id] for id in self.codebooks}}

    @classmethod
    def given(cls, dataset: str, settings: Mapping[str, Any]) -> Self:
        """Return the study from the parameters that a job for contrasts or exhibits is given."""
        study = super().given(dataset, settings)
        study._landmarks = list(settings["landmarks"])
        return study

    def spec(self, method: str, codebook: str = "") -> Method:
        """Return a method as the study changes it, with a codebook."""
        spec = self.changed(method, self.codebook_overrides.get(codebook, {}))
        words = self._shared.codebooks[codebook].words if codebook else 0
        if spec.learner == "QPAO" and words and "n_blocks" not in spec.parameters:
            return spec.model_copy(update={"parameters": {**spec.parameters, "n_blocks": qpao_blocks(words)}})
        return spec

    def named_methods(self) -> list[str]:
        """Return the methods that exhibits name."""
        return list(dict.fromkeys([*self.methods, *self.lead_methods()]))

    def lead_methods(self) -> list[str]:
        """Return the methods whose lead is measured, with printed and with chosen constants."""
        return [] if self.lead is None else [*CHOSEN, *CHOSEN.values()]

    def lead_setting(self, codebook: str) -> str:
        """Name words and features of a codebook as rows of results do: ``words=10000;features=400``."""
        given = self._shared.codebooks[codebook]
        n_max = self._shared.keypoints[given.keypoints].n_max if given.keypoints else 0
        return f"words={given.words};features={n_max or 'all'}"

    def lead_files(self) -> list[str]:
        """Return the rows of results of every codebook of the lead."""
        codebooks = self.lead.codebooks if self.lead is not None else ()
        return [f"{self.folder}/landmark/lead/{codebook}.parquet" for codebook in codebooks]

    def drawn_folders(self) -> dict[str, str]:
        """Return the folders of images and ground truth that code makes; none where it does not."""
        from lookalike.studies.recipes import painted_folder

        if self.data_set.kind != "synthetic_landmarks":
            return {}
        root = painted_folder(self._shared, self.dataset)
        return {"root": root, "ground_truth": painted_truth(root).as_posix()}

    def _painted_names(self) -> list[str]:
        from lookalike.studies.recipes import recipe_of

        return recipe_of(self._shared, self.dataset).names()

    @property
    def draws_queries(self) -> bool:
        """Tell whether its landmarks are folders, whose queries are drawn, and not those of ground-truth files."""
        return self.data_set.kind in ("landmarks", *VISTERM_KINDS) and not self.data_set.ground_truth

    def named_landmarks(self) -> list[str]:
        """Return the landmarks that are learned; where a user's ground truth is away, those of the results."""
        if self._landmarks is not None:
            return self._landmarks
        if isinstance(self.landmarks, list):
            return self.landmarks
        if self.data_set.kind == "synthetic_landmarks":
            return self._painted_names()
        data, learned = self.data_set, Path(self.folder, "learning_images.parquet")
        folders = (folders_in if self.has_pictures else labels_in)(str(data.path)) if self.draws_queries else []
        if folders:
            return list(name_landmarks(folders, data.distractors))
        if data.ground_truth and Path(data.ground_truth).is_dir():
            return _landmarks_with(data.ground_truth, self.learning.positives)
        return sorted(set(read_table(learned)["landmark"])) if learned.is_file() else []

    def listing(self, key: str) -> str:
        """Return the fingerprint of a user's ``path`` or ``ground_truth``; of one that is away, that of its results."""
        folder, recorded = str(getattr(self.data_set, key)), Path(self.folder, f"{key}_listing.txt")
        if self.data_set.kind != "landmarks":
            return ""
        if recorded.is_file() and not Path(folder).is_dir():
            return recorded.read_text().strip()
        return listing_fingerprint(folder)

    def wants_words(self) -> bool:
        """Tell whether it uses the words that the benchmark publishes."""
        return any(self._shared.codebooks[codebook].published for codebook in self.codebooks)

    def codebook_words(self, codebook: str) -> int:
        """Return how many words a codebook has."""
        return self._shared.codebooks[codebook].words

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
        """Return every batch of runs, one rule each; a job makes all draws of what it learns."""
        sizes = {size: self.methods_in(size, self.methods) for size in SIZES}
        return [self._batch(size, methods) for size, methods in sizes.items() if methods]

    def _batch(self, size: str, methods: list[str]) -> Batch:
        """Return the jobs of a size; a fold is a landmark, and a subset all landmarks with a codebook."""
        landmarks = ["{subset}"] if size == "fold" else self.named_landmarks()
        own = {"method": methods} if size == "subset" else {}
        parts = {"fold": "{subset}/{method}", "method": "{method}", "subset": "all"}
        return Batch(
            name=size,
            log=f"logs/{{dataset}}/run/{{representation}}/{parts[size]}.log",
            files=run_files(subset=landmarks, fold=range(self.learning.draws), file=RUN_FILES, **own),
            allowed={"dataset": [self.dataset], **({} if size == "subset" else {"method": methods})},
            fitted=methods,
        )

    def runs(self, file: str, **chosen: Iterable[str]) -> list[str]:
        """Return one file of every run, or of the `representation` and `method` that are given."""
        codebooks = [codebook for place, codebook in enumerate(self.codebooks) if place in self._places]
        parts = {"representation": codebooks, "method": self.methods, **chosen}
        draws = range(self.learning.draws)
        return run_files(dataset=[self.dataset], subset=self.named_landmarks(), fold=draws, file=[file], **parts)

    def compared_methods(self) -> tuple[str, str] | None:
        """Return what the montage shows: TF-IDF, and S-DA or else the last that learns; None without two, or images."""
        learned = [method for method in self.methods if method != BEFORE]
        if BEFORE not in self.methods or not learned or not self.has_pictures:
            return None
        return BEFORE, AFTER if AFTER in learned else learned[-1]

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        pair = self.compared_methods()
        names = ("results", "times", "manifest", *(("queries", "relevance") if pair else ()))
        files: dict[str, str | list[str]] = {name: f"{self.folder}/{name}.parquet" for name in names}
        if pair:
            files["images"] = f"{self.folder}/images.json"
            files["ranks"] = self.runs("ranks.npz", representation=self.codebooks[-1:], method=pair)
        return {**files, **super().planned_files()}


def _check_method(place: str, method: str, spec: Method) -> None:
    """Refuse a method that the landmark study cannot run as it is set."""
    refer(f"methods.{method}.learner", spec.learner, MODULES)
    place = f"config: {place} names {method!r}"
    if spec.learner not in DIAGONAL:
        raise LookalikeError(
            f"{place}, whose learner {spec.learner} has no diagonal metric: name methods of {', '.join(DIAGONAL)}"
        )
    if spec.trace:
        raise LookalikeError(
            f"{place}, which has a `trace`, and the landmark study stops no learner early: take `trace` out, or give "
            "the study a method of its own without it"
        )
