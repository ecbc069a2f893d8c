"""The directive ``{command-line}``: every subcommand of ``lookalike``, from the program that reads it."""

from __future__ import annotations

from typing import Any

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lookalike.app import commands, rated, serve  # they add their commands to the program
from lookalike.app.options import app as program


class CommandLine(SphinxDirective):
    """All commands of the package."""

    def run(self) -> list[nodes.Node]:
        """Return a section for every command: what it does, how it is called, its options, examples."""
        for module in (commands, rated, serve):
            self.env.note_dependency(str(module.__file__))
        group: Any = typer.main.get_command(program)
        with group.make_context("lookalike", [], resilient_parsing=True) as parent:
            return [self._section(name, command, parent) for name, command in group.commands.items()]

    def _section(self, name: str, command: Any, parent: Any) -> nodes.section:
        context = command.make_context(name, [], parent=parent, resilient_parsing=True)
        section = nodes.section(
            "", nodes.title("", "", nodes.literal("", f"lookalike {name}")), ids=[f"lookalike-{name}"]
        )
        self.state.document.note_explicit_target(section)
        section += [self._text(part) for part in command.help.split("\n\n")]
        usage = " ".join(command.collect_usage_pieces(context))
        section += nodes.literal_block("", f"lookalike {name} {usage}", language="text")
        listed = nodes.definition_list(classes=["keys"])
        for parameter in command.get_params(context):
            if (record := parameter.get_help_record(context)) is not None:
                term = nodes.term("", "", nodes.literal("", record[0]))
                listed += nodes.definition_list_item("", term, nodes.definition("", self._text(record[1])))
        section += listed
        section += nodes.literal_block("", command.epilog.replace("\b\n", ""), language="text")
        return section

    def _text(self, text: str) -> nodes.paragraph:
        inline, messages = self.parse_inline(" ".join(text.split()))
        return nodes.paragraph("", "", *inline, *messages)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
