"""Made-up metrics and curves, and contexts for a comparable, a synthetic and a missing data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lookalike.core.files import read_table
from lookalike.exhibits.catalogue import Numbers
from lookalike.exhibits.context import Context, SubsetInfo
from lookalike.exhibits.reference import load

RESOURCE = Path(__file__).resolve().parents[3] / "workflow" / "resources" / "reference-values.csv"
VAR10 = SubsetInfo("var10", "Var10", 10, {"oasis-jmlr-2010": "classes=10", "oasis-2009-draft": "var10"})
CLASSES50 = SubsetInfo("classes50", "50 classes", 50, {"oasis-jmlr-2010": "classes=50"})
CLAIMS = RESOURCE.with_name("claims.csv")
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
def fits():
    """CPU times, a second a fold apart, of OASIS, LEGO and both LMNNs; MCML did not end on 50 classes."""
    rows = []
    seconds = {"oasis": 0.12, "oasis-dissim": 0.3, "mcml": 90.0, "lego": 4.0, "lmnn": 30.0, "lmnn-naive": 60.0}
    for subset in ("var10", "classes50"):
        for method, mean in seconds.items():
            for fold in range(5):
                failed = (subset, method) == ("classes50", "mcml")
                reason = "the final fit took more than 600 s of CPU time" if failed else ""
                time = np.nan if failed else mean * (0.8 + fold / 10)
                index = 0.9 + fold / 100 if method == "oasis" else np.nan
                rows.append(("caltech256", "words1000", subset, method, fold, time, reason, index, 0.1))
    columns = ["dataset", "representation", "subset", "method", "fold", "cpu_seconds_fit", "not_converged"]
    return pd.DataFrame(rows, columns=[*columns, "symmetry_index", "aggressiveness"])


@pytest.fixture(scope="session")
def comparison():
    """OASIS better than Euclidean on both subsets, about LMNN on the second, worse than LEGO there."""
    rows = [
        compared("var10", "euclidean", 0.10, 0.08, 0.12, 0.0004, "better"),
        compared("var10", "lmnn", 0.09, 0.06, 0.12, 0.0031, "better"),
        compared("classes50", "euclidean", 0.04, 0.03, 0.05, 0.004, "better"),
        compared("classes50", "lmnn", 0.002, -0.02, 0.024, 1.0, "not decidable"),
        compared("classes50", "lego", -0.03, -0.04, -0.02, 0.012, "worse"),
    ]
    return pd.DataFrame(rows)


def compared(subset, method, difference, low, high, p=0.01, verdict="not decidable"):
    """A row of the comparison, the bootstrap's interval a little narrower than the t-test's."""
    return {
        "subset": subset,
        "reference": "oasis",
        "method": method,
        "difference": difference,
        "std": (high - low) / 4,
        "t_low": low,
        "t_high": high,
        "p": p,
        "p_holm": p,
        "bootstrap_low": low + 0.001,
        "bootstrap_high": high - 0.001,
        "n_folds": 5,
        "n_images": 250,
        "verdict": verdict,
        "family": "compared",
    }


@pytest.fixture(scope="session")
def claims():
    return read_table(CLAIMS)


@pytest.fixture(scope="session")
def rankers():
    """Test mAP of three rankers and of their average, one point better, on 50 classes."""
    rows = []
    for fold in range(5):
        for step, rise in ((0, 0.0), (1000, 0.05), (10_000, 0.08)):
            values = [0.1 + rise + 0.001 * ranker for ranker in range(3)]
            rows += [("single", 1, ranker, step, value, fold) for ranker, value in enumerate(values)]
            rows.append(("average of 3", 3, -1, step, np.mean(values) + 0.01 * (step > 0), fold))
    table = pd.DataFrame(rows, columns=["series", "n_rankers", "ranker", "step", "map", "fold"])
    return table.assign(dataset="caltech256", representation="words1000", subset="classes50", aggressiveness=0.1)


@pytest.fixture(scope="session")
def bounds():
    """Mistakes on Var10, half of the bound by the identity and a tenth of that by zero."""
    rows = [
        ("caltech256", "words1000", "var10", fold, comparator, step, 0.2 * step + fold, factor * 0.4 * step + 100)
        for fold in range(5)
        for comparator, factor in (("identity", 1), ("zero", 5))
        for step in (100, 1000, 10_000)
    ]
    columns = ["dataset", "representation", "subset", "fold", "comparator", "step", "mistakes", "bound"]
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture(scope="session")
def numbers(metrics, curves, facts, fits, comparison, rankers, bounds, claims):
    return Numbers(metrics, curves, facts, fits, comparison, rankers, bounds, claims)
