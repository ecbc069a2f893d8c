"""Plans of Snakemake: the right jobs, few of them, and one sentence where something is wrong."""

import json
import re
import shutil
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
import yaml
from made_place import paint
from project import FINEGRAINED, ROOT, tiny_settings, write_settings
from snakemake.utils import update_config

from lookalike.core.files import read_json

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def project(new_project):
    return new_project("planned")


def with_settings(project, name, settings):
    """Lay settings over those of the tiny run."""
    base = tiny_settings()
    update_config(base, settings)
    return write_settings(project, name, base)


TARGETS = ["all", "demo", "exhibits", "jmlr2010", "draft2009", "nips2009", "aaai2014", "cvpr2014"]


def said_before(planned):
    """Return the lines that are said before the table of jobs."""
    lines = planned.splitlines()
    return lines[lines.index("Building DAG of jobs...") + 1 : lines.index("Job stats:")]


def test_planning_says_in_a_line_each_what_is_run_in_how_long_and_what_is_not(project):
    planned = project.snakemake("--dry-run", *TARGETS)
    assert not [word for word in ("Traceback", "Exception") if word in planned]
    lines = dict(line.split(": ", 1) for line in said_before(planned))
    assert len(lines) == len(said_before(planned)), "a line a data set"
    shipped = [dataset for dataset, line in lines.items() if line.startswith("first, from counts that come with")]
    assert list(lines) == [*shipped, "caltech256", "oxford5k", "triplets", "websim"]
    for dataset, line in {
        "caltech20": " min on 2 cores$",
        "caltech256": "^not run: put 256_ObjectCategories.tar .1.2 GB. from https://data.caltech.edu.*; at least ",
        "oxford5k": "oxbuild_images-v1.tgz .2.0 GB. from https://www.robots.ox.ac.uk.*; about ",
        "triplets": "^not run: put a folder of rated triplets",
        "websim": "^not run: a target of its own",
    }.items():
        assert re.search(line, lines[dataset]), lines[dataset]


RECORDED = """
include: "Snakefile"
import atexit, json
def say():
    jobs = [
        (job.rule.name, dict(job.wildcards.items()), dict(job.params.items()), workflow.dag.priority(job))
        for job in workflow.dag.needrun_jobs(exclude_finished=False)
    ]
    Path("params.json").write_text(json.dumps(sorted(jobs, key=repr), default=lambda value: f"no plain {type(value)}"))
atexit.register(say)
"""


def recorded_jobs(project, *targets, config="tests/workflow/tiny.yaml"):
    """Return rule, wildcards, parameters and priority of every planned job, and the lines that are said."""
    (project.folder / "recorded.smk").write_text(RECORDED)
    how = ("--snakefile", "recorded.smk", "--workflow-profile", "none")
    said = said_before(project.snakemake("--dry-run", *targets, *how, config=config))
    return json.loads((project.folder / "params.json").read_text()), said


def empty_files(folder, n, suffix="jpg"):
    folder.mkdir(parents=True)
    for number in range(n):
        (folder / f"{number}.{suffix}").touch()


def test_what_comes_with_the_project_is_made_before_archives_and_no_log_is_simulated(project):
    config = Path(shutil.copy(ROOT / "examples/caltech256-subset.yaml", project.folder)).name
    counts = pd.read_csv(ROOT / "workflow/resources/caltech256-class-counts.csv").set_index("folder")["images"]
    for label in yaml.safe_load((project.folder / config).read_text())["datasets"]["some-classes"]["classes"]:
        empty_files(project.folder / "data/caltech256/256_ObjectCategories" / label, counts[label])
    jobs, said = recorded_jobs(project, "all", config=config)
    shutil.rmtree(project.folder / "data")
    assert [line for line in said if line.startswith("some-classes: then, from data/caltech256")]
    assert not {"simulate_web", "train_on_log_websim"} & {rule for rule, *_ in jobs}
    priorities = {}
    for rule, wildcards, _, priority in jobs:
        dataset = wildcards.get("dataset") or rule.rpartition("_")[2]
        priorities.setdefault(dataset, set()).add(priority)
    assert min(priorities["caltech20"]) > max(priorities["some-classes"])
    assert "describe_blocks" in {rule for rule, wildcards, *_ in jobs if wildcards.get("dataset") == "some-classes"}


