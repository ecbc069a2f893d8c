"""Files of a release of rated triplets: its CSV files as tables, the files that their paths mean, and a tally.

People edit such files with spreadsheets on machines of their own, so the spelling of the columns, the separator, the
encoding and the folders are guessed. What cannot be used is counted, with one example, and passed over.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError

_SEPARATORS = (",", ";", "\t")
_COLUMNS = {
    "image1path": "path1",
    "image2path": "path2",
    "similarity": "similarity",
    "image1": "name1",
    "image2": "name2",
    "textquery": "text_query",
    "kind": "kind",
    "triplet": "triplet",
}
"""Columns of ratings as `column_key` spells them; a file of ratings has the first three at least."""
_KINDS = {"inclass": "in-class", "outofclass": "out-of-class"}
_LETTERS = ("q", "p", "n")
_MAX_EXAMPLE = 300


class Rejections:
    """Tally of what could not be used: a reason, how many rows or files, and the first of them in order of text."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, str, int]] = []

    def add(self, reason: str, examples: Iterable[str], rows: int | Iterable[int] = 1) -> None:
        """Count under a reason, each example for so many rows or files."""
        listed = list(examples)
        counts = [rows] * len(listed) if isinstance(rows, int) else list(rows)
        self._entries += [(reason, example, int(n)) for example, n in zip(listed, counts, strict=True)]

    def table(self) -> pd.DataFrame:
        """Return ``reason``, ``rows`` int32 and ``example``, sorted by reason."""
        entries = pd.DataFrame(self._entries, columns=["reason", "example", "rows"])
        # not the first met but the first by name: the table then does not depend on the order of rows
        table = entries.groupby("reason", as_index=False).agg(rows=("rows", "sum"), example=("example", "min"))
        table = table.astype({"reason": "str", "rows": "int32", "example": "str"})
        return table.assign(example=table["example"].str[:_MAX_EXAMPLE])

    def summary(self) -> str:
        """Return the tally in words, "" where nothing was rejected."""
        return ", ".join(f"{row.reason} ({row.rows})" for row in self.table().itertuples())


def read_ratings(root: Path, rejections: Rejections) -> pd.DataFrame:
    """Read the rows of every CSV file below a folder that has the columns of rated triplets, by file, then by line.

    Returns
    -------
    DataFrame
        ``file`` (the CSV file), ``name1``, ``path1``, ``name2``, ``path2``, ``sign`` (1 where the two images are rated
        alike, else -1), ``text_query``, ``kind``, ``triplet`` ("" where the column is not there), ``other`` (the second
        image as written), ``example`` (the row as the table of rejections shows it: without its line, as rows may come
        in any order).
    """
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        raise LookalikeError(f"the folder of rated triplets {root} {what}: give the folder that holds their CSV file")
    tables = []
    for file in _csv_files(root):
        table = read_columns(root / file, list(_COLUMNS)[:3], list(_COLUMNS)[3:])
        if isinstance(table, str):
            rejections.add(table, [file])
        else:
            tables.append(table.rename(columns=_COLUMNS).assign(file=file))
    if not tables:
        raise LookalikeError(
            f"{root} holds no CSV file with the columns Image1, Image1_Path, Image2, Image2_Path, Similarity and Text "
            "Query: put the ratings there"
        )
    rows = pd.concat(tables, ignore_index=True)
    rows["text_query"] = rows["text_query"].map(clean_query)
    rows["kind"] = [_KINDS.get(column_key(kind), "rated") for kind in rows["kind"]]
    # a minus sign that word processors put for the hyphen
    rating = pd.to_numeric(rows["similarity"].str.replace("\u2212", "-"), errors="coerce")
    rows["sign"] = np.where(rating.isin([1, -1]), rating, 0).astype(np.int64)
    one, rows["other"] = (rows[f"path{i}"].where(rows[f"path{i}"] != "", rows[f"name{i}"]) for i in (1, 2))
    rows["example"] = rows["file"] + ": " + one + " | " + rows["other"] + " | " + rows["text_query"]
    lacks_image = (one == "") | (rows["other"] == "")
    lacks_rating = ~lacks_image & (rows["sign"] == 0)
    rejections.add("row without two images", rows.loc[lacks_image, "example"])
    unrated = rows[lacks_rating]
    rejections.add("similarity is neither 1 nor -1", unrated["example"] + " | " + unrated["similarity"].map(repr))
    return rows[~lacks_image & ~lacks_rating].reset_index(drop=True)


def read_columns(path: Path, needed: Sequence[str], others: Sequence[str] = ()) -> pd.DataFrame | str:
    """Read named columns of a CSV file, tolerant of spelling, separator and encoding; else return why it is none.

    Columns are named as `column_key` spells them. Values are stripped, "" where a row is too short or one of the
    `others` is lacking.
    """
    try:
        text = _decode(path.read_bytes())
        for separator in _SEPARATORS:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            lines = [[cell.strip() for cell in cells] for cells in reader]
            lines = [cells for cells in lines if any(cells)]
            header = [column_key(cell) for cell in lines[0]] if lines else []
            if set(needed) <= set(header):
                columns = {name: _column(lines[1:], header, name) for name in (*needed, *others)}
                return pd.DataFrame(columns, dtype="str")
    except (OSError, csv.Error):
        return "CSV that cannot be read"
    return "CSV without the columns of ratings"


def column_key(name: str) -> str:
    """Spell a column or a text query so that case, blanks and punctuation do not matter."""
    return re.sub(r"[\W_]+", "", name.casefold())


def clean_query(text: str) -> str:
    """Return a text query with its blanks collapsed."""
    return " ".join(text.split())


def _csv_files(root: Path) -> list[str]:
    """CSV files at any depth, relative to `root`, sorted, but for what holds no ratings by its place."""
    found = []
    for folder, subfolders, files in os.walk(root):
        inside = Path(folder).relative_to(root).as_posix()
        if inside == ".":
            subfolders[:] = [name for name in subfolders if name.casefold() not in ("training", "pool")]
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        names = [name for name in files if name.lower().endswith(".csv") and not name.startswith(".")]
        found += [name if inside == "." else f"{inside}/{name}" for name in names]
    return sorted(path for path in found if path.casefold() != "pool.csv")


def _decode(raw: bytes) -> str:
    """Text of a file in UTF-8 or UTF-16 with or without a mark, or in the encoding of a western spreadsheet."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1")


def _column(lines: list[list[str]], header: list[str], name: str) -> list[str]:
    place = header.index(name) if name in header else len(header)
    return [cells[place] if place < min(len(cells), len(header)) else "" for cells in lines]


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
    """Finds the files of a release (relative, with forward slashes) by what its CSV files call them.

    A path is taken below the release's folder first, then by its trailing parts wherever the release has files, with or
    without the same extension, and last by the layout of the public release: ``<name of the triplet>/{Q,P,N}.jpg``.
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
        """Return the file that a path in a CSV file of a `folder` means, or None where none does or several may.

        In the layout of the public release the folder of the triplet has one of the `names`, and the file one `letter`.
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
        lasts = [last for name in names for last in path_parts(name)[-1:]]
        for folder in dict.fromkeys(spelling for last in lasts for spelling in (last.casefold(), _stem(last))):
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
    pairs = zip(reversed(wanted[:-1]), reversed(found[:-1]), strict=False)
    agree = [left.casefold() == right.casefold() for left, right in pairs]
    shared = agree.index(False) if False in agree else len(agree)
    return shared, wanted[-1].casefold() == found[-1].casefold(), wanted[-1] == found[-1]
