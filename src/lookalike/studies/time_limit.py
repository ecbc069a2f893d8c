"""A limit on the processor time of a piece of work, for fits that might never end (the papers' five days, `*`)."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lookalike.core.errors import LookalikeError

LEAST_SECONDS = 0.2
"""A shorter limit breaks off nothing before; of what ends sooner, the time is compared."""


class TimeLimitReachedError(LookalikeError):
    """The work took more processor time than it was given."""


@contextmanager
def cpu_time_limit(seconds: float | None, what: str) -> Iterator[None]:
    """Break off what runs inside the block once this process has spent so many seconds of processor time on it."""
    # of all threads and not by the clock: what else runs on the machine does not decide whether a method has a result
    if seconds is None:
        yield
        return

    # signals reach the main thread alone, a second limit would lift the first, and compiled calls are not interrupted:
    # of what ends before its signal comes, the time is compared
    def reached(*_: object) -> None:
        raise TimeLimitReachedError(f"{what} took more than {seconds:g} s of processor time")

    before, start = signal.signal(signal.SIGPROF, reached), time.process_time()
    try:
        # an exception in a finaliser is swallowed, so the signal comes again; in the first moments of a fit it may meet
        # compiled code that is being set up, which an exception has broken
        signal.setitimer(signal.ITIMER_PROF, max(seconds, LEAST_SECONDS), 1.0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        if time.process_time() - start > seconds:
            reached()
    finally:
        signal.signal(signal.SIGPROF, before)
