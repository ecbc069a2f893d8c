"""What all samplers promise (a stream that goes on, seeds), and what they draw: by labels, and by relevance."""

import math
from functools import partial

import numpy as np
import pytest
from made_rows_and_examples import assert_drawn_from

from lookalike.data.query_log import QueryLog
from lookalike.data.relevance import RelevanceData
from lookalike.deep import relevance_triplets
from lookalike.deep.relevance_triplets import RelevanceTripletSampler
from lookalike.learners import PairSampler, TripletSampler
from lookalike.learners.triplets import check_pairs
from lookalike.studies.web.query_triplets import QueryTripletSampler


def from_labels(random_state, sampler=TripletSampler):
    return sampler(np.arange(50) % 7, random_state)


def from_log(random_state, **options):
    random = np.random.default_rng(0)
    log = QueryLog(random.integers(0, 200, 4000), random.integers(0, 3000, 4000))
    return QueryTripletSampler(log, random_state, **options)


def from_relevance(random_state, **options):
    names = [f"c{i}" for i in range(10)]
    block = np.random.default_rng(0).random((100, 100))
    data = RelevanceData.from_blocks(range(1000), np.repeat(names, 100), dict.fromkeys(names, block * block.T))
    return RelevanceTripletSampler(data, random_state=random_state, **options)


pairs, buffers = partial(from_labels, sampler=PairSampler), partial(from_relevance, capacity=5)
groups = partial(from_log, triplets_per_query=7)
samplers = pytest.mark.parametrize("sampler", [from_labels, pairs, from_log, groups, from_relevance, buffers])


@pytest.mark.parametrize("sampler", [from_labels, pairs, from_relevance])
def test_the_name_up_to_1_1_still_works(sampler):
    np.testing.assert_array_equal(sampler(3).draw(9), sampler(3).sample(9))


@samplers
@pytest.mark.parametrize("cuts", [(0, 1000), (1, 999), (400, 350, 250)])
def test_draws_go_on_where_the_last_one_ended_and_follow_from_a_seed_or_a_generator(sampler, cuts):
    parts, whole = sampler(3), sampler(3).sample(1000)
    np.testing.assert_array_equal(np.concatenate([parts.sample(cut) for cut in cuts]), whole)
    assert whole.dtype == np.int32
    assert whole.shape == (1000, 3)
    with pytest.raises(ValueError, match="negative"):
        parts.sample(-1)
    assert not np.array_equal(whole, sampler(2).sample(1000))
    generator = np.random.default_rng(3)
    first = sampler(generator).sample(100)
    assert not np.array_equal(first, sampler(generator).sample(100))
    np.testing.assert_array_equal(first, sampler(np.random.default_rng(3)).sample(100))
    with pytest.raises(TypeError, match="random_state"):
        sampler("seed")


@pytest.mark.parametrize("sampler", [TripletSampler, PairSampler])
def test_the_distribution_is_uniform(sampler):
    y = np.array([0, 1, 2, 1, 0, 1, 2, 1, 3])  # class 3 has one image: never a query, now and then a negative
    probability = np.zeros((9, 9, 2 if sampler is PairSampler else 9))
    for query in np.flatnonzero(y != 3):
        positives = (y == y[query]) & (np.arange(9) != query)
        negatives = y != y[query]
        if sampler is PairSampler:  # half the pairs are of one class
            probability[query] = np.stack([negatives / negatives.sum(), positives / positives.sum()], axis=1) / 16
        else:
            probability[query] = np.outer(positives / positives.sum(), negatives / negatives.sum()) / 8
    assert_drawn_from(sampler(y, 7).sample(200_000), probability)


