"""What the settings of a web study plan: files, settings of jobs, and exhibits."""

from __future__ import annotations

import copy

import pytest
from contract import check_plan
from made_web import CONFIG

from lookalike.studies.web import plan


def changed(*without, **settings):
    config = copy.deepcopy(CONFIG)
    study = config["web"]["made"]
    for name in without:
        del study[name]
    study["training"] |= settings.pop("training", {})
    study |= settings
    return config


def test_every_ranker_size_and_shard_is_planned_one_by_one_or_in_one_job():
    assert plan.of_rankers(CONFIG, "made", "W.npy") == [f"results/made/rankers/{n}/W.npy" for n in (0, 1)]
    assert plan.shards(CONFIG, "made") == [f"results/made/visterms/shard-{n}" for n in ("000", "001")]
    runs = [f"results/made/runtime/{name}.parquet" for name in ("oasis-60", "oasis-600", "lmnn-100")]
    assert plan.timed_runs(CONFIG, "made") == runs
    one_by_one, together = (plan.runtime_batch(changed(batch=size), "made").files for size in ("method", "subset"))
    assert one_by_one == ["results/{dataset}/runtime/{learner}-{size}.parquet"]
    assert [file.format(dataset="made") for file in together] == runs
    assert plan.timed_runs(changed("runtime"), "made") == plan.searched(changed("approximate"), "made") == []


def test_jobs_read_only_what_decides_their_results():
    assert plan.triplet_settings(CONFIG, "made") == {"aggressiveness": 0.1, "steps": 100}
    assert plan.timed_settings(CONFIG, "made", "lmnn") == {"lmnn": {"max_iter": 5, "time_limit": 7}}
    oasis = plan.timed_settings(CONFIG, "made")["oasis"]
    assert "images" not in oasis
    assert (oasis["validation_images"], oasis["validation_queries"], oasis["steps_per_image"]) == (50, 10, 9)


@pytest.mark.parametrize(
    ("left_out", "gone"),
    [
        ((), set()),
        (("runtime",), {"oasis-jmlr-2010/fig4", "oasis-nips-2009/fig1b"}),
        (("approximate",), {"web/approximate", "web/recall"}),
    ],
)
def test_exhibits_follow_the_settings(left_out, gone):
    every = check_plan(plan, CONFIG, "made")
    assert len(every) == 12
    assert every - check_plan(plan, changed(*left_out), "made") == gone
    assert list(plan.methods(CONFIG, "made")) == ["oasis", "oasis-averaged", "euclidean"]
    assert list(plan.methods(changed(training={"rankers": 1}), "made")) == ["oasis", "euclidean"]
