"""The registry of exhibits: an entry of a study's exhibits.yaml is one, or a function with ``@exhibit(...)``.

A study's functions stand in its ``exhibits.py`` or in a module that this imports.

Rules, targets, the settings' list of exhibits, the report's order and each exhibit's dependencies come from here. It
is cheap to import, because every plan imports it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from lookalike.exhibits.model import Drawn


class Paper(NamedTuple):
    """One paper, as indices and pages name it."""

    page: str
    """Name of its page, and of its target in the workflow."""
    prefix: str
    """What the targets of its tables and figures begin with."""
    title: str
    """The method and where it was printed."""
    short: str
    """Where it was printed."""
    citation: str
    """Authors, place and year."""
    address: str = ""
    """Where it can be read; "" where we know of no lasting address."""


_OASIS = "Chechik, Sharma, Shalit and Bengio"
PAPERS = {
    "oasis-jmlr-2010": Paper(
        "jmlr2010",
        "jmlr",
        "OASIS, JMLR 2010",
        "JMLR 2010",
        f"{_OASIS}, JMLR 11 (2010), pages 1109-1135",
        "https://jmlr.org/papers/v11/chechik10a.html",
    ),
    "oasis-2009-draft": Paper("draft2009", "draft", "OASIS, draft of 2009", "Draft 2009", f"{_OASIS}, draft of 2009"),
    "oasis-nips-2009": Paper("nips2009", "nips", "OASIS, NIPS 2009", "NIPS 2009", f"{_OASIS}, NIPS 2009"),
    "soml-aaai-2014": Paper(
        "aaai2014", "soml", "SOML, AAAI 2014", "AAAI 2014", "Gao, Hoi, Zhang, Wan and Li, AAAI 2014"
    ),
    "deep-ranking-cvpr-2014": Paper(
        "cvpr2014",
        "cvpr",
        "Deep Ranking, CVPR 2014",
        "CVPR 2014",
        "Wang, Song, Leung, Rosenberg, Wang, Philbin, Chen and Wu, CVPR 2014",
        "https://doi.org/10.1109/CVPR.2014.180",
    ),
}
"""Papers by id, in the order in which an index lists them. Every other group of exhibits is our own."""
ROOMS = ("category", "embeddings", "landmark", "web", "finegrained", "human")
"""Studies in the order in which exhibits are listed."""
FILES = {
    "Table": (".csv", ".md", ".tex", ".json"),
    "Figure": (".csv", "_compare.csv", ".png", ".svg", ".pdf", ".json"),
    "Gallery": (".csv", ".png", ".svg", ".pdf", ".json"),
    "Picture": (".csv", ".png", ".svg", ".pdf", ".json"),
}
"""What a function returns to the suffixes of its files."""


Condition = Callable[[Any], object]
"""Tells whether a study, which is of the room's own class, has an exhibit."""


