"""How one exhibit displays itself in a cell of a notebook."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import words
from lookalike.exhibits.sheets import html

if TYPE_CHECKING:
    from lookalike.report.results import Exhibit

UNREADABLE = (LookalikeError, ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)
"""What a sidecar or a CSV of another form ends in."""


def exhibit_html(exhibit: Exhibit) -> str:
    """Return one ``<figure>`` with heading, picture or table, state, caption and notes, or why it cannot be read."""
    try:
        body = _body(exhibit) if exhibit.was_drawn else f"<p>{escape(words.sentence(exhibit.problem))}</p>"
    except UNREADABLE as error:
        body = f"<p>{escape(words.sentence(str(error)))}</p>"
    badge, counts = exhibit.state.badge, words.status_counts(exhibit.statuses)
    state = f"<p>{badge.sign} {escape(': '.join(filter(None, (badge.words, counts))))}</p>\n" if badge else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in exhibit.notes)
    head = f"<strong>{escape(exhibit.heading)}</strong>, {escape(exhibit.source)}"
    caption = f"<figcaption>{escape(' '.join(exhibit.caption))}</figcaption>\n"
    below = f"<details><summary>Notes</summary><ul>{notes}</ul></details>\n" if notes else ""
    return f'<figure style="margin: 1em 0">\n<p>{head}</p>\n{body}\n{state}{caption}{below}</figure>'


def _body(exhibit: Exhibit) -> str:
    """Return the picture or the table itself."""
    picture = exhibit.picture()
    if picture is None:
        return html(exhibit.sheets, f"{exhibit.dataset}-{exhibit.id.replace('/', '-')}")
    data = base64.b64encode(picture.read_bytes()).decode("ascii")
    # the caption beneath describes it; here is what it is
    alternative = escape(f"{exhibit.heading}, {exhibit.kind} of {exhibit.dataset_title}", quote=True)
    return f'<img style="max-width: 100%; background: #fff" alt="{alternative}" src="data:image/png;base64,{data}">'
