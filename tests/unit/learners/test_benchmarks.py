"""The benchmarks of the learners run, check that their peers learn the same, and write their figures."""

import json
import runpy
import sys
from pathlib import Path

import pytest
import yaml

from lookalike.studies.settings import checked, method_spec

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def written(tmp_path, monkeypatch, capsys):
    def run(name, options):
        output = str(tmp_path / "figures.json")
        for library in ("OMP", "OPENBLAS", "MKL"):
            monkeypatch.setenv(f"{library}_NUM_THREADS", "1")  # the scripts set them for their process
        monkeypatch.setattr(sys, "argv", [name, *options.split(), "--output", output])
        runpy.run_path(str(PROJECT / "benchmarks" / name), run_name="__main__")
        printed = capsys.readouterr().out
        assert "simulated" in printed or "synthetic" in printed
        return json.loads(Path(output).read_text())

    return run


def test_steps_of_oasis(written):
    (result,) = written("oasis_steps.py", "--dimensions 120 --rows 90 --steps 800 --repeat 2 --fit-steps 90")["results"]
    assert len(result["steps_per_second"]) == 7
    assert all(speed["median"] > 0 and len(speed["all"]) == 2 for speed in result["steps_per_second"].values())


def test_diagonal_learners_with_the_study_s_parameters(written):
    size = "--dimensions 60 1000000 --nonzeros 25 --negatives 5 --repeat 1 --qpao --peer-seconds 0.3"
    figures = written("diagonal_learners.py", size)
    few, many = figures["results"]
    assert {len(few["learners"]), len(many["learners"])} == {8}
    assert all(figures["seconds"] > 0 for figures in few["learners"].values())
    config = checked(yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8")))
    for result, words in ((few, "10k"), (many, "1m")):
        parameters = method_spec(config, "oxford5k", "qpao", f"sift-{words}")["parameters"]
        assert result["learners"]["QPAO"]["parameters"] == parameters
