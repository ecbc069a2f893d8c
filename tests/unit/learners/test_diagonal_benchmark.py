"""The benchmark of the diagonal learners runs, checks that its peers learn the same weights, and writes its figures."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lookalike.studies.settings import checked, method_spec

PROJECT = Path(__file__).resolve().parents[3]
SCRIPT = PROJECT / "benchmarks" / "diagonal_learners.py"
REFERENCE = PROJECT / "workflow" / "resources" / "reference-values.csv"


def test_the_benchmark_writes_its_figures(tmp_path: Path) -> None:
    size = ["--dimensions", "60", "10000", "--nonzeros", "25", "--negatives", "10", "--repeat", "2"]
    command = [sys.executable, str(SCRIPT), *size, "--output", str(tmp_path / "seconds.json")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    written = json.loads((tmp_path / "seconds.json").read_text())
    few, many = written["results"]
    assert (few["triplets"], few["rows"]) == (420, 17)
    assert {len(few["learners"]), len(many["learners"])} == {7}
    for figures in few["learners"].values():
        assert figures["seconds"] > 0
    assert set(written["seconds_at_most_over_fewest_words"]) == {"SOMLTG", "SOMLDA"}
    assert len(written["paper"]) == 4 * 3
    (paper,) = [row["seconds"] for row in written["paper"] if (row["learner"], row["dimensions"]) == ("SOMLTG", 10_000)]
    with REFERENCE.open(encoding="utf-8") as lines:
        seconds = [
            float(row["value"])
            for row in csv.DictReader(lines)
            if (row["paper"], row["exhibit"], row["method"]) == ("soml-aaai-2014", "table7", "soml-tg")
        ]
    assert len(seconds) == 7
    assert paper == pytest.approx(sum(seconds) / 7)
    assert f"{paper:.2f}" in printed
    assert "simulated" in printed


def test_qpao_is_set_as_in_the_study(tmp_path: Path) -> None:
    size = ["--dimensions", "60", "1000000", "--nonzeros", "25", "--negatives", "5", "--repeat", "1", "--qpao"]
    size += ["--peer-seconds", "0.3"]
    command = [sys.executable, str(SCRIPT), *size, "--output", str(tmp_path / "seconds.json")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    written = json.loads((tmp_path / "seconds.json").read_text())
    few, many = (result["learners"]["QPAO"] for result in written["results"])
    config = checked(yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8")))
    assert few["parameters"] == method_spec(config, "oxford5k", "qpao", "sift-10k")["parameters"]
    assert many["parameters"] == method_spec(config, "oxford5k", "qpao", "sift-1m")["parameters"]
    assert few["sparsity"] is not None
    assert "C=10.0, n_blocks=50\n" in printed
    assert "C=10.0, n_blocks=500\n" in printed
