"""The benchmarks of the learners run, check that their peers learn the same, and write their figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lookalike.studies.settings import checked

PROJECT = Path(__file__).resolve().parents[3]


def run(name, *options, folder):
    script = [sys.executable, PROJECT / "benchmarks" / name, *options, "--output", "figures.json"]
    return subprocess.run(script, cwd=folder, capture_output=True, text=True, check=True).stdout


SIZES = {
    "oasis_steps.py": "--dimensions 120 --rows 90 --dense 60 --steps 800 --repeat 2 --fit-steps 90",
    "competitors.py": "--sizes 60x20 --kinds dense --learners LEGO MMC --pairs 200 --iterations 9 --repeat 1",
    "diagonal_learners.py": "--dimensions 60 1000000 --nonzeros 25 --negatives 5 --repeat 1 --qpao --peer-seconds 0.3",
}
LEARNERS = {"oasis_steps.py": {"OASIS"}, "competitors.py": {"LEGO"}, "diagonal_learners.py": {"SOMLTG", "SOMLDA"}}


@pytest.mark.parametrize("script", SIZES)
def test_learners_are_timed_beside_peers_that_learn_the_same_with_the_study_s_parameters(script, tmp_path):
    printed = run(script, *SIZES[script].split(), folder=tmp_path)
    assert "simulated" in printed or "synthetic" in printed
    found = json.loads((tmp_path / "figures.json").read_text())
    assert {row["what"] for row in found["ratios"]} == LEARNERS[script]
    assert all(row.get("largest_difference", 0) < 1e-8 for row in found["results"])
    config = checked(yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8")))
    for result, words in zip(found["results"] if "--qpao" in SIZES[script] else [], ("10k", "1m"), strict=False):
        parameters = config.landmark["oxford5k"].spec("qpao", f"sift-{words}").parameters
        assert result["learners"]["QPAO"]["parameters"] == parameters


def test_five_partitions_are_made_from_the_jobs_of_one(tmp_path):
    blank = dict.fromkeys(("started", "processor", "commit"), "") | {"seconds": 9, "modified": False, "threads": 1}
    for name, seconds in {"scan": 2, "run/lego/0": 3, "gather": 1}.items():
        job = {"rule": name, "outputs": [name], "cpu_seconds": seconds * 3600, "peak_megabytes": 5}
        (tmp_path / f"logs/{name}.job.json").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"logs/{name}.job.json").write_text(json.dumps(blank | job))
    for _ in range(2):  # a job whose record is gone stays
        lines = ["3 jobs of one partition; 7 of 5 partitions:", "on 2 cores 9.0 h", "on 16 cores 3.0 h"]
        assert run("full_size.py", "logs", folder=tmp_path).splitlines() == lines
        (tmp_path / "logs/scan.job.json").unlink(missing_ok=True)
