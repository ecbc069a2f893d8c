"""The numbers and the picture of README.md, put between two marks by `make readme`: no number in it is typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, replacing
from lookalike.exhibits import words
from lookalike.exhibits.image_grid import draw_gallery
from lookalike.exhibits.neighbours import RANDOM, gallery_of, pictured
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.style import paper_style
from lookalike.report import front

if TYPE_CHECKING:
    from lookalike.report.results import Results, ShownExhibit

BEGIN, END = "<!-- made by `make readme`: begin -->", "<!-- made by `make readme`: end -->"
N_QUERIES = 3
ALL_VERDICTS = "`results/claims.md` has each with the run that decides it, and p adjusted over those of a paper (Holm)."


def readme_numbers(results: Results, origin: str, kept: Iterable[Mapping[str, Any]] = ()) -> str:
    """Return the margins of a run as Markdown: a table, sentences on each data set, what made them, longer runs."""
    # the first line of each data set
    main: dict[str, front.Row] = {}
    for row in front.distinct_rows(results):
        main.setdefault(row.exhibit.dataset, row)
    if not main:
        raise LookalikeError("no data set has a result yet: run `make demo`, then `make readme`")
    cells = [
        (
            f"{PAPERS[row.exhibit.paper].title}, {row.exhibit.label}",
            row.place,
            f"{margin.method} − {margin.rival}, {margin.metric}",
            " ".join(filter(None, words.interval_words(margin))),
            words.printed_words(margin),
        )
        for row, margin in front.gaps_in_points(results)
    ]
    heads = ("Exhibit", "Data", "Difference", "Here", "Paper")
    lines = [f"| {' | '.join(line)} |" for line in (heads, ("---", "---", "---", "---:", "---:"), *cells)]
    parts = [_paragraph(results, row) for row in main.values()]
    note = (
        "Differences are in percentage points, taken before rounding, with 95% intervals in brackets. A dash: the "
        "paper has no such number. mAP is mean average precision, P@k the share of relevant images among the first k. "
        "S-TG and S-DA are the two algorithms of SOML."
    )
    verdicts = f"{words.counts_words(results.claims)} {ALL_VERDICTS}" if results.claims else ""
    said = filter(None, (verdicts, front.synthetic_words(results)))
    longer = [f"- **{run['title']}** ({run['about']}). {' '.join(run['sentences'])}" for run in kept]
    more = ["**Longer runs**, whose [summaries are kept](docs/reference/runs.md):", "\n".join(longer)] if longer else []
    return "\n\n".join(("\n".join(lines), note, *parts, *said, f"Made by {origin}.", *more)) + "\n"


def _paragraph(results: Results, row: front.Row) -> str:
    """Say of a data set what it is, how well the paper's method does on it, and what leaves that open."""
    exhibit, title = row.exhibit, row.exhibit.dataset_title
    about = "; ".join(filter(None, (front.KINDS[exhibit.synthetic], exhibit.size, row.first.setting)))
    order = " ".join(words.margin_sentences(row.first)[1:])
    sentences = (front.result_words(row), order, front.minimum_words(results, row), exhibit.undecided)
    text = " ".join(filter(None, sentences))
    return f"**{title[0].upper()}{title[1:]}** ({about}). {text}"


def write_readme_picture(gallery: ShownExhibit, path: PathLike) -> None:
    """Draw the first random queries of a gallery, with their neighbours before and after learning, as WebP."""
    queries = pictured([entry for entry in gallery.entries if entry.chosen == RANDOM])[:N_QUERIES]
    if not queries:
        raise LookalikeError(f"the gallery of {gallery.dataset} has no query: run `make demo`, then `make readme`")
    with paper_style(), replacing(path) as part:
        canvas = draw_gallery(gallery_of(queries))
        canvas.savefig(part, format="webp", dpi=130, facecolor="white", pil_kwargs={"quality": 82, "method": 6})


def replace_between_marks(text: str, content: str) -> str:
    """Put `content` between the two marks of a text, which has each once."""
    pattern = re.escape(BEGIN) + r"\n.*?" + re.escape(END)
    if text.count(BEGIN) != 1 or text.count(END) != 1 or not re.search(pattern, text, flags=re.DOTALL):
        raise LookalikeError(f"README.md has no place for the numbers: put the lines {BEGIN} and {END} into it")
    return re.sub(pattern, lambda _: f"{BEGIN}\n{content.strip()}\n{END}", text, flags=re.DOTALL)
