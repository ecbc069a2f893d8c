"""The landmark study's jobs as pure functions: which images are learned from, which triplets, one run and its ranking.

Protocol of the SOML paper (AAAI 2014, "Experimental Testbed and Setup"): per landmark, 7 positives and 500 negatives
make 7 x 6 x 500 = 21,000 triplets for one pass; 5 queries retrieve from the images that are left.

What the paper leaves open is decided here: positives are good or ok and never one of the landmark's query images, so
that every query is judged on a ranking that holds its own image; negatives are neither good, ok nor junk of that
landmark; images that were learned from leave both the gallery and the ground truth; the order of triplets is random;
and average precision is the mean over all orders of images of equal similarity. Where these are shown, they stand in a
random order, the same one for every method: file names are sorted by landmark, so no tie may be broken by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lookalike.core.arrays import Doubles, Integers, Ints, Truths
from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_csr, read_table
from lookalike.core.seeds import integer_seed
from lookalike.core.settings.methods import Fit
from lookalike.exhibits.results import select
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.triplet_products import TripletProducts
from lookalike.ranking.oxford import average_precision
from lookalike.ranking.rankings import ranks_and_ties
from lookalike.studies.fits import (
    Clock,
    Run,
    TimeLimitReachedError,
    cpu_time_limit,
    fold_seed,
    make_learner,
    record_of,
    warm_up,
)
from lookalike.studies.landmark.results import FEATURES, JUNK, MAP, MAP_FULL, SPARSITY, LandmarkRankings
from lookalike.studies.selection import grid

STEPS_AT_RANDOM = frozenset({"DiagonalOASIS", "OASIS"})
"""Learners whose every step takes one of the triplets at random (JMLR section 2.1); all others see each once."""
CUTS = 2
"""How often constants are tried on images that are held out."""


def landmark_triplets(n_positives: int, n_negatives: int, seed: int) -> Ints:
    """Return every ordered pair of positives (rows 0, 1, ...) with every negative, once each, in random order."""
    pairs = np.array(list(permutations(range(n_positives), 2)), dtype=np.int32)
    negatives = np.arange(n_positives, n_positives + n_negatives, dtype=np.int32)
    triplets = np.column_stack([np.repeat(pairs, n_negatives, axis=0), np.tile(negatives, len(pairs))])
    # the order is not printed; sorted, one image asks 3,000 times on end, and an online learner forgets the first ones
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(triplets))
    return np.asarray(triplets[order], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class LandmarkData:
    """Weighted vectors of the data base and of the queries, with the ground truth: what all runs share."""

    rows: sp.csr_array
    """tf-idf of the gallery, float64, rows of unit length, shape (n_gallery, n_words)."""
    image_ids: Ints
    """Which image each of these rows is: int32, ascending, shape (n_gallery,)."""
    query_rows: sp.csr_array
    """tf-idf of the words inside each query's rectangle, with the gallery's idf: float64, (n_queries, n_words)."""
    queries: pd.DataFrame
    """``query``, ``landmark``, ``image_id``; row i is row i of `query_rows`."""
    relevance: pd.DataFrame
    """``query``, ``image_id``, ``relevance``."""
    n_features: float
    """Words of a photograph on average."""
    learning_images: pd.DataFrame
    """``landmark``, ``draw``, ``image_id``, ``role``: those that each landmark is learned from."""
    seed: int
    """Root seed."""
    passes: float | None = None
    """Steps for each triplet of learners that draw triplets at random; their own number if None."""

    def empty_queries(self) -> Truths:
        """Tell which queries have no word in their rectangle that weighs anything: bool, shape (n_queries,)."""
        return np.asarray(abs(self.query_rows).sum(axis=1) == 0).ravel()

    def positions(self, image_ids: Integers) -> Integers:
        """Return the rows of `rows` that hold these images; -1 for those that the gallery lacks."""
        found = np.searchsorted(self.image_ids, image_ids)
        clipped = np.minimum(found, len(self.image_ids) - 1)
        return np.where(self.image_ids[clipped] == image_ids, clipped, -1)


def landmark_data(
    counts: sp.csr_array,
    query_counts: sp.csr_array,
    queries: pd.DataFrame,
    relevance: pd.DataFrame,
    image_ids: ArrayLike | None = None,
    **learning: Any,
) -> LandmarkData:
    """Weight gallery and queries for all runs; `learning` are learning images, root seed and passes."""
    images = np.arange(counts.shape[0]) if image_ids is None else np.unique(np.asarray(image_ids))
    gallery = counts[images]
    # document frequencies need no labels: a retrieval system counts them over all that it holds
    idf = inverse_document_frequencies(gallery)
    rows, query_rows = (tfidf_rows(part, idf, "float64") for part in (gallery, query_counts))
    queries = queries.reset_index(drop=True)
    n_features, ids = float(gallery.sum() / len(images)), images.astype(np.int32)
    data = LandmarkData(rows, ids, query_rows, queries, relevance, n_features, **learning)
    lost = queries.loc[data.positions(queries["image_id"].to_numpy()) < 0, "query"].tolist()
    if lost:
        raise LookalikeError(
            f"the image of query {lost[0]} is not among the images that could be read: "
            "put the file in place, or take the query out of the ground truth"
        )
    for query in queries.loc[data.empty_queries(), "query"]:
        warnings.warn(
            f"query {query} has no weighted word in its rectangle, so it ranks images at random: widen the rectangle, "
            "or take the query out of the ground truth",
            stacklevel=2,
        )
    return data


def read_data(files: Any, settings: Mapping[str, Any]) -> LandmarkData:
    """Return the data that a job is given as files, with the root seed and the passes of its settings."""
    counts, query_counts = read_csr(files.counts), read_csr(files.query_counts)
    queries, relevance, learning_images = (read_table(files[n]) for n in ("queries", "relevance", "learning_images"))
    manifest = read_table(files.manifest)
    image_ids = manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy()
    learning = {"learning_images": learning_images, "seed": settings["seed"], "passes": settings["passes"]}
    return landmark_data(counts, query_counts, queries, relevance, image_ids, **learning)


@dataclass(frozen=True, eq=False)
class LandmarkTask:
    """One draw of one landmark, ready for any learner."""

    X: sp.csr_array
    """Rows to learn from, positives first."""
    triplets: Ints
    """Every triplet once, in random order."""
    gallery: Integers
    """Rows of the data that are retrieved from, in the random order that breaks ties."""
    queries: Integers
    """Rows of the table of queries."""
    judged: list[tuple[Integers, Truths]]
    """For each of them the images that are judged and not learned from, ascending, and which of these are junk."""
    seeds: dict[str, int]
    """Of the streams of this draw."""


def run_landmark(
    data: LandmarkData,
    landmark: str,
    draw: int,
    spec: Fit,
    *,
    method: str,
    chosen: Mapping[str, object] = MappingProxyType({}),
    n_top: int = 50,
) -> Run:
    """Learn a landmark's metric from one draw, with `chosen` constants; its queries rank the other images."""
    seed = fold_seed(data.seed, landmark, draw, "fit")
    learner = make_learner(spec, seed, chosen)
    warm_up(spec)
    clock = Clock()
    with clock("features"):
        task = landmark_task(data, landmark, draw)
    model, rankings, not_converged = None, LandmarkRankings.none(), ""
    metrics: dict[str, float] = {}
    triplets = triplets_for(learner, task.triplets, task.seeds["steps"], data.passes)
    try:
        with clock("fit"), cpu_time_limit(spec.time_limit, "the fit"):
            model = learner.fit_triplets(task.X, triplets)
    except TimeLimitReachedError as error:
        model, not_converged = None, str(error)
    if model is not None:
        with clock("rank"):
            rankings = rank_task(model, data, task, n_top=n_top)
        metrics = metrics_of(model, rankings)
    fit = {
        **record_of(spec, chosen, model, task.X, clock, not_converged),
        "n_test": len(task.gallery),
        "n_queries": len(task.queries),
        "n_empty_queries": int(np.count_nonzero(data.empty_queries()[task.queries])),
        "method": method,
        "subset": landmark,
        "fold": int(draw),
        "n_triplets": len(triplets),
        "seeds": {**task.seeds, "fit": seed},
    }
    return Run(model, fit, metrics, rankings)


