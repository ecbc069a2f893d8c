"""A landmark data set made up on the spot: buildings seen from many sides, and others that no query asks for.

It stands where the Oxford Buildings would: photographs in one flat folder, five queries a landmark, and ground-truth
files in the same format. Landmarks share windows, walls and mouldings with every other building, so that most visual
words say little, and own some ornaments, so that there is something to learn. Every image has a random stream of its
own, so any process may draw any part of the set.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.data.drawing import fingerprint, require, write_shard
from lookalike.data.ground_truth import GroundTruth, Query, write_ground_truth
from lookalike.data.landmark_models import KINDS
from lookalike.data.landmark_plans import DISTRACTOR, Plan, Planner
from lookalike.data.landmark_scenes import paint
from lookalike.data.materials import ByteArray

N_QUERIES = 5
"""Queries of each landmark, as in the Oxford Buildings."""
JPEG_QUALITY = 90
RECIPE = 1
"""Version of how images are drawn: to be raised whenever the same settings come to give other images."""
_require = partial(require, "landmarks")

_PLACES = (
    "abbey", "bishop", "bridge", "castle", "college", "corn", "duke", "east", "forest", "garden", "harbour", "king",
    "market", "mill", "north", "old", "orchard", "priory", "queen", "river", "south", "town", "west", "wool",
)  # fmt: skip
MAX_LANDMARKS = len(_PLACES)


@dataclass(frozen=True)
class SyntheticLandmarks:
    """What a synthetic landmark set is like.

    Parameters
    ----------
    n_landmarks : int
        Number of landmarks, at most `MAX_LANDMARKS`. Fewer landmarks are the first ones of more: their images do not
        change.
    images_per_landmark : int
        Number of images of each landmark, good, ok and junk together; at least `N_QUERIES` must be good.
    n_distractors : int
        Number of images without a landmark.
    good, ok : float
        Shares, 0..1, of a landmark's images that show it clearly, and that show more than a quarter of it; the rest
        shows less and is junk.
    width, height : int
        Size of the images in pixels, 96 to 1024 each, half as wide as high to 2.5 times as wide; textures scale along.
    difficulty : float
        0 (easy) to 1 (hard): how few ornaments are a landmark's own, and how much viewpoint, scale, light, occlusion,
        blur and noise vary.
    seed : int
        Seed of this data set, 0 or more; the workflow derives it from its root seed.

    Raises
    ------
    LookalikeError
        When a number is out of range.
    """

    n_landmarks: int = 7
    images_per_landmark: int = 26
    n_distractors: int = 220
    good: float = 0.55
    ok: float = 0.27
    width: int = 320
    height: int = 240
    difficulty: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        _require(self.n_landmarks <= MAX_LANDMARKS, "landmarks", self.n_landmarks, f"of {MAX_LANDMARKS} or less")
        # far narrower or wider images have room for no view of some landmarks
        _require(0.5 <= self.width / self.height <= 2.5, "width / height", self.width / self.height, "from 0.5 to 2.5")
        _require(self.good + self.ok <= 1, "good + ok", self.good + self.ok, "of 1 or less")
        n_good = self.relevances().count("good")
        _require(
            n_good >= N_QUERIES, "good x images_per_landmark", n_good, f"of {N_QUERIES} or more, one for each query"
        )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], seed: int) -> SyntheticLandmarks:
        """Make it from a data set's entry ``synthetic_landmarks`` in config.yaml, and the seed of the data set."""
        names = {"landmarks": "n_landmarks", "distractors": "n_distractors"}
        return cls(**{names.get(key, key): value for key, value in settings.items()}, seed=seed)

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that any other number of this object, or `RECIPE`, would change."""
        return fingerprint(self, RECIPE)

    def landmark_names(self) -> list[str]:
        """Names of the landmarks, as in ``market_tower``, sorted."""
        return sorted(landmark_name(self.seed, number) for number in range(self.n_landmarks))

    def relevances(self) -> list[str]:
        """Lists of the ground truth that a landmark's images are in, one for each image, in no random order."""
        n_good = round(self.good * self.images_per_landmark)
        n_ok = min(round(self.ok * self.images_per_landmark), self.images_per_landmark - n_good)
        return ["good"] * n_good + ["ok"] * n_ok + ["junk"] * (self.images_per_landmark - n_good - n_ok)

    def members(self) -> list[tuple[int, int]]:
        """Landmark (`DISTRACTOR` for none) and number of every image."""
        numbers = range(self.images_per_landmark)
        return [*itertools.product(range(self.n_landmarks), numbers)] + [
            (DISTRACTOR, number) for number in range(self.n_distractors)
        ]


def landmark_name(seed: int, number: int) -> str:
    """Name of a landmark: a place and what kind of building it is, as in ``market_tower``."""
    places = generator(seed, "names").permutation(len(_PLACES))
    return f"{_PLACES[int(places[number])]}_{KINDS[number % len(KINDS)]}"


