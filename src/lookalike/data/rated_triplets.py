"""A folder of rated triplets, in the layout of the public release, to the tables of the fine-grained study.

Each triplet says that of two images one is more like a query image than the other (Deep Ranking, section 6.2). A
release has been through many hands: whatever in it cannot be used is counted in a table and never stops the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_table
from lookalike.data.release_files import (
    PathFinder,
    Rejections,
    clean_query,
    column_key,
    path_parts,
    read_columns,
    read_ratings,
)
from lookalike.data.release_training import training_files, training_relevance
from lookalike.data.relevance import RelevanceData
from lookalike.data.scan import scan_photographs

_IMAGES = ["query", "positive", "negative"]
_TRIPLET_TYPES = {"triplet": "int32", **dict.fromkeys(_IMAGES, "int32"), "text_query": "str", "kind": "str"}
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
        One row per file considered: the columns of `lookalike.data.scan.scan_folder`, and ``part``, "training" or
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
        """Write manifest, triplets and pool as ``.parquet``, ``rejected.csv`` and ``relevance.npz``."""
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
    root, rejections = Path(folder), Rejections()
    rows = read_ratings(root, rejections)
    if rows.empty:
        raise _no_triplet(root, rejections)
    scanned = scan_photographs(root, n_threads=n_threads, progress=progress)
    finder = PathFinder(scanned["path"])
    lacking = _find_files(rows, finder)
    pooled = _pool_files(root, scanned["path"].tolist(), finder, sorted(set(rows["text_query"])), rejections)
    category = training_files(scanned["path"], rejections)
    evaluation = {*rows["file1"], *rows["file2"], *pooled["path"]}
    manifest = _manifest(scanned, lacking, evaluation, category, rejections)
    content = contents(manifest)
    table = _triplets(rows, manifest, content, rejections)
    if table.empty:
        raise _no_triplet(root, rejections)
    pool = _pool_table(table, pooled, manifest, content)
    relevance = training_relevance(root, manifest, content, rejections)
    manifest["label"] = _labels(manifest, table, pool, content)
    return RatedTriplets(root, manifest, table, rejections.table(), pool, relevance)


def _find_files(rows: pd.DataFrame, finder: PathFinder) -> set[str]:
    """Add ``file1`` and ``file2``, the files of each row's images; return those that are not there."""
    lacking = set()
    for number in (1, 2):
        found = []
        for row in rows.to_dict("records"):
            text, letter = row[f"path{number}"] or row[f"name{number}"], "q"
            if number == 2:
                letter = "p" if row["sign"] > 0 else "n"
            names = (row["name1"], row[f"name{number}"])
            file = finder.find(text, folder=row["file"].rpartition("/")[0], names=names, letter=letter)
            if file is None:
                file = "/".join(path_parts(text))
                lacking.add(file)
            found.append(file)
        rows[f"file{number}"] = found
    return lacking


def _pool_files(
    root: Path, files: list[str], finder: PathFinder, text_queries: list[str], rejections: Rejections
) -> pd.DataFrame:
    """``text_query`` and ``path`` of the images of pools, by folder or by file."""
    placed = [(file.split("/"), file) for file in files]
    named = [(parts[1], file) for parts, file in placed if parts[0].casefold() == "pool" and len(parts) > 2]
    for entry in sorted(root.iterdir()):
        if entry.name.casefold() != "pool.csv":
            continue
        table = read_columns(entry, ("textquery", "path"))
        if isinstance(table, str):
            rejections.add("pool file without text_query, path", [entry.name])
            continue
        for name, text in table.itertuples(index=False):
            file = finder.find(text)
            if file is None:
                rejections.add("pool image that is missing", [f"{name}: {text}"])
            else:
                named.append((clean_query(name), file))
    rows = []
    for name, file in named:
        fitting = [query for query in text_queries if column_key(query) == column_key(name)]
        if not fitting:
            rejections.add("pool image of a text query without triplets", [f"{name}: {file}"])
        rows += [(query, file) for query in ([name] if name in fitting else fitting)]
    return pd.DataFrame(rows, columns=["text_query", "path"])


def _manifest(
    scanned: pd.DataFrame,
    lacking: set[str],
    evaluation: set[str],
    category: Mapping[str, str],
    rejections: Rejections,
) -> pd.DataFrame:
    """Manifest of the files considered: those of triplets, pools and training, present or not."""
    kept = scanned[scanned["path"].isin(evaluation | set(category))].drop(columns="image_id")
    gaps = pd.DataFrame({"path": sorted(lacking - {""} - set(kept["path"]))})
    gap: dict[str, Any] = dict.fromkeys(("label", "sha256"), "") | dict.fromkeys(("width", "height", "bytes"), 0)
    gap |= {"status": "unreadable", "reason": _MISSING}
    gaps = gaps.assign(**gap)[list(kept.columns)].astype(kept.dtypes)
    manifest = pd.concat([kept, gaps]).sort_values("path", kind="stable", ignore_index=True)
    manifest.insert(0, "image_id", np.arange(len(manifest), dtype=np.int32))

    is_rated = manifest["path"].isin(evaluation)
    rated_contents = set(manifest.loc[is_rated & (manifest["sha256"] != ""), "sha256"])
    is_copy = manifest["path"].isin(set(category)) & (is_rated | manifest["sha256"].isin(rated_contents))
    rejections.add("training image that is an evaluation image", manifest.loc[is_copy, "path"])
    manifest.loc[is_copy & ~is_rated & (manifest["status"] == "ok"), "reason"] = _COPY
    manifest.insert(3, "part", np.where(is_rated | is_copy, "evaluation", "training"))
    manifest["label"] = [category.get(path, "") for path in manifest["path"]]
    return manifest.astype({"part": "str", "label": "str"})


