"""Buildings of the synthetic landmarks: prisms in space, in metres, and the pictures of their faces.

x goes right along the front, y up from the ground, z out of the front towards whoever looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np

from lookalike.core.seeds import generator
from lookalike.data.shapes import CIRCLE, Polygon
from lookalike.data.textures import ByteArray, Random, blend, look, ramp, tile, turned

KINDS = ("hall", "tower", "gate", "chapel", "rotunda")
"""What a landmark can be."""
_N_WINDOWS, _N_CARVINGS = 6, 8  # kinds of window that all buildings choose from, carvings that any may have
_WALLS = [(stone, colour) for stone in ("bricks", "cobble", "marble")
          for colour in ("ivory", "sand", "amber", "slate", "coral", "rust")]  # fmt: skip
_ROOFS = [("scales", colour) for colour in ("slate", "rust", "crimson", "olive")]


class Face(NamedTuple):
    """A rectangle of a building: a front, a side, a gable or a roof.

    `corners` are its upper left, upper right, lower right and lower left, as seen from where it shows; of its upper
    edge only what lies between the shares `top` belongs to it. It has rows and columns of `windows`. Faces of higher
    layers stand before those of lower ones; `x` is where its prism stands in its layer.
    """

    kind: str
    corners: Polygon
    top: tuple[float, float]
    windows: tuple[int, int]
    layer: int
    x: float


class Building(NamedTuple):
    """The name that a building's carvings go by, and its faces.

    Of all faces there are the `corners` (n, 4, 3) and `normals` (n, 3), and in `outlines` (n, 4, 3) the corners of what
    belongs to them.
    """

    owner: str
    faces: tuple[Face, ...]
    corners: Polygon
    outlines: Polygon
    normals: Polygon

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in metres."""
        return float(np.ptp(self.corners[..., 0])), float(self.corners[..., 1].max())


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
        """Faces that somebody in front of the building may see."""
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
    """Building of a name: ``landmark 3``, whose kind follows from its number, or ``other 17``."""
    rng, (what, number) = generator(seed, owner), owner.split()
    kind = KINDS[int(number) % len(KINDS)] if what == "landmark" else str(rng.choice(("house", "house", *KINDS)))
    layers = enumerate(_layers(kind, rng))
    faces = tuple(face for layer, prisms in layers for prism in prisms for face in prism.faces(layer))
    corners = np.stack([face.corners for face in faces])
    across, down, ends = corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0], np.array([f.top for f in faces])
    top = corners[:, :1] + ends[..., None] * across[:, None]
    normals = np.cross(down, across)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Building(owner, faces, corners, np.concatenate([top, corners[:, 2:]], axis=1), normals)


def _layers(kind: str, rng: Random) -> list[list[Prism]]:
    """Prisms of a building of a kind, those that stand behind others first."""
    width, height, depth = rng.uniform(22, 28), rng.uniform(9, 12), rng.uniform(9, 13)
    if kind == "house":
        width *= rng.uniform(0.4, 0.7)
    windows = int(rng.integers(2, 4)), round(width / rng.uniform(3, 4))
    body = Prism("front", 0, -depth / 2, width, depth, 0, height, windows)
    roof = Prism("roof", 0, -depth / 2, 1.03 * width, 1.05 * depth, height, rng.uniform(2.5, 4.5), taper=(0.8, 0))
    if kind == "rotunda":
        return [_dome(rng.uniform(11, 13), height, -depth / 2), [body]]
    before: dict[str, list[Prism]] = {
        "house": [],
        "hall": [_gable(shift * width, 0.22 * width, height, 3.5) for shift in (-0.3, 0, 0.3)],
        "tower": _tower(rng.uniform(-0.25, 0.25) * width, rng.uniform(6, 7.5), height + 9, 4),
        "gate": [
            Prism("front", 0, 1.5, rng.uniform(8, 9.5), 3, 0, height + 2, (3, 2)),
            *_tower(-6.5, 3, height + 5, 4),
            *_tower(6.5, 3, height + 5, 4),
        ],
        "chapel": [
            _gable(0, 0.5 * width, height, 5.5),
            *_tower(-0.45 * width, 4.5, height + 4, 3),
            *_tower(0.45 * width, 4.5, height + 4, 3),
        ],
    }
    return [[body, roof], before[kind]]


