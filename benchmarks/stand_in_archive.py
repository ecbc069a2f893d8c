"""Make a stand-in for the archive of Caltech-256: its folders and files by name, with images that the painter makes.

    python benchmarks/stand_in_archive.py ../stand-in --pack

`../stand-in/256_ObjectCategories` then has the archive's 257 folders and 30,607 images, and what is odd in it: a file
that is no image, empty folders, greyscale images, some above 4 MB, and one 7,900 pixels wide. Areas are drawn from
those of 2,109 real images. Every image has a random stream of its own: a seed gives the same files, whatever was made
before. Files that are there stay, so a run that was stopped goes on.

`--pack` also packs the folder, checks and unpacks that archive as the workflow does, and leaves a record of what this
took, like one of the workflow's jobs. `--share 0.1` makes a part of each class, which the workflow reads as a data set
of kind `folder`.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import cv2
import numpy as np
import pandas as pd
from PIL import Image

from lookalike.core.arrays import Bytes
from lookalike.core.files import replacing
from lookalike.core.job_log import write_record
from lookalike.core.progress import counted, progress_lines
from lookalike.core.seeds import generator
from lookalike.data.archives import Archive, fetch_archive, unpack_archive
from lookalike.data.painted_categories import CLUTTER_LABEL, PaintedCategories
from lookalike.data.scene import NONE

COUNTS = Path(__file__).parents[1] / "workflow" / "resources" / "caltech256-class-counts.csv"
TOP_FOLDER = "256_ObjectCategories"
SHARES = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1)
AREAS = (17e3, 20.8e3, 30e3, 35.9e3, 48.5e3, 71.9e3, 144e3, 287e3, 786e3, 1.6e6)
"""Pixels that such a share of the real images has at most."""
SHAPES = (4 / 3, 4 / 3, 3 / 2, 1.0, 3 / 4)
"""Width over height, one as likely as another."""
PAINTED_PIXELS = 150e3
"""A larger image is painted with so many pixels, and stretched."""
SIZES = {
    ("035.cereal-box", 7): (4000, 3000),
    ("120.joy-stick", 11): (3900, 3000),
    ("200.stained-glass", 3): (4100, 3100),
    ("157.pci-card", 5): (7900, 1100),
}
"""Folder and number of the images whose size is not drawn."""
GREY_FOLDER, GREY_SHARE = "252.car-side-101", 0.03
EMPTY_FOLDERS = ("056.dog/greg/vision301", "056.dog/greg/vision309")
NO_IMAGE = "198.spider/RENAME2"
DIFFICULTY = 0.5
TINT = 0.3
"""Spread of the logarithm of light and tint, which change across an image."""
QUALITY = 91
"""Of the JPEG files; with it, all together are about as large as the archive."""


class Member(NamedTuple):
    """One image: its class folder and its number in it, from 1."""

    folder: str
    number: int

    @property
    def path(self) -> str:
        """Path as in the archive."""
        return f"{self.folder}/{self.folder[:3]}_{self.number:04d}.jpg"


def members(share: float, least: int) -> Iterator[Member]:
    """Every image of the archive, or so large a share of each folder but at least some images of it."""
    for folder, count in pd.read_csv(COUNTS).itertuples(index=False):
        for number in range(1, min(count, max(least, round(share * count))) + 1):
            yield Member(folder, number)


def size_of(member: Member, chance: np.random.Generator) -> tuple[int, int]:
    """Width and height in pixels."""
    area = np.exp(np.interp(chance.random(), SHARES, np.log(AREAS)))
    shape = chance.choice(SHAPES)
    return SIZES.get(tuple(member), (round((area * shape) ** 0.5), round((area / shape) ** 0.5)))


def paint(member: Member, seed: int) -> Bytes:
    """Paint an image of a class; the painter has 128 classes of a seed, so two seeds are used."""
    chance = generator(seed, "stand-in", *member)
    width, height = size_of(member, chance)
    half, label = divmod(int(member.folder[:3]) - 1, 128)
    if member.folder == CLUTTER_LABEL:
        half, label = member.number % 2, NONE
    shrink = max(1.0, (width * height / PAINTED_PIXELS) ** 0.5)
    low = round(height / shrink)
    # a recipe allows no shape as wide as that of the widest image
    narrow = min(round(width / shrink), 2 * low)
    size = {"width": narrow, "height": low}  # which may be less than a data set's
    spec = PaintedCategories(classes=128, difficulty=DIFFICULTY, seed=2 * seed + half).model_copy(update=size)
    picture = spec.paint(label, member.number)
    if (narrow, low) != (width, height):
        picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_CUBIC)
    # without it rows have 42 distinct visterms of 1,000, and those of real images 52
    tint = np.exp(TINT * chance.standard_normal((4, 4, 3), np.float32))
    tint = cv2.resize(tint, (width, height), interpolation=cv2.INTER_CUBIC)
    picture = np.clip(picture * tint, 0, 255).astype(np.uint8)
    if member.folder == GREY_FOLDER or chance.random() < GREY_SHARE:
        picture = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    if tuple(member) in SIZES:
        noise = chance.integers(-30, 31, size=picture.shape, dtype=np.int16)
        picture = np.clip(picture + noise, 0, 255).astype(np.uint8)
    return picture


def write_image(member: Member, root: Path, seed: int) -> None:
    """Write an image whole or not at all, unless it is there."""
    path = root / member.path
    if not path.exists():
        cv2.setNumThreads(1)
        with replacing(path) as part:
            Image.fromarray(paint(member, seed)).save(part, format="JPEG", quality=QUALITY)


def write_all(root: Path, wanted: list[Member], seed: int, n_processes: int) -> None:
    """Write all images, and what else is in the archive."""
    for name in {member.folder for member in wanted}.union(EMPTY_FOLDERS):
        Path(root, name).mkdir(parents=True, exist_ok=True)
    Path(root, NO_IMAGE).write_text("#!/bin/sh\n# no image: the archive has a script of this name\n", encoding="utf-8")
    write = partial(write_image, root=root, seed=seed)
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
        for _ in counted(pool.map(write, wanted, chunksize=32), len(wanted), progress_lines("images")):
            pass


def pack(root: Path) -> None:
    """Pack a folder, then check and unpack the archive as the workflow does, and record what the latter took."""
    file, unpacked = root.with_name(f"{TOP_FOLDER}.tar"), root.with_name("unpacked")
    with tarfile.open(file, "w") as packed:
        packed.add(root, TOP_FOLDER)
    with file.open("rb") as stream:
        md5 = hashlib.file_digest(stream, "md5").hexdigest()
    archive, started = Archive("stand-in", "", file.name, file.stat().st_size, md5, TOP_FOLDER, ""), time.time()
    unpack_archive(archive, fetch_archive(archive, root.parent), unpacked)
    job = SimpleNamespace(rule="unpack_archive", log=[], input=[], output=[str(file), str(root)], threads=1)
    write_record(job, root.with_name("unpack_archive.log"), started)
    shutil.rmtree(unpacked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the archive's folder is made, outside the project")
    parser.add_argument("--share", type=float, default=1.0, help="share of the images of each class")
    parser.add_argument("--least", type=int, default=75, help="images of a class at least, with a share")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--pack", action="store_true", help="also time how the packed archive is checked and unpacked")
    arguments = parser.parse_args()
    if not 0 < arguments.share <= 1 or arguments.least < 1 or arguments.processes < 1 or arguments.seed < 0:
        parser.error("--share is above 0 and at most 1, --least and --processes at least 1, --seed not negative")
    root, start = arguments.folder / TOP_FOLDER, time.perf_counter()
    wanted = list(members(arguments.share, arguments.least))
    write_all(root, wanted, arguments.seed, arguments.processes)
    bytes_of = [Path(root, member.path).stat().st_size for member in wanted]
    seconds, n_large = time.perf_counter() - start, sum(size > 4e6 for size in bytes_of)
    print(f"{len(wanted):,} images, {sum(bytes_of) / 1e9:.2f} GB, {n_large} above 4 MB, {seconds:.0f} s")
    if arguments.pack:
        # in a process of its own, whose processor time is not that of painting
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            pool.submit(pack, root).result()


if __name__ == "__main__":
    main()
