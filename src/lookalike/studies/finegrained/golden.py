"""The golden feature: a non-negative weighted sum of distances, its weights by max margin (Deep Ranking, section 6.1).

Twenty-seven components, as many as the paper mixes: the six hand-crafted features by four distances each, and three
distances of embeddings learned from the categories of training images. Without such images 24 are left. The paper's
weights come from human ratings, and it makes the relevance that networks learn from. Ours come from the relevance of
training images, or as in the paper from ratings that are set aside for it, and never from rated evaluation triplets.

The paper's embeddings of annotated images are WSABIE's (Weston, Bengio and Usunier 2010); here they are two classic
ones on all features together: linear discriminants, and the scores of a logistic regression.

Weights are found by dual coordinate descent (Hsieh et al., "A dual coordinate descent method for large-scale linear
SVM", ICML 2008), kept from being negative and without a bias, since a triplet has none. The dual is max sum_i a_i
- 1/2 |[sum_i a_i x_i]_+|^2 with 0 <= a_i <= C / n, and w = [sum_i a_i x_i]_+.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from lookalike.core.arrays import Array, Doubles, Floats, Integers, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.kernels import njit
from lookalike.core.seeds import generator, integer_seed
from lookalike.core.settings.networks import Sampler
from lookalike.data.relevance import RelevanceData
from lookalike.features.clustering import principal_components
from lookalike.ranking.distances import DISTANCES, distances_of_rows
from lookalike.studies.finegrained.protocol import Features, blocks_of, sample_triplets, stratified_folds, usable_rows
from lookalike.studies.finegrained.settings import GoldenFeature
from lookalike.studies.finegrained.systems import GOLDEN, SystemResult

N_PRINCIPAL = 64
"""Principal components of every feature that embeddings are learned from."""
ANNOTATION = (("lda", "l2"), ("lda", "cosine"), ("logistic", "l2"))
"""Embedding and distance of the components learned from categories, see `embed_categories`."""
LEARNED_ROWS, LEARNED_VALUES = 10_000, 100_000_000
"""Rows that an embedding is learned from at most, and numbers of the widest feature in them (400 MB): principal
components and discriminants are settled by then."""
EMBEDDED_ROWS = 4_096
"""Rows that are embedded at a time."""
LEAST_SHRINKAGE = 0.01
"""Of the covariance within categories: at 0, with few images, unseen ones lie as far out as one likes."""
PENALTY = 0.1
"""Of the logistic regression, on features of variance 1: its inverse regularisation."""
Fold = tuple[Integers, Integers, Integers]
"""Triplets, images that embeddings for them are learned from, and images that these embed."""
Components = dict[tuple[str, str], Floats]
"""Feature and distance of `lookalike.ranking.distances` to vectors of images, a row each."""


def golden_system(
    features: Features,
    relevance: RelevanceData | None,
    ratings: pd.DataFrame,
    pairs: pd.DataFrame,
    settings: GoldenFeature,
    sampling: Sampler,
    *,
    seed: int,
    n_principal: int = N_PRINCIPAL,
) -> SystemResult:
    """Learn golden feature and L1 visual features from ratings, or else training relevance; measure the pairs."""
    if relevance is not None and len(np.unique(relevance.category)) < 2:
        raise LookalikeError("embeddings need training images of two categories at least: put more in place")
    if len(ratings):
        folds = _rated_folds(ratings, relevance, settings.folds, seed)
    elif relevance is not None:
        folds = _drawn_folds(relevance, settings, sampling, seed)
    else:
        raise LookalikeError("the golden feature has nothing to learn from: give training images, or golden.ratings")
    components_of = partial(_components, features, relevance, n_principal, seed)
    names, differences, scales = _measured(folds, components_of)

    def chosen(columns: Longs) -> tuple[Learned, float, list[dict[str, float]]]:
        """Choose the weights of some components."""
        rows = [own[:, columns] / scales[columns] for own in differences]
        return choose_weights(rows, settings.C, integer_seed(seed, "finegrained", "golden", "order"))

    learned, C, choice = chosen(np.arange(len(names)))
    usable = np.flatnonzero(usable_rows(features))
    learned_from = usable if relevance is None else relevance.image_id
    components, used = list(components_of(learned_from, usable).items()), np.flatnonzero(learned.weights)
    print(f"{GOLDEN}: C = {C:g}, {len(used)} of {len(components)} components")

    def distances_of(first: npt.ArrayLike, second: npt.ArrayLike) -> Doubles:
        """Return the weighted sum of the distances of pairs of images."""
        table = component_distances(dict(components[i] for i in used), first, second)
        return np.asarray(table @ (learned.weights[used] / scales[used]))

    weighed = zip(names, scales.tolist(), learned.weights.tolist(), strict=True)
    of_l1 = [i for i, (name, distance) in enumerate(names) if distance == "l1" and name in features]
    l1_weights = (chosen(np.array(of_l1))[0].weights / scales[of_l1]).tolist()
    l1 = {names[i][0]: weight for i, weight in zip(of_l1, l1_weights, strict=True)}
    fit = {
        "system": GOLDEN,
        "distance": "weighted sum",
        "C": C,
        "validation": choice,
        "components": [
            {"feature": feature, "distance": distance, "scale": scale, "weight": weight}
            for (feature, distance), scale, weight in weighed
        ],
        "l1_weights": _l1_shares(l1, features, learned_from),
        "converged": bool(learned.converged),
        "learned_from": "ratings" if len(ratings) else "training relevance",
        "n_triplets": sum(map(len, differences)),
    }
    own_relevance = golden_relevance(relevance, distances_of) if len(ratings) and relevance is not None else None
    distances = distances_of(pairs["query"], pairs["candidate"]).astype(np.float32)
    return SystemResult(None, distances, fit, own_relevance)


def golden_relevance(relevance: RelevanceData, distances_of: Callable[[Longs, Longs], Doubles]) -> RelevanceData:
    """Relevance exp(-D / m) of all pairs of a category by their distance D, of median m; its form is not printed."""
    groups = [relevance.image_id[relevance.category == code] for code in range(relevance.n_categories)]
    pairs = [np.stack([images[side] for side in np.triu_indices(len(images), 1)]) for images in groups]
    first, second = np.concatenate(pairs, axis=1)
    distances = distances_of(first, second)
    values = np.exp(-distances / (np.median(distances) or 1.0))
    return RelevanceData.from_pairs(relevance.image_id, relevance.labels, first, second, values)


def _components(
    features: Features,
    relevance: RelevanceData | None,
    n_principal: int,
    seed: int,
    learned_from: Integers,
    wanted: Integers,
) -> Components:
    """Every feature by every distance, and embeddings of the `wanted` images from the categories of others."""
    crafted = {(name, distance): features[name] for name, distance in product(sorted(features), DISTANCES)}
    if relevance is None:
        return crafted
    labels = relevance.category[relevance.rows_of(learned_from)]
    stream = integer_seed(seed, "finegrained", "golden", "annotation")
    vectors = embed_categories(features, learned_from, labels, wanted, n_components=n_principal, seed=stream)
    return crafted | {(f"annotation-{name}", distance): vectors[name] for name, distance in ANNOTATION}


def _drawn_folds(relevance: RelevanceData, settings: GoldenFeature, sampling: Sampler, seed: int) -> Iterator[Fold]:
    """Draw the triplets of every fold of the training images."""
    n_folds = settings.folds
    folds = stratified_folds(relevance.category, n_folds, generator(seed, "finegrained", "golden", "folds"))
    sizes = [len(part) for part in np.array_split(np.arange(settings.n_triplets), n_folds)]
    for fold, size in enumerate(sizes):
        part = relevance.subset(np.flatnonzero(folds == fold))
        stream = integer_seed(seed, "finegrained", "golden", "triplets", fold)
        # an embedding looks better on the images that it was learned from, and would get too much weight
        yield sample_triplets(part, size, sampling, stream), relevance.image_id[folds != fold], part.image_id


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
    folds: Iterable[Fold], components_of: Callable[[Integers, Integers], Components]
) -> tuple[list[tuple[str, str]], list[Doubles], Doubles]:
    """Return components, how much farther negatives are by each, a table a fold, and what to divide that by."""
    names, nearer, farther = list[tuple[str, str]](), [], []
    for triplets, learned_from, wanted in folds:
        components = components_of(learned_from, wanted)
        names = list(components)
        nearer.append(component_distances(components, triplets[:, 0], triplets[:, 1]))
        farther.append(component_distances(components, triplets[:, 0], triplets[:, 2]))
        print(f"{GOLDEN}: measured {len(triplets)} triplets of fold {len(nearer)}")
    differences = [far - near for near, far in zip(nearer, farther, strict=True)]
    return names, differences, distance_scales(np.vstack([*nearer, *farther]))


def choose_weights(
    folds: Sequence[Doubles], values: Sequence[float], seed: int
) -> tuple[Learned, float, list[dict[str, float]]]:
    """Return weights with the best C, the smallest of equals; that C, and the precision of each on left-out folds."""
    found = []
    for C in sorted(values):
        shares = []
        for fold, judged in enumerate(folds):
            others = np.vstack([*folds[:fold], *folds[fold + 1 :]])
            margins = judged @ learn_weights(others, C, seed=seed).weights
            shares.append(np.mean((margins > 0) + 0.5 * (margins == 0)))
        found.append({"C": float(C), "precision": float(np.mean(shares))})
    best = max(found, key=lambda row: (row["precision"], -row["C"]))["C"]
    return learn_weights(np.vstack(folds), best, seed=seed), best, found


def _l1_shares(weights: Mapping[str, float], features: Features, ids: Integers) -> dict[str, float]:
    """Return weights of L1 visual features that have one, of sum 1; all alike where none has."""
    found = {}
    for name, weight in weights.items():
        # vectors are divided by their norms before they are hashed, and the weights make up for that
        norms = [np.abs(features[name][ids[rows]]).sum(dtype=np.float64) for rows in blocks_of(len(ids))]
        found[name] = float(weight) * (float(np.sum(norms)) / len(ids))
    total = sum(found.values())
    chosen = {name: weight / total for name, weight in found.items() if weight > 0}
    return chosen or dict.fromkeys(sorted(features), 1 / len(features))


def component_distances(components: Components, left: npt.ArrayLike, right: npt.ArrayLike) -> Doubles:
    """Return the distances of n pairs of rows by every component, float64 of shape (n, number of components)."""
    table = np.empty((np.size(left), len(components)))
    for column, ((_, distance), vectors) in enumerate(components.items()):
        table[:, column] = distances_of_rows(vectors, left, right, distance)
    return table


def distance_scales(distances: Doubles) -> Doubles:
    """Return the medians of columns, which distances are divided by; where one is 0 the mean, or else 1."""
    medians, means = np.median(distances, axis=0), distances.mean(axis=0)
    return np.where(medians > 0, medians, np.where(means > 0, means, 1.0))


# Embeddings -----------------------------------------------------------------------------------------------------------


def embed_categories(
    features: Features,
    learned_from: npt.ArrayLike,
    labels: npt.ArrayLike,
    wanted: npt.ArrayLike,
    *,
    n_components: int = 64,
    seed: int,
) -> dict[str, Floats]:
    """Learn two embeddings from labelled rows of all images' features, and embed the `wanted` rows; others are NaN."""
    rows, codes, wanted = np.asarray(learned_from), np.asarray(labels), np.asarray(wanted)
    most = min(LEARNED_ROWS, LEARNED_VALUES // max(vectors.shape[1] for vectors in features.values()))
    if len(rows) > most:
        random = np.random.Generator(np.random.PCG64(seed))
        chosen = np.sort(random.choice(len(rows), most, replace=False, shuffle=False))
        rows, codes = rows[chosen], codes[chosen]
    # each feature on its own components, at one mean variance, so that one of many dimensions does not drown the others
    projections = {name: _projection(features[name][rows], n_components, seed) for name in sorted(features)}

    def projected(some: Array) -> Doubles:
        return np.hstack([(features[name][some] - mean) @ axes for name, (mean, axes) in projections.items()])

    X = projected(rows)
    shrinkage = max(LEAST_SHRINKAGE, _shrinkage(X, codes))
    discriminants = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, codes)
    regression = LogisticRegression(C=PENALTY, max_iter=200).fit(X, codes)
    blocks = [projected(wanted[start : start + EMBEDDED_ROWS]) for start in range(0, len(wanted), EMBEDDED_ROWS)]
    found = {}
    # the Euclidean distance of square roots of probabilities is Hellinger's
    ways = {"lda": discriminants.transform, "logistic": lambda block: np.sqrt(regression.predict_proba(block))}
    for name, embed in ways.items():
        embedded = np.concatenate([embed(block).astype(np.float32) for block in blocks])
        found[name] = np.full((len(features[next(iter(features))]), embedded.shape[1]), np.nan, dtype=np.float32)
        found[name][wanted] = embedded
    return found


