"""What the settings ask of the human study."""

from contract import check_plan
from project import own_settings

from lookalike.studies.settings import checked


def test_what_is_rated_is_one_fold_of_oasis_and_raters_files_are_where_the_settings_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = own_settings()
    ratings = config["category"]["demo"]["ratings"]
    ratings |= {"fold": 1, "random": 5}
    study = checked(config).human["demo"]
    assert study.images_files()["ranks"] == "results/demo/runs/words500/demo10/oasis/1/ranks.npz"
    sizes = {"n_queries": 25, "n_retrieved": 10, "n_random": 5}
    assert study.params("write_questionnaire") == sizes | {"seed": study.seed}
    assert len(check_plan(study)) == 10
    named = (study.title, study.subset_title, study.synthetic)
    assert named == ("synthetic classes", "10 synthetic classes", True)
    (tmp_path / "data" / "ratings" / "demo").mkdir(parents=True)
    for name in ("bob.csv", "ada.csv", "notes.txt"):
        (tmp_path / "data" / "ratings" / "demo" / name).touch()
    assert study.raters_files() == ["data/ratings/demo/ada.csv", "data/ratings/demo/bob.csv"]
    ratings["path"] = "elsewhere"
    elsewhere = checked(config).human["demo"]
    assert elsewhere.raters_files() == []
    assert elsewhere.params("exhibits") == study.params("exhibits")
    del config["category"]["demo"]["ratings"]
    assert list(checked(config).human) == ["caltech256"]
