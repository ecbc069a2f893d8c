"""Unpacking a tar archive that we did not make: bounded, confined to its folder, and whole or not at all."""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib
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
) -> Path:
    """Unpack a tar archive, plain or compressed, to a new folder and return that.

    The members go to ``.<target>.unpacking`` beside `target`, which is renamed at the end: a `target` that exists is
    complete. What a killed run left behind is removed first. `target` is the one folder that holds everything in the
    archive, which must be called `top_folder` if that is given; else it is made around the members.

    Raises
    ------
    LookalikeError
        When a member would leave `target` or is neither file nor folder, a bound is passed, the archive is damaged, or
        `target` already holds something. Nothing is left behind then.
    """
    name, target = Path(archive_path), Path(target)
    staging = target.with_name(f".{target.name}.unpacking")
    try:
        _make_empty(target, staging)
    except OSError as error:
        raise LookalikeError(f"cannot make {target}: {error.strerror or error}; mend the permissions there") from error
    try:
        with tarfile.open(name, "r:*") as archive:
            _extract(archive, name, staging, max_bytes, max_members)
        found = os.listdir(staging)
        is_one = len(found) == 1 and (staging / found[0]).is_dir()
        if top_folder is not None and not (is_one and found == [top_folder]):
            raise LookalikeError(f"{name} does not hold the one folder {top_folder}; get a good copy of it")
        os.rename(staging / found[0] if is_one else staging, target)
    except (tarfile.TarError, EOFError, zlib.error, LZMAError, UnicodeError) as error:
        raise LookalikeError(f"{name} is damaged or no tar archive ({error}); get a good copy of it") from error
    except OSError as error:
        raise LookalikeError(f"cannot unpack {name} to {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _make_empty(target: Path, staging: Path) -> None:
    """Make a fresh staging folder, after checking that nothing stands at `target`."""
    if target.is_dir() and not any(target.iterdir()):
        target.rmdir()
    if target.exists():
        raise LookalikeError(f"{target} already exists and is not empty: move it away before unpacking to it")
    if staging.exists():
        shutil.rmtree(staging)
    staging.mkdir(parents=True)


def _extract(archive: tarfile.TarFile, name: Path, folder: Path, max_bytes: int, max_members: int) -> None:
    """Extract member by member, each checked before a byte of it is written."""
    total = 0
    for number, member in enumerate(archive, start=1):
        total += member.size
        if number > max_members:
            raise LookalikeError(f"{name} has more than {max_members:,} members: it is not the archive it should be")
        if total > max_bytes:
            raise LookalikeError(
                f"{name} would unpack to more than {max_bytes:,} bytes (at {member.name}): "
                "it is not the archive it should be"
            )
        if problem := _danger_of(member):
            raise LookalikeError(f"{name} is not safe to unpack: {member.name!r} {problem}")
        archive.extract(member, folder, filter="data")


def _danger_of(member: tarfile.TarInfo) -> str:
    """Why a member is refused: the filter of the standard library would let links and renamed roots pass."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        return "leads out of the folder"
    if member.issym() or member.islnk():
        return f"is a link to {member.linkname!r}"
    return "" if member.isreg() or member.isdir() else "is neither file nor folder"
