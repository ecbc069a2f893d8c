"""Where a data set's images are on this machine: put in place by the user, or fetched, verified and unpacked now.

What asks why something cannot be had is cheap enough for planning: it counts files and compares sizes, and reads none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, stamp_of
from lookalike.data.archives import Archive, count_files, fetch_archive, is_reachable, load_archives, unpack_archive
from lookalike.data.ground_truth import landmarks_of, painted_truth
from lookalike.data.path_finder import walk

_OWN = {
    **dict.fromkeys(("folder", "class_triplets"), "a folder of class folders"),
    "visterms": "a folder of visterm counts",
    "embeddings": "a folder of embeddings",
    "triplets": "a folder of rated triplets",
    "landmarks": "a folder of photographs",
}
"""What a user puts in place, by the kind of the data set."""

Data = Mapping[str, Any]
"""What the settings say of a data set, as plain values."""


def locate(
    data: Data,
    painted: Mapping[str, str],
    archives: PathLike,
    class_counts: PathLike | None = None,
    *,
    wants_words: bool = False,
) -> dict[str, object]:
    """Return where images are: where code has just painted them, and other paintings go, else in place or fetched."""
    if painted:
        remove_other_paintings(painted["root"])
        return {"kind": data["kind"], **painted}
    return {"kind": data["kind"], **obtain(data, load_archives(archives), class_counts, wants_words=wants_words)}


def obtain(
    data: Data, archives: Mapping[str, Archive], class_counts: PathLike | None = None, *, wants_words: bool = False
) -> dict[str, str]:
    """Return where the parts of a data set are; what is missing is fetched."""
    if missing := _what_is_missing(data):
        raise LookalikeError(f"the data set is not in place: {missing}")
    if data["kind"] in _OWN:
        places = {"root": data["path"], "ground_truth": data.get("ground_truth")}
        return {what: Path(place).as_posix() for what, place in places.items() if place}
    parts = _parts(data, archives, wants_words)
    return {what: _obtain_archive(archive, data, class_counts).as_posix() for what, archive in parts.items()}


def why_not_obtainable(
    data: Data, archives: Mapping[str, Archive], class_counts: PathLike | None = None, *, wants_words: bool = False
) -> str:
    """Return why a data set cannot be had now, as a ``not run: ...`` sentence; empty where it can, or code makes it."""
    parts = _parts(data, archives, wants_words).values()
    reasons = [_what_is_missing(data), *(_why_not(archive, data, class_counts) for archive in parts)]
    return f"not run: {', and '.join(filter(None, reasons))}" if any(reasons) else ""


def absent_archives(data: Data, archives: Mapping[str, Archive], *, wants_words: bool = False) -> list[Archive]:
    """Return the archives of a data set of which neither the file nor the folder is in place."""
    parts = _parts(data, archives, wants_words).values()
    return [archive for archive in parts if not any(_in_place(archive, data["path"])[1:])]


def _parts(data: Data, archives: Mapping[str, Archive], wants_words: bool) -> dict[str, Archive]:
    """Return the archives that a data set is made of, in the order in which they are obtained."""
    names = {"root": "caltech256"} if data["kind"] == "caltech256" else {}
    if data["kind"] == "oxford5k":
        # the ground truth comes first: if it is wrong, that shows before two gigabytes are fetched
        names = {"ground_truth": "oxford5k_ground_truth", "root": "oxford5k_images"}
        names |= {"words": "oxford5k_words"} if wants_words else {}
    return {what: archives[name] for what, name in names.items()}


def _obtain_archive(archive: Archive, data: Data, class_counts: PathLike | None) -> Path:
    """Return the folder of an archive, which is fetched and unpacked unless it is there."""
    folder = data["path"]
    named, root, file = _in_place(archive, folder)
    if root is None:
        if not data["fetch"] and file is None:
            why = f"{archive.name} is not in place and may not be downloaded (fetch: false)"
            raise LookalikeError(f"{why}: {archive.put_in_place(folder)}")
        root = unpack_archive(named, fetch_archive(named, folder), Path(folder, named.top_folder))
    if lack := _what_root_lacks(root, archive, class_counts, data.get("classes")):
        raise LookalikeError(lack)
    return root


def _why_not(archive: Archive, data: Data, class_counts: PathLike | None) -> str:
    """Return why `_obtain_archive` would fail, as far as is known without reading a file; "" where it would not."""
    put_in_place = archive.put_in_place(data["path"])
    _, root, file = _in_place(archive, data["path"])
    if root is not None:
        return _what_root_lacks(root, archive, class_counts, data.get("classes"))
    if file is None or not file.is_file():
        return "" if data["fetch"] and is_reachable(archive) else put_in_place
    if archive.size in (None, size := file.stat().st_size):
        return ""
    return f"{file} has {size:,} bytes instead of {archive.size:,}; {put_in_place}"


def _what_is_missing(data: Data) -> str:
    """Return what of a user's own data set is not there, as the rest of a sentence; empty if all is."""
    kind, truth = data["kind"], data.get("ground_truth")
    if kind in _OWN and not Path(data["path"]).is_dir():
        return f"put {_OWN[kind]} at {data['path']}"
    if kind == "landmarks" and truth and not landmarks_of(truth):
        return f"put a folder of ground-truth files (<landmark>_<n>_query.txt, _good, _ok, _junk) at {truth}"
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


