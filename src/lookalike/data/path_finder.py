"""Which files a folder holds, and which of them a path in a table means: tables come from other machines and by hand.

Slashes, case, blanks, quotes and the two ways to write an accent (NFC and NFD) may differ, and folders may stand in
front. In a user's own table a guess must be sure (`locate`); in a release what is likely is taken (`PathFinder.find`).
"""

from __future__ import annotations

import os
import unicodedata
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from lookalike.core.errors import LookalikeError

_LETTERS = ("q", "p", "n")
_MADE_BY_SYSTEMS = {"__macosx", "$recycle.bin", "recycler", "#recycle", "@eadir", "lost+found", ".trashes"}
_MADE_BY_SYSTEMS |= {"system volume information", ".spotlight-v100", ".fseventsd"}
_MADE_BY_SYSTEMS |= {"thumbs", "_thumbs", ".thumbs", "thumbnails", "_thumbnails", ".thumbnails"}


def is_made_by_system(folder: str) -> bool:
    """Tell by its name whether a system, a zip program or a gallery makes a folder, for trash or thumbnails."""
    return folder.casefold() in _MADE_BY_SYSTEMS


def is_hidden(path: str) -> bool:
    """Return whether a path below a folder, or a folder on the way to it, begins with a dot."""
    return "/." in f"/{path}"


