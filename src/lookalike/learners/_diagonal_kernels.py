"""Compiled inner loops of the online diagonal learners: products of pairs of rows, and steps that follow non-zeros.

All that a triplet (x, x+, x-) does to a diagonal metric goes through x * x+ and x * x-, which are sparse. So the
products of the distinct pairs are formed once, and a step reads two short lists. What a step does to all other weights
(it shrinks them, or forms them anew from sums) is made up for when a weight is next read.
"""

# numba's decorators have no types; what they decorate is annotated all the same

from __future__ import annotations

from math import copysign, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.kernels import njit

Floats = NDArray[np.float64]
Places = NDArray[np.uint32]


# SOML-TG --------------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def truncate(weight: float, amount: float) -> float:
    """Move a weight towards 0 by an amount, and not past it (SOML, eq. 11)."""
    size = abs(weight) - amount
    return copysign(size, weight) if size > 0.0 else 0.0


def truncated(weights: Floats, amount: Any) -> Floats:
    """Truncate every weight, as `truncate` does."""
    size = np.abs(weights) - amount
    return np.where(size > 0.0, np.copysign(size, weights), 0.0)


# fastmath as in the OASIS kernels: the order of a sum is the compiler's, and the same on every run of a machine.
@njit(cache=True, nogil=True, fastmath=True)
def _truncated_dot(
    weights: Floats, current_at: NDArray[np.int64], places: Places, values: Floats, n_updates: int, amount: float
) -> float:
    total = 0.0
    for k in range(places.shape[0]):
        j = places[k]
        total += truncate(weights[j], amount * float(n_updates - current_at[j])) * values[k]
    return total


@njit(cache=True, nogil=True)
def _truncate_and_add(
    weights: Floats,
    current_at: NDArray[np.int64],
    places: Places,
    values: Floats,
    n_updates: int,
    amount: float,
    factor: float,
) -> None:
    for k in range(places.shape[0]):
        j = places[k]
        weights[j] = truncate(weights[j], amount * float(n_updates - current_at[j])) + factor * values[k]
        current_at[j] = n_updates


@njit(cache=True, nogil=True)
def truncated_gradient_steps(
    weights: Floats,
    current_at: NDArray[np.int64],
    n_updates: int,
    starts: NDArray[np.int64],
    places: Places,
    values: Floats,
    triplets: NDArray[np.int32],
    learning_rate: float,
    amount: float,
) -> int:
    """Take one step of SOML-TG (Algorithm 1) per triplet, in order; return how many had a loss.

    The weight of coordinate j after U updates is ``truncate(weights[j], amount * (U - current_at[j]))``.

    Parameters
    ----------
    weights : (c,) float64, changed in place
    current_at : (c,) int64, changed in place
    n_updates : int
        U before the first step.
    starts, places, values : products, as of `pair_products`
    triplets : (m, 2) int32
        Numbers of the products x * x+ and x * x-.
    learning_rate : float
        eta; with its sign turned round the step is the printed one (eq. 12).
    amount : float
        alpha = eta * lambda, which every update takes off every weight.
    """
    losses = 0
    for t in range(triplets.shape[0]):
        plus, minus = triplets[t]
        plus_places, plus_values = places[starts[plus] : starts[plus + 1]], values[starts[plus] : starts[plus + 1]]
        minus_places, minus_values = (
            places[starts[minus] : starts[minus + 1]],
            values[starts[minus] : starts[minus + 1]],
        )
        margin = _truncated_dot(weights, current_at, plus_places, plus_values, n_updates, amount)
        margin -= _truncated_dot(weights, current_at, minus_places, minus_values, n_updates, amount)
        if 1.0 - margin <= 0.0:
            continue
        losses += 1
        _truncate_and_add(weights, current_at, plus_places, plus_values, n_updates, amount, learning_rate)
        _truncate_and_add(weights, current_at, minus_places, minus_values, n_updates, amount, -learning_rate)
        # the update's own truncation is made up for too: those weights are current at an update before it
        n_updates += 1
    return losses


# SOML-DA --------------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, fastmath=True)
def _soft_dot(sums: Floats, places: Places, values: Floats, threshold: float) -> float:
    total = 0.0
    for k in range(places.shape[0]):
        total += truncate(sums[places[k]], threshold) * values[k]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def _soft_dot_of_used(
    sums: Floats,
    used: Floats,
    touched_after: NDArray[np.int64],
    last_update: int,
    places: Places,
    values: Floats,
    threshold: float,
) -> float:
    total = 0.0
    for k in range(places.shape[0]):
        j = places[k]
        total += truncate(used[j] if touched_after[j] == last_update else sums[j], threshold) * values[k]
    return total


@njit(cache=True, nogil=True)
def _add(sums: Floats, places: Places, values: Floats, factor: float) -> None:
    for k in range(places.shape[0]):
        sums[places[k]] += factor * values[k]


@njit(cache=True, nogil=True)
def _add_unused(
    sums: Floats,
    used: Floats,
    touched_after: NDArray[np.int64],
    last_update: int,
    places: Places,
    values: Floats,
    factor: float,
) -> None:
    """Add to sums that w has not seen, keeping those it has seen."""
    for k in range(places.shape[0]):
        j = places[k]
        if touched_after[j] != last_update:
            touched_after[j] = last_update
            used[j] = sums[j]
        sums[j] += factor * values[k]


