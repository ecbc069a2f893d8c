"""From a folder of images to the manifest: one row for every file, usable or not, with the reason why not.

Every image is decoded whole, so that a file that is cut short is found now and not in the middle of the descriptors.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lookalike.core.arrays import Bytes
from lookalike.core.errors import LookalikeError, existing
from lookalike.core.files import PathLike, check_folder, sha256_of
from lookalike.core.images import MIN_SIDE, NotAnImage, is_image, load_with_sha256
from lookalike.core.progress import Progress, counted
from lookalike.data.path_finder import escaped_path, files_below, is_hidden, is_made_by_system, walk
from lookalike.features.pyramid import is_large_enough

if TYPE_CHECKING:
    import pandas as pd

Facts = TypeVar("Facts")

STATUSES = ("ok", "too_small", "unreadable", "not_an_image", "clutter")
"""What a row of the manifest can be. Only ``ok`` images are trained on and tested with."""
CLUTTER = ("257.clutter",)
NOT_UTF8 = "its name is not valid UTF-8: rename it"
_EMPTY = "an empty class folder"
_BY_SYSTEM = "a folder that a system makes, for trash or thumbnails: no images are taken from it"
_PART = re.compile(r"(?i)([a-z]*_)?(train(ing)?|val(id(ation)?)?|dev|test(ing)?|eval(uation)?)(set)?([^a-z ].*)?")
"""Names of the parts of a data set that is split into folders, such as train2017, seg_test and validation."""
_LOOP = "a link to a folder that it lies in"
_BROKEN = "a link that leads nowhere"


@dataclass
class File:
    """What is found of a file: a row of the manifest without its number."""

    path: str  # from the root, with forward slashes; rows are sorted by it
    label: str = ""  # the class folder, "" beside them
    width: int = 0  # pixels, upright; 0 where unknown
    height: int = 0
    bytes: int = 0
    sha256: str = ""  # "" where it is no regular file
    status: str = "not_an_image"  # one of `STATUSES`
    reason: str = ""  # "" where the status is ok or clutter

    def refused(self, reason: str, status: str = "not_an_image") -> File:
        """Return the file as one that cannot be used."""
        self.status, self.reason = status, reason
        return self


_NUMBERS = {"image_id": "int32", "width": "int32", "height": "int32", "bytes": "int64"}
COLUMN_TYPES = {name: _NUMBERS.get(name, "str") for name in ("image_id", *(column.name for column in fields(File)))}
"""Types of a manifest's columns; an image's id is the number of its row."""


def scan_folder(
    root: PathLike,
    *,
    clutter_labels: Collection[str] = CLUTTER,
    classes: Sequence[str] = (),
    n_threads: int = 1,
    progress: Progress | None = None,
    seen: Callable[[str, Bytes], None] | None = None,
) -> pd.DataFrame:
    """Make the manifest of a folder that holds one folder per class; images of `clutter_labels` serve the codebook.

    Given `classes`, names of folders, no other folder is read. `seen` is called with path and pixels of every image.
    """
    root = Path(root)
    folders, paths = _class_folders(root), files_below(root, strict=True)
    if absent := [name for name in classes if name not in folders]:
        raise LookalikeError(f"{root} has no class folder {absent[0]}; {existing(absent[0], folders)}")
    if classes:
        folders, paths = list(classes), [path for path in paths if path.partition("/")[0] in classes]
    files = look_at_all(partial(_look_at, root, seen=seen), paths, n_threads, progress)
    for file in files:
        file.label, _, inside = file.path.partition("/")
        if not inside:
            file.label = ""
            if file.sha256:  # it could be read
                file.refused("beside the class folders, in none of them")
                file.width = file.height = 0
        if file.status == "ok" and not is_large_enough(file.width, file.height):
            file.refused(f"{file.width} x {file.height} pixels hold too few blocks", "too_small")
        elif file.status == "ok" and file.label in clutter_labels:
            file.status = "clutter"
    if not any(file.status in ("ok", "too_small", "clutter") for file in files):
        raise _none_readable(root, "image", files, "give a folder that holds one folder of images per class")
    # a class folder without a file is a row too
    empty = {escaped_path(name) for name in folders} - {file.label for file in files}
    return _table(files + [File(name, name, reason=_EMPTY) for name in empty])


def scan_photographs(
    root: PathLike,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
    paths: Sequence[str] | None = None,
    known: Sequence[File] = (),
) -> pd.DataFrame:
    """Make the manifest of a folder of photographs without classes, at any depth; their label is their folder.

    Given `paths`, from the folder, it is that of these files. Those that are `known` stay as they are.
    """
    root = Path(root)
    check_folder(root, "give the folder that holds the photographs")
    listed = files_below(root, strict=True) if paths is None else paths
    seen = {file.path: file for file in known}
    files = look_at_all(partial(_look_at, root), [path for path in listed if path not in seen], n_threads, progress)
    for file in files:
        _refuse_small(file).label = file.path.rpartition("/")[0]
    files += [seen[path] for path in listed if path in seen]
    if not any(file.status == "ok" for file in files):
        raise _none_readable(root, "photograph", files, "put photographs there")
    return _table(files)


def image_paths(manifest: pd.DataFrame, folder: PathLike) -> list[Path | None]:
    """Return the file of every image of a manifest whose paths start from `folder`, None where it cannot be used."""
    files = zip(manifest["path"], manifest["status"], strict=True)
    return [Path(folder, path) if status == "ok" else None for path, status in files]


def _class_folders(root: Path) -> list[str]:
    """Return names of the class folders, after the checks that catch a wrong path."""
    check_folder(root, "give the folder that holds one folder of images per class")
    folders = _folders(root)
    if not folders:
        raise LookalikeError(f"{root} holds no class folders: sort its images into one folder per class")
    inner = root  # as long as a folder holds a single one, and this holds folders and no images of its own
    while len(inside := _folders(inner)) == 1 and _folders(inside[0]) and not _has_image(inside[0]):
        inner = inside[0]
    refuse_parts(inner)
    if inner != root and len(inside) > 1:
        raise LookalikeError(f"{root} holds only {folders[0].name}, which holds folders: give {inner} instead")
    return [folder.name for folder in folders]


def refuse_parts(root: Path) -> None:
    """Refuse the folders of a split, such as train and val, for classes where they hold class folders."""
    parts = [folder for folder in _folders(root) if _PART.fullmatch(folder.name)]
    with_classes = [part for part in parts if _folders(part) and not _has_image(part)]
    if len(parts) > 1 and with_classes:  # one alone may be a class
        first = min(with_classes, key=lambda part: "train" not in part.name.casefold())
        names = ", ".join(part.name for part in parts)
        raise LookalikeError(
            f"{root} holds the parts of a data set ({names}), not its classes: give one of them, such as {first}"
        )


def _folders(folder: Path) -> list[Path]:
    """List the folders that may hold images: no hidden ones, no systems' ones, no loops; none if out of reach."""
    _, names, _ = next(walk(folder), ("", [], []))
    return [folder / name for name in sorted(names) if not name.startswith(".")]


