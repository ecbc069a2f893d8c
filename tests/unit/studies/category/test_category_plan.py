"""What the settings of a category study ask for."""

from functools import partial
from itertools import product

import pytest
from contract import changed_study, ids_of

from lookalike.core.errors import LookalikeError

study_of = partial(changed_study, "category")


def test_every_run_of_every_fold_is_asked_for(settings):
    study = settings.category["caltech256"]
    runs = study.runs("fit.json")
    # 13 methods on 5 subsets and 5 folds, Euclidean in a further representation, minima and what has equal settings
    # where they are shown
    assert len(set(runs)) == len(runs) == 13 * 25 + 25 + 2 * 3 * 5 + 3 * 3 * 5
    for kind in ("-factor", "-equal"):
        assert {file.split("/")[4] for file in runs if kind in file} == {"var10", "var20", "classes50"}
    assert "results/caltech256/runs/words10000/var10/euclidean/4/fit.json" in runs
    untimed = study.runs("ranks.npz", ablations=False, timed=False)
    assert len(untimed) == 11 * 25 + 2 * 3 * 5
    assert not any(name in file for file in untimed for name in ("lmnn-naive", "oasis-rows", "-equal"))
    assert study.inputs()["rankings"] == untimed
    # the table of numbers is made of what exhibits show
    files = study.number_files()
    curves = {tuple(file.split("/")[4:6]) for file in files if file.endswith("curve.parquet")}
    projected = {("var20", method) for method in study.projected}
    traced = set(product(("var10", "var20"), ("oasis", "mcml")))
    assert curves == {("easy10", "oasis")} | traced | projected
    sides = [tuple(file.split("/")[2::2]) for file in files if "/runs/" not in file]
    assert sides[0] == ("rankers", "classes249.parquet")
    assert ("few_images", "var20.parquet") in sides
    learned = study.params("run_side_study", side="few_images", subset="var20")["side"]["fits"]
    assert list(learned) == ["oasis", "oasis-psd", "mcml", "lego", "euclidean"]


def test_with_equal_settings_every_learned_method_has_as_many(settings):
    for dataset, n_settings in {"caltech256": 183, "caltech20": 21}.items():
        study = settings.category[dataset]
        counts = {method: study.n_settings(study.equal_runs.get(method, method)) for method in study.methods}
        assert counts == dict.fromkeys(("oasis", "mcml", "lego", "lmnn"), n_settings) | {"euclidean": 1}
        # the paper's protocol: OASIS its stop alone, LEGO and LMNN three values each, MCML its own stop
        assert not study.spec("oasis").select
        assert {method: study.n_settings(method) for method in ("mcml", "lmnn")} == {"mcml": 1, "lmnn": 3}
    # a file laid over it may run fewer methods
    assert study_of("caltech256", methods=["oasis", "euclidean"]).equal_runs == {"oasis": "oasis-equal"}


def test_what_is_not_run_has_no_exhibit_and_no_numbers():
    study = study_of("caltech20", "rankers", variants=[], projected=[], set_aside=[], exhibits={})
    assert not {"fig7", "fig8", "fig9"} & {exhibit.name for exhibit in study.own_exhibits()}
    assert not any(name in file for file in study.number_files() for name in ("rankers", "psd"))
    alone = study_of("demo", variants=[], set_aside=[], methods=["oasis"])
    assert "rankings" not in alone.inputs()
    assert "comparison" not in {exhibit.name for exhibit in alone.own_exhibits()}


def test_the_size_of_a_batch_draws_no_exhibit_again():
    overrides = {"oasis": {"batch": "fold"}, "lego": {"note": "a batch is no change of a number"}}
    found = study_of("caltech20", overrides=overrides).params("exhibits")["study"]["overrides"]
    assert (found["lego"], "batch" in found.get("oasis", {})) == (overrides["lego"], False)


def test_a_subset_has_methods_and_changes_of_its_own(settings):
    small = {"classes": "first 3", "methods": ["oasis", "euclidean"], "overrides": {"oasis": {"trace": {"steps": 9}}}}
    subsets = {"demo10": {"classes": "first 10"}, "three": small}
    study = study_of("demo", "exhibits", "ratings", subsets=subsets)
    run = {tuple(file.split("/")[4:6]) for file in study.runs("fit.json")}
    assert run == {*product(("demo10", "three"), ("oasis", "euclidean")), ("demo10", "lego")}
    specs = [study.params("run", ["oasis"], subset=subset)["specs"]["oasis"] for subset in subsets]
    assert [spec["trace"]["steps"] for spec in specs] == [60_000, 9]
    # what is shown decides no fit
    assert not {"title", "note", "batch"} & set(specs[0])
    assert [subset.methods for subset in study.all_subsets] == [("oasis", "lego", "euclidean"), ("oasis", "euclidean")]
    small["methods"].append("lmnn")
    with pytest.raises(LookalikeError, match=r"subsets.three"):
        study_of("demo", "exhibits", "ratings", subsets=subsets)


def test_exhibits_have_settings_and_files(settings):
    pictured = {"learning/neighbours", "oasis-jmlr-2010/fig2"}
    drawn = {dataset: ids_of(settings.category[dataset]) for dataset in ("demo", "caltech20", "caltech256")}
    assert pictured | {"oasis-jmlr-2010/table4"} <= drawn["demo"]
    # visterm counts have no pictures, and all curves of the paper
    assert not pictured & drawn["caltech20"]
    assert {f"oasis-jmlr-2010/fig{number}" for number in range(5, 10)} <= drawn["caltech20"]
    papers = settings.category["caltech256"]
    assert papers.all_subsets[-1].n_classes == len(papers.params("exhibits")["published"]["classes249"]) == 249
    assert papers.traced_methods() == [
        *("oasis", "mcml", "lego", *papers.variants, *papers.projected, *papers.equal_runs.values())
    ]
    demo, ratings = settings.category["demo"], settings.category["demo"].ratings
    assert demo.example_fold() == (ratings.subset, ratings.fold)
    unrated = settings.category["caltech20"]
    assert unrated.example_fold() == (list(unrated.subsets)[-1], 0)


def test_a_subset_or_kind_that_there_is_not_is_a_sentence(settings):
    demo = settings.category["demo"]
    with pytest.raises(LookalikeError, match=r"demo has no subset 'var10' in config\.yaml; there are: demo10"):
        demo.params("draw_splits", subset="var10")
    with pytest.raises(LookalikeError, match=r"caltech20.ablations needs images, and a data set of kind visterms"):
        study_of("caltech20", ablations=["words10000"])
    with pytest.raises(LookalikeError, match=r"needs a data set with classes, of kind caltech256, .*, not websim"):
        study_of("caltech256", data={"kind": "websim"})
