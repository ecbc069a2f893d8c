"""The scene that all synthetic images are painted as: what is behind, things before it, and the photograph of both.

Things are cut from textures: ten families of periodic grey tiles, and ramps that colour them.

A recipe (`painted_*`) says what is in an image. Whatever is left to chance comes from the image's own random stream.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from lookalike.core.arrays import Bytes, Doubles, Floats
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import Painted

Random = np.random.Generator

SIDE = 256  # of a tile, in pixels
_COLOURS = (
    "amber 7a3e0c fac45c, cobalt 122260 6898e2, moss 223416 8aa44e, rose 8c2e48 f6bec4, ivory 9e8e74 faf4e4, "
    "slate 262c36 909caa, plum 34143e ac6eb0, teal 084246 62c4b8, coral a83a28 ffa684, sand 866a46 e8d2a4, "
    "crimson 520614 da3a3a, olive 484212 beb656, azure 2e68a0 c0e4f8, lilac 60548e dacef2, rust 461e10 c06838, "
    "mint 2e7a5c c4eed0"
)
RAMPS = {name: [*map(list, map(bytes.fromhex, ends))] for name, *ends in map(str.split, _COLOURS.split(","))}
"""Dark and light colour, RGB, of each ramp."""
_Y, _X = np.mgrid[0:SIDE, 0:SIDE] / SIDE


def _cloud(rng: Random, slope: float, stretch: float = 1.0, cut: float = 1.0) -> Doubles:
    """Return noise of variance 1, `stretch` times as long as wide; amplitude falls as frequency ** -slope."""
    fy, fx = np.fft.fftfreq(SIDE, 1 / SIDE)[:, None], stretch * np.fft.rfftfreq(SIDE, 1 / SIDE)
    frequency = np.hypot(fx, fy)
    # nothing repeats less than `cut` times a tile
    amplitude = np.where(frequency >= cut, np.maximum(frequency, 1.0) ** -slope, 0.0)
    field: Doubles = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((SIDE, SIDE))) * amplitude, s=(SIDE, SIDE))
    return np.asarray(field / field.std())


def _stripes(rng: Random, right: int, down: int) -> Doubles:
    return np.asarray(np.sin(2 * np.pi * (right * _X + down * _Y) + 0.9 * _cloud(rng, 2.2)))


def _marble(rng: Random, right: int, down: int) -> Doubles:
    return np.asarray(np.abs(np.sin(np.pi * (right * _X + down * _Y) + 1.8 * _cloud(rng, 1.6))) ** 0.45)


def _timber(rng: Random, n: int) -> Doubles:
    rings = np.sin(2 * np.pi * n * _Y + 2.2 * _cloud(rng, 2.0, stretch=5.0))
    return np.asarray(rings + 0.55 * _cloud(rng, 0.8, stretch=14.0))


def _chevron(_: Random, n: int, columns: int) -> Doubles:
    zigzag = np.abs((_X * columns) % 1 - 0.5)
    return np.asarray(np.tanh(2.5 * np.sin(2 * np.pi * (n * _Y + 2 * zigzag))))


def _fur(rng: Random, stretch: float, cut: float) -> Doubles:
    return _cloud(rng, 1.0, stretch, cut) + 0.35 * _cloud(rng, 2.0)


def _cells(rng: Random, columns: int, rows: int) -> tuple[Doubles, Doubles, Doubles]:
    """Place (0..1) each pixel across and down its cell, every second row of which is shifted; and their tones."""
    row = np.floor(_Y * rows)
    across = _X * columns + 0.5 * (row % 2)
    tones = rng.random((rows, columns))
    return across % 1, _Y * rows - row, tones[row.astype(int), across.astype(int) % columns]


def _dots(rng: Random, n: int) -> Doubles:
    x, y, tone = _cells(rng, n, n)
    distance = np.hypot(x - 0.5, y - 0.5)
    return np.clip((0.32 + 0.10 * tone - distance) / 0.14, 0, 1) * (1.2 - distance)


def _bricks(rng: Random, columns: int, rows: int) -> Doubles:
    x, y, tone = _cells(rng, columns, rows)
    edge = SIDE * np.minimum(np.minimum(x, 1 - x) / columns, np.minimum(y, 1 - y) / rows)
    return (0.45 + 0.5 * tone) * np.clip((edge - 0.6) / 1.8, 0, 1)


def _scales(rng: Random, n: int) -> Doubles:
    x, y, tone = _cells(rng, n, 2 * n)
    distance = np.hypot(x - 0.5, y / 2)
    return (0.6 + 0.4 * tone) * (0.25 + 1.2 * distance) * np.clip((0.6 - distance) / 0.07, 0, 1)


def _cobble(rng: Random, n: int) -> Doubles:
    """Return stones about a point in each square of a grid; distances to the two nearest points make their edges."""
    from scipy.spatial import cKDTree  # takes a third of a second, and plans ask recipes for names alone

    points = (np.indices((n, n)).reshape(2, -1).T + 0.1 + 0.8 * rng.random((n * n, 2))) / n
    tones = 0.55 + 0.45 * rng.random(n * n)
    distances, stones = cKDTree(points, boxsize=np.ones(2)).query(np.stack([_X, _Y], -1), k=2)
    first, second = np.moveaxis(np.asarray(distances), -1, 0)
    return np.asarray(
        np.clip((second - first) * SIDE / 3.2, 0, 1) * tones[np.asarray(stones)[..., 0]] * (1 - 0.8 * n * first)
    )


# painter of each family, and its three scales or directions
_FAMILIES: dict[str, tuple[Callable[..., Doubles], tuple[tuple[float, ...], ...]]] = {
    "cloud": (_cloud, ((1.6, 2.2), (1.2, 1), (1.4, 4))),
    "stripes": (_stripes, ((20, 4), (26, -10), (14, 14))),
    "dots": (_dots, ((10,), (14,), (20,))),
    "bricks": (_bricks, ((6, 12), (8, 20), (16, 16))),
    "cobble": (_cobble, ((10,), (14,), (19,))),
    "marble": (_marble, ((3, 2), (2, -4), (5, 1))),
    "timber": (_timber, ((7,), (11,), (16,))),
    "fur": (_fur, ((5, 12), (8, 20), (4, 16))),
    "scales": (_scales, ((10,), (14,), (20,))),
    "chevron": (_chevron, ((14, 6), (20, 8), (26, 14))),
}
FAMILIES = tuple(_FAMILIES)


@cache
def tile(seed: int, family: str, variant: int) -> Bytes:
    """Return the grey tile of a family in one of three variants, of shape (SIDE, SIDE); not to be written to."""
    rng = generator(seed, "texture", family, variant)
    paint, variants = _FAMILIES[family]
    field = paint(rng, *variants[variant])
    field = field + 0.15 * field.std() * _cloud(rng, 0.8)
    low, high = np.percentile(field, (2, 98))
    return np.asarray(np.clip((field - low) * (255 / (high - low)), 0, 255), np.uint8)


def blend(first: npt.ArrayLike, second: npt.ArrayLike, share: npt.ArrayLike) -> Floats:
    """Return colours between two: `share` (...,) of the second, shape (..., 3)."""
    start, weight = np.asarray(first, np.float32), np.asarray(share, np.float32)[..., None]
    return start + (np.asarray(second, np.float32) - start) * weight


@cache
def ramp(name: str, contrast: float = 1.0) -> Floats:
    """Colour a tile's tones, (256, 3), not to be written to; less `contrast` pulls both ends to the middle."""
    dark, pale = RAMPS[name]
    return blend(dark, pale, 0.5 + contrast * np.linspace(-0.5, 0.5, 256))


