"""The mistake bound of OASIS (JMLR Theorem 1) beside the mistakes that it makes, along one sequence of triplets.

The theorem bounds the mistakes by how well any fixed matrix U does on the same triplets, starting from the identity.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike.core.arrays import Doubles, Ints, Longs, Matrix
from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.gram import Form
from lookalike.learners.oasis import OASIS
from lookalike.learners.triplets import TripletSampler
from lookalike.studies.category.folds import Fold
from lookalike.studies.category.settings import LossBound
from lookalike.studies.metrics import metrics_frame

CHUNK = 2_048
"""Triplets at a time: so many dense rows of length d are in memory, besides one of each image."""


def numbers_of(fold: Fold, settings: LossBound) -> pd.DataFrame:
    """Count the mistakes of OASIS along a sequence of triplets, and what Theorem 1 (JMLR section 2.2) allows."""
    X, _ = fold.rows("train", "train")
    C = float(settings.aggressiveness)
    triplets = TripletSampler(fold.images["train"].labels, fold.seed("fit")).draw(settings.steps)
    mistakes, W = mistakes_of(X, triplets, C, settings.solver)
    images = X.astype(np.float64)
    squares = squared_step_norms(images, triplets)
    of_identity, of_learned = (triplet_margins(rows, images, triplets) for rows in (images, W.project(images)))
    counted = {("oasis", "mistakes"): mistakes, ("I", "bound"): bound(0.0, of_identity, squares, C)}
    trace, sum_of_squares, _ = W.sums()
    for name, times in {"W": 1.0, "W / 2": 0.5, "2 W": 2.0}.items():
        # ||U - I||_F^2 of U = times W, whose margins are multiples of those of W; the paper's n is d, the length of W
        distance = times**2 * sum_of_squares - 2 * times * trace + X.shape[1]
        counted[name, "bound"] = bound(distance, times * of_learned, squares, C)
    steps = log_spaced_steps(settings.steps, settings.points)
    rows = [
        {"method": method, "metric": metric, "x": step, "value": values[step - 1]}
        for (method, metric), values in counted.items()
        for step in steps
    ]
    return metrics_frame(pd.DataFrame(rows).assign(subset=fold.subset, fold=fold.number))


def mistakes_of(X: Matrix, triplets: Ints, C: float, solver: str = "auto") -> tuple[Longs, Form]:
    """Count the triplets up to each with S(p, p+) <= S(p, p-) before their own step of OASIS; return its last W too."""
    margins = np.empty(len(triplets))
    steps = OASIS(C, dtype="float64", solver=solver).steps(X, len(triplets))
    steps.take(triplets, margins)
    return np.cumsum(margins <= 0), steps.form()


def bound(distance: float, margins: Doubles, squares: Doubles, aggressiveness: float) -> Doubles:
    """Bound on the mistakes of OASIS up to and with each triplet, by a U at ||U - I||_F^2 (JMLR Theorem 1)."""
    losses = np.maximum(0.0, 1.0 - margins)
    factor = np.maximum(np.maximum.accumulate(squares), 1 / aggressiveness)
    return np.asarray(factor * (distance + 2 * aggressiveness * np.cumsum(losses)))


def triplet_margins(projected: Matrix, rows: sp.csr_array, triplets: Ints) -> Doubles:
    """p'U(p+ - p-) of every triplet, of rows times U: the similarity to the positive minus that to the negative."""
    margins = np.empty(len(triplets))
    for start in range(0, len(triplets), CHUNK):
        chunk = triplets[start : start + CHUNK]
        margins[start : start + CHUNK] = _differences(rows, chunk).multiply(projected[chunk[:, 0]]).sum(axis=1)
    return margins


def squared_step_norms(rows: sp.csr_array, triplets: Ints) -> Doubles:
    """||V||_F^2 of every triplet, V = p (p+ - p-)' (JMLR eq. 7)."""
    norms = np.asarray(rows.power(2).sum(axis=1), dtype=np.float64)[triplets[:, 0]]
    for start in range(0, len(triplets), CHUNK):
        chunk = slice(start, start + CHUNK)
        norms[chunk] *= _differences(rows, triplets[chunk]).power(2).sum(axis=1)
    return norms


def _differences(rows: sp.csr_array, triplets: Ints) -> sp.csr_array:
    return sp.csr_array(rows[triplets[:, 1]] - rows[triplets[:, 2]])
