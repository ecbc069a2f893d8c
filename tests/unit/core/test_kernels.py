"""Kernels whose compiled code is kept: where it cannot be, or is damaged."""

import runpy

import numba
import numpy as np
import pytest

from lookalike.core import kernels

KERNEL = """
from lookalike.core.kernels import njit

@njit(cache=True)
def double(value):
    return value + value
"""


def test_without_a_folder_that_can_be_written_kernels_compile_with_one_warning(tmp_path, monkeypatch, recwarn):
    file = tmp_path / "file"
    file.touch()
    (tmp_path / "__pycache__").symlink_to(file)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(file / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(file / "home"))
    kernels.say_that_nothing_is_kept.cache_clear()
    (tmp_path / "kernel.py").write_text(KERNEL)
    for _ in range(2):
        assert runpy.run_path(str(tmp_path / "kernel.py"))["double"](np.float64(4)) == 8
    assert [str(warning.message).partition(",")[0] for warning in recwarn] == ["compiled code cannot be kept"]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_damaged_entry_is_compiled_again_and_mended(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernel.py").write_text(KERNEL)
    for damage, hits in ((b"", 0), (b"garbage", 0), (None, 0), (None, 1)):
        double = runpy.run_path(str(tmp_path / "kernel.py"))["double"]
        assert (double(np.float64(4)), sum(double.stats.cache_hits.values())) == (8, hits)
        if damage is not None:
            next((tmp_path / "cache").rglob(f"*.{suffix}")).write_bytes(damage)
