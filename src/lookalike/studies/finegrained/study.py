"""The fine-grained study: its section of the settings, and what its rules, jobs and exhibits ask of it (CVPR 2014)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal, Self

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import TRIPLET_KINDS, ClassTriplets
from lookalike.core.settings.model import plain, refer_kind
from lookalike.core.settings.networks import HeldOutImages, Network, Sampler, Sampling
from lookalike.data.release_files import has_training_images, relevance_file
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import SEEDS, TRAINING, Contrast
from lookalike.exhibits.model import Drawn
from lookalike.exhibits.registry import Exhibit
from lookalike.exhibits.results import rows_in, select, with_parts
from lookalike.exhibits.study import Files, Study
from lookalike.studies.batches import Batch, batch_of_fits
from lookalike.studies.finegrained import settings as sections
from lookalike.studies.finegrained.results import COUNTED, FINISHED
from lookalike.studies.finegrained.systems import (
    ALL,
    BY_CLASS,
    COMPARED,
    CONVNET,
    DEEP,
    EMBEDDED,
    EMBEDDING_ON_TOP,
    FEATURES,
    GOLDEN,
    IN_ORDER,
    OASIS,
    OASIS_ON_TOP,
    PER_TRIPLET,
    PRECISION,
    REAL,
    SCORE,
    SINGLE,
    SYNTHETIC,
    UNIFORM_SYSTEM,
    WEIGHTED,
    is_learned,
    is_network,
    ordered_systems,
    sampled_share,
    system_and_seed,
    system_title,
    training_name,
)

MEASURED = ("distances.npy", "fit.json")
FEATURE_FILES = ("vectors.npy", *MEASURED)
NETWORK_FILES = ("model.lookalike", "filters.npz", "vectors.npy", "curve.parquet", *MEASURED)
FILES = {
    **dict.fromkeys((*FEATURES, EMBEDDED), FEATURE_FILES),
    **dict.fromkeys((OASIS, GOLDEN, OASIS_ON_TOP), MEASURED),
    EMBEDDING_ON_TOP: ("curve.parquet", *FEATURE_FILES),
}
"""System to what is written of it, where it is not a network with `NETWORK_FILES`."""
OF_NETWORKS = {
    "pretrain_network": {"checkpoint_seconds", "pretraining"},
    "train_networks": {"checkpoint_seconds", "ranking", "gap"},
    "train_linear_embedding": {"ranking", "gap", "linear_embedding"},
}
"""Job to what it reads of the networks' settings, besides what all do; how others are trained it does not."""
NOT_ASKED = "not run: ask for networks with the setting `network`, as examples/rated-networks.yaml does"
NO_TORCH = "not run: install torch with `.venv/bin/python -m pip install torch`, or `make demo` in the project's folder"
NO_TRAINING = "not run: put images to learn from into {}/training, in folders by category"
ROLES = ("largest share", "smallest share")
"""Names in claims.csv of networks by their share of out-of-class negatives."""
LEAST_SEEDS = 3
"""With fewer trainings of a network, nothing is decided about it."""
ABOUT = {
    EMBEDDED: "a short code of all hand-crafted features",
    OASIS: "learned from triplets on L1HashKPCA",
    GOLDEN: "a learned weighted sum of distances: of hand-crafted features, and of embeddings learned from categories",
    CONVNET: "a network that learned to classify images, and not to rank them",
    SINGLE: "the ConvNet, learning on from triplets",
    DEEP: "a multiscale network, which sees an image at three sizes and learns from triplets",
}
ORIGINS = {
    SYNTHETIC: ("images and ratings made by code", "Synthetic images and ratings"),
    BY_CLASS: ("photographs, whose triplets a machine rated", "Triplets rated by machine"),
}
"""Kind of data to where it comes from, and to what its pictures say of that in a corner."""


