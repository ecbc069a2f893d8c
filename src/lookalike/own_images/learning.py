"""Choosing and training a learner on the rows of one's own images, so that no setting must be chosen by hand.

Learners that can stop by themselves do: from labels by the early stopping that they have, from triplets by held-out
triplets here. Settings given by hand are checked against the learner's constructor.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator, integer_seed
from lookalike.learners.registry import MODULES, learner_class

Integers = npt.NDArray[np.int32]
Vectors = Any

OURS = {"random_state": "--seed", "verbose": "--quiet", "n_jobs": "--jobs"}
"""Arguments of learners that other options set."""

VALIDATION = 0.2
"""Share of the query images whose triplets choose the number of steps (of labelled images: `validation_fraction`)."""

TRACE_POINTS = 30


def learner_name(name: str) -> str:
    """Return the name of a learner as the registry has it, however it is capitalised.

    Raises
    ------
    LookalikeError
        When there is none.
    """
    for known in MODULES:
        if known.lower() == name.lower().replace("-", ""):
            return known
    raise LookalikeError(f"there is no learner {name!r}: take one of {', '.join(MODULES)}")


def check_learner(name: str, *, triplets: bool) -> None:
    """Refuse a learner that cannot learn from what is there.

    Raises
    ------
    LookalikeError
        When there is no such learner, or it does not take triplets.
    """
    kind = "triplets" if triplets else "labels"
    if kind not in learner_class(learner_name(name)).accepts:
        others = [known for known in MODULES if kind in learner_class(known).accepts]
        raise LookalikeError(f"{name} does not learn from {kind}: take one of {', '.join(others)}")


def checked_settings(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Turn settings into arguments of a learner's constructor.

    Parameters
    ----------
    name : str
        The learner.
    settings : mapping
        Values, or the text of a command line, which is read as what the argument's default is.

    Returns
    -------
    dict

    Raises
    ------
    LookalikeError
        When the learner has no such setting, or the value is of another kind than its default.
    """
    defaults = learner_defaults(name)
    offered = [key for key in defaults if key not in OURS]
    checked = {}
    for key, value in settings.items():
        if key in OURS and key in defaults:
            raise LookalikeError(f"{key} of {name} is not set by --set: use {OURS[key]}")
        if key not in defaults:
            takes = f"it takes {', '.join(offered)}" if offered else "it has none"
            raise LookalikeError(f"{name} has no setting {key!r}: {takes}")
        checked[key] = _read_value(value) if isinstance(value, str) else value
        if not is_like(checked[key], defaults[key]):
            raise LookalikeError(
                f"{key} of {name} cannot be {value!r}: give a value like its default, {defaults[key]!r}"
            )
    return checked


def train(
    name: str,
    settings: Mapping[str, Any],
    X: Vectors,
    *,
    y: npt.NDArray[Any] | None = None,
    triplets: Integers | None = None,
    seed: int = 0,
    jobs: int = 1,
    verbose: bool = False,
) -> Any:
    """Make a learner and fit it to labels or triplets.

    What it learns does not depend on `jobs`, and neither does what is saved of it: ``n_jobs`` is its default again.

    Parameters
    ----------
    name : str
        Of `lookalike.learners`.
    settings : mapping
        From `checked_settings`.
    X : ndarray or CSR of shape (n, d)
    y : ndarray of shape (n,), optional
        Labels; or else
    triplets : ndarray of shape (m, 3), int32, optional
        Row numbers (query, positive, negative).
    seed, jobs : int
    verbose : bool
        Whether the learner may show its own progress.

    Returns
    -------
    SimilarityLearner

    Raises
    ------
    LookalikeError
        When the images do not suffice, or a setting is out of its range.
    """
    defaults = learner_defaults(name)
    parameters = dict(settings)
    ours = {"random_state": integer_seed(seed, "own images", "learning"), "verbose": int(verbose), "n_jobs": jobs}
    parameters |= {key: value for key, value in ours.items() if key in defaults}
    stops = "early_stopping" in defaults and "early_stopping" not in settings and "n_steps" not in settings
    try:
        if y is not None:
            if stops:
                parameters["early_stopping"] = bool(np.unique(y, return_counts=True)[1].max() >= 4)
            return _without_jobs(learner_class(name)(**parameters).fit(X, y), defaults)
        if triplets is None:
            raise ValueError("there are neither labels nor triplets")
        steps = None
        if "n_steps" in defaults:
            early = bool(parameters.pop("early_stopping", stops))
            steps = _best_step(name, parameters, X, triplets, seed) if early else int(_n_steps(name, parameters))
        return _without_jobs(_fit_triplets(learner_class(name)(**parameters), X, triplets, steps, seed), defaults)
    except (ValueError, TypeError) as error:
        told = str(error).strip().splitlines()[0]
        raise LookalikeError(f"{name} cannot learn from these images: {told}") from error


