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
from lookalike.data.scene import NONE, OBJECTS, Cloth, Pose, Random, Recipe, Scene, ellipse, look, outlines

N_QUERIES = 5  # of each landmark, as in the Oxford Buildings
_N_OTHERS = 28  # buildings that no query asks for
_N_ORNAMENTS = 8  # of a building, and of those that any may have
_PLACES = (
    "abbey bishop bridge castle college corn duke east forest garden harbour king "
    "market mill north old orchard priory queen river south town west wool"
)
_TRIES = 400
_COARSE = 4  # what is left to see is counted on a grid this many times coarser than the image
_SHAPES = {  # right halves of fronts, from the foot up: half width and height, in shares
    "hall": [(1, 0), (1, 0.7), (0.8, 1)],
    "tower": [(1, 0), (1, 0.45), (0.3, 0.45), (0.3, 0.75), (0, 1)],
    "gate": [(1, 0), (1, 0.8), (0.85, 1), (0.7, 0.8), (0.7, 0.6)],
    "chapel": [(1, 0), (1, 0.6), (0.4, 0.6), (0, 1)],
    "rotunda": [(1, 0), (1, 0.5), *ellipse(0, 0.5, 0.6, 0.5, 0, 90)],
}
_CORNERS = np.array([(-0.5, 1), (0.5, 1), (0.5, 0), (-0.5, 0)])
_GROUNDS = (Cloth("cobble", "slate"), Cloth("fur", "moss"))


class Camera(NamedTuple):
    """A camera that is held level."""

    place: tuple[float, float, float]  # in metres
    heading: float  # in radians; 0 looks at the front
    focal: float  # in pixels
    centre: tuple[float, float]  # pixel of the point straight ahead; the horizon is at its height

    def project(self, points: Doubles) -> Doubles:
        """Return pixels (n, 2) of points (n, 3); no numbers where one of them is not before the camera."""
        x, y, z = (points - self.place).T
        cosine, sine = np.cos(self.heading), np.sin(self.heading)
        ahead = -x * sine - z * cosine
        ahead = np.where(ahead.min() < 0.5, np.nan, ahead)
        return np.stack([x * cosine - z * sine, -y], axis=-1) * self.focal / ahead[:, None] + self.centre


class Building(NamedTuple):
    """The front of a building, whose ornaments go by the name of its owner, and where it stands."""

    owner: str
    outline: Doubles  # in metres: x from the middle, y up from the ground
    size: Doubles  # width and height
    x: float = 0.0
    z: float = 0.0

    def project(self, points: Doubles, camera: Camera) -> Doubles:
        """Return pixels of points of the front; no numbers where a camera does not see it."""
        seen = camera.project(np.insert(np.add(points, (self.x, 0)), 2, self.z, axis=1))
        return seen if camera.place[2] > self.z else np.full_like(seen, np.nan)


@lru_cache(maxsize=64)
def building_of(seed: int, owner: str) -> Building:
    """Return the building of a name: ``landmark 3``, whose shape follows from its number, or ``other 17``."""
    rng, (what, number) = generator(seed, owner), owner.split()
    shape = int(number) % len(_SHAPES) if what == "landmark" else rng.integers(len(_SHAPES))
    size = np.array([rng.uniform(18, 28), rng.uniform(12, 18)])
    right = np.array([*_SHAPES.values()][shape])
    return Building(owner, np.concatenate([right, (right * (-1, 1))[::-1]]) * size / (2, 1), size)