@lru_cache(maxsize=1)
def landmark_task(data: LandmarkData, landmark: str, draw: int) -> LandmarkTask:
    """Take one draw's rows, triplets, gallery and queries."""
    drawn = select(data.learning_images, landmark=landmark, draw=draw)
    positives, negatives = (select(drawn, role=role)["image_id"].to_numpy() for role in ("positive", "negative"))
    # sorted, so that no number depends on the order of the table
    learned = np.concatenate([np.sort(positives), np.sort(negatives)])
    rows = data.positions(learned)
    # without the method: triplets and ties are the same for all
    names = ("landmark", landmark, "draw", int(draw))
    seeds = {use: integer_seed(data.seed, *names, use) for use in ("triplets", "steps", "ties", "validation")}
    gallery = np.setdiff1d(np.arange(len(data.image_ids)), rows)
    queries = np.flatnonzero((data.queries["landmark"] == landmark).to_numpy())
    return LandmarkTask(
        X=data.rows[rows],
        triplets=landmark_triplets(len(positives), len(negatives), seeds["triplets"]),
        gallery=np.random.Generator(np.random.PCG64(seeds["ties"])).permutation(gallery),
        queries=queries,
        judged=[_ground_truth(data, gallery, query) for query in data.queries["query"].iloc[queries]],
        seeds=seeds,
    )