def hued(light: npt.ArrayLike, chroma: float, hue: float) -> Floats:
    """Return colours (n, 3) of one hue (0..1, circular) and chroma by lightness (n,), 0..100, as CIE Lab has them."""
    lightness = np.atleast_1d(np.asarray(light, np.float32))
    a, b = (chroma * wave(2 * np.pi * hue) + 0 * lightness for wave in (np.cos, np.sin))
    lab = np.stack([lightness, a, b], axis=-1).astype(np.float32)
    return np.asarray(255 * np.clip(cv2.cvtColor(lab[None], cv2.COLOR_Lab2RGB)[0], 0, 1))


def look(picture: Bytes, size: tuple[int, int], onto: Doubles) -> Bytes:
    """Look at an endless tile through a window of `size` (width, height), from whose pixels `onto` leads to its own."""
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpPerspective(picture, onto, size, flags=flags, borderMode=cv2.BORDER_WRAP), np.uint8)


def turned(angle: float, zoom: float, offset: npt.ArrayLike) -> Doubles:
    """Return the homography that turns (radians) and scales about the origin, then moves by shares of a tile."""
    (cosine, sine), (x, y) = (zoom * np.cos(angle), zoom * np.sin(angle)), np.multiply(offset, SIDE)
    return np.array([[cosine, -sine, x], [sine, cosine, y], [0, 0, 1]])


