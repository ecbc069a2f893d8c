"""What the papers fix or leave open, varied: lambda, gamma and rho, C of QPAO, order of triplets, negatives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from lookalike.core.arrays import Integers, Ints
from lookalike.core.seeds import generator
from lookalike.core.settings.methods import Fit
from lookalike.learners.triplet_products import TripletProducts
from lookalike.studies.fits import fold_seed, make_learner
from lookalike.studies.landmark import protocol
from lookalike.studies.landmark.rankings import COST, GAMMA, LAMBDA, MAP, ORDERS, SPARSITY
from lookalike.studies.landmark.settings import CostSweep, GammaSweep, Sweep, Sweeps, TripletOrder
from lookalike.studies.metrics import metrics_frame

Trials = tuple[Ints, Mapping[tuple[str, float], Mapping[str, float]]]
"""The triplets of some fits, and what the metrics of each are called after and value (the ``x``) to its parameters."""


def sweep_settings(
    data: protocol.LandmarkData,
    learning_images: pd.DataFrame,
    landmarks: Sequence[str],
    sweeps: Sweeps,
    specs: Mapping[str, Fit],
    *,
    seed: int,
    representation: str,
) -> pd.DataFrame:
    """Fit methods along every sweep of the settings: mAP by rectangle and sparsity, named after the sweep."""
    rows = []
    for sweep in sweeps.varied():
        drawn = learning_images[learning_images["draw"] < getattr(sweep, "draws", math.inf)]
        for landmark, draw in protocol.draws_of(drawn, landmarks[: getattr(sweep, "landmarks", None)]):
            task = protocol.landmark_task(data, learning_images, landmark, draw, seed=seed)
            random = generator(seed, "landmark", landmark, "draw", draw, "fewer negatives")
            for triplets, changed in trials_of(sweep, task, random):
                products = TripletProducts(task.X, triplets)
                for method, ((kind, value), changes) in product(sweep.methods, changed.items()):
                    learner = make_learner(specs[method], fold_seed(seed, landmark, draw, "fit"), changes)
                    # to the bit what fit_triplets learns
                    model = learner.fit_products(products)
                    rankings = protocol.rank_task(model, data, task, n_top=1)
                    found = protocol.metrics_of(model, rankings)
                    names = {"representation": representation, "subset": landmark, "fold": draw, "method": method}
                    for metric in (MAP, SPARSITY):
                        number = {"metric": f"{kind}_{metric}", "x": float(value), "value": found[metric]}
                        rows.append({**names, **number})
    return metrics_frame(rows)


def trials_of(
    sweep: Sweep | GammaSweep | CostSweep | TripletOrder, task: protocol.LandmarkTask, random: np.random.Generator
) -> list[Trials]:
    """Return what one sweep of the settings fits on one draw."""
    if isinstance(sweep, Sweep):
        return [(task.triplets, {(LAMBDA, value): {"regularization": value} for value in sweep.regularization})]
    if isinstance(sweep, GammaSweep):
        values = product(sweep.rho, sweep.gamma)
        return [(task.triplets, {(GAMMA.format(rho), gamma): {"gamma": gamma, "rho": rho} for rho, gamma in values})]
    if isinstance(sweep, CostSweep):
        # in one block QPAO is at its minimum: no number depends on how blocks are drawn
        return [(task.triplets, {(COST, value): {"C": value, "n_blocks": 1} for value in sweep.C})]
    # rows of positives come first; the first so many negatives are in every larger number of them
    n_positives, n_rows = int(task.triplets[:, 0].max()) + 1, task.X.shape[0]
    places = np.concatenate([np.arange(n_positives), random.permutation(n_rows - n_positives)])
    fewer = {n: task.triplets[places[task.triplets[:, 2]] < n] for n in sweep.negatives}
    return [(ordered(fewer[n], order, places), {(order, n): {}}) for order, n in product(ORDERS, fewer)]


def ordered(triplets: Ints, order: str, places: Integers) -> Ints:
    """Return triplets as they are, or one pair of positives after the other, or one negative (by its place)."""
    query, positive, negative = triplets.T.astype(np.int64)
    keys = {"by_positive": query * len(places) + positive, "by_negative": places[negative]}
    return triplets[np.argsort(keys[order], kind="stable")] if order in keys else triplets
