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
        table = _read_table(files[path])
        words = table[:, 0] - first_id
        if ((words < 0) | (words >= n_words)).any():
            raise LookalikeError(
                f"{files[path]} has words outside 0 to {n_words - 1}: unpack the archive of words again"
            )
        images.append((words.astype(np.int32), table[:, 1:3].astype(np.float32)))
    return join_images(WordShard, rows["image_id"], (np.empty(0, np.int32), np.empty((0, 2), np.float32)), images)


def find_first_id(files: Iterable[PathLike], n_words: int = N_WORDS) -> int:
    """Return the number of the first word, 0 or 1, which the format does not say: the files decide."""
    for ids in (_read_table(Path(path))[:, 0] for path in files):
        if np.isin([0, n_words], ids).any():
            return 0 if 0 in ids else 1
    # 0 is as good as 1: one word is then never used
    return 0


def _find_files(folder: PathLike, paths: Iterable[str]) -> dict[str, Path]:
    """Return the word file of each image."""
    found: dict[str, Path] = {}
    for file in sorted(Path(folder).rglob("*.txt")):
        if (other := found.setdefault(file.stem.removeprefix(_PREFIX), file)) != file:
            raise LookalikeError(f"{other} and {file} are words of the same image: delete one of them")
    stems = {path: PurePosixPath(path).stem.removeprefix(_PREFIX) for path in paths}
    image_of: dict[str, str] = {}
    for path, stem in stems.items():
        if (other_image := image_of.setdefault(stem, path)) != path:
            raise LookalikeError(
                f"{other_image} and {path} would share a word file, which is named like its image: leave out one"
            )
    files = {path: found[stem] for path, stem in stems.items() if stem in found}
    missing = [path for path in stems if path not in files]
    if len(missing) > _MISSING * len(stems):
        raise LookalikeError(
            f"{len(missing)} of {len(stems)} images have no word file in {folder}, {missing[0]} for one: "
            "unpack the whole archive of words there"
        )
    if missing:
        warnings.warn(f"no words are published for {', '.join(missing)}: left without a word", stacklevel=3)
    return files


def _read_table(path: Path) -> Doubles:
    """Return the six numbers of each descriptor of a file."""
    text = path.read_text(encoding="latin-1").splitlines()
    lines = [line for line in text[_HEADER_LINES:] if line.strip()]
    try:
        table = np.loadtxt(lines, ndmin=2, comments=None) if lines else np.empty((0, 6))
        if len(text) < _HEADER_LINES:
            raise ValueError("it ends within its header")
        if table.shape[1] != 6 or not np.isfinite(table).all() or (table[:, 0] % 1).any():
            raise ValueError("a line is not a whole number and five numbers")
    except ValueError as error:
        raise LookalikeError(f"{path} is damaged ({error}): unpack the archive of words again") from error
    return np.asarray(table)
