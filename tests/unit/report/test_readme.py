"""What README.md shows of a run: numbers between two marks, and a picture."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_results import add_exhibit
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.model import Entry, Found, Mark, Ranking
from lookalike.exhibits.neighbours import RANDOM
from lookalike.report.readme import BEGIN, END, main, readme_numbers, replace_between_marks, write_readme_picture
from lookalike.report.results import Exhibit, Results

README = Path(__file__).resolve().parents[3] / "README.md"


def gallery(folder: Path, *chosen: str) -> Exhibit:
    """A gallery's exhibit with a query for each reason."""
    image = folder / "dog.png"
    Image.new("RGB", (40, 30), "teal").save(image)
    marks = (Mark("✓", "#009E73", "-", "same class"), Mark("✗", "#D55E00", "--", "other class"))
    found = tuple(Found(str(image), "dog", marks[rank % 2]) for rank in range(7))
    rankings = (Ranking("Before learning: Euclidean", found), Ranking("After learning: OASIS", found))
    entries = [asdict(Entry(str(image), "dog", rankings, how)) for how in chosen]
    add_exhibit(folder / "results", "demo", "learning", "neighbours", kind="gallery", entries=entries)
    return Results(folder / "results").exhibit("demo", "learning", "neighbours")


def test_the_picture_shows_only_queries_that_were_drawn_at_random(tmp_path: Path) -> None:
    sizes = []
    for chosen in ((RANDOM, "largest gain"), (RANDOM, RANDOM)):
        write_readme_picture(gallery(tmp_path, *chosen), tmp_path / "picture.webp")
        sizes.append(Image.open(tmp_path / "picture.webp").size)
    assert sizes[0][0] == sizes[1][0] > 400
    assert sizes[0][1] < sizes[1][1]  # one row, then two
    with pytest.raises(LookalikeError, match="make demo"):
        write_readme_picture(gallery(tmp_path, "largest gain"), tmp_path / "picture.webp")


def test_numbers_are_the_headlines_without_where_the_exhibits_are() -> None:
    demo = SimpleNamespace(id="demo", headline="mAP OASIS 1.0 %\n")
    assert readme_numbers([demo], "a test") == "```\nmAP OASIS 1.0 %\n```\n\nMade by a test.\n"
    with pytest.raises(LookalikeError, match="demo has no headline"):
        readme_numbers([SimpleNamespace(id="demo", headline="\n")], "a test")


def test_only_what_stands_between_the_marks_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "numbers.md").write_text("new \\1\n")
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert main([str(tmp_path / "numbers.md"), str(tmp_path / "README.md")]) == 0
    assert (tmp_path / "README.md").read_text() == f"before\n{BEGIN}\nnew \\1\n{END}\nafter\n"
    with pytest.raises(LookalikeError, match="no place"):
        replace_between_marks("nothing", "new")


def test_the_readme_has_a_place_for_them() -> None:
    text = README.read_text(encoding="utf-8")
    assert replace_between_marks(text, "x") != text
    assert (README.parent / "docs" / "pictures" / "demo.webp").is_file()
