"""Which runs, files and exhibits the settings of a web study ask for, as plain functions that its rules call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import integer_seed
from lookalike.core.settings.data_sets import WEB_KINDS, settings_of_data
from lookalike.core.settings.sentences import refer_kind
from lookalike.studies.batches import Batch, batch_of_fits, contrast_tables

Config = Mapping[str, Any]

RANKER_FILES = ("W.npy", "fit.json", "curve.parquet")
"""What training a ranker writes into ``rankers/{ranker}``."""
TWIN = "irrelevant"
"""Name of the first ranker's twin, whose negatives are irrelevant to the query image, among the rankers."""
LEARNERS = {"oasis": "images", "lmnn": "lmnn"}
"""Learner of the runtime study to the setting that lists its sizes."""


def check(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse settings of a web study that cannot work together, or a log that cannot be simulated."""
    training, data, place = settings["web"][dataset]["training"], settings["datasets"][dataset], f"web.{dataset}"
    refer_kind(place, data["kind"], WEB_KINDS, "a query log")
    # imported here because it loads the kernels that draw the log
    from lookalike.data.web_simulation import WebSimulation

    try:
        WebSimulation(**data["simulation"], seed=integer_seed(settings["seed"], "datasets", dataset))
    except LookalikeError as error:
        raise LookalikeError(f"config: datasets.{dataset}.simulation: {error}") from error
    if training["interval"] % training["block"]:
        raise LookalikeError(
            f"config: {place}.training.interval, {training['interval']}, must be a multiple of training.block, "
            f"{training['block']}"
        )
    if training["relevance"] == "co_clicks" and (training["theta"] or "share" not in training):
        raise LookalikeError(
            f"config: {place}.training: co_clicks are cut by `share`, such as 0.01, and not by theta: set it"
        )
    if training["relevance"] == "joint" and "share" in training:
        raise LookalikeError(
            f"config: {place}.training.share goes with co_clicks only: cut the joint relevance by theta"
        )


def simulation(config: Config, dataset: str) -> dict[str, Any]:
    """What a simulated data set is like; its title and its shards change no byte of it."""
    return dict(config["datasets"][dataset]["simulation"])


def words(config: Config, dataset: str) -> int:
    """Visterms of a data set."""
    return int(simulation(config, dataset)["words"])


def shards(config: Config, dataset: str) -> list[str]:
    """Folders of a data set's visterms."""
    n_shards = config["datasets"][dataset]["shards"]
    return [f"results/{dataset}/visterms/shard-{shard:03d}" for shard in range(n_shards)]


def of_rankers(config: Config, dataset: str, file: str) -> list[str]:
    """One file of every ranker."""
    n_rankers = config["web"][dataset]["training"]["rankers"]
    return [f"results/{dataset}/rankers/{ranker}/{file}" for ranker in range(n_rankers)]


def of_twin(config: Config, dataset: str) -> list[str]:
    """W of the twin on irrelevant negatives, where the settings ask for it."""
    return [f"results/{dataset}/rankers/{TWIN}/W.npy"] if config["web"][dataset]["irrelevant_negatives"] else []


def ranker_settings(config: Config, dataset: str, ranker: str | None = None) -> dict[str, dict[str, Any]]:
    """Ranker to what decides its triplets and steps; of one ranker or all."""
    study = config["web"][dataset]
    settings = triplet_settings(config, dataset)
    found = {str(ranker): settings for ranker in range(study["training"]["rankers"])}
    if study["irrelevant_negatives"]:
        found[TWIN] = settings | {"exclude_relevant": True}
    return {ranker: found[ranker]} if ranker else found


def ranker_batch(config: Config, dataset: str) -> Batch:
    """Jobs that train a ranker each, or one job for all of them."""
    rankers = list(ranker_settings(config, dataset))
    files = [f"rankers/{{}}/{file}" for file in RANKER_FILES]
    return batch_of_fits(config, dataset, "train_on_log", "{ranker}", rankers, files)


def triplet_settings(config: Config, dataset: str) -> dict[str, Any]:
    """What decides a run's triplets and steps; threads and checkpoints do not."""
    training = config["web"][dataset]["training"]
    return {key: value for key, value in training.items() if key not in ("threads", "rankers", "checkpoint_seconds")}


def timed_fits(config: Config, dataset: str) -> list[str]:
    """Learner and size of every fit of the runtime study, as its file is called."""
    runtime = config["web"][dataset].get("runtime") or {}
    return [f"{learner}-{size}" for learner, sizes in LEARNERS.items() for size in runtime.get(sizes, ())]


def timed_runs(config: Config, dataset: str) -> list[str]:
    """One row of the runtime study for every learner and size."""
    return [f"results/{dataset}/runtime/{fit}.parquet" for fit in timed_fits(config, dataset)]


def runtime_batch(config: Config, dataset: str) -> Batch:
    """Jobs that time one learner at one size each, or one job for all of them."""
    fits, files = timed_fits(config, dataset), ["runtime/{}.parquet"]
    return batch_of_fits(config, dataset, "time_size", "{learner}-{size}", fits, files)


def timed_settings(config: Config, dataset: str, learner: str | None = None) -> dict[str, dict[str, Any]]:
    """Learner to what decides its fits of the runtime study; which sizes there are does not. Of one learner or all."""
    study = config["web"][dataset]
    oasis = {key: study["runtime"][key] for key in ("aggressiveness", "patience", "tolerance", "steps_per_image")}
    found = {
        "oasis": oasis | {f"validation_{key}": value for key, value in study["validation"].items()},
        "lmnn": {key: study["runtime"][key] for key in ("max_iter", "time_limit")},
    }
    return {learner: found[learner]} if learner else found


def searched(config: Config, dataset: str) -> list[str]:
    """The file of approximate search, where the settings ask for it."""
    return [f"results/{dataset}/approximate.parquet"] if config["web"][dataset].get("approximate") else []


def methods(config: Config, dataset: str) -> dict[str, str]:
    """Id to title of what retrieves."""
    n_rankers = config["web"][dataset]["training"]["rankers"]
    averaged = {"oasis-averaged": f"OASIS, {n_rankers} models averaged"} if n_rankers > 1 else {}
    return {"oasis": "OASIS"} | averaged | {"euclidean": "Euclidean"}


def exhibit_settings(config: Config, dataset: str, not_run: str) -> dict[str, Any]:
    """What the exhibits have to know besides numbers: settings of a `lookalike.studies.web.study.WebStudy`."""
    study = config["web"][dataset]
    runtime = study.get("runtime") or {}
    return {
        **settings_of_data(config, dataset, not_run),
        "titles": methods(config, dataset),
        "words": words(config, dataset),
        "runtime": {key: runtime[key] for key in ("aggressiveness", "patience") if key in runtime},
        "approximate": bool(study.get("approximate")),
        "irrelevant_negatives": study["irrelevant_negatives"],
        "triplets_per_query": study["training"]["triplets_per_query"],
    }


def exhibit_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table, as exhibits need it, to its file."""
    names = {"metrics": "metrics", "fits": "timing", "curve_times": "curve_times", "runtime": "runtime"}
    files: dict[str, str | list[str]] = {name: f"results/{dataset}/web/{file}.parquet" for name, file in names.items()}
    files |= contrast_tables("web", dataset)
    return files | ({"searched": found} if (found := searched(config, dataset)) else {})


def contrast_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table to its file, of those that contrasts are made of."""
    files = exhibit_files(config, dataset)
    return {name: files[name] for name in ("metrics", "runtime")}
