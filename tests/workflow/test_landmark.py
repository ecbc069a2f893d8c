"""The landmark study on the tiny configuration: what it makes, that it makes nothing twice, and what stops it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import yaml
from project import LANDMARK, ROOT, Project

pytestmark = pytest.mark.workflow

METHODS = ("tfidf", "oasis-diagonal", "soml-tg", "soml-da")  # QPAO gets no time to end
CODEBOOKS = ("sift-demo-1k", "sift-demo-10k")
CONTRACT = [
    *(f"{table}.parquet" for table in ("manifest", "queries", "relevance", "learning_images", "dimensions")),
    *(f"landmark/{table}.parquet" for table in ("metrics", "timing")),
    "keypoints/sift/keypoints-000.npz",
    *(f"features/{codebook}/{file}" for codebook in CODEBOOKS for file in ("codebook.npy", "words-001.npz")),
    *(f"features/{codebook}/{file}" for codebook in CODEBOOKS for file in ("counts.npz", "query_counts.npz")),
    "exhibits/index.md",
    "exhibits/headline.txt",
    *(
        f"exhibits/{name}.{suffix}"
        for name in (
            *(f"soml-aaai-2014/table{number}" for number in (1, 2, 4, 5, 7, 8)),
            *("landmark/query_region", "landmark/literal", "landmark/claims"),
        )
        for suffix in ("csv", "md", "tex", "json")
    ),
    *(
        f"exhibits/landmark/{name}.{suffix}"
        for name in ("time", "sparsity", "montage")
        for suffix in ("png", "svg", "pdf", "csv", "json")
    ),
]


@pytest.fixture(scope="module")
def studied(changeable: Callable[[str], Project]) -> Project:
    """The project after the tiny landmark study; tests must leave its results as they are."""
    return changeable("landmarks")


def table_of(project: Project, name: str) -> pd.DataFrame:
    return pd.read_parquet(project.folder / f"results/demo_landmarks/{name}.parquet")


@pytest.mark.parametrize("file", CONTRACT)
def test_every_file_of_the_contract_is_there_and_not_empty(studied: Project, file: str) -> None:
    assert (studied.folder / "results/demo_landmarks" / file).stat().st_size > 0


def test_counts_have_a_row_for_every_file_and_query_counts_one_for_every_query(studied: Project) -> None:
    features = studied.folder / "results/demo_landmarks/features/sift-demo-10k"
    counts, inside = (sp.load_npz(features / name) for name in ("counts.npz", "query_counts.npz"))
    manifest, queries = table_of(studied, "manifest"), table_of(studied, "queries")
    assert counts.shape == (len(manifest), 400)
    assert inside.shape == (len(queries), 400) == (10, 400)
    whole = counts[queries["image_id"].to_numpy()]
    assert (whole - inside).min() >= 0, "a rectangle holds no more than its image"
    assert 0 < inside.sum() < whole.sum()


def test_metrics_are_fractions_for_every_method_codebook_landmark_and_draw(studied: Project) -> None:
    metrics = table_of(studied, "landmark/metrics")
    assert metrics["value"].between(0, 1).all()
    assert set(metrics.loc[metrics["x"].notna(), "metric"]) == {"sweep_map", "sweep_sparsity"}
    own = metrics[(metrics["metric"] == "map") & metrics["method"].isin(METHODS)]
    assert len(own) == len(METHODS) * len(CODEBOOKS) * 2 * 2
    assert "qpao" not in set(metrics["method"])
    sparsity = metrics[metrics["metric"] == "sparsity"].groupby("method")["value"].mean()
    assert sparsity["oasis-diagonal"] == 0 < sparsity["soml-da"]
    chance = 0.2
    assert own.groupby("method")["value"].mean().min() > chance, "no better than chance"


def test_what_does_not_end_in_time_has_the_papers_star_and_a_reason(studied: Project) -> None:
    table = (studied.folder / "results/demo_landmarks/exhibits/soml-aaai-2014/table1.md").read_text()
    assert " * |" in table
    notes = json.loads((studied.folder / "results/demo_landmarks/exhibits/soml-aaai-2014/table1.json").read_text())[
        "notes"
    ]
    assert any("processor time" in note for note in notes)
    fits = table_of(studied, "landmark/timing").set_index("method")
    assert fits.loc["qpao", "not_converged"].str.contains("processor time").all()
    assert (fits.loc["soml-tg", "not_converged"] == "").all()


def test_synthetic_numbers_say_so_and_are_compared_with_nothing(studied: Project) -> None:
    exhibits = studied.folder / "results/demo_landmarks/exhibits"
    for table in ("table1", "table5", "table8"):
        assert "ynthetic" in (exhibits / f"soml-aaai-2014/{table}.md").read_text()
    compared = pd.read_csv(exhibits / "soml-aaai-2014/table1.csv")
    assert compared["printed"].isna().all()


def test_a_finished_study_does_nothing_again_and_a_deleted_figure_is_redrawn(studied: Project) -> None:
    assert studied.planned(LANDMARK) == {}
    figure = studied.folder / "results/demo_landmarks/exhibits/landmark/sparsity.png"
    before = figure.read_bytes()
    figure.unlink()
    assert set(studied.planned(LANDMARK)) == {"draw_landmark_demo_landmarks", "index_exhibits", LANDMARK}
    studied.snakemake(LANDMARK)
    assert figure.read_bytes() == before


def test_an_edited_learner_reruns_what_it_changes(studied: Project) -> None:
    learner = studied.folder / "src/lookalike/learners/soml.py"
    original = learner.read_bytes()
    try:
        learner.write_bytes(original + b"\nEDITED = True\n")
        planned = studied.planned(LANDMARK)
    finally:
        learner.write_bytes(original)
    assert planned["run_subset_demo_landmarks"] == len(CODEBOOKS), "soml-da and its variant as printed are in it"
    assert planned["run_method_demo_landmarks"] == len(CODEBOOKS), "soml-tg has a batch of its own"
    assert planned["sweep_lambdas"] == planned["time_dimensions"] == 1
    assert not {"extract_keypoints", "train_words", "run_fold_demo_landmarks"} & set(planned)


def test_batches_of_other_sizes_write_the_same_bytes(changeable: Callable[[str], Project]) -> None:
    project = changeable("landmark-batches")
    sizes = {"soml-da": "method", "tfidf": "fold", "soml-tg": "subset"}  # in the tiny run: subset, subset and method
    settings = yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text())
    study = settings["landmark"]["demo_landmarks"] | {"batch": "method", "methods": list(sizes), "variants": []}
    study["overrides"] = {method: {"batch": size} for method, size in sizes.items()}
    settings["landmark"]["demo_landmarks"] = study
    (project.folder / "batches.yaml").write_text(yaml.safe_dump(settings))
    runs = project.folder / "results/demo_landmarks/runs/sift-demo-1k"
    before = {file.relative_to(runs): file.read_bytes() for file in runs.rglob("*.*") if file.name != "fit.json"}
    before = {file: content for file, content in before.items() if file.parts[1] in sizes}
    shutil.rmtree(runs)
    project.snakemake(*(f"{(runs / file).relative_to(project.folder)}" for file in before), config="batches.yaml")
    assert len(before) == len(sizes) * 2 * 2 * 4
    for file, content in before.items():
        assert (runs / file).read_bytes() == content, file


def test_a_users_own_images_run_through_the_same_rules(studied: Project) -> None:
    """Images and ground truth of the synthetic set, as a user would give them: the same numbers come of them."""
    drawn = studied.folder / "results/demo_landmarks"
    located = yaml.safe_load((drawn / "images.json").read_text())
    for name, part in (("photographs", "root"), ("ground_truth", "ground_truth")):
        shutil.copytree(studied.folder / located[part], studied.folder / "own" / name)
    data = {"kind": "landmarks", "path": "own/photographs", "ground_truth": "own/ground_truth", "shards": 2}
    base = yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text())
    base["datasets"]["own"] = data
    base["landmark"]["own"] = {
        "codebooks": ["sift-demo-1k"],
        "methods": ["tfidf", "qpao", "soml-da"],
        "overrides": {"qpao": {"batch": "method", "parameters": {"n_blocks": 2}}},
        "learning": {"positives": 4, "negatives": 12, "draws": 2},
    }
    (studied.folder / "own.yaml").write_text(yaml.safe_dump(base))
    studied.snakemake("results/own/landmark/metrics.parquet", config="own.yaml")
    features = "features/sift-demo-1k/counts.npz"
    ours, theirs = (
        sp.load_npz(studied.folder / "results" / data_set / features) for data_set in ("own", "demo_landmarks")
    )
    assert np.array_equal(ours.sum(axis=1), theirs.sum(axis=1)), "the same keypoints in every image"
    metrics = pd.read_parquet(studied.folder / "results/own/landmark/metrics.parquet")
    assert set(metrics["method"]) == {"tfidf", "qpao", "soml-da"}
    (studied.folder / "own/ground_truth" / "broken_1_query.txt").write_text("oxc1_nothing 1 2 three 4\n")
    done = studied.attempt("results/own/landmark/metrics.parquet", config="own.yaml")
    assert done.returncode != 0
    assert "broken_1" in done.stdout
    assert "Traceback" not in done.stdout


def test_the_papers_study_plans_well_under_a_thousand_jobs(studied: Project) -> None:
    for folder, suffix, n_files in (("oxbuild_images-v1", "jpg", 5_063), ("gt_files_170407", "txt", 220)):
        place = studied.folder / "data/oxford5k" / folder
        place.mkdir(parents=True)
        for number in range(n_files):
            (place / f"{number}.{suffix}").touch()
    planned = studied.planned("oxford5k")
    assert planned["extract_keypoints"] == 32, "the codebooks share their keypoints"
    assert planned["assign_words"] == 3 * 32
    assert planned["run_fold_oxford5k"] == 3 * 7, "QPAO, by landmark"
    assert planned["run_method_oxford5k"] == 3 * 7, "seven fast methods, all landmarks at once"
    assert sum(planned.values()) < 250
