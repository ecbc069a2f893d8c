"""Which exhibits have curves, and how their CSVs are read: one row a figure, the same axes and looks as in print.

Names of columns, axes and series are those of the modules that draw the figures (`lookalike.exhibits`); what a form
cannot say of a CSV is said by a function that lays its rows out first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lookalike.exhibits.style import BLACK, BLUE, GREY, LOOKS, ORANGE, Look, looks_of
from lookalike.report import _curve_layouts as layouts
from lookalike.report._curve_data import Axes
from lookalike.studies.category.training import AVERAGES, COMPARATORS
from lookalike.studies.finegrained.exhibits import SAMPLING_LOOKS

if TYPE_CHECKING:
    import pandas as pd

Looks = Callable[[Sequence[str]], Mapping[str, Look]]
MAP = "Mean average precision"
STEPS, TOP_K, BOUND = "Training steps", "Precision at top k", "bound, U = "
DASHED, DASHED_GREY, DOTTED = Look(BLACK, "", "--"), Look(GREY, "", "--"), Look(GREY, "", ":")


@dataclass(frozen=True)
class Form:
    """How the CSV of one figure is read."""

    x: str
    y: str
    axes: Axes | Mapping[str, Axes]
    """Of all panels, or by the panel's name."""
    panel: str = ""
    """Column that tells panels apart."""
    series: str = "series"
    spread: tuple[str, ...] = ()
    """Column of an error on both sides, or those of the least and the largest."""
    band: bool = False
    members: str = ""
    """Column that tells apart the lines of one series."""
    note: str = ""
    """Column of what is told of a point besides its numbers."""
    levels: tuple[str, ...] = ()
    """Series that are the same at every x, although the CSV has one."""
    names: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Look] = field(default_factory=dict)
    """Looks of series; those of the others come from `looks`."""
    looks: Looks = looks_of
    thin: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    """Series without a line."""
    lettered: bool = True
    """Whether panels have letters."""
    title: Callable[[str], str] | None = None
    """Titles of series, where they are not methods."""
    layout: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """Lays the rows out as the form reads them."""
    csv: Sequence[str] = ()
    """Columns that the CSV must have, as the module that draws the figure names them; () for those named above."""

    @property
    def needed(self) -> set[str]:
        """Columns without which a CSV is not of this form."""
        named = {self.x, self.y, self.series, self.panel, *self.spread, self.members, self.note} - {""}
        return set(self.csv) or named


def _rankers(series: Sequence[str]) -> dict[str, Look]:
    averages = [name for name in series if name != "single"]
    return {**dict(zip(averages, AVERAGES, strict=False)), **looks_of(averages[len(AVERAGES) :])}


def _bounds(series: Sequence[str]) -> dict[str, Look]:
    """Looks by the matrix of each bound."""
    names = [name.removeprefix(BOUND) for name in series]
    looks = {**looks_of([name for name in names if name not in COMPARATORS]), **COMPARATORS}
    return {BOUND + name: looks[name] for name in names}


