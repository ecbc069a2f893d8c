"""CSVs of figures laid out as their forms read them: one row a point, with its panel, its series and absolute bounds.

What is worked out here, and is not in a CSV, are the lines that figures draw through its numbers (a power law, a
polynomial) and where rows of a forest plot stand; all with the functions that the static figures use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.style import BLACK, BLUE, GREEN, LOOKS, ORANGE, OTHERS, PURPLE, SKY, VERMILLION, Look, looks_of
from lookalike.exhibits.triplet_context import DEEP, ordered_systems, short_title
from lookalike.exhibits.web_calibration import PANELS as MARGINALS
from lookalike.exhibits.web_context import PARTS
from lookalike.exhibits.web_runtime import LMNN, MEASURED, OASIS, lmnn_polynomial, lmnn_sizes, scaling
from lookalike.exhibits.web_runtime import OWN_RUN as OF_OWN_RUN
from lookalike.exhibits.web_scaling import polynomial
from lookalike.report._curve_data import Axes

if TYPE_CHECKING:
    import pandas as pd

OWN_RUN, POWER_LAW, EXTRAPOLATED = "OASIS, the study's own run", "OASIS: power law", "LMNN, extrapolated"
WITHOUT_PAIRS = ", without pair products"
MEANS_OF_PARTS = {part: f"{part} mean" for part in PARTS}
MEANS = {f"{part} mean": f"{title} part, mean" for part, title in PARTS.items()}
COUNTS, CHOSEN = "counts", "share of DeepRanking"
EXTRAPOLATED_POINTS = 60
RECONSTRUCTED = {"qpao": "QPAO (reconstructed)"}
"""Ours of a method whose paper leaves parts of it out; what is printed is of the authors' own."""


def rankers(frame: pd.DataFrame) -> pd.DataFrame:
    """Single rankers first, so that averages lie upon them; they have no error of their own."""
    single = frame["series"] == "single"
    return frame.assign(sem=frame["sem"].where(~single)).loc[single.sort_values(ascending=False, kind="stable").index]


def runtime(frame: pd.DataFrame) -> pd.DataFrame:
    """Times with what is told of them, the power law through ours of OASIS and the polynomial through ours of LMNN."""
    import pandas as pd

    told = frame.assign(note=[_note_on_time(row) for row in frame.to_dict("records")])
    records: list[Any] = frame.assign(stopped=frame["stopped"].fillna("")).to_dict("records")
    measured = [one for one in records if one["source"] in (MEASURED, OF_OWN_RUN)]
    lines = []
    sizes = np.array([one["n_images"] for one in measured if one["series"] == OASIS], dtype=np.float64)
    if (law := scaling(measured)) is not None and len(sizes):
        ends = np.array([sizes.min(), sizes.max()])
        lines.append(pd.DataFrame({"series": POWER_LAW, "n_images": ends, "seconds": law.seconds(ends)}))
    target = [one["n_images"] for one in records if one["series"] == EXTRAPOLATED]
    fit = lmnn_polynomial([one for one in measured if one["learner"] == LMNN])
    if fit is not None and target:
        last = max(lmnn_sizes([one for one in measured if one["learner"] == LMNN]))
        sizes = np.geomspace(last, target[0], EXTRAPOLATED_POINTS)
        lines.append(pd.DataFrame({"series": EXTRAPOLATED, "n_images": sizes, "seconds": polynomial(fit, sizes)}))
        told = told[told["series"] != EXTRAPOLATED]
    return pd.concat([told, *lines], ignore_index=True)


def _note_on_time(row: Mapping[Any, Any]) -> str:
    """How a fit ended, on how many threads, and whether it had not ended."""
    if row["source"] not in (MEASURED, OF_OWN_RUN):
        return str(row["source"])
    parts = [str(row["stopped"])]
    parts += ["a lower bound"] if row["lower_bound"] else []
    parts += [f"median of {row['n_repeats']} repeats"] if row["n_repeats"] > 1 else []
    return ", ".join(parts)


