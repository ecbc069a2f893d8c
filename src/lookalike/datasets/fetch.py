"""Getting a published archive: the user's own copy if there is one, else a download that resumes and is verified.

Publishers state a size and an MD5; both are verified before a file gets its name, and the SHA-256 of what was accepted
is recorded in a JSON file beside it. A file that the user put in place is never changed or deleted.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO
from urllib.parse import urlsplit

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json, write_json
from lookalike.datasets.sources import Archive

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
    its name only after size and MD5 have been verified. ``<filename>.json`` records url, size, md5 and sha256.

    Parameters
    ----------
    archive : Archive
        What to get.
    folder : str or path-like
        Where it lies or shall lie; made if absent.
    retries : int
        How many attempts in a row may bring nothing new before giving up, the pause doubling each time from 1 second.
    timeout : float
        Seconds to wait for a connection and for each piece of data.
    progress : bool or TextIO
        True shows a progress bar on standard error if that is a terminal, False none; a stream is where it goes, with
        a state every ten seconds if it is no terminal.

    Returns
    -------
    Path
        The verified file.

    Raises
    ------
    LookalikeError
        When a file in place has the wrong size or checksum, or the download fails: the message names the address, the
        size, the checksum and where to put a copy.
    """
    folder = Path(folder)
    target = folder / archive.filename
    if not target.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _download(archive, target, retries=retries, timeout=timeout, progress=progress)
        except OSError as error:
            raise LookalikeError(
                f"cannot write {target}: {error.strerror or error}; free some space or mend the permissions, then run "
                "the same command again: the download resumes"
            ) from error
        return target
    sha256 = _verified_sha256(archive, target, "it was left as it is: replace it with a good copy, or remove it")
    _record(archive, target, sha256)
    return target


def is_reachable(archive: Archive, timeout: float = 3.0) -> bool:
    """Tell whether the archive's host (or the proxy that the environment names for it) takes a TCP connection.

    Parameters
    ----------
    archive : Archive
        Whose `url` to try.
    timeout : float
        Seconds to wait.
    """
    from requests.utils import get_environ_proxies, select_proxy

    proxy = select_proxy(archive.url, get_environ_proxies(archive.url))
    address = urlsplit(proxy if proxy is None or "//" in proxy else f"//{proxy}") if proxy else urlsplit(archive.url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=timeout):
            return True
    except (OSError, UnicodeError):
        return False


def unpacked_folder(archive: Archive, folder: str | os.PathLike[str]) -> Path | None:
    """Return the unpacked archive in `folder`, or `folder` itself where it is that, or None."""
    for candidate in (Path(folder) / archive.top_folder, Path(folder)):
        if candidate.name == archive.top_folder and candidate.is_dir():
            return candidate
    return None


def status(
    archive: Archive, folder: str | os.PathLike[str], *, timeout: float = 3.0
) -> Literal["folder", "archive", "reachable", "absent"]:
    """Tell how the archive can be had: unpacked already, as a file in place, from its host, or not at all.

    Cheap enough for planning: nothing is read or verified.
    """
    if unpacked_folder(archive, folder) is not None:
        return "folder"
    if (Path(folder) / archive.filename).is_file():
        return "archive"
    return "reachable" if is_reachable(archive, timeout) else "absent"


def not_run_reason(archive: Archive, folder: str | os.PathLike[str]) -> str:
    """Sentence for an exhibit whose data is neither in place nor within reach."""
    return f"not run: {put_in_place(archive, folder)}"


def put_in_place(archive: Archive, folder: str | os.PathLike[str]) -> str:
    """Say what the user may put where instead of a download, as the rest of a sentence.

    Parameters
    ----------
    archive : Archive
        What is missing.
    folder : str or path-like
        Where it is looked for.

    Returns
    -------
    str
        ``put ... into ...``, with the file's name, address, size and MD5, and the folder that would do as well.
    """
    size = "" if archive.size is None else f"{archive.size:,} bytes, "
    return (
        f"put {archive.filename} from {archive.url} ({size}md5 {archive.md5}) or the folder {archive.top_folder} "
        f"into {os.fspath(folder)}"
    )


def _give_up(archive: Archive, folder: Path, why: str) -> LookalikeError:
    return LookalikeError(
        f"cannot download {archive.filename}: {why}; run the same command again once the network is back, or "
        f"{put_in_place(archive, folder)} by hand"
    )


def _download(archive: Archive, target: Path, *, retries: int, timeout: float, progress: bool | TextIO) -> None:
    """Attempt until the file is whole; an attempt that brings new bytes starts the count of failures again."""
    part = target.with_name(target.name + ".part")
    failures, furthest = 0, _size(part)
    while True:
        try:
            _attempt(archive, part, timeout=timeout, progress=progress)
            sha256 = _verified_download(archive, part)
        except _TryAgain as reason:
            failures = 0 if _size(part) > furthest else failures + 1
            furthest = max(furthest, _size(part))
            if failures > retries:
                raise _give_up(archive, target.parent, str(reason)) from reason
            time.sleep(min(2.0 ** max(failures - 1, 0), _LONGEST_PAUSE))
            continue
        _tag_file(part).unlink(missing_ok=True)
        os.replace(part, target)
        _record(archive, target, sha256)
        return


