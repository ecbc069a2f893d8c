"""Two figures that show what the tables of the landmark study only list: training time over d, sparsity against mAP.

No paper draws them. The times are of simulated rows, so that they speak of dimensions alone; the paper's printed times
(SOML, AAAI 2014, Tables 7 to 9) stand beside them as hollow markers. Sparsity and mean average precision are those of
the study's own data along the regularization lambda.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.exhibits.figures import Plot
from lookalike.exhibits.landmark_context import PAPER, PRINTED_CODEBOOKS, PRINTED_METHOD, Codebook, LandmarkContext
from lookalike.exhibits.landmark_tables import MAP, MEAN, SPARSITY, summary_of
from lookalike.exhibits.panels import legend_entry, say_empty
from lookalike.exhibits.runtime import TRAIN_TIME
from lookalike.exhibits.style import BLACK, GREY, LOOKS, VERMILLION, Look, looks_of, new_figure, paper_style, title_of
from lookalike.exhibits.tables import significant

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIME_COLUMNS = ("series", "method", "n_features", "seconds", "low", "high", "n_repeats", "data")
SPARSITY_COLUMNS = ("representation", "n_words", "series", "regularization", "sparsity", "map", "n_draws")
LEARNER_METHODS = {
    "TFIDF": "tfidf",
    "QPAO": "qpao",
    "DiagonalOASIS": "oasis-diagonal",
    "SOMLTG": "soml-tg",
    "SOMLDA": "soml-da",
}
"""Names of learners, by which dimensions.parquet may call methods."""
OURS, PRINTED, WITHOUT_PAIRS = "ours", "printed", "without pair products"
SWEPT = ("soml-tg", "soml-da")
ALIKE = 1.05
"""Rows of two sizes are alike where one has at most this many times the non-zeros of the other."""
CLOSE = 1.8
"""Lines whose last seconds differ by less than this factor end together, as far as their labels go."""
DEFAULT_RING = 9.0
"""Size of the ring around the lambda that the study uses, in points."""


def time_curves(dimensions: pd.DataFrame | None, context: LandmarkContext, reference: pd.DataFrame) -> Plot:
    """Seconds of CPU time that training takes over the number of features, both axes logarithmic.

    Parameters
    ----------
    dimensions : DataFrame or None
        ``learner`` (a method's id or its learner's name), ``n_features``, ``repeat``, ``cpu_seconds`` and, if it was
        recorded, ``pair_cpu_seconds`` (the part of it that goes into products of pairs, NaN where there is none).
    context : LandmarkContext
    reference : DataFrame
        Printed numbers; their mean over the paper's landmarks is a hollow marker at each size of codebook.

    Returns
    -------
    Plot
        Frame columns `TIME_COLUMNS`: median of the repeats and their least and largest; series ``ours``, ``without
        pair products`` and ``printed`` (mean over landmarks, no spread).
    """
    import pandas as pd

    printed = _printed_times(reference)
    ours = _measured_times(dimensions)
    measured = list(dict.fromkeys(record["method"] for record in ours if record["series"] == OURS))
    methods = [method for method in ("qpao", "oasis-diagonal", "soml-tg", "soml-da") if method in printed]
    methods += [method for method in measured if method not in methods]
    looks = looks_of(methods)
    records = list(ours)
    with paper_style():
        figure = new_figure(5.2, 3.9)
        axis = figure.subplots()
        axis.set(xscale="log", yscale="log")
        axis.set_xlabel("Number of features d (words of the codebook)")
        axis.set_ylabel("Training time in CPU seconds")
        ends: list[Mapping[str, Any]] = []
        for method in methods:
            of_method = [row for row in ours if row["method"] == method]
            _draw_times(axis, of_method, looks[method])
            ends += [row for row in of_method if row["series"] == OURS][-1:]
            values = printed.get(method, {})
            for n_features, seconds in values.items():
                axis.plot([n_features], [seconds], zorder=3, **_hollow(looks[method]))
                records.append(_time(PRINTED, method, n_features, seconds, math.nan, math.nan, 0, "paper"))
        axis.grid(which="minor", visible=False)
        _name_ends(axis, ends, looks)
        _legend(figure, methods, measured, looks, context, ours)
        _say_about_data(figure, context, simulated=bool(ours))
    frame = pd.DataFrame(records, columns=list(TIME_COLUMNS)).astype({"n_repeats": np.int64, "n_features": np.int64})
    return Plot(figure, frame)


def notes_on_times(context: LandmarkContext, plot: Plot, dimensions: pd.DataFrame | None) -> str:
    """Sentences of the caption: what is simulated, on what machine, and which methods are not drawn."""
    if dimensions is None or dimensions.empty:
        why = f"{context.title}: {context.not_run_sentence}. " if context.not_run_sentence else ""
        return f"{why}No time was measured here."
    parts = []
    timed = _timed(dimensions)
    if len(timed):
        repeats = int(plot.frame.loc[plot.frame["series"] == OURS, "n_repeats"].max())
        spread = f", median of {repeats} repeats; bars: the least and the largest" if repeats > 1 else ", one repeat"
        parts.append(f"Filled markers: ours, CPU time of training on {_steps_told(timed, context)}{spread}.")
        parts.append(f"The rows are simulated{_nonzeros_told(timed)}: they are synthetic, no images are behind them.")
    if "processor" in dimensions and dimensions["processor"].notna().any():
        parts.append(f"Ours: one thread of {' and '.join(sorted(set(dimensions['processor'].dropna())))}.")
    if (plot.frame["series"] == WITHOUT_PAIRS).any():
        parts.append("Dotted: the same without the products of pairs, which are computed once before the first step.")
    if "reason" in dimensions:
        failed = dimensions[(dimensions["reason"].fillna("") != "") & (method_of_learner(dimensions) != "tfidf")]
        rows: Any = failed.drop_duplicates(["learner", "n_features"]).itertuples()
        for row in rows:
            title = context.title_of(LEARNER_METHODS.get(str(row.learner), str(row.learner)))
            parts.append(f"{title} at d = {row.n_features:,} is not drawn: {row.reason}.")
    return " ".join(parts)


def sparsity_curves(
    sweep: pd.DataFrame | None,
    metrics: pd.DataFrame | None,
    context: LandmarkContext,
    reference: pd.DataFrame,
) -> Plot:
    """Mean average precision against sparsity of the weights along lambda, a panel a codebook, both in percent.

    Parameters
    ----------
    sweep : DataFrame or None
        ``representation``, ``landmark``, ``draw``, ``method``, ``regularization``, ``map``, ``sparsity`` (fractions).
    metrics : DataFrame or None
        Tidy metrics; mAP of TF-IDF is the dashed line, the other compared methods that are not swept are single points.
    context : LandmarkContext
        ``regularization`` says which point of a curve the study uses.
    reference : DataFrame
        Printed numbers, hollow markers where the data are the paper's landmarks.

    Returns
    -------
    Plot
        Frame columns `SPARSITY_COLUMNS`: means over landmarks and draws.
    """
    import pandas as pd

    own = context.own(sweep)
    methods = _swept(own, context)
    others = [method for method in context.methods if method not in (*methods, "tfidf")]
    looks = looks_of([*methods, *others])
    records: list[dict[str, Any]] = []
    n = len(context.codebooks)
    with paper_style():
        figure = new_figure({1: 3.9, 2: 6.2}.get(n, 7.8), 3.2)
        axes = list(figure.subplots(1, n, squeeze=False)[0])
        for place, (axis, codebook) in enumerate(zip(axes, context.codebooks, strict=True)):
            letter = f"({'ABC'[place]})  " if n > 1 else ""
            axis.set_title(f"{letter}{codebook.title} words", loc="left")
            axis.set_xlabel("Sparsity of w (%)")
            axis.set_ylabel("Mean average precision (%)" if place == 0 else "")
            before = len(records)
            _draw_printed_points(axis, reference, codebook, context, looks, records)
            _draw_sweep(axis, own, codebook, context, methods, looks, records)
            _draw_study(axis, metrics, codebook, context, others, looks, records)
            _show_sparsity(axis, [record for record in records[before:] if not math.isnan(record["sparsity"])])
            if len(records) == before:
                say_empty(axis, "not run")
        _legend_of_panels(figure, axes)
        _say_about_data(figure, context)
    frame = pd.DataFrame(records, columns=list(SPARSITY_COLUMNS)).astype({"n_words": np.int64, "n_draws": np.int64})
    return Plot(figure, frame)


def notes_on_sparsity(context: LandmarkContext, plot: Plot) -> str:
    """Sentences of the caption: what the axis, the rings, the dashed line and the hollow markers are."""
    series = set(plot.frame["series"])
    parts = []
    if series:
        parts.append(
            "The axis of sparsity is logarithmic in the share of weights that are not zero; 100%, which has no place "
            "on it, stands where half a weight would be left."
        )
    rings = [
        f"{context.title_of(method)} {context.regularization[method]:g}"
        for method in SWEPT
        if method in context.regularization and method in series
    ]
    if rings:
        parts.append(f"Numbers: lambda; rings: lambda as the study has it ({', '.join(rings)}).")
    if "tfidf" in series:
        parts.append("Dashed: TF-IDF.")
    if any(name.endswith(", printed") for name in series):
        parts.append("Hollow markers: the paper's means over landmarks (Tables 1 to 6).")
    return " ".join(parts)


def _across(sparsity: Any, n_words: int) -> Any:
    """Where a sparsity stands on its axis: the share of non-zero weights in percent, at least half a weight."""
    return np.maximum(100 - np.asarray(sparsity, dtype=float), 50 / n_words)


def _show_sparsity(axis: Axes, records: Sequence[Mapping[str, Any]]) -> None:
    """Axis on which 90%, 99% and 99.9% lie equally far apart, since codebooks differ there alone."""
    axis.set_xscale("log")
    axis.margins(0.1, 0.12)
    places = [float(_across(record["sparsity"], record["n_words"])) for record in records]
    left, right = max([100.0, *places]), min([10.0, *places])
    shares = [share for share in (100, 50, 10, 1, 0.1, 0.01, 0.001) if share >= right / 1.6]
    axis.set_xticks(shares, [f"{100 - share:g}" for share in shares])
    axis.set_xticks([], minor=True)
    # as much room on the right as the number of a lambda takes
    axis.set_xlim(left * 1.6, right / (left / right) ** 0.12 / 1.8)


def _measured_times(dimensions: pd.DataFrame | None) -> list[dict[str, Any]]:
    if dimensions is None or dimensions.empty:
        return []
    records = []
    groups: Any = _timed(dimensions).groupby(["method", "n_features"], sort=False)
    for (method, n_features), rows in groups:
        seconds = rows["cpu_seconds"].to_numpy(dtype=float)
        series = [(OURS, seconds)]
        if "pair_cpu_seconds" in rows and rows["pair_cpu_seconds"].notna().all():
            series.append((WITHOUT_PAIRS, seconds - rows["pair_cpu_seconds"].to_numpy(dtype=float)))
        for name, values in series:
            numbers = float(np.median(values)), float(values.min()), float(values.max())
            records.append(_time(name, str(method), int(n_features), *numbers, len(values), "simulated"))
    return sorted(records, key=lambda record: (record["method"], record["series"], record["n_features"]))


def method_of_learner(dimensions: pd.DataFrame) -> pd.Series:
    """Return the method of each row of times over d, which may be named by its learner."""
    methods: pd.Series = dimensions["learner"].map(lambda name: LEARNER_METHODS.get(str(name), str(name)))
    return methods


def _timed(dimensions: pd.DataFrame) -> pd.DataFrame:
    """Rows with a time, with their ``method``: TF-IDF learns nothing, and a fit that did not end has none."""
    table = dimensions.assign(method=method_of_learner(dimensions))
    return table[(table["method"] != "tfidf") & table["cpu_seconds"].notna()]


def _steps_told(timed: pd.DataFrame, context: LandmarkContext) -> str:
    """``100,000 triplets (OASIS) and 4,200 (S-TG, S-DA)``."""
    if "n_triplets" not in timed:
        return "the triplets"
    by_method = timed.groupby("method", sort=False)["n_triplets"].max()
    told = []
    for place, (n_triplets, names) in enumerate(by_method.groupby(by_method, sort=False).groups.items()):
        titles = ", ".join(context.title_of(str(name)) for name in names)
        told.append(f"{int(str(n_triplets)):,} {'triplets ' if not place else ''}({titles})")
    return " and ".join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else told[0]


def _nonzeros_told(timed: pd.DataFrame) -> str:
    """How many non-zeros rows have, at which number of words where that is not the same at all."""
    if "nonzeros" not in timed:
        return ""
    means = timed.groupby("n_features")["nonzeros"].mean()
    if means.max() <= ALIKE * means.min():
        return f", with about {means.mean():,.0f} non-zeros each"
    sizes: list[tuple[Any, Any]] = list(means.items())
    most = max(nonzeros for _, nonzeros in sizes)
    alike = [nonzeros for _, nonzeros in sizes if most <= ALIKE * nonzeros]
    others = [f"{nonzeros:,.0f} at d = {size:,}" for size, nonzeros in sizes if most > ALIKE * nonzeros]
    return f", with about {sum(alike) / len(alike):,.0f} non-zeros each ({', '.join(others)})"


def _time(
    series: str, method: str, n_features: int, seconds: float, low: float, high: float, n: int, data: str
) -> dict[str, Any]:
    return dict(zip(TIME_COLUMNS, (series, method, n_features, seconds, low, high, n, data), strict=True))


def _printed_times(reference: pd.DataFrame) -> dict[str, dict[int, float]]:
    """Method to its printed seconds by number of words, means over the landmarks of Tables 7 to 9."""
    return {
        method: values
        for method in ("qpao", "oasis-diagonal", *SWEPT)
        if (values := _printed_means(reference, TRAIN_TIME, method))
    }


def _printed_means(reference: pd.DataFrame, quantity: str, method: str) -> dict[int, float]:
    """Words to the mean of a printed quantity over the paper's landmarks; the paper's own mean where it prints one."""
    chosen = (
        (reference["paper"] == PAPER)
        & (reference["metric"] == quantity)
        & (reference["method"] == PRINTED_METHOD.get(method, method))
    )
    rows = reference[chosen]
    means = {}
    for words, codebook in PRINTED_CODEBOOKS.items():
        of_codebook = rows[rows["setting"].str.startswith(f"codebook={codebook};")]
        mean = of_codebook[of_codebook["setting"].str.endswith(f"landmark={MEAN}")]
        values = (mean if len(mean) else of_codebook)["value"].dropna()
        if len(values):
            means[words] = float(values.mean())
    return means


def _draw_times(axis: Axes, rows: Sequence[Mapping[str, Any]], look: Look) -> None:
    for name in (OURS, WITHOUT_PAIRS):
        of_series = [row for row in rows if row["series"] == name]
        if not of_series:
            continue
        x, y, low, high = (
            np.array([row[key] for row in of_series]) for key in ("n_features", "seconds", "low", "high")
        )
        if name == WITHOUT_PAIRS:
            axis.plot(x, y, color=look.colour, linestyle=":", linewidth=1.0, zorder=2)
            continue
        axis.plot(x, y, color=look.colour, linestyle=look.line, marker=look.marker, zorder=2.5)
        axis.errorbar(x, y, yerr=[y - low, high - y], linestyle="none", color=look.colour, elinewidth=0.8, zorder=2.4)


def _name_ends(axis: Axes, ends: Sequence[Mapping[str, Any]], looks: Mapping[str, Look]) -> None:
    """Seconds beside the last point of each line; of lines that end together the slower one's stand higher."""
    told: list[Mapping[str, Any]] = []
    for row in sorted(ends, key=lambda row: -row["seconds"]):
        near = [
            one for one in told if one["n_features"] == row["n_features"] and one["seconds"] < CLOSE * row["seconds"]
        ]
        axis.annotate(
            f"{significant(row['seconds'])} s", (row["n_features"], row["seconds"]), xytext=(6, 3 - 8 * len(near)),
            textcoords="offset points", va="center", fontsize=6.5, color=looks[row["method"]].colour,
            annotation_clip=False,
        )  # fmt: skip
        told.append(row)