# corners in the square -1..1 (y down, standing on 1) and number of the material of each part, the hindmost first
Parts = tuple[tuple[npt.ArrayLike, int], ...]
SKIES = (  # colours at the zenith and at the horizon
    ((72, 132, 206), (204, 226, 240)),  # noon
    ((148, 158, 168), (212, 214, 212)),  # overcast
    ((94, 160, 190), (250, 228, 186)),  # morning
    ((66, 64, 120), (250, 176, 126)),  # dusk
    ((24, 30, 66), (96, 104, 152)),  # night
    ((170, 140, 190), (252, 208, 208)),  # rosy
)
WALL = NONE = -1  # in place of the number of a sky, and of a class or landmark


def _box(left: float, top: float, right: float, bottom: float) -> Doubles:
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)])


def ellipse(x: float, y: float, rx: float, ry: float, start: float = 0, stop: float = 360) -> Doubles:
    """Return an ellipse, or the segment of one between two angles in degrees (0 to the right, 90 down)."""
    t = np.radians(np.linspace(start, stop, 33))
    return np.column_stack([x + rx * np.cos(t), y + ry * np.sin(t)])


def _mirrored(*profile: tuple[float, float]) -> Doubles:
    """Outline what is alike on the left and on the right: (half width, y) from above."""
    return np.concatenate([profile, (np.array(profile) * (-1, 1))[::-1]])


def _radial(y: float, r: Doubles) -> Doubles:
    """Return corners at equal angles about the point (0, y), at the given distances, from above."""
    t = np.arange(len(r)) * 2 * np.pi / len(r) - np.pi / 2
    return np.column_stack([r * np.cos(t), y + r * np.sin(t)])


