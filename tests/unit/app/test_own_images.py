"""What the commands compute and write, and `ImageSimilarity` in Python: from one's own images, ratings and triplets."""

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from made_place import paint

import lookalike
from lookalike import ImageSimilarity
from lookalike.app.page import label_in, write_page
from lookalike.core.errors import LookalikeError
from lookalike.data.visterm_folder import read_visterm_folder
from lookalike.ranking import distances
from lookalike.studies.human.questionnaire import read_plan

EVALUATE = "evaluate-triplets release --jobs 2 --features"
FIT = "fit photos --representation color"


@pytest.fixture
def fitted(here):
    """A model of colours, a quarter of the images held out."""
    return lookalike.load("m.lookalike")


def test_fit_names_what_is_left_out_keeps_a_cache_and_says_all_as_info_does(here, call, result):
    said = call(FIT, "--output n.lookalike --learner euclidean")
    described = "representation color, dimensions 784, components 23, classes 3, for seen classes"
    assert f"Euclidean learned from 24 images; {described}\n" in said.out
    assert "left out: 1 file\n  red/broken.png: broken.png is damaged" in said.out
    assert (here / ".lookalike-cache").is_dir()
    call(FIT, "--output m/n.lookalike --learner euclidean --no-cache")
    assert [path.name for path in (here / "m").iterdir()] == ["n.lookalike"]
    answer = result(FIT, "--labels labels.csv --hold-out 0.25 --set n_steps=50 --cache kept")
    assert any((here / "kept").iterdir())
    assert (answer["classes"], answer["learner"]["n_steps"]) == ({"cold": 12, "warm": 6}, 50)
    assert (answer["n_images"], answer["n_held_out"], answer["left_out"]) == (18, 6, [])
    info = result("info photos.lookalike")
    assert info.pop("bytes") == (here / "photos.lookalike").stat().st_size
    assert info == {name: answer[name] for name in answer if name not in ("left_out", "source")}
    assert {name: info[name] for name in info if name != "model"} == ImageSimilarity.load("photos.lookalike").about()
    assert "cold 12, warm 6" in call("info photos.lookalike").out


def test_rank_finds_images_of_the_class_and_no_copy_of_the_query(here, fitted):
    photos, query = here / "photos", here / "photos" / "red" / "3.png"
    shutil.copy(query, photos / "blue" / "copy of the query.png")
    table = fitted.rank(str(query), photos, k=5)
    assert table["label"].tolist() == ["red"] * 5
    assert not table["path"].isin(["red/3.png", "blue/copy of the query.png"]).any()
    assert table["score"].is_monotonic_decreasing
    assert len(fitted.rank(query, photos, k=99)) == 23
    (here / "empty" / "copy.png").write_bytes(query.read_bytes())
    cases = [(fitted, 0, photos, "needs at least 1 neighbour"), (fitted, 1, here / "empty", "holds only the query")]
    for model, k, gallery, sentence in (*cases, (ImageSimilarity(), 1, photos, "nothing has been learned yet")):
        with pytest.raises(LookalikeError, match=sentence):
            model.rank([query], gallery, k)


def test_rank_prints_writes_and_says_when_the_gallery_is_small(here, result, call):
    rank = ["rank", "m.lookalike", "photos/red/1.png", "photos/red/1.png", "--gallery", "photos"]
    (ranked,) = result(*rank, "-k 3 --compare --html n.html")["results"]  # a query given twice is one
    assert [(row["rank"], row["label"]) for row in ranked["neighbours"]] == [(1, "red"), (2, "red"), (3, "red")]
    assert len(ranked["before_learning"]) == 3
    assert call(*rank, "-k 3 --html n.html").out == "n.html: 1 query, 3 neighbours each\n"
    said = call(*rank, "-k 99 --compare")
    assert "the gallery has only 23 images besides a query" in said.err
    assert "1 file of the gallery left out (red/broken.png: " in said.err
    first, second, *others = said.out.splitlines()
    assert (first, second.split(), len(others)) == (rank[2], ["after", "learning", "before", "learning"], 23)


def test_a_query_that_cannot_be_used_is_named_and_left_out(here, result, call, refused):
    Path("bad.png").write_bytes(b"no image")
    rank, bad = ["rank", "m.lookalike", "bad.png"], [os.fsdecode(b"no\xff.png"), "none.png"]
    ranked = result(*rank, *bad, "photos/red/1.png --gallery photos -k 1 --html n.html")
    assert [row["query"] for row in ranked["results"]] == ["photos/red/1.png"]
    assert [row["path"] for row in ranked["left_out"]] == ["bad.png", "no\\udcff.png", "none.png", "red/broken.png"]
    assert ranked["left_out"][1]["reason"] == "its name is not valid UTF-8: rename it"
    said = call(*rank, "photos/red/1.png --gallery photos -k 1").err
    assert "lookalike: 1 of 2 queries left out (bad.png: bad.png is not an image" in said
    assert "1 file of the gallery left out (red/broken.png: " in said
    assert re.search(r"no query can be used \(bad.png: .*; and 2 more\)", refused(*rank, *bad, "--gallery photos"))


