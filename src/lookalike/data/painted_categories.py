"""Synthetic categories: little scenes in class folders, where a downloaded archive would stand.

A class owns a shape, three materials, of which others own two, and two backgrounds; all else in an image is chance.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from lookalike.core.seeds import generator
from lookalike.data import painter
from lookalike.data.painter import Light, Pose, Recipe, require
from lookalike.data.shapes import FLOATING, OBJECTS, SCRAPS
from lookalike.data.textures import FAMILIES, RAMPS, ByteArray, FloatArray, Matrix, Random, look, ramp, tile, turned

CLUTTER = -1
"""Number that stands for no class."""
CLUTTER_LABEL = "257.clutter"
MAX_CLASSES = 128
_N_SHARED = 20  # materials that classes own together
_N_PRIVATE = 24  # of the classes' own materials, those that turn up anywhere
_N_BACKGROUNDS = 12
_WORDS = {"stripes": "stripe", "dots": "dot", "bricks": "brick", "scales": "scale"}
_KNOBS = {  # at difficulty 0 and at difficulty 1
    "other background": (0.44, 1.0),  # chance that the background is not the class's own
    "other material": (0.0, 0.12),  # chance that a part's material is not the class's own
    "shuffled parts": (0.2, 0.6),  # chance that the materials change places
    "smaller": (0.0, 0.2),  # taken from an object's size, in shares of the image's height
    "scraps": (1.0, 10.0),  # at most
    "strangers": (0.0, 2.0),  # objects of no class, at most
    "falloff": (0.1, 0.3),  # of the light, at most
    "exposure": (0.02, 0.05),  # spread of the logarithm
    "cast": (0.015, 0.04),  # spread of the logarithm of each channel
    "blur": (0.0, 0.5),  # at most
    "noise": (1.0, 3.2),  # at most
}


class Cloth(NamedTuple):
    """A texture in a ramp of colours."""

    family: str
    colours: str

    def tile(self, seed: int) -> ByteArray:
        """Grey tile of the texture; the colours decide its scale and direction."""
        return tile(seed, self.family, tuple(RAMPS).index(self.colours) % 3)


class Background(NamedTuple):
    """Number of the sky, or -1 for a wall instead; the wall, and the ground."""

    sky: int
    wall: Cloth
    ground: Cloth


class Category(NamedTuple):
    """What a class owns."""

    shape: str
    cloths: tuple[Cloth, ...]
    backgrounds: tuple[Background, ...]


@lru_cache(maxsize=8)
def _cloths(seed: int) -> tuple[Cloth, ...]:
    """All materials in the order in which classes come to own them; the last `_N_SHARED` are owned together.

    Families and colours alternate, so that a few classes already differ in both.
    """
    rng = generator(seed, "materials")
    families, colours = rng.permutation(FAMILIES).tolist(), rng.permutation(tuple(RAMPS)).tolist()
    n, m = len(families), len(colours)
    return tuple(Cloth(families[i % n], colours[(3 * (i % n) + i // n) % m]) for i in range(n * m))


@lru_cache(maxsize=8)
def _backgrounds(seed: int) -> tuple[Background, ...]:
    """Backgrounds that the classes share: every other one outdoors."""
    rng = generator(seed, "backgrounds")
    skies, order = rng.permutation(len(painter.SKIES)), rng.permutation(_N_SHARED)
    shared = [_cloths(seed)[-_N_SHARED + one] for one in order]
    return tuple(
        Background(-1 if i % 2 else int(skies[i // 2]), shared[i], shared[i + 7]) for i in range(_N_BACKGROUNDS)
    )


@lru_cache(maxsize=1024)
def category_of(seed: int, label: int) -> Category:
    """Return what a class owns; it depends on nothing but the seed and the class's number."""
    rng, cloths = generator(seed, "category", label), _cloths(seed)
    shapes = generator(seed, "shapes", label // len(OBJECTS)).permutation(tuple(OBJECTS)).tolist()
    shared = (cloths[-_N_SHARED + one] for one in rng.choice(_N_SHARED, size=2, replace=False))
    backgrounds = (_backgrounds(seed)[one] for one in rng.choice(_N_BACKGROUNDS, size=2, replace=False))
    return Category(shapes[label % len(OBJECTS)], (cloths[label], *shared), tuple(backgrounds))


@dataclass(frozen=True)
class PaintedCategories(Recipe):
    """A set of synthetic categories; a number out of range is a `LookalikeError`."""

    classes: int = 20  # at most 128; fewer are the first ones of more
    images_per_class: int = 72
    clutter_images: int = 40  # of no class, in the folder `CLUTTER_LABEL`
    width: int = 256
    height: int = 192
    difficulty: float = 0.5  # 0 to 1; it does not change the classes
    seed: int = 0

    version = 2

    def __post_init__(self) -> None:
        ratio = self.width / self.height
        require(self.classes <= MAX_CLASSES, "classes", self.classes, f"of {MAX_CLASSES} or less")
        require(0.5 <= ratio <= 2, "width / height", ratio, "between 0.5 and 2")

    def names(self) -> list[str]:
        """Folder names of the classes: number, own material and shape, as in ``001.amber-weave-vase``."""
        return [self.name_of(label) for label in range(self.classes)]

    def name_of(self, label: int) -> str:
        """Folder name of a class, or (`CLUTTER`) of the images of none."""
        if label == CLUTTER:
            return CLUTTER_LABEL
        shape, ((family, colours), *_), _ = category_of(self.seed, label)
        return f"{label + 1:03d}.{colours}-{_WORDS.get(family, family)}-{shape}"

    def members(self) -> Iterator[tuple[int, int]]:
        """Class and number of every image."""
        for label in range(self.classes):
            yield from ((label, number) for number in range(self.images_per_class))
        yield from ((CLUTTER, number) for number in range(self.clutter_images))

    def path(self, label: int, number: int) -> str:
        """Path of an image, as in ``001.amber-weave-vase/001_0001.jpg``, numbered from 1."""
        name = self.name_of(label)
        return f"{name}/{name[:3]}_{number + 1:04d}.jpg"

    def paint(self, label: int, number: int) -> ByteArray:
        """Paint an image of a class, or (`CLUTTER`) of none."""
        return _Scene(self, label, generator(self.seed, "image", label + 1, number)).paint()


class _Scene:
    """One image: what is in it is drawn from the image's own stream, and painted."""

    def __init__(self, spec: PaintedCategories, label: int, rng: Random) -> None:
        self.seed, self.width, self.height, self.rng = spec.seed, spec.width, spec.height, rng
        self.zoom = float(np.sqrt(256 * 192 / (spec.width * spec.height)))  # pixels of tiles to one of the image
        self.knobs = painter.at_difficulty(_KNOBS, spec.difficulty)
        self.anything = _cloths(spec.seed)[-_N_SHARED:] + _cloths(spec.seed)[:_N_PRIVATE]
        self.category = self._any_category() if label == CLUTTER else category_of(spec.seed, label)
        self.light = Light(rng.uniform(0, np.pi), rng.uniform(0.4, 0.6))
        self.horizon = rng.uniform(0.3, 0.56) if rng.random() < 0.78 else 0.0
        """In shares of the height from above; 0 where the ground alone is seen, from above."""

    def paint(self) -> ByteArray:
        """Paint what is behind, then the things from back to front, then take the photograph."""
        rng, knobs, category = self.rng, self.knobs, self.category
        background = category.backgrounds[rng.integers(2)]
        canvas = self._behind(self._any_category().backgrounds[0] if self._happens("other background") else background)
        things = [(category.shape, self._own_cloths(), size) for size in self._sizes()]
        for _ in range(round(rng.uniform(0, knobs["strangers"]))):
            shape, cloths, _ = self._any_category()
            things.append((shape, cloths, rng.uniform(0.3, 0.55)))
        for _ in range(round(rng.uniform(0, knobs["scraps"]))):
            things.append((str(rng.choice(tuple(SCRAPS))), (self._any_cloth(),), rng.uniform(0.06, 0.22)))
        placed = [(self._pose(shape, size), shape, cloths) for shape, cloths, size in things]
        for pose, shape, cloths in sorted(placed, key=lambda one: one[0].y + one[0].half * rng.random()):
            painter.paint_thing(canvas, shape, pose, self._materials(cloths, -pose.angle), self.light)
        return painter.expose(canvas, self._lens(), rng)

    def _happens(self, what: str) -> bool:
        return bool(self.rng.random() < self.knobs[what])

    def _any_cloth(self) -> Cloth:
        return self.anything[self.rng.integers(len(self.anything))]

    def _any_category(self) -> Category:
        cloths = self._any_cloth(), self._any_cloth(), self._any_cloth()
        backgrounds = (_backgrounds(self.seed)[one] for one in self.rng.integers(_N_BACKGROUNDS, size=2))
        return Category(str(self.rng.choice(tuple(OBJECTS))), cloths, tuple(backgrounds))

    def _sizes(self) -> list[float]:
        """Heights of one or two objects of the category, in shares of the image's."""
        size, smaller = self.rng.uniform(0.66, 0.92) - self.knobs["smaller"], self.rng.uniform(0.55, 0.85)
        return [size, size * smaller] if self.rng.random() < 0.35 else [size]

    def _own_cloths(self) -> tuple[Cloth, ...]:
        """Materials of an object of the category, though in any order, or some from something else."""
        order = self.rng.permutation(3) if self._happens("shuffled parts") else (0, 1, 2)
        return tuple(self._any_cloth() if self._happens("other material") else self.category.cloths[i] for i in order)

    def _pose(self, shape: str, size: float) -> Pose:
        """Put something on the ground or, if it floats, anywhere; seen from above it may lie in any direction."""
        x, high, angle = self.rng.uniform(0.14, 0.86), self.rng.uniform(0, 1), self.rng.uniform(-1, 1)
        highest = max(self.horizon + 0.1, min(size, 0.8))
        y, turn = highest + (0.97 - highest) * high - size / 2, np.pi if shape in SCRAPS else 0.08
        if not self.horizon:
            y, turn = 0.2 + 0.6 * high, np.pi
        elif shape in FLOATING:
            y, turn = 0.22 + 0.5 * high, 0.4
        stretch = float(self.rng.uniform(0.82, 1.15) * self.rng.choice((-1, 1)))
        return Pose(x * self.width, y * self.height, size * self.height / 2, angle * turn, stretch)

    def _materials(self, cloths: tuple[Cloth, ...], turn: float) -> list[painter.Material]:
        offsets = self.rng.random((len(cloths), 2))
        return [
            painter.Material(cloth.tile(self.seed), ramp(cloth.colours), turned(turn, self.zoom, offset))
            for cloth, offset in zip(cloths, offsets, strict=True)
        ]

    def _behind(self, background: Background) -> FloatArray:
        """Paint sky or wall above ground, or the ground alone."""
        line, (kind, wall, under), offset = round(self.horizon * self.height), background, self.rng.random(2)
        turn, size = 0.09 if line else np.pi, (self.width, self.height - line)
        onto = turned(self.rng.uniform(-turn, turn), self.rng.uniform(0.85, 1.15) * self.zoom, offset)
        tones = painter.ground(under.tile(self.seed), size, (-1.1 if line else -100) * size[1], onto)
        floor = ramp(under.colours, 0.78)[tones]
        down = np.linspace(0, 1, size[1], dtype=np.float32)[:, None]
        if not line:
            return floor
        if kind >= 0:
            painter.lay(floor, painter.SKIES[kind][1], 0.65 * (1 - np.minimum(down * 2.2, 1)) ** 2)
            return np.concatenate([self._sky(kind, (self.width, line), offset), floor])
        floor *= (0.72 + 0.28 * np.minimum(down * 5, 1))[..., None]
        seen = look(wall.tile(self.seed), (self.width, line), onto)
        return np.concatenate([0.92 * ramp(wall.colours, 0.6)[seen], floor])

    def _sky(self, kind: int, size: tuple[int, int], offset: Matrix) -> FloatArray:
        """Paint a sky, with or without a hazy ridge on the horizon."""
        above = painter.sky(self.seed, kind, size, offset, 1.3 * self.zoom)
        x, (a, b) = np.linspace(-np.pi, np.pi, size[0]), 7 * offset
        ridge = 0.5 + 0.3 * np.sin(1.3 * x + a) + 0.2 * np.sin(2.9 * x + b) + 0.06 * np.sin(9 * x + a * b)
        depth = np.arange(size[1])[:, None] - size[1] + self.rng.uniform(-0.1, 0.22) * self.height * ridge
        painter.lay(above, np.multiply(painter.SKIES[kind], 0.45).sum(axis=0), 0.9 * np.clip(depth + 0.5, 0, 1))
        return above

    def _lens(self) -> painter.Lens:
        knobs, chance = self.knobs, np.clip(self.rng.standard_normal(4), -2, 2)
        return painter.Lens(
            exposure=float(np.exp(knobs["exposure"] * chance[0])),
            cast=np.exp(knobs["cast"] * chance[1:]),
            falloff=self.rng.uniform(0.03, knobs["falloff"]),
            azimuth=self.light.azimuth,
            blur=self.rng.uniform(-0.6, knobs["blur"]),
            noise=self.rng.uniform(0.8, knobs["noise"]),
        )


def write_odd_files(spec: PaintedCategories, folder: str | os.PathLike[str]) -> None:
    """Write a handful of awkward files among the images, so that whatever an archive may hold occurs.

    Four can be used (greyscale, CMYK, 16 bits, turned by EXIF); one is too small, one cut off, one no image.
    """
    names = ("greyscale.jpg", "cmyk.jpg", "sixteen_bits.png", "turned.jpg", "small.jpg", "cut_off.jpg")
    places = [
        Path(folder) / label / f"{label[:3]}_{name}" for name, label in zip(names, cycle(spec.names()), strict=False)
    ]
    image, upright = Image.fromarray(spec.paint(0, spec.images_per_class)), Image.Exif()
    upright[0x0112] = 6  # orientation: to be turned clockwise by a quarter when shown
    image.convert("L").save(places[0])
    image.convert("CMYK").save(places[1])
    Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257).save(places[2])
    image.transpose(Image.Transpose.ROTATE_90).save(places[3], exif=upright)
    image.resize((96, 72)).save(places[4])
    places[5].write_bytes(places[0].read_bytes()[:2000])
    places[0].with_name("RENAME2").write_text("These files have been renamed; this is no image.\n", encoding="utf-8")
