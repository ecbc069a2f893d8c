"""Synthetic landmarks: buildings seen from many sides, and others that no query asks for, as in Oxford Buildings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from lookalike.core.arrays import Bytes, Doubles, Floats
from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.data import painter
from lookalike.data.ground_truth import GroundTruth, Query, painted_truth, write_ground_truth
from lookalike.data.painter import CIRCLE, Lens, Light, Material, Pose, Recipe, require
from lookalike.data.textures import Random, blend, hued, look, ramp, tile, turned

DISTRACTOR = -1  # stands for no landmark
N_QUERIES = 5  # of each landmark, as in the Oxford Buildings
_N_OTHERS = 28  # buildings that no query asks for
_PLACES = (
    "abbey bishop bridge castle college corn duke east forest garden harbour king "
    "market mill north old orchard priory queen river south town west wool"
)
_EXTREMES = {  # at difficulty 0 and at difficulty 1
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
_KINDS = ("hall", "tower", "gate", "chapel", "rotunda")  # of landmarks
_N_WINDOWS, _N_CARVINGS = 6, 8  # kinds of window that all buildings choose from, carvings that any may have
_WALLS = list(product(("bricks", "cobble", "marble"), ("ivory", "sand", "amber", "slate", "coral", "rust")))
_ROOFS = [("scales", colour) for colour in ("slate", "rust", "crimson", "olive")]

Motif = tuple[Bytes, Bytes]  # tones of a window or a carving, from dark glass to pale stone, and where it is


class Camera(NamedTuple):
    """A camera that is held level."""

    place: tuple[float, float, float]  # in metres
    heading: float  # in radians; 0 looks at the front
    focal: float  # in pixels
    centre: tuple[float, float]  # pixel of the point straight ahead; the horizon is at its height

    def project(self, points: Doubles) -> Doubles:
        """Return pixels (..., n, 2) of points (..., n, 3); no numbers where one of the n is not before the camera."""
        x, y, z = np.moveaxis(points - self.place, -1, 0)
        cosine, sine = np.cos(self.heading), np.sin(self.heading)
        ahead = -x * sine - z * cosine
        ahead = np.where(ahead.min(axis=-1, keepdims=True) < 0.5, np.nan, ahead)
        return np.stack([x * cosine - z * sine, -y], axis=-1) * self.focal / ahead[..., None] + self.centre


class Face(NamedTuple):
    """A rectangle of a building: a front, a side, a gable or a roof."""

    kind: str
    corners: Doubles  # clockwise from the upper left, as seen from where it shows
    top: tuple[float, float]  # shares of the upper edge; only what lies between them belongs to the face
    windows: tuple[int, int]  # rows and columns
    layer: int  # higher ones stand before lower ones
    x: float  # where its prism stands in its layer


class Building(NamedTuple):
    """The n faces of a building, whose carvings go by the name of their owner, and where its front's middle stands."""

    owner: str
    faces: tuple[Face, ...]
    corners: Doubles  # (n, 4, 3)
    outlines: Doubles  # (n, 4, 3): corners of what belongs to the faces
    normals: Doubles  # (n, 3)
    size: tuple[float, float]  # width and height
    x: float = 0.0
    z: float = 0.0

    def showing(self, camera: Camera) -> list[tuple[int, Doubles, Doubles]]:
        """Return the numbers of the faces that show, the hindmost first, and pixels of their corners and outlines."""
        arrays, place = (self.corners, self.outlines), (self.x, 0, self.z)
        corners, outlines = (camera.project(np.add(points, place)) for points in arrays)
        (ax, ay), (dx, dy) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 3] - corners[:, 0]).T
        showing = [(self.faces[number], number) for number in np.flatnonzero(ax * dy - ay * dx > 1).tolist()]
        showing.sort(key=lambda side: (side[0].layer, -abs(self.x + side[0].x - camera.place[0])))
        return [(number, corners[number], outlines[number]) for _, number in showing]


