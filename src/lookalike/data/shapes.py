"""Shapes of the synthetic images: little things made of polygons, each cut from one of three materials.

A shape lies in the square -1..1 (y down, standing on y = 1) and knows nothing of pixels, materials or scenes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Polygon = npt.NDArray[np.float64]
Parts = tuple[tuple[Polygon, int], ...]
"""Corners (n, 2) of each part and which of the three materials it is cut from, the hindmost part first."""


def _corners(*points: tuple[float, float]) -> Polygon:
    return np.array(points, np.float64)


def _box(left: float, top: float, right: float, bottom: float) -> Polygon:
    return _corners((left, top), (right, top), (right, bottom), (left, bottom))


def _ellipse(x: float, y: float, rx: float, ry: float, start: float = 0, stop: float = 360) -> Polygon:
    """Ellipse, or the segment of one between two angles in degrees (0 to the right, 90 down)."""
    t = np.radians(np.linspace(start, stop, 33))
    return np.column_stack([x + rx * np.cos(t), y + ry * np.sin(t)])


def _turned(*profile: tuple[float, float], top: float = -1, bottom: float = 1) -> Polygon:
    """Outline of what a potter turns: (y, half width) from above, mirrored; only what lies between two heights."""
    y, r = np.array(profile).T
    fine = np.linspace(max(top, y[0]), min(bottom, y[-1]), 33)
    place = np.interp(fine, y, np.arange(len(y)))
    low = np.minimum(place.astype(int), len(y) - 2)
    t = place - low
    half = r[low] + (r[low + 1] - r[low]) * (0.5 * t + 0.5 * t * t * (3 - 2 * t))  # half straight, half rounded
    return np.concatenate([np.column_stack([half, fine]), np.column_stack([-half, fine])[::-1]])


def _mirrored(polygon: Polygon) -> Polygon:
    return np.multiply(polygon, (-1.0, 1.0))


def _radial(x: float, y: float, radii: npt.ArrayLike) -> Polygon:
    """Corners at equal angles about a middle, at the given distances, from above."""
    r = np.asarray(radii)
    t = np.arange(len(r)) * 2 * np.pi / len(r) - np.pi / 2
    return np.column_stack([x + r * np.cos(t), y + r * np.sin(t)])


CIRCLE = _ellipse(0, 0, 1, 1)
"""A circle of radius 1."""
_VASE = ((-1.0, 0.34), (-0.82, 0.22), (-0.55, 0.26), (0.1, 0.68), (0.7, 0.5), (1.0, 0.34))
_PETALS = 0.7 * (0.58 + 0.42 * np.abs(np.cos(3.5 * np.linspace(0, 2 * np.pi, 96, endpoint=False))))
_LEAF = _corners((0.04, 0.75), (0.2, 0.42), (0.6, 0.32), (0.45, 0.65))
_UPPER_WING = _corners((0.03, -0.1), (0.25, -0.65), (0.7, -0.9), (0.97, -0.6), (0.85, -0.1), (0.4, 0.12), (0.03, 0.1))
_LOWER_WING = _corners((0.03, 0.05), (0.45, 0.08), (0.75, 0.3), (0.72, 0.7), (0.45, 0.85), (0.15, 0.5))
_HANDLE = np.concatenate([_ellipse(0.5, 0, 0.48, 0.5, -80, 80), _ellipse(0.5, 0, 0.28, 0.3, 80, -80)])

OBJECTS: dict[str, Parts] = {
    "vase": ((_turned(*_VASE), 0), (_turned(*_VASE, top=-0.12, bottom=0.32), 1), (_ellipse(0, -1, 0.34, 0.08), 2)),
    "mushroom": (
        (_turned((-0.2, 0.2), (0.5, 0.24), (1.0, 0.36)), 1),
        (_ellipse(0, -0.1, 0.92, 0.2), 2),
        (_ellipse(0, -0.1, 0.95, 0.85, 180, 360), 0),
    ),
    "tree": (
        (_turned((-0.1, 0.12), (0.8, 0.14), (1.0, 0.26)), 1),
        (_ellipse(-0.42, -0.15, 0.45, 0.42), 0),
        (_ellipse(0.42, -0.15, 0.45, 0.42), 0),
        (_ellipse(0.0, -0.55, 0.55, 0.45), 0),
    ),
    "house": (
        (_box(-0.8, -0.15, 0.8, 1.0), 0),
        (_box(0.3, -1.0, 0.5, -0.5), 2),
        (_corners((-0.98, -0.12), (-0.55, -0.85), (0.55, -0.85), (0.98, -0.12)), 1),
        (_box(-0.17, 0.4, 0.17, 1.0), 2),
    ),
    "fish": (
        (_corners((0.42, 0.0), (0.95, -0.5), (0.82, 0.0), (0.95, 0.5)), 1),
        (_corners((-0.35, -0.36), (0.0, -0.78), (0.3, -0.7), (0.25, -0.3)), 1),
        (_ellipse(-0.15, 0.0, 0.72, 0.46), 0),
        (_ellipse(-0.56, -0.1, 0.1, 0.1), 2),
    ),
    "flower": (
        (_corners((-0.05, 0.0), (0.05, 0.0), (0.09, 1.0), (-0.03, 1.0)), 1),
        (_LEAF, 1),
        (_mirrored(_LEAF), 1),
        (_radial(0, -0.3, _PETALS), 0),
        (_ellipse(0, -0.3, 0.24, 0.24), 2),
    ),
    "mug": (
        (_HANDLE, 1),
        (_turned((-0.8, 0.62), (0.6, 0.58), (0.85, 0.5)) - (0.15, 0.0), 0),
        (_ellipse(-0.15, -0.8, 0.62, 0.13), 2),
    ),
    "lamp": (
        (_turned((0.0, 0.06), (0.3, 0.08), (0.6, 0.3), (0.85, 0.1), (0.95, 0.45), (1.0, 0.5)), 1),
        (_corners((-0.32, -1.0), (0.32, -1.0), (0.78, 0.05), (-0.78, 0.05)), 0),
        (_corners((-0.74, -0.05), (0.74, -0.05), (0.8, 0.1), (-0.8, 0.1)), 2),
    ),
    "butterfly": (
        (_LOWER_WING, 1),
        (_mirrored(_LOWER_WING), 1),
        (_UPPER_WING, 0),
        (_mirrored(_UPPER_WING), 0),
        (_ellipse(0, 0.05, 0.09, 0.6), 2),
    ),
    "boat": (
        (_box(-0.07, -1.0, 0.01, 0.5), 2),
        (_corners((0.02, -1.0), (0.8, 0.28), (0.02, 0.32)), 0),
        (_corners((-0.08, -0.8), (-0.08, 0.3), (-0.72, 0.3)), 0),
        (_corners((-1.0, 0.45), (1.0, 0.4), (0.72, 0.9), (-0.66, 0.9)), 1),
    ),
}
"""What an image is of."""
FLOATING = frozenset({"fish", "butterfly"})
"""Objects that need no ground under them."""
SCRAPS: dict[str, Parts] = {
    "pebble": ((_ellipse(0, 0.3, 0.95, 0.62), 0),),
    "leaf": ((_corners((-1, 0), (-0.5, -0.3), (0, -0.42), (0.5, -0.3), (1, 0), (0, 0.42), (-0.5, 0.3)), 0),),
    "shard": ((_corners((-0.9, 0.5), (-0.3, -0.8), (0.7, -0.6), (0.95, 0.4), (0.1, 0.8)), 0),),
    "star": ((_radial(0, 0, [1, 0.48] * 5), 0),),
}
"""What lies about."""
PARTS = OBJECTS | SCRAPS
"""Parts of everything, by name."""