@lru_cache(maxsize=256)
def _pictures_of(recipe: PaintedLandmarks, owner: str) -> tuple[Bytes, ...]:
    """Paint a front, and ever smaller: RGB and the cover; each row has one ornament, its owner's or one of all."""
    building, rng = building_of(recipe.seed, owner), generator(recipe.seed, "front", owner)
    density = 10 * max(recipe.width / 320, recipe.height / 240)  # pixels a metre
    size = (density * building.size).astype(int)
    scene = Scene(recipe, (int(size[0]), int(size[1])), rng)
    (laid,) = scene.materials([Cloth.any(rng)], 0)
    scene.canvas = 0.9 * laid.colours[look(laid.tile, (scene.width, scene.height), laid.onto)]
    half = rng.uniform(1.2, 1.6) * density
    for y in np.arange(scene.height - 1.2 * half, half, -2.4 * half):
        name = owner if rng.random() < recipe.knobs["own"] else "shared"
        ornament = generator(recipe.seed, "ornament", name, int(rng.integers(_N_ORNAMENTS)))
        thing, cloths = str(ornament.choice(tuple(OBJECTS))), [Cloth.any(ornament) for _ in range(3)]
        for x in np.arange(half, scene.width, rng.uniform(2.2, 3.5) * half):
            scene.paint_thing(thing, Pose(x, y, half), scene.materials(cloths, 0))
    corners = np.round((building.outline * (1, -1) / building.size + (0.5, 1)) * size).astype(np.int32)
    cover = cv2.fillPoly(np.zeros(scene.canvas.shape[:2], np.uint8), [corners], 255)
    pictures = [np.dstack([np.clip(scene.canvas, 0, 255).astype(np.uint8), cover])]
    while len(pictures) < 4:
        pictures.append(np.asarray(cv2.resize(pictures[-1], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)))
    return tuple(pictures)


class View(NamedTuple):
    """One image before it is painted: buildings and trees from the hindmost on, and what it shows of a landmark."""

    camera: Camera
    street: tuple[Building, ...]
    trees: tuple[Pose, ...]
    share: float = 0.0  # of the landmark's projection that is visible
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


