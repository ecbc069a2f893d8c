"""Where images are: in place, or in archives that a misbehaving server sends, which are verified and unpacked."""

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import tarfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from project import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.data import archives
from lookalike.data.archives import Archive, Source, fetch_archive, is_reachable, listing_fingerprint, load_archives

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
        self.content, self.ranges, self.send_length, self.sent_all = CONTENT, True, True, False
        self.drops = []  # bytes of body sent before each of the next answers is cut
        self.codes = []  # answers of the next requests instead of the file
        self.asked = []  # ranges


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
        self.send_header("Content-Encoding", "x-gzip")  # as some servers say of a .tgz, and send the file as it is
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the client may have read enough
            self.wfile.write(body[: rules.drops.pop(0)] if rules.drops else body)
            rules.sent_all = True

    def do_HEAD(self):
        self.send_response(302 if "moved" in self.path else 200)
        self.send_header("Location", CLOSED)
        self.end_headers()

    def log_message(self, *args):
        """Keep the tests quiet."""


def member(name, content=b"content", **fields):
    """A file of an archive, or whatever else its `fields` make of it."""
    info = tarfile.TarInfo(name)
    for key, value in {"size": len(content), **fields}.items():
        setattr(info, key, value)
    return info, content


def tar_of(*members, mode="w:gz"):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


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


def refused(call, *arguments):
    with pytest.raises(LookalikeError, match=r"^.*$") as caught:
        call(*arguments)
    return str(caught.value)


def test_the_published_archives_are_bounded():
    published = load_archives(RESOURCES / "archives.yaml").values()
    assert [archive.max_bytes for archive in published] == [2 * 1_183_006_720, 4 * 10**9, 10**7, 4 * 10**9]


CUT = {"drops": [1_500_000, 1_200_000]}
PLAIN = {"ranges": False, "send_length": False}  # where nothing tells a length, the end of the connection is the end
DOWNLOADS = [  # what a killed run left, the published size, the server; what is asked for first, and the pauses
    *(
        (0, size, CUT | {"send_length": is_sent}, None, [1.0, 1.0])
        for size, is_sent in ((SIZE, 1), (SIZE, 0), (None, 1))
    ),
    (1000, SIZE, {"codes": [500, 429, 416]}, "bytes=1000-", [1.0, 2.0, 4.0]),
    *((1000, SIZE, server, "bytes=1000-", []) for server in ({}, PLAIN)),
    *((SIZE + 1, SIZE, server, None, []) for server in ({}, PLAIN)),
    *((SIZE, size, server, f"bytes={SIZE}-", []) for size in (SIZE, None) for server in ({}, PLAIN)),
]


@pytest.mark.parametrize(("n_found", "size", "behaviour", "first", "waits"), DOWNLOADS)
def test_a_download_goes_on_where_it_stopped(tmp_path, server, pauses, n_found, size, behaviour, first, waits):
    vars(server).update({name: list(value) if name == "drops" else value for name, value in behaviour.items()})
    if n_found:
        (tmp_path / "toy.tar.part").write_bytes((CONTENT + b"x")[:n_found])
    for _ in range(2):  # the second time nothing is downloaded
        assert_fetched(tmp_path, toy(server.url, size))
    expected = [] if n_found == size else [first]
    assert (server.asked[:1], len(server.asked), pauses) == (expected, len(expected) + len(waits), waits)
    offsets = [int(asked.strip("bytes=-")) for asked in server.asked if asked]
    assert "codes" in behaviour or offsets == sorted(set(offsets)), "each request brought something"


REFUSED = [  # the server, other facts of the archive, the reason, and after how many requests
    ({"codes": [404] * 20}, {}, "the server answered 404", 1),
    ({"codes": [503] * 20}, {}, "the server answered 503", 1 + archives.RETRIES),
    ({"content": b"x" * SIZE}, {}, f"instead of {MD5}; it was removed", 1),
    ({"content": CONTENT + b"extra"}, {}, "sends more than the 3,500,000 bytes", 1),
    ({"content": CONTENT + bytes(80_000_000), "send_length": False}, {}, "sends more than the 3,500,000 bytes", 1),
    ({"content": bytes(80_000_000), "send_length": False}, {"size": None, "unpacked_limit": 9}, "more than the 9", 1),
]


