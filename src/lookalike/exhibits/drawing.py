"""Figures with Matplotlib: panels of series, one legend, and the same bytes from the same numbers.

The SVG tells the numbers of the point on which the pointer rests; the table below it on a page has all of them.
Those that are declared show means of rows of results over repeats along x, a panel for each part of a setting. Error
bars are standard errors over repeats. A point that some repeats lack is left out: its mean would be of others.
"""

from __future__ import annotations

import html
import math
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.arrays import Doubles
from lookalike.exhibits.model import Axis, Drawn, NothingToShowError, PointTitle
from lookalike.exhibits.printed import PARTITIONS, human_time
from lookalike.exhibits.registry import Exhibit, Level
from lookalike.exhibits.results import TIMED_OUT, rows_in, select
from lookalike.exhibits.style import (
    BLACK,
    GREY,
    TRAINING,
    VERMILLION,
    Look,
    Style,
    lay_out,
    look_of,
    looks_of,
    new_figure,
    save_figure,
)
from lookalike.exhibits.tables import keyed, values_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from lookalike.exhibits.study import Study

MARKS = 9
"""About how many points of a curve carry a marker and an error bar; the line goes through all of them."""
FEW = 14
"""Up to this many points each has its marker, where they do not crowd."""
LEGEND_ROW = 0.16
"""Height of a row of the legend, in inches."""
MARKER, CAP = 2.4, 3.0
"""Size of markers, and half the width of error bars' caps, in points."""
DISC = '<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="transparent"><title>{}</title></circle>'
"""The disc that shows a point's title: larger than its marker, and unseen."""
Where = Mapping[str, str]
"""Column to value: the rows of one panel."""
PRINTED, UPRIGHT = ", printed", ", upright"
"""What stands behind a method in the column ``method`` of rows that are no curve."""
NO_ROWS = pd.DataFrame({name: pd.Series(dtype="object") for name in ("method", "mean")})
THIN = Look(GREY, "", kind="thin")


def ruler(colour: str = BLACK, line: str = "--") -> Style:
    """Return how a straight line across a panel is drawn: behind the curves."""
    return {"color": colour, "linestyle": line, "linewidth": 1.0, "zorder": 1.5}


class Curve(NamedTuple):
    """A line or a set of points of a panel."""

    name: str
    look: Look
    rows: pd.DataFrame
    x: str = "x"
    y: str = "mean"
    ends: tuple[str, str] | None = ("low", "high")
    """Columns of the bounds of each point; None where there are none."""


class Chart:
    """Panels of curves on one canvas, in rows of at most three, with one legend; the SVG tells points' numbers."""

    def __init__(self, n: int, n_columns: int = 0, size: tuple[float, float] | None = None) -> None:
        """Make room for `n` panels, `n_columns` beside each other, of a width and height in inches."""
        n_columns = n_columns or (2 if n == 4 else min(n, 3))
        n_rows = math.ceil(n / n_columns)
        width, height = size or ({1: 3.6, 2: 3.1}.get(n_columns, 7.4 / n_columns), 2.35)
        self.canvas = new_figure(width * n_columns, 0.45 + height * n_rows)
        self._axes: list[Axes] = [*self.canvas.subplots(n_rows, n_columns, squeeze=False).ravel()]
        for spare in self._axes[n:]:
            spare.remove()
        self._titles: list[PointTitle] = []
        self._panels: list[tuple[Axes, Axis, Axis, str]] = []

    def panel(self, title: str, x: Axis, y: Axis, curves: Iterable[Curve] = (), empty: str = "") -> Axes:
        """Draw the next panel, thin curves behind all others; words say why one is `empty`."""
        from matplotlib.ticker import NullLocator

        axis, is_log = self._axes[len(self._panels)], x.scale == "log"
        axis.set_title(title, loc="left")
        for letter, form, ruler in (("x", x, axis.xaxis), ("y", y, axis.yaxis)):
            axis.set(**{f"{letter}label": form.label, f"{letter}scale": form.scale})
            if form.ticks:
                ruler.set_ticks([place for place, _ in form.ticks], labels=[name for _, name in form.ticks])
            elif form.tick_form == "short":
                ruler.set_major_formatter(short_count)
            if form.ticks or form.tick_form:
                ruler.set_minor_locator(NullLocator())
        if "log" in (x.scale, y.scale):
            axis.grid(which="minor", visible=False)
        ordered, names = sorted(curves, key=lambda curve: curve.look.kind != "thin"), dict(x.ticks or ())
        for place, curve in enumerate(ordered):
            points = drawn_points(curve, place / len(ordered), is_log=is_log)
            draw_curve(axis, curve, points)
            for point in rows_in(points[points["marked"] & (curve.look.kind != "thin")]):
                where = names.get(point.x) or number_text(x, point.x)
                text = "\n".join(filter(None, (curve.name, where, number_text(y, point.y, point.low, point.high))))
                self._titles.append((axis, point.across, point.y, text))
        self._panels.append((axis, x, y, empty))
        if empty:
            axis.set(xticks=[], yticks=[])
            axis.text(0.5, 0.5, empty, transform=axis.transAxes, ha="center", va="center", color=GREY)
        return axis

    def drawn(self, frame: pd.DataFrame, **about: Any) -> Drawn:
        """Draw the legend, and return the figure with what else there is of it; without a panel it is not run."""
        if all(empty for *_, empty in self._panels):
            raise NothingToShowError(next((empty for *_, empty in self._panels), "nothing was measured"))
        # straight lines, which were drawn since, count for where axes end
        for axis, x, y, _ in self._panels:
            axis.set(xlim=(x.low, x.high), ylim=(y.low, y.high))
            # heights mislead where an axis of amounts leaves 0 out
            if y.label and y.scale == "linear" and not y.ticks and min(axis.get_ylim()) > 0:
                axis.set_ylabel(f"{y.label} (axis cut)")
        draw_legend(self.canvas)
        return Drawn(frame, canvas=self.canvas, point_titles=self._titles, **about)


