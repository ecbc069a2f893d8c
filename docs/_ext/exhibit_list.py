"""The directive ``{exhibit-list}``: every exhibit that a study can make, from the registry."""

from __future__ import annotations

from docutils import nodes
from kept_runs import table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.words import NO_NUMBER
from lookalike.report.results import GROUPS
from lookalike.studies.rooms import all_exhibits


class ExhibitList(SphinxDirective):
    """All exhibits, by paper."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each paper and each group of our own, with a table of its exhibits."""
        exhibits = list(all_exhibits().values())
        titles = {id: paper.title for id, paper in PAPERS.items()}
        for exhibit in exhibits:
            titles.setdefault(exhibit.paper, GROUPS.get(exhibit.paper, exhibit.paper))
        sections = []
        for paper, title in titles.items():
            own = [exhibit for exhibit in exhibits if exhibit.paper == paper]
            section = nodes.section("", nodes.title("", title), ids=[f"exhibits-{paper}"])
            self.state.document.note_explicit_target(section)
            section += table(
                ("exhibit", "file", "target"),
                [
                    (f"{exhibit.label} {exhibit.title}".strip(), exhibit.id, exhibit.target or NO_NUMBER)
                    for exhibit in own
                ],
            )
            sections.append(section)
        return list(sections)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("exhibit-list", ExhibitList)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
