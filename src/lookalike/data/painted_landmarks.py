"""Synthetic landmarks: buildings seen from many sides, and others that no query asks for, as in the Oxford Buildings.

All share walls, windows and some carvings. Which list an image is in follows from what is left to see in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.data import painter
from lookalike.data.buildings import KINDS, Building, building_of, pictures_of
from lookalike.data.ground_truth import GroundTruth, Query
from lookalike.data.painter import Light, Material, Pose, Recipe, require
from lookalike.data.shapes import Polygon
from lookalike.data.textures import ByteArray, FloatArray, Random, hued, ramp, tile, turned

DISTRACTOR = -1
"""Number that stands for no landmark."""
N_QUERIES = 5
"""Queries of each landmark, as in the Oxford Buildings."""
_N_OTHERS = 28  # buildings that no query asks for
_PLACES = (
    "abbey", "bishop", "bridge", "castle", "college", "corn", "duke", "east", "forest", "garden", "harbour", "king",
    "market", "mill", "north", "old", "orchard", "priory", "queen", "river", "south", "town", "west", "wool",
)  # fmt: skip
_KNOBS = {  # at difficulty 0 and at difficulty 1
    "own": (1.0, 0.2),  # share of a building's carvings that no other has
    "azimuth": (25.0, 72.0),  # most degrees from the front in a good image
    "trees": (1.0, 4.0),  # in the way, at most
    "light": (0.05, 0.25),  # spread of the logarithm of exposure and gamma
    "cast": (0.02, 0.12),  # spread of the logarithm of each channel
    "falloff": (0.1, 0.35),  # of the light across the image, at most
    "blur": (0.4, 1.9),  # most, in pixels of a 320 x 240 image
    "noise": (2.0, 7.0),  # most, in grey levels
}
_TRIES = 400
_COARSE = 4  # what is left to see is counted on a grid this many times coarser than the image


class Camera(NamedTuple):
    """A camera that is held level: place in metres, heading (radians, 0 looks at the front), focal length in pixels.

    `centre` is where on the image the point straight ahead is: the horizon, too, is at that height.
    """

    place: tuple[float, float, float]
    heading: float
    focal: float
    centre: tuple[float, float]

    def project(self, points: Polygon) -> Polygon:
        """Pixels (..., n, 2) of points (..., n, 3); no numbers where one of the n is not before the camera."""
        x, y, z = np.moveaxis(points - self.place, -1, 0)
        cosine, sine = np.cos(self.heading), np.sin(self.heading)
        ahead = -x * sine - z * cosine
        ahead = np.where(ahead.min(axis=-1, keepdims=True) < 0.5, np.nan, ahead)
        return np.stack([x * cosine - z * sine, -y], axis=-1) * self.focal / ahead[..., None] + self.centre


class Standing(NamedTuple):
    """A building and where its front's middle stands, in metres."""

    building: Building
    x: float = 0.0
    z: float = 0.0

    def faces(self, camera: Camera) -> list[tuple[int, Polygon]]:
        """Numbers of the faces that show, from the hindmost on, and the pixels of their corners."""
        pixels = camera.project(np.add(self.building.corners, (self.x, 0, self.z)))
        (ax, ay), (dx, dy) = (pixels[:, 1] - pixels[:, 0]).T, (pixels[:, 3] - pixels[:, 0]).T
        showing, faces = np.flatnonzero(ax * dy - ay * dx > 1).tolist(), self.building.faces
        showing.sort(key=lambda number: (faces[number].layer, -abs(self.x + faces[number].x - camera.place[0])))
        return [(number, pixels[number]) for number in showing]

    def outlines(self, camera: Camera) -> list[Polygon]:
        """Outlines in pixels of what can be seen of the faces."""
        pixels = camera.project(np.add(self.building.outlines, (self.x, 0, self.z)))
        return [pixels[number] for number, _ in self.faces(camera)]


