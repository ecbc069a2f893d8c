"""Where a data set's images are on this machine: put in place by the user, or a published archive that is fetched.

An archive is the user's own copy or a download that resumes; it is verified, and unpacked whole or not at all. The
facts are in ``workflow/resources/archives.yaml``. A file that the user put in place is never changed or deleted. What
asks why something cannot be had is cheap enough for planning: it counts files and compares sizes, and reads none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from lzma import LZMAError
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, check_regular, stamp_of
from lookalike.core.progress import progress_lines
from lookalike.data.ground_truth import landmarks_of
from lookalike.data.path_finder import files_below, walk

RETRIES = 5
"""Attempts in a row that may bring nothing new before a download is given up."""
_CHUNK = 1 << 20
_TIMEOUT = 30.0  # seconds without an answer
_LONGEST_PAUSE = 60.0  # seconds between two attempts

_UNPACKING_FAILS = (tarfile.TarError, OSError, EOFError, zlib.error, LZMAError, ValueError, LookupError)


@dataclass(frozen=True)
class Archive:
    """One published archive: where its file is, how to know it, and what it unpacks to."""

    name: str
    url: str
    filename: str
    size: int | None  # in bytes; None where the publisher does not state it
    md5: str
    top_folder: str  # that it unpacks to; made for files that have no folder around them
    page: str  # address of the page that describes it
    files: int = 0  # least number of files in the unpacked folder; 0 where this is not known
    former: Sequence[str] = ()  # names that its file had before, which is taken too; its MD5 is not published
    unpacked_limit: int | None = None
    gigabytes: float = 0  # about its size, where the publisher does not state it

    @property
    def max_bytes(self) -> int:
        """Return the most bytes that its files may take together when unpacked."""
        return self.unpacked_limit or 2 * (self.size or 0)

    @property
    def about(self) -> str:
        """Return its name and about its size: ``256_ObjectCategories.tar (1.2 GB)``."""
        size = self.size or self.gigabytes * 1e9
        return f"{self.filename} ({f'{size / 1e9:.1f} GB' if size >= 1e8 else f'{size / 1e3:.0f} kB'})"

    def put_in_place(self, folder: PathLike) -> str:
        """Say what the user may put into a folder instead of a download, as the rest of a sentence."""
        size = "" if self.size is None else f"{self.size:,} bytes, "
        names = [f"{self.filename} from {self.url} ({size}md5 {self.md5}) or the folder {self.top_folder}"]
        names += [f"{name} or its folder" for name in self.former]
        return f"put {' or '.join(names)} into {os.fspath(folder)}"


def load_archives(path: PathLike) -> dict[str, Archive]:
    """Read the archives' facts from a YAML file that maps names to the other attributes of `Archive`."""
    facts = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {name: Archive(**{"name": name, "size": None} | entry) for name, entry in facts.items()}


def is_reachable(archive: Archive, timeout: float = 3.0) -> bool:
    """Tell whether the host answers to which the archive's address leads, through the environment's proxy, if any."""
    import requests

    try:
        requests.head(archive.url, timeout=timeout, allow_redirects=True)
    except requests.RequestException:
        return False
    return True


def fetch_archive(archive: Archive, folder: PathLike) -> Path:
    """Return the archive's file in `folder`, verified; download it if it is not there."""
    target = Path(folder) / archive.filename
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            _verify(archive, target, "it was left as it is: replace it with a good copy, or remove it")
        else:
            _download(archive, part)
            try:
                _verify(archive, part, "it was removed: run the same command again")
            except LookalikeError:
                part.unlink()
                raise
            os.replace(part, target)
    except OSError as error:
        raise LookalikeError(
            f"cannot read or write {target}: {error.strerror or error}; free some space or mend the permissions, then "
            "run the same command again: a download resumes"
        ) from error
    return target


class _Failure(Exception):
    """Why an attempt ended early, and whether another one may go better."""

    def __init__(self, reason: str, may_pass: bool = True) -> None:
        super().__init__(reason)
        self.may_pass = may_pass


