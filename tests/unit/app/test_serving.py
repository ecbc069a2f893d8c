"""What leaves for other engines, whose neighbours are those of `rank`; and a gallery that is described once."""

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_place import paint

import lookalike
from lookalike.app.rows import make_rows
from lookalike.app.similarity import Similarity
from lookalike.learners import LEARNERS

PAGE = Path(__file__).parents[3] / "docs/how-to/serve.md"
GALLERY, N = "photos-npy", 24
RANK = f"rank m.lookalike q.png --gallery {GALLERY} -k 3"


@pytest.fixture
def indexed(here, call):
    """That folder with a gallery of its photos, a query that is none of them, and times that are long past."""
    for image in Path("photos").glob("*/*.png"):
        os.utime(image, (10**9, 10**9))
    shutil.copy("release/t0/Q.png", "q.png")
    Path("photos/red/down").mkdir()
    Path("photos/red/7.png").rename("photos/red/down/7.png")
    assert call("index m.lookalike photos").status == 0
    return here


def ranked(result, *arguments):
    (answer,) = result(*arguments)["results"]
    return answer["neighbours"]


def test_a_saved_gallery_answers_as_its_folder_does(indexed, call, result):
    saved = ranked(result, RANK)
    fresh = ranked(result, "rank m.lookalike q.png --gallery photos -k 3")
    assert [row["path"] for row in saved] == [row["path"] for row in fresh]
    np.testing.assert_allclose([row["score"] for row in saved], [row["score"] for row in fresh], rtol=1e-5)
    assert [row["label"] for row in saved] == [row["label"] for row in fresh]
    said = call(RANK)
    assert said.out.startswith("q.png\n    1  ")
    assert "1 file of the gallery left out (red/broken.png: " in said.err
    own = ranked(result, f"rank m.lookalike photos/red/3.png --gallery {GALLERY} -k 99")
    assert len(own) == N - 1
    assert {row["path"]: row["label"] for row in own}["red/down/7.png"] == "red"
    fresh = ranked(result, "rank m.lookalike photos/red/3.png --gallery photos -k 5")
    assert [row["path"] for row in own[:5]] == [row["path"] for row in fresh]
    assert "red/3.png" not in [row["path"] for row in own]
    for folder, how in (("photos-faiss", "--index IVF4,Flat"), ("few", "--to npy --rank 17 --output few")):
        assert call(f"export m.lookalike photos {how}").status == 0
        other = ranked(result, f"rank m.lookalike photos/red/3.png --gallery {folder} -k 99")
        assert sorted(row["path"] for row in other) == sorted(row["path"] for row in own)
        np.testing.assert_allclose([row["score"] for row in other], [row["score"] for row in own], rtol=1e-3)
    assert call("export m.lookalike photos --index SQ8 --output rounded").status == 0
    assert "rounded holds vectors as SQ8 keeps them" in call("rank m.lookalike q.png --gallery rounded").err
    about = Path("few/about.json").read_text(encoding="utf-8")
    Path("few/about.json").write_text(about.replace('"format_version": 2', '"format_version": 99'), encoding="utf-8")
    assert "the bytes of about.json are not those that were written" in call("rank m.lookalike q.png --gallery few").err
    Path("few/sha256.json").write_text("{}", encoding="utf-8")
    assert "few has format version 99, and this lookalike reads 2" in call("rank m.lookalike q.png --gallery few").err
    Path("few/files.json").unlink()  # exports of 1.1 have none
    assert "few was exported from vectors, with --labels, or by" in call("rank m.lookalike q.png --gallery few").err
    assert call(RANK, "--html n.html").out == "n.html: 1 query, 3 neighbours each\n"
    assert Path("n.html").read_text(encoding="utf-8").count("<img ") == 4


