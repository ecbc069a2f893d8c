"""Unpacking a tar archive that we did not make: bounded, confined to its folder, and whole or not at all."""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from lookalike.core.errors import LookalikeError


def unpack_tar(
    archive_path: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    max_bytes: int,
    max_members: int,
    top_folder: str | None = None,
    flat: bool = False,
) -> Path:
    """Unpack a tar archive (plain or compressed) to a new folder.

    The members go to ``.<target>.unpacking`` beside `target`, which is renamed at the end: a `target` that exists is
    complete. What a killed run left behind is removed first.

    Parameters
    ----------
    archive_path : str or path-like
        The archive: .tar, .tgz, .tar.bz2 or .tar.xz.
    target : str or path-like
        The folder to make; it must not exist or be empty.
    max_bytes : int
        Most bytes that all files together may take.
    max_members : int
        Most members (files and folders) that the archive may have.
    top_folder : str, optional
        The one folder that the archive unpacks to; it becomes `target` itself. By default everything goes into
        `target`.
    flat : bool
        Everything goes into `target`, unless the archive does have one folder around it all, of any name: that becomes
        `target` itself. Not together with `top_folder`.

    Returns
    -------
    Path
        `target`.

    Raises
    ------
    LookalikeError
        When a member would leave `target` or is neither file nor folder, when a bound is passed, when the archive is
        damaged, or when `target` already holds something. Nothing is left behind then.
    """
    archive_path, target = Path(archive_path), Path(target)
    with _staging(target) as staging:
        try:
            with tarfile.open(archive_path, "r:*") as archive:
                _extract(archive, archive_path, staging, max_bytes=max_bytes, max_members=max_members)
        except (tarfile.TarError, EOFError, zlib.error, LZMAError, UnicodeError) as error:
            raise LookalikeError(
                f"{archive_path} is damaged or no tar archive ({error}); get a good copy of it"
            ) from error
        except OSError as error:
            raise LookalikeError(f"cannot unpack {archive_path} to {target}: {error.strerror or error}") from error
        if flat:
            top_folder = _lone_folder(staging)
        whole = staging if top_folder is None else staging / top_folder
        if not whole.is_dir() or (top_folder is not None and os.listdir(staging) != [top_folder]):
            raise LookalikeError(f"{archive_path} does not hold the one folder {top_folder}; get a good copy of it")
        os.rename(whole, target)
    return target


def _lone_folder(folder: Path) -> str | None:
    """Name of the one folder that holds everything in `folder`, or None."""
    names = os.listdir(folder)
    return names[0] if len(names) == 1 and (folder / names[0]).is_dir() else None


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """Yield a fresh folder beside `target` that is gone afterwards, whatever happens."""
    staging = target.with_name(f".{target.name}.unpacking")
    try:
        if target.is_dir() and not any(target.iterdir()):
            target.rmdir()
        if target.exists():
            raise LookalikeError(f"{target} already exists and is not empty: move it away before unpacking to it")
        if staging.exists():
            shutil.rmtree(staging)
        staging.mkdir(parents=True)
    except OSError as error:
        raise LookalikeError(f"cannot make {target}: {error.strerror or error}; mend the permissions there") from error
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _extract(archive: tarfile.TarFile, name: Path, folder: Path, *, max_bytes: int, max_members: int) -> None:
    """Extract member by member, each checked before a byte of it is written."""
    total = 0
    for number, member in enumerate(archive, start=1):
        if number > max_members:
            raise LookalikeError(f"{name} has more than {max_members:,} members: it is not the archive it should be")
        total += member.size
        if total > max_bytes:
            raise LookalikeError(
                f"{name} would unpack to more than {max_bytes:,} bytes (at {member.name}): "
                "it is not the archive it should be"
            )
        _check_member(member, name)
        archive.extract(member, folder, filter="data")


def _check_member(member: tarfile.TarInfo, name: Path) -> None:
    """Refuse what could write outside the folder, or is neither file nor folder."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        raise LookalikeError(f"{name} is not safe to unpack: {member.name!r} leads out of the folder")
    if member.issym() or member.islnk():
        raise LookalikeError(f"{name} is not safe to unpack: {member.name!r} is a link to {member.linkname!r}")
    if not (member.isreg() or member.isdir()):
        raise LookalikeError(f"{name} is not safe to unpack: {member.name!r} is neither file nor folder")
