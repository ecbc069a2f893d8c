"""The checks of `make lint`, and how code names things, so that one command says whether everything is in order."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parents[1]
PYTHON_TOOLS = Path(sys.executable).parent
CHECKS = ("ruff check .", "ruff format --check .", "mypy", "snakefmt --check Snakefile workflow", "snakemake --lint")


@pytest.mark.parametrize("check", CHECKS)
def test_check_is_clean(check):
    tool, *arguments = check.split()
    command = [str(PYTHON_TOOLS / tool), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


FOLDERS = ("src", "tests", "workflow", "docs", "benchmarks")
SAYS_NOTHING = re.compile("of|one|(told|made|shown)(_.*)?")
"""Names that do not say what they hold."""
PUBLIC = {"made_by", "made_with_"}
"""Names of 1.0.0 that users and model files have."""


def names_in(tree):
    """Yield the names that code gives, each with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.MatchAs(name=str(name)):
                yield node.lineno, name


def docstrings_in(tree):
    """Yield docstrings of functions, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.lineno, ast.get_docstring(node) or ""


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_are_nouns_and_docstrings_have_a_verb(folder):
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        tree, place = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
        names = [(line, name) for line, name in names_in(tree) if SAYS_NOTHING.fullmatch(name)]
        found += [f"{place}:{line} {name}" for line, name in names if name not in PUBLIC]
        found += [f"{place}:{line} {text[:40]}" for line, text in docstrings_in(tree) if re.match("What|Whether", text)]
    assert not found, "\n".join(found)


METHODS = {"startswith", "endswith", "removeprefix", "removesuffix", "find", "rfind", "index", "count", "contains"}
METHODS |= {"partition", "rpartition", "split", "rsplit", "replace", "sub", "search", "match", "fullmatch", "compile"}
"""Methods of strings, of columns of strings and of regular expressions."""
TEXTS = {"title", "note", "text", "caption", "reason", "evidence", "words", "sentence", "problem", "message", "claim"}
"""Names of variables with sentences."""
KNOWN = {
    # a cell of claims.csv, and an element of an SVG
    "exhibits/claims.py": {": "},
    "report/pictures.py": {'<circle cx="[\\d.]+" cy="[\\d.]+" r="3" fill="transparent"><title>[^<]*</title></circle>'},
    # a note of reference-values.csv
    "exhibits/tables.py": {"converge"},
}
"""Literals that are searched for and are no part of a sentence of ours."""
OF_LANGUAGE = re.compile(r"\. | [a-z]|[a-z] |[,:;] |^[a-z]{3,}[.:]?$")
"""Words, or what stands between them, and no mark of a path, an id or a number."""


def searched(tree):
    """Yield what the calls and comparisons of some code search for."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value=str(literal)), *_]):
                if name in METHODS:
                    yield literal
            case ast.Compare(left=ast.Constant(value=str(literal)), ops=[ast.In() | ast.NotIn()], comparators=[text]):
                if {*re.findall(r"\w+", ast.unparse(text))[-1:]} & TEXTS:
                    yield literal


@pytest.mark.parametrize("room", ["exhibits", "report", "studies"])
def test_no_sentence_is_searched_split_or_edited(room):
    found = {}
    for path in (ROOT / "src/lookalike" / room).rglob("*.py"):
        literals = {literal for literal in searched(ast.parse(path.read_text())) if OF_LANGUAGE.search(literal)}
        found |= {path.relative_to(ROOT / "src/lookalike").as_posix(): literals} if literals else {}
    assert found == {path: literals for path, literals in KNOWN.items() if path.startswith(room)}


def test_the_formatter_decides_but_for_a_few_lines():
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    assert sum(path.read_text(encoding="utf-8").count("# fmt: " + "skip") for path in paths) <= 20
