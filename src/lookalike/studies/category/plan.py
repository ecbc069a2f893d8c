"""What the settings ask for of the category study: its runs, the files behind its exhibits, and these.

The workflow's rules call these functions. ``config`` is the completed settings of the whole run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import lookalike.studies.category.exhibits  # noqa: F401 - fills in the registry
from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import LANDMARK_KINDS, TRIPLET_KINDS, WEB_KINDS
from lookalike.core.settings.methods import method_spec
from lookalike.core.settings.sentences import check_exhibits, refer, refer_once
from lookalike.data.subsets import read_published_subsets
from lookalike.exhibits.registry import Exhibit, exhibits_of, planned
from lookalike.studies.batches import SIZES, Batch, methods_in
from lookalike.studies.category.comparison import can_compare, families_of
from lookalike.studies.category.neighbours import AFTER, BEFORE
from lookalike.studies.category.study import ROLES

ROOM = "category"
RESOURCES = Path(__file__).resolve().parents[4] / "workflow" / "resources"
TRACES = {"oasis_traces": ("oasis",), "mcml_traces": ("mcml",)}
"""What an exhibit needs of the table of numbers to the methods that are traced for it."""
RUN_OF_METHOD = "results/{dataset}/runs/{representation}/{subset}/{method}"
RUN_FILES = ("model.npz", "model.json", "fit.json", "selection.parquet", "metrics.parquet", "ranks.npz")
"""Files of each run."""
RANKERS = "results/{dataset}/rankers/{representation}/{subset}"
MAKERS = {"protocol": RUN_FILES, "traces": ("curve.parquet",)}
"""Module of this study to what it makes of a run."""

Config = Mapping[str, Any]


def check(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse settings of a category study that name what does not exist or cannot work together."""
    study, place = settings["category"][dataset], f"category.{dataset}"
    for representation in [study["representation"], *study["ablations"]]:
        refer(f"{place}: a representation", representation, settings["representations"])
    check_kind(place, settings["datasets"][dataset]["kind"])
    check_methods(place, study, settings["methods"])
    check_exhibits(place, study.get("exhibits", {}), exhibits_of(ROOM), study["subsets"])
    check_rankers(place, study)
    if "ratings" in study:
        check_ratings(place, study)
    if study["splits"]["validation"] >= study["splits"]["train"]:
        raise LookalikeError(f"config: {place}.splits.validation must be smaller than splits.train")


def check_kind(place: str, kind: str) -> None:
    """Refuse a data set without classes."""
    of_others = {"landmark": LANDMARK_KINDS, "web": WEB_KINDS, "finegrained": TRIPLET_KINDS}
    for study, kinds in of_others.items():
        if kind in kinds:
            raise LookalikeError(
                f"config: {place} needs a data set of classes, not of kind {kind}: list it under {study}"
            )


def check_methods(place: str, study: Mapping[str, Any], methods: Mapping[str, Any]) -> None:
    """Refuse methods that do not exist, have two roles, or cannot take theirs."""
    refer_once(place, {role: study[role] for role in ROLES}, methods)
    for method in study.get("ablation_methods", []):
        refer(f"{place}.ablation_methods", method, study["methods"])
    for method in study["projected"]:
        if "trace" not in methods[method]:
            raise LookalikeError(f"config: {place}.projected names {method!r}, which needs a `trace` to be drawn")
    for method in study["overrides"]:
        refer(f"{place}.overrides", method, methods)


def check_rankers(place: str, study: Mapping[str, Any]) -> None:
    """Refuse to average more rankers than are trained, or on more folds than there are."""
    rankers = study.get("rankers")
    if rankers and max(rankers["averages"]) > rankers["count"]:
        raise LookalikeError(f"config: {place}.rankers.averages must not be larger than its count, {rankers['count']}")
    if rankers and rankers.get("folds", 1) > study["splits"]["folds"]:
        raise LookalikeError(f"config: {place}.rankers.folds must not be larger than splits.folds")


