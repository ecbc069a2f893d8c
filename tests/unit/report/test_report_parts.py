"""Tables and pictures of the report: what of a data frame a page shows, exact plots and small montages."""

import base64
import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_report import JMLR
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.tables import Sheet
from lookalike.report.pictures import LONGEST_SIDE, MOST_BYTES, encode
from lookalike.report.results import Results
from lookalike.report.tables import MISSING, comparison_grid, frame_grid, grids_of, telling


def cells(html):
    rows = re.findall(r"<tr>(.*?)</tr>", html.partition("<tbody>")[2], re.DOTALL)
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in rows]


def heads(html):
    found = re.findall(r"<th[^>]*>(.*?)</th>", html)
    return [re.sub(r"<[^>]+>", "", head) for head in found]


def test_a_frame_shows_numbers_short_and_says_what_it_leaves_out():
    rows = [("a", 1234.5678, 1, True), ("b", np.nan, 20_000, False), ("c", 2.0, 3, True)]
    frame = pd.DataFrame(rows, columns=["name", "cpu_seconds", "count", "good"])
    grid = frame_grid(frame, "T", "t", limit=2)
    assert heads(grid.html) == ["name", "CPU seconds", "count", "good"]
    assert cells(grid.html) == [["a", "1,235", "1", "yes"], ["b", MISSING, "20,000", "no"]]
    assert grid.html.count("number") == 2 + 4, "heads and cells of the two columns of numbers"
    assert (grid.n_rows, grid.rest, grid.sortable) == (2, 1, True)


def test_keys_of_the_code_are_words_and_columns_that_tell_nothing_are_left_out():
    frame = pd.DataFrame(
        {"subset": "ten", "series": ["oasis", "by_chance", "x"], "n_folds": [5, 4, 5], "file": "a_b.png"}
    )
    grid = frame_grid(telling(frame), "T", "t", titles={"series": {"x": "OASIS, printed"}})
    assert heads(grid.html) == ["line", "folds"]
    assert [row[0] for row in cells(grid.html)] == ["OASIS", "by chance", "OASIS, printed"]


def test_ours_with_printed_has_the_texts_of_the_cells_and_only_columns_that_tell_something(folder):
    exhibit = Results(folder).exhibit("demo", JMLR, "fig6")
    # cells and names that look like numbers stay what they are
    exhibit = replace(exhibit, titles={"series": {"10": "ten"}})
    frame = pd.DataFrame(
        {"series": ["10", "mcml"], "setting": "a", "empty": np.nan, "ours": [41.04, 2], "ours_std": 1.6,
         "printed": 33.0, "ours_cell": ["41.0", "2"], "printed_cell": "33 ± 1.6"}
    )  # fmt: skip
    for columns, ours in (([], "41.0"), (["ours_cell", "printed_cell"], "41.04")):
        frame.drop(columns=columns).to_csv(exhibit.folder / "fig6_compare.csv", index=False)
        grid = comparison_grid(exhibit)
        assert grid
        assert heads(grid.html) == ["line", "ours", "printed"]
        assert cells(grid.html)[0] == ["ten", ours, "33" if columns else "33 ± 1.6"]
        assert cells(grid.html)[1][0] == "MCML"


def test_several_sheets_are_told_apart_and_a_missing_number_is_a_dash(toys):
    sheet = Sheet("10 classes", ("10 classes", "ours"), (("mAP", "-"),), (False, True))
    exhibit = replace(Results(toys).exhibit("demo", JMLR, "table4"), sheets=(sheet, sheet))
    first, second = grids_of(exhibit)
    captions = [f"{exhibit.heading}, demo title, part {part} of 2: 10 classes" for part in (1, 2)]
    assert [grid.caption for grid in (first, second)] == captions
    assert cells(first.html) == [["mAP", MISSING]]
    assert not first.sortable


def test_a_drawing_stands_as_svg_as_large_as_its_png(tmp_path):
    Image.new("RGBA", (400, 200), (255, 255, 255, 0)).save(tmp_path / "plot.png")
    drawing = b'<svg xmlns:x="y" width="144pt" height="72pt" viewBox="0 0 144 72"></svg>'
    (tmp_path / "plot.svg").write_bytes(drawing)
    picture = encode(tmp_path / "plot.png")
    kind, _, text = picture.address.partition(",")
    assert (kind, base64.b64decode(text)) == ("data:image/svg+xml;base64", drawing)
    assert (picture.width, picture.height) == (400, 200)


def test_a_montage_is_made_no_larger_than_a_page_shows_it_and_what_is_no_picture_is_named(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (120, 240, 3), dtype=np.uint8)
    Image.fromarray(noise).resize((2400, 1200), Image.Resampling.BICUBIC).save(tmp_path / "montage.png")
    (tmp_path / "montage.svg").write_bytes(b'<svg width="1pt" height="1pt">' + bytes(MOST_BYTES))
    picture = encode(tmp_path / "montage.png")
    assert (picture.width, picture.height) == (LONGEST_SIDE, LONGEST_SIDE // 2)
    decoded = Image.open(io.BytesIO(base64.b64decode(picture.address.partition(",")[2]))).convert("RGB")
    assert decoded.size == (picture.width, picture.height)
    assert len(picture.address) < (tmp_path / "montage.png").stat().st_size / 2
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(LookalikeError, match=r"a\.png cannot be read"):
        encode(tmp_path / "a.png")
