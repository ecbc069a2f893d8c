"""What the settings of a web study plan: files, settings of jobs, and exhibits."""

from __future__ import annotations

import copy
import json

import pytest
from made_web import CONFIG

from lookalike.studies.web import plan


def without(*names):
    config = copy.deepcopy(CONFIG)
    for name in names:
        del config["web"]["made"][name]
    return config


def test_every_ranker_size_and_shard_is_planned():
    assert plan.of_rankers(CONFIG, "made", "W.npy") == [f"results/made/rankers/{n}/W.npy" for n in (0, 1)]
    assert plan.shards(CONFIG, "made") == [f"results/made/visterms/shard-{n}" for n in ("000", "001")]
    names = ["oasis-60", "oasis-600", "lmnn-100"]
    assert plan.timed_runs(CONFIG, "made") == [f"results/made/runtime/{name}.parquet" for name in names]
    assert plan.timed_runs(without("runtime"), "made") == []
    assert plan.searched(without("approximate"), "made") == []


def test_sizes_are_timed_one_by_one_or_in_one_job():
    config = copy.deepcopy(CONFIG)
    config["web"]["made"]["batch"] = "method"
    assert plan.runtime_batch(config, "made").files == ["results/{dataset}/runtime/{learner}-{size}.parquet"]
    config["web"]["made"]["batch"] = "subset"
    together = [file.format(dataset="made") for file in plan.runtime_batch(config, "made").files]
    assert together == plan.timed_runs(config, "made")


def test_jobs_read_only_what_decides_their_results():
    assert plan.triplet_settings(CONFIG, "made") == {"aggressiveness": 0.1, "steps": 100}
    assert plan.timed_settings(CONFIG, "made", "lmnn") == {"lmnn": {"max_iter": 5, "time_limit": 7}}
    assert set(plan.timed_settings(CONFIG, "made")) == {"lmnn", "oasis"}
    oasis = plan.timed_settings(CONFIG, "made", "oasis")["oasis"]
    assert "images" not in oasis
    assert (oasis["validation_images"], oasis["validation_queries"], oasis["steps_per_image"]) == (50, 10, 9)


def test_an_average_is_compared_where_there_are_several_rankers():
    assert list(plan.methods(CONFIG, "made")) == ["oasis", "oasis-averaged", "euclidean"]
    alone = copy.deepcopy(CONFIG)
    alone["web"]["made"]["training"]["rankers"] = 1
    assert list(plan.methods(alone, "made")) == ["oasis", "euclidean"]


@pytest.mark.parametrize(
    ("left_out", "gone"),
    [
        ((), set()),
        (("runtime",), {"oasis-jmlr-2010/fig4", "oasis-nips-2009/fig1b"}),
        (("approximate",), {"web/approximate", "web/recall"}),
    ],
)
def test_exhibits_follow_the_settings_and_their_files_are_planned(left_out, gone):
    config = without(*left_out)
    exhibits = plan.exhibits(config, "made")
    every = {exhibit.id for exhibit in plan.exhibits(CONFIG, "made")}
    assert every - {exhibit.id for exhibit in exhibits} == gone
    files = plan.exhibit_files(config, "made")
    assert {name for exhibit in exhibits for name in (*exhibit.needs, *exhibit.optional)} <= set(files)
    settings = plan.exhibit_settings(config, "made", "not run: why")
    assert json.loads(json.dumps(settings)) == settings