class View(NamedTuple):
    """One image before it is painted: buildings and trees from the hindmost on, and what it shows of a landmark.

    `share` is what is visible of the landmark's projection, `coverage` of the image, both 0..1; `box` is its rectangle:
    x_min, y_min, x_max, y_max in pixels.
    """

    camera: Camera
    street: tuple[Standing, ...]
    trees: tuple[Pose, ...]
    share: float = 0.0
    coverage: float = 0.0
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def relevance(self) -> str:
        """List of the ground truth that the image belongs to; "" where the landmark cannot be recognised at all.

        A clear view shows 60% or more of the landmark on a tenth of the image; from a quarter on it is ok, below it
        junk (Oxford Buildings: "more than 25% of the object is clearly visible").
        """
        if self.share < 0.04 or self.coverage < 0.005:
            return ""
        if self.share < 0.25:
            return "junk"
        return "good" if self.share >= 0.6 and self.coverage >= 0.1 else "ok"


def measured(view: View, landmark: Standing, size: tuple[int, int]) -> View:
    """The view with what it shows of one of its buildings, by a coarse grid of three by three images."""
    width, height = (side // _COARSE for side in size)
    whole, free = np.zeros((3 * height, 3 * width), np.uint8), np.ones((3 * height, 3 * width), np.uint8)
    nearer = view.street[view.street.index(landmark) + 1 :]
    before = [outline for other in nearer for outline in other.outlines(view.camera)]
    before += [part for tree in view.trees for part, _ in painter.outlines("tree", tree)]
    for grid, value, polygons in ((whole, 1, landmark.outlines(view.camera)), (free, 0, before)):
        for polygon in polygons:
            corners = np.clip(np.round(polygon / _COARSE + (width, height)), -9_999, 9_999)
            cv2.fillPoly(grid, [corners.astype(np.int32)], value)
    seen = (whole * free)[height : 2 * height, width : 2 * width]
    if not seen.any():
        return view
    columns, rows = np.flatnonzero(seen.any(axis=0)), np.flatnonzero(seen.any(axis=1))
    left, top, right, bottom = (float(_COARSE * n) for n in (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    return view._replace(
        share=float(seen.sum() / whole.sum()), coverage=float(seen.mean()), box=(left, top, right, bottom)
    )


@dataclass(frozen=True)
class PaintedLandmarks(Recipe):
    """A set of synthetic landmarks; a number out of range is a `LookalikeError`."""

    landmarks: int = 7  # at most 24; fewer are the first ones of more
    images_per_landmark: int = 26
    distractors: int = 220  # images without a landmark
    good: float = 0.55  # share of a landmark's images that show it clearly; queries are among them
    ok: float = 0.27  # share that shows more than a quarter of it; the rest is junk
    width: int = 320
    height: int = 240
    difficulty: float = 0.5  # 0 to 1
    seed: int = 0

    version = 2
    quality = 90

    def __post_init__(self) -> None:
        most, ratio, n_good = len(_PLACES), self.width / self.height, self._wanted().count("good")
        require(self.landmarks <= most, "landmarks", self.landmarks, f"of {most} or less")
        # far narrower or wider images have room for no view of some landmarks
        require(0.5 <= ratio <= 2.5, "width / height", ratio, "from 0.5 to 2.5")
        require(self.good + self.ok <= 1, "good + ok", self.good + self.ok, "of 1 or less")
        enough = f"of {N_QUERIES} or more, one for each query"
        require(n_good >= N_QUERIES, "good x images_per_landmark", n_good, enough)

    def _wanted(self) -> list[str]:
        """List of the ground truth for each image of a landmark, in no random order."""
        n_good, n_ok = (round(share * self.images_per_landmark) for share in (self.good, self.ok))
        wanted = ["good"] * n_good + ["ok"] * n_ok + ["junk"] * self.images_per_landmark
        return wanted[: self.images_per_landmark]

    def name_of(self, landmark: int) -> str:
        """Name of a landmark: a place and what kind of building it is, as in ``market_tower``."""
        places = generator(self.seed, "names").permutation(_PLACES)
        return "distractor" if landmark == DISTRACTOR else f"{places[landmark]}_{KINDS[landmark % len(KINDS)]}"

    def names(self) -> list[str]:
        """Names of the landmarks, sorted."""
        return sorted(self.name_of(landmark) for landmark in range(self.landmarks))

    def members(self) -> Iterator[tuple[int, int]]:
        """Landmark (`DISTRACTOR` for none) and number of every image."""
        for landmark in range(self.landmarks):
            yield from ((landmark, number) for number in range(self.images_per_landmark))
        yield from ((DISTRACTOR, number) for number in range(self.distractors))

    def path(self, landmark: int, number: int) -> str:
        """Name of an image's file, as in ``market_tower_000012.jpg`` or ``distractor_000034.jpg``."""
        return f"{self.name_of(landmark)}_{number:06d}.jpg"

    def paint(self, landmark: int, number: int) -> ByteArray:
        """Paint an image of a landmark, or (`DISTRACTOR`) of none."""
        view, rng = view_of(self, landmark, number), generator(self.seed, "light", landmark + 1, number)
        knobs, sun = painter.at_difficulty(_KNOBS, self.difficulty), rng.uniform(-1.4, 1.4)
        canvas = _behind(self, view.camera.centre[1], rng)
        density = round(10 * max(self.width / 320, self.height / 240))
        for standing in view.street:
            owner, normals = standing.building.owner, standing.building.normals
            lit = 0.66 + 0.46 * np.maximum(normals @ (0.8 * np.sin(sun), 0.6, 0.8 * np.cos(sun)), 0)
            for number, pixels in standing.faces(view.camera):
                pictures = pictures_of(self.seed, owner, number, density, knobs["own"])
                painter.paint_plane(canvas, pictures, pixels, lit[number])
        for tree in view.trees:
            painter.paint_thing(
                canvas, "tree", tree, _leaves_and_bark(self.seed, tree, rng), Light(np.pi / 2 - sun, 0.8)
            )
        return painter.expose(canvas, _lens(knobs, self.width, rng), rng)

    def ground_truth(self) -> GroundTruth:
        """Queries and lists, from the geometry alone.

        A landmark's queries are chance good images of it, with the rectangle of what is visible of it; they are in
        their own lists, as in the Oxford Buildings.
        """
        queries, relevance = [], {}
        for landmark in sorted(range(self.landmarks), key=self.name_of):
            name, numbers = self.name_of(landmark), range(self.images_per_landmark)
            views = {f"{name}_{number:06d}": view_of(self, landmark, number) for number in numbers}
            good = sorted(image for image, view in views.items() if view.relevance == "good")
            chosen = generator(self.seed, "queries", landmark).choice(good, size=N_QUERIES, replace=False)
            for place, image in enumerate(chosen.tolist(), start=1):
                queries.append(Query(f"{name}_{place}", name, place, image, *views[image].box))
                relevance[f"{name}_{place}"] = {image: view.relevance for image, view in views.items()}
        return GroundTruth(tuple(queries), relevance)


@lru_cache(maxsize=4096)
def view_of(spec: PaintedLandmarks, landmark: int, number: int) -> View:
    """View of an image: of a landmark, one that the geometry puts into the list that the image is to be in."""
    rng = generator(spec.seed, "image", landmark + 1, number)
    owner = f"other {rng.integers(_N_OTHERS)}" if landmark == DISTRACTOR else f"landmark {landmark}"
    middle = Standing(building_of(spec.seed, owner))
    street = _street(spec.seed, middle, rng)
    if landmark == DISTRACTOR:
        wanted, more = str(rng.choice(("good", "far"), p=(0.6, 0.4))), int(rng.choice((0, 4), p=(0.85, 0.15)))
        return _view(spec, street, _camera(spec, middle.building, wanted, rng), rng, more)
    order = generator(spec.seed, "relevance", landmark).permutation(spec.images_per_landmark)
    wanted = spec._wanted()[int(order[number])]
    for _ in range(_TRIES):
        view = _view(spec, street, _camera(spec, middle.building, wanted, rng), rng)
        view = measured(view, middle, (spec.width, spec.height))
        if view.relevance == wanted:
            return view
    raise LookalikeError(
        f"synthetic images: no {wanted} view of landmark {landmark} in {_TRIES} tries; choose another seed, or a width "
        "and height that are closer to each other"
    )


def _street(seed: int, middle: Standing, rng: Random) -> list[Standing]:
    """A building with one more on its left and on its right."""
    street = [middle]
    for side, number in zip((-1, 1), rng.choice(_N_OTHERS, size=2, replace=False), strict=True):
        neighbour = building_of(seed, f"other {number}")
        away = (middle.building.size[0] + neighbour.size[0]) / 2 + rng.uniform(1, 7)
        street.append(Standing(neighbour, side * away, rng.uniform(-6, 0)))
    return street


def _camera(spec: PaintedLandmarks, building: Building, wanted: str, rng: Random) -> Camera:
    """Choose a camera that likely gives such an image; what it really gives is measured."""
    most = painter.at_difficulty(_KNOBS, spec.difficulty)["azimuth"]
    focal, heading = spec.width * rng.uniform(0.95, 1.35), np.deg2rad(rng.uniform(-most, most))
    fill, shift = rng.uniform(0.56, 0.99), 0.1
    if wanted == "far" or (wanted == "ok" and rng.random() < 0.4):
        fill, shift = rng.uniform(0.22, 0.42), 0.35
    elif wanted in ("ok", "junk"):
        fill, shift = rng.uniform(0.8, 1.5), 0.75 if wanted == "junk" else 0.6
    # as large on the image as it is wide, but never so near that its top is out of sight
    width, height = building.size
    across = max(width, height * spec.width / spec.height * 0.95)
    distance, tall = focal * across / (fill * spec.width), rng.uniform(1.6, 5)
    aside = rng.uniform(-shift, shift) * focal * width / distance
    raised = (height * rng.uniform(0.39, 0.53) - tall) * focal / distance
    centre = spec.width / 2 + aside, spec.height / 2 + raised
    return Camera((distance * np.sin(heading), tall, distance * np.cos(heading)), heading, focal, centre)


def _view(spec: PaintedLandmarks, street: list[Standing], camera: Camera, rng: Random, more: int = 0) -> View:
    """Order the buildings of a street and put trees before them, the lower in the image the larger."""
    most, trees = painter.at_difficulty(_KNOBS, spec.difficulty)["trees"] + more, []
    for _ in range(int(rng.uniform(more, most + 1))):
        scale = camera.focal / rng.uniform(8, 28)
        half, foot = rng.uniform(2, 5) * scale, camera.centre[1] + camera.place[1] * scale
        trees.append(Pose(rng.uniform(-0.05, 1.05) * spec.width, foot - half, half, stretch=rng.uniform(0.7, 1)))
    far_to_near = sorted(street, key=lambda standing: -abs(standing.x - camera.place[0]))
    return View(camera, tuple(far_to_near), tuple(sorted(trees, key=lambda tree: tree.y + tree.half)))


def _lens(knobs: Mapping[str, float], width: int, rng: Random) -> painter.Lens:
    exposure, gamma = np.exp(knobs["light"] * np.clip(rng.standard_normal(2), -1.8, 1.8))
    return painter.Lens(
        exposure=float(min(exposure, 1.15)),
        cast=np.exp(knobs["cast"] * np.clip(rng.standard_normal(3), -2, 2)),
        falloff=rng.uniform(0, knobs["falloff"]),
        azimuth=rng.uniform(0, 2 * np.pi),
        blur=rng.uniform(0, knobs["blur"]) * width / 320,
        noise=rng.uniform(1, knobs["noise"]),
        gamma=float(gamma),
    )


def _behind(spec: PaintedLandmarks, horizon: float, rng: Random) -> FloatArray:
    """Paint the sky, and ground that recedes to the horizon and fades into haze."""
    kind, offset, line = int(rng.choice((0, 2, 3))), rng.random(2), int(np.clip(horizon + 1, 2, spec.height - 2))
    above = painter.sky(spec.seed, kind, (spec.width, line), offset, 320 / spec.width)
    stone, colours = (("cobble", ramp("slate", 0.6)), ("fur", ramp("moss", 0.7)))[rng.integers(2)]
    onto, size = turned(0, 2.4 * 320 / spec.width, offset), (spec.width, spec.height - line)
    floor = colours[painter.ground(tile(spec.seed, stone, 1), size, horizon - line, onto)]
    depth = np.clip(np.arange(len(floor))[:, None] / (0.3 * spec.height), 0, 1)
    painter.lay(floor, 0.5 * floor.mean(axis=(0, 1)) + np.multiply(painter.SKIES[kind][1], 0.5), (1 - depth) ** 2)
    return np.concatenate([above, floor])


def _leaves_and_bark(seed: int, tree: Pose, rng: Random) -> list[Material]:
    light, onto = np.linspace(10, 60, 256), turned(0.8, 100 / tree.half, rng.random(2))
    leaves, bark = hued(light, 35, rng.uniform(0.28, 0.4)), hued(0.6 * light, 10, 0.15)
    return [Material(tile(seed, stuff, 2), colours, onto) for stuff, colours in (("fur", leaves), ("timber", bark))]