def _projection(vectors: Array, n_components: int, seed: int) -> tuple[Doubles, Doubles]:
    """Return the mean of vectors, and their principal axes as columns, scaled to a mean variance of 1."""
    wanted = max(1, min(n_components, len(vectors) - 1, vectors.shape[1]))
    solver = "randomized" if wanted < 0.5 * min(vectors.shape) else "full"
    pca = principal_components(vectors, wanted, solver, seed)
    spread = np.sqrt(pca.explained_variance_.mean())
    return pca.mean_, pca.components_.T / (spread if spread > 0 else 1.0)


def _shrinkage(rows: Doubles, labels: Array) -> float:
    """Return Ledoit and Wolf's share of a round covariance in that within categories."""
    _, inverse = np.unique(labels, return_inverse=True)
    sums = np.zeros((inverse.max() + 1, rows.shape[1]))
    np.add.at(sums, inverse, rows)
    within = rows - (sums / np.bincount(inverse)[:, None])[inverse]
    return float(ledoit_wolf_shrinkage(within, assume_centered=True))


# Weights --------------------------------------------------------------------------------------------------------------


class Learned(NamedTuple):
    """Weights by max margin, and where learning stopped."""

    weights: Doubles
    """At least 0, shape (number of components,)."""
    objective: float
    gap: float
    """Between the objective and its dual: by so much at most could the objective still fall."""
    converged: bool
    """True where the gap is below the tolerance."""


