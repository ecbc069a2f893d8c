"""Kernels that several processes compile at once."""

import fcntl
import runpy
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.caching import FunctionCache

from lookalike.core import kernels

KERNEL = """
from lookalike.core.kernels import njit

@njit(cache=True)
def double(value):
    return value + value
"""


@pytest.fixture
def double(tmp_path, monkeypatch):
    """Compile a kernel, or find it in the cache; return what it makes of 4, and whether it was found."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernel.py").write_text(KERNEL)

    def doubled():
        kernel = runpy.run_path(str(tmp_path / "kernel.py"))["double"]
        return kernel(np.float64(4)), sum(kernel.stats.cache_hits.values())

    return doubled


def test_the_cache_is_read_and_written_by_one_process_at_a_time(double, monkeypatch):
    called = []

    def watch(name):
        original = getattr(FunctionCache, name)

        def watched(self, *arguments):
            lock = Path(self.cache_path, f"{self._impl.filename_base}.lock")
            with lock.open("a") as another_process, pytest.raises(BlockingIOError):
                fcntl.flock(another_process, fcntl.LOCK_EX | fcntl.LOCK_NB)
            called.append(name)
            return original(self, *arguments)

        monkeypatch.setattr(FunctionCache, name, watched)

    watch("load_overload")
    watch("save_overload")
    assert [double(), double()] == [(8, 0), (8, 1)]
    assert called == ["load_overload", "save_overload", "load_overload"]


def test_without_a_folder_that_can_be_written_kernels_compile_with_one_warning(double, tmp_path, monkeypatch, recwarn):
    file = tmp_path / "file"
    file.touch()
    (tmp_path / "__pycache__").symlink_to(file)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(file / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(file / "home"))
    kernels.say_that_nothing_is_kept.cache_clear()
    assert [double(), double()] == [(8, 0), (8, 0)]
    assert [str(warning.message).partition(",")[0] for warning in recwarn] == ["compiled code cannot be kept"]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_entry_is_compiled_again_and_mended(double, tmp_path, suffix):
    for damage, hits in ((b"", 0), (b"garbage", 0), (None, 0), (None, 1)):
        assert double() == (8, hits)
        if damage is not None:
            next((tmp_path / "cache").rglob(f"*.{suffix}")).write_bytes(damage)
