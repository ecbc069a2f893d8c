"""The section of the fine-grained study: which systems its settings ask for, and what jobs read and write."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import TRIPLET_KINDS
from lookalike.core.settings.model import only
from lookalike.core.settings.sentences import refer_kind
from lookalike.data.release_files import has_training_images, relevance_file
from lookalike.exhibits.registry import Exhibit
from lookalike.exhibits.study import Files, Study
from lookalike.studies.batches import Batch, batch_of_fits
from lookalike.studies.finegrained.settings import (
    EmbeddingOasis,
    Features,
    GoldenFeature,
    HeldOutImages,
    L1HashKPCA,
    Network,
    Networks,
    Sampler,
    Sampling,
    SamplingStudy,
    Score,
    Surroundings,
)
from lookalike.studies.finegrained.systems import (
    AFTER,
    BEFORE,
    COMPARED,
    CONVNET,
    DEEP,
    EMBEDDED,
    EMBEDDING_ON_TOP,
    FEATURES,
    GOLDEN,
    OASIS,
    OASIS_ON_TOP,
    REAL,
    SINGLE,
    SYNTHETIC,
    UNIFORM_SYSTEM,
    contrast_pairs,
    is_network,
    system_and_seed,
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
NOT_ASKED = "not run: ask for networks with the setting `network`, as examples/rated-networks.yaml does"
NO_TORCH = "not run: install torch with `.venv/bin/python -m pip install torch`, or `make demo` in the project's folder"


class Reads(NamedTuple):
    """What a job reads of the settings: names of the study, and parts of its networks'."""

    names: tuple[str, ...]
    network: tuple[str, ...] = ()


READS = {
    "read_triplets": Reads(("source",)),
    "describe_images": Reads(("images_folder", "seed")),
    "learn_on_features": Reads(("golden", "l1hashkpca", "oasis", "sampling", "seed")),
    "learn_oasis_on_network": Reads(("oasis", "sampling", "seed")),
    "pretrain_network": Reads(("sampling", "images_folder", "seed"), ("checkpoint_seconds", "pretraining")),
    "train_networks": Reads(("seed",), ("checkpoint_seconds", "ranking", "gap")),
    "train_linear_embedding": Reads(("sampling", "seed"), ("ranking", "gap", "linear_embedding")),
    "score_triplets": Reads(("k",)),
}
"""Job to what it reads, besides the settings of its own fits; how others are trained or sampled it does not."""


