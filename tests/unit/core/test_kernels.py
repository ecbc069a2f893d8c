"""Kernels that several processes compile at once."""

from __future__ import annotations

import os
import subprocess
import sys

KERNEL = """
import sys, time
import numpy as np
from numba.core.caching import IndexDataCacheFile
from lookalike.core.kernels import njit

@njit(cache=True)
def total(values):
    result = values[0]
    for value in values[1:]:
        result += value
    return result

if __name__ == "__main__":
    save_index = IndexDataCacheFile._save_index
    def slow(self, overloads):
        time.sleep(1)  # long enough for the other process to find the same index
        save_index(self, overloads)
        time.sleep(1)
    if sys.argv[1] == "slow":
        IndexDataCacheFile._save_index = slow
    for dtype in sys.argv[2:]:
        print(total(np.array([1.5, 2.5, 4]).astype(dtype)))
    print(sum(total.stats.cache_hits.values()))
"""


def test_processes_that_compile_one_kernel_for_different_types_do_not_mix_them_up(tmp_path):
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def start(*arguments):
        command = [sys.executable, str(script), *arguments]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    together = [start("slow", "float64"), start("slow", "int64")]
    assert [process.communicate(timeout=120)[0].split()[0] for process in together] == ["8.0", "7"]
    assert start("fast", "float64", "int64").communicate(timeout=120)[0].split() == ["8.0", "7", "2"]