class Prism(NamedTuple):
    """Walls, roof or spire on a rectangle or a regular polygon about (x, z), from y on; `taper` scales its top."""

    kind: str
    x: float
    z: float
    width: float
    depth: float
    y: float
    height: float
    windows: tuple[int, int] = (0, 0)
    taper: tuple[float, float] = (1.0, 1.0)
    sides: int = 4

    def faces(self, layer: int) -> Iterator[Face]:
        """Return faces that somebody in front of the building may see."""
        angles = (2 * np.arange(self.sides + 1) - 1) * np.pi / self.sides
        unit = np.stack([np.sin(angles), 0 * angles, np.cos(angles)], axis=1) / 2 / np.cos(np.pi / self.sides)
        foot = unit * (self.width, 0, self.depth) + (self.x, self.y, self.z)
        top = unit * (self.width * self.taper[0], 0, self.depth * self.taper[1])
        top += (self.x, self.y + self.height, self.z)
        for side in range(self.sides):
            turn = np.cos(2 * np.pi * side / self.sides)
            (a, b), (c, d) = foot[side : side + 2], top[side : side + 2]
            left, right = ((end - a) @ (b - a) / ((b - a) @ (b - a)) for end in (c, d))
            up = c - a - left * (b - a)
            kind = {"front": "side", "gable": "roof"}.get(self.kind, self.kind) if turn < 0.7 else self.kind
            if turn > -0.3:
                corners = np.stack([a + up, b + up, b, a])
                yield Face(kind, corners, (float(left), float(right)), self.windows, layer, self.x)


@lru_cache(maxsize=64)
def building_of(seed: int, owner: str) -> Building:
    """Return the building of a name: ``landmark 3``, whose kind follows from its number, or ``other 17``."""
    rng, (what, number) = generator(seed, owner), owner.split()
    kind = _KINDS[int(number) % len(_KINDS)] if what == "landmark" else str(rng.choice(("house", "house", *_KINDS)))
    layers = enumerate(_layers(kind, rng))
    faces = tuple(face for layer, prisms in layers for prism in prisms for face in prism.faces(layer))
    corners = np.stack([face.corners for face in faces])
    across, down, ends = corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0], np.array([f.top for f in faces])
    top = corners[:, :1] + ends[..., None] * across[:, None]
    normals = np.cross(down, across)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    size = float(np.ptp(corners[..., 0])), float(corners[..., 1].max())
    return Building(owner, faces, corners, np.concatenate([top, corners[:, 2:]], axis=1), normals, size)


def _layers(kind: str, rng: Random) -> list[list[Prism]]:
    """Return prisms of a building of a kind, those that stand behind others first."""
    width, height, depth = rng.uniform(22, 28), rng.uniform(9, 12), rng.uniform(9, 13)
    if kind == "house":
        width *= rng.uniform(0.4, 0.7)
    windows = int(rng.integers(2, 4)), round(width / rng.uniform(3, 4))
    body = Prism("front", 0, -depth / 2, width, depth, 0, height, windows)
    roof = Prism("roof", 0, -depth / 2, 1.03 * width, 1.05 * depth, height, rng.uniform(2.5, 4.5), taper=(0.8, 0))
    if kind == "rotunda":
        return [_dome(rng.uniform(11, 13), height, -depth / 2), [body]]
    gable = Prism("gable", 0, 0.3, 0.22 * width, 0.6, height, 3.5, taper=(0, 1))
    before: dict[str, list[Prism]] = {
        "house": [],
        "hall": [gable._replace(x=shift * width) for shift in (-0.3, 0, 0.3)],
        "tower": _towers([rng.uniform(-0.25, 0.25) * width], rng.uniform(6, 7.5), height + 9, 4),
        "gate": [
            Prism("front", 0, 1.5, rng.uniform(8, 9.5), 3, 0, height + 2, (3, 2)),
            *_towers([-6.5, 6.5], 3, height + 5, 4),
        ],
        "chapel": [
            gable._replace(width=0.5 * width, height=5.5),
            *_towers([-0.45 * width, 0.45 * width], 4.5, height + 4, 3),
        ],
    }
    return [[body, roof], before[kind]]


def _towers(places: list[float], width: float, height: float, rows: int) -> list[Prism]:
    walls = Prism("front", 0, width / 2, width, width, 0, height, (rows, 2 if width > 5 else 1))
    roof = Prism("roof", 0, width / 2, 1.1 * width, 1.1 * width, height, 0.9 * width, taper=(0, 0))
    return [part._replace(x=x) for x in places for part in (walls, roof)]


