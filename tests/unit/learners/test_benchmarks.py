"""The benchmarks of the learners run, check that their peers learn the same, and write their figures."""

import json
import runpy
import sys
from pathlib import Path

import pytest
import yaml

from lookalike.studies.settings import checked

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def written(tmp_path, monkeypatch, capsys):
    def run(name, options):
        output = str(tmp_path / "figures.json")
        for library in ("OMP", "OPENBLAS", "MKL"):
            monkeypatch.setenv(f"{library}_NUM_THREADS", "1")  # the scripts set them for their process
        monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))  # what they share
        monkeypatch.setattr(sys, "argv", [name, *options.split(), "--output", output])
        runpy.run_path(str(PROJECT / "benchmarks" / name), run_name="__main__")
        printed = capsys.readouterr().out
        assert "simulated" in printed or "synthetic" in printed
        return json.loads(Path(output).read_text())

    return run


def test_steps_of_oasis(written):
    options = "--dimensions 120 --rows 90 --dense 60 --steps 800 --repeat 2 --fit-steps 90"
    sparse, dense = (result["steps_per_second"] for result in written("oasis_steps.py", options)["results"])
    assert (len(sparse), len(dense)) == (6, 5)
    assert all(speed["median"] > 0 and len(speed["all"]) == 2 for speed in [*sparse.values(), *dense.values()])


def test_lego_learns_its_peer_s_matrix_and_mmc_climbs(written):
    options = "--sizes 60x20 --kinds dense --learners LEGO MMC --pairs 200 --iterations 9 --repeat 1"
    figures = written("competitors.py", options)
    mmc, _, lego = figures["results"]
    assert mmc["objective_end"] < mmc["objective_start"]
    assert lego["largest_difference"] < 1e-8
    assert [row["limit"] for row in figures["ratios"]] == ["products"]


def test_diagonal_learners_with_the_study_s_parameters(written):
    size = "--dimensions 60 1000000 --nonzeros 25 --negatives 5 --repeat 1 --qpao --peer-seconds 0.3"
    figures = written("diagonal_learners.py", size)
    few, many = figures["results"]
    assert {len(few["learners"]), len(many["learners"])} == {9}
    assert all(figures["seconds"] > 0 for figures in few["learners"].values())
    assert {row["what"] for row in figures["ratios"]} == {"SOMLTG", "SOMLDA"}
    config = checked(yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8")))
    for result, words in ((few, "10k"), (many, "1m")):
        parameters = config.landmark["oxford5k"].spec("qpao", f"sift-{words}").parameters
        assert result["learners"]["QPAO"]["parameters"] == parameters


def test_five_partitions_are_made_from_the_jobs_of_one(tmp_path, monkeypatch, capsys):
    blank = dict.fromkeys(("started", "processor", "commit"), "") | {"seconds": 9, "modified": False, "threads": 1}
    makes = {"scan": ([], "a", 2), "run/lego/0": (["a"], "b", 3), "gather": (["b"], "c", 1)}
    for name, (inputs, output, seconds) in makes.items():
        job = {"rule": name, "inputs": inputs, "outputs": [output], "cpu_seconds": seconds * 3600, "peak_megabytes": 5}
        (tmp_path / f"logs/{name}.job.json").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"logs/{name}.job.json").write_text(json.dumps(blank | job))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["", "logs", "--output", "kept.json"])
    for _ in range(2):  # a job whose record is gone stays
        runpy.run_path(str(PROJECT / "benchmarks" / "full_size.py"), run_name="__main__")
        lines = ["3 jobs of one partition; 7 of 5 partitions:", "on 2 cores 9.0 h", "on 16 cores 6.0 h"]
        assert capsys.readouterr().out.splitlines() == lines
        Path("logs/scan.job.json").unlink(missing_ok=True)
