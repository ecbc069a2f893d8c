"""Downloads from a server that misbehaves in every way we know of, and files that the user put in place."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.data import fetch
from lookalike.data.fetch import fetch_archive, is_reachable
from lookalike.data.sources import Archive

CONTENT = np.random.default_rng(0).bytes(3_500_000)
MD5 = hashlib.md5(CONTENT).hexdigest()
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Behaviour:
    """What the server does, and what it was asked for."""

    content: bytes = CONTENT
    ranges: bool = True
    drops: list[int] = field(default_factory=list)  # bytes of body sent before each of the next answers is cut
    codes: list[int] = field(default_factory=list)  # answers of the next requests instead of the file
    send_length: bool = True
    encoding: str = ""  # what the server calls the body encoded by, which it sends as the file is
    sent_all: bool = False  # whether the last body went out to its end
    asked: list[str | None] = field(default_factory=list)  # ranges


class Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour

    def do_GET(self) -> None:
        rules = self.behaviour
        wanted = self.headers.get("Range")
        rules.asked.append(wanted)
        if rules.codes:
            self.send_error(rules.codes.pop(0))
            return
        start = 0
        if wanted and rules.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(rules.content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(rules.content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(rules.content) - 1}/{len(rules.content)}")
        else:
            self.send_response(200)
        body = rules.content[start:]
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
    monkeypatch.setattr(fetch.time, "sleep", slept.append)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return slept


@pytest.fixture
def server() -> Iterator[tuple[Behaviour, str]]:
    behaviour = Behaviour()
    handler = type("BoundHandler", (Handler,), {"behaviour": behaviour})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield behaviour, f"http://127.0.0.1:{running.server_address[1]}/toy.tar"
        running.shutdown()
        thread.join()


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/toy.tar"


def toy(url: str, size: int | None = len(CONTENT)) -> Archive:
    return Archive("toy", url, "toy.tar", size, MD5, "toy_folder", "http://page", unpacked_limit=10_000_000)


def assert_fetched(folder: Path, path: Path, url: str) -> None:
    """The whole file, its record, and nothing left over."""
    assert path == folder / "toy.tar"
    assert path.read_bytes() == CONTENT
    assert read_json(folder / "toy.tar.json") == {"url": url, "size": len(CONTENT), "md5": MD5, "sha256": SHA256}
    assert sorted(file.name for file in folder.iterdir()) == ["toy.tar", "toy.tar.json"]


def test_download(tmp_path: Path, server: tuple[Behaviour, str], pauses: list[float]) -> None:
    behaviour, url = server
    assert_fetched(tmp_path / "new", fetch_archive(toy(url), tmp_path / "new", progress=False), url)
    assert fetch_archive(toy(url), tmp_path / "new", progress=False).exists()
    assert behaviour.asked == [None]  # the second call downloads nothing
    assert pauses == []


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip"])
@pytest.mark.parametrize("send_length", [True, False])
def test_a_compressed_archive_is_stored_as_it_is_sent(
    tmp_path: Path, server: tuple[Behaviour, str], encoding: str, send_length: bool
) -> None:
    behaviour, url = server
    content = gzip.compress(CONTENT, compresslevel=1)
    behaviour.content, behaviour.encoding, behaviour.send_length = content, encoding, send_length
    behaviour.drops = [1_500_000]
    archive = replace(toy(url), size=len(content), md5=hashlib.md5(content).hexdigest())
    assert fetch_archive(archive, tmp_path, progress=False).read_bytes() == content
    assert len(behaviour.asked) == 2


class Terminal(io.StringIO):
    """A stream that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
@pytest.mark.parametrize("given", [True, False])
def test_progress_goes_to_a_stream_that_is_given_and_to_standard_error_only_if_it_is_a_terminal(
    tmp_path: Path, server: tuple[Behaviour, str], stream: io.StringIO, given: bool
) -> None:
    stream.seek(0)
    stream.truncate()
    other = io.StringIO()
    with contextlib.redirect_stderr(other if given else stream):
        fetch_archive(toy(server[1]), tmp_path, progress=stream if given else True)
    assert ("toy.tar: 100%" in stream.getvalue()) == (given or stream.isatty())
    assert other.getvalue() == ""


