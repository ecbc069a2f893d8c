"""Where a data set's images are on this machine: put in place by the user, or fetched, verified and unpacked now."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from lookalike.core.errors import LookalikeError
from lookalike.datasets.fetch import fetch_archive, is_reachable, not_run_reason, put_in_place, unpacked_folder
from lookalike.datasets.ground_truth import landmarks_of
from lookalike.datasets.sources import Archive

MAX_MEMBERS = 100_000
"""Files and folders that an archive may unpack to; Caltech-256 has about 31,000."""


def obtain_archive(
    archive: Archive,
    folder: str | os.PathLike[str],
    *,
    class_counts: str | os.PathLike[str] | None = None,
    may_download: bool = True,
    progress: bool | TextIO = True,
) -> dict[str, Any]:
    """Return where the unpacked archive is, after fetching, verifying and unpacking whatever is missing.

    Parameters
    ----------
    archive : Archive
        What to obtain.
    folder : str or path-like
        Where the user puts the archive or its unpacked top folder, and where a download goes.
    class_counts : str or path-like, optional
        CSV with the columns ``folder`` and ``images``: what the archive holds. A top folder that the user put in place
        must hold at least as many files in each class folder.
    may_download : bool
        Whether to use the network when neither is there.
    progress : bool or TextIO
        Where to show how far a download is; see `lookalike.datasets.fetch.fetch_archive`.

    Returns
    -------
    dict
        ``root``, the folder of class folders (of a flat archive, the folder that holds its files), and if it was
        unpacked just now the ``archive`` and its ``md5``; the SHA-256 is recorded in the JSON file beside the archive.

    Raises
    ------
    LookalikeError
        When it is not there and cannot be fetched, is not the published archive, or was unpacked only in part.
    """
    from lookalike.datasets.unpack import unpack_tar

    root = unpacked_folder(archive, folder)
    if root is not None:
        if class_counts is not None:
            _check_complete(root, archive, _read_class_counts(class_counts))
        _check_number(root, archive)
        return {"root": root.as_posix()}
    file = os.path.join(folder, archive.filename)
    if not may_download and not os.path.exists(file):
        raise LookalikeError(
            f"{archive.name} is not in place and may not be downloaded (fetch: false): {put_in_place(archive, folder)}"
        )
    path = fetch_archive(archive, folder, progress=progress)
    root = unpack_tar(
        path,
        os.path.join(folder, archive.top_folder),
        max_bytes=archive.max_bytes,
        max_members=MAX_MEMBERS,
        top_folder=None if archive.flat else archive.top_folder,
        flat=archive.flat,
    )
    return {"root": root.as_posix(), "archive": archive.filename, "md5": archive.md5}


def why_not_obtainable(
    archive: Archive,
    folder: str | os.PathLike[str],
    class_counts: str | os.PathLike[str] | None,
    may_download: bool,
) -> str:
    """Return why an archive's images cannot be had now, as a ``not run: ...`` sentence; empty where they can.

    Cheap enough for planning: files are counted and sizes compared, nothing is read or verified.

    Parameters
    ----------
    archive, folder, class_counts, may_download
        As for `obtain_archive`.
    """
    root, file = unpacked_folder(archive, folder), Path(folder) / archive.filename
    if root is not None:
        try:
            if class_counts is not None:
                _check_complete(root, archive, _read_class_counts(class_counts))
            _check_number(root, archive)
        except LookalikeError as error:
            return f"not run: {error}"
        return ""
    if file.is_file():
        size = file.stat().st_size
        if archive.size is None or size == archive.size:
            return ""
        return f"not run: {file} has {size:,} bytes instead of {archive.size:,}; {put_in_place(archive, folder)}"
    return "" if may_download and is_reachable(archive) else not_run_reason(archive, folder)


def obtain_landmarks(
    archives: Mapping[str, Archive],
    folder: str | os.PathLike[str],
    *,
    may_download: bool = True,
    wants_words: bool = False,
    progress: bool | TextIO = True,
) -> dict[str, Any]:
    """Return where the Oxford Buildings are, after fetching, verifying and unpacking whatever is missing.

    Parameters
    ----------
    archives : mapping of str to Archive
        With the keys ``oxford5k_images``, ``oxford5k_ground_truth`` and ``oxford5k_words``.
    folder : str or path-like
        Where the user puts the archives or their unpacked folders, and where downloads go.
    may_download : bool
        Whether to use the network for what is not there.
    wants_words : bool
        Whether the published visual words are wanted too; if not, they are not looked at, whatever is in place.
    progress : bool or TextIO
        As for `obtain_archive`.

    Returns
    -------
    dict
        ``root``, the folder of photographs; ``ground_truth``, the folder of its text files; ``words``, the folder of
        the published visual words, only if they are wanted; and ``archives``, the MD5 of each archive that was unpacked
        just now.

    Raises
    ------
    LookalikeError
        As for `obtain_archive`.
    """
    found = {
        what: obtain_archive(archive, folder, may_download=may_download, progress=progress)
        for what, archive in _parts(archives, wants_words).items()
    }
    record: dict[str, Any] = {what: facts["root"] for what, facts in found.items()}
    record["archives"] = {facts["archive"]: facts["md5"] for facts in found.values() if "archive" in facts}
    return record


def own_landmarks(path: str | os.PathLike[str], ground_truth: str | os.PathLike[str]) -> dict[str, Any]:
    """Return where a user's own photographs and their ground truth are, after checking that they are there.

    Parameters
    ----------
    path : str or path-like
        Folder of photographs.
    ground_truth : str or path-like
        Folder of text files; see `lookalike.datasets.ground_truth`.

    Returns
    -------
    dict
        ``root`` and ``ground_truth``.

    Raises
    ------
    LookalikeError
        When one of the two is missing, or the second holds no query.
    """
    missing = _what_is_missing(path, ground_truth)
    if missing:
        raise LookalikeError(f"the landmarks' data is not in place: {missing}")
    return {"root": Path(path).as_posix(), "ground_truth": Path(ground_truth).as_posix()}


def why_landmarks_not_obtainable(
    data: Mapping[str, Any], archives: Mapping[str, Archive], *, wants_words: bool = False
) -> str:
    """Return why a landmark data set cannot be had now, as a ``not run: ...`` sentence; empty where it can.

    Cheap enough for planning: files are counted and sizes compared, nothing is read or verified.

    Parameters
    ----------
    data : mapping
        Settings of the data set: ``kind`` and, for the kind ``landmarks``, ``path`` and ``ground_truth``; for the kind
        ``oxford5k``, ``path`` and ``fetch``. Any other kind is made by code and can always be had.
    archives : mapping of str to Archive
        As for `obtain_landmarks`.
    wants_words : bool
        As for `obtain_landmarks`: whether lacking or damaged words are a reason.
    """
    if data["kind"] == "landmarks":
        missing = _what_is_missing(data["path"], data["ground_truth"])
        return f"not run: {missing}" if missing else ""
    if data["kind"] != "oxford5k":
        return ""
    needed = _parts(archives, wants_words).values()
    reasons = [why_not_obtainable(archive, data["path"], None, data["fetch"]) for archive in needed]
    reasons = [reason.removeprefix("not run: ") for reason in reasons if reason]
    return f"not run: {', and '.join(reasons)}" if reasons else ""


def _parts(archives: Mapping[str, Archive], wants_words: bool) -> dict[str, Archive]:
    """What the Oxford Buildings are made of, in the order in which it is obtained."""
    # the ground truth comes first: if it is wrong, that shows before two gigabytes are fetched
    parts = {"ground_truth": archives["oxford5k_ground_truth"], "root": archives["oxford5k_images"]}
    return parts | ({"words": archives["oxford5k_words"]} if wants_words else {})


def _what_is_missing(path: str | os.PathLike[str], ground_truth: str | os.PathLike[str]) -> str:
    """What of a user's own landmark data is not there, as the rest of a sentence; empty if all is."""
    if not Path(path).is_dir():
        return f"put a folder of photographs at {path}"
    if not landmarks_of(ground_truth):
        return f"put a folder of ground-truth files (<landmark>_<n>_query.txt, _good, _ok, _junk) at {ground_truth}"
    return ""