CIRCLE = ellipse(0, 0, 1, 1)
_PETALS = 0.7 * (0.58 + 0.42 * np.abs(np.cos(3.5 * np.linspace(0, 2 * np.pi, 96, endpoint=False))))
_LEAF = np.array([(0.04, 0.75), (0.2, 0.42), (0.6, 0.32), (0.45, 0.65)])
_UPPER_WING = np.array([(0.03, -0.1), (0.25, -0.65), (0.7, -0.9), (0.97, -0.6), (0.85, -0.1), (0.4, 0.12), (0.03, 0.1)])
_LOWER_WING = np.array([(0.03, 0.05), (0.45, 0.08), (0.75, 0.3), (0.72, 0.7), (0.45, 0.85), (0.15, 0.5)])
OBJECTS: dict[str, Parts] = {  # what an image is of
    "vase": (
        (_mirrored((0.34, -1), (0.22, -0.82), (0.3, -0.5), (0.6, -0.1), (0.68, 0.2), (0.58, 0.6), (0.34, 1)), 0),
        (_mirrored((0.59, -0.12), (0.68, 0.2), (0.655, 0.32)), 1), (ellipse(0, -1, 0.34, 0.08), 2)),
    "mushroom": (
        (_mirrored((0.2, -0.2), (0.24, 0.5), (0.36, 1)), 1),
        (ellipse(0, -0.1, 0.92, 0.2), 2), (ellipse(0, -0.1, 0.95, 0.85, 180, 360), 0)),
    "tree": (
        (_mirrored((0.12, -0.1), (0.14, 0.8), (0.26, 1)), 1), (ellipse(-0.42, -0.15, 0.45, 0.42), 0),
        (ellipse(0.42, -0.15, 0.45, 0.42), 0), (ellipse(0.0, -0.55, 0.55, 0.45), 0)),
    "house": (
        (_box(-0.8, -0.15, 0.8, 1.0), 0), (_box(0.3, -1.0, 0.5, -0.5), 2),
        (_mirrored((0.55, -0.85), (0.98, -0.12)), 1), (_box(-0.17, 0.4, 0.17, 1.0), 2)),
    "fish": (
        (((0.42, 0.0), (0.95, -0.5), (0.82, 0.0), (0.95, 0.5)), 1),
        (((-0.35, -0.36), (0.0, -0.78), (0.3, -0.7), (0.25, -0.3)), 1),
        (ellipse(-0.15, 0.0, 0.72, 0.46), 0), (ellipse(-0.56, -0.1, 0.1, 0.1), 2)),
    "flower": (
        (((-0.05, 0.0), (0.05, 0.0), (0.09, 1.0), (-0.03, 1.0)), 1), (_LEAF, 1), (_LEAF * (-1, 1), 1),
        (_radial(-0.3, _PETALS), 0), (ellipse(0, -0.3, 0.24, 0.24), 2)),
    "mug": (
        (np.concatenate([ellipse(0.5, 0, 0.48, 0.5, -80, 80), ellipse(0.5, 0, 0.28, 0.3, 80, -80)]), 1),
        (_mirrored((0.62, -0.8), (0.58, 0.6), (0.5, 0.85)) - (0.15, 0.0), 0), (ellipse(-0.15, -0.8, 0.62, 0.13), 2)),
    "lamp": (
        (_mirrored((0.06, 0), (0.08, 0.3), (0.28, 0.55), (0.28, 0.65), (0.1, 0.85), (0.45, 0.95), (0.5, 1)), 1),
        (_mirrored((0.32, -1.0), (0.78, 0.05)), 0), (_mirrored((0.74, -0.05), (0.8, 0.1)), 2)),
    "butterfly": (
        (_LOWER_WING, 1), (_LOWER_WING * (-1, 1), 1), (_UPPER_WING, 0), (_UPPER_WING * (-1, 1), 0),
        (ellipse(0, 0.05, 0.09, 0.6), 2)),
    "boat": (
        (_box(-0.07, -1.0, 0.01, 0.5), 2), (((0.02, -1.0), (0.8, 0.28), (0.02, 0.32)), 0),
        (((-0.08, -0.8), (-0.08, 0.3), (-0.72, 0.3)), 0), (_mirrored((1.0, 0.42), (0.69, 0.9)), 1)),
}  # fmt: skip
SCRAPS: dict[str, Parts] = {  # what lies about
    "pebble": ((ellipse(0, 0.3, 0.95, 0.62), 0),),
    "leaf": ((((-1, 0), (-0.5, -0.3), (0, -0.42), (0.5, -0.3), (1, 0), (0, 0.42), (-0.5, 0.3)), 0),),
    "shard": ((((-0.9, 0.5), (-0.3, -0.8), (0.7, -0.6), (0.95, 0.4), (0.1, 0.8)), 0),),
    "star": ((_radial(0, np.array([1, 0.48] * 5)), 0),),
}
_THINGS = OBJECTS | SCRAPS


class Cloth(NamedTuple):
    """A texture in a ramp of colours, which decide its scale and direction."""

    family: str
    colours: str

    @classmethod
    def any(cls, rng: Random) -> Cloth:
        """Return a random texture in random colours."""
        return cls(str(rng.choice(FAMILIES)), str(rng.choice(tuple(RAMPS))))

    def tile(self, seed: int) -> Bytes:
        """Return the grey tile of the texture."""
        return tile(seed, self.family, tuple(RAMPS).index(self.colours) % 3)


class Pose(NamedTuple):
    """Where a thing is: its middle and half its height in pixels, its turn in radians, its width over its height."""

    x: float
    y: float
    half: float
    angle: float = 0.0
    stretch: float = 1.0  # negative where it is mirrored


