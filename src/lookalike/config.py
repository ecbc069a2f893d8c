"""The configuration: checked against its schema, completed with defaults, and held to its own cross-references.

The Snakefile calls `checked` once, before any rule is planned, so that a misspelt key costs a second and not an hour.
"""

from __future__ import annotations

import copy
import difflib
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import integer_seed
from lookalike.datasets.ground_truth import OXFORD_LANDMARKS
from lookalike.learners.registry import MODULES

Config = dict[str, Any]

METHOD_ROLES = ("methods", "variants", "timed", "projected")
"""Keys of a study that list methods; a method has one role in it."""

STUDIES = ("category", "landmark", "web", "finegrained")
"""Sections of studies; a data set belongs to one of them, because its results have one place."""

SYNTHETIC_KINDS = ("synthetic", "synthetic_landmarks", "synthetic_triplets")
"""Kinds of data sets whose images are made by code."""

WEB_KINDS = ("websim",)
"""Kinds of data sets that are a query log and visterms, without pictures."""

MADE_BY_CODE = (*SYNTHETIC_KINDS, *WEB_KINDS)
"""Kinds of data sets that need nothing put in place."""

LANDMARK_KINDS = ("oxford5k", "landmarks", "synthetic_landmarks")
"""Kinds of data sets that have ground truth for queries instead of classes."""

TRIPLET_KINDS = ("triplets", "class_triplets", "synthetic_triplets")
"""Kinds of data sets that have triplets of images, rated by people or by code, instead of classes."""

DIAGONAL = ("TFIDF", "QPAO", "DiagonalOASIS", "SOMLTG", "SOMLDA")
"""Learners of a diagonal metric: the only ones that a codebook of the landmark study leaves room for."""

REGULARIZED = ("SOMLTG", "SOMLDA")
"""Those of them whose lambda the landmark study varies."""


def checked(config: Mapping[str, Any], schema_path: str | os.PathLike[str]) -> Config:
    """Return a completed copy of `config`, or say in one sentence what is wrong with it.

    Parameters
    ----------
    config : mapping
        What config.yaml and its overlays hold.
    schema_path : path-like
        The JSON schema, as YAML.

    Returns
    -------
    dict
        A deep copy with every default filled in.

    Raises
    ------
    LookalikeError
        Unknown key, wrong type or value, a name that refers to nothing, or settings that cannot work together.
    """
    schema = yaml.safe_load(Path(schema_path).read_text(encoding="utf-8"))
    completed = copy.deepcopy(dict(config))
    error = best_match(Draft202012Validator(schema).iter_errors(completed))
    if error is not None:
        raise LookalikeError(_sentence(error))
    _fill(completed, schema, schema)
    _cross_check(completed)
    for dataset, settings in completed["datasets"].items():
        splits = completed["category"].get(dataset, {}).get("splits", {"train": 40, "test": 25})
        settings["pool"].setdefault("keep", splits["train"] + splits["test"])
    return completed


def method_spec(config: Mapping[str, Any], dataset: str, method: str, codebook: str | None = None) -> Config:
    """Return the settings of a method with the overrides that the study of `dataset` makes.

    Parameters
    ----------
    config : mapping
        As `checked` returns it.
    dataset, method : str
        Ids.
    codebook : str, optional
        Id of a codebook, whose own overrides in a landmark study come last.
    """
    spec: Config = copy.deepcopy(config["methods"][method])
    study = config[study_of(config, dataset)][dataset]
    of_codebook = study.get("codebook_overrides", {}).get(codebook, {})
    for overrides in (study["overrides"], of_codebook):
        for key, value in overrides.get(method, {}).items():
            if isinstance(value, Mapping) and isinstance(spec.get(key), dict):
                spec[key].update(value)
            else:
                spec[key] = value
    return spec


def study_of(config: Mapping[str, Any], dataset: str) -> str:
    """Return the section of the study that a data set belongs to."""
    return next(study for study in STUDIES if dataset in config[study])


