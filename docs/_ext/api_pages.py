"""A page for every public module that users import, written before each build, so that nobody lists new ones.

Public is what has no underscore in front, in the packages of `ROOMS`. The pages say `automodule` and nothing else; what
stands on them is the docstrings.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import GenericAlias
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

PACKAGE = "lookalike"
FOLDER = Path("reference/api")
ROOMS = ("app", "deep", "features", "learners", "ranking")
"""Packages that users import; the workflow alone uses the others."""
LEFT_OUT = ("cli", "commands")
"""Modules that are left out: the command line has a page of its own."""
SECTIONS = Config(
    # types are words, "array of shape (n, d)", and no names to link
    napoleon_use_param=False,
    napoleon_use_rtype=False,
    napoleon_custom_sections=[("Attributes", "params_style")],
)


def public_modules(package: str) -> Iterator[str]:
    """Public modules of a package, not those of its packages, by name."""
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not found.name.startswith("_") and not found.ispkg and found.name not in LEFT_OUT:
            yield f"{package}.{found.name}"
    if package == PACKAGE:
        yield "lookalike.core.errors"  # what users catch


def public_packages() -> list[str]:
    """The package itself and the public packages in it, at any depth."""
    found = pkgutil.walk_packages(importlib.import_module(PACKAGE).__path__, f"{PACKAGE}.")
    names = [part.name for part in found if part.ispkg and "._" not in part.name]
    return [PACKAGE, *(name for name in names if name.split(".")[1] in ROOMS)]


def module_page(module: str, elsewhere: set[str]) -> str:
    """The page of a module, without the names that stand on another module's page."""
    left_out = f"   :exclude-members: {', '.join(sorted(elsewhere))}\n" if elsewhere else ""
    return f"{_heading(module)}.. automodule:: {module}\n   :members:\n   :show-inheritance:\n{left_out}"


def handed_on(module: str) -> dict[str, str]:
    """Names that a module's list of public names hands on from other modules, with the names of those."""
    imported = importlib.import_module(module)
    homes = {name: getattr(getattr(imported, name), "__module__", module) for name in getattr(imported, "__all__", ())}
    return {name: home for name, home in homes.items() if home != module}


def package_page(package: str) -> str:
    """The page of a package: what it is for and which modules it has."""
    modules = "".join(f"   modules/{module}\n" for module in public_modules(package))
    return f"{_heading(package)}.. automodule:: {package}\n\n.. toctree::\n   :maxdepth: 1\n\n{modules}"


def write_pages(app: Sphinx) -> None:
    """Write the pages that changed, and remove those of modules that are gone."""
    folder = Path(app.srcdir) / FOLDER
    packages = public_packages()
    pages = {folder / f"{package}.rst": package_page(package) for package in packages}
    modules = [module for package in packages for module in public_modules(package)]
    documented: set[tuple[str, str]] = set()
    for module in modules:
        handed = set(handed_on(module).items())
        pages[folder / "modules" / f"{module}.rst"] = module_page(module, {name for name, _ in handed & documented})
        documented |= handed
    for old in folder.rglob("*.rst"):
        if old not in pages:
            old.unlink()
    (folder / "modules").mkdir(exist_ok=True)
    for page, text in pages.items():
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator to route metadata, and names of types such as tuples."""
    return True if (name.startswith("set_") and name.endswith("_request")) or isinstance(obj, GenericAlias) else None


def read_sections(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn the numpydoc sections of a docstring into reStructuredText, with the class that Sphinx has for it.

    Sphinx' own extension for it also takes the first words of a sentence about a constant, up to a colon, for its type.
    """
    if what not in ("data", "attribute", "property"):
        lines[:] = NumpyDocstring(list(lines), SECTIONS, app, what, name, obj, options).lines()
    take_literally(lines)


def take_literally(lines: list[str]) -> None:
    """Let bars and trailing underscores, |a - b| and w_, be what they are in a sentence; examples stay as they are."""
    example = False
    for number, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            parts = re.split(r"(``.*?``|`.*?`_?|:\w+:`.*?`)", line)
            parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", part.replace("|", r"\|")) for part in parts[::2]]
            lines[number] = "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages as soon as the builder is there."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", read_sections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _heading(name: str) -> str:
    return f"{name}\n{'=' * len(name)}\n\n"
