"""Galleries and figures of the human study (JMLR 5.2.3 and Appendix A, NIPS 4.1, and the draft of 2009)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.image_grid import RIGHT, WRONG, class_name, tile_of
from lookalike.exhibits.model import Axis, Figure, Gallery, Line, Panel, Series
from lookalike.exhibits.printed import beside_print, plus_minus
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import BLACK, BLUE, GREEN, GREY, LOOKS, ORANGE, PURPLE, RATERS, Look
from lookalike.ranking.rankings import Rankings
from lookalike.studies.human.study import JMLR, NIPS, HumanStudy
from lookalike.studies.metrics import rows_in

OWN, OTHER = replace(RIGHT, meaning="of the query's class"), replace(WRONG, meaning="of another class")
N_RESULTS = 5
"""Images shown of each ranking, as in the papers' tables."""
SELECTED = {1: Look(ORANGE, "P"), 6: Look(BLUE, "s"), 11: Look(GREEN, "^"), 16: Look(PURPLE, "D"), 21: Look(BLACK, "v")}
"""Ranks, by mean average precision, of the queries in JMLR Figure 3C."""
PRINTED = {"human_p@10": "precision_at_10", "human_precision_peak": "precision_peak"}
"""Printed metric, in percent, to the single number of ours."""
ABOUT_PRECISION = (
    "The precision of OASIS is the share of raters who call its images good, mean over its images. The precision of a "
    "rater is the same for the images that this rater calls good, judged by all others."
)
FILES = ("ranks", "manifest", "images")
BEST = ("oasis-jmlr-2010/table2", "oasis-2009-draft/table4", "oasis-nips-2009/table1")
QUERY_BY_QUERY = ("oasis-jmlr-2010/fig3d", "oasis-nips-2009/fig1a")
Part = tuple[str, pd.DataFrame, list[Series], list[Line]]
"""Title of a panel, the numbers that it shows, and how."""


@exhibit(*BEST, title="Queries that OASIS answers best", needs=FILES)
def best_queries(study: HumanStudy) -> Gallery:
    """Where OASIS does best: query images, each with the first five images that it finds."""
    return _gallery(study, 2 if study.paper == NIPS else 4, "highest", "all")


@exhibit("oasis-jmlr-2010/table3", "oasis-2009-draft/table5", title="Queries that OASIS fails", needs=FILES)
def worst_queries(study: HumanStudy) -> Gallery:
    """Where OASIS fails: query images, each with the first five images that it finds."""
    return _gallery(study, 3, "lowest", f"those without an image of their class among the first {N_RESULTS}")


def _gallery(study: HumanStudy, n: int, which: str, among: str) -> Gallery:
    """Queries in rows, each with the first images of OASIS; the papers picked theirs by hand, here a rule does."""
    found, root = Rankings.load(study.path("ranks")), Path(read_json(study.path("images"))["root"])
    if not root.is_dir():
        raise LookalikeError(f"there are no images at {root}: put them back, or make them again, then go on")
    images = study.table("manifest").set_index("image_id")
    queries = pd.DataFrame({"id": found.query_ids, "precision": found.average_precision()}).dropna()
    if which == "lowest":
        queries = queries[found.ranks[found.offsets[queries.index]] > N_RESULTS]
    queries["label"] = images["label"].loc[queries["id"]].to_numpy()
    ordered = queries.sort_values(["precision", "id"], ascending=[which == "lowest", True])
    selected = ordered.drop_duplicates("label").head(n)
    fewer = "" if len(selected) == n else f"; the paper shows {n}"
    rule = (
        f"No query was picked by hand: of {among} ({len(queries):,}), these are the {len(selected)} of {which} average "
        f"precision (AP), at most one of each class{fewer}. Of equal ones, the one with the lower image id is shown."
    )
    if selected.empty:
        rule = f"Not drawn: of {found.n_queries:,} queries that OASIS answers, none is one of {among}."
    elif found.neighbours is None or found.neighbour_scores is None:
        raise LookalikeError(f"these rankings have no neighbours: rank again with n_neighbours of {N_RESULTS} or more")
    records, rows = [], []
    for place, (row, query) in enumerate(zip(selected.index.to_numpy(), rows_in(selected), strict=True), start=1):
        ids = [query.id, *found.query_ids[np.asarray(found.neighbours)[row, :N_RESULTS]].tolist()]
        scores, tiles = [math.nan, *np.asarray(found.neighbour_scores)[row, :N_RESULTS].tolist()], []
        for rank, (id, score) in enumerate(zip(ids, scores, strict=True)):
            path, label = images.loc[id, ["path", "label"]]
            mark = (OWN if label == query.label else OTHER) if rank else None
            words = class_name(label) + ("" if rank else f"\nAP {100 * query.precision:.1f}%")
            tiles.append(tile_of(root / path, words, mark))
            role, relevant = ("result", "yes" if mark is OWN else "no") if rank else ("query", "")
            records.append((place, role, id, path, label, rank, score, relevant, query.precision))
        rows.append(tuple(tiles))
    columns = ["row", "role", "image_id", "file", "class", "rank", "score", "relevant", "average_precision"]
    heads = ("query", *(f"rank {rank}" for rank in range(1, N_RESULTS + 1))) if rows else ()
    return Gallery(pd.DataFrame(records, columns=columns), tuple(rows), heads=heads, notes=(rule,))


