"""Galleries, figures and table of the human study (JMLR 5.2.3 and Appendix A, NIPS 4.1, and the draft of 2009)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.model import Axis, Figure, Gallery, Line, Panel, Series
from lookalike.exhibits.printed import beside_print, plus_minus
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, BLUE, GREEN, GREY, LOOKS, ORANGE, PURPLE, RATERS, Look
from lookalike.studies.human.galleries import gallery
from lookalike.studies.human.study import NIPS, HumanStudy

JMLR = "oasis-jmlr-2010"
K_MAX = 10
"""Found images of each query that the papers' raters judged."""
SELECTED = (1, 6, 11, 16, 21)
"""Ranks, by mean average precision, of the queries in JMLR Figure 3C."""
SELECTED_LOOKS = (Look(ORANGE, "P"), Look(BLUE, "s"), Look(GREEN, "^"), Look(PURPLE, "D"), Look(BLACK, "v"))
QUANTITIES = {"human_precision_peak": "precision_peak", "human_p@10": "precision_at_10"}
"""Printed metric, in percent, to the single number of ours."""

PRINTED_PEAK, PRINTED_AT_K = "oasis, printed peak", "oasis, printed"
"""Series of the precisions that JMLR prints: the largest of any k, and that of the first ten."""
BEST_QUERIES = ("oasis-jmlr-2010/table2", "oasis-2009-draft/table4", "oasis-nips-2009/table1")
PRECISION_OF_QUERIES = ("oasis-jmlr-2010/fig3d", "oasis-nips-2009/fig1a")
"""Exhibits of several papers that one function draws."""
GALLERY_FILES = ("ranks", "manifest", "images")
OVER_PAIRS = (
    "Error bars are standard errors over all pairs of a query and a rater. The CSV file also has those over queries "
    "alone (error_over_queries), which are larger where raters agree."
)
LEFT_OUT_RATER = (
    "The precision of OASIS is the share of raters who call its images good, mean over its images. The precision of a "
    "rater is the same for the images that this rater calls good, judged by all others."
)


@exhibit(*BEST_QUERIES, title="Queries that OASIS answers best", needs=GALLERY_FILES)
def best_queries(study: HumanStudy) -> Gallery:
    """Where OASIS does best: query images, each with the first five images that it finds."""
    return gallery(study, "best", 2 if study.paper == NIPS else 4)


@exhibit("oasis-jmlr-2010/table3", "oasis-2009-draft/table5", title="Queries that OASIS fails", needs=GALLERY_FILES)
def worst_queries(study: HumanStudy) -> Gallery:
    """Where OASIS fails: query images, each with the first five images that it finds."""
    return gallery(study, "worst", 3)


@exhibit("oasis-jmlr-2010/fig3b", title="Precision at top k as raters judge it", needs=("metrics",))
def mean_curve(study: HumanStudy) -> Figure:
    """Which share of the first k images of OASIS is good for raters: mean over queries and raters."""
    return _curves(study, _of_all_queries)


@exhibit("oasis-jmlr-2010/fig3c", title="Precision at top k of single queries as raters judge it", needs=("metrics",))
def selected_curves(study: HumanStudy) -> Figure:
    """Which share of the first k images of OASIS is good for raters: single queries, from good to bad ones."""
    return _curves(study, _of_selected_queries)


@exhibit("oasis-2009-draft/fig7", title="Precision at top k as raters judge it", needs=("metrics",))
def both_curves(study: HumanStudy) -> Figure:
    """Which share of the first k images of OASIS is good for raters: (A) mean, (B) single queries."""
    return _curves(study, _of_all_queries, _of_selected_queries)


@exhibit(*PRECISION_OF_QUERIES, title="Precision of OASIS and of raters for each query", needs=("metrics", "nips"))
def query_precision(study: HumanStudy) -> Figure:
    """Whether OASIS is as precise as a person: for each query, both are judged by the other raters."""
    frame = _query_rows(study)
    cells = None
    if study.paper == NIPS:
        mean, n_raters = frame.loc[frame["series"] == "oasis", "precision"].mean(), int(study.number("n_raters"))
        means = [("oasis, mean", mean, n_raters, study.simulated)]
        means.append(("oasis, printed mean", study.printed_share("human_p@10"), 0, False))
        columns = ["series", "precision", "n_raters", "simulated"]
        frame = pd.concat([frame, pd.DataFrame(means, columns=columns).dropna(subset="precision")], ignore_index=True)
        cells = _cells(study, ((NIPS, "human_p@10"),))
    frame = frame.astype({"order": "Int64", "query_image": "Int64"})
    return Figure(frame, (_query_panel(study, frame),), cells, notes=(LEFT_OUT_RATER,), size=(4.6, 2.9))


