"""Small folders of rated triplets for tests, sound ones and crooked ones."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

HEADER = ("Image1", "Image1_Path", "Image2", "Image2_Path", "Similarity", "Text Query")

Row = tuple[str, ...]


def draw(path: Path, number: int, kind: str = "PNG", side: int = 40) -> Path:
    """Write a picture that differs for each number, whatever its name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(number).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, format=kind)
    return path


def write_csv(
    path: Path,
    rows: Iterable[Sequence[str]],
    header: Sequence[str] = HEADER,
    encoding: str = "utf-8",
    separator: str = ",",
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as stream:
        csv.writer(stream, delimiter=separator).writerows([header, *rows])
    return path


def two_rows(name: str, text_query: str, folder: str = "") -> list[Row]:
    """The two rows of a triplet that has a folder of its own, as the public release writes them."""
    start = f"{folder}{name}"
    return [
        (name, f"{start}/Q.jpg", name, f"{start}/P.jpg", "1", text_query),
        (name, f"{start}/Q.jpg", name, f"{start}/N.jpg", "-1", text_query),
    ]


def draw_triplet(root: Path, name: str, numbers: tuple[int, int, int], kind: str = "PNG") -> None:
    """The three pictures of a triplet; PNG files whose names say JPEG, as in the public release."""
    for letter, number in zip("QPN", numbers, strict=True):
        draw(root / name / f"{letter}.jpg", number, kind)


def sound_release(root: Path, n: int = 4, text_query: str = "red car") -> list[Row]:
    """Draw n triplets of pictures of their own, write their CSV file and return its rows."""
    rows: list[Row] = []
    for i in range(n):
        draw_triplet(root, f"t{i}", (10 * i, 10 * i + 1, 10 * i + 2))
        rows += two_rows(f"t{i}", text_query)
    write_csv(root / "ratings.csv", rows)
    return rows
