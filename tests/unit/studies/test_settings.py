"""The settings: completed, held to what studies know, and wrong in one sentence."""

import json

import pytest
import yaml
from contract import ROOT
from jsonschema import Draft202012Validator
from project import own_settings
from snakemake.utils import update_config

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.model import plain
from lookalike.studies.recipes import recipe_of
from lookalike.studies.settings import Settings, checked, settings_schema

DEMO = {"demo", "caltech20", "caltech20-embeddings", "landmarks11", "demo_landmarks", "websim_demo", "demo_triplets"}


@pytest.fixture
def settings():
    return own_settings()


def put(settings, path, value):
    *parents, last = path.split(".")
    for parent in parents:
        settings = settings.setdefault(parent, {})
    settings[last] = value


def test_what_is_left_out_takes_its_default_or_stays_absent(settings):
    put(settings, "methods.qpao.parameters.upper", None)
    before = json.dumps(settings)
    config = checked(settings)
    assert json.dumps(settings) == before, "the caller's own mapping must stay as it is"
    whole = plain(config)
    assert json.loads(json.dumps(whole)) == whole == plain(checked(whole)), "what is complete stays as it is"
    assert plain(config.category["caltech256"].splits) == {"folds": 5, "train": 40, "test": 25, "validation": 8}
    assert config.datasets["demo"].clutter == ["257.clutter"]
    assert config.methods["oasis"].trace.aggressiveness == 0.1
    assert config.finegrained["triplets"].networks.ranking.learning_rate == 0.0003
    assert checked({**settings, "web": {"websim": {}}}).web["websim"].runtime is None
    assert "share" not in whole["web"]["websim"]["training"]
    assert {name for name, data in config.datasets.items() if data.in_demo} == DEMO
    assert config.datasets["websim"].simulation.n_images == 2_292_259 + 402_164
    # numbers stay as they were written
    assert repr(config.methods["mcml"].time_limit) == "432000"
    assert config.methods["qpao"].parameters == {"C": 10.0, "upper": None}


def test_pools_leave_what_splits_need_landmarks_are_named_and_a_study_like_another_has_what_it_leaves_out(settings):
    settings["category"]["demo"]["splits"] = {"train": 20, "test": 10}
    settings["datasets"]["caltech256"]["pool"] = {"keep": 70}
    datasets = checked(settings).datasets
    assert {name: datasets[name].pool.keep for name in ("caltech256", "demo")} == {"caltech256": 70, "demo": 30}
    recipe = recipe_of(checked(settings), "demo_landmarks")
    settings["landmark"]["demo_landmarks"]["landmarks"] = recipe.names()[1:3]
    settings["landmark"]["oxford5k"]["landmarks"] = ["keble", "balliol"]
    assert len(checked(settings).landmark["demo_landmarks"].landmarks) == 2
    put(settings, "category.websim", {"like": "demo", "methods": ["euclidean"]})
    put(settings, "datasets.websim", {"kind": "folder", "path": "data/mine"})
    del settings["web"]["websim"]
    del settings["category"]["demo"]["ratings"]
    config = plain(checked(settings))["category"]
    assert config["websim"] == config["demo"] | {"like": "demo", "methods": ["euclidean"]}


@pytest.mark.parametrize("name", ["config.yaml", "config/demo.yaml"])
def test_editors_check_both_files_by_a_schema_that_is_the_models(name):
    file, schema = ROOT / name, ROOT / "config/schema.json"
    assert schema.read_text(encoding="utf-8") == settings_schema(), "make schema"
    first, _, text = file.read_text().partition("\n")
    assert (file.parent / first.removeprefix("# yaml-language-server: $schema=")).resolve() == schema
    validator, written = Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))), yaml.safe_load(text)
    assert list(validator.iter_errors(written)) == []
    written["category"]["demo"] = {"metods": ["oasis"], "representation": 7}
    mistakes = " ".join(error.message for error in validator.iter_errors(written))
    assert "'metods' was unexpected" in mistakes
    assert "7 is not of type 'string'" in mistakes


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_of_the_documentation_are_valid(settings, example):
    laid_over = yaml.safe_load(example.read_text())
    update_config(settings, laid_over)
    config = checked(settings)
    assert all(name in getattr(config, part) for part, entries in laid_over.items() for name in entries)
    if example.stem == "caltech256-pool":
        assert len(config.category[example.stem].runs("fit.json")) == 5 * 3 * 5, "beside the main run, on small subsets"
    if example.stem == "fast":
        assert not {"mcml", "lmnn", "lmnn-naive"} & set(config.category["caltech256"].run_methods())
        assert config.landmark["oxford5k"].codebooks == ["sift-10k"]


def test_a_study_overrides_parts_of_a_method(settings):
    put(settings, "category.demo.overrides.euclidean", {"trace": {"steps": 50}})
    studies = checked(settings).category
    demo, papers = studies["demo"].spec("oasis"), studies["caltech256"].spec("oasis")
    assert demo.trace == papers.trace.model_copy(update={"steps": 60_000, "points": 9})
    assert demo.parameters == papers.parameters
    assert papers.parameters["aggressiveness"] == 0.1
    assert plain(studies["demo"])["overrides"]["lego"] == settings["category"]["demo"]["overrides"]["lego"]
    added = studies["demo"].spec("euclidean").trace
    assert (added.steps, added.points, added.stop) == (50, 60, True)


