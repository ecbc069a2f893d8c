"""The checks of `make lint`, so that one command says whether everything is in order."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parents[1]
PYTHON_TOOLS = Path(sys.executable).parent


CHECKS = ("ruff check .", "ruff format --check .", "mypy", "snakefmt --check Snakefile workflow", "snakemake --lint")


@pytest.mark.parametrize("check", CHECKS)
def test_check_is_clean(check):
    tool, *arguments = check.split()
    command = [str(PYTHON_TOOLS / tool), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
