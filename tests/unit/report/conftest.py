"""Results of toy studies (`made_report`), to read or to change."""

import shutil
from pathlib import Path

import pytest
from made_report import write_toy_results


@pytest.fixture(scope="session")
def toys(tmp_path_factory):
    """The results, with their jobs' records beside them; nobody may change them."""
    return write_toy_results(tmp_path_factory.mktemp("made"))


@pytest.fixture
def folder(toys, tmp_path):
    """A copy that a test may change."""
    return Path(shutil.copytree(toys, tmp_path / "results"))
