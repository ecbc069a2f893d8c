"""Looks and writing of figures: one style for every paper, the same bytes from the same numbers.

Colours are those of Okabe and Ito, for readers with colour blindness; markers differ too, for readers in grey.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from lookalike.core.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Style = dict[str, Any]
"""Keyword arguments of Matplotlib."""


@dataclass(frozen=True)
class Look:
    """How the points of one line, or of one set of points, are drawn."""

    colour: str
    marker: str
    line: str = "-"
    kind: Literal["line", "thin", "each", "points"] = "line"
    """A line with some markers, behind the others without any, or with a marker at each point; or points alone."""
    hollow: bool = False
    shift: float = 0
    """Distance from its x, so that bars do not cover each other; in decades on a logarithmic axis."""
    band: bool = False
    """Whether its bounds are a band, not error bars."""


COLOURS = {"black": "#000000", "grey": "#6e6e6e", "orange": "#E69F00", "sky": "#56B4E9", "green": "#009E73"}
COLOURS |= {"yellow": "#F0E442", "blue": "#0072B2", "vermillion": "#D55E00", "purple": "#CC79A7"}
BLACK, GREY, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE = COLOURS.values()
HERE = Path(__file__).parent
_METHODS = yaml.safe_load((HERE / "methods.yaml").read_text(encoding="utf-8"))
TITLES: dict[str, str] = {method: about["title"] for method, about in _METHODS.items()}
"""Methods to the papers' names."""
LOOKS = {method: Look(COLOURS[about["look"][0]], *about["look"][1:]) for method, about in _METHODS.items()}
"""Methods to their looks."""
TRAINING, RATERS = Look(PURPLE, "v", "--"), Look(GREY, "s")
"""Training images, of whatever method, beside test images in the method's own look; and people who rate."""
OTHERS = (Look(SKY, "v", "--"), Look(ORANGE, "P", "--"), Look(GREY, "*", "--"), Look(BLUE, "<", "--"))
"""Looks of all other methods; yellow is too pale for lines on white."""


def look_of(method: str) -> Look:
    """Return the look of a method; a method without one of its own always gets the same of a few others."""
    return LOOKS.get(method, OTHERS[sum(method.encode()) % len(OTHERS)])


def looks_of(methods: Sequence[str]) -> dict[str, Look]:
    """Return a look for each method of one figure, no two alike: where two would share one, the later moves on."""
    free = [Look(look.colour, look.marker, line) for line in ("--", ":", "-.") for look in OTHERS]
    looks: dict[str, Look] = {}
    for method in methods:
        look = look_of(method)
        if look in looks.values():
            look = next((other for other in free if other not in looks.values()), look)
        looks[method] = look
    return looks


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw and save in the papers' style inside the block, whatever the user's matplotlibrc says."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(mpl.rc_params_from_file(HERE / "paper.mplstyle", use_default_template=False))
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, `width` x `height` inches, on the Agg canvas: no display, no pyplot, no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def lay_out(figure: Figure) -> None:
    """Lay out a figure once, for all its formats; Matplotlib would do so for each."""
    if figure.axes and (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
    figure.set_layout_engine(None)


def save_figure(figure: Figure, stem: Path, over: Sequence[str] = ()) -> None:
    """Write a figure that is laid out as PNG (200 dpi), SVG and PDF, without dates: same figure, same bytes.

    The elements of `over` lie on top of all others in the SVG.
    """
    formats: dict[str, Style] = {
        # more compression takes twice as long and saves a tenth
        "png": {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 1}},
        "svg": {"metadata": {"Date": None, "Creator": "lookalike"}},
        "pdf": {"metadata": {"CreationDate": None, "Creator": "lookalike", "Producer": None}},
    }
    for suffix, options in formats.items():
        with replacing(f"{stem}.{suffix}") as part:
            figure.savefig(part, format=suffix, **options)
            if over and suffix == "svg":
                drawing = part.read_text(encoding="utf-8").removesuffix("</svg>\n")
                part.write_text("\n".join([drawing, *over, "</svg>\n"]), encoding="utf-8")
