"""The category study on the tiny configuration: what it makes, and that it makes nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import yaml
from project import CATEGORY, ROOT, Project

from lookalike.core.files import read_json
from lookalike.core.seeds import integer_seed
from lookalike.data.synthetic import SyntheticCategories
from lookalike.studies.metrics import COLUMNS

pytestmark = pytest.mark.workflow

RUN = "runs/words500/demo10/oasis/0"
CONTRACT = [
    "manifest.parquet",
    "codebook_pool.parquet",
    "descriptors/lbp59-rgb20/palette.npy",
    "descriptors/lbp59-rgb20/blocks-000.npz",
    "features/words500/codebook.npy",
    "features/words500/counts.npz",
    "splits/demo10.parquet",
    *(f"{RUN}/{file}" for file in ("model.npz", "fit.json", "selection.parquet", "metrics.parquet", "ranks.npz")),
    f"{RUN}/curve.parquet",
    "category/metrics.parquet",
    "timing.parquet",
    "comparison.csv",
    "exhibits/index.md",
    "exhibits/headline.txt",
    *(
        f"exhibits/{name}.{suffix}"
        for name in (
            *("oasis-jmlr-2010/table4", "oasis-jmlr-2010/table5", "oasis-2009-draft/table1", "oasis-2009-draft/table2"),
            *("learning/comparison", "learning/claims"),
        )
        for suffix in ("csv", "md", "tex", "json")
    ),
    *(
        f"exhibits/{name}.{suffix}"
        for name in (
            *(f"oasis-jmlr-2010/fig{number}" for number in (5, 6, 7, 8, 9)),
            *(f"oasis-2009-draft/fig{number}" for number in (3, 4, 5)),
            *(f"learning/{name}" for name in ("mcml", "symmetry", "loss_bound")),
        )
        for suffix in ("png", "svg", "pdf", "csv", "json")
    ),
    *(f"exhibits/oasis-jmlr-2010/{name}_compare.csv" for name in ("fig5", "fig6")),
    *(f"exhibits/oasis-jmlr-2010/fig2.{suffix}" for suffix in ("png", "svg", "pdf")),
    *(f"exhibits/representation/{name}.png" for name in ("block_grid", "palette", "visterms")),
]


@pytest.mark.parametrize("file", CONTRACT)
def test_every_file_of_the_contract_is_there_and_not_empty(finished: Project, file: str) -> None:
    assert (finished.folder / "results" / "demo" / file).stat().st_size > 0


def test_counts_have_a_row_for_every_file_and_none_for_unusable_ones(finished: Project) -> None:
    results = finished.folder / "results" / "demo"
    manifest = pd.read_parquet(results / "manifest.parquet")
    counts = sp.load_npz(results / "features/words500/counts.npz")
    n_words = np.diff(counts.indptr)
    assert counts.shape == (len(manifest), 60)
    assert ((n_words > 0) == manifest["status"].isin(["ok", "clutter"])).all()
    assert {"ok", "too_small", "unreadable", "not_an_image", "clutter"} == set(manifest["status"])


@pytest.mark.parametrize(("subset", "n_classes"), [("demo10", 3), ("demo20", 4)])
def test_splits_have_their_sizes_and_no_image_of_the_pool(finished: Project, subset: str, n_classes: int) -> None:
    results = finished.folder / "results" / "demo"
    pool = set(pd.read_parquet(results / "codebook_pool.parquet")["image_id"])
    split = pd.read_parquet(results / "splits" / f"{subset}.parquet")
    assert not pool & set(split["image_id"])
    assert split.groupby(["fold", "role"]).size().to_dict() == {
        (fold, role): n * n_classes for fold in (0, 1) for role, n in (("train", 12), ("test", 8))
    }
    assert split.groupby("fold")["validation"].sum().tolist() == [4 * n_classes] * 2


def test_images_are_those_of_the_data_sets_own_stream(finished: Project) -> None:
    (folder,) = (finished.folder / "results/demo/images").iterdir()
    settings = {"classes": 4, "images_per_class": 26, "clutter_images": 6, "width": 256, "height": 192}
    spec = SyntheticCategories.from_settings(settings | {"difficulty": 0.3}, integer_seed(2010, "datasets", "demo"))
    assert folder.name == spec.fingerprint()
    assert sorted(path.name for path in folder.iterdir()) == sorted(spec.folder_names())


def test_metrics_are_fractions_for_every_run(finished: Project) -> None:
    metrics = pd.read_parquet(finished.folder / "results" / "demo" / "category" / "metrics.parquet")
    assert tuple(metrics.columns) == COLUMNS
    metrics = metrics[metrics["metric"].isin(["map", "train_map", "p@k"])]
    assert metrics["value"].between(0, 1).all()
    runs = metrics.groupby(["subset", "method", "fold"]).size()
    assert len(runs) == 2 * 8 * 2, "five methods and three variants; what did not end in time has no metrics"


def test_synthetic_numbers_say_so_and_are_compared_with_nothing(finished: Project) -> None:
    exhibits = finished.folder / "results" / "demo" / "exhibits"
    for sidecar in exhibits.glob("oasis-*/*.json"):
        assert "synthetic" in json.loads(sidecar.read_text())["caption"].lower(), sidecar
    for comparison in exhibits.glob("oasis-*/*_compare.csv"):
        assert not pd.read_csv(comparison)["status"].isin(["agrees", "higher", "lower"]).any(), comparison


def test_what_does_not_end_in_time_has_the_papers_star_and_a_reason(finished: Project) -> None:
    results = finished.folder / "results" / "demo"
    fits = pd.read_parquet(results / "timing.parquet")
    assert fits.loc[fits["method"] == "lmnn-naive", "not_converged"].str.contains("of processor time").all()
    assert (fits.loc[fits["method"] != "lmnn-naive", "not_converged"] == "").all()
    table = (results / "exhibits/oasis-jmlr-2010/table5.md").read_text()
    row = next(line for line in table.splitlines() if "ours" in line)
    assert "*" in row
    assert any(
        "processor time" in note for note in read_json(results / "exhibits/oasis-jmlr-2010/table5.json")["notes"]
    )


def test_a_finished_workflow_does_nothing_again(finished: Project) -> None:
    assert finished.planned(CATEGORY) == {}


def test_a_deleted_figure_redraws_its_study(finished: Project) -> None:
    figure = finished.folder / "results/demo/exhibits/oasis-jmlr-2010/fig6.png"
    before = figure.read_bytes()
    figure.unlink()
    planned = finished.planned(CATEGORY)
    assert set(planned) == {"draw_category_demo", "index_exhibits", CATEGORY}
    finished.snakemake(CATEGORY)
    assert figure.read_bytes() == before
    assert finished.planned(CATEGORY) == {}


def test_an_edited_kernel_reruns_what_it_changes(finished: Project) -> None:
    planned = planned_after_an_edit(finished, "oasis.py")
    assert planned["run_fold_demo"] == 4
    assert planned["trace_fold_demo"] == 4
    for subset in ("demo10", "demo20"):
        assert planned[f"run_subset_words500_{subset}_demo"] == 1, "the variants are in it"
    assert not {"run_method_demo", "trace_method_demo"} & set(planned), "MCML has a batch of its own"
    assert planned["train_rankers_demo"] == 1
    assert planned["bound_mistakes"] == 1
    assert not {"describe_blocks", "learn_codebook", "scan_images", "draw_splits"} & set(planned)
    planned = planned_after_an_edit(finished, "lego.py")
    assert planned["run_subset_words500_demo10_demo"] == 1, "LEGO is in it"
    assert not {"run_fold_demo", "trace_fold_demo", "run_method_demo", "train_rankers_demo"} & set(planned)


def planned_after_an_edit(project: Project, kernels: str) -> dict[str, int]:
    """What would run if a learner's kernels were edited."""
    file = project.folder / "src/lookalike/learners" / kernels
    original, times = file.read_bytes(), file.stat()
    try:
        file.write_bytes(original + b"\nEDITED = True\n")
        return project.planned(CATEGORY)
    finally:
        file.write_bytes(original)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


