"""Plans of Snakemake: the right jobs, few of them, and one sentence where something is wrong."""

import json
import shutil

import pytest
from PIL import Image
from project import ROOT, tiny_settings, write_settings

from lookalike.core.files import read_json

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def project(new_project):
    return new_project("planned")


def with_settings(project, name, settings):
    """Lay settings over those of the tiny run."""
    base = tiny_settings()
    for key, value in settings.items():
        base[key] = {**base.get(key, {}), **value} if isinstance(value, dict) else value
    return write_settings(project, name, base)


def assert_one_sentence(project, config, arguments, *sentences):
    """Snakemake fails with sentences that have these words, and with no traceback."""
    done = project.attempt(*arguments, config=config)
    assert done.returncode != 0
    for words in sentences:
        assert all(word in " ".join(done.stdout.split()) for word in words), done.stdout
    assert "Traceback" not in done.stdout, done.stdout


TARGETS = ["all", "demo", "exhibits", "jmlr2010", "draft2009", "nips2009", "aaai2014", "cvpr2014"]


def test_planning_says_the_plan_and_which_data_are_missing(project):
    planned = project.snakemake("--dry-run", *TARGETS)
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


def test_parameters_are_plain_and_the_same_under_every_hash_seed(project, monkeypatch):
    (project.folder / "recorded.smk").write_text(RECORDED)
    recorded = []
    for seed in "12":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        project.snakemake("--dry-run", "demo", "all", "--snakefile", "recorded.smk", "--workflow-profile", "none")
        recorded.append((project.folder / "params.json").read_text())
    assert recorded[0] == recorded[1]
    assert "no plain" not in recorded[0]
    assert all("code" in params for _, wildcards, params in json.loads(recorded[0]) if wildcards)


def test_the_papers_data_plan_well_under_a_thousand_jobs(project):
    archive = project.folder / "data/caltech256/256_ObjectCategories.tar"
    archive.parent.mkdir(parents=True)
    with archive.open("wb") as stream:
        stream.truncate(1_183_006_720)  # of the right size, and nothing but a hole
    for folder, suffix, n_files in (("oxbuild_images-v1", "jpg", 5_063), ("gt_files_170407", "txt", 220)):
        place = project.folder / "data/oxford5k" / folder
        place.mkdir(parents=True)
        for number in range(n_files):
            (place / f"{number}.{suffix}").touch()
    shutil.copy(ROOT / "examples/caltech256-pool.yaml", project.folder)
    planned = project.planned("caltech256", "oxford5k")
    ablation = project.planned("caltech256-pool", config="caltech256-pool.yaml")
    shutil.rmtree(project.folder / "data")
    fits = 5 * 5 * (11 + 2) + 2 * 5 * 2 + 3 * 5 * 3
    assert planned["run_fold_caltech256"] == fits, "eleven methods, two ablations; minima on 2, twins on 3"
    assert planned["run_method_caltech256"] == 5 * (3 + 2), "Euclidean and both of RCA, and Euclidean's ablations"
    assert planned["trace_fold_caltech256"] == 5 * (3 + 2 + 5), "only what the learning curves show"
    assert ablation["run_fold_caltech256-pool"] == 5 * 3 * 4, "beside the main run, on small subsets"
    assert planned["describe_blocks"] == 16
    assert planned["extract_keypoints"] == 32, "the codebooks share their keypoints"
    assert planned["assign_words"] == 3 * 32
    assert planned["run_fold_oxford5k"] == 3 * 7, "QPAO, by landmark"
    assert planned["run_method_oxford5k"] == 3 * 10, "ten fast methods, all landmarks at once"
    assert sum(planned.values()) < 800


