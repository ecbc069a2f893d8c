"""Some calls of all commands with hostile inputs; `run.py` beside this file makes as many as one likes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="the harness asks /proc, which only Linux has")
def test_no_hostile_input_leads_to_more_than_a_sentence():
    pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)}
    command = [sys.executable, str(HERE / "run.py"), "--calls", "100", "--seed", "0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of 100 calls failed" in done.stdout


def test_the_campaign_of_kills_starts():
    environment = os.environ | {"PYTHONPATH": str(HERE.parent)}
    subprocess.run([sys.executable, str(HERE / "kills.py"), "--help"], env=environment, capture_output=True, check=True)
