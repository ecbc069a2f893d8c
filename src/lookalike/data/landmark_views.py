"""Views of the synthetic buildings: where the camera stands, what stands in its way, and what is left to see.

The same projection says where a plane's pixels go and how much of a landmark is visible, so that an image's place in
the ground truth follows from its geometry and not from a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.seeds import generator
from lookalike.data import materials
from lookalike.data.landmark_models import Building, Plane, Points
from lookalike.data.materials import ByteArray

OCCLUDERS = ("tree", "person", "lamp", "bus")
_NEAR = 0.5  # metres before the camera that can be seen at all
_COARSE = 4  # visibility is measured on a grid this many times coarser than the image


@dataclass(frozen=True)
class Camera:
    """A pinhole camera.

    Parameters
    ----------
    position, target : (float, float, float)
        Where it stands and what the middle of the image shows, in metres.
    roll : float
        Turn about its axis in radians.
    focal : float
        Focal length in pixels.
    size : (int, int)
        Width and height of the image in pixels.
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    roll: float
    focal: float
    size: tuple[int, int]

    def axes(self) -> Points:
        """Directions, as rows, of the image's x (right) and y (down) and of the view; not to be written to."""
        return _axes(self.position, self.target, self.roll)

    def project(self, points: Points) -> Points | None:
        """Pixels (n, 2) of points (n, 3), or None if any of them is not before the camera."""
        seen = (points - self.position) @ self.axes().T
        if seen[:, 2].min() < _NEAR:
            return None
        pixels: Points = self.focal * seen[:, :2] / seen[:, 2:] + np.divide(self.size, 2)
        return pixels

    def horizon(self) -> tuple[float, float]:
        """Heights in pixels at which the horizon crosses the image's left and right edge."""
        right, down, forward = self.axes()
        width, height = self.size
        ends = []
        for x in (0.0, float(width)):
            # the pixel's ray has no upward part
            rest = (x - width / 2) * right[1] + self.focal * forward[1]
            ends.append(height / 2 - rest / down[1])
        return ends[0], ends[1]


@lru_cache(maxsize=16)
def _axes(position: tuple[float, float, float], target: tuple[float, float, float], roll: float) -> Points:
    """Axes of a camera: every plane asks for them."""
    forward = np.subtract(target, position)
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 1.0, 0.0))
    right = right / np.linalg.norm(right)
    down = np.cross(forward, right)
    cosine, sine = np.cos(roll), np.sin(roll)
    axes: Points = np.stack([cosine * right + sine * down, cosine * down - sine * right, forward])
    axes.setflags(write=False)
    return axes


class Occluder(NamedTuple):
    """Something flat between camera and landmark.

    Attributes
    ----------
    kind : int
        Index into `OCCLUDERS`.
    x, y : float
        Middle of its foot in pixels.
    height : float
        In pixels.
    variant : int
        Which of its kind.
    """

    kind: int
    x: float
    y: float
    height: float
    variant: int


N_VARIANTS = 4
_ASPECTS = (0.85, 0.36, 0.16, 2.4)  # width over height


def quad(plane: Plane, camera: Camera) -> Points | None:
    """Pixels of a plane's four corners, or None where it turns its back or lies behind the camera."""
    corners = _turned(plane.corners, plane, camera)
    pixels = camera.project(corners)
    if pixels is None:
        return None
    (ax, ay), (bx, by) = pixels[1] - pixels[0], pixels[3] - pixels[0]
    return pixels if ax * by - ay * bx > 1.0 else None


def _turned(points: Points, plane: Plane, camera: Camera) -> Points:
    """Points of a plane after it has turned towards the camera, if it does."""
    if not plane.turns:
        return points
    middle = plane.corners.mean(axis=0)
    direction = np.subtract(camera.position, middle)
    angle = np.arctan2(direction[0], direction[2])
    cosine, sine = np.cos(angle), np.sin(angle)
    turned = points - middle
    turned = np.stack(
        [cosine * turned[:, 0] + sine * turned[:, 2], turned[:, 1], cosine * turned[:, 2] - sine * turned[:, 0]], axis=1
    )
    moved: Points = turned + middle
    return moved


