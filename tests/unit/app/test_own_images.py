"""What the commands on one's own images compute and write: fit, rank, evaluate, features and info."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike import ImageSimilarity

Call = Callable[..., Any]


def test_fit_names_what_is_left_out_and_keeps_a_cache(here: Path, call: Call) -> None:
    said = call("fit photos --output n.lookalike --representation color --learner euclidean")
    assert "Euclidean learned from 24 images of 3 classes; color of 784 dimensions" in said.out
    assert "left out: 1 file\n  red/broken.png: broken.png is damaged" in said.out
    assert (here / ".lookalike-cache").is_dir()
    call("fit photos --output m/n.lookalike --representation color --learner euclidean --no-cache")
    assert [path.name for path in (here / "m").iterdir()] == ["n.lookalike"]
    call("fit photos --representation color --learner euclidean --cache kept")
    assert (here / "photos.lookalike").is_file()
    assert any((here / "kept").iterdir())


def test_fit_says_all_as_json_and_so_does_info(here: Path, result: Call, call: Call) -> None:
    fit = "fit photos --labels labels.csv --output l.lookalike --representation color --hold-out 0.25 --set n_steps=50"
    told = result(fit)
    assert told["classes"] == {"cold": 12, "warm": 6}
    assert told["learner"]["n_steps"] == 50
    assert (told["n_images"], told["n_held_out"], told["left_out"]) == (18, 6, [])
    assert set(told["seconds"]) == {"reading images", "describing images", "learning"}
    info = result("info", "l.lookalike")
    assert info.pop("bytes") == (here / "l.lookalike").stat().st_size
    assert info == {name: told[name] for name in told if name != "left_out"}
    assert {name: info[name] for name in info if name != "model"} == ImageSimilarity.load("l.lookalike").about()
    assert "cold 12, warm 6" in call("info", "l.lookalike").out


def test_fit_on_triplets(here: Path, result: Call, call: Call) -> None:
    rows = [(f"red/{i}.png", f"red/{(i + 1) % 8}.png", f"blue/{i}.png") for i in range(8)]
    rows.append(("red/0.png", "red/broken.png", "blue/0.png"))
    pd.DataFrame(rows, columns=["query", "positive", "negative"]).to_csv("judged.csv", index=False)
    fit = "fit photos --triplets judged.csv --output t.lookalike --representation color --set n_steps=20"
    said = call(fit)
    assert "OASIS learned from 8 triplets of 16 images in 20 steps" in said.out
    assert "left out: 1 triplet whose images cannot be used" in said.out
    told = result("evaluate t.lookalike photos --triplets judged.csv")
    assert (told["triplets"], told["rows"][0]["measure"]) == (8, "triplets ordered")
    assert "8 triplets of 16 images" in call("evaluate t.lookalike photos --triplets judged.csv").out


def test_rank_prints_writes_and_says_when_the_gallery_is_small(here: Path, result: Call, call: Call) -> None:
    query = "photos/red/1.png"
    rank = ["rank", "m.lookalike", query, query, "--gallery", "photos"]
    (ranked,) = result(*rank, "-k", 3, "--compare", "--html", "n.html")["results"]  # a query given twice is one
    assert [row["label"] for row in ranked["neighbours"]] == ["red"] * 3
    assert [row["rank"] for row in ranked["neighbours"]] == [1, 2, 3]
    assert len(ranked["before_learning"]) == 3
    assert (here / "n.html").stat().st_size > 1000
    assert call(*rank, "-k", 3, "--html", "n.html").out == "n.html: 1 query, 3 neighbours each\n"
    said = call(*rank, "-k", 99, "--compare")
    assert "the gallery has 23 images besides a query" in said.err
    assert "1 file of the gallery left out (red/broken.png: " in said.err
    assert said.out.splitlines()[0] == query
    assert "after learning" in said.out.splitlines()[1]
    assert len(said.out.splitlines()) == 25


def test_evaluate_warns_of_images_that_were_learned_from(here: Path, result: Call, call: Call) -> None:
    evaluate = "evaluate m.lookalike photos -k 1,2,99"
    told = result(evaluate)
    assert (told["images"], told["learned_from"], told["passed_over"]) == (6, 0, 18)
    assert {row["measure"] for row in told["rows"]} == {"map", "precision@1", "precision@2"}
    said = call(evaluate, "--all")
    assert "has learned from 18 of the 24 images" in said.err
    assert "photos: 24 images\nleft out: 1 file" in said.out
    assert "\nmAP  " in said.out


def test_features_go_with_their_table(here: Path, result: Call, call: Call) -> None:
    told = result("features photos --output v/c.npy --representation color --paths v/c.parquet")
    vectors, table = np.load("v/c.npy"), pd.read_parquet("v/c.parquet")
    assert vectors.shape == (told["n_images"], told["dimensions"]) == (len(table), 784)
    for _ in range(2):  # its own table is written anew
        assert call("features photos --output v/w.npz --words 10 --no-cache").status == 0
    assert sp.load_npz("v/w.npz").shape == (24, 10)
    assert pd.read_csv("v/w.csv")["path"].tolist() == table["path"].tolist()
    assert pd.read_csv("v/w.csv").columns.tolist() == ["path", "label", "sha256", "width", "height"]


def test_names_of_files_cannot_steer_the_terminal(here: Path, call: Call, result: Call, refused: Call) -> None:
    odd = here / "gallery" / "a\x1b[31m\u202e\nb.png"
    odd.parent.mkdir()
    odd.write_bytes((here / "photos" / "red" / "2.png").read_bytes())
    (odd.parent / "bad\x1b.png").write_bytes(b"no image")
    rank = ["rank", "m.lookalike", "photos/red/1.png", "--gallery", "gallery", "-k", 1]
    said = call(*rank)
    assert "a\\x1b[31m\\u202e\\nb.png" in said.out
    assert len(said.out.splitlines()) == 2
    assert "bad\\x1b.png" in said.err
    assert "\x1b" not in said.out + said.err
    assert result(*rank)["results"][0]["neighbours"][0]["path"] == odd.name
    assert "no\\x1b.png" in refused("rank", "m.lookalike", "no\x1b.png", "--gallery", "gallery")