def remove_other_drawings(folder: str | os.PathLike[str]) -> list[str]:
    """Delete the folders beside a synthetic data set's own: images of other settings, and scratch of killed runs.

    Where a folder ``ground_truth`` stands beside ``images``, its folders for other settings go too.

    Parameters
    ----------
    folder : str or path-like
        The folder to keep, ``.../images/<fingerprint>``. It must exist; files and links beside it are left alone.

    Returns
    -------
    list of str
        The deleted folders: names of those beside `folder`, sorted, then those of ``ground_truth/``.

    Raises
    ------
    LookalikeError
        When `folder` is not a folder inside one named ``images`` (nothing is deleted then), or one cannot be deleted.
    """
    kept = Path(os.path.abspath(folder))
    if kept.parent.name != "images" or not kept.is_dir():
        raise LookalikeError(
            f"{folder} is not a folder of drawn images (.../images/<fingerprint>): nothing beside it was deleted; "
            "draw the images again"
        )
    removed = _remove_folders(kept.parent, kept.name)
    truth = kept.parent.with_name("ground_truth")
    if truth.is_dir() and not truth.is_symlink():
        removed += [f"{truth.name}/{name}" for name in _remove_folders(truth, kept.name)]
    return removed


def _remove_folders(parent: Path, kept: str) -> list[str]:
    """Delete the folders in `parent` but for one, and return their names, sorted."""
    with os.scandir(parent) as entries:
        others = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name != kept)
    for name in others:
        try:
            shutil.rmtree(parent / name)
        except OSError as error:
            raise LookalikeError(
                f"cannot delete {parent / name}: {error.strerror or error}; it was made with other settings: "
                "delete it by hand"
            ) from error
    return others


