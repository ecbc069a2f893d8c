"""Where a workflow script's words go: its log file, and for a user's own mistake one sentence without a traceback.

Snakemake's ``log:`` names a file but does not write a ``script:``'s output there; every script opens it with `logged`,
which also leaves a record of the job beside it (`lookalike.core.job_record`).
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from lookalike.core.errors import LookalikeError
from lookalike.core.job_record import Job, record_path, write_record

SHOWN = "LOOKALIKE_RUN_IS_SHOWN"
"""Set for jobs of a run that shows failures from their logs, so that they do not write to the terminal themselves."""


@contextlib.contextmanager
def logged(job: Job, *, append: bool = False) -> Iterator[TextIO]:
    """Send the block's output to the job's first log, if any, and give it the place for a bar that is not kept.

    That is the terminal, or the log where `lookalike.core.terminal` shows the run.
    """
    path = next(iter(job.log), None)
    started = time.time()
    terminal = sys.stderr
    is_shown = SHOWN in os.environ
    with contextlib.ExitStack() as stack:
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            record_path(path).unlink(missing_ok=True)  # a job that fails leaves none, an earlier one's neither
            # by lines, and closed by hand: its last words may not find room on the disk
            stream = open(path, "a" if append else "w", encoding="utf-8", buffering=1)  # noqa: SIM115
            stack.callback(_close, stream)
            stack.enter_context(contextlib.redirect_stdout(stream))
            stack.enter_context(contextlib.redirect_stderr(stream))
        try:
            yield sys.stderr if is_shown else terminal
            if path is not None:
                write_record(job, path, started)
        except LookalikeError as error:
            if path is not None and not is_shown:
                print(f"error: {error}", file=terminal)
            with contextlib.suppress(OSError):  # a full disk has no room for the log either
                print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except Exception:
            if path is None:
                raise
            with contextlib.suppress(OSError):
                traceback.print_exc()
            if not is_shown:
                print(f"an unexpected error; its traceback is in {path}", file=terminal)
            sys.exit(1)


def _close(stream: TextIO) -> None:
    """Close a log whose last words may not have found room on the disk."""
    with contextlib.suppress(OSError):
        stream.close()
