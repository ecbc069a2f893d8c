"""From a folder of images to the manifest: one row for every file, usable or not, with the reason why not.

`scan_folder` reads one folder per class; `scan_photographs` reads images that lie anywhere and have no class. Every
image is decoded whole here, so that a file that is cut short is found now and not in the middle of the descriptors.
"""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.images import NotAnImage, UnreadableImage, load_rgb
from lookalike.features.pyramid import is_large_enough

STATUSES = ("ok", "too_small", "unreadable", "not_an_image", "clutter")
"""What a row of the manifest can be. Only ``ok`` images are trained on and tested with."""

MIN_SIDE = 32
"""Pixels that a photograph without a class must have a side; less holds no local descriptor worth the name."""

Progress = Callable[[int, int], None]
"""Called with the number of files done and the number of all files."""

_EMPTY = "an empty class folder"
_LINK = "a link, and links inside the data set's folder are not followed: copy or move here what it leads to"

_COLUMN_TYPES = {
    "image_id": "int32",
    **dict.fromkeys(("path", "label"), "str"),
    **dict.fromkeys(("width", "height"), "int32"),
    "bytes": "int64",
    **dict.fromkeys(("sha256", "status", "reason"), "str"),
}


class _Row(NamedTuple):
    """A row of the manifest without its ``image_id``."""

    path: str
    label: str
    width: int = 0
    height: int = 0
    bytes: int = 0
    sha256: str = ""
    status: str = "not_an_image"
    reason: str = ""


