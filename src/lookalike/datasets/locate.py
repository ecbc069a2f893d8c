"""Where a data set's images are on this machine: put in place by the user, or fetched, verified and unpacked now."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any, TextIO

from lookalike.datasets.fetch import fetch_archive, is_reachable, not_run_reason, put_in_place, unpacked_folder
from lookalike.datasets.sources import Archive
from lookalike.errors import LookalikeError

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
        ``root``, the folder of class folders, and if it was unpacked just now the ``archive`` and its ``md5``; the
        SHA-256 is recorded in the JSON file beside the archive.

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
        max_bytes=2 * archive.size,
        max_members=MAX_MEMBERS,
        top_folder=archive.top_folder,
    )
    return {"root": root.as_posix(), "archive": archive.filename, "md5": archive.md5}


def why_not_obtainable(
    archive: Archive, folder: str | os.PathLike[str], class_counts: str | os.PathLike[str], may_download: bool
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
            _check_complete(root, archive, _read_class_counts(class_counts))
        except LookalikeError as error:
            return f"not run: {error}"
        return ""
    if file.is_file():
        size = file.stat().st_size
        wrong = f"not run: {file} has {size:,} bytes instead of {archive.size:,}; {put_in_place(archive, folder)}"
        return "" if size == archive.size else wrong
    return "" if may_download and is_reachable(archive) else not_run_reason(archive, folder)


def remove_other_drawings(folder: str | os.PathLike[str]) -> list[str]:
    """Delete the folders beside a synthetic data set's own: images of other settings, and scratch of killed runs.

    Parameters
    ----------
    folder : str or path-like
        The folder to keep, ``.../images/<fingerprint>``. It must exist; files and links beside it are left alone.

    Returns
    -------
    list of str
        Names of the deleted folders, sorted.

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
    with os.scandir(kept.parent) as entries:
        others = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    others.remove(kept.name)
    for name in others:
        try:
            shutil.rmtree(kept.parent / name)
        except OSError as error:
            raise LookalikeError(
                f"cannot delete {kept.parent / name}: {error.strerror or error}; it holds images of other settings: "
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


def _count_files(folder: Path) -> int:
    """Files at any depth that are not hidden; links are not followed, because the scan follows none."""
    if folder.is_symlink() or not folder.is_dir():
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
