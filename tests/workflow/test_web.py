"""The web study on the tiny configuration: what it makes, that a killed ranker goes on, and what an edit makes anew."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from project import ROOT, WEB, Project

import lookalike
from lookalike.studies.metrics import COLUMNS

pytestmark = pytest.mark.workflow

RESULTS = f"results/{WEB}"
CONTRACT = [
    *("log.npz", "images.parquet", "validation.npz", "model.npz", "model.json", "marginals.csv"),
    *(f"visterms/shard-000/{name}.npy" for name in ("indptr", "words", "counts")),
    *(f"rankers/1/{name}" for name in ("W.npy", "fit.json", "curve.parquet")),
    *(f"{name}.parquet" for name in ("marginals", "precision", "approximate")),
    *(f"web/{name}.parquet" for name in ("metrics", "timing", "curve_times", "runtime")),
    *("exhibits/index.md", "exhibits/headline.txt"),
    *(
        f"exhibits/{name}.{suffix}"
        for name in ("oasis-jmlr-2010/table1", "oasis-2009-draft/table3", "web/speed", "web/approximate")
        for suffix in ("csv", "md", "tex", "json")
    ),
    *(
        f"exhibits/{name}.{suffix}"
        for name in (
            *("oasis-jmlr-2010/fig3a", "oasis-jmlr-2010/fig4", "oasis-2009-draft/fig6", "oasis-nips-2009/fig1b"),
            *("web/topics", "web/calibration", "web/learning", "web/recall"),
        )
        for suffix in ("png", "svg", "pdf", "csv", "json")
    ),
]


@pytest.fixture(scope="module")
def studied(changeable: Callable[[str], Project]) -> Project:
    """The project after the tiny web study; tests must leave its results as they are."""
    project = changeable("web")
    project.snakemake(WEB, f"{RESULTS}/model.npz")
    return project


def table_of(project: Project, name: str) -> pd.DataFrame:
    return pd.read_parquet(project.folder / RESULTS / f"{name}.parquet")


@pytest.mark.parametrize("file", CONTRACT)
def test_every_file_of_the_contract_is_there_and_not_empty(studied: Project, file: str) -> None:
    assert (studied.folder / RESULTS / file).stat().st_size > 0


def test_learning_finds_what_is_relevant_better_than_the_baseline(studied: Project) -> None:
    metrics = table_of(studied, "web/metrics")
    precision = metrics[metrics["metric"] == "p@k"].set_index(["method", "x"])["value"]
    assert precision["oasis-averaged", 10] > 1.1 * precision["euclidean", 10]
    curve = metrics[metrics["metric"] == "validation_map"]
    assert set(curve["fold"]) == {0, 1}
    assert curve.groupby("fold")["value"].agg(lambda values: values.max() > values.iloc[0]).all()


def test_metrics_have_the_columns_of_all_studies(studied: Project) -> None:
    metrics = table_of(studied, "web/metrics")
    assert tuple(metrics) == COLUMNS
    assert {"p@k", "topic_p@k", "loss_rate", "recall@10", "images", "share by word_frequency"} <= set(metrics["metric"])


def test_the_model_is_the_mean_of_the_rankers(studied: Project) -> None:
    folder = studied.folder / RESULTS
    model = lookalike.load(folder / "model.npz")
    mean = np.mean([np.load(folder / f"rankers/{ranker}/W.npy") for ranker in (0, 1)], axis=0)
    np.testing.assert_allclose(model.W_, mean, atol=1e-6)
    assert model.rank(np.eye(2000)[:2], np.eye(2000), k=3)[0].shape == (2, 3)


def test_every_exhibit_says_that_it_is_simulated(studied: Project) -> None:
    exhibits = studied.folder / RESULTS / "exhibits"
    captions = [yaml.safe_load(file.read_text())["caption"] for file in exhibits.glob("*/*.json")]
    assert len(captions) == 12
    assert all("imulated" in caption for caption in captions)


def test_a_finished_study_does_nothing_again_and_an_edited_kernel_trains_anew(studied: Project) -> None:
    assert studied.planned(WEB) == {}
    kernel = studied.folder / "src/lookalike/learners/look_ahead.py"
    original = kernel.read_bytes()
    try:
        kernel.write_bytes(original + b"\nEDITED = True\n")
        planned = studied.planned(WEB)
    finally:
        kernel.write_bytes(original)
    assert planned["train_on_log"] == 2
    assert not {"simulate_log", "simulate_visterms", "measure_marginals"} & set(planned)


def test_a_ranker_killed_at_any_moment_ends_with_the_same_bits(studied: Project) -> None:
    """Killed twice with everything that it started, once it has a checkpoint; no thread of it is left to tidy up."""
    base = yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text())
    base["web"][WEB]["training"] |= {"steps": 400_000, "interval": 65_536, "checkpoint_seconds": 0.05, "rankers": 1}
    (studied.folder / "long.yaml").write_text(yaml.safe_dump(base))
    target = f"{RESULTS}/rankers/0/W.npy"
    keep = (studied.folder / target).read_bytes()
    folder = studied.folder / RESULTS / "rankers/0/checkpoint"
    try:
        for _ in range(2):
            kill_after_a_checkpoint(studied, target, folder)
            studied.snakemake("--unlock", config="long.yaml")
        studied.snakemake(target, config="long.yaml")
        resumed = (studied.folder / target).read_bytes()
        fit = yaml.safe_load((studied.folder / target).with_name("fit.json").read_text())
        assert fit["resumed"] == 2
        assert not folder.exists(), "a checkpoint is of no use once the result is there"
        (studied.folder / target).unlink()
        studied.snakemake(target, config="long.yaml")
        assert (studied.folder / target).read_bytes() == resumed
    finally:
        (studied.folder / target).write_bytes(keep)


def kill_after_a_checkpoint(project: Project, target: str, folder: Path) -> None:
    """Start a ranker and kill it, and Snakemake, soon after its next checkpoint."""
    before = newest(folder)
    process = subprocess.Popen(
        project.command(target, config="long.yaml"),
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 200
        while newest(folder) == before:
            assert process.poll() is None, "it was done before it could be killed: give it more steps"
            assert time.monotonic() < end, "no checkpoint came"
            time.sleep(0.02)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def newest(folder: Path) -> float:
    state = folder / "checkpoint.npz"
    return state.stat().st_mtime if state.exists() else 0.0
