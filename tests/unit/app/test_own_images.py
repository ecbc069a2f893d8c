"""From a folder of one's own images to a similarity, by the commands and in Python: what they compute and write."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lookalike
from lookalike import ImageSimilarity
from lookalike.app.page import label_in, write_page
from lookalike.core.errors import LookalikeError

Call = Callable[..., Any]
TRIPLETS = pd.DataFrame(
    [(f"{a}/{i}.png", f"{a}/{(i + 1) % 8}.png", f"{b}/{i}.png")
     for a, b in (("red", "blue"), ("blue", "green"), ("green", "red")) for i in range(8)],
    columns=["query", "positive", "negative"],
)  # fmt: skip


@pytest.fixture
def fitted(here: Path) -> ImageSimilarity:
    """A model of colours, a quarter of the images held out."""
    model: ImageSimilarity = lookalike.load("m.lookalike")
    return model


def test_fit_names_what_is_left_out_and_keeps_a_cache(here: Path, call: Call) -> None:
    said = call("fit photos --output n.lookalike --representation color --learner euclidean")
    assert "Euclidean learned from 24 images of 3 classes; color of 784 dimensions" in said.out
    assert "left out: 1 file\n  red/broken.png: broken.png is damaged" in said.out
    assert (here / ".lookalike-cache").is_dir()
    call("fit photos --output m/n.lookalike --representation color --learner euclidean --no-cache")
    assert [path.name for path in (here / "m").iterdir()] == ["n.lookalike"]
    call("fit photos --representation color --learner euclidean --cache kept")
    assert (here / "photos.lookalike").is_file()
    assert any((here / "kept").iterdir())


def test_fit_says_all_as_json_and_so_does_info(here: Path, result: Call, call: Call) -> None:
    fit = "fit photos --labels labels.csv --output l.lookalike --representation color --hold-out 0.25 --set n_steps=50"
    told = result(fit)
    assert told["classes"] == {"cold": 12, "warm": 6}
    assert told["learner"]["n_steps"] == 50
    assert (told["n_images"], told["n_held_out"], told["left_out"]) == (18, 6, [])
    info = result("info", "l.lookalike")
    assert info.pop("bytes") == (here / "l.lookalike").stat().st_size
    assert info == {name: told[name] for name in told if name != "left_out"}
    assert {name: info[name] for name in info if name != "model"} == ImageSimilarity.load("l.lookalike").about()
    assert "cold 12, warm 6" in call("info", "l.lookalike").out


def test_triplets_are_learned_from_and_held_out(here: Path, result: Call, call: Call) -> None:
    broken = pd.DataFrame([("red/0.png", "red/broken.png", "blue/0.png")], columns=TRIPLETS.columns)
    pd.concat([TRIPLETS, broken]).to_csv("judged.csv", index=False)
    fit = "fit photos --triplets judged.csv --output t.lookalike --representation color --hold-out 0.2"
    said = call(fit, "--set", "n_steps=20")
    learned_from = lookalike.load("t.lookalike").images_.query("role == 'train'")["path"]
    left = TRIPLETS.isin(list(learned_from)).all(axis=1).sum()
    assert f"OASIS learned from {left} triplets of {len(learned_from)} images in 20 steps" in said.out
    assert "left out: 1 triplet whose images cannot be used" in said.out
    told = result("evaluate t.lookalike photos --triplets judged.csv")
    assert (told["learned_from"], told["rows"][0]["measure"]) == (0, "triplets ordered")
    assert told["triplets"] == (~TRIPLETS["query"].isin(learned_from)).sum()
    assert all(row["value"] > 0.8 for row in told["rows"])
    assert f"{told['triplets']} triplets of " in call("evaluate t.lookalike photos --triplets judged.csv").out
    with pytest.raises(LookalikeError, match="no triplet is left to learn from"):
        ImageSimilarity("color", hold_out=0.99).fit("photos", triplets=TRIPLETS)


def test_rank_finds_images_of_the_class_and_no_copy_of_the_query(here: Path, fitted: ImageSimilarity) -> None:
    photos, query = here / "photos", here / "photos" / "red" / "3.png"
    shutil.copy(query, photos / "blue" / "copy of the query.png")
    table = fitted.rank([query], photos, k=5)
    assert table["label"].tolist() == ["red"] * 5
    assert not table["path"].isin(["red/3.png", "blue/copy of the query.png"]).any()
    assert table["score"].is_monotonic_decreasing
    assert len(fitted.rank([query], photos, k=99)) == 23
    with pytest.raises(LookalikeError, match="ask for at least 1"):
        fitted.rank([query], photos, k=0)
    for image in photos.glob("blue/[0-7].png"):
        image.unlink()
    with pytest.raises(LookalikeError, match="holds no image but the query"):
        fitted.rank([query], photos / "blue")
    with pytest.raises(LookalikeError, match="has learned nothing yet"):
        ImageSimilarity().rank([query], photos)


def test_rank_prints_writes_and_says_when_the_gallery_is_small(here: Path, result: Call, call: Call) -> None:
    query = "photos/red/1.png"
    rank = ["rank", "m.lookalike", query, query, "--gallery", "photos"]
    (ranked,) = result(*rank, "-k", 3, "--compare", "--html", "n.html")["results"]  # a query given twice is one
    assert [(row["rank"], row["label"]) for row in ranked["neighbours"]] == [(1, "red"), (2, "red"), (3, "red")]
    assert len(ranked["before_learning"]) == 3
    assert call(*rank, "-k", 3, "--html", "n.html").out == "n.html: 1 query, 3 neighbours each\n"
    said = call(*rank, "-k", 99, "--compare")
    assert "the gallery has 23 images besides a query" in said.err
    assert "1 file of the gallery left out (red/broken.png: " in said.err
    first, second, *others = said.out.splitlines()
    assert first == query
    assert "after learning" in second
    assert len(others) == 23


def test_images_that_were_learned_from_are_passed_over(
    here: Path, fitted: ImageSimilarity, result: Call, call: Call
) -> None:
    assert fitted.images_["role"].value_counts().to_dict() == {"train": 18, "held-out": 6}
    evaluate = "evaluate m.lookalike photos -k 1,2,99"
    told = result(evaluate)
    assert (told["images"], told["learned_from"], told["passed_over"]) == (6, 0, 18)
    table = pd.DataFrame(told["rows"])
    assert set(table["method"]) == {"OASIS", "Euclidean"}
    assert set(table["measure"]) == {"map", "precision@1", "precision@2"}
    assert table.loc[table["measure"] == "map", "value"].between(0.5, 1).all()
    assert (table["low"] <= table["value"] + 1e-9).all()
    said = call(evaluate, "--all")
    assert "has learned from 18 of the 24 images" in said.err
    assert "photos: 24 images\nleft out: 1 file" in said.out
    assert "\nmAP  " in said.out
    shutil.rmtree("photos/red")
    for path in fitted.images_.loc[fitted.images_["role"] == "held-out", "path"]:
        Path("photos", path).unlink(missing_ok=True)
    assert fitted.evaluate("photos").attrs["learned_from"] == 12  # nothing else is left
    for image in Path("photos").glob("*/[1-7].png"):
        image.unlink()
    with pytest.raises(LookalikeError, match="no class has two images that can be evaluated"):
        fitted.evaluate("photos")


def test_nothing_is_learned_from_images_that_are_held_out(photos: Path, painted: Callable[..., None]) -> None:
    how: dict[str, Any] = {"hold_out": 0.25, "parameters": {"n_steps": 60}, "jobs": 1}
    before = ImageSimilarity("color", **how).fit(photos)
    for seed, path in enumerate(before.images_.loc[before.images_["role"] == "held-out", "path"]):
        painted(photos / path, (9, 200, 9), 900 + seed)
    after = ImageSimilarity("color", **how).fit(photos)
    assert after.images_["role"].tolist() == before.images_["role"].tolist()
    np.testing.assert_array_equal(after.learner_.W_, before.learner_.W_)


def test_a_codebook_is_taken_over_and_long_descriptions_are_learned_on_components(
    photos: Path, model_file: Path
) -> None:
    model = ImageSimilarity(str(model_file), parameters={"n_steps": 50}).fit(photos)
    for name, array in lookalike.load(model_file).representation_.arrays().items():
        np.testing.assert_array_equal(model.representation_.arrays()[name], array)
    model = ImageSimilarity("hog", parameters={"n_steps": 50}).fit(photos)
    assert model.learner_.n_features_in_ == 23
    rows, images = model.vectors(photos)
    assert rows.shape == (24, model.representation_.n_dimensions)
    assert images["path"].tolist() == model.images_["path"].tolist()


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [("red/* blue/*", "has only green"), ("*/[1-7].png", "has a single image"), ("*/[2-7].png", "no class has four")],
)
def test_a_folder_that_nothing_can_be_learned_from(photos: Path, gone: str, sentence: str) -> None:
    for pattern in gone.split():
        for image in photos.glob(pattern):
            image.unlink()
    with pytest.raises(LookalikeError, match=sentence):
        ImageSimilarity("color", hold_out=0.25).fit(photos)


def test_features_go_with_their_table(here: Path, result: Call, call: Call) -> None:
    told = result("features photos --output v/c.npy --representation color --paths v/c.parquet")
    vectors, table = np.load("v/c.npy"), pd.read_parquet("v/c.parquet")
    assert vectors.shape == (told["n_images"], told["dimensions"]) == (len(table), 784)
    for _ in range(2):  # its own table is written anew
        assert call("features photos --output v/w.npz --words 10 --no-cache").status == 0
    assert sp.load_npz("v/w.npz").shape == (24, 10)
    assert pd.read_csv("v/w.csv")["path"].tolist() == table["path"].tolist()
    assert pd.read_csv("v/w.csv").columns.tolist() == ["path", "label", "sha256", "width", "height"]


def test_a_page_escapes_names_and_marks_folders(here: Path, fitted: ImageSimilarity) -> None:
    odd, elsewhere = here / "photos" / "red" / "<b>3 & 4.png", here / "elsewhere.png"
    shutil.copy(here / "photos" / "red" / "3.png", odd)
    ranked = fitted.rank_both([odd, here / "photos" / "blue" / "1.png"], "photos", 4)
    write_page(ranked, "photos", "n.html", title="<i>", model=fitted)
    text = Path("n.html").read_text()
    assert "&lt;b&gt;3 &amp; 4.png" in text
    assert "<title>&lt;i&gt;</title>" in text
    assert not any(foreign in text for foreign in ("<b>3", "http://", "https://"))
    assert text.count("<img ") == 2 + 2 * 2 * 4 == text.count('src="data:image/jpeg;base64,') == text.count('alt="')
    assert "✓ same folder" in text
    shown = (odd, here / "photos" / "x.png", elsewhere)
    assert [label_in(path, here / "photos") for path in shown] == ["red", None, None]


def test_names_of_files_cannot_steer_the_terminal(here: Path, call: Call, result: Call, refused: Call) -> None:
    odd = here / "gallery" / "a\x1b[31m\u202e\nb.png"
    odd.parent.mkdir()
    odd.write_bytes((here / "photos" / "red" / "2.png").read_bytes())
    (odd.parent / "bad\x1b.png").write_bytes(b"no image")
    rank = ["rank", "m.lookalike", "photos/red/1.png", "--gallery", "gallery", "-k", 1]
    said = call(*rank)
    assert "a\\x1b[31m\\u202e\\nb.png" in said.out
    assert len(said.out.splitlines()) == 2
    assert "bad\\x1b.png" in said.err
    assert "\x1b" not in said.out + said.err
    assert result(*rank)["results"][0]["neighbours"][0]["path"] == odd.name
    assert "no\\x1b.png" in refused("rank", "m.lookalike", "no\x1b.png", "--gallery", "gallery")
