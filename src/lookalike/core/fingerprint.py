"""Which code a result depends on, as a short hash: a parameter of every job, which runs again where it has changed.

A hash of syntax trees leaves out what no result can depend on: comments, docstrings, and the layout of lines.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import os
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_text

PACKAGE = Path(__file__).parents[1]
KEPT = Path(".snakemake", "code")
"""What modules were read as, by their content: parsing all of them takes a second, for every job once more."""
LEFT_OUT = {"learners/registry.py", "core/job_log.py"}
"""Modules that change no result: the table of learners, which rules name one by one, and the log of a job."""
SETTINGS = re.compile(r"core/settings/.*|studies/[a-z]+/settings\.py")
"""Models of settings change none either: what they hold reaches a job complete, as parameters."""
_READER = f"{sys.version}\n".encode() + Path(__file__).read_bytes()  # what a tree depends on besides its source


def fingerprint(*modules: str | os.PathLike[str], package: Path = PACKAGE) -> str:
    """Hash modules (``"learners/oasis.py"``, or a script's absolute path) and all that they import at any depth.

    A file of settings among them counts by its text.
    """
    hashes = sorted(imported_modules(*modules, package=package).values())
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


def kernels_fingerprint(package: Path = PACKAGE) -> str:
    """Hash every module that compiles a kernel, to name numba's cache by: it misses edits of a kernel's callees."""
    return fingerprint(*(path for path in package.rglob("*.py") if b"core.kernels import" in path.read_bytes()))


def imported_modules(*modules: str | os.PathLike[str], package: Path = PACKAGE) -> dict[Path, str]:
    """Hash the files of some modules and of every module that they import; nothing is executed to find them."""
    found: dict[Path, str] = {}
    waiting = [package / module for module in modules]
    for path in waiting:
        if not path.is_file():
            raise LookalikeError(f"there is no module {path}; a rule names it as the code behind its result")
    while waiting:
        path = waiting.pop()
        if path not in found:
            status = path.stat()
            found[path], imports = _parsed(path, package, (status.st_mtime_ns, status.st_size))
            waiting += imports
    return found


@cache
def _parsed(path: Path, package: Path, _edited: tuple[int, int]) -> tuple[str, list[Path]]:
    """Hash of a file's syntax tree, and the files that it imports, which are kept by the file's content."""
    source = path.read_bytes()
    kept = KEPT / hashlib.sha256(_READER + source).hexdigest()
    try:
        digest, *imports = kept.read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        digest, imports = _read(source, path)
        if KEPT.parent.is_dir():
            with suppress(LookalikeError):
                write_text(" ".join([digest, *imports]), kept)
    # no module imports another through an `__init__`, which is why those do not count
    counted = (package / inside for inside in imports if inside not in LEFT_OUT and not SETTINGS.fullmatch(inside))
    return digest, [file for file in counted if file.is_file()]


def _read(source: bytes, path: Path) -> tuple[str, list[str]]:
    """Hash of a syntax tree, or of a file that is no module, and the paths that its imports may be."""
    if path.suffix != ".py":
        return hashlib.sha256(source).hexdigest(), []
    code = _Code()
    gc.disable()  # a tree holds no garbage, and looking for it takes longer than parsing
    try:
        text = ast.dump(code.visit(ast.parse(source, filename=str(path))))
    finally:
        gc.enable()
    inside = ("/".join(name.split(".")[1:]) + ".py" for name in code.imports if name.startswith(f"{PACKAGE.name}."))
    return hashlib.sha256(text.encode()).hexdigest(), sorted(inside)


class _Code(ast.NodeTransformer):
    """Takes docstrings and what is for type checkers alone out of a tree, and notes which modules it may import."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_docstring = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_docstring else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST:
        self.imports.update(alias.name for alias in node.names)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        # of `from a import b` both a and a.b may be modules
        self.imports.update([str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)])
        return node
