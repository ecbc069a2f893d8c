"""What the settings ask of the human study."""

from __future__ import annotations

import pytest
from contract import check_plan

from lookalike.studies.human import plan

RATINGS = {"subset": "ten", "fold": 1, "queries": 25, "retrieved": 10, "random": 5, "simulated_raters": 20}


@pytest.fixture
def config():
    study = {"representation": "words", "subsets": {"ten": {"title": "Ten classes"}}, "splits": {"folds": 5}}
    return {
        "category": {"toy": {**study, "ratings": RATINGS}, "other": study},
        "datasets": {"toy": {"kind": "synthetic"}, "other": {"kind": "folder", "title": "Mine"}},
        "methods": {"oasis": {"title": "OASIS"}},
    }


def test_what_is_rated_is_one_fold_of_oasis_of_the_data_sets_that_ask_for_it(config):
    assert plan.datasets(config) == ["toy"]
    assert plan.rated_run(config, "toy") == {"representation": "words", "subset": "ten", "fold": 1}
    assert plan.images(config, "toy")["ranks"] == "results/toy/runs/words/ten/oasis/1/ranks.npz"
    assert plan.questionnaire_settings(config, "toy") == {"n_queries": 25, "n_retrieved": 10, "n_random": 5}
    assert len(check_plan(plan, config, "toy")) == 11
    told = plan.exhibit_settings(config, "toy", "")
    assert (told["title"], told["subset_title"], told["synthetic"]) == ("toy", "Ten classes", True)


def test_raters_files_are_found_where_the_settings_say(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert plan.raters_files(config, "toy") == []
    (tmp_path / "data" / "ratings" / "toy").mkdir(parents=True)
    for name in ("bob.csv", "ada.csv", "notes.txt"):
        (tmp_path / "data" / "ratings" / "toy" / name).touch()
    assert plan.raters_files(config, "toy") == ["data/ratings/toy/ada.csv", "data/ratings/toy/bob.csv"]
    config["category"]["toy"]["ratings"] = RATINGS | {"path": "elsewhere"}
    assert plan.raters_files(config, "toy") == []
