"""What made an exhibit, in words."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from lookalike.report.facts import as_yaml, commits, configuration_parts, duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.908, "0.91 s"),
        (12.34, "12.3 s"),
        (59.96, "1 min 0 s"),
        (192.4, "3 min 12 s"),
        (3599.7, "1 h 0 min"),
        (7500, "2 h 5 min"),
        (4e6, "1,111 h 7 min"),
    ],
)
def test_times_are_told_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_commits_say_what_differs() -> None:
    assert commits([], False) == "outside a git work tree"
    assert commits(["aaaa", "bbbb"], True) == "aaaa, bbbb, with files changed since"


def test_settings_are_written_by_data_set_and_whole() -> None:
    shared = {"steps": 3}
    configuration = {
        "seed": 1,
        "datasets": {"demo": {"kind": "synthetic"}, "other": {}},
        "category": {"demo": {"a": shared, "b": shared, "rate": 1e-05}},
    }
    dataset = SimpleNamespace(id="demo", title="Demo", studies=["category"])
    own, whole = configuration_parts(configuration, [dataset])  # type: ignore[list-item]
    assert own[0] == "Demo"
    assert yaml.safe_load(own[1]) == {
        "datasets": {"demo": {"kind": "synthetic"}},
        "category": configuration["category"],
    }
    assert "&" not in own[1], "settings that are shared are written out"
    assert yaml.safe_load(whole[1]) == configuration
    assert configuration_parts(None, []) == []


def test_what_yaml_has_no_word_for_becomes_text() -> None:
    assert yaml.safe_load(as_yaml({"path": Path("data"), "pair": (1, 2)})) == {
        "path": "data",
        "pair": [1, 2],
    }
