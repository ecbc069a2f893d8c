"""Synthetic categories: scenes in class folders; what a class does not own in them (`Category`) is chance."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from lookalike.core.arrays import Bytes
from lookalike.core.files import write_text
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import SyntheticClasses
from lookalike.data.scene import FAMILIES, NONE, OBJECTS, RAMPS, SCRAPS, SKIES, WALL, Cloth, Pose, Random, Recipe, Scene

CLUTTER_LABEL = "257.clutter"
_N_SHARED = 20  # materials that classes own together
_N_BACKGROUNDS = 12
_WORDS = {"stripes": "stripe", "dots": "dot", "bricks": "brick", "scales": "scale"}


Background = tuple[int, Cloth, Cloth]
"""Number of the sky or `WALL`, the wall, and the ground before it."""


class Category(NamedTuple):
    """What a class owns."""

    shape: str
    cloths: tuple[Cloth, ...]  # three; other classes own two of them, too
    backgrounds: tuple[Background, ...]  # two


@lru_cache(maxsize=8)
def _cloths(seed: int) -> tuple[Cloth, ...]:
    """Return all materials in the order in which classes come to own them; the last `_N_SHARED` are owned together."""
    rng = generator(seed, "materials")
    families, colours = rng.permutation(FAMILIES).tolist(), rng.permutation(tuple(RAMPS)).tolist()
    n, m = len(families), len(colours)  # both alternate, so that a few classes already differ in both
    return tuple(Cloth(families[i % n], colours[(3 * (i % n) + i // n) % m]) for i in range(n * m))


def _backgrounds(seed: int, places: npt.NDArray[np.integer]) -> tuple[Background, ...]:
    """Return some of the backgrounds that the classes share: every other one outdoors."""
    rng, shared = generator(seed, "backgrounds"), _cloths(seed)[-_N_SHARED:]
    skies, order = rng.permutation(len(SKIES)), rng.permutation(_N_SHARED)
    return tuple((int(skies[i // 2]) if i % 2 else WALL, shared[order[i]], shared[order[i + 7]]) for i in places)


@lru_cache(maxsize=1024)
def category_of(seed: int, label: int) -> Category:
    """Return what a class owns; it depends on nothing but the seed and the class's number."""
    rng, cloths = generator(seed, "category", label), _cloths(seed)
    shapes = generator(seed, "shapes", label // len(OBJECTS)).permutation(tuple(OBJECTS)).tolist()
    shared = (cloths[place - _N_SHARED] for place in rng.choice(_N_SHARED, size=2, replace=False))
    backgrounds = _backgrounds(seed, rng.choice(_N_BACKGROUNDS, size=2, replace=False))
    return Category(shapes[label % len(OBJECTS)], (cloths[label], *shared), backgrounds)


def _any_category(seed: int, rng: Random) -> Category:
    """Return a random category that no class is."""
    cloths = Cloth.any(rng), Cloth.any(rng), Cloth.any(rng)
    return Category(str(rng.choice(tuple(OBJECTS))), cloths, _backgrounds(seed, rng.integers(_N_BACKGROUNDS, size=2)))


class PaintedCategories(SyntheticClasses, Recipe):
    """A set of synthetic categories; fewer are the first ones of more."""

    version = 3
    extremes: ClassVar = {
        "other background": (0.44, 1.0),  # chance that the background is not the class's own
        "other material": (0.0, 0.12),  # chance that a part's material is not the class's own
        "shuffled parts": (0.2, 0.6),  # chance that the materials change places
        "smaller": (0.0, 0.2),  # taken from an object's size, in shares of the image's height
        "scraps": (1.0, 10.0),  # at most
        "strangers": (0.0, 2.0),  # objects of no class, at most
        "light": (0.02, 0.05),  # as the next four in `Scene.photograph`
        "cast": (0.015, 0.04),
        "falloff": (0.1, 0.3),
        "blur": (0.0, 0.5),
        "noise": (1.0, 3.2),
    }

    def name_of(self, label: int) -> str:
        """Return a folder's name: number, own material and shape of a class, as in ``001.amber-weave-vase``."""
        if label == NONE:
            return CLUTTER_LABEL
        shape, ((family, colours), *_), _ = category_of(self.seed, label)
        return f"{label + 1:03d}.{colours}-{_WORDS.get(family, family)}-{shape}"

    def counts(self) -> dict[tuple[int], int]:
        """Return how many images there are of each class, and of none."""
        return {(label,): self.images_per_class for label in range(self.classes)} | {(NONE,): self.clutter_images}

    def path(self, label: int, number: int) -> str:
        """Return the path of an image, as in ``001.amber-weave-vase/001_0001.jpg``, numbered from 1."""
        name = self.name_of(label)
        return f"{name}/{name[:3]}_{number + 1:04d}.jpg"

    def paint(self, label: int, number: int) -> Bytes:
        """Paint an image of a class, or (`NONE`) of none: what is behind, then things from back to front."""
        rng, knobs = generator(self.seed, "image", label + 1, number), self.knobs
        scene = Scene(self, (self.width, self.height), rng)
        category = _any_category(self.seed, rng) if label == NONE else category_of(self.seed, label)
        is_other = rng.random() < knobs["other background"]
        horizon = rng.uniform(0.2, 0.5)  # in shares of the height, from above
        backgrounds = (_any_category(self.seed, rng) if is_other else category).backgrounds
        scene.paint_behind(horizon * self.height, *backgrounds[rng.integers(2)])
        size, smaller = rng.uniform(0.66, 0.92) - knobs["smaller"], rng.uniform(0.55, 0.85)
        things = [(category.shape, _shuffled(category.cloths, knobs, rng), size)]
        if rng.random() < 0.35:
            things.append((category.shape, _shuffled(category.cloths, knobs, rng), size * smaller))
        for _ in range(round(rng.uniform(0, knobs["strangers"]))):
            shape, cloths, _ = _any_category(self.seed, rng)
            things.append((shape, cloths, rng.uniform(0.3, 0.55)))
        for _ in range(round(rng.uniform(0, knobs["scraps"]))):
            things.append((str(rng.choice(tuple(SCRAPS))), (Cloth.any(rng),), rng.uniform(0.06, 0.22)))
        feet = rng.uniform(max(horizon + 0.1, min(size, 0.8)), 0.97, size=len(things))
        for foot, (thing, cloths, size) in sorted(zip(feet.tolist(), things, strict=True)):
            x, turn = rng.uniform(0.14, 0.86), rng.uniform(-1, 1) * (np.pi if thing in SCRAPS else 0.08)
            stretch = float(rng.uniform(0.82, 1.15) * rng.choice((-1, 1)))
            pose = Pose(x * self.width, (foot - size / 2) * self.height, size * self.height / 2, turn, stretch)
            scene.paint_thing(thing, pose, scene.materials(cloths, turn))
        return scene.photograph()

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


def _shuffled(cloths: tuple[Cloth, ...], knobs: dict[str, float], rng: Random) -> tuple[Cloth, ...]:
    """Return materials of an object of a category, though in any order, or some of anything else."""
    order = rng.permutation(3) if rng.random() < knobs["shuffled parts"] else (0, 1, 2)
    return tuple(Cloth.any(rng) if rng.random() < knobs["other material"] else cloths[i] for i in order)
