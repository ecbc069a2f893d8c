"""Where a script's words go."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import lookalike
from lookalike.core.errors import LookalikeError
from lookalike.core.job_log import logged
from lookalike.core.job_record import code_state, record_path


def job(*logs: Path) -> SimpleNamespace:
    """A script's `snakemake`, as far as its log is concerned."""
    return SimpleNamespace(log=[str(log) for log in logs], rule="learn", input=["b"], output=["c"], threads=1)


def test_output_goes_to_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "deep" / "job.log"
    with logged(job(log)):
        print("fold 1")
        print("slow", file=sys.stderr)
    assert log.read_text() == "fold 1\nslow\n"
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


@pytest.mark.parametrize("has_log", [True, False])
def test_what_the_block_gets_is_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], has_log: bool) -> None:
    log = tmp_path / "job.log"
    with logged(job(*[log] if has_log else [])) as terminal:
        print("50 %", file=terminal)
    assert capsys.readouterr().err == "50 %\n"
    assert not has_log or log.read_text() == ""


def test_a_mistake_of_the_users_is_one_line_in_both_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "job.log"
    with pytest.raises(SystemExit) as caught, logged(job(log)):
        raise LookalikeError("no such class: dgo")
    assert caught.value.code == 1
    assert log.read_text() == "error: no such class: dgo\n"
    assert capsys.readouterr().err == "error: no such class: dgo\n"


def test_an_unexpected_error_leaves_its_traceback_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "job.log"
    with pytest.raises(ZeroDivisionError), logged(job(log)):
        _ = 1 / 0
    assert "ZeroDivisionError" in log.read_text()
    assert str(log) in capsys.readouterr().err


def test_without_a_log_output_stays_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with logged(job()):
        print("here")
    assert capsys.readouterr().out == "here\n"


def test_a_full_disk_does_not_hide_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system to stand for a full disk")
    with pytest.raises(SystemExit), logged(job(full)):
        raise LookalikeError("cannot write counts.npz: No space left on device")
    assert capsys.readouterr().err == "error: cannot write counts.npz: No space left on device\n"


def test_a_finished_job_leaves_a_record_and_a_failed_one_none(tmp_path: Path) -> None:
    done = job(tmp_path / "done.log")
    done.input.append(str(Path.cwd() / "resources" / "names.csv"))
    with logged(done):
        pass
    record = json.loads((tmp_path / "done.job.json").read_text())
    assert record["rule"] == "learn"
    assert record["inputs"] == ["b", "resources/names.csv"]
    assert record["outputs"] == ["c"]
    assert 0 <= record["seconds"] < 60
    assert record["cpu_seconds"] > 0
    assert record["peak_megabytes"] > 10
    assert record["processor"]
    assert record["versions"]["lookalike"] == lookalike.__version__
    with pytest.raises(SystemExit), logged(job(tmp_path / "failed.log")):
        raise LookalikeError("no")
    assert not record_path(tmp_path / "failed.log").exists()


def test_outside_a_work_tree_there_is_no_commit(tmp_path: Path) -> None:
    assert code_state(tmp_path) == ("", False)
