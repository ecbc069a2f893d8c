"""What the settings of a landmark study must hold to before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import LANDMARK_KINDS
from lookalike.core.settings.methods import method_spec
from lookalike.core.settings.sentences import refer, refer_once
from lookalike.datasets.ground_truth import OXFORD_LANDMARKS
from lookalike.learners.registry import MODULES
from lookalike.studies.synthetic_names import synthetic_names

DIAGONAL = ("TFIDF", "QPAO", "DiagonalOASIS", "SOMLTG", "SOMLDA")
"""Learners of a diagonal metric: the only ones that a codebook of the landmark study leaves room for."""

REGULARIZED = ("SOMLTG", "SOMLDA")
"""Those of them whose lambda the landmark study varies."""


def check(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse settings of a landmark study that name what does not exist or cannot work together."""
    study, place = settings["landmark"][dataset], f"landmark.{dataset}"
    kind = settings["datasets"][dataset]["kind"]
    if kind not in LANDMARK_KINDS:
        raise LookalikeError(
            f"config: {place} needs a data set with ground truth, of kind {', '.join(LANDMARK_KINDS)}, not {kind}"
        )
    check_codebooks(settings, dataset)
    check_landmarks(settings, dataset)
    check_methods(settings, dataset)
    if "sweep" in study and study["sweep"]["draws"] > study["learning"]["draws"]:
        raise LookalikeError(
            f"config: {place}.sweep.draws must not be larger than learning.draws, {study['learning']['draws']}"
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
    if landmarks == "all" or kind == "landmarks":
        return
    known = OXFORD_LANDMARKS if kind == "oxford5k" else synthetic_names(settings, dataset)
    for landmark in landmarks:
        refer(place, landmark, known)


def check_methods(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse methods that do not exist or that the study cannot run, and changes to them that change nothing."""
    study, place = settings["landmark"][dataset], f"landmark.{dataset}"
    refer_once(place, {role: study[role] for role in ("methods", "variants")}, settings["methods"])
    parts = {part: study[part]["methods"] for part in ("sweep", "dimensions") if part in study}
    for part, methods in (parts | {"overrides": study["overrides"]}).items():
        for method in methods:
            refer(f"{place}.{part}", method, settings["methods"])
    for codebook, overrides in study["codebook_overrides"].items():
        # one that exists but is not named by this study is for an overlay that names it
        refer(f"{place}.codebook_overrides", codebook, settings["codebooks"])
        for method, changes in overrides.items():
            refer(f"{place}.codebook_overrides.{codebook}", method, settings["methods"])
            if "jobs" in changes:
                raise LookalikeError(
                    f"config: {place}.codebook_overrides.{codebook}.{method} sets `jobs`, which is the same for all "
                    f"codebooks: set it under {place}.overrides"
                )
    everywhere = [study["methods"], study["variants"], *parts.values()]
    for method in dict.fromkeys(method for methods in everywhere for method in methods):
        for codebook in (None, *study["codebooks"]):
            check_method(place, method, method_spec(settings, dataset, method, codebook))
    for method in parts.get("sweep", []):
        learner = method_spec(settings, dataset, method)["learner"]
        if learner not in REGULARIZED:
            raise LookalikeError(
                f"config: {place}.sweep.methods names {method!r}, whose learner {learner} has no lambda to vary: "
                f"name methods of {', '.join(REGULARIZED)}"
            )


def check_method(place: str, method: str, spec: Mapping[str, Any]) -> None:
    """Refuse a method that the landmark study cannot run as it is set."""
    refer(f"methods.{method}.learner", spec["learner"], MODULES)
    if spec["learner"] not in DIAGONAL:
        raise LookalikeError(
            f"config: {place} names {method!r}, whose learner {spec['learner']} has no diagonal metric: "
            f"name methods of {', '.join(DIAGONAL)}"
        )
    for key in ("select", "trace"):
        if spec.get(key):
            raise LookalikeError(
                f"config: {place} names {method!r}, which has a `{key}`, and the landmark study has no validation "
                f"cut for it: take `{key}` out, or give the study a method of its own without it"
            )
