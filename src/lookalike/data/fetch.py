"""Getting a published archive: the user's own copy if there is one, else a download that resumes and is verified.

Size and MD5 are verified before a file gets its name. A file that the user put in place is never changed or deleted.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import urlsplit

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_json
from lookalike.data.sources import Archive

if TYPE_CHECKING:
    import requests

_CHUNK = 1 << 20
_LONGEST_PAUSE = 60.0  # seconds between two attempts


class _TryAgain(Exception):
    """An attempt ended early for a reason that may pass."""


def fetch_archive(
    archive: Archive,
    folder: str | os.PathLike[str],
    *,
    retries: int = 5,
    timeout: float = 30.0,
    progress: bool | TextIO = True,
) -> Path:
    """Return the archive's file in `folder`, verified; download it if it is not there.

    A download goes to ``<filename>.part``, resumes after an interruption (of the connection or of the program) and gets
    its name only after size and MD5 have been verified. ``<filename>.json`` records url, size, md5 and sha256. After
    `retries` attempts in a row that brought nothing new it gives up, `timeout` seconds each; the pause between them
    doubles from 1 second. `progress` True shows a bar on standard error if that is a terminal, False none; a stream is
    where it goes, with a state every ten seconds if it is no terminal.

    Raises
    ------
    LookalikeError
        When a file in place has the wrong size or checksum, or the download fails: the message names the address, the
        size, the checksum and where to put a copy.
    """
    target = Path(folder) / archive.filename
    if target.exists():
        sha256 = _verified_sha256(archive, target, "it was left as it is: replace it with a good copy, or remove it")
        _record(archive, target, sha256)
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _download(archive, target, retries, timeout, progress)
    except OSError as error:
        raise LookalikeError(
            f"cannot write {target}: {error.strerror or error}; free some space or mend the permissions, then run "
            "the same command again: the download resumes"
        ) from error
    return target


def is_reachable(archive: Archive, timeout: float = 3.0) -> bool:
    """Tell whether the archive's host (or the proxy that the environment names for it) takes a TCP connection."""
    from requests.utils import get_environ_proxies, select_proxy

    proxy = select_proxy(archive.url, get_environ_proxies(archive.url))
    address = urlsplit(proxy if proxy is None or "//" in proxy else f"//{proxy}") if proxy else urlsplit(archive.url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=timeout):
            return True
    except (OSError, UnicodeError):
        return False


def _download(archive: Archive, target: Path, retries: int, timeout: float, progress: bool | TextIO) -> None:
    """Attempt until the file is whole; an attempt that brings new bytes starts the count of failures again."""
    part = target.with_name(target.name + ".part")
    failures, furthest = 0, _size(part)
    while True:
        try:
            _attempt(archive, part, timeout, progress)
            break
        except _TryAgain as reason:
            failures = 0 if _size(part) > furthest else failures + 1
            furthest = max(furthest, _size(part))
            if failures > retries:
                raise _give_up(archive, part, str(reason)) from reason
            time.sleep(min(2.0 ** max(failures - 1, 0), _LONGEST_PAUSE))
    try:
        sha256 = _verified_sha256(archive, part, "it was removed: run the same command again")
    except LookalikeError:
        part.unlink()
        raise
    os.replace(part, target)
    _record(archive, target, sha256)