def measured(view: View, landmark: Building, size: tuple[int, int]) -> View:
    """Return the view with what it shows of one of its buildings, by a coarse grid of three by three images."""
    width, height = (side // _COARSE for side in size)
    whole, free = np.zeros((3 * height, 3 * width), np.uint8), np.ones((3 * height, 3 * width), np.uint8)
    nearer = view.street[view.street.index(landmark) + 1 :]
    before = [other.project(other.outline, view.camera) for other in nearer]
    before += [part for tree in view.trees for part, _ in outlines("tree", tree)]
    for grid, value, polygons in ((whole, 1, [landmark.project(landmark.outline, view.camera)]), (free, 0, before)):
        for polygon in (polygon for polygon in polygons if np.isfinite(polygon).all()):
            corners = np.clip(np.round(polygon / _COARSE + (width, height)), -9_999, 9_999)
            cv2.fillPoly(grid, [corners.astype(np.int32)], value)
    seen = (whole * free)[height : 2 * height, width : 2 * width]
    if not seen.any():
        return view
    columns, rows = np.flatnonzero(seen.any(axis=0)), np.flatnonzero(seen.any(axis=1))
    left, top, right, bottom = (float(_COARSE * n) for n in (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    share, coverage = float(seen.sum() / whole.sum()), float(seen.mean())
    return view._replace(share=share, coverage=coverage, box=(left, top, right, bottom))


class PaintedLandmarks(SyntheticLandmarks, Recipe):
    """A set of synthetic landmarks; fewer are the first ones of more."""

    version = 3
    extremes: ClassVar = {
        "own": (1.0, 0.6),  # share of a building's ornaments that no other has
        "azimuth": (25.0, 72.0),  # most degrees from the front in a good image
        "trees": (1.0, 4.0),  # in the way, at most
        "light": (0.05, 0.25),  # as the next four in `Scene.photograph`
        "cast": (0.02, 0.12),
        "falloff": (0.1, 0.35),
        "blur": (0.4, 1.9),
        "noise": (2.0, 7.0),
    }

    def wanted(self) -> list[str]:
        """Return the list of the ground truth of each image of a landmark, in no random order."""
        n_good, n_ok = (round(share * self.images_per_landmark) for share in (self.good, self.ok))
        wanted = ["good"] * n_good + ["ok"] * n_ok + ["junk"] * self.images_per_landmark
        return wanted[: self.images_per_landmark]

    def name_of(self, landmark: int) -> str:
        """Name of a landmark: a place and what kind of building it is, as in ``market_tower``."""
        if landmark == NONE:
            return "distractor"
        places = generator(self.seed, "names").permutation(_PLACES.split())
        return f"{places[landmark]}_{tuple(_SHAPES)[landmark % len(_SHAPES)]}"

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
        ground = _GROUNDS[rng.integers(len(_GROUNDS))]
        scene.paint_behind(max(view.camera.centre[1], 1.0), int(rng.integers(3)), ground, ground)
        for building in view.street:
            corners = building.project(building.size * _CORNERS, view.camera)
            if np.isfinite(corners).all():
                scene.paint_plane(_pictures_of(self, building.owner), corners)
        for tree in view.trees:
            cloths = Cloth("fur", str(rng.choice(("moss", "olive", "amber")))), Cloth("timber", "rust")
            scene.paint_thing("tree", tree, scene.materials(cloths, 0.8))
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
    owner = f"other {rng.integers(_N_OTHERS)}" if landmark == NONE else f"landmark {landmark}"
    middle = building_of(recipe.seed, owner)
    street = [middle]  # with one more on its left and on its right
    for side, other in zip((-1, 1), rng.choice(_N_OTHERS, size=2, replace=False), strict=True):
        neighbour = building_of(recipe.seed, f"other {other}")
        away = (middle.size[0] + neighbour.size[0]) / 2 + rng.uniform(1, 7)
        street.append(neighbour._replace(x=side * away, z=rng.uniform(-6, 0)))
    if landmark == NONE:
        wanted, more = str(rng.choice(("good", "far"), p=(0.6, 0.4))), int(rng.choice((0, 4), p=(0.85, 0.15)))
        return _view(recipe, street, _camera(recipe, middle, wanted, rng), rng, more)
    order = generator(recipe.seed, "relevance", landmark).permutation(recipe.images_per_landmark)
    wanted = recipe.wanted()[int(order[number])]
    for _ in range(_TRIES):
        view = _view(recipe, street, _camera(recipe, middle, wanted, rng), rng)
        view = measured(view, middle, (recipe.width, recipe.height))
        if view.relevance == wanted:
            return view
    raise LookalikeError(
        f"synthetic images: no {wanted} view of landmark {landmark} in {_TRIES} tries; choose another seed, or a width "
        "and height that are closer to each other"
    )


def _camera(recipe: PaintedLandmarks, building: Building, wanted: str, rng: Random) -> Camera:
    """Choose a camera that likely gives such an image; what it really gives is measured."""
    most = recipe.knobs["azimuth"]
    focal, heading = recipe.width * rng.uniform(0.95, 1.35), np.deg2rad(rng.uniform(-most, most))
    fill, shift = rng.uniform(0.56, 0.99), 0.1
    if wanted == "far" or (wanted == "ok" and rng.random() < 0.4):
        fill, shift = rng.uniform(0.22, 0.42), 0.35
    elif wanted in ("ok", "junk"):
        fill, shift = rng.uniform(0.8, 1.5), 0.75 if wanted == "junk" else 0.6
    # as large on the image as it is wide, but never so near that its top is out of sight
    width, height = building.size
    across = max(width, height * recipe.width / recipe.height * 0.95)
    distance, tall = focal * across / (fill * recipe.width), rng.uniform(1.6, 5)
    sideways = rng.uniform(-shift, shift) * focal * width / distance
    raised = (height * rng.uniform(0.39, 0.53) - tall) * focal / distance
    centre = recipe.width / 2 + sideways, recipe.height / 2 + raised
    return Camera((distance * np.sin(heading), tall, distance * np.cos(heading)), heading, focal, centre)


def _view(recipe: PaintedLandmarks, street: list[Building], camera: Camera, rng: Random, more: int = 0) -> View:
    """Order the buildings of a street and put trees before them, the lower in the image the larger."""
    most, trees = recipe.knobs["trees"] + more, []
    for _ in range(int(rng.uniform(more, most + 1))):
        scale = camera.focal / rng.uniform(8, 28)
        half, foot = rng.uniform(2, 5) * scale, camera.centre[1] + camera.place[1] * scale
        trees.append(Pose(rng.uniform(-0.05, 1.05) * recipe.width, foot - half, half, stretch=rng.uniform(0.7, 1)))
    far_to_near = sorted(street, key=lambda building: -abs(building.x - camera.place[0]))
    return View(camera, tuple(far_to_near), tuple(sorted(trees, key=lambda tree: tree.y + tree.half)))
