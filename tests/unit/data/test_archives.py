"""Published archives: downloads from a server that misbehaves, files put in place, tar files that mean harm."""

import bz2
import contextlib
import gzip
import hashlib
import lzma
import tarfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from made_archives import make_tar, member
from project import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.data import archives
from lookalike.data.archives import Archive, fetch_archive, is_reachable, load_archives, unpack_archive

RESOURCES = ROOT / "workflow" / "resources"
CONTENT = np.random.default_rng(0).bytes(3_500_000)
MD5 = hashlib.md5(CONTENT).hexdigest()
SIZE = len(CONTENT)
CLOSED = "http://127.0.0.1:9/toy.tar"  # the port of nothing


class Server(ThreadingHTTPServer):
    """A server of one file, which may misbehave."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/toy.tar"
        self.content = CONTENT
        self.encoding = ""  # what it says that the body is encoded by, which it sends as the file is
        self.ranges = self.send_length = True
        self.drops = []  # bytes of body sent before each of the next answers is cut
        self.codes = []  # answers of the next requests instead of the file
        self.asked = []  # ranges
        self.sent_all = False


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        rules, wanted = self.server, self.headers.get("Range")
        rules.asked.append(wanted)
        if rules.codes:
            self.send_error(rules.codes.pop(0))
            return
        start = int(wanted.strip("bytes=-")) if wanted and rules.ranges else 0
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

    def do_HEAD(self):
        self.send_response(302 if "moved" in self.path else 200)
        self.send_header("Location", CLOSED)
        self.end_headers()

    def log_message(self, *args):
        """Keep the tests quiet."""


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """No waiting between attempts, and no proxy between us and our own server."""
    slept = []
    monkeypatch.setattr(archives.time, "sleep", slept.append)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return slept


@pytest.fixture
def server():
    with Server() as running:
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield running
        running.shutdown()


def toy(url=CLOSED, size=SIZE, **facts):
    return replace(Archive("toy", url, "toy.tar", size, MD5, "toy_folder", "page", unpacked_limit=10_000_000), **facts)


def assert_fetched(folder, archive):
    """The whole file, and nothing left over."""
    assert fetch_archive(archive, folder).read_bytes() == CONTENT
    assert [file.name for file in folder.iterdir()] == ["toy.tar"]


def refused(archive, folder):
    with pytest.raises(LookalikeError, match=r"^.*$") as caught:
        fetch_archive(archive, folder)
    return str(caught.value)


def test_the_published_archives_are_described_and_bounded():
    published = load_archives(RESOURCES / "archives.yaml")
    assert [archive.size for archive in published.values()] == [1_183_006_720, None, 8_174, 304_646_902]
    assert [archive.files for archive in published.values()] == [0, 5062, 220, 0]
    assert [archive.max_bytes for archive in published.values()] == [2 * 1_183_006_720, 4 * 10**9, 10**7, 4 * 10**9]
    assert all(len(bytes.fromhex(archive.md5)) == 16 for archive in published.values())


@pytest.mark.parametrize("size", [SIZE, None])
@pytest.mark.parametrize("send_length", [True, False])
def test_a_dropped_connection_resumes_where_it_stopped(tmp_path, server, send_length, size, pauses):
    ends_are_known = bool(size or send_length)  # else the end of the connection is the end of the file
    server.drops, server.send_length = [1_500_000, 1_200_000] if ends_are_known else [], send_length
    assert_fetched(tmp_path, toy(server.url, size))
    offsets = [int(asked.strip("bytes=-")) for asked in server.asked[1:]]
    assert server.asked[0] is None
    assert [0, *offsets] == sorted({0, *offsets})
    assert len(offsets) == (2 if ends_are_known else 0)
    assert pauses == [1.0] * len(offsets)  # each brought something
    assert_fetched(tmp_path, toy(server.url, size))  # the second time nothing is downloaded
    assert len(server.asked) == 1 + len(offsets)


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize(
    ("n_found", "size", "asked"),
    [(1000, SIZE, ["bytes=1000-"]), (SIZE + 1, SIZE, [None]), (SIZE, SIZE, []), (SIZE, None, [f"bytes={SIZE}-"])],
)
def test_what_a_killed_run_left_is_resumed_taken_or_discarded(tmp_path, server, n_found, size, ranges, asked):
    server.ranges = ranges
    (tmp_path / "toy.tar.part").write_bytes((CONTENT + b"x")[:n_found])
    assert_fetched(tmp_path, toy(server.url, size))
    assert server.asked == asked


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip"])
def test_a_compressed_archive_is_stored_as_it_is_sent(tmp_path, server, encoding):
    server.content, server.encoding = gzip.compress(b"content"), encoding
    archive = toy(server.url, len(server.content), md5=hashlib.md5(server.content).hexdigest())
    assert fetch_archive(archive, tmp_path).read_bytes() == server.content


@pytest.mark.parametrize(("code", "times"), [(404, 1), (503, 1 + archives.RETRIES)])
def test_passing_trouble_is_retried_and_trouble_that_lasts_ends_the_attempts(tmp_path, server, pauses, code, times):
    (tmp_path / "toy.tar.part").write_bytes(CONTENT[:1000])
    server.codes = [code] * 20
    assert f"the server answered {code}" in refused(toy(server.url), tmp_path)
    assert len(server.asked) == times
    assert (tmp_path / "toy.tar.part").read_bytes() == CONTENT[:1000]
    pauses.clear()
    server.codes = [500, 429, 416]
    assert_fetched(tmp_path, toy(server.url))
    assert pauses == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("behaviour", "facts", "message"),
    [
        ({"content": b"x" * SIZE}, {}, f"instead of {MD5}; it was removed"),
        ({"content": CONTENT + b"extra"}, {}, "sends more than the 3,500,000 bytes"),
        ({"content": CONTENT + bytes(80_000_000), "send_length": False}, {}, "sends more than the 3,500,000 bytes"),
        ({"content": bytes(80_000_000), "send_length": False}, {"size": None, "unpacked_limit": 9}, "more than the 9"),
    ],
)
def test_another_file_than_the_published_one_is_refused(tmp_path, server, behaviour, facts, message):
    vars(server).update(behaviour)
    assert message in refused(replace(toy(server.url), **facts), tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server.asked) == 1
    assert not server.sent_all or len(server.content) < 10_000_000, "one that never ends is left"


def test_a_users_own_file_is_verified_used_and_never_changed(tmp_path):
    message = refused(toy(), tmp_path)  # no network, no file
    for fact in (CLOSED, "3,500,000 bytes", MD5, "toy.tar", "toy_folder", str(tmp_path), "does not answer"):
        assert fact in message
    for content, why in ((CONTENT[:-1], "3,499,999 bytes instead of 3,500,000"), (bytes(SIZE), MD5)):
        (tmp_path / "toy.tar").write_bytes(content)
        assert f"{why}; it was left as it is" in refused(toy(), tmp_path)
        assert (tmp_path / "toy.tar").read_bytes() == content
    assert "cannot read or write" in refused(toy(), tmp_path / "toy.tar")  # a file where the folder should be
    (tmp_path / "toy.tar").write_bytes(CONTENT)
    assert_fetched(tmp_path, toy())
    assert "cannot read or write" in refused(toy(filename="."), tmp_path)


def test_a_host_is_reachable_also_through_a_proxy(server, monkeypatch):
    assert is_reachable(toy(server.url))
    assert not is_reachable(toy(), timeout=0.5)
    assert not is_reachable(toy(f"{server.url}?moved"), timeout=0.5), "the host that it leads to does not answer"
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/toy.tar"))
    assert is_reachable(toy("http://images.invalid/toy.tar"))
    monkeypatch.setenv("http_proxy", "127.0.0.1:9")
    assert not is_reachable(toy("http://images.invalid/toy.tar"), timeout=0.5)


def unpack(path, target, max_bytes=10_000):
    return unpack_archive(toy(unpacked_limit=max_bytes), path, target)


def tree(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


GOOD = (
    member("top", b"", type=tarfile.DIRTYPE, mode=0o755),
    member("top/a/1.jpg", b"one"),
    member("top/b/2.jpg", b"two", mode=0o6777),
)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_the_one_top_folder_becomes_the_target(tmp_path, mode):
    path, out = make_tar(tmp_path / "x.tar", *GOOD, mode=mode), tmp_path / "deep" / "out"
    out.mkdir(parents=True)  # empty: fine
    (tmp_path / "deep" / ".out.unpacking" / "top").mkdir(parents=True)  # of a killed run
    unpack(path, out)
    with pytest.raises(LookalikeError, match="already exists and is not empty"):
        unpack(path, out)
    assert tree(tmp_path / "deep") == ["out", "out/a", "out/a/1.jpg", "out/b", "out/b/2.jpg"]
    assert (out / "b/2.jpg").read_bytes() == b"two"
    assert (out / "b/2.jpg").stat().st_mode & 0o7022 == 0  # permissions are tamed


@pytest.mark.parametrize("top", ["", "./", "any_name/", "/any_name/"])
def test_flat_archives_and_those_with_one_folder_give_the_same(tmp_path, top):
    path = make_tar(tmp_path / "x.tgz", member(f"{top}a.jpg"), member(f"{top}b.jpg"), mode="w:gz")
    assert tree(unpack(path, tmp_path / "x")) == ["a.jpg", "b.jpg"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([*GOOD, member("../evil")], r"cannot unpack .*'\.\./evil'"),
        ([member("top/zeros", bytes(20_000_000))], r"more than 10,000 bytes \(at 'top/zeros'\)"),
        (None, r"cannot unpack .*No such file"),
    ],
)
def test_what_must_not_be_unpacked_is_named_and_leaves_nothing(tmp_path, members, message):
    if members:
        make_tar(tmp_path / "x.tgz", *members, mode="w:gz")
    with pytest.raises(LookalikeError, match=message):
        unpack(tmp_path / "x.tgz", tmp_path / "in" / "out")
    assert set(tree(tmp_path)) <= {"in", "x.tgz"}


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("size", [0, 5000])
def test_damaged_archives_leave_nothing_that_blocks_the_good_one(tmp_path, size, compress):
    path = make_tar(tmp_path / "x.tar", *GOOD, member("top/large", b"x" * 9000))
    good = path.read_bytes()
    path.write_bytes(compress(good[:size]))
    with pytest.raises(LookalikeError, match=r"^.*cannot unpack.*; get a good copy of it.*$"):
        unpack(path, tmp_path / "out")
    assert tree(tmp_path) == ["x.tar"]
    path.write_bytes(compress(good))
    assert len(tree(unpack(path, tmp_path / "out"))) == 5


def test_a_target_exists_only_once_it_is_complete(tmp_path, monkeypatch):
    def killed(*args):
        raise KeyboardInterrupt(tree(tmp_path))

    monkeypatch.setattr(archives.os, "rename", killed)
    with pytest.raises(KeyboardInterrupt) as caught:
        unpack(make_tar(tmp_path / "x.tar", *GOOD), tmp_path / "out")
    assert ".out.unpacking/top/b/2.jpg" in caught.value.args[0]
    assert "out" not in caught.value.args[0]
