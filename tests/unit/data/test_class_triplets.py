from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.data.class_triplets import make_class_triplets
from lookalike.data.rated_triplets import RatedTriplets
from lookalike.features.pyramid import is_large_enough

SIDE = 200
SMALL = {"held_out": 1, "queries": 5, "pool_noise": 4}


def paint(path: Path, level: float, seed: int) -> None:
    """A smooth picture: its brightness says how like another it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    assert is_large_enough(SIDE, SIDE)
    ramp = np.linspace(0, 30, SIDE)[:, None, None]
    noise = np.random.default_rng(seed).integers(0, 4, (SIDE, SIDE, 3))
    Image.fromarray(np.clip(level + ramp + noise, 0, 255).astype(np.uint8)).save(path)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("classes")
    for c, name in enumerate(("ant", "bee", "cow")):
        for i in range(12):
            paint(root / name / f"{i:02}.png", 15 * i + 5 * c, 100 * c + i)
    (root / "cow" / "copy.png").write_bytes((root / "cow" / "03.png").read_bytes())
    (root / "cow" / "both.png").write_bytes((root / "ant" / "03.png").read_bytes())
    return root


@pytest.fixture(scope="module")
def made(classes: Path) -> RatedTriplets:
    return make_class_triplets(classes, SMALL, seed=3)


def thumbnail_distance(root: Path, one: str, other: str) -> float:
    """The measure again, by other libraries: a mean over blocks and scikit-image's Lab."""
    from skimage.color import rgb2lab

    def lab(path: str) -> np.ndarray:
        pixels = np.asarray(Image.open(root / path).convert("RGB"), dtype=float)
        means = pixels.reshape(8, SIDE // 8, 8, SIDE // 8, 3).mean(axis=(1, 3))
        return rgb2lab(np.round(means) / 255)

    return float(np.sqrt(((lab(one) - lab(other)) ** 2).sum(axis=-1).mean()))


def test_parts_are_disjoint_and_held_out_classes_are_not_learned_from(made: RatedTriplets) -> None:
    manifest = made.manifest
    used = pd.unique(made.triplets[["query", "positive", "negative"]].to_numpy().ravel())
    assert set(manifest["part"][used]) == {"evaluation"}
    assert set(manifest["part"][made.pool["image_id"]]) == {"evaluation"}
    trained = manifest[manifest["part"] == "training"]
    assert trained.groupby("label").size().isin([5, 6]).all()
    assert trained["label"].nunique() == 2
    assert set(made.relevance.image_id) == set(trained["image_id"])
    assert not set(trained["sha256"]) & set(manifest.loc[manifest["part"] == "evaluation", "sha256"])
    assert dict(zip(made.rejected["reason"], made.rejected["rows"], strict=True)) == {
        "photograph in two classes": 2,
        "photograph that is there already": 1,
    }


def test_triplets_are_what_their_kind_says(made: RatedTriplets, classes: Path) -> None:
    label, path = made.manifest["label"], made.manifest["path"]
    triplets = made.triplets
    assert triplets.groupby(["text_query", "kind"]).ngroups == 6
    assert (label[triplets["query"]].to_numpy() == triplets["text_query"].to_numpy()).all()
    assert (label[triplets["positive"]].to_numpy() == triplets["text_query"].to_numpy()).all()
    is_in = (triplets["kind"] == "in-class").to_numpy()
    is_same = label[triplets["negative"]].to_numpy() == triplets["text_query"].to_numpy()
    assert (is_in == is_same).all()
    assert not (triplets["query"] == triplets["positive"]).any()
    assert not triplets.duplicated(["query", "positive", "negative"]).any()
    # in a class the positive is nearer by the stated measure, and among the two nearest of what is evaluated
    evaluated = made.manifest[(made.manifest["part"] == "evaluation") & (made.manifest["status"] == "ok")]
    rejected = {"cow/both.png", "cow/copy.png", "ant/03.png"}
    for row in triplets[is_in].itertuples():
        own = [p for p in evaluated.loc[evaluated["label"] == row.text_query, "path"] if p not in rejected]
        order = sorted(
            (thumbnail_distance(classes, path[row.query], other), other) for other in own if other != path[row.query]
        )
        assert path[row.positive] in {other for _, other in order[:2]}
        distance = {other: d for d, other in order}
        assert distance[path[row.negative]] > distance[path[row.positive]]


def test_relevance_is_the_stated_function_of_thumbnails(made: RatedTriplets, classes: Path) -> None:
    relevance = made.relevance
    paths = made.manifest["path"][relevance.image_id].tolist()
    matrix = relevance.relevance.toarray()
    same = relevance.category[:, None] == relevance.category[None, :]
    distances = np.array([[thumbnail_distance(classes, a, b) for b in paths] for a in paths])
    pairs = np.triu(same, 1)
    scale = np.median(distances[pairs])
    np.testing.assert_allclose(matrix[pairs], np.exp(-distances[pairs] / scale), atol=0.03)
    assert not matrix[~same].any()


def test_pools_are_the_class_and_some_noise(made: RatedTriplets) -> None:
    label = made.manifest["label"]
    for text_query, rows in made.pool.groupby("text_query"):
        labels = label[rows["image_id"]]
        assert (labels != text_query).sum() == 4
        own = made.triplets.loc[made.triplets["text_query"] == text_query, ["query", "positive"]].to_numpy().ravel()
        assert set(own) <= set(rows["image_id"])
        assert made.manifest["sha256"][rows["image_id"]].is_unique
    assert set(made.pool["source"]) == {"pool"}


def test_the_same_seed_the_same_tables(made: RatedTriplets, classes: Path) -> None:
    again = make_class_triplets(classes, SMALL, seed=3, n_threads=3)
    other = make_class_triplets(classes, SMALL, seed=4)
    for name in ("manifest", "triplets", "pool", "rejected"):
        pd.testing.assert_frame_equal(getattr(made, name), getattr(again, name))
    assert not made.triplets.equals(other.triplets)
    assert (made.relevance.relevance != again.relevance.relevance).nnz == 0


def test_progress_counts_both_passes(classes: Path) -> None:
    seen: list[tuple[int, int]] = []
    make_class_triplets(classes, SMALL, progress=lambda done, total: seen.append((done, total)))
    shares = [done / total for done, total in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_a_class_must_be_left_to_learn_from(classes: Path) -> None:
    with pytest.raises(LookalikeError, match="held_out must leave a class"):
        make_class_triplets(classes, {"held_out": 3})


def test_a_folder_of_one_class(tmp_path: Path) -> None:
    paint(tmp_path / "ant" / "1.png", 10, 0)
    with pytest.raises(LookalikeError, match="need two or more"):
        make_class_triplets(tmp_path, {})


@pytest.mark.real_images
def test_real_photographs(real_images: Path, tmp_path: Path) -> None:
    for name in sorted(path.name for path in real_images.iterdir() if path.is_dir())[3:6]:
        shutil.copytree(real_images / name, tmp_path / name)
    made = make_class_triplets(tmp_path, {"queries": 8, "held_out": 1, "pool_noise": 90}, seed=0, n_threads=2)
    assert made.triplets.groupby(["text_query", "kind"]).ngroups == 6
    assert made.relevance.n_categories == 2
    values = made.relevance.relevance.data
    assert 0 < values.min() < 0.3 < values.max() <= 1
    assert made.pool.groupby("text_query").size().min() > 100