def test_images_that_were_learned_from_are_passed_over(here, fitted, result, call):
    assert fitted.images_["role"].value_counts().to_dict() == {"train": 18, "held-out": 6}
    evaluate = "evaluate m.lookalike photos -k 1,2,99"
    answer = result(evaluate)
    assert (answer["images"], answer["learned_from"], answer["passed_over"]) == (6, 0, 18)
    table = pd.DataFrame(answer["rows"])
    named = ({"OASIS", "Euclidean", "cosine"}, {"map", "precision@1", "precision@2"})
    assert (set(table["method"]), set(table["measure"])) == named
    assert table.loc[table["measure"] == "map", "value"].between(0.5, 1).all()
    assert (table["low"] <= table["value"] + 1e-9).all()
    # three classes are too few to leave two out
    assert "3 classes have two rows or more, and four are needed" in answer["new_classes"]["skipped"]
    said = call(evaluate, "--all")
    assert "images that it has learned from; new classes were not measured (3 classes have" in said.out
    assert "new classes were not measured (--no-new-classes)" in call(evaluate, "--no-new-classes").out
    assert "has learned from 18 of the 24 images" in said.err
    assert ", images 24, learned from 18, passed over 0, queries 24\nleft out: 1 file" in said.out
    assert "\nmAP  " in said.out
    for path in fitted.images_.loc[fitted.images_["role"] == "held-out", "path"]:
        Path("photos", path).unlink()
    assert fitted.evaluate("photos").attrs["learned_from"] == 18  # nothing else is left
    for image in Path("photos").glob("*/[1-7].png"):
        image.unlink()
    with pytest.raises(LookalikeError, match="no class has two images that can be evaluated"):
        fitted.evaluate("photos")


def test_nothing_is_learned_from_images_that_are_held_out(photos):
    how = {"hold_out": 0.25, "parameters": {"n_steps": 60}, "jobs": 1}
    before = ImageSimilarity("color", **how).fit(photos)
    for seed, path in enumerate(before.images_.loc[before.images_["role"] == "held-out", "path"]):
        paint(photos / path, (9, 200, 9), 900 + seed)
    after = ImageSimilarity("color", **how).fit(photos)
    assert after.images_["role"].tolist() == before.images_["role"].tolist()
    np.testing.assert_array_equal(after.learner_.W_, before.learner_.W_)


def test_a_codebook_is_taken_over_and_long_rows_are_learned_on_components(photos, here):
    model = ImageSimilarity("w.lookalike", parameters={"n_steps": 50}).fit(photos)
    for name, array in lookalike.load(here / "w.lookalike").representation_.describer.arrays().items():
        np.testing.assert_array_equal(model.representation_.describer.arrays()[name], array)
    model = ImageSimilarity("hog", parameters={"n_steps": 50}).fit(photos)
    assert model.learner_.n_features_in_ == 23
    rows, images = model.vectors(photos)
    assert rows.shape == (24, model.representation_.describer.n_dimensions)
    assert images["path"].tolist() == model.images_["path"].tolist()


def test_a_folder_that_nothing_can_be_learned_from(photos):
    for gone, sentence in (("[2-7]", "classes have four"), ("1", "has a single image"), ("[0-9]", "has only green")):
        for image in (path for path in photos.glob(f"*/{gone}.png") if gone != "[0-9]" or path.parent.name != "green"):
            image.unlink()
        with pytest.raises(LookalikeError, match=sentence):
            ImageSimilarity("color", hold_out=0.25).fit(photos)


def test_features_go_with_their_table(here, result, call):
    answer = result("features photos --output v/c.npy --representation color --paths v/c.parquet")
    vectors, table = np.load("v/c.npy"), pd.read_parquet("v/c.parquet")
    assert vectors.shape == (answer["n_images"], answer["dimensions"]) == (len(table), 784)
    for _ in range(2):  # its own table is written again
        assert call("features photos --output v/w.npz --words 10 --no-cache").status == 0
    assert sp.load_npz("v/w.npz").shape == (24, 10)
    assert pd.read_csv("v/w.csv")["path"].tolist() == table["path"].tolist()
    assert pd.read_csv("v/w.csv").columns.tolist() == ["path", "label", "sha256", "width", "height"]


