"""Plans of the synthetic images: what a class owns, and what chance adds to each of its images.

Here is all the randomness but that of textures and sensor noise; `category_scenes` paints what is planned here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lookalike.core.seeds import generator
from lookalike.data import materials
from lookalike.data.category_scenes import SKIES, Light, Placement, Scene
from lookalike.data.shapes import FLOATING, SCRAPS, SHAPES, shape_name

CLUTTER = -1
"""Number that stands for no class."""
MAX_CLASSES = 128
_N_SHARED = 20  # materials that classes own together
_N_PRIVATE = 24  # of the classes' own materials, those that turn up anywhere
_N_BACKGROUNDS = 12
_FAMILY_WORDS = {"stripes": "stripe", "dots": "dot", "bricks": "brick", "scales": "scale"}

# What difficulty does: the value at 0 and the value at 1, linear between.
DIFFICULTY: dict[str, tuple[float, float]] = {
    "other background": (0.44, 1.0),  # chance that the background is not the class's own
    "other material": (0.0, 0.12),  # chance that a part's material is not the class's own
    "shuffled parts": (0.2, 0.6),  # chance that the materials change places
    "smaller": (0.0, 0.24),  # taken from an object's size, in shares of the image's height
    "scraps": (1.0, 10.0),  # at most
    "strangers": (0.0, 3.0),  # at most
    "turn": (0.3, 1.3),  # of the background's tiles
    "zoom": (0.0, 0.3),  # of the background's tiles
    "one-sided light": (0.2, 0.5),
    "exposure": (0.02, 0.05),
    "warmth": (0.01, 0.03),
    "tint": (0.01, 0.03),
    "blur": (0.0, 0.5),
    "noise": (1.0, 3.2),
}


@dataclass(frozen=True)
class Category:
    """What a class owns: materials of its object's parts, backgrounds (numbers in `_backgrounds`) and a shape."""

    materials: tuple[int, int, int]
    backgrounds: tuple[int, int]
    shape: int


@dataclass(frozen=True)
class Background:
    """Sky (-1: a wall instead), material of the wall and of the ground, as numbers."""

    sky: int
    wall: int
    ground: int


@dataclass(frozen=True)
class Plan:
    """One image: what is seen, and which of it is the class's main object and background."""

    scene: Scene
    main: Placement
    background: int

    def latents(self) -> dict[str, float]:
        """Numbers that made the image, by name: a row of the table of latents."""
        scene, main, light = self.scene, self.main, self.scene.light
        n_scraps = sum(placed.shape >= len(SHAPES) for placed in scene.placements)
        numbers: dict[str, float] = {f"material_{slot}": material for slot, material in enumerate(main.materials)}
        numbers |= {"shape": main.shape, "background": self.background, "sky": scene.sky}
        numbers |= {"wall": scene.wall, "ground": scene.ground, "horizon": scene.horizon}
        numbers |= {"x": main.x, "y": main.y, "size": main.size, "angle": main.angle, "stretch": main.stretch}
        numbers |= {"n_objects": len(scene.placements) - n_scraps, "n_scraps": n_scraps}
        numbers |= {"azimuth": light.azimuth, "strength": light.strength, "exposure": light.exposure}
        return numbers | {"warmth": light.warmth, "blur": light.blur, "noise": light.noise}


