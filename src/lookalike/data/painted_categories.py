"""Synthetic categories: scenes in class folders; what a class does not own in them (`Category`) is chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from lookalike.core.arrays import Bytes, Doubles, Floats
from lookalike.core.files import write_text
from lookalike.core.seeds import generator
from lookalike.data import painter
from lookalike.data.painter import FLOATING, OBJECTS, SCRAPS, Lens, Light, Material, Pose, Recipe, require
from lookalike.data.textures import FAMILIES, RAMPS, Random, look, ramp, tile, turned

CLUTTER = -1  # stands for no class
CLUTTER_LABEL = "257.clutter"
MAX_CLASSES = 128
_N_SHARED = 20  # materials that classes own together
_N_PRIVATE = 24  # of the classes' own materials, those that turn up anywhere
_N_BACKGROUNDS = 12
_WORDS = {"stripes": "stripe", "dots": "dot", "bricks": "brick", "scales": "scale"}
_EXTREMES = {  # at difficulty 0 and at difficulty 1
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

    def tile(self, seed: int) -> Bytes:
        """Return the grey tile of the texture; the colours decide its scale and direction."""
        return tile(seed, self.family, tuple(RAMPS).index(self.colours) % 3)


Background = tuple[int, Cloth, Cloth]  # number of the sky, or -1 for a wall instead; the wall, and the ground


class Category(NamedTuple):
    """What a class owns."""

    shape: str
    cloths: tuple[Cloth, ...]  # three; other classes own two of them, too
    backgrounds: tuple[Background, ...]


@lru_cache(maxsize=8)
def _cloths(seed: int) -> tuple[Cloth, ...]:
    """Return all materials in the order in which classes come to own them; the last `_N_SHARED` are owned together."""
    rng = generator(seed, "materials")
    families, colours = rng.permutation(FAMILIES).tolist(), rng.permutation(tuple(RAMPS)).tolist()
    n, m = len(families), len(colours)  # both alternate, so that a few classes already differ in both
    return tuple(Cloth(families[i % n], colours[(3 * (i % n) + i // n) % m]) for i in range(n * m))


@lru_cache(maxsize=8)
def _backgrounds(seed: int) -> tuple[Background, ...]:
    """Return backgrounds that the classes share: every other one outdoors."""
    rng = generator(seed, "backgrounds")
    skies, order = rng.permutation(len(painter.SKIES)), rng.permutation(_N_SHARED)
    shared = [_cloths(seed)[place - _N_SHARED] for place in order]
    kinds = [-1 if i % 2 else int(skies[i // 2]) for i in range(_N_BACKGROUNDS)]
    return tuple((kind, shared[i], shared[i + 7]) for i, kind in enumerate(kinds))


@lru_cache(maxsize=1024)
def category_of(seed: int, label: int) -> Category:
    """Return what a class owns; it depends on nothing but the seed and the class's number."""
    rng, cloths = generator(seed, "category", label), _cloths(seed)
    shapes = generator(seed, "shapes", label // len(OBJECTS)).permutation(tuple(OBJECTS)).tolist()
    shared = (cloths[place - _N_SHARED] for place in rng.choice(_N_SHARED, size=2, replace=False))
    backgrounds = (_backgrounds(seed)[place] for place in rng.choice(_N_BACKGROUNDS, size=2, replace=False))
    return Category(shapes[label % len(OBJECTS)], (cloths[label], *shared), tuple(backgrounds))


@dataclass(frozen=True)
class PaintedCategories(Recipe):
    """A set of synthetic categories."""

    classes: int = 20  # at most 128; fewer are the first ones of more
    images_per_class: int = 72
    clutter_images: int = 40  # of no class, in the folder `CLUTTER_LABEL`
    width: int = 256
    height: int = 192

    version = 2
    extremes = _EXTREMES

    def __post_init__(self) -> None:
        ratio = self.width / self.height
        require(self.classes <= MAX_CLASSES, "classes", self.classes, f"of {MAX_CLASSES} or less")
        require(0.5 <= ratio <= 2, "width / height", ratio, "between 0.5 and 2")

    def names(self) -> list[str]:
        """Return folder names of the classes: number, own material and shape, as in ``001.amber-weave-vase``."""
        return [self.name_of(label) for label in range(self.classes)]

    def name_of(self, label: int) -> str:
        """Return the folder name of a class, or (`CLUTTER`) of the images of none."""
        if label == CLUTTER:
            return CLUTTER_LABEL
        shape, ((family, colours), *_), _ = category_of(self.seed, label)
        return f"{label + 1:03d}.{colours}-{_WORDS.get(family, family)}-{shape}"

    def counts(self) -> dict[tuple[int], int]:
        """Return how many images there are of each class, and of none."""
        return {(label,): self.images_per_class for label in range(self.classes)} | {(CLUTTER,): self.clutter_images}

    def path(self, label: int, number: int) -> str:
        """Return the path of an image, as in ``001.amber-weave-vase/001_0001.jpg``, numbered from 1."""
        name = self.name_of(label)
        return f"{name}/{name[:3]}_{number + 1:04d}.jpg"

    def paint(self, label: int, number: int) -> Bytes:
        """Paint an image of a class, or (`CLUTTER`) of none."""
        return CategoryScene(self, label, generator(self.seed, "image", label + 1, number)).paint()

    def write_beside(self, folder: str | Path) -> None:
        """Write awkward files as an archive may hold, each a painting of its class; four of the seven can be used."""
        names = ("greyscale.jpg", "cmyk.jpg", "sixteen_bits.png", "turned.jpg", "small.jpg", "cut_off.jpg")
        places, paintings = [], []
        for number, name in enumerate(names):
            label = number % self.classes
            places.append(Path(folder, self.name_of(label), f"{label + 1:03d}_{name}"))
            paintings.append(Image.fromarray(self.paint(label, self.images_per_class + number)))
        (grey, cmyk, deep, sideways, small, cut_off), upright = paintings, Image.Exif()
        upright[0x0112] = 6  # orientation: to be turned clockwise by a quarter when shown
        grey.convert("L").save(places[0])
        cmyk.convert("CMYK").save(places[1])
        Image.fromarray(np.asarray(deep.convert("L")).astype(np.uint16) * 257).save(places[2])
        sideways.transpose(Image.Transpose.ROTATE_90).save(places[3], exif=upright)
        small.resize((96, 72)).save(places[4])
        cut_off.save(places[5])
        places[5].write_bytes(places[5].read_bytes()[:2000])
        write_text("These files have been renamed; this is no image.\n", places[0].with_name("RENAME2"))


class CategoryScene:
    """One image: what is in it is drawn from the image's own stream, and painted."""

    def __init__(self, spec: PaintedCategories, label: int, rng: Random) -> None:
        self.seed, self.width, self.height, self.rng = spec.seed, spec.width, spec.height, rng
        self.zoom = float(np.sqrt(256 * 192 / (spec.width * spec.height)))  # pixels of tiles to one of the image
        self.knobs = spec.knobs
        self.anything = _cloths(spec.seed)[-_N_SHARED:] + _cloths(spec.seed)[:_N_PRIVATE]
        self.category = self._any_category() if label == CLUTTER else category_of(spec.seed, label)
        self.light = Light(rng.uniform(0, np.pi), rng.uniform(0.4, 0.6))
        # in shares of the height from above; 0 where the ground alone is seen, from above
        self.horizon = rng.uniform(0.3, 0.56) if rng.random() < 0.78 else 0.0

    def paint(self) -> Bytes:
        """Paint what is behind, then the things from back to front, then take the photograph."""
        rng, knobs, category = self.rng, self.knobs, self.category
        background = category.backgrounds[rng.integers(2)]
        if rng.random() < knobs["other background"]:
            background = self._any_category().backgrounds[0]
        canvas = self._behind(background)
        size, smaller = rng.uniform(0.66, 0.92) - knobs["smaller"], rng.uniform(0.55, 0.85)
        sizes = [size, size * smaller] if rng.random() < 0.35 else [size]
        things = [(category.shape, self._own_cloths(), size) for size in sizes]
        for _ in range(round(rng.uniform(0, knobs["strangers"]))):
            shape, cloths, _ = self._any_category()
            things.append((shape, cloths, rng.uniform(0.3, 0.55)))
        for _ in range(round(rng.uniform(0, knobs["scraps"]))):
            things.append((str(rng.choice(tuple(SCRAPS))), (self._any_cloth(),), rng.uniform(0.06, 0.22)))
        placed = [(self._pose(shape, size), shape, cloths) for shape, cloths, size in things]
        for pose, shape, cloths in sorted(placed, key=lambda thing: thing[0].y + thing[0].half * rng.random()):
            onto = partial(turned, -pose.angle, self.zoom)
            materials = [Material(cloth.tile(self.seed), ramp(cloth.colours), onto(rng.random(2))) for cloth in cloths]
            painter.paint_thing(canvas, shape, pose, materials, self.light)
        chance = np.clip(rng.standard_normal(4), -2, 2)
        exposure, cast = float(np.exp(knobs["exposure"] * chance[0])), np.exp(knobs["cast"] * chance[1:])
        falloff, blur = rng.uniform(0.03, knobs["falloff"]), rng.uniform(-0.6, knobs["blur"])
        lens = Lens(exposure, cast, falloff, self.light.azimuth, blur, noise=rng.uniform(0.8, knobs["noise"]))
        return painter.expose(canvas, lens, rng)

    def _any_cloth(self) -> Cloth:
        return self.anything[self.rng.integers(len(self.anything))]

    def _any_category(self) -> Category:
        cloths = self._any_cloth(), self._any_cloth(), self._any_cloth()
        backgrounds = (_backgrounds(self.seed)[place] for place in self.rng.integers(_N_BACKGROUNDS, size=2))
        return Category(str(self.rng.choice(tuple(OBJECTS))), cloths, tuple(backgrounds))

    def _own_cloths(self) -> tuple[Cloth, ...]:
        """Return materials of an object of the category, though in any order, or some from something else."""
        rng, knobs, cloths = self.rng, self.knobs, self.category.cloths
        order = rng.permutation(3) if rng.random() < knobs["shuffled parts"] else (0, 1, 2)
        return tuple(self._any_cloth() if rng.random() < knobs["other material"] else cloths[i] for i in order)

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

    def _behind(self, background: Background) -> Floats:
        """Paint sky or wall above ground, or the ground alone."""
        line, (kind, wall, under), offset = round(self.horizon * self.height), background, self.rng.random(2)
        turn, size = 0.09 if line else np.pi, (self.width, self.height - line)
        onto = turned(self.rng.uniform(-turn, turn), self.rng.uniform(0.85, 1.15) * self.zoom, offset)
        vanishing = (-1.1 if line else -100) * size[1]
        floor = ramp(under.colours, 0.78)[painter.ground(under.tile(self.seed), size, vanishing, onto)]
        down = np.linspace(0, 1, size[1], dtype=np.float32)[:, None]
        if not line:
            return floor
        if kind >= 0:
            painter.lay(floor, painter.SKIES[kind][1], 0.65 * (1 - np.minimum(down * 2.2, 1)) ** 2)
            return np.concatenate([self._sky(kind, line, offset), floor])
        floor *= (0.72 + 0.28 * np.minimum(down * 5, 1))[..., None]
        seen = look(wall.tile(self.seed), (self.width, line), onto)
        return np.concatenate([0.92 * ramp(wall.colours, 0.6)[seen], floor])

    def _sky(self, kind: int, height: int, offset: Doubles) -> Floats:
        """Paint a sky, with or without a hazy ridge on the horizon."""
        above = painter.sky(self.seed, kind, (self.width, height), offset, 1.3 * self.zoom)
        x, (a, b) = np.linspace(-np.pi, np.pi, self.width), 7 * offset
        ridge = 0.5 + 0.3 * np.sin(1.3 * x + a) + 0.2 * np.sin(2.9 * x + b) + 0.06 * np.sin(9 * x + a * b)
        depth = np.arange(height)[:, None] - height + self.rng.uniform(-0.1, 0.22) * self.height * ridge
        painter.lay(above, np.multiply(painter.SKIES[kind], 0.45).sum(axis=0), 0.9 * np.clip(depth + 0.5, 0, 1))
        return above
