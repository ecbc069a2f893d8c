"""What an exhibit of the fine-grained study has to know besides numbers (Deep Ranking, CVPR 2014, section 6).

The counterpart of `lookalike.exhibits.context`: rated triplets instead of subsets and folds, and systems instead of
methods. Some systems need torch and some need training relevance, which a folder of rated triplets may lack; their rows
then say so, and the others stand. Only triplets that people rated are held against printed numbers with a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.panels import say_empty
from lookalike.exhibits.style import GREY, VERMILLION, title_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER = "deep-ranking-cvpr-2014"
GROUP = "finegrained"
"""Folder of the exhibits that no paper prints."""
REAL, SYNTHETIC, BY_CLASS = "triplets", "synthetic_triplets", "class_triplets"
"""Kinds of data: rated by people, made by code, and photographs in class folders whose triplets a machine rated."""
PRECISION, SCORE, PER_TRIPLET = "similarity_precision", "score@30", "score@30_per_triplet"
"""Metrics (section 6.3): percent, triplets, and percent of the triplets. The names keep their 30 for any k."""
ALL, IN_CLASS, OUT_OF_CLASS = "all", "in-class", "out-of-class"
"""Subsets of the triplets, by their negative; people's ratings are of one kind."""

FEATURES = ("wavelet", "color", "sift-like", "fisher", "hog", "spmk-texton-1024-max")
"""Hand-crafted features of Table 1."""
GOLDEN, DEEP = "golden-features", "deep-ranking"
CONVNET, SINGLE = "convnet", "single-scale-ranking"
OASIS_ON_TOP, EMBEDDING_ON_TOP = "oasis-on-single-scale-ranking", "single-scale-and-visual-feature"
TABLE1 = (*FEATURES, "l1hashkpca", "oasis", GOLDEN, DEEP)
TABLE2 = (CONVNET, SINGLE, OASIS_ON_TOP, EMBEDDING_ON_TOP, DEEP)
"""Systems of the paper's tables, in its order."""
SYSTEM_TITLES = {
    "wavelet": "Wavelet",
    "color": "Color",
    "sift-like": "SIFT-like",
    "fisher": "Fisher",
    "hog": "HOG",
    "spmk-texton-1024-max": "SPMKtexton1024max",
    "l1hashkpca": "L1HashKPCA",
    "oasis": "OASIS",
    GOLDEN: "Golden Features",
    DEEP: "DeepRanking",
    CONVNET: "ConvNet",
    SINGLE: "Single-scale Ranking",
    OASIS_ON_TOP: "OASIS on Single-scale Ranking",
    EMBEDDING_ON_TOP: "Single-Scale & Visual Feature",
}
"""Names of systems as the paper's tables print them."""
WEIGHTED, UNIFORM = "weighted", "uniform"
"""How the sampler draws images (section 6.6)."""
PAPER_TRIPLETS, PAPER_POOL, PAPER_K = 14_000, 1_000, 30
"""About how many triplets the paper rates (section 6.2), images of a text query that it ranks, and first ones that it
counts (section 6.3)."""
ALIKE = 1.1
"""Up to this many times the paper's number of triplets, or of images ranked, a count of triplets is about the same."""

_SAMPLED = re.compile(r"multiscale-(weighted|uniform)-(\d{3})")


def sampled_share(system: str, chosen_percent: int = 20) -> tuple[str, int] | None:
    """How a multiscale network's triplets were drawn; None for any other system.

    Parameters
    ----------
    system : str
        Such as ``multiscale-weighted-060``; ``deep-ranking`` itself is weighted.
    chosen_percent : int
        Percent of out-of-class negatives of ``deep-ranking``; 20 in the paper.

    Returns
    -------
    tuple of (sampling, percent), or None
        ``weighted`` or ``uniform``, and the percent of out-of-class negatives.
    """
    if system == DEEP:
        return WEIGHTED, chosen_percent
    found = _SAMPLED.fullmatch(system)
    return (found[1], int(found[2])) if found else None


def is_network(system: str) -> bool:
    """Whether a system needs torch."""
    return system in TABLE2 or sampled_share(system) is not None


def is_learned(system: str) -> bool:
    """Whether a system learns from training relevance, or from what such a system has learned."""
    return is_network(system) or system in ("l1hashkpca", "oasis", GOLDEN)


def system_title(system: str) -> str:
    """Return the printed name of a system, or one in its manner for networks that only Figure 6 shows."""
    share = sampled_share(system)
    if system not in SYSTEM_TITLES and share is not None:
        return f"Multiscale, {share[0]}, {share[1]}% out-of-class"
    return title_of(system, SYSTEM_TITLES)


def short_title(system: str, titles: Mapping[str, str] | None = None) -> str:
    """Return the name of a system where there is little room: ``weighted 60%`` of networks that only Figure 6 shows."""
    share = sampled_share(system)
    if system not in SYSTEM_TITLES and share is not None:
        return f"{share[0]} {share[1]}%"
    return (titles or {}).get(system) or system_title(system)


