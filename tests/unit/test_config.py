"""config.yaml against its schema: completed, cross-checked, and wrong in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lookalike.config import checked, in_demo, method_spec
from lookalike.core.errors import LookalikeError
from lookalike.exhibits.catalogue import EXHIBITS

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"


@pytest.fixture
def settings() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def test_the_projects_own_configuration_is_complete(settings: dict[str, Any]) -> None:
    config = checked(settings, SCHEMA)
    study = config["category"]["caltech256"]
    assert study["splits"] == {"folds": 5, "train": 40, "test": 25, "validation": 8}
    assert config["datasets"]["demo"]["clutter"] == ["257.clutter"]
    assert config["methods"]["oasis"]["trace"]["aggressiveness"] == 0.1
    assert "splits" not in settings["category"]["caltech256"], "the caller's own mapping must stay as it is"


def test_the_pool_leaves_what_a_split_needs(settings: dict[str, Any]) -> None:
    settings["category"]["demo"]["splits"] = {"train": 20, "test": 10}
    settings["datasets"]["caltech256"]["pool"] = {"keep": 70}
    datasets = checked(settings, SCHEMA)["datasets"]
    assert {name: datasets[name]["pool"]["keep"] for name in settings["category"]} == {"caltech256": 70, "demo": 30}


def test_exhibits_of_the_schema_are_those_that_can_be_drawn() -> None:
    schema = yaml.safe_load(SCHEMA.read_text())
    named = schema["$defs"]["category_study"]["properties"]["exhibits"]["propertyNames"]["enum"]
    assert set(named) == {"/".join(key) for key in EXHIBITS}


def test_the_example_of_the_documentation_is_valid(settings: dict[str, Any]) -> None:
    example = yaml.safe_load((ROOT / "examples/some-classes.yaml").read_text())
    for part, entries in example.items():
        settings[part].update(entries)
    assert "some-classes" in checked(settings, SCHEMA)["category"]


def test_the_example_of_own_landmarks_is_valid(settings: dict[str, Any]) -> None:
    example = yaml.safe_load((ROOT / "examples/some-landmarks.yaml").read_text())
    for part, entries in example.items():
        settings[part].update(entries)
    assert checked(settings, SCHEMA)["landmark"]["some-landmarks"]["learning"]["negatives"] == 500


def test_only_the_small_simulated_log_belongs_to_the_demo(settings: dict[str, Any]) -> None:
    datasets = checked(settings, SCHEMA)["datasets"]
    demo = {name for name, data in datasets.items() if in_demo(data)}
    assert demo == {"demo", "demo_landmarks", "websim_demo", "demo_triplets"}
    assert datasets["websim"]["simulation"]["n_images"] == 2_292_259 + 402_164


def test_names_of_landmarks_are_those_of_the_data_set(settings: dict[str, Any]) -> None:
    from lookalike.core.seeds import integer_seed
    from lookalike.datasets.synthetic_landmarks import SyntheticLandmarks

    config = checked(settings, SCHEMA)
    seed = integer_seed(config["seed"], "datasets", "demo_landmarks")
    spec = SyntheticLandmarks.from_settings(config["datasets"]["demo_landmarks"]["synthetic_landmarks"], seed)
    settings["landmark"]["demo_landmarks"]["landmarks"] = spec.landmark_names()[1:3]
    settings["landmark"]["oxford5k"]["landmarks"] = ["keble", "balliol"]
    assert len(checked(settings, SCHEMA)["landmark"]["demo_landmarks"]["landmarks"]) == 2


def test_a_codebook_overrides_what_its_study_does(settings: dict[str, Any]) -> None:
    config = checked(settings, SCHEMA)
    blocks = {
        codebook: method_spec(config, "oxford5k", "qpao", codebook)["parameters"]["n_blocks"]
        for codebook in config["landmark"]["oxford5k"]["codebooks"]
    }
    assert blocks == {"sift-10k": 50, "sift-100k": 50, "sift-1m": 500}, "the paper's numbers of subsets"


def test_a_study_overrides_parts_of_a_method(settings: dict[str, Any]) -> None:
    config = checked(settings, SCHEMA)
    demo, papers = method_spec(config, "demo", "oasis"), method_spec(config, "caltech256", "oasis")
    assert demo["trace"]["steps"] < papers["trace"]["steps"] == 250_000
    assert demo["parameters"] == papers["parameters"]
    assert papers["select"]["aggressiveness"] == [0.01, 0.03, 0.1, 0.3, 1.0]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("colour", 1, ["unknown key 'colour'", "category, codebooks, datasets"]),
        ("datasets.demo.shard", 1, ["unknown key 'shard'", "did you mean 'shards'"]),
        ("datasets.demo.shards", 0, ["datasets.demo.shards", "minimum"]),
        ("methods.oasis.trace.aggressiveness", "1e-05", ["the text '1e-05'", "1.0e-05"]),
        ("category.demo.representation", "words100", ["'words100'", "did you mean 'words1000'"]),
        ("category.demo.methods", ["oasiss"], ["'oasiss'", "did you mean 'oasis'"]),
        ("category.demo.exhibits", {"oasis-jmlr-2010/fig6": ["demo1"]}, ["'demo1'", "demo10"]),
        ("category.demo.overrides.oasis.job", "fold", ["unknown key 'job'", "did you mean 'jobs'"]),
        ("methods.lego", {"title": "LEGO"}, ["methods.lego", "'learner' is a required property"]),
        ("methods.oasis.learner", "OASYS", ["methods.oasis.learner", "did you mean 'OASIS'"]),
        ("category.demo.exhibits", {"oasis-jmlr-2010/tabel4": ["demo10"]}, ["tabel4", "did you mean", "table4"]),
        ("category.demo.subsets.demo10.printed", {"oasis-jmlr-2010": "classes=11"}, ["classes=11"]),
        ("category.demo.overrides.leggo", {}, ["'leggo'", "lego"]),
        ("category.demo.rankers", {"count": 4, "averages": [5]}, ["averages", "count, 4"]),
        ("category.demo.rankers", {"count": 4, "averages": [2], "folds": 6}, ["rankers.folds", "splits.folds"]),
        ("category.demo.splits", {"train": 8, "validation": 8}, ["validation must be smaller"]),
        ("category.nothing", {"representation": "words500", "methods": ["oasis"], "subsets": {"a": {"classes": "all"}}},
         ["'nothing'", "caltech256, demo"]),
        ("datasets.mine", {"kind": "folder"}, ["datasets.mine", "`path`"]),
        ("category.demo.variants", ["oasis-prj"], ["category.demo.variants", "did you mean 'oasis-proj'?"]),
        ("category.demo.timed", ["oasis"], ["'oasis'", "more than once", "methods, variants, timed, projected"]),
        ("category.demo.projected", ["rca"], ["'rca'", "needs a `trace`"]),
        ("category.demo.ablation_methods", ["rca"], ["category.demo.ablation_methods", "there are: euclidean"]),
        ("methods.mcml.time_limit", 0, ["methods.mcml.time_limit"]),
        ("representations.words500.descriptor", "sift", ["'sift'", "lbp59-rgb20"]),
        ("datasets.mine", {"kind": "landmarks", "path": "x"}, ["datasets.mine", "`ground_truth`", "_query.txt"]),
        ("codebooks.words500", {"words": 5, "keypoints": "sift"}, ["codebooks.words500", "id of a representation"]),
        ("codebooks.more", {"words": 5}, ["codebooks.more", "needs `keypoints`"]),
        ("codebooks.sift-10k.keypoints", "surf", ["'surf'", "there are: sift"]),
        ("landmark.demo_landmarks.codebooks", ["sift-demo-10k", "sift-demo-1k"], ["small to large", "[10000, 1000]"]),
        ("landmark.demo_landmarks.codebooks", ["oxford-words"], ["'oxford-words'", "Oxford5K only"]),
        ("landmark.demo_landmarks.methods", ["soml"], ["landmark.demo_landmarks.methods", "'soml'"]),
        ("landmark.demo_landmarks.variants", ["soml-da"], ["'soml-da'", "more than once"]),
        ("landmark.demo_landmarks.sweep.methods", ["soml-dd"], ["sweep", "did you mean 'soml-da'?"]),
        ("landmark.demo_landmarks.overrides.qpoa", {}, ["'qpoa'", "did you mean 'qpao'?"]),
        ("landmark.oxford5k.codebook_overrides", {"sift-2k": {}}, ["'sift-2k'", "sift-10k"]),
        ("landmark.demo", {"codebooks": ["sift-10k"], "methods": ["tfidf"]}, ["category and landmark", "'demo'"]),
        ("landmark.demo_landmarks.landmarks", "some", ["landmark.demo_landmarks.landmarks"]),
        ("landmark.demo_landmarks.landmarks", ["town_hal"], ["demo_landmarks.landmarks", "'town_hal'", "there are: "]),
        ("landmark.oxford5k.landmarks", ["all_soul"], ["oxford5k.landmarks", "did you mean 'all_souls'?", "keble"]),
        ("landmark.oxford5k.landmarks", "all", ["landmark.oxford5k.landmarks must list", "there are: all_souls"]),
        ("landmark.demo_landmarks.methods", ["tfidf", "euclidean"],
         ["'euclidean'", "learner Euclidean has no diagonal metric", "SOMLTG, SOMLDA"]),
        ("landmark.demo_landmarks.dimensions.methods", ["lego"], ["'lego'", "no diagonal metric"]),
        ("landmark.demo_landmarks.sweep.methods", ["qpao"], ["sweep.methods", "'qpao'", "no lambda", "SOMLTG, SOMLDA"]),
        ("landmark.demo_landmarks.sweep.draws", 3, ["sweep.draws", "learning.draws, 2"]),
        ("methods.soml-tg.select", {"regularization": [1e-5, 1e-6]}, ["'soml-tg'", "a `select`", "no validation cut"]),
        ("landmark.demo_landmarks.overrides.qpao.trace", {"steps": 5}, ["'qpao'", "a `trace`"]),
        ("landmark.oxford5k.codebook_overrides.sift-1m.qpao.jobs", "subset", ["sets `jobs`", "oxford5k.overrides"]),
        ("landmark.oxford5k.codebooks", ["sift-10k", "sift-1m", "oxford-words"],
         ["sift-1m and oxford-words", "1,000,000 words each", "only one"]),
        ("datasets.demo_landmarks.synthetic_landmarks.good", 0.1,
         ["datasets.demo_landmarks.synthetic_landmarks: ", "good", "one for each query"]),
        ("datasets.demo_landmarks.synthetic_landmarks.width", 1024,
         ["datasets.demo_landmarks.synthetic_landmarks: ", "width / height is 4.2", "from 0.5 to 2.5"]),
        ("datasets.demo.synthetic.width", 1024, ["datasets.demo.synthetic: ", "width / height"]),
        ("category.oxford5k", {"representation": "words500", "methods": ["oasis"],
         "subsets": {"a": {"classes": "all"}}}, ["'oxford5k'", "name it in one of them"]),
        ("category.demo.ratings.subset", "demo30", ["demo.ratings.subset", "did you mean 'demo"]),
        ("category.demo.ratings.fold", 5, ["demo.ratings.fold", "5 partitions"]),
        ("category.demo.methods", ["euclidean"], ["demo.ratings", "list oasis"]),
        ("web.websim.training", {"interval": 5000}, ["interval, 5000", "multiple of training.block, 2048"]),
        ("web.websim.training", {"share": 0.01}, ["training.share", "co_clicks only"]),
        ("web.websim.training", {"relevance": "co_clicks"}, ["co_clicks", "`share`"]),
        ("web.websim.training", {"mode": "hogwild"}, ["web.websim.training.mode", "look-ahead"]),
        ("web.demo", {}, ["category and web", "'demo'"]),
        ("web.nothing", {}, ["'nothing'"]),
        ("datasets.websim.simulation", {"n_images": 50}, ["datasets.websim.simulation.n_images"]),
        ("datasets.websim.simulation", {"words": 300}, ["datasets.websim.simulation: "]),
        ("datasets.websim.kind", "synthetic", ["web.websim", "websim, not synthetic"]),
    ],
)  # fmt: skip
def test_each_mistake_is_one_sentence_with_a_way_out(
    settings: dict[str, Any], path: str, value: object, words: list[str]
) -> None:
    *parents, last = path.split(".")
    place = settings
    for parent in parents:
        place = place[parent]
    place[last] = value
    with pytest.raises(LookalikeError) as caught:
        checked(settings, SCHEMA)
    message = str(caught.value)
    assert message.startswith("config: ")
    assert "\n" not in message
    for word in words:
        assert word in message
