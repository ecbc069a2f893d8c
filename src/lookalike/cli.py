"""The command ``lookalike``; its commands import what is heavy when they run, so that ``--help`` answers at once."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence

from lookalike.app import extra_needed
from lookalike.core.errors import LookalikeError, escaped, shortened

OK, FAILED, WRONG_USE = 0, 1, 2
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
_OUTPUT_FAILS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default that of the process, and return its exit status; a mistake is one sentence."""
    try:
        try:
            status = _run(sys.argv[1:] if arguments is None else list(arguments))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except ModuleNotFoundError as error:
        print(f"lookalike: {extra_needed(error, 'the commands need it')}", file=sys.stderr)
        return FAILED
    except LookalikeError as error:
        return _fail(str(error))
    except BrokenPipeError:
        _drop_output()  # whoever read the output wants no more of it (`| head`)
        return FAILED
    except OSError as error:
        reason = error.strerror or str(error)
        # files are named in errors; the output is not
        if error.filename is not None:
            return _fail(f"{error.filename} cannot be read or written: {reason}; check its permissions and the disk")
        if error.errno not in _OUTPUT_FAILS:
            raise
        _drop_output()
        return _fail(f"the output cannot be written: {reason}; write it elsewhere")
    except MemoryError as error:
        what = str(error) or "for this"
        return _fail(f"there is not enough memory ({what}): give fewer images, vectors, words or --jobs at a time")
    except KeyboardInterrupt:
        status = INTERRUPTED
    return _fail("interrupted", status) if status == INTERRUPTED else status


def _run(arguments: list[str]) -> int:
    """Run the command that the arguments name; typer comes with the extra that the commands need."""
    import typer

    from lookalike.app import commands, rated  # noqa: F401 (they add their commands)
    from lookalike.app.options import app

    with warnings.catch_warnings():
        warnings.showwarning = _tell_warning
        try:
            return int(app(arguments, prog_name="lookalike", standalone_mode=False) or OK)
        except typer.TyperException as error:
            context = getattr(error, "ctx", None)
            message = " ".join(error.format_message().split()).rstrip(".")
            called = context.command_path if context is not None else "lookalike"
            return _fail(f"{message[:1].lower()}{message[1:]}; see {called} --help", WRONG_USE)


def _fail(sentence: str, status: int = FAILED) -> int:
    """Tell a sentence on standard error, without what steers a terminal or is too long, and return the exit status."""
    print(f"lookalike: {escaped(shortened(sentence))}", file=sys.stderr)
    return status


def _drop_output() -> None:
    """Send what is left of the output nowhere, or the interpreter complains when it flushes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a sentence, without the place in the code."""
    _fail(str(message))
