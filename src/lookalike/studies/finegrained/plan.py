"""What the settings of a fine-grained study ask for: systems, networks, files and exhibits; the rules call these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import TRIPLET_KINDS, settings_of_data
from lookalike.core.settings.sentences import refer_kind
from lookalike.data.release_files import has_training_images, relevance_file
from lookalike.features.describers import DESCRIBERS, make_describer
from lookalike.studies.batches import Batch, batch_of_fits, contrast_tables
from lookalike.studies.finegrained import pictures
from lookalike.studies.finegrained.systems import (
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
)
from lookalike.studies.recipes import painted_folder

Config = Mapping[str, Any]

FEATURE_FILES = ("vectors.npy", "distances.npy", "fit.json")
NETWORK_FILES = ("model.lookalike", "filters.npz", "vectors.npy", "distances.npy", "curve.parquet", "fit.json")
NOT_THE_NETWORK = {"pretraining", "ranking", "gap", "linear_embedding", "checkpoint_seconds", "threads"}
"""Settings of networks that decide how one is trained, and not all of them every one."""
NO_TORCH = "not run: install torch with `.venv/bin/python -m pip install torch`, or `make demo` in the project's folder"

# a plan asks many times, and folders are read each time
_has_training_images, _has_grades = cache(has_training_images), cache(relevance_file)


def check(settings: Config, dataset: str) -> None:
    """Refuse settings of a fine-grained study that name what does not exist."""
    study, place = settings["finegrained"][dataset], f"finegrained.{dataset}"
    refer_kind(place, settings["datasets"][dataset]["kind"], TRIPLET_KINDS, "triplets")
    for system, parameters in study["features"].items():
        try:
            make_describer(system, **parameters)
        except (LookalikeError, ValueError) as error:
            raise LookalikeError(f"config: {place}.features.{system}: {error}") from error
        except TypeError as error:
            raise LookalikeError(
                f"config: {place}.features.{system}: a setting is of the wrong type in {parameters}: look it up in the "
                "docstring of the describer"
            ) from error
    shares = [study["sampler"]["out_of_class"], *study.get("sampling_study", {"out_of_class": []})["out_of_class"]]
    fractions = [share for share in shares if abs(100 * share - round(100 * share)) > 1e-6]
    if fractions:
        # the share is a part of file names
        raise LookalikeError(
            f"config: {place}: a share of out-of-class negatives is a whole percent, such as 0.2, not {fractions[0]}"
        )


def was_measured(dataset: str, system: str) -> bool:
    """Whether a system was measured before: results stay when what they were made from is away."""
    return Path(f"results/{dataset}/systems/{system}/distances.npy").exists()


def no_training(config: Config, dataset: str) -> str:
    """Why nothing can be learned from relevance on a data set, as a sentence; "" if it can."""
    data = config["datasets"][dataset]
    if data["kind"] != REAL or _has_training_images(Path(data["path"])) or was_measured(dataset, OASIS):
        return ""
    return f"not run: put images to learn from into {data['path']}/training, in folders by category"


def no_torch(config: Config, dataset: str) -> str:
    """Why networks cannot be trained, as a sentence; "" if they can. In conda environments torch is at hand."""
    at_hand = config.get("conda") or find_spec("torch") is not None or was_measured(dataset, DEEP)
    return "" if at_hand else NO_TORCH


def is_graded(config: Config, dataset: str) -> bool:
    """Whether relevance within a category has grades; without, all negatives are of other categories."""
    data = config["datasets"][dataset]
    if share_of_ratings(config, dataset):
        return True
    return data["kind"] != REAL or was_measured(dataset, UNIFORM_SYSTEM) or _has_grades(Path(data["path"])) is not None


def sampled_networks(config: Config, dataset: str) -> dict[str, tuple[float, bool]]:
    """Networks of the sampling study that no table shows, by their id: share of out-of-class negatives, weighted."""
    study = config["finegrained"][dataset]
    if not study.get("sampling_study") or not is_graded(config, dataset):
        return {}
    shares = [share for share in study["sampling_study"]["out_of_class"] if share != study["sampler"]["out_of_class"]]
    weighted = {f"multiscale-weighted-{round(100 * share):03d}": (share, True) for share in shares}
    return weighted | {UNIFORM_SYSTEM: (0.0, False)}


def ranking_networks(config: Config, dataset: str) -> list[str]:
    """Networks that are trained by the ranking loss."""
    return [SINGLE, DEEP, *sampled_networks(config, dataset)]


def feature_batch(config: Config, dataset: str) -> Batch:
    """Jobs that describe the images by hand-crafted features."""
    files = [f"systems/{{}}/{file}" for file in FEATURE_FILES]
    return batch_of_fits(config, dataset, "describe_images", "{system}", FEATURES, files)


def network_batch(config: Config, dataset: str) -> Batch:
    """Jobs that train networks by the ranking loss."""
    files = [f"systems/{{}}/{file}" for file in NETWORK_FILES]
    return batch_of_fits(config, dataset, "train_networks", "{system}", ranking_networks(config, dataset), files)


def systems_of(config: Config, dataset: str) -> list[str]:
    """Every system that is run on a data set, in the order of the tables."""
    if no_training(config, dataset):
        return list(FEATURES)
    learned = [*FEATURES, EMBEDDED, OASIS, GOLDEN]
    if no_torch(config, dataset):
        return learned
    return [*learned, CONVNET, *ranking_networks(config, dataset), OASIS_ON_TOP, EMBEDDING_ON_TOP]


def curve_files(config: Config, dataset: str) -> list[str]:
    """Training curves of the systems that are networks and are run."""
    networks = [CONVNET, *ranking_networks(config, dataset), EMBEDDING_ON_TOP]
    trained = [system for system in systems_of(config, dataset) if system in networks]
    return system_files(dataset, "curve.parquet", trained)


def contrasts(config: Config, dataset: str) -> list[list[str]]:
    """Pairs of systems that the paper's claims are about."""
    return [list(pair) for pair in contrast_pairs(systems_of(config, dataset), chosen_percent(config, dataset))]


