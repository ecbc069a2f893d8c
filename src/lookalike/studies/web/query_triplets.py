"""Random triplets from a query log: what OASIS learns from at web scale, drawn without an image-image matrix."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.arrays import Doubles, Ints, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import RandomState, as_seed
from lookalike.data.query_kernels import (
    Incidence,
    Lists,
    Proposal,
    count_positives,
    find_positives,
    running_sums,
    sample_pairs,
    sample_triplets,
)
from lookalike.data.query_log import QueryLog
from lookalike.learners.triplets import stream_key

TRIES = 64
"""Rejections after which a positive is drawn from the written-out candidates instead."""

EASY = 0.5
"""Images of which at least this share of the proposals is accepted need no list: two tries or fewer on average."""

LIST_ENTRIES = 16_000_000
"""Most positives that are kept in lists, 12 bytes each; the images beyond them propose, and collect after `TRIES`."""

EXACT_PAIRS = 8_000_000
"""Most image pairs, counted once per query, of which a co-click threshold is found from all of them."""

SAMPLED_PAIRS = 1_000_000
"""Size of the sample that stands for the pairs of a larger log."""


class QueryTripletSampler:
    """Draws triplets (query image, positive, negative) from a query log.

    The query image p is uniform over the images that have a relevant other image; the positive p+ is another image
    with probability proportional to its relevance [Pr(p, p+)] above `theta`: q ~ Pr(q | p), then p+ ~ Pr(. | q), again
    when that gives p itself or a pair at or below `theta` (JMLR sections 2.3 and 5.2.1, equation 10; 2009 draft,
    equations 18 and 19). With the `relevance` "co_clicks" it is proportional to C'C of the raw relevance, cut to the
    `share` of its largest values between different images (NIPS 2009, section 4.1), and to those that equal them. The
    negative is uniform over all images, so now and then it is relevant, or p or p+ itself; JMLR section 2.3 allows this
    as almost all images are irrelevant to p.

    So many as `triplets_per_query` in a row share their p, each with a p+ and a p- of its own: every triplet alone is
    distributed as before, and training is faster (`lookalike.learners.kernels`).
    """

    queries_: Ints
    """The images that come as p, ascending."""
    n_without_positive_: int
    """How many images have no relevant other image."""

    def __init__(
        self,
        log: QueryLog,
        random_state: RandomState = None,
        *,
        theta: float = 0.0,
        relevance: Literal["joint", "co_clicks"] = "joint",
        share: float | None = None,
        triplets_per_query: int = 1,
    ) -> None:
        self._seed = as_seed(random_state)
        self._drawn = 0
        self._log = log.incidence(relevance)
        self._theta = float(theta)
        if share is not None and share < 1:
            # the largest cut that is below the smallest value kept: those that equal it stay
            self._theta = float(np.nextafter(co_click_threshold(self._log, share), 0))
        self._per_query = int(triplets_per_query)
        self._proposal = _proposal(self._log)
        with_positive, accepted = _positives(self._log, self._proposal, self._theta)
        self._lists = _lists(self._log, with_positive[accepted < EASY], self._theta)
        self.n_without_positive_ = log.n_images - len(with_positive)
        if not len(with_positive):
            raise LookalikeError(
                "no triplets can be sampled from this log, in which no image has a relevant other image: lower theta, "
                "raise share or give a log with more queries"
            )
        self.queries_ = with_positive.astype(np.int32)

    def sample(self, n: int) -> Ints:
        """Return the next `n` triplets, int32 rows (query, positive, negative): of two calls, those of one for both."""
        triplets = self._rows(stream_key(self._seed, 0), self._drawn, n)
        self._drawn += n
        return triplets

    def chunk(self, number: int, n: int) -> Ints:
        """Return the first `n` triplets of chunk `number`: a stream of its own, by the seed and the number alone.

        So a training run can go on anywhere, and rankers can share the chunks out. Threads may call it together.
        """
        return self._rows(stream_key(self._seed, 1, number), 0, n)

    def _rows(self, key: NDArray[np.uint64], first: int, n: int) -> Ints:
        triplets = np.empty((n, 3), dtype=np.int32)
        source = self._log, self._proposal, self._lists, self.queries_, self._theta
        sample_triplets(key, first, *source, TRIES, self._per_query, triplets)
        return triplets


def _proposal(log: Incidence) -> Proposal:
    """Return the running sums; a query is drawn by R(q, p) S_q factor(q), with the joint relevance by Pr(q | p)."""
    by_query = running_sums(log.query_start, log.query_weights)
    sums = np.zeros(len(log.query_start) - 1)
    filled = np.diff(log.query_start) > 0
    sums[filled] = by_query[log.query_start[1:][filled] - 1]
    weights = log.image_weights * (sums * log.factor)[log.image_queries]
    return Proposal(running_sums(log.image_start, weights), by_query)


def _positives(log: Incidence, proposal: Proposal, theta: float) -> tuple[Longs, Doubles]:
    """Return the images with a relevant other image, and the share of their proposals that is accepted."""
    sizes = np.diff(log.query_start)
    images = np.flatnonzero(np.bincount(log.query_images, weights=np.repeat(sizes > 1, sizes)))  # with another one
    if theta > 0:
        counts, accepted = count_positives(log, images, theta)
        return images[counts > 0], accepted[counts > 0]
    # at theta 0 the queries tell: only the image itself is rejected: its relevance to itself is what is lost
    own = log.image_weights**2 * log.factor[log.image_queries]
    own = running_sums(log.image_start, own)
    last = log.image_start[images + 1] - 1
    return images, 1 - own[last] / proposal.by_image[last]


def _lists(log: Incidence, hard: Longs, theta: float) -> Lists:
    """Write out the positives of the images of which few proposals are accepted, as far as the memory allows."""
    counts = count_positives(log, hard, theta)[0]
    fits = np.cumsum(counts) <= LIST_ENTRIES
    hard, counts = hard[fits], counts[fits]
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    slot = np.full(len(log.image_start) - 1, -1, dtype=np.int32)
    slot[hard] = np.arange(len(hard), dtype=np.int32)
    images, cumulative = np.empty(start[-1], dtype=np.int32), np.empty(start[-1])
    find_positives(log, hard, theta, start, images, cumulative)
    return Lists(slot, start, images, cumulative)


def co_click_threshold(log: Incidence, share: float) -> float:
    """Return the smallest value in the top `share` of the co-clicks of different images, of many pairs by a sample."""
    sizes = np.diff(log.query_start).astype(np.float64)
    pair_sums = np.cumsum(sizes * (sizes - 1) / 2)
    if not len(pair_sums) or pair_sums[-1] == 0:
        return 0.0
    if pair_sums[-1] <= EXACT_PAIRS:
        R = sp.csr_array((log.query_weights, log.query_images, log.query_start))
        values = sp.triu(R.T @ R, k=1).data
        place = len(values) - math.ceil(share * len(values))
        return float(np.partition(values, place)[place])
    # a seed of its own, so that rankers with other seeds have the same threshold
    values, weights = sample_pairs(stream_key(0), log, pair_sums, SAMPLED_PAIRS)
    order = np.argsort(-values, kind="stable")
    covered = np.cumsum(weights[order])
    place = np.searchsorted(covered, share * covered[-1])
    return float(values[order[min(place, len(order) - 1)]])
