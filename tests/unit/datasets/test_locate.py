"""Where a data set's images are: in place, in an archive, or nowhere."""

from __future__ import annotations

import hashlib
import socket
import tarfile
from pathlib import Path

import pytest

from lookalike.datasets.locate import listing_fingerprint, obtain
from lookalike.datasets.sources import Archive
from lookalike.errors import LookalikeError


def archive_in(folder: Path) -> Archive:
    """A small archive of the right shape, put in place by the user."""
    source = folder / "source" / "001.ak47"
    source.mkdir(parents=True)
    (source / "001_0001.jpg").write_bytes(b"not really an image")
    folder.joinpath("data").mkdir()
    path = folder / "data" / "toys.tar"
    with tarfile.open(path, "w") as tar:
        tar.add(folder / "source", arcname="toys")
    content = path.read_bytes()
    return toys(size=len(content), md5=hashlib.md5(content).hexdigest())


def toys(size: int = 10, md5: str = "0" * 32) -> Archive:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    return Archive("toys", f"http://127.0.0.1:{port}/toys.tar", "toys.tar", size, md5, "toys", "http://127.0.0.1/")


def test_an_unpacked_folder_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "data" / "toys").mkdir(parents=True)
    record = obtain(toys(), tmp_path / "data", may_download=False)
    assert record == {"root": (tmp_path / "data" / "toys").as_posix()}


def test_an_archive_in_place_is_verified_and_unpacked_once(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    record = obtain(archive, tmp_path / "data", may_download=False)
    assert record["archive"] == "toys.tar"
    assert record["md5"] == archive.md5
    assert (Path(record["root"]) / "001.ak47" / "001_0001.jpg").is_file()
    assert obtain(archive, tmp_path / "data", may_download=False)["root"] == record["root"]


def test_what_may_not_be_downloaded_is_one_sentence(tmp_path: Path) -> None:
    archive = toys(size=1_234)
    with pytest.raises(LookalikeError, match="may not be downloaded") as caught:
        obtain(archive, tmp_path / "data", may_download=False)
    for word in (archive.url, "1,234", archive.md5, "toys.tar", str(tmp_path / "data")):
        assert word in str(caught.value)


def test_a_listing_changes_with_names_and_sizes_only(tmp_path: Path) -> None:
    assert listing_fingerprint(tmp_path / "nowhere") == ""
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.jpg").write_bytes(b"abc")
    first = listing_fingerprint(tmp_path)
    (tmp_path / "cat" / "1.jpg").touch()
    assert listing_fingerprint(tmp_path) == first
    (tmp_path / "cat" / "2.jpg").write_bytes(b"abc")
    second = listing_fingerprint(tmp_path)
    (tmp_path / "cat" / "2.jpg").write_bytes(b"abcd")
    assert len({first, second, listing_fingerprint(tmp_path)}) == 3


def test_a_dangling_link_does_not_stop_the_listing(tmp_path: Path) -> None:
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nowhere")
    assert listing_fingerprint(tmp_path) != ""
