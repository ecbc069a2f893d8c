"""A project whose folder has a name that shells or Snakemake would take for something else."""

import os
import shutil
import subprocess
import sys

import pytest
from project import ROOT, copy_project, run_in

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize("name", ["a b's", '$(touch x);&{y}["*]'])
def test_jobs_run_in_a_folder_of_any_name(tmp_path, name, monkeypatch):
    folder = tmp_path / name
    folder.mkdir()
    (folder / ".venv").symlink_to(sys.prefix)
    monkeypatch.setattr(sys, "executable", str(folder / ".venv" / "bin" / "python"))
    copy_project(folder).snakemake("results/demo/manifest.parquet", cores=1)
    assert (folder / "results" / "demo" / "manifest.parquet").is_file()
    assert not (folder / "x").exists()


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can be another user")
def test_a_user_without_a_name_plans_a_run(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o777 == 0o700:  # as pytest makes them
            folder.chmod(0o755)
    os.chown(tmp_path, 12345, 12345)
    environment = {name: value for name, value in os.environ.items() if name not in ("LOGNAME", "USER", "USERNAME")}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", sys.executable, "-m", "snakemake"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--dry-run", "results/demo/manifest.parquet"]
    done = run_in(tmp_path, command, environment)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("name", ["a:b", "a\nb", "a\udcffb"])
def test_a_folder_that_no_environment_can_lie_in_is_refused_at_once(tmp_path, name):
    folder = tmp_path / name
    shutil.copytree(ROOT / "envs", folder / "envs")
    shutil.copy(ROOT / "Makefile", folder)
    command = ["make", "--no-print-directory", f"PYTHON={sys.executable}", ".venv/.installer"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert "which no virtual environment can have: move it" in done.stderr
    assert not (folder / ".venv").exists()
