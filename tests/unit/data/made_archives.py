"""Tar files made in a test."""

import io
import tarfile


def member(name, content=b"content", **fields):
    """A file of an archive, or whatever else its `fields` make of it."""
    info = tarfile.TarInfo(name)
    for key, value in {"size": len(content), **fields}.items():
        setattr(info, key, value)
    return info, content


def make_tar(path, *members, mode="w"):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            has_content = len(content) == info.size
            archive.addfile(info, io.BytesIO(content) if has_content else None)
    return path
