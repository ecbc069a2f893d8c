"""Tables and figures of the web study: OASIS, JMLR 5.2, its draft (5.3) and its NIPS version (4.1)."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pandas as pd

from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Axis, Figure, Line, Margin, Panel, Series, Table
from lookalike.exhibits.printed import beside_print, plus_minus
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import GREY, Look, looks_of
from lookalike.studies.metrics import select
from lookalike.studies.web.runtime_figure import JMLR
from lookalike.studies.web.study import PARTS, WebStudy

QUANTITIES = {
    "queries": ("Number of Queries", ",.0f"),
    "images": ("Number of Images", ",.0f"),
    "pairs": ("Query-image pairs", ",.0f"),
    "nonzeros_per_image": ("Non-zeros an image", ",.1f"),
    "relevant_per_image": ("Relevant images an image", ",.1f"),
}
"""Counted quantity to its heading and format; the first two are the papers' columns, the last two in running text."""
IN_TABLE = ("queries", "images")
ABOUT_RELEVANT = "about 100 (JMLR section 5.2.1)"
"""Words of the text for the mean number of relevant images."""
MARGIN_K = (1, 10)
"""Numbers of neighbours at which OASIS is set beside the Euclidean distance."""


@exhibit(
    "oasis-jmlr-2010/table1",
    "oasis-2009-draft/table3",
    title="Statistics of the collection",
    needs=("metrics",),
    shows=(),
)
def collection(study: WebStudy) -> Table:
    """How large the collection is: its queries and images, and the visterms and relevant images that an image has."""
    ours = pd.DataFrame(list(product(PARTS, QUANTITIES)), columns=["part", "metric"])
    ours.insert(1, "setting", ours["part"].map(PARTS).where(ours["metric"].isin(IN_TABLE), ""))
    ours["ours"] = [study.counts.get(place, math.nan) for place in zip(ours["part"], ours["metric"], strict=True)]
    printed = select(study.printed, paper=study.paper or JMLR, exhibit=["table1", "table3", "text"])
    cells = beside_print(ours.assign(ours_std=math.nan), printed, on=("setting", "metric"))
    values = zip(cells["ours"], cells["metric"], strict=True)
    cells["ours_cell"] = [plus_minus(value, math.nan, QUANTITIES[quantity][1]) for value, quantity in values]
    cells["printed_cell"] = ["" if math.isnan(value) else f"{value:,.10g}" for value in cells["printed"]]
    parts = {part: name.capitalize() for part, name in PARTS.items()}
    headings = {quantity: heading for quantity, (heading, _) in QUANTITIES.items()}
    notes = [
        "Non-zeros: how many different visterms an image has. The paper prints the mean of all (JMLR section 3).",
        "Relevant images share a query with an image and are of its part. They are counted for a sample where there "
        f"are many; the paper says {ABOUT_RELEVANT}.",
    ]
    titles = {"part": parts, "metric": headings}
    return Table(cells, rows=("part",), columns="metric", titles=titles, notes=tuple(notes))


@exhibit("oasis-jmlr-2010/fig3a", "oasis-2009-draft/fig6", title="Precision at top k", needs=("metrics",), shows=())
def precision_by_log(study: WebStudy) -> Figure:
    """How many of the first k images are relevant, that is, share a query of the log with the query image."""
    images, relevant = (study.counts["test", quantity] for quantity in ("images", "relevant_per_image"))
    chance = 100 * relevant / (images - 1)
    printed = study.printed[study.printed["metric"] == "web_p@1"].replace({"web_p@1": "p@1"})
    levels = [("chance", chance, int(images)), *(("oasis, printed", value, 0) for value in printed["value"])]
    beside = pd.DataFrame(levels, columns=["series", "precision", "n_gallery"]).assign(k=1, n_queries=0)
    ours = {"setting": "", "method": "oasis", "metric": "p@1", "ours": study.precision_at("oasis", 1)[0]}
    cells = beside_print(pd.DataFrame([ours | {"ours_std": math.nan}]), printed)
    notes = (
        "One shared query is enough: the papers' threshold theta on relevance is 0 here.",
        "The papers' figure shows OASIS alone: it has no curve of Euclidean and none of averaged models.",
        f"Chance is {chance:.2g}%, the share of relevant images among all.",
        *(
            f"JMLR section 5.2.2 prints {value:g}% at top 1, by the log of a real search engine. It is not drawn, "
            "because it says nothing beside these curves. The printed curves have no numbers."
            for value in printed["value"]
        ),
    )
    frame = pd.concat([study.precision("p@k"), beside], ignore_index=True)
    figure = precision_figure(study, frame, "Precision at top k (%)", cells, notes)
    return replace(figure, margins=tuple(margin_at(study, k) for k in MARGIN_K))


def margin_at(study: WebStudy, k: int) -> Margin:
    """OASIS minus Euclidean distance in precision at top k; print has the curve of OASIS alone."""
    ours = {method: study.precision_at(method, k)[0] for method in study.methods}
    rows = study.contrasts.intervals("", f"p@{k}", "oasis", "euclidean")
    interval = "two standard errors over test images, not paired"
    return margin(
        study, rows, ours, {}, setting="", metric=f"P@{k}", interval=interval, kind="not in the paper's figure"
    )


def precision_figure(
    study: WebStudy, frame: pd.DataFrame, label: str, cells: pd.DataFrame | None = None, notes: tuple[str, ...] = ()
) -> Figure:
    """Precision of each method over k with bands of a standard error, and the level of chance."""
    precision = frame.groupby("series", sort=False)["precision"].first()
    methods = [method for method in study.methods if method in precision]
    series = [
        Series(study.title_of(method), {"series": method}, "k", "precision", look, "low", "high", band=True)
        for method, look in looks_of(methods).items()
    ]
    chance = [Line("chance", level, Look(GREY, "", "--")) for level in precision[precision.index == "chance"].tolist()]
    x = Axis("Number of neighbours k", low=0, high=1.03 * float(frame["k"].max()), text="k = {:.0f}")
    panel = Panel("", x, Axis(label, low=0, text="{:.1f}%"), tuple(series), tuple(chance))
    common = (
        f"Each of {study.size_of('n_queries'):,} query images, drawn from the test images, ranks all other "
        f"{study.size_of('n_gallery') - 1:,} of them. Bands: ± standard error over query images.",
        "The gap between OASIS and Euclidean is no evidence about the papers. It comes from the simulation, whose "
        "images share styles that mean nothing to queries.",
    )
    return Figure(frame, (panel,), cells, (*common, *notes), size=(4.3, 2.85))
