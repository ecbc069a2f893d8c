"""Curves as parts of a page: what is told at each point, what a page gets, and when there are none."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import bokeh
import numpy as np
import pandas as pd
import pytest
from made_results import DRAFT, JMLR, add_exhibit

from lookalike.exhibits.style import BLUE, LOOKS, Look
from lookalike.report import curves
from lookalike.report._curve_data import Axes, Panel, Trace
from lookalike.report._curve_forms import FORMS
from lookalike.report._curve_looks import place_of, sign_of, told
from lookalike.report._curve_panels import panels_of
from lookalike.report._curve_plots import plot_of
from lookalike.report._curve_readout import _edges, _merged
from lookalike.report.curves import bokeh_script, interactive, titles_of
from lookalike.report.results import Results

PRECISION = """subset,series,k,precision,error,error_is,n_folds
ten,oasis,1,0.6,0.01,s.e.m.,5
ten,oasis,2,0.5,0.02,s.e.m.,5
ten,mcml,1,0.55,0.01,s.e.m.,5
ten,mcml,2,0.4,0.01,s.e.m.,5
ten,"oasis, printed",1,0.43,0.04,standard deviation,0
ten,chance,,0.1,,,0
twenty,oasis,1,0.3,0.01,s.e.m.,5
twenty,oasis,2,0.2,0.01,s.e.m.,5
"""


class Tags(HTMLParser):
    """Start tags of some markup with their attributes, and what is open at its end."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def made(folder: Path, csv: str = PRECISION, paper: str = JMLR, name: str = "fig6") -> Any:
    """An exhibit with this CSV."""
    sidecar = add_exhibit(folder / "results", "demo", paper, name, kind="figure", title="Figure <6>")
    sidecar.with_suffix(".csv").write_text(csv, encoding="utf-8")
    return Results(folder / "results").exhibit("demo", paper, name)


def items_of(script: str) -> list[Any]:
    """The plots that a script draws, as bokeh reads them."""
    match = re.fullmatch(r'window\.lookalikeDraw\("[\w-]+", (.*)\)', script)
    assert match
    return list(json.loads(match.group(1)))


def texts_of(script: str) -> list[str]:
    """All texts in the data of the plots."""
    return re.findall(r'"((?:[^"\\]|\\.)*)"', script)


def trace(label: str, x: list[float], y: list[float], **told: Any) -> Trace:
    nothing = np.full(len(x), np.nan)
    values = {"low": nothing, "high": nothing} | told
    return Trace(label, values.pop("look", LOOKS["oasis"]), np.array(x, float), np.array(y, float), **values)


def test_a_figure_becomes_one_element_and_one_script(tmp_path: Path) -> None:
    made_curves = interactive(made(tmp_path), {"ten": "10 classes", "twenty": "20 classes"})
    assert made_curves is not None
    tags = Tags(made_curves.html)
    assert tags.open == []
    place = f"curves-demo-{JMLR}-fig6"
    first = tags.found[0][1]
    assert (first["id"], first["role"]) == (place, "group")
    assert first["aria-label"].startswith("Figure <6>, DEMO: curves of OASIS, MCML")
    assert "table beneath" in first["aria-label"]
    plots = [attributes for _, attributes in tags.found if attributes.get("role") == "img"]
    assert [plot["id"] for plot in plots] == [f"{place}-0", f"{place}-1"]
    assert plots[0]["aria-label"] == "Plot: (A)  10 classes: Precision at top k over number of neighbours k."
    buttons = [attributes["data-series"] for tag, attributes in tags.found if tag == "button"]
    assert buttons == [f"series-{number}" for number in range(4)]
    words = "".join(tags.words)
    for sign, name in (("●", "OASIS"), ("■", "MCML"), ("○", "OASIS, printed"), ("╍", "chance")):
        assert f"{sign} {name}" in words
    assert "<" not in made_curves.script
    assert [item["target_id"] for item in items_of(made_curves.script)] == [plot["id"] for plot in plots]


def test_the_pointer_tells_every_series_with_its_error(tmp_path: Path) -> None:
    made_curves = interactive(made(tmp_path))
    assert made_curves is not None
    said = texts_of(made_curves.script)
    for text in ("k = 1", "k = 2", "0.600 ± 0.010", "0.500 ± 0.020", "0.550 ± 0.010", "0.430 ± 0.040"):
        assert text in said
    # chance is one number; MCML was not run on the second subset
    assert any("0.100" in text and "chance" in text for text in said)
    glyphs = json.dumps(items_of(made_curves.script)[1])
    assert "series-0" in glyphs
    assert "series-1" not in glyphs


