"""Where a script's words go."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import lookalike
from lookalike.core.errors import LookalikeError
from lookalike.core.job_log import SHOWN, code_state, logged


def job(log):
    """A script's `snakemake`, as far as its log is concerned."""
    return SimpleNamespace(log=[str(log)], rule="learn", input=["b"], output=["c"], threads=1)


def test_output_goes_to_the_log(tmp_path, capsys):
    log = tmp_path / "deep" / "job.log"
    with logged(job(log)):
        print("fold 1")
        print("slow", file=sys.stderr)
    assert log.read_text() == "fold 1\nslow\n"
    assert capsys.readouterr() == ("", "")
    with logged(job(log), append=True):
        print("fold 2")
    assert log.read_text() == "fold 1\nslow\nfold 2\n"


MISTAKE, SENTENCE = LookalikeError("no such class: dgo"), "error: no such class: dgo\n"


@pytest.mark.parametrize(
    ("error", "status", "is_shown", "logged_words", "words"),
    [
        (MISTAKE, 1, False, SENTENCE, SENTENCE),
        (MISTAKE, 1, True, SENTENCE, ""),  # the run shows the end of the log itself
        (KeyboardInterrupt(), 130, False, "interrupted\n", "interrupted\n"),
        (ZeroDivisionError(), 1, False, "ZeroDivisionError\n", "an unexpected error; its traceback is in {}\n"),
    ],
)
def test_an_error_is_one_line_and_a_traceback_is_in_the_log_alone(
    tmp_path, capsys, monkeypatch, error, status, is_shown, logged_words, words
):
    log = tmp_path / "job.log"
    if is_shown:
        monkeypatch.setenv(SHOWN, "1")
    with pytest.raises(SystemExit) as caught, logged(job(log)):
        raise error
    assert caught.value.code == status
    assert log.read_text().endswith(logged_words)
    assert ("Traceback" in log.read_text()) == isinstance(error, ZeroDivisionError)
    assert capsys.readouterr() == ("", words.format(log))


@pytest.mark.parametrize("is_shown", [False, True])
def test_a_log_that_cannot_be_written_does_not_hide_the_sentence(capsys, monkeypatch, is_shown):
    if is_shown:
        monkeypatch.setenv(SHOWN, "1")
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system to stand for a full disk")
    with pytest.raises(SystemExit), logged(job(full)):
        raise LookalikeError("cannot write counts.npz: No space left on device")
    assert capsys.readouterr().err == "error: cannot write counts.npz: No space left on device\n"
    with pytest.raises(SystemExit), logged(job(full)):
        print("fold 1")
    said = "error: cannot write a file of this job: No space left on device; free some space\n"
    assert capsys.readouterr().err == said
    with pytest.raises(SystemExit), logged(job(full)):
        _ = 1 / 0
    assert "ZeroDivisionError" in capsys.readouterr().err, "where else could it be read?"


def test_a_finished_job_leaves_a_record_and_a_failed_one_none(tmp_path):
    done = job(tmp_path / "done.log")
    done.input.append(str(Path.cwd() / "resources" / "names.csv"))
    with logged(done):
        pass
    record = json.loads((tmp_path / "done.job.json").read_text())
    assert (record["rule"], record["inputs"], record["outputs"]) == ("learn", ["b", "resources/names.csv"], ["c"])
    assert 0 <= record["seconds"] < 60
    assert record["cpu_seconds"] > 0
    assert record["peak_megabytes"] > 10
    assert record["processor"]
    assert record["versions"]["lookalike"] == lookalike.__version__
    with pytest.raises(SystemExit), logged(job(tmp_path / "failed.log")):
        raise LookalikeError("no")
    assert not (tmp_path / "failed.job.json").exists()
    assert code_state(tmp_path) == ("", False), "outside a work tree"
