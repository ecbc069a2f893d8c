"""Fixtures that every test may use: where the real images are, and one tiny finished workflow run."""

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from project import ROOT, TINY_DEMO, TINY_SECONDS, Project, copy_project

from lookalike.core.fingerprint import kernels_fingerprint

os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".snakemake" / "numba" / kernels_fingerprint())


def pytest_collection_modifyitems(items):
    """Tests of the tiny run come first, which one process waits for, then what takes long: no process ends with it."""
    long = ("tests/workflow", "tests/fuzz", "tests/unit/test_documentation")
    items.sort(key=lambda item: ("tiny_demo" not in item.fixturenames, not item.nodeid.startswith(long)))


@pytest.fixture(scope="session")
def real_data():
    """Find a folder of the real images and ground truth; a test is skipped where it is not there."""
    root = Path(os.environ.get("LOOKALIKE_TEST_DATA", ROOT.parent / "shared" / "data"))

    def folder(name):
        if not (root / name).is_dir():
            pytest.skip(f"there is no {name} at {root}: set LOOKALIKE_TEST_DATA to the folder that holds it")
        return root / name

    return folder


@pytest.fixture(scope="session")
def new_project(tmp_path_factory):
    """Make a copy of the project without results."""
    return lambda name: copy_project(tmp_path_factory.mktemp(name))


@pytest.fixture(scope="session")
def tiny_demo(tmp_path_factory):
    """All studies and the report on the tiny configuration: one run that every process of the tests reads.

    Nobody may change anything in it; a test that must takes `finished`.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tiny-demo"
    with FileLock(f"{folder}.lock"):
        finished, failed = folder / "finished", folder / "failed"
        if not folder.exists():
            folder.mkdir()
            failed.write_text(f"the tiny run in {folder} was cut off")  # until it says otherwise
            done = copy_project(folder).attempt(TINY_DEMO, timeout=TINY_SECONDS)
            failed.write_text(done.stdout)
            if done.returncode == 0:
                failed.rename(finished)
    assert finished.exists(), failed.read_text()
    return Project(folder)


@pytest.fixture(scope="session")
def finished(tiny_demo, tmp_path_factory):
    """A copy of the project after the tiny run; tests leave its results as they found them."""
    return Project(Path(shutil.copytree(tiny_demo.folder, tmp_path_factory.mktemp("run") / "copy", symlinks=True)))
