"""Which code a result depends on: imports that are followed, edits that count, and edits that do not."""

import os

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.core.fingerprint import fingerprint, imported_modules


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No folder that keeps what was read before."""
    monkeypatch.chdir(tmp_path)


def package(root, **modules):
    for name, text in modules.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names(root, module):
    return {path.relative_to(root).as_posix() for path in imported_modules(module, package=root)}


def test_imports_are_followed_but_for_types_settings_and_the_table_of_learners(tmp_path):
    root = package(
        tmp_path,
        a="import numpy\nfrom lookalike.deep import b\nif TYPE_CHECKING:\n    import lookalike.e\n",
        deep__b="def f():\n    import lookalike.c\n",
        c="import lookalike.a, lookalike.learners.registry\nfrom lookalike.d import thing\n",
        d="import lookalike.studies.web.settings, lookalike.core.settings.model\nthing = 1\n",
        studies__web__settings="import lookalike.e\n",
        core__settings__model="import lookalike.e\n",
        e="import lookalike.a\n",
        learners__registry="import lookalike.e\n",
    )
    assert names(root, "a.py") == {"a.py", "deep/b.py", "c.py", "d.py"}
    assert names(root, "d.py") == {"d.py"}


def test_an_unknown_module_is_an_error():
    with pytest.raises(LookalikeError, match=r"learners/none\.py"):
        fingerprint("learners/none.py")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('"""Other words."""\n\nimport lookalike.b  # why\n\n\ndef f(x):\n    """Of x."""\n    return x + 1\n', True),
        ("import lookalike.b\nLIMIT: int\n'''A limit.'''\ndef f(x):\n    return (x\n        + 1)\n", False),
        ("import lookalike.b\nprint()\ndef f(x):\n    return x + 1\n", False),
        ("import lookalike.b\ndef f(x):\n    return x - 1\n", False),
        ("import lookalike.b\ndef f(x=None):\n    return x + 1\n", False),
        ("import lookalike.c\ndef f(x):\n    return x + 1\n", False),
    ],
)
def test_words_about_the_code_do_not_count_and_code_does(tmp_path, text, same):
    root = package(tmp_path, a="import lookalike.b\ndef f(x): return x + 1\n", b="", c="")
    before = fingerprint("a.py", package=root)
    (root / "a.py").write_text(text)
    assert (fingerprint("a.py", package=root) == before) == same


def test_what_was_read_is_kept_by_content_alone(tmp_path):
    (tmp_path / ".snakemake").mkdir()
    roots = [package(tmp_path / name, a=f"x = {value}\n") for name, value in (("one", 1), ("two", 2), ("three", 1))]
    for root in roots:
        os.utime(root / "a.py", ns=(1, 1))
    first, second, third = (fingerprint("a.py", package=root) for root in roots)
    assert first == third != second
    kept = list((tmp_path / ".snakemake" / "code").iterdir())
    assert len(kept) == 2
    for path in kept:
        path.write_text("")
    assert fingerprint("a.py", package=package(tmp_path / "four", a="x = 1\n")) == first, "a broken one is read again"
