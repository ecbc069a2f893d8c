"""Curves that can be read off with the pointer: a figure's own CSV as bokeh plots, for a page without a network.

The static picture stays what is printed and what is seen without JavaScript; the plots show the same numbers with the
same axes, looks and order (`lookalike.report._curve_forms`), and tell them by the pointer. The library is bokeh's own
file, packed into the page; nothing is asked of a network.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.report._curve_forms import FORMS
from lookalike.report._curve_panels import panels_of

if TYPE_CHECKING:
    from lookalike.report._curve_data import Panel, Trace
    from lookalike.report.results import Exhibit

GRID = "display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,max({least}px,{share}%)),1fr));gap:.5rem"
LEAST, LEAST_OF_ROWS = 260, 460
"""CSS pixels below which panels stand beneath each other; of panels whose rows have long names."""


@dataclass(frozen=True)
class Curves:
    """Curves of one exhibit as parts of a page."""

    html: str
    """Markup: one element with places for the plots, and a legend of buttons; drawn once it is shown."""
    script: str
    """JavaScript without tags that draws them, run after `bokeh_script`; nothing in it ends a script element."""


def interactive(exhibit: Exhibit, titles: Mapping[str, str] | None = None) -> Curves | None:
    """Make plots of a figure's curves that are read with the pointer.

    Parameters
    ----------
    exhibit : Exhibit
        Its ``paper``, ``name``, ``dataset``, ``title`` and ``table()`` (the CSV) are asked.
    titles : mapping, optional
        Ids of subsets and methods to the titles of the configuration (`titles_of`). An id without one stands as it
        is, but for the methods that the papers name.

    Returns
    -------
    Curves or None
        None where the exhibit is no figure of curves, where its CSV is missing, empty or not of the figure's form, and
        where bokeh is not installed (extra ``report``).
    """
    form = FORMS.get((exhibit.paper, exhibit.name))
    if form is None or find_spec("bokeh") is None:
        return None
    frame = _table(exhibit)
    if frame is None or frame.empty or not form.needed <= set(frame.columns):
        return None
    first = next(key for key, other in FORMS.items() if other is form)
    try:
        panels, plots = _plots(first, frame.to_csv(index=False), tuple((titles or {}).items()))
    except (KeyError, TypeError, ValueError):  # of another form in its values: a series unknown, words for numbers
        return None
    return _curves(exhibit, panels, plots) if panels else None


def titles_of(configuration: Mapping[str, Any] | None, dataset: str) -> dict[str, str]:
    """Return the titles that a configuration gives to the methods and to the subsets of a data set.

    Parameters
    ----------
    configuration : mapping or None
        As the workflow has it, with ``methods`` and ``studies`` (or whatever holds the data set's ``subsets``).
    dataset : str
        Id of the data set.

    Returns
    -------
    dict of str to str
    """
    if not configuration:
        return {}
    found: dict[str, str] = {}
    for part in ("methods", "learners"):
        found |= _titles(configuration.get(part))
    for study in configuration.values():
        if isinstance(study, Mapping) and isinstance(study.get(dataset), Mapping):
            found |= _titles(study[dataset].get("subsets"))
    return found


def bokeh_script() -> str:
    """Return the JavaScript, without tags, that is run once on a page before the scripts of its curves.

    It holds bokeh's main library alone, gzipped in base64, which the browser unpacks: the scripts of the curves wait
    for it, and mark their element with ``data-drawn="true"`` at the end. The same bytes come from the same version of
    bokeh.

    Returns
    -------
    str
        "" where bokeh is not installed.
    """
    if find_spec("bokeh") is None:
        return ""
    return _DRAW.replace("@packed@", _packed_library())


@cache
def _packed_library() -> str:
    import bokeh

    library = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
    return base64.b64encode(gzip.compress(library.read_bytes(), 9, mtime=0)).decode("ascii")


def _titles(entries: Any) -> dict[str, str]:
    if not isinstance(entries, Mapping):
        return {}
    return {
        str(key): str(entry["title"])
        for key, entry in entries.items()
        if isinstance(entry, Mapping) and "title" in entry
    }


def _table(exhibit: Exhibit) -> Any:
    """The figure's CSV; None where there is none."""
    import pandas as pd

    from lookalike.core.errors import LookalikeError

    try:
        return exhibit.table()
    except (LookalikeError, OSError, pd.errors.EmptyDataError):
        return None


@lru_cache(maxsize=32)
def _plots(
    key: tuple[str, str], csv: str, titles: tuple[tuple[str, str], ...]
) -> tuple[list[Panel], list[dict[str, Any]]]:
    """Panels of a CSV and their plots as bokeh writes them, made once for the papers that print the same figure."""
    import pandas as pd
    from bokeh.embed import json_item

    from lookalike.report._curve_plots import plot_of

    panels = panels_of(pd.read_csv(StringIO(csv)), FORMS[key], dict(titles))
    names = _labels(panels)
    return panels, [dict(json_item(plot_of(panel, list(names)))) for panel in panels]


def _labels(panels: list[Panel]) -> dict[str, Trace]:
    """What the legend of a whole figure calls its traces, and the first trace of each name."""
    traces: dict[str, Trace] = {}
    for panel in panels:
        for trace in panel.traces:
            traces.setdefault(trace.label, trace)
    return traces


def _curves(exhibit: Exhibit, panels: list[Panel], plots: list[dict[str, Any]]) -> Curves:
    place = "curves-" + re.sub(r"[^\w-]+", "-", f"{exhibit.dataset}-{exhibit.paper}-{exhibit.name}")
    items = [{**plot, "target_id": f"{place}-{number}"} for number, plot in enumerate(plots)]
    # no text of the data may end the script element in which it stands
    data = json.dumps(items, separators=(",", ":"), allow_nan=False, ensure_ascii=False).replace("<", "\\u003c")
    return Curves(
        _markup(exhibit, place, panels, list(_labels(panels).values())),
        f"window.lookalikeDraw({json.dumps(place)}, {data})",
    )


def _markup(exhibit: Exhibit, place: str, panels: list[Panel], traces: list[Trace]) -> str:
    from lookalike.report._curve_looks import swatch
    from lookalike.report._curve_plots import plot_height

    axes = panels[0].axes
    how = "Move the pointer over a point" if axes.by_point else "Move the pointer over a plot"
    what = "its numbers" if axes.by_point else "all numbers there"
    about = f"{exhibit.title}, {exhibit.dataset_title}: curves of {', '.join(trace.label for trace in traces)}."
    label = f"{about} The same numbers are in the table beneath the figure."
    least = LEAST_OF_ROWS if axes.across else LEAST
    # as many beside each other as in the static figures
    share = 40 if len(panels) in (2, 4) else 30
    plots = "".join(
        f'<div id="{place}-{number}" role="img" aria-label="{html.escape(_says(panel))}" '
        f'style="min-height:{plot_height(panel)}px;min-width:0"></div>'
        for number, panel in enumerate(panels)
    )
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-series="series-{number}" style="{_BUTTON}">'
        f"{swatch(trace)} {html.escape(trace.label)}</button>"
        for number, trace in enumerate(traces)
    )
    return (
        f'<div id="{place}" class="curves-plot" role="group" aria-label="{html.escape(label)}" style="{_GROUND}">'
        f'<div style="{GRID.format(least=least, share=share)}">{plots}</div>'
        f'<div class="curves-legend" role="group" aria-label="Series: press to fade or show">{buttons}</div>'
        f'<p class="curves-help" style="margin:.3rem 0;font-size:.85rem">{how} to read {what}; '
        "press a name to fade its series.</p></div>"
    )


