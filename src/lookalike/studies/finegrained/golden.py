"""The golden feature's row: which distances are mixed, and how its weights and their regularisation are learned.

Twenty-seven components, as many as the paper mixes (Deep Ranking, section 6.1): the six hand-crafted features by four
distances each, and three distances of embeddings learned from the categories of training images. The paper's weights
come from human ratings; ours come from the relevance of training images, and never from rated evaluation triplets.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.machine import processor_name
from lookalike.core.seeds import generator, integer_seed
from lookalike.data.relevance import RelevanceData
from lookalike.learners import relevance_triplets
from lookalike.ranking import distances as pair_distances
from lookalike.studies.finegrained import golden_feature, training
from lookalike.studies.finegrained.files import SystemResult
from lookalike.studies.finegrained.golden_feature import Component, Learned, component_distances, embed_categories
from lookalike.studies.finegrained.training import Features

COMPONENTS: dict[str, Any] = {
    "distances": ("l1", "l2", "chi2", "cosine"),
    "annotation": True,
    "annotation_components": 64,
}
"""Distances of every hand-crafted feature, and embeddings learned from so many principal components of each."""
ANNOTATION = (("lda", "l2"), ("lda", "cosine"), ("logistic", "l2"))
"""Embedding and distance of the components learned from categories, see `embed_categories`."""

Array = npt.NDArray[np.float64]
Ids = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Measured:
    """Distances of the training triplets of each fold, by every component, and what is learned from them."""

    names: list[tuple[str, str]]
    """Feature and distance of each component."""
    nearer: list[Array]
    farther: list[Array]
    out_of_class: float
    scales: Array
    """By which the components are divided."""
    seed: int

    def learn(self, folds: Sequence[int], columns: Ids, C: float) -> Learned:
        """Learn the weights of some components on the triplets of some folds; distances are divided by their scales."""
        nearer, farther = (
            np.vstack([side[fold] for fold in folds])[:, columns] for side in (self.nearer, self.farther)
        )
        stream = integer_seed(self.seed, "finegrained", "golden", "order")
        return golden_feature.learn_weights((farther - nearer) / self.scales[columns], C, seed=stream)

    def precision(self, fold: int, columns: Ids, learned: Learned) -> float:
        """Share of a fold's triplets whose positive is nearer by the weighted sum; a tie counts half."""
        differences = self.farther[fold][:, columns] - self.nearer[fold][:, columns]
        margins = differences @ (learned.weights / self.scales[columns])
        return float(np.mean((margins > 0) + 0.5 * (margins == 0)))

    def chosen(self, columns: Ids, values: Sequence[float]) -> tuple[Learned, float, list[dict[str, float]]]:
        """Weights learned on all folds with the best C, the smallest of equals; that C, and the precision of each."""
        folds = range(len(self.nearer))
        found = []
        for C in sorted(values):
            shares = [
                self.precision(fold, columns, self.learn([i for i in folds if i != fold], columns, C)) for fold in folds
            ]
            found.append({"C": float(C), "precision": float(np.mean(shares))})
        best = max(found, key=lambda one: (one["precision"], -one["C"]))["C"]
        return self.learn(folds, columns, best), best, found


