"""What the settings ask of the human study."""

from __future__ import annotations

import pytest

from lookalike.studies.human import plan

RATINGS = {"subset": "ten", "fold": 1, "queries": 25, "retrieved": 10, "random": 5, "simulated_raters": 20}


@pytest.fixture
def config():
    study = {"representation": "words", "subsets": {"ten": {"title": "Ten classes"}}, "splits": {"folds": 5},
             "methods": ["oasis"]}  # fmt: skip
    return {
        "category": {"toy": {**study, "ratings": RATINGS}, "other": study},
        "datasets": {"toy": {"kind": "synthetic"}, "other": {"kind": "folder", "title": "Mine"}},
        "methods": {"oasis": {"title": "OASIS"}},
    }


def test_only_data_sets_that_ask_for_ratings_are_rated(config):
    assert plan.datasets(config) == ["toy"]


def test_the_rated_run_is_one_fold_of_oasis_in_the_studys_representation(config):
    assert plan.rated_run(config, "toy") == {"representation": "words", "subset": "ten", "fold": 1}
    assert plan.images(config, "toy")["ranks"] == "results/toy/runs/words/ten/oasis/1/ranks.npz"
    assert plan.questionnaire_settings(config, "toy") == {"n_queries": 25, "n_retrieved": 10, "n_random": 5}


def test_raters_files_are_found_where_the_settings_say(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert plan.raters_files(config, "toy") == []
    folder = tmp_path / "data" / "ratings" / "toy"
    folder.mkdir(parents=True)
    for name in ("bob.csv", "ada.csv", "notes.txt"):
        (folder / name).touch()
    assert plan.raters_files(config, "toy") == ["data/ratings/toy/ada.csv", "data/ratings/toy/bob.csv"]
    config["category"]["toy"]["ratings"] = RATINGS | {"path": "elsewhere"}
    assert plan.raters_files(config, "toy") == []


def test_exhibits_find_everything_that_they_need(config):
    files = plan.exhibit_files(config, "toy")
    exhibits = plan.exhibits(config, "toy")
    assert {exhibit.id for exhibit in exhibits} >= {"oasis-jmlr-2010/table2", "human/deviations"}
    assert {need for exhibit in exhibits for need in exhibit.needs} == set(files)
    settings = plan.exhibit_settings(config, "toy", "not run: put it there")
    assert (settings["title"], settings["subset_title"], settings["synthetic"]) == ("toy", "Ten classes", True)
    assert settings["not_run"] == "not run: put it there"
