"""The one exception that users are meant to read, a mistake in their input, and what its sentence says of names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LookalikeError(Exception):
    """A mistake that the user can mend.

    The message is one clear sentence (or two): what is wrong, where, and what to do next. Command-line tools and
    workflow scripts print it without a traceback.
    """


def existing(name: str, known: Iterable[str]) -> str:
    """Say which name may be meant, and all that there are."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}there are: {', '.join(known) or 'none'}"