def _hollow(look: Look) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": 6.0,
        "markerfacecolor": "none",
        "markeredgewidth": 1.0,
        "color": look.colour,
    }


def _legend(
    figure: Figure,
    methods: Sequence[str],
    measured: Sequence[str],
    looks: Mapping[str, Look],
    context: LandmarkContext,
    ours: Sequence[Mapping[str, Any]],
) -> None:
    """One entry a method, then what filled, hollow and dotted mean."""
    from matplotlib.lines import Line2D

    handles = []
    for method in methods:
        look = looks[method]
        drawn = {"linestyle": look.line, "marker": look.marker, "color": look.colour}
        ours_too = method in measured
        # what is printed is of the authors' own QPAO, not of ours
        title = context.title_of(method) if ours_too else title_of(method)
        handles.append(Line2D([], [], label=title, **(drawn if ours_too else _hollow(look))))
    handles.append(Line2D([], [], label="hollow: printed (Tables 7 to 9)", **_hollow(Look(GREY, "o"))))
    if any(record["series"] == WITHOUT_PAIRS for record in ours):
        handles.append(Line2D([], [], label="dotted: without pair products", color=GREY, linestyle=":"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def _say_about_data(figure: Figure, context: LandmarkContext, *, simulated: bool = False) -> None:
    """What to know about the data, above the panels."""
    if simulated:
        figure.suptitle("Simulated rows", fontsize=7.5, color=GREY, x=0.01, ha="left")
    elif context.not_run_sentence:
        figure.suptitle(context.not_run_sentence, fontsize=8, color=VERMILLION)
    elif context.synthetic:
        figure.suptitle("Synthetic images", fontsize=7.5, color=GREY, x=0.99, ha="right")


def _swept(sweep: pd.DataFrame | None, context: LandmarkContext) -> list[str]:
    """Methods with a curve, in the order of the study; those of the paper where nothing was run."""
    if sweep is None:
        return [method for method in SWEPT if method in context.methods] or list(SWEPT)
    present = set(sweep["method"])
    ordered = [method for method in context.methods if method in present]
    return ordered + sorted(present - set(ordered))


def _draw_sweep(
    axis: Axes,
    sweep: pd.DataFrame | None,
    codebook: Codebook,
    context: LandmarkContext,
    methods: Sequence[str],
    looks: Mapping[str, Look],
    records: list[dict[str, Any]],
) -> None:
    if sweep is None:
        return
    for method in methods:
        rows = sweep[(sweep["representation"] == codebook.id) & (sweep["method"] == method)]
        if rows.empty:
            continue
        # first over landmarks, so that each draw counts alike
        by_draw = rows.groupby(["regularization", "draw"])[[SPARSITY, MAP]].mean().reset_index()
        means = by_draw.groupby("regularization").agg(
            sparsity=(SPARSITY, "mean"), map=(MAP, "mean"), n_draws=("draw", "nunique")
        )
        sparsity, y = 100 * means["sparsity"].to_numpy(), 100 * means["map"].to_numpy()
        x = _across(sparsity, codebook.n_words)
        look, lambdas = looks[method], means.index.to_numpy(dtype=float)
        title = context.title_of(method)
        axis.plot(x, y, color=look.colour, linestyle=look.line, marker=look.marker, label=title, zorder=2.5)
        default = _nearest(lambdas, context.regularization.get(method))
        for number in _told(len(lambdas), default):
            side = "above" if number == default else "below" if number == 0 else "right"
            _name_lambda(axis, x[number], y[number], lambdas[number], look, side)
        if default is not None:
            axis.plot(
                [x[default]], [y[default]], linestyle="none", marker="o", markersize=DEFAULT_RING, color=look.colour,
                markerfacecolor="none", markeredgewidth=1.1, zorder=2.6,
            )  # fmt: skip
        for i, value in enumerate(lambdas):
            records.append(_point(codebook, method, value, sparsity[i], y[i], int(means["n_draws"].iloc[i])))


def _draw_study(
    axis: Axes,
    metrics: pd.DataFrame | None,
    codebook: Codebook,
    context: LandmarkContext,
    others: Sequence[str],
    looks: Mapping[str, Look],
    records: list[dict[str, Any]],
) -> None:
    """The methods that are not swept as points, at the study's own settings, and TF-IDF as a line."""
    summary = summary_of(metrics, None, context, codebook)
    for method in others:
        pair = [summary.get((MEAN, method, metric)) for metric in (SPARSITY, MAP)]
        if pair[0] is None or pair[1] is None:
            continue
        x, y = pair[0][0], pair[1][0]
        look = looks[method]
        place = float(_across(x, codebook.n_words))
        axis.plot([place], [y], linestyle="none", marker=look.marker, color=look.colour, label=context.title_of(method))
        records.append(_point(codebook, method, math.nan, x, y, pair[1][2]))
    baseline = summary.get((MEAN, "tfidf", MAP))
    if baseline is not None:
        axis.axhline(baseline[0], color=BLACK, linestyle="--", linewidth=1.0, label="TF-IDF", zorder=1.5)
        records.append(_point(codebook, "tfidf", math.nan, math.nan, baseline[0], baseline[2]))


def _draw_printed_points(
    axis: Axes,
    reference: pd.DataFrame,
    codebook: Codebook,
    context: LandmarkContext,
    looks: Mapping[str, Look],
    records: list[dict[str, Any]],
) -> None:
    """The paper's means, where they are of the same landmarks, at the codebook that it has at this place."""
    if not context.shows_printed:
        return
    words = list(PRINTED_CODEBOOKS)[codebook.place]
    for method, look in looks.items():
        sparsity, precision = (_printed_means(reference, quantity, method).get(words) for quantity in (SPARSITY, MAP))
        if sparsity is None or precision is None:
            continue
        place = float(_across(sparsity, codebook.n_words))
        axis.plot([place], [precision], zorder=3, **_hollow(look))
        _printed_entry(axis, method, look, context)
        records.append(_point(codebook, f"{method}, printed", math.nan, sparsity, precision, 0))
    baseline = _printed_means(reference, MAP, "tfidf").get(words)
    if baseline is not None:
        axis.axhline(
            baseline, color=LOOKS["tfidf"].colour, linestyle=(0, (1, 2)), linewidth=0.9, label="TF-IDF, printed"
        )
        records.append(_point(codebook, "tfidf, printed", math.nan, math.nan, baseline, 0))


def _printed_entry(axis: Axes, method: str, look: Look, context: LandmarkContext) -> None:
    """Legend: one entry for all hollow markers beside our curves, one a method where they stand alone."""
    if context.not_run is not None:
        legend_entry(axis, f"{title_of(method)}, printed", **_hollow(look))
    else:
        legend_entry(axis, "hollow: printed", **_hollow(Look(GREY, "o")))


def _point(
    codebook: Codebook, series: str, regularization: float, sparsity: float, precision: float, n_draws: int
) -> dict[str, Any]:
    values = (codebook.id, codebook.n_words, series, float(regularization), float(sparsity), float(precision), n_draws)
    return dict(zip(SPARSITY_COLUMNS, values, strict=True))


def _nearest(lambdas: np.ndarray, wanted: float | None) -> int | None:
    """Place of the study's lambda on the curve; None where it was not tried."""
    if wanted is None:
        return None
    found = np.flatnonzero(np.isclose(lambdas, wanted, rtol=1e-6, atol=0))
    return int(found[0]) if len(found) else None


def _told(n: int, default: int | None) -> list[int]:
    """Places whose lambda is written beside the point: both ends and the study's own."""
    return sorted({0, n - 1} | ({default} if default is not None else set()))


def _name_lambda(axis: Axes, x: float, y: float, value: float, look: Look, side: str) -> None:
    """Lambda of a point: beneath the first, above the study's own, to the right of the last."""
    across, up, ha, va = {
        "below": (0, -5, "center", "top"),
        "above": (0, 6, "center", "bottom"),
        "right": (6, 0, "left", "center"),
    }[side]
    axis.annotate(
        f"{value:.0e}".replace("e-0", "e-") if value else "0", (x, y), xytext=(across, up), textcoords="offset points",
        ha=ha, va=va, fontsize=6, color=look.colour, zorder=4,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.75},
    )  # fmt: skip


def _legend_of_panels(figure: Figure, axes: Sequence[Axes]) -> None:
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        columns = min(len(entries), max(2, round(figure.get_figwidth() / 1.5)))
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)
