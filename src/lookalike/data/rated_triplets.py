"""A folder of rated triplets, in the layout of the public release, to the tables of the fine-grained study.

Each triplet says that of two images one is more like a query image than the other (Deep Ranking, section 6.2). A
release holds, at any depth, CSV files with the columns Image1, Image1_Path, Image2, Image2_Path, Similarity (1 or -1)
and Text Query, two rows a triplet, in which Image1 is the query; optionally ``Triplet`` (what the two rows share) and
``Kind`` ("in-class", "out-of-class"); optionally ``pool/<text query>/`` or a ``pool.csv`` (text_query, path), and
``training/<category>/`` with a ``training/relevance.csv`` (image1, image2, relevance; paths relative to ``training/``).

Whatever in it cannot be used is counted in a table and never stops the rest. Rows may come in any order where each
triplet has a name or query file of its own, as in the public release, and elsewhere its two rows beside each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.arrays import Longs
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, write_table
from lookalike.core.progress import Progress
from lookalike.core.seeds import generator
from lookalike.data.path_finder import PathFinder, path_parts
from lookalike.data.release_files import Rejections, column_key, read_columns, read_ratings, relevance_file
from lookalike.data.relevance import RelevanceData
from lookalike.data.scan import scan_photographs

_IMAGES = ["query", "positive", "negative"]
_TRIPLET_TYPES = {"triplet": "int32", **dict.fromkeys(_IMAGES, "int32"), "text_query": "str", "kind": "str"}
_MISSING = "there is no such file"
_COPY = "a copy of an evaluation image among the training images: not trained on"


@dataclass(frozen=True)
class RatedTriplets:
    """Rated triplets with what they are judged by and learned from; of files with one content, the least id stands."""

    root: Path  # that the paths of the manifest start from
    manifest: pd.DataFrame  # of a scan, and part (training, evaluation); label: the category or the only text query
    triplets: pd.DataFrame  # triplet, image ids query, positive, negative, text_query, kind (or "rated"); sorted
    rejected: pd.DataFrame  # reason, rows (of CSV files, or files), example
    pool: pd.DataFrame  # text_query, image_id, source ("pool", or "triplets" where there is no pool); sorted
    relevance: RelevanceData  # of the training images, none of which has the content of an evaluation image

    def write(self, folder: PathLike) -> None:
        """Write manifest, triplets and pool as ``.parquet``, ``rejected.csv`` and ``relevance.npz``."""
        for name in ("manifest.parquet", "triplets.parquet", "rejected.csv", "pool.parquet"):
            write_table(getattr(self, name.split(".")[0]), Path(folder, name))
        self.relevance.save(Path(folder, "relevance.npz"))


def read_release(folder: PathLike, n_threads: int = 1, progress: Progress | None = None) -> RatedTriplets:
    """Read a folder of rated triplets, which holds one usable triplet at least."""
    root, rejections = Path(folder), Rejections()
    rows = read_ratings(root, rejections)
    if rows.empty:
        raise _no_triplet(root, rejections)
    scanned = scan_photographs(root, n_threads=n_threads, progress=progress)
    finder = PathFinder(scanned["path"])
    for number in (1, 2):
        rows[f"file{number}"] = [_file_of(row, number, finder) for row in rows.to_dict("records")]
    category = _training_files(scanned["path"], rejections)
    pooled = _pool_files(root, scanned["path"], finder, rows["text_query"].drop_duplicates(), rejections)
    evaluation = {*rows["file1"], *rows["file2"], *pooled["path"]}
    manifest = _manifest(scanned, evaluation - {""}, category, rejections)
    content = contents(manifest)
    triplets = _triplets(rows, manifest, content, rejections)
    if triplets.empty:
        raise _no_triplet(root, rejections)
    found = pooled.merge(manifest.loc[manifest["status"] == "ok", ["path", "image_id"]], on="path")
    found = found[found["text_query"].isin(triplets["text_query"])].assign(source="pool")
    own = triplets[~triplets["text_query"].isin(found["text_query"])].melt("text_query", _IMAGES, value_name="image_id")
    pool = pool_table(pd.concat([found.assign(image_id=content[found["image_id"]]), own.assign(source="triplets")]))
    relevance = _training_relevance(root, manifest, content, rejections)
    manifest["label"] = _labels(manifest, triplets, pool, content)
    return RatedTriplets(root, manifest, triplets, rejections.table(), pool, relevance)


def _file_of(row: Mapping[Hashable, str], number: int, finder: PathFinder) -> str:
    """Return the file of one of a row's two images, or where it should be."""
    text, folder = row[f"path{number}"] or row[f"name{number}"], row["file"].rpartition("/")[0]
    letter = "q" if number == 1 else "p" if int(row["sign"]) > 0 else "n"
    found = finder.find(text, folder=folder, names=(row["name1"], row[f"name{number}"]), letter=letter)
    return found or "/".join(path_parts(text))


