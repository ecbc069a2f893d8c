"""The command ``lookalike``: what the package does for a user's own images, from a terminal.

`lookalike.app` has the parser of each command and what runs it; the latter imports whatever is heavy, so that
``--help`` answers at once. A mistake in the input ends in one sentence and exit status 1, one in the command line in 2.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from lookalike import __version__
from lookalike.app import commands, rated
from lookalike.app.options import STATUS, escaped
from lookalike.core.errors import LookalikeError

OK, FAILED = 0, 1
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

_OUTPUT_FAILS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; by default that of the process.

    Returns
    -------
    int
        0, or 1 after a mistake in the input, told in one sentence on standard error.

    Raises
    ------
    SystemExit
        With status 2 after a mistake in the command line, as argparse does.
    """
    try:
        try:
            _run(parser().parse_args(arguments))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except LookalikeError as error:
        print(f"lookalike: {escaped(str(error))}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        _drop_output()  # whoever read the output wants no more of it (`| head`)
        return FAILED
    except OSError as error:
        # files are named in errors; the output is not
        if error.filename is not None or error.errno not in _OUTPUT_FAILS:
            raise
        _drop_output()
        print(f"lookalike: the output cannot be written: {error.strerror}; send it elsewhere", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("lookalike: interrupted", file=sys.stderr)
        return INTERRUPTED
    return OK


def _run(options: argparse.Namespace) -> None:
    with warnings.catch_warnings():
        warnings.showwarning = _tell_warning
        options.run(options)


def _drop_output() -> None:
    """Send what is left of the output nowhere, or the interpreter complains when it flushes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    import shtab

    made = argparse.ArgumentParser(
        prog="lookalike",
        description="Learn, use and judge image similarity.",
        epilog=f"lookalike COMMAND --help tells more, with examples.\n\n{STATUS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"lookalike {__version__}")
    shtab.add_argument_to(
        made, ["--print-completion"], help="print what makes a shell complete these commands, and where it goes"
    )
    parsers = made.add_subparsers(title="commands", metavar="COMMAND", required=True)
    commands.add_commands(parsers)
    rated.add_commands(parsers)
    return made


def _tell_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as a sentence, without the place in the code."""
    print(f"lookalike: {escaped(str(message))}", file=sys.stderr)