@njit(cache=True, nogil=True)
def dual_averaging_steps(
    sums: Floats,
    used: Floats,
    touched_after: NDArray[np.int64],
    n_steps: int,
    last_update: int,
    starts: NDArray[np.int64],
    places: Places,
    values: Floats,
    triplets: NDArray[np.int32],
    made_with: Floats,
    gamma: float,
    rho: float,
    regularization: float,
    gradient_sign: float,
    every_step: bool,
) -> tuple[int, int]:
    """Take one step of SOML-DA (Algorithm 2) per triplet, in order; return losses and the step of the last of them.

    w is what the last step s with a loss made of the gradients' sums up to it (eq. 16, times s throughout):
    ``-truncate(sum, s lambda_s) / (gamma sqrt(s))``, with lambda_s = lambda + gamma rho / sqrt(s).

    Parameters
    ----------
    sums : (c,) float64, changed in place
        Of the subgradients of all steps so far.
    used : (c,) float64, changed in place
        Sums as they were at step `last_update`; read where ``touched_after == last_update``, elsewhere they are `sums`.
    touched_after : (c,) int64, changed in place
        The last update before the last step without a loss that changed a sum. All of it only with `every_step`.
    n_steps : int
        Steps before the first triplet.
    last_update : int
        The last step that had a loss, 0 for none.
    starts, places, values, triplets
        As for `truncated_gradient_steps`.
    made_with : (3,) float64, changed in place
        gamma, rho and lambda that w was worked out with at step `last_update`.
    gamma, rho, regularization : float
        What it is worked out with from the next loss on; the last is lambda.
    gradient_sign : float
        -1 for the subgradient of the hinge, 1 for eq. 15 as it is printed.
    every_step : bool
        Add x * (x+ - x-) on steps without a loss too, as Algorithm 2 prints it.
    """
    losses = 0
    made_gamma, made_rho, made_regularization = made_with
    # an earlier pass may have added on every step where this one does not
    some_unseen = every_step or bool(np.any(touched_after == last_update))
    for t in range(triplets.shape[0]):
        plus, minus = triplets[t]
        plus_places, plus_values = places[starts[plus] : starts[plus + 1]], values[starts[plus] : starts[plus + 1]]
        minus_places, minus_values = (
            places[starts[minus] : starts[minus + 1]],
            values[starts[minus] : starts[minus + 1]],
        )
        n_steps += 1
        margin = 0.0
        if last_update > 0:
            threshold = last_update * made_regularization + made_gamma * made_rho * sqrt(last_update)
            if some_unseen:
                seen = (sums, used, touched_after, last_update)
                margin = _soft_dot_of_used(*seen, minus_places, minus_values, threshold)
                margin -= _soft_dot_of_used(*seen, plus_places, plus_values, threshold)
            else:
                margin = _soft_dot(sums, minus_places, minus_values, threshold)
                margin -= _soft_dot(sums, plus_places, plus_values, threshold)
            margin /= made_gamma * sqrt(last_update)
        if 1.0 - margin > 0.0:
            losses += 1
            last_update = n_steps
            made_gamma, made_rho, made_regularization = gamma, rho, regularization
            some_unseen = every_step
            _add(sums, plus_places, plus_values, gradient_sign)
            _add(sums, minus_places, minus_values, -gradient_sign)
        elif every_step:
            seen = (sums, used, touched_after, last_update)
            _add_unused(*seen, plus_places, plus_values, gradient_sign)
            _add_unused(*seen, minus_places, minus_values, -gradient_sign)
    made_with[:] = made_gamma, made_rho, made_regularization
    return losses, last_update


# Diagonal OASIS -------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, fastmath=True)
def _dot(weights: Floats, places: Places, values: Floats) -> float:
    total = 0.0
    for k in range(places.shape[0]):
        total += weights[places[k]] * values[k]
    return total


@njit(cache=True, nogil=True)
def _take_up(difference: Floats, places: Places, values: Floats) -> float:
    """Take the values of a vector off its dense form, leaving zeros; return the sum of their squares."""
    total = 0.0
    for k in range(places.shape[0]):
        value = difference[places[k]]
        values[k] = value
        total += value * value
        difference[places[k]] = 0.0
    return total


@njit(cache=True, nogil=True)
def passive_aggressive_steps(
    weights: Floats,
    starts: NDArray[np.int64],
    places: Places,
    values: Floats,
    triplets: NDArray[np.int32],
    aggressiveness: float,
    difference: Floats,
    scratch: Floats,
) -> tuple[int, int]:
    """Take one step of OASIS with a diagonal metric per triplet, in order; return steps with a loss, and updates.

    Parameters
    ----------
    weights : (c,) float64, changed in place
    starts, places, values, triplets
        As for `truncated_gradient_steps`.
    aggressiveness : float
        C, the longest step.
    difference : (c,) float64, zeros, and so again at the end
    scratch : float64, twice the longest product
    """
    losses = 0
    updates = 0
    for t in range(triplets.shape[0]):
        plus, minus = triplets[t]
        plus_places, plus_values = places[starts[plus] : starts[plus + 1]], values[starts[plus] : starts[plus + 1]]
        minus_places, minus_values = (
            places[starts[minus] : starts[minus + 1]],
            values[starts[minus] : starts[minus + 1]],
        )
        loss = 1.0 - (_dot(weights, plus_places, plus_values) - _dot(weights, minus_places, minus_values))
        if loss <= 0.0:
            continue
        losses += 1
        n_plus = plus_places.shape[0]
        only_plus, only_minus = scratch[:n_plus], scratch[n_plus : n_plus + minus_places.shape[0]]
        _add(difference, plus_places, plus_values, 1.0)
        _add(difference, minus_places, minus_values, -1.0)
        # what both share is taken up with x+, and is 0 when it comes to x-
        squared_norm = _take_up(difference, plus_places, only_plus) + _take_up(difference, minus_places, only_minus)
        if squared_norm == 0.0:
            continue
        updates += 1
        step = min(aggressiveness, loss / squared_norm)
        _add(weights, plus_places, only_plus, step)
        _add(weights, minus_places, only_minus, step)
    return losses, updates
