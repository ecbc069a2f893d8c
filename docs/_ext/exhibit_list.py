"""The directive ``{exhibit-list}``: every exhibit that a study can make, from the catalogues that draw them."""

from __future__ import annotations

import tempfile

from docutils import nodes
from run_numbers import table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lookalike.report.results import GROUPS, PAPERS, Results


class ExhibitList(SphinxDirective):
    """All exhibits, by paper."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each paper and each group of our own, with a table of its exhibits."""
        with tempfile.TemporaryDirectory() as empty:
            planned = Results(empty).planned()
        titles = {paper: named.title for paper, named in PAPERS.items()} | dict(GROUPS)
        sections = []
        for paper, title in titles.items():
            section = nodes.section("", nodes.title("", title), ids=[f"exhibits-{paper}"])
            self.state.document.note_explicit_target(section)
            section += table(("exhibit", "file"), ((e.title, f"{paper}/{e.name}") for e in planned if e.paper == paper))
            sections.append(section)
        return list(sections)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("exhibit-list", ExhibitList)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