@pytest.mark.parametrize("size", [len(CONTENT), None])
@pytest.mark.parametrize("send_length", [True, False])
def test_dropped_connection_resumes_where_it_stopped(
    tmp_path: Path, server: tuple[Behaviour, str], send_length: bool, size: int | None
) -> None:
    behaviour, url = server
    behaviour.drops, behaviour.send_length = [1_500_000, 1_200_000] if size or send_length else [], send_length
    assert_fetched(tmp_path, fetch_archive(toy(url, size), tmp_path, progress=False), url)
    offsets = [int(str(asked).removeprefix("bytes=").removesuffix("-")) for asked in behaviour.asked[1:]]
    assert behaviour.asked[0] is None
    if size or send_length:
        assert len(offsets) == 2
        assert 0 < offsets[0] <= 1_500_000
        assert offsets[0] < offsets[1] <= offsets[0] + 1_200_000


@pytest.mark.parametrize(
    ("found", "asked"), [(CONTENT[:1000], "bytes=1000-"), (CONTENT + b"x", None)], ids=["shorter", "too long"]
)
def test_a_part_file_of_an_earlier_run_is_resumed_or_discarded(
    tmp_path: Path, server: tuple[Behaviour, str], found: bytes, asked: str | None
) -> None:
    behaviour, url = server
    (tmp_path / "toy.tar.part").write_bytes(found)
    assert_fetched(tmp_path, fetch_archive(toy(url), tmp_path, progress=False), url)
    assert behaviour.asked == [asked]


@pytest.mark.parametrize(("size", "asked"), [(len(CONTENT), []), (None, [f"bytes={len(CONTENT)}-"])])
def test_whole_part_file_of_a_killed_run_is_not_fetched_again(
    tmp_path: Path, server: tuple[Behaviour, str], size: int | None, asked: list[str]
) -> None:
    behaviour, url = server
    (tmp_path / "toy.tar.part").write_bytes(CONTENT)
    assert_fetched(tmp_path, fetch_archive(toy(url, size), tmp_path, progress=False), url)
    assert behaviour.asked == asked


def test_server_without_ranges_restarts_cleanly(tmp_path: Path, server: tuple[Behaviour, str]) -> None:
    behaviour, url = server
    behaviour.ranges, behaviour.drops = False, [2_000_000]
    assert_fetched(tmp_path, fetch_archive(toy(url), tmp_path, progress=False), url)
    assert behaviour.asked[1] is not None


@pytest.mark.parametrize("code", [500, 503, 429, 416])
def test_passing_trouble_is_retried(
    tmp_path: Path, server: tuple[Behaviour, str], code: int, pauses: list[float]
) -> None:
    behaviour, url = server
    behaviour.codes = [code, code, code]
    assert_fetched(tmp_path, fetch_archive(toy(url), tmp_path, progress=False), url)
    assert pauses == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("code", [403, 404])
def test_lasting_trouble_is_not_retried(tmp_path: Path, server: tuple[Behaviour, str], code: int) -> None:
    behaviour, url = server
    behaviour.codes = [code]
    with pytest.raises(LookalikeError, match=f"the server answered {code}"):
        fetch_archive(toy(url), tmp_path, progress=False)
    assert len(behaviour.asked) == 1


def test_a_connection_that_keeps_dropping_succeeds_while_it_brings_something(
    tmp_path: Path, server: tuple[Behaviour, str], pauses: list[float]
) -> None:
    behaviour, url = server
    behaviour.drops = [1_100_000, 1_100_000, 1_100_000]
    assert_fetched(tmp_path, fetch_archive(toy(url), tmp_path, retries=0, progress=False), url)
    assert pauses == [1.0] * (len(behaviour.asked) - 1)


def test_gives_up_after_retries_and_keeps_the_part(
    tmp_path: Path, server: tuple[Behaviour, str], pauses: list[float]
) -> None:
    behaviour, url = server
    behaviour.codes = [503] * 10
    (tmp_path / "toy.tar.part").write_bytes(CONTENT[:1000])
    with pytest.raises(LookalikeError, match="503"):
        fetch_archive(toy(url), tmp_path, retries=2, progress=False)
    assert len(behaviour.asked) == 3
    assert pauses == [1.0, 2.0]
    assert (tmp_path / "toy.tar.part").read_bytes() == CONTENT[:1000]


def test_wrong_checksum_of_a_download(tmp_path: Path, server: tuple[Behaviour, str]) -> None:
    behaviour, url = server
    behaviour.content = b"x" * len(CONTENT)
    wrong = hashlib.md5(behaviour.content).hexdigest()
    with pytest.raises(LookalikeError, match=f"has md5 {wrong} instead of {MD5}"):
        fetch_archive(toy(url), tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("send_length", "message"), [(True, "offers 3,500,005 bytes"), (False, "sends more than")])
