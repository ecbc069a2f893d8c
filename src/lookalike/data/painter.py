"""The painter of all synthetic images: things, sky and ground, light and lens, and the writing of a set of images.

What an image shows is decided by a recipe (`painted_categories`, `painted_landmarks`, `painted_triplets`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple, Self

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing
from lookalike.data.shapes import PARTS, Polygon
from lookalike.data.textures import ByteArray, FloatArray, Matrix, Random, blend, look, tile, turned

SKIES = (
    ((72, 132, 206), (204, 226, 240)),  # noon
    ((66, 64, 120), (250, 176, 126)),  # dusk
    ((148, 158, 168), (212, 214, 212)),  # overcast
    ((94, 160, 190), (250, 228, 186)),  # morning
    ((24, 30, 66), (96, 104, 152)),  # night
    ((170, 140, 190), (252, 208, 208)),  # rosy
)
"""Colours of the skies at the zenith and at the horizon."""


class Pose(NamedTuple):
    """Where a thing is: its middle and half its height in pixels, its turn in radians, its width over its height."""

    x: float
    y: float
    half: float
    angle: float = 0.0
    stretch: float = 1.0
    """Negative where it is mirrored."""


class Material(NamedTuple):
    """What a part is cut from: a tile, the colour of each of its tones, and how the tile lies on the thing."""

    tile: ByteArray
    colours: FloatArray
    onto: Matrix
    """Of `textures.turned`: leads from pixels, counted from the thing's middle, to the tile's."""


class Light(NamedTuple):
    """Where light comes from (radians; 0 is the left, half pi above), and how much it models."""

    azimuth: float
    strength: float


def outlines(thing: str, pose: Pose) -> list[tuple[Polygon, int]]:
    """Corners in pixels of each part of a thing, and the number of its material."""
    cosine, sine = pose.half * np.cos(pose.angle), pose.half * np.sin(pose.angle)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    return [(polygon * (pose.stretch, 1) @ turn + (pose.x, pose.y), slot) for polygon, slot in PARTS[thing]]


def paint_thing(canvas: FloatArray, thing: str, pose: Pose, materials: Sequence[Material], light: Light) -> None:
    """Cut a thing out of its materials, round it off by the light, and put it on the canvas with its shadow."""
    parts = outlines(thing, pose)
    rows, columns = _window(canvas, np.concatenate([corners for corners, _ in parts]), 0.25 * pose.half + 2)
    under = canvas[rows, columns]
    if min(under.shape[:2]) < 2:
        return
    masks = [_mask(corners - (columns.start, rows.start), under.shape[:2]) for corners, _ in parts]
    _cast_shadow(under, np.maximum.reduce(masks), pose.half, light)
    for mask, (_, slot) in zip(masks, parts, strict=True):
        left, top, width, height = cv2.boundingRect(mask)
        if width and height:
            box = np.s_[top : top + height, left : left + width]
            start = turned(0, 1, (0, 0))
            start[:2, 2] = columns.start + left - pose.x, rows.start + top - pose.y
            tones = look(materials[slot].tile, (width, height), materials[slot].onto @ start)
            shade = _shade(mask, 0.14 * pose.half, light)[box]
            lay(under[box], materials[slot].colours[tones] * shade[..., None], mask[box] / 255)


def lay(under: FloatArray, colours: npt.ArrayLike, cover: npt.ArrayLike) -> None:
    """Lay colours over a part of the canvas, by how much (0..1) of each pixel they cover."""
    weight = np.ascontiguousarray(np.broadcast_to(cover, under.shape[:2]), np.float32)
    over = np.ascontiguousarray(np.broadcast_to(colours, under.shape), np.float32)
    under[:] = cv2.blendLinear(over, np.ascontiguousarray(under), weight, 1 - weight)


def lay_polygon(canvas: FloatArray, corners: Polygon, colour: npt.ArrayLike, opacity: float = 1.0) -> None:
    """Lay a flat colour over a polygon, whose corners are in pixels."""
    rows, columns = _window(canvas, corners, 1)
    mask = _mask(corners - (columns.start, rows.start), canvas[rows, columns].shape[:2])
    lay(canvas[rows, columns], colour, opacity / 255 * mask)


def _window(canvas: FloatArray, corners: Polygon, margin: float) -> tuple[slice, slice]:
    """Rows and columns of the canvas that a polygon and a margin around it touch; maybe none."""
    ends = np.array(canvas.shape[1::-1])
    left, top = (int(edge) for edge in np.clip(corners.min(axis=0) - margin, 0, ends))
    right, bottom = (int(edge) for edge in np.clip(corners.max(axis=0) + margin + 1, 0, ends))
    return slice(top, bottom), slice(left, right)


def _mask(corners: Polygon, shape: tuple[int, ...]) -> ByteArray:
    """Cover (0..255) of pixels by a polygon, with smooth edges."""
    mask = np.zeros(shape, np.uint8)
    if mask.size:
        cv2.fillPoly(mask, [np.round(16 * (corners - 0.5)).astype(np.int32)], 255, cv2.LINE_AA, 4)
    return mask


def _blurred(mask: ByteArray, radius: float) -> FloatArray:
    side = 2 * max(round(radius), 1) + 1
    return np.asarray(cv2.blur(mask, (side, side)), np.float32) / np.float32(255)


def _cast_shadow(under: FloatArray, whole: ByteArray, half: float, light: Light) -> None:
    """Darken what is under a thing, away from the light."""
    shift = 0.11 * half * np.array([np.cos(light.azimuth), 0.6])
    moved = cv2.warpAffine(_blurred(whole, 0.09 * half), np.column_stack([np.eye(2), shift]), whole.shape[::-1])
    under *= 1 - np.float32(0.45) * moved[..., None]


def _shade(mask: ByteArray, radius: float, light: Light) -> FloatArray:
    """Factor that makes a part look round: its blurred outline serves as height, whose slope is lit."""
    relief = _blurred(mask, radius)
    across, down = (cv2.Sobel(relief, cv2.CV_32F, 1 - axis, axis, ksize=1, scale=0.5) for axis in (0, 1))
    slope = across * np.float32(np.cos(light.azimuth)) + down * np.float32(np.sin(light.azimuth))
    return np.asarray(0.8 + 0.26 * relief + np.float32(max(radius, 1) * light.strength) * slope)


def paint_plane(canvas: FloatArray, pictures: Sequence[ByteArray], corners: Polygon, light: float) -> None:
    """Lay a picture on the quadrilateral of the canvas that a camera sees it as.

    `pictures` are the same one in ever smaller sizes, of four channels: colours and the cover. `corners` are, in
    pixels, those of its upper left, upper right, lower right and lower left.
    """
    rows, columns = _window(canvas, corners, 0)
    under = canvas[rows, columns]
    if min(under.shape[:2]) < 2:
        return
    sides = np.linalg.norm(corners[[1, 2, 3, 0]] - corners, axis=1)
    shrink = np.divide(pictures[0].shape[1::-1], np.maximum(sides[:2], sides[2:])).min()
    picture = pictures[int(np.clip(np.log2(max(shrink, 1)) + 0.4, 0, len(pictures) - 1))]
    height, width = picture.shape[:2]
    source = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    onto = cv2.getPerspectiveTransform(source, (corners - (columns.start, rows.start)).astype(np.float32))
    seen = cv2.warpPerspective(picture, onto, under.shape[1::-1]).astype(np.float32)
    lay(under, np.float32(light) * seen[..., :3], seen[..., 3] / 255)


def sky(seed: int, kind: int, size: tuple[int, int], offset: npt.ArrayLike, zoom: float) -> FloatArray:
    """Sky with clouds from the zenith to the horizon, shape (height, width, 3)."""
    zenith, horizon = SKIES[kind]
    clear = blend(zenith, horizon, np.linspace(0, 1, size[1])[:, None])
    cover = look(tile(seed, "cloud", 0), size, turned(0, zoom, offset)).astype(np.float32)
    return blend(clear, np.minimum(np.multiply(horizon, 1.12), 255), np.clip((cover - 118) / 150, 0, 0.75))


def ground(picture: ByteArray, size: tuple[int, int], vanishing: float, onto: Matrix) -> ByteArray:
    """Tones of a tile on the ground, which recedes to the row `vanishing` above the window: shape (height, width).

    At the window's lower edge the tile is as `onto` (of `textures.turned`) turns and scales it.
    """
    width, height = size
    depth = height - vanishing
    return look(picture, size, onto @ [[depth, 0, -depth * width / 2], [0, 0, depth**2], [0, 1, -vanishing]])


class Lens(NamedTuple):
    """What light, lens and sensor make of a scene.

    `cast` is a factor of each channel, `falloff` how much darker the side away from the light at `azimuth` is; `blur`
    and `noise` are standard deviations, in pixels and grey levels.
    """

    exposure: float
    cast: npt.ArrayLike
    falloff: float
    azimuth: float
    blur: float
    noise: float
    gamma: float = 1.0


def expose(canvas: FloatArray, lens: Lens, rng: Random) -> ByteArray:
    """Take the photograph: uint8 of shape (height, width, 3), RGB."""
    height, width = canvas.shape[:2]
    levels = 255 * lens.exposure * (np.arange(256) / 255) ** lens.gamma
    table = np.clip(np.outer(levels, np.broadcast_to(np.asarray(lens.cast, float), 3)), 0, 255).astype(np.float32)
    seen = np.asarray(cv2.LUT(np.clip(canvas, 0, 255).astype(np.uint8), table[None]), np.float32)
    x, y = np.linspace(-1, 1, width), np.linspace(-1, 1, height)[:, None]
    lit = 1 - lens.falloff * (x * np.cos(lens.azimuth) + y * np.sin(lens.azimuth))
    seen *= lit.astype(np.float32)[..., None]
    if lens.blur > 0.2:
        seen = np.asarray(cv2.GaussianBlur(seen, (0, 0), lens.blur), np.float32)
    seen += np.float32(lens.noise) * rng.standard_normal((height, width, 1), np.float32) + np.float32(0.5)
    return np.clip(seen, 0, 255).astype(np.uint8)


# Sets of images -----------------------------------------------------------------------------------------------------


def at_difficulty(knobs: Mapping[str, tuple[float, float]], difficulty: float) -> dict[str, float]:
    """Values between those at difficulty 0 and at difficulty 1."""
    return {name: low + (high - low) * difficulty for name, (low, high) in knobs.items()}


class Recipe(ABC):
    """A set of synthetic images: a frozen dataclass, whose fields are `seed` and what config.yaml may set.

    An image is painted from a random stream that is named by what it is, so that nothing in it depends on how many
    there are, nor on the order or the process in which they are painted.
    """

    version: ClassVar[int]
    """To be raised whenever the same settings come to give other images."""
    quality: ClassVar[int] = 92
    """Of the JPEG files."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], seed: int) -> Self:
        """Make it from a data set's entry in config.yaml, and the seed of the data set."""
        return cls(**{**settings, "seed": seed})

    @abstractmethod
    def names(self) -> list[str]:
        """Names of the classes, landmarks or categories."""

    @abstractmethod
    def members(self) -> Iterator[tuple[Any, ...]]:
        """What names each image: the arguments of `path` and `paint`."""

    @abstractmethod
    def path(self, *member: Any) -> str:
        """Path of an image in the set's folder."""

    @abstractmethod
    def paint(self, *member: Any) -> ByteArray:
        """Paint an image: uint8 of shape (height, width, 3), RGB."""

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that any other setting, or version of the recipe, would change."""
        facts = {field.name: float(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        facts["version"] = self.version
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]

    def write_images(self, folder: str | os.PathLike[str], shard: int = 0, n_shards: int = 1) -> int:
        """Paint and write every `n_shards`-th image as JPEG, and return how many these are.

        Each file appears whole or not at all, and is the same whatever the number of shards.
        """
        require(0 <= shard < n_shards, "shard", f"{shard} of {n_shards}", "from 0 to less than the number of shards")
        cv2.setNumThreads(1)
        root, mine = Path(folder).absolute(), list(itertools.islice(self.members(), shard, None, n_shards))
        root.mkdir(parents=True, exist_ok=True)
        # unfinished files lie beside the folder, so that none of them is ever listed as an image
        with TemporaryDirectory(dir=root.parent, prefix=f".{root.name}.") as scratch:
            for member in mine:
                with replacing(root / self.path(*member), Path(scratch)) as part:
                    Image.fromarray(self.paint(*member)).save(part, format="JPEG", quality=self.quality)
        return len(mine)


def require(condition: bool, name: str, value: object, allowed: str) -> None:
    """Refuse a setting of a recipe, and say what it may be."""
    if not condition:
        raise LookalikeError(f"synthetic images: {name} is {value}; choose a value {allowed}")
