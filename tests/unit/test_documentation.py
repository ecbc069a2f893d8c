"""The documentation site builds strictly and is right, how-to pages do what they say, notebooks lie as they should."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from project import ROOT, copy_package, copy_project, own_settings, run_in
from snakemake.utils import update_config

from lookalike import learners
from lookalike.exhibits.claims import PREDICATES, claims_of
from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Outcome
from lookalike.learners.registry import MODULES
from lookalike.studies.rooms import all_exhibits, claim_rows
from lookalike.studies.settings import Settings, checked

DOCS = ROOT / "docs"
KEPT_RUNS = ROOT / "workflow/resources/runs"
PAGES = sorted(DOCS.rglob("*.md"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DOCUMENTS = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")), *PAGES]
SPHINX = "import json, sys; from sphinx.cmd.build import main; sys.exit(any([*map(main, json.loads(sys.argv[1]))]))"
"""Builds one after the other, in one process that imports the package once."""
CAPTIONED = re.compile(r"^In `(\S+)`:\n\n```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
"""Blocks below the name of a file, which are new files; a diff is an edit of a file that is there."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly without running a notebook, in half a minute; `make docs` writes all its pages."""
    work, built = tmp_path_factory.mktemp("work"), tmp_path_factory.mktemp("site")
    common = ["-n", "-q", "-d", work / "doctrees", "-D", "lookalike_results=none", DOCS]
    # every page is read and every link followed; written are those by hand and of the learners, as samples of the rest
    # (not strictly, because a search index of some pages only is a warning), and one with the menu, which takes long
    learners = (DOCS / f"reference/api/modules/lookalike.learners.{module}.rst" for module in MODULES.values())
    builds = [
        ["-b", "dummy", "-W", "--keep-going", *common, work / "nothing"],
        ["-b", "html", "-D", "html_theme=basic", *common, built, *PAGES, *learners],
        ["-b", "html", *common, built / "menu", DOCS / "index.md"],
    ]
    command = [sys.executable, "-c", SPHINX, json.dumps(builds, default=str)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "cannot be translated" not in done.stderr, "a formula is written only here"
    return built


def blocks_of(page, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def parts():
    """The module that writes the parts of pages."""
    return SimpleNamespace(**runpy.run_path(str(DOCS / "parts.py")))


def test_the_page_about_own_vectors_prints_what_it_shows(tmp_path):
    """All blocks run as one program; numbers may differ in the second digit on another processor."""
    program, expected = ("".join(blocks_of(DOCS / "how-to/compare-learners.md", kind)) for kind in ("python", "text"))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    numbers = ([*map(float, re.findall(r"[\d.]+", text))] for text in (done.stdout, expected))
    np.testing.assert_allclose(*numbers, atol=0.02)


def test_the_table_of_learners_says_what_each_learns_from():
    rows = re.findall(r"^([A-Z]\w+)  +(\w[\w, ]*?)  +\S", learners.__doc__, flags=re.MULTILINE)
    accepted = {name: set(learner.accepts) for name, learner in learners.LEARNERS.items()}
    assert {name: {*kinds.split(", ")} for name, kinds in rows} == accepted


def test_the_site_builds_strictly_and_needs_no_network(site):
    pages, address = list(site.rglob("*.html")), r"<(?:script|link|img)[^>]*(?:src|href)=\"(https?:[^\"]*)\""
    assert len(pages) > len(PAGES)  # an index and a search besides
    foreign = {page.name: re.findall(address, page.read_text(encoding="utf-8")) for page in pages}
    assert not any(foreign.values()), foreign


def test_pages_have_what_data_settings_and_code_say_now(parts):
    texts = {page.relative_to(ROOT): page.read_text() for page in parts.pages()}
    assert not [page for page, text in texts.items() if parts.page_with_parts(text) != text], "run `make pages`"


def test_numbers_come_from_kept_runs(parts, tmp_path):
    kept = Path(shutil.copytree(KEPT_RUNS, tmp_path / "runs"))
    run = json.loads((kept / "caltech20.json").read_text())
    first = {"rule": "scan_images", "jobs": 1, "cpu_seconds": 41.0, "seconds": 43.0, "peak_megabytes": 97}
    (kept / "caltech20.json").write_text(json.dumps(run | {"headline": "mAP  OASIS 12.3 %", "rules": [first]}))
    (kept / "landmarks11.json").unlink()
    for page, *words in (
        ("index.md", "OASIS 12.3 %"),
        ("how-to/full-runs.md", r"| scan\_images | 1 | 41 | 43 | 97 |"),
        ("reference/runs.md", "OASIS 12.3 %", "41 s of processor time in 1 jobs", "- 11 landmarks\n"),
    ):
        text = parts.page_with_parts((DOCS / page).read_text(), kept)
        assert [part for part in words if part not in text] == []


def test_where_soml_comes_above_oasis_is_as_the_kept_run_has_it():
    points = pd.read_csv(KEPT_RUNS / "landmarks11-words-lead.csv")
    printed = points.query("constants == 'printed'")
    few, every = printed.query("n_features < 800"), printed.query("features == 'all'")
    assert (len(few), len(every), few["high"].max() < 0) == (18, 6, True)
    assert every["low"].max() < 0 < every["high"].min()
    above = every.loc[every["mean"] > 0, ["method", "words"]]
    assert above.to_numpy().tolist() == [["soml-tg", 10_000], ["soml-tg", 100_000]]
    assert points.query("constants == 'chosen' or method == 'soml-da'")["mean"].max() < 0


def test_every_key_rule_command_and_learner_is_in_the_reference(site):
    pages = (DOCS / f"reference/{page}.md" for page in ("configuration", "rules", "command-line"))
    configuration, rules, commands = (page.read_text() for page in pages)
    assert all(f"## `{key}`" in configuration for key in Settings.model_fields)
    assert "  - `count`: *integer; at least 2, at most 100; default `10`*. Number of rankers" in configuration
    code = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    named = {*re.findall(r"^ *rule (\w+):", code, flags=re.MULTILINE)}
    assert len(named) >= 25
    assert all(f"- `{name}`" in rules for name in named)
    some = ("fit", "rank", "evaluate", "rate", "evaluate-triplets")
    assert all(f"## `lookalike {name}`" in commands for name in some)
    for name, module in MODULES.items():
        page = (site / f"reference/api/modules/lookalike.learners.{module}.html").read_text(encoding="utf-8")
        text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
        assert f"class lookalike.learners.{module}.{name}" in text


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_and_make_target_that_is_named_exists_and_python_is_python(page):
    text = page.read_text(encoding="utf-8")
    for code in blocks_of(page):
        compile(code, str(page), "exec")
    written = {name for how_to in PAGES for language, name, _ in documented_edits(how_to) if language != "diff"}
    folders = "src|workflow|tests|docs|examples|envs|benchmarks|profiles"
    named = set(re.findall(rf"`((?:{folders})/[A-Za-z0-9_./*-]+)`", text))
    assert all(any(ROOT.glob(name)) for name in named - written), named
    if page in DOCUMENTS[:3] or page.parent == DOCS:
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        assert all((page.parent / link).exists() for link in links), links
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    asked = re.findall(r"run: make ([a-z-]+)", "".join(map(Path.read_text, (ROOT / ".github/workflows").glob("*.yml"))))
    assert {*re.findall(r"`make ([a-z-]+)`", text), *asked} <= targets


@pytest.mark.parametrize("page", ["README.md", "docs/reference/package.md"])
def test_the_example_of_the_first_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = blocks_of(ROOT / page)[0]
    X, y = np.random.default_rng(0).random((40, 6)), np.repeat(np.arange(4), 10)
    names = {"X": X, "y": y, "X_test": X, "y_test": y, "queries": X[:3], "gallery": X}
    exec(compile(code, page, "exec"), names)
    assert len(names["neighbours"]) in (3, 3 * 10)  # a row a query, or a table with a row a neighbour
    assert (tmp_path / "model.lookalike").is_file() == ("model.save" in code)


def test_the_tutorials_learner_runs():
    code = next(block for block in blocks_of(DOCS / "tutorial/index.md") if "from lookalike.learners" in block)
    names = {}
    exec(compile(code, "tutorial", "exec"), names)
    first = names["y"][names["neighbours"]]
    assert (first == names["y"][::25, None]).mean() > 0.5


def documented_edits(page):
    """Language, file and text of every captioned block of a page, in order."""
    return [(found[2], found[1], found[3]) for found in CAPTIONED.finditer(page.read_text(encoding="utf-8"))]


def apply_edits(page, folder):
    """Write the page's new files into a copy of the project and edit those that it edits; return all of them."""
    for language, name, text in documented_edits(page):
        path = folder / name
        if language == "diff":
            before, lines = path.read_text(encoding="utf-8"), text.splitlines()
            # a blank line belongs to what is found and to what is put there
            old, new = ("".join(f"{line[1:]}\n" for line in lines if line[:1] in ("", " ", sign)) for sign in "-+")
            assert before.count(old) == 1, f"{page.name}: this stands in {name} {before.count(old)} times:\n{old}"
            text = before.replace(old, new)
        else:
            assert not path.exists(), f"{page.name}: {name} is there already"
        path.write_text(text, encoding="utf-8")
    return [folder / name for _, name, _ in documented_edits(page)]


@pytest.fixture
def copy(tmp_path):
    """A copy of the project, its package and the contract of learners, that how-to pages may edit."""
    copy_package(copy_project(tmp_path))
    for name in ("learners/test_contract.py", "made_rows_and_examples.py", "model_files.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    return tmp_path


def in_copy(copy, *arguments):
    """Run Python in the copy, with the copy's package, and return what it said."""
    environment = {"PYTHONPATH": str(copy / "src"), "PATH": "/usr/bin:/bin", "HOME": str(copy), "OMP_NUM_THREADS": "1"}
    done = run_in(copy, [sys.executable, *arguments], environment)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.workflow
def test_adding_a_learner_is_done_by_what_the_page_says(copy):
    edited = apply_edits(DOCS / "how-to/add-a-learner.md", copy)
    assert {path.name for path in edited} == {"shrunk_rca.py", "registry.py", "config.yaml", "demo.yaml"}
    contract = in_copy(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", "-k", "ShrunkRCA")
    assert re.search(r"[5-9]\d passed", contract), contract
    planned = in_copy(copy, "-m", "snakemake", "category_demo", "--cores", "1", "--dry-run")
    runs = re.findall(r"results/demo/runs/words500/(\w+)/shrunk-rca/0/model\.lookalike", planned)
    assert set(runs) == {"demo10"}
    assert "rule run_subset_words500_demo10_demo:" in planned
    for exhibit in ("oasis-jmlr-2010/table4", "oasis-jmlr-2010/fig6"):
        assert f"results/demo/exhibits/{exhibit}.csv" in planned


@pytest.mark.workflow
def test_adding_an_exhibit_is_done_by_what_the_page_says(copy):
    assert {path.name for path in apply_edits(DOCS / "how-to/add-an-exhibit.md", copy)} == {"exhibits.yaml"}
    planned = in_copy(copy, "-m", "snakemake", "category_demo", "--cores", "1", "--dry-run")
    assert "results/demo/exhibits/learning/chosen_steps.csv" in planned
    assert "results/demo/exhibits/learning/violations.svg" in planned
    assert in_copy(copy, "-c", DRAWING).split() == ["20", "±", "10", "0.25"]


DRAWING = """
from lookalike.exhibits.results import write_results
from lookalike.exhibits.registry import exhibits_of
from lookalike.studies.rooms import study_of

section = {"representation": "words", "subsets": {"ten": {"classes": "all"}}, "methods": ["oasis"]}
shared = {"datasets": {"demo": {"kind": "synthetic"}}, "methods": {"oasis": {"learner": "OASIS"}}}
settings = {"study": section, "shared": shared, "published": {}}
rows = [{"setting": "ten", "method": "oasis", "repeat": str(fold)} for fold in range(3)]
numbers = [row | {"metric": "steps", "value": value} for row, value in zip(rows, (10, 30, 20))]
numbers += [row | {"metric": "loss_rate", "x": 100, "value": 0.25} for row in rows]
write_results(numbers, "steps.parquet")
study, known = study_of("category", "demo", settings).finished({"results": "steps.parquet"}), exhibits_of("category")
print(known["learning/chosen_steps"].draw(study).frame.loc[0, "ours_cell"])
print(known["learning/violations"].draw(study).frame.loc[0, "mean"])
"""


def test_adding_a_claim_is_done_by_what_the_page_says(tmp_path):
    table = tmp_path / "workflow/resources/claims.csv"
    table.parent.mkdir(parents=True)
    shutil.copy(ROOT / "workflow/resources/claims.csv", table)
    assert apply_edits(DOCS / "how-to/add-a-claim.md", tmp_path) == [table]
    (claim,) = (claim for claim in claims_of(claim_rows(table, "category")) if claim.id == "jmlr-lego-learns")
    assert claim.exhibit in all_exhibits()
    means = {3: Outcome.HOLDS, 1: Outcome.OPEN, -3: Outcome.FAILS}
    rows = [Contrast("ten", "map", "lego", "euclidean", mean, mean - 1, mean + 1, p=0.01) for mean in means]
    assert [PREDICATES[claim.predicate]([row], **claim.parameters).outcome for row in rows] == [*means.values()]


def test_adding_a_data_set_is_a_valid_configuration():
    ((_, name, text),) = documented_edits(DOCS / "how-to/add-a-data-set.md")
    assert name == "examples/shapes.yaml"
    settings = own_settings()
    update_config(settings, yaml.safe_load(text))
    assert checked(settings).category["shapes"].splits.train == 25


def calls(path, function):
    """First argument of every call of a function or method in the code of a notebook, a text."""
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return re.findall(rf'\b{function}\("([^"]+)"', code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_a_run_is_in_a_notebook_and_it_reads_results_through_the_package_alone(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.read_text(encoding="utf-8") == nbformat.writes(notebook, indent=1) + "\n"
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert all(cell.metadata == {} for cell in notebook.cells)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)
    names = [cell.id for cell in notebook.cells]
    assert not [name for name in names if re.fullmatch("[0-9a-f]{8}", name)], "names that stay, none drawn at random"
    assert calls(path, "(?:open|read_parquet|read_csv)") == []


@pytest.mark.parametrize("paper", PAPERS)
def test_each_paper_has_a_notebook_that_shows_its_exhibits_and_own_images_have_one(paper):
    assert {path.stem for path in NOTEBOOKS} == {*(name.replace("-", "_") for name in PAPERS), "your_own_images"}
    path = ROOT / f"notebooks/{paper.replace('-', '_')}.ipynb"
    assert calls(path, "PaperReader") == [paper]
    assert sorted(calls(path, "show")) == sorted(own.name for own in all_exhibits().values() if own.paper == paper)