def test_wrong_size_of_a_download(
    tmp_path: Path, server: tuple[Behaviour, str], send_length: bool, message: str
) -> None:
    behaviour, url = server
    behaviour.content, behaviour.send_length = CONTENT + b"extra", send_length
    with pytest.raises(LookalikeError, match=message):
        fetch_archive(toy(url), tmp_path, progress=False)
    assert not (tmp_path / "toy.tar").exists()
    assert len(behaviour.asked) == 1


@pytest.mark.parametrize(("size", "limit"), [(len(CONTENT), None), (None, 1_000)])
def test_a_server_that_never_ends_is_left(
    tmp_path: Path, server: tuple[Behaviour, str], size: int | None, limit: int | None
) -> None:
    behaviour, url = server
    behaviour.content, behaviour.send_length = CONTENT + bytes(80_000_000), False
    with pytest.raises(LookalikeError, match=f"sends more than the {limit or size:,} bytes"):
        fetch_archive(replace(toy(url, size), unpacked_limit=limit), tmp_path, progress=False)
    assert not behaviour.sent_all
    assert list(tmp_path.iterdir()) == []


def test_no_network_is_one_sentence_with_everything_in_it(tmp_path: Path, closed_port: str) -> None:
    with pytest.raises(LookalikeError) as caught:
        fetch_archive(toy(closed_port), tmp_path / "data", retries=1, progress=False)
    message = str(caught.value)
    for fact in (closed_port, "3,500,000 bytes", MD5, "toy.tar", "toy_folder", str(tmp_path / "data"), "refuses"):
        assert fact in message
    assert "\n" not in message


def test_users_own_file_is_verified_and_used(tmp_path: Path, closed_port: str) -> None:
    (tmp_path / "toy.tar").write_bytes(CONTENT)
    assert_fetched(tmp_path, fetch_archive(toy(closed_port), tmp_path), closed_port)


@pytest.mark.parametrize(
    ("content", "message"),
    [(CONTENT[:-1], "has 3,499,999 bytes instead of 3,500,000"), (b"x" * len(CONTENT), f"instead of {MD5}")],
)
def test_users_wrong_file_is_left_as_it_is(
    tmp_path: Path, server: tuple[Behaviour, str], content: bytes, message: str
) -> None:
    behaviour, url = server
    (tmp_path / "toy.tar").write_bytes(content)
    with pytest.raises(LookalikeError, match=message) as caught:
        fetch_archive(toy(url), tmp_path, progress=False)
    assert "left as it is" in str(caught.value)
    assert (tmp_path / "toy.tar").read_bytes() == content
    assert behaviour.asked == []


def test_folder_where_the_file_should_be(tmp_path: Path, closed_port: str) -> None:
    (tmp_path / "toy.tar").mkdir()
    with pytest.raises(LookalikeError, match="is not a file"):
        fetch_archive(toy(closed_port), tmp_path)


def test_a_file_in_the_way_of_the_folder(tmp_path: Path, closed_port: str) -> None:
    (tmp_path / "data").write_bytes(b"")
    with pytest.raises(LookalikeError, match="cannot write"):
        fetch_archive(toy(closed_port), tmp_path / "data")


def test_damaged_record_is_written_anew(tmp_path: Path, closed_port: str) -> None:
    (tmp_path / "toy.tar").write_bytes(CONTENT)
    (tmp_path / "toy.tar.json").write_text("{")
    assert_fetched(tmp_path, fetch_archive(toy(closed_port), tmp_path), closed_port)


def test_is_reachable(server: tuple[Behaviour, str], closed_port: str) -> None:
    assert is_reachable(toy(server[1]))
    assert not is_reachable(toy(closed_port), timeout=0.5)


def test_a_proxy_counts_as_the_way_to_the_host(
    server: tuple[Behaviour, str], closed_port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = replace(toy(""), url="http://images.invalid/toy.tar")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", server[1].removesuffix("/toy.tar"))
    assert is_reachable(archive)
    monkeypatch.setenv("http_proxy", closed_port.removesuffix("/toy.tar").removeprefix("http://"))
    assert not is_reachable(archive, timeout=0.5)


def test_what_to_put_where_is_said() -> None:
    assert toy("http://x/toy.tar").put_in_place(Path("data/toy")) == (
        f"put toy.tar from http://x/toy.tar (3,500,000 bytes, md5 {MD5}) or the folder toy_folder into data/toy"
    )
