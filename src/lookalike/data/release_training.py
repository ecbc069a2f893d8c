"""Training relevance of a release of rated triplets, without any image that is judged.

``training/<category>/`` holds the images and ``training/relevance.csv``, if it is there, says how like each other those
of one category are. Contents count, not names: an image that is among the evaluation images leaves the training.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.data.release_files import PathFinder, Rejections, read_columns

if TYPE_CHECKING:
    from lookalike.data.relevance import RelevanceData

_FOLDER = "training"
_LARGEST = float(np.finfo(np.float32).max)


def training_files(files: Iterable[str], rejections: Rejections) -> dict[str, str]:
    """Return the files below ``training/<category>/`` and their category; one that is in no category is rejected."""
    found = {}
    for file in files:
        top, *inside = file.split("/")
        if top.casefold() != _FOLDER or not inside or inside[-1].casefold().endswith(".csv"):
            continue
        if len(inside) > 1:
            found[file] = inside[0]
        else:
            rejections.add("training image in no category", [file])
    return found


def has_training_images(root: Path) -> bool:
    """Whether a release has a file in a folder of a category, so that a plan knows that there may be relevance."""
    files = (file for folder in _training_folders(root) for file in folder.glob("*/**/*"))
    return any(file.is_file() and not file.name.startswith(".") for file in files)


def has_grades(root: Path) -> bool:
    """Whether a release grades the relevance of its training images; without, it is 1 within a category."""
    return bool(_relevance_files(root))


def training_relevance(
    root: Path, manifest: pd.DataFrame, content: npt.NDArray[np.int64], rejections: Rejections
) -> RelevanceData:
    """Make the relevance of the images of a manifest's part ``training``, each content once, under its least id.

    `content` is for each row of the manifest the least id of an image with the same content. Without a file of
    relevance it is 1 within a category.
    """
    from lookalike.data.relevance import RelevanceData  # here: every plan imports this module, and reads no pair

    rows = manifest[(manifest["part"] == _FOLDER) & (manifest["status"] == "ok")]
    is_copy = content[rows["image_id"]] != rows["image_id"]
    rejections.add("training image that is there already", rows.loc[is_copy, "path"])
    labels = rows[~is_copy].set_index("image_id")["label"]
    if labels.empty:
        return RelevanceData.empty()
    image_id, names = labels.index.to_numpy(), labels.to_numpy(dtype=np.str_)
    files = _relevance_files(root)
    if not files:
        return RelevanceData.from_labels(image_id, names)
    pairs = _read_pairs(files[0], manifest, content, labels, rejections)
    return RelevanceData.from_pairs(image_id, names, pairs["low"], pairs["high"], pairs["value"])


def _relevance_files(root: Path) -> list[Path]:
    """The file of relevance, whatever the case of its name."""
    files = (file for folder in _training_folders(root) for file in sorted(folder.iterdir()))
    return [file for file in files if file.name.casefold() == "relevance.csv" and file.is_file()]


def _training_folders(root: Path) -> list[Path]:
    """The folder of training images, whatever the case of its name; none where the release is away."""
    folders = sorted(root.iterdir()) if root.is_dir() else []
    return [folder for folder in folders if folder.name.casefold() == _FOLDER and folder.is_dir()]


def _read_pairs(
    file: Path, manifest: pd.DataFrame, content: npt.NDArray[np.int64], labels: pd.Series, rejections: Rejections
) -> pd.DataFrame:
    """Relevance (``value``) by two image ids, ``low`` and ``high``: the largest of a pair that comes more than once."""
    table = read_columns(file, ("image1", "image2", "relevance"))
    if isinstance(table, str):
        rejections.add("relevance file without image1, image2, relevance", [f"{_FOLDER}/{file.name}"])
        table = pd.DataFrame(columns=["image1", "image2", "relevance"], dtype="str")
    inside = [(path.partition("/"), int(image)) for path, image in zip(manifest["path"], content, strict=True)]
    id_of = {below: image for (top, _, below), image in inside if top.casefold() == _FOLDER}
    finder = PathFinder(id_of)
    names = pd.unique(table[["image1", "image2"]].to_numpy().ravel())
    images = {name: id_of.get(name if name in id_of else finder.find(name) or "", -1) for name in names}
    first, second = (table[name].map(images).astype(np.int64) for name in ("image1", "image2"))
    value = pd.to_numeric(table["relevance"], errors="coerce").astype(np.float64)
    problems = {
        "relevance that is no number from 0 on": ~value.between(0, _LARGEST),
        "relevance of an image that is not trained on": ~(first.isin(labels.index) & second.isin(labels.index)),
        "relevance of an image to itself": first == second,
        "relevance across two categories": first.map(labels) != second.map(labels),
    }
    usable = pd.Series(True, index=table.index)
    examples = table["image1"] + " | " + table["image2"] + " | " + table["relevance"]
    for reason, found in problems.items():  # the first that applies
        rejections.add(reason, examples[usable & found])
        usable &= ~found
    pairs = pd.DataFrame({"low": np.minimum(first, second), "high": np.maximum(first, second), "value": value})
    largest: pd.DataFrame = pairs[usable].groupby(["low", "high"], as_index=False).max()
    return largest
