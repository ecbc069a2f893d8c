"""Jobs that an edit, a deleted file, a kill or another size of batch runs again, and the bytes that they leave."""

import os
import shutil
import signal
import time
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from project import CATEGORY, FINEGRAINED, LANDMARK, WEB, edited, tiny_settings, write_settings

import lookalike
from lookalike.core.files import read_json

pytestmark = pytest.mark.workflow


ALL = (CATEGORY, LANDMARK, WEB, FINEGRAINED)


def test_a_deleted_figure_is_redrawn_with_its_study_and_nothing_else_is_done_again(finished):
    figure = finished.folder / "results/websim_demo/exhibits/oasis-jmlr-2010/fig3a.png"
    before = figure.read_bytes()
    figure.unlink()
    # a study's job writes what its claims say, too, and one job decides the claims of all
    assert set(finished.planned(*ALL)) == {"make_exhibits_of_web_websim_demo", "decide_claims", *ALL}
    finished.snakemake(*ALL)
    assert figure.read_bytes() == before
    assert finished.planned(*ALL) == {}


# modules that are edited, what is asked for, the jobs that this runs again by rule, and rules that have none
OASIS = {"run_fold_demo": 4, "trace_fold_demo": 2, "run_side_study": 2}  # its variants are in batches of a subset
OASIS |= {"run_subset_words500_demo10_demo": 1, "run_subset_words500_demo20_demo": 1}
EACH_STUDY = {"run_subset_words500_demo10_demo": 1, "run_subset_demo_landmarks": 1}
EACH_STUDY |= {"train_on_log_websim_demo": 1, "describe_images_demo_triplets": 1}
RANKING = {f"train_networks_{seed}_demo_triplets": int(find_spec("torch") is not None) for seed in (1, 2)}
EDITS = {
    "oasis": (["learners/oasis.py"], [CATEGORY], OASIS, "describe_blocks count_visterms scan_images_demo split_images"),
    "four-studies": (
        ["learners/lego.py", "learners/soml.py", "studies/web/query_triplets.py", "features/hog.py"],
        ALL,
        EACH_STUDY,
        # LEGO is in the side study of few images, and features make the relevance that networks learn from
        "run_fold_demo trace_fold_demo extract_keypoints train_words simulate_web read_triplets",
    ),
    "contrasts": (
        ["studies/category/contrasts.py", "deep/ranking.py"],
        ["demo"],
        RANKING | {"make_exhibits_of_category_demo": 1},
        "make_exhibits_of_landmark_demo_landmarks make_exhibits_of_web_websim_demo make_exhibits_of_human_demo"
        " run_fold_demo describe_images_demo_triplets read_triplets",
    ),
    # how images of one study are painted
    "recipe": (
        ["data/painted_landmarks.py"],
        ["demo"],
        {"paint_images": 1, "scan_landmarks": 1},
        "read_triplets scan_images_demo run_fold_demo train_on_log_websim_demo",
    ),
    # what pages say: nothing is computed
    "words": (
        ["exhibits/words.py"],
        ["demo"],
        {"make_exhibits_of_category_demo": 1, "make_exhibits_of_landmark_demo_landmarks": 1, "report_html": 1},
        "gather_category_results gather_landmark_results score_triplets collect_ratings",
    ),
}


@pytest.mark.parametrize(("modules", "targets", "reruns", "stays"), EDITS.values(), ids=EDITS)
def test_an_edit_reruns_what_it_changes(finished, modules, targets, reruns, stays):
    with edited(finished, *modules):
        planned = finished.planned(*targets)
    assert {rule: planned.get(rule, 0) for rule in reruns} == reruns
    assert not set(stays.split()) & set(planned)


OTHER_BATCHES = {"oasis": "subset", "euclidean": "method", "mcml": "fold"}


def test_killed_runs_one_core_and_batches_of_another_size_end_in_the_same_bytes(finished, new_project):
    """Every method is in a batch of another size than in the tiny run; together they are in those of all three."""
    project = new_project("killed")
    settings = tiny_settings()
    settings["category"]["demo"]["batch"] = "fold"
    for method, size in OTHER_BATCHES.items():
        settings["category"]["demo"]["overrides"].setdefault(method, {})["batch"] = size
    config = write_settings(project, "batches", settings)
    runs = [f"runs/words500/demo10/{method}/1" for method in (*OTHER_BATCHES, "oasis-dissim")]
    names = [f"{run}/results.parquet" for run in (*runs, "runs/words500/demo20/oasis/0")]
    sides = [f"{side}/words500/demo20.parquet" for side in ("rankers", "transfer")]
    names += ["runs/words500/demo20/oasis/1/curve.parquet", *sides]
    numbers = [f"results/demo/{name}" for name in names]
    for n_started in (3, 12):
        running = project.start("--nolock", *numbers, cores=1, config=config)
        wait_until(lambda n=n_started: len(list((project.folder / "logs").rglob("*.log"))) >= n, running)
        kill_group(running)
        assert not all((project.folder / number).exists() for number in numbers)
    project.snakemake("--nolock", *numbers, cores=1, config=config)
    for file in ("manifest.parquet", "features/words500/counts.npz", *names):
        again, expected = (run.folder / "results/demo" / file for run in (project, finished))
        assert again.read_bytes() == expected.read_bytes(), file