@dataclass(frozen=True)
class Exhibit:
    """One table, figure, gallery or picture of a study."""

    id: str
    """``paper/name``, the place of its files below ``results/{dataset}/exhibits/``."""
    study: str
    """Room of the study, such as ``category``."""
    title: str
    kind: str
    """``table``, ``figure``, ``gallery`` or ``picture``."""
    draw: Callable[..., Drawn]
    """Given the study, returns what is written."""
    needs: tuple[str, ...] = ()
    """Names of the study's tables and files that it is drawn from."""
    optional: tuple[str, ...] = ()
    """Those that it does without."""
    asks: tuple[object, ...] = ()
    """What of each part that it shows is made only where an exhibit asks for it; its study knows what that means."""
    shows: tuple[str, ...] | None = None
    """Methods, and keys of the study's settings, whose numbers it needs; None where it needs those of all."""
    when: Condition = lambda study: True
    """Tells whether a study has it."""
    condition: str = ""
    """What a study needs to have it, in words."""
    caption: str = ""
    """First sentence of its caption."""
    drawn_by: str = ""
    """The function or file that draws it. Exhibits of two papers show the same if it and their numbers are the same."""
    order: int = 0
    """Its place in its module."""

    @property
    def paper(self) -> str:
        """Paper that prints it, or the group of our own that it belongs to."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """Name of its files."""
        return self.id.partition("/")[2]

    @property
    def target(self) -> str:
        """Target of the workflow that makes it alone: ``jmlr-table4``; "" for one of our own."""
        return f"{PAPERS[self.paper].prefix}-{self.name}" if self.paper in PAPERS else ""

    @property
    def label(self) -> str:
        """Return what the paper calls it, such as ``Table 4``; "" for one of our own, and for numbers in the text."""
        kind, number, letter = self._numbered
        return f"{kind} {number}{letter.upper()}" if kind else ""

    @property
    def place(self) -> int:
        """Its place among the exhibits of its paper: tables, then figures, by number; then others as in their file."""
        kind, number, letter = self._numbered
        if not kind:
            return 100_000 + self.order
        return 50_000 * (kind == "Figure") + 100 * number + (ord(letter) - ord("a") + 1 if letter else 0)

    @property
    def _numbered(self) -> tuple[str, int, str]:
        """``Table`` or ``Figure``, its number and letter; "" and 0 for what the paper does not number."""
        found = re.fullmatch(r"(table|fig)(\d+)([a-z]?)", self.name) if self.paper in PAPERS else None
        if found is None:
            return "", 0, ""
        return {"table": "Table", "fig": "Figure"}[found[1]], int(found[2]), found[3]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of its files."""
        return FILES[self.kind.capitalize()]


_FOUND: dict[str, Exhibit] = {}


def exhibit(
    *ids: str,
    title: str,
    needs: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    asks: tuple[object, ...] = (),
    shows: tuple[str, ...] | None = None,
    when: Condition = lambda study: True,
    condition: str = "settings that ask for it",
) -> Callable[[Callable[..., Drawn]], Callable[..., Drawn]]:
    """Make a function ``(study) -> Table | Figure | Gallery | Picture`` an exhibit.

    Its docstring begins the caption; its return annotation says which files there are. `ids` are ``paper/name``, one
    for each paper that prints it; ``study.exhibit`` says which is drawn. `needs` and `optional` name the study's tables
    and files that it is drawn from; without one that it needs it reads ``not run: ...``. `asks` says what of
    the study's parts is made for it alone, and `shows` which methods it needs where it is drawn alone. `when` asks a
    study by its settings whether it has the exhibit, and `condition` says in words what that takes.
    """

    def register(function: Callable[..., Drawn]) -> Callable[..., Drawn]:
        kind = str(function.__annotations__.get("return", ""))
        if kind not in FILES:
            raise ValueError(
                f"{function.__name__} returns {kind or 'nothing'}: an exhibit is one of {', '.join(FILES)}"
            )
        study = function.__module__.split(".")[-2]
        for id in ids:
            if id in _FOUND and _FOUND[id].draw.__module__ != function.__module__:
                raise ValueError(f"two exhibits are called {id}")
            about = (title, kind.lower(), function, needs, optional, asks, shows, when, condition)
            declare(Exhibit(id, study, *about, caption_of(function), f"{function.__module__}.{function.__name__}"))
        return function

    return register


def caption_of(function: Callable[..., Drawn]) -> str:
    """Return the first sentence of a function's docstring."""
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())


def declare(exhibit: Exhibit) -> None:
    """Add an exhibit behind those that there are."""
    order = _FOUND[exhibit.id].order if exhibit.id in _FOUND else len(_FOUND)
    _FOUND[exhibit.id] = replace(exhibit, order=order)


def exhibits_of(study: str) -> dict[str, Exhibit]:
    """Return exhibits of one study by id, in the order of its file, once its module has been imported."""
    return {id: found for id, found in _FOUND.items() if found.study == study}
