"""The files of one system: each ends as one distance for every pair, so another metric never trains anything again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from lookalike.core.arrays import Floats
from lookalike.core.files import PathLike, write_array, write_json, write_table
from lookalike.data.relevance import RelevanceData
from lookalike.studies.finegrained.systems import training_name


class SystemResult(NamedTuple):
    """What a job writes of a system, each part to the file of its name."""

    vectors: Floats | None
    """A row per image id, shape (N, d), NaN where an image cannot be used; None for a system without vectors."""
    distances: Floats
    """Aligned with the pairs, shape (n_pairs,); smaller is more similar."""
    fit: dict[str, Any]
    """JSON values: ``system``, and what was chosen or found."""
    relevance: RelevanceData | None = None
    """Of the training images, where the system makes that."""


def write_system(result: Any, outputs: Iterable[PathLike], **writers: Callable[[Path], None]) -> None:
    """Write each file of the system as its name says, such as ``vectors.npy``; `writers` write those of other stems."""
    write = {".npy": write_array, ".json": write_json, ".parquet": write_table}
    folder = training_name(result.fit["system"], result.fit.get("repeat", 1))
    for output in (path for path in map(Path, outputs) if path.parent.name == folder):
        if output.stem in writers:
            writers[output.stem](output)
        else:
            write[output.suffix](getattr(result, output.stem), output)
