"""Buildings of the synthetic landmark study: a handful of textured planes in space each, in metres.

x goes right along the front, y up from the ground, z out of the front towards whoever looks at it. The planes of a
building are listed back to front for any camera before it, so that painting them in turn hides what is hidden.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.seeds import generator
from lookalike.data.landmark_textures import ROOF, TRIM, Front, Style, draw_style
from lookalike.data.materials import ByteArray

KINDS = ("hall", "tower", "exchange", "chapel", "rotunda", "gate")
"""What a landmark can be; it decides which planes there are."""
N_OTHERS = 28
"""Buildings that no query asks for; they stand beside landmarks and in images of their own."""

Points = npt.NDArray[np.float64]


class Plane(NamedTuple):
    """A textured rectangle in space.

    Attributes
    ----------
    corners : ndarray of float64, shape (4, 3)
        Upper left, upper right, lower right, lower left, as seen from where it shows.
    pictures : tuple of ndarray of uint8, each of shape (height, width, 4)
        RGB multiplied by coverage, and coverage; each half as large as the one before.
    outline : ndarray of float64, shape (n, 3)
        Corners of the part that is covered.
    turns : bool
        Whether it turns about its upright axis with the camera, as a dome does.
    """

    corners: Points
    pictures: tuple[ByteArray, ...]
    outline: Points
    turns: bool = False


class Building(NamedTuple):
    """Planes back to front, and the size of the whole in metres."""

    planes: tuple[Plane, ...]
    width: float
    height: float


class _Builder:
    """Builds the planes of one building."""

    def __init__(self, seed: int, style: Style, density: int, rng: np.random.Generator, richness: float) -> None:
        self.seed, self.style, self.density, self.rng, self.richness = seed, style, density, rng, richness
        self.planes: list[Plane] = []

    def front(self, width: float, height: float, layer: int = 0) -> Front:
        return Front(self.seed, self.style, (width, height), self.density, self.rng, layer)

    def between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def decorated(self, width: float, height: float, rows: int, columns: int) -> Front:
        """Front with windows, mouldings, friezes and emblems."""
        front = self.front(width, height)
        front.windows(rows, columns, top=0.14)
        for row in range(1, rows):
            front.band(0.14 + 0.82 * row / rows - 0.02, 0.3)
        front.frieze(0.02, self.between(0.9, 1.4))
        front.emblems(round(self.richness * width * height / 28), self.between(1.3, 2.0))
        front.band(0.0, 0.35)
        return front

    def add(
        self, front: Front, corners: npt.ArrayLike, cut: npt.ArrayLike | None = None, *, turns: bool = False
    ) -> None:
        """Put a painted front in space; `cut` is the polygon to keep, in shares."""
        import cv2

        if cut is not None:
            front.cut(cut)
        pictures = [front.picture(0.07)]
        while min(pictures[-1].shape[:2]) > 16 and len(pictures) < 4:
            height, width = pictures[-1].shape[:2]
            smaller = cv2.resize(pictures[-1], (width // 2, height // 2), interpolation=cv2.INTER_AREA)
            pictures.append(np.asarray(smaller, np.uint8))
        points = np.asarray(corners, np.float64)
        shares = np.asarray([(0, 0), (1, 0), (1, 1), (0, 1)] if cut is None else cut, np.float64)
        across, down = points[1] - points[0], points[3] - points[0]
        outline = points[0] + shares[:, :1] * across + shares[:, 1:] * down
        self.planes.append(Plane(points, tuple(pictures), outline, turns))

    def facing(self, front: Front, x: float, y: float, z: float, size: tuple[float, float], **options: object) -> None:
        """Put a front upright at depth z, its lower left corner at (x, y)."""
        w, h = size
        corners = [(x, y + h, z), (x + w, y + h, z), (x + w, y, z), (x, y, z)]
        self.add(front, corners, **options)  # type: ignore[arg-type]

    def side(self, x: float, y: tuple[float, float], z: tuple[float, float], rows: int, columns: int) -> None:
        """Put the same wall on the side at x, seen from the left if x is negative, else from the right."""
        front = self.front(z[1] - z[0], y[1] - y[0])
        if rows:
            front.windows(rows, columns)
        front.band(0.0, 0.35)
        back, fore = z
        ends = (fore, back) if x > 0 else (back, fore)
        self.add(front, [(x, y[1], ends[0]), (x, y[1], ends[1]), (x, y[0], ends[1]), (x, y[0], ends[0])])

    def body(self, width: float, height: float, depth: float, rows: int, columns: int, roof: float) -> None:
        """Walls and roof."""
        half = width / 2
        self.side(-half, (0, height), (-depth, 0), rows, max(1, round(depth / 4)))
        self.side(half, (0, height), (-depth, 0), rows, max(1, round(depth / 4)))
        if roof > 0:
            back = (height + roof, -depth / 2)
            corners = [(-half, *back), (half, *back), (half, height, 0.3), (-half, height, 0.3)]
            self.add(self.front(width, float(np.hypot(roof, depth / 2)), ROOF), corners)
        self.facing(self.decorated(width, height, rows, columns), -half, 0, 0, (width, height))

    def gable(self, x: float, width: float, y: float, height: float, z: float) -> None:
        front = self.front(width, height)
        front.emblems(round(1 + 3 * self.richness), min(1.8, height / 3))
        front.band(0.88, 0.5)
        self.facing(front, x - width / 2, y, z, (width, height), cut=[(0.5, 0), (1, 1), (0, 1)])

    def tower(self, x: float, width: float, height: float, eaves: float, rows: int, spire: float) -> None:
        """Put a square tower that stands out of the front; below the eaves only what stands out of it shows."""
        out = self.between(1.0, 2.2)
        left, right = x - width / 2, x + width / 2
        for edge, sign in ((left, -1), (right, 1)):
            for y, z in (((0.0, eaves), (0.0, out)), ((eaves, height), (out - width, out))):
                self._tower_side(edge, sign, y, z)
        self.facing(self.decorated(width, height, rows, 2 if width > 5 else 1), left, 0, out, (width, height))
        if spire > 0:
            self._spire(x, out - width / 2, width, height, spire)

    def _tower_side(self, x: float, sign: int, y: tuple[float, float], z: tuple[float, float]) -> None:
        front = self.front(z[1] - z[0], y[1] - y[0])
        if z[1] - z[0] > 3:
            front.windows(2, 1)
        front.band(0.0, 0.35)
        ends = (z[1], z[0]) if sign > 0 else (z[0], z[1])
        self.add(front, [(x, y[1], ends[0]), (x, y[1], ends[1]), (x, y[0], ends[1]), (x, y[0], ends[0])])

    def _spire(self, x: float, z: float, width: float, y: float, height: float) -> None:
        """Put a pyramid on a tower: its three sides that can be seen."""
        h = width / 2
        for ax, az, bx, bz in ((-h, -h, -h, h), (h, h, h, -h), (-h, h, h, h)):
            apex, a, b = (x, y + height, z), (x + ax, y, z + az), (x + bx, y, z + bz)
            across = np.subtract(b, a)
            middle = (np.asarray(a, np.float64) + b) / 2
            up = np.asarray(apex, np.float64) - middle
            front = self.front(width, float(np.linalg.norm(up)), ROOF)
            corners = np.stack([a + up, a + up + across, np.asarray(b), np.asarray(a)])
            self.add(front, corners, cut=[(0.5, 0), (1, 1), (0, 1)])

    def portico(self, width: float, height: float, out: float, columns: int) -> None:
        """Put a row of columns before the front, with a gable on it."""
        front = self.front(width, height, TRIM)
        front.layer[:] = TRIM
        at = (np.arange(front.width) * columns / front.width) % 1.0
        shaft = np.abs(at - 0.5) < 0.2
        flutes = 150 + 80 * np.cos((at - 0.5) * np.pi * 2.2) + 18 * np.sin(at * 90)
        lintel = round(0.2 * front.height)
        front.tone[lintel:] = np.clip(flutes, 0, 255).astype(np.uint8)
        front.alpha[lintel:, ~shaft] = 0
        front.frieze(0.03, 0.13 * height)
        front.tone[lintel : lintel + max(2, lintel // 4)] = 235
        self.facing(front, -width / 2, 0, out, (width, height))
        self.gable(0, width * 1.06, height, 0.24 * width, out + 0.2)

    def dome(self, width: float, y: float, z: float) -> None:
        """Put a drum and a dome on the roof, that look the same from all sides."""
        height = 1.1 * width
        front = self.front(width, height, ROOF)
        drum = self.decorated(width, height * 0.38, 1, 6)
        top = front.height - drum.height
        ribs = 40 * np.cos(np.linspace(-np.pi / 2, np.pi / 2, front.width) * 9)
        front.tone[:top] = np.clip(front.tone[:top] * 0.6 + 60 + ribs, 0, 255).astype(np.uint8)
        front.tone[top:], front.layer[top:] = drum.tone, drum.layer
        arch = [(0.5 + 0.44 * np.cos(a), 0.6 - 0.52 * np.sin(a)) for a in np.linspace(np.pi, 0, 17)]
        lantern = [(0.47, 0.08), (0.47, 0.0), (0.53, 0.0), (0.53, 0.08)]
        cut = [(0.04, 1), (0.04, 0.6), *arch[:8], *lantern, *arch[9:], (0.96, 0.6), (0.96, 1)]
        self.facing(front, -width / 2, y, z, (width, height), cut=cut, turns=True)

    def build(self, kind: str) -> Building:
        """Put a building of a kind together."""
        width, height, depth = self.between(22, 28), self.between(10, 13), self.between(9, 13)
        rows, columns = int(self.rng.integers(2, 4)), int(self.rng.integers(6, 9))
        roof = self.between(2.5, 4.5)
        top = height + roof
        if kind == "exchange":
            self.body(width, height, depth, rows, columns, roof)
            self.portico(self.between(0.45, 0.6) * width, height * 0.78, self.between(2.5, 4), 6)
        elif kind == "tower":
            self.body(width * 0.9, height * 0.8, depth, rows, columns, roof)
            top = height + self.between(6, 9)
            self.tower(self.between(-0.2, 0.2) * width, self.between(6, 7.5), top, height * 0.8, 4, 5.0)
            top += 5
        elif kind == "chapel":
            self.body(width * 0.8, height, depth, 1, columns, roof)
            for sign in (-1, 1):
                self.tower(sign * 0.4 * width, 4.5, height + 4, height, 3, 3.5)
            self.gable(0, width * 0.5, height, 5.5, 0.3)
            top = height + 7.5
        elif kind == "rotunda":
            self.body(width, height * 0.85, depth, rows, columns, 0)
            self.dome(self.between(11, 13), height * 0.85, -depth / 2)
            top = height + 12
        elif kind == "gate":
            self.body(width, height * 0.8, depth, rows, columns, roof)
            self.tower(0, self.between(8, 9.5), height + 3, height * 0.8, 3, 0)
            for sign in (-1, 1):
                self.tower(sign * 6.5, 3.0, height + 5, height * 0.8, 4, 3.0)
            top = height + 8
        else:
            self.body(width, height, depth, rows, columns, roof)
            for shift in (-0.3, 0, 0.3):
                self.gable(shift * width, 0.22 * width, height, 3.5, 0.3)
            top = height + 4
        return Building(tuple(self.planes), width, top)


@lru_cache(maxsize=64)
def landmark(seed: int, number: int, density: int, own: float) -> Building:
    """Return a landmark; built on first use in a process.

    Parameters
    ----------
    seed : int
        Seed of the data set.
    number : int
        Which landmark, from 0; its kind follows from it.
    density : int
        Pixels of its textures per metre.
    own : float
        Share, 0..1, of its ornaments that no other building has.
    """
    rng = generator(seed, "landmark", number)
    style = draw_style(rng, f"landmark {number}", own)
    return _Builder(seed, style, density, rng, 1.0).build(KINDS[number % len(KINDS)])


@lru_cache(maxsize=64)
def other(seed: int, number: int, density: int, own: float) -> Building:
    """Return a building that no query asks for: of the same vocabulary, with fewer ornaments; arguments as above."""
    rng = generator(seed, "other building", number)
    style = draw_style(rng, f"other {number}", own)
    builder = _Builder(seed, style, density, rng, float(rng.uniform(0.2, 1.0)))
    if number % 2:
        return builder.build(KINDS[int(rng.integers(len(KINDS)))])
    width, height, roof = builder.between(9, 18), builder.between(8, 14), builder.between(0, 3)
    builder.body(width, height, 8.0, int(rng.integers(2, 5)), max(2, round(width / 3.2)), roof)
    return Building(tuple(builder.planes), width, height + roof)
