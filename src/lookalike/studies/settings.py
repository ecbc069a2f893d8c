"""The settings of a whole run: completed, and held to what only learners, data sets and studies know."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import LANDMARK_KINDS, MADE_BY_CODE, STUDIES, SYNTHETIC_KINDS, in_demo
from lookalike.core.settings.methods import method_spec
from lookalike.core.settings.model import completed
from lookalike.core.settings.schema import Settings
from lookalike.core.settings.sentences import refer
from lookalike.learners.registry import MODULES
from lookalike.studies.category import plan as category
from lookalike.studies.finegrained import plan as finegrained
from lookalike.studies.landmark import plan as landmark
from lookalike.studies.recipes import recipe_of
from lookalike.studies.web import plan as web

__all__ = ["LANDMARK_KINDS", "MADE_BY_CODE", "STUDIES", "checked", "in_demo", "method_spec"]

CHECKS = {"category": category.check, "landmark": landmark.check, "web": web.check, "finegrained": finegrained.check}


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a completed plain copy of config.yaml with its overlays, or say in one sentence what is wrong with it."""
    settings = completed(Settings, config)
    for dataset in settings["datasets"]:
        check_data_set(settings, dataset)
    check_names(settings)
    check_one_study_each(settings)
    for study, check in CHECKS.items():
        for dataset in settings[study]:
            refer(study, dataset, settings["datasets"])
            check(settings, dataset)
    for dataset, data in settings["datasets"].items():
        splits = settings["category"].get(dataset, {}).get("splits", {"train": 40, "test": 25})
        data["pool"].setdefault("keep", splits["train"] + splits["test"])
    return settings


def check_data_set(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse a data set that its kind cannot be read or made from."""
    data = settings["datasets"][dataset]
    if data["kind"] not in MADE_BY_CODE and not data.get("path"):
        raise LookalikeError(
            f"config: datasets.{dataset} needs a `path`: the folder of its images, relative to the work folder"
        )
    if data["kind"] == "landmarks" and not data.get("ground_truth"):
        raise LookalikeError(
            f"config: datasets.{dataset} needs a `ground_truth`: the folder of its ground-truth files "
            "(<landmark>_<n>_query.txt and the lists good, ok and junk), relative to the work folder"
        )
    if data["kind"] in SYNTHETIC_KINDS:
        recipe_of(settings, dataset)


def check_names(settings: Mapping[str, Any]) -> None:
    """Refuse representations, methods and codebooks that name what does not exist."""
    for representation, described in settings["representations"].items():
        refer(f"representations.{representation}.descriptor", described["descriptor"], settings["descriptors"])
    for method, spec in settings["methods"].items():
        if "learner" not in spec:
            raise LookalikeError(f"config: methods.{method} needs a `learner`; there are: {', '.join(sorted(MODULES))}")
        refer(f"methods.{method}.learner", spec["learner"], MODULES)
    for codebook, described in settings["codebooks"].items():
        place = f"codebooks.{codebook}"
        if codebook in settings["representations"]:
            raise LookalikeError(f"config: {place} has the id of a representation: give it another one")
        if described["published"]:
            continue
        if "keypoints" not in described:
            raise LookalikeError(f"config: {place} needs `keypoints`: the id of those it is learned from")
        refer(f"{place}.keypoints", described["keypoints"], settings["keypoints"])


def check_one_study_each(settings: Mapping[str, Any]) -> None:
    """Refuse a data set that two studies list, because its results have one place."""
    for first, second in itertools.combinations(STUDIES, 2):
        for dataset in settings[first]:
            if dataset in settings[second]:
                raise LookalikeError(f"config: {first} and {second} both list {dataset!r}: name it in one of them")