def _download(archive: Archive, part: Path) -> None:
    """Attempt until the part file is whole; an attempt that brings new bytes starts the count of failures again."""
    failures, furthest = 0, _size(part)
    while True:
        try:
            return _attempt(archive, part)
        except _Failure as failure:
            failures = 0 if _size(part) > furthest else failures + 1
            furthest = max(furthest, _size(part))
            if failures > RETRIES or not failure.may_pass:
                raise LookalikeError(
                    f"cannot download {archive.filename}: {failure}; run the same command again once the network is "
                    f"back, or {archive.put_in_place(part.parent)} by hand"
                ) from failure
        time.sleep(min(2.0 ** max(failures - 1, 0), _LONGEST_PAUSE))


def _attempt(archive: Archive, part: Path) -> None:
    """Ask once for what is missing and append it to the part file, up to the most bytes that it should have."""
    import requests
    from urllib3.exceptions import HTTPError

    most = archive.size or archive.max_bytes
    if _size(part) > most:
        part.unlink()
    have = _size(part)
    if have == archive.size:
        return
    headers = {"Accept-Encoding": "identity", "User-Agent": "lookalike"}
    if have:
        headers["Range"] = f"bytes={have}-"
    report = progress_lines(f"megabytes of {archive.filename}", seconds=5)
    try:
        with requests.get(archive.url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            span, status = response.headers.get("Content-Range", ""), response.status_code
            if archive.size is None and span == f"bytes */{have}":
                return  # nothing comes after what is there
            if status == 416 or (status == 206 and not span.startswith(f"bytes {have}-")):
                part.unlink(missing_ok=True)
                raise _Failure("the server could not continue the download where it had stopped")
            if status not in (200, 206):
                reason = f"the server answered {status} {response.reason}"
                raise _Failure(reason, may_pass=status in (408, 425, 429) or status >= 500)
            with part.open("ab" if status == 206 else "wb") as file:
                # as sent: some servers call a .tgz encoded by x-gzip, and decoded it would be another file
                for chunk in response.raw.stream(_CHUNK, decode_content=False):
                    file.write(chunk)
                    report(file.tell() // 1_000_000, most // 1_000_000)
                    if file.tell() > most:
                        part.unlink()
                        raise _Failure(f"it sends more than the {most:,} bytes that it should have", may_pass=False)
    except (requests.RequestException, HTTPError) as error:  # the latter from the body as sent, of one cut short too
        raise _Failure(f"the host does not answer ({type(error).__name__})") from error
    if archive.size and _size(part) < archive.size:
        raise _Failure(f"the connection ended after {_size(part):,} of {archive.size:,} bytes")


def _verify(archive: Archive, file: Path, what_now: str) -> None:
    """Compare size and MD5 with what the publisher states, if anything."""
    if archive.size not in (None, _size(file)):
        raise LookalikeError(f"{file} has {_size(file):,} bytes instead of {archive.size:,}; {what_now}")
    with file.open("rb") as stream:
        md5 = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if archive.md5 not in ("", md5):
        raise LookalikeError(f"{file} has md5 {md5} instead of {archive.md5}; {what_now}")


def _size(file: Path) -> int:
    if not file.exists():
        return 0
    check_regular(file)  # opening a pipe would wait for its other end
    return file.stat().st_size


def unpack_archive(archive: Archive, file: Path, target: Path) -> Path:
    """Unpack a tar file that `fetch_archive` verified to a new folder, whole or not at all.

    It is trusted to be what its checksum says; how much it may write is bounded. Of one folder its content is taken.
    """
    # a killed run leaves this one behind, never a part of the target
    staging = target.with_name(f".{target.name}.unpacking")
    try:
        if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
            raise LookalikeError(f"{target} already exists and is not empty: move it away before unpacking to it")
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        with tarfile.open(file, "r:*") as members:
            members.extractall(staging, _bounded(members, file, archive.max_bytes), filter="data")
        n_files, inside = count_files(staging), list(staging.iterdir())
        if n_files < archive.files:  # of a former name, whose checksum is not published
            raise LookalikeError(f"{file} holds {n_files:,} files instead of {archive.files:,}; get a good copy of it")
        # an empty folder there is replaced
        os.rename(inside[0] if len(inside) == 1 and inside[0].is_dir() else staging, target)
    except _UNPACKING_FAILS as error:
        why = getattr(error, "strerror", None) or str(error).partition(":\n")[0]
        raise LookalikeError(
            f"cannot unpack {file} to {target}: {why}; get a good copy of it, free some space or mend the permissions "
            "there"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _bounded(members: tarfile.TarFile, file: Path, max_bytes: int) -> Iterator[tarfile.TarInfo]:
    """Yield the members one by one, as long as they take no more than so many bytes."""
    total = 0
    for member in members:
        total += member.size
        if total > max_bytes:
            raise LookalikeError(f"{file} would unpack to more than {max_bytes:,} bytes (at {member.name!r})")
        yield member


def count_files(folder: Path) -> int:
    """Count files at any depth that are not hidden, through links as the scan does."""
    paths = (path for path in files_below(folder) if not path.rpartition("/")[2].startswith("."))
    return sum(os.path.isfile(os.path.join(folder, path)) for path in paths)


_OWN = {
    **dict.fromkeys(("folder", "class_triplets"), "a folder of class folders"),
    "visterms": "a folder of visterm counts",
    "embeddings": "a folder of embeddings",
    "triplets": "a folder of rated triplets",
    "landmarks": "a folder of photographs",
}
"""What a user puts in place, by the kind of the data set."""


def locate(
    data: Mapping[str, Any],
    painted: Mapping[str, str],
    archives: PathLike,
    class_counts: PathLike | None = None,
    *,
    wants_words: bool = False,
) -> dict[str, object]:
    """Return where images are: where code has painted them, else in place or fetched."""
    found = painted or Source(data, load_archives(archives), class_counts, wants_words).obtain()
    return {"kind": data["kind"], **found}


@dataclass(frozen=True)
class Source:
    """Where the images of a data set come from: what the settings say of it, as plain values, and the archives."""

    data: Mapping[str, Any]
    archives: Mapping[str, Archive]
    class_counts: PathLike | None = None  # how many images each class of Caltech-256 has, as CSV; None: not looked at
    wants_words: bool = False

    def obtain(self) -> dict[str, str]:
        """Return where the parts of the data set are; what is missing is fetched."""
        if missing := self._what_is_missing():
            raise LookalikeError(f"the data set is not in place: {missing}")
        if self.data["kind"] in _OWN:
            places = {"root": self.data["path"], "ground_truth": self.data.get("ground_truth")}
            return {what: Path(place).as_posix() for what, place in places.items() if place}
        return {what: self._obtain_archive(archive).as_posix() for what, archive in self._parts().items()}

    def why_not(self) -> str:
        """Return why images cannot be had now, as a ``not run: ...`` sentence; empty where they can, or are painted."""
        reasons = [self._what_is_missing(), *map(self._why_not, self._parts().values())]
        return f"not run: {', and '.join(filter(None, reasons))}" if any(reasons) else ""

    def absent(self) -> list[Archive]:
        """Return the archives of which neither the file nor the folder is in place."""
        return [archive for archive in self._parts().values() if not any(_in_place(archive, self.data["path"])[1:])]

    def _parts(self) -> dict[str, Archive]:
        """Return the archives that the data set is made of, in the order in which they are obtained."""
        names = {"root": "caltech256"} if self.data["kind"] == "caltech256" else {}
        if self.data["kind"] == "oxford5k":
            # the ground truth comes first: if it is wrong, that shows before two gigabytes are fetched
            names = {"ground_truth": "oxford5k_ground_truth", "root": "oxford5k_images"}
            names |= {"words": "oxford5k_words"} if self.wants_words else {}
        return {what: self.archives[name] for what, name in names.items()}

    def _obtain_archive(self, archive: Archive) -> Path:
        """Return the folder of an archive, which is fetched and unpacked unless it is there."""
        folder = self.data["path"]
        named, root, file = _in_place(archive, folder)
        if root is None:
            if not self.data["fetch"] and file is None:
                why = f"{archive.name} is not in place and may not be downloaded (fetch: false)"
                raise LookalikeError(f"{why}: {archive.put_in_place(folder)}")
            root = unpack_archive(named, fetch_archive(named, folder), Path(folder, named.top_folder))
        if lack := self._what_root_lacks(root, archive):
            raise LookalikeError(lack)
        return root

    def _why_not(self, archive: Archive) -> str:
        """Return why an archive cannot be had, as far as is known without reading a file; "" where it can."""
        put_in_place = archive.put_in_place(self.data["path"])
        _, root, file = _in_place(archive, self.data["path"])
        if root is not None:
            return self._what_root_lacks(root, archive)
        if file is None or not file.is_file():
            return "" if self.data["fetch"] and is_reachable(archive) else put_in_place
        if archive.size in (None, size := file.stat().st_size):
            return ""
        return f"{file} has {size:,} bytes instead of {archive.size:,}; {put_in_place}"

    def _what_is_missing(self) -> str:
        """Return what of a user's own data set is not there, as the rest of a sentence; empty if all is."""
        kind, truth = self.data["kind"], self.data.get("ground_truth")
        if kind in _OWN and not Path(self.data["path"]).is_dir():
            return f"put {_OWN[kind]} at {self.data['path']}"
        if kind == "landmarks" and truth and not landmarks_of(truth):
            return f"put a folder of ground-truth files (<landmark>_<n>_query.txt, _good, _ok, _junk) at {truth}"
        return ""

    def _what_root_lacks(self, root: Path, archive: Archive) -> str:
        """Return why a folder with the archive's name is only a part of it, as a sentence; "" where it is not.

        Where the settings name classes, it is a part without one of these; each may have fewer images.
        """
        instead = f"complete it, or move it away and {archive.put_in_place(root.parent)}"
        if archive.files and (n_files := count_files(root.resolve())) < archive.files:
            return f"{root} holds {n_files:,} of {archive.name}'s {archive.files:,} files: {instead}"
        if self.class_counts is None:
            return ""
        images, classes = pd.read_csv(self.class_counts, index_col="folder")["images"], self.data.get("classes") or ()
        if unknown := sorted({*classes} - {*images.index}):
            return f"{archive.name} has no class folder {unknown[0]}: name one of those in {self.class_counts}"
        found = pd.Series({name: count_files(root / name) for name in classes or images.index})
        if classes:
            absent = ", ".join(found.index[found == 0])
            return f"{root} holds no image of {absent}: {instead}" if absent else ""
        for first in images.index[found < images][:1]:
            return (
                f"{root} holds {(found > 0).sum():,} of {archive.name}'s {len(images):,} class folders and "
                f"{found.clip(upper=images).sum():,} of its {images.sum():,} images (the first that lacks some is "
                f"{first}, {found[first]:,} of {images[first]:,}): {instead}, or name the classes that are there under "
                "`classes` of the data set (examples/caltech256-subset.yaml)"
            )
        return ""


def _in_place(archive: Archive, folder: PathLike) -> tuple[Archive, Path | None, Path | None]:
    """Return the archive by the name that it has in `folder`, its own or a former one, its unpacked folder and file."""
    former = (replace(archive, filename=name, top_folder=name.partition(".")[0], md5="") for name in archive.former)
    for named in (archive, *former):
        places = (Path(folder, named.top_folder), Path(folder))  # the folder may be the archive's own
        root = next((place for place in places if place.name == named.top_folder and place.is_dir()), None)
        file = Path(folder, named.filename)
        if root is not None or file.exists():
            return named, root, file if file.exists() else None
    return archive, None, None


def listing_fingerprint(root: PathLike) -> str:
    """Hash names, sizes and times below a folder, "" if none: a user's own is scanned again once an image changes."""
    lines = []
    for folder, subfolders, names in walk(Path(root)):
        inside = os.path.relpath(folder, root)
        lines += [f"{inside}/{name}/" for name in subfolders]
        for name in names:
            facts = stamp_of(os.path.join(folder, name))  # none of a file that is gone, or a dangling link
            lines.append("\t".join([f"{inside}/{name}", *map(str, facts or "-")]))
    listing = "\n".join(sorted(lines)).encode("utf-8", "surrogateescape")
    return hashlib.sha256(listing).hexdigest()[:16] if lines else ""
