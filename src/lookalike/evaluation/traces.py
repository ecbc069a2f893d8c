"""Mean average precision along training, past the stop: what the papers' figures of learning curves are drawn from.

One method's own curve (JMLR Figures 5 and 9, draft Figure 3), single rankers and their averages (Figure 7), and the
mistakes of OASIS beside the bound on them (Theorem 1). Every learner sees the stream of its fold's final fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lookalike.evaluation.folds import fold_seed, images_of, learner_maker, tfidf_rows
from lookalike.evaluation.protocol import symmetry_index
from lookalike.evaluation.ranking import rank_leave_one_out
from lookalike.evaluation.selection import as_stopped, log_spaced_steps

if TYPE_CHECKING:
    import pandas as pd

CURVE_COLUMNS = (
    "subset",
    "method",
    "fold",
    "aggressiveness",
    "step",
    "images",
    "map",
    "loss_rate",
    "objective",
    "symmetry_index",
)
RANKER_COLUMNS = ("subset", "fold", "series", "n_rankers", "ranker", "step", "map", "aggressiveness")
BOUND_COLUMNS = ("subset", "fold", "comparator", "step", "mistakes", "bound")


def trace_fold(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    method_spec: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
    method: str,
) -> pd.DataFrame:
    """Training and test mAP along training, at the fixed parameters of the figures.

    Parameters
    ----------
    counts, split, fold, method_spec, seed, subset, method
        As in `lookalike.evaluation.protocol.run_fold`; ``trace`` of the method gives the last step, how many points
        are scored, log-spaced, besides step 0 (the Euclidean start), and the ``aggressiveness`` of learners that have
        one (the figures state 0.1). ``select`` is not used.

    Returns
    -------
    DataFrame
        `CURVE_COLUMNS`: ``images`` is train or test; ``map`` (0..1) is that of the model which a fit that stops here
        would give; ``loss_rate`` is the share of steps since the last point that had a loss (NaN at step 0);
        ``objective`` and ``symmetry_index`` (draft equation 17) are NaN for learners without.

    Raises
    ------
    LookalikeError
        When the fold is not in the split table or the learner is unknown.
    """
    import pandas as pd

    images = images_of(split, fold, seed, subset)
    train, test = images["train"], images["test"]
    X_train, X_test = tfidf_rows(counts, train.rows, test.rows)

    def score(model: Any, step: int) -> dict[str, float]:
        stopped = as_stopped(model)
        index = symmetry_index(stopped)
        return {
            "train": rank_leave_one_out(stopped, X_train, train.labels, n_neighbours=0).mean_average_precision(),
            "test": rank_leave_one_out(stopped, X_test, test.labels, n_neighbours=0).mean_average_precision(),
            "symmetry_index": np.nan if index is None else index,
        }

    trace = method_spec["trace"]
    make = learner_maker(method_spec, seed, (subset, fold))("fit")
    named = make({}).get_params()
    fixed = {"aggressiveness": trace.get("aggressiveness", 0.1), "n_steps": trace["steps"]}
    learner = make({name: value for name, value in fixed.items() if name in named})
    steps = log_spaced_steps(trace["steps"], trace["points"], trace.get("first", 100))
    traced = learner.fit(X_train, train.labels, trace=score, trace_steps=steps).curve_
    curves = []
    for which in ("train", "test"):
        curve = pd.DataFrame({"step": traced["step"], "map": traced[which], "images": which})
        for column in ("loss_rate", "objective", "symmetry_index"):
            curve[column] = traced.get(column, np.nan)
        curves.append(curve)
    table = pd.concat(curves, ignore_index=True)
    aggressiveness = float(fixed["aggressiveness"]) if "aggressiveness" in named else np.nan
    table = table.assign(subset=subset, method=method, fold=int(fold), aggressiveness=aggressiveness)
    return table[list(CURVE_COLUMNS)].astype({"step": np.int64, "fold": np.int64})


def train_ranker(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    ranker: int,
    settings: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
) -> dict[int, np.ndarray]:
    """Train one of the rankers whose average JMLR section 5.4 describes, and keep W at the points of the figure.

    Parameters
    ----------
    counts, split, fold, seed, subset
        As in `trace_fold`.
    ranker : int
        Which one; each has a stream of triplets of its own, the same whatever others there are.
    settings : mapping
        ``steps``, ``points`` and ``aggressiveness``.

    Returns
    -------
    dict of int to ndarray of float32, shape (d, d)
        Step to W, step 0 not among them.
    """
    from lookalike.learners.oasis import OASIS

    train = images_of(split, fold, seed, subset)["train"]
    X_train, _ = tfidf_rows(counts, train.rows, train.rows)
    kept: dict[int, np.ndarray] = {}

    def keep(model: Any, step: int) -> dict[str, float]:
        if step:
            kept[step] = model.W_.copy()
        return {}

    learner = OASIS(
        settings["aggressiveness"], settings["steps"], random_state=fold_seed(seed, subset, fold, f"ranker {ranker}")
    )
    learner.fit(X_train, train.labels, trace=keep, trace_steps=_ranker_steps(settings))
    return kept


def average_rankers(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    matrices: Sequence[Mapping[int, np.ndarray]],
    settings: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
) -> pd.DataFrame:
    """Test mAP of single rankers, and of the averages of the first so many of them (JMLR Figure 7).

    Parameters
    ----------
    counts, split, fold, settings, seed, subset
        As in `train_ranker`; ``averages`` of the settings lists how many rankers are averaged.
    matrices : sequence of mapping
        What `train_ranker` gave, in the order of the rankers.

    Returns
    -------
    DataFrame
        `RANKER_COLUMNS`: ``series`` is "single" or "average of k", ``ranker`` -1 for averages, ``step`` the steps that
        each ranker took. Step 0 is W = I.
    """
    import pandas as pd

    from lookalike.learners.oasis import OASIS

    images = images_of(split, fold, seed, subset)
    test = images["test"]
    _, X_test = tfidf_rows(counts, images["train"].rows, test.rows)
    model = OASIS().fit_triplets(X_test, np.empty((0, 3), dtype=np.int32))

    def score(W: np.ndarray) -> float:
        model.W_ = W
        return rank_leave_one_out(model, X_test, test.labels, n_neighbours=0).mean_average_precision()

    start = score(model.W_)
    rows: list[tuple[Any, ...]] = []
    averages = [k for k in settings["averages"] if k <= len(matrices)]
    for step in [0, *_ranker_steps(settings)]:
        for ranker, kept in enumerate(matrices):
            rows.append(("single", 1, ranker, step, score(kept[step]) if step else start))
        for k in averages:
            value = score(_mean(kept[step] for kept in matrices[:k])) if step else start
            rows.append((f"average of {k}", k, -1, step, value))
    table = pd.DataFrame(rows, columns=["series", "n_rankers", "ranker", "step", "map"])
    table = table.assign(subset=subset, fold=int(fold), aggressiveness=float(settings["aggressiveness"]))
    return table[list(RANKER_COLUMNS)]


def bound_fold(
    counts: sp.csr_array,
    split: pd.DataFrame,
    fold: int,
    settings: Mapping[str, Any],
    *,
    seed: int,
    subset: str,
) -> pd.DataFrame:
    """Count the mistakes of OASIS along a sequence of triplets, and what Theorem 1 (JMLR section 2.2) allows.

    The theorem holds for any matrix U in the place of a solution. Shown are the identity, the W that OASIS itself
    ends with, and that W scaled by 1/2 and by 2.

    Parameters
    ----------
    counts, split, fold, seed, subset
        As in `trace_fold`.
    settings : mapping
        ``steps``, ``points`` and ``aggressiveness``.

    Returns
    -------
    DataFrame
        `BOUND_COLUMNS`: ``mistakes`` (triplets with S(p, p+) <= S(p, p-) when OASIS met them) and ``bound`` up to
        ``step``, for each ``comparator``.
    """
    import pandas as pd

    from lookalike.evaluation.loss_bound import bound, mistakes_and_losses
    from lookalike.learners.oasis import OASIS
    from lookalike.learners.triplets import TripletSampler

    train = images_of(split, fold, seed, subset)["train"]
    X_train, _ = tfidf_rows(counts, train.rows, train.rows)
    C = float(settings["aggressiveness"])
    triplets = TripletSampler(train.labels, fold_seed(seed, subset, fold, "fit")).draw(settings["steps"])
    mistakes, _ = mistakes_and_losses(X_train, triplets, C)
    W = OASIS(C, dtype="float64").fit_triplets(X_train, triplets).W_
    comparators = {"I": np.eye(len(W)), "W": W, "W / 2": W / 2, "2 W": 2 * W}
    steps = log_spaced_steps(settings["steps"], settings["points"])
    tables = [
        pd.DataFrame({"comparator": name, "step": steps, "mistakes": mistakes[steps - 1], "bound": limit[steps - 1]})
        for name, limit in ((name, bound(U, X_train, triplets, C)) for name, U in comparators.items())
    ]
    return pd.concat(tables, ignore_index=True).assign(subset=subset, fold=int(fold))[list(BOUND_COLUMNS)]


def average_precisions(
    rankings: Iterable[tuple[Mapping[str, Any], Any]],
) -> pd.DataFrame:
    """Average precision of every query of many runs, for statistics that pair methods image by image.

    Parameters
    ----------
    rankings : iterable of (names, Rankings)
        ``names`` gives ``subset``, ``method`` and ``fold`` of a run.

    Returns
    -------
    DataFrame
        ``subset``, ``method``, ``fold``, ``image_id`` and ``average_precision`` (0..1).
    """
    import pandas as pd

    tables = [
        pd.DataFrame({"image_id": ranks.query_ids, "average_precision": ranks.average_precision()}).assign(**names)
        for names, ranks in rankings
    ]
    return pd.concat(tables, ignore_index=True)[["subset", "method", "fold", "image_id", "average_precision"]]


def _ranker_steps(settings: Mapping[str, Any]) -> list[int]:
    return [int(step) for step in log_spaced_steps(settings["steps"], settings["points"])]


def _mean(matrices: Iterable[np.ndarray]) -> np.ndarray:
    """Mean in double precision, always summed in the same order."""
    first, *others = matrices
    total = first.astype(np.float64)
    for matrix in others:
        total += matrix
    return np.asarray(total / (1 + len(others)), dtype=np.float32)