def _cells(study: HumanStudy, printed: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Ours beside printed numbers, each named by paper and metric."""
    rows = []
    for paper, metric in printed:
        ours = 100 * study.number(QUANTITIES[metric], paper)
        cell = {"ours": ours, "ours_std": math.nan, "ours_cell": plus_minus(ours, math.nan, ".1f")}
        rows.append({"paper": paper, "metric": metric, "method": "oasis", **cell})
    texts = study.printed[study.printed["exhibit"] == "text"]
    cells = beside_print(pd.DataFrame(rows), texts, on=("paper", "metric", "method"), judge=study.judge)
    cells["printed_cell"] = [plus_minus(value, math.nan, "g") for value in cells["printed"]]
    return cells.assign(unit="percent", simulated=study.simulated)


def _curves(study: HumanStudy, *parts: Callable[[HumanStudy], tuple[str, pd.DataFrame, Panel]]) -> Figure:
    """Figure of curves by rank: of all queries, and of selected ones."""
    heads, frames, panels = zip(*(part(study) for part in parts), strict=True)
    frame = pd.concat(frames, ignore_index=True).astype({"k": "Int64", "query_image": "Int64"})
    drawn = tuple(replace(panel, title=title) for panel, title in zip(panels, lettered(heads), strict=True))
    if _of_all_queries not in parts:
        return Figure(frame, drawn)
    return Figure(frame, drawn, _cells(study, [(JMLR, "human_p@10"), (JMLR, "human_precision_peak")]), (OVER_PAIRS,))


def _of_all_queries(study: HumanStudy) -> tuple[str, pd.DataFrame, Panel]:
    """Mean curve with its errors, the share of random images called good, and the printed numbers."""
    curve, over_queries = study.curve("p@k"), study.curve("p@k by query")
    errors = {"error": curve["high"] - curve["value"], "error_over_queries": over_queries["high"] - curve["value"]}
    own = curve.rename(columns={"value": "precision"}).assign(series="oasis", query_image=None, **errors)
    levels = [("random", study.number("random_good"), math.nan)]
    levels.append((PRINTED_PEAK, study.printed_share("human_precision_peak"), math.nan))
    if study.n_retrieved >= K_MAX:
        levels.append((PRINTED_AT_K, study.printed_share("human_p@10"), K_MAX))
    others = pd.DataFrame(levels, columns=["series", "precision", "k"])
    frame = pd.concat([own.rename_axis("k").reset_index(), others], ignore_index=True)
    is_printed = frame["series"].isin([PRINTED_PEAK, PRINTED_AT_K])
    counts = {name: int(study.number(name)) * ~is_printed for name in ("n_queries", "n_raters")}
    frame = frame.assign(**counts, simulated=study.simulated & ~is_printed).dropna(subset="precision")
    look, at = LOOKS["oasis"], ("k", "precision")
    series = [Series(study.title_of("oasis"), {"series": "oasis"}, *at, look, "low", "high")]
    if PRINTED_AT_K in set(frame["series"]):
        where = {"series": PRINTED_AT_K}
        series.append(Series("printed, at k = 10", where, *at, look, kind="points", hollow=True))
    names = {"random": ("random images", Look(GREY, "", "--"))}
    names[PRINTED_PEAK] = ("printed peak (its k is not printed)", Look(look.colour, "", ":"))
    lines = _levels(frame, names)
    return "All queries", frame, Panel("", *_axes(study), tuple(series), lines)


def _of_selected_queries(study: HumanStudy) -> tuple[str, pd.DataFrame, Panel]:
    """Curves of the selected queries, the best first; bars of one k stand beside, not upon, each other."""
    maps, images = _falling(study.curve("query map")["value"]), study.curve("query image", "")["value"]
    raters = study.curve("query raters")["value"]
    ranks = range(1, study.n_retrieved + 1)
    points = pd.concat({k: study.curve(f"query p@{k}") for k in ranks}, names=["k", "query"])
    selected = [rank for rank in SELECTED if rank <= len(maps)]
    parts, series = [], []
    for place, (rank, look) in enumerate(zip(selected, SELECTED_LOOKS, strict=False)):
        query = maps.index[rank - 1]
        own = points.xs(query, level="query").reset_index().rename(columns={"value": "precision"})
        own = own.assign(series=f"rank {rank}", query_image=images[query], map=maps[query], n_queries=1)
        parts.append(own.assign(n_raters=int(raters[query]), error=own["high"] - own["precision"]))
        name, where = f"rank {rank}: mAP {maps[query]:.2f}", {"series": f"rank {rank}"}
        aside = 0.09 * (place - (len(selected) - 1) / 2)
        series.append(Series(name, where, "k", "precision", look, "low", "high", aside=aside))
    columns = ["series", "query_image", "map", "k", "precision", "low", "high", "error", "n_queries", "n_raters"]
    frame = pd.concat(parts)[columns].assign(simulated=study.simulated)
    return "Single queries, by rank of mAP", frame, Panel("", *_axes(study), tuple(series))


def _falling(values: pd.Series) -> pd.Series:
    """Values by query, the highest first; equal ones (to rounding) keep the order of the queries."""
    return values.iloc[np.lexsort((values.index, -values.to_numpy().round(12)))]


def _axes(study: HumanStudy) -> tuple[Axis, Axis]:
    k_max = study.n_retrieved
    ticks = tuple((float(k), str(k)) for k in range(1, k_max + 1))
    x = Axis("Number of neighbours k", low=0.5, high=k_max + 0.5, ticks=ticks, text="k = {:.0f}")
    return x, Axis("Precision at top k", low=-0.03, high=1.03, text="{:.3f}")


def _levels(frame: pd.DataFrame, names: dict[str, tuple[str, Look]]) -> tuple[Line, ...]:
    """Lines at the precision of series without a place."""
    at = frame.set_index("series")["precision"]
    return tuple(Line(name, float(at[series]), look) for series, (name, look) in names.items() if series in at)


def _query_rows(study: HumanStudy) -> pd.DataFrame:
    """Precision of OASIS and of raters on each query, by falling precision of OASIS."""
    oasis = _falling(study.curve("query precision")["value"])
    human, bounds = study.curve("query precision", "raters"), study.curve("query range", "raters")
    images, n_raters = study.curve("query image", ""), study.curve("query raters", "raters")["value"].astype(int)
    queries = images.loc[oasis.index, ["value"]].rename(columns={"value": "query_image"}).assign(n_raters=n_raters)
    queries.insert(0, "order", range(1, len(oasis) + 1))
    ends = human.rename(columns={"value": "precision"}).assign(error=human["high"] - human["value"])
    ends = ends.assign(lowest=bounds["low"], highest=bounds["high"])
    of_raters = queries.assign(series="human").join(ends)
    parts = [queries.assign(series="oasis", precision=oasis), of_raters]
    return pd.concat(parts, ignore_index=True).assign(simulated=study.simulated)


def _query_panel(study: HumanStudy, frame: pd.DataFrame) -> Panel:
    title, look = study.title_of("oasis"), LOOKS["oasis"]
    series = [Series(title, {"series": "oasis"}, "order", "precision", look, each=True)]
    if frame.loc[frame["series"] == "human", "precision"].notna().any():
        at, span = ({"series": "human"}, "order", "precision"), ("lowest", "highest")
        series.append(Series("raters, mean", *at, RATERS, "low", "high", kind="points"))
        series.append(Series("lowest to highest rater", *at, Look(GREY, ""), *span, kind="points", band=True))
    names = {"oasis, mean": (f"{title}, mean", Look(look.colour, "", "--"))}
    names["oasis, printed mean"] = (f"{title}, printed mean", Look(look.colour, "", ":"))
    n = int(frame["order"].max())
    places = [1, *range(5, n + 1, 5)] if n > 7 else list(range(1, n + 1))
    ticks = tuple((float(place), str(place)) for place in places)
    label = "Query, sorted by the precision of OASIS"
    x = Axis(label, low=0.3, high=n + 0.7, text="query {:.0f}", ticks=ticks)
    y = Axis("Precision", low=-0.03, high=1.03, text="{:.3f}")
    return Panel("", x, y, tuple(series), _levels(frame, names))
