"""Files between rules: whole or not at all."""

import errno
import os
import re
import socket
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lookalike.core import files
from lookalike.core.errors import LookalikeError


def write_half(target, error):
    with files.replacing(target) as part:
        part.write_text("new")
        raise error


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="half-way"):
        write_half(target, RuntimeError("half-way"))
    assert target.read_text() == "old"
    with target.open() as reader:
        with files.replacing(target) as part:
            part.write_text("new, and longer")
        assert reader.read() == "old"
    assert target.read_text() == "new, and longer"
    assert list(tmp_path.iterdir()) == [target]


def test_a_private_file_stays_private(tmp_path):
    target = tmp_path / "key"
    target.touch(0o600)
    with files.replacing(target) as part:
        assert part.stat().st_mode & 0o777 == 0o600
        part.write_text("new")
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("n_written", [0, 1, 2])
def test_files_that_belong_together_are_all_replaced_or_none(tmp_path, n_written):
    names = ["vectors.npy", "ids.csv"]
    for name in names:
        (tmp_path / name).write_text("old")

    def write():
        with files.together():
            for number, name in enumerate(names):
                with files.replacing(tmp_path / name) as part:
                    part.write_text("new")
                    if number == n_written:
                        raise OSError(errno.ENOSPC, "No space left on device")

    if n_written < len(names):
        with pytest.raises(LookalikeError, match=f"cannot write .*{names[n_written]}: No space left"):
            write()
    else:
        write()
    whole = "old" if n_written < len(names) else "new"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(names, whole)


def test_memory_that_ends_is_no_matter_of_the_disk(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(MemoryError, match=r"for .*/x"), files.reading(tmp_path / "x", "file"):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def test_a_folder_is_replaced_whole_if_nothing_else_is_in_it(tmp_path):
    target, names = tmp_path / "export", {"a", "b"}

    def write(text, error=None):
        with files.replacing_folder(target, names) as part:
            (part / "a").write_text(text)
            if error is not None:
                raise error

    with pytest.raises(RuntimeError):
        write("half", RuntimeError())
    with pytest.raises(LookalikeError, match=r"cannot write .*/export: No space left"):  # not the temporary folder
        write("half", OSError(errno.ENOSPC, "No space left on device"))
    assert list(tmp_path.iterdir()) == []
    for text in ("old", "new"):
        write(text)
        assert [path.read_text() for path in target.iterdir()] == [text]
    with pytest.raises(RuntimeError):
        write("half", RuntimeError())
    assert (target / "a").read_text() == "new"
    target.rename(tmp_path / ".export.former")  # as a process leaves it that is killed between two names
    write("again")
    (target / "notes").write_text("mine")
    with pytest.raises(LookalikeError, match="export holds notes, which would be lost"):
        write("newer")
    assert [path.name for path in tmp_path.iterdir()] == ["export"]
    with pytest.raises(LookalikeError, match="is a file: name a folder"), files.replacing_folder(__file__, names):
        pass


@pytest.mark.parametrize("name", ["x" * 240 + ".parquet", "\u9577" * 82 + ".parquet", os.fsdecode(b"\xff.parquet")])
def test_a_name_may_be_long_and_hold_any_bytes(tmp_path, name):
    with files.replacing_folder(tmp_path / name[:-8], {name}) as part:
        files.write_table(pd.DataFrame({"id": ["a"]}), part / name)
    (written,) = (tmp_path / name[:-8]).iterdir()
    assert (written.name, pd.read_parquet(written.open("rb"))["id"].tolist()) == (name, ["a"])


def test_a_full_disk_and_a_folder_that_takes_no_file_are_one_sentence(tmp_path):
    with pytest.raises(LookalikeError, match=r"cannot write .*table\.csv: No space left"):
        write_half(tmp_path / "table.csv", OSError(errno.ENOSPC, "No space left on device"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("not a folder")
    for folder in (tmp_path / "file", Path("/proc/nope/deep")):
        with pytest.raises(LookalikeError, match=f"cannot write {folder}/value.json"):
            files.write_json({}, folder / "value.json")


def test_a_full_disk_is_told_where_closing_the_file_fails_with_another_error_and_no_other_error_is(tmp_path):
    def write_and_close():
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        finally:  # as matplotlib closes a PDF
            raise zlib.error("inconsistent stream state")

    pdf = tmp_path / "figure.pdf"
    with pytest.raises(LookalikeError, match=r"cannot write .*figure\.pdf: No space left"), files.replacing(pdf):
        write_and_close()
    with pytest.raises(zlib.error), files.replacing(pdf):
        raise zlib.error("of something else")
    with pytest.raises(FileNotFoundError), files.replacing(pdf):
        (tmp_path / "nothing.csv").read_text()
    assert not list(tmp_path.iterdir())


def test_what_killed_processes_of_this_machine_left_is_removed_by_the_next_that_writes_there(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    host = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())
    gone = [f".table.{host}_{dead.pid}.part.csv", f".a.b.{host}_{dead.pid}.part"]
    (tmp_path / f".export.{host}_{dead.pid}.part" / "index").mkdir(parents=True)
    kept = [f".table.{host}_{os.getppid()}.part.csv", f".table.other{host}_{dead.pid}.part.csv", "1.part.csv", "a.part"]
    kept += [".table.99999999999999999999.part.csv", f".folder.{dead.pid}.part"]
    (tmp_path / kept[-1]).mkdir()
    for name in gone + kept[:-1]:
        (tmp_path / name).write_text("half")
    files.write_json({}, tmp_path / "value.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "value.json"])


def test_a_folder_that_cannot_be_written_is_named_before_anything_runs(tmp_path, monkeypatch):
    (tmp_path / "results" / "demo").mkdir(parents=True)
    (tmp_path / "logs").touch()
    files.check_writable(tmp_path / "results", tmp_path / "nothing")
    with pytest.raises(LookalikeError, match=r"^cannot write .*logs/.probe: Not a directory.*"):
        files.check_writable(tmp_path / "logs")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(LookalikeError, match=r"^cannot write into .*results/demo: mend its permissions"):
        files.check_writable(tmp_path / "results")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["demo", "logs", "results"]


def test_an_npz_that_hangs_or_is_damaged_is_one_sentence(tmp_path):
    path = tmp_path / "arrays.npz"
    files.write_npz({"zeros": np.zeros(10**6)}, path)
    assert path.stat().st_size < 10_000
    assert read_npz(path) == ["zeros"]
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(LookalikeError, match=r"arrays\.npz cannot be read \(.*\): what now"):
        read_npz(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(LookalikeError, match="is a pipe, not a regular file"):
        read_npz(path)


def read_npz(path):
    with files.reading_npz(path, "what now") as arrays:
        return list(dict(arrays))
