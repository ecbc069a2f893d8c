"""Published archives: downloads from a server that misbehaves, files put in place, tar files that mean harm."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from made_archives import Member, make_tar, member

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.data import archives
from lookalike.data.archives import Archive, fetch_archive, is_reachable, load_archives, unpack_archive

RESOURCES = Path(__file__).resolve().parents[3] / "workflow" / "resources"
CONTENT = np.random.default_rng(0).bytes(3_500_000)
MD5 = hashlib.md5(CONTENT).hexdigest()
CLOSED = "http://127.0.0.1:9/toy.tar"  # the port of nothing


@dataclass
class Behaviour:
    """What the server does, and what it was asked for."""

    content: bytes = CONTENT
    ranges: bool = True
    drops: list[int] = field(default_factory=list)  # bytes of body sent before each of the next answers is cut
    codes: list[int] = field(default_factory=list)  # answers of the next requests instead of the file
    send_length: bool = True
    encoding: str = ""  # what the server calls the body encoded by, which it sends as the file is
    sent_all: bool = False
    asked: list[str | None] = field(default_factory=list)  # ranges
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour

    def do_GET(self) -> None:
        rules, wanted = self.behaviour, self.headers.get("Range")
        rules.asked.append(wanted)
        if rules.codes:
            self.send_error(rules.codes.pop(0))
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and rules.ranges else 0
        body, length = rules.content[start:], len(rules.content)
        self.send_response((206 if body else 416) if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{length - 1}/{length}" if body else f"bytes */{length}")
        if rules.send_length:
            self.send_header("Content-Length", str(len(body)))
        if rules.encoding:
            self.send_header("Content-Encoding", rules.encoding)
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the client may have read enough
            self.wfile.write(body[: rules.drops.pop(0)] if rules.drops else body)
            rules.sent_all = True
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Keep the tests quiet."""


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No waiting between attempts, and no proxy between us and our own server."""
    slept: list[float] = []
    monkeypatch.setattr(archives.time, "sleep", slept.append)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return slept


@pytest.fixture
def server() -> Iterator[Behaviour]:
    behaviour = Behaviour()
    handler = type("BoundHandler", (Handler,), {"behaviour": behaviour})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        behaviour.url = f"http://127.0.0.1:{running.server_address[1]}/toy.tar"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield behaviour
        running.shutdown()
        thread.join()


def toy(url: str = CLOSED, size: int | None = len(CONTENT), **facts: object) -> Archive:
    return replace(Archive("toy", url, "toy.tar", size, MD5, "toy_folder", "page", unpacked_limit=10_000_000), **facts)


def assert_fetched(folder: Path, archive: Archive) -> None:
    """The whole file, its record, and nothing left over."""
    assert fetch_archive(archive, folder).read_bytes() == CONTENT
    record = {"url": archive.url, "size": len(CONTENT), "md5": MD5, "sha256": hashlib.sha256(CONTENT).hexdigest()}
    assert read_json(folder / "toy.tar.json") == record
    assert sorted(file.name for file in folder.iterdir()) == ["toy.tar", "toy.tar.json"]


def refused(archive: Archive, folder: Path) -> str:
    with pytest.raises(LookalikeError) as caught:
        fetch_archive(archive, folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_published_archives_are_those_of_their_records() -> None:
    published = load_archives(RESOURCES / "archives.yaml")
    facts = {name: (archive.size, archive.md5, archive.files, archive.flat) for name, archive in published.items()}
    assert facts == {
        "caltech256": (1_183_006_720, "67b4f42ca05d46448c6bb8ecd2220f6d", 0, False),
        "oxford5k_images": (None, "8f0017cc5d671f35011d6968269fbf47", 5062, True),
        "oxford5k_ground_truth": (8_174, "06c4dee0ad954f6ee122c82390548537", 220, True),
        "oxford5k_words": (304_646_902, "0734e6023f6bf2140b9531af22ce7953", 0, True),
    }
    assert published["caltech256"].url == "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar"
    for name in list(facts)[1:]:
        assert published[name].url == f"{published[name].page}/{published[name].top_folder}.tgz"


def test_an_archive_needs_a_bound_on_what_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "archives.yaml"
    path.write_text("x: {url: u, filename: f, size: 1, md5: m, top_folder: t, page: p}\n")
    assert load_archives(path)["x"].max_bytes == 2
    path.write_text("x: {url: u, filename: f, md5: m, top_folder: t, page: p}\n")
    with pytest.raises(LookalikeError, match="x needs its size or an unpacked_limit"):
        load_archives(path)


@pytest.mark.parametrize("size", [len(CONTENT), None])
@pytest.mark.parametrize("send_length", [True, False])
def test_a_dropped_connection_resumes_where_it_stopped(
    tmp_path: Path, server: Behaviour, send_length: bool, size: int | None, pauses: list[float]
) -> None:
    ends_are_known = bool(size or send_length)  # else the end of the connection is the end of the file
    server.drops, server.send_length = [1_500_000, 1_200_000] if ends_are_known else [], send_length
    assert_fetched(tmp_path, toy(server.url, size))
    offsets = [int(str(asked).removeprefix("bytes=").removesuffix("-")) for asked in server.asked[1:]]
    assert server.asked[0] is None
    assert [0, *offsets] == sorted({0, *offsets})
    assert len(offsets) == (2 if ends_are_known else 0)
    assert pauses == [1.0] * len(offsets)  # each brought something
    assert_fetched(tmp_path, toy(server.url, size))  # the second time nothing is downloaded
    assert len(server.asked) == 1 + len(offsets)


@pytest.mark.parametrize(
    ("found", "size", "ranges", "asked"),
    [
        (CONTENT[:1000], len(CONTENT), True, ["bytes=1000-"]),
        (CONTENT[:1000], len(CONTENT), False, ["bytes=1000-"]),
        (CONTENT + b"x", len(CONTENT), True, [None]),
        (CONTENT, len(CONTENT), True, []),
        (CONTENT, None, True, [f"bytes={len(CONTENT)}-"]),
    ],
    ids=["a part", "no ranges", "too long", "whole", "whole by the server"],
)
def test_what_a_killed_run_left_is_resumed_taken_or_discarded(
    tmp_path: Path, server: Behaviour, found: bytes, size: int | None, ranges: bool, asked: list[str | None]
) -> None:
    server.ranges = ranges
    (tmp_path / "toy.tar.part").write_bytes(found)
    assert_fetched(tmp_path, toy(server.url, size))
    assert server.asked == asked


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip"])
def test_a_compressed_archive_is_stored_as_it_is_sent(tmp_path: Path, server: Behaviour, encoding: str) -> None:
    server.content, server.encoding = gzip.compress(CONTENT, compresslevel=1), encoding
    archive = toy(server.url, len(server.content), md5=hashlib.md5(server.content).hexdigest())
    assert fetch_archive(archive, tmp_path).read_bytes() == server.content


@pytest.mark.parametrize("code", [500, 503, 429, 416])
def test_passing_trouble_is_retried(tmp_path: Path, server: Behaviour, code: int, pauses: list[float]) -> None:
    server.codes = [code] * 3
    assert_fetched(tmp_path, toy(server.url))
    assert pauses == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(("code", "times"), [(404, 1), (503, 1 + archives.RETRIES)])
def test_lasting_trouble_is_not_retried_and_passing_trouble_not_for_ever(
    tmp_path: Path, server: Behaviour, code: int, times: int
) -> None:
    (tmp_path / "toy.tar.part").write_bytes(CONTENT[:1000])
    server.codes = [code] * 20
    assert f"the server answered {code}" in refused(toy(server.url), tmp_path)
    assert len(server.asked) == times
    assert (tmp_path / "toy.tar.part").read_bytes() == CONTENT[:1000]


@pytest.mark.parametrize(
    ("behaviour", "facts", "message"),
    [
        ({"content": b"x" * len(CONTENT)}, {}, f"instead of {MD5}; it was removed"),
        ({"content": CONTENT + b"extra"}, {}, "offers 3,500,005 bytes"),
        ({"content": CONTENT + bytes(80_000_000), "send_length": False}, {}, "sends more than the 3,500,000 bytes"),
        ({"content": bytes(80_000_000), "send_length": False}, {"size": None, "unpacked_limit": 9}, "more than the 9"),
    ],
)
def test_another_file_than_the_published_one_is_refused(
    tmp_path: Path, server: Behaviour, behaviour: dict[str, object], facts: dict[str, object], message: str
) -> None:
    vars(server).update(behaviour)
    assert message in refused(replace(toy(server.url), **facts), tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server.asked) == 1
    assert not server.sent_all or len(server.content) < 10_000_000, "one that never ends is left"


def test_no_network_is_one_sentence_with_everything_in_it(tmp_path: Path) -> None:
    message = refused(toy(), tmp_path / "data")
    for fact in (CLOSED, "3,500,000 bytes", MD5, "toy.tar", "toy_folder", str(tmp_path / "data"), "refuses"):
        assert fact in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CONTENT[:-1], "has 3,499,999 bytes instead of 3,500,000; it was left as it is"),
        (b"x" * len(CONTENT), f"instead of {MD5}; it was left as it is"),
    ],
)
def test_a_users_own_file_is_verified_used_and_never_changed(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "toy.tar").write_bytes(content)
    assert message in refused(toy(), tmp_path)
    assert (tmp_path / "toy.tar").read_bytes() == content
    assert "cannot read or write" in refused(toy(), tmp_path / "toy.tar")  # a file where the folder should be
    (tmp_path / "toy.tar").write_bytes(CONTENT)
    (tmp_path / "toy.tar.json").write_text("{")  # a damaged record
    assert_fetched(tmp_path, toy())
    assert "is not a file" in refused(toy(filename="."), tmp_path)


@pytest.mark.parametrize("on_terminal", [True, False])
def test_progress_goes_to_the_stream_that_is_given(
    tmp_path: Path, server: Behaviour, on_terminal: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    stream.isatty = lambda: on_terminal  # type: ignore[method-assign]
    fetch_archive(toy(server.url), tmp_path, stream)
    assert "toy.tar: 100%" in stream.getvalue()
    fetch_archive(toy(server.url), tmp_path / "quiet")
    assert capsys.readouterr().err == ""


def test_a_host_is_reachable_also_through_a_proxy(server: Behaviour, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_reachable(toy(server.url))
    assert not is_reachable(toy(), timeout=0.5)
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/toy.tar"))
    assert is_reachable(toy("http://images.invalid/toy.tar"))
    monkeypatch.setenv("http_proxy", "127.0.0.1:9")
    assert not is_reachable(toy("http://images.invalid/toy.tar"), timeout=0.5)


def unpack(path: Path, target: Path, top: str = "", max_bytes: int = 10_000) -> Path:
    return unpack_archive(toy(top_folder=top, flat=not top, unpacked_limit=max_bytes), path, target)


def tree(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


GOOD = (
    member("top", b"", type=tarfile.DIRTYPE, mode=0o755),
    member("top/a/1.jpg", b"one"),
    member("top/b/2.jpg", b"two", mode=0o6777),
)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_the_one_top_folder_becomes_the_target(tmp_path: Path, mode: str) -> None:
    path = make_tar(tmp_path / "x.tar", *GOOD, mode=mode)
    (tmp_path / "deep" / "out").mkdir(parents=True)  # empty: fine
    (tmp_path / "deep" / ".out.unpacking" / "top").mkdir(parents=True)  # of a killed run
    out = unpack(path, tmp_path / "deep" / "out", top="top")
    assert tree(tmp_path / "deep") == ["out", "out/a", "out/a/1.jpg", "out/b", "out/b/2.jpg"]
    assert (out / "b/2.jpg").read_bytes() == b"two"
    assert (out / "b/2.jpg").stat().st_mode & 0o7022 == 0  # permissions are tamed
    with pytest.raises(LookalikeError, match="already exists and is not empty"):
        unpack(path, out, top="top")
    assert tree(out) == ["a", "a/1.jpg", "b", "b/2.jpg"]


@pytest.mark.parametrize("top", ["", "./", "any_name/", "/any_name/"])
def test_flat_archives_and_those_with_one_folder_give_the_same(tmp_path: Path, top: str) -> None:
    path = make_tar(tmp_path / "x.tgz", member(f"{top}a.jpg"), member(f"{top}b.jpg"), mode="w:gz")
    assert tree(unpack(path, tmp_path / "x")) == ["a.jpg", "b.jpg"]


@pytest.mark.parametrize(
    ("members", "top", "message"),
    [
        ([*GOOD, member("../evil")], "", r"not safe to unpack: .*'\.\./evil'"),
        ([*GOOD, member("top/../../evil")], "", "not safe to unpack"),
        ([*GOOD, member("top/link", type=tarfile.SYMTYPE, linkname="a")], "", "'top/link' is neither file nor folder"),
        ([*GOOD, member("top/hard", type=tarfile.LNKTYPE, linkname="top/a/1.jpg")], "", "'top/hard' is neither"),
        ([*GOOD, member("top/disk", type=tarfile.BLKTYPE)], "", "'top/disk' is neither file nor folder"),
        ([*GOOD, member("other/3.jpg")], "top", "does not hold the one folder top"),
        ([member("top")], "top", "does not hold the one folder top"),
        ([member("top/a"), member("top/a/b")], "", "cannot unpack"),
        ([member("top/zeros", bytes(20_000_000))], "", r"more than 10,000 bytes \(at top/zeros\)"),
        ([member(f"top/{i}") for i in range(6)], "", "more than 5 members"),
        (None, "", r"cannot unpack .*No such file"),
    ],
)
def test_what_must_not_be_unpacked_is_named_and_leaves_nothing(
    tmp_path: Path, members: list[Member] | None, top: str, message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(archives, "MAX_MEMBERS", 5)
    if members:
        make_tar(tmp_path / "x.tgz", *members, mode="w:gz")
    with pytest.raises(LookalikeError, match=message):
        unpack(tmp_path / "x.tgz", tmp_path / "in" / "out", top=top)
    assert set(tree(tmp_path)) <= {"in", "x.tgz"}


@pytest.mark.parametrize("kept", [0, 30, 0.5])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_damaged_archives(tmp_path: Path, kept: float, mode: str) -> None:
    path = make_tar(tmp_path / "x.tar", *GOOD, member("top/large", b"x" * 9000), mode=mode)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if kept < 1 else int(kept)])
    with pytest.raises(LookalikeError, match="damaged or no tar archive"):
        unpack(path, tmp_path / "out")
    assert tree(tmp_path) == ["x.tar"]


def test_a_target_exists_only_once_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def killed(*args: object) -> None:
        seen.extend(tree(tmp_path))
        raise KeyboardInterrupt

    monkeypatch.setattr(archives.os, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        unpack(make_tar(tmp_path / "x.tar", *GOOD), tmp_path / "out")
    assert ".out.unpacking/top/b/2.jpg" in seen
    assert "out" not in seen
