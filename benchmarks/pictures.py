"""Images that the benchmarks of descriptions are measured on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from lookalike.core.images import load_rgb


def textured_image(width: int, height: int, seed: int) -> np.ndarray:
    """Return a synthetic photograph: coloured noise at several scales, so that codes and colours vary."""
    rng = np.random.default_rng(seed)
    image = np.zeros((height, width, 3))
    for scale in (1, 2, 4, 8, 16, 32, 64):
        noise = rng.integers(0, 256, (height // scale + 1, width // scale + 1, 3), dtype=np.uint8)
        image += np.asarray(Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)) * scale**0.7
    image -= image.min()
    return (image * (255 / image.max())).astype(np.uint8)


def image_files(folder: Path, n_max: int) -> list[Path]:
    """Return up to `n_max` images spread evenly over a folder, in sorted order."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in {".jpg", ".jpeg", ".png"})
    return files[:: max(1, len(files) // n_max)][:n_max]


def images_of(folder: Path | None, n: int, size: tuple[int, int] | None = None) -> tuple[str, list[np.ndarray]]:
    """Return what is described, in words and as pixels: images of a folder, scaled to a size if any, or made ones."""
    if folder is None:
        width, height = size or (400, 300)
        return "synthetic textured images", [textured_image(width, height, seed) for seed in range(n)]
    images = [load_rgb(path) for path in image_files(folder, n)]
    if size is None:
        return f"images of {folder.name}", images
    scaled = [np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX)) for image in images]
    return f"images of {folder.name}, scaled to {size[0]}x{size[1]}", scaled