def _says(panel: Panel) -> str:
    """What a panel shows, in words."""
    axes = panel.axes
    over = f" over {axes.x_label[:1].lower()}{axes.x_label[1:]}" if axes.x_label else ""
    title = f"{axes.title}: " if axes.title else ""
    return f"Plot: {title}{axes.y_label}{over}."


_GROUND = "background:#fff;color:#111"
_BUTTON = (
    "margin:.1rem .3rem .1rem 0;padding:.15rem .5rem;border:1px solid #767676;border-radius:.3rem;background:#fff;"
    "color:#111;font:inherit;font-size:.85rem;cursor:pointer"
)
_DRAW = """(() => {
  const unpack = async () => {
    const packed = Uint8Array.from(atob("@packed@"), (letter) => letter.charCodeAt(0))
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))
    const element = document.createElement("script")
    element.textContent = await new Response(unpacked).text()
    document.head.append(element)
    window.Bokeh.logger.set_level("warn")
    return window.Bokeh
  }
  let library = null

  function listen(box, glyphs) {
    for (const button of box.querySelectorAll("[data-series]")) {
      button.addEventListener("click", () => {
        const faded = button.getAttribute("aria-pressed") === "true"
        button.setAttribute("aria-pressed", String(!faded))
        button.style.textDecoration = faded ? "line-through" : ""
        for (const glyph of glyphs) if (glyph.name === button.dataset.series) glyph.muted = faded
      })
    }
  }

  window.lookalikeDraw = async (place, items) => {
    const box = document.getElementById(place)
    try {
      const bokeh = await (library ??= unpack())
      const managers = []
      for (const item of items) managers.push(await bokeh.embed.embed_item(item))
      listen(box, managers.flatMap((manager) => manager.roots.flatMap((view) => view.model.renderers ?? [])))
      box.dataset.drawn = "true"
    } catch (error) {
      box.textContent = "This browser cannot draw the curves; the picture shows them."
      console.warn(error)
    }
  }
})()"""
"""Unpacks the library once, and draws the plots of a figure when it is asked to."""