def test_what_changed_since_is_noticed_and_described_when_asked_for(indexed, call, result):
    best = ranked(result, RANK)[0]["path"]
    second = ranked(result, RANK)[1]["path"]
    Path("photos", best).unlink()
    paint(Path("photos", second), (1, 2, 3), 77)
    os.utime("photos/blue/0.png")  # the same content
    paint(Path("photos/new.png"), (200, 40, 30), 78)
    answer = result(RANK)
    reasons = {row["path"]: row["reason"] for row in answer["left_out"]}
    assert list(reasons) == [*sorted([best, second]), "new.png", "red/broken.png"]
    for path, what in ((best, "it is gone"), (second, "it was changed since"), ("new.png", "it is new")):
        assert reasons[path].startswith(what)
        assert reasons[path].endswith("run lookalike index again")
    assert not {best, second, "new.png"} & {row["path"] for row in answer["results"][0]["neighbours"]}
    assert "; 1 added, 1 changed, 1 removed\n" in call("index m.lookalike photos").out
    assert "; 0 added, 0 changed, 0 removed\n" in call("index m.lookalike photos").out
    assert [row["path"] for row in result(RANK)["left_out"]] == ["red/broken.png"]
    fresh = ranked(result, "rank m.lookalike q.png --gallery photos -k 3")
    assert [row["path"] for row in ranked(result, RANK)] == [row["path"] for row in fresh]


def vectors_of_classes(n_dimensions=12, length=1.0, stretch=0):
    """Rows of four classes, 60 to find and 5 to ask with."""
    rng = np.random.default_rng(3)
    y = rng.integers(4, size=65)
    X = rng.standard_normal((65, n_dimensions)) + 2 * np.eye(n_dimensions)[y]
    X *= length / np.linalg.norm(X, axis=1, keepdims=True) * np.logspace(0, -stretch, n_dimensions)
    if stretch:
        X = X @ np.linalg.qr(rng.standard_normal((n_dimensions, n_dimensions)))[0]
    table = pd.DataFrame(X.astype(np.float32), index=[f"id-{row}" for row in range(65)])
    return table[:60], table[60:], y[:60].astype(str)


