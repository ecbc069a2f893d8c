"""Figures with Matplotlib: panels of series, one legend, and the same bytes from the same numbers.

The SVG tells the numbers of the point on which the pointer rests; the table below it on a page has all of them.
"""

from __future__ import annotations

import html
import math
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.arrays import Doubles
from lookalike.exhibits.image_grid import draw_gallery
from lookalike.exhibits.model import Axis, Figure, Gallery, Line, Panel, Picture, Series
from lookalike.exhibits.printed import human_time
from lookalike.exhibits.results import rows_in, select
from lookalike.exhibits.style import GREY, VERMILLION, Style, lay_out, new_figure, paper_style, save_figure

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
BESIDE: Style = {"textcoords": "offset points", "fontsize": 7}
"""Words beside a place, moved by so many points."""
DISC = '<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="transparent"><title>{}</title></circle>'
"""The disc that shows a point's title: larger than its marker, and unseen."""
BARE = ("{", "time")
"""Beginnings of an axis's format that does not say what its number is."""


def save(drawn: Figure | Gallery | Picture, stem: Path, study: Study, notice: str = "") -> None:
    """Draw a figure, gallery or picture and write it as PNG, SVG and PDF; a notice stands above it."""
    with paper_style():
        if isinstance(drawn, Picture):
            canvas = new_figure(*drawn.size)
            drawn.paint(canvas)
        else:
            canvas = draw(drawn) if isinstance(drawn, Figure) else draw_gallery(drawn)
        if notice:
            canvas.suptitle(notice, fontsize=8, color=VERMILLION, wrap=True)
        elif study.corner:
            canvas.suptitle(study.corner, fontsize=7.5, color=GREY, x=0.99, ha="right")
        lay_out(canvas)
        titles = titles_of_points(drawn, canvas) if isinstance(drawn, Figure) else ()
    save_figure(canvas, stem, titles)


def draw(figure: Figure) -> Canvas:
    """Return a figure's panels on a Matplotlib canvas, in rows of at most three, with one legend for all of them."""
    n = len(figure.panels)
    n_columns = figure.n_columns or (2 if n == 4 else min(n, 3))
    n_rows = math.ceil(n / n_columns)
    width, height = figure.size or ({1: 3.6, 2: 3.1}.get(n_columns, 7.4 / n_columns), 2.35)
    canvas = new_figure(width * n_columns, 0.45 + height * n_rows)
    axes = canvas.subplots(n_rows, n_columns, squeeze=False).ravel()
    for spare in axes[n:]:
        spare.remove()
    for axis, panel in zip(axes[:n], figure.panels, strict=True):
        _draw_panel(axis, panel, figure.frame)
    _draw_legend(canvas)
    return canvas


def lettered(titles: Sequence[str]) -> list[str]:
    """Return titles of panels as print has them: ``(A)  10 classes`` where there are several."""
    letters = string.ascii_uppercase
    return list(titles) if len(titles) < 2 else [f"({letters[i % 26]})  {title}" for i, title in enumerate(titles)]


def _draw_panel(axis: Axes, panel: Panel, frame: pd.DataFrame) -> None:
    """Draw one panel of the numbers of a frame."""
    from matplotlib.ticker import NullLocator

    axis.set_title(panel.title, loc="left")
    for letter, form, ruler in (("x", panel.x, axis.xaxis), ("y", panel.y, axis.yaxis)):
        axis.set(**{f"{letter}label": form.label, f"{letter}scale": form.scale})
        if form.ticks:
            ruler.set_ticks([place for place, _ in form.ticks], labels=[name for _, name in form.ticks])
        elif form.tick_form == "short":
            ruler.set_major_formatter(short_count)
        if form.ticks or form.tick_form:
            ruler.set_minor_locator(NullLocator())
    if "log" in (panel.x.scale, panel.y.scale):
        axis.grid(which="minor", visible=False)
    for series, points in points_of(panel, frame):
        _draw_series(axis, series, points)
    for line in panel.lines:
        _draw_line(axis, line)
    axis.set(xlim=(panel.x.low, panel.x.high), ylim=(panel.y.low, panel.y.high))
    # heights mislead where an axis of amounts leaves 0 out
    if panel.y.label and panel.y.scale == "linear" and not panel.y.ticks and min(axis.get_ylim()) > 0:
        axis.set_ylabel(f"{panel.y.label} (axis cut)")
    if panel.empty:
        axis.set(xticks=[], yticks=[])
        axis.text(0.5, 0.5, panel.empty, transform=axis.transAxes, ha="center", va="center", color=GREY)


def points_of(panel: Panel, frame: pd.DataFrame) -> Iterator[tuple[Series, pd.DataFrame]]:
    """Yield the series of a panel with their points, by x; thin ones come first, and lie behind.

    Points have ``x``, ``y``, ``low``, ``high``, the place ``across`` where they are drawn, and ``marked`` where they
    carry a marker.
    """
    is_log = panel.x.scale == "log"
    for place, series in enumerate(sorted(panel.series, key=lambda series: series.kind != "thin")):
        rows = select(frame, **series.where).sort_values(series.x, kind="stable")
        if is_log:
            # a start at 0 has no place there
            rows = rows[rows[series.x] > 0]
        columns = {"x": series.x, "y": series.y, "low": series.low, "high": series.high}
        points = pd.DataFrame({name: rows.get(column, math.nan) for name, column in columns.items()}, index=rows.index)
        points = points.astype("float64")
        across = points["x"] * 10**series.shift if is_log else points["x"] + series.shift
        marked = marked_points(across.to_numpy(), is_log=is_log, shift=place / len(panel.series))
        has_all = series.kind in ("points", "each")
        yield series, points.assign(across=across, marked=has_all | np.isin(np.arange(len(points)), marked))


