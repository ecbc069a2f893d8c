"""The synthetic images: each follows from its name and the seed, and is judged by what is visible in it."""

import itertools
from typing import Any

import numpy as np
import pytest

from lookalike.data import painted_landmarks
from lookalike.data.ground_truth import landmarks_of
from lookalike.data.painted_categories import PaintedCategories
from lookalike.data.painted_landmarks import Building, PaintedLandmarks, View
from lookalike.data.painted_triplets import PaintedTriplets, rated_triplets, relevance_of
from lookalike.data.scene import NONE, Pose
from lookalike.studies.recipes import paint

CATEGORIES = PaintedCategories(classes=3, images_per_class=4, clutter_images=2, width=128, height=96, seed=5)
LANDMARKS = PaintedLandmarks(
    landmarks=2, images_per_landmark=10, distractors=4, width=160, height=120, difficulty=0.7, seed=4
)
FEW = {"images_per_category": 10, "evaluation_images_per_category": 12}
TRIPLETS = PaintedTriplets(categories=5, held_out=1, triplets=100, noise_images=0.4, size=48, seed=7, **FEW)
SOME_CATEGORIES = [(0, 3), (0, 2), (2, 3), (NONE, 1)]
SOME_TRIPLETS = [("training", 1, 2), ("evaluation", 1, 2), ("training", 1, 3), ("training", 2, 2)]
# recipe, more of everything, and some of its images
RECIPES = {
    "categories": (CATEGORIES, {"classes": 9, "images_per_class": 7, "clutter_images": 5}, SOME_CATEGORIES),
    "landmarks": (LANDMARKS, {"landmarks": 3, "distractors": 9}, [(1, 3), (1, 4), (0, 3), (NONE, 2)]),
    "triplets": (TRIPLETS, {"categories": 6, "images_per_category": 12}, SOME_TRIPLETS),
}
each_recipe = pytest.mark.parametrize("name", RECIPES)


def changed(recipe, **settings):
    return type(recipe)(**dict(recipe) | settings)


@each_recipe
def test_an_image_follows_from_its_name_and_the_seed_alone(name):
    recipe: Any
    recipe, more, members = RECIPES[name]
    images = [recipe.paint(*member) for member in members]
    for member, image in zip(members, images, strict=True):
        np.testing.assert_array_equal(changed(recipe, **more).paint(*member), image)
        assert changed(recipe, **more).path(*member) == recipe.path(*member)
    images.append(changed(recipe, seed=99).paint(*members[0]))
    for first, second in itertools.combinations(images, 2):
        assert np.abs(first.astype(float) - second).mean() > 5
    for image in images:
        assert image.std() > 10, "a scene, not a blank"
        assert max((image == 255).mean(), (image == 0).mean()) < 0.3, "not burnt out"


def test_a_painting_takes_the_place_of_an_earlier_one(tmp_path):
    settings = {name: value for name, value in LANDMARKS if name != "seed"}
    marks = []
    for landmarks in (2, 1, 1):
        marks.append(paint("synthetic_landmarks", settings | {"landmarks": landmarks}, 4, tmp_path / "images"))
        assert len([*(tmp_path / "images").iterdir()]) == marks[-1]["images"] == 10 * landmarks + 4
        assert len(landmarks_of(tmp_path / "ground_truth")) == landmarks
    assert marks[0]["sha256"] != marks[1]["sha256"] == marks[2]["sha256"]


def test_lists_by_what_is_visible():
    seen = [(1.0, 0.3), (0.6, 0.1), (0.59, 0.3), (1.0, 0.09), (0.25, 0.3), (0.24, 0.5), (0.03, 0.5), (1.0, 0.001)]
    lists = [View((), (), share, coverage).relevance for share, coverage in seen]
    assert lists == ["good", "good", "ok", "ok", "ok", "junk", "", ""]


def test_what_is_in_the_way_is_not_visible():
    hall = Building("landmark 0", x=80, width=80, height=60, foot=100, lean=0, horizon=90)

    def seen(x=80, trees=()):
        return painted_landmarks.measured(View((hall._replace(x=200), hall._replace(x=x)), trees), (160, 120))

    assert seen().share == pytest.approx(1.0, abs=0.05)
    assert seen().box == pytest.approx((40, 40, 120, 100), abs=1)
    assert seen(trees=(Pose(80, 60, 200),)).share < 0.1
    assert seen(x=0).share == pytest.approx(0.5, abs=0.05), "half of it is beyond the left edge"
    assert seen(x=-80).share == 0


def test_raters_follow_the_relevance():
    rated = list(rated_triplets(TRIPLETS))
    looks = np.array([[TRIPLETS.looks("evaluation", *image) for image in triplet] for triplet in rated])
    in_class = np.array([query[0] == negative[0] for query, _, negative in rated])
    gains = relevance_of(looks[:, 0], looks[:, 1]) - in_class * relevance_of(looks[:, 0], looks[:, 2])
    assert len(rated) > 90
    assert (gains > 0).mean() > 0.99, "three raters hardly ever agree on the wrong image"
    assert np.median(gains) > 0.1
    assert 0.1 < 1 - in_class.mean() < 0.45
    first, second = looks[0, :2]
    assert relevance_of(first, second) == relevance_of(second, first) < relevance_of(first, first) == 1