def blocks():
    """The Python of the page."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


CASES = {
    "bilinear": ("OASIS", "length", {"n_steps": 300}, 12, 1.0),
    "bilinear, scaled": ("OASIS", "length", {"n_steps": 300}, 12, 9.0),
    "bilinear, of unit rows": ("OASIS", "unit", {"n_steps": 300}, 12, 1.0),
    "blend, centred": ("OASIS", "centred", {"n_steps": 300}, 12, 9.0),
    "distance, scaled": ("LMNN", "length", {}, 12, 9.0),
    "distance, standardised": ("LMNN", "standard", {}, 12, 9.0),
    "distance, of a matrix near a singular one": ("RCA", "length", {}, 12, 1.0, 4),
    "diagonal": ("DiagonalOASIS", "length", {"n_steps": 300}, 12, 1.0),
    "discriminant directions": ("LDA", "centred", {}, 12, 9.0),
    "probabilities": ("LogisticRegression", "unit", {"C": 1.0}, 12, 9.0),
}
ENGINES = {name: next(block for block in blocks() if f"import {name}\n" in block) for name in ("faiss", "hnswlib")}
FILES = "about.json gallery.npy ids.json query_map.npz"
STAYS = ("length", "bilinear, of unit rows")


@pytest.fixture(params=CASES)
def served(request, tmp_path, monkeypatch):
    """A model of vectors in its folder, these as a file, query vectors, and the neighbours that `rank` finds."""
    monkeypatch.chdir(tmp_path)
    learner, scaling, parameters, *kind = CASES[request.param]
    gallery, queries, labels = vectors_of_classes(*kind)
    model = Similarity(learner=learner, scaling=scaling, parameters=parameters).fit(make_rows(gallery, labels=labels))
    model.save("vectors.lookalike")
    gallery.rename(columns=str).assign(label=labels).rename_axis("id").reset_index().to_parquet("vectors.parquet")
    table = model.rank(make_rows(queries), make_rows(gallery), k=10)
    # under an inner product, vectors that need no unit length, or have it, stay as they are
    kept = model.learner_.metric_ == "inner_product" and {scaling, request.param}.intersection(STAYS)
    return queries.to_numpy(), *(table[name].to_numpy().reshape(5, 10) for name in ("id", "score")), bool(kept)


def test_an_export_has_the_neighbours_of_rank_as_the_page_serves_them(served, call, result):
    queries, expected, scores, kept = served
    for to in ("faiss", "npy"):
        answer = result(f"export vectors.lookalike vectors.parquet --to {to}")
        assert (answer["rows"], answer["same_neighbours"]) == (60, 1.0)
        assert (answer["query_dimensions"], answer["left_out"]) == (queries.shape[1], [])
    names = {"queries": queries}
    for block in (blocks()[0], *(block for engine, block in ENGINES.items() if find_spec(engine))):
        exec(compile(block, str(PAGE), "exec"), names)
        assert np.array(names.get("neighbours", expected)).tolist() == expected.tolist()
    said = call("export vectors.lookalike vectors.parquet").err
    taken = "columns 0 to 11, ids from column id, labels from column label; dimensions 12, classes ("
    assert f"vectors.parquet: 60 vectors; {taken}" in said
    sign = 1 if answer["metric"] == "inner_product" else -1
    if kept or answer["metric"] != "inner_product":  # else a query is not brought to unit length, which orders nothing
        # scores differ for each query by one number, where the gallery is not moved as queries are
        away = sign * names["scores"] - scores
        np.testing.assert_allclose(away, np.broadcast_to(away[:, :1], away.shape), atol=1e-4 * np.abs(scores).max())
    vectors = np.load("vectors-npy/gallery.npy")
    assert {path.name for path in Path("vectors-npy").iterdir()} == {*FILES.split()}
    if kept:
        given = pd.read_parquet("vectors.parquet").drop(columns=["id", "label"]).to_numpy()
        np.testing.assert_array_equal(vectors, given)  # the gallery stays as it is
    elif answer["metric"] != "inner_product":
        names = {"queries": pd.read_parquet("vectors.parquet").drop(columns=["id", "label"]).to_numpy()}
        exec(compile(blocks()[0], str(PAGE), "exec"), names)  # a row of the gallery finds itself at no distance
        np.testing.assert_allclose(names["asked"], vectors, rtol=0, atol=3e-6 * np.abs(vectors).max())
    for engine in ENGINES:  # all else of this test has passed
        pytest.importorskip(engine, reason=f"the page's block of {engine} was not tried: pip install {engine}")


LINEAR = [name for name, (learner, *_) in CASES.items() if LEARNERS[learner].is_linear]


@pytest.mark.parametrize("served", LINEAR, indirect=True)
def test_fewer_dimensions_and_other_indices_say_what_is_lost(served, call, result):
    answer = result("export vectors.lookalike vectors.parquet --rank 3")
    assert answer["dimensions"] == 3
    assert {row["method"] for row in answer["measures"]} == {"all dimensions", "3 dimensions"}
    said = call("export vectors.lookalike vectors.parquet --rank 3 --index HNSW8").out
    assert re.search(r"\d% of the first 10 neighbours of 60 vectors are those of lookalike rank", said)
    assert re.search(r"\nmAP +[01]\.\d+ \[.*\] +[01]\.\d+ \[", said)
    lists = result("export vectors.lookalike vectors.parquet --index IVF4,Flat")
    assert 0 < lists["same_neighbours"] < 1  # one list of four is looked into


def test_images_leave_as_vectors_do(here, call, result):
    answer = result("export m.lookalike photos --to npy --output vectors-npy")
    assert (answer["rows"], answer["dimensions"], answer["same_neighbours"]) == (N, 24 - 7, 1.0)
    assert [row["path"] for row in answer["left_out"]] == ["red/broken.png"]
    assert call("features release --representation m.lookalike --output q.npy").status == 0
    names = {"queries": np.load("q.npy")}
    exec(compile(blocks()[0], str(PAGE), "exec"), names)  # through principal components
    paths = names["ids"][np.argsort(-names["asked"] @ names["gallery"].T, axis=1)[:, :3]]
    queries = [f"release/{path}" for path in pd.read_csv("q.csv")["path"]]
    expected = lookalike.load("m.lookalike").rank(queries, "photos", k=3)["path"]
    assert paths.ravel().tolist() == expected.tolist()


def test_the_learners_of_the_page_need_no_files():
    X, y = np.random.default_rng(0).standard_normal((80, 6)), np.repeat(np.arange(4), 20)
    names = {"X": X, "y": y, "queries": X[:4]}
    exec(compile(blocks()[-1], str(PAGE), "exec"), names)
    assert (names["rows"] == names["model"].rank(X[:4], X, k=10)[0]).all()
