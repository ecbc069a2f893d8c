"""The scene that all synthetic images are painted as: what is behind, things before it, and the photograph of both.

Things are cut from cloths: grey tiles of a few textures, in tones of one hue. A recipe (`painted_*`) says what is in an
image. Whatever is left to chance comes from the image's own random stream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from lookalike.core.arrays import Bytes, Doubles, Floats
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import Painted

Random = np.random.Generator

NONE = -1  # in place of the number of a class or landmark
SIDE = 256  # of a tile, in pixels
_NAMES = "rose coral rust amber olive moss fern mint teal azure cobalt indigo violet lilac plum cherry"
HUES = tuple(_NAMES.split())
"""Names of hues around the circle."""
TEXTURES: dict[str, Callable[[Doubles, Doubles], Doubles]] = {  # of places in a tile (0..1, across and down)
    "striped": lambda x, y: np.sin(2 * np.pi * 16 * y),
    "dotted": lambda x, y: np.tanh(3 * (_wave(14 * x) + _wave(14 * y) - 0.7)),
    "chequered": lambda x, y: np.tanh(4 * _wave(8 * x) * _wave(8 * y)),
    "brick": lambda x, y: np.minimum(abs(_wave(4 * x + (14 * y // 1 % 2) / 4)), abs(_wave(7 * y))) ** 0.3,
    "zigzag": lambda x, y: np.tanh(2 * _wave(16 * y + 3 * abs(10 * x % 1 - 0.5))),
    "scaly": lambda x, y: np.hypot((9 * x + (18 * y // 1 % 2) / 2) % 1 - 0.5, (18 * y % 1) / 2),
    "grainy": lambda x, y: _wave(9 * y + 0.4 * _wave(2 * x)) + 0.5 * _wave(31 * y + 0.7 * _wave(x)),
    "cloudy": lambda x, y: 0 * x,
}


def _wave(turns: Doubles) -> Doubles:
    return np.asarray(np.sin(2 * np.pi * turns))


@cache
def tile(seed: int, texture: str) -> Bytes:
    """Return the grey tile of a texture, bent and stained by noise, of shape (SIDE, SIDE); not to be written to."""
    frequency = np.hypot(np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)) * SIDE
    waves = np.fft.rfft2(generator(seed, "texture", texture).standard_normal((3, SIDE, SIDE)))
    noise = np.fft.irfft2(waves * np.maximum(frequency, 1) ** -1.7, s=(SIDE, SIDE))
    across, down, stains = noise / noise.std(axis=(1, 2), keepdims=True)
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    field = TEXTURES[texture](x + 0.006 * across, y + 0.006 * down)
    field = field / max(field.std(), 0.1) + 0.35 * stains
    low, high = np.percentile(field, (2, 98))
    return np.asarray(np.clip((field - low) * (255 / (high - low)), 0, 255), np.uint8)


class Cloth(NamedTuple):
    """A texture in tones of one hue."""

    texture: str
    hue: float  # 0..1 around the circle
    light: float = 56.0  # of the middle tone, 0..100 as in CIE Lab
    contrast: float = 62.0  # lightness from the darkest tone to the palest
    chroma: float = 42.0
    zoom: float = 1.0  # pixels of the tile to one of an image of 256 x 192
    turn: float = 0.0  # in radians

    @classmethod
    def any(cls, rng: Random) -> Cloth:
        """Return a random texture in a random hue."""
        return cls(str(rng.choice(tuple(TEXTURES))), int(rng.integers(len(HUES))) / len(HUES))

    def tones(self) -> Floats:
        """Return the colour of each tone of the tile, (256, 3)."""
        light = self.light + self.contrast * np.linspace(-0.5, 0.5, 256)
        a, b = self.chroma * np.cos(2 * np.pi * self.hue), self.chroma * np.sin(2 * np.pi * self.hue)
        lab = np.stack([light, np.full(256, a), np.full(256, b)], axis=-1).astype(np.float32)
        return np.asarray(255 * np.clip(cv2.cvtColor(lab[None], cv2.COLOR_Lab2RGB)[0], 0, 1))


Parts = tuple[tuple[npt.ArrayLike, int], ...]
"""Corners in the square -1..1 (y down, standing on 1) and number of the cloth of each part, the hindmost first."""


def _box(left: float, top: float, right: float, bottom: float) -> Doubles:
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)])


def ellipse(x: float, y: float, rx: float, ry: float, start: float = 0, stop: float = 360) -> Doubles:
    """Return an ellipse, or the segment of one between two angles in degrees (0 to the right, 90 down)."""
    t = np.radians(np.linspace(start, stop, 33))
    return np.column_stack([x + rx * np.cos(t), y + ry * np.sin(t)])


def mirrored(*profile: tuple[float, float]) -> Doubles:
    """Return an outline that is alike on the left and on the right, of corners (half width, y) from above."""
    return np.concatenate([profile, (np.array(profile) * (-1, 1))[::-1]])


THINGS: dict[str, Parts] = {
    "vase": (
        (mirrored((0.34, -1), (0.22, -0.82), (0.3, -0.5), (0.6, -0.1), (0.68, 0.2), (0.58, 0.6), (0.34, 1)), 0),
        (mirrored((0.59, -0.12), (0.68, 0.2), (0.655, 0.32)), 1), (ellipse(0, -1, 0.34, 0.08), 2)),
    "mushroom": (
        (mirrored((0.2, -0.2), (0.24, 0.5), (0.36, 1)), 1),
        (ellipse(0, -0.1, 0.92, 0.2), 2), (ellipse(0, -0.1, 0.95, 0.85, 180, 360), 0)),
    "tree": (
        (mirrored((0.12, -0.1), (0.14, 0.8), (0.26, 1)), 1), (ellipse(-0.42, -0.15, 0.45, 0.42), 0),
        (ellipse(0.42, -0.15, 0.45, 0.42), 0), (ellipse(0.0, -0.55, 0.55, 0.45), 0)),
    "house": (
        (_box(-0.8, -0.15, 0.8, 1.0), 0), (mirrored((0.55, -0.85), (0.98, -0.12)), 1),
        (_box(-0.17, 0.4, 0.17, 1.0), 2)),
    "fish": (
        (((0.42, 0.0), (0.95, -0.5), (0.82, 0.0), (0.95, 0.5)), 1), (((-0.35, -0.36), (0.1, -0.78), (0.25, -0.3)), 1),
        (ellipse(-0.15, 0.0, 0.72, 0.46), 0), (ellipse(-0.56, -0.1, 0.1, 0.1), 2)),
    "mug": (
        (np.concatenate([ellipse(0.5, 0, 0.48, 0.5, -80, 80), ellipse(0.5, 0, 0.28, 0.3, 80, -80)]), 1),
        (mirrored((0.62, -0.8), (0.58, 0.6), (0.5, 0.85)) - (0.15, 0.0), 0), (ellipse(-0.15, -0.8, 0.62, 0.13), 2)),
    "lamp": (
        (mirrored((0.06, 0), (0.08, 0.3), (0.28, 0.55), (0.28, 0.65), (0.1, 0.85), (0.5, 1)), 1),
        (mirrored((0.32, -1.0), (0.78, 0.05)), 0), (mirrored((0.74, -0.05), (0.8, 0.1)), 2)),
    "boat": (
        (_box(-0.07, -1.0, 0.01, 0.5), 2), (((0.02, -1.0), (0.8, 0.28), (0.02, 0.32)), 0),
        (((-0.08, -0.8), (-0.08, 0.3), (-0.72, 0.3)), 0), (mirrored((1.0, 0.42), (0.69, 0.9)), 1)),
    "kite": (
        (mirrored((0.0, -1.0), (0.75, -0.35), (0.0, 0.6)), 0), (mirrored((0.0, -0.35), (0.75, -0.35), (0.0, 0.6)), 1),
        (mirrored((0.05, 0.55), (0.3, 0.9), (0.05, 1.0)), 2)),
    "cactus": (
        (mirrored((0.95, -0.35), (0.95, 0.3), (0.1, 0.45), (0.1, 0.1), (0.65, 0.05), (0.65, -0.35)), 0),
        (mirrored((0.2, -1.0), (0.28, -0.8), (0.28, 0.6)), 0), (mirrored((0.55, 0.5), (0.4, 1.0)), 1),
        (mirrored((0.6, 0.5), (0.6, 0.6)), 2)),
}  # fmt: skip
"""What an image is of."""


class Pose(NamedTuple):
    """Where a thing is: its middle and half its height in pixels, its turn in radians, its width over its height."""

    x: float
    y: float
    half: float
    turn: float = 0.0
    stretch: float = 1.0  # negative where it is mirrored


def outlines(thing: str, pose: Pose) -> list[tuple[Doubles, int]]:
    """Return corners in pixels of each part of a thing, and the number of its cloth."""
    cosine, sine = pose.half * np.cos(pose.turn), pose.half * np.sin(pose.turn)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    parts = ((np.array(corners, np.float64), cloth) for corners, cloth in THINGS[thing])
    return [(polygon * (pose.stretch, 1) @ turn + (pose.x, pose.y), cloth) for polygon, cloth in parts]


class Scene:
    """One image while it is painted."""

    def __init__(self, recipe: Recipe, size: tuple[int, int], rng: Random) -> None:
        self.seed, self.knobs, self.rng = recipe.seed, recipe.knobs, rng
        self.width, self.height = size
        self.canvas: Floats = np.empty((self.height, self.width, 3), np.float32)

    def piece(self, cloth: Cloth, size: tuple[int, int], turn: float = 0.0, flat: float = 1.0) -> Floats:
        """Cut a piece of `size` (width, height) at random out of a cloth that is turned, and `flat` times as low."""
        zoom, angle = cloth.zoom * float(np.sqrt(256 * 192 / (self.width * self.height))), cloth.turn - turn
        (cosine, sine), (x, y) = zoom * np.array([np.cos(angle), np.sin(angle)]), SIDE * self.rng.random(2)
        onto = np.array([[cosine, -sine * flat, x], [sine, cosine * flat, y]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        grey = cv2.warpAffine(tile(self.seed, cloth.texture), onto, size, flags=flags, borderMode=cv2.BORDER_WRAP)
        return np.asarray(cloth.tones()[grey])

    def paint_behind(self, horizon: float, above: Cloth, ground: Cloth) -> None:
        """Paint what is above the horizon, a row of pixels, and the ground below it."""
        line = int(np.clip(round(horizon), 2, self.height - 2))
        pale = above._replace(light=68.0, contrast=0.6 * above.contrast, chroma=30.0)
        floor = self.piece(ground._replace(light=48.0), (self.width, self.height - line), flat=2.5)
        self.canvas = np.concatenate([self.piece(pale, (self.width, line)), floor])

    def paint_thing(self, thing: str, pose: Pose, cloths: Sequence[Cloth]) -> None:
        """Cut each part of a thing out of its cloth, round it off, and lay it over its shadow."""
        for corners, number in outlines(thing, pose):
            under, origin = self.window(corners, 0.15 * pose.half + 2)
            if min(under.shape[:2]) < 2:
                continue
            mask = cover(corners - origin, under.shape[:2])
            side = 2 * max(round(0.12 * pose.half), 1) + 1
            soft = cv2.blur(mask, (side, side))[..., None]
            under *= 1 - np.float32(0.5) * soft
            piece = self.piece(cloths[number], under.shape[1::-1], pose.turn)
            under += (piece * (np.float32(0.5) + np.float32(0.55) * soft) - under) * mask[..., None]

    def window(self, corners: Doubles, margin: float) -> tuple[Floats, tuple[int, int]]:
        """Return the part of the canvas (maybe none) that a polygon and a margin touch, and its upper left corner."""
        ends = np.array([self.width, self.height])
        left, top = (int(edge) for edge in np.clip(corners.min(axis=0) - margin, 0, ends))
        right, bottom = (int(edge) for edge in np.clip(corners.max(axis=0) + margin + 1, 0, ends))
        return self.canvas[top:bottom, left:right], (left, top)

    def photograph(self) -> Bytes:
        """Return the scene in some light, blurred and with noise: uint8 of shape (height, width, 3), RGB."""
        rng, knobs = self.rng, self.knobs
        light = np.clip(rng.standard_normal(4), -2, 2)
        seen = self.canvas * np.exp(knobs["light"] * (light[0] + light[1:] / 2)).astype(np.float32)
        if (blur := rng.uniform(0, knobs["blur"]) * self.height / 192) > 0.2:
            seen = np.asarray(cv2.GaussianBlur(seen, (0, 0), blur), np.float32)
        seen += np.float32(rng.uniform(0.8, knobs["noise"])) * rng.standard_normal((*seen.shape[:2], 1), np.float32)
        return np.asarray(np.clip(seen + np.float32(0.5), 0, 255), np.uint8)


def cover(corners: Doubles, shape: tuple[int, ...]) -> Floats:
    """Return how much (0..1) of each pixel a polygon covers."""
    mask = np.zeros(shape, np.uint8)
    cv2.fillPoly(mask, [np.round(16 * (corners - 0.5)).astype(np.int32)], 255, cv2.LINE_AA, 4)
    return np.asarray(mask, np.float32) / np.float32(255)


class Recipe(Painted, ABC):
    """A set of synthetic images: its settings, of a data set of its kind, and the seed.

    An image is painted from a random stream that is named by what it is, so that nothing in it depends on how many
    there are, nor on the order or the process in which they are painted.
    """

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

    def write_images(self, folder: str | Path) -> int:
        """Paint and write all images as JPEG, and return how many these are."""
        cv2.setNumThreads(1)
        members = [(*group, number) for group, count in self.counts().items() for number in range(count)]
        for member in members:
            (path := Path(folder, self.path(*member))).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(self.paint(*member)).save(path, quality=92)
        return len(members)