def _dome(width: float, y: float, z: float) -> list[Prism]:
    """Return eight walls with a dome of three rings on them."""
    rings, y, scale = [Prism("front", 0, z, width, width, y, 5, (1, 2), sides=8)], y + 5, width
    for rise, taper in ((2.6, 0.84), (2.4, 0.62), (1.6, 0.1)):
        rings.append(Prism("roof", 0, z, scale, scale, y, rise, taper=(taper, taper), sides=8))
        y, scale = y + rise, scale * taper
    return rings


@lru_cache(maxsize=256)
def _window(seed: int, kind: int, width: int) -> Motif:
    """Make a window of the vocabulary that all buildings share, with a flat, round or pointed head, panes and bars."""
    rng = generator(seed, "window", kind)
    columns, rows, aspect = rng.integers(1, 4), rng.integers(2, 6), rng.uniform(1.4, 2.3)
    border = rng.uniform(0.1, 0.18)
    wide, high = 64, round(64 * aspect)
    panes = rng.integers(5, 120, (rows, columns)).astype(np.uint8)
    glass = np.array(cv2.resize(panes, (wide, high), interpolation=cv2.INTER_NEAREST))
    glass[:, (np.arange(wide) * columns % wide) < 3 * columns] = 235
    glass[(np.arange(high) * rows % high) < 3 * rows] = 235
    inside, opening = (np.zeros_like(glass) for _ in range(2))
    for mask, edge in ((inside, 0), (opening, round(border * wide))):
        head = (0, 32, 52)[kind % 3]
        cv2.ellipse(mask, (32, edge + head), (32 - edge, head), 0, 180, 360, 255, -1)
        cv2.rectangle(mask, (edge, edge + head), (wide - 1 - edge, high - 1 - edge), 255, -1)
    tone = np.where(opening > 0, glass, np.linspace(250, 190, high)[:, None]).astype(np.uint8)
    size = width, round(width * aspect)
    tones, cover = (cv2.resize(layer, size, interpolation=cv2.INTER_AREA) for layer in (tone, inside))
    return tones.astype(np.uint8), cover.astype(np.uint8)


