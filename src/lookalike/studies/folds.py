"""What every job of the category study starts from: a fold's images, their tf-idf rows, its seeds, its learner.

Seeds are named here, so that a fold's numbers depend on the root seed, subset and fold, and on nothing else that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator, integer_seed
from lookalike.learners.registry import learner_class


@dataclass(frozen=True)
class Images:
    """Rows of the counts, and their classes."""

    rows: npt.NDArray[np.int32]
    labels: npt.NDArray[np.str_]


def images_of(split: pd.DataFrame, fold: int, seed: int, subset: str) -> dict[str, Images]:
    """Rows and labels of a fold's parts; train is learn and validation together.

    Training rows ascend. Rows that are ranked stand in a random order: manifests are sorted by class, equal
    similarities keep the order of the rows, and those of images without a common visterm are many and equal.
    ``ranked training`` are the training images in such an order.
    """
    table = split[split["fold"] == fold].sort_values("image_id", kind="stable")
    if table.empty:
        known = sorted(set(split["fold"].tolist()))
        raise LookalikeError(f"fold {fold} is not in the split table, which has folds {known}: choose one of them")
    shuffled = table.iloc[generator(seed, "category", subset, "fold", int(fold), "order").permutation(len(table))]
    parts = {
        "train": table[table["role"] == "train"],
        "learn": table[(table["role"] == "train") & ~table["validation"].astype(bool)],
        "validation": shuffled[(shuffled["role"] == "train") & shuffled["validation"].astype(bool)],
        "test": shuffled[shuffled["role"] == "test"],
        "ranked training": shuffled[shuffled["role"] == "train"],
    }
    return {
        name: Images(rows=part["image_id"].to_numpy(dtype=np.int32), labels=part["label"].to_numpy(dtype=np.str_))
        for name, part in parts.items()
    }


def ranking_order(images: Mapping[str, Images]) -> npt.NDArray[np.intp]:
    """Return where each of ``ranked training`` stands among the training images."""
    return np.searchsorted(images["train"].rows, images["ranked training"].rows)


def tfidf_rows(counts: sp.csr_array, learn: npt.NDArray[np.int32], score: npt.NDArray[np.int32]) -> tuple[Any, Any]:
    """tf-idf rows of two sets of images, with document frequencies of the first."""
    from lookalike.features.visterms import TfidfVisterms

    weights = TfidfVisterms().fit(counts[learn])
    return weights.transform(counts[learn]), weights.transform(counts[score])


def fold_seed(root: int, subset: str, fold: int, purpose: str) -> int:
    """Not named by the method: variants of one learner see the same stream of triplets."""
    return integer_seed(root, "category", subset, "fold", int(fold), purpose)


def learner_maker(
    spec: Mapping[str, Any], root: int, names: tuple[str, int]
) -> Callable[[str], Callable[[dict[str, Any]], Any]]:
    """Return ``maker(purpose)(parameters)``; all candidates of one purpose share one seed, never a hyper-parameter."""
    learner = learner_class(spec["learner"])

    def maker(purpose: str) -> Callable[[dict[str, Any]], Any]:
        def make(parameters: dict[str, Any]) -> Any:
            arguments = {**(spec.get("parameters") or {}), **parameters}
            unknown = sorted(set(arguments) - set(learner().get_params()))
            if unknown:
                raise LookalikeError(
                    f"{spec['learner']} has no parameter {unknown[0]!r}, which the configuration sets or selects; "
                    f"it has: {', '.join(sorted(learner().get_params()))}"
                )
            made = learner(**arguments)
            if "random_state" in made.get_params():
                made.set_params(random_state=fold_seed(root, *names, purpose))
            return made

        return make

    return maker
