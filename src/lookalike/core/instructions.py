"""Which vector instructions the libraries of a job may use, so that its digits do not depend on the processor.

Longer vectors add numbers in another order, so that sums are rounded differently. An environment variable holds each
library to shorter ones when it is loaded: the process that reads the Snakefile sets them, and every job inherits them.
"""

from __future__ import annotations

import platform
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final, Literal

Instructions = Literal["x86-64-v3", "native"]

X86_64_V3: Final = {
    # OpenBLAS of NumPy, SciPy, OpenCV and faiss: the kernels that need AVX2 and FMA, on processors of any maker
    "OPENBLAS_CORETYPE": "Haswell",
    # the names of NumPy 2.4, then those of older versions; NumPy passes over names that it does not know
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL",
    "NUMBA_CPU_NAME": "x86-64-v3",
    # none beside those of the name; numba would add all that the processor has
    "NUMBA_CPU_FEATURES": "",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    # the only mode of MKL (matrix products of torch) that is the same on processors of other makers than Intel
    "MKL_CBWR": "COMPATIBLE",
    # faiss reads the first since 1.14, and older builds the second
    "FAISS_SIMD_LEVEL": "AVX2",
    "FAISS_OPT_LEVEL": "AVX2",
    "ARROW_USER_SIMD_LEVEL": "AVX2",
    "OPENCV_CPU_DISABLE": "AVX512-SKX",
    # Intel's primitives choose by processor too, and cannot be told what
    "OPENCV_IPP": "disabled",
    # OpenCV would warn in every job that these are off
    "OPENCV_LOG_LEVEL": "ERROR",
}
"""Environment variable to what holds its library to the instructions of x86-64-v3 (AVX2 and FMA, no AVX-512)."""
NEEDED: Final = {"avx2", "fma", "bmi1", "bmi2", "f16c", "abm", "movbe"}
"""What Linux calls the instructions that x86-64-v3 has beside those of x86-64-v2."""


def processor_name() -> str:
    """Return the model of the processor, as the system names it."""
    return linux_fact("model name") or platform.processor() or platform.machine()


def linux_fact(name: str, described: Path = Path("/proc/cpuinfo")) -> str:
    """Return what Linux says, of the first processor, under a name, or nothing where it says nothing."""
    lines = described.read_text(encoding="utf-8", errors="replace").splitlines() if described.is_file() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def processor_flags() -> set[str]:
    """Return the instruction sets that Linux lists for the first processor; none where it lists none."""
    return set(linux_fact("flags").split())


def why_not_same_digits(flags: set[str]) -> str:
    """Say why digits may differ on this processor from those of another one, or nothing if they need not."""
    missing = NEEDED - flags
    if not missing:
        return ""
    name = "AVX2" if "avx2" in missing else min(missing).upper()
    lacks = f"has no {name}" if flags else f"is not known to have AVX2 ({platform.machine()})"
    return f"this processor {lacks}, so instructions are not fixed: digits may differ from those of other machines"


def hold_instructions(environment: MutableMapping[str, str], flags: set[str]) -> str:
    """Hold all libraries to x86-64-v3, or let go what another node held; return why digits may differ, if they may."""
    if differs := why_not_same_digits(flags):
        for name, _ in X86_64_V3.items() & environment.items():
            del environment[name]
    else:
        environment.update(X86_64_V3)
    return differs
