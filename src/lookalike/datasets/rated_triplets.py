"""A folder of rated triplets, in the layout of the public release, to the tables of the fine-grained study.

Each triplet says that of two images one is more like a query image than the other (Deep Ranking, section 6.2). A
release has been through many hands: whatever in it cannot be used is counted in a table and never stops the rest.
Beside the triplets, a folder may hold a pool of images for each text query and training images with graded relevance.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_table
from lookalike.datasets._release_pairs import Triplet, keep_triplets, pair_rows
from lookalike.datasets._release_paths import PathFinder, path_parts
from lookalike.datasets._release_rows import (
    RatingRow,
    Rejections,
    clean_query,
    column_key,
    read_columns,
    read_rating_rows,
)
from lookalike.datasets._release_training import has_grades as has_grades
from lookalike.datasets._release_training import has_training_images as has_training_images
from lookalike.datasets._release_training import training_files, training_relevance
from lookalike.datasets.relevance import RelevanceData

if TYPE_CHECKING:
    import pandas as pd

_TRIPLET_TYPES = {
    "triplet": "int32",
    "query": "int32",
    "positive": "int32",
    "negative": "int32",
    "text_query": "str",
    "kind": "str",
}
_MISSING = "there is no such file"
_COPY = "a copy of an evaluation image among the training images: not trained on"


@dataclass(frozen=True)
class RatedTriplets:
    """Rated triplets with everything that they are judged by and learned from.

    Attributes
    ----------
    root : Path
        Folder that the paths of the manifest start from.
    manifest : DataFrame
        One row per file considered: the columns of `lookalike.datasets.scan.scan_folder`, and ``part``, "training" or
        "evaluation". ``label`` is the category or the text query, "" where there are several.
    triplets : DataFrame
        ``triplet`` int32 (0..), ``query``, ``positive``, ``negative`` int32 image ids, ``text_query``, ``kind``
        ("rated", "in-class" or "out-of-class"); sorted.
    rejected : DataFrame
        ``reason``, ``rows`` int32 (rows of CSV files, or files), ``example``.
    pool : DataFrame
        ``text_query``, ``image_id`` int32, ``source`` ("pool", or "triplets" where only the triplets' own images are
        there); sorted.
    relevance : RelevanceData
        Of the training images; none of them has the content of an evaluation image.

    Notes
    -----
    Of files with one content, `triplets`, `pool` and `relevance` name the one of least ``image_id``: equal pictures
    have equal ids there.
    """

    root: Path
    manifest: pd.DataFrame
    triplets: pd.DataFrame
    rejected: pd.DataFrame
    pool: pd.DataFrame
    relevance: RelevanceData

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write ``manifest.parquet``, ``triplets.parquet``, ``rejected.csv``, ``pool.parquet`` and ``relevance.npz``.

        Raises
        ------
        LookalikeError
            When the folder cannot be written.
        """
        place = Path(folder)
        write_table(self.manifest, place / "manifest.parquet")
        write_table(self.triplets, place / "triplets.parquet")
        write_table(self.rejected, place / "rejected.csv")
        write_table(self.pool, place / "pool.parquet")
        self.relevance.save(place / "relevance.npz")


def read_release(
    folder: str | os.PathLike[str], n_threads: int = 1, progress: Callable[[int, int], None] | None = None
) -> RatedTriplets:
    """Read a folder of rated triplets.

    Parameters
    ----------
    folder : path-like
        Holds, at any depth, CSV files with the columns Image1, Image1_Path, Image2, Image2_Path, Similarity (1 or -1)
        and Text Query, two rows a triplet, in which Image1 is the query; optionally ``pool/<text query>/`` or a
        ``pool.csv`` (text_query, path), and ``training/<category>/`` with a ``training/relevance.csv`` (image1, image2,
        relevance, paths relative to ``training/``). Columns ``Triplet`` (what the two rows share) and ``Kind``
        ("in-class", "out-of-class") are read where they are there.
    n_threads : int, default=1
        Images that are decoded at the same time. The result does not depend on it.
    progress : callable, optional
        Called with the number of files decoded and their total.

    Returns
    -------
    RatedTriplets
        The same for any order of rows that keeps the two rows of a triplet beside each other, and for any order at all
        where each triplet has a name or query file of its own, as in the public release.

    Raises
    ------
    LookalikeError
        When there is no folder, no CSV file with these columns, or no usable triplet; the message then says why.
    """
    from lookalike.datasets.scan import scan_photographs

    root = Path(folder)
    rejections = Rejections()
    rows = read_rating_rows(root, rejections)
    if not rows:
        raise _no_triplet(root, rejections)
    scanned = scan_photographs(root, n_threads=n_threads, progress=progress)
    release = _Release(root, scanned["path"].tolist())
    release.take_ratings(rows)
    release.take_pool(scanned, {row.text_query for row in rows}, rejections)
    release.take_training(rejections)
    manifest, content = _manifest(scanned, release, rejections)
    triplets = _triplets(rows, release, manifest, content, rejections)
    if not triplets:
        raise _no_triplet(root, rejections)
    table = triplet_table(triplets)
    pool = _pool_table(table, release, manifest, content)
    relevance = training_relevance(root, manifest, content, rejections)
    manifest["label"] = _labels(manifest, table, pool, content)
    return RatedTriplets(root, manifest, table, rejections.table(), pool, relevance)


