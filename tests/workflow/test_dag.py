"""What Snakemake plans: the right jobs, few of them, and one sentence where something is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml
from PIL import Image
from project import ROOT, Project

from lookalike.core.files import read_json

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def project(new_project: Callable[[str], Project]) -> Project:
    return new_project("planned")


def overlay(project: Project, name: str, settings: dict[str, object]) -> str:
    base = yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text())
    for key, value in settings.items():
        base.setdefault(key, {}).update(value) if isinstance(value, dict) else base.__setitem__(key, value)
    (project.folder / f"{name}.yaml").write_text(yaml.safe_dump(base))
    return f"{name}.yaml"


def said_in_one_sentence(output: str, *words: str) -> None:
    lines = [line for line in output.splitlines() if all(word in line for word in words)]
    assert lines, output
    assert "Traceback" not in output, output


TARGETS = ["all", "demo", "exhibits", "jmlr2010", "draft2009", "nips2009", "aaai2014", "cvpr2014"]


@pytest.mark.parametrize("target", TARGETS)
def test_planning_says_the_plan_and_which_data_are_missing(project: Project, target: str) -> None:
    planned = project.snakemake("--dry-run", target)
    assert "Traceback" not in planned
    assert "Exception" not in planned
    lines = planned.splitlines()
    said = lines[lines.index("Building DAG of jobs...") + 1 : lines.index("Job stats:")]
    missing = [line.partition(": not run: put ")[0] for line in said]
    assert set(missing) <= {"caltech256", "oxford5k", "triplets"}, said
    assert len(set(missing)) == len(missing), said


RECORDED = """
include: "Snakefile"
import atexit, json
def say():
    jobs = [(job.rule.name, dict(job.wildcards.items()), dict(job.params.items())) for job in workflow.dag.jobs]
    Path("params.json").write_text(json.dumps(sorted(jobs, key=repr), default=lambda value: f"no plain {type(value)}"))
