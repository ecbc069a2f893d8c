"""Only `lookalike.deep` needs torch: everything else imports, plans and says `--help` without it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "lookalike"
OTHERS = sorted(file for file in PACKAGE.rglob("*.py") if PACKAGE / "deep" not in file.parents)


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def test_no_other_module_imports_torch() -> None:
    assert len(OTHERS) > 150
    for file in OTHERS:
        names = [name for node in ast.walk(ast.parse(file.read_text())) for name in imported(node)]
        assert not [name for name in names if name.split(".")[0] == "torch"], file


def test_no_other_module_imports_networks_before_they_are_asked_for() -> None:
    for file in OTHERS:
        names = [name for node in ast.parse(file.read_text()).body for name in imported(node)]
        assert not [name for name in names if name.startswith("lookalike.deep")], file


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate-triplets", "--help"]], ids=" ".join)
def test_the_command_answers_where_torch_cannot_be_imported(arguments: list[str]) -> None:
    script = (
        "import sys; sys.modules['torch'] = None; sys.argv[0] = 'lookalike'\n"
        f"from lookalike.cli import main; main({arguments!r})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Usage: lookalike" in done.stdout
