"""What the documents say against what there is: paths, make targets, and the code of the README."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_that_is_named_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    named = re.findall(r"`((?:src|workflow|tests|docs|examples|envs|benchmarks)/[A-Za-z0-9_./*-]+)`", text)
    assert all((document.parent / link).exists() for link in links), links
    assert all(any(ROOT.glob(name)) for name in named), named


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {name for document in DOCUMENTS for name in re.findall(r"\bmake ([a-z]+)\b", document.read_text())}
    commands = {name for name in named if f"`make {name}`" in "".join(d.read_text() for d in DOCUMENTS)}
    assert {"demo", "test"} <= targets
    assert commands <= targets


def test_the_readmes_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert code is not None
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 6)), np.repeat(np.arange(4), 10)
    names: dict[str, object] = {"X": X, "y": y, "queries": X[:3], "gallery": X}
    exec(compile(code[1], "README.md", "exec"), names)
    assert np.shape(names["neighbours"]) == (3, 10)
    assert (tmp_path / "model.npz").is_file()
