"""The embedded visterm counts: remade from the images they are the same, and no pool image is in a split."""

import shutil

import numpy as np
import pandas as pd
import pytest
from project import ROOT

from lookalike.core.files import read_csr

pytestmark = pytest.mark.workflow

EMBEDDED = ROOT / "workflow" / "resources" / "caltech20"


@pytest.mark.real_images
def test_the_counts_are_those_of_the_images(new_project, real_images):
    project = new_project("visterms")
    for label in pd.read_csv(EMBEDDED / "manifest.csv")["label"].unique():
        shutil.copytree(real_images / label, project.folder / "data" / "caltech256" / "256_ObjectCategories" / label)
    shutil.copy(ROOT / "examples" / "caltech256-subset.yaml", project.folder)
    project.snakemake("results/some-classes/published/words1000/manifest.csv", config="caltech256-subset.yaml")
    remade = project.folder / "results" / "some-classes" / "published" / "words1000"
    assert (remade / "manifest.csv").read_bytes() == (EMBEDDED / "manifest.csv").read_bytes()
    np.testing.assert_allclose(np.load(remade / "palette.npy"), np.load(EMBEDDED / "palette.npy"), atol=0.01)
    # on another processor k-means may round otherwise, and a few blocks get another word
    new, kept = read_csr(remade / "counts.npz"), read_csr(EMBEDDED / "counts.npz")
    assert new.sum() == kept.sum()
    assert abs(new - kept).sum() <= 0.02 * 2 * kept.sum()


def test_no_image_of_the_pool_is_in_a_split(new_project):
    project = new_project("splits")
    project.snakemake("results/caltech20/splits/ten.parquet")
    splits = pd.read_parquet(project.folder / "results/caltech20/splits/ten.parquet")
    manifest = pd.read_csv(EMBEDDED / "manifest.csv")
    assert splits.groupby(["fold", "role"]).size().to_dict() == {
        (fold, role): 10 * n for fold in range(5) for role, n in (("train", 40), ("test", 25))
    }
    used = manifest.iloc[splits["image_id"]]
    assert not used["in_pool"].any()
    assert used["label"].tolist() == splits["label"].tolist()
    # more images than one split needs: partitions differ
    assert splits.groupby("label")["image_id"].nunique().min() > 65