def triplets_for(learner: SimilarityLearner, triplets: Ints, seed: int, passes: float | None = None) -> Ints:
    """Return what a learner sees: each triplet once, in order, or of `STEPS_AT_RANDOM` one a step, with replacement."""
    if type(learner).__name__ not in STEPS_AT_RANDOM:
        return triplets
    rng = np.random.Generator(np.random.PCG64(seed))
    n_steps = learner.n_steps if passes is None else round(passes * len(triplets))
    return np.asarray(triplets[rng.integers(len(triplets), size=n_steps)])


def chosen_constants(data: LandmarkData, landmarks: Sequence[str], draw: int, spec: Fit) -> dict[str, object]:
    """Return the first of a method's settings that ranks best the images held out of those to learn from."""
    settings = grid(spec.select)
    scores = np.zeros(len(settings))
    # one landmark alone has too few of them to tell settings apart
    for landmark in landmarks if len(settings) > 1 else ():
        task, seed = landmark_task(data, landmark, draw), fold_seed(data.seed, landmark, draw, "fit")
        scores += held_out_scores(spec, settings, task, seed, data.passes)
    return settings[int(np.argmax(scores))]


def measure_lead(
    data: LandmarkData, landmarks: Sequence[str], specs: Mapping[str, Fit], *, setting: str, chosen_draws: int
) -> list[dict[str, object]]:
    """Return rows of results with one codebook: mean average precision of whole images as queries, in percent."""
    names = {"study": "landmark", "setting": setting}
    rows: list[dict[str, object]] = [{**names, "metric": FEATURES, "value": data.n_features, "unit": "features"}]
    draws = sorted(set(data.learning_images["draw"]))
    for method, spec in specs.items():
        for draw in draws[:chosen_draws] if spec.select else draws:
            chosen = chosen_constants(data, landmarks, draw, spec)
            for landmark in landmarks:
                run = run_landmark(data, landmark, draw, spec, method=method, chosen=chosen, n_top=1)
                found = {"setting": f"{setting};landmark={landmark}", "method": method, "repeat": str(draw)}
                value = 100 * run.metrics[MAP_FULL]
                rows.append({**names, **found, "metric": MAP_FULL, "value": value, "unit": "percent"})
    return rows


