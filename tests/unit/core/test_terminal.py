"""What a run shows, in a pipe and on a terminal, as Snakemake's records tell of it."""

import io
import logging
import re
import signal
from types import SimpleNamespace

import pytest
from markupsafe import Markup
from rich.console import Console

from lookalike.core import progress
from lookalike.core.errors import escaped, escaped_in_page
from lookalike.core.progress import counted, progress_lines
from lookalike.core.terminal import FROM_CLUSTER, WIDTH, RunDisplay

STEERING = [*range(0x20), *range(0x7F, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F)]
STEERING += [0xAD, 0x61C, 0x2066, 0xFEFF, 0xDCFF, 0xE0041]
TRACEBACK = 'Traceback (most recent call last):\n  File "deep.py", line 3\n    oops()\nValueError: no such fold\n'


def tell(display, event="", message="", level=logging.INFO, **fields):
    """Hand a record to the display as Snakemake does."""
    record = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    record.__dict__.update(fields, event=SimpleNamespace(value=event) if event else None)
    display.handle(record)


@pytest.fixture(params=[False, True], ids=["pipe", "terminal"])
def display(request):
    console = Console(file=io.StringIO(), width=80 if request.param else WIDTH, force_terminal=request.param)
    display = RunDisplay(console, "all.log", lambda: "main numbers", list)
    yield display
    display.close()


def said(display):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", display.console.file.getvalue())


def begin(display, *rules, log=()):
    tell(display, "run_info", stats={rule: rules.count(rule) for rule in rules} | {"total": len(rules)})
    for number, rule in enumerate(rules):
        wildcards = {"dataset": "demo", "shard": f"{number:03d}"}
        tell(display, "job_info", jobid=number, rule_name=rule, wildcards=wildcards, log=list(log))


def test_a_run_says_where_all_is_said_what_is_done_and_what_came_of_it(display, capsys):
    tell(display, message="Building DAG of jobs...")
    tell(display, message="oxford5k: not run: put images there", level=logging.WARNING)
    begin(display, "scan", "scan", "draw")
    for number in range(3):
        tell(display, "job_finished", job_id=number)
    display.finish()
    text = said(display)
    assert "Building" not in text
    assert "put images there" in text
    assert "3 steps; everything that Snakemake says goes to all.log" in text
    if not display.console.is_terminal:
        stages = [line.split()[1:4] for line in text.splitlines() if "/3" in line]
        assert stages == [["2/3", "scan:", "demo,"], ["3/3", "draw:", "demo,"]], "a line for each finished stage"
    assert "3 steps in 0:00:00." in text
    assert capsys.readouterr().out == "\nmain numbers\n"


def test_what_is_left_stands_above_what_runs_with_the_last_words_of_its_log(display, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("step 1 of 9\rstep 2 of 9, and much more than there is room for on a narrow terminal: " + 80 * "x")
    begin(display, *["scan"] * 4, *["train_demo10_demo"] * 2, log=[log])
    display.started -= 240
    for number in range(4):
        tell(display, "job_finished", job_id=number)
    display.console.print(display.live.get_renderable())
    text = said(display)
    assert "4 of 6 steps, about 2 min left" in text
    assert "train demo10: demo, 005" in text
    assert "step 2 of 9" in text
    assert "step 1 of 9" not in text
    assert display.console.is_terminal or max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("words", "visible", "hidden"),
    [
        ("error: no such class: dgo\n", "error: no such class: dgo", "Traceback"),
        (f"read 3 images\n{TRACEBACK}", "ValueError: no such fold", "oops"),
        (None, "[Errno 28] No space left", "Traceback"),
    ],
)
def test_a_failed_job_shows_its_last_lines_and_its_log(display, tmp_path, words, visible, hidden):
    log = tmp_path / "job.log"
    if words is not None:
        log.write_text(words)
    begin(display, "scan", "draw", log=[log])
    message = 'RuleException:\nOSError in file "x.smk", line 2:\n[Errno 28] No space left\n  File "y.py", line 3'
    tell(display, "error", message, logging.ERROR, exception="RuleException")
    tell(display, "job_error", jobid=0, rule_name="scan", rule_msg=None, log=[str(log)], level=logging.ERROR)
    tell(display, "error", "WorkflowError: At least one job failed.", logging.ERROR, exception="WorkflowError")
    tell(display, "error", "WorkflowError:\nError recording metadata", logging.ERROR, exception="WorkflowError")
    display.fail()
    text = said(display)
    assert "Error recording metadata" in text
    assert "FAILED after 0:00:00: scan: demo, 000" in text
    assert "job.log" in text.replace("\n", "")
    assert "1 of 2 steps failed: scan: demo, 000" in text
    assert visible in text
    assert hidden not in text
    assert "Exception" not in text
    assert "At least one job" not in text
    assert display.console.is_terminal or max(map(len, text.splitlines())) <= WIDTH


