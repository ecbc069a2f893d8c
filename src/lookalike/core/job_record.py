"""What a job of the workflow took and what it ran on, in a small file beside its log.

Snakemake keeps which rule made a file, but not what a reader of a number asks next: the code's commit, the versions of
the libraries that computed it, the processor, and the time. `lookalike.core.job_log.logged` writes one record a job,
and the report follows a table back to the images through them. Records differ from run to run, so they are no output
of a rule and nothing depends on them.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import lookalike
from lookalike.core.files import write_json
from lookalike.core.machine import processor_name

SUFFIX = ".job.json"
"""What a record's name has where its log's has ``.log``."""

_LIBRARIES = ("numpy", "scipy", "pandas", "sklearn", "skimage", "cv2", "numba", "faiss", "pywt", "torch", "matplotlib")
_MAXRSS_UNIT = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere


class Job(Protocol):
    """What a script knows of itself: the ``snakemake`` object."""

    @property
    def log(self) -> Iterable[str]:
        """Paths of its logs; the first is written."""
        ...

    @property
    def rule(self) -> str:
        """Name of its rule."""
        ...

    @property
    def input(self) -> Iterable[str]:
        """Files that it reads."""
        ...

    @property
    def output(self) -> Iterable[str]:
        """Files that it makes."""
        ...

    @property
    def threads(self) -> int:
        """Cores that it may use."""
        ...


def record_path(log: str | os.PathLike[str]) -> Path:
    """Path of the record beside a log."""
    return Path(log).with_suffix(SUFFIX)


def write_record(job: Job, log: str | os.PathLike[str], started: float) -> Path:
    """Write what a finished job took.

    Parameters
    ----------
    job : Job
        The ``snakemake`` object of its script.
    log : path-like
        Its log.
    started : float
        `time.time()` when it began, in seconds.

    Returns
    -------
    Path
        A JSON file: ``rule``, ``inputs``, ``outputs``, ``started`` (UTC), ``seconds`` by the clock, ``cpu_seconds``
        of the process and its children, ``peak_megabytes`` of memory (0 where the system does not tell), ``threads``,
        ``processor``, ``python``, ``versions`` of lookalike and of the libraries that the job had loaded, ``commit``
        (empty outside a git work tree) and ``modified`` (whether files differed from it).
    """
    commit, modified = code_state()
    cpu_seconds, peak = _used()
    record = {
        "rule": job.rule,
        "inputs": sorted(map(_from_here, job.input)),
        "outputs": [_from_here(path) for path in job.output],
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
        "cpu_seconds": round(cpu_seconds, 3),
        "peak_megabytes": round(peak),
        "threads": int(job.threads),
        "processor": processor_name(),
        "python": platform.python_version(),
        "versions": {"lookalike": lookalike.__version__} | _loaded_versions(sys.modules),
        "commit": commit,
        "modified": modified,
    }
    path = record_path(log)
    write_json(record, path)
    return path


def code_state(folder: Path = Path(__file__).parents[1]) -> tuple[str, bool]:
    """Commit that the package is at, and whether its files differ from it; ``("", False)`` outside a git work tree."""
    try:
        commit, status = (
            subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=20, check=True).stdout
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no", "."])
        )
    except (OSError, subprocess.SubprocessError):  # no git, or no work tree: an installed package, a container
        return "", False
    return commit.strip(), bool(status.strip())


def _from_here(path: str) -> str:
    """A path as seen from the work folder, where it is below that: a record says nothing of one machine's folders."""
    path = str(path)
    return os.path.relpath(path) if os.path.isabs(path) and Path(path).is_relative_to(Path.cwd()) else path


def _loaded_versions(modules: Mapping[str, Any]) -> dict[str, str]:
    """Versions of the libraries that are loaded."""
    return {name: str(modules[name].__version__) for name in _LIBRARIES if hasattr(modules.get(name), "__version__")}


def _used() -> tuple[float, float]:
    """Processor seconds of this process and its children, and the most memory that it held, in megabytes."""
    try:
        import resource
    except ImportError:  # not a Unix
        return time.process_time(), 0.0
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used), _peak_megabytes() or used[0].ru_maxrss / _MAXRSS_UNIT


def _peak_megabytes() -> float:
    """The most memory that this process held, as Linux tells; 0 elsewhere.

    The figure of `getrusage` is kept when a process starts another program: a job's would be Snakemake's at least.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else []
    return next((float(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM:")), 0.0)