class Material(NamedTuple):
    """What a part is cut from: a tile, the colour of each of its tones, and how the tile lies on the thing."""

    tile: Bytes
    colours: Floats
    onto: Doubles  # of `textures.turned`: leads from pixels, counted from the thing's middle, to the tile's


def outlines(thing: str, pose: Pose) -> list[tuple[Doubles, int]]:
    """Return corners in pixels of each part of a thing, and the number of its material."""
    cosine, sine = pose.half * np.cos(pose.angle), pose.half * np.sin(pose.angle)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    parts = ((np.array(corners, np.float64), slot) for corners, slot in _THINGS[thing])
    return [(polygon * (pose.stretch, 1) @ turn + (pose.x, pose.y), slot) for polygon, slot in parts]


class Scene:
    """One image while it is painted."""

    def __init__(self, recipe: Recipe, size: tuple[int, int], rng: Random) -> None:
        self.seed, self.knobs, self.rng = recipe.seed, recipe.knobs, rng
        self.width, self.height = size
        self.zoom = float(np.sqrt(256 * 192 / (self.width * self.height)))  # pixels of tiles to one of the image
        self.azimuth = rng.uniform(0, np.pi)  # of the light: 0 is the left, half pi above
        self.canvas: Floats = np.empty((self.height, self.width, 3), np.float32)

    def paint_behind(self, horizon: float, kind: int, wall: Cloth, under: Cloth) -> None:
        """Paint sky, or a wall, down to the horizon, and ground from there on, which recedes to a row above it."""
        line, offset = int(np.clip(round(horizon), 2, self.height - 2)), self.rng.random(2)
        onto = turned(self.rng.uniform(-0.09, 0.09), self.rng.uniform(0.85, 1.15) * self.zoom, offset)
        size = self.width, self.height - line
        depth = 2.1 * size[1]
        recedes = [[depth, 0, -depth * self.width / 2], [0, 0, depth**2], [0, 1, depth - size[1]]]
        floor = ramp(under.colours, 0.78)[look(under.tile(self.seed), size, onto @ recedes)]
        down = np.linspace(0, 1, size[1], dtype=np.float32)[:, None]
        if kind == WALL:
            floor *= (0.72 + 0.28 * np.minimum(down * 5, 1))[..., None]
            above = 0.92 * ramp(wall.colours, 0.6)[look(wall.tile(self.seed), (self.width, line), onto)]
        else:
            zenith, haze = SKIES[kind]
            lay(floor, haze, 0.65 * (1 - np.minimum(down * 2.2, 1)) ** 2)
            clouds = look(tile(self.seed, "cloud", 0), (self.width, line), turned(0, 1.3 * self.zoom, offset))
            clear, cover = blend(zenith, haze, np.linspace(0, 1, line)[:, None]), clouds.astype(np.float32)
            above = blend(clear, np.minimum(np.multiply(haze, 1.12), 255), np.clip((cover - 118) / 150, 0, 0.75))
        self.canvas = np.concatenate([above, floor])

    def materials(self, cloths: Sequence[Cloth], angle: float) -> list[Material]:
        """Return what is cut from cloths that are turned by an angle."""
        laid = [turned(-angle, self.zoom, self.rng.random(2)) for _ in cloths]
        cut = zip(cloths, laid, strict=True)
        return [Material(cloth.tile(self.seed), ramp(cloth.colours), onto) for cloth, onto in cut]

    def paint_thing(self, thing: str, pose: Pose, materials: Sequence[Material]) -> None:
        """Cut a thing out of its materials, round it off by the light, and put it there with its shadow."""
        parts = outlines(thing, pose)
        under, origin = self._window(np.concatenate([corners for corners, _ in parts]), 0.25 * pose.half + 2)
        if min(under.shape[:2]) < 2:
            return
        masks = [_mask(corners - origin, under.shape[:2]) for corners, _ in parts]
        shadow = _blurred(np.maximum.reduce(masks), 0.09 * pose.half)
        away = 0.11 * pose.half * np.array([np.cos(self.azimuth), 0.6])
        moved = cv2.warpAffine(shadow, np.column_stack([np.eye(2), away]), shadow.shape[::-1])
        under *= 1 - np.float32(0.45) * moved[..., None]
        for mask, (_, slot) in zip(masks, parts, strict=True):
            left, top, width, height = cv2.boundingRect(mask)
            if width and height:
                box = np.s_[top : top + height, left : left + width]
                start = [[1, 0, origin[0] + left - pose.x], [0, 1, origin[1] + top - pose.y], [0, 0, 1.0]]
                tones = look(materials[slot].tile, (width, height), materials[slot].onto @ start)
                shade = _shade(mask, 0.14 * pose.half, self.azimuth)[box]
                lay(under[box], materials[slot].colours[tones] * shade[..., None], mask[box] / 255)

    def paint_polygon(self, corners: Doubles, colour: npt.ArrayLike, opacity: float = 1.0) -> None:
        """Lay a flat colour over a polygon, whose corners are in pixels."""
        under, origin = self._window(corners, 1)
        lay(under, colour, opacity / 255 * _mask(corners - origin, under.shape[:2]))

    def paint_plane(self, pictures: Sequence[Bytes], corners: Doubles) -> None:
        """Lay a picture, colours and cover in ever smaller sizes, on `corners` (clockwise from the upper left)."""
        under, origin = self._window(corners, 0)
        if min(under.shape[:2]) < 2:
            return
        sides = np.linalg.norm(corners[[1, 2, 3, 0]] - corners, axis=1)
        shrink = np.divide(pictures[0].shape[1::-1], np.maximum(sides[:2], sides[2:])).min()
        picture = pictures[int(np.clip(np.log2(max(shrink, 1)) + 0.4, 0, len(pictures) - 1))]
        onto = cv2.getPerspectiveTransform(_frame(picture), (corners - origin).astype(np.float32))
        seen = cv2.warpPerspective(picture, onto, under.shape[1::-1]).astype(np.float32)
        lay(under, seen[..., :3], seen[..., 3] / 255)

    def _window(self, corners: Doubles, margin: float) -> tuple[Floats, tuple[int, int]]:
        """Return the part of the canvas (maybe none) that a polygon and a margin touch, and its upper left corner."""
        ends = np.array([self.width, self.height])
        left, top = (int(edge) for edge in np.clip(corners.min(axis=0) - margin, 0, ends))
        right, bottom = (int(edge) for edge in np.clip(corners.max(axis=0) + margin + 1, 0, ends))
        return self.canvas[top:bottom, left:right], (left, top)

    def photograph(self) -> Bytes:
        """Return what light, lens and sensor make of the scene: uint8 of shape (height, width, 3), RGB."""
        rng, knobs = self.rng, self.knobs
        spread = np.clip(rng.standard_normal(5), -2, 2)
        exposure, gamma = np.exp(knobs["light"] * spread[:2])
        levels = 255 * min(exposure, 1.15) * (np.arange(256) / 255) ** gamma
        table = np.clip(np.outer(levels, np.exp(knobs["cast"] * spread[2:])), 0, 255).astype(np.float32)
        seen = np.asarray(cv2.LUT(np.clip(self.canvas, 0, 255).astype(np.uint8), table[None]), np.float32)
        x, y = np.linspace(-1, 1, self.width), np.linspace(-1, 1, self.height)[:, None]
        lit = 1 - rng.uniform(0.03, knobs["falloff"]) * (x * np.cos(self.azimuth) + y * np.sin(self.azimuth))
        seen *= lit.astype(np.float32)[..., None]
        if (blur := rng.uniform(0, knobs["blur"]) / self.zoom) > 0.2:
            seen = np.asarray(cv2.GaussianBlur(seen, (0, 0), blur), np.float32)
        noise = np.float32(rng.uniform(0.8, knobs["noise"]))
        seen += noise * rng.standard_normal((self.height, self.width, 1), np.float32) + np.float32(0.5)
        return np.clip(seen, 0, 255).astype(np.uint8)


