"""What a run of the workflow shows: on a terminal a bar and what is running, elsewhere a line for each finished stage.

`show_run` takes the place of what prints Snakemake's log records; the log below ``.snakemake/log`` has all of them.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lookalike.core.errors import escaped
from lookalike.core.job_log import SHOWN

WIDTH = 158  # columns of a line where there is no terminal to ask
LAST_LINES, LAST_BYTES = 10, 20_000  # of a failed job's log; the bytes are read to find the lines
SECONDS = 30.0  # between two lines within a long stage, where there is no terminal
FROM_CLUSTER = "For further error details see the cluster/cloud log"  # ends what is said of a job that a scheduler ran
CHATTER = (
    *("Assuming unrestricted", "Building DAG", "Using shell", "Conda environments", "Singularity", "Exiting because"),
    *("No SLURM account given", "No account was given", "Unable to guess SLURM account"),  # the default one is taken
)
"""How Snakemake's messages begin that say nothing about this run."""
Processes = Callable[[], list[int]]
_PLACE = re.compile(r"^(\s|$|RuleException:|Traceback |WorkflowError)|Error in file |exit status 1\.$")
"""Lines of an error of Snakemake's that say where in the code it happened, and that a job failed."""
_SCHEDULER = re.compile(r"(slurmstepd|srun)\S*: error: ")
"""How SLURM's own lines begin in its log of a job, most of which is of the Snakemakes that it started."""


