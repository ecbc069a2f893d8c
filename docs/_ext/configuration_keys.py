"""The directive ``{configuration-keys}``: every key of config.yaml, from the model that checks it.

A section for each key of the first level; below it the keys as a list of definitions, nested as in the file: type,
allowed values, default, description. A key without a description ends the build.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import lookalike
from lookalike.studies.settings import Settings

Schema = Mapping[str, Any]


class ConfigurationKeys(SphinxDirective):
    """All keys of the configuration."""

    def run(self) -> list[nodes.Node]:
        """Return a section for every key of the first level."""
        package = Path(lookalike.__file__).parent
        for pattern in ("core/settings/*.py", "studies/*/s*.py", "studies/settings.py"):
            for file in package.glob(pattern):
                self.env.note_dependency(str(file))
        self.root = Settings.model_json_schema()
        missing = list(undescribed(self.root))
        if missing:
            raise ExtensionError(f"{Settings.__module__}: these keys have no description: {', '.join(missing)}")
        self.sections = {
            entries["$ref"]: key
            for key, value in self.root["properties"].items()
            if "$ref" in (entries := entries_of(value) or {})
        }
        return [self._section(key, value) for key, value in self.root["properties"].items()]

    def _section(self, key: str, schema: Schema) -> nodes.section:
        section = nodes.section("", nodes.title("", "", nodes.literal("", key)), ids=[f"config-{key}"])
        section += self._paragraph(_facts(schema), schema["description"])
        entries = entries_of(schema)
        if entries is not None:
            section += self._keys(self._resolved(entries), f"config-{key}")
        self.state.document.note_explicit_target(section)
        return section

    def _keys(self, schema: Schema, path: str) -> nodes.definition_list:
        """Definitions of the keys of an object."""
        required = schema.get("required", [])
        listed = nodes.definition_list(classes=["keys"])
        for key, value in schema["properties"].items():
            described = self._resolved(value)
            anchor = f"{path}-{key}".replace(".", "-").replace("_", "-")
            term = nodes.term("", "", nodes.literal("", key), ids=[anchor])
            facts = [*_facts(described), *(["required"] if key in required else [])]
            body = nodes.definition("", self._paragraph(facts, described["description"]))
            body += self._nested(described, anchor)
            listed += nodes.definition_list_item("", term, body)
        return listed

    def _nested(self, schema: Schema, path: str) -> list[nodes.Node]:
        """Return what lies inside a key: an object's keys, the objects of a list, or a reference to a section."""
        if "properties" in schema:
            return [self._keys(schema, path)]
        inside = entries_of(schema)
        while inside is not None:
            section = self.sections.get(inside.get("$ref", ""))
            if section is not None:
                link = nodes.reference("", "", nodes.literal("", section), refid=f"config-{section}", internal=True)
                return [nodes.paragraph("", "", nodes.Text("Its keys are those of "), link, nodes.Text("."))]
            inside = self._resolved(inside)
            if "properties" in inside:
                return [self._keys(inside, path)]
            inside = entries_of(inside)
        return []

    def _resolved(self, schema: Schema) -> dict[str, Any]:
        return resolved(self.root, schema)

    def _paragraph(self, facts: list[str], description: str) -> nodes.paragraph:
        """Facts in italics, then the description, whose backticks are Markdown's."""
        paragraph = nodes.paragraph()
        if facts:
            paragraph += [nodes.emphasis("", "; ".join(facts)), nodes.Text(". ")]
        inline, messages = self.parse_inline(description)
        return nodes.paragraph("", "", *paragraph.children, *inline, *messages)


def entries_of(schema: Schema) -> Schema | None:
    """The schema of the entries of a map or a list; nothing if they may be anything."""
    entries = [schema.get("items"), schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
    return next((inside for inside in entries if isinstance(inside, dict) and inside), None)


def resolved(root: Schema, schema: Schema) -> dict[str, Any]:
    """A schema with what it refers to, its own words coming first."""
    if kinds := schema.get("oneOf"):
        return joined([resolved(root, kind) for kind in kinds]) | {"description": schema.get("description", "")}
    either = schema.get("anyOf", [])
    if sections := [kind for kind in either if "$ref" in kind]:
        # a section or null
        schema = {key: value for key, value in schema.items() if key != "anyOf"} | sections[0]
    if "$ref" not in schema:
        return dict(schema)
    target = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return dict(target) | {key: value for key, value in schema.items() if key != "$ref"}


def joined(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """A schema with the keys of all kinds of a section, each of which says which it is."""
    keys = {key: value for kind in kinds for key, value in kind["properties"].items() if key != "kind"}
    own = [kind["properties"]["kind"] for kind in kinds]
    names = [name for kind in own for name in kind.get("enum", [kind.get("const")])]
    words = " ".join(kind["description"] for kind in own)
    return {"properties": {"kind": {"enum": names, "description": words}, **keys}, "required": ["kind"]}


def undescribed(root: Schema) -> Iterator[str]:
    """Keys without a description, as paths."""
    parts = [("", root), *root["$defs"].items()]
    while parts:
        path, schema = parts.pop()
        for key, value in schema.get("properties", {}).items():
            name = f"{path}.{key}".lstrip(".")
            if not resolved(root, value).get("description"):
                yield name
            parts.append((name, value))
        inside = entries_of(schema)
        if inside is not None:
            parts.append((f"{path}[]", inside))


def _facts(schema: Schema) -> list[str]:
    """Type, allowed values and default of a key, as short phrases."""
    return [fact for fact in (_type(schema), _limits(schema), _default(schema)) if fact]


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"])
    kinds = [kind["type"] for kind in schema.get("anyOf", [schema]) if "type" in kind]
    if kinds == ["array"]:
        inside = schema.get("items", {}).get("type")
        return f"list of {inside}s" if isinstance(inside, str) else "list"
    names = {"object": "map", "array": "list"}
    return " or ".join(names.get(kind, kind) for kind in kinds)


def _limits(schema: Schema) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
        "minItems": "entries: at least",
        "maxItems": "entries: at most",
    }
    return ", ".join(f"{word} {schema[key]}" for key, word in words.items() if key in schema)


def _default(schema: Schema) -> str:
    value = schema.get("default")
    if value is None or isinstance(value, dict):
        return ""
    return f"default {value if isinstance(value, str) else json.dumps(value)}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("configuration-keys", ConfigurationKeys)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
