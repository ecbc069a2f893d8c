"""Hours of a study before it starts: from a rehearsal, parts of other runs, or an earlier run."""

import json

import pytest
from project import ROOT

from lookalike.report.costs import Task, full_seconds, study_cost

KEPT = ROOT / "workflow" / "resources" / "runs"


def test_the_rehearsed_study_takes_its_five_partitions_less_what_is_done():
    kept = json.loads((KEPT / "full-size" / "rehearsal.json").read_text())
    for cores, hours in ((2, 6.1), (16, 0.97)):
        cost = study_cost(KEPT, "caltech256", cores)
        assert cost.seconds / 3600 == pytest.approx(hours, rel=0.01)
        assert cost.is_least, "fits ended at a limit"
    left = study_cost(KEPT, "caltech256", 2, lambda job: "/lmnn/" in job and not job.endswith("/4"))
    of_lmnn = sum(job["cpu_seconds"] * job["times"] for name, job in kept["jobs"].items() if "/lmnn/" in name)
    done = study_cost(KEPT, "caltech256", 2).seconds - left.seconds
    assert done == pytest.approx(of_lmnn * 4 / 5 / 2), "four of five partitions, on two cores"
    assert study_cost(KEPT, "caltech256", 2, lambda job: True).seconds == 0


def test_other_studies_take_what_parts_or_their_own_run_took():
    two, many = (study_cost(KEPT, "websim", cores).seconds for cores in (2, 16))
    assert two > many > two / 8
    rules = json.loads((KEPT / "caltech20.json").read_text())["rules"]
    total, longest = sum(rule["cpu_seconds"] for rule in rules), max(rule["longest_seconds"] for rule in rules)
    # beside other runs a job may take longer by the clock than all take of a processor
    assert study_cost(KEPT, "caltech20", 1).seconds == pytest.approx(max(total, longest))
    assert study_cost(KEPT, "caltech20", 64).seconds == longest
    assert study_cost(KEPT, "nobody-ran-this", 2) is None


def test_cores_share_what_jobs_take_and_a_job_waits_for_what_it_needs():
    tasks = {"a": Task(3, 1, ()), "b": Task(2, 1, ("a",)), "c": Task(8, 2, ("gone",))}
    assert [full_seconds(tasks, cores) for cores in (1, 2, 3)] == [13, 6.5, 5]
