"""What the settings ask for of the category study: its runs, the files behind its exhibits, and these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import lookalike.studies.category.exhibits  # noqa: F401 - fills in the registry
from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import LANDMARK_KINDS, TRIPLET_KINDS, VISTERM_KINDS, WEB_KINDS, settings_of_data
from lookalike.core.settings.methods import method_spec
from lookalike.core.settings.sentences import check_exhibits, refer, refer_once
from lookalike.data.subsets import read_published_subsets
from lookalike.exhibits.registry import Exhibit, exhibits_of
from lookalike.studies.batches import SIZES, Batch, contrast_tables, methods_in, run_files
from lookalike.studies.category.comparison import can_compare
from lookalike.studies.category.neighbours import AFTER, BEFORE
from lookalike.studies.category.study import ROLES

ROOM = "category"
RESOURCES = Path(__file__).resolve().parents[4] / "workflow" / "resources"
TRACES = {"oasis_traces": ("oasis",), "mcml_traces": ("mcml",), "batch_traces": ("mcml", "lmnn")}
"""What an exhibit needs of the table of numbers to the methods that are traced for it."""
TOLD = {"notes": "note", "time_limits": "time_limit", "select": "select"}
"""What exhibits have to know of the methods on a subset, to the setting."""
RUN_FILES = ("model.lookalike", "fit.json", "selection.parquet", "metrics.parquet", "ranks.npz")
SIDE_STUDIES = {"rankers": "rankers", "loss_bound": "mistakes", "transfer": "transfer"}
"""Section of the settings, and module of this study, to what exhibits need of it."""
MAKERS = {"protocol": RUN_FILES, "traces": ("curve.parquet",)}
"""Module of this study to what it makes of a run."""
OF_IMAGES = {"images", "palette", "codebook", "blocks"}
"""What exhibits need that only images have; a data set of visterm counts has none of it."""

Config = Mapping[str, Any]

# a plan asks for every subset, and the file is read each time
_published = cache(read_published_subsets)


def check(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse settings of a category study that name what does not exist or cannot work together."""
    study, place = settings[ROOM][dataset], f"category.{dataset}"
    for representation in [study["representation"], *study["ablations"]]:
        refer(f"{place}: a representation", representation, settings["representations"])
    kind = settings["datasets"][dataset]["kind"]
    for other, kinds in {"landmark": LANDMARK_KINDS, "web": WEB_KINDS, "finegrained": TRIPLET_KINDS}.items():
        if kind in kinds:
            raise LookalikeError(
                f"config: {place} needs a data set of classes, not of kind {kind}: list it under {other}"
            )
    if kind in VISTERM_KINDS and (more := [key for key in ("ablations", "ratings") if study.get(key)]):
        raise LookalikeError(
            f"config: {place}.{more[0]} needs images, and a data set of kind {kind} has none: leave it out"
        )
    check_methods(place, study, settings["methods"])
    check_exhibits(place, study.get("exhibits", {}), exhibits_of(ROOM), study["subsets"])
    check_numbers(place, study)


def check_methods(place: str, study: Mapping[str, Any], methods: Mapping[str, Any]) -> None:
    """Refuse methods that do not exist, have two roles, or cannot take theirs, and those of a subset alone."""
    refer_once(place, {role: study[role] for role in ROLES}, methods)
    for method in study.get("ablation_methods", []):
        refer(f"{place}.ablation_methods", method, study["methods"])
    for method in study["projected"]:
        if "trace" not in methods[method]:
            raise LookalikeError(f"config: {place}.projected names {method!r}, which needs a `trace` to be drawn")
    for method in study["overrides"]:
        refer(f"{place}.overrides", method, methods)
    named = {method for role in ROLES for method in study[role]}
    for subset, described in study["subsets"].items():
        for method in described.get("methods", ()):
            refer(f"{place}.subsets.{subset}", method, named)
        for method in described["overrides"]:  # which a file laid over this one may not run
            refer(f"{place}.subsets.{subset}", method, methods)


