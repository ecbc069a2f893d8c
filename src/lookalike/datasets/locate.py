"""Where a data set's images are on this machine: put in place by the user, or fetched, verified and unpacked now."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from lookalike.datasets.fetch import fetch_archive, put_in_place, unpacked_folder
from lookalike.datasets.sources import Archive
from lookalike.errors import LookalikeError

MAX_MEMBERS = 100_000
"""Files and folders that an archive may unpack to; Caltech-256 has about 31,000."""


def obtain(archive: Archive, folder: str | os.PathLike[str], *, may_download: bool = True) -> dict[str, Any]:
    """Return where the unpacked archive is, after fetching, verifying and unpacking whatever is missing.

    Parameters
    ----------
    archive : Archive
        What to obtain.
    folder : str or path-like
        Where the user puts the archive or its unpacked top folder, and where a download goes.
    may_download : bool
        Whether to use the network when neither is there.

    Returns
    -------
    dict
        ``root``, the folder of class folders, and if it was unpacked just now the ``archive`` and its ``md5``; the
        SHA-256 is recorded in the JSON file beside the archive.

    Raises
    ------
    LookalikeError
        When it is not there and cannot be fetched, or is not the published archive.
    """
    from lookalike.datasets.unpack import unpack_tar

    root = unpacked_folder(archive, folder)
    if root is not None:
        return {"root": root.as_posix()}
    file = os.path.join(folder, archive.filename)
    if not may_download and not os.path.exists(file):
        raise LookalikeError(
            f"{archive.name} is not in place and may not be downloaded (fetch: false): "
            f"{put_in_place(archive, folder)}, from {archive.url}"
        )
    path = fetch_archive(archive, folder)
    root = unpack_tar(
        path,
        os.path.join(folder, archive.top_folder),
        max_bytes=2 * archive.size,
        max_members=MAX_MEMBERS,
        top_folder=archive.top_folder,
    )
    return {"root": root.as_posix(), "archive": archive.filename, "md5": archive.md5}


def listing_fingerprint(root: str | os.PathLike[str]) -> str:
    """Return a short hash of the names and sizes of all files below a folder; empty where there is no folder.

    Cheap enough for planning, so that a folder of a user's own is scanned again once an image comes or goes.
    """
    lines = []
    for folder, _, files in os.walk(root):
        for file in files:
            path = os.path.join(folder, file)
            size = os.stat(path).st_size if os.path.exists(path) else -1
            lines.append(f"{os.path.relpath(path, root)}\t{size}")
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16] if lines else ""
