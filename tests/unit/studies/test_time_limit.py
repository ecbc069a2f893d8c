"""The limit counts the processor's time, ends what runs, and leaves nothing behind."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lookalike.studies.time_limit import TimeLimitReachedError, cpu_time_limit


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def swallow_once():
    with cpu_time_limit(0.05, "the fit"):
        try:
            burn(5)
        except TimeLimitReachedError:
            burn(5)


def limit_within_a_limit():
    with cpu_time_limit(0.2, "the fit"):
        with pytest.raises(RuntimeError, match="within another one"), cpu_time_limit(1.0, "a part"):
            pass
        burn(5)


def too_long():
    with cpu_time_limit(0.3, "the fit"):
        burn(5)


# neither a swallowed error nor a second limit lifts the first
@pytest.mark.parametrize("work", [too_long, swallow_once, limit_within_a_limit])
def test_work_that_takes_too_long_is_broken_off(work):
    start = time.process_time()
    with pytest.raises(TimeLimitReachedError, match=r"^the fit took more than 0.\d+ s of processor time$"):
        work()
    # the timer counts ticks of the kernel, of which some come early on a loaded machine
    assert time.process_time() - start > 0.2 or work is not too_long
    assert time.process_time() - start < 3


def test_waiting_is_not_work_and_without_a_limit_there_is_none():
    with cpu_time_limit(0.05, "the fit"):
        time.sleep(0.1)
    with cpu_time_limit(None, "the fit"):
        burn(0.05)


def test_nothing_is_left_behind():
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(ZeroDivisionError), cpu_time_limit(0.1, "the fit"):
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_another_thread_is_refused():
    with ThreadPoolExecutor() as pool:
        refused = pool.submit(too_long).exception()
    assert str(refused) == "a time limit works in the main thread only: run the fit there"