class FinegrainedSection(Study):
    """The section of the fine-grained study: what its jobs read and write."""

    room: ClassVar = "finegrained"
    contrasted: ClassVar = ("results", "outcomes", "triplets", "pairs", "manifest", "filters")
    without_effect: ClassVar = {"batch": True, "network": {"threads", "checkpoint_seconds"}}

    batch: Literal["method", "subset"] = "method"
    """`method`: a job for every hand-crafted feature and every network; `subset`: one for all features, and one for
    each seed of the networks trained by the ranking loss."""
    features: Features = Features()
    score: Score = Score()
    sampler: Sampler = Sampler()
    golden: GoldenFeature = GoldenFeature()
    l1hashkpca: L1HashKPCA = L1HashKPCA()
    oasis: EmbeddingOasis = EmbeddingOasis()
    validation: HeldOutImages = HeldOutImages()
    network: Networks | None = None
    """The networks; without this section none is trained. `{}` trains them with all defaults."""
    sampling_study: SamplingStudy | None = None

    _surroundings: Surroundings | None = None
    _has_conda: bool = False

    def check(self) -> None:
        """Refuse settings that name what does not exist."""
        from lookalike.features.describers import make_describer
        from lookalike.studies.finegrained.description import pair_distance, without_distance

        place = f"finegrained.{self.dataset}"
        refer_kind(place, self.data_set.kind, TRIPLET_KINDS, "triplets")
        for system, parameters in ((name, own) for name in FEATURES for own in self.features.given(name)):
            try:
                pair_distance(make_describer(system, **without_distance(parameters)), parameters)
            except (LookalikeError, ValueError, TypeError) as error:
                is_type = isinstance(error, TypeError)
                why = f"a setting is of the wrong type in {parameters}: look up the describer" if is_type else error
                raise LookalikeError(f"config: {place}.features.{system}: {why}") from error
        shares = [self.sampler.out_of_class, *(self.sampling_study.out_of_class if self.sampling_study else [])]
        if fractions := [share for share in shares if abs(100 * share - round(100 * share)) > 1e-6]:
            # the share is a part of file names
            whole = "a share of out-of-class negatives is a whole percent, such as 0.2"
            raise LookalikeError(f"config: {place}: {whole}, not {fractions[0]}")

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study without the sampling study, unless it is shown."""
        return self.with_settings(sampling_study=self.sampling_study if "sampling_study" in roles else None)

    def reads(self, job: str, fitted: Sequence[str] = (), **names: str) -> Mapping[str, Any]:
        """Return what a job of a rule reads of the settings."""
        from lookalike.studies.recipes import reads_of_drawing

        if job == "draw_images":
            return reads_of_drawing(self._shared, self.dataset)
        if job not in READS:
            return {**super().reads(job, fitted, **names), "surroundings": self.surroundings}
        reads = READS[job]
        own: dict[str, Any] = {name: getattr(self, name) for name in reads.names}
        if job == "describe_images":
            own["features"] = {system: self.features.given(system) for system in fitted}
        if job == "train_networks":
            own["samplings"] = {name: self.sampling_of(system_and_seed(name)[0]) for name in fitted}
        if reads.network:
            own["network"] = {**dict(only(Network, self.networks)), "validation": self.validation}
            own["network"] |= {name: getattr(self.networks, name) for name in reads.network}
        return own

    @classmethod
    def given(cls, dataset: str, settings: Mapping[str, Any]) -> Self:
        """Return the study from the parameters that a job for contrasts or exhibits is given."""
        study = super().given(dataset, settings)
        study._surroundings = Surroundings.model_validate(settings["surroundings"])
        return study

    def deployed(self, *, conda: bool) -> None:
        """Note whether jobs run in conda environments, which have torch."""
        self._has_conda, self._surroundings = conda, None

    @property
    def surroundings(self) -> Surroundings:
        """Return what planning finds besides the settings, at the first look."""
        # a plan asks many times, and folders are read for it
        if self._surroundings is None:
            self._surroundings = self._found()
        return self._surroundings

    def _found(self) -> Surroundings:
        """Look around; results stay when what they were made from is away."""
        path, is_real = Path(str(self.data_set.path)), self.kind == REAL
        has_training = not is_real or has_training_images(path) or self.was_measured(OASIS)
        has_torch = self._has_conda or find_spec("torch") is not None or self.was_measured(DEEP)
        is_graded = bool(self.golden.ratings) or not is_real or self.was_measured(UNIFORM_SYSTEM)
        no_training = f"not run: put images to learn from into {self.data_set.path}/training, in folders by category"
        return Surroundings(
            folder=self.images_folder,
            no_training="" if has_training else no_training,
            no_networks=NOT_ASKED if self.network is None else "" if has_torch else NO_TORCH,
            is_graded=is_graded or relevance_file(path) is not None,
        )

    def was_measured(self, system: str) -> bool:
        """Tell whether a system was measured before."""
        return Path(self.folder, "systems", system, "distances.npy").exists()

    @property
    def k(self) -> int:
        """First images that scores count."""
        return self.score.k

    @property
    def kind(self) -> str:
        """Kind of data: rated by people, synthetic, or photographs whose triplets a machine rated."""
        return self.data_set.kind

    @property
    def source(self) -> dict[str, Any]:
        """Where triplets come from, or what they are made by, and the share that the golden feature learns from."""
        own = {"kind": self.kind, "ratings": float(self.golden.ratings or 0), "folder": self.images_folder}
        rule = {} if self.kind == REAL else {self.kind: getattr(self.data_set, self.kind)}
        return {**own, **rule, "seed": self.drawing_seed}

    @property
    def images_folder(self) -> str:
        """Folder that the paths of the manifest start from; other settings draw into another one."""
        from lookalike.studies.recipes import painted_folder

        is_painted = self.kind == SYNTHETIC
        return painted_folder(self._shared, self.dataset) if is_painted else str(self.data_set.path)

    @property
    def networks(self) -> Networks:
        """Settings of the networks, the defaults where none is asked for."""
        return self.network or Networks()

    @property
    def seeds(self) -> range:
        """Numbers of the seeds that networks are trained with."""
        return range(1, self.networks.seeds + 1)

    def samples_shares(self) -> bool:
        """Tell whether Figure 6 has several networks to show, and seeds enough to show what is chance."""
        return DEEP in self.systems() and bool(self.sampled_networks()) and len(self.seeds) > 1

    def sampled_networks(self) -> dict[str, tuple[float, bool]]:
        """Return networks of the sampling study that no table shows: share of out-of-class negatives, weighted."""
        if self.sampling_study is None or not self.surroundings.is_graded:
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
        own = {name: value for name, value in self.sampler if value is not None}
        share = share if self.surroundings.is_graded else 1.0
        return Sampling(**{**own, "out_of_class": share, "weighted": weighted})

    @property
    def chosen_percent(self) -> int:
        """Share of out-of-class negatives that networks of the tables are trained with."""
        return round(100 * self.sampling.out_of_class)

    def ranking_networks(self) -> list[str]:
        """Return the networks that are trained by the ranking loss."""
        return [SINGLE, DEEP, *self.sampled_networks()]

    def systems(self) -> list[str]:
        """Return every system that is run, in the order of the tables."""
        if self.surroundings.no_training:
            return [*FEATURES, *([EMBEDDED, GOLDEN] if self.golden.ratings else [])]
        learned = [*FEATURES, EMBEDDED, OASIS, GOLDEN]
        if self.surroundings.no_networks:
            return learned
        return [*learned, CONVNET, *self.ranking_networks(), OASIS_ON_TOP, EMBEDDING_ON_TOP]

    def compared_pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of systems that the paper's claims are about."""
        return list(contrast_pairs(self.systems(), self.chosen_percent))

    def feature_batch(self) -> Batch:
        """Return the jobs that describe the images by hand-crafted features."""
        return self._batch("describe_images", FEATURES, FEATURE_FILES)

    def network_batches(self) -> list[Batch]:
        """Return the jobs that train networks by the ranking loss: with `method` one each, else one for each seed."""
        by_seed = [[training_name(system, seed) for system in self.ranking_networks()] for seed in self.seeds]
        if self.batch == "method":
            by_seed = [[name for names in by_seed for name in names]]
        named = enumerate(by_seed, start=1)
        return [self._batch(f"train_networks_{seed}", names, NETWORK_FILES) for seed, names in named]

    def _batch(self, name: str, fits: Sequence[str], files: Sequence[str]) -> Batch:
        paths = [f"systems/{{}}/{file}" for file in files]
        return batch_of_fits(self.dataset, self.batch, name, "{system}", fits, paths)

    def trainings(self, system: str) -> list[str]:
        """Return the folders of a system: one for each seed where it is a network, or learns from one."""
        return [training_name(system, seed) for seed in self.seeds] if is_network(system) else [system]

    def of_systems(self, file: str, *systems: str) -> list[str]:
        """Return one file of some systems, with all their seeds."""
        return [f"{self.folder}/systems/{name}/{file}" for system in systems for name in self.trainings(system)]

    def measured_files(self, file: str) -> list[str]:
        """Return one file of every system that is run and has it, with all seeds."""
        return self.of_systems(file, *(name for name in self.systems() if file in FILES.get(name, NETWORK_FILES)))

    def written_files(self, *systems: str) -> list[str]:
        """Return what is written of some systems, with all seeds, of any data set."""
        files = [(name, file) for name in systems for file in FILES.get(name, NETWORK_FILES)]
        return [f"results/{{dataset}}/systems/{own}/{file}" for name, file in files for own in self.trainings(name)]

    def learned_files(self) -> list[str]:
        """Return the files of what is learned on features, of any data set; relevance too where one makes that."""
        own = [f"results/{{dataset}}/systems/{GOLDEN}/relevance.npz"] if self.makes_relevance else []
        return self.written_files(EMBEDDED, GOLDEN, *([] if self.surroundings.no_training else [OASIS])) + own

    @property
    def makes_relevance(self) -> bool:
        """Tell whether the golden feature makes the relevance that other systems learn from."""
        return bool(self.golden.ratings) and not self.surroundings.no_training

    def relevance_path(self) -> str:
        """Return the relevance that networks and OASIS learn from."""
        return f"{self.folder}/{f'systems/{GOLDEN}/' if self.makes_relevance else ''}relevance.npz"

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        tables = ("results", "manifest", "triplets", "pairs", "outcomes")
        ranked = [system for system in self.systems() if system in (*COMPARED, *BEFORE, *AFTER)]
        files: dict[str, str | list[str]] = {name: f"{self.folder}/{name}.parquet" for name in tables}
        files |= {"relevance": self.relevance_path(), "distances": self.of_systems("distances.npy", *ranked)}
        if DEEP in self.systems():
            files["filters"] = self.of_systems("filters.npz", DEEP)
        return {**files, **super().planned_files()}


def describer_module(system: str) -> str:
    """Return the module that describes images for a hand-crafted baseline, inside the package."""
    from lookalike.features.describers import DESCRIBERS

    described_by = DESCRIBERS[system].partition(":")[0]
    return str(Path(*described_by.split(".")[1:]).with_suffix(".py"))