def listing_fingerprint(root: str | os.PathLike[str]) -> str:
    """Return a short hash of what lies below a folder; empty where there is no folder.

    It covers the name, size and time of change of every file, and the names of all folders. Cheap enough for planning,
    so that a folder of a user's own is scanned again once an image comes, goes or is replaced.
    """
    lines = []
    for folder, subfolders, files in os.walk(root):
        inside = os.path.relpath(folder, root)
        lines += [f"{inside}/{name}/" for name in subfolders]
        lines += [f"{inside}/{name}\t{_size_and_time(os.path.join(folder, name))}" for name in files]
    listing = "\n".join(sorted(lines)).encode("utf-8", "surrogateescape")
    return hashlib.sha256(listing).hexdigest()[:16] if lines else ""


def _size_and_time(path: str) -> str:
    """Size in bytes and time of change in nanoseconds; of a file that is gone, or a dangling link, only a mark."""
    try:
        facts = os.stat(path)
    except OSError:
        return "-"
    return f"{facts.st_size}\t{facts.st_mtime_ns}"


def _read_class_counts(path: str | os.PathLike[str]) -> dict[str, int]:
    """Number of files that an archive holds in each class folder."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as stream:
            return {row["folder"]: int(row["images"]) for row in csv.DictReader(stream)}
    except OSError as error:
        raise LookalikeError(f"cannot read the class counts {path}: {error.strerror}; restore the file") from error
    except (KeyError, TypeError, ValueError) as error:
        raise LookalikeError(f"{path} must have the columns folder and images, a number: {error}") from error


def _check_complete(root: Path, archive: Archive, published: dict[str, int]) -> None:
    """Refuse a folder that has the archive's name but holds only a part of it."""
    found = {name: _count_files(root / name) for name in published}
    if all(found[name] >= images for name, images in published.items()):
        return
    n_folders = sum(images > 0 for images in found.values())
    n_images = sum(min(found[name], images) for name, images in published.items())
    first = next(name for name, images in published.items() if found[name] < images)
    raise LookalikeError(
        f"{root} holds {n_folders:,} of {archive.name}'s {len(published):,} class folders and {n_images:,} of its "
        f"{sum(published.values()):,} images (the first that lacks some is {first}, {found[first]:,} of "
        f"{published[first]:,}): complete it, or move it away and {put_in_place(archive, root.parent)}, or describe "
        "what is there as a data set of your own, kind: folder (docs/own-images.md)"
    )


def _check_number(root: Path, archive: Archive) -> None:
    """Refuse a folder of an archive without classes that holds fewer files than were published."""
    found = _count_files(root, follow=True) if archive.files else 0
    if found < archive.files:
        raise LookalikeError(
            f"{root} holds {found:,} of {archive.name}'s {archive.files:,} files: complete it, or move it away and "
            f"{put_in_place(archive, root.parent)}"
        )


def _count_files(folder: Path, *, follow: bool = False) -> int:
    """Files at any depth that are not hidden; links inside are not followed, because the scan follows none.

    `folder` itself may be a link if `follow` says so.
    """
    if (folder.is_symlink() and not follow) or not folder.is_dir():
        return 0
    count, waiting = 0, [os.fspath(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
                    count += 1
    return count
