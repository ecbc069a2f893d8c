"""Plant the faults of faults.yaml one by one in a copy of the project, and say which tests catch each.

The work tree itself is never changed. Without --tests, the files whose tests caught a fault before are run, and where
none of these fails, all tests of its room. Exit status 1: a fault was found by no test, or could not be planted.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_name("faults.yaml")
FAST = "not workflow and not browser and not lint and not real_images"
SHOWN = 10
"""Tests that are named of a fault."""


class Fault(NamedTuple):
    """One entry of the list: what breaks, and the edit that breaks it."""

    id: str
    room: str
    file: str
    breaks: str
    before: str
    after: str
    caught: list[str]
    n_caught: int

    def planted(self, text: str) -> str:
        """Return the text of its file with the fault in it."""
        if (times := text.count(self.before)) != 1:
            why = f"`before` stands {times} times in {self.file}, not once"
            raise ValueError(f"{self.id} must be planted again: {why}; what it breaks: {self.breaks}")
        return text.replace(self.before, self.after)

    def stages(self) -> list[list[str]]:
        """Return the files whose tests caught it before, and the tests of its room for where none of these fails."""
        files = dict.fromkeys(name.partition("::")[0] for name in self.caught)
        room = [f"tests/unit/{self.room}", *["tests/learners"] * (self.room == "learners")]
        found = [[name for name in names if (ROOT / name).exists()] for names in (files, room)]
        return [names for names in found if names]


def read_faults(path: Path = LIST) -> list[Fault]:
    """Read the list of faults."""
    return [Fault(**entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["faults"]]


def copy_tree(folder: Path) -> None:
    """Copy the files of the work tree that git knows or would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def failing(folder: Path, tests: Sequence[str]) -> list[str]:
    """Run tests in a copy, and return those that fail, whatever their parameters."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-m", FAST, *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    found = set(re.findall(r"^(?:FAILED|ERROR) ([^\s\[]+)", done.stdout, flags=re.MULTILINE))
    if done.returncode and not found:
        raise ValueError(f"no test was run of {' '.join(tests)}: {(done.stdout + done.stderr).strip()[-300:]}")
    return sorted(found)


def plant(fault: Fault, folder: Path, tests: Sequence[str]) -> list[str]:
    """Return the tests that fail in a copy with the fault and not without it; the copy is as it was afterwards."""
    file = folder / fault.file
    whole = file.read_text(encoding="utf-8") if file.is_file() else ""
    file.write_text(fault.planted(whole), encoding="utf-8")
    try:
        stages = (failing(folder, chosen) for chosen in ([tests] if tests else fault.stages()))
        caught: list[str] = next(filter(None, stages), [])
    finally:
        file.write_text(whole, encoding="utf-8")
    without = failing(folder, caught) if caught else []
    return [name for name in caught if name not in without]


def main() -> int:
    """Plant the faults that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", metavar="ID", nargs="*", help="faults to plant (default: all)")
    parser.add_argument("--room", help="only those of a folder of src/lookalike")
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="tests to run")
    asked = parser.parse_args()
    faults = [fault for fault in read_faults() if asked.room in (None, fault.room)]
    if unknown := sorted({*asked.ids} - {fault.id for fault in faults}):
        parser.error(f"there is no fault {unknown[0]} in {LIST.name}" + (f" of {asked.room}" if asked.room else ""))
    faults = [fault for fault in faults if fault.id in asked.ids or not asked.ids]
    planted, found = Counter(fault.room for fault in faults), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        copy_tree(folder := Path(name))
        for number, fault in enumerate(faults, start=1):
            print(f"[{number}/{len(faults)}] {fault.id} ({fault.room}): {fault.breaks}", flush=True)
            try:
                caught = plant(fault, folder, asked.tests)
            except ValueError as error:
                print(f"  error: {error}")
                continue
            found[fault.room] += bool(caught)
            print(f"  found by {len(caught)}:" if caught else "  found by no test: write one")
            print("".join(f"    {test}\n" for test in caught[:SHOWN]), end="", flush=True)
    rooms = ", ".join(f"{room} {found[room]} of {n}" for room, n in planted.items())
    print(f"found {found.total()} of {len(faults)}: {rooms}")
    return int(found.total() < len(faults))


if __name__ == "__main__":
    sys.exit(main())