def _gable(x: float, width: float, y: float, height: float) -> Prism:
    return Prism("gable", x, 0.3, width, 0.6, y, height, taper=(0, 1))


def _tower(x: float, width: float, height: float, rows: int) -> list[Prism]:
    walls = Prism("front", x, width / 2, width, width, 0, height, (rows, 2 if width > 5 else 1))
    return [walls, Prism("roof", x, width / 2, 1.1 * width, 1.1 * width, height, 0.9 * width, taper=(0, 0))]


def _dome(width: float, y: float, z: float) -> list[Prism]:
    """Eight walls with a dome of three rings on them."""
    rings, y, scale = [Prism("front", 0, z, width, width, y, 5, (1, 2), sides=8)], y + 5, width
    for rise, taper in ((2.6, 0.84), (2.4, 0.62), (1.6, 0.1)):
        rings.append(Prism("roof", 0, z, scale, scale, y, rise, taper=(taper, taper), sides=8))
        y, scale = y + rise, scale * taper
    return rings


class Motif(NamedTuple):
    """A window or a carving: its tones, from dark glass to pale stone, and where it is."""

    tone: ByteArray
    inside: ByteArray


@lru_cache(maxsize=256)
def _window(seed: int, kind: int, width: int) -> Motif:
    """Window of the vocabulary that all buildings share, with a flat, round or pointed head, panes and bars."""
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
    layers = (cv2.resize(layer, size, interpolation=cv2.INTER_AREA) for layer in (tone, inside))
    return Motif(*(layer.astype(np.uint8) for layer in layers))


