"""What the settings of a landmark study ask for: its checks, runs, files and exhibits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.core.settings.data_sets import LANDMARK_KINDS, settings_of_data
from lookalike.core.settings.methods import method_spec
from lookalike.core.settings.sentences import refer, refer_kind, refer_once
from lookalike.data.ground_truth import OXFORD_LANDMARKS, landmarks_with
from lookalike.data.locate import listing_fingerprint
from lookalike.learners.registry import MODULES
from lookalike.studies.batches import SIZES, Batch, contrast_tables, fit_spec, methods_in, run_files
from lookalike.studies.landmark.montage import compared
from lookalike.studies.recipes import recipe_of

Config = Mapping[str, Any]

RUN_FILES = ("model.lookalike", "fit.json", "metrics.parquet", "ranks.npz")
DIAGONAL = ("TFIDF", "QPAO", "DiagonalOASIS", "SOMLTG", "SOMLDA")
"""Learners of a diagonal metric: the only ones that a codebook of the landmark study leaves room for."""
ONLINE = ("SOMLTG", "SOMLDA")
SWEPT = {"sweep": ONLINE, "cost_sweep": ("QPAO",), "triplet_order": ONLINE}
"""Part of the settings to the learners that it varies."""
PARTS = (*SWEPT, "dimensions")
"""Parts of the settings that a study may leave out."""


def check(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse settings of a landmark study that name what does not exist or cannot work together."""
    study, place = settings["landmark"][dataset], f"landmark.{dataset}"
    refer_kind(place, settings["datasets"][dataset]["kind"], LANDMARK_KINDS, "ground truth")
    check_codebooks(settings, dataset)
    check_landmarks(settings, dataset)
    check_methods(settings, dataset)
    most = study["learning"]["negatives"]
    if max(study.get("triplet_order", {}).get("negatives", [0])) > most:
        raise LookalikeError(
            f"config: {place}.triplet_order.negatives must not be larger than learning.negatives, {most}"
        )