def golden_system(
    features: Features, relevance: RelevanceData, pairs: pd.DataFrame, settings: Mapping[str, Any], *, seed: int
) -> SystemResult:
    """Learn the golden feature and the L1 visual features from training relevance, and measure the pairs."""
    settings = COMPONENTS | dict(settings)
    usable = training.usable_rows(features)
    relevance = training.with_vectors(relevance, usable)
    if len(np.unique(relevance.category)) < 2:
        raise LookalikeError("embeddings need training images of two categories at least: put more of them in place")
    golden_feature.warm_up()
    relevance_triplets.warm_up()
    pair_distances.warm_up()
    start = time.perf_counter()
    measured = _measure_folds(features, relevance, settings, seed)
    learned, C, choice = measured.chosen(np.arange(len(measured.names)), settings["C"])
    l1_weights = _l1_weights(measured, features, relevance, settings["C"])
    components = _components(features, relevance, relevance.image_id, np.flatnonzero(usable), settings, seed)
    fit_seconds = time.perf_counter() - start
    used = np.flatnonzero(learned.weights)
    print(f"golden-features: C = {C:g}, {len(used)} of {len(components)} components, {fit_seconds:.1f} s")
    start = time.perf_counter()
    table = component_distances([components[i] for i in used], pairs["query"], pairs["candidate"])
    distances = table @ (learned.weights[used] / measured.scales[used])
    if not np.isfinite(distances).all():
        raise LookalikeError(training.NO_VECTOR)
    fit = {
        "system": "golden-features",
        "seconds": fit_seconds,
        "distance_seconds": time.perf_counter() - start,
        "distance": "weighted sum",
        "dimensions": len(components),
        "settings": settings,
        "C": C,
        "validation": choice,
        "components": [
            {"feature": feature, "distance": distance, "scale": float(scale), "weight": float(weight)}
            for (feature, distance), scale, weight in zip(measured.names, measured.scales, learned.weights, strict=True)
        ],
        "l1_weights": l1_weights,
        "converged": bool(learned.converged),
        "out_of_class": measured.out_of_class,
        "n_triplets": sum(map(len, measured.nearer)),
        "n_fit_images": relevance.n_images,
        "n_pairs": len(pairs),
        "processor": processor_name(),
    }
    return SystemResult(None, distances.astype(np.float32), fit)


def _components(
    features: Features, relevance: RelevanceData, learned_from: Ids, wanted: Ids, settings: Mapping[str, Any], seed: int
) -> list[Component]:
    """Every feature by every distance, and embeddings of the `wanted` images from the categories of others."""
    labels = relevance.category[relevance.rows_of(learned_from)]
    stream = integer_seed(seed, "finegrained", "golden", "annotation")
    n_components = settings["annotation_components"]
    vectors = embed_categories(features, learned_from, labels, wanted, n_components=n_components, seed=stream)
    crafted = [Component(name, features[name], one) for name, one in product(sorted(features), settings["distances"])]
    return crafted + [Component(f"annotation-{name}", vectors[name], distance) for name, distance in ANNOTATION]


def _measure_folds(features: Features, relevance: RelevanceData, settings: Mapping[str, Any], seed: int) -> Measured:
    """Draw the triplets of every fold and measure them."""
    n_folds = settings["folds"]
    folds = training.stratified_folds(relevance.category, n_folds, generator(seed, "finegrained", "golden", "folds"))
    sizes = [len(part) for part in np.array_split(np.arange(settings["n_triplets"]), n_folds)]
    nearer, farther, names = [], [], []
    for fold, size in enumerate(sizes):
        part = relevance.subset(np.flatnonzero(folds == fold))
        stream = integer_seed(seed, "finegrained", "golden", "triplets", fold)
        triplets, out_of_class = training.draw_triplets(part, size, settings, stream)
        # an embedding looks better on the images that it was learned from, and would get too much weight
        others = relevance.image_id[folds != fold]
        components = _components(features, relevance, others, part.image_id, settings, seed)
        names = [(component.feature, component.distance) for component in components]
        nearer.append(component_distances(components, triplets[:, 0], triplets[:, 1]))
        farther.append(component_distances(components, triplets[:, 0], triplets[:, 2]))
        print(f"golden-features: measured {size} triplets of fold {fold + 1} of {n_folds}")
    scales = golden_feature.distance_scales(np.vstack([*nearer, *farther]))
    return Measured(names, nearer, farther, out_of_class, scales, seed)


def _l1_weights(
    measured: Measured, features: Features, relevance: RelevanceData, values: Sequence[float]
) -> dict[str, float]:
    """L1 visual features whose L1 distance has a weight, with weights of sum 1; all alike where none has."""
    among = [i for i, (name, distance) in enumerate(measured.names) if distance == "l1" and name in features]
    learned, _, _ = measured.chosen(np.array(among), values)
    found = {}
    for i, weight in zip(among, learned.weights, strict=True):
        name = measured.names[i][0]
        # vectors are divided by their norms before they are hashed, and the weights make up for that
        norm = float(np.abs(features[name][relevance.image_id]).sum(axis=1, dtype=np.float64).mean())
        found[name] = float(weight / measured.scales[i]) * norm
    total = sum(found.values())
    chosen = {name: weight / total for name, weight in found.items() if weight > 0}
    return chosen or dict.fromkeys(sorted(features), 1 / len(features))
