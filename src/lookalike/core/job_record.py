"""What a job of the workflow took and what it ran on, in a small file beside its log.

The report tells from them what made an exhibit, and what a run took. Records differ from run to run, so they are no
output of a rule and nothing depends on them.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lookalike.core.files import write_json
from lookalike.core.machine import processor_name

SUFFIX = ".job.json"
"""What a record's name has where its log's has ``.log``."""
_LIBRARIES = "lookalike numpy scipy pandas sklearn skimage cv2 numba faiss pywt torch matplotlib"


Job = Any
"""What a script knows of itself: the ``snakemake`` object."""


def record_path(log: str | os.PathLike[str]) -> Path:
    """Return the path of the record beside a log."""
    return Path(log).with_suffix(SUFFIX)


@dataclass(frozen=True)
class JobRecord:
    """One record; paths are as seen from the work folder."""

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    started: datetime
    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    """0 where the system does not tell."""
    threads: int
    processor: str
    python: str
    versions: Mapping[str, str]
    """Of the libraries that the job had loaded."""
    commit: str
    """Of the code; "" outside a git work tree."""
    modified: bool
    """Whether files of the package differed from the commit."""


def write_record(job: Job, log: str | os.PathLike[str], started: float) -> None:
    """Write what a finished job took beside its log; it began at `started`, in seconds of `time.time`."""
    commit, modified = code_state()
    cpu_seconds, peak = _used()
    versions = {name: str(getattr(sys.modules.get(name), "__version__", "")) for name in _LIBRARIES.split()}
    record = JobRecord(
        rule=job.rule,
        inputs=tuple(sorted(map(_from_here, job.input))),
        outputs=tuple(map(_from_here, job.output)),
        started=datetime.fromtimestamp(started, UTC),
        seconds=round(time.time() - started, 3),
        cpu_seconds=round(cpu_seconds, 3),
        peak_megabytes=round(peak),
        threads=int(job.threads),
        processor=processor_name(),
        python=platform.python_version(),
        versions={name: version for name, version in versions.items() if version},
        commit=commit,
        modified=modified,
    )
    write_json(asdict(record) | {"started": record.started.isoformat(timespec="seconds")}, record_path(log))


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


def _used() -> tuple[float, float]:
    """Return the processor seconds of this process and its children, and the most memory that it held, in megabytes."""
    times, status = os.times(), Path("/proc/self/status")
    # not getrusage, whose peak is kept when a process starts another program: a job's would be Snakemake's at least
    lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else []
    peak = next((float(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM:")), 0.0)
    return sum(times[:4]), peak