def test_an_exhibit_of_a_paper_plans_its_own_jobs_alone(project):
    asked = {
        "jmlr-table4": {"oasis", "mcml", "lego", "lmnn", "euclidean", "oasis-equal", "mcml-equal"},
        "jmlr-fig8": {"oasis", "oasis-proj", "oasis-online-proj", "oasis-dissim", "oasis-psd"},
    }
    for target, fitted in asked.items():
        planned, _ = recorded_jobs(project, target)
        jobs = {rule: params for rule, _, params, _ in planned}
        fits, draws = "run_subset_words1000_ten_caltech20", "make_exhibits_of_category_caltech20"
        own = {"read_visterms_caltech20", "split_images", fits, "gather_category_results", draws, target}
        # tables of a paper have more sets of classes
        assert {rule.replace("twenty", "ten").replace("five", "ten") for rule in jobs} == own
        assert target != "jmlr-fig8" or len(planned) == len(own)
        assert jobs[fits]["settings"]["specs"].keys() == fitted
        assert len(jobs[draws]["exhibits"]) == 1
    # of three studies, each its own part of one plan
    jobs, _ = recorded_jobs(project, "jmlr-fig7", "cvpr-fig1", "jmlr-fig3a")
    rules = [rule for rule, *_ in jobs]
    assert (rules.count("run_side_study"), "time_size_websim_demo" in rules) == (1, False)
    own = {rule for rule, wildcards, *_ in jobs if FINEGRAINED in (wildcards.get("dataset"), rule[-len(FINEGRAINED) :])}
    assert own == {"paint_images", "read_triplets", "make_exhibits_of_finegrained_demo_triplets"}


def test_an_exhibit_drawn_alone_is_that_of_the_whole_run_which_has_nothing_to_add(project, finished):
    said = project.snakemake("jmlr-fig3a", "draft-table3")
    drawn = ("oasis-2009-draft/table3", "oasis-jmlr-2010/fig3a")
    files = [f"results/websim_demo/exhibits/{id}.*" for id in drawn]
    assert sorted(said.splitlines()[-1].removeprefix("Tables and figures: ").split(", ")) == files
    exhibits = project.folder / "results/websim_demo/exhibits"
    alone = sorted(path.relative_to(project.folder) for path in exhibits.rglob("*.csv"))
    assert [path.name for path in alone] == ["table3.csv", "fig3a.csv"]
    for path in alone:
        assert (project.folder / path).read_bytes() == (finished.folder / path).read_bytes()
    assert finished.planned("jmlr-fig3a", "draft-table3") == {}


def test_parameters_are_plain_and_the_same_under_every_hash_seed(project, monkeypatch):
    recorded = []
    for seed in "12":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        recorded.append(recorded_jobs(project, "demo", "all")[0])
    assert recorded[0] == recorded[1]
    assert "no plain" not in str(recorded[0])
    assert all("code" in params for _, wildcards, params, _ in recorded[0] if wildcards)


def test_the_papers_data_plan_well_under_a_thousand_jobs(project):
    archive = project.folder / "data/caltech256/256_ObjectCategories.tar"
    archive.parent.mkdir(parents=True)
    with archive.open("wb") as stream:
        stream.truncate(1_183_006_720)  # of the right size, and nothing but a hole
    for folder, suffix, n_files in (("oxbuild_images-v1", "jpg", 5_063), ("gt_files_170407", "txt", 220)):
        empty_files(project.folder / "data/oxford5k" / folder, n_files, suffix)
    planned = project.planned("caltech256", "oxford5k")
    shutil.rmtree(project.folder / "data")
    expected = {
        "run_fold_caltech256": 5 * 5 * 10 + 2 * 5 * 3 + 3 * 5 * 3,  # ten methods; minima and equal settings on 3
        "run_method_caltech256": 5 * (3 + 1),  # Euclidean, both of RCA, and Euclidean of 10,000 words
        "trace_fold_caltech256": 5 * (3 + 2 + 5),  # only what the learning curves show
        "run_side_study": 1 + 3 + 2,  # averages, new classes and few images, on the classes of their exhibits
        "describe_blocks": 16,
        "extract_keypoints": 32,  # the codebooks share their keypoints
        "assign_words": 3 * 32,
        "run_fold_oxford5k": 3 * 7,  # QPAO, by landmark
        "run_method_oxford5k": 3 * 4,  # four fast methods, all landmarks at once
        "measure_lead": 3,
    }
    assert {rule: planned[rule] for rule in expected} == expected
    assert sum(planned.values()) < 800


