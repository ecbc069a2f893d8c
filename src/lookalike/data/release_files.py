"""Files of a release of rated triplets: its CSV files as tables, and a tally.

People edit such files with spreadsheets on machines of their own, so the spelling of the columns, the separator, the
encoding and the folders are guessed. What cannot be used is counted, with one example, and passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import check_folder, check_regular
from lookalike.core.tables import LARGEST_TABLE, Rules, count_fields, parse_rows, sort_out
from lookalike.data.path_finder import escaped_path, files_below, is_hidden

_SEPARATORS = (",", ";", "\t")
_RATED = {"image1path": "path1", "image2path": "path2", "similarity": "similarity"}
_RATED_TOO = {"image1": "name1", "image2": "name2", "textquery": "text_query", "kind": "kind", "triplet": "triplet"}
"""Columns of ratings as `column_key` spells them; a file of ratings has all of the former."""
_KINDS = {"inclass": "in-class", "outofclass": "out-of-class"}
_MAX_EXAMPLE = 300


class Rejections:
    """Tally of what could not be used: a reason, how many rows or files, and the first of them in order of text."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, str, int]] = []

    def add(self, reason: str, examples: Iterable[str], rows: int = 1) -> None:
        """Count under a reason, each example for so many rows or files."""
        self._entries += [(reason, example, rows) for example in examples]

    def sort_out(self, table: pd.DataFrame, rules: Rules, rows: int = 1) -> pd.DataFrame:
        """Return the rows of a table that break no rule, and count the others, whose column ``example`` is theirs."""
        kept, broken = sort_out(table, rules)
        for reason, found in broken:
            self.add(reason, found["example"], rows)
        return kept

    def table(self) -> pd.DataFrame:
        """Return ``reason``, ``rows`` int32 and ``example``, sorted by reason."""
        entries = pd.DataFrame(self._entries, columns=["reason", "example", "rows"])
        # not the first met but the first by name: the table then does not depend on the order of rows
        table = entries.groupby("reason", as_index=False).agg(rows=("rows", "sum"), example=("example", "min"))
        table = table.astype({"reason": "str", "rows": "int32", "example": "str"})
        return table.assign(example=table["example"].str[:_MAX_EXAMPLE])


def read_ratings(root: Path, rejections: Rejections) -> pd.DataFrame:
    """Read the rows of every CSV file below a folder that has the columns of rated triplets, by file, then by line."""
    check_folder(root, "give the folder that holds the CSV file of rated triplets")
    tables, lacking = [], "CSV without the columns of ratings"
    for file in _csv_files(root):
        if (table := read_columns(root, file, rejections, lacking, list(_RATED), list(_RATED_TOO))) is not None:
            tables.append(table.rename(columns=_RATED | _RATED_TOO).assign(file=escaped_path(file)))
    if not tables:
        named = "Image1, Image1_Path, Image2, Image2_Path, Similarity and Text Query"
        raise LookalikeError(f"{root} holds no CSV file with the columns {named}: put the ratings there")
    rows = pd.concat(tables, ignore_index=True)
    rows["text_query"] = rows["text_query"].str.split().str.join(" ")
    rows["kind"] = [_KINDS.get(column_key(kind), "rated") for kind in rows["kind"]]
    # a minus sign that word processors put for the hyphen
    rating = pd.to_numeric(rows["similarity"].str.replace("\u2212", "-"), errors="coerce")
    rows["sign"] = np.where(rating.isin([1, -1]), rating, 0).astype(np.int64)
    for number, name in ((1, "image"), (2, "other")):
        rows[name] = rows[f"path{number}"].where(rows[f"path{number}"] != "", rows[f"name{number}"])
    # without the line, as rows may come in any order
    rows["example"] = rows["file"] + ": " + rows["image"] + " | " + rows["other"] + " | " + rows["text_query"]
    is_missing = (rows[["image", "other"]] == "").any(axis=1)
    rows = rejections.sort_out(rows, {"row without two images": is_missing})
    with_rating = rows.assign(example=rows["example"] + " | " + rows["similarity"].map(repr))
    rated = rejections.sort_out(with_rating, {"similarity is neither 1 nor -1": rows["sign"] == 0})
    return rated.assign(example=rows["example"]).reset_index(drop=True)


def read_columns(
    root: Path, file: str, rejections: Rejections, lacking: str, needed: Sequence[str], others: Sequence[str] = ()
) -> pd.DataFrame | None:
    """Read columns of a CSV file, named as `column_key` spells them; one without those needed is rejected so."""
    named = escaped_path(file)
    try:
        check_regular(root / file, LARGEST_TABLE)
        text = _decode((root / file).read_bytes())
        for separator in _SEPARATORS:
            # another separator may stand behind a quotation mark, so nothing is refused before its turn
            _, header = next(parse_rows(text, named, separator, strict=False))
            keys = [column_key(cell) for cell in header]
            if all(keys.count(name) == 1 for name in needed):
                rows = [cells for _, cells in parse_rows(text, named, separator)][1:]
                break
        else:
            rejections.add(lacking, [named])
            return None
    except (LookalikeError, OSError):
        rejections.add("CSV that cannot be read", [named])
        return None
    for surplus in (cells for cells in rows if count_fields(cells) > len(keys)):
        example = f"{named}: {count_fields(surplus)} fields, the header has {len(keys)}: {','.join(surplus)}"
        rejections.add("row with more fields than its header", [example])
    filled = [dict(zip(keys, cells, strict=False)) for cells in rows if count_fields(cells) <= len(keys)]
    columns = [*needed, *others]
    return pd.DataFrame([[row.get(name, "") for name in columns] for row in filled], columns=columns, dtype="str")


def column_key(name: str) -> str:
    """Spell a column or a text query so that case, blanks and punctuation do not matter."""
    return re.sub(r"[\W_]+", "", name.casefold())


def has_training_images(root: Path) -> bool:
    """Tell whether a release has a file in a folder of a category, so that a plan knows that there may be relevance."""
    return any(re.fullmatch(r"(?i)training/.+/[^./][^/]*", file) for file in files_below(root))


def relevance_file(root: Path) -> str | None:
    """Return the file that grades the relevance of training images, if any; without, it is 1 within a category."""
    return next((file for file in sorted(files_below(root)) if file.casefold() == "training/relevance.csv"), None)


def _csv_files(root: Path) -> list[str]:
    """Return CSV files at any depth, relative to `root`, sorted, but for what holds no ratings by its place."""
    files = (file for file in sorted(files_below(root)) if file.casefold().endswith(".csv") and not is_hidden(file))
    return [file for file in files if not re.match(r"(?i)(training|pool)/|pool\.csv$", file)]


def _decode(raw: bytes) -> str:
    """Return the text of a file in UTF-8 or UTF-16, with or without a mark, or in a western spreadsheet's encoding."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    for encoding in ("utf-8-sig", "cp1252"):
        with suppress(UnicodeDecodeError):
            return raw.decode(encoding)
    return raw.decode("latin-1")