def test_without_data_the_default_target_writes_exhibits_that_say_so(project):
    without_data = [f"results/{dataset}/exhibits/headline.txt" for dataset in ("caltech256", "oxford5k", "triplets")]
    without_data.append("results/caltech256/exhibits/human/deviations.md")
    studies = ("category_caltech256", "human_caltech256", "landmark_oxford5k", "finegrained_triplets")
    drawn = {f"draw_{name}" for name in studies}
    # the web study needs no data: the default target runs it besides
    everything = project.planned()
    assert drawn < set(everything)
    assert everything["train_on_log_websim"] == 2
    assert "scan_images" not in everything
    project.snakemake(*without_data)
    records = [file for data in without_data for file in (project.folder / "logs" / data.split("/")[1]).rglob("*.json")]
    assert {read_json(record)["rule"] for record in records} == drawn
    for table, what in (
        ("caltech256/exhibits/oasis-jmlr-2010/table4", "256_ObjectCategories.tar"),
        ("oxford5k/exhibits/soml-aaai-2014/table3", "oxbuild_images-v1.tgz"),
        ("triplets/exhibits/deep-ranking-cvpr-2014/table1", "a folder of rated triplets at data/triplets"),
    ):
        path = project.folder / "results" / table
        assert read_json(path.with_suffix(".json"))["state"] == "not run"
        assert "not run: put" in path.with_suffix(".md").read_text()
        assert what in path.with_suffix(".md").read_text()


def test_a_part_of_the_archive_is_not_taken_for_the_whole(project):
    folder = project.folder / "data/caltech256/256_ObjectCategories/001.ak47"
    folder.mkdir(parents=True)
    words = ("257", "30,607", "kind: folder")
    assert_one_sentence(project, "tests/workflow/tiny.yaml", ["results/caltech256/manifest.parquet"], words)
    shutil.rmtree(folder.parent)


def test_asking_for_absent_data_is_one_sentence_with_address_size_and_place(project):
    words = ("error:", "https://data.caltech.edu", "1,183,006,720", "md5", "data/caltech256")
    assert_one_sentence(project, "tests/workflow/tiny.yaml", ["caltech256"], words)


STUDY = {"representation": "words500", "methods": ["euclidean"], "subsets": {"a": {"classes": "all"}}}


def test_a_wrong_configuration_is_one_sentence(project):
    config = with_settings(project, "wrong", {"category": {"mine": STUDY}})
    assert_one_sentence(project, config, ["--dry-run", "demo"], ("'mine'", "does not exist"))


def own_folder(project, name, classes):
    """Write a folder of class folders; returns the settings of its study of cats and dogs."""
    for label, n_images in classes.items():
        folder = project.folder / "own" / name / label
        folder.mkdir(parents=True)
        for i in range(n_images):
            Image.effect_noise((256, 192), 40 + i).convert("RGB").save(folder / f"{i}.png")
    splits = {"folds": 2, "train": 4, "test": 2, "validation": 2}
    data = {"kind": "folder", "path": f"own/{name}", "shards": 1, "pool": {"share": 0.5, "keep": 6}}
    subsets = {"some": {"classes": ["cat", "dog"]}}
    return {"datasets": {name: data}, "category": {name: STUDY | {"splits": splits, "subsets": subsets}}}


def test_classes_that_cannot_be_split_are_named(project):
    few, gone = own_folder(project, "few", {"cat": 9, "dog": 3}), own_folder(project, "gone", {})
    config = with_settings(project, "unsplit", {key: few[key] | gone[key] for key in few})
    targets = [f"results/{name}/splits/some.parquet" for name in ("few", "gone")]
    assert_one_sentence(project, config, targets, ("dog", "3"), ("own/gone",))


def test_adding_a_subset_or_an_image_reruns_what_it_must(project):
    settings = own_folder(project, "grown", {"cat": 9, "dog": 9, "emu": 9})
    project.snakemake("results/grown/splits/some.parquet", config=with_settings(project, "grown", settings))
    folder = project.folder / "results/grown"
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    settings["category"]["grown"]["subsets"]["more"] = {"classes": ["emu", "cat"]}
    config = with_settings(project, "grown", settings)
    both = [f"results/grown/splits/{subset}.parquet" for subset in ("some", "more")]
    assert project.planned(*both, config=config) == {"draw_splits": 1}
    project.snakemake(*both, config=config)
    assert all(path.read_bytes() == content for path, content in before.items())
    Image.effect_noise((256, 192), 90).convert("RGB").save(project.folder / "own/grown/cat/new.png")
    assert "scan_images" in project.planned(both[0], config=config)