def _training_files(files: pd.Series, rejections: Rejections) -> dict[str, str]:
    """Return the files below ``training/<category>/`` and their category; one that is in no category is rejected."""
    inside = files[files.str.contains("(?i)^training/") & ~files.str.lower().str.endswith(".csv")]
    category = inside.str.extract("^[^/]+/([^/]+)/", expand=False)
    rejections.add("training image in no category", inside[category.isna()])
    return dict(zip(inside[category.notna()], category.dropna(), strict=True))


def _pool_files(
    root: Path, files: pd.Series, finder: PathFinder, text_queries: pd.Series, rejections: Rejections
) -> pd.DataFrame:
    """Return ``text_query`` and ``path`` of the images of pools, by folder or by file."""
    folder = files.str.extract("(?i)^pool/([^/]+)/", expand=False).dropna()
    named, rows = list(zip(folder, files[folder.index], strict=True)), []
    for entry in sorted(path for path in root.iterdir() if path.name.casefold() == "pool.csv"):
        table = read_columns(root, entry.name, rejections, "pool file without text_query, path", ("textquery", "path"))
        for name, text in () if table is None else table.itertuples(index=False):
            if (file := finder.find(text)) is None:
                rejections.add("pool image that is missing", [f"{name}: {text}"])
            else:
                named.append((" ".join(name.split()), file))
    for name, file in named:
        fitting = [query for query in text_queries if column_key(query) == column_key(name)]
        if not fitting:
            rejections.add("pool image of a text query without triplets", [f"{name}: {file}"])
        rows += [(query, file) for query in ([name] if name in fitting else fitting)]
    return pd.DataFrame(rows, columns=["text_query", "path"])


def _manifest(
    scanned: pd.DataFrame, evaluation: set[str], category: dict[str, str], rejections: Rejections
) -> pd.DataFrame:
    """Return the manifest of the files considered: those of triplets, pools and training, present or not."""
    considered = sorted(evaluation | set(category))
    manifest = scanned.set_index("path").reindex(considered).rename_axis("path").reset_index()
    missing = {"width": 0, "height": 0, "bytes": 0, "sha256": "", "status": "unreadable", "reason": _MISSING}
    manifest = manifest.fillna(missing)
    manifest["image_id"] = np.arange(len(manifest))
    manifest["label"] = [category.get(path, "") for path in manifest["path"]]
    manifest = manifest[list(scanned.columns)].astype(scanned.dtypes)

    is_rated = manifest["path"].isin(evaluation)
    rated_contents = set(manifest.loc[is_rated & (manifest["sha256"] != ""), "sha256"])
    is_copy = manifest["path"].isin(set(category)) & (is_rated | manifest["sha256"].isin(rated_contents))
    rejections.add("training image that is an evaluation image", manifest.loc[is_copy, "path"])
    manifest.loc[is_copy & ~is_rated & (manifest["status"] == "ok"), "reason"] = _COPY
    manifest.insert(3, "part", np.where(is_rated | is_copy, "evaluation", "training"))
    return manifest.astype({"part": "str"})


def contents(manifest: pd.DataFrame) -> Longs:
    """Return for each row of a manifest the least image id of the same content; a file without any is like no other."""
    least = manifest.groupby("sha256")["image_id"].transform("min")
    return least.where(manifest["sha256"] != "", manifest["image_id"]).to_numpy(dtype=np.int64)