def system_files(dataset: str, file: str, systems: Iterable[str]) -> list[str]:
    """One file of some systems."""
    return [f"results/{dataset}/systems/{system}/{file}" for system in systems]


def measured_files(config: Config, dataset: str, file: str) -> list[str]:
    """One file of every system that is run."""
    return system_files(dataset, file, systems_of(config, dataset))


def describer_module(system: str) -> str:
    """The module that describes images for a hand-crafted baseline, inside the package."""
    described_by = DESCRIBERS[system].partition(":")[0]
    return str(Path(*described_by.split(".")[1:]).with_suffix(".py"))


def triplet_settings(config: Config, dataset: str) -> dict[str, Any]:
    """What decides a data set's images and triplets."""
    data = config["datasets"][dataset]
    return {"kind": data["kind"], **data.get(data["kind"], {})}


def images_folder(config: Config, dataset: str) -> str:
    """Folder that the paths of a data set's manifest start from; other settings draw into another one."""
    data = config["datasets"][dataset]
    return painted_folder(config, dataset) if data["kind"] == SYNTHETIC else str(data["path"])


def drawn_shards(config: Config, dataset: str) -> list[str]:
    """Marks that all images of a data set are drawn; nothing where they are not made by code."""
    data = config["datasets"][dataset]
    shards = range(data["shards"]) if data["kind"] == SYNTHETIC else ()
    return [f"results/{dataset}/drawn/{shard:03d}.json" for shard in shards]


def sampling(config: Config, dataset: str, system: str | None = None) -> dict[str, Any]:
    """Settings of the sampler for a network, or for what else learns from triplets."""
    sampler = config["finegrained"][dataset]["sampler"]
    share, weighted = sampled_networks(config, dataset).get(system or "", (sampler["out_of_class"], True))
    return {**sampler, "out_of_class": share if is_graded(config, dataset) else 1.0, "weighted": weighted}


def share_of_ratings(config: Config, dataset: str) -> float:
    """Share of the text queries whose ratings the golden feature learns from; 0 where it learns from relevance."""
    return float(config["finegrained"][dataset]["golden"].get("ratings", 0))