def marked_points(x: Doubles, *, is_log: bool, shift: float = 0.0) -> npt.NDArray[np.intp]:
    """Return places of the points that carry a marker; a `shift` keeps those of several series from each other."""
    along = np.log(x) if is_log else x
    spacing = float(np.ptp(along)) / MARKS if len(x) > 1 else 0.0
    if not spacing or (len(x) <= FEW and not (np.diff(along) < spacing / 3).any()):
        return np.arange(len(x))
    targets = along[0] + spacing * (np.arange(MARKS + 1) + shift)
    targets[0] = along[0]
    return np.unique(np.abs(along[:, None] - targets).argmin(axis=0))


def _draw_series(axis: Axes, series: Series, points: pd.DataFrame) -> None:
    """Draw the line, markers and errors of a series."""
    x, y, low, high = (points[name].to_numpy() for name in ("across", "y", "low", "high"))
    look, kept, is_star = series.look, points["marked"].to_numpy(), series.look.marker == "*"
    style: Style = {"color": look.colour, "linestyle": "none" if series.kind == "points" else look.line}
    marker: Style = {"marker": look.marker, "markerfacecolor": "none" if series.hollow else look.colour}
    if series.kind == "thin":
        axis.plot(x, y, label=series.name, alpha=0.45, linewidth=0.8, zorder=1.8, **style)
        return
    if series.band:
        # a range alone, without points, is what the legend shows
        bare = series.kind == "points" and not look.marker
        name = series.name if bare else None
        axis.fill_between(x, low, high, color=look.colour, alpha=0.18, linewidth=0, zorder=1.5, label=name)
        if bare:
            return
    axis.plot(x, y, zorder=2, **style)
    # the legend shows line and marker together; the points of a star hold little colour
    axis.plot([], [], label=series.name, markersize=8 if is_star else 4, **marker, **style)
    # a ring lies around what it covers
    size = (4 if series.kind == "points" else MARKER) * (2 if is_star else 1.5 if series.hollow else 1)
    kept = kept & bool(look.marker or series.low)
    axis.plot(x[kept], y[kept], **marker, color=look.colour, linestyle="none", markersize=size, zorder=2.5)
    if series.low and not series.band and kept.any():
        reach = np.nan_to_num(np.abs(np.vstack([y - low, high - y])[:, kept]))
        bars: Style = {"color": look.colour, "elinewidth": 0.8, "capsize": CAP, "capthick": 0.8}
        axis.errorbar(x[kept], y[kept], yerr=reach, linestyle="none", zorder=3, **bars)


def _draw_line(axis: Axes, line: Line) -> None:
    """Draw a level or an upright line, behind the curves, with its words at one end."""
    look: Style = {"color": line.look.colour, "linestyle": line.look.line, "linewidth": 1.0, "zorder": 1.5}
    draw_line = axis.axvline if line.upright else axis.axhline
    draw_line(line.at, label=line.name or None, **look)
    if line.label:
        place, shift, side = (0, 3, "left") if line.label_left else (1, -3, "right")
        words: Style = {"ha": side, "va": "top", "color": line.look.colour, **BESIDE}
        axis.annotate(line.label, (place, line.at), (shift, -3), xycoords=("axes fraction", "data"), **words)


def _draw_legend(canvas: Canvas) -> None:
    """Draw one legend for all panels, in the order in which series were first drawn, in as few even rows as fit."""
    entries: dict[str, Artist] = {}
    for axis in canvas.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    labels = list(entries)
    if not labels:
        return
    n_columns = 1
    for columns in range(len(labels), 1, -1):
        # about 15 letters an inch, of which line and gaps take 9 in each column; the first have one entry more
        widths = [max(map(len, column)) + 9 for column in np.array_split(np.array(labels), columns)]
        if sum(widths) <= 15 * canvas.get_figwidth():
            n_columns = math.ceil(len(labels) / math.ceil(len(labels) / columns))
            break
    n_rows = math.ceil(len(labels) / n_columns)
    # a tall legend does not take its room from the panels
    canvas.set_figheight(canvas.get_figheight() + LEGEND_ROW * max(0, n_rows - 2))
    canvas.legend(entries.values(), labels, loc="outside lower center", ncols=n_columns)


def titles_of_points(figure: Figure, canvas: Canvas) -> list[str]:
    """Return the SVG elements of a laid-out canvas that tell the numbers of the point beneath the pointer."""
    scale, discs = 72 / canvas.dpi, []
    for axis, panel in zip(canvas.axes, figure.panels, strict=True):
        names = dict(panel.x.ticks or ())
        for series, points in points_of(panel, figure.frame):
            places = axis.transData.transform(points[["across", "y"]].to_numpy())
            for point, (x, y) in zip(rows_in(points), places, strict=True) if series.kind != "thin" else ():
                # half a dot: what lies on the edge is seen
                if point.marked and axis.bbox.padded(0.5).contains(x, y):
                    where = names.get(point.x) or number_text(panel.x, point.x)
                    lines = (series.name, where, number_text(panel.y, point.y, point.low, point.high))
                    text = html.escape("\n".join(filter(None, lines)), quote=False)
                    discs.append(DISC.format(scale * x, scale * (canvas.bbox.height - y), text))
    return discs


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
    is_bare = form.text.startswith(BARE) and " " not in form.text
    return f"{form.label}: {number}" if form.label and is_bare else number


def short_count(value: float, position: float | None = None) -> str:
    """Return a count as axes print it: ``0.1``, ``600``, ``10K``, ``2.3M``."""
    for worth, unit in ((1e6, "M"), (1e3, "K")):
        if abs(value) >= worth:
            return f"{value / worth:g}{unit}"
    return f"{value:g}"
