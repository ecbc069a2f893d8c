"""The pair sampler: its distribution, its stream, and the checks of a user's own pairs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from lookalike.learners.base import SimilarityLearner
from lookalike.learners.pairs import PairSampler, check_pairs


def test_half_the_pairs_are_of_one_class_and_all_are_uniform_within_their_half() -> None:
    y = np.array([0, 1, 2, 1, 0, 1, 2, 1, 3])  # class 3 has one image: never the first of a pair
    n = 200_000
    counts = Counter(map(tuple, PairSampler(y, 7).draw(n).tolist()))
    expected = {}
    for i in np.flatnonzero(y != 3):
        for alike in (0, 1):
            others = [j for j in range(len(y)) if j != i and (y[j] == y[i]) == bool(alike)]
            for j in others:
                expected[int(i), j, alike] = n / 2 / 8 / len(others)
    assert set(counts) == set(expected)
    assert chisquare([counts[key] for key in expected], list(expected.values())).pvalue > 0.001


def test_one_class_and_classes_of_one_image_are_refused() -> None:
    with pytest.raises(ValueError, match="two classes"):
        PairSampler([1, 1, 1])
    with pytest.raises(ValueError, match="at least two rows"):
        PairSampler([1, 2, 3])


def test_pairs_become_rows_of_three() -> None:
    checked = check_pairs([[0, 2], [1, 1]], [True, False], 3)
    assert checked.tolist() == [[0, 2, 1], [1, 1, 0]]
    assert checked.dtype == np.int32
    assert checked.flags.c_contiguous
    assert check_pairs(np.array([[0, 2]], dtype=np.uint8), [1.0], 3).tolist() == [[0, 2, 1]]
    assert check_pairs(np.empty((0, 2)), [], 3).shape == (0, 3)


@pytest.mark.parametrize(
    ("pairs", "same", "message"),
    [
        ([[0, 1, 2]], [1], r"\(m, 2\)"),
        ([0, 1], [1], r"\(m, 2\)"),
        ([[0.5, 1.0]], [1], "whole numbers"),
        ([[0, 3]], [1], "0 to 2; found 0 to 3"),
        ([[-1, 2]], [1], "0 to 2"),
        ([[0, 1]], [1, 0], "one value per pair"),
        ([[0, 1]], [2], "True"),
        ([[0, 1]], [-1], "True"),
        ([[0, 1]], [np.nan], "True"),
    ],
)
def test_mistakes_in_pairs_are_named(pairs: object, same: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_pairs(pairs, same, 3)


def test_a_learner_that_takes_no_pairs_says_so() -> None:
    class Labels(SimilarityLearner):
        accepts = frozenset({"labels"})

    with pytest.raises(TypeError, match="cannot learn from pairs; it accepts labels"):
        Labels().fit_pairs([[1.0]], [], [])
    with pytest.raises(TypeError, match="cannot learn on from pairs; it accepts labels"):
        Labels().partial_fit_pairs([[1.0]], [], [])