def graded(sizes=(5, 4, 3), seed=0, share=0.8, lonely=0):
    """Return relevance of images of interleaved categories, above 0 for `share` of the pairs, 0 for `lonely` images."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.repeat([f"c{i}" for i in range(len(sizes))], sizes))
    blocks = {}
    for i, m in enumerate(sizes):
        block = np.triu(random.random((m, m)) * (random.random((m, m)) < share), 1)
        block[:, m - lonely :] = 0
        blocks[f"c{i}"] = block + block.T
    return RelevanceData.from_blocks(100 + np.arange(sum(sizes)), labels, blocks)


def target(data, outside, weighted=True, threshold=math.inf, margin=0.05, tries=50, buffered=False):
    """Probability of each triplet by equations 6 to 8, all tries written out; `buffered`: buffers hold all images."""
    r = data.relevance.toarray().astype(np.float64)
    weight = np.minimum(threshold, r) if weighted else (r > 0).astype(float)
    query_weight = data.total if weighted else (data.total > 0).astype(float)
    if buffered:
        query_weight = (np.bincount(data.category, query_weight) / np.bincount(data.category))[data.category]
    same = data.category[:, None] == data.category[None, :]
    np.fill_diagonal(same, False)
    probability = np.zeros((len(r),) * 3)
    for q in np.flatnonzero(weight.sum(axis=1) > 0):
        for p in np.flatnonzero(weight[q]):
            example = query_weight[q] * weight[q, p] / weight[q].sum()
            if outside:
                others = np.flatnonzero(data.category != data.category[q])
                chances, found = np.full(len(others), 1 / len(others)), 1.0
            else:
                drawn = weight[q] if weighted else same[q].astype(float)
                others = np.flatnonzero((drawn > 0) & (r[q] < r[q, p]) & (r[q, p] - r[q] >= margin))
                found = 1 - (1 - drawn[others].sum() / drawn.sum()) ** tries
                chances = drawn[others] / drawn[others].sum() if len(others) else np.zeros(0)
            probability[q, p, others] = example * found * chances
    return probability / probability.sum()


@pytest.mark.parametrize("capacity", [None, 4, 100])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("threshold", "margin", "tries"), [(math.inf, 0.05, 50), (0.3, 0.2, 2), (0.5, 0.0, 1)])
def test_the_distribution_is_the_papers(share, weighted, threshold, margin, tries, capacity):
    data = graded((5, 5, 4), lonely=1)
    own = {"weighted": weighted, "margin": margin, "tries": tries}
    sampler = RelevanceTripletSampler(
        data, out_of_class=share, positive_threshold=threshold, capacity=capacity, random_state=5, **own
    )
    assert sampler.n_without_positive_ == 3
    # an example that is given up must not tip the coin again
    inside, outside = (target(data, kind, threshold=threshold, buffered=capacity is not None, **own) for kind in (0, 1))
    expected, drawn = (1 - share) * inside + share * outside, sampler.sample(50_000)
    if capacity == 4:  # not of all images at a time
        assert expected[tuple(drawn.T)].all()
        outside = data.category[drawn[:, 0]] != data.category[drawn[:, 2]]
        assert outside.mean() == pytest.approx(share, abs=0.01)
    else:
        assert_drawn_from(drawn, expected)


def held_share(weights, capacity):
    """Return the probability to be among `capacity` draws without replacement, each by weight."""
    if capacity in (0, np.count_nonzero(weights)):
        return np.sign(weights) * (capacity > 0)
    left = weights * (1 - np.eye(len(weights)))
    chances = weights / weights.sum()
    return chances + sum(p * held_share(rest, capacity - 1) for p, rest in zip(chances, left, strict=True) if p)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])  # u ** (1 / r) would be 0 or 1 for the latter two
@pytest.mark.parametrize("capacity", [2, 4, 9])
def test_buffers_hold_a_weighted_sample_of_every_pass(capacity, scale):
    """Keys of an earlier pass must not keep later images out, and queries are uniform among what is held."""
    data = graded((9, 9), seed=4, share=1.0)
    spread = np.sqrt(np.random.default_rng(0).uniform(0.02, 1, 18))
    relevance = data.relevance.toarray() ** 0.2 * spread[:, None] * spread[None, :]
    data = RelevanceData(data.image_id, data.category, data.category_names, relevance * scale)
    expected = np.bincount(data.category, data.total / data.total.sum())[data.category]
    for category in range(2):
        images = np.flatnonzero(data.category == category)
        expected[images] *= held_share(data.total[images], capacity) / capacity
    sampler = RelevanceTripletSampler(data, out_of_class=1, capacity=capacity, random_state=6)
    counts = np.bincount(sampler.sample(120_000)[:, 0], minlength=18)
    # 6,000 passes: images of one buffer are drawn together, so a chi-square is no test here
    assert np.abs(counts / 120_000 - expected).max() < 0.005


def test_a_fingerprint_tells_samplers_whose_triplets_differ():
    def fingerprint(seed=3, n_drawn=0, shuffle=0, **options):
        sampler = RelevanceTripletSampler(graded(seed=shuffle), random_state=seed, **options)
        sampler.sample(n_drawn)
        return sampler.fingerprint()

    changes = {"seed": 4, "n_drawn": 1, "shuffle": 1, "margin": 0.1, "capacity": 4}
    assert fingerprint() == fingerprint()
    assert len({fingerprint(), *(fingerprint(**{name: value}) for name, value in changes.items())}) == 6


ONE = RelevanceData.from_pairs(range(3), ["a"] * 3, [0, 0], [1, 2], [1.0, 0.5])
FLAT = RelevanceData.from_labels(range(4), ["a", "a", "b", "b"])


def relevance_sampler(data, **options):
    return lambda: RelevanceTripletSampler(data, **options)


REFUSED = [
    (r"\(m, 2\)", lambda: check_pairs([[0, 1, 2]], [1], range(3))),
    (r"\(m, 2\)", lambda: check_pairs([0, 1], [1], range(3))),
    ("one value per pair", lambda: check_pairs([[0, 1]], [1, 0], range(3))),
    ("True", lambda: check_pairs([[0, 1]], [np.nan], range(3))),
    ("1-D", lambda: TripletSampler([[1, 2], [1, 2]])),
    ("set out_of_class to 0", relevance_sampler(ONE)),
    ("set out_of_class to 1", relevance_sampler(FLAT)),
    ("lower the margin", relevance_sampler(graded(), margin=2.0)),
    ("with pairs", relevance_sampler(RelevanceData.from_labels([], []))),
    ("raise capacity", relevance_sampler(graded(), capacity=2)),
    ("share", relevance_sampler(graded(), out_of_class=1.2)),
]


@pytest.mark.parametrize(("sentence", "call"), REFUSED)
def test_what_cannot_be_drawn_is_said_at_once(sentence, call):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_what_can_just_be_drawn_is_and_what_is_never_found_is_given_up(monkeypatch):
    assert RelevanceTripletSampler(ONE, out_of_class=0.0, random_state=0).sample(10).shape == (10, 3)
    assert RelevanceTripletSampler(FLAT, out_of_class=1.0, random_state=0).sample(10).shape == (10, 3)
    monkeypatch.setattr(relevance_triplets, "DISCARDS", 0)
    for capacity in (None, 3):
        with pytest.raises(ValueError, match="the capacity where one is given"):
            RelevanceTripletSampler(graded(), capacity=capacity, random_state=0).sample(1)
