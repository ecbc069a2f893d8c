"""Synthetic landmarks: fronts of buildings from many sides, and others that no query asks for, as in Oxford's."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import cv2
import numpy as np

from lookalike.core.arrays import Bytes, Doubles
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import SyntheticLandmarks
from lookalike.data.ground_truth import Query, Truth, painted_truth, write_ground_truth
from lookalike.data.scene import NONE, THINGS, Cloth, Pose, Random, Recipe, Scene, cover, ellipse, mirrored, outlines

N_QUERIES = 5  # of each landmark, as in the Oxford Buildings
_N_OTHERS = 28  # buildings that no query asks for
_N_ORNAMENTS = 8  # of a building, and of those that any may have
_PLACES = (
    "abbey bishop bridge castle college corn duke east forest garden harbour king "
    "market mill north old orchard priory queen river south town west wool"
)
_TRIES = 400
_FRONT = (256, 192)  # width and height of the picture of a front, in pixels
_SHAPES = {  # of fronts, in the square -1..1
    "hall": mirrored((0.8, -1), (1, -0.4), (1, 1)),
    "tower": mirrored((0, -1), (0.3, -0.5), (0.3, 0.1), (1, 0.1), (1, 1)),
    "gate": mirrored((0.7, -0.2), (0.7, -0.6), (0.85, -1), (1, -0.6), (1, 1)),
    "chapel": mirrored((0, -1), (0.4, -0.2), (1, -0.2), (1, 1)),
    "rotunda": np.concatenate([ellipse(0, 0, 0.6, 1, 180, 360), mirrored((1, 0), (1, 1))]),
}
_SQUARE = np.array([(-1.0, -1), (1, -1), (1, 1), (-1, 1)])


class Building(NamedTuple):
    """The front of a building in an image."""

    owner: str  # ``landmark 3`` or ``other 17``
    x: float  # of its middle, as all that follows in pixels
    width: float
    height: float
    foot: float
    lean: float  # how much nearer its left side is than its middle, and its right side farther, in shares
    horizon: float

    def corners(self, points: Doubles) -> Doubles:
        """Return pixels (n, 2) of points of the front, in the square -1..1."""
        u, v = points.T
        nearness = 1 / (1 + self.lean * u)
        above = self.foot + (v - 1) / 2 * self.height - self.horizon
        return np.column_stack([self.x + self.width / 2 * u * nearness, self.horizon + above * nearness])


def shape_of(owner: str) -> str:
    """Return the shape of a building, which follows from its number."""
    return tuple(_SHAPES)[int(owner.split()[1]) % len(_SHAPES)]


@lru_cache(maxsize=256)
def _front_of(recipe: PaintedLandmarks, owner: str) -> Bytes:
    """Paint a front, RGB and what it covers: rows of ornaments on a wall, each row's the owner's or one of all."""
    rng, (width, height) = generator(recipe.seed, "front", owner), _FRONT
    scene = Scene(recipe, _FRONT, rng)
    wall = Cloth.any(rng)._replace(light=50.0, contrast=36.0, zoom=rng.uniform(0.6, 1.5), turn=rng.uniform(0, np.pi))
    scene.canvas = scene.piece(wall, _FRONT)
    half = rng.uniform(14, 18)
    for y in np.arange(height - 1.2 * half, half, -2.4 * half):
        name = owner if rng.random() < recipe.knobs["own"] else "shared"
        ornament = generator(recipe.seed, "ornament", name, int(rng.integers(_N_ORNAMENTS)))
        thing, cloths = str(ornament.choice(tuple(THINGS))), [Cloth.any(ornament) for _ in range(3)]
        for x in np.arange(half, width, rng.uniform(2.2, 3.5) * half):
            scene.paint_thing(thing, Pose(x, y, half), cloths)
    covers = cover((_SHAPES[shape_of(owner)] + 1) / 2 * _FRONT, (height, width))
    return np.asarray(np.clip(np.dstack([scene.canvas, 255 * covers]), 0, 255), np.uint8)


class View(NamedTuple):
    """One image before it is painted: buildings and trees from the hindmost on, and what it shows of a landmark."""

    street: tuple[Building, ...]
    trees: tuple[Pose, ...]
    share: float = 0.0  # of the landmark that is visible
    coverage: float = 0.0  # share of the image that shows it
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)  # x_min, y_min, x_max, y_max in pixels

    @property
    def relevance(self) -> str:
        """List of the ground truth that the image belongs to; "" where the landmark cannot be recognised at all."""
        if self.share < 0.04 or self.coverage < 0.005:
            return ""
        if self.share < 0.25:  # Oxford Buildings: ok is "more than 25% of the object is clearly visible"
            return "junk"
        return "good" if self.share >= 0.6 and self.coverage >= 0.1 else "ok"


class PaintedLandmarks(SyntheticLandmarks, Recipe):
    """A set of synthetic landmarks; fewer are the first ones of more."""

    extremes: ClassVar = {
        "own": (1.0, 0.6),  # share of a building's ornaments that no other has
        "azimuth": (25.0, 65.0),  # most degrees from the front
        "trees": (1.0, 4.0),  # in the way, at most
        "light": (0.05, 0.25),  # as the next two in `Scene.photograph`
        "blur": (0.4, 1.9),
        "noise": (2.0, 7.0),
    }

    def name_of(self, landmark: int) -> str:
        """Name of a landmark: a place and what kind of building it is, as in ``market_tower``."""
        if landmark == NONE:
            return "distractor"
        places = generator(self.seed, "names").permutation(_PLACES.split())
        return f"{places[landmark]}_{shape_of(f'landmark {landmark}')}"

    def counts(self) -> dict[tuple[int], int]:
        """Return how many images there are of each landmark, and of none."""
        return {(number,): self.images_per_landmark for number in range(self.landmarks)} | {(NONE,): self.distractors}

    def path(self, landmark: int, number: int) -> str:
        """Name of an image's file, as in ``market_tower_000012.jpg`` or ``distractor_000034.jpg``."""
        return f"{self.name_of(landmark)}_{number:06d}.jpg"

    def paint(self, landmark: int, number: int) -> Bytes:
        """Paint an image of a landmark, or (`NONE`) of none."""
        view, rng = view_of(self, landmark, number), generator(self.seed, "light", landmark + 1, number)
        scene = Scene(self, (self.width, self.height), rng)
        ground = Cloth("grainy", 0.31, contrast=30.0) if rng.random() < 0.5 else Cloth("cloudy", 0.1, chroma=8.0)
        scene.paint_behind(view.street[0].horizon, Cloth("cloudy", rng.uniform(0.6, 0.75)), ground)
        for building in view.street:
            sides = [int(max(2, min(ends))) for ends in zip((building.width, building.height), _FRONT, strict=True)]
            # means of pixels: a front that is far away does not flicker
            front = cv2.resize(_front_of(self, building.owner), sides, interpolation=cv2.INTER_AREA)
            corners = np.array([(_SQUARE + 1) / 2 * sides, building.corners(_SQUARE)], np.float32)
            seen = cv2.warpPerspective(front, cv2.getPerspectiveTransform(*corners), (self.width, self.height))
            scene.canvas += (seen[..., :3] - scene.canvas) * (seen[..., 3:] / np.float32(255))
        for tree in view.trees:
            cloths = Cloth("cloudy", rng.uniform(0.2, 0.35), zoom=3.0), Cloth("grainy", 0.15, light=35.0)
            scene.paint_thing("tree", tree, cloths)
        return scene.photograph()

    def write_beside(self, folder: str | Path) -> None:
        """Write the ground truth of images in a folder."""
        write_ground_truth(painted_truth(folder), self.ground_truth())

    def ground_truth(self) -> Truth:
        """Return queries and lists from the geometry alone; queries are in their own lists, as in Oxford's."""
        truth = {}
        for landmark in sorted(range(self.landmarks), key=self.name_of):
            name, numbers = self.name_of(landmark), range(self.images_per_landmark)
            views = {f"{name}_{number:06d}": view_of(self, landmark, number) for number in numbers}
            good = sorted(image for image, view in views.items() if view.relevance == "good")
            chosen = generator(self.seed, "queries", landmark).choice(good, size=N_QUERIES, replace=False)
            for place, image in enumerate(chosen.tolist(), start=1):
                query = Query(f"{name}_{place}", name, place, image, *views[image].box)
                truth[query] = {image: view.relevance for image, view in views.items()}
        return truth


