"""A labelled image set made up on the spot: little scenes whose classes share materials, for demos and tests.

It stands where a downloaded archive would: the same folders and the same odd files. A class owns three materials, some
of which other classes own too, two backgrounds and a shape; whatever else is in an image is chance. Every image has a
random stream of its own, so any process may draw any part of the set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from lookalike.core.files import replacing
from lookalike.core.seeds import generator
from lookalike.data.category_plans import CLUTTER, MAX_CLASSES, Planner, class_name
from lookalike.data.category_scenes import render
from lookalike.data.drawing import fingerprint, require, scratch_folder, write_shard
from lookalike.data.materials import ByteArray

JPEG_QUALITY = 92
CLUTTER_LABEL = "257.clutter"
RECIPE = 1
"""Version of how images are drawn: to be raised whenever the same settings come to give other images."""
_require = partial(require, "images")


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
        Seed of this data set, 0 or more; the workflow derives it from its root seed.
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
        _require(self.n_classes <= MAX_CLASSES, "n_classes", self.n_classes, f"of {MAX_CLASSES} or less")
        _require(self.images_per_class <= 9000, "images_per_class", self.images_per_class, "of 9000 or less")
        _require(self.n_clutter <= 9000, "n_clutter", self.n_clutter, "of 9000 or less")
        ratio = self.width / self.height
        _require(0.5 <= ratio <= 2.0, "width / height", ratio, "between 0.5 and 2")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], seed: int) -> SyntheticCategories:
        """Make it from a data set's entry ``synthetic`` in config.yaml, and the seed of the data set."""
        names = {"classes": "n_classes", "clutter_images": "n_clutter"}
        return cls(**{names.get(key, key): value for key, value in settings.items()}, seed=seed)

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that any other number of this object, or `RECIPE`, would change."""
        return fingerprint(self, RECIPE)

    def class_names(self) -> list[str]:
        """Folder names of the classes, as in ``001.amber-weave-vase``; clutter is not among them."""
        return [class_name(self.seed, label_index) for label_index in range(self.n_classes)]

    def folder_names(self) -> list[str]:
        """Names of all folders: the classes and, if there is any, clutter last."""
        return self.class_names() + ([CLUTTER_LABEL] if self.n_clutter else [])


def _planner(spec: SyntheticCategories, label_index: int, image_index: int) -> Planner:
    """Planner of one image, with the image's own random stream."""
    name: str | int = "clutter" if label_index == CLUTTER else label_index
    return Planner(spec.seed, spec.difficulty, label_index, generator(spec.seed, "image", name, image_index))


def draw_image(spec: SyntheticCategories, label_index: int, image_index: int) -> tuple[ByteArray, dict[str, float]]:
    """Draw one image of the set, of a class or (`CLUTTER`) of none; both numbers count from 0.

    Returns the image, uint8 of shape (height, width, 3), and what is in it, as numbers: ``material_0`` to
    ``material_2`` (of the parts of the main object), ``shape``, ``background``, ``sky`` (-1 for a wall), ``wall``,
    ``ground``, ``horizon`` (share of the height; 0 for none), pose (``x``, ``y``, ``size``, ``angle`` in radians,
    ``stretch``, negative when mirrored), ``n_objects``, ``n_scraps``, and of the light ``azimuth``, ``strength``,
    ``exposure``, ``warmth``, ``blur`` and ``noise``.
    """
    planner = _planner(spec, label_index, image_index)
    plan = planner.plan()
    return render(spec.seed, plan.scene, spec.width, spec.height, planner.rng), plan.latents()


def _members(spec: SyntheticCategories) -> Iterator[tuple[int, int]]:
    """Class and number of every image, in the order of their paths."""
    for label_index in range(spec.n_classes):
        yield from ((label_index, image_index) for image_index in range(spec.images_per_class))
    yield from ((CLUTTER, image_index) for image_index in range(spec.n_clutter))


def image_path(spec: SyntheticCategories, label_index: int, image_index: int) -> str:
    """Path of an image in the set's folder, as in ``001.amber-weave-vase/001_0001.jpg``, numbered from 1."""
    label = CLUTTER_LABEL if label_index == CLUTTER else class_name(spec.seed, label_index)
    return f"{label}/{label[:3]}_{image_index + 1:04d}.jpg"


def write_images(spec: SyntheticCategories, folder: str | os.PathLike[str], shard: int = 0, n_shards: int = 1) -> int:
    """Draw and write a shard of the set; return how many files these are."""

    def draw(label_index: int, image_index: int) -> ByteArray:
        return draw_image(spec, label_index, image_index)[0]

    return write_shard(_members(spec), partial(image_path, spec), draw, folder, shard, n_shards, JPEG_QUALITY)


def latents_table(spec: SyntheticCategories) -> pd.DataFrame:
    """Latents of every image without drawing any: columns `path`, `label` and the numbers of `draw_image`."""
    rows = []
    for label_index, image_index in _members(spec):
        latents = _planner(spec, label_index, image_index).plan().latents()
        path = image_path(spec, label_index, image_index)
        rows.append({"path": path, "label": path.split("/")[0], **latents})
    return pd.DataFrame(rows)


def write_odd_files(spec: SyntheticCategories, folder: str | os.PathLike[str]) -> dict[str, str]:
    """Write a handful of awkward files among the images, so that whatever an archive may hold occurs.

    Returns for the path of each file the status that a manifest gives it: four usable images (``ok``: greyscale, CMYK,
    16 bits, turned by EXIF), one ``too_small``, one ``unreadable`` (cut off) and one ``not_an_image``.
    """
    root = Path(folder)
    names = spec.class_names()
    statuses: dict[str, str] = {}
    with scratch_folder(folder, "odd") as scratch:
        for number, (name, status, write) in enumerate(_ODD_FILES):
            label_index = number % spec.n_classes
            label = names[label_index]
            path = f"{label}/{name}" if name == "RENAME2" else f"{label}/{label[:3]}_{name}"
            image, _ = draw_image(spec, label_index, spec.images_per_class + number)
            with replacing(root / path, scratch) as part:
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
