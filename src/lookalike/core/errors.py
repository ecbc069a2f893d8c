"""The one exception that users are meant to read: a mistake in their input, with what to do next."""

from __future__ import annotations


class LookalikeError(Exception):
    """A mistake that the user can mend.

    The message is one clear sentence (or two): what is wrong, where, and what to do next. Command-line tools and
    workflow scripts print it without a traceback.
    """
