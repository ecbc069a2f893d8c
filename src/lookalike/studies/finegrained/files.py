"""The files of one system of the fine-grained study: what rules hand to the code that measures, and write from it.

A system is a row of Tables 1 and 2 of the Deep Ranking paper (CVPR 2014). Whatever it is, it ends as one distance for
every pair of images that `lookalike.ranking.triplet_metrics.candidate_pairs` asks for, so that another metric never
trains anything again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_array, write_json, write_table

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float32]
Report = Callable[[str], None]


class SystemResult(NamedTuple):
    """What a job writes of a system.

    Attributes
    ----------
    vectors : ndarray of shape (N, d), float32, or None
        A row per image id, NaN where an image cannot be used; None for a system without vectors.
    distances : ndarray of shape (n_pairs,), float32
        Aligned with the pairs; smaller is more similar.
    fit : dict
        JSON values: ``seconds``, ``settings``, sizes, ``processor``, ...
    """

    vectors: Floats | None
    distances: Floats
    fit: dict[str, Any]


class Measured(Protocol):
    """What a system returns; see `write_system`."""

    @property
    def vectors(self) -> Floats | None:
        """float32, shape (n_images, n_dimensions), row = image id; None where there are only distances."""

    @property
    def distances(self) -> Floats:
        """float32, shape (n_pairs,), in the order of the pairs."""

    @property
    def fit(self) -> Mapping[str, Any]:
        """What ``fit.json`` records."""


def image_paths(manifest: pd.DataFrame, folder: str | os.PathLike[str]) -> list[Path | None]:
    """Return the file of every image, None where it cannot be used.

    Parameters
    ----------
    manifest : DataFrame
        ``image_id`` (= row number), ``path``, ``status``.
    folder : path-like
        What the paths start from.

    Returns
    -------
    list of Path or None
    """
    return [
        Path(folder, path) if status == "ok" else None
        for path, status in zip(manifest["path"], manifest["status"], strict=True)
    ]


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


def vectors_by_system(files: Iterable[str | os.PathLike[str]]) -> dict[str, Floats]:
    """Return the vectors of ``systems/{system}/vectors.npy`` by system."""
    return {Path(file).parent.name: np.load(file) for file in files}


def write_system(
    result: Measured, outputs: Iterable[str | os.PathLike[str]], **writers: Callable[[Path], None]
) -> None:
    """Write what a system measured to the files that a rule names.

    Parameters
    ----------
    result : object
        With ``vectors``, ``distances``, ``fit`` and, where a file ``curve`` is asked for, ``curve`` (a DataFrame).
    outputs : iterable of path-like
        Files whose names say what goes into them: ``vectors.npy``, ``distances.npy``, ``fit.json``, ``curve.parquet``.
    **writers : callable
        Writer of a file of another name, by its stem.

    Raises
    ------
    ValueError
        When a file is asked for that the result does not hold.
    """
    for output in map(Path, outputs):
        if output.stem in writers:
            writers[output.stem](output)
            continue
        value = getattr(result, output.stem, None)
        if value is None:
            raise ValueError(f"this system has nothing to write to {output.name}")
        write = {".npy": write_array, ".json": write_json, ".parquet": write_table}[output.suffix]
        write(value, output)


def say(report: Report | None, line: str) -> None:
    """Report a line where somebody wants to know."""
    if report is not None:
        report(line)


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON has them."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
