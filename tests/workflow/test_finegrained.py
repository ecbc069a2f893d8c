"""The fine-grained study on the tiny configuration: what it makes, what may teach, and what an edit makes anew."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from project import FINEGRAINED, Project, job_counts

from lookalike.data.synthetic_triplets import SyntheticTriplets, write_images, write_ratings

pytestmark = pytest.mark.workflow

RESULTS = f"results/{FINEGRAINED}"
PAPER = "deep-ranking-cvpr-2014"
HAND_CRAFTED = ("wavelet", "color", "sift-like", "fisher", "hog", "spmk-texton-1024-max")
LEARNED = ("l1hashkpca", "oasis", "golden-features")
NETWORKS = ("convnet", "single-scale-ranking", "deep-ranking", "multiscale-weighted-000", "multiscale-uniform-000")
ON_NETWORKS = ("oasis-on-single-scale-ranking", "single-scale-and-visual-feature")
CONTRACT = [
    *("manifest.parquet", "triplets.parquet", "pool.parquet", "pairs.parquet", "rejected.csv", "relevance.npz"),
    *("outcomes.parquet", "contrasts.parquet", "finegrained/metrics.parquet", "finegrained/timing.parquet"),
    *("exhibits/index.md", "exhibits/headline.txt"),
    *(f"systems/{system}/{file}" for system in HAND_CRAFTED for file in ("vectors.npy", "distances.npy", "fit.json")),
    *(f"systems/{system}/{file}" for system in LEARNED for file in ("distances.npy", "fit.json")),
    *(
        f"exhibits/{name}.{suffix}"
        for name in (
            f"{PAPER}/table1",
            f"{PAPER}/table2",
            *(f"finegrained/{it}" for it in ("kinds", "features", "claims")),
        )
        for suffix in ("csv", "md", "tex", "json")
    ),
    *(
        f"exhibits/{name}.{suffix}"
        for name in (
            *(f"{PAPER}/fig{number}" for number in (1, 4, 5, 6, 7)),
            *(f"finegrained/{it}" for it in ("curves", "contrasts", "gallery")),
        )
        for suffix in ("png", "svg", "pdf", "csv", "json")
    ),
]
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt"
)


@pytest.fixture(scope="module")
def studied(changeable: Callable[[str], Project]) -> Project:
    """The project after the tiny fine-grained study; tests must leave its results as they are."""
    return changeable("finegrained")


def table_of(project: Project, name: str) -> pd.DataFrame:
    return pd.read_parquet(project.folder / RESULTS / f"{name}.parquet")


@pytest.mark.parametrize("file", CONTRACT)
def test_every_file_of_the_contract_is_there_and_not_empty(studied: Project, file: str) -> None:
    assert (studied.folder / RESULTS / file).stat().st_size > 0


@needs_torch
def test_every_row_of_both_tables_is_measured(studied: Project) -> None:
    metrics = table_of(studied, "finegrained/metrics")
    assert set(metrics["method"]) == {*HAND_CRAFTED, *LEARNED, *NETWORKS, *ON_NETWORKS}
    precision = metrics[metrics["metric"].eq("similarity_precision") & metrics["subset"].eq("all")]
    assert precision["value"].between(0, 100).all()
    assert (precision["low"] <= precision["value"]).all()
    assert (precision["value"] <= precision["high"]).all()
    for name in ("table1", "table2"):
        text = (studied.folder / RESULTS / f"exhibits/{PAPER}/{name}.md").read_text()
        assert "not run" not in text
        assert "ynthetic" in text


@needs_torch
def test_networks_leave_models_that_embed_and_no_checkpoints(studied: Project) -> None:
    from lookalike.deep.embedding import embed
    from lookalike.deep.model_io import load_network

    for system in NETWORKS:
        folder = studied.folder / RESULTS / "systems" / system
        assert {file.name for file in folder.iterdir()} == {
            *("model.npz", "filters.npz", "vectors.npy", "distances.npy", "curve.parquet", "fit.json"),
        }
    pixels = np.load(studied.folder / RESULTS / "pixels.npy")
    network = load_network(studied.folder / RESULTS / "systems/deep-ranking/model.npz")
    vectors = np.load(studied.folder / RESULTS / "systems/deep-ranking/vectors.npy")
    side, shift = network.configuration.input_size, (pixels.shape[1] - network.configuration.input_size) // 2
    centre = np.ascontiguousarray(pixels[:4, shift : shift + side, shift : shift + side])
    np.testing.assert_allclose(embed(network, centre), vectors[:4], atol=1e-5)


def test_rated_triplets_never_teach(studied: Project) -> None:
    """No image of a rated triplet, nor of its pool, is one that anything learned from."""
    manifest, triplets = table_of(studied, "manifest"), table_of(studied, "triplets")
    training = np.load(studied.folder / RESULTS / "relevance.npz")["image_id"]
    rated = np.unique(triplets[["query", "positive", "negative"]].to_numpy())
    assert len(training)
    assert not set(training) & set(rated)
    assert not set(manifest["sha256"][training]) & set(manifest["sha256"][rated])
    assert not set(training) & set(table_of(studied, "pool")["image_id"])


def test_every_exhibit_says_that_it_is_synthetic(studied: Project) -> None:
    exhibits = studied.folder / RESULTS / "exhibits"
    captions = [yaml.safe_load(file.read_text())["caption"] for file in exhibits.glob("*/*.json")]
    assert len(captions) == 13
    assert all("ynthetic" in caption for caption in captions)


@needs_torch
def test_a_finished_study_does_nothing_again_and_an_edit_reruns_what_it_changes(studied: Project) -> None:
    assert studied.planned(FINEGRAINED) == {}
    edited = {
        "features/hog.py": {"describe_images_demo_triplets": 1, "train_networks_demo_triplets": 0},
        "deep/ranking.py": {"train_networks_demo_triplets": 1, "describe_images_demo_triplets": 0, "read_triplets": 0},
    }
    for module, expected in edited.items():
        file = studied.folder / "src/lookalike" / module
        original = file.read_bytes()
        try:
            file.write_bytes(original + b"\nEDITED = True\n")
            planned = studied.planned(FINEGRAINED)
        finally:
            file.write_bytes(original)
        assert {rule: planned.get(rule, 0) for rule in expected} == expected, module


def test_without_triplets_every_exhibit_reads_not_run(new_project: Callable[[str], Project]) -> None:
    project = new_project("without-triplets")
    project.snakemake("results/triplets/exhibits/index.md")
    table = (project.folder / f"results/triplets/exhibits/{PAPER}/table1.md").read_text()
    assert "put a folder of rated triplets at data/triplets" in table


def release(project: Project) -> Path:
    """Put a small release at the place of the public one."""
    folder = project.folder / "data/triplets"
    spec = SyntheticTriplets(
        n_categories=4, n_held_out=1, images_per_category=12, evaluation_images_per_category=8, n_triplets=30, size=48
    )
    write_images(spec, folder)
    write_ratings(spec, folder)
    return folder


@needs_torch
def test_what_a_release_holds_decides_what_is_learned_from_it(new_project: Callable[[str], Project]) -> None:
    project = new_project("release")
    folder = release(project)
    trained = {"train_networks_triplets", "pretrain_network", "learn_golden", "train_linear_embedding"}
    assert project.planned("triplets")["train_networks_triplets"] == 2 + 6, "two of the tables, six of Figure 6"
    (folder / "training/relevance.csv").unlink()
    assert project.planned("triplets")["train_networks_triplets"] == 2, "no shares to vary where nothing is graded"
    for image in folder.glob("training/*/*.jpg"):
        image.unlink()
    planned = project.planned("triplets")
    assert planned["describe_images_triplets"] == 6
    assert not trained & set(planned)


def planned_without_torch(project: Project, folder: Path) -> dict[str, int]:
    """How often each rule would run on a machine where torch is not found."""
    (folder / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "found = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'torch' else found(name, *rest)\n"
    )
    done = subprocess.run(
        project.command("--dry-run", FINEGRAINED),
        cwd=project.folder,
        env=project.environment() | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout
    return job_counts(done.stdout)


@needs_torch
def test_results_of_networks_stay_where_torch_is_gone(studied: Project, tmp_path: Path) -> None:
    assert planned_without_torch(studied, tmp_path) == {}


def test_without_torch_rows_of_networks_read_not_run(new_project: Callable[[str], Project], tmp_path: Path) -> None:
    project = new_project("no-torch")
    planned = planned_without_torch(project, tmp_path)
    assert planned["learn_golden"] == 1
    assert not [rule for rule in planned if "network" in rule or rule.startswith(("train_", "read_pixels"))]
