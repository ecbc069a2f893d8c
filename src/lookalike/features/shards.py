"""Shards: a manifest's images in parts, the ``.npz`` files with what was found in them, and words counted by image.

A file has the ids of its images and ``offsets``: rows ``offsets[i]`` to ``offsets[i + 1]`` of the others are image i's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import Array, Bytes, Integers, Ints, Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, write_npz
from lookalike.core.images import load_with_sha256
from lookalike.core.progress import Progress, counted

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse as sp

Shard = TypeVar("Shard")


def shard_of(manifest: pd.DataFrame, shard: int, n_shards: int) -> pd.DataFrame:
    """Return the usable images of a shard, from 0: every n_shards-th, so that shards take equally long."""
    return manifest[manifest["status"].isin(["ok", "clutter"])].iloc[shard::n_shards]


def read_images(rows: pd.DataFrame, root: PathLike, progress: Progress | None = None) -> Iterator[Bytes]:
    """Yield images of rows of a manifest, whose paths are relative to `root`; each must have its old content."""
    for path, sha256 in counted(zip(rows["path"], rows["sha256"], strict=True), len(rows), progress):
        image, found = load_with_sha256(Path(root) / path)
        if found != sha256:
            why = f"{Path(root) / path} was changed since the folder was scanned"
            raise LookalikeError(f"{why}: delete the data set's manifest.parquet and run the same command again")
        yield image


def join_images(
    kind: Callable[..., Shard], image_ids: npt.ArrayLike, none: tuple[Array, ...], images: Iterable[Sequence[Array]]
) -> Shard:
    """Join what was found in each of several images into a named tuple of this kind; `none` is that of no image."""
    columns = list(zip(none, *images, strict=True))
    offsets = np.cumsum([len(part) for part in columns[0]], dtype=np.int64)
    return kind(np.asarray(image_ids, np.int32), offsets, *map(np.concatenate, columns))


def save_shard(shard: NamedTuple, path: PathLike) -> None:
    """Write a named tuple of arrays, the same bytes each time; compressing takes longer than it saves."""
    write_npz(shard._asdict(), path, compressed=False)


def load_shard(kind: Callable[..., Shard], path: PathLike) -> Shard:
    """Read what `save_shard` wrote of a named tuple of this kind."""
    with np.load(path, allow_pickle=False) as file:
        return kind(*(file[name] for name in file.files))


def load_index(path: PathLike) -> tuple[Ints, Longs]:
    """Read the ids of a file's images, and the offsets, and nothing else of it."""
    with np.load(path, allow_pickle=False) as file:
        return file[file.files[0]], file["offsets"]


def index_images(files: Sequence[PathLike], image_ids: Integers | None = None) -> npt.NDArray[np.void]:
    """Return a record per image (of `image_ids`), by id: its file, its first row there, its number of rows."""
    columns = [("id", "i8"), ("file", "i8"), ("start", "i8"), ("n", "i8")]
    records = [np.empty(0, columns)]
    for number, path in enumerate(files):
        ids, offsets = load_index(path)
        table = np.empty(len(ids), columns)
        table["id"], table["file"], table["start"], table["n"] = ids, number, offsets[:-1], np.diff(offsets)
        records.append(table if image_ids is None else table[np.isin(ids, image_ids)])
    joined = np.concatenate(records)
    return joined[np.argsort(joined["id"], kind="stable")]


def locate(images: npt.NDArray[np.void], chosen: Integers) -> tuple[Integers, Integers]:
    """Return the file of rows that are counted in the order of `index_images`, and the row there."""
    ends = np.cumsum(images["n"])
    image = np.searchsorted(ends, chosen, side="right")
    return images["file"][image], images["start"][image] + chosen - (ends - images["n"])[image]


def count_by_image(shards: Iterable[tuple[Ints, Longs, Ints]], n_rows: int, n_words: int) -> sp.csr_array:
    """Count each word in each image (row = image_id, int32), from the ids, offsets and words of shards."""
    rows, columns, seen = [np.empty(0, np.int32)], [np.empty(0, np.int32)], np.zeros(n_rows, bool)
    for ids, offsets, words in shards:
        if len(ids) and not 0 <= ids.min() <= ids.max() < n_rows:
            raise LookalikeError("a file of words holds images that are not in the manifest: delete these files")
        if seen[ids].any() or len(np.unique(ids)) != len(ids):
            raise LookalikeError("an image is in two files of words, or twice in one: delete these files")
        seen[ids] = True
        rows.append(np.repeat(ids, np.diff(offsets)))
        columns.append(words)
    return count_words_of_rows(np.concatenate(rows), np.concatenate(columns), (n_rows, n_words))


def count_words_of_rows(rows: Integers, words: Integers, shape: tuple[int, int]) -> sp.csr_array:
    """Count how often each word stands beside each row."""
    if len(words) and (words.min() < 0 or words.max() >= shape[1]):
        raise LookalikeError(
            f"there is a word {words.max() if words.min() >= 0 else words.min()}, but the codebook has words 0 to "
            f"{shape[1] - 1}: delete the files of words and run the command again"
        )
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(words), np.int32), (rows.astype(np.int32), words)), shape=shape)
