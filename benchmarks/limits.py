"""The frame of all benchmarks: options, synthetic rows, ways that take turns, one core's limits, and what is kept."""

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
OUTPUT = "also write everything as JSON to this file"


def options(text: str | None, output: str = OUTPUT, **named: tuple[Any, str]) -> argparse.Namespace:
    """Return what the command line says of --output and of options by name, for a run with one thread.

    An option is its default and its help: False is a flag, None a path, a list takes several, and a tuple some of its
    own. Numbers are positive.
    """
    threadpool_limits(1)
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (default, about) in {"output": (None, output), **named}.items():
        flag, several = f"--{name.replace('_', '-')}", isinstance(default, list | tuple)
        if default is False:
            parser.add_argument(flag, action="store_true", help=about)
        else:
            kind = Path if default is None else type(default[0] if several else default)
            default_text = (
                "" if default is None else f" (default: {' '.join(map(str, default)) if several else default})"
            )
            how = {"nargs": "+" if several else None, "choices": default if isinstance(default, tuple) else None}
            parser.add_argument(flag, type=kind, default=default, help=about + default_text, **how)
    found = parser.parse_args()
    for name, value in vars(found).items():
        numbers = [number for number in np.ravel(value) if isinstance(number, int | float | np.number)]
        if min(numbers, default=1) <= 0 and value is not False and value != named[name][0]:
            parser.error(f"--{name.replace('_', '-')} must be positive")
    return found


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


def timed(way: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of one call, and what it returned."""
    start = time.process_time()
    result = way()
    return time.process_time() - start, result


def take_turns(ways: dict[str, Callable[[], Any]], repeat: int = 3) -> dict[str, list[float]]:
    """Return the processor seconds of each way in each pass, in which they take turns, after one that warms up."""
    passes = [{name: timed(way)[0] for name, way in ways.items()} for _ in range(repeat + 1)]
    return {name: [seconds[name] for seconds in passes[1:]] for name in ways}


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
    done = {"read": READ_BYTES, "float32": 2 * PRODUCT_ROWS**3, "float64": 2 * PRODUCT_ROWS**3}
    return {name: done[name] / min(seconds) for name, seconds in take_turns(ways).items()}


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
    row["ratio"] = theirs / max(ours, 1e-9)  # clocks have ticks
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


def keep(path: Path | None, ratios: Sequence[Row] = (), **figures: Any) -> None:
    """Print the rows of ours beside peers; write them, the machine and all else that was measured to a path, if any."""
    if ratios:
        print_table(ratios)
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
