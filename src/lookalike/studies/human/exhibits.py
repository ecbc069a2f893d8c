"""Galleries and figures of the human study (JMLR 5.2.3 and Appendix A, NIPS 4.1, and the draft of 2009)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.files import check_folder
from lookalike.exhibits.drawing import Chart, Curve, lettered, ruler
from lookalike.exhibits.image_grid import RIGHT, WRONG, class_name, draw_grid, tile_of
from lookalike.exhibits.model import Axis, Drawn, NothingToShowError, Tile
from lookalike.exhibits.results import rows_in, select
from lookalike.exhibits.style import BLACK, BLUE, GREEN, GREY, LOOKS, ORANGE, PURPLE, RATERS, Look
from lookalike.ranking.rankings import Rankings
from lookalike.studies.human.ratings import OASIS
from lookalike.studies.human.study import HumanStudy

JMLR, DRAFT, NIPS = "oasis-jmlr-2010", "oasis-2009-draft", "oasis-nips-2009"
MARKS = {
    "": None,
    "yes": replace(RIGHT, meaning="of the query's class"),
    "no": replace(WRONG, meaning="of another class"),
}
N_RESULTS = 5
"""Images shown of each ranking, as in the papers' tables."""
SELECTED = {1: Look(ORANGE, "P"), 6: Look(BLUE, "s"), 11: Look(GREEN, "^"), 16: Look(PURPLE, "D"), 21: Look(BLACK, "v")}
"""Ranks, by mean average precision, of the queries in JMLR Figure 3C."""
PRINTED = ("human_p@10", "human_precision_peak")
"""Printed metrics, in percent."""
AT_TEN, RATED = "printed, at k = 10", "raters, mean"
PRECISION = Axis("Precision", low=-0.03, high=1.03, text="{:.3f}")
COLUMNS = ["row", "image_id", "file", "class", "rank", "score", "role", "relevant", "average_precision"]
SHOWN = ["series", "query", "order", "precision", "low", "high", "lowest", "highest"]


def best_queries(study: HumanStudy) -> Drawn:
    """Draw the queries that OASIS answers best, each with the first five images that it finds."""
    return _gallery(study, 2 if study.paper == NIPS else 4, "highest", "all")


def worst_queries(study: HumanStudy) -> Drawn:
    """Draw queries that OASIS fails, each with the first five images that it finds."""
    return _gallery(study, 3, "lowest", f"those without an image of their class among the first {N_RESULTS}")


def _gallery(study: HumanStudy, n: int, which: str, among: str) -> Drawn:
    """Queries in rows, each with the first images of OASIS; the papers picked theirs by hand, here a rule does."""
    found, images = Rankings.load(study.path("ranks")), study.table("manifest").set_index("image_id")
    root = study.images_root
    check_folder(root, "put the images back, or make them again, then go on")
    queries = pd.DataFrame({"id": found.query_ids, "precision": found.average_precision()}).dropna()
    if which == "lowest":
        queries = queries[found.ranks[found.offsets[queries.index]] > N_RESULTS]
    queries["label"] = images["label"].loc[queries["id"]].to_numpy()
    ordered = queries.sort_values(["precision", "id"], ascending=[which == "lowest", True])
    selected = ordered.drop_duplicates("label").head(n)
    if selected.empty:
        raise NothingToShowError(
            f"Not made: of {found.n_queries:,} queries that OASIS answers, none is one of {among}."
        )
    parts = []
    for place, (row, query) in enumerate(zip(selected.index, rows_in(selected), strict=True), start=1):
        ids, scores = found.nearest(row, N_RESULTS)
        part = pd.DataFrame({"row": place, "image_id": [query.id, *ids], "score": [math.nan, *scores]})
        part["relevant"] = np.where(images.loc[part["image_id"], "label"] == query.label, "yes", "no")
        parts.append(part.assign(rank=part.index, average_precision=query.precision))
    frame = pd.concat(parts, ignore_index=True)
    is_query = frame["rank"] == 0
    frame["role"], frame["relevant"] = np.where(is_query, "query", "result"), frame["relevant"].mask(is_query, "")
    frame[["file", "class"]] = images.loc[frame["image_id"], ["path", "label"]].to_numpy()
    fewer = "" if len(selected) == n else f"; the paper shows {n}"
    rule = (
        f"No query was picked by hand: of {among} ({len(queries):,}), these are the {len(selected)} of {which} average "
        f"precision (AP), at most one of each class{fewer}. Of equal ones, the one with the lower image id is shown."
    )
    heads = ("query", *(f"rank {rank}" for rank in range(1, N_RESULTS + 1)))
    rows = [[_tile(root, image) for _, image in own.iterrows()] for _, own in frame.groupby("row")]
    return Drawn(frame[COLUMNS], (rule,), canvas=draw_grid(rows, heads=heads))


def _tile(root: Path, image: pd.Series) -> Tile:
    """Return the tile of an image that is shown, in a query's row; the query has its average precision beneath."""
    words = class_name(image["class"]) + ("" if image["rank"] else f"\nAP {100 * image['average_precision']:.1f}%")
    return tile_of(root / image["file"], words, MARKS[image["relevant"]])


def curves(study: HumanStudy) -> Drawn:
    """Draw which share of the first k images of OASIS is good for raters: in the mean, or of single queries."""
    name = study.exhibit.name if study.exhibit is not None else ""
    both = {"All queries": _of_all_queries, "Single queries, by rank of mAP": _of_selected_queries}
    parts = [*both][{"fig3b": slice(1), "fig3c": slice(1, 2)}.get(name, slice(2))]
    chart = Chart(len(parts))
    frames = [both[part](study, chart, title) for part, title in zip(parts, lettered(parts), strict=True)]
    frame = pd.concat(frames, ignore_index=True).astype({"k": "Int64"})
    names = {OASIS: study.title_of(OASIS), "oasis, printed": AT_TEN}
    return chart.drawn(frame, titles={"series": names})