def check_ratings(place: str, study: Mapping[str, Any]) -> None:
    """Refuse to show raters a subset, a fold or a method that the study does not run."""
    refer(f"{place}.ratings.subset", study["ratings"]["subset"], study["subsets"])
    if study["ratings"]["fold"] >= study["splits"]["folds"]:
        raise LookalikeError(
            f"config: {place}.ratings.fold must be one of the {study['splits']['folds']} partitions, counted from 0"
        )
    if "oasis" not in study["methods"]:
        raise LookalikeError(f"config: {place}.ratings shows what OASIS retrieves: list oasis under {place}.methods")


def run_methods(config: Config, dataset: str) -> list[str]:
    """Methods that are selected, fitted and ranked."""
    study = config[ROOM][dataset]
    return [*study["methods"], *study["variants"], *study["timed"]]


def subset_settings(config: Config, dataset: str, subset: str) -> dict[str, Any]:
    """Settings of one subset, or a sentence that says which there are."""
    subsets = config[ROOM][dataset]["subsets"]
    if subset not in subsets:
        raise LookalikeError(f"{dataset} has no subset {subset!r} in config.yaml; there are: {', '.join(subsets)}")
    found: dict[str, Any] = subsets[subset]
    return found


def folds(config: Config, dataset: str) -> list[int]:
    """Numbers of the partitions."""
    return list(range(config[ROOM][dataset]["splits"]["folds"]))


def batches(config: Config, dataset: str) -> list[Batch]:
    """Every batch of runs and traces, one rule each; of a fold and of a method, runs and traces are apart."""
    methods = [*run_methods(config, dataset), *config[ROOM][dataset]["projected"]]
    sizes = {size: methods_in(config, dataset, size, methods) for size in SIZES}
    small = [
        batch_of_methods(config, dataset, size, sizes[size], maker)
        for size in SIZES[:2]
        for maker in MAKERS
        if sizes[size]
    ]
    return [*small, *batches_of_subsets(config, dataset, sizes["subset"])]


def batch_of_methods(config: Config, dataset: str, size: str, methods: list[str], maker: str) -> Batch:
    """Jobs that run, or trace, one fold or all folds of a method on a subset."""
    numbers, part = (["{fold}"], "{fold}") if size == "fold" else (folds(config, dataset), "all")
    what = "run" if maker == "protocol" else "trace"
    return Batch(
        name=f"{what}_{size}",
        log=f"logs/{{dataset}}/{what}/{{representation}}/{{subset}}/{{method}}/{part}.log",
        files=[f"{RUN_OF_METHOD}/{fold}/{file}" for fold in numbers for file in MAKERS[maker]],
        allowed={"dataset": [dataset], "method": methods},
        fitted=methods,
    )


def batches_of_subsets(config: Config, dataset: str, methods: list[str]) -> list[Batch]:
    """One job for each subset in each representation, which runs and traces all of some methods."""
    found = []
    run, traces = methods_by_representation(config, dataset), shown_traces(config, dataset)
    for representation, subset in product(run, config[ROOM][dataset]["subsets"]):
        made = {"protocol": run[representation],
                "traces": [method for *key, method in traces if key == [representation, subset]]}  # fmt: skip
        wanted = [(maker, method) for maker in MAKERS for method in made[maker] if method in methods]
        keys = [(method, fold, file) for maker, method in wanted for fold in folds(config, dataset)
                for file in MAKERS[maker]]  # fmt: skip
        batch = Batch(
            name=f"run_subset_{representation}_{subset}",
            log="logs/{dataset}/run/{representation}/{subset}.log",
            files=[f"results/{{dataset}}/runs/{{representation}}/{{subset}}/{method}/{fold}/{file}"
                   for method, fold, file in keys],
            allowed={"dataset": [dataset], "representation": [representation], "subset": [subset]},
            fitted=list(dict.fromkeys(method for _, method in wanted)),
        )  # fmt: skip
        found += [batch] if wanted else []
    return found


def makers(batch: Batch) -> dict[str, str]:
    """Of a batch's files, the one by which a job knows what to run, to the module of this study that runs it."""
    names = {file.rpartition("/")[2] for file in batch.files}
    return {files[0]: module for module, files in MAKERS.items() if files[0] in names}


