"""What the settings of a category study must hold to before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import LANDMARK_KINDS, TRIPLET_KINDS, WEB_KINDS
from lookalike.core.settings.sentences import check_exhibits, refer, refer_once

METHOD_ROLES = ("methods", "variants", "timed", "projected")
"""Keys of a study that list methods; a method has one role in it."""

EXHIBITS = (
    "oasis-jmlr-2010/table4",
    "oasis-jmlr-2010/fig5",
    "oasis-jmlr-2010/table5",
    "oasis-jmlr-2010/fig6",
    "oasis-jmlr-2010/fig7",
    "oasis-jmlr-2010/fig8",
    "oasis-jmlr-2010/fig9",
    "oasis-2009-draft/table1",
    "oasis-2009-draft/fig3",
    "oasis-2009-draft/table2",
    "oasis-2009-draft/fig4",
    "oasis-2009-draft/fig5",
    "oasis-jmlr-2010/text",
    "representation/ablations",
    "learning/comparison",
    "learning/claims",
    "learning/mcml",
    "learning/symmetry",
    "learning/loss_bound",
)
"""Exhibits whose subsets `exhibits` may choose."""


def check(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse settings of a category study that name what does not exist or cannot work together."""
    study, place = settings["category"][dataset], f"category.{dataset}"
    for representation in [study["representation"], *study["ablations"]]:
        refer(f"{place}: a representation", representation, settings["representations"])
    check_kind(place, settings["datasets"][dataset]["kind"])
    check_methods(place, study, settings["methods"])
    check_exhibits(place, study.get("exhibits", {}), EXHIBITS, study["subsets"])
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
    refer_once(place, {role: study[role] for role in METHOD_ROLES}, methods)
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
