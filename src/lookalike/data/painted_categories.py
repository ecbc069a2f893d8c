"""Synthetic categories: scenes in class folders; what a class does not own in them (`Category`) is chance."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from PIL import Image

from lookalike.core.arrays import Bytes
from lookalike.core.files import write_text
from lookalike.core.seeds import generator
from lookalike.core.settings.data_sets import SyntheticClasses
from lookalike.data.scene import HUES, NONE, TEXTURES, THINGS, Cloth, Pose, Recipe, Scene

CLUTTER_LABEL = "257.clutter"
_N_SHARED = 20  # cloths that classes own together
_N_BACKGROUNDS = 6
_STRANGER = 1000  # categories from this number on are no class of any set


class Category(NamedTuple):
    """What a class owns."""

    thing: str
    cloths: tuple[Cloth, ...]  # three; other classes own two of them, too
    backgrounds: tuple[tuple[Cloth, Cloth], ...]  # two, which other classes own, too: what is above, and the ground


@lru_cache(maxsize=4)
def _cloths(seed: int) -> tuple[Cloth, ...]:
    """Return all cloths in the order in which classes come to own them; the last `_N_SHARED` are owned together."""
    rng = generator(seed, "cloths")
    textures, hues = rng.permutation(tuple(TEXTURES)).tolist(), rng.permutation(len(HUES)).tolist()
    n, m = len(textures), len(hues)  # both alternate, so that a few classes already differ in both
    return tuple(Cloth(textures[i % n], hues[(3 * (i % n) + i // n) % m] / m) for i in range(n * m))


@lru_cache(maxsize=4096)
def category_of(seed: int, label: int) -> Category:
    """Return what a class owns; it depends on nothing but the seed and the class's number."""
    rng, cloths = generator(seed, "category", label), _cloths(seed)
    things = generator(seed, "things", label // len(THINGS)).permutation(tuple(THINGS)).tolist()
    shared, first = cloths[-_N_SHARED:], 2 * rng.choice(_N_BACKGROUNDS, size=2, replace=False)
    second, third = rng.choice(_N_SHARED, size=2, replace=False)
    mine = cloths[label % len(cloths)], shared[second], shared[third]
    return Category(things[label % len(THINGS)], mine, tuple((shared[i], shared[i + 1]) for i in first))


class PaintedCategories(SyntheticClasses, Recipe):
    """A set of synthetic categories; fewer are the first ones of more."""

    extremes: ClassVar = {
        "other background": (0.44, 1.0),  # chance that the background is not the class's own
        "other cloth": (0.0, 0.12),  # chance that a part's cloth is not the class's own
        "shuffled cloths": (0.2, 0.6),  # chance that the cloths change places
        "smaller": (0.0, 0.2),  # taken from an object's size, in shares of the image's height
        "strangers": (1.0, 10.0),  # things of no class, at most
        "light": (0.02, 0.07),  # as the next two in `Scene.photograph`
        "blur": (0.0, 0.5),
        "noise": (1.0, 3.2),
    }

    def name_of(self, label: int) -> str:
        """Return a folder's name: number, own cloth and thing of a class, as in ``001.amber-striped-vase``."""
        if label == NONE:
            return CLUTTER_LABEL
        thing, (own, *_), _ = category_of(self.seed, label)
        return f"{label + 1:03d}.{HUES[round(own.hue * len(HUES))]}-{own.texture}-{thing}"

    def counts(self) -> dict[tuple[int], int]:
        """Return how many images there are of each class, and of none."""
        return {(label,): self.images_per_class for label in range(self.classes)} | {(NONE,): self.clutter_images}

    def path(self, label: int, number: int) -> str:
        """Return the path of an image, as in ``001.amber-striped-vase/001_0001.jpg``, numbered from 1."""
        name = self.name_of(label)
        return f"{name}/{name[:3]}_{number + 1:04d}.jpg"

    def paint(self, label: int, number: int) -> Bytes:
        """Paint an image of a class, or (`NONE`) of none: what is behind, then things from back to front."""
        rng, knobs = generator(self.seed, "image", label + 1, number), self.knobs
        scene = Scene(self, (self.width, self.height), rng)

        def stranger() -> Category:
            return category_of(self.seed, int(rng.integers(_STRANGER, 2 * _STRANGER)))

        own = stranger() if label == NONE else category_of(self.seed, label)
        behind = stranger() if rng.random() < knobs["other background"] else own
        horizon = rng.uniform(0.2, 0.5)  # in shares of the height, from above
        scene.paint_behind(horizon * self.height, *behind.backgrounds[rng.integers(2)])
        size = rng.uniform(0.66, 0.92) - knobs["smaller"]
        things = [(own, size)] + [(own, 0.7 * size)] * (rng.random() < 0.35)
        things += [(stranger(), rng.uniform(0.08, 0.35)) for _ in range(round(rng.uniform(0, knobs["strangers"])))]
        feet = rng.uniform(max(horizon + 0.1, min(size, 0.8)), 0.97, size=len(things))
        for foot, place in sorted(zip(feet.tolist(), range(len(things)), strict=True)):
            category, size = things[place]
            order = rng.permutation(3) if rng.random() < knobs["shuffled cloths"] else range(3)
            cloths = [Cloth.any(rng) if rng.random() < knobs["other cloth"] else category.cloths[i] for i in order]
            turn, stretch = rng.uniform(-0.08, 0.08), float(rng.uniform(0.82, 1.15) * rng.choice((-1, 1)))
            middle = rng.uniform(0.14, 0.86) * self.width, (foot - size / 2) * self.height
            scene.paint_thing(category.thing, Pose(*middle, size * self.height / 2, turn, stretch), cloths)
        return scene.photograph()

    def write_beside(self, folder: str | Path) -> None:
        """Write odd files as an archive may hold: a greyscale image, one that was cut off, and a text."""
        for number, name in enumerate(("greyscale", "cut_off")):
            label = number % self.classes
            path = Path(folder, self.name_of(label), f"{label + 1:03d}_{name}.jpg")
            Image.fromarray(self.paint(label, self.images_per_class + number)).convert("L").save(path)
        path.write_bytes(path.read_bytes()[:2000])
        write_text("These files have been renamed; this is no image.\n", path.with_name("RENAME2"))
