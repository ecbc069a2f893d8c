"""The ranking training: triplets, their hinge loss, and held-out triplets that say which weights to keep.

Every image of a batch of triplets goes through the network once, however many triplets name it, and has one shift
there; the triplets then pick its embedding. Gradients are those of three towers with shared weights.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from lookalike.core.row_numbers import row_numbers
from lookalike.core.seeds import RandomState, as_seed
from lookalike.data.relevance import RelevanceData
from lookalike.deep.checkpoints import checksum
from lookalike.deep.images import ImageSource
from lookalike.deep.loop import Curve, Machine, Task, Trained, outputs, train, training_seeds
from lookalike.deep.loss import squared_distances, triplet_hinges
from lookalike.deep.network import DeepRankingNetwork
from lookalike.deep.relevance_triplets import RelevanceTripletSampler
from lookalike.deep.settings import RankingSettings
from lookalike.deep.streams import TripletSource, TripletStream
from lookalike.learners.triplets import check_triplets

LEAST_HELD_OUT = 3
"""Images that an in-class triplet has."""


def train_ranking(
    network: DeepRankingNetwork,
    source: ImageSource,
    sampler: TripletSource,
    settings: RankingSettings | None = None,
    *,
    rows: ArrayLike | None = None,
    validation: ArrayLike | None = None,
    random_state: RandomState = 0,
    **machine: Any,
) -> Trained:
    """Train a network to embed the more relevant image of a triplet nearer to its query (Deep Ranking, eq. 3 and 4).

    Parameters
    ----------
    network : DeepRankingNetwork
        Trained in place; usually one that took pre-trained weights, and has input statistics in any case.
    source : ImageSource
        Windows of ``network.configuration.input_size`` pixels.
    sampler : TripletSource
        Such as `lookalike.deep.relevance_triplets.RelevanceTripletSampler`, fresh.
    settings : RankingSettings, optional
    rows : array-like of int, optional
        Row of `source` for every row number that the sampler draws, such as ``relevance.image_id``; by default the same
        number.
    validation : array-like of shape (m, 3), int, optional
        Rows of `source` (query, positive, negative) of images that are not learned from, such as `hold_out` gives.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=0
        Of the shifts and of dropout.
    **machine
        Fields of `lookalike.deep.loop.Machine`.
    """
    settings = settings or RankingSettings()
    known = row_numbers(np.arange(len(source)) if rows is None else rows, len(source), "rows")
    given = np.empty((0, 3), int) if validation is None else validation
    held_out = check_triplets(given, range(len(source))).astype(np.int64)
    seed = as_seed(random_state)
    _, shifts, dropout = training_seeds(seed)
    where = Machine(**machine)
    images, places = np.unique(held_out, return_inverse=True)
    triplets = torch.from_numpy(places.reshape(-1, 3))

    def validate(network: nn.Module) -> tuple[float, float]:
        """Return loss and similarity precision; a tie counts one half."""
        embeddings = outputs(network, source, images, 3 * settings.batch, where).double()
        query, positive, negative = embeddings[triplets.T.reshape(-1)].chunk(3)
        loss = triplet_hinges(query, positive, negative, settings.gap).mean()
        margins = squared_distances(query, negative) - squared_distances(query, positive)
        return float(loss), float(((margins > 0).double() + 0.5 * (margins == 0).double()).mean())

    task = Task(
        network,
        source,
        TripletStream(source, sampler, known, settings.batch, shifts),
        partial(batch_loss, gap=settings.gap),
        validate if len(held_out) else None,
        Curve("triplet_accuracy", "validation_precision"),
        {
            "training": "ranking",
            "network": repr(network.configuration),
            "held out": checksum([held_out]),
        },
        weight=settings.batch,
    )
    trained = train(task, settings, where, dropout)
    n_triplets = trained.kept_step * settings.batch
    trained.fit.update(n_images=len(known), n_triplets=n_triplets, n_validation_triplets=len(held_out), seed=seed)
    return trained


def hold_out(
    relevance: RelevanceData, share: float, n_triplets: int, *, random_state: RandomState = 0, **sampling: Any
) -> tuple[RelevanceData, NDArray[np.int32]]:
    """Hold out a `share` of the images of every category, whole, and draw triplets of them alone.

    Return the relevance of the images that are left, and rows (query, positive, negative) of IMAGE IDS.
    """
    if not 0 < share < 1:
        raise ValueError(f"the share of images to hold out must lie between 0 and 1, not {share!r}")
    seeds = np.random.SeedSequence(as_seed(random_state)).generate_state(2)
    random = np.random.Generator(np.random.PCG64(int(seeds[0])))
    if not relevance.n_images:
        raise ValueError("there is no training image to hold out: add images with relevance")
    parts = [np.flatnonzero(relevance.category == number) for number in np.unique(relevance.category)]
    held_out = np.sort(np.concatenate([random.permutation(part)[: round(share * len(part))] for part in parts]))
    left = np.setdiff1d(np.arange(relevance.n_images), held_out)
    counts = np.bincount(relevance.category[held_out], minlength=1)
    if counts.max() < LEAST_HELD_OUT:
        raise ValueError(
            f"a share of {share:g} holds out at most {counts.max()} images of a category, and a triplet may need "
            f"{LEAST_HELD_OUT}: raise the share of images to hold out, or add training images"
        )
    scored = relevance.subset(held_out)
    drawn = RelevanceTripletSampler(scored, random_state=int(seeds[1]), **sampling).sample(n_triplets)
    return relevance.subset(left), scored.image_id[drawn]


def batch_loss(embeddings: torch.Tensor, triplets: torch.Tensor, gap: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean hinge (eq. 3) of triplets (m, 3) of rows of embeddings (b, d), and the share ranked right."""
    query, positive, negative = embeddings[triplets.T.reshape(-1)].chunk(3)
    hinges = triplet_hinges(query, positive, negative, gap)
    return hinges.mean(), (hinges.detach() < gap).float().mean()
