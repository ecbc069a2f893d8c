"""Training relevance of a release of rated triplets, without any image that is judged.

``training/<category>/`` holds the images and ``training/relevance.csv``, if it is there, says how like each other those
of one category are. Contents count, not names: an image that is among the evaluation images leaves the training.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lookalike.datasets._release_paths import PathFinder
from lookalike.datasets._release_rows import Rejections, read_columns
from lookalike.datasets.relevance import RelevanceData

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = "training"
_RELEVANCE_FILE = "relevance.csv"
_LARGEST = float(np.finfo(np.float32).max)


def training_files(files: Collection[str], rejections: Rejections) -> dict[str, str]:
    """Return the files below ``training/<category>/`` and their category.

    Parameters
    ----------
    files : collection of str
        Paths relative to the release's folder of all files that are images or are meant to be.
    rejections : Rejections
        Takes images that lie beside the folders of categories.
    """
    found = {}
    for file in files:
        parts = file.split("/")
        if parts[0].casefold() != _FOLDER or parts[-1].casefold().endswith(".csv"):
            continue
        if len(parts) > 2:
            found[file] = parts[1]
        elif len(parts) == 2:
            rejections.add("training image in no category", file)
    return found


def has_training_images(root: Path) -> bool:
    """Whether a release has a file in a folder of a category, so that a plan knows that there may be relevance."""
    return any(
        file.is_file() and not file.name.startswith(".")
        for folder in _training_folders(root)
        for category in folder.iterdir()
        if category.is_dir()
        for file in category.rglob("*")
    )


def has_grades(root: Path) -> bool:
    """Whether a release grades the relevance of its training images; without, it is 1 within a category."""
    return _relevance_file(root) is not None


def training_relevance(
    root: Path, manifest: pd.DataFrame, content: np.ndarray, rejections: Rejections
) -> RelevanceData:
    """Make the relevance of the images of a manifest's part ``training``.

    Parameters
    ----------
    root : Path
        The release's folder.
    manifest : DataFrame
        Of the release; ``label`` is the category.
    content : ndarray of int, shape (n_rows,)
        For each row the least id of an image with the same content.
    rejections : Rejections
        Takes copies and pairs that cannot be used.

    Returns
    -------
    RelevanceData
        Of each content once, under its least id; empty where there is no training image. Without a file of relevance
        it is 1 within a category.
    """
    rows = manifest[(manifest["part"] == "training") & (manifest["status"] == "ok")]
    if rows.empty:
        return RelevanceData.empty()
    is_copy = content[rows["image_id"]] != rows["image_id"]
    for path in rows.loc[is_copy, "path"]:
        rejections.add("training image that is there already", path)
    kept = rows[~is_copy]
    image_id, labels = kept["image_id"].to_numpy(), kept["label"].to_numpy(dtype=np.str_)
    file = _relevance_file(root)
    if file is None:
        return RelevanceData.from_labels(image_id, labels)
    label_of = dict(zip(image_id.tolist(), labels.tolist(), strict=True))
    pairs = _read_pairs(file, manifest, content, label_of, rejections)
    places = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    values = np.array([pairs[place] for place in sorted(pairs)], dtype=np.float32)
    return RelevanceData.from_pairs(image_id, labels, places[:, 0], places[:, 1], values)


def _relevance_file(root: Path) -> Path | None:
    """The file of relevance, whatever the case of its name."""
    files = (file for folder in _training_folders(root) for file in sorted(folder.iterdir()))
    return next((file for file in files if file.name.casefold() == _RELEVANCE_FILE and file.is_file()), None)


def _training_folders(root: Path) -> list[Path]:
    """The folder of training images, whatever the case of its name; none where the release is away."""
    if not root.is_dir():
        return []
    return [folder for folder in sorted(root.iterdir()) if folder.name.casefold() == _FOLDER and folder.is_dir()]


def _read_pairs(
    file: Path, manifest: pd.DataFrame, content: np.ndarray, label_of: Mapping[int, str], rejections: Rejections
) -> dict[tuple[int, int], float]:
    """Relevance by two image ids, the lesser first; of a pair that comes more than once, the largest."""
    table = read_columns(file, ("image1", "image2", "relevance"))
    if table is None:
        rejections.add("relevance file without image1, image2, relevance", f"{_FOLDER}/{file.name}")
        return {}
    below = manifest["path"].str.split("/", n=1).str[0].str.casefold() == _FOLDER
    id_of = {path.partition("/")[2]: image for image, path in manifest.loc[below, ["image_id", "path"]].to_numpy()}
    finder = PathFinder(id_of)
    found: dict[tuple[int, int], float] = {}
    known: dict[str, int] = {}
    for name1, name2, text in table:
        ids = [known.setdefault(name, _image(name, id_of, finder, content)) for name in (name1, name2)]
        value = _relevance(text)
        reason = _why_no_pair(ids, value, label_of)
        if reason:
            rejections.add(reason, f"{name1} | {name2} | {text}")
        else:
            key = min(ids), max(ids)
            found[key] = max(found.get(key, 0.0), value)
    return found


def _image(name: str, id_of: Mapping[str, int], finder: PathFinder, content: np.ndarray) -> int:
    """Id of the content of an image that the file of relevance names; -1 where there is none."""
    path = name if name in id_of else finder.find(name)
    return -1 if path is None else int(content[id_of[path]])


def _why_no_pair(ids: list[int], value: float, label_of: Mapping[int, str]) -> str:
    """Why a row of the file of relevance is no pair of training images; "" where it is one."""
    if not value >= 0:
        return "relevance that is no number from 0 on"
    if not all(image in label_of for image in ids):
        return "relevance of an image that is not trained on"
    if ids[0] == ids[1]:
        return "relevance of an image to itself"
    return "" if label_of[ids[0]] == label_of[ids[1]] else "relevance across two categories"


def _relevance(text: str) -> float:
    """The number that a cell holds; NaN where it holds none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if value <= _LARGEST else math.nan
