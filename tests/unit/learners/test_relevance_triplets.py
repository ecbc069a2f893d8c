"""The triplet sampler of Deep Ranking: its distribution against the target, reservoirs, margin, stream and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from lookalike.data.relevance import RelevanceData
from lookalike.learners import relevance_triplets
from lookalike.learners.relevance_triplets import RelevanceTripletSampler, TripletReservoirs

Target = dict[tuple[int, int, int], float]


def graded(sizes: tuple[int, ...] = (5, 4, 3), seed: int = 0, share: float = 0.8) -> RelevanceData:
    """Return relevance of a few images, `share` of the pairs above 0; the images of the categories are interleaved."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.repeat([f"c{i}" for i in range(len(sizes))], sizes))
    blocks = {}
    for i, m in enumerate(sizes):
        block = np.triu(random.random((m, m)) * (random.random((m, m)) < share), 1)
        blocks[f"c{i}"] = block + block.T
    return RelevanceData.from_blocks(100 + np.arange(sum(sizes)), labels, blocks)


def target(
    data: RelevanceData, outside: bool, weighted: bool, threshold: float, margin: float, tries: int, within: Any = None
) -> Target:
    """Probability of each triplet by the definition (equations 6 to 8), all tries written out.

    `within` is a boolean mask: the images in the buffers, of which then the query is uniform in its buffer.
    """
    r = data.relevance.toarray().astype(np.float64)
    weight = np.minimum(threshold, r) if weighted else (r > 0).astype(float)
    query_weight = data.total if weighted else (data.total > 0).astype(float)
    same = data.category[:, None] == data.category[None, :]
    np.fill_diagonal(same, False)
    if within is not None:
        by_category = np.bincount(data.category, query_weight)
        query_weight = within * (by_category / np.bincount(data.category, within))[data.category]
        weight = weight * within
        same = same & within
    inside = np.ones(len(r), dtype=bool) if within is None else within
    probability: Target = {}
    for q in np.flatnonzero((weight.sum(axis=1) > 0) & (query_weight > 0)):
        for p in np.flatnonzero(weight[q]):
            example = query_weight[q] * weight[q, p] / weight[q].sum()
            if outside:
                others = np.flatnonzero((data.category != data.category[q]) & inside)
                chances, found = np.full(len(others), 1 / len(others)), 1.0
            else:
                drawn = weight[q] if weighted else same[q].astype(float)
                others = np.flatnonzero((drawn > 0) & (r[q] < r[q, p]) & (r[q, p] - r[q] >= margin))
                accepted = drawn[others].sum() / drawn.sum()
                found = 1 - (1 - accepted) ** tries
                chances = drawn[others] / drawn[others].sum() if len(others) else np.zeros(0)
            for n, chance in zip(others, chances, strict=True):
                probability[int(q), int(p), int(n)] = example * found * chance
    total = sum(probability.values())
    return {triplet: value / total for triplet, value in probability.items()}


def assert_drawn_from(triplets: np.ndarray, expected: Target) -> None:
    """Check that the triplets are those of `expected`, as often as it says: each marginal and the whole."""
    rows, counts = np.unique(triplets, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True))
    assert set(seen) <= set(expected)
    for columns in ((0,), (0, 1), (0, 1, 2)):
        observed_by: dict[Any, float] = {}
        expected_by: dict[Any, float] = {}
        for triplet, value in expected.items():
            key = tuple(triplet[column] for column in columns)
            expected_by[key] = expected_by.get(key, 0) + value * len(triplets)
            observed_by[key] = observed_by.get(key, 0) + seen.get(triplet, 0)
        rare = [key for key, value in expected_by.items() if value < 5]
        usual = [key for key in expected_by if key not in set(rare)]
        observed = [observed_by[key] for key in usual]
        wanted = [expected_by[key] for key in usual]
        if rare:
            observed.append(sum(observed_by[key] for key in rare))
            wanted.append(sum(expected_by[key] for key in rare))
        assert chisquare(observed, wanted, sum_check=False).pvalue > 0.001, columns


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("threshold", "margin", "tries"), [(math.inf, 0.05, 50), (0.3, 0.2, 2), (0.5, 0.0, 1)])
def test_the_distribution_is_the_papers(
    outside: bool, weighted: bool, threshold: float, margin: float, tries: int
) -> None:
    data = graded()
    sampler = RelevanceTripletSampler(
        data,
        out_of_class=float(outside),
        weighted=weighted,
        positive_threshold=threshold,
        margin=margin,
        tries=tries,
        random_state=5,
    )
    assert_drawn_from(sampler.draw(100_000), target(data, outside, weighted, threshold, margin, tries))


