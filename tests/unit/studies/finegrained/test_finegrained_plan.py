"""What the settings of a fine-grained study ask for."""

from functools import partial
from pathlib import Path

import pytest
from contract import ROOT, changed_study, ids_of

from lookalike.core.settings.model import plain
from lookalike.studies.finegrained import study as planning
from lookalike.studies.finegrained.study import describer_module
from lookalike.studies.finegrained.systems import (
    FEATURES,
    TABLE1,
    TABLE2,
    is_learned,
    ordered_systems,
    sampled_share,
    system_and_seed,
    system_title,
)

DEMO, RATED = "demo_triplets", "triplets"
SHARES = [f"multiscale-weighted-{share:03d}" for share in (0, 60, 100)]
UNIFORM = "multiscale-uniform-000"
study_of = partial(changed_study, "finegrained")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty work folder, in which torch is at hand."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "find_spec", lambda name: object())


@pytest.fixture
def demo():
    return study_of(DEMO, sampling_study={"out_of_class": [0.0, 0.2, 0.6, 1.0]})


def test_the_systems_are_those_of_both_tables_and_of_figure_6(demo):
    assert set(study_of(DEMO).systems()) == {*TABLE1, *TABLE2}
    assert set(demo.systems()) == {*TABLE1, *TABLE2, *SHARES, UNIFORM}
    assert demo.ranking_networks() == ["single-scale-ranking", "deep-ranking", *SHARES, UNIFORM]


def test_networks_have_a_job_each_or_one_for_every_seed(demo):
    by_seed = demo.network_batches()
    (alone,) = study_of(DEMO, batch="method", sampling_study=plain(demo.sampling_study)).network_batches()
    assert [name for batch in by_seed for name in batch.fitted] == alone.fitted == alone.allowed["system"]
    each = [file.replace("{system}", name) for name in alone.fitted for file in alone.files]
    assert each == [file for batch in by_seed for file in batch.files]
    assert [batch.fitted[0] for batch in by_seed] == demo.trainings("single-scale-ranking")
    assert [system_and_seed(batch.fitted[1]) for batch in by_seed] == [("deep-ranking", seed) for seed in (1, 2, 3)]
    assert (demo.trainings("oasis"), len(demo.files_of(file="curve.parquet"))) == (["oasis"], 3 * 8)


def test_without_torch_there_are_no_networks(monkeypatch):
    monkeypatch.setattr(planning, "find_spec", lambda name: None)
    demo = study_of(DEMO)
    assert "install torch" in demo.why_not_run("convnet")
    assert demo.systems() == [*FEATURES, "l1hashkpca", "oasis", "golden-features"]
    assert demo.files_of(file="curve.parquet") == []
    assert "filters" not in demo.planned_files()
    # in conda environments torch is at hand, and what was measured stays
    demo.deployed(conda=True)
    assert demo.why_not_run("convnet") == ""
    measured = Path(f"results/{DEMO}/systems/deep-ranking/distances.npy")
    measured.parent.mkdir(parents=True)
    measured.touch()
    assert study_of(DEMO).has_torch


def test_what_a_release_holds_decides_what_is_learned_from_it():
    rated = study_of(RATED)
    assert "into data/triplets/training, in folders by category" in rated.why_not_run("oasis")
    assert rated.systems() == [*FEATURES, "l1hashkpca", "golden-features"]
    assert study_of(RATED, golden={}).systems() == list(FEATURES)
    assert {path.split("/")[-2] for path in rated.learned_files()} == {"l1hashkpca", "golden-features"}
    assert "examples/rated-networks.yaml" in rated.why_not_run("convnet")
    # with images to learn from there may be networks; without grades, or ratings, they have no shares to vary
    image = Path("data/triplets/training/cat/1.jpg")
    image.parent.mkdir(parents=True)
    image.touch()
    assert study_of(RATED).systems() == [*FEATURES, "l1hashkpca", "oasis", "golden-features"]
    assert study_of(RATED).sampling.out_of_class == 0.2
    networks = {"golden": {}, "network": {}, "sampling_study": {"out_of_class": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]}}
    rated = study_of(RATED, **networks)
    assert (rated.ranking_networks(), rated.sampling.out_of_class) == (rated.systems()[-4:-2], 1.0)
    (image.parents[1] / "relevance.csv").touch()
    rated = study_of(RATED, **networks)
    # two of the tables, six of Figure 6
    assert (len(rated.ranking_networks()), rated.sampling.out_of_class) == (2 + 6, 0.2)


def test_a_network_depends_on_its_own_sampling_and_training_alone(demo):
    params = demo.params("train_networks", demo.network_batches()[1].fitted)
    samplings, own = params["samplings"], plain(demo.sampling)
    assert samplings["multiscale-weighted-060-seed2"] == own | {"out_of_class": 0.6}
    assert samplings["multiscale-uniform-000-seed2"]["weighted"] is False
    assert samplings["deep-ranking-seed2"] == own
    read = {"size", "shift", "device", "validation", "ranking", "gap", "checkpoint_seconds"}
    assert set(params["network"]) == read
    alone = demo.params("train_networks", ["deep-ranking"], system="deep-ranking")
    assert alone == params | {"samplings": {"deep-ranking": own}}


def test_files_lie_where_settings_say(demo):
    rated, without = study_of(RATED), study_of(DEMO, golden={})
    assert (rated.images_folder, rated.painted_shards()) == ("data/triplets", [])
    assert demo.images_folder.startswith(f"results/{DEMO}/images/")
    assert demo.painted_shards()[0] == f"results/{DEMO}/painted/000.json"
    assert len(ids_of(demo)) == 9
    assert "results/demo_triplets/systems/convnet/distances.npy" in demo.planned_files()["distances"]
    assert [study.relevance_path().split("/")[-2] for study in (without, demo)] == [DEMO, "golden-features"]
    makes = set(demo.learned_files()) - set(without.learned_files())
    assert makes == {"results/{dataset}/systems/golden-features/relevance.npz"}
    assert all((ROOT / "src" / "lookalike" / describer_module(feature)).is_file() for feature in FEATURES)


def test_which_systems_need_what_and_how_they_are_called():
    names = ("multiscale-weighted-060", "deep-ranking", "convnet", "multiscale-weighted-6")
    assert [sampled_share(name, 40) for name in names] == [("weighted", 60), ("weighted", 40), None, None]
    assert [is_learned(system) for system in TABLE1] == [False] * 6 + [True] * 4
    assert system_title(UNIFORM) == "Multiscale, uniform, 0% out-of-class"
    assert system_title("multiscale-weighted-040", short=True) == "weighted 40%"
    expected = (*TABLE1[:-1], *TABLE2, SHARES[0], SHARES[-1], UNIFORM, "other")
    assert ordered_systems(["other", UNIFORM, SHARES[-1], SHARES[0], *TABLE2, *reversed(TABLE1)]) == expected