def test_features_publish_counts_that_the_category_study_reads(here, result, call):
    assert result("features photos --output counts --words 10 --no-cache")["n_images"] == 24
    manifest, pool, counts = read_visterm_folder("counts", n_words=10)
    assert manifest["path"].tolist() == sorted(manifest["path"])
    assert set(manifest["status"]) == {"ok"}
    assert pool["label"].value_counts().to_dict() == {"blue": 2, "green": 2, "red": 2}
    assert counts.shape == (24, 10)
    assert counts.sum(axis=1).min() >= 10
    assert "exists and is no folder of visterm counts" in call("features photos --output photos").err
    # a model's codebook is taken over: what it learned from is marked, what was held out is not
    model = ImageSimilarity(words=10, hold_out=0.25, parameters={"n_steps": 50}).fit("photos")
    model.save("words.lookalike")
    _, images = ImageSimilarity("words.lookalike").counts("photos")
    held_out = set(model.images_.loc[model.images_["role"] != "train", "sha256"])
    assert set(images.loc[~images["in_pool"], "sha256"]) == held_out != set()


def test_a_page_escapes_names_and_marks_folders(here, fitted):
    odd, photos = here / "photos" / "red" / "<b>3 & 4.png", here / "photos"
    shutil.copy(photos / "red" / "3.png", odd)
    which = {"neighbours": True, "before_learning": False}
    results = fitted.neighbours([odd, photos / "blue" / "1.png"], "photos", 4, which)
    write_page(results, "photos", "n.html", title="<i>", model=fitted)
    text = Path("n.html").read_text()
    assert all(part in text for part in ("&lt;b&gt;3 &amp; 4.png", "<title>&lt;i&gt;</title>", "✓ same folder"))
    assert not any(foreign in text for foreign in ("<b>3", "http://", "https://"))
    assert text.count("<img ") == 2 + 2 * 2 * 4 == text.count('src="data:image/webp;base64,') == text.count('alt="')
    queries = (odd, photos / "x.png", here / "elsewhere.png")
    assert [label_in(path, photos) for path in queries] == ["red", None, None]


def test_names_of_any_bytes_are_shown_and_cannot_steer_the_terminal(here, call, result, refused):
    odd, escaped = os.fsdecode(b"a\x1b[31m\xe2\x80\xae\n\xff"), "a\\x1b[31m\\u202e\\n\\udcff"
    try:
        shutil.move("m.lookalike", f"{odd}.lookalike")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    Path(odd).mkdir()
    shutil.copy("photos/red/2.png", f"{odd}/a\x1b\n.png")
    Path(odd, "bad\x1b.png").write_bytes(b"no image")
    shutil.move("release/ratings.csv", f"release/{odd}.csv")
    rank = ["rank", Path(f"{odd}.lookalike"), "photos/red/1.png --gallery", Path(odd), "-k 1"]
    said = call(*rank)
    assert ("a\\x1b\\n.png" in said.out, len(said.out.splitlines()), "bad\\x1b.png" in said.err) == (True, 2, True)
    assert "\x1b" not in said.out + said.err
    assert result(*rank)["results"][0]["neighbours"][0]["path"] == "a\x1b\n.png"
    assert call(*rank, "--html", Path(f"{odd}.html")).out.startswith(f"{escaped}.html: ")
    assert escaped.replace("\\n", "\n") in Path(f"{odd}.html").read_text(encoding="utf-8")
    assert "no\\x1b.png" in refused(*rank[:2], "no\x1b.png --gallery", Path(odd))
    assert result(EVALUATE, "color")["rejected"][0]["example"].startswith(f"{odd[:-1]}\\udcff.csv: ")


def test_a_page_from_own_neighbours(here, call, result):
    (here / "plan.csv").unlink()
    rate = ["rate", "plan.csv", "--images", "photos", "--output", "page.html"]
    planned = result(*rate, "--neighbours neighbours.csv --queries 3 --retrieved 3 --random 3", "--title", "Photos")
    assert planned == {"page": "page.html", "queries": 3, "candidates": 18}
    assert "Photos" in (here / "page.html").read_text()
    before = (here / "plan.csv").read_bytes()
    assert len(read_plan("plan.csv")) == 3 * 6
    # the plan that is there is the one that pages are made of
    assert call(*rate, "--output", "again.html").out == "again.html: 3 queries, 18 candidates\n"
    assert (here / "plan.csv").read_bytes() == before


def test_what_raters_said(here, call, result):
    printed = dict(line.rsplit(maxsplit=1) for line in call("ratings", "plan.csv", "ada.csv").out.splitlines())
    assert (printed["precision at 1"], printed["precision at 3"]) == ("1", "0.333")
    assert result("ratings", "plan.csv", "ada.csv", "--output", "t/all.parquet")["precision_at_1"] == 1
    assert (pd.read_parquet("t/all.parquet")["answer"] == "good").sum() == 3