def test_a_job_that_succeeds_at_the_second_try_has_not_failed(display, capsys):
    begin(display, "scan")
    for event in ("job_error", "job_info"):
        tell(display, event, jobid=0, rule_name="scan", rule_msg=None, wildcards={}, log=[])
        tell(display, message="Trying to restart job 0." if event == "job_error" else "Select jobs to execute...")
    assert "Trying again: scan: demo, 000" in said(display)
    tell(display, "job_finished", job_id=0)
    display.finish()
    assert "1 step in 0:00:00." in said(display)
    assert not display.failed


def test_a_job_that_a_scheduler_ends_says_why_and_names_the_log_that_has_words(display, tmp_path):
    rule_log, cluster_log = tmp_path / "rule.log", tmp_path / "7.log"
    rule_log.touch()
    killed = "slurmstepd-n1: error: Exceeded job memory limit\n"
    cluster_log.write_text(killed + "srun: got SIGCONT\n" + "    of the Snakemake in the job\n" * 30)
    words = f"SLURM status is: 'OUT_OF_MEMORY'. {FROM_CLUSTER} and the log files of the involved rule(s)."
    begin(display, "scan", "draw")
    log = [str(rule_log), str(cluster_log)]
    tell(display, "job_error", jobid=0, rule_name="scan", rule_msg=words, log=log, level=logging.ERROR)
    display.fail()
    text = " ".join(said(display).split())
    for part in ("OUT_OF_MEMORY", "Exceeded job memory limit", "7.log", "1 of 2 steps failed: scan: demo, 000"):
        assert part in text, part
    assert "further error details" not in text
    assert "of the Snakemake" not in text


def test_a_job_without_its_output_is_no_interruption(display):
    begin(display, "scan", "draw")
    tell(display, "error", "Missing files after 5 seconds", logging.ERROR, exception="MissingOutputException")
    display.fail()
    assert "1 of 2 steps failed: the one above. 1 more was not run" in " ".join(said(display).split())


def test_an_interrupted_run_blames_no_job(display):
    begin(display, "scan", "draw")
    with pytest.raises(KeyboardInterrupt):  # Snakemake was told to end, and it ended the run after these two
        display.fail()
    with pytest.raises(KeyboardInterrupt):
        display.interrupt(signal.SIGINT, None)
    display.interrupt(signal.SIGINT, None)  # an impatient user's second
    tell(display, "job_error", jobid=0, rule_name="scan", log=["job.log"], level=logging.ERROR)
    with pytest.raises(KeyboardInterrupt):
        display.fail()
    assert not re.search("FAILED|failed|Exception", said(display))


def test_what_steers_a_terminal_or_turns_a_line_round_is_escaped_and_nothing_else():
    for sign in map(chr, STEERING):
        assert escaped(f"a{sign}b") == f"a{sign}b".encode("unicode_escape").decode()
        assert (escaped_in_page(sign) == sign) == (sign in "\n\t")
    for name in ("caf\u00e9 \u5bb6 \u0928\u094d \u05e9\u05dc", "10.30\u202fAM\u3000", Markup("\u00ad")):
        assert escaped_in_page(name) == name


def test_long_work_has_a_line_now_and_then_and_one_at_the_end(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    report = progress_lines("files", seconds=30)
    for second in (1, 20, 31, 40, 62, 63):
        now[0] = second
        report(second * 100, 6300)
    lines = ["3,100 of 6,300 after 31 s, 32 s left", "6,200 of 6,300 after 62 s, 1 s left", "6,300 of 6,300 after 63 s"]
    assert capsys.readouterr().out.splitlines() == [f"files: {line}" for line in lines]


def test_short_work_is_silent(capsys):
    assert list(counted("abc", 3, progress_lines("letters"))) == ["a", "b", "c"]
    assert capsys.readouterr().out == ""
