"""The profile of SLURM: real jobs through commands that stand in for the cluster's own, and what they ask of it.

Nothing here is a cluster. The stand-ins note how they were called and run the job on this machine, so that what is
tested is our side: the profile, what it asks for, and that a job finds its code and files where it starts.
"""

import os
import re
import shlex

import pytest
import yaml
from PIL import Image
from project import ROOT, run_in

pytestmark = pytest.mark.workflow

OWN = "own"

# what the plugin asks of a cluster before and after it submits
SLURM = {
    "sinfo": 'echo "PARTITION"; echo "short*"',
    "sacctmgr": "",
    "sshare": "",
    "scontrol": "",
    "scancel": "",
    "squeue": "",
    # a job ends where sbatch returns: the last word of its file is its state
    "sacct": 'case "$*" in *JobIdRaw*) cat "$CLUSTER"/state/* 2>/dev/null ;; esac',
    # everything before --wrap or the script is what is asked for; the script comes through stdin
    "sbatch": r"""
id=$(($(ls "$CLUSTER/state" | wc -l) + 1))
printf '%s\n' "$*" | sed 's/--wrap=.*//' >> "$CLUSTER/asked.txt"
for word in "$@"; do case $word in --wrap=*) script=${word#--wrap=} ;; esac; done
if SLURM_JOB_ID=$id sh -c "$script" > "$CLUSTER/$id.log" 2>&1; then state=COMPLETED; else state=FAILED; fi
echo "$id|$state" > "$CLUSTER/state/$id"
echo "$id"
""",
    # without its own options, srun runs what it is given
    "srun": 'while case $1 in -*) true ;; *) false ;; esac; do shift; done; exec "$@"',
}


@pytest.fixture
def cluster(tmp_path):
    """A folder of commands of a cluster, which run what they are given here and note how they were called."""
    (tmp_path / "state").mkdir()
    for name, lines in SLURM.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def run(project, cluster, *arguments):
    """Return what Snakemake says to the profile: no other option that says where jobs run."""
    command = [word for word in project.command(*arguments, config="own.yaml") if word not in ("--cores", "2")]
    command[3:3] = ["--profile", "profiles/slurm"]
    own = {"PATH": f"{cluster}{os.pathsep}{os.environ['PATH']}", "CLUSTER": str(cluster)}
    done = run_in(project.folder, command, project.environment() | own)
    logs = "\n".join(path.read_text() for path in cluster.glob("*.log"))
    assert done.returncode == 0, done.stdout + logs
    return done.stdout


@pytest.fixture(scope="module")
def project(new_project):
    """A project with a data set of a user's own: one short step finds its folder."""
    project = new_project("clustered")
    for label in ("cat", "dog"):
        folder = project.folder / OWN / label
        folder.mkdir(parents=True)
        for i in range(3):
            Image.effect_noise((64, 48), 40 + i).convert("RGB").save(folder / f"{i}.png")
    settings = yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text())
    data = {"kind": "folder", "path": OWN, "shards": 1, "pool": {"share": 0.5, "keep": 2}}
    study = {"representation": "words500", "methods": ["euclidean"], "subsets": {"some": {"classes": "all"}}}
    settings["datasets"]["on_slurm"], settings["category"]["on_slurm"] = data, study
    (project.folder / "own.yaml").write_text(yaml.safe_dump(settings))
    return project


def test_jobs_go_through_sbatch_with_what_they_need(project, cluster):
    soon = ("--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5", "--retries", "0")
    run(project, cluster, *soon, "results/on_slurm/images.json")
    asked = (cluster / "asked.txt").read_text().splitlines()
    assert len(asked) == 1
    words = shlex.split(asked[0])
    assert words[words.index("-p") + 1] == "short", "the cluster's default partition"
    assert words[words.index("--mem") + 1] == "2000"
    assert words[words.index("-t") + 1] == "480"
    assert "--cpus-per-task=1" in words
    assert "--exclusive" not in words
    assert OWN in (project.folder / "results/on_slurm/images.json").read_text()
    assert (project.folder / "logs/on_slurm/locate_images.job.json").is_file()


def test_what_is_timed_has_a_node_to_itself(project, cluster):
    said = run(project, cluster, "--dry-run", "results/websim/runtime/oasis-60.parquet")
    timed = said[said.index("rule time_size_websim:") :]
    assert re.search(r"resources: .*mem_mb=8000.* runtime=240.* slurm_extra=--exclusive", timed), said
    assert not (cluster / "asked.txt").exists()


def test_the_profile_names_rules_that_there_are(project):
    rules = project.snakemake("--list-rules", config="config.yaml").split()
    settings = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    assert set(settings["set-resources"]) <= set(rules)
    assert {"jobs", "latency-wait", "retries", "default-resources"} <= settings.keys()
