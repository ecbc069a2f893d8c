"""CSVs of figures laid out as their forms read them: one row a point, with its panel, its series and absolute bounds.

What is worked out here, and is not in a CSV, is where rows of a forest plot stand, with the functions that the static
figures use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from lookalike.exhibits.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, Look, looks_of
from lookalike.studies.finegrained.systems import DEEP, ordered_systems, system_title

if TYPE_CHECKING:
    import pandas as pd

WITHOUT_PAIRS = ", without pair products"
CHOSEN = "share of DeepRanking"
RECONSTRUCTED = {"qpao": "QPAO (reconstructed)"}
"""Ours of a method whose paper leaves parts of it out; what is printed is of the authors' own."""


def rankers(frame: pd.DataFrame) -> pd.DataFrame:
    """Single rankers first, so that averages lie upon them; they have no error of their own."""
    single = frame["series"] == "single"
    return frame.assign(sem=frame["sem"].where(~single)).loc[single.sort_values(ascending=False, kind="stable").index]


def landmark_times(frame: pd.DataFrame) -> pd.DataFrame:
    """A series a method, beside what it takes without products of pairs and what is printed of it."""
    suffix = frame["series"].map({"ours": "", "printed": ", printed"}).fillna(WITHOUT_PAIRS)
    return frame.assign(series=frame["method"] + suffix)


def looks_of_times(series: Sequence[str]) -> dict[str, Look]:
    """Looks in the papers' order of methods; without products of pairs a method's line is dotted."""
    methods = list(dict.fromkeys(name.removesuffix(WITHOUT_PAIRS) for name in series))
    papers = ["qpao", "oasis-diagonal", "soml-tg", "soml-da"]
    looks = looks_of([*papers, *(method for method in methods if method not in papers)])
    return {**looks, **{name + WITHOUT_PAIRS: Look(look.colour, "", ":") for name, look in looks.items()}}


def landmark_sparsity(frame: pd.DataFrame) -> pd.DataFrame:
    """The share of weights that are not zero, at least half a weight; a panel a codebook."""
    share = np.maximum(100 - frame["sparsity"].to_numpy(dtype=float), 50 / frame["n_words"].to_numpy(dtype=float))
    notes = [f"lambda {value:g}" if not math.isnan(value) else "" for value in frame["regularization"]]
    panels = [f"{words:,} words" for words in frame["n_words"]]
    return frame.assign(nonzero_share=share, note=notes, panel=panels)


def sampling(frame: pd.DataFrame) -> pd.DataFrame:
    """Panels of precision and of score, with a line at the share of out-of-class negatives that the paper chose."""
    import pandas as pd

    chosen = frame[frame["system"] == DEEP].assign(series=CHOSEN, value=math.nan, low=math.nan, high=math.nan)
    return _with_score(pd.concat([frame, chosen], ignore_index=True), "Score at top {} (triplets)")


def _with_score(frame: pd.DataFrame, label: str) -> pd.DataFrame:
    names = [metric for metric in frame["metric"].unique() if metric.startswith("score@")]
    table = frame.replace({"metric": dict.fromkeys(names, "score")})
    if names:
        table.attrs["y_labels"] = {"score": label.format(names[0].removeprefix("score@"))}
    return table


def short_title(system: str) -> str:
    """Return the name of a system where there is little room."""
    return system_title(system, short=True)


def networks(frame: pd.DataFrame) -> pd.DataFrame:
    """A panel a phase and quantity; series in the order of the paper's tables, training behind validation."""
    order = {system: place for place, system in enumerate(ordered_systems(frame["system"]))}
    table = frame.assign(panel=frame["phase"] + ", " + frame["quantity"])
    table = table.sort_values("system", key=lambda names: names.map(order), kind="stable")
    # precision above loss, as in the static figure
    return table.sort_values("quantity", ascending=False, kind="stable")


def network_looks(series: Sequence[str]) -> dict[str, Look]:
    """Colours in the order of systems, then dashes."""
    colours = (BLACK, BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
    looks = cycle([Look(colour, "", line) for line in ("-", "--", ":", "-.") for colour in colours])
    return dict(zip(ordered_systems(series), looks, strict=False))


def contrasts(frame: pd.DataFrame) -> pd.DataFrame:
    """A row a pair of systems, in the CSV's order; those whose interval holds 0 and the printed ones are series."""
    import pandas as pd

    pairs = list(dict.fromkeys(zip(frame["system_a"], frame["system_b"], strict=True)))
    rows = {pair: place for place, pair in enumerate(pairs)}
    places = [rows[pair] for pair in zip(frame["system_a"], frame["system_b"], strict=True)]
    own = frame.assign(row=places, series=np.where(frame["excludes_0"], "interval without 0", "interval with 0"))
    printed = own.assign(series="printed", difference=own["printed"], low=math.nan, high=math.nan)
    table = pd.concat([own, printed], ignore_index=True)
    table = _with_score(table[table["difference"].notna()], "Score-{}, difference (triplets)")
    names = {place: f"{short_title(a)} − {short_title(b)}" for (a, b), place in rows.items()}
    table.attrs["x_ticks"] = dict.fromkeys(table["metric"].unique(), names)
    return table
