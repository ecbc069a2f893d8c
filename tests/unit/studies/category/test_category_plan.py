"""What the settings of a category study ask for."""

from itertools import product

import pytest
from contract import check_plan

from lookalike.core.errors import LookalikeError
from lookalike.studies.batches import fit_specs
from lookalike.studies.category import plan


def test_every_run_of_every_fold_is_asked_for(config):
    runs = plan.runs(config, "caltech256", "fit.json")
    # 13 methods on 5 subsets and 5 folds, 2 of them in two further representations, and minima where they are shown
    assert len(set(runs)) == len(runs) == 13 * 25 + 2 * 2 * 25 + 2 * 2 * 5
    assert {file.split("/")[4] for file in runs if "-factor" in file} == {"var10", "var20"}
    assert "results/caltech256/runs/words1000-hellinger/var10/oasis/4/fit.json" in runs
    untimed = plan.runs(config, "caltech256", "ranks.npz", ablations=False, timed=False)
    assert len(untimed) == 12 * 25
    assert not any("lmnn-naive" in file for file in untimed)
    # the table of numbers is made of what exhibits show
    files = plan.number_files(config, "caltech256")
    curves = {tuple(file.split("/")[4:6]) for file in files if file.endswith("curve.parquet")}
    projected = {("var20", method) for method in config["category"]["caltech256"]["projected"]}
    shown = set(product(("var10", "var20"), ("oasis", "mcml", "lmnn")))
    assert curves == {("easy10", "oasis")} | shown | projected
    sides = [tuple(file.split("/")[2::2]) for file in files if "/runs/" not in file]
    assert sides[:2] == [("rankers", "classes249.parquet"), ("loss_bound", "var10.parquet")]


def test_what_is_not_run_has_no_exhibit_and_no_numbers(config):
    study = config["category"]["caltech20"]
    study.update(variants=[], projected=[], set_aside=[])
    del study["rankers"], study["loss_bound"]
    shown = {exhibit.id.partition("/")[2] for exhibit in plan.exhibits(config, "caltech20")}
    assert not shown & {"fig7", "fig8", "fig9", "loss_bound"}
    files = plan.number_files(config, "caltech20")
    assert not any(name in file for file in files for name in ("rankers", "bound", "psd"))
    study["methods"] = ["oasis"]
    assert "comparison" not in plan.exhibit_files(config, "caltech20")


def made_by(config, batch):
    """Every file that the jobs of a batch could make for real classes."""
    study = config["category"]["caltech20"]
    values = {"dataset": ["caltech20"], "representation": [study["representation"]], "subset": study["subsets"]}
    values |= {"method": [""], "fold": plan.folds(config, "caltech20")} | batch.allowed
    keys = [dict(zip(values, key, strict=True)) for key in product(*values.values())]
    return {file.format(**key) for key in keys for file in batch.files}


@pytest.mark.parametrize("size", ["fold", "method", "subset"])
def test_batches_of_every_size_make_every_run(config, size):
    config["category"]["caltech20"]["batch"] = size
    made = [made_by(config, batch) for batch in plan.batches(config, "caltech20")]
    wanted = {file for name in plan.RUN_FILES for file in plan.runs(config, "caltech20", name)}
    wanted |= {file for file in plan.number_files(config, "caltech20") if file.endswith("curve.parquet")}
    assert wanted <= set().union(*made)
    assert sum(map(len, made)) == len(set().union(*made)), "no file is made by two rules"
    if size == "subset":
        assert set().union(*made) == wanted, "a job of a subset traces what exhibits show, and nothing else"


def test_a_batch_of_a_subset_takes_the_methods_that_do_not_say_otherwise(config):
    study = config["category"]["caltech20"]
    study["overrides"]["oasis"]["batch"] = "fold"
    batches = {batch.name: batch for batch in plan.batches(config, "caltech20")}
    of_subsets = {f"run_subset_words1000_{subset}" for subset in study["subsets"]}
    assert set(batches) == {"run_fold", "trace_fold"} | of_subsets
    assert batches["run_fold"].fitted_by({"method": "oasis", "fold": "3"}) == ["oasis"]
    assert plan.makers(batches["trace_fold"]) == {"curve.parquet": "traces"}
    together = batches["run_subset_words1000_ten"]
    assert set(together.fitted) == {*plan.run_methods(config, "caltech20"), *study["projected"]} - {"oasis"}
    assert plan.makers(together) == {"model.lookalike": "protocol", "curve.parquet": "traces"}


def test_a_subset_has_methods_and_changes_of_its_own(config):
    small = {"classes": "first 3", "methods": ["oasis", "euclidean"], "overrides": {"oasis": {"trace": {"steps": 9}}}}
    config["category"]["demo"]["subsets"]["three"] = small
    run = {tuple(file.split("/")[4:6]) for file in plan.runs(config, "demo", "fit.json")}
    assert run == {*product(("demo10", "three"), ("oasis", "euclidean")), ("demo10", "lego")}
    specs = [fit_specs(config, "demo", ["oasis"], "words500", subset)["oasis"] for subset in ("demo10", "three")]
    assert [spec["trace"]["steps"] for spec in specs] == [60_000, 9]
    told = plan.exhibit_settings(config, "demo", "")["subsets"]
    assert [told[subset]["methods"] for subset in told] == [["oasis", "lego", "euclidean"], ["oasis", "euclidean"]]
    small["methods"].append("lmnn")
    with pytest.raises(LookalikeError, match=r"subsets.three"):
        plan.check(config, "demo")


def test_exhibits_have_settings_and_files(config):
    pictured = {"learning/neighbours", "representation/palette", "representation/visterms"}
    drawn = {dataset: check_plan(plan, config, dataset) for dataset in ("demo", "caltech20")}
    assert pictured | {"oasis-jmlr-2010/table4", "learning/claims"} <= drawn["demo"]
    # visterm counts have no pictures, and all curves of the paper
    assert not pictured & drawn["caltech20"]
    assert {f"oasis-jmlr-2010/fig{number}" for number in range(5, 10)} <= drawn["caltech20"]
    told = plan.exhibit_settings(config, "caltech256", "")
    assert len(told["subsets"]["classes249"]["published_classes"]) == 249
    assert told["traced"] == ["oasis", "mcml", "lego", "lmnn", *told["variants"], *told["projected"]]
    # what is shown decides no fit
    (spec,) = fit_specs(config, "demo", ["oasis"], "words500").values()
    assert not {"title", "note", "batch"} & set(spec)


def test_a_subset_or_kind_that_there_is_not_is_a_sentence(config):
    assert plan.subset_settings(config, "demo", "demo10") == config["category"]["demo"]["subsets"]["demo10"]
    with pytest.raises(LookalikeError, match=r"demo has no subset 'var10' in config\.yaml; there are: demo10"):
        plan.subset_settings(config, "demo", "var10")
    config["category"]["caltech20"]["ablations"] = ["words10000"]
    with pytest.raises(LookalikeError, match=r"caltech20.ablations needs images, and a data set of kind visterms"):
        plan.check(config, "caltech20")
    config["datasets"]["demo"]["kind"] = "websim"
    with pytest.raises(LookalikeError, match="needs a data set of classes, not of kind websim: list it under web"):
        plan.check(config, "demo")
