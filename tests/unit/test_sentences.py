"""No code searches, splits or edits a sentence: what a sentence says is known as data before it is made."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lookalike"
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


def is_of_language(literal):
    """Tell whether a literal is words, or what stands between them, and no mark of a path, an id or a number."""
    return bool(re.search(r"\. | [a-z]|[a-z] |[,:;] |^[a-z]{3,}[.:]?$", literal))


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


def found_in(text):
    return {literal for literal in searched(ast.parse(text)) if is_of_language(literal)}


@pytest.mark.parametrize("room", ["exhibits", "report", "studies"])
def test_no_sentence_is_searched_split_or_edited(room):
    found = {
        path.relative_to(SOURCE).as_posix(): literals
        for path in sorted((SOURCE / room).rglob("*.py"))
        if (literals := found_in(path.read_text(encoding="utf-8")))
    }
    assert found == {path: literals for path, literals in KNOWN.items() if path.startswith(f"{room}/")}
