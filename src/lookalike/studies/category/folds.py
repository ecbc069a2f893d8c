"""A fold's images, their tf-idf rows, and its seeds, which depend on root seed, subset and fold alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from lookalike.core.seeds import generator
from lookalike.exhibits.results import results_frame
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners.oasis import PassiveAggressive
from lookalike.studies.fits import fold_seed


class Images(NamedTuple):
    """Rows of the counts, and their classes."""

    rows: npt.NDArray[np.int32]
    labels: npt.NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of a subset."""

    counts: sp.csr_array
    """Raw visterm counts, images x words; row = ``image_id``."""
    split: pd.DataFrame
    """The subset's split table: ``fold``, ``image_id``, ``label``, ``role``, ``validation``."""
    number: int
    root: int
    """Root seed."""
    subset: str

    @cached_property
    def images(self) -> dict[str, Images]:
        """Rows and labels of the fold's parts; train is learn and validation together."""
        table = self.split[self.split["fold"] == self.number].sort_values("image_id", kind="stable")
        # manifests are sorted by class, and of many equal similarities the first row would win: what is ranked is mixed
        order = generator(self.root, "category", self.subset, "fold", self.number, "order").permutation(len(table))
        train, shuffled = table[table["role"] == "train"], table.iloc[order]
        ranked = shuffled[shuffled["role"] == "train"]
        parts = {
            "train": train,
            "learn": train[~train["validation"].astype(bool)],
            "validation": ranked[ranked["validation"].astype(bool)],
            "test": shuffled[shuffled["role"] == "test"],
            "ranked training": ranked,
        }
        return {
            name: Images(part["image_id"].to_numpy(dtype=np.int32), part["label"].to_numpy(dtype=np.str_))
            for name, part in parts.items()
        }

    def rows(self, learn: str, score: str) -> tuple[sp.csr_array, sp.csr_array]:
        """tf-idf rows of two parts of the images, with document frequencies of the first."""
        learned, scored = (self.counts[self.images[part].rows] for part in (learn, score))
        idf = inverse_document_frequencies(learned)
        return tfidf_rows(learned, idf), tfidf_rows(scored, idf)

    def seed(self, purpose: str) -> int:
        """Seed of what is random in the fold, named by its purpose."""
        return fold_seed(self.root, self.subset, self.number, purpose)

    def results(self, rows: pd.DataFrame, **names: str) -> pd.DataFrame:
        """Return numbers of the fold as rows of results."""
        return results_frame(rows.assign(study="category", setting=self.subset, repeat=str(self.number), **names))


def symmetry_index(model: object, *, learned: bool = False) -> float | None:
    """||sym W||_F / ||W||_F of a bilinear model (draft equation 17), or of W - I, which is what it learned.

    None of another model, and of W - I before the first step.
    """
    if not isinstance(model, PassiveAggressive) or model.matrix_name != "W_":
        return None
    trace, squares, products = model.sums()
    if learned:  # ||W - I||^2, and the inner product of W - I and its transpose
        squares, products = (total - 2 * trace + model.n_features_in_ for total in (squares, products))
    # ||W + W'||^2 / 4 is the mean of the two
    return float(np.sqrt((squares + products) / 2 / squares)) if squares > 0 else None
