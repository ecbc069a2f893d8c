"""Every notebook runs from top to bottom on the tiny results, and shows what it is for."""

import os
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from project import ROOT

from lookalike.data.painted_categories import PaintedCategories

pytestmark = pytest.mark.workflow

OF_PAPERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*_2*.ipynb"))
TIMEOUT = 300
"""Seconds a cell may take: kernels may have to be compiled first, on a machine that does other things too."""


class Executed(dict):
    """The outputs of a notebook's cells, by the cells' names."""

    def text(self, cell, streams=("stdout", "stderr")):
        return "".join(output.text for output in self[cell] if output.get("name") in streams)

    def displayed(self, cell, kind="text/html"):
        return [output.data[kind] for output in self[cell] if kind in output.get("data", {})]

    def html(self, cell):
        (html,) = self.displayed(cell)
        return html


@pytest.fixture
def execute(tmp_path):
    """Run a notebook in an empty folder; a cell that fails is an error that shows it."""
    with tempfile.TemporaryDirectory(prefix="nb") as sockets:  # their paths must be short

        def run(name, **variables):
            notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
            manager = AsyncKernelManager(transport="ipc", connection_file=str(Path(sockets) / "kernel.json"))
            work = tmp_path / "work"
            work.mkdir(exist_ok=True)
            environment = os.environ | {"IPYTHONDIR": str(tmp_path / "ipython")}
            environment |= {key: str(value) for key, value in variables.items()}
            client = NotebookClient(notebook, km=manager, timeout=TIMEOUT, resources={"metadata": {"path": str(work)}})
            client.execute(env=environment)
            assert not list(work.iterdir()), "a notebook writes nothing into the folder that it runs in"
            return Executed({cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"})

        yield run


def numbers(text):
    return [float(number) for number in re.findall(r"\d\.?\d*e[-+]\d+", text)]


# cells that do an algorithm's steps by hand and print how far the learner is from them
BY_HAND = {"oasis_jmlr_2010": ["step-by-hand"], "oasis_2009_draft": ["steps"]}


# painted landmarks stand in no table of SOML, and the tiny run has no others
@pytest.mark.parametrize("name", [name for name in OF_PAPERS if name != "soml_aaai_2014"])
def test_a_papers_notebook_shows_its_exhibits(execute, tiny_demo, name):
    done = execute(name, LOOKALIKE_RESULTS=tiny_demo.folder / "results")
    assert not "".join(done.text(cell, ["stderr"]) for cell in done)
    assert "synthetic" in done.html("setup")
    pieces = [done.html(cell) for cell in done if cell.startswith("show-")]
    marks = ("data:image/png;base64,", "<table", "is not among the results")
    drawn, tables, missing = (sum(mark in html for html in pieces) for mark in marks)
    assert drawn + tables >= len(pieces) - missing > len(pieces) / 2
    assert drawn
    assert tables or name == "oasis_nips_2009"
    assert len(done.displayed("question-drawn", "image/png")) == 1
    assert "Primary: " in done.html("claims")
    for cell in done:
        assert all(difference < 1e-6 for difference in numbers(done.text(cell))), done.text(cell)
    assert all(numbers(done.text(cell)) for cell in BY_HAND.get(name, ()))
    if name == "oasis_jmlr_2010":
        assert "loss 1.400 -> 0.400" in done.text("step-by-hand")
        assert ("<td" in done.html("show-table4"), marks[0] in done.html("show-fig6")) == (True, True)
    if name == "deep_ranking_cvpr_2014":
        assert "not run" in done.html("claims")  # the tiny run's triplets are painted and decide nothing
        assert "snakemake --cores 2 triplets" in done.html("claims")
        assert "make demo" not in done.text("hinge") or find_spec("torch") is None


def test_without_results_it_says_how_to_get_them(execute, tmp_path):
    done = execute("oasis_nips_2009", LOOKALIKE_RESULTS=tmp_path / "nowhere")
    for cell in ("setup", "show-table1", "show-fig1a", "show-fig1b", "claims"):
        assert "make demo" in done.html(cell)
    assert "make demo" in done.text("question-drawn")
    assert len(done.displayed("dual", "image/png")) == 1


def test_own_images_shows_neighbours(execute, tmp_path):
    images = tmp_path / "images"
    recipe = PaintedCategories(classes=3, images_per_class=12, width=160, height=128, difficulty=0.2, clutter_images=0)
    recipe.write_images(images)
    before = sorted(images.rglob("*"))
    done = execute("your_own_images", LOOKALIKE_IMAGES=images)
    assert "map" in done.html("evaluate")
    assert [len(done.displayed(f"{step}-drawn", "image/png")) for step in ("evaluate", "rank")] == [1, 1]
    assert "mine.lookalike" in done.text("save")
    assert "synthetic images stand in" not in done.text("setup")
    assert sorted(images.rglob("*")) == before, "nothing is written beside the images"