def ordered_systems(systems: Iterable[str]) -> tuple[str, ...]:
    """Return systems in the order of the paper's tables, then those of Figure 6 by sampling and share, then others."""
    order = dict.fromkeys((*TABLE1[:-1], *TABLE2))
    places = {system: place for place, system in enumerate(order)}

    def place(system: str) -> tuple[int, bool, str]:
        share = sampled_share(system)
        after = len(places) + (share is None)
        return places.get(system, after), share is not None and share[0] == UNIFORM, system

    return tuple(sorted(set(systems), key=place))


def contrast_pairs(systems: Iterable[str], chosen_percent: int = 20) -> tuple[tuple[str, str], ...]:
    """Pairs of systems whose difference the claims are about, of those that are there.

    Parameters
    ----------
    systems : iterable of str
        What was measured.
    chosen_percent : int
        As in `sampled_share`.

    Returns
    -------
    tuple of (system_a, system_b)
        Each stands for a minus b, in the order of the paper's sections 6.4 to 6.7.
    """
    there = set(systems)
    pairs = [
        *(("l1hashkpca", feature) for feature in FEATURES),
        ("oasis", "l1hashkpca"),
        (DEEP, GOLDEN),
        *((DEEP, other) for other in ("oasis", "l1hashkpca", *FEATURES)),
        (SINGLE, CONVNET),
        (DEEP, SINGLE),
        *((top, SINGLE) for top in (OASIS_ON_TOP, EMBEDDING_ON_TOP)),
        *((DEEP, top) for top in (OASIS_ON_TOP, EMBEDDING_ON_TOP)),
        (CONVNET, "oasis"),
        (DEEP, CONVNET),
    ]
    shares = weighted_systems(there, chosen_percent)
    if shares:
        first, *others = shares.values()
        pairs += [(other, first) for other in others]
        pairs += [(shares[0], "multiscale-uniform-000")] if 0 in shares else []
    return tuple(dict.fromkeys(pair for pair in pairs if set(pair) <= there))


def weighted_systems(systems: Iterable[str], chosen_percent: int = 20) -> dict[int, str]:
    """Percent of out-of-class negatives to the system with weighted sampling, rising; ``deep-ranking`` goes first."""
    found: dict[int, str] = {}
    for system in sorted(systems, key=lambda system: system != DEEP):
        share = sampled_share(system, chosen_percent)
        if share is not None and share[0] == WEIGHTED:
            found.setdefault(share[1], system)
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class TripletContext:
    """Which triplets the exhibits of a fine-grained study show, and which systems could be run on them."""

    dataset: str
    title: str
    kind: str = REAL
    """`REAL`, `SYNTHETIC` or `BY_CLASS`."""
    systems: tuple[str, ...] = ()
    """Systems that the study measures; empty where it is not known."""
    not_run: str | None = None
    """What to do to run it, or None where it was run."""
    deep_not_run: str | None = None
    """What to do to run the systems that need torch, or None where torch is there."""
    learned_not_run: str | None = None
    """What to do to run the systems that need training relevance, or None where there is some."""
    k: int = PAPER_K
    chosen_percent: int = 20
    """Percent of out-of-class negatives that DeepRanking is trained with."""
    n_triplets: int = 0
    n_queries: int = 0
    """Distinct query images; 0 where nothing was counted, as of the others here."""
    median_pool: int = 0
    """Median number of images that are ranked for a query."""
    has_pool: bool = False
    """Whether the pools are images of their own and not just those of the triplets."""
    processors: tuple[str, ...] = ()
    method_titles: Mapping[str, str] = field(default_factory=lambda: SYSTEM_TITLES)

    @property
    def synthetic(self) -> bool:
        """Whether images and ratings are made by code."""
        return self.kind == SYNTHETIC

    @property
    def source(self) -> str:
        """One word or two on the data, for columns and axes."""
        return {SYNTHETIC: "synthetic", BY_CLASS: "rated by machine"}.get(self.kind, "rated by people")

    @property
    def not_run_sentence(self) -> str | None:
        """``not run: do X``, or None where it was run."""
        return _sentence(self.not_run)

    @property
    def images(self) -> str:
        """How captions begin to speak of the data, with its size where that was counted."""
        kinds = {SYNTHETIC: "synthetic images and ratings", BY_CLASS: "photographs, whose triplets a machine rated"}
        size = f", {self.n_triplets:,} triplets of {self.n_queries:,} query images" if self.n_triplets else ""
        return f"Data: {self.title} ({kinds.get(self.kind, 'rated by people')}){size}"

    @property
    def pool(self) -> str:
        """What score-at-top-k ranks, as a sentence without its full stop; "" where nothing was counted."""
        if not self.median_pool:
            return ""
        whose = "its pool" if self.has_pool else "there being no pool, those of its triplets"
        share = f", of which the top {self.k} are {self.k / self.median_pool:.0%}" if self.k < self.median_pool else ""
        return (
            f"Score-{self.k} ranks the images of the query's text query ({whose}; {self.median_pool:,} in the median"
            f"{share})"
        )

    def why_not_run(self, system: str) -> str | None:
        """``not run: do X`` for one system of which there is no number, or None where it could be run."""
        if self.not_run is not None:
            return self.not_run_sentence
        if is_network(system) and self.deep_not_run is not None:
            return _sentence(self.deep_not_run)
        return _sentence(self.learned_not_run) if is_learned(system) else None

    def why_not_comparable(self, metric: str) -> str:
        """Why a number of ours is not to be held against the printed one with a verdict; "" where it is."""
        if self.kind != REAL:
            return {SYNTHETIC: "synthetic images and ratings", BY_CLASS: "other images, rated by machine"}[self.kind]
        if metric == PRECISION:
            return ""
        if self.k != PAPER_K:
            return f"scores of the top {self.k}, the paper's of the top {PAPER_K}"
        if not self.has_pool:
            return "there is no pool/ to rank, only the images of the triplets"
        if not _about(self.median_pool, PAPER_POOL):
            return f"pools of {self.median_pool:,} images, the paper's of {PAPER_POOL:,}"
        if not _about(self.n_triplets, PAPER_TRIPLETS):
            return f"a count over {self.n_triplets:,} triplets, the paper's over about {PAPER_TRIPLETS:,}"
        return ""

    def title_of(self, system: str) -> str:
        """Return the printed name of a system."""
        return self.method_titles.get(system) or system_title(system)


