"""The numbers and the picture of README.md, made from the demo's results by `make readme`.

The README's text is written by hand; what a run says stands between two marks and is replaced here, so that no number
in it is typed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing
from lookalike.report._gallery_model import RANDOM, DatasetGallery, Kind, Picture, Query

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lookalike.report.results import Dataset

BEGIN, END = "<!-- made by `make readme`: begin -->", "<!-- made by `make readme`: end -->"
N_QUERIES, N_SHOWN = 3, 5
_PANEL = 0.92  # inches
_GREEN, _VERMILLION = "#00704f", "#b34700"  # Okabe and Ito's, darkened until they read on white


def readme_numbers(datasets: Sequence[Dataset], made_with: str) -> str:
    """Return the headlines of some data sets as Markdown.

    Parameters
    ----------
    datasets : sequence of Dataset
        From `lookalike.report.results.Results`, those of the demo.
    made_with : str
        What made them, such as ``make demo at commit 0123abc on AMD EPYC``.

    Returns
    -------
    str

    Raises
    ------
    LookalikeError
        When one has no headline.
    """
    for dataset in datasets:
        if not dataset.headline.strip():
            raise LookalikeError(f"{dataset.id} has no headline yet: run `make demo`, then `make readme`")
    lines = [line for dataset in datasets for line in dataset.headline.strip().splitlines()]
    kept = "\n".join(line for line in lines if not line.startswith("Exhibits:"))
    return f"```\n{kept}\n```\n\nMade by {made_with}.\n"


def write_readme_picture(gallery: DatasetGallery, path: str | os.PathLike[str]) -> None:
    """Draw the first queries that the report's gallery drew at random, with what was found before and after learning.

    Parameters
    ----------
    gallery : DatasetGallery
        One data set of `lookalike.report.gallery.gallery_material`.
    path : path-like
        The WebP file.

    Raises
    ------
    LookalikeError
        When the gallery has no query.
    """
    from matplotlib.figure import Figure

    queries = [query for query in gallery.queries if query.chosen_as == RANDOM][:N_QUERIES]
    if not queries:
        raise LookalikeError(f"the gallery of {gallery.dataset} has no query: run `make demo`, then `make readme`")
    n_columns = 2 * N_SHOWN + 3  # the query, a gap, one ranking, a gap, the other
    widths = [1.0, 0.25, *[1.0] * N_SHOWN, 0.25, *[1.0] * N_SHOWN]
    height = _PANEL * queries[0].picture.height / queries[0].picture.width
    figure = Figure(figsize=(_PANEL * sum(widths), height * len(queries) + 0.35), dpi=110, facecolor="white")
    panels = figure.subplots(len(queries), n_columns, squeeze=False, gridspec_kw={"width_ratios": widths})
    figure.subplots_adjust(left=0.005, right=0.995, top=1 - 0.28 / figure.get_figheight(), bottom=0.01, wspace=0.06)
    figure.subplots_adjust(hspace=0.08)
    for row, query in zip(panels, queries, strict=True):
        _draw_row(row, query)
    shown = queries[0]
    titles = ((0, "query"), (2, f"before: {shown.before.method}"), (3 + N_SHOWN, f"after: {shown.after.method}"))
    for column, title in titles:
        panels[0, column].set_title(title, loc="left", fontsize=10)
    with replacing(path) as part:
        figure.savefig(part, format="webp", pil_kwargs={"quality": 82, "method": 6})


def replace_between_marks(text: str, content: str) -> str:
    """Return a text in which what stands between the two marks is `content`.

    Raises
    ------
    LookalikeError
        When the marks are not there, each once and in their order.
    """
    pattern = re.escape(BEGIN) + r"\n.*?" + re.escape(END)
    if text.count(BEGIN) != 1 or text.count(END) != 1 or not re.search(pattern, text, flags=re.DOTALL):
        raise LookalikeError(f"README.md has no place for the numbers: put the lines {BEGIN} and {END} into it")
    return re.sub(pattern, lambda _: f"{BEGIN}\n{content.strip()}\n{END}", text, flags=re.DOTALL)


def _draw_row(row: Sequence[Axes], query: Query) -> None:
    """Draw one query with its two rankings; what is found is framed and marked as right or wrong."""
    for axis in row:
        axis.set_axis_off()
    _draw(row[0], query.picture)
    for first, side in ((2, query.before), (3 + N_SHOWN, query.after)):
        for axis, found in zip(row[first : first + N_SHOWN], side.found, strict=False):
            if found.picture is not None:
                _draw(axis, found.picture, found.kind)


def _draw(axis: Axes, picture: Picture, kind: Kind | None = None) -> None:
    """Draw a thumbnail, and a sign in its corner that says whether it is of the query's class."""
    import base64
    import io

    import numpy as np
    from PIL import Image

    encoded = picture.uri.partition(",")[2]
    axis.imshow(np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB")))
    if kind is not None:
        colour = _GREEN if kind.sign == "✓" else _VERMILLION
        box = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": colour, "linewidth": 1}
        axis.text(0.06, 0.9, kind.sign, transform=axis.transAxes, color=colour, fontsize=8, va="top", bbox=box)


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m lookalike.report.readme NUMBERS.md README.md``: put the numbers into the README."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m lookalike.report.readme", description=main.__doc__)
    parser.add_argument("numbers", type=Path, help="what `snakemake readme_parts` made: results/readme/numbers.md")
    parser.add_argument("readme", type=Path, help="README.md")
    options = parser.parse_args(arguments)
    text = replace_between_marks(
        options.readme.read_text(encoding="utf-8"), options.numbers.read_text(encoding="utf-8")
    )
    with replacing(options.readme) as part:
        part.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
