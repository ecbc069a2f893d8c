"""The benchmark of OASIS steps runs, checks that its peers learn the same W, and writes its figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "oasis_steps.py"


def test_the_benchmark_writes_its_figures(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--dimensions", "120", "--steps", "800", "--repeat", "2"]
    printed = subprocess.run(
        [*command, "--output", str(tmp_path / "speed.json")], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    (result,) = json.loads((tmp_path / "speed.json").read_text())["results"]
    assert result["data"] == "synthetic"
    assert "synthetic" in printed
    assert len(result["steps_per_second"]) == 4
    for speed in result["steps_per_second"].values():
        assert speed["median"] > 0
        assert len(speed["all"]) == 2