def image_name(spec: SyntheticLandmarks, landmark: int, number: int) -> str:
    """Name of an image's file without the suffix, as in ``market_tower_000012`` or ``distractor_000034``."""
    name = "distractor" if landmark == DISTRACTOR else landmark_name(spec.seed, landmark)
    return f"{name}_{number:06d}"


def _wanted(spec: SyntheticLandmarks, landmark: int, number: int) -> str:
    """Which list an image is to be in; in random order, so that its number tells nothing."""
    order = generator(spec.seed, "relevance", landmark).permutation(spec.images_per_landmark)
    return spec.relevances()[int(order[number])]


@lru_cache(maxsize=4096)
def plan_image(spec: SyntheticLandmarks, landmark: int, number: int) -> Plan:
    """Plan one image of the set, of a landmark or (`DISTRACTOR`) of none: what is seen in it, without drawing it."""
    rng = generator(spec.seed, "image", landmark + 1, number)
    planner = Planner(spec.seed, spec.difficulty, (spec.width, spec.height), _density(spec), rng)
    if landmark == DISTRACTOR:
        return planner.distractor()
    return planner.landmark(landmark, _wanted(spec, landmark, number))


def _density(spec: SyntheticLandmarks) -> int:
    """Pixels of the textures per metre: about as many as the nearest views show."""
    return round(12 * max(spec.width / 320, spec.height / 240))


def draw_image(spec: SyntheticLandmarks, landmark: int, number: int) -> ByteArray:
    """Draw one image of the set: uint8 of shape (height, width, 3), RGB."""
    import cv2

    cv2.setNumThreads(1)
    plan = plan_image(spec, landmark, number)
    return paint(spec.seed, plan, generator(spec.seed, "sensor", landmark + 1, number))


def write_images(spec: SyntheticLandmarks, folder: str | os.PathLike[str], shard: int = 0, n_shards: int = 1) -> int:
    """Draw and write a shard of the set into one flat folder; return how many files these are."""

    def path(landmark: int, number: int) -> str:
        return f"{image_name(spec, landmark, number)}.jpg"

    return write_shard(spec.members(), path, partial(draw_image, spec), folder, shard, n_shards, JPEG_QUALITY)


def ground_truth(spec: SyntheticLandmarks) -> GroundTruth:
    """Return the queries and lists of the set, from its geometry alone.

    A landmark's queries are chance good images of it, and the rectangle is what is visible of it; they are in their own
    lists, as in the Oxford Buildings.
    """
    queries, relevance = [], {}
    for landmark in sorted(range(spec.n_landmarks), key=lambda number: landmark_name(spec.seed, number)):
        plans = {
            image_name(spec, landmark, number): plan_image(spec, landmark, number)
            for number in range(spec.images_per_landmark)
        }
        listed = {image: plan.relevance for image, plan in plans.items()}
        good = sorted(image for image, kind in listed.items() if kind == "good")
        chosen = generator(spec.seed, "queries", landmark).choice(len(good), size=N_QUERIES, replace=False)
        for number, which in enumerate(chosen, start=1):
            name, image = landmark_name(spec.seed, landmark), good[int(which)]
            queries.append(Query(f"{name}_{number}", name, number, image, *plans[image].visibility.box))
            relevance[f"{name}_{number}"] = listed
    return GroundTruth(tuple(queries), relevance)


def write_ground_truth_files(spec: SyntheticLandmarks, folder: str | os.PathLike[str]) -> None:
    """Write `ground_truth` in the format of the Oxford Buildings; nothing is drawn.

    `folder` is not that of the images, where each text file would be a row of the manifest.
    """
    write_ground_truth(folder, *ground_truth(spec))


def visibility_table(spec: SyntheticLandmarks) -> pd.DataFrame:
    """Tabulate what each image shows, without drawing any.

    ``share`` is of the landmark that is visible, 0..1, ``coverage`` of the image that shows it, ``azimuth`` how many
    degrees the camera stands to the right of the front; the box is in pixels.
    """
    rows = []
    for landmark, number in spec.members():
        plan = plan_image(spec, landmark, number)
        x, _, z = plan.camera.position
        box = dict(zip(("x_min", "y_min", "x_max", "y_max"), plan.visibility.box, strict=True))
        rows.append(
            {
                "image": image_name(spec, landmark, number),
                "landmark": "" if landmark == DISTRACTOR else landmark_name(spec.seed, landmark),
                "relevance": plan.relevance,
                "share": plan.visibility.share,
                "coverage": plan.visibility.coverage,
                "azimuth": float(np.degrees(np.arctan2(x, z))),
                **box,
            }
        )
    return pd.DataFrame(rows)