def test_colour_finds_what_is_a_matter_of_colour(here, call, result):
    said = call(f"{EVALUATE} colour,hog --output out/table.csv")
    parts = "7 rated triplets of 7 query images", "left out (rows or files): row without its counterpart: 1"
    assert all(part in said.out for part in (*parts, "only the triplets' own images"))
    assert said.err == ""  # no bar where nobody watches
    rows = pd.read_csv("out/table.csv").set_index(["system", "subset"])
    assert set(rows.index.get_level_values("subset")) == {"all", "in-class", "out-of-class"}
    colour = rows.loc[("color", "all")]
    assert colour["similarity_precision"] == pytest.approx(600 / 7)
    # all pools are shorter than 30
    assert (colour["score"], colour["score_per_triplet"]) == (6 - 1, pytest.approx(500 / 7))
    assert colour["similarity_precision_low"] < colour["similarity_precision"] < colour["similarity_precision_high"]
    counts = {"n_triplets": 7, "n_queries": 7, "n_ties": 0, "n_in_top": 7, "median_pool": 20, "k": 30}
    assert colour[list(counts)].to_dict() == counts
    assert rows.loc[("color", "out-of-class"), "similarity_precision"] == 75
    assert (rows["images_per_second"] > 0).all()
    assert re.search(r"^color +all +85\.7% ", said.out, re.MULTILINE)
    answer = result(f"{EVALUATE} color --k 3")
    assert (answer["n_triplets"], answer["rows"][0]["k"]) == (7, 3)
    assert answer["rejected"][0]["reason"] == "row without its counterpart"


def test_vectors_of_rated_images_are_compared_by_path(here, call, result, refused):
    names = [f"t{i}/{letter}.png" for i in range(7) for letter in "QPN"]
    rows = [[i, float(letter == "N")] for i in range(7) for letter in "QPN"]
    pd.DataFrame({"path": names, "v": rows}).to_parquet("v.parquet")
    line = "evaluate-triplets release --vectors v.parquet --id-column path"
    (row, *_) = result(line)["rows"]  # no other feature unless it is asked for
    assert (row["system"], row["similarity_precision"], row["images_per_second"]) == ("v", pytest.approx(600 / 7), None)
    assert re.search(r"^v +all +85\.7% .* -$", call(line).out, re.MULTILINE)
    pd.read_parquet("v.parquet")[1:].to_parquet("v.parquet")
    assert "v.parquet has no vector of 1 of 21 images, such as t0/Q.png: give each image one" in refused(line)


def test_codebooks_and_where_they_come_from(here, result):
    def learned_from(*more):
        row = result(f"{EVALUATE} fisher", *more)["rows"][0]
        return row["codebook_from"], row["similarity_precision"]

    answer = learned_from()
    assert answer[0] == "21 evaluation images, without their ratings"
    assert learned_from() == answer  # the same seed, the same numbers
    (here / "photos" / "rated.png").write_bytes((here / "release" / "t0" / "Q.png").read_bytes())
    assert learned_from("--codebook-images", "photos")[0] == "24 images of photos"
    for i in range(5):
        paint(here / "release" / "training" / "red" / f"{i}.png", (200, 40, 30), 600 + i, (48, 48))
    assert learned_from()[0] == "5 training images"


def test_a_network(here, call, result, refused, monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")
    from lookalike.deep.configuration import SMALL
    from lookalike.deep.embedding import embed
    from lookalike.deep.images import load_pixels
    from lookalike.deep.model_io import save_network
    from lookalike.deep.network import DeepRankingNetwork

    network = DeepRankingNetwork(SMALL, random_state=0)
    save_network(network, "net.lookalike", {"system": "deep-ranking", "shift": 2})
    measured = {}
    measure = distances.pair_distances
    with monkeypatch.context() as patch:
        noted = lambda rows, *rest: measure(measured.setdefault(rest[-1], rows), *rest)  # noqa: E731
        patch.setattr(distances, "pair_distances", noted)
        answer = result(f"{EVALUATE} color --model net.lookalike")
    # the centre of squares that are larger by the shift
    larger = load_pixels(sorted(here.glob("release/t[0-6]/*.png")), SMALL.input_size + 4)
    expected = embed(network, [larger[:, 2:-2, 2:-2]])
    rows = measured["l2"][np.isfinite(measured["l2"]).all(axis=1)]
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    rows = {row["system"]: row for row in answer["rows"] if row["subset"] == "all"}
    assert set(rows) == {"color", "deep-ranking"}
    assert rows["deep-ranking"]["dimensions"] == SMALL.width
    alone = ["evaluate-triplets", "release", "--model", "net.lookalike"]
    assert "color" not in call(*alone).out  # a model alone needs no features
    monkeypatch.delitem(sys.modules, "lookalike.deep.model_io")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert refused(*alone).startswith("lookalike: net.lookalike needs PyTorch, which is not installed")
