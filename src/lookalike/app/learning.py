"""Training a learner on the rows of one's own, so that no setting is chosen by hand; which rows it learns from."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from lookalike.app.rows import Rows
from lookalike.core.arrays import Array, Ints, Matrix, Texts, Truths
from lookalike.core.errors import LookalikeError, first_reason
from lookalike.core.seeds import generator, integer_seed
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.curve import log_spaced_steps
from lookalike.learners.online import can_hold_out, held_out_rows
from lookalike.learners.registry import MODULES, learner_class
from lookalike.ranking.rankings import ordered

TRAIN, HELD_OUT = "train", "held-out"
"""Whether a row is learned from, or kept for `Similarity.evaluate`."""
OURS = {"random_state": "--seed", "verbose": "--quiet", "n_jobs": "--jobs"}
"""Arguments of learners that other options set."""
MIXED = "with held-out and other {noun}s"
"""Why a triplet of a query that is learned from is not."""
FEWEST_CLASSES = 4
"""With two rows or more: two are held out, and two are left to learn from."""
VALIDATION = 0.2
"""Share of the query images whose triplets choose the number of steps (of labelled images: `validation_fraction`)."""
TRACE_POINTS = 30


def learner_name(name: str) -> str:
    """Return the name of a learner as the registry has it, however it is capitalised."""
    for known in MODULES:
        if known.lower() == name.lower().replace("-", ""):
            return known
    raise LookalikeError(f"there is no learner {name!r}: take one of {', '.join(MODULES)}")


def checked_settings(name: str, settings: Mapping[str, object]) -> dict[str, object]:
    """Turn settings into arguments of a learner's constructor; text of a command line is read as the default's kind."""
    defaults = learner_class(name)().get_params(deep=False)
    checked: dict[str, object] = {}
    for key, value in settings.items():
        if key in OURS and key in defaults:
            raise LookalikeError(f"{key} of {name} is not set by --set: use {OURS[key]}")
        if key not in defaults:
            offered = ", ".join(known for known in defaults if known not in OURS)
            raise LookalikeError(f"{name} has no setting {key!r}: it {f'takes {offered}' if offered else 'has none'}")
        checked[key] = _read_value(value) if isinstance(value, str) else value
        if isinstance(defaults[key], bool) and not isinstance(checked[key], bool):
            raise LookalikeError(f"{key} of {name} cannot be {value!r}: give true or false")
    with _refusing(name, "; correct it after --set"):
        learner_class(name)(**checked)._check_parameters()
    return checked


def _read_value(text: str) -> object:
    """Read a value of a command line: a number, true, false, none, several of these between commas, or text."""
    if "," in text:
        return tuple(_read_value(part.strip()) for part in text.split(","))
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def choose_roles(found: Rows, hold_out: float, seed: int) -> Texts:
    """Return the role of every row; a share of every class, or of the queries of triplets, is held out."""
    roles = np.full(len(found), TRAIN, dtype="U8")
    rng = generator(seed, "own images", "held out")
    if found.triplets is None:
        names, sizes = np.unique(found.labels, return_counts=True)
        source, noun = found.source, found.noun
        if len(names) < 2:
            has = f"{names[0]}{first_reason(found.left_out)}"
            raise LookalikeError(f"learning needs two classes or more, and {source} has only {has}: add another")
        if sizes.max() < 2:
            raise LookalikeError(f"every class of {source} has a single {noun}: give at least two of some class")
        if hold_out and not can_hold_out(found.labels):
            few = f"fewer than two classes have four {noun}s (two to hold out and two to learn from)"
            raise LookalikeError(f"{few}: add {noun}s, or hold none out")
        if hold_out:
            roles[held_out_rows(found.labels, hold_out, rng)] = HELD_OUT
    elif hold_out:
        queries = np.unique(found.triplets[:, 0])
        roles[rng.permutation(queries)[: max(1, round(hold_out * len(queries)))]] = HELD_OUT
        kept = (roles[found.triplets] == TRAIN).all(axis=1)
        if not kept.any():
            raise LookalikeError("all triplets belong to held-out queries: add triplets, or hold out fewer")
        # a row that only held-out triplets name is not learned from either
        roles[np.setdiff1d(np.arange(len(roles)), found.triplets[kept])] = HELD_OUT
    return roles


def learned_triplets(found: Rows, roles: Texts, share: float, seed: int) -> tuple[Ints | None, dict[str, Any]]:
    """Return triplets to learn from, by numbers of training rows, and how many others there are; None without any."""
    counts: dict[str, Any] = {"n_triplets": 0, "n_triplets_held_out": 0, "n_answers_held_out": 0}
    counts["why_triplets_left_out"] = left_out = dict(found.triplets_left_out)
    if found.triplets is None:
        return None, counts
    held_out = roles[found.triplets] == HELD_OUT
    is_learned = ~held_out.any(axis=1)
    answers = is_learned & held_out_answers(found, share, seed)
    if (is_learned & ~answers).any():
        is_learned, counts["n_answers_held_out"] = is_learned & ~answers, int(answers.sum())
    kept = np.searchsorted(np.flatnonzero(roles == TRAIN), found.triplets[is_learned]).astype(np.int32)
    counts |= {"n_triplets": len(kept), "n_triplets_held_out": int(held_out[:, 0].sum())}
    if mixed := len(found.triplets) - sum(counts[name] for name in counts if name.startswith("n_")):
        left_out[MIXED.format(noun=found.noun)] = mixed
    return kept, counts


def held_out_answers(found: Rows, share: float, seed: int) -> Truths:
    """Mark about a share of the triplets, all of one question together: of one query and two others, in either order.

    A hash of the content of the rows decides, so that the same are marked when a model is evaluated.
    """
    assert found.triplets is not None
    queries, others = found.triplets[:, 0], np.sort(found.contents[found.triplets[:, 1:]], axis=1)
    texts = (f"{seed} {query} {a} {b}" for query, (a, b) in zip(found.contents[queries], others, strict=True))
    return np.array([zlib.crc32(text.encode()) < share * 2**32 for text in texts], dtype=bool)


def usable_classes(y: Array) -> Array:
    """Return the classes that have two rows or more."""
    names, sizes = np.unique(y, return_counts=True)
    return np.asarray(names[sizes > 1])


def choose_new_classes(labels: Array, seed: int) -> Truths:
    """Mark the rows of a quarter of the classes that have two rows or more: at least two, and two others are left."""
    usable = usable_classes(labels)
    if len(usable) < FEWEST_CLASSES:
        has = "one class has" if len(usable) == 1 else f"{len(usable)} classes have"
        raise LookalikeError(f"{has} two rows or more, and four are needed: two to leave out and two to learn from")
    random = generator(seed, "own images", "new classes")
    return np.isin(labels, random.permutation(usable)[: max(2, round(len(usable) / 4))])


def train(
    name: str,
    settings: Mapping[str, object],
    X: Matrix,
    *,
    y: Array | None = None,
    triplets: Ints | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> SimilarityLearner:
    """Make a learner and fit it to triplets of rows, else to labels `y`; what it learns and saves is free of `jobs`."""
    defaults = learner_class(name)().get_params(deep=False)
    parameters: dict[str, Any] = dict(settings)
    ours = {"random_state": integer_seed(seed, "own images", "learning"), "verbose": 0, "n_jobs": jobs}
    parameters |= {key: value for key, value in ours.items() if key in defaults}
    stops = "early_stopping" in defaults and "early_stopping" not in settings and "n_steps" not in settings
    with _refusing(name):
        if triplets is None:
            if stops:
                assert y is not None
                parameters["early_stopping"] = can_hold_out(y)
            learner = learner_class(name)(**parameters).fit(X, y)
        elif "n_steps" in defaults:
            early = bool(parameters.pop("early_stopping", stops))
            n_steps = int(parameters.get("n_steps", defaults["n_steps"]))
            steps = _best_step(name, parameters, X, triplets, n_steps, seed) if early else n_steps
            learner = learner_class(name)(**parameters).fit_triplets(X, stream(triplets, steps, seed))
        else:
            learner = learner_class(name)(**parameters).fit_triplets(X, triplets)
    return learner.set_params(n_jobs=defaults["n_jobs"]) if "n_jobs" in defaults else learner


@contextmanager
def _refusing(name: str, what_now: str = "") -> Iterator[None]:
    """Make one sentence of what a learner says of its settings or rows."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of unique classes")  # labels are text: no regression
            yield
    except (ValueError, TypeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise LookalikeError(f"{name} cannot learn: {reason}{what_now}") from error


def stream(triplets: Ints, n: int, seed: int) -> Ints:
    """Return `n` triplets: all of them in a random order, then all again in another."""
    rng = generator(seed, "own images", "order of triplets")
    order = [rng.permutation(len(triplets)) for _ in range(-(-n // len(triplets)))]
    return triplets[np.concatenate(order)[:n]] if order else triplets[:0]


def _best_step(name: str, parameters: Mapping[str, Any], X: Matrix, triplets: Ints, n_steps: int, seed: int) -> int:
    """Choose the number of steps, at most `n_steps`, by the triplets of a fifth of the queries."""
    queries = np.unique(triplets[:, 0])
    if len(queries) < 5:
        return n_steps
    rng = generator(seed, "own images", "validation triplets")
    chosen = rng.permutation(queries)[: max(1, round(VALIDATION * len(queries)))]
    held_out = np.isin(triplets[:, 0], chosen)
    examples = stream(triplets[~held_out], n_steps, seed)

    def score(model: SimilarityLearner, step: int) -> dict[str, float]:
        return {"share": float(ordered(model, X, triplets[held_out]).mean())}

    learner: Any = learner_class(name)(**parameters)
    points = log_spaced_steps(n_steps, parameters.get("trace_points", TRACE_POINTS))
    curve = learner.fit_triplets(X, examples, trace=score, trace_steps=points).curve_
    return int(curve["step"][np.argmax(curve["share"])])
