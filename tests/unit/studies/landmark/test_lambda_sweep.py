"""The sweep over lambda: that its fits are those of the study, and that larger is sparser."""

from __future__ import annotations

import numpy as np
import pytest
from made_landmarks import LANDMARKS, made_study

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_table
from lookalike.studies.landmark.lambda_sweep import sweep_lambdas
from lookalike.studies.landmark.protocol import draw_learning_images, landmark_data, run_landmark
from lookalike.studies.landmark.rankings import SWEEP
from lookalike.studies.metrics import COLUMNS, select

SPECS = {
    "soml-tg": {"learner": "SOMLTG", "parameters": {"learning_rate": 1.0, "regularization": 1e-5}},
    "soml-da": {"learner": "SOMLDA", "parameters": {"gamma": 1e-4, "rho": 1.0, "regularization": 1e-6}},
}
LAMBDAS = [0.0, 1e-5, 1e-3, 1e-1]


@pytest.fixture(scope="module")
def prepared():
    study = made_study()
    images = np.arange(study.counts.shape[0])
    drawn = draw_learning_images(
        study.queries, study.relevance, images, LANDMARKS, n_positives=5, n_negatives=40, n_draws=2, seed=3
    )
    return landmark_data(*study), drawn


def swept(prepared, landmarks=("abbey", "castle"), specs=SPECS, lambdas=LAMBDAS):
    return sweep_lambdas(*prepared, landmarks, specs, lambdas, seed=3, representation="words600")


def test_a_sweep_has_one_row_per_fit_and_each_is_that_of_the_study(prepared):
    table = swept(prepared)
    assert tuple(table.columns) == COLUMNS
    assert set(table["representation"]) == {"words600"}
    names = ["subset", "fold", "method", "x"]
    numbers = table.pivot(index=names, columns="metric", values="value")
    assert len(numbers) == 2 * 2 * 2 * 4
    row = numbers.loc["castle", 1, "soml-tg", 1e-3]
    spec = {**SPECS["soml-tg"], "parameters": {"learning_rate": 1.0, "regularization": 1e-3}}
    run = run_landmark(*prepared, "castle", 1, spec, seed=3, method="soml-tg").metrics.set_index("metric")["value"]
    assert (row[SWEEP["map"]], row[SWEEP["sparsity"]]) == (run["map"], run["sparsity"])


def test_larger_lambdas_are_sparser(prepared):
    table = select(swept(prepared), metric=SWEEP["sparsity"]).groupby(["method", "x"])["value"].mean()
    for method in SPECS:
        assert (np.diff(table[method]) >= 0).all()
        assert table[method][1e-1] > table[method][0.0]


def test_the_same_bytes_each_time(prepared, tmp_path):
    for name in ("first", "second"):
        write_table(swept(prepared, ["abbey"], lambdas=[1e-4]), tmp_path / f"{name}.parquet")
    assert (tmp_path / "first.parquet").read_bytes() == (tmp_path / "second.parquet").read_bytes()


def test_mistakes_say_what_to_do(prepared):
    with pytest.raises(LookalikeError, match=r"DiagonalOASIS has no parameter 'regularization'"):
        swept(prepared, ["abbey"], {"oasis": {"learner": "DiagonalOASIS"}})