@exhibit("oasis-jmlr-2010/fig3b", title="Precision at top k as raters judge it", needs=("metrics",))
def mean_curve(study: HumanStudy) -> Figure:
    """Which share of the first k images of OASIS is good for raters: mean over queries and raters."""
    return _curves(study, _of_all_queries)


@exhibit("oasis-jmlr-2010/fig3c", title="Precision at top k of single queries as raters judge it", needs=("metrics",))
def selected_curves(study: HumanStudy) -> Figure:
    """Which share of the first k images of OASIS is good for raters: single queries, from good to bad ones."""
    return replace(_curves(study, _of_selected_queries), cells=None)


@exhibit("oasis-2009-draft/fig7", title="Precision at top k as raters judge it", needs=("metrics",))
def both_curves(study: HumanStudy) -> Figure:
    """Which share of the first k images of OASIS is good for raters: (A) mean, (B) single queries."""
    return _curves(study, _of_all_queries, _of_selected_queries)


def _curves(study: HumanStudy, *parts: Callable[[HumanStudy, int], Part]) -> Figure:
    """Figure of curves by rank, beside the precisions that JMLR prints."""
    n = int(study.curve("p@k").index.max())
    titles, frames, series, lines = zip(*(part(study, n) for part in parts), strict=True)
    ticks = tuple((float(k), str(k)) for k in range(1, n + 1))
    x = Axis("Number of neighbours k", low=0.5, high=n + 0.5, ticks=ticks, text="k = {:.0f}")
    y = Axis("Precision at top k", low=-0.03, high=1.03, text="{:.3f}")
    drawn = zip(lettered(titles), series, lines, strict=True)
    panels = tuple(Panel(title, x, y, tuple(of_panel), tuple(levels)) for title, of_panel, levels in drawn)
    frame = pd.concat(frames, ignore_index=True).astype({"k": "Int64"})
    return Figure(frame, panels, _cells(study, JMLR, *PRINTED))


def _cells(study: HumanStudy, paper: str, *metrics: str) -> pd.DataFrame:
    """Ours beside what a paper prints, in percent."""
    rows = [(paper, metric, "oasis", 100 * study.number(PRINTED[metric]), math.nan) for metric in metrics]
    ours = pd.DataFrame(rows, columns=["paper", "metric", "method", "ours", "ours_std"])
    cells = beside_print(ours, study.printed_in("text", paper), on=("paper", "metric", "method"))
    for name, form in (("ours", ".1f"), ("printed", "g")):
        cells[f"{name}_cell"] = [plus_minus(value, math.nan, form) for value in cells[name]]
    return cells.assign(unit="percent")


def _of_all_queries(study: HumanStudy, n: int) -> Part:
    """Mean curve with its errors, the share of random images called good, and the printed numbers."""
    at_ten, peak = _cells(study, JMLR, *PRINTED)["printed"] / 100
    levels = [("random", study.number("random_good"), math.nan), ("oasis, printed peak", peak, math.nan)]
    levels += [("oasis, printed", at_ten, 10)] if n >= 10 else []
    others = pd.DataFrame(levels, columns=["series", "precision", "k"]).dropna(subset="precision")
    own = study.curve("p@k").rename_axis("k").reset_index().assign(series="oasis")
    look, at, where = LOOKS["oasis"], ("k", "precision"), {"series": "oasis, printed"}
    series = [Series(study.title_of("oasis"), {"series": "oasis"}, *at, look, "low", "high")]
    if n >= 10 and not math.isnan(at_ten):
        series.append(Series("printed, at k = 10", where, *at, look, kind="points", hollow=True))
    names = {"random": ("random images", Look(GREY, "", "--"))}
    names["oasis, printed peak"] = ("printed peak (its k is not printed)", Look(look.colour, "", ":"))
    return "All queries", pd.concat([own, others], ignore_index=True), series, _levels(others, names)


