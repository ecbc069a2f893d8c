"""The curves of the report beside the static figures: the same panels, axes and lines from the same numbers."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from lookalike.exhibits.catalogue import EXHIBITS
from lookalike.exhibits.style import title_of
from lookalike.report._curve_forms import FORMS
from lookalike.report._curve_panels import panels_of

OF_CATEGORIES = [
    exhibit for exhibit in EXHIBITS.values() if exhibit.kind == "figure" and (exhibit.paper, exhibit.name) in FORMS
]
LINES = {"-": "-", "--": "--", "-.": "-.", ":": ":"}


def panels(plot, paper, name, titles=None):
    """Panels from the CSV that the figure writes."""
    csv = pd.read_csv(io.StringIO(plot.frame.to_csv(index=False)))
    return panels_of(csv, FORMS[paper, name], titles or {})


def like(panel, axis, *, labels=True):
    """Whether a panel has the axes of the static one, and each of its lines with the same points and look."""
    across = panel.axes.across
    x_scale, y_scale = (axis.get_yscale(), axis.get_xscale()) if across else (axis.get_xscale(), axis.get_yscale())
    assert (x_scale == "log") == (panel.axes.x_scale == "log")
    assert (y_scale == "log") == (panel.axes.y_scale == "log")
    assert (x_scale == "symlog") == (panel.axes.x_scale == "start and log")
    assert (axis.get_xlabel() if across else axis.get_ylabel()) in (panel.axes.y_label, "")
    if labels and not across:
        assert axis.get_xlabel() in (panel.axes.x_label, "")
    if axis.get_title(loc="left"):
        assert panel.axes.title == axis.get_title(loc="left")
    drawn = [line for line in axis.lines if len(line.get_xdata())]
    for trace in panel.traces:
        if trace.kind != "line" or np.isnan(trace.y).all() or panel.axes.steps:
            continue
        order = np.argsort(trace.x, kind="stable")
        shown = trace.y[order][(trace.y[order] > 0) | (panel.axes.y_scale == "linear")]
        same = [
            line
            for line in drawn
            if to_hex(line.get_color()).lower() == trace.look.colour.lower()
            and line.get_linestyle() == LINES[trace.look.line]
            and len(line.get_ydata()) == len(shown)
            and np.allclose(np.asarray(line.get_ydata(), float)[np.argsort(line.get_xdata(), kind="stable")], shown)
        ]
        assert same, trace.label
    levels = {round(float(trace.y[0]), 6) for trace in panel.traces if trace.kind == "level" and not trace.hollow}
    assert levels <= {round(float(np.asarray(line.get_ydata())[0]), 6) for line in drawn}
    uprights = {float(x) for trace in panel.traces if trace.kind == "upright" for x in trace.x}
    assert uprights <= {float(np.asarray(line.get_xdata())[0]) for line in drawn}


def legend(plot):
    """Words of the static legend."""
    return [text.get_text() for legend in plot.figure.legends for text in legend.get_texts()]


@pytest.mark.parametrize("exhibit", OF_CATEGORIES, ids=lambda exhibit: f"{exhibit.paper}/{exhibit.name}")
def test_curves_of_the_category_study_are_those_of_the_figure(exhibit, numbers, synthetic, reference):
    plot = exhibit.draw(numbers, synthetic, reference)
    # as the configuration has them
    titles = {subset.id: subset.title for subset in synthetic.subsets} | dict(synthetic.method_titles)
    found = panels(plot, exhibit.paper, exhibit.name, titles)
    shown = [axis for axis in plot.figure.axes if any(len(line.get_xdata()) for line in axis.lines)]
    assert len(found) == len(shown)
    if plot.frame.empty:
        return
    for panel, axis in zip(found, shown, strict=True):
        like(panel, axis)
    words = legend(plot)
    lines = [trace.label for trace in found[0].traces if trace.kind == "line" and not trace.hollow]
    assert lines
    for label in lines:
        assert label in words
    # what stands at every x, or at one, is in the legend too; of a stop the words go on
    for trace in found[0].traces:
        assert any(word.startswith(trace.label) for word in words) or trace.hollow


@pytest.mark.parametrize("exhibit", OF_CATEGORIES, ids=lambda exhibit: f"{exhibit.paper}/{exhibit.name}")
def test_printed_numbers_are_hollow(exhibit, numbers, context, reference):
    plot = exhibit.draw(numbers, context, reference)
    found = panels(plot, exhibit.paper, exhibit.name)
    traces = [trace for panel in found for trace in panel.traces]
    series = set(plot.frame["series"]) if found else set()
    printed = {title_of(name.removesuffix(", printed")) for name in series if name.endswith(", printed")}
    assert {trace.label.removesuffix(", printed") for trace in traces if trace.hollow} == printed
    assert all(trace.kind in ("points", "level") for trace in traces if trace.hollow)