def held_out_scores(
    spec: Fit, settings: Sequence[Mapping[str, object]], task: LandmarkTask, seed: int, passes: float | None = None
) -> Doubles:
    """Return the sum of average precisions of held-out positives, each of which asks for the others, by setting."""
    n_positives = int(task.triplets[:, 0].max()) + 1
    n_negatives = task.X.shape[0] - n_positives
    n_asked, n_others = n_positives // 2, max(1, n_negatives // 5)
    random = np.random.Generator(np.random.PCG64(task.seeds["validation"]))
    positives, negatives = random.permutation(n_positives), n_positives + random.permutation(n_negatives)
    scores = np.zeros(len(settings))
    for cut in range(CUTS):
        asked, others = (np.roll(rows, -cut * n)[:n] for rows, n in ((positives, n_asked), (negatives, n_others)))
        learned = np.setdiff1d(np.arange(task.X.shape[0]), [*asked, *others])
        triplets = landmark_triplets(n_positives - n_asked, n_negatives - n_others, task.seeds["triplets"])
        taken = triplets_for(make_learner(spec, seed), triplets, task.seeds["steps"], passes)
        products = TripletProducts(task.X[learned], taken)
        gallery = random.permutation([*asked, *others])
        wanted = np.flatnonzero(np.isin(gallery, asked))
        for place, setting in enumerate(settings):
            model = make_learner(spec, seed, setting).fit_products(products)
            similarities = np.asarray(model.similarity(task.X[asked], task.X[gallery]))
            precisions = []
            for image, (ranks, ties) in zip(asked, ranks_and_ties(similarities, [wanted] * len(asked)), strict=True):
                own = gallery[wanted] == image  # which counts as junk
                precisions.append(average_precision(ranks[~own], ranks[own], ties=ties[~own]))
            scores[place] += sum(precisions)
    return scores


def rank_task(model: SimilarityLearner, data: LandmarkData, task: LandmarkTask, *, n_top: int = 50) -> LandmarkRankings:
    """Let the landmark's queries rank what is left of the gallery, by rectangle and by whole image."""
    own = data.queries.iloc[task.queries]
    whole = data.rows[data.positions(own["image_id"].to_numpy())]
    # asked once, against the whole gallery, so that no row of it is copied
    scores = np.asarray(model.similarity(sp.vstack([data.query_rows[task.queries], whole], format="csr"), data.rows))
    scores = scores[:, task.gallery]
    first = np.argsort(-scores[: len(own)], axis=1, kind="stable")[:, :n_top]
    # the last place is that of position -1, an image that the data lack, which no query finds
    place_of = np.full(len(data.image_ids) + 1, -1)
    place_of[task.gallery] = np.arange(len(task.gallery))
    judged = [(place_of[data.positions(images)], is_junk) for images, is_junk in task.judged] * 2
    there = [places >= 0 for places, _ in judged]
    relevant = [places[found] for (places, _), found in zip(judged, there, strict=True)]
    precisions = []
    for (_, is_junk), found, (ranks, ties) in zip(judged, there, ranks_and_ties(scores, relevant), strict=True):
        junk, n_missing = is_junk[found], int(np.count_nonzero(~is_junk & ~found))
        precisions.append(average_precision(ranks[~junk], ranks[junk], n_missing=n_missing, ties=ties[~junk]))
    return LandmarkRankings(
        queries=own["query"].to_numpy(dtype=np.str_),
        average_precision=np.reshape(precisions, (2, len(own))),
        top=data.image_ids[task.gallery[first]].astype(np.int32),
        top_scores=np.take_along_axis(scores[: len(own)], first, axis=1).astype(np.float32),
    )


def _ground_truth(data: LandmarkData, gallery: Integers, query: str) -> tuple[Integers, Truths]:
    """Return the images judged for a query that are in the gallery or nowhere, ascending, and which are junk."""
    judged = data.relevance[data.relevance["query"] == query].sort_values("image_id", kind="stable")
    images, is_junk = judged["image_id"].to_numpy(dtype=np.int32), (judged["relevance"] == JUNK).to_numpy()
    positions = data.positions(images)
    kept = (positions < 0) | np.isin(positions, gallery)
    return images[kept], is_junk[kept]


def metrics_of(model: SimilarityLearner, rankings: LandmarkRankings) -> dict[str, float]:
    """Return metrics of one run to their values; means are over the queries that have a positive."""
    of_regions = zip((MAP, MAP_FULL), rankings.average_precision, strict=True)
    metrics = {name: float(np.nanmean(own)) for name, own in of_regions}
    if type(model).__name__ != "TFIDF":
        # of weights that are learned, the share that is zero: |w| <= 1e-10
        metrics[SPARSITY] = float(model.sparsity())
    return metrics