def check_codebooks(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse codebooks that are not each larger than the one before: the exhibits tell them apart by size."""
    codebooks, place = settings["codebooks"], f"landmark.{dataset}.codebooks"
    named = settings["landmark"][dataset]["codebooks"]
    for codebook in named:
        refer(place, codebook, codebooks)
        if codebooks[codebook]["published"] and settings["datasets"][dataset]["kind"] != "oxford5k":
            raise LookalikeError(f"config: {place} names {codebook!r}, whose words are those of Oxford5K only")
    sizes = [codebooks[codebook]["words"] for codebook in named]
    twins = [codebook for codebook, words in zip(named, sizes, strict=True) if sizes.count(words) > 1]
    if twins:
        raise LookalikeError(
            f"config: {place} names {' and '.join(twins[:2])}, which have {codebooks[twins[0]]['words']:,} words each: "
            "name only one of a size"
        )
    if sizes != sorted(sizes):
        raise LookalikeError(f"config: {place} must go from small to large, not {sizes} words")


def check_landmarks(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse names that no landmark has, where they are known before the ground truth is there."""
    place, landmarks = f"landmark.{dataset}.landmarks", settings["landmark"][dataset]["landmarks"]
    kind = settings["datasets"][dataset]["kind"]
    if kind == "oxford5k" and landmarks == "all":
        raise LookalikeError(
            f"config: {place} must list its landmarks, since nothing tells how many images each has before the "
            f"ground truth is fetched; there are: {', '.join(OXFORD_LANDMARKS)}"
        )
    if landmarks != "all" and kind != "landmarks":
        known = OXFORD_LANDMARKS if kind == "oxford5k" else recipe_of(settings, dataset).names()
        for landmark in landmarks:
            refer(place, landmark, known)


def check_methods(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse methods that do not exist or that the study cannot run, and changes to them that change nothing."""
    study, place = settings["landmark"][dataset], f"landmark.{dataset}"
    refer_once(place, {role: study[role] for role in ("methods", "variants")}, settings["methods"])
    parts = {part: study[part]["methods"] for part in PARTS if part in study}
    for part, methods in (parts | {"overrides": study["overrides"]}).items():
        for method in methods:
            refer(f"{place}.{part}", method, settings["methods"])
    for codebook, overrides in study["codebook_overrides"].items():
        # one that exists but is not named by this study is for an overlay that names it
        refer(f"{place}.codebook_overrides", codebook, settings["codebooks"])
        for method, changes in overrides.items():
            refer(f"{place}.codebook_overrides.{codebook}", method, settings["methods"])
            if "batch" in changes:
                raise LookalikeError(
                    f"config: {place}.codebook_overrides.{codebook}.{method} sets `batch`, which is the same for all "
                    f"codebooks: set it under {place}.overrides"
                )
    used = [*study["methods"], *study["variants"], *(method for methods in parts.values() for method in methods)]
    for method, codebook in product(dict.fromkeys(used), (None, *study["codebooks"])):
        check_method(place, method, method_spec(settings, dataset, method, codebook))
    for part, learners in SWEPT.items():
        for method in parts.get(part, []):
            learner = method_spec(settings, dataset, method)["learner"]
            if learner not in learners:
                raise LookalikeError(
                    f"config: {place}.{part}.methods names {method!r}, whose learner {learner} has nothing to vary "
                    f"there: name methods of {', '.join(learners)}"
                )


def check_method(place: str, method: str, spec: Mapping[str, Any]) -> None:
    """Refuse a method that the landmark study cannot run as it is set."""
    refer(f"methods.{method}.learner", spec["learner"], MODULES)
    place = f"config: {place} names {method!r}"
    if spec["learner"] not in DIAGONAL:
        raise LookalikeError(
            f"{place}, whose learner {spec['learner']} has no diagonal metric: name methods of {', '.join(DIAGONAL)}"
        )
    for key in ("select", "trace"):
        if spec.get(key):
            raise LookalikeError(
                f"{place}, which has a `{key}`, and the landmark study has no validation cut for it: take `{key}` out, "
                "or give the study a method of its own without it"
            )


def ground_truth_folder(config: Config, dataset: str) -> str:
    """Folder of a data set's ground-truth files, as far as it is known before the images are located."""
    data = config["datasets"][dataset]
    if data["kind"] != "synthetic_landmarks":
        return str(data.get("ground_truth", ""))
    return f"results/{dataset}/ground_truth/{recipe_of(config, dataset).fingerprint()}"


def landmarks_of(config: Config, dataset: str) -> list[str]:
    """Landmarks that a study learns; where a user's ground truth is away, those that the results were made with."""
    study, data = config["landmark"][dataset], config["datasets"][dataset]
    if study["landmarks"] != "all":
        return list(study["landmarks"])
    if data["kind"] == "synthetic_landmarks":
        return recipe_of(config, dataset).names()
    learned = Path(f"results/{dataset}/learning_images.parquet")
    if Path(data["ground_truth"]).is_dir():
        return _landmarks_with(data["ground_truth"], study["learning"]["positives"])
    return sorted(set(read_table(learned)["landmark"])) if learned.is_file() else []


# a plan asks many times, and the lists of a large data set are read for seconds
_landmarks_with = cache(landmarks_with)


def located_data(config: Config, dataset: str) -> dict[str, Any]:
    """What decides where the images and the ground truth of a data set are; its title does not."""
    data = config["datasets"][dataset]
    return {key: data[key] for key in ("kind", "path", "ground_truth", "fetch") if key in data}


def own_listing(config: Config, dataset: str, key: str) -> str:
    """Fingerprint of a user's folder, ``path`` or ``ground_truth``; of one that is away, that of its results."""
    data = config["datasets"][dataset]
    recorded = Path(f"results/{dataset}/{key}_listing.txt")
    if data["kind"] != "landmarks":
        return ""
    if recorded.is_file() and not Path(data[key]).is_dir():
        return recorded.read_text().strip()
    return listing_fingerprint(data[key])


def codebooks(config: Config, *, published: bool) -> list[str]:
    """Codebooks whose words the benchmark publishes, or those that are learned here."""
    return [codebook for codebook, described in config["codebooks"].items() if described["published"] is published]


def wants_words(config: Config, dataset: str) -> bool:
    """Whether a study uses the words that the benchmark publishes."""
    return bool(set(config["landmark"][dataset]["codebooks"]) & set(codebooks(config, published=True)))


def training_settings(config: Config, codebook: str) -> dict[str, Any]:
    """What decides a codebook; its title does not."""
    described = config["codebooks"][codebook]
    return {key: described[key] for key in ("words", "root", "iterations", "max_descriptors") if key in described}


def shards(config: Config, dataset: str) -> list[str]:
    """Shard numbers of a data set, zero-padded as in file names."""
    return [f"{shard:03d}" for shard in range(config["datasets"][dataset]["shards"])]


def keypoint_shard(config: Config, dataset: str, codebook: str, shard: str) -> str:
    """The shard of keypoints that a shard of words is made from."""
    return f"results/{dataset}/keypoints/{config['codebooks'][codebook]['keypoints']}/keypoints-{shard}.npz"


def keypoint_shards(config: Config, dataset: str, codebook: str) -> list[str]:
    """Every shard of the keypoints that a codebook is learned from."""
    return [keypoint_shard(config, dataset, codebook, shard) for shard in shards(config, dataset)]


def word_shards(config: Config, dataset: str, codebook: str) -> list[str]:
    """Every shard of the words of a codebook."""
    return [f"results/{dataset}/features/{codebook}/words-{shard}.npz" for shard in shards(config, dataset)]


def codebook_files(config: Config, dataset: str, name: str) -> list[str]:
    """One file of every codebook of a study."""
    return [f"results/{dataset}/features/{codebook}/{name}" for codebook in config["landmark"][dataset]["codebooks"]]


def methods_of(config: Config, dataset: str) -> list[str]:
    """Methods that learn and rank."""
    study = config["landmark"][dataset]
    return [*study["methods"], *study["variants"]]


def batches(config: Config, dataset: str) -> list[Batch]:
    """Every batch of runs, one rule each; a job makes all draws of what it learns."""
    sizes = {size: methods_in(config, dataset, size, methods_of(config, dataset)) for size in SIZES}
    return [batch_of_methods(config, dataset, size, methods) for size, methods in sizes.items() if methods]


def batch_of_methods(config: Config, dataset: str, size: str, methods: list[str]) -> Batch:
    """Jobs that learn one landmark (``fold``), all landmarks by one method (``method``) or by all (``subset``)."""
    landmarks = ["{subset}"] if size == "fold" else landmarks_of(config, dataset)
    draws = range(config["landmark"][dataset]["learning"]["draws"])
    own = {"method": methods} if size == "subset" else {}
    parts = {"fold": "{subset}/{method}", "method": "{method}", "subset": "all"}
    return Batch(
        name=size,
        log=f"logs/{{dataset}}/run/{{representation}}/{parts[size]}.log",
        files=run_files(subset=landmarks, fold=draws, file=RUN_FILES, **own),
        allowed={"dataset": [dataset], **({} if size == "subset" else {"method": methods})},
        fitted=methods,
    )


def runs(config: Config, dataset: str, file: str, **of: Iterable[str]) -> list[str]:
    """One file of every run of a study, or of the `representation` and `method` that are given."""
    study = config["landmark"][dataset]
    chosen = {"representation": study["codebooks"], "method": methods_of(config, dataset), **of}
    landmarks, draws = landmarks_of(config, dataset), range(study["learning"]["draws"])
    return run_files(dataset=[dataset], subset=landmarks, fold=draws, file=[file], **chosen)


def sweeps(config: Config, dataset: str) -> dict[str, Any]:
    """What a study varies besides its methods, by the part of the settings."""
    study = config["landmark"][dataset]
    return {part: study[part] for part in SWEPT if part in study}


def sweep_specs(config: Config, dataset: str) -> dict[str, dict[str, Any]]:
    """Settings of the methods that sweeps fit."""
    methods = dict.fromkeys(method for sweep in sweeps(config, dataset).values() for method in sweep["methods"])
    return {method: fit_spec(config, dataset, method) for method in methods}


def timed_specs(config: Config, dataset: str) -> dict[int, dict[str, dict[str, Any]]]:
    """Settings of the methods that are timed on simulated rows, by words: those of a codebook of that size."""
    study = config["landmark"][dataset]
    of_words = {config["codebooks"][codebook]["words"]: codebook for codebook in study["codebooks"]}
    methods, sizes = study["dimensions"]["methods"], study["dimensions"]["words"]
    return {
        words: {method: fit_spec(config, dataset, method, of_words.get(words), words) for method in methods}
        for words in sizes
    }


def number_files(config: Config, dataset: str) -> list[str]:
    """Tables that metrics.parquet is gathered from."""
    swept = [f"results/{dataset}/landmark/sweep.parquet"] if sweeps(config, dataset) else []
    return [*runs(config, dataset, "metrics.parquet"), *swept]


def exhibit_settings(config: Config, dataset: str, not_run: str) -> dict[str, Any]:
    """Return what the exhibits of a study have to know besides numbers, as `LandmarkStudy` describes it."""
    study = config["landmark"][dataset]
    specs = {method: method_spec(config, dataset, method) for method in methods_of(config, dataset)}
    return {
        **settings_of_data(config, dataset, not_run),
        "titles": {
            method: config["methods"][method].get("title", method) for method in [*specs, *sweep_specs(config, dataset)]
        },
        "codebooks": {
            id: {
                "words": one["words"],
                "title": one.get("title", f"{one['words']:,}"),
                "not_comparable": "RootSIFT" if one["root"] else "",
            }
            for id in study["codebooks"]
            for one in [config["codebooks"][id]]
        },
        "landmarks": landmarks_of(config, dataset),
        "methods": list(study["methods"]),
        "variants": list(study["variants"]),
        **study["learning"],
        "parts": [part for part in PARTS if part in study],
        "notes": {method: spec["note"] for method, spec in specs.items() if spec.get("note")},
        "parameters": {method: spec["parameters"] for method, spec in specs.items()},
        "own_constants": [*study["overrides"], *(name for one in study["codebook_overrides"].values() for name in one)],
        "seed": config["seed"],
    }


def exhibit_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table or file, as exhibits need it, to its path or paths."""
    study, results = config["landmark"][dataset], f"results/{dataset}"
    names = {"metrics": "landmark/metrics", "fits": "landmark/timing"}
    names |= {"dimensions": "dimensions"} if "dimensions" in study else {}
    shown = compared(study["methods"])
    names |= {name: name for name in ("manifest", "queries", "relevance") if shown}
    files: dict[str, str | list[str]] = {name: f"{results}/{file}.parquet" for name, file in names.items()}
    if shown:
        ranks = runs(config, dataset, "ranks.npz", representation=study["codebooks"][-1:], method=shown)
        files |= {"images": f"{results}/images.json", "ranks": ranks}
    return files | contrast_tables("landmark", dataset)


def contrast_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table to its file, of those that contrasts are made of."""
    files = exhibit_files(config, dataset)
    return {name: files[name] for name in ("metrics", "fits", "dimensions") if name in files}
