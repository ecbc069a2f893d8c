"""Systems that learn without a network: L1HashKPCA and OASIS, on vectors of hand-crafted features (Deep Ranking, 6.4).

They learn from the relevance of training images alone, and never see rated evaluation triplets (section 6.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.arrays import Array
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator, integer_seed
from lookalike.data.relevance import RelevanceData
from lookalike.features import l1_hash
from lookalike.learners import oasis
from lookalike.ranking.distances import pair_distances
from lookalike.studies.finegrained import training
from lookalike.studies.finegrained.files import SystemResult
from lookalike.studies.finegrained.settings import EmbeddingOasis, L1HashKPCA, Sampler
from lookalike.studies.finegrained.training import Features, Floats

VALIDATION_SHARE, N_VALIDATION = 0.2, 5_000
"""Of OASIS: the share of each category's images that is held out for the choice, and triplets that measure it."""
Parts = tuple[RelevanceData, npt.NDArray[np.int32]]
"""Relevance of the training images that are learned from, and triplets of the others to choose by."""


def l1hashkpca_system(
    features: Features,
    l1_weights: Mapping[str, float],
    fit_rows: npt.ArrayLike,
    pairs: pd.DataFrame,
    settings: L1HashKPCA,
    *,
    seed: int,
    codebook_from: str,
) -> SystemResult:
    """Embed the L1 visual features by weighted minhash and kernel PCA; measure the pairs by Euclidean distance."""
    chosen = {name: float(weight) for name, weight in l1_weights.items() if weight > 0}
    if not chosen:
        raise LookalikeError("no L1 visual feature has a weight: make the golden feature first")
    named = {name: features[name] for name in chosen}
    usable, blocks = training.usable_rows(named), training.blocks_of(len(next(iter(named.values()))))
    learned_from = np.intersect1d(np.asarray(fit_rows, dtype=np.int64), np.flatnonzero(usable))
    if len(learned_from) < 2:
        raise LookalikeError("L1HashKPCA needs two images at least to learn its directions: give more training images")
    model = l1_hash.L1HashKPCA(**dict(settings), random_state=integer_seed(seed, "finegrained", "l1hashkpca"))
    signed = {name for name, vectors in named.items() if any((vectors[rows] < 0).any() for rows in blocks)}

    def joined(rows: npt.NDArray[np.int64]) -> Floats:
        """Join the features of some images; of all at once they would fill the memory."""
        return l1_hash.l1_visual_features({name: vectors[rows] for name, vectors in named.items()}, chosen, signed)

    if len(learned_from) > settings.n_landmarks:
        random = generator(seed, "finegrained", "l1hashkpca", "landmarks")
        learned_from = np.sort(random.choice(learned_from, settings.n_landmarks, replace=False))
    landmark_rows = joined(learned_from)
    model.fit(landmark_rows)
    print(f"l1hashkpca: {model.n_components_} directions of {len(model.landmarks_)} images")
    vectors = np.full((len(usable), model.n_components_), np.nan, dtype=np.float32)
    others = np.setdiff1d(np.flatnonzero(usable), learned_from)
    for block in training.blocks_of(len(others)):
        if len(others[block]):
            vectors[others[block]] = model.transform(joined(others[block]))
    # as if they were not among the directions: OASIS learns from these, and is judged by those of other images
    vectors[learned_from] = model.held_out_vectors_
    fit = {
        "system": "l1hashkpca",
        "dimensions": model.n_components_,
        "distance": "l2",
        "settings": dict(settings),
        "l1_weights": chosen,
        "hashed_dimensions": landmark_rows.shape[1],
        "codebook_from": codebook_from,
        "n_fit_images": len(model.landmarks_),
        "n_images": int(usable.sum()),
    }
    return SystemResult(vectors, pair_distances(vectors, pairs, "l2"), fit)


