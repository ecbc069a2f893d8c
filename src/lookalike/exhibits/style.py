"""Looks and writing of figures: one style for every paper, the same bytes from the same numbers.

Colours are those of Okabe and Ito, for readers with colour blindness; markers differ too, for readers in grey.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.core.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Style = dict[str, Any]
"""Keyword arguments of Matplotlib."""


@dataclass(frozen=True)
class Look:
    """Colour, marker and line of one series."""

    colour: str
    marker: str
    line: str = "-"


BLACK, GREY = "#000000", "#6e6e6e"
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

METHODS = {
    "oasis": ("OASIS", Look(VERMILLION, "o")),
    "oasis-averaged": ("OASIS, averaged", Look(ORANGE, "<", "--")),
    "mcml": ("MCML", Look(BLUE, "s")),
    "lego": ("LEGO", Look(GREEN, "^")),
    "lmnn": ("LMNN", Look(PURPLE, "D")),
    "euclidean": ("Euclidean", Look(BLACK, "X")),
    "lmnn-naive": ("LMNN (naive)", Look(PURPLE, "d", "--")),
    "rca": ("RCA", Look(SKY, "<", "--")),
    "oasis-proj": ("Proj-OASIS", Look(ORANGE, ">", "--")),
    "oasis-online-proj": ("Online-Proj-OASIS", Look(SKY, "s")),
    "oasis-dissim": ("Dissim-OASIS", Look(BLUE, "^", "-.")),
    "oasis-psd": ("PSD-OASIS", Look(GREY, "*", ":")),
    "tfidf": ("TF-IDF", Look(BLACK, "P")),
    "qpao": ("QPAO", Look(PURPLE, "s")),
    "oasis-diagonal": ("OASIS", Look(VERMILLION, "h")),
    "soml-tg": ("S-TG", Look(GREEN, "v")),
    "soml-da": ("S-DA", Look(BLUE, "D")),
    "oasis-psd-100": ("projected every 100 steps", Look(BLUE, "s", "--")),
    "oasis-psd-500": ("projected every 500 steps", Look(PURPLE, "P", "-.")),
    "oasis-psd-2000": ("projected every 2,000 steps", Look(GREEN, "^", "--")),
    "oasis-psd-20000": ("projected every 20,000 steps", Look(SKY, "D", "-.")),
    "oasis-psd-end": ("projected only at the end", Look(BLACK, "v", ":")),
}
"""Methods to the papers' names and their looks; those of one figure of the papers differ in colour and in marker."""
LOOKS = {method: look for method, (_, look) in METHODS.items()}
TRAINING, RATERS = Look(PURPLE, "v", "--"), Look(GREY, "s")
"""Training images, of whatever method, beside test images in the method's own look; and people who rate."""
OTHERS = (Look(SKY, "v", "--"), Look(ORANGE, "P", "--"), Look(GREY, "*", "--"), Look(BLUE, "<", "--"))
"""Looks of all other methods; yellow is too pale for lines on white."""
RC: Style = {
    "figure.dpi": 200,
    "savefig.dpi": 200,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "errorbar.capsize": 1.5,
    "mathtext.fontset": "dejavusans",
    "image.composite_image": False,
    "svg.hashsalt": "lookalike",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


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


def title_of(method: str, titles: Mapping[str, str] | None = None) -> str:
    """Return the printed name of a method."""
    return (titles or {}).get(method) or (METHODS[method][0] if method in METHODS else method)


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw and save in the papers' style inside the block, whatever the user's matplotlibrc says."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = RC
        mpl.rcParams.update(settings)
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
    with paper_style():
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
    with paper_style():
        for suffix, options in formats.items():
            with replacing(f"{stem}.{suffix}") as part:
                figure.savefig(part, format=suffix, **options)
                if over and suffix == "svg":
                    drawing = part.read_text(encoding="utf-8").removesuffix("</svg>\n")
                    part.write_text("\n".join([drawing, *over, "</svg>\n"]), encoding="utf-8")