def check_numbers(place: str, study: Mapping[str, Any]) -> None:
    """Refuse rankers, ratings and cuts that the partitions, subsets and methods of the study do not have."""
    splits, rankers, ratings = study["splits"], study.get("rankers"), study.get("ratings")
    wrong = ""
    if rankers and max(rankers["averages"]) > rankers["count"]:
        wrong = f"rankers.averages must not be larger than its count, {rankers['count']}"
    elif rankers and rankers.get("folds", 1) > splits["folds"]:
        wrong = "rankers.folds must not be larger than splits.folds"
    elif ratings:
        refer(f"{place}.ratings.subset", ratings["subset"], study["subsets"])
        if ratings["fold"] >= splits["folds"]:
            wrong = f"ratings.fold must be one of the {splits['folds']} partitions, counted from 0"
        elif not on_subset(study, ratings["subset"], {"oasis"} & set(study["methods"])):
            wrong = f"ratings shows what OASIS retrieves: list oasis under {place}.methods"
    if not wrong and splits["validation"] >= splits["train"]:
        wrong = "splits.validation must be smaller than splits.train"
    if wrong:
        raise LookalikeError(f"config: {place}.{wrong}")


def run_methods(config: Config, dataset: str) -> list[str]:
    """Methods that are selected, fitted and ranked."""
    study = config[ROOM][dataset]
    return [method for role in ROLES if role != "projected" for method in study[role]]


def on_subset(study: Mapping[str, Any], subset: str, methods: Iterable[str]) -> list[str]:
    """Those of some methods that run on a subset; minima only where `learning/minimum` shows them."""
    chosen = study["subsets"][subset].get("methods")
    unshown = () if subset in study.get("exhibits", {}).get("learning/minimum", [subset]) else study["minima"]
    return [method for method in methods if (chosen is None or method in chosen) and method not in unshown]


def subset_settings(config: Config, dataset: str, subset: str) -> dict[str, Any]:
    """Settings of one subset, or a sentence that says which there are."""
    subsets: dict[str, dict[str, Any]] = config[ROOM][dataset]["subsets"]
    if subset not in subsets:
        raise LookalikeError(f"{dataset} has no subset {subset!r} in config.yaml; there are: {', '.join(subsets)}")
    return subsets[subset]


def folds(config: Config, dataset: str) -> list[int]:
    """Numbers of the partitions."""
    return list(range(config[ROOM][dataset]["splits"]["folds"]))


def batches(config: Config, dataset: str) -> list[Batch]:
    """Every batch of runs and traces, one rule each; of a fold and of a method, runs and traces are apart."""
    methods = [*run_methods(config, dataset), *config[ROOM][dataset]["projected"]]
    sizes = {size: methods_in(config, dataset, size, methods) for size in SIZES}
    small = [
        Batch(
            name=f"{what}_{size}",
            log=f"logs/{{dataset}}/{what}/{{representation}}/{{subset}}/{{method}}/{part}.log",
            files=run_files(fold=of_folds, file=MAKERS[maker]),
            allowed={"dataset": [dataset], "method": sizes[size]},
            fitted=sizes[size],
        )
        for size, part, of_folds in (("fold", "{fold}", ["{fold}"]), ("method", "all", folds(config, dataset)))
        for what, maker in (("run", "protocol"), ("trace", "traces"))
        if sizes[size]
    ]
    shown = methods_by_representation(config, dataset)
    large = [batch_of_subset(config, dataset, representation, subset, sizes["subset"])
             for representation, subset in product(shown, config[ROOM][dataset]["subsets"])]  # fmt: skip
    return [*small, *(batch for batch in large if batch.files)]


def batch_of_subset(config: Config, dataset: str, representation: str, subset: str, methods: list[str]) -> Batch:
    """A job that runs and traces all of some methods on a subset."""
    traces = [method for *key, method in shown_traces(config, dataset) if key == [representation, subset]]
    run = methods_by_representation(config, dataset)[representation]
    made = {"protocol": on_subset(config[ROOM][dataset], subset, run), "traces": traces}
    wanted = [(maker, method) for maker in MAKERS for method in made[maker] if method in methods]
    files = [run_files(method=[method], fold=folds(config, dataset), file=MAKERS[maker]) for maker, method in wanted]
    return Batch(
        name=f"run_subset_{representation}_{subset}",
        log="logs/{dataset}/run/{representation}/{subset}.log",
        files=[file for of_method in files for file in of_method],
        allowed={"dataset": [dataset], "representation": [representation], "subset": [subset]},
        fitted=list(dict.fromkeys(method for _, method in wanted)),
    )


