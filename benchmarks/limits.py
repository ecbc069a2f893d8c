"""Shared by the benchmarks: one core's limits, measured, ways that take turns, and rows of ours beside a peer."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

Row = dict[str, Any]
READ_BYTES = 2**29
"""More than a processor's caches hold."""
PRODUCT_ROWS = 2_000


def argument_parser(text: str | None, output: str = "also write everything as JSON to this file") -> Any:
    """Return a parser of what all benchmarks have, for a run with one thread."""
    threadpool_limits(1)
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help=output)
    return parser


def zipf_rows(n: int, d: int, non_zeros: int, exponent: float, random: np.random.Generator) -> sp.csr_array:
    """Return synthetic tf-idf rows of length 1: each of so many of d words, by Zipf's law, with random numbers."""
    shares = np.cumsum(np.arange(1, d + 1) ** -exponent)
    columns = np.empty((n, non_zeros), dtype=np.int32)
    for row in columns:
        words = np.empty(0, dtype=np.int64)
        while len(words) < non_zeros:
            words = np.unique(np.append(words, np.searchsorted(shares, shares[-1] * random.random(non_zeros))))
        row[:] = random.permutation(words)[:non_zeros]
    idf = np.log((n + 1) / (np.bincount(columns.ravel(), minlength=d) + 0.5))
    values = (random.random(columns.shape) + 0.5) * idf[columns]
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    starts = np.arange(0, columns.size + 1, non_zeros, dtype=np.int32)
    X = sp.csr_array((values.ravel(), random.permutation(d).astype(np.int32)[columns.ravel()], starts), shape=(n, d))
    X.sort_indices()
    return X


def processor() -> str:
    """Return the model of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def take_turns(ways: dict[str, Callable[[], Any]], repeat: int = 3) -> dict[str, float]:
    """Return the least processor seconds of each way; in every pass they take turns, after one that warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeat + 1):
        for name, way in ways.items():
            start = time.process_time()
            way()
            if turn:
                seconds[name].append(time.process_time() - start)
    return {name: min(values) for name, values in seconds.items()}


@cache
def limits() -> dict[str, float]:
    """Measure bytes a second of memory that is read once, and operations a second of products, with one thread."""
    memory = np.ones(READ_BYTES // 8)
    matrices = {dtype: np.ones((2, PRODUCT_ROWS, PRODUCT_ROWS), dtype) for dtype in ("float32", "float64")}
    ways: dict[str, Callable[[], Any]] = {
        "read": lambda: memory @ memory,
        "float32": lambda: np.matmul(*matrices["float32"]),
        "float64": lambda: np.matmul(*matrices["float64"]),
    }
    seconds = take_turns(ways)
    done = {"read": READ_BYTES, "float32": 2 * PRODUCT_ROWS**3, "float64": 2 * PRODUCT_ROWS**3}
    return {name: done[name] / seconds[name] for name in ways}


def beside(
    what: str,
    size: str,
    peer: str,
    seconds: tuple[float, float],
    *,
    operations: float = 0.0,
    bytes_read: float = 0.0,
    dtype: str = "float64",
) -> Row:
    """Return a row: seconds of ours and of the peer, and those that this core needs at least for what ours must do."""
    ours, theirs = seconds
    row: Row = {"what": what, "size": size, "peer": peer, "ours_seconds": ours, "peer_seconds": theirs}
    row["ratio"] = theirs / ours
    needed = {"products": operations / limits()[dtype], "memory": bytes_read / limits()["read"]}
    limit = max(needed, key=needed.__getitem__)
    return row | ({"limit": limit, "limit_seconds": needed[limit]} if needed[limit] > 0 else {})


def print_table(rows: Iterable[Row], leave_out: Sequence[str] = ()) -> None:
    """Print what rows have, a column a name, numbers in four digits."""
    rows = list(rows)
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in leave_out]
    found = [[row.get(name, "") for name in names] for row in rows]
    cells = [names, *([f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in found)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(flush=True)


def write(path: Path | None, ratios: Sequence[Row] = (), **figures: Any) -> None:
    """Write the rows, the machine and all else that was measured as JSON, if a path is given."""
    if path is None:
        return
    machine = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "limits_per_second": limits(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine, "ratios": ratios, **figures}, indent=1) + "\n", encoding="utf-8")
