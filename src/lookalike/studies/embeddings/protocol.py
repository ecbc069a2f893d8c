"""One halving of the classes: learn from one half, rank test images of both halves.

Embeddings have unit length, as tf-idf rows have, so that OASIS starts as the cosine; the Euclidean distance alone is of
the rows as they come. Baselines of scikit-learn become similarities by a rule that was written before the first run:
LDA by the cosine of its transformed rows less their training mean, logistic regression by the cosine of its decision
values, which are linear in the rows and do not saturate as probabilities do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lookalike.core.arrays import Array, Doubles
from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import EMBEDDING_FILES
from lookalike.core.settings.methods import Fit
from lookalike.data.splits import half_of, make_splits
from lookalike.learners.base import SimilarityLearner
from lookalike.learners.euclidean import Euclidean
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.fits import fold_seed, make_learner
from lookalike.studies.selection import choose

MANIFEST, VECTORS = EMBEDDING_FILES
NAME = "embeddings"
"""Name of the seeds of what is drawn."""
INVERSE_REGULARIZATION = (1.0, 10.0, 100.0)
"""Values of C of logistic regression that validation chooses from."""
Transform = Callable[[Doubles], Doubles]


class Part(NamedTuple):
    """Some images of a halving."""

    rows: Doubles
    labels: Array


def read_embeddings(folder: Path) -> tuple[pd.DataFrame, Doubles]:
    """Return the manifest, whose ``image_id`` counts the rows, and the vectors, which are kept as scaled bytes."""
    if missing := [name for name in EMBEDDING_FILES if not (folder / name).is_file()]:
        raise LookalikeError(f"{folder} holds no {' and no '.join(missing)}: put a folder of embeddings there")
    manifest = pd.read_csv(folder / MANIFEST, dtype="str")
    with np.load(folder / VECTORS) as kept:
        X = kept["codes"].astype(np.float64) * kept["scale"]
    if len(X) != len(manifest):
        raise LookalikeError(f"{folder} has {len(X)} vectors for {len(manifest)} images: put a whole one there")
    return manifest.assign(image_id=np.arange(len(manifest), dtype=np.int32), status="ok"), X


def halving(manifest: pd.DataFrame, X: Doubles, sizes: Mapping[str, int], number: int, root: int) -> dict[str, Part]:
    """Return the parts of a halving, counted from 0: its first half is learned from, the other one is new."""
    labels = sorted(set(manifest["label"]))
    pool = manifest.iloc[:0][["image_id", "label"]]
    named = {f"n_{part}": sizes[part] for part in ("train", "test", "validation")}
    splits = make_splits(manifest, pool, labels, n_folds=number + 1, **named, seed=root, subset=NAME)
    own = splits[splits["fold"] == number]
    is_learned = own["label"].isin(half_of(labels, 2 * number + 1, root))
    is_train, validates = own["role"] == "train", own["validation"]
    chosen = {
        "train": is_learned & is_train,
        "learn": is_learned & is_train & ~validates,
        "validation": is_learned & validates,
        "learned": is_learned & ~is_train,
        "new": ~is_learned & ~is_train,
    }
    parts = {name: own[rows] for name, rows in chosen.items()}
    return {name: Part(X[part["image_id"]], part["label"].to_numpy(dtype=np.str_)) for name, part in parts.items()}


def results_of(
    manifest: pd.DataFrame, X: Doubles, sizes: Mapping[str, int], number: int, specs: Mapping[str, Fit], root: int
) -> Iterator[dict[str, object]]:
    """Yield rows of results of a halving: mAP of each method on test images of either half, which query each other."""
    raw = halving(manifest, X, sizes, number, root)
    parts = {name: Part(unit(part.rows), part.labels) for name, part in raw.items()}
    train = parts["train"]
    transforms: dict[str, Transform] = {"cosine": unit, "euclidean": np.asarray, "logistic": logistic_regression(parts)}
    learners: dict[str, SimilarityLearner] = {}
    for method, spec in {"lda": Fit(learner="LDA"), **specs}.items():
        seed = fold_seed(root, NAME, number, "selection")
        chosen = choose(spec, seed, lambda: (parts["learn"], parts["validation"]))[1]
        learner = make_learner(spec, fold_seed(root, NAME, number, "fit"), chosen)
        learners[method] = learner.fit(train.rows, train.labels)
    for half in ("learned", "new"):
        rows, labels = raw[half]
        found = {method: ranked(Part(transform(rows), labels)) for method, transform in transforms.items()}
        found |= {method: ranked(parts[half], learner) for method, learner in learners.items()}
        for method, value in found.items():
            row = {"study": "embeddings", "setting": half, "method": method, "repeat": str(number), "metric": "map"}
            yield row | {"value": value, "unit": "fraction"}


def ranked(part: Part, model: SimilarityLearner | None = None) -> float:
    """Return mAP of images that query each other; without a model by their Euclidean distance."""
    model = Euclidean().fit(part.rows) if model is None else model
    return rank_leave_one_out(model, part.rows, part.labels, n_neighbours=0).mean_average_precision()


def logistic_regression(parts: Mapping[str, Part]) -> Transform:
    """Return scikit-learn's logistic regression as a transform whose rows are compared by their cosine."""
    # heavy, and every plan imports the studies
    from sklearn.linear_model import LogisticRegression

    def fitted(C: float, part: Part) -> Transform:
        model = LogisticRegression(C=C, max_iter=1000).fit(part.rows, part.labels)
        return lambda rows: unit(model.decision_function(unit(rows)))

    def validated(C: float) -> float:
        rows, labels = parts["validation"]
        return ranked(Part(fitted(C, parts["learn"])(rows), labels))

    return fitted(max(INVERSE_REGULARIZATION, key=validated), parts["train"])


def unit(rows: Doubles) -> Doubles:
    """Return rows of unit length, whose Euclidean distances rank as their cosines do."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))