@pytest.mark.parametrize(("behaviour", "facts", "message", "times"), REFUSED)
def test_trouble_that_lasts_ends_the_attempts_and_another_file_is_removed(
    tmp_path, server, behaviour, facts, message, times
):
    (tmp_path / "toy.tar.part").write_bytes(CONTENT[:1000])
    vars(server).update(behaviour)
    assert message in refused(fetch_archive, replace(toy(server.url), **facts), tmp_path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([CONTENT[:1000]] if "codes" in behaviour else [])
    assert len(server.asked) == times
    assert not server.sent_all or len(server.content) < 10_000_000, "one that never ends is left"


def test_a_users_own_file_is_verified_used_and_never_changed(tmp_path):
    message = refused(fetch_archive, toy(), tmp_path)  # no network, no file
    for fact in (CLOSED, "3,500,000 bytes", MD5, "toy.tar", "toy_folder", str(tmp_path), "does not answer"):
        assert fact in message
    for content, why in ((CONTENT[:-1], "3,499,999 bytes instead of 3,500,000"), (bytes(SIZE), MD5)):
        (tmp_path / "toy.tar").write_bytes(content)
        assert f"{why}; it was left as it is" in refused(fetch_archive, toy(), tmp_path)
        assert (tmp_path / "toy.tar").read_bytes() == content
    assert "cannot read or write" in refused(fetch_archive, toy(), tmp_path / "toy.tar")  # a file for a folder
    (tmp_path / "toy.tar").write_bytes(CONTENT)
    assert_fetched(tmp_path, toy())
    assert "cannot read or write" in refused(fetch_archive, toy(filename="."), tmp_path)


def test_a_host_is_reachable_also_through_a_proxy(server, monkeypatch):
    assert is_reachable(toy(server.url))
    assert not is_reachable(toy(), timeout=0.5)
    assert not is_reachable(toy(f"{server.url}?moved"), timeout=0.5), "the host that it leads to does not answer"
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/toy.tar"))
    assert is_reachable(toy("http://images.invalid/toy.tar"))


def unpack(content, target):
    """Unpack an archive of some bytes, None for one that is not there, beside its target."""
    target.parent.mkdir(parents=True, exist_ok=True)
    file = target.with_name("x.tar")
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_bytes(content)
    return archives.unpack_archive(toy(unpacked_limit=10_000), file, target)


def tree(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


def good(top="top/"):
    folder = [member(top, b"", type=tarfile.DIRTYPE, mode=0o755)] if top else []
    return [*folder, member(f"{top}a/1.jpg", b"one"), member(f"{top}b/2.jpg", b"two", mode=0o6777)]


@pytest.mark.parametrize("top", ["", "./", "any_name/", "/any_name/"])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_the_one_top_folder_of_an_archive_or_all_of_it_becomes_the_target(tmp_path, mode, top):
    content, out = tar_of(*good(top), mode=mode), tmp_path / "deep" / "out"
    out.mkdir(parents=True)  # empty: fine
    (tmp_path / "deep" / ".out.unpacking" / "top").mkdir(parents=True)  # of a killed run
    unpack(content, out)
    assert "already exists and is not empty" in refused(unpack, content, out)
    assert tree(tmp_path / "deep") == ["out", "out/a", "out/a/1.jpg", "out/b", "out/b/2.jpg", "x.tar"]
    assert (out / "b/2.jpg").read_bytes() == b"two"
    assert (out / "b/2.jpg").stat().st_mode & 0o7022 == 0  # permissions are tamed


WHOLE = tar_of(*good(), member("top/large", b"x" * 9000), mode="w")
PACKERS = (bytes, gzip.compress, bz2.compress, lzma.compress)
BAD = [(tar_of(*good(), member("../evil")), r"cannot unpack .*'\.\./evil'"), (None, "cannot unpack .*No such file")]
BAD += [(tar_of(member("top/zeros", bytes(20_000_000))), r"more than 10,000 bytes \(at 'top/zeros'\)")]
BAD += [(pack(WHOLE[:size]), "cannot unpack.*; get a good copy of it") for pack in PACKERS for size in (0, 5000)]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_what_must_not_be_unpacked_leaves_nothing_that_blocks_a_good_archive(tmp_path, content, message):
    assert re.search(message, refused(unpack, content, tmp_path / "out"))
    assert set(tree(tmp_path)) <= {"x.tar"}
    assert len(tree(unpack(WHOLE, tmp_path / "out"))) == 5


FILES = {
    "caltech256": ["001.ak47/1.jpg", "001.ak47/2.jpg", "056.dog/greg/1.jpg", "056.dog/RENAME2"],
    "oxford5k_images": ["hall_000001.jpg", "hall_000002.jpg"],
    "oxford5k_ground_truth": [f"hall_1_{kind}.txt" for kind in ("query", "good", "ok", "junk")],
    "oxford5k_words": ["hall_000001.txt"],
}


class Place:
    """A folder in which a user puts data, and small archives like the published ones that no server has."""

    def __init__(self, root):
        self.folder, self.packed, self.counts = root / "data", root / "made", root / "counts.csv"
        self.folder.mkdir()
        self.packed.mkdir()
        self.counts.write_text("folder,images\n001.ak47,2\n056.dog,1\n")
        self.archives = {}
        for name, published in load_archives(RESOURCES / "archives.yaml").items():
            top = f"{published.top_folder}/" if name == "caltech256" else ""
            content = tar_of(*(member(f"{top}{file}", b"abc") for file in FILES[name]))
            (self.packed / published.filename).write_bytes(content)
            facts = {"url": f"http://127.0.0.1:9/{published.filename}", "md5": hashlib.md5(content).hexdigest()}
            facts["size"] = published.size and len(content)
            self.archives[name] = replace(published, **facts, files=published.files and len(FILES[name]))

    def put(self, *names):
        for name in names:
            shutil.copy(self.packed / self.archives[name].filename, self.folder)

    def source(self, kind, *, fetch=False, wants_words=False, **data):
        """Where a data set of this kind is; `data` are further settings of it."""
        counts = self.counts if kind == "caltech256" else None
        settings = {"kind": kind, "path": str(self.folder), "fetch": fetch} | data
        return Source(settings, self.archives, counts, wants_words)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_an_archive_is_unpacked_once_and_its_folder_used_while_it_is_whole(place):
    source, root = place.source("caltech256"), place.folder / place.archives["caltech256"].top_folder
    place.put("caltech256")
    assert source.why_not() == ""
    assert source.obtain() == place.source("caltech256", path=str(root)).obtain() == {"root": root.as_posix()}
    for words, *gone in (
        ("2 of caltech256's 2 class folders and 2 of its 3 images (the first that lacks some is 0", "001.ak47/2.jpg"),
        ("1 of caltech256's 2 class folders and 1 of its 3 images", "056.dog/greg/1.jpg", "056.dog/RENAME2"),
    ):
        for file in map(root.joinpath, gone):
            file.rename(file.with_name(".DS_Store"))  # made by a file manager
            file.with_name(f"{file.stem}.link.jpg").symlink_to(root / "nowhere")
        message = refused(source.obtain)
        assert source.why_not() == f"not run: {message}"
        for what in (words, str(place.folder), "complete it", "`classes` of the data set"):
            assert what in message


def test_of_named_classes_alone_the_folders_need_to_be_there(place):
    dog = place.folder / place.archives["caltech256"].top_folder / "056.dog"

    def why(*classes):
        return place.source("caltech256", classes=classes).why_not()

    assert place.source("caltech256").absent() == [place.archives["caltech256"]]
    dog.mkdir(parents=True)
    assert "holds no image of 056.dog: complete it" in why("056.dog")
    (dog / "1.jpg").touch()
    assert why("056.dog") == ""
    assert "1 of caltech256's 2 class folders" in why()
    assert "no class folder 056.cat: name one of those in" in why("056.dog", "056.cat")
    assert place.source("caltech256").absent() == []
    assert place.archives["oxford5k_images"].about == "oxbuild_images-v1.tgz (2.0 GB)"


def test_what_is_not_there_is_asked_for_unless_its_host_answers(place, monkeypatch):
    source, to_fetch = (place.source("caltech256", fetch=fetch) for fetch in (False, True))
    put_it = place.archives["caltech256"].put_in_place(place.folder)
    assert source.why_not() == to_fetch.why_not() == f"not run: {put_it}"
    assert refused(source.obtain).endswith(f"may not be downloaded (fetch: false): {put_it}")
    monkeypatch.setattr(archives, "is_reachable", lambda archive: True)
    assert (to_fetch.why_not(), source.why_not()) == ("", f"not run: {put_it}")


def test_landmarks_in_place_are_verified_and_unpacked_once(place):
    source = place.source("oxford5k")
    truth, images = place.folder / "gt_files_170407", place.folder / "oxbuild_images-v1"
    assert source.why_not().count("put ") == 2
    assert "or oxbuild_images.tgz or its folder into" in source.why_not()
    place.put("oxford5k_images", "oxford5k_ground_truth")
    of_images = ("oxford5k_images", "", f"{images}.tgz has md5")  # their archive's size is not published
    of_truth = ("oxford5k_ground_truth", "bytes instead of", "bytes instead of")
    for name, planned, words in (of_truth, of_images):
        file = place.folder / place.archives[name].filename
        os.truncate(file, file.stat().st_size - 5)
        assert planned in source.why_not()
        assert (source.why_not() == "") == (planned == "")
        assert words in refused(source.obtain)
        place.put(name)
    assert not images.exists()
    assert source.why_not() == ""
    assert source.obtain() == {"root": images.as_posix(), "ground_truth": truth.as_posix()}
    assert {path.name for path in images.iterdir()} == set(FILES["oxford5k_images"])
    # under its former name the file has no published MD5, and is known by what it holds
    shutil.rmtree(images)
    Path(f"{images}.tgz").unlink()
    former = place.folder / "oxbuild_images.tgz"
    former.write_bytes(tar_of(member("more.jpg")))
    assert "oxbuild_images.tgz holds 1 files instead of 2; get a good copy of it" in refused(source.obtain)
    former.write_bytes(tar_of(*map(member, ["more.jpg", *FILES["oxford5k_images"]])))
    assert source.why_not() == ""
    assert (source.obtain()["root"], images.exists()) == (former.with_suffix("").as_posix(), False)
    (truth / "hall_1_ok.txt").unlink()
    for message in (refused(source.obtain), source.why_not()):
        assert "3 of oxford5k_ground_truth's 4 files" in message


def test_words_are_fetched_only_where_they_are_wanted(place, monkeypatch):
    monkeypatch.setattr(archives, "fetch_archive", lambda archive, _: place.packed / archive.filename)
    assert "words" not in place.source("oxford5k", fetch=True).obtain()
    words = place.archives["oxford5k_words"]
    assert place.source("oxford5k", wants_words=True).why_not() == f"not run: {words.put_in_place(place.folder)}"
    found = place.source("oxford5k", fetch=True, wants_words=True).obtain()
    assert found["words"] == (place.folder / words.top_folder).as_posix()


def test_own_data(place):
    images, truth = place.folder / "images", place.folder / "truth"
    whats = {"folder": "class folders", "class_triplets": "class folders", "triplets": "rated triplets"}
    for kind, what in (whats | {"landmarks": "photographs"}).items():
        assert place.source(kind).why_not() == ""
        assert place.source(kind, path=images).why_not() == f"not run: put a folder of {what} at {images}"
    images.mkdir()
    truth.mkdir()
    landmarks = place.source("landmarks", path=images, ground_truth=truth)
    assert landmarks.why_not().startswith("not run: put a folder of ground-truth files (<landmark>")
    assert str(truth) in refused(landmarks.obtain)
    (truth / "hall_1_query.txt").write_text("a 1 2 3 4\n")
    assert landmarks.why_not() == place.source("synthetic_landmarks").why_not() == ""
    assert landmarks.obtain() == {"root": images.as_posix(), "ground_truth": truth.as_posix()}
    assert place.source("landmarks", path=images).obtain() == {"root": images.as_posix()}


def test_a_listing_changes_with_names_sizes_and_times(tmp_path):
    assert listing_fingerprint(tmp_path / "nowhere") == ""
    seen = []
    image = tmp_path / "cat" / "1.jpg"
    image.parent.mkdir()
    for content, time in ((b"abc", 0), (b"xyz", 1), (b"abcd", 1)):
        image.write_bytes(content)
        os.utime(image, ns=(0, time))
        seen.append(listing_fingerprint(tmp_path))
        assert listing_fingerprint(tmp_path) == seen[-1]
    (tmp_path / "cat" / "2.jpg").symlink_to(tmp_path / "nowhere")
    seen.append(listing_fingerprint(tmp_path))
    (tmp_path / "empty").mkdir()
    seen.append(listing_fingerprint(tmp_path))
    assert len(set(seen)) == 5
