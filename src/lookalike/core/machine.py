"""What machine a number was measured on, which every time in an exhibit is told with."""

from __future__ import annotations

import platform
from pathlib import Path


def processor_name() -> str:
    """Return the model of the processor, as the system names it."""
    described = Path("/proc/cpuinfo")
    if described.is_file():
        for line in described.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
