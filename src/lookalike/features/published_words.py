"""The published visual words of the Oxford buildings, read as if this package had assigned them.

The Visual Geometry Group offers, beside the images, the words of 16.3 million Hessian-affine SIFT descriptors from a
vocabulary of one million: the representation of the paper's largest setting (AAAI 2014, Experiments). There is a text
file for each image: two header lines, then ``word_id x y a b c`` for each descriptor, with x and y its place in the
image and a, b, c the ellipse a (u - x)^2 + 2 b (u - x)(v - y) + c (v - y)^2 = 1 around it, which is not used here. Nor
is the header: a file that was cut off at the end of a line reads as one of an image with fewer descriptors.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from lookalike.core.errors import LookalikeError
from lookalike.core.progress import Progress
from lookalike.features.shards import PathLike, shard_of
from lookalike.features.words import WordShard

N_WORDS = 1_000_000
"""Words of the published vocabulary."""

_PREFIX = "oxc1_"
_HEADER_LINES = 2
_COLUMNS = ("word", "x", "y", "a", "b", "c")
_MISSING = 0.01  # share of images that may have no file: the archives hold one image more than their description says

_INT64 = np.iinfo(np.int64)

_Table = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


def read_published_words(
    folder: PathLike,
    manifest: pd.DataFrame,
    shard: int,
    n_shards: int,
    *,
    n_words: int = N_WORDS,
    first_id: int | None = None,
    progress: Progress | None = None,
) -> WordShard:
    """Read the published words, from 0, of one shard of a manifest (columns `image_id`, `path`, `status`).

    The files, which may lie in folders within `folder`, are named like the images, with or without the prefix
    ``oxc1_``. An image without a file is left out, with a warning; more than 1 of 100 such images, two images of one
    name, two files of one image and a malformed line are refused. The format does not say whether the first word is 0
    or 1, so by default the files decide (`find_first_id`).
    """
    files = _find_files(folder, shard_of(manifest, 0, 1)["path"])
    if first_id is None:
        first_id = find_first_id(files.values(), n_words)
    rows = shard_of(manifest, shard, n_shards)
    rows = rows[rows["path"].isin(files)]
    tables = []
    for done, path in enumerate(rows["path"], start=1):
        ids, places = _read_table(files[path])
        outside = np.flatnonzero((ids < first_id) | (ids >= first_id + n_words))
        if len(outside):
            line, fields = _filled_lines(files[path])[outside[0]]
            raise LookalikeError(
                f"{files[path]}, line {line}: word {fields[0]} is outside {first_id} to {first_id + n_words - 1}: "
                "unpack the archive of words anew, or give the size of its vocabulary"
            )
        tables.append(((ids - first_id).astype(np.int32), places.astype(np.float32)))
        if progress is not None:
            progress(done, len(rows))
    offsets = np.cumsum([0, *(len(words) for words, _ in tables)], dtype=np.int64)
    words = np.concatenate([np.empty(0, np.int32), *(words for words, _ in tables)])
    positions = np.concatenate([np.empty((0, 2), np.float32), *(places for _, places in tables)])
    return WordShard(rows["image_id"].to_numpy(np.int32), offsets, words, positions)


def find_first_id(files: Iterable[PathLike], n_words: int = N_WORDS) -> int:
    """Return whether words are numbered from 0 or from 1.

    Files are read until one holds word 0, or word `n_words`. With 16 descriptors a word that is after about a sixteenth
    of the files. Where neither occurs, 0 is as good as 1: one word is then never used.
    """
    for path in files:
        ids, _ = _read_table(Path(path))
        if (ids == 0).any():
            return 0
        if (ids == n_words).any():
            return 1
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
        if image is None:
            continue
        if image in files:
            raise LookalikeError(f"{files[image]} and {file} are words of the same image: delete one of them")
        files[image] = file
    missing = [path for path in wanted.values() if path not in files]
    if len(missing) > _MISSING * len(wanted):
        raise LookalikeError(
            f"{len(missing)} of {len(wanted)} images have no word file in {folder}, {missing[0]} for one: "
            "unpack the whole archive of words there"
        )
    if missing:
        warnings.warn(f"no words are published for {', '.join(missing)}: left without a word", stacklevel=3)
    return files


def _read_table(path: Path) -> _Table:
    """Return words and places of a file: by Arrow where all is as it should be, otherwise line by line."""
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(use_threads=False, skip_rows=_HEADER_LINES, column_names=_COLUMNS),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(_COLUMNS, pa.float64()) | {"word": pa.int64()}, null_values=[]
            ),
        )
    except pa.ArrowInvalid:
        return _read_lines(path)
    columns = [table[name].to_numpy() for name in _COLUMNS]
    if not np.isfinite(np.column_stack(columns[1:])).all():
        return _read_lines(path)
    return columns[0], np.column_stack(columns[1:3])


def _read_lines(path: Path) -> _Table:
    """Return words and places of a file with any white space between its numbers, or say which line is malformed."""
    words, places = [], []
    for number, fields in _filled_lines(path):
        try:
            word, values = int(fields[0]), [float(field) for field in fields[1:]]
        except ValueError:
            values = []
        if len(values) != len(_COLUMNS) - 1 or not np.isfinite(values).all():
            raise LookalikeError(
                f'{path}, line {number}: expected "{" ".join(_COLUMNS)}", six numbers, and found '
                f'"{" ".join(fields)[:80]}": unpack the archive of words anew'
            )
        if not _INT64.min <= word <= _INT64.max:
            raise LookalikeError(
                f"{path}, line {number}: word {word} is outside any vocabulary: unpack the archive of words anew"
            )
        words.append(word)
        places.append(values[:2])
    return np.array(words, np.int64), np.array(places, np.float64).reshape(-1, 2)


def _filled_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return number and fields of every line of a file after its header that is not empty."""
    lines = path.read_text(encoding="latin-1").splitlines()
    if len(lines) < _HEADER_LINES:
        raise LookalikeError(
            f"{path}, line {len(lines) + 1}: the file ends within its header: unpack the archive of words anew"
        )
    numbered = enumerate(lines[_HEADER_LINES:], start=_HEADER_LINES + 1)
    return [(number, fields) for number, line in numbered if (fields := line.split())]