@lru_cache(maxsize=8)
def _material_order(seed: int) -> tuple[int, ...]:
    """All materials in the order in which classes come to own them; the last `_N_SHARED` are owned together.

    Families and colours alternate, so that a few classes already differ in both.
    """
    rng = generator(seed, "materials")
    n_families, n_ramps = len(materials.FAMILIES), len(materials.RAMPS)
    families, ramps = rng.permutation(n_families), rng.permutation(n_ramps)
    order = []
    for turn in range(materials.N_MATERIALS // n_families):
        order += [int(ramps[(3 * i + turn) % n_ramps] * n_families + families[i]) for i in range(n_families)]
    return tuple(order)


@lru_cache(maxsize=8)
def _backgrounds(seed: int) -> tuple[Background, ...]:
    """Backgrounds that the classes share: every other one outdoors."""
    rng = generator(seed, "backgrounds")
    shared = rng.permutation(_material_order(seed)[-_N_SHARED:])
    skies = rng.permutation(len(SKIES))
    return tuple(
        Background(
            sky=int(skies[(i // 2) % len(SKIES)]) if i % 2 == 0 else -1,
            wall=int(shared[i % _N_SHARED]),
            ground=int(shared[(i + 7) % _N_SHARED]),
        )
        for i in range(_N_BACKGROUNDS)
    )


@lru_cache(maxsize=1024)
def category_of(seed: int, label_index: int) -> Category:
    """Return what a class owns. Depends on nothing but the seed and the class's number."""
    rng = generator(seed, "category", label_index)
    order = _material_order(seed)
    shapes = generator(seed, "shapes", label_index // len(SHAPES)).permutation(len(SHAPES))
    second, third = rng.choice(_N_SHARED, size=2, replace=False)
    backgrounds = rng.choice(_N_BACKGROUNDS, size=2, replace=False)
    return Category(
        materials=(order[label_index], order[-_N_SHARED + second], order[-_N_SHARED + third]),
        backgrounds=(int(backgrounds[0]), int(backgrounds[1])),
        shape=int(shapes[label_index % len(SHAPES)]),
    )


def class_name(seed: int, label_index: int) -> str:
    """Folder name of a class: its number, its own material and its shape, as in ``001.amber-weave-vase``."""
    category = category_of(seed, label_index)
    ramp, family = materials.material_name(category.materials[0]).split("-")
    return f"{label_index + 1:03d}.{ramp}-{_FAMILY_WORDS.get(family, family)}-{shape_name(category.shape)}"


class Planner:
    """Draws the plan of one image, in the same order at every difficulty: only what is made of the draws differs."""

    def __init__(self, seed: int, difficulty: float, label_index: int, rng: np.random.Generator) -> None:
        self.seed = seed
        self.rng = rng
        self.knobs = {name: low + (high - low) * difficulty for name, (low, high) in DIFFICULTY.items()}
        order = _material_order(seed)
        self.anything = order[-_N_SHARED:] + order[:_N_PRIVATE]
        self.category = self._anything_at_all() if label_index == CLUTTER else category_of(seed, label_index)

    def _anything_at_all(self) -> Category:
        one, two, three = (self._any_material() for _ in range(3))
        return Category((one, two, three), (self._any_background(), self._any_background()), self._any_shape())

    def _any_material(self) -> int:
        return self.anything[int(self.rng.integers(len(self.anything)))]

    def _any_background(self) -> int:
        return int(self.rng.integers(_N_BACKGROUNDS))

    def _any_shape(self) -> int:
        return int(self.rng.integers(len(SHAPES)))

    def _happens(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def _between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def plan(self) -> Plan:
        """Draw an image of the category."""
        own, other = self.category.backgrounds[int(self.rng.integers(2))], self._any_background()
        number = other if self._happens(self.knobs["other background"]) else own
        background = _backgrounds(self.seed)[number]
        horizon = self._between(0.3, 0.56) * self._happens(0.78)
        hills = self._between(0.06, 0.22) * self._happens(0.6)
        lean, turn = self._between(-0.12, 0.12), self._between(0, 2 * np.pi)
        scraps = self._some([self._scrap(horizon) for _ in range(10)], self.knobs["scraps"])
        strangers = self._some([self._stranger(horizon) for _ in range(3)], self.knobs["strangers"])
        objects = self._objects(horizon)
        front = int(self._between(0, 0.4) * len(scraps))
        behind = sorted(scraps[front:] + strangers + objects, key=lambda placed: placed.y + placed.size / 2)
        scene = Scene(
            sky=background.sky,
            wall=background.wall,
            ground=background.ground,
            horizon=horizon,
            hills=hills if background.sky >= 0 else 0.0,
            offset=(self._between(0, 1), self._between(0, 1)),
            angle=lean * self.knobs["turn"] if horizon else turn,
            zoom=1 + self.knobs["zoom"] * self._between(-1, 1),
            placements=(*behind, *scraps[:front]),
            light=self._light(),
        )
        return Plan(scene, objects[0], number)

    def _some(self, placements: list[Placement], at_most: float) -> list[Placement]:
        """Keep the first few."""
        return placements[: round(at_most * self._between(0, 1))]

    def _light(self) -> Light:
        knobs, normal = self.knobs, self.rng.standard_normal
        return Light(
            azimuth=self._between(0, 2 * np.pi),
            strength=self._between(0.05, knobs["one-sided light"]),
            exposure=float(np.exp(knobs["exposure"] * np.clip(normal(), -2, 2))),
            warmth=float(knobs["warmth"] * np.clip(normal(), -2, 2)),
            tint=tuple(np.exp(knobs["tint"] * np.clip(normal(3), -2, 2)).tolist()),
            blur=float(np.clip(self._between(-0.6, knobs["blur"]), 0, None)),
            noise=self._between(0.8, knobs["noise"]),
        )

    def _objects(self, horizon: float) -> list[Placement]:
        """Draw one or two objects of the category."""
        size = self._between(0.66, 0.92) - self.knobs["smaller"]
        factors = (1.0, self._between(0.55, 0.85))
        both = [self._object(self.category.shape, size * factor, horizon) for factor in factors]
        return both[: 2 if self._happens(0.35) else 1]

    def _object(self, shape: int, size: float, horizon: float) -> Placement:
        """Draw an object of the category: parts cut from its materials, though in any order, or from something else."""
        shuffled = self.rng.permutation(3)
        owned = shuffled if self._happens(self.knobs["shuffled parts"]) else np.arange(3)
        swaps = self.rng.random(3) < self.knobs["other material"]
        others = [self._any_material() for _ in range(3)]
        own = [self.category.materials[slot] for slot in owned]
        parts = [other if swap else mine for other, swap, mine in zip(others, swaps, own, strict=True)]
        return self._place(shape, (parts[0], parts[1], parts[2]), size, horizon, turned=0.08)

    def _stranger(self, horizon: float) -> Placement:
        """Draw an object of no category, a little smaller."""
        parts = self._any_material(), self._any_material(), self._any_material()
        return self._place(self._any_shape(), parts, self._between(0.3, 0.55), horizon, turned=0.08)

    def _scrap(self, horizon: float) -> Placement:
        shape = len(SHAPES) + int(self.rng.integers(len(SCRAPS)))
        part = self._any_material()
        return self._place(shape, (part, part, part), self._between(0.06, 0.22), horizon, turned=np.pi)

    def _place(self, shape: int, parts: tuple[int, int, int], size: float, horizon: float, turned: float) -> Placement:
        """Put something on the ground or, if it floats, anywhere; seen from above it may lie in any direction."""
        x, high = self._between(0.14, 0.86), self._between(0, 1)
        angle, stretch = self._between(-1, 1), self._between(0.82, 1.15)
        mirrored = self._happens(0.5)
        offset = (self._between(0, 1), self._between(0, 1))
        if horizon == 0.0:
            y, angle = 0.2 + 0.6 * high, angle * np.pi
        elif shape_name(shape) in FLOATING:
            y, angle = 0.22 + 0.5 * high, angle * 0.4
        else:
            highest = max(horizon + 0.1, min(size, 0.8))
            y, angle = highest + (0.97 - highest) * high - size / 2, angle * turned
        return Placement(shape, parts, x, y, size, angle, -stretch if mirrored else stretch, offset)
