"""Tables that users write: read as text with its lines, or refused in one sentence; and labels that are missing."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lookalike.core import tables
from lookalike.core.errors import LookalikeError
from lookalike.core.row_numbers import refuse_missing_labels
from lookalike.core.tables import read_cells, text_cells, whole_numbers

COLUMNS = ["path", "label"]
GAPS = [(["nan", "b", gap], "object") for gap in (np.nan, None, pd.NA, pd.NaT)]
GAPS += [(["nan", "b", None], kind) for kind in ("string", "string[pyarrow]", "category")]
GAPS += [([1, 2, None], kind) for kind in ("float64", "Int64", "category", "object")]
GAPS += [([True, False, None], "boolean"), (["x", 2, np.nan], "object")]


def test_cells_are_text_with_the_line_on_which_their_row_starts(tmp_path):
    path = tmp_path / "t.csv"
    rows = '\n label ,note, path,\nwarm, x , "a, b.png"\n"two\nlines",,NA,,,\n,,,\n\nnan\n007,"""x""",c'
    path.write_bytes(rows.replace("\n", "\r\n").encode("utf-8-sig"))
    table = read_cells(path, COLUMNS).T.to_dict(orient="list")
    assert table == {3: ["a, b.png", "warm"], 4: ["NA", "two\r\nlines"], 8: ["", "nan"], 9: ["c", "007"]}
    path.write_bytes(b"path,label\n a.png,b \n")
    assert read_cells(path, COLUMNS, exact=True).to_numpy().tolist() == [[" a.png", "b "]]
    with pytest.raises(LookalikeError, match="name a plan in it"):
        read_cells(tmp_path, COLUMNS, what="plan")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("path,label\na,b\nc,d,e\n", ", line 3 has 3 fields, the header has 2: put quotation marks around"),
        ("path,label\na,b,c,d,,\n", ", line 2 has 4 fields, the header has 2"),
        ('path,label\n"a\nb",c\nd,e,f\n', ", line 4 has 3 fields, the header has 2"),
        ('path,label\na,b\nc,"d\ne,f\n', ", line 3 is no CSV (unexpected end of data): correct its quotation marks"),
        ("path,label, label\na,b,c\n", " has the column label more than once: keep one"),
        ("path,kind\na,b\n", " lacks the column label: it needs path, label, and has path, kind"),
        ('"path";"label"\na;b,c\nd;e,f,g\n', " separates its columns by semicolons: export it with commas"),
        ("path\tlabel\na\tb\n", " separates its columns by tabs"),
        ("path,label\na,b\n".encode("utf-16"), " holds zero bytes, so it is UTF-16"),
        ("path,label\na,b\nc,\u00fc\n".encode("latin-1"), " is not written in UTF-8 (line 3)"),
        (b"\xef\xbb\xbf \n\n,,\n", " is empty: write the names of the columns"),
        (b"PK\x03\x04rest", " is a spreadsheet or a zip"),
        ("path,label\n" + 99 * "long\n", " has 0 MB, and at most 0 MB are read"),
    ],
)
def test_a_table_that_may_be_misread_is_refused(tmp_path, monkeypatch, content, sentence):
    monkeypatch.setattr(tables, "LARGEST_TABLE", 400)
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LookalikeError, match=f"^{re.escape(f'{path}{sentence}')}[^\n]*$"):
        read_cells(path, COLUMNS)


def test_whole_numbers_are_those_of_their_type_in_plain_digits():
    cells = pd.DataFrame({"path": ["0", "007"], "label": [str(2**63 - 1), "3"]}, index=[2, 3])
    numbers = whole_numbers(cells, {"path": "int32", "label": "int64"}, "t.csv")
    assert numbers.to_numpy().tolist() == [[0, 2**63 - 1], [7, 3]]
    for cell in (f"{2**63}", 9999 * "1", "1e20", "1e400", "\u0663", "\u00b2", "-1", "+1", "1.0", "1_0", "nan", ""):
        with pytest.raises(LookalikeError, match=r"t\.csv, line 3 has '.{0,40}' under label, which is no whole number"):
            whole_numbers(cells.assign(label=["1", cell]), {"label": "int64"}, "t.csv")


@pytest.mark.parametrize(("values", "kind"), GAPS, ids=str)
def test_a_missing_label_is_no_class_in_any_type(values, kind):
    labels = pd.Series(values, dtype=kind)
    table = pd.DataFrame({"note": 1, " label": labels, "path": [Path("a/b.png"), "c", "d"]})
    cells = text_cells(table, COLUMNS, "the table").to_numpy().tolist()  # "nan" is a name where it is written
    assert cells == [["a/b.png", "1.0" if kind == "float64" else str(values[0])], ["c", cells[1][1]], ["d", ""]]
    for given in (labels, labels.tolist(), labels.to_numpy(), labels.to_frame()):
        with pytest.raises(ValueError, match="row 2 has no label, only "):
            refuse_missing_labels(given)
    refuse_missing_labels(labels[:2].tolist())
