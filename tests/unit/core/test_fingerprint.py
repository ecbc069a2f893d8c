"""Which source files a result depends on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.core.fingerprint import code_dependencies


def package(root: Path, **modules: str) -> Path:
    for name, text in modules.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names(root: Path, module: str) -> set[str]:
    return {Path(path).relative_to(root).as_posix() for path in code_dependencies(module, root)}


def test_imports_are_followed_at_any_depth_and_in_every_form(tmp_path: Path) -> None:
    root = package(
        tmp_path,
        a="import numpy\nfrom lookalike.deep import b\n",
        deep__b="def f():\n    import lookalike.c\n    from . import kernels\n",
        deep__kernels="from ..d import thing\n",
        c="import lookalike.a\n",
        d="thing = 1\n",
        e="import lookalike.a\n",
    )
    assert names(root, "a.py") == {"a.py", "deep/b.py", "deep/kernels.py", "c.py", "d.py"}
    assert names(root, "d.py") == {"d.py"}


def test_a_package_stands_for_its_init(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "__init__.py").write_text("from lookalike.deep.b import x\n")
    root = package(tmp_path, a="from lookalike.deep import x\n", deep__b="x = 1\n")
    assert names(root, "a.py") == {"a.py", "deep/__init__.py", "deep/b.py"}


def test_an_edit_is_seen(tmp_path: Path) -> None:
    root = package(tmp_path, a="import lookalike.b\n", b="", c="")
    assert names(root, "a.py") == {"a.py", "b.py"}
    (root / "a.py").write_text("import lookalike.c\n")
    os.utime(root / "a.py", ns=(1, 1))
    assert names(root, "a.py") == {"a.py", "c.py"}


def test_an_unknown_module_is_an_error() -> None:
    with pytest.raises(LookalikeError, match=r"learners/none\.py"):
        code_dependencies("learners/none.py")


def test_the_kernels_of_the_package_are_found() -> None:
    found = code_dependencies("learners/oasis.py")
    assert any(path.endswith("_oasis_kernels.py") for path in found)
    assert not any("exhibits" in path or "datasets" in path for path in found)