def ranker_batch(config: Config, dataset: str) -> Batch:
    """Jobs that train one ranker each; where batches are subsets, one job for all of them."""
    study = config[ROOM][dataset]
    numbers = range(study["rankers"]["count"]) if study.get("batch") == "subset" else ["{ranker}"]
    return Batch(
        name="train_rankers",
        log=f"logs/{{dataset}}/rankers/{{representation}}/{{subset}}/{'all' if len(numbers) > 1 else '{ranker}'}.log",
        files=[f"{RANKERS}/{number}.npz" for number in numbers],
        allowed={"dataset": [dataset]},
        fitted=["oasis"],
    )


def methods_by_representation(config: Config, dataset: str) -> dict[str, list[str]]:
    """Representation to the methods that are run in it, the study's own first."""
    study = config[ROOM][dataset]
    others = dict.fromkeys(study["ablations"], study.get("ablation_methods", study["methods"]))
    return {study["representation"]: run_methods(config, dataset)} | others


def runs(config: Config, dataset: str, file: str, *, ablations: bool = True, timed: bool = True) -> list[str]:
    """One file of every run, with or without further representations and what is run for its times."""
    study = config[ROOM][dataset]
    left_out = set() if timed else set(study["timed"])
    shown = methods_by_representation(config, dataset).items()
    return [
        path
        for representation, methods in shown
        if ablations or representation == study["representation"]
        for path in _files(config, dataset, file, representation, study["subsets"],
                           [method for method in methods if method not in left_out])
    ]  # fmt: skip


def _files(
    config: Config, dataset: str, file: str, representation: str, subsets: Iterable[str], methods: Iterable[str]
) -> list[str]:
    names = product(subsets, methods, folds(config, dataset))
    folder = f"results/{dataset}/runs/{representation}"
    return [f"{folder}/{subset}/{method}/{fold}/{file}" for subset, method, fold in names]


def traced(config: Config, dataset: str, methods: Iterable[str]) -> list[str]:
    """Those of some methods whose mAP is traced along training."""
    return [method for method in methods if "trace" in method_spec(config, dataset, method)]


def subsets_needing(config: Config, dataset: str, need: str) -> list[str]:
    """Subsets of which exhibits show something, such as ``rankers``."""
    study = config[ROOM][dataset]
    shown = [study.get("exhibits", {}).get(exhibit.id, list(study["subsets"]))
             for exhibit in exhibits(config, dataset) if need in exhibit.needs]  # fmt: skip
    return [subset for subset in study["subsets"] if any(subset in subsets for subsets in shown)]


def shown_traces(config: Config, dataset: str) -> list[tuple[str, str, str]]:
    """Representation, subset and method of every trace along training that an exhibit shows."""
    study = config[ROOM][dataset]
    needs = TRACES | {"projected_traces": study["projected"]}
    shown = {(subset, method) for need, methods in needs.items() for subset in subsets_needing(config, dataset, need)
             for method in traced(config, dataset, methods)}  # fmt: skip
    return [(study["representation"], *names) for names in sorted(shown)]


def number_files(config: Config, dataset: str) -> list[str]:
    """Every table of numbers that is put into the study's one: of runs, traces, rankers and bounds on mistakes."""
    representation = config[ROOM][dataset]["representation"]
    curves = [file for own, subset, method in shown_traces(config, dataset)
              for file in _files(config, dataset, "curve.parquet", own, [subset], [method])]  # fmt: skip
    others = {"rankers": "rankers/{}/{}/curves.parquet", "mistakes": "bounds/{}/{}.parquet"}
    parts = [f"results/{dataset}/{pattern.format(representation, subset)}" for need, pattern in others.items()
             for subset in subsets_needing(config, dataset, need)]  # fmt: skip
    return [*runs(config, dataset, "metrics.parquet"), *curves, *parts]


def compared_families(config: Config, dataset: str) -> dict[str, list[str]]:
    """The methods that OASIS is compared with, by question: competitors, and its own variants."""
    return {name: methods for name, methods in families_of(config[ROOM][dataset]).items() if methods}


def ranker_folds(config: Config, dataset: str) -> list[int]:
    """The partitions that rankers are trained on."""
    return folds(config, dataset)[: config[ROOM][dataset]["rankers"].get("folds")]


def exhibits(config: Config, dataset: str) -> list[Exhibit]:
    """Exhibits that the study of a data set has."""
    return planned(ROOM, exhibit_settings(config, dataset, ""))