def save(drawn: Drawn, stem: Path, study: Study, notice: str = "") -> None:
    """Write a picture as PNG, SVG and PDF; a notice stands above it."""
    canvas, discs = drawn.canvas or new_figure(3.6, 2.8), list[str]()
    if notice:
        canvas.suptitle(notice, fontsize=8, color=VERMILLION, wrap=True)
    elif study.corner:
        canvas.suptitle(study.corner, fontsize=7.5, color=GREY, x=0.99, ha="right")
    lay_out(canvas)
    for axis, across, up, text in drawn.point_titles:
        x, y = axis.transData.transform((across, up))
        # half a dot: what lies on the edge is seen
        if axis.bbox.padded(0.5).contains(x, y):
            at = (72 / canvas.dpi * place for place in (x, canvas.bbox.height - y))
            discs.append(DISC.format(*at, html.escape(text, quote=False)))
    save_figure(canvas, stem, discs)


def lettered(titles: Sequence[str]) -> list[str]:
    """Return titles of panels as print has them: ``(A)  10 classes`` where there are several."""
    letters = string.ascii_uppercase
    return list(titles) if len(titles) < 2 else [f"({letters[i % 26]})  {title}" for i, title in enumerate(titles)]


def drawn_points(curve: Curve, shift: float, *, is_log: bool) -> pd.DataFrame:
    """Return the points of a curve by x, with the place ``across`` where they stand, and ``marked`` ones."""
    rows = curve.rows.sort_values(curve.x, kind="stable")
    if is_log:
        # a start at 0 has no place there
        rows = rows[rows[curve.x] > 0]
    columns = dict(zip(("x", "y", "low", "high"), (curve.x, curve.y, *(curve.ends or ("", ""))), strict=True))
    points = pd.DataFrame({name: rows.get(column, math.nan) for name, column in columns.items()}, index=rows.index)
    points, look = points.astype("float64"), curve.look
    across = points["x"] * 10**look.shift if is_log else points["x"] + look.shift
    marked = np.isin(np.arange(len(points)), marked_points(across.to_numpy(), is_log=is_log, shift=shift))
    return points.assign(across=across, marked=(look.kind in ("points", "each")) | marked)


def marked_points(x: Doubles, *, is_log: bool, shift: float = 0.0) -> npt.NDArray[np.intp]:
    """Return places of the points that carry a marker; a `shift` keeps those of several series from each other."""
    along = np.log(x) if is_log else x
    spacing = float(np.ptp(along)) / MARKS if len(x) > 1 else 0.0
    if not spacing or (len(x) <= FEW and not (np.diff(along) < spacing / 3).any()):
        return np.arange(len(x))
    targets = along[0] + spacing * (np.arange(MARKS + 1) + shift)
    targets[0] = along[0]
    return np.unique(np.abs(along[:, None] - targets).argmin(axis=0))


