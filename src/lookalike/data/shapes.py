"""Shapes of the synthetic images: little objects made of polygons, each part cut from one of three materials.

A shape is drawn in a square of -1..1 (y down, standing on y = 1) and knows nothing of pixels, materials or scenes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

Polygon = npt.NDArray[np.float64]
Part = tuple[Polygon, int]
"""Corners (n, 2) and which of the object's three materials it is cut from: 0, 1 or 2."""


def _corners(*points: tuple[float, float]) -> Polygon:
    return np.array(points, dtype=np.float64)


def _ellipse(x: float, y: float, rx: float, ry: float, start: float = 0.0, stop: float = 360.0) -> Polygon:
    """Ellipse, or the segment of one between two angles in degrees (0 to the right, 90 down)."""
    t = np.radians(np.linspace(start, stop, 33))
    return np.column_stack([x + rx * np.cos(t), y + ry * np.sin(t)])


def _lathe(*profile: tuple[float, float]) -> Polygon:
    """Turned outline: (y, half width) from top to bottom, smoothed, mirrored about x = 0."""
    from scipy.interpolate import PchipInterpolator  # here: every plan imports this module, and draws nothing

    y, r = np.array(profile, dtype=np.float64).T
    fine = np.linspace(y[0], y[-1], 41)
    half = PchipInterpolator(y, r)(fine)  # rounded like thrown clay, and never overshooting as a spline would
    return np.concatenate([np.column_stack([half, fine]), np.column_stack([-half, fine])[::-1]])


def _box(left: float, top: float, right: float, bottom: float) -> Polygon:
    return _corners((left, top), (right, top), (right, bottom), (left, bottom))


def _mirrored(polygon: Polygon) -> Polygon:
    return np.multiply(polygon, [-1.0, 1.0])


def _blossom(x: float, y: float, radius: float, petals: int, depth: float) -> Polygon:
    t = np.linspace(0, 2 * np.pi, 97)
    r = radius * (1 - depth + depth * np.abs(np.cos(petals * t / 2)))
    return np.column_stack([x + r * np.cos(t), y + r * np.sin(t)])


def _vase() -> list[Part]:
    body = _lathe((-1.0, 0.34), (-0.82, 0.22), (-0.55, 0.26), (0.1, 0.68), (0.7, 0.5), (1.0, 0.34))
    belt = body[(body[:, 1] > -0.12) & (body[:, 1] < 0.32)]
    return [(body, 0), (belt, 1), (_ellipse(0, -1.0, 0.34, 0.08), 2)]


def _mushroom() -> list[Part]:
    stem = _lathe((-0.2, 0.2), (0.5, 0.24), (1.0, 0.36))
    return [(stem, 1), (_ellipse(0, -0.1, 0.92, 0.2), 2), (_ellipse(0, -0.1, 0.95, 0.85, 180, 360), 0)]


def _tree() -> list[Part]:
    trunk = _lathe((-0.1, 0.12), (0.8, 0.14), (1.0, 0.26))
    crown = [_ellipse(-0.42, -0.15, 0.45, 0.42), _ellipse(0.42, -0.15, 0.45, 0.42), _ellipse(0.0, -0.55, 0.55, 0.45)]
    return [(trunk, 1), *((ball, 0) for ball in crown)]


def _house() -> list[Part]:
    roof = _corners((-0.98, -0.12), (-0.55, -0.85), (0.55, -0.85), (0.98, -0.12))
    walls = _box(-0.8, -0.15, 0.8, 1.0)
    return [(walls, 0), (_box(0.3, -1.0, 0.5, -0.5), 2), (roof, 1), (_box(-0.17, 0.4, 0.17, 1.0), 2)]


def _fish() -> list[Part]:
    body = _ellipse(-0.15, 0.0, 0.72, 0.46)
    tail = _corners((0.42, 0.0), (0.95, -0.5), (0.82, 0.0), (0.95, 0.5))
    fin = _corners((-0.35, -0.36), (0.0, -0.78), (0.3, -0.7), (0.25, -0.3))
    return [(tail, 1), (fin, 1), (body, 0), (_ellipse(-0.56, -0.1, 0.1, 0.1), 2)]


def _flower() -> list[Part]:
    stem = _corners((-0.05, 0.0), (0.05, 0.0), (0.09, 1.0), (-0.03, 1.0))
    leaf = _corners((0.04, 0.75), (0.2, 0.42), (0.6, 0.32), (0.45, 0.65))
    head = _blossom(0.0, -0.3, 0.7, 7, 0.42)
    return [(stem, 1), (leaf, 1), (_mirrored(leaf), 1), (head, 0), (_ellipse(0, -0.3, 0.24, 0.24), 2)]


def _mug() -> list[Part]:
    handle = np.concatenate([_ellipse(0.5, 0.0, 0.48, 0.5, -80, 80), _ellipse(0.5, 0.0, 0.28, 0.3, 80, -80)])
    body = _lathe((-0.8, 0.62), (0.6, 0.58), (0.85, 0.5))
    return [(handle, 1), (body - np.array([0.15, 0.0]), 0), (_ellipse(-0.15, -0.8, 0.62, 0.13), 2)]