def _printed(study: HumanStudy, paper: str) -> list[float]:
    """Return the shares that a paper prints of what people call good; NaN of one that it does not, or of simulation."""
    printed = study.printed_in("text", paper).set_index("metric")["value"] / 100
    return [math.nan if study.simulated else float(printed.get(metric, math.nan)) for metric in PRINTED]


def _panel(chart: Chart, title: str, n: int, curves: Sequence[Curve]) -> Any:
    """Draw a panel of curves over the first `n` images."""
    ticks = tuple((float(k), str(k)) for k in range(1, n + 1))
    x = Axis("Number of neighbours k", low=0.5, high=n + 0.5, ticks=ticks, text="k = {:.0f}")
    return chart.panel(title, x, PRECISION, curves)


def _of_all_queries(study: HumanStudy, chart: Chart, title: str) -> pd.DataFrame:
    """Draw the mean curve, the share of random images called good and, where people rated, printed numbers."""
    own, look = study.curve().reset_index().assign(series=OASIS), LOOKS[OASIS]
    at_ten, peak = _printed(study, JMLR)
    n, random = int(own["k"].max()), study.number("random_good")
    levels = [("random", random, math.nan), ("oasis, printed peak", peak, math.nan), ("oasis, printed", at_ten, 10)]
    others = pd.DataFrame(levels, columns=["series", "precision", "k"]).dropna(subset="precision")
    plotted = [Curve(study.title_of(OASIS), look, own, "k", "precision")]
    if n >= 10 and not math.isnan(at_ten):  # a page of fewer images ends before the printed k
        hollow, rows = replace(look, kind="points", hollow=True), select(others, series="oasis, printed")
        plotted.append(Curve(AT_TEN, hollow, rows, "k", "precision", None))
    panel = _panel(chart, title, n, plotted)
    panel.axhline(random, label="random images", **ruler(GREY))
    if not math.isnan(peak):
        panel.axhline(peak, label="printed peak (its k is not printed)", **ruler(look.colour, ":"))
    return pd.concat([own, others[~(others["k"] > n)]], ignore_index=True)


def _of_selected_queries(study: HumanStudy, chart: Chart, title: str) -> pd.DataFrame:
    """Draw curves of the selected queries, the best first; bars of one k stand beside, not upon, each other."""
    maps, plotted = _falling(study.by_query()["map"]), []
    selected = [rank for rank in SELECTED if rank <= len(maps)]
    for place, rank in enumerate(selected):
        query, name = maps.index[rank - 1], f"rank {rank}"
        rows = study.curve(query=str(query)).reset_index().assign(series=name, query=query, map=maps[query])
        look = replace(SELECTED[rank], shift=0.09 * (place - (len(selected) - 1) / 2))
        plotted.append(Curve(f"{name}: mAP {maps[query]:.2f}", look, rows, "k", "precision"))
    frame = pd.concat([curve.rows for curve in plotted])
    _panel(chart, title, int(frame["k"].max()), plotted)
    return frame


def _falling(values: pd.Series) -> pd.Series:
    """Values by query, the highest first; equal ones (to rounding) keep the order of the queries."""
    return values.iloc[np.lexsort((values.index, -values.to_numpy().round(12)))]


def query_precision(study: HumanStudy) -> Drawn:
    """Draw the precision of OASIS and of people for each query, both judged by the other raters."""
    table, look, title = study.by_query(), LOOKS[OASIS], study.title_of(OASIS)
    table = table.loc[_falling(table[OASIS]).index].reset_index()
    table["order"], n = table.index + 1, len(table)
    own = table[["query", "order"]].assign(series=OASIS, precision=table[OASIS])
    people = table.assign(series="human", precision=table["raters"], low=table["raters"] - table["error"])
    people["high"] = table["raters"] + table["error"]
    frame = pd.concat([own, people], ignore_index=True)[SHOWN]
    at = "order", "precision"
    plotted = [Curve(title, replace(look, kind="each"), own, *at, None)]
    if table["raters"].notna().any():
        plotted.append(Curve(RATED, replace(RATERS, kind="points"), people, *at))
        bare = Look(GREY, "", kind="points", band=True)
        plotted.append(Curve("lowest to highest rater", bare, people, *at, ("lowest", "highest")))
    means = dict[str, tuple[float, str]]()
    if study.paper == NIPS:
        means = {"mean": (table[OASIS].mean(), "--")}
        if not math.isnan(printed := _printed(study, NIPS)[0]):
            means["printed mean"] = printed, ":"
        others = pd.DataFrame([{"series": f"oasis, {name}", "precision": at} for name, (at, _) in means.items()])
        frame = pd.concat([frame, others], ignore_index=True).astype({"order": "Int64", "query": "Int64"})
    ticks = tuple((float(place), str(place)) for place in ([1, *range(5, n + 1, 5)] if n > 7 else range(1, n + 1)))
    x = Axis("Query, sorted by the precision of OASIS", low=0.3, high=n + 0.7, text="query {:.0f}", ticks=ticks)
    about = (
        "The precision of OASIS is the share of raters who call its images good, mean over its images. The precision "
        "of a rater is the same for the images that this rater calls good, judged by all others."
    )
    chart = Chart(1, size=(4.6, 2.9))
    panel = chart.panel("", x, PRECISION, plotted)
    for name, (mean, dash) in means.items():
        panel.axhline(mean, label=f"{title}, {name}", **ruler(look.colour, dash))
    return chart.drawn(frame, notes=(about,), titles={"series": {OASIS: title, "human": RATED}})
