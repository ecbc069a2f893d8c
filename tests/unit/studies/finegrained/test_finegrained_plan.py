"""What the settings of a fine-grained study ask for."""

from copy import deepcopy
from pathlib import Path

import pytest
from contract import ROOT, check_plan

from lookalike.studies.finegrained import plan
from lookalike.studies.finegrained.systems import (
    FEATURES,
    TABLE1,
    TABLE2,
    is_learned,
    is_network,
    ordered_systems,
    sampled_share,
    system_title,
    weighted_systems,
)

DEMO, RATED = "demo_triplets", "triplets"
SHARES = [f"multiscale-weighted-{share:03d}" for share in (0, 60, 100)]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty work folder, in which torch is at hand."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan, "find_spec", lambda name: object())
    plan._has_training_images.cache_clear()
    plan._has_grades.cache_clear()


def test_the_systems_are_those_of_both_tables_and_of_figure_6(config):
    assert set(plan.systems_of(config, DEMO)) == {*TABLE1, *TABLE2, *SHARES, "multiscale-uniform-000"}
    ranked = ["single-scale-ranking", "deep-ranking", *SHARES, "multiscale-uniform-000"]
    assert plan.ranking_networks(config, DEMO) == ranked
    assert ["deep-ranking", "convnet"] in plan.contrasts(config, DEMO)


@pytest.mark.parametrize("batch", [plan.feature_batch, plan.network_batch])
def test_systems_have_a_job_each_or_share_one(config, batch):
    alone, together = (batch(config, dataset) for dataset in (RATED, DEMO))
    each = [file.replace("{system}", system) for system in together.fitted for file in alone.files]
    assert each == together.files
    assert set(alone.allowed) - set(together.allowed) == {"system"}


def test_without_torch_there_are_no_networks(config, monkeypatch):
    monkeypatch.setattr(plan, "find_spec", lambda name: None)
    assert "install torch" in plan.no_torch(config, DEMO)
    assert plan.systems_of(config, DEMO) == [*FEATURES, "l1hashkpca", "oasis", "golden-features"]
    assert plan.curve_files(config, DEMO) == []
    assert "filters" not in plan.exhibit_files(config, DEMO)
    # in conda environments torch is at hand, and what was measured stays
    assert plan.no_torch({**config, "conda": True}, DEMO) == ""
    measured = Path(f"results/{DEMO}/systems/deep-ranking/distances.npy")
    measured.parent.mkdir(parents=True)
    measured.touch()
    assert plan.no_torch(config, DEMO) == ""


def test_what_a_release_holds_decides_what_is_learned_from_it(config):
    assert "training, in folders by category" in plan.no_training(config, RATED)
    assert plan.systems_of(config, RATED) == list(FEATURES)
    assert plan.no_training(config, DEMO) == ""
    # with images to learn from there are networks; without grades they have no shares to vary
    image = Path("data/triplets/training/cat/1.jpg")
    image.parent.mkdir(parents=True)
    image.touch()
    plan._has_training_images.cache_clear()
    assert plan.ranking_networks(config, RATED) == plan.systems_of(config, RATED)[-4:-2]
    assert plan.sampling(config, RATED)["out_of_class"] == 1.0
    (image.parents[1] / "relevance.csv").touch()
    plan._has_grades.cache_clear()
    assert len(plan.ranking_networks(config, RATED)) == 2 + 6, "two of the tables, six of Figure 6"
    assert plan.sampling(config, RATED)["out_of_class"] == 0.2


def test_a_network_depends_on_its_own_sampling_and_training_alone(config):
    found = plan.samplings(config, DEMO, plan.ranking_networks(config, DEMO))
    assert found["multiscale-weighted-060"] == plan.sampling(config, DEMO) | {"out_of_class": 0.6}
    assert found["multiscale-uniform-000"]["weighted"] is False
    assert found["deep-ranking"] == plan.sampling(config, DEMO)
    found = plan.network_settings(config, DEMO, ["ranking", "gap"])
    assert {"ranking", "gap", "size", "validation"} <= set(found)
    assert not {"pretraining", "linear_embedding", "checkpoint_seconds", "threads"} & set(found)
    assert found["validation"]["sampling"] == plan.sampling(config, DEMO)


def test_files_lie_where_settings_say(config):
    assert plan.images_folder(config, RATED) == "data/triplets"
    assert plan.images_folder(config, DEMO).startswith(f"results/{DEMO}/images/")
    assert plan.drawn_shards(config, RATED) == []
    assert plan.drawn_shards(config, DEMO)[0] == f"results/{DEMO}/drawn/000.json"
    assert plan.triplet_settings(config, RATED)["kind"] == "triplets"
    assert len(check_plan(plan, config, DEMO)) == 14
    assert "results/demo_triplets/systems/convnet/distances.npy" in plan.exhibit_files(config, DEMO)["distances"]
    assert plan.buffers(config, DEMO)
    made = deepcopy(config)
    made["finegrained"][DEMO]["golden"]["ratings"] = 0.4
    assert [plan.relevance_path(one, DEMO).split("/")[-2] for one in (config, made)] == [DEMO, "golden-features"]
    makes = set(plan.learned_files(made, DEMO)) - set(plan.learned_files(config, DEMO))
    assert makes == {"results/{dataset}/systems/golden-features/relevance.npz"}
    for feature in FEATURES:
        assert (ROOT / "src" / "lookalike" / plan.describer_module(feature)).is_file()


def test_how_triplets_were_sampled_is_read_off_the_name():
    names = ("multiscale-weighted-060", "deep-ranking", "convnet", "multiscale-weighted-6")
    assert [sampled_share(name, 40) for name in names] == [("weighted", 60), ("weighted", 40), None, None]
    systems = ["multiscale-weighted-020", SHARES[0], "deep-ranking", "multiscale-uniform-000"]
    assert weighted_systems(systems) == {0: SHARES[0], 20: "deep-ranking"}
    assert weighted_systems(systems, 40)[20] == "multiscale-weighted-020"


def test_which_systems_need_what_and_how_they_are_called():
    assert [is_network(system) for system in TABLE1] == [False] * 9 + [True]
    assert [is_learned(system) for system in TABLE1] == [False] * 6 + [True] * 4
    assert system_title("multiscale-uniform-000") == "Multiscale, uniform, 0% out-of-class"
    assert system_title("multiscale-weighted-040", short=True) == "weighted 40%"
    shares = ["multiscale-uniform-000", SHARES[-1], SHARES[0]]
    expected = (*TABLE1[:-1], *TABLE2, SHARES[0], SHARES[-1], shares[0], "other")
    assert ordered_systems(["other", *shares, *TABLE2, *reversed(TABLE1)]) == expected