class FinegrainedStudy(Study):
    """The fine-grained study (Deep Ranking, CVPR 2014) on one data set."""

    room: ClassVar = "finegrained"
    tables: ClassVar = ("results", "manifest", "triplets", "pairs", "outcomes")
    data_keys: ClassVar = {*Study.data_keys, "path", "synthetic_triplets"}
    contrasted: ClassVar = ("results", "outcomes", "triplets", "pairs", "manifest", "filters")
    without_effect: ClassVar = {"batch": True, "network": {"threads", "checkpoint_seconds"}}
    jobs: ClassVar = {
        "paint_images": "kind=data_set.kind painted=data_set.synthetic_triplets folder=images_folder"
        " seed=painting_seed",
        "read_triplets": "kind=data_set.kind class_triplets ratings=golden.ratings"
        " folder=images_folder seed=painting_seed",
        "describe_images": "features=described images_folder seed",
        "learn_on_features": "golden l1hashkpca oasis sampling seed",
        "learn_oasis_on_network": "oasis sampling seed",
        "pretrain_network": "network=networks sampling images_folder seed",
        "train_networks": "network=networks samplings seed",
        "train_linear_embedding": "network=networks sampling seed",
        "score_triplets": "k=score.k",
    }

    batch: Literal["method", "subset"] = "method"
    """`method`: a job for every hand-crafted feature and every network; `subset`: one for all features, and one for
    each seed of the networks trained by the ranking loss."""
    features: sections.Features = sections.Features()
    score: sections.Score = sections.Score()
    sampler: Sampler = Sampler()
    golden: sections.GoldenFeature = sections.GoldenFeature()
    l1hashkpca: sections.L1HashKPCA = sections.L1HashKPCA()
    oasis: sections.EmbeddingOasis = sections.EmbeddingOasis()
    validation: HeldOutImages = HeldOutImages()
    network: sections.Networks | None = None
    """The networks; without this section none is trained. `{}` trains them with all defaults."""
    sampling_study: sections.SamplingStudy | None = None

    _has_conda: bool = False

    def check(self) -> None:
        """Refuse settings that name what does not exist."""
        from lookalike.studies.finegrained.description import describer_of

        place = f"finegrained.{self.dataset}"
        refer_kind(place, self.data_set.kind, TRIPLET_KINDS, "triplets")
        for system, parameters in ((name, own) for name in FEATURES for own in self.features.given(name)):
            try:
                describer_of(system, parameters)
            except (LookalikeError, ValueError, TypeError) as error:
                raise LookalikeError(f"config: {place}.features.{system}: {error}") from error
        shares = [self.sampler.out_of_class, *(self.sampling_study.out_of_class if self.sampling_study else [])]
        if fractions := [share for share in shares if abs(100 * share - round(100 * share)) > 1e-6]:
            # the share is a part of file names
            whole = "a share of out-of-class negatives is a whole percent, such as 0.2"
            raise LookalikeError(f"config: {place}: {whole}, not {fractions[0]}")

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study without the sampling study, unless it is shown."""
        return self.with_settings(sampling_study=self.sampling_study if "sampling_study" in roles else None)

    def reads(self, job: str, fitted: Sequence[str] = (), **names: str) -> Mapping[str, object]:
        """Return what a job reads of the settings: of networks, what their own training does."""
        read = dict(super().reads(job, fitted, **names))
        if job in OF_NETWORKS:
            own = plain(self.networks, include={*Network.model_fields, *OF_NETWORKS[job]})
            read["network"] = {**own, "validation": self.validation}
        return read

    def deployed(self, *, conda: bool) -> None:
        """Note whether jobs run in conda environments, which have torch."""
        self._has_conda = conda
        vars(self).pop("has_torch", None)

    @property
    def was_measured(self) -> set[str]:
        """Systems that were measured, whose results stay when what they were made from is away."""
        return {file.parent.name for file in Path(self.folder, "systems").glob("*/distances.npy")}

    @cached_property
    def has_training(self) -> bool:
        """Tell whether there are images to learn from."""
        is_given = self.data_set.kind != REAL or has_training_images(Path(self.images_folder))
        return is_given or OASIS in self.was_measured

    @cached_property
    def has_torch(self) -> bool:
        """Tell whether networks can be trained, or were."""
        return self._has_conda or find_spec("torch") is not None or DEEP in self.was_measured

    @cached_property
    def is_graded(self) -> bool:
        """Tell whether relevance within a category has grades; without, all negatives are of other categories."""
        is_graded = bool(self.golden.ratings) or self.data_set.kind != REAL or UNIFORM_SYSTEM in self.was_measured
        return is_graded or relevance_file(Path(self.images_folder)) is not None

    # Runs -------------------------------------------------------------------------------------------------------------

    @property
    def class_triplets(self) -> ClassTriplets:
        """How triplets are drawn from class folders, where they are."""
        return getattr(self.data_set, "class_triplets", ClassTriplets())

    @cached_property
    def images_folder(self) -> str:
        """Folder that the paths of the manifest start from; other settings paint into another one."""
        is_painted = self.data_set.kind == SYNTHETIC
        return self.painted_folder if is_painted else str(self.data_set.path)

    @property
    def networks(self) -> sections.Networks:
        """Settings of the networks, the defaults where none is asked for."""
        return self.network or sections.Networks()

    @property
    def seeds(self) -> range:
        """Numbers of the seeds that networks are trained with."""
        return range(1, self.networks.seeds + 1)

    def described(self, fitted: Sequence[str], **names: str) -> dict[str, object]:
        """Return hand-crafted features with the settings that each chooses from."""
        return {system: self.features.given(system) for system in fitted}

    @property
    def has_networks(self) -> bool:
        """Tell whether networks are trained to rank."""
        return DEEP in self.systems()

    def samples_shares(self) -> bool:
        """Tell whether Figure 6 has several networks to show, and seeds enough to show what is chance."""
        return self.has_networks and bool(self.sampled_networks()) and len(self.seeds) > 1

    def sampled_networks(self) -> dict[str, tuple[float, bool]]:
        """Return networks of the sampling study that no table shows: share of out-of-class negatives, weighted."""
        if self.sampling_study is None or not self.is_graded:
            return {}
        shares = [share for share in self.sampling_study.out_of_class if share != self.sampler.out_of_class]
        weighted = {f"multiscale-weighted-{round(100 * share):03d}": (share, True) for share in shares}
        return weighted | {UNIFORM_SYSTEM: (0.0, False)}

    @property
    def sampling(self) -> Sampling:
        """How triplets are sampled, but for the networks of the sampling study."""
        return self.sampling_of("")

    def sampling_of(self, system: str) -> Sampling:
        """Return how the triplets of a system are sampled."""
        share, weighted = self.sampled_networks().get(system, (self.sampler.out_of_class, True))
        share = share if self.is_graded else 1.0
        return Sampling(**{**plain(self.sampler), "out_of_class": share, "weighted": weighted})

    def samplings(self, fitted: Sequence[str], **names: str) -> dict[str, Sampling]:
        """Return how the triplets of some trainings are sampled."""
        return {name: self.sampling_of(system_and_seed(name)[0]) for name in fitted}

    @property
    def chosen_percent(self) -> int:
        """Share of out-of-class negatives that networks of the tables are trained with."""
        return round(100 * self.sampling.out_of_class)

    def ranking_networks(self) -> list[str]:
        """Return the networks that are trained by the ranking loss."""
        return [SINGLE, DEEP, *self.sampled_networks()]

    def systems(self) -> list[str]:
        """Return every system that is run, in the order of the tables."""
        if not self.has_training:
            return [*FEATURES, *([EMBEDDED, GOLDEN] if self.golden.ratings else [])]
        has_networks = self.network is not None and self.has_torch
        networks = [CONVNET, *self.ranking_networks(), OASIS_ON_TOP, EMBEDDING_ON_TOP] if has_networks else []
        return [*FEATURES, EMBEDDED, OASIS, GOLDEN, *networks]

    def feature_batch(self) -> Batch:
        """Return the jobs that describe the images by hand-crafted features."""
        return self._batch("describe_images", FEATURES, FEATURE_FILES)

    def network_batches(self) -> list[Batch]:
        """Return the jobs that train networks by the ranking loss: with `method` one each, else one for each seed."""
        groups = [[seed] for seed in self.seeds] if self.batch == "subset" else [self.seeds]
        parts = [[training_name(name, seed) for seed in seeds for name in self.ranking_networks()] for seeds in groups]
        return [self._batch(f"train_networks_{n}", names, NETWORK_FILES) for n, names in enumerate(parts, start=1)]

    def _batch(self, name: str, fits: Sequence[str], files: Sequence[str]) -> Batch:
        paths = [f"systems/{{}}/{file}" for file in files]
        return batch_of_fits(self.dataset, self.batch, name, "{system}", fits, paths)

    def trainings(self, system: str) -> list[str]:
        """Return the folders of a system: one for each seed where it is a network, or learns from one."""
        return [training_name(system, seed) for seed in self.seeds] if is_network(system) else [system]

    def files_of(self, *systems: str, file: str = "", dataset: str = "") -> list[str]:
        """Return the files of systems, by default all, with all their seeds, or one where they have it."""
        return [
            f"results/{dataset or self.dataset}/systems/{training}/{own}"
            for system in systems or self.systems()
            for own in FILES.get(system, NETWORK_FILES)
            for training in self.trainings(system)
            if file in ("", own)
        ]

    def learned_files(self) -> list[str]:
        """Return the files of what is learned on features, of any data set; relevance too where one makes that."""
        systems = [EMBEDDED, GOLDEN, *([OASIS] if self.has_training else [])]
        own = [f"results/{{dataset}}/systems/{GOLDEN}/relevance.npz"] if self.makes_relevance else []
        return self.files_of(*systems, dataset="{dataset}") + own

    @property
    def makes_relevance(self) -> bool:
        """Tell whether the golden feature makes the relevance that other systems learn from."""
        return bool(self.golden.ratings) and self.has_training

    def relevance_path(self) -> str:
        """Return the relevance that networks and OASIS learn from."""
        return f"{self.folder}/{f'systems/{GOLDEN}/' if self.makes_relevance else ''}relevance.npz"

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        files = {**super().planned_files(), "relevance": self.relevance_path()}
        if not self.has_networks:
            return files
        distances, filters = self.files_of(*COMPARED, file="distances.npy"), self.files_of(DEEP, file="filters.npz")
        return {**files, "distances": distances, "filters": filters}

    # Numbers ----------------------------------------------------------------------------------------------------------

    @cached_property
    def n_seeds(self) -> Mapping[str, int]:
        """Each system that has a number, to how many trainings it has."""
        if not self.has("results"):
            return {}
        counts = select(self.results, metric=PRECISION, setting=ALL)["method"].value_counts()
        return {str(system): int(n) for system, n in counts.items()}

    @property
    def measured(self) -> set[str]:
        """Systems that have a number."""
        return set(self.n_seeds)

    @cached_property
    def unfinished(self) -> set[str]:
        """Networks of which a training took all its steps while held-out images still improved."""
        ends = select(self.results, metric=FINISHED)
        return set(ends.loc[ends["value"] == 0, "method"])

    def limits_of(self, system: str) -> list[str]:
        """Return what keeps the numbers of a network from deciding: too few seeds, or a training that was cut short."""
        if not is_network(system):
            return []
        limits = [SEEDS] if self.n_seeds.get(system, 1) < LEAST_SEEDS else []
        # what learns on top of a network is no further than that
        learned = [SINGLE] if system in (OASIS_ON_TOP, EMBEDDING_ON_TOP) else []
        return limits + ([TRAINING] if self.unfinished & {system, *learned} else [])

    def level(self, system: str, metric: str) -> Contrast:
        """Return a number of a system with its interval; one without a number where it was not measured."""
        rows = self.contrasts.intervals(ALL, metric, system) if self.has("contrasts") else []
        return rows[0] if rows else Contrast(ALL, metric, system, "")

    def counted(self, metric: str) -> int:
        """Return how many triplets or query images were measured, or the median size of their pools; 0 without."""
        rows = select(self.results, metric=metric, setting=ALL) if self.has("results") else pd.DataFrame()
        return int(rows["value"].iloc[0]) if len(rows) else 0

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether a system was measured, or at least could be; networks of other shares are asked for by name."""
        is_left_out = sampled_share(method) is not None and method not in self.systems()
        return method in self.measured or not (self.why_not_run(method) or is_left_out)

    def why_not_run(self, system: str) -> str:
        """``not run: do X`` for one system of which there is no number; "" where it could be run."""
        if self.not_run or system in self.systems():
            return self.not_run
        if is_network(system) and (self.network is None or not self.has_torch):
            return NOT_ASKED if self.network is None else NO_TORCH
        is_lacking = is_learned(system) and not self.has_training
        return NO_TRAINING.format(self.images_folder) if is_lacking else ""

    def measures(self, exhibit: Exhibit) -> bool:
        """Tell by its settings whether the study runs a system that an exhibit shows."""
        return any(map(self.was_run, self.methods_named(exhibit.shows)))

    def printed_results(self) -> pd.DataFrame:
        """Return the paper's numbers of the exhibit at hand, which are of all its triplets."""
        return with_parts(self.printed_in().assign(setting=ALL))

    def scope_of(self, claim: Claim) -> Scope:
        """Return the one part that it has: all triplets, of which some metrics count a kind."""
        return Scope([ALL])

    def role(self, name: str) -> list[str]:
        """Return the systems that a name in claims.csv stands for: networks by their share of negatives."""
        sampled = {system: sampled_share(system, self.chosen_percent) for system in self.measured}
        shares = sorted((share[1], system) for system, share in sampled.items() if share and share[0] == WEIGHTED)
        several = [system for _, system in shares] if len(shares) > 1 else []
        return dict(zip(ROLES, (several[-1:], several[:1]), strict=True)).get(name, [name])

    def follows_protocol(self) -> bool:
        """Tell whether the golden feature makes the relevance that networks learn from, as in the paper."""
        return bool(self.golden.ratings)

    @cached_property
    def images(self) -> dict[int, tuple[str, str]]:
        """Image id to its path below the study's folder and its category, "" where that is not known."""
        return {int(row.image_id): (str(row.path), str(row.label)) for row in rows_in(self.table("manifest"))}

    def path_of(self, image_id: int) -> Path:
        """Path of an image's file."""
        return Path(self.images_folder, self.images[image_id][0])

    # Words ------------------------------------------------------------------------------------------------------------

    @property
    def _origin(self) -> tuple[str, str]:
        return ORIGINS.get(self.data_set.kind, ("rated by people", ""))

    @property
    def corner(self) -> str:
        """Return what stands in the corner of a picture."""
        return self._origin[1]

    def title_of(self, method: str) -> str:
        """Name of a system as the paper prints it."""
        return "networks of several shares of out-of-class negatives" if method in ROLES else system_title(method)

    def titles_of(self, column: str) -> Mapping[str, str]:
        """Return the values of a column of results with their titles, in the order of tables."""
        if column == "triplets":
            return {"all": "all triplets"}
        if column == "metric":
            score = f"Score-{self.score.k}"
            return {PRECISION: "Precision (%)", SCORE: score, PER_TRIPLET: f"{score} per triplet (%)"}
        return {system: self.title_of(system) for system in IN_ORDER}

    def setting_title(self, setting: str) -> str:
        """Name the one part that it has."""
        return "all triplets" if setting == ALL else setting

    def about(self, system: str) -> str:
        """Return what a system is; "" where its name says all."""
        about = ABOUT.get(system, "")
        return (
            about.partition(":")[0] + " of hand-crafted features"
            if system == GOLDEN and not self.has_training
            else about
        )

    @property
    def size(self) -> str:
        """Triplets and query images that were measured."""
        n_triplets, n_queries, _ = map(self.counted, COUNTED.values())
        return f"{n_triplets:,} triplets of {n_queries:,} query images" if n_triplets else ""

    @property
    def intervals(self) -> str:
        """Name the intervals: what bootstraps sample."""
        several = any(n > 1 for n in self.n_seeds.values())
        return f"95% bootstrap intervals over query images{', and over seeds of networks' if several else ''}"

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Say which data, how many triplets, and what brackets or bars are."""
        data = ", ".join(filter(None, (f"Data: {self.title} ({self._origin[0]})", self.size)))
        if drawn is None or not {"low", "high"} <= set(drawn.frame):
            return f"{data}."
        return f"{data}; {'bars and bands' if drawn.canvas else 'brackets'}: {self.intervals}."

    def notes(self, drawn: Drawn) -> list[str]:
        """Say what is ranked, what systems are, and which of them were not run."""
        column = next((name for name in ("method", "system") if name in drawn.frame), "")
        systems = set(drawn.frame[column]) if column else set()
        notes = self._measured_notes(systems) if systems and (drawn.sheets or drawn.is_figure) else []
        notes += [f"{self.title_of(system)}: {self.about(system)}." for system in ABOUT if system in systems]
        return [*notes, *self.not_run_notes(systems - self.measured)]

    def differences(self, drawn: Drawn) -> list[str]:
        """Say what scores rank, what made the relevance, and how networks differ from the paper's."""
        # the networks' own room, of which nothing is imported before it is asked for
        from lookalike.deep.configuration import PAPER as LARGE
        from lookalike.deep.configuration import SMALL

        found = ["Images and ratings are made by code."] * self.synthetic
        systems = {system for name in ("method", "system") for system in drawn.frame.get(name, ())} & self.measured
        pool, given = self.counted("pool"), self.networks.pretraining
        if pool and systems and (drawn.sheets or drawn.is_figure):
            share = f", so the top {self.score.k} are {self.score.k / pool:.0%} of them" if self.score.k < pool else ""
            found.append(f"Scores rank {pool:,} images (median){share}. The paper ranks 1,000.")
        if GOLDEN in systems:
            learned = "held-out ratings" if self.golden.ratings else "the same relevance as the others"
            found.append(f"{self.title_of(GOLDEN)} learned from {learned}. In the paper they define the relevance.")
        if CONVNET in systems and not (given.images or given.weights):
            found.append(f"{self.title_of(CONVNET)} learned from the training images alone; the paper's from ImageNet.")
        if DEEP in systems and self.networks.size == "small":
            own, paper = (f"{size.input_size} x {size.input_size} pixels" for size in (SMALL, LARGE))
            title = self.title_of(DEEP)
            found.append(
                f"{title} takes {own} and returns {SMALL.width} numbers; the paper's, {paper} and {LARGE.width:,}."
            )
        return found

    def _measured_notes(self, systems: set[str]) -> list[str]:
        """Say how often networks were trained, and which too briefly."""
        n = max((self.n_seeds[system] for system in systems & self.measured if is_network(system)), default=0)
        often = "once; no interval contains" if n == 1 else f"from {n} seeds; intervals contain"
        notes = [f"Each network was trained {often} the chance in that."] if n else []
        networks, limits = [system for system in (CONVNET, SINGLE, DEEP) if system in self.measured], []
        for limit, does in ((TRAINING, "still learned when training ended"), (SEEDS, "had fewer than three seeds")):
            limited = [self.title_of(system) for system in networks if limit in self.limits_of(system)]
            limits += [f"{'all networks' if len(limited) == 3 else ' and '.join(limited)} {does}"] if limited else []
        said = "; ".join(limits)
        decides = "That does not decide how they compare with other systems."
        return [*notes, f"{said[:1].upper()}{said[1:]}. {decides}"] if limits else notes

    def not_run_notes(self, systems: Iterable[str]) -> list[str]:
        """``ConvNet, DeepRanking: not run: do X.``, systems with one reason together; nothing where all were run."""
        reasons: dict[str, list[str]] = {}
        for system in ordered_systems(systems):
            if why := self.why_not_run(system):
                reasons.setdefault(why, []).append(self.title_of(system))
        return [f"{', '.join(titles)}: {why}." for why, titles in reasons.items()]


STUDY = FinegrainedStudy


def describer_module(system: str) -> str:
    """Return the module that describes images for a hand-crafted baseline, inside the package."""
    from lookalike.features.describers import DESCRIBERS

    described_by = DESCRIBERS[system].partition(":")[0]
    return str(Path(*described_by.split(".")[1:]).with_suffix(".py"))
