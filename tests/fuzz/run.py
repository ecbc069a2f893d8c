"""Call all commands with hostile inputs, and tell what a user would not forgive.

    OMP_NUM_THREADS=1 PYTHONPATH=tests .venv/bin/python tests/fuzz/run.py --calls 1000 --seed 0

A process that has imported everything and given up its rights forks for each call, which takes milliseconds where a
start takes seconds. Everything happens in a folder of its own: the working folder, the home and the temporary folder.
"""

import argparse
import codecs
import gc
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import hostile

from lookalike.cli import main
from lookalike.core.errors import escaped

NOBODY = 65534
SECONDS, PATIENCE, MEMORY, DISK = 60, 300, 3 * 2**30, 20_000
"""Of the processor, and on a busy machine by the clock; bytes of a call."""
PYTHON = r"Traceback|\[?Errno|NoneType|object at 0x|not subscriptable|unhashable|has no attribute|out of bounds|<class"
PYTHON += r"|Warning|encountered in|positional argument|is not installed|broadcast|codec can't"
"""What only a programmer understands; model files tell of it in brackets."""
ENCODINGS = ["utf-8"] * 9 + ["ascii"]
"""Of the output."""
TEMPORARY = re.compile(r"\..*\.part(\..*)?|\..*\.former|\.probe|tmp.*")

Snapshot = dict[str, tuple[object, ...]]


def snapshot(folder: Path) -> Snapshot:
    """Return what tells whether anything below a folder changed; the times of folders do not count."""
    found: Snapshot = {}
    for root, folders, names in os.walk(folder):
        for path in (os.path.join(root, name) for name in [*folders, *names]):
            with suppress(PermissionError):  # of a folder that can be listed and not entered
                facts = os.lstat(path)
                rest = () if stat.S_ISDIR(facts.st_mode) else (facts.st_ino, facts.st_size, facts.st_mtime_ns)
                found[os.path.relpath(path, folder)] = (facts.st_mode, *rest)
    return found


def changes(before: Snapshot, after: Snapshot, argv: list[str], failed: bool) -> list[str]:
    """Return what a command changed below its folder that its line does not name, and what is left of a failure."""
    places = (os.path.abspath, os.path.realpath)
    named = [os.path.relpath(place(Path("here", word))) for word in argv[1:] for place in places]
    found = []
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) == after.get(path):
            continue
        how = "vanished" if path not in after else "appeared" if path not in before else "changed"
        is_named = how == "appeared" or any(f"{path}/".startswith(f"{name}/") for name in named)
        is_kept = ".lookalike-cache" in path.split("/") or path.startswith("here/cache") or path.endswith(".kept")
        is_folder = path in after and stat.S_ISDIR(int(str(after[path][0])))
        if TEMPORARY.fullmatch(path.rpartition("/")[2]):
            found.append(f"left a temporary file: {path}")
        elif not is_kept and (not is_named or (failed and not is_folder)):
            found.append(f"{how}{' by a failure' if failed and is_named else ''}: {path}")
    return found


def wrong_words(status: int, out: str, err: str, argv: list[str]) -> list[str]:
    """Return what is wrong with what a command said."""
    found = [f"exit status {status}"] if status not in (0, 1, 2) else []
    words = re.sub(r"\(.*\)", "()", err.split("Traceback")[0])
    found += [f"says {match[0]!r}" for match in [re.search(PYTHON, words) or re.search("Traceback", err)] if match]
    *_, last = err.strip("\n").split("\n")
    if status == 0 and "--json" in argv and not out.startswith("Usage"):
        try:
            json.loads(out)
        except ValueError:
            found.append("prints no JSON")
    if status in (1, 2) and not last.startswith("lookalike: "):
        found.append("no sentence at the end")
    elif status == 1:
        names = {
            name
            for word in argv[1:]
            for name in (word, str(Path(word)), Path(word).name, Path(word).stem, *word.split(","))
            if name
        }
        if not any(escaped(name) in last.split(": ", 1)[1] for name in names) and not re.search(r"(^| )--?\w", last):
            found.append("names neither a file nor an option")
        if len(last) > 1100:
            found.append(f"a sentence of {len(last)} letters")
    elif status == 2 and "--help" not in last:
        found.append("does not name the help")
    return found