def makers(batch: Batch) -> dict[str, str]:
    """Of a batch's files, the one by which a job knows what to run, to the module of this study that runs it."""
    names = {file.rpartition("/")[2] for file in batch.files}
    return {files[0]: module for module, files in MAKERS.items() if files[0] in names}


def methods_by_representation(config: Config, dataset: str) -> dict[str, list[str]]:
    """Representation to the methods that are run in it, the study's own first."""
    study = config[ROOM][dataset]
    others = dict.fromkeys(study["ablations"], study.get("ablation_methods", study["methods"]))
    return {study["representation"]: run_methods(config, dataset)} | others


def runs(config: Config, dataset: str, file: str, *, ablations: bool = True, timed: bool = True) -> list[str]:
    """One file of every run, with or without further representations and what is run for its times or its minimum."""
    study = config[ROOM][dataset]
    shown = methods_by_representation(config, dataset)
    if not ablations:
        shown = {study["representation"]: shown[study["representation"]]}
    left_out = () if timed else (*study["timed"], *study["minima"])
    return [
        f"results/{dataset}/runs/{representation}/{subset}/{method}/{fold}/{file}"
        for representation, methods in shown.items()
        for subset in study["subsets"]
        for method, fold in product(on_subset(study, subset, methods), folds(config, dataset))
        if method not in left_out
    ]


def subsets_needing(config: Config, dataset: str, need: str) -> list[str]:
    """Subsets of which exhibits show something, such as ``rankers``."""
    study = config[ROOM][dataset]
    shown = [study.get("exhibits", {}).get(exhibit.id, list(study["subsets"]))
             for exhibit in exhibits(config, dataset) if need in exhibit.needs]  # fmt: skip
    return [subset for subset in study["subsets"] if any(subset in subsets for subsets in shown)]


def shown_traces(config: Config, dataset: str) -> list[tuple[str, str, str]]:
    """Representation, subset and method of every trace along training that an exhibit shows."""
    study = config[ROOM][dataset]
    needs, run = TRACES | {"projected_traces": study["projected"]}, {*run_methods(config, dataset), *study["projected"]}
    shown = {(subset, method) for need, methods in needs.items() for subset in subsets_needing(config, dataset, need)
             for method in on_subset(study, subset, methods)
             if method in run and "trace" in method_spec(config, dataset, method, subset=subset)}  # fmt: skip
    return [(study["representation"], *names) for names in sorted(shown)]


def number_files(config: Config, dataset: str) -> list[str]:
    """Every table of numbers that is put into the study's one: of runs, traces and side studies."""
    results, own = f"results/{dataset}", config[ROOM][dataset]["representation"]
    curves = [f"{results}/runs/{'/'.join(trace)}/{fold}/curve.parquet"
              for trace, fold in product(shown_traces(config, dataset), folds(config, dataset))]  # fmt: skip
    sides = [f"{results}/{side}/{own}/{subset}.parquet"
             for side, need in SIDE_STUDIES.items() for subset in subsets_needing(config, dataset, need)]  # fmt: skip
    return [*runs(config, dataset, "metrics.parquet"), *curves, *sides]


def exhibits(config: Config, dataset: str) -> list[Exhibit]:
    """Exhibits that the study of a data set has."""
    settings, without = exhibit_settings(config, dataset, ""), _not_made(config, dataset)
    return [one for one in exhibits_of(ROOM).values() if one.when(settings) and not without & set(one.needs)]


