"""What a fit chooses by held-out rows and classes: how rows are scaled, which learner, and how much of what it learned.

Two futures are told apart. Where queries are of classes that were learned from (`SEEN`), a learner is chosen by rows
that are held out. Where they are of classes that are new (`NEW`), what helps on known classes may harm: a learned
matrix is blended with no learning, (1 - a) I + a W, and a is chosen by held-out classes. 0 is no learning, and allowed
to win.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special
from sklearn.pipeline import make_pipeline

from lookalike.app.learning import usable_classes
from lookalike.app.steps import Scaling
from lookalike.core.arrays import Array, Doubles, Matrix
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.learners.base import SimilarityLearner, is_sparse
from lookalike.learners.diagonal import TFIDF
from lookalike.learners.euclidean import Euclidean
from lookalike.learners.online import LEAST_TO_SPLIT, can_hold_out, held_out_rows
from lookalike.ranking.rankings import rank_scores

NEW, SEEN, NO_LEARNING = "new", "seen", "without learning"
"""Whether a model will be asked about classes that it has not learned from, or about those that it has."""
MOST_JUDGED = 2_000
"""Rows that a choice is made by, and that are learned from to make it: of more, as many of each class."""
TIE = 0.005
"""Mean average precision that one way must be better by than another that keeps a gallery as it is, or is faster."""
HALVINGS = 3
"""How often classes are halved; each half is held out once."""
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)
"""Of the similarity that is learned, in a blend with none of as large a mean."""
INVERSE_REGULARIZATION = (10.0, 100.0, 1000.0)
"""Values of C of logistic regression."""
MOST_SCORES, MOST_COVARIANCES = 2e9, 2_000
"""Rows times dimensions times classes that logistic regression is tried on, and dimensions of LDA."""
Train = Callable[..., SimilarityLearner]
"""``train(name, settings, X, y=y)``."""
Tell = Callable[[str, int, int], None]
DENSE = 0.25
"""Share of values that are not zero from which on rows of an array count as dense; those of a CSR matrix never do."""
FEW_PAIRS = 5e8
"""Pairs times dimensions that MCML compares in a second."""
FEWEST_STEPS, MOST_STEPS, MOST_CHANGES = 35_000, 300_000, 3.6e10
"""Of OASIS, and numbers that its steps may change: of W between values that are not zero, or else 12 of each row."""
LARGEST_MATRIX, MOST_PRODUCTS = 20_000, 10_000
"""Dimensions of a matrix that is formed (1.6 GB, twice while it is learned), and rows whose products stand for it."""
SCORED_ROWS, SCORED_TIMES, FEW_ROWS = 2_000, 20, 10_000
"""Rows that are held out to choose the number of steps, and how often they are ranked on the way, of more than few."""


class Choice(NamedTuple):
    """A learner, its settings, and why it was chosen."""

    name: str
    parameters: dict[str, object]
    reason: str

    def __str__(self) -> str:
        return f"{self.name}, because {self.reason}"


def choose_learner(
    X: Matrix, y: Array | None = None, triplets: Array | None = None, *, of_distances: bool = False
) -> Choice:
    """Choose a learner for rows, as it takes them, with labels or triplets; every machine chooses alike.

    With `of_distances` it starts from the Euclidean distance, where that is better than the cosine.

    MCML compares all pairs of rows and ranks new dense rows best where it is fast enough: on digits (64 dimensions) it
    has a mean average precision of 0.86, OASIS 0.84 and no learning 0.68; on HOG of photographs of twenty classes, in
    256 principal components, 0.33, 0.29 and 0.25 (rows centred and of length 1, half of them held out).
    OASIS takes triplets, and its time does not grow with the number of pairs. On sparse rows it is the better of the
    two, as in JMLR Table 4. Where its matrix is too large, one weight a dimension is learned.
    """
    n, d = X.shape
    values = float(X.nnz if is_sparse(X) else np.count_nonzero(X)) / max(1, n)
    is_dense = not is_sparse(X) and values >= DENSE * d
    shape = f"{n:,} rows of {d:,} dimensions" + ("" if is_dense else f", {values / max(1, d):.1%} of them not zero")
    if triplets is None and is_dense and n * n * min(n, d) <= FEW_PAIRS:
        return Choice("MCML", {}, f"{shape} are few enough to compare all pairs of them")
    passes = (40 if is_dense else 4) * max(n, 0 if triplets is None else len(triplets))
    n_steps = int(min(max(FEWEST_STEPS, passes), MOST_STEPS, MOST_CHANGES / max(1.0, min(values**2, 12 * n))))
    steps: dict[str, object] = {}
    if n_steps != FEWEST_STEPS or n > FEW_ROWS:
        steps = {"n_steps": n_steps, "trace_points": SCORED_TIMES, "early_stopping": y is None or can_hold_out(y)}
        steps |= {} if y is None else {"validation_fraction": min(0.2, SCORED_ROWS / n)}
    if d > LARGEST_MATRIX and n > min(d / 4, MOST_PRODUCTS):
        why = f"{shape} are too many for a matrix of all pairs of dimensions, so each has one weight"
        return Choice("DiagonalOASIS", steps, why)
    if triplets is not None:
        return Choice("OASIS", steps, f"triplets of {shape} are learned from one by one")
    if of_distances:
        return Choice("DissimOASIS", steps | {"projection": "psd"}, f"distances rank {shape} better than the cosine")
    if is_dense:
        return Choice("OASIS", steps, f"comparing all pairs of {shape}, as MCML does, would take too long")
    return Choice("OASIS", steps, f"it ranks sparse rows best ({shape})")


def judged_rows(y: Array, seed: int) -> Array:
    """Return row numbers, all or `MOST_JUDGED`: as many of every class, and of many classes at least four of each."""
    if len(y) <= MOST_JUDGED:
        return np.arange(len(y))
    random = generator(seed, "own images", "judged")
    order = random.permutation(len(y))
    codes = np.unique(y, return_inverse=True)[1][order]
    n_classes = int(codes.max()) + 1
    place = pd.Series(codes).groupby(codes).cumcount().to_numpy()
    order, codes = (part[place < max(LEAST_TO_SPLIT, MOST_JUDGED // n_classes)] for part in (order, codes))
    turn = random.permutation(n_classes)[codes]  # whole classes, one after the other
    return np.asarray(np.sort(order[np.argsort(turn, kind="stable")[:MOST_JUDGED]]))


def map_of(scores: Array, y: Array) -> Doubles:
    """Return the average precision of each row that queries all others."""
    return np.asarray(rank_scores(scores, y).average_precision())


def _for_some(settings: Mapping[str, object], are_some: bool) -> dict[str, object]:
    """Return settings for some rows in place of all, which need no more than the fewest steps."""
    n_steps = settings.get("n_steps")
    if not are_some or not isinstance(n_steps, int):
        return dict(settings)
    return {**settings, "n_steps": min(n_steps, FEWEST_STEPS)}


def plain_scores(X: Matrix, metric: str) -> Array:
    """Return similarities without learning, of the metric that a learner has."""
    plain = TFIDF() if metric == "inner_product" else Euclidean()
    return plain.fit(X).similarity(X, X)


def choose_scaling(X: Matrix, y: Array, seed: int) -> tuple[Scaling, dict[str, float]]:
    """Choose how vectors are scaled by what ranks labelled rows best without learning; return it, and all values.

    Nothing is learned but means and deviations, so that the rows need not be held out. A way that leaves a gallery as
    it is stands first, and another must be better by `TIE`.
    """
    rows = judged_rows(y, seed)
    values: dict[str, float] = {}
    for how in ("unit", "length") if is_sparse(X) else ("unit", "length", "centred", "standard"):
        scaled = Scaling(how).fit(X).transform(X[rows])
        scores = plain_scores(scaled, "inner_product" if how != "length" else "sqeuclidean")
        values[how] = float(np.nanmean(map_of(scores, y[rows])))
    best = max((value for value in values.values() if not np.isnan(value)), default=np.nan)
    how = next((how for how, value in values.items() if value >= best - TIE), "length")
    return Scaling(how).fit(X), values


def weight_of(share: float, learner: SimilarityLearner, X: Matrix) -> float:
    """Return the share of a learner's matrix in a blend whose similarity has this share of it, on some rows."""
    both = [plain_scores(X, learner.metric_), learner.similarity(X, X)]
    if learner.metric_ == "inner_product":  # those of rows with themselves tell how large the others are
        both = [np.diag(scores) for scores in both]
    plain, learned = (float(np.abs(scores).mean(dtype=np.float64)) for scores in both)
    if not plain > 0 or not learned > 0:
        return share
    return share * plain / (share * plain + (1 - share) * learned)


