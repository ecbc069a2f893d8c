"""The files of one system of the fine-grained study: what rules hand to the code that measures, and write from it.

A system is a row of Tables 1 and 2 of the Deep Ranking paper (CVPR 2014). Whatever it is, it ends as one distance for
every pair of images that `lookalike.ranking.triplet_outcomes.candidate_pairs` asks for, so that another metric never
trains anything again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.files import write_array, write_json, write_table

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


def vectors_by_system(files: Iterable[str | os.PathLike[str]]) -> dict[str, Floats]:
    """Return the vectors of ``systems/{system}/vectors.npy`` by system."""
    return {Path(file).parent.name: np.load(file) for file in files}


def write_system(result: Any, outputs: Iterable[str | os.PathLike[str]], **writers: Callable[[Path], None]) -> None:
    """Write what a system measured to the files that a rule names.

    The names of files say what goes into them: ``vectors.npy``, ``distances.npy``, ``fit.json``, ``curve.parquet``;
    `writers` write those of another name, by its stem.
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
