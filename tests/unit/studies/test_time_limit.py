"""The limit counts the processor's time, ends what runs, and leaves nothing behind."""

from __future__ import annotations

import signal
import threading
import time

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


def test_work_that_takes_too_long_is_broken_off():
    start, message = time.process_time(), r"^the fit took more than 0.3 s of processor time$"
    with pytest.raises(TimeLimitReachedError, match=message), cpu_time_limit(0.3, "the fit"):
        burn(5)
    # the timer counts ticks of the kernel, of which some come early on a loaded machine
    assert 0.2 <= time.process_time() - start < 3


@pytest.mark.parametrize("work", [swallow_once, limit_within_a_limit])
def test_neither_a_swallowed_error_nor_a_second_limit_lifts_the_first(work):
    with pytest.raises(TimeLimitReachedError):
        work()


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
    said = []

    def work():
        try:
            with cpu_time_limit(1.0, "the fit"):
                pass
        except RuntimeError as error:
            said.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said == ["a time limit works in the main thread only: run the fit there"]