@lru_cache(maxsize=512)
def _carving(seed: int, owner: str, number: int, size: int) -> Motif:
    """Return a carved round, shield or lozenge, symmetric like a coat of arms."""
    rng, inside = generator(seed, "carving", owner, number), np.zeros((size, size), np.uint8)
    half = rng.integers(0, 256, (11, int(rng.integers(5, 8)))).astype(np.uint8)
    tone = np.array(cv2.resize(np.hstack([half, half[:, ::-1]]), (size, size), interpolation=cv2.INTER_CUBIC), np.uint8)
    shield, lozenge = [(-1, -1), (1, -1), (1, 0), (0, 1), (-1, 0)], [(0, -1), (1, 0), (0, 1), (-1, 0)]
    corners = np.array((CIRCLE, shield, lozenge)[rng.integers(3)], np.float64)
    outline = np.round((corners + 1) / 2 * (size - 1)).astype(np.int32)
    cv2.fillPoly(inside, [outline], 255)
    cv2.polylines(tone, [outline], True, int(rng.choice((30, 240))), max(1, size // 14))
    return tone, inside


@lru_cache(maxsize=1024)
def _pictures_of(seed: int, owner: str, number: int, density: int, own: float) -> tuple[Bytes, ...]:
    """Paint a face at `density` pixels a metre, and ever smaller: RGB and the cover; `own`: see `_Facade`."""
    pictures = [_Facade(seed, owner, number, density, own).picture()]
    while min(pictures[-1].shape[:2]) > 16 and len(pictures) < 4:
        half = cv2.resize(pictures[-1], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        pictures.append(half.astype(np.uint8))
    return tuple(pictures)


class _Facade:
    """A face while it is painted: tones of its pixels, and which of them are trim: not of the wall."""

    def __init__(self, seed: int, owner: str, number: int, density: int, own: float) -> None:
        self.seed, self.owner, self.density = seed, owner, density
        self.own = own  # share of the building's carvings that no other building has
        self.face = face = building_of(seed, owner).faces[number]
        self.rng, style = generator(seed, "face", owner, number), generator(seed, "style", owner)
        wall, roof = _WALLS[style.integers(len(_WALLS))], _ROOFS[style.integers(len(_ROOFS))]
        self.kinds, pale = style.choice(_N_WINDOWS, size=3, replace=False), 240 * style.uniform(0.93, 1.05, 3)
        self.richness = style.uniform(0.2, 1) if owner.startswith("other") else 1.0
        stone, colour = roof if face.kind == "roof" else wall
        self.colours = np.stack([ramp(colour, 0.8), blend((14, 18, 26), pale, np.linspace(0, 1, 256))])
        sides = (np.linalg.norm(face.corners[end] - face.corners[0]) for end in (1, 3))
        self.width, self.height = (max(4, round(side * density)) for side in sides)
        onto = turned(0, 24 / density, self.rng.random(2))
        self.tone = look(tile(seed, stone, 1), (self.width, self.height), onto)
        self.trim = np.zeros_like(self.tone)

    def picture(self) -> Bytes:
        """Decorate the face as its kind has it, colour and stain it, and cut it out."""
        kind, (rows, columns), (left, right) = self.face.kind, self.face.windows, self.face.top
        if kind in ("front", "side"):
            self._windows(rows, columns)
            self._band(0.0, 1.2 if kind == "front" else 0.35)
        if kind == "front":
            for row in range(1, rows):
                self._band(0.12 + 0.82 * row / rows, 0.3)
            self._carvings(round(self.richness * self.width * self.height / self.density**2 / 28))
        if kind == "gable":
            self._carvings(round(1 + 3 * self.richness))
            self._band(0.88, 0.5)
        onto = turned(0, 6 / self.density, (self.rng.random(), 0))
        stains = look(tile(self.seed, "cloud", 0), (self.width, self.height), onto)
        colours = self.colours[self.trim, self.tone] * (0.8 + stains[..., None] * np.float32(0.3 / 255))
        ends = np.multiply([(left, 0), (right, 0), (1, 1), (0, 1)], (self.width - 1, self.height - 1))
        cover = cv2.fillPoly(np.zeros_like(self.tone), [np.round(ends).astype(np.int32)], 255)
        return np.dstack([np.clip(colours, 0, 255).astype(np.uint8), cover])

    def _put(self, motif: Motif, x: float, y: float) -> None:
        """Lay a motif over the face, its upper left corner at (x, y) pixels, if there is room."""
        (tone, inside), left, top = motif, round(x), round(y)
        height, width = tone.shape
        if min(left, top) >= 0 and left + width <= self.width and top + height <= self.height:
            part, covered = np.s_[top : top + height, left : left + width], inside > 127
            self.tone[part][covered] = tone[covered]
            self.trim[part][covered] = 1

    def _windows(self, rows: int, columns: int) -> None:
        """Lay out a grid of windows, one kind per row; a narrow face has fewer columns than the front."""
        columns = max(1, min(columns, round(self.width / self.density / 3.2)))
        for row in range(rows):
            cell_width, cell_height = self.width / columns, 0.82 * self.height / rows
            width = max(5, round(min(cell_width * self.rng.uniform(0.4, 0.6), cell_height / 2.6)))
            motif = _window(self.seed, int(self.rng.choice(self.kinds)), width)
            y = 0.14 * self.height + row * cell_height + (cell_height - len(motif[0])) * 0.6
            for column in range(columns):
                self._put(motif, (column + 0.5) * cell_width - width / 2, y)

    def _band(self, at: float, metres: float) -> None:
        """Lay a moulding across at a height (share from above); a broad one is a row of one carving."""
        top, thick = round(at * self.height), max(2, round(metres * self.density))
        part = np.s_[top : top + thick, :]
        self.trim[part] = 1
        self.tone[part] = np.linspace(250, 110, thick)[: len(self.tone[part]), None]
        if thick > 9:
            tone, _ = self._any_carving(thick - 2)
            for place in range(self.width // len(tone)):
                self._put((tone, np.full_like(tone, 255)), place * len(tone), top + 1)

    def _carvings(self, number: int) -> None:
        """Put carvings, one kind in each of a few rows of four, over whatever is there."""
        size = max(8, round(self.rng.uniform(1.3, 2.0) * self.density))
        for start in range(0, number, 4):
            motif, in_row, shift = self._any_carving(size), min(4, number - start), self.rng.uniform(0.1, 0.9)
            y = self.rng.uniform(0.1, 0.8) * max(1, self.height - size)
            for place in range(in_row):
                self._put(motif, (place + shift) / in_row * (self.width - size), y)

    def _any_carving(self, size: int) -> Motif:
        """Return one of the building's own carvings, or of those that all share."""
        owner = self.owner if self.rng.random() < self.own else "shared"
        return _carving(self.seed, owner, int(self.rng.integers(_N_CARVINGS)), size)


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
    before = [outline for other in nearer for _, _, outline in other.showing(view.camera)]
    before += [part for tree in view.trees for part, _ in painter.outlines("tree", tree)]
    for grid, value, polygons in ((whole, 1, [own for _, _, own in landmark.showing(view.camera)]), (free, 0, before)):
        for polygon in polygons:
            corners = np.clip(np.round(polygon / _COARSE + (width, height)), -9_999, 9_999)
            cv2.fillPoly(grid, [corners.astype(np.int32)], value)
    seen = (whole * free)[height : 2 * height, width : 2 * width]
    if not seen.any():
        return view
    columns, rows = np.flatnonzero(seen.any(axis=0)), np.flatnonzero(seen.any(axis=1))
    left, top, right, bottom = (float(_COARSE * n) for n in (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    share, coverage = float(seen.sum() / whole.sum()), float(seen.mean())
    return view._replace(share=share, coverage=coverage, box=(left, top, right, bottom))


@dataclass(frozen=True)
class PaintedLandmarks(Recipe):
    """A set of synthetic landmarks."""

    landmarks: int = 7  # at most 24; fewer are the first ones of more
    images_per_landmark: int = 26
    distractors: int = 220  # images without a landmark
    good: float = 0.55  # share of a landmark's images that show it clearly; queries are among them
    ok: float = 0.27  # share that shows more than a quarter of it; the rest is junk
    width: int = 320
    height: int = 240

    version = 2
    quality = 90
    extremes = _EXTREMES

    def __post_init__(self) -> None:
        most, ratio, n_good = len(_PLACES.split()), self.width / self.height, self._wanted().count("good")
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
        places = generator(self.seed, "names").permutation(_PLACES.split())
        return "distractor" if landmark == DISTRACTOR else f"{places[landmark]}_{_KINDS[landmark % len(_KINDS)]}"

    def names(self) -> list[str]:
        """Return names of the landmarks, sorted."""
        return sorted(self.name_of(landmark) for landmark in range(self.landmarks))

    def counts(self) -> dict[tuple[int], int]:
        """Return how many images there are of each landmark, and of none."""
        own = {(landmark,): self.images_per_landmark for landmark in range(self.landmarks)}
        return own | {(DISTRACTOR,): self.distractors}

    def path(self, landmark: int, number: int) -> str:
        """Name of an image's file, as in ``market_tower_000012.jpg`` or ``distractor_000034.jpg``."""
        return f"{self.name_of(landmark)}_{number:06d}.jpg"

    def paint(self, landmark: int, number: int) -> Bytes:
        """Paint an image of a landmark, or (`DISTRACTOR`) of none."""
        view, rng = view_of(self, landmark, number), generator(self.seed, "light", landmark + 1, number)
        knobs, sun = self.knobs, rng.uniform(-1.4, 1.4)
        canvas = _behind(self, view.camera.centre[1], rng)
        density = round(10 * max(self.width / 320, self.height / 240))
        for building in view.street:
            lit = 0.66 + 0.46 * np.maximum(building.normals @ (0.8 * np.sin(sun), 0.6, 0.8 * np.cos(sun)), 0)
            for number, corners, _ in building.showing(view.camera):
                pictures = _pictures_of(self.seed, building.owner, number, density, knobs["own"])
                painter.paint_plane(canvas, pictures, corners, lit[number])
        for tree in view.trees:
            onto, light = turned(0.8, 100 / tree.half, rng.random(2)), np.linspace(10, 60, 256)
            leaves = Material(tile(self.seed, "fur", 2), hued(light, 35, rng.uniform(0.28, 0.4)), onto)
            bark = Material(tile(self.seed, "timber", 2), hued(0.6 * light, 10, 0.15), onto)
            painter.paint_thing(canvas, "tree", tree, [leaves, bark], Light(np.pi / 2 - sun, 0.8))
        exposure, gamma = np.exp(knobs["light"] * np.clip(rng.standard_normal(2), -1.8, 1.8))
        cast = np.exp(knobs["cast"] * np.clip(rng.standard_normal(3), -2, 2))
        falloff, azimuth = rng.uniform(0, knobs["falloff"]), rng.uniform(0, 2 * np.pi)
        blur, noise = rng.uniform(0, knobs["blur"]) * self.width / 320, rng.uniform(1, knobs["noise"])
        lens = Lens(float(min(exposure, 1.15)), cast, falloff, azimuth, blur, noise, float(gamma))
        return painter.expose(canvas, lens, rng)

    def write_beside(self, folder: str | Path) -> None:
        """Write the ground truth of images in a folder."""
        write_ground_truth(painted_truth(folder), *self.ground_truth())

    def ground_truth(self) -> GroundTruth:
        """Return queries and lists from the geometry alone; queries are in their own lists, as in Oxford's."""
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
    """Return the view of an image: of a landmark one that the geometry puts into the list that is wanted."""
    rng = generator(spec.seed, "image", landmark + 1, number)
    owner = f"other {rng.integers(_N_OTHERS)}" if landmark == DISTRACTOR else f"landmark {landmark}"
    middle = building_of(spec.seed, owner)
    street = [middle]  # with one more on its left and on its right
    for side, other in zip((-1, 1), rng.choice(_N_OTHERS, size=2, replace=False), strict=True):
        neighbour = building_of(spec.seed, f"other {other}")
        away = (middle.size[0] + neighbour.size[0]) / 2 + rng.uniform(1, 7)
        street.append(neighbour._replace(x=side * away, z=rng.uniform(-6, 0)))
    if landmark == DISTRACTOR:
        wanted, more = str(rng.choice(("good", "far"), p=(0.6, 0.4))), int(rng.choice((0, 4), p=(0.85, 0.15)))
        return _view(spec, street, _camera(spec, middle, wanted, rng), rng, more)
    order = generator(spec.seed, "relevance", landmark).permutation(spec.images_per_landmark)
    wanted = spec._wanted()[int(order[number])]
    for _ in range(_TRIES):
        view = _view(spec, street, _camera(spec, middle, wanted, rng), rng)
        view = measured(view, middle, (spec.width, spec.height))
        if view.relevance == wanted:
            return view
    raise LookalikeError(
        f"synthetic images: no {wanted} view of landmark {landmark} in {_TRIES} tries; choose another seed, or a width "
        "and height that are closer to each other"
    )


def _camera(spec: PaintedLandmarks, building: Building, wanted: str, rng: Random) -> Camera:
    """Choose a camera that likely gives such an image; what it really gives is measured."""
    most = spec.knobs["azimuth"]
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


def _view(spec: PaintedLandmarks, street: list[Building], camera: Camera, rng: Random, more: int = 0) -> View:
    """Order the buildings of a street and put trees before them, the lower in the image the larger."""
    most, trees = spec.knobs["trees"] + more, []
    for _ in range(int(rng.uniform(more, most + 1))):
        scale = camera.focal / rng.uniform(8, 28)
        half, foot = rng.uniform(2, 5) * scale, camera.centre[1] + camera.place[1] * scale
        trees.append(Pose(rng.uniform(-0.05, 1.05) * spec.width, foot - half, half, stretch=rng.uniform(0.7, 1)))
    far_to_near = sorted(street, key=lambda building: -abs(building.x - camera.place[0]))
    return View(camera, tuple(far_to_near), tuple(sorted(trees, key=lambda tree: tree.y + tree.half)))


def _behind(spec: PaintedLandmarks, horizon: float, rng: Random) -> Floats:
    """Paint the sky, and ground that recedes to the horizon and fades into haze."""
    kind, offset, line = int(rng.choice((0, 2, 3))), rng.random(2), int(np.clip(horizon + 1, 2, spec.height - 2))
    above = painter.sky(spec.seed, kind, (spec.width, line), offset, 320 / spec.width)
    stone, colours = (("cobble", ramp("slate", 0.6)), ("fur", ramp("moss", 0.7)))[rng.integers(2)]
    onto, size = turned(0, 2.4 * 320 / spec.width, offset), (spec.width, spec.height - line)
    floor = colours[painter.ground(tile(spec.seed, stone, 1), size, horizon - line, onto)]
    depth = np.clip(np.arange(len(floor))[:, None] / (0.3 * spec.height), 0, 1)
    painter.lay(floor, 0.5 * floor.mean(axis=(0, 1)) + np.multiply(painter.SKIES[kind][1], 0.5), (1 - depth) ** 2)
    return np.concatenate([above, floor])
