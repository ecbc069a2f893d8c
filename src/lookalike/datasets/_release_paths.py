"""What a path in a release's CSV file leads to, although the file was written on another machine.

A path is taken below the release's folder first, then by its trailing parts wherever the release has files, with or
without the same extension, and last by the layout of the public release: ``<name of the triplet>/{Q,P,N}.jpg``.
"""

from __future__ import annotations

from collections.abc import Iterable

_LETTERS = ("q", "p", "n")


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
    """Finds the files of a release by what its CSV files call them.

    Parameters
    ----------
    files : iterable of str
        Paths relative to the release's folder, with forward slashes.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._files: set[str] = set()
        self._by_case: dict[str, list[str]] = {}
        self._by_tail: dict[tuple[str, str], list[str]] = {}
        self._by_stem: dict[str, list[str]] = {}
        for file in files:
            parts = file.split("/")
            stem = _stem(parts[-1])
            self._files.add(file)
            self._by_case.setdefault(file.casefold(), []).append(file)
            self._by_stem.setdefault(stem, []).append(file)
            if len(parts) > 1:
                self._by_tail.setdefault((parts[-2].casefold(), stem), []).append(file)

    def find(self, text: str, *, folder: str = "", names: Iterable[str] = (), letter: str = "") -> str | None:
        """Return the file that a path means, or None where none does or several may.

        Parameters
        ----------
        text : str
            The path as the CSV file has it.
        folder : str
            Folder of the CSV file, relative to the release's; "" for that itself.
        names : iterable of str
            Names that the folder of the triplet may have.
        letter : {"", "q", "p", "n"}
            Which of the triplet's files it is in the layout of the public release.
        """
        parts = path_parts(text)
        return (
            (self._exact(parts, folder) or self._by_trailing_parts(parts) if parts else None)
            or self._by_letter(names, letter)
            or (self._by_name(parts[-1]) if len(parts) == 1 else None)
        )

    def _exact(self, parts: list[str], folder: str) -> str | None:
        """The file at that place below the release's folder or the CSV file's, in any case of letters."""
        path = "/".join(parts)
        for place in (path, f"{folder}/{path}" if folder else path):
            if place in self._files:
                return place
            alike = self._by_case.get(place.casefold(), [])
            if len(alike) == 1:
                return alike[0]
        return None

    def _by_trailing_parts(self, parts: list[str]) -> str | None:
        """The file that shares the most trailing parts with the path, two at least."""
        if len(parts) < 2:
            return None
        candidates = self._by_tail.get((parts[-2].casefold(), _stem(parts[-1])), [])
        ranked = sorted(((_likeness(parts, file.split("/")), file) for file in candidates), reverse=True)
        if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
            return None
        return ranked[0][1]

    def _by_letter(self, names: Iterable[str], letter: str) -> str | None:
        """The file of that letter in the folder of that name."""
        if letter not in _LETTERS:
            return None
        for name in names:
            last = path_parts(name)[-1:]
            for folder in {part.casefold(): None for part in (*last, *(_stem(part) for part in last))}:
                files = self._by_tail.get((folder, letter), [])
                if len(files) == 1:
                    return files[0]
        return None

    def _by_name(self, name: str) -> str | None:
        """The only file of that name; the letters of the public release are names of too many."""
        stem = _stem(name)
        files = self._by_stem.get(stem, [])
        return files[0] if len(files) == 1 and stem not in _LETTERS else None


def _stem(name: str) -> str:
    """Name without its extension, in one case of letters."""
    stem, dot, _ = name.casefold().rpartition(".")
    return stem if dot and stem else name.casefold()


def _likeness(wanted: list[str], found: list[str]) -> tuple[int, bool, bool]:
    """How many trailing folders agree, whether the names agree with their extensions, and letter by letter."""
    shared = 0
    for left, right in zip(reversed(wanted[:-1]), reversed(found[:-1]), strict=False):
        if left.casefold() != right.casefold():
            break
        shared += 1
    return shared, wanted[-1].casefold() == found[-1].casefold(), wanted[-1] == found[-1]
