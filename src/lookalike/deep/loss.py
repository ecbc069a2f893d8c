"""The ranking loss of Deep Ranking (equations 1 and 3); the training sums it and decays weights (equation 4)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """Return the squared Euclidean distance of each row of `a` to the same row of `b` (equation 1), shape (n,)."""
    return (a - b).square().sum(dim=1)


def triplet_hinges(query: Tensor, positive: Tensor, negative: Tensor, gap: float) -> Tensor:
    """Return max(0, gap + D(query, positive) - D(query, negative)) of each triplet (equation 3), shape (n,)."""
    # half precision is taken up to float32
    query, positive, negative = (
        part if part.dtype.itemsize >= 4 else part.float() for part in (query, positive, negative)
    )
    return functional.relu(gap + squared_distances(query, positive) - squared_distances(query, negative))
