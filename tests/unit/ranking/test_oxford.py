"""Oxford average precision against a second implementation, on the real ground truth and on any list that can be."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.ranking.oxford import average_precision


def average_precision_of_order(order, positives, junk=()):
    """Oxford average precision of a list of images; positives and junk are read as sets."""
    ranks, junk_ranks = (np.flatnonzero(np.isin(order, list(images))) + 1 for images in (positives, junk))
    return average_precision(ranks, junk_ranks, n_missing=len(set(positives)) - len(ranks))


def walked(order, positives, junk):
    """The same measure by walking down the list, one trapezoid per image that is not junk."""
    positives, junk = set(positives), set(junk)
    strips = []
    recall, precision = 0.0, 1.0
    seen = hits = 0
    for image in order:
        if image in junk:
            continue
        seen += 1
        hits += image in positives
        new_recall, new_precision = hits / len(positives), hits / seen
        strips.append((new_recall - recall) * (precision + new_precision) / 2)
        recall, precision = new_recall, new_precision
    return math.fsum(strips)


@pytest.fixture(scope="module")
def ground_truth(shared_data: Path) -> dict[str, tuple[list[str], list[str], str]]:
    """Query to (positives, junk, the query's own image) of the real Oxford buildings."""
    folder = shared_data / "oxford5k" / "gt_files_170407"
    if not folder.is_dir():
        pytest.skip(f"no ground truth of the Oxford buildings at {folder}: set LOOKALIKE_TEST_DATA")
    found = {}
    for file in sorted(folder.glob("*_query.txt")):
        query = file.name.removesuffix("_query.txt")
        good, ok, junk = ((folder / f"{query}_{kind}.txt").read_text().split() for kind in ("good", "ok", "junk"))
        found[query] = (good + ok, junk, file.read_text().split()[0].removeprefix("oxc1_"))
    assert len(found) == 55
    return found


@pytest.fixture(scope="module")
def numbered(ground_truth):
    """The same with a number for every image of a data base of 5,063, in the order of the names of those judged."""
    judged = sorted({image for positives, junk, _ in ground_truth.values() for image in [*positives, *junk]})
    number = {image: i for i, image in enumerate(judged)}
    as_numbers = {
        query: ([number[i] for i in positives], [number[i] for i in junk], number[own])
        for query, (positives, junk, own) in ground_truth.items()
    }
    return list(range(5063)), as_numbers


def interleaved(first, second):
    """One of each in turn, as long as there are both."""
    return [image for pair in zip(first, second, strict=False) for image in pair]


def rankings_of(images, positives, junk, rng):
    """Random and adversarial lists of the same images."""
    positives, junk = sorted(set(positives)), sorted(set(junk))
    judged = {*positives, *junk}
    rest = [image for image in images if image not in judged]
    yield "random", [images[i] for i in rng.permutation(len(images))]
    yield "all positives first", [*positives, *junk, *rest]
    yield "all positives last", [*rest, *junk, *positives]
    yield "junk first", [*junk, *positives, *rest]
    yield "junk last", [*positives, *rest, *junk]
    mixed = interleaved(positives, junk)
    yield "junk between positives", [*mixed, *[image for image in [*positives, *junk] if image not in mixed], *rest]
    yield "every other an error", [*interleaved(rest, positives), *junk]
    yield "one error first", [rest[0], *positives, *junk, *rest[1:]]
    lost = set(positives[::3])
    yield "positives missing", [image for image in [*junk, *positives, *rest] if image not in lost]
    yield "junk missing", [*rest[:5], *positives]
    yield "nothing found", rest
    # equal similarities leave the order of the files, in which a landmark's images stand together
    yield "order of the files", sorted(images)


def test_agrees_with_a_second_implementation_on_the_real_ground_truth(numbered):
    images, ground_truth = numbered
    rng = np.random.default_rng(0)
    compared = 0
    for query, (positives, junk, _) in ground_truth.items():
        for name, order in rankings_of(images, positives, junk, rng):
            expected = walked(order, positives, junk)
            found = average_precision_of_order(order, positives, junk)
            assert math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-15), (query, name)
            compared += 1
    assert compared == 55 * 12


