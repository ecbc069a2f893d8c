"""Made-up metrics and curves, and contexts for a comparable, a synthetic and a missing data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lookalike.exhibits.catalogue import Numbers
from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.reference import load

RESOURCE = Path(__file__).resolve().parents[3] / "workflow" / "resources" / "reference-values.csv"
VAR10 = SubsetInfo("var10", "Var10", 10, {"oasis-jmlr-2010": "classes=10", "oasis-2009-draft": "var10"})
CLASSES50 = SubsetInfo("classes50", "50 classes", 50, {"oasis-jmlr-2010": "classes=50"})
LEVELS = {"euclidean": 0.23, "oasis": 0.33}


@pytest.fixture(scope="session")
def reference():
    return load(RESOURCE)


@pytest.fixture(scope="session")
def context():
    return Context(
        dataset="caltech256",
        title="Caltech-256",
        kind="caltech256",
        subsets=(VAR10, CLASSES50),
        methods=("euclidean", "oasis"),
        representation="words1000",
        n_folds=5,
        n_train=40,
        n_test=25,
        selected_steps={"var10": (30_000, 35_000, 40_000)},
    )


@pytest.fixture(scope="session")
def synthetic(context):
    subset = SubsetInfo("var10", "10 synthetic classes", 10, VAR10.printed, "synthetic images")
    return replace(context, kind="synthetic", subsets=(subset,), title="demo")


@pytest.fixture(scope="session")
def missing(context):
    return replace(context, not_run="put 256_ObjectCategories.tar at data/caltech256", selected_steps={})


@pytest.fixture(scope="session")
def metrics():
    """Euclidean and OASIS on var10 and classes50: spread 0.01 over 5 folds, P@k falling with k."""
    rows = []
    for subset, share in (("var10", 1.0), ("classes50", 0.4)):
        for method, level in LEVELS.items():
            for fold, shift in enumerate(np.array([-2, -1, 0, 1, 2]) * 0.01 / np.sqrt(2.5)):
                key = ("caltech256", "words1000", subset, method, fold)
                rows.append((*key, "map", level * share + shift))
                rows += [(*key, f"p@{k}", 1.5 * level * share * np.exp(-k / 80) + shift) for k in range(1, 100)]
    # another representation, which must not be mixed in
    rows.append(("caltech256", "words10000", "var10", "oasis", 0, "map", 0.99))
    columns = ["dataset", "representation", "subset", "method", "fold", "metric", "value"]
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture(scope="session")
def curves():
    rows = []
    for subset in ("var10", "classes50"):
        for fold in range(5):
            for step in (0, 100, 1000, 10_000, 60_000):
                for images, height in (("train", 0.6), ("test", 0.1)):
                    value = 0.23 + height * (1 - np.exp(-step / 10_000)) + 0.005 * fold
                    rows.append((subset, "oasis", fold, 0.1, step, images, value, 0.5))
    columns = ["subset", "method", "fold", "aggressiveness", "step", "images", "map", "loss_rate"]
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture(scope="session")
def facts():
    rows = [
        ("images_kept", 29_460.0, np.nan, 0),
        ("categories_kept", 256.0, np.nan, 0),
        ("nonzeros_per_image", 55.2, 0.8, 1000),
        ("symmetry_index", 0.943, 0.004, 0),
    ]
    return pd.DataFrame(rows, columns=["metric", "value", "std", "words"])


@pytest.fixture(scope="session")
def numbers(metrics, curves, facts):
    return Numbers(metrics, curves, facts)
