"""The published visual words of the Oxford buildings, read as if this package had assigned them.

The Visual Geometry Group offers, beside the images, the words of 16.3 million Hessian-affine SIFT descriptors from a
vocabulary of one million: the representation of the paper's largest setting (AAAI 2014, Experiments). There is a text
file for each image: two header lines, then ``word_id x y a b c`` for each descriptor, with x and y its place and a, b,
c the ellipse around it. Neither this nor the header is used: a file that was cut off at the end of a line reads as one
of an image with fewer descriptors.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from lookalike.core.arrays import Doubles
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.progress import Progress, counted
from lookalike.features.shards import join_images, shard_of
from lookalike.features.words import WordShard

N_WORDS = 1_000_000
"""Words of the published vocabulary."""
_PREFIX = "oxc1_"
_HEADER_LINES = 2
_COLUMNS = ("word", "x", "y", "a", "b", "c")
_MISSING = 0.01  # share of images that may have no file: the archives hold one image more than their description says


def read_published_words(
    folder: PathLike,
    manifest: pd.DataFrame,
    shard: int,
    n_shards: int,
    *,
    n_words: int = N_WORDS,
    progress: Progress | None = None,
) -> WordShard:
    """Read the published words, from 0, of one shard of a manifest; images without a file are left out."""
    files = _find_files(folder, shard_of(manifest, 0, 1)["path"])
    first_id = find_first_id(files.values(), n_words)
    rows = shard_of(manifest, shard, n_shards)
    rows = rows[rows["path"].isin(files)]
    images = []
    for path in counted(rows["path"], len(rows), progress):
        lines, table = _read_table(files[path])
        words, last = table[:, 0], first_id + n_words - 1
        for outside in np.flatnonzero((words < first_id) | (words > last)):
            raise LookalikeError(
                f"{files[path]}, line {lines[outside]}: word {words[outside]:.0f} is outside {first_id} to {last}: "
                "unpack the archive of words again, or give the size of its vocabulary"
            )
        images.append(((words - first_id).astype(np.int32), table[:, 1:3].astype(np.float32)))
    return join_images(WordShard, rows["image_id"], (np.empty(0, np.int32), np.empty((0, 2), np.float32)), images)


def find_first_id(files: Iterable[PathLike], n_words: int = N_WORDS) -> int:
    """Return the number of the first word, 0 or 1, which the format does not say: the files decide."""
    for ids in (_read_table(Path(path))[1][:, 0] for path in files):
        if np.isin([0, n_words], ids).any():
            return 0 if 0 in ids else 1
    # 0 is as good as 1: one word is then never used
    return 0


def _find_files(folder: PathLike, paths: Iterable[str]) -> dict[str, Path]:
    """Return the word file of each image."""
    wanted: dict[str, str] = {}
    for path in paths:
        first = wanted.setdefault(PurePosixPath(path).stem, path)
        if first != path:
            raise LookalikeError(
                f"{first} and {path} would share a word file, which is named like its image: leave out one of them"
            )
    files: dict[str, Path] = {}
    for file in sorted(Path(folder).rglob("*.txt")):
        image = wanted.get(file.stem, wanted.get(file.stem.removeprefix(_PREFIX)))
        if image is not None and files.setdefault(image, file) != file:
            raise LookalikeError(f"{files[image]} and {file} are words of the same image: delete one of them")
    missing = [path for path in wanted.values() if path not in files]
    if len(missing) > _MISSING * len(wanted):
        raise LookalikeError(
            f"{len(missing)} of {len(wanted)} images have no word file in {folder}, {missing[0]} for one: "
            "unpack the whole archive of words there"
        )
    if missing:
        warnings.warn(f"no words are published for {', '.join(missing)}: left without a word", stacklevel=3)
    return files


def _read_table(path: Path) -> tuple[list[int], Doubles]:
    """Return the numbers of a file, a row a descriptor, and their lines, or say which line is malformed."""
    lines = path.read_text(encoding="latin-1").splitlines()
    wrong, found = len(lines) + 1, "the file ends within its header"
    if len(lines) >= _HEADER_LINES:
        filled = {number: line for number, line in enumerate(lines[_HEADER_LINES:], _HEADER_LINES + 1) if line.strip()}
        table = _numbers(list(filled.values())) if filled else np.empty((0, len(_COLUMNS)))
        if table is not None:
            return list(filled), table
        wrong, line = next((number, line) for number, line in filled.items() if _numbers([line]) is None)
        found = f'expected "{" ".join(_COLUMNS)}", six numbers, and found "{" ".join(line.split())[:80]}"'
    raise LookalikeError(f"{path}, line {wrong}: {found}: unpack the archive of words again")


def _numbers(lines: list[str]) -> Doubles | None:
    """Return the six numbers of each line, or None where they are not finite or a word is not whole."""
    try:
        table = np.loadtxt(lines, ndmin=2, comments=None)
    except ValueError:
        return None
    fits = table.shape[1] == len(_COLUMNS) and np.isfinite(table).all() and (table[:, 0] % 1 == 0).all()
    return table if fits else None