def test_qpao_has_the_papers_numbers_of_blocks_unless_told_otherwise(settings):
    def blocks(dataset="oxford5k", named=("sift-10k", "sift-100k", "sift-1m", "oxford-words")):
        study = checked(settings).landmark[dataset]
        return [study.spec("qpao", codebook).parameters["n_blocks"] for codebook in named]

    studies = checked(settings).landmark
    assert (blocks(), blocks("landmarks11", ["sift-10k"])) == ([50, 50, 500, 500], [50])
    assert "n_blocks" not in studies["oxford5k"].spec("tfidf", "sift-1m").parameters
    # the study's change for a codebook comes before the method's own, and one that it does not use is ignored
    put(settings, "methods.qpao.parameters.n_blocks", 7)
    put(settings, "landmark.oxford5k.codebook_overrides", {"sift-1m": {"qpao": {"parameters": {"n_blocks": 700}}}})
    assert blocks() == [7, 7, 700, 7]
    put(settings, "landmark.oxford5k.codebooks", ["sift-10k"])
    assert checked(settings).landmark["oxford5k"].codebooks == ["sift-10k"]


def test_every_key_is_described_and_no_section_takes_unknown_keys():
    schema = Settings.model_json_schema()
    sections = {"the top level": schema, **schema["$defs"]}
    assert [name for name, section in sections.items() if section["additionalProperties"] is not False] == []
    keys = {f"{name}.{key}": entry for name, part in sections.items() for key, entry in part["properties"].items()}
    assert len(keys) > 150
    own = {key: value for key, value in keys.items() if "$ref" not in json.dumps(value)}
    assert [name for name, value in {**sections, **own}.items() if not value.get("description")] == []