def _fill(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> None:
    """Fill defaults in place, into nested objects and into the values of open maps."""
    schema = _resolved(schema, root)
    if not isinstance(value, dict):
        return
    for key, part in schema.get("properties", {}).items():
        if key not in value and "default" in part:
            value[key] = copy.deepcopy(part["default"])
        if key in value:
            _fill(value[key], part, root)
    rest = schema.get("additionalProperties")
    # what is marked as partial changes something else, and a default would change it too
    if isinstance(rest, Mapping) and not rest.get("x-partial"):
        for key in value.keys() - schema.get("properties", {}).keys():
            _fill(value[key], rest, root)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return root["$defs"][reference.removeprefix("#/$defs/")] if reference else schema


def _sentence(error: ValidationError) -> str:
    place = ".".join(str(part) for part in error.absolute_path) or "the top level"
    if "propertyNames" in error.absolute_schema_path and error.validator == "enum":
        name = str(error.instance)
        known = [str(value) for value in error.schema["enum"]] if isinstance(error.schema, Mapping) else []
        return f"config: {place} has no entry {name!r}; {_existing(name, known)}"
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        allowed = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
        known = sorted(allowed)
        unknown = sorted(set(error.instance) - set(known))
        return f"config: unknown key {unknown[0]!r} at {place}; {_existing(unknown[0], known)}"
    if error.validator == "type" and isinstance(error.instance, str) and _is_number(error.instance):
        return (
            f"config: {place} is the text {error.instance!r}, not a number: YAML reads an exponent as a number only "
            f"with a decimal point and a sign, as in {float(error.instance):.1e}"
        )
    return f"config: {place}: {error.message}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _existing(name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}there are: {', '.join(known) or 'none'}"


def _refer(place: str, name: str, known: Iterable[str]) -> None:
    known = list(known)
    if name not in known:
        raise LookalikeError(f"config: {place} names {name!r}, which does not exist; {_existing(name, known)}")


def _cross_check(config: Config) -> None:
    for dataset, settings in config["datasets"].items():
        if settings["kind"] not in MADE_BY_CODE and not settings.get("path"):
            raise LookalikeError(
                f"config: datasets.{dataset} needs a `path`: the folder of its images, relative to the work folder"
            )
        if settings["kind"] == "landmarks" and not settings.get("ground_truth"):
            raise LookalikeError(
                f"config: datasets.{dataset} needs a `ground_truth`: the folder of its ground-truth files "
                "(<landmark>_<n>_query.txt and the lists good, ok and junk), relative to the work folder"
            )
        if settings["kind"] in SYNTHETIC_KINDS:
            _synthetic_names(config, dataset)
    for representation, settings in config["representations"].items():
        _refer(f"representations.{representation}.descriptor", settings["descriptor"], config["descriptors"])
    for method, settings in config["methods"].items():
        _refer(f"methods.{method}.learner", settings["learner"], MODULES)
    for codebook, settings in config["codebooks"].items():
        _cross_check_codebook(config, codebook, settings)
    for first, second in itertools.combinations(STUDIES, 2):
        for dataset in config[first].keys() & config[second].keys():
            raise LookalikeError(f"config: {first} and {second} both list {dataset!r}: name it in one of them")
    for dataset, study in config["category"].items():
        _cross_check_study(config, dataset, study)
    for dataset, study in config["landmark"].items():
        _cross_check_landmarks(config, dataset, study)
    for dataset, study in config["web"].items():
        _cross_check_web(config, dataset, study)
    for dataset, study in config["finegrained"].items():
        _cross_check_triplets(config, dataset, study)


def in_demo(settings: Mapping[str, Any]) -> bool:
    """Whether a data set, by its settings, belongs to the demo: images made by code, or a small simulated log."""
    return settings["kind"] in SYNTHETIC_KINDS or bool(settings.get("demo"))


def _cross_check_web(config: Config, dataset: str, study: Config) -> None:
    from lookalike.datasets.web_simulation import WebSimulation

    place = f"web.{dataset}"
    _refer("web", dataset, config["datasets"])
    settings = config["datasets"][dataset]
    if settings["kind"] not in WEB_KINDS:
        raise LookalikeError(
            f"config: {place} needs a data set with a query log, of kind {', '.join(WEB_KINDS)}, not {settings['kind']}"
        )
    try:
        WebSimulation.from_settings(settings["simulation"], integer_seed(config["seed"], "datasets", dataset))
    except LookalikeError as error:
        raise LookalikeError(f"config: datasets.{dataset}.simulation: {error}") from error
    training = study["training"]
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


def _cross_check_triplets(config: Config, dataset: str, study: Config) -> None:
    from lookalike.features.describers import make_describer

    place = f"finegrained.{dataset}"
    _refer("finegrained", dataset, config["datasets"])
    kind = config["datasets"][dataset]["kind"]
    if kind not in TRIPLET_KINDS:
        raise LookalikeError(
            f"config: {place} needs a data set with triplets, of kind {', '.join(TRIPLET_KINDS)}, not {kind}"
        )
    for system, settings in study["features"].items():
        try:
            make_describer(system, **settings)
        except (LookalikeError, ValueError) as error:
            raise LookalikeError(f"config: {place}.features.{system}: {error}") from error
        except TypeError as error:
            raise LookalikeError(
                f"config: {place}.features.{system}: a setting is of the wrong type in {settings}: look it up in the "
                "docstring of the describer"
            ) from error
    shares = [study["sampler"]["out_of_class"], *(study.get("sampling_study") or {"out_of_class": []})["out_of_class"]]
    fractions = [share for share in shares if abs(100 * share - round(100 * share)) > 1e-6]
    if fractions:
        raise LookalikeError(
            f"config: {place}: a share of out-of-class negatives is a whole percent, such as 0.2, not {fractions[0]}"
        )


def _synthetic_names(config: Config, dataset: str) -> list[str]:
    """Names of a synthetic data set's classes or landmarks, after checking that its images can be drawn."""
    from lookalike.datasets.synthetic import SyntheticCategories
    from lookalike.datasets.synthetic_landmarks import SyntheticLandmarks
    from lookalike.datasets.synthetic_triplets import SyntheticTriplets

    settings, seed = config["datasets"][dataset], integer_seed(config["seed"], "datasets", dataset)
    try:
        if settings["kind"] == "synthetic":
            return SyntheticCategories.from_settings(settings["synthetic"], seed).class_names()
        if settings["kind"] == "synthetic_triplets":
            return SyntheticTriplets.from_settings(settings["synthetic_triplets"], seed).category_names()
        return SyntheticLandmarks.from_settings(settings["synthetic_landmarks"], seed).landmark_names()
    except LookalikeError as error:
        raise LookalikeError(f"config: datasets.{dataset}.{settings['kind']}: {error}") from error


def _cross_check_codebook(config: Config, codebook: str, settings: Config) -> None:
    place = f"codebooks.{codebook}"
    if codebook in config["representations"]:
        raise LookalikeError(f"config: {place} has the id of a representation: give it another one")
    if settings["published"]:
        return
    if "keypoints" not in settings:
        raise LookalikeError(f"config: {place} needs `keypoints`: the id of those it is learned from")
    _refer(f"{place}.keypoints", settings["keypoints"], config["keypoints"])


def _cross_check_landmarks(config: Config, dataset: str, study: Config) -> None:
    place = f"landmark.{dataset}"
    _refer("landmark", dataset, config["datasets"])
    kind = config["datasets"][dataset]["kind"]
    if kind not in LANDMARK_KINDS:
        raise LookalikeError(
            f"config: {place} needs a data set with ground truth, of kind {', '.join(LANDMARK_KINDS)}, not {kind}"
        )
    for codebook in study["codebooks"]:
        _refer(f"{place}.codebooks", codebook, config["codebooks"])
        if config["codebooks"][codebook]["published"] and kind != "oxford5k":
            raise LookalikeError(
                f"config: {place}.codebooks names {codebook!r}, whose words are those of Oxford5K only"
            )
    _check_landmark_names(config, dataset, study["landmarks"])
    _check_sizes(place, {codebook: config["codebooks"][codebook]["words"] for codebook in study["codebooks"]})
    listed = {role: study[role] for role in ("methods", "variants")}
    parts = {part: study[part]["methods"] for part in ("sweep", "dimensions") if part in study}
    for key, methods in (listed | parts | {"overrides": study["overrides"]}).items():
        for method in methods:
            _refer(f"{place}.{key}", method, config["methods"])
    twice = [method for method, n in Counter(m for methods in listed.values() for m in methods).items() if n > 1]
    if twice:
        raise LookalikeError(
            f"config: {place} lists {twice[0]!r} more than once under {', '.join(listed)}: name it once"
        )
    for codebook, overrides in study["codebook_overrides"].items():
        _refer(f"{place}.codebook_overrides", codebook, study["codebooks"])
        for method, changes in overrides.items():
            _refer(f"{place}.codebook_overrides.{codebook}", method, config["methods"])
            if "jobs" in changes:
                raise LookalikeError(
                    f"config: {place}.codebook_overrides.{codebook}.{method} sets `jobs`, which is the same for all "
                    f"codebooks: set it under {place}.overrides"
                )
    for method in dict.fromkeys(method for methods in (listed | parts).values() for method in methods):
        _check_landmark_method(config, dataset, method)
    if "sweep" in study and study["sweep"]["draws"] > study["learning"]["draws"]:
        raise LookalikeError(
            f"config: {place}.sweep.draws must not be larger than learning.draws, {study['learning']['draws']}"
        )


def _check_landmark_names(config: Config, dataset: str, landmarks: list[str] | str) -> None:
    """Refuse names that no landmark has, where they are known before the ground truth is there."""
    kind = config["datasets"][dataset]["kind"]
    if kind == "oxford5k" and landmarks == "all":
        raise LookalikeError(
            f"config: landmark.{dataset}.landmarks must list its landmarks, since nothing tells how many images each "
            f"has before the ground truth is fetched; there are: {', '.join(OXFORD_LANDMARKS)}"
        )
    if landmarks == "all" or kind == "landmarks":
        return
    known = list(OXFORD_LANDMARKS) if kind == "oxford5k" else _synthetic_names(config, dataset)
    for landmark in landmarks:
        _refer(f"landmark.{dataset}.landmarks", landmark, known)


def _check_sizes(place: str, sizes: Mapping[str, int]) -> None:
    """Refuse codebooks that are not each larger than the one before: the exhibits tell them apart by size."""
    twins = [codebook for codebook, words in sizes.items() if list(sizes.values()).count(words) > 1]
    if twins:
        raise LookalikeError(
            f"config: {place}.codebooks names {' and '.join(twins[:2])}, which have {sizes[twins[0]]:,} words each: "
            "name only one of a size"
        )
    if list(sizes.values()) != sorted(sizes.values()):
        raise LookalikeError(f"config: {place}.codebooks must go from small to large, not {list(sizes.values())} words")


def _check_landmark_method(config: Config, dataset: str, method: str) -> None:
    """Refuse a method that the landmark study cannot run as it is set."""
    study = config["landmark"][dataset]
    swept = method in study.get("sweep", {}).get("methods", [])
    for codebook in (None, *study["codebooks"]):
        spec = method_spec(config, dataset, method, codebook)
        _refer(f"methods.{method}.learner", spec["learner"], MODULES)
        if spec["learner"] not in DIAGONAL:
            raise LookalikeError(
                f"config: landmark.{dataset} names {method!r}, whose learner {spec['learner']} has no diagonal metric: "
                f"name methods of {', '.join(DIAGONAL)}"
            )
        if swept and spec["learner"] not in REGULARIZED:
            raise LookalikeError(
                f"config: landmark.{dataset}.sweep.methods names {method!r}, whose learner {spec['learner']} has no "
                f"lambda to vary: name methods of {', '.join(REGULARIZED)}"
            )
        for key in ("select", "trace"):
            if spec.get(key):
                raise LookalikeError(
                    f"config: landmark.{dataset} names {method!r}, which has a `{key}`, and the landmark study has no "
                    f"validation cut for it: take `{key}` out, or give the study a method of its own without it"
                )


def _cross_check_study(config: Config, dataset: str, study: Config) -> None:
    place = f"category.{dataset}"
    _refer("category", dataset, config["datasets"])
    for representation in [study["representation"], *study["ablations"]]:
        _refer(f"{place}: a representation", representation, config["representations"])
    kind = config["datasets"][dataset]["kind"]
    if kind in (*LANDMARK_KINDS, *WEB_KINDS, *TRIPLET_KINDS):
        its_study = "web" if kind in WEB_KINDS else "landmark" if kind in LANDMARK_KINDS else "finegrained"
        raise LookalikeError(
            f"config: {place} needs a data set of classes, not of kind {kind}: list it under {its_study}"
        )
    for role in METHOD_ROLES:
        for method in study[role]:
            _refer(f"{place}.{role}", method, config["methods"])
    for method in study.get("ablation_methods", []):
        _refer(f"{place}.ablation_methods", method, study["methods"])
    twice = [method for method, n in Counter(m for role in METHOD_ROLES for m in study[role]).items() if n > 1]
    if twice:
        raise LookalikeError(
            f"config: {place} lists {twice[0]!r} more than once under {', '.join(METHOD_ROLES)}: name it in one of them"
        )
    for method in study["projected"]:
        if "trace" not in config["methods"][method]:
            raise LookalikeError(f"config: {place}.projected names {method!r}, which needs a `trace` to be drawn")
    for method in study["overrides"]:
        _refer(f"{place}.overrides", method, config["methods"])
    for exhibit, subsets in study.get("exhibits", {}).items():
        for subset in subsets:
            _refer(f"{place}.exhibits.{exhibit}", subset, study["subsets"])
    rankers = study.get("rankers")
    if rankers and max(rankers["averages"]) > rankers["count"]:
        raise LookalikeError(f"config: {place}.rankers.averages must not be larger than its count, {rankers['count']}")
    if rankers and rankers.get("folds", 1) > study["splits"]["folds"]:
        raise LookalikeError(f"config: {place}.rankers.folds must not be larger than splits.folds")
    if "ratings" in study:
        _refer(f"{place}.ratings.subset", study["ratings"]["subset"], study["subsets"])
        if study["ratings"]["fold"] >= study["splits"]["folds"]:
            raise LookalikeError(
                f"config: {place}.ratings.fold must be one of the {study['splits']['folds']} partitions, counted from 0"
            )
        if "oasis" not in study["methods"]:
            raise LookalikeError(
                f"config: {place}.ratings shows what OASIS retrieves: list oasis under {place}.methods"
            )
    if study["splits"]["validation"] >= study["splits"]["train"]:
        raise LookalikeError(f"config: {place}.splits.validation must be smaller than splits.train")
