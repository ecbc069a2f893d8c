"""The benchmarks of the learners run, check that their peers learn the same, and write their figures."""

import json
import subprocess
import sys
from pathlib import Path

import yaml

from lookalike.studies.settings import checked

PROJECT = Path(__file__).resolve().parents[3]


def run(name, *options, folder):
    script = [sys.executable, PROJECT / "benchmarks" / name, *options, "--output", "figures.json"]
    return subprocess.run(script, cwd=folder, capture_output=True, text=True, check=True).stdout


def figures(name, options, folder):
    printed = run(name, *options.split(), folder=folder)
    assert "simulated" in printed or "synthetic" in printed
    return json.loads((folder / "figures.json").read_text())


def test_steps_of_oasis(tmp_path):
    options = "--dimensions 120 --rows 90 --dense 60 --steps 800 --repeat 2 --fit-steps 90"
    sparse, dense = (result["steps_per_second"] for result in figures("oasis_steps.py", options, tmp_path)["results"])
    assert (len(sparse), len(dense)) == (6, 5)
    assert all(speed["median"] > 0 and len(speed["all"]) == 2 for speed in [*sparse.values(), *dense.values()])


def test_lego_learns_its_peer_s_matrix_and_mmc_climbs(tmp_path):
    options = "--sizes 60x20 --kinds dense --learners LEGO MMC --pairs 200 --iterations 9 --repeat 1"
    found = figures("competitors.py", options, tmp_path)
    mmc, _, lego = found["results"]
    assert mmc["objective_end"] < mmc["objective_start"]
    assert lego["largest_difference"] < 1e-8
    assert [row["limit"] for row in found["ratios"]] == ["products"]


def test_diagonal_learners_with_the_study_s_parameters(tmp_path):
    size = "--dimensions 60 1000000 --nonzeros 25 --negatives 5 --repeat 1 --qpao --peer-seconds 0.3"
    found = figures("diagonal_learners.py", size, tmp_path)
    few, many = found["results"]
    assert {len(few["learners"]), len(many["learners"])} == {9}
    assert all(row["seconds"] > 0 for row in few["learners"].values())
    assert {row["what"] for row in found["ratios"]} == {"SOMLTG", "SOMLDA"}
    config = checked(yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8")))
    for result, words in ((few, "10k"), (many, "1m")):
        parameters = config.landmark["oxford5k"].spec("qpao", f"sift-{words}").parameters
        assert result["learners"]["QPAO"]["parameters"] == parameters


def test_five_partitions_are_made_from_the_jobs_of_one(tmp_path):
    blank = dict.fromkeys(("started", "processor", "commit"), "") | {"seconds": 9, "modified": False, "threads": 1}
    makes = {"scan": ([], "a", 2), "run/lego/0": (["a"], "b", 3), "gather": (["b"], "c", 1)}
    for name, (inputs, output, seconds) in makes.items():
        job = {"rule": name, "inputs": inputs, "outputs": [output], "cpu_seconds": seconds * 3600, "peak_megabytes": 5}
        (tmp_path / f"logs/{name}.job.json").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"logs/{name}.job.json").write_text(json.dumps(blank | job))
    for _ in range(2):  # a job whose record is gone stays
        lines = ["3 jobs of one partition; 7 of 5 partitions:", "on 2 cores 9.0 h", "on 16 cores 6.0 h"]
        assert run("full_size.py", "logs", folder=tmp_path).splitlines() == lines
        (tmp_path / "logs/scan.job.json").unlink(missing_ok=True)