atexit.register(say)
"""


def test_parameters_are_plain_and_the_same_under_every_hash_seed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.folder / "recorded.smk").write_text(RECORDED)
    recorded = []
    for seed in "12":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        project.snakemake("--dry-run", "demo", "all", "--snakefile", "recorded.smk", "--workflow-profile", "none")
        recorded.append((project.folder / "params.json").read_text())
    assert recorded[0] == recorded[1]
    assert "no plain" not in recorded[0]
    assert all("code" in params for _, wildcards, params in json.loads(recorded[0]) if wildcards)


def test_the_papers_data_plan_well_under_a_thousand_jobs(project: Project) -> None:
    archive = project.folder / "data/caltech256/256_ObjectCategories.tar"
    archive.parent.mkdir(parents=True)
    with archive.open("wb") as stream:
        stream.truncate(1_183_006_720)  # of the right size, and nothing but a hole
    planned = project.planned("caltech256")
    assert planned["run_fold_caltech256"] == 5 * 5 * (8 + 1), "five subsets, five folds, eight methods and an ablation"
    assert planned["run_method_caltech256"] == 5 * (1 + 1), "Euclidean, and its ablation"
    assert planned["trace_fold_caltech256"] == 5 * (2 + 2 + 3), "only what the learning curves show"
    assert planned["train_rankers_caltech256"] == 10
    assert planned["describe_blocks"] == 16
    assert sum(planned.values()) < 450
    archive.unlink()


def test_without_data_the_default_target_writes_exhibits_that_say_so(project: Project) -> None:
    without_data = ("results/caltech256/exhibits/index.md", "results/oxford5k/exhibits/index.md")
    planned = {"draw_category_caltech256", "draw_human_caltech256", "draw_landmark_oxford5k", "index_exhibits"}
    assert set(project.planned(*without_data)) == planned
    # the web study needs no data: the default target runs it besides
    everything = project.planned()
    assert planned < set(everything)
    assert everything["train_on_log"] == 1
    assert "scan_images" not in everything
    said = project.snakemake(*without_data)
    assert "caltech256: not run: put" in said
    assert "oxford5k: not run: put" in said
    table = (project.folder / "results/caltech256/exhibits/oasis-jmlr-2010/table4.md").read_text()
    assert "not run: put" in table
    assert "256_ObjectCategories.tar" in table
    sidecar = read_json(project.folder / "results/caltech256/exhibits/oasis-jmlr-2010/table4.json")
    assert sidecar["state"] == "not run"
    landmarks = project.folder / "results/oxford5k/exhibits"
    table = (landmarks / "soml-aaai-2014/table3.md").read_text()
    assert "not run: put" in table
    assert "oxbuild_images-v1.tgz" in table
    assert "not run: put" in (landmarks / "landmark/montage.json").read_text()


def test_a_data_sets_own_target_fails_where_it_cannot_be_run(project: Project) -> None:
    done = project.attempt("caltech256")
    assert done.returncode != 0
    said_in_one_sentence(done.stdout, "error:", "https://data.caltech.edu", "data/caltech256")


def test_a_part_of_the_archive_is_not_taken_for_the_whole(project: Project) -> None:
    folder = project.folder / "data/caltech256/256_ObjectCategories/001.ak47"
    folder.mkdir(parents=True)
    done = project.attempt("results/caltech256/manifest.parquet")
    shutil.rmtree(folder.parent)
    assert done.returncode != 0
    said_in_one_sentence(done.stdout, "257", "30,607", "kind: folder")


def test_asking_for_absent_data_is_one_sentence_with_address_size_and_place(project: Project) -> None:
    done = project.attempt("results/caltech256/manifest.parquet")
    assert done.returncode != 0
    said_in_one_sentence(done.stdout, "data.caltech.edu", "1,183,006,720", "md5", "data/caltech256")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"colour": 1}, ("unknown key 'colour'", "category")),
        ({"seed": "1e-05"}, ("seed", "not a number")),
        ({"datasets": {"mine": {"kind": "folder", "path": "x", "shard": 3}}}, ("unknown key 'shard'", "shards")),
        (
            {
                "category": {
                    "mine": {
                        "representation": "words1000",
                        "methods": ["euclidean"],
                        "subsets": {"a": {"classes": "all"}},
                    }
                }
            },
            ("'mine'", "does not exist"),
        ),
    ],
)
def test_a_wrong_configuration_is_one_sentence(
    project: Project, settings: dict[str, object], words: tuple[str, ...]
) -> None:
    done = project.attempt("--dry-run", "demo", config=overlay(project, "wrong", settings))
    assert done.returncode != 0
    said_in_one_sentence(done.stdout, *words)


def own_folder(project: Project, name: str, classes: dict[str, int]) -> dict[str, object]:
    for label, n_images in classes.items():
        folder = project.folder / "own" / name / label
        folder.mkdir(parents=True)
        for i in range(n_images):
            Image.effect_noise((256, 192), 40 + i).convert("RGB").save(folder / f"{i}.png")
    study = {
        "representation": "words500",
        "methods": ["euclidean"],
        "splits": {"folds": 2, "train": 4, "test": 2, "validation": 2},
    }
    data = {"kind": "folder", "path": f"own/{name}", "shards": 1, "pool": {"share": 0.5, "keep": 6}}
    return {"datasets": {name: data}, "category": {name: study | {"subsets": {"some": {"classes": ["cat", "dog"]}}}}}


def test_an_unknown_class_lists_what_exists(project: Project) -> None:
    config = overlay(project, "unknown", own_folder(project, "unknown", {"cat": 9, "dogs": 9}))
    done = project.attempt("results/unknown/splits/some.parquet", config=config)
    assert done.returncode != 0
    said_in_one_sentence(done.stdout, "dog", "dogs", "cat")


def test_a_class_with_too_few_images_is_named_with_its_count(project: Project) -> None:
    config = overlay(project, "few", own_folder(project, "few", {"cat": 9, "dog": 3}))
    done = project.attempt("results/few/splits/some.parquet", config=config)
    assert done.returncode != 0
    said_in_one_sentence(done.stdout, "dog", "3")


def test_adding_a_subset_or_an_image_reruns_what_it_must(project: Project) -> None:
    settings = own_folder(project, "grown", {"cat": 9, "dog": 9, "emu": 9})
    config = overlay(project, "grown", settings)
    project.snakemake("results/grown/splits/some.parquet", config=config)
    folder = project.folder / "results/grown"
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    settings["category"]["grown"]["subsets"]["more"] = {"classes": ["emu", "cat"]}
    config = overlay(project, "grown", settings)
    planned = project.planned("results/grown/splits/some.parquet", "results/grown/splits/more.parquet", config=config)
    assert planned == {"draw_splits": 1}
    project.snakemake("results/grown/splits/more.parquet", config=config)
    assert all(path.read_bytes() == content for path, content in before.items())

    Image.effect_noise((256, 192), 90).convert("RGB").save(project.folder / "own/grown/cat/new.png")
    assert "scan_images" in project.planned("results/grown/splits/some.parquet", config=config)


def test_real_photographs_run_through_the_same_rules(project: Project, real_images: Path) -> None:
    for label in ("003.backpack", "178.school-bus", "251.airplanes-101"):
        folder = project.folder / "own" / "photographs" / label
        folder.mkdir(parents=True)
        for image in sorted((real_images / label).glob("*.jpg"))[:18]:
            shutil.copy(image, folder)
    (project.folder / "own/photographs/003.backpack/broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut short")
    (project.folder / "own/photographs/empty").mkdir()
    study = {
        "representation": "words500",
        "methods": ["euclidean"],
        "splits": {"folds": 2, "train": 8, "test": 5, "validation": 2},
        "subsets": {"three": {"classes": ["backpack", "school-bus", "airplanes-101"]}},
    }
    data = {"kind": "folder", "path": "own/photographs", "shards": 2, "pool": {"share": 0.3, "keep": 13}}
    config = overlay(project, "photographs", {"datasets": {"photographs": data}, "category": {"photographs": study}})
    project.snakemake("results/photographs/category/metrics.parquet", config=config)
    manifest = pd.read_parquet(project.folder / "results/photographs/manifest.parquet")
    assert manifest["status"].value_counts().to_dict() == {"ok": 54, "unreadable": 1, "not_an_image": 1}
    metrics = pd.read_parquet(project.folder / "results/photographs/category/metrics.parquet")
    assert metrics.loc[metrics["metric"] == "map", "value"].between(0.34, 0.95).all(), "no better than chance"


def test_an_empty_class_is_named(project: Project) -> None:
    config = overlay(project, "hollow", own_folder(project, "hollow", {"cat": 9, "dog": 0}))
    done = project.attempt("results/hollow/splits/some.parquet", config=config)
    assert done.returncode != 0
    said_in_one_sentence(done.stdout, "dog", "no usable image")


def test_a_missing_folder_of_own_images_is_named(project: Project) -> None:
    settings = own_folder(project, "gone", {"cat": 9, "dog": 9})
    settings["datasets"]["gone"]["path"] = "nowhere/at/all"
    config = overlay(project, "gone", settings)
    for target in ("gone", "results/gone/manifest.parquet"):
        done = project.attempt(target, config=config)
        assert done.returncode != 0
        said_in_one_sentence(done.stdout, "nowhere/at/all")


def test_rule_files_open_with_what_they_need_and_make() -> None:
    files = sorted((ROOT / "workflow/rules").glob("*.smk"))
    assert len(files) >= 5
    for file in files:
        text = Path(file).read_text()
        assert text.startswith('"""'), file
        if file.name != "common.smk" and not file.name.endswith("inputs.smk"):
            assert "Needs:" in text.split('"""')[1], file
            assert "akes" in text.split('"""')[1], file
