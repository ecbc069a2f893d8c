"""``python -m lookalike.deep``: from a study's folder to a network, its curve and vectors; mistakes in one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test installs envs/requirements-deep-cpu.txt")

from made_networks import N, labels, pixels, relevance  # noqa: E402
from PIL import Image  # noqa: E402

from lookalike.core.files import read_json, write_table  # noqa: E402
from lookalike.deep import __main__ as command  # noqa: E402
from lookalike.deep.model_io import load_network  # noqa: E402
from lookalike.deep.network import ClassificationNetwork, DeepRankingNetwork  # noqa: E402

FAST = ["--device", "cpu", "--steps", "3", "--validation-interval", "2", "--held-out", "0.34", "--shift", "2"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder; its images beside it. Image 36 is missing and not used."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "images").mkdir()
    for row, image in enumerate(pixels()):
        Image.fromarray(image).save(folder / "images" / f"{row}.png")
    manifest = pd.DataFrame({"image_id": np.arange(N + 1, dtype=np.int32)})
    manifest["path"] = [f"{row}.png" for row in range(N + 1)]
    manifest["status"] = ["ok"] * N + ["missing"]
    write_table(manifest, folder / "manifest.parquet")
    relevance().save(folder / "relevance.npz")
    return folder


def run(study: Path, name: str, *options: str) -> int:
    return command.main([name, str(study), str(study / "images"), *options])


def test_from_images_to_vectors(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convnet, ranking, vectors = (str(tmp_path / name) for name in ("convnet.npz", "ranking.npz", "vectors.npy"))
    assert run(study, "pretrain", "--output", convnet, "--batch", "6", *FAST) == 0
    started = ["--start", convnet, "--gap", "0.2", "--validation-triplets", "20"]
    assert run(study, "rank", "--output", ranking, "--batch", "4", *started, *FAST) == 0
    assert run(study, "embed", "--output", vectors, "--device", "cpu", "--model", ranking) == 0

    pretrained, ranked = load_network(convnet), load_network(ranking)
    assert isinstance(pretrained, ClassificationNetwork)
    assert isinstance(ranked, DeepRankingNetwork)
    assert torch.equal(pretrained.input.mean, ranked.input.mean)  # it did start from there
    fit = read_json(tmp_path / "ranking.json")
    assert fit["settings"]["gap"] == 0.2
    assert fit["settings"]["batch"] == 4
    assert pd.read_parquet(tmp_path / "ranking.parquet")["step"].tolist() == [0, 2, 3]
    rows = np.load(vectors)
    assert rows.shape == (N + 1, ranked.configuration.width)
    assert np.isnan(rows[N]).all()
    np.testing.assert_allclose(np.linalg.norm(rows[:N], axis=1), 1, rtol=1e-5)
    assert not list(tmp_path.glob("*checkpoint*"))
    assert "validation_precision" in capsys.readouterr().err


def test_mistakes_are_told_in_one_sentence(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = ["--output", str(tmp_path / "m.npz")]
    assert command.main(["pretrain", str(tmp_path), str(tmp_path), *output]) == 1
    assert "name the folder of a study" in capsys.readouterr().err
    assert run(study, "pretrain", *output, "--device", "gpu") == 1
    assert "the device gpu cannot be used" in capsys.readouterr().err
    assert run(study, "rank", *output, "--batch", "2", *FAST, "--held-out", "1.5") == 1
    assert "must lie between 0 and 1" in capsys.readouterr().err
    assert run(study, "embed", *output, "--model", str(tmp_path / "none.npz")) == 1
    assert "none.npz" in capsys.readouterr().err
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert run(study, "embed", *output, "--model", str(tmp_path / "none.npz")) == 1
    assert "one process" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["rank"], ["rank", "a", "b", "--output", "c", "--batch", "0"]])
def test_a_mistake_in_the_command_line_ends_with_status_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2


@pytest.mark.parametrize("name", [None, "pretrain", "rank", "embed"])
def test_help_has_examples(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main([*([name] if name else []), "--help"])
    assert stopped.value.code == 0
    assert "torchrun --nproc_per_node 2 -m lookalike.deep" in capsys.readouterr().out


def test_labels_of_the_study_are_classes(study: Path, tmp_path: Path) -> None:
    assert run(study, "pretrain", "--output", str(tmp_path / "m.npz"), "--batch", "4", *FAST, "--keep", "last") == 0
    fit = read_json(tmp_path / "m.json")
    assert fit["classes"] == sorted(set(labels().astype(str)))
    assert fit["chosen_step"] == 3
