"""A labelled image set made up on the spot: little scenes whose classes share materials, for demos and tests.

It stands where a downloaded archive would: the same folders, the same odd files, and about the same difficulty in the
papers' representation (Euclidean and OASIS mean average precision as on the Caltech-256 subsets with 10 and 20
classes). A class owns three materials, some of which other classes own too, two backgrounds and a shape; whatever else
is in an image is chance. Every image has a random stream of its own, so any process may draw any part of the set.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from lookalike.datasets import _materials as materials
from lookalike.datasets._materials import ByteArray
from lookalike.datasets._scenes import SKIES, Light, Placement, Scene, render
from lookalike.datasets._shapes import FLOATING, SCRAPS, SHAPES, shape_name
from lookalike.errors import LookalikeError
from lookalike.files import replacing, write_table
from lookalike.seeds import generator

if TYPE_CHECKING:
    import pandas as pd

JPEG_QUALITY = 92
CLUTTER_LABEL = "257.clutter"
CLUTTER = -1
"""Number that stands for no class in `draw_image`."""
_N_SHARED = 20  # materials that classes own together
_N_BACKGROUNDS = 12
_MAX_CLASSES = 128
_FAMILY_WORDS = {"stripes": "stripe", "dots": "dot", "bricks": "brick", "scales": "scale"}


@dataclass(frozen=True)
class SyntheticCategories:
    """What a synthetic image set is like.

    Parameters
    ----------
    n_classes : int
        Number of classes, at most 128. Fewer classes are the first ones of more: their images do not change.
    images_per_class : int
        Number of images of each class; the papers' protocol needs 65 and a share for the codebook pool.
    width, height : int
        Size of the images in pixels, 96 to 1024 each; textures scale along.
    difficulty : float
        0 (easy) to 1 (hard): how often materials and backgrounds are not the class's own, how much clutter there is,
        how much light, colour, focus and noise vary, and how small the objects are. It does not change the classes.
    seed : int
        Root seed.
    n_clutter : int
        Number of images of no class, in the folder `CLUTTER_LABEL`; 0 for none.

    Raises
    ------
    LookalikeError
        When a number is out of range.
    """

    n_classes: int = 20
    images_per_class: int = 90
    width: int = 256
    height: int = 192
    difficulty: float = 0.5
    seed: int = 0
    n_clutter: int = 100

    def __post_init__(self) -> None:
        _require(1 <= self.n_classes <= _MAX_CLASSES, "n_classes", self.n_classes, f"between 1 and {_MAX_CLASSES}")
        _require(1 <= self.images_per_class <= 9000, "images_per_class", self.images_per_class, "between 1 and 9000")
        _require(0 <= self.n_clutter <= 9000, "n_clutter", self.n_clutter, "between 0 and 9000")
        _require(0.0 <= self.difficulty <= 1.0, "difficulty", self.difficulty, "between 0 and 1")
        _require(self.seed >= 0, "seed", self.seed, "0 or more")
        for name, value in (("width", self.width), ("height", self.height)):
            _require(96 <= value <= 1024, name, value, "between 96 and 1024 pixels")
        _require(
            0.5 <= self.width / self.height <= 2.0, "width / height", self.width / self.height, "between 0.5 and 2"
        )

    def class_names(self) -> list[str]:
        """Folder names of the classes, as in ``001.amber-weave-vase``; clutter is not among them."""
        return [_class_name(self.seed, label_index) for label_index in range(self.n_classes)]

    def folder_names(self) -> list[str]:
        """Names of all folders: the classes and, if there is any, clutter last."""
        return self.class_names() + ([CLUTTER_LABEL] if self.n_clutter else [])


def _require(condition: bool, name: str, value: object, allowed: str) -> None:
    if not condition:
        raise LookalikeError(f"synthetic images: {name} is {value}; choose a value {allowed}")


# What difficulty does: the value at 0 and the value at 1, linear between. Chosen so that 0.5 is about as hard as the
# papers' Caltech-256 subsets, for the Euclidean baseline and for OASIS.
_DIFFICULTY: dict[str, tuple[float, float]] = {
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
class _Category:
    """What a class owns: materials of its object's parts, backgrounds (numbers in `_backgrounds`) and a shape."""

    materials: tuple[int, int, int]
    backgrounds: tuple[int, int]
    shape: int


