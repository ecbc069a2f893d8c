"""The notebooks as they lie in git: nothing of a run is in them, and they name only exhibits that there are."""

import re

import nbformat
import pytest
from project import ROOT

from lookalike.exhibits.registry import PAPERS
from lookalike.studies.rooms import all_exhibits

FOLDER = ROOT / "notebooks"
NOTEBOOKS = {
    "oasis_2009_draft": "oasis-2009-draft",
    "oasis_nips_2009": "oasis-nips-2009",
    "oasis_jmlr_2010": "oasis-jmlr-2010",
    "soml_aaai_2014": "soml-aaai-2014",
    "deep_ranking_cvpr_2014": "deep-ranking-cvpr-2014",
}
FILES = sorted(FOLDER.glob("*.ipynb"))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def calls(path, function):
    """First argument of every call of a function or method in the code of a notebook, a text."""
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return re.findall(rf'\b{function}\("([^"]+)"', code)


def test_there_is_one_for_each_paper_and_one_for_own_images():
    assert {path.stem for path in FILES} == {*NOTEBOOKS, "your_own_images"}
    assert set(NOTEBOOKS.values()) == set(PAPERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_of_a_run_is_in_it_and_it_reads_results_through_the_package_alone(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.read_text(encoding="utf-8") == nbformat.writes(notebook, indent=1) + "\n"
    assert notebook.metadata == METADATA
    assert all(cell.metadata == {} for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)
    names = [cell.id for cell in notebook.cells]
    assert len(set(names)) == len(names)
    assert not [name for name in names if re.fullmatch("[0-9a-f]{8}", name)], "names that stay, none drawn at random"
    assert calls(path, "(?:open|read_parquet|read_csv)") == []


@pytest.mark.parametrize(("name", "paper"), NOTEBOOKS.items())
def test_it_shows_every_exhibit_of_its_paper(name, paper):
    path = FOLDER / f"{name}.ipynb"
    assert calls(path, "PaperReader") == [paper]
    assert sorted(calls(path, "show")) == sorted(own.name for own in all_exhibits().values() if own.paper == paper)
