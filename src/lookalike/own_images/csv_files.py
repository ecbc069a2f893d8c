"""CSV files that users write: whatever is wrong with one is told as what it is, in one sentence."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError

if TYPE_CHECKING:
    import pandas as pd

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # one slash: a Path has lost the other

_STARTS = {
    b"\xff\xfe": "is written in UTF-16: export it as UTF-8",
    b"\xfe\xff": "is written in UTF-16: export it as UTF-8",
    b"PK\x03\x04": "is a spreadsheet or a zip, and no text: export it as CSV",
    b"\x1f\x8b": "is compressed: unpack it first",
}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read_csv(path: str | os.PathLike[str], columns: Sequence[str], *, what: str = "file", **options: Any) -> Any:
    """Read a CSV file of the disk: UTF-8, with or without its mark, separated by commas.

    Parameters
    ----------
    path : path-like
        No address: nothing is fetched.
    columns : sequence of str
        That the file should have. Whether it has them is the caller's to check; here they tell how a line that has
        none of them is separated.
    what : str, default="file"
        What the file is, for a sentence.
    **options
        Of ``pandas.read_csv``.

    Returns
    -------
    DataFrame
        Names of columns without blanks around them.

    Raises
    ------
    LookalikeError
        When there is no such file, or it is no such CSV.
    """
    import pandas as pd

    content = _read(Path(path), what)
    _check_text(content, path)
    try:
        table: pd.DataFrame = pd.read_csv(io.BytesIO(content), encoding="utf-8-sig", **options)
    except ValueError as error:  # pandas' parser errors are ValueErrors
        _check_separator(content, columns, path)
        reason = str(error).removeprefix("Error tokenizing data. ").removeprefix("C error: ")
        raise LookalikeError(
            f"{path} cannot be read as CSV: {' '.join(reason.split()).rstrip('.')}; mend it or export it again"
        ) from error
    table = table.rename(columns=lambda name: str(name).strip())
    if not set(columns) & set(table.columns):
        _check_separator(content, columns, path)
    return table


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise LookalikeError(f"{path} is a folder: name a CSV file in it") from None
    except (FileNotFoundError, NotADirectoryError):
        if _ADDRESS.match(str(path)):
            raise LookalikeError(
                f"{path} is an address, and nothing is fetched: download it and name the file"
            ) from None
        raise LookalikeError(f"there is no {what} {path}: check the name") from None
    except OSError as error:
        raise LookalikeError(f"{path} cannot be read: {error.strerror}; mend its permissions or its disk") from error


def _check_text(content: bytes, path: str | os.PathLike[str]) -> None:
    """Refuse what is no text in UTF-8."""
    for start, told in _STARTS.items():
        if content.startswith(start):
            raise LookalikeError(f"{path} {told}")
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        raise LookalikeError(f"{path} is empty: list images in it, below a line with the names of columns")
    if b"\0" in content:
        raise LookalikeError(f"{path} holds zero bytes, as UTF-16 and files that are no text do: export it as UTF-8")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LookalikeError(f"{path} is not written in UTF-8 (line {line}): export it as UTF-8") from error


def _check_separator(content: bytes, columns: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Refuse a file whose first line has its columns between something else than commas."""
    first = content.decode("utf-8-sig").lstrip().partition("\n")[0]
    for separator, name in _SEPARATORS.items():
        if set(columns) & {part.strip().strip('"') for part in first.split(separator)} and separator in first:
            raise LookalikeError(f"{path} separates its columns by {name}: export it with commas")
