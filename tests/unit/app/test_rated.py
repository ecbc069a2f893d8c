"""What the commands for people's judgements compute: rate, ratings and evaluate-triplets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lookalike.ranking import distances
from lookalike.studies.human.questionnaire import read_plan

Call = Callable[..., Any]
DRAW = "--neighbours neighbours.csv --queries 3 --retrieved 3"
TRIPLETS = "evaluate-triplets release --jobs 2 --features"


def test_a_page_from_own_neighbours(here: Path, call: Call, result: Call) -> None:
    (here / "plan.csv").unlink()
    rate = ["rate", "plan.csv", "--images", "photos", "--output", "page.html"]
    drawn = result(*rate, DRAW, "--random", 3, "--title", "Photos")
    assert drawn == {"page": "page.html", "queries": 3, "candidates": 18}
    assert "Photos" in (here / "page.html").read_text()
    before = (here / "plan.csv").read_bytes()
    assert len(read_plan("plan.csv")) == 3 * 6
    # the plan that is there is the one that pages are made of
    assert call(*rate, "--output", "again.html").out == "again.html: 3 queries, 18 candidates\n"
    assert (here / "plan.csv").read_bytes() == before
    few = [*rate, DRAW]
    few[1] = "few.csv"
    said = call(*few, "--queries", 9, "--random", 0)
    assert said.err == "lookalike: only 3 test images can be query images of the rating, not 9: all are taken\n"
    assert set(read_plan("few.csv")["role"]) == {"retrieved"}


def test_a_plan_whose_page_cannot_be_made_is_not_written(here: Path, refused: Call) -> None:
    (here / "photos" / "red" / "1.png").unlink()
    rate = f"rate new.csv --images photos --output page.html {DRAW} --random 3"
    assert "the image red/1.png of the plan cannot be shown" in refused(rate)
    assert not (here / "new.csv").exists()
    table = here / "neighbours.csv"
    table.write_text(table.read_text().replace(",", ";"))
    assert "neighbours.csv separates its columns by semicolons" in refused(rate)


def test_what_raters_said(here: Path, call: Call, result: Call) -> None:
    printed = dict(line.rsplit(maxsplit=1) for line in call("ratings", "plan.csv", "ada.csv").out.splitlines())
    assert (printed["precision at 1"], printed["precision at 3"]) == ("1", "0.333")
    assert result("ratings", "plan.csv", "ada.csv", "--output", "t/all.parquet")["precision_at_1"] == 1
    assert (pd.read_parquet("t/all.parquet")["answer"] == "good").sum() == 3


def test_colour_finds_what_is_a_matter_of_colour(here: Path, call: Call, result: Call) -> None:
    said = call(f"{TRIPLETS} colour,hog --output out/table.csv")
    assert "7 rated triplets of 7 query images" in said.out
    assert "left out (rows or files): row without its counterpart: 1" in said.out
    assert "only the triplets' own images" in said.out
    assert said.err == ""  # no bar where nobody watches
    rows = pd.read_csv("out/table.csv").set_index(["system", "subset"])
    assert set(rows.index.get_level_values("subset")) == {"all", "in-class", "out-of-class"}
    colour = rows.loc[("color", "all")]
    assert colour["similarity_precision"] == pytest.approx(600 / 7)
    assert colour["score"] == 6 - 1  # all pools are shorter than 30
    assert colour["score_per_triplet"] == pytest.approx(500 / 7)
    assert colour["similarity_precision_low"] < colour["similarity_precision"] < colour["similarity_precision_high"]
    counts = {"n_triplets": 7, "n_queries": 7, "n_ties": 0, "n_in_top": 7, "median_pool": 20, "k": 30}
    assert colour[list(counts)].to_dict() == counts
    assert rows.loc[("color", "out-of-class"), "similarity_precision"] == 75
    assert (rows["images_per_second"] > 0).all()
    line = next(line for line in said.out.splitlines() if line.startswith("color ") and " all " in line)
    assert "85.7%" in line
    told = result(f"{TRIPLETS} color --k 3")
    assert (told["n_triplets"], told["n_queries"], told["rows"][0]["k"]) == (7, 7, 3)
    assert told["rejected"][0]["reason"] == "row without its counterpart"


def test_codebooks_and_where_they_come_from(here: Path, result: Call, painted: Call) -> None:
    def learned_from(*more: str) -> tuple[str, float]:
        row = result(f"{TRIPLETS} fisher", *more)["rows"][0]
        return row["codebook_from"], row["similarity_precision"]

    told = learned_from()
    assert told[0] == "21 evaluation images, without their ratings"
    assert learned_from() == told  # the same seed, the same numbers
    (here / "photos" / "rated.png").write_bytes((here / "release" / "t0" / "Q.png").read_bytes())
    assert learned_from("--codebook-images", "photos")[0] == "24 images of photos"
    for i in range(5):
        painted(here / "release" / "training" / "red" / f"{i}.png", (200, 40, 30), 600 + i, (48, 48))
    assert learned_from()[0] == "5 training images"


def test_a_network(here: Path, call: Call, result: Call, refused: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")
    from lookalike.deep.configuration import small
    from lookalike.deep.embedding import embed
    from lookalike.deep.images import load_pixels
    from lookalike.deep.model_io import save_network
    from lookalike.deep.network import DeepRankingNetwork

    network = DeepRankingNetwork(small(), random_state=0)
    save_network(network, "net.npz", {"system": "deep-ranking", "shift": 2})
    measured: dict[str, np.ndarray] = {}
    with monkeypatch.context() as patch:
        measure = distances.pair_distances
        patch.setattr(
            distances, "pair_distances", lambda rows, *rest: measure(measured.setdefault(rest[-1], rows), *rest)
        )
        told = result(f"{TRIPLETS} color --model net.npz")
    # the centre of squares that are larger by the shift
    larger = load_pixels(sorted(here.glob("release/t[0-6]/*.png")), small().input_size + 4)
    expected = embed(network, larger[:, 2:-2, 2:-2])
    rows = measured["l2"][np.isfinite(measured["l2"]).all(axis=1)]
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    rows = {row["system"]: row for row in told["rows"] if row["subset"] == "all"}
    assert set(rows) == {"color", "deep-ranking"}
    assert rows["deep-ranking"]["dimensions"] == small().width
    assert 0 <= rows["deep-ranking"]["similarity_precision"] <= 100
    alone = ["evaluate-triplets", "release", "--model", "net.npz"]
    assert "color" not in call(*alone).out  # a model alone needs no features
    for name in [
        name for name in sys.modules if name.partition(".")[0] == "torch" or name.startswith("lookalike.deep")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert refused(*alone).startswith("lookalike: net.npz needs PyTorch, which is not installed")
