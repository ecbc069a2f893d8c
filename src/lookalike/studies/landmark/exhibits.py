"""Tables, figures and the montage of the landmark study: SOML (AAAI 2014), Tables 1 to 9, and what no paper prints."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd

from lookalike.exhibits import words as wording
from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.in_text import Fact, numbers_in_text
from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Axis, Drawn, Figure, Gallery, Line, Margin, Names, Panel, Series, Table
from lookalike.exhibits.printed import beside_print, plus_minus, significant
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.statuses import Status
from lookalike.exhibits.style import BLACK, GREY, Look, looks_of
from lookalike.studies.landmark import montage, times
from lookalike.studies.landmark.lead import FEATURES, LEADING, PAIRS
from lookalike.studies.landmark.rankings import (
    COST,
    GAMMA,
    LAMBDA,
    MAP,
    MAP_FULL,
    ORDERS,
    SPARSITY,
    UPDATE_SHARE,
)
from lookalike.studies.landmark.settings import CHOSEN
from lookalike.studies.landmark.study import (
    LANDMARKS,
    LITERAL_OF,
    MEAN,
    PAPER,
    PRINTED,
    PRINTED_CODEBOOKS,
    PRINTED_METHOD,
    QUANTITIES,
    RECONSTRUCTED,
    TABLE_METHODS,
    TRAIN_TIME,
    Form,
    LandmarkStudy,
    Number,
    Vocabulary,
)
from lookalike.studies.metrics import rows_in, select

LEARNED = TABLE_METHODS[1:]
AS_IN_PRINT = {chosen: method for method, chosen in CHOSEN.items()}
CONSTANTS = ("printed", "chosen")
LITERAL_METRICS = {MAP: "mAP (%)", SPARSITY: "Sparsity (%)", UPDATE_SHARE: "Steps with an update (%)"}
BEST: Mapping[str, Callable[[Iterable[float]], float]] = {MAP: max, SPARSITY: max, TRAIN_TIME: min}
REGIONS = {"box": "rectangle", "full": "whole image"}
TABLES = {quantity: range(first, first + 3) for quantity, first in zip(QUANTITIES, (1, 4, 7), strict=True)}
"""Numbers of the paper's tables of each quantity, one a codebook."""
INTERVAL = "95%, the wider of a t-test over landmarks and a bootstrap over landmarks and draws"
PRINTED_TIMES = "Hollow markers are means of the paper's Tables 7 to 9 over its landmarks, from another machine."
SHARES = (100, 50, 10, 1, 0.1, 0.01, 0.001)
"""Ticks of an axis of sparsity, as the share of weights that are not zero, in percent."""


def paper_tables(quantity: str, title: str) -> Callable[..., Callable[..., Drawn]]:
    """Make a function the paper's tables of a quantity, one a size of the codebook, on real photographs."""

    def register(function: Callable[..., Drawn]) -> Callable[..., Drawn]:
        for number, size in zip(TABLES[quantity], PRINTED_CODEBOOKS, strict=True):
            named = exhibit(
                f"{PAPER}/table{number}",
                title=title,
                needs=("metrics", "fits"),
                asks=(size,),
                shows=("methods",),
                when=partial(_has_codebook, size),
                condition=f"a codebook of {size:,} visual words, and photographs that no code made",
            )
            named(function)
        return function

    return register


def _has_lead(study: LandmarkStudy) -> bool:
    return study.lead is not None


def _has_codebook(n_words: int, study: LandmarkStudy) -> bool:
    return not study.synthetic and any(codebook.n_words == n_words for codebook in study.vocabularies)


@paper_tables(MAP, "Mean average precision by landmark")
def mean_average_precision(study: LandmarkStudy) -> Table:
    """How well each method finds the images of a landmark: mean average precision (mAP) of its queries, in percent."""
    return quantity_table(study, MAP)


@paper_tables(SPARSITY, "Sparsity of the learned weights by landmark")
def sparsity_of_weights(study: LandmarkStudy) -> Table:
    """How many of the learned weights are zero (up to 1e-10), in percent."""
    return quantity_table(study, SPARSITY)


@paper_tables(TRAIN_TIME, "Training time by landmark")
def training_time(study: LandmarkStudy) -> Table:
    """How long each method trains, in seconds of processor time of one thread."""
    return quantity_table(study, TRAIN_TIME)