def learn_weights(
    differences: npt.ArrayLike, C: float, *, seed: int, tolerance: float = 0.001, most_passes: int = 1000
) -> Learned:
    """Minimise 1/2 |w|^2 + C times the mean over rows x = d(q, p-) - d(q, p+) of max(0, 1 - w'x), with w >= 0."""
    rows = np.ascontiguousarray(differences, dtype=np.float64)
    squares = np.einsum("ij,ij->i", rows, rows)
    largest = float(C) / len(rows)
    dual, sums = np.zeros(len(rows)), np.zeros(rows.shape[1])
    random = np.random.Generator(np.random.PCG64(seed))
    # equal distances to both: their dual variable is at its bound whatever the weights are
    dual[squares == 0] = largest
    for _ in range(most_passes):
        dual_pass(rows, squares, random.permutation(len(rows)), largest, dual, sums)
        weights = np.maximum(sums, 0)
        half = 0.5 * float(weights @ weights)
        objective = half + largest * float(np.maximum(1 - rows @ weights, 0).sum())
        gap = max(objective - (float(dual.sum()) - half), 0.0)  # at the optimum, rounding would make it negative
        if gap <= tolerance * objective:
            break
    return Learned(weights, objective, gap, gap <= tolerance * objective)


@njit(cache=True, nogil=True)
def dual_pass(rows: Doubles, squares: Doubles, order: Longs, largest: float, dual: Doubles, sums: Doubles) -> None:
    """Take one step on the dual variable of every row; `dual` and `sums`, the sum of a_i x_i, change in place."""
    n_features = rows.shape[1]
    for i in order:
        if squares[i] == 0.0:
            continue
        margin = 0.0
        for k in range(n_features):
            margin += rows[i, k] * max(sums[k], 0.0)
        # |x_i|^2 bounds the curvature from above, so that no step lowers the dual
        new = min(max(dual[i] + (1.0 - margin) / squares[i], 0.0), largest)
        change = new - dual[i]
        if change != 0.0:
            dual[i] = new
            for k in range(n_features):
                sums[k] += change * rows[i, k]
