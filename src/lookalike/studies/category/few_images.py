"""Few training images: the papers expect constraints on the similarity to help then (JMLR sections 1 and 7)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pandas as pd

from lookalike.core.seeds import generator
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.protocol import run_fold
from lookalike.studies.category.settings import FewImagesOfMethods

LEAST_VALIDATION = 2
"""Validation images of a class: one alone has no other to find."""


def numbers_of(fold: Fold, settings: FewImagesOfMethods) -> pd.DataFrame:
    """Rank the fold's test images by methods that choose and learn from fewer images of each class."""
    rows = []
    for n_images, (method, spec) in product(settings.images, settings.fits.items()):
        metrics = run_fold(with_images(fold, n_images), spec).metrics
        rows += [(method, "map of few images", n_images, metrics["map"])] if metrics else []
    return fold.results(pd.DataFrame(rows, columns=["method", "metric", "x", "value"]))


def with_images(fold: Fold, n_images: int) -> Fold:
    """Return the fold with so many of its training images of each class, the first of a random order.

    Smaller sets are parts of larger ones. As large a share of them validates as in the whole fold.
    """
    own = fold.split[fold.split["fold"] == fold.number]
    train, others = own[own["role"] == "train"], own[own["role"] != "train"]
    order = generator(fold.root, "category", fold.subset, "fold", fold.number, "few images").permutation(len(train))
    shuffled = train.iloc[order]
    place = shuffled.groupby("label").cumcount()
    n_validation = max(LEAST_VALIDATION, round(n_images * train["validation"].mean()))
    chosen = shuffled.assign(validation=place < n_validation)[place < n_images]
    return replace(fold, split=pd.concat([chosen, others], ignore_index=True))
