"""Reads workflow/rules/*.smk as text: which rules there are and what each needs and makes, without running anything.

A rule's directives (``input:``, ``output:`` and so on) hold the arguments of a call, so that Python's own parser reads
them; only the lines that name rules and directives are Snakemake's. Names like ``RESULTS``, which stand for text, are
put in.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DIRECTIVES = (
    "name",
    "input",
    "output",
    "log",
    "benchmark",
    "wildcard_constraints",
    "conda",
    "container",
    "threads",
    "resources",
    "retries",
    "priority",
    "params",
    "shell",
    "script",
    "run",
)
_RULE = re.compile(r"^( *)rule(?: (\w+))?:\s*$")
_DIRECTIVE = re.compile(rf"^( *)({'|'.join(DIRECTIVES)}):(.*)$")


@dataclass(frozen=True)
class Rule:
    """A rule as it is written.

    Attributes
    ----------
    name : str
        Its name; of rules that a loop makes the pattern of their names.
    comment : str
        The comment above it, one paragraph.
    directives : dict of str to list of (str, str)
        Directive to its arguments, a name (empty for a positional one) and what it says.
    """

    name: str
    comment: str
    directives: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class RuleFile:
    """A file of rules: its docstring and its rules in order."""

    path: Path
    docstring: str
    rules: list[Rule]


def read_rules(folder: Path) -> list[RuleFile]:
    """Read every file of a folder that has rules.

    Raises
    ------
    ValueError
        When a file has no docstring, or a directive that Python cannot read.
    """
    paths = sorted(folder.glob("*.smk"))
    constants = {name: value for path in paths for name, value in text_constants(path).items()}
    files = [RuleFile(path, docstring(path), list(rules_of(path, constants))) for path in paths]
    return [file for file in files if file.rules]


def docstring(path: Path) -> str:
    """The text that a file opens with."""
    found = re.match(r'\s*"""(.*?)"""', path.read_text(encoding="utf-8"), flags=re.DOTALL)
    if found is None:
        raise ValueError(f"{path.name} does not open with a docstring that says what it needs and makes")
    return textwrap.dedent(found[1]).strip()


def text_constants(path: Path) -> dict[str, str]:
    """Names of a file that stand for text, such as RESULTS, with the text."""
    constants: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        found = re.match(r"^([A-Z_]+) = (f?\".*\")$", line)
        if found:
            constants[found[1]] = _said(ast.parse(found[2], mode="eval").body, constants)
    return constants


def rules_of(path: Path, constants: dict[str, str]) -> Iterator[Rule]:
    """Yield the rules of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        found = _RULE.match(line)
        if found is None:
            continue
        body = list(_block(lines, number + 1, len(found[1])))
        directives = {name: _arguments(name, text, path, constants) for name, text in _directives(body)}
        name = found[2] or _said_name(directives.pop("name"))
        yield Rule(name, _comment_above(lines, number), directives)


def _block(lines: list[str], start: int, indent: int) -> Iterator[str]:
    """The lines after a rule's first that are indented more than it."""
    for line in lines[start:]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return
        yield line


def _directives(body: list[str]) -> Iterator[tuple[str, str]]:
    """Names of the directives of a rule, and their text."""
    starts = [(i, _DIRECTIVE.match(line)) for i, line in enumerate(body)]
    indent = min(len(found[1]) for _, found in starts if found)
    starts = [(i, found) for i, found in starts if found and len(found[1]) == indent]
    ends = [i for i, _ in starts[1:]] + [len(body)]
    for (i, found), end in zip(starts, ends, strict=True):
        assert found is not None
        yield found[2], "\n".join([found[3], *body[i + 1 : end]])


def _arguments(name: str, text: str, path: Path, constants: dict[str, str]) -> list[tuple[str, str]]:
    try:
        call = ast.parse(f"f({text}\n)", mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{path.name}: {name} cannot be read: {error}") from error
    assert isinstance(call, ast.Call)
    said = [("", _said(value, constants)) for value in call.args]
    return said + [(word.arg or "", _said(word.value, constants)) for word in call.keywords]


def _said(value: ast.expr, constants: dict[str, str]) -> str:
    """Return what an argument says: text with its constants put in, or the expression as it is written."""
    if isinstance(value, ast.Constant):
        return str(value.value)
    if isinstance(value, ast.JoinedStr):
        return "".join(_part(part, constants) for part in value.values)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("directory", "temp"):
        return f"{_said(value.args[0], constants)} ({value.func.id})"
    if isinstance(value, ast.Lambda):
        value = value.body
    return " ".join(ast.unparse(_with_constants(value, constants)).split())


def _part(part: ast.expr, constants: dict[str, str]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    if isinstance(part.value, ast.Name):
        return constants.get(part.value.id, f"{{{part.value.id}}}")
    return f"{{{ast.unparse(part.value)}}}"


def _with_constants(value: ast.expr, constants: dict[str, str]) -> ast.expr:
    """An expression in which texts have their constants put in."""

    class PutIn(ast.NodeTransformer):
        def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
            return ast.Constant(_said(node, constants))

    changed: ast.expr = PutIn().visit(value)
    return changed


def _said_name(arguments: list[tuple[str, str]]) -> str:
    return arguments[0][1]


def _comment_above(lines: list[str], number: int) -> str:
    """The comment that stands directly above a line, over blank lines and the loops that a rule stands in."""
    i = number - 1
    while i >= 0 and (not lines[i].strip() or lines[i].strip().startswith("for ")):
        i -= 1
    comment: list[str] = []
    while i >= 0 and lines[i].strip().startswith("#"):
        comment.insert(0, lines[i].strip().removeprefix("#").strip())
        i -= 1
    return " ".join(comment)
