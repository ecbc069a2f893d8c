"""The golden feature's row: which distances are mixed, and how its weights and their regularisation are learned.

Twenty-seven components, as many as the paper mixes (Deep Ranking, section 6.1): the six hand-crafted features by four
distances each, and three distances of embeddings learned from the categories of training images. The paper's weights
come from human ratings; ours come from the relevance of training images, and never from rated evaluation triplets.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.machine import processor_name
from lookalike.core.seeds import generator, integer_seed
from lookalike.studies.finegrained.files import Report, SystemResult, plain, say
from lookalike.studies.finegrained.training import (
    Features,
    draw_triplets,
    stratified_folds,
    usable_rows,
    with_vectors,
)

if TYPE_CHECKING:
    from lookalike.datasets.relevance import RelevanceData
    from lookalike.studies.finegrained.golden_feature import Component, GoldenFeature

ANNOTATION = (("lda", "l2"), ("lda", "cosine"), ("logistic", "l2"))
"""Embedding and distance of the components learned from categories, see `AnnotationEmbedding`."""
PREFIX = "annotation-"
"""Of the names of those embeddings."""

Names = list[tuple[str, str]]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GoldenSettings:
    """Settings of the golden feature.

    Parameters
    ----------
    C : tuple of float
        Values to choose from, each above 0; see `lookalike.studies.finegrained.golden_feature.GoldenFeature`.
    n_triplets : int
        Training triplets in all.
    out_of_class, margin, positive_threshold : float
        Of the sampler of triplets: the share of negatives of other categories, T_r, and T_p (None for none).
    folds : int
        Parts that the training images are dealt into; at least 2.
    distances : tuple of str
        That every hand-crafted feature is compared by.
    annotation : bool
        Whether embeddings learned from categories take part.
    annotation_components : int
        Principal components of every feature that these are learned from.
    """

    C: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    n_triplets: int = 20_000
    out_of_class: float = 0.2
    margin: float = 0.05
    positive_threshold: float | None = None
    folds: int = 3
    distances: tuple[str, ...] = ("l1", "l2", "chi2", "cosine")
    annotation: bool = True
    annotation_components: int = 64

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        if self.folds < 2 or not self.C or self.n_triplets < self.folds:
            raise LookalikeError(
                "the golden feature needs at least 2 `folds`, a value of `C` and as many `n_triplets` as folds: "
                "correct its settings"
            )


class _Measured(NamedTuple):
    """Distances of the training triplets of each fold, by every component."""

    names: Names
    nearer: list[Array]
    farther: list[Array]
    out_of_class: float


def golden_system(
    features: Features,
    relevance: RelevanceData,
    pairs: pd.DataFrame,
    settings: GoldenSettings | None = None,
    *,
    seed: int,
    report: Report | None = None,
) -> SystemResult:
    """Learn the golden feature from training relevance, and measure the pairs.

    Training images are dealt into folds within categories. The triplets of a fold have all three images in it, and
    embeddings learned from the categories of the other folds: an embedding looks better on the images that it was
    learned from, and would get too much weight. C is the one that orders most triplets of a fold rightly when the
    weights are learned on the others; the weights are then learned on all, and the embeddings too.

    The L1 visual features are chosen by the same max-margin learning, among the L1 distances of the hand-crafted
    features alone; where none gets a weight, all of them count the same. In ``fit``, ``components`` has the feature,
    distance, scale and weight of each, ``l1_weights`` the L1 visual features and their weights, for L1HashKPCA.
    """
    from lookalike.learners.relevance_triplets import warm_up as warm_up_triplets
    from lookalike.ranking.distances import warm_up as warm_up_distances
    from lookalike.studies.finegrained.golden_feature import distance_scales, warm_up

    settings = GoldenSettings() if settings is None else settings
    usable = usable_rows(features)
    relevance = with_vectors(relevance, usable)
    if settings.annotation and len(np.unique(relevance.category)) < 2:
        raise LookalikeError("embeddings need training images of two categories at least: set `annotation` to false")
    warm_up()
    warm_up_triplets()
    warm_up_distances()
    start = time.perf_counter()
    measured = _measure_folds(features, relevance, settings, seed, report)
    scales = distance_scales(np.vstack([*measured.nearer, *measured.farther]))
    every = np.arange(len(measured.names))
    C, choice = _choose_c(measured, every, scales, settings, seed)
    model = _learn(measured, range(settings.folds), every, scales, C, seed)
    l1_weights = _l1_weights(measured, features, relevance, scales, settings, seed)
    components = hand_crafted(features, settings.distances)
    if settings.annotation:
        embedded = _annotation(features, relevance, relevance.image_id, np.flatnonzero(usable), settings, seed)
        components += embedded
    fit_seconds = time.perf_counter() - start
    n_used = int((model.weights_ > 0).sum())
    say(report, f"golden-features: C = {C:g}, {n_used} of {len(components)} components, {fit_seconds:.1f} s")
    start = time.perf_counter()
    distances = model.distances(components, pairs["query"], pairs["candidate"])
    if not np.isfinite(distances).all():
        raise LookalikeError("a pair names an image without a vector: make pairs.parquet anew from usable images")
    fit = {
        "system": "golden-features",
        "seconds": fit_seconds,
        "distance_seconds": time.perf_counter() - start,
        "distance": "weighted sum",
        "dimensions": len(components),
        "settings": plain(asdict(settings)),
        "C": C,
        "validation": choice,
        "components": [
            {"feature": feature, "distance": distance, "scale": float(scale), "weight": float(weight)}
            for (feature, distance), scale, weight in zip(measured.names, scales, model.weights_, strict=True)
        ],
        "l1_weights": l1_weights,
        "converged": bool(model.converged_),
        "out_of_class": measured.out_of_class,
        "n_triplets": sum(map(len, measured.nearer)),
        "n_fit_images": relevance.n_images,
        "n_pairs": len(pairs),
        "processor": processor_name(),
    }
    return SystemResult(None, distances.astype(np.float32), fit)


def hand_crafted(features: Features, distances: Sequence[str]) -> list[Component]:
    """Return every feature by every distance, features in alphabetical order."""
    from lookalike.studies.finegrained.golden_feature import Component

    return [Component(name, features[name], distance) for name in sorted(features) for distance in distances]


def _annotation(
    features: Features,
    relevance: RelevanceData,
    learned_from: npt.NDArray[np.integer[Any]],
    wanted: npt.NDArray[np.integer[Any]],
    settings: GoldenSettings,
    seed: int,
) -> list[Component]:
    """Return the embeddings of the `wanted` images, learned from the categories of others; both are image ids."""
    from lookalike.studies.finegrained.annotation_embedding import AnnotationEmbedding
    from lookalike.studies.finegrained.golden_feature import Component

    labels = relevance.category[relevance.rows_of(learned_from)]
    embedding = AnnotationEmbedding(
        settings.annotation_components, random_state=integer_seed(seed, "finegrained", "golden", "annotation")
    ).fit(features, learned_from, labels)
    vectors = embedding.embed(features, wanted)
    return [Component(PREFIX + name, vectors[name], distance) for name, distance in ANNOTATION]


def _measure_folds(
    features: Features, relevance: RelevanceData, settings: GoldenSettings, seed: int, report: Report | None
) -> _Measured:
    """Draw the triplets of every fold and measure them."""
    from lookalike.studies.finegrained.golden_feature import component_distances

    folds = stratified_folds(relevance.category, settings.folds, generator(seed, "finegrained", "golden", "folds"))
    sizes = [len(part) for part in np.array_split(np.arange(settings.n_triplets), settings.folds)]
    nearer, farther, names = [], [], []
    sampling = (settings.out_of_class, settings.margin, settings.positive_threshold)
    for fold, size in enumerate(sizes):
        part = relevance.subset(np.flatnonzero(folds == fold))
        stream = integer_seed(seed, "finegrained", "golden", "triplets", fold)
        triplets, out_of_class = draw_triplets(part, size, sampling, stream)
        components = hand_crafted(features, settings.distances)
        if settings.annotation:
            others = relevance.image_id[folds != fold]
            components += _annotation(features, relevance, others, part.image_id, settings, seed)
        names = [(component.feature, component.distance) for component in components]
        nearer.append(component_distances(components, triplets[:, 0], triplets[:, 1]))
        farther.append(component_distances(components, triplets[:, 0], triplets[:, 2]))
        say(report, f"golden-features: measured {size} triplets of fold {fold + 1} of {settings.folds}")
    return _Measured(names, nearer, farther, out_of_class)


def _learn(
    measured: _Measured, folds: Sequence[int], columns: npt.NDArray[np.integer[Any]], scales: Array, C: float, seed: int
) -> GoldenFeature:
    """Learn the weights of some components on the triplets of some folds."""
    from lookalike.studies.finegrained.golden_feature import GoldenFeature

    model = GoldenFeature(C, random_state=integer_seed(seed, "finegrained", "golden", "order"))
    nearer, farther = (
        np.vstack([side[fold] for fold in folds])[:, columns] for side in (measured.nearer, measured.farther)
    )
    return model.fit_distances([measured.names[i] for i in columns], nearer, farther, scales[columns])


def _choose_c(
    measured: _Measured,
    columns: npt.NDArray[np.integer[Any]],
    scales: Array,
    settings: GoldenSettings,
    seed: int,
) -> tuple[float, list[dict[str, float]]]:
    """Return the C with the most triplets in order in folds that were left out, the smallest among equals."""
    found = []
    for C in sorted(settings.C):
        shares = []
        for fold in range(settings.folds):
            others = [i for i in range(settings.folds) if i != fold]
            model = _learn(measured, others, columns, scales, C, seed)
            shares.append(model.accuracy(measured.nearer[fold][:, columns], measured.farther[fold][:, columns]))
        found.append({"C": float(C), "precision": float(np.mean(shares))})
    return max(found, key=lambda one: (one["precision"], -one["C"]))["C"], found


def _l1_weights(
    measured: _Measured,
    features: Features,
    relevance: RelevanceData,
    scales: Array,
    settings: GoldenSettings,
    seed: int,
) -> dict[str, float]:
    """Choose the L1 visual features and their weights."""
    from lookalike.studies.finegrained.golden_feature import select_l1

    among = [i for i, (name, distance) in enumerate(measured.names) if distance == "l1" and name in features]
    columns = np.array(among, dtype=np.int64)
    if not len(columns):
        raise LookalikeError("the golden feature has no L1 distance for L1HashKPCA: add l1 to its `distances`")
    C, _ = _choose_c(measured, columns, scales, settings, seed)
    norms = {
        name: float(np.abs(vectors[relevance.image_id]).sum(axis=1, dtype=np.float64).mean())
        for name, vectors in features.items()
    }
    weights = select_l1(_learn(measured, range(settings.folds), columns, scales, C, seed), norms)
    return weights or dict.fromkeys(sorted(features), 1 / len(features))