def _attempt(archive: Archive, part: Path, *, timeout: float, progress: bool | TextIO) -> None:
    """Ask once for what is missing and append it to the part file."""
    import requests
    from urllib3.exceptions import HTTPError

    if _size(part) > _most_bytes(archive):
        part.unlink()
    have = _size(part)
    if have == archive.size:
        return
    headers = {"Accept-Encoding": "identity", "User-Agent": "lookalike"}
    if have:
        headers["Range"] = f"bytes={have}-"
        tag = _read_tag(part)
        if tag:
            headers["If-Range"] = tag
    try:
        with requests.get(archive.url, headers=headers, stream=True, timeout=timeout) as response:
            if archive.size is None and _is_whole(response, have):
                return
            start = _agreed_start(archive, part, response, have)
            _write_tag(part, response.headers.get("ETag", ""))
            size = _whole_size(archive, response, start)
            with _progress_bar(archive, size, start, progress) as bar:
                _append(response, part, start, archive, size, bar)
    except (requests.RequestException, HTTPError) as error:  # the latter from the body as sent
        raise _TryAgain(_cause(error)) from error


def _agreed_start(archive: Archive, part: Path, response: requests.Response, have: int) -> int:
    """Position that the answer's body begins at, after checking that it can be the file that was asked for."""
    code, length = response.status_code, response.headers.get("Content-Length", "")
    if code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
        return have
    if code == 200:  # no ranges here, or the file has changed since: from the start
        if archive.size is not None and length.isdigit() and int(length) != archive.size:
            raise _give_up(archive, part.parent, f"it offers {int(length):,} bytes instead of {archive.size:,}")
        return 0
    if code in (206, 416):
        part.unlink(missing_ok=True)
        raise _TryAgain("the server could not continue the download where it had stopped")
    if code in (408, 425, 429) or code >= 500:
        raise _TryAgain(f"the server answered {code} {response.reason}")
    raise _give_up(archive, part.parent, f"the server answered {code} {response.reason}")


def _most_bytes(archive: Archive) -> int:
    """Most bytes that the file can have: its size, or where that is not stated what its files may take unpacked."""
    return archive.max_bytes if archive.size is None else archive.size


def _is_whole(response: requests.Response, have: int) -> bool:
    """Whether the server says that nothing comes after the `have` bytes that are there."""
    return response.status_code == 416 and response.headers.get("Content-Range", "") == f"bytes */{have}"


def _whole_size(archive: Archive, response: requests.Response, start: int) -> int | None:
    """Size that the finished file has: the published one, else what the server says of it, else unknown."""
    length = response.headers.get("Content-Length", "")
    if archive.size is None and length.isdigit():
        return start + int(length)
    return archive.size


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


def _append(response: requests.Response, part: Path, start: int, archive: Archive, size: int | None, bar: Any) -> None:
    """Write the body to the part file from `start` on, never past the archive's size."""
    most = _most_bytes(archive) if size is None else size
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
        _tag_file(part).unlink(missing_ok=True)
        raise _give_up(archive, part.parent, f"it sends more than the {most:,} bytes that it should have")
    if size is not None and have < size:
        raise _TryAgain(f"the connection ended after {have:,} of {size:,} bytes")


def _verified_download(archive: Archive, part: Path) -> str:
    """SHA-256 of the finished part file; one that is wrong is of no use and goes."""
    try:
        return _verified_sha256(archive, part, "it was removed: run the same command again")
    except LookalikeError:
        part.unlink()
        _tag_file(part).unlink(missing_ok=True)
        raise


def _verified_sha256(archive: Archive, file: Path, what_now: str) -> str:
    """Compare size and MD5 with what the publisher states and return the SHA-256, all in one reading."""
    if not file.is_file():
        raise LookalikeError(f"{file} is not a file: move it away, or {put_in_place(archive, file.parent)}")
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
    facts = {"url": archive.url, "size": _size(target), "md5": archive.md5, "sha256": sha256}
    sidecar = target.with_name(target.name + ".json")
    try:
        if sidecar.is_file() and read_json(sidecar) == facts:
            return
    except (OSError, ValueError):
        pass  # unreadable: written anew below
    if os.access(target.parent, os.W_OK):
        write_json(facts, sidecar)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _tag_file(part: Path) -> Path:
    """Where the ETag of a part file waits for the next attempt."""
    return part.with_name(part.name + ".etag")


def _read_tag(part: Path) -> str:
    file = _tag_file(part)
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def _write_tag(part: Path, tag: str) -> None:
    """Keep a strong ETag: If-Range does not take weak ones."""
    if tag and not tag.startswith("W/"):
        _tag_file(part).write_text(tag + "\n", encoding="utf-8")
    else:
        _tag_file(part).unlink(missing_ok=True)


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
