"""Painted images of three classes that differ in colour, a model of them, and a folder in which every command works."""

import json
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest
from made_place import make_place

from lookalike.cli import main
from lookalike.features import bag_of_visterms


class Said(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def few_pixels():
    """Learn the colours of visterms from fewer pixels than in earnest, which is most of the time of a fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bag_of_visterms, "N_PIXELS", 4000)
        yield


@pytest.fixture
def photos(place, tmp_path):
    """Eight images of each class, too small for the pyramid as they are; a copy that a test may change."""
    return shutil.copytree(place / "photos", tmp_path / "photos", ignore=shutil.ignore_patterns("broken.png"))


@pytest.fixture(scope="session")
def place(tmp_path_factory, few_pixels):
    """Photos, one of them damaged, a model of their colours, tables, rated triplets, and a plan with answers."""
    place = tmp_path_factory.mktemp("place") / "place"
    make_place(place)
    return place


@pytest.fixture
def here(place, tmp_path, monkeypatch):
    """A copy of that folder, which is the working folder."""
    copy = shutil.copytree(place, tmp_path / "here")
    monkeypatch.chdir(copy)
    return copy


@pytest.fixture
def call(capsys):
    """Run a command; a text is a line of words, a path is one word."""

    def called(*arguments):
        words = [word for part in arguments for word in (part.split(" ") if isinstance(part, str) else [str(part)])]
        return Said(main([word for word in words if word]), *capsys.readouterr())

    return called


@pytest.fixture
def result(call):
    """Run a command that succeeds, and return its JSON."""

    def parsed(*arguments):
        said = call(*arguments, "--json")
        assert said.status == 0, said.err
        return json.loads(said.out)

    return parsed


@pytest.fixture
def refused(call):
    """Run a command that ends in one sentence, and return this; `status` is 1 by default."""

    def sentence(*arguments, status=1):
        said = call(*arguments)
        assert (said.status, said.out) == (status, ""), said
        # what was taken for what stands before a mistake that only learning or building finds
        assert re.fullmatch(r"(?:\S+: \d+ (?:images|vectors).*\n)?lookalike: (?!.*Errno).*\n", said.err)
        return said.err

    return sentence


@pytest.fixture
def process():
    """Run code in a process, which may lack some libraries."""

    def run(code, *arguments, missing=(), **options):
        blocker = (
            "import sys\nclass Blocker:\n    def find_spec(self, name, path, target=None):\n"
            f"        if name.partition('.')[0] in {missing!r}: raise ModuleNotFoundError(name, name=name)\n"
            "sys.meta_path.insert(0, Blocker())\n"
        )
        command = [sys.executable, "-c", f"{blocker * bool(missing)}{code}", *arguments]
        return subprocess.run(command, **({"capture_output": True, "text": True, "timeout": 60} | options))

    return run