TWO_TRUTHS = {"kind": "landmarks", "path": "x", "ground_truth": "y", "distractors": ["z"]}


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("colour", 1, ["unknown key 'colour'", "category, codebooks, datasets"]),
        ("datasets.demo.shard", 1, ["unknown key 'shard'", "did you mean 'shards'"]),
        ("datasets.demo.shards", True, ["datasets.demo.shards must be a valid integer, not True"]),
        ("datasets.demo.pool", [1], ["datasets.demo.pool must be a map of keys, not [1]"]),
        ("datasets.a b", {"kind": "synthetic"}, ["datasets.a b is no id", "letters, digits"]),
        ("datasets.more", {}, ["datasets.more needs `kind`"]),
        ("datasets.more", {"kind": "photos"}, ["datasets.more.kind must be 'caltech256', 'folder'", "not 'photos'"]),
        ("datasets.websim.classes", ["cat"], ["unknown key 'classes' at datasets.websim; ", "simulation"]),
        ("category.caltech20.ablations", ["words10000"], ["needs images, and a data set of kind visterms has"]),
        ("datasets.caltech256", {"kind": "websim"}, ["a data set with classes, of kind caltech256,", "not websim"]),
        ("category.demo.subsets.demo10.classes", "first", ["demo10.classes must be `all`", "`first N`"]),
        ("category.demo.subsets.demo10.classes", ["a", "a"], ["must be `all`", "two or more class names"]),
        ("category.demo.methods", ["oasis", "oasis"], ["category.demo.methods lists 'oasis' twice"]),
        ("category.demo.overrides.oasis.trace.steps", "1e5", ["overrides.oasis.trace.steps", "1.0e+05"]),
        ("finegrained.triplets.features", {"hog": {"cell": 3}}, ["finegrained.triplets.features.hog: "]),
        ("finegrained.triplets.sampler.out_of_class", 0.123, ["whole percent", "not 0.123"]),
        ("category.demo.like", "caltech13", ["category", "demo is like 'caltech13'"]),
        ("category.demo.methods", ["oasiss"], ["'oasiss'", "did you mean 'oasis'"]),
        ("category.demo.exhibits", {"oasis-jmlr-2010/fig6": ["demo1"]}, ["'demo1'", "demo10"]),
        ("methods.oasis.learner", "OASYS", ["methods.oasis.learner", "did you mean 'OASIS'"]),
        ("methods.lego", {"title": "LEGO"}, ["methods.lego needs a `learner`", "OASIS"]),
        ("finegrained.websim", {}, ["web and finegrained both list 'websim'"]),
        ("category.demo.exhibits", {"oasis-jmlr-2010/tabel4": ["demo10"]}, ["tabel4", "did you mean", "table4"]),
        ("category.demo.subsets.demo10.printed", {"oasis-jmlr-2010": "classes=11"}, ["classes=11"]),
        ("category.demo.overrides.leggo", {}, ["'leggo'", "lego"]),
        ("category.demo.rankers", {"count": 4, "averages": [5]}, ["averages", "count, 4"]),
        ("category.demo.rankers", {"count": 4, "averages": [2], "folds": 6}, ["rankers.folds", "splits.folds"]),
        ("category.demo.splits", {"train": 8, "validation": 8}, ["validation must be smaller"]),
        ("datasets.mine", {"kind": "folder"}, ["datasets.mine", "`path`"]),
        ("category.demo.variants", ["oasis-prj"], ["category.demo.variants", "did you mean 'oasis-proj'?"]),
        ("category.demo.timed", ["oasis"], ["'oasis'", "more than once", "timed, set_aside, projected"]),
        ("category.demo.projected", ["rca"], ["'rca'", "needs a `trace`"]),
        ("representations.words500.descriptor", "sift", ["'sift'", "lbp59-rgb20"]),
        ("datasets.mine", TWO_TRUTHS, ["datasets.mine", "take `distractors` out"]),
        ("codebooks.words500", {"words": 5, "keypoints": "sift"}, ["codebooks.words500", "id of a representation"]),
        ("codebooks.more", {"words": 5}, ["codebooks.more", "needs `keypoints`"]),
        ("codebooks.sift-10k.keypoints", "surf", ["'surf'", "there are: sift"]),
        ("landmark.demo_landmarks.codebooks", ["sift-10k", "sift-demo-1k"], ["small to large", "[10000, 1000]"]),
        ("landmark.landmarks11.codebooks", ["sift-10k", "sift-100k"], ["counts are of one codebook", "name one"]),
        ("landmark.oxford5k.lead.codebooks", ["sift-10k", "sift-10m"], ["oxford5k.lead.codebooks", "'sift-10m'"]),
        ("landmark.demo_landmarks.codebooks", ["oxford-words"], ["'oxford-words'", "Oxford5K only"]),
        ("landmark.demo_landmarks.methods", ["soml"], ["landmark.demo_landmarks.methods", "'soml'"]),
        ("landmark.oxford5k.codebook_overrides", {"sift-2k": {}}, ["'sift-2k'", "sift-10k"]),
        ("landmark.demo_landmarks.landmarks", ["town_hal"], ["demo_landmarks.landmarks", "'town_hal'", "there are: "]),
        ("landmark.oxford5k.landmarks", ["all_soul"], ["oxford5k.landmarks", "did you mean 'all_souls'?", "keble"]),
        ("landmark.demo_landmarks.methods", ["euclidean"], ["Euclidean has no diagonal metric", "SOMLTG, SOMLDA"]),
        ("landmark.oxford5k.learning.positives", 3, ["must be at least 4", "a `select`, which holds out half"]),
        ("landmark.oxford5k.codebook_overrides.sift-1m.qpao.batch", "method", ["sets `batch`", "oxford5k.overrides"]),
        ("landmark.oxford5k.codebooks", ["sift-1m", "oxford-words"], ["each of its own size", "[1000000, 1000000]"]),
        ("datasets.demo.synthetic.width", 1024, ["datasets.demo.synthetic needs width / height", "not 5.3"]),
        ("datasets.demo_landmarks.synthetic_landmarks.height", 1024, ["width / height from 0.5 to 2.5", "not 0.3125"]),
        ("datasets.demo_landmarks.synthetic_landmarks.good", 0.9, ["needs good + ok of 1 or less"]),
        ("datasets.demo_landmarks.synthetic_landmarks.good", 0.1, ["of 5 or more, one for each query, not 3"]),
        ("datasets.demo_triplets.synthetic_triplets.held_out", 19, ["held_out to leave two categories, not 19"]),
        ("datasets.demo_triplets.synthetic_triplets.noise_images", 0.96, ["noise_images that are at most 570 images"]),
        ("datasets.demo_triplets.synthetic_triplets.triplets", 10, ["triplets of one a category or more, not 10"]),
        ("category.demo.ratings.subset", "demo30", ["demo.ratings.subset", "did you mean 'demo"]),
        ("category.demo.ratings.fold", 5, ["demo.ratings.fold", "5 partitions"]),
        ("category.demo.methods", ["euclidean"], ["demo.ratings", "list oasis"]),
        ("web.websim.training", {"interval": 5000}, ["interval, 5000", "multiple of training.block, 2048"]),
        ("web.websim.training", {"share": 0.01}, ["training: set `share`", "co_clicks only"]),
        ("web.websim.training", {"relevance": "co_clicks"}, ["set `share`, such as 0.01, for co_clicks"]),
        ("web.websim.training", {"relevance": "co_clicks", "share": 0.1, "theta": 0.1}, ["`theta` for joint"]),
        ("datasets.websim.simulation", {"words": 700}, ["simulation needs topic_words of a tenth", "not 80"]),
        ("datasets.websim.kind", "synthetic", ["web.websim", "websim, not synthetic"]),
    ],
)
def test_each_mistake_is_one_sentence_with_a_way_out(settings, path, value, words):
    put(settings, path, value)
    with pytest.raises(LookalikeError, match=r"\Aconfig: .*\Z") as caught:
        checked(settings)
    assert [word for word in words if word not in str(caught.value)] == []