def draw_curve(axis: Axes, curve: Curve, points: pd.DataFrame) -> None:
    """Draw the line, markers and errors of a curve."""
    x, y, low, high = (points[name].to_numpy() for name in ("across", "y", "low", "high"))
    look, kept, is_star = curve.look, points["marked"].to_numpy(), curve.look.marker == "*"
    style: Style = {"color": look.colour, "linestyle": "none" if look.kind == "points" else look.line}
    marker: Style = {"marker": look.marker, "markerfacecolor": "none" if look.hollow else look.colour}
    if look.kind == "thin":
        axis.plot(x, y, label=curve.name, alpha=0.45, linewidth=0.8, zorder=1.8, **style)
        return
    if look.band:
        # a range alone, without points, is what the legend shows
        bare = look.kind == "points" and not look.marker
        name = curve.name if bare else None
        axis.fill_between(x, low, high, color=look.colour, alpha=0.18, linewidth=0, zorder=1.5, label=name)
        if bare:
            return
    axis.plot(x, y, zorder=2, **style)
    # the points of a star hold little colour, and a ring lies around what it covers
    size = (4 if look.kind == "points" else MARKER) * (2 if is_star else 1.5 if look.hollow else 1)
    # the legend shows line and marker together
    axis.plot([], [], label=curve.name, markersize=size if is_star else 4, **marker, **style)
    kept = kept & bool(look.marker or curve.ends)
    axis.plot(x[kept], y[kept], **marker, color=look.colour, linestyle="none", markersize=size, zorder=2.5)
    if curve.ends and not look.band and kept.any():
        reach = np.nan_to_num(np.abs(np.vstack([y - low, high - y])[:, kept]))
        bars: Style = {"color": look.colour, "elinewidth": 0.8, "capsize": CAP, "capthick": 0.8}
        axis.errorbar(x[kept], y[kept], yerr=reach, linestyle="none", zorder=3, **bars)


def draw_legend(canvas: Canvas) -> None:
    """Draw one legend for all panels, in the order in which series were first drawn, in as few even rows as fit."""
    entries: dict[str, Artist] = {}
    for axis in canvas.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    labels = list(entries)
    if not labels:
        return
    for n_columns in range(len(labels), 0, -1):
        # about 15 letters an inch, of which line and gaps take 9 in each column; the first have one entry more
        widths = [max(map(len, column)) + 9 for column in np.array_split(np.array(labels), n_columns)]
        if sum(widths) <= 15 * canvas.get_figwidth():
            break
    n_rows = math.ceil(len(labels) / n_columns)
    # a tall legend does not take its room from the panels
    canvas.set_figheight(canvas.get_figheight() + LEGEND_ROW * max(0, n_rows - 2))
    canvas.legend(entries.values(), labels, loc="outside lower center", ncols=math.ceil(len(labels) / n_rows))