def exhibit_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table or file, as exhibits need it, to where it is."""
    study, data, results = config[ROOM][dataset], config["datasets"][dataset], f"results/{dataset}"
    descriptor = f"{results}/descriptors/{config['representations'][study['representation']]['descriptor']}"
    numbers = ("metrics", *TRACES, "projected_traces", *SIDE_STUDIES.values())
    files: dict[str, str | list[str]] = {
        **dict.fromkeys(numbers, f"{results}/{ROOM}/metrics.parquet"),
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
        run = f"{results}/runs/{study['representation']}/{{subset}}/{{method}}/{{fold}}/ranks.npz"
        files["ranks"] = [run.format(method=method, **shown_fold(study)) for method in (BEFORE, AFTER)]
    files |= contrast_tables(ROOM, dataset)
    return {name: of for name, of in files.items() if name not in _not_made(config, dataset)}


def contrast_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table to its file, of those that contrasts are made of; ``rankings`` are those that OASIS is in."""
    files = exhibit_files(config, dataset)
    tables = {name: files[name] for name in ("metrics", "fits", "selections")}
    ranked = runs(config, dataset, "ranks.npz", ablations=False, timed=False)
    return tables | ({"rankings": ranked} if can_compare(config[ROOM][dataset]) else {})


def _not_made(config: Config, dataset: str) -> set[str]:
    """What exhibits may need and this data set has not."""
    return OF_IMAGES if config["datasets"][dataset]["kind"] in VISTERM_KINDS else set()


def shown_fold(study: Config) -> dict[str, Any]:
    """``subset`` and ``fold`` whose neighbours are shown: those that people rate, else of the last subset with both."""
    rated, both = study.get("ratings") or {}, (BEFORE, AFTER)
    able = [subset for subset in study["subsets"] if len(on_subset(study, subset, both)) == len(both)]
    return {"subset": rated.get("subset", [*study["subsets"], *able][-1]), "fold": rated.get("fold", 0)}


def exhibit_settings(config: Config, dataset: str, not_run: str) -> dict[str, Any]:
    """What exhibits have to know besides the numbers, as plain settings of a `CategoryStudy`."""
    study = config[ROOM][dataset]
    specs = {method: method_spec(config, dataset, method)
             for method in (*run_methods(config, dataset), *study["projected"])}  # fmt: skip
    traces = [method for method, spec in specs.items() if "trace" in spec]
    oasis = [specs[method] for method in study["methods"] if method in traces and specs[method]["learner"] == "OASIS"]
    representation = config["representations"][study["representation"]]
    return {
        **settings_of_data(config, dataset, not_run),
        "representation": study["representation"],
        "representation_settings": {name: representation[name] for name in ("words", "hellinger")},
        "splits": study["splits"],
        "subsets": {subset: _subset(config, dataset, subset, list(specs)) for subset in study["subsets"]},
        "exhibits": study.get("exhibits", {}),
        **{role: study[role] for role in ROLES},
        "traced": traces,
        # a claim may name a method that this study does not run
        "titles": {method: spec["title"] for method, spec in (config["methods"] | specs).items() if "title" in spec},
        "projection_intervals": {
            method: specs[method]["parameters"].get("projection_interval") for method in study["projected"]
        },
        "traced_aggressiveness": oasis[0]["trace"]["aggressiveness"] if oasis else 0.1,
        "sides": {side: study[side]["aggressiveness"] for side in SIDE_STUDIES if side in study},
        "neighbours": shown_fold(study),
        "seed": config["seed"],
    }


def _subset(config: Config, dataset: str, subset: str, methods: list[str]) -> dict[str, Any]:
    """What exhibits have to know about a subset; ``n_classes`` is 0 as long as only a scan can tell."""
    settings, run = config[ROOM][dataset]["subsets"][subset], on_subset(config[ROOM][dataset], subset, methods)
    specs = {method: method_spec(config, dataset, method, subset=subset) for method in run}
    classes, published = settings["classes"], _published(RESOURCES / "class-subsets.csv").get(subset, [])
    asked = published if classes == "published" else classes if isinstance(classes, list) else []
    told = {name: settings[name] for name in ("title", "printed", "classes") if name in settings}
    return {
        **told,
        "n_classes": len(asked),
        "published_classes": published,
        "methods": run,
        **{name: {method: spec[key] for method, spec in specs.items() if key in spec} for name, key in TOLD.items()},
    }