@exhibit(
    f"{PAPER}/text",
    title="Numbers in its text",
    needs=("manifest", "fits"),
    shows=("methods",),
    when=lambda study: not study.synthetic,
    condition="photographs that no code made",
)
def numbers_of_text(study: LandmarkStudy) -> Table:
    """What the paper says in its text: how many images there are, are learned from as triplets, and are ranked."""
    fits, why = study.table("fits"), study.other_data(study.codebooks)
    # OASIS draws as many as it takes steps
    triplets = fits.loc[fits["method"] != "oasis-diagonal", "n_triplets"]
    facts = [
        Fact("images", "Images", len(study.table("manifest"))),
        Fact("triplets_per_landmark", "Triplets of a landmark", float(triplets.median())),
        Fact("retrieved_images", "Images that are ranked", float(fits["n_test"].median())),
    ]
    return numbers_in_text(study, facts, lambda cell: (Status.NOT_COMPARABLE, why) if why else None)


def quantity_table(study: LandmarkStudy, quantity: str) -> Table:
    """Return a row a landmark, a column a method, ours above the paper's, with the codebook of the table at hand."""
    sizes = {f"table{number}": size for number, size in zip(TABLES[quantity], PRINTED_CODEBOOKS, strict=True)}
    size = sizes[study.exhibit.name] if study.exhibit is not None else next(iter(PRINTED_CODEBOOKS))
    codebook = next(codebook for codebook in study.vocabularies if codebook.n_words == size)
    methods = columns_of(study, quantity)
    titles = {
        "representation": {codebook.id: f"{codebook.title} words"},
        "landmark": {**study.landmark_titles, MEAN: mean_title(quantity)},
        "method": {method: study.title_of(method) for method in methods},
    }
    notes = time_notes(study) if quantity == TRAIN_TIME else ()
    if not study.shows_printed:
        notes = (f"The paper's row is the mean over its {len(LANDMARKS)} landmarks of Oxford.", *notes)
    cells = table_cells(study, codebook, quantity, methods)
    pairs = {(method, "oasis-diagonal"): "" for method in LITERAL_OF} if quantity == MAP else {}
    table = Table(cells, ("landmark",), "method", "representation", titles=titles, notes=notes)
    return replace(table, compared="method", best=BEST, margins=margins(study, codebook, pairs))


def margins(study: LandmarkStudy, codebook: Vocabulary, pairs: Mapping[tuple[str, str], str]) -> tuple[Margin, ...]:
    """Set the first method of each pair beside the second, in mAP over landmarks and in print, with a pair's note."""
    methods = dict.fromkeys((*TABLE_METHODS, *(method for pair in pairs for method in pair)))
    ours = {method: study.mean(codebook, method, MAP).mean for method in methods}
    printed = {method: study.printed_mean(codebook, method, MAP) for method in TABLE_METHODS}
    found = []
    for pair, note in pairs.items():
        rows = study.contrasts.intervals(codebook.id, MAP, *pair)
        # a mean over the landmarks at hand is not one over all
        if rows and not math.isnan(ours[pair[0]] + ours[pair[1]] + rows[0].mean):
            titled = {"setting": f"{codebook.title} visual words", "metric": "mAP", "interval": INTERVAL}
            found.append(margin(study, rows, ours, printed, note=note, **titled))
    return tuple(found)


def columns_of(study: LandmarkStudy, quantity: str = MAP) -> tuple[str, ...]:
    """Return the methods that have a column: those of the paper's tables, then every further one that was run."""
    learned = TABLE_METHODS if quantity == MAP else LEARNED
    return (*learned, *(method for method in study.methods if method not in TABLE_METHODS))


