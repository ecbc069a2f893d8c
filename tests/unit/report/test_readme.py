"""What README.md shows of a run: numbers between two marks, and a picture."""

from dataclasses import replace

import pytest
from PIL import Image
from project import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.neighbours import GAIN, RANDOM
from lookalike.report.readme import BEGIN, END, readme_numbers, replace_between_marks, write_readme_picture
from lookalike.report.results import Results

README = ROOT / "README.md"


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


def test_numbers_are_those_behind_the_first_primary_claims_of_each_paper(toys, tmp_path):
    lines = readme_numbers(Results(toys), "a test").splitlines()
    assert lines[0] == "| The paper says | Run here on | Here | Paper | Verdict |"
    assert lines[2:4] == [
        "| OASIS is best. (JMLR 2010) | demo title, ten | OASIS − MCML: +5.5 [+4.5, +6.5] | +6 | holds |",
        "",
    ], "a further claim, and one that was not run, have no line"
    assert lines[-5].startswith("The papers' 2 primary claims: holds 1, does not hold 0, undecided 0, not run 1.")
    assert lines[-3] == "Made by code, to show that the methods run: websim_demo title and demo_triplets title."
    assert lines[-1] == "Made by a test."
    (tmp_path / "results").mkdir()
    with pytest.raises(LookalikeError, match="no data set has a result yet"):
        readme_numbers(Results(tmp_path / "results"), "a test")


def test_only_what_stands_between_the_marks_is_replaced():
    before = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert replace_between_marks(before, "new \\1\n") == f"before\n{BEGIN}\nnew \\1\n{END}\nafter\n"
    for text in ("nothing", f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n" * 2):
        with pytest.raises(LookalikeError, match="no place"):
            replace_between_marks(text, "new")
    text = README.read_text(encoding="utf-8")
    assert replace_between_marks(text, "x") != text
    assert (README.parent / "docs" / "pictures" / "demo.webp").is_file()