_STEPS = Axes(x_label=STEPS, y_label=MAP, x_told="{:,.0f} training steps")
_TRAINING = Form(
    "step", "map", Axes(x_label=STEPS, y_label=MAP, x_told="{:,.0f} training steps", from_zero=True), "subset",
    spread=("sem",),
    names={
        "train": "OASIS, training images", "test": "OASIS, test images", "euclidean": "Euclidean, test images",
    },
    fixed={"train": Look(BLUE, "s"), "test": LOOKS["oasis"], "euclidean": DASHED, "validation stop": DOTTED},
)  # fmt: skip
_PRECISION = Form(
    "k", "precision",
    Axes(x_label="Number of neighbours k", y_label=TOP_K, x_told="k = {:.0f}", from_zero=True), "subset",
    spread=("error",), fixed={"chance": DASHED},
)  # fmt: skip
_RANKERS = Form(
    "step", "map",
    Axes(x_label="Training steps of each ranker", y_label=MAP, x_told="{:,.0f} training steps of each ranker"),
    "subset", spread=("sem",), members="ranker", thin=("single",), names={"single": "single rankers"},
    fixed={"single": Look("#b8b8b8", "")}, looks=_rankers, layout=layouts.rankers, title="{} rankers".format,
    csv=("subset", "series", "n_rankers", "ranker", "step", "map", "sem", "n_folds", "aggressiveness"),
)  # fmt: skip
_PROJECTIONS = Form(
    "step", "map", _STEPS, "subset", spread=("sem",), names={"oasis": "OASIS, not projected"},
)  # fmt: skip
_MCML = Form(
    "step", "map",
    Axes(x_label="Iterations", y_label=MAP, x_scale="start and log", x_told="iteration {:,.0f}", from_zero=True),
    "subset", spread=("sem",),
    names={
        "train": "MCML, training images", "test": "MCML, test images", "euclidean": "Euclidean, test images",
        "end": "MCML ends by itself, mean over folds",
    },
    fixed={"train": Look(ORANGE, "^"), "test": LOOKS["mcml"], "euclidean": DASHED, "end": DOTTED},
)  # fmt: skip
_SYMMETRY = Form(
    "step", "symmetry_index",
    Axes(x_label=STEPS, y_label="Symmetry index of W", x_told="{:,.0f} training steps", y_told="{:.4f}"),
    "subset", spread=("sem",),
)  # fmt: skip
_BOUND = Form(
    "step", "value",
    Axes(
        x_label="Triplets seen", y_label="Mistakes, bound on mistakes", x_scale="log", y_scale="log",
        x_told="{:,.0f} triplets seen", y_told="{:,.0f}",
    ),
    "subset", spread=("low", "high"), band=True,
    names={"mistakes": "mistakes of OASIS", "triplets": "triplets seen"},
    fixed={"mistakes": LOOKS["oasis"], "triplets": DOTTED}, looks=_bounds,
)  # fmt: skip
_TIME = Form(
    "n_features", "seconds",
    Axes(
        x_label="Number of features d (words of the codebook)", y_label="Training time in CPU seconds",
        x_scale="log", y_scale="log", x_told="d = {:,.0f}", y_told="time",
    ),
    spread=("low", "high"), looks=layouts.looks_of_times, layout=layouts.landmark_times,
    names=layouts.RECONSTRUCTED, csv=("series", "method", "n_features", "seconds", "low", "high", "n_repeats", "data"),
)  # fmt: skip
_SPARSITY = Form(
    "nonzero_share", "map",
    Axes(
        x_label="Sparsity of w (%)", y_label="Mean average precision (%)", x_scale="log", x_told="nonzero share",
        y_told="{:.2f}%", reversed=True, by_point=True,
        x_ticks={share: f"{100 - share:g}" for share in (100, 50, 10, 1, 0.1, 0.01, 0.001)},
    ),
    "panel", note="note", fixed={"tfidf": DASHED}, layout=layouts.landmark_sparsity,
    names=layouts.RECONSTRUCTED,
    csv=("representation", "n_words", "series", "regularization", "sparsity", "map", "n_draws", "nonzero"),
)  # fmt: skip
_SAMPLING = Form(
    "percent", "value",
    {
        "similarity_precision": Axes(
            x_label="Out-of-class negatives (%)", y_label="Similarity precision (%)",
            x_told="{:.0f}% out-of-class negatives", y_told="{:.1f}%",
        ),
        "score": Axes(
            x_label="Out-of-class negatives (%)", y_label="Score at top k (triplets)",
            x_told="{:.0f}% out-of-class negatives", y_told="{:,.0f}",
        ),
    },
    "metric", spread=("low", "high"), band=True, points=("uniform",),
    names={"weighted": "weighted sampling", "uniform": "uniform sampling", "printed": "DeepRanking, printed (Table 1)"},
    fixed={**SAMPLING_LOOKS, "printed": Look(BLACK, "o"), layouts.CHOSEN: Look(BLACK, "", ":")},
    layout=layouts.sampling, csv=("series", "percent", "metric"),
)  # fmt: skip
_SEEN: Mapping[str, Axes] = {
    f"{phase}, {quantity}": Axes(title=phase.capitalize(), x_label=x, y_label=y, x_told="{:,.0f} " + seen, y_told=told)
    for phase, seen, x, quantity, y, told in (
        ("classification", "images seen", "Images seen", "precision", "Images classified rightly (%)", "{:.1f}%"),
        ("ranking", "triplets seen", "Triplets seen", "precision", "Precision on triplets (%)", "{:.1f}%"),
        ("classification", "images seen", "Images seen", "loss", "Cross-entropy", "{:.3f}"),
        ("ranking", "triplets seen", "Triplets seen", "loss", "Hinge loss", "{:.3f}"),
    )
}
_NETWORKS = Form(
    "seen", "value", _SEEN, "panel", series="system", members="part", thin=("training",),
    looks=layouts.network_looks, layout=layouts.networks, lettered=False, title=layouts.short_title,
    csv=("system", "phase", "seen", "quantity", "part", "value"),
)  # fmt: skip
_CONTRASTS = Form(
    "row", "difference",
    {
        "similarity_precision": Axes(y_label="Precision, difference (points)", y_told="{:+.1f}", across=True),
        "score": Axes(y_label="Score at top k, difference (triplets)", y_told="{:+,.0f}", across=True),
    },
    "metric", spread=("low", "high"),
    points=("interval without 0", "interval with 0", "printed"),
    fixed={
        "interval without 0": Look(LOOKS["oasis"].colour, "o"), "interval with 0": Look(GREY, "o"),
        "printed": Look(BLACK, "D"),
    },
    layout=layouts.contrasts, csv=("system_a", "system_b", "difference", "printed", "excludes_0"),
)  # fmt: skip

JMLR, DRAFT, NIPS, DEEP = "oasis-jmlr-2010", "oasis-2009-draft", "oasis-nips-2009", "deep-ranking-cvpr-2014"

FORMS: Mapping[tuple[str, str], Form] = {
    (JMLR, "fig5"): _TRAINING,
    (JMLR, "fig6"): _PRECISION,
    (JMLR, "fig7"): _RANKERS,
    (JMLR, "fig8"): _PRECISION,
    (JMLR, "fig9"): _PROJECTIONS,
    (DRAFT, "fig3"): _TRAINING,
    (DRAFT, "fig4"): _PRECISION,
    (DRAFT, "fig5"): _PRECISION,
    (DEEP, "fig6"): _SAMPLING,
    ("learning", "mcml"): _MCML,
    ("learning", "symmetry"): _SYMMETRY,
    ("learning", "loss_bound"): _BOUND,
    ("landmark", "time"): _TIME,
    ("landmark", "sparsity"): _SPARSITY,
    ("finegrained", "curves"): _NETWORKS,
    ("finegrained", "contrasts"): _CONTRASTS,
}
"""Figures of curves by (paper or group, name)."""