def test_a_web_ranker_that_was_killed_goes_on_and_the_model_is_the_rankers_mean(finished):
    results = f"results/{WEB}"
    finished.snakemake(f"{results}/model.lookalike")
    model = lookalike.load(finished.folder / results / "model.lookalike")
    rankers = [np.load(finished.folder / f"{results}/rankers/{ranker}/W.npy") for ranker in (0, 1)]
    np.testing.assert_allclose(model.W_, np.mean(rankers, axis=0), atol=1e-6)
    settings, wanted = tiny_settings(), f"{results}/rankers/0/W.npy"
    settings["web"][WEB]["training"] |= {"steps": 122_880, "interval": 40_960, "checkpoint_seconds": 0.05, "rankers": 1}
    long = {"config": write_settings(finished, "long", settings)}
    checkpoint = (target := finished.folder / wanted).with_name("checkpoint")
    try:
        running = finished.start("--nolock", wanted, **long)
        wait_until((checkpoint / "checkpoint.npz").exists, running)
        kill_group(running)
        finished.snakemake("--nolock", wanted, **long)
        assert read_json(target.with_name("fit.json"))["resumed"] == 1
        assert not checkpoint.exists(), "a checkpoint is of no use once the result is there"
    finally:
        np.save(target, rankers[0])


def test_ctrl_c_ends_a_run_with_its_jobs_in_one_sentence_and_the_same_command_goes_on(new_project):
    project, manifest = new_project("interrupted"), "results/demo/manifest.parquet"
    running = project.start(manifest, cores=1)
    wait_until(lambda: any((project.folder / "logs").rglob("*.log")), running)
    os.killpg(running.pid, signal.SIGINT)
    said = running.communicate(timeout=120)[0]
    assert running.returncode == -signal.SIGINT
    assert said.endswith("\nInterrupted: what is done is kept, and the same command goes on.\n")
    assert not [word for word in ("Traceback", "FAILED", "mend", "Error") if word in said]
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)
    project.snakemake(manifest, cores=1)


def wait_until(is_so, running):
    """Wait until something is so, while the workflow runs."""
    deadline = time.monotonic() + 240
    while not is_so():
        assert running.poll() is None, "the workflow ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def kill_group(running):
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()


def test_a_users_own_photographs_and_published_counts_run_through_the_same_rules(finished):
    """The synthetic images with their ground truth or in folders, and counts of these, give what they themselves give.

    Blanks in names, files of one name in several folders, and the sizes of batches are no matter.
    """
    results, painted = finished.folder / "results", finished.folder / "results/demo_landmarks"
    located = read_json(painted / "images.json")
    for name, part in (("photographs", "root"), ("ground_truth", "ground_truth")):
        shutil.copytree(finished.folder / located[part], finished.folder / "own" / name)
    tables = (pd.read_parquet(painted / f"{name}.parquet") for name in ("manifest", "queries", "relevance"))
    manifest, queries, relevance = tables
    relevance = relevance.merge(queries[["query", "landmark"]], on="query")
    landmark_of = relevance.drop_duplicates("image_id").set_index("image_id")["landmark"]
    folders = manifest["image_id"].map(landmark_of.map("my {}".format)).fillna("others")
    for path, folder, place in zip(manifest["path"], folders, folders.groupby(folders).cumcount(), strict=True):
        target = finished.folder / "photographs" / folder / f"unnamed {place}{path[path.rindex('.') :]}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(finished.folder / located["root"] / path, target)
    settings, published = tiny_settings(), "results/folders/published/sift-demo-1k"
    study = {"codebooks": ["sift-demo-1k"], "methods": ["tfidf", "soml-tg"]}
    by_folder = {"distractors": ["others"], "queries": 2}
    for name, kind, path, more, positives in (
        ("own", "landmarks", "own/photographs", {"ground_truth": "own/ground_truth"}, 4),
        ("folders", "landmarks", "photographs", by_folder, 3),
        ("counts", "visterms", published, by_folder, 3),
    ):
        settings["datasets"][name] = {"kind": kind, "path": path, "shards": 1, **more}
        learning = {"positives": positives, "negatives": 12, "draws": 2}
        settings["landmark"][name] = study | {"learning": learning}
    settings["datasets"]["own"]["shards"] = 2
    settings["landmark"]["folders"]["batch"] = settings["landmark"]["own"]["batch"] = "subset"
    settings["landmark"]["counts"]["overrides"] = {"tfidf": {"batch": "fold"}}  # and the others by method
    config = write_settings(finished, "own", settings)
    wanted = ("results/own/results.parquet", "results/folders/results.parquet", f"{published}/manifest.csv")
    finished.snakemake(*wanted, config=config)
    finished.snakemake("results/counts/results.parquet", config=config)
    counts = (results / name / "features/sift-demo-1k/counts.npz" for name in ("own", "demo_landmarks"))
    ours, theirs = (sp.load_npz(file).sum(axis=1) for file in counts)
    assert np.array_equal(ours, theirs), "the same keypoints in every image"
    assert set(pd.read_parquet(results / "own/results.parquet")["method"]) == {"", "tfidf", "soml-tg"}
    pixels, counts = (results / name / "results.parquet" for name in ("folders", "counts"))
    assert pixels.read_bytes() == counts.read_bytes()
    names = [f"my_{landmark}" for landmark in set(queries["landmark"])] + ["mean"]
    assert set(pd.read_parquet(pixels)["setting"]) == {"", *(f"codebook=100;landmark={name}" for name in names)}