def blend_for_new_classes(
    name: str, settings: Mapping[str, object], X: Matrix, y: Array, seed: int, train: Train, tell: Tell
) -> tuple[float, str]:
    """Choose how much of a learner is taken for new classes: what has the highest lower end of a 95% interval, if > 0.

    The interval is over classes that are held out: of the average precision of their rows, less that of no learning.
    A share is that of the similarity that is learned, in a blend with none of as large a mean. A sentence says why.
    """
    rows = judged_rows(y, seed)
    X, y, settings = X[rows], y[rows], _for_some(settings, len(rows) < len(y))
    gains: dict[object, list[Array]] = {}
    classes, random = usable_classes(y), generator(seed, "own images", "held-out classes")
    orders = [random.permutation(classes) for _ in range(HALVINGS)]
    halves = [half for order in orders for half in np.split(order, [len(order) // 2])]
    for number, half in enumerate(halves):
        held_out = np.isin(y, half)
        tell(f"choosing ({name} on classes that are held out)", number, 2 * HALVINGS)
        learner = train(name, settings, X[~held_out], y=y[~held_out])
        asked, own = X[held_out], y[held_out]
        plain, learned = plain_scores(asked, learner.metric_), learner.similarity(asked, asked)
        before = map_of(plain, own)
        for_shares = []
        for share in SHARES:
            weight = weight_of(share, learner, X[~held_out])
            for_shares.append(map_of((1 - weight) * plain + weight * learned, own) - before)
        for label in np.unique(own):
            found = np.stack(for_shares)[:, own == label]
            gains.setdefault(label, []).append(np.nanmean(found, axis=1))
    tell(f"choosing ({name} on classes that are held out)", 2 * HALVINGS, 2 * HALVINGS)
    by_class = np.array([np.mean(found, axis=0) for found in gains.values()])
    n, mean = len(by_class), by_class.mean(axis=0)
    reach = special.stdtrit(n - 1, 0.975) * by_class.std(axis=0, ddof=1) / np.sqrt(n)
    low, high = mean - reach, mean + reach
    best = int(np.argmax(low))
    if not low[best] > 0:
        return 0.0, f"no learning: no share of {name} ranks held-out classes better than none by its 95% interval"
    gain = f"{mean[best]:+.3f} (95% interval {low[best]:+.3f} to {high[best]:+.3f})"
    blend = f"{SHARES[best]:.0%} of {name} in a blend with no learning"
    return SHARES[best], f"{blend}: mAP of classes that were held out is {gain} over no learning"


def candidates_for_seen(default: Choice, X: Matrix, y: Array) -> list[tuple[str, dict[str, object]]]:
    """Return what may rank classes that were learned from best; the first keeps galleries."""
    n, d = X.shape
    found: list[tuple[str, dict[str, object]]] = [(default.name, default.parameters)]
    if not is_sparse(X) and d <= MOST_COVARIANCES:
        found.append(("LDA", {}))
    if n * d * len(np.unique(y)) <= MOST_SCORES:
        found += [("LogisticRegression", {"C": C}) for C in INVERSE_REGULARIZATION]
    return found


def choose_for_seen(
    candidates: Sequence[tuple[str, dict[str, object]]], X: Matrix, y: Array, seed: int, train: Train, tell: Tell
) -> tuple[Choice, str]:
    """Choose a learner for classes that it has learned from, by a fifth of the rows; tell all values too.

    The first, which keeps a gallery as it is, is taken unless another is better by `TIE`; and Euclidean, which learns
    nothing, where no learner is better than that.
    """
    rows = judged_rows(y, seed)
    X, y, are_some = X[rows], y[rows], len(rows) < len(y)
    held_out = held_out_rows(y, 0.2, generator(seed, "own images", "chosen by"))
    asked, own = X[held_out], y[held_out]
    values = {NO_LEARNING: float(np.nanmean(map_of(plain_scores(asked, "sqeuclidean"), own)))}
    scored = []
    for number, (name, settings) in enumerate(candidates):
        tell(f"choosing ({name} on rows that are held out)", number, len(candidates))
        learner = train(name, _for_some(settings, are_some), X[~held_out], y=y[~held_out])
        value = mean_map(learner, asked, own)
        scored.append((value, name, settings))
        values[name] = max(value, values.get(name, 0.0))
    tell("choosing (done)", len(candidates), len(candidates))
    listing = ", ".join(f"{value:.3f} {name}" for name, value in values.items())
    best = max(scored, key=lambda row: row[0])
    if not best[0] > values[NO_LEARNING]:
        reason = f"no learner ranks held-out rows better than no learning (mAP {listing})"
        return Choice("Euclidean", {}, reason), listing
    _, name, settings = scored[0] if scored[0][0] >= best[0] - TIE else best
    return Choice(name, settings, f"it ranks held-out rows of the classes learned from best (mAP {listing})"), listing


def rivals(X: Matrix, y: Array, train: Train) -> dict[str, Callable[[Matrix, Array], Any]]:
    """Return what one would take in place of a model, by name: what learns from rows and labels."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis  # slow to import

    default = choose_learner(X, y)
    of_ours: dict[str, tuple[str, Mapping[str, object]]] = {
        default.name: (default.name, default.parameters),
        "logistic regression, scores": ("LogisticRegression", {"C": 100.0, "compare": "scores"}),
        "logistic regression, probabilities": ("LogisticRegression", {"C": 100.0}),
    }
    if not is_sparse(X) and X.shape[1] <= MOST_COVARIANCES:
        of_ours["LDA"] = ("LDA", {})
    found: dict[str, Any] = {
        title: lambda rows, labels, how=how: train(*how, rows, y=labels) for title, how in of_ours.items()
    }
    if not is_sparse(X) and X.shape[0] ** 2 * X.shape[1] <= FEW_PAIRS:
        found["NCA"] = lambda rows, labels: make_pipeline(NeighborhoodComponentsAnalysis(max_iter=50), Euclidean()).fit(
            rows, labels
        )
    return found


def mean_map(model: Any, X: Matrix, y: Array) -> float:
    """Return mean average precision of rows that query each other, or say why there is none."""
    try:
        return float(model.score(X, y))
    except ValueError as error:
        raise LookalikeError(str(error)) from error


def helped(table: pd.DataFrame) -> str:
    """Say by the interval of its gain whether what was learned is better than none, worse, or neither for certain."""
    gain = table.attrs["gains"][0]
    word = "better than" if gain["low"] > 0 else "worse than" if gain["high"] < 0 else "neither better nor worse than"
    values = table[table["measure"] == gain["measure"]].set_index("method")["value"]
    measure = "mAP" if gain["measure"] == "map" else "share of triplets in order"
    return f"{word} no learning ({measure} {values.iloc[0]:.3f}, {values[gain['over']]:.3f} by {gain['over']})"
