"""What the settings ask of the human study."""

from contract import check_plan

from lookalike.studies.human import plan


def test_what_is_rated_is_one_fold_of_oasis_and_raters_files_are_where_the_settings_say(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ratings = config["category"]["demo"]["ratings"] = {**config["category"]["demo"]["ratings"], "fold": 1, "random": 5}
    assert plan.images(config, "demo")["ranks"] == "results/demo/runs/words500/demo10/oasis/1/ranks.npz"
    assert plan.questionnaire_settings(config, "demo") == {"n_queries": 25, "n_retrieved": 10, "n_random": 5}
    assert len(check_plan(plan, config, "demo")) == 12
    told = plan.exhibit_settings(config, "demo", "")
    shown = {name: told[name] for name in ("title", "subset_title", "synthetic")}
    assert shown == {"title": "synthetic classes", "subset_title": "10 synthetic classes", "synthetic": True}
    (tmp_path / "data" / "ratings" / "demo").mkdir(parents=True)
    for name in ("bob.csv", "ada.csv", "notes.txt"):
        (tmp_path / "data" / "ratings" / "demo" / name).touch()
    assert plan.raters_files(config, "demo") == ["data/ratings/demo/ada.csv", "data/ratings/demo/bob.csv"]
    ratings["path"] = "elsewhere"
    assert plan.raters_files(config, "demo") == []
    del config["category"]["demo"]["ratings"]
    assert plan.datasets(config) == ["caltech256"]
