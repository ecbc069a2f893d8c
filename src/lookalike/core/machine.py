"""What machine a number was measured on, which every time in an exhibit is told with."""

from __future__ import annotations

import platform
from pathlib import Path


def processor_name() -> str:
    """Return the model of the processor, as the system names it."""
    return cpu_fact("model name") or platform.processor() or platform.machine()


def cpu_fact(name: str, described: Path = Path("/proc/cpuinfo")) -> str:
    """Return what Linux says of the first processor under a name, or nothing where it says nothing."""
    if described.is_file():
        for line in described.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""