def test_a_wrong_target_is_told_from_the_right_one() -> None:
    data = graded()
    triplets = RelevanceTripletSampler(data, out_of_class=0, random_state=5).draw(100_000)
    for wrong in ({"threshold": 0.8}, {"tries": 3}, {"weighted": False}):
        settings_of = {"outside": False, "weighted": True, "threshold": math.inf, "margin": 0.05, "tries": 50} | wrong
        with pytest.raises(AssertionError):
            assert_drawn_from(triplets, target(data, **settings_of))


@pytest.mark.parametrize("capacity", [None, 4])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 1.0])
def test_the_share_of_out_of_class_negatives_is_the_one_asked_for(
    share: float, weighted: bool, capacity: int | None
) -> None:
    # few in-class negatives keep this margin: an example that is given up must not tip the coin again
    data = graded((6, 6, 6), seed=3)
    sampler = RelevanceTripletSampler(
        data, out_of_class=share, weighted=weighted, margin=0.5, tries=1, capacity=capacity, random_state=2
    )
    query, _, negative = sampler.draw(20_000).T
    outside = np.count_nonzero(data.category[query] != data.category[negative])
    assert abs(outside - share * 20_000) <= 4 * math.sqrt(20_000 * share * (1 - share))


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    share=st.sampled_from([0.3, 0.7, 1.0]),
    margin=st.sampled_from([0.0, 0.1, 0.4]),
    weighted=st.booleans(),
    capacity=st.sampled_from([None, 3, 5, 100]),
)
def test_order_and_margin_always_hold(
    seed: int, share: float, margin: float, weighted: bool, capacity: int | None
) -> None:
    data = graded((6, 5, 7), seed, share)
    sampler = RelevanceTripletSampler(
        data, out_of_class=0.3, margin=margin, weighted=weighted, capacity=capacity, tries=3, random_state=seed
    )
    r = data.relevance.toarray().astype(np.float64)
    query, positive, negative = sampler.draw(300).T
    assert (query != positive).all()
    assert (query != negative).all()
    assert (positive != negative).all()
    assert (r[query, positive] > 0).all()
    assert (r[query, positive] > r[query, negative]).all()
    inside = data.category[query] == data.category[negative]
    assert (data.category[query] == data.category[positive]).all()
    assert (r[query, positive] - r[query, negative] >= margin)[inside].all()
    if weighted:
        assert (r[query, negative] > 0)[inside].all()


def test_images_without_relevance_are_no_queries_but_negatives() -> None:
    labels = ["a"] * 5 + ["b"] * 3
    data = RelevanceData.from_pairs(range(8), labels, [0, 0, 1, 5], [1, 2, 2, 6], [1.0, 0.5, 0.2, 1.0])
    for weighted in (True, False):
        sampler = RelevanceTripletSampler(data, out_of_class=0.5, weighted=weighted, random_state=0)
        query, positive, negative = sampler.draw(20_000).T
        assert sampler.n_without_positive_ == 3
        assert set(query.tolist()) == {0, 1, 2, 5, 6}
        assert not {3, 4, 7} & set(positive.tolist())
        assert set(negative[query >= 5].tolist()) >= {0, 1, 2, 3, 4}
        inside = negative[(query < 5) & (negative < 5)]
        # unrelated images of the category: drawn where all are drawn alike, never where relevance is the weight
        assert ({3, 4} <= set(inside.tolist())) is not weighted


def test_a_full_buffer_of_everything_draws_from_the_definition_within_it() -> None:
    data = graded((5, 4, 3), seed=1)
    everything = np.ones(12, dtype=bool)
    for outside in (True, False):
        for weighted in (True, False):
            sampler = RelevanceTripletSampler(
                data, out_of_class=float(outside), weighted=weighted, capacity=100, tries=2, random_state=3
            )
            expected = target(data, outside, weighted, math.inf, 0.05, 2, within=everything)
            assert_drawn_from(sampler.draw(60_000), expected)


def test_buffers_draw_queries_as_their_reservoirs_hold_them() -> None:
    data = graded((9, 9), seed=4, share=1.0)
    random = np.random.default_rng(0)
    spread = np.sqrt(random.uniform(0.02, 1, 18))
    relevance = data.relevance.toarray() ** 0.2 * spread[:, None] * spread[None, :]
    data = RelevanceData(data.image_id, data.category, data.category_names, relevance)
    exact = data.total / data.total.sum()
    of_category = np.bincount(data.category, exact)[data.category]
    variations = []
    for capacity in (2, 6, 9):
        held = np.zeros(18)
        for category in range(2):
            images = np.flatnonzero(data.category == category)
            held[images] = sequential_inclusion(data.total[images], capacity) / capacity
        sampler = RelevanceTripletSampler(data, out_of_class=1, capacity=capacity, random_state=6)
        counts = np.bincount(sampler.draw(150_000)[:, 0], minlength=18)
        # 8,000 passes: images of one buffer are drawn together, so a chi-square is no test here
        assert np.abs(counts / 150_000 - of_category * held).max() < 0.004
        variations.append(np.abs(counts / 150_000 - exact).sum() / 2)
    assert variations == sorted(variations)
    assert variations[0] < 0.06 < 0.12 < variations[2]