def _attempt(archive: Archive, part: Path, timeout: float, progress: bool | TextIO) -> None:
    """Ask once for what is missing and append it to the part file."""
    import requests
    from urllib3.exceptions import HTTPError

    if _size(part) > (archive.size or archive.max_bytes):
        part.unlink()
    have = _size(part)
    if have == archive.size:
        return
    headers = {"Accept-Encoding": "identity", "User-Agent": "lookalike"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with requests.get(archive.url, headers=headers, stream=True, timeout=timeout) as response:
            if archive.size is None and response.headers.get("Content-Range") == f"bytes */{have}":
                return  # nothing comes after what is there
            start = _agreed_start(archive, part, response, have)
            size = _whole_size(archive, part, response, start)
            with _progress_bar(archive, size, start, progress) as bar:
                _append(archive, part, response, start, size, bar)
    except (requests.RequestException, HTTPError) as error:  # the latter from the body as sent
        raise _TryAgain(_cause(error)) from error


def _agreed_start(archive: Archive, part: Path, response: requests.Response, have: int) -> int:
    """Position that the answer's body begins at: after what is there, or 0 from a server without ranges."""
    code = response.status_code
    if code == 200:
        return 0
    if code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
        return have
    if code in (206, 416):
        part.unlink(missing_ok=True)
        raise _TryAgain("the server could not continue the download where it had stopped")
    answer = f"the server answered {code} {response.reason}"
    if code in (408, 425, 429) or code >= 500:
        raise _TryAgain(answer)
    raise _give_up(archive, part, answer)


def _whole_size(archive: Archive, part: Path, response: requests.Response, start: int) -> int | None:
    """Size that the finished file has: the published one, else what the server says of it, else unknown."""
    length = response.headers.get("Content-Length", "")
    offered = start + int(length) if length.isdigit() else archive.size
    if archive.size is not None and offered != archive.size:
        raise _give_up(archive, part, f"it offers {offered:,} bytes instead of {archive.size:,}")
    return offered


def _append(archive: Archive, part: Path, response: requests.Response, start: int, size: int | None, bar: Any) -> None:
    """Write the body to the part file from `start` on, never much past the archive's size."""
    most = archive.max_bytes if size is None else size
    with part.open("ab" if start else "wb") as stream:
        # as sent: some servers call a .tgz encoded by x-gzip, and decoded it would be another file
        for chunk in response.raw.stream(_CHUNK, decode_content=False):
            stream.write(chunk)
            bar.update(len(chunk))
            if stream.tell() > most:
                break
    have = _size(part)
    if have > most:
        part.unlink()
        raise _give_up(archive, part, f"it sends more than the {most:,} bytes that it should have")
    if size is not None and have < size:
        raise _TryAgain(f"the connection ended after {have:,} of {size:,} bytes")


def _progress_bar(archive: Archive, size: int | None, start: int, progress: bool | TextIO) -> Any:
    """Bar of a download that begins at `start`; standard error that is no terminal may be a log, and gets none."""
    from tqdm import tqdm

    stream = sys.stderr if isinstance(progress, bool) else progress
    on_terminal = stream.isatty()
    return tqdm(
        total=size,
        initial=start,
        unit="B",
        unit_scale=True,
        desc=archive.filename,
        file=stream,
        mininterval=0.1 if on_terminal else 10.0,
        disable=progress is False or (progress is True and not on_terminal),
    )


def _verified_sha256(archive: Archive, file: Path, what_now: str) -> str:
    """Compare size and MD5 with what the publisher states and return the SHA-256, all in one reading."""
    if not file.is_file():
        raise LookalikeError(f"{file} is not a file: move it away, or {archive.put_in_place(file.parent)}")
    size = _size(file)
    if archive.size is not None and size != archive.size:
        raise LookalikeError(f"{file} has {size:,} bytes instead of {archive.size:,}; {what_now}")
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                md5.update(chunk)
                sha256.update(chunk)
    except OSError as error:
        raise LookalikeError(f"cannot read {file}: {error.strerror}; mend its permissions or replace it") from error
    if md5.hexdigest() != archive.md5:
        raise LookalikeError(f"{file} has md5 {md5.hexdigest()} instead of {archive.md5}; {what_now}")
    return sha256.hexdigest()


def _record(archive: Archive, target: Path, sha256: str) -> None:
    """Write what was accepted beside the file; a user's read-only folder stays as it is."""
    if os.access(target.parent, os.W_OK):
        facts = {"url": archive.url, "size": _size(target), "md5": archive.md5, "sha256": sha256}
        write_json(facts, target.with_name(target.name + ".json"))


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _give_up(archive: Archive, part: Path, why: str) -> LookalikeError:
    return LookalikeError(
        f"cannot download {archive.filename}: {why}; run the same command again once the network is back, or "
        f"{archive.put_in_place(part.parent)} by hand"
    )


def _cause(error: BaseException) -> str:
    """Short reason of a network failure, free of the library's nested representations."""
    text = str(error)
    for sign, reason in (
        ("NameResolution", "its host name cannot be resolved (no network?)"),
        ("refused", "the host refuses the connection"),
        ("unreachable", "the network is unreachable"),
        ("timed out", "the host does not answer in time"),
        ("IncompleteRead", "the connection ended early"),
        ("certificate", "the certificate of the host cannot be verified"),
    ):
        if sign in text:
            return reason
    return type(error).__name__
