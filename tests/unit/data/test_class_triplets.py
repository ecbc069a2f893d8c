"""Triplets that a machine makes of photographs in class folders."""

import shutil

import numpy as np
import pandas as pd
import pytest
from made_place import paint
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import ClassTriplets
from lookalike.data.class_triplets import make_class_triplets

SIDE = 200
SMALL = ClassTriplets(held_out=1, queries=5, pool_noise=4)
IMAGES = ["query", "positive", "negative"]


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    root = tmp_path_factory.mktemp("classes")
    for c, name in enumerate(("ant", "bee", "cow")):
        for i in range(12):
            # how like another it is, its brightness says
            paint(root / name / f"{i:02}.png", [40 + 15 * i + 5 * c] * 3, 100 * c + i, (SIDE, SIDE))
    shutil.copy(root / "cow" / "03.png", root / "cow" / "copy.png")
    shutil.copy(root / "ant" / "03.png", root / "cow" / "both.png")
    return root


@pytest.fixture(scope="module")
def rated(classes):
    return make_class_triplets(classes, SMALL, seed=3)


@pytest.fixture(scope="module")
def distance(classes, rated):
    """The measure of all pairs again, by other libraries: a mean over blocks and scikit-image's Lab."""
    from skimage.color import rgb2lab

    def lab(path):
        pixels = np.asarray(Image.open(classes / path).convert("RGB"), dtype=float)
        means = pixels.reshape(8, SIDE // 8, 8, SIDE // 8, 3).mean(axis=(1, 3))
        return rgb2lab(np.round(means) / 255)

    thumbnails = np.stack([lab(path) for path in rated.manifest["path"]])
    return np.sqrt(((thumbnails[:, None] - thumbnails) ** 2).sum(axis=-1).mean(axis=(2, 3)))


def test_parts_and_pools_share_nothing(rated):
    manifest = rated.manifest
    used = {*rated.triplets[IMAGES].to_numpy().ravel(), *rated.pool["image_id"]}
    assert set(manifest["part"][list(used)]) == {"evaluation"}
    trained = manifest[manifest["part"] == "training"]
    assert trained.groupby("label").size().isin([5, 6]).all()
    assert trained["label"].nunique() == 2  # one class is held out
    assert set(rated.relevance.image_id) == set(trained["image_id"])
    assert not set(trained["sha256"]) & set(manifest.loc[manifest["part"] == "evaluation", "sha256"])
    rejected = {"photograph in two classes": 2, "photograph that is there already": 1}
    assert rated.rejected.set_index("reason")["rows"].to_dict() == rejected
    for text_query, rows in rated.pool.groupby("text_query"):
        assert (manifest["label"][rows["image_id"]] != text_query).sum() == 4
        own = rated.triplets.loc[rated.triplets["text_query"] == text_query, ["query", "positive"]].to_numpy().ravel()
        assert set(own) <= set(rows["image_id"])
        assert manifest["sha256"][rows["image_id"]].is_unique
    assert set(rated.pool["source"]) == {"pool"}


def test_triplets_are_what_their_kind_says(rated, distance):
    triplets, manifest = rated.triplets, rated.manifest
    assert triplets.groupby(["text_query", "kind"]).ngroups == 6
    labels = manifest["label"].to_numpy()[triplets[IMAGES].to_numpy()]
    is_own = labels == triplets["text_query"].to_numpy()[:, None]
    assert is_own[:, :2].all()
    np.testing.assert_array_equal(is_own[:, 2], triplets["kind"] == "in-class")
    assert not (triplets["query"] == triplets["positive"]).any()
    assert not triplets.duplicated(IMAGES).any()
    # in a class the positive is among the two nearest of what is evaluated, and the negative farther
    rejected = manifest["path"].isin({"cow/both.png", "cow/copy.png", "ant/03.png"})
    evaluated = manifest[(manifest["part"] == "evaluation") & ~rejected]
    for row in triplets[triplets["kind"] == "in-class"].itertuples():
        own = evaluated.loc[(evaluated["label"] == row.text_query) & (evaluated.index != row.query), "image_id"]
        nearest = own.to_numpy()[np.argsort(distance[row.query, own])[:2]]
        assert row.positive in nearest
        assert distance[row.query, row.negative] > distance[row.query, row.positive]


def test_relevance_is_the_stated_function_of_thumbnails(rated, distance):
    relevance = rated.relevance
    matrix, distances = relevance.relevance.toarray(), distance[np.ix_(relevance.image_id, relevance.image_id)]
    same = relevance.category[:, None] == relevance.category
    pairs = np.triu(same, 1)
    np.testing.assert_allclose(matrix[pairs], np.exp(-distances[pairs] / np.median(distances[pairs])), atol=0.03)
    assert not matrix[~same].any()


def test_the_same_seed_gives_the_same_tables_from_one_pass_over_the_files(rated, classes):
    seen = []
    again = make_class_triplets(classes, SMALL, seed=3, n_threads=3, progress=lambda *counts: seen.append(counts))
    for name in ("manifest", "triplets", "pool", "rejected"):
        pd.testing.assert_frame_equal(getattr(rated, name), getattr(again, name))
    assert (rated.relevance.relevance != again.relevance.relevance).nnz == 0
    assert not rated.triplets.equals(make_class_triplets(classes, SMALL, seed=4).triplets)
    assert seen == [(done, 38) for done in range(1, 39)]


@pytest.mark.parametrize(
    ("kept", "settings", "message"),
    [
        ("*/0[0-5].png", {"held_out": 3}, "held_out must leave a class"),
        ("ant/*", {}, "need two or more"),
        ("*/00.png", {"held_out": 0}, "too few different photographs"),
        ("*/0[01].png", {"held_out": 0, "training_share": 0.9}, "no triplet can be made"),
    ],
)
def test_what_no_triplet_can_be_made_of(classes, tmp_path, kept, settings, message):
    for file in classes.glob(kept):
        (tmp_path / file.parent.name).mkdir(exist_ok=True)
        shutil.copy(file, tmp_path / file.parent.name)
    with pytest.raises(LookalikeError, match=message):
        make_class_triplets(tmp_path, SMALL.model_copy(update=settings))
