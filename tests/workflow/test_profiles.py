"""The profiles of clusters: real jobs through commands that stand in for the cluster's own, and what they ask of it.

Nothing here is a cluster. The stand-ins note how they were called and run the job on this machine, so that what is
tested is our side: the profile, what it asks for, and that a job finds its code and files where it starts.
"""

import json
import os
import re
import shlex
import subprocess

import pytest
import yaml
from PIL import Image
from project import ROOT

pytestmark = pytest.mark.workflow

PROFILES = ROOT / "profiles"
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
KUBERNETES = {
    "kubectl": r"""
case $1 in
create)
  cat > "$CLUSTER/job.json"
  eval "$(python3 -c '
import json, shlex, sys
job = json.load(open(sys.argv[1]))
pod = job["spec"]["template"]["spec"]["containers"][0]
print("name=" + shlex.quote(job["metadata"]["name"]), "run=" + shlex.quote(shlex.join(pod["command"])))
' "$CLUSTER/job.json")"
  if sh -c "$run" > "$CLUSTER/pod.log" 2>&1; then state=Complete; else state=Failed; fi
  echo "$state" > "$CLUSTER/state/$name"
  echo "job.batch/$name created" ;;
get) if [ -f "$CLUSTER/state/$3" ]; then cat "$CLUSTER/state/$3"; else echo "Error (NotFound)" >&2; exit 1; fi ;;
delete) echo "$@" >> "$CLUSTER/deleted.txt" ;;
esac
""",
}


class Cluster:
    """Commands of a cluster on the path, which run what they are given here, and notes of how they were called."""

    def __init__(self, folder, commands):
        self.notes = folder / "notes"
        (self.notes / "state").mkdir(parents=True)
        self.commands = folder / "commands"
        self.commands.mkdir()
        for name, lines in commands.items():
            (self.commands / name).write_text(f"#!/bin/sh\n{lines}\n")
            (self.commands / name).chmod(0o755)

    def environment(self, project):
        path = f"{self.commands}{os.pathsep}{os.environ['PATH']}"
        return project.environment() | {"PATH": path, "CLUSTER": str(self.notes)}


def run(project, cluster, profile, config, *arguments):
    """What Snakemake says to a profile: no other option that says where jobs run."""
    command = [word for word in project.command(*arguments, config=config) if word not in ("--cores", "2")]
    done = subprocess.run(
        [*command[:3], "--profile", f"profiles/{profile}", *command[3:]],
        cwd=project.folder,
        env=cluster.environment(project),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    logs = "\n".join(path.read_text() for path in cluster.notes.glob("*.log"))
    assert done.returncode == 0, done.stdout + logs
    return done.stdout


@pytest.fixture(scope="module")
def project(new_project):
    """A project with data sets of a user's own: one short step finds its folder."""
    project = new_project("clustered")
    for label in ("cat", "dog"):
        folder = project.folder / OWN / label
        folder.mkdir(parents=True)
        for i in range(3):
            Image.effect_noise((64, 48), 40 + i).convert("RGB").save(folder / f"{i}.png")
    settings = yaml.safe_load((ROOT / "tests/workflow/tiny.yaml").read_text())
    for name in ("slurm", "kubernetes"):
        data = {"kind": "folder", "path": OWN, "shards": 1, "pool": {"share": 0.5, "keep": 2}}
        study = {"representation": "words500", "methods": ["euclidean"], "subsets": {"some": {"classes": "all"}}}
        settings["datasets"][f"on_{name}"], settings["category"][f"on_{name}"] = data, study
    (project.folder / "own.yaml").write_text(yaml.safe_dump(settings))
    return project


def test_jobs_go_through_sbatch_with_what_they_need(project, tmp_path):
    cluster = Cluster(tmp_path, SLURM)
    soon = ("--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5", "--retries", "0")
    run(project, cluster, "slurm", "own.yaml", *soon, "results/on_slurm/images.json")
    asked = (cluster.notes / "asked.txt").read_text().splitlines()
    assert len(asked) == 1
    words = shlex.split(asked[0])
    assert words[words.index("-p") + 1] == "short", "the cluster's default partition"
    assert words[words.index("--mem") + 1] == "2000"
    assert words[words.index("-t") + 1] == "480"
    assert "--cpus-per-task=1" in words
    assert "--exclusive" not in words
    assert OWN in (project.folder / "results/on_slurm/images.json").read_text()
    assert (project.folder / "logs/on_slurm/locate_images.job.json").is_file()


def test_jobs_go_through_kubectl_as_pods(project, tmp_path):
    cluster = Cluster(tmp_path, KUBERNETES)
    soon = ("--latency-wait", "5", "--retries", "0")
    run(project, cluster, "kubernetes", "own.yaml", *soon, "results/on_kubernetes/images.json")
    job = json.loads((cluster.notes / "job.json").read_text())
    assert len(list((cluster.notes / "state").iterdir())) == 1
    assert re.fullmatch(r"lookalike-[0-9a-f-]{36}", job["metadata"]["name"])
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "4000M"}
    assert pod["securityContext"]["runAsNonRoot"] is True
    mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    assert OWN in (project.folder / "results/on_kubernetes/images.json").read_text()


def test_what_is_timed_has_a_node_to_itself(project, tmp_path):
    cluster = Cluster(tmp_path, SLURM)
    said = run(project, cluster, "slurm", "own.yaml", "--dry-run", "results/websim/runtime/oasis-60.parquet")
    timed = said[said.index("rule time_size_websim:") :]
    assert re.search(r"resources: .*mem_mb=8000.* runtime=240.* slurm_extra=--exclusive", timed), said
    assert not (cluster.notes / "asked.txt").exists()


def test_profiles_name_rules_that_there_are(project):
    rules = project.snakemake("--list-rules", config="config.yaml").split()
    for profile in ("slurm", "kubernetes"):
        settings = yaml.safe_load((PROFILES / profile / "config.yaml").read_text())
        unknown = set(settings["set-resources"]) - set(rules)
        assert not unknown, f"profiles/{profile} sets resources of what is no rule"
        assert {"jobs", "latency-wait", "retries", "default-resources"} <= settings.keys()


def test_a_kubernetes_job_states_what_became_of_it(tmp_path):
    cluster = Cluster(tmp_path, KUBERNETES)
    environment = os.environ | {
        "PATH": f"{cluster.commands}{os.pathsep}{os.environ['PATH']}",
        "CLUSTER": str(cluster.notes),
    }
    for state, expected in (("Complete", "success"), ("Failed", "failed"), ("", "running")):
        (cluster.notes / "state" / "one").write_text(state)
        status = [str(PROFILES / "kubernetes/status.sh"), "one"]
        assert subprocess.check_output(status, env=environment, text=True).strip() == expected
    gone = [str(PROFILES / "kubernetes/status.sh"), "gone"]
    assert subprocess.check_output(gone, env=environment, text=True).strip() == "failed"
    subprocess.run([str(PROFILES / "kubernetes/cancel.sh"), "one", "two"], env=environment, check=True)
    assert (cluster.notes / "deleted.txt").read_text().split()[-2:] == ["one", "two"]