def _what_root_lacks(
    root: Path, archive: Archive, class_counts: PathLike | None, classes: Collection[str] | None
) -> str:
    """Return why a folder with the archive's name is only a part of it, as a sentence; "" where it is not.

    Given `classes`, it is a part without one of these; a user who names them may have fewer images of each.
    """
    instead = f"complete it, or move it away and {archive.put_in_place(root.parent)}"
    if archive.files and (n_files := count_files(root.resolve())) < archive.files:
        return f"{root} holds {n_files:,} of {archive.name}'s {archive.files:,} files: {instead}"
    if class_counts is None:
        return ""
    images = pd.read_csv(class_counts, index_col="folder")["images"]
    if unknown := sorted({*(classes or ())} - {*images.index}):
        return f"{archive.name} has no class folder {unknown[0]}: name one of those in {class_counts}"
    found = pd.Series({name: count_files(root / name) for name in classes or images.index})
    if classes:
        absent = ", ".join(found.index[found == 0])
        return f"{root} holds no image of {absent}: {instead}" if absent else ""
    for first in images.index[found < images][:1]:
        return (
            f"{root} holds {(found > 0).sum():,} of {archive.name}'s {len(images):,} class folders and "
            f"{found.clip(upper=images).sum():,} of its {images.sum():,} images (the first that lacks some is {first}, "
            f"{found[first]:,} of {images[first]:,}): {instead}, or name the classes that are there under `classes` of "
            "the data set (examples/caltech256-subset.yaml)"
        )
    return ""


def remove_other_paintings(folder: PathLike) -> None:
    """Delete what other settings and killed runs left beside ``.../images/<fingerprint>``, and its ground truth."""
    kept = Path(os.path.abspath(folder))
    if kept.parent.name != "images" or not kept.is_dir():
        raise LookalikeError(f"{folder} is not a folder of painted images: nothing beside it was deleted; paint again")
    for other in (*kept.parent.glob("*"), *painted_truth(kept).parent.glob("*")):
        if other.name != kept.name and other.is_dir() and not other.is_symlink():
            shutil.rmtree(other, ignore_errors=True)


def listing_fingerprint(root: PathLike) -> str:
    """Hash names, sizes and times below a folder, "" if none: a user's own is scanned again once an image changes."""
    lines = []
    for folder, subfolders, names in walk(Path(root)):
        inside = os.path.relpath(folder, root)
        lines += [f"{inside}/{name}/" for name in subfolders]
        for name in names:
            facts = stamp_of(os.path.join(folder, name))[:2]  # none of a file that is gone, or a dangling link
            lines.append("\t".join([f"{inside}/{name}", *map(str, facts or "-")]))
    listing = "\n".join(sorted(lines)).encode("utf-8", "surrogateescape")
    return hashlib.sha256(listing).hexdigest()[:16] if lines else ""