OTHER_BATCHES = {"oasis": "subset", "euclidean": "method", "lego": "method", "mcml": "fold", "lmnn": "fold"}


def test_killed_runs_one_core_and_batches_of_another_size_end_in_the_same_bytes(
    finished: Project, new_project: Callable[[str], Project]
) -> None:
    """Every method is in a batch of another size than in the tiny run; together they are in those of all three."""
    project = new_project("killed")
    settings = yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text())
    settings["category"]["demo"]["batch"] = "fold"
    for method, size in OTHER_BATCHES.items():
        settings["category"]["demo"]["overrides"].setdefault(method, {})["batch"] = size
    (project.folder / "batches.yaml").write_text(yaml.safe_dump(settings))
    every = [f"runs/words500/{subset}" for subset in ("demo10", "demo20")]
    names = (
        *(
            f"{run}/{method}/{fold}/metrics.parquet"
            for run in every
            for method in ("euclidean", "oasis")
            for fold in (0, 1)
        ),
        *(f"{run}/oasis/{fold}/curve.parquet" for run in every for fold in (0, 1)),
        *(f"runs/words500/demo10/{method}/1/metrics.parquet" for method in ("mcml", "lego", "lmnn", "oasis-dissim")),
        "rankers/words500/demo20/curves.parquet",
        "bounds/words500/demo10.parquet",
    )
    numbers = [f"results/demo/{name}" for name in names]
    for n_started in (3, 12):
        running = subprocess.Popen(
            project.command(*numbers, cores=1, config="batches.yaml"),
            cwd=project.folder,
            env=project.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for_jobs(project.folder, running, n_started)
        kill_group(running)
        assert not all((project.folder / number).exists() for number in numbers)
        project.snakemake("--unlock", config="batches.yaml")
    project.snakemake(*numbers, cores=1, config="batches.yaml")
    for file in ("manifest.parquet", "features/words500/counts.npz", *names):
        assert (project.folder / "results/demo" / file).read_bytes() == (
            finished.folder / "results/demo" / file
        ).read_bytes(), file


def wait_for_jobs(folder: Path, running: subprocess.Popen[bytes], n: int) -> None:
    """Wait until at least `n` jobs have opened their logs."""
    deadline = time.monotonic() + 240
    while len(list((folder / "logs").rglob("*.log"))) < n:
        assert running.poll() is None, "the workflow ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.05)


def kill_group(running: subprocess.Popen[bytes]) -> None:
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