def exhibit_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table or file, as exhibits need it, to where it is."""
    study, data = config[ROOM][dataset], config["datasets"][dataset]
    results = f"results/{dataset}"
    descriptor = f"{results}/descriptors/{config['representations'][study['representation']]['descriptor']}"
    metrics = f"{results}/{ROOM}/metrics.parquet"
    parts = dict.fromkeys((*TRACES, "projected_traces", "rankers", "mistakes"), metrics)
    files: dict[str, str | list[str]] = {
        "metrics": metrics,
        **parts,
        "fits": f"{results}/timing.parquet",
        "selections": f"{results}/selections.parquet",
        "manifest": f"{results}/manifest.parquet",
        "images": f"{results}/images.json",
        "pool": f"{results}/codebook_pool.parquet",
        "palette": f"{descriptor}/palette.npy",
        "codebook": f"{results}/features/{study['representation']}/codebook.npy",
        "blocks": [f"{descriptor}/blocks-{shard:03d}.npz" for shard in range(data["shards"])],
        "dropped": [f"{results}/splits/{subset}-dropped.csv" for subset in study["subsets"]],
    }
    if {BEFORE, AFTER} <= set(study["methods"]):
        shown = shown_fold(study)
        runs = f"{results}/runs/{study['representation']}/{shown['subset']}"
        files["ranks"] = [f"{runs}/{method}/{shown['fold']}/ranks.npz" for method in (BEFORE, AFTER)]
    return files | ({"comparison": f"{results}/comparison.csv"} if can_compare(study) else {})


def shown_fold(study: Config) -> dict[str, Any]:
    """``subset`` and ``fold`` whose neighbours are shown: those that people rate, else the last subset's first."""
    rated = study.get("ratings") or {}
    return {"subset": rated.get("subset", list(study["subsets"])[-1]), "fold": rated.get("fold", 0)}


def exhibit_settings(config: Config, dataset: str, not_run: str) -> dict[str, Any]:
    """What exhibits have to know besides the numbers, as plain settings of a `CategoryStudy`."""
    study, data = config[ROOM][dataset], config["datasets"][dataset]
    methods = [*run_methods(config, dataset), *study["projected"]]
    specs = {method: method_spec(config, dataset, method) for method in methods}
    traces = traced(config, dataset, methods)
    oasis = [specs[method] for method in study["methods"] if method in traces and specs[method]["learner"] == "OASIS"]
    return {
        "dataset": dataset,
        "title": data.get("title", dataset),
        "kind": data["kind"],
        "synthetic": data["kind"] == "synthetic",
        "not_run": not_run,
        "representation": study["representation"],
        "representation_settings": {
            name: config["representations"][study["representation"]][name] for name in ("words", "hellinger")
        },
        "splits": study["splits"],
        "subsets": {subset: _subset(subset, settings) for subset, settings in study["subsets"].items()},
        "exhibits": study.get("exhibits", {}),
        **{role: study[role] for role in ROLES},
        "traced": traces,
        "titles": {method: spec["title"] for method, spec in specs.items() if "title" in spec},
        "notes": {method: spec["note"] for method, spec in specs.items() if spec.get("note")},
        "projection_intervals": {
            method: specs[method]["parameters"].get("projection_interval") for method in study["projected"]
        },
        "traced_aggressiveness": oasis[0]["trace"]["aggressiveness"] if oasis else 0.1,
        "ranker_aggressiveness": study["rankers"]["aggressiveness"] if "rankers" in study else None,
        "bounds_mistakes": "loss_bound" in study,
        "neighbours": shown_fold(study),
        "seed": config["seed"],
    }


def _subset(subset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What exhibits have to know about a subset; ``n_classes`` is 0 as long as only a scan can tell."""
    classes, published = settings["classes"], published_subsets().get(subset, [])
    asked = published if classes == "published" else classes if isinstance(classes, list) else []
    told = {name: settings[name] for name in ("title", "printed", "classes") if name in settings}
    return {**told, "n_classes": len(asked), "published_classes": published}


@cache
def published_subsets() -> dict[str, list[str]]:
    """Subset to the folders that the papers list under this id."""
    return dict(read_published_subsets(RESOURCES / "class-subsets.csv"))
