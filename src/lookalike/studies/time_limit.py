"""A limit on the processor time of a piece of work, for fits that might never end (the papers' five days, `*`)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lookalike.core.errors import LookalikeError


class TimeLimitReachedError(LookalikeError):
    """The work took more processor time than it was given."""


@contextmanager
def cpu_time_limit(seconds: float | None, what: str) -> Iterator[None]:
    """Break off what runs inside the block once this process has spent `seconds` of processor time on it.

    Processor time (of all threads), not time by the clock: what else runs on the machine does not decide whether a
    method has a result. A compiled call is not interrupted; the work ends when it returns. `what` is limited, as the
    subject of the error's sentence: ``the final fit``. A limit works in the main thread, which alone receives signals,
    and not within another limit.
    """
    if seconds is None:
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a time limit works in the main thread only: run the fit there")

    def reached(*_: Any) -> None:
        raise TimeLimitReachedError(f"{what} took more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, reached)
    if before not in (signal.SIG_DFL, signal.SIG_IGN):
        signal.signal(signal.SIGPROF, before)
        raise RuntimeError("a time limit does not work within another one: set only one")
    try:
        # an exception in a finaliser is swallowed, so the signal comes again
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    finally:
        signal.signal(signal.SIGPROF, before)