def _lamp() -> list[Part]:
    shade = _corners((-0.32, -1.0), (0.32, -1.0), (0.78, 0.05), (-0.78, 0.05))
    foot = _lathe((0.0, 0.06), (0.3, 0.08), (0.6, 0.3), (0.85, 0.1), (0.95, 0.45), (1.0, 0.5))
    return [(foot, 1), (shade, 0), (_corners((-0.74, -0.05), (0.74, -0.05), (0.8, 0.1), (-0.8, 0.1)), 2)]


def _balloon() -> list[Part]:
    envelope = _lathe((-1.0, 0.02), (-0.9, 0.4), (-0.35, 0.74), (0.25, 0.46), (0.5, 0.16))
    band = envelope[(envelope[:, 1] > -0.52) & (envelope[:, 1] < -0.18)]
    ropes = _corners((-0.16, 0.48), (-0.12, 0.48), (0.0, 0.8), (0.12, 0.48), (0.16, 0.48), (0.12, 0.8), (-0.12, 0.8))
    return [(ropes, 2), (_box(-0.17, 0.74, 0.17, 1.0), 2), (envelope, 0), (band, 1)]


def _butterfly() -> list[Part]:
    upper = _corners((0.03, -0.1), (0.25, -0.65), (0.7, -0.9), (0.97, -0.6), (0.85, -0.1), (0.4, 0.12), (0.03, 0.1))
    lower = _corners((0.03, 0.05), (0.45, 0.08), (0.75, 0.3), (0.72, 0.7), (0.45, 0.85), (0.15, 0.5))
    wings: list[Part] = [(lower, 1), (_mirrored(lower), 1), (upper, 0), (_mirrored(upper), 0)]
    return [*wings, (_ellipse(0, 0.05, 0.09, 0.6), 2)]


def _boat() -> list[Part]:
    hull = _corners((-1.0, 0.45), (1.0, 0.4), (0.72, 0.9), (-0.66, 0.9))
    mainsail = _corners((0.02, -1.0), (0.8, 0.28), (0.02, 0.32))
    jib = _corners((-0.08, -0.8), (-0.08, 0.3), (-0.72, 0.3))
    return [(_box(-0.07, -1.0, 0.01, 0.5), 2), (mainsail, 0), (jib, 0), (hull, 1)]


def _cactus() -> list[Part]:
    stalk = _lathe((-0.95, 0.06), (-0.8, 0.24), (0.5, 0.26), (0.6, 0.24))
    arm = np.concatenate([_ellipse(0.62, -0.42, 0.13, 0.13, 180, 360), _ellipse(0.4, 0.1, 0.35, 0.3, 0, 90)])
    arm = np.concatenate([arm, _corners((0.1, 0.4), (0.1, 0.12), (0.4, 0.12), (0.49, 0.0))])
    pot = _corners((-0.5, 0.5), (0.5, 0.5), (0.36, 1.0), (-0.36, 1.0))
    other = _mirrored(arm) + np.array([0.0, -0.2])
    return [(arm, 0), (other, 0), (stalk, 0), (pot, 1), (_box(-0.56, 0.44, 0.56, 0.58), 2)]


def _pebble() -> list[Part]:
    return [(_ellipse(0, 0.3, 0.95, 0.62), 0)]


def _leaf() -> list[Part]:
    x = np.linspace(-1, 1, 17)
    half = 0.42 * (1 - x**2) ** 0.8
    return [(np.concatenate([np.column_stack([x, half]), np.column_stack([x, -half])[::-1]]), 0)]


def _shard() -> list[Part]:
    return [(_corners((-0.9, 0.5), (-0.3, -0.8), (0.7, -0.6), (0.95, 0.4), (0.1, 0.8)), 0)]


def _star() -> list[Part]:
    t = np.arange(10) * np.pi / 5 - np.pi / 2
    r = np.where(np.arange(10) % 2 == 0, 1.0, 0.48)
    return [(np.column_stack([r * np.cos(t), r * np.sin(t)]), 0)]


_OBJECTS: dict[str, Callable[[], list[Part]]] = {
    "vase": _vase,
    "mushroom": _mushroom,
    "tree": _tree,
    "house": _house,
    "fish": _fish,
    "flower": _flower,
    "mug": _mug,
    "lamp": _lamp,
    "balloon": _balloon,
    "butterfly": _butterfly,
    "boat": _boat,
    "cactus": _cactus,
}
_SCRAPS: dict[str, Callable[[], list[Part]]] = {"pebble": _pebble, "leaf": _leaf, "shard": _shard, "star": _star}

SHAPES = tuple(_OBJECTS)
"""Names of the shapes that a class may own."""
SCRAPS = tuple(_SCRAPS)
"""Names of the small shapes that lie about as clutter; their numbers follow those of `SHAPES`."""
FLOATING = frozenset({"fish", "balloon", "butterfly", "star"})
"""Shapes that need no ground under them."""


def shape_name(shape: int) -> str:
    """Name of a shape or scrap."""
    return (*SHAPES, *SCRAPS)[shape]


@cache
def parts_of(shape: int) -> Sequence[Part]:
    """Parts of a shape or scrap, the hindmost first."""
    return tuple((*_OBJECTS.values(), *_SCRAPS.values())[shape]())