def _without_jobs(learner: Any, defaults: Mapping[str, Any]) -> Any:
    return learner.set_params(n_jobs=defaults["n_jobs"]) if "n_jobs" in defaults else learner


def stream(triplets: Integers, n: int, seed: int) -> Integers:
    """Return `n` triplets: all of them in a random order, then all again in another."""
    rng = generator(seed, "own images", "order of triplets")
    rounds = -(-n // len(triplets)) if n else 0
    order = [rng.permutation(len(triplets)) for _ in range(rounds)]
    return triplets[np.concatenate(order)[:n]] if order else triplets[:0]


def share_ordered(model: Any, X: Vectors, triplets: Integers) -> float:
    """Return the share of triplets whose positive is more similar than their negative; a tie counts one half."""
    return float(margins_won(model, X, triplets).mean())


def margins_won(model: Any, X: Vectors, triplets: Integers, block: int = 256) -> npt.NDArray[np.float64]:
    """Return for every triplet 1 where the positive is more similar to the query than the negative, 0.5 in a tie, or 0.

    Parameters
    ----------
    model : SimilarityLearner
    X : ndarray or CSR of shape (n, d)
    triplets : ndarray of shape (m, 3), int32
    block : int, default=256
        Queries that are compared with all rows at a time.

    Returns
    -------
    ndarray of shape (m,), float64
    """
    won = np.empty(len(triplets))
    queries, query_of = np.unique(triplets[:, 0], return_inverse=True)
    for start in range(0, len(queries), block):
        mine = np.flatnonzero((query_of >= start) & (query_of < start + block))
        scores = np.asarray(model.similarity(X[queries[start : start + block]], X))
        rows = query_of[mine] - start
        margin = scores[rows, triplets[mine, 1]] - scores[rows, triplets[mine, 2]]
        won[mine] = np.where(margin > 0, 1.0, np.where(margin == 0, 0.5, 0.0))
    return won


def _best_step(name: str, parameters: Mapping[str, Any], X: Vectors, triplets: Integers, seed: int) -> int:
    """Choose the number of steps by the triplets of a fifth of the queries."""
    from lookalike.learners.curve import log_spaced_steps

    n_steps = int(_n_steps(name, parameters))
    queries = np.unique(triplets[:, 0])
    if len(queries) < 5:
        return n_steps
    rng = generator(seed, "own images", "validation triplets")
    chosen = rng.permutation(queries)[: max(1, round(VALIDATION * len(queries)))]
    held_out = np.isin(triplets[:, 0], chosen)
    examples = stream(triplets[~held_out], n_steps, seed)
    model = _fit_triplets(learner_class(name)(**parameters), X, examples, 0, seed)
    best = (share_ordered(model, X, triplets[held_out]), 0)
    taken = 0
    for step in log_spaced_steps(n_steps, TRACE_POINTS).tolist():
        model.partial_fit_triplets(X, examples[taken:step])
        taken = step
        share = share_ordered(model, X, triplets[held_out])
        best = (share, step) if share > best[0] else best
    return best[1]


def _fit_triplets(learner: Any, X: Vectors, triplets: Integers, steps: int | None, seed: int) -> Any:
    return learner.fit_triplets(X, triplets if steps is None else stream(triplets, steps, seed))


def _n_steps(name: str, parameters: Mapping[str, Any]) -> Any:
    return parameters.get("n_steps", learner_defaults(name)["n_steps"])


def learner_defaults(name: str) -> dict[str, Any]:
    """Return the arguments of a learner's constructor and their defaults."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(learner_class(name)).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def _read_value(text: str) -> Any:
    """Read a value of a command line: a number, true, false, none, several of these between commas, or text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if "," in text:
        return tuple(_read_value(part.strip()) for part in text.split(","))
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def is_like(value: Any, default: Any) -> bool:
    """Whether a value may stand where a default stands; its range is the learner's to check."""
    if default is None or value is None:
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, (int, float)):
        return isinstance(value, (int, float))
    return isinstance(value, type(default)) or (isinstance(default, tuple) and isinstance(value, list))