def placed(building: Building, shift: tuple[float, float]) -> Building:
    """Move a building along x and z."""
    offset = np.array([shift[0], 0.0, shift[1]])
    planes = [
        plane._replace(corners=plane.corners + offset, outline=plane.outline + offset) for plane in building.planes
    ]
    return building._replace(planes=tuple(planes))


class Visibility(NamedTuple):
    """How much of a landmark an image shows.

    Attributes
    ----------
    share : float
        Visible part of its projection, 0..1: what is neither outside the image nor behind an occluder.
    coverage : float
        Share of the image that shows it, 0..1.
    box : (float, float, float, float)
        Rectangle of what is visible: x_min, y_min, x_max, y_max in pixels; all 0 for nothing.
    """

    share: float
    coverage: float
    box: tuple[float, float, float, float]


NOTHING = Visibility(0.0, 0.0, (0.0, 0.0, 0.0, 0.0))


def _outlines(building: Building, camera: Camera) -> list[Points]:
    """Outlines, in cells of the coarse grid, of the planes that show."""
    showing = [plane for plane in building.planes if quad(plane, camera) is not None]
    pixels = [camera.project(_turned(plane.outline, plane, camera)) for plane in showing]
    return [outline / _COARSE for outline in pixels if outline is not None]


def measure(
    building: Building, camera: Camera, nearer: tuple[Building, ...], occluders: tuple[Occluder, ...]
) -> Visibility:
    """Measure how much of a building an image shows, on a coarse grid that reaches beyond the image.

    Parameters
    ----------
    building : Building
        The landmark, where it stands.
    camera : Camera
    nearer : tuple of Building
        Buildings that are painted over it.
    occluders : tuple of Occluder
    """
    import cv2

    outlines = _outlines(building, camera)
    if not outlines:
        return NOTHING
    width, height = (side // _COARSE for side in camera.size)
    low = np.floor(np.minimum(np.min([o.min(axis=0) for o in outlines], axis=0), 0)).astype(int)
    high = np.ceil(np.maximum(np.max([o.max(axis=0) for o in outlines], axis=0), (width, height))).astype(int)
    if max(high - low) > 12 * max(width, height):
        return NOTHING  # so near that it is a wall of pixels
    whole = np.zeros((high[1] - low[1] + 1, high[0] - low[0] + 1), np.uint8)
    for outline in outlines:
        cv2.fillPoly(whole, [np.round(outline - low).astype(np.int32)], 1)
    seen = whole[-low[1] : -low[1] + height, -low[0] : -low[0] + width].copy()
    before = [outline for other in nearer for outline in _outlines(other, camera)]
    before += [part / _COARSE for occluder in occluders for part in silhouette(occluder)]
    for outline in before:
        cv2.fillPoly(seen, [np.round(np.clip(outline, -9_999, 9_999)).astype(np.int32)], 0)
    n_seen, n_whole = int(np.count_nonzero(seen)), int(np.count_nonzero(whole))
    if n_seen == 0:
        return NOTHING
    columns, rows = np.flatnonzero(seen.any(axis=0)), np.flatnonzero(seen.any(axis=1))
    box = tuple(float(_COARSE * edge) for edge in (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    return Visibility(n_seen / n_whole, n_seen / seen.size, (box[0], box[1], box[2], box[3]))


def silhouette(occluder: Occluder) -> list[Points]:
    """Outlines of an occluder in pixels, as polygons that all belong to it."""
    width = _ASPECTS[occluder.kind] * occluder.height
    scale = np.array([width, occluder.height])
    origin = np.array([occluder.x - width / 2, occluder.y - occluder.height])
    return [origin + part * scale for part in _unit_silhouette(occluder.kind)]


@lru_cache(maxsize=8)
def _unit_silhouette(kind: int) -> tuple[Points, ...]:
    """Outlines in a square of side 1."""
    turns = np.linspace(0, 2 * np.pi, 25)[:-1]
    circle = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    name = OCCLUDERS[kind]
    if name == "tree":
        return circle * (0.47, 0.38) + (0.5, 0.39), _box(0.44, 0.7, 0.56, 1.0)
    if name == "person":
        return circle * (0.2, 0.075) + (0.5, 0.08), _box(0.15, 0.17, 0.85, 0.58), _box(0.22, 0.55, 0.78, 1.0)
    if name == "lamp":
        return _box(0.42, 0.1, 0.58, 1.0), circle * (0.45, 0.07) + (0.5, 0.08)
    return (_box(0.0, 0.05, 1.0, 0.9), _box(0.1, 0.88, 0.25, 1.0), _box(0.75, 0.88, 0.9, 1.0))


def _box(left: float, top: float, right: float, bottom: float) -> Points:
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)])


