"""Which code a result depends on, as a short hash: the workflow gives it to every job as a parameter.

Snakemake compares parameters and runs a job again where one has changed. A hash of syntax trees leaves out what no
result can depend on: comments, docstrings, and the layout of lines.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing

PACKAGE = Path(__file__).parents[1]
KEPT = Path(".snakemake", "code")
"""What modules were read as, by their content: parsing all of them takes a second, for every job once more."""
LEFT_OUT = {"learners/registry.py", "core/job_log.py"}
"""Modules that change no result: the table of the learners' names, which are hashed where a rule names them, so that a
new one changes no old hash; and the log of a job."""


def fingerprint(*modules: str | os.PathLike[str], package: Path = PACKAGE) -> str:
    """Hash some modules and every module of the package that they import, at any depth and inside functions too.

    Imports are read from the source and nothing is executed. Those under ``TYPE_CHECKING`` do not count, neither do
    the ``__init__`` files of packages, through which no module imports another.

    Modules are paths inside the package, such as ``"learners/oasis.py"``, or a script's absolute path; one that is not
    there is a `LookalikeError`.
    """
    hashes = sorted(_parsed(path, package, _version(path))[0] for path in imported_modules(*modules, package=package))
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


def kernels_fingerprint(package: Path = PACKAGE) -> str:
    """Hash every module that compiles a kernel: numba does not notice an edited kernel that another module calls.

    Who sets ``NUMBA_CACHE_DIR`` to a folder of this name never runs an old one.
    """
    return fingerprint(*(path for path in package.rglob("*.py") if b"core.kernels import" in path.read_bytes()))


def imported_modules(*modules: str | os.PathLike[str], package: Path = PACKAGE) -> set[Path]:
    """Files of some modules and of every module that they import; parameters and errors as of `fingerprint`."""
    found: set[Path] = set()
    waiting = [package / module for module in modules]
    for path in waiting:
        if not path.is_file():
            raise LookalikeError(f"there is no module {path}; a rule names it as the code behind its result")
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _parsed(path, package, _version(path))[1]
    return found


def _version(path: Path) -> tuple[int, int]:
    """What tells a file that was edited from the one that was parsed."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@cache
def _parsed(path: Path, package: Path, _edited: tuple[int, int]) -> tuple[str, list[Path]]:
    """Hash of a file's syntax tree, and the files that it imports, which are kept by the file's content."""
    source = path.read_bytes()
    kept = KEPT / hashlib.sha256(_reader() + source).hexdigest()
    try:
        digest, *imports = kept.read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        digest, imports = _read(source, path)
        if KEPT.parent.is_dir():
            with replacing(kept) as part:
                part.write_text(" ".join([digest, *imports]), encoding="utf-8")
    files = [package / inside for inside in imports if inside not in LEFT_OUT]
    return digest, [file for file in files if file.is_file()]


@cache
def _reader() -> bytes:
    """What reads a tree besides its source: this module and the version of Python."""
    return f"{sys.version}\n".encode() + Path(__file__).read_bytes()


def _read(source: bytes, path: Path) -> tuple[str, list[str]]:
    """Hash of a syntax tree, and the paths inside the package that its imports may be."""
    names: set[str] = set()
    words: list[str] = []
    was_enabled = gc.isenabled()
    gc.disable()  # a tree holds no garbage, and looking for it takes longer than parsing
    try:
        _visit(ast.parse(source, filename=str(path)), words, names)
    finally:
        if was_enabled:
            gc.enable()
    inside = ("/".join(name.split(".")[1:]) + ".py" for name in names if name.startswith(f"{PACKAGE.name}."))
    return hashlib.sha256(" ".join(words).encode()).hexdigest(), sorted(inside)


def _visit(node: ast.AST, words: list[str], imports: set[str]) -> None:
    """Write down a tree without its docstrings, and the dotted names that may be modules which it imports."""
    kind = type(node)
    if kind in _LOOKED_INTO:
        if _changes_nothing(node):
            return
        imports.update(_imported(node))
    words.append(kind.__name__)
    for field in kind._fields:
        value = getattr(node, field)
        for part in value if type(value) is list else (value,):
            if isinstance(part, ast.AST):
                _visit(part, words, imports)
            else:
                words.append(repr(part))
        words.append(";")  # where one field ends and the next begins


_LOOKED_INTO = {ast.Expr, ast.If, ast.Import, ast.ImportFrom}


def _changes_nothing(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or for type checkers alone."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def _imported(node: ast.AST) -> list[str]:
    """Dotted names that may be modules: of ``from a import b`` both a and a.b."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names):
            return [module, *(f"{module}.{alias.name}" for alias in names)]
    return []