def inclusion(weights: np.ndarray, capacity: int, n_passes: int, seed: int = 0) -> np.ndarray:
    """Return how often each image is in the buffer at the end of a pass."""
    reservoirs = TripletReservoirs(len(weights), 1, capacity, random_state=seed)
    counts = np.zeros(len(weights))
    images, categories = np.arange(len(weights)), np.zeros(len(weights), dtype=int)
    for _ in range(n_passes):
        reservoirs.offer(images, categories, weights)
        reservoirs.finish()
        counts[reservoirs.members(0)] += 1
    return counts / n_passes


def sequential_inclusion(weights: np.ndarray, capacity: int) -> np.ndarray:
    """Return the probability to be among `capacity` draws without replacement, each by weight: over all sets drawn."""
    sets: dict[frozenset[int], float] = {frozenset(): 1.0}
    for _ in range(capacity):
        larger: dict[frozenset[int], float] = {}
        for taken, probability in sets.items():
            left = [image for image in range(len(weights)) if image not in taken]
            for image in left:
                chance = probability * weights[image] / weights[left].sum()
                larger[taken | {image}] = larger.get(taken | {image}, 0.0) + chance
        sets = larger
    return np.array([sum(p for taken, p in sets.items() if image in taken) for image in range(len(weights))])


@pytest.mark.parametrize("capacity", [1, 3])
def test_a_reservoir_holds_a_weighted_sample_after_every_pass(capacity: int) -> None:
    # one reservoir through all passes: keys of an earlier pass must not keep later images out
    weights = np.array([5.0, 1.0, 0.5, 2.0, 0.1, 3.0])
    n = 8_000
    expected = sequential_inclusion(weights, capacity)
    observed = inclusion(weights, capacity, n)
    assert np.abs(observed - expected).max() < 4.5 * np.sqrt(0.25 / n)
    # successive passes share no keys: one pass tells nothing of the next
    assert (np.abs(observed - expected) < 4.5 * np.sqrt(expected * (1 - expected) / n) + 1e-4).all()


def test_uniform_draws_from_a_reservoir_vary_from_the_weights_as_the_methods_say() -> None:
    # .009, .049, .118, .206 in a prototype's data for 10, 50, 100 and 140 of 140; other weights, the same law
    weights = np.random.default_rng(1).gamma(4, size=140)
    n = 3_000
    exact = weights / weights.sum()
    variation = [
        np.abs(inclusion(weights, capacity, n) / capacity - exact).sum() / 2 for capacity in (10, 50, 100, 140)
    ]
    assert variation == sorted(variation)
    noise = np.sqrt(140 * 2 / np.pi / (10 * n)) / 2
    assert variation[0] < 0.015 + 1.2 * noise
    assert variation[3] == pytest.approx(np.abs(1 / 140 - exact).sum() / 2)
    assert 0.15 < variation[3] < 0.25


def test_tiny_and_huge_weights_keep_their_order() -> None:
    # u ** (1 / r) would be 0 or 1 for nearly all of these
    for scale in (1e-30, 1e30):
        observed = inclusion(scale * np.array([1.0, 3.0]), 1, 4_000)
        assert observed[1] == pytest.approx(0.75, abs=0.04)
    none = TripletReservoirs(4, 1, 2, random_state=0)
    none.offer([0, 1, 2, 3], [0, 0, 0, 0], [0.0, 0.0, 1e-200, 0.0])
    assert none.members(0).tolist() == []
    none.finish()
    assert 2 in none.members(0)
    assert 3 not in none.members(0)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_reservoirs_stay_in_order_whatever_is_offered(data: st.DataObject) -> None:
    n, n_categories = 20, 3
    category = np.arange(n) % n_categories
    reservoirs = TripletReservoirs(n, n_categories, data.draw(st.integers(1, 8)), random_state=1)
    for _ in range(data.draw(st.integers(1, 4))):
        offered = data.draw(st.lists(st.integers(0, n - 1), unique=True))
        weights = data.draw(
            st.lists(st.sampled_from([0.0, 1e-9, 1.0, 7.0]), min_size=len(offered), max_size=len(offered))
        )
        reservoirs.offer(offered, category[offered], weights)
        buffers = reservoirs.buffers
        for c in range(n_categories):
            keys = buffers.next_keys[c, : buffers.next_sizes[c]]
            assert len(keys) == min(buffers.next_keys.shape[1], np.count_nonzero(category[offered] == c))
            assert len(keys) == 0 or keys[buffers.lowest[c]] == keys.min()
        reservoirs.finish()
        for c in range(n_categories):
            members = reservoirs.members(c)
            assert len(set(members.tolist())) == len(members)
            assert set(members.tolist()) <= {image for image in offered if category[image] == c}
            np.testing.assert_array_equal(buffers.place[members], np.arange(len(members)))
        assert np.count_nonzero(buffers.place >= 0) == reservoirs.sizes.sum()


