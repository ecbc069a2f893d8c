"""The benchmark of the diagonal learners runs, checks that its peers learn the same weights, and writes its figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lookalike.studies.settings import checked, method_spec

PROJECT = Path(__file__).resolve().parents[3]
SCRIPT = PROJECT / "benchmarks" / "diagonal_learners.py"


def test_the_benchmark_writes_its_figures_with_the_study_s_parameters(tmp_path: Path) -> None:
    size = ["--dimensions", "60", "1000000", "--nonzeros", "25", "--negatives", "5", "--repeat", "1", "--qpao"]
    size += ["--peer-seconds", "0.3", "--output", str(tmp_path / "seconds.json")]
    command = [sys.executable, str(SCRIPT), *size]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    written = json.loads((tmp_path / "seconds.json").read_text())
    few, many = written["results"]
    assert (few["triplets"], few["rows"]) == (210, 12)
    assert {len(few["learners"]), len(many["learners"])} == {8}
    assert all(figures["seconds"] > 0 for figures in few["learners"].values())
    assert set(written["seconds_at_most_over_fewest_words"]) == {"SOMLTG", "SOMLDA"}
    (paper,) = [row["seconds"] for row in written["paper"] if (row["learner"], row["dimensions"]) == ("SOMLTG", 10_000)]
    assert paper == pytest.approx(47.93 / 7)  # Table 7, the mean over its seven landmarks
    assert "simulated" in printed
    config = checked(yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8")))
    for result, words in ((few, "10k"), (many, "1m")):
        parameters = method_spec(config, "oxford5k", "qpao", f"sift-{words}")["parameters"]
        assert result["learners"]["QPAO"]["parameters"] == parameters