def contents(manifest: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Return for each row of a manifest the least image id of the same content; a file without any is like no other."""
    least = manifest.groupby("sha256")["image_id"].transform("min")
    return least.where(manifest["sha256"] != "", manifest["image_id"]).to_numpy(dtype=np.int64)


def _triplets(
    rows: pd.DataFrame, manifest: pd.DataFrame, content: npt.NDArray[np.int64], rejections: Rejections
) -> pd.DataFrame:
    """Triplets by image ids: each once, sorted, of images that can be used, and none that another contradicts."""
    is_there, is_ok = manifest["reason"] != _MISSING, manifest["status"].eq("ok").to_numpy()
    image_of = pd.Series(content[is_there], index=manifest.loc[is_there, "path"])
    image1, image2 = (rows[name].map(image_of).fillna(-1).to_numpy(dtype=np.int64) for name in ("file1", "file2"))
    first, second = np.array(_pairs(rows, rejections), dtype=np.int64).reshape(-1, 2).T
    table = rows.loc[first, ["text_query", "kind"]].reset_index(drop=True)
    one, other = image1[first], image1[second]
    query, positive, negative = np.where(one >= 0, one, other), image2[first], image2[second]
    table[_IMAGES] = np.stack([query, positive, negative], axis=1)
    table["example"] = (rows["example"].to_numpy()[first] + " | ") + rows["other"].to_numpy()[second]
    problems = {
        "rows of one triplet with different queries": (one >= 0) & (other >= 0) & (one != other),
        "triplet with an image that is missing": (query < 0) | (positive < 0) | (negative < 0),
        "triplet with an image that cannot be used": ~(is_ok[query] & is_ok[positive] & is_ok[negative]),
        "query is the same picture as the positive or negative": (query == positive) | (query == negative),
        "positive and negative are the same picture": positive == negative,
    }
    usable = np.ones(len(table), dtype=bool)
    for reason, found in problems.items():  # the first that applies
        rejections.add(reason, table.loc[usable & found, "example"], 2)
        usable &= ~found
    # of copies that differ in kind, the same one whatever the order of rows
    copies = table[usable].groupby(["text_query", *_IMAGES], as_index=False)
    table = copies.agg(kind=("kind", "min"), example=("example", "min"), n=("kind", "size"))
    # whatever the text query
    turned = pd.MultiIndex.from_frame(table[["query", "negative", "positive"]])
    both = turned.isin(pd.MultiIndex.from_frame(table[_IMAGES]))
    rejections.add("rated both ways", table.loc[both, "example"], 2 * table.loc[both, "n"])
    again = table[~both & (table["n"] > 1)]
    rejections.add("triplet that is there already", again["example"], 2 * (again["n"] - 1))
    return triplet_table(table[~both].reset_index(drop=True))


def triplet_table(rows: Any) -> pd.DataFrame:
    """Return the table of triplets, numbered in the order given."""
    table = pd.DataFrame(rows, columns=["text_query", *_IMAGES, "kind"])
    return table.assign(triplet=np.arange(len(table)))[list(_TRIPLET_TYPES)].astype(_TRIPLET_TYPES)


def _pairs(rows: pd.DataFrame, rejections: Rejections) -> list[tuple[int, int]]:
    """Pair the rows of triplets: numbers of the row rated alike and of the other.

    Rows of one file that share the column ``Triplet``, or where there is none the query (its name and path) and the
    text query, belong together. One positive and one negative among them are a triplet in whatever order they come.
    Where a query has several triplets, rows that follow one another with opposite ratings are one.
    """
    groups: dict[tuple[str, ...], list[Any]] = {}
    row: Any
    for row in rows.itertuples():
        key = (row.triplet,) if row.triplet else ("", row.name1, row.path1)
        groups.setdefault((row.file, row.text_query, *key), []).append(row)
    pairs = [pair for group in groups.values() for pair in _pair_group(group, rejections)]
    return [(one.Index, other.Index) if one.sign > 0 else (other.Index, one.Index) for one, other in pairs]


def _pair_group(rows: list[Any], rejections: Rejections) -> list[tuple[Any, Any]]:
    """Pair the rows of one query, or of one triplet."""
    distinct: dict[tuple[str, ...], Any] = {}
    for row in rows:
        distinct.setdefault(_says(row), row)
    # without a path, name and rating together say which image it is: those of the public release are named by triplet
    others = {(row.name2, row.path2 or row.sign) for row in distinct.values()}
    if len(others) < len(distinct) == 2 * len(others) <= 4:
        # one or two images, each rated alike and not alike: nothing says what was meant
        rejections.add("rated both ways", (row.example for row in rows))
        return []
    if len(distinct) == 2 and len({row.sign for row in distinct.values()}) == 2:
        first = min(row.example for row in rows)
        rejections.add("row that is there already", [first] * (len(rows) - 2))  # as many as are too many
        one, other = distinct.values()
        return [(one, other)]
    pairs = _neighbours(rows)
    paired = {_says(row) for pair in pairs for row in pair}
    taken = {row.Index for pair in pairs for row in pair}
    for row in rows:
        if row.Index not in taken:
            is_copy = _says(row) in paired
            reason = "row that is there already" if is_copy else "row without its counterpart"
            rejections.add(reason, [row.example])
    return pairs


def _says(row: Any) -> tuple[str, ...]:
    """What a row says, wherever it stands."""
    return (row.name1, row.path1, row.name2, row.path2, row.sign)


def _neighbours(rows: list[Any]) -> list[tuple[Any, Any]]:
    """Pairs of rows that follow one another with opposite ratings.

    Where rows are lacking, the usual order of the two (positive or negative first) tells the neighbours of one triplet
    from those of two, each of which lacks a row.
    """
    pairs = _greedy(rows, (1, -1))
    if 2 * len(pairs) < len(rows):
        pairs = max((_greedy(rows, (first,)) for first in (1, -1)), key=len)  # the first of equals
    return pairs


def _greedy(rows: list[Any], firsts: tuple[int, ...]) -> list[tuple[Any, Any]]:
    """Pair each row with the next one of the opposite rating, if a pair may begin with it."""
    pairs, at = [], 0
    while at + 1 < len(rows):
        first, second = rows[at], rows[at + 1]
        if first.sign in firsts and second.sign == -first.sign:
            pairs.append((first, second))
            at += 1
        at += 1
    return pairs


def _pool_table(
    triplets: pd.DataFrame, pooled: pd.DataFrame, manifest: pd.DataFrame, content: npt.NDArray[np.int64]
) -> pd.DataFrame:
    """Pool of each text query: what the release has for it, else the images of its triplets."""
    usable = manifest[manifest["status"] == "ok"]
    found = pooled.merge(usable[["path", "image_id"]], on="path")
    members: dict[str, tuple[Iterable[int], str]] = {}
    for text_query, rows in triplets.groupby("text_query"):
        listed = set(content[found.loc[found["text_query"] == text_query, "image_id"]].tolist())
        own = set(rows[_IMAGES].to_numpy().ravel().tolist())
        members[str(text_query)] = (listed, "pool") if listed else (own, "triplets")
    return pool_table(members)


def pool_table(members: Mapping[str, tuple[Iterable[int], str]]) -> pd.DataFrame:
    """Return the sorted table of pools, from the image ids and the source of each text query."""
    rows = [(name, image, source) for name, (images, source) in sorted(members.items()) for image in sorted(images)]
    table = pd.DataFrame(rows, columns=["text_query", "image_id", "source"])
    return table.astype({"text_query": "str", "image_id": "int32", "source": "str"})


def _labels(
    manifest: pd.DataFrame, triplets: pd.DataFrame, pool: pd.DataFrame, content: npt.NDArray[np.int64]
) -> pd.Series:
    """Category of training images, text query of evaluation images.

    An image of several text queries has the one that its folder is named after, if any; one that is in the triplets of
    one text query has that, though pools of others may hold it as noise.
    """
    by_key = {column_key(name): name for name in sorted(triplets["text_query"].unique(), reverse=True)}
    label = manifest["path"].str.split("/").str[-2].fillna("").map(lambda name: by_key.get(column_key(name), ""))
    for table in (triplets.melt(["text_query"], _IMAGES, value_name="image_id"), pool):
        names = table.groupby("image_id")["text_query"]
        own = names.first().where(names.nunique() == 1, "").reindex(content).fillna("")
        label = label.where(label != "", own.to_numpy())
    return manifest["label"].where(manifest["part"] == "training", label).astype("str")


def _no_triplet(root: Path, rejections: Rejections) -> LookalikeError:
    why = rejections.summary()
    return LookalikeError(
        f"{root} holds no usable triplet{f': {why}' if why else ''}: mend the CSV files or the paths in them"
    )


def codebook_images(manifest: pd.DataFrame) -> tuple[npt.NDArray[np.int64], str]:
    """Return the ids of the images that codebooks are learned from, and how captions call them.

    These are the training images. Without any, they are the images of the rated triplets, of which nothing but the
    pixels is seen.
    """
    usable = manifest["status"].eq("ok").to_numpy()
    training = usable & manifest["part"].eq("training").to_numpy()
    if training.any():
        return np.flatnonzero(training), "training images"
    if not usable.any():
        raise LookalikeError("no image of the manifest can be used: see its columns status and reason")
    return np.flatnonzero(usable), "evaluation images, without their ratings"
