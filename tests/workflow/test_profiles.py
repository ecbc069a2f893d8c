"""The profile of SLURM: what it asks of a cluster, and what a user sees of a job that the cluster refuses.

That jobs run and end there is tried on a real SLURM: tests/cluster, in the job `slurm` of CI. Where there is none, this
holds what is asked of `sbatch`, which notes it here and refuses.
"""

import os
import re

import pytest
import yaml
from project import ROOT, run_in

pytestmark = pytest.mark.workflow

REFUSAL = "Memory specification can not be satisfied"
CLUSTER = {
    "sinfo": "echo PARTITION; echo 'short*'",
    "sacct": "",
    "squeue": "",
    "sbatch": f"""printf '%s\\n' "$*" | sed 's/--wrap=.*//' >> "$0.asked"; echo "{REFUSAL}" >&2; exit 1""",
}


@pytest.fixture(scope="module")
def project(new_project):
    return new_project("clustered")


def run(project, *arguments, config="tests/workflow/tiny.yaml", **environment):
    """Let Snakemake run or plan something with the profile, and no other option that says where."""
    command = [word for word in project.command(*arguments, config=config) if word not in ("--cores", "2")]
    command[3:3] = ["--profile", "profiles/slurm"]
    return run_in(project.folder, command, project.environment() | environment)


def test_sbatch_is_asked_for_what_a_job_needs_and_why_it_refuses_is_said(project, tmp_path):
    for name, line in CLUSTER.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    targets = ("results/websim/runtime/oasis-60.parquet", "results/websim_demo/log.npz")
    soon = ("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1")
    done = run(project, "--retries", "0", *soon, *targets, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 1, done.stdout
    assert done.stdout.count(REFUSAL) == 2, done.stdout
    assert "2 of 2 steps failed" in done.stdout
    asked = (tmp_path / "sbatch.asked").read_text().splitlines()
    timed, other = sorted(asked, key=lambda line: "time_size" not in line)
    for line in asked:
        assert re.search("-p short .*--cpus-per-task=1", line), line
    assert re.search("-t 240 --mem 8000 .*--exclusive", timed), timed
    assert re.search("-t 240 --mem 4000 ", other), other
    assert "--exclusive" not in other


def test_what_is_timed_has_a_node_to_itself(project):
    done = run(project, "--dry-run", "--forceall", "demo", config="config.yaml")
    jobs = re.findall(r"^rule (\w+):\n(?:    .*\n)*?    resources: (.*)", done.stdout, re.M)
    assert jobs, done.stdout
    alone = {rule for rule, resources in jobs if "slurm_extra=--exclusive" in resources}
    # side studies have no times in their tables: they run alone on one machine for the memory that they take
    assert alone == {rule for rule, resources in jobs if "exclusive=1" in resources} - {"run_side_study"}


def test_the_profile_names_rules_that_there_are(project):
    rules = project.snakemake("--list-rules", config="config.yaml").split()
    settings = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    assert set(settings["set-resources"]) <= set(rules)