@dataclass(frozen=True)
class _Background:
    sky: int
    wall: int
    ground: int


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
def _backgrounds(seed: int) -> tuple[_Background, ...]:
    """Backgrounds that the classes share: every other one outdoors."""
    rng = generator(seed, "backgrounds")
    shared = rng.permutation(_material_order(seed)[-_N_SHARED:])
    skies = rng.permutation(len(SKIES))
    return tuple(
        _Background(
            sky=int(skies[(i // 2) % len(SKIES)]) if i % 2 == 0 else -1,
            wall=int(shared[i % _N_SHARED]),
            ground=int(shared[(i + 7) % _N_SHARED]),
        )
        for i in range(_N_BACKGROUNDS)
    )


@lru_cache(maxsize=1024)
def _category(seed: int, label_index: int) -> _Category:
    """Return what a class owns. Depends on nothing but the seed and the class's number."""
    rng = generator(seed, "category", label_index)
    order = _material_order(seed)
    second, third = rng.choice(_N_SHARED, size=2, replace=False)
    backgrounds = rng.choice(_N_BACKGROUNDS, size=2, replace=False)
    return _Category(
        materials=(order[label_index], order[-_N_SHARED + second], order[-_N_SHARED + third]),
        backgrounds=(int(backgrounds[0]), int(backgrounds[1])),
        shape=int(
            generator(seed, "shapes", label_index // len(SHAPES)).permutation(len(SHAPES))[label_index % len(SHAPES)]
        ),
    )


def _class_name(seed: int, label_index: int) -> str:
    category = _category(seed, label_index)
    ramp, family = materials.material_name(category.materials[0]).split("-")
    return f"{label_index + 1:03d}.{ramp}-{_FAMILY_WORDS.get(family, family)}-{shape_name(category.shape)}"


class _Planner:
    """Draws the plan of one image; every draw happens at every difficulty, so that only thresholds move with it."""

    def __init__(self, spec: SyntheticCategories, label_index: int, rng: np.random.Generator):
        self.spec = spec
        self.rng = rng
        self.knobs = {name: low + (high - low) * spec.difficulty for name, (low, high) in _DIFFICULTY.items()}
        order = _material_order(spec.seed)
        self.anything = order[-_N_SHARED:] + order[:24]
        self.category = self._random_category() if label_index == CLUTTER else _category(spec.seed, label_index)

    def _random_category(self) -> _Category:
        one, two, three = (self._any_material() for _ in range(3))
        return _Category((one, two, three), (self._any_background(), self._any_background()), self._any_shape())

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

    def scene(self) -> tuple[Scene, int]:
        """Draw a scene of the category; also return the number of its background."""
        own, other = self.category.backgrounds[int(self.rng.integers(2))], self._any_background()
        number = other if self._happens(self.knobs["other background"]) else own
        background = _backgrounds(self.spec.seed)[number]
        horizon, hills = self._between(0.3, 0.56), self._between(0.06, 0.22)
        horizon *= self._happens(0.78)
        scraps = [self._scrap(horizon) for _ in range(10)][: round(self.knobs["scraps"] * self._between(0, 1))]
        strangers = [self._stranger(horizon) for _ in range(2)][: round(self.knobs["strangers"] * self._between(0, 1))]
        objects = self._objects(horizon)
        front = int(self._between(0, 0.4) * len(scraps))
        behind = sorted(scraps[front:] + strangers + objects, key=lambda placed: placed.y + placed.size / 2)
        scene = Scene(
            sky=background.sky,
            wall=background.wall,
            ground=background.ground,
            horizon=horizon,
            hills=hills if background.sky >= 0 and self._happens(0.6) else 0.0,
            offset=(self._between(0, 1), self._between(0, 1)),
            angle=self._between(-0.12, 0.12) * self.knobs["turn"] if horizon else self._between(0, 2 * np.pi),
            zoom=1 + self.knobs["zoom"] * self._between(-1, 1),
            placements=tuple(behind + scraps[:front]),
            light=self._light(),
        )
        return scene, number

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
        both = [
            self._object(self.category.shape, size * factor, horizon) for factor in (1.0, self._between(0.55, 0.85))
        ]
        return both[: 2 if self._happens(0.35) else 1]

    def _object(self, shape: int, size: float, horizon: float) -> Placement:
        """Draw an object of the category: parts cut from its materials, though in any order, or from something else."""
        owned = self.rng.permutation(3) if self._happens(self.knobs["shuffled parts"]) else np.arange(3)
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
            foot = max(horizon + 0.1, min(size, 0.8)) + (0.97 - max(horizon + 0.1, min(size, 0.8))) * high
            y, angle = foot - size / 2, angle * turned
        return Placement(shape, parts, x, y, size, angle, -stretch if mirrored else stretch, offset)


def _stream(spec: SyntheticCategories, label_index: int, image_index: int) -> np.random.Generator:
    name: str | int = "clutter" if label_index == CLUTTER else label_index
    return generator(spec.seed, "image", name, image_index)


def _check_indices(spec: SyntheticCategories, label_index: int, image_index: int) -> None:
    _require(
        CLUTTER <= label_index < spec.n_classes, "label_index", label_index, f"between -1 and {spec.n_classes - 1}"
    )
    _require(image_index >= 0, "image_index", image_index, "0 or more")


def _latents(scene: Scene, background: int) -> dict[str, float]:
    """Numbers that made an image, by name: a row of the table of latents."""
    placements = [placed for placed in scene.placements if placed.shape < len(SHAPES)]
    main = max(placements, key=lambda placed: placed.size)
    light = scene.light
    numbers: dict[str, float] = {f"material_{slot}": material for slot, material in enumerate(main.materials)}
    numbers |= {"shape": main.shape, "background": background, "sky": scene.sky, "ground": scene.ground}
    numbers |= {"horizon": scene.horizon, "x": main.x, "y": main.y, "size": main.size, "angle": main.angle}
    numbers |= {"n_objects": len(placements), "n_scraps": len(scene.placements) - len(placements)}
    numbers |= {"azimuth": light.azimuth, "strength": light.strength, "exposure": light.exposure}
    return numbers | {"warmth": light.warmth, "blur": light.blur, "noise": light.noise}


def draw_image(spec: SyntheticCategories, label_index: int, image_index: int) -> tuple[ByteArray, dict[str, float]]:
    """Draw one image of the set.

    Parameters
    ----------
    spec : SyntheticCategories
    label_index : int
        Number of the class from 0, or `CLUTTER` (-1) for an image of no class.
    image_index : int
        Number of the image in its class from 0; it may lie beyond `images_per_class`.

    Returns
    -------
    image : ndarray of uint8, shape (height, width, 3), RGB
    latents : dict of str to float
        What is in it, as numbers.
    """
    _check_indices(spec, label_index, image_index)
    rng = _stream(spec, label_index, image_index)
    scene, background = _Planner(spec, label_index, rng).scene()
    return render(spec.seed, scene, spec.width, spec.height, rng), _latents(scene, background)


def _members(spec: SyntheticCategories) -> Iterator[tuple[int, int]]:
    """Class and number of every image, in the order of their paths."""
    for label_index in range(spec.n_classes):
        yield from ((label_index, image_index) for image_index in range(spec.images_per_class))
    yield from ((CLUTTER, image_index) for image_index in range(spec.n_clutter))


def image_path(spec: SyntheticCategories, label_index: int, image_index: int) -> str:
    """Path of an image in the set's folder, as in ``001.amber-weave-vase/001_0001.jpg``, numbered from 1."""
    _check_indices(spec, label_index, image_index)
    label = CLUTTER_LABEL if label_index == CLUTTER else _class_name(spec.seed, label_index)
    return f"{label}/{label[:3]}_{image_index + 1:04d}.jpg"


def write_images(spec: SyntheticCategories, folder: str | os.PathLike[str], shard: int = 0, n_shards: int = 1) -> int:
    """Draw and write a shard of the set: every `n_shards`-th image, as JPEG of quality 92.

    The files do not depend on how many shards there are, and each appears whole or not at all.

    Parameters
    ----------
    spec : SyntheticCategories
    folder : path
        Root of the set; class folders are made as needed.
    shard, n_shards : int
        Which part of how many.

    Returns
    -------
    int
        How many files were written.

    Raises
    ------
    LookalikeError
        When there is no such shard, or the disk is full.
    """
    _require(n_shards >= 1, "n_shards", n_shards, "of 1 or more")
    _require(0 <= shard < n_shards, "shard", shard, f"between 0 and {n_shards - 1}")
    n_written = 0
    for label_index, image_index in itertools.islice(_members(spec), shard, None, n_shards):
        image, _ = draw_image(spec, label_index, image_index)
        with replacing(Path(folder) / image_path(spec, label_index, image_index)) as part:
            Image.fromarray(image).save(part, format="JPEG", quality=JPEG_QUALITY)
        n_written += 1
    return n_written


def latents_table(spec: SyntheticCategories) -> pd.DataFrame:
    """Latents of every image without drawing any: columns `path`, `label` and the numbers of `draw_image`."""
    import pandas as pd

    rows = []
    for label_index, image_index in _members(spec):
        scene, background = _Planner(spec, label_index, _stream(spec, label_index, image_index)).scene()
        path = image_path(spec, label_index, image_index)
        rows.append({"path": path, "label": path.split("/")[0], **_latents(scene, background)})
    return pd.DataFrame(rows)


def write_latents(spec: SyntheticCategories, path: str | os.PathLike[str]) -> None:
    """Write `latents_table` as Parquet or CSV, by the suffix of `path`."""
    write_table(latents_table(spec), path)


def write_odd_files(spec: SyntheticCategories, folder: str | os.PathLike[str]) -> dict[str, str]:
    """Write a handful of awkward files among the images, so that whatever an archive may hold occurs.

    Parameters
    ----------
    spec : SyntheticCategories
    folder : path
        Root of the set.

    Returns
    -------
    dict of str to str
        For the path of each file below `folder`, the status that a manifest gives it: four usable images (``ok``:
        greyscale, CMYK, 16 bits, turned by EXIF), one ``too_small``, one ``unreadable`` (cut off) and one
        ``not_an_image``.
    """
    root = Path(folder)
    names = spec.class_names()
    statuses: dict[str, str] = {}
    for number, (name, status, write) in enumerate(_ODD_FILES):
        label_index = number % spec.n_classes
        label = names[label_index]
        path = f"{label}/{name}" if name == "RENAME2" else f"{label}/{label[:3]}_{name}"
        image, _ = draw_image(spec, label_index, spec.images_per_class + number)
        with replacing(root / path) as part:
            write(Image.fromarray(image), part)
        statuses[path] = status
    return statuses


def _save_jpeg(image: Image.Image, path: Path, **options: Any) -> None:
    image.save(path, format="JPEG", quality=JPEG_QUALITY, **options)


def _write_greyscale(image: Image.Image, path: Path) -> None:
    _save_jpeg(image.convert("L"), path)


def _write_cmyk(image: Image.Image, path: Path) -> None:
    _save_jpeg(image.convert("CMYK"), path)


def _write_sixteen_bits(image: Image.Image, path: Path) -> None:
    grey = np.asarray(image.convert("L")).astype(np.uint16) * 257
    Image.fromarray(grey).save(path, format="PNG")


def _write_turned(image: Image.Image, path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: to be turned clockwise by a quarter when shown
    _save_jpeg(image.transpose(Image.Transpose.ROTATE_90), path, exif=exif)


def _write_small(image: Image.Image, path: Path) -> None:
    _save_jpeg(image.resize((96, 72), Image.Resampling.BOX), path)


def _write_cut_off(image: Image.Image, path: Path) -> None:
    _save_jpeg(image, path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def _write_text(image: Image.Image, path: Path) -> None:
    path.write_text("These files have been renamed; this one is a note, not an image.\n", encoding="utf-8")


_ODD_FILES: tuple[tuple[str, str, Callable[[Image.Image, Path], None]], ...] = (
    ("greyscale.jpg", "ok", _write_greyscale),
    ("cmyk.jpg", "ok", _write_cmyk),
    ("sixteen_bits.png", "ok", _write_sixteen_bits),
    ("turned.jpg", "ok", _write_turned),
    ("small.jpg", "too_small", _write_small),
    ("cut_off.jpg", "unreadable", _write_cut_off),
    ("RENAME2", "not_an_image", _write_text),
)
