"""Which source files a result depends on, so that editing one reruns exactly the rules whose results it can change.

Snakemake watches a rule's script, not the package behind it. A rule therefore lists `code_dependencies` of the module
that defines its result among its inputs.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from lookalike.core.errors import LookalikeError

PACKAGE = "lookalike"


def code_dependencies(module: str, root: Path | None = None) -> list[str]:
    """Return the files of a module and of every package module that it imports, transitively.

    Imports are read from the source (also those inside functions), nothing is executed.

    Parameters
    ----------
    module : str
        Path of the module inside the package, such as ``"learners/oasis.py"``.
    root : Path, optional
        Folder of the package; the one that runs by default.

    Returns
    -------
    list of str
        Absolute paths, sorted.

    Raises
    ------
    LookalikeError
        When the package has no such module.
    """
    root = root or Path(__file__).parents[1]
    start = root / module
    if not start.is_file():
        raise LookalikeError(f"the package has no module {module!r}; a rule names it as the code behind its result")
    found: set[Path] = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting.extend(_imported(path, root, path.stat().st_mtime_ns))
    return sorted(str(path) for path in found)


@cache
def _imported(path: Path, root: Path, _modified: int) -> tuple[Path, ...]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path, root)
            names.append(base)
            names.extend(f"{base}.{alias.name}" for alias in node.names)
    modules = {file for name in names if (file := _file_of(name, root)) is not None}
    return tuple(sorted(modules))


def _absolute(node: ast.ImportFrom, path: Path, root: Path) -> str:
    if node.level == 0:
        return node.module or ""
    package = (PACKAGE, *path.relative_to(root).parts[:-1])
    parts = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
    return ".".join(part for part in parts if part)


def _file_of(name: str, root: Path) -> Path | None:
    parts = name.split(".")
    if parts[0] != PACKAGE or len(parts) == 1:
        return None
    path = root.joinpath(*parts[1:])
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