def _of_selected_queries(study: HumanStudy, n: int) -> Part:
    """Curves of the selected queries, the best first; bars of one k stand beside, not upon, each other."""
    maps, images = _falling(study.curve("query map")["precision"]), study.curve("query image", "")["precision"]
    points = pd.concat({k: study.curve(f"query p@{k}") for k in range(1, n + 1)}, names=["k", "query"])
    selected = [rank for rank in SELECTED if rank <= len(maps)]
    parts, series = [], []
    for place, rank in enumerate(selected):
        query, name, aside = maps.index[rank - 1], f"rank {rank}", 0.09 * (place - (len(selected) - 1) / 2)
        own = points.xs(query, level="query").reset_index()
        parts.append(own.assign(series=name, query_image=int(images[query]), map=maps[query]))
        words = f"{name}: mAP {maps[query]:.2f}"
        series.append(Series(words, {"series": name}, "k", "precision", SELECTED[rank], "low", "high", aside=aside))
    return "Single queries, by rank of mAP", pd.concat(parts), series, []


def _falling(values: pd.Series) -> pd.Series:
    """Values by query, the highest first; equal ones (to rounding) keep the order of the queries."""
    return values.iloc[np.lexsort((values.index, -values.to_numpy().round(12)))]


def _levels(frame: pd.DataFrame, names: dict[str, tuple[str, Look]]) -> list[Line]:
    """Lines at the precision of series without a place."""
    at = frame.set_index("series")["precision"]
    return [Line(name, float(at[series]), look) for series, (name, look) in names.items() if series in at]


@exhibit(*QUERY_BY_QUERY, title="Precision of OASIS and of raters for each query", needs=("metrics", "nips"))
def query_precision(study: HumanStudy) -> Figure:
    """Whether OASIS is as precise as a person: for each query, both are judged by the other raters."""
    oasis, ends = _falling(study.curve("query precision")["precision"]), study.curve("query range", "raters")
    people = study.curve("query precision", "raters").assign(lowest=ends["low"], highest=ends["high"])
    parts = {"oasis": oasis.to_frame(), "human": people.reindex(oasis.index)}
    frame = pd.concat(parts, names=["series", "query"]).reset_index()
    frame["query_image"] = frame.pop("query").map(study.curve("query image", "")["precision"]).astype("Int64")
    frame["order"] = frame.groupby("series").cumcount() + 1
    n, cells, look, title = len(oasis), None, LOOKS["oasis"], study.title_of("oasis")
    if study.paper == NIPS:
        cells = _cells(study, NIPS, "human_p@10")
        means = {"oasis, mean": oasis.mean(), "oasis, printed mean": cells["printed"].item() / 100}
        others = pd.DataFrame({"series": list(means), "precision": list(means.values())}).dropna()
        frame = pd.concat([frame, others], ignore_index=True).astype({"order": "Int64"})
    series = [Series(title, {"series": "oasis"}, "order", "precision", look, each=True)]
    if people["precision"].notna().any():
        at, span = ({"series": "human"}, "order", "precision"), ("lowest", "highest")
        series.append(Series("raters, mean", *at, RATERS, "low", "high", kind="points"))
        series.append(Series("lowest to highest rater", *at, Look(GREY, ""), *span, kind="points", band=True))
    names = {"oasis, mean": (f"{title}, mean", Look(look.colour, "", "--"))}
    names["oasis, printed mean"] = (f"{title}, printed mean", Look(look.colour, "", ":"))
    ticks = tuple((float(place), str(place)) for place in ([1, *range(5, n + 1, 5)] if n > 7 else range(1, n + 1)))
    x = Axis("Query, sorted by the precision of OASIS", low=0.3, high=n + 0.7, text="query {:.0f}", ticks=ticks)
    y = Axis("Precision", low=-0.03, high=1.03, text="{:.3f}")
    panel = Panel("", x, y, tuple(series), tuple(_levels(frame, names)))
    return Figure(frame, (panel,), cells, (ABOUT_PRECISION,), size=(4.6, 2.9))