@lru_cache(maxsize=4096)
def view_of(recipe: PaintedLandmarks, landmark: int, number: int) -> View:
    """Return the view of an image: of a landmark one that the geometry puts into the list that is wanted."""
    rng = generator(recipe.seed, "image", landmark + 1, number)
    owners = [f"other {other}" for other in rng.choice(_N_OTHERS, size=3, replace=False)]
    if landmark == NONE:
        return _view(recipe, owners, rng)
    owners[0], n_images = f"landmark {landmark}", recipe.images_per_landmark
    place = generator(recipe.seed, "relevance", landmark).permutation(n_images)[number]
    n_good, n_ok = round(recipe.good * n_images), round(recipe.ok * n_images)
    wanted = "good" if place < n_good else "ok" if place < n_good + n_ok else "junk"
    for _ in range(_TRIES):
        view = _view(recipe, owners, rng)
        if view.relevance == wanted:
            return view
    raise LookalikeError(
        f"synthetic images: no {wanted} view of landmark {landmark} in {_TRIES} tries; choose another seed, or a width "
        "and height that are closer to each other"
    )


def _view(recipe: PaintedLandmarks, owners: list[str], rng: Random) -> View:
    """Place a building at random, with one more behind it on either side and trees before it."""
    size, azimuth = (recipe.width, recipe.height), np.deg2rad(rng.uniform(-1, 1) * recipe.knobs["azimuth"])
    aspect = generator(recipe.seed, "aspect", owners[0]).uniform(1.1, 1.7)
    height = rng.uniform(0.3, 1.3) * min(size[0] / aspect, 0.95 * size[1])
    width = height * aspect * float(np.cos(azimuth))
    x = size[0] / 2 + rng.uniform(-1, 1) * rng.uniform(0.1, 0.75) * width
    foot = size[1] / 2 + rng.uniform(0.4, 0.53) * height
    building = Building(owners[0], x, width, height, foot, 0.4 * float(np.sin(azimuth)), foot - 0.2 * height)
    street, trees = [building], []
    for side, owner in zip((-1, 1), owners[1:], strict=True):
        smaller, away = rng.uniform(0.6, 0.9), side * rng.uniform(0.9, 1.3) * width
        sizes = {"width": smaller * width, "height": smaller * height, "foot": foot - (1 - smaller) * 0.2 * height}
        street.insert(0, building._replace(owner=owner, x=x + away, **sizes))
    for half in sorted(rng.uniform(0.1, 0.5, size=int(rng.uniform(0, recipe.knobs["trees"] + 1))) * size[1]):
        middle = building.horizon - half * rng.uniform(-0.1, 0.3)
        trees.append(Pose(rng.uniform(-0.05, 1.05) * size[0], middle, half, stretch=rng.uniform(0.7, 1)))
    return measured(View(tuple(street), tuple(trees)), size)


def measured(view: View, size: tuple[int, int]) -> View:
    """Return the view with what an image of it, of a width and height, shows of its last building behind the trees."""
    front = view.street[-1].corners(_SHAPES[shape_of(view.street[-1].owner)])
    seen = np.zeros(size[::-1], np.uint8)
    before = [part for tree in view.trees for part, _ in outlines("tree", tree)]
    for polygon in (front, *before):
        cv2.fillPoly(seen, [np.round(polygon).astype(np.int32)], int(polygon is front))
    if not seen.any():
        return view
    columns, rows = np.flatnonzero(seen.any(axis=0)), np.flatnonzero(seen.any(axis=1))
    box = float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
    share = float(seen.sum() / cv2.contourArea(front.astype(np.float32)))
    return view._replace(share=share, coverage=float(seen.mean()), box=box)