def walk(root: Path, onerror: Callable[[OSError], object] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk like `os.walk`, through links too; folders that are not gone into stand among the files.

    These are the folders of systems, hidden links, links to a folder that they lie in, and what is out of reach.
    """
    ways: dict[str, set[tuple[int, int]]] = {}  # of folders that are still to come
    for folder, subfolders, names in os.walk(root, onerror=onerror, followlinks=True):
        way = ways.pop(folder, _identity(folder))
        for name in list(subfolders):
            path = os.path.join(folder, name)
            here, is_link = _identity(path), os.path.islink(path)
            hidden = is_link and is_hidden(os.path.relpath(path, root))
            if hidden or here <= way or is_made_by_system(name):
                subfolders.remove(name)
                names.append(name)
            else:
                ways[path] = way | here
        yield folder, subfolders, names


def files_below(root: Path, *, strict: bool = False) -> list[str]:
    """List everything below a folder that is no folder, or one that `walk` does not go into, with forward slashes.

    In a `strict` list a folder that cannot be listed is an error, and a warning says how many links were followed.
    """

    def refuse(error: OSError) -> None:
        raise LookalikeError(f"cannot list {error.filename}: {error.strerror}; mend its permissions") from error

    found, n_links = list[str](), 0
    for folder, subfolders, names in walk(root, refuse if strict else None):
        inside = os.path.relpath(folder, root)
        found += names if inside == os.curdir else [f"{inside}/{name}" for name in names]
        if strict:
            files, folders = ([os.path.join(folder, name) for name in part] for part in (names, subfolders))
            n_links += sum(map(os.path.islink, [*folders, *filter(os.path.isfile, files)]))
    if n_links:
        warnings.warn(f"followed {n_links:,} {'links' if n_links > 1 else 'link'} in {root}", stacklevel=3)
    return found


def _identity(folder: str) -> set[tuple[int, int]]:
    """Return device and inode of a folder, which every way to it has in common; none of one out of reach."""
    with suppress(OSError):
        facts = os.stat(folder)
        return {(facts.st_dev, facts.st_ino)}
    return set()


def locate(
    root: Path, texts: Iterable[str], *, only_inside: bool = False
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the path from a folder that each text means, and (text, reason) of those that mean none or several.

    What exists as it is written is taken; a guess is always below the folder, and so are files with `only_inside`,
    wherever a link leads.
    """
    found, lost = {}, []
    finder = cache(lambda: PathFinder(files_below(root), root.resolve().name))  # for the first that is not there
    for text in dict.fromkeys(texts):
        try:
            path = _as_written(root, text) or finder().named(text)
            if only_inside and not Path(os.path.realpath(root / path)).is_relative_to(os.path.realpath(root)):
                raise LookalikeError(f"it lies outside {root}")
            found[text] = path
        except LookalikeError as error:
            lost.append((text, str(error)))
    return found, lost


def escaped_path(path: str) -> str:
    """Return a path with the bytes escaped that are not valid UTF-8, which no table can hold."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def path_parts(text: str) -> list[str]:
    """Split a path of any system into its parts, without drive, root, ``.`` and ``..``."""
    parts: list[str] = []
    for part in text.strip().strip("\"'").replace("\\", "/").split("/"):
        part = part.strip()
        if part == "..":
            del parts[-1:]
        elif part not in ("", ".") and not (len(part) == 2 and part[1] == ":"):
            parts.append(part)
    return parts


class PathFinder:
    """Finds the files of a folder (relative, with forward slashes) by what tables call them."""

    def __init__(self, files: Iterable[str], folder: str = "") -> None:
        self._folder = _plain(folder)
        self._by_tail: defaultdict[str, list[str]] = defaultdict(list)
        for file in sorted(path for path in files if escaped_path(path) == path):  # no table can name another
            for tail in _tails(file.split("/")):
                self._by_tail[tail].append(file)

    def find(self, text: str, *, folder: str = "", names: Iterable[str] = (), letter: str = "") -> str | None:
        """Return the file that a path in a CSV file of a `folder` means, or None where none does or several may."""
        parts = path_parts(text)
        # below the release, below the CSV file, by its last parts anywhere, in the public layout: <name>/{Q,P,N}.jpg
        keys = []
        if parts:
            whole, *tails = _tails(parts)
            keys = [whole, _tails([*filter(None, folder.split("/")), *parts])[0], *tails[:-1]]
        for last in (last for name in names for last in path_parts(name)[-1:]):
            keys += [f"{_plain(last)}/{letter}", f"{_stem(last)}/{letter}"]
        if len(parts) == 1 and _stem(parts[0]) not in _LETTERS:  # names of too many in the public release
            keys.append(_stem(parts[0]))
        return next(filter(None, (_likest(self._by_tail.get(key, []), parts) for key in keys)), None)

    def named(self, text: str) -> str:
        """Return the only file whose whole path a text spells in some way, if need be below the folder's own name."""
        parts = path_parts(text)
        below = [parts[place + 1 :] for place, part in enumerate(parts[:-1]) if _plain(part) == self._folder]
        for rest in filter(None, [parts, *below]):
            alike = [file for file in self._by_tail.get(_tails(rest)[0], []) if _plain(file) == _plain("/".join(rest))]
            exact = [file for file in alike if file == "/".join(rest)] or alike
            if len(exact) > 1:
                raise LookalikeError(f"it may be {' or '.join(exact)}: write the one that is meant")
            if exact:
                return exact[0]
        near = self.find(text)
        raise LookalikeError("there is no such file" + (f"; {near} may be meant: write that" if near else ""))


def _as_written(root: Path, text: str) -> str | None:
    """Return the path of what exists under this very name, from the folder if it is below it; None for nothing."""
    for path in (os.path.normpath(text), text):
        if not os.path.exists(root / path):
            continue
        bases = (root.absolute(), root.resolve()) if os.path.isabs(path) else ()
        inside = next((Path(path).relative_to(base) for base in bases if Path(path).is_relative_to(base)), Path(path))
        return inside.as_posix()
    return None


def _tails(parts: Sequence[str]) -> list[str]:
    """Return the whole path, marked as such, and its trailing parts from the longest on, without extension and case."""
    folders, stem = [_plain(part) for part in parts[:-1]], _stem(parts[-1])
    tails = ["/".join([*folders[first:], stem]) for first in range(len(parts))]
    return [f"/{tails[0]}", *tails]


def _likest(files: list[str], parts: list[str]) -> str | None:
    """Return the only one of files that are alike without case and extension, or the one that has those of the path."""
    name, path = f"/{(parts or [''])[-1]}", "/".join(["", *parts])
    named = [file for file in files if _plain(f"/{file}").endswith(_plain(name))]
    exact = [file for file in files if f"/{file}".endswith(name)]
    whole = [file for file in files if f"/{file}".endswith(path)]
    return next((alike[0] for alike in (files, named, exact, whole) if len(alike) == 1), None)


def _plain(path: str) -> str:
    """Spell accents and case in one way, and parts without the blanks around them."""
    return "/".join(part.strip() for part in unicodedata.normalize("NFC", path).casefold().split("/"))


def _stem(name: str) -> str:
    """Name without its extension, in plain letters."""
    plain = _plain(name)
    stem, dot, _ = plain.rpartition(".")
    return stem if dot and stem else plain
