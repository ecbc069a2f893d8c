"""Where a workflow script's words go: its log file, and for a user's own mistake one sentence without a traceback.

Snakemake's ``log:`` names a file but does not write a ``script:``'s output there; every script opens it with `logged`,
which also leaves a record of the job beside it (`lookalike.core.job_record`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, TextIO

from lookalike.core.errors import LookalikeError, escaped
from lookalike.core.files import disk_error_behind
from lookalike.core.job_record import Job, record_path, write_record

SHOWN = "LOOKALIKE_RUN_IS_SHOWN"
"""Set for jobs of a run that shows failures from their logs, so that they do not write to the terminal themselves."""


@contextlib.contextmanager
def logged(job: Job, *, append: bool = False) -> Iterator[None]:
    """Send the block's output to the job's first log, if any."""
    # most objects of a job are imported modules, and Python would look through them for garbage again and again
    gc.set_threshold(100_000, 50)
    path = next(iter(job.log), None)
    started = time.time()
    terminal = sys.stderr
    with contextlib.ExitStack() as stack:
        try:
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                record_path(path).unlink(missing_ok=True)  # a job that fails leaves none, an earlier one's neither
                # by lines, and closed by hand: its last words may not find room on the disk
                stream = open(path, "a" if append else "w", encoding="utf-8", buffering=1)  # noqa: SIM115
                stack.callback(_close, stream)
                stack.enter_context(contextlib.redirect_stdout(stream))
                stack.enter_context(contextlib.redirect_stderr(stream))
            yield
            if path is not None:
                write_record(job, path, started)
            gc.freeze()  # nothing is left to do: Python need not go through all objects once more when it ends
        except LookalikeError as error:
            _end(terminal, f"error: {error}", f"error: {error}")
        except KeyboardInterrupt:
            _end(terminal, "interrupted", "interrupted", 128 + signal.SIGINT)
        except Exception as error:  # noqa: BLE001 - whatever it is, its reason belongs in the log and the job ends
            if disk := disk_error_behind(error):
                full = f"error: cannot write {disk.filename or 'a file of this job'}: {disk.strerror}; free some space"
                _end(terminal, full, full)
            if isinstance(error, MemoryError):
                full = f"error: there is not enough memory ({error}); run fewer jobs at a time, or where there is more"
                _end(terminal, full, full)
            _end(terminal, traceback.format_exc().rstrip(), f"an unexpected error; its traceback is in {path}")


def _end(terminal: TextIO, in_log: str, on_terminal: str, status: int = 1) -> NoReturn:
    """End a failed job with its reason in the log, and on the terminal unless that is shown what the log says."""
    is_shown = SHOWN in os.environ
    try:
        print(in_log, file=sys.stderr)
    except OSError:  # a full disk has no room for the log either
        is_shown, on_terminal = False, in_log
    if not is_shown and terminal is not sys.stderr:
        print(escaped(on_terminal), file=terminal)
    sys.exit(status)


def _close(stream: TextIO) -> None:
    """Close a log whose last words may not have found room on the disk."""
    with contextlib.suppress(OSError):
        stream.close()
