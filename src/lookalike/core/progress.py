"""How far long work is, also where nobody watches a bar: a line now and then, and none of short work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

Item = TypeVar("Item")
Progress = Callable[[int, int], None]
"""``progress(done, all)``."""
SECONDS = 30.0
"""Between two lines; work that takes less has none."""


def progress_lines(what: str, seconds: float = SECONDS, stream: TextIO | None = None) -> Progress:
    """Return a callback that prints a line every so many seconds, and one at the end if there was one before."""
    start = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= seconds or (done == total and last > start):
            last = now
            left = (total - done) * (now - start) / max(done, 1)
            forecast = f", {left:.0f} s left" if 0 < done < total else ""
            print(f"{what}: {done:,} of {total:,} after {now - start:.0f} s{forecast}", file=stream, flush=True)

    return report


def counted(items: Iterable[Item], total: int, progress: Progress | None) -> Iterator[Item]:
    """Pass items on, and tell after each how many of them are done."""
    for done, item in enumerate(items, start=1):
        yield item
        if progress is not None:
            progress(done, total)