def _triplets(rows: pd.DataFrame, manifest: pd.DataFrame, content: Longs, rejections: Rejections) -> pd.DataFrame:
    """Return triplets by image ids: each once, sorted, of images that can be used, none that another contradicts."""
    is_there, usable = manifest["reason"] != _MISSING, manifest.loc[manifest["status"] == "ok", "image_id"]
    image_of = pd.Series(content[is_there], index=manifest.loc[is_there, "path"])
    image1, image2 = (rows[name].map(image_of).fillna(-1).to_numpy(dtype=np.int64) for name in ("file1", "file2"))
    first, second = np.array(_pairs(rows, rejections), dtype=np.int64).reshape(-1, 2).T
    table = rows.loc[first, ["text_query", "kind"]].reset_index(drop=True)
    # a query that is missing in one row stands in the other
    for name, row, other in (("query", first, second), ("other_query", second, first)):
        table[name] = np.where(image1[row] >= 0, image1[row], image1[other])
    table["positive"], table["negative"] = image2[first], image2[second]
    table["example"] = (rows["example"].to_numpy()[first] + " | ") + rows["other"].to_numpy()[second]
    query, positive, negative = (table[name] for name in _IMAGES)
    table = rejections.sort_out(
        table,
        {
            "rows of one triplet with different queries": query != table["other_query"],
            "triplet with an image that is missing": (table[_IMAGES] < 0).any(axis=1),
            "triplet with an image that cannot be used": ~table[_IMAGES].isin(usable.tolist()).all(axis=1),
            "query is the same picture as the positive or negative": (query == positive) | (query == negative),
            "positive and negative are the same picture": positive == negative,
        },
        2,
    )
    turned = pd.MultiIndex.from_frame(table[["query", "negative", "positive"]])
    both = pd.MultiIndex.from_frame(table[_IMAGES]).isin(turned)  # whatever the text query
    table = rejections.sort_out(table, {"rated both ways": both}, 2)
    # of copies that differ in kind, the same one whatever the order of rows
    copies = table.groupby(["text_query", *_IMAGES], as_index=False)
    table = copies.agg(kind=("kind", "min"), example=("example", "min"), n=("kind", "size"))
    rejections.add("triplet that is there already", table["example"].repeat((table["n"] - 1).tolist()), 2)
    return triplet_table(table)


def triplet_table(rows: pd.DataFrame | Sequence[object]) -> pd.DataFrame:
    """Return the table of triplets, numbered in the order given."""
    table = pd.DataFrame(rows, columns=["text_query", *_IMAGES, "kind"])
    return table.assign(triplet=np.arange(len(table)))[list(_TRIPLET_TYPES)].astype(_TRIPLET_TYPES)


