from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike.cli import main

HEADER = ("Image1", "Image1_Path", "Image2", "Image2_Path", "Similarity", "Text Query", "Kind")
COLOURS = {"red": (200, 40, 30), "green": (40, 180, 60), "blue": (30, 60, 200)}


def paint(path: Path, colour: tuple[int, int, int], seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(-25, 26, (48, 48, 3))
    Image.fromarray(np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)).save(path, format="PNG")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Six queries whose positive has their colour and whose negative another, and one that is rated the wrong way."""
    root = tmp_path / "release"
    rows = []
    names = list(COLOURS)
    for i in range(7):
        mine, other = names[i % 3], names[(i + 1) % 3]
        for j, (letter, colour) in enumerate((("Q", mine), ("P", mine), ("N", other))):
            paint(root / f"t{i}" / f"{letter}.jpg", COLOURS[colour], 10 * i + j)
        kind = "in-class" if i % 2 else "out-of-class"
        for letter, similarity in (("P", 1), ("N", -1)):
            similarity = -similarity if i == 6 else similarity
            rows.append((f"t{i}", f"t{i}/Q.jpg", f"t{i}", f"t{i}/{letter}.jpg", similarity, "paint", kind))
    rows.append(("t9", "t9/Q.jpg", "t9", "t9/P.jpg", 1, "paint", ""))
    with (root / "ratings.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([HEADER, *rows])
    return root


def evaluate(release: Path, *more: str) -> int:
    return main(["evaluate-triplets", str(release), "--jobs", "2", *more])


def test_colour_finds_what_is_a_matter_of_colour(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = release.parent / "out" / "table.csv"
    assert evaluate(release, "--features", "colour,hog", "--output", str(table)) == 0
    shown = capsys.readouterr()
    assert "7 rated triplets of 7 query images" in shown.out
    assert "left out (rows or files): row without its counterpart: 1" in shown.out
    assert "only the triplets' own images" in shown.out
    assert shown.err == ""  # no bar where nobody watches
    rows = pd.read_csv(table).set_index(["system", "subset"])
    assert set(rows.index.get_level_values("subset")) == {"all", "in-class", "out-of-class"}
    colour = rows.loc[("color", "all")]
    assert colour["similarity_precision"] == pytest.approx(600 / 7)
    assert colour["score"] == 6 - 1  # all pools are shorter than 30
    assert colour["score_per_triplet"] == pytest.approx(500 / 7)
    assert colour["similarity_precision_low"] < colour["similarity_precision"] < colour["similarity_precision_high"]
    assert colour[["n_triplets", "n_queries", "n_ties", "n_in_top", "median_pool", "k"]].tolist() == [
        7,
        7,
        0,
        7,
        20,
        30,
    ]
    assert rows.loc[("color", "out-of-class"), "similarity_precision"] == 75
    assert (rows["images_per_second"] > 0).all()
    line = next(line for line in shown.out.splitlines() if line.startswith("color ") and " all " in line)
    assert "85.7%" in line


def test_json_and_k(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(release, "--features", "color", "--k", "3", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_triplets"] == told["n_queries"] == 7
    assert told["rejected"][0]["reason"] == "row without its counterpart"
    row = told["rows"][0]
    assert row["system"] == "color"
    assert row["k"] == 3
    assert row["n_in_top"] <= 7
    assert row["codebook_from"] == ""


def test_codebooks_and_where_they_come_from(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def learned_from(*more: str) -> tuple[str, float]:
        assert evaluate(release, "--features", "fisher", "--json", *more) == 0
        row = json.loads(capsys.readouterr().out)["rows"][0]
        return row["codebook_from"], row["similarity_precision"]

    told, precision = learned_from()
    assert told == "21 evaluation images, without their ratings"
    assert learned_from() == (told, precision)  # the same seed, the same numbers
    photos = release.parent / "photos"
    for i in range(5):
        paint(photos / f"{i}.png", COLOURS["red"], 500 + i)
    paint(photos / "rated.png", COLOURS["red"], 0)  # the picture of t0/Q.jpg
    assert learned_from("--codebook-images", str(photos))[0] == f"5 images of {photos}"
    for i in range(5):
        paint(release / "training" / "red" / f"{i}.png", COLOURS["red"], 600 + i)
    assert learned_from()[0] == "5 training images"


def test_a_network(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")
    from lookalike.deep.configuration import small
    from lookalike.deep.model_io import save_network
    from lookalike.deep.network import DeepRankingNetwork

    file = release.parent / "network.npz"
    save_network(DeepRankingNetwork(small(), random_state=0), file, {"system": "deep-ranking", "shift": 2})
    assert evaluate(release, "--model", str(file), "--features", "color", "--json") == 0
    rows = {row["system"]: row for row in json.loads(capsys.readouterr().out)["rows"] if row["subset"] == "all"}
    assert set(rows) == {"color", "deep-ranking"}
    assert rows["deep-ranking"]["dimensions"] == small().width
    assert 0 <= rows["deep-ranking"]["similarity_precision"] <= 100
    # a model alone needs no features
    assert evaluate(release, "--model", str(file)) == 0
    assert "color" not in capsys.readouterr().out


def test_a_network_without_torch(
    release: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [
        name for name in sys.modules if name.partition(".")[0] == "torch" or name.startswith("lookalike.deep")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert evaluate(release, "--model", "network.npz") == 1
    error = capsys.readouterr().err
    assert error.startswith("lookalike: network.npz needs PyTorch, which is not installed")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--features", "hog,surf"], "there is no describer 'surf'"),
        (["--features", "hog", "--output", "table.txt"], "must end in .csv or .parquet"),
        (["--features", "hog", "--output", "release/ratings.csv"], "is a file of the rated triplets"),
        (["--features", "fisher", "--codebook-images", "release/t0"], "holds no image but those that are evaluated"),
        (["--features", "fisher", "--codebook-images", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_a_mistake_is_one_sentence_and_status_1(
    release: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(release.parent)
    before = (release / "ratings.csv").read_bytes()
    assert evaluate(release, *arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert (release / "ratings.csv").read_bytes() == before


def test_a_folder_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(tmp_path / "nowhere", "--features", "hog") == 1
    assert "does not exist" in capsys.readouterr().err
    assert evaluate(tmp_path, "--features", "hog") == 1
    assert "no CSV file with the columns" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["DIR", "--features", ","], ["DIR", "--k", "0"], ["DIR", "--jobs", "x"]])
def test_a_wrong_command_line_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate-triplets", *arguments])
    assert stop.value.code == 2
    assert "usage: lookalike evaluate-triplets" in capsys.readouterr().err


def test_help_has_examples_and_needs_nothing_heavy() -> None:
    code = (
        "import sys; from lookalike.cli import main\n"
        "try: main(['evaluate-triplets', '--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "print([name for name in ('numpy', 'pandas', 'PIL', 'torch', 'tqdm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "lookalike evaluate-triplets data/triplets --features hog,fisher" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
