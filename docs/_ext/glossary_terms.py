"""The directive ``{terms}``: every term of the glossary, which the report shows too."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lookalike.report import tables


class Terms(SphinxDirective):
    """All terms, each with its sentence."""

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions."""
        self.env.note_dependency(str(tables.GLOSSARY))
        items = [
            nodes.definition_list_item("", nodes.term("", term), nodes.definition("", nodes.paragraph("", sentence)))
            for term, sentence in tables.terms().items()
        ]
        return [nodes.definition_list("", *items)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("terms", Terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