@lru_cache(maxsize=64)
def occluder_picture(seed: int, kind: int, variant: int, side: int) -> ByteArray:
    """Picture of an occluder: uint8, shape (side, width, 4), RGB multiplied by coverage, and coverage."""
    import cv2

    rng = generator(seed, "occluder", OCCLUDERS[kind], variant)
    size = (max(8, round(side * _ASPECTS[kind])), side)
    mask = np.zeros((side, size[0]), np.uint8)
    colours = np.zeros((side, size[0], 3), np.float32)
    parts = [np.round(part * np.subtract(size, 1)).astype(np.int32) for part in _unit_silhouette(kind)]
    noise = np.asarray(cv2.resize(materials.cloud(rng, 1.0), size, interpolation=cv2.INTER_LINEAR), np.float32)
    if OCCLUDERS[kind] == "tree":
        _paint_tree(colours, mask, parts, noise, rng)
    else:
        for part in parts:
            grey = rng.uniform(15, 60) if OCCLUDERS[kind] == "lamp" else rng.uniform(30, 190)
            colour = np.clip(grey + rng.uniform(-45, 45, 3), 8, 235)
            cv2.fillPoly(mask, [part], 255)
            cv2.fillPoly(colours, [part], colour.tolist())
        colours *= 1 + 0.12 * noise[:, :, None]
        if OCCLUDERS[kind] == "bus":
            _paint_bus(colours, size, rng)
    coloured: npt.NDArray[np.float32] = np.clip(colours, 0, 255) * (mask[:, :, None] > 0)
    return np.dstack([coloured.astype(np.uint8), mask])


def _paint_tree(
    colours: npt.NDArray[np.float32],
    mask: ByteArray,
    parts: list[npt.NDArray[np.int32]],
    noise: npt.NDArray[np.float32],
    rng: np.random.Generator,
) -> None:
    """Paint a trunk, and a crown of leaves with holes at its edge."""
    import cv2

    cv2.fillPoly(mask, [parts[1]], 255)
    cv2.fillPoly(colours, [parts[1]], (70, 52, 36))
    crown = np.zeros_like(mask)
    cv2.fillPoly(crown, [parts[0]], 255)
    inside = cv2.distanceTransform(crown, cv2.DIST_L2, 3) / (0.12 * mask.shape[0])
    leaves = (crown > 0) & (inside + 0.5 * noise > 0.35)
    mask[leaves] = 255
    green = np.array([rng.uniform(40, 100), rng.uniform(80, 130), rng.uniform(25, 55)], np.float32)
    colours[leaves] = green * (0.8 + 0.38 * noise[leaves][:, None])


def _paint_bus(colours: npt.NDArray[np.float32], size: tuple[int, int], rng: np.random.Generator) -> None:
    """Paint a row of windows and a sign."""
    import cv2

    width, height = size
    n = int(rng.integers(5, 8))
    for i in range(n):
        left, right = round(width * (i + 0.12) / n), round(width * (i + 0.9) / n)
        cv2.rectangle(
            colours,
            (left, height // 7),
            (right, height // 2),
            (rng.uniform(20, 60) * np.array([0.8, 1.0, 1.2])).tolist(),
            -1,
        )
    sign = cv2.resize(rng.uniform(60, 230, (3, 14, 1)).astype(np.float32), (width // 2, height // 6))
    colours[height * 5 // 8 : height * 5 // 8 + sign.shape[0], width // 4 : width // 4 + sign.shape[1]] = sign[
        :, :, None
    ]
