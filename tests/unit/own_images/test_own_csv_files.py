from __future__ import annotations

from pathlib import Path

import pytest

from lookalike.core.errors import LookalikeError
from lookalike.own_images.csv_files import read_csv
from lookalike.own_images.tables import read_labels

COLUMNS = ("path", "label")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"path;label\na;b,c\nd;e,f,g\n", "separates its columns by semicolons"),
        (b"path\tlabel\na\tb\n", "separates its columns by tabs"),
        ("path,label\na,b\n".encode("utf-16"), "is written in UTF-16: export it as UTF-8"),
        ("path,label\na,b\n".encode("utf-16-le"), "holds zero bytes, as UTF-16"),
        ("path,label\na,b\nc,\u00fc\n".encode("latin-1"), r"is not written in UTF-8 \(line 3\)"),
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n\n", "is empty"),
        (b"PK\x03\x04rest", "is a spreadsheet or a zip"),
        (b"\x1f\x8brest", "is compressed"),
        (b"path,label\na,b\na,b,c,d\n", "Expected 2 fields in line 3, saw 4; mend it"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "labels.csv").write_bytes(content)
    with pytest.raises(LookalikeError, match=rf"labels\.csv {sentence}|labels\.csv cannot be read as CSV: {sentence}"):
        read_csv(tmp_path / "labels.csv", COLUMNS)


def test_places_that_are_no_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match="is a folder: name a CSV file"):
        read_csv(tmp_path, COLUMNS)
    with pytest.raises(LookalikeError, match="there is no list "):
        read_csv(tmp_path / "none.csv", COLUMNS, what="list")
    for address in ("https://localhost/labels.csv", Path("https://localhost/labels.csv"), "file:///etc/hostname"):
        with pytest.raises(LookalikeError, match="is an address, and nothing is fetched"):
            read_csv(address, COLUMNS)
        with pytest.raises(LookalikeError, match="is an address, and nothing is fetched"):
            read_labels(tmp_path, address)


def test_a_file_with_a_mark_and_blanks_is_read(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes("\ufeffpath , label\na;b,\u00fc\n".encode())
    table = read_csv(tmp_path / "labels.csv", COLUMNS)
    assert table.to_dict(orient="list") == {"path": ["a;b"], "label": ["\u00fc"]}
