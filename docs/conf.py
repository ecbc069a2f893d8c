"""Settings of the documentation site; `sphinx-build -W --keep-going -n -b html docs results/docs` makes it, offline."""

from __future__ import annotations

import logging
import re
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

from sphinx.application import Sphinx  # noqa: E402

import lookalike  # noqa: E402 - found by the line above, installed or not

for talkative in ("faiss", "traitlets"):
    logging.getLogger(talkative).setLevel(logging.ERROR)

project = "lookalike"
author = "The lookalike developers"
copyright = f"2026, {author}"
release = version = lookalike.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    # our own, in _ext
    "api_pages",
    "mathml",
    "notebook_pages",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_ext", "_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

html_theme = "furo"
html_title = "lookalike"
html_static_path = ["_static"]
html_css_files = ["lookalike.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# notebooks are run on these results, where there are any
lookalike_results = str(HERE.parent / "results")

# types stand in the sections of the docstrings, which are numpydoc's; in signatures they would be said twice
autodoc_typehints = "none"
autodoc_use_type_comments = False  # nobody writes them, and each function would be parsed once more for one
autodoc_member_order = "bysource"
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]

# names of other projects, whose lists of names would have to be fetched
nitpick_ignore_regex = [
    (r"py:.*", r"(sklearn|numpy|scipy|pandas|torch|pydantic|argparse|abc|enum|typing|collections|pathlib|logging)\..*"),
    (r"py:.*", r"(matplotlib|requests|contextlib)\..*"),
    # rooms that have no pages
    (r"py:class", r"lookalike\.(core|data)\..*"),
    # bases that share code and have no page of their own
    (r"py:class", r"(lookalike\..*\.)?_\w+"),
    # bases that Python itself defines
    (r"py:class", r"(object|ValueError|RuntimeError|TypeError|Exception|Protocol|Mapping|NamedTuple|ABC)"),
]


def add_contents(app: Sphinx, docname: str, content: list[str]) -> None:
    """Make the pages that an index lists, as links, its contents in the site's menu."""
    if docname.endswith("index"):
        listed = re.findall(r"^- \[.*?\]\((.*?)\.md\)", content[0], flags=re.MULTILINE)
        pages = "\n".join(listed) or ":glob:\n:maxdepth: 1\nlookalike*"
        hidden = ":hidden:\n" if listed else ""
        content[0] += f"\n```{{toctree}}\n{hidden}{pages}\n```\n"


def setup(app: Sphinx) -> None:
    """Fill in contents as pages are read."""
    app.connect("source-read", add_contents)
