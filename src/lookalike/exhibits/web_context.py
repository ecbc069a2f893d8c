"""What an exhibit of the web study has to know besides numbers (OASIS JMLR section 5.2, draft 5.3, NIPS 4.1).

The counterpart of `lookalike.exhibits.context`: there are no subsets and no folds, but one training and one test part
of one collection. The papers' images and queries were never published, so that a query log and visterms are simulated,
and no number of ours is ever held against a printed one with a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from lookalike.exhibits.reference import ALL_PAPERS
from lookalike.exhibits.style import title_of

if TYPE_CHECKING:
    import pandas as pd

JMLR, DRAFT, NIPS = "oasis-jmlr-2010", "oasis-2009-draft", "oasis-nips-2009"
WEB_PAPERS = {NIPS: "Chechik, Shalit, Sharma and Bengio, NIPS 2009", **ALL_PAPERS}
"""How captions name the source of an exhibit."""
PARTS = {"train": "training", "test": "test"}
"""Part of the collection to its printed name, in the order of the papers' table."""
AVERAGED = "oasis-averaged"
"""Our id of the average of several rankers."""


@dataclass(frozen=True)
class WebContext:
    """Which data the exhibits of a web study show: log and visterms that are made by code, at whatever size."""

    dataset: str
    title: str
    methods: tuple[str, ...]
    """Methods that are compared, in order."""
    n_words: int = 10_000
    not_run: str | None = None
    """What to do to run it, or None where it was run."""
    counts: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(part, quantity) to what was counted, such as ``("train", "images")``; empty where nothing was counted."""
    processors: tuple[str, ...] = ()
    method_titles: Mapping[str, str] = field(default_factory=dict)
    n_validation_images: int = 0
    """Images whose ranking decides when training stops; 0 where it is not known."""
    runtime_settings: Mapping[str, float] = field(default_factory=dict)
    """``aggressiveness`` and ``patience`` of the sizes of the runtime study, where they are known."""
    synthetic: ClassVar[bool] = True
    """That all data are made by code, as `lookalike.exhibits.write` asks of every context."""
    source: ClassVar[str] = "simulated"
    """One word on the data, for columns and axes."""
    why_not_comparable: ClassVar[str] = "simulated"
    """Why no number may be held against a printed one with a verdict."""

    @property
    def not_run_sentence(self) -> str | None:
        """``not run: do X``, or None where it was run."""
        if self.not_run is None:
            return None
        return "not run: " + self.not_run.removeprefix("not run:").strip()

    @property
    def images(self) -> str:
        """How captions begin to speak of the data, with its size where that was counted."""
        sizes = [
            f"{self.counts[part, 'images']:,.0f} {title} images"
            for part, title in PARTS.items()
            if (part, "images") in self.counts
        ]
        size = f": {' and '.join(sizes)}, {self.n_words:,} words" if sizes else ""
        return f"Simulated query log and visterms of {self.title}{size}"

    def title_of(self, method: str) -> str:
        """Return the printed name of a method of ours."""
        return title_of(method, self.method_titles)


def web_context(
    study: Mapping[str, Any], fits: pd.DataFrame | None = None, counts: pd.DataFrame | None = None
) -> WebContext:
    """Return the context of the exhibits of one web study.

    Parameters
    ----------
    study : mapping
        ``dataset``, ``title``, ``not_run`` ("" where it can be run) and ``methods`` (id to title). ``words`` is 10,000
        and ``runtime`` (``aggressiveness`` and ``patience`` of the runtime study) unknown if left out.
    fits : DataFrame, optional
        What each fit recorded; ``processor`` and ``n_validation`` if they are there.
    counts : DataFrame, optional
        ``part``, ``quantity``, ``value`` (marginals.csv).

    Returns
    -------
    WebContext
    """
    titles = {AVERAGED: "OASIS, rankers averaged", **dict(study["methods"])}
    return WebContext(
        dataset=str(study["dataset"]),
        title=str(study["title"]),
        methods=tuple(study["methods"]),
        n_words=int(study.get("words", 10_000)),
        not_run=study["not_run"] or None,
        counts=_counted(counts),
        processors=() if fits is None or "processor" not in fits else tuple(sorted(set(fits["processor"].dropna()))),
        method_titles=titles,
        n_validation_images=_held_out(fits),
        runtime_settings={key: value for key, value in (study.get("runtime") or {}).items() if value is not None},
    )


def _held_out(fits: pd.DataFrame | None) -> int:
    """How many images decide when training stops; all rankers have the same."""
    counted = () if fits is None or "n_validation" not in fits else fits["n_validation"].dropna()
    return int(max(counted, default=0))


def _counted(counts: pd.DataFrame | None) -> dict[tuple[str, str], float]:
    if counts is None:
        return {}
    keys = zip(counts["part"], counts["quantity"], counts["value"], strict=True)
    return {(str(part), str(quantity)): float(value) for part, quantity, value in keys}