def lay(under: Floats, colours: npt.ArrayLike, cover: npt.ArrayLike) -> None:
    """Lay colours over a part of the canvas, by how much (0..1) of each pixel they cover."""
    weight = np.ascontiguousarray(np.broadcast_to(cover, under.shape[:2]), np.float32)
    over = np.ascontiguousarray(np.broadcast_to(colours, under.shape), np.float32)
    under[:] = cv2.blendLinear(over, np.ascontiguousarray(under), weight, 1 - weight)


def _frame(picture: Bytes) -> Floats:
    height, width = picture.shape[:2]
    return np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)


def _mask(corners: Doubles, shape: tuple[int, ...]) -> Bytes:
    """Return the cover (0..255) of pixels by a polygon, with smooth edges."""
    mask = np.zeros(shape, np.uint8)
    if mask.size:
        cv2.fillPoly(mask, [np.round(16 * (corners - 0.5)).astype(np.int32)], 255, cv2.LINE_AA, 4)
    return mask


def _blurred(mask: Bytes, radius: float) -> Floats:
    side = 2 * max(round(radius), 1) + 1
    return np.asarray(cv2.blur(mask, (side, side)), np.float32) / np.float32(255)


def _shade(mask: Bytes, radius: float, azimuth: float) -> Floats:
    """Return the factor that makes a part look round: its blurred outline serves as height, whose slope is lit."""
    relief = _blurred(mask, radius)
    across, down = (cv2.Sobel(relief, cv2.CV_32F, 1 - axis, axis, ksize=1, scale=0.5) for axis in (0, 1))
    slope = across * np.float32(np.cos(azimuth)) + down * np.float32(np.sin(azimuth))
    return np.asarray(0.8 + 0.26 * relief + np.float32(max(radius, 1) * 0.5) * slope)


