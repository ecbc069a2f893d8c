"""Which images a user means: class folders, any folder, tables of labels and triplets, and what is wrong with them."""

import shutil

import pandas as pd
import pytest
from made_place import paint

from lookalike.app.sources import gallery_of, read_images
from lookalike.core.errors import LookalikeError
from lookalike.data.scan import scan_photographs


def reasons(found):
    return dict(found.left_out)


def test_what_cannot_be_used_is_named_with_its_reason(photos):
    red = photos / "red"
    (red / "broken.png").write_bytes((red / "0.png").read_bytes()[:200])
    for copy in ("red/copy.png", "blue/red.png", "top.png"):
        shutil.copy(red / ("1.png" if copy == "blue/red.png" else "0.png"), photos / copy)
    paint(red / "tiny.png", (1, 2, 3), 0, (20, 200))
    (red / "link.png").symlink_to(red / "0.png")
    (photos.parent / "link").symlink_to(photos)  # the folder itself may be one
    found = read_images(photos.parent / "link", n_threads=2)
    why = {"red/broken.png": "damaged", "red/tiny.png": "", "red/copy.png": "the same file as red/0.png"}
    why |= {"red/link.png": "the same file as red/0.png", "top.png": "beside the class folders"}
    why |= dict.fromkeys(("red/1.png", "blue/red.png"), "its file lies in several classes")
    assert reasons(found).keys() == why.keys()
    assert all(part in reasons(found)[path] for path, part in why.items())
    assert len(found) == 23
    assert sorted(found.ids) == found.ids.tolist()
    # a gallery keeps copies, and knows the topmost folder
    images = gallery_of(photos, scan_photographs(photos)).table().set_index("path")
    assert len(images) == 28
    assert images.loc[["top.png", "red/0.png"], "label"].tolist() == ["", "red"]
    assert images.loc["red/0.png", "sha256"] == images.loc["top.png", "sha256"]


def test_labels_of_a_table(photos):
    table = photos.parent / "labels.csv"
    lines = ["label, path ,note", "warm,red/0.png,x", "warm,red/1.png,", "cold,blue/0.png,", ",blue/1.png,"]
    lines += ["cold,blue/2.png,", "warm,blue/2.png,", "cold,blue/missing.png,", ""]
    table.write_bytes("\n".join(lines).encode("utf-8-sig"))
    found = read_images(photos, table)
    rows = [["blue/0.png", "cold"], ["red/0.png", "warm"], ["red/1.png", "warm"]]
    assert found.table()[["path", "label"]].to_numpy().tolist() == rows
    why = reasons(found)
    assert why.pop("blue/missing.png") == "there is no such file"
    assert why == {"blue/1.png": "it has no label", "blue/2.png": "it has two labels"}


def test_triplets_of_a_table(photos):
    shutil.copy(photos / "red" / "0.png", photos / "same.png")
    rows = [("red/0.png", "red/1.png", "blue/0.png"), ("same.png", "red/2.png", "blue/1.png")]
    rows += [("red/0.png", "same.png", "blue/0.png"), ("red/0.png", "red/1.png", "gone.png")]  # one image twice; none
    rows += [("red/0.png", None, "blue/0.png"), ("red/0.png", "red/1.png", "red/1.png")]
    table = pd.DataFrame(rows, columns=["query", "positive", "negative"])
    found = read_images(photos, triplets=table)
    assert found.triplets is not None
    paths = found.ids[found.triplets].tolist()
    assert paths == [["red/0.png", "red/1.png", "blue/0.png"], ["red/0.png", "red/2.png", "blue/1.png"]]
    assert found.triplets_left_out == {"with an image that cannot be used": 2, "with one of them twice": 2}
    assert [path for path, _ in found.left_out] == ["gone.png"]
    with pytest.raises(LookalikeError, match="holds no triplet of three images that can be used"):
        read_images(photos, triplets=table[2:])


def test_what_is_wrong_with_a_table_is_said(photos):
    given = {"path": ["red/0.png", "red/1.png", None], "label": ["a", None, "b"], "note": ["", "", "x"]}
    found = read_images(photos, pd.DataFrame(given))
    assert reasons(found) == {"red/1.png": "it has no label", "": "the label 'b' has no path"}
    assert found.labels.tolist() == ["a"]
    for table in (given, ["red/0.png"], 3, pd.Series(given)):
        with pytest.raises(LookalikeError, match=f"a {type(table).__name__} is no table of labels: give a CSV fil"):
            read_images(photos, table)
    tables = {"path,label": "has no rows", "path,label\nnowhere.png,a": "names no image that can be used"}
    for content, sentence in tables.items():
        (photos / "labels.csv").write_text(content)
        with pytest.raises(LookalikeError, match=rf"labels\.csv {sentence}"):
            read_images(photos, photos / "labels.csv")