def test_the_same_csv_makes_the_same_plot_but_for_the_ids_of_bokeh(tmp_path: Path) -> None:
    exhibit = made(tmp_path)
    one, other = interactive(exhibit), interactive(exhibit)
    assert one is not None
    assert other is not None
    assert one.html == other.html
    assert len(one.script) == pytest.approx(len(other.script), rel=0.01)


def test_plots_of_a_whole_figure_are_small(tmp_path: Path) -> None:
    rows = [
        f"{subset},{method},{k},{1 / (k + place):.12f},0.012345678,s.e.m.,5"
        for subset in ("a", "b", "c")
        for place, method in enumerate(("oasis", "mcml", "lego", "lmnn", "euclidean"))
        for k in range(1, 61)
    ]
    made_curves = interactive(made(tmp_path, "\n".join([PRECISION.splitlines()[0], *rows])))
    assert made_curves is not None
    assert len(made_curves.script) < 130_000


@pytest.mark.parametrize("paper_and_name", FORMS, ids=lambda key: "/".join(key))
def test_csvs_of_another_form_have_no_curves(tmp_path: Path, paper_and_name: tuple[str, str]) -> None:
    paper, name = paper_and_name
    exhibit = made(tmp_path, "method,ours\noasis,0.5\n", paper, name)
    assert interactive(exhibit) is None
    assert interactive(made(tmp_path, "", paper, name)) is None
    header = ",".join(sorted(FORMS[paper_and_name].needed))
    assert interactive(made(tmp_path, header + "\n", paper, name)) is None
    (exhibit.folder / f"{name}.csv").unlink(missing_ok=True)
    assert interactive(exhibit) is None


def test_other_exhibits_have_no_curves(tmp_path: Path) -> None:
    assert interactive(made(tmp_path, name="table4")) is None


def test_levels_alone_are_no_curves(tmp_path: Path) -> None:
    csv = 'subset,series,step,map,sem,n_folds\nten,"oasis, printed",,0.33,,0\nten,euclidean,,0.2,0.01,5\n'
    assert interactive(made(tmp_path, csv, DRAFT, "fig3")) is None


def test_without_bokeh_the_picture_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exhibit = made(tmp_path)
    monkeypatch.setattr(curves, "find_spec", lambda name: None)
    assert interactive(exhibit) is None
    assert bokeh_script() == ""


def test_the_library_is_the_packages_own_file() -> None:
    script = bokeh_script()
    packed = re.search(r'atob\("([A-Za-z0-9+/=]+)"\)', script)
    assert packed
    library = Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"
    assert gzip.decompress(base64.b64decode(packed.group(1))) == library.read_bytes()
    assert script == bokeh_script()
    assert len(script) < 600_000
    # it stands in a script element
    assert "</" not in script
    assert "<!--" not in script


def test_titles_come_from_the_configuration() -> None:
    configuration = {
        "methods": {"oasis": {"title": "OASIS"}, "bare": {}},
        "studies": {"demo": {"subsets": {"ten": {"title": "10 classes"}}}, "other": {"subsets": {"x": {"title": "X"}}}},
        "seed": 3,
    }
    assert titles_of(configuration, "demo") == {"oasis": "OASIS", "ten": "10 classes"}
    assert titles_of(None, "demo") == {}


def test_titles_of_the_projects_own_configuration() -> None:
    yaml = pytest.importorskip("yaml")
    configuration = yaml.safe_load((Path(__file__).parents[3] / "config.yaml").read_text(encoding="utf-8"))
    assert titles_of(configuration, "demo")["demo10"] == "10 synthetic classes"


def test_text_of_the_data_is_text_on_the_page(tmp_path: Path) -> None:
    csv = PRECISION.replace("mcml", "<b>@y $x</b>")
    made_curves = interactive(made(tmp_path, csv))
    assert made_curves is not None
    assert "<b>" not in made_curves.html
    assert "&lt;b&gt;@y $x&lt;/b&gt;" in made_curves.html
    # in the tip bokeh would take @y for a column
    tips = [text for text in texts_of(made_curves.script) if "curves-tip" in text]
    assert len(tips) == 2
    assert "&#64;y &#36;x" in tips[0]