class Recipe(Painted, ABC):
    """A set of synthetic images: its settings, of a data set of its kind, and the seed.

    An image is painted from a random stream that is named by what it is, so that nothing in it depends on how many
    there are, nor on the order or the process in which they are painted.
    """

    version: ClassVar[int]  # to be raised whenever the same settings come to give other images
    extremes: ClassVar[Mapping[str, tuple[float, float]]]  # of each knob: at difficulty 0 and at difficulty 1

    seed: int = 0

    @property
    def knobs(self) -> dict[str, float]:
        """Return the values between the extremes at this difficulty."""
        return {name: low + (high - low) * self.difficulty for name, (low, high) in self.extremes.items()}

    @abstractmethod
    def name_of(self, number: int) -> str:
        """Return the name of a class, landmark or category, or of what is none of them."""

    @abstractmethod
    def counts(self) -> dict[Any, int]:
        """Return how many images each group has, whose last part is the number of what is named.

        A group and a number of an image are the arguments of `path` and `paint`.
        """

    @abstractmethod
    def path(self, *member: Any) -> str:
        """Return the path of an image in the set's folder."""

    @abstractmethod
    def paint(self, *member: Any) -> Bytes:
        """Paint an image: uint8 of shape (height, width, 3), RGB."""

    @abstractmethod
    def write_beside(self, folder: str | Path) -> None:
        """Write what comes with the images in a folder."""

    def names(self) -> list[str]:
        """Return the sorted names of the classes, landmarks or categories."""
        return sorted({self.name_of(group[-1]) for group in self.counts() if group[-1] != NONE})

    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits that any other setting, or version of the recipe, would change."""
        facts = {name: float(value) for name, value in self} | {"version": self.version}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]

    def write_images(self, folder: str | Path, shard: int = 0, n_shards: int = 1) -> int:
        """Paint and write every `n_shards`-th image as JPEG, whole or not at all, and return how many these are."""
        cv2.setNumThreads(1)
        members = [(*group, number) for group, count in self.counts().items() for number in range(count)]
        root, mine = Path(folder).absolute(), members[shard::n_shards]
        root.mkdir(parents=True, exist_ok=True)
        # unfinished files lie beside the folder, so that none of them is ever listed as an image
        with TemporaryDirectory(dir=root.parent, prefix=f".{root.name}.") as scratch:
            part = Path(scratch, "image.jpg")
            for member in mine:
                Image.fromarray(self.paint(*member)).save(part, quality=92)
                (path := root / self.path(*member)).parent.mkdir(parents=True, exist_ok=True)
                os.replace(part, path)
        return len(mine)