@dataclass
class _Release:
    """Which files a release names, and what for."""

    root: Path
    files: list[str]
    found: dict[tuple[str, str], str] = field(default_factory=dict)
    """File of (file of the CSV, line and place in it), see `_key`."""
    missing: set[str] = field(default_factory=set)
    pools: dict[str, list[str]] = field(default_factory=dict)
    category: dict[str, str] = field(default_factory=dict)

    def take_ratings(self, rows: Iterable[RatingRow]) -> None:
        """Find the files of all rows, those of rows that are no triplet too."""
        finder = PathFinder(self.files)
        for row in rows:
            folder = row.file.rpartition("/")[0]
            of_other = "p" if row.sign > 0 else "n"
            for place, text, name, letter in ((1, row.path1, row.name1, "q"), (2, row.path2, row.name2, of_other)):
                file = finder.find(text or name, folder=folder, names=(row.name1, name), letter=letter)
                if file is None:
                    file = "/".join(path_parts(text or name))
                    self.missing.add(file)
                self.found[_key(row, place)] = file

    def take_pool(self, scanned: pd.DataFrame, text_queries: Iterable[str], rejections: Rejections) -> None:
        """Find the files of the pools."""
        by_key: dict[str, list[str]] = {}
        for text_query in sorted(text_queries):
            by_key.setdefault(column_key(text_query), []).append(text_query)
        finder = PathFinder(self.files)
        for name, file in self._pool_rows(finder, rejections):
            fitting = by_key.get(column_key(name), [])
            if not fitting:
                rejections.add("pool image of a text query without triplets", f"{name}: {file}")
            for text_query in [name] if name in fitting else fitting:
                self.pools.setdefault(text_query, []).append(file)

    def _pool_rows(self, finder: PathFinder, rejections: Rejections) -> list[tuple[str, str]]:
        """Text query and file of each image of a pool."""
        rows = []
        for file in self.files:
            parts = file.split("/")
            if parts[0].casefold() == "pool" and len(parts) > 2:
                rows.append((parts[1], file))
        listed = [entry for entry in sorted(self.root.iterdir()) if entry.name.casefold() == "pool.csv"]
        for entry in listed:
            table = read_columns(entry, ("textquery", "path"))
            if table is None:
                rejections.add("pool file without text_query, path", entry.name)
                continue
            for name, text in table:
                found = finder.find(text)
                if found is None:
                    rejections.add("pool image that is missing", f"{name}: {text}")
                else:
                    rows.append((clean_query(name), found))
        return rows

    def take_training(self, rejections: Rejections) -> None:
        """Find the training files."""
        self.category = training_files(self.files, rejections)

    @property
    def evaluation(self) -> set[str]:
        """Files of triplets and pools."""
        return set(self.found.values()).union(*self.pools.values())


def _key(row: RatingRow, place: int) -> tuple[str, str]:
    return row.file, f"{row.line}:{place}"


def _manifest(scanned: pd.DataFrame, release: _Release, rejections: Rejections) -> tuple[pd.DataFrame, np.ndarray]:
    """Manifest of the files considered, and for each row the least id of an image with the same content."""
    import pandas as pd

    evaluation = release.evaluation
    kept = scanned[scanned["path"].isin(evaluation | set(release.category))].drop(columns="image_id")
    lacking = [path for path in sorted(release.missing) if path and path not in set(kept["path"])]
    gap = {"label": "", "width": 0, "height": 0, "bytes": 0, "sha256": "", "status": "unreadable", "reason": _MISSING}
    gaps = pd.DataFrame({"path": lacking, **{name: [value] * len(lacking) for name, value in gap.items()}})
    gaps = gaps[list(kept.columns)].astype(kept.dtypes)
    manifest = pd.concat([kept, gaps]).sort_values("path", kind="stable", ignore_index=True)
    manifest.insert(0, "image_id", np.arange(len(manifest), dtype=np.int32))

    is_rated = manifest["path"].isin(evaluation)
    rated_contents = set(manifest.loc[is_rated & (manifest["sha256"] != ""), "sha256"])
    is_copy = manifest["path"].isin(set(release.category)) & (is_rated | manifest["sha256"].isin(rated_contents))
    for path in manifest.loc[is_copy, "path"]:
        rejections.add("training image that is an evaluation image", path)
    manifest.loc[is_copy & ~is_rated & (manifest["status"] == "ok"), "reason"] = _COPY
    manifest.insert(3, "part", np.where(is_rated | is_copy, "evaluation", "training"))
    manifest["part"] = manifest["part"].astype("str")
    manifest["label"] = [release.category.get(path, "") for path in manifest["path"]]
    manifest["label"] = manifest["label"].astype("str")
    return manifest, contents(manifest)


