"""What README.md shows of a run: numbers between two marks, and a picture."""

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json, write_json
from lookalike.exhibits.neighbours import GAIN, RANDOM
from lookalike.report.readme import BEGIN, END, readme_numbers, replace_between_marks, write_readme_picture
from lookalike.report.results import Results

README = Path(__file__).resolve().parents[3] / "README.md"


def test_the_picture_shows_only_queries_that_were_drawn_at_random(toys, tmp_path, monkeypatch):
    monkeypatch.chdir(toys.parent)
    gallery, path = Results(toys).exhibit("demo", "learning", "neighbours"), tmp_path / "picture.webp"
    sizes = []
    for chosen in ((RANDOM, GAIN), (RANDOM, RANDOM)):
        entries = tuple(replace(entry, chosen=how) for entry, how in zip(gallery.entries, chosen, strict=False))
        write_readme_picture(replace(gallery, entries=entries), path)
        sizes.append(Image.open(path).size)
    assert sizes[0][0] == sizes[1][0] > 400
    assert sizes[0][1] < sizes[1][1]  # one row, then two
    with pytest.raises(LookalikeError, match="make demo"):
        write_readme_picture(replace(gallery, entries=gallery.entries[3:]), path)


def on_photographs(folder):
    """Say of the toy results in a folder that their images are photographs."""
    for path in folder.glob("demo/exhibits/*/*.json"):
        write_json(read_json(path) | {"synthetic": False}, path)
    return Results(folder)


def test_numbers_are_the_margins_and_sentences_on_each_data_set_of_photographs(folder, tmp_path):
    without = readme_numbers(Results(folder), "a test")
    assert "demo title, ten" not in without
    assert without.splitlines()[-1].endswith("decides nothing about a paper: demo title.")
    lines = readme_numbers(on_photographs(folder), "a test").splitlines()
    assert lines[2] == "| OASIS, JMLR 2010, Table 4 | demo title, ten | OASIS − MCML, mAP | +2.0 [−1.0, +5.0] | −6 |"
    (sentences,) = (line for line in lines if line.startswith("**"))
    assert sentences.startswith("**Demo title** (real photographs; 1,234 images; ten). OASIS has the highest mAP (in")
    assert lines[-1] == "Made by a test."
    (tmp_path / "empty").mkdir()
    with pytest.raises(LookalikeError, match="no data set has a result yet"):
        readme_numbers(Results(tmp_path / "empty"), "a test")


def test_only_what_stands_between_the_marks_is_replaced():
    before = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert replace_between_marks(before, "new \\1\n") == f"before\n{BEGIN}\nnew \\1\n{END}\nafter\n"
    for text in ("nothing", f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n" * 2):
        with pytest.raises(LookalikeError, match="no place"):
            replace_between_marks(text, "new")
    text = README.read_text(encoding="utf-8")
    assert replace_between_marks(text, "x") != text
    assert (README.parent / "docs" / "pictures" / "demo.webp").is_file()