def scan_folder(
    root: str | os.PathLike[str],
    *,
    clutter_labels: Collection[str] = ("257.clutter",),
    n_threads: int = 1,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Make the manifest of a folder that holds one folder per class.

    Parameters
    ----------
    root : str or path-like
        The folder of class folders; it may be a link. A file at any depth below a class folder is of that class. Links
        inside are not followed.
    clutter_labels : collection of str
        Class folders whose usable images get the status ``clutter``: the codebook learns from them, no split does.
    n_threads : int
        Images that are decoded at the same time. The result does not depend on it.
    progress : callable, optional
        Called with the number of files done and the number of all files.

    Returns
    -------
    DataFrame
        One row per file, in the order of `path`: ``image_id`` int32 = row number, ``path`` relative to `root` with
        forward slashes, ``label`` = name of the class folder ("" for a file beside the class folders), ``width`` and
        ``height`` int32 in pixels after EXIF rotation (0 where unknown), ``bytes`` int64, ``sha256`` of the file (""
        for what is no regular file), ``status`` (one of `STATUSES`), ``reason`` ("" for ok and clutter). A class folder
        without a file, or that is a link, is a row too: its name is ``path`` and ``label``, its status not_an_image.

    Raises
    ------
    LookalikeError
        When `root` is missing, empty or holds no class folders with images.
    """
    root = Path(root)
    folders = _class_folders(root)
    files = _files(root, folders)
    filled = {path.split("/")[0] for path in files}
    empty = [_escaped(name) for name in folders if name not in filled and not name.startswith(".")]
    rows = _look_at_all(root, partial(_look_for_class, frozenset(clutter_labels)), files, n_threads, progress)
    if not any(row.status in ("ok", "too_small", "clutter") for row in rows):
        raise LookalikeError(
            f"{root} holds no image that can be read: give a folder that holds one folder of images per class"
        )
    return _table(rows + [_Row(name, name, reason=_EMPTY) for name in empty])


def scan_photographs(
    root: str | os.PathLike[str], *, n_threads: int = 1, progress: Progress | None = None
) -> pd.DataFrame:
    """Make the manifest of a folder of photographs without classes, flat or of any depth.

    Parameters and result are those of `scan_folder`, but ``label`` is the folder that holds the file, relative to
    `root` ("" for `root` itself), and an image of any size from `MIN_SIDE` pixels a side is ``ok``.

    Raises
    ------
    LookalikeError
        When `root` is missing or holds no image that can be read.
    """
    root = Path(root)
    _check_folder(root, "give the folder that holds the photographs")
    top = [entry.name for entry in _entries(root) if entry.is_dir(follow_symlinks=False)]
    rows = _look_at_all(root, _look_for_photograph, _files(root, top), n_threads, progress)
    if not any(row.status == "ok" for row in rows):
        raise LookalikeError(f"{root} holds no photograph that can be read: put the photographs there")
    return _table([row._replace(label=row.path.rpartition("/")[0]) for row in rows])


def summary(manifest: pd.DataFrame) -> pd.DataFrame:
    """Count files by label, sorted: a column per status of `STATUSES`, and ``files``, their sum."""
    counts = manifest.groupby(["label", "status"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(STATUSES), fill_value=0).astype(int)
    counts["files"] = counts.sum(axis=1)
    counts.columns.name = None
    return counts.sort_index().reset_index()


def _class_folders(root: Path) -> list[str]:
    """Names of the class folders, after the checks that catch a wrong path."""
    _check_folder(root, "give the folder that holds one folder of images per class")
    entries = _entries(root)
    if not entries:
        raise LookalikeError(f"{root} is empty: put one folder of images per class into it")
    folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    visible = [name for name in folders if not name.startswith(".")]
    if not visible and any(entry.is_symlink() and entry.is_dir() for entry in entries):
        raise LookalikeError(
            f"{root} holds links instead of class folders, and links inside it are not followed: "
            "copy or move the class folders themselves there"
        )
    if not visible:
        raise LookalikeError(f"{root} holds no class folders: sort its images into one folder per class")
    if len(visible) == 1:
        inner = _entries(root / visible[0])
        if len(inner) > 1 and all(entry.is_dir(follow_symlinks=False) for entry in inner):
            raise LookalikeError(
                f"{root} holds only {visible[0]}, which holds folders: give {root / visible[0]} instead"
            )
    return folders


def _check_folder(root: Path, what_now: str) -> None:
    if not root.exists():
        raise LookalikeError(f"there is no folder {root}: {what_now}")
    if not root.is_dir():
        raise LookalikeError(f"{root} is a file: {what_now}")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise LookalikeError(f"cannot list {folder}: {error.strerror}; mend its permissions") from error


def _files(root: Path, folders: Collection[str]) -> list[str]:
    """Paths, relative to `root`, of everything that is no folder."""
    files = [entry.name for entry in _entries(root) if entry.name not in set(folders)]
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        for entry in _entries(root / folder):
            (waiting if entry.is_dir(follow_symlinks=False) else files).append(f"{folder}/{entry.name}")
    return files


def _look_at_all(
    root: Path,
    look_inside: Callable[[Path, _Row], _Row],
    files: list[str],
    n_threads: int,
    progress: Progress | None,
) -> list[_Row]:
    """Make the rows of all files, several at the same time, in the order of `files`."""
    rows = []
    with warnings.catch_warnings(), ThreadPoolExecutor(max(1, n_threads)) as pool:
        warnings.filterwarnings("ignore", module="PIL")  # what matters about a file stands in its row
        for done, row in enumerate(pool.map(partial(_look_at, root, look_inside), files), start=1):
            rows.append(row)
            if progress is not None:
                progress(done, len(files))
    return rows


def _look_at(root: Path, look_inside: Callable[[Path, _Row], _Row], path: str) -> _Row:
    """Make the row of one file, whatever is wrong with it; `look_inside` completes that of a regular file."""
    label = path.split("/")[0] if "/" in path else ""
    if _escaped(path) != path:  # cannot be stored in a table: the row shows the name with its odd bytes escaped
        return _Row(_escaped(path), _escaped(label), reason="its name is not valid UTF-8")
    row, file = _Row(path, label), root / path
    try:
        facts = file.lstat()
        if stat.S_ISLNK(facts.st_mode):
            instead_of_class = not label and not path.startswith(".") and file.is_dir()
            return row._replace(label=path if instead_of_class else label, reason=_LINK)
        if not stat.S_ISREG(facts.st_mode):
            return row._replace(reason="not a regular file")
        with file.open("rb") as stream:
            row = row._replace(bytes=facts.st_size, sha256=hashlib.file_digest(stream, "sha256").hexdigest())
    except OSError as error:
        return row._replace(status="unreadable", reason=f"cannot be read: {error.strerror}")
    return look_inside(file, row)


def _look_for_class(clutter_labels: frozenset[str], file: Path, row: _Row) -> _Row:
    """Complete the row of a regular file in or beside a class folder."""
    if not row.label:
        return row._replace(reason="beside the class folders, in none of them")
    row = _decode(file, row)
    if row.status != "ok":
        return row
    if not is_large_enough(row.width, row.height):
        return row._replace(status="too_small", reason=f"{row.width} x {row.height} pixels hold too few blocks")
    return row._replace(status="clutter" if row.label in clutter_labels else "ok")


def _look_for_photograph(file: Path, row: _Row) -> _Row:
    """Complete the row of a regular file that may lie anywhere."""
    row = _decode(file, row)
    if row.status == "ok" and min(row.width, row.height) < MIN_SIDE:
        too_small = f"{row.width} x {row.height} pixels, and a photograph has {MIN_SIDE} or more a side"
        return row._replace(status="too_small", reason=too_small)
    return row


def _decode(file: Path, row: _Row) -> _Row:
    """Complete the row of a regular file by decoding it: ``ok`` with its size, or why not."""
    if any(part.startswith(".") for part in PurePosixPath(row.path).parts):
        return row._replace(reason="hidden")
    if file.name in ("Thumbs.db", "desktop.ini"):
        return row._replace(reason="made by a file manager")
    try:
        height, width = load_rgb(file).shape[:2]
    except NotAnImage as error:
        return row._replace(reason=str(error))
    except UnreadableImage as error:
        return row._replace(status="unreadable", reason=str(error))
    return row._replace(width=width, height=height, status="ok")


def _escaped(name: str) -> str:
    """A name from the file system with what is not valid UTF-8 escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _table(rows: list[_Row]) -> pd.DataFrame:
    """Order the rows, number them and fix the types of the columns."""
    table = pd.DataFrame(sorted(rows), columns=_Row._fields)
    table.insert(0, "image_id", range(len(table)))
    return table.astype(_COLUMN_TYPES)


def image_paths(manifest: pd.DataFrame, folder: str | os.PathLike[str]) -> list[Path | None]:
    """Return the file of every image of a manifest whose paths start from `folder`, None where it cannot be used."""
    files = zip(manifest["path"], manifest["status"], strict=True)
    return [Path(folder, path) if status == "ok" else None for path, status in files]
