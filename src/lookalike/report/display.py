"""How one exhibit displays itself: signs of states, sentences, and the HTML of a notebook's cell."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.sheets import html

if TYPE_CHECKING:
    from lookalike.report.results import Exhibit

STATES = {
    "agrees": "every number that can be compared agrees with the printed one",
    "close": "some numbers differ from print, and all of them by less than two standard deviations",
    "differs": "some numbers are clearly higher or lower than the printed ones",
    "other data": "the paper's numbers are of other images or another machine, so there is no verdict",
    "not run": "this run has no result here, and its section says why",
}
"""The states that pages show, and what each says."""
SHOWN = {
    **{state: state for state in STATES},
    **dict.fromkeys(("higher", "lower", "mixed"), "differs"),
    **dict.fromkeys(("other classes", "not comparable"), "other data"),
    **dict.fromkeys(("failed", "no result"), "not run"),
    **dict.fromkeys(("no printed number", "no printed value"), ""),
}
"""States and statuses of the files to the state that pages show; "" where no paper prints a number to agree with."""
VERDICTS = {
    "holds": "the numbers of this data set bear the claim out",
    "does not hold": "the numbers of this data set are against the claim",
    "undecided": "the numbers of this data set leave it open",
    "not tested": "this run has no numbers for it",
}
MEANINGS = STATES | VERDICTS
SIGNS = dict(zip(MEANINGS, "=≈≠○–✓✗?–", strict=True))
"""A sign for every state and verdict, so that none is told by its colour alone."""
UNREADABLE = (LookalikeError, ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)
"""What a sidecar or a CSV of another form ends in."""


def sentence(text: str) -> str:
    """Text as a sentence: capital first, full stop last; "" for ""."""
    text = text.strip()
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def count_states(found: Mapping[str, int]) -> dict[str, int]:
    """How many exhibits have each state that pages show, from how many have each state of the files."""
    return {state: sum(n for one, n in found.items() if SHOWN[one] == state) for state in STATES}


def source_of(title: str, is_synthetic: bool) -> str:
    """How a data set is named wherever something made from it is shown."""
    return f"{title} (synthetic)" if is_synthetic else title


def exhibit_html(exhibit: Exhibit) -> str:
    """One ``<figure>`` with heading, picture or table, state, caption and notes, or why it cannot be read."""
    try:
        body = _body(exhibit) if exhibit.was_drawn else f"<p>{escape(sentence(exhibit.problem))}</p>"
    except UNREADABLE as error:
        body = f"<p>{escape(sentence(str(error)))}</p>"
    state = SHOWN[exhibit.state]
    told = f"<p>{SIGNS[state]} {escape(': '.join(filter(None, (state, exhibit.status))))}</p>\n" if state else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in exhibit.notes)
    return (
        f'<figure style="margin: 1em 0">\n<p><strong>{escape(exhibit.heading)}</strong>, '
        f"{escape(source_of(exhibit.dataset_title, exhibit.synthetic))}</p>\n{body}\n"
        f"{told}<figcaption>{escape(exhibit.caption)}</figcaption>\n"
        + (f"<details><summary>Notes</summary><ul>{notes}</ul></details>\n" if notes else "")
        + "</figure>"
    )


def _body(exhibit: Exhibit) -> str:
    """The picture or the table itself."""
    picture = exhibit.picture()
    if picture is None:
        return html(exhibit.sheets, f"{exhibit.dataset}-{exhibit.id.replace('/', '-')}")
    data = base64.b64encode(picture.read_bytes()).decode("ascii")
    # the caption beneath describes it; here is what it is
    alternative = escape(f"{exhibit.heading}, {exhibit.kind} of {exhibit.dataset_title}", quote=True)
    return f'<img style="max-width: 100%; background: #fff" alt="{alternative}" src="data:image/png;base64,{data}">'
