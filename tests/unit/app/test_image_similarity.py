from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lookalike
from lookalike import ImageSimilarity
from lookalike.app.page import label_in, write_page
from lookalike.core.errors import LookalikeError


@pytest.fixture
def fitted(model_file: Path) -> ImageSimilarity:
    return ImageSimilarity.load(model_file)


def test_from_a_folder_to_rankings_and_back_from_a_file(photos: Path, fitted: ImageSimilarity) -> None:
    assert fitted.images_["role"].value_counts().to_dict() == {"train": 18, "held-out": 6}
    query = photos / "red" / "3.png"
    shutil.copy(query, photos / "blue" / "copy of the query.png")
    table = fitted.rank([query], photos, k=5)
    assert table["label"].tolist() == ["red"] * 5
    assert not table["path"].isin(["red/3.png", "blue/copy of the query.png"]).any()
    assert table["score"].is_monotonic_decreasing
    path = photos.parent / "m.lookalike"
    fitted.save(path)
    opened = lookalike.load(path)
    pd.testing.assert_frame_equal(opened.rank([query], photos, k=5), table)
    assert opened.about() == fitted.about()
    assert len(opened.rank([query], photos, k=99)) == 23


def test_images_that_were_learned_from_are_passed_over(photos: Path, fitted: ImageSimilarity) -> None:
    table = fitted.evaluate(photos)
    assert table.attrs == {"images": 6, "learned_from": 0, "passed_over": 18}
    assert set(table["method"]) == {"OASIS", "Euclidean"}
    assert table.loc[table["measure"] == "map", "value"].between(0.5, 1).all()
    assert (table["low"] <= table["value"] + 1e-9).all()
    everything = fitted.evaluate(photos, everything=True)
    assert everything.attrs == {"images": 24, "learned_from": 18, "passed_over": 0}
    shutil.rmtree(photos / "red")
    for path in fitted.images_.loc[fitted.images_["role"] == "held-out", "path"]:
        (photos / path).unlink(missing_ok=True)
    assert fitted.evaluate(photos).attrs["learned_from"] == 12  # nothing else is left


def test_nothing_is_learned_from_images_that_are_held_out(photos: Path, painted: Callable[..., None]) -> None:
    how: dict[str, Any] = {"hold_out": 0.25, "parameters": {"n_steps": 60}, "jobs": 1}
    before = ImageSimilarity("color", **how).fit(photos)
    for seed, path in enumerate(before.images_.loc[before.images_["role"] == "held-out", "path"]):
        painted(photos / path, (9, 200, 9), 900 + seed)
    after = ImageSimilarity("color", **how).fit(photos)
    assert after.images_["role"].tolist() == before.images_["role"].tolist()
    np.testing.assert_array_equal(after.learner_.W_, before.learner_.W_)


def test_triplets_and_a_taken_over_codebook(photos: Path, fitted: ImageSimilarity) -> None:
    rows = [(f"{a}/{i}.png", f"{a}/{(i + 1) % 8}.png", f"{b}/{i}.png") for a, b in
            (("red", "blue"), ("blue", "green"), ("green", "red")) for i in range(8)]  # fmt: skip
    triplets = pd.DataFrame(rows, columns=["query", "positive", "negative"])
    path = photos.parent / "m.lookalike"
    fitted.save(path)
    model = ImageSimilarity(str(path), hold_out=0.2, parameters={"n_steps": 50}).fit(photos, triplets=triplets)
    assert np.array_equal(model.representation_.arrays()["codebook"], fitted.representation_.arrays()["codebook"])
    learned_from = set(model.images_.loc[model.images_["role"] == "train", "path"])
    table = model.evaluate(photos, triplets=triplets)
    assert table.attrs["learned_from"] == 0
    assert table.attrs["triplets"] == sum(query not in learned_from for query, _, _ in rows)
    assert table["measure"].unique().tolist() == ["triplets ordered"]
    assert (table["value"] > 0.8).all()


def test_a_dense_description_is_learned_on_its_components(photos: Path) -> None:
    model = ImageSimilarity("hog", parameters={"n_steps": 50}).fit(photos)
    assert model.learner_.n_features_in_ == 23
    path = photos.parent / "hog.lookalike"
    model.save(path)
    rows, images = ImageSimilarity.load(path).vectors(photos)
    assert rows.shape == (24, model.representation_.n_dimensions)
    assert images["path"].tolist() == model.images_["path"].tolist()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda root: [shutil.rmtree(root / name) for name in ("red", "blue")], "has only green"),
        (lambda root: [f.unlink() for f in root.glob("*/[1-7].png")], "has a single image"),
        (lambda root: [f.unlink() for f in root.glob("*/[2-7].png")], "no class has four images"),
        (lambda root: [shutil.rmtree(f) for f in root.iterdir()], "is empty"),
        (lambda root: shutil.rmtree(root), "there is no folder"),
    ],
)
def test_a_folder_that_nothing_can_be_learned_from(photos: Path, change: Callable[[Path], Any], sentence: str) -> None:
    change(photos)
    with pytest.raises(LookalikeError, match=sentence):
        ImageSimilarity("color", hold_out=0.25).fit(photos)


def test_a_page_escapes_names_and_marks_folders(photos: Path, fitted: ImageSimilarity, tmp_path: Path) -> None:
    odd = photos / "red" / "<b>3 & 4.png"
    shutil.copy(photos / "red" / "3.png", odd)
    ranked = fitted.rank_both([odd, photos / "blue" / "1.png"], photos, 4)
    page = tmp_path / "n.html"
    write_page(ranked, photos, page, title="<i>", model=fitted)
    text = page.read_text()
    assert "&lt;b&gt;3 &amp; 4.png" in text
    assert "<b>3" not in text
    assert "<title>&lt;i&gt;</title>" in text
    assert "http://" not in text
    assert "https://" not in text
    assert text.count("<img ") == 2 + 2 * 2 * 4 == text.count('src="data:image/jpeg;base64,') == text.count('alt="')
    assert "✓ same folder" in text
    assert label_in(odd, photos) == "red"
    assert label_in(photos / "x.png", photos) is None
    assert label_in(tmp_path / "elsewhere.png", photos) is None
