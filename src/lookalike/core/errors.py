"""The one exception that users are meant to read, a mistake in their input, and how names are shown in sentences."""

from __future__ import annotations

import difflib
import os
import shlex
import unicodedata
from collections.abc import Iterable, Sequence


class LookalikeError(Exception):
    """A mistake that the user can mend: one clear sentence (or two) says what is wrong, where, and what to do next."""


def existing(name: str, known: Iterable[str]) -> str:
    """Say which name may be meant, and all that there are."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}there are: {', '.join(known) or 'none'}"


def first_reason(left_out: Sequence[tuple[str, str]]) -> str:
    """Return in brackets why the first (path, reason) was left out, if one was, and how many more were."""
    if not left_out:
        return ""
    more = f"; and {len(left_out) - 1:,} more" if len(left_out) > 1 else ""
    return f" ({short_name(left_out[0][0])}: {left_out[0][1]}{more})"


def shortened(text: str, longest: int = 1000) -> str:
    """Return a sentence without the middle of a name or a reason that is too long to be read."""
    return text if len(text) <= longest else f"{text[: longest // 2]} ... {text[-longest // 2 :]}"


def short_name(name: str) -> str:
    """Return a name, without its middle where it is longer than that of any file: ids may have thousands of letters."""
    return shortened(name, 255)


def command_line(words: Iterable[str]) -> str:
    """Return a command as it can be pasted into a shell, with the bytes of names that cannot be shown in ``$'...'``."""

    def quoted(word: str) -> str:
        if word == escaped(word):
            return shlex.quote(word)
        plain = {byte: chr(byte) for byte in range(0x20, 0x7F) if byte not in b"'\\"}
        return f"$'{''.join(plain.get(byte, f'{chr(92)}x{byte:02x}') for byte in os.fsencode(word))}'"

    return " ".join(map(quoted, words))


def escaped(text: str, keep: str = "") -> str:
    r"""Return text with what could steer a terminal or turn a line round, as names may, written like ``\u202e``."""

    def is_harmless(letter: str) -> bool:
        return letter.isprintable() or letter in keep or unicodedata.category(letter) == "Zs"

    return "".join(sign if is_harmless(sign) else sign.encode("unicode_escape").decode("ascii") for sign in text)


def escaped_in_page(value: object) -> object:
    """Return what a template puts into a page: a text with what turns it round escaped, marked-up text as it is."""
    return escaped(value, keep="\n\t") if type(value) is str else value
