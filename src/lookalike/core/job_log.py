"""What a workflow script leaves beside its results: a log of all that it says, and a record of what its job took.

Snakemake's ``log:`` names a file but does not write a ``script:``'s output there; every script opens it with `logged`.
A user's own mistake is one sentence in it, without a traceback. The report tells from the records what made an exhibit;
they differ from run to run, so they are no output of a rule and nothing depends on them.
"""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, TextIO

from lookalike.core.errors import LookalikeError, escaped
from lookalike.core.files import disk_error_behind, write_json
from lookalike.core.instructions import linux_fact, processor_name

SHOWN = "LOOKALIKE_RUN_IS_SHOWN"
"""Set for jobs of a run that shows failures from their logs, so that they do not write to the terminal themselves."""
SUFFIX = ".job.json"
"""What a record's name has where its log's has ``.log``."""
_LIBRARIES = "lookalike numpy scipy pandas sklearn skimage cv2 numba faiss pywt torch matplotlib"
Job = Any
"""What a script knows of itself: the ``snakemake`` object."""


@dataclass(frozen=True)
class JobRecord:
    """One record; paths are as seen from the work folder."""

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    started: datetime
    seconds: float
    cpu_seconds: float
    peak_megabytes: float  # 0 where the system does not tell
    threads: int
    processor: str
    python: str
    versions: Mapping[str, str]  # of the libraries that the job had loaded
    commit: str  # of the code; "" outside a git work tree
    modified: bool  # whether files of the package differed from the commit


@contextlib.contextmanager
def logged(job: Job, *, append: bool = False) -> Iterator[None]:
    """Send the block's output to the job's first log, and leave a record of a job that goes well beside it."""
    # most objects of a job are imported modules, and Python would look through them for garbage again and again
    gc.set_threshold(100_000, 50)
    path = Path(job.log[0])
    started, terminal = time.time(), sys.stderr
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(SUFFIX).unlink(missing_ok=True)  # a job that fails leaves none, an earlier one's neither
            # by lines, and closed by hand: its last words may not find room on the disk
            stream = path.open("a" if append else "w", encoding="utf-8", buffering=1)
            stack.callback(_close, stream)
            stack.enter_context(contextlib.redirect_stdout(stream))
            stack.enter_context(contextlib.redirect_stderr(stream))
            yield
            write_record(job, path, started)
            gc.freeze()  # nothing is left to do: Python need not go through all objects once more when it ends
        except LookalikeError as error:
            _end(terminal, f"error: {error}")
        except KeyboardInterrupt:
            _end(terminal, "interrupted", status=128 + signal.SIGINT)
        except Exception as error:  # noqa: BLE001 - whatever it is, its reason belongs in the log and the job ends
            if disk := disk_error_behind(error):
                where = disk.filename or "a file of this job"
                _end(terminal, f"error: cannot write {where}: {disk.strerror}; free some space")
            if isinstance(error, MemoryError):
                advice = "run fewer jobs at a time, or where there is more"
                _end(terminal, f"error: there is not enough memory ({error}); {advice}")
            _end(terminal, traceback.format_exc().rstrip(), f"an unexpected error; its traceback is in {path}")


def _end(terminal: TextIO, in_log: str, on_terminal: str = "", status: int = 1) -> NoReturn:
    """End a failed job with its reason in the log, and on the terminal unless that is shown what the log says."""
    is_shown = SHOWN in os.environ
    try:
        print(in_log, file=sys.stderr)
    except OSError:  # a full disk has no room for the log either
        is_shown, on_terminal = False, in_log
    if not is_shown and terminal is not sys.stderr:
        print(escaped(on_terminal or in_log), file=terminal)
    sys.exit(status)


def _close(stream: TextIO) -> None:
    """Close a log whose last words may not have found room on the disk."""
    with contextlib.suppress(OSError):
        stream.close()


def write_record(job: Job, log: Path, started: float) -> None:
    """Write what a finished job took beside its log; it began at `started`, in seconds of `time.time`."""
    commit, modified = code_state()
    versions = {name: str(getattr(sys.modules.get(name), "__version__", "")) for name in _LIBRARIES.split()}
    record = JobRecord(
        rule=job.rule,
        inputs=tuple(sorted(map(_from_here, job.input))),
        outputs=tuple(map(_from_here, job.output)),
        started=datetime.fromtimestamp(started, UTC),
        seconds=round(time.time() - started, 3),
        cpu_seconds=round(sum(os.times()[:4]), 3),  # of the process and its children
        peak_megabytes=round(_peak_megabytes()),
        threads=int(job.threads),
        processor=processor_name(),
        python=platform.python_version(),
        versions={name: version for name, version in versions.items() if version},
        commit=commit,
        modified=modified,
    )
    write_json(asdict(record) | {"started": record.started.isoformat(timespec="seconds")}, log.with_suffix(SUFFIX))


def code_state(folder: Path = Path(__file__).parents[1]) -> tuple[str, bool]:
    """Return the package's commit, and whether its files differ from it; ``("", False)`` outside a git work tree."""
    try:
        commit, status = (
            subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=20, check=True).stdout
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "."])
        )
    except (OSError, subprocess.SubprocessError):  # no git, or no work tree: an installed package, a container
        return "", False
    return commit.strip(), bool(status.strip())


def _from_here(path: str) -> str:
    """Return a path as seen from the work folder, if it is below: a record says nothing of one machine's folders."""
    path = str(path)
    return os.path.relpath(path) if os.path.isabs(path) and Path(path).is_relative_to(Path.cwd()) else path


def _peak_megabytes() -> float:
    """Return the most memory that this process held; 0 where the system does not tell."""
    # not getrusage, whose peak is kept when a process starts another program: a job's would be Snakemake's at least
    kilobytes = linux_fact("VmHWM", Path("/proc/self/status")) or "0"
    return float(kilobytes.split()[0]) / 1e3
