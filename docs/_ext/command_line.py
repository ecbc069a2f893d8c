"""The directive ``{command-line}``: every subcommand of ``lookalike``, from the parser that reads it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lookalike import cli


class CommandLine(SphinxDirective):
    """All commands of the package."""

    def run(self) -> list[nodes.Node]:
        """Return a section for every command: what it does, how it is called, its options, examples."""
        self.env.note_dependency(str(cli.__file__))
        os.environ["COLUMNS"] = "100"  # what argparse wraps at, whatever terminal the build runs in
        return [self._section(name, parser) for name, parser in commands(cli.parser())]

    def _section(self, name: str, parser: argparse.ArgumentParser) -> nodes.section:
        section = nodes.section(
            "", nodes.title("", "", nodes.literal("", f"lookalike {name}")), ids=[f"lookalike-{name}"]
        )
        self.state.document.note_explicit_target(section)
        section += [self._text(part) for part in (parser.description or "").split("\n\n") if part.strip()]
        section += nodes.literal_block("", parser.format_usage().strip(), language="text")
        for group in parser._action_groups:
            actions = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
            if actions:
                section += nodes.rubric("", (group.title or "").capitalize())
                section += self._options(parser, actions)
        if parser.epilog:
            section += nodes.literal_block("", parser.epilog, language="text")
        return section

    def _options(self, parser: argparse.ArgumentParser, actions: list[argparse.Action]) -> nodes.definition_list:
        formatter = parser._get_formatter()
        listed = nodes.definition_list(classes=["keys"])
        for action in actions:
            term = nodes.term("", "", nodes.literal("", formatter._format_action_invocation(action)))
            help_text = formatter._expand_help(action) if action.help else ""
            listed += nodes.definition_list_item("", term, nodes.definition("", self._text(help_text)))
        return listed

    def _text(self, text: str) -> nodes.paragraph:
        inline, messages = self.parse_inline(" ".join(text.split()))
        return nodes.paragraph("", "", *inline, *messages)


def commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Subcommands of a parser, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
