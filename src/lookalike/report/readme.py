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
from lookalike.exhibits.image_grid import thumbnail_of
from lookalike.exhibits.neighbours import RANDOM

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from matplotlib.axes import Axes

    from lookalike.report.results import Dataset, Exhibit

BEGIN, END = "<!-- made by `make readme`: begin -->", "<!-- made by `make readme`: end -->"
N_QUERIES, N_SHOWN = 3, 5
_PANEL = 0.92  # inches
_GREEN, _VERMILLION = "#00704f", "#b34700"  # Okabe and Ito's, darkened until they read on white


def readme_numbers(datasets: Sequence[Dataset], made_with: str) -> str:
    """Return the headlines of some data sets as Markdown, and what made them; a `LookalikeError` where one has none."""
    for dataset in datasets:
        if not dataset.headline.strip():
            raise LookalikeError(f"{dataset.id} has no headline yet: run `make demo`, then `make readme`")
    lines = [line for dataset in datasets for line in dataset.headline.strip().splitlines()]
    kept = "\n".join(line for line in lines if not line.startswith("Exhibits:"))
    return f"```\n{kept}\n```\n\nMade by {made_with}.\n"


def write_readme_picture(gallery: Exhibit, path: str | os.PathLike[str]) -> None:
    """Draw the first queries of a gallery that were drawn at random, with what was found before and after learning.

    The picture is a WebP file; a gallery without such a query is a `LookalikeError`.
    """
    from matplotlib.figure import Figure

    queries = [entry for entry in gallery.entries if entry["chosen"] == RANDOM][:N_QUERIES]
    if not queries:
        raise LookalikeError(f"the gallery of {gallery.dataset} has no query: run `make demo`, then `make readme`")
    n_columns = 2 * N_SHOWN + 3  # the query, a gap, one ranking, a gap, the other
    widths = [1.0, 0.25, *[1.0] * N_SHOWN, 0.25, *[1.0] * N_SHOWN]
    height = _PANEL * 3 / 4
    figure = Figure(figsize=(_PANEL * sum(widths), height * len(queries) + 0.35), dpi=110, facecolor="white")
    panels = figure.subplots(len(queries), n_columns, squeeze=False, gridspec_kw={"width_ratios": widths})
    figure.subplots_adjust(left=0.005, right=0.995, top=1 - 0.28 / figure.get_figheight(), bottom=0.01, wspace=0.06)
    figure.subplots_adjust(hspace=0.08)
    for row, query in zip(panels, queries, strict=True):
        _draw_row(row, query)
    before, after = (ranking["title"] for ranking in queries[0]["rankings"])
    for column, title in ((0, "query"), (2, before), (3 + N_SHOWN, after)):
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


def _draw_row(row: Sequence[Axes], query: Mapping[str, Any]) -> None:
    """Draw one query with its two rankings; what is found is framed and marked as right or wrong."""
    for axis in row:
        axis.set_axis_off()
    _draw(row[0], query["image"])
    for first, ranking in zip((2, 3 + N_SHOWN), query["rankings"], strict=True):
        for axis, found in zip(row[first : first + N_SHOWN], ranking["found"], strict=False):
            _draw(axis, found["image"], found["mark"])


def _draw(axis: Axes, image: str, mark: Mapping[str, str] | None = None) -> None:
    """Draw a thumbnail, and a sign in its corner that says whether it is right."""
    pixels = thumbnail_of(Path(image))
    if pixels is None:
        return
    axis.imshow(pixels)
    if mark is not None:
        colour = _GREEN if mark["line"] == "-" else _VERMILLION
        box = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": colour, "linewidth": 1}
        axis.text(0.06, 0.9, mark["sign"], transform=axis.transAxes, color=colour, fontsize=8, va="top", bbox=box)


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
