"""Odd folders that a project may lie in, and the profile of SLURM: what is asked of a cluster, and how it refuses."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from project import ROOT, copy_project, run_in

pytestmark = pytest.mark.workflow


def test_jobs_run_in_a_folder_of_any_name(tmp_path, monkeypatch):
    folder = tmp_path / "a b's $(touch x);&{y}[\"*]"
    folder.mkdir()
    (folder / ".venv").symlink_to(sys.prefix)
    monkeypatch.setattr(sys, "executable", str(folder / ".venv" / "bin" / "python"))
    copy_project(folder).snakemake("results/demo/manifest.parquet", cores=1)
    assert (folder / "results" / "demo" / "manifest.parquet").is_file()
    assert not (folder / "x").exists()


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can be another user")
def test_a_user_without_a_name_plans_a_run(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o777 == 0o700:  # as pytest makes them
            folder.chmod(0o755)
    os.chown(tmp_path, 12345, 12345)
    environment = {name: value for name, value in os.environ.items() if name not in ("LOGNAME", "USER", "USERNAME")}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", sys.executable, "-m", "snakemake"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--dry-run", "results/demo/manifest.parquet"]
    done = run_in(tmp_path, command, environment)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("name", ["a:b", "a\nb", "a\udcffb"])
def test_a_folder_that_no_environment_can_lie_in_is_refused_at_once(tmp_path, name):
    folder = tmp_path / name
    shutil.copytree(ROOT / "envs", folder / "envs")
    shutil.copy(ROOT / "Makefile", folder)
    command = ["make", "--no-print-directory", f"PYTHON={sys.executable}", ".venv/.installer"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert "which no virtual environment can have: move it" in done.stderr
    assert not (folder / ".venv").exists()


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


def test_the_profile_names_rules_that_there_are_and_what_is_timed_has_a_node_to_itself(project):
    done = run(project, "--dry-run", "--forceall", "demo", config="config.yaml")
    jobs = re.findall(r"^rule (\w+):\n(?:    .*\n)*?    resources: (.*)", done.stdout, re.M)
    assert jobs, done.stdout
    alone = {rule for rule, resources in jobs if "slurm_extra=--exclusive" in resources}
    # side studies have no times in their tables: they run alone on one machine for the memory that they take
    assert alone == {rule for rule, resources in jobs if "exclusive=1" in resources} - {"run_side_study"}
    rules = project.snakemake("--list-rules", config="config.yaml").split()
    settings = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    assert set(settings["set-resources"]) <= set(rules)
