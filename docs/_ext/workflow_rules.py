"""The directive ``{workflow-rules}``: every rule of the workflow, from the files that define them (see smk.py)."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from smk import Rule, RuleFile, read_rules
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).resolve().parents[2] / "workflow" / "rules"
SHOWN = ("input", "output", "conda", "threads", "resources", "script", "shell")


class WorkflowRules(SphinxDirective):
    """All rules, by file."""

    def run(self) -> list[nodes.Node]:
        """Return a section for every file of rules: its docstring, and a definition for each rule."""
        for path in FOLDER.glob("*.smk"):
            self.env.note_dependency(str(path))
        try:
            files = read_rules(FOLDER)
        except ValueError as error:
            raise ExtensionError(str(error)) from error
        return [self._section(file) for file in files]

    def _section(self, file: RuleFile) -> nodes.section:
        section = nodes.section(
            "", nodes.title("", "", nodes.literal("", file.path.name)), ids=[f"rules-{file.path.stem}"]
        )
        self.state.document.note_explicit_target(section)
        section += [self._text(part) for part in file.docstring.split("\n\n")]
        listed = nodes.definition_list(classes=["keys"])
        for rule in file.rules:
            term = nodes.term("", "", nodes.literal("", rule.name), ids=[f"rule-{rule.name}".replace("_", "-")])
            listed += nodes.definition_list_item("", term, nodes.definition("", *self._rule(rule)))
        section += listed
        return section

    def _rule(self, rule: Rule) -> list[nodes.Node]:
        """A rule's comment, then its directives as a list of fields."""
        fields = nodes.field_list()
        for directive in SHOWN:
            said = rule.directives.get(directive, [])
            if not said:
                continue
            body = nodes.bullet_list() if len(said) > 1 else nodes.paragraph()
            for name, text in said:
                inline = [nodes.Text(f"{name}: ")] if name else []
                inline.append(nodes.literal("", text.replace("../../envs/", "envs/").replace("../scripts/", "")))
                if len(said) > 1:
                    body += nodes.list_item("", nodes.paragraph("", "", *inline))
                else:
                    body += inline
            fields += nodes.field("", nodes.field_name("", directive), nodes.field_body("", body))
        return [*([self._text(rule.comment)] if rule.comment else []), fields]

    def _text(self, text: str) -> nodes.paragraph:
        inline, messages = self.parse_inline(" ".join(text.split()))
        return nodes.paragraph("", "", *inline, *messages)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("workflow-rules", WorkflowRules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
