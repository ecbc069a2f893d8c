"""Synthetic triplets: images that any process draws alike, a relevance that shows in pixels, and unanimous raters."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.core.images import load_rgb
from lookalike.core.seeds import generator
from lookalike.data.rated_triplets import read_release
from lookalike.data.synthetic_triplets import (
    SyntheticTriplets,
    draw_image,
    factors_table,
    rated_triplets,
    relevance_table,
    write_images,
    write_ratings,
)
from lookalike.data.triplet_factors import FACTORS, category_of, draw_factors, draw_nuisance, relevance_of
from lookalike.data.triplet_scenes import paint

SMALL = SyntheticTriplets(
    n_categories=5,
    n_held_out=1,
    images_per_category=10,
    evaluation_images_per_category=12,
    n_triplets=100,
    noise_share=0.4,
    size=48,
    seed=7,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("triplets")
    write_images(SMALL, root)
    write_ratings(SMALL, root)
    return root


def test_shards_together_are_the_whole_set_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    counts = [write_images(SMALL, tmp_path, shard, 3) for shard in (2, 0, 1)]
    whole = {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*.jpg")}
    assert {file.relative_to(tmp_path): file.read_bytes() for file in tmp_path.rglob("*.jpg")} == whole
    assert sum(counts) == len(whole) == 4 * 10 + 5 * 12


def test_the_reader_of_releases_finds_all_of_it(folder: Path) -> None:
    read = read_release(folder)
    rated = rated_triplets(SMALL)
    assert len(read.triplets) == len(set(rated))
    assert set(read.triplets["text_query"]) == set(SMALL.category_names())
    assert set(read.triplets["kind"]) == {"in-class", "out-of-class"}
    assert (read.pool.groupby("text_query").size() == 12 + SMALL.n_noise).all()
    assert set(read.pool["source"]) == {"pool"}
    assert set(read.relevance.labels) == set(SMALL.category_names()[:4]), "the last category is held out"
    assert read.relevance.n_images == 40
    assert set(read.manifest["status"]) == {"ok"}


def test_ratings_follow_the_relevance(folder: Path) -> None:
    looks = {
        (row.category, row.path): np.array([getattr(row, factor.name) for factor in FACTORS])
        for row in factors_table(SMALL, "evaluation").itertuples()
    }
    names = SMALL.category_names()

    def relevance(first: tuple[int, int], second: tuple[int, int]) -> float:
        if first[0] != second[0]:
            return 0.0
        at = [looks[names[c], f"{names[c]}/{number + 1:04d}.jpg"] for c, number in (first, second)]
        return float(relevance_of(*at))

    rated = rated_triplets(SMALL)
    gains = np.array([relevance(t.query, t.positive) - relevance(t.query, t.negative) for t in rated])
    assert (gains > 0).mean() > 0.99, "three raters hardly ever agree on the wrong image"
    assert np.median(gains) > 0.1
    kinds = Counter("out-of-class" if t.negative[0] != t.query[0] else "in-class" for t in rated)
    assert kinds == Counter(t.kind for t in rated)
    assert 0.1 < kinds["out-of-class"] / len(rated) < 0.45


def test_relevance_is_symmetric_graded_and_zero_across_categories() -> None:
    table = relevance_table(SMALL, "training")
    assert table["relevance"].between(0.001, 1).all()
    assert table["relevance"].std() > 0.1
    assert not table.duplicated(["image1", "image2"]).any()
    first, second = (table[column].str.split("/").str[0] for column in ("image1", "image2"))
    assert (first == second).all()
    a, b = draw_factors(7, "training", 0, 0), draw_factors(7, "training", 0, 9)
    assert relevance_of(a, b) == relevance_of(b, a)
    assert relevance_of(a, a) == 1


@pytest.mark.parametrize("number", range(len(FACTORS)), ids=[factor.name for factor in FACTORS])
def test_every_factor_shows_in_the_pixels_and_lowers_the_relevance(number: int) -> None:
    looks = np.full(len(FACTORS), 0.3)
    changed = looks.copy()
    changed[number] = 0.7
    nuisance = draw_nuisance(generator(0, "chance"), 0.5)
    images = [paint(7, category_of(7, 1), factors, nuisance, 96, generator(0, "noise")) for factors in (looks, changed)]
    assert np.abs(images[0].astype(float) - images[1]).mean() > 0.5
    assert relevance_of(looks, changed) < 0.97


def test_categories_differ_and_colour_does_not_tell_them_apart() -> None:
    spec = SyntheticTriplets(n_categories=20)
    assert len(set(spec.category_names())) == 20
    colours = factors_table(SMALL, "training").groupby("category")[["object_hue", "background_hue"]].mean()
    assert colours.std().max() < 0.35, "hues are drawn alike in every category"


def test_fewer_categories_are_the_first_ones_of_more() -> None:
    more = SyntheticTriplets(n_categories=6, n_held_out=1, size=48, seed=7)
    assert more.category_names()[:5] == SMALL.category_names()
    assert np.array_equal(draw_image(more, "training", 1, 2), draw_image(SMALL, "training", 1, 2))
    assert more.fingerprint() != SMALL.fingerprint()


def test_files_are_the_images(folder: Path) -> None:
    path = folder / "evaluation" / SMALL.category_names()[2] / "0004.jpg"
    assert np.abs(load_rgb(path).astype(float) - draw_image(SMALL, "evaluation", 2, 3)).mean() < 4  # JPEG's loss


def test_ratings_have_the_form_of_the_public_release(folder: Path) -> None:
    table = pd.read_csv(folder / "ratings.csv")
    assert set(table) >= {"Image1", "Image1_Path", "Image2", "Image2_Path", "Similarity", "Text Query"}
    assert table["Similarity"].tolist() == [1, -1] * (len(table) // 2)
    assert all((folder / path).is_file() for path in {*table["Image1_Path"], *table["Image2_Path"]})


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"categories": 10_000}, "categories"),
        ({"held_out": 19}, "held_out"),
        ({"images_per_category": 10_000}, "images_per_category"),
        ({"categories": 3, "held_out": 0, "noise_images": 0.9}, "noise_images"),
        ({"triplets": 1}, "triplets"),
    ],
)
def test_impossible_numbers_are_refused_in_a_sentence(settings: dict[str, float], named: str) -> None:
    with pytest.raises(LookalikeError, match=rf"synthetic triplets: {named} is .*; choose"):
        SyntheticTriplets.from_settings(settings, 0)