def triplet_context(
    study: Mapping[str, Any],
    intervals: pd.DataFrame | None = None,
    fits: pd.DataFrame | None = None,
    pool: pd.DataFrame | None = None,
) -> TripletContext:
    """Return the context of the exhibits of one fine-grained study.

    Parameters
    ----------
    study : mapping
        ``dataset``, ``title``, ``kind`` and ``not_run`` ("" where it can be run). Left out, ``deep_not_run`` and
        ``learned_not_run`` are "", ``systems`` unknown, ``k`` 30 and ``chosen_percent`` 20.
    intervals : DataFrame, optional
        intervals.parquet, for the numbers of triplets, queries and images ranked.
    fits : DataFrame, optional
        timing.parquet; ``processor`` if it is there.
    pool : DataFrame, optional
        pool.parquet; pools count as images of their own if every row of ``source`` is "pool".

    Returns
    -------
    TripletContext
    """
    whole = None if intervals is None else intervals[intervals["subset"] == ALL]
    systems = tuple(study.get("systems") or ())
    return TripletContext(
        dataset=str(study["dataset"]),
        title=str(study["title"]),
        kind=str(study["kind"]),
        systems=systems,
        not_run=study["not_run"] or None,
        deep_not_run=study.get("deep_not_run") or None,
        learned_not_run=study.get("learned_not_run") or None,
        k=int(study.get("k", PAPER_K)),
        chosen_percent=int(study.get("chosen_percent", 20)),
        n_triplets=_largest(whole, "n_triplets"),
        n_queries=_largest(whole, "n_queries"),
        median_pool=_largest(whole, "median_pool"),
        has_pool=pool is not None and len(pool) > 0 and bool((pool["source"] == "pool").all()),
        processors=() if fits is None or "processor" not in fits else tuple(sorted(set(fits["processor"].dropna()))),
        method_titles={**SYSTEM_TITLES, **{system: system_title(system) for system in systems}},
    )


def say_about_data(figure: Figure, context: TripletContext) -> None:
    """Write above the panels what to know about the data: why nothing was run, or that no people rated them."""
    if context.not_run_sentence:
        figure.suptitle(context.not_run_sentence, fontsize=8, color=VERMILLION)
    elif context.kind != REAL:
        about = "Synthetic images and ratings" if context.synthetic else "Triplets rated by machine"
        figure.suptitle(about, fontsize=7.5, color=GREY, x=0.99, ha="right")


def empty_panel(axis: Axes, why: str = "not run") -> None:
    """Say in a panel why it shows nothing, without ticks of an axis that has no numbers."""
    axis.set_xticks([])
    say_empty(axis, why)


def _sentence(reason: str | None) -> str | None:
    return None if reason is None else "not run: " + reason.removeprefix("not run:").strip()


def _about(ours: int, printed: int) -> bool:
    return printed / ALIKE <= ours <= printed * ALIKE


def _largest(rows: pd.DataFrame | None, column: str) -> int:
    return 0 if rows is None or rows.empty or rows[column].isna().all() else int(rows[column].max())