class RunDisplay(logging.Handler):
    """Shows the run that Snakemake's log records tell of; `closing` gives its last words, `processes` its jobs'.

    A record with an event is shown by the method of that name, and one without by `_message`.
    """

    def __init__(self, console: Console, full_log: str, closing: Callable[[], str], processes: Processes) -> None:
        super().__init__(logging.INFO)
        self.console, self.full_log, self.closing, self.processes = console, full_log, closing, processes
        self.total = self.done = 0
        self.left: Counter[str] = Counter()  # jobs of each rule
        self.jobs: dict[int, tuple[str, str, float, Any]] = {}  # that run: rule, name, when each began, logs
        self.failed: dict[int, str] = {}
        self.is_interrupted = False
        self.reason: list[str] = []
        self.started = self.last_line = time.monotonic()
        self.live = Live(console=console, get_renderable=self._picture, transient=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record of Snakemake's, if it is one for people."""
        event = getattr(record, "event", None)
        show = getattr(self, f"_{event.value if event else 'message'}", None)
        if show is not None and not self.is_interrupted:
            try:
                show(record)
            except Exception:  # noqa: BLE001 - what cannot be shown must not end a run of hours
                self.handleError(record)

    def close(self) -> None:
        """Give the terminal back, whatever ended the run."""
        self.live.stop()
        super().close()

    def interrupt(self, *_: object) -> None:
        """End the jobs, and with them the run: the handler of Ctrl-C, which they ignore themselves."""
        is_first, self.is_interrupted = not self.is_interrupted, True
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        if is_first:
            raise KeyboardInterrupt

    def lose_log(self, _: logging.LogRecord) -> None:
        """Say once that Snakemake's log cannot be written: the handler of its errors."""
        if self.full_log:
            self._print(f"{self.full_log} cannot be written ({sys.exception()}): free some space", "bold red")
        self.full_log = ""

    def finish(self, came: str = "") -> None:
        """Say what came of a run that went well, and its last words."""
        self.live.stop()
        self._print(came or f"{_steps(self.done)} in {clock(self.started)}.")
        if words := self.closing():
            print(f"\n{words}", flush=True)

    def fail(self) -> None:
        """Say what failed, or go on with the interruption that Snakemake takes for a failed run."""
        self.live.stop()
        if self.is_interrupted or not (self.failed or self.reason):
            raise KeyboardInterrupt
        # Snakemake has no event of a job that lacks its output
        failed = [*self.failed.values()] or ["the one above"]
        waited = self.total - self.done - len(failed)
        waiting = f"{waited} more {'was' if waited == 1 else 'were'} not run. " if waited > 0 else ""
        kept = "What is done is kept: mend the cause, and start the same command again."
        self._print(f"{len(failed)} of {_steps(self.total)} failed: {', '.join(failed)}. {waiting}{kept}", "bold red")

    def _run_info(self, record: Any) -> None:
        self.left.update(record.stats)
        self.total = self.left.pop("total")
        self._print(f"{_steps(self.total)}; everything that Snakemake says goes to {self.full_log}")
        if self.console.is_terminal:
            self.live.start()
            self.console.show_cursor(True)  # a run that is killed leaves it as it is

    def _job_info(self, record: Any) -> None:
        name = name_of_job(record.rule_name, [*map(str, record.wildcards.values())])
        self.jobs[record.jobid] = record.rule_name, name, time.monotonic(), record.log or ()

    def _job_finished(self, record: Any) -> None:
        rule, name, started, _ = self.jobs.pop(record.job_id)
        self.done += 1
        self.left[rule] -= 1
        if not self.console.is_terminal and (time.monotonic() - self.last_line > SECONDS or not self.left[rule]):
            steps = f"{self.done}/{self.total}".rjust(2 * len(str(self.total)) + 1)
            self._print(f"{clock(self.started):>7}  {steps}  {name} ({clock(started)})")

    def _job_error(self, record: Any) -> None:
        _, name, started, _ = self.jobs.pop(record.jobid, ("", record.rule_name, time.monotonic(), ()))
        self.failed[record.jobid] = name
        self._print(f"FAILED after {clock(started)}: {name}", "bold red")
        # what Snakemake itself has to say: of a scheduler, why it refused or ended the job
        words = (record.rule_msg or "").partition(FROM_CLUSTER)[0].strip().splitlines()
        # of a job that was killed or refused the rule's own log may be empty; beside it may be one of the scheduler
        written = {log: lines for log in record.log if (lines := last_lines(log, LAST_BYTES))}
        ended = [line for lines in written.values() for line in lines if _SCHEDULER.match(line)]
        own = [] if ended and len(written) == 1 else next(iter(written.values()), [])
        lines = [*words, *ended[-LAST_LINES:], *own[-LAST_LINES:]] or self.reason
        lines += [f"its log: {', '.join(written) or record.log[0]}"] if record.log else []
        for line in lines:
            self._print(f"    {line}", "red")

    def _error(self, record: Any) -> None:
        message = record.getMessage()
        self.reason = [line for line in message.splitlines() if not _PLACE.search(line)]
        # once jobs run, a job that fails is shown with its own words
        if not (self.total and (record.exception == "RuleException" or "At least one job" in message)):
            is_short = record.exception in ("WorkflowError", "OSError", "PermissionError")
            self._print("\n".join(self.reason) if is_short else message, "bold red")

    def _message(self, record: Any) -> None:
        message = record.getMessage().strip()
        if message.startswith("Nothing to be done"):
            self.finish("Nothing was to be done: all is there that was asked for, and nothing behind it has changed.")
        elif again := re.match(r"Trying to restart job (\d+)\.", message):
            self._print(f"Trying again: {self.failed.pop(int(again[1]), 'the job above')}", "yellow")
        elif not message.startswith(CHATTER):
            if record.levelno >= logging.WARNING:
                self._print(message, "red" if record.levelno >= logging.ERROR else "yellow")
            elif not self.total and not message.startswith("None"):
                self._print(message)

    def _print(self, text: str, style: str = "") -> None:
        self.last_line = time.monotonic()
        self.console.print(Text(escaped(text, keep="\n"), style))

    def _picture(self) -> Table:
        """Return the bar, and a line for each running job with what its log said last."""
        picture = Table.grid(padding=(0, 1))
        for width in (None, None, self.console.width // 2):
            picture.add_column(no_wrap=True, overflow="ellipsis", max_width=width)
        bar = ProgressBar(self.total, self.done, width=min(40, self.console.width // 3))
        seconds = (time.monotonic() - self.started) * (self.total - self.done) / max(1, self.done)
        left = f", about {max(1, round(seconds / 60))} min left" if 3 <= self.done < self.total else ""
        picture.add_row(bar, clock(self.started), f"{self.done} of {_steps(self.total)}{left}")
        for _, name, started, logs in list(self.jobs.values()):
            said = "".join(line for log in logs[:1] for line in last_lines(log, 1))
            picture.add_row(f"  {name}", clock(started), Text(escaped(said), "dim"))
        return picture


def show_run(logger: logging.Logger, closing: Callable[[], str], processes: Processes) -> RunDisplay | None:
    """Show the run in place of Snakemake's own words; None where the user has chosen another handler for these."""
    named = {handler.name: handler for handler in logger.handlers}
    own, file = named.get("DefaultStreamHandler"), named.get("DefaultLogFileHandler")
    if own is None:
        return None
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    console = Console(stderr=True, width=None if is_terminal else WIDTH, force_terminal=is_terminal, highlight=False)
    full_log = os.path.relpath(file.baseFilename) if isinstance(file, logging.FileHandler) else "no file"
    display = RunDisplay(console, full_log, closing, processes)
    if file is not None:
        file.handleError = display.lose_log  # type: ignore[assignment]
    logger.removeHandler(own)
    logger.addHandler(display)
    os.environ[SHOWN] = "1"
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:  # not in the background of a script
        signal.signal(signal.SIGINT, display.interrupt)
    return display


def say_interrupted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in a sentence that a run was interrupted, in place of a traceback: an exception hook."""
    if issubclass(kind, KeyboardInterrupt):
        print("Interrupted: what is done is kept, and the same command goes on.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def last_lines(log: str, count: int) -> list[str]:
    """Return the last lines of a job's log, of a traceback only what went wrong."""
    if not Path(log).is_file():
        return []
    text = Path(log).read_bytes()[-LAST_BYTES:].decode("utf-8", errors="replace")
    before, _, trace = text.partition("Traceback (most recent call last):\n")
    lines = re.split(r"[\r\n]+", before) + [line for line in trace.splitlines() if not line.startswith(" ")]
    return [line for line in lines if line.strip()][-count:]


def name_of_job(rule: str, wildcards: Sequence[str]) -> str:
    """Return what a job does and of what: ``run subset: caltech20, words1000, ten``; a rule may be named by these."""
    for wildcard in wildcards:
        rule = re.sub(rf"_{re.escape(wildcard)}(?=_|$)", "", rule)
    return ": ".join(filter(None, (rule.replace("_", " "), ", ".join(wildcards))))


def _steps(count: int) -> str:
    return f"{count} step{'s' * (count != 1)}"


def clock(started: float) -> str:
    """Return hours, minutes and seconds since a time: ``0:03:07``."""
    return str(timedelta(seconds=int(time.monotonic() - started)))
