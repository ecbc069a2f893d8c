"""Which papers and groups of our own there are, and in which order their exhibits come, run or not.

The order is that of the captions in each paper, read off its pages from first to last, so that a table stands where the
reader of the paper meets it. What any study can make is asked of the catalogues of `lookalike.exhibits`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from lookalike.exhibits.reference import ALL_PAPERS


class Paper(NamedTuple):
    """One paper, as the report names it."""

    page: str
    """Name of its page, and of its target in the workflow."""
    title: str
    """Short title: the method and where it was printed."""
    citation: str
    """Authors, place and year."""


_PAGES = {
    "oasis-jmlr-2010": ("jmlr2010", "OASIS, JMLR 2010"),
    "oasis-2009-draft": ("draft2009", "OASIS, draft of 2009"),
    "oasis-nips-2009": ("nips2009", "OASIS, NIPS 2009"),
    "soml-aaai-2014": ("aaai2014", "SOML, AAAI 2014"),
    "deep-ranking-cvpr-2014": ("cvpr2014", "Deep Ranking, CVPR 2014"),
}
PAPERS: Mapping[str, Paper] = {paper: Paper(*_PAGES[paper], citation) for paper, citation in ALL_PAPERS.items()}
"""Paper id to how the report names it, in the order of its pages."""

GROUPS: Mapping[str, str] = {
    "learning": "How OASIS and its competitors learn",
    "human": "Human ratings",
    "representation": "How an image is represented",
    "landmark": "SOML beyond its paper",
    "web": "The simulated web",
    "finegrained": "Fine-grained similarity beyond its paper",
}
"""Groups of exhibits that no paper prints, and their titles, in the order of the report."""

ORDER: Mapping[str, tuple[str, ...]] = {
    "oasis-jmlr-2010": (
        *("fig2", "table1", "table2", "table3", "fig3a", "fig3b", "fig3c", "fig3d", "fig4", "fig5"),
        *("table4", "table5", "fig6", "fig7", "fig8", "fig9", "text"),
    ),
    "oasis-2009-draft": (*("fig3", "table1", "table2", "fig4", "fig5", "table3", "table4", "table5", "fig6", "fig7"),),
    "oasis-nips-2009": ("table1", "fig1a", "fig1b"),
    "soml-aaai-2014": tuple(f"table{number}" for number in range(1, 10)),
    "deep-ranking-cvpr-2014": ("fig1", "fig4", "table1", "table2", "fig5", "fig6", "fig7"),
    "learning": ("comparison", "mcml", "symmetry", "loss_bound", "claims"),
    "human": ("deviations",),
    "representation": ("block_grid", "palette", "visterms", "ablations"),
    "landmark": ("query_region", "literal", "sparsity", "time", "montage", "claims"),
    "web": ("calibration", "learning", "topics", "speed", "approximate", "recall"),
    "finegrained": ("kinds", "features", "curves", "contrasts", "claims", "gallery"),
}
"""Exhibits of a paper in the order in which its captions come (numbers of the running text last), and of a group of
ours in the order in which they tell its story. Panels of one figure go by letter. One that is not here comes after
those that are, figures and tables by number."""


class Planned(NamedTuple):
    """An exhibit that some study makes once its data are in place."""

    paper: str
    """Id of a paper, or of a group of our own."""
    name: str
    title: str


def place_of(paper: str, name: str) -> tuple[int, int, int, str]:
    """Where an exhibit stands among all: a key to sort by.

    Parameters
    ----------
    paper : str
        Id of a paper or of a group of our own; an unknown one comes last.
    name : str
        Name of its files, such as ``table4``.

    Returns
    -------
    tuple
        Place of the paper, place in `ORDER`, first number in the name, the name.
    """
    papers, known = [*PAPERS, *GROUPS], ORDER.get(paper, ())
    number = re.search(r"\d+", name)
    return (
        papers.index(paper) if paper in papers else len(papers),
        known.index(name) if name in known else len(known),
        int(number.group()) if number else 0,
        name,
    )


def planned_exhibits() -> list[Planned]:
    """Every exhibit that any study can make, in the order of `place_of`."""
    found = [
        Planned(key.partition("/")[0], key.partition("/")[2], title) for key, title in _catalogued_titles().items()
    ]
    return sorted(found, key=lambda one: place_of(one.paper, one.name))


def _catalogued_titles() -> dict[str, str]:
    """Title of every exhibit by ``paper/name``, from all catalogues and the registry."""
    from lookalike.studies.rooms import all_exhibits

    return {id: one.label or one.title for id, one in all_exhibits().items()}
