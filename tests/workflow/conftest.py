"""A copy of the project with one finished tiny run in it, shared by every test that looks at results."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from project import CATEGORY, COPIED, ROOT, Project


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Project]:
    """Make a copy of the project without results."""

    def make(name: str) -> Project:
        folder = tmp_path_factory.mktemp(name)
        for part in COPIED:
            source, target = ROOT / part, folder / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)
        return Project(folder)

    return make


@pytest.fixture(scope="session")
def finished(new_project: Callable[[str], Project]) -> Project:
    """The project after the tiny category study; tests must leave its results as they are."""
    project = new_project("finished")
    project.snakemake(CATEGORY)
    return project
