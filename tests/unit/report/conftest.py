"""Results of toy studies (`made_report`), to read or to change."""

import shutil
from pathlib import Path

import pytest
from made_report import made_results


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The results, with their jobs' records beside them; nobody may change them."""
    return made_results(tmp_path_factory.mktemp("made"))


@pytest.fixture
def folder(made, tmp_path):
    """A copy that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "results"))