def test_without_data_the_default_target_writes_exhibits_that_say_so(project):
    without_data = [f"results/{dataset}/exhibits/headline.txt" for dataset in ("caltech256", "oxford5k", "triplets")]
    without_data.append("results/caltech256/exhibits/oasis-jmlr-2010/fig3d.csv")
    studies = ("category_caltech256", "human_caltech256", "landmark_oxford5k", "finegrained_triplets")
    drawn = {f"make_exhibits_of_{name}" for name in studies}
    everything = project.planned()
    assert drawn < set(everything)
    assert not [rule for rule in everything if rule.startswith("scan_")]
    project.snakemake(*without_data)
    records = [file for data in without_data for file in (project.folder / "logs" / data.split("/")[1]).rglob("*.json")]
    assert {read_json(record)["rule"] for record in records} == drawn
    path = project.folder / "results/oxford5k/exhibits/soml-aaai-2014/table3"
    assert read_json(path.with_suffix(".json"))["state"] == "not run"
    assert re.search("not run: put .*oxbuild_images-v1.tgz", path.with_suffix(".md").read_text())


STUDY = {"representation": "words500", "methods": ["euclidean"], "subsets": {"a": {"classes": "all"}}}


@pytest.mark.parametrize(
    ("settings", "arguments", "words"),
    [
        # data that are absent, with address, size and place
        ({}, ["caltech256"], ("error:", "https://data.caltech.edu", "1,183,006,720", "md5", "data/caltech256")),
        ({"category": {"mine": STUDY}}, ["--dry-run", "demo"], ("'mine'", "does not exist")),
    ],
)
def test_what_cannot_be_run_is_one_sentence(project, settings, arguments, words):
    done = project.attempt(*arguments, config=with_settings(project, "wrong", settings))
    assert done.returncode != 0
    assert [word for word in words if word not in " ".join(done.stdout.split())] == [], done.stdout
    assert "Traceback" not in done.stdout, done.stdout


def test_adding_a_subset_or_an_image_reruns_what_it_must(project):
    for label, i in product(("cat", "dog", "emu"), range(9)):
        paint(project.folder / f"own/{label}/{i}.png", seed=i, size=(256, 192))
    splits = {"folds": 2, "train": 4, "test": 2, "validation": 2}
    data = {"kind": "folder", "path": "own", "shards": 1, "pool": {"share": 0.5, "keep": 6}}
    study = STUDY | {"splits": splits, "subsets": {"some": {"classes": ["cat", "dog"]}}}
    settings = {"datasets": {"grown": data}, "category": {"grown": study}}
    project.snakemake("results/grown/splits/some.parquet", config=with_settings(project, "grown", settings))
    folder = project.folder / "results/grown"
    before = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    settings["category"]["grown"]["subsets"]["more"] = {"classes": ["emu", "cat"]}
    config = with_settings(project, "grown", settings)
    both = [f"results/grown/splits/{subset}.parquet" for subset in ("some", "more")]
    assert project.planned(*both, config=config) == {"split_images": 1}
    project.snakemake(*both, config=config)
    assert all(path.read_bytes() == content for path, content in before.items())
    paint(project.folder / "own/cat/new.png", seed=90, size=(256, 192))
    assert "scan_images_grown" in project.planned(both[0], config=config)