def test_known_values_on_the_real_ground_truth(numbered):
    images, ground_truth = numbered
    rng = np.random.default_rng(1)
    for query, (positives, junk, own) in ground_truth.items():
        lists = dict(rankings_of(images, positives, junk, rng))
        for perfect in ("all positives first", "junk first", "junk last", "junk between positives"):
            assert average_precision_of_order(lists[perfect], positives, junk) == 1.0, (query, perfect)
        assert average_precision_of_order(lists["nothing found"], positives, junk) == 0.0
        n = len(set(positives))
        share = sum(1 for i, image in enumerate(sorted(set(positives))) if i % 3)
        assert average_precision_of_order(lists["positives missing"], positives, junk) == pytest.approx(share / n)
        assert own in positives, "the query's image is one of its own positives and stays in the list"
        alone = average_precision_of_order([own, *lists["nothing found"]], positives, junk)
        assert alone == pytest.approx(1 / n)
        # in place of the trapezoids, the mean of precision at the positives is another number
        first = lists["one error first"]
        assert average_precision_of_order(first, positives, junk) < np.mean(np.arange(1, n + 1) / np.arange(2, n + 2))


def test_a_line_given_twice_counts_once(numbered):
    images, ground_truth = numbered
    positives, junk, _ = ground_truth["all_souls_1"]
    assert len(positives) == len(set(positives)) + 1, "all_souls_1_good.txt repeats a line"
    order = [images[i] for i in np.random.default_rng(2).permutation(len(images))]
    assert average_precision_of_order(order, positives, junk) == average_precision_of_order(
        order, sorted(set(positives)), junk
    )


@st.composite
def lists(draw):
    """A list of images, some of them missing, and a ground truth with at least one positive."""
    n = draw(st.integers(1, 25))
    kinds = draw(st.lists(st.sampled_from("pjn"), min_size=n, max_size=n))
    kinds[draw(st.integers(0, n - 1))] = "p"
    order = draw(st.permutations(range(n)))[: draw(st.integers(0, n))]
    return order, [i for i in range(n) if kinds[i] == "p"], [i for i in range(n) if kinds[i] == "j"]


@given(lists())
def test_agrees_with_a_second_implementation_on_any_list(case):
    order, positives, junk = case
    assert average_precision_of_order(order, positives, junk) == pytest.approx(walked(*case), abs=1e-12)


@given(lists(), st.randoms(use_true_random=False))
def test_neither_junk_nor_the_order_of_the_ground_truth_matters(case, random):
    order, positives, junk = case
    before = average_precision_of_order(order, positives, junk)
    assert 0.0 <= before <= 1.0
    random.shuffle(positives)
    without_junk = [image for image in order if image not in junk]
    assert average_precision_of_order(without_junk, positives) == pytest.approx(before, abs=1e-12)


@given(lists())
def test_a_positive_one_place_further_up_never_lowers_it(case):
    order, positives, junk = case
    for place in range(1, len(order)):
        if order[place] in positives and order[place - 1] not in positives:
            better = [*order[: place - 1], order[place], order[place - 1], *order[place + 1 :]]
            assert average_precision_of_order(better, positives, junk) >= (
                average_precision_of_order(order, positives, junk) - 1e-12
            )


def test_by_hand():
    # precision 1 (rank 1), 1/2, 1/3, 2/4 (rank 4): half of (1 + 1) / 2 + half of (1/3 + 1/2) / 2
    assert average_precision([1, 4]) == pytest.approx(0.5 + 0.5 * (1 / 3 + 1 / 2) / 2)
    assert average_precision([4, 1], junk_ranks=[3, 2]) == 1.0
    assert average_precision([2]) == pytest.approx(0.25)
    assert average_precision([1], n_missing=3) == pytest.approx(0.25)
    assert average_precision(np.array([3, 1], dtype=np.uint32), np.array([2], dtype=np.int8)) == 1.0


def test_without_a_positive_there_is_no_number():
    assert math.isnan(average_precision([], [1, 2]))
    assert math.isnan(average_precision_of_order([1, 2], [], [2]))
    assert average_precision([], n_missing=2) == 0.0
    assert average_precision_of_order([], [1]) == 0.0


def test_mistakes_are_refused():
    with pytest.raises(ValueError, match=r"ranks start at 1; got 0"):
        average_precision([0, 2])
    with pytest.raises(ValueError, match=r"two images share a rank"):
        average_precision([1, 2], [2])
    with pytest.raises(ValueError, match=r"two images share a rank"):
        average_precision([1, 1])
    with pytest.raises(ValueError, match=r"cannot be -1"):
        average_precision([1], n_missing=-1)
