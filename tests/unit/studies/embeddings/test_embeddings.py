"""The study of embeddings: its halves, what learns from which, its contrasts and its table, and the shipped vectors."""

import numpy as np
import pandas as pd
import pytest
from contract import changed_study, contrasted, drawn, finished, grid
from project import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.methods import Fit, Trace
from lookalike.data.splits import half_of
from lookalike.exhibits import words
from lookalike.exhibits.results import results_frame
from lookalike.ranking.comparison import corrected_t_test
from lookalike.studies.embeddings import protocol

RESOURCES = ROOT / "workflow" / "resources"
SIZES = {"train": 6, "test": 4, "validation": 2}
OASIS = {"oasis": Fit(learner="OASIS", trace=Trace(first=10, steps=200, points=3))}
LABELS = np.repeat([f"{number:03d}.class" for number in range(8)], 12)
MANIFEST = pd.DataFrame({"image_id": np.arange(len(LABELS), dtype=np.int32), "label": LABELS, "status": "ok"})
_RANDOM = np.random.default_rng(1)
VECTORS = np.abs(np.repeat(_RANDOM.normal(size=(8, 12)), 12, axis=0) + 0.8 * _RANDOM.normal(size=(96, 12)))


def test_one_half_is_learned_from_by_every_method_and_none_sees_the_new_one():
    parts = protocol.halving(MANIFEST, VECTORS, SIZES, 1, 2010)
    learned = set(half_of(sorted(set(LABELS)), 3, 2010))
    sizes = {"train": 24, "learn": 16, "validation": 8, "learned": 16, "new": 16}
    assert {name: len(part.labels) for name, part in parts.items()} == sizes
    assert all(set(parts[name].labels) == learned for name in ("train", "learn", "validation", "learned"))
    assert set(parts["new"].labels) == set(LABELS) - learned
    rows = {name: {row.tobytes() for row in part.rows} for name, part in parts.items()}
    assert rows["learn"] | rows["validation"] == rows["train"]
    assert not rows["train"] & (rows["learned"] | rows["new"]), "no test image is learned from"
    rows = list(protocol.results_of(MANIFEST, VECTORS, SIZES, 0, OASIS, 2010))
    found = {(row["setting"], row["method"]): row["value"] for row in rows}
    methods = ["cosine", "euclidean", "logistic", "lda", "oasis"]
    assert list(found) == [(half, method) for half in ("learned", "new") for method in methods]
    assert all(found["learned", method] > found["new", method] for method in ("lda", "logistic"))
    parts = protocol.halving(MANIFEST, VECTORS, SIZES, 0, 2010)
    assert found["new", "euclidean"] == protocol.ranked(parts["new"])
    changed = VECTORS.copy()
    changed[np.isin(LABELS, parts["new"].labels)] *= -1  # cosines within the new half stay
    rows = protocol.results_of(MANIFEST, changed, SIZES, 0, OASIS, 2010)
    other = {(row["setting"], row["method"]): row["value"] for row in rows}
    assert all(other["learned", method] == found["learned", method] for method in methods)
    assert other["new", "cosine"] == pytest.approx(found["new", "cosine"])


def test_the_table_has_each_method_beside_the_cosine():
    methods, levels = ["cosine", "euclidean", "lda", "logistic", "oasis"], [0.8, 0.7, 0.9, 0.9, 0.95]
    rows = grid(setting=["learned", "new"], method=methods, repeat="01")
    rows["value"] = np.repeat([*levels, 0.8, 0.7, 0.5, 0.5, 0.7], 2)
    rows["value"] += 0.01 * (rows["method"].eq("oasis") & rows["repeat"].eq("1"))
    rows = rows.assign(study="embeddings", metric="map", unit="fraction")
    study = changed_study("embeddings", "caltech20-embeddings", methods=["oasis"], halvings=2)
    study = contrasted(finished(study, {"results": results_frame(rows)}))
    (row,) = study.contrasts.intervals("new", "map", "oasis", "cosine")
    expected = corrected_t_test([-10, -9], 40, 25)
    assert (row.mean, row.low, row.p) == pytest.approx((-9.5, expected.low, expected.p))
    table, _ = drawn(study, "learning/embeddings")
    frame = table.frame.set_index(["method", "setting"])
    assert frame.loc["oasis", "ours_cell"][["learned", "new"]].tolist() == ["95.5 ± 0.7", "70.5 ± 0.7"]
    written = words.gap([row], has_unit=False)
    assert frame.loc[("oasis", "new, minus"), "ours_cell"] == written
    assert frame.loc[("cosine", "new, minus"), "ours_cell"] == ""
    assert frame.loc["euclidean", "ours_cell"][["learned", "new"]].tolist() == ["70.0 ± 0.0", "70.0 ± 0.0"]


def test_the_shipped_vectors_are_of_the_images_whose_visterms_are_shipped_and_a_folder_without_is_named(tmp_path):
    folder = RESOURCES / "caltech20-embeddings"
    manifest, X = protocol.read_embeddings(folder)
    counted = pd.read_csv(RESOURCES / "caltech20" / "manifest.csv").query("status == 'ok'")
    columns = ["path", "label", "sha256"]
    assert manifest[columns].to_numpy().tolist() == counted[columns].to_numpy().tolist()
    rows = protocol.unit(X)
    precision = protocol.ranked(protocol.Part(rows, manifest["label"].to_numpy(dtype=np.str_)))
    readme = (folder / "README.md").read_text()
    assert f"is {precision:.4f} with these bytes" in readme
    in_floats = float(readme.split("with these bytes and ")[1].split()[0])
    assert abs(precision - in_floats) < 0.002
    with pytest.raises(LookalikeError, match=r"holds no manifest.csv and no embeddings.npz"):
        protocol.read_embeddings(tmp_path)