class Caller:
    """Calls commands with hostile inputs in a folder, and counts what comes of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.box, self.seed = folder, folder / "box", seed
        self.ends: Counter[tuple[str, int]] = Counter()
        self.failures: list[str] = []

    def prepare(self, numbers: Sequence[int]) -> None:
        """Make the inputs, call every line that will be called, which imports what is needed, and give up all rights.

        As nobody, this process may not be able to read the modules of an interpreter that belongs to somebody else.
        """
        os.environ.update(HOME=str(self.box / "home"), TMPDIR=str(self.box / "tmp"), COLUMNS="400")
        tempfile.tempdir = None
        hostile.make_inputs(self.folder / "valid")
        refused = []
        for line in {" ".join(self.drawn(number)[1]) for number in numbers}:
            self.refill()
            os.chdir(self.box / "here")
            said = io.StringIO()
            with redirect_stdout(said), redirect_stderr(said):
                refused += [f"{line}: {said.getvalue()}"] if main(line.split()) else []
            hostile.spoil(hostile.Call(self.box / "here", line.split(), random.Random(line)))
        if refused:
            raise RuntimeError("\n".join(refused))
        for encoding in (*ENCODINGS, "unicode_escape"):
            codecs.lookup(encoding)
        gc.freeze()  # or a child copies what its collector touches
        if os.geteuid() == 0:
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)

    def drawn(self, number: int) -> tuple[random.Random, list[str]]:
        """Return the generator of a call, and the line that it has drawn."""
        draw = random.Random(f"{self.seed} {number}")
        return draw, draw.choice(hostile.COMMANDS[draw.choice(sorted(hostile.COMMANDS))])

    def remove(self) -> None:
        """Remove the working folder and its like, whatever permissions there are."""
        os.chdir(self.folder)
        for root, folders, _ in os.walk(self.box):
            for path in (os.path.join(root, name) for name in folders):
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
        shutil.rmtree(self.box, ignore_errors=not self.box.exists())

    def refill(self) -> None:
        """Make the working folder, the home and the temporary folder again."""
        self.remove()
        shutil.copytree(self.folder / "valid", self.box / "here", symlinks=True)
        (self.box / "home").mkdir()
        (self.box / "tmp").mkdir()

    def call(self, number: int) -> None:
        """Make one call of a command, and note what is wrong with it."""
        draw, line = self.drawn(number)
        self.refill()
        os.chdir(self.box / "here")
        call = hostile.Call(self.box / "here", list(line), draw)
        kind = hostile.spoil(call)
        before = snapshot(self.box)
        status, out, err = self.run(call, DISK if kind == "full disk" else None, draw.choice(ENCODINGS))
        found = ["fails, and nothing was spoilt"] if status and kind == hostile.VALID else []
        found += wrong_words(status, out, err, call.argv)
        os.chdir(self.box)
        found += changes(before, snapshot(self.box), call.argv, status != 0)
        self.ends[kind, status] += 1
        if found:
            self.failures.append(f"{self.seed} {number} ({kind}): {call.argv}\n  {found}\n  {err[-2000:]}")
            print(self.failures[-1], flush=True)

    def run(self, call: hostile.Call, disk: int | None, encoding: str) -> tuple[int, str, str]:
        """Run a command line in a process of its own; the status of one that hangs is 124, of one killed -signal."""
        if not (child := os.fork()):
            status = 70
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.setpgid(0, 0)
                resource.setrlimit(resource.RLIMIT_AS, (size := MEMORY + in_use(), size))
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
                for number, name in enumerate(("out", "err"), 1):
                    os.dup2(os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
                sys.stdout = io.TextIOWrapper(io.FileIO(1, "w"), encoding)
                sys.stderr = io.TextIOWrapper(io.FileIO(2, "w"), encoding, "backslashreplace", write_through=True)
                if disk is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
                status = main(call.argv)
            except Exception:  # noqa: BLE001 (that there is one is what is looked for)
                traceback.print_exc()
            finally:
                os._exit(status)
        end, pause = time.monotonic() + PATIENCE, 0.002
        while not (done := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
            time.sleep(pause := min(0.05, 1.3 * pause))
        if not done[0]:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        status = os.waitstatus_to_exitcode(done[1]) if done[0] else 124
        return status, *((self.folder / name).read_text("utf-8", "replace") for name in ("out", "err"))


def in_use() -> int:
    """Return the bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of the one call to make")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        parser.error("a process with several threads cannot be forked: set OMP_NUM_THREADS=1")
    numbers = range(options.calls) if options.only is None else [options.only]
    with tempfile.TemporaryDirectory(prefix="lookalike-fuzz-") as folder, ExitStack() as at_end:
        caller = Caller(Path(folder).absolute(), options.seed)
        at_end.callback(caller.remove)
        caller.prepare(numbers)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):  # which ends the calls: what was found is said
            for number in numbers:
                caller.call(number)
    for (kind, status), n in sorted(caller.ends.items()):
        print(f"{n:7,} calls of the kind {kind} ended with {status}")
    print(f"{len(caller.failures):,} of {caller.ends.total():,} calls failed")
    sys.exit(bool(caller.failures))