def table_cells(study: LandmarkStudy, codebook: Vocabulary, quantity: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return every cell of one of the paper's tables, ours beside the paper's, in percent or seconds."""
    records = []
    for landmark, method in product((*study.landmark_titles, MEAN), methods):
        names = {"representation": codebook.id, "n_words": codebook.n_words, "landmark": landmark}
        # a landmark of another data set that has the name of one of the paper's is not the paper's
        is_printed = study.shows_printed or landmark == MEAN
        names["setting"] = f"{codebook.setting};landmark={landmark}" if is_printed else ""
        names |= {"metric": quantity, "method": method}
        records.append({**names, **study.cell(codebook.id, landmark, method, quantity, FORMS[quantity])})
    printed = study.printed_in()
    printed = printed.assign(method=printed["method"].replace(PRINTED_METHOD))
    if not study.shows_printed:
        # the paper prints no mean of sparsity and time
        means = [{"method": method, "value": study.printed_mean(codebook, method, quantity)} for method in methods]
        of_all = {"setting": f"{codebook.setting};landmark={MEAN}", "metric": quantity, "note": ""}
        printed = pd.concat([printed, pd.DataFrame(means).assign(**of_all).dropna(subset="value")], ignore_index=True)
    cells = beside_print(pd.DataFrame(records), printed, judge=study.judge(codebook))
    form = "{:,.4g}" if quantity == TRAIN_TIME else "{:.2f}"
    cells["printed_cell"] = ["" if math.isnan(value) else form.format(value) for value in cells["printed"]]
    return cells.assign(unit="seconds" if quantity == TRAIN_TIME else "percent")


def mean_title(quantity: str) -> str:
    """Return what the mean over landmarks is called."""
    return "mAP" if quantity == MAP else MEAN


def time_notes(study: LandmarkStudy) -> tuple[str, ...]:
    """Say on what the times were taken, and why they get no verdict."""
    fits = study.table("fits")
    processors = " and ".join(sorted(set(fits["processor"].dropna()))) or "a processor that was not recorded"
    return (
        f"Ours ran on one thread of {processors}, maybe beside other jobs.",
        "Times get no verdict: the paper's are of another machine and other programs. Our OASIS (with a diagonal "
        "matrix, whose steps touch few weights) and our QPAO (reconstructed) may not even be the same algorithms.",
    )


ABOUT_PRINTED_FORMS = (
    "Equations 12 and 15 print the subgradient of the loss with the opposite sign. The paper's Algorithm 2 also "
    "averages over steps without a loss, where the subgradient is 0 (averaging as printed)."
)
TRUE_SIGN = (
    "Every other number of {} here is with the true sign of the update, for which the paper prints the opposite."
)
percent = partial(plus_minus, form=".2f")
FORMS: Mapping[str, Form] = {MAP: percent, SPARSITY: percent, TRAIN_TIME: significant}


@exhibit(
    "landmark/query_region",
    title="Rectangle or whole image as query",
    needs=("metrics", "fits"),
    when=lambda study: not study.draws_queries,
    condition="queries that are rectangles",
)
def query_region(study: LandmarkStudy) -> Table:
    """What it changes to ask with the whole query image and not with its rectangle: mAP over landmarks, in percent."""
    keys = product(zip(REGIONS, (MAP, MAP_FULL), strict=True), columns_of(study))
    cells = [({"region": region, "method": method}, metric) for (region, metric), method in keys]
    note = "The paper does not say which of the two it takes; all other exhibits take the rectangle."
    return means_table(study, cells, {"region": REGIONS}, note)


@exhibit(
    "landmark/literal",
    title="SOML as it is printed",
    needs=("metrics", "fits"),
    when=lambda study: study.variants,
    condition="variants",
)
def literal_forms(study: LandmarkStudy) -> Table:
    """What both SOML algorithms give with the update as it is printed, beside the true one of all other exhibits."""
    methods = ["tfidf"] if "tfidf" in study.methods else []
    for method in LITERAL_OF:
        methods += [method, *(variant for variant in study.variants if variant.startswith(f"{method}-"))]
    cells = [({"method": method, "metric": metric}, metric) for method, metric in product(methods, LITERAL_METRICS)]
    table = means_table(study, cells, {"metric": LITERAL_METRICS}, *study.of_printed_sign(), ABOUT_PRINTED_FORMS)
    # how far the printed sign falls behind the true one, which the front page tells
    literal = {method: f"{method}-literal" for method in LITERAL_OF if f"{method}-literal" in methods}
    pairs = {(variant, method): TRUE_SIGN.format(study.title_of(method)) for method, variant in literal.items()}
    return replace(table, margins=margins(study, study.vocabularies[-1], pairs))


def means_table(study: LandmarkStudy, cells: Sequence[tuple[dict[str, str], str]], titles: Names, *notes: str) -> Table:
    """Return our means over landmarks in percent, a block a codebook; cells are their row and column, and metric."""
    records = []
    for codebook, (place, metric) in product(study.vocabularies, cells):
        # TF-IDF has no other number than its mean average precision
        known = metric if place["method"] != "tfidf" or metric in (MAP, MAP_FULL) else ""
        names = {"representation": codebook.id, "n_words": codebook.n_words}
        ours = study.cell(codebook.id, MEAN, place["method"], known, percent)
        records.append({**place, **names, **ours, "unit": "percent"})
    row, column = cells[0][0]
    titles = {**titles, "representation": {codebook.id: f"{codebook.title} words" for codebook in study.vocabularies}}
    titles["method"] = {place["method"]: study.title_of(place["method"]) for place, _ in cells}
    table = Table(pd.DataFrame(records), (row,), column, "representation", titles=titles, notes=notes)
    return replace(table, compared="method", best={MAP: max, "": max})


@exhibit(
    "landmark/time",
    title="Training time over the number of features",
    needs=("dimensions",),
    when=lambda study: study.dimensions,
)
def time_over_features(study: LandmarkStudy) -> Figure:
    """How training time grows with the number of visterms."""
    measured = study.table("dimensions")
    ours = times.medians(measured)
    printed = [
        {"series": PRINTED, "method": method, "n_features": words, "seconds": seconds, "n_repeats": 0, "data": "paper"}
        for method in LEARNED
        for words, seconds in study.printed_means(TRAIN_TIME, method).items()
    ]
    frame = pd.concat([ours, pd.DataFrame(printed, columns=ours.columns)], ignore_index=True)
    methods = [method for method in LEARNED if method in set(frame["method"])]
    methods += [method for method in dict.fromkeys(frame["method"]) if method not in methods]
    looks = looks_of(methods)
    series = [line for method in methods for line in _time_series(study, frame, method, looks[method])]
    x = Axis("Number of visterms d", "log", tick_form="short", text="d = {:,.0f}")
    y = Axis("Training time (seconds of processor time)", "log", tick_form="short", text="{:.3g} s")
    panel = Panel("", x, y, tuple(series))
    notes = [*times.notes(measured, study.title_of), PRINTED_TIMES]
    return Figure(frame, (panel,), notes=tuple(notes), size=(5.2, 3.6))


def _time_series(study: LandmarkStudy, frame: pd.DataFrame, method: str, look: Look) -> Iterable[Series]:
    """Yield ours, the same without products of pairs, and the paper's."""
    own = frame[frame["method"] == method]
    columns, where = ("n_features", "seconds"), {"method": method}
    if times.OURS in set(own["series"]):
        yield Series(study.title_of(method), where | {"series": times.OURS}, *columns, look, "low", "high")
    if times.WITHOUT_PAIRS in set(own["series"]):
        title, part = f"{study.title_of(method)}, {times.WITHOUT_PAIRS}", {"series": times.WITHOUT_PAIRS}
        yield Series(title, where | part, *columns, Look(look.colour, "", ":"))
    if PRINTED in set(own["series"]):
        # what is printed is of the authors' own QPAO, not of ours
        title = f"{study.as_printed().title_of(method)}, printed"
        yield Series(title, where | {"series": PRINTED}, *columns, look, kind="points", hollow=True)


@exhibit(
    "landmark/sparsity",
    title="Sparsity and mean average precision over lambda",
    needs=("metrics", "fits"),
    when=lambda study: study.sweep,
)
def sparsity_over_lambda(study: LandmarkStudy) -> Figure:
    """What zero weights cost: mean average precision against the share of zero weights, for several lambdas."""
    points = pd.concat([_sparsity_points(study, codebook) for codebook in study.vocabularies], ignore_index=True)
    looks = looks_of([method for method in dict.fromkeys(points["method"]) if method != "tfidf"])
    titles = lettered([f"{codebook.title} words" for codebook in study.vocabularies])
    panels = [
        _sparsity_panel(study, codebook, title, looks, select(points, representation=codebook.id))
        for codebook, title in zip(study.vocabularies, titles, strict=True)
    ]
    frame = points.drop(columns=["method", "is_printed"])
    notes = [
        "Lambda, the strength of the regularization, grows along each line. A ring marks that of all other exhibits.",
        "The axis of sparsity is logarithmic in the share of weights that are not zero. It has no place for 100%: that "
        "stands where half a weight would be left.",
    ]
    if study.shows_printed:
        notes.append("Hollow markers are the paper's means over landmarks (Tables 1 to 6).")
    return Figure(frame, tuple(panels), notes=tuple(notes), size=(3.2, 2.6))


def _sparsity_points(study: LandmarkStudy, codebook: Vocabulary) -> pd.DataFrame:
    """Return every point of a panel in percent: those of sweeps, methods that are not swept, and the paper's."""
    swept = select(swept_means(study, LAMBDA), representation=codebook.id).rename(columns={"x": "regularization"})
    swept, others = swept.assign(series=swept["method"], is_printed=False), []
    for method, is_printed in product(study.methods, (False, True)):
        zero, precision = (study.mean(codebook, method, metric) for metric in (SPARSITY, MAP))
        if is_printed and study.shows_printed:
            zero, precision = (Number(study.printed_mean(codebook, method, metric)) for metric in (SPARSITY, MAP))
        # TF-IDF has no weights that could be zero
        is_known = not math.isnan(precision.mean + (0 if method == "tfidf" else zero.mean))
        if is_known and (study.shows_printed if is_printed else method not in set(swept["method"])):
            names = {"series": f"{method}, printed" if is_printed else method, "method": method}
            numbers = [{"sparsity": zero.mean, "map": precision.mean, "n_draws": precision.n_draws}]
            others += [{**names, "is_printed": is_printed, **row} for row in numbers]
    columns = ["representation", "n_words", "series", "regularization", "sparsity", "map", "n_draws", "nonzero"]
    frame = pd.concat([swept, pd.DataFrame(others)], ignore_index=True)
    frame = frame.reindex(columns=[*columns, "method", "is_printed"])
    frame = frame.assign(representation=codebook.id, n_words=codebook.n_words)
    # at least half a weight, which has a place on a logarithmic axis
    frame["nonzero"] = np.maximum(100 - frame["sparsity"].astype(float), 50 / codebook.n_words)
    return frame


def swept_means(study: LandmarkStudy, *kinds: str) -> pd.DataFrame:
    """Return means along sweeps in percent, over landmarks first, so that draws count alike; a row a value of ``x``.

    Beside each stand those of the lowest and of the highest draw.
    """
    rows = study.own(study.table("metrics"))
    named = "|".join(map(re.escape, kinds))
    rows = rows.assign(**rows["metric"].str.extract(rf"^(?P<kind>{named})_(?P<metric>{MAP}|{SPARSITY})$"))
    rows, keys = rows[rows["kind"].notna()], ["representation", "kind", "method", "x"]
    of_draws = rows.groupby([*keys, "metric", "fold"], sort=False)["value"].mean()
    spread = of_draws.groupby([*keys, "metric"], sort=False).agg(mean="mean", low="min", high="max")
    means = 100 * spread.unstack("metric", sort=False)
    names = zip(*(means.columns.get_level_values(level) for level in (0, 1)), strict=True)
    means.columns = [metric if name == "mean" else f"{name}_{metric}" for name, metric in names]
    sizes = rows.groupby(keys).agg(n_landmarks=("subset", "nunique"), n_draws=("fold", "nunique"))
    return means.join(sizes).reset_index().sort_values("x", kind="stable", ignore_index=True)


def _sparsity_panel(
    study: LandmarkStudy, codebook: Vocabulary, title: str, looks: Mapping[str, Look], points: pd.DataFrame
) -> Panel:
    series: list[Series] = []
    lines: list[Line] = []
    for name, rows in points.groupby("series", sort=False):
        method, is_printed = str(rows["method"].iloc[0]), bool(rows["is_printed"].iloc[0])
        titled = f"{study.as_printed().title_of(method)}, printed" if is_printed else study.title_of(method)
        if method == "tfidf":
            lines.append(Line(titled, float(rows["map"].iloc[0]), Look(BLACK, "", ":" if is_printed else "--")))
            continue
        where, columns = {"representation": codebook.id, "series": name}, ("nonzero", "map")
        is_curve = bool(rows["regularization"].notna().any())
        kind: Literal["line", "points"] = "line" if is_curve else "points"
        series.append(Series(titled, where, *columns, looks[method], kind=kind, hollow=is_printed))
        if is_curve:
            # the lambda that the study uses, where that was tried
            wanted = study.parameters(method).get("regularization", math.nan)
            own = rows[np.isclose(rows["regularization"], wanted, rtol=1e-6, atol=0)]
            ring = Series("lambda of the study", where, *columns, Look(BLACK, "o"), kind="points", hollow=True)
            series += [replace(ring, where=where | {"regularization": value}) for value in own["regularization"]]
    x, y = _sparsity_axis(points), Axis("Mean average precision (%)" if codebook.place == 0 else "", text="{:.1f}%")
    return Panel(title, x, y, tuple(series), tuple(lines), empty="" if series else "not run")


def _sparsity_axis(frame: pd.DataFrame) -> Axis:
    """Return an axis on which 90%, 99% and 99.9% lie equally far apart, since codebooks differ there alone."""
    places = frame["nonzero"].dropna()
    left, right = max([100.0, *places]), min([10.0, *places])
    low, high = right / (left / right) ** 0.05, left * 1.6
    # over many decades every second name has room
    shares = SHARES[:: 1 if high / low < 3e4 else 2]
    ticks = tuple((float(share), f"{100 - share:g}") for share in shares if share >= low)
    text = "{:.3g}% of weights are not zero"
    return Axis("Weights that are zero (%)", "log", low, high, ticks, reversed=True, text=text)


@exhibit(
    "landmark/gamma",
    title="S-DA over gamma and rho",
    needs=("metrics",),
    when=lambda study: study.gamma_sweep,
)
def precision_over_gamma(study: LandmarkStudy) -> Figure:
    """How the step of S-DA, which is 1 / (gamma sqrt t), and its threshold rho change its precision and sparsity."""
    sweep = study.gamma_sweep
    kinds = {GAMMA.format(rho): rho for rho in (sweep.rho if sweep is not None else ())}
    frame = swept_means(study, *kinds)
    methods = list(dict.fromkeys(frame["method"]))
    looks = looks_of([f"{method} {kind}" for method, kind in product(methods, kinds)])
    drawn = {
        f"{study.title_of(method)}, rho = {rho:g}": ({"kind": kind, "method": method}, looks[f"{method} {kind}"])
        for method, (kind, rho) in product(methods, kinds.items())
    }
    lines: list[Line] = []
    if (own := study.parameters("soml-da").get("gamma")) is not None:
        lines.append(Line("gamma in print", own, Look(GREY, "", "-."), upright=True))
    titles = {MAP: "Mean average precision (%)", SPARSITY: "Weights that are zero (%)"}
    notes = ("The larger gamma, the smaller are the weights that a triplet makes.",)
    return _sweep_figure(study, frame, "gamma", titles, drawn, lines, notes, ("tfidf", "oasis-diagonal"))


@exhibit("landmark/cost", title="QPAO over C", needs=("metrics",), when=lambda study: study.cost_sweep)
def qpao_over_cost(study: LandmarkStudy) -> Figure:
    """How the cost C of QPAO, which the paper does not print, changes its mean average precision and its sparsity."""
    frame = swept_means(study, COST)
    looks = looks_of(list(dict.fromkeys(frame["method"])))
    drawn = {study.title_of(method): ({"kind": COST, "method": method}, look) for method, look in looks.items()}
    lines: list[Line] = []
    if (own := study.parameters(RECONSTRUCTED).get("C")) is not None:
        lines.append(Line("C of the tables", own, Look(GREY, "", "-."), upright=True))
    notes = (
        "C is the cost of a unit of loss. Every point is the exact minimum, found in one block of weights; the tables "
        "descend over many blocks and end close to it.",
        "Sum fixed: the mean of the weights stays at 1. The bound of each weight that the paper prints, the number of "
        "visterms, follows from that.",
    )
    titles = {MAP: "Mean average precision (%)", SPARSITY: "Weights that are zero (%)"}
    return _sweep_figure(study, frame, "C", titles, drawn, lines, notes)


@exhibit(
    "landmark/order",
    title="Order of the triplets and number of negatives",
    needs=("metrics",),
    when=lambda study: study.triplet_order,
)
def triplet_order(study: LandmarkStudy) -> Figure:
    """How mean average precision depends on the number of negatives and on the order in which triplets come."""
    frame = swept_means(study, *ORDERS)
    looks = looks_of(list(dict.fromkeys(frame["method"])))
    drawn = {
        f"{study.title_of(method)}, {name}": ({"kind": order, "method": method}, replace(look, line=line))
        for method, look in looks.items()
        for (order, name), line in zip(ORDERS.items(), ("-", "--", ":"), strict=True)
    }
    notes = (
        "Each point is one pass over all pairs of positives with so many negatives; the gallery is always the same.",
        "The paper prints no order; all other exhibits shuffle the triplets.",
    )
    return _sweep_figure(study, frame, "Number of negatives", {MAP: "Mean average precision (%)"}, drawn, (), notes)


def _sweep_figure(
    study: LandmarkStudy,
    frame: pd.DataFrame,
    label: str,
    columns: Mapping[str, str],
    drawn: Mapping[str, tuple[dict[str, str], Look]],
    lines: Sequence[Line],
    notes: tuple[str, ...],
    others: Sequence[str] = ("tfidf",),
) -> Figure:
    """Return a row of panels a column, a panel a codebook; `drawn` names each series with its rows and its look.

    Of precision there are the levels of `others` too, which are not varied.
    """
    cells = list(product(columns.items(), study.vocabularies))
    n_landmarks, n_every = frame["n_landmarks"].max(), len(study.landmark_titles)
    part = f", {n_landmarks} of {n_every} landmarks" if n_landmarks < n_every else ""
    titles = lettered([f"{codebook.title} words{part}" for _, codebook in cells])
    panels, several = [], bool(frame["n_draws"].max() > 1)
    for ((column, name), codebook), title in zip(cells, titles, strict=True):
        here = {"representation": codebook.id}
        places = select(frame, **here)
        ends = (f"low_{column}", f"high_{column}") if several else ("", "")
        series = [
            Series(name, here | where, "x", column, look, *ends, aside=0.03 * (place - (len(drawn) - 1) / 2) * several)
            for place, (name, (where, look)) in enumerate(drawn.items())
        ]
        ticks = tuple((value, f"{value:g}") for value in sorted(set(places["x"])))
        y = Axis("" if codebook.place else name, text="{:.1f}%")
        levels = _levels(study, codebook, places, others) if column == MAP else ()
        panels.append(Panel(title, Axis(label, "log", ticks=ticks), y, tuple(series), (*levels, *lines)))
    notes += ("Points are means over draws, and bars go from the lowest draw to the highest.",) * several
    return Figure(frame, tuple(panels), notes=notes, n_columns=len(study.vocabularies), size=(3.2, 2.4))


def _levels(study: LandmarkStudy, codebook: Vocabulary, places: pd.DataFrame, methods: Sequence[str]) -> Iterable[Line]:
    """Yield the levels of methods on the landmarks and draws of a sweep, which are the first ones."""
    landmarks, draws = list(study.landmark_titles)[: places["n_landmarks"].max()], list(range(places["n_draws"].max()))
    for method, line in zip(methods, ("--", ":"), strict=False):
        rows = select(study.values, representation=codebook.id, method=method, metric=MAP, subset=landmarks, fold=draws)
        if len(rows):
            yield Line(study.title_of(method), float(rows["value"].mean()), Look(BLACK, "", line))


def lead_points(study: LandmarkStudy) -> pd.DataFrame:
    """Return S-TG and S-DA minus OASIS in points of mAP: a row a codebook, method, and printed or chosen constants."""
    results = study.table("results")
    features = results[results["metric"] == FEATURES].set_index("setting")["value"]
    records = []
    for (setting, n_features), (first, second) in product(features.items(), PAIRS):
        if rows := study.contrasts.intervals(str(setting), MAP_FULL, first, second):
            parts = dict(part.split("=") for part in str(setting).split(";"))
            names = {"words": int(parts["words"]), "features": parts["features"], "n_features": n_features}
            names |= {"method": AS_IN_PRINT.get(first, first), "constants": CONSTANTS[first in AS_IN_PRINT]}
            ends = {"low": min(row.low for row in rows), "high": max(row.high for row in rows)}
            records.append({**names, "mean": rows[0].mean, **ends, "n": rows[0].n, "ours_cell": wording.gap(rows)})
    return pd.DataFrame(records).sort_values(["words", "n_features"], kind="stable", ignore_index=True)


def lead_notes(study: LandmarkStudy, points: pd.DataFrame) -> tuple[str, ...]:
    """Say where S-TG is below OASIS, what the intervals are of, and how constants were chosen."""
    below = select(points, method="soml-tg", constants=CONSTANTS[False])
    sizes: dict[int, list[str]] = {}
    for row in rows_in(below[below["mean"] < 0]):
        sizes.setdefault(row.words, []).append(row.features)
    places = ", ".join(f"with {words:,} words and {features_title(' or '.join(n))}" for words, n in sizes.items())
    chosen_draws = study.lead.chosen_draws if study.lead is not None else 0
    return (
        f"With printed constants, S-TG is {f'below OASIS {places}' if places else 'above OASIS everywhere'}.",
        f"Whole images are queries. Intervals are {INTERVAL}.",
        f"Means are over {study.learning.draws} draws, with chosen constants over {chosen_draws}. Chosen constants are "
        "the best of eight settings of each method, by images held out of those to learn from.",
    )


def features_title(features: str) -> str:
    """Return ``1,600 features`` of ``1600``; other words stay as they are."""
    return f"{int(features):,} features" if features.isdecimal() else f"{features} features"


def lead_columns(study: LandmarkStudy) -> dict[tuple[str, str], str]:
    """Return kind of constants and method to the title of what they give."""
    pairs = product(CONSTANTS, LEADING)
    return {(constants, method): f"{study.title_of(method)}, {constants} constants" for constants, method in pairs}


@exhibit("landmark/lead", title="SOML minus OASIS over words and features", needs=("results",), when=_has_lead)
def lead_over_features(study: LandmarkStudy) -> Figure:
    """How far S-TG and S-DA are above OASIS in mean average precision, by visual words and features of a photograph."""
    points, columns = lead_points(study), lead_columns(study)
    sizes = list(dict.fromkeys(points["words"]))
    looks = looks_of([f"{words:,} words" for words in sizes])
    counts = points.drop_duplicates("features")
    ticks = tuple((row.n_features, row.features) for row in rows_in(counts))
    x = Axis("Features of a photograph, at most", "log", ticks=ticks, text="{:,.0f} features on average")
    room = 0.05 * (points["high"].max() - points["low"].min())
    ends = {"low": points["low"].min() - room, "high": points["high"].max() + room}
    panels = []
    for (constants, method), title in zip(columns, lettered(list(columns.values())), strict=True):
        own = {"constants": constants, "method": method}
        series = [
            Series(name, {**own, "words": words}, "n_features", "mean", look, "low", "high", aside=0.025 * (place - 1))
            for place, (words, (name, look)) in enumerate(
                zip(dict.fromkeys(points["words"]), looks.items(), strict=True)
            )
        ]
        y = Axis(f"{study.title_of(method)} minus OASIS (points of mAP)", **ends, text="{:+.1f}")
        panels.append(Panel(title, x, y, tuple(series), (Line("OASIS", 0, Look(BLACK, "", "--")),)))
    frame = points.drop(columns="ours_cell")
    return Figure(frame, tuple(panels), notes=lead_notes(study, points), n_columns=len(LEADING), size=(3.4, 2.6))


@exhibit("landmark/lead_numbers", title="SOML minus OASIS, in numbers", needs=("results",), when=_has_lead)
def lead_numbers(study: LandmarkStudy) -> Table:
    """How far S-TG and S-DA are above OASIS in mean average precision, in points, by visual words and features."""
    points, columns = lead_points(study), lead_columns(study)
    titles = {
        "words": {words: f"{words:,} words" for words in points["words"]},
        "features": {name: features_title(name) for name in points["features"]},
        "column": {" ".join(key): title for key, title in columns.items()},
    }
    frame = points.assign(column=points["constants"] + " " + points["method"], ours=points["mean"], unit="points")
    return Table(frame, ("features",), "column", "words", titles=titles, notes=lead_notes(study, points))


@exhibit(
    "landmark/montage",
    title="First results before and after learning",
    needs=("manifest", "queries", "relevance", "images", "ranks"),
    when=lambda study: study.compared_methods(),
)
def first_results(study: LandmarkStudy) -> Gallery:
    """What a query finds before learning (TF-IDF) and after it, where learning gains the most and loses the most."""
    return montage.montage(study)