def _has_image(folder: Path) -> bool:
    """Tell whether a file of the folder itself, and not one further down, begins like an image."""
    return any(is_image(entry) for entry in sorted(folder.iterdir()) if not entry.name.startswith("."))


def _none_readable(root: Path, what: str, found: list[File], what_now: str) -> LookalikeError:
    """Say how many files there are and why the first cannot be used."""
    files = [file for file in found if not is_hidden(file.path) and file.reason != _BY_SYSTEM]
    # the first that is an image tells more than a note
    first = min(files, key=lambda file: (file.status != "unreadable", file.path), default=None)
    n_files = f"{len(files):,} files" if len(files) > 1 else "1 file"
    among = f" among its {n_files} ({first.path}: {first.reason})" if first else ""
    return LookalikeError(f"{root} holds no {what} that can be read{among}: {what_now}")


def look_at_all(
    look: Callable[[str], Facts], paths: Sequence[str], n_threads: int, progress: Progress | None
) -> list[Facts]:
    """Look at several files at the same time; return what is found of each, in their order."""
    with warnings.catch_warnings(), ThreadPoolExecutor(max(1, n_threads)) as pool:
        warnings.filterwarnings("ignore", module="PIL")  # what matters about a file stands in its facts
        return list(counted(pool.map(look, paths), len(paths), progress))


def look_at_image(root: Path, path: str) -> File:
    """Look at a file that somebody names as an image, through links too; without its number of bytes."""
    if escaped_path(path) != path:
        return File(escaped_path(path)).refused(NOT_UTF8)
    return _refuse_small(_decoded(root, path))


def _refuse_small(file: File) -> File:
    """Refuse an image that holds no local descriptor."""
    if file.status == "ok" and min(file.width, file.height) < MIN_SIDE:
        size = f"{file.width} x {file.height} pixels"
        file.refused(f"{size}, and each side needs {MIN_SIDE} or more", "too_small")
    return file


def _look_at(root: Path, path: str, seen: Callable[[str, Bytes], None] | None = None) -> File:
    """Look at whatever lies in a folder: ``ok`` with its size in pixels, or what is wrong with it; without a label."""
    if escaped_path(path) != path:
        return File(escaped_path(path)).refused(NOT_UTF8)  # a table holds the name with its odd bytes escaped
    found, file, hidden = File(path), root / path, "hidden" if is_hidden(path) else ""
    try:
        if not file.exists():
            return found.refused(_BROKEN)
        if file.is_dir():
            return found.refused(_BY_SYSTEM if is_made_by_system(file.name) else hidden or _LOOP)
        if not file.is_file():
            return found.refused("not a regular file")
        n_bytes = file.stat().st_size
    except OSError as error:
        return found.refused(f"cannot be read: {error.strerror}", "unreadable")
    if hidden or file.name in ("Thumbs.db", "desktop.ini"):
        found.refused(hidden or "made by a file manager")
    else:
        found = _decoded(root, path, seen)
    found.bytes, found.sha256 = n_bytes, found.sha256 or sha256_of(file)
    return found


def _decoded(root: Path, path: str, seen: Callable[[str, Bytes], None] | None = None) -> File:
    """Decode a file: ``ok`` with its size in pixels, or why there are none."""
    found = File(path)
    try:
        pixels, found.sha256 = load_with_sha256(root / path)
    except LookalikeError as error:
        return found.refused(str(error), "not_an_image" if isinstance(error, NotAnImage) else "unreadable")
    found.height, found.width = pixels.shape[:2]
    found.status = "ok"
    if seen is not None:
        seen(path, pixels)
    return found


def _table(files: list[File]) -> pd.DataFrame:
    """Order the rows, number them and fix the types of the columns."""
    import pandas as pd  # slow to import, and a gallery is asked without tables

    table = pd.DataFrame(sorted(files, key=attrgetter("path"))).assign(image_id=range(len(files)))
    return table[list(COLUMN_TYPES)].astype(COLUMN_TYPES)