def web_learning(frame: pd.DataFrame) -> pd.DataFrame:
    """MAP and rate of losses as panels; the steps whose matrix is kept stand in both."""
    import pandas as pd

    parts = []
    for quantity in ("map", "loss_rate"):
        rows = frame.assign(quantity=quantity, value=frame[quantity])
        parts.append(rows[rows["value"].notna() | (rows["series"] == "stop")])
    table = pd.concat(parts, ignore_index=True)
    single = table["series"].isin(("mean", "oasis-averaged")).any()
    # one ranker alone is a line of its own, not one of many behind their mean
    return table if single else table.replace({"series": {"ranker": "oasis"}})


def recall(frame: pd.DataFrame) -> pd.DataFrame:
    """Points of an index in the order of their time; the parameter is told."""
    notes = [f"parameter {parameter:g}" if index != "exact" else "" for index, parameter in _pairs(frame)]
    table = frame.assign(note=notes).sort_values(["series", "milliseconds"], kind="stable")
    # the legend keeps the order of the CSV
    order = {name: place for place, name in enumerate(dict.fromkeys(frame["series"]))}
    table = table.sort_values("series", key=lambda names: names.map(order), kind="stable")
    table.attrs["y_labels"] = {"": f"Recall of the exact first {frame['k'].iloc[0]} (%)"}
    return table


def _pairs(frame: pd.DataFrame) -> list[tuple[str, float]]:
    return list(zip(frame["index"], frame["parameter"], strict=True))


def index_looks(series: Sequence[str]) -> dict[str, Look]:
    """One colour and marker an index; exact search is black."""
    plain = [LOOKS[name] for name in ("soml-da", "oasis", "soml-tg", "lmnn")]
    free = [Look(look.colour, look.marker, line) for line in ("-", "--", ":") for look in (*plain, *OTHERS)]
    return {"exact": Look(BLACK, "*"), **dict(zip([name for name in series if name != "exact"], free, strict=False))}


def calibration(frame: pd.DataFrame) -> pd.DataFrame:
    """A panel a quantity, means as vertical lines, and the counts of both parts as rows of a panel."""
    import pandas as pd

    counted = frame["source"].isin(("counted", "printed"))
    curves = frame[~counted & (frame["source"] != "slope")]
    is_mean = curves["source"].str.endswith(" mean")
    names = np.where(curves["source"] == "printed mean", "printed mean", curves["part"].fillna("") + " mean")
    lines = curves.assign(series=np.where(is_mean, names, curves["part"]))
    counts = frame[counted]
    rows = [f"{PARTS[part]} {quantity}" for part in PARTS for quantity in ("queries", "images")]
    places = [
        rows.index(f"{PARTS[part]} {quantity}")
        for part, quantity in zip(counts["part"], counts["quantity"], strict=True)
    ]
    series = np.where(counts["source"] == "printed", "printed", "counted, " + counts["part"])
    counts = counts.assign(series=series, quantity=COUNTS, y=counts["x"], x=places)
    table = pd.concat([lines, counts], ignore_index=True)
    order = {name: place for place, name in enumerate((*MARGINALS, COUNTS))}
    table = table.sort_values("quantity", key=lambda names: names.map(order), kind="stable")
    table.attrs["x_ticks"] = {COUNTS: dict(enumerate(rows))}
    return table


def calibration_axes() -> dict[str, Axes]:
    """Axes of the panels of `calibration`, which are those of the static figure."""
    found = {
        quantity: Axes(
            title=panel.title, x_label=panel.x, y_label=panel.y, x_told=f"{panel.x}: {{:,.6g}}", y_told="{:.3g}",
            x_scale="linear" if panel.form == "histogram" else "log",
            y_scale="linear" if panel.form == "histogram" else "log",
            from_zero=panel.form == "histogram", steps=panel.form == "histogram", bare=True,
        )
        for quantity, panel in MARGINALS.items()
    }  # fmt: skip
    counts = Axes(title="Counts", y_label="Number", y_scale="log", y_told="{:,.0f}", across=True)
    return {**found, COUNTS: counts}


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