@lru_cache(maxsize=512)
def _carving(seed: int, owner: str, number: int, size: int) -> Motif:
    """A carved round, shield or lozenge, symmetric like a coat of arms."""
    rng, inside = generator(seed, "carving", owner, number), np.zeros((size, size), np.uint8)
    half = rng.integers(0, 256, (11, int(rng.integers(5, 8)))).astype(np.uint8)
    tone = np.array(cv2.resize(np.hstack([half, half[:, ::-1]]), (size, size), interpolation=cv2.INTER_CUBIC), np.uint8)
    shield, lozenge = [(-1, -1), (1, -1), (1, 0), (0, 1), (-1, 0)], [(0, -1), (1, 0), (0, 1), (-1, 0)]
    corners = np.array((CIRCLE, shield, lozenge)[rng.integers(3)], np.float64)
    outline = np.round((corners + 1) / 2 * (size - 1)).astype(np.int32)
    cv2.fillPoly(inside, [outline], 255)
    cv2.polylines(tone, [outline], True, int(rng.choice((30, 240))), max(1, size // 14))
    return Motif(tone, inside)


@lru_cache(maxsize=1024)
def pictures_of(seed: int, owner: str, number: int, density: int, own: float) -> tuple[ByteArray, ...]:
    """Picture of a face of a building, and ever smaller ones: RGB and the cover.

    `density` is in pixels per metre, `own` the share of the building's carvings that no other building has.
    """
    face = building_of(seed, owner).faces[number]
    pictures = [_Facade(seed, owner, face, density, own, generator(seed, "face", owner, number)).picture()]
    while min(pictures[-1].shape[:2]) > 16 and len(pictures) < 4:
        half = cv2.resize(pictures[-1], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        pictures.append(half.astype(np.uint8))
    return tuple(pictures)


class _Facade:
    """A face while it is painted: tones of its pixels, and which of them are trim: not of the wall."""

    def __init__(self, seed: int, owner: str, face: Face, density: int, own: float, rng: Random) -> None:
        self.seed, self.owner, self.face, self.density, self.own, self.rng = seed, owner, face, density, own, rng
        style = generator(seed, "style", owner)
        wall, roof = _WALLS[style.integers(len(_WALLS))], _ROOFS[style.integers(len(_ROOFS))]
        self.kinds, pale = style.choice(_N_WINDOWS, size=3, replace=False), 240 * style.uniform(0.93, 1.05, 3)
        self.richness = style.uniform(0.2, 1) if owner.startswith("other") else 1.0
        stone, colour = roof if face.kind == "roof" else wall
        self.colours = np.stack([ramp(colour, 0.8), blend((14, 18, 26), pale, np.linspace(0, 1, 256))])
        sides = (np.linalg.norm(face.corners[end] - face.corners[0]) for end in (1, 3))
        self.width, self.height = (max(4, round(side * density)) for side in sides)
        onto = turned(0, 24 / density, (rng.random(), rng.random()))
        self.tone = look(tile(seed, stone, 1), (self.width, self.height), onto)
        self.trim = np.zeros_like(self.tone)

    def picture(self) -> ByteArray:
        """Decorate the face as its kind has it, colour and stain it, and cut it out."""
        if self.face.kind in ("front", "side"):
            self._windows(*self.face.windows)
            self._band(0.0, 1.2 if self.face.kind == "front" else 0.35)
        if self.face.kind == "front":
            for row in range(1, self.face.windows[0]):
                self._band(0.12 + 0.82 * row / self.face.windows[0], 0.3)
            self._carvings(round(self.richness * self.width * self.height / self.density**2 / 28))
        if self.face.kind == "gable":
            self._carvings(round(1 + 3 * self.richness))
            self._band(0.88, 0.5)
        stains = look(
            tile(self.seed, "cloud", 0), (self.width, self.height), turned(0, 6 / self.density, (self.rng.random(), 0))
        )
        colours = self.colours[self.trim, self.tone] * (0.8 + stains[..., None] * np.float32(0.3 / 255))
        ends = np.array([(self.face.top[0], 0), (self.face.top[1], 0), (1, 1), (0, 1)]) * (
            self.width - 1,
            self.height - 1,
        )
        cover = cv2.fillPoly(np.zeros_like(self.tone), [np.round(ends).astype(np.int32)], 255)
        return np.dstack([np.clip(colours, 0, 255).astype(np.uint8), cover])

    def _put(self, motif: Motif, x: float, y: float) -> None:
        """Lay a motif over the face, its upper left corner at (x, y) pixels, if there is room."""
        left, top, (height, width) = round(x), round(y), motif.tone.shape
        if min(left, top) >= 0 and left + width <= self.width and top + height <= self.height:
            part, inside = np.s_[top : top + height, left : left + width], motif.inside > 127
            self.tone[part][inside] = motif.tone[inside]
            self.trim[part][inside] = 1

    def _windows(self, rows: int, columns: int) -> None:
        """Lay out a grid of windows, one kind per row; a narrow face has fewer columns than the front."""
        columns = max(1, min(columns, round(self.width / self.density / 3.2)))
        for row in range(rows):
            cell_width, cell_height = self.width / columns, 0.82 * self.height / rows
            width = max(5, round(min(cell_width * self.rng.uniform(0.4, 0.6), cell_height / 2.6)))
            motif = _window(self.seed, int(self.rng.choice(self.kinds)), width)
            y = 0.14 * self.height + row * cell_height + (cell_height - len(motif.tone)) * 0.6
            for column in range(columns):
                self._put(motif, (column + 0.5) * cell_width - width / 2, y)

    def _band(self, at: float, metres: float) -> None:
        """Lay a moulding across at a height (share from above); a broad one is a row of one carving."""
        top, thick = round(at * self.height), max(2, round(metres * self.density))
        part = np.s_[top : top + thick, :]
        self.trim[part] = 1
        self.tone[part] = np.linspace(250, 110, thick)[: len(self.tone[part]), None]
        if thick > 9:
            tone = self._any_carving(thick - 2).tone
            for place in range(self.width // len(tone)):
                self._put(Motif(tone, np.full_like(tone, 255)), place * len(tone), top + 1)

    def _carvings(self, number: int) -> None:
        """Put carvings, one kind in each of a few rows of four, over whatever is there."""
        size = max(8, round(self.rng.uniform(1.3, 2.0) * self.density))
        for start in range(0, number, 4):
            motif, in_row, shift = self._any_carving(size), min(4, number - start), self.rng.uniform(0.1, 0.9)
            y = self.rng.uniform(0.1, 0.8) * max(1, self.height - size)
            for place in range(in_row):
                self._put(motif, (place + shift) / in_row * (self.width - size), y)

    def _any_carving(self, size: int) -> Motif:
        """One of the building's own carvings, or of those that all share."""
        owner = self.owner if self.rng.random() < self.own else "shared"
        return _carving(self.seed, owner, int(self.rng.integers(_N_CARVINGS)), size)
