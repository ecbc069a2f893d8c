"""Which way imports run: a room imports from rooms below it, no module in a circle, no study another study."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter

import pytest
from project import ROOT

import lookalike
from lookalike.exhibits import registry
from lookalike.learners.registry import MODULES

PACKAGE = ROOT / "src" / "lookalike"
ROOMS = ("app", "report", "studies", "deep", "exhibits", "learners", "ranking", "data", "features", "core")
"""From top to bottom."""
SAMPLER = "deep.relevance_triplets"
"""What the fine-grained study needs without networks."""
APP = ("cli", "__main__", "__init__")
"""What of the app is not in its folder."""


def modules():
    """Dotted name, without the package's, to file."""
    files = {path.relative_to(PACKAGE).with_suffix(""): path for path in PACKAGE.rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in files.items()}


def room_of(module):
    first = module.split(".")[0]
    return "app" if first in APP else first


def imported(path):
    """Names that a file imports, in functions too, but not for types alone."""
    text = re.sub(r"^if TYPE_CHECKING:\n(    .*\n|\n)+", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            yield from (prefix + name.name for name in node.names)


@cache
def arrows():
    """Pairs of a module and one that it imports."""
    known, found = modules(), set()
    for name, path in known.items():
        for target in imported(path):
            whole = target.removeprefix("lookalike.")
            found.add((name, whole if whole in known else whole.rpartition(".")[0]))
    return sorted((name, target) for name, target in found if name != target in known)


def test_imports_run_downward_and_no_study_imports_another():
    for source, target in arrows():
        assert ROOMS.index(room_of(source)) <= ROOMS.index(room_of(target)), f"{source} imports {target}"
        studies = {re.match(r"studies\.(\w+)\.", name) for name in (source, target)} - {None}
        assert len({study[1] for study in studies}) < 2, f"{source} imports {target}"


def test_no_module_imports_itself_through_others():
    order = TopologicalSorter()
    for source, target in arrows():
        order.add(source, target)
    order.prepare()  # a circle is an error that shows it


def test_torch_is_imported_by_the_networks_alone_these_only_when_they_are_asked_for_and_snakemake_by_none():
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        every = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not [node for node in every if "snakemake" in ast.unparse(node)], path
        if room_of(name) == "deep" and name != SAMPLER:
            continue
        assert not [node for node in every if "torch" in ast.unparse(node)], path
        heavy = [ast.unparse(node) for node in every if node in tree.body and "lookalike.deep" in ast.unparse(node)]
        assert all(f"lookalike.{SAMPLER}" in text for text in heavy), path


LACKING = """
import sys
class Lacking:
    def find_spec(name, *_):
        if name.partition(".")[0] in {}:
            raise ModuleNotFoundError(name + " is not there", name=name)
sys.meta_path.insert(0, Lacking)
"""
HEAVY = {"matplotlib", "sklearn", "numba", "torch"}
LISTS = f"from lookalike.exhibits.registry import exhibits_of\nfor room in {registry.ROOMS!r}: exhibits_of(room)"
SAMPLING = f"import lookalike.{SAMPLER} as sampler; sampler.warm_up()"
LEARNING = """
import io
import lookalike, lookalike.core.errors
from lookalike.learners.registry import MODULES, learner_class
assert not {"numba", "scipy", "sklearn"} & set(sys.modules), "importing the package imports no learner"
import numpy as np
import scipy.sparse as sp
from lookalike.deep import relevance_triplets
from lookalike.learners import OASIS, curve
X, y = np.eye(6) + 0.1, np.arange(6) % 2
for form in (np.asarray, sp.csr_array):
    model = OASIS(n_steps=50, random_state=0).fit(form(X), y)
    assert lookalike.evaluate(model, form(X), labels=y)["map"].n_queries == 6
    model.save("model.lookalike")
    assert lookalike.load("model.lookalike").rank(form(X), form(X), k=2)[0].shape == (6, 2)
assert all(learner_class(name) for name in MODULES)
curve.SECONDS, sys.stderr = 0.0, io.StringIO()
OASIS(n_steps=50, random_state=0, verbose=1).fit(X, y)
assert "OASIS: 50 of 50" in sys.stderr.getvalue(), "lines stand in for tqdm's bar"
"""
OTHERS = {"pandas", "matplotlib", "cv2", "pydantic", "pyarrow", "tqdm", "requests", "yaml", "PIL", "torch", "typer"}
WITHOUT = [("import lookalike.studies.settings", HEAVY), (LISTS, HEAVY), (SAMPLING, {"torch"}), (LEARNING, OTHERS)]


@pytest.mark.parametrize(("code", "lacking"), WITHOUT)
def test_settings_lists_of_exhibits_the_sampler_and_learners_work_without_what_is_heavy(tmp_path, code, lacking):
    subprocess.run([sys.executable, "-c", LACKING.format(lacking) + code], check=True, cwd=tmp_path)


def test_the_package_lists_what_users_call_and_nothing_else():
    assert dir(lookalike) == sorted(["ImageSimilarity", "Similarity", "evaluate", "load", *MODULES])
    assert all(getattr(lookalike, name).__name__ == name for name in dir(lookalike))
    assert not hasattr(lookalike, "Nothing")


def test_names_that_scripts_import_exist():
    for script in (ROOT / "workflow" / "scripts").glob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.ImportFrom)]
        exec("\n".join(ast.unparse(node) for node in nodes if node.module.startswith("lookalike")), {})
