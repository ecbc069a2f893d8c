"""What the settings of a landmark study ask for: runs, files and exhibits."""

from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from contract import changed_study, ids_of
from project import own_settings

from lookalike.core.files import write_table
from lookalike.studies.landmark.study import CHOSEN
from lookalike.studies.settings import checked

OXFORD, DEMO, COUNTS = "oxford5k", "demo_landmarks", "landmarks11"
study_of = partial(changed_study, "landmark")


@pytest.fixture
def oxford():
    return study_of(OXFORD)


def test_codebooks_share_keypoints(oxford, settings):
    first, *others = (oxford.keypoint_shards(codebook) for codebook in oxford.codebooks)
    assert others == [first, first]
    words = study_of(DEMO).word_shards("sift-demo-1k")
    assert words[0] == "results/demo_landmarks/features/sift-demo-1k/words-000.npz"
    published = [id for id, codebook in settings.codebooks.items() if codebook.published]
    assert [study.wants_words for study in (oxford, study_of(OXFORD, codebooks=published))] == [False, True]


def test_jobs_read_only_what_decides_their_results(oxford):
    assert set(oxford.params("train_words", representation="sift-1m")["codebook"]) == {"words", "root", "iterations"}
    fits = oxford.params("run", ["soml-da"], representation="sift-1m")
    assert list(fits["specs"]) == ["soml-da"]
    assert not {"title", "note", "batch"} & set(fits["specs"]["soml-da"])
    assert study_of(OXFORD, batch="subset").params("run", ["soml-da"], representation="sift-1m") == fits


# counts have no rectangles and no images, and no table of a paper is of painted images
@pytest.mark.parametrize(
    ("dataset", "tables", "own"),
    [(OXFORD, range(1, 10), {"montage", "lead"}), (COUNTS, (1, 4, 7), set()), (DEMO, (), {"montage"})],
)
def test_every_file_that_an_exhibit_needs_is_planned(dataset, tables, own):
    study = study_of(dataset)
    of_paper = {"soml-aaai-2014/text", *(f"soml-aaai-2014/table{number}" for number in tables)} if tables else set()
    assert ids_of(study) == of_paper | {f"landmark/{name}" for name in own}
    last = study.codebooks[-1]
    ranked = {(last, "tfidf"), (last, "soml-da")} if "montage" in own else set()
    assert {tuple(path.split("/")[3:6:2]) for path in study.planned_files().get("ranks", [])} == ranked
    assert (study.synthetic, study.spec("soml-tg").parameters["regularization"]) == (dataset == DEMO, 1e-5)


def test_a_lead_is_measured_with_every_codebook_of_it(oxford):
    assert oxford.lead_files()[0] == "results/oxford5k/landmark/lead/sift-10k.parquet"
    asked = oxford.params("measure_lead", representation="sift-100k")
    assert (asked["setting"], asked["chosen_draws"]) == ("words=100000;features=all", 3)
    assert list(asked["specs"]) == [*CHOSEN, *CHOSEN.values()]
    assert oxford.planned_files()["results"] == "results/oxford5k/results.parquet"


@pytest.mark.parametrize(
    ("methods", "after"),
    [("tfidf soml-da soml-tg", "soml-da"), ("qpao soml-tg tfidf", "soml-tg"), ("soml-da", None), ("tfidf", None)],
)
def test_the_montage_shows_da_or_else_the_last_learned_method(methods, after):
    few = study_of(DEMO, methods=methods.split())
    assert few.compared_methods() == (after and ("tfidf", after))
    assert ["landmark/montage" in ids_of(few), "ranks" in few.planned_files()] == [after is not None] * 2


def test_a_users_landmarks_are_those_of_the_ground_truth_or_of_the_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config, located = own_settings(), {"kind": "landmarks", "path": "photographs", "ground_truth": "truth"}
    own = {"landmarks": "all", "learning": {"positives": 2}, "methods": ["tfidf", "soml-tg"]}
    config["datasets"]["mine"] = located | {"shards": 1}
    config["landmark"]["mine"] = config["landmark"][DEMO] | own
    mine = checked(config).landmark["mine"]
    assert mine.landmark_names == []
    write_table(pd.DataFrame({"landmark": ["hall", "abbey", "hall"]}), Path("results/mine/learning_images.parquet"))
    assert mine.landmark_names == ["abbey", "hall"]
    Path("truth").mkdir()
    for kind, names in (("query", "oxc1_a 0 0 9 9"), ("good", "b\nc\nd"), ("ok", ""), ("junk", "")):
        Path(f"truth/tower_1_{kind}.txt").write_text(f"{names}\n")
    assert mine.landmark_names == ["tower"]
    assert mine.params("scan_landmarks")["data"] == located | {"fetch": True}
    # a change in a folder is noticed, and a folder that is away keeps the listing that its results were made with
    assert study_of(DEMO).listing("path") == ""
    Path("photographs").mkdir()
    first = mine.listing("path")
    Path("photographs/b.jpg").touch()
    assert first != mine.listing("path") != ""
    Path("results/mine/path_listing.txt").write_text(f"{first}\n")
    Path("photographs").rename("elsewhere")
    assert mine.listing("path") == first
