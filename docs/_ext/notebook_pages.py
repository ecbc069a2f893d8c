"""Notebooks with their outputs: a page that opens with a link to a notebook becomes that notebook.

In git notebooks have no outputs. Where there are results, a notebook is run while the site is built.
Elsewhere its page says which command makes results.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
LONG = 9
"""Lines of code from which on a cell is folded."""
FENCE = "`" * 8
NOT_RUN = (
    ":::{note}\nThis site was built without results, so the outputs are missing. `make demo` makes results, and the "
    "next build shows the outputs.\n:::"
)


def fill_in(app: Sphinx, docname: str, content: list[str]) -> None:
    """Put the notebook that a page names in place of its text."""
    named = re.match(r"\[[^]]*\]\(\.\./\.\./notebooks/(\w+)\.ipynb\)", content[0])
    if named is None:
        return
    path = ROOT / "notebooks" / f"{named[1]}.ipynb"
    results = Path(app.config.lookalike_results).resolve()
    for read in (path, results / "report" / "complete.txt"):
        app.env.note_dependency(str(read))
    notebook = nbformat.read(path, as_version=4)
    ran = any(results.glob("*/exhibits/*/*.json"))
    if ran:
        execute(notebook, results)
    first, *others = (part for cell in notebook.cells for part in parts(cell))
    content[0] = "\n\n".join([first, *([] if ran else [NOT_RUN]), *others, ""])


def execute(notebook: Any, results: Path) -> None:
    """Run all cells with this interpreter; a cell that fails ends the build with its error."""
    with tempfile.TemporaryDirectory(prefix="nb") as folder:  # paths of sockets must be short
        manager = AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),  # that of this interpreter, whatever is installed
            transport="ipc",
            connection_file=f"{folder}/kernel.json",
        )
        client = NotebookClient(notebook, km=manager, timeout=600, resources={"metadata": {"path": folder}})
        paths = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
        client.execute(env=os.environ | {"LOOKALIKE_RESULTS": str(results), "PYTHONPATH": paths}, cleanup_kc=True)


def parts(cell: Any) -> Iterator[str]:
    """Pieces of MyST for one cell: its text, or its code and what this showed."""
    if cell.cell_type == "markdown":
        yield linked(cell.source)
        return
    code = f"```python\n{cell.source}\n```"
    yield f"::::{{dropdown}} Code\n{code}\n::::" if cell.source.count("\n") >= LONG else code
    for output in cell.outputs:
        if output.output_type == "stream":
            yield f"{FENCE}text\n{output.text.rstrip()}\n{FENCE}"
        elif "text/html" in output.data:
            yield raw(output.data["text/html"])
        elif "image/png" in output.data:
            yield raw(
                f'<img alt="Drawn by the code above" src="data:image/png;base64,{output.data["image/png"].strip()}">'
            )
        else:
            yield f"{FENCE}text\n{output.data['text/plain']}\n{FENCE}"


def raw(html: str) -> str:
    """HTML as an output of a cell."""
    return f'{FENCE}{{raw}} html\n<div class="notebook-output">\n{html}\n</div>\n{FENCE}'


def linked(text: str) -> str:
    """Text whose names of other notebooks and of pages are links."""
    text = re.sub(r"`(\w+\.ipynb)`", lambda named: f"[`{named[1]}`]({named[1].replace('.ipynb', '.md')})", text)
    return re.sub(r"`docs/([\w/-]+\.md)`", r"[`docs/\1`](../\1)", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill pages in as they are read."""
    app.add_config_value("lookalike_results", "", "env")
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