def oasis_system(
    vectors: Floats,
    relevance: RelevanceData,
    pairs: pd.DataFrame,
    settings: EmbeddingOasis,
    sampling: Sampler,
    *,
    seed: int,
    system: str = "oasis",
    repeat: int = 1,
    held_out_images: npt.ArrayLike | None = None,
    n_validation: int = N_VALIDATION,
) -> SystemResult:
    """Learn OASIS on vectors from training relevance, and measure the pairs by -similarity.

    `repeat` is the number of the seed of the network that gave the vectors; the first draws from `seed` itself.
    """
    seed = seed if repeat == 1 else integer_seed(seed, "finegrained", system, repeat)
    relevance = training.with_vectors(relevance, np.asarray(np.isfinite(vectors).all(axis=1)))
    # of these W = I, where OASIS starts, ranks by cosine, and a step is as long for every image
    rows, outside = in_span(centred_units(vectors, relevance.image_id), relevance.image_id)
    kept, held_out = _held_out(relevance, seed, system, held_out_images)
    stream = integer_seed(seed, "finegrained", system, "validation")
    parts = kept, training.draw_triplets(held_out, n_validation, sampling, stream)
    aggressiveness, n_steps, choice = _choose_oasis(rows, parts, settings, sampling, seed, system)
    stream = integer_seed(seed, "finegrained", system, "training")
    triplets = training.draw_triplets(relevance, n_steps, sampling, stream)
    ids = relevance.image_id
    local = relevance.rows_of(triplets).reshape(-1, 3)
    model = oasis.OASIS(aggressiveness=aggressiveness).fit_triplets(rows[ids], local)
    asked = pairs["query"].to_numpy(), pairs["candidate"].to_numpy()
    distances = -(pair_similarities(rows, model, *asked) + pair_similarities(outside, None, *asked))
    print(f"{system}: C = {aggressiveness:g}, {n_steps} steps, {model.n_updates_} updates")
    validation = {"validation_share": VALIDATION_SHARE, "n_validation_triplets": n_validation}
    fit = {
        "system": system,
        "repeat": repeat,
        "dimensions": vectors.shape[1],
        "distance": "-similarity",
        "codebook_from": "training relevance",
        "settings": validation | training.recorded(settings, sampling),
        "aggressiveness": aggressiveness,
        "n_steps": n_steps,
        "n_updates": int(model.n_updates_),
        "n_triplets": n_steps,
        "validation": choice,
        "n_fit_images": len(ids),
    }
    return SystemResult(None, distances, fit)


def _held_out(
    relevance: RelevanceData, seed: int, system: str, images: npt.ArrayLike | None
) -> tuple[RelevanceData, RelevanceData]:
    """Return the relevance of images to learn from, and of a share of each category, or of `images`, held out."""
    if images is None:
        random = generator(seed, "finegrained", system, "held-out")
        held_out = training.stratified_folds(relevance.category, 1 / VALIDATION_SHARE, random) == 0
    else:
        # what gave the vectors did not learn from these either
        held_out = np.isin(relevance.image_id, images)
    return relevance.subset(np.flatnonzero(~held_out)), relevance.subset(np.flatnonzero(held_out))


def _choose_oasis(
    rows: Floats, parts: Parts, settings: EmbeddingOasis, sampling: Sampler, seed: int, system: str
) -> tuple[float, int, list[dict[str, Any]]]:
    """Best aggressiveness and steps on held-out training images, of equals the fewest and least, and what all gave."""
    kept, judged = parts
    steps = sorted(set(settings.steps))
    stream = integer_seed(seed, "finegrained", system, "choice")
    triplets = kept.rows_of(training.draw_triplets(kept, steps[-1], sampling, stream)).reshape(-1, 3)
    X = rows[kept.image_id]
    found = [{"aggressiveness": 0.0, "n_steps": 0, "precision": similarity_precision(rows, None, judged)}]
    for aggressiveness in sorted(settings.aggressiveness):
        model, taken = oasis.OASIS(aggressiveness=aggressiveness), 0
        for n_steps in steps:
            model.partial_fit_triplets(X, triplets[taken:n_steps])
            taken = n_steps
            precision = similarity_precision(rows, model, judged)
            found.append({"aggressiveness": aggressiveness, "n_steps": n_steps, "precision": precision})
            print(f"{system}: C = {aggressiveness:g}, {n_steps} steps: {100 * precision:.2f}% held out")
    best = min(found, key=lambda row: (-row["precision"], row["n_steps"], row["aggressiveness"]))
    aggressiveness = best["aggressiveness"] or min(settings.aggressiveness)
    return float(aggressiveness), int(best["n_steps"]), found


def similarity_precision(rows: Floats, model: oasis.OASIS | None, triplets: npt.NDArray[np.int32]) -> float:
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
    if not np.isfinite(similarities).all():
        raise LookalikeError(training.NO_VECTOR)
    return similarities


def in_span(rows: Floats, learned: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
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