@pytest.mark.parametrize("capacity", [None, 5])
@pytest.mark.parametrize("cuts", [(1000,), (1, 999), (400, 0, 350, 250)])
def test_draws_and_states_go_on_where_the_last_one_ended(capacity: int | None, cuts: tuple[int, ...]) -> None:
    data = graded((10, 9, 8), seed=5)

    def sampler(seed: int = 3) -> RelevanceTripletSampler:
        return RelevanceTripletSampler(data, capacity=capacity, margin=0.2, tries=2, random_state=seed)

    whole = sampler().draw(1000)
    one = sampler()
    np.testing.assert_array_equal(np.concatenate([one.draw(cut) for cut in cuts]), whole)
    parts, state = [], sampler().get_state()
    for cut in cuts:
        other = sampler(seed=99)
        other.set_state(state)
        parts.append(other.draw(cut))
        state = other.get_state()
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert whole.dtype == np.int32
    assert not np.array_equal(sampler(4).draw(1000), whole)


def test_a_state_is_plain_arrays_and_no_window_on_the_sampler() -> None:
    sampler = RelevanceTripletSampler(graded(), capacity=3, random_state=0)
    state = sampler.get_state()
    kept = {name: array.copy() for name, array in state.items()}
    sampler.draw(500)
    for name, array in state.items():
        assert isinstance(array, np.ndarray)
        assert not array.dtype.hasobject
        np.testing.assert_array_equal(array, kept[name])


def test_a_state_of_another_sampler_is_refused() -> None:
    state = RelevanceTripletSampler(graded(), random_state=0).get_state()
    for other in (
        RelevanceTripletSampler(graded(), random_state=0, margin=0.1),
        RelevanceTripletSampler(graded(), random_state=0, capacity=4),
        RelevanceTripletSampler(graded(seed=1), random_state=0),
    ):
        with pytest.raises(ValueError, match="other relevance data or with other settings"):
            other.set_state(state)


def test_what_cannot_be_drawn_is_said_at_once() -> None:
    one = RelevanceData.from_pairs(range(3), ["a"] * 3, [0, 0], [1, 2], [1.0, 0.5])
    flat = RelevanceData.from_labels(range(4), ["a", "a", "b", "b"])
    for data, arguments, message in (
        (one, {"out_of_class": 1.0}, "set out_of_class to 0"),
        (one, {}, "set out_of_class to 0"),
        (flat, {}, "set out_of_class to 1"),
        (flat, {"weighted": False}, "set out_of_class to 1"),
        (graded(), {"margin": 2.0}, "lower the margin"),
        (RelevanceData.empty(), {}, "with pairs"),
        (RelevanceData.from_pairs([1, 2], ["a", "b"], [], [], []), {}, "with pairs"),
        (graded(), {"capacity": 2}, "raise capacity"),
        (graded(), {"capacity": 0}, "capacity must be"),
        (graded(), {"out_of_class": 1.2}, "share"),
        (graded(), {"positive_threshold": 0.0}, "above 0"),
        (graded(), {"margin": -0.1}, "not negative"),
        (graded(), {"tries": 0}, "tries"),
    ):
        with pytest.raises(ValueError, match=message):
            RelevanceTripletSampler(data, **arguments)
    assert RelevanceTripletSampler(one, out_of_class=0.0, random_state=0).draw(10).shape == (10, 3)
    assert RelevanceTripletSampler(flat, out_of_class=1.0, random_state=0).draw(10).shape == (10, 3)


def test_buffers_that_never_hold_a_triplet_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = RelevanceTripletSampler(graded(), capacity=3, random_state=0)
    monkeypatch.setattr(relevance_triplets, "draw_from_buffers", lambda *arguments: (0, 7))
    with pytest.raises(ValueError, match="the capacity where one is given"):
        sampler.draw(1)
