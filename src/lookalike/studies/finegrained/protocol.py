"""Systems that learn without a network: L1HashKPCA and OASIS, on vectors of hand-crafted features (Deep Ranking, 6.4).

They learn from the relevance of training images alone, and never see rated evaluation triplets (section 6.1). How they
draw triplets of image ids and folds of images, the golden feature does, too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.arrays import Array, Floats, Ints, Longs, Truths
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator, integer_seed
from lookalike.core.settings.model import plain
from lookalike.core.settings.networks import Sampler
from lookalike.data.relevance import RelevanceData
from lookalike.deep.relevance_triplets import RelevanceTripletSampler
from lookalike.features import l1_hash
from lookalike.learners import oasis
from lookalike.ranking.distances import pair_distances
from lookalike.studies.finegrained.settings import EmbeddingOasis, L1HashKPCA
from lookalike.studies.finegrained.systems import EMBEDDED, OASIS, SystemResult

Features = Mapping[str, Floats]
"""System id of a hand-crafted feature to its vectors (N, d), a row per image id, NaN where there is none."""
BLOCK = 1_000
"""Rows that are read at a time."""
HELD_OUT, N_VALIDATION = 5, 5_000
"""Of OASIS: one in so many images of each category is held out for the choice, and triplets that measure it."""


def l1hashkpca_system(
    features: Features,
    l1_weights: Mapping[str, float],
    fit_rows: npt.ArrayLike,
    pairs: pd.DataFrame,
    settings: L1HashKPCA,
    *,
    seed: int,
) -> SystemResult:
    """Embed the L1 visual features by weighted minhash and kernel PCA; measure the pairs by Euclidean distance."""
    named = {name: features[name] for name in l1_weights}
    usable = usable_rows(named)
    learned_from = np.intersect1d(np.asarray(fit_rows, dtype=np.int64), np.flatnonzero(usable))
    if len(learned_from) < 2:
        raise LookalikeError("L1HashKPCA needs two images at least to learn its directions: give more training images")
    blocks = blocks_of(len(usable))
    signed = {name for name, vectors in named.items() if any((vectors[rows] < 0).any() for rows in blocks)}

    def joined(rows: Longs) -> Floats:
        """Join the features of some images; of all at once they would fill the memory."""
        return l1_hash.l1_visual_features({name: vectors[rows] for name, vectors in named.items()}, l1_weights, signed)

    if len(learned_from) > settings.n_landmarks:
        random = generator(seed, "finegrained", "l1hashkpca", "landmarks")
        learned_from = np.sort(random.choice(learned_from, settings.n_landmarks, replace=False))
    model = l1_hash.L1HashKPCA(**dict(settings), random_state=integer_seed(seed, "finegrained", "l1hashkpca"))
    model.fit(joined(learned_from))
    n_components = len(model.eigenvalues_)
    print(f"l1hashkpca: {n_components} directions of {len(model.landmarks_)} images")
    vectors = np.full((len(usable), n_components), np.nan, dtype=np.float32)
    others = np.setdiff1d(np.flatnonzero(usable), learned_from)
    for block in blocks_of(len(others)):
        vectors[others[block]] = model.transform(joined(others[block]))
    # as if they were not among the directions: OASIS learns from these, and is judged by those of other images
    vectors[learned_from] = model.held_out_vectors_
    fit = {"system": EMBEDDED, "dimensions": n_components, "distance": "l2"}
    return SystemResult(vectors, pair_distances(vectors, pairs, "l2"), fit)


def oasis_system(
    vectors: Floats,
    relevance: RelevanceData,
    pairs: pd.DataFrame,
    settings: EmbeddingOasis,
    sampling: Sampler,
    *,
    seed: int,
    system: str = OASIS,
    repeat: int = 1,
    held_out_images: npt.ArrayLike | None = None,
    n_validation: int = N_VALIDATION,
) -> SystemResult:
    """Learn OASIS on vectors from training relevance, and measure the pairs by -similarity.

    `repeat` is the number of the seed of the network that gave the vectors; the first draws from `seed` itself. Held
    out for the choice are a share of each category, or the images that the network did not learn from either.
    """
    seed = seed if repeat == 1 else integer_seed(seed, "finegrained", system, repeat)
    ids = relevance.image_id
    # of these W = I, where OASIS starts, ranks by cosine, and a step is as long for every image
    rows, outside = in_span(centred_units(vectors, ids), ids)
    random = generator(seed, "finegrained", system, "held-out")
    folds = stratified_folds(relevance.category, HELD_OUT, random)
    is_held_out = folds == 0 if held_out_images is None else np.isin(ids, held_out_images)
    kept, held_out = (relevance.subset(np.flatnonzero(chosen)) for chosen in (~is_held_out, is_held_out))

    def drawn(part: RelevanceData, n: int, purpose: str) -> Ints:
        """Draw triplets of image ids."""
        return sample_triplets(part, n, sampling, integer_seed(seed, "finegrained", system, purpose))

    judged, steps = drawn(held_out, n_validation, "validation"), sorted(set(settings.steps))
    X, triplets = rows[kept.image_id], kept.rows_of(drawn(kept, steps[-1], "choice")).reshape(-1, 3)
    tried = [{"aggressiveness": 0.0, "n_steps": 0, "precision": similarity_precision(rows, None, judged)}]
    for aggressiveness in sorted(settings.aggressiveness):
        model, taken = oasis.OASIS(aggressiveness=aggressiveness), 0
        for n_steps in steps:
            model.partial_fit_triplets(X, triplets[taken:n_steps])
            taken = n_steps
            precision = similarity_precision(rows, model, judged)
            tried.append({"aggressiveness": aggressiveness, "n_steps": n_steps, "precision": precision})
            print(f"{system}: C = {aggressiveness:g}, {n_steps} steps: {100 * precision:.2f}% held out")
    # of equals the fewest steps and the least
    best = min(tried, key=lambda row: (-row["precision"], row["n_steps"], row["aggressiveness"]))
    aggressiveness, n_steps = float(best["aggressiveness"] or min(settings.aggressiveness)), int(best["n_steps"])
    model = oasis.OASIS(aggressiveness=aggressiveness)
    model.fit_triplets(rows[ids], relevance.rows_of(drawn(relevance, n_steps, "training")).reshape(-1, 3))
    asked = pairs["query"].to_numpy(), pairs["candidate"].to_numpy()
    distances = -(pair_similarities(rows, model, *asked) + pair_similarities(outside, None, *asked))
    print(f"{system}: C = {aggressiveness:g}, {n_steps} steps, {model.n_updates_} updates")
    fit = {
        "system": system,
        "repeat": repeat,
        "distance": "-similarity",
        "aggressiveness": aggressiveness,
        "n_triplets": n_steps,
        "validation": tried,
    }
    return SystemResult(None, distances, fit)


def similarity_precision(rows: Floats, model: oasis.OASIS | None, triplets: Ints) -> float:
    """Share of triplets whose positive is more similar than the negative, ties counting half; no model: W = I."""
    nearer = pair_similarities(rows, model, triplets[:, 0], triplets[:, 1])
    farther = pair_similarities(rows, model, triplets[:, 0], triplets[:, 2])
    return float(np.mean((nearer > farther) + 0.5 * (nearer == farther)))


def pair_similarities(rows: Floats, model: oasis.OASIS | None, queries: Array, candidates: Array) -> Floats:
    """Similarities q'Wc of pairs of image ids, shape (n,); without a model W = I."""
    distinct, at = np.unique(queries, return_inverse=True)
    projected = rows[distinct] if model is None else rows[distinct] @ model.W_
    block = max(1, 64_000_000 // max(1, rows[:1].nbytes))
    similarities = np.empty(len(queries), dtype=np.float32)
    for start in range(0, len(queries), block):
        stop = start + block
        similarities[start:stop] = np.einsum("ij,ij->i", projected[at[start:stop]], rows[candidates[start:stop]])
    return similarities


def in_span(rows: Floats, learned: Ints) -> tuple[Floats, Floats]:
    """Return coordinates in the span of the rows `learned`, if it has fewer dimensions, and what is left of each row.

    OASIS leaves W = I outside that span, so similarities of the coordinates and inner products of the rest add up.
    """
    if rows.shape[1] <= len(learned):
        return rows, rows[:, :0]
    basis = np.linalg.qr(rows[learned].T.astype(np.float64))[0].astype(np.float32)
    inside: Floats = rows @ basis
    outside: Floats = rows - inside @ basis.T
    return inside, outside


def centred_units(vectors: Floats, mean_of: npt.ArrayLike) -> Floats:
    """Subtract the mean of the rows `mean_of` from all, and bring every row to unit length; rows of NaN stay."""
    rows = vectors - vectors[np.asarray(mean_of, dtype=np.int64)].mean(axis=0, dtype=np.float64).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def sample_triplets(relevance: RelevanceData, n: int, sampling: Sampler, seed: int) -> Ints:
    """Draw triplets of image ids from training relevance."""
    given = plain(sampling, include={"out_of_class", "positive_threshold", "margin"})
    try:
        return relevance.image_id[RelevanceTripletSampler(relevance, **given, random_state=seed).sample(n)]
    except ValueError as error:
        raise LookalikeError(f"training triplets cannot be sampled: {error}") from error


def usable_rows(features: Features) -> Truths:
    """Return which images have a vector of every feature, shape (N,)."""
    masks = [
        np.concatenate([np.isfinite(vectors[rows]).all(axis=1) for rows in blocks_of(len(vectors))])
        for vectors in features.values()
    ]
    return np.asarray(np.logical_and.reduce(masks))


def blocks_of(n: int) -> list[slice]:
    """Return parts of n rows, so that not all vectors are in memory at a time."""
    return [slice(start, start + BLOCK) for start in range(0, n, BLOCK)]


def stratified_folds(category: Array, n_folds: int, random: np.random.Generator) -> Longs:
    """Deal the images of every category into folds in turn, in random order: every n-th image to the same fold."""
    folds = np.empty(len(category), dtype=np.int64)
    for label in np.unique(category):
        members = random.permutation(np.flatnonzero(category == label))
        folds[members] = np.arange(len(members)) % n_folds
    return folds
