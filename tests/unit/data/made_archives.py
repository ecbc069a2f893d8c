"""Tar files made in a test."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

Member = tuple[tarfile.TarInfo, bytes]


def member(name: str, content: bytes = b"content", **fields: object) -> Member:
    """A file of an archive, or whatever else its `fields` make of it."""
    info = tarfile.TarInfo(name)
    for key, value in {"size": len(content), **fields}.items():
        setattr(info, key, value)
    return info, content


def make_tar(path: Path, *members: Member, mode: str = "w") -> Path:
    """Write a tar file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return path
