"""The benchmark of training steps: its peers compute the same loss, and its figures are written."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")


def test_the_benchmark_writes_its_figures(tmp_path, monkeypatch, capsys):
    script = Path(__file__).resolve().parents[3] / "benchmarks" / "deep_ranking.py"
    specification = importlib.util.spec_from_file_location("deep_ranking_benchmark", script)
    benchmark = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(benchmark)
    # processes of their own take seconds to start, and a large product takes some too
    peak, output = benchmark.peak, tmp_path / "speed.json"
    monkeypatch.setattr(benchmark, "peak", lambda device, mixed, size: peak(device, mixed, 128))
    monkeypatch.setattr(benchmark, "peak_bytes", lambda name, arguments: 10**9)
    monkeypatch.setattr(sys, "argv", ["", "--network", "small", "--repeat", "1", "--output", str(output)])
    threads = torch.get_num_threads()
    benchmark.main()
    torch.set_num_threads(threads)
    assert "random pixels" in capsys.readouterr().out
    results = {row["way"]: row for row in json.loads(output.read_text())["results"]}
    assert tuple(results) == benchmark.WAYS
    assert all(0 < row["seconds_forward_and_backward"] <= row["seconds_per_step"] for row in results.values())
    assert results["plain AlexNet"]["n_parameters"] < results["lookalike"]["n_parameters"]
    monkeypatch.setattr(benchmark, "torch_normalisation", torch.sqrt)
    with pytest.raises(SystemExit, match="torch's normalisation computes another loss"):
        benchmark.check_agreement()
