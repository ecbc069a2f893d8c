"""Measures of a matrix of scores, for tests that hold one against another."""

import numpy as np

from lookalike.ranking.rankings import rank_leave_one_out


class Given:
    """A model whose similarities are given, rows being numbers of rows."""

    def __init__(self, scores):
        self.scores = np.asarray(scores)

    def similarity(self, A, B):
        return self.scores[A[:, 0]][:, B[:, 0]]


def mean_average_precision(scores, y):
    """Mean average precision of a square matrix of scores, each row querying the others."""
    ranked = rank_leave_one_out(Given(scores), np.arange(len(y))[:, None], y, n_neighbours=0)
    return ranked.mean_average_precision()
