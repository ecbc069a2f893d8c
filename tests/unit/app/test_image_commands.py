from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lookalike import ImageSimilarity
from lookalike.app.options import Told
from lookalike.cli import main


@pytest.fixture(scope="module")
def place(painted_photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with photos, a damaged one among them, and a model of their colours."""
    place = tmp_path_factory.mktemp("own")
    shutil.copytree(painted_photos, place / "photos")
    (place / "photos" / "red" / "broken.png").write_bytes((place / "photos" / "red" / "0.png").read_bytes()[:99])
    fit = ["fit", str(place / "photos"), "--output", str(place / "m.lookalike"), "--representation", "color"]
    assert main([*fit, "--hold-out", "0.25", "--quiet", "--set", "n_steps=300"]) == 0
    return place


def result(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) == 0
    parsed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return parsed


def failure(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([*map(str, arguments)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("lookalike: ")
    assert shown.err.count("\n") == 1
    return shown.err


def test_quiet_is_quiet_and_a_summary_names_what_is_left_out(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", str(place / "photos"), "--output", str(place / "n.lookalike"), "--representation", "color"]
    assert main([*fit, "--learner", "euclidean", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""
    assert main([*fit, "--learner", "euclidean"]) == 0
    told = capsys.readouterr().out
    assert "Euclidean learned from 24 images of 3 classes; color of 784 dimensions" in told
    assert "left out: 1 file\n  red/broken.png: broken.png is damaged" in told
    assert (place / ".lookalike-cache").is_dir()


def test_fit_says_all_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = place / "labels.csv"
    rows = [
        (f"{name}/{i}.png", "warm" if name == "red" else "cold") for name in ("blue", "green", "red") for i in range(8)
    ]
    pd.DataFrame(rows, columns=["path", "label"]).to_csv(table, index=False)
    where = ("--labels", table, "--output", place / "l.lookalike", "--representation", "color")
    told = result(capsys, "fit", place / "photos", *where, "--learner", "OASIS", "--set", "n_steps=50")
    assert told["classes"] == {"cold": 16, "warm": 8}
    assert told["learner"]["n_steps"] == 50
    assert told["left_out"] == []
    assert result(capsys, "info", place / "l.lookalike")["format_version"] == 1


def test_info(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = result(capsys, "info", place / "m.lookalike")
    assert (told["n_images"], told["n_held_out"], told["n_left_out"]) == (18, 6, 1)
    assert set(told["seconds"]) == {"reading images", "describing images", "learning"}
    assert main(["info", str(place / "m.lookalike")]) == 0
    assert "blue 6, green 6, red 6" in capsys.readouterr().out


def test_info_needs_no_library_of_learners(place: Path) -> None:
    code = (
        "import sys; from lookalike.cli import main\n"
        "assert main(['info', sys.argv[1]]) == 0\n"
        "print([name for name in ('sklearn', 'scipy', 'pandas', 'numba', 'faiss', 'PIL') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(place / "m.lookalike")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "OASIS learned from 18 images" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_info_says_what_the_model_says_of_itself(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = result(capsys, "info", place / "m.lookalike")
    model = ImageSimilarity.load(place / "m.lookalike")
    assert {name: told[name] for name in told if name not in ("model", "bytes")} == model.about()


def test_ctrl_c_is_status_130_and_leaves_no_model(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(self: Told, what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Told, "__call__", pressed)
    fit = ["fit", str(place / "photos"), "--output", str(place / "stopped.lookalike"), "--representation", "color"]
    assert main(fit) == 130
    assert capsys.readouterr().err == "lookalike: interrupted\n"
    assert not (place / "stopped.lookalike").exists()


def test_rank_prints_writes_and_says_when_the_gallery_is_small(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query, page = place / "photos" / "red" / "1.png", place / "n.html"
    arguments = ("rank", place / "m.lookalike", query, "--gallery", place / "photos")
    told = result(capsys, *arguments, "-k", 3, "--compare", "--html", page)
    (ranked,) = told["results"]
    assert [row["label"] for row in ranked["neighbours"]] == ["red"] * 3
    assert len(ranked["before_learning"]) == 3
    assert page.stat().st_size > 1000
    assert main([*map(str, arguments), "-k", "99"]) == 0
    shown = capsys.readouterr()
    assert "the gallery has 23 images besides a query" in shown.err
    assert "1 file of the gallery left out (red/broken.png: " in shown.err
    assert "red/1.png" in shown.out.splitlines()[0]
    assert len(shown.out.splitlines()) == 24


def test_evaluate_warns_of_images_that_were_learned_from(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("evaluate", place / "m.lookalike", place / "photos", "-k", "1,2,99")
    told = result(capsys, *arguments)
    assert (told["images"], told["learned_from"], told["passed_over"]) == (6, 0, 18)
    assert {row["measure"] for row in told["rows"]} == {"map", "precision@1", "precision@2"}
    assert main([*map(str, arguments), "--all"]) == 0
    shown = capsys.readouterr()
    assert "has learned from 18 of the 24 images" in shown.err
    assert "mAP" in shown.out


def test_features_go_with_their_table(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = result(
        capsys, "features", place / "photos", "--output", place / "v" / "c.npy", "--representation", "color",
        "--paths", place / "v" / "c.parquet",
    )  # fmt: skip
    vectors, table = np.load(place / "v" / "c.npy"), pd.read_parquet(place / "v" / "c.parquet")
    assert vectors.shape == (told["n_images"], told["dimensions"]) == (len(table), 784)
    result(capsys, "features", place / "photos", "--output", place / "v" / "w.npz", "--words", 10, "--no-cache")
    assert sp.load_npz(place / "v" / "w.npz").shape == (24, 10)
    assert pd.read_csv(place / "v" / "w.csv")["path"].tolist() == table["path"].tolist()


def test_mistakes_are_one_sentence(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, photos = place / "m.lookalike", place / "photos"
    new = ("--output", place / "new.lookalike")
    assert "there is no folder" in failure(capsys, "fit", place / "nowhere", *new)
    assert "ends in .lookalike" in failure(capsys, "fit", photos, "--output", place / "m.npz")
    assert "no learner 'Oases'" in failure(capsys, "fit", photos, *new, "--learner", "Oases")
    assert "has no setting 'c'" in failure(capsys, "fit", photos, *new, "--set", "c=1")
    assert "given twice" in failure(capsys, "fit", photos, *new, "--set", "n_steps=1", "--set", "n_steps=2")
    assert "no representation 'sift'" not in failure(capsys, "fit", photos, *new, "--representation", "sifter")
    assert "there is no model" in failure(capsys, "info", place / "none.lookalike")
    assert "cannot be used" in failure(capsys, "rank", model, place / "no.png", "--gallery", photos)
    assert "end in .html" in failure(capsys, "rank", model, "q", "--gallery", photos, "--html", place / "p.txt")
    assert not (place / "new.lookalike").exists()


def test_a_query_given_twice_is_one(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = place / "photos" / "red" / "1.png"
    told = result(capsys, "rank", place / "m.lookalike", query, query, "--gallery", place / "photos", "-k", 2)
    assert [row["rank"] for row in told["results"][0]["neighbours"]] == [1, 2]
    assert len(told["results"]) == 1


def test_names_of_files_cannot_steer_the_terminal(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "gallery" / "a\x1b[31m\u202e\nb.png"
    odd.parent.mkdir()
    odd.write_bytes((place / "photos" / "red" / "2.png").read_bytes())
    (odd.parent / "bad\x1b.png").write_bytes(b"no image")
    query = place / "photos" / "red" / "1.png"
    assert main(["rank", str(place / "m.lookalike"), str(query), "--gallery", str(odd.parent), "-k", "1"]) == 0
    shown = capsys.readouterr()
    assert "a\\x1b[31m\\u202e\\nb.png" in shown.out
    assert len(shown.out.splitlines()) == 2
    assert "bad\\x1b.png" in shown.err
    assert "\x1b" not in shown.out + shown.err
    (told,) = result(capsys, "rank", place / "m.lookalike", query, "--gallery", odd.parent, "-k", 1)["results"]
    assert told["neighbours"][0]["path"] == odd.name
    assert "no\\x1b.png" in failure(capsys, "rank", place / "m.lookalike", "no\x1b.png", "--gallery", odd.parent)


def test_what_to_do_next_can_be_pasted(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my photos; rm x"
    folder.symlink_to(place / "photos")
    output = tmp_path / "it's mine.lookalike"
    fit = ("fit", folder, "--output", output, "--representation", "color", "--learner", "euclidean")
    assert main([*map(str, fit), "--hold-out", "0.25"]) == 0
    lines = [line.removeprefix("next: ") for line in capsys.readouterr().out.splitlines() if line.startswith("next: ")]
    assert [shlex.split(line) for line in lines] == [
        ["lookalike", "evaluate", str(output), str(folder)],
        ["lookalike", "rank", str(output), "QUERY", "--gallery", str(folder)],
    ]


def test_features_write_over_no_table_of_somebody_else(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("path,label\nred/1.png,warm\n")
    write = ("features", place / "photos", "--output", tmp_path / "labels.npy", "--representation", "color")
    told = failure(capsys, *write)
    assert "labels.csv exists and was not written by lookalike features" in told
    assert labels.read_text() == "path,label\nred/1.png,warm\n"
    assert not (tmp_path / "labels.npy").exists()
    labels.unlink()
    for _ in range(2):  # its own table is written anew
        assert result(capsys, *write)["n_images"] == 24
    labels.write_text("path,label\n")
    assert result(capsys, *write, "--paths", labels)["paths"] == str(labels)


def test_dense_vectors_are_refused_before_anything_is_described(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def described(*_: object) -> None:
        raise AssertionError("images were described")

    monkeypatch.setattr(ImageSimilarity, "vectors", described)
    write = ("features", place / "photos", "--output", tmp_path / "v.npz", "--representation")
    assert "vectors of color are dense" in failure(capsys, *write, place / "m.lookalike")
    assert "vectors of color are dense" in failure(capsys, *write, "color")
    assert "there is no representation 'sifter'" in failure(capsys, *write, "sifter")


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--print-completion", shell])
    assert stop.value.code == 0
    assert "evaluate-triplets" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["fit"], ["fit", "f", "--hold-out", "1"], ["fit", "f", "--set", "x"], ["rank", "m", "q"], ["rank", "m"],
     ["fit", "f", "--labels", "a", "--triplets", "b"], ["evaluate", "m", "f", "-k", "0"], ["info"]],
)  # fmt: skip
def test_a_wrong_command_line_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


@pytest.mark.parametrize(
    "name", ["fit", "rank", "evaluate", "features", "info", "rate", "ratings", "evaluate-triplets"]
)
def test_every_help_says_the_exit_status_and_gives_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    told = capsys.readouterr().out
    assert "exit status: 0" in told
    assert f"lookalike {name} " in told.partition("example")[2]
