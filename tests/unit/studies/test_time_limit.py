"""The limit counts the processor's time, ends what runs, and leaves nothing behind."""

import signal
import time

import pytest

from lookalike.studies.time_limit import TimeLimitReachedError, cpu_time_limit


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def swallow_once(seconds):
    try:
        burn(seconds)
    except TimeLimitReachedError:
        burn(seconds)


@pytest.mark.parametrize("work", [burn, swallow_once])
def test_work_that_takes_too_long_is_broken_off_and_nothing_is_left_behind(work):
    before, start = signal.getsignal(signal.SIGPROF), time.process_time()
    with (
        pytest.raises(TimeLimitReachedError, match=r"^the fit took more than 0.3 s of processor time$"),
        cpu_time_limit(0.3, "the fit"),
    ):
        work(5)
    # the timer counts ticks of the kernel, of which some come early on a loaded machine
    assert 0.2 < time.process_time() - start < 3
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_waiting_is_not_work_and_without_a_limit_there_is_none():
    with cpu_time_limit(0.05, "the fit"):
        time.sleep(0.1)
    with cpu_time_limit(None, "the fit"):
        burn(0.05)
