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


def write_one(folder, text, end):
    with files.replacing(folder / "table.csv") as part:
        part.write_text(text)
        end()


def write_two(folder, text, end):
    with files.together():
        for name in ("vectors.npy", "ids.csv"):
            with files.replacing(folder / name) as part:
                part.write_text(text)
                if name == "ids.csv":
                    end()


def write_folder(folder, text, end):
    with files.replacing_folder(folder / "export", {"a", "b"}) as part:
        (part / "a").write_text(text)
        end()


def fill_disk():
    raise OSError(errno.ENOSPC, "No space left on device")


def fill_disk_and_close():
    try:
        fill_disk()
    finally:  # as matplotlib closes a PDF
        raise zlib.error("inconsistent stream state")


def fail_otherwise():
    raise zlib.error("of something else")


def read_nothing():
    Path("/nowhere/nothing.csv").read_text()


WRITERS = {write_one: "table.csv", write_two: "ids.csv", write_folder: "export"}
ENDS = dict.fromkeys((fill_disk, fill_disk_and_close), (LookalikeError, r"cannot write [^.]*/{}: No space left"))
ENDS |= {fail_otherwise: (zlib.error, "of something else"), read_nothing: (FileNotFoundError, "nothing.csv")}


def tree(folder):
    return {str(path): path.is_file() and path.read_text() for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("write", WRITERS)
def test_what_is_written_is_there_whole_or_as_it_was(tmp_path, write, end):
    error, words = ENDS[end]
    for text in ("old", "new"):
        before = tree(tmp_path)
        with pytest.raises(error, match=words.format(WRITERS[write])):
            write(tmp_path, "half", end)
        assert tree(tmp_path) == before
        write(tmp_path, text, lambda: None)
        assert {content for content in tree(tmp_path).values() if content} == {text}


def test_a_reader_keeps_the_old_file_and_a_private_one_stays_private(tmp_path):
    target = tmp_path / "key"
    target.touch(0o600)
    with target.open() as reader:
        with files.replacing(target) as part:
            assert part.stat().st_mode & 0o777 == 0o600
            part.write_text("new")
        assert reader.read() == ""
    assert (target.stat().st_mode & 0o777, target.read_text()) == (0o600, "new")


def test_memory_that_ends_is_no_matter_of_the_disk(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(MemoryError, match=r"for .*/x"), files.reading(tmp_path / "x", "file"):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def test_a_folder_is_replaced_if_nothing_else_is_in_it(tmp_path):
    target = tmp_path / "export"
    write_folder(tmp_path, "old", lambda: None)
    target.rename(tmp_path / ".export.former")  # as a process leaves it that is killed between two names
    write_folder(tmp_path, "again", lambda: None)
    (target / "notes").write_text("mine")
    with pytest.raises(LookalikeError, match="export holds notes, which would be lost"):
        write_folder(tmp_path, "newer", lambda: None)
    assert [path.name for path in tmp_path.iterdir()] == ["export"]
    with pytest.raises(LookalikeError, match="is a file: name a folder"), files.replacing_folder(__file__, {"a"}):
        pass


@pytest.mark.parametrize("name", ["x" * 240 + ".parquet", "\u9577" * 82 + ".parquet", os.fsdecode(b"\xff.parquet")])
def test_a_name_may_be_long_and_hold_any_bytes(tmp_path, name):
    with files.replacing_folder(tmp_path / name[:-8], {name}) as part:
        files.write_table(pd.DataFrame({"id": ["a"]}), part / name)
    (written,) = (tmp_path / name[:-8]).iterdir()
    assert (written.name, pd.read_parquet(written.open("rb"))["id"].tolist()) == (name, ["a"])


def test_a_folder_that_takes_no_file_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for folder in (tmp_path / "file", Path("/proc/nope/deep")):
        with pytest.raises(LookalikeError, match=f"cannot write {folder}/value.json"):
            files.write_json({}, folder / "value.json")


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


def test_an_npz_is_packed_and_what_hangs_in_its_place_is_one_sentence(tmp_path):
    path = tmp_path / "arrays.npz"
    files.write_npz({"zeros": np.zeros(10**6)}, path)
    assert path.stat().st_size < 10_000
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(LookalikeError, match="is a pipe, not a regular file"), files.reading_npz(path, "what now"):
        pass


def test_json_keeps_a_path_that_is_not_utf_8(tmp_path):
    files.write_json({"folder": os.fsdecode(b"\xe4\xff")}, tmp_path / "odd.json")
    assert files.read_json(tmp_path / "odd.json") == {"folder": os.fsdecode(b"\xe4\xff")}