def pool_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the sorted table of pools, each image once for a text query."""
    types = {"text_query": "str", "image_id": "int32", "source": "str"}
    return rows[list(types)].drop_duplicates().sort_values(list(types), ignore_index=True).astype(types)


def _pairs(rows: pd.DataFrame, rejections: Rejections) -> list[tuple[int, int]]:
    """Pair the rows of triplets: numbers of the row rated alike and of the other."""
    # rows of one file and text query that share the column Triplet, or else the query, belong together
    groups: defaultdict[tuple[Any, ...], list[Any]] = defaultdict(list)
    words = pd.MultiIndex.from_frame(rows[["name1", "path1", "name2", "path2", "sign"]])
    for row in rows.assign(words=words.to_numpy()).itertuples():
        groups[row.file, row.text_query, *((row.triplet,) if row.triplet else ("", row.name1, row.path1))].append(row)
    pairs = [pair for group in groups.values() for pair in _pair_group(group, rejections)]
    return [(row.Index, other.Index) if row.sign > 0 else (other.Index, row.Index) for row, other in pairs]


def _pair_group(rows: list[Any], rejections: Rejections) -> list[tuple[Any, Any]]:
    """Pair the rows of one query or triplet that follow one another, and count those that are left over."""
    pairs = _neighbours(rows, 1, -1)
    if 2 * len(pairs) < len(rows):
        # neighbours may be of two triplets then: the usual order of a triplet's rows decides, 1 first where all fits
        pairs = max(_neighbours(rows, 1), _neighbours(rows, -1), key=len)
    paired, used = ({getattr(row, name) for pair in pairs for row in pair} for name in ("words", "Index"))
    for row in (row for row in rows if row.Index not in used):
        reason = "row that is there already" if row.words in paired else "row without its counterpart"
        rejections.add(reason, [row.example])
    return pairs


def _neighbours(rows: list[Any], *firsts: int) -> list[tuple[Any, Any]]:
    """Return pairs of rows that follow one another with opposite ratings, the first of which is one of `firsts`."""
    pairs: list[tuple[Any, Any]] = []
    for row, other in pairwise(rows):
        is_free = not pairs or pairs[-1][1] is not row
        if is_free and row.sign in firsts and other.sign == -row.sign:
            pairs.append((row, other))
    return pairs


def _training_relevance(root: Path, manifest: pd.DataFrame, content: Longs, rejections: Rejections) -> RelevanceData:
    """Return the relevance of training images, each content once; 1 within a category where there is no file of it."""
    rows = manifest[(manifest["part"] == "training") & (manifest["status"] == "ok")]
    is_copy = content[rows["image_id"]] != rows["image_id"]
    rejections.add("training image that is there already", rows.loc[is_copy, "path"])
    labels = rows[~is_copy].set_index("image_id")["label"]
    image_id, names = labels.index.to_numpy(), labels.to_numpy(dtype=np.str_)
    file, columns = relevance_file(root), ["image1", "image2", "relevance"]
    if file is None or labels.empty:
        return RelevanceData.from_labels(image_id, names)
    table = read_columns(root, file, rejections, f"relevance file without {', '.join(columns)}", columns)
    table = pd.DataFrame(columns=columns, dtype="str") if table is None else table
    below = manifest["path"].str.extract(r"(?i)^training/(.*)$")[0]
    id_of = dict(zip(below, content, strict=True))
    finder = PathFinder(below.dropna())
    texts = pd.unique(table[["image1", "image2"]].to_numpy().ravel())
    images = {text: id_of.get(finder.find(text), -1) for text in texts}
    for column in ("1", "2"):
        table[column] = table[f"image{column}"].map(images).astype(np.int64)
        table[f"category{column}"] = table[column].map(labels)
    table["low"], table["high"] = table[["1", "2"]].min(axis=1), table[["1", "2"]].max(axis=1)
    table["value"] = pd.to_numeric(table["relevance"], errors="coerce").astype(np.float64)
    table["example"] = table["image1"] + " | " + table["image2"] + " | " + table["relevance"]
    largest, ends = float(np.finfo(np.float32).max), table[["1", "2"]]
    rules = {
        "relevance that is no number from 0 on": ~table["value"].between(0, largest),
        "relevance of an image that is not trained on": ~ends.isin(labels.index).all(axis=1),
        "relevance of an image to itself": table["1"] == table["2"],
        "relevance across two categories": table["category1"] != table["category2"],
    }
    table = rejections.sort_out(table, rules)
    # of a pair that comes more than once, the largest
    pairs = table.groupby(["low", "high"], as_index=False)["value"].max()
    return RelevanceData.from_pairs(image_id, names, pairs["low"], pairs["high"], pairs["value"])


def _labels(manifest: pd.DataFrame, triplets: pd.DataFrame, pool: pd.DataFrame, content: Longs) -> pd.Series:
    """Return the category of training images, text query of evaluation images."""
    # of several the one that the folder is named after, else that of its triplets: pools of others hold it as noise
    by_key = {column_key(name): name for name in sorted(triplets["text_query"].unique(), reverse=True)}
    label = manifest["path"].str.split("/").str[-2].fillna("").map(lambda name: by_key.get(column_key(name), ""))
    for table in (triplets.melt(["text_query"], _IMAGES, value_name="image_id"), pool):
        names = table.groupby("image_id")["text_query"]
        own = names.first().where(names.nunique() == 1, "").reindex(content).fillna("")
        label = label.where(label != "", own.to_numpy())
    return manifest["label"].where(manifest["part"] == "training", label).astype("str")


def _no_triplet(root: Path, rejections: Rejections) -> LookalikeError:
    why = ", ".join(f"{row.reason} ({row.rows})" for row in rejections.table().itertuples())
    return LookalikeError(
        f"{root} holds no usable triplet{f': {why}' if why else ''}: mend the CSV files or the paths in them"
    )


def split_ratings(triplets: pd.DataFrame, share: float, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the triplets of all but a share of the text queries, and those of the share, of other query images.

    The first are evaluated; from the second the golden feature learns its weights (Deep Ranking, section 6.1).
    """
    names = np.unique(triplets["text_query"].astype(str))
    n_learned = round(share * len(names))
    if share and not 0 < n_learned < len(names):
        raise LookalikeError(
            f"a share of {share:g} of {len(names)} text queries leaves nothing to learn from or to judge"
        )
    chosen = generator(seed, "golden", "ratings").permutation(names)[:n_learned]
    is_learned = triplets["text_query"].isin(chosen)
    evaluated, learned = triplets[~is_learned], triplets[is_learned]
    learned = learned[~learned["query"].isin(evaluated["query"])]
    return triplet_table(evaluated.to_dict("records")), triplet_table(learned.to_dict("records"))


def codebook_images(manifest: pd.DataFrame) -> tuple[Longs, str]:
    """Return the ids of the images that codebooks are learned from, training images if any, and what captions say."""
    usable = manifest["status"].eq("ok").to_numpy()
    training = usable & manifest["part"].eq("training").to_numpy()
    if training.any():
        return np.flatnonzero(training), "training images"
    if not usable.any():
        raise LookalikeError("no image of the manifest can be used: see its columns status and reason")
    return np.flatnonzero(usable), "evaluation images, without their ratings"
