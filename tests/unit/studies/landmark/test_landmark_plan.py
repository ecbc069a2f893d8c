"""What the settings of a landmark study ask for: runs, files and exhibits."""

from pathlib import Path

import pandas as pd
import pytest
from contract import check_plan

from lookalike.core.files import write_table
from lookalike.studies.landmark import plan
from lookalike.studies.rooms import exhibits_in

OXFORD, DEMO = "oxford5k", "demo_landmarks"


def changed(config, dataset, **changes):
    return {**config, "landmark": {**config["landmark"], dataset: {**config["landmark"][dataset], **changes}}}


def test_runs_are_every_codebook_landmark_method_and_draw_once(config):
    found = plan.runs(config, OXFORD, "metrics.parquet")
    assert len(set(found)) == 3 * 7 * 8 * 5
    assert "results/oxford5k/runs/sift-1m/bodleian/soml-da-every-step/4/metrics.parquet" in found
    assert plan.number_files(config, OXFORD) == [*found, "results/oxford5k/landmark/sweep.parquet"]
    without = {key: value for key, value in config["landmark"][OXFORD].items() if key not in plan.SWEPT}
    assert plan.number_files({**config, "landmark": {OXFORD: without}}, OXFORD) == found


@pytest.mark.parametrize("size", ["fold", "method", "subset"])
def test_batches_of_every_size_make_every_run_once(config, size):
    settings = changed(config, DEMO, batch=size, overrides={})
    (batch,) = plan.batches(settings, DEMO)
    assert (batch.name, batch.fitted_by({})) == (size, plan.methods_of(config, DEMO))
    assert [(one.name, len(one.fitted)) for one in plan.batches(config, OXFORD)] == [("fold", 1), ("method", 7)]
    made = [
        file.format(dataset=DEMO, representation=codebook, subset=landmark, method=method)
        for file in batch.files
        for codebook in settings["landmark"][DEMO]["codebooks"]
        for method in ([""] if size == "subset" else batch.fitted)
        for landmark in (plan.landmarks_of(settings, DEMO) if size == "fold" else [""])
    ]
    assert sorted(made) == sorted(path for file in plan.RUN_FILES for path in plan.runs(settings, DEMO, file))


def test_codebooks_share_keypoints_and_simulated_sizes_have_their_settings(config):
    blocks = {words: one["qpao"]["parameters"]["n_blocks"] for words, one in plan.timed_specs(config, OXFORD).items()}
    assert blocks == {10_000: 50, 100_000: 50, 1_000_000: 500}
    assert set(plan.sweep_specs(config, OXFORD)) == {"soml-tg", "soml-da", "qpao", "qpao-sum"}
    first, *others = (plan.keypoint_shards(config, OXFORD, one) for one in config["landmark"][OXFORD]["codebooks"])
    assert others == [first, first]
    words = plan.word_shards(config, DEMO, "sift-demo-1k")
    assert words[0] == "results/demo_landmarks/features/sift-demo-1k/words-000.npz"
    published = changed(config, OXFORD, codebooks=plan.codebooks(config, published=True))
    assert [plan.wants_words(of, OXFORD) for of in (config, published)] == [False, True]
    assert "title" not in plan.training_settings(config, "sift-1m")


@pytest.mark.parametrize(("dataset", "tables"), [(OXFORD, range(1, 10)), (DEMO, (1, 2, 4, 5, 7, 8))])
def test_every_file_that_an_exhibit_needs_is_planned(config, dataset, tables):
    found, files = check_plan(plan, config, dataset), plan.exhibit_files(config, dataset)
    own = {f"landmark/{name}" for name in ("query_region", "literal", "claims", "time", "montage")}
    own |= {f"landmark/{name}" for name in ("sparsity", "cost", "order")}
    assert found == own | {f"soml-aaai-2014/table{number}" for number in tables}
    study = {key: value for key, value in config["landmark"][dataset].items() if key != "dimensions"}
    untimed = {**config, "landmark": {dataset: study}}
    assert found - {one.id for one in exhibits_in(untimed, "landmark", dataset)} == {"landmark/time"}
    last = config["landmark"][dataset]["codebooks"][-1]
    assert {tuple(path.split("/")[3:6:2]) for path in files["ranks"]} == {(last, "tfidf"), (last, "soml-da")}
    settings = plan.exhibit_settings(config, dataset, "")
    told = settings["synthetic"], len(settings["landmarks"]), settings["parameters"]["soml-tg"]["regularization"]
    assert told == (dataset == DEMO, 7, 1e-5)


def test_the_montage_shows_da_or_else_the_last_learned_method(config):
    shown = {"tfidf soml-da soml-tg": "soml-da", "qpao soml-tg tfidf": "soml-tg", "soml-da": None, "tfidf": None}
    for methods, after in shown.items():
        assert plan.compared(methods.split()) == (after and ("tfidf", after))
        few = changed(config, DEMO, methods=methods.split())
        has_it = ["landmark/montage" in check_plan(plan, few, DEMO), "ranks" in plan.exhibit_files(few, DEMO)]
        assert has_it == [after is not None] * 2


def test_a_users_landmarks_are_those_of_the_ground_truth_or_of_the_results(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = {"kind": "landmarks", "path": "photographs", "ground_truth": "truth", "shards": 1}
    study = {**config["landmark"][DEMO], "landmarks": "all", "learning": {"positives": 1}}
    mine = {**config, "datasets": {**config["datasets"], "mine": own}, "landmark": {"mine": study}}
    assert plan.landmarks_of(mine, "mine") == []
    write_table(pd.DataFrame({"landmark": ["hall", "abbey", "hall"]}), Path("results/mine/learning_images.parquet"))
    assert plan.landmarks_of(mine, "mine") == ["abbey", "hall"]
    Path("truth").mkdir()
    for kind, names in (("query", "oxc1_a 0 0 9 9"), ("good", "b\nc\nd"), ("ok", ""), ("junk", "")):
        Path(f"truth/tower_1_{kind}.txt").write_text(f"{names}\n")
    assert (plan.landmarks_of(mine, "mine"), plan.ground_truth_folder(mine, "mine")) == (["tower"], "truth")
    assert plan.located_data(mine, "mine") == {key: own[key] for key in ("kind", "path", "ground_truth")}

    # a change in a folder is noticed, and a folder that is away keeps the listing that its results were made with
    assert plan.own_listing(config, DEMO, "path") == ""
    Path("photographs").mkdir()
    first = plan.own_listing(mine, "mine", "path")
    Path("photographs/b.jpg").touch()
    assert first != plan.own_listing(mine, "mine", "path") != ""
    Path("results/mine/path_listing.txt").write_text(f"{first}\n")
    Path("photographs").rename("elsewhere")
    assert plan.own_listing(mine, "mine", "path") == first
