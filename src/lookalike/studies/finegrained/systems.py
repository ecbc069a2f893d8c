"""The systems of the fine-grained study, whatever ranks images by distance (Deep Ranking, Tables 1 and 2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lookalike.core.files import PathLike, write_array, write_json, write_table

if TYPE_CHECKING:
    from lookalike.core.arrays import Floats
    from lookalike.data.relevance import RelevanceData

PAPER = "deep-ranking-cvpr-2014"
REAL, SYNTHETIC, BY_CLASS = "triplets", "synthetic_triplets", "class_triplets"
"""Kinds of data: rated by people, made by code, and photographs in class folders whose triplets a machine rated."""
PRECISION, SCORE, PER_TRIPLET = "similarity_precision", "score@30", "score@30_per_triplet"
"""Metrics (section 6.3): percent, triplets, and percent of the triplets. Exhibits keep the 30 for any k."""
ALL = "triplets=all"
"""Setting of all triplets; others are by their negative: ``triplets=in-class``, ``triplets=out-of-class``."""
PAPER_PERCENT = 20
"""Percent of out-of-class negatives that the paper's DeepRanking is trained with."""
EMBEDDED, OASIS, GOLDEN, DEEP = "l1hashkpca", "oasis", "golden-features", "deep-ranking"
CONVNET, SINGLE = "convnet", "single-scale-ranking"
OASIS_ON_TOP, EMBEDDING_ON_TOP = "oasis-on-single-scale-ranking", "single-scale-and-visual-feature"
UNIFORM_SYSTEM = "multiscale-uniform-000"
TITLES = {
    "wavelet": "Wavelet",
    "color": "Color",
    "sift-like": "SIFT-like",
    "fisher": "Fisher",
    "hog": "HOG",
    "spmk-texton-1024-max": "SPMKtexton1024max",
    EMBEDDED: "L1HashKPCA",
    OASIS: "OASIS",
    GOLDEN: "Golden Features",
    CONVNET: "ConvNet",
    SINGLE: "Single-scale Ranking",
    OASIS_ON_TOP: "OASIS on Single-scale Ranking",
    EMBEDDING_ON_TOP: "Single-Scale & Visual Feature",
    DEEP: "DeepRanking",
}
"""Systems of the paper's tables, in its order, as it prints their names."""
IN_ORDER = tuple(TITLES)
FEATURES, TABLE1, TABLE2 = IN_ORDER[:6], (*IN_ORDER[:9], DEEP), IN_ORDER[9:]
"""Hand-crafted features, and the systems of each table."""
COMPARED = (CONVNET, OASIS, DEEP)
"""Systems of Figure 7, in the paper's order."""
WEIGHTED, UNIFORM = "weighted", "uniform"
"""How the sampler draws images (section 6.6)."""
_SAMPLED = re.compile(r"multiscale-(weighted|uniform)-(\d{3})")


def sampled_share(system: str, chosen_percent: int = PAPER_PERCENT) -> tuple[str, int] | None:
    """How a multiscale network's triplets were drawn, and its percent of out-of-class negatives; None for any other."""
    if system == DEEP:
        return WEIGHTED, chosen_percent
    found = _SAMPLED.fullmatch(system)
    return (found[1], int(found[2])) if found else None


def training_name(system: str, seed: int) -> str:
    """Return the folder of what a system gave with one seed, counted from 1; the first has the system's own name."""
    return system if seed == 1 else f"{system}-seed{seed}"


def system_and_seed(training: str) -> tuple[str, int]:
    """Return the system and the number of the seed of a `training_name`."""
    system, _, seed = training.rpartition("-seed")
    return (system, int(seed)) if system else (training, 1)


def is_network(system: str) -> bool:
    """Tell whether a system needs torch."""
    return system in TABLE2 or sampled_share(system) is not None


def is_learned(system: str) -> bool:
    """Tell whether a system learns from training relevance, or from what such a system has learned."""
    return is_network(system) or system in (EMBEDDED, OASIS, GOLDEN)


def system_title(system: str, *, short: bool = False) -> str:
    """Return the printed name of a system, or one in its manner for networks that only Figure 6 shows."""
    if system in TITLES or (share := sampled_share(system)) is None:
        return TITLES.get(system, system)
    return f"{share[0]} {share[1]}%" if short else f"Multiscale, {share[0]}, {share[1]}% out-of-class"


def ordered_systems(systems: Iterable[str]) -> tuple[str, ...]:
    """Return systems in the order of the paper's tables, then those of Figure 6 by sampling and share, then others."""

    def place(system: str) -> tuple[int, bool, str]:
        share = sampled_share(system)
        known = IN_ORDER.index(system) if system in IN_ORDER else len(IN_ORDER) + (share is None)
        return known, share is not None and share[0] == UNIFORM, system

    return tuple(sorted(set(systems), key=place))


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