def learned_files(config: Config, dataset: str) -> list[str]:
    """What is learned on hand-crafted features leaves; the golden feature relevance too where it makes that."""
    measured = ["distances.npy", "fit.json"]
    made = ["relevance.npz"] if share_of_ratings(config, dataset) else []
    files = {GOLDEN: [*measured, *made], EMBEDDED: ["vectors.npy", *measured], OASIS: measured}
    return [f"results/{{dataset}}/systems/{one}/{file}" for one in files for file in files[one]]


def relevance_path(config: Config, dataset: str) -> str:
    """Relevance that networks and OASIS learn from."""
    made = f"systems/{GOLDEN}/" if share_of_ratings(config, dataset) and not no_training(config, dataset) else ""
    return f"results/{dataset}/{made}relevance.npz"


def buffers(config: Config, dataset: str) -> list[int]:
    """Sizes of buffers that OASIS on hand-crafted features is learned from too."""
    return list(config["finegrained"][dataset].get("buffers", []))


def samplings(config: Config, dataset: str, systems: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Settings of the sampler for some networks, by system."""
    return {system: sampling(config, dataset, system) for system in systems}


def feature_settings(config: Config, dataset: str, systems: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Settings of hand-crafted features that differ from their defaults, by system."""
    return {system: config["finegrained"][dataset]["features"].get(system, {}) for system in systems}


def chosen_percent(config: Config, dataset: str) -> int:
    """Share of out-of-class negatives that networks of the tables are trained with."""
    return round(100 * float(sampling(config, dataset)["out_of_class"]))


def network_settings(config: Config, dataset: str, trainings: Sequence[str]) -> dict[str, Any]:
    """What decides a network; how often it is saved, and how others are trained, does not."""
    study = config["finegrained"][dataset]
    kept = {key: value for key, value in study["network"].items() if key not in NOT_THE_NETWORK - set(trainings)}
    return kept | {"validation": study["validation"] | {"sampling": sampling(config, dataset)}}


def exhibit_settings(config: Config, dataset: str, not_run: str) -> dict[str, Any]:
    """Plain settings of the study (`lookalike.studies.finegrained.study.FinegrainedStudy`)."""
    return {
        **settings_of_data(config, dataset, not_run),
        "titles": {},
        "systems": systems_of(config, dataset),
        "deep_not_run": no_torch(config, dataset),
        "learned_not_run": no_training(config, dataset),
        "k": config["finegrained"][dataset]["score"]["k"],
        "chosen_percent": chosen_percent(config, dataset),
        "folder": images_folder(config, dataset),
        "buffers": buffers(config, dataset),
        "golden_makes_relevance": share_of_ratings(config, dataset) > 0,
        "sampling": sampling(config, dataset),
        "ranking_steps": config["finegrained"][dataset]["network"]["ranking"]["n_steps"],
        "seed": config["seed"],
    }


def exhibit_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table or file, as exhibits need it, to its path or paths."""
    results, systems = f"results/{dataset}", systems_of(config, dataset)
    ranked = [system for system in systems if system in (*pictures.COMPARED, *pictures.BEFORE, *pictures.AFTER)]
    files: dict[str, str | list[str]] = {
        "metrics": f"{results}/finegrained/metrics.parquet",
        "fits": f"{results}/finegrained/timing.parquet",
        "relevance": relevance_path(config, dataset),
        "distances": system_files(dataset, "distances.npy", ranked),
    }
    for name in ("pool", "manifest", "triplets", "pairs", "outcomes"):
        files[name] = f"{results}/{name}.parquet"
    files |= {"paired": f"{results}/contrasts.parquet"} | contrast_tables("finegrained", dataset)
    return files | ({"filters": f"{results}/systems/{DEEP}/filters.npz"} if DEEP in systems else {})


def contrast_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table to its file, of those that contrasts are made of."""
    files = exhibit_files(config, dataset)
    return {name: files[name] for name in ("metrics", "paired", "filters") if name in files}
