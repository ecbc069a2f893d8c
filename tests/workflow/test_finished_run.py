"""The tiny run of all studies: files that others build upon, numbers that can be true, and embedded counts remade."""

import re
import shutil
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from golden import GOLDEN, golden_numbers
from project import ROOT, tiny_config

from lookalike.core.files import read_csr, read_json
from lookalike.exhibits.registry import FILES
from lookalike.exhibits.results import TIMED_OUT, read_results
from lookalike.studies.landmark.study import CHOSEN

pytestmark = pytest.mark.workflow

DATASETS = ("demo", "demo_landmarks", "websim_demo", "demo_triplets")
ON_REQUEST = {"manifest.csv", "run.json", "run-claims.csv", "job.json"}
"""Files of the reference that no run of a demo makes, and ends of names."""
NETWORKS = "convnet|single-scale|deep-ranking|multiscale"
"""Names of what is of networks, which need torch."""


@pytest.fixture(scope="module")
def results(tiny_demo):
    return tiny_demo.folder / "results"


def test_what_the_run_printed_is_short_and_ends_with_a_table_and_the_report(tiny_demo):
    lines = (tiny_demo.folder / "finished").read_text().splitlines()
    assert len(lines) <= 90
    assert max(map(len, lines)) <= 160
    assert not [line for line in lines if "Traceback" in line or "Error" in line]
    assert [line for line in lines if "make exhibits of human demo" in line], "a line for each finished stage"
    assert [line for line in lines[-25:] if line.startswith("Differences in percentage points  ")]
    assert not [line for line in lines if "Assuming unrestricted" in line]
    assert lines[-1].startswith("Report: results/report/index.html")


def test_every_file_that_the_reference_names_is_there_and_not_empty(results):
    pages = "".join((ROOT / f"docs/reference/{page}.md").read_text() for page in ("results", "rules"))
    named = {*re.findall(r"[\w*-]+\.(?:parquet|npz|npy|csv|json|lookalike)\b", pages)} - ON_REQUEST
    assert len(named) > 30
    assert [name for name in named if not any(file.stat().st_size for file in results.rglob(name))] == []
    for dataset, file in product(DATASETS, ("results.parquet", "exhibits/headline.txt")):
        assert (results / dataset / file).stat().st_size > 0


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_exhibit_is_whole_and_says_that_its_data_are_made_by_code(results, dataset):
    found = {file.relative_to(results / dataset / "exhibits") for file in results.glob(f"{dataset}/exhibits/*/*.json")}
    planned = tiny_config().exhibits_of(dataset).values()
    assert found == {Path(f"{exhibit.id}.json") for exhibits in planned for exhibit in exhibits}
    for name in found:
        file = results / dataset / "exhibits" / name
        sidecar = read_json(file)
        assert sidecar["state"] != "failed", name
        assert sidecar["state"] != "not run" or name.stem == "fig3a" or find_spec("torch") is None, name
        assert sidecar["synthetic"], name
        assert any(word in sidecar["caption"][1].lower() for word in ("synthetic", "simulated")), name
        for suffix in FILES[sidecar["kind"]]:
            assert file.with_name(f"{name.stem}{suffix}").stat().st_size > 0, f"{name} {suffix}"


def test_what_was_stopped_has_the_papers_star_and_the_lead_is_measured_with_printed_and_chosen_constants(results):
    rows = read_results(results / "demo/results.parquet")
    stopped = rows[(rows["metric"] == TIMED_OUT) & (rows["value"] > 0)]
    assert set(stopped["method"]) == {"lmnn-naive"}
    assert "lmnn-naive" not in set(rows.loc[rows["metric"] == "map", "method"])
    assert " * |" in (results / "demo/exhibits/oasis-jmlr-2010/table5.md").read_text()
    rows = read_results(results / "demo_landmarks/results.parquet")
    assert rows.loc[(rows["metric"] == TIMED_OUT) & (rows["method"] == "qpao"), "value"].eq(1).all()
    lead = rows[rows["setting"].str.startswith("words=") & rows["metric"].eq("map_full")]
    expected = dict.fromkeys(CHOSEN, 8) | dict.fromkeys(CHOSEN.values(), 4)
    assert lead.groupby("method").size().to_dict() == expected


def test_numbers_are_those_of_the_golden_run(results):
    golden = pd.read_csv(GOLDEN, keep_default_na=False).set_index("key")
    found = golden_numbers(results).set_index("key")["value"]
    if find_spec("torch") is None:
        golden = golden[~golden.index.str.contains(NETWORKS, regex=True)]
    assert set(golden.index) <= set(found.index), "a method of your own may add numbers: make golden"
    found = found[golden.index]
    off = (found - golden["value"]).abs()
    wrong = off > golden["tolerance"]
    assert not wrong.any(), pd.DataFrame({"found": found, **golden})[wrong].to_string()


EMBEDDED = ROOT / "workflow" / "resources" / "caltech20"


@pytest.mark.real_images
def test_the_counts_are_those_of_the_images(new_project, real_data):
    project, images = new_project("visterms"), "caltech256/256_ObjectCategories"
    for label in pd.read_csv(EMBEDDED / "manifest.csv")["label"].unique():
        shutil.copytree(real_data(images) / label, project.folder / "data" / images / label)
    shutil.copy(ROOT / "examples" / "caltech256-subset.yaml", project.folder)
    project.snakemake("results/some-classes/published/words1000/manifest.csv", config="caltech256-subset.yaml")
    remade = project.folder / "results" / "some-classes" / "published" / "words1000"
    assert (remade / "manifest.csv").read_bytes() == (EMBEDDED / "manifest.csv").read_bytes()
    np.testing.assert_allclose(np.load(remade / "palette.npy"), np.load(EMBEDDED / "palette.npy"), atol=0.01)
    # on another processor k-means may round otherwise, and a few blocks get another word
    new, kept = read_csr(remade / "counts.npz"), read_csr(EMBEDDED / "counts.npz")
    assert new.sum() == kept.sum()
    assert abs(new - kept).sum() <= 0.02 * 2 * kept.sum()