def contents(manifest: pd.DataFrame) -> np.ndarray:
    """Return for each row of a manifest the least image id of the same content.

    Parameters
    ----------
    manifest : DataFrame
        ``image_id`` equal to the row number; ``sha256``, "" for a file without content, which is like no other.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
    """
    least = manifest.groupby("sha256")["image_id"].transform("min")
    return least.where(manifest["sha256"] != "", manifest["image_id"]).to_numpy(dtype=np.int64)


def _triplets(
    rows: Iterable[RatingRow], release: _Release, manifest: pd.DataFrame, content: np.ndarray, rejections: Rejections
) -> list[Triplet]:
    """Triplets by image ids."""
    id_of = dict(zip(manifest["path"], manifest["image_id"], strict=True))
    is_missing = (manifest["reason"] == _MISSING).to_numpy()
    is_ok = (manifest["status"] == "ok").to_numpy()

    def image_of(row: RatingRow, place: int) -> int | None:
        image = id_of.get(release.found[_key(row, place)])
        return None if image is None or is_missing[image] else int(content[image])

    return keep_triplets(pair_rows(rows, rejections), image_of, lambda image: bool(is_ok[image]), rejections)


def triplet_table(triplets: list[Triplet]) -> pd.DataFrame:
    """Return the table of triplets, numbered in the order given."""
    import pandas as pd

    table = pd.DataFrame(triplets, columns=list(Triplet._fields))
    table["triplet"] = np.arange(len(table))
    return table[list(_TRIPLET_TYPES)].astype(_TRIPLET_TYPES)


def _pool_table(triplets: pd.DataFrame, release: _Release, manifest: pd.DataFrame, content: np.ndarray) -> pd.DataFrame:
    """Pool of each text query: what the release has for it, else the images of its triplets."""
    id_of = dict(zip(manifest["path"], manifest["image_id"], strict=True))
    is_ok = (manifest["status"] == "ok").to_numpy()
    members: dict[str, tuple[set[int], str]] = {}
    for text_query, rows in triplets.groupby("text_query", sort=True):
        images = {id_of[file] for file in release.pools.get(str(text_query), [])}
        pool = {int(content[image]) for image in images if is_ok[image]}
        own = set(rows[["query", "positive", "negative"]].to_numpy().ravel().tolist())
        members[str(text_query)] = (pool, "pool") if pool else (own, "triplets")
    return pool_table(members)


def pool_table(members: Mapping[str, tuple[Iterable[int], str]]) -> pd.DataFrame:
    """Return the table of pools.

    Parameters
    ----------
    members : mapping of str to (iterable of int, str)
        Image ids and source of each text query.

    Returns
    -------
    DataFrame
        ``text_query`` str, ``image_id`` int32, ``source`` str, sorted.
    """
    import pandas as pd

    rows = [(name, image, source) for name, (images, source) in sorted(members.items()) for image in sorted(images)]
    table = pd.DataFrame(rows, columns=["text_query", "image_id", "source"])
    return table.astype({"text_query": "str", "image_id": "int32", "source": "str"})


def _labels(manifest: pd.DataFrame, triplets: pd.DataFrame, pool: pd.DataFrame, content: np.ndarray) -> pd.Series:
    """Category of training images, text query of evaluation images.

    An image of several text queries has the one that its folder is named after, if any; one that is in the triplets of
    one text query has that, though pools of others may hold it as noise.
    """
    long = triplets.melt(["text_query"], ["query", "positive", "negative"], value_name="image_id")
    of_triplets, of_pools = (
        table.groupby("image_id")["text_query"].agg(lambda names: names.iloc[0] if names.nunique() == 1 else "")
        for table in (long, pool)
    )
    by_key = {column_key(name): name for name in sorted(triplets["text_query"].unique(), reverse=True)}
    folder = manifest["path"].str.split("/").str[-2].fillna("").map(lambda name: by_key.get(column_key(name), ""))
    image = np.asarray(content)
    label = folder
    for names in (of_triplets, of_pools):
        own = np.asarray(names.reindex(image).fillna(""), dtype=object)
        label = label.where(label != "", own)
    return manifest["label"].where(manifest["part"] == "training", label).astype("str")


def _no_triplet(root: Path, rejections: Rejections) -> LookalikeError:
    why = rejections.summary()
    return LookalikeError(
        f"{root} holds no usable triplet{f': {why}' if why else ''}: mend the CSV files or the paths in them"
    )


def codebook_images(manifest: pd.DataFrame) -> tuple[npt.NDArray[np.int64], str]:
    """Return the images that codebooks are learned from, and how captions call them.

    These are the training images. Without any, they are the images of the rated triplets, of which nothing but the
    pixels is seen.

    Parameters
    ----------
    manifest : DataFrame
        ``part`` and ``status``.

    Returns
    -------
    image_ids : ndarray of int64
    told : str

    Raises
    ------
    LookalikeError
        When no image can be used.
    """
    usable = manifest["status"].eq("ok").to_numpy()
    training = usable & manifest["part"].eq("training").to_numpy()
    if training.any():
        return np.flatnonzero(training), "training images"
    if not usable.any():
        raise LookalikeError("no image of the manifest can be used: see its columns status and reason")
    return np.flatnonzero(usable), "evaluation images, without their ratings"
