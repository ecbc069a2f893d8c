"""Which images a user means: a folder of class folders, any folder, or a table with the folder it names.

What is wrong with an image is found here, once, and kept as a reason; only a folder without any usable image is an
error. The rows that come out are in the order of their paths, so that nothing later depends on the file system.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.own_images.image_set import COLUMNS, MIN_SIDE, ImageSet, Progress, distinct, with_reasons
from lookalike.own_images.tables import Table, read_labels, read_triplets

if TYPE_CHECKING:
    import pandas as pd


def read_source(
    folder: str | os.PathLike[str],
    labels: Table | None = None,
    triplets: Table | None = None,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> ImageSet:
    """Read images with their triplets or labels, of tables or of class folders; parameters as of the readers below."""
    how: dict[str, Any] = {"n_threads": n_threads, "progress": progress}
    if labels is not None and triplets is not None:
        raise LookalikeError("labels and triplets cannot be learned from at once: give one of the two")
    if triplets is not None:
        return read_triplets(folder, triplets, **how)
    return read_class_folders(folder, **how) if labels is None else read_labels(folder, labels, **how)


def read_images(folder: str | os.PathLike[str], *, n_threads: int = 1, progress: Progress | None = None) -> ImageSet:
    """Read images that lie anywhere in a folder; the folder that one lies in, seen from the top, is its label.

    Parameters
    ----------
    folder : path-like
    n_threads : int, default=1
        Images that are read at a time; the result does not depend on it.
    progress : callable, optional
        Called with the number of files done and of all.

    Returns
    -------
    ImageSet
        Copies of one file are kept, each a row.

    Raises
    ------
    LookalikeError
        When there is no such folder, or no image in it that can be read.
    """
    from lookalike.datasets.scan import scan_photographs

    with _links_told(Path(folder)):
        found = scan_photographs(folder, n_threads=n_threads, progress=progress)
    found["label"] = [path.split("/")[0] if "/" in path else "" for path in found["path"]]
    return _from_manifest(Path(folder), found)


def read_class_folders(
    folder: str | os.PathLike[str], *, n_threads: int = 1, progress: Progress | None = None
) -> ImageSet:
    """Read a folder that holds one folder of images per class.

    Parameters
    ----------
    folder, n_threads, progress
        As of `read_images`.

    Returns
    -------
    ImageSet
        A file that is there twice is one image; one that lies in two classes is left out.

    Raises
    ------
    LookalikeError
        When there is no such folder, it holds no class folders, or no image can be read.
    """
    from lookalike.datasets.scan import scan_folder

    with _links_told(Path(folder)):
        found = scan_folder(folder, clutter_labels=(), n_threads=n_threads, progress=progress)
    return distinct(_from_manifest(Path(folder), found))


def _from_manifest(root: Path, manifest: pd.DataFrame) -> ImageSet:
    """Take the usable rows of a manifest: `visterms` enlarges those that are too small for its pyramid."""
    sides = manifest[["width", "height"]].min(axis=1)
    usable = (manifest["status"] == "ok") | ((manifest["status"] == "too_small") & (sides >= MIN_SIDE))
    if not usable.any():
        raise LookalikeError(
            f"{root} holds no image of at least {MIN_SIDE} x {MIN_SIDE} pixels: give a folder of photographs"
        )
    images = manifest.loc[usable, list(COLUMNS)].reset_index(drop=True)
    others = manifest[~usable & (manifest["reason"] != "hidden")]
    return ImageSet(root, images, with_reasons(others[["path", "reason"]].itertuples(index=False, name=None)))


@contextmanager
def _links_told(root: Path) -> Iterator[None]:
    """Where a scan finds nothing, say so of links that it has not followed: they look like the images they lead to."""
    try:
        yield
    except LookalikeError as error:
        links, files = _count_links(root)
        if not links:
            raise
        if files:
            raise LookalikeError(f"{error} ({links:,} links in it are not followed)") from error
        raise LookalikeError(
            f"{root} holds links and no file of its own, and links inside a folder are not followed: copy or move the "
            "images themselves there"
        ) from error


def _count_links(root: Path) -> tuple[int, int]:
    """Return how many links and how many other files a folder holds at any depth, hidden ones not counted."""
    links = files = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        names = [name for name in names if not name.startswith(".")]
        linked = [os.path.islink(os.path.join(folder, name)) for name in names]
        links += sum(linked) + sum(os.path.islink(os.path.join(folder, name)) for name in folders)
        files += len(linked) - sum(linked)
    return links, files
