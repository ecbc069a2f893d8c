"""Stop the tiny demo at random moments, go on, and compare with a run that nobody stopped.

    PYTHONPATH=tests .venv/bin/python tests/fuzz/kills.py --seed 1 --kills 60 --interrupts 10

A stop is SIGKILL of all its processes, or Ctrl-C. Then the same command goes on in the same folder. Whenever a run has
come to its end, all numbers must be those of the run that was not stopped, and no other file may lie there.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from filecmp import cmp
from pathlib import Path

from project import TINY_DEMO, Project, copy_project

MARGIN = 2.0
"""Seconds between the start and the first moment at which a run is stopped: before, it has done nothing."""


def start(project: Project, said: Path) -> subprocess.Popen[bytes]:
    """Start the demo; what it says goes to a file."""
    return project.start(TINY_DEMO, "--rerun-incomplete", stdout=said.open("wb"))


def files_of(project: Project) -> set[str]:
    """Return the files of a project but Snakemake's own."""
    paths = (path.relative_to(project.folder) for path in project.folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.parts[0] not in (".snakemake", "src")}


def check(project: Project, whole: Project) -> None:
    """Compare a run that came to its end with the one that was not stopped."""
    tables = sorted(path.relative_to(whole.folder) for path in whole.folder.glob("results/**/results.parquet"))
    assert tables, f"no numbers in {whole.folder}"
    differing = [table for table in tables if not cmp(whole.folder / table, project.folder / table, shallow=False)]
    assert not differing, f"other numbers: {', '.join(map(str, differing))}"
    assert files_of(project) == files_of(whole)


def stop(running: subprocess.Popen[bytes], how: signal.Signals, seconds: float, said: Path) -> bool:
    """Stop a run after some seconds; whether it came to its end before."""
    try:
        status = running.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, how)
        status = running.wait(120)
        is_told = "Interrupted: what is done is kept" in said.read_text(errors="replace")
        assert how == signal.SIGKILL or (status and is_told), f"Ctrl-C ended with status {status}"
        return False
    assert not status, f"ended by itself with status {status}: {said.read_text(errors='replace')[-1500:]}"
    return True


def main() -> None:
    """Run the campaign that the command line asks for; what goes wrong ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=10, help="stops by SIGKILL")
    parser.add_argument("--interrupts", type=int, default=2, help="stops by Ctrl-C")
    asked = parser.parse_args()
    folder, generator = Path(tempfile.mkdtemp(prefix="kills-")), random.Random(asked.seed)
    whole, project = (copy_project(Path(tempfile.mkdtemp(dir=folder))) for _ in range(2))
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "kernels")
    said, began = folder / "said", time.monotonic()
    assert start(whole, said).wait() == 0, said.read_text()
    third = (time.monotonic() - began) / 3
    stops = [signal.SIGKILL] * asked.kills + [signal.SIGINT] * asked.interrupts
    generator.shuffle(stops)
    while stops:
        if stop(start(project, said), stops[-1], MARGIN + generator.uniform(0, third), said):
            check(project, whole)
            project = copy_project(Path(tempfile.mkdtemp(dir=folder)))
        elif stops.pop() == signal.SIGKILL:
            subprocess.run(project.command("--unlock"), cwd=project.folder, capture_output=True)
        print(f"{len(stops)} stops to go", flush=True)
    assert start(project, said).wait() == 0, said.read_text()
    check(project, whole)
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