@pytest.mark.parametrize(
    ("spec", "value", "text"),
    [
        ("k = {:.0f}", 3.0, "k = 3"),
        ("time", 5400.0, "1.5 h"),
        ("nonzero share", 0.5, "sparsity 99.5%"),
        ("{:+.1f}", 2.0, "+2.0"),
        ("{:.3f}", math.nan, "–"),
    ],
)
def test_numbers_are_told_in_words(spec: str, value: float, text: str) -> None:
    assert told(spec, value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ([0.4, 0.3], [0.6, 0.5], "0.500 ± 0.100"),
        ([0.45, 0.3], [0.6, 0.5], "0.500 (0.450 to 0.600)"),
        # one repeat has no spread
        ([0.5, 0.4], [0.5, 0.4], "0.500"),
    ],
)
def test_errors_are_told_as_they_are(low: list[float], high: list[float], text: str) -> None:
    one = trace("a", [1, 2], [0.5, 0.4], low=np.array(low), high=np.array(high))
    plot = plot_of(Panel(Axes(), (one,)), ["a"])
    (read,) = plot.select({"name": "read"})
    columns = [values for name, values in read.data_source.data.items() if name.startswith("c")]
    assert columns[0][0] == text


def test_strips_part_the_axis_half_way() -> None:
    np.testing.assert_allclose(_edges(np.array([1.0, 3.0, 4.0]), is_log=False), [0, 2, 3.5, 4.5])
    np.testing.assert_allclose(_edges(np.array([1.0, 100.0]), is_log=True), [0.1, 10, 1000])
    assert len(_edges(np.array([5.0]), is_log=False)) == 2


def test_an_axis_with_a_start_has_a_place_for_it() -> None:
    axes = Axes(x_scale="start and log")
    np.testing.assert_allclose(place_of(axes, np.array([0.0, 0.5, 1.0, 10.0, 100.0])), [0, 0.2, 0.4, 1.4, 2.4])


def test_single_rankers_are_told_as_a_range() -> None:
    many = [trace("single", [0, 1], [0.1, value], thin=True, look=Look(BLUE, "")) for value in (0.2, 0.3, 0.4)]
    (one,) = _merged(many)
    assert (one.low.tolist(), one.high.tolist()) == ([0.1, 0.2], [0.1, 0.4])
    thick = trace("single", [0, 1], [0.1, 0.2])
    assert _merged([*many, thick]) == [thick]


def test_what_has_no_place_on_a_logarithmic_axis_is_not_drawn() -> None:
    one = trace("a", [1, 2, 4], [0, 10, 20])
    plot = plot_of(Panel(Axes(x_scale="log", y_scale="log"), (one,)), ["a"])
    line = next(renderer for renderer in plot.renderers if type(renderer.glyph).__name__ == "Line")
    assert line.data_source.data["x"].tolist() == [2, 4]
    assert plot.y_range.start > 0


def test_panels_keep_order_looks_and_letters() -> None:
    frame = pd.DataFrame(
        {
            "subset": ["b", "b", "a", "a"],
            "series": ["oasis", "oasis, printed", "oasis", "chance"],
            "k": [1, 1, 1, math.nan],
            "precision": [0.5, 0.4, 0.3, 0.1],
            "error": [0.1, math.nan, 0.1, math.nan],
        }
    )
    first, second = panels_of(frame, FORMS[JMLR, "fig6"], {"a": "few"})
    assert (first.axes.title, second.axes.title) == ("(A)  b", "(B)  few")
    assert [one.look for one in first.traces] == [LOOKS["oasis"]] * 2
    assert [one.hollow for one in first.traces] == [False, True]
    assert [one.kind for one in second.traces] == ["line", "level"]
    assert sign_of(first.traces[1]) == "○"


@pytest.mark.parametrize(("old", "new"), [("0.02", "wide"), ("oasis,2,0.5", "oasis,second,0.5")])
def test_words_where_numbers_stand_make_no_curves(tmp_path: Path, old: str, new: str) -> None:
    assert old in PRECISION
    assert interactive(made(tmp_path, PRECISION.replace(old, new))) is None
