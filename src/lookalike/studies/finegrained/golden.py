"""The golden feature's row: which distances are mixed, and how its weights and their regularisation are learned.

Twenty-seven components, as many as the paper mixes (Deep Ranking, section 6.1): the six hand-crafted features by four
distances each, and three distances of embeddings learned from the categories of training images. The paper's weights
come from human ratings, and it makes the relevance that networks learn from. Ours come from the relevance of training
images, or as in the paper from ratings that are set aside for it, and never from rated evaluation triplets. Without
training images there are no categories to learn embeddings from, and 24 components are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.arrays import Integers
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator, integer_seed
from lookalike.data.relevance import RelevanceData
from lookalike.studies.finegrained import golden_feature, training
from lookalike.studies.finegrained.files import SystemResult
from lookalike.studies.finegrained.golden_feature import Component, Learned, component_distances, embed_categories
from lookalike.studies.finegrained.settings import GoldenFeature, Sampler
from lookalike.studies.finegrained.training import Features

DISTANCES = ("l1", "l2", "chi2", "cosine")
"""Distances of every hand-crafted feature."""
N_PRINCIPAL = 64
"""Principal components of every feature that embeddings are learned from."""
ANNOTATION = (("lda", "l2"), ("lda", "cosine"), ("logistic", "l2"))
"""Embedding and distance of the components learned from categories, see `embed_categories`."""

Array = npt.NDArray[np.float64]
Ids = Integers
Fold = tuple[Ids, Ids, Ids]
"""Triplets, images that embeddings for them are learned from, and images that these embed."""


@dataclass(frozen=True)
class Measured:
    """Distances of the training triplets of each fold, by every component, and what is learned from them."""

    names: list[tuple[str, str]]
    """Feature and distance of each component."""
    nearer: list[Array]
    farther: list[Array]
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
        best = max(found, key=lambda row: (row["precision"], -row["C"]))["C"]
        return self.learn(folds, columns, best), best, found


def golden_system(
    features: Features,
    relevance: RelevanceData | None,
    pairs: pd.DataFrame,
    settings: GoldenFeature,
    sampling: Sampler,
    *,
    seed: int,
    ratings: pd.DataFrame | None = None,
    n_principal: int = N_PRINCIPAL,
) -> SystemResult:
    """Learn the golden feature and L1 visual features from training relevance, or from ratings; measure the pairs.

    Without a relevance it learns from ratings alone.
    """
    usable = training.usable_rows(features)
    ratings = pd.DataFrame() if ratings is None else ratings
    rated = len(ratings) > 0
    if relevance is not None:
        relevance = training.with_vectors(relevance, usable)
        if len(np.unique(relevance.category)) < 2:
            raise LookalikeError("embeddings need training images of two categories at least: put more in place")
    if rated:
        folds = _rated_folds(ratings, relevance, settings.folds, seed)
    elif relevance is not None:
        folds = _drawn_folds(relevance, settings, sampling, seed)
    else:
        raise LookalikeError("the golden feature has nothing to learn from: give training images, or golden.ratings")
    learned_from = np.flatnonzero(usable) if relevance is None else relevance.image_id
    measured = _measured(folds, features, relevance, n_principal, seed)
    learned, C, choice = measured.chosen(np.arange(len(measured.names)), settings.C)
    l1_weights = _l1_weights(measured, features, learned_from, settings.C)
    components = _components(features, relevance, learned_from, np.flatnonzero(usable), n_principal, seed)
    used = np.flatnonzero(learned.weights)
    print(f"golden-features: C = {C:g}, {len(used)} of {len(components)} components")

    def distances_of(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
        table = component_distances([components[i] for i in used], first, second)
        return np.asarray(table @ (learned.weights[used] / measured.scales[used]))

    distances = distances_of(pairs["query"], pairs["candidate"])
    if not np.isfinite(distances).all():
        raise LookalikeError(training.NO_VECTOR)
    mixed = {"distances": DISTANCES, "annotation_components": n_principal}
    fit = {
        "system": "golden-features",
        "distance": "weighted sum",
        "dimensions": len(components),
        "settings": mixed | training.recorded(settings, sampling),
        "C": C,
        "validation": choice,
        "components": [
            {"feature": feature, "distance": distance, "scale": float(scale), "weight": float(weight)}
            for (feature, distance), scale, weight in zip(measured.names, measured.scales, learned.weights, strict=True)
        ],
        "l1_weights": l1_weights,
        "converged": bool(learned.converged),
        "learned_from": "ratings" if rated else "training relevance",
        "n_triplets": sum(map(len, measured.nearer)),
        "n_fit_images": 0 if relevance is None else relevance.n_images,
    }
    own_relevance = golden_relevance(relevance, distances_of) if rated and relevance is not None else None
    return SystemResult(None, distances.astype(np.float32), fit, own_relevance)


def golden_relevance(relevance: RelevanceData, distances_of: Callable[[Ids, Ids], Array]) -> RelevanceData:
    """Relevance exp(-D / m) of all pairs of a category by their distance D, of median m; its form is not printed."""
    groups = [relevance.image_id[relevance.category == code] for code in range(relevance.n_categories)]
    pairs = [np.stack([images[side] for side in np.triu_indices(len(images), 1)]) for images in groups]
    first, second = np.concatenate(pairs, axis=1)
    distances = distances_of(first, second)
    values = np.exp(-distances / (np.median(distances) or 1.0))
    return RelevanceData.from_pairs(relevance.image_id, relevance.labels, first, second, values)


def _components(
    features: Features, relevance: RelevanceData | None, learned_from: Ids, wanted: Ids, n_principal: int, seed: int
) -> list[Component]:
    """Every feature by every distance, and embeddings of the `wanted` images from the categories of others."""
    crafted = [Component(name, features[name], distance) for name, distance in product(sorted(features), DISTANCES)]
    if relevance is None:
        return crafted
    labels = relevance.category[relevance.rows_of(learned_from)]
    stream = integer_seed(seed, "finegrained", "golden", "annotation")
    vectors = embed_categories(features, learned_from, labels, wanted, n_components=n_principal, seed=stream)
    return crafted + [Component(f"annotation-{name}", vectors[name], distance) for name, distance in ANNOTATION]


def _drawn_folds(relevance: RelevanceData, settings: GoldenFeature, sampling: Sampler, seed: int) -> Iterator[Fold]:
    """Draw the triplets of every fold of the training images."""
    n_folds = settings.folds
    folds = training.stratified_folds(relevance.category, n_folds, generator(seed, "finegrained", "golden", "folds"))
    sizes = [len(part) for part in np.array_split(np.arange(settings.n_triplets), n_folds)]
    for fold, size in enumerate(sizes):
        part = relevance.subset(np.flatnonzero(folds == fold))
        stream = integer_seed(seed, "finegrained", "golden", "triplets", fold)
        # an embedding looks better on the images that it was learned from, and would get too much weight
        yield training.draw_triplets(part, size, sampling, stream), relevance.image_id[folds != fold], part.image_id


def _rated_folds(ratings: pd.DataFrame, relevance: RelevanceData | None, most: int, seed: int) -> Iterator[Fold]:
    """Deal rated triplets into folds by text query; all training images are others than theirs."""
    names, text_query = np.unique(ratings["text_query"].astype(str), return_inverse=True)
    n_folds = min(most, len(names))
    if n_folds < 2:
        raise LookalikeError("golden.ratings: weights are learned from ratings of two text queries at least: raise it")
    folds = (generator(seed, "finegrained", "golden", "folds").permutation(len(names)) % n_folds)[text_query]
    triplets = ratings[["query", "positive", "negative"]].to_numpy()
    learned_from = np.empty(0, dtype=np.int64) if relevance is None else relevance.image_id
    for fold in range(n_folds):
        yield triplets[folds == fold], learned_from, np.unique(triplets[folds == fold])


def _measured(
    folds: Iterable[Fold], features: Features, relevance: RelevanceData | None, n_principal: int, seed: int
) -> Measured:
    """Measure the triplets of every fold."""
    nearer, farther, names = [], [], []
    for triplets, learned_from, wanted in folds:
        components = _components(features, relevance, learned_from, wanted, n_principal, seed)
        names = [(component.feature, component.distance) for component in components]
        nearer.append(component_distances(components, triplets[:, 0], triplets[:, 1]))
        farther.append(component_distances(components, triplets[:, 0], triplets[:, 2]))
        print(f"golden-features: measured {len(triplets)} triplets of fold {len(nearer)}")
    scales = golden_feature.distance_scales(np.vstack([*nearer, *farther]))
    if not np.isfinite(scales).all():
        raise LookalikeError(training.NO_VECTOR)
    return Measured(names, nearer, farther, scales, seed)


def _l1_weights(measured: Measured, features: Features, ids: Ids, values: Sequence[float]) -> dict[str, float]:
    """L1 visual features whose L1 distance has a weight, with weights of sum 1; all alike where none has."""
    among = [i for i, (name, distance) in enumerate(measured.names) if distance == "l1" and name in features]
    learned, _, _ = measured.chosen(np.array(among), values)
    found = {}
    for i, weight in zip(among, learned.weights, strict=True):
        name = measured.names[i][0]
        # vectors are divided by their norms before they are hashed, and the weights make up for that
        norms = [np.abs(features[name][ids[rows]]).sum(dtype=np.float64) for rows in training.blocks_of(len(ids))]
        norm = float(np.sum(norms)) / len(ids)
        found[name] = float(weight / measured.scales[i]) * norm
    total = sum(found.values())
    chosen = {name: weight / total for name, weight in found.items() if weight > 0}
    return chosen or dict.fromkeys(sorted(features), 1 / len(features))
