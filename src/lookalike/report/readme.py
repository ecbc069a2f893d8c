"""The numbers and the picture of README.md, put between two marks by `make readme`: no number in it is typed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, replacing
from lookalike.exhibits import words
from lookalike.exhibits.neighbours import RANDOM, draw_queries, pictured
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.style import paper_style
from lookalike.report import front
from lookalike.report.claims import claims_of

if TYPE_CHECKING:
    from lookalike.report.claims import Claim
    from lookalike.report.results import Results, ShownExhibit

BEGIN, END = "<!-- made by `make readme`: begin -->", "<!-- made by `make readme`: end -->"
N_QUERIES, N_CLAIMS = 3, 2
"""Queries of the picture, and claims of each paper in the table."""
ALL_VERDICTS = "All are in `results/claims.md`."


def readme_numbers(results: Results, origin: str) -> str:
    """Return a run's numbers as Markdown: the first primary claims of each paper, how many hold, and what made them."""
    if not results.datasets:
        raise LookalikeError("no data set has a result yet: run `make demo`, then `make readme`")
    claims = claims_of(results)
    heads, found = ("The paper says", "Run here on", "Here", "Paper", "Verdict"), front.first_differences(claims)
    of_papers = [[both for both in found if both[0]["paper"] == paper][:N_CLAIMS] for paper in PAPERS]
    cells = [_cells(*both) for of_paper in of_papers for both in of_paper]
    lines = [f"| {' | '.join(line)} |" for line in (heads, ("---",) * len(heads), *cells)]
    note = (
        "Here and Paper: differences in percentage points of mean average precision (mAP), with 95% intervals. "
        "Undecided: the interval has values for and against the claim, or p, corrected for the primary claims of the "
        "paper (Holm), is 0.05 or more. The longest run of a claim decides; its results come with the project. "
        "S-TG and S-DA are SOML's two algorithms."
    )
    verdicts = f"{words.counts_words(results.claims)} {ALL_VERDICTS}" if claims else ""
    parts = [verdicts, front.synthetic_words(results), f"Made by {origin}."]
    return "\n\n".join(("\n".join(lines), note, *filter(None, parts))) + "\n"


def _cells(claim: Claim, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the line of a claim: its sentence, its data, the first difference behind it, and the verdict."""
    where = f"{claim['claim']} ({PAPERS[claim['paper']].short})"
    names = row["names"] if row["metric"] == "mAP" else f"{row['names']}, {row['metric']}"
    return where, front.place_of(claim, row), f"{names}: {row['here']}", row["paper"], claim["verdict"]


def write_readme_picture(gallery: ShownExhibit, path: PathLike) -> None:
    """Draw the first random queries of a gallery, with their neighbours before and after learning, as WebP."""
    queries = pictured([entry for entry in gallery.entries if entry.chosen == RANDOM])[:N_QUERIES]
    if not queries:
        raise LookalikeError(f"the gallery of {gallery.dataset} has no query: run `make demo`, then `make readme`")
    with paper_style(), replacing(path) as part:
        draw_queries(queries).savefig(
            part, format="webp", dpi=130, facecolor="white", pil_kwargs={"quality": 82, "method": 6}
        )


def replace_between_marks(text: str, content: str) -> str:
    """Put `content` between the two marks of a text, which has each once."""
    pattern = re.escape(BEGIN) + r"\n.*?" + re.escape(END)
    if text.count(BEGIN) != 1 or text.count(END) != 1 or not re.search(pattern, text, flags=re.DOTALL):
        raise LookalikeError(f"README.md has no place for the numbers: put the lines {BEGIN} and {END} into it")
    return re.sub(pattern, lambda _: f"{BEGIN}\n{content.strip()}\n{END}", text, flags=re.DOTALL)
