"""Where a script's words go."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lookalike.errors import LookalikeError
from lookalike.workflow_log import logged


def test_output_goes_to_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "deep" / "job.log"
    with logged([str(log)]):
        print("fold 1")
        print("slow", file=sys.stderr)
    assert log.read_text() == "fold 1\nslow\n"
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_a_mistake_of_the_users_is_one_line_in_both_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "job.log"
    with pytest.raises(SystemExit) as caught, logged([str(log)]):
        raise LookalikeError("no such class: dgo")
    assert caught.value.code == 1
    assert log.read_text() == "error: no such class: dgo\n"
    assert capsys.readouterr().err == "error: no such class: dgo\n"


def test_an_unexpected_error_leaves_its_traceback_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "job.log"
    with pytest.raises(ZeroDivisionError), logged([str(log)]):
        _ = 1 / 0
    assert "ZeroDivisionError" in log.read_text()
    assert str(log) in capsys.readouterr().err


def test_without_a_log_output_stays_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with logged([]):
        print("here")
    assert capsys.readouterr().out == "here\n"