def number_text(form: Axis, value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a number with its error or its bounds, and what it is where its format does not say so."""
    spread = high - value
    number, least, most, error = (
        human_time(amount) if form.text == "time" else form.text.format(amount) for amount in (value, low, high, spread)
    )
    # one repeat, or no measurement, has no error
    if low != high and not math.isnan(low):
        is_even = math.isclose(value - low, spread, rel_tol=1e-6, abs_tol=1e-12)
        number += f" ± {error.lstrip('+')}" if is_even else f" ({least} to {most})"
    is_bare = form.text.startswith(("{", "time")) and " " not in form.text
    return f"{form.label}: {number}" if form.label and is_bare else number


def short_count(value: float, position: float | None = None) -> str:
    """Return a count as axes print it: ``0.1``, ``600``, ``10K``, ``2.3M``."""
    for worth, unit in ((1e6, "M"), (1e3, "K")):
        if abs(value) >= worth:
            return f"{value / worth:g}{unit}"
    return f"{value:g}"


# Declared -------------------------------------------------------------------------------------------------------------


def figure_of(exhibit: Exhibit, study: Study) -> Drawn:
    """Draw a curve of each method in the panels."""
    layout, curves = exhibit.figure, curves_of(exhibit, study)
    titles = {axis: values_of(exhibit, study, axis) for axis in layout.panels}
    places = [dict(zip(layout.panels, values, strict=True)) for values in product(*titles.values())]
    names = [", ".join(titles[axis][value] for axis, value in place.items()) for place in places]
    # panels of one part stand beside each other
    chart, frames = Chart(len(places), len(titles[layout.panels[-1]]) if len(layout.panels) > 1 else 0), [curves]
    for place, title in zip(places, lettered(names), strict=True):
        frames += draw_panel(chart, title, exhibit, study, place, select(curves, **place))
    frame = pd.concat([rows for rows in frames if len(rows)] or [curves], ignore_index=True)
    methods = values_of(exhibit, study, "method") | {
        name: f"{study.title_of(name.removesuffix(PRINTED))}{PRINTED}"
        for name in frame["method"]
        if name.endswith(PRINTED)
    }
    own = {method: methods[method] for method in dict.fromkeys(frame["method"]) if method in methods}
    return chart.drawn(frame, titles={"method": own}, notes=exhibit.notes)


def curves_of(exhibit: Exhibit, study: Study) -> pd.DataFrame:
    """Return means over repeats at each x, with standard errors."""
    layout = exhibit.figure
    keys = [*dict.fromkeys((*layout.panels, "method")), "x"]
    panels = {axis: list(values_of(exhibit, study, axis)) for axis in layout.panels}
    rows = select(study.results, **{**exhibit.where, **panels})
    rows = rows[(rows["x"] <= layout.last) & rows["method"].isin([*study.methods_named(exhibit.shows), layout.minus])]
    rows = rows[~keyed(rows, ["setting", "method"]).isin(easier_parts(rows, study))]
    if layout.minus and len(rows):
        wide = rows.pivot_table(index=[*layout.panels, "repeat", "x"], columns="method", values="value")
        wide = wide.reindex(columns=wide.columns.union([layout.minus]))
        gaps = wide.drop(columns=layout.minus).sub(wide[layout.minus], axis=0)
        rows = gaps.melt(ignore_index=False).dropna().reset_index()
    found = rows.groupby(keys, sort=True)["value"].agg(mean="mean", std="std", n="count").reset_index()
    most = found.groupby(keys[:-1])["n"].transform("max")
    found = found[found["n"] == most].assign(sem=lambda frame: frame["std"] / np.sqrt(frame["n"]))
    found = found.assign(low=found["mean"] - found["sem"], high=found["mean"] + found["sem"])
    return found[[*keys, "mean", "low", "high", "sem", "n"]].reset_index(drop=True)


def easier_parts(rows: pd.DataFrame, study: Study) -> pd.MultiIndex:
    """Return settings and methods that lost fits: what is left is of the easier repeats; traces may have all."""
    keys = ["setting", "method"]
    fits = study.results[study.results["metric"] == TIMED_OUT].groupby(keys)["value"].agg(["sum", "count"])
    n_repeats = rows.groupby(keys)["repeat"].nunique()
    fits = fits[(fits["sum"] > 0) & (n_repeats.reindex(fits.index).fillna(0) < fits["count"])]
    return pd.MultiIndex.from_tuples(list(fits.index), names=keys) if len(fits) else keyed(rows.iloc[:0], keys)


def draw_panel(
    chart: Chart, title: str, exhibit: Exhibit, study: Study, place: Where, own: pd.DataFrame
) -> list[pd.DataFrame]:
    """Draw one panel, with its curves or why there are none; return rows of what is no curve, for the CSV."""
    layout = exhibit.figure
    level, upright = (mean_of(line if len(own) else None, study, place) for line in (layout.level, layout.upright))
    upright = upright.rename(columns={"mean": "x"}).assign(method=upright["method"] + UPRIGHT)
    stop = float(upright["x"].mean())
    printed, curves = printed_points(exhibit, study, place, stop), [*curves_shown(exhibit, study, place, own)]
    for name, rows in printed.groupby("method"):
        method = str(name).removesuffix(PRINTED)
        look = replace(look_of(method), kind="points", hollow=True)
        curves.append(Curve(f"{study.title_of(method)}{PRINTED}", look, rows))
    first = next(iter(values_of(exhibit, study, "method")), "")
    empty = "" if curves else study.why_absent(place.get("setting", ""), first)
    panel = chart.panel(title, axis_of(layout.x, own, "x"), axis_of(layout.y, own, "y"), curves, empty)
    if not curves:
        return []
    if layout.zero:
        panel.axhline(0, label=layout.zero, **ruler())
    if layout.level is not None and len(level):
        value = float(level["mean"].iloc[0])
        panel.axhline(value, label=layout.level.name, **ruler())
        if layout.level.has_value:
            # it stands at the right end of its line, where no upright line does
            is_left = stop > 0.9 * max(stop, *own["x"], *printed.get("x", ()))
            end, shift, side = (0, 3, "left") if is_left else (1, -3, "right")
            words: Style = {"ha": side, "va": "bottom", "color": BLACK, "fontsize": 7}
            across: Style = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            panel.annotate(f"{value:.2f}", (end, value), (shift, 2), **across, **words)
    if layout.upright is not None and len(upright):
        panel.axvline(stop, label=layout.upright.name, **ruler(GREY, ":"))
    return [level, upright, printed]


def curves_shown(exhibit: Exhibit, study: Study, place: Where, own: pd.DataFrame) -> Iterator[Curve]:
    """Yield the curves of a panel; methods of one title have one place in the legend."""
    layout, methods = exhibit.figure, values_of(exhibit, study, "method")
    # where panels have several metrics, names have that of the metric
    metric = values_of(exhibit, study, "metric").get(place.get("metric", ""), "")
    usual = [method for method, title in methods.items() if title != layout.thin]
    looks = looks_of(usual)
    # training images, of whatever method, have a look of their own
    looks |= dict.fromkeys(methods, TRAINING) if place.get("metric") == layout.training else {}
    for method, title in sorted(methods.items(), key=lambda pair: pair[1] != layout.thin):
        if len(rows := own[own["method"] == method]):
            name, look = f"{title}, {metric}" if metric else title, looks.get(method, THIN)
            if method in usual:
                look = replace(look, shift=layout.apart * (usual.index(method) - (len(usual) - 1) / 2))
            yield Curve(name, look, rows)


def mean_of(line: Level | None, study: Study, place: Where) -> pd.DataFrame:
    """Return the mean of a straight line in a panel as a row without x; none where the panel has no such line."""
    if line is None or any(place[column] != value for column, value in line.where.items()):
        return NO_ROWS
    values = select(study.results, **{**place, "method": line.method, "metric": line.metric})["value"].dropna()
    if values.empty:
        return NO_ROWS
    return pd.DataFrame(
        [{**place, "method": line.method, "mean": values.mean(), "sem": values.sem(), "n": len(values)}]
    )


def printed_points(exhibit: Exhibit, study: Study, place: Where, stop: float) -> pd.DataFrame:
    """Return what the paper prints, at its x, on settings whose numbers may stand beside print."""
    layout, setting = exhibit.figure, place.get("setting", "")
    is_elsewhere = layout.level and any(place[name] != value for name, value in layout.level.where.items())
    if not layout.printed or is_elsewhere or not study.is_comparable(setting):
        return NO_ROWS
    methods = layout.printed_methods or study.methods_named(exhibit.shows)
    rows = select(study.printed_results(), metric=list(layout.printed), method=methods, setting=setting)
    rows = rows[rows["value"].notna()]
    where = {metric: stop if x == "upright" else x for metric, x in layout.printed.items()}
    # standard deviations are printed, in percent, and all error bars are standard errors
    mean, sem = rows["value"] / 100, rows["spread"] / 100 / math.sqrt(PARTITIONS)
    points = pd.DataFrame({"method": rows["method"] + PRINTED, "x": rows["metric"].map(where), "mean": mean})
    return points.assign(**place, low=mean - sem, high=mean + sem, sem=sem, n=0).dropna(subset="x")


def axis_of(axis: Axis, curves: pd.DataFrame, name: str) -> Axis:
    """Return an axis as declared; what it leaves open ends a little beyond the points."""
    if name == "x" and axis.at_points:
        axis = replace(axis, ticks=tuple((float(x), f"{x:g}") for x in sorted(set(curves["x"]))))
    if axis.high is None and axis.low is not None and axis.scale == "linear" and len(curves):
        most = float(curves["x" if name == "x" else "high"].max())
        axis = replace(axis, high=1.02 * most if name == "x" else min(1.0, 1.08 * most))
    return axis
