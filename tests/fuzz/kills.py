"""Stop the tiny demo at random moments, go on, and compare with a run that nobody stopped.

    PYTHONPATH=tests .venv/bin/python tests/fuzz/kills.py --seed 1 --kills 60 --interrupts 10 --full-disks 10

A stop is SIGKILL of all its processes, Ctrl-C, or a disk that is full (for which one has to be root). Then the same
command goes on in the same folder. Whenever a run has come to its end, all numbers must be those of the run that was
not stopped, and no other file may lie there. At last two runs start at once in one folder.
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
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from cluster.same_numbers import compare
from project import TINY_DEMO, copy_project

MARGIN = 2.0
"""Seconds between the start and the first moment at which a run is stopped: before, it has done nothing."""
KILL, INTERRUPT, FULL = "SIGKILL", "Ctrl-C", "full disk"


class Campaign:
    """One project that is stopped again and again, and one that is not."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw = folder, random.Random(seed)
        self.environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kernels"), "TMPDIR": str(folder / "tmp")}
        (folder / "tmp").mkdir()
        self.stopped: Counter[str] = Counter()
        self.compared, self.failures = 0, list[str]()
        self.whole = self.new("whole")
        started = time.monotonic()
        assert self.start(self.whole).wait() == 0, (self.folder / "said").read_text()
        self.seconds = time.monotonic() - started
        self.files = files_of(self.whole.folder)

    def new(self, name: str):
        """Return an empty copy of the project."""
        (self.folder / name).mkdir(exist_ok=True)
        return copy_project(self.folder / name)

    def start(self, project, *arguments: str) -> subprocess.Popen[bytes]:
        """Start the demo in a process group of its own; what it says goes to a file."""
        with (self.folder / "said").open("wb") as said:
            command = project.command(TINY_DEMO, "--rerun-incomplete", *arguments)
            own = {"cwd": project.folder, "env": self.environment, "start_new_session": True}
            return subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, **own)

    def stop(self, project, how: str) -> bool:
        """Start a run and stop it at a random moment; whether it came to its end before."""
        running = self.start(project)
        try:
            status = running.wait(MARGIN + self.draw.uniform(0, self.seconds / 3))
            if status:
                self.fail(f"ended by itself with status {status}")
            return True
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL if how == KILL else signal.SIGINT)
        status = running.wait(120)
        self.stopped[how] += 1
        if how == KILL:
            subprocess.run(project.command("--unlock"), cwd=project.folder, env=self.environment, capture_output=True)
        elif not status or "Interrupted: what is done is kept" not in self.said():
            self.fail(f"Ctrl-C ended with status {status}")
        return False

    def fill(self, project) -> None:
        """Run with a disk that is too small, and give it more room."""
        size = sum(path.stat().st_size for path in self.whole.folder.rglob("*") if path.is_file()) // 2**20
        with disk_of(project.folder, self.draw.randint(8, max(9, size))) as enlarge:
            copy_project(project.folder)
            if self.start(project).wait(3 * self.seconds + 60):
                self.stopped[FULL] += 1
                if "No space left" not in self.said() or "Traceback" in self.said():
                    self.fail("says nothing, or too much, of a full disk")
            enlarge()
            self.finish(project)

    def finish(self, project) -> None:
        """Let a run come to its end."""
        if status := self.start(project).wait(10 * self.seconds + 120):
            self.fail(f"did not go on: status {status}")
        else:
            self.check(project)

    def check(self, project) -> None:
        """Compare a run that came to its end with the one that was not stopped."""
        self.compared += 1
        try:
            compare(self.whole.folder / "results", project.folder / "results")
        except (AssertionError, OSError) as error:
            self.fail(f"other numbers: {error}")
        found = files_of(project.folder)
        if odd := sorted(found ^ self.files):
            self.fail(f"files that only one of both has: {odd[:5]}")

    def both_at_once(self, project) -> None:
        """Start a second run while the first one works: it must be refused, and harm nothing."""
        first = self.start(project)
        time.sleep(self.seconds / 4)
        second = self.start(project)
        if not second.wait(120) or "lock" not in self.said().lower():
            self.fail("two runs at once in one folder")
        if first.wait(10 * self.seconds + 120):
            self.fail("the first of two runs did not come to its end")
        self.check(project)

    def said(self) -> str:
        """Return what the last run said."""
        return (self.folder / "said").read_text(errors="replace")

    def fail(self, what: str) -> None:
        """Note what went wrong, with the end of what was said."""
        self.failures.append(f"{what}\n{self.said()[-1500:]}")
        print(f"FAILED after {sum(self.stopped.values())} stops: {self.failures[-1]}", flush=True)


def files_of(folder: Path) -> set[str]:
    """Return the files of a project but Snakemake's own."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.parts[0] not in (".snakemake", "src")}


@contextmanager
def disk_of(folder: Path, megabytes: int):
    """Mount a disk of that size over a folder; yield what makes it large."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=4g", str(folder)], check=True)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def main() -> int:
    """Run the campaign that the command line asks for, and tell what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=10, help="stops by SIGKILL")
    parser.add_argument("--interrupts", type=int, default=2, help="stops by Ctrl-C")
    parser.add_argument("--full-disks", type=int, default=0, help="runs on a full disk")
    parser.add_argument("--minutes", type=float, default=120, help="after so many, no other run is begun")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    campaign = Campaign(folder, asked.seed)
    print(f"a run that nobody stops takes {campaign.seconds:.0f} s", flush=True)
    stops = [KILL] * asked.kills + [INTERRUPT] * asked.interrupts
    campaign.draw.shuffle(stops)
    project = campaign.new("stopped")
    while stops and time.monotonic() < end:
        if campaign.stop(project, stops[-1]):
            campaign.check(project)
            shutil.rmtree(project.folder)
            project = campaign.new("stopped")
        else:
            stops.pop()
    campaign.finish(project)
    for number in range(asked.full_disks):
        if time.monotonic() < end:
            (folder / f"disk{number}").mkdir()
            campaign.fill(type(project)(folder / f"disk{number}"))
    campaign.both_at_once(campaign.new("both"))
    done = ", ".join(f"{n} by {how}" for how, n in campaign.stopped.items()) or "none"
    print(f"stopped: {done}; {campaign.compared} runs compared; {len(campaign.failures)} failures")
    print(f"left in the temporary folder: {sorted(path.name for path in (folder / 'tmp').iterdir())[:5]}")
    shutil.rmtree(folder)
    return bool(campaign.failures)


if __name__ == "__main__":
    sys.exit(main())
