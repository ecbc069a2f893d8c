"""From a folder of images to the manifest: one row for every file, usable or not, with the reason why not.

`scan_folder` reads one folder per class; `scan_photographs` reads images that lie anywhere and have no class, since a
ground truth says what they show. Later rules depend on the manifest, never on the folder. Every image
is decoded whole here, so that a file that is cut short is found now and not in the middle of the descriptors.
"""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from lookalike.core.errors import LookalikeError
from lookalike.core.images import NotAnImage, UnreadableImage, load_rgb

if TYPE_CHECKING:
    import pandas as pd

STATUSES = ("ok", "too_small", "unreadable", "not_an_image", "clutter")
"""What a row of the manifest can be. Only ``ok`` images are trained on and tested with."""

MIN_SIDE = 32
"""Pixels that a photograph without a class must have a side; less holds no local descriptor worth the name."""

_EMPTY = "an empty class folder"
_LINK = "a link, and links inside the data set's folder are not followed: copy or move here what it leads to"

_COLUMN_TYPES = {
    "image_id": "int32",
    "path": "str",
    "label": "str",
    "width": "int32",
    "height": "int32",
    "bytes": "int64",
    "sha256": "str",
    "status": "str",
    "reason": "str",
}


class _Row(NamedTuple):
    """A row of the manifest without its ``image_id``."""

    path: str
    label: str
    width: int
    height: int
    bytes: int
    sha256: str
    status: str
    reason: str


def scan_folder(
    root: str | os.PathLike[str],
    *,
    clutter_labels: Collection[str] = ("257.clutter",),
    n_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
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
    files = list(_files(root, folders))
    look = partial(_look_at, root, partial(_look_for_class, frozenset(clutter_labels)))
    rows = _empty_folders(folders, files) + _look_at_all(look, files, n_threads, progress)
    if not any(row.status in ("ok", "too_small", "clutter") for row in rows):
        raise LookalikeError(
            f"{root} holds no image that can be read: give a folder that holds one folder of images per class"
        )
    return _table(rows)


def scan_photographs(
    root: str | os.PathLike[str], *, n_threads: int = 1, progress: Callable[[int, int], None] | None = None
) -> pd.DataFrame:
    """Make the manifest of a folder of photographs without classes, flat or of any depth.

    Parameters
    ----------
    root : str or path-like
        The folder; it may be a link. Links inside are not followed.
    n_threads, progress
        As for `scan_folder`.

    Returns
    -------
    DataFrame
        As of `scan_folder`, but ``label`` is the folder that holds the file, relative to `root` ("" for `root` itself),
        and an image of any size from `MIN_SIDE` pixels a side is ``ok``.

    Raises
    ------
    LookalikeError
        When `root` is missing or holds no image that can be read.
    """
    root = Path(root)
    _check_folder(root, "give the folder that holds the photographs")
    top = [entry.name for entry in _entries(root) if entry.is_dir(follow_symlinks=False)]
    files = list(_files(root, top))
    rows = _look_at_all(partial(_look_at, root, _look_for_photograph), files, n_threads, progress)
    rows = [row._replace(label=_folder_of(row.path)) for row in rows]
    if not any(row.status == "ok" for row in rows):
        raise LookalikeError(f"{root} holds no photograph that can be read: put the photographs there")
    return _table(rows)


def summary(manifest: pd.DataFrame) -> pd.DataFrame:
    """Count a manifest's files per class and status.

    Parameters
    ----------
    manifest : DataFrame
        As `scan_folder` makes it.

    Returns
    -------
    DataFrame
        One row per label, sorted: ``label``, one int column per status of `STATUSES`, ``files`` (their sum).
    """
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


def _files(root: Path, folders: Collection[str]) -> Iterator[str]:
    """Paths, relative to `root`, of everything that is no folder."""
    names = set(folders)
    for entry in _entries(root):
        if entry.name not in names:
            yield entry.name
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        for entry in _entries(root / folder):
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                yield path


def _empty_folders(folders: Collection[str], files: Collection[str]) -> list[_Row]:
    """Rows of the class folders that hold no file at any depth."""
    filled = {path.split("/")[0] for path in files}
    names = [_escaped(name) for name in folders if name not in filled and not name.startswith(".")]
    return [_Row(name, name, 0, 0, 0, "", "not_an_image", _EMPTY) for name in names]


def _look_at_all(
    look: Callable[[str], _Row], files: list[str], n_threads: int, progress: Callable[[int, int], None] | None
) -> list[_Row]:
    """Make the rows of all files, several at the same time, in the order of `files`."""
    rows = []
    with warnings.catch_warnings(), ThreadPoolExecutor(max(1, n_threads)) as pool:
        warnings.filterwarnings("ignore", module="PIL")  # what matters about a file stands in its row
        for done, row in enumerate(pool.map(look, files), start=1):
            rows.append(row)
            if progress is not None:
                progress(done, len(files))
    return rows


def _look_at(root: Path, look_inside: Callable[[Path, _Row], _Row], path: str) -> _Row:
    """Make the row of one file, whatever is wrong with it; `look_inside` completes that of a regular file."""
    label = path.split("/")[0] if "/" in path else ""
    row = _Row(path, label, 0, 0, 0, "", "not_an_image", "")
    if not _is_text(path):  # cannot be stored in a table: the row shows the name with its odd bytes escaped
        return row._replace(path=_escaped(path), label=_escaped(label), reason="its name is not valid UTF-8")
    file = root / path
    try:
        facts = file.lstat()
        if stat.S_ISLNK(facts.st_mode):
            instead_of_class = not label and not path.startswith(".") and file.is_dir()
            return row._replace(label=path if instead_of_class else label, reason=_LINK)
        if not stat.S_ISREG(facts.st_mode):
            return row._replace(reason="not a regular file")
        row = row._replace(bytes=facts.st_size, sha256=_sha256(file))
    except OSError as error:
        return row._replace(status="unreadable", reason=f"cannot be read: {error.strerror}")
    return look_inside(file, row)


def _look_for_class(clutter_labels: frozenset[str], file: Path, row: _Row) -> _Row:
    """Complete the row of a regular file in or beside a class folder."""
    from lookalike.features.pyramid import is_large_enough

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


def _folder_of(path: str) -> str:
    """Folder of a file relative to the root, "" for the root itself."""
    return path.rpartition("/")[0]


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_text(name: str) -> bool:
    """Tell whether a name from the file system can be written as UTF-8."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _escaped(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _table(rows: list[_Row]) -> pd.DataFrame:
    """Order the rows, number them and fix the types of the columns."""
    import pandas as pd

    columns: dict[str, Any] = {"image_id": range(len(rows))}
    for name, values in zip(_Row._fields, zip(*sorted(rows), strict=True), strict=True):
        columns[name] = values
    return pd.DataFrame(columns).astype(_COLUMN_TYPES)


def image_paths(manifest: pd.DataFrame, folder: str | os.PathLike[str]) -> list[Path | None]:
    """Return the file of every image, None where it cannot be used.

    Parameters
    ----------
    manifest : DataFrame
        ``image_id`` (= row number), ``path``, ``status``.
    folder : path-like
        What the paths start from.

    Returns
    -------
    list of Path or None
    """
    return [
        Path(folder, path) if status == "ok" else None
        for path, status in zip(manifest["path"], manifest["status"], strict=True)
    ]
